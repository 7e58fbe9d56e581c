"""Smooth members: Gaussian kernels around landmarks, softmax regression on them, and their part in a pool."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_predict

import minrisk
from minrisk import MinRiskClassifier
from minrisk._kernels.linear import residuals
from minrisk._utils.workers import Workers
from minrisk.ensemble import defaults
from minrisk.ensemble.defaults import BEND, LANDMARKS, PENALTY, REACH, SMOOTH_ROWS
from minrisk.ensemble.driver import Driver
from minrisk.ensemble.ensemble import averaged_model
from minrisk.ensemble.members import Task
from minrisk.ensemble.smooth import Smooth, SmoothMember, fit_basis
from minrisk.ensemble.table import Table
from minrisk.model import projection as module
from minrisk.model.additive import FINER
from minrisk.model.projection import SmoothScores
from minrisk.rows.costs import RowCosts
from minrisk.rows.folded import FoldedRows
from tests.helpers.pools import USUAL


def some_scores(rng, d, m, D):
    """Any numbers; the first feature is left out."""
    scale = rng.uniform(0.5, 2, d)
    scale[0] = 0.0
    return SmoothScores(rng.normal(size=d), scale, rng.normal(size=(d, m)), 0.3, rng.normal(size=(m, D)))


def gaps(rng, X, share=0.2):
    """X with missing values."""
    return np.where(rng.random(X.shape) < share, np.nan, X)


def rings(seed, n, d=2, K=3):
    """Classes by the distance from the middle."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.digitize(np.sum(X**2, axis=1), d * np.linspace(0.5, 1.5, K - 1))


# -- rows ----------------------------------------------------------------------------------------------------------------
@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 12), st.integers(1, 4), st.integers(0, 10**6))
def test_scores_are_sums_of_kernels(n, d, m, D, seed):
    rng = np.random.default_rng(seed)
    smooth, X = some_scores(rng, d, m, D), gaps(rng, rng.normal(size=(n, d)))
    Z = np.nan_to_num((X[:, 1:] - smooth.center[1:]) / smooth.scale[1:])
    apart = np.sum((Z[:, :, None] - smooth.landmarks[None, 1:]) ** 2, axis=1) if d > 1 else np.zeros((n, m))
    expected = np.exp(-0.3 * apart)
    np.testing.assert_allclose(smooth.kernels(X), expected, rtol=1e-12)
    scores = np.ones((n, D))
    smooth.times(2.0).add_scores(X, scores)
    np.testing.assert_allclose(scores, 1.0 + 2.0 * expected @ smooth.vectors, rtol=1e-10, atol=1e-12)


def test_a_row_has_the_same_bits_wherever_it_stands(monkeypatch):
    rng = np.random.default_rng(1)
    smooth, X = some_scores(rng, 6, 9, 3), gaps(rng, rng.normal(size=(300, 6)))

    def scores(X, workers=None):
        made = np.zeros((len(X), 3))
        smooth.add_scores(X, made, workers)
        return made

    whole, order = scores(X), rng.permutation(300)
    np.testing.assert_array_equal(scores(X[order]), whole[order])
    np.testing.assert_array_equal(scores(np.asfortranarray(X)), whole)
    for i in range(300):
        np.testing.assert_array_equal(scores(X[i : i + 1]), whole[i : i + 1])
    for rows in (1, 7, 299, 300):
        monkeypatch.setattr(module, "BLOCK_VALUES", 6 * rows)
        with Workers(3) as workers:
            np.testing.assert_array_equal(scores(X, workers), whole)


# -- landmarks -----------------------------------------------------------------------------------------------------------
def test_where_every_row_is_a_landmark_coordinates_give_the_kernels():
    """The kernels are scikit-learn's."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3)) * [1.0, 10.0, 0.1]
    basis, Z = fit_basis(X, np.ones(80), 0), (X - X.mean(axis=0)) / X.std(axis=0)
    expected = rbf_kernel(Z, gamma=basis.kernels.width)
    np.testing.assert_allclose(basis.coordinates @ basis.coordinates.T, expected, atol=1e-3)
    distances = np.sum((Z[:, None] - Z) ** 2, axis=2)[np.triu_indices(80, 1)]
    assert basis.kernels.width == pytest.approx(0.5 / (REACH * np.median(distances)))


@pytest.mark.parametrize("n", [50, 400])
def test_coordinates_are_orthogonal_and_of_the_functions_that_they_stand_for(n):
    rng = np.random.default_rng(3)
    X, weight = gaps(rng, rng.normal(size=(n, 4))), rng.uniform(0.2, 2, n)
    basis, B = fit_basis(X, weight, 0), rng.normal(size=(1, 1))
    assert basis.kernels.landmarks.shape == (4, min(n, LANDMARKS))
    squares = (basis.coordinates * weight[:, None]).T @ basis.coordinates
    np.testing.assert_allclose(squares, np.diag(basis.squares), atol=1e-8 * basis.squares.max())
    B, scores = rng.normal(size=(len(basis.squares), 3)), np.zeros((n, 3))
    basis.scores(B).add_scores(X, scores)
    np.testing.assert_allclose(scores, basis.coordinates @ B, rtol=1e-6, atol=1e-6)


def test_neither_order_nor_copies_matter():
    rng = np.random.default_rng(4)
    X = np.round(gaps(rng, rng.normal(size=(300, 3))), 1)
    order, twice = rng.permutation(300), np.repeat(np.arange(300), 2)
    one, other = fit_basis(X, np.ones(300), 7), fit_basis(X[order], np.ones(300), 7)
    np.testing.assert_allclose(one.kernels.landmarks, other.kernels.landmarks, atol=1e-12)
    assert not np.array_equal(fit_basis(X, np.ones(300), 8).kernels.landmarks, one.kernels.landmarks)
    weighted, repeated = fit_basis(X, np.full(300, 2.0), 7), fit_basis(X[twice], np.ones(600), 7)
    np.testing.assert_allclose(weighted.kernels.landmarks, repeated.kernels.landmarks, atol=1e-12)
    np.testing.assert_allclose(weighted.squares, repeated.squares, rtol=1e-9, atol=1e-9 * weighted.squares.max())


@pytest.mark.parametrize("X", [np.ones((5, 2)), np.full((5, 2), np.nan), np.zeros((1, 3)), np.full((4, 1), 1e300)])
def test_rows_that_do_not_differ_have_no_landmarks(X):
    assert fit_basis(X, np.ones(len(X)), 0) is None


# -- one member ----------------------------------------------------------------------------------------------------------
def smooth_kind(X, costs):
    return smooth_kind_of(X, FoldedRows(costs, np.zeros(len(X), dtype=int)))


def smooth_kind_of(X, folded):
    table = Table(X, np.arange(len(X)), None)
    return Smooth.of(Task(table, folded, "softmax", "softmax", USUAL, Driver()))


def member_of(X, y, weight, left_out, K):
    """The kind, and the member of a fold of these rows, between two other folds; None: of all rows."""
    costs = RowCosts(1.0 - np.eye(K), y.astype(np.int32), weight, y.astype(np.int32))
    folds = np.zeros(len(X), dtype=int)
    for row in left_out or ():
        folds[row:] += 1
    kind = smooth_kind_of(X, FoldedRows(costs, folds))
    return kind, kind.member(1 if left_out else None)


def told(basis, y, weight, rows, K, rounds):
    """Scores of all rows after each round, by the definition: ridge regressions on the gradient, solved one by one."""
    Phi, w = basis.coordinates, np.where(rows, weight, 0.0)
    counts = np.bincount(y, weights=w, minlength=K)
    start = np.log((counts + 0.5) / (counts + 0.5).sum())
    b, scores = np.zeros((Phi.shape[1], K)), []
    bound = 0.5 * (Phi * weight[:, None]).T @ Phi
    for t in range(rounds):
        H = np.exp(start + Phi @ b)
        gradient = Phi.T @ (w[:, None] * (np.eye(K)[y] - H / H.sum(axis=1, keepdims=True)))
        b = b + np.linalg.solve(bound + PENALTY / (1 + t / BEND) ** 2 * w.sum() * np.eye(len(bound)), gradient)
        scores.append(start + Phi @ b)
    return scores


@pytest.mark.parametrize("K", [2, 4])
def test_steps_are_ridge_regressions_on_the_gradient(K):
    rng = np.random.default_rng(5)
    X, y = rings(5, 150, 3, K)
    weight = rng.uniform(0.5, 2, 150)
    kind, member = member_of(X, y, weight, (40, 90), K)
    rows = np.ones(150, dtype=bool)
    rows[40:90] = False
    expected = told(kind.basis, y, weight, rows, K, 30)
    member.train([0, 1, 3])
    member.train([30])
    for checkpoint in (1, 3, 30):
        np.testing.assert_allclose(member.scores(checkpoint), expected[checkpoint - 1][40:90], rtol=1e-5, atol=1e-5)
    last = member.result(30)
    scores = np.tile(last.intercept, (150, 1))
    member.smooth().add_scores(X, scores)
    np.testing.assert_allclose(scores, expected[-1], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(member.scores(0), np.tile(last.intercept, (50, 1)).astype(np.float32))


@settings(max_examples=40, deadline=None)
@given(st.integers(4, 80), st.integers(1, 4), st.integers(2, 5), st.floats(0.1, 10), st.integers(0, 10**6))
def test_every_step_lowers_the_log_loss(n, d, K, spread, seed):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(n, d)), rng.integers(0, K, n), rng.uniform(0.1, 1, n) ** spread
    kind, member = member_of(X, y, weight, None, K)
    losses = []
    for t in range(41):
        member.train([t])
        H = member.start + kind.basis.coordinates @ member._weights
        losses.append(weight @ (np.log(np.exp(H).sum(axis=1)) - H[np.arange(n), y]))
    assert np.all(np.diff(losses) <= 1e-9 * weight.sum())


def test_residuals_are_the_gradient_of_the_log_loss():
    rng = np.random.default_rng(6)
    H, a, y, w = rng.normal(size=(7, 3)), rng.normal(size=3), rng.integers(0, 3, 7), rng.uniform(0.5, 2, 7)

    def loss(H):
        return np.sum(w * (np.log(np.exp(H + a).sum(axis=1)) - (H + a)[np.arange(7), y]))

    found, expected = np.empty((7, 3)), np.empty((7, 3))
    residuals(H, a, y, w, found)
    for i, k in np.ndindex(7, 3):
        step = np.zeros((7, 3))
        step[i, k] = 1e-6
        expected[i, k] = -(loss(H + step) - loss(H - step)) / 2e-6
    np.testing.assert_allclose(found, expected, atol=1e-7)
    far = np.array([[1e4, -1e4, 0.0]])
    residuals(far, np.zeros(3), np.array([1]), np.ones(1), found := np.empty((1, 3)))
    np.testing.assert_allclose(found, [[-1.0, 1.0, 0.0]])


# -- in a pool -----------------------------------------------------------------------------------------------------------
def line_of(model, variant="smooth"):
    return next(line for line in model.selection_ if line["variant"] == variant)


def smooth_data(seed=0, n=300):
    """A boundary that trees make of stairs, and features of different units."""
    X, y = rings(seed, n, 4, 3)
    return X * [1.0, 100.0, 1e-3, 5.0] + [0.0, 3.0, 1.0, -2.0], y


@pytest.fixture(scope="module")
def fitted():
    model = MinRiskClassifier(random_state=0, n_estimators=30).fit(*smooth_data())
    assert model.model_.smooth is not None and len(model.model_) > 0
    return model


@pytest.mark.parametrize("seed", range(3))
def test_smooth_boundaries_are_found(seed, monkeypatch):
    (X, y), (X_test, y_test) = smooth_data(seed), smooth_data(seed + 10, 3000)
    found = MinRiskClassifier(random_state=0).fit(X, y)
    monkeypatch.setattr(defaults, "SMOOTH_ROWS", 0)
    trees = MinRiskClassifier(random_state=0).fit(X, y)
    assert trees.model_.smooth is None and {line["variant"] for line in trees.selection_} == {
        "plain",
        "logistic",
        "random",
        "gentle",
    }
    with_smooth, without = (log_loss(y_test, model.predict_proba(X_test)) for model in (found, trees))
    assert with_smooth < 0.8 * without and line_of(found)["share"] > 0.3


def test_the_model_has_one_member_of_all_rows(fitted, monkeypatch):
    kept = []
    monkeypatch.setattr("minrisk.ensemble.ensemble.averaged_model", lambda *a: kept.append(a) or averaged_model(*a))
    X, y = smooth_data()
    model = MinRiskClassifier(random_state=0, n_estimators=30).fit(X, y)
    pool = kept[0][0]
    fit, share = next((f, s) for f, s in zip(pool.fits, pool.shares, strict=True) if f.kind.name == "smooth")
    (member,), basis = fit.members, fit_basis(X, np.ones(300), model._seed)
    expected = told(basis, y, np.ones(300), np.ones(300, dtype=bool), 3, fit.n_rounds)[-1]
    scores = np.tile(share * member.intercept, (300, 1))
    model.model_.smooth.add_scores(X, scores)
    np.testing.assert_allclose(scores, share * expected, rtol=1e-6, atol=1e-6)
    trees = [f for f in pool.fits if f.kind.name != "smooth"]
    assert trees and model.model_.trees_per_round == 4 * len(trees)
    assert len(model.model_) == max(f.n_rounds for f in trees) == model.n_iter_ == len(model.train_loss_) - 1


def test_smooth_members_may_be_alone(tmp_path):
    """Trees cannot split: the pool is the smooth member, at the weight and the shift that left-out rows give it."""
    X, y = smooth_data(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it has learnt something
        model = MinRiskClassifier(random_state=0, min_samples_leaf=len(X)).fit(X, y)
    assert line_of(model)["share"] == 1.0 and all(line["share"] == 0.0 for line in model.selection_[:-1])
    X_test, y_test = smooth_data(13, 3000)
    p = model.predict_proba(X_test)
    assert log_loss(y_test, p) < 0.3 * log_loss(y_test, np.tile(np.bincount(y) / len(y), (3000, 1)))
    scores = np.tile(model.model_.intercept, (3000, 1))
    model.model_.smooth.add_scores(X_test, scores)
    grid = FINER * model.model_.vectors.unit  # on which vectors of trees would be added without rounding
    scores = np.rint(scores / grid) * grid / model.model_.temperature
    np.testing.assert_allclose(p, softmax(scores, axis=1), rtol=1e-9)
    minrisk.save(model, tmp_path / "model")
    np.testing.assert_array_equal(minrisk.load(tmp_path / "model").predict_proba(X_test), p)


@pytest.mark.parametrize("surrogate", ["exponential", "coupled", "gll", "gel"])
def test_only_the_softmax_has_smooth_members(surrogate):
    model = MinRiskClassifier(random_state=0, surrogate=surrogate, n_estimators=5).fit(*smooth_data())
    assert "smooth" not in {line["variant"] for line in model.selection_} and model.model_.smooth is None


@pytest.mark.parametrize(
    ("n", "d", "K", "some"),
    [
        (SMOOTH_ROWS, 2, 3, True),
        (SMOOTH_ROWS + 1, 2, 3, False),
        (1500, 2, 80, True),
        (1500, 2, 100, False),
        (600, 1700, 3, True),
        (700, 1700, 3, False),
        (30, 2001, 3, False),
    ],
)
def test_members_are_smooth_on_few_rows(n, d, K, some):
    X, y = np.random.default_rng(0).normal(size=(n, d)), np.arange(n, dtype=np.int32) % K
    assert (smooth_kind(X, RowCosts(1.0 - np.eye(K), y, np.ones(n), y)) is not None) == some


def test_few_rows_are_judged_by_all_folds_at_once(monkeypatch):
    made = []
    own = SmoothMember.__init__
    monkeypatch.setattr(SmoothMember, "__init__", lambda self, *given: made.append(given) or own(self, *given))
    rng = np.random.default_rng(0)
    for n, members in ((499, 4), (501, 1)):
        made.clear()
        model = MinRiskClassifier(random_state=0, n_estimators=5).fit(rng.normal(size=(n, 3)), np.arange(n) % 3)
        assert len(made) == members and line_of(model)["share"] == 0  # there is nothing to learn


def test_landmarks_of_a_weighted_fit_are_those_of_repeated_rows():
    X, y = smooth_data()
    weight = np.random.default_rng(2).integers(0, 3, 300)
    again = np.repeat(np.arange(300), weight)

    def fit(X, y, weight):
        fold = np.floor(1000 * X[:, 0]) % 4
        cv = [(np.flatnonzero(fold != b), np.flatnonzero(fold == b)) for b in range(4)]
        model = MinRiskClassifier(random_state=3, n_estimators=30, cv=cv)
        return model.fit(X, y, sample_weight=weight)

    one, two = fit(X, y, weight.astype(float)), fit(X[again], y[again], None)
    assert one.model_.smooth is not None
    np.testing.assert_allclose(one.model_.smooth.landmarks, two.model_.smooth.landmarks, atol=1e-10)


def test_the_last_stage_is_the_decision_function(fitted):
    X, _ = smooth_data(5)
    *stages, last = fitted.staged_decision_function(X)
    assert len(stages) + 1 == fitted.n_iter_
    np.testing.assert_array_equal(last, fitted.decision_function(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_have_the_same_bits_after_a_round_trip_and_row_by_row(fitted, dtype, tmp_path):
    X = smooth_data(4, 5000)[0].astype(dtype)
    X[7], X[8, 1] = np.nan, np.nan
    p = fitted.predict_proba(X)
    minrisk.save(fitted, tmp_path / "model")
    loaded = minrisk.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    np.testing.assert_array_equal(loaded.set_params(n_jobs=3).predict_proba(np.asfortranarray(X)), p)
    for i in (*range(40), 4095, 4096, 4999):
        np.testing.assert_array_equal(fitted.predict_proba(X[i : i + 1]), p[i : i + 1])
    minrisk.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_values_of_any_size_are_answered(fitted):
    X = np.array([[1e308, -1e308, 1e-308, 0.0], [np.nan] * 4])
    assert np.all(np.isfinite(fitted.predict_proba(X)))


def test_iris_gains(monkeypatch):
    X, y = load_iris(return_X_y=True)
    losses = []
    for rows in (SMOOTH_ROWS, 0):
        monkeypatch.setattr(defaults, "SMOOTH_ROWS", rows)
        losses.append(log_loss(y, cross_val_predict(MinRiskClassifier(random_state=0), X, y, method="predict_proba")))
    assert losses[0] < 0.9 * losses[1]


def test_a_checkpoint_that_was_passed_over_is_made_when_asked_for():
    """Under a budget of time members of other folds may stop where the first one has not."""
    X, y = smooth_data()
    kind = member_of(X, y, np.ones(len(y)), [100, 200], int(y.max()) + 1)[0]
    passed, asked = kind.member(1), kind.member(1)
    passed.train([5, 12])
    asked.train([5, 8])
    np.testing.assert_array_equal(passed.scores(8), asked.scores(8))
