"""Samples brought down to codes: true classes, decisions and weights, with the costs that belong to them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from minrisk._typing import FloatArray, IntArray
from minrisk.costs.labels import (
    Labels,
    are_numbers,
    as_labels,
    listed,
    match_decisions,
    match_labels,
    refer_numbers,
    refer_rank,
    refer_texts,
)
from minrisk.costs.matrix import CostMatrix
from minrisk.costs.reading import (
    NAME_THE_COLUMNS,
    as_cost,
    column_labels,
    is_per_row,
    is_per_row_and_class,
    own_rows,
    row_costs,
)
from minrisk.costs.sample_rows import check_row_count, check_sample_order
from minrisk.costs.tables import NamedColumns, as_numbers, is_frame, is_labelled
from minrisk.costs.units import check_weight_count, check_weights
from minrisk.data.label_cells import check_labels

# whole labels spanning fewer than this many numbers per sample are looked up in a table, not sorted
_DENSE = 4
IN_LABELS = "add them to labels"
IN_DECISIONS = "add them to labels, or give costs that have a column for each decision that is no class"
IN_COST = "add them to the cost (and to labels, if given)"  # what to do about labels that the costs do not know


class Samples(NamedTuple):
    """Samples brought down to codes, with the costs that belong to them."""

    table: FloatArray | None  # (K, D), or (n, D) when per_row; None: every mistake costs 1
    per_row: bool
    classes: Labels  # K
    decisions: Labels  # D
    truth: IntArray  # (n,) positions among classes
    decided: IntArray  # (n,) positions among decisions; zeros when there is no y_pred
    weight: FloatArray | None  # (n,)

    @property
    def values(self) -> FloatArray:
        """The table, which of 0/1 costs is made: of thousands of labels it takes gigabytes."""
        return 1.0 - np.eye(len(self.classes), len(self.decisions)) if self.table is None else self.table


class _CodedLabels(NamedTuple):
    """y as positions among the distinct labels it holds."""

    labels: list[Any]
    codes: IntArray  # (n,)


def as_samples(y_true: Any, y_pred: Any, cost: Any, labels: Any, sample_weight: Any) -> Samples:
    """Check everything and bring it down to codes."""
    if y_pred is not None:
        check_consistent_length(y_true, y_pred)
    truth = _coded(y_true, "y_true")
    decided = None if y_pred is None else _coded(y_pred, "y_pred")
    n = len(truth.codes)
    occurring = _occurring(truth, decided)
    values: FloatArray | None
    given = None if labels is None else as_labels(labels, "labels")
    referrals = _referrals(occurring, truth)
    n_classes = len(occurring) - len(referrals) if given is None else len(given)
    for_each = is_per_row_and_class(cost)
    per_row = for_each or is_per_row(cost, n, n_classes)
    if per_row:
        check_sample_order(cost, y_true=y_true, y_pred=y_pred)
    if for_each:
        classes = given if given is not None else tuple(label for label in occurring if label not in referrals)
        if len(classes) != np.shape(cost)[1]:
            raise ValueError(
                f"labels must be given for a matrix of costs per sample with {np.shape(cost)[1]} rows when the classes "
                f"that occur are {listed(classes)}: pass labels=[...], the classes in the order of the rows, or "
                f"{NAME_THE_COLUMNS}."
            )
        places = match_labels(truth.labels, classes)
        own = _positions(truth, places, classes, "y_true", "classes (rows)", NAME_THE_COLUMNS)
        values, decisions = row_costs(own_rows(cost, own, classes), n, classes, own)
    elif per_row:
        classes = given if given is not None else _classes_of_columns(cost, truth, occurring, referrals)
        places = match_labels(truth.labels, classes)
        values, decisions = row_costs(cost, n, classes, None if -1 in places else np.array(places)[truth.codes])
    elif cost is None:
        others = tuple(label for label in referrals if label not in (truth.labels if given is None else given))
        classes = given if given is not None else tuple(label for label in occurring if label not in others)
        values, decisions = None, classes + others
    else:
        if is_frame(cost):
            check_row_count(cost, n, occurring if given is None else given)
        values, classes, decisions = _class_costs(cost, given, occurring, truth)
    if isinstance(cost, NamedColumns):
        decisions = cost.decisions
    way = NAME_THE_COLUMNS if per_row else IN_LABELS if cost is None else IN_COST
    rows = _positions(truth, match_labels(truth.labels, classes), classes, "y_true", "classes (rows)", way)
    columns = np.zeros(n, dtype=np.int64)
    if decided is not None:
        places = match_decisions(decided.labels, decisions, classes)
        way = IN_DECISIONS if cost is None else IN_COST
        columns = _positions(decided, places, decisions, "y_pred", "decisions", way)
    return Samples(
        table=values,
        per_row=per_row,
        classes=classes,
        decisions=decisions,
        truth=rows,
        decided=columns,
        weight=as_weights(sample_weight, n),
    )


def _class_costs(
    cost: Any, given: Labels | None, occurring: Labels, truth: _CodedLabels
) -> tuple[FloatArray, Labels, Labels]:
    """Return one row of costs per class, with the labels of rows and columns."""
    matrix = CostMatrix(cost) if is_labelled(cost) else cost
    own = matrix.classes if isinstance(matrix, CostMatrix) else None
    if own is None and given is None:
        n_rows, n_columns = as_numbers(matrix).shape
        more = max(n_columns - n_rows, 0)
        implied = refer_texts(more) + (refer_numbers(more, truth.labels) if are_numbers(truth.labels) else ())
        given = tuple(label for label in occurring if label not in implied)
        unclear = n_columns > n_rows and any(at < 0 for at in match_labels(given, truth.labels))
        if len(given) != n_rows or unclear:
            raise ValueError(
                f"labels must be given for a cost without labels that has {n_rows} rows when the labels that "
                f"occur are {listed(given)}: pass labels=[...] in the order of its rows, a labelled cost, or a row for "
                f"each of the {len(truth.codes)} samples."
            )
    elif own is None and isinstance(matrix, CostMatrix):
        matrix = CostMatrix(matrix.values, allow_diagonal=True)  # `labels` says in which order they stand
    aligned = as_cost(matrix, own if given is None else given)
    assert aligned.classes is not None
    assert aligned.decisions is not None
    return aligned.values, aligned.classes, aligned.decisions


def _classes_of_columns(cost: Any, truth: _CodedLabels, occurring: Labels, referrals: Labels) -> Labels:
    """Return the classes for one row of costs per sample, or ask for ``labels`` where they are unclear."""
    found = tuple(sorted(truth.labels, key=occurring.index))
    if column_labels(cost, found) is not None:
        return found
    classes = tuple(label for label in occurring if label not in referrals)
    n_columns = np.shape(cost)[1]
    if len(classes) + len(referrals) != n_columns:
        raise ValueError(
            f"labels must be given for costs per sample that have {n_columns} columns when the labels that "
            f"occur are {listed(occurring)}: pass labels=[...], the classes in the order of the columns, or "
            "a DataFrame."
        )
    return classes


def _referrals(occurring: Labels, truth: _CodedLabels) -> Labels:
    """Return those labels that are the names minrisk gives to decisions after the classes."""
    named = [label for label in occurring if isinstance(label, str) and refer_rank(label, ())]
    texts = refer_texts(len(named))
    found = texts if set(named) == set(texts) else ()
    if are_numbers(truth.labels):
        for number in refer_numbers(len(occurring), truth.labels):
            if number not in occurring:
                break
            found += (number,)
    return found


def _occurring(truth: _CodedLabels, decided: _CodedLabels | None) -> Labels:
    """Return the sorted distinct labels of y_true and y_pred (strings last where both kinds occur)."""
    found = list(truth.labels)
    if decided is not None:
        known = match_labels(decided.labels, found)
        found += [label for label, position in zip(decided.labels, known, strict=True) if position < 0]
    try:
        return tuple(sorted(found))
    except TypeError:
        strings = sorted(label for label in found if isinstance(label, str))
        others = [label for label in found if not isinstance(label, str)]
        try:
            return (*sorted(others), *strings)
        except TypeError:
            return (*sorted(others, key=repr), *strings)


def _coded(y: Any, name: str) -> _CodedLabels:
    """Return y as positions among its distinct labels, without sorting where that can be helped."""
    values = column_or_1d(check_labels(y, name, any_kind=True))
    if len(values) == 0:
        raise ValueError(f"{name} must hold one sample or more, got none: pass the labels of the samples.")
    if values.dtype.kind == "f" and np.isfinite(values).all() and (np.abs(values) < np.float64(2**53)).all():
        whole = values.astype(np.int64)
        values = whole if (whole == values).all() else values
    if values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if high - low < _DENSE * len(values) and high < 2**62:
            shifted = values.astype(np.int64) - low
            present = np.bincount(shifted) > 0
            return _CodedLabels((np.flatnonzero(present) + low).tolist(), (np.cumsum(present) - 1)[shifted])
    if values.dtype.kind in "biuf":
        distinct, codes = np.unique(values, return_inverse=True)
        return _CodedLabels(distinct.tolist(), codes)
    items = list(values) if values.dtype.kind == "M" else values.tolist()  # dates as `as_labels` has them
    position = {label: i for i, label in enumerate(dict.fromkeys(items))}
    return _CodedLabels(list(position), np.fromiter(map(position.__getitem__, items), dtype=np.int64, count=len(items)))


def _positions(
    coded: _CodedLabels, places: list[int], labels: Labels, name: str, what: str, way: str = IN_COST
) -> IntArray:
    """Return y as positions among ``labels``, (n,), where its distinct labels have these places."""
    found = np.array(places, dtype=np.int64)
    if (found < 0).any():
        unknown = [coded.labels[i] for i in np.flatnonzero(found < 0)]
        raise ValueError(
            f"{name} must hold {what} of the cost only, expected some of {listed(labels)}, got "
            f"{listed(unknown)}: {way}, or correct {name}."
        )
    return np.asarray(found[coded.codes])


def as_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Return checked weights, (n,), None where there are none."""
    if sample_weight is None:
        return None
    weight = np.asarray(check_weights(sample_weight))
    if weight.shape == (n, 1):
        weight = weight.ravel()
    check_weight_count(weight, n)
    weight = weight.astype(np.float64)
    if not np.isfinite(weight).all() or weight.min() < 0 or not weight.any():
        raise ValueError(
            "sample_weight must be finite and zero or more, with one weight above zero, got "
            f"values from {weight.min():g} to {weight.max():g}: correct it."
        )
    return weight
