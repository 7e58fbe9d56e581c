"""Costs from ranges and from rates, against every table at the corners and the equations themselves."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from minrisk.costs import CostMatrix, between, from_decisions, from_rates, ordinal, uniform
from minrisk.costs.statements import MOST_RANGES, _Logit


def corners_of(low, high):
    cells = np.argwhere(high > low)
    for ends in itertools.product((0, 1), repeat=len(cells)):
        table = low.copy()
        for (i, j), end in zip(cells, ends, strict=True):
            table[i, j] = (low, high)[end][i, j]
        yield table


def tables(seed, K, D, n_ranges):
    rng = np.random.default_rng(seed)
    low = rng.uniform(0.1, 2.0, (K, D))
    np.fill_diagonal(low, 0.0)
    high, cells = low.copy(), [(i, j) for i in range(K) for j in range(D) if i != j]
    for at in rng.permutation(len(cells))[:n_ranges]:
        high[cells[at]] *= rng.uniform(1.5, 6.0)
    return low, high, rng


def largest_regrets(p, low, high):
    """The largest regret of each decision about each row, (n, D), over all corners."""
    every = np.stack([p @ table for table in corners_of(low, high)])
    return (every - every.min(axis=2, keepdims=True)).max(axis=0)


def regret_of(decided, p, low, high):
    """The largest mean regret of decisions, where one table is the truth of all rows."""
    rows = np.arange(len(p))
    every = (p @ table for table in corners_of(low, high))
    return max((expected[rows, decided] - expected.min(axis=1)).mean() for expected in every)


class TestBetween:
    @given(seed=st.integers(0, 10**6), K=st.integers(2, 3), n_ranges=st.integers(0, 3))
    @settings(max_examples=20, deadline=None)
    def test_of_two_decisions_the_midpoint_is_the_best_in_every_row(self, seed, K, n_ranges):
        low, high, rng = tables(seed, K, 2, n_ranges)
        p = rng.dirichlet(np.ones(K), size=50)
        cost = between(CostMatrix(low, range(K), ["a", "b"]), CostMatrix(high, range(K), ["a", "b"]))
        np.testing.assert_allclose(cost.values, (low + high) / 2)
        regrets = largest_regrets(p, low, high)
        decided = regrets[np.arange(50), (p @ cost.values).argmin(axis=1)]
        np.testing.assert_allclose(decided, regrets.min(axis=1), atol=1e-12)

    @pytest.mark.parametrize("seed", range(4))
    def test_of_more_decisions_its_regret_is_at_most_twice_the_least(self, seed):
        low, high, rng = tables(seed, 3, 4, 6)
        p = rng.dirichlet(np.ones(3), size=200)
        regrets = largest_regrets(p, low, high)
        decided = regrets[np.arange(200), (p @ between(low, high).values).argmin(axis=1)]
        assert (decided <= 2 * regrets.min(axis=1) + 1e-12).all()

    def test_no_table_is_the_best_in_every_row_of_three_decisions(self):
        """The third decision turns the better of the first two: with it the upper costs decide, without it the sum."""
        low, high = np.array([[2.0, 0.5, 0.0]]), np.array([[2.5, 3.0, 9.0]])
        assert largest_regrets(np.ones((1, 1)), low, high).argmin() == 0
        assert largest_regrets(np.ones((1, 1)), low[:, :2], high[:, :2]).argmin() == 1

    @pytest.mark.parametrize(("K", "D", "n_ranges"), [(2, 2, 1), (2, 2, 2), (3, 3, 4), (3, 4, 6), (2, 3, 4)])
    def test_with_rows_no_way_to_decide_is_better(self, K, D, n_ranges):
        low, high, rng = tables(K * D, K, D, n_ranges)
        p = rng.dirichlet(np.full(K, 0.5), size=400)
        cost = between(CostMatrix(low, range(K)), CostMatrix(high, range(K)), p, range(K)).values
        assert (cost >= low - 1e-9).all() and (cost <= high + 1e-9).all()
        found = regret_of((p @ cost).argmin(axis=1), p, low, high)
        assert found <= regret_of((p @ ((low + high) / 2)).argmin(axis=1), p, low, high)
        # The best of all randomised ways: each row has a probability of each decision, and r bounds all regrets.
        every = [p @ table for table in corners_of(low, high)]
        above = np.array([[*(expected.ravel() / len(p)), -1.0] for expected in every])
        best = [expected.min(axis=1).mean() for expected in every]
        equal = np.column_stack([np.kron(np.eye(len(p)), np.ones(D)), np.zeros(len(p))])
        least = linprog(np.r_[np.zeros(D * len(p)), 1.0], above, best, equal, np.ones(len(p))).fun
        assert least - 1e-9 <= found <= least + 2 * n_ranges * high.max() / len(p)

    def test_labels_are_matched_and_kept(self):
        low = pd.DataFrame([[0, 1, 0.5], [4, 0, 0.5]], ["a", "b"], ["a", "b", "refer"])
        high = pd.DataFrame([[0, 9, 1.5], [1, 0, 0.5]], ["b", "a"], ["b", "a", "refer"]).iloc[:, [2, 1, 0]]
        cost = between(low, high)
        assert cost == CostMatrix([[0, 1, 0.5], [6.5, 0, 1]], ["a", "b"], ["a", "b", "refer"])
        p = np.random.default_rng(0).dirichlet([1, 1], size=50)
        known = between(low, high, p, ["a", "b"])
        assert (
            known
            == between(low, high, p[:, ::-1], ["b", "a"])
            == between(low, high, pd.DataFrame(p, columns=["a", "b"]))
        )
        assert known.values[0].tolist() == [0, 1, 0.5]  # what is known stays
        assert between(uniform(3), ordinal(3)).classes is None
        assert between(ordinal(3), ordinal(3)) == ordinal(3)

    @pytest.mark.parametrize(
        ("low", "high", "more", "message"),
        [
            ([[0, 2], [1, 0]], [[0, 1], [1, 0]], (), r"2 and 1 for cost\[0, 1\]"),
            ([[0, 2], [1, 0]], uniform(3), (), r"shapes \(2, 2\).*\(3, 3\)"),
            ([[0, 1], [1, 0]], uniform(["a", "b"]), (), "without labels and"),
            (uniform(["a", "c"]), uniform(["a", "b"]), (), "same classes"),
            (uniform(["a", "b"]), uniform(["a", "b"]), ([[1, 0]],), "classes must name the columns"),
            (uniform(["a", "b"]), uniform(["a", "b"]), ([[1, 0]], ["a", "c"]), "classes must name the columns"),
            (uniform(2), uniform(2), ([[1, 0, 0]],), r"shape \(n, 2\)"),
            (uniform(2), uniform(2), ([[1, -1]],), "0 or more"),
            (uniform(4), ordinal(4, 2).values + 3 * (1 - np.eye(4)), (np.eye(4),), f"{MOST_RANGES} costs at most"),
        ],
    )
    def test_refusals(self, low, high, more, message):
        with pytest.raises(ValueError, match=message):
            between(low, high, *more)


class TestFromRates:
    def test_whole_rates_give_whole_costs(self):
        cost = from_rates([(("knife", "bottle"), 20, ("bottle", "knife"))])
        assert cost == CostMatrix([[0, 20], [1, 0]], ["knife", "bottle"])
        told = [((1, ...), 50, (..., 1)), ((0, 2), 1, (2, 0)), ((0, 1), 2, (0, 2))]
        assert from_rates(told, [0, 1, 2]).values.tolist() == [[0, 2, 1], [100, 0, 100], [1, 2, 0]]

    def test_threshold_of_two_decisions(self):
        cost = from_rates([(("ill", "well"), (1 - 0.05) / 0.05, ("well", "ill"))]).values
        for q, treats in ((0.049, False), (0.051, True)):
            assert (np.array([q, 1 - q]) @ cost).argmin() == (0 if treats else 1)

    def test_referring(self):
        every = (..., ...)
        cost = from_rates([(every, 1, ("a", "b"))], list("abc"), refer_below=0.97)
        assert cost.decisions == ("a", "b", "c", "refer")
        np.testing.assert_allclose(cost.values[:, 3], 0.03)
        other = from_rates([(every, 1, ("a", "b")), (every, 1 / 0.03, (..., "refer"))], list("abc"))
        np.testing.assert_allclose(other.values * 0.03, cost.values)
        p = np.random.default_rng(0).dirichlet(np.full(3, 0.1), size=500)
        np.testing.assert_array_equal((p @ cost.values).argmin(axis=1) == 3, p.max(axis=1) < 0.97)
        told = [(every, 1, every), (every, 4, (..., "ask")), ((..., "ask"), 1, (..., "nurse"))]
        assert from_rates(told, ["a", "b"], decisions=["nurse"]).decisions == ("a", "b", "nurse", "ask")

    def test_where_mistakes_differ_none_less_sure_is_decided(self):
        cost = from_rates(
            [((..., "a"), 5, ("a", "b")), (("a", ...), 1, ("b", "c")), (("b", "c"), 1, ("c", "b"))],
            list("abc"),
            refer_below=0.9,
        )
        p = np.random.default_rng(0).dirichlet(np.full(3, 0.2), size=500)
        decided = (p @ cost.values).argmin(axis=1)
        assert (decided[p.max(axis=1) < 0.9] == 3).all() and (decided != 3).any()

    @given(seed=st.integers(0, 10**6), K=st.integers(2, 4))
    @settings(max_examples=20, deadline=None)
    def test_statements_of_a_table_give_it_back(self, seed, K):
        rng = np.random.default_rng(seed)
        names = list("dcba")[:K]
        values = rng.uniform(0.1, 50, (K, K)) * (1 - np.eye(K))
        cells = [tuple(place) for place in rng.permutation(np.argwhere(values > 0)).tolist()]
        told = []
        for at in range(1, len(cells)):
            for other in {0, int(rng.integers(at))}:
                one, two = cells[at], cells[other]
                told.append(((names[one[0]], names[one[1]]), values[one] / values[two], [names[k] for k in two]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cost = from_rates(told, names)
        np.testing.assert_allclose(cost.values, values / values[values > 0].min(), rtol=1e-9)

    def test_contradictions_are_told_with_their_size(self):
        a, b, c = ("a", "b"), ("b", "a"), ("a", "refer")
        rest = [(c, 1, ("b", "refer"))]
        with pytest.warns(UserWarning, match=r"contradict.*factor of 2"):
            cost = from_rates([(a, 8, b), (b, 1, c), (a, 1, c), *rest])
        logs = np.log(cost.values[[0, 1, 0], [1, 0, 2]])
        # Three statements of equal weight share what they lack: log 8 = 3 log 2.
        np.testing.assert_allclose([logs[0] - logs[1], logs[1] - logs[2], logs[0] - logs[2]], np.log([4, 0.5, 2]))
        with pytest.warns(UserWarning, match="contradict"):
            from_rates([(a, 2, a), (a, 1, b)])

    @pytest.mark.parametrize(
        ("told", "options", "error", "message"),
        [
            ({("a", "b"): 3}, {}, TypeError, "list of"),
            ([(("a", "b"), 3)], {}, ValueError, "must be .mistake, n, other."),
            ([("ab", 3, ("b", "a"))], {}, ValueError, "must be .mistake, n, other."),
            ([(("a", "b"), 0, ("b", "a"))], {}, ValueError, "above 0"),
            ([(("a", "b"), float("nan"), ("b", "a"))], {}, ValueError, "above 0"),
            ([(("a", "a"), 3, ("b", "a"))], {}, ValueError, "right decision"),
            ([(("a", ...), 3, ("b", "a"))], {}, ValueError, "classes must be given"),
            ([(("a", "b"), 3, ("a", "c"))], {}, ValueError, "two or more"),
            ([(("a", "b"), 3, ("d", "a"))], {"classes": ["a", "b"]}, ValueError, r"got \['d'\]"),
            (
                [(("a", "b"), 3, ("b", "a")), (("c", "a"), 1, ("c", "b"))],
                {},
                ValueError,
                r"relates cost\['a', 'c'\], cost\['b', 'c'\], cost\['c', 'a'\], cost\['c', 'b'\] to cost\['a', 'b'\]",
            ),
            ([(("a", "b"), 3, ("b", "a"))], {"decisions": ["refer"]}, ValueError, r"\['a', 'refer'\]"),
            ([(("a", "b"), 3, ("b", "a"))], {"refer_below": 97}, ValueError, "probability above 0 and below 1"),
        ],
    )
    def test_refusals(self, told, options, error, message):
        with pytest.raises(error, match=message):
            from_rates(told, **options)


class TestFromDecisions:
    COST = np.array([[0, 1, 2.0], [3, 0, 1], [6, 2, 0]])
    NAMES = np.array(["c", "a", "b"])

    def drawn(self, sharp, n=400, seed=0):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.full(3, 0.7), size=n)
        merits = -sharp * (p @ self.COST) + rng.gumbel(size=(n, 3))
        return p, merits.argmax(axis=1)

    def test_likelihood_and_slope_are_those_of_the_logit(self):
        p, decided = self.drawn(3.0, 30)
        logit = _Logit(p, np.arange(3) == decided[:, None], ~np.eye(3, dtype=bool))
        value, slope = logit.loss(self.COST)
        merits = -p @ self.COST
        told = (np.log(np.exp(merits).sum(axis=1)) - merits[np.arange(30), decided]).sum()
        assert value == pytest.approx(told, rel=1e-6)
        for i, j in np.ndindex(3, 3):
            moved = self.COST.copy()
            moved[i, j] += 1e-6
            assert (logit.loss(moved)[0] - value) / 1e-6 == pytest.approx(slope[i, j], abs=1e-4)

    def test_ranges_hold_costs_that_decided(self):
        p, decided = self.drawn(10.0)
        found = from_decisions(p, self.NAMES[decided], self.NAMES)
        truth = self.COST / self.COST.sum() * 6
        wrong = ~np.eye(3, dtype=bool)
        assert found.cost.values[wrong].mean() == pytest.approx(1.0) and found.cost.classes == ("c", "a", "b")
        assert (found.low <= found.cost.values + 1e-9).all() and (found.cost.values <= found.high + 1e-9).all()
        assert ((found.low <= truth) & (truth <= found.high))[wrong].sum() >= 5
        assert found.explained == ((p @ found.cost.values).argmin(axis=1) == decided).mean()
        assert found.explained > found.explained_by_one == np.bincount(decided).max() / len(p)

    def test_decisions_without_mistakes_are_explained(self):
        p, decided = self.drawn(1e9, 150)
        asked = np.where(p.max(axis=1) < 0.4, "ask", self.NAMES[decided])
        found = from_decisions(p[:60], asked[:60], self.NAMES)
        assert found.cost.decisions == ("c", "a", "b", "ask") and found.low.shape == (3, 4)
        plain = from_decisions(p, self.NAMES[decided], self.NAMES)
        truth = self.COST / self.COST.sum() * 6
        assert plain.explained > 0.98 and (plain.low <= truth).all() and (truth <= plain.high).all()

    def test_decisions_at_random_tell_nothing(self):
        p, _ = self.drawn(1.0)
        decided = np.random.default_rng(1).choice(self.NAMES, len(p))
        found = from_decisions(p, decided, self.NAMES)
        assert found.explained < found.explained_by_one + 0.1
        assert np.median((found.high - found.low)[~np.eye(3, dtype=bool)]) > 1.0

    @pytest.mark.parametrize(
        ("decided", "classes", "message"),
        [
            (["a", "b"], ["a", "b"], "one for each of the 3 rows"),
            (["a", "a", "a"], ["a", "b"], r"every class, got none for \['b'\]"),
            (["a", "b", "a"], ["a", "b", "c"], r"shape \(n, 3\)"),
        ],
    )
    def test_refusals(self, decided, classes, message):
        with pytest.raises(ValueError, match=message):
            from_decisions(np.full((3, 2), 0.5), decided, classes)
