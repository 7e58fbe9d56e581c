"""Why a row was decided as it was: one decision as an object with tables and a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.packages import pandas
from minrisk._utils.text import aligned, printable, short
from minrisk.costs.labels import label_text
from minrisk.data.labels import check_labels
from minrisk.data.sparse import block_height
from minrisk.estimator.fitted import check_fitted, kind_text
from minrisk.estimator.parameters import Number, check_parameters
from minrisk.inspection.changes import BY_COST, Answers, Change, Decider, changes_of
from minrisk.inspection.columns import codes_of_row, codes_of_rows, rows_here, some_rows, types_of_columns, value_text
from minrisk.inspection.plotting import BLUE, DARK, MUTED, ORANGE, drawn, plain, pyplot
from minrisk.inspection.report_page import rendered
from minrisk.inspection.shap_scores import with_linear_features
from minrisk.model.trees import PackedTrees

_COMPARED_ROWS = 4096  # that are compared at a time: their numbers stay within the cache
_MOST_LINES = 10  # of a table that is shown to people, and bars of a panel; `to_frame` has all
_NOT_EXACT = (
    'along a column whose change is marked "about" or "looked at", scores change gradually, and only some of its '
    "values were examined: a smaller change may exist"
)
_NAME = 28  # characters
_THICKNESS = 0.62  # of a bar, at most; where the other panel has more of them this one's would be thicker


class DecisionAnswer(NamedTuple):
    """What a model says about one decision.

    Attributes
    ----------
    decision : label
    probability : float or None
        Of the class; None for decisions that are no class, and where scores give no probabilities.
    expected_cost : float or None
        Sum over the classes of probability times cost; None where it is not known.
    score : float or None
        H(x) of the decision, or of the class; None for decisions without one.
    behind : float
        By how much the decision is behind the one that was taken, in what decides.
    """

    decision: Any
    probability: float | None
    expected_cost: float | None
    score: float | None
    behind: float


class SimilarRow(NamedTuple):
    """A row that looks like another one to a model.

    Attributes
    ----------
    row : int
        Its number in X, from 0.
    label : label
        Its true class.
    decision : label
        What the model decides about it.
    similarity : float
        From 0 to 1, the weighted share of trees in which both fall into one leaf.
    """

    row: int
    label: Any
    decision: Any
    similarity: float


_PARTS: dict[str, Any] = {"decisions": DecisionAnswer, "changes": Change, "rows": SimilarRow}  # lines of the tables


@dataclass(frozen=True)
class WhyDecision:
    """One decision: what the model says about all decisions, what would have to change, and which rows look alike.

    It prints as tables, also in notebooks. `to_frame` gives them as DataFrames and `plot` draws them.

    Attributes
    ----------
    decision : label
        The best decision, which `predict` takes.
    runner_up : label
        The second best.
    lead : float
        By how much the best is ahead of the second.
    rule : str
        In what it is ahead: ``"expected cost"``, of which the least decides, or ``"score"``, of which the largest
        decides.
    answers : list of DecisionAnswer
        All decisions, the best first, each with its `decision`, `probability`, `expected_cost`, `score` and how far it
        is `behind`.
    changes : list of Change
        For each column that can do it, the smallest change of its value that turns the decision into another; the
        smallest first, in standard deviations.
    similar : list of SimilarRow
        The rows of X that fall into the same leaves most often, the most alike first.
    notes : list of str
        What could not be said, and why.
    """

    decision: Any
    runner_up: Any
    lead: float
    rule: str
    answers: list[DecisionAnswer]
    changes: list[Change]
    similar: list[SimilarRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_frame(self, part: str = "decisions") -> Any:
        """Return one of the tables as a pandas DataFrame, with the attributes of its lines as columns.

        Parameters
        ----------
        part : {"decisions", "changes", "rows"}, default="decisions"
            Which table.

        Returns
        -------
        DataFrame
            A line for each decision, change or row.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        if part not in _PARTS:
            raise ValueError(f"part must be one of {', '.join(_PARTS)}, got {part!r}: choose one of them.")
        lines: dict[str, list[Any]] = {"decisions": self.answers, "changes": self.changes, "rows": self.similar}
        frame = pandas().DataFrame(lines[part], columns=list(_PARTS[part]._fields))
        for name in ("value", "to") if part == "changes" else ():  # of columns of all kinds: whole numbers stay so
            frame[name] = pandas().Series([getattr(line, name) for line in lines[part]], dtype=object)
        return frame

    def plot(self, ax: Any = None) -> Self:
        """Draw the decisions and the smallest changes side by side.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            The panels of decisions and changes. By default a new figure is made.

        Returns
        -------
        WhyDecision
            Itself. The panels are in pyplot's current figure, or those that were given.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            n_bars = max(3, min(_MOST_LINES, max(len(self.answers), len(self.changes))))
            _, ax = pyplot().subplots(1, 2, figsize=(10.5, 1.4 + 0.38 * n_bars), layout="constrained")
        panels = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(panels) != 2:
            raise ValueError(f"ax must be two Axes, for decisions and changes, got {len(panels)}: pass a pair.")
        self._draw_decisions(panels[0])
        self._draw_changes(panels[1])
        return self

    def _draw_decisions(self, ax: Any) -> None:
        """Draw a bar for each decision, the best at the top."""
        lines = self.answers[:_MOST_LINES]
        by_cost = self.rule == BY_COST or lines[0].expected_cost is not None
        values = [(a.expected_cost if by_cost else a.score) or 0.0 for a in lines]
        thick = _THICKNESS * min(1.0, 1.6 * len(lines) / max(len(lines), min(_MOST_LINES, len(self.changes))))
        colours = [BLUE, *["#A9C6DA"] * (len(lines) - 1)]
        bars = ax.barh(range(len(lines)), values, color=colours, height=thick)
        p = ["" if a.probability is None else f"  (p = {a.probability:.2f})" for a in lines]
        _label(ax, bars, [plain(value) + more for value, more in zip(values, p, strict=True)])
        ax.set_yticks(range(len(lines)), [drawn(a.decision, _NAME) for a in lines])
        ax.get_yticklabels()[0].set_fontweight("bold")
        ax.set_xlabel("Expected cost (the least decides)" if by_cost else "Score (the largest decides)")
        more = f"; the first {len(lines)} of {len(self.answers)}" if len(self.answers) > len(lines) else ""
        ax.set_title(f"Decision: {drawn(self.decision, _NAME)}{more}", loc="left", fontsize=11)
        low, high = min(0.0, *values), max(0.0, *values)
        beside = 0.45 * (high - low)  # for what is written there
        ax.set_xlim(low - beside * (low < 0), high + beside)

    def _draw_changes(self, ax: Any) -> None:
        """Draw a bar for each column that can turn the decision, the smallest change at the top."""
        lines = [change for change in self.changes if not np.isnan(change.size)][:_MOST_LINES]
        ax.set_title("The smallest change of one value that turns it", loc="left", fontsize=11)
        if not lines:
            ax.text(0.5, 0.5, "None that was looked at", ha="center", va="center", color=MUTED, transform=ax.transAxes)
            ax.set_axis_off()
            return
        bars = ax.barh(range(len(lines)), [change.size for change in lines], color=ORANGE, height=0.3)
        told = [f"{short(value_text(c.value), 14)} → {short(c.text, 24)}: {drawn(c.decision, _NAME)}" for c in lines]
        _label(ax, bars, [printable(text) for text in told])
        ax.set_yticks(range(len(lines)), [drawn(change.column, _NAME) for change in lines])
        ax.set_xlabel("Standard deviations; 1 for a category, True/False, missing")
        ax.set_xlim(0, 3.0 * max(change.size for change in lines))  # with room for what is written beside bars

    @property
    def headline(self) -> str:
        """Return a sentence: the decision, the runner-up, and by how much it is behind.

        Returns
        -------
        str
            The sentence.
        """
        what = "expected cost, the least decides" if self.rule == BY_COST else "score, the largest decides"
        return f"{label_text(self.decision)}, ahead of {label_text(self.runner_up)} by {plain(self.lead)} ({what})"

    def _tables(self) -> list[tuple[str, Sequence[str], list[list[str]], int]]:
        """Return title, header, lines and number of columns of text of each table that has lines."""
        answers = [[label_text(a.decision), *map(_number, a[1:])] for a in self.answers[:_MOST_LINES]]
        header = ["decision", "probability", "expected cost", "score", "behind"]
        kept = [j for j in range(len(header)) if any(line[j] for line in answers)]
        changes = [
            [c.column, value_text(c.value), c.text, label_text(c.decision), _number(c.size)]
            for c in self.changes[:_MOST_LINES]
        ]
        similar = [
            [str(s.row), label_text(s.label), label_text(s.decision), f"{s.similarity:.2f}"]
            for s in self.similar[:_MOST_LINES]
        ]
        tables: list[tuple[str, Sequence[str], list[list[str]], int]] = [
            ("Decisions", [header[j] for j in kept], [[line[j] for j in kept] for line in answers], 1),
            ("What would have to change", ["column", "is", "then", "decision", "size"], changes, 4),
            ("Rows that look most alike", ["row", "label", "decision", "similarity"], similar, 3),
        ]
        return [table for table in tables if table[2]]

    @property
    def _remarks(self) -> list[str]:
        rest = [f"{len(self.answers) - _MOST_LINES} more decisions"] if len(self.answers) > _MOST_LINES else []
        if len(self.changes) > _MOST_LINES:
            rest.append(f"{len(self.changes) - _MOST_LINES} more columns")
        more = [f"{' and '.join(rest)} in to_frame"] if rest else []
        about = [_NOT_EXACT] if any(not change.exact for change in self.changes[:_MOST_LINES]) else []
        return [*more, *about, *self.notes]

    def __repr__(self) -> str:
        lines = [f"Decision: {self.headline}"]
        for title, header, rows, left in self._tables():
            shortened = [[printable(short(cell, 40)) for cell in row] for row in (header, *rows)]
            lines += ["", title, *("  " + line for line in aligned(shortened, range(left, len(header))))]
        if self._remarks:
            lines += ["", *(f"Note: {remark}." for remark in self._remarks)]
        return "\n".join(lines)

    def _repr_html_(self) -> str | None:
        """Return the tables for notebooks, which show them as text where Jinja2 is not installed."""
        try:
            return rendered("why.html", headline=self.headline, tables=self._tables(), remarks=self._remarks)
        except ImportError:
            return None


def why(
    model: Any,
    x: Any,
    X: Any = None,
    y: Any = None,
    cost: Any = None,
    *,
    wanted: Any = None,
    columns: Any = None,
    n_rows: int = 5,
) -> WhyDecision:
    """Say why a row is decided as it is, what would have to change, and which rows look alike.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk.
    x : array-like of shape (d,) or (1, d), DataFrame of one row, Series, or dict
        The row. A dict has a value for each name of a column, or for each number if columns have no names.
    X : array-like of shape (n, d), optional
        Other rows, such as the training rows: they say which values columns have.
        By default only the model says which values matter.
    y : array-like of shape (n,), optional
        Classes of the rows in X. With them, the rows that look alike are named. By default none are.
    cost : array-like of shape (K, D) or (1, K, D), DataFrame, dict, CSV file or CostMatrix, optional
        Costs to decide by, as `MinRiskClassifier.predict` takes them. By default those of the fit.
    wanted : label, optional
        The decision that changes are to lead to. By default any other.
    columns : sequence of names or positions, optional
        The columns that may change, such as those that somebody can change. By default all.
    n_rows : int, default=5
        How many rows that look alike are named.

    Returns
    -------
    minrisk.inspection.why_decision.WhyDecision
        The `decision`, the `runner_up`, the `lead`, and lists of `answers`, `changes`, `similar` rows and `notes`. It
        prints as tables; `to_frame` gives them as DataFrames and `plot` draws them.

    Raises
    ------
    TypeError
        If the model is no classifier of minrisk.
    NotFittedError
        If it is not fitted.
    ValueError
        If x is not one row of the model's columns, X and y differ in length, or the model cannot decide by `cost`.

    Notes
    -----
    *Decisions.* If probabilities p_j decide, decision k costs sum_j p_j C_jk in expectation, and the least decides. If
    the fit had costs for each row, these are costs above the cheapest decision. Other models have scores, of which the
    largest decides.

    *What would have to change.* For every column by itself, this is the smallest change of its value that turns the
    decision into another.
    Along one column a sum of trees is constant between the thresholds of that column, so one value beyond each
    threshold is enough and the search is exact. For a category all other values are considered, and so for True and
    False. Of a column of whole numbers whole numbers are named. That a value goes missing is named where no other value
    turns the decision, if the training rows or those in X lack values of the column.
    If scores change gradually along the column, 64 values are considered (quantiles of X if that is given), and the
    nearest change is narrowed down by halving; its `exact` is then False. This is so for linear features and kernels of
    `MinRiskClassifier` (``pool=False`` leaves them out), for similarities, and for regressors of scikit-learn.
    A change is one of the model's answer and no advice: columns may depend on each other.

    *Rows that look alike.* The similarity of a row to x is the weighted share of trees in which both fall into one
    leaf. A tree weighs the length of the vector that x's leaf adds to the scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from minrisk import MinRiskClassifier
    >>> from minrisk.inspection import why
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> y = load_iris().target_names[y]
    >>> model = MinRiskClassifier(pool=False, random_state=0).fit(X, y)
    >>> found = why(model, X.iloc[[77]], X, y, n_rows=3)
    >>> bool(found.decision == model.predict(X.iloc[[77]])[0])
    True
    >>> found.changes[0].column, found.changes[0].exact
    ('petal width (cm)', True)
    >>> found.similar[0].row, found.similar[0].similarity
    (77, 1.0)
    """
    model = check_fitted(model, "why")
    n_rows = check_parameters("why", {"n_rows": n_rows}, {"n_rows": Number(int, 0)})["n_rows"]
    codes = codes_of_row(model, x)
    if y is not None and X is None:
        raise ValueError("y are the classes of the rows in X, got y alone: give X too.")
    X = None if X is None else rows_here(model, X)
    y = None if y is None else _classes(y, X.shape[0])
    decider = Decider(model, cost)
    changes = changes_of(decider, codes, _numbers(model, X), types_of_columns(model, x, X), wanted, columns)
    answers, notes = decider.answers(codes), []
    if answers.probabilities is None:
        notes.append("scores of this model say nothing about probabilities, so leads are in scores")
    elif answers.expected is not None and not decider.as_stated:
        notes.append("expected costs are above the least cost of the row, which no decision avoids")
    if not changes:
        notes.append("no change of one value that was looked at turns the decision into another")
    similar: list[SimilarRow] = []
    if y is not None and (refused := why_no_rows(model)) is not None:
        notes.append(refused)
    elif y is not None:
        alike = similarities(model, codes, X)
        best = np.argsort(-alike, kind="stable")[:n_rows]
        decided = model.predict(some_rows(X, best)) if len(best) else []
        similar = [
            SimilarRow(*line) for line in zip(best.tolist(), y[best], decided, alike[best].tolist(), strict=True)
        ]
    lines = _ranked(decider, answers)
    second = lines[1]
    return WhyDecision(lines[0].decision, second.decision, second.behind, answers.rule, lines, changes, similar, notes)


def _classes(y: Any, n: int) -> np.ndarray:
    """Return the classes of n rows."""
    labels = np.asarray(check_labels(y, any_kind=True))
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.shape != (n,):
        got = f"{len(labels)} classes" if labels.ndim == 1 else f"{kind_text(y)} of shape {labels.shape}"
        raise ValueError(f"y must hold a class for each of the {n} rows of X, got {got}: correct it.")
    return labels


def _numbers(model: Any, X: Any) -> FloatArray | None:
    """Return rows as the model sees them; None without rows, or if sparse rows are too many for an array."""
    try:
        return None if X is None else np.asarray(codes_of_rows(model, X), dtype=np.float64)
    except MemoryError:
        return None


def _ranked(decider: Decider, answers: Answers) -> list[DecisionAnswer]:
    """Return what is told of each decision, from the best to the worst, of equal ones the first."""
    p, scores = answers.probabilities, answers.scores
    by = -scores[0] if answers.rule != BY_COST or answers.expected is None else answers.expected[0]
    order = np.argsort(-answers.merits[0], kind="stable").tolist()

    def at(values: FloatArray | None, k: int) -> float | None:
        return float(values[0, k]) if values is not None and k < values.shape[1] else None

    return [
        DecisionAnswer(
            decider.decisions[k], at(p, k), at(answers.expected, k), at(scores, k), float(by[k] - by[order[0]])
        )
        for k in order
    ]


def wide_rows(model: Any, codes: Any) -> FloatArray:
    """Return all that trees split, of rows of codes (n, d): columns, what categories add, linear features."""
    return with_linear_features(model.model_, model._categories.numbers(codes))


def why_no_rows(model: Any) -> str | None:
    """Say why rows cannot be compared by leaves; None: they can."""
    packed, name = model.model_.packed, type(model).__name__
    if isinstance(packed, PackedTrees):
        none = f"this {name} holds no tree that splits anything, so rows share no leaves"
        return None if packed.depth.any() else none
    explained = hasattr(packed, "anchors")
    way = "; minrisk.inspection.explain names the training rows that decisions rest on" if explained else ""
    return f"this {name} holds no trees, so rows share no leaves{way}"


def similarities(model: Any, codes: FloatArray, X: Any) -> FloatArray:
    """Return how alike each row of X is to a row of codes (1, d), (n,); the model holds trees that split.

    It is the share of trees in whose leaf both rows fall, which is the similarity of random forests (Breiman and
    Cutler, "Random forests", 2003, Sec. "Proximities"). Here each tree counts by the length of the vector that its leaf
    adds to the row's scores: trees that say nothing about the row do not count. A row is 1 like itself.
    """
    leaves = list(_leaves(model, wide_rows(model, codes)[0]))
    whole, found = sum(weight for _, weight in leaves), np.zeros(X.shape[0])
    rows = codes_of_rows(model, X)
    height = block_height(rows, _COMPARED_ROWS)
    for first in range(0, len(found), height):
        part = slice(first, first + height)
        columns = np.asfortranarray(wide_rows(model, np.asarray(rows[part], dtype=np.float64)))
        for bounds, weight in leaves:
            inside = np.ones(len(columns), dtype=np.bool_)
            for j, (low, high) in bounds.items():  # missing values are below all others
                if low > -np.inf:
                    inside &= columns[:, j] > low
                if high < np.inf:
                    inside &= ~(columns[:, j] > high)
            found[part] += weight * inside
    return np.asarray(found / whole if whole > 0 else found)


def _leaves(model: Any, x: FloatArray) -> Iterator[tuple[dict[int, tuple[float, float]], float]]:
    """Yield the leaf that a row falls into, for each tree that adds something: bounds of features, and its weight.

    A feature is above the first bound and not above the second.
    """
    packed, vectors = model.model_.packed, np.asarray(model.model_.vectors)
    feature, threshold, left = packed.of_nodes("feature"), packed.of_nodes("threshold"), packed.counted("left")
    vector, is_leaf = packed.counted("vector"), packed.is_leaf
    for t in np.flatnonzero(packed.depth):
        node, bounds = int(packed.offsets[t]), dict[int, tuple[float, float]]()
        while not is_leaf[node]:
            j, at = int(feature[node]), float(threshold[node])
            low, high = bounds.get(j, (-np.inf, np.inf))
            above = bool(x[j] > at)
            bounds[j] = (max(low, at), high) if above else (low, min(high, at))
            node = int(left[node]) + above
        response = 1.0 if packed.value is None else float(packed.value[node])
        if packed.slope is not None and packed.slope[node] != 0.0 and not np.isnan(z := float(x[feature[node]])):
            response += float(packed.slope[node]) * (z - float(packed.origin[node]))
        weight = abs(response) * math.sqrt(math.fsum(vectors[vector[node]] ** 2))
        if weight > 0:
            yield bounds, weight


def _number(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else plain(value)


def _label(ax: Any, bars: Any, told: Sequence[str]) -> None:
    """Write beside the bars of a panel, and draw it as both panels are; few bars do not fill it."""
    ax.bar_label(bars, told, padding=4, fontsize=9, color=DARK)
    ax.set_ylim(max(len(bars), 3) - 0.4, -0.6)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#E4E4E4", linewidth=0.8)
    ax.set_axisbelow(True)
