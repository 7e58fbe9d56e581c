"""Why a row was decided as it was: one decision as an object with tables and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from minrisk._utils.packages import pandas
from minrisk._utils.text import short
from minrisk.costs.labels import label_text
from minrisk.data.label_cells import check_labels
from minrisk.estimator.fitted import check_fitted, kind_text
from minrisk.estimator.parameters import Number, check_parameters
from minrisk.inspection._drawing import plain
from minrisk.inspection.report_markup import escaped, lines_of_text, table
from minrisk.inspection.why_answers import BY_COST, Answers, Decider
from minrisk.inspection.why_changes import Change, changes_of
from minrisk.inspection.why_columns import codes_of_row, codes_of_rows, rows_here, some_rows, value_text
from minrisk.inspection.why_rows import SimilarRow, similarities, why_no_rows
from minrisk.inspection.why_types import types_of_columns

_MOST_LINES = 10  # of a table that is shown to people; `to_frame` has all
_NOT_EXACT = (
    'along a column whose change is marked "about" or "looked at", scores change gradually, and only some of its '
    "values were examined: a smaller change may exist"
)


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
        from minrisk.inspection.why_picture import draw

        draw(self, ax)
        return self

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
        """Title, header, lines and number of columns of text of each table that has lines."""
        return [
            (
                "Decisions",
                *_filled(
                    ["decision", "probability", "expected cost", "score", "behind"],
                    [[label_text(a.decision), *map(_number, a[1:])] for a in self.answers[:_MOST_LINES]],
                ),
                1,
            ),
            (
                "What would have to change",
                ["column", "is", "then", "decision", "size"],
                [
                    [c.column, value_text(c.value), c.text, label_text(c.decision), _number(c.size)]
                    for c in self.changes[:_MOST_LINES]
                ],
                4,
            ),
            (
                "Rows that look most alike",
                ["row", "label", "decision", "similarity"],
                [
                    [str(s.row), label_text(s.label), label_text(s.decision), f"{s.similarity:.2f}"]
                    for s in self.similar[:_MOST_LINES]
                ],
                3,
            ),
        ]

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
            if rows:
                shortened = [[short(cell, 40) for cell in row] for row in rows]
                lines += ["", title, *("  " + line for line in lines_of_text(header, shortened, left))]
        if self._remarks:
            lines += ["", *(f"Note: {remark}." for remark in self._remarks)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Tables for notebooks."""
        parts = [f"<p><b>Decision</b>: {escaped(self.headline)}</p>"]
        for title, header, rows, left in self._tables():
            if rows:
                marked = 0 if title == "Decisions" else None
                parts.append(f"<p><b>{escaped(title)}</b></p>{table(header, rows, left, marked)}")
        parts += [f"<p><small>{escaped(remark)}.</small></p>" for remark in self._remarks]
        return "\n".join(parts)


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
    answers, order = _ranked(decider, codes)
    rows = None if X is None else _numbers(codes_of_rows(model, X))
    changes = changes_of(decider, codes, rows, types_of_columns(model, x, X), wanted, columns)
    notes = _notes(model, decider, answers, changes)
    similar: list[SimilarRow] = []
    if y is not None and (refused := why_no_rows(model)) is not None:
        notes.append(refused)
    elif y is not None:
        similar = _similar(model, codes, X, y, n_rows)
    lines = _lines(decider, answers, order)
    second = lines[1]
    return WhyDecision(lines[0].decision, second.decision, second.behind, answers.rule, lines, changes, similar, notes)


def _classes(y: Any, n: int) -> np.ndarray:
    """The classes of n rows."""
    labels = np.asarray(check_labels(y, any_kind=True))
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.shape != (n,):
        got = f"{len(labels)} classes" if labels.ndim == 1 else f"{kind_text(y)} of shape {labels.shape}"
        raise ValueError(f"y must hold a class for each of the {n} rows of X, got {got}: correct it.")
    return labels


def _numbers(codes: Any) -> Any:
    """Rows of codes as an array, or None of sparse rows that are too many for one."""
    if isinstance(codes, np.ndarray):
        return codes
    try:
        return np.asarray(codes, dtype=np.float64)
    except MemoryError:
        return None


def _ranked(decider: Decider, codes: Any) -> tuple[Answers, list[int]]:
    """What the model answers about the row, and the decisions from the best to the worst, of equal ones the first."""
    answers = decider.answers(codes)
    order = np.argsort(-answers.merits[0], kind="stable").tolist()
    own = int(answers.decided[0])
    return answers, [own, *(k for k in order if k != own)]


def _lines(decider: Decider, answers: Answers, order: list[int]) -> list[DecisionAnswer]:
    """What is told of each decision."""
    scores, costs = answers.scores[0], None if answers.expected is None else answers.expected[0]
    p = None if answers.probabilities is None else answers.probabilities[0]
    by = -scores if answers.rule != BY_COST or costs is None else costs

    def at(values: Any, k: int) -> float | None:
        return float(values[k]) if values is not None and k < len(values) else None

    return [
        DecisionAnswer(decider.decisions[k], at(p, k), at(costs, k), at(scores, k), float(by[k] - by[order[0]]))
        for k in order
    ]


def _notes(model: Any, decider: Decider, answers: Answers, changes: list[Change]) -> list[str]:
    """What could not be told of the decisions."""
    notes = []
    if answers.probabilities is None:
        notes.append("scores of this model say nothing about probabilities, so leads are in scores")
    elif answers.expected is not None and not decider.as_stated:
        notes.append("expected costs are above the least cost of the row, which no decision avoids")
    if not changes:
        notes.append("no change of one value that was looked at turns the decision into another")
    return notes


def _similar(model: Any, codes: Any, X: Any, y: np.ndarray, n_rows: int) -> list[SimilarRow]:
    """The rows that look most alike, of equal ones the first."""
    alike = similarities(model, codes, X)
    best = np.argsort(-alike, kind="stable")[:n_rows]
    labels = y[best]
    decided = model.predict(some_rows(X, best)) if len(best) else []
    return [
        SimilarRow(int(row), label, decision, float(alike[row]))
        for row, label, decision in zip(best, labels, decided, strict=True)
    ]


def _number(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else plain(value)


def _filled(header: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Columns of a table that hold anything."""
    kept = [j for j in range(len(header)) if any(row[j] for row in rows)]
    return [header[j] for j in kept], [[row[j] for j in kept] for row in rows]
