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
                                ``NewtonStep`` for real f         `minrisk.steps.newton`
Sec. 5.2, steps 0 to 3          ``Similarities.fit``              `minrisk.learners.similarity`
Sec. 5.2, steps 4 to 6          ``opposites``                     `minrisk.rows.base`
loss below 1/N, Sec. 7.1        ``target_loss="1/n"``             here
==============================  ================================  ===================================

With general costs the loss is that of `REBELClassifier`, which for 0/1 costs is the paper's, and u_n is edge /
sqrt(mass), which is the paper's, too (w and y in one: edge = -w y).

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

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.algorithms.base import RecipeClassifier, TrainingData
from minrisk.data.row_blocks import RowBlocks
from minrisk.data.sparse_rows import SparseRows, stay_sparse
from minrisk.validation import Choice, Flag, Number, Rule, TargetLoss, loss_to_reach

if TYPE_CHECKING:
    from minrisk.data.binning import Binner
    from minrisk.rows.costs import RowCosts

RESPONSE_SMOOTHING = {"real": 1e-8, "sign": 1e-3}  # by response: real ones are near 0 for most rows


class LocalizedSimilaritiesClassifier(RecipeClassifier):
    """Boosting of localized similarities: "more like this training point than like that one".

    H(x) = a_0 + sum_t f_t(x) a_t with f_t(x) in [-1, 1] and a_t in R^D; the decision is the largest entry of H. Each
    f_t compares x with one training point x_i or with two,

        f_i(x) = (tau - |x - x_i|^2) / (tau + |x - x_i|^2)  or  f_ij(x) ~ <d, x - m> / (4 |d|^4 + |x - m|^4),

    where d = (x_i - x_j) / 2, m is the midpoint of the two, and f_ij is divided by its largest value. Each round
    chooses the points so that f_t, shared by all decisions, and the free vector a_t lower the loss

        L(H) = 1/W sum_n w_n [ beta_n + 1/2 sum_k ( c+_nk F(H_nk) + c-_nk F(-H_nk) ) ],

    where c is the row's cost, c+ = c - beta and c- = max c - c. In plain words: points are told apart by which of two
    examples they are closer to. `minrisk.inspection.explain` names the training points that a decision rests on.

    Parameters
    ----------
    cost : optional
        What each mistake costs: a K x D table (rows are true classes, columns are decisions), DataFrame, dict of
        dicts, CSV file or `minrisk.CostMatrix`; a table without labels stands in the order of `classes_`, which is
        sorted. Default: every mistake costs 1, which is the paper's case.
    n_estimators : int, default=200
        Largest number of rounds; the paper trains until the loss is below 1/n, see `target_loss`.
    learning_rate : float, default=1.0
        Factor on every a_t; 1 is the paper's, smaller values need more rounds.
    response : {"real", "sign"}, default="real"
        f_t as above with a_t exact, or its sign with a_t in closed form, for which the paper proves its rate. Real ones
        erred less (vowel 30 % against 37 %, pendigits 2.3 % against 2.6 %) and needed fewer rounds.
    two_point : bool, default=True
        Whether f_t may be an f_ij, or an f_i only. One-point similarities alone erred more
        (``docs/more/papers/localized_similarities.md``).
    scaling : {"none", "standard", "robust"}, default="none"
        Units of distances: features as they are (the paper's), over their standard deviation, or over their
        interquartile range. Features of different units should be scaled. Missing values count as the mean of the
        feature, with "robust" as its median.
    n_candidates : int, optional
        Largest number of points x_j that a round tries; default: all that the paper's Sec. 5.2 does. With a limit the
        time of a round is linear in n.
    n_neighbors : int, optional
        Look for the points x_j among about so many nearest neighbours of x_i, found once before the first round
        (nearest in the first 50 principal components); where none of them is of the other side, among all. Default:
        among all.
    loss : {"exponential", "logistic", "squared"}, default="exponential"
        F(x) = e^x (the paper's), log2(1 + e^x) or (1 + x)^2.
    offset : {"tight", "paper"}, default="tight"
        beta = min c, or beta = sum c - (D - 1) max c as in REBEL's paper; the two agree for 0/1 costs. See
        `REBELClassifier`.
    smoothing : float, optional
        Weight of two phantom rows per decision that no learner can tell apart, as a share of what can still be lost in
        that decision. Without it a_t is infinite where a learner separates a class perfectly. Default: 0.001 of signs,
        and 1e-8 of real responses: they are near 0 for most rows, and the others weigh less than phantoms of a
        thousandth do (pendigits: 628 rounds to a loss below 1/n without smoothing, with 0.001 1143). None at all leaves
        steps to rounding.
    fit_intercept : bool, default=True
        Start from the best constant a_0, or from 0 as the paper does.
    target_loss : float, "1/n" or "zero risk", optional
        Stop when the training loss, in the unit of the costs, is below; "1/n" is the paper's rule (Sec. 7.1): with 0/1
        costs no training row is then decided wrongly; "zero risk" is the same for any costs, see `REBELClassifier`.
        Default: make all rounds.
    subsample : float, default=1.0
        Share of the rows drawn, without replacement, for each round.
    cache_size : float, default=500
        Megabytes for distances between training points, n numbers for each point that was compared with. The model
        does not depend on it.
    early_stopping : bool, default=False
        Set `validation_fraction` of the rows apart and keep the rounds up to the least validated mean cost.
    validation_fraction : float, default=0.1
        Share of the rows set apart.
    n_iter_no_change : int, default=20
        Stop after this many rounds without a new minimum.
    warm_start : bool, default=False
        Let `fit` go on from the last fit's rounds; the same bits as one long fit on the same data.
    class_weight, categorical_features
        As in `REBELClassifier`.
    n_jobs : int, optional
        Threads, as in joblib: None is 1, -1 all cores. The model does not depend on it.
    random_state : int or RandomState, optional
        For `subsample` and the validation part.
    verbose : int, default=0
        1 draws a progress bar (with rich).

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    decisions_ : ndarray of shape (D,)
        What `predict` answers: the classes, then other decisions that the costs name. Of the dtype of `classes_`, or
        of the smallest that holds the others too.
    cost_ : CostMatrix or None
        Costs of the fit; None if they were given per row.
    model_ : AdditiveModel
        H. ``model_.packed`` holds the training points that learners compare with and the rows they were.
    n_iter_ : int
        Rounds kept.
    train_loss_, train_risk_ : ndarray of shape (n_iter_ + 1,)
        L and the mean cost of the training rows before round 1 and after every round.
    validation_risk_ : ndarray or None
        Mean cost of the validation rows, likewise, over all rounds that were run.
    feature_importances_ : ndarray of shape (d,)
        Share of each feature in the relative falls of the loss, by its part in the squared distance of x_i and x_j.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (d,)
        Their names, if X had names that are all strings.

    See Also
    --------
    REBELClassifier : The same loss, lowered by trees.
    minrisk.inspection.explain : The training points that decisions rest on.

    References
    ----------
    .. [1] R. Appel and P. Perona, "A Simple Multi-Class Boosting Framework with Theoretical Guarantees and Empirical
       Proficiency", ICML 2017; the learners are of Sec. 5.1, their search of Sec. 5.2.

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
    0.99
    """

    max_features = 1.0  # distances are measured in all of them

    _rules: ClassVar[Mapping[str, Rule]] = {
        **{
            name: RecipeClassifier._rules[name]
            for name in (
                "n_estimators", "learning_rate", "subsample", "early_stopping", "validation_fraction",
                "n_iter_no_change", "warm_start", "class_weight", "categorical_features", "n_jobs", "random_state",
                "verbose",
            )
        },
        "response": Choice(("real", "sign")),
        "two_point": Flag(),
        "scaling": Choice(("none", "standard", "robust")),
        "n_candidates": Number(int, 1, optional=True),
        "n_neighbors": Number(int, 1, optional=True),
        "loss": Choice(("exponential", "logistic", "squared")),
        "offset": Choice(("paper", "tight")),
        "smoothing": Number(float, 0, optional=True),
        "fit_intercept": Flag(),
        "target_loss": TargetLoss(),
        "cache_size": Number(float, 0),
    }  # fmt: skip

    def __init__(
        self,
        cost: Any = None,
        *,
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        response: str = "real",
        two_point: bool = True,
        scaling: str = "none",
        n_candidates: int | None = None,
        n_neighbors: int | None = None,
        loss: str = "exponential",
        offset: str = "tight",
        smoothing: float | None = None,
        fit_intercept: bool = True,
        target_loss: float | str | None = None,
        subsample: float = 1.0,
        cache_size: float = 500,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        warm_start: bool = False,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.cost = cost
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.response = response
        self.two_point = two_point
        self.scaling = scaling
        self.n_candidates = n_candidates
        self.n_neighbors = n_neighbors
        self.loss = loss
        self.offset = offset
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.target_loss = target_loss
        self.subsample = subsample
        self.cache_size = cache_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- training ------------------------------------------------------------------------------------------------
    def _prepare(self, X: Any, *data: Any) -> TrainingData:
        if isinstance(X, RowBlocks):
            X = X.dense("distances")
        few = isinstance(X, SparseRows) and not stay_sparse(*X.shape)  # an array is then faster, for the same model
        return super()._prepare(np.asarray(X) if few else X, *data)

    def _fit_binner(self, X: np.ndarray, *training: Any) -> Binner:
        from minrisk.data.binning import Binner

        return Binner((np.empty(0),) * X.shape[1])  # distances have no use for bins

    def _row_options(self, X: np.ndarray, training: IntArray | None, costs: RowCosts) -> dict[str, Any]:
        from minrisk.data.distances import Units
        from minrisk.data.sparse_points import stored_units
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
        from minrisk.steps.closed_form import ClosedFormStep
        from minrisk.steps.newton import NewtonStep

        real = self.response == "real"
        return Recipe(
            loss=CoupledLoss(self.loss, self.offset),
            family=Similarities(real, self.two_point, self.n_candidates),
            solver=NewtonStep() if real or self.loss != "exponential" else ClosedFormStep(),
            smoothing=RESPONSE_SMOOTHING[self.response] if self.smoothing is None else self.smoothing,
            learning_rate=self.learning_rate,
            fit_intercept=self.fit_intercept,
            subsample=self.subsample,
            target_loss=loss_to_reach(self.target_loss, costs.stated(1.0 / max(1, costs.n_rows))),
        )
