"""Pictures of the report: what confusions cost, and whether what a model says comes true."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.text import printable, short
from minrisk.costs.labels import label_text
from minrisk.inspection._drawing import MUTED, pyplot
from minrisk.inspection.cost_confusion import CostConfusionDisplay
from minrisk.inspection.report_markup import picture
from minrisk.inspection.report_rows import JudgedRows

_CURVE_COLOUR = "#0072B2"  # Okabe and Ito's
_MOST_CURVES = 30  # classes that have a curve
_PANELS_BESIDE = 5
_ROW_GROUPS = 10  # of rows by expected cost
_LONGEST_LABEL = 24  # characters


@contextmanager
def _figures() -> Iterator[list[Any]]:
    """A list of figures, which are closed at the end; signs that a font lacks are no matter."""
    made: list[Any] = []
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            yield made
    finally:
        for figure in made:
            pyplot().close(figure)


def _named(label: Any) -> str:
    """A label as pictures show it: a dollar sign begins no formula."""
    return short(printable(label_text(label)), _LONGEST_LABEL).replace("$", r"\$")


def confusion_picture(rows: JudgedRows) -> str:
    """Where the cost comes from."""
    totals, counts = rows.cells()
    labels, decisions = ([_named(name) for name in names] for names in (rows.samples.classes, rows.samples.decisions))
    with _figures() as made:
        made.append(CostConfusionDisplay(totals, counts, labels, decisions).plot().figure_)
        return picture(made[0], "Total cost of the rows of each true class, by decision")


def calibration_picture(rows: JudgedRows) -> str:
    """Of each class: how often it was true, by the probability that the model gave it."""
    assert rows.binned is not None
    counted = rows.binned.true.sum(axis=1)
    chosen = sorted(sorted(range(len(counted)), key=lambda j: -counted[j])[:_MOST_CURVES])
    beside = min(_PANELS_BESIDE, len(chosen))
    below = -(-len(chosen) // beside)
    with _figures() as made:
        figure, axes = pyplot().subplots(
            below,
            beside,
            figsize=(2.1 * beside + 0.5, 2.2 * below + 0.4),
            layout="constrained",
            sharex=True,
            sharey=True,
            squeeze=False,
        )
        made.append(figure)
        for ax, j in zip(axes.flat, chosen, strict=False):
            _draw_curve(ax, *(part[j] for part in rows.binned))
            ax.set_title(_named(rows.classes[j]), fontsize=9)
        for ax in axes.flat[len(chosen) :]:
            ax.set_axis_off()
        for place in range(max(0, len(chosen) - beside), len(chosen)):  # the lowest of each column
            axes.flat[place].tick_params(axis="x", labelbottom=True)
        figure.supxlabel("Probability given by the model", fontsize=9)
        figure.supylabel("Share that was true", fontsize=9)
        return picture(figure, "Calibration curves: the share of rows of each class by its probability")


def _draw_curve(ax: Any, counts: FloatArray, given: FloatArray, true: FloatArray) -> None:
    """A calibration curve with standard errors of its shares; all are of the tenths of probability, (`BINS`,)."""
    held = counts > 0
    counts, given, true = counts[held], given[held], true[held]
    likely = (true + 1.0) / (counts + 2.0)  # Laplace's: the error of a single row is not 0
    _draw_means(ax, given / counts, true / counts, np.sqrt(likely * (1.0 - likely) / counts))
    ax.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])


def _draw_means(ax: Any, given: FloatArray, found: FloatArray, errors: FloatArray) -> None:
    """What was found by what was given, beside the line where both are equal."""
    ax.axline((0, 0), slope=1, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.errorbar(given, found, errors, color=_CURVE_COLOUR, marker="o", markersize=4, linestyle="none", elinewidth=1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def expected_cost_picture(expected: FloatArray, actual: FloatArray) -> str:
    """Mean actual cost by expected cost, in groups of as many rows."""
    order = np.argsort(expected, kind="stable")
    groups = [part for part in np.array_split(order, min(_ROW_GROUPS, len(order))) if len(part)]
    given = np.array([expected[part].mean() for part in groups])
    found = np.array([actual[part].mean() for part in groups])
    errors = np.array([actual[part].std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else 0.0 for part in groups])
    with _figures() as made:
        figure, ax = pyplot().subplots(figsize=(4.4, 3.6), layout="constrained")
        made.append(figure)
        _draw_means(ax, given, found, errors)
        ax.set(xlabel="Expected cost of the decision", ylabel="What it cost")
        ax.margins(0.06)
        return picture(figure, "Mean cost of decisions by what they were expected to cost")
