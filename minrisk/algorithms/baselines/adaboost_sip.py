"""AdaBoost.SIP: the partition of the classes is found together with the learner that tells its sides apart.

B. Zhang, G. Ye, Y. Wang, J. Xu and G. Herman, "Finding shareable informative patterns and optimal coding matrix for
multiclass boosting", ICCV 2009. Its text was not at hand. Its abstract says that patterns are sought that classes
share; that the partition of the classes that a pattern prefers is found by stage-wise functional gradient descent on a
cost of margins; and that learners and columns of the coding matrix are optimised together, by the largest negative
gradient. What follows is our reading of that, on the loss of AdaBoost.ECC, which names no other:

==============================  ============================  =========================================
abstract                        here                          where
==============================  ============================  =========================================
cost of margins                 ``GuessAverseLoss("gel")``    `minrisk.losses.guess_averse`
pattern h in {-1, +1}           a stump, or a tree of signs   `minrisk.learners.greedy_tree`
negative gradient               1/2 sum_k mu_k E_k(h)         `minrisk.learners.coloured`
preferred partition mu          sign E_k(h)                   `minrisk.learners.coloured`
largest of it, of h and mu      ``ABSOLUTE_EDGE_GAIN``        `minrisk._kernels.split`
step along h mu                 ``PartitionStep``             `minrisk.learners.coloured`
==============================  ============================  =========================================

With F = 1/2 sum_t g_t h_t mu_t, along one more h mu the loss sum_n sum_{k != y} exp(F_nk - F_ny) falls at first by
1/2 sum_k mu_k E_k(h), E_k(h) = sum_n h(x_n) e_nk, e minus the gradient. For given h no mu in {-1, +1}^K does better
than sign E_k, which leaves sum_k |E_k(h)| to be maximised over h: for stumps exactly, by one histogram. (The gain
``ABSOLUTE`` of `minrisk._kernels.grow` is another one: there each side would have a partition of its own.)

Ours as well: the step, one g for both answers of h, at the minimum of the loss; smoothing; trees, which the abstract
does not mention; and the search over all stumps of all features, where the paper has patterns of its images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.validation import Number, Rule


class AdaBoostSIPClassifier(BaselineClassifier):
    """Boosting of binary learners, each with the partition of the classes that it tells apart best.

    H(x) = 1/2 sum_t g_t h_t(x) mu_t with learners h_t in {-1, +1} and partitions mu_t in {-1, +1}^K; the decision is
    the largest entry. The rounds lower

        1 / W sum_n w_n sum_{k != y} c_nk exp(H_nk - H_ny),

    with c = 1 in the paper. Of all stumps and all partitions the pair is taken along which the loss falls fastest.

    In plain words: where AdaBoost.ECC draws two groups of classes and then asks how to tell them apart, here every
    question is asked which groups it tells apart, and the best one is kept.

    Parameters
    ----------
    cost : optional
        As in `REBELClassifier`. Default: every mistake costs 1, the paper's case.
    smoothing : float, optional
        Weight of phantom rows on either side of a learner, as a share of all rows'. Default: one divided by the number
        of rows.
    n_estimators : int, default=200
        Largest number of rounds.
    max_depth : int, default=1
        Depth of the trees; 1 for stumps. A tree is deepened layer by layer for the partition of its stump, which is
        then chosen anew.
    learning_rate, binning, max_bins, subsample, max_features, early_stopping, validation_fraction, n_iter_no_change, \
warm_start, class_weight, categorical_features, n_jobs, random_state, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_loss_, train_risk_, validation_risk_, feature_importances_, \
n_features_in_
        As in `REBELClassifier`. The signs of row t of ``model_.vectors`` are mu_t.

    Notes
    -----
    With two classes there is one partition, and it is AdaBoost of stumps. The loss is that of
    ``MCBoostClassifier(loss="gel")``. The module says which part of the method is the abstract's and which is ours.

    See Also
    --------
    AdaBoostECCClassifier : Partitions are drawn.
    StagewiseMCBoostClassifier : Any vectors in place of partitions.

    References
    ----------
    .. [1] B. Zhang, G. Ye, Y. Wang, J. Xu and G. Herman, "Finding shareable informative patterns and optimal coding
       matrix for multiclass boosting", ICCV 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostSIPClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostSIPClassifier(n_estimators=30).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.97
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **BaselineClassifier._rules,
        "smoothing": Number(float, 0, optional=True),
    }

    def __init__(
        self,
        cost: Any = None,
        *,
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
        self.smoothing = smoothing

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.coloured import PartitionStep, SharedPatterns
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gel"),
            family=SharedPatterns(self.max_depth, thresholds),
            solver=PartitionStep(1.0 / max(1, costs.n_rows) if self.smoothing is None else self.smoothing),
            **self._shared(thresholds),
        )
