"""Matrix products in one thread: while anybody wants it, and not longer; models do not depend on their threads."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (which may bring a BLAS of its own)
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

import minrisk
from minrisk._utils import workers
from minrisk._utils.workers import one_blas_thread
from tests.helpers.common import slow_after

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def n_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        if n_threads() != {2}:
            pytest.skip("the number of threads of matrix products cannot be set here")
        yield
        assert n_threads() == {2} and not workers._blas_threads._users


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_blocks_may_end_in_any_order(order):
    blocks = [one_blas_thread() for _ in range(3)]
    for block in blocks:
        block.__enter__()
        assert n_threads() == {1}
    for last, number in enumerate(order, 1):
        assert n_threads() == {1}
        blocks[number].__exit__(None, None, None)
        blocks[number].__exit__(None, None, None)  # ends it once
        assert n_threads() == ({2} if last == 3 else {1})


def test_nested_blocks_and_errors():
    def failing():
        with one_blas_thread(), one_blas_thread():
            with one_blas_thread():
                pass
            assert n_threads() == {1}
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()


def test_a_block_that_an_interrupt_has_kept_from_beginning_ends():
    block = one_blas_thread()
    block.__enter__()
    assert n_threads() == {1}
    del block


def test_what_others_set_in_the_meantime_stays():
    other = threadpool_limits(1, user_api="blas")
    with one_blas_thread():
        other.restore_original_limits()  # began before and ends before
        assert n_threads() == {2}
    assert n_threads() == {2}
    with one_blas_thread():
        threadpool_limits(2, user_api="blas")
    assert n_threads() == {2}


@pytest.mark.parametrize("begins", ["first", "second"])
def test_any_thread_may_begin_and_any_may_end(begins):
    """threadpoolctl 3.8 lets one thread set the number, as long as that is alive, and does nothing for the others."""
    first, second = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    blocks = one_blas_thread(), one_blas_thread()
    with first, second:
        for thread in (first, second):
            thread.submit(lambda: threadpool_limits(2, user_api="blas")).result()
        for _ in range(2):
            (first if begins == "first" else second).submit(blocks[0].__enter__).result()
            second.submit(blocks[1].__enter__).result()
            assert n_threads() == {1}
            first.submit(blocks[0].__exit__).result()
            assert n_threads() == {1}
            second.submit(blocks[1].__exit__).result()
            assert n_threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("inside", [False, True])
def test_a_fork_in_the_middle_of_a_block_has_its_own_blocks_only(inside):
    begun, over = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            begun.set()
            over.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(60)
    mine = one_blas_thread()
    if inside:
        mine.__enter__()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            wrong = n_threads() != ({1} if inside else {2})
            mine.__exit__(None, None, None)
            with one_blas_thread():
                wrong |= n_threads() != {1}
                np.ones((300, 300)) @ np.ones((300, 300))
            status = int(wrong or n_threads() != {2})
        finally:
            os._exit(status)
    over.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    mine.__exit__(None, None, None)


ESTIMATORS = [
    lambda: minrisk.MinRiskClassifier(n_estimators=3, random_state=0),
    lambda: minrisk.LocalizedSimilaritiesClassifier(n_estimators=3, n_neighbors=3),
    lambda: minrisk.MultiBoostClassifier(n_estimators=3),
]


@pytest.mark.parametrize("backend", ["threads", "joblib"])
def test_fits_side_by_side_give_the_threads_back(backend):
    X = np.random.default_rng(0).normal(size=(80, 4))
    y = np.arange(80) % 3
    fits = [lambda i=i: ESTIMATORS[i % 3]().fit(X[: 60 + i], y[: 60 + i]) for i in range(12)]
    if backend == "threads":
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda fit: fit(), fits))
    else:
        Parallel(4, backend="threading")(delayed(fit)() for fit in fits)


def test_neighbours_that_are_looked_for_side_by_side_give_the_threads_back(monkeypatch):
    """The thread that begins first ends first."""
    from sklearn.neighbors import NearestNeighbors

    from minrisk.data.distances import Points, Units
    from minrisk.rows import similar

    second, first_is_done = threading.Event(), threading.Event()
    real = NearestNeighbors.kneighbors

    def in_order(self, **options):
        if threading.current_thread().name == "first":
            second.wait(60)
        else:
            second.set()
            first_is_done.wait(60)
        return real(self, **options)

    monkeypatch.setattr(NearestNeighbors, "kneighbors", in_order)
    X = np.random.default_rng(0).normal(size=(50, 3))
    points = Points.of(X, Units.of(X, "none"))
    threads = [
        threading.Thread(target=similar.neighbors_of, args=(points, 3), name=name) for name in ("first", "second")
    ]
    threads[0].start()
    while not workers._blas_threads._users:
        pass
    threads[1].start()
    threads[0].join()
    first_is_done.set()
    threads[1].join()


FIT = """
import sys, numpy as np, minrisk
rng = np.random.default_rng(1)
X = rng.normal(size=(12_000, 3)) @ rng.normal(size=(3, 60)) + rng.normal(size=(12_000, 60))
y = np.digitize(X[:, 0] + X[:, 1] + 5 * rng.normal(size=12_000), (-1, 1))  # a weak signal, which logistic members find
weight = rng.random(12_000)
model = minrisk.MinRiskClassifier(n_estimators=3, random_state=0).fit(X, y, sample_weight=weight)
assert model.model_.projection is not None and {"logistic", "random"} <= {line["variant"] for line in model.selection_ if line["share"] > 0}
minrisk.save(model, sys.argv[1])
"""


@pytest.mark.parametrize("numbers", slow_after(1, ["14", "12"]))
def test_a_model_does_not_depend_on_the_threads_of_matrix_products(numbers, tmp_path):
    files = []
    for n in numbers:
        path = tmp_path / n
        threads = {name: n for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
        subprocess.run([sys.executable, "-c", FIT, str(path)], check=True, env={**os.environ, **threads})
        files.append(path.read_bytes())
    assert len(set(files)) == 1


BOOSTED = """
import sys, hashlib, numpy as np, minrisk
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 8))
y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], (-0.7, 0.7))
cost, weight = rng.uniform(1, 2, (3, 3)) * (1 - np.eye(3)), rng.random(400)
for model in (
    minrisk.MinRiskClassifier(cost, pool=False, n_estimators=20, random_state=0),
    minrisk.MinRiskClassifier(cost, surrogate="gll", pool=False, n_estimators=20, random_state=0),
    minrisk.REBELClassifier(cost, n_estimators=20), minrisk.REBELClassifier(cost, loss="logistic", n_estimators=20),
    minrisk.MCBoostClassifier(cost, n_estimators=20), minrisk.MCBoostClassifier(cost, loss="ls", n_estimators=20),
):
    minrisk.save(model.fit(X, y, sample_weight=weight), sys.argv[1])
    print(type(model).__name__, hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())
"""


@pytest.mark.parametrize("other", ["Prescott", "SandyBridge"])
@pytest.mark.slow
def test_boosting_does_not_depend_on_the_kernels_of_the_blas(other, tmp_path):
    """OpenBLAS can be told to take those of another processor; others do not listen."""
    answers = {}
    for core in ("Haswell", other):
        command = [sys.executable, "-c", BOOSTED, str(tmp_path / "m")]
        environment = {**os.environ, "OPENBLAS_CORETYPE": core}
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        answers[core] = done.stdout
    assert answers["Haswell"].count("\n") == 6 and len(set(answers.values())) == 1, answers
