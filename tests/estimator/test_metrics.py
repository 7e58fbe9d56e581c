"""What decisions cost: the laws of the metrics, the labels they match, the scorer, what is refused."""

from __future__ import annotations

import pickle
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from minrisk.costs import CostMatrix, balanced, uniform, with_reject
from minrisk.metrics import best_constant_cost, cost_confusion_matrix, expected_cost, make_expected_cost_scorer, regret

ILL = {"ill": {"well": 10}, "well": {"ill": 1}}
VALUES = np.array([[0.0, 1, 2], [3, 0, 4], [5, 6, 0]])


@st.composite
def decided(draw: st.DrawFn) -> dict:
    """Labels, decisions, weights and costs of 2 to 5 classes; every class occurs."""
    k = draw(st.integers(2, 5))
    n = draw(st.integers(k, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y_true = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    return {
        "k": k,
        "y_true": y_true,
        "y_pred": rng.integers(0, k, n),
        "weight": rng.integers(0, 4, n) + (np.arange(n) == 0),
        "cost": rng.uniform(0.5, 9, (k, k)) * (1 - np.eye(k)),
        "rng": rng,
    }


def law(test):
    return settings(max_examples=40, deadline=None)(given(case=decided())(test))


# ------------------------------------------------------------------------------------------------- laws


@law
def test_equals_the_sum_over_rows(case):
    y, d, w, cost = case["y_true"], case["y_pred"], case["weight"], case["cost"]
    total = sum(w[n] * cost[y[n], d[n]] for n in range(len(y)))
    assert expected_cost(y, d, cost, sample_weight=w) == pytest.approx(total / w.sum())
    constants = [expected_cost(y, np.full(len(y), k), cost, sample_weight=w) for k in range(case["k"])]
    assert best_constant_cost(y, cost, sample_weight=w) == pytest.approx(min(constants))
    assert regret(y, d, cost, sample_weight=w) == pytest.approx(total / w.sum() - min(constants))


@law
def test_zero_one_costs_give_the_error_rate(case):
    y, d, w = case["y_true"], case["y_pred"], case["weight"]
    for cost in (None, 1 - np.eye(case["k"]), uniform(case["k"]), uniform(range(case["k"]))):
        assert expected_cost(y, d, cost) == pytest.approx(1 - accuracy_score(y, d))
        assert expected_cost(y, d, cost, sample_weight=w) == pytest.approx(1 - accuracy_score(y, d, sample_weight=w))
    counts = cost_confusion_matrix(y, d, sample_weight=w)
    off = confusion_matrix(y, d, sample_weight=w) * (1 - np.eye(case["k"]))
    assert np.array_equal(counts, off)


@law
def test_cost_confusion_sums_to_the_cost(case):
    y, d, w, cost = case["y_true"], case["y_pred"], case["weight"], case["cost"]
    expected = expected_cost(y, d, cost, sample_weight=w)
    cells = cost_confusion_matrix(y, d, cost, sample_weight=w)
    assert cells.sum() == pytest.approx(expected * w.sum())
    assert cost_confusion_matrix(y, d, cost, sample_weight=w, normalize="all").sum() == pytest.approx(expected)
    given_class = cost_confusion_matrix(y, d, cost, sample_weight=w, normalize="true").sum(axis=1)
    assert given_class @ np.bincount(y, w, case["k"]) == pytest.approx(cells.sum())
    given_decision = cost_confusion_matrix(y, d, cost, sample_weight=w, normalize="pred").sum(axis=0)
    assert given_decision @ np.bincount(d, w, case["k"]) == pytest.approx(cells.sum())


@law
def test_scaling_the_costs_scales_everything(case):
    y, d, cost = case["y_true"], case["y_pred"], case["cost"]
    for metric in (expected_cost, regret, cost_confusion_matrix):
        assert metric(y, d, 4 * cost) == pytest.approx(4 * metric(y, d, cost))
    assert best_constant_cost(y, 4 * cost) == pytest.approx(4 * best_constant_cost(y, cost))


@law
def test_permuting_the_classes_permutes_the_confusion_and_changes_nothing_else(case):
    y, d, cost = case["y_true"], case["y_pred"], case["cost"]
    order = case["rng"].permutation(case["k"])
    moved = cost[np.ix_(order, order)]
    assert expected_cost(y, d, moved, labels=order) == pytest.approx(expected_cost(y, d, cost))
    assert regret(y, d, moved, labels=order) == pytest.approx(regret(y, d, cost))
    cells = cost_confusion_matrix(y, d, moved, labels=order)
    assert cells == pytest.approx(cost_confusion_matrix(y, d, cost)[np.ix_(order, order)])


@law
def test_weight_two_is_the_row_twice_and_order_does_not_matter(case):
    y, d, w, cost = case["y_true"], case["y_pred"], case["weight"], case["cost"]
    rows = case["rng"].permutation(np.repeat(np.arange(len(y)), w))
    labels = range(case["k"])
    for metric in (expected_cost, regret):
        assert metric(y[rows], d[rows], cost, labels) == pytest.approx(metric(y, d, cost, labels, w))


@law
def test_costs_per_sample_that_repeat_the_class_costs(case):
    y, d, w, cost = case["y_true"], case["y_pred"], case["weight"], case["cost"]
    if len(y) == case["k"]:
        return  # read as one row per class
    rows, labels = cost[y], np.arange(case["k"])
    for table in (rows, pd.DataFrame(rows[:, ::-1], columns=labels[::-1])):
        for metric in (expected_cost, regret, cost_confusion_matrix):
            assert metric(y, d, table, sample_weight=w) == pytest.approx(metric(y, d, cost, sample_weight=w))
        assert best_constant_cost(y, table, labels, w) == pytest.approx(best_constant_cost(y, cost, labels, w))


@law
def test_the_kind_of_label_does_not_matter(case):
    y, d, cost = case["y_true"], case["y_pred"], case["cost"]
    expected = expected_cost(y, d, cost)
    names = np.array([f"class {i}" for i in range(case["k"])])
    kinds = [
        names,
        names.astype(object),
        np.arange(case["k"]) + 0.5,
        np.arange(case["k"]) * 10**12,
        np.uint8([*range(5)]),
    ]
    for kind in kinds:
        assert expected_cost(kind[y], kind[d], cost) == pytest.approx(expected)
        assert expected_cost(list(kind[y]), pd.Series(kind[d], index=d), cost) == pytest.approx(expected)
    assert expected_cost(y, d.astype(float), cost) == pytest.approx(expected)
    assert expected_cost(y, d.astype(str), cost) == pytest.approx(expected)
    assert expected_cost(pd.Categorical(y), d, cost) == pytest.approx(expected)


# ---------------------------------------------------------------------------------- labels and decisions


@law
def test_the_same_decision_for_all_costs_what_the_constant_does_to_the_last_bit(case):
    y, k, rng = case["y_true"], case["k"], case["rng"]
    ask = np.c_[rng.uniform(2, 9, (k, k)) * (1 - np.eye(k)), np.full(k, rng.choice([0.1, 0.3, 0.7]) / 10)]
    by_row = [ask[y] + 1e-3, np.asfortranarray(ask[y] + 1e-3)] if len(y) > k else []
    for cost in (ask, np.asfortranarray(ask), *by_row):
        for weight in (None, rng.uniform(0.1, 9, len(y)), rng.integers(1, 5, len(y))):
            how = {"cost": cost, "labels": range(k), "sample_weight": weight}
            referred = np.full(len(y), -1)
            assert expected_cost(y, referred, **how) == best_constant_cost(y, **how)
            assert regret(y, referred, **how) == 0


def test_decisions_that_cost_as_much_as_the_constant_have_no_regret():
    tied = [[0, 0.1], [0.3, 0]]
    assert expected_cost([0, 0, 0, 1], [1] * 4, tied) != best_constant_cost([0, 0, 0, 1], tied)  # 3 * 0.1 is no 0.3
    assert regret([0, 0, 0, 1], [1] * 4, tied) == 0
    assert regret([0, 0, 0, 1], [1] * 4, [[0, 0.1], [0.3 - 1e-12, 0]]) > 0


def test_the_best_constant_decision_has_no_regret_and_negative_is_better():
    y = ["ill", "well", "well", "well"]
    assert regret(y, ["ill"] * 4, ILL) == 0
    assert regret(y, y, ILL) == -0.75
    assert regret(y, ["well"] * 4, ILL) == 2.5 - 0.75


def test_labelled_costs_need_no_labels(tmp_path):
    path = tmp_path / "cost.csv"
    path.write_text("true,1,2,3\n1,0,1,2\n2,3,0,4\n3,5,6,0\n")
    frame = pd.DataFrame(VALUES, index=[1, 2, 3], columns=[1, 2, 3]).iloc[[2, 0, 1], [1, 2, 0]]
    for cost in (path, str(path), frame, CostMatrix(VALUES, [1, 2, 3]), CostMatrix(VALUES, ["1", "2", "3"])):
        assert expected_cost([3, 3], [1, 2], cost) == 5.5  # one class only
        assert expected_cost(["3", "3"], ["1", "2"], cost) == 5.5
        assert expected_cost(np.array([3.0, 3.0]), [1, 2], cost, labels=[3, 2, 1]) == 5.5
        assert best_constant_cost([2, 3], cost) == 2
    assert cost_confusion_matrix([3, 3], [1, 2], frame)[0].tolist() == [0, 5, 6]  # rows and columns 3, 1, 2
    assert cost_confusion_matrix([3, 3], [1, 2], frame, labels=[1, 2, 3])[2].tolist() == [5, 6, 0]


def test_the_confusion_follows_the_order_of_a_labelled_cost():
    frame = pd.DataFrame([[6, 0, 5], [1, 2, 0]], index=[3, 1], columns=[2, 3, 1])
    assert cost_confusion_matrix([3, 3, 1], [1, 2, 3], frame).tolist() == [[0, 5, 6], [2, 0, 0]]


def test_a_cost_without_labels_follows_the_sorted_labels_that_occur():
    assert expected_cost(["b", "a"], ["c", "c"], VALUES) == 3
    assert expected_cost(["b", "a"], ["c", "c"], VALUES, labels=["c", "b", "a"]) == 4
    assert expected_cost([10, 9], [2, 2], CostMatrix(VALUES)) == 4


def test_decisions_that_are_no_class():
    refer = with_reject(VALUES, 0.5)
    y, d = ["a", "b", "c", "a"], ["a", "refer", "b", "refer"]
    assert expected_cost(y, d, refer) == (0 + 0.5 + 6 + 0.5) / 4
    assert expected_cost([1, 2, 3, 1], [1, "refer", 2, "refer"], refer) == 1.75
    assert expected_cost(np.array([1, 2, 3, 1]), np.array([1, "refer", 2, "refer"], dtype=object), refer) == 1.75
    assert expected_cost(y, d, refer, labels=["a", "b", "c"]) == 1.75
    assert best_constant_cost(y, refer) == 0.5
    assert cost_confusion_matrix(y, d, refer).shape == (3, 4)
    assert cost_confusion_matrix(y, d, refer)[:, 3].tolist() == [0.5, 0.5, 0]
    per_sample = np.asarray(refer)[[0, 1, 2, 0]]
    assert expected_cost(y, d, per_sample) == 1.75
    assert expected_cost(y, ["a", "b", "b", "c"], per_sample, labels=["a", "b", "c"]) == 2
    actions = pd.DataFrame([[0, 1], [9, 2], [0, 1]], columns=["wait", "treat"])
    assert expected_cost(["well", "ill", "well"], ["wait", "treat", "treat"], actions) == 1


def test_of_a_matrix_per_sample_the_row_of_the_true_class_counts():
    rng = np.random.default_rng(0)
    y = np.array(["b", "a", "c"])[rng.integers(0, 3, 40)]
    decided = rng.choice(["a", "b", "c", "refer"], 40)
    cube = rng.uniform(1, 9, (40, 3, 4))
    rows = cube[np.arange(40), np.searchsorted(["a", "b", "c"], y)]
    for labels in (None, ["a", "b", "c"]):
        for metric in (expected_cost, regret, cost_confusion_matrix):
            np.testing.assert_array_equal(metric(y, decided, cube, labels), metric(y, decided, rows, labels))
        assert best_constant_cost(y, cube, labels) == best_constant_cost(y, rows, ["a", "b", "c"])
    three = expected_cost(["c", "a", "b"], ["a", "refer", "a"], cube[:3])  # as many samples as classes
    assert three == pytest.approx((cube[0, 2, 0] + cube[1, 0, 3] + cube[2, 1, 0]) / 3)
    with pytest.raises(ValueError, match="labels must be given for a matrix of costs per sample with 3 rows"):
        expected_cost(y[:1], y[:1], cube[:1])


def test_a_single_class_has_no_error():
    assert expected_cost([1, 1], [1, 1]) == 0
    assert regret([1, 1], [1, 1]) == 0


def test_empty_cells_are_zero_when_normalised():
    for normalize in ("true", "pred", "all"):
        cells = cost_confusion_matrix([0, 0], [1, 1], VALUES, labels=[0, 1, 2], normalize=normalize)
        assert cells.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_labels_without_order():
    assert expected_cost(np.array([True, False]), np.array([False, False]), [[0, 1], [5, 0]]) == 2.5
    mixed = np.array([(1, 2), "a", 3], dtype=object)
    assert expected_cost(mixed, mixed, 1 - np.eye(3)) == 0


# -------------------------------------------------------------------------------------------- the scorer


def blobs():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 30)
    return rng.normal(size=(90, 2)) + np.repeat(np.arange(3), 30)[:, None], y


def test_scorer_with_a_bound_cost():
    X, y = blobs()
    scorer = make_expected_cost_scorer(VALUES)
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, scoring=scorer, cv=3).fit(X, y)
    assert search.score(X, y) == -expected_cost(y, search.predict(X), VALUES)
    assert pickle.loads(pickle.dumps(scorer))(search, X, y) == search.score(X, y)
    weight = np.arange(90)
    assert scorer(search, X, y, sample_weight=weight) == -expected_cost(
        y, search.predict(X), VALUES, sample_weight=weight
    )


def test_scorer_with_labels_scores_a_fold_without_a_class():
    X, y = blobs()
    scorer = make_expected_cost_scorer(VALUES, labels=["a", "b", "c"])
    folds = [(np.arange(90), np.arange(30))]
    scores = cross_val_score(DecisionTreeClassifier(), X, y, scoring=scorer, cv=folds, error_score="raise")
    assert scores.tolist() == [0.0]


def test_scorer_without_costs_is_minus_the_error_rate():
    X, y = blobs()
    stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert make_expected_cost_scorer()(stump, X, y) == pytest.approx(stump.score(X, y) - 1)


@pytest.mark.parametrize("per_sample", [False, True])
def test_scorer_with_costs_as_routed_metadata(per_sample):
    X, y = blobs()
    cost = VALUES[np.repeat(np.arange(3), 30)] if per_sample else VALUES
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_expected_cost_scorer().set_score_request(cost=True)
        routed = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, scoring=scorer, cv=3)
        routed.fit(X, y, cost=cost)
    bound = GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, scoring=make_expected_cost_scorer(VALUES), cv=3
    ).fit(X, y)
    assert np.allclose(routed.cv_results_["mean_test_score"], bound.cv_results_["mean_test_score"])


# ------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_cost([0, 1], [0], None), "inconsistent numbers of samples"),
        (lambda: expected_cost([[0, 1]], [[0, 1]], None), "y should be a 1d array"),
        (lambda: expected_cost([], [], None), "y_true must hold one sample or more, got none"),
        (
            lambda: expected_cost([0, 1], [0, 1], VALUES),
            "a cost without labels that has 3 rows when the labels that occur are [0, 1]",
        ),
        (lambda: best_constant_cost([0, 1], VALUES), "labels must be given for a cost without labels"),
        (
            lambda: expected_cost([0, 1, 1, 0], [0, 1, 1, 0], np.ones((4, 3))),
            "costs per sample that have 3 columns when the labels that occur are [0, 1]",
        ),
        (
            lambda: expected_cost(["ill", "dead"], ["ill", "ill"], ILL),
            "classes (rows) of the cost only, expected some of ['ill', 'well'], got ['dead']",
        ),
        (
            lambda: expected_cost(["ill", "well"], ["ill", "refer"], ILL),
            "y_pred must hold decisions of the cost only, expected some of ['ill', 'well'], got ['refer']",
        ),
        (
            lambda: expected_cost([0, 1], [0, 1], None, labels=[0, 2]),
            "y_true must hold classes (rows) of the cost only",
        ),
        (lambda: expected_cost(["ill"], ["ill"], ILL, labels=["ill", "dead"]), "got none for ['dead'] among its rows"),
        (lambda: expected_cost([0, 1], [0, 1], [[0, 1], [1, 0]], labels=[0, 0]), "labels must differ from each other"),
        (lambda: expected_cost([0, 1], [0, 1], [[0, 1], [1, 0]], labels="01"), "labels must be a list or array"),
        (lambda: expected_cost([0, 1], [0, 1], [[0, 1], [1, 2]]), "cost[1, 1] is the cost of a correct decision"),
        (lambda: expected_cost([0, 1, 0], [0, 1, 1], -np.ones((3, 2))), "cost[0, 0] must be zero or more"),
        (lambda: expected_cost([0, 1], [0, 1], [0, 1]), "cost must be 2-d"),
        (
            lambda: expected_cost([0, np.nan], [0, 1], [[0, 1], [1, 0]], labels=[0, 1]),
            "y_true must hold a class for each row, got",
        ),
        (lambda: expected_cost(["a", "b"], ["a", None]), "y_pred must hold a class for each row, got None in row 1"),
        (lambda: expected_cost(["a", []], ["a", "b"]), "y_true must hold numbers or texts, got list '[]' in row 1"),
        (lambda: expected_cost(["a", {}], ["a", "b"]), "y_true must hold numbers or texts, got dict '{}' in row 1"),
        (lambda: balanced(["a", None]), "y must hold a class for each row, got None in row 1"),
        (lambda: expected_cost([0, 1], [0, 1], sample_weight=[1]), "a number for each of the 2 rows, got 1"),
        (lambda: expected_cost([0, 1], [0, 1], sample_weight=[1, -1]), "sample_weight must be finite and zero or more"),
        (lambda: expected_cost([0, 1], [0, 1], sample_weight=[0, 0]), "with one weight above zero"),
        (lambda: regret([0, 1], [0, 1], sample_weight=[1, np.nan]), "sample_weight must be finite"),
        (
            lambda: cost_confusion_matrix([0, 1], [0, 1], normalize="rows"),
            "normalize must be 'true', 'pred', 'all' or None",
        ),
        (lambda: expected_cost([0, 1], [0, 1], "cost.xyz"), "must be the path of a CSV file"),
    ],
)
def test_refused(call, message):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=re.escape(message)):
        call()


# -- decisions that are no class, where there are no costs ------------------------------------------------------------
def test_to_refer_is_a_mistake_where_every_mistake_costs_1():
    y, decisions = ["b", "a", "b", "a"], ["b", "refer", "a", "a"]
    for labels in (None, ["a", "b"]):
        assert expected_cost(y, decisions, labels=labels) == 0.5
        np.testing.assert_array_equal(cost_confusion_matrix(y, decisions, labels=labels), [[0, 0, 1], [1, 0, 0]])
    assert expected_cost([0, 1, 1], [0, -1, 1]) == pytest.approx(1 / 3)
    np.testing.assert_array_equal(cost_confusion_matrix([0, 1, 1], [0, -1, 1]), [[0, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(cost_confusion_matrix(["a", "refer"], ["refer", "a"]), [[0, 1], [1, 0]])  # a class
    with pytest.raises(
        ValueError, match="got 'biopsy'|got \\['biopsy'\\]: add them to labels, or give costs that have a column"
    ):
        expected_cost(y, ["b", "biopsy", "a", "a"], labels=["a", "b"])


def test_a_frame_names_rows_and_columns_whatever_their_order_in_the_costs():
    cost = CostMatrix([[5, 0, 2], [0, 7, 2]], classes=["well", "ill"], decisions=["ill", "well", "refer"])
    y, decisions = ["ill", "ill", "well", "well"], ["well", "refer", "ill", "well"]
    frame = cost_confusion_matrix(y, decisions, cost, as_frame=True)
    np.testing.assert_array_equal(frame, cost_confusion_matrix(y, decisions, cost))
    assert frame.index.tolist() == ["well", "ill"] and frame.columns.tolist() == ["well", "ill", "refer"]
    assert (frame.loc["ill", "well"], frame.loc["ill", "refer"], frame.loc["well", "ill"]) == (7, 2, 5)
    shares = cost_confusion_matrix(y, decisions, cost, as_frame=True, normalize="true")
    assert shares.loc["ill", "well"] == 3.5


def test_thousands_of_labels_take_no_table():
    """0/1 costs of so many classes would be 8 bytes for each pair of them."""
    y, decided = np.arange(6000), np.zeros(6000, dtype=int)
    tracemalloc.start()
    found = expected_cost(y, decided), best_constant_cost(y), regret(y, decided, sample_weight=np.full(6000, 0.7))
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
    assert found == (5999 / 6000, 5999 / 6000, 0.0)
