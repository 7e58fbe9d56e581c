"""Threads that share tasks: results in order, the first error, tasks of tasks; and what they share changes no bit."""

import itertools
import threading
import time

import numpy as np
import pytest

import minrisk
from minrisk import MinRiskClassifier
from minrisk._kernels.grow import GROWTH_TIE
from minrisk._utils.workers import Workers
from minrisk.rows.base import Limits
from minrisk.rows.columns import BLOCKS_OF_THREAD, RowColumns, divided
from minrisk.rows.growth import following
from tests.helpers.common import slow_after


# -- tasks -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 3, 40])
def test_results_are_in_the_order_of_the_tasks(n_threads, n_tasks):
    def task(number):
        time.sleep(0.001 * (number % 3))
        return number * number

    with Workers(n_threads) as workers:
        for _ in range(3):
            assert workers.map(task, range(n_tasks)) == [number * number for number in range(n_tasks)]
            assert workers.n_free == n_threads


def test_the_caller_works_and_so_do_the_helpers():
    meeting, names = threading.Barrier(3), []

    def task(number):
        names.append(threading.current_thread().name)
        meeting.wait(20)  # all three at once, or never

    with Workers(3) as workers:
        workers.map(task, range(3))
    assert len(set(names)) == 3 and threading.current_thread().name in names


def test_a_helper_is_handed_its_share_once(monkeypatch):
    with Workers(2) as workers:
        handed, submit = [], workers._pool.submit
        monkeypatch.setattr(workers._pool, "submit", lambda *task: handed.append(1) or submit(*task))
        workers.map(abs, range(100))
    assert len(handed) == 1


@pytest.mark.parametrize("failing", [[0], [7], [3, 4, 30], [39]])
def test_the_first_error_is_raised_and_nobody_stays_busy(failing):
    def task(number):
        time.sleep(0.0005 * (number % 2))
        if number in failing:
            raise ArithmeticError(number)
        return number

    with Workers(4) as workers:
        for _ in range(5):
            with pytest.raises(ArithmeticError) as error:
                workers.map(task, range(40))
            assert error.value.args == (failing[0],)
            assert workers.n_free == 4
        assert workers.map(task, [1, 2]) == [1, 2]


def test_tasks_may_share_out_tasks():
    with Workers(3) as workers:

        def outer(number):
            return sum(workers.map(lambda k: sum(workers.map(lambda i: i * k, range(5))), range(number)))

        expected = [10 * sum(range(number)) for number in range(12)]
        for _ in range(20):
            assert workers.map(outer, range(12)) == expected
        assert workers.n_free == 3


def test_no_helper_that_is_busy_is_waited_for():
    over = threading.Event()
    with Workers(2) as workers:
        other = threading.Thread(target=lambda: workers.map(lambda _: over.wait(60), range(2)))
        other.start()
        while workers.n_free > 1:
            time.sleep(0.001)
        names = workers.map(lambda _: threading.current_thread().name, range(4))  # done by this thread meanwhile
        over.set()
        other.join()
    assert set(names) == {threading.current_thread().name}


def test_without_a_with_block_the_caller_does_everything():
    workers = Workers(4)
    assert workers.n_free == 1 and workers.map(abs, [-1, -2]) == [1, 2]


# -- blocks ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("left_out", [(0, 0), (0, 30), (30, 70), (90, 101), (0, 101)])
@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_blocks_are_the_rows_that_are_trained_on_and_alike(left_out, n_threads):
    n, (first, last) = 101, left_out
    trained = [row for row in range(n) if not first <= row < last]
    for blocks in divided(n, first, last, n_threads, None):
        assert [row for block in blocks for row in range(*block)] == trained
    shared, undivided = divided(n, first, last, n_threads, None)
    assert len(undivided) <= 2
    if n_threads > 1 and trained:
        assert max(b - a for a, b in shared) <= -(-len(trained) // (BLOCKS_OF_THREAD * n_threads))


# -- the best of several ranges ----------------------------------------------------------------------------------------
def searched(values, least):
    """What a search over these merits finds: merit, what it beat, place, and the place again."""
    best, beaten, where = least, least, -1
    for place, value in values:
        if value > best + GROWTH_TIE * abs(best):
            best, beaten, where = value, best, place
    return best, beaten, where, where


@pytest.mark.parametrize("seed", slow_after(10, range(40)))
def test_ranges_find_what_one_search_finds_also_where_splits_nearly_tie(seed):
    rng, again = np.random.default_rng(seed), 0
    for _ in range(200):
        steps = rng.integers(0, 7, size=rng.integers(1, 30)) * GROWTH_TIE * rng.choice([0.3, 0.6, 1.0])
        jumps = rng.choice([0.0, 0.5], size=len(steps), p=[0.8, 0.2])
        values = list(enumerate(1.0 + steps + jumps))
        least = float(rng.choice([0.0, 1.0, 1.0 + 2 * GROWTH_TIE]))
        cuts = np.unique([0, *rng.integers(0, len(values), 4), len(values)])
        best = least, -1, -1
        for a, b in itertools.pairwise(cuts):

            def search_again(above, part=values[a:b]):
                nonlocal again
                again += 1
                return searched(part, above)

            best = following(best, searched(values[a:b], least), search_again)
        merit, _, where, _ = searched(values, least)
        assert best == (merit, where, where)
    assert again > 0


def test_clear_winners_are_not_searched_for_again():
    def never(above):
        raise AssertionError(above)

    assert following((2.0, 3, 5), (1.0, 0.5, 7, 1), never) == (2.0, 3, 5)
    assert following((2.0, 3, 5), (2.1, 0.5, 7, 1), never) == (2.1, 7, 1)
    assert following((0.5, -1, -1), (0.5 + 1e-7, 0.5, 7, 1), never) == (0.5 + 1e-7, 7, 1)
    assert following((2.0, 3, 5), (0.5, 0.5, -1, -1), never) == (2.0, 3, 5)


# -- models ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("parameters", [{}, {"cv": 1}, {"sketch": 4}, {"surrogate": "exponential", "sketch": None}])
def test_models_do_not_depend_on_what_is_shared(parameters, monkeypatch, tmp_path):
    """Everything that can be shared is, of features that come twice and of few values."""
    rng = np.random.default_rng(0)
    y = np.arange(1500) % 3
    X = rng.normal(size=(1500, 12)) + 0.6 * rng.normal(size=(3, 12))[y]
    X[:, 4:8], X[:, 8:] = X[:, :4], np.round(X[:, :4])
    files, made = [], RowColumns.__init__
    for inline_work, n_jobs in ((1 << 30, 1), (1 << 30, 3), (1, 2), (1, 3), (1 << 14, 2)):
        limits = {"limits": Limits(large_leaf=100, inline_work=inline_work)}
        with monkeypatch.context() as patched:
            patched.setattr(
                RowColumns,
                "__init__",
                lambda self, made=made, limits=limits, **columns: made(self, **columns, **limits),
            )
            model = MinRiskClassifier(n_estimators=6, random_state=0, n_jobs=n_jobs, **parameters).fit(X, y)
        minrisk.save(model, tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert len(set(files)) == 1
