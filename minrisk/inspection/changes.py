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
from minrisk._utils.algebra import product
from minrisk.costs.labels import listed
from minrisk.costs.units import avoidable
from minrisk.data.frames import NUMBER
from minrisk.decisions.costs import decides_by_any_costs, decision_costs
from minrisk.inspection.columns import TRUTH_VALUE, WHOLE_NUMBERS, ColumnTexts, kind_of_column, value_text
from minrisk.inspection.shap_scores import TreeNodes
from minrisk.model.links import expected_costs
from minrisk.model.similarities import PackedRegressors, PackedSimilarities
from minrisk.model.trees import PackedTrees

BY_COST, BY_SCORE = "expected cost", "score"  # by which decisions are taken
_GRID_VALUES = 64  # values of a column along which scores are not constant between thresholds
_HALVINGS = 40  # of the gap between two such values: what is left is a millionth of a millionth of it
_ASKED_TOGETHER = 1 << 21  # values of rows that are asked about at a time
_SPREADS = 3.0  # standard deviations to both sides in which values are looked at where no rows are given
_NAMED = 3  # values of a category that are named
_TO_LESS, _TO_MORE, _TO_TRUTH, _TO_MISSING = "less", "more", "truth value", "missing"  # ways to change a number
_TO_VALUE, _TO_ANY = "value", "any value"  # ... that is missing

Wanted = Callable[[IntArray], np.ndarray]  # decisions -> whether each is one that is looked for


class Answers(NamedTuple):
    """What a classifier answers about n rows of codes.

    Attributes
    ----------
    scores : ndarray of shape (n, D)
        H(x); of the K classes where these give probabilities.
    probabilities : ndarray of shape (n, K) or None
    expected : ndarray of shape (n, D) or None
        Expected cost of each decision: as stated, or above the least of the row where costs differ by row.
    merits : ndarray of shape (n, D)
        The largest decides, the first of equal ones: scores, or what is saved, up to a factor.
    decided : ndarray of int of shape (n,)
        Numbers of the decisions.
    rule : str
        ``"expected cost"`` or ``"score"``: what decides.
    """

    scores: FloatArray
    probabilities: FloatArray | None
    expected: FloatArray | None
    merits: FloatArray
    decided: IntArray
    rule: str


class Decider:
    """A classifier and the costs that it decides by.

    Parameters
    ----------
    model : fitted classifier of minrisk
    cost : optional
        Costs to decide by instead of those of the fit, as `MinRiskClassifier.predict` takes them: a matrix, or an
        array of shape (1, K, D) with that of the row.

    Attributes
    ----------
    decisions : ndarray of shape (D,)
    as_stated : bool
        Whether expected costs are those that were stated; else the least of each row is taken off.

    Raises
    ------
    ValueError
        If `cost` is given and the model knows no others than those of its fit.
    """

    def __init__(self, model: Any, cost: Any = None) -> None:
        self.model, self.decisions = model, model.decisions_
        self._stated: FloatArray | None = None  # (K, D)
        self._avoidable: FloatArray | None = None  # (K, D), where `cost` is given
        if cost is None:
            if model.model_.link is not None and model.cost_ is not None:
                self._stated = model.cost_.values
        elif decides_by_any_costs(model):
            costs = decision_costs(model, cost, 1)
            self._stated, self.decisions = costs.values[0], costs.decisions
            self._avoidable = avoidable(self._stated) if costs.shared is None else costs.shared.avoidable
        else:
            raise ValueError(
                f"cost is for models that decide by any costs, but this {type(model).__name__} knows only those that "
                "it was fitted on: leave cost out, or fit MinRiskClassifier(surrogate='softmax')."
            )
        regression = getattr(model, "cost_regression_", None)
        self._unit = 1.0 if regression is None else float(regression.unit)
        self.as_stated = self._stated is not None

    def answers(self, codes: FloatArray) -> Answers:
        """Answer about rows of codes (n, d)."""
        model = self.model
        X = model._categories.numbers(codes)
        scores = model._scores(X)
        link, temperature = model.model_.link, model.model_.temperature
        p = None if link is None else model.model_.probabilities(scores)
        if self._avoidable is not None:
            assert link is not None
            by = expected_costs(link, scores, temperature, self._avoidable)
        else:
            by = model._expected(X, scores)
        merits = scores if by is None else -by
        expected = None
        if p is not None and self._stated is not None and len(self._stated) == p.shape[1]:
            expected = product(p, self._stated)
        elif by is not None:
            expected = by * self._unit
        decided = merits.argmax(axis=1) if by is None else by.argmin(axis=1)
        return Answers(scores, p, expected, merits, decided, BY_SCORE if by is None else BY_COST)


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


class _Column(NamedTuple):
    """What is known of a column of numbers."""

    thresholds: FloatArray  # sorted, finite
    is_stepped: bool  # whether scores are constant between them
    values: FloatArray  # if it is not stepped, some values that rows had, or might have
    spread: float  # NaN where unknown
    has_missing: bool  # whether trees part missing values from the lowest, or other rows lack some
    typical: float  # a value, to be looked at where nothing else is known
    kind: str  # see `minrisk.inspection.columns.kind_of_column`


def changes_of(
    decider: Decider,
    codes: FloatArray,
    rows: FloatArray | None,
    types: Sequence[str],
    wanted: Any = None,
    columns: Sequence[Any] | None = None,
) -> list[Change]:
    """Return the smallest change of each column that turns the decision of a row into another, the smallest first.

    Parameters
    ----------
    decider : Decider
    codes : ndarray of shape (1, d)
        The row.
    rows : ndarray of shape (n, d), optional
        Codes of other rows, which say what values the columns have.
    types : sequence of d str
        See `minrisk.inspection.columns.types_of_columns`.
    wanted : label, optional
        The decision that is looked for; by default any other.
    columns : sequence of names or positions, optional
        The columns that may change; all by default.
    """
    known, own = _known_columns(decider.model, rows, types), int(decider.answers(codes).decided[0])
    wholes, truths = ([j for j, c in enumerate(known) if c.kind == kind] for kind in (WHOLE_NUMBERS, TRUTH_VALUE))
    texts, is_wanted = ColumnTexts(decider.model, wholes, truths), _wanted(decider, own, wanted)
    chosen = _chosen(texts, columns)
    numeric = {j: known[j] for j in chosen if j not in texts.category}
    found = _of_numbers(decider, codes, numeric, texts, is_wanted)
    for j in chosen:
        if j in texts.category:
            found += _of_category(decider, codes, j, texts, is_wanted)
    return sorted(found, key=lambda change: (np.isnan(change.size), change.size))


def _wanted(decider: Decider, own: int, wanted: Any) -> Wanted:
    """Return a function that says which decisions are looked for."""
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
    """Return the positions of the columns that may change."""
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
def _known_columns(model: Any, rows: FloatArray | None, types: Sequence[str]) -> list[_Column]:
    """Return what the model, and other rows if there are any, say about each column."""
    d, additive, packed = int(model.n_features_in_), model.model_, model.model_.packed
    regression = getattr(model, "cost_regression_", None)
    parts = [packed] if regression is None else [packed, regression.packed]
    stepped, center, scale = np.ones(d, dtype=np.bool_), np.full(d, np.nan), np.full(d, np.nan)
    for part in parts:
        if isinstance(part, PackedTrees) and part.slope is not None:
            sloped = part.of_nodes("feature")[part.is_leaf & (part.slope != 0)]
            stepped[sloped[sloped < d]] = False
    if additive.projection is not None:
        center, scale = additive.projection.center[:d], additive.projection.scale[:d]
        stepped &= ~np.any(additive.projection.weights[:d] != 0, axis=1)
    if additive.smooth is not None:
        center, scale = additive.smooth.center[:d], additive.smooth.scale[:d]
        stepped &= additive.smooth.scale[:d] == 0
    examples = rows
    if isinstance(packed, PackedSimilarities):
        stepped[:] = False
        if rows is None:
            examples = (packed.anchors * packed.scale + packed.center)[:, :d]
    if isinstance(packed, PackedRegressors):
        stepped[:] = False
    days = {column.position for column in model._categories.day_columns}
    columns = []
    for j, every in enumerate(_thresholds(parts, d)):
        thresholds = every[np.isfinite(every)]
        held = None if examples is None else examples[:, j][~np.isnan(examples[:, j])]
        of_rows = None if rows is None else held
        kind = NUMBER if j in days else kind_of_column(types[j], of_rows, thresholds)
        values = np.empty(0) if stepped[j] else _examples(held, thresholds, center[j], scale[j])
        typical = 0.0 if np.isnan(center[j]) else float(center[j])
        has_missing = len(thresholds) < len(every)
        if of_rows is not None and rows is not None:
            has_missing |= len(of_rows) < len(rows)
            typical = float(np.quantile(of_rows, 0.5, method="nearest")) if len(of_rows) else typical
        if kind == WHOLE_NUMBERS:
            values, typical = np.unique(np.rint(values)), float(np.rint(typical))
        spread = _spread(thresholds if held is None else held, scale[j] if held is None else np.nan)
        columns.append(_Column(thresholds, bool(stepped[j]), values, spread, has_missing, typical, kind))
    return columns


def _thresholds(parts: Sequence[Any], d: int) -> list[FloatArray]:
    """Return the thresholds of each of the first d features in these trees, sorted, each once."""
    found = [TreeNodes(part, d).thresholds for part in parts if isinstance(part, PackedTrees)]
    return [np.unique(np.concatenate([np.empty(0), *(thresholds[j] for thresholds in found)])) for j in range(d)]


def _spread(held: FloatArray, scale: float) -> float:
    """Return the standard deviation of a column, which may be known as its scale; NaN where nothing tells."""
    with np.errstate(over="ignore", invalid="ignore"):  # of values whose squares no number holds
        spread = scale if scale > 0 else float(held.std()) if len(held) > 1 else np.nan
    return float(spread) if 0 < spread < np.inf else np.nan


def _examples(held: FloatArray | None, thresholds: FloatArray, center: float, scale: float) -> FloatArray:
    """Return values to look at along a column that is not stepped, sorted."""
    if held is None:
        sides = center + scale * np.linspace(-_SPREADS, _SPREADS, _GRID_VALUES)
        held = np.concatenate([thresholds, sides[np.isfinite(sides)]])
    if len(held) == 0:
        return held
    return np.unique(np.quantile(held, np.linspace(0.0, 1.0, _GRID_VALUES), method="nearest"))


# -- the search ----------------------------------------------------------------------------------------------------
def _decided(decider: Decider, codes: FloatArray, columns: IntArray, values: FloatArray) -> IntArray:
    """Decide about a row with each of these columns set to each of these values, one at a time."""
    found, height = np.empty(len(values), dtype=np.int64), max(1, _ASKED_TOGETHER // codes.shape[1])
    for low in range(0, len(values), height):
        part = slice(low, low + height)
        rows = np.repeat(codes, len(values[part]), axis=0)
        rows[np.arange(len(rows)), columns[part]] = values[part]
        found[part] = decider.answers(rows).decided
    return found


def _of_category(decider: Decider, codes: FloatArray, j: int, texts: ColumnTexts, is_wanted: Wanted) -> list[Change]:
    """Return the other values of a category, by the decision that comes then."""
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


def _candidates(x: float, column: _Column) -> list[tuple[str, FloatArray]]:
    """Return ways along a column of numbers, and values there, the nearest first; all values where it is missing."""
    below, above = column.thresholds, np.nextafter(column.thresholds, np.inf)
    if column.kind == WHOLE_NUMBERS:
        below, above = np.floor(column.thresholds), np.floor(column.thresholds) + 1
    if column.kind == TRUTH_VALUE:
        truths = np.array([0.0, 1.0])
        ways = [(_TO_TRUTH, truths[truths != x])]
    elif np.isnan(x):
        first = below[:1] if len(below) else np.array([column.typical])
        ways = [(_TO_VALUE, np.unique(np.concatenate([first, above])) if column.is_stepped else column.values)]
    elif column.is_stepped:
        is_below = column.thresholds < x
        ways = [(_TO_LESS, np.unique(below[is_below])[::-1]), (_TO_MORE, np.unique(above[~is_below]))]
    else:
        ways = [(_TO_LESS, column.values[column.values < x][::-1]), (_TO_MORE, column.values[column.values > x])]
    if column.has_missing and not np.isnan(x):
        ways.append((_TO_MISSING, np.array([np.nan])))
    return ways


class _End(NamedTuple):
    """A value of a column with another decision."""

    j: int
    column: _Column
    way: str
    before: float  # a value on the way there without the other decision; NaN where there is none to halve the gap to
    to: float
    decided: int


def _end(j: int, column: _Column, way: str, x: float, values: FloatArray, decided: IntArray, hits: np.ndarray) -> _End:
    """Return the first of the values that hits; of a missing value, whether all do, or where those that do end."""
    first = int(hits.argmax())
    k, before = int(decided[first]), float(values[first - 1]) if first else x
    alike = hits & (decided == k)
    if np.isnan(x) and alike.all():
        return _End(j, column, _TO_ANY, np.nan, float(values[len(values) // 2]), k)
    if way != _TO_VALUE:
        return _End(j, column, way, before if way in (_TO_LESS, _TO_MORE) else np.nan, float(values[first]), k)
    if first > 0:
        return _End(j, column, _TO_MORE, before, float(values[first]), k)
    last = int(alike.argmin()) - 1  # of the values from the lowest on that do
    to = values[last]
    if column.is_stepped:
        to = values[last + 1] - 1 if column.kind == WHOLE_NUMBERS else column.thresholds[last]
    return _End(j, column, _TO_LESS, np.nan, float(to), k)


def _of_numbers(
    decider: Decider, codes: FloatArray, numeric: dict[int, _Column], texts: ColumnTexts, is_wanted: Wanted
) -> list[Change]:
    """Return the smallest change of each column of numbers."""
    row = codes[0]
    sides = [(j, way, values) for j, column in numeric.items() for way, values in _candidates(float(row[j]), column)]
    columns = np.repeat([j for j, _, _ in sides], [len(values) for _, _, values in sides]).astype(np.int64)
    decided = _decided(decider, codes, columns, np.concatenate([np.empty(0), *(values for _, _, values in sides)]))
    hits, low, ends = is_wanted(decided), 0, []
    for j, way, values in sides:
        part = slice(low, low + len(values))
        if hits[part].any():
            ends.append(_end(j, numeric[j], way, float(row[j]), values, decided[part], hits[part]))
        low = part.stop
    best: dict[int, tuple[float, Change]] = {}
    for end in _narrowed(decider, codes, ends, is_wanted):
        distance = abs(end.to - row[end.j])
        distance = np.inf if np.isnan(distance) else distance
        if end.j not in best or distance < best[end.j][0]:
            best[end.j] = distance, _change(texts, end, float(row[end.j]), decider.decisions[end.decided])
    return [change for _, change in best.values()]


def _change(texts: ColumnTexts, end: _End, x: float, decision: Any) -> Change:
    """Say a change of a number in words."""
    j, column, way, to = end.j, end.column, end.way, end.to
    exact = way in (_TO_TRUTH, _TO_MISSING) or column.kind == TRUTH_VALUE or column.is_stepped
    at = texts.text(j, to)
    if way == _TO_ANY:
        text = "any value" if exact else "any value looked at"
    elif way in (_TO_TRUTH, _TO_MISSING):
        text = at
    elif way == _TO_MORE and exact and column.kind != WHOLE_NUMBERS:
        text = f"above {texts.text(j, column.thresholds[np.searchsorted(column.thresholds, to) - 1])}"
    else:
        text = f"{'' if exact else 'about '}{at} or {'more' if way == _TO_MORE else 'less'}"
    size = 1.0 if column.kind == TRUTH_VALUE or np.isnan(to - x) else float(abs(to - x) / column.spread)
    return Change(texts.names[j], texts.value(j, x), texts.value(j, to), text, decision, size, exact)


def _narrowed(decider: Decider, codes: FloatArray, ends: list[_End], is_wanted: Wanted) -> list[_End]:
    """Narrow the gap between the last value without and the first value with the other decision, by halving."""
    found = list(ends)
    open_ends = [e for e, end in enumerate(ends) if not end.column.is_stepped and not np.isnan(end.before)]
    gaps = [ends[e] for e in open_ends]
    columns = np.array([end.j for end in gaps], dtype=np.int64)
    whole = np.array([end.column.kind == WHOLE_NUMBERS for end in gaps], dtype=np.bool_)
    near, far = (np.array([getattr(end, name) for end in gaps], dtype=np.float64) for name in ("before", "to"))
    decided = np.array([end.decided for end in gaps], dtype=np.int64)
    for _ in range(_HALVINGS if gaps else 0):
        middle = near + (far - near) / 2
        middle = np.where(whole, np.where(far > near, np.floor(middle), np.ceil(middle)), middle)
        there = _decided(decider, codes, columns, middle)
        hit = is_wanted(there)
        near, far = np.where(hit, near, middle), np.where(hit, middle, far)
        decided = np.where(hit, there, decided)
    for e, to, k in zip(open_ends, far.tolist(), decided.tolist(), strict=True):
        found[e] = ends[e]._replace(to=to, decided=k)
    return found
