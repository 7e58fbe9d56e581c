"""Linear features: sums row by row, moments, principal axes and directions that part the classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from minrisk._utils.workers import Workers
from minrisk.ensemble.defaults import DISCRIMINANT, FISHER, PRINCIPAL
from minrisk.ensemble.table import fit_moments, shrunk_covariance
from minrisk.model.projection import Projection
from tests.helpers.common import slow_after


def some_projection(rng, d, m):
    """Any center and scale; weights are float32 numbers."""
    weights = rng.normal(size=(d, m)).astype(np.float32).astype(np.float64)
    return Projection(rng.normal(size=d), rng.uniform(0.5, 2, d), weights)


def gaps(rng, X, share=0.2):
    """X with missing values."""
    return np.where(rng.random(X.shape) < share, np.nan, X)


def moments_of(X, weight=None):
    return fit_moments(X, np.ones(len(X)) if weight is None else weight, np.arange(len(X)))


def classes(rng, n, d, K, apart=2.0, mix=True):
    """Gaussian classes with correlated features of different scales."""
    y = np.arange(n) % K
    X = rng.normal(size=(n, d)) + apart * rng.normal(size=(K, d))[y]
    return X @ rng.normal(size=(d, d)) * rng.uniform(0.1, 10, d) if mix else X, y


# -- rows ----------------------------------------------------------------------------------------------------------------
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 9), st.integers(0, 10**6))
def test_columns_are_products_to_float32(n, d, m, seed):
    rng = np.random.default_rng(seed)
    X, linear = gaps(rng, rng.normal(size=(n, d))), some_projection(rng, d, m)
    expected = np.nan_to_num(X - linear.center) @ linear.weights
    found = linear.columns(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found, found.astype(np.float32))


def test_columns_are_sums_of_one_feature_after_another():
    rng = np.random.default_rng(0)
    X, linear = gaps(rng, rng.normal(size=(50, 7))), some_projection(rng, 7, 4)
    sums = np.zeros((50, 4))
    for j in range(7):
        sums += np.nan_to_num(X[:, j, None] - linear.center[j]) * linear.weights[j]
    np.testing.assert_array_equal(linear.columns(X), sums.astype(np.float32))


def test_missing_values_count_as_the_center():
    rng = np.random.default_rng(1)
    X, linear = gaps(rng, rng.normal(size=(80, 5)), 0.4), some_projection(rng, 5, 3)
    X[0] = np.nan
    filled = np.where(np.isnan(X), linear.center, X)
    np.testing.assert_array_equal(linear.columns(X), linear.columns(filled))
    assert not linear.columns(X)[0].any()


def test_a_row_has_the_same_bits_wherever_it_stands(monkeypatch):
    rng = np.random.default_rng(2)
    X, linear = gaps(rng, rng.normal(size=(300, 6))), some_projection(rng, 6, 9)
    whole = linear.columns(X)
    order = rng.permutation(300)
    np.testing.assert_array_equal(linear.columns(X[order]), whole[order])
    np.testing.assert_array_equal(linear.columns(np.asfortranarray(X)), whole)
    for i in range(300):
        np.testing.assert_array_equal(linear.columns(X[i : i + 1]), whole[i : i + 1])
    for rows in (1, 7, 299, 300, 301):
        monkeypatch.setattr("minrisk.model.projection.BLOCK_VALUES", 6 * rows)
        np.testing.assert_array_equal(linear.columns(X), whole)
        with Workers(3) as workers:
            np.testing.assert_array_equal(linear.columns(X, workers), whole)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8, np.bool_])
def test_extend_puts_the_columns_beside_the_features(dtype):
    rng = np.random.default_rng(4)
    X, linear = (3 * rng.random((70, 5))).astype(dtype), some_projection(rng, 5, 4)
    wide = linear.extend(X)
    assert wide.shape == (70, 9) and wide.dtype == np.float64
    np.testing.assert_array_equal(wide[:, :5], X)
    np.testing.assert_array_equal(wide[:, 5:], linear.columns(X))
    np.testing.assert_array_equal(wide[:, 5:], linear.columns(X.astype(np.float64)))
    some = np.array([2, 0])
    np.testing.assert_array_equal(linear.take(some).extend(X)[:, 5:], wide[:, 5:][:, some])


def test_some_columns_are_those_of_the_whole():
    rng = np.random.default_rng(5)
    X, linear = gaps(rng, rng.normal(size=(60, 4))), some_projection(rng, 4, 6)
    some = np.array([5, 1, 1, 3])
    part = linear.take(some)
    assert part.n_columns == 4 and linear.n_columns == 6 and part.weights.flags.c_contiguous
    np.testing.assert_array_equal(part.columns(X), linear.columns(X)[:, some])
    np.testing.assert_array_equal(part.loadings, linear.loadings[:, some])


def test_loadings_are_shares():
    rng = np.random.default_rng(6)
    linear = some_projection(rng, 5, 7)
    linear.weights[:, 3] = 0.0
    linear.scale[2] = 0.0
    loadings = linear.loadings
    assert loadings.shape == (5, 7) and np.all(loadings >= 0) and not loadings[2].any() and not loadings[:, 3].any()
    np.testing.assert_allclose(np.delete(loadings.sum(axis=0), 3), 1)
    size = np.abs(linear.weights[:, 0]) * linear.scale
    np.testing.assert_allclose(loadings[:, 0], size / size.sum())


# -- moments -------------------------------------------------------------------------------------------------------------
def test_axes_point_the_same_way_in_any_order_of_the_rows():
    """Those of two features have entries of one size, which rounding must not choose among."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, order = np.round(rng.normal(size=(60, 2))), rng.permutation(60)
        one, other = (fit_moments(rows, np.ones(60), np.arange(60)).axes for rows in (X, X[order]))
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_features_are_standardised():
    rng = np.random.default_rng(7)
    X, _ = classes(rng, 400, 5, 2)
    found = moments_of(X + 100)
    np.testing.assert_allclose(found.center, X.mean(axis=0) + 100)
    np.testing.assert_allclose(found.scale, X.std(axis=0))
    np.testing.assert_allclose(found.Z, (X - X.mean(axis=0)) / X.std(axis=0) @ found.axes, atol=1e-9)
    np.testing.assert_allclose(found.axes.T @ found.axes, np.eye(5), atol=1e-12)
    covariance = found.Z.T @ found.Z / 400
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-12)
    assert np.all(np.diff(np.diag(covariance)) <= 0) and np.trace(covariance) == pytest.approx(5)


def test_units_do_not_matter():
    rng = np.random.default_rng(8)
    X, y = classes(rng, 300, 4, 3)
    units = np.array([1e-6, 1.0, 1e3, 1e8])
    one, other = moments_of(X), moments_of(X * units + 5 * units)
    np.testing.assert_allclose(one.Z, other.Z, atol=1e-6)
    for directions in (one.principal(), one.discriminant(y, np.ones(300), np.arange(300))):
        columns = one.projection(directions).columns(X)
        np.testing.assert_allclose(other.projection(directions).columns(X * units + 5 * units), columns, atol=1e-4)


def test_missing_values_are_left_out_of_the_mean_and_count_as_it():
    rng = np.random.default_rng(9)
    X, weight = gaps(rng, rng.normal(size=(200, 3)) + 7), rng.uniform(0.1, 2, 200)
    found = moments_of(X, weight)
    for j in range(3):
        known = ~np.isnan(X[:, j])
        assert found.center[j] == pytest.approx(np.average(X[known, j], weights=weight[known]))
        filled = np.where(known, X[:, j], found.center[j])
        assert found.scale[j] == pytest.approx(np.sqrt(np.average((filled - found.center[j]) ** 2, weights=weight)))


@settings(max_examples=25, deadline=None)
@given(st.integers(6, 60), st.integers(2, 6), st.integers(2, 4), st.integers(0, 10**6))
def test_a_weight_of_two_is_the_row_twice(n, d, K, seed):
    rng = np.random.default_rng(seed)
    X, y = gaps(rng, rng.normal(size=(n, d)), 0.1), np.arange(n) % K
    times = rng.integers(1, 4, n)
    often = np.repeat(np.arange(n), times)
    one, other = moments_of(X, times.astype(float)), moments_of(X[often])
    np.testing.assert_allclose(one.center, other.center, atol=1e-12)
    np.testing.assert_allclose(one.scale, other.scale)
    assert one.axes.shape == other.axes.shape
    np.testing.assert_allclose(one.Z[often] @ one.axes.T, other.Z @ other.axes.T, atol=1e-8)
    directions = one.discriminant(y, times.astype(float), np.arange(n))
    again = one.axes.T @ other.axes @ other.discriminant(y[often], np.ones(len(often)), np.arange(len(often)))
    np.testing.assert_allclose(np.abs(np.sum(directions * again, axis=0)), 1, atol=1e-6)


def test_useless_features_get_no_weight():
    rng = np.random.default_rng(10)
    n = 100
    X = rng.normal(size=(n, 9))
    X[:, 2], X[:, 3], X[:, 4] = 7.0, np.nan, np.where(np.arange(n) == 3, 5.0, np.nan)
    X[:, 5] = 0.1 + 1e-17 * X[:, 5]  # a constant but for rounding
    X[50, 6], X[51, 7], X[:, 8] = 1e300, -1e308, 1e-200 * X[:, 8]
    y = (X[:, 0] > X[:, 1]).astype(int)
    found = moments_of(X)
    useless = [2, 3, 4, 5, 6, 7, 8]
    assert found.axes.shape == (9, 2) and np.all(np.isfinite(found.Z))
    assert not found.scale[useless].any() and not found.center[useless].any()
    linear = found.projection(np.c_[found.principal(), found.discriminant(y, np.ones(n), np.arange(n))])
    assert not linear.weights[useless].any() and linear.weights[:2].all()
    assert np.all(np.isfinite(linear.weights)) and np.all(np.isfinite(linear.columns(X)))
    few = moments_of(X[:, :2])
    expected = few.projection(np.c_[few.principal(), few.discriminant(y, np.ones(n), np.arange(n))])
    np.testing.assert_allclose(np.abs(linear.columns(X)), np.abs(expected.columns(X[:, :2])), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("exponent", [-300, -100, -45, 20, 100, 140, 307])
def test_features_of_any_size_have_finite_weights(exponent):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 4))
    X[:, 0] *= 10.0**exponent
    y = np.arange(60) % 3
    found = moments_of(X)
    linear = found.projection(np.c_[found.principal(), found.discriminant(y, np.ones(60), np.arange(60))])
    assert np.all(np.isfinite(linear.weights)) and np.all(np.isfinite(linear.loadings))
    np.testing.assert_array_equal(linear.weights, linear.weights.astype(np.float32))
    assert np.all(np.isfinite(linear.columns(X)))


@pytest.mark.parametrize("X", [np.full((5, 3), 2.0), np.full((5, 3), np.nan), np.full((1, 3), 4.0)])
def test_nothing_that_varies_has_no_axes(X):
    found = moments_of(X)
    assert found.axes.shape == (3, 0) and found.Z.shape == (len(X), 0)
    assert found.projection(found.principal()).columns(X).shape == (len(X), 0)


def test_copies_and_sums_of_features_add_no_axes():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(100, 3))
    X = np.c_[X, X[:, 0], 2 * X[:, 1] - 5, X @ np.ones(3)]
    assert moments_of(X).axes.shape == (6, 3)


def test_many_rows_are_sampled_evenly(monkeypatch):
    rng = np.random.default_rng(13)
    X = rng.normal(size=(100, 3))
    monkeypatch.setattr("minrisk.ensemble.defaults.MOMENT_ROWS", 10)
    among = np.arange(1, 100, 2)
    found = fit_moments(X, np.ones(100), among)
    assert len(found.rows) == 10 and set(found.rows) <= set(among) and found.rows[0] == 1 and found.rows[-1] == 99
    assert set(np.diff(found.rows)) <= {8, 10, 12}
    np.testing.assert_allclose(found.center, X[found.rows].mean(axis=0))
    assert len(found.Z) == 10


# -- principal axes ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "d"), [(300, 6), (500, 30), (20, 25)])
def test_principal_components_are_those_of_scikit_learn(n, d):
    rng = np.random.default_rng(14)
    X = rng.normal(size=(n, d)) * np.linspace(1, 4, d) @ rng.normal(size=(d, d))
    found = moments_of(X)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    m = min(PRINCIPAL, d, n - 1)
    expected = PCA(m, svd_solver="full").fit_transform(standard)
    columns = found.projection(found.principal()).columns(X)
    assert columns.shape == (n, m)
    for c in range(m):
        assert abs(columns[:, c] @ expected[:, c]) == pytest.approx(expected[:, c] @ expected[:, c], rel=1e-5)
        np.testing.assert_allclose(np.abs(columns[:, c]), np.abs(expected[:, c]), atol=1e-4)
    assert np.all(found.axes[np.abs(found.axes).argmax(axis=0), np.arange(found.axes.shape[1])] > 0)


# -- directions that part the classes ------------------------------------------------------------------------------------
def inside_and_between(Z, y, weight):
    """Class means, shrunk covariance within classes, covariance of the means."""
    means = np.stack([np.average(Z[y == k], axis=0, weights=weight[y == k]) for k in np.unique(y)])
    inside = shrunk_covariance(Z - means[np.unique(y, return_inverse=True)[1]], weight)
    share = np.array([weight[y == k].sum() for k in np.unique(y)]) / weight.sum()
    apart = means - share @ means
    return means, inside, (apart.T * share) @ apart


@pytest.mark.parametrize(("d", "K"), [(1, 2), (2, 2), (3, 2), (5, 3), (8, 6), (12, 15), (40, 20)])
def test_fisher_directions_have_the_largest_ratios_of_variances(d, K):
    rng = np.random.default_rng(15)
    X, y = classes(rng, 30 * K, d, K, apart=np.linspace(0.5, 4, d))
    found, weight, n_fisher = moments_of(X), rng.uniform(0.1, 2, len(y)), min(K - 1, FISHER, d)
    directions = found.discriminant(y, weight, np.arange(len(y)))
    np.testing.assert_allclose(np.linalg.norm(directions, axis=0), 1)
    directions = directions[:, :n_fisher]
    _, inside, between = inside_and_between(found.Z, y, weight)
    ratios = np.sort(np.linalg.eigvals(np.linalg.solve(inside, between)).real)[::-1][:n_fisher]
    for c in range(n_fisher):
        np.testing.assert_allclose(between @ directions[:, c], ratios[c] * inside @ directions[:, c], atol=1e-8)


@pytest.mark.parametrize(("d", "K"), [(2, 2), (6, 2), (6, 4), (8, 5)])
def test_fisher_directions_are_those_of_scikit_learn(d, K):
    """With many rows: it shrinks the covariance of every class for itself, which then makes no difference."""
    rng = np.random.default_rng(16)
    X, y = classes(rng, 2000 * K, d, K, apart=np.linspace(0.1, 3, d), mix=False)
    found = moments_of(X)
    columns = found.projection(found.discriminant(y, np.ones(len(y)), np.arange(len(y)))).columns(X)
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(found.Z, y).transform(found.Z)
    for c in range(min(K - 1, d)):
        assert abs(np.corrcoef(columns[:, c], theirs[:, c])[0, 1]) > 0.999


@pytest.mark.parametrize(("d", "K"), [(4, 2), (4, 3), (12, 4), (25, 9)])
def test_the_pairs_that_lie_nearest_each_other_are_parted(d, K):
    rng = np.random.default_rng(17)
    X, y = classes(rng, 40 * K, d, K)
    found, weight = moments_of(X), rng.uniform(0.1, 2, len(y))
    directions = found.discriminant(y, weight, np.arange(len(y)))
    n_fisher, n_pairs = min(K - 1, FISHER, d), K * (K - 1) // 2
    assert directions.shape == (d, min(n_fisher + n_pairs, DISCRIMINANT, d))
    means, inside, _ = inside_and_between(found.Z, y, weight)
    pairs = []
    for i in range(K):
        for j in range(i + 1, K):
            parting = np.linalg.solve(inside, means[i] - means[j])
            pairs.append(((means[i] - means[j]) @ parting, parting / np.linalg.norm(parting)))
    expected = [parting for _, parting in sorted(pairs, key=lambda pair: pair[0])]
    for column, parting in zip(directions[:, n_fisher:].T, expected, strict=False):
        np.testing.assert_allclose(column, parting, atol=1e-8)


def test_two_classes_have_one_direction_twice():
    rng = np.random.default_rng(18)
    X, y = classes(rng, 100, 5, 2)
    directions = moments_of(X).discriminant(y, np.ones(100), np.arange(100))
    assert directions.shape == (5, 2)
    assert abs(directions[:, 0] @ directions[:, 1]) == pytest.approx(1)


def test_directions_are_learnt_from_the_part_alone():
    rng = np.random.default_rng(19)
    X, y = classes(rng, 120, 5, 4)
    found, weight, part = moments_of(X), rng.uniform(0.1, 2, 120), rng.permutation(120)[:70]
    one = found.discriminant(y, weight, part)
    others = np.setdiff1d(np.arange(120), part)
    changed, heavy = y.copy(), weight.copy()
    changed[others], heavy[others] = 9, 1e6
    np.testing.assert_array_equal(found.discriminant(changed, heavy, part), one)
    changed[part[:5]] = 9
    assert not np.array_equal(found.discriminant(changed, heavy, part)[:, 0], one[:, 0])


@pytest.mark.parametrize("kind", ["one class", "classes of one row", "no spread within classes", "no spread at all"])
def test_directions_of_odd_parts_are_finite(kind):
    rng = np.random.default_rng(20)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 4
    part = np.arange(40)
    if kind == "one class":
        part = np.flatnonzero(y == 2)
    elif kind == "classes of one row":
        y = np.arange(40)
    elif kind == "no spread within classes":
        X = rng.normal(size=(4, 3))[y]
    else:
        X[:20] = X[0]
        part = np.arange(20)
    found = moments_of(X)
    directions = found.discriminant(y, np.ones(40), part)
    assert len(directions) == found.axes.shape[1] and np.all(np.isfinite(directions))
    length = np.linalg.norm(directions, axis=0)
    assert np.all(np.isclose(length, 1) | (length == 0)) and directions.shape[1] == (0 if kind == "one class" else 3)


# -- shrunk covariance ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "d"), [(5, 8), (30, 1), (30, 4), (200, 20), (2000, 3)])
@pytest.mark.parametrize("mixed", [True, False])
def test_shrinkage_is_that_of_ledoit_and_wolf(n, d, mixed):
    rng = np.random.default_rng(21)
    Z = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) if mixed else np.eye(d))
    Z -= Z.mean(axis=0)
    expected, _ = ledoit_wolf(Z, assume_centered=True)
    np.testing.assert_allclose(shrunk_covariance(Z, np.ones(n)), expected, rtol=1e-6, atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 10**6))
def test_a_weight_of_two_is_two_rows_to_the_shrinkage(n, d, seed):
    rng = np.random.default_rng(seed)
    Z, times = rng.normal(size=(n, d)), rng.integers(1, 4, n)
    often = np.repeat(Z, times, axis=0)
    found = shrunk_covariance(Z, times.astype(float))
    np.testing.assert_allclose(found, shrunk_covariance(often, np.ones(len(often))), rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(found)[0] > 0


def test_a_covariance_of_nothing_can_be_inverted():
    found = shrunk_covariance(np.zeros((4, 3)), np.ones(4))
    assert np.linalg.eigvalsh(found)[0] > 0


@pytest.mark.parametrize("seed", slow_after(10, range(40)))
def test_directions_do_not_depend_on_the_order_of_the_rows(seed):
    """Nor do their signs, nor those where two classes lie in one place: a direction made of rounding is 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4))
    X[10:20] = X[:10]  # the second class is where the first one is
    codes, weight, order = np.repeat([0, 1, 2], 10), np.ones(30), rng.permutation(30)
    rows = np.arange(30)
    one = fit_moments(X, weight, rows)
    other = fit_moments(X[order], weight, rows)
    found, again = one.discriminant(codes, weight, rows), other.discriminant(codes[order], weight, rows)
    assert found.shape == (4, 4) and np.count_nonzero(np.all(found == 0.0, axis=0)) == 1
    np.testing.assert_allclose(found, again, atol=1e-9)
