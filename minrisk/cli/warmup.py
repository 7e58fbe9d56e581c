"""minrisk warmup: compile ahead."""

from __future__ import annotations

import time

import click

from minrisk.cli import options
from minrisk.cli.streams import one_line, say


@options.command()
def warmup() -> None:
    """Compile the numerical kernels now (about a minute), so that no fit or prediction has to."""
    from minrisk._kernels._cache import notes, writable_folder
    from minrisk._warmup import warmup as compile_all

    start = time.perf_counter()
    if writable_folder() is None:
        raise click.UsageError(
            "No folder can be written where the compiled kernels could be kept: set NUMBA_CACHE_DIR to one that can."
        )
    folder = compile_all()
    if folder is None:
        raise click.ClickException(
            f"not all of the compiled kernels could be kept in {notes.not_kept}: make room there, or set "
            "NUMBA_CACHE_DIR to another folder."
        )
    say(one_line(f"The kernels are compiled and kept in {folder} ({time.perf_counter() - start:.1f} s)."))
