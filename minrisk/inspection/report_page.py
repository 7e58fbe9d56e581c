"""A report on a model as one HTML file that needs no network."""

from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minrisk
from minrisk._kernels.functions import log
from minrisk._typing import FloatArray, IntArray
from minrisk._utils.algebra import product
from minrisk._utils.packages import library
from minrisk._utils.text import first_of, printable, short
from minrisk.costs import CostMatrix
from minrisk.costs.labels import label_text, match_labels, no_classes
from minrisk.costs.reading import costs_of_rows, has_matrices
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.estimator.fitted import check_fitted, names_of_columns, told_parameters
from minrisk.estimator.parameters import Number, check_parameters
from minrisk.inspection.changes import Decider
from minrisk.inspection.columns import codes_of_rows, in_parts, rows_here, some_rows
from minrisk.inspection.plotting import BLUE, MUTED, CostConfusionDisplay, drawn, plain, pyplot
from minrisk.inspection.shap_scores import EXPLAINED, why_no_values
from minrisk.inspection.shap_values import ShapExplainer, why_no_costs
from minrisk.io.atomic import write_beside
from minrisk.metrics import Samples, as_samples

BINS = 10  # of probabilities
_JUDGED_TOGETHER = 1 << 12  # rows that a model answers at a time
_LEAST_SHOWN = 1e-15  # of which a log-loss is taken
_NO_ERROR = 1e-12  # of a mean: standard errors below are rounding
_MOST_LABELS = 12  # that have a line in the table of costs
_MOST_CELLS = 15  # confusions in words
_MOST_IMPORTANT = 30
_EXPLAINED_ROWS = 100  # that SHAP values are taken of: a second or two for a large model
_LIKELY = 3  # classes whose probabilities are told of a row
_LONGEST_LABEL = 24  # characters in pictures
_MOST_CURVES = 30  # classes that have a curve
_PANELS_BESIDE = 5
_ROW_GROUPS = 10  # of rows by expected cost


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    cost: Any = None,
    sample_weight: Any = None,
    *,
    title: str | None = None,
    n_rows: int = 20,
    names: Sequence[str] | None = None,
) -> str:
    """Judge a model on rows with known classes, and write a page about it: one HTML file that needs no network.

    Rows that the model was trained on would flatter it, so give others.

    Parameters
    ----------
    model : estimator
        A fitted classifier of minrisk.
    X : array-like of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        Their true classes.
    path : path, optional
        The file, which is replaced as a whole. By default none is written.
    cost : array-like of shape (K, D) or (n, D), DataFrame, dict, CSV file or CostMatrix, optional
        Costs to judge by, as in `minrisk.metrics.expected_cost`. The decisions are those of ``model.predict(X)``.
        By default those of the fit.
    sample_weight : array-like of shape (n,), optional
        How often each row counts in means, costs and confusions. By default every row counts once.
    title : str, optional
        Heading of the page. By default the name of the estimator.
    n_rows : int, default=20
        How many of the rows whose decisions cost most are listed.
    names : sequence of d str, optional
        Names of the columns. By default those of the training table.

    Returns
    -------
    str
        The page.

    Raises
    ------
    TypeError
        If the model is no classifier of minrisk.
    NotFittedError
        If it is not fitted.
    ValueError
        If X and y do not fit, `n_rows` is no whole number of 0 or more, or the fit had costs for each row and `cost` is
        not given.
    ImportError
        If matplotlib or Jinja2 is not installed.

    Notes
    -----
    The page says

    - what the model is;
    - its mean cost, errors and log-loss with standard errors, beside those of one answer for all rows; decisions that
      are no class, such as to refer a case, are no errors but lines of their own;
    - where the cost comes from;
    - whether probabilities and expected costs come true;
    - the kinds of members of a `MinRiskClassifier`, and their shares;
    - which features matter, and how much each moves the expected cost of the decisions;
    - the rows whose decisions cost most.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from minrisk import REBELClassifier
    >>> from minrisk.inspection import report
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = REBELClassifier([[0, 1, 1], [1, 0, 1], [10, 10, 0]], n_estimators=10).fit(X[::2], y[::2])
    >>> page = report(model, X[1::2], y[1::2])
    >>> "<h2>Where the cost comes from</h2>" in page, "http://" in page.replace("http://www.w3.org", "")
    (True, False)
    """
    model = check_fitted(model, "report")
    n_rows = check_parameters("report", {"n_rows": n_rows}, {"n_rows": Number(int, 0)})["n_rows"]
    file = None if path is None else os.fspath(path)
    names = names_of_columns(model, names)
    pyplot(), templates()  # they say how to get them, before any work
    rows = JudgedRows(model, rows_here(model, X), y, cost, sample_weight)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # a sign that a font lacks is no matter
        page = rendered(
            "report.html",
            title=f"{type(model).__name__}: what its decisions cost" if title is None else title,
            version=minrisk.__version__,
            has_probabilities=rows.binned is not None,
            costs_differ_by_row=rows.samples.per_row,
            **_about_model(rows),
            **_about_risk(rows),
            **_about_costs(rows),
            calibration_picture=None if rows.binned is None else _calibration(rows, rows.binned),
            expected_cost_picture=None if rows.expected is None else _expected_costs(rows.expected, rows.compared),
            **_about_importances(model, names),
            **_about_moves(rows, names),
            worst=_worst(rows, n_rows),
            n_worst=n_rows,
        )
    if file is not None:
        with write_beside(file) as beside:
            beside.write_text(page, encoding="utf-8")
    return page


def templates() -> Any:
    """Return Jinja2's environment of the pages, which escapes every text that is put in; or say how to get Jinja2."""
    jinja2 = library("jinja2", "report", "Pages need")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: value if hasattr(value, "__html__") else printable(str(value)),
    )


def rendered(name: str, **values: Any) -> str:
    """Return the page that a template makes of these values."""
    page: str = templates().get_template(name).render(**values)
    return page


# -- what the page tells, as values for its template -------------------------------------------------------------------
def _about_model(rows: JudgedRows) -> dict[str, Any]:
    model = rows.model
    decisions = [decision for decision in model.decisions_.tolist() if decision not in rows.classes]
    parameters = told_parameters(model)
    split = int(np.count_nonzero(model.model_.packed.depth))
    target, surrogate = getattr(model, "target_name_", None), getattr(model, "surrogate_", None)
    facts = {
        "algorithm": type(model).__name__ + (f", surrogate {surrogate}" if surrogate else ""),
        "parameters": ", ".join(f"{name} {short(str(v), 60)}" for name, v in parameters.items() if v is not None),
        "target": target,
        "classes": f"{len(rows.classes)}: {first_of(map(label_text, rows.classes))}",
        "more decisions": first_of(map(label_text, decisions)),
        "columns": f"{model.n_features_in_}, of which {np.count_nonzero(model.feature_importances_)} are used",
        "rounds": f"{model.n_iter_}, {split} learners that split something",
        "judged on": f"{len(rows)} rows",
    }
    regression, tried = getattr(model, "cost_regression_", None), getattr(model, "selection_", None)
    return {
        "model": [(name, told) for name, told in facts.items() if told or name == "parameters"],
        "learnt_nothing": model.n_iter_ == 0
        and model.model_.smooth is None
        and (regression is None or not len(regression.packed)),
        "members": None if tried is None else [_member(line) for line in tried],
    }


def _member(line: dict[str, Any]) -> list[Any]:
    risk = "–" if line["risk"] is None else plain(line["risk"])
    share, temperature = f"{100 * line['share']:.1f} %", plain(line["temperature"])
    return [line["surrogate"], line["variant"], share, line["n_rounds"], temperature, risk]


def _about_risk(rows: JudgedRows) -> dict[str, Any]:
    """Tell means of what decisions are judged by, with standard errors, beside those of one answer for all rows."""
    pairs = {
        "mean cost": (rows.costs, rows.costs_of_constant),
        "errors": (rows.is_wrong.astype(np.float64), rows.is_constant_wrong.astype(np.float64)),
    }
    for j in rows.referrals:
        name = "referred" if len(rows.referrals) == 1 else f"referred: {rows.decisions[j]}"
        referred = (rows.samples.decided == j).astype(np.float64)
        pairs[name] = referred, np.full(len(rows), float(j == rows.constant))
    losses = rows.log_loss()
    if losses is not None:
        pairs["log-loss"] = losses, rows.shares_log_loss()
    return {
        "risk": [
            [name, *(_with_error(rows.mean(values)) for values in (own, other, own - other))]
            for name, (own, other) in pairs.items()
        ],
        "constant": rows.decisions[rows.constant],
        "referrals": first_of(rows.decisions[j] for j in rows.referrals),
    }


def _with_error(value: MeanValue) -> str:
    if np.isnan(value.error):
        return plain(value.mean)
    error = 0.0 if value.error <= _NO_ERROR * abs(value.mean) else value.error
    return f"{plain(value.mean)} ± {plain(error, 2)}"


def _about_costs(rows: JudgedRows) -> dict[str, Any]:
    """Tell the confusions that cost most, in a picture and in words, and the costs if they are one small table."""
    totals, counts = (rows.samples.in_cells(weight) for weight in (rows.weight * rows.costs, rows.weight))
    whole = float(totals.sum())
    if whole <= 0:
        return {"confusions": None}
    lines = []
    for at in np.argsort(-totals, axis=None, kind="stable")[:_MOST_CELLS]:
        i, j = divmod(int(at), totals.shape[1])
        if totals[i, j] > 0:
            share = f"{100 * totals[i, j] / whole:.1f} %"
            lines.append([rows.labels[i], rows.decisions[j], plain(counts[i, j]), plain(totals[i, j]), share])
    values, costs = rows.samples.values, None
    if not rows.samples.per_row and max(values.shape) <= _MOST_LABELS:
        told = [[rows.labels[i], *(f"{cost:g}" for cost in row)] for i, row in enumerate(values)]
        costs = [["", *rows.decisions], *told]
    names = ([drawn(name, _LONGEST_LABEL) for name in labels] for labels in (rows.labels, rows.decisions))
    display = CostConfusionDisplay(totals, counts, *names)
    return {"confusions": lines, "costs": costs, "confusion_picture": _svg(display.plot().figure_)}


def _about_importances(model: Any, names: Sequence[str]) -> dict[str, Any]:
    """Tell which columns the learners split, by the loss that this took away."""
    shares = model.feature_importances_
    order = [j for j in np.argsort(-shares, kind="stable").tolist() if shares[j] > 0]
    lines = [(names[j], float(shares[j]), f"{100 * shares[j]:.1f} %") for j in order[:_MOST_IMPORTANT]]
    return {"importances": lines, "n_more": len(order) - len(lines)}


def _about_moves(rows: JudgedRows, names: Sequence[str]) -> dict[str, Any]:
    """Tell how much each column moves the expected cost of the decisions about some rows, or why that is not told."""
    if (reason := rows.why_not_explained()) is not None:
        return {"not_explained": reason}
    chosen = np.arange(0, len(rows), max(1, -(-len(rows) // _EXPLAINED_ROWS)))
    X = some_rows(rows.X, chosen)
    explained = ShapExplainer(rows.model, X).explain(
        X, of="cost", decision=rows.decided[chosen], cost=rows.costs_of(chosen)
    )
    sizes = explained.mean_sizes
    order = [j for j in np.argsort(-sizes, kind="stable").tolist() if sizes[j] > 0.0][:_MOST_IMPORTANT]
    moves = [(names[j], float(sizes[j]), plain(sizes[j])) for j in order]
    return {"not_explained": None, "moves": moves, "n_explained": len(chosen)}


def _worst(rows: JudgedRows, most: int) -> list[list[str]]:
    """List the rows whose decisions cost most, below a header; nothing where none cost more than it had to."""
    found, samples = rows.worst(most), rows.samples
    lines = [
        [str(n), rows.labels[samples.truth[n]], rows.decisions[samples.decided[n]], plain(rows.costs[n])] for n in found
    ]
    header = ["row", "true class", "decision", "cost"]
    if lines and rows.binned is not None:
        header.append("probabilities")
        for line, p in zip(lines, rows.model.predict_proba(some_rows(rows.X, found)), strict=True):
            likely = np.argsort(-p, kind="stable")[:_LIKELY].tolist()
            names = [label_text(label) for label in rows.classes]
            likely += [j for j, name in enumerate(names) if name == line[1] and j not in likely]
            line.append(", ".join(f"{names[j]} {p[j]:.3f}" for j in likely))
    return [header, *lines] if lines else []


# -- pictures ----------------------------------------------------------------------------------------------------------
def _svg(figure: Any) -> str:
    """Return a figure as the address of an image that holds all its data, and close it."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "minrisk"}):  # the same names of its parts each time
        figure.canvas.print_figure(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot().close(figure)
    return f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _calibration(rows: JudgedRows, binned: BinnedProbabilities) -> str:
    """Draw how often each class was true, by the probability that the model gave it."""
    counted = binned.true.sum(axis=1)
    chosen = np.sort(np.argsort(-counted, kind="stable")[:_MOST_CURVES])
    beside = min(_PANELS_BESIDE, len(chosen))
    below = -(-len(chosen) // beside)
    size = (2.1 * beside + 0.5, 2.2 * below + 0.4)
    figure, axes = pyplot().subplots(
        below, beside, figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False
    )
    for ax, j in zip(axes.flat, chosen.tolist(), strict=False):
        held = binned.rows[j] > 0
        counts, given, true = (part[j][held] for part in binned)
        likely = (true + 1.0) / (counts + 2.0)  # Laplace's: the error of a single row is not 0
        _draw_means(ax, given / counts, true / counts, np.sqrt(likely * (1.0 - likely) / counts))
        ax.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        ax.set_title(drawn(rows.classes[j], _LONGEST_LABEL), fontsize=9)
    for ax in axes.flat[len(chosen) :]:
        ax.set_axis_off()
    for ax in axes.flat[max(0, len(chosen) - beside) : len(chosen)]:  # the lowest of each column
        ax.tick_params(axis="x", labelbottom=True)
    figure.supxlabel("Probability given by the model", fontsize=9)
    figure.supylabel("Share that was true", fontsize=9)
    return _svg(figure)


def _expected_costs(expected: FloatArray, actual: FloatArray) -> str:
    """Draw the mean actual cost by the expected cost, in groups of as many rows."""
    groups = np.array_split(np.argsort(expected, kind="stable"), min(_ROW_GROUPS, len(expected)))
    given, found = (np.array([values[part].mean() for part in groups]) for values in (expected, actual))
    errors = [actual[part].std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else 0.0 for part in groups]
    figure, ax = pyplot().subplots(figsize=(4.4, 3.6), layout="constrained")
    _draw_means(ax, given, found, np.array(errors))
    ax.set(xlabel="Expected cost of the decision", ylabel="What it cost")
    ax.margins(0.06)
    return _svg(figure)


def _draw_means(ax: Any, given: FloatArray, found: FloatArray, errors: FloatArray) -> None:
    """Draw what was found by what was given, beside the line where both are equal."""
    ax.axline((0, 0), slope=1, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.errorbar(given, found, errors, color=BLUE, marker="o", markersize=4, linestyle="none", elinewidth=1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


# -- rows and their judgement ------------------------------------------------------------------------------------------
class MeanValue(NamedTuple):
    """A mean over rows and its standard error, sqrt(sum w^2 (v - mean)^2 n / (n - 1)) / sum w."""

    mean: float
    error: float


class BinnedProbabilities(NamedTuple):
    """How often classes were true, by the probability that the model gave them; each (K, `BINS`)."""

    rows: FloatArray  # with a probability in this tenth
    given: FloatArray  # sum of their probabilities
    true: FloatArray  # how many of them were of the class


def _binned(p: FloatArray, truth: IntArray) -> BinnedProbabilities:
    """Count probabilities (n, K) and true classes (n,), -1 where the model does not know the class."""
    n_classes, known = p.shape[1], np.flatnonzero(truth >= 0)
    place = np.searchsorted(np.linspace(0.0, 1.0, BINS + 1)[1:-1], p) + BINS * np.arange(n_classes)

    def counted(at: IntArray, weights: FloatArray | None = None) -> FloatArray:
        found = np.bincount(at.ravel(), weights, n_classes * BINS)
        return found.reshape(n_classes, BINS).astype(np.float64)

    return BinnedProbabilities(counted(place), counted(place, p.ravel()), counted(place[known, truth[known]]))


class JudgedRows:
    """Rows with known classes, what was decided about them and what that cost.

    Numbers for each row and class are made of some rows at a time; what is kept are a few numbers for each row.

    Parameters
    ----------
    model : fitted classifier of minrisk
    X : table, ndarray or sparse matrix of shape (n, d)
        What `rows_here` gives.
    y : array-like of shape (n,)
    cost : optional
        Costs to judge by, as in `minrisk.metrics.expected_cost`; None: those of the fit.
    sample_weight : array-like of shape (n,), optional

    Attributes
    ----------
    samples : Samples
        Truth and decisions as codes, their labels, and the costs.
    labels, decisions : list of str
        Names of the true classes and of the decisions.
    decided : ndarray of shape (n,)
        The decisions, as `predict` gives them.
    weight, costs, least : ndarray of shape (n,)
        How often each row counts, what its decision cost, and what the cheapest decision would have cost.
    constant : int
        Number of the decision that, taken for all rows, costs least.
    costs_of_constant : ndarray of shape (n,)
        What that decision would have cost.
    referrals : list of int
        Numbers of the decisions that are no classes, such as to refer a case.
    is_wrong, is_constant_wrong : ndarray of bool of shape (n,)
        Whether the decision, or the constant one, is another class than the true one.
    p_of_truth : ndarray of shape (n,) or None
        Probability that the model gave to the true class, 0 where it does not know the class; None without
        probabilities.
    binned : BinnedProbabilities or None
    expected : ndarray of shape (n,) or None
        What each decision was expected to cost: of costs that differ by row above the least of the row. None where
        nothing was expected.
    """

    def __init__(self, model: Any, X: Any, y: Any, cost: Any, sample_weight: Any) -> None:
        self.model, self.classes, self.X, self._cost = model, model.classes_.tolist(), X, cost
        if X.shape[0] == 0:
            raise ValueError("X must hold one row at least to be judged, got none.")
        self.decided = np.concatenate([model.predict(rows) for _, rows in in_parts(X, _JUDGED_TOGETHER)])
        n = len(self.decided)
        given = model._judged_by() if cost is None else cost
        judged_by = costs_of_rows(given, n, model.classes_, (), model._names(), model.decisions_, X=X, y=y)
        self._zero_one = judged_by is None
        samples = _of_few_decisions(as_samples(y, self.decided, judged_by, None, sample_weight), model)
        self.samples, values, truth = samples, samples.values, samples.truth
        self.labels, self.decisions = ([*map(label_text, names)] for names in (samples.classes, samples.decisions))
        self.weight: FloatArray = np.ones(n) if samples.weight is None else samples.weight
        if not values.max(initial=0.0) / LARGEST_FLOAT * self.weight.sum() < 1.0:
            raise ValueError("the costs of the rows sum to more than a number holds: give costs in another unit.")
        line = np.arange(n) if samples.per_row else truth  # of the table of costs
        self.costs: FloatArray = values[line, samples.decided]
        self.least: FloatArray = values.min(axis=1)[line]
        self.class_weights = np.bincount(truth, self.weight, len(samples.classes))
        weights = self.weight if samples.per_row else self.class_weights
        self.constant = int(product(weights / weights.max(), values).argmin())
        self.costs_of_constant: FloatArray = values[line, self.constant]
        self.referrals: list[int] = no_classes(samples.decisions, samples.classes)
        right = np.array(match_labels(samples.classes, samples.decisions))[truth]  # -1: no decision is
        self.is_wrong = (right != samples.decided) & ~np.isin(samples.decided, self.referrals)
        self.is_constant_wrong = (right != self.constant) & (self.constant not in self.referrals)
        self.p_of_truth: FloatArray | None = None
        self.binned: BinnedProbabilities | None = None
        self.expected: FloatArray | None = None
        if hasattr(model, "predict_proba"):
            self._take_probabilities()
        if samples.per_row and getattr(model, "cost_regression_", None) is not None:
            self._take_learnt_costs()

    def _take_probabilities(self) -> None:
        """Keep what is told of the model's probabilities."""
        samples, known = self.samples, np.array(match_labels(self.samples.classes, self.classes))
        self.p_of_truth, parts = np.zeros(len(self)), []
        costs = None
        if not samples.per_row:
            places = np.array(match_labels(self.classes, samples.classes))
            costs, self.expected = samples.values[places], np.empty(len(self))
            # 0/1 costs name only classes that occur: whatever else is true, all decisions are mistakes
            costs[places < 0] = 1.0
        for part, rows in in_parts(self.X, _JUDGED_TOGETHER):
            p, at = self.model.predict_proba(rows), known[samples.truth[part]]
            self.p_of_truth[part] = np.where(at >= 0, p[np.arange(len(p)), at], 0.0)
            parts.append(_binned(p, at))
            if costs is not None and self.expected is not None:
                self.expected[part] = (p * costs[:, samples.decided[part]].T).sum(axis=1)
        self.binned = BinnedProbabilities(*(np.sum(found, axis=0) for found in zip(*parts, strict=True)))

    def _take_learnt_costs(self) -> None:
        """Keep what the model had learnt about the costs of its decisions."""
        decider, places = Decider(self.model), match_labels(self.samples.decisions, self.model.decisions_.tolist())
        if -1 in places:
            return
        at, self.expected = np.array(places)[self.samples.decided], np.empty(len(self))
        for part, rows in in_parts(self.X, _JUDGED_TOGETHER):
            answers = decider.answers(codes_of_rows(self.model, rows)).expected
            assert answers is not None
            self.expected[part] = answers[np.arange(len(answers)), at[part]]

    def __len__(self) -> int:
        return len(self.decided)

    def mean(self, values: FloatArray) -> MeanValue:
        """Return the weighted mean of a number for each row."""
        weight, n = self.weight / self.weight.max(), int(np.count_nonzero(self.weight))
        largest = float(np.abs(values).max(initial=0.0)) or 1.0  # so that squares of huge costs stay finite
        share = values / largest
        mean = float(np.sum(weight * share) / weight.sum())
        spread = float(np.sqrt(((weight * (share - mean)) ** 2).sum() * n / max(1, n - 1)) / weight.sum())
        return MeanValue(largest * mean, largest * spread if n > 1 else np.nan)

    def log_loss(self) -> FloatArray | None:
        """Return -log p of the true class, (n,); None without probabilities."""
        return None if self.p_of_truth is None else np.asarray(-log(np.maximum(self.p_of_truth, _LEAST_SHOWN)))

    def shares_log_loss(self) -> FloatArray:
        """Return -log of the share of the true class among these rows, (n,)."""
        shares = self.class_weights / self.class_weights.sum()
        return np.asarray(-log(np.maximum(shares, _LEAST_SHOWN))[self.samples.truth])

    @property
    def compared(self) -> FloatArray:
        """What decisions cost, to be compared with what was `expected`, (n,)."""
        return self.costs - self.least if self.samples.per_row else self.costs

    def why_not_explained(self) -> str | None:
        """Say why it is not told what each column did to the expected costs of the decisions; None: it is."""
        if (reason := why_no_values(self.model)) is not None:
            return f"This is told of models that are {EXPLAINED}, but {reason}"
        if (reason := why_no_costs(self.model)) is not None:
            return f"This is told where the model gives probabilities, but {reason}"
        if self.samples.per_row and not has_matrices(self._cost):
            return (
                "This is told where costs are known of all classes, but these are known of each row's true class "
                "alone: judge by one matrix, or by a matrix for each row, of shape (n, K, D)"
            )
        return None

    def costs_of(self, rows: IntArray) -> Any:
        """Return costs of decisions about these rows, whatever is true of them, as `predict` takes costs."""
        if self._zero_one or self.samples.per_row:
            return None if self._zero_one else np.asarray(self._cost)[rows]
        samples = self.samples
        return CostMatrix(samples.values, samples.classes, samples.decisions, allow_diagonal=True)

    def worst(self, most: int) -> IntArray:
        """Return numbers of the rows whose decisions cost most above the least cost of the row, the dearest first.

        Of equal ones those come first whose true class was held least likely.
        """
        p = np.zeros(len(self)) if self.p_of_truth is None else self.p_of_truth
        order = np.lexsort((np.arange(len(self)), p, -self.costs))
        return np.asarray(order[(self.costs > self.least)[order] & (self.weight[order] > 0)][:most])


def _of_few_decisions(samples: Samples, model: Any) -> Samples:
    """Give samples a table of 0/1 costs of the model's decisions and the best constant one: labels may be many more."""
    if samples.table is not None:
        return samples
    known = np.array(match_labels(samples.decisions, model.decisions_.tolist())) >= 0
    known[samples.decided] = known[np.bincount(samples.truth, samples.weight).argmax()] = True
    kept, places = np.flatnonzero(known), np.cumsum(known) - 1
    return samples._replace(
        table=np.not_equal.outer(np.arange(len(samples.classes)), kept).astype(np.float64),
        decisions=tuple(samples.decisions[j] for j in kept),
        decided=places[samples.decided],
    )
