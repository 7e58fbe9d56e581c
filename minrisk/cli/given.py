"""What a fit is given on the command line, and what is said of it however it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from minrisk._printable import short
from minrisk.cli.common import quoted
from minrisk.cli.streams import note
from minrisk.cli.svmlight import label_source

if TYPE_CHECKING:
    from minrisk._typing import Labels


TWO_THINGS = (  # options that exclude one another
    ("categorical", "numeric"),
    ("weight", "groups"),
    *((one, other) for one in ("weight", "groups") for other in ("drop", "categorical", "numeric")),
)


class Roles(NamedTuple):
    """What options say of the columns of a table, by their names."""

    target: str
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    weight: str | None = None
    groups: str | None = None

    @property
    def no_features(self) -> list[str]:
        """Columns that are something else, or left out."""
        others = [name for name in (self.weight, self.groups) if name is not None]
        return list(dict.fromkeys([self.target, *self.drop, *others]))

    @property
    def stated(self) -> dict[str, Sequence[str]]:
        """Names by options, the target's aside."""
        one = {name: () if (own := getattr(self, name)) is None else (own,) for name in ("weight", "groups")}
        return {"drop": self.drop, "categorical": self.categorical, "numeric": self.numeric, **one}


class GivenRows(NamedTuple):
    """What a fit is given."""

    X: Any  # features; `minrisk.Chunks`, which hold the labels, too
    y: Labels | None
    classes: Labels
    counts: Any  # rows of each class
    n_features: int
    data: str  # where they come from
    first_feature: int | None = None  # the number of the first one, in a file without names
    weight: Any = None  # of each row
    groups: Any = None  # the number of each row's group


def check_names(names: Sequence[str], data: Path, roles: Roles) -> None:
    """Refuse columns that are not there, or that are two things at once."""
    from minrisk.tables.files import missing_columns

    missing_columns(names, [roles.target], data, "named by --target")
    for option, named in roles.stated.items():
        missing_columns(names, named, data, f"named by --{option}")
        if roles.target in named:
            does = {
                "drop": "would leave out the target: drop other columns",
                "categorical": "names the target: its labels are classes as they are",
            }
            what = does.get(option, "names the target: give another column")
            raise click.ClickException(f"--{option} {roles.target} {what}.")
    for one, other in TWO_THINGS:
        both = [name for name in roles.stated[one] if name in roles.stated[other]]
        if both:
            raise click.ClickException(f"--{one} {both[0]} and --{other} {both[0]} name one column: leave out one.")


def tell_numbers(column: str) -> None:
    """Say that a column of row names is left out."""
    note(
        f"the column {column!r}, as pandas and R write the names of rows, is left out: rename it to have it as a "
        "feature"
    )


def tell_blanks(y: Labels, target: str) -> None:
    """Labels that differ by blanks only are likely a slip."""
    import numpy as np

    labels = np.unique(y).tolist()
    if not isinstance(labels[0], str):
        return
    bare = Counter(label.strip() for label in labels)
    alike = [label for label in labels if bare[label.strip()] > 1]
    if alike:
        note(f"the labels {quoted(alike)} of column {target!r} differ by blanks only and are classes of their own")


def checked_classes(classes: Labels, n_rows: int, target: str | None, data: str | Path) -> Labels:
    """Distinct labels of so many rows: at least two, and not about as many as rows."""
    from minrisk.tables.columns import MANY

    where = label_source(target, data)
    if len(classes) < 2:
        raise ValueError(
            f"{where} must hold at least two classes, got only {short(str(classes[0]))!r}: there is nothing to learn."
        )
    if len(classes) > MANY and len(classes) > n_rows / 2:
        raise ValueError(
            f"{where} must hold class labels, but {len(classes)} of its {n_rows} rows differ: it looks like a name or "
            "a measurement" + ("." if target is None else "; give another --target.")
        )
    return classes
