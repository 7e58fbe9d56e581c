"""Stage-wise large-margin multi-class boosting, and what MultiBoost (CW-Boost), which it is compared with, shares.

S. Paisitkriangkrai, C. Shen and A. van den Hengel, "A scalable stage-wise approach to large-margin multi-class loss
based boosting", 2013; MultiBoost: C. Shen and Z. Hao, "A direct formulation for totally-corrective multi-class
boosting", CVPR 2011.

==================================  ===================================  ==================================
paper                               here                                 where
==================================  ===================================  ==================================
rho_ir, Eq. (2); losses (4), (7)    ``PairwiseLoss``                     `minrisk.losses.guess_averse`
u_ir, Eq. (11), (12)                ``gradient``, ``odds``               `minrisk._kernels.guess_averse`
h*, Eq. (10); step 2 of Alg. 1      ``MostViolatedTrees``                `minrisk.learners.most_violated`
w_t, Eq. (13), (14)                 ``PairwiseStep``                     `minrisk.steps.penalised`
0.01 on the selected class          ``SelectedStep``                     `minrisk.steps.penalised`
W, Eq. (5), (7), by columns         ``CorrectiveStep``                   `minrisk.steps.penalised`
W, Eq. (17), by columns             ``ConstrainedStep``                  `minrisk.steps.penalised`
nu; eta; kappa; epsilon             ``nu``, ``learning_rate``, ``cap``,  here
                                    ``tol``
==================================  ===================================  ==================================

Deviations: pairs weigh C_yr, where the paper knows no costs; the term r = y weighs as much as a mistake does on average
(1 for 0/1 costs, as in the paper); nu of the logistic loss is of the mean (`minrisk.steps.penalised.Objective`);
projected L-BFGS (`minrisk._utils.minimising`) stands for the paper's L-BFGS-B; epsilon and its tolerances are relative
to the loss that can still be lost; no entry of w exceeds 18; the constraint on sum u in (8), which contradicts (12), is
ignored; with both, eta comes before kappa. The MCBoost of this paper is not that of `MCBoostClassifier` (Saberian and
Vasconcelos).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minrisk._typing import FloatArray
from minrisk.algorithms.base import RecipeClassifier, TrainingData
from minrisk.algorithms.parameters import BinParameters, StepParameters, algorithm, parameter
from minrisk.estimator.parameters import Choice, Depth, Number, n_drawn

if TYPE_CHECKING:
    from minrisk.boosting.loop import Recipe
    from minrisk.steps.penalised import Tolerances

SOLVER_ITERATIONS = 1_000_000  # of projected L-BFGS, at most: more than it ever makes


@algorithm
class PairwiseClassifier(RecipeClassifier, BinParameters):
    """The loss of pairs with learners of the most violated constraint; a subclass says which step takes its vectors.

    Parameters
    ----------
    loss : {"exponential", "logistic"}, default="exponential"
        The first or the second of the objectives (Eq. 13 and 14).
        The exponential one is solved on sums over pairs of classes; the logistic one passes over all rows for each
        evaluation.
    nu : float, default=1e-9
        Weight of the penalty. With "l1" rounds end when no constraint exceeds it.
    tol : float, default=1e-5
        Rounds end when no constraint exceeds `nu` by more than this share of the loss that can still be lost; the
        paper's epsilon.
    solver_iterations : int, default=100
        Largest number of iterations of the solver projected L-BFGS in a round.
    solver_gradient : float, default=1e-5
        The solver stops when no entry of its projected gradient is larger than this share of the loss that can still be
        lost.
    solver_change : float, default=1e-9
        The solver stops when its objective falls by less than this share of the loss that can still be lost.
    weak_learner : {"stump", "tree"}, default="stump"
        The learners: trees of depth 1 (as in the paper), or of `max_depth`, deepened for the class of the most violated
        constraint.
    max_depth : int, default=3
        Depth of the trees.

    Attributes
    ----------
    decisions_ : ndarray of shape (K,)
        What `predict` may return: the classes.
    model_ : AdditiveModel
        The scores S. Row t of ``model_.vectors`` is w_t.
    train_loss_ : ndarray of shape (T + 1,)
        The loss without logarithm and penalty, divided by the sum of the weights, before round 1 and after every round.
    """

    loss: str = parameter(default="exponential", rule=Choice(("exponential", "logistic")), lasting=True)
    nu: float = parameter(default=1e-9, rule=Number(float, 0))
    tol: float = parameter(default=1e-5, rule=Number(float, 0))
    solver_iterations: int = parameter(default=100, rule=Number(int, 1, SOLVER_ITERATIONS))
    solver_gradient: float = parameter(default=1e-5, rule=Number(float, 0))
    solver_change: float = parameter(default=1e-9, rule=Number(float, 0))
    weak_learner: str = parameter(default="stump", rule=Choice(("stump", "tree")), lasting=True)
    max_depth: int = parameter(default=3, rule=Depth())
    penalty: str = parameter(default="l1", rule=Choice(("l1", "l2")), lasting=True)

    _links = ("softmax", "softmax2")
    _parts_rows = True

    def _proven(self, data: TrainingData) -> tuple[float, float] | None:
        return self._objective(data) if float(self.train_loss_[0]) > 0.0 else None

    @property
    def _bound(self) -> float:
        """Return what no constraint may exceed."""
        return self.nu if self.penalty == "l1" else 0.0  # |W|^2 rises by less than any edge at W = 0

    def _tolerances(self) -> Tolerances:
        from minrisk.steps.penalised import Tolerances

        return Tolerances(self.solver_iterations, self.solver_gradient, self.solver_change)

    def _paired(self, thresholds: tuple[FloatArray, ...], solver: Any, bound: float) -> Recipe:
        """Make the recipe with this step; `bound` is what no constraint may exceed."""
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.most_violated import MostViolatedTrees
        from minrisk.losses.guess_averse import PairwiseLoss

        self._check_decisions()
        return Recipe(
            loss=PairwiseLoss(self.loss),
            family=MostViolatedTrees(self._depth, thresholds, bound, self.tol),
            solver=solver,
            max_features=n_drawn(self.max_features, len(thresholds)),
        )


@algorithm
class StagewiseMCBoostClassifier(PairwiseClassifier, StepParameters):
    r"""Boosting of the margins between the true class and every other, with one coefficient vector for each learner.

    The scores are

    .. math:: S(x) = \sum_t h_t(x) \, w_t, \qquad h_t(x) \in \{-1, +1\}, \quad w_t \ge 0,

    and the decision is the largest entry of S.
    Each round takes the learner and the class whose dual constraint is violated most.
    It then finds the vector :math:`w_t` that minimises, with all earlier vectors held,

    .. math:: \log \sum_{ir} c_{ir} e^{-(S_{iy} - S_{ir})} + \nu \lVert w_t \rVert_1
       \qquad \text{or} \qquad
       \frac1c \sum_{ir} c_{ir} \log\big(1 + e^{-(S_{iy} - S_{ir})}\big) + \nu \lVert w_t \rVert_1,

    where c is the sum over the rows of what a mistake costs there on average, so that neither the number of rows nor
    the unit of the costs matters.
    In plain words: the true class is to win against each other one by a margin, the more so the more that mistake
    costs.

    Parameters
    ----------
    n_estimators : int, default=500
        Largest number of rounds. The paper uses 500 and 1000.
    penalty : {"l1", "l2"}, default="l1"
        "l1" is the sum of the entries of w_t. "l2" is half the sum of their squares, and entries may then be negative.
    learning_rate : float, default=0.5
        Factor on every w_t, the paper's eta.
    cap : float, optional
        Entries of w_t above this number in size are cut to it, after `learning_rate`; the paper's kappa.
        By default nothing is cut.
    step_size : float, optional
        A fixed coefficient for the selected class, with 0 for the others, in place of a minimiser (Sec. III-B uses
        0.01).
        `learning_rate` and `cap` have then no effect.
        By default w_t is the minimiser.

    Attributes
    ----------
    certificate_ : Certificate or None
        ``bound`` is the objective of the model: the logarithm of the last entry of `train_loss_` (exponential), or that
        entry over what a mistake costs on average (logistic), plus the penalty of all vectors.
        It is proven that no vectors of the same learners have an objective below ``value``; with ``penalty="l1"`` no
        vectors with entries of 0 or more whose sum is no larger. None where no mistake costs anything, or Ctrl-C ended
        the rounds.

    See Also
    --------
    MultiBoostClassifier : All vectors are optimised again in every round.
    MCBoostClassifier : The method that another paper calls MCBoost.

    Notes
    -----
    As in the paper: the defaults, with 0/1 costs.

    With symmetric costs there are probabilities: the softmax of the scores with the logistic loss, and of twice the
    scores with the exponential one.

    References
    ----------
    .. [1] S. Paisitkriangkrai, C. Shen and A. van den Hengel, "A scalable stage-wise approach to large-margin
       multi-class loss based boosting", 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import StagewiseMCBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = StagewiseMCBoostClassifier(loss="logistic", n_estimators=50).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.98
    >>> model.predict_proba(X[1:2]).round(2)
    array([[1., 0., 0.]])
    """

    n_estimators: int = 500
    learning_rate: float = 0.5
    cap: float | None = parameter(default=None, rule=Number(float, 0, open_low=True, optional=True))
    step_size: float | None = parameter(default=None, rule=Number(float, 0, open_low=True, optional=True))

    _ways = ({}, {"loss": "logistic", "weak_learner": "tree"}, {"penalty": "l2", "nu": 1e-3})

    @property
    def _claim(self) -> str:
        of = "vectors whose sum is no larger" if self.penalty == "l1" else "vectors"
        return f"the least objective, penalty included, of any {of}, of the model's learners; that of the model"

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.steps.base import LARGEST_STEP
        from minrisk.steps.penalised import PairwiseStep, SelectedStep

        if self.step_size is not None:
            if self.penalty != "l1":
                raise ValueError(
                    f"step_size= takes steps of one size, whose penalty is their sum, got penalty={self.penalty!r}: "
                    "use penalty='l1', or step_size=None."
                )
            step: Any = SelectedStep(self.nu, self.step_size)
        else:
            cap = LARGEST_STEP if self.cap is None else self.cap
            step = PairwiseStep(self.nu, self.learning_rate, cap, self._tolerances(), self.penalty)
        return self._paired(thresholds, step, self._bound)._replace(subsample=self.subsample)
