"""scikit-learn's callbacks on every estimator: what they are told, what they see, and that they may stop a fit."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minrisk
from minrisk import MinRiskClassifier, MultiBoostClassifier, REBELClassifier, save
from minrisk.algorithms import ALGORITHMS
from tests.helpers.common import make_data

callback = pytest.importorskip("sklearn.callback")
ROOT = Path(__file__).parents[2]
ROUNDS = 4
COST = np.array([[0, 1, 4], [2, 0, 1], [9, 3, 0.0]])


class Recorder:
    """Keeps what it is told; stops when it has been told so many ends of tasks of this name."""

    def __init__(self, stops_at=None, name="round"):
        self.told, self.stops_at, self.name = [], stops_at, name

    def setup(self, estimator, context):
        self.told.append(("setup", context.task_name, estimator))

    def teardown(self, estimator, context):
        self.told.append(("teardown", context.task_name, estimator))

    def on_fit_task_begin(self, estimator, context):
        self.told.append(("begin", context.task_name, context))

    def on_fit_task_end(self, estimator, context):
        self.told.append(("end", context.task_name, context))
        return self.stops_at is not None and self.count("end", self.name) == self.stops_at

    def count(self, what, name):
        return sum(told[:2] == (what, name) for told in self.told)


class Seeing(Recorder):
    """Also looks at the estimators."""

    def __init__(self, *args):
        super().__init__(*args)
        self.seen = []

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.seen.append((context.task_name, X, y, metadata, fitted_estimator))
        return super().on_fit_task_end(estimator, context)


class Propagated(Recorder):
    """Set on what is outermost."""

    max_propagation_depth = None


def some(n=120, seed=0):
    return make_data(np.random.default_rng(seed), n, 4, 3)


def small(cls, **more):
    return cls(n_estimators=ROUNDS, random_state=0, **more)


@pytest.mark.parametrize("cls", ALGORITHMS, ids=lambda cls: cls.__name__)
def test_every_estimator_tells_of_its_rounds_and_stays_the_same(cls, tmp_path):
    X, y = some()
    recorder = Recorder()
    plain, told = small(cls).fit(X, y), small(cls).set_callbacks(recorder)
    assert told.fit(X, y) is told and not {"_callback_fit_ctx", "_skl_callbacks_to_teardown"} & set(vars(told))
    for model, name in ((plain, "a"), (told, "b")):
        save(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert [line[:2] for line in recorder.told[:2]] == [("setup", "fit"), ("begin", "fit")]
    assert [line[:2] for line in recorder.told[-2:]] == [("end", "fit"), ("teardown", "fit")]
    assert recorder.told[0][2] is told
    assert recorder.count("begin", "round") == recorder.count("end", "round") >= plain.n_iter_
    root = recorder.told[1][2]
    if cls is MinRiskClassifier:
        names = [task.task_name for task in root._children_map.values()]
        assert root.max_subtasks is None and names[0] == "plain members" and "round" not in names
    else:
        assert root.max_subtasks == ROUNDS and len(root._children_map) == recorder.count("end", "round")
        assert [task.task_id for task in root._children_map.values()] == list(range(len(root._children_map)))


@pytest.mark.parametrize("cls", ALGORITHMS, ids=lambda cls: cls.__name__)
def test_scoring_monitor_and_progress_bar(cls, capfd):
    X, y = some()
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = small(cls).set_callbacks(monitor, callback.ProgressBar()).fit(X, y)
    log = monitor.get_logs().data
    assert "100%" in capfd.readouterr().out and log[0]["task_name"] == "fit"
    assert log[0]["accuracy"] == np.mean(model.predict(X) == y)
    scores = [line["accuracy"] for line in log[1:]]
    if cls is MinRiskClassifier:
        assert log[-1]["task_name"] != "round" and scores[-1] == log[0]["accuracy"]
    else:
        assert [line["task_id_path"] for line in log[1:]] == [(0, t) for t in range(len(scores))]
        if model.n_iter_:  # else the constant decides, which no stage of the model is
            assert len(scores) >= model.n_iter_


STAGES = [
    REBELClassifier(COST, n_estimators=8),
    REBELClassifier(loss="logistic", n_estimators=6, subsample=0.7, random_state=1),
    MultiBoostClassifier(n_estimators=6),
    MultiBoostClassifier(n_estimators=6, keep_stages=True),
]


@pytest.mark.parametrize("model", STAGES, ids=range(len(STAGES)))
def test_the_estimator_at_a_round_is_the_one_that_stops_there(model):
    """Fitted with as many rounds, it is the same: by its predictions, curves and everything that a file keeps."""
    X, y = some()
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    seeing = Seeing()
    clone(model).set_callbacks(seeing).fit(X, y, sample_weight=w)
    rounds = [line for line in seeing.seen if line[0] == "round"]
    assert len(rounds) == model.n_estimators
    for t, (_, X_seen, y_seen, metadata, fitted) in enumerate(rounds, 1):
        assert X_seen is X and y_seen is y and list(metadata) == ["sample_weight"]
        stopped = clone(model).set_params(n_estimators=t).fit(X, y, sample_weight=w)
        np.testing.assert_array_equal(fitted.decision_function(X), stopped.decision_function(X))
        np.testing.assert_array_equal(fitted.train_loss_, stopped.train_loss_)
        np.testing.assert_array_equal(fitted.train_risk_, stopped.train_risk_)
        assert fitted.n_iter_ == stopped.n_iter_ == t and fitted.n_estimators == model.n_estimators


def test_a_round_that_decides_worse_than_a_constant_is_shown_as_it_is():
    """As a fit that ends there is; looking at it changes nothing that follows."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 2)), rng.choice(3, 60)
    cost = [[0, 3, 30], [10, 0, 30], [30, 30, 0]]
    seeing = Seeing()
    model = REBELClassifier(cost, n_estimators=12).set_callbacks(seeing).fit(X, y)
    shown = [line[4] for line in seeing.seen if line[0] == "round"]
    for t, fitted in enumerate(shown, 1):
        stopped = REBELClassifier(cost, n_estimators=t).fit(X, y)
        np.testing.assert_array_equal(fitted.predict(X), stopped.predict(X))
        assert fitted.n_iter_ == stopped.n_iter_
    np.testing.assert_array_equal(model.decision_function(X), stopped.decision_function(X))
    assert [fitted.n_iter_ for fitted in shown] == list(range(1, 13))


def test_early_stopping_shows_the_best_round_so_far():
    X, y = some(300)
    seeing = Seeing()
    model = REBELClassifier(n_estimators=30, early_stopping=True, n_iter_no_change=5, random_state=0)
    model.set_callbacks(seeing).fit(X, y)
    rounds = [line[4] for line in seeing.seen if line[0] == "round"]
    for t, fitted in enumerate(rounds, 1):
        risks = model.validation_risk_[: t + 1]
        assert fitted.n_iter_ == np.argmin(risks)
        np.testing.assert_array_equal(fitted.validation_risk_, risks)


def test_phases_show_the_pool_as_it_is_without_its_last_rounds(monkeypatch):
    monkeypatch.setattr("minrisk.ensemble.defaults.FINISHED_EXCESS", -1.0)  # all rounds are kept
    X, y = some(400)
    seeing = Seeing()
    model = MinRiskClassifier(n_estimators=40, random_state=0).set_callbacks(seeing).fit(X, y)
    phases = {name: fitted for name, *_, fitted in seeing.seen if name not in ("round", "fit")}
    assert all(fitted is None for name, *_, fitted in seeing.seen if name == "round")
    plain = phases["plain members"]
    assert {line["variant"] for line in plain.selection_} == {"plain"} and plain.n_iter_ == plain.selection_[0][
        "n_rounds"
    ]
    assert plain.n_iter_ < phases["last rounds"].n_iter_ == model.n_iter_
    np.testing.assert_array_equal(phases["last rounds"].predict_proba(X), model.predict_proba(X))
    smooth = phases["smooth members"]  # whose members end as one of all rows
    assert np.mean(smooth.predict(X) == y) > 0.65
    share = sum(line["share"] for line in smooth.selection_ if line["variant"] == "smooth")
    assert (smooth.model_.smooth is not None) == (share > 0)


@pytest.mark.parametrize(
    "cls", [cls for cls in ALGORITHMS if cls is not MinRiskClassifier], ids=lambda cls: cls.__name__
)
def test_a_callback_stops_the_rounds(cls):
    X, y = some()
    stopped, short = small(cls).set_callbacks(Recorder(2)).fit(X, y), small(cls).set_params(n_estimators=2).fit(X, y)
    assert stopped.n_iter_ == short.n_iter_ <= 2
    np.testing.assert_array_equal(stopped.decision_function(X), short.decision_function(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("stops_at", "name"), [(1, "round"), (30, "round"), (1, "plain members"), (1, "random members")]
)
def test_a_callback_ends_the_training_of_a_pool(stops_at, name, n_jobs):
    X, y = some(400)
    recorder = Recorder(stops_at, name)
    model = MinRiskClassifier(n_estimators=60, random_state=0, n_jobs=n_jobs).set_callbacks(recorder).fit(X, y)
    assert model.n_iter_ >= 5 and np.mean(model.predict(X) == y) > 0.65
    last = [told[1] for told in recorder.told if told[0] == "begin"]
    assert "last rounds" not in last
    if stops_at == 1 and name == "round":
        assert (
            model.n_iter_ == 5 and recorder.count("end", "round") < 4 * 12
        )  # the first checkpoint, which is always made
    if name == "plain members":
        assert [line["variant"] for line in model.selection_] == ["plain"]


@pytest.mark.parametrize(
    "cv", [1, [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]], ids=["one", "pairs"]
)
def test_pools_of_one_member_and_of_stated_folds(cv):
    X, y = some(400)
    seeing = Seeing(7)
    model = MinRiskClassifier(n_estimators=30, random_state=0, cv=cv).set_callbacks(seeing).fit(X, y)
    assert 5 <= model.n_iter_ <= 7 and (cv != 1 or model.n_iter_ == 7)  # of members that leave rows out a checkpoint
    name, *_, fitted = next(line for line in seeing.seen if line[0] not in ("round", "fit"))
    np.testing.assert_array_equal(fitted.predict_proba(X), model.predict_proba(X))


def test_a_search_and_a_pipeline_hand_callbacks_down():
    X, y = some()
    propagated, own = Propagated(), Recorder()
    model = REBELClassifier().set_callbacks(own)
    search = GridSearchCV(model, {"n_estimators": [2, 3]}, cv=2).set_callbacks(propagated).fit(X, y)
    fits = 2 * 2 + 1
    assert own.count("setup", "fit") == own.count("teardown", "fit") == fits
    assert (
        propagated.count("end", "round")
        == own.count("end", "round")
        == 2 * (2 + 3) + search.best_params_["n_estimators"]
    )
    depths = {len(list(path(told[2]))) for told in propagated.told if told[:2] == ("end", "round")}
    assert min(depths) > 1  # within the tasks of the search
    piped = Propagated()
    make_pipeline(StandardScaler(), REBELClassifier(n_estimators=5)).set_callbacks(piped).fit(X, y)
    assert piped.count("end", "round") == 5 and piped.count("setup", "fit") <= 1


def path(context):
    while context.parent is not None:
        context = context.parent
        yield context


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_progress_bar_of_a_search(n_jobs, capfd):
    X, y = some()
    search = GridSearchCV(REBELClassifier(), {"n_estimators": [2, 3]}, cv=2, n_jobs=n_jobs)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=2)).fit(X, y)
    said = capfd.readouterr().out
    assert "REBELClassifier" in said and "100%" in said


def test_warm_starts_count_on():
    X, y = some()
    first, second = Recorder(), Recorder()
    model = REBELClassifier(n_estimators=3, warm_start=True).set_callbacks(first).fit(X, y)
    model.set_params(n_estimators=8).set_callbacks(second).fit(X, y)
    assert first.count("end", "round") == 3 and second.count("end", "round") == 5
    assert second.told[1][2].max_subtasks == 5
    np.testing.assert_array_equal(
        model.decision_function(X), REBELClassifier(n_estimators=8).fit(X, y).decision_function(X)
    )


def test_callbacks_are_kept_as_scikit_learn_does():
    X, y = some()
    recorder = Recorder()
    model = REBELClassifier(n_estimators=2).set_callbacks(recorder)
    assert clone(model)._skl_callbacks is model._skl_callbacks
    again = pickle.loads(pickle.dumps(model.fit(X, y)))
    assert len(again._skl_callbacks) == 1 and again.n_iter_ == 2
    assert "_skl_callbacks" not in vars(model.set_callbacks())
    n = len(recorder.told)
    model.fit(X, y)
    assert len(recorder.told) == n
    with pytest.raises(TypeError, match="FitCallback"):
        model.set_callbacks(print)


def test_what_fails_is_taken_down_and_leaves_the_estimator_as_it_was():
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("a callback failed")

    X, y = some()
    failing = Failing()
    model = REBELClassifier(n_estimators=2).fit(X, y)
    before = dict(vars(model))
    model.set_callbacks(failing)
    with pytest.raises(RuntimeError, match="a callback failed"):
        model.set_params(n_estimators=9).fit(X, y)
    assert failing.told[-1][0] == "teardown" and model.model_ is before["model_"] and model.n_iter_ == 2
    model.set_callbacks(Recorder())
    with pytest.raises(ValueError, match="n_estimators"):  # before there is a context
        model.set_params(n_estimators=-1).fit(X, y)


def test_without_callbacks_rounds_are_made_ahead(monkeypatch):
    """In calls of many rounds, on few rows; with them round by round, and the model is the same."""
    from minrisk.boosting import loop

    X, y = some()
    sizes, real = [], loop._whole_rounds

    def counted(*args):
        whole = real(*args)

        def run(totals, seeds):
            sizes.append(len(seeds))
            return whole(totals, seeds)

        return run if whole is not None else None

    monkeypatch.setattr(loop, "_whole_rounds", counted)
    plain = MinRiskClassifier(n_estimators=40, random_state=0, pool=False).fit(X, y)
    assert max(sizes) > 1
    sizes.clear()
    told = MinRiskClassifier(n_estimators=40, random_state=0, pool=False).set_callbacks(Recorder()).fit(X, y)
    assert max(sizes) == 1
    np.testing.assert_array_equal(plain.decision_function(X), told.decision_function(X))


def test_an_earlier_scikit_learn_has_none():
    """Nothing of it is imported where nobody asks, and nothing is missing where it is not there."""
    code = (
        "import sys, importlib.util\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'sklearn.callback' else real(name, *more)\n"
        "import numpy as np, minrisk\n"
        "X = np.arange(60.)[:, None]\n"
        "for model in (minrisk.MinRiskClassifier(n_estimators=5), minrisk.REBELClassifier(n_estimators=2)):\n"
        "    assert not hasattr(model.fit(X, X[:, 0] > 30), 'set_callbacks')\n"
        "    assert model.predict(X)[-1]\n"
        "assert 'sklearn.callback' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_threads_of_a_pool_call_one_after_another():
    class Counting(Recorder):
        inside = most = 0

        def on_fit_task_begin(self, estimator, context):
            self.inside += 1
            self.most = max(self.most, self.inside)
            super().on_fit_task_begin(estimator, context)
            self.inside -= 1

    X, y = some(1500)
    counting = Counting()
    MinRiskClassifier(n_estimators=20, random_state=0, n_jobs=2).set_callbacks(counting).fit(X, y)
    assert counting.most == 1 and counting.count("begin", "round") == counting.count("end", "round") > 80


def test_named_in_the_package():
    assert callable(minrisk.REBELClassifier.set_callbacks)
