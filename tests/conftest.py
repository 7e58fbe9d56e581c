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


@pytest.fixture
def as_published(monkeypatch):
    """Algorithms without the frame's answer where they have learnt nothing: slow twins do not have it."""
    from minrisk.algorithms.base import RecipeClassifier
    from minrisk.algorithms.mcboost import MCBoostClassifier

    for cls in (RecipeClassifier, MCBoostClassifier):
        monkeypatch.setattr(cls, "_learnt_nothing", lambda self, unborn, risk, costs: False)
