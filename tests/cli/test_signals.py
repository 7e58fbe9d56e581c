"""The command stops when a signal asks it to, says so, and loses nothing; the library leaves signals alone."""

import os
import signal
import subprocess
import sys
import time

import pytest

import minrisk
from tests.helpers.command_line import run
from tests.helpers.common import slow_after
from tests.helpers.kills import HIDDEN, fit, kill_at_random, start, write_table

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")
CASES = int(os.environ.get("MINRISK_ATTACK_CASES", "3"))
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
RUN = """
import sys, time, signal, os
import minrisk.algorithms
{}
from minrisk.cli import main
main()
"""
FITTING = """
def slow(self, X, y, **more):
    sys.stderr.write("ready\\n")
    time.sleep(60)
minrisk.algorithms.REBELClassifier.fit = slow
"""
BUSY = FITTING.replace(
    "    time.sleep(60)",
    """    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            time.sleep(0.01)
        except BaseException:  # as code does that Python calls where no exception can leave
            pass""",
)
SAVING = """
save = minrisk.save
def slow(model, path):
    sys.stderr.write("ready\\n")
    time.sleep(1)
    save(model, path)
minrisk.save = slow
"""
WRITING = """
import minrisk.io.arrays
def slow(file, arrays, *how):
    file.write(bytes(100))
    file.flush()
    sys.stderr.write("ready\\n")
    time.sleep(60)
minrisk.io.arrays.write = slow
"""
IMPORTING = """
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            sys.stderr.write("ready\\n")
            sys.stderr.flush()
            time.sleep(60)
sys.meta_path.insert(0, Finder())
"""


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path)
    (tmp_path / "m.minrisk").write_bytes(b"old")
    return tmp_path


def stop(folder, prelude, *signals, pause=0.0):
    """Start a fit, send signals when it is ready; its exit code, what was said then, and seconds until the end."""
    process = start(sys.executable, "-c", RUN.format(prelude), *fit(folder, 1))
    line = process.stderr.readline()
    while line and line != "ready\n":
        line = process.stderr.readline()
    time.sleep(0.2)
    begun = time.monotonic()
    for name in signals:
        process.send_signal(getattr(signal, name))
        time.sleep(pause)
    said = process.communicate(timeout=60)[1]
    return process.returncode, said, time.monotonic() - begun


@pytest.mark.parametrize(
    ("name", "when"),
    slow_after(
        2,
        [
            ("SIGINT", FITTING),
            ("SIGTERM", IMPORTING),
            ("SIGHUP", FITTING),
            ("SIGINT", IMPORTING),
            ("SIGTERM", FITTING),
            ("SIGHUP", IMPORTING),
        ],
    ),
    ids=lambda given: {FITTING: "fit", IMPORTING: "import"}.get(given, given),
)
def test_a_signal_stops_the_command(folder, name, when):
    code, said, seconds = stop(folder, when, name)
    assert (code, said) == (CODES[name], "minrisk: stopped.\n") and seconds < 20
    assert (folder / "m.minrisk").read_bytes() == b"old" and not list(folder.glob(HIDDEN))


@pytest.mark.parametrize("name", slow_after(1, ["SIGINT", "SIGTERM"]))
def test_a_finished_fit_is_written_first(folder, name):
    code, said, _ = stop(folder, SAVING, name)
    assert code == CODES[name]
    assert said == f"minrisk: note: the model was written ({folder / 'm.minrisk'})\nminrisk: stopped.\n"
    assert minrisk.load(folder / "m.minrisk").n_iter_ > 0


def test_a_second_signal_does_not_wait(folder):
    code, said, seconds = stop(folder, WRITING, "SIGTERM", "SIGTERM", pause=0.5)
    assert (code, said) == (-signal.SIGTERM, "") and seconds < 20
    assert (folder / "m.minrisk").read_bytes() == b"old"


def test_what_goes_on_all_the_same_is_ended(folder):
    code, said, seconds = stop(folder, BUSY, "SIGTERM")
    assert (code, said) == (143, "minrisk: stopped.\n") and 3 < seconds < 30


def test_a_signal_that_is_ignored_stays_so(folder):
    """As nohup has it."""
    prelude = "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + SAVING
    code, said, _ = stop(folder, prelude, "SIGHUP")
    assert (code, said) == (0, "") and minrisk.load(folder / "m.minrisk").n_iter_ > 0


def test_the_library_leaves_signals_alone():
    code = (
        "import signal, minrisk, numpy as np\n"
        "before = {number: signal.getsignal(number) for number in signal.valid_signals()}\n"
        "X = np.random.default_rng(0).normal(size=(60, 2))\n"
        "minrisk.REBELClassifier(n_estimators=2, n_jobs=2).fit(X, X[:, 0] > 0).predict(X)\n"
        "import minrisk.cli.app\n"
        "assert before == {number: signal.getsignal(number) for number in signal.valid_signals()}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("n", "seed"), slow_after(1, [(1, 0), (CASES, 1)]))
def test_a_kill_leaves_the_old_model_or_the_new_one(n, seed, tmp_path):
    for kill in kill_at_random(tmp_path, n, seed):
        assert kill.holds in ("old", "new"), kill
        assert "Traceback" not in kill.said or kill.code == -getattr(signal, kill.signal), kill
    run(*fit(tmp_path, 1))
    assert not list(tmp_path.glob(HIDDEN))


def test_a_reader_that_leaves_ends_the_command_quietly(folder):
    run(*fit(folder, 1))
    for how in ("", " --json"):
        line = f"{sys.executable} -m minrisk show {folder / 'm.minrisk'}{how} | head -1"
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
        assert done.stderr == "" and done.stdout.count("\n") == 1
