"""Labels through everything: dtypes, orders, decisions that are no class, classes that training lacks, numbered classes."""

import copy
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneOut,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minrisk
from minrisk import ALGORITHMS, CostMatrix, MinRiskClassifier, REBELClassifier, costs, metrics
from minrisk.costs.labels import (
    label_array,
    label_text,
    match_decisions,
    match_labels,
    named_beside,
    refer_labels,
    written_numbers,
)
from minrisk.costs.reading import stated_cost
from tests.helpers.common import crossed

VALUES = np.array([[0, 1, 2], [30, 0, 4], [5, 6, 0.0]])
NAMES = np.array(["mid", "high", "low"])  # sorted: high, low, mid
NAMED = CostMatrix(VALUES, NAMES)
SORTED = VALUES[np.ix_([1, 2, 0], [1, 2, 0])]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    code = np.arange(120) % 3
    X = rng.normal(size=(120, 3))
    X[:, 0] += 1.2 * code
    return X, code


def quick(algorithm, cost=None, **more):
    options = {"random_state": 0, "pool": False, "cv": 2, **more} if algorithm is MinRiskClassifier else more
    return algorithm(cost, n_estimators=5, **{"random_state": 0, **options})


# -- predictions are of the classes' own dtype ---------------------------------------------------------------------------
KINDS = {
    "int8": np.array([-3, 0, 7], dtype=np.int8),
    "uint16": np.array([0, 1, 60000], dtype=np.uint16),
    "big-endian": np.array([1, 2, 3], dtype=">i4"),
    "uint64": np.array([1, 2, 2**64 - 1], dtype=np.uint64),
    "float16": np.array([0, 1, 2], dtype=np.float16),  # scikit-learn takes floats for classes if they are whole numbers
    "float32": np.array([1, 2, 3], dtype=np.float32),
    "text": np.array(["a", "bb", "a long label"]),
    "object": np.array(["a", "b", "c"], dtype=object),
    "NUL": np.array(["a\0", "b", "a"], dtype=object),
    "dates": np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]"),
    "times": np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[ns]"),
}


@pytest.mark.parametrize(("algorithm", "kind"), crossed(ALGORITHMS, KINDS))
def test_predictions_have_the_dtype_of_the_classes(data, tmp_path, algorithm, kind):
    X, code = data
    labels = KINDS[kind]
    model = quick(algorithm, 1 - np.eye(3)).fit(X, labels[code])
    assert model.classes_.dtype == model.decisions_.dtype == model.predict(X).dtype == labels.dtype
    assert set(model.predict(X).tolist()) <= set(labels.tolist())
    minrisk.save(model, tmp_path / "m")
    pickled = pickle.loads(pickle.dumps((model, labels)))  # NumPy's own pickles turn bytes to the machine's order
    for same, dtype in ((minrisk.load(tmp_path / "m"), labels.dtype), (pickled[0], pickled[1].dtype)):
        assert same.predict(X).dtype == same.classes_.dtype == dtype
        assert same.predict(X).tolist() == model.predict(X).tolist() and same.cost_ == model.cost_
        assert same.score(X, labels[code]) == pytest.approx(np.mean(model.predict(X) == labels[code]))
    if hasattr(model, "staged_predict"):
        assert all(stage.dtype == labels.dtype for stage in model.staged_predict(X))
    if algorithm is MinRiskClassifier and model.model_.link:
        assert model.predict(X, cost=VALUES).dtype == labels.dtype


@pytest.mark.parametrize(
    ("classes", "decisions", "dtype", "expected"),
    [
        (np.array([0, 1], np.uint8), (0, 1, -1), np.int16, [0, 1, -1]),
        (np.array([0, 1], np.int8), (1, -1, -2), np.int8, [1, -1, -2]),
        (np.array([0, 1], np.int8), (0, 1, -1000), np.int16, [0, 1, -1000]),
        (np.array([0, 1], np.uint64), (0, 1, -1), np.int64, [0, 1, -1]),
        (np.array([0, 2**64 - 1], np.uint64), (0, 2**64 - 1, -1), object, [0, 2**64 - 1, -1]),
        (np.array([0, 1], np.float32), (0.0, 1.0, -1), np.float32, [0, 1, -1]),
        (np.array([0, 1], np.float32), (0.0, 1.0, 0.1), np.float64, [0, 1, 0.1]),
        (np.array([0, 1], np.float32), (0.0, 1.0, -1.0), np.float32, [0, 1, -1]),  # as model files write it
        (np.array([0, 1], np.float16), (0.0, 1.0, -1e30), np.float64, [0, 1, -1e30]),
        (np.array([False, True]), (False, True, -1), np.int8, [0, 1, -1]),
        (np.array(["a", "b"]), ("a", "b", "refer"), "U5", ["a", "b", "refer"]),
        (np.array(["a", "b\0"], object), ("a", "b\0", "refer"), object, ["a", "b\0", "refer"]),
        (np.array(["a", "b"]), ("a", "b", "c\0"), object, ["a", "b", "c\0"]),
        (np.array([0, 1]), (0, 1, "clerk"), object, [0, 1, "clerk"]),
        (np.array(["a", "b"]), ("a", "b", 7), object, ["a", "b", 7]),
    ],
)
def test_decisions_have_the_smallest_dtype_that_holds_all(classes, decisions, dtype, expected):
    found = label_array(decisions, classes)
    assert found.dtype == np.dtype(dtype) and found.tolist() == expected
    assert list(map(type, found.tolist())) == list(map(type, expected)) or found.dtype.kind in "fi"


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32])
def test_a_refer_decision_keeps_its_dtype_in_files(data, tmp_path, dtype):
    X, code = data
    model = quick(REBELClassifier, costs.with_reject(costs.uniform(3), 0.1)).fit(X, code.astype(dtype))
    minrisk.save(model, tmp_path / "m")
    assert minrisk.load(tmp_path / "m").decisions_.dtype == model.decisions_.dtype == dtype


# -- decisions that are no class -------------------------------------------------------------------------------------
def test_default_names_of_decisions_that_are_no_class():
    assert refer_labels(1, ("a",)) == ("refer",) and refer_labels(2, ("a",)) == ("refer_1", "refer_2")
    assert refer_labels(3, (-1, -3, 0)) == (-2, -4, -5) and refer_labels(1, (-1.0, 1.0)) == (-2,)
    assert refer_labels(1, (False, True)) == (-1,)
    wide = np.c_[VALUES, [1, 1, 1]]
    assert CostMatrix(wide, [0, 1, 2]).decisions == (0, 1, 2, -1)
    assert CostMatrix(wide, [-1, 0, 1]).decisions == (-1, 0, 1, -2)
    assert CostMatrix(wide, [0, 1, 2], [0, 1, 2, "refer"]) == CostMatrix(wide, [0, 1, 2])
    assert CostMatrix(wide, [0, 1, 2], [0, 1, 2, "clerk"]).decisions == (0, 1, 2, "clerk")
    assert CostMatrix(wide, [0, 1, 2], [0, 1, 2, 99]).decisions == (0, 1, 2, 99)
    two = np.c_[wide, [2, 2, 2]]
    assert CostMatrix(two, [0, 1, 2], [0, 1, 2, "refer_2", "refer_1"]).decisions == (0, 1, 2, -2, -1)
    assert CostMatrix(two, [0, 1, 2], [0, 1, 2, "refer", -1]).decisions == (0, 1, 2, "refer", -1)  # both, as given
    assert costs.with_reject(costs.uniform([-1, 1]), 0.1).decisions == (-1, 1, -2)
    assert costs.with_reject(costs.uniform(["a", "b"]), 0.1).decisions == ("a", "b", "refer")
    assert costs.with_reject(costs.uniform([0, 1]), 0.1, "refer").decisions == (0, 1, -1)
    assert costs.with_reject(costs.uniform([0, 1]), 0.1, "clerk").decisions == (0, 1, "clerk")
    assert costs.with_reject(costs.with_reject(costs.uniform([0, 1]), 0.1), 0.2, "clerk").decisions == (
        0,
        1,
        -1,
        "clerk",
    )
    for again in ("refer", -1, None):
        with pytest.raises(ValueError, match="label must be new among the decisions"):
            costs.with_reject(costs.with_reject(costs.uniform([0, 1]), 0.1), 0.2, again)


def test_labelled_costs_are_called_as_the_classes_are(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("true,0,1,refer\n0,0,1,.5\n1,1,0,.5\n")
    assert costs.as_cost(path, [0, 1]).decisions == (0, 1, -1)
    assert costs.as_cost(path, ["0", "1"]).decisions == ("0", "1", "refer")
    assert costs.as_cost(path, np.array([0.0, 1.0])).decisions == (0.0, 1.0, -1)
    assert costs.as_cost({0: {1: 1, "refer": 0.5}, 1: {0: 1, "refer": 0.5}}, [0, 1]).decisions == (0, 1, -1)
    numbers = costs.with_reject(costs.uniform([0, 1]), 0.5)
    assert costs.as_cost(numbers, ["0", "1"]).decisions == ("0", "1", "refer")
    assert costs.as_cost(costs.with_reject(costs.uniform(2), 0.5), ["a", "b"]).decisions == ("a", "b", "refer")
    assert costs.as_cost(costs.with_reject(costs.uniform(2), 0.5), [0, 1]).decisions == (0, 1, -1)
    path.write_text("true,0,1,9\n0,0,1,.5\n1,1,0,.5\n")
    assert costs.as_cost(path, [0, 1]).decisions == (0, 1, 9)
    assert named_beside(("refer", -1), ("a",), ("a",)) == ("refer", -1)
    # a class that the data lack keeps its number for itself
    path.write_text("true,-1,0,1,refer\n-1,0,1,1,.5\n0,1,0,1,.5\n1,1,1,0,.5\n")
    assert costs.as_cost(path, [0, 1]).decisions == (0, 1, -2)
    rows = pd.DataFrame([[0, 1, 0.5], [1, 0, 0.5], [0, 1, 0.5]], columns=[0, 1, "refer"])
    assert costs.row_costs(rows, 3, [0, 1])[1] == (0, 1, -1)


def test_names_of_a_decision_find_each_other():
    assert match_decisions(["refer", -1, -2, "clerk"], (0, 1, -1), (0, 1)) == [2, 2, -1, -1]
    assert match_decisions([-1, "refer_1"], ("0", "1", "refer"), ("0", "1")) == [2, 2]
    assert match_decisions([-1], ("a", "b", "refer"), ("a", "b")) == [-1]
    assert match_decisions(["refer_2", -1], (0, 1, -2, -1), (0, 1)) == [2, 3]
    y, numbers = [0, 1, 2, 0], [0, -1, 1, -1]
    texts = np.array([0, "refer", 1, "refer"], dtype=object)
    plain = np.c_[VALUES, [0.5, 0.5, 0.5]]
    stated = [plain, CostMatrix(plain), CostMatrix(plain, range(3)), CostMatrix(plain, list("012"))]
    for cost in stated:
        for decided in (numbers, texts, np.array(numbers, np.int8)):
            assert metrics.expected_cost(y, decided, cost) == (0 + 0.5 + 6 + 0.5) / 4
    assert metrics.expected_cost(y, numbers, plain[y]) == 1.75 == metrics.expected_cost(y, texts, plain[y])
    below = [-1, 0, 1, -1], [-1, -2, 0, -2]  # the same, one lower
    assert metrics.expected_cost(*below, plain) == 1.75 == metrics.expected_cost(*below, CostMatrix(plain, [-1, 0, 1]))
    with pytest.raises(ValueError, match="labels must be given"):  # a class -1, or the decision?
        metrics.expected_cost([0, 1, 0], [0, 1, -1], plain)
    assert metrics.expected_cost([0, 1, 0], [0, 1, -1], plain, labels=[0, 1, 2]) == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("labels", [[0, 1, 2], [-1, 0, 1], [False, True], [1.0, 2.0, 3.0], ["a", "b", "c"]])
@pytest.mark.parametrize("algorithm", [REBELClassifier, MinRiskClassifier])
def test_scikit_learn_takes_decisions_that_are_no_class(data, tmp_path, algorithm, labels):
    X, code = data
    y = np.array(labels)[code % len(labels)]
    cost = costs.with_reject(costs.uniform(len(labels)), 0.15)
    model = quick(algorithm, cost).fit(X, y)
    refer, decided = model.decisions_[-1], model.predict(X)
    assert refer == ("refer" if y.dtype.kind == "U" else -2 if -1 in labels else -1)
    assert refer in decided and decided.dtype.kind != "O"
    missed = np.mean(decided != y)
    assert accuracy_score(y, decided) == pytest.approx(1 - missed)
    assert str(refer) in classification_report(y, decided, zero_division=0)
    assert confusion_matrix(y, decided).shape == (len(labels) + 1,) * 2
    scores = cross_val_score(quick(algorithm, cost), X, y, cv=3, scoring="accuracy", error_score="raise")
    found = cross_val_predict(quick(algorithm, cost), X, y, cv=3)
    assert accuracy_score(y, found) == pytest.approx(scores.mean())
    mean = metrics.expected_cost(y, decided, cost)
    assert model.score(X, y) == pytest.approx(1 - mean)
    assert mean == pytest.approx((0.15 * np.sum(decided == refer) + np.sum((decided != y) & (decided != refer))) / 120)
    minrisk.save(model, tmp_path / "m")
    loaded = minrisk.load(tmp_path / "m")
    assert loaded.predict(X).tolist() == decided.tolist() and loaded.decisions_.dtype == decided.dtype
    assert loaded.score(X, y) == pytest.approx(1 - mean)


def test_pictures_of_scikit_learn_with_a_refer_decision(data):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from sklearn.inspection import DecisionBoundaryDisplay
    from sklearn.metrics import ConfusionMatrixDisplay

    X, y = data
    model = quick(REBELClassifier, costs.with_reject(costs.uniform(3), 0.15)).fit(X[:, :2], y)
    assert ConfusionMatrixDisplay.from_estimator(model, X[:, :2], y).confusion_matrix.shape == (4, 4)
    shown = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], grid_resolution=20)
    assert shown.response.shape == (20, 20, 4)  # the area of -1 is left white
    from minrisk.inspection import CostConfusionDisplay

    assert CostConfusionDisplay.from_estimator(model, X[:, :2], y).decision_labels == [0, 1, 2, -1]
    two = quick(REBELClassifier, costs.with_reject(costs.uniform(2), 0.15)).fit(X[:, :2], y > 1)
    assert -1 in two.predict(X[:, :2]) and two.decision_function(X[:, :2]).shape == (len(y),)
    assert DecisionBoundaryDisplay.from_estimator(two, X[:, :2], grid_resolution=20).response.shape == (20, 20)
    assert roc_auc_score(y > 1, two.decision_function(X[:, :2])) > 0.7
    with pytest.warns(UserWarning, match="CalibratedClassifierCV.predict takes the most probable class"):
        calibrated = CalibratedClassifierCV(two, cv=3).fit(X[:, :2], y > 1)
    assert calibrated.predict_proba(X[:, :2]).shape == (len(y), 2)
    pyplot.close("all")


# -- orders --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ordinal_costs_ask_for_the_order_of_texts(data, algorithm):
    X, code = data
    y = np.array(["low", "medium", "high"])[code]
    unsaid = costs.ordinal(3)
    for cost in (unsaid, copy.copy(unsaid), pickle.loads(pickle.dumps(unsaid)), CostMatrix(unsaid)):
        with pytest.raises(ValueError, match=r"got ordinal\(3\) for the texts \['high', 'low', 'medium'\]"):
            quick(algorithm, cost).fit(X, y)
    with pytest.raises(ValueError, match="whose order nobody said"):
        quick(algorithm).fit(X, y, cost=costs.ordinal(3, p=2))
    said = quick(algorithm, costs.ordinal(["low", "medium", "high"])).fit(X, y)
    assert said.cost_.values.tolist() == [[0, 2, 1], [2, 0, 1], [1, 1, 0]]  # high, low, medium
    for cost in (unsaid, np.asarray(unsaid), CostMatrix(unsaid, ["low", "medium", "high"])):
        labels = y if isinstance(cost, CostMatrix) and cost.classes else code
        quick(algorithm, cost).fit(X, labels)


def test_ordinal_costs_where_the_order_is_known():
    assert costs.as_cost(costs.ordinal(3), [1, 2, 4]).values[0].tolist() == [0, 1, 2]
    assert costs.as_cost(costs.ordinal(2), ["no", "yes"]) == costs.uniform(["no", "yes"])  # no order needed
    refer = costs.with_reject(costs.ordinal(3), 0.5)
    assert costs.as_cost(refer, [0.5, 1.5, 2.5]).decisions == (0.5, 1.5, 2.5, -1)
    y = ["low", "high", "medium"]
    for cost in (costs.ordinal(3), refer):
        with pytest.raises(ValueError, match="write ordinal with the labels in order"):
            costs.as_cost(cost, sorted(y))
        with pytest.raises(ValueError, match="whose order nobody said"):
            metrics.expected_cost(y, y, cost)
        assert metrics.expected_cost(y, y[::-1], cost, labels=["low", "medium", "high"]) == pytest.approx(2 / 3)
    assert costs.ordinal(3) != CostMatrix(costs.ordinal(3).values) and hash(costs.ordinal(3)) is not None
    assert "from the lowest class to the highest" in repr(costs.ordinal(3))
    assert "in the order of the sorted classes" in repr(costs.uniform(3))


def test_judging_by_ordinal_costs_asks_as_well(data):
    pytest.importorskip("matplotlib.pyplot")
    X, code = data
    y = np.array(["low", "medium", "high"])[code]
    model = quick(MinRiskClassifier).fit(X, y)
    for judge in (
        lambda cost: model.score(X, y, cost=cost),
        lambda cost: model.predict(X, cost=cost),
        lambda cost: minrisk.inspection.CostConfusionDisplay.from_estimator(model, X, y, cost),
        lambda cost: metrics.make_expected_cost_scorer(cost)(model, X, y),
    ):
        with pytest.raises(ValueError, match="whose order nobody said"):
            judge(costs.ordinal(3))
        judge(costs.ordinal(["low", "medium", "high"]))


# -- classes that costs name and training rows lack --------------------------------------------------------------------------
FOUR = np.array([[0, 1, 1, 1], [1, 0, 2, 1], [1, 1, 0, 1], [5, 4, 3, 0.0]])


@pytest.mark.parametrize(("algorithm", "form"), crossed(ALGORITHMS, ["matrix", "frame", "dict", "file"]))
def test_rows_of_a_class_that_training_lacked_cost_what_was_stated(data, tmp_path, algorithm, form):
    X, y = data
    late = y.copy()
    late[0] = 3
    frame = CostMatrix(FOUR, range(4)).to_frame()
    frame.to_csv(tmp_path / "c.csv")
    cost = {
        "matrix": CostMatrix(FOUR, range(4)),
        "frame": frame.loc[[3, 1, 0, 2], [2, 3, 0, 1]],
        "file": tmp_path / "c.csv",
        "dict": {i: dict(enumerate(row)) for i, row in enumerate(FOUR)},
    }[form]
    model = quick(algorithm, cost).fit(X[1:], y[1:])
    assert model.cost_ == CostMatrix(FOUR[:3, :3], range(3)) and model.decisions_.tolist() == [0, 1, 2]
    decided = model.predict(X)
    mean = FOUR[late, decided].mean()
    minrisk.save(model, tmp_path / "m")
    loaded = minrisk.load(tmp_path / "m")
    for same in (model, loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(loaded))):
        assert same.score(X, late) == pytest.approx(1 - mean)
        assert same.score(X[:1], late[:1]) == 1 - FOUR[3, decided[0]]
        with pytest.raises(ValueError, match=r"expected some of \[0, 1, 2, '?3'?\], got \[4\]"):
            same.score(X, y + 2)
        again = clone(same).fit(X, late)  # the fourth class is known to the costs
        assert again.cost_ == CostMatrix(FOUR, range(4))
    pytest.importorskip("matplotlib.pyplot").close("all")
    shown = minrisk.inspection.CostConfusionDisplay.from_estimator(loaded, X, late)
    assert shown.cost_confusion.sum() == pytest.approx(mean * len(y)) and len(shown.true_labels) == 4
    given = quick(algorithm).fit(X[1:], y[1:], cost=cost)  # costs given to fit
    minrisk.save(given, tmp_path / "m")
    assert given.score(X, late) == minrisk.load(tmp_path / "m").score(X, late) == pytest.approx(1 - mean)
    assert quick(algorithm).fit(X[1:], y[1:]).score(X, late, cost=cost) is not None


def test_cross_validation_with_a_class_of_one_row(data):
    X, y = data
    y = y.copy()
    y[0] = 3
    labelled = CostMatrix(FOUR, [0, 1, 2, 3])
    for cost in (labelled, None):
        model = quick(MinRiskClassifier, cost)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # one row is fewer than three folds
            search = GridSearchCV(model, {"n_estimators": [3, 5]}, cv=3, error_score="raise").fit(X, y)
            scores = cross_validate(model, X, y, cv=3, error_score="raise")["test_score"]
            curve = learning_curve(model, X, y, cv=3, error_score="raise", train_sizes=[0.5, 1.0])[2]
        assert (
            np.isfinite(search.cv_results_["mean_test_score"]).all()
            and np.isfinite(scores).all()
            and np.isfinite(curve).all()
        )
    free = CostMatrix(
        [[0, 0, 0, 9], [0, 0, 0, 9], [1, 1, 0, 9], [5, 5, 5, 0]], range(4)
    )  # without 3 some rows are all zero
    for train in (y < 3, (y == 0) | (y == 2)):
        rare = quick(MinRiskClassifier, free).fit(X[train], y[train])
        assert rare.score(X, y) == pytest.approx(1 - free.values[y, rare.predict(X)].mean())
    held = cross_val_score(quick(REBELClassifier, labelled), X[:6], y[:6], cv=LeaveOneOut(), error_score="raise")
    assert held[0] <= 1 - 3  # deciding anything for the row of class 3 costs 3 or more


def test_a_refer_decision_and_a_class_that_training_lacked(data, tmp_path):
    X, y = data
    late = y - 1
    known = late >= 0
    cost = costs.with_reject(CostMatrix(FOUR[:3, :3], [-1, 0, 1]), 0.2)
    model = quick(REBELClassifier, cost).fit(X[known], late[known])
    assert model.decisions_.tolist() == [0, 1, -2]  # -1 is a class, if not one of these rows
    decided = model.predict(X)
    paid = cost.values[late + 1, np.where(decided == -2, 3, decided + 1)].mean()
    assert model.score(X, late) == pytest.approx(1 - paid)
    minrisk.save(model, tmp_path / "m")
    assert minrisk.load(tmp_path / "m").score(X, late) == pytest.approx(1 - paid)


def test_plain_tables_know_the_classes_of_training_only(data):
    X, y = data
    model = quick(REBELClassifier, VALUES).fit(X, y)
    with pytest.raises(ValueError, match=re.escape("expected some of [0, 1, 2], got [3]")):
        model.score(X, y + 1)


# -- classes that a meta-estimator numbers ---------------------------------------------------------------------------------
def metas(base, X, y):
    """Everything of scikit-learn's that numbers classes anew, and much that does not."""
    method = "predict_proba" if hasattr(base, "predict_proba") else "decision_function"
    yield lambda: cross_val_predict(base, X, y, cv=3, method=method)
    yield lambda: cross_val_predict(base, X, y, cv=3)
    yield lambda: VotingClassifier([("a", base), ("b", GaussianNB()), ("c", clone(base))]).fit(X, y).predict(X)
    if method == "predict_proba":
        yield lambda: VotingClassifier([("a", base), ("b", GaussianNB())], voting="soft").fit(X, y).predict(X)
    yield lambda: StackingClassifier([("a", base)], final_estimator=GaussianNB(), cv=3).fit(X, y).predict(X)
    yield lambda: StackingClassifier([("b", GaussianNB())], final_estimator=base, cv=3).fit(X, y).predict(X)
    yield lambda: BaggingClassifier(base, n_estimators=2, random_state=0).fit(X, y).predict(X)
    yield lambda: CalibratedClassifierCV(base, cv=3).fit(X, y).predict(X)
    yield lambda: AdaBoostClassifier(base, n_estimators=2, random_state=0).fit(X, y).predict(X)
    yield lambda: MultiOutputClassifier(base).fit(X, np.c_[y, y]).predict(X)
    yield lambda: make_pipeline(StandardScaler(), base).fit(X, y).predict(X)
    yield (
        lambda: (
            GridSearchCV(base, {"n_estimators": [3]}, cv=3, error_score="raise")
            .fit(X, y)
            .cv_results_["mean_test_score"]
        )
    )
    yield lambda: learning_curve(base, X, y, cv=3, error_score="raise", train_sizes=[0.5, 1.0])[2]


@pytest.mark.filterwarnings("ignore:CalibratedClassifierCV.predict takes the most probable class")
@pytest.mark.parametrize(
    ("algorithm", "form"), crossed([REBELClassifier, MinRiskClassifier], ["matrix", "frame", "dict", "file"])
)
def test_meta_estimators_take_labelled_costs(data, tmp_path, algorithm, form):
    X, code = data
    y = NAMES[code]
    frame = NAMED.to_frame()
    frame.to_csv(tmp_path / "c.csv")
    nested = {name: frame.loc[name].to_dict() for name in NAMES}
    cost = {"matrix": NAMED, "frame": frame, "dict": nested, "file": str(tmp_path / "c.csv")}[form]
    ours = metas(quick(algorithm, cost), X, y)
    plain = metas(quick(algorithm, SORTED), X, y)
    for n, (labelled, positional) in enumerate(zip(ours, plain, strict=True)):
        if form == "matrix" or n < 3:
            np.testing.assert_array_equal(labelled(), positional())


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, 3],
        [10, 20, 30],
        [5, 10, 15],
        [9, 10, 11],
        [-2, -1, 0],
        [-10, -9, 100],
        [0.5, 2.5, 11.5],
        [np.int8(5), 10, 99],
        ["1", "2", "3"],
        ["01", "02", "10"],
    ],
)
def test_numbered_classes_of_labels_that_look_like_numbers(data, labels):
    X, code = data
    y = np.array(labels)[code]
    if y.dtype.kind == "f":
        y = y.astype(object)  # to scikit-learn, fractions are no classes
    backwards = CostMatrix(VALUES[::-1, ::-1], labels[::-1])
    by_label = pd.DataFrame(VALUES, index=labels, columns=labels)
    nested = {true: {label: by_label.loc[true, label] for label in labels} for true in labels}
    for cost in (CostMatrix(VALUES, labels), backwards, by_label, nested):
        ours, plain = (VotingClassifier([("a", quick(REBELClassifier, table))]) for table in (cost, VALUES))
        if y.dtype == object:
            codes = np.arange(3)[code]  # as a meta-estimator makes them
            np.testing.assert_array_equal(ours.fit(X, codes).predict(X), plain.fit(X, codes).predict(X))
        else:
            np.testing.assert_array_equal(ours.fit(X, y).predict(X), plain.fit(X, y).predict(X))


@pytest.mark.parametrize("labels", [["9", "10", "11"], ["5", "10", "15"], ["-2", "-1", "0"], ["a", 1, 2]])
def test_an_order_that_depends_on_how_labels_are_written_is_refused(data, labels):
    X, code = data
    with pytest.raises(ValueError, match="sorted otherwise as numbers than as texts: pass the costs as a plain table"):
        quick(REBELClassifier, CostMatrix(VALUES, labels)).fit(X, code)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_fewer_numbers_than_labels_are_refused(data, algorithm):
    X, code = data
    with pytest.raises(
        ValueError, match=r"y holds the classes \[0, 1\], as if a meta-estimator .* which are more: pass"
    ):
        OneVsRestClassifier(quick(algorithm, NAMED)).fit(X, NAMES[code])
    kept = code != 1  # a fold that lacks a class: 0 and 2 of three
    with pytest.raises(ValueError, match=r"CostMatrix\(table, classes=range\(3\)\)"):
        quick(algorithm, NAMED).fit(X[kept], code[kept])
    said = quick(algorithm, CostMatrix(SORTED, classes=range(3))).fit(
        X[kept], code[kept]
    )  # what the message says to write
    assert said.cost_.values.tolist() == SORTED[np.ix_([0, 2], [0, 2])].tolist()


def test_what_is_taken_for_numbered():
    refer = costs.with_reject(NAMED, 0.5)
    assert stated_cost(refer, [0, 1, 2]).decisions == (0, 1, 2, -1)
    assert stated_cost(refer, [0, 1, 2]).values.tolist() == np.c_[SORTED, [0.5] * 3].tolist()
    assert stated_cost(NAMED, np.array([0.0, 1.0, 2.0])).classes == (0.0, 1.0, 2.0)
    clerk = stated_cost(costs.with_reject(NAMED, 0.5, "clerk"), [0, 1, 2])
    assert clerk.decisions == (0, 1, 2, "clerk")
    never = CostMatrix(VALUES[:, :2], NAMES, NAMES[:2])  # "low" is never decided
    assert stated_cost(never, [0, 1, 2]).decisions == (0, 2)
    same = CostMatrix(VALUES, ["0", "1", "2"])
    assert stated_cost(same, [0, 1, 2]).values.tolist() == VALUES.tolist()  # nothing but their own names
    shuffled = CostMatrix(VALUES, [2, 0, 1])
    assert stated_cost(shuffled, [0, 1, 2]).values.tolist() == SORTED.tolist()
    for other in ([1, 2, 3], [False, True], ["0", "1", "2"], [0.0, 0.5, 1.0]):
        with pytest.raises(ValueError, match=r"got none for .* among its rows .* add the rows"):
            stated_cost(NAMED, other)


# -- other labelled arguments ------------------------------------------------------------------------------------------
def test_prices_go_by_the_labels_of_a_series():
    prices = {"a": 0.1, "b": 0.5}
    cost = costs.uniform(["b", "a"])
    by_label = costs.with_reject(cost, prices)
    assert by_label.values[:, -1].tolist() == [0.5, 0.1]
    assert costs.with_reject(cost, pd.Series(prices)) == by_label
    assert costs.with_reject(cost, pd.Series(prices, dtype=object)) == by_label
    assert costs.with_reject(cost, pd.Series(prices).astype("Float64")) == by_label
    assert costs.with_reject(cost, pd.Series([0.5, 0.1])) == by_label  # merely numbered: by position
    assert costs.with_reject(costs.uniform([1, 0]), pd.Series([0.1, 0.5])).values[:, -1].tolist() == [0.5, 0.1]
    assert costs.with_reject(costs.uniform([1, 2]), pd.Series({"2": 0.1, "1": 0.5})).values[:, -1].tolist() == [
        0.5,
        0.1,
    ]
    assert costs.with_reject(costs.uniform(2), pd.Series([0.5, 0.1])).values[:, -1].tolist() == [0.5, 0.1]
    for wrong in (pd.Series({"a": 1.0}), pd.Series({"a": 1.0, "b": 2.0, "c": 3.0}), pd.Series({"a": 1.0, "c": 2.0})):
        with pytest.raises(ValueError, match="price must have one entry per class"):
            costs.with_reject(cost, wrong)
    with pytest.raises(ValueError, match="the labels of price must differ"):
        costs.with_reject(cost, pd.Series([1.0, 2.0], index=["a", "a"]))
    with pytest.raises(ValueError, match="price of class 'a' must be a finite number"):
        costs.with_reject(cost, pd.Series({"a": None, "b": 0.5}))


def test_frames_with_several_levels_of_labels_are_refused():
    levels = pd.MultiIndex.from_product([["cost"], ["a", "b"]])
    for frame in (
        pd.DataFrame([[0, 1], [1, 0]], index=["a", "b"], columns=levels),
        pd.DataFrame([[0, 1], [1, 0]], index=levels, columns=["a", "b"]),
    ):
        with pytest.raises(ValueError, match=r"got a MultiIndex of 2 levels: keep one of them, .* cost.droplevel\(0"):
            costs.as_cost(frame, ["a", "b"])
    rows = pd.DataFrame([[0, 1], [1, 0], [0, 2]], columns=levels)
    with pytest.raises(ValueError, match="the decisions .* got a MultiIndex"):
        costs.row_costs(rows, 3, ["a", "b"])
    stacked = pd.DataFrame([[0, 1], [1, 0]], index=["a", "b"], columns=["a", "b"]).stack()
    with pytest.raises(ValueError, match=r"got Series with 1 dimension: .* here by cost.unstack\(\) if"):
        costs.as_cost(stacked, ["a", "b"])
    assert costs.as_cost(stacked.unstack(), ["b", "a"]).classes == ("b", "a")


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_tables_bring_the_names_of_their_columns(data, library):
    module = pytest.importorskip(library)
    table = module.DataFrame if library == "polars" else module.table
    with pytest.raises(ValueError, match=r"cost must name its rows as well as its columns \['b', 'a'\]"):
        costs.as_cost(table({"b": [1.0, 0.0], "a": [0.0, 5.0]}), ["a", "b"])
    values, decisions = costs.row_costs(table({"b": [1.0, 0.0, 2.0], "a": [0.0, 5.0, 0.0]}), 3, ["a", "b"])
    assert decisions == ("a", "b") and values.tolist() == [[0, 1], [5, 0], [0, 2]]
    if library == "polars":
        unnamed = module.DataFrame(np.array([[0.0, 1.0], [5.0, 0.0]]))
        assert costs.as_cost(unnamed, ["a", "b"]).values.tolist() == [[0, 1], [5, 0]]
        assert costs.with_reject(costs.uniform(["b", "a"]), module.Series([0.5, 0.1])).values[:, -1].tolist() == [
            0.5,
            0.1,
        ]


def test_labels_as_an_index_or_a_series():
    for labels in (pd.Index(["b", "a"]), pd.Series(["b", "a"], index=[7, 3]), pd.Categorical(["b", "a"])):
        assert costs.uniform(labels).classes == ("b", "a")
        assert costs.from_taxonomy(["a", "b", "c"], labels).classes == ("b", "a")
        assert CostMatrix([[0, 1], [5, 0]], labels).classes == ("b", "a")
        assert metrics.cost_confusion_matrix(["a"], ["b"], [[0, 1], [5, 0]], labels).tolist() == [[0, 0], [5, 0]]
    weight = pd.Series([1.0, 2.0, 3.0], index=[2, 1, 0])  # by position, as everywhere in scikit-learn
    assert costs.balanced(["a", "b", "b"], weight) == costs.balanced(["a", "b", "b"], [1, 2, 3])


# -- laws ----------------------------------------------------------------------------------------------------------------
@st.composite
def stated(draw):
    """Labelled costs of 2 to 6 classes with up to two further decisions, and classes of which rows are there."""
    k, more = draw(st.integers(2, 6)), draw(st.integers(0, 2))
    labels = draw(
        st.sampled_from(
            [list(range(-2, k - 2)), [f"{i + 7}" for i in range(k)], list("fedcba")[:k], [10.0 * i for i in range(k)]]
        )
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = np.c_[rng.integers(1, 9, (k, k)) * (1 - np.eye(k)), rng.integers(1, 9, (k, more))]
    order = rng.permutation(k)
    cost = CostMatrix(values[np.ix_(order, [*order, *range(k, k + more)])], [labels[i] for i in order])
    present = sorted(rng.permutation(k)[: draw(st.integers(2, k))])
    return cost, labels, np.array(labels)[present]


@given(case=stated(), written=st.booleans())
@settings(max_examples=200, deadline=None)
def test_all_that_was_stated_is_kept_whatever_rows_are_there(case, written):
    cost, labels, classes = case
    if written:  # as texts, where costs may have numbers
        classes = np.array([label_text(label) for label in classes.tolist()])
        labels = [label_text(label) for label in labels]
    kept = stated_cost(cost, classes)
    aligned = costs.as_cost(cost, classes)
    assert costs.as_cost(kept, classes) == aligned and kept.classes[: len(classes)] == tuple(classes.tolist())
    assert kept.decisions[: len(aligned.decisions)] == aligned.decisions and kept.shape == cost.shape
    decided = label_array(aligned.decisions, classes)
    assert decided.tolist() == list(aligned.decisions) and (decided.dtype.kind == classes.dtype.kind)
    for label in labels:  # every class may come up, every decision may be taken
        for j, decision in enumerate(aligned.decisions):
            paid = metrics.expected_cost([label], [decision], kept)
            place = match_decisions([decision], cost.decisions, cost.classes)[0]
            assert paid == cost.values[match_labels([label], cost.classes)[0], place]
            assert paid == metrics.expected_cost([label], decided[[j]], cost)


@given(case=stated())
@settings(max_examples=200, deadline=None)
def test_numbered_classes_mean_the_sorted_labels_or_are_refused(case):
    cost, labels, _ = case
    texts = [label_text(label) for label in labels]
    orders = [np.argsort(np.array(labels)).tolist()]
    if isinstance(labels[0], str):
        numbers = written_numbers(labels)
        orders += [np.argsort(texts).tolist(), *([] if numbers is None else [np.argsort(numbers).tolist()])]
    codes = np.arange(len(labels))
    if -1 not in match_labels(codes.tolist(), cost.classes):
        return
    if any(order != orders[0] for order in orders):
        with pytest.raises(ValueError, match="sorted otherwise as numbers than as texts"):
            stated_cost(cost, codes)
        return
    given_names = costs.as_cost(cost, np.array(labels)[orders[0]])
    numbered = stated_cost(cost, codes)
    assert numbered.values.tolist() == given_names.values.tolist() and numbered.classes == tuple(codes.tolist())
    assert label_array(numbered.decisions, codes).dtype.kind == "i"


# -- labels that no model file keeps -----------------------------------------------------------------------------------
LONG, OPEN = "x" * 1001, [[0, 1, 0.5], [1, 0, 0.5]]


@pytest.mark.parametrize(
    ("classes", "cost", "said"),
    [
        ([LONG, "b"], None, r"the classes of y must be .* of 1001 letters, .*: shorten it\.$"),
        (np.array([LONG, "b"], dtype=object), None, r"the classes of y must be .*: shorten it\.$"),
        (
            ["a", "b"],
            CostMatrix(OPEN, ["a", "b"], ["a", "b", LONG]),
            r"the decisions of cost must be .*: shorten it\.$",
        ),
        (["a", "b"], CostMatrix(1 - np.eye(3), ["a", "b", LONG]), r"the classes of cost must be .*: shorten it\.$"),
        (
            [0, 1],
            CostMatrix(OPEN, [0, 1], [0, 1, 2**70]),
            r"the decisions of cost must be .*got 1180591620717411303424 of type int",
        ),
        ([0, 1], CostMatrix(OPEN, [0, 1], [0, 1, np.inf]), r"the decisions of cost must be .*got inf of type float"),
        (
            [0, 1],
            CostMatrix(OPEN, [0, 1], [0, 1, ("ask", "wait")]),
            r"the decisions of cost must be .*got \('ask', 'wait'\) of type tuple",
        ),
        (
            np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
            OPEN,
            r"the decisions of cost must be .*got .* of type datetime64",
        ),
    ],
)
def test_labels_that_a_file_cannot_keep_are_refused_by_fit(classes, cost, said):
    """Before the rounds, and not by `save`."""
    y = np.array([*classes], dtype=getattr(classes, "dtype", None))[np.arange(40) % 2]
    with pytest.raises(ValueError, match=said):
        REBELClassifier(cost, n_estimators=2).fit(np.arange(40.0)[:, None], y)


def test_labels_of_costs_per_row_that_a_file_cannot_keep_are_refused_by_fit():
    cost = pd.DataFrame(np.ones((40, 3)), columns=["a", "b", LONG])
    with pytest.raises(ValueError, match="the decisions of cost must be"):
        REBELClassifier(n_estimators=2).fit(
            np.arange(40.0)[:, None], np.array(["a", "b"])[np.arange(40) % 2], cost=cost
        )


def test_labels_as_long_as_a_file_keeps_them(tmp_path):
    """Also where the labels alone, as an array, take more than a file of that size may ask for."""
    y = np.array([f"{k:03}" if k else LONG[1:] for k in np.arange(1000) % 500])
    cost = np.random.default_rng(0).random((1000, 500))
    model = REBELClassifier(n_estimators=2).fit(np.arange(1000.0)[:, None], y, cost=cost)
    minrisk.save(model, tmp_path / "m")
    assert minrisk.load(tmp_path / "m").classes_.tolist() == model.classes_.tolist()


def test_labels_of_more_than_64_bits_in_an_array_of_long_floats_are_those_of_64(tmp_path):
    y = np.array([*np.array([1.0, 2.0], dtype=np.longdouble)] * 20, dtype=object)
    model = REBELClassifier(n_estimators=2).fit(np.arange(40.0)[:, None], y)
    minrisk.save(model, tmp_path / "m")
    assert minrisk.load(tmp_path / "m").classes_.tolist() == [1.0, 2.0]
