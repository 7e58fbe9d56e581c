"""Localized similarities: boosting of learners that compare a row with one or two training points.

R. Appel and P. Perona, "A Simple Multi-Class Boosting Framework with Theoretical Guarantees and Empirical
Proficiency", ICML 2017.

==============================  ================================  ===================================
paper                           here                              where
==============================  ================================  ===================================
L, Eq. (2)                      ``CoupledLoss``                   `minrisk.losses.coupled`
w_n, Eq. (3)                    ``coupled_gradients``             `minrisk._kernels.losses`
f_i(x), f_ij(x), Sec. 5.1       ``one_point``, ``two_point``      `minrisk._kernels.similarity`
U U', Eq. (7)                   ``moments``                       `minrisk.rows.base`
b_n = sign <v1, delta_n>        ``binarise``                      `minrisk.rows.base`
L_f*, Eq. (5)                   T - ``drop``                      `minrisk._kernels.similarity`
a*, before Eq. (5)              ``ClosedFormStep`` for signs,     `minrisk.steps.closed_form`
                                ``NewtonStep`` for real f         `minrisk.steps.closed_form`
Sec. 5.2, steps 0 to 3          ``Similarities.fit``              `minrisk.learners.similarity`
Sec. 5.2, steps 4 to 6          ``opposites``                     `minrisk.rows.base`
loss below 1/N, Sec. 7.1        ``target_loss="1/n"``             here
==============================  ================================  ===================================

With general costs the loss is that of `REBELClassifier`, which for 0/1 costs is the paper's, and u_n is gradient /
sqrt(hessian), which is the paper's, too (w and y in one: gradient = -w y).

Deviations: a* is smoothed (the paper divides by zero on separable data); a constant a_0 is fitted by default;
`offset="tight"` by default; f_ij is divided by its supremum over x, 0.2015 / |d|^2, which a* makes up for; real
responses are chosen by Eq. (5) with sums over w (|f| -+ f y) / 2, the rest of the weights staying as it is (a bound of
the loss, and Eq. (5) itself for signs; the paper's indicator sums do not fit real responses, and a vector found from
them can raise the loss), and a* is exact; the search may end after `n_candidates` points x_j. Where the paper is
silent: "optimal" f_i is the one of least loss when it isolates x_i; tau is half the squared distance to the next point.

Footnote 1's "mixed" class for coincident points of different classes is not offered: what is to be done with it "at a
later stage" the paper does not say, and nothing is lost without it. Coincident points have the same scores whatever is
learnt; they are isolated together, and the scores that lower their loss most decide for what costs them least in sum,
which is the footnote's other remedy. Their loss has a floor, so that neither "1/n" nor "zero risk" may be in reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.algorithms.base import TrainingData
from minrisk.algorithms.parameters import StepParameters, algorithm, parameter
from minrisk.algorithms.rebel import CoupledClassifier
from minrisk.data.row_blocks import RowBlocks
from minrisk.data.sparse import SparseRows, stay_sparse
from minrisk.estimator.parameters import Choice, Flag, Number, TargetLoss, loss_to_reach

if TYPE_CHECKING:
    from minrisk.data.binning import Binner
    from minrisk.estimator.inputs import TrainingRows
    from minrisk.rows.costs import RowCosts

RESPONSE_SMOOTHING = {"real": 1e-8, "sign": 1e-3}  # by response: real ones are near 0 for most rows


@algorithm
class LocalizedSimilaritiesClassifier(CoupledClassifier, StepParameters):
    r"""Boosting of localized similarities: "more like this training point than like that one".

    The scores are

    .. math:: H(x) = a_0 + \sum_t f_t(x) \, a_t, \qquad f_t(x) \in [-1, 1], \quad a_t \in \mathbb{R}^D,

    and the decision is the largest entry of H.
    Each learner compares x with one training point :math:`x_i` or with two,

    .. math:: f_i(x) = \frac{\tau - \lVert x - x_i \rVert^2}{\tau + \lVert x - x_i \rVert^2}
       \qquad \text{or} \qquad
       f_{ij}(x) \propto \frac{\langle d, x - m \rangle}{4 \lVert d \rVert^4 + \lVert x - m \rVert^4},

    where :math:`d = (x_i - x_j) / 2` and m is the midpoint of the two; :math:`f_{ij}` is divided by its largest value.
    Each round chooses the points and the free vector :math:`a_t` so that they lower the loss of `REBELClassifier`.
    In plain words: rows are told apart by which of two examples they are closer to.
    `minrisk.inspection.explain` names the training points that a decision rests on.

    Parameters
    ----------
    n_estimators : int, default=200
        Largest number of rounds. The paper trains until the loss is below 1/n; see `target_loss`.
    learning_rate : float, default=1.0
        Factor on every vector a_t. The paper uses 1; smaller values need more rounds.
    response : {"real", "sign"}, default="real"
        What a learner answers: "real" is f_t, from -1 to 1, "sign" is its sign, for which the paper proves its rate.
    two_point : bool, default=True
        Whether learners may compare with two points. False compares with one point only, which makes more mistakes.
    scaling : {"none", "standard", "robust"}, default="none"
        Units of the distances: features as they are (as in the paper), divided by their standard deviations, or by
        their interquartile ranges.
        Features in different units should be scaled.
    n_candidates : int, optional
        Largest number of second points x_j that a round considers. With a limit the time of a round is linear in n.
        By default all that the search of the paper (Sec. 5.2) reaches.
    n_neighbors : int, optional
        Second points x_j are sought among about this many nearest neighbours of x_i only, which are found before the
        first round.
        By default they are sought among all rows.
    loss : {"exponential", "logistic", "squared"}, default="exponential"
        The function F in the loss: e^x (as in the paper), log2(1 + e^x) or (1 + x)^2.
    offset : {"tight", "paper"}, default="tight"
        The offset beta of the costs: "tight" is min c, "paper" is sum c - (D - 1) max c, as in the paper of REBEL.
        Both are the same for 0/1 costs.
    smoothing : float, optional
        Weight of two phantom rows for each decision, one of each side, as a share of what can still be lost in that
        decision.
        It keeps a_t finite if a learner separates a class perfectly.
        By default 0.001 if `response` is "sign" and 1e-8 if it is "real"; 0 adds none.
    fit_intercept : bool, default=True
        Whether the scores start from the best constant a_0, or from 0 as in the paper.
    target_loss : float, "1/n" or "zero risk", optional
        The training ends when its loss is below this number, in the unit of the costs.
        "1/n" is the rule of the paper (Sec. 7.1): below it, 0/1 costs leave no training row with a wrong decision.
        Where weights differ, n is the effective number of rows, (sum w)^2 / sum w^2, and rows of less weight may be
        left.
        "zero risk" is the same for any costs; see `REBELClassifier`.
        By default all rounds are made.
    cache_size : float, default=500
        Megabytes for distances between training points: n numbers for each point that was compared with.
        The model does not depend on it.
    random_state : int or RandomState, optional
        Seed of what is drawn: rows (`subsample`) and the rows that `early_stopping` sets apart.

    Attributes
    ----------
    model_ : AdditiveModel
        The scores H. ``model_.packed`` holds the training points that learners compare with, and the numbers of their
        rows.
    train_loss_ : ndarray of shape (T + 1,)
        The loss L before round 1 and after every round.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the relative falls of the loss, by its part in the squared distance of x_i and x_j.

    See Also
    --------
    REBELClassifier : The same loss, lowered by trees.
    minrisk.inspection.explain : The training points that decisions rest on.

    Notes
    -----
    As in the paper: ``response="sign", smoothing=0, fit_intercept=False, target_loss="1/n"``, with 0/1 costs.

    Missing values count as the mean of the feature, and as its median if `scaling` is "robust".

    Real responses make fewer mistakes than signs (vowel 30 % against 37 %, pendigits 2.3 % against 2.6 %) and need
    fewer rounds.
    They are near 0 for most rows, so a `smoothing` of 0.001 would outweigh the others: on pendigits the loss falls
    below 1/n after 628 rounds without smoothing and after 1143 rounds with 0.001.

    Neighbours (`n_neighbors`) are the nearest in the first 50 principal components.
    If none of them is of the other side, all rows are searched.

    References
    ----------
    .. [1] R. Appel and P. Perona, "A Simple Multi-Class Boosting Framework with Theoretical Guarantees and Empirical
       Proficiency", ICML 2017; the learners are those of Sec. 5.1, their search is that of Sec. 5.2.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import LocalizedSimilaritiesClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]  # class 2 must not be missed
    >>> model = LocalizedSimilaritiesClassifier(cost, n_estimators=20, scaling="standard").fit(X[::2], y[::2])
    >>> model.predict(X[1::2])[:5]
    array([0, 0, 0, 0, 0])
    >>> round(model.score(X[1::2], y[1::2]), 2)  # 1 less the mean cost
    0.98
    """

    response: str = parameter(default="real", rule=Choice(("real", "sign")), lasting=True)
    two_point: bool = parameter(default=True, rule=Flag())
    scaling: str = parameter(default="none", rule=Choice(("none", "standard", "robust")), lasting=True)
    n_candidates: int | None = parameter(default=None, rule=Number(int, 1, optional=True))
    n_neighbors: int | None = parameter(default=None, rule=Number(int, 1, optional=True))
    loss: str = parameter(default="exponential", rule=Choice(("exponential", "logistic", "squared")), lasting=True)
    offset: str = parameter(default="tight", rule=Choice(("paper", "tight")), lasting=True)
    smoothing: float | None = parameter(default=None, rule=Number(float, 0, optional=True))
    fit_intercept: bool = parameter(default=True, rule=Flag(), lasting=True)
    target_loss: float | str | None = parameter(default=None, rule=TargetLoss())
    cache_size: float = parameter(default=500, rule=Number(float, 0))

    _arrays = (CoupledClassifier._arrays - {"values"}) | {"similarities"}  # or trees, where no learner was found
    _ways = ({}, {"loss": "logistic", "response": "sign", "two_point": False})

    # -- training ------------------------------------------------------------------------------------------------
    def _prepare(self, given: TrainingRows, *how: Any) -> TrainingData:
        X = given.X
        if isinstance(X, RowBlocks):
            X = X.dense("distances")
        few = isinstance(X, SparseRows) and not stay_sparse(*X.shape)  # an array is then faster, for the same model
        return super()._prepare(given._replace(X=np.asarray(X) if few else X), *how)

    def _fit_binner(self, X: np.ndarray, *training: Any) -> Binner:
        from minrisk.data.binning import Binner

        return Binner((np.empty(0),) * X.shape[1])  # distances have no use for bins

    def _row_options(self, X: np.ndarray, training: IntArray | None, costs: RowCosts) -> dict[str, Any]:
        from minrisk.data.distances import Units, stored_units
        from minrisk.model.similarities import PackedSimilarities

        packed: Any = self.model_.packed if self.warm_start and hasattr(self, "model_") else None
        if isinstance(packed, PackedSimilarities):  # in the units of the rounds so far
            units = packed.units
        else:
            learnt = X if training is None else X[training]
            units = (stored_units if isinstance(X, SparseRows) else Units.of)(learnt, self.scaling, costs.weight)
        return {"units": units, "cache_bytes": self.cache_size * 1e6, "n_neighbors": self.n_neighbors}

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.similarity import Similarities
        from minrisk.losses.coupled import CoupledLoss
        from minrisk.steps.closed_form import ClosedFormStep, NewtonStep

        real = self.response == "real"
        return Recipe(
            loss=CoupledLoss(self.loss, self.offset),
            family=Similarities(real, self.two_point, self.n_candidates),
            solver=NewtonStep() if real or self.loss != "exponential" else ClosedFormStep(),
            smoothing=RESPONSE_SMOOTHING[self.response] if self.smoothing is None else self.smoothing,
            learning_rate=self.learning_rate,
            fit_intercept=self.fit_intercept,
            subsample=self.subsample,
            target_loss=loss_to_reach(self.target_loss, costs.stated(1.0 / costs.weight)),
        )
