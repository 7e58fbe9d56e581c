"""Training data of Parquet files that the workers of a Dask cluster read."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from minrisk.cli.common import quoted
from minrisk.cli.given import GivenRows, Roles, check_names, checked_classes, tell_blanks, tell_numbers
from minrisk.rows.dask.cluster import ClusterError, check_workers, in_words

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ANSWER_SECONDS = 10.0  # in which a scheduler has to answer: milliseconds, or seconds on a busy machine
PARTITION_VALUES = 1 << 24  # cells of a file that make one partition, 128 MB: less work than this is not worth a task


@contextmanager
def on_cluster(address: str) -> Iterator[Any]:
    """The client of a cluster, which is the current one in this context.

    Raises
    ------
    click.ClickException
        If Dask is not installed, or there is no cluster with workers that have this version of minrisk; if the cluster
        or the rows on it are lost in the context.
    """
    try:
        import dask
        from distributed import Client
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

    def frame(self, names: Sequence[str]) -> pd.DataFrame:
        """Some columns."""
        import pandas as pd

        from minrisk.tables.files import ParquetFrames

        file = ParquetFrames(self.path)
        return pd.concat(file.frames(names, file.n_rows, self.groups), ignore_index=True)


def read_portion(portion: Portion) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and labels."""
    from minrisk.tables.columns import take_labels

    frame = portion.frame([*portion.features, portion.target])
    return frame[list(portion.features)], take_labels(frame[portion.target], portion.path)


def count_portion(portion: Portion) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels, and how many rows have each."""
    import numpy as np

    from minrisk.tables.columns import take_labels

    return np.unique(take_labels(portion.frame([portion.target])[portion.target], portion.path), return_counts=True)


def given_on_cluster(data: Sequence[Path], roles: Roles, client: Any) -> GivenRows:
    """Parquet files of numbers, or folders of them, as collections of Dask that workers read.

    Raises
    ------
    click.ClickException, TableError
        If they are none, or a column holds something else.
    """
    from minrisk.data.chunks import parquet_files
    from minrisk.tables.files import ParquetPieces, together

    paths = [file.absolute() for path in data for file in (parquet_files(path) if path.is_dir() else [path])]
    pieces, name = ParquetPieces(paths), together(paths)
    check_names(pieces.names, Path(name), roles)
    target, others = roles.target, {*roles.no_features, *pieces.row_names}
    features = [column for column in pieces.names if column not in others]
    words = list(dict.fromkeys([*pieces.of_words(features), *roles.categorical]))
    if words:
        raise click.ClickException(
            f"--scheduler is for columns of numbers, but {quoted(words)} of {name} are none: leave them out with "
            "--drop, or do without --scheduler."
        )
    if pieces.n_rows == 0:
        raise click.ClickException(f"{name} has no rows: there is nothing to learn.")
    for column in pieces.row_names.difference(roles.no_features):
        tell_numbers(column)
    portions = [portion for path in paths for portion in _portions(path, features, target)]
    classes, counts = _counted(client, portions)
    checked_classes(classes, int(counts.sum()), target, name)
    tell_blanks(classes, target)
    return GivenRows(*_collections(portions), classes, counts, len(features), name)


def check_parquet(data: Sequence[Path]) -> None:
    """Refuse other files than Parquet's, before any cluster is asked."""
    from minrisk.cli.svmlight import is_svmlight
    from minrisk.tables.files import kind_of

    for path in data:
        if str(path) == "-" or is_svmlight(path) or not (path.is_dir() or kind_of(path) == "parquet"):
            raise click.ClickException(f"--scheduler is for Parquet files, which workers read; got {path}.")


def _portions(path: Path, features: Sequence[str], target: str) -> Iterator[Portion]:
    """What is read by one task: a row group, or several small ones."""
    from minrisk.tables.files import ParquetFrames

    most, n_rows, groups = PARTITION_VALUES // (len(features) + 1), 0, list[int]()
    for group, own in enumerate(ParquetFrames(path).group_rows):
        if own == 0:
            continue
        if groups and n_rows + own > most:
            yield Portion(path, tuple(groups), tuple(features), target)
            groups, n_rows = [], 0
        groups.append(group)
        n_rows += own
    if groups:
        yield Portion(path, tuple(groups), tuple(features), target)


def _counted(client: Any, portions: Sequence[Portion]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels of all of them, sorted, and how many rows have each."""
    import numpy as np

    from minrisk.data.chunks import gathered_labels

    found = client.gather(client.map(count_portion, portions, pure=False))
    coded = gathered_labels([labels for labels, _ in found])
    counts = np.zeros(len(coded.labels), dtype=np.int64)
    np.add.at(counts, coded.codes, np.concatenate([own for _, own in found]))
    return coded.labels, counts


def _collections(portions: Sequence[Portion]) -> tuple[Any, Any]:
    """A dataframe of the features and an array of the labels, which are read together."""
    import dask.array
    import dask.dataframe
    import numpy as np
    import pandas as pd
    from dask.delayed import delayed

    read = delayed(read_portion, pure=True)
    both = [read(portion) for portion in portions]
    meta = pd.DataFrame({name: np.empty(0) for name in portions[0].features})
    X = dask.dataframe.from_delayed([one[0] for one in both], meta=meta, verify_meta=False)
    array: Any = dask.array
    return X, array.concatenate([array.from_delayed(one[1], (np.nan,), dtype=object) for one in both])
