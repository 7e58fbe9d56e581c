"""What would have to change: the smallest change of one value of a row that turns the decision into another.

Along one column a sum of trees is constant between the thresholds of that column. A value on either side of each of
them says all, and the nearest one with another decision is the smallest change: the search is exact. Linear features,
leaves with a slope, kernels, similarities and regressors of scikit-learn change with every value of a column. Along
such a column some values are looked at, and the nearest change among them is narrowed down by halving: there the search
may miss a change that is undone before the next value.

Trees have missing values below all others. That a value goes missing is looked at where the trees part missing values
from the lowest ones, or other rows lack some; it is told where no other value turns the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, IntArray
from minrisk.costs.labels import listed
from minrisk.data.frames import NUMBER
from minrisk.inspection.why_answers import Decider
from minrisk.inspection.why_columns import ColumnTexts, value_text
from minrisk.inspection.why_types import TRUTH_VALUE, WHOLE_NUMBERS, kind_of_column
from minrisk.model.similarities import PackedRegressors, PackedSimilarities
from minrisk.model.trees import PackedTrees

_GRID_VALUES = 64  # values of a column along which scores are not constant between thresholds
_HALVINGS = 40  # of the gap between two such values: what is left is a millionth of a millionth of it
_ASKED_TOGETHER = 1 << 21  # values of rows that are asked about at a time
_SPREADS = 3.0  # standard deviations to both sides in which values are looked at where no rows are given
_NAMED = 3  # values of a category that are named
_TO_LESS, _TO_MORE, _TO_TRUTH, _TO_MISSING = "less", "more", "truth value", "missing"  # ways to change a number
_TO_VALUE, _TO_ANY = "value", "any value"  # ... that is missing

Wanted = Callable[[IntArray], np.ndarray]  # decisions -> whether each is one that is looked for


class Change(NamedTuple):
    """A change of one value that turns the decision into another.

    Attributes
    ----------
    column : str
    value : object
        What the row holds; None: missing.
    to : object
        The nearest value with the other decision, None if it is to be missing; of a category a tuple of all such
        values. If any value will do, one of them.
    text : str
        Where the other decision begins, in words: ``"above 4.95"``, ``"4.75 or less"``, ``"about 3.2 or more"``,
        ``"5 or more"`` among whole numbers, ``"True"``, ``"missing"``, ``"any value"``.
    decision : label
        The decision that comes then.
    size : float
        The change in standard deviations of the column; 1 for a category, a truth value, and a value that is or goes
        missing. NaN where the spread is not known.
    exact : bool
        Whether no smaller change exists; else the search has looked at some values only.
    """

    column: str
    value: Any
    to: Any
    text: str
    decision: Any
    size: float
    exact: bool


class _Columns(NamedTuple):
    """What is known of the columns of a model."""

    thresholds: list[FloatArray]  # of each column, sorted, finite
    is_stepped: np.ndarray  # (d,) whether scores are constant between them
    values: list[FloatArray]  # of each column that is not stepped some values that rows had, or might have
    spread: FloatArray  # (d,) NaN where unknown
    has_missing: np.ndarray  # (d,) whether trees part missing values from the lowest, or other rows lack some
    typical: FloatArray  # (d,) a value, to be looked at where nothing else is known
    kinds: list[str]  # of columns of numbers, see `minrisk.inspection.why_types`


def changes_of(
    decider: Decider,
    codes: FloatArray,
    rows: FloatArray | None,
    types: Sequence[str],
    wanted: Any = None,
    columns: Sequence[Any] | None = None,
) -> list[Change]:
    """The smallest change of each column that turns the decision of a row into another, the smallest first.

    Parameters
    ----------
    decider : Decider
    codes : ndarray of shape (1, d)
        The row.
    rows : ndarray of shape (n, d), optional
        Codes of other rows, which say what values the columns have.
    types : sequence of d str
        See `minrisk.inspection.why_types.types_of_columns`.
    wanted : label, optional
        The decision that is looked for; by default any other.
    columns : sequence of names or positions, optional
        The columns that may change; all by default.
    """
    known, own = _known_columns(decider.model, rows, types), int(decider.answers(codes).decided[0])
    wholes, truths = ([j for j, kind in enumerate(known.kinds) if kind == one] for one in (WHOLE_NUMBERS, TRUTH_VALUE))
    texts, is_wanted = ColumnTexts(decider.model, wholes, truths), _wanted(decider, own, wanted)
    chosen = _chosen(texts, columns)
    numeric = [j for j in chosen if j not in texts.category]
    found = _of_numbers(decider, codes, numeric, known, texts, is_wanted)
    for j in chosen:
        if j in texts.category:
            found += _of_category(decider, codes, j, texts, is_wanted)
    return sorted(found, key=lambda change: (np.isnan(change.size), change.size))


def _wanted(decider: Decider, own: int, wanted: Any) -> Wanted:
    """Which decisions are looked for."""
    if wanted is None:
        return lambda decided: decided != own
    places = np.flatnonzero(decider.decisions == wanted)
    if not len(places):
        known = listed(decider.decisions.tolist())
        raise ValueError(f"wanted must be one of the decisions {known}, got {wanted!r}: correct it.")
    if places[0] == own:
        raise ValueError(f"wanted must be another decision than {wanted!r}, which is taken already: leave it out.")
    return lambda decided: decided == places[0]


def _chosen(texts: ColumnTexts, columns: Sequence[Any] | None) -> list[int]:
    """Positions of the columns that may change."""
    if columns is None:
        return list(range(len(texts.names)))
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ValueError(
            f"columns must be a list of names or positions of columns of X, got {columns!r}: write [{columns!r}]."
        )
    place = {name: j for j, name in enumerate(texts.names)}
    found = [place.get(str(name), name) for name in columns]
    for name in found:
        if not isinstance(name, (int, np.integer)) or not 0 <= name < len(texts.names):
            raise ValueError(f"columns must be names or positions of columns of X, got {name!r}: correct it.")
    return [int(j) for j in found]


# -- what the model says about its columns -------------------------------------------------------------------------
def _known_columns(model: Any, rows: FloatArray | None, types: Sequence[str]) -> _Columns:
    """Thresholds, spreads and values of all columns."""
    d, parts = int(model.n_features_in_), [model.model_.packed]
    if getattr(model, "cost_regression_", None) is not None:
        parts.append(model.cost_regression_.packed)
    every, stepped = _thresholds(parts, d), np.ones(d, dtype=np.bool_)
    thresholds = [own[np.isfinite(own)] for own in every]
    center, scale = np.full(d, np.nan), np.full(d, np.nan)
    linear, smooth, packed = model.model_.projection, model.model_.smooth, model.model_.packed
    for part in parts:
        if isinstance(part, PackedTrees) and part.slope is not None:
            sloped = part.of_nodes("feature")[part.is_leaf & (part.slope != 0)]
            stepped[sloped[sloped < d]] = False
    if linear is not None:
        center, scale = linear.center[:d], linear.scale[:d]
        stepped &= ~np.any(linear.weights[:d] != 0, axis=1)
    if smooth is not None:
        center, scale = smooth.center[:d], smooth.scale[:d]
        stepped &= smooth.scale[:d] == 0
    anchors: FloatArray | None = None
    if isinstance(packed, PackedSimilarities):
        anchors, stepped[:] = (packed.anchors * packed.scale + packed.center)[:, :d], False
    if isinstance(packed, PackedRegressors):
        stepped[:] = False
    examples = anchors if rows is None else rows
    values = [
        np.empty(0) if stepped[j] else _examples(j, examples, thresholds[j], center[j], scale[j]) for j in range(d)
    ]
    spread = np.array([_spread(j, examples, thresholds[j], scale[j]) for j in range(d)])
    has_missing = np.array([len(own) < len(of_all) for own, of_all in zip(thresholds, every, strict=True)])
    typical, kinds = np.where(np.isnan(center), 0.0, center), list[str]()
    days = {column.position for column in model._categories.day_columns}
    for j in range(d):
        held = None if rows is None else rows[:, j][~np.isnan(rows[:, j])]
        kinds.append(NUMBER if j in days else kind_of_column(types[j], held, thresholds[j]))
        if held is not None and rows is not None:
            has_missing[j] |= len(held) < len(rows)
            typical[j] = np.quantile(held, 0.5, method="nearest") if len(held) else typical[j]
        if kinds[j] == WHOLE_NUMBERS:
            values[j], typical[j] = np.unique(np.rint(values[j])), np.rint(typical[j])
    return _Columns(thresholds, stepped, values, spread, has_missing, typical, kinds)


def _thresholds(parts: Sequence[Any], d: int) -> list[FloatArray]:
    """Those of each of the first d features in these trees, sorted, each once."""
    features, thresholds = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for part in parts:
        if isinstance(part, PackedTrees):
            inner = ~part.is_leaf
            features.append(part.of_nodes("feature")[inner].astype(np.int64))
            thresholds.append(part.of_nodes("threshold")[inner])
    of, at = np.concatenate(features), np.concatenate(thresholds)
    order = np.argsort(of, kind="stable")
    bounds = np.searchsorted(of[order], np.arange(d + 1))
    return [np.unique(at[order[bounds[j] : bounds[j + 1]]]) for j in range(d)]


def _spread(j: int, rows: FloatArray | None, thresholds: FloatArray, scale: float) -> float:
    """Standard deviation of a column, or what is nearest to it; NaN where nothing tells."""
    held = thresholds if rows is None else rows[:, j][~np.isnan(rows[:, j])]
    with np.errstate(over="ignore", invalid="ignore"):  # of values whose squares no number holds
        spread = scale if rows is None and scale > 0 else float(held.std()) if len(held) > 1 else np.nan
    return spread if 0 < spread < np.inf else np.nan


def _examples(j: int, rows: FloatArray | None, thresholds: FloatArray, center: float, scale: float) -> FloatArray:
    """Values to look at along a column that is not stepped, sorted."""
    if rows is not None:
        held = rows[:, j][~np.isnan(rows[:, j])]
    else:
        sides = center + scale * np.linspace(-_SPREADS, _SPREADS, _GRID_VALUES)
        held = np.concatenate([thresholds, sides[np.isfinite(sides)]])
    if len(held) == 0:
        return held
    return np.unique(np.quantile(held, np.linspace(0.0, 1.0, _GRID_VALUES), method="nearest"))


# -- the search ----------------------------------------------------------------------------------------------------
def _decided(decider: Decider, codes: FloatArray, columns: IntArray, values: FloatArray) -> IntArray:
    """The decision about a row with each of these columns set to each of these values, one at a time."""
    found, height = np.empty(len(values), dtype=np.int64), max(1, _ASKED_TOGETHER // codes.shape[1])
    for low in range(0, len(values), height):
        part = slice(low, low + height)
        rows = np.repeat(codes, len(values[part]), axis=0)
        rows[np.arange(len(rows)), columns[part]] = values[part]
        found[part] = decider.answers(rows).decided
    return found


def _of_category(decider: Decider, codes: FloatArray, j: int, texts: ColumnTexts, is_wanted: Wanted) -> list[Change]:
    """The other values of a category, by the decision that comes then."""
    values = np.arange(len(texts.category[j].values), dtype=np.float64)
    values = values[values != codes[0, j]]
    decided = _decided(decider, codes, np.full(len(values), j), values)
    found = []
    for k in np.unique(decided[is_wanted(decided)]):
        to = tuple(texts.value(j, code) for code in values[decided == k])
        rest = f" or {len(to) - _NAMED} more" if len(to) > _NAMED else ""
        text = " or ".join(map(value_text, to)) if not rest else ", ".join(map(value_text, to[:_NAMED])) + rest
        found.append(Change(texts.names[j], texts.value(j, codes[0, j]), to, text, decider.decisions[k], 1.0, True))
    return found


def _candidates(x: float, j: int, known: _Columns) -> list[tuple[str, FloatArray]]:
    """Which way to go along a column of numbers, and values there, the nearest first; of a missing one all values."""
    thresholds, whole = known.thresholds[j], known.kinds[j] == WHOLE_NUMBERS
    below, above = (
        (np.floor(thresholds), np.floor(thresholds) + 1) if whole else (thresholds, np.nextafter(thresholds, np.inf))
    )
    if known.kinds[j] == TRUTH_VALUE:
        truths = np.array([0.0, 1.0])
        ways = [(_TO_TRUTH, truths[truths != x])]
    elif np.isnan(x):
        first = below[:1] if len(below) else known.typical[j : j + 1]
        ways = [(_TO_VALUE, np.unique(np.concatenate([first, above])) if known.is_stepped[j] else known.values[j])]
    elif known.is_stepped[j]:
        ways = [(_TO_LESS, np.unique(below[thresholds < x])[::-1]), (_TO_MORE, np.unique(above[thresholds >= x]))]
    else:
        values = known.values[j]
        ways = [(_TO_LESS, values[values < x][::-1]), (_TO_MORE, values[values > x])]
    if known.has_missing[j] and not np.isnan(x):
        ways.append((_TO_MISSING, np.array([np.nan])))
    return ways


class _End(NamedTuple):
    """A value of a column with another decision."""

    j: int
    way: str
    before: float  # a value on the way there without the other decision; NaN where there is none to halve the gap to
    to: float
    decided: int


def _end(j: int, way: str, x: float, values: FloatArray, decided: IntArray, hits: np.ndarray, known: _Columns) -> _End:
    """The first of the values that hits; of a missing value, whether all do, or where those that do end."""
    first = int(hits.argmax())
    k, before = int(decided[first]), float(values[first - 1]) if first else x
    alike = hits & (decided == k)
    if np.isnan(x) and alike.all():
        return _End(j, _TO_ANY, np.nan, float(values[len(values) // 2]), k)
    if way != _TO_VALUE:
        return _End(j, way, before if way in (_TO_LESS, _TO_MORE) else np.nan, float(values[first]), k)
    if first > 0:
        return _End(j, _TO_MORE, before, float(values[first]), k)
    last = int(alike.argmin()) - 1  # of the values from the lowest on that do
    to = values[last]
    if known.is_stepped[j]:
        to = values[last + 1] - 1 if known.kinds[j] == WHOLE_NUMBERS else known.thresholds[j][last]
    return _End(j, _TO_LESS, np.nan, float(to), k)


def _of_numbers(
    decider: Decider, codes: FloatArray, numeric: list[int], known: _Columns, texts: ColumnTexts, is_wanted: Wanted
) -> list[Change]:
    """The smallest change of each column of numbers."""
    sides = [(j, way, values) for j in numeric for way, values in _candidates(float(codes[0, j]), j, known)]
    columns = np.repeat([j for j, _, _ in sides], [len(values) for _, _, values in sides]).astype(np.int64)
    decided = _decided(decider, codes, columns, np.concatenate([np.empty(0), *(values for _, _, values in sides)]))
    hits, low, ends = is_wanted(decided), 0, []
    for j, way, values in sides:
        part = slice(low, low + len(values))
        if hits[part].any():
            ends.append(_end(j, way, float(codes[0, j]), values, decided[part], hits[part], known))
        low = part.stop
    best: dict[int, tuple[float, Change]] = {}
    for end in _narrowed(decider, codes, ends, known, is_wanted):
        distance = abs(end.to - codes[0, end.j])
        distance = np.inf if np.isnan(distance) else distance
        if end.j not in best or distance < best[end.j][0]:
            best[end.j] = distance, _change(texts, end, float(codes[0, end.j]), decider.decisions[end.decided], known)
    return [change for _, change in best.values()]


def _change(texts: ColumnTexts, end: _End, x: float, decision: Any, known: _Columns) -> Change:
    """A change of a number, in words."""
    j, way, to = end.j, end.way, end.to
    exact = way in (_TO_TRUTH, _TO_MISSING) or known.kinds[j] == TRUTH_VALUE or bool(known.is_stepped[j])
    at = texts.text(j, to)
    if way == _TO_ANY:
        text = "any value" if exact else "any value looked at"
    elif way in (_TO_TRUTH, _TO_MISSING):
        text = at
    elif way == _TO_MORE and exact and known.kinds[j] != WHOLE_NUMBERS:
        text = f"above {texts.text(j, known.thresholds[j][np.searchsorted(known.thresholds[j], to) - 1])}"
    else:
        text = f"{'' if exact else 'about '}{at} or {'more' if way == _TO_MORE else 'less'}"
    size = 1.0 if known.kinds[j] == TRUTH_VALUE or np.isnan(to - x) else float(abs(to - x) / known.spread[j])
    return Change(texts.names[j], texts.value(j, x), texts.value(j, to), text, decision, size, exact)


def _narrowed(decider: Decider, codes: FloatArray, ends: list[_End], known: _Columns, is_wanted: Wanted) -> list[_End]:
    """The same ends with a smaller gap between the last value without and the first with the other decision."""
    open_ends = [e for e, end in enumerate(ends) if not known.is_stepped[end.j] and not np.isnan(end.before)]
    columns = np.array([ends[e].j for e in open_ends], dtype=np.int64)
    whole = np.array([known.kinds[j] == WHOLE_NUMBERS for j in columns], dtype=np.bool_)
    near = np.array([ends[e].before for e in open_ends])
    far = np.array([ends[e].to for e in open_ends])
    decided = np.array([ends[e].decided for e in open_ends], dtype=np.int64)
    for _ in range(_HALVINGS if open_ends else 0):
        middle = near + (far - near) / 2
        middle = np.where(whole, np.where(far > near, np.floor(middle), np.ceil(middle)), middle)
        there = _decided(decider, codes, columns, middle)
        hit = is_wanted(there)
        near, far = np.where(hit, near, middle), np.where(hit, middle, far)
        decided = np.where(hit, there, decided)
    found = list(ends)
    for place, e in enumerate(open_ends):
        found[e] = ends[e]._replace(to=float(far[place]), decided=int(decided[place]))
    return found
