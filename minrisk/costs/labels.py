"""Labels of classes and decisions: how they are told apart, matched and named in messages.

Two labels match when they are equal or, failing that, when they are written alike, so that the label ``1`` of
an array finds the row ``"1"`` of a CSV file. A whole float is written as the integer: ``1.0`` finds ``"1"``
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Labels = tuple[Any, ...]

_SHOWN = 8  # labels listed in a message before "..."


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
    by_value = {label: i for i, label in enumerate(given)}
    by_text = {label_text(label): i for i, label in enumerate(given)}
    found = []
    for label in wanted:
        position = by_value.get(label)
        found.append(by_text.get(label_text(label), -1) if position is None else position)
    return found


def refer_labels(count: int) -> Labels:
    """Return the names of ``count`` decisions that stand after the classes without a label of their own.

    Examples
    --------
    >>> refer_labels(0), refer_labels(1), refer_labels(2)
    ((), ('refer',), ('refer_1', 'refer_2'))
    """
    return ("refer",) if count == 1 else tuple(f"refer_{i}" for i in range(1, count + 1))


def listed(labels: Sequence[Any]) -> str:
    """Return the labels as a message shows them, the tail of a long list left out.

    Examples
    --------
    >>> listed(["a", "b"])
    "['a', 'b']"
    >>> listed(range(100))
    '[0, 1, 2, 3, 4, 5, 6, 7, ... (100 in all)]'
    """
    shown = [repr(label) for label in labels[:_SHOWN]]
    if len(labels) > _SHOWN:
        shown.append(f"... ({len(labels)} in all)")
    return f"[{', '.join(shown)}]"


def _plain(label: Any) -> Any:
    """Turn a NumPy scalar into the Python value that equals it (dates stay: their Python values do not)."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label


def _check_distinct(labels: Labels, what: str) -> None:
    by_value: dict[Any, Any] = {}
    by_text: dict[str, Any] = {}
    for label in labels:
        text = label_text(label)
        if label in by_value or text in by_text:
            other = by_value[label] if label in by_value else by_text[text]
            raise ValueError(
                f"{what} must differ from each other, got {other!r} and {label!r} in {listed(labels)}: "
                f"rename or remove one of them."
            )
        by_value[label] = by_text[text] = label
