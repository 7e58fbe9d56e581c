"""Signals that ask to stop: Ctrl-C, SIGTERM, the end of the terminal, Ctrl-Break.

The command says in one line that it was stopped and ends with 128 and the signal's number, as shells report it. Until
then everything is tidied up as after an error; a finished fit is written first, and what Ctrl-C leaves of an unfinished
one beside it. What does not end within `GRACE_SECONDS` is ended, and a second signal ends the process at once: files
are written so that this harms none.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from minrisk._utils.interrupts import MAY_WAIT
from minrisk.cli.streams import flush, note, say

SIGNAL_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # the last two where the system has them
GRACE_SECONDS = 4.0  # until what does not end by itself is ended: who waits longer takes it for stuck


class StopSignal(BaseException):
    """Somebody asked to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


class _State:
    """Of the one process: whether it may stop now, which signal came while it might not, whether it said so."""

    held, pending, said = False, 0, False


def _stop(number: int, frame: FrameType | None = None) -> None:
    """Handle a signal: stop here, or as soon as that may be."""
    for each in signal.valid_signals():
        if signal.getsignal(each) is _stop:
            signal.signal(each, signal.SIG_DFL)  # the next one is not asked to wait
    if _State.held:
        _State.pending = number
        return
    _thread.start_new_thread(_end, (128 + number,))  # threading's locks may be held by what was interrupted
    raise StopSignal(number)


def _end(code: int) -> None:
    """End the process although something goes on: a kernel, other threads, or code that lost the exception."""
    time.sleep(GRACE_SECONDS)
    if not _State.said:
        with suppress(OSError):
            os.write(2, b"minrisk: stopped.\n")
    os._exit(code)


@contextmanager
def finishing(what: str) -> Iterator[None]:
    """Let a block run to its end; if a signal came in the meantime, say what was done and stop then."""
    _State.held = True
    try:
        yield
    finally:
        _State.held = False
    if _State.pending:
        note(what)
        _stop(_State.pending)


@contextmanager
def waiting_once() -> Iterator[None]:
    """Run a fit, which may keep the first Ctrl-C waiting until it can raise `KeyboardInterrupt` with what it has
    learnt.
    """
    MAY_WAIT.add(_stop)
    try:
        yield
    finally:
        MAY_WAIT.discard(_stop)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let signals stop the block, which is all that the process does, as errors do."""
    numbers = [getattr(signal, name) for name in SIGNAL_NAMES if hasattr(signal, name)]
    asked = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup has it
    with suppress(ValueError):  # not the main thread
        for number in asked:
            signal.signal(number, _stop)
    try:
        yield
    except StopSignal as stop:
        _State.said = True
        with suppress(OSError, ValueError):
            say("minrisk: stopped.", err=True)
        with suppress(OSError, ValueError):
            flush()
        sys.exit(stop.code)
    finally:
        with suppress(ValueError):
            for number in asked:
                signal.signal(number, signal.SIG_DFL)
