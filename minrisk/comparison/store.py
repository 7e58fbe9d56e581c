"""A folder of finished folds: a file for each, written whole the moment that the fold is done."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from minrisk.io.atomic import check_target, write_beside

FOLDS_FOLDER = "folds"  # within the folder that the user names
MEASURED_NUMBERS = ("error", "cost", "log_loss", "fit_seconds", "predict_seconds")  # of each way to decide
MAY_LACK = ("log_loss",)  # of these

Outcome = dict[str, dict[str, float | None]]  # by the way to decide: these numbers


def prepare_folder(folder: Path) -> Path:
    """Make the folder of folds, before any work.

    Raises
    ------
    OSError
        If it cannot be made, or nothing can be written there.
    """
    place = folder / FOLDS_FOLDER
    place.mkdir(parents=True, exist_ok=True)
    check_target(place / "0.json")
    return place


def write_fold(place: Path, key: str, settings: Mapping[str, Any], outcome: Outcome) -> None:
    """Write a finished fold, beside first and then by a rename: it is there as a whole or not at all."""
    held = {"key": key, "outcome": outcome, "settings": settings}
    with write_beside(place / f"{key}.json") as beside:
        beside.write_text(json.dumps(held, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_fold(place: Path, key: str, ways: Sequence[str]) -> Outcome | None:
    """A finished fold; None where there is none, or the file is not what was written."""
    try:
        held = json.loads((place / f"{key}.json").read_text(encoding="utf-8"))
        measured = held["outcome"]
        outcome = {way: {name: measured[way][name] for name in MEASURED_NUMBERS} for way in ways if way in measured}
        same = held["key"] == key
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return outcome if same and outcome and all(map(_usable, outcome.values())) else None


def _usable(numbers: Mapping[str, Any]) -> bool:
    return all(
        (value is None and name in MAY_LACK) or (isinstance(value, int | float) and math.isfinite(value))
        for name, value in numbers.items()
    )
