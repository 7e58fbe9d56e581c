"""REBEL: risk estimation boosting using an exponential loss.

R. Appel, X. Burgos-Artizzu and P. Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of the
Minimum-Risk Class", NIPS 2016.

==========================  ===========================  ======================================
paper                       here                         where
==========================  ===========================  ======================================
L, Eq. (2), (4)             ``CoupledLoss``              `minrisk.losses.coupled`
w+, w-, S.6                 ``coupled_gradients``        `minrisk._kernels.losses`
s+ + s-, s- - s+            ``hessian``, ``edges()``     `minrisk.rows.base`
a*, S.6                     ``ClosedFormStep``           `minrisk.steps.closed_form`
argmin over f, a; Sec. 3    ``best_stump``               `minrisk._kernels.split`
... of the logistic loss    ``exact_stump``              `minrisk.learners.greedy_tree`
growing, Sec. 4 steps 1-3   ``GreedyTrees``              `minrisk.learners.greedy_tree`
L*, L_bullet, Eq. (4), (5)  ``zero_risk_loss``           `minrisk.losses.coupled`
a_0, Eq. (3)                ``fit_intercept``            `minrisk.boosting.loop`
==========================  ===========================  ======================================

Deviations: a* is smoothed (the paper divides by zero on separable data); a_0 is fitted by default (the paper leaves it
0); `offset="tight"` by default; thresholds at quantiles by default; a constant leaf stays a leaf; no entry of a* is
above 18 in size (`minrisk.steps.base.LARGEST_STEP`), beyond which it would be infinite on separable data without
smoothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk.algorithms.base import BoostedRounds, RecipeClassifier, TrainingData
from minrisk.algorithms.parameters import BinParameters, StepParameters, algorithm, parameter
from minrisk.estimator.parameters import Choice, Depth, Flag, Number, Rule, SmoothFunction, TargetLoss, loss_to_reach

if TYPE_CHECKING:
    from minrisk.learners.base import LearnerFamily
    from minrisk.losses.coupled import CoupledLoss
    from minrisk.steps.base import StepSolver

EACH_ROUND = "each round"
SIGN_SMOOTHING = 1e-3  # of responses -1 and +1, as a share of what can be lost: docs/more/developers/design.md


class Constant(Rule):
    """Accept True, False or the third way to find the constant term."""

    def accepts(self, value: Any) -> bool:
        """Return whether it is a truth value or the name of the third way."""
        return Flag().accepts(value) or (isinstance(value, str) and value == EACH_ROUND)

    def plain(self, value: Any) -> Any:
        """Return a truth value or the name."""
        return str(value) if isinstance(value, str) else bool(value)

    def __str__(self) -> str:
        return f"True, False or {EACH_ROUND!r}"


class CoupledClassifier(RecipeClassifier):
    """Bound the loss by the edges phi_t of the rounds: L_T - beta <= (L_0 - beta) prod_t sqrt(1 - phi_t^2).

    Attributes
    ----------
    edges_ : ndarray of shape (T,) or None
        How far the learner of each round is from a coin: 0 is no better, and 1 is right about every row and decision.
        A round multiplies the loss, its constant term left out, by at most sqrt(1 - edge^2).
        None where nothing is proven: with another loss than the exponential one, with `learning_rate` above 1, or with
        `subsample` below 1.
    certificate_ : Certificate or None
        ``value`` is the mean cost of the decisions about the training rows, and `edges_` prove that it is at most
        ``bound``. ``claim`` says so in words. None where `edges_` is, or Ctrl-C ended the rounds.
    """

    edges_: FloatArray | None
    _claim = "the mean cost of the decisions about the training rows; what the edges of the rounds prove of it"
    _arrays = RecipeClassifier._arrays | {"edges"}
    _links = ("sigmoid2", "sigmoid", "linear")

    def _keep(self, made: BoostedRounds, at_end: bool = False) -> None:
        super()._keep(made, at_end)
        edges = np.array(made.progress.edges[: self.n_iter_])
        self.edges_ = None if np.isnan(edges).any() else edges

    def _restore_facts(self, facts: dict[str, Any]) -> None:
        super()._restore_facts(facts)
        self.edges_ = getattr(self, "edges_", None)

    def _proven(self, data: TrainingData) -> tuple[float, float] | None:
        from minrisk.steps.closed_form import kept_share

        if self.edges_ is None:
            return None
        constant, kept = data.rows.facts(data.recipe.loss).constant, np.prod([kept_share(e) for e in self.edges_])
        return float(self.train_risk_[-1]), constant + (float(self.train_loss_[0]) - constant) * float(kept)


@algorithm
class REBELClassifier(CoupledClassifier, BinParameters, StepParameters):
    r"""Boosting of shared binary trees that estimates the decision of least expected cost directly.

    The scores are

    .. math:: H(x) = a_0 + \sum_t f_t(x) \, a_t, \qquad f_t(x) \in \{-1, +1\}, \quad a_t \in \mathbb{R}^D,

    and the decision is the largest entry of H.
    Each round chooses a tree :math:`f_t`, which all decisions share, and a free vector :math:`a_t` so that together
    they lower the loss most:

    .. math:: L(H) = \frac{1}{W} \sum_n w_n \Big[ \beta_n + \frac12 \sum_k \big( c^+_{nk} F(H_{nk}) + c^-_{nk}
       F(-H_{nk}) \big) \Big].

    Here c is what each decision costs for the row, :math:`c^+ = c - \beta` and :math:`c^- = \max c - c`.
    In plain words: the score of a cheap decision is pushed up and that of an expensive one down, each as hard as it
    matters.

    Parameters
    ----------
    learning_rate : float, default=1.0
        Factor on every vector a_t. The paper uses 1; smaller values need more rounds.
    weak_learner : {"tree", "stump"}, default="tree"
        The learners: "tree" grows trees of `max_depth` greedily, "stump" takes trees of depth 1.
    max_depth : int, default=4
        Depth of the trees. The paper uses up to 4.
    loss : {"exponential", "logistic", "squared"} or tuple of three functions, default="exponential"
        The function F: e^x, log2(1 + e^x) or (1 + x)^2.
        A tuple is an F of your own with its first two derivatives, elementwise on arrays. It must be convex, at least 1
        for x >= 0, at least 0 elsewhere, and fall to 0.
        The exponential loss gives a_t in closed form; the others take Newton's method.
    stump_search : {"exact", "quadratic"}, default="exact"
        How a round with the logistic loss finds its first split.
        "exact" takes the stump that lowers the loss most with its best vector, as the paper has it; "quadratic" takes
        the one of the largest fall of the quadratic approximation.
        For the other losses both are the same stump.
    offset : {"tight", "paper"}, default="tight"
        The offset beta of the costs: "tight" is min c, "paper" is sum c - (D - 1) max c.
        With either L is an upper bound of the mean cost. Both are the same for 0/1 costs, and the benchmarks compare
        them for others.
    smoothing : float, optional
        Weight of two phantom rows for each decision, one of each side, as a share of what can still be lost in that
        decision.
        It keeps a_t finite if a tree separates a class perfectly.
        By default 0.001; 0 adds none.
    fit_intercept : bool or "each round", default=True
        Whether the scores start from the best constant a_0 or from 0.
        "each round" fits a_0 again together with every a_t, which gives each side of a stump a vector of its own. It
        needs the exponential loss and stumps.
    target_loss : float, "1/n" or "zero risk", optional
        The training ends when its loss is below this number, in the unit of the costs.
        "1/n" is the loss of one mistake: below it, 0/1 costs leave no training row with a wrong decision. Where weights
        differ, n is the effective number of rows, (sum w)^2 / sum w^2, and rows of less weight may be left.
        "zero risk" is the same for any costs: below it, every training row gets its cheapest decision (Eq. 5 of the
        paper).
        By default all rounds are made.

    Attributes
    ----------
    train_loss_ : ndarray of shape (T + 1,)
        The loss L before round 1 and after every round.

    See Also
    --------
    LocalizedSimilaritiesClassifier : The same loss, with learners that compare rows with training points.
    MinRiskClassifier : Decisions by calibrated probabilities.

    Notes
    -----
    As in the paper: ``offset="paper", smoothing=0, fit_intercept=False, binning="uniform"``.

    If no costs are stated, ``class_weight="balanced"`` means the same as ``cost=minrisk.costs.balanced(y)``.

    The paper has a constant a_0 and does not say how it is found. Its figures for stumps are reached with
    ``fit_intercept="each round"`` only.
    Values of `smoothing` from 0 to 0.1 differ by less than chance on the data sets of the benchmarks.

    References
    ----------
    .. [1] R. Appel, X. Burgos-Artizzu and P. Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of
       the Minimum-Risk Class", NIPS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import REBELClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = REBELClassifier(cost, n_estimators=20).fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    >>> round(model.score(X[1::2], y[1::2]), 2)  # 1 less the mean cost
    0.94
    """

    weak_learner: str = parameter(default="tree", rule=Choice(("stump", "tree")), lasting=True)
    max_depth: int = parameter(default=4, rule=Depth())
    loss: Any = parameter(
        default="exponential", rule=SmoothFunction(("exponential", "logistic", "squared")), lasting=True
    )
    stump_search: str = parameter(default="exact", rule=Choice(("exact", "quadratic")))
    offset: str = parameter(default="tight", rule=Choice(("paper", "tight")), lasting=True)
    smoothing: float | None = parameter(default=None, rule=Number(float, 0, optional=True))
    fit_intercept: bool | str = parameter(default=True, rule=Constant(), lasting=True)
    target_loss: float | str | None = parameter(default=None, rule=TargetLoss())

    _parts_rows = True
    _ways = (
        {"max_depth": 2},
        {"weak_learner": "stump", "fit_intercept": EACH_ROUND},
        {"loss": "logistic", "offset": "paper", "max_depth": 2},
        {"loss": "squared", "fit_intercept": False, "max_depth": 1},
    )

    # -- training ------------------------------------------------------------------------------------------------
    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.coupled import CoupledLoss

        return Recipe(
            loss=CoupledLoss(self.loss, self.offset) if isinstance(self.loss, str) else self._own_loss(),
            family=self._family(thresholds),
            solver=self._solver(),
            smoothing=SIGN_SMOOTHING if self.smoothing is None else self.smoothing,
            fit_intercept=bool(self.fit_intercept),
            target_loss=loss_to_reach(self.target_loss, costs.stated(1.0 / costs.weight)),
            **self._shared(thresholds),
        )

    def _own_loss(self) -> CoupledLoss:
        from minrisk.losses.coupled import OwnCoupledLoss, check
        from minrisk.losses.gamma_phi import Smooth

        F = Smooth(*self.loss)
        check(F)
        return OwnCoupledLoss("own", self.offset, F=F)

    def _family(self, thresholds: tuple[FloatArray, ...]) -> LearnerFamily:
        from minrisk.learners.greedy_tree import GreedyTrees

        return GreedyTrees(self._depth, thresholds, exact=self.stump_search == "exact")

    def _solver(self) -> StepSolver:
        from minrisk.steps.closed_form import ClosedFormStep, NewtonStep, TwoSidedStep

        if self.fit_intercept == EACH_ROUND:
            stumps = self.weak_learner == "stump" or self.max_depth == 1
            if self.loss != "exponential" or not stumps:
                raise ValueError(
                    f"fit_intercept={EACH_ROUND!r} needs loss='exponential' and weak_learner='stump', got "
                    f"loss={self.loss!r} and weak_learner={self.weak_learner!r}: use fit_intercept=True for others."
                )
            return TwoSidedStep()
        return NewtonStep() if self.loss != "exponential" else ClosedFormStep()
