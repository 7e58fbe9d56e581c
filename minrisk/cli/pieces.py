"""Training data of Parquet files that are read piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minrisk.cli.common import quoted
from minrisk.cli.given import GivenRows, Roles, check_names, checked_classes, tell_blanks, tell_numbers

if TYPE_CHECKING:
    import numpy as np

    from minrisk.tables.files import ParquetPieces


def given_in_pieces(data: Sequence[Path], roles: Roles, bins_in: Path | None) -> GivenRows | None:
    """Parquet files of numbers as `minrisk.Chunks`; None where they have to be read at once.

    Raises
    ------
    click.ClickException
        If `bins_in` is given and they cannot be read piece by piece.
    """
    from minrisk.data.chunks import Chunks
    from minrisk.tables.columns import take_labels
    from minrisk.tables.files import ParquetPieces, kind_of, labels_and_counts, together

    others = [path for path in data if str(path) == "-" or kind_of(path) != "parquet"]
    if others:
        if bins_in is None:
            return None
        raise click.ClickException(f"--bins-in is for Parquet files, which are read piece by piece; got {others[0]}.")
    pieces, name = ParquetPieces(data), together(data)
    check_names(pieces.names, Path(name), roles)
    aside = {*roles.no_features, *pieces.row_names}
    features = [column for column in pieces.names if column not in aside]
    words = list(dict.fromkeys([*pieces.of_words(features), *roles.categorical]))
    if words:
        if bins_in is None:
            return None
        raise click.ClickException(
            f"--bins-in is for columns of numbers, but {quoted(words)} of {name} are none: leave them "
            "out with --drop, or do without --bins-in."
        )
    for column in pieces.row_names.difference(roles.no_features):
        tell_numbers(column)
    classes, counts = labels_and_counts(pieces, roles.target, take_labels)
    checked_classes(classes, int(counts.sum()), roles.target, name)
    tell_blanks(classes, roles.target)
    groups = None if roles.groups is None else _groups(pieces, roles.groups, Path(name))
    drop = [column for column in (*roles.drop, roles.groups) if column is not None]
    chunks = Chunks(list(data), target=roles.target, weight=roles.weight, drop=drop, bins_in=bins_in)
    return GivenRows(chunks, None, classes, counts, len(features), name, groups=groups)


def _groups(pieces: ParquetPieces, name: str, data: Path) -> np.ndarray:
    """The number of each row's group, (n,)."""
    from minrisk.tables.columns import as_texts, concatenated, take_groups

    column = concatenated([as_texts(frame[name]) for _, frame in pieces.pieces([name])])
    return take_groups(column.rename(name), data)
