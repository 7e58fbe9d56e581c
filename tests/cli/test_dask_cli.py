"""`minrisk fit --scheduler` on a cluster of processes: the same bytes, and one line where something is wrong."""

import time

import numpy as np
import pandas as pd
import pytest

from benchmarks.before_after import blobs
from tests.helpers.command_line import refused, run
from tests.helpers.common import slow_after
from tests.rows.test_elsewhere import as_many_rows

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

X, Y = blobs(900, 5, 3, seed=3)
NAMES = np.array(["01", "1", "x"])[Y]


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def many(monkeypatch):
    """Fits take the way of many rows; tasks read one row group each."""
    as_many_rows(monkeypatch)
    monkeypatch.setattr("minrisk.estimator.elsewhere.FEW_ROWS", 0)
    monkeypatch.setattr("minrisk.cli.training.PARTITION_VALUES", 1)


@pytest.fixture
def folder(tmp_path):
    """Three files of the table, of several row groups, with an empty one among them."""
    place = tmp_path / "data"
    place.mkdir()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=NAMES, n=np.arange(900) % 7, note="any")
    frame.loc[::11, "a"] = np.nan
    for number, (first, last) in enumerate([(0, 400), (400, 400), (400, 650), (650, 900)]):
        frame[first:last].to_parquet(place / f"{number}.parquet", index=False, row_group_size=150)
    return place


FIT = "--target kind --drop note --n-estimators 3 --out"


@pytest.mark.parametrize("method", slow_after(1, ["rebel", "minrisk"]))
def test_models_are_the_same(method, address, many, folder, tmp_path):
    files, costs = sorted(folder.iterdir()), tmp_path / "costs.csv"
    costs.write_text(",01,1,x\n01,0,1,5\n1,2,0,1\nx,9,1,0\n")
    how = f"--costs {costs} --method {method} {FIT}"
    run("fit", *files, how, tmp_path / "here")
    data = [folder] if method == "minrisk" else files
    told = run("fit", *data, f"--scheduler {address}", how, tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()
    assert "900" in told


def test_few_rows(address, folder, tmp_path):
    how = f"--method mcboost {FIT}"  # one task fits any
    run("fit", *sorted(folder.iterdir()), how, tmp_path / "here")
    run("fit", folder, f"--scheduler {address}", how, tmp_path / "there")
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_files_that_are_none_of_it(folder, tmp_path):
    """No cluster is asked for them."""
    for name in ("t.csv", "-", "t.svm"):
        told = refused("fit", name, "--scheduler tcp://127.0.0.1:1", FIT, tmp_path / "m")
        assert f"--scheduler is for Parquet files, which workers read; got {name}" in told
    told = refused("fit", folder, "--scheduler tcp://127.0.0.1:1", "--bins-in", tmp_path, FIT, tmp_path / "m")
    assert "--bins-in is for fits on this machine" in told
    assert "--target" in refused("fit", folder, f"--scheduler tcp://127.0.0.1:1 --out {tmp_path}/m")


def test_an_address_that_nobody_answers(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("minrisk.cli.training.ANSWER_SECONDS", 0.5)
    start = time.monotonic()
    for address in ("tcp://127.0.0.1:1", "local"):
        told = refused("fit", folder, f"--scheduler {address}", FIT, tmp_path / "m")
        assert f"--scheduler {address}: no scheduler of Dask answers there" in told
    assert time.monotonic() - start < 20


def test_what_the_columns_hold(address, many, folder, tmp_path):
    how = f"--scheduler {address} --out {tmp_path}/m"
    assert "columns of numbers, but ['note'" in refused("fit", folder, "--target kind", how)
    told = refused("fit", folder, "--target kind --drop note --categorical n", how)
    assert "columns of numbers, but ['n'" in told
    assert "nowhere" in refused("fit", folder, "--target nowhere --drop note", how)
    bad = pd.read_parquet(folder / "2.parquet")
    bad.loc[3, "b"] = np.inf
    bad.to_parquet(folder / "2.parquet")
    assert "got inf in column 'b'" in refused("fit", folder, "--target kind --drop note", how)
    assert "takes no Dask collections" in refused(
        "fit", folder / "0.parquet", "--target kind --drop note --method multiboost", how
    )


def test_a_cluster_without_workers(folder, tmp_path):
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0", silence_logs=50) as cluster:
        told = refused("fit", folder, "--scheduler", cluster.scheduler_address, FIT, tmp_path / "m")
    assert "has no workers" in told
