"""minrisk report: a page about a model and what its decisions cost on a table with known classes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from minrisk.cli import options
from minrisk.cli.common import column_names
from minrisk.cli.evaluate import read_judged
from minrisk.cli.streams import note
from minrisk.io.atomic import STREAM


@options.command()
@options.model
@options.data
@click.option("--out", type=options.NEW_FILE, required=True, help="The page, a file of HTML; - is standard output.")
@click.option("--title", metavar="TEXT", help="Heading of the page. Default: the name of the algorithm.")
@click.option(
    "--rows", type=click.IntRange(min=0), default=20, help="How many of the rows whose decisions cost most are told."
)
@options.judged
def report(model: Path, data: tuple[Path, ...], out: Path, title: str | None, rows: int, **judged: Any) -> None:
    """Write a page about MODEL and what its decisions about the table DATA cost: one HTML file that needs no network.

    MODEL or DATA may be - for standard input. DATA may be several files with the same columns, or a file of svmlight's
    format.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise click.ClickException("the report needs matplotlib: pip install 'minrisk[report]'.") from None
    given = read_judged(model, data, **judged)
    from minrisk.inspection import report as write_report

    path = None if str(out) == STREAM else out
    page = write_report(
        given.model,
        given.X,
        given.y,
        path,
        given.cost,
        given.weight,
        title=title,
        n_rows=rows,
        names=column_names(given.model),
    )
    if path is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(page.encode())
        sys.stdout.buffer.flush()
    else:
        note(f"wrote {out}: {len(given.y)} rows judged")
