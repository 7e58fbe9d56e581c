"""Steps against numerical minimisation, on responses of random stumps."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from minrisk.boosting.loop import _problem, check_recipe
from minrisk.steps.closed_form import ClosedFormStep, NewtonStep, TwoSidedStep
from tests.helpers.common import make_data, make_recipe, make_rows, random_costs
from tests.losses.test_losses import BASES, value

CASES = [("exponential", ClosedFormStep()), ("logistic", NewtonStep()), ("squared", NewtonStep())]


@pytest.mark.parametrize(("base", "solver"), CASES, ids=lambda c: c if isinstance(c, str) else type(c).__name__)
@pytest.mark.parametrize("smoothing", [1e-6, 1e-2])
def test_step_is_the_numerical_minimum(base, solver, smoothing):
    rng = np.random.default_rng(3)
    X, y = make_data(rng, n=80)
    rows, binner = make_rows(X, random_costs(rng, 3), y, rng.uniform(0.5, 2, 80))
    recipe = make_recipe(rows, binner, base, smoothing=smoothing)._replace(solver=solver)
    rows.scores[:] = rng.normal(size=rows.scores.shape)
    rows.response[:] = np.where(X[:, 0] > 0, 1, -1)
    totals = rows.gradients(recipe.loss, 0.0)
    problem = _problem(rows, recipe, totals, recipe.loss.floors(rows.costs), None)
    step = recipe.solver.solve(problem)
    F, f = BASES[base], rows.response[:, None].astype(float)
    after = value(base, recipe.loss, rows.costs, rows.scores + f * step.vectors[0]).sum()
    assert step.value == pytest.approx(after, rel=1e-9)
    excess = value(base, recipe.loss, rows.costs, rows.scores).sum(axis=0) - recipe.loss.floors(rows.costs)
    for k in range(3):

        def along(a, k=k):
            data = value(base, recipe.loss, rows.costs, rows.scores + f * a)[:, k].sum()
            return data + smoothing * excess[k] * (F(a) + F(-a))

        found = minimize_scalar(along, bounds=(-10, 10), method="bounded", options={"xatol": 1e-11})
        assert step.vectors[0, k] == pytest.approx(found.x, abs=1e-6)
        assert along(step.vectors[0, k]) <= found.fun * (1 + 1e-12)


def test_check_recipe_names_what_is_missing():
    rng = np.random.default_rng(0)
    X, y = make_data(rng)
    rows, binner = make_rows(X, random_costs(rng, 3), y)
    recipe = make_recipe(rows, binner, "logistic")._replace(solver=ClosedFormStep())
    with pytest.raises(ValueError, match="ClosedFormStep cannot be used with CoupledLoss .* requires exponential"):
        check_recipe(recipe)


def test_two_sided_step_is_the_numerical_minimum_on_either_side():
    rng = np.random.default_rng(5)
    X, y = make_data(rng, n=80)
    rows, binner = make_rows(X, random_costs(rng, 3), y, rng.uniform(0.5, 2, 80))
    recipe = make_recipe(rows, binner, max_depth=1, smoothing=1e-3)._replace(solver=TwoSidedStep())
    check_recipe(recipe)
    rows.scores[:] = rng.normal(size=rows.scores.shape)
    rows.response[:] = np.where(X[:, 0] > 0, 1, -1)
    totals = rows.gradients(recipe.loss, 0.0)
    problem = _problem(rows, recipe, totals, recipe.loss.floors(rows.costs), None)
    step = recipe.solver.solve(problem)
    rows.leaf[:] = rows.response > 0
    after = value("exponential", recipe.loss, rows.costs, rows.scores + step.vectors[rows.leaf]).sum()
    assert step.value == pytest.approx(after, rel=1e-9)
    excess = value("exponential", recipe.loss, rows.costs, rows.scores).sum(axis=0) - recipe.loss.floors(rows.costs)
    for side in (0, 1):
        inside = rows.leaf == side
        for k in range(3):

            def along(a, k=k, inside=inside):
                data = value("exponential", recipe.loss, rows.costs, rows.scores + a)[inside, k].sum()
                return data + 1e-3 * excess[k] * np.cosh(a)

            found = minimize_scalar(along, bounds=(-10, 10), method="bounded", options={"xatol": 1e-11})
            assert step.vectors[side, k] == pytest.approx(found.x, abs=1e-6)


def test_two_sided_step_refuses_trees_and_other_losses():
    rng = np.random.default_rng(0)
    X, y = make_data(rng)
    rows, binner = make_rows(X, random_costs(rng, 3), y)
    for base, depth, missing in (("exponential", 2, "stumps"), ("logistic", 1, "exponential")):
        recipe = make_recipe(rows, binner, base, max_depth=depth)._replace(solver=TwoSidedStep())
        with pytest.raises(ValueError, match=f"TwoSidedStep cannot be used .* requires {missing}"):
            check_recipe(recipe)
