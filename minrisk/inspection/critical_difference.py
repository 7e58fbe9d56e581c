"""Mean ranks of methods, and which of them differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from minrisk._typing import FloatArray
from minrisk.inspection._drawing import DARK, MUTED, numbers, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GROUP_COLOUR = "#D55E00"  # of bars; Okabe and Ito's, told apart by colour-blind readers too
_LINE_STEP, _BAR_STEP = 0.26, 0.11  # inches between two names, and between two bars
# inches over the axis, for the critical difference and numbers, and under the last name
_INCHES_ABOVE, _INCHES_BELOW = 0.62, 0.12
_NAME_SIZE = 10.0  # points
_AXIS_WIDTH = 4.2  # inches of the axis of ranks
_OVERHANG = 0.04  # of the axis: what a bar reaches beyond the ranks that it joins


class CriticalDifferenceDisplay:
    """Picture of mean ranks on an axis, the best at the left; bars join methods that are not shown to differ.

    Above the axis stands the critical difference.
    Two methods whose mean ranks are at least this far apart differ by Nemenyi's test, and no bar joins them.

    Parameters
    ----------
    mean_ranks : array-like of shape (k,)
        Mean ranks of two methods or more; 1 is the best.
    critical_difference : float
        In ranks, as `minrisk.comparison.critical_difference` gives it.
    names : sequence of k str
        Names of the methods.
    alpha : float, default=0.05
        Level of the test, which stands beside the critical difference.
    title : str, optional
        Title of the picture. By default there is none.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The panel.
    figure_ : matplotlib Figure
        What it is in.
    groups_ : list of lists of str
        Methods that a bar joins.
    bars_ : list of matplotlib Line2D
        The bars, in the order of the groups.
    text_ : dict of str to matplotlib Text
        What names each method.

    Raises
    ------
    ValueError
        If ranks, names and the difference do not fit together.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning
       Research 7 (2006), Sec. 3.2.4.

    Examples
    --------
    >>> from minrisk.inspection import CriticalDifferenceDisplay
    >>> display = CriticalDifferenceDisplay([3.143, 2.0, 2.893, 1.964], 1.12, ["a", "b", "c", "d"], alpha=0.1).plot()
    >>> display.groups_
    [['d', 'b', 'c'], ['c', 'a']]
    """

    ax_: Axes
    figure_: Any
    groups_: list[list[str]]
    bars_: list[Any]
    text_: dict[str, Any]

    def __init__(
        self,
        mean_ranks: Any,
        critical_difference: float,
        names: Sequence[str],
        alpha: float = 0.05,
        title: str | None = None,
    ) -> None:
        self.mean_ranks = numbers(mean_ranks, "mean_ranks")
        self.names = [str(name) for name in names]
        self.critical_difference, self.alpha, self.title = float(critical_difference), alpha, title
        k = len(self.names)
        if self.mean_ranks.shape != (k,) or k < 2:
            raise ValueError(
                f"mean_ranks must be one number for each of two names or more, got shape {self.mean_ranks.shape} and "
                f"{k} names."
            )
        if self.mean_ranks.min() < 1.0 or self.mean_ranks.max() > k:
            raise ValueError(
                f"mean_ranks must be from 1 to {k}, the number of methods, got {self.mean_ranks.min():g} to "
                f"{self.mean_ranks.max():g}."
            )
        if not (math.isfinite(self.critical_difference) and self.critical_difference > 0.0):
            raise ValueError(f"critical_difference must be a number above 0, got {critical_difference}.")

    @classmethod
    def from_comparison(
        cls, comparison: Any, metric: str = "cost", alpha: float = 0.05, ax: Any = None
    ) -> CriticalDifferenceDisplay:
        """Draw what `minrisk.compare` found; the same as `minrisk.comparison.Comparison.plot`.

        Parameters
        ----------
        comparison : Comparison
            The result of `minrisk.compare`.
        metric : str, default="cost"
            What is compared: "cost", "relative_cost", "error", "log_loss", "fit_seconds" or "predict_seconds".
        alpha : float, default=0.05
            Level of the test.
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is made.

        Returns
        -------
        CriticalDifferenceDisplay
            The picture.
        """
        drawn: CriticalDifferenceDisplay = comparison.plot(metric, alpha, ax)
        return drawn

    def plot(self, ax: Any = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is made, as high and wide as the names need.

        Returns
        -------
        CriticalDifferenceDisplay
            Itself, with `ax_`, `figure_`, `groups_`, `bars_` and `text_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        order = np.argsort(self.mean_ranks, kind="stable").tolist()
        groups = not_apart(self.mean_ranks, self.critical_difference)
        self.groups_ = [[self.names[i] for i in group] for group in groups]
        left = order[: (len(order) + 1) // 2]
        right = order[len(left) :][::-1]  # lines do not cross: the worst is named first
        first = 0.3 + _BAR_STEP * len(groups)  # inches from the axis to the first names, below the bars
        height = _INCHES_ABOVE + first + _LINE_STEP * (len(left) - 1) + _INCHES_BELOW + 0.1
        self.ax_ = self._panel(height, left, right) if ax is None else ax
        self.figure_ = self.ax_.figure
        self.ax_.set_ylim(height - _INCHES_ABOVE, -_INCHES_ABOVE)  # inches below the axis
        self.ax_.set_xlim(1.0, float(len(order)))
        self._draw_axis()
        self._draw_difference()
        self.text_ = {}
        for side, chosen in (("right", left), ("left", right)):
            for line, i in enumerate(chosen):
                self._name(i, first + _LINE_STEP * line, side)
        reach = _OVERHANG * (len(order) - 1) / 4.0
        self.bars_ = []
        for level, group in enumerate(groups):
            ends = [float(self.mean_ranks[group[0]]) - reach, float(self.mean_ranks[group[-1]]) + reach]
            depth = 0.14 + _BAR_STEP * level
            self.bars_ += self.ax_.plot(
                ends, [depth, depth], color=_GROUP_COLOUR, linewidth=4, solid_capstyle="butt", clip_on=False, zorder=3
            )
        if self.title:
            self.ax_.set_title(self.title, fontsize=11, pad=10)
        return self

    def _panel(self, height: float, left: Sequence[int], right: Sequence[int]) -> Any:
        """An axis between margins that hold the names."""
        from matplotlib.textpath import TextPath

        def width(i: int) -> float:
            return float(TextPath((0, 0), f"{self.names[i]}  00.00", size=_NAME_SIZE).get_extents().width) / 72.0

        margins = [0.2 + max(map(width, side)) for side in (left, right)]
        axis = _AXIS_WIDTH + 0.15 * max(0, len(self.names) - 6)
        size = axis + sum(margins), height + (0.45 if self.title else 0.1)
        figure = pyplot().figure(figsize=size)
        return figure.add_axes((margins[0] / size[0], 0.05 / size[1], axis / size[0], height / size[1]))

    def _draw_axis(self) -> None:
        """The line of ranks, with whole and half numbers."""
        k = len(self.names)
        self.ax_.set_axis_off()
        self.ax_.title.set_visible(True)
        line: dict[str, Any] = {"color": DARK, "clip_on": False}
        self.ax_.plot([1, k], [0, 0], linewidth=1.2, **line)
        step = max(1, math.ceil(k / 12))
        for rank in range(1, k + 1):
            self.ax_.plot([rank, rank], [-0.09, 0], linewidth=1.2, **line)
            if (rank - 1) % step == 0 or rank == k:
                self.ax_.text(rank, -0.12, str(rank), ha="center", va="bottom", fontsize=9)
            if rank < k and k <= 12:
                self.ax_.plot([rank + 0.5, rank + 0.5], [-0.05, 0], linewidth=0.8, **line)

    def _draw_difference(self) -> None:
        """A line as long as the critical difference, from rank 1 on; no longer than the axis."""
        end = min(1.0 + self.critical_difference, float(len(self.names)))
        beyond = 1.0 + self.critical_difference > len(self.names)
        depth = -0.4
        line: dict[str, Any] = {"color": MUTED, "linewidth": 1.2, "clip_on": False}
        self.ax_.plot([1, end], [depth, depth], **line)
        for at in [1.0] if beyond else [1.0, end]:
            self.ax_.plot([at, at], [depth - 0.05, depth + 0.05], **line)
        told = f"critical difference {self.critical_difference:.2f} (level {self.alpha:g})"
        told += ", beyond the axis" if beyond else ""
        self.ax_.text(1.0, depth - 0.05, told, ha="left", va="bottom", fontsize=9, color=MUTED)

    def _name(self, i: int, depth: float, side: str) -> None:
        """A line from a rank down and out, to the name and the rank as a number."""
        rank, edge = float(self.mean_ranks[i]), 1.0 if side == "right" else float(len(self.names))
        self.ax_.plot([rank, rank, edge], [0, depth, depth], color=MUTED, linewidth=0.9, clip_on=False, zorder=1)
        told = f"{self.names[i]}  {rank:.2f}" if side == "right" else f"{rank:.2f}  {self.names[i]}"
        self.text_[self.names[i]] = self.ax_.annotate(
            told,
            (edge, depth),
            (-5 if side == "right" else 5, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=_NAME_SIZE,
            annotation_clip=False,
        )


def not_apart(mean_ranks: Sequence[float] | FloatArray, difference: float) -> list[list[int]]:
    """The largest groups of two or more methods whose mean ranks are less than the critical difference apart.

    Parameters
    ----------
    mean_ranks : sequence of k floats
    difference : float
        The critical one: ranks so far apart, or further, differ (to rounding).

    Returns
    -------
    list of lists of int
        Numbers of methods, best rank first; a group within another is left out.

    Examples
    --------
    >>> not_apart([1.0, 3.0, 1.5, 2.4], 1.0)
    [[0, 2], [2, 3], [3, 1]]
    """
    ranks = np.asarray(mean_ranks, dtype=np.float64)
    order = np.argsort(ranks, kind="stable").tolist()
    groups: list[list[int]] = []
    end = 0
    for start in range(len(order)):
        stop = start
        while stop < len(order) and ranks[order[stop]] - ranks[order[start]] < difference - 1e-12:
            stop += 1
        if stop - start >= 2 and stop > end:
            groups.append(order[start:stop])
            end = stop
    return groups
