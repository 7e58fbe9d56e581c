"""Training data of Parquet files that are read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minrisk.cli.common import quoted
from minrisk.cli.given import GivenRows, check_names, checked_classes, tell_blanks, tell_numbers

if TYPE_CHECKING:
    import pandas as pd


def given_in_pieces(
    data: Sequence[Path], target: str, drop: Sequence[str], category: Sequence[str], bins_in: Path | None
) -> GivenRows | None:
    """Parquet files of numbers as `minrisk.Chunks`; None where they have to be read at once.

    Raises
    ------
    click.ClickException
        If `bins_in` is given and they cannot be read piece by piece.
    """
    from minrisk.data.chunks import Chunks
    from minrisk.io.several import ParquetPieces, labels_and_counts, together
    from minrisk.io.tables import kind_of
    from minrisk.io.values import row_numbers, take_features, take_labels

    others = [path for path in data if str(path) == "-" or kind_of(path) != "parquet"]
    if others:
        if bins_in is None:
            return None
        raise click.ClickException(f"--bins-in is for Parquet files, which are read piece by piece; got {others[0]}.")
    pieces, name = ParquetPieces(data), together(data)
    check_names(pieces.names, Path(name), target, drop, category)
    features = [column for column in pieces.names if column != target and column not in drop]
    words = pieces.of_words(features)
    if words or category:
        if bins_in is None:
            return None
        raise click.ClickException(
            f"--bins-in is for columns of numbers, but {quoted([*words, *category])} of {name} are none: leave them "
            "out with --drop, or do without --bins-in."
        )
    classes, counts = labels_and_counts(pieces, target, take_labels)
    checked_classes(classes, int(counts.sum()), target, name)
    tell_blanks(classes, target)
    numbers = row_numbers(next(pieces.pieces(features))[1]) if features else None
    if numbers is not None:
        features.remove(numbers)
        tell_numbers(numbers)

    def chunks() -> Iterator[tuple[pd.DataFrame, Any]]:
        for path, frame in pieces.pieces([*features, target]):
            yield take_features(frame[features], path), take_labels(frame[target], path)

    return GivenRows(Chunks(chunks, bins_in=bins_in), None, classes, counts, len(features), name)
