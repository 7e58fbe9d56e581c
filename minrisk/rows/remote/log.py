"""What is told to pieces of rows elsewhere: calls, and what exchanges have given."""

from __future__ import annotations

from typing import Any, NamedTuple


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


class Forget(NamedTuple):
    """What these calls have made is not asked for any more."""

    calls: tuple[int, ...]


Item = Call | Reply | Forget


class Contribution(NamedTuple):
    """What a piece brings to an exchange."""

    kind: str  # method of `minrisk.rows.exchange.Exchange`
    own: Any


class Behind(NamedTuple):
    """A piece cannot go on from where it is asked to: it knows the log up to these positions, by the piece's number."""

    known: dict[int, int]
