"""minrisk warmup: compile ahead."""

from __future__ import annotations

import time

import click


@click.command(short_help="Compile ahead of the first fit.")
def warmup() -> None:
    """Compile the numerical kernels now (a few seconds), so that the first fit need not."""
    from minrisk._warmup import warmup as compile_all

    start = time.perf_counter()
    compile_all()
    click.echo(f"The kernels are compiled ({time.perf_counter() - start:.1f} s).")
