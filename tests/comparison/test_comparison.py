"""`minrisk.compare`: what is judged, by whom; resumed after interruptions; whatever the number of processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import minrisk
from minrisk import MinRiskClassifier, REBELClassifier, compare, costs
from minrisk.boosting.monitors import ProgressBar
from minrisk.comparison import BlindToCosts, Comparison, MethodError, running
from minrisk.comparison.methods import compared_methods
from minrisk.comparison.result import METRIC_NAMES
from minrisk.comparison.store import described, digest
from minrisk.costs import CostMatrix
from minrisk.inspection import CriticalDifferenceDisplay
from tests.helpers.common import slow_after
from tests.helpers.counted import COSTS, Counted, made

ROOT = Path(__file__).parents[2]
TIMES = ("fit_seconds", "predict_seconds")
# a thread of joblib's may still look up a task that has been taken back: nothing waits for it any more
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception in thread ExecutorManagerThread:pytest.PytestUnhandledThreadExceptionWarning"
)


def without_times(result):
    return [{name: value for name, value in row.items() if name not in TIMES} for row in result.records]


def fits(log):
    return log.read_text().count("fit") if log.exists() else 0


# -- what is judged ----------------------------------------------------------------------------------------------------
def test_numbers_are_those_of_cross_validation_by_hand():
    X, y = made()
    result = compare(X, y, COSTS, {"bayes": GaussianNB()}, cv=4, random_state=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    P = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    C = np.array(COSTS)
    for name, decided in {"bayes": P.argmax(axis=1), "bayes + costs": (P @ C).argmin(axis=1)}.items():
        rows = [row for row in result.records if row["method"] == name]
        assert [row["fold"] for row in rows] == [1, 2, 3, 4]
        for row, (train, test) in zip(rows, folds.split(X, y), strict=True):
            assert (row["n_train"], row["n_test"]) == (len(train), len(test))
            assert row["error"] == pytest.approx(np.mean(decided[test] != y[test]))
            assert row["cost"] == pytest.approx(C[y[test], decided[test]].mean())
            assert row["relative_cost"] == pytest.approx(row["cost"] / C[y].mean(axis=0).min())
            assert row["log_loss"] == pytest.approx(log_loss(y[test], P[test]))
            assert row["fit_seconds"] > 0 and row["predict_seconds"] > 0
    assert result.methods == ["bayes", "bayes + costs"]


def test_ours_are_trained_on_the_costs_and_are_what_they_are_alone():
    X, y = made()
    model = REBELClassifier(n_estimators=4, random_state=5)
    result = compare(X, y, COSTS, [model, BlindToCosts(model), "blind:rebel"], cv=3)
    assert model.cost is None and not hasattr(model, "model_")  # a copy was fitted
    assert result.methods[:3] == ["REBELClassifier", "blind REBELClassifier", "blind REBELClassifier + costs"]
    for row, (train, test) in zip(
        result.records, StratifiedKFold(3, shuffle=True, random_state=0).split(X, y), strict=False
    ):
        alone = REBELClassifier(COSTS, n_estimators=4, random_state=5).fit(X[train], y[train])
        assert row["method"] == "REBELClassifier" and row["log_loss"] is None
        assert row["cost"] == pytest.approx(1.0 - alone.score(X[test], y[test]))
    blind = [row for row in result.records if row["method"] == "blind REBELClassifier + costs"]
    train, test = next(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    P = REBELClassifier(n_estimators=4, random_state=5).fit(X[train], y[train]).predict_proba(X[test])
    assert blind[0]["cost"] == pytest.approx(np.array(COSTS)[y[test], (P @ np.array(COSTS)).argmin(axis=1)].mean())


def test_costs_find_our_estimators_in_pipelines_and_searches():
    X, y = made(60)
    search = GridSearchCV(REBELClassifier(n_estimators=2), {"max_depth": [1, 2]}, cv=2)
    chain = make_pipeline(StandardScaler(), REBELClassifier(n_estimators=2))
    stated = REBELClassifier(np.ones((3, 3)) - np.eye(3), n_estimators=2)
    result = compare(X, y, COSTS, [search, chain, stated], cv=2)
    assert result.methods == ["GridSearchCV(REBELClassifier)", "REBELClassifier 1", "REBELClassifier 2"]
    methods = compared_methods([search, chain, stated])
    cost = CostMatrix(COSTS, [0, 1, 2])
    given = [method.estimator(cost, 7, 1).get_params() for method in methods]
    assert given[0]["estimator__cost"].values.tolist() == given[1]["rebelclassifier__cost"].values.tolist() == COSTS
    assert np.array_equal(given[2]["cost"], stated.cost)  # what the user has set stays
    assert [given[0]["estimator__random_state"], given[1]["rebelclassifier__random_state"]] == [7, 7]


def test_where_every_mistake_costs_the_same_nothing_counts_twice():
    X, y = made(60)
    assert compare(X, y, None, [GaussianNB()], cv=2).methods == ["GaussianNB"]
    assert compare(X, y, costs.uniform(3), [GaussianNB()], cv=2).methods == ["GaussianNB"]
    result = compare(X, y, None, ["rebel"], cv=2)
    assert all(row["log_loss"] > 0 and row["cost"] == row["error"] for row in result.records)


def test_a_decision_that_is_no_class_is_an_error_with_a_cost():
    X, y = made(90)
    words = np.array(["no", "perhaps", "yes"])[y]
    for labels, refer in ((y, -1), (words, "refer")):
        cost = costs.with_reject(costs.uniform(np.unique(labels).tolist()), 0.1)
        result = compare(X, labels, cost, {"bayes": GaussianNB(), "own": "rebel"}, cv=2)
        P = cross_val_predict(
            GaussianNB(), X, labels, cv=StratifiedKFold(2, shuffle=True, random_state=0), method="predict_proba"
        )
        decided = np.append(np.unique(labels).astype(object), refer)[(P @ cost.values).argmin(axis=1)]
        assert (decided == refer).any()
        rows = [row for row in result.records if row["method"] == "bayes + costs"]
        assert np.mean([row["error"] for row in rows]) == pytest.approx(np.mean(decided != labels))
        expected = np.where(decided == refer, 0.1, decided != labels).mean()
        assert np.mean([row["cost"] for row in rows]) == pytest.approx(expected)


def test_folds_may_lack_a_class():
    X, y = made(60)
    y = np.where(np.arange(60) == 7, 3, y)  # one row of class 3
    cost = np.ones((4, 4)) - np.eye(4) + np.triu(np.ones((4, 4)), 1)
    result = compare(X, y, cost, ["rebel", "minrisk", GaussianNB()], cv=3)
    assert len(result.records) == 12 and not result.failures
    lacking = [row for row in result.records if row["method"].startswith("GaussianNB")]
    assert (
        max(row["log_loss"] for row in lacking) > -np.log(np.finfo(float).eps) / 30
    )  # probability 0 of the true class


def test_several_data_sets_with_costs_of_their_own():
    one, two = made(60), made(80, seed=1, K=2)
    data = {"three": (*one, COSTS), "two": two}
    result = compare(data, cost=costs.balanced, methods=[GaussianNB(), "rebel"], cv=2)
    assert result.n_folds == {"three": 2, "two": 2} and result.data_sets == ["three", "two"]
    apart = [
        compare(*one, COSTS, [GaussianNB(), "rebel"], cv=2),
        compare(*two, costs.balanced(two[1]), [GaussianNB(), "rebel"], cv=2),
    ]
    for name, alone in zip(("three", "two"), apart, strict=True):
        own = [dict(row, data_set="data") for row in without_times(result) if row["data_set"] == name]
        assert own == without_times(alone)
    values = result.contests("cost")
    assert values.contests == ["three", "two"] and values.methods == ["GaussianNB", "GaussianNB + costs", "rebel"]
    assert values.values[1, 2] == pytest.approx(np.mean(result.of_folds("cost", "two", "rebel")))


@pytest.mark.parametrize(
    "cv",
    [
        3,
        StratifiedKFold(3),
        RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
        ShuffleSplit(2, random_state=0),
        [(range(40), range(40, 60)), (np.arange(60) % 2 == 0, np.arange(60) % 2 == 1)],
    ],
    ids=["number", "splitter", "repeated", "shuffled", "pairs"],
)
def test_folds_are_the_same_for_all_methods(cv):
    X, y = made(60)
    result = compare(X, y, COSTS, {"a": GaussianNB(), "b": GaussianNB()}, cv=cv)
    rows = {
        name: [(row["fold"], row["cost"], row["n_test"]) for row in result.records if row["method"] == name]
        for name in "ab"
    }
    assert rows["a"] == rows["b"] and len(rows["a"]) == result.n_folds["data"]


@pytest.mark.parametrize("kind", ["list", "frame", "polars", "arrow", "sparse"])
def test_tables_of_all_kinds(kind):
    X, y = made(60)
    names = ["a", "b", "c"]
    if kind == "list":
        table = X.tolist()
    elif kind == "frame":
        table = pd.DataFrame(X, columns=names)
    elif kind == "polars":
        table = pytest.importorskip("polars").DataFrame(dict(zip(names, X.T, strict=True)))
    elif kind == "arrow":
        table = pytest.importorskip("pyarrow").table(dict(zip(names, X.T, strict=True)))
    else:
        table = scipy.sparse.coo_matrix(X)
    methods = [LogisticRegression(max_iter=5000)] if kind == "sparse" else ["rebel"]
    expected = compare(X, y, COSTS, methods, cv=2)
    found = compare(table.tocsr() if kind == "sparse" else table, y.tolist(), COSTS, methods, cv=2)
    assert [row["cost"] for row in found.records] == pytest.approx([row["cost"] for row in expected.records], abs=0.2)
    if kind != "sparse":
        assert without_times(found) == without_times(expected)
    other = X.copy()
    other[5, 1] += 1e-9
    assert digest(table) == digest(table) and digest(X) != digest(other)
    if kind == "frame":  # in blocks, columns of one name
        table = pd.concat([table, table["a"]], axis=1)
        assert digest(table) == digest(table.copy()) != digest(table.iloc[::-1])
    unsorted = scipy.sparse.csr_matrix((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    assert digest(unsorted) == digest(unsorted.sorted_indices()) and unsorted.indices.tolist() == [2, 0]  # as it was


def test_functions_make_estimators_for_the_costs():
    X, y = made(60)
    seen = []

    def weighted(cost):
        seen.append(cost)
        return LinearSVC(class_weight=dict(zip(cost.classes, cost.values.sum(axis=1), strict=True)))

    result = compare(X, y, COSTS, {"weighted": weighted, "plain": LinearSVC()}, cv=2)
    assert result.methods == ["weighted", "plain"] and seen[0].values.tolist() == COSTS
    assert all(row["log_loss"] is None for row in result.records)


def test_everybody_has_the_same_threads():
    forest = "sklearn.ensemble.RandomForestClassifier"
    for threads in (1, 2):
        [ours, other, search] = [
            method.estimator(None, 0, threads).get_params()
            for method in compared_methods(
                ["minrisk", forest, GridSearchCV(MinRiskClassifier(n_jobs=-1), {}, n_jobs=3)]
            )
        ]
        assert [ours["n_jobs"] or 1, other["n_jobs"] or 1, search["n_jobs"], search["estimator__n_jobs"]] == [
            threads
        ] * 3 + [1]


# -- resumed -----------------------------------------------------------------------------------------------------------
def test_finished_folds_are_not_done_again(tmp_path):
    X, y = made(60)
    log, folder = tmp_path / "log", tmp_path / "kept"
    call = lambda **more: compare(X, y, COSTS, {"it": Counted(str(log), **more)}, cv=4, folder=folder)  # noqa: E731
    bad = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))[2][1][0]
    with pytest.raises(MethodError, match=r"it failed on 'data', fold 3 of 4: RuntimeError: it had to be there"):
        call(fails_without=float(bad))
    assert fits(log) == 2 and len(list(folder.glob("folds/*.json"))) == 2
    again = {path: path.read_bytes() for path in folder.glob("folds/*.json")}
    with pytest.raises(MethodError):
        call(fails_without=float(bad))
    assert fits(log) == 2 and all(path.read_bytes() == content for path, content in again.items())
    whole = call()  # another parameter is another method: nothing of it is taken
    assert fits(log) == 6
    assert call().records == whole.records and fits(log) == 6  # times too


CHANGES = {
    "X": lambda call, X, y: call(X + np.eye(60, 3), y),
    "y": lambda call, X, y: call(X, np.roll(y, 1)),
    "cost": lambda call, X, y: call(X, y, cost=np.array(COSTS) * 2),
    "parameter": lambda call, X, y: call(X, y, shift=1),
    "seed": lambda call, X, y: call(X, y, random_state=1),
    "folds": lambda call, X, y: call(X, y, cv=StratifiedKFold(3)),
    "threads": lambda call, X, y: call(X, y, threads=2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_setting_is_noticed_and_not_mixed_up(tmp_path, change):
    X, y = made(60)
    log = tmp_path / "log"

    def call(X, y, cost=COSTS, shift=0, cv=3, **more):
        return compare(X, y, cost, {"it": Counted(str(log), shift=shift)}, cv, folder=tmp_path / "kept", **more)

    first = call(X, y)
    CHANGES[change](call, X, y)
    assert fits(log) == 6
    assert call(X, y).records == first.records and fits(log) == 6  # what was there is there still


def test_another_version_is_another_setting(tmp_path, monkeypatch):
    X, y = made(60)
    before = described(GaussianNB())
    compare(X, y, None, [GaussianNB()], cv=2, folder=tmp_path)
    monkeypatch.setattr("minrisk.comparison.store.version", lambda package: "0.0")
    assert described(GaussianNB()) != before
    compare(X, y, None, [GaussianNB()], cv=2, folder=tmp_path)
    assert len(list(tmp_path.glob("folds/*.json"))) == 4


@pytest.mark.parametrize("content", ["", "{", "[]", '{"key": 1}', "null"])
def test_what_is_no_fold_is_done_again(tmp_path, content):
    X, y = made(60)
    first = compare(X, y, COSTS, [GaussianNB()], cv=2, folder=tmp_path)
    paths = sorted(tmp_path.glob("folds/*.json"))
    paths[0].write_text(content)
    again = compare(X, y, COSTS, [GaussianNB()], cv=2, folder=tmp_path)
    assert without_times(again) == without_times(first) and sorted(tmp_path.glob("folds/*.json")) == paths
    held = json.loads(paths[0].read_text())
    assert held["key"] == paths[0].stem and held["settings"]["method"]["class"] == "sklearn.naive_bayes.GaussianNB"
    held["outcome"]["own"]["cost"] = "cheap"
    paths[1].write_text(json.dumps({**held, "key": paths[1].stem}))
    assert without_times(compare(X, y, COSTS, [GaussianNB()], cv=2, folder=tmp_path)) == without_times(first)


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from tests.helpers.counted import COSTS, Counted, made
from minrisk import compare
if __name__ == "__main__":
    print("ready", flush=True)
    compare(*made(60), COSTS, {{"it": Counted({log!r}, pause=0.4), "other": Counted({log!r}, shift=1, pause=0.4)}}, cv=5,
            folder={folder!r}, n_jobs={n_jobs})
"""


@pytest.mark.parametrize(
    ("how", "n_jobs"), slow_after(1, [("SIGKILL", 2), ("SIGINT", 1), ("SIGKILL", 1), ("SIGINT", 2)])
)
def test_a_process_that_is_killed_loses_nothing_finished(tmp_path, how, n_jobs):
    log, folder = tmp_path / "log", tmp_path / "kept"
    code = SCRIPT.format(root=str(ROOT), log=str(log), folder=str(folder), n_jobs=n_jobs)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    end = time.monotonic() + 120
    while len(list(folder.glob("folds/*.json"))) < 3 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process.pid, getattr(signal, how))
    process.communicate(timeout=60)
    kept = {path: path.read_bytes() for path in folder.glob("folds/*.json")}
    assert 3 <= len(kept) < 10 and process.returncode != 0
    before = fits(log)
    methods = {"it": Counted(str(log), pause=0.4), "other": Counted(str(log), shift=1, pause=0.4)}
    at_once = {"it": Counted(str(log)), "other": Counted(str(log), shift=1)}
    resumed = compare(*made(60), COSTS, methods, cv=5, folder=folder)
    assert fits(log) == before + 10 - len(kept)
    assert all(path.read_bytes() == content for path, content in kept.items())
    assert without_times(resumed) == without_times(compare(*made(60), COSTS, at_once, cv=5))
    assert not list(folder.glob("folds/.minrisk-*"))


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    data = {"a": (*made(60), COSTS), "b": made(60, seed=1, K=2)}
    methods = ["rebel", "minrisk", LogisticRegression(max_iter=5000), "sklearn.ensemble.RandomForestClassifier"]
    one = compare(data, methods=methods, cv=2)
    two = compare(data, methods=methods, cv=2, n_jobs=2, folder=tmp_path)
    assert without_times(one) == without_times(two)
    assert compare(data, methods=methods, cv=2, folder=tmp_path).records == two.records


# -- failures ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_method_that_fails_may_be_skipped(tmp_path, n_jobs):
    X, y = made(60)
    methods = {"bad": Counted(str(tmp_path / "log"), fails_without=4.0), "a": GaussianNB(), "b": LinearSVC()}
    result = compare(X, y, None, methods, cv=3, on_error="skip", n_jobs=n_jobs)
    [failure] = result.failures
    assert failure["method"] == "bad" and failure["error"] == "RuntimeError: it had to be there"
    assert len(result.records) == 8 and list(result.mean_ranks()) == ["a", "b"]
    assert result.contests().left_out == ["bad"] and "Left out, for lack of values: bad." in result.what_is_tested()
    assert result.summary()[0]["cost"] is None and "1 folds failed" in repr(result)
    with pytest.raises(MethodError, match="bad failed on 'data', fold .* of 3") as problem:
        compare(X, y, None, methods, cv=3, n_jobs=n_jobs)
    assert any("Traceback" in told for told in problem.value.__notes__)


def test_a_process_that_ends_is_told(tmp_path):
    X, y = made(60)

    def call(*dying):
        return compare(X, y, None, {"a": GaussianNB(), **dict(dying)}, cv=2, n_jobs=2, folder=tmp_path / "kept")

    call()
    with pytest.raises(MethodError, match="was ended from outside, or crashed; .* set n_jobs lower"):
        call(("it", Counted(str(tmp_path / "log"), dies=True)))
    assert len(list((tmp_path / "kept").glob("folds/*.json"))) == 2
    assert len(compare(X, y, None, [GaussianNB(), LinearSVC()], cv=2, n_jobs=2).records) == 4  # others run on


X60, Y60 = made(60)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compare(X60), "y must be given"),
        (lambda: compare({"a": (X60, Y60)}, Y60), "y must be left out"),
        (lambda: compare({}), "at least, got an empty mapping"),
        (lambda: compare({"a": X60}), "must be (X, y) or (X, y, cost), got ndarray"),
        (lambda: compare(X60, Y60[:5]), "one label for each of the 60 rows"),
        (lambda: compare(X60, np.zeros(60)), "two classes or more, got only [0.0]"),
        (lambda: compare(X60, Y60, [[0, 1], [1, 0]]), "the costs of the data set 'data' are not usable"),
        (lambda: compare(X60, Y60, methods=[]), "one method at least"),
        (lambda: compare(X60, Y60, methods=["rebl"]), "there is no method 'rebl': known are"),
        (lambda: compare(X60, Y60, methods=["sklearn.nothing.It"]), "cannot be imported"),
        (lambda: compare(X60, Y60, methods=["sklearn.metrics.log_loss"]), "is no class of estimators"),
        (lambda: compare(X60, Y60, methods=["sklearn.ensemble.VotingClassifier"]), "cannot be made without arguments"),
        (
            lambda: compare(X60, Y60, methods={"a": BlindToCosts(REBELClassifier(COSTS))}),
            "is to be blind to costs, but cost is set",
        ),
        (
            lambda: compare(X60, Y60, methods={"a": GaussianNB(), "a + costs": GaussianNB()}),
            "is that of another method's",
        ),
        (lambda: compare(X60, Y60, cv=1), "cv must be two folds or more"),
        (
            lambda: compare(X60, Y60, methods=[GaussianNB()], cv=[(range(40), range(30, 60))]),
            "none of them both: fold 1",
        ),
        (lambda: compare(X60, Y60, methods=[GaussianNB()], cv=[(range(40), [99])]), "row numbers for 'data'"),
        (lambda: compare(X60, Y60, methods=[GaussianNB()], cv=[]), "cv gives no folds"),
        (lambda: compare({"a": (X60, Y60), "b": (X60, Y60)}, cv=[(range(40), range(40, 60))]), "for one data set only"),
        (lambda: compare(X60, Y60, n_jobs=0), "n_jobs must be"),
        (lambda: compare(X60, Y60, threads=0), "threads must be"),
        (lambda: compare(X60, Y60, random_state=None), "random_state must be a whole number"),
        (lambda: compare(X60, Y60, on_error="ignore"), "on_error must be one of"),
    ],
)
def test_what_is_not_usable_is_said_before_any_work(call, said, monkeypatch):
    monkeypatch.setattr(running, "run_fold", lambda task: pytest.fail("it began"))
    with pytest.raises(ValueError) as problem:
        call()
    assert said in str(problem.value)


def test_what_is_no_estimator_is_refused():
    for source, said in (
        (GaussianNB, "pass an estimator, GaussianNB()"),
        (3, "got int"),
        (lambda cost: 3, "must return an estimator"),
    ):
        with pytest.raises(TypeError) as problem:
            compare(X60, Y60, None, {"it": source})
        assert said in str(problem.value)


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        compare(X60, Y60, None, [GaussianNB()], folder=tmp_path / "file")


# -- the result --------------------------------------------------------------------------------------------------------
@pytest.fixture
def found():
    """Numbers made up: three methods on seven data sets of two folds, in units of their own."""
    rng = np.random.default_rng(0)
    records = []
    for i in range(7):
        for j, method in enumerate(("best_one", "other", "worst")):
            for fold in (1, 2):
                relative = 0.1 + 0.2 * j + 0.05 * rng.random() + (0.35 if (i, j) == (3, 0) else 0)
                records.append(
                    {
                        "data_set": f"set {i}",
                        "method": method,
                        "fold": fold,
                        "error": relative / 2,
                        "cost": relative * 10.0**i,
                        "relative_cost": relative,
                        "log_loss": None if j == 2 else relative,
                        "fit_seconds": 0.1 + j,
                        "predict_seconds": 0.01,
                        "n_train": 10,
                        "n_test": 10,
                    }
                )
    return Comparison(records, ["best_one", "other", "worst"], {f"set {i}": 2 for i in range(7)})


def test_tests_of_several_data_sets(found):
    assert found.mean_ranks() == pytest.approx({"best_one": 8 / 7, "other": 13 / 7, "worst": 3.0})
    assert found.friedman().n_contests == 7 and found.friedman().p_value < 0.01
    assert found.nemenyi().p_values[0, 2] < 0.05 < found.nemenyi().p_values[0, 1]
    pairs = {(test.first, test.second): test for test in found.wilcoxon()}
    assert pairs["best_one", "worst"].won == 7 and pairs["best_one", "other"].won == 6
    in_one_unit = {(test.first, test.second): test for test in found.wilcoxon("relative_cost")}
    assert pairs == in_one_unit  # or the last data set, of the largest unit, would decide
    [one, other] = found.wilcoxon(control="other")
    assert {one.first, other.first} == {"other"} and {one.second, other.second} == {"best_one", "worst"}
    assert max(one.holm_p_value, other.holm_p_value) <= 1
    with pytest.raises(ValueError, match="control must be one of 'best_one', 'other', 'worst', got 'nobody'"):
        found.wilcoxon(control="nobody")
    assert found.what_is_tested() == "Tests compare the mean cost of 3 methods on 7 data sets (means over folds)."


def test_methods_without_probabilities_are_left_out_of_their_ranks(found):
    assert found.mean_ranks("log_loss") == pytest.approx({"best_one": 8 / 7, "other": 13 / 7})
    with pytest.raises(ValueError, match="three methods at least"):
        found.friedman("log_loss")
    assert "Left out, for lack of values: worst." in found.what_is_tested("log_loss")
    with pytest.raises(ValueError, match="metric must be one of"):
        found.mean_ranks("accuracy")


def test_folds_of_one_data_set_are_told_to_be_no_evidence_for_others():
    X, y = made(60)
    result = compare(X, y, COSTS, {"a": GaussianNB(), "b": LinearSVC()}, cv=4)
    assert "folds of one data set" in result.what_is_tested() and "p-values are too small" in result.what_is_tested()
    assert "With 4 folds no two methods can differ" in result.what_is_tested()
    assert result.contests().contests == ["fold 1", "fold 2", "fold 3", "fold 4"]
    assert result.friedman().n_contests == 4


def test_rows_are_a_frame_or_else_a_list(found, monkeypatch):
    assert isinstance(found.rows, pd.DataFrame) and found.rows.shape == (42, 11)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert found.rows == found.records


def test_tables_to_paste(found):
    text = found.to_markdown("relative_cost")
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert lines[0] == ["relative cost", "best_one", "other", "worst"] and len(lines) == 10
    folds = found.of_folds("relative_cost", "set 0", "best_one")
    assert lines[2][:2] == ["set 0", f"**{np.mean(folds):.3f} ± {np.std(folds, ddof=1):.3f}**"]
    assert lines[-1] == ["mean rank", "**1.14**", "1.86", "3.00"]
    assert [line[2].startswith("**") for line in lines[2:-1]] == [False] * 3 + [True] + [False] * 3
    latex = found.to_latex("relative_cost")
    assert r"relative cost & best\_one & other & worst \\" in latex and rf"\textbf{{{np.mean(folds):.3f} $\pm$" in latex
    assert latex.count(r"\\") == 9 and latex.endswith("\\end{tabular}")
    summary = found.to_markdown()
    assert "mean cost" not in summary.splitlines()[0]  # of seven units
    assert summary.splitlines()[0].split(" | ")[1:4] == ["relative cost", "error", "log-loss"]
    assert "| – |" in summary.splitlines()[4]


def test_names_do_not_break_tables():
    records = [{"data_set": "50 % & <a>", "method": name, "fold": 1, "error": 0.1} for name in ("a|b*", r"c_d\e")]
    result = Comparison(records, ["a|b*", r"c_d\e"], {"50 % & <a>": 1})
    assert r"a\|b\*" in result.to_markdown("error") and r"c\_d\textbackslash{}e" in result.to_latex("error")
    assert r"50 \% \& \textless{}a\textgreater{}" in result.to_latex("error")


def test_the_picture_shows_ranks_groups_and_the_difference(found):
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    display = found.plot()
    assert list(display.text_) == ["best_one", "other", "worst"]
    assert (
        display.text_["best_one"].get_text() == "best_one  1.14" and display.text_["worst"].get_text() == "3.00  worst"
    )
    assert display.groups_ == [["best_one", "other"], ["other", "worst"]] and len(display.bars_) == 2
    for bar, group in zip(display.bars_, display.groups_, strict=True):
        ranks = [found.mean_ranks()[name] for name in group]
        assert bar.get_xdata()[0] < min(ranks) and max(ranks) < bar.get_xdata()[1]
    told = [text.get_text() for text in display.ax_.texts]
    assert f"critical difference {found.nemenyi().critical_difference:.2f} (level 0.05)" in told
    assert display.ax_.get_title() == "Mean rank by mean cost, 7 data sets"
    own = plt.figure().add_subplot()
    assert CriticalDifferenceDisplay.from_comparison(found, "error", ax=own).ax_ is own
    plt.close("all")


def test_names_of_the_picture_lie_within_it():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = ["short", "a name of a method that is rather long + costs", "c", "WWWWWWWWWWWWWWWW", "e", "f"]
    display = CriticalDifferenceDisplay([1, 2.5, 2.5, 4, 5, 6], 1.6, names, title="Ranks").plot()
    display.figure_.canvas.draw()
    width, height = display.figure_.get_size_inches() * display.figure_.dpi
    boxes = [text.get_window_extent() for text in [*display.ax_.texts, display.ax_.title]]
    assert all(box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height for box in boxes)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    plt.close("all")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0, 2.0], 1.0, ["a"]), "one number for each of two names"),
        (([0.5, 2.0], 1.0, ["a", "b"]), "must be from 1 to 2"),
        (([1.0, 2.0], 0.0, ["a", "b"]), "must be a number above 0"),
        (([1.0, np.nan], 1.0, ["a", "b"]), "must be finite"),
    ],
)
def test_a_picture_of_what_does_not_fit_is_refused(arguments, said):
    with pytest.raises(ValueError) as problem:
        CriticalDifferenceDisplay(*arguments)
    assert said in str(problem.value)


def test_the_progress_bar_counts_the_folds(monkeypatch):
    steps, phases = [], []
    monkeypatch.setattr(ProgressBar, "step", lambda self: steps.append(1))
    monkeypatch.setattr(ProgressBar, "phase", lambda self, what, rounds=0, **more: phases.append((what, rounds)))
    compare(X60, Y60, None, [GaussianNB()], cv=3)
    assert phases == [("comparing", 3)] and len(steps) == 3


def test_it_is_public():
    assert (
        minrisk.compare is compare
        and "compare" in minrisk.__all__
        and set(METRIC_NAMES) >= {"cost", "error", "log_loss"}
    )
    assert minrisk.comparison.compare is compare


# -- costs of each row -------------------------------------------------------------------------------------------------
def own_costs(n=120):
    """Rows, labels, a matrix of costs for each row, and what each decision costs by the true class."""
    X, y = made(n)
    matrices = np.array(COSTS) * (0.2 + np.abs(X[:, :1]))[:, :, None]
    return X, y, matrices, matrices[np.arange(n), y]


def by_method(result):
    return {name: [row for row in result.records if row["method"] == name] for name in result.methods}


@pytest.mark.parametrize("form", ["array", "table", "function"])
def test_lines_of_costs_train_and_judge(form):
    """Ours see the lines of the training rows, others the means of their classes; test rows are judged by their own."""
    X, y, _, rows = own_costs()
    given = {"array": rows, "table": pd.DataFrame(rows, columns=[0, 1, 2])[[2, 0, 1]], "function": lambda _: rows}
    flagship = MinRiskClassifier(n_estimators=3, pool=False, random_state=0)
    chain = make_pipeline(StandardScaler(), REBELClassifier(n_estimators=3))
    search = GridSearchCV(REBELClassifier(n_estimators=3), {"max_depth": [1]}, cv=2)
    methods = {
        "rows": REBELClassifier(n_estimators=3),
        "flagship": flagship,
        "chain": chain,
        "search": search,
        "matrix": minrisk.BAdaCostClassifier(n_estimators=3),
        "made": lambda cost: REBELClassifier(cost, n_estimators=3),
        "stated": REBELClassifier(COSTS, n_estimators=3),
        "bayes": GaussianNB(),
        "blind": BlindToCosts(REBELClassifier(n_estimators=3)),
    }
    result = compare(X, y, given[form], methods, cv=3)
    found = by_method(result)
    assert list(found) == [*list(methods)[:-1], "bayes + costs", "blind", "blind + costs"]
    constant = rows.mean(axis=0).min()
    for fold, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
        means = np.array([rows[train][y[train] == k].mean(axis=0) for k in range(3)])

        def fitted(model, train=train, **more):
            return model.fit(X[train], y[train], **more)

        own = {"cost": rows[train]}
        blind = fitted(REBELClassifier(n_estimators=3))
        bayes = fitted(GaussianNB())
        expected = {
            "rows": (fitted(REBELClassifier(n_estimators=3), **own).predict(X[test]), "each row"),
            "flagship": (fitted(flagship, **own).predict(X[test]), "each row"),
            "chain": (fitted(chain, rebelclassifier__cost=rows[train]).predict(X[test]), "each row"),
            "search": (fitted(REBELClassifier(means, n_estimators=3, max_depth=1)).predict(X[test]), "class means"),
            "matrix": (fitted(minrisk.BAdaCostClassifier(means, n_estimators=3)).predict(X[test]), "class means"),
            "made": (fitted(REBELClassifier(means, n_estimators=3)).predict(X[test]), "class means"),
            "stated": (fitted(REBELClassifier(COSTS, n_estimators=3)).predict(X[test]), "its own"),
            "bayes": (bayes.predict(X[test]), "none"),
            "bayes + costs": ((bayes.predict_proba(X[test]) @ means).argmin(axis=1), "class means"),
            "blind": (blind.predict(X[test]), "none"),
            "blind + costs": ((blind.predict_proba(X[test]) @ means).argmin(axis=1), "class means"),
        }
        for name, (decided, seen) in expected.items():
            row = found[name][fold]
            cost = rows[test][np.arange(len(test)), decided].mean()
            assert row["cost"] == pytest.approx(cost), name
            assert row["relative_cost"] == pytest.approx(cost / constant)
            assert row["costs"] == seen
            assert row["error"] == pytest.approx(np.mean(decided != y[test]))


def test_matrices_of_costs_decide_about_test_rows():
    X, y, matrices, rows = own_costs()
    flagship = MinRiskClassifier(n_estimators=3, pool=False, random_state=0)
    methods = {
        "flagship": flagship,
        "chain": make_pipeline(StandardScaler(), flagship),
        "coupled": MinRiskClassifier(n_estimators=3, surrogate="coupled", pool=False, random_state=0),
        "rebel": REBELClassifier(n_estimators=3),
        "bayes": GaussianNB(),
    }
    found = by_method(compare(X, y, matrices, methods, cv=3, n_jobs=2))
    for fold, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
        expected = {
            "flagship": (flagship.fit(X[train], y[train]).predict(X[test], cost=matrices[test]), "known"),
            "rebel": (methods["rebel"].fit(X[train], y[train], cost=rows[train]).predict(X[test]), "each row"),
            "coupled": (methods["coupled"].fit(X[train], y[train], cost=rows[train]).predict(X[test]), "each row"),
        }
        p = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        expected["bayes + costs"] = (np.einsum("ij,ijk->ik", p, matrices[test]).argmin(axis=1), "known")
        for name, (decided, seen) in expected.items():
            row = found[name][fold]
            assert row["cost"] == pytest.approx(rows[test][np.arange(len(test)), decided].mean()), name
            assert row["costs"] == seen
    assert {row["costs"] for row in found["chain"]} == {"known"}


def test_costs_of_rows_where_decisions_are_no_classes():
    X, y, _, rows = own_costs()
    table = pd.DataFrame({"cheap": rows[:, 0], "dear": 1.5})
    result = compare(X, y, table, {"bayes": GaussianNB(), "rebel": REBELClassifier(n_estimators=3)}, cv=3)
    assert result.methods == ["bayes + costs", "rebel"]  # what the classes would cost as decisions nobody says
    train, test = next(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    means = np.array([table.iloc[train][y[train] == k].mean() for k in range(3)])
    p = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
    decided = (p @ means).argmin(axis=1)
    assert result.records[0]["cost"] == pytest.approx(table.to_numpy()[test][np.arange(len(test)), decided].mean())
    with pytest.raises(MethodError, match="no decision that has costs is a class, and the method has no predict_proba"):
        compare(X, y, table, [LinearSVC()], cv=3)


def test_costs_of_rows_where_a_fold_lacks_a_class():
    X, y, _, rows = own_costs()
    y[:] = np.where(np.arange(120) == 5, 2, y % 2)
    rows = np.array(COSTS)[y] * (1.0 + np.abs(X[:, :1]))
    methods = {"rebel": REBELClassifier(n_estimators=3), "bayes": GaussianNB()}
    result = compare(X, y, rows, methods, cv=[(np.arange(60, 120), np.arange(60))])
    p = GaussianNB().fit(X[60:], y[60:]).predict_proba(X[:60])
    means = np.array([rows[60:][y[60:] == k].mean(axis=0) for k in range(2)])[:, :2]
    decided = (p @ means).argmin(axis=1)
    assert by_method(result)["bayes + costs"][0]["cost"] == pytest.approx(rows[np.arange(60), decided].mean())


def test_costs_of_rows_that_do_not_fit_are_refused():
    X, y, matrices, rows = own_costs()
    table, labels = pd.DataFrame(rows, columns=[0, 1, 2]), pd.Series(y)
    for given, message in (
        (rows[:-1], r"expected 3 rows for the classes \[0, 1, 2\] or one for each of the 120 samples"),
        (matrices[:, :2], "cost with a matrix for each row must have a row in each"),
        (-rows, "must be zero or more"),
        (table.sample(frac=1, random_state=0), "cost must have its rows in the order of y"),
    ):
        with pytest.raises(ValueError, match=f"the costs of the data set 'data' are not usable: .*{message}"):
            compare(X, labels, given, [GaussianNB()], cv=3)


def test_folds_that_were_judged_by_other_costs_of_rows_are_done_again(tmp_path):
    X, y, matrices, rows = own_costs()
    log = tmp_path / "log"
    method = Counted(log=str(log))

    def run(cost):
        before = fits(log)
        compare(X, y, cost, {"m": method}, cv=2, folder=tmp_path / "kept")
        return fits(log) - before

    other = rows.copy()
    other[60, 1] += 1.0
    assert [run(rows), run(rows), run(other), run(matrices), run(matrices)] == [2, 0, 2, 2, 0]
