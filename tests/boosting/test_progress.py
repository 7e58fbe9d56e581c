"""The progress bar: one for the whole fit, forward only, complete at the end, and nothing that a model depends on."""

import io
import os
import pty
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import rich.console
import rich.progress

import minrisk
from minrisk import MinRiskClassifier, REBELClassifier
from minrisk.algorithms import ALGORITHMS
from minrisk.boosting import monitors
from minrisk.boosting.monitors import ProgressBar, RoundInfo
from minrisk.ensemble.defaults import first_rounds
from minrisk.ensemble.training import CHALLENGERS
from tests.helpers.common import make_data

ROOT = Path(__file__).parents[2]


@pytest.fixture
def drawn(monkeypatch):
    """A terminal that records: its text, and what every drawing of the bar was told."""

    class Drawn:
        def __init__(self):
            self.consoles, self.shares, self.whats, self.running = [], [], [], 0

        @property
        def text(self):
            return "\n".join(console.export_text() for console in self.consoles)

    seen, real = Drawn(), rich.console.Console

    def console(**options):
        assert options == {"stderr": True}
        seen.consoles.append(real(file=io.StringIO(), record=True, force_terminal=True, width=150))
        return seen.consoles[-1]

    class Told(rich.progress.Progress):
        def __init__(self, *columns, refresh_per_second, **options):
            super().__init__(*columns, refresh_per_second=20, **options)

        def start(self):
            seen.running += 1
            super().start()

        def stop(self):
            seen.running -= 1
            super().stop()

        def update(self, task, *, completed, percent, description):
            seen.shares.append(completed)
            seen.whats.append(description)
            assert percent == int(100 * completed)
            super().update(task, completed=completed, percent=percent, description=description)

    monkeypatch.setattr(rich.console, "Console", console)
    monkeypatch.setattr(rich.progress, "Progress", Told)
    monkeypatch.setattr(monitors, "REDRAWN", 1e9)  # every round
    return seen


@pytest.fixture
def counted(monkeypatch):
    """Rounds that a bar has been told of."""
    rounds, real = [], ProgressBar.after_round

    def after_round(self, info):
        rounds.append(info.n_rounds)
        return real(self, info)

    monkeypatch.setattr(ProgressBar, "after_round", after_round)
    return rounds


def complete(drawn):
    """One bar, forward only, from 0 to 1."""
    assert len(drawn.consoles) == 1 and drawn.running == 0
    assert np.all(np.diff(drawn.shares) >= 0)
    assert drawn.shares[0] < 0.5 and drawn.shares[-1] == 1.0 and drawn.whats[-1].startswith("done")
    text = drawn.text
    assert "100 %" in text and "done" in text and re.search(r"0:00:\d\d", text)  # elapsed time
    return True


def phases(drawn):
    """What was done, in order."""
    whats = [what.split(", round")[0] for what in drawn.whats]
    return [what for n, what in enumerate(whats) if n == 0 or what != whats[n - 1]]


def some(n=300, K=3, seed=0):
    X, y = make_data(np.random.default_rng(seed), n, 6, K)
    return X, y


# -- MinRiskClassifier -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_all_members_are_covered(drawn, counted, n_jobs):
    X, y = some(1500)
    model = MinRiskClassifier(surrogate="softmax", n_estimators=40, n_jobs=n_jobs, random_state=0, verbose=1).fit(X, y)
    assert complete(drawn)
    tried = [line["variant"] for line in model.selection_]
    assert {"plain", "random", "gentle"} <= set(tried)
    expected = [
        "plain members",
        *(["challengers"] if n_jobs > 1 else []),
        *(f"{kind.name} members" for kind in CHALLENGERS),
    ]
    assert phases(drawn)[: len(expected)] == expected
    assert phases(drawn)[-2:] == ["last rounds", "done"]
    trained = sum(
        line["n_rounds"] * (4 if line["share"] else 1)
        for line in model.selection_
        if line["variant"] not in ("smooth", "logistic")
    )
    assert len(counted) >= trained  # by rounds, not by the first member's
    assert max(drawn.shares[:-1]) > 0.9  # before it is set to its end


def test_the_share_is_that_of_the_rounds(drawn, counted, monkeypatch):
    """With nothing to stop for, and no challengers: member after member, a checkpoint at a time."""
    monkeypatch.setattr("minrisk.ensemble.defaults.GRACE_ROUNDS", 1000)
    X, y = some(150)
    MinRiskClassifier(surrogate="coupled", n_estimators=25, pool=False, random_state=0, verbose=1).fit(X, y)
    first = first_rounds(150, 25)
    assert complete(drawn) and 4 * first <= len(counted) <= 4 * 25
    drawn.shares, drawn.whats, all_rounds = [], [], len(counted)
    bar = ProgressBar(True)
    with bar:
        bar.phase("plain members", all_rounds, most=25)
        for n in range(all_rounds):
            bar.after_round(RoundInfo(n, (), None, 0.5, None))
            bar.phase("plain members", all_rounds - n - 1)
            assert drawn.shares[-1] == pytest.approx((n + 1) / all_rounds)


def test_surrogates_share_the_bar(drawn, processor_clock):
    X, y = some(200)
    model = MinRiskClassifier(n_estimators=15, time_budget=2.0, random_state=0, verbose=1).fit(X, y)
    assert complete(drawn)
    tried = list(dict.fromkeys(line["surrogate"] for line in model.selection_))
    assert len(tried) > 1
    assert list(dict.fromkeys(what.split(",")[0] for what in phases(drawn)))[:-1] == tried
    for number, name in enumerate(tried):
        of_it = [share for share, what in zip(drawn.shares, drawn.whats, strict=True) if what.startswith(name)]
        assert number / len(tried) <= of_it[0] and of_it[-1] <= (number + 1) / len(tried)


@pytest.mark.parametrize("options", [{"cv": 1}, {"pool": False}, {"surrogate": "gll"}, {"n_estimators": 1}])
def test_other_ways_to_train_end_complete(drawn, options):
    X, y = some(120)
    MinRiskClassifier(**{"n_estimators": 10, "random_state": 0, "verbose": 1, **options}).fit(X, y)
    assert complete(drawn)


def test_nothing_to_learn_ends_complete(drawn):
    MinRiskClassifier(verbose=1, random_state=0).fit(np.zeros((40, 2)), np.arange(40) % 2)
    assert complete(drawn)


def test_models_do_not_depend_on_it_and_rounds_are_made_ahead(drawn, monkeypatch, tmp_path):
    from minrisk.rows.rows import logistic_rounds

    calls = []

    def counting(*arguments):
        calls.append(len(arguments[-1]))
        return logistic_rounds(*arguments)

    monkeypatch.setattr("minrisk.rows.rows.logistic_rounds", counting)
    X, y = some()
    files = []
    for verbose in (0, 1):
        model = MinRiskClassifier(n_estimators=30, random_state=0, verbose=verbose).fit(X, y)
        minrisk.save(model, tmp_path / f"{verbose}.minrisk")
        files.append((tmp_path / f"{verbose}.minrisk").read_bytes())
        calls.append("end")
    assert files[0] == files[1]
    half = len(calls) // 2
    assert calls[:half] == calls[half:] and max(calls[: half - 1]) > 1


# -- the other estimators ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a is not MinRiskClassifier], ids=lambda a: a.__name__)
def test_every_estimator_draws_its_rounds(drawn, counted, algorithm):
    X, y = some(90)
    algorithm(n_estimators=4, verbose=1).fit(X, y)
    assert complete(drawn) and counted == [1, 2, 3, 4]
    assert drawn.whats[-1].startswith("done, round 4/4, loss ")
    assert drawn.shares[-2] == 1.0  # by its rounds


@pytest.mark.parametrize(
    ("options", "rounds"),
    [({"early_stopping": True, "n_iter_no_change": 2, "random_state": 0}, None), ({"target_loss": 1e9}, 0)],
)
def test_ends_before_the_last_round_leave_it_complete(drawn, counted, options, rounds):
    X, y = some(90)
    y = np.random.default_rng(1).permutation(y)
    REBELClassifier(n_estimators=60, verbose=1, **options).fit(X, y)
    assert complete(drawn) and len(counted) < 60
    assert rounds is None or len(counted) == rounds


def test_warm_start_counts_the_rounds_to_come(drawn, counted):
    X, y = some(90)
    model = REBELClassifier(n_estimators=6, warm_start=True).fit(X, y)
    assert not drawn.consoles
    model.set_params(n_estimators=10, verbose=1).fit(X, y)
    assert complete(drawn) and counted == [7, 8, 9, 10]
    assert drawn.whats[-1].startswith("done, round 10/10")


def test_a_fit_that_fails_stops_it_where_it_is(drawn, monkeypatch):
    def fail(*_):
        raise RuntimeError("no memory")

    monkeypatch.setattr("minrisk.boosting.loop._round", fail)
    X, y = some(60)
    with pytest.raises(RuntimeError, match="no memory"):
        REBELClassifier(n_estimators=5, verbose=1).fit(X, y)
    assert drawn.running == 0 and drawn.shares[-1] == 0.0 and "done" not in drawn.text


# -- where nothing is drawn --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "estimator", [REBELClassifier(n_estimators=2), MinRiskClassifier(n_estimators=5, time_budget=1.0)]
)
def test_without_rich_it_warns_once(monkeypatch, estimator):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    X, y = some(60)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.set_params(verbose=1).fit(X, y)
    (warning,) = caught
    assert "minrisk[progress]" in str(warning.message) and warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.set_params(verbose=0).fit(X, y)


def test_quiet_fits_import_nothing_of_it():
    code = (
        "import sys, numpy as np, minrisk; X = np.arange(60.)[:, None]; "
        "minrisk.MinRiskClassifier(n_estimators=5).fit(X, X[:, 0] > 30); "
        "minrisk.REBELClassifier(n_estimators=2).fit(X, X[:, 0] > 30); print('rich' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.strip() == "False" and out.stderr == ""


def test_the_command_line_draws_it_on_a_terminal_only(tmp_path):
    X, y = some(90)
    np.savetxt(tmp_path / "data.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,f,y", comments="")
    command = [sys.executable, "-m", "minrisk", "fit", "data.csv", "--target", "y", "--n-estimators", "8", "--out"]
    quiet = subprocess.run([*command, "a.minrisk"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "%" not in quiet.stderr
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    run = subprocess.Popen(
        [*command, "b.minrisk"], stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path, env=environment
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    out = run.communicate()[0]
    assert run.returncode == 0 and b"100 %" in text and b"done" in text
    assert b"done, round" not in out and (tmp_path / "a.minrisk").read_bytes() == (tmp_path / "b.minrisk").read_bytes()
