"""Bounds of a mean cost that hold in finite samples: by betting, exact ones of shares, and tests of a promise.

Costs are numbers from 0 to a known `top`. Nothing else is assumed of them but that rows are drawn independently.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from minrisk._kernels import functions
from minrisk._typing import FloatArray
from minrisk.costs.weights import checked_weights

LEVEL = 0.05  # of error that bets are sized for; they are valid at any other
MOST_STAKED = 0.75  # of the capital, on one row
HALVINGS = 60  # of the range in which a bound is sought
STAKES, SMALLEST_STAKE, LARGEST_STAKE = 24, 0.01, 0.95  # of an `EProcess`; of 1 / top, and of 1 / promised


def upper_mean(values: Any, weight: Any = None, *, top: float, confidence: float = 0.95) -> float:
    r"""Return an upper confidence bound of the mean of a bounded quantity.

    Parameters
    ----------
    values : array-like of shape (n,)
        Independent draws, from 0 to `top`.
    weight : array-like of shape (n,), optional
        How often each row counts. The bound is then of the weighted mean, :math:`E[w l] / E[w]`, and it holds if no
        row that could have been drawn weighs more than the heaviest one given.
    top : float
        The largest value that there can be, not merely the largest one given.
    confidence : float, default=0.95
        Probability with which the bound is above the mean, at least.

    Returns
    -------
    float
        At most `top`.

    Raises
    ------
    ValueError
        If a value is not from 0 to `top`, or `confidence` is not between 0 and 1.

    Notes
    -----
    A gambler bets on each row that its value is below a candidate m: the capital is multiplied by
    :math:`1 - \lambda_t u_t (l_t - m)`, with :math:`u_t` the weight as a share of the largest one. If the mean is m or
    more, the capital exceeds :math:`1 / \alpha` at any time with probability :math:`\alpha` at most. The bound is the
    smallest m at which it does. The bets are the predictable plug-in of [1]_, and depend on rows before only.

    Rows are taken in an order that is shuffled by a fixed seed. So the same rows in another order have another bound,
    which differs a little and is as good. Of rows in a sorted file the confidence is over the shuffle as well.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
       Royal Statistical Society B 86(1), 2024, Sections 4.1 and 4.4.

    Examples
    --------
    >>> from minrisk.decisions.bounds import upper_mean
    >>> round(upper_mean([0.0] * 90 + [0.5] * 10, top=1.0), 2)
    0.09
    """
    rows = _checked(values, weight, top)
    return top * bound_of_ordered(*_shuffled(*rows), confidence=_checked_confidence(confidence))


def p_value_mean(values: Any, at_most: float, *, top: float, weight: Any = None) -> float:
    """Return the p-value of the hypothesis that the mean of a bounded quantity is above a limit.

    A small one says that the mean is at most `at_most`: it is below 1 - confidence where :func:`upper_mean` is below
    the limit. It is 1 over the largest capital of its bets.

    Parameters
    ----------
    values : array-like of shape (n,)
        Independent draws, from 0 to `top`.
    at_most : float
        The limit.
    top : float
        The largest value that there can be.
    weight : array-like of shape (n,), optional
        As in :func:`upper_mean`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As :func:`upper_mean`; also if the limit is negative.

    See Also
    --------
    p_value_share : For values that are 0 or `top` by their nature.

    Examples
    --------
    >>> from minrisk.decisions.bounds import p_value_mean
    >>> round(p_value_mean([0.0] * 90 + [0.5] * 10, 0.1, top=1.0), 3)
    0.03
    """
    rows = _checked(values, weight, top)
    if not at_most >= 0.0:
        raise ValueError(f"at_most must be 0 or more, got {at_most!r}: give the limit of the mean.")
    return functions.exp(-log_capital(*_shuffled(*rows), at_most=at_most / top)) if at_most < top else 0.0


def upper_share(k: int, n: int, confidence: float = 0.95) -> float:
    """Return the upper confidence bound of a share of which k of n independent rows are: Clopper and Pearson's.

    Parameters
    ----------
    k, n : int
        How many rows are counted, and of how many.
    confidence : float, default=0.95
        Probability with which the bound is above the share, at least.

    Returns
    -------
    float
        The largest share of which k or fewer in n have a probability of 1 - `confidence` at least.

    Raises
    ------
    ValueError
        If k is not from 0 to n, or `confidence` is not between 0 and 1.

    Examples
    --------
    >>> from minrisk.decisions.bounds import upper_share
    >>> round(upper_share(0, 59), 3), round(upper_share(3, 100), 3)
    (0.05, 0.076)
    """
    from scipy.stats import beta

    _check_counts(k, n)
    return 1.0 if k == n else float(beta.ppf(_checked_confidence(confidence), k + 1, n - k))


def p_value_share(k: int, n: int, at_most: float) -> float:
    """Return the p-value of the hypothesis that a share, of which k of n independent rows are, is above a limit.

    It is the binomial probability of k rows or fewer, if the share is just the limit.

    Raises
    ------
    ValueError
        If k is not from 0 to n.

    Examples
    --------
    >>> from minrisk.decisions.bounds import p_value_share
    >>> round(p_value_share(0, 59, 0.05), 3)
    0.048
    """
    from scipy.special import betaincc

    _check_counts(k, n)
    if at_most >= 1.0:
        return 0.0
    return 1.0 if k == n else float(betaincc(k + 1, n - k, at_most))  # many times as fast as SciPy's distribution


class EProcess:
    r"""Test, at any time, the promise that a mean cost is at most so much, with costs as they come.

    One may look after each update and stop whenever one likes: if the promise is kept, the `p_value` ever falls to
    :math:`\alpha` with probability :math:`\alpha` at most.

    Parameters
    ----------
    promised : float
        What the mean cost is said to be at most: more than 0 and less than `top`.
    top : float
        The largest cost that there can be.

    Attributes
    ----------
    n : int
        Number of rows so far.
    mean : float
        Their mean cost, nan before the first.
    e_value : float
        Capital of a gambler who bets against the promise: about 1 or less if it is kept.
    p_value : float
        1 over the largest `e_value` so far.

    Raises
    ------
    ValueError
        If `promised` is not between 0 and `top`.

    Notes
    -----
    A stake :math:`\lambda` is multiplied by :math:`1 + \lambda (l_t - m)` with the promise m, and the capital is the
    mean over some stakes [1]_. The order of rows within an update does not matter. Half of the capital is kept for
    later updates, :math:`1 / (2 j (j + 1))` for the one after j, so that a mean that rises late is seen as well.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the
       Royal Statistical Society B 86(1), 2024, Section 5.

    Examples
    --------
    >>> from minrisk.decisions.bounds import EProcess
    >>> test = EProcess(promised=0.1, top=1.0)
    >>> for month in range(3):
    ...     test = test.update([0.0] * 70 + [1.0] * 30)
    >>> test.n, test.p_value < 0.001
    (300, True)
    """

    def __init__(self, promised: float, top: float) -> None:
        if not 0.0 < promised < top < math.inf:
            raise ValueError(
                f"promised must be more than 0 and less than top, got {promised!r} and {top!r}: a mean of {top!r} or "
                "more is kept by itself, and one of 0 is refuted by one cost."
            )
        self.promised, self.top = float(promised), float(top)
        self.n, self._total, self._updates, self._most = 0, 0.0, 0, 0.0
        smallest, largest = functions.log(SMALLEST_STAKE / top), functions.log(LARGEST_STAKE / promised)
        self._stakes = functions.exp(np.linspace(smallest, largest, STAKES))
        self._logs = np.full(STAKES, -np.inf)  # of capital on each of them

    def update(self, values: Any) -> Self:
        """Add costs of further rows, and return itself.

        Raises
        ------
        ValueError
            If a cost is not from 0 to `top`.
        """
        costs = self.top * _checked(values, None, self.top)[0]
        if not len(costs):
            return self
        j = self._updates
        fresh = 0.5 if j == 0 else 0.5 / (j * (j + 1))
        grown = np.array([functions.log1p(stake * (costs - self.promised)).sum() for stake in self._stakes])
        self._logs = _log_of_sum(np.array([self._logs, np.full(STAKES, functions.log(fresh / STAKES))])) + grown
        self.n, self._total, self._updates = self.n + len(costs), self._total + float(costs.sum()), j + 1
        self._most = max(self._most, self._log)
        return self

    @property
    def _log(self) -> float:
        kept = 0.5 / self._updates if self._updates else 1.0
        return float(_log_of_sum(np.append(self._logs, functions.log(kept))))

    @property
    def mean(self) -> float:
        return self._total / self.n if self.n else math.nan

    @property
    def e_value(self) -> float:
        return functions.exp(min(self._log, 700.0))

    @property
    def p_value(self) -> float:
        return functions.exp(-self._most)


def _log_of_sum(logs: FloatArray) -> FloatArray:
    """Return the log of the sum of numbers along the first axis, without overflow."""
    most = logs.max(axis=0)
    return np.asarray(most + functions.log(functions.exp(logs - most).sum(axis=0)))


def log_capital(values: FloatArray, weight: FloatArray | None, at_most: float) -> float:
    """Return the log of the largest capital of bets that the mean is below a limit.

    Values are shares of the top, weights are shares of the largest one, and rows are taken in the order given.
    """
    return _largest(values, weight, at_most, _bets(values, weight))


def bound_of_ordered(values: FloatArray, weight: FloatArray | None, confidence: float) -> float:
    """Return the upper bound as a share of the top; the other arguments are as in `log_capital`."""
    bets, enough = _bets(values, weight), -functions.log1p(-confidence)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):  # the capital rises with the candidate
        middle = 0.5 * (low + high)
        if _largest(values, weight, middle, bets) >= enough:
            high = middle
        else:
            low = middle
    return high


def _bets(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return lambda of each row, before it is cut to what a candidate allows: from the spread of the rows before."""
    n = len(values)
    u = np.ones(n) if weight is None else weight
    mean = (0.5 + np.cumsum(u * values)) / (1.0 + np.cumsum(u))
    spread = (0.25 + np.cumsum((u * (values - mean)) ** 2)) / np.arange(2, n + 2)
    before = np.concatenate([[0.25], spread[:-1]]) if n else spread
    return np.sqrt(2.0 * functions.log(1.0 / LEVEL) / (before * max(n, 1)))


def _largest(values: FloatArray, weight: FloatArray | None, at_most: float, bets: FloatArray) -> float:
    below = at_most - values if weight is None else weight * (at_most - values)
    # Written so that the capital rises with the candidate, also where the stake is cut.
    staked = np.minimum(bets, MOST_STAKED / (1.0 - at_most)) if at_most < 1.0 else bets
    return float(np.cumsum(functions.log1p(staked * below)).max(initial=0.0))


def _shuffled(values: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray | None]:
    order = shuffle(len(values))
    return values[order], None if weight is None else weight[order]


def shuffle(n: int) -> np.ndarray:
    """Return the order in which n rows are taken, which depends on nothing but n.

    Sorting rows by what they hold before would make the result the same for any order, and bets unfair: one fixed
    permutation of sorted rows puts about the same row first in every sample.
    """
    return np.random.default_rng(0).permutation(n)


def _checked(values: Any, weight: Any, top: float) -> tuple[FloatArray, FloatArray | None]:
    """Return values as shares of the top, and weights as shares of the largest one, None where all are equal."""
    if not 0.0 < top < math.inf:
        raise ValueError(f"top must be a finite number above 0, got {top!r}: give the largest value that there can be.")
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not ((found >= 0.0) & (found <= top)).all():
        got = f"shape {found.shape}" if found.ndim != 1 else f"values from {found.min():g} to {found.max():g}"
        raise ValueError(
            f"values must be numbers from 0 to the top of {top:g} in one dimension, got {got}: give the largest value "
            "that there can be as top."
        )
    given = checked_weights(weight, len(found))
    if given is None or (given == given[0]).all():
        return found / top, None
    return found[given > 0.0] / top, given[given > 0.0] / given.max()


def _checked_confidence(confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}: give 0.95 for 95 %.")
    return float(confidence)


def _check_counts(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"k must be from 0 to n, got {k!r} of {n!r}: count rows among the n.")
