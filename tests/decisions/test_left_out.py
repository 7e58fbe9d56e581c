"""Rows that a fit left out: they are kept, in files too, and first rounds say of new rows what they said of these."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import minrisk
from minrisk import MinRiskClassifier, decide
from minrisk.ensemble import defaults
from tests.helpers.common import few_are_many


def made(n=600, K=3, seed=0):
    """Classes that overlap, the later ones rarer."""
    random = np.random.default_rng(seed)
    y = random.choice(K, n, p=np.arange(K, 0, -1) / (K * (K + 1) / 2))
    return random.normal(size=(n, 4)) + 1.5 * np.eye(K, 4)[y], y


def fitted(X, y, **options):
    return MinRiskClassifier(n_estimators=20, random_state=0, **options).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return fitted(*made())


def test_left_out_rows_are_those_of_the_fit(model):
    rows, (_, y) = model.left_out_, made()
    assert np.bincount(rows.labels).tolist() == np.bincount(y).tolist()
    np.testing.assert_allclose(rows.probabilities.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(rows.told.sum(axis=1), 1.0, atol=1e-6)
    assert rows.probabilities.dtype == rows.told.dtype == np.float32 and set(rows.folds) == {0, 1, 2, 3}
    np.testing.assert_allclose(model.trained_priors_, np.bincount(y) / len(y))
    picked = np.log(rows.probabilities[np.arange(len(y)), rows.labels])
    assert -picked.mean() < -np.log(model.trained_priors_) @ model.trained_priors_  # it has learnt something
    assert -picked.mean() == pytest.approx(model.selection_[0]["risk"], abs=1.0)


def test_first_rounds_say_of_a_row_what_the_member_said_that_left_it_out():
    """Rows of a splitter's folds are known, and so is each row's own member."""
    X, y = made(400)
    folds = [(np.flatnonzero(np.arange(400) % 4 != f), np.flatnonzero(np.arange(400) % 4 == f)) for f in range(4)]
    model = fitted(X, y, cv=folds)
    rows, first = model.left_out_, model._first_rounds
    assert first.n_folds == 4 and np.diff(first.bounds).max() <= defaults.KEPT_ROUNDS
    for fold in range(4):
        told = minrisk.model.links.probabilities(first.link, first.member(fold, 4).scores(X[folds[fold][1]]))
        own = rows.told[rows.folds == fold]
        np.testing.assert_allclose(np.sort(told[:, 0]), np.sort(own[:, 0]), atol=1e-6)


def test_told_of_new_rows_are_spread_as_those_of_left_out_ones():
    """The average of all members is surer; told probabilities are not."""
    X, y = made(4000)
    model = fitted(X, y)
    new = made(4000, seed=1)[0]
    of_left_out = [np.sort(part.max(axis=1)).mean() for part in (model.left_out_.told, model._told(new))]
    assert of_left_out[0] == pytest.approx(of_left_out[1], abs=0.01)


def test_weights_and_class_weights_are_in_the_shares():
    X, y = made()
    weight = np.where(y == 2, 3.0, 1.0)
    counts = np.bincount(y, weight)
    np.testing.assert_allclose(fitted(X, y, class_weight={0: 1, 1: 1, 2: 3}).trained_priors_, counts / counts.sum())
    model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.trained_priors_, counts / counts.sum())
    assert set(np.round(model.left_out_.weight / model.left_out_.weight.min(), 9)) == {1.0, 3.0}


@pytest.mark.parametrize("options", [{"cv": 1}, {"surrogate": "gll"}, {"keep_left_out": False}])
def test_nothing_is_kept(options, tmp_path):
    X, y = made(200)
    model = fitted(X, y, **options)
    assert model.left_out_ is None and model._told(X) is None
    assert hasattr(model, "trained_priors_") == (options != {"surrogate": "gll"})
    minrisk.save(model, tmp_path / "model")
    assert minrisk.load(tmp_path / "model").left_out_ is None


def test_few_rows_of_many_are_kept(monkeypatch):
    monkeypatch.setattr(defaults, "KEPT_ROWS", 100)
    model = fitted(*made(1000))
    assert 90 <= len(model.left_out_.labels) <= 100


def test_files_keep_them(model, tmp_path):
    minrisk.save(model, tmp_path / "model")
    known, X = minrisk.load(tmp_path / "model"), made(seed=2)[0]
    for own, other in zip(model.left_out_, known.left_out_, strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(model._told(X), known._told(X))
    np.testing.assert_array_equal(model.trained_priors_, known.trained_priors_)
    estimates = [minrisk.estimate_priors(each, X).shares for each in (model, known)]
    np.testing.assert_array_equal(*estimates)


def test_large_fits_keep_them_as_well(monkeypatch):
    """Members that rest have no scores of their rows, which their trees bring back."""
    few_are_many(monkeypatch, 10)
    X, y = made()
    model = fitted(X, y)
    rows, told = model.left_out_, model._told(X)
    assert np.bincount(rows.labels).tolist() == np.bincount(y).tolist()
    right = [np.mean(part.argmax(axis=1) == truth) for part, truth in ((rows.told, rows.labels), (told, y))]
    assert 0.5 < right[0] < right[1] + 0.02  # three of four new rows here are training rows of their member


def test_new_rows_of_a_refreshed_model_have_their_own_shares(model):
    X, y = made(300, seed=3)
    refreshed = fitted(*made()).refit_leaves(X, y)
    np.testing.assert_allclose(refreshed.trained_priors_, np.bincount(y) / len(y))
    assert refreshed.left_out_ is None


# -- what estimators do with it ----------------------------------------------------------------------------------------
COST = [[0, 1, 4, 0.6], [2, 0, 1, 0.6], [9, 3, 0, 0.6]]


def test_predict_is_decide(model):
    X = made(seed=4)[0]
    p = model.predict_proba(X)
    for priors in (None, model.trained_priors_, [0.2, 0.2, 0.6], {0: 0.0, 1: 0.5, 2: 0.5}):
        for limits in (None, {-1: 30}, {-1: 0.0, 0: (50, 0.5)}, {2: 1.0}):
            found = decide(
                p, COST, classes=model.classes_, priors=priors, trained_priors=model.trained_priors_, limits=limits
            )
            np.testing.assert_array_equal(model.predict(X, COST, priors=priors, limits=limits), found.labels)
    np.testing.assert_array_equal(model.predict(X, priors=model.trained_priors_), model.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X, priors=model.trained_priors_), p)
    np.testing.assert_array_equal(model.predict(X, COST, limits={-1: 1.0}), model.predict(X, COST))
    assert np.sum(model.predict(X, COST, limits={-1: 7}) == -1) == 7
    np.testing.assert_array_equal(model.predict(X, COST, limits={"refer": 7}), model.predict(X, COST, limits={-1: 7}))


def test_costs_of_each_row_lie_far_from_zero(model):
    """What all decisions cost alike changes none, however large it is."""
    X = made(seed=7)[0]
    table = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
    of_rows = table + 2.0**40 * np.arange(1, len(X) + 1)[:, None, None]
    for priors in (None, [0.2, 0.2, 0.6]):
        np.testing.assert_array_equal(model.predict(X, of_rows, priors=priors), model.predict(X, table, priors=priors))


def test_shares_that_are_found_by_the_rows(model):
    """Rows of other shares: decisions by found shares cost less than those by trained ones."""
    X, y = made(6000, seed=5)
    rows = np.flatnonzero((y == 2) | (np.arange(len(y)) % 8 == 0))
    found = minrisk.estimate_priors(model, X[rows])
    true = np.bincount(y[rows]) / len(rows)
    assert found.known and np.abs(found.shares - true).max() < 0.06
    plain, told = (np.mean(model.predict(X[rows], priors=priors) != y[rows]) for priors in (None, "estimate"))
    assert told < plain - 0.05
    np.testing.assert_array_equal(
        model.predict_proba(X[rows], priors="estimate"), model.predict_proba(X[rows], priors=found.shares)
    )


def test_shares_that_do_not_explain_the_rows_are_said(model):
    X = made(1000, seed=6)[0]
    with pytest.warns(UserWarning, match="shares of the classes are not known"):
        decided = model.predict(0.3 * X, priors="estimate")
    np.testing.assert_array_equal(decided, model.predict(0.3 * X))


def test_limits_of_costs_that_were_learnt_by_row():
    X, y = made(400)
    amount = np.random.default_rng(0).uniform(1.0, 9.0, len(y))
    costs = (1.0 - np.eye(3))[y] * amount[:, None]
    model = MinRiskClassifier(n_estimators=10, random_state=0).fit(X, y, cost=costs)
    decided = model.predict(X, limits={0: 50})
    assert np.sum(decided == 0) == 50 < np.sum(model.predict(X) == 0)
    np.testing.assert_array_equal(model.predict(X, limits={0: 400}), model.predict(X))
    assert np.mean(model.predict(X, priors=[0.05, 0.05, 0.9]) == 2) > np.mean(model.predict(X) == 2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"priors": "guess"}, "priors must be 'estimate'"),
        ({"priors": [0.5, 0.5]}, r"numbers of shape \(3,\)"),
        ({"priors": {0: 0.5, 1: 0.5}}, "name every class"),
        ({"limits": {"nobody": 3}}, "nobody"),
        ({"limits": {0: 1, 1: 1, 2: 1}}, "3"),
    ],
)
def test_what_does_not_fit_is_refused(model, options, told):
    with pytest.raises(ValueError, match=told):
        model.predict(made(50)[0], **options)


def test_models_without_probabilities_refuse_shares_and_limits():
    X, y = load_iris(return_X_y=True)
    model = MinRiskClassifier(surrogate="gll", n_estimators=5, random_state=0).fit(X, y)
    for options in ({"priors": [0.2, 0.3, 0.5]}, {"limits": {0: 10}}):
        with pytest.raises(ValueError, match="was trained on its costs"):
            model.predict(X, **options)
