"""Rows on other machines: pieces that are asked by a log of calls, whatever carries it.

The caller, the *driver*, has a piece of its own without rows. It takes part in every exchange (`minrisk.rows.exchange`)
and so computes each answer itself, as all pieces do. Hence one exchange is a map over the other pieces and a reduction,
and nothing else travels: a piece is sent what has been called and exchanged since the last time (`log`), goes on to the
next exchange, and answers with what it has to give (`replica`). What a piece answers depends on its rows and the log
alone, so whoever loses a piece builds another one from both. `driver` keeps the log and stands for all pieces; an
`Engine` (`minrisk.rows.dask` is one) maps and reduces.
"""

from __future__ import annotations

import copy
import itertools
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from inspect import getattr_static, isfunction
from queue import SimpleQueue
from threading import Lock, RLock, Thread
from typing import Any, NamedTuple, Protocol

import numpy as np

from minrisk._utils.workers import Workers
from minrisk.rows.exchange import Exchange, Place


class Handle(NamedTuple):
    """Stands for an object that every piece has for itself, in a call."""

    call: int  # number of the call that made it
    part: int = -1  # of a tuple that the call returned; -1: all of what it returned


class Call(NamedTuple):
    """A question to an object of each piece; what it returns goes by its number."""

    number: int
    of: Handle | None  # whose method it is; None: `name` is a callable of the rows as they were given, and of a `Place`
    name: Any
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    reads: bool = False  # an attribute


class Reply(NamedTuple):
    """What an exchange has given to all pieces, or what they are told without one."""

    value: Any
    asked: bool = True  # by an exchange


class Messages(NamedTuple):
    """Hold what all pieces have brought to `made_of_all`, for the piece that makes something of it."""

    all: list[Any]


class Forget(NamedTuple):
    """What these calls have made is not asked for any more."""

    calls: tuple[int, ...]


Item = Call | Reply | Forget
MADE = "made"  # kind of what a piece has made of the messages of all


class Contribution(NamedTuple):
    """What a piece brings to an exchange."""

    kind: str  # method of `minrisk.rows.exchange.Exchange`
    own: Any


class Behind(NamedTuple):
    """A piece cannot go on from where it is asked to."""

    known: int  # up to where it knows the log


class Met(NamedTuple):
    """Hold what some pieces bring to an exchange together."""

    parts: list[Contribution]  # one or none
    behind: dict[int, int]  # of pieces that are behind, by their numbers: up to where they know the log


# -- Pieces ------------------------------------------------------------------------------------------------------------
class Threads(NamedTuple):
    """Stands for the driver's workers in a call: each piece has its own."""


class _NobodyAsks(Exception):
    """Nobody asks any more."""


class _Failure(NamedTuple):
    error: BaseException


class _Inbox:
    """Items in their order, for the thread that works them off; and what it has to say."""

    def __init__(self) -> None:
        self.items: SimpleQueue[Item | Messages | None] = SimpleQueue()
        self.said: SimpleQueue[Contribution | _Failure] = SimpleQueue()

    def next(self) -> Item | Messages:
        """Return the next item, waited for."""
        item = self.items.get()
        if item is None:
            raise _NobodyAsks
        return item

    def given(self, make: Callable[[list[Any]], Any] | None = None) -> Any:
        """Return what the exchange at hand has given; what is made of all messages is said before."""
        item = self.next()
        while make is not None and isinstance(item, Messages):
            self.said.put(Contribution(MADE, make(item.all)))
            item = self.next()
        if not isinstance(item, Reply):
            raise RuntimeError(f"a piece of rows waits for an exchange, and is asked {item!r}: the calls differ.")
        return item.value


class ReplicaExchange(Exchange):
    """The exchange of a piece elsewhere: it waits until the log goes on.

    Messages are collected by the driver, and what is made of all of them is made by a piece, if the engine lets it.
    """

    def __init__(self, inbox: _Inbox) -> None:
        self._inbox = inbox

    def met(self, kind: str, own: Any) -> Any:
        """Say what the piece brings, and wait for what all have together."""
        self._inbox.said.put(Contribution(kind, own))
        return self._inbox.given()

    def made_of_all(self, own: Any, make: Callable[[list[Any]], Any]) -> Any:
        """Say what the piece brings, make of all messages what is made of them if it is told to, and wait for that."""
        self._inbox.said.put(Contribution("made_of_all", [own]))
        return self._inbox.given(make)

    def told(self, told: Any) -> Any:
        """Return what the driver tells."""
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
                return Behind(self.known)
            new = items[self.known - first :]
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

    def finish(self, known: int, messages: list[Any]) -> Contribution | None:
        """Make of the messages of all pieces what they wait for; None where this one has gone on from there."""
        with self._one:
            if self.known != known:
                return None
            self._inbox.items.put(Messages(messages))
            said = self._inbox.said.get()
            if isinstance(said, _Failure):
                self._begin()
                raise said.error
            return said

    def _start(self) -> None:
        """Start a thread that knows the rows and its inbox, and ends when this is gone."""
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
        with Workers(n_threads) as workers, np.errstate(all="ignore"):
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
    """Return what an object of this piece answers."""

    def own(value: Any) -> Any:
        """Return what the piece has in the place of what stands for it."""
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


# -- The driver --------------------------------------------------------------------------------------------------------
HOLD_ROWS = ("minrisk.rows.", "minrisk.ensemble.")  # modules whose objects do, named tuples apart
OPAQUE = frozenset({"draw_bag", "left_out_scores", "dealt"})  # whose arrays are the pieces' own
OF_ONE_PLACE = frozenset({"whole_rounds"})  # of rows that are all here


class Engine(Protocol):
    """What carries calls to shards and brings back what they give: all that is known of a cluster."""

    n_shards: int

    def asked(
        self,
        shards: Iterable[int],
        function: Callable[..., Any],
        combine: Callable[[Sequence[Any]], Any],
        finish: Callable[..., Any],
        *arguments: Any,
    ) -> Any:
        """Return combine(what function(shard, *arguments) gives for each of these shards).

        `combine` is associative: parts may be combined first. What it gives of all shards may be replaced by
        finish(a shard, it, *arguments), so that not all of it need come here. Each shard has copies of the arguments
        for itself, whose arrays can be written to. Shards that are lost are made again, and asked again.
        """

    def close(self) -> None:
        """Let the shards go."""


def stepped(shard: Shard, first: int, items: Sequence[Item]) -> Met:
    """See `Shard.step`."""
    found = shard.step(first, items)
    return Met([], {shard.number: found.known}) if isinstance(found, Behind) else Met([found], {})


def combined(found: Sequence[Met]) -> Met:
    """Return what pieces bring together."""
    parts = [part for met in found for part in met.parts]
    kinds = {part.kind for part in parts}
    if len(kinds) > 1:
        raise RuntimeError(f"pieces of rows meet in one exchange, got {sorted(kinds)}: the calls differ.")
    if len(parts) > 1:
        parts = [Contribution(parts[0].kind, _REDUCTIONS[parts[0].kind]([part.own for part in parts]))]
    return Met(parts, {number: known for met in found for number, known in met.behind.items()})


def finished(shard: Shard, met: Met, first: int, items: Sequence[Item]) -> Met:
    """Return what all pieces bring together, or what a piece makes of it."""
    if met.behind or met.parts[0].kind != "made_of_all":
        return met
    made = shard.finish(first + len(items), met.parts[0].own)
    return met if made is None else Met([made], {})


_REDUCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "largest": lambda own: np.max(np.array(own), axis=0),
    "added": lambda own: np.sum(np.array(own), axis=0),
    "largest_and_added": lambda own: (
        np.max([tops for tops, _ in own], axis=0),
        np.sum([sums for _, sums in own], axis=0),
    ),
    "gathered": np.concatenate,
    "collected": lambda own: list(itertools.chain.from_iterable(own)),
    "made_of_all": lambda own: list(itertools.chain.from_iterable(own)),
}


class Constant(NamedTuple):
    """An object that goes to the pieces as it is."""

    value: Any


def constant(rows: Any, place: Any, value: Constant) -> Any:
    """Return the object of a piece."""
    return value.value


class Driver(Exchange):
    """Keeps the log, and brings all pieces to each exchange.

    It is the exchange of its own piece, which has no rows.

    Parameters
    ----------
    engine : Engine
    rows : object
        The driver's own, none, with a `place`.
    """

    def __init__(self, engine: Engine, rows: Any) -> None:
        self._engine, self._rows, self._one = engine, rows, RLock()
        self._place = rows.place._replace(exchange=self)
        self._log: list[Item] = []
        self._told = 0  # items of the log, to all pieces
        self._objects: dict[int, Any] = {}
        self._constants: dict[int, tuple[Any, Everywhere]] = {}  # by their identity, with what stands for them
        self._stand_for: dict[int, int] = {}  # how many stand for what a call has made
        self.left: deque[int] = deque()  # calls that something stood for, which is gone
        self._workers = Workers()
        self.n_exchanges = 0

    def close(self) -> None:
        """Let the pieces go: nobody is asked any more.

        What has been made refers to its driver, so that a collection of garbage, which may come late, would do it else.
        """
        self._engine.close()
        self._log, self._objects, self._constants = [], {}, {}

    # -- the exchange of the driver's piece ------------------------------------------------------------------------
    def told(self, told: Any) -> Any:
        """Write down what the pieces are told when they go on."""
        self._log.append(Reply(copy.deepcopy(told), asked=False))
        return told

    def made_of_all(self, own: Any, make: Callable[[list[Any]], Any]) -> Any:
        """Return what a piece makes of all messages, or make it here."""
        return self.met("made_of_all", [own], make)

    def met(self, kind: str, own: Any, make: Callable[[list[Any]], Any] | None = None) -> Any:
        """Bring all pieces to one exchange."""
        known, met = dict.fromkeys(range(self._engine.n_shards), self._told), Met([], {})
        while known:  # where some are built anew, they are told more than others
            first = min(known.values())
            asked = [number for number, own in known.items() if own == first]
            some = self._engine.asked(asked, stepped, combined, finished, first, self._log[first:])
            known = {number: own for number, own in known.items() if own != first}
            known |= {number: min(own, self._told) for number, own in some.behind.items()}
            met = combined([met._replace(behind={}), some])
        (found,) = met.parts
        is_made = make is not None and found.kind == MADE
        if found.kind != kind and not is_made:
            raise RuntimeError(f"pieces of rows meet in the exchange {kind!r}, got {found.kind!r}: the calls differ.")
        self._told = len(self._log)
        self.n_exchanges += 1
        together = found.own if is_made else _REDUCTIONS[kind]([own, found.own])
        together = together if is_made or make is None else make(together)
        self._log.append(Reply(None if kind == "collected" else copy.deepcopy(together)))  # what is given may change
        return together

    # -- calls -----------------------------------------------------------------------------------------------------
    def made(self, make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return what make(rows, place, ...) makes in each piece."""
        return self.asked(None, make, arguments, options)

    def asked(
        self,
        of: Handle | None,
        name: Any,
        arguments: tuple[Any, ...] = (),
        options: dict[str, Any] | None = None,
        reads: bool = False,
    ) -> Any:
        """Ask an object of all pieces; the answer, which is the same in all of them, or what stands for all answers."""
        with self._one:
            told = self._as_told(arguments), self._as_told(options or {})
            here = self._as_told(arguments, copied=False), self._as_told(options or {}, copied=False)
            self._forget()
            number = len(self._log)
            self._log.append(Call(number, of, name, *told, reads))
            own = Call(number, of, name, *here, reads)
            found = answer(own, self._rows, self._place, self._objects, self._workers)
            standing = self._standing(found, Handle(number), name in OPAQUE or name is constant)
            self._objects[number] = found
            stands = [one for one in (standing if type(standing) is tuple else (standing,)) if type(one) is Everywhere]
            self._stand_for[number] = len(stands)
            if not stands:
                self.left.append(number)
            return standing

    def _forget(self) -> None:
        """Tell pieces what nothing stands for any more: they hold memory."""
        calls = []
        while self.left:
            number = self.left.popleft()
            self._stand_for[number] -= 1
            if self._stand_for[number] <= 0:
                calls.append(number)
                del self._stand_for[number], self._objects[number]
        if calls:
            self._log.append(Forget(tuple(calls)))

    def _as_told(self, value: Any, copied: bool = True) -> Any:
        """Return it as it goes to the pieces: what may be changed later is copied, unless it stays here."""
        if isinstance(value, Everywhere):
            return value._handle
        if isinstance(value, Workers):
            return Threads()
        if type(value) in (list, tuple):
            return type(value)(self._as_told(one, copied) for one in value)
        if type(value) is dict:
            return {name: self._as_told(one, copied) for name, one in value.items()}
        if type(value).__module__.startswith("minrisk.") and not isinstance(value, tuple):
            return self._known(value)
        return copy.deepcopy(value) if copied and isinstance(value, np.ndarray | np.random.Generator) else value

    def _known(self, value: Any) -> Handle:
        """Return an object that pieces are sent once, so that it is the same one for them, too, whenever it comes."""
        if id(value) not in self._constants:
            self._constants[id(value)] = value, self.asked(None, constant, (Constant(value),))
        return self._constants[id(value)][1]._handle

    def _standing(self, found: Any, handle: Handle, opaque: bool) -> Any:
        """Return what users of it see: values are themselves, objects that hold rows are asked everywhere."""
        if opaque or (type(found).__module__.startswith(HOLD_ROWS) and not isinstance(found, tuple)):
            return Everywhere(self, handle, found)
        if type(found) is tuple and handle.part < 0:
            return tuple(self._standing(part, Handle(handle.call, p), opaque) for p, part in enumerate(found))
        return found


class Everywhere:
    """An object of every piece: what is asked of it is asked of all of them."""

    def __init__(self, driver: Driver, handle: Handle, own: Any) -> None:
        self._driver, self._handle, self._own = driver, handle, own

    def __del__(self) -> None:
        self._driver.left.append(self._handle.call)

    @property
    def n_samples(self) -> int:
        """Return rows of all pieces."""
        return int(self._own.place.n_rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what it has itself would have been found
            raise AttributeError(name)
        if name in OF_ONE_PLACE:
            return lambda *arguments, **options: None
        own, driver = self._own, self._driver
        if name in vars(own):
            return getattr(own, name)
        static = getattr_static(type(own), name, None)
        if isfunction(static):
            return lambda *arguments, **options: driver.asked(self._handle, name, arguments, options)
        if hasattr(static, "__get__"):
            return driver.asked(self._handle, name, reads=True)
        return getattr(own, name)
