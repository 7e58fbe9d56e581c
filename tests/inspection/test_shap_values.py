"""SHAP values against sums over all coalitions, and against shap's own."""

import itertools
import math
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification

import minrisk
from minrisk._utils.workers import Workers
from minrisk.algorithms import ALGORITHMS
from minrisk.data.sparse import DENSE_VALUES, SparseRows
from minrisk.ensemble import training
from minrisk.ensemble.smooth import Smooth
from minrisk.ensemble.trees import Random
from minrisk.inspection import ShapExplainer, cost_importances, shap_values, to_shap, wide_columns
from minrisk.inspection.shap_scores import (
    SIDE_BY_SIDE,
    ScoreShapley,
    gauss_legendre,
    linear_shares,
    sufficient_points,
    with_linear_features,
)
from tests.inspection.test_tree_frame import planes


# -- the slow twin: every tree walked down for every coalition --------------------------------------------------------
def walked(tree, vectors, x, known, counts, node=0):
    """E[f(x) a | x_known] of one tree, Algorithm 1 of Lundberg, Erion and Lee (2018)."""
    left = int(tree.left[node])
    if left == node:
        return tree.value[node] * vectors[tree.vector[node]]
    j = int(tree.feature[node])
    if known[j]:
        return walked(tree, vectors, x, known, counts, left + int(x[j] > tree.threshold[node]))
    share = counts[left] / counts[node] if counts[node] else 0.5
    low, high = (walked(tree, vectors, x, known, counts, left + side) for side in (0, 1))
    return share * low + (1.0 - share) * high


def counted(tree, X):
    """Rows at each node."""
    counts = np.zeros(len(tree.left), dtype=int)
    for x in X:
        node = 0
        counts[0] += 1
        while int(tree.left[node]) != node:
            node = int(tree.left[node]) + int(x[tree.feature[node]] > tree.threshold[node])
            counts[node] += 1
    return counts


def games(model, rows, background):
    """Of every row and coalition of wide columns that trees split: the expected scores; and these columns."""
    vectors, packed = np.asarray(model.vectors), model.packed
    wide, behind = with_linear_features(model, rows), with_linear_features(model, background)
    players = np.unique(packed.feature)
    trees = [packed.tree(t) for t in range(len(packed))]
    counts = [counted(tree, behind) for tree in trees]
    found = np.empty((len(rows), 2 ** len(players), len(model.intercept)))
    for i, x in enumerate(wide):
        for s, inside in enumerate(itertools.product([False, True], repeat=len(players))):
            known = np.zeros(wide.shape[1], dtype=bool)
            known[players[list(inside)]] = True
            found[i, s] = model.intercept
            for t, tree in enumerate(trees):
                own = vectors[packed.vector_offsets[t] : packed.vector_offsets[t + 1]]
                found[i, s] += walked(tree, own, x, known, counts[t])
    return found, players


def shapley(game, n_players):
    """Shapley values (n, players, ...) of games (n, 2^players, ...)."""
    subsets = list(itertools.product([False, True], repeat=n_players))
    place = {subset: s for s, subset in enumerate(subsets)}
    values = np.zeros((len(game), n_players, *game.shape[2:]))
    for subset in subsets:
        for j in np.flatnonzero(~np.array(subset)):
            size = sum(subset)
            weight = math.factorial(size) * math.factorial(n_players - size - 1) / math.factorial(n_players)
            with_j = tuple(inside or k == j for k, inside in enumerate(subset))
            values[:, j] += weight * (game[:, place[with_j]] - game[:, place[subset]])
    return values


def small_problem(n_classes, missing=False, n_features=4):
    X, y = make_classification(
        120,
        n_features,
        n_informative=n_features,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=n_classes,
    )
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.15] = np.nan
    return X, y


def few_rounds(cls):
    made = cls()
    given = made.get_params()
    chosen = {
        "weak_learner": "tree",
        "n_estimators": 6,
        "max_depth": 4,
        "max_leaf_nodes": 12,
        "random_state": 0,
        "cv": 2,
        "pool": False,
    }
    return made.set_params(**{key: value for key, value in chosen.items() if key in given})


def explained(model):
    """Whether its learners are trees with constant leaves and sums of scores."""
    packed = model.model_.packed
    return hasattr(packed, "threshold") and packed.slope is None and model.model_.decoder is None


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("cls", ALGORITHMS, ids=lambda cls: cls.__name__)
def test_values_are_those_of_all_coalitions(cls, n_classes, missing):
    X, y = small_problem(n_classes, missing)
    try:
        model = few_rounds(cls).fit(X[:90], y[:90])
    except ValueError as refused:
        pytest.skip(str(refused))
    if not explained(model):
        with pytest.raises(TypeError, match="shap_values explains"):
            shap_values(model, X[90:92], X[:90])
        return
    found = shap_values(model, X[90:93], X[:90])
    game, players = games(model.model_, X[90:93], X[:90])
    expected = np.zeros(found.values.shape)
    expected[:, players] = shapley(game, len(players))
    np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-11 * np.abs(game).max())
    np.testing.assert_allclose(found.base_values, game[:, 0], rtol=1e-12, atol=1e-12 * np.abs(game).max())
    np.testing.assert_allclose(found.sums, model.model_.scores(X[90:93]), rtol=1e-9, atol=1e-11 * np.abs(game).max())


def test_every_kind_of_algorithm_is_explained():
    """The test above refuses few."""
    X, y = small_problem(3)
    refused = {cls for cls in ALGORITHMS if not explained(few_rounds(cls).fit(X, y))}
    assert refused == {cls for cls in ALGORITHMS if cls._arrays & {"output code", "similarities"}}


@pytest.fixture(scope="module")
def deep():
    """Trees whose paths split a feature several times, and nodes that no row of the background comes to."""
    X, y = small_problem(3, missing=True)
    model = minrisk.MinRiskClassifier(pool=False, cv=1, n_estimators=5, max_leaf_nodes=40, random_state=0).fit(X, y)
    return model, X, y


def test_repeated_features_and_ways_that_no_row_took(deep):
    model, X, _ = deep
    background = X[:25]
    trees = [model.model_.packed.tree(t) for t in range(len(model.model_.packed))]
    assert any((counted(tree, background) == 0).any() for tree in trees)
    assert max(tree.depth for tree in trees) > X.shape[1]
    found = shap_values(model, X[30:34], background)
    game, players = games(model.model_, X[30:34], background)
    np.testing.assert_allclose(found.values[:, players], shapley(game, len(players)), rtol=1e-9, atol=1e-11)


def test_linear_features_go_to_the_columns_that_make_them(monkeypatch):
    monkeypatch.setattr(training, "CHALLENGERS", (Random, Smooth))
    frame, y = planes(150)
    background = frame.to_numpy()
    model = minrisk.MinRiskClassifier(random_state=1, n_estimators=20).fit(background, y)
    additive = model.model_
    assert additive.projection is not None
    X = background[::15].copy()
    X[1, 2] = np.nan
    X[2] = additive.projection.center  # no column is apart from the mean
    with Workers() as workers:
        scores = ScoreShapley(model, background, workers)
    wide = np.zeros((len(X), 4 + additive.projection.n_columns, 3))
    wide[:, scores.used] = scores.trees.values(scores.codes(X))
    expected = wide[:, :4].copy()
    for i, x in enumerate(X):
        for c in range(additive.projection.n_columns):
            part = np.abs(additive.projection.weights[:, c] * (x - additive.projection.center))
            part = np.nan_to_num(part)
            share = part / part.sum() if part.sum() > 0 else additive.projection.loadings[:, c]
            expected[i] += share[:, None] * wide[i, 4 + c]
    if scores.smooth is not None:
        expected += scores.smooth.values(X)
    found = shap_values(model, X, background)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    np.testing.assert_allclose(found.sums, additive.scores(X), atol=1e-9)
    assert linear_shares(additive.projection, X).sum(axis=1) == pytest.approx(1.0)


def test_smooth_members_by_all_coalitions():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.ones(len(X))])  # a constant is left out
    model = minrisk.MinRiskClassifier(random_state=0).fit(X, y)
    smooth = model.model_.smooth
    if smooth is None:  # the pool may leave it out: the kernels alone then
        from minrisk.model.projection import SmoothScores

        rng = np.random.default_rng(0)
        scale = np.append(X[:, :4].std(axis=0), 0.0)
        smooth = SmoothScores(X.mean(axis=0), scale, rng.normal(size=(5, 20)), 0.3, rng.normal(size=(20, 3)))
    from minrisk.inspection.shap_scores import SmoothShapley

    rows = X[::40].copy()
    rows[0, 1] = np.nan
    explainer = SmoothShapley(smooth, X)
    z = (X[:, :4] - smooth.center[:4]) / smooth.scale[:4]
    mean = np.exp(-smooth.width * (z[:, :, None] - smooth.landmarks[:4]) ** 2).mean(axis=0)
    z = np.nan_to_num((rows[:, :4] - smooth.center[:4]) / smooth.scale[:4])
    own = np.exp(-smooth.width * (z[:, :, None] - smooth.landmarks[:4]) ** 2)
    game = np.empty((len(rows), 16, 3))
    for s, inside in enumerate(itertools.product([False, True], repeat=4)):
        game[:, s] = np.where(np.array(inside)[:, None], own, mean).prod(axis=1) @ smooth.vectors
        known = np.array([*inside, False])
        np.testing.assert_allclose(explainer.expected_scores(rows, known), game[:, s], atol=1e-12)
    values = explainer.values(rows)
    np.testing.assert_allclose(values[:, :4], shapley(game, 4), atol=1e-12)
    assert not values[:, 4].any()
    np.testing.assert_allclose(explainer.base, game[0, 0], atol=1e-12)


@pytest.mark.parametrize("n_factors", [65, 300, 1000])
def test_fewer_points_do_for_many_factors(n_factors):
    """Against the integral of (1 - t)^a t^b, by its closed form."""
    n_points = sufficient_points(n_factors)
    first, point, weight = gauss_legendre(n_points)
    t, w = point[first[n_points] :], weight[first[n_points] :]
    for b in (0, 1, 5):
        a = n_factors - b
        exact = math.exp(math.lgamma(a + 1) + math.lgamma(b + 1) - math.lgamma(a + b + 2))
        assert w @ ((1.0 - t) ** a * t**b) == pytest.approx(exact, rel=1e-9)


# -- against shap -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["REBELClassifier", "AOSOLogitBoostClassifier", "MinRiskClassifier"])
def test_the_same_as_shap(name):
    shap = pytest.importorskip("shap")
    X, y = load_wine(return_X_y=True)
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    given = {"pool": False, "n_estimators": 20} if name == "MinRiskClassifier" else {"n_estimators": 30}
    model = getattr(minrisk, name)(random_state=0, **given).fit(X[::2], y[::2])
    background = X[:20]  # not every leaf has a row
    explainer = shap.TreeExplainer(to_shap(model, background))
    theirs, ours = explainer(X[1::2]), shap_values(model, X[1::2], background)
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-9, rtol=1e-6)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, atol=1e-9, rtol=1e-6)
    np.testing.assert_allclose(explainer.model.predict(X[1::2]), model.model_.scores(X[1::2]), atol=1e-9)


def test_linear_features_as_wide_columns_of_shap():
    shap = pytest.importorskip("shap")
    X, y = load_digits(return_X_y=True)
    model = minrisk.MinRiskClassifier(random_state=0, n_estimators=8).fit(X[::4], y[::4])
    assert model.model_.projection is not None
    if model.model_.smooth is not None:
        with pytest.raises(TypeError, match="smooth members"):
            to_shap(model, X[::4], linear=True)
        model.model_ = minrisk.model.additive.replace(model.model_, smooth=None)
    with pytest.raises(TypeError, match="linear=True"):
        to_shap(model, X[::4])
    explainer = shap.TreeExplainer(to_shap(model, X[::4], linear=True))
    wide = wide_columns(model, X[1:6])
    theirs = explainer.shap_values(wide)
    with Workers() as workers:
        scores = ScoreShapley(model, X[::4], workers)
    np.testing.assert_allclose(scores.trees.values(scores.codes(X[1:6])), theirs[:, scores.used], atol=1e-9)
    np.testing.assert_allclose(explainer.expected_value, scores.base, atol=1e-9)


def test_an_explanation_for_pictures_of_shap():
    pytest.importorskip("shap")
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = minrisk.REBELClassifier(n_estimators=5).fit(X, y)
    found = shap_values(model, X[::10], X).explanation()
    assert found.shape == (15, 4, 3)
    assert list(found.feature_names) == list(X.columns)
    assert list(found.output_names) == ["0", "1", "2"]
    costs = shap_values(model, X[::10], X, of="cost").explanation()
    assert np.ndim(costs[0].base_values) == 0


@pytest.mark.filterwarnings("ignore")  # of shap and matplotlib
def test_pictures_of_shap_take_them():
    shap = pytest.importorskip("shap")
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    X, y = load_wine(return_X_y=True, as_frame=True)
    X["shade"] = np.where(X["hue"] > 1, "light", "dark")
    model = minrisk.MinRiskClassifier(random_state=0, n_estimators=10, pool=False).fit(X[::2], y[::2])
    of_costs = shap_values(model, X[1::2], X[::2], of="cost").explanation()
    of_scores = shap_values(model, X[1::2], X[::2]).explanation()
    shap.plots.beeswarm(of_costs, show=False)
    shap.plots.waterfall(of_scores[0, :, 1], show=False)
    assert any(" = " in label.get_text() for label in plt.gca().get_yticklabels())  # cells beside names
    plt.close("all")


# -- costs and log-odds -------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    cost = np.array([[0.0, 1, 1], [1, 0, 1], [10, 10, 0]])
    return minrisk.MinRiskClassifier(cost, random_state=0, pool=False, n_estimators=15).fit(X[::2], y[::2]), X, y, cost


def test_costs_of_decisions_add_up_in_stated_units(wine):
    model, X, _, cost = wine
    p = model.predict_proba(X[1::2])
    found = shap_values(model, X[1::2], X[::2], of="cost")
    np.testing.assert_array_equal(found.decisions, model.predict(X[1::2]))
    np.testing.assert_allclose(found.sums, (p @ cost)[np.arange(len(p)), found.decisions], rtol=1e-12, atol=1e-14)
    for decision in (0, 2):
        found = shap_values(model, X[1::2], X[::2], of="cost", decision=decision)
        np.testing.assert_allclose(found.sums, p @ cost[:, decision], rtol=1e-12, atol=1e-14)
        base = model.model_.probabilities(shap_values(model, X[:1], X[::2]).base_values)
        np.testing.assert_allclose(found.base_values, (base @ cost)[0, decision], rtol=1e-12)


def test_costs_of_decisions_are_linear_in_costs(wine):
    model, X, _, _ = wine
    rng = np.random.default_rng(0)
    first, second = ((1.0 - np.eye(3)) * rng.random((3, 3)) for _ in range(2))

    def values(cost):
        return shap_values(model, X[1::8], X[::2], of="cost", decision=1, cost=cost).values

    np.testing.assert_allclose(values(2.0 * first + 3.0 * second), 2 * values(first) + 3 * values(second), atol=1e-12)


def test_other_costs_decide_otherwise(wine):
    model, X, _, _ = wine
    other = np.array([[0.0, 20, 20], [1, 0, 1], [1, 1, 0]])
    found = shap_values(model, X[1::2], X[::2], of="cost", cost=other)
    np.testing.assert_array_equal(found.decisions, model.predict(X[1::2], cost=other))
    each = np.tile(other, (len(found.decisions), 1, 1))
    again = shap_values(model, X[1::2], X[::2], of="cost", cost=each)
    np.testing.assert_allclose(again.values, found.values, atol=1e-12)
    with_reject = minrisk.costs.with_reject(other, 0.2) if hasattr(minrisk.costs, "with_reject") else None
    found = shap_values(model, X[1::2], X[::2], of="cost", cost=with_reject)
    np.testing.assert_array_equal(found.decisions, model.predict(X[1::2], cost=with_reject))


@pytest.mark.parametrize("link", ["softmax", "sigmoid2"])
def test_the_line_integral_by_many_points(link):
    from minrisk.inspection.shap_values import ExpectedCost, LogOdds

    rng = np.random.default_rng(0)
    start, scores, costs = rng.normal(size=4), 30 * rng.normal(size=(6, 4)), rng.random((6, 4))
    costs[:, 0] = 0.0
    scores[0] = start  # a line without a length
    t = (np.arange(20000) + 0.5) / 20000
    for target in (ExpectedCost(link, 2.0, costs), LogOdds(link, 2.0, 1, 3)):
        found = target.mean_gradients(start, scores)
        moved = ((scores - start) * found).sum(axis=1)
        np.testing.assert_allclose(moved, target(scores) - target(np.tile(start, (6, 1))), rtol=1e-9, atol=1e-12)
        for i in range(6):
            points = start + t[:, None] * (scores[i] - start)
            one = target._replace(costs=np.tile(costs[i], (len(t), 1))) if hasattr(target, "costs") else target
            for k in range(4):
                step = np.zeros(4)
                step[k] = 1e-5
                slope = ((one(points + step) - one(points - step)) / 2e-5).mean()
                assert found[i, k] == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_log_odds_of_a_softmax_are_differences_of_scores(wine):
    model, X, _, _ = wine
    scores = shap_values(model, X[1::8], X[::2])
    found = shap_values(model, X[1::8], X[::2], of="log_odds", decision=2, against=0)
    expected = (scores.values[:, :, 2] - scores.values[:, :, 0]) / model.model_.temperature
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    p = model.predict_proba(X[1::8])
    np.testing.assert_allclose(found.sums, np.log(p[:, 2] / p[:, 0]), atol=1e-9)


def test_log_odds_of_two_classes_need_no_names():
    X, y = small_problem(2)
    model = minrisk.REBELClassifier(n_estimators=10).fit(X, y)
    found = shap_values(model, X[:9], X, of="log_odds")
    p = model.predict_proba(X[:9])
    np.testing.assert_allclose(found.sums, np.log(p[:, 1] / p[:, 0]), atol=1e-9)


def test_log_odds_of_a_class_against_itself_are_nothing(wine):
    """The gradient of log p_a - log p_a: both parts fall on one score, of sigmoids and of a softmax."""
    from minrisk.inspection.shap_values import LogOdds

    rng = np.random.default_rng(0)
    start, scores = rng.normal(size=3), rng.normal(size=(5, 3))
    for link in ("softmax", "softmax2", "sigmoid2"):
        assert not LogOdds(link, 1.5, 1, 1).mean_gradients(start, scores).any()
    model, X, _, _ = wine
    X3, y3 = small_problem(3)
    for fitted, rows in ((model, X), (minrisk.REBELClassifier(n_estimators=5).fit(X3, y3), X3)):
        found = shap_values(fitted, rows[:9], rows, of="log_odds", decision=1, against=1)
        assert not found.values.any() and not found.base_values.any()
    assert fitted.model_.link == "sigmoid2"


def test_coalitions_of_costs():
    X, y = small_problem(3, missing=True)
    cost = np.array([[0.0, 2, 5], [1, 0, 1], [4, 4, 0]])
    model = minrisk.MinRiskClassifier(cost, pool=False, cv=2, n_estimators=6, random_state=0).fit(X[:90], y[:90])
    rows, decision = X[90:94], 1
    found = shap_values(model, rows, X[:90], of="cost", decision=decision, by="coalitions")
    game, players = games(model.model_, rows, X[:90])
    worth = model.model_.probabilities(game.reshape(-1, 3)).reshape(game.shape) @ cost[:, decision]
    np.testing.assert_allclose(found.values[:, players], shapley(worth, len(players)), atol=1e-11)
    np.testing.assert_allclose(found.base_values, worth[:, 0], atol=1e-12)
    line = shap_values(model, rows, X[:90], of="cost", decision=decision)
    np.testing.assert_allclose(line.sums, found.sums, atol=1e-11)


# -- memory ---------------------------------------------------------------------------------------------------------------
def peak_of(go):
    """Bytes that Python and NumPy held at most beside what was there."""
    tracemalloc.start()
    go()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_coalitions_are_gone_through_some_rows_at_a_time(monkeypatch):
    X, y = small_problem(3, n_features=9)
    cost = np.array([[0.0, 2, 5], [1, 0, 1], [4, 4, 0]])
    model = minrisk.MinRiskClassifier(cost, pool=False, cv=2, n_estimators=6, random_state=0).fit(X, y)
    many = np.tile(X, (50, 1))
    explainer = ShapExplainer(model, X)
    for of, given in (
        ("cost", {}),
        ("cost", {"decision": np.arange(len(X)) % 3}),
        ("log_odds", {"decision": 0, "against": 2}),
    ):
        whole = explainer.explain(X, of=of, by="coalitions", **given)
        monkeypatch.setattr(sys.modules["minrisk.inspection.shap_values"], "GAMES_TOGETHER", 7)
        parts = explainer.explain(X, of=of, by="coalitions", **given)
        monkeypatch.undo()
        np.testing.assert_allclose(parts.values, whole.values, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(parts.base_values, whole.base_values)
    game = 8 * 2 ** len(np.unique(model.model_.packed.feature)) * len(many)
    assert game > 20e6
    assert peak_of(lambda: explainer.explain(many, of="cost", by="coalitions")) < game / 2


def test_a_sparse_background_of_kernels_never_is_one_array():
    """Their mean factors are those of the dense rows, whatever the blocks."""
    from minrisk.inspection.shap_scores import SmoothShapley
    from minrisk.model.projection import SmoothScores

    rng = np.random.default_rng(0)
    scale = np.where(np.arange(600) < 40, 1.0, 0.0)
    smooth = SmoothScores(np.zeros(600), scale, rng.normal(size=(600, 5)), 0.3, rng.normal(size=(5, 3)))
    dense = np.where(rng.random((6000, 600)) < 0.01, rng.normal(size=(6000, 600)), 0.0)
    rows = SparseRows(csr_matrix(dense))
    assert rows.shape[0] * rows.shape[1] < DENSE_VALUES and rows.height < len(rows) / 10
    found = []
    peak = peak_of(lambda: found.append(SmoothShapley(smooth, rows)))
    assert peak < dense.nbytes / 4
    np.testing.assert_array_equal(found[0].mean, SmoothShapley(smooth, dense).mean)


# -- laws ---------------------------------------------------------------------------------------------------------------
def test_a_feature_that_no_tree_splits_has_no_value():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.zeros(len(X))])
    model = minrisk.REBELClassifier(n_estimators=10).fit(X, y)
    for of in ("scores", "cost"):
        assert not shap_values(model, X, X, of=of).values[:, 4].any()


def test_rows_alone_and_threads_make_no_difference(deep):
    model, X, _ = deep
    for of in ("scores", "cost"):
        rows = np.concatenate([X, X, X[:30]])
        assert len(rows) > 2 * SIDE_BY_SIDE
        together = shap_values(model, rows, X, of=of).values
        np.testing.assert_array_equal(shap_values(model, rows, X, of=of, n_jobs=2).values, together)
        alone = np.concatenate([shap_values(model, rows[i : i + 1], X, of=of).values for i in (0, 3, 70, 149)])
        np.testing.assert_array_equal(alone, together[[0, 3, 70, 149]])


def test_rows_alone_make_no_difference_beside_linear_features_and_kernels():
    X, y = load_wine(return_X_y=True)
    model = minrisk.MinRiskClassifier(random_state=0).fit(X, y)
    assert model.model_.projection is not None
    explainer = ShapExplainer(model, X)
    for of in ("scores", "cost"):
        together = explainer.explain(X, of=of).values
        for i in (0, 77, 149):
            np.testing.assert_array_equal(explainer.explain(X[i : i + 1], of=of).values[0], together[i])


def test_models_that_learnt_nothing():
    X, y = np.zeros((20, 3)), np.arange(20) % 2
    model = minrisk.MinRiskClassifier(random_state=0).fit(X, y)
    found = shap_values(model, X[:2], X)
    assert not found.values.any()
    np.testing.assert_allclose(found.base_values, model.model_.scores(X[:2]))


def test_sparse_rows_are_explained_as_dense_ones():
    from scipy.sparse import csr_array

    X, y = load_digits(return_X_y=True)
    model = minrisk.REBELClassifier(n_estimators=5).fit(X, y)
    dense = shap_values(model, X[:70], X[::3])
    sparse = shap_values(model, csr_array(X[:70]), csr_array(X[::3]))
    np.testing.assert_array_equal(sparse.values, dense.values)
    np.testing.assert_array_equal(sparse.data, X[:70])


def test_columns_of_categories_are_one_column():
    rng = np.random.default_rng(0)
    many, few = rng.integers(0, 30, 300), rng.integers(0, 4, 300)
    X = pd.DataFrame({"many": [f"v{v}" for v in many], "size": rng.normal(size=300), "few": [f"w{v}" for v in few]})
    y = (many % 3 + (few > 1)) % 3
    model = minrisk.MinRiskClassifier(random_state=0, n_estimators=20).fit(X, y)
    found = shap_values(model, X[:20], X, of="scores")
    assert found.values.shape == (20, 3, 3)
    assert found.feature_names == ["many", "size", "few"]
    np.testing.assert_allclose(found.sums, model.model_.scores(model._check_X(X[:20])), atol=1e-9)
    assert found.data[0, 0] == X["many"][0]
    with pytest.raises(TypeError, match="holds categories"):
        to_shap(model, X)


def test_importances_in_the_unit_of_the_costs(wine):
    model, X, _, cost = wine
    names, values = cost_importances(model, X[1::2], X[::2])
    found = np.abs(shap_values(model, X[1::2], X[::2], of="cost").values).mean(axis=0)
    assert names == [f"x[{j}]" for j in np.argsort(-found, kind="stable")]
    np.testing.assert_allclose(values, np.sort(found)[::-1])
    again = cost_importances(model, X[1::2], X[::2], cost=5 * cost)
    np.testing.assert_allclose(again.values, 5 * values)


def test_tools_of_scikit_learn(wine):
    from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance

    model, X, y, cost = wine

    risk = minrisk.metrics.make_expected_cost_scorer(cost)
    found = permutation_importance(model, X[1::2], y[1::2], scoring=risk, n_repeats=3, random_state=0)
    assert found.importances_mean.max() > 0.0
    assert partial_dependence(model, X[1::2], [9], response_method="predict_proba")["average"].shape[0] == 3
    import matplotlib as mpl

    mpl.use("Agg")
    display = PartialDependenceDisplay.from_estimator(model, X[1::2], [9], target=2)
    import matplotlib.pyplot as plt

    plt.close(display.figure_)


# -- refusals -----------------------------------------------------------------------------------------------------------
def test_kind_refusals(wine):
    from sklearn.exceptions import NotFittedError
    from sklearn.tree import DecisionTreeClassifier

    model, X, y, _ = wine
    for match, given in (
        ("training rows", {}),
        ("of must be one of", {"background": X, "of": "cots"}),
        ("by must be one of", {"background": X, "of": "cost", "by": "lines"}),
        ("decision must be one of", {"background": X, "of": "cost", "decision": 7}),
        ("compares two classes", {"background": X, "of": "log_odds"}),
        ("against must be one of", {"background": X, "of": "log_odds", "decision": 0, "against": 9}),
        ("by says nothing to of='scores'", {"background": X, "by": "coalitions"}),
        ("decision says nothing", {"background": X, "decision": 1}),
        ("cost says nothing", {"background": X, "of": "log_odds", "decision": 1, "against": 0, "cost": np.eye(3)}),
        ("against says nothing", {"background": X, "of": "cost", "against": 1}),
        ("at most 12 features", {"background": X, "of": "cost", "by": "coalitions"}),
        ("shape", {"background": X, "of": "cost", "cost": np.zeros((2, 3, 3))}),
    ):
        with pytest.raises(ValueError, match=match):
            shap_values(model, X[:5], **given)
    with pytest.raises(TypeError, match="MinRiskClassifier"):
        shap_values(DecisionTreeClassifier().fit(X, y), X[:5], X)
    with pytest.raises(NotFittedError):
        shap_values(minrisk.MinRiskClassifier(), X[:5], X)
    with pytest.raises(ValueError, match="training rows"):
        to_shap(model)
    trained_on_costs = minrisk.REBELClassifier(cost=[[0, 1, 2], [1, 0, 1], [5, 1, 0]], n_estimators=3).fit(X, y)
    assert shap_values(trained_on_costs, X[:2], X).output_names == ["0", "1", "2"]
    with pytest.raises(ValueError, match="of='scores'"):
        shap_values(trained_on_costs, X[:2], X, of="cost")


def test_rows_elsewhere_are_asked_for(wine):
    dask_array = pytest.importorskip("dask.array")
    model, X, _, _ = wine
    there = dask_array.from_array(X, chunks=(50, 13))
    for rows, background in ((there, X), (X, there)):
        with pytest.raises(TypeError, match="compute"):
            shap_values(model, rows, background)


def test_costs_per_row_are_asked_for():
    X, y = load_wine(return_X_y=True)
    costs = np.where(np.arange(3) == y[:, None], 0.0, 1.0 + X[:, :1] / 10)
    model = minrisk.MinRiskClassifier(random_state=0, pool=False, n_estimators=5).fit(X, y, cost=costs)
    with pytest.raises(ValueError, match="costs per row"):
        shap_values(model, X[:2], X, of="cost")
    assert shap_values(model, X[:2], X, of="cost", cost=1 - np.eye(3)).values.shape == (2, 13)


def test_shap_is_imported_when_it_is_needed_only():
    code = "import sys, minrisk.inspection as i; i.shap_values; sys.exit('shap' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
