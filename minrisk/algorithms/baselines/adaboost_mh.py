"""AdaBoost.MH: every pair of a row and a label is an example, right or wrong.

R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine Learning 1999.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
D(i, l), Sec. 7                 ``mass`` over its sum         rows
Y[l], the label or not          sign of ``edge``              rows
W+, W- of a block, Eq. (8)      ``leaf_sums``                 `minrisk.rows.base`
c = 1/2 ln(W+ / W-), Eq. (9)    ``LeafClosedForm``            `minrisk.steps.leaf_vectors`
Z = 2 sum sqrt(W+ W-), (10)     gain ``EXACT``                `minrisk._kernels.grow`
alpha, r: Sec. 3.1              ``VoteStep``                  `minrisk.steps.votes`
eps of Sec. 4.2                 ``smoothing``                 here
==============================  ============================  =========================================

Left open by the paper: how the blocks of the domain are found; here by trees, of which stumps are the least. With -1
and +1 the search takes the largest r, sum over blocks and labels of |W+ - W-|; where no split raises it the votes are
the same for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.validation import Choice, Number, Rule


class AdaBoostMHClassifier(BaselineClassifier):
    """AdaBoost on the K labels of every row: is it this one, or not?

    H(x) = sum_t h_t(x) with a tree h_t, shared by all labels, whose leaves hold a vector of K numbers; the decision is
    the largest entry. Each round lowers

        1 / (2 W) sum_n w_n sum_k D_nk exp(-Y_nk H_nk),        Y_nk = 1 where k is the label of row n, else -1,

    with D = 1 in the paper. A cost matrix says D otherwise: wrong labels weigh what they cost, and in the place of
    D exp(-H) at the true label stands (max c - c_k) exp(-H_k) at every label. That is REBEL's coupled loss with the
    "tight" offset, and AdaBoost.MH is what is left of it for 0/1 costs.

    Parameters
    ----------
    cost : optional
        As in `REBELClassifier`. Default: every mistake costs 1, the paper's case.
    response : {"real", "sign"}, default="real"
        The numbers of a leaf are free (real AdaBoost.MH), or -1 or +1 times one rate for the tree (discrete).
    smoothing : float, optional
        Weight of two phantom rows in every leaf and label, as a share of what can still be lost in that label. Default:
        one divided by the number of rows, which is the paper's eps = 1 / (m k) of the whole.
    n_estimators : int, default=200
        Largest number of rounds.
    max_depth : int, default=1
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first; 1 for stumps.
    learning_rate, binning, max_bins, subsample, max_features, early_stopping, validation_fraction, n_iter_no_change, \
warm_start, class_weight, categorical_features, n_jobs, random_state, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_loss_, train_risk_, validation_risk_, feature_importances_, \
n_features_in_
        As in `REBELClassifier`.

    Notes
    -----
    Real AdaBoost.MH of stumps is ``REBELClassifier(weak_learner="stump", fit_intercept="each round")`` on 0/1 costs:
    without smoothing the two make the same scores. That one begins at the best constant, which neither the choice of a
    split nor what its sides end at depends on. With two classes it is real AdaBoost, and with "sign" AdaBoost.

    References
    ----------
    .. [1] R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine
       Learning 37 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostMHClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostMHClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.96
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **BaselineClassifier._rules,
        "response": Choice(("real", "sign")),
        "smoothing": Number(float, 0, optional=True),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
        response: str = "real",
        n_estimators: int = 200,
        learning_rate: float = 1.0,
        max_depth: int = 1,
        smoothing: float | None = None,
        binning: str = "quantile",
        max_bins: int | None = None,
        subsample: float = 1.0,
        max_features: float = 1.0,
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
        super().__init__(
            cost, n_estimators=n_estimators, learning_rate=learning_rate, max_depth=max_depth, binning=binning,
            max_bins=max_bins, subsample=subsample, max_features=max_features, early_stopping=early_stopping,
            validation_fraction=validation_fraction, n_iter_no_change=n_iter_no_change, warm_start=warm_start,
            class_weight=class_weight, categorical_features=categorical_features, n_jobs=n_jobs,
            random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.response = response
        self.smoothing = smoothing

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk._kernels.grow import ABSOLUTE
        from minrisk.boosting.loop import Recipe
        from minrisk.losses.coupled import CoupledLoss
        from minrisk.steps.leaf_vectors import LeafClosedForm
        from minrisk.steps.votes import VoteStep

        real = self.response == "real"
        return Recipe(
            loss=CoupledLoss("exponential", "tight"),
            family=self._trees(thresholds) if real else self._trees(thresholds, ABSOLUTE, constants=True),
            solver=LeafClosedForm() if real else VoteStep(),
            smoothing=1.0 / max(1, costs.n_rows) if self.smoothing is None else self.smoothing,
            **self._shared(thresholds),
        )
