"""Sparse matrices: what a dense array of the same numbers gives, to the byte, and never such an array."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import minrisk
from minrisk import CostMatrix, GentleBoostClassifier, MCBoostClassifier, MinRiskClassifier, REBELClassifier
from minrisk._utils.workers import Workers
from minrisk.data import sparse as sparse_rows
from minrisk.data.binning import SparseBins, fit_binner
from minrisk.data.distances import Points, SparsePoints, Units, stored_units
from minrisk.data.row_keys import odd_numbers, summed_keys
from minrisk.data.sparse import DENSE_VALUES, SparseRows
from minrisk.inspection import explain
from minrisk.rows.base import LIMITS
from minrisk.rows.directed import CenteredFeatures, StoredFeatures
from minrisk.rows.exchange import everything
from tests.helpers.common import crossed, slow_after
from tests.helpers.pieces import in_pieces

COST = CostMatrix([[0, 1, 4], [2, 0, 1], [9, 3, 0]])
DTYPES = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.int8, np.bool_]
KINDS = [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array]


def table(n, d, density, dtype, seed, missing=0.0):
    """A dense table of mostly zeros."""
    rng = np.random.default_rng(seed)
    low, high = (0, 2) if dtype is np.bool_ else (0 if np.dtype(dtype).kind == "u" else -3, 6)
    X = (rng.integers(low, high, (n, d)) * (rng.random((n, d)) < density)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        X *= rng.choice([1.0, 0.37, 1e-3], size=(n, d))
        X[rng.random((n, d)) < missing] = np.nan
    return X


def labels(X, seed):
    known = np.nan_to_num(X[:, :6].astype(np.float64))
    rng = np.random.default_rng(seed)
    return (known @ rng.normal(size=(known.shape[1], 3)) + rng.normal(size=(len(X), 3))).argmax(axis=1)


def stored(X, kind, seed, untidy=True):
    """The same numbers in a sparse matrix; untidy: explicit zeros, duplicates that add up, no order, 64-bit numbers."""
    rng = np.random.default_rng(seed)
    if not untidy:
        return kind(X)
    rows, columns = np.nonzero((X != 0) | (rng.random(X.shape) < 0.05))
    values = X[rows, columns]
    if X.dtype.kind == "f":  # a half twice is the whole, exactly
        rows, columns, values = np.r_[rows, rows[:20]], np.r_[columns, columns[:20]], np.r_[values, values[:20] / 2]
        values[:20] /= 2
    order = rng.permutation(len(rows))
    made = kind(sp.csr_matrix(X.shape, dtype=X.dtype))
    major, minor = (rows, columns) if made.format == "csr" else (columns, rows)
    order = order[np.argsort(major[order], kind="stable")]
    pointer = np.r_[0, np.cumsum(np.bincount(major, minlength=made.shape[0 if made.format == "csr" else 1]))]
    untidied = kind((values[order], minor[order].astype(np.int64), pointer.astype(np.int64)), shape=X.shape)
    untidied.has_sorted_indices = untidied.has_canonical_format = False
    return untidied


def assert_same_models(one, other, tmp_path):
    for name, model in (("one", one), ("other", other)):
        minrisk.save(model, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def assert_same_fits(new, X, sparse, y, tmp_path, **options):
    dense_fit, sparse_fit = new().fit(X, y, **options), new().fit(sparse, y, **options)
    assert_same_models(dense_fit, sparse_fit, tmp_path)
    np.testing.assert_array_equal(dense_fit.decision_function(X), sparse_fit.decision_function(sparse))
    np.testing.assert_array_equal(dense_fit.decision_function(X[:3]), sparse_fit.decision_function(sparse.tocsr()[:3]))
    np.testing.assert_array_equal(dense_fit.predict(X), sparse_fit.predict(sparse))
    for one, other in zip(
        dense_fit.staged_decision_function(X), sparse_fit.staged_decision_function(sparse), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    if hasattr(dense_fit, "predict_proba"):
        np.testing.assert_array_equal(dense_fit.predict_proba(X), sparse_fit.predict_proba(sparse))
    return dense_fit


def small(cls, **options):
    options = {"n_estimators": 5, "random_state": 0, **options}
    known = cls().get_params()
    return cls(**{name: value for name, value in options.items() if name in known})


# -- the same bytes as a dense array -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cls", "way"), crossed(minrisk.ALGORITHMS, ["costs of each row", "plain", "costs", "weights"])
)
def test_models_and_predictions_are_those_of_the_dense_array(cls, way, tmp_path):
    seed = minrisk.ALGORITHMS.index(cls)
    X = table(150, 12, 0.3, np.float64, seed, missing=0.02)
    y, rng = labels(X, seed), np.random.default_rng(seed)
    options = {
        "plain": {},
        "costs": {"cost": COST},
        "costs of each row": {"cost": COST.values[y] + rng.random((150, 3))},
        "weights": {"sample_weight": rng.random(150) * (rng.random(150) < 0.9)},
    }[way]
    sparse = stored(X, KINDS[seed % len(KINDS)], seed)
    if cls()._needs_matrix and way == "costs of each row":
        with pytest.raises(ValueError, match="costs per row"):
            small(cls).fit(sparse, y, **options)
        return
    assert_same_fits(lambda: small(cls), X, sparse, y, tmp_path, **options)


@pytest.mark.parametrize(
    ("dtype", "kind", "density"), crossed(DTYPES, KINDS, [0.02, 0.9]), ids=lambda each: getattr(each, "__name__", None)
)
def test_any_dtype_kind_and_density(dtype, kind, density, tmp_path):
    X = table(200, 20, density, dtype, 3)
    y = labels(X, 3)
    for cls in (MinRiskClassifier, REBELClassifier):
        assert_same_fits(lambda cls=cls: small(cls, n_estimators=3), X, stored(X, kind, 4), y, tmp_path)


@pytest.mark.parametrize(
    ("cls", "n"), crossed([REBELClassifier, MinRiskClassifier, GentleBoostClassifier], [900, LIMITS.large_leaf + 5000])
)
def test_drawn_rows_features_threads_and_early_stopping(cls, n, tmp_path):
    X = table(n, 15, 0.2, np.float32, 5, missing=0.01)
    y, sparse = labels(X, 5), stored(X, sp.csr_array, 5)
    for options in (
        {"subsample": 0.6, "max_features": 0.5, "n_jobs": 2},
        {"search_rows": 50, "early_stopping": True, "cv": 2},
        {"max_features": 1.0, "max_bins": 7, "binning": "uniform"},
        {"sketch": None, "cv": 3, "pool": False},
    ):
        if not options.keys() & small(cls).get_params().keys():
            continue
        assert_same_fits(lambda options=options: small(cls, **options), X, sparse, y, tmp_path)


def test_wide_data_with_drawn_features(tmp_path):
    """So many features that keys of rows are sums, nodes draw one feature after another, and no linear ones are made."""
    X = table(1100, 2600, 0.02, np.float64, 6)
    X[:40] = 0.0  # rows that are equal
    y, sparse = labels(X, 6), stored(X, sp.csr_matrix, 6)
    for options in ({}, {"max_features": 1.0}, {"max_features": 0.5, "cost": COST}):
        assert_same_fits(lambda options=options: small(MinRiskClassifier, **options), X, sparse, y, tmp_path)


def test_a_warm_start_goes_on_alike(tmp_path):
    X = table(200, 10, 0.3, np.float64, 7)
    y, sparse = labels(X, 7), stored(X, sp.csc_array, 7)
    models = [REBELClassifier(n_estimators=3).fit(part, y) for part in (X, sparse)]
    for model, part in zip(models, (sparse, X), strict=True):  # what came before does not matter
        model.set_params(warm_start=True, n_estimators=6).fit(part, y)
    assert_same_models(*models, tmp_path)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_thresholds_and_bins_are_those_of_the_dense_array(seed, strategy):
    rng = np.random.default_rng(seed)
    X = table(700, 9, [0.01, 0.3, 1.0][seed % 3], np.float64, seed, missing=0.05)
    X[:, 0], X[:, 1], X[:, 2] = 0.0, np.nan, np.abs(X[:, 2]) + 1
    X[:, 3] = rng.normal(size=700) * (rng.random(700) < 0.8)  # more values than bins
    rows = SparseRows(sp.csr_matrix(X))
    for weight in (
        None,
        np.ones(700),
        rng.integers(0, 4, 700).astype(float),
        rng.random(700) * (rng.random(700) < 0.8),
    ):
        for max_bins in (None, 2, 5, 40):
            for part in (None, np.flatnonzero(rng.random(700) < 0.7)):
                dense = fit_binner(X, strategy, max_bins, part, weight)
                sparse = fit_binner(rows, strategy, max_bins, part, weight)
                for one, other in zip(dense.thresholds, sparse.thresholds, strict=True):
                    np.testing.assert_array_equal(one, other)
                bins = sparse.transform(rows, part)
                assert isinstance(bins, SparseBins)
                np.testing.assert_array_equal(dense.transform(X, part), bins.some(np.arange(9)))


def test_parts_of_sparse_bins():
    X = table(300, 8, 0.3, np.float64, 1)
    binner, rng = fit_binner(X, max_bins=6), np.random.default_rng(0)
    dense, sparse = binner.transform(X), binner.transform(SparseRows(sp.csr_matrix(X)))
    order = rng.permutation(300)[:211]
    np.testing.assert_array_equal(sparse.take(5, order).some(np.arange(5)), dense[:5, order])
    np.testing.assert_array_equal(list(sparse[:, 17:90]), dense[:, 17:90])
    more = rng.integers(0, 6, (3, 300)).astype(np.uint8)
    np.testing.assert_array_equal(sparse.beside(more).some(np.arange(11)), np.concatenate([dense, more]))
    odds = odd_numbers(rng, 8)
    np.testing.assert_array_equal(SparseRows(sp.csr_matrix(X)).keys(odds), summed_keys(X.T, odds))


@pytest.mark.parametrize("cls", minrisk.ALGORITHMS)
def test_rows_in_pieces(cls, monkeypatch, tmp_path):
    X = table(160, 10, 0.3, np.float64, 8)
    y, sparse = labels(X, 8), stored(X, sp.csr_matrix, 8)
    alone = small(cls, n_estimators=3).fit(X, y)
    made = in_pieces(monkeypatch, 3)
    assert_same_models(alone, small(cls, n_estimators=3).fit(sparse, y), tmp_path)
    assert made


# -- never dense -------------------------------------------------------------------------------------------------------
def huge(n=4000, d=150_000, per_row=12, seed=0):
    """Of 4.8 GB as numbers, 600 MB as bins: a few features say the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    columns = rng.integers(3, d, (n, per_row))
    columns[:, 0] = np.where(rng.random(n) < 0.8, y, columns[:, 0])
    values = np.ones(n * per_row, dtype=np.float32)
    return sp.csr_matrix((values, (np.repeat(np.arange(n), per_row), columns.ravel())), shape=(n, d)), y


@pytest.mark.parametrize(
    "new",
    slow_after(
        2,
        [
            # nodes look at 160 features, of which 3 say something
            lambda: MinRiskClassifier(n_estimators=25, random_state=0),
            lambda: REBELClassifier(n_estimators=3),
            lambda: MinRiskClassifier(n_estimators=3, cv=2, search_rows=100, max_features=1.0, random_state=0),
            lambda: GentleBoostClassifier(n_estimators=3),
        ],
    ),
    ids=["defaults", "REBEL", "all features", "GentleBoost"],
)
def test_work_and_memory_follow_stored_values(new):
    X, y = huge()
    new().fit(X[:200, :50], y[:200]).predict(X[:200, :50])  # whatever is loaded once
    tracemalloc.start()
    model = new().fit(X[:3000], y[:3000])
    right = np.mean(model.predict(X[3000:]) == y[3000:])
    next(iter(model.staged_predict(X[3000:])))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert right > 0.6  # a third are by chance
    assert peak < 150e6


def test_costs_that_differ_by_row_on_many_features(monkeypatch):
    # All rounds stay: left-out rows would keep a few of them, which know little of these rows.
    monkeypatch.setattr("minrisk.ensemble.training.finished", lambda ensemble, ended: (ended, ensemble))
    X, y = huge(n=1500)
    cost = (1.0 - np.eye(3))[y] * (1.0 + X[:, :3].toarray().sum(axis=1))[:, None]
    model = MinRiskClassifier(n_estimators=25, random_state=0).fit(X, y, cost=cost)
    assert np.mean(model.predict(X) == y) > 0.6
    assert len(model.predict(X, cost=1.0 - np.eye(3))) == 1500


def test_blocks_are_small_and_the_whole_is_refused():
    X, y = huge(n=100)
    rows = SparseRows(X)
    with pytest.raises(MemoryError, match="150000 sparse features"):
        np.asarray(rows)
    assert rows.height * rows.shape[1] <= DENSE_VALUES
    np.testing.assert_array_equal(np.asarray(rows[3:5]), X[3:5].toarray())
    np.testing.assert_array_equal(rows[:, 2], X[:, [2]].toarray().ravel())


# -- learners without bins ---------------------------------------------------------------------------------------------
@pytest.fixture
def never_dense(monkeypatch):
    """Small rows are treated as large ones are."""
    monkeypatch.setattr(sparse_rows, "DENSE_VALUES", 200)


def points_and_units(seed, scaling):
    X = table(120, 10, 0.3, np.float64, seed, missing=0.03 * (seed % 2))
    X[:, 3] += 2.0
    X[:4] = X[7]  # coincident
    return X, Units.of(X, scaling)


@pytest.mark.parametrize("scaling", ["none", "standard", "robust"])
@pytest.mark.parametrize("seed", range(4))
def test_distances_of_sparse_points_are_those_of_an_array(seed, scaling):
    X, units = points_and_units(seed, scaling)
    dense, sparse = Points.of(X, units), SparsePoints.of(SparseRows(sp.csr_matrix(X)), units)
    rows = np.array([0, 5, 7, 60])
    anchors = dense.at(rows)
    np.testing.assert_array_equal(anchors, sparse.at(rows))
    anchors = np.concatenate([anchors, anchors[:2] + 0.25])
    found, expected = np.empty((6, 120)), np.empty((6, 120), dtype=dense.kind(anchors))
    sparse.distances(anchors, 0, 120, found)
    dense.distances(anchors, 0, 120, expected)
    np.testing.assert_array_equal(found, expected)
    Z = units.apply(X)
    np.testing.assert_allclose(found, ((anchors[:, None] - Z) ** 2).sum(axis=2), rtol=1e-12, atol=1e-12)
    assert np.all(found[2, :4] == 0.0) and np.all(found[4:] > 0.0)
    zero = units.apply(np.zeros((1, 10)))[0]
    np.testing.assert_array_equal(dense.along(zero), sparse.along(zero))
    (one, count), (other, other_count) = dense.coincident(), sparse.coincident()
    assert count == other_count < 120
    assert len(set(zip(one.tolist(), other.tolist(), strict=True))) == count  # the same groups of rows


@pytest.mark.parametrize("scaling", ["none", "standard", "robust"])
@pytest.mark.parametrize("weighted", [False, True])
def test_units_of_stored_values(scaling, weighted):
    X = points_and_units(1, "none")[0]
    X[:, 5], X[:, 6], X[:, 7] = 0.0, np.nan, 4.0
    X[:, 8] *= 1e3
    weight = np.random.default_rng(0).integers(0, 4, 120).astype(float) if weighted else np.ones(120)
    for one, other in zip(
        Units.of(X, scaling, weight), stored_units(SparseRows(sp.csr_matrix(X)), scaling, weight), strict=True
    ):
        np.testing.assert_allclose(other, one, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"response": "sign"},
        {"loss": "logistic", "n_candidates": 3},
        {"scaling": "robust"},
        {"scaling": "standard", "response": "sign"},
        {"n_neighbors": 9},
        {"early_stopping": True, "random_state": 1},
    ],
    ids=str,
)
def test_similarities_of_stored_values(never_dense, tmp_path, options):
    """The same learners; with "standard" the units differ in their last bits, else only what missing values count as."""
    X = table(160, 10, 0.4, np.float64, 3)
    y, sparse = labels(X, 3), stored(X, sp.csr_matrix, 3)
    new = lambda: minrisk.LocalizedSimilaritiesClassifier(n_estimators=6, **options)  # noqa: E731
    dense, model = new().fit(X, y), new().fit(sparse, y)
    assert dense.n_iter_ > 0
    np.testing.assert_array_equal(dense.model_.packed.anchor_row, model.model_.packed.anchor_row)
    if options.get("scaling") == "standard":
        np.testing.assert_allclose(model.decision_function(X), dense.decision_function(X), rtol=1e-9)
    else:
        np.testing.assert_array_equal(model.decision_function(X), dense.decision_function(X))
        np.testing.assert_array_equal(model.train_loss_, dense.train_loss_)
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(sparse))
    minrisk.save(model, tmp_path / "m")
    np.testing.assert_array_equal(minrisk.load(tmp_path / "m").decision_function(sparse), model.decision_function(X))
    assert repr(explain(model, X[:5])) == repr(explain(model, sparse[:5]))


@pytest.mark.parametrize(
    "options", [{}, {"descent": "gradient"}, {"loss": "mc"}, {"max_features": 4, "random_state": 1}], ids=str
)
@pytest.mark.parametrize("seed", range(3))
def test_lines_of_stored_values(never_dense, options, seed):
    """The same features, by sums in another order."""
    X = table(200, 12, 0.3, np.float64, seed, missing=0.04 * (seed % 2))
    y, weight = labels(X, seed), [None, np.arange(200) % 3][seed % 2]
    X[:, 4], X[:, 5], X[:, 6] = 0.0, 7.0, np.where(np.arange(200) % 9 == 0, 1e-320, 0.0)
    X[:, 7] += 1e4
    new = lambda: MCBoostClassifier(n_estimators=6, **options)  # noqa: E731
    dense, model = (
        new().fit(X, y, sample_weight=weight),
        new().fit(stored(X, sp.csc_array, seed), y, sample_weight=weight),
    )
    np.testing.assert_array_equal(dense.model_.packed.feature, model.model_.packed.feature)
    np.testing.assert_allclose(model.train_loss_, dense.train_loss_, rtol=1e-11)
    np.testing.assert_allclose(model.decision_function(X), dense.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(stored(X, sp.csr_matrix, 1)))


def test_sums_that_lines_are_fitted_by():
    """Against sums over all rows, a product at a time."""
    X, rng = table(150, 9, 0.3, np.float64, 1, missing=0.05), np.random.default_rng(0)
    X[:, 2] += 3.0
    weight, push, pull = rng.integers(0, 3, 150).astype(float), rng.normal(size=(150, 1)), rng.random((150, 1))
    place = everything(150)
    features, factors = np.array([2, 0, 5, 8]), (2.0**40, 2.0**41)
    dense = CenteredFeatures.of(X, weight, Workers(), place)
    sparse = StoredFeatures.of(SparseRows(sp.csr_matrix(X)), weight, place)
    for name in ("center", "unit", "near"):
        np.testing.assert_array_equal(getattr(dense, name), getattr(sparse, name))
    found = sparse.sums(features, push, pull, factors, place, Workers()) / [factors[1], factors[1], factors[0]]
    Z, u, rho = dense.Z[features], push[:, 0], pull[:, 0]
    np.testing.assert_allclose(found, np.stack([Z @ rho, Z**2 @ rho, Z @ u], axis=1), rtol=1e-9, atol=1e-9)


def test_regressors_of_sparse_rows(never_dense):
    X = table(200, 10, 0.3, np.float64, 2)
    y, sparse = labels(X, 2), stored(X, sp.csr_matrix, 2)
    for regressor in (DecisionTreeRegressor(max_depth=2, random_state=0), Ridge(solver="sparse_cg", tol=1e-12)):
        new = lambda estimator=regressor: MCBoostClassifier(n_estimators=3, estimator=estimator)  # noqa: E731
        dense, model = new().fit(X, y), new().fit(sparse, y)
        np.testing.assert_allclose(model.decision_function(X), dense.decision_function(X), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(model.decision_function(sparse), dense.decision_function(X), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match=r"HistGradientBoostingRegressor takes no sparse data.*200 x 10.*TruncatedSVD"):
        MCBoostClassifier(n_estimators=2, estimator=HistGradientBoostingRegressor(max_iter=2)).fit(sparse, y)
    dense = MCBoostClassifier(n_estimators=2, estimator=HistGradientBoostingRegressor(max_iter=2)).fit(X, y)
    np.testing.assert_array_equal(dense.predict(sparse), dense.predict(X))  # in dense blocks


@pytest.mark.parametrize(
    "new",
    [
        lambda: minrisk.LocalizedSimilaritiesClassifier(n_estimators=3, scaling="robust"),
        lambda: MCBoostClassifier(n_estimators=3),
        lambda: MCBoostClassifier(n_estimators=2, estimator=DecisionTreeRegressor(max_depth=2, random_state=0)),
    ],
    ids=["similarities", "lines", "regressors"],
)
def test_stored_values_in_pieces(never_dense, monkeypatch, new):
    X = table(150, 10, 0.3, np.float64, 8)
    y, sparse = labels(X, 8), stored(X, sp.csr_matrix, 8)
    alone = new().fit(sparse, y)
    made = in_pieces(monkeypatch, 3)
    np.testing.assert_array_equal(new().fit(sparse, y).decision_function(X), alone.decision_function(X))
    assert made


@pytest.mark.parametrize(
    "new",
    [
        lambda **more: minrisk.LocalizedSimilaritiesClassifier(
            scaling="standard", subsample=0.8, random_state=2, **more
        ),
        lambda **more: MCBoostClassifier(subsample=0.8, random_state=2, **more),
    ],
    ids=["similarities", "lines"],
)
def test_stored_values_on_threads_and_in_a_warm_start(never_dense, tmp_path, new):
    X = table(150, 10, 0.3, np.float64, 9)
    y, sparse, weight = labels(X, 9), stored(X, sp.csr_matrix, 9), np.arange(150) % 4
    whole = new(n_estimators=5).fit(sparse, y, sample_weight=weight)
    assert_same_models(whole, new(n_estimators=5, n_jobs=2).fit(sparse, y, sample_weight=weight), tmp_path)
    model = new(n_estimators=2, warm_start=True).fit(sparse, y, sample_weight=weight)
    model.set_params(n_estimators=5).fit(sparse, y, sample_weight=weight)
    np.testing.assert_array_equal(model.decision_function(sparse), whole.decision_function(sparse))


@pytest.mark.parametrize(
    "new",
    slow_after(
        2,
        [
            lambda: minrisk.LocalizedSimilaritiesClassifier(n_estimators=3, n_candidates=20, cache_size=20),
            lambda: MCBoostClassifier(n_estimators=3, weak_learner="linear"),
            lambda: MCBoostClassifier(n_estimators=2, estimator=DecisionTreeRegressor(max_depth=2, random_state=0)),
        ],
    ),
    ids=["similarities", "lines", "regressors"],
)
def test_work_and_memory_of_learners_without_bins(new):
    X, y = huge(n=1500)
    new().fit(X[:200, :50], y[:200]).predict(X[:200, :50])  # whatever is loaded once
    tracemalloc.start()
    model = new().fit(X[:1200], y[:1200])
    right = np.mean(model.predict(X) == y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if isinstance(model, MCBoostClassifier):  # distances see no class in these
        assert right > 0.5
    assert model.n_iter_ > 0
    assert peak < 120e6  # of 1.8 GB


def test_what_cannot_be_used_is_refused():
    X = sp.csr_matrix(table(30, 4, 0.5, np.float64, 0))
    y = np.arange(30) % 3
    model = REBELClassifier(n_estimators=2).fit(X, y)
    dense = X.toarray()
    dense[4, 2] = np.inf
    wrong = sp.csr_matrix(dense)
    with pytest.raises(ValueError, match=r"finite numbers, got inf in column 2, row 4"):
        model.fit(wrong, y)
    with pytest.raises(ValueError, match="infin"):
        model.predict(wrong)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="complex|Complex"):
        model.fit(X.astype(np.complex128), y)


def test_an_input_stays_as_it_is():
    X = stored(table(50, 6, 0.5, np.float64, 0), sp.csr_matrix, 0)
    before = X.copy()
    MinRiskClassifier(n_estimators=2).fit(X, np.arange(50) % 3).predict(X)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, name), getattr(before, name))


def test_clone_and_tags():
    for cls in minrisk.ALGORITHMS:
        assert clone(cls()).__sklearn_tags__().input_tags.sparse
