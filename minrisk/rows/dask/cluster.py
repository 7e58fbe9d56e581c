"""What goes wrong with a cluster, in a sentence that says what to do."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager
from typing import Any

from minrisk._utils.packages import versions

ASKED_SECONDS = 20.0  # after which a wait for answers is interrupted, to see whether anybody can give them
ALONE_SECONDS = 300.0  # without any worker, which may be on its way, until a fit ends
CARRIERS = ("distributed", "tornado", "asyncio", "concurrent")  # packages that carry messages: no task is theirs
SHORT_OF_MEMORY = (
    "workers that held the same rows were lost several times, as they are where memory is short: give them more "
    "memory, or make more workers."
)
ASKED_OF_WORKERS = "__import__('minrisk._utils.packages')._utils.packages.versions()"  # a text: they may lack it
OTHER_CODE = (
    "some workers have other code of minrisk than is here, under the same version: install the same there, and start "
    "them again."
)
LOST = "the cluster does not answer any more, as its scheduler or the network is gone: start it again and fit anew."
ALONE = "the cluster has had no workers for {minutes:.0f} minutes: start some and fit anew."


class ClusterError(RuntimeError):
    """Error of a cluster that cannot do what it is asked, or is gone."""


def check_workers(client: Any) -> None:
    """Refuse workers that would compute something else than what is computed here.

    Raises
    ------
    ClusterError
        If one has another version of minrisk or of what it computes with, or none, or other code of the same version.
    """
    import minrisk

    found = client.get_versions(packages=["minrisk"])["workers"]
    others = {str(own["packages"].get("minrisk")) for own in found.values()} - {minrisk.__version__}
    if others:
        have = "lack it" if others == {"None"} else f"have {', '.join(sorted(others))}"
        raise ClusterError(
            f"all workers need minrisk {minrisk.__version__}, as it is here, but some {have}: install it there."
        )
    theirs = list(client.run(eval, ASKED_OF_WORKERS, on_error="return").values())
    if any(isinstance(own, (AttributeError, ImportError)) for own in theirs):  # their code does not have what was asked
        raise ClusterError(OTHER_CODE)
    for name, version in versions().items():
        others = {own[name] for own in theirs if isinstance(own, dict)} - {version}  # others are lost just now
        if others and name == "minrisk":
            raise ClusterError(OTHER_CODE)
        if others:
            raise ClusterError(
                f"all workers need {name} {version}, as it is here, but some have {', '.join(sorted(others))}: install "
                "it there, as models would differ."
            )


def gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """What tasks have given.

    Raises
    ------
    ClusterError
        If there are no workers for long.
    """
    asked = asyncio.run_coroutine_threadsafe(client.gather(list(futures), asynchronous=True), client.loop.asyncio_loop)
    seen = time.monotonic()
    try:
        while not wait([asked], ASKED_SECONDS).done:
            now = time.monotonic()
            seen = now if client.nthreads() else seen
            if now - seen > ALONE_SECONDS:
                raise ClusterError(ALONE.format(minutes=(now - seen) / 60.0))
        found: list[Any] = asked.result()
    finally:
        asked.cancel()
    return found


@contextmanager
def in_words() -> Iterator[None]:
    """Say what has happened to a cluster in a sentence.

    Raises
    ------
    ClusterError
        For what distributed raises where workers are lost again and again, or the scheduler is.
    """
    try:
        yield
    except Exception as error:
        told = _told(error)
        if told is None:
            raise
        raise ClusterError(told) from None


def _told(error: Exception) -> str | None:
    """What to say of an error; None: it says enough, or has nothing to do with a cluster."""
    if "distributed" not in sys.modules or isinstance(error, ClusterError):
        return None
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        return SHORT_OF_MEMORY
    *_, innermost = traceback.walk_tb(error.__traceback__)
    name = str(innermost[0].f_globals.get("__name__"))
    by_client = isinstance(error, (OSError, RuntimeError)) and name.partition(".")[0] in CARRIERS
    is_theirs = isinstance(error, CancelledError) or type(error).__module__.partition(".")[0] == "distributed"
    return LOST if by_client or is_theirs else None
