"""Rows in several pieces that share no memory: what stands for all of them.

Each piece is rows of `minrisk.rows` with arrays of its own. A call is answered by all pieces side by side, and only
what they exchange (`minrisk.rows.exchange`) goes from one to another, as copies. They must give the same answer.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from inspect import getattr_static, isfunction
from threading import Barrier, BrokenBarrierError, RLock
from typing import Any, NamedTuple

import numpy as np

from minrisk.rows import factory
from minrisk.rows.columns import Columns
from minrisk.rows.exchange import Exchange, Place
from minrisk.rows.folded import FoldedRows
from minrisk.rows.similar import SimilarRows

PATIENCE = 60  # seconds that a piece waits for others that ask for something else
RETURNED_BY_EACH = {"scores", "response", "leaf"}  # columns that tests look at


class Meeting:
    """Where the pieces lay down their arrays, and take copies of what they are together."""

    def __init__(self, n_pieces: int, place: int) -> None:
        self._barrier, self._laid, self.place = Barrier(n_pieces), [None] * n_pieces, place
        self.longest = 0  # bytes of a message
        self.most_lines = 0  # along an axis of one, or of several that are gathered

    def all_of(self, piece: int, own: Any) -> list[Any]:
        self._laid[piece] = copy.deepcopy(own)
        self._barrier.wait(PATIENCE)
        found = copy.deepcopy(self._laid)
        self._barrier.wait(PATIENCE)
        self.longest = max(self.longest, size_of(own))
        self.most_lines = max(self.most_lines, lines_of(own))
        return found

    def given_up(self) -> None:
        self._barrier.abort()


class Together:
    """The exchange of one piece."""

    def __init__(self, meeting: Meeting, piece: int) -> None:
        self._meeting, self._piece = meeting, piece

    def largest(self, own: np.ndarray) -> np.ndarray:
        return np.max(self._meeting.all_of(self._piece, own), axis=0)

    def added(self, own: np.ndarray) -> np.ndarray:
        found = np.array(self._meeting.all_of(self._piece, own))
        np.testing.assert_array_equal(found.sum(axis=0), found[::-1].sum(axis=0))  # exact: in no order
        return found.sum(axis=0)

    def largest_and_added(self, tops: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self._meeting.all_of(self._piece, (tops, sums))
        return np.max([own for own, _ in found], axis=0), np.sum([own for _, own in found], axis=0)

    def gathered(self, own: np.ndarray) -> np.ndarray:
        found = np.concatenate(self._meeting.all_of(self._piece, own))
        self._meeting.most_lines = max(self._meeting.most_lines, len(found))
        return found

    def collected(self, own: Any) -> list[Any] | None:
        found = self._meeting.all_of(self._piece, own)
        return found[::-1] if self._piece == self._meeting.place else None  # any order will do

    made_of_all = Exchange.made_of_all

    def told(self, told: Any) -> Any:
        assert (told is None) == (self._piece != self._meeting.place)
        return self._meeting.all_of(self._piece, told)[self._meeting.place]


class OfPieces(NamedTuple):
    """What each piece has of a bag, or of scores of rows left out."""

    parts: list[Any]


class Pieced:
    """Asks all pieces, one question after another, and lets them meet."""

    def __init__(self, cuts: list[int]) -> None:
        sizes = np.diff(cuts)
        place = (
            int(sizes.argmin()) if sizes.min() == 0 else len(sizes) - 1
        )  # where drawn rows are sent: one without rows
        self._meeting, self._one = Meeting(len(sizes), place), RLock()
        self._pool = ThreadPoolExecutor(len(sizes))

    def _like(self, pieces: list[Any], cls: Any, **attributes: Any) -> Any:
        """Other objects of the pieces, which meet where these do."""
        other = cls.__new__(cls)
        vars(other).update(_meeting=self._meeting, _one=self._one, _pool=self._pool, pieces=pieces, **attributes)
        return other

    def _side_by_side(self, tasks: list[Any]) -> list[Any]:
        with self._one:
            return self._run(tasks)

    def _run(self, tasks: list[Any]) -> list[Any]:
        def run(task: Any) -> Any:
            try:
                return task()
            except BaseException:
                self._meeting.given_up()
                raise

        running = [self._pool.submit(copy_context().run, run, task) for task in tasks]  # what NumPy ignores, too
        errors = [error for future in running if (error := future.exception()) is not None]
        if errors:
            raise next((error for error in errors if not isinstance(error, BrokenBarrierError)), errors[0])
        return [future.result() for future in running]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not isfunction(getattr_static(type(self.pieces[0]), name, None)):  # properties may exchange
            return self._agreed(self._side_by_side([lambda piece=piece: getattr(piece, name) for piece in self.pieces]))

        return lambda *arguments, **options: self._agreed(self._of_each(name, *arguments, **options))

    def _of_each(self, name: str, *arguments: Any, **options: Any) -> list[Any]:
        return self._side_by_side(
            [
                lambda piece=piece, p=p: getattr(piece, name)(*own(arguments, p), **own(options, p))
                for p, piece in enumerate(self.pieces)
            ]
        )

    def _agreed(self, answers: list[Any]) -> Any:
        if isinstance(answers[0], Iterator):
            return self._walked(answers)
        for other in answers[1:]:
            assert_same(answers[0], other)
        return answers[0]

    def _walked(self, walks: list[Any]) -> Iterator[Any]:
        end = object()
        while (
            found := self._agreed(self._side_by_side([lambda walk=walk: next(walk, end) for walk in walks]))
        ) is not end:
            yield found

    @property
    def longest(self) -> int:
        """Bytes of the longest message so far."""
        return self._meeting.longest

    @property
    def most_lines(self) -> int:
        """Along an axis of a message, or of several that were gathered."""
        return self._meeting.most_lines


class PiecedRows(Pieced):
    """Follows the protocol of rows.

    Parameters
    ----------
    make : callable
        A class of `minrisk.rows`.
    cuts : sequence of int
        Where the rows are divided, 0 and their number among them.
    **columns
        Its parameters, of all rows.
    """

    def __init__(self, make: Any, cuts: list[int], **columns: Any) -> None:
        super().__init__(cuts)
        self.cuts, self._all_costs = cuts, columns["costs"]
        ends = list(itertools.pairwise(cuts))
        self.pieces = self._side_by_side(
            [
                lambda p=p, a=a, b=b: make(
                    **part_of(make, columns, a, b), place=Place(a, cuts[-1], Together(self._meeting, p))
                )
                for p, (a, b) in enumerate(ends)
            ]
        )

    # -- what is not the same for all pieces ---------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        if name in RETURNED_BY_EACH:
            return np.concatenate([getattr(piece, name) for piece in self.pieces])
        return super().__getattr__(name)

    @property
    def n_samples(self) -> int:
        return self.cuts[-1]

    @property
    def costs(self) -> Any:
        return self._all_costs

    def draw_bag(self, size: int, generator: np.random.Generator) -> OfPieces:
        before = copy.deepcopy(generator)
        generator.choice(self.n_trained, size=size, replace=False)
        return OfPieces([piece.draw_bag(size, copy.deepcopy(before)) for piece in self.pieces])

    def leaves_of(self, *arguments: Any) -> Any:
        return self._of_each("leaves_of", *arguments)[self._meeting.place]

    def left_out_scores(self, *arguments: Any) -> OfPieces:
        return OfPieces(self._of_each("left_out_scores", *arguments))

    def whole_rounds(self, rule: Any) -> None:
        return None

    @property
    def resting(self) -> bool:
        return any(piece.resting for piece in self.pieces)


class PiecedHeldOut(Pieced):
    """Follows the protocol of rows held out."""

    def of_folds(self, n_folds: int) -> Any:
        return self._like(self._of_each("of_folds", n_folds), PiecedHeldOut)

    def divided(self, by: float) -> Any:
        return self._like(self._of_each("divided", by), PiecedHeldOut)

    def mixed(self, *arguments: Any) -> Any:
        return self._like(self._of_each("mixed", *arguments), PiecedHeldOut)

    def plus(self, *arguments: Any) -> Any:
        return self._like(self._of_each("plus", *arguments), PiecedHeldOut)

    def sampled(self, step: int) -> Any:
        return self._of_each("sampled", step)[self._meeting.place]

    def forgotten(self) -> Any:
        return self._like(self._of_each("forgotten"), PiecedHeldOut)


class PiecedColumns(Columns):
    """Bins that lie in pieces."""

    def __init__(self, parts: list[Columns]) -> None:
        self.parts = parts
        super().__init__(None, parts[0].n_bins, parts[0].thresholds)


class PiecedFoldedRows(Pieced):
    """Follows the protocol of rows in folds.

    Parameters
    ----------
    cuts, costs, folds
        As those of `PiecedRows`, and of all rows.
    made : list
        Of rows, to which those of members are added.
    in_folds : bool
        Whether each piece has rows of every fold, or consecutive rows.
    """

    def __init__(self, cuts: list[int], costs: Any, folds: np.ndarray, made: list[PiecedRows], in_folds: bool) -> None:
        super().__init__(cuts)
        self.made, ends, bounds = (
            made,
            list(itertools.pairwise(cuts)),
            np.searchsorted(folds, np.arange(max(folds) + 2)),
        )
        segments = [()] * len(ends)
        self.rows = [np.arange(a, b) for a, b in ends]
        if in_folds:
            shares = [np.array([a, b]) / cuts[-1] for a, b in ends]
            of_folds = [
                [np.rint(low + share * (high - low)).astype(int) for low, high in itertools.pairwise(bounds)]
                for share in shares
            ]
            self.rows = [np.concatenate([np.arange(*part) for part in parts]) for parts in of_folds]
            begins = [np.cumsum([0, *(b - a for a, b in parts)]).tolist() for parts in of_folds]
            segments = [
                tuple((i, int(a)) for i, (a, _) in zip(own, parts, strict=False))
                for own, parts in zip(begins, of_folds, strict=True)
            ]
        self.cuts = [0, *np.cumsum([len(own) for own in self.rows]).tolist()]
        assert sorted(np.concatenate(self.rows)) == list(range(cuts[-1]))
        self.pieces = self._side_by_side(
            [
                lambda p=p, own=own: FoldedRows(
                    type(costs)(*copy.deepcopy(tuple(costs.at(own)))),
                    folds[own].copy(),
                    place=Place(self.cuts[p], cuts[-1], Together(self._meeting, p), segments[p]),
                )
                for p, own in enumerate(self.rows)
            ]
        )

    def blind(self, n_classes: int) -> Any:
        pieces = self._of_each("blind", n_classes)
        return self._like(pieces, PiecedFoldedRows, cuts=self.cuts, made=self.made, rows=self.rows)

    def _parts_of(self, columns: Columns) -> list[Columns]:
        if isinstance(columns, PiecedColumns):
            return columns.parts
        parts = [columns.some(len(columns.n_bins), own) for own in self.rows]
        return [Columns(part.binned, part.n_bins.copy(), part.thresholds) for part in parts]

    def without(self, fold: int | None, columns: Columns, workers: Any) -> PiecedRows:
        pieces = self._of_each("without", fold, OfPieces(self._parts_of(columns)), workers)
        self.made.append(self._like(pieces, PiecedRows, cuts=self.cuts, _all_costs=None))
        return self.made[-1]

    def of_class(self, label: int, columns: Columns, n_features: int) -> tuple[Any, Columns] | None:
        found = self._of_each("of_class", label, OfPieces(self._parts_of(columns)), n_features)
        if found[0] is None:
            return None
        cuts = [0, *np.cumsum([part.binned.shape[1] for _, part in found]).tolist()]
        rows = self._like([rows for rows, _ in found], PiecedFoldedRows, cuts=cuts, made=self.made, rows=None)
        return rows, PiecedColumns([part for _, part in found])

    def held_out(self, *arguments: Any) -> Any:
        return self._like(self._of_each("held_out", *arguments), PiecedHeldOut)

    def mixed(self, *arguments: Any) -> Any:
        return self._like(self._of_each("mixed", *arguments), PiecedHeldOut)

    def constant(self, scores: Any) -> Any:
        return self._like(self._of_each("constant", scores), PiecedHeldOut)

    def some(self, most: int, seed: int) -> Any:
        return self._of_each("some", most, seed)[self._meeting.place]

    def dealt(self, *arguments: Any) -> OfPieces:
        return OfPieces(self._of_each("dealt", *arguments))


def size_of(message: Any) -> int:
    """Bytes of the arrays of a message."""
    return sum(
        array.nbytes
        for array in (message if isinstance(message, tuple) else (message,))
        if isinstance(array, np.ndarray)
    )


def lines_of(message: Any) -> int:
    """Of an array along its longest axis; messages of several are of rows that were drawn."""
    return max(message.shape) if isinstance(message, np.ndarray) else 0


def own(arguments: Any, piece: int) -> Any:
    """A piece's copies of what is asked."""
    if isinstance(arguments, OfPieces):
        return arguments.parts[piece]
    if isinstance(arguments, PiecedHeldOut):
        return arguments.pieces[piece]
    if isinstance(arguments, dict):
        return {name: own(value, piece) for name, value in arguments.items()}
    if type(arguments) in (list, tuple):
        return type(arguments)(own(value, piece) for value in arguments)
    if isinstance(arguments, np.ndarray) or hasattr(arguments, "fit"):  # a regressor is changed by its fit
        return copy.deepcopy(arguments)
    return arguments


def part_of(make: Any, columns: dict[str, Any], first: int, last: int) -> dict[str, Any]:
    """The columns of some rows, in memory of their own. Points are compared with all others."""
    own = {name: value for name, value in columns.items() if name not in ("index", "workers")}
    part = {**copy.deepcopy(own), "workers": columns["workers"]}
    costs = columns["costs"].at(np.arange(first, last))
    part["costs"] = type(costs)(*copy.deepcopy(tuple(costs)))
    if "X_binned" in part:
        part["X_binned"] = part["X_binned"][:, first:last].copy()
    if "X" in part:
        part["X"] = part["X"].copy() if make is SimilarRows else part["X"][first:last].copy()
    return part


def assert_same(one: Any, other: Any) -> None:
    """Two pieces have answered the same, to the last bit."""
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    elif isinstance(one, tuple):
        assert type(one) is type(other) and len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, (int, float, str, bool, type(None), frozenset)):
        assert one == other or (one != one and other != other), f"{one} and {other}"
    else:
        assert type(one) is type(other)


def cuts_of(n: int, n_pieces: int) -> list[int]:
    """Uneven pieces, among them an empty one and, of rows enough, one of one row."""
    inner = np.sort(np.random.default_rng(n).integers(0, n + 1, n_pieces - 1)).tolist()
    if n_pieces > 2:
        inner[0] = min(1, n)
        inner[1] = inner[0]
    return [0, *sorted(inner), n]


def in_pieces(monkeypatch: Any, n_pieces: int, in_folds: bool = False) -> list[PiecedRows]:
    """All rows that the factory makes from now on are in so many pieces; returns those that it has made.

    Those of `MinRiskClassifier` have rows of each fold if so told.
    """
    made, make_rows = [], factory.make_rows

    def pieced(kind: Any) -> Any:
        """A subclass whose instances are in pieces."""

        def new(_: Any, **columns: Any) -> Any:
            if columns.get("place"):  # a piece
                return kind(**columns)
            made.append(PiecedRows(kind, cuts_of(len(columns["costs"].row), n_pieces), **columns))
            return made[-1]

        return type(kind.__name__, (kind,), {"__new__": new})

    def folded_rows(costs: Any, folds: np.ndarray) -> PiecedFoldedRows:
        return PiecedFoldedRows(cuts_of(len(folds), n_pieces), costs, folds, made, in_folds)

    monkeypatch.setattr(
        factory, "make_rows", lambda kind, *given, **options: make_rows(pieced(kind), *given, **options)
    )
    monkeypatch.setattr("minrisk.rows.folded.Rows", pieced(factory.Rows))
    monkeypatch.setattr("minrisk.ensemble.table.FoldedRows", folded_rows)
    return made
