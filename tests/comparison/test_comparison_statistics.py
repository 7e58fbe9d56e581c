"""Ranks and tests of methods: published examples, slow twins, and what must hold whatever the numbers are."""

import csv
import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, wilcoxon

from minrisk.comparison import critical_difference, friedman_test, holm, nemenyi_test, signed_rank, signed_rank_tests
from minrisk.comparison.statistics import MOST_EXACT_PAIRS, contest_ranks
from minrisk.inspection.plotting import not_apart

# Demšar (JMLR 2006), Table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets. On voting the paper prints
# 0.975 twice, with ranks 2 and 3.
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.9749],
        [0.957, 0.978, 0.946, 0.970],
    ]
)
Q_05 = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}  # his Table 5 (a)
Q_10 = {2: 1.645, 3: 2.052, 4: 2.291, 5: 2.459, 6: 2.589, 7: 2.693, 8: 2.780, 9: 2.855, 10: 2.920}


def drawn(seed, n=9, k=5, decimals=1):
    """A table with ties."""
    return np.round(np.random.default_rng(seed).random((n, k)), decimals)


# -- Demšar's example --------------------------------------------------------------------------------------------------
def test_ranks_of_the_published_example():
    assert contest_ranks(-AUC).mean(axis=0).round(3).tolist() == [3.143, 2.0, 2.893, 1.964]


def test_friedman_of_the_published_example():
    """Without the correction for ties chi-square is 9.28 and F 3.69, as printed; with it both are a little larger."""
    test, (n, k) = friedman_test(-AUC), AUC.shape
    plain = 12 * n / (k * (k + 1)) * ((test.mean_ranks**2).sum() - k * (k + 1) ** 2 / 4)
    assert plain == pytest.approx(9.28, abs=0.005)
    assert (n - 1) * plain / (n * (k - 1) - plain) == pytest.approx(3.69, abs=0.005)
    tied = sum(
        (np.unique(row, return_counts=True)[1] ** 3 - np.unique(row, return_counts=True)[1]).sum() for row in AUC
    )
    assert test.chi_square == pytest.approx(plain / (1 - tied / (n * k * (k * k - 1))))
    assert test.p_value < 0.05 and test.f_p_value < 0.05 and (test.n_contests, test.n_methods) == (14, 4)


def test_nemenyi_of_the_published_example():
    """Critical differences 1.25 and 1.12; at 0.10 C4.5 is worse than C4.5+m and C4.5+m+cf, and no other pair differs."""
    test = nemenyi_test(-AUC, alpha=0.10)
    assert test.critical_difference == pytest.approx(1.12, abs=0.005)
    assert nemenyi_test(-AUC).critical_difference == pytest.approx(1.25, abs=0.005)
    differ = {(i, j) for i, j in itertools.combinations(range(4), 2) if test.p_values[i, j] < 0.10}
    assert differ == {(0, 1), (0, 3)}
    assert (nemenyi_test(-AUC).p_values > 0.05).all()


def test_holm_of_the_published_example():
    """p-values 0.016, 0.019 and 0.607 against C4.5 are compared with 0.017, 0.025 and 0.05: the first two are rejected."""
    assert holm([0.016, 0.019, 0.607]) == pytest.approx([0.048, 0.048, 0.607])


def test_wilcoxon_of_the_published_example():
    """C4.5 against C4.5+m: T = 12, less than the critical 21 for 14 data sets; the two zeros share their ranks."""
    statistic, p = signed_rank(-AUC[:, 0], -AUC[:, 1])
    assert statistic == 12.0 and p < 0.02


@pytest.mark.parametrize(("alpha", "table"), [(0.05, Q_05), (0.10, Q_10)])
def test_critical_values_are_those_of_the_published_table(alpha, table):
    for k, q in table.items():
        n = k * (k + 1)  # q * sqrt(1 / 6)
        assert critical_difference(k, n, alpha) * 6**0.5 == pytest.approx(q, abs=0.0011)


# -- the tables of a paper that was repeated elsewhere -----------------------------------------------------------------
def test_wilcoxon_of_another_paper(data_folder):
    """Table 4 of PIBoost (2014) from its Table 3: p to the four digits printed, but for two pairs with ties."""
    folder = data_folder.parent / "papers" / "tables"
    if not folder.is_dir():
        pytest.skip(f"no tables of papers in {folder}")
    errors = {}
    for row in csv.DictReader((folder / "004_table3_error.csv").open()):
        errors.setdefault(row["dataset"], {})[row["method"]] = float(row["value"])
    whole = [line for line in errors.values() if len(line) == 5]
    assert len(whole) == 14
    for row in csv.DictReader((folder / "004_table4_wilcoxon.csv").open()):
        one, other = row["method"].split(" vs ")
        p = signed_rank([line[one] for line in whole], [line[other] for line in whole])[1]
        tied = (one, other) in {("PIBoost(2)", "SAMME"), ("PIBoost(2)", "PIBoost(1)")}
        assert p == pytest.approx(float(row["value"]), abs=3e-3 if tied else 5.1e-5), (one, other)
    table = [[line[name] for name in whole[0]] for line in whole]
    assert friedman_test(table).p_value < 0.01  # as its text says
    apart = nemenyi_test(table).p_values < 0.10  # PIBoost(2), the last, from all but PIBoost(1): its text and Figure 4
    assert apart[4].tolist() == [True, True, True, False, False] and not apart[:4, :4].any()


# -- slow twins --------------------------------------------------------------------------------------------------------
def exact_p(differences):
    """All signs tried, ranks as fractions."""
    sizes = [abs(d) for d in differences]
    rank = [Fraction(sum(t < s for t in sizes) * 2 + sum(t == s for t in sizes) + 1, 2) for s in sizes]
    shared = sum((r for r, d in zip(rank, differences, strict=True) if d == 0), Fraction()) / 2
    counted = [r for r, d in zip(rank, differences, strict=True) if d != 0]
    plus = sum((r for r, d in zip(rank, differences, strict=True) if d > 0), shared)
    least = min(plus, sum(rank) - plus)
    sums = [
        sum((r for r, s in zip(counted, signs, strict=True) if s), shared)
        for signs in itertools.product((0, 1), repeat=len(counted))
    ]
    return float(least), min(1.0, float(Fraction(2 * sum(s <= least for s in sums), len(sums))))


@pytest.mark.parametrize("seed", range(12))
def test_signed_ranks_equal_the_enumeration_of_all_signs(seed):
    rng = np.random.default_rng(seed)
    differences = rng.integers(-4, 5 + seed % 3, 3 + seed)  # ties and zeros
    statistic, p = signed_rank(differences, np.zeros(len(differences)))
    expected = exact_p(differences.tolist())
    assert (statistic, p) == (expected[0], pytest.approx(expected[1], rel=1e-12)) or not differences.any()


@pytest.mark.parametrize("n", [5, 13, 30, 50])
def test_signed_ranks_equal_scipy_without_ties(n):
    first, second = np.random.default_rng(n).normal(size=(2, n))
    found = wilcoxon(first, second, method="exact")
    assert signed_rank(first, second) == (found.statistic, pytest.approx(found.pvalue, rel=1e-10))


def test_many_pairs_are_tested_by_the_normal_distribution_and_nearly_agree():
    first, second = np.random.default_rng(3).normal(size=(2, MOST_EXACT_PAIRS))
    first += 0.15
    exact = signed_rank(first, second)[1]
    more = signed_rank(np.append(first, 0.0), np.append(second, 0.0))[1]  # one pair more, which is a tie
    assert 0.001 < exact < 0.9 and more == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_friedman_equals_scipy(seed):
    values = drawn(seed)
    found, test = friedmanchisquare(*values.T), friedman_test(values)
    assert (test.chi_square, test.p_value) == (pytest.approx(found.statistic), pytest.approx(found.pvalue))


def test_friedman_by_hand():
    """Ranks 1, 2, 3 in three contests and 2, 1, 3 in one: 12 / 12 (5^2 + 7^2 + 12^2) - 3 * 4 * 4 + ... = 6.5; F = 13."""
    test = friedman_test([[1, 2, 3], [1, 2, 3], [2, 1, 3], [1, 2, 3]])
    assert test.chi_square == pytest.approx((5**2 + 7**2 + 12**2) * 12 / (4 * 3 * 4) - 3 * 4 * 4)
    assert test.f_statistic == pytest.approx(3 * 6.5 / (4 * 2 - 6.5))


def test_nemenyi_p_values_agree_with_drawn_normal_numbers():
    """The range of k independent normal numbers, over sqrt(2), is what differences of ranks are compared with."""
    values = drawn(1, n=8, k=4, decimals=3)
    test = nemenyi_test(values)
    numbers = np.random.default_rng(0).normal(size=(400_000, 4))
    ranges = (numbers.max(axis=1) - numbers.min(axis=1)) / 2**0.5
    for i, j in itertools.combinations(range(4), 2):
        z = abs(test.mean_ranks[i] - test.mean_ranks[j]) / (4 * 5 / (6 * 8)) ** 0.5
        assert test.p_values[i, j] == test.p_values[j, i] == pytest.approx((ranges >= z).mean(), abs=4e-3)
    assert np.array_equal(np.diag(test.p_values), np.ones(4))


@pytest.mark.parametrize("seed", range(4))
def test_holm_equals_its_definition(seed):
    """Rejected at a level is what step-down rejects: the i-th smallest below level / (m + 1 - i), and all before it."""
    p = np.random.default_rng(seed).random(7) ** 4
    corrected = holm(p)
    for level in [*np.linspace(0.001, 0.999, 400), *(p * 2.0)]:
        rejected, order = set(), np.argsort(p)
        for i, at in enumerate(order):
            if p[at] > level / (len(p) - i):
                break
            rejected.add(at)
        slack = 1e-12
        assert {i for i in range(7) if corrected[i] <= level - slack} <= rejected
        assert rejected <= {i for i in range(7) if corrected[i] <= level + slack}


# -- laws --------------------------------------------------------------------------------------------------------------
def test_units_and_rounding_change_nothing():
    values = drawn(2)
    unit = np.array([1e-9, 1e7, 3.0] * 3)[:, None]
    noisy = values * unit * (1 + 1e-15 * np.random.default_rng(0).integers(-3, 4, values.shape))
    assert np.array_equal(contest_ranks(values), contest_ranks(noisy))
    assert friedman_test(noisy)[1:] == friedman_test(values)[1:]


def test_no_difference_is_none():
    same = np.ones((6, 3))
    assert friedman_test(same)[1:5] == (0.0, 1.0, 0.0, 1.0)
    assert nemenyi_test(same).p_values.tolist() == np.ones((3, 3)).tolist()
    assert [test.p_value for test in signed_rank_tests(same)] == [1.0, 1.0, 1.0]
    assert [(test.won, test.tied, test.lost) for test in signed_rank_tests(same)] == [(0, 6, 0)] * 3


def test_perfect_agreement_has_an_infinite_f():
    test = friedman_test([[1, 2, 3]] * 5)
    assert test.chi_square == pytest.approx(10.0) and np.isinf(test.f_statistic) and test.f_p_value == 0.0


def test_chosen_pairs_are_corrected_for_their_own_number():
    values = drawn(3, decimals=4)
    of_all, of_two = signed_rank_tests(values), signed_rank_tests(values, [(0, 1), (0, 2)])
    assert [test.p_value for test in of_two] == [
        test.p_value for test in of_all if (test.first, test.second) in {(0, 1), (0, 2)}
    ]
    assert [test.holm_p_value for test in of_two] == holm([test.p_value for test in of_two]).tolist()


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_the_largest_intervals_that_are_not_apart(seed):
    rng = np.random.default_rng(seed)
    ranks, difference = np.round(rng.uniform(1, 8, 8), 1), 1.5
    groups = [set(group) for group in not_apart(ranks, difference)]
    together = lambda members: ranks[list(members)].max() - ranks[list(members)].min() < difference - 1e-12  # noqa: E731
    for group in groups:
        assert together(group) and len(group) >= 2 and not any(group < other for other in groups)
        assert not any(together(group | {i}) for i in set(range(8)) - group)
    for i, j in itertools.combinations(range(8), 2):
        assert together({i, j}) == any({i, j} <= group for group in groups)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: friedman_test([[1, 2]] * 3), "two contests and three methods at least, got 3 and 2"),
        (lambda: friedman_test([[1, 2, 3]]), "got 1 and 3"),
        (lambda: nemenyi_test([[1.0, np.nan]]), "must be finite"),
        (lambda: nemenyi_test([1.0, 2.0]), "got shape (2,)"),
        (lambda: critical_difference(3, 5, alpha=0.0), "alpha between 0 and 1"),
    ],
)
def test_what_cannot_be_tested_is_refused(call, said):
    with pytest.raises(ValueError) as problem:
        call()
    assert said in str(problem.value)
