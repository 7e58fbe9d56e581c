"""What the stage-wise method and its totally corrective relatives have in common: parameters, and their recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier
from minrisk.validation import Choice, Depth, Flag, Number, Rule, n_drawn

SOLVER_ITERATIONS = 1_000_000  # of L-BFGS-B, at most: more than it ever makes

PAIRWISE_RULES: Mapping[str, Rule] = {
    "loss": Choice(("exponential", "logistic")),
    "nu": Number(float, 0),
    "tol": Number(float, 0),
    "solver_iterations": Number(int, 1, SOLVER_ITERATIONS),
    "solver_gradient": Number(float, 0),
    "solver_change": Number(float, 0),
    "weak_learner": Choice(("stump", "tree")),
    "max_depth": Depth(),
}
CORRECTIVE_RULES: Mapping[str, Rule] = {  # where every round finds all vectors anew: rows are not drawn
    **{
        name: RecipeClassifier._rules[name]
        for name in (
            "n_estimators", "binning", "max_bins", "max_features", "early_stopping", "validation_fraction",
            "n_iter_no_change", "warm_start", "class_weight", "categorical_features", "n_jobs", "random_state",
            "verbose",
        )
    },
    "keep_stages": Flag(),
}


def bound_of(model: Any) -> float:
    """What no constraint may exceed."""
    return model.nu if model.penalty == "l1" else 0.0  # |W|^2 rises by less than any edge at W = 0


def tolerances_of(model: Any) -> Any:
    """Those of L-BFGS-B."""
    from minrisk.steps.penalised import Tolerances

    return Tolerances(model.solver_iterations, model.solver_gradient, model.solver_change)


def check_decisions(model: Any) -> None:
    """Refuse decisions that are no class: no row has them for its true class, so their scores would always be least."""
    if len(model.decisions_) > len(model.classes_):
        raise ValueError(
            f"{type(model).__name__} wants the true class's score above every other decision's, and would never take "
            f"a decision that is no class, as {model.decisions_.tolist()[-1]!r}: train without it, or with "
            "MinRiskClassifier, which decides by least expected cost."
        )


def pairwise_recipe(model: Any, thresholds: tuple[FloatArray, ...], solver: Any, bound: float) -> Any:
    """What the two have in common; `bound` is what no constraint may exceed."""
    from minrisk.boosting.loop import Recipe
    from minrisk.learners.most_violated import MostViolatedTrees
    from minrisk.losses.pairwise import PairwiseLoss

    check_decisions(model)
    depth = 1 if model.weak_learner == "stump" else model.max_depth
    return Recipe(
        loss=PairwiseLoss(model.loss),
        family=MostViolatedTrees(depth, thresholds, bound, model.tol),
        solver=solver,
        max_features=n_drawn(model.max_features, len(thresholds)),
    )
