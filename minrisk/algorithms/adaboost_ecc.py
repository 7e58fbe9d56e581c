"""AdaBoost.ECC: each round divides the classes into two groups and boosts a binary learner on them.

V. Guruswami and A. Sahai, "Multiclass learning, boosting, and error-correcting codes", COLT 1999; as descent on a loss:
Y. Sun, S. Todorovic and J. Li, "Unifying multi-class AdaBoost algorithms with binary base learners under the margin
framework", Pattern Recognition Letters 2007.

==============================  ============================  =========================================
papers                          here                          where
==============================  ============================  =========================================
D(i, l)                         the terms of GEL              `minrisk.losses.guess_averse`
colouring mu                    ``random_half``, ``max_cut``  `minrisk.learners.coloured`
D(i) = sum of D(i, l) parted    ``aim(..., "slope")``         `minrisk.rows.base`
h                               ``ColouredTrees``             `minrisk.learners.coloured`
alpha, -beta                    ``ColourStep``                `minrisk.learners.coloured`
sum g mu, halved                ``scores``                    rows
==============================  ============================  =========================================

Left open by the paper: the colours, here by default a random half of the classes, drawn again in each round
("random-half", with which the paper of stage-wise MCBoost compares: the largest cut is said to be harder to learn); and
the learners, here trees, of whose leaves each has its own g. A stump has two, the paper's alpha and -beta. Deviation: g
is smoothed.
"""

from __future__ import annotations

from typing import Any

from minrisk._typing import FloatArray
from minrisk.algorithms.base import BaselineClassifier
from minrisk.algorithms.parameters import algorithm, parameter
from minrisk.estimator.parameters import Choice, Number

COLOURS = ("random-half", "max-cut")


@algorithm
class AdaBoostECCClassifier(BaselineClassifier):
    r"""Boosting of binary learners, each of which separates one group of classes from the others.

    The scores are

    .. math:: H(x) = \frac12 \sum_t g_t(x) \, \mu_t, \qquad \mu_t \in \{-1, +1\}^K,

    with colours :math:`\mu_t` of the classes and one number :math:`g_t` for each leaf of a tree; the decision is the
    largest entry. The rounds lower

    .. math:: \frac1W \sum_n w_n \sum_{k \ne y_n} c_{nk} \exp(H_{nk} - H_{n y_n}),

    with c = 1 in the paper.
    A tree is fitted to the colours of the rows' classes; a row weighs the terms of those classes that have the other
    colour.
    In a leaf, :math:`g = \frac12 \ln(W_+ / W_-)` with the weights of its rows of either colour.
    In plain words: this is an error-correcting code whose bits are chosen one after another, each for the pairs of
    classes that are still confused.

    Parameters
    ----------
    colours : {"random-half", "max-cut"}, default="random-half"
        How a round divides the classes: "random-half" draws one half of them. "max-cut" separates the pairs of classes
        whose terms are largest together: the best of all ways for up to twelve decisions, and for more the best of ten
        local optima.
    smoothing : float, default=1e-3
        Weight of phantom rows of either colour in every leaf, as a share of the weight of all rows.
    random_state : int or RandomState, optional
        Seed of the colours, and of what else is drawn: rows (`subsample`), features (`max_features`) and the rows that
        `early_stopping` sets apart.

    See Also
    --------
    AdaBoostMOClassifier : The bits of a code boosted together.
    AdaBoostSIPClassifier : Halves are sought, not drawn.

    Notes
    -----
    As in the paper: ``smoothing=0``, with 0/1 costs.

    With two classes the halves are the classes, and the method is real AdaBoost of stumps.
    The loss is that of ``MCBoostClassifier(loss="gel")``.

    References
    ----------
    .. [1] V. Guruswami and A. Sahai, "Multiclass learning, boosting, and error-correcting codes", COLT 1999.
    .. [2] R. E. Schapire, "Using output codes to boost multiclass learning problems", ICML 1997: the largest cut.
    .. [3] Y. Sun, S. Todorovic and J. Li, "Unifying multi-class AdaBoost algorithms with binary base learners under the
       margin framework", Pattern Recognition Letters 28 (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import AdaBoostECCClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaBoostECCClassifier(n_estimators=30, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.98
    """

    colours: str = parameter(default="random-half", rule=Choice(COLOURS))
    smoothing: float = parameter(default=1e-3, rule=Number(float, 0))

    _links = ("softmax2",)
    _ways = ({}, {"colours": "max-cut"})

    def _draws(self) -> bool:
        """Return True: colours are always drawn."""
        return True

    def _recipe(self, costs: Any, thresholds: tuple[FloatArray, ...]) -> Any:
        from minrisk.boosting.loop import Recipe
        from minrisk.learners.coloured import ColouredTrees, ColourStep
        from minrisk.losses.guess_averse import GuessAverseLoss

        return Recipe(
            loss=GuessAverseLoss("gel"),
            family=ColouredTrees(self.max_depth, thresholds, colours=self.colours),
            solver=ColourStep(self.smoothing),
            **self._shared(thresholds),
        )
