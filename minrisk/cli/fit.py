"""minrisk fit: train on a table, with costs, and write a model file."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from minrisk.cli.common import (
    COSTS_HELP,
    FILE,
    FOLDER,
    NEW_FILE,
    as_column,
    check_not_over,
    check_stdin,
    check_writable,
    dialect_options,
    numeric_option,
    take_dates,
    take_numeric,
    tell_table,
)
from minrisk.cli.given import GivenRows, Roles, check_names, checked_classes, tell_blanks, tell_numbers
from minrisk.cli.methods import ESTIMATORS, as_options, check_given, method_options
from minrisk.cli.signals import finishing, waiting_once
from minrisk.cli.streams import drop as drop_output
from minrisk.cli.streams import flush, note, print_json
from minrisk.cli.svmlight import is_svmlight, label_source, target_needed, training_rows
from minrisk.tables.text import Dialect

if TYPE_CHECKING:
    import pandas as pd

    from minrisk._typing import Labels


def not_zero(context: click.Context, option: click.Parameter, value: int) -> int:
    """Refuse 0 as a number of threads."""
    if value == 0:
        raise click.BadParameter("must be a number of threads, or -1 for all cores; got 0")
    return value


@click.command(short_help="Train on a table and write a model.")
@click.argument("data", type=FILE, nargs=-1, required=True)
@click.option(
    "--target",
    metavar="COLUMN",
    callback=as_column,
    help="The column that holds the class; needed but for files of svmlight's format, where it stands first.",
)
@click.option(
    "--out",
    required=True,
    type=NEW_FILE,
    metavar="MODEL",
    help="Model file to write; - is standard output, the summary then goes to standard error.",
)
@click.option("--costs", metavar="COSTS", help=COSTS_HELP + " Default: uniform.")
@click.option(
    "--drop",
    multiple=True,
    metavar="COLUMN",
    callback=as_column,
    help="Leave this column out; may be given several times.",
)
@click.option(
    "--categorical",
    multiple=True,
    metavar="COLUMN",
    callback=as_column,
    help="This column holds categories, as columns of words do; may be given several times.",
)
@numeric_option
@click.option(
    "--weight",
    metavar="COLUMN",
    callback=as_column,
    help="This column holds how much each row counts, and is no feature.",
)
@click.option(
    "--groups",
    metavar="COLUMN",
    callback=as_column,
    help="Rows of which this column holds the same belong together, such as all of one patient: some are not "
    "used to judge what was learnt from others. It is no feature.",
)
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Let all classes count as much, however many rows they have. Default: rows count alike.",
)
@click.option(
    "--bins-in",
    type=FOLDER,
    metavar="FOLDER",
    help="Read Parquet files piece by piece, and keep a byte a value in a file there until the fit ends.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Fit on the Dask cluster of this scheduler, such as tcp://host:8786: its workers read DATA, Parquet "
    "files of numbers or folders of them.",
)
@click.option(
    "--checkpoint",
    type=NEW_FILE,
    metavar="FILE",
    help="Keep the rounds in this file while they are made; after a kill or a reboot the same command goes "
    "on from there. It is removed when the fit has ended.",
)
@dialect_options
@method_options
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of what is drawn.")
@click.option(
    "--n-jobs",
    type=int,
    default=-1,
    show_default="-1, with --scheduler 1",
    callback=not_zero,
    help="Threads, -1 for all cores; with --scheduler those of each piece of rows. The model does not depend on it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def fit(
    data: tuple[Path, ...],
    target: str | None,
    out: Path,
    costs: str | None,
    drop: tuple[str, ...],
    categorical: tuple[str, ...],
    numeric: tuple[str, ...],
    weight: str | None,
    groups: str | None,
    class_weight: str | None,
    bins_in: Path | None,
    scheduler: str | None,
    checkpoint: Path | None,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    method: str,
    seed: int,
    n_jobs: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Train on the table DATA and write the model to a file.

    The model keeps the name of the target. DATA may be - for standard input, a file of svmlight's format, or several
    files with the same columns. Several Parquet files of numbers are read piece by piece and need not fit in memory.
    With --scheduler they are read by the workers of a Dask cluster, which see them under the same paths.
    """
    check_stdin(*data, costs)
    check_writable(out)
    check_not_over(out, *data, costs, checkpoint)
    if checkpoint is not None:
        check_writable(checkpoint)
    if str(out) == "-" and sys.stdout.isatty():
        raise click.ClickException("--out - would write a model to the terminal: send it to a file or a command.")
    given = {name: value for name, value in options.items() if value is not None}
    check_given(method, given)
    stated = Dialect(delimiter, decimal, encoding)
    roles = Roles(target or "", drop, categorical, numeric, weight, groups)
    if scheduler is not None:
        _check_elsewhere(roles, stated, bins_in)
    with _cluster(scheduler, data, target) as client:
        given_rows = rows_given(data, roles, stated, bins_in, client)
        from minrisk.cli.costs import read_costs

        cost = read_costs(costs, given_rows.classes, label_source(target), stated)

        from minrisk import algorithms
        from minrisk.boosting.checkpoint import Checkpoint

        estimator = getattr(algorithms, ESTIMATORS[method])
        stated_threads = click.get_current_context().get_parameter_source("n_jobs") is not ParameterSource.DEFAULT
        threads = n_jobs if client is None or stated_threads else 1
        if class_weight is not None:
            given["class_weight"] = class_weight
        if categorical:
            given["categorical_features"] = list(categorical)
        model = estimator(cost, n_jobs=threads, random_state=seed, verbose=int(sys.stderr.isatty()), **given)
        start = time.perf_counter()
        try:
            with waiting_once():
                rounds = None if checkpoint is None else Checkpoint(checkpoint)
                model.fit(
                    given_rows.X,
                    given_rows.y,
                    sample_weight=given_rows.weight,
                    groups=given_rows.groups,
                    checkpoint=rounds,
                )
        except ValueError as error:
            raise click.ClickException(as_options(str(error), options)) from None
        except KeyboardInterrupt:
            _keep_partial(_named(model, target, given_rows.first_feature), out)
            raise click.Abort from None
        seconds = time.perf_counter() - start
    _named(model, target, given_rows.first_feature)
    with finishing(f"the model was written ({out})"):
        written = _keep(model, out)
        if rounds is not None:  # as long as the model was nowhere, its rounds were there
            rounds.done()

    try:  # the model is kept: nothing that is said of it may make this a failure
        from minrisk.cli.report import describe_fit, print_fit

        facts = describe_fit(model, given_rows, seconds, target, costs, out, written)
        with redirect_stdout(sys.stderr if str(out) == "-" else sys.stdout):
            if as_json:
                print_json(facts)
            else:
                print_fit(facts, with_columns=not sys.stderr.isatty())  # else the fit has said it
            flush()
    except BrokenPipeError:
        drop_output()
    except (OSError, ValueError) as error:
        drop_output()
        reason = getattr(error, "strerror", None) or error
        note(f"the model was written ({out}), but not what it is like ({reason}): see minrisk show")


def _check_elsewhere(roles: Roles, stated: Dialect, bins_in: Path | None) -> None:
    """Refuse options that say something of files that are read here."""
    given = {f"--{name}": own for name, own in stated._asdict().items()}
    given |= {f"--{name}": roles.stated[name] or None for name in ("numeric", "weight", "groups")}
    for option, value in {"--bins-in": bins_in, **given}.items():
        if value is not None:
            raise click.ClickException(f"{option} is for fits on this machine: leave it out with --scheduler.")


def _cluster(scheduler: str | None, data: Sequence[Path], target: str | None) -> AbstractContextManager[Any]:
    """The client of a cluster; None without a scheduler."""
    if scheduler is None:
        return nullcontext()
    from minrisk.cli.cluster import check_parquet, on_cluster

    check_parquet(data)
    if target is None:
        raise target_needed()
    return on_cluster(scheduler)


def rows_given(
    data: Sequence[Path], roles: Roles, stated: Dialect, bins_in: Path | None, client: Any = None
) -> GivenRows:
    """Rows of one table or several: read piece by piece where that is asked for, or several hold numbers only.

    With a client the workers of its cluster read them.
    """
    from minrisk.tables.files import together

    if client is not None and roles.target:
        from minrisk.cli.cluster import given_on_cluster

        return given_on_cluster(data, roles, client)

    if any(map(is_svmlight, data)):
        return _svmlight_given(data, bins_in, target=roles.target or None, stated=stated, **roles.stated)
    if not roles.target:
        raise target_needed()
    if bins_in is not None or len(data) > 1:
        from minrisk.cli.pieces import given_in_pieces

        found = given_in_pieces(data, roles, bins_in)
        if found is not None:
            return found
    return _given_at_once(training_data(data, roles, stated), roles.target, together(data))


def _svmlight_given(data: Sequence[Path], bins_in: Path | None, **options: Any) -> GivenRows:
    """Rows of a file of svmlight's format."""
    if len(data) > 1:
        raise click.ClickException(f"files of svmlight's format are read one at a time, got {len(data)} files.")
    if bins_in is not None:
        raise click.ClickException(f"--bins-in is for Parquet files, which are read piece by piece; got {data[0]}.")
    X, y, first_feature = training_rows(data[0], **options)
    return _given_at_once(TrainingData(X, y), None, str(data[0]), first_feature)


class TrainingData(NamedTuple):
    """Rows in memory."""

    X: Any
    y: Labels
    weight: Any = None
    groups: Any = None


def _given_at_once(rows: TrainingData, target: str | None, name: str, first_feature: int | None = None) -> GivenRows:
    """Rows that are in memory."""
    import numpy as np

    classes, counts = np.unique(rows.y, return_counts=True)
    classes = checked_classes(classes, len(rows.y), target, name)
    return GivenRows(rows.X, rows.y, classes, counts, rows.X.shape[1], name, first_feature, rows.weight, rows.groups)


def training_data(paths: Path | Sequence[Path], roles: Roles, stated: Dialect) -> TrainingData:
    """Features and labels of the table, and what else a row has."""
    from minrisk.tables.columns import row_numbers, take_groups, take_labels, take_weights
    from minrisk.tables.files import open_tables

    table = open_tables([paths] if isinstance(paths, Path) else paths, stated)
    data = table.path
    check_names(table.names, data, roles)
    texts = [*roles.categorical, *([] if roles.groups is None else [roles.groups])]
    frame = table.frame(labels=roles.target, texts=texts, mixed=roles.numeric)
    tell_table(table)
    y = take_labels(frame[roles.target], data, as_written=table.written)
    tell_blanks(y, roles.target)
    weight = None if roles.weight is None else take_weights(frame[roles.weight], data)
    groups = None if roles.groups is None else take_groups(frame[roles.groups], data)
    frame = frame.drop(columns=roles.no_features)
    for name in row_numbers(frame) if table.written else table.row_names:
        if name in frame and name not in (*roles.categorical, *roles.numeric):
            del frame[name]
            tell_numbers(name)
    take_numeric(frame, roles.numeric, data)
    if table.written:
        frame = _typed(frame, set(roles.categorical), data)
    return TrainingData(frame, y, weight, groups)


def _typed(frame: pd.DataFrame, categorical: set[str], data: Path) -> pd.DataFrame:
    """Features of a text table with the types that their cells tell, which is said where it may be wrong."""
    from minrisk.tables.columns import columns_of_words, take_features

    take_dates(frame, categorical, data)
    words = [name for name in columns_of_words(frame) if name not in categorical]
    for name in words:
        _tell_words(frame[name], name, data)
    return take_features(frame, data, categorical.union(words))


def _tell_words(column: pd.Series[Any], name: str, data: Path) -> None:
    """Texts that become categories: say so where they may be names or dates, refuse many that are nearly numbers."""
    from minrisk.data.column_report import SAID_FROM_ROWS
    from minrisk.tables.columns import MANY, nearly_numbers
    from minrisk.tables.source import shown

    differ, present = column.nunique(), column.notna().sum()
    many = differ > MANY and differ > present / 2
    all_differ = differ == present >= SAID_FROM_ROWS  # of which the fit tells
    nearly = nearly_numbers(column)
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
    """Which cells keep a column of dates from being one, where they are few."""
    import pandas as pd

    from minrisk._printable import short
    from minrisk.tables.columns import as_dates

    values = column.astype(object).drop_duplicates().dropna()
    no_dates = [str(value) for value in values if as_dates(pd.Series([value], dtype=object)) is None]
    if not no_dates:
        note(f"{where} holds dates with a zone and others without: write them alike")
    elif len(no_dates) < len(values) / 2:
        row = int(column.eq(no_dates[0]).to_numpy().argmax()) + 1
        note(
            f"{where} would be a column of dates but for {len(no_dates)} of its values, such as "
            f"{short(no_dates[0])!r} in row {row}"
        )


def classes_in(y: Labels, target: str | None, data: str | Path) -> Labels:
    """The distinct labels, sorted; there must be two, and they must not all differ."""
    import numpy as np

    return checked_classes(np.unique(y), len(y), target, data)


def _named(model: Any, target: str | None, first_feature: int | None) -> Any:
    """The model, which knows what its target was called and how features were numbered."""
    if target is not None:
        model.target_name_ = target
    if first_feature is not None:
        model.first_feature_ = first_feature
    return model


def _keep_partial(model: Any, out: Path) -> None:
    """Write what a fit had learnt when it was stopped, beside the place of the model and never in it."""
    from minrisk import save
    from minrisk.io.atomic import is_through

    n_rounds = getattr(model, "n_iter_", 0)
    if not n_rounds:
        return
    partial = out.with_name(f"{out.name}.partial")
    with finishing("what was learnt until then was written"):
        try:
            if str(out) == "-" or is_through(out):
                raise OSError("it is no regular file")
            save(model, partial)
            kept: Path | None = partial
        except OSError:
            name = "model.minrisk" if str(out) == "-" or is_through(out) else out.name
            kept = _rescue(model, f"{name}.partial", save)
    rounds = f"{n_rounds} round" + "s" * (n_rounds > 1)
    where = "could not be written anywhere" if kept is None else f"was written as {kept}"
    note(f"the fit was stopped; what it had learnt until then, {rounds}, {where}")


def _keep(model: Any, out: Path) -> int | None:
    """Write the model; where that fails after all, wherever there is room. Its size, if it is known."""
    from minrisk import save
    from minrisk.io.atomic import is_through

    target = Path("/dev/stdout") if str(out) == "-" else out
    name, new = "standard output" if str(out) == "-" else out, "model.minrisk" if is_through(target) else out.name
    try:
        save(model, target)
    except OSError as error:
        reason = error.strerror or error
        rescued = _rescue(model, new, save)
        if isinstance(error, BrokenPipeError):
            drop_output()
        if rescued is None:
            raise click.ClickException(
                f"{name} could not be written ({reason}), nor could any other folder: the model is lost; make room and "
                "fit again."
            ) from None
        raise click.ClickException(
            f"{name} could not be written ({reason}): the model was saved as {rescued} instead; move it from there."
        ) from None
    except (ValueError, TypeError) as error:  # it is none that a model file could hold
        from joblib import dump

        rescued = _rescue(model, f"{new}.joblib", dump)
        kept = f"it was kept as {rescued}, which joblib.load reads in Python" if rescued else "and it is lost"
        raise click.ClickException(f"{str(error).rstrip('.')}; {kept}.") from None
    with suppress(OSError):
        return None if is_through(target) else target.stat().st_size
    return None


def _rescue(model: Any, name: str, write: Callable[[Any, Path], Any]) -> Path | None:
    """Write a finished model into a new folder where there is room; None if that is nowhere."""
    for place in (tempfile.gettempdir, Path.home, Path.cwd, lambda: "/dev/shm"):  # the last is memory, on Linux
        with suppress(OSError, RuntimeError):  # no home, or no such folder
            folder = Path(tempfile.mkdtemp(prefix="minrisk-", dir=place()))
            try:
                write(model, folder / name)
            except OSError:
                (folder / name).unlink(missing_ok=True)
                folder.rmdir()
            else:
                return folder / name
    return None
