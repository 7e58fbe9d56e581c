"""Limits: read, kept exactly at the least cost, and priced."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import eye, kron, vstack

from minrisk import CostMatrix, MinRiskClassifier, decide
from minrisk.decisions import limits as module
from minrisk.decisions.limits import assigned, price_limits, read_limits

# ------------------------------------------------------------------------------------------------- limits of users


@pytest.mark.parametrize(
    ("limit", "n", "low", "high"),
    [
        (3, 10, 0, 3),
        (30, 10, 0, 10),
        (np.int64(3), 10, 0, 3),
        (0, 10, 0, 0),
        (0.25, 10, 0, 2),
        (1.0, 10, 0, 10),
        (0.1, 30, 0, 3),
        (0.29, 100, 0, 29),
        ((0.1, None), 30, 3, 30),
        ((0.29, None), 100, 29, 100),
        ((0.25, 5), 10, 3, 5),
        ([None, 0.5], 10, 0, 5),
        ((None, None), 10, 0, 10),
        (None, 10, 0, 10),
        ((2, 2), 10, 2, 2),
        (0.5, 0, 0, 0),
    ],
)
def test_a_limit_is_read(limit, n, low, high):
    found = read_limits({"b": limit}, ["a", "b"], n)
    assert [part.tolist() for part in found] == [[0, low], [n, high]]
    assert all(part.dtype == np.int64 for part in found)


def test_labels_are_matched_as_those_of_costs():
    assert read_limits({"1": 3}, np.array([0, 1]), 9)[1].tolist() == [9, 3]
    assert read_limits({"refer": 3}, [0, 1, -1], 9, classes=[0, 1])[1].tolist() == [9, 9, 3]


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"c": 1}, r"expected labels among \['a', 'b'\], got \['c'\]"),
        ({"a": True}, r"limits\['a'\] must be an int of 0 or more .* got True"),
        ({"a": "5"}, "got '5'"),
        ({"a": float("nan")}, "got nan: a number of rows is an int"),
        ({"a": 5.0}, "got 5.0: a number of rows is an int"),
        ({"a": -1}, "got -1: write 0 for no row"),
        ({"a": (None, -0.5)}, r"got \(None, -0.5\)"),
        ({"a": (1, 2, 3)}, "a pair has two entries"),
        ({"a": (5, 3)}, r"lower limit first, got \(5, 3\), at least 5 and at most 3 of 10 rows"),
        ({"a": (0.9, 3)}, "at least 9 and at most 3"),
        ({"a": (0.11, 0.19)}, "must leave a whole number of rows, got .* of 10 rows is from 1.1 to 1.9"),
        ({"a": (11, None)}, r"no more than the 10 rows that there are, got \(11, None\)"),
        ({"a": 3, "b": 0.5}, r"for each of the 10 rows, got at most 8 in all \('a': 3, 'b': 5\)"),
        ({"a": (6, None), "b": (0.5, None)}, r"no more than the 10 rows .* at least 11 in all \('a': 6, 'b': 5\)"),
    ],
)
def test_limits_that_say_nothing_are_refused(limits, told):
    with pytest.raises(ValueError, match=told):
        read_limits(limits, ["a", "b"], 10)


def test_limits_name_each_decision_once_in_a_dict():
    with pytest.raises(ValueError, match="got 1 and '1', which are the same"):
        read_limits({1: 5, "1": 6}, [0, 1], 10)
    with pytest.raises(TypeError, match=r"must be a dict of decisions and numbers, got list: write \{'refer': 100\}"):
        read_limits([5, 3], [0, 1], 10)


# ---------------------------------------------------------------------------------------------- the cheapest decisions


def least_cost(expected, low, high):
    """By the linear program."""
    n, D = expected.shape
    each_row, each_decision = kron(eye(n), np.ones((1, D))), kron(np.ones((1, n)), eye(D))
    found = linprog(
        expected.ravel(),
        A_eq=each_row,
        b_eq=np.ones(n),
        A_ub=vstack([each_decision, -each_decision]),
        b_ub=np.concatenate([high, -low]),
        method="highs",
    )
    return found.fun


def judged(expected, low, high):
    """The cost of the decisions, which keep to the limits and are the cheapest by their prices: weak duality."""
    n, D = expected.shape
    chosen, prices = assigned(expected, low, high)
    counts = np.bincount(chosen, minlength=D)
    assert chosen.shape == (n,) and chosen.dtype == np.int64 and prices.shape == (D,)
    assert (low <= counts).all() and (counts <= high).all()
    total, priced = expected[np.arange(n), chosen].sum(), expected + prices
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert (priced[np.arange(n), chosen] <= priced.min(axis=1) + 1e-13 * scale).all()
    dual = priced.min(axis=1).sum() - np.maximum(prices * high, prices * low).sum()
    assert abs(total - dual) <= 1e-12 * max(1.0, abs(total))
    assert (prices[(low == 0) & (high == n)] == 0.0).all()
    assert (prices[low == 0] >= 0.0).all() and (prices[high == n] <= 0.0).all()
    assert (prices[counts < high] <= 0.0).all() and (prices[(counts > low)] >= 0.0).all()
    return total, prices


KINDS = ("real", "whole", "equal", "classes", "amounts")


def problem(rng, kind, n=None, D=None):
    n, D = n or int(rng.integers(1, 60)), D or int(rng.integers(2, 8))
    if kind == "real":
        expected = rng.random((n, D))
    elif kind == "whole":
        expected = rng.integers(0, 4, (n, D)).astype(float)
    elif kind == "equal":
        expected = np.ones((n, D))
    else:
        K = max(2, D - int(rng.integers(0, 3)))
        expected = rng.dirichlet(np.ones(K), n).round(1 if kind == "classes" else 9) @ rng.random((K, D))
        if kind == "amounts":
            expected *= rng.lognormal(0.0, 2.0, (n, 1))
    counts = rng.multinomial(n, rng.dirichlet(np.ones(D)))  # so that limits can be kept
    low = np.where(rng.random(D) < 0.5, 0, np.maximum(0, counts - rng.integers(0, 3, D)))
    high = np.where(rng.random(D) < 0.4, n, np.minimum(n, counts + rng.integers(0, 3, D)))
    return expected, low, high


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_cost_what_the_linear_program_says(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(40):
        expected, low, high = problem(rng, kind)
        total, best = judged(expected, low, high)[0], least_cost(expected, low, high)
        assert abs(total - best) <= 1e-12 * max(1.0, best)


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_are_narrowed_down_to_those_undecided(kind, monkeypatch):
    """The ways of large tables, taken by small ones."""
    monkeypatch.setattr(module, "FEW_ROWS", 8)
    monkeypatch.setattr(module, "BLOCK", 7)
    rng = np.random.default_rng(10 + KINDS.index(kind))
    for _ in range(15):
        expected, low, high = problem(rng, kind, n=int(rng.integers(32, 200)))
        total, best = judged(expected, low, high)[0], least_cost(expected, low, high)
        assert abs(total - best) <= 1e-12 * max(1.0, best)


@pytest.mark.parametrize("kind", KINDS)
def test_an_upper_limit_costs_what_one_more_place_would_save(kind):
    rng = np.random.default_rng(20 + KINDS.index(kind))
    for _ in range(30):
        expected, low, high = problem(rng, kind)
        n = len(expected)
        total, prices = judged(expected, low, high)
        for d in np.flatnonzero((high < n) & ((low == 0) | (low < high))):
            more = high + (np.arange(len(high)) == d)
            cheaper, later = judged(expected, low, more)
            assert abs(total - cheaper - max(0.0, prices[d])) <= 1e-11 * max(1.0, total)
            assert later[d] <= prices[d] + 1e-12  # the larger limit has no larger price


@pytest.mark.parametrize("kind", KINDS)
def test_a_lower_limit_costs_what_one_row_less_would_save(kind):
    rng = np.random.default_rng(30 + KINDS.index(kind))
    for _ in range(30):
        expected, low, high = problem(rng, kind)
        high[:] = len(expected)
        total, prices = judged(expected, low, high)
        for d in np.flatnonzero(low):
            cheaper, later = judged(expected, low - (np.arange(len(low)) == d), high)
            assert abs(total - cheaper + prices[d]) <= 1e-11 * max(1.0, total)
            assert later[d] >= prices[d] - 1e-12


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), data=st.data())
@settings(max_examples=60, deadline=None)
def test_prices_fall_as_a_limit_rises(seed, kind, data):
    expected, low, high = problem(np.random.default_rng(seed), kind, n=30)
    d = data.draw(st.integers(0, len(high) - 1))
    low[d], low[d - 1], high[d - 1] = 0, 0, 30
    found = []
    for most in range(0, 31, 3):
        high[d] = most
        found.append(judged(expected, low, high)[1][d])
    assert (np.diff(found) <= 1e-12).all()


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS))
@settings(max_examples=60, deadline=None)
def test_limits_that_do_not_bind_change_nothing(seed, kind):
    rng = np.random.default_rng(seed)
    expected, _, _ = problem(rng, kind)
    n, D = expected.shape
    counts = np.bincount(expected.argmin(axis=1), minlength=D)
    low, high = np.maximum(0, counts - rng.integers(0, 2, D)), np.minimum(n, counts + rng.integers(0, 2, D))
    chosen, prices = assigned(expected, low, high)
    np.testing.assert_array_equal(chosen, expected.argmin(axis=1))
    np.testing.assert_array_equal(prices, np.zeros(D))


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS))
@settings(max_examples=60, deadline=None)
def test_orders_of_rows_and_decisions_do_not_matter(seed, kind):
    rng = np.random.default_rng(seed)
    expected, low, high = problem(rng, kind)
    total, prices = judged(expected, low, high)
    chosen = assigned(expected, low, high).chosen
    rows, decisions = rng.permutation(len(expected)), rng.permutation(len(low))
    of_rows, same = judged(expected[rows], low, high)
    assert of_rows == pytest.approx(total, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(same, prices, rtol=0.0, atol=1e-12 * max(1.0, expected.max()))
    of_decisions, permuted = judged(expected[:, decisions], low[decisions], high[decisions])
    assert of_decisions == pytest.approx(total, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(permuted, prices[decisions], rtol=0.0, atol=1e-12 * max(1.0, expected.max()))
    if kind == "real":  # no ties
        np.testing.assert_array_equal(assigned(expected[rows], low, high).chosen, chosen[rows])
        np.testing.assert_array_equal(
            decisions[assigned(expected[:, decisions], low[decisions], high[decisions]).chosen], chosen
        )


def test_an_example_by_hand():
    """Referring costs 1 and gains 9, 4, 2.5 and 1 over the best class; the other two rows would not be referred.

    With two places the first two rows are referred, and a third place would save 2.5. Beyond that, two rows must be
    "b": the last row is so anyway, and of the others the fifth row loses the least, 0.25.
    """
    expected = np.array([[10, 12, 1], [5, 6, 1], [3.5, 4, 1], [2, 3, 1], [0.25, 0.5, 1], [0.5, 0, 1]])
    chosen, prices = assigned(expected, np.array([0, 0, 0]), np.array([6, 6, 2]))
    assert chosen.tolist() == [2, 2, 0, 0, 0, 1] and prices.tolist() == [0.0, 0.0, 2.5]
    chosen, prices = assigned(expected, np.array([0, 2, 0]), np.array([6, 6, 2]))
    assert chosen.tolist() == [2, 2, 0, 0, 1, 1] and prices.tolist() == [0.0, -0.25, 2.5]


def test_a_set_of_prices_moves_where_none_could_alone():
    """Coordinates stall here: neither price alone can be raised, as rows would only change to the other decision."""
    expected = np.tile([0.0, 0.0, 1.0], (10, 1))
    total, prices = judged(expected, np.array([0, 0, 0]), np.array([3, 3, 10]))
    assert total == 4.0 and prices.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("D", [2, 3, 50])
def test_none_one_and_many_equal_rows(D):
    none, some = np.zeros(D, dtype=np.int64), np.full(D, 1)
    assert assigned(np.empty((0, D)), none, none).chosen.shape == (0,)
    first = assigned(np.arange(D, dtype=float)[None], none, np.where(np.arange(D) == 0, 0, 1))
    assert first.chosen.tolist() == [1] and first.prices[0] == 1.0 and not first.prices[1:].any()
    total, _ = judged(np.ones((D, D)), some, some)
    assert total == D
    total, _ = judged(np.zeros((7 * D, D)), 7 * some, 7 * some)
    assert total == 0.0


def test_many_decisions_and_ties():
    rng = np.random.default_rng(5)
    expected = rng.integers(0, 6, (20_000, 50)).astype(float)
    counts = np.bincount(expected.argmin(axis=1), minlength=50)
    judged(
        expected,
        np.where(np.arange(50) % 4 == 0, counts // 2 + 300, 0),
        np.where(np.arange(50) % 2, counts // 2, 20_000),
    )


def test_all_rows_are_asked_for():
    """No more can be asked for, and there is a price all the same."""
    total, prices = judged(np.array([[0.0, 2.0], [0.0, 3.0], [0.0, 4.0]]), np.array([1, 2]), np.array([3, 3]))
    assert total == 5.0 and prices.tolist() == [0.0, -3.0]


def test_costs_of_very_different_rows_are_exact():
    """Rounding is that of each row: a large cost elsewhere hides no difference."""
    expected = np.array([[1e12, 0.0], [1e-6, 0.0], [2e-6, 0.0], [3e-6, 0.0]])
    chosen, prices = assigned(expected, np.array([0, 0]), np.array([4, 3]))
    assert chosen.tolist() == [1, 0, 1, 1] and prices.tolist() == [0.0, 1e-6]


def test_limits_that_nothing_keeps_are_refused():
    for low, high in ([0, 0], [1, 1]), ([2, 2], [3, 3]), ([0, 2], [3, 1]):
        with pytest.raises(ValueError, match="for each of the 3 rows, got lower ones"):
            assigned(np.random.default_rng(0).random((3, 2)), np.array(low), np.array(high))


# ------------------------------------------------------------------------------------------- rows that come singly

COST = {"fair": {"fraud": 5, "refer": 1}, "fraud": {"fair": 20, "refer": 1}}


class Answering:
    """A classifier whose rows are probabilities."""

    def __init__(self, classes, cost=None, decisions=None):
        self.classes_, self.cost_ = np.array(classes), cost
        if decisions is not None:
            self.decisions_ = np.array(decisions)

    def predict_proba(self, X):
        return X


def counts_by(cost, probabilities):
    return np.bincount((probabilities @ cost.values).argmin(axis=1), minlength=cost.shape[1])


def test_prices_become_costs():
    model, p = Answering(["fair", "fraud"]), np.random.default_rng(0).dirichlet([2.0, 1.0], 1000)
    free = price_limits(model, p, {"refer": 1.0}, COST)
    assert not any(free.prices.values()) and free.interval == {} and free.n == 1000
    np.testing.assert_array_equal(free.cost.values, [[0, 5, 1], [20, 0, 1]])
    priced = price_limits(model, p, {"refer": 0.1}, COST)
    assert priced.prices["refer"] > 0.0 and priced.prices["fair"] == priced.prices["fraud"] == 0.0
    assert priced.expected["refer"] in (100, 101) and sum(priced.expected.values()) == 1000
    low, high = priced.interval["refer"]
    assert 70 < low < 85 and 115 < high < 130
    np.testing.assert_allclose(priced.cost.values[:, 2], 1.0 + priced.prices["refer"])
    assert counts_by(priced.cost, p).tolist() == list(priced.expected.values())
    assert priced.cost.classes == ("fair", "fraud") and priced.cost.decisions == ("fair", "fraud", "refer")


def test_prices_below_0_leave_no_cost_below_0():
    model, p = Answering(["fair", "fraud"], CostMatrix([[0, 5], [20, 0]])), np.random.default_rng(0).random(500)
    p = np.column_stack([p, 1 - p])
    priced = price_limits(model, p, {"fair": (0.6, None)})
    assert priced.prices["fair"] < 0.0 == priced.prices["fraud"] and priced.cost.values.min() == 0.0
    assert abs(priced.expected["fair"] - 300) <= 1
    raised = priced.cost.values - [[0, 5], [20, 0]]
    np.testing.assert_allclose(raised[:, 1] - raised[:, 0], -priced.prices["fair"])


def test_labels_of_limits_and_costs_are_those_of_the_model():
    model = Answering([0, 1], [[0, 5, 1], [20, 0, 1]], [0, 1, -1])
    priced = price_limits(model, np.random.default_rng(0).dirichlet([2.0, 1.0], 100), {"refer": 10})
    assert list(priced.prices) == [0, 1, -1] and list(priced.interval) == [-1]


def test_equal_rows_cannot_be_told_apart_by_prices():
    model, p = Answering(["fair", "fraud"], [[0, 4], [4, 0]]), np.tile([0.75, 0.25], (100, 1))
    with pytest.warns(UserWarning, match="cannot keep the limit of 'fair', expected from 0 to 40 rows, got 100"):
        priced = price_limits(model, p, {"fair": 40})
    assert priced.prices == {"fair": 2.0, "fraud": 0.0} and priced.expected == {"fair": 100, "fraud": 0}


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (None, "cost must be given"),
        (np.ones((50, 2)), r"row for each row, got shape \(50, 2\)"),
        (np.ones((49, 2, 2)), r"expected shape \(50, 2, 2\)"),
    ],
)
def test_costs_without_a_row_for_each_class_are_refused(cost, told):
    with pytest.raises(ValueError, match=told):
        price_limits(Answering([0, 1]), np.full((50, 2), 0.5), {0: 3}, cost)


def test_rows_with_costs_of_their_own_are_priced():
    rng, model = np.random.default_rng(0), Answering(["fair", "fraud"])
    p, amount = rng.dirichlet([2.0, 1.0], 1000), rng.lognormal(3.0, 1.0, 1000)
    tables = np.tile(np.array([[0.0, 5.0, 1.0], [0.0, 0.0, 1.0]]), (1000, 1, 1))
    tables[:, 1, 0] = amount
    priced = price_limits(model, p, {"refer": 100}, tables)
    assert priced.prices["refer"] > 0.0 and priced.expected["refer"] in (100, 101)
    decided = decide(p, priced.cost, classes=model.classes_)
    assert np.sum(decided.labels == "refer") == priced.expected["refer"]
    np.testing.assert_array_equal(priced.added_to(tables), priced.cost)
    same = price_limits(model, p, {"refer": 100}, np.tile(np.array([[0.0, 5.0, 1.0], [20.0, 0.0, 1.0]]), (1000, 1, 1)))
    of_one = price_limits(model, p, {"refer": 100}, COST)
    assert same.expected == of_one.expected and same.prices == pytest.approx(of_one.prices)
    np.testing.assert_allclose(of_one.added_to([[0, 5, 1], [20, 0, 1]]), of_one.cost.values)
    floor = price_limits(model, p, {"fraud": (0.6, None)}, tables)
    assert floor.prices["fraud"] < 0.0 == floor.cost.min()
    with pytest.raises(ValueError, match=r"decisions \['fair', 'fraud', 'refer'\], got shape \(2, 2\)"):
        priced.added_to(np.ones((2, 2)))


def test_what_cannot_be_priced_is_refused():
    model = Answering(["fair", "fraud"])
    with pytest.raises(ValueError, match="must have rows to find prices by"):
        price_limits(model, np.empty((0, 2)), {}, COST)
    for wrong in 0.0, 1.0, True, "0.9", 95:
        with pytest.raises(ValueError, match="confidence must be a number between 0 and 1"):
            price_limits(model, np.full((5, 2), 0.5), {}, COST, confidence=wrong)


@pytest.mark.parametrize("limits", [{"refer": 0.1}, {"refer": 0.05, "b": 0.15, "c": (0.3, None)}])
def test_counts_among_new_rows_are_within_their_intervals(limits):
    """Nominal 0.9 or a little more, since counts are whole numbers; 300 draws: a standard error of 0.017."""
    rng, n, draws = np.random.default_rng(3), 400, 300
    model = Answering(["a", "b", "c"], [[0, 3, 9, 1.2], [2, 0, 4, 1.2], [12, 6, 0, 1.2]], ["a", "b", "c", "refer"])
    within = {label: 0 for label in limits}
    for _ in range(draws):
        priced = price_limits(model, rng.dirichlet([1.5, 1.0, 0.7], n), limits)
        counts = dict(
            zip(priced.cost.decisions, counts_by(priced.cost, rng.dirichlet([1.5, 1.0, 0.7], n)), strict=True)
        )
        for label in limits:
            low, high = priced.interval[label]
            within[label] += low <= counts[label] <= high
    assert all(0.87 <= hits / draws <= 0.97 for hits in within.values()), within


def test_a_model_decides_by_prices():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.where(X[:, 0] + rng.normal(size=900) > 1.0, "fraud", "fair")
    model = MinRiskClassifier(cost=COST, random_state=0, n_estimators=10).fit(X[:400], y[:400])
    priced = price_limits(model, X[400:], {"refer": 40})
    found = model.predict(X[400:], cost=priced.cost)
    assert abs(np.sum(found == "refer") - priced.expected["refer"]) <= 2
    assert priced.prices["refer"] > 0.0 and abs(priced.expected["refer"] - 40) <= 3
    bare = SimpleNamespace(classes_=model.classes_, predict_proba=model.predict_proba)
    assert price_limits(bare, X[400:], {"refer": 40}, COST).prices == priced.prices
