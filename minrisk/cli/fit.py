"""minrisk fit: train on a table, with costs, and write a model file."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
import joblib
import numpy as np
from click.core import ParameterSource
from rich.text import Text

import minrisk
from minrisk._utils.text import first_of, printable
from minrisk.boosting.checkpoint import Checkpoint
from minrisk.cli import options, printing
from minrisk.cli.common import label_source, target_needed
from minrisk.cli.costs import stated_costs
from minrisk.cli.methods import METHODS, as_options, method_options
from minrisk.cli.printing import Terminal
from minrisk.cli.signals import finishing, waiting_once
from minrisk.cli.streams import drop as drop_output
from minrisk.cli.streams import flush, note, tell, written_on
from minrisk.cli.training import GivenRows, Roles, check_parquet, costs_of, on_cluster, rows_given
from minrisk.costs.reading import CostsPerRow
from minrisk.data.column_report import ColumnFacts, printed
from minrisk.io.atomic import is_through
from minrisk.metrics import best_constant_cost
from minrisk.tables.source import shown
from minrisk.tables.text import Dialect

roles_options = options.gathered(
    "roles",
    Roles,
    options.column(
        "--target", "The column that holds the class; needed but for files of svmlight's format, where it stands first."
    ),
    options.drop,
    options.categorical,
    options.numeric,
    options.column("--weight", "This column holds how much each row counts, and is no feature."),
    options.column(
        "--groups",
        "Rows of which this column holds the same belong together, such as all of one patient: some are not "
        "used to judge what was learnt from others. It is no feature.",
    ),
)


@options.command()
@options.data
@click.option(
    "--out",
    required=True,
    type=options.NEW_FILE,
    metavar="MODEL",
    help="Model file to write; - is standard output, the summary then goes to standard error.",
)
@options.costs("Default: uniform.")
@roles_options
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Let all classes count as much, however many rows they have. Default: rows count alike.",
)
@click.option(
    "--bins-in",
    type=options.FOLDER,
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
    type=options.NEW_FILE,
    help="Keep the rounds in this file while they are made; after a kill or a reboot the same command goes "
    "on from there. It is removed when the fit has ended.",
)
@options.dialect
@method_options
@options.seed
@options.n_jobs(
    "Threads, -1 for all cores; with --scheduler those of each piece of rows. The model does not depend on it.",
    "-1, with --scheduler 1",
)
@options.json("a table")
def fit(
    data: tuple[Path, ...],
    out: Path,
    costs: str | None,
    roles: Roles,
    bins_in: Path | None,
    scheduler: str | None,
    checkpoint: Path | None,
    stated: Dialect,
    method: str,
    seed: int,
    n_jobs: int,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Train on the table DATA and write the model to a file.

    The model keeps the name of the target. DATA may be - for standard input, a file of svmlight's format, or several
    files with the same columns. Several Parquet files of numbers are read piece by piece and need not fit in memory.
    With --scheduler they are read by the workers of a Dask cluster, which see them under the same paths.
    """
    if str(out) == "-" and sys.stdout.isatty():
        raise click.ClickException("--out - would write a model to the terminal: send it to a file or a command.")
    given = {name: value for name, value in parameters.items() if value is not None}
    stated_cost = stated_costs(costs, stated)
    roles = roles._replace(target=roles.target or "", cost_columns=stated_cost.columns)
    if scheduler is not None:
        _check_elsewhere(roles, stated, bins_in)
    with _cluster(scheduler, data, roles.target) as client:
        rows = rows_given(data, roles, stated, bins_in, client)
        cost = costs_of(stated_cost, rows, label_source(roles.target))
        if isinstance(cost, CostsPerRow):
            rows, cost = rows._replace(costs=cost), None
        stated_threads = click.get_current_context().get_parameter_source("n_jobs") is not ParameterSource.DEFAULT
        threads = n_jobs if client is None or stated_threads else 1
        if roles.categorical:
            given["categorical_features"] = list(roles.categorical)
        model = METHODS[method](cost, n_jobs=threads, random_state=seed, verbose=int(sys.stderr.isatty()), **given)
        start = time.perf_counter()
        try:
            with waiting_once():
                rounds = None if checkpoint is None else Checkpoint(checkpoint)
                of_rows = {"sample_weight": rows.weight, "cost": rows.costs, "groups": rows.groups}
                model.fit(rows.X, rows.y, **of_rows, checkpoint=rounds)
        except ValueError as error:
            raise click.ClickException(as_options(str(error), parameters)) from None
        except KeyboardInterrupt:
            _keep_partial(_named(model, roles.target, rows.first_feature), out)
            raise click.Abort from None
        seconds = time.perf_counter() - start
    _named(model, roles.target, rows.first_feature)
    with finishing(f"the model was written ({out})"):
        written = _keep(model, out)
        if rounds is not None:  # as long as the model was nowhere, its rounds were there
            rounds.done()

    try:  # the model is kept: nothing that is said of it may make this a failure
        facts = describe_fit(model, rows, seconds, roles.target or None, costs, out, written)
        with redirect_stdout(sys.stderr if str(out) == "-" else sys.stdout):
            tell(facts, as_json, partial(print_fit, with_columns=not sys.stderr.isatty()))  # else the fit has said them
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


def _cluster(scheduler: str | None, data: Sequence[Path], target: str) -> AbstractContextManager[Any]:
    """Return the client of a cluster; None without a scheduler."""
    if scheduler is None:
        return nullcontext()
    check_parquet(data)
    if not target:
        raise target_needed()
    return on_cluster(scheduler)


def _named(model: Any, target: str, first_feature: int | None) -> Any:
    """Return the model, which knows what its target was called and how features were numbered."""
    if target:
        model.target_name_ = target
    if first_feature is not None:
        model.first_feature_ = first_feature
    return model


def _keep_partial(model: Any, out: Path) -> None:
    """Write what a fit had learnt when it was stopped, beside the place of the model and never in it."""
    n_rounds = getattr(model, "n_iter_", 0)
    if not n_rounds:
        return
    (target, name), kept = _target(out), None
    partial = out.with_name(f"{name}.partial")
    with finishing("what was learnt until then was written"):
        if not is_through(target):
            with suppress(OSError):
                minrisk.save(model, partial)
                kept = partial
        kept = kept or _rescue(model, partial.name, minrisk.save)
    rounds = f"{n_rounds} round" + "s" * (n_rounds > 1)
    where = "could not be written anywhere" if kept is None else f"was written as {kept}"
    note(f"the fit was stopped; what it had learnt until then, {rounds}, {where}")


def _target(out: Path) -> tuple[Path, str]:
    """Return where the model goes, and the name of a file in its place."""
    target = Path("/dev/stdout") if str(out) == "-" else out
    return target, "model.minrisk" if is_through(target) else out.name


def _keep(model: Any, out: Path) -> int | None:
    """Write the model; where that fails after all, wherever there is room. Its size, if it is known."""
    target, name = _target(out)
    try:
        minrisk.save(model, target)
    except OSError as error:
        rescued = _rescue(model, name, minrisk.save)
        if isinstance(error, BrokenPipeError):
            drop_output()
        fate = ", nor could any other folder: the model is lost; make room and fit again."
        if rescued is not None:
            fate = f": the model was saved as {rescued} instead; move it from there."
        what = "standard output" if str(out) == "-" else out
        raise click.ClickException(f"{what} could not be written ({error.strerror or error}){fate}") from None
    except (ValueError, TypeError) as error:  # it is none that a model file could hold
        rescued = _rescue(model, f"{name}.joblib", joblib.dump)
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


# -- what is told ------------------------------------------------------------------------------------------------------
def describe_fit(
    model: Any, given: GivenRows, seconds: float, target: str | None, costs: str | None, out: Path, n_bytes: int | None
) -> dict[str, Any]:
    """Return what a training was and gave."""
    if given.costs is None:
        constant = best_constant_cost(given.classes, model.cost_, sample_weight=given.counts)
    else:
        constant = best_constant_cost(given.y, given.costs)
    return {
        "data": given.data,
        "target": target,
        "rows": int(given.counts.sum()),
        "features": given.n_features,
        "categories": printing.categories_of(model),
        "columns": [column._asdict() for column in getattr(model, "columns_", ())],
        "classes": model.classes_.tolist(),
        "costs": costs or "uniform",
        "algorithm": type(model).__name__,
        "surrogate": getattr(model, "surrogate_", None),
        "rounds": model.n_iter_,
        "train_risk": float(model.train_risk_[-1]) if hasattr(model, "train_risk_") else None,
        "validation_risk": _validated(model),
        "best_constant_cost": constant,
        "seconds": round(seconds, 3),
        "model": str(out),
        "bytes": n_bytes,
    }


def _validated(model: Any) -> float | None:
    """Return mean cost of rows that did not train, under what was kept; None where all rows trained."""
    if hasattr(model, "selection_"):
        risks = [tried["pooled_risk"] for tried in model.selection_ if tried["surrogate"] == model.surrogate_]
    else:
        risks = [None if model.validation_risk_ is None else np.min(model.validation_risk_)]
    return None if risks[0] is None else float(risks[0])


def print_fit(facts: dict[str, Any], with_columns: bool = True) -> None:
    """Print the summary of a training, and what became of each column unless that was said before it."""
    classes = facts["classes"]
    lines = [
        ("data", f"{shown(facts['data'])}: {facts['rows']} rows, {facts['features']} features"),
        *printing.category_line(facts),
        ("classes", f"{len(classes)}{printing.in_target(facts)}: {first_of(map(str, classes))}"),
        ("costs", shown(facts["costs"])),
        ("algorithm", printing.algorithm(facts)),
        ("rounds", str(facts["rounds"])),
    ]
    risks = [
        (facts["train_risk"], "on the training rows"),
        (facts["validation_risk"], "on the rows set apart" if facts["surrogate"] is None else "on the rows left out"),
        (facts["best_constant_cost"], "for the best constant decision"),
    ]
    known = [f"{printing.number(risk)} {where}" for risk, where in risks if risk is not None]
    lines += [
        *(("" if i else "mean cost", line) for i, line in enumerate(known)),
        ("time", f"{facts['seconds']:.1f} s"),
        ("model", printing.model_file(facts)),
    ]
    console = Terminal()
    console.facts("Trained", lines)
    if with_columns and facts["columns"]:
        console.title("Columns")
        table = printed([ColumnFacts(**line) for line in facts["columns"]])
        console.print(Text(written_on(printable(table.rstrip(), "\n"))), soft_wrap=True)
