"""Costs per row: a regression of the costs within each class, decisions by it, and reductions to a cost matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import minrisk
from minrisk import MinRiskClassifier, REBELClassifier, costs
from minrisk.ensemble.cost_regression import packed_regression
from minrisk.rows.folded import FoldedRows
from tests.helpers.common import make_costs

C = np.array([[0, 1, 4], [2, 0, 1], [10, 3, 0.0]])


def amounts(n=1500, seed=0):
    """Three noisy classes; missing class 2 costs an amount that a feature gives away, other mistakes 1."""
    rng = np.random.default_rng(seed)
    y, X = np.arange(n) % 3, rng.normal(size=(n, 4))
    X[:, 0] += y
    X[:, 3] = rng.uniform(0.0, 4.0, n)
    full = np.broadcast_to(1.0 - np.eye(3), (n, 3, 3)).copy()
    full[:, 2, :2] = np.where(X[:, 3] > 2.0, 10.0, 0.5)[:, None]
    return X, y, full, full[np.arange(n), y]


@pytest.fixture(scope="module")
def wine():
    return train_test_split(*load_wine(return_X_y=True), random_state=0)


def test_rows_that_share_a_matrix_are_the_matrix(wine):
    X, X_test, y, _ = wine
    options = {"random_state": 0, "n_estimators": 40}
    by_matrix = MinRiskClassifier(C, **options).fit(X, y)
    by_row = MinRiskClassifier(**options).fit(X, y, cost=C[y])
    np.testing.assert_array_equal(by_row.cost_regression_.means, C)
    assert len(by_row.cost_regression_.packed) == 0
    np.testing.assert_array_equal(by_row.predict(X_test), by_matrix.predict(X_test))
    np.testing.assert_array_equal(by_row.predict_proba(X_test), by_matrix.predict_proba(X_test))
    shift = by_row.decision_function(X_test) - by_matrix.decision_function(X_test)
    np.testing.assert_allclose(shift, shift[0, 0], atol=1e-9)
    np.testing.assert_array_equal(by_row.predict(X_test, cost=C), by_matrix.predict(X_test))
    moved = MinRiskClassifier(**options).fit(X, y, cost=C[y] + np.arange(len(y))[:, None])
    np.testing.assert_array_equal(moved.predict(X_test), by_matrix.predict(X_test))


def test_costs_that_features_give_away_are_learnt():
    X, y, full, rows = amounts()
    X_test, y_test, full_test, rows_test = amounts(seed=1)
    model = MinRiskClassifier(random_state=0).fit(X, y, cost=rows)
    regression = model.cost_regression_
    learnt = regression.unit * np.stack([regression.of_class(X_test, j) for j in range(3)], axis=1)
    assert np.abs(learnt - full_test).mean() < 0.1

    def paid(decisions):
        return rows_test[np.arange(len(y_test)), decisions].mean()

    known = paid(model.predict(X_test, cost=full_test))
    in_the_mean = paid(model.predict(X_test, cost=[rows[y == j].mean(axis=0) for j in range(3)]))
    coupled = paid(MinRiskClassifier(surrogate="coupled", random_state=0).fit(X, y, cost=rows).predict(X_test))
    learnt = paid(model.predict(X_test))
    assert learnt < 1.03 * known < 0.95 * in_the_mean and learnt < coupled


@pytest.mark.slow
def test_regression_is_about_as_good_as_another(monkeypatch):
    """Before it is asked whether decisions are cheaper by it: all mistakes about a row cost the same here."""
    monkeypatch.setattr("minrisk.ensemble.cost_regression.CostFit.validated", lambda fit, *_: fit.regression)
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    y %= 3
    amount = 1.0 + X[:, 20] + X[:, 42] / 4 + rng.exponential(1.0, len(y))
    rows = (1.0 - np.eye(3))[y] * amount[:, None]
    half = np.arange(len(y)) % 2 == 0
    model = MinRiskClassifier(random_state=0).fit(X[half], y[half], cost=rows[half])
    for j in range(3):
        own, other = half & (y == j), ~half & (y == j)
        ours = model.cost_regression_.unit * model.cost_regression_.of_class(X[other], j)[:, (j + 1) % 3]
        twin = HistGradientBoostingRegressor(random_state=0).fit(X[own], amount[own]).predict(X[other])
        error, its = (np.mean((p - amount[other]) ** 2) for p in (ours, twin))
        assert error < 1.5 * its and error < 0.1 * amount[other].var()


@pytest.mark.parametrize("n", [60, 900, 4000])
def test_noise_is_not_learnt(n):
    X, y, _, _ = amounts(n)
    noise = np.random.default_rng(2).lognormal(size=len(y))
    model = MinRiskClassifier(random_state=0, pool=False).fit(X, y, cost=C[y] * noise[:, None])
    regression = model.cost_regression_
    assert len(regression.packed) == 0
    np.testing.assert_allclose(
        regression.unit * regression.means, [np.average(C[j] * noise[y == j][:, None], axis=0) for j in range(3)]
    )


def rows_held_out(n=90, D=3, seed=0):
    """Folded rows with weights and costs of their own, scores of two members, and random class of each row."""
    rng = np.random.default_rng(seed)
    table, label, weight = rng.exponential(size=(n, D)), rng.integers(0, 3, n), rng.uniform(0.5, 2.0, n)
    folded = FoldedRows(make_costs(table, np.arange(n), weight, label), np.repeat([0, 1, 2], n // 3))
    scores = [rng.normal(size=(n, D)).astype(np.float32) for _ in range(4)]
    return folded, [folded.held_out(np.split(one, 3)) for one in scores], scores, folded.stated


def test_errors_are_compared_row_by_row():
    _, (one, other, *_), (s, t, *_), stated = rows_held_out()
    wanted = stated.table[stated.row] / 2.5
    gain = stated.weight * ((((1 - t) / 2 - wanted) ** 2).sum(axis=1) - (((1 - s) / 2 - wanted) ** 2).sum(axis=1))
    np.testing.assert_allclose(one.closer_than(other, 2.5), [gain.sum(), (gain**2).sum()], rtol=1e-5)


def test_decisions_are_compared_row_by_row():
    folded, (one, first, _, last), (s, a, _, b), stated = rows_held_out()
    p = np.exp(s.astype(float) / 1.5)
    p /= p.sum(axis=1, keepdims=True)
    table = np.tile(C, (len(s), 1, 1))
    table[:, 0], table[:, 2] = np.maximum(a, 0.0), np.maximum(b, 0.0)
    every, own = np.arange(len(s)), stated.table[stated.row]
    by_means, by_rows = (p @ C).argmin(axis=1), np.einsum("nk,nkd->nd", p, table).argmin(axis=1)
    less = stated.weight * (own[every, by_means] - own[every, by_rows])
    for n_folds in (1, 3):
        part = slice(0, 30 * n_folds)
        found = one.of_folds(n_folds).paid_less(
            "softmax", 1.5, C, [h and h.of_folds(n_folds) for h in (first, None, last)]
        )
        assert found == pytest.approx([less[part].sum(), (less[part] ** 2).sum()], rel=1e-9)


def test_trees_that_decide_no_better_are_left_out():
    """What a feature says of costs is kept where it changes decisions for the better, and only there."""
    X, y, _, _ = amounts(900)
    dear = np.where(X[:, 3] > 2.0, 3.0, 1.0)[:, None]
    alike = MinRiskClassifier(random_state=0, pool=False).fit(X, y, cost=(1.0 - np.eye(3))[y] * dear)  # all mistakes
    assert len(alike.cost_regression_.packed) == 0
    np.testing.assert_allclose(
        alike.cost_regression_.unit * alike.cost_regression_.means,
        [((1.0 - np.eye(3))[j] * dear[y == j]).mean(axis=0) for j in range(3)],
    )
    rows = amounts(900)[3]
    assert len(MinRiskClassifier(random_state=0, pool=False).fit(X, y, cost=rows).cost_regression_.packed) > 0


def test_a_millionth_of_a_row_changes_little():
    X, y, _, rows = amounts(600)
    weight = np.ones(len(y))
    weight[::7] += 1e-6
    options = {"random_state": 0, "pool": False, "n_estimators": 30}
    one, other = (MinRiskClassifier(**options).fit(X, y, cost=rows, sample_weight=w) for w in (None, weight))
    for j in range(3):
        np.testing.assert_allclose(
            one.cost_regression_.of_class(X, j), other.cost_regression_.of_class(X, j), atol=1e-4
        )


def test_costs_take_less_time_than_the_rest_of_a_fit(monkeypatch):
    """Counted in rounds, which no other process can change: all trees of costs, members for folds among them."""
    from minrisk.ensemble import cost_regression
    from minrisk.ensemble.trees import TreeMember

    made = []
    monkeypatch.setattr(
        cost_regression, "TreeMember", lambda *given, **named: made.append(TreeMember(*given, **named)) or made[-1]
    )
    X, y, _, rows = amounts(600)
    MinRiskClassifier(random_state=0, pool=False).fit(X, y, cost=rows)
    assert sum(len(member.progress.trees) for member in made) <= 5 * 120
    assert max(len(vectors) for member in made for vectors in member.progress.vectors) <= 24


def test_same_on_any_number_of_threads_and_saved(tmp_path):
    X, y, _, rows = amounts(600)
    model = MinRiskClassifier(random_state=0, n_estimators=30).fit(X, y, cost=rows)
    other = MinRiskClassifier(random_state=0, n_estimators=30, n_jobs=3).fit(X, y, cost=rows)
    minrisk.save(model, tmp_path / "a")
    minrisk.save(other, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded = minrisk.load(tmp_path / "a")
    assert len(loaded.cost_regression_.packed) > 0
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_weights_count_in_the_regression():
    X, y, _, rows = amounts(600)
    half = np.arange(len(y)) % 2
    options = {"random_state": 0, "n_estimators": 20, "cv": 1}
    weighted = MinRiskClassifier(**options).fit(X, y, cost=rows, sample_weight=half)
    np.testing.assert_allclose(
        weighted.cost_regression_.unit * weighted.cost_regression_.means,
        [rows[(y == j) & (half == 1)].mean(axis=0) for j in range(3)],
    )


def test_a_class_without_weight_costs_as_all_do_in_the_mean():
    table = np.array([[0.0, 2.0], [4.0, 0.0], [1.0, 1.0]])
    costs_of = make_costs(table, np.arange(3), np.array([1.0, 0.0, 3.0]), np.array([0, 1, 0]))
    folded = FoldedRows(costs_of, np.zeros(3, dtype=int))
    np.testing.assert_allclose(folded.class_costs(2), [[0.75, 1.25], [0.75, 1.25]])


def test_decisions_of_another_kind_per_row(wine):
    X, X_test, y, _ = wine
    rows = np.array([[0.0, 1.0], [3.0, 0.2], [3.0, 0.1]])[y]
    import pandas as pd

    model = MinRiskClassifier(random_state=0, n_estimators=30).fit(
        X, y, cost=pd.DataFrame(rows, columns=["ship", "hold"])
    )
    assert set(model.predict(X_test)) == {"ship", "hold"} and model.predict_proba(X_test).shape == (len(X_test), 3)


def test_fit_takes_a_matrix_for_every_row():
    X, y, full, rows = amounts(300)
    a, b = (MinRiskClassifier(random_state=0, n_estimators=10).fit(X, y, cost=cost) for cost in (rows, full))
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    c, d = (minrisk.REBELClassifier(n_estimators=5).fit(X, y, cost=cost) for cost in (rows, full.tolist()))
    np.testing.assert_array_equal(c.decision_function(X), d.decision_function(X))
    with pytest.raises(ValueError, match=r"expected shape \(300, 3, 3\)"):
        MinRiskClassifier().fit(X, y, cost=full[:, :2])


@pytest.mark.parametrize("make", [REBELClassifier, MinRiskClassifier])
def test_a_matrix_for_every_row_of_one_row_of_each_class(make):
    X, y = np.random.default_rng(0).normal(size=(3, 2)), np.array([2, 0, 1])
    own = np.tile(C, (3, 1, 1))
    model = make(random_state=0).fit(X, y, cost=own)  # had been taken for a matrix whose first row is class 2's
    if make is MinRiskClassifier:
        np.testing.assert_array_equal(model.cost_regression_.means, C)
    decided = model.predict(X)
    assert model.score(X, y, cost=own) == pytest.approx(1 - C[y, decided].mean())


def test_costs_given_to_predict(wine):
    X, X_test, y, _ = wine
    model = MinRiskClassifier(random_state=0, n_estimators=20).fit(X, y, cost=C[y])
    n = len(X_test)
    referring = np.tile(np.column_stack([C, np.full(3, 1e-3)]), (n, 1, 1))
    assert set(model.predict(X_test, cost=referring)) >= {-1}
    np.testing.assert_array_equal(
        model.predict(X_test, cost=np.tile(C, (n, 1, 1)) + 7.0), model.predict(X_test, cost=C)
    )
    scale = 10.0 ** np.linspace(-300, 300, n)[:, None, None]
    np.testing.assert_array_equal(model.predict(X_test, cost=C * scale), model.predict(X_test, cost=C))
    with pytest.raises(ValueError, match=r"give one matrix for all rows, .* of shape \(45, 3, 3\)"):
        model.predict(X_test, cost=np.ones((n, 3)))
    with pytest.raises(ValueError, match=r"expected shape \(45, 3, 3\)"):
        model.predict(X_test, cost=np.ones((n, 3, 2)))
    referring[4, 1, 2] = np.inf
    with pytest.raises(ValueError, match=r"^cost\[4, 1, 2\] must be a finite number, got inf"):
        model.predict(X_test, cost=referring)


# -- probabilities and methods stay ------------------------------------------------------------------------------------
@pytest.mark.parametrize("time_budget", [None, 0.0, 2.0])
@pytest.mark.parametrize("per_row", [False, True])
def test_what_auto_offers_does_not_depend_on_data_or_time(per_row, time_budget, wine):
    X, X_test, y, _ = wine
    model = MinRiskClassifier(time_budget=time_budget, n_estimators=20, random_state=0)
    assert hasattr(model, "predict_proba")
    model.fit(X, y, cost=C[y] if per_row else C)
    assert model.predict_proba(X_test).shape == (len(X_test), 3)
    assert len(model.predict(X_test, cost=1 - np.eye(3))) == len(X_test)


@pytest.mark.parametrize(("n", "K"), [(2, 2), (3, 3), (10, 10), (5, 3)])
@pytest.mark.parametrize("surrogate", ["softmax", "exponential"])
def test_one_row_of_each_class_makes_nobody_sure(n, K, surrogate):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 3)), np.minimum(np.arange(n), K - 1)
    cost = costs.with_reject(costs.uniform(K), 0.1)
    model = MinRiskClassifier(cost, surrogate=surrogate, random_state=0)
    if n > K:
        y = np.arange(n) % K
        model.set_params(
            cv=[(np.arange(n)[y != 0], np.arange(n)[y == 0]), (np.arange(n)[y == 0], np.arange(n)[y != 0])]
        )
    model.fit(X, y)
    new = rng.normal(size=(200, 3))
    p, share = model.predict_proba(new), np.bincount(y) / n
    odds = p / (1 - p) / (share / (1 - share))
    assert odds.max() < 1.9 and odds.min() > 0.5
    assert np.all(model.predict(new) == model.decisions_[-1])


def test_few_rows_still_point_the_right_way():
    X, y = np.array([[0.0], [1.0]]), np.array(["a", "b"])
    model = MinRiskClassifier(random_state=0).fit(X, y)
    assert model.predict([[-1.0], [2.0]]).tolist() == ["a", "b"]
    alone = MinRiskClassifier(random_state=0, cv=1).fit(X, y)
    assert alone.predict_proba([[2.0]]).max() > 0.99  # asked for: all rounds, uncalibrated


# -- decision_function -------------------------------------------------------------------------------------------------
@settings(max_examples=20, deadline=None)
@given(st.floats(0.01, 100), st.integers(0, 10**6))
def test_two_classes_are_parted_at_zero(ratio, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 2)) + y[:, None]
    for model in (
        MinRiskClassifier([[0, 1], [ratio, 0]], n_estimators=8, pool=False, random_state=0),
        minrisk.MCBoostClassifier([[0, 1], [ratio, 0]], loss="mc", decision="bayes", n_estimators=3),
        minrisk.REBELClassifier([[0, 1], [ratio, 0]], n_estimators=5),
    ):
        scores = model.fit(X, y).decision_function(X)
        np.testing.assert_array_equal(model.predict(X), (scores > 0).astype(int))
        for staged, decided in zip(model.staged_decision_function(X), model.staged_predict(X), strict=True):
            np.testing.assert_array_equal(decided, (staged > 0).astype(int))


def test_decision_function_of_two_classes_is_the_shifted_logit():
    X, y, _, _ = amounts(400)
    y = (y > 1).astype(int)
    plain = MinRiskClassifier(random_state=0, n_estimators=20).fit(X, y)
    p = plain.predict_proba(X)
    np.testing.assert_allclose(plain.decision_function(X), np.log(p[:, 1] / p[:, 0]), rtol=1e-6, atol=1e-9)
    dear = MinRiskClassifier([[0, 1], [7, 0]], random_state=0, n_estimators=20).fit(X, y)
    np.testing.assert_allclose(dear.decision_function(X), np.log(7 * p[:, 1] / p[:, 0]), rtol=1e-6, atol=1e-9)
    assert roc_auc_score(y, dear.decision_function(X)) == pytest.approx(roc_auc_score(y, p[:, 1]), abs=1e-3)


@pytest.mark.parametrize("extra", [False, True])
def test_the_largest_value_is_the_decision(extra, wine):
    X, X_test, y, _ = wine
    cost = costs.with_reject(C, 0.4) if extra else C
    for model in (
        MinRiskClassifier(cost, random_state=0, n_estimators=20),
        minrisk.REBELClassifier(cost, n_estimators=20),
    ):
        model.fit(X, y)
        np.testing.assert_array_equal(
            model.decisions_[model.decision_function(X_test).argmax(axis=1)], model.predict(X_test)
        )


def test_regression_of_means_only():
    regression = packed_regression(1.0, C, [])
    p = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(regression.expected(np.zeros((2, 1)), p), p @ C)
