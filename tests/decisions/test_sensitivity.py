"""How sure costs must be, against tables that are changed and applied one by one."""

import time

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from minrisk import CostMatrix, MinRiskClassifier, apply_costs
from minrisk.costs import uniform, with_reject
from minrisk.decisions.sensitivity import of_probabilities, sensitivity


class Given:
    """A model that gives the probabilities which it is asked about."""

    def __init__(self, classes, **attributes):
        self.classes_ = np.asarray(list(classes))
        vars(self).update(attributes)

    def predict_proba(self, X):
        return X


def decide(p, values):
    return (p @ values).argmin(axis=1)


def drawn(seed, n=60, K=3, D=4):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(K, 0.5), size=n)
    p[:5] = np.eye(K)[rng.integers(0, K, 5)]
    values = rng.uniform(0.2, 3.0, (K, D))
    np.fill_diagonal(values, 0.0)
    return p, CostMatrix(values, list("abcdefghij"[:K]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("at_most", [0.0, 0.05])
def test_no_decision_changes_within_the_range_and_one_more_beyond(seed, at_most):
    p, cost = drawn(seed)
    found = sensitivity(Given(cost.classes), p, cost, at_most=at_most)
    before, allowed = decide(p, cost.values), int(at_most * len(p))

    def n_changed(i, j, value):
        other = cost.values.copy()
        other[i, j] = value
        return int((decide(p, other) != before).sum())

    for i, j in np.ndindex(*cost.shape):
        low, high, stated = found.low[i, j], found.high[i, j], cost.values[i, j]
        assert 0.0 <= low <= stated <= high
        for share in (0.0, 0.3, 0.9, 1.0 - 1e-9):
            assert n_changed(i, j, stated + share * (low - stated)) <= allowed
            assert n_changed(i, j, stated + share * (min(high, 1e6) - stated)) <= allowed
        if low > 0.0:
            assert n_changed(i, j, low - 1e-9) == allowed + 1
        if np.isfinite(high):
            assert n_changed(i, j, high + 1e-9) == allowed + 1


@pytest.mark.parametrize("seed", range(5))
def test_shares_and_regrets_are_those_of_the_changed_tables(seed):
    p, cost = drawn(seed)
    found = sensitivity(Given(cost.classes), p, cost)
    before = decide(p, cost.values)
    rows = np.arange(len(p))
    assert found.mean_cost == pytest.approx((p @ cost.values)[rows, before].mean())
    for factor, share, regret in (
        (0.5, found.changed_at_half, found.regret_at_half),
        (2.0, found.changed_at_twice, found.regret_at_twice),
    ):
        for i, j in np.ndindex(*cost.shape):
            if cost.values[i, j] == 0.0:
                assert np.isnan(share[i, j]) and np.isnan(regret[i, j])
                continue
            other = cost.values.copy()
            other[i, j] *= factor
            expected, after = p @ other, decide(p, other)
            assert share[i, j] == (after != before).mean()
            assert regret[i, j] == pytest.approx((expected[rows, before] - expected[rows, after]).mean(), abs=1e-15)


def test_ties_go_to_the_first_decision_as_in_apply_costs():
    p = np.array([[0.5, 0.5], [0.25, 0.75], [1 / 3, 2 / 3]])
    cost = CostMatrix([[0, 1], [1, 0]], ["a", "b"])
    found = sensitivity(Given("ab"), p, cost)
    assert found.low[0, 1] == found.cost[0, 1]  # "b" of the first row is as cheap at once, but "a" is the first
    for factor, share in ((0.5, found.changed_at_half), (2.0, found.changed_at_twice)):
        for cell in ((0, 1), (1, 0)):
            other = cost.values.copy()
            other[cell] *= factor
            changed = apply_costs(p, ["a", "b"], other) != apply_costs(p, ["a", "b"], cost)
            assert share[cell] == changed.mean()


def test_decisions_are_those_of_predict_and_costs_those_of_the_fit():
    X, y = load_wine(return_X_y=True)
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    cost = with_reject(uniform(sorted(set(names))), 0.2)
    model = MinRiskClassifier(cost, n_estimators=20, random_state=0).fit(X[::2], names[::2])
    found, given = sensitivity(model, X[1::2]), sensitivity(model, X[1::2], cost)
    assert found.classes == tuple(model.classes_) and found.decisions == tuple(model.decisions_)
    np.testing.assert_array_equal(found.high, given.high)
    p = model.predict_proba(X[1::2])
    by_probabilities = np.array(found.decisions)[decide(p, found.cost)]
    assert by_probabilities.tolist() == model.predict(X[1::2]).tolist()
    assert found.n_rows == len(X[1::2])


def test_labels_are_matched():
    p, cost = drawn(0)
    turned = CostMatrix(cost.values[::-1][:, [2, 1, 0, 3]], list("cba"))
    found, other = sensitivity(Given("abc"), p, cost), sensitivity(Given("abc"), p, turned)
    assert found.decisions == other.decisions == ("a", "b", "c", "refer")
    np.testing.assert_array_equal(found.low, other.low)
    frame = found.to_frame()
    assert frame.index.names == ["true", "decision"] and len(frame) == 12
    assert frame.loc[("c", "refer"), "high"] == found.high[2, 3]


def test_it_prints_the_costs_whose_error_costs_most():
    p, cost = drawn(1)
    lines = repr(sensitivity(Given("abc"), p, cost)).splitlines()
    assert lines[0].startswith("Sensitivity of the decisions about 60 rows") and len(lines) == 2 + 9
    worst = [max(float(line.split()[6]), float(line.split()[8])) for line in lines[2:]]
    assert worst == sorted(worst, reverse=True)
    assert "2 more costs in to_frame" in repr(sensitivity(Given("abcd"), *drawn(1, K=4)))


@pytest.mark.parametrize(
    ("model", "rows", "cost", "at_most", "error", "message"),
    [
        (LinearSVC(), [[1, 0]], None, 0.0, TypeError, "must have predict_proba, got LinearSVC"),
        (Given("ab"), np.ones((2, 2)), None, 0.0, ValueError, "cost must be given"),
        (Given("ab", cost_=None), np.ones((2, 2)), None, 0.0, ValueError, "must be given"),
        (Given("ab"), np.ones((0, 2)), uniform(["a", "b"]), 0.0, ValueError, "one row or more"),
        (Given("ab"), np.full((2, 2), np.nan), [[0, 1], [1, 0]], 0.0, ValueError, "finite"),
        (Given("ab"), np.ones((5, 2)), np.ones((5, 2)), 0.0, ValueError, "one matrix for all rows"),
        (Given("ab"), np.ones((5, 2)), np.ones((5, 2, 2)), 0.0, ValueError, "one table for all rows"),
        (Given("ab"), np.ones((5, 2)), [[0, 1], [1, 0]], 1.0, ValueError, "at_most must be a share"),
        (
            Given("ab"),
            np.ones((5, 2)),
            {"a": {"b": 1, "c": 1}, "c": {"b": 1, "a": 1}},
            0.0,
            ValueError,
            "row for every class",
        ),
    ],
)
def test_refusals(model, rows, cost, at_most, error, message):
    with pytest.raises(error, match=message):
        sensitivity(model, rows, cost, at_most=at_most)


def test_other_classifiers_and_time():
    X, y = load_wine(return_X_y=True)
    model = LogisticRegression(max_iter=5000).fit(X, y)
    assert sensitivity(model, X, [[0, 1, 1], [1, 0, 1], [9, 9, 0]]).low.shape == (3, 3)
    p, cost = drawn(0, n=100_000, K=10, D=10)
    start = time.process_time()
    of_probabilities(p, cost)
    assert time.process_time() - start < 4.0  # 0.4 s where nothing else runs
