"""Ctrl-C while a model is trained: what has been learnt is kept.

The first SIGINT ends the rounds, as if a monitor had asked for it or the budget of time were used up; a second one is
not waited for. Before there is anything to keep the first one is obeyed at once.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

MAY_WAIT: set[Callable[..., Any]] = {signal.default_int_handler}  # handlers that training may keep waiting once


class StopRequest:
    """Whether somebody wants the training that goes on to end with what it has learnt; all its threads look here.

    Attributes
    ----------
    asked : bool
        Whether somebody did: a signal, or a callback.
    interrupted : bool
        Whether it was a signal.
    worth : bool
        Whether there is, or will be before long, something that is worth keeping.
    cuts : bool
        Whether the main thread is where a signal may raise `KeyboardInterrupt` at once, and what was learnt is kept.
    """

    def __init__(self) -> None:
        self.asked = self.interrupted = self.worth = self.cuts = False

    @property
    def over(self) -> bool:
        """Return whether the training is to end here."""
        return self.asked and self.worth

    @contextmanager
    def giving_up(self) -> Iterator[None]:
        """Enter a block of the main thread that Ctrl-C leaves at once; what it was about to make is not needed."""
        self.cuts = True
        try:
            yield
            self.cuts = False
        except (KeyboardInterrupt, SystemError) as problem:
            self.cuts = False
            if not (self.interrupted and _is_interrupt(problem)):
                raise


def _is_interrupt(problem: BaseException) -> bool:
    """Return whether it is `KeyboardInterrupt`, or what becomes of one that is raised while a kernel returns."""
    return isinstance(problem, KeyboardInterrupt) or isinstance(problem.__cause__, KeyboardInterrupt)


NOBODY = StopRequest()  # asks


@contextmanager
def keeping_what_is_learnt() -> Iterator[StopRequest]:
    """Enter a block that Ctrl-C asks to end, if this is the main thread and nobody has an own handler for it."""
    stop, before = StopRequest(), signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before not in MAY_WAIT:
        yield stop
        return
    assert callable(before)

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.worth and not stop.interrupted:
            stop.asked = stop.interrupted = True
            if stop.cuts:
                raise KeyboardInterrupt
            return
        signal.signal(signal.SIGINT, before)
        before(number, frame)  # raises what it always does

    try:
        with suppress(ValueError):  # of interpreters beside the main one
            signal.signal(signal.SIGINT, handle)
        yield stop
    except SystemError as problem:
        if _is_interrupt(problem):
            raise KeyboardInterrupt from None
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is handle:
            signal.signal(signal.SIGINT, before)
