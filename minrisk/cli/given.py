"""What a fit is given on the command line, and what is said of it however it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from minrisk.cli.common import quoted
from minrisk.cli.streams import note

if TYPE_CHECKING:
    from minrisk._typing import Labels


class GivenRows(NamedTuple):
    """What a fit is given."""

    X: Any  # features; `minrisk.Chunks`, which hold the labels, too
    y: Labels | None
    classes: Labels
    counts: Any  # rows of each class
    n_features: int
    data: str  # where they come from
    first_feature: int | None = None  # the number of the first one, in a file without names


def check_names(
    names: Sequence[str], data: Path, target: str, drop: Sequence[str], category: Sequence[str]
) -> None:
    """Refuse columns that are not there, or that are the target and something else."""
    from minrisk.io.tables import missing_columns

    missing_columns(names, [target], data, "named by --target")
    missing_columns(names, drop, data, "named by --drop")
    if target in drop:
        raise click.ClickException(f"--drop {target} would leave out the target: drop other columns.")
    missing_columns(names, category, data, "named by --category")
    if target in category:
        raise click.ClickException(f"--category {target} names the target: its labels are classes as they are.")


def tell_numbers(column: str) -> None:
    """Say that a column of row names is left out."""
    note(f"the column {column!r}, as pandas and R write the names of rows, is left out: rename it to have it as a "
         "feature")


def tell_blanks(y: Labels, target: str) -> None:
    """Labels that differ by blanks only are likely a slip."""
    import numpy as np

    if y.dtype.kind != "U":
        return
    labels = np.unique(y).tolist()
    bare = Counter(label.strip() for label in labels)
    alike = [label for label in labels if bare[label.strip()] > 1]
    if alike:
        note(f"the labels {quoted(alike)} of column {target!r} differ by blanks only and are classes of their own")


def checked_classes(classes: Labels, n_rows: int, target: str | None, data: str | Path) -> Labels:
    """Distinct labels of so many rows: at least two, and not about as many as rows."""
    from minrisk.cli.svmlight import label_source
    from minrisk.io.values import MANY

    where = label_source(target, data)
    if len(classes) < 2:
        raise ValueError(
            f"{where} must hold at least two classes, got only {str(classes[0])!r}: there is nothing to learn."
        )
    if len(classes) > MANY and len(classes) > n_rows / 2:
        raise ValueError(
            f"{where} must hold class labels, but {len(classes)} of its {n_rows} rows differ: it looks like a name or "
            "a measurement" + ("." if target is None else "; give another --target.")
        )
    return classes
