"""Localized similarities against their slow twin and the paper's bounds; distances, files, threads, explanations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

import minrisk
from minrisk import LocalizedSimilaritiesClassifier, REBELClassifier
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import boost
from minrisk.data.distances import Points, Units
from minrisk.learners.base import Round
from minrisk.learners.similarity import Similarities
from minrisk.rows.base import LIMITS, Limits
from minrisk.rows.similar import SimilarRows, neighbors_of
from minrisk.steps.base import StepProblem
from tests.helpers import naive_similarity as twin
from tests.helpers.common import COST, make_costs, slow_after


def similar(response="real", **options):
    return LocalizedSimilaritiesClassifier(response=response, **options)


def problem(seed, whole=False):
    """Points with repetitions, labels, weights."""
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(12, 40)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    X = rng.integers(0, 9, (n, d)).astype(float) if whole else rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    X[n - 3 :], y[n - 3 :] = X[:3], y[:3]  # coincident, alike
    return X, y, rng.uniform(0.5, 2.0, n), K


# -- exactness -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("response", ["real", "sign"])
def test_equals_the_twin(response, seed):
    X, y, weight, K = problem(seed)
    limit, smoothing, two = ((None, 3)[seed % 2], (0.0, 1e-3)[seed // 2 % 2], seed != 5)
    terms, losses, H = twin.boost(X, y, K, 10, response == "real", two, limit, smoothing, weight)
    model = similar(
        response, n_estimators=10, smoothing=smoothing, fit_intercept=False, n_candidates=limit, two_point=two
    ).fit(X, y, sample_weight=weight)
    made = len(model.train_loss_)
    np.testing.assert_allclose(model.train_loss_, losses[:made], rtol=1e-9)
    if made > 10:
        assert [tuple(learner.rows) for learner in model.model_.learners] == [rows for rows, _, _ in terms]
        np.testing.assert_allclose(model.model_.scores(X), H, atol=1e-8 * np.abs(H).max())
        new = X[::2] + np.random.default_rng(seed).normal(size=X[::2].shape) * X.std()
        expected = twin.scores(terms, X, new, K, response == "real")
        np.testing.assert_allclose(model.model_.scores(new), expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_neighbors", [1, 3, 50])
def test_neighbors_equal_the_twin(n_neighbors, seed):
    """Up to 50 features they are exact, and where none is opposite all points are looked at."""
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(40, 2)), rng.integers(0, 3, 40), rng.uniform(0.5, 2.0, 40)
    X[:, 0] += 2 * y
    terms, losses, H = twin.boost(X, y, 3, 10, smoothing=1e-3, sample_weight=weight, neighbors=n_neighbors)
    plain = similar(n_estimators=10, smoothing=1e-3, fit_intercept=False)
    model = clone(plain).set_params(n_neighbors=n_neighbors).fit(X, y, sample_weight=weight)
    assert [tuple(learner.rows) for learner in model.model_.learners] == [rows for rows, _, _ in terms]
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-9)
    np.testing.assert_allclose(model.model_.scores(X), H, atol=1e-8 * np.abs(H).max())
    if n_neighbors == 50:
        np.testing.assert_array_equal(plain.fit(X, y, sample_weight=weight).train_loss_, model.train_loss_)


@pytest.mark.parametrize(("d", "least"), [(3, 1.0), (200, 0.8)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_neighbors_are_near(d, least, offset):
    """Of rows on 60 directions in 200 features most are found."""
    rng = np.random.default_rng(0)
    X = (
        offset + (rng.normal(size=(400, 60)) / np.arange(1, 61)) @ rng.normal(size=(60, d))
        if d > 60
        else (offset + rng.normal(size=(400, d)))
    )
    found = neighbors_of(Points.of(X, Units.of(X, "none")), 10)
    distance = np.sum((X[:, None] - X) ** 2, axis=2) + np.diag(np.full(400, np.inf))
    exact = np.argsort(distance, axis=1)[:, :10]
    shared = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, exact, strict=True)])
    assert found.shape == (400, 10) and shared >= least
    assert not np.any(found == np.arange(400)[:, None])


def searched(X, y, K, H, weight, real, limits=LIMITS):
    """Rows at the scores H, after steps 0 to 6 of a round, what `fit` found, and the problem."""
    rows = SimilarRows(X, Units.of(X, "none"), make_costs(1.0 - np.eye(K), y, weight), Workers(), limits=limits)
    rows.scores[:] = H
    recipe = similar("real" if real else "sign", smoothing=0.0)._recipe(rows.cost_facts, (np.empty(0),) * X.shape[1])
    totals = rows.gradients(recipe.loss, 0.0)
    stated = StepProblem(rows, recipe.loss, rows.weigh(None), float(totals.value.sum()), np.zeros(K), 0.0)
    found = Similarities(real).fit(Round(rows, stated, recipe.solver, np.arange(X.shape[1]), 0))
    return rows, found, stated


@pytest.mark.parametrize("seed", slow_after(4, range(10)))
@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("nearest", [LIMITS.nearest, 2])
def test_binarisation_and_every_candidate(seed, real, nearest):
    """Also where the nearest opposite points are all removed, and the others come to be sorted."""
    X, y, weight, K = problem(seed)
    H = np.random.default_rng(seed).normal(size=(len(y), K))
    rows, found, stated = searched(X, y, K, H, weight, real, Limits(nearest=nearest))
    W = weight.sum()
    sums, signs = twin.weights(y, H, weight)
    b, v, U = twin.binarised(sums, signs, weight)
    np.testing.assert_allclose(rows.moments() / np.trace(rows.moments()), U @ U.T / np.trace(U @ U.T), atol=1e-9)
    certain = np.abs(v) > 1e-9
    assert abs((rows._side * b)[certain].sum()) == certain.sum()  # equal, or all of them turned
    tried = twin.candidates(X, y, H, weight, real)
    order = [each[0] for each in tried]
    i = order[1][0]
    made = list(rows.opposites(i, real, None))
    assert [(i, pair.point) for pair in made] == order[2:]
    for pair, (_, span, _, loss) in zip(made, tried[2:], strict=True):
        assert pair.span == pytest.approx(span)
        value = stated.hessian.sum() - pair.drop  # twice the paper's, as w has its half
        assert value / (2 * W) == pytest.approx(loss, rel=1e-9)
    best = min(range(len(tried)), key=lambda c: round(tried[c][3], 9))
    assert tuple(found.learners[0].rows) == order[best]


# -- what the paper proves -------------------------------------------------------------------------------------------
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_perfect_binarisation_and_isolation_lower_the_loss_as_proven(seed):
    """Loss ratio <= 1 - 1 / (2 K N) for f = b, and <= 1 - 2 / (K N^2) for the best isolating learner, N >= 4."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(4, 30)), int(rng.integers(2, 6))
    X, y = np.arange(n, dtype=float)[:, None], rng.integers(0, K, n)
    H = rng.normal(size=(n, K)) * rng.uniform(0, 6)
    rows, _, stated = searched(X, y, K, H, np.ones(n), False)
    before = stated.hessian.sum()
    perfect = (before - rows.drop_along(rows._side.astype(float))) / before
    assert perfect <= 1.0 - 1.0 / (2 * K * n) + 1e-12
    i = rows.most_isolated()
    alone = np.where(np.arange(n) == i, 1.0, -1.0)
    assert (before - rows.drop_along(alone)) / before <= 1.0 - 2.0 / (K * n**2) + 1e-12


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["real", "sign"]), st.booleans())
def test_training_error_reaches_zero_and_the_loss_always_falls(seed, response, two_point):
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(2, 25)), int(rng.integers(2, 4))
    X = rng.integers(0, 4, (n, 2)) * rng.choice([1.0, 1e-9, 1e9, 0.0], 2) + rng.choice([0.0, 1.0])
    y = rng.integers(0, K, n)
    y[:2] = (0, 1)
    _, place = np.unique(X, axis=0, return_inverse=True)
    y = np.array([y[place.ravel() == p][0] for p in place.ravel()])  # coincident points agree
    if len(np.unique(y)) < 2:
        return
    model = similar(response, two_point=two_point, n_estimators=4000, target_loss="1/n", smoothing=0.0).fit(X, y)
    assert np.all(np.diff(model.train_loss_) < 0)
    assert model.train_loss_[-1] < 1 / n and np.array_equal(model.predict(X), y)


def test_coincident_points_of_different_classes():
    """Footnote 1: the majority of a location is decided for, and nothing breaks."""
    X = np.array([[0.0, 0], [0, 0], [0, 0], [1, 0], [1, 0], [0, 1]])
    y = np.array([0, 0, 1, 1, 1, 2])
    for response in ("real", "sign"):
        model = similar(response, n_estimators=300).fit(X, y)
        assert list(model.predict(X)) == [0, 0, 0, 1, 1, 2]
        assert np.all(np.isfinite(model.decision_function(X)))


@pytest.mark.parametrize("response", ["real", "sign"])
def test_few_rows_constant_features_and_extremes(response):
    two = similar(response, n_estimators=20).fit([[0.0], [1.0]], ["a", "b"])
    assert list(two.predict([[0.1], [0.9]])) == ["a", "b"]
    same = similar(response, n_estimators=5).fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    assert list(same.predict(np.zeros((2, 2)))) == [1, 1]
    for size in (1e300, 1e-300):
        X = np.array([[1.0, 0], [-1, 1], [0, 2], [1, 3]]) * size
        huge = similar(response, n_estimators=200, target_loss="1/n").fit(X, [0, 0, 1, 1])
        assert list(huge.predict(X)) == [0, 0, 1, 1] and np.all(np.isfinite(huge.decision_function(X)))


# -- distances -------------------------------------------------------------------------------------------------------
def test_whole_points_and_anchors_that_are_not_whole_in_blocks_of_rows():
    rng = np.random.default_rng(0)
    X, anchors = rng.integers(0, 256, (600, 4)).astype(np.uint8), rng.uniform(0, 255, (3, 4))
    points = Points.of(X, Units.of(X, "none"))
    real = Points.of(X + 0.25, Units.of(X, "none"))
    found, expected = np.zeros((2, 3, 600))
    for start, stop in ((0, 100), (100, 400), (400, 600)):
        points.distances(anchors, start, stop, found)
        real.distances(anchors + 0.25, start, stop, expected)
    assert points.X.dtype == np.uint8 and real.X.dtype == points.kind(anchors) == np.float64
    np.testing.assert_allclose(found, expected)


def test_distances_are_exact_for_whole_numbers_and_keep_small_differences():
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 256, (300, 50)).astype(np.uint8)
    units = Units.of(whole, "none")
    for X in (whole, whole.astype(float)):
        points = Points.of(X, units)
        anchors = points.at(np.arange(5))
        out = np.empty((5, 300), dtype=points.kind(anchors))
        assert out.dtype == np.int32
        points.distances(anchors, 0, 300, out)
        expected = ((whole[:5, None].astype(int) - whole[None].astype(int)) ** 2).sum(axis=2)
        np.testing.assert_array_equal(out, expected)
    X = 1e6 + rng.normal(size=(300, 50)) * 1e-4  # |x|^2 - 2 x z + |z|^2 would be noise
    points = Points.of(X, Units.of(X, "none"))
    out = np.empty((5, 300))
    points.distances(points.at(np.arange(5)), 0, 300, out)
    exact = ((X[:5, None].astype(np.longdouble) - X[None]) ** 2).sum(axis=2)
    assert np.max(np.abs(out - exact) / np.where(exact > 0, exact, 1)) <= 52 * 2.0**-53
    assert np.all(np.diag(out) == 0) and np.count_nonzero(out == 0) == 5


def test_whole_and_real_points_are_the_same_model():
    X, y, weight, _ = problem(3, whole=True)
    fits = [
        similar(n_estimators=15).fit(part, y, sample_weight=weight)
        for part in (X, X.astype(np.uint8), X.astype(np.float32))
    ]
    for model in fits[1:]:
        np.testing.assert_array_equal(model.decision_function(X), fits[0].decision_function(X))
    new = X + 0.25  # not whole: the other kernel
    np.testing.assert_allclose(fits[0].decision_function(new)[:3], fits[0].decision_function(np.r_[new[:3], X])[:3])
    np.testing.assert_array_equal(fits[0].decision_function(np.r_[new[:3], X])[3:], fits[0].decision_function(X))


@pytest.mark.parametrize("scaling", ["none", "standard", "robust"])
def test_scaling_and_missing_values(scaling):
    X, y = load_wine(return_X_y=True)
    X = X.copy()
    X[::7, 3] = np.nan
    model = similar(n_estimators=30, scaling=scaling).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.7
    if scaling == "none":
        return
    np.testing.assert_allclose(
        similar(n_estimators=30, scaling=scaling).fit(X * 1024.0 + 2.0, y).train_loss_, model.train_loss_, rtol=1e-6
    )
    middle = np.nanquantile(X, 0.5, axis=0, method="inverted_cdf") if scaling == "robust" else np.nanmean(X, axis=0)
    filled = np.where(np.isnan(X), middle, X)
    np.testing.assert_allclose(model.decision_function(filled), model.decision_function(X), rtol=1e-9, atol=1e-12)


# -- determinism, files, stages ----------------------------------------------------------------------------------------
def test_going_on_with_other_data_keeps_earlier_rounds():
    X, y = load_iris(return_X_y=True)
    model = similar(n_estimators=5, scaling="standard", warm_start=True).fit(X, y)
    before = model.decision_function(X)
    turned = np.random.default_rng(0).permutation(len(y))
    model.set_params(n_estimators=9).fit(2.0 * X[turned], y[turned])
    np.testing.assert_allclose(model.model_[:5].scores(X), before, rtol=1e-12)
    np.testing.assert_allclose(model.train_risk_[-1], np.mean(model.predict(2.0 * X) != y))


def test_blocks_of_rows_and_the_cache_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    X[:, 0] += y
    made = []
    for blocks, cache in (((), 1e9), ((1, 50, 173), 0.0)):
        rows = SimilarRows(
            X, Units.of(X, "none"), make_costs(COST, y, np.linspace(0.5, 2, 300)), Workers(2), cache, blocks=blocks
        )
        model = similar(n_estimators=6)
        progress = boost(rows, model._recipe(rows.cost_facts, (np.empty(0),) * 4), 6, 0)
        made.append((progress, rows.scores))
        assert len(rows._cache) <= max(rows._room, 64)
    np.testing.assert_array_equal(made[0][1], made[1][1])
    for a, b in zip(made[0][0].vectors, made[1][0].vectors, strict=True):
        np.testing.assert_array_equal(a, b)


def test_costs_change_decisions_and_per_row_costs_agree():
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    dear = np.array([[0, 1, 1], [1, 0, 1], [20, 20, 0.0]])
    plain, costly = similar(n_estimators=30).fit(X, y), similar(cost=dear, n_estimators=30).fit(X, y)
    assert np.sum(costly.predict(X) == 2) > np.sum(plain.predict(X) == 2)
    each = similar(n_estimators=30).fit(X, y, cost=dear[y])
    np.testing.assert_array_equal(each.decision_function(X), costly.decision_function(X))
    refer = similar(cost=np.column_stack([1 - np.eye(3), np.full(3, 0.2)]), n_estimators=10).fit(X, y)
    assert refer.decision_function(X).shape == (150, 4)


def test_stops_at_the_target():
    X, y = load_wine(return_X_y=True)
    model = similar(n_estimators=5000, target_loss="1/n").fit(X, y)
    assert model.train_loss_[-1] < 1 / len(y) <= model.train_loss_[-2]
    assert clone(model).set_params(target_loss=0.5).fit(X, y).train_loss_[-2] >= 0.5
    rounds = model.n_iter_
    assert model.set_params(warm_start=True).fit(X, y).n_iter_ == rounds  # already there


def test_parameters_are_checked():
    X, y = load_iris(return_X_y=True)
    for parameters, message in (
        ({"response": "soft"}, "response must be one of 'real', 'sign'"),
        ({"target_loss": "none"}, "target_loss must be a number above 0, .1.n., .zero risk. or None"),
        ({"n_candidates": 0}, "n_candidates must be"),
        ({"n_neighbors": 0}, "n_neighbors must be"),
        ({"scaling": "max"}, "scaling must be"),
        ({"fit_intercept": "each round"}, "fit_intercept must be True or False"),
        ({"cache_size": -1}, "cache_size must be"),
    ):
        with pytest.raises(ValueError, match=message):
            similar(**parameters).fit(X, y)


def test_importances_find_the_feature_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * (1.0, 1.0, 0.0)
    shares = similar(n_estimators=20).fit(X, X[:, 1] > 0).feature_importances_
    assert shares.sum() == pytest.approx(1.0) and shares[1] > shares[0] and shares[2] == 0


def test_explanations_add_up():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = similar(n_estimators=40).fit(X, names[y])
    reasons = minrisk.inspection.explain(model, X[[0, 77]], n_reasons=None)
    scores = model.decision_function(X[[0, 77]])
    for each, row in zip(reasons, scores, strict=True):
        first, second = np.argsort(-row)[:2]
        assert (each.decision, each.rival) == (names[first], names[second])
        total = each.constant + sum(reason.weight for reason in each.reasons)
        assert total == pytest.approx(row[first] - row[second])
        sizes = [abs(reason.weight) for reason in each.reasons]
        assert sizes == sorted(sizes, reverse=True)
        for reason in each.reasons:
            assert reason.like is not None and (reason.unlike is None or reason.unlike != reason.like)
    assert len(minrisk.inspection.explain(model, X[:1], n_reasons=3)[0].reasons) == 3
    with pytest.raises(TypeError, match="expected one, got REBELClassifier"):
        minrisk.inspection.explain(REBELClassifier(n_estimators=2).fit(X, y), X)


def test_without_rounds_a_constant_is_the_explanation(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = similar(target_loss=1e9).fit(X, y)
    minrisk.save(model, tmp_path / "m")
    for each in (model, minrisk.load(tmp_path / "m")):
        (why,) = minrisk.inspection.explain(each, X[:1])
        assert each.n_iter_ == 0 and why.decision == each.predict(X[:1])[0]
        assert why.lead == why.constant >= 0.0 and why.reasons == []
    again = minrisk.load(tmp_path / "m").set_params(warm_start=True, n_estimators=3, target_loss=None).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), similar(n_estimators=3).fit(X, y).decision_function(X))


def test_neighbours_among_wide_points_that_are_all_the_same():
    model = LocalizedSimilaritiesClassifier(n_estimators=3, n_neighbors=5)
    assert model.fit(np.ones((60, 80)), np.arange(60) % 3).predict(np.ones((1, 80))).shape == (1,)
