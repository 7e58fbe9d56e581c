"""Logistic members: against scikit-learn's regression on the same columns, as trees, and in a pool."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from minrisk import MinRiskClassifier, load, save
from minrisk.data.binning import fit_binner
from minrisk.ensemble import defaults
from minrisk.ensemble.driver import Driver
from minrisk.ensemble.logistic import (
    Logistic,
    LogisticMember,
    Regression,
    balanced_tree,
    bin_columns_of,
    fit_design,
    leaf_ends,
    penalty_of,
)
from minrisk.ensemble.members import Task
from minrisk.ensemble.table import Table
from minrisk.model.additive import pack
from minrisk.rows.columns import Columns
from minrisk.rows.costs import RowCosts
from minrisk.rows.folded import FoldedRows
from tests.helpers.common import slow_after, without_kinds
from tests.helpers.pools import USUAL


def drawn(seed, n=600, d=6, K=3, rare=1.0, size=0.7):
    """Rows whose log-odds are linear in the features."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    scores = X @ np.random.default_rng(99).normal(size=(d, K)) * size
    scores[:, 0] += np.log(rare)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return X, (p.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).astype(np.int32)


def task_of(X, y, weight=None, K=None, source=None, max_bins=32, n_folds=4, link="softmax", binner=None):
    """What members of these rows are trained for; folds follow one another."""
    n, K = len(y), int(y.max()) + 1 if K is None else K
    weight = np.ones(n) if weight is None else weight
    binner = binner or fit_binner(X, "quantile", max_bins, None, weight)
    columns = Columns(binner.transform(X), binner.n_bins, binner.thresholds)
    costs = RowCosts(1.0 - np.eye(K), y, weight, y)
    table = Table(X, np.arange(n), columns, source=source)
    return Task(table, FoldedRows(costs, np.arange(n) * n_folds // n), "softmax", link, USUAL, Driver())


@pytest.fixture(autouse=True)
def _order(monkeypatch):
    """Rows of a design stand as they are given; otherwise they stand by their cells."""
    monkeypatch.setattr("minrisk.ensemble.logistic.order_by_cells", lambda X, *others: np.arange(len(X)))


def columns_of_rows(design):
    """The columns, (m, p)."""
    return (design.coordinates if design.axes is None else design.axes @ design.coordinates).T


def twin(Z, y, weight, K, penalty):
    """scikit-learn's regression with half a row of each class at the mean of all rows; its log-probabilities."""
    Z_all, y_all = np.concatenate([Z, np.zeros((K, Z.shape[1]))]), np.concatenate([y, np.arange(K)])
    w = np.concatenate([weight, np.full(K, 0.5)])
    model = LogisticRegression(C=1.0 / (penalty * w.sum()), tol=1e-10, max_iter=20_000).fit(
        Z_all, y_all, sample_weight=w
    )
    return model.predict_log_proba(Z)


def log_softmax(scores):
    scores = scores - scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def walked(made, X):
    """Scores of raw values by the packed trees of a member."""
    scores = np.tile(made.intercept, (len(X), 1))
    packed, vectors = pack(made.trees), np.concatenate(made.vectors)
    packed.add_scores(np.ascontiguousarray(X), vectors, 0, len(packed), 0, len(X), scores)
    return scores


def ready(task):
    kind = Logistic.of(task)
    assert kind is not None and kind.ready()
    return kind


# -- the regression ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("K", "rare"), slow_after(2, [(2, 1.0), (5, 0.02), (3, 1.0), (2, 0.01)]))
def test_it_is_the_regression_of_scikit_learn(K, rare):
    X, y = drawn(0, K=K, rare=rare)
    X[:, 0] = np.exp(2.0 * X[:, 0])
    weight = np.random.default_rng(1).uniform(0.5, 3.0, len(y))
    design = fit_design(task_of(X, y, weight, K))
    regression, Z = Regression(design, K, None), columns_of_rows(design)
    along, intercept = np.zeros((Z.shape[1], K)), regression.start
    for penalty in (0.3, 1e-2, 1e-3):
        along, intercept, _ = regression.solved(penalty, along, intercept, 1e-7)
        found = log_softmax(Z @ np.concatenate(design.coefficients(along)) + intercept)
        np.testing.assert_allclose(
            found, twin(Z, y, weight, K, penalty if K > 2 else penalty / 2), atol=1e-5, rtol=1e-5
        )


def test_a_fold_is_left_out():
    X, y = drawn(3, n=200)
    task = task_of(X, y)
    design = fit_design(task)
    regression, seen = Regression(design, 3, 1), np.r_[0:50, 100:200]
    along, intercept, _ = regression.solved(0.01, np.zeros((len(design.squares), 3)), regression.start, 1e-7)
    Z = columns_of_rows(design)
    found = log_softmax(Z @ np.concatenate(design.coefficients(along)) + intercept)
    expected = twin(Z[seen], y[seen], np.ones(150), 3, 0.01)
    np.testing.assert_allclose(found[seen], expected, atol=1e-5)


def test_slopes_are_those_of_the_loss():
    X, y = drawn(1, n=80)
    regression = Regression(design := fit_design(task_of(X, y)), 3, 2)
    random = np.random.default_rng(0)
    along, intercept = random.normal(size=(len(design.squares), 3)), random.normal(size=3)
    _, slope, level = regression.loss(along, intercept)
    for i, k in ((0, 0), (3, 2), (7, 1)):
        step = np.zeros_like(along)
        step[i, k] = 1e-6
        ahead, behind = regression.loss(along + step, intercept)[0], regression.loss(along - step, intercept)[0]
        assert slope[i, k] == pytest.approx((ahead - behind) / 2e-6, abs=1e-7)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        ahead, behind = regression.loss(along, intercept + step)[0], regression.loss(along, intercept - step)[0]
        assert level[k] == pytest.approx((ahead - behind) / 2e-6, abs=1e-7)


def test_many_columns_have_no_axes(monkeypatch):
    X, y = drawn(2)
    with_axes, without = [], []
    for found, most in ((with_axes, 1024), (without, 3)):
        monkeypatch.setattr("minrisk.ensemble.logistic.MOST_AXES", most)
        design = fit_design(task_of(X, y))
        regression = Regression(design, 3, None)
        along, _, value = regression.solved(1e-3, np.zeros((len(design.squares), 3)), regression.start, 1e-8)
        found += [*design.coefficients(along), value]
        assert (design.axes is None) == (most == 3)
    for one, other in zip(with_axes, without, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("what", ["weights are copies", "a millionth"])
def test_weights(what):
    X, y = drawn(4, n=300)
    binner = fit_binner(X, "quantile", 32)
    if what == "a millionth":
        one, other = np.ones(300), np.where(np.arange(300) % 7, 1.0, 1.0 + 1e-6)
        tasks = task_of(X, y, one, binner=binner), task_of(X, y, other, binner=binner)
    else:
        weight = np.random.default_rng(0).integers(1, 4, 300)
        copies = np.repeat(np.arange(300), weight)
        tasks = task_of(X, y, weight.astype(float), binner=binner), task_of(X[copies], y[copies], binner=binner)
    scores = []
    for task in tasks:
        member = LogisticMember(ready(task), None)
        member.train([5, 12])
        scores.append(walked(member.result(12), X))
    np.testing.assert_allclose(log_softmax(scores[0]), log_softmax(scores[1]), atol=1e-4)


# -- columns and trees ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_leaves", [2, 3, 7, 8, 250])
def test_trees_are_balanced(n_leaves):
    thresholds = np.arange(n_leaves - 1) + 0.5
    for new_missing in (False, True):
        tree = balanced_tree(3, np.arange(n_leaves - 1), thresholds, new_missing)
        assert tree.depth == int(np.ceil(np.log2(n_leaves))) + new_missing
        x = np.zeros((n_leaves + 1, 4))
        x[:, 3] = np.append(np.arange(n_leaves), np.nan)
        scores, vectors = np.zeros((n_leaves + 1, 1)), np.arange(n_leaves + 1.0)[:, None]
        pack([tree]).add_scores(x, vectors, 0, 1, 0, n_leaves + 1, scores)
        assert scores[:, 0].tolist() == [*range(n_leaves), n_leaves if new_missing else 0]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("n_bins", "most"), [(1, 8), (2, 8), (8, 8), (9, 8), (256, 16), (256, 2)])
def test_leaves_are_few(n_bins, most, missing):
    ends = leaf_ends(n_bins, missing, most)
    assert (
        len(ends) + 1 <= max(most, 1 + missing)
        and np.all(np.diff(ends) > 0)
        and np.all(ends < n_bins - 1 + (n_bins == 1))
    )
    assert len(ends) + 1 == min(n_bins, most)
    if missing and n_bins > 1:
        assert ends[0] == 0


def test_columns_are_values_and_ranks():
    """A value is that of its bin, whatever lies far out; both columns have deviation 1, and missing values are 0."""
    random = np.random.default_rng(0)
    x = random.normal(size=1000)
    x[:3], x[3:50] = [1e9, -1e300, 1e12], np.nan
    task = task_of(x[:, None], np.arange(1000, dtype=np.int32) % 2, max_bins=33)
    columns = task.table.columns
    weight = np.full(1000, 1e-3)
    one, leaf = bin_columns_of(0, columns.binned[0].astype(int), x, weight, columns.thresholds[0], 64, False)
    missing, rank, value = one.values.T[:, leaf]
    here = ~np.isnan(x)
    np.testing.assert_allclose(missing, np.isnan(x) - 0.047, atol=1e-12)
    assert np.allclose(value[~here], 0.0) and np.allclose(rank[~here], 0.0)
    assert np.allclose([value.mean(), rank.mean()], 0.0) and np.allclose([value.std(), rank.std()], 1.0)
    order = np.argsort(x[here])
    assert np.all(np.diff(value[here][order]) >= 0) and np.all(np.diff(rank[here][order]) >= 0)
    inner = here & (np.abs(x) < 1.5)
    assert np.corrcoef(x[inner], value[inner])[0, 1] > 0.995 and np.abs(value).max() < 3.5


@pytest.mark.parametrize(
    "x", [[5.0] * 8, [np.nan] * 8, [0.0, 1.0] * 4, [1e308, -1e308] * 4, [0.0, 1.0, np.nan, 1.0] * 2]
)
def test_columns_of_few_values(x):
    x = np.array(x)
    columns = task_of(x[:, None], np.arange(8, dtype=np.int32) % 2).table.columns
    made = bin_columns_of(0, columns.binned[0].astype(int), x, np.full(8, 0.125), columns.thresholds[0], 64, False)
    n = len(np.unique(x))
    if n == 1:
        assert made is None
    else:
        one, _ = made
        assert one.values.shape == (n, n - 1) and np.all(np.isfinite(one.values))


def test_trees_are_the_regression():
    """On left-out bins, on raw values, and after a file; what is missing for the first time is the mean."""
    X, y = drawn(5)
    X[::9, 2], X[:, 4] = np.nan, np.round(X[:, 4])
    task = task_of(X, y)
    kind = ready(task)
    Z = columns_of_rows(kind.design)
    member = kind.member(2)
    member.train([5, 9])
    for checkpoint in (0, 5, 9):
        along, intercept, _ = member._found[checkpoint]
        expected = Z @ np.concatenate(kind.design.coefficients(along)) + intercept
        np.testing.assert_allclose(member.scores(checkpoint), expected[300:450], atol=1e-5)
    np.testing.assert_allclose(walked(member.result(9), X), expected, atol=1e-10)
    of_all = LogisticMember(kind, None)
    of_all.train([9])
    made = of_all.result(9)
    along, intercept, _ = of_all._found[9]
    expected = Z @ np.concatenate(kind.design.coefficients(along)) + intercept
    np.testing.assert_allclose(walked(made, X), expected, atol=1e-10)
    none = np.delete(X, 2, axis=1)
    none[:] = np.nan
    np.testing.assert_allclose(
        walked(made, np.insert(none, 2, np.nanmean(X[:, 2]), axis=1)).std(axis=0), 0.0, atol=1e-12
    )
    tree_of = {int(tree.feature.max()): vectors for tree, vectors in zip(made.trees, made.vectors, strict=True)}
    assert tree_of[2].shape[0] == len(task.table.columns.thresholds[2]) + 1  # its own leaf for what is missing
    assert np.all(tree_of[0][-1] == 0.0)
    gains = [tree.gain.sum() for tree in made.trees]
    assert gains == sorted(gains, reverse=True) and gains[-1] >= 0.0 < gains[0]


def test_categories_have_a_column_for_each_value():
    random = np.random.default_rng(0)
    code = random.integers(0, 12, 800).astype(float)
    dummy = (code == 3).astype(float)
    X = np.column_stack([code, random.normal(size=800), dummy])
    y = ((code % 2 == 0) ^ (random.random(800) < 0.2)).astype(np.int32)
    design = fit_design(task_of(X, y, source=np.array([0, 1, 0])))
    assert [one.feature for one in design.columns] == [0, 1]  # the third one says what the first one's columns do
    values = design.columns[0].values
    np.testing.assert_allclose(values + design.columns[0].share, np.eye(12), atol=1e-12)


# -- in a pool -----------------------------------------------------------------------------------------------------------
def line_of(model, variant="logistic"):
    return next(line for line in model.selection_ if line["variant"] == variant)


@pytest.fixture(scope="module")
def fitted():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(defaults, "SMOOTH_ROWS", 0)
        return MinRiskClassifier(random_state=0).fit(*drawn(0, 1500, 12, 2, 0.05))


def test_linear_signals_of_rare_classes_are_found(fitted, monkeypatch):
    X, y = drawn(1, 4000, 12, 2, 0.05)
    without_kinds(monkeypatch, "logistic", "smooth")
    without = MinRiskClassifier(random_state=0).fit(*drawn(0, 1500, 12, 2, 0.05))
    assert "logistic" not in {line["variant"] for line in without.selection_}
    losses = [log_loss(y, model.predict_proba(X)) for model in (fitted, without)]
    assert losses[0] < losses[1] and line_of(fitted)["share"] > 0.2


def test_the_model_has_one_member_of_all_rows(fitted, tmp_path):
    assert len(fitted.model_) == fitted.n_iter_ == len(fitted.train_loss_) - 1
    assert fitted.n_iter_ == max(
        line["n_rounds"] for line in fitted.selection_ if line["share"] > 0 and line["variant"] != "logistic"
    )
    assert np.isclose(fitted.feature_importances_.sum(), 1.0) and np.all(fitted.feature_importances_ >= 0)
    save(fitted, tmp_path / "model")
    X = drawn(2, 200, 12, 2)[0]
    X[::3, 4] = np.nan
    assert np.array_equal(load(tmp_path / "model").predict_proba(X), fitted.predict_proba(X))


def test_the_same_model_again_and_of_sparse_rows(monkeypatch):
    monkeypatch.setattr(defaults, "SMOOTH_ROWS", 0)
    X, y = drawn(3, 700, 8, 2)
    X[np.abs(X) < 0.8] = 0.0
    models = [
        MinRiskClassifier(random_state=0, n_jobs=jobs, n_estimators=20).fit(rows, y)
        for rows, jobs in ((X, 1), (X, 2), (csr_matrix(X), 1))
    ]
    p = [model.predict_proba(X) for model in models]
    assert line_of(models[0])["share"] > 0 and np.array_equal(p[0], p[1]) and np.array_equal(p[0], p[2])


def test_tables_with_categories_say_which_columns_are_codes(monkeypatch):
    asked = []
    own = Logistic.ready
    monkeypatch.setattr(Logistic, "ready", lambda self: asked.append(self.task.table.categories) or own(self))
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"x": random.normal(size=400), "few": random.choice(list("abcd"), 400), "two": random.choice(list("uv"), 400)}
    )
    X["many"] = random.choice([f"p{k}" for k in range(30)], 400)
    MinRiskClassifier(random_state=0, n_estimators=5).fit(X, (X["few"] == "b") ^ (random.random(400) < 0.1))
    is_code, is_copy = asked[0]
    assert is_code[:4].tolist() == [False, True, False, True] and not is_code[4:].any()
    assert is_copy.tolist() == [False] * 4 + [True] * 4 + [False] * (len(is_copy) - 8)


def test_there_is_something_to_regress_on():
    X, y = drawn(0, 60, 2)
    assert Logistic.of(task_of(X, y)) is not None and Logistic.of(task_of(X, y, link="sigmoid")) is None
    assert not Logistic.of(task_of(np.ones((60, 2)), y)).ready()


@pytest.mark.parametrize(
    ("name", "most"), [("LOGISTIC_FITTED", 200), ("LOGISTIC_VALUES", 200 * 12), ("LOGISTIC_PRODUCTS", 200 * 36)]
)
def test_many_rows_are_drawn_evenly(name, most, monkeypatch):
    X, y = drawn(0)
    monkeypatch.setattr(defaults, name, most)
    kind = ready(task_of(X, y))
    assert len(kind.design.label) == 200 and kind.design.bounds.tolist() == [0, 50, 100, 150, 200]
    member = kind.member(0)
    member.train([5])
    assert member.scores(5).shape == (150, 3)


def test_penalties_fall_evenly():
    assert penalty_of(5, 0.25) == defaults.LOGISTIC_PENALTY + 0.25
    assert penalty_of(10, 1.0) / penalty_of(5, 1.0) == pytest.approx(penalty_of(20, 1.0) / penalty_of(10, 1.0))


def test_a_class_that_a_fold_does_not_see(monkeypatch):
    X, y = drawn(0, 400, 4, 2)
    y[:100][y[:100] == 1] = 2
    y[100:][y[100:] == 2] = 1
    member = ready(task_of(X, y, K=3)).member(0)
    member.train([5, 20])
    assert np.all(np.isfinite(member.scores(20))) and member.scores(20)[:, 2].max() < member.scores(20)[:, :2].max()


def test_a_rare_class_is_not_given_up_after_one_fold():
    """One fold of four positives does not tell a signal from chance; the seed must not decide."""
    balanced, rare_class = (
        task_of(np.random.default_rng(0).normal(size=(1000, 2)), y)
        for y in (np.arange(1000) % 2, (np.arange(1000) < 20).astype(int))
    )
    assert Logistic(balanced).tried_on == 1 and Logistic(rare_class).tried_on == rare_class.folded.n_folds
    X, y = drawn(0, 3000, 6, 2, 0.005)
    assert all(MinRiskClassifier(random_state=seed).fit(X, y).n_iter_ > 0 for seed in range(3))


def test_a_checkpoint_that_was_passed_over_is_made_when_asked_for():
    """Under a budget of time members of other folds may stop where the first one has not."""
    kind = ready(task_of(*drawn(5, n=300)))
    passed, asked = kind.member(1), kind.member(1)
    passed.train([5, 12])
    asked.train([5, 8])
    np.testing.assert_array_equal(passed.scores(8), asked.scores(8))
