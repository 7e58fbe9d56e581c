"""What users with unequal costs hold: rare events, weak signals, weights and sharp rules; nothing is lost, nothing jumps."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.rare_families import payments
from minrisk import MinRiskClassifier
from minrisk.ensemble import defaults
from tests.helpers.common import slow_after


def rare(seed, n, slope, level, d=20, told=6, tests=8000):
    """Rows whose log-odds are linear in some features, to learn from and to test on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + tests, d))
    y = (rng.random(n + tests) < 1.0 / (1.0 + np.exp(-(slope * X[:, :told].sum(axis=1) + level)))).astype(int)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
def test_rare_events_are_learnt_as_well_as_by_logistic_regression(seed):
    X, y, X_test, y_test = rare(seed, 8000, 0.45, -5.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MinRiskClassifier(random_state=0).fit(X, y)
    p, peer = model.predict_proba(X_test)[:, 1], LogisticRegression().fit(X, y).predict_proba(X_test)[:, 1]
    assert model.n_iter_ > 0
    assert roc_auc_score(y_test, p) > roc_auc_score(y_test, peer) - 0.03
    assert log_loss(y_test, p) < 1.03 * log_loss(y_test, peer)


def test_what_is_rare_keeps_its_share():
    X, y, X_test, y_test = rare(5, 4000, 0.6, -4.5)
    p = MinRiskClassifier(random_state=0).fit(X, y).predict_proba(X_test)[:, 1]
    assert 0.75 * y_test.mean() < p.mean() < 1.33 * y_test.mean()


def test_a_weak_signal_is_no_constant():
    X, y, X_test, y_test = rare(1, 10_000, 0.06, 0.0, told=20)
    model = MinRiskClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ > 0
    assert roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.54


def test_a_rare_class_of_real_data(data_folder):
    frame = pd.read_csv(data_folder / "page_blocks.csv.gz").drop(columns="split", errors="ignore")
    rare_class = (frame.pop("target").astype(str) == "4").to_numpy(dtype=int)
    X, y = frame.to_numpy(dtype=float), rare_class
    rows = np.random.default_rng(0).permutation(len(y))
    learnt, tested = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    model = MinRiskClassifier(random_state=0).fit(X[learnt], rare_class[learnt])
    assert roc_auc_score(rare_class[tested], model.predict_proba(X[tested])[:, 1]) > 0.98


def test_rare_events_that_are_a_hundred_times_as_dear():
    """The decisions cost less than the best constant one, and no more than those by logistic regression."""
    X, y, X_test, y_test = rare(0, 8000, 0.45, -5.3, tests=16_000)
    paid = {}
    for name, fit in (("ours", MinRiskClassifier([[0, 1], [100, 0]], random_state=0)), ("peer", LogisticRegression())):
        p = fit.fit(X, y).predict_proba(X_test)[:, 1]
        decided = fit.predict(X_test) if name == "ours" else 100 * p > 1 - p
        paid[name] = np.where(y_test == 1, 100 * (decided == 0), decided == 1).mean()
    assert paid["ours"] < min(1.05 * paid["peer"], 0.9 * min(100 * y_test.mean(), 1 - y_test.mean()))


@pytest.mark.parametrize("random_state", [0, 5, 11])
def test_frauds_among_payments_are_found(random_state):
    """Each fraud costs its amount, which is known when a decision is made; no random state learns nothing."""
    frame, y, paid = payments(np.random.default_rng(3), 2000)
    learnt, tested = slice(2000), slice(2000, None)
    cost = pd.DataFrame(paid[np.arange(len(y)), y], columns=["honest", "fraud"])
    words = np.array(["honest", "fraud"])[y]
    model = MinRiskClassifier(random_state=random_state).fit(frame[learnt], words[learnt], cost=cost[learnt])
    assert model.n_iter_ > 0
    full = paid[tested][:, ::-1, ::-1]  # classes in their order: fraud, honest
    fraud = model.predict(frame[tested], cost=full) == "fraud"
    of_rows = cost[tested].to_numpy()
    assert of_rows[np.arange(len(of_rows)), fraud.astype(int)].mean() < 0.95 * of_rows.mean(axis=0).min()


@pytest.mark.parametrize("seed", range(2))
def test_one_sharp_rule_on_few_rows(seed):
    rng = np.random.default_rng([seed, 77])
    X = rng.normal(size=(10_300, 10))
    y = (X[:, 3] > 0.313).astype(int)
    model = MinRiskClassifier(random_state=0).fit(X[:300], y[:300])
    assert np.mean(model.predict(X[300:]) != y[300:]) < 0.006


@pytest.mark.parametrize("weight", [7, 100, 250])
def test_a_whole_weight_is_like_any_other(weight):
    X, y, X_test, _ = rare(2, 1500, 0.9, -5.0, d=5, told=5, tests=500)
    fits = [MinRiskClassifier(class_weight={1: w}, random_state=0).fit(X, y) for w in (weight, weight * (1 + 1e-6))]
    assert fits[0].n_iter_ > 0
    np.testing.assert_allclose(*(fit.predict_proba(X_test) for fit in fits), atol=1e-3)


# -- formulas ------------------------------------------------------------------------------------------------------------
def test_settings_have_no_cliff():
    rows = np.geomspace(50, 2e6, 4000)
    for of in (lambda n: defaults.smoothing(n, 30), defaults.last_share, defaults.learning_rate):
        values = np.array([of(n) for n in rows])
        assert np.max(np.abs(np.diff(np.log(values)))) < 0.02
    for whole in (lambda n: defaults.n_leaves(n, 3, 30), lambda n: defaults.n_bins("quantile", None, n, 30)[0]):
        values = np.array([whole(n) for n in rows])
        assert np.max(np.abs(np.diff(values)) - 0.02 * values[:-1]) <= 1.0
