"""Labels of classes and decisions: how they are told apart, matched and named in messages.

Two labels match when they are equal or, failing that, when they are written alike, so that the label ``1`` of
an array finds the row ``"1"`` of a CSV file. A whole float is written as the integer: ``1.0`` finds ``"1"``
too. A truth value finds ``"TRUE"`` and ``"true"``, as other programs write it.

Decisions that are no class have default names: ``"refer"`` (several: ``"refer_1"``, ``"refer_2"``, …) beside
classes that are texts, and -1 (-2, …; the first whole numbers below zero that are no class) beside numbers, so
that arrays of decisions are of one kind, as scikit-learn's metrics want them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

Labels = tuple[Any, ...]

_SHOWN_LABELS = 8  # labels listed in a message before "..."
_REFER = re.compile(r"refer(?:_([1-9]\d{0,3}))?")  # default names of decisions that are no class, as texts
_BELOW_ZERO = re.compile(r"-[1-9]\d{0,15}")
_TRUTHS = ("true", "false")
_WHOLE_NUMBER = re.compile(r"-?[1-9]\d{0,15}|0")  # a label that is one, as a text


def as_labels(labels: Any, what: str = "classes") -> Labels:
    """Return ``labels`` as a tuple of plain Python values, checked to be hashable and distinct.

    Parameters
    ----------
    labels : sequence of labels
        An array, a pandas Index or Series, a list or a tuple. Sets are refused, since they have no order.
    what : str
        The name used in messages.

    Returns
    -------
    tuple
        The labels, NumPy scalars turned into Python values.

    Raises
    ------
    TypeError
        If ``labels`` is not an ordered collection, or a label cannot be hashed.
    ValueError
        If two labels are the same or are written alike.

    Examples
    --------
    >>> import numpy as np
    >>> as_labels(np.array([3, 1]))
    (3, 1)
    """
    if isinstance(labels, (str, bytes, set, frozenset)) or not isinstance(labels, Iterable):
        raise TypeError(
            f"{what} must be a list or array of labels in order, got {type(labels).__name__}: "
            f"write the labels one by one, as in ['cat', 'dog']."
        )
    found = tuple(_plain(label) for label in labels)
    for label in found:
        try:
            hash(label)
        except TypeError:
            raise TypeError(
                f"{what} must be numbers, strings or other hashable values, got the {type(label).__name__} "
                f"{label!r}: give a flat list of labels."
            ) from None
    _check_distinct(found, what)
    return found


def label_text(label: Any) -> str:
    """Return how ``label`` is written, a whole float as the integer.

    Examples
    --------
    >>> label_text("cat"), label_text(1), label_text(1.0)
    ('cat', '1', '1')
    """
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def match_labels(wanted: Iterable[Any], given: Sequence[Any]) -> list[int]:
    """Return the position in ``given`` of every label of ``wanted``, -1 where there is none.

    Parameters
    ----------
    wanted : iterable of labels
        What is looked for.
    given : sequence of labels
        Distinct labels.

    Returns
    -------
    list of int
        As many positions as ``wanted`` has labels.

    Examples
    --------
    >>> match_labels([2, 3, "a"], ["a", "2", "b"])
    [1, -1, 0]
    """
    known = {label_text(label): i for i, label in enumerate(given)} | {label: i for i, label in enumerate(given)}
    truths = written_truths(given)

    def position(label: Any) -> int:
        at = known.get(label, known.get(label_text(label)))
        return match_truth(label, given, truths) if at is None else at

    return [position(label) for label in wanted]


def unmatched(labels: Sequence[Any], given: Sequence[Any]) -> Labels:
    """Return the labels that find none among those given.

    Examples
    --------
    >>> unmatched(["a", 1], ["b", "1"])
    ('a',)
    """
    return tuple(label for label, at in zip(labels, match_labels(labels, given), strict=True) if at < 0)


def written_truths(labels: Sequence[Any]) -> dict[str, int]:
    """Return the positions of "true" and "false" among labels, of each that stands there once in any letters.

    Examples
    --------
    >>> written_truths(["TRUE", False, "maybe"])
    {'true': 0, 'false': 1}
    """
    found: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        text = label_text(label).strip().lower()
        if text in _TRUTHS:
            found.setdefault(text, []).append(i)
    return {text: at[0] for text, at in found.items() if len(at) == 1}


def match_truth(label: Any, given: Sequence[Any], truths: dict[str, int]) -> int:
    """Return the position of the same truth value, if `label` or what is given is one and no text; else -1.

    Examples
    --------
    >>> given = [True, "yes"]
    >>> match_truth("TRUE", given, written_truths(given)), match_truth("YES", given, written_truths(given))
    (0, -1)
    """
    at = truths.get(label_text(label).strip().lower(), -1) if truths else -1
    return at if at >= 0 and any(isinstance(value, (bool, np.bool_)) for value in (label, given[at])) else -1


def no_classes(decisions: Sequence[Any], classes: Sequence[Any]) -> list[int]:
    """Return the positions of the decisions that are no class, such as to refer a case.

    Examples
    --------
    >>> no_classes(["a", "b", "refer"], ["b", "a"])
    [2]
    """
    return [j for j, at in enumerate(match_labels(decisions, classes)) if at < 0]


def match_decisions(wanted: Iterable[Any], decisions: Sequence[Any], classes: Labels) -> list[int]:
    """Return the position in ``decisions`` of every label of ``wanted``, -1 where there is none.

    As :func:`match_labels`, but the two default names of a decision that is no class find each other.

    Examples
    --------
    >>> match_decisions(["refer", -1, 1, -2], [0, 1, -1], (0, 1))
    [2, 2, 1, -1]
    """
    labels = list(wanted)
    found = match_labels(labels, decisions)
    if -1 in found:
        ranks = {refer_rank(decisions[j], classes): j for j in no_classes(decisions, classes)}
        ranks.pop(0, None)
        found = [
            ranks.get(refer_rank(label, classes), -1) if at < 0 else at for label, at in zip(labels, found, strict=True)
        ]
    return found


def are_numbers(labels: Sequence[Any]) -> bool:
    """Return whether there are labels and all are numbers or truth values."""
    return len(labels) > 0 and all(isinstance(label, Real) for label in labels)


def written_numbers(labels: Sequence[Any]) -> list[float] | None:
    """Return the numbers that the labels are or that their texts write, None if one is no finite number.

    Examples
    --------
    >>> written_numbers([3, "10"]), written_numbers(["1", "one"])
    ([3.0, 10.0], None)
    """
    try:
        found = [float(label) if isinstance(label, Real) else float(str(label)) for label in labels]
    except (ValueError, OverflowError):
        return None
    return found if all(map(math.isfinite, found)) else None


def refer_labels(count: int, classes: Sequence[Any]) -> Labels:
    """Return the default names of ``count`` decisions that are no class, beside such classes.

    Examples
    --------
    >>> refer_labels(1, ["a", "b"]), refer_labels(2, ["a", "b"])
    (('refer',), ('refer_1', 'refer_2'))
    >>> refer_labels(1, [0, 1]), refer_labels(2, [-1, 1])
    ((-1,), (-2, -3))
    """
    return refer_numbers(count, classes) if are_numbers(classes) else refer_texts(count)


def default_decisions(classes: Labels, count: int) -> Labels:
    """Return the names of ``count`` decisions without labels: the classes, then those that are no class."""
    return as_labels(classes + refer_labels(count - len(classes), classes), "the decisions (classes, then refer)")


def refer_texts(count: int) -> Labels:
    """Return "refer", or "refer_1", "refer_2", ... where there are several."""
    return ("refer",) if count == 1 else tuple(f"refer_{i}" for i in range(1, count + 1))


def refer_numbers(count: int, classes: Sequence[Any]) -> Labels:
    """Return the first whole numbers below zero that are no class."""
    taken = {label_text(label) for label in classes}
    below = (-i for i in range(1, count + len(taken) + 1) if str(-i) not in taken)
    return tuple(number for number, _ in zip(below, range(count), strict=False))


def refer_rank(label: Any, classes: Sequence[Any]) -> int:
    """Return which of the decisions that are no class a default name means, from 1; 0 for any other label.

    Examples
    --------
    >>> refer_rank("refer", ["a"]), refer_rank("refer_2", ["a"]), refer_rank(-2, [0, 1]), refer_rank("clerk", ["a"])
    (1, 2, 2, 0)
    """
    text = label_text(label)
    named = _REFER.fullmatch(text)
    if named:
        return int(named[1] or 1)
    known = written_numbers(classes) if _BELOW_ZERO.fullmatch(text) else None
    if known is None or int(text) in known:
        return 0
    return -int(text) - sum(int(text) < other < 0 and other == int(other) for other in known)


def named_beside(decisions: Labels, rows: Labels, classes: Labels) -> Labels:
    """Return decisions that are no class as they are called beside ``classes``.

    Parameters
    ----------
    decisions : tuple of labels
        Those of a cost whose classes are ``rows``.
    rows, classes : tuple of labels
        The classes as the cost and as the data write them.

    Returns
    -------
    tuple of labels
        Beside numbers, default names and texts of whole numbers as numbers. Beside texts, numbers as default names
        or as texts, if they stood beside numbers. Others as they are.

    Examples
    --------
    >>> named_beside(("refer", "7", "clerk"), ("0", "1"), (0, 1))
    (-1, 7, 'clerk')
    >>> named_beside((-1, "clerk"), (0, 1), ("0", "1"))
    ('refer', 'clerk')
    """
    if are_numbers(classes):
        found: list[Any] = []
        known, given = set[Any](), set(decisions)
        for label in decisions:
            number = label
            if isinstance(label, str) and (rank := refer_rank(label, rows)):
                number = refer_numbers(rank, (*rows, *classes))[-1]
            elif isinstance(label, str) and _WHOLE_NUMBER.fullmatch(label):
                number = int(label)
            found.append(label if number in known or (number is not label and number in given) else number)
            known.add(found[-1])
        return tuple(found)
    if are_numbers(rows) and all(isinstance(label, str) for label in classes):
        ranks = [0 if isinstance(label, str) else refer_rank(label, rows) for label in decisions]
        several = sum(map(bool, ranks)) > 1
        return tuple(
            (f"refer_{rank}" if several else "refer") if 0 < rank <= len(ranks) else label_text(label)
            for label, rank in zip(decisions, ranks, strict=True)
        )
    return decisions


def listed(labels: Sequence[Any]) -> str:
    """Return the labels as a message shows them, the tail of a long list left out.

    Examples
    --------
    >>> listed(["a", "b"])
    "['a', 'b']"
    >>> listed(range(100))
    '[0, 1, 2, 3, 4, 5, 6, 7, ... (100 in all)]'
    """
    shown = [repr(label) for label in labels[:_SHOWN_LABELS]]
    if len(labels) > _SHOWN_LABELS:
        shown.append(f"... ({len(labels)} in all)")
    return f"[{', '.join(shown)}]"


def _plain(label: Any) -> Any:
    """Turn a NumPy scalar into the Python value that equals it (dates stay: their Python values do not)."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label


def _check_distinct(labels: Labels, what: str) -> None:
    known: dict[Any, Any] = {}
    for label in labels:
        ways = label, label_text(label)
        if others := [known[way] for way in ways if way in known]:
            raise ValueError(
                f"{what} must differ from each other, got {others[0]!r} and {label!r} in {listed(labels)}: "
                f"rename or remove one of them."
            )
        known |= dict.fromkeys(ways, label)


def label_array(labels: Any, classes: np.ndarray) -> np.ndarray:
    """Return labels of decisions as an array: classes as they are in theirs, with their dtype.

    Parameters
    ----------
    labels : sequence of labels
        Classes first, then decisions that are no class.
    classes : ndarray of shape (K,)

    Returns
    -------
    ndarray
        Of the dtype of the classes or, with other decisions, of the smallest that holds all (int16 for uint8 and -1);
        of objects where kinds are mixed.
    """
    places = [at for at in match_labels(labels, as_labels(classes)) if at >= 0]
    known = classes[places]
    others = list(labels)[len(places) :]
    if not others:
        return np.asarray(known)
    wanted = [*as_labels(known), *others]
    parts = [np.asarray([label], _smallest(label, known.dtype)) for label in others]
    try:
        array = np.concatenate([known, *parts])
    except TypeError:  # kinds without a common dtype
        return _objects(wanted)
    if array.dtype.kind == "f" and all(map(_is_whole, wanted)):  # NumPy's choice for uint64 and int8
        array = np.asarray(wanted)
    return array if array.tolist() == wanted else _objects(wanted)


def _smallest(label: Any, beside: np.dtype) -> Any:
    """Return the dtype that a number needs beside numbers of another; None: NumPy's choice."""
    if _is_whole(label):
        return np.min_scalar_type(label)
    with np.errstate(over="ignore"):
        same = beside.kind == "f" and isinstance(label, float) and float(beside.type(label)) == label
    return beside if same else None


def plain_array(values: Any) -> np.ndarray:
    """Return values as an array that holds them as they are: of their dtype, or of objects where kinds are mixed."""
    values = list(values)
    array = np.asarray(values) if len({np.asarray(value).dtype.kind for value in values}) == 1 else _objects(values)
    return array if array.tolist() == values else _objects(values)  # texts lose NULs at their end


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _is_whole(label: Any) -> bool:
    return isinstance(label, Integral) and not isinstance(label, bool)
