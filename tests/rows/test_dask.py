"""Fits to Dask collections on a cluster of processes: the same bytes, also where workers are killed."""

import os
import signal
import threading
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from benchmarks.before_after import COSTS, blobs
from minrisk import DataWarning, MinRiskClassifier, REBELClassifier
from minrisk._utils.packages import versions
from minrisk.boosting import checkpoint
from minrisk.estimator.elsewhere import fit_whole
from minrisk.rows.dask import ClusterError, DaskEngine, check_workers, gathered, in_words, made_shard
from minrisk.rows.placed import Part, Seal
from minrisk.rows.remote import Driver
from tests.helpers.common import slow_after
from tests.rows.test_elsewhere import as_many_rows
from tests.rows.test_pieces import content

distributed = pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed.client import FutureCancelledError  # noqa: E402
from distributed.comm.core import CommClosedError  # noqa: E402
from distributed.scheduler import KilledWorker  # noqa: E402

pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )
    yield cluster
    with suppress(KeyError):  # that distributed may raise of a worker that was killed
        cluster.close()


@pytest.fixture
def client(cluster, monkeypatch):
    as_many_rows(monkeypatch)
    monkeypatch.setattr("minrisk.estimator.elsewhere.FEW_ROWS", 0)
    with distributed.Client(cluster) as client:
        yield client


X, Y = blobs(900, 5, 3, seed=3)
MODEL = MinRiskClassifier(COSTS, n_estimators=5, search_rows=64, pool=False, random_state=0)


def of_dask(n_parts):
    return da.from_array(X, chunks=(-(-len(X) // n_parts), -1)), da.from_array(Y, chunks=-(-len(X) // n_parts))


@pytest.fixture
def expected(monkeypatch, tmp_path):
    as_many_rows(monkeypatch)
    return content(clone(MODEL).fit(X, Y), tmp_path)


@pytest.mark.parametrize("n_workers", slow_after(1, [3, 1, 2]))
def test_models_are_the_same(n_workers, cluster, client, expected, monkeypatch, tmp_path):
    monkeypatch.setattr("minrisk.rows.dask.FAN_OUT", 1)  # one worker asks the others
    cluster.scale(n_workers)
    client.wait_for_workers(n_workers)
    for n_parts in (1, 7):
        assert content(clone(MODEL).fit(*of_dask(n_parts)), tmp_path) == expected
    cluster.scale(2)


def test_frames(client, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcde"))
    y, weight = pd.Series(np.array(["x", "y", "z"])[Y]), pd.Series(np.arange(len(Y)) % 3)
    model = REBELClassifier(COSTS, n_estimators=3)
    here = content(clone(model).fit(frame, y, sample_weight=weight), tmp_path)
    there = clone(model).fit(*(dd.from_pandas(part, npartitions=4) for part in (frame, y, weight)))
    assert content(there, tmp_path) == here
    asked = there.predict(dd.from_pandas(frame[list("edcba")], npartitions=3))
    np.testing.assert_array_equal(asked.compute(), there.predict(frame))


@pytest.mark.parametrize("few", [0, 10**6], ids=["divided", "whole"])
def test_columns_are_found_by_their_names(few, client, monkeypatch):
    """As where the rows are here; a fit of few rows is one to an array."""
    monkeypatch.setattr("minrisk.estimator.elsewhere.FEW_ROWS", few)
    for names in (list("abcde"), range(5)):
        frame, model = pd.DataFrame(X, columns=names), clone(MODEL).set_params(n_estimators=3)
        model.fit(dd.from_pandas(frame, npartitions=2), dd.from_pandas(pd.Series(Y), npartitions=2))
        other, expected = frame[frame.columns[::-1]], model.predict(frame)
        assert model.predict(other).tolist() == expected.tolist()
        assert model.predict(dd.from_pandas(other, npartitions=2)).compute().tolist() == expected.tolist()


def test_pieces_stay_where_they_are(client, monkeypatch):
    """Nobody asks a piece where it is not: it would be built anew by the whole log."""
    asked, drivers, real = [], [], DaskEngine.asked

    class Noted(Driver):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            drivers.append(self)

    monkeypatch.setattr("minrisk.estimator.elsewhere.Driver", Noted)
    monkeypatch.setattr(DaskEngine, "asked", lambda *given: asked.append(1) or real(*given))
    clone(MODEL).fit(*of_dask(20))
    assert len(asked) == drivers[0].n_exchanges > 50


@pytest.mark.slow
@pytest.mark.parametrize("fan_out", [1, 16])
def test_killed_workers(fan_out, client, cluster, expected, monkeypatch, tmp_path):
    """A worker is lost at random moments, and one joins."""
    monkeypatch.setattr("minrisk.rows.dask.FAN_OUT", fan_out)
    random, done, killed = np.random.default_rng(0), threading.Event(), []

    def kill():
        while not done.wait(random.uniform(0.2, 0.6)) and len(killed) < 4:
            with suppress(OSError):  # the worker that is asked may be the one that was killed
                pids = list(client.run(os.getpid).values())
                if len(pids) > 1:
                    killed.append(pids[int(random.integers(len(pids)))])
                    os.kill(killed[-1], signal.SIGKILL)

    cluster.scale(3)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        for _ in range(30):
            found = content(clone(MODEL).fit(*of_dask(5)), tmp_path)
            assert found == expected
            if len(killed) > 2:
                break
    finally:
        done.set()
        killer.join()
        cluster.scale(2)
    assert len(killed) > 2


def test_a_worker_has_one_piece_of_as_many_threads(client):
    parts = [Part(X[a : a + 300], Y[a : a + 300]) for a in (0, 300, 600)]
    (worker, *_), seals = client.nthreads(), [Seal.of(number, part) for number, part in enumerate(parts)]
    futures = client.scatter(parts, workers=[worker])
    for n_threads in (1, 3):
        engine = DaskEngine(client, futures, seals, n_threads)
        found = engine.asked([0], shape_of, in_one_list, as_it_is, np.zeros(2))
        assert engine.n_shards == 1 and found == [(900, n_threads, True)]


def shape_of(shard, told):
    return [(len(shard.rows.y), shard.n_threads, told.flags.writeable)]


def as_it_is(shard, found, told):
    return found


def in_one_list(found):
    return [one for own in found for one in own]


def test_a_piece_that_is_lost_again_and_again_ends_the_fit(client, monkeypatch):
    """As where memory is short: each loss moves it to another worker."""
    part = Part(X, Y)
    engine = DaskEngine(client, client.scatter([part]), [Seal.of(0, part)])
    for home in ("tcp://127.0.0.1:1", "tcp://127.0.0.1:2", "tcp://127.0.0.1:3"):
        engine._homes[0] = home
        assert engine._look_again([0])
    engine._homes[0] = "tcp://127.0.0.1:4"
    with pytest.raises(ClusterError, match="where memory is short"):
        engine._look_again([0])


@pytest.mark.slow
def test_two_fits_at_once(client, expected, tmp_path):
    found = []

    def fit(name):
        (tmp_path / name).mkdir()
        found.append(content(clone(MODEL).fit(*of_dask(4)), tmp_path / name))

    fits = [threading.Thread(target=fit, args=(name,)) for name in "ab"]
    for thread in fits:
        thread.start()
    for thread in fits:
        thread.join()
    assert found == [expected, expected]


def test_a_bad_value_names_its_partition(client):
    bad = X.copy()
    bad[700, 2] = np.inf
    with pytest.raises(ValueError, match="partition 3: X must hold finite numbers, got inf"):
        clone(MODEL).fit(da.from_array(bad, chunks=(200, 5)), da.from_array(Y, chunks=200))


def test_few_rows_warn_here(client, monkeypatch):
    monkeypatch.setattr("minrisk.estimator.elsewhere.FEW_ROWS", 900)
    with pytest.warns(UserWarning, match="has learnt nothing") as said:
        REBELClassifier(n_estimators=2, target_loss=1e9).fit(*of_dask(2))
    assert [warning.filename for warning in said] == [__file__]


def test_it_asks_for_a_client(monkeypatch):
    with pytest.raises(ValueError, match="make a dask.distributed.Client first"):
        clone(MODEL).fit(*of_dask(2))


def test_lazy_answers(client):
    model = clone(MODEL).fit(X, Y)
    lazy = da.from_array(X, chunks=(300, 2))
    for name in ("predict", "predict_proba", "decision_function"):
        asked = getattr(model, name)(lazy)
        assert isinstance(asked, da.Array) and asked.shape == getattr(model, name)(X).shape
        np.testing.assert_array_equal(asked.compute(), getattr(model, name)(X))
    asked, before = model.predict(X=lazy), model.predict(X)
    model.fit(X, np.roll(Y, 1))  # the answer is the earlier fit's
    np.testing.assert_array_equal(asked.compute(), before)
    with pytest.raises(TypeError, match="compute X and y first"):
        model.score(lazy, Y)
    with pytest.raises(ValueError, match="y must be a Dask array"):
        clone(MODEL).fit(lazy, Y)


A, B = da.from_array(X, chunks=(300, -1)), da.from_array(Y, chunks=300)
FRAME = dd.from_pandas(__import__("pandas").DataFrame(X, columns=list("abcde")), npartitions=3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: (A, None), "y must have a label for each row of X"),
        (
            lambda: (A, Y),
            "y must be a Dask array, series or dataframe with a partition for each of the 3 of X, got ndarray",
        ),
        (lambda: (FRAME, B.rechunk(450)), "for each of the 3 of X, got 2 partitions"),
        (lambda: (A, B[:800]), "y must have a row for each of the 900 of X, got 800"),
        (lambda: (A[A[:, 0] > 0], B), "partition [012]: y must have a label for each of the"),
        (lambda: (A[:, 0], B), "X must be a Dask array or dataframe with rows and columns, got Array of 1 dim"),
        (lambda: (A[:0], B[:0]), "X must have rows, got none"),
        (lambda: (FRAME.assign(c="words"), B), "partition [012]: .* must hold numbers, got categories in column 'c'"),
        (
            lambda: (FRAME.assign(c=FRAME["c"].round().astype("category")), B),
            "must hold numbers, got categories in column 'c'",
        ),
        (lambda: (A, B * 0), "y must have at least two classes"),
        (lambda: (A, da.where(B == 0, np.nan, B)), "partition [012]: y must hold a class for each row, got nan"),
        (lambda: (A, B, np.ones(900)), "sample_weight must be a Dask array"),
        (
            lambda: (A, B, None, np.ones((900, 3))),
            "cost of each row must be a Dask array or dataframe beside X, got ndarray",
        ),
    ],
    ids=range(13),
)
def test_what_newcomers_hand_over(given, message, client):
    with pytest.raises(ValueError, match=message):
        clone(MODEL).fit(*given())


def test_chunks_of_unknown_sizes_and_empty_ones(client, tmp_path):
    model, some = REBELClassifier(COSTS, n_estimators=2, weak_learner="stump"), X[:, 0] > np.quantile(X[:300, 0], 0.3)
    here = content(clone(model).fit(X[some], Y[some]), tmp_path)
    chosen = da.from_array(some, chunks=300)
    there = clone(model).fit(A[chosen], B[chosen])
    assert content(there, tmp_path) == here
    np.testing.assert_array_equal(there.predict(A[chosen]).compute(), there.predict(X[some]))
    empty = da.concatenate([A[:0], A, A[:0]]), da.concatenate([B[:0], B, B[:0]])
    assert content(clone(model).fit(*empty), tmp_path) == content(clone(model).fit(X, Y), tmp_path)
    names = np.array(["no", "yes"])[(Y > 0).astype(int)]  # two classes, of words
    here = content(REBELClassifier(n_estimators=2).fit(X, names), tmp_path)
    assert content(REBELClassifier(n_estimators=2).fit(A, da.from_array(names, chunks=300)), tmp_path) == here


def test_answers_that_are_not_lazy_say_so(client):
    model = REBELClassifier(n_estimators=2).fit(X, Y)
    for ask in (lambda: model.staged_predict(A), lambda: model.score(A, B)):
        with pytest.raises(TypeError, match="compute X"):
            ask()
    minimal = MinRiskClassifier(n_estimators=2, pool=False, cv=1).fit(X, Y)
    for cost in (np.ones((900, 3, 3)), da.ones((900, 3, 3))):
        with pytest.raises(TypeError, match="predict takes costs that all rows of a Dask collection share"):
            minimal.predict(A, cost=cost)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(A[:, :3])


# -- sources that change -----------------------------------------------------------------------------------------------
def read_again(number, folder):
    """A part of a table that has its rows in another order whenever it is read."""
    file = folder / str(number)
    file.write_text("x" * (1 + len(file.read_text() if file.exists() else "")))
    rows = np.arange(300 * number, 300 * number + 300)
    return np.c_[X, Y][np.random.default_rng(len(file.read_text())).permutation(rows)]


@pytest.mark.parametrize("of", slow_after(1, ["a frame", "an array"]))
def test_a_partition_is_read_once(of, client, tmp_path):
    """X and y of it together, also where they are made of one table."""
    import dask
    import pandas as pd

    parts = [dask.delayed(read_again)(number, tmp_path) for number in range(3)]
    if of == "an array":
        table = da.concatenate([da.from_delayed(part, (300, 6), float) for part in parts])
        given = table[:, :5], table[:, 5].astype(int)
    else:
        columns = [str(j) for j in range(6)]
        frame = dd.from_delayed(
            [dask.delayed(pd.DataFrame)(part, columns=columns) for part in parts],
            meta=pd.DataFrame(np.empty((0, 6)), columns=columns),
        )
        given = frame[columns[:5]], frame["5"].astype(int)
    once = np.concatenate([np.random.default_rng(1).permutation(np.arange(a, a + 300)) for a in (0, 300, 600)])
    there, here = clone(MODEL).fit(*given), clone(MODEL).fit(X[once], Y[once])
    np.testing.assert_array_equal(there.model_.scores(X), here.model_.scores(X))
    assert [(tmp_path / str(number)).read_text() for number in range(3)] == ["x"] * 3


@pytest.mark.parametrize("column", ["X", "y", "weight", "cost"])
def test_a_partition_that_is_computed_again_must_be_the_same(column):
    part = Part(X[:20], np.array(["a", "b"])[Y[:20] % 2], np.arange(20.0), np.ones((20, 3)) * np.arange(20)[:, None])
    seal, order = Seal.of(3, part), np.r_[1, 0, 2:20]
    made_shard(0, 20, 1, [0], [seal], [Part(*(own.copy() for own in part))])
    y = part.y.copy()
    y[4] = "b" if y[4] == "a" else "a"
    changed = part._replace(**{column: y if column == "y" else getattr(part, column)[order]})
    for ask in (
        lambda: made_shard(0, 20, 1, [0], [seal], [changed]),
        lambda: fit_whole(MODEL, None, [seal], [changed]),
    ):
        with pytest.raises(
            ValueError, match=r"^partition 3 was computed again and has other rows, or in another order: make"
        ):
            ask()


# -- clusters that fail ------------------------------------------------------------------------------------------------
def said_by(function):
    try:
        function()
    except Exception as error:
        return error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KilledWorker("made_shard", None, 3), "where memory is short: give them more memory, or make more workers"),
        (CommClosedError("in <TCP>: Stream is closed"), "does not answer any more, .*: start it again and fit anew"),
        (FutureCancelledError("k", "lost"), "does not answer any more, .*: start it again and fit anew"),
    ],
)
def test_what_distributed_raises_is_said_in_a_sentence(error, message):
    with pytest.raises(ClusterError, match=message) as caught, in_words():
        raise error
    assert caught.value.__suppress_context__ and str(caught.value).count("\n") == 0
    with pytest.raises(OSError, match="no space"), in_words():
        raise OSError("no space")


@pytest.mark.parametrize(("versions", "have"), [(["0.1", None], "some have 0.1, None"), ([None], "some lack it")])
def test_workers_of_another_version_are_refused(versions, have, client, monkeypatch):
    told = {"workers": {str(n): {"packages": {"minrisk": version}} for n, version in enumerate(versions)}}
    monkeypatch.setattr(type(client), "get_versions", lambda self, **options: told)
    with pytest.raises(ClusterError, match=f"all workers need minrisk .*, but {have}: install it there"):
        clone(MODEL).fit(*of_dask(2))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            ModuleNotFoundError("No module named 'minrisk._utils.packages'"),
            "some workers have other code of minrisk than is here",
        ),
        ({**versions(), "minrisk": "0.1.0 abc"}, "some workers have other code of minrisk than is here"),
        ({**versions(), "numpy": "1.26.4"}, "all workers need numpy .*, but some have 1.26.4: install it there"),
    ],
)
def test_workers_that_compute_otherwise_are_refused(said, message, client, monkeypatch):
    """Other code under the same version, as of an editable installation, and other packages."""
    real = type(client).run
    monkeypatch.setattr(
        type(client), "run", lambda self, *given, **options: {**real(self, *given, **options), "w": said}
    )
    with pytest.raises(ClusterError, match=message):
        clone(MODEL).fit(*of_dask(2))


def test_a_worker_that_is_lost_just_now_has_no_other_code(client, monkeypatch):
    monkeypatch.setattr(type(client), "run", lambda self, *given, **options: {"w": OSError("Timed out")})
    check_workers(client)


@pytest.mark.parametrize("few", slow_after(1, [10**6, 0]))
def test_whole_numbers_that_merge_are_told(few, client, monkeypatch):
    monkeypatch.setattr("minrisk.estimator.elsewhere.FEW_ROWS", few)
    ids = pd.DataFrame(
        {"x": Y + 0.5, "id": 2**53 + np.arange(len(Y)) % 3, "own": pd.array([2**60 + 1] * len(Y), dtype="Int64")}
    )
    with pytest.warns(DataWarning, match="beyond 2\\*\\*53, .*: 'id', 'own'. Name"):
        clone(MODEL).set_params(n_estimators=2).fit(
            dd.from_pandas(ids, npartitions=2), dd.from_pandas(pd.Series(Y), npartitions=2)
        )


def test_nobody_is_waited_for_in_vain(monkeypatch):
    """Neither workers that do not come, nor a scheduler that is gone."""
    monkeypatch.setattr("minrisk.rows.dask.ASKED_SECONDS", 0.2)
    with in_process(n_workers=0) as cluster, distributed.Client(cluster):
        monkeypatch.setattr("minrisk.rows.dask.ALONE_SECONDS", 0.5)
        with pytest.raises(ClusterError, match="has had no workers for .* minutes: start some"):
            clone(MODEL).fit(*of_dask(2))
        monkeypatch.setattr("minrisk.rows.dask.ALONE_SECONDS", 60.0)
        said = []
        fit = threading.Thread(target=lambda: said.append(said_by(lambda: clone(MODEL).fit(*of_dask(2)))), daemon=True)
        fit.start()
        fit.join(1.0)
        cluster.close()
        fit.join(60.0)
    assert [type(error) for error in said] == [ClusterError], said


def test_answers_that_are_lost_with_all_workers_are_not_waited_for(monkeypatch):
    """A worker dies after it has answered, and before it has been asked for the answer."""
    monkeypatch.setattr("minrisk.rows.dask.ASKED_SECONDS", 0.2)
    monkeypatch.setattr("minrisk.rows.dask.ALONE_SECONDS", 0.5)
    with in_process() as cluster, distributed.Client(cluster) as client:
        futures = [client.submit(len, "answer", pure=False)]
        assert gathered(client, futures) == [6]
        (worker,) = cluster.workers.values()
        client.sync(worker.close)
        with pytest.raises(ClusterError, match="has had no workers for .* minutes: start some"):
            gathered(client, futures)


@pytest.mark.parametrize("lost", slow_after(1, ["workers", "scheduler"]))
def test_a_fit_goes_on_with_another_cluster(lost, tmp_path, monkeypatch):
    """From its checkpoint, with other partitions, to the bytes of a fit that lost nothing."""
    as_many_rows(monkeypatch)
    monkeypatch.setattr("minrisk.estimator.elsewhere.FEW_ROWS", 0)
    monkeypatch.setattr("minrisk.rows.dask.ASKED_SECONDS", 0.2)
    monkeypatch.setattr("minrisk.rows.dask.ALONE_SECONDS", 0.5)
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    model, path, after, made = (
        REBELClassifier(COSTS, n_estimators=6),
        tmp_path / "rounds",
        checkpoint.Run.after_round,
        [],
    )

    def losing(self, info):
        after(self, info)
        made.append(info.n_rounds)
        if made == [1, 2, 3] and lost == "scheduler":
            cluster.close()
        elif made == [1, 2, 3]:
            client.sync(next(iter(cluster.workers.values())).close)
        return False

    monkeypatch.setattr(checkpoint.Run, "after_round", losing)
    with in_process() as cluster, distributed.Client(cluster) as client:
        assert "ClusterError" in repr(said_by(lambda: clone(model).fit(*of_dask(2), checkpoint=path)))
    assert path.exists()
    with in_process() as cluster, distributed.Client(cluster):
        found = clone(model).fit(*of_dask(3), checkpoint=path)
    assert made == [1, 2, 3, 4, 5, 6] and not path.exists()
    assert content(found, tmp_path) == content(clone(model).fit(X, Y), tmp_path)


def in_process(n_workers=1):
    return distributed.LocalCluster(n_workers=n_workers, processes=False, dashboard_address=":0", silence_logs=50)
