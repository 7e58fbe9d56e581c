"""Rows to train on: of a table in memory, of Parquet files read piece by piece, or read by the workers of a cluster."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd

from minrisk._typing import Labels
from minrisk._utils.text import short
from minrisk.cli.common import (
    label_source,
    quoted,
    svmlight_rows,
    take_dates,
    take_numeric,
    target_needed,
    tell_columns,
    tell_table,
)
from minrisk.cli.costs import ColumnCosts, StatedCosts, check_cost_columns
from minrisk.cli.streams import note
from minrisk.data.chunks import Chunks, gathered_labels, parquet_files
from minrisk.tables import columns
from minrisk.tables.files import (
    ParquetFrames,
    ParquetPieces,
    kind_of,
    labels_and_counts,
    missing_columns,
    open_tables,
    together,
)
from minrisk.tables.source import shown
from minrisk.tables.svmlight import is_svmlight
from minrisk.tables.text import Dialect

ANSWER_SECONDS = 10.0  # in which a scheduler has to answer: milliseconds, or seconds on a busy machine
PARTITION_VALUES = 1 << 24  # cells of a file that make one partition, 128 MB: less work than this is not worth a task
TWO_THINGS = (  # options that exclude one another
    ("categorical", "numeric"),
    ("weight", "groups"),
    *((one, other) for one in ("weight", "groups") for other in ("drop", "categorical", "numeric")),
)


class Roles(NamedTuple):
    """Hold what options say of the columns of a table, by their names."""

    target: str  # empty where nobody named it
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    weight: str | None = None
    groups: str | None = None
    cost_columns: Mapping[str, str] = {}  # that costs name, and what is wrong with each if there is no such column
    costs_known: bool = False  # of new rows, too, so that these columns may be features

    @property
    def no_features(self) -> list[str]:
        """Return columns that are something else, or left out."""
        others = [name for name in (self.weight, self.groups) if name is not None]
        others += () if self.costs_known else self.cost_columns
        return list(dict.fromkeys([self.target, *self.drop, *others]))

    @property
    def stated(self) -> dict[str, Sequence[str]]:
        """Return names by options, the target's aside."""
        one = {name: () if (own := getattr(self, name)) is None else (own,) for name in ("weight", "groups")}
        return {"drop": self.drop, "categorical": self.categorical, "numeric": self.numeric, **one}


class GivenRows(NamedTuple):
    """Hold what a fit is given."""

    X: Any  # features; `minrisk.Chunks`, which hold the labels, too
    y: Labels | None
    classes: Labels
    counts: Any  # rows of each class
    n_features: int
    data: str  # where they come from
    first_feature: int | None = None  # the number of the first one, in a file without names
    weight: Any = None  # of each row
    groups: Any = None  # the number of each row's group
    costs: Any = None  # the columns that costs name; then costs of each row


def _given(X: Any, y: Any, counted: tuple[Labels, Any], n_features: int, *where: str, **more: Any) -> GivenRows:
    """Return rows whose distinct labels were counted: of two classes at least, and not about as many as rows.

    The target and the data say `where` labels are.
    """
    (classes, counts), n_rows, (target, data) = counted, int(counted[1].sum()), where
    place = label_source(target, data)
    if len(classes) < 2:
        raise ValueError(
            f"{place} must hold at least two classes, got only {short(str(classes[0]))!r}: there is nothing to learn."
        )
    if len(classes) > columns.MANY and len(classes) > n_rows / 2:
        raise ValueError(
            f"{place} must hold class labels, but {len(classes)} of its {n_rows} rows differ: it looks like a name or "
            "a measurement" + ("; give another --target." if target else ".")
        )
    bare = Counter(str(label).strip() for label in classes)
    if alike := [label for label in classes.tolist() if bare[str(label).strip()] > 1]:
        note(f"the labels {quoted(alike)} of column {target!r} differ by blanks only and are classes of their own")
    return GivenRows(X, y, classes, counts, n_features, data, **more)


def rows_given(
    data: Sequence[Path], roles: Roles, stated: Dialect, bins_in: Path | None, client: Any = None
) -> GivenRows:
    """Return the rows of one table or several.

    They are read piece by piece where that is asked for, or several hold numbers only; with a client by the workers of
    its cluster.
    """
    in_pieces = bins_in is not None or (len(data) > 1 and not roles.cost_columns)
    if roles.cost_columns and (bins_in is not None or client is not None):
        option = "--scheduler" if bins_in is None else "--bins-in"
        raise click.ClickException(f"costs that name columns are for tables that are read at once: leave out {option}.")
    if client is not None and roles.target:
        return _on_workers(data, roles, client)
    others = [path for path in data if in_pieces and not _is_parquet(path)]
    if others and bins_in is not None:
        raise click.ClickException(f"--bins-in is for Parquet files, which are read piece by piece; got {others[0]}.")
    if any(map(is_svmlight, data)):
        check_cost_columns(roles.cost_columns, (), data[0])
        return svmlight_data(data, target=roles.target or None, stated=stated, **roles.stated)
    if not roles.target:
        raise target_needed()
    if in_pieces and not others and (found := _in_pieces(data, roles, bins_in)) is not None:
        return found
    return training_data(data, roles, stated)


def _is_parquet(path: Path) -> bool:
    return str(path) != "-" and not is_svmlight(path) and kind_of(path) == "parquet"


def costs_of(stated: StatedCosts, rows: GivenRows, source: str, known: bool = False) -> Any:
    """Return the costs of rows: of those that columns hold a matrix for each row where they are `known` of new rows."""
    cost = stated.of(rows.classes, source)
    if not isinstance(cost, ColumnCosts):
        return cost
    assert rows.costs is not None
    assert rows.y is not None
    return cost.matrices(rows.costs, rows.data) if known else cost.lines(rows.costs, rows.data, rows.y)


# -- in memory ---------------------------------------------------------------------------------------------------------
def svmlight_data(data: Sequence[Path], **options: Any) -> GivenRows:
    """Read a file of svmlight's format; options that name columns are refused."""
    rows = svmlight_rows(data, None, **options)
    y, how = rows.classes(data[0]), {"first_feature": rows.first_feature}
    return _given(rows.X, y, np.unique(y, return_counts=True), rows.X.shape[1], "", str(data[0]), **how)


def training_data(paths: Path | Sequence[Path], roles: Roles, stated: Dialect) -> GivenRows:
    """Read features and labels of a table, and what else a row has."""
    table = open_tables([paths] if isinstance(paths, Path) else paths, stated)
    data, written = table.path, table.written
    check_names(table.names, data, roles)
    texts = [*roles.categorical, *([] if roles.groups is None else [roles.groups])]
    frame = table.frame(labels=roles.target, texts=texts, mixed=roles.numeric)
    tell_table(table)
    rows_named = table.row_names
    del table  # what is left of the text is no longer needed
    y = columns.take_labels(frame[roles.target], data, as_written=written)
    weight = None if roles.weight is None else columns.take_weights(frame[roles.weight], data)
    groups = None if roles.groups is None else columns.take_groups(frame[roles.groups], data)
    amounts = frame[list(roles.cost_columns)] if roles.cost_columns else None
    frame = frame.drop(columns=roles.no_features)
    tell_columns([name for name in roles.cost_columns if name not in frame], data, "taken for costs, not for features")
    for name in columns.row_numbers(frame) if written else rows_named:
        if name in frame and name not in (*roles.categorical, *roles.numeric):
            del frame[name]
            tell_numbers(name)
    take_numeric(frame, roles.numeric, data)
    if written:
        frame = _typed(frame, set(roles.categorical), data)
    more = {"weight": weight, "groups": groups, "costs": amounts}
    return _given(frame, y, np.unique(y, return_counts=True), frame.shape[1], roles.target, str(data), **more)


def _typed(frame: pd.DataFrame, categorical: set[str], data: Path) -> pd.DataFrame:
    """Return features of a text table with the types that their cells tell, which is said where it may be wrong."""
    take_dates(frame, categorical, data)
    words = [name for name in columns.columns_of_words(frame) if name not in categorical]
    for name in words:
        _tell_words(frame[name], name, data)
    return columns.take_features(frame, data, categorical.union(words))


def _tell_words(column: pd.Series[Any], name: str, data: Path) -> None:
    """Say which texts become categories where they may be names or dates, and refuse many that are nearly numbers."""
    from minrisk.data.column_report import SAID_FROM_ROWS

    differ, present = column.nunique(), column.notna().sum()
    many = differ > columns.MANY and differ > present / 2
    all_differ = differ == present >= SAID_FROM_ROWS  # of which the fit tells
    nearly = columns.nearly_numbers(column)
    where = f"column {name!r} of {shown(data)}"
    if nearly is not None:
        what, example, advice = nearly
        if many and what != "dates":
            raise ValueError(
                f"{where} holds {differ} texts in {present} rows: they are {what} such as {example!r}, {advice}; leave "
                "it out with --drop, or say by --categorical that it holds categories."
            )
        to_have = f"to have {'dates' if what == 'dates' else 'numbers'}, {advice}"
        note(f"{where} holds {what} such as {example!r}, taken for categories: {to_have}; or leave it out with --drop")
        if what == "dates":
            _tell_no_dates(column, where)
    elif many and not all_differ:
        note(
            f"{where} holds {differ} texts in {present} rows, taken for categories: if they are names, which say "
            "nothing of new rows, leave it out with --drop"
        )


def _tell_no_dates(column: pd.Series[Any], where: str) -> None:
    """Say which cells keep a column of dates from being one, where they are few."""
    others = list(columns.no_dates(column))
    if not others:
        note(f"{where} holds dates with a zone and others without: write them alike")
    elif len(others) < column.nunique() / 2:
        but = f"{len(others)} of its values, such as {short(others[0])!r} in row"
        note(f"{where} would be a column of dates but for {but} {int(column.eq(others[0]).to_numpy().argmax()) + 1}")


# -- Parquet files of numbers ------------------------------------------------------------------------------------------
class _Numbers(NamedTuple):
    """Parquet files, and the columns that are features."""

    pieces: ParquetPieces
    name: str
    features: list[str]


def _numbers_in(paths: Sequence[Path], roles: Roles, option: str | None) -> _Numbers | None:
    """Look at Parquet files, of which features are to be numbers; None if they are not, unless an option needs it."""
    pieces, name = ParquetPieces(paths), together(paths)
    check_names(pieces.names, Path(name), roles)
    aside = {*roles.no_features, *pieces.row_names}
    features = [column for column in pieces.names if column not in aside]
    words = list(dict.fromkeys([*pieces.of_words(features), *roles.categorical]))
    if words and option is None:
        return None
    if words:
        raise click.ClickException(
            f"{option} is for columns of numbers, but {quoted(words)} of {name} are none: leave them out with --drop, "
            f"or do without {option}."
        )
    if pieces.n_rows == 0 and option == "--scheduler":
        raise click.ClickException(f"{name} has no rows: there is nothing to learn.")
    for column in pieces.row_names.difference(roles.no_features):
        tell_numbers(column)
    return _Numbers(pieces, name, features)


def _in_pieces(data: Sequence[Path], roles: Roles, bins_in: Path | None) -> GivenRows | None:
    """Return Parquet files of numbers as `minrisk.Chunks`; None where they have to be read at once."""
    found = _numbers_in(data, roles, None if bins_in is None else "--bins-in")
    if found is None:
        return None
    groups = None
    counted = labels_and_counts(found.pieces, roles.target, columns.take_labels)
    if roles.groups is not None:
        column = columns.concatenated(
            [frame[roles.groups].astype("category") for _, frame in found.pieces.pieces([roles.groups])]
        )
        groups = columns.take_groups(column.rename(roles.groups), found.name)
    drop = [column for column in (*roles.drop, roles.groups) if column is not None]
    chunks = Chunks(list(data), target=roles.target, weight=roles.weight, drop=drop, bins_in=bins_in)
    return _given(chunks, None, counted, len(found.features), roles.target, found.name, groups=groups)


# -- on a cluster ------------------------------------------------------------------------------------------------------
def check_parquet(data: Sequence[Path]) -> None:
    """Refuse other files than Parquet's, before any cluster is asked."""
    for path in data:
        if not (path.is_dir() or _is_parquet(path)):
            raise click.ClickException(f"--scheduler is for Parquet files, which workers read; got {path}.")


@contextmanager
def on_cluster(address: str) -> Iterator[Any]:
    """Give the client of a cluster, which is the current one in this context.

    Raises
    ------
    click.ClickException
        If Dask is not installed, or there is no cluster with workers that have this version of minrisk; if the cluster
        or the rows on it are lost in the context.
    """
    try:
        import dask
        from distributed import Client

        from minrisk.rows.dask import ClusterError, check_workers, in_words
    except ImportError:
        raise click.ClickException("--scheduler needs Dask: pip install 'minrisk[dask]'.") from None
    for name in ("distributed", "distributed.client"):  # what goes wrong is said in one line
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    connect: Any = Client
    try:
        client = connect(address, timeout=ANSWER_SECONDS)
    except Exception as error:  # also what is made of the answers of other servers
        raise click.ClickException(
            f"--scheduler {address}: no scheduler of Dask answers there ({str(error) or type(error).__name__}); "
            "give an address such as tcp://host:8786."
        ) from None
    quiet: Any = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"})  # a lost shard's log
    with quiet, client:
        try:
            with in_words():
                check_workers(client)
                if not client.nthreads():
                    raise click.ClickException(f"the cluster at {address} has no workers: start some.")
                yield client
        except ClusterError as error:
            raise click.ClickException(f"--scheduler {address}: {error}") from None


class Portion(NamedTuple):
    """Row groups of a Parquet file, and the columns that are looked at."""

    path: Path
    groups: tuple[int, ...]
    features: tuple[str, ...]
    target: str


def read_portion(portion: Portion) -> tuple[pd.DataFrame, np.ndarray]:
    """Return features and labels."""
    file, names = ParquetFrames(portion.path), [*portion.features, portion.target]
    frame = pd.concat(file.frames(names, file.n_rows, portion.groups), ignore_index=True)
    return frame[list(portion.features)], columns.take_labels(frame[portion.target], portion.path)


def count_portion(portion: Portion) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, and how many rows have each."""
    return np.unique(read_portion(portion._replace(features=()))[1], return_counts=True)


def _on_workers(data: Sequence[Path], roles: Roles, client: Any) -> GivenRows:
    """Return Parquet files of numbers, or folders of them, as collections of Dask that workers read."""
    paths = [file.absolute() for path in data for file in (parquet_files(path) if path.is_dir() else [path])]
    found = _numbers_in(paths, roles, "--scheduler")
    assert found is not None
    portions = [portion for path in paths for portion in _portions(path, found.features, roles.target)]
    counted = _counted(client, portions)
    return _given(*_collections(portions), counted, len(found.features), roles.target, found.name)


def _portions(path: Path, features: Sequence[str], target: str) -> Iterator[Portion]:
    """Yield what is read by one task: a row group, or several small ones."""
    rows = np.array(ParquetFrames(path).group_rows, dtype=np.int64)
    held = np.flatnonzero(rows)
    task = np.cumsum(rows)[held] * (len(features) + 1) // PARTITION_VALUES
    for groups in np.split(held, np.flatnonzero(np.diff(task)) + 1):
        if len(groups):
            yield Portion(path, tuple(groups.tolist()), tuple(features), target)


def _counted(client: Any, portions: Sequence[Portion]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels of all of them, sorted, and how many rows have each."""
    found = client.gather(client.map(count_portion, portions, pure=False))
    coded = gathered_labels([labels for labels, _ in found])
    counts = np.zeros(len(coded.labels), dtype=np.int64)
    np.add.at(counts, coded.codes, np.concatenate([own for _, own in found]))
    return coded.labels, counts


def _collections(portions: Sequence[Portion]) -> tuple[Any, Any]:
    """Return a dataframe of the features and an array of the labels, which are read together."""
    import dask.array
    import dask.dataframe
    from dask.delayed import delayed

    read = delayed(read_portion, pure=True)
    both = [read(portion) for portion in portions]
    meta = pd.DataFrame({name: np.empty(0) for name in portions[0].features})
    X = dask.dataframe.from_delayed([one[0] for one in both], meta=meta, verify_meta=False)
    array: Any = dask.array
    return X, array.concatenate([array.from_delayed(one[1], (np.nan,), dtype=object) for one in both])


# -- what is refused and told ------------------------------------------------------------------------------------------
def check_names(names: Sequence[str], data: Path, roles: Roles) -> None:
    """Refuse columns that are not there, or that are two things at once."""
    missing_columns(names, [roles.target], data, "named by --target")
    check_cost_columns(roles.cost_columns, names, data)
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
