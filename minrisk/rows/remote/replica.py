"""A piece of rows that is built, and brought up to date, by a log."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from copy import deepcopy
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

import numpy as np

from minrisk._workers import Workers, one_blas_thread
from minrisk.rows.exchange import Place
from minrisk.rows.remote.log import Behind, Call, Contribution, Forget, Handle, Item, Reply


class Threads(NamedTuple):
    """Stands for the driver's workers in a call: each piece has its own."""


class _NobodyAsks(Exception):
    """Nobody asks any more."""


class _Failure(NamedTuple):
    error: BaseException


class _Inbox:
    """Items in their order, for the thread that works them off; and what it has to say."""

    def __init__(self) -> None:
        self.items: SimpleQueue[Item | None] = SimpleQueue()
        self.said: SimpleQueue[Contribution | _Failure] = SimpleQueue()

    def next(self) -> Item:
        """The next item, waited for."""
        item = self.items.get()
        if item is None:
            raise _NobodyAsks
        return item

    def given(self) -> Any:
        """What the exchange at hand has given."""
        item = self.next()
        if not isinstance(item, Reply):
            raise RuntimeError(f"a piece of rows waits for an exchange, and is asked {item!r}: the calls differ.")
        return item.value


class ReplicaExchange:
    """The exchange of a piece elsewhere: it waits until the log goes on."""

    def __init__(self, inbox: _Inbox) -> None:
        self._inbox = inbox

    def _asked(self, kind: str, own: Any) -> Any:
        self._inbox.said.put(Contribution(kind, own))
        return self._inbox.given()

    def largest(self, own: Any) -> Any:
        """Elementwise maximum."""
        return self._asked("largest", own)

    def added(self, own: Any) -> Any:
        """Sum."""
        return self._asked("added", own)

    def gathered(self, own: Any) -> Any:
        """The pieces' arrays one after another."""
        return self._asked("gathered", own)

    def collected(self, own: Any) -> Any:
        """None: they are with the driver."""
        return self._asked("collected", [own])

    def told(self, value: Any) -> Any:
        """What the driver tells."""
        return self._inbox.given()


class Shard:
    """Rows at one place, and the piece that is made of them.

    The piece is a cache, which the log builds again where it is lost.

    Parameters
    ----------
    rows : object
        As they were given, with a `place` (of an exchange that is replaced).
    number : int
        Of the shard.
    n_threads : int
    """

    def __init__(self, rows: Any, number: int, n_threads: int = 1) -> None:
        self.rows, self.number, self.n_threads = rows, number, n_threads
        self._one = Lock()
        self._begin()

    def __reduce__(self) -> tuple[Any, ...]:
        return Shard, (self.rows, self.number, self.n_threads)

    def __sizeof__(self) -> int:
        return int(self.rows.nbytes)

    def _begin(self) -> None:
        """Know nothing of the log."""
        self.known = 0  # items of the log
        self._last: Contribution | None = None
        self._inbox, self._runs = _Inbox(), False

    def step(self, first: int, items: Sequence[Item]) -> Contribution | Behind:
        """Go on with the items of the log from `first` on, to the next exchange.

        Asked twice the same, it answers the same. An error of what is called is raised.
        """
        with self._one:
            if first == 0 and self.known > len(items):
                self._close()
                self._begin()
            if first + len(items) == self.known and self._last is not None:
                return self._last
            if not first <= self.known < first + len(items):
                if self.known > first + len(items):  # another driver's, or older than what is kept
                    self._close()
                    self._begin()
                return Behind({self.number: self.known})
            # Copies can be written to, which what has come from a network cannot, and are no other piece's: pieces of
            # one process may be given the same objects.
            new = deepcopy(items[self.known - first :])
            for item in new:
                self._inbox.items.put(item)
            exchanges = sum(isinstance(item, Reply) and item.asked for item in new)  # that are answered before the next
            if not self._runs:
                self._start()
                exchanges += 1
            for _ in range(exchanges):
                said = self._inbox.said.get()
                if isinstance(said, _Failure):
                    self._begin()
                    raise said.error
                self._last = said
            self.known = first + len(items)
            assert self._last is not None
            return self._last

    def _start(self) -> None:
        """The thread knows the rows and its inbox, and ends when this is gone."""
        Thread(target=_work_off, args=(self.rows, self._inbox, self.n_threads), daemon=True).start()
        self._runs = True
        weakref.finalize(self, self._inbox.items.put, None)

    def _close(self) -> None:
        self._inbox.items.put(None)


def _work_off(rows: Any, inbox: _Inbox, n_threads: int) -> None:
    """Answer calls until nobody asks."""
    objects: dict[int, Any] = {}
    place = rows.place._replace(exchange=ReplicaExchange(inbox))
    try:
        with one_blas_thread(), Workers(n_threads) as workers, np.errstate(all="ignore"):
            while True:
                item = inbox.next()
                if isinstance(item, Call):
                    objects[item.number] = answer(item, rows, place, objects, workers)
                elif isinstance(item, Forget):
                    for number in item.calls:
                        del objects[number]
                else:
                    raise RuntimeError(f"a piece of rows is given what no exchange has asked for: {item!r}.")
    except _NobodyAsks:
        pass
    except BaseException as error:
        inbox.said.put(_Failure(error))


def answer(call: Call, rows: Any, place: Place, objects: dict[int, Any], workers: Workers) -> Any:
    """What an object of this piece answers."""

    def own(value: Any) -> Any:
        """Of the piece, in the place of what stands for it."""
        if isinstance(value, Handle):
            made = objects[value.call]
            return made if value.part < 0 else made[value.part]
        if isinstance(value, Threads):
            return workers
        if type(value) in (list, tuple):
            return type(value)(own(one) for one in value)
        return value

    arguments, options = own(call.arguments), {name: own(value) for name, value in call.options.items()}
    if call.of is None:
        return call.name(rows, place, *arguments, **options)
    target = own(call.of)
    found = getattr(target, call.name)
    return found if call.reads else found(*arguments, **options)
