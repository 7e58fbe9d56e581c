"""Products, eigenvectors, neighbours and minima against NumPy's, SciPy's and scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from minrisk._kernels import algebra as kernels
from minrisk._utils.algebra import eigenvectors, orthonormal, principal_components, product, solve
from minrisk._utils.minimising import minimise

RNG = np.random.default_rng(0)


@given(st.integers(0, 9), st.integers(0, 600), st.integers(0, 40), st.integers(0, 3), st.integers(0, 2**32))
def test_products_are_those_of_numpy(m, depth, n, layout, seed):
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(m, depth)), rng.normal(size=(depth, n))
    left, right = (np.asfortranarray(left), right) if layout & 1 else (left, right)
    right = np.repeat(right, 2, axis=1)[:, ::2] if layout & 2 else right
    np.testing.assert_allclose(product(left, right), left @ right, atol=1e-11)


def test_an_entry_of_a_product_depends_on_its_row_and_column_alone():
    left, right = RNG.normal(size=(37, 700)), RNG.normal(size=(700, 41))
    whole = product(left, right)
    for rows, columns in ((slice(3), slice(5, 6)), (slice(30, 37), slice(20, 41)), (slice(7, 8), slice(41))):
        np.testing.assert_array_equal(product(left[rows], right[:, columns]), whole[rows, columns])
    np.testing.assert_array_equal(product(left, right[:, 3]), whole[:, 3])
    np.testing.assert_array_equal(product(left[4], right), whole[4])


def test_what_is_no_matrix_of_numbers_is_refused():
    for wrong in (np.zeros((2, 2), dtype=np.float32), np.zeros(2)):
        with pytest.raises(TypeError):
            kernels.product(wrong, np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="must be as many as the rows"):
        product(np.ones((2, 50)), np.ones((1, 2)))


def symmetric(kind, n):
    A = RNG.normal(size=(n, n))
    return {
        "full": A + A.T,
        "small": (A + A.T) * 1e-200,
        "large": (A + A.T) * 1e200,
        "of low rank": A[:, : max(1, n // 4)] @ A[:, : max(1, n // 4)].T,
        "of far scales": (A + A.T) * np.outer(np.logspace(0, -12, n), np.logspace(0, -12, n)),
        "of scales beyond": (A + A.T) * np.outer(np.logspace(0, -150, n), np.logspace(0, -150, n)),
        "diagonal": np.diag(np.round(RNG.normal(size=n))),
        "tridiagonal": np.diag(np.ones(n)) + np.diag(np.ones(max(0, n - 1)), 1) + np.diag(np.ones(max(0, n - 1)), -1),
        "zero": np.zeros((n, n)),
    }[kind]


@pytest.mark.parametrize("n", [1, 2, 3, 17, 300])
@pytest.mark.parametrize(
    "kind",
    ["full", "small", "large", "of low rank", "of far scales", "of scales beyond", "diagonal", "tridiagonal", "zero"],
)
def test_eigenvectors_are_those_of_lapack(kind, n):
    A = symmetric(kind, n)
    values, vectors = eigenvectors(A)
    size = float(np.abs(A).max()) or 1.0
    np.testing.assert_allclose(values / size, np.linalg.eigvalsh(A / size), atol=1e-13 * n)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-13 * n)
    np.testing.assert_allclose((vectors * (values / size)) @ vectors.T, A / size, atol=1e-13 * n)


def test_no_matrix_has_no_eigenvectors():
    values, vectors = eigenvectors(np.zeros((0, 0)))
    assert values.shape == (0,) and vectors.shape == (0, 0)


def test_eigenvectors_in_a_metric_and_solutions():
    A, B = symmetric("full", 20), symmetric("full", 20) + 20 * np.eye(20)
    values, vectors = eigenvectors(A, B)
    np.testing.assert_allclose(values, eigh(A, B, eigvals_only=True), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ B @ vectors, np.eye(20), atol=1e-12)
    np.testing.assert_allclose(A @ vectors, B @ vectors * values, atol=1e-11)
    for right in (RNG.normal(size=20), RNG.normal(size=(20, 3))):
        np.testing.assert_allclose(B @ solve(B, right), right, atol=1e-12)
    with pytest.raises(RuntimeError, match="must be positive definite"):
        solve(A, np.ones(20))


def test_columns_that_depend_on_others_are_left_out():
    A = RNG.normal(size=(30, 4))
    found = orthonormal(np.column_stack([A, A @ RNG.normal(size=(4, 3))]))
    assert found.shape == (30, 4)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(found @ (found.T @ A), A, atol=1e-12)


@pytest.mark.parametrize("stored", [False, True])
def test_principal_components_are_those_of_scikit_learn(stored):
    Z = RNG.normal(size=(300, 80)) * np.logspace(0, -2, 80) * (RNG.random((300, 80)) < 0.5) + 0.1 * (not stored)
    found = principal_components(csr_matrix(Z) if stored else Z, 5)
    expected = PCA(5, svd_solver="full").fit_transform(Z)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-2)


def test_rows_of_few_directions_have_no_more_components():
    found = principal_components(RNG.normal(size=(50, 3)) @ RNG.normal(size=(3, 30)), 5)
    assert found.shape[0] == 50 and np.linalg.matrix_rank(found) == 3


@pytest.mark.parametrize("stored", [False, True])
def test_rows_that_are_all_the_same_have_no_components(stored):
    Z = np.zeros((20, 8))
    assert principal_components(csr_matrix(Z) if stored else Z, 5).shape == (20, 0)


def test_nearest_rows_are_those_of_scikit_learn_and_of_equally_near_ones_the_first():
    Z = RNG.normal(size=(1500, 6))
    found = np.empty((700, 5), dtype=np.int64)
    kernels.nearest_rows(Z, np.sum(Z**2, axis=1), 800, found)
    expected = NearestNeighbors(n_neighbors=5).fit(Z).kneighbors(return_distance=False)[800:]
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(expected, axis=1))
    Z = np.zeros((10, 2))
    found = np.empty((10, 3), dtype=np.int64)
    kernels.nearest_rows(Z, np.zeros(10), 0, found)
    assert [sorted(row) for row in found[:5].tolist()] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]]


def logistic(n, d, K, penalty):
    X, y = RNG.normal(size=(n, d)) * np.linspace(0.1, 3, d), RNG.integers(0, K, n)
    y[X[:, 0] > 0] = 0

    def function(w):
        scores = X @ w.reshape(d, K)
        scores -= scores.max(axis=1, keepdims=True)
        p = np.exp(scores)
        sums = p.sum(axis=1)
        value = np.mean(np.log(sums) - scores[np.arange(n), y]) + 0.5 * penalty * np.sum(w**2)
        p /= sums[:, None]
        p[np.arange(n), y] -= 1
        return float(value), (X.T @ p / n).ravel() + penalty * w

    return function


@pytest.mark.parametrize(("low", "high"), [(-np.inf, np.inf), (0.0, 0.3), (-0.05, np.inf)])
@pytest.mark.parametrize("penalty", [1e-5, 1e-2])
def test_minima_are_those_of_scipy(low, high, penalty):
    function, calls = logistic(400, 10, 4, penalty), []
    found = minimise(lambda w: calls.append(1) or function(w), np.zeros(40), low, high, gradient=1e-6, iterations=3000)
    options = {"ftol": 0.0, "gtol": 1e-6, "maxiter": 3000, "maxfun": 9999}
    other = minimize(function, np.zeros(40), jac=True, method="L-BFGS-B", bounds=[(low, high)] * 40, options=options)
    assert found.value <= other.fun + 1e-6
    assert np.all((found.point >= low) & (found.point <= high))
    np.testing.assert_array_equal(found.slope, function(found.point)[1])
    assert len(calls) <= 4 * other.nfev + 20


def test_a_search_ends_at_once_where_nothing_is_lower():
    found = minimise(lambda x: (float(np.sum(x)), np.ones_like(x)), np.full(3, 5.0), 5.0)
    assert found.iterations == 0 and found.point.tolist() == [5.0, 5.0, 5.0]
    found = minimise(lambda x: (0.0, np.zeros(0)), np.zeros(0))
    assert found.iterations == 0


def test_a_function_of_far_scales_is_searched():
    """Rosenbrock's valley, and values that overflow at the first step."""
    scale = np.array([1e4, 1.0])

    def valley(x):
        a, b = x / scale
        return (1 - a) ** 2 + 100 * (b - a * a) ** 2, np.array(
            [-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)]
        ) / scale

    found = minimise(valley, np.array([-1.2e4, 1.0]), gradient=1e-9, iterations=5000)
    np.testing.assert_allclose(found.point / scale, 1.0, rtol=1e-3)

    def steep(x):
        with np.errstate(over="ignore"):
            return float(np.sum(np.exp(1e3 * x) - x)), 1e3 * np.exp(1e3 * x) - 1

    np.testing.assert_allclose(minimise(steep, np.array([0.1])).point, [np.log(1e-3) / 1e3], atol=1e-5)
