"""Training data of Parquet files that are read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minrisk.cli.common import quoted
from minrisk.cli.given import GivenRows, Roles, check_names, checked_classes, tell_blanks, tell_numbers

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from minrisk.io.several import ParquetPieces


def given_in_pieces(data: Sequence[Path], roles: Roles, bins_in: Path | None) -> GivenRows | None:
    """Parquet files of numbers as `minrisk.Chunks`; None where they have to be read at once.

    Raises
    ------
    click.ClickException
        If `bins_in` is given and they cannot be read piece by piece.
    """
    from minrisk.data.chunks import Chunks
    from minrisk.io.several import ParquetPieces, labels_and_counts, together
    from minrisk.io.tables import kind_of
    from minrisk.io.values import row_numbers, take_features, take_labels, take_weights

    others = [path for path in data if str(path) == "-" or kind_of(path) != "parquet"]
    if others:
        if bins_in is None:
            return None
        raise click.ClickException(f"--bins-in is for Parquet files, which are read piece by piece; got {others[0]}.")
    pieces, name = ParquetPieces(data), together(data)
    check_names(pieces.names, Path(name), roles)
    target, aside = roles.target, set(roles.no_features)
    features = [column for column in pieces.names if column not in aside]
    words = list(dict.fromkeys([*pieces.of_words(features), *roles.categorical]))
    if words:
        if bins_in is None:
            return None
        raise click.ClickException(
            f"--bins-in is for columns of numbers, but {quoted(words)} of {name} are none: leave them "
            "out with --drop, or do without --bins-in."
        )
    classes, counts = labels_and_counts(pieces, target, take_labels)
    checked_classes(classes, int(counts.sum()), target, name)
    tell_blanks(classes, target)
    numbers = row_numbers(next(pieces.pieces(features))[1]) if features else None
    if numbers is not None and numbers not in roles.numeric:
        features.remove(numbers)
        tell_numbers(numbers)

    weights = [] if roles.weight is None else [roles.weight]
    groups = None if roles.groups is None else _groups(pieces, roles.groups, Path(name))

    def chunks() -> Iterator[tuple[pd.DataFrame, Any] | tuple[pd.DataFrame, Any, Any]]:
        for path, frame in pieces.pieces(list(dict.fromkeys([*features, target, *weights]))):
            X, y = take_features(frame[features], path), take_labels(frame[target], path)
            yield (X, y) if not weights else (X, y, take_weights(frame[weights[0]], path))

    return GivenRows(Chunks(chunks, bins_in=bins_in), None, classes, counts, len(features), name, groups=groups)


def _groups(pieces: ParquetPieces, name: str, data: Path) -> np.ndarray:
    """The number of each row's group, (n,)."""
    from minrisk.io.columns import as_texts, concatenated
    from minrisk.io.values import take_groups

    column = concatenated([as_texts(frame[name]) for _, frame in pieces.pieces([name])])
    return take_groups(column.rename(name), data)
