"""Bounds of mean costs: against plain loops, SciPy's exact test, and how often they hold."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from minrisk.decisions.bounds import LEVEL, MOST_STAKED, EProcess, p_value_mean, p_value_share, upper_mean, upper_share


def capital(values, weight, m):
    """The largest log-capital of bets that the mean is below m, row by row; all are shares of their largest."""
    n, log, best = len(values), 0.0, 0.0
    weights, costs, squares = 1.0, 0.5, 0.25
    for t, (value, u) in enumerate(zip(values, weight, strict=True), start=1):
        stake = math.sqrt(2.0 * math.log(1.0 / LEVEL) / (squares / t * n))
        log += math.log(1.0 - min(stake, MOST_STAKED / (1.0 - m)) * u * (value - m))
        best = max(best, log)
        weights, costs = weights + u, costs + u * value
        squares += (u * (value - costs / weights)) ** 2
    return best


@pytest.mark.parametrize("weighted", [False, True])
def test_bets_are_those_of_a_loop(weighted):
    rng = np.random.default_rng(1)
    values, weight = rng.beta(0.3, 2.0, 200), rng.uniform(0.5, 4.0, 200)
    given = weight if weighted else None
    order = np.random.default_rng(0).permutation(200)
    u = (weight / weight.max() if weighted else np.ones(200))[order]
    for m in (0.1, 0.15, 0.25, 0.9):
        expected = math.exp(-capital(values[order], u, m))
        assert p_value_mean(5.0 * values, 5.0 * m, top=5.0, weight=given) == pytest.approx(expected, rel=1e-9)
    bound = upper_mean(5.0 * values, given, top=5.0, confidence=0.9)
    assert capital(values[order], u, bound / 5.0) == pytest.approx(math.log(10.0), rel=1e-6)


def test_a_bound_and_a_p_value_say_the_same():
    values = np.random.default_rng(2).uniform(size=300) ** 4
    for confidence in (0.6, 0.9, 0.95, 0.999):
        bound = upper_mean(values, top=1.0, confidence=confidence)
        assert p_value_mean(values, bound + 1e-9, top=1.0) <= 1.0 - confidence + 1e-12
        assert p_value_mean(values, bound - 1e-9, top=1.0) > 1.0 - confidence


@pytest.mark.parametrize("n", [1, 5, 100])
def test_surer_bounds_are_higher(n):
    values = np.random.default_rng(3).beta(1.0, 5.0, n)
    bounds = [upper_mean(values, top=1.0, confidence=c) for c in (0.01, 0.3, 0.8, 0.95, 0.99, 0.9999)]
    assert bounds == sorted(bounds)
    assert values.mean() <= bounds[2] <= 1.0
    shares = [upper_share(n // 3, n, c) for c in (0.01, 0.3, 0.8, 0.95, 0.99, 0.9999)]
    assert shares == sorted(shares)


def test_more_rows_and_smaller_values_have_lower_bounds():
    rng = np.random.default_rng(4)
    values = rng.uniform(size=2000) * (rng.uniform(size=2000) < 0.1)
    assert upper_mean(values, top=1.0) < upper_mean(values[:300], top=1.0) < 1.0
    assert upper_mean(values[:300], top=1.0) < upper_mean(values[:300], top=20.0)
    assert upper_mean(0.1 * values, top=1.0) < upper_mean(values, top=1.0)
    assert upper_mean(7.0 * values, top=7.0) == pytest.approx(7.0 * upper_mean(values, top=1.0), rel=1e-9)


def test_weights_count_by_ratio():
    rng = np.random.default_rng(5)
    values = rng.uniform(size=400)
    same = upper_mean(values, np.full(400, 0.3), top=1.0)
    assert same == upper_mean(values, top=1.0)
    weight = rng.uniform(1.0, 2.0, 400)
    assert upper_mean(values, weight, top=1.0) == pytest.approx(upper_mean(values, 8.0 * weight, top=1.0), rel=1e-9)
    with_none = upper_mean(np.append(values[:-1], 1.0), np.append(weight[:-1], 0.0), top=1.0)
    assert with_none == pytest.approx(upper_mean(values[:-1], weight[:-1], top=1.0), rel=1e-9)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 59), (3, 100), (40, 41), (41, 41), (500, 10_000)])
def test_shares_are_bounded_as_by_scipy(k, n):
    for confidence in (0.5, 0.95, 0.999):
        exact = binomtest(k, n, 0.5, alternative="less").proportion_ci(confidence, method="exact").high
        assert upper_share(k, n, confidence) == pytest.approx(exact, rel=1e-9)
    for at_most in (0.01, 0.05, 0.4):
        exact = binomtest(k, n, at_most, alternative="less").pvalue
        assert p_value_share(k, n, at_most) == pytest.approx(exact, rel=1e-9, abs=1e-300)


def draws(rng, n):
    return {
        "two values": ((rng.uniform(size=n) < 0.1).astype(float), 0.1),
        "rare": ((rng.uniform(size=n) < 0.05) * rng.uniform(size=n), 0.025),
        "near the top": (rng.beta(5.0, 1.0, n), 5.0 / 6.0),
    }


@pytest.mark.parametrize("kind", ["two values", "rare", "near the top"])
def test_bounds_hold_as_often_as_they_say(kind):
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(200):
        values, mean = draws(rng, 150)[kind]
        held += upper_mean(values, top=1.0, confidence=0.9) >= mean
    assert held >= 175  # 180 are expected at least, and four of five times a few more


def test_weighted_bounds_hold_as_often_as_they_say():
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        weight = rng.choice([1.0, 3.0, 10.0], 300, p=[0.6, 0.3, 0.1])
        values = (rng.uniform(size=300) < 0.02 * weight).astype(float)  # heavy rows cost more
        held += upper_mean(values, weight, top=1.0, confidence=0.9) >= 0.02 * 13.3 / 2.5
    assert held >= 175


def test_few_rows_say_little():
    assert upper_mean([], top=2.0) == 2.0
    assert upper_share(0, 0) == 1.0
    assert p_value_mean([], 0.5, top=1.0) == p_value_share(0, 0, 0.5) == 1.0
    assert p_value_mean([1.0], 1.0, top=1.0) == p_value_share(1, 1, 1.0) == 0.0  # no mean is above the top
    assert upper_mean([1.0] * 100, top=1.0) == 1.0


def test_a_kept_promise_is_doubted_seldom():
    rng = np.random.default_rng(8)
    alarms = 0
    for _ in range(300):
        test = EProcess(0.1, 1.0)
        for _ in range(10):
            test.update(rng.uniform(size=40) < 0.1)
        alarms += test.p_value <= 0.1
    assert alarms <= 30


def test_a_promise_that_is_broken_late_is_doubted():
    rng = np.random.default_rng(9)
    test = EProcess(0.5, 5.0)
    for _ in range(20):
        test.update(5.0 * (rng.uniform(size=50) < 0.07))
    assert test.p_value > 0.5
    for _ in range(20):
        test.update(5.0 * (rng.uniform(size=50) < 0.2))
    assert test.p_value < 0.01 and test.n == 2000 and test.mean == pytest.approx(0.5 * 1.35, abs=0.1)
    low = test.p_value
    assert test.update(np.zeros(5000)).p_value == low and test.e_value < 1.0  # what has been shown stays so


def test_capital_of_an_e_process_is_fair():
    """Over all outcomes of a few rows whose mean is what is promised, its mean is 1."""
    total = 0.0
    for outcome in range(2**6):
        bits = np.array([outcome >> i & 1 for i in range(6)], dtype=float)
        test = EProcess(0.3, 1.0).update(bits[:2]).update(bits[2:3]).update([]).update(bits[3:])
        total += 0.3 ** bits.sum() * 0.7 ** (6 - bits.sum()) * test.e_value
    assert total == pytest.approx(1.0, rel=1e-12)


def test_order_within_an_update_does_not_matter():
    values = np.random.default_rng(10).uniform(size=100)
    one, other = EProcess(0.2, 1.0).update(values), EProcess(0.2, 1.0).update(values[::-1])
    assert one.e_value == pytest.approx(other.e_value, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: upper_mean([0.5, 2.0], top=1.0), "values must be numbers from 0 to the top of 1 .* 0.5 to 2"),
        (lambda: upper_mean([[0.5]], top=1.0), "one dimension, got shape"),
        (lambda: upper_mean([math.nan], top=1.0), "values must be"),
        (lambda: upper_mean([0.5], top=0.0), "top must be a finite number above 0"),
        (lambda: upper_mean([0.5], [1.0, 2.0], top=1.0), "sample_weight must hold a number for each of the 1 rows"),
        (lambda: upper_mean([0.5], top=1.0, confidence=95), "confidence must be between 0 and 1, got 95"),
        (lambda: p_value_mean([0.5], -0.1, top=1.0), "at_most must be 0 or more"),
        (lambda: upper_share(3, 2), "k must be from 0 to n, got 3 of 2"),
        (lambda: EProcess(0.0, 1.0), "promised must be more than 0 and less than top"),
        (lambda: EProcess(0.5, 1.0).update([3.0]), "values must be numbers from 0 to the top"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()
