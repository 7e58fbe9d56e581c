"""Who asks pieces of rows elsewhere, and stands for all of them."""

from __future__ import annotations

import copy
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from inspect import getattr_static, isfunction
from threading import RLock
from typing import Any, NamedTuple, Protocol

import numpy as np

from minrisk._workers import Workers
from minrisk.rows.remote.log import Behind, Call, Contribution, Forget, Handle, Item, Reply
from minrisk.rows.remote.replica import Shard, Threads, answer

HOLD_ROWS = ("minrisk.rows.", "minrisk.ensemble.")  # modules whose objects do, named tuples apart
OPAQUE = frozenset({"draw_bag", "left_out_scores", "dealt"})  # whose arrays are the pieces' own
OF_ONE_PLACE = frozenset({"whole_rounds"})  # of rows that are all here


class Engine(Protocol):
    """What carries calls to shards and brings back what they give: all that is known of a cluster."""

    n_shards: int

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Of each shard the future of function(shard, *its arguments)."""

    def reduce(self, function: Callable[[Sequence[Any]], Any], futures: Sequence[Any]) -> Any:
        """function(results) here, where function(parts of them) may come first: it is associative."""

    def look_again(self) -> None:
        """Some shards have been built again, perhaps at other places."""

    def close(self) -> None:
        """Let the shards go."""


def stepped(shard: Shard, first: int, items: Sequence[Item]) -> Contribution | Behind:
    """See `Shard.step`."""
    return shard.step(first, items)


def combined(found: Sequence[Contribution | Behind]) -> Contribution | Behind:
    """What pieces give together."""
    behind = [one for one in found if isinstance(one, Behind)]
    if behind:
        return Behind({number: known for one in behind for number, known in one.known.items()})
    kinds = {one.kind for one in found if isinstance(one, Contribution)}
    if len(kinds) != 1:
        raise RuntimeError(f"pieces of rows meet in one exchange, got {sorted(kinds)}: the calls differ.")
    kind, own = kinds.pop(), [one.own for one in found if isinstance(one, Contribution)]
    return Contribution(kind, own[0] if len(own) == 1 else _REDUCTIONS[kind](own))


def _largest(own: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(np.max(np.array(own), axis=0))


def _added(own: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(np.sum(np.array(own), axis=0))


def _joined(own: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(own)


def _listed(own: Sequence[list[Any]]) -> list[Any]:
    return list(itertools.chain.from_iterable(own))


_REDUCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "largest": _largest,
    "added": _added,
    "gathered": _joined,
    "collected": _listed,
}


class Constant(NamedTuple):
    """An object that goes to the pieces as it is."""

    value: Any


def constant(rows: Any, place: Any, value: Constant) -> Any:
    """The object of a piece."""
    return value.value


class Driver:
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
    def largest(self, own: np.ndarray) -> np.ndarray:
        """Elementwise maximum."""
        return self._all_of("largest", own)  # type: ignore[no-any-return]

    def added(self, own: np.ndarray) -> np.ndarray:
        """Sum."""
        return self._all_of("added", own)  # type: ignore[no-any-return]

    def gathered(self, own: np.ndarray) -> np.ndarray:
        """The pieces' arrays one after another."""
        return self._all_of("gathered", own)  # type: ignore[no-any-return]

    def collected(self, own: Any) -> list[Any]:
        """The messages of all pieces, here only."""
        return self._all_of("collected", [own])  # type: ignore[no-any-return]

    def told(self, value: Any) -> Any:
        """What the pieces are told when they go on."""
        self._log.append(Reply(copy.deepcopy(value), asked=False))
        return value

    def _all_of(self, kind: str, own: Any) -> Any:
        """One exchange."""
        firsts = [self._told] * self._engine.n_shards
        while True:
            asked = self._engine.map(stepped, [(first, self._log[first:]) for first in firsts])
            found = self._engine.reduce(combined, asked)
            if not isinstance(found, Behind):
                break
            for number, known in found.known.items():  # of a piece that is built anew
                firsts[number] = min(known, self._told)
            self._engine.look_again()
        if found.kind != kind:
            raise RuntimeError(f"pieces of rows meet in the exchange {kind!r}, got {found.kind!r}: the calls differ.")
        self._told = len(self._log)
        self.n_exchanges += 1
        together = _REDUCTIONS[kind]([own, found.own])
        self._log.append(Reply(None if kind == "collected" else copy.deepcopy(together)))  # what is given may change
        return together

    # -- calls -----------------------------------------------------------------------------------------------------
    def made(self, make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """What make(rows, place, ...) makes in each piece."""
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
        """As it goes to the pieces: what may be changed later is copied, unless it stays here."""
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
        """An object that pieces are sent once, so that it is the same one for them, too, whenever it comes."""
        if id(value) not in self._constants:
            self._constants[id(value)] = value, self.asked(None, constant, (Constant(value),))
        return self._constants[id(value)][1]._handle

    def _standing(self, found: Any, handle: Handle, opaque: bool) -> Any:
        """What users of it see: values are themselves, objects that hold rows are asked everywhere."""
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
        """Rows of all pieces."""
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
