"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def data_folder():
    """The public data sets: the folder MINRISK_DATA, default ../shared/data beside the checkout."""
    folder = Path(os.environ.get("MINRISK_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "letter.csv.gz").is_file():
        pytest.skip(f"no data sets in {folder}: set MINRISK_DATA")
    return folder
