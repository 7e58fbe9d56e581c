"""Ranks and tests of several methods on several contests, as Demšar (JMLR 7, 2006, 1-30) recommends them.

A contest is what the methods are compared on, which statistics calls a block: a data set, or a fold of one. Values are
a table of B contests by k methods, of which less is better. SciPy has Friedman's test and the distributions; Holm's
correction, the critical difference and exact p-values of signed ranks with ties are a few lines each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray

SAME_VALUE_DIGITS = 12  # of the largest value of a contest: values that agree in so many are a tie, to rounding
SAME_DIFFERENCE_DIGITS = 9  # of the largest difference of a pair, likewise: a difference has fewer digits than values
MOST_EXACT_PAIRS = 200  # pairs up to which the p-value of signed ranks is exact: it takes milliseconds then


class FriedmanTest(NamedTuple):
    """Whether the methods differ at all.

    Attributes
    ----------
    mean_ranks : ndarray of shape (k,)
        1 is the best.
    chi_square, p_value : float
        Friedman's statistic, with the correction for ties, and its p-value by the chi-square distribution with k - 1
        degrees of freedom, which is good from about ten contests and five methods on.
    f_statistic, f_p_value : float
        Iman and Davenport's statistic, less conservative, by the F distribution with k - 1 and (k - 1)(B - 1) degrees.
    n_contests, n_methods : int
    """

    mean_ranks: FloatArray
    chi_square: float
    p_value: float
    f_statistic: float
    f_p_value: float
    n_contests: int
    n_methods: int


class NemenyiTest(NamedTuple):
    """Which methods differ from which, by their mean ranks.

    Attributes
    ----------
    mean_ranks : ndarray of shape (k,)
        1 is the best.
    critical_difference : float
        Mean ranks that are so far apart, or further, differ at the level alpha, all pairs taken together.
    p_values : ndarray of shape (k, k)
        Of each pair, corrected for all of them; 1 on the diagonal.
    alpha : float
    """

    mean_ranks: FloatArray
    critical_difference: float
    p_values: FloatArray
    alpha: float


class SignedRankTest(NamedTuple):
    """Wilcoxon's signed-rank test of a pair of methods.

    Attributes
    ----------
    first, second : str or int
        The pair: names, or numbers of columns.
    won, tied, lost : int
        Contests in which the first has less, the same, more than the second.
    statistic : float
        The smaller one of the sums of ranks, of positive and of negative differences.
    p_value : float
        Two-sided.
    holm_p_value : float
        Corrected by Holm's method for all pairs that were tested together.
    """

    first: Any
    second: Any
    won: int
    tied: int
    lost: int
    statistic: float
    p_value: float
    holm_p_value: float


def checked_values(values: Any) -> FloatArray:
    """A table of contests by methods as float64, values that differ by rounding made equal.

    Raises
    ------
    ValueError
        Unless it is a table of finite numbers with a contest and two methods at least.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise ValueError(
            f"values must be a table of contests (rows) by two methods or more (columns), got shape {table.shape}."
        )
    if not np.isfinite(table).all():
        raise ValueError("values must be finite numbers: leave out methods or contests that lack some.")
    unit = np.abs(table).max(axis=1, keepdims=True)
    unit[unit == 0.0] = 1.0
    return np.asarray(np.round(table / unit, SAME_VALUE_DIGITS) * unit)


def contest_ranks(values: Any) -> FloatArray:
    """Ranks of the methods within each contest, (B, k): 1 for the least value, the mean rank where values tie.

    Examples
    --------
    >>> contest_ranks([[0.1, 0.3, 0.2], [0.5, 0.5, 0.4]])
    array([[1. , 3. , 2. ],
           [2.5, 2.5, 1. ]])
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(checked_values(values), axis=1), dtype=np.float64)


def friedman_test(values: Any) -> FriedmanTest:
    """Test whether all methods are equal: then their mean ranks are.

    Friedman's chi-square is 12 B / (k (k + 1)) [sum_j R_j^2 - k (k + 1)^2 / 4] (Demšar 2006, Sec. 3.2.2), R_j the
    mean ranks, divided by 1 - sum (t^3 - t) / (B k (k^2 - 1)) for ties of t methods, as SciPy has it; Demšar leaves the
    correction out. Iman and Davenport's F is (B - 1) chi^2 / (B (k - 1) - chi^2).

    Parameters
    ----------
    values : array-like of shape (B, k)
        Less is better; two contests and three methods at least.

    Returns
    -------
    FriedmanTest

    Raises
    ------
    ValueError
        If there are fewer, or a value is not finite.

    Examples
    --------
    >>> test = friedman_test([[1, 2, 3], [1, 2, 3], [2, 1, 3], [1, 2, 3]])
    >>> test.mean_ranks.tolist(), round(test.chi_square, 6), round(test.p_value, 4)
    ([1.25, 1.75, 3.0], 6.5, 0.0388)
    """
    from scipy.stats import f, friedmanchisquare

    table = checked_values(values)
    n, k = table.shape
    if n < 2 or k < 3:
        raise ValueError(f"Friedman's test needs two contests and three methods at least, got {n} and {k}.")
    mean = contest_ranks(table).mean(axis=0)
    if (table == table[:, :1]).all():  # every contest is one tie
        return FriedmanTest(mean, 0.0, 1.0, 0.0, 1.0, n, k)
    chi, p = map(float, friedmanchisquare(*table.T))
    rest = n * (k - 1.0) - chi
    by_f = (n - 1.0) * chi / rest if rest > 1e-9 * chi else math.inf  # inf: all contests have the same order
    f_p = float(f.sf(by_f, k - 1, (k - 1) * (n - 1))) if math.isfinite(by_f) else 0.0
    return FriedmanTest(mean, chi, p, by_f, f_p, n, k)


def critical_difference(n_methods: int, n_contests: int, alpha: float = 0.05) -> float:
    """How far mean ranks must be apart to differ by Nemenyi's test: q sqrt(k (k + 1) / (6 B)).

    q is the upper alpha quantile of the studentized range of k means with infinite degrees of freedom, over sqrt(2)
    (Demšar 2006, Sec. 3.2.2 and Table 5).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2), round(critical_difference(4, 14, alpha=0.1), 2)  # of the paper's example
    (1.25, 1.12)
    """
    from scipy.stats import studentized_range

    if n_methods < 2 or n_contests < 1 or not 0.0 < alpha < 1.0:
        raise ValueError(
            f"A critical difference needs two methods, a contest and alpha between 0 and 1, got {n_methods}, "
            f"{n_contests} and {alpha}."
        )
    q = float(studentized_range.ppf(1.0 - alpha, n_methods, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(n_methods * (n_methods + 1.0) / (6.0 * n_contests))


def nemenyi_test(values: Any, alpha: float = 0.05) -> NemenyiTest:
    """Compare all pairs of methods by their mean ranks, once Friedman's test has found a difference.

    Parameters
    ----------
    values : array-like of shape (B, k)
        Less is better.
    alpha : float, default=0.05
        Probability of finding any difference where there is none.

    Returns
    -------
    NemenyiTest

    Raises
    ------
    ValueError
        If a value is not finite, there are fewer than two methods, or alpha is not between 0 and 1.

    Examples
    --------
    >>> test = nemenyi_test([[1, 2, 3]] * 6)
    >>> round(test.critical_difference, 3), round(float(test.p_values[0, 2]), 4), round(float(test.p_values[0, 1]), 4)
    (1.353, 0.0015, 0.1932)
    """
    from scipy.stats import studentized_range

    mean = contest_ranks(values).mean(axis=0)
    n, k = np.shape(values)
    apart = np.abs(mean[:, None] - mean) / math.sqrt(k * (k + 1.0) / (6.0 * n))
    p = np.ones((k, k))
    above = np.triu_indices(k, 1)
    p[above] = np.clip(studentized_range.sf(apart[above] * math.sqrt(2.0), k, np.inf), 0.0, 1.0)
    p.T[above] = p[above]
    return NemenyiTest(mean, critical_difference(k, n, alpha), p, alpha)


def holm(p_values: Sequence[float] | FloatArray) -> FloatArray:
    """p-values corrected for their number by Holm's step-down method (Scand. J. Statistics 6, 1979).

    The i-th smallest of m is multiplied by m + 1 - i, and is no less than those before it, nor above 1.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    array([0.06, 0.03, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected


def signed_rank(first: Any, second: Any) -> tuple[float, float]:
    """Wilcoxon's two-sided signed-rank test of paired values: its statistic and p-value.

    Differences that tie share their mean rank, and ranks of differences of 0 are shared by both sides (Demšar 2006,
    Sec. 3.1.3). The p-value is exact, given these ranks, for up to `MOST_EXACT_PAIRS` pairs: SciPy's is a normal
    approximation where there are ties and more than 13 pairs. It is 1 where all pairs are equal.

    Examples
    --------
    >>> signed_rank([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12])
    (0.0, 0.03125)
    """
    from scipy.stats import rankdata, wilcoxon

    pairs = checked_values(np.column_stack([first, second]))
    differences = pairs[:, 0] - pairs[:, 1]
    scale = float(np.abs(differences).max())
    if scale == 0.0:
        n = len(differences)
        return n * (n + 1) / 4.0, 1.0
    # differences that agree to the rounding of values share a rank
    differences = np.round(differences / scale, SAME_DIFFERENCE_DIGITS)
    ranks = rankdata(np.abs(differences))
    shared = ranks[differences == 0.0].sum() / 2.0
    least = float(min(ranks[differences > 0.0].sum(), ranks[differences < 0.0].sum()) + shared)
    if len(differences) <= MOST_EXACT_PAIRS:
        return least, _exact(ranks[differences != 0.0], least - shared)
    return least, float(wilcoxon(differences, zero_method="zsplit", method="approx").pvalue)


def _exact(ranks: FloatArray, least: float) -> float:
    """Probability that either sum of ranks, of fair random signs, is so small: the sums are counted, in halves."""
    doubled = np.round(2.0 * ranks).astype(np.int64)  # mean ranks are whole or halves
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled:
        with_it = np.zeros_like(chances)
        with_it[rank:] = chances[: len(chances) - rank]
        chances = (chances + with_it) / 2.0
    return min(1.0, 2.0 * float(chances[: round(2.0 * least) + 1].sum()))


def signed_rank_tests(values: Any, pairs: Iterable[tuple[int, int]] | None = None) -> list[SignedRankTest]:
    """Wilcoxon's test of pairs of methods, corrected by Holm's method.

    Parameters
    ----------
    values : array-like of shape (B, k)
        Less is better. Their differences are compared across contests: they must be in one unit.
    pairs : iterable of pairs of int, optional
        Numbers of columns; all pairs by default.

    Returns
    -------
    list of SignedRankTest

    Examples
    --------
    >>> [test] = signed_rank_tests([[1, 2], [2, 4], [3, 6], [4, 8], [5, 10], [6, 12]])
    >>> test.won, test.p_value, test.holm_p_value
    (6, 0.03125, 0.03125)
    """
    table = checked_values(values)
    k = table.shape[1]
    chosen = [(i, j) for i in range(k) for j in range(i + 1, k)] if pairs is None else list(pairs)
    made = [signed_rank(table[:, i], table[:, j]) for i, j in chosen]
    corrected = holm([p for _, p in made])
    return [
        SignedRankTest(
            i, j, int((table[:, i] < table[:, j]).sum()), int((table[:, i] == table[:, j]).sum()),
            int((table[:, i] > table[:, j]).sum()), statistic, p, float(by_holm),
        )
        for (i, j), (statistic, p), by_holm in zip(chosen, made, corrected, strict=True)
    ]  # fmt: skip
