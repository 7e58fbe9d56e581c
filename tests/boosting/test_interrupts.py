"""Ctrl-C while a model is trained: real processes, real signals, and what is left of a fit.

Signals come where the fit that is interrupted sends them itself, so that a test knows how far it had come, or from
outside, at a time that is drawn.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import minrisk
from minrisk import MinRiskClassifier, MultiBoostClassifier, REBELClassifier, load, save
from minrisk._utils.interrupts import keeping_what_is_learnt
from minrisk.algorithms import ALGORITHMS
from minrisk.boosting import loop
from minrisk.boosting.monitors import RiskHistory
from minrisk.ensemble import training
from minrisk.ensemble.training import CHALLENGERS
from minrisk.ensemble.trees import Plain
from tests.helpers.common import make_data, slow_after
from tests.helpers.kills import ROOT, start, write_table
from tests.helpers.partitions import Divided, divide

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")
OTHERS = [cls for cls in ALGORITHMS if cls is not MinRiskClassifier]


@pytest.fixture(autouse=True)
def handler():
    """The one that Python has, before and after."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def some(n=150, seed=0):
    return make_data(np.random.default_rng(seed), n, 4, 3)


def press():
    """Ctrl-C, in this process."""
    signal.raise_signal(signal.SIGINT)


def pressed_at(monkeypatch, cls, method, count, times=1):
    """Ctrl-C as the call of this number begins."""
    calls, real = [], getattr(cls, method)

    def call(self, *args):
        calls.append(1)
        if len(calls) == count:
            for _ in range(times):
                press()
        return real(self, *args)

    monkeypatch.setattr(cls, method, call)
    return calls


def check_works(model, X, tmp_path):
    """It predicts, and so does its file."""
    save(model, tmp_path / "partial")
    again = load(tmp_path / "partial")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


# -- fits that are one run of the loop -----------------------------------------------------------------------------------
@pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)
def test_the_rounds_so_far_are_kept(cls, monkeypatch, tmp_path):
    """Here nobody has looked at the third, and vectors that it has corrected are no longer those of the second."""
    X, y = some()
    stopped, whole = cls(n_estimators=50, random_state=0), cls(n_estimators=3, random_state=0).fit(X, y)
    assert whole.n_iter_ in (0, 3)
    pressed_at(monkeypatch, RiskHistory, "after_round", 3)
    with pytest.raises(KeyboardInterrupt, match=f"what was learnt until then: {whole.n_iter_} rounds"):
        stopped.fit(X, y)
    monkeypatch.undo()
    assert stopped.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(stopped.decision_function(X), whole.decision_function(X))
    np.testing.assert_array_equal(stopped.train_loss_, whole.train_loss_)
    np.testing.assert_array_equal(stopped.train_risk_, whole.train_risk_)
    check_works(stopped, X, tmp_path)


def pressed_in(monkeypatch, name, count):
    """Ctrl-C at the end of a part of a round, in its call of this number."""
    calls, real = [], getattr(loop, name)

    def call(*args):
        result = real(*args)
        calls.append(1)
        if len(calls) == count:
            press()
        return result

    monkeypatch.setattr(loop, name, call)


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("part", ["_whole_rounds", "_problem", "_advance"])
def test_without_a_whole_round_the_estimator_is_as_it_was(part, fitted, monkeypatch):
    X, y = some()
    model = REBELClassifier(n_estimators=5)
    if fitted:
        model.fit(X, y)
    before = dict(vars(model))
    pressed_in(monkeypatch, part, 1)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y)
    assert not caught.value.args and vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_early_stopping_and_warm_starts(monkeypatch):
    X, y = some(300)
    early = {"early_stopping": True, "n_iter_no_change": 100, "random_state": 0}
    whole = REBELClassifier(n_estimators=6, **early).fit(X, y)
    pressed_at(monkeypatch, RiskHistory, "after_round", 7)
    stopped = REBELClassifier(n_estimators=50, **early)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, y)
    monkeypatch.undo()
    assert stopped.n_iter_ == whole.n_iter_ > 0
    np.testing.assert_array_equal(stopped.validation_risk_, whole.validation_risk_)
    warm = REBELClassifier(n_estimators=4, warm_start=True).fit(X, y)
    pressed_at(monkeypatch, RiskHistory, "after_round", 3)
    with pytest.raises(KeyboardInterrupt, match="7 rounds"):
        warm.set_params(n_estimators=50).fit(X, y)
    monkeypatch.undo()
    np.testing.assert_array_equal(
        warm.set_params(n_estimators=20).fit(X, y).decision_function(X),
        REBELClassifier(n_estimators=20).fit(X, y).decision_function(X),
    )


@pytest.mark.parametrize("keep_stages", [False, True])
def test_vectors_that_a_round_corrects_are_those_of_a_whole_one(keep_stages, monkeypatch):
    """Interrupted in the midst of a round: before its step, and after it has moved the rows."""
    X, y = some()
    whole = MultiBoostClassifier(n_estimators=4, keep_stages=keep_stages).fit(X, y)
    for part in ("_problem", "_correct", "_advance"):
        pressed_in(monkeypatch, part, 5)
        stopped = MultiBoostClassifier(n_estimators=50, keep_stages=keep_stages)
        with pytest.raises(KeyboardInterrupt, match="4 rounds"):
            stopped.fit(X, y)
        monkeypatch.undo()
        np.testing.assert_array_equal(stopped.model_.vectors, whole.model_.vectors)
        if keep_stages:
            np.testing.assert_array_equal(stopped.model_.corrected, whole.model_.corrected)


def test_a_second_one_is_not_waited_for(monkeypatch):
    X, y = some()
    model = MinRiskClassifier(n_estimators=20, random_state=0).fit(X, y)
    before = dict(vars(model))
    pressed_at(monkeypatch, loop.Progress, "add", 60, times=2)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y)
    assert not caught.value.args and all(vars(model)[name] is before[name] for name in before)


# -- pools ----------------------------------------------------------------------------------------------------------------
def interrupt_when(monkeypatch, what, after=8):
    """Ctrl-C in this phase, so many rounds after it began."""
    from minrisk.boosting.watching import Watch

    phase, add, now = Watch.phase, loop.Progress.add, []

    def begin(self, name, *args, **more):
        now.append([name, 0])
        phase(self, name, *args, **more)

    def made(self, *round_):
        add(self, *round_)
        now[-1][1] += 1
        if now[-1] == [what, after] and threading.current_thread() is threading.main_thread():
            press()

    monkeypatch.setattr(Watch, "phase", begin)
    monkeypatch.setattr(loop.Progress, "add", made)
    return now


PHASES = [
    ("plain members", None),
    ("plain members", 100.0),
    ("random members", None),
    ("gentle members", 100.0),
    ("gentle members", None),
    ("variation 2", 100.0),
    ("last rounds", None),
]


KINDS = [cls.name for cls in (Plain, *CHALLENGERS)]
PHASE_OF_KIND = {f"{kind} members" for kind in KINDS}


@pytest.mark.parametrize(("what", "budget"), PHASES)
def test_a_pool_is_what_there_is(what, budget, monkeypatch, tmp_path):
    X, y = some(600)
    X[:, 0] += 1.5 * y  # else even the whole pool is wrong about every second row
    now = interrupt_when(monkeypatch, what, after={"plain members": 30, "last rounds": 1}.get(what, 8))
    model = MinRiskClassifier(n_estimators=40, random_state=3, surrogate="softmax", time_budget=budget)
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt, match=r"until then: \d+ rounds"):
        model.fit(X, y)
    assert time.perf_counter() - begun < 60 and now[-1][0] == what
    tried = {line["variant"] for line in model.selection_}
    at = KINDS.index(what.removesuffix(" members")) if what in PHASE_OF_KIND else len(KINDS)
    assert not tried & set(KINDS[at + 1 :])  # the kinds of later phases
    if 0 < at < len(KINDS):  # of this one at most the first fold's member was judged
        assert all(line["share"] == 0.0 for line in model.selection_ if line["variant"] == KINDS[at])
    assert np.mean(model.predict(X) == y) > 0.5
    assert model.n_iter_ == max(
        line["n_rounds"]
        for line in model.selection_
        if line["share"] > 0 and line["variant"] not in ("smooth", "logistic")
    )
    assert len(model.train_loss_) == model.n_iter_ + 1
    check_works(model, X, tmp_path)


def test_plain_members_are_those_of_the_last_checkpoint(monkeypatch):
    """All of them, though some had gone further: the pool of a callback that stops there, and one of fewer rounds."""
    X, y = some(600)
    interrupt_when(monkeypatch, "plain members", after=35)  # 4 members: 5 rounds each, 6 more of one after another
    model = MinRiskClassifier(random_state=0, pool=False)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    reached = int(model.validation_loss_[-1, 0])
    whole = MinRiskClassifier(random_state=0, pool=False).fit(X, y)
    np.testing.assert_array_equal(whole.validation_loss_[: len(model.validation_loss_)], model.validation_loss_)
    assert 5 <= reached
    for t, (one, other) in enumerate(zip(model.staged_predict_proba(X), whole.staged_predict_proba(X), strict=False)):
        if t + 1 == model.n_iter_:  # the same trees; temperatures are of other rounds
            np.testing.assert_array_equal(one.argmax(axis=1), other.argmax(axis=1))


@pytest.mark.parametrize(("cv", "surrogate"), [(1, "softmax"), (1, "coupled"), (None, "coupled"), (None, "gll")])
def test_pools_of_other_kinds(cv, surrogate, monkeypatch, tmp_path):
    X, y = some(400)
    what = "one member" if cv == 1 else "plain members"
    interrupt_when(monkeypatch, what, after=30)
    model = MinRiskClassifier([[0, 1, 4], [2, 0, 1], [9, 3, 0]], surrogate=surrogate, cv=cv, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="rounds"):
        model.fit(X, y)
    assert model.n_iter_ >= (30 if cv == 1 else 5)  # of the member and of each; some are made ahead
    check_works(model, X, tmp_path)


def test_before_the_first_checkpoint_nothing_is_kept(monkeypatch):
    X, y = some(600)
    interrupt_when(monkeypatch, "plain members", after=3)
    model = MinRiskClassifier(random_state=0)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y)
    assert not hasattr(model, "model_") and not caught.value.args


def press_at_the_second_call(name, monkeypatch):
    """Of a function of the training; gives the calls that are made."""
    real, calls = getattr(training, name), []

    def called(*args):
        calls.append(args)
        if len(calls) == 2:
            press()
        return real(*args)

    monkeypatch.setattr(training, name, called)
    return calls


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_second_surrogate_that_has_nothing_yet_is_left_out(n_jobs, monkeypatch):
    X, y = some(600)
    calls = press_at_the_second_call("train_ensemble", monkeypatch)
    model = MinRiskClassifier(n_estimators=20, random_state=0, time_budget=100, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt, match="rounds"):
        model.fit(X, y)
    assert len(calls) == 2 and model.surrogate_ == "softmax" == {line["surrogate"] for line in model.selection_}.pop()


def test_what_only_challengers_see_is_given_up(monkeypatch, tmp_path):
    """Linear features take seconds on many rows; here while half of their bins are there."""
    from minrisk.ensemble import table

    X, y = some(600)
    calls, real = [], table.fill_projected

    def fill(bins, *args):
        real(bins[: len(bins) // 2], *args)
        calls.append(1)
        press()
        calls.append(2)

    monkeypatch.setattr(table, "fill_projected", fill)
    model = MinRiskClassifier(n_estimators=40, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="rounds"):
        model.fit(X, y)
    assert calls == [1] and {line["variant"] for line in model.selection_} == {"plain"}
    check_works(model, X, tmp_path)


@pytest.mark.parametrize("cls", [REBELClassifier, MinRiskClassifier])
def test_rows_elsewhere(cls, monkeypatch):
    """Their round is made to its end, as who makes it cannot be interrupted."""
    divide(monkeypatch)
    (X, y), cuts = some(200), [0, 100, 200]
    pressed_at(monkeypatch, loop.Progress, "add", 40)
    stopped = cls(n_estimators=60, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="rounds"):
        stopped.fit(Divided(X, cuts), Divided(y, cuts))
    assert stopped.n_iter_ == 40 if cls is REBELClassifier else 5 <= stopped.n_iter_ < 40
    if cls is REBELClassifier:
        whole = cls(n_estimators=40).fit(X, y)
        np.testing.assert_array_equal(stopped.decision_function(X), whole.decision_function(X))


# -- who else has a say in signals -----------------------------------------------------------------------------------------
def test_handlers_of_others_are_left_alone():
    for handler in (signal.SIG_IGN, signal.SIG_DFL, lambda number, frame: None):
        signal.signal(signal.SIGINT, handler)
        with keeping_what_is_learnt():
            assert signal.getsignal(signal.SIGINT) is handler
        assert signal.getsignal(signal.SIGINT) is handler
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with keeping_what_is_learnt() as outer, keeping_what_is_learnt() as inner:  # a fit within a fit
        outer.worth = True
        press()
        assert outer.over and not inner.asked


def test_fits_in_threads_leave_them_alone():
    X, y = some()
    found = []

    def fit():
        found.append(REBELClassifier(n_estimators=3).fit(X, y).n_iter_)

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    assert found == [3]


def test_loops_over_fits_end(monkeypatch):
    from sklearn.model_selection import GridSearchCV

    X, y = some()
    calls = pressed_at(monkeypatch, RiskHistory, "after_round", 7)
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(REBELClassifier(n_estimators=5), {"learning_rate": [1.0, 0.5]}, cv=2).fit(X, y)
    assert len(calls) == 7
    monkeypatch.undo()
    pressed_at(monkeypatch, RiskHistory, "after_round", 7)
    with pytest.raises(KeyboardInterrupt):
        minrisk.compare(X, y, methods={"rebel": REBELClassifier(n_estimators=5)}, cv=3)


# -- from outside ----------------------------------------------------------------------------------------------------------
CHILD = """
import sys
import numpy as np, minrisk
rng = np.random.default_rng(0)
y = rng.integers(0, 5, 20_000)
X = rng.normal(size=(20_000, 10))
X[:, :5] += 1.2 * np.eye(5)[y]
from minrisk.boosting.loop import Progress
made, real = [], Progress.add
def add(self, *round_):
    made.append(1)
    if len(made) == 60:
        print("on the way", flush=True)
    real(self, *round_)
Progress.add = add
model = {model}
try:
    model.fit(X[:{n}], y[:{n}])
except KeyboardInterrupt as stopped:
    print("stopped", flush=True)
    minrisk.save(model, sys.argv[1])
    assert str(model.n_iter_) in str(stopped)
    assert np.mean(minrisk.load(sys.argv[1]).predict(X[:1000]) == model.predict(X[:1000])) == 1
    print(np.mean(model.predict(X) == y))
"""
MODELS = {
    "MinRiskClassifier": (
        "minrisk.MinRiskClassifier(n_estimators=100_000, learning_rate=0.01, random_state=0)",
        20_000,
    ),
    "MinRiskClassifier, threads": (
        "minrisk.MinRiskClassifier(n_estimators=100_000, learning_rate=0.01, n_jobs=2, cv=4, pool=False)",
        20_000,
    ),
    "REBELClassifier": ("minrisk.REBELClassifier(n_estimators=100_000)", 20_000),
    "LocalizedSimilaritiesClassifier": ("minrisk.LocalizedSimilaritiesClassifier(n_estimators=100_000)", 1000),
}


@pytest.mark.parametrize("name", slow_after(1, MODELS))
def test_a_process_keeps_what_it_has_learnt_and_ends_soon(name, tmp_path):
    model, n = MODELS[name]
    code = CHILD.format(model=model, n=n)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "m")], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout.readline() == "on the way\n"
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert process.stdout.readline() == "stopped\n"
    waited = time.monotonic() - begun
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and float(rest) > 0.3
    assert waited < 10  # a fraction of a second on a machine that does nothing else


RUN = """
import os, signal, sys
from minrisk.boosting.loop import Progress
made, real = [], Progress.add
def add(self, *round_):
    made.append(1)
    for _ in range({rounds}.count(len(made))):
        os.kill(os.getpid(), signal.SIGINT)
    real(self, *round_)
Progress.add = add
{more}
from minrisk.cli import main
main()
"""


def stopped_command(folder, out, *more, rounds=(60,), prelude=""):
    code = RUN.format(rounds=rounds, more=prelude)
    process = start(
        sys.executable,
        "-c",
        code,
        "fit",
        str(folder / "train.csv"),
        "--target",
        "grade",
        "--out",
        str(out),
        "--n-jobs",
        "1",
        *more,
    )
    said = process.communicate(timeout=120)[1]
    return process.returncode, said


@pytest.mark.parametrize("method", slow_after(1, ["minrisk", "rebel"]))
def test_the_command_writes_it_beside_the_model(method, tmp_path):
    write_table(tmp_path)
    out = tmp_path / "m.minrisk"
    out.write_bytes(b"old")
    code, said = stopped_command(tmp_path, out, "--method", method)
    partial = load(tmp_path / "m.minrisk.partial")
    assert code == 130 and out.read_bytes() == b"old" and partial.target_name_ == "grade" and partial.n_iter_ > 0
    assert said == (
        f"minrisk: note: the fit was stopped; what it had learnt until then, {partial.n_iter_} rounds, was written as "
        f"{out}.partial\nminrisk: stopped.\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "minrisk", "evaluate", f"{out}.partial", str(tmp_path / "train.csv"), "--json"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_command_has_nothing_to_write_before_the_first_rounds(tmp_path):
    write_table(tmp_path)
    code, said = stopped_command(tmp_path, tmp_path / "m.minrisk", rounds=(3,))
    assert (code, said) == (130, "minrisk: stopped.\n") and sorted(os.listdir(tmp_path)) == ["train.csv"]


def test_the_command_does_not_wait_twice(tmp_path):
    write_table(tmp_path)
    code, said = stopped_command(tmp_path, tmp_path / "m.minrisk", rounds=(60, 60))
    assert (code, said) == (130, "minrisk: stopped.\n") and sorted(os.listdir(tmp_path)) == ["train.csv"]


@pytest.mark.slow
def test_a_stream_gets_no_partial_model(tmp_path):
    """It goes to a folder where there is room, as a model that cannot be written."""
    write_table(tmp_path)
    code, said = stopped_command(tmp_path, "-", prelude=f"import tempfile; tempfile.tempdir = {str(tmp_path)!r}")
    (kept,) = tmp_path.glob("minrisk-*/model.minrisk.partial")
    assert code == 130 and str(kept) in said and load(kept).n_iter_ > 0


def test_an_interrupt_within_a_kernel_is_one():
    """CPython makes a SystemError of what is raised while a compiled function returns."""
    from minrisk._utils.interrupts import keeping_what_is_learnt

    def returned():
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt), keeping_what_is_learnt():
        returned()
    with pytest.raises(SystemError, match="another"), keeping_what_is_learnt():
        raise SystemError("another")
    with keeping_what_is_learnt() as stop:
        stop.interrupted = True
        with stop.giving_up():
            returned()
