"""The picture of one decision: what all decisions cost or score, and the smallest changes that turn it."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._utils.text import printable, short
from minrisk.costs.labels import label_text
from minrisk.inspection._drawing import DARK, MUTED, plain, pyplot
from minrisk.inspection.why_answers import BY_COST
from minrisk.inspection.why_columns import value_text

# Okabe and Ito's, told apart by colour-blind readers too
_TAKEN_COLOUR, _OTHER_COLOUR, _CHANGE_COLOUR = "#0072B2", "#A9C6DA", "#D55E00"
_MOST_BARS = 10
_BAR_INCHES = 0.38  # of the figure for a bar
_NAME_CHARACTERS = 28
_THICKNESS = 0.62  # of a bar, at most; where the other panel has more of them this one's would be thicker
_ROOM_BESIDE, _ROOM_FOR_TEXT = 0.45, 3.0  # beside bars for what is written there, in lengths of the longest bar


def draw(found: Any, ax: Any = None) -> None:
    """Draw both panels, in a new figure unless two are given."""
    n_bars = max(3, min(_MOST_BARS, max(len(found.answers), len(found.changes))))
    if ax is None:
        size = (10.5, 1.4 + _BAR_INCHES * n_bars)
        _, ax = pyplot().subplots(1, 2, figsize=size, layout="constrained")
    panels = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(panels) != 2:
        raise ValueError(f"ax must be two Axes, for decisions and changes, got {len(panels)}: pass a pair.")
    _draw_decisions(panels[0], found)
    _draw_changes(panels[1], found)


def _name(text: Any) -> str:
    return short(printable(label_text(text)), _NAME_CHARACTERS).replace("$", r"\$")


def _draw_decisions(ax: Any, found: Any) -> None:
    """A bar for each decision, the best at the top."""
    lines = found.answers[:_MOST_BARS]
    by_cost = found.rule == BY_COST or lines[0].expected_cost is not None
    values = [(a.expected_cost if by_cost else a.score) or 0.0 for a in lines]
    at = np.arange(len(lines))
    colours = [_TAKEN_COLOUR, *[_OTHER_COLOUR] * (len(lines) - 1)]
    thick = _THICKNESS * min(1.0, 1.6 * len(lines) / max(len(lines), min(_MOST_BARS, len(found.changes))))
    bars = ax.barh(at, values, color=colours, height=thick)
    p = ["" if a.probability is None else f"  (p = {a.probability:.2f})" for a in lines]
    told = [plain(value) + more for value, more in zip(values, p, strict=True)]
    ax.bar_label(bars, told, padding=4, fontsize=9, color=DARK)
    ax.set_yticks(at, [_name(a.decision) for a in lines])
    ax.get_yticklabels()[0].set_fontweight("bold")
    ax.set_xlabel("Expected cost (the least decides)" if by_cost else "Score (the largest decides)")
    more = f"; the first {len(lines)} of {len(found.answers)}" if len(found.answers) > len(lines) else ""
    ax.set_title(f"Decision: {_name(found.decision)}{more}", loc="left", fontsize=11)
    low, high = min(0.0, *values), max(0.0, *values)
    ax.set_xlim(low - _ROOM_BESIDE * (high - low) * (low < 0), high + _ROOM_BESIDE * (high - low))
    _dress(ax, len(lines))


def _draw_changes(ax: Any, found: Any) -> None:
    """A bar for each column that can turn the decision, the smallest change at the top."""
    lines = [change for change in found.changes if not np.isnan(change.size)][:_MOST_BARS]
    ax.set_title("The smallest change of one value that turns it", loc="left", fontsize=11)
    if not lines:
        ax.text(0.5, 0.5, "None that was looked at", ha="center", va="center", color=MUTED, transform=ax.transAxes)
        ax.set_axis_off()
        return
    at = np.arange(len(lines))
    bars = ax.barh(at, [change.size for change in lines], color=_CHANGE_COLOUR, height=0.3)
    told = [f"{short(value_text(c.value), 14)} → {short(c.text, 24)}: {_name(c.decision)}" for c in lines]
    ax.bar_label(bars, [printable(text) for text in told], padding=4, fontsize=9, color=DARK)
    ax.set_yticks(at, [_name(change.column) for change in lines])
    ax.set_xlabel("Standard deviations; 1 for a category, True/False, missing")
    ax.set_xlim(0, _ROOM_FOR_TEXT * max(change.size for change in lines))
    _dress(ax, len(lines))


def _dress(ax: Any, n_bars: int) -> None:
    """What both panels share; few bars do not fill them."""
    ax.set_ylim(max(n_bars, 3) - 0.4, -0.6)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#E4E4E4", linewidth=0.8)
    ax.set_axisbelow(True)
