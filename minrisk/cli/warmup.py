"""minrisk warmup: nothing is needed any more; the command stays for one version, for scripts that call it."""

from __future__ import annotations

from minrisk.cli import options
from minrisk.cli.streams import say


@options.command()
def warmup() -> None:
    """Do nothing: the kernels come compiled. Scripts need not call this, and the next version does not have it."""
    say("Nothing is to be done: the kernels come compiled. The next version does not have this command.")
