"""Smaller models for a stated excess of expected cost."""

from __future__ import annotations

import math
from bisect import bisect_left
from copy import copy
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk._utils.workers import Workers
from minrisk.algorithms.min_risk import MinRiskClassifier, check_excess
from minrisk.ensemble import defaults
from minrisk.ensemble.ensemble import rounding_exponent
from minrisk.ensemble.finishing import JointFit
from minrisk.ensemble.refitting import vector_numbers
from minrisk.estimator.fitted import check_fitted
from minrisk.model.additive import AdditiveModel
from minrisk.model.rounded_vectors import RoundedVectors


def compact(model: MinRiskClassifier, max_excess: float = 0.005, X: Any = None) -> MinRiskClassifier:
    r"""Return a copy of a fitted classifier with as few rounds as a stated excess of expected cost allows.

    The file, memory and time of the copy are in proportion to its rounds.

    Parameters
    ----------
    model : MinRiskClassifier
        A classifier whose fit left rows out, with costs that all rows share.
    max_excess : float, default=0.005
        Share by which the expected cost may grow, from 0 to 1: 0.005 allows half a per cent.
    X : array-like of shape (n, d), optional
        Rows like those that the model will decide about, 1000 or more; labels are not needed. The leaf vectors of the
        rounds that are kept are then fitted again, so that they say of these rows what the whole model says. Fewer
        rounds are needed for the same excess.
        By default vectors stay as they are.

    Returns
    -------
    MinRiskClassifier
        The copy. It has all rounds if no smaller number of them is cheap enough.

    Raises
    ------
    TypeError
        If the model is another.
    ValueError
        If `max_excess` is no number from 0 to 1, or, without `X`, the fit has left out no rows or the model has been
        compacted already.

    See Also
    --------
    MinRiskClassifier.predict : Its `max_excess` saves time row by row and leaves the model as it is.

    Notes
    -----
    The fit has kept what the decisions about left-out rows would cost if the model ended after fewer rounds, by the
    probabilities p of the whole model:

    .. math:: \text{excess} = \frac{\sum_i \big( E_i[\text{early decision}] - E_i[\text{decision}] \big)}{\sum_i
       E_i[\text{decision}]}, \qquad E_i[k] = \sum_j p_{ij} C_{jk}.

    It has also kept the temperature that probabilities then have.
    The smallest number of rounds whose excess is no larger than `max_excess` is kept.
    The probabilities of the copy are less sure than those of the whole model, and calibrated on the same rows.

    With `X` the excess is that of decisions about half of its rows, by vectors that were fitted to the other half. One
    more row might lose as much as a row costs on average, so that m rows add 1/m to the excess: few tell little.
    The vectors of the copy are fitted to all of them, and its temperature is that of the model.

    Examples
    --------
    >>> import minrisk
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = minrisk.MinRiskClassifier(n_estimators=40, pool=False, random_state=0).fit(X, y)
    >>> smaller = minrisk.compact(model, max_excess=0.2)
    >>> smaller.n_iter_ < model.n_iter_
    True
    """
    if not isinstance(model, MinRiskClassifier):
        path = isinstance(model, str | PathLike)
        way = "load the file, minrisk.compact(minrisk.load(path))" if path else "fit it with fewer rounds"
        raise TypeError(f"compact takes a MinRiskClassifier, got {type(model).__name__}: {way}.")
    model = check_fitted(model, "compact")
    check_excess(max_excess)
    if X is not None:
        return _fitted_to(model, max_excess, np.asarray(model._check_X(X)))
    cascade = model.model_.cascade
    if cascade is None and len(model.model_) == 1:
        return copy(model)
    if cascade is None:
        raise ValueError(
            "compact needs what rows left out in the fit say of fewer rounds, which this model lacks: give the model "
            "of the fit if this one has been compacted, else fit with cv of more than 1, one table of costs and "
            "surrogate='softmax'."
        )
    enough = np.flatnonzero(cascade.ending <= max_excess)
    if len(enough) == 0:
        return copy(model)
    n_rounds = int(cascade.rounds[enough[0]])
    return _with(model, replace(model.model_[:n_rounds], temperature=float(cascade.temperature[enough[0]])))


def _with(model: MinRiskClassifier, of_rounds: AdditiveModel) -> MinRiskClassifier:
    """Return a copy with a model of fewer rounds."""
    smaller, n_rounds = copy(model), len(of_rounds)
    smaller.model_, smaller.n_iter_ = of_rounds, n_rounds
    smaller.train_loss_ = model.train_loss_[: n_rounds + 1]
    smaller.selection_ = [{**tried, "n_rounds": min(tried["n_rounds"], n_rounds)} for tried in model.selection_]
    if hasattr(model, "evals_result_"):
        smaller.evals_result_ = {
            name: {kind: curve[:n_rounds] for kind, curve in curves.items()}
            for name, curves in model.evals_result_.items()
        }
    return smaller


def _fitted_to(model: MinRiskClassifier, max_excess: float, X: FloatArray) -> MinRiskClassifier:
    """Return a copy of few rounds, whose vectors say of these rows what those of all rounds say."""
    whole = model.model_
    if whole.link is None:
        raise ValueError(f"compact with X is for a surrogate that gives probabilities, got {model.surrogate_!r}.")
    if len(X) < 2:
        raise ValueError(f"compact needs two rows of X at least, got {len(X)}.")
    wide = np.asarray(X, dtype=np.float64) if whole.projection is None else whole.projection.extend(X)
    leaves, sizes = [], []
    for numbers, of_trees in vector_numbers(whole, wide):
        leaves.append(np.ascontiguousarray((numbers - (np.cumsum(of_trees) - of_trees)).T.astype(np.uint32)))
        sizes.append(of_trees.tolist())
    vectors, ends = np.asarray(whole.vectors, dtype=np.float32), np.cumsum([sum(own) for own in sizes])
    scores, target = whole.scores(X), JointFit(leaves, sizes, Workers()).scores(vectors)

    def joint(n_rounds: int, rows: IntArray) -> JointFit:
        return JointFit([np.ascontiguousarray(own[:, rows]) for own in leaves[:n_rounds]], sizes[:n_rounds], Workers())

    def fitted(n_rounds: int, rows: IntArray) -> np.ndarray:
        """Return the vectors of the first rounds, fitted to these rows."""
        return joint(n_rounds, rows).fitted(vectors[: ends[n_rounds - 1]], target[rows], np.ones(len(rows)))

    fitted_to, judged = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    expected = model._expected(X[judged], scores[judged])
    assert expected is not None  # where there are probabilities
    least, each = expected.min(axis=1), np.arange(len(judged))

    def excess(n_rounds: int) -> float:
        """Return what decisions by fewer rounds cost more, as a share of all costs."""
        changed = joint(n_rounds, judged).scores(fitted(n_rounds, fitted_to)) - target[judged]
        early = model._expected(X[judged], scores[judged] + changed)
        assert early is not None
        more = math.fsum(expected[each, early.argmin(axis=1)] - least)
        return more / (math.fsum(least) or np.finfo(float).tiny) + 1.0 / len(judged)

    shares = [max(1, round(share * len(whole))) for share in defaults.FINISHED_SHARES]
    # The more rounds, the less is lost.
    fewest = bisect_left(shares, True, key=lambda n_rounds: excess(n_rounds) <= max_excess)
    if fewest == len(shares):
        return copy(model)
    n_rounds, exponent = shares[fewest], rounding_exponent(whole.link, whole.temperature, whole.n_trees)
    own = fitted(n_rounds, np.arange(len(X))).astype(np.float64)
    return _with(model, replace(whole[:n_rounds], vectors=RoundedVectors.of(own, exponent)))
