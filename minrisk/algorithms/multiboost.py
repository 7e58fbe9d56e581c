"""MultiBoost (CW-Boost): all vectors are optimised again in every round.

C. Shen and Z. Hao, "A direct formulation for totally-corrective multi-class boosting", CVPR 2011.

Its loss, learners and deviations are those of `minrisk.algorithms.stagewise`, whose paper compares with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minrisk._typing import FloatArray, IntArray
from minrisk.algorithms.base import CorrectiveClassifier
from minrisk.algorithms.parameters import algorithm, parameter
from minrisk.algorithms.stagewise import PairwiseClassifier
from minrisk.estimator.parameters import Choice, Number

if TYPE_CHECKING:
    import numpy as np

    from minrisk.rows.costs import RowCosts


@algorithm
class MultiBoostClassifier(PairwiseClassifier, CorrectiveClassifier):
    r"""Totally corrective boosting of margins: the coefficients of all learners are optimised again in every round.

    The scores are

    .. math:: S(x) = \sum_t h_t(x) \, w_t, \qquad h_t(x) \in \{-1, +1\},

    and the decision is the largest entry of S.
    Each round adds the learner whose dual constraint is violated most. It then minimises over all vectors :math:`W =
    (w_1, w_2, \dots) \ge 0`, from the last ones on,

    .. math:: \log \sum_{ir} c_{ir} e^{-(S_{iy} - S_{ir})} + \nu \lVert W \rVert_1
       \qquad \text{or} \qquad
       \frac1c \sum_{ir} c_{ir} \log\big(1 + e^{-(S_{iy} - S_{ir})}\big) + \nu \lVert W \rVert_1,

    where c is the sum over the rows of what a mistake costs there on average.
    In plain words: `StagewiseMCBoostClassifier` never changes an earlier vector; this method does, in many times the
    time.

    Parameters
    ----------
    loss : {"logistic", "exponential"}, default="logistic"
        The second or the first of the objectives (Eq. 7, with which the paper compares, and Eq. 5).
    tol : float, default=1e-5
        Rounds end when no constraint exceeds `nu` by more than this share of the loss that can still be lost.
        With ``penalty="constraint"`` they end when the loss is above the least possible one by no more than this share.
    solver_iterations : int, default=100
        Largest number of iterations of the solver in a round: projected L-BFGS, or with
        ``penalty="constraint"`` projected gradients, with 20 times as many.
    penalty : {"l1", "l2", "constraint"}, default="l1"
        "l1" is the sum of the entries of W. "l2" is half the sum of their squares, and entries may then be negative.
        "constraint" is a bound on their sum (Eq. 17), in place of a penalty.
    bound : float, default=10.0
        The largest sum of the entries of W with ``penalty="constraint"``; the paper's gamma.
    weak_learner : {"stump", "tree"}, default="stump"
        The learners: trees of depth 1, or of `max_depth`.

    Attributes
    ----------
    certificate_ : Certificate or None
        ``bound`` is the objective of the model: the logarithm of the last entry of `train_loss_` (exponential), or that
        entry over what a mistake costs on average (logistic), plus the penalty.
        It is proven that no vectors have an objective below ``value``: of any stumps, of any deeper trees that the
        search finds, and with "l2" of the learners of the model alone.
        None where no mistake costs anything, or Ctrl-C ended the rounds.

    See Also
    --------
    StagewiseMCBoostClassifier : Earlier vectors stay as they are.
    StructBoostClassifier : The hinge loss of the worst rival.

    Notes
    -----
    As in the paper: the defaults, with 0/1 costs and `nu` by cross-validation.

    *The weight of the penalty.* The paper chooses `nu` among 1e-8, 5e-8, ..., 5e-3 by cross-validation.
    That prefers 1e-3 on the data sets letter and dna, 5e-3 on noisy data, and 1e-5 if the classes are well separated.
    With "l2" it matters little from 1e-4 to 1e-2.

    *Squares.* With "l2" every stump is added once at most, while trees may come again, and rounds end when no learner
    lowers the loss.
    It makes fewer mistakes than "l1" if there are few rows for each class.

    *Memory.* Training keeps the responses of all learners, one byte for each row and group of learners. A group is the
    stumps on one feature, or at least seven others.

    *What is not offered.* MultiBoost with the hinge loss, summed over all other classes, is not offered. The logistic
    loss is its smooth relative.

    References
    ----------
    .. [1] C. Shen and Z. Hao, "A direct formulation for totally-corrective multi-class boosting", CVPR 2011.
    .. [2] S. Paisitkriangkrai, C. Shen and A. van den Hengel, "A scalable stage-wise approach to large-margin
       multi-class loss based boosting", 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import MultiBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = MultiBoostClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.96
    """

    loss: str = "logistic"
    n_estimators: int = 100
    nu: float = 1e-3
    penalty: str = parameter(default="l1", rule=Choice(("l1", "l2", "constraint")), lasting=True)
    bound: float = parameter(default=10.0, rule=Number(float, 0, open_low=True))

    _ways = ({}, {"penalty": "constraint", "bound": 2.0}, {"loss": "exponential", "penalty": "l2"})

    def _row_options(self, X: np.ndarray, training: IntArray | None, costs: RowCosts) -> dict[str, Any]:
        return {"distinct": self.penalty == "l2"}

    @property
    def _claim(self) -> str:
        of = "the model's learners" if self.penalty == "l2" else "any learners that the search finds"
        what = "loss of any vectors within the bound" if self.penalty == "constraint" else "objective of any vectors"
        return f"the least {what} of {of}; that of the model"

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.steps.penalised import ConstrainedStep, CorrectiveStep

        if self.penalty == "constraint":
            step: Any = ConstrainedStep(self.bound, self.tol, self._tolerances())
            return self._paired(thresholds, step, 0.0)  # the step says when rounds end
        step = CorrectiveStep(self.nu, self.penalty, self._tolerances())
        return self._paired(thresholds, step, self._bound)
