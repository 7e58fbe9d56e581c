"""Coupled losses against numerical derivatives, numerical minima and the bound on the risk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from minrisk.losses.coupled import entry_floors, split_costs
from minrisk.model.links import LINKS, probabilities
from tests.helpers.common import coupled_loss, loss_columns, make_costs, random_costs

BASES = {"exponential": np.exp, "logistic": lambda x: np.logaddexp(0, x) / np.log(2), "squared": lambda x: (1 + x) ** 2}


def value(base, loss, costs, scores):
    """Loss per entry, written out from Eq. (2) without the mean."""
    plus, minus = split_costs(costs.table[costs.row], loss.beta[costs.row], loss.phi[costs.row])
    F = BASES[base]
    return costs.weight[:, None] * (plus * F(scores) + minus * F(-scores))


def example(rng, K, D, n=30, kind="general"):
    table = random_costs(rng, K, D, kind)
    return make_costs(table, rng.integers(0, K, n), rng.uniform(0, 2, n))


def gradients(loss, costs, scores, log_scale=0.0):
    at = loss_columns(costs, scores, log_scale)
    loss.gradients(at, 0, len(scores))
    return at.gradient, at.hessian


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("offset", ["paper", "tight"])
@pytest.mark.parametrize("kind", ["01", "general", "lognormal"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (5, 5), (12, 12), (3, 4), (4, 2)])
def test_gradient_and_hessian_are_numerical_derivatives(base, offset, kind, shape):
    rng = np.random.default_rng(0)
    costs = example(rng, *shape, kind=kind)
    loss = coupled_loss(costs, base, offset)
    scores = rng.normal(size=(30, shape[1]))
    gradient, hessian = gradients(loss, costs, scores)
    h = 1e-4
    up, here, down = (value(base, loss, costs, scores + s) for s in (h, 0.0, -h))
    scale = np.abs(here).max()
    np.testing.assert_allclose(-gradient, (up - down) / (2 * h), atol=1e-6 * scale)
    np.testing.assert_allclose(hessian, (up - 2 * here + down) / h**2, atol=1e-5 * scale)
    if base == "exponential":
        np.testing.assert_allclose(hessian, here, rtol=1e-12)


@pytest.mark.parametrize("base", BASES)
def test_contrast_is_half_the_difference_of_losses(base):
    rng = np.random.default_rng(1)
    costs = example(rng, 4, 4)
    loss = coupled_loss(costs, base, "paper")
    scores, vector, out = rng.normal(size=(30, 4)), rng.normal(size=4), np.empty(30)
    at = loss_columns(costs, scores)
    loss.gradients(at, 0, 30)
    top = loss.contrast(at, vector, out, 0, 30)
    expected = 0.5 * (value(base, loss, costs, scores - vector) - value(base, loss, costs, scores + vector)).sum(axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-10)
    assert top == np.abs(out).max()


@pytest.mark.parametrize("base", BASES)
def test_floors_are_numerical_minima(base):
    rng = np.random.default_rng(2)
    plus, minus = rng.uniform(0, 5, (2, 40))
    plus[:5], minus[5:10] = 0, 0
    floors = entry_floors(base, plus, minus)
    for p, m, floor in zip(plus, minus, floors, strict=True):
        found = minimize_scalar(
            lambda h, p=p, m=m: p * BASES[base](h) + m * BASES[base](-h), bounds=(-40, 40), method="bounded"
        )
        assert floor == pytest.approx(found.fun, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(0, 1), st.sampled_from(list(BASES)), st.integers(0, 10**6))
def test_paper_offset_bounds_the_risk(K, more, base, seed):
    """Eq. (1), (2): beta + half the loss is at least the cost of the decision, whatever the scores."""
    rng = np.random.default_rng(seed)
    costs = example(rng, K, K + more)
    loss = coupled_loss(costs, base, "paper")
    scores = 3 * rng.normal(size=(30, K + more))
    bound = loss.beta[costs.row] + 0.5 * value(base, loss, costs._replace(weight=np.ones(30)), scores).sum(axis=1)
    paid = costs.table[costs.row, scores.argmax(axis=1)]
    assert np.all(bound >= paid - 1e-9 * np.abs(bound))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.floats(1e-3, 1e3), st.integers(0, 10**6))
def test_decomposition_of_costs(K, scale, seed):
    """S.3: c = beta 1 + c+, c+ and c- are not negative, some entry of c- is 0, and all scale with the costs."""
    rng = np.random.default_rng(seed)
    costs = example(rng, K, K)
    loss = coupled_loss(costs, "exponential", "paper")
    plus, minus = split_costs(costs.table, loss.beta, loss.phi)
    np.testing.assert_allclose(loss.beta[:, None] + plus, costs.table, atol=1e-9)
    assert plus.min() >= 0 and minus.min() == 0
    scaled = coupled_loss(costs._replace(table=costs.table * scale), "exponential", "paper")
    np.testing.assert_allclose(scaled.beta, loss.beta * scale, rtol=1e-9, atol=1e-9 * scale)


def test_zero_one_costs_have_no_offset_and_a_loss_of_half_k_at_zero():
    costs = make_costs(1 - np.eye(4), np.arange(4), np.ones(4))
    for offset in ("paper", "tight"):
        loss = coupled_loss(costs, "exponential", offset)
        assert loss.constant(costs) == 0 and np.all(loss.floors(costs) == 0)
        assert value("exponential", loss, costs, np.zeros((4, 4))).sum() / 8 == 2.0


def test_link_inverts_the_population_minimiser():
    p = np.array([0.7, 0.2, 0.1])
    for base, link in (("exponential", "sigmoid2"), ("logistic", "sigmoid"), ("squared", "linear")):
        F = BASES[base]
        scores = [
            minimize_scalar(
                lambda h, q=q, F=F: (1 - q) * F(h) + q * F(-h),
                bounds=(-9, 9),
                method="bounded",
                options={"xatol": 1e-10},
            ).x
            for q in p
        ]
        np.testing.assert_allclose(probabilities(link, np.array([scores])), [p], atol=1e-6)
    assert set(LINKS) == {
        "sigmoid2",
        "sigmoid",
        "linear",
        "softmax",
        "softmax2",
    }  # the last two: test_guess_averse.py, test_mcboost_losses.py


def test_only_zero_one_costs_have_a_link():
    rows = np.arange(3, dtype=np.int32)
    for table, has_link in (
        (1 - np.eye(3), True),
        (5 * (1 - np.eye(3)), True),
        (np.abs(np.subtract.outer(rows, rows)), False),
    ):
        costs = make_costs(table, rows, np.ones(3))
        assert (coupled_loss(costs, "exponential", "paper").link(costs.facts()) is not None) == has_link


def test_large_scores_do_not_overflow():
    costs = make_costs(1 - np.eye(3), np.arange(3), np.ones(3))
    scores = np.where(np.eye(3, dtype=bool), 5000.0, -5000.0)
    for base in ("exponential", "logistic"):
        gradient, hessian = gradients(
            coupled_loss(costs, base, "paper"), costs, scores, log_scale=-5000.0 * (base == "exponential")
        )
        assert np.all(np.isfinite(gradient)) and np.all(np.isfinite(hessian))
