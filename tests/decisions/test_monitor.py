"""Money in production: intervals of costs simulated, drift and promises at their levels, and what is not known."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from minrisk import MinRiskClassifier
from minrisk.costs import with_reject
from minrisk.decisions.guarantee import guarantee
from minrisk.decisions.monitor import MOSTLY_MISSING, monitor

COST = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
LABELS = ("a", "b", "c")


class Gaussian:
    """Classes that are normal, and their exact probabilities to the power of `temperature`."""

    def __init__(self, shares=(0.5, 0.3, 0.2), m=800, seed=0, temperature=1.0, apart=1.6, weight=None):
        self.random = np.random.default_rng(seed)
        self.classes_, self.shares = np.array(LABELS), np.asarray(shares)
        self.centres, self.temperature = apart * np.eye(3), temperature
        X, y = self.rows(m, shares)
        p, w = self.predict_proba(X), np.ones(m) if weight is None else np.asarray(weight)[y]
        self.left_out_ = SimpleNamespace(probabilities=p, labels=y, folds=np.zeros(m, int), weight=w, told=p)
        self.trained_priors_, self.cost_ = self.shares, COST

    def rows(self, n, shares):
        y = self.random.choice(3, n, p=shares)
        return self.centres[y] + self.random.normal(size=(n, 3)), y

    def predict_proba(self, X):
        scores = self.temperature * (X @ self.centres.T - 0.5 * (self.centres**2).sum(axis=1) + np.log(self.shares))
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def _told(self, X):
        return self.predict_proba(X)


def labels(y):
    return np.array(LABELS)[y]


# -- before labels come ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shares", [(0.5, 0.3, 0.2), (0.15, 0.25, 0.6)])
@pytest.mark.parametrize("temperature", [1.0, 1.5])
def test_intervals_hold_what_decisions_cost(shares, temperature):
    held = known = 0
    for seed in range(60):
        model = Gaussian(seed=seed, temperature=temperature, m=600)
        X, y = model.rows(300, shares)
        found = monitor(model, X)
        true = COST[y, (model.predict_proba(X) @ COST).argmin(axis=1)].mean()
        known += found.cost is not None
        held += found.cost is not None and found.cost.low <= true <= found.cost.high
    assert known >= 50 and held >= 0.85 * known


def test_left_out_rows_correct_half_of_what_probabilities_miss():
    model = Gaussian(m=5000, temperature=2.5)
    X, y = model.rows(5000, model.shares)
    p = model.predict_proba(X)
    plain, true = (p @ COST).min(axis=1).mean(), COST[y, (p @ COST).argmin(axis=1)].mean()
    found = monitor(model, X).cost
    assert abs(found.mean - true) < 0.6 * abs(plain - true) and found.low < true < found.high


def test_costs_that_do_not_depend_on_the_class_are_known_exactly():
    model = Gaussian()
    X, _ = model.rows(200, model.shares)
    found = monitor(model, X, cost={label: {"wait": 2, "go": 2} for label in LABELS}).cost
    np.testing.assert_allclose(found, 2.0, rtol=1e-12)


def test_weights_count_in_means():
    model = Gaussian()
    X, y = model.rows(400, model.shares)
    weight = model.random.integers(1, 4, 400)
    found = monitor(model, X, labels(y), sample_weight=weight)
    own = COST[y, (model.predict_proba(X) @ COST).argmin(axis=1)]
    assert found.realised.mean == pytest.approx(np.average(own, weights=weight))
    assert found.promises[0].mean == pytest.approx(found.realised.mean)
    same = monitor(model, X, labels(y), sample_weight=np.full(400, 3.0))
    assert same.to_dict() == monitor(model, X, labels(y)).to_dict()


def test_order_of_rows_does_not_matter():
    model = Gaussian()
    X, _ = model.rows(300, model.shares)
    one, other = monitor(model, X), monitor(model, X[::-1])
    np.testing.assert_allclose(one.cost, other.cost, rtol=1e-9)
    assert one.drift == pytest.approx(other.drift) and one.decisions == other.decisions


def test_what_is_not_known():
    model = Gaussian()
    X, y = model.rows(500, model.shares)
    moved = monitor(model, 3.0 * X)
    assert moved.cost is None and "other class shares alone do not explain these rows" in moved.reason and moved.alarm
    assert "Expected mean cost: not known, since other class shares" in str(moved)
    model.left_out_ = None
    alone = monitor(model, X, labels(y), promised=0.01)
    assert (
        alone.cost is None and alone.drift is None and alone.reason == "the model keeps no rows that its fit left out"
    )
    assert alone.realised.mean > 0.1 and alone.alarm and alone.decisions[0].left_out is None
    del model.trained_priors_
    assert monitor(model, X).shares is None and monitor(model, X).promises == ()


def test_a_class_without_left_out_rows():
    model = Gaussian((0.6, 0.397, 0.003), m=100, seed=3)
    assert not (model.left_out_.labels == 2).any()
    X, _ = model.rows(400, (0.3, 0.2, 0.5))
    found = monitor(model, X)
    assert found.cost is None and ("'c'" in found.reason or "do not explain" in found.reason)


# -- drift -------------------------------------------------------------------------------------------------------------
def test_drift_keeps_its_level_and_sees_changes():
    calm, moved, shares = [], [], []
    for seed in range(100):
        model = Gaussian(seed=seed, m=500)
        X, _ = model.rows(300, model.shares)
        calm.append(monitor(model, X).drift)
        if seed < 20:
            moved.append(monitor(model, X + np.eye(3)[0]).drift)
            shares.append(monitor(model, model.rows(300, (0.2, 0.2, 0.6))[0]).drift)
    assert np.mean(np.array(calm) < 0.05) <= 0.1 and np.mean(np.array(calm) < 0.5) > 0.3
    assert np.mean(np.array(moved) < 0.01) > 0.9 and np.mean(np.array(shares) < 0.01) > 0.9


def test_weights_of_classes_are_no_drift():
    drawn = [Gaussian(seed=seed, weight=(1.0, 3.0, 9.0)) for seed in range(20)]
    assert sum(monitor(model, model.rows(400, model.shares)[0]).drift < 0.01 for model in drawn) <= 1


def test_few_rows_are_no_drift():
    model = Gaussian()
    assert monitor(model, model.rows(1, model.shares)[0]).drift is None


# -- labels ------------------------------------------------------------------------------------------------------------
def test_labels_as_they_come():
    model = Gaussian()
    X, y = model.rows(300, model.shares)
    known = labels(y).astype(object)
    known[100:] = None
    some, few = monitor(model, X, known), monitor(model, X[:100], known[:100])
    assert some.labelled == 100 and some.realised == few.realised and some.promises == few.promises
    assert monitor(model, X, np.full(300, None)).realised is None
    for other in (
        known.tolist(),
        pd.Series(known, dtype="string"),
        [math.nan if one is None else one for one in known],
    ):
        assert monitor(model, X, other).realised == some.realised


def test_a_promise_is_tested_over_months():
    model, found, alarms = Gaussian(), None, []
    for month in range(6):
        X, y = model.rows(100, model.shares if month < 2 else (0.1, 0.1, 0.8))
        y = y if month < 2 else 2 - y  # what was right costs most
        found = monitor(model, X, labels(y), since=found)
        alarms.append(any("refuted" in reason for reason in found.reasons))
    assert found.promises[0].n == 600 and not any(alarms[:2]) and alarms[-1]
    with pytest.raises(ValueError, match="since must have tested the same promises"):
        monitor(model, X, since=found, promised=0.3)


def test_promises_that_are_kept_ring_seldom():
    rung = 0
    for seed in range(40):
        model, found = Gaussian(seed=seed, m=400), None
        for _ in range(4):
            X, y = model.rows(100, model.shares)
            found = monitor(model, X, labels(y), since=found)
            if any("refuted" in reason for reason in found.reasons):
                rung += 1
                break
    assert rung <= 4


def test_an_expected_cost_above_the_promise_is_an_alarm():
    model = Gaussian()
    found = monitor(model, model.rows(500, model.shares)[0], promised=0.01)
    assert found.reasons[0].endswith("above the promise of 0.01.") and found.promises[0].n == 0


@pytest.mark.parametrize("of", ["all", "decided"])
def test_a_guarantee_is_a_promise(of):
    model = Gaussian(m=2000)
    X, y = model.rows(2000, model.shares)
    table = with_reject(COST, 0.0)
    kept = guarantee(model, X, labels(y), at_most=0.3, cost=table, of=of, by_class={"c": 0.4})
    X, y = model.rows(1000, model.shares)
    found = monitor(model, X, labels(y), promised=kept)
    assert not found.alarm and [one.label for one in found.promises] == [None, "c"]
    decided = (model.predict_proba(X) @ kept.cost.values).argmin(axis=1)
    counted = np.column_stack([COST, np.zeros(3)])[y, decided]
    rows = decided < 3 if of == "decided" else np.full(1000, True)
    assert found.promises[0].mean == pytest.approx(counted[rows].mean()) and found.promises[0].n == rows.sum()
    assert found.referred == pytest.approx(np.mean(decided == 3))
    wrong = monitor(model, X, labels((y + 1) % 3), promised=kept)
    assert wrong.alarm and "refuted" in wrong.reasons[0]


def test_a_guarantee_by_candidates_is_judged_by_costs():
    model = Gaussian(m=2000)
    X, y = model.rows(2000, model.shares)
    table = with_reject(COST, 0.7)
    kept = guarantee(model, X, labels(y), at_most=0.5, cost=table, candidates=[with_reject(COST, 0.1), table])
    found = monitor(model, X, labels(y), promised=kept, cost=table)
    decided = (model.predict_proba(X) @ kept.cost.values).argmin(axis=1)
    assert found.realised.mean == pytest.approx(table.values[y, decided].mean())


# -- of a model --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def fitted():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 900)
    town = np.array(["north", "south", "west"])[(y + random.integers(0, 2, 900)) % 3]
    frame = pd.DataFrame({"a": random.normal(size=900) + y, "b": random.normal(size=900) - y, "town": town})
    model = MinRiskClassifier(with_reject(COST, 0.6), n_estimators=15, random_state=0)
    return model.fit(frame[:500], labels(y[:500])), frame[500:], y[500:]


def test_of_our_model(fitted):
    model, frame, y = fitted
    found = monitor(model, frame, labels(y))
    assert not found.alarm and found.columns == () and found.shares.known and found.drift > 0.01
    assert found.cost.low <= found.realised.mean <= found.cost.high
    decided = model.predict(frame)
    for one in found.decisions:
        assert one.share == pytest.approx(np.mean(decided == one.label))
    assert found.referred == pytest.approx(np.mean(~np.isin(decided, LABELS)))
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["cost"]["mean"] == found.cost.mean and told["alarm"] is False
    assert str(found).startswith("Monitoring of 400 rows: no alarm\nExpected mean cost: ") and repr(found) == str(found)


@pytest.mark.filterwarnings("ignore:X holds categories")
def test_columns_that_the_model_knows_nothing_of(fitted):
    model, frame, _ = fitted
    odd = frame.copy()
    odd.iloc[:7, 2] = "east"
    odd.iloc[: int(MOSTLY_MISSING * 400) + 1, 0] = np.nan
    found = monitor(model, odd)
    assert found.columns == (("town", "unseen", 7, "east"), ("a", "missing", 201, None))
    assert "Column 'town' has categories that fit has not seen ('east') in 7 rows" in str(found)


def test_a_model_of_another_package(fitted):
    _, frame, y = fitted
    X = frame[["a", "b"]].to_numpy()
    found = monitor(LogisticRegression().fit(X, y), X, y, cost=COST, promised=0.001)
    assert found.cost is None and found.alarm and found.shares is None
    assert math.isnan(monitor(LogisticRegression().fit(X, y), X, cost=COST, promised=1.0).promises[0].mean)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"confidence": 1.0}, "confidence must be between 0 and 1, got 1.0"),
        ({"promised": 0.0}, "promised must be a finite number above 0, or a Guarantee, got 0.0"),
        ({"y": ["a"]}, "y must hold a label for each of the 5 rows"),
        ({"y": ["a", "b", "c", "d", None]}, "y must hold classes that the model knows"),
        ({"cost": np.zeros((5, 3, 3))}, "cost must be one table for all rows"),
        ({"sample_weight": [1.0, 2.0]}, "sample_weight"),
    ],
)
def test_what_it_refuses(told, said):
    model = Gaussian()
    X, _ = model.rows(5, model.shares)
    with pytest.raises(ValueError, match=said):
        monitor(model, X, told.pop("y", None), **told)
    with pytest.raises(ValueError, match="X must have a row or more, got none"):
        monitor(model, X[:0])
    with pytest.raises(TypeError, match="predict_proba and classes_, got list"):
        monitor([], X)
