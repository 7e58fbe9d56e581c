"""Which rows costs per sample belong to: in the order of the samples, one for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk.costs.labels import Labels, are_numbers, listed, match_labels
from minrisk.costs.matrix import CostMatrix
from minrisk.costs.tables import is_frame, is_labelled

SAMPLES_FROM = 0.2  # of the samples: with more numbers of rows that are no classes, a table is none of classes


def check_sample_order(cost: Any, **beside: Any) -> None:
    """Refuse costs per sample whose row labels say that they belong to other samples, or to the same in another order.

    Rows are taken by position, as scikit-learn takes all its arguments. Such a table is nearly always one of two that
    has been shuffled or selected without the other, and then every sample would be given the costs of another one.

    Parameters
    ----------
    cost : object
        Costs per sample. Only those of pandas have row labels.
    **beside : object
        Tables or series with a row for each sample, by the names of their arguments.

    Raises
    ------
    ValueError
        If the labels are unique and the same ones, and not in the same order; or if they differ, and neither are those
        that pandas gives by itself.

    Examples
    --------
    >>> import pandas as pd
    >>> from minrisk.costs.sample_rows import check_sample_order
    >>> check_sample_order(pd.DataFrame({"pay": [0, 9], "refuse": [4, 0]}, [7, 5]), y=pd.Series(["a", "b"], [5, 7]))
    Traceback (most recent call last):
    ValueError: cost must have its rows in the order of y, got other row labels or another order, 7 in row 0 where \
y has 5: pass cost.loc[y.index], or cost.to_numpy() if the rows belong together by position.
    """
    own: Any = getattr(cost, "index", None)
    if not hasattr(own, "is_unique"):
        return
    for name, table in beside.items():
        others: Any = getattr(table, "index", None)
        if not hasattr(others, "is_unique") or len(others) != len(own) or own.equals(others):
            continue
        same = own.is_unique and others.is_unique and own.isin(others).all()
        if same or not (_is_counted(own) or _is_counted(others)):
            pairs = zip(own.tolist(), others.tolist(), strict=True)
            row, (label, other) = next((row, pair) for row, pair in enumerate(pairs) if pair[0] != pair[1])
            raise ValueError(
                f"cost must have its rows in the order of {name}, got other row labels or another order, "
                f"{label!r} in row {row} where {name} has {other!r}: pass cost.loc[{name}.index], or "
                "cost.to_numpy() if the rows belong together by position."
            )


def _is_counted(index: Any) -> bool:
    """Whether these are the labels that pandas gives to rows by itself: a range."""
    return type(index).__name__ == "RangeIndex"


def check_row_count(cost: Any, n_samples: int, classes: Labels) -> None:
    """Refuse a table that has neither a row for each sample nor a row for each class.

    Parameters
    ----------
    cost : object
    n_samples : int
    classes : tuple of K labels

    Raises
    ------
    ValueError
        Naming both numbers of rows that would be right.
    """
    if is_frame(cost):
        shape = np.shape(cost)
        if shape[0] != n_samples and is_of_samples(cost, n_samples, classes):
            raise ValueError(
                f"cost must have a row for each of the {n_samples} samples, got {shape[0]} rows: give the costs of "
                f"exactly these samples, or, in a table with a row for each class, the labels {listed(classes)} in "
                f"place of the row labels {listed(cost.index.tolist())}."
            )
        return
    if cost is None or is_labelled(cost) or isinstance(cost, CostMatrix):
        return
    try:
        shape = np.shape(cost)
    except ValueError:  # rows of different lengths: for as_cost to refuse
        return
    if len(shape) == 2 and shape[0] > len(classes) and shape[0] != n_samples:
        raise ValueError(
            f"cost must have a row for each of the {n_samples} samples, or a row for each of the {len(classes)} "
            f"classes {listed(classes)}, got shape {shape}: give the costs of exactly these samples, or of these "
            "classes, or name the classes by a DataFrame, dict or CostMatrix."
        )


def is_of_samples(frame: Any, n_samples: int, classes: Labels) -> bool:
    """Return whether a DataFrame of costs, whatever its number of rows, can only have a row for each of some samples.

    Then its row labels are neither classes nor decisions. Numbers of rows may be classes by chance: then it tells that
    so many of them are not.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame(1.0, range(60), [0, 1])
    >>> is_of_samples(rows, 50, (0, 1)), is_of_samples(rows[:3], 50, (0, 1))
    (True, False)
    """
    rows, columns = frame.index.tolist(), frame.columns.tolist()
    if len(rows) <= len(classes):
        return False
    n_others = match_labels(rows, list(dict.fromkeys([*classes, *columns]))).count(-1)
    if n_others == len(rows):
        return True
    return n_others > max(2 * len(columns), SAMPLES_FROM * n_samples) and are_numbers(rows)
