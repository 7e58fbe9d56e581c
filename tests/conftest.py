"""Fixtures for all tests."""

import os
import time
from pathlib import Path

import pytest

import minrisk  # noqa: F401  an editable install compiles here what has changed, before processes side by side import it

os.environ.setdefault("MPLBACKEND", "Agg")
# tests run side by side: threads of BLAS and of OpenMP would wait for those of other tests
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def data_folder():
    """The public data sets: the folder MINRISK_DATA, default ../shared/data beside the checkout."""
    folder = Path(os.environ.get("MINRISK_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "letter.csv.gz").is_file():
        pytest.skip(f"no data sets in {folder}: set MINRISK_DATA")
    return folder


@pytest.fixture(autouse=True)
def rows_in_pieces(monkeypatch, request):
    """With MINRISK_PIECES all rows that estimators learn from are in so many pieces that share no memory."""
    if (n_pieces := int(os.environ.get("MINRISK_PIECES", "0"))) and request.module.__name__ != "test_pieces":
        from tests.helpers.pieces import in_pieces

        in_pieces(monkeypatch, n_pieces)


@pytest.fixture
def processor_clock(monkeypatch):
    """Budgets of fits count the seconds of the processor, so that what is tried does not depend on other processes."""
    monkeypatch.setattr(time, "perf_counter", time.process_time)
