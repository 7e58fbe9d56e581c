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
    """Result of Friedman's test: whether the methods differ at all.

    Parameters
    ----------
    mean_ranks : ndarray of shape (k,)
        Mean rank of each method; 1 is the best.
    chi_square : float
        Friedman's statistic, with the correction for ties.
    p_value : float
        Its p-value by the chi-square distribution with k - 1 degrees of freedom, which is good from about ten contests
        and five methods on.
    f_statistic : float
        Iman and Davenport's statistic, which is less conservative.
    f_p_value : float
        Its p-value by the F distribution with k - 1 and (k - 1)(B - 1) degrees of freedom.
    n_contests : int
        Number of contests, B.
    n_methods : int
        Number of methods, k.

    See Also
    --------
    friedman_test : The test.

    Examples
    --------
    >>> from minrisk.comparison import friedman_test
    >>> friedman_test([[1, 2, 3], [1, 2, 3], [2, 1, 3], [1, 2, 3]]).n_contests
    4
    """

    mean_ranks: FloatArray
    chi_square: float
    p_value: float
    f_statistic: float
    f_p_value: float
    n_contests: int
    n_methods: int


class NemenyiTest(NamedTuple):
    """Result of Nemenyi's test: which methods differ from which, by their mean ranks.

    Parameters
    ----------
    mean_ranks : ndarray of shape (k,)
        Mean rank of each method; 1 is the best.
    critical_difference : float
        Methods whose mean ranks are at least this far apart differ at the level alpha, all pairs taken together.
    p_values : ndarray of shape (k, k)
        p-value of each pair, corrected for all of them; 1 on the diagonal.
    alpha : float
        Level of the test.

    See Also
    --------
    nemenyi_test : The test.

    Examples
    --------
    >>> from minrisk.comparison import nemenyi_test
    >>> nemenyi_test([[1, 2, 3]] * 6).mean_ranks
    array([1., 2., 3.])
    """

    mean_ranks: FloatArray
    critical_difference: float
    p_values: FloatArray
    alpha: float


class SignedRankTest(NamedTuple):
    """Result of Wilcoxon's signed-rank test of a pair of methods.

    Parameters
    ----------
    first : str or int
        The first method: its name, or the number of its column.
    second : str or int
        The second method.
    won : int
        Number of contests in which the first has less than the second.
    tied : int
        Number of contests in which both have the same.
    lost : int
        Number of contests in which the first has more.
    statistic : float
        The smaller one of the sums of ranks, of positive and of negative differences.
    p_value : float
        Two-sided p-value.
    holm_p_value : float
        p-value corrected by Holm's method for all pairs that were tested together.

    See Also
    --------
    signed_rank_tests : The tests.

    Examples
    --------
    >>> from minrisk.comparison import signed_rank_tests
    >>> [test] = signed_rank_tests([[1, 2], [2, 4], [3, 6]])
    >>> test.won, test.tied, test.lost
    (3, 0, 0)
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
    """Return a table of contests by methods as float64, values that differ by rounding made equal.

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
    """Rank the methods within each contest, (B, k): 1 for the least value, the mean rank where values tie.

    Examples
    --------
    >>> contest_ranks([[0.1, 0.3, 0.2], [0.5, 0.5, 0.4]])
    array([[1. , 3. , 2. ],
           [2.5, 2.5, 1. ]])
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(checked_values(values), axis=1), dtype=np.float64)


def friedman_test(values: Any) -> FriedmanTest:
    r"""Test whether methods differ at all, by their ranks in contests.

    Parameters
    ----------
    values : array-like of shape (B, k)
        What each of k methods has in each of B contests; less is better. There must be two contests and three methods
        at least.

    Returns
    -------
    FriedmanTest
        The statistics and p-values.

    Raises
    ------
    ValueError
        If there are fewer contests or methods, or a value is not finite.

    Notes
    -----
    With mean ranks R_j, Friedman's statistic is

    .. math:: \chi^2 = \frac{12 B}{k (k + 1)} \Big[ \sum_j R_j^2 - \frac{k (k + 1)^2}{4} \Big],

    divided by :math:`1 - \sum (t^3 - t) / (B k (k^2 - 1))` for ties of t methods, as in SciPy; Demšar leaves this
    correction out.
    Iman and Davenport's statistic is :math:`F = (B - 1) \chi^2 / (B (k - 1) - \chi^2)`.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning
       Research 7 (2006), Sec. 3.2.2.

    Examples
    --------
    >>> from minrisk.comparison import friedman_test
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
    r"""Return how far mean ranks must be apart to differ by Nemenyi's test.

    Parameters
    ----------
    n_methods : int
        Number of methods, k.
    n_contests : int
        Number of contests, B.
    alpha : float, default=0.05
        Level of the test.

    Returns
    -------
    float
        :math:`q_\alpha \sqrt{k (k + 1) / (6 B)}`, in ranks.

    Raises
    ------
    ValueError
        If there are fewer than two methods or no contest, or alpha is not between 0 and 1.

    Notes
    -----
    :math:`q_\alpha` is the upper quantile of the studentized range of k means with infinite degrees of freedom, divided
    by :math:`\sqrt 2`.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning
       Research 7 (2006), Sec. 3.2.2 and Table 5.

    Examples
    --------
    >>> from minrisk.comparison import critical_difference
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
        What each of k methods has in each of B contests; less is better.
    alpha : float, default=0.05
        Probability of finding any difference if there is none.

    Returns
    -------
    NemenyiTest
        The critical difference and p-values.

    Raises
    ------
    ValueError
        If a value is not finite, there are fewer than two methods, or alpha is not between 0 and 1.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning
       Research 7 (2006), Sec. 3.2.2.

    Examples
    --------
    >>> from minrisk.comparison import nemenyi_test
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
    """Return p-values that are corrected for their number by Holm's step-down method.

    Parameters
    ----------
    p_values : array-like of shape (m,)
        p-values of m tests.

    Returns
    -------
    ndarray of shape (m,)
        The corrected p-values, in the same order.

    Notes
    -----
    The i-th smallest of m is multiplied by m + 1 - i. The result is no less than those before it, and at most 1.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6
       (1979).

    Examples
    --------
    >>> from minrisk.comparison import holm
    >>> holm([0.04, 0.01, 0.03])
    array([0.06, 0.03, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected


def signed_rank(first: Any, second: Any) -> tuple[float, float]:
    """Test paired values by Wilcoxon's two-sided signed-rank test.

    Parameters
    ----------
    first : array-like of shape (B,)
        Values of the first method in B contests.
    second : array-like of shape (B,)
        Values of the second method in the same contests.

    Returns
    -------
    statistic : float
        The smaller one of the sums of ranks, of positive and of negative differences.
    p_value : float
        The p-value; 1 if all pairs are equal.

    Notes
    -----
    Differences that tie share their mean rank. Ranks of differences of 0 are shared by both sides.
    The p-value is exact, given these ranks, for up to 200 pairs; for more it is SciPy's normal approximation.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning
       Research 7 (2006), Sec. 3.1.3.

    Examples
    --------
    >>> from minrisk.comparison import signed_rank
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
    """Return the probability that either sum of ranks is so small by chance: sums are counted, in halves."""
    doubled = np.round(2.0 * ranks).astype(np.int64)  # mean ranks are whole or halves
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled:
        with_it = np.zeros_like(chances)
        with_it[rank:] = chances[: len(chances) - rank]
        chances = (chances + with_it) / 2.0
    return min(1.0, 2.0 * float(chances[: round(2.0 * least) + 1].sum()))


def signed_rank_tests(values: Any, pairs: Iterable[tuple[int, int]] | None = None) -> list[SignedRankTest]:
    """Test pairs of methods by Wilcoxon's signed ranks, corrected by Holm's method.

    Parameters
    ----------
    values : array-like of shape (B, k)
        What each of k methods has in each of B contests; less is better.
        Differences are compared across contests, so all values must be in one unit.
    pairs : iterable of pairs of int, optional
        Numbers of the columns that are compared. By default all pairs.

    Returns
    -------
    list of SignedRankTest
        A test for each pair.

    Examples
    --------
    >>> from minrisk.comparison import signed_rank_tests
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
            i,
            j,
            int((table[:, i] < table[:, j]).sum()),
            int((table[:, i] == table[:, j]).sum()),
            int((table[:, i] > table[:, j]).sum()),
            statistic,
            p,
            float(by_holm),
        )
        for (i, j), (statistic, p), by_holm in zip(chosen, made, corrected, strict=True)
    ]
