"""AOSO-LogitBoost: softmax boosting in which every node of a tree moves two classes against each other.

P. Sun, M. D. Reid and J. Zhou, "AOSO-LogitBoost: Adaptive one-vs-one LogitBoost for multi-class problem", ICML 2012,
arXiv 1110.3907.

==============================  ============================  =========================================
paper                           here                          where
==============================  ============================  =========================================
logistic loss, p                ``GuessAverseLoss("gll")``    `minrisk.losses.guess_averse`
gradient g, Hessian h           ``edge``, ``mass``,           rows, `minrisk._kernels.pair_nodes`
                                ``product_sums``
the pair of a node              ``PairGrowth``                `minrisk.rows.local.pair_growth`
node gain g^2 / h, split gain   gain ``NEWTON``               `minrisk._kernels.grow`
node value (+t, -t)             ``PairedNewton``              `minrisk.learners.paired`
==============================  ============================  =========================================

The pair of a node is chosen in time by K: r with the largest edge, then s by the fall of the second order. To try all
pairs would take K^2. Deviations: curvatures get a share of the mean of all rows, without which a node of few rows that
are decided surely and wrongly gains any amount; no step is above 4; costs may enter the loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.validation import Number, Rule


class AOSOLogitBoostClassifier(BaselineClassifier):
    """LogitBoost of vector trees: in each leaf one class's score rises as much as another's falls.

    H(x) = sum_t h_t(x) with a tree h_t whose leaf j adds t_j to the score of one class r and takes it from another's,
    s; the decision is the largest entry of H. The rounds lower

        1 / W sum_n w_n log(1 + sum_{k != y} c_nk exp(H_nk - H_ny)),

    with c = 1 in the paper: minus the log of the softmax at the true class. With edges G and the Hessian h summed over
    a node's rows, its pair is r = argmax G and s = argmax (G_r - G_s)^2 / (h_rr + h_ss - 2 h_rs); a split gains what
    g^2 / h along the node's pair gains; a leaf's t is (G_r - G_s) / (h_rr + h_ss - 2 h_rs) of its own pair.

    Parameters
    ----------
    cost : optional
        As in `REBELClassifier`. Default: every mistake costs 1, the paper's case.
    smoothing : float, default=1e-3
        Curvature of phantom rows in every node, as a share of the mean over classes of all rows' mass.
    n_estimators : int, default=200
        Largest number of rounds.
    learning_rate : float, default=0.1
        Factor on every t: shrinkage, as is usual for LogitBoost.
    max_depth : int, default=3
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first; 1 for stumps.
    binning, max_bins, subsample, max_features, early_stopping, validation_fraction, n_iter_no_change, warm_start, \
class_weight, categorical_features, n_jobs, random_state, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_loss_, train_risk_, validation_risk_, feature_importances_, \
n_features_in_
        As in `REBELClassifier`.

    Notes
    -----
    With two classes there is one pair, and the difference of the scores is LogitBoost's log-odds.

    References
    ----------
    .. [1] P. Sun, M. D. Reid and J. Zhou, "AOSO-LogitBoost: Adaptive one-vs-one LogitBoost for multi-class problem",
       ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AOSOLogitBoostClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AOSOLogitBoostClassifier(n_estimators=50).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.94
    """

    _rules: ClassVar[Mapping[str, Rule]] = {**BaselineClassifier._rules, "smoothing": Number(float, 0)}

    def __init__(
        self,
        cost: Any = None,
        *,
        n_estimators: int = 200,
        learning_rate: float = 0.1,
        max_depth: int = 3,
        smoothing: float = 1e-3,
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
        self.smoothing = smoothing

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.paired import PairedNewton, PairedTrees
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gll"),
            family=PairedTrees(2**self.max_depth, self.max_depth, thresholds, self.smoothing),
            solver=PairedNewton(self.smoothing),
            **self._shared(thresholds),
        )
