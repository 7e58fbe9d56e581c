"""A model that new rows refresh: the trees stay, and what leaves say, the frequencies and the leads follow the rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import log_loss

import minrisk
from minrisk import MinRiskClassifier, REBELClassifier
from minrisk.metrics import expected_cost

COST = [[0, 1, 4], [2, 0, 1], [9, 3, 0]]


def drifting(n, drift, seed, d=6):
    """Classes whose frequencies and places move."""
    rng = np.random.default_rng(seed)
    places = np.random.default_rng(1).normal(size=(2, 3, d))
    y = rng.choice(3, n, p=(1.0 - drift) * np.array([0.6, 0.3, 0.1]) + drift * np.array([0.1, 0.3, 0.6]))
    X = rng.normal(size=(n, d)) + ((1.0 - 0.5 * drift) * places[0] + 0.5 * drift * places[1])[y]
    X[:, 1] *= X[:, 2]
    return X, y


@pytest.fixture(scope="module")
def before():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minrisk.ensemble.defaults.FINISHED_EXCESS", -1.0)  # all rounds are kept: there are stages
        return MinRiskClassifier(COST, random_state=0, n_estimators=40).fit(*drifting(900, 0.0, 1))


def refreshed(model, *rows, **given):
    copy = pickle.loads(pickle.dumps(model))
    assert copy.refit_leaves(*rows, **given) is copy
    return copy


@pytest.mark.parametrize("n", [40, 200, 1500])
def test_new_rows_make_a_better_model_than_the_old_one_and_the_trees_stay(before, n, tmp_path):
    X, y = drifting(3000, 1.0, 3)
    model = refreshed(before, *drifting(n, 1.0, 2))
    old, new = (log_loss(y, one.predict_proba(X)) for one in (before, model))
    assert new < 0.75 * old
    assert expected_cost(y, model.predict(X), COST) < expected_cost(y, before.predict(X), COST)
    for name in ("feature", "threshold", "left", "vector", "gain"):
        np.testing.assert_array_equal(getattr(model.model_.packed, name), getattr(before.model_.packed, name))
    minrisk.save(model, tmp_path / "m")
    np.testing.assert_array_equal(minrisk.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))
    assert model.n_iter_ == before.n_iter_ and len(list(model.staged_predict(X[:9]))) == model.n_iter_


def test_rows_without_a_drift_leave_what_is_good(before):
    X, y = drifting(3000, 0.0, 5)
    old, new = (log_loss(y, one.predict_proba(X)) for one in (before, refreshed(before, *drifting(60, 0.0, 6))))
    assert new < 1.05 * old


def test_early_decisions_are_of_the_new_rows(before):
    (X, y), costs = drifting(3000, 1.0, 3), before.cost_
    model = refreshed(before, *drifting(1500, 1.0, 2))
    assert not np.array_equal(model.model_.cascade.leads, before.model_.cascade.leads)
    whole, early = (expected_cost(y, model.predict(X, max_excess=share), costs) for share in (0.0, 0.1))
    assert early < 1.15 * whole
    assert np.all(model.model_.cascade.ending[:-1] >= model.model_.cascade.ending[1:] - 0.02)
    smaller = minrisk.compact(model, max_excess=0.3)
    assert smaller.n_iter_ < model.n_iter_ and expected_cost(y, smaller.predict(X), costs) < 1.4 * whole


def test_rows_in_other_orders_and_forms_are_one_refresh(before):
    X, y = drifting(300, 1.0, 2)
    whole = refreshed(before, X, y).predict_proba(X)
    for other in (csr_matrix(X), pd.DataFrame(X), X.tolist()):
        np.testing.assert_array_equal(refreshed(before, other, y).predict_proba(X), whole)
    np.testing.assert_array_equal(
        refreshed(before, np.r_[X, X], np.r_[y, y], sample_weight=np.repeat([3.0, 0.0], 300)).predict_proba(X), whole
    )


def test_costs_may_be_others(before):
    X, y = drifting(300, 1.0, 2)
    other = [[0, 1, 1, 0.1], [1, 0, 1, 0.1], [1, 1, 0, 0.1]]
    model = refreshed(before, X, y, cost=other)
    assert len(model.decisions_) == 4 and set(np.unique(model.predict(X))) <= set(model.decisions_)
    np.testing.assert_array_equal(model.predict_proba(X), refreshed(before, X, y).predict_proba(X))


@pytest.mark.parametrize(
    "make",
    [
        lambda: MinRiskClassifier(random_state=0, n_estimators=5, cv=1),
        lambda: MinRiskClassifier(random_state=0, n_estimators=5, pool=False, class_weight="balanced"),
        lambda: minrisk.compact(MinRiskClassifier(random_state=0, n_estimators=20).fit(*drifting(400, 0, 1)), 0.3),
    ],
)
def test_models_of_all_kinds(make):
    model = make()
    if not hasattr(model, "model_"):
        model.fit(*drifting(200, 0.0, 1))
    X, y = drifting(500, 1.0, 3)
    assert log_loss(y, refreshed(model, *drifting(300, 1.0, 2)).predict_proba(X)) < log_loss(y, model.predict_proba(X))


def test_noise_few_rows_and_missing_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    with pytest.warns(UserWarning, match="has learnt nothing"):
        model = MinRiskClassifier(random_state=0).fit(X, y)
    for rows in (2, 3, 50):
        p = refreshed(model, X[:rows], np.minimum(y[:rows], 1)).predict_proba(X)
        assert np.isfinite(p).all() and np.all(p > 0.0)
    p = refreshed(model, X, np.zeros(200, dtype=int)).predict_proba(X)
    assert p[:, 0].min() > 0.94


def test_categories_keep_what_they_said():
    rng = np.random.default_rng(0)
    X, y = drifting(400, 0.0, 1)
    table = pd.DataFrame(X, columns=list("abcdef")).assign(g=rng.choice(["u", "v"], 400))
    model = MinRiskClassifier(random_state=0, n_estimators=5).fit(table, y)
    assert np.isfinite(refreshed(model, table[::-1], y[::-1]).predict_proba(table)).all()


def test_what_cannot_be_refreshed_says_so(before):
    X, y = drifting(60, 1.0, 2)
    for wrong, message in (
        ({"y": y + 5}, "y must hold classes of the fit, got 5, 6, 7: fit again"),
        ({"X": X[:, :2]}, "features"),
        ({"X": X[:1], "y": y[:1]}, "needs two rows at least, got 1"),
        ({"y": y[:9]}, "inconsistent"),
        ({"cost": np.ones((60, 3))}, "takes costs that all rows share"),
        ({"sample_weight": np.zeros(60)}, "got only zeros"),
    ):
        with pytest.raises(ValueError, match=message):
            refreshed(before, **{"X": X, "y": y, **wrong})
    with pytest.raises(ValueError, match="is for surrogate='softmax', got 'coupled': fit again"):
        MinRiskClassifier(surrogate="coupled", n_estimators=3, random_state=0).fit(X, y).refit_leaves(X, y)
    assert not hasattr(REBELClassifier(), "refit_leaves")


def test_copies_of_new_rows_are_weights(before, tmp_path):
    """Rows that are left out would judge nothing else."""
    X, y = drifting(200, 1.0, 2)
    boot = np.random.default_rng(0).integers(0, len(y), 4 * len(y))
    counts = np.bincount(boot, minlength=len(y))
    for rows, (first, weight) in {
        tuple(np.tile(np.arange(len(y)), 5)): (np.arange(len(y)), None),
        tuple(np.sort(boot)): (np.flatnonzero(counts), counts[counts > 0]),
    }.items():
        copied, weighted = (
            refreshed(before, X[list(rows)], y[list(rows)]),
            refreshed(before, X[first], y[first], weight),
        )
        for name, model in (("a", copied), ("b", weighted)):
            minrisk.save(model, tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_chunks_are_refused(before):
    with pytest.raises(TypeError, match="refit_leaves needs all new rows at once, got Chunks"):
        before.refit_leaves(minrisk.Chunks(lambda: iter([drifting(50, 1.0, 2)])), None)


def test_a_row_of_great_weight_leaves_the_others_what_they_say(before):
    X, y = drifting(300, 1.0, 3)
    X_new, y_new = drifting(2000, 1.0, 4)
    weight = np.append(len(y) / 2.0, np.ones(len(y) - 1))
    loss, beside = (log_loss(y_new, refreshed(before, X, y, own).predict_proba(X_new)) for own in (None, weight))
    assert beside - loss < 0.3 * (log_loss(y_new, before.predict_proba(X_new)) - loss)
