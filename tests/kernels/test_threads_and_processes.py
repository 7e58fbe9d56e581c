"""Fits and predictions in threads and processes of every kind, at once or one in the middle of another: right answers.

A few ways for each estimator, all ways for one of them; all of both where MINRISK_ATTACK_CASES is set.
"""

import asyncio
import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import joblib
import pytest
from sklearn.base import clone

import minrisk
from tests.helpers.common import slow_after, slow_but
from tests.helpers.ways import MADE, answers, fit_and_answer, fitted, rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Loky-backed parallel loops:UserWarning"),  # joblib's, in daemonic processes
]
ROOT = Path(__file__).parents[2]
EVERYTHING = "MINRISK_ATTACK_CASES" in os.environ
SOME = list(MADE) if EVERYTHING else ["minrisk"]
METHODS = multiprocessing.get_all_start_methods()


@cache
def alone(name, seed=0):
    """The answers of a plain fit."""
    return fit_and_answer(name, seed, 1)


@contextmanager
def switching():
    """Threads that take turns as often as can be."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def at_once(function, arguments, n=4):
    with switching(), ThreadPoolExecutor(n) as threads:
        return list(threads.map(function, arguments))


# -- in threads ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MADE)
def test_fits_at_once(name):
    expected = [alone(name, seed) for seed in (0, 1)]
    assert at_once(lambda i: fit_and_answer(name, i % 2, 1 + i % 3), range(8)) == 4 * expected


def test_fits_of_all_kinds_at_once():
    names = 2 * list(MADE)
    expected = [alone(name) for name in names]
    assert at_once(fit_and_answer, names, 6) == expected


@pytest.mark.parametrize("name", MADE)
def test_predictions_at_once(name):
    model = fitted(name)
    assert set(at_once(lambda _: answers(model), range(24), 6)) == {alone(name)}


@contextmanager
def fitting(model, *seeds):
    """Threads that fit one estimator all the time, each to data of its own."""
    over, errors = threading.Event(), []

    def fit(seed):
        try:
            while not over.is_set():
                model.fit(*rows(seed))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in seeds]
    with switching():
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()
    assert not errors


def read(model, how, folder):
    """A model of one moment."""
    if how == "pickle":
        return pickle.loads(pickle.dumps(model))
    if how == "file":
        minrisk.save(model, folder / "m")
        return minrisk.load(folder / "m")
    return copy.deepcopy(model) if how == "deepcopy" else copy.copy(model)


@pytest.mark.parametrize("how", ["pickle", "file", "deepcopy", "copy"])
@pytest.mark.parametrize("name", SOME)
def test_what_is_read_while_two_threads_fit_is_of_one_fit(name, how, tmp_path):
    expected = {alone(name, 0), alone(name, 1)}
    answer = {alone(name, seed): seed for seed in (0, 1)}
    model = fitted(name)
    with fitting(model, 0, 1):
        for _ in range(8):
            made = read(model, how, tmp_path)
            seed = int(made.classes_[0] > 5)
            assert answer[answers(made, seed)] == seed
    assert len(expected) == 2 and answers(model, int(model.classes_[0] > 5)) in expected


@pytest.mark.parametrize("name", MADE)
def test_predictions_while_another_thread_fits_are_of_one_fit(name):
    X = rows()[0]
    allowed = {fitted(name, seed).predict(X).tobytes() for seed in (0, 1)}
    model = fitted(name)
    with fitting(model, 0, 1):
        seen = {model.predict(X).tobytes() for _ in range(12)}
        made = clone(model)
    assert seen <= allowed and not hasattr(made, "model_")


@pytest.mark.parametrize("backend", slow_after(2, ["threading", "loky", "multiprocessing"]))
@pytest.mark.parametrize("name", SOME)
def test_backends_of_joblib(name, backend):
    calls = [joblib.delayed(fit_and_answer)(name, seed % 2) for seed in range(4)]
    assert joblib.Parallel(2, backend=backend)(calls) == 2 * [alone(name, 0), alone(name, 1)]


def test_an_event_loop():
    async def both():
        return await asyncio.gather(*(asyncio.to_thread(fit_and_answer, "minrisk", seed) for seed in (0, 1)))

    assert asyncio.run(both()) == [alone("minrisk", 0), alone("minrisk", 1)]


def test_a_thread_with_a_small_stack():
    before = threading.stack_size(256 * 1024)
    try:
        assert at_once(fit_and_answer, ["minrisk"], 1) == [alone("minrisk")]
    finally:
        threading.stack_size(before)


# -- in processes --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", slow_after(2, METHODS))
@pytest.mark.parametrize("name", SOME)
def test_pools_of_processes(name, method):
    """Fits there, and predictions of a model that was fitted here."""
    model, expected = fitted(name), alone(name)
    with multiprocessing.get_context(method).Pool(2) as pool:
        fits = pool.starmap_async(fit_and_answer, [(name, 0, n_jobs) for n_jobs in (1, 2)])
        predictions = pool.map_async(answers, [model, model])
        assert fits.get(120) + predictions.get(120) == 4 * [expected]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("name", slow_but(("minrisk", "rebel", "similarities"), MADE))
def test_forks_in_the_middle_of_fits(name):
    """Locks that other threads hold at this moment are nobody's in the child."""
    expected, model = alone(name), fitted(name)
    with fitting(MADE[name]().set_params(n_jobs=2), 0, 1):
        for _ in range(4):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    status = int(answers(model) != expected or fit_and_answer(name) != expected)
                finally:
                    os._exit(status)
            assert wait_for(child) == 0


def wait_for(child, seconds=60.0):
    """The status of a child, which is killed where it hangs."""
    killer = threading.Timer(seconds, os.kill, (child, 9))
    killer.start()
    try:
        return os.waitpid(child, 0)[1]
    finally:
        killer.cancel()


BEGIN = r"""
import atexit, os, sys, threading, time
from minrisk._utils.workers import Workers
from tests.helpers.ways import MADE, answers, fit_and_answer, fitted, rows
name = sys.argv[1]
def say(answer):
    os.write(1, f"{answer}\n".encode())
"""
PROGRAMS = {  # programs, and how often they say the answers
    "a daemon thread that fits when the program ends": (
        """
model = MADE[name]().set_params(n_jobs=2)
def fit():
    while True:
        model.fit(*rows())
threading.Thread(target=fit, daemon=True).start()
say(fit_and_answer(name))
""",
        1,
    ),
    "a thread that goes on when the program ends": (
        """
def fit():
    threading.main_thread().join()
    say(Workers(2).__enter__().map(str.lower, ["A", "B"]) == ["a", "b"] and fit_and_answer(name))
say(fit_and_answer(name))
threading.Thread(target=fit).start()
""",
        2,
    ),
    "a fit as the last that a program does": (
        """
def fit():
    say(Workers(2).__enter__().map(str.lower, ["A", "B"]) == ["a", "b"] and fit_and_answer(name))
atexit.register(fit)
say(fit_and_answer(name))
""",
        2,
    ),
    "an object that is fitted when it is given up": (
        """
class Last:
    def __del__(self, fit=fit_and_answer, name=name):
        say(fit(name))
kept = Last()
kept.cycle = kept
del kept
import gc
gc.collect()
""",
        1,
    ),
    "an exit in the middle of a thread's fit": (
        """
threading.Thread(target=lambda: [fit_and_answer(name) for _ in range(50)], daemon=True).start()
say(fit_and_answer(name))
sys.exit(0)
""",
        1,
    ),
    "modules that are imported by several threads at once": (
        """
threads = [threading.Thread(target=lambda: say(fit_and_answer(name))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
        4,
    ),
    "a fork before the first fit": (
        """
child = os.fork()
say(fit_and_answer(name))
if child:
    assert os.waitpid(child, 0)[1] == 0
""",
        2,
    ),
    "a fork of a fork": (
        """
say(fit_and_answer(name))
child = os.fork()
if not child:
    child = os.fork()
    say(fit_and_answer(name))
if child:
    assert os.waitpid(child, 0)[1] == 0
""",
        3,
    ),
    "no standard streams": (
        """
say(fit_and_answer(name))
sys.stdout = sys.stderr = None
os.close(2)
say(fit_and_answer(name))
os._exit(0)
""",
        2,
    ),
}


ALIKE = ("a fit as the last that a program does", "an object that is fitted when it is given up", "a fork of a fork")


@pytest.mark.parametrize("way", slow_after(3, sorted(PROGRAMS, key=ALIKE.__contains__)))
@pytest.mark.parametrize("name", SOME)
def test_programs(name, way):
    program, times = PROGRAMS[way]
    if "fork" in program and not hasattr(os, "fork"):
        pytest.skip("no fork")
    quiet = "ignore::UserWarning"  # few rounds are not enough for some, which say so
    command = [sys.executable, "-W", quiet, "-c", BEGIN + program, name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == times * [alone(name)]
    if "daemon" in program and sys.version_info < (3, 14) and done.returncode == -signal.SIGABRT:
        return  # Python ended a thread within C++ code of NumPy
    assert (done.returncode, done.stderr) == (0, "")
