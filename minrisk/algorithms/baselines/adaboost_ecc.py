"""AdaBoost.ECC: each round parts the classes in two and boosts a binary learner on them.

V. Guruswami and A. Sahai, "Multiclass learning, boosting, and error-correcting codes", COLT 1999; as descent on a loss:
Y. Sun, S. Todorovic and J. Li, "Unifying multi-class AdaBoost algorithms with binary base learners under the margin
framework", Pattern Recognition Letters 2007.

==============================  ============================  =========================================
papers                          here                          where
==============================  ============================  =========================================
D(i, l)                         the terms of GEL              `minrisk.losses.guess_averse`
colouring mu                    ``random_half``               `minrisk.learners.coloured`
D(i) = sum of D(i, l) parted    ``aim(..., "slope")``         `minrisk.rows.base`
h                               ``ColouredTrees``             `minrisk.learners.coloured`
alpha, -beta                    ``ColourStep``                `minrisk.learners.coloured`
sum g mu, halved                ``scores``                    rows
==============================  ============================  =========================================

Left open by the paper: the colours, here a random half of the classes, anew in each round ("random-half", with
which the paper of stage-wise MCBoost compares: the largest cut is said to be harder to learn); and the learners, here
trees, of whose leaves each has its own g. A stump has two, the paper's alpha and -beta. Deviation: g is smoothed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minrisk._typing import FloatArray
from minrisk.algorithms.baselines.base import BaselineClassifier
from minrisk.validation import Number, Rule


class AdaBoostECCClassifier(BaselineClassifier):
    """Boosting of binary learners, each of which tells one random half of the classes from the other.

    H(x) = 1/2 sum_t g_t(x) mu_t with colours mu_t in {-1, +1}^K and g_t(x) one number for each leaf of a tree; the
    decision is the largest entry. The rounds lower

        1 / W sum_n w_n sum_{k != y} c_nk exp(H_nk - H_ny),

    with c = 1 in the paper. A tree is fitted to the colours of the rows' classes, where a row weighs the terms of the
    classes that are not of its class's colour; in a leaf g = 1/2 ln(W+ / W-), the weights of its rows of either colour.

    In plain words: an error-correcting code whose bits are drawn one after another, each for the pairs of classes that
    are still confused.

    Parameters
    ----------
    cost : optional
        As in `REBELClassifier`. Default: every mistake costs 1, the paper's case.
    smoothing : float, optional
        Weight of phantom rows of either colour in every leaf, as a share of all rows'. Default: one divided by the
        number of rows.
    n_estimators : int, default=200
        Largest number of rounds.
    max_depth : int, default=1
        Depth of the trees, which have up to 2^max_depth leaves and grow best leaf first; 1 for stumps.
    random_state : int or RandomState, optional
        For the colours, and for `subsample`, `max_features` and the validation part.
    learning_rate, binning, max_bins, subsample, max_features, early_stopping, validation_fraction, n_iter_no_change, \
warm_start, class_weight, categorical_features, n_jobs, verbose
        As in `REBELClassifier`.

    Attributes
    ----------
    classes_, decisions_, cost_, model_, n_iter_, train_loss_, train_risk_, validation_risk_, feature_importances_, \
n_features_in_
        As in `REBELClassifier`.

    Notes
    -----
    With two classes the halves are the classes, and it is real AdaBoost of stumps. The loss is that of
    ``MCBoostClassifier(loss="gel")``.

    References
    ----------
    .. [1] V. Guruswami and A. Sahai, "Multiclass learning, boosting, and error-correcting codes", COLT 1999.
    .. [2] Y. Sun, S. Todorovic and J. Li, "Unifying multi-class AdaBoost algorithms with binary base learners under the
       margin framework", Pattern Recognition Letters 28 (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostECCClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostECCClassifier(n_estimators=30, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.96
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

    def _draws(self) -> bool:
        """Colours are always drawn."""
        return True

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.coloured import ColouredTrees, ColourStep
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gel"),
            family=ColouredTrees(self.max_depth, thresholds),
            solver=ColourStep(1.0 / max(1, costs.n_rows) if self.smoothing is None else self.smoothing),
            **self._shared(thresholds),
        )
