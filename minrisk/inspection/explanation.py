"""Which training points a decision rests on: "more like this one than like that one"."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.algorithms.similarities import LocalizedSimilaritiesClassifier
from minrisk.estimator.fitted import check_fitted, kind_text
from minrisk.estimator.parameters import Number, check_parameters
from minrisk.inspection.columns import rows_here
from minrisk.model.similarities import PackedSimilarities

N_REASONS = {"n_reasons": Number(int, 0, optional=True)}


class Reason(NamedTuple):
    """A similarity, and what it did for a decision.

    Attributes
    ----------
    like : int
        Number of the training row x_i.
    unlike : int or None
        Number of the training row x_j; None for a similarity to one point.
    weight : float
        What all learners with these points added to the lead of the decision over its rival.
    """

    like: int
    unlike: int | None
    weight: float


class Explanation(NamedTuple):
    """Why a row was decided as it was: the lead of the decision is a constant plus the weights of all reasons.

    Attributes
    ----------
    decision : label
        The decision of the largest score.
    rival : label
        The decision of the second largest score.
    lead : float
        By how much the decision is ahead of its rival.
    constant : float
        Part of the lead that no training point made.
    reasons : list of Reason
        The largest weights first, by size. Each has the numbers of the training rows that the row is `like` and
        `unlike` (None for a similarity to one point), and its `weight`.
    """

    decision: Any
    rival: Any
    lead: float
    constant: float
    reasons: list[Reason]


def explain(estimator: LocalizedSimilaritiesClassifier, X: Any, n_reasons: int | None = 5) -> list[Explanation]:
    """Name the training points that decisions rest on.

    Parameters
    ----------
    estimator : LocalizedSimilaritiesClassifier
        A fitted one. With early stopping, row numbers are those of the training part.
    X : array-like of shape (n, d)
        The rows whose decisions are explained.
    n_reasons : int or None, default=5
        How many of the largest weights are named; None names all.

    Returns
    -------
    list of Explanation
        One for each row of X.

    Raises
    ------
    TypeError
        If the estimator is another.
    NotFittedError
        If it is not fitted.
    ValueError
        If X is no rows of its columns, or `n_reasons` is no whole number.

    Notes
    -----
    The weight of a reason is the sum of f_t(x) (a_t[decision] - a_t[rival]) over the learners that compare with these
    points.

    References
    ----------
    .. [1] R. Appel and P. Perona, "A Simple Multi-Class Boosting Framework with Theoretical Guarantees and Empirical
       Proficiency", ICML 2017, Sec. 5.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import LocalizedSimilaritiesClassifier
    >>> from minrisk.inspection import explain
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalizedSimilaritiesClassifier(n_estimators=20).fit(X, y)
    >>> why = explain(model, X[:1])[0]
    >>> bool(why.decision == y[0]), len(why.reasons)
    (True, 5)
    """
    if not isinstance(estimator, LocalizedSimilaritiesClassifier):
        raise TypeError(
            "explain names training points, which only models of LocalizedSimilaritiesClassifier hold: expected one, "
            f"got {kind_text(estimator)}: fit one."
        )
    n_reasons = check_parameters("explain", {"n_reasons": n_reasons}, N_REASONS)["n_reasons"]
    estimator = check_fitted(estimator, "explain")
    X = estimator._check_X(rows_here(estimator, X))
    scores, packed = estimator.model_.scores(X), estimator.model_.packed
    if isinstance(packed, PackedSimilarities):
        row_of = np.append(packed.anchor_row, -1)  # no point stays -1
        pairs, responses = row_of[np.maximum(np.column_stack([packed.near, packed.far]), -1)], packed.responses(X)
    else:  # no round counts: a constant decides
        pairs, responses = np.empty((0, 2), dtype=np.int64), np.empty((len(scores), 0))
    return [_explained(estimator, pairs, *row, n_reasons) for row in zip(scores, responses, strict=True)]


def _explained(
    estimator: LocalizedSimilaritiesClassifier,
    pairs: IntArray,
    scores: FloatArray,
    responses: FloatArray,
    n_reasons: int | None,
) -> Explanation:
    """Explain one row by its scores (D,) and the learners' answers (T,), which compare with rows (T, 2)."""
    model, (first, second) = estimator.model_, np.argsort(-scores, kind="stable")[:2]
    vectors = np.asarray(model.vectors)
    weights = responses * (vectors[:, first] - vectors[:, second])
    constant = float(model.intercept[first] - model.intercept[second]) + float(weights[pairs[:, 0] < 0].sum())
    total: dict[tuple[int, int], float] = {}
    for (near, far), weight in zip(pairs.tolist(), weights.tolist(), strict=True):
        if near >= 0:
            total[near, far] = total.get((near, far), 0.0) + weight
    largest = sorted(total.items(), key=lambda item: -abs(item[1]))[:n_reasons]
    reasons = [Reason(near, None if far < 0 else far, weight) for (near, far), weight in largest]
    lead = float(scores[first] - scores[second])
    return Explanation(estimator.decisions_[first], estimator.decisions_[second], lead, constant, reasons)
