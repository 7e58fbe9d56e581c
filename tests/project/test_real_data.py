"""REBEL on real data sets with their own costs: sizes, labels and quality that small made data cannot show."""

import numpy as np
import pandas as pd
import pytest

from minrisk import REBELClassifier, metrics


def read(folder, name):
    frame = pd.read_csv(folder / f"{name}.csv.gz")
    train = frame.pop("split") == "train" if "split" in frame else np.arange(len(frame)) % 2 == 0
    y = frame.pop("target").to_numpy()
    return frame, y, np.asarray(train)


def test_letter_learns_at_the_expected_pace(data_folder):
    X, y, train = read(data_folder, "letter")
    model = REBELClassifier(n_estimators=60, n_jobs=2).fit(X[train], y[train])
    errors = [np.mean(d != y[~train]) for d in model.staged_predict(X[~train])]
    assert errors[59] < 0.22 and errors[59] < errors[29] < errors[9]


def test_published_costs_of_german_credit(data_folder):
    X, y, train = read(data_folder, "german")
    X = X.select_dtypes("number")
    costs = data_folder / "german.cost.csv"
    blind = REBELClassifier(n_estimators=50, max_depth=2).fit(X[train], y[train])
    aware = REBELClassifier(costs, n_estimators=50, max_depth=2).fit(X[train], y[train])
    paid = [metrics.expected_cost(y[~train], m.predict(X[~train]), costs) for m in (blind, aware)]
    assert paid[1] < paid[0]
    assert aware.cost_.decisions == (1, 2)


@pytest.mark.parametrize("name", ["glass", "vehicle", "ecoli", "segment", "wine"])
def test_raw_values_decide_as_bins_did(data_folder, name):
    X, y, train = read(data_folder, name)
    model = REBELClassifier(n_estimators=20).fit(X[train], y[train])
    assert model.train_risk_[-1] == pytest.approx(np.mean(model.predict(X[train]) != y[train]))
    assert model.score(X[~train], y[~train]) > 0.5


def test_missing_values_of_a_real_table(data_folder):
    X, y, train = read(data_folder, "segment")
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = REBELClassifier(n_estimators=30).fit(holes[train], y[train])
    assert model.score(holes[~train], y[~train]) > 0.85
