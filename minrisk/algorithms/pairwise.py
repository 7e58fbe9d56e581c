"""What the stage-wise method and its totally corrective relatives have in common: parameters, and their recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier, TrainingData
from minrisk.estimator.parameters import Choice, Depth, Flag, Number, Rule, n_drawn

if TYPE_CHECKING:
    from minrisk.boosting.loop import Recipe
    from minrisk.steps.penalised import Tolerances

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
            "n_estimators",
            "binning",
            "max_bins",
            "max_features",
            "early_stopping",
            "validation_fraction",
            "n_iter_no_change",
            "warm_start",
            "class_weight",
            "categorical_features",
            "n_jobs",
            "random_state",
            "verbose",
        )
    },
    "keep_stages": Flag(),
}


class PairwiseClassifier(RecipeClassifier):
    """The loss of pairs with learners of the most violated constraint; a subclass says which step takes its vectors."""

    loss: str
    nu: float
    tol: float
    penalty: str
    weak_learner: str
    max_depth: int
    solver_iterations: int
    solver_gradient: float
    solver_change: float

    def _proven(self, data: TrainingData) -> tuple[float, float] | None:
        return self._objective(data) if float(self.train_loss_[0]) > 0.0 else None

    @property
    def _bound(self) -> float:
        """Give what no constraint may exceed."""
        return self.nu if self.penalty == "l1" else 0.0  # |W|^2 rises by less than any edge at W = 0

    def _tolerances(self) -> Tolerances:
        """Give those of L-BFGS-B."""
        from minrisk.steps.penalised import Tolerances

        return Tolerances(self.solver_iterations, self.solver_gradient, self.solver_change)

    def _paired(self, thresholds: tuple[FloatArray, ...], solver: Any, bound: float) -> Recipe:
        """Make the recipe with this step; `bound` is what no constraint may exceed."""
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.most_violated import MostViolatedTrees
        from minrisk.losses.pairwise import PairwiseLoss

        check_decisions(self)
        depth = 1 if self.weak_learner == "stump" else self.max_depth
        return Recipe(
            loss=PairwiseLoss(self.loss),
            family=MostViolatedTrees(depth, thresholds, bound, self.tol),
            solver=solver,
            max_features=n_drawn(self.max_features, len(thresholds)),
        )


def check_decisions(model: Any) -> None:
    """Refuse decisions that are no class: no row has them for its true class, so their scores would always be least."""
    if len(model.decisions_) > len(model.classes_):
        raise ValueError(
            f"{type(model).__name__} wants the true class's score above every other decision's, and would never take "
            f"a decision that is no class, as {model.decisions_.tolist()[-1]!r}: train without it, or with "
            "MinRiskClassifier, which decides by least expected cost."
        )
