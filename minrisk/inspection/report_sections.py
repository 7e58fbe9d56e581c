"""Sections of the report, each a piece of HTML; an empty text where there is nothing to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.text import short
from minrisk.costs.labels import label_text
from minrisk.inspection._drawing import plain
from minrisk.inspection.report_markup import bars, escaped, facts, table
from minrisk.inspection.report_pictures import calibration_picture, confusion_picture, expected_cost_picture
from minrisk.inspection.report_rows import JudgedRows, MeanValue
from minrisk.inspection.shap_values import ShapExplainer
from minrisk.inspection.why_columns import some_rows

_NOT_TOLD = ("cost", "class_weight", "categorical_features", "n_jobs", "random_state", "verbose", "warm_start")
_MOST_LABELS = 12  # that are listed
_MOST_IMPORTANT = 30
_EXPLAINED_ROWS = 100  # that SHAP values are taken of: a second or two for a large model
_MOST_CELLS = 15  # confusions in words
_LARGEST_TABLE = 12  # classes or decisions of a cost table that is shown
_LIKELY = 3  # classes whose probabilities are told of a row
_NO_ERROR = 1e-12  # of a mean: standard errors below are rounding


def section(title: str, *parts: str) -> str:
    """A heading and what is below it; nothing where all parts are empty."""
    inner = "\n".join(part for part in parts if part)
    return f"<section>\n<h2>{escaped(title)}</h2>\n{inner}\n</section>" if inner else ""


def paragraph(text: str, name: str = "") -> str:
    """A text."""
    return f"<p{name}>{escaped(text)}</p>"


def _listed(labels: Sequence[Any]) -> str:
    shown = ", ".join(label_text(label) for label in labels[:_MOST_LABELS])
    return shown if len(labels) <= _MOST_LABELS else f"{shown}, … ({len(labels)} in all)"


def facts_section(rows: JudgedRows) -> str:
    """What the model is, and what it is judged on."""
    model = rows.model
    classes, decisions = model.classes_.tolist(), model.decisions_.tolist()
    extra = [decision for decision in decisions if decision not in classes]
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_TOLD}
    told = ", ".join(f"{name} {short(str(value), 60)}" for name, value in parameters.items() if value is not None)
    split = int(np.count_nonzero(model.model_.packed.depth))
    target, surrogate = getattr(model, "target_name_", None), getattr(model, "surrogate_", None)
    pairs = [
        ("algorithm", type(model).__name__ + (f", surrogate {surrogate}" if surrogate else "")),
        ("parameters", told),
        *([("target", target)] if target else []),
        ("classes", f"{len(classes)}: {_listed(classes)}"),
        *([("more decisions", _listed(extra))] if extra else []),
        ("columns", f"{model.n_features_in_}, of which {int(np.count_nonzero(model.feature_importances_))} are used"),
        ("rounds", f"{model.n_iter_}, {split} learners that split something"),
        ("judged on", f"{len(rows)} rows"),
    ]
    regression = getattr(model, "cost_regression_", None)
    alike = model.n_iter_ == 0 and model.model_.smooth is None and (regression is None or not len(regression.packed))
    nothing = "This model has learnt nothing: it has no rounds, and answers all rows alike."
    return section("Model", facts(pairs), paragraph(nothing) if alike else "")


def risk_section(rows: JudgedRows) -> str:
    """Mean cost, errors, referrals and log-loss, with standard errors, beside those of one answer for all rows."""

    def line(name: str, own: Any, other: Any) -> list[str]:
        mine, constant, apart = rows.mean(own), rows.mean(other), rows.mean(own - other)
        return [name, _with_error(mine), _with_error(constant), _with_error(apart)]

    lines = [
        line("mean cost", rows.costs, rows.costs_of_constant),
        line("errors", rows.is_wrong.astype(np.float64), rows.is_constant_wrong.astype(np.float64)),
    ]
    for j in rows.referrals:
        name = "referred" if len(rows.referrals) == 1 else f"referred: {rows.decision(j)}"
        constant = np.full(len(rows), float(j == rows.constant))
        lines.append(line(name, (rows.samples.decided == j).astype(np.float64), constant))
    losses = rows.log_loss()
    if losses is not None:
        lines.append(line("log-loss", losses, rows.shares_log_loss()))
    told = (
        "Means over the rows, ± one standard error. The one answer for all rows is to decide "
        f"{rows.decision(rows.constant)}, which costs least on these rows"
    )
    told += "; for the log-loss it is the share of each class in these rows." if losses is not None else "."
    told += f" A difference below 0 is in favour of the model{_referrals_in_words(rows)}"
    return section("Risk", table(["", "model", "one answer for all", "difference"], lines), paragraph(told))


def _referrals_in_words(rows: JudgedRows) -> str:
    """What errors are, and what referrals are where decisions may be no class."""
    if not rows.referrals:
        return ". Errors are decisions other than the true class."
    names = _listed([rows.samples.decisions[j] for j in rows.referrals])
    return (
        ", but more referrals may mean fewer errors: the mean cost weighs both. Errors are decisions for another class "
        f"than the true one, and referred rows have a decision that is no class ({names}). Both are shares of all "
        "rows; the rest is decided for the true class."
    )


def _with_error(value: MeanValue) -> str:
    if np.isnan(value.error):
        return plain(value.mean)
    error = 0.0 if value.error <= _NO_ERROR * abs(value.mean) else value.error
    return f"{plain(value.mean)} ± {plain(error, 2)}"


def costs_section(rows: JudgedRows) -> str:
    """Where the cost comes from."""
    totals, counts = rows.cells()
    whole = float(totals.sum())
    if whole <= 0:
        return section("Where the cost comes from", paragraph("No decision cost anything."))
    order = np.argsort(-totals, axis=None, kind="stable")[:_MOST_CELLS]
    cells = [divmod(int(at), totals.shape[1]) for at in order]
    lines = [
        [
            rows.label(i),
            rows.decision(j),
            plain(counts[i, j]),
            plain(totals[i, j]),
            f"{100 * totals[i, j] / whole:.1f} %",
        ]
        for i, j in cells
        if totals[i, j] > 0
    ]
    worst = table(["true class", "decision", "rows", "cost", "share"], lines, left=2)
    return section("Where the cost comes from", confusion_picture(rows), worst, _stated_costs(rows))


def _stated_costs(rows: JudgedRows) -> str:
    """The cost table that decisions are judged by, if there is one of few classes."""
    samples = rows.samples
    if samples.per_row:
        return paragraph("Costs differ by row.")
    if max(samples.values.shape) > _LARGEST_TABLE:
        return ""
    lines = [[rows.label(i), *(f"{cost:g}" for cost in row)] for i, row in enumerate(samples.values)]
    names = [rows.decision(j) for j in range(len(samples.decisions))]
    return paragraph("Costs (row: the truth, column: the decision):") + "\n" + table(["", *names], lines)


def calibration_section(rows: JudgedRows) -> str:
    """Whether probabilities, and expected costs, come true."""
    parts = []
    if rows.binned is not None:
        told = (
            "A point for each tenth of probability that the model gave to some rows. On the dashed line a class is as "
            "often true as the model says. Bars are standard errors, long where rows are few. Each row counts once."
        )
        parts += [calibration_picture(rows), paragraph(told)]
    if rows.expected is not None:
        above = " Costs are above the least one of each row, which no decision avoids." if rows.samples.per_row else ""
        told = f"Rows in ten groups by what their decision was expected to cost.{above}"
        parts += [expected_cost_picture(rows.expected, rows.compared), paragraph(told)]
    if not parts:
        parts = [paragraph("The scores of this model say nothing about probabilities, so there is nothing to compare.")]
    return section("Calibration", *parts)


def members_section(rows: JudgedRows) -> str:
    """What a `MinRiskClassifier` has tried, and which share of the model it became."""
    tried = getattr(rows.model, "selection_", None)
    if tried is None:
        return ""
    lines = [
        [
            line["surrogate"],
            line["variant"],
            f"{100 * line['share']:.1f} %",
            str(line["n_rounds"]),
            plain(line["temperature"]),
            "–" if line["risk"] is None else plain(line["risk"]),
        ]
        for line in tried
    ]
    told = (
        "Kinds of members that were tried, with the mean cost of rows that they had left out. One without a share is "
        "not in the model."
    )
    header = ["surrogate", "kind", "share", "rounds", "temperature", "mean cost"]
    return section("Members", table(header, lines, left=2), paragraph(told))


def importances_section(model: Any, names: Sequence[str]) -> str:
    """Which columns the learners split, by the loss that this took away: the one place that tells importances."""
    shares = model.feature_importances_
    order = [j for j in np.argsort(-shares, kind="stable").tolist() if shares[j] > 0]
    if not order:
        return section("Importances", paragraph("What the columns are worth to this model is not known."))
    lines = [(names[j], float(shares[j]), f"{100 * shares[j]:.1f} %") for j in order[:_MOST_IMPORTANT]]
    rest = len(order) - len(lines)
    more = paragraph(f"{rest} more columns have the rest.") if rest else ""
    told = "Shares of the columns in the relative falls of the training loss (feature_importances_)."
    return section("Importances", bars(lines), more, paragraph(told))


def cost_importances_section(rows: JudgedRows, names: Sequence[str]) -> str:
    """How much each column moves the expected cost of the decisions about some of the rows, or why that is not told."""
    title = "What moves the expected cost"
    if (reason := rows.why_not_explained()) is not None:
        return section(title, paragraph(f"{reason}."))
    chosen = np.arange(0, len(rows), max(1, -(-len(rows) // _EXPLAINED_ROWS)))
    X = some_rows(rows.X, chosen)
    explainer = ShapExplainer(rows.model, X)
    sizes = explainer.explain(X, of="cost", decision=rows.decided[chosen], cost=rows.costs_of(chosen)).mean_sizes
    order = [j for j in np.argsort(-sizes, kind="stable").tolist() if sizes[j] > 0.0][:_MOST_IMPORTANT]
    if not order:
        return section(title, paragraph("No column moves the expected costs of the decisions about these rows."))
    told = (
        "How much each column moves the expected cost of the decision that was taken: mean sizes of SHAP values over "
        f"{len(chosen)} of the rows, in the unit of the costs."
    )
    return section(title, bars([(names[j], float(sizes[j]), plain(sizes[j])) for j in order]), paragraph(told))


def worst_section(rows: JudgedRows, most: int) -> str:
    """The rows whose decisions cost most."""
    found = rows.worst(most)
    if not len(found):
        nothing = "No decision cost more than it had to." if most else "None were asked for."
        return section("Worst rows", paragraph(nothing))
    header, samples = ["row", "true class", "decision", "cost"], rows.samples
    lines = [
        [str(n), rows.label(samples.truth[n]), rows.decision(samples.decided[n]), plain(rows.costs[n])] for n in found
    ]
    if rows.binned is not None:
        header.append("probabilities")
        for line, p in zip(lines, rows.probabilities(found), strict=True):
            line.append(_likely(rows, p, line[1]))
    told = "The decisions that cost most. Rows are numbered from 0."
    return section("Worst rows", table(header, lines, left=len(header)), paragraph(told))


def _likely(rows: JudgedRows, p: FloatArray, truth: str) -> str:
    """The likeliest classes of a row and their probabilities (K,), and that of the true class."""
    order = np.argsort(-p, kind="stable")[:_LIKELY].tolist()
    order += [j for j, label in enumerate(rows.classes) if label_text(label) == truth and j not in order]
    return ", ".join(f"{label_text(rows.classes[j])} {p[j]:.3f}" for j in order)
