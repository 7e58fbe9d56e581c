"""What the displays share: matplotlib itself, checks, scales, text that fits and can be read on its ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.packages import library
from minrisk.estimator.inputs import one_fit

Lines = tuple[np.ndarray, np.ndarray]

DARK, LIGHT, MUTED = "#000000", "#FFFFFF", "#5F5F5F"

SMALLEST_FONT, _LARGEST_FONT = 5.5, 12.0  # points; what would be smaller is left out
_DIGIT = 0.66  # width of a character in units of the font size
_LINE_HEIGHT = 1.25  # height of a line, likewise
_SECOND = 0.78  # font size of the second line of a cell relative to the first


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    return library("matplotlib.pyplot", "plots", "Pictures need")


def innermost(estimator: Any) -> Any:
    """Return the classifier within searches and pipelines, as its last `fit` has left it."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return one_fit(estimator)


def numbers(values: Any, name: str) -> FloatArray:
    """Return finite float64 numbers."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {type(values).__name__}: pass an array.") from None
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity: correct these values.")
    return found


def plain(number: float, digits: int = 3) -> str:
    """Write a number briefly: whole ones in full up to a million, others rounded.

    Examples
    --------
    >>> plain(1200.0), plain(0.12345), plain(12.0), plain(4.25e7), plain(1234.5), plain(99.6, 2)
    ('1200', '0.123', '12', '4.25e7', '1234', '100')
    """
    if not np.isfinite(number):
        return str(float(number))
    exact = number == int(number) and abs(number) < (1e6 if digits >= 3 else 1e3)
    rounded = number if exact else float(f"{number:.{digits}g}")
    if exact or 100 <= abs(rounded) < 1e3:
        return str(int(rounded))
    if 1e3 <= abs(rounded) < 1e6 and digits >= 3:
        return str(round(number))
    if 1e-3 <= abs(rounded) < 1e3:
        return f"{rounded:.{digits}g}"
    mantissa, exponent = f"{number:.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def split_panel(ax: Any) -> tuple[Any, Any]:
    """Divide the place of one panel among two that share the horizontal axis."""
    place = ax.get_subplotspec()
    if place is None:  # put down by hand
        from mpl_toolkits.axes_grid1 import make_axes_locatable

        return ax, make_axes_locatable(ax).append_axes("bottom", size="66%", pad=0.15, sharex=ax)
    halves = place.subgridspec(2, 1, height_ratios=(3, 2))
    ax.set_subplotspec(halves[0])
    return ax, ax.figure.add_subplot(halves[1], sharex=ax)


def log_scale(ax: Any, values: FloatArray) -> None:
    """Give the vertical axis a log scale with ticks that can be read, however narrow or wide it is."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    decades = np.log10(values.max() / values.min())
    if decades >= 3:
        return
    narrow = decades < 1
    ax.yaxis.set_major_locator(
        MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]) if narrow else LogLocator(subs=(1, 2, 5) if decades < 2 else (1, 3))
    )
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if narrow:
        ax.yaxis.set_minor_locator(NullLocator())


def inks(colours: FloatArray, muted: np.ndarray) -> np.ndarray:
    """Return what to write in on each colour: black or white, whichever contrasts more, or grey on pale grounds.

    The contrast ratio is that of WCAG 2, (lighter + 0.05) / (darker + 0.05); it is 4.5 or more everywhere.

    Parameters
    ----------
    colours : ndarray of shape (K, D, 4)
        sRGB in [0, 1], and alpha, which is not looked at.
    muted : ndarray of bool of shape (K, D)
        Where grey is wanted.

    Returns
    -------
    ndarray of str of shape (K, D)
    """
    channels = colours[..., :3]
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    light = linear @ np.array([0.2126, 0.7152, 0.0722]) + 0.05
    return np.where(1.05 / light > light / 0.05, LIGHT, np.where(muted & (light > 0.75), MUTED, DARK))


def cell_size(ax: Any, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return width and height in points of each of rows x columns cells that fill a panel, once laid out."""
    ax.figure.canvas.figure.draw_without_rendering()  # the canvas knows the whole figure, a subfigure only its part
    box = ax.get_window_extent()
    scale = 72 / ax.figure.dpi
    return box.width * scale / shape[1], box.height * scale / shape[0]


def name_ticks(ax: Any, rows: Sequence[str], columns: Sequence[str], rotation: float | None) -> None:
    """Name rows and columns in a size that fits, the columns turned where they would touch; of too many, some."""
    width, height = cell_size(ax, (len(rows), len(columns)))
    along, down = (max(1, math.ceil(SMALLEST_FONT / side)) for side in (width, height))
    size = float(np.clip(0.8 * min(width, height), SMALLEST_FONT, 10))
    if rotation is None:
        longest = max(map(len, columns)) * _DIGIT * size
        rotation = 0 if longest <= width else 45 if 1.6 * size <= width else 90
    turned: dict[str, Any] = {}
    if rotation % 180:
        turned = {"ha": "right", "va": "center" if rotation % 180 == 90 else "top", "rotation_mode": "anchor"}
    ax.set_xticks(range(0, len(columns), along), columns[::along], rotation=rotation, fontsize=size, **turned)
    ax.set_yticks(range(0, len(rows), down), rows[::down], fontsize=size)


def square_cells(ax: Any, shape: tuple[int, ...]) -> None:
    """Give the figure of a single panel the size at which its cells are squares, large where they are few."""
    side = 72 * min(1.2, 9 / max(shape), 0.7 + 1 / max(shape))
    width, height = cell_size(ax, shape)
    more = shape[1] * (side - width) / 72, shape[0] * (side - height) / 72
    ax.figure.set_size_inches(np.maximum(ax.figure.get_size_inches() + more, 2))


def write_cells(ax: Any, image: Any, levels: Sequence[Lines], muted: np.ndarray) -> Lines:
    """Write one or two lines into the cells of an image, as large as fits.

    Parameters
    ----------
    ax, image : matplotlib Axes and AxesImage
        The panel, and the colours to be read against.
    levels : sequence of pairs of ndarrays of str of shape (K, D)
        First and second lines, empty where nothing is to be written; the first pair that fits is taken, or none.
    muted : ndarray of bool of shape (K, D)
        Cells that are written in grey.

    Returns
    -------
    pair of ndarrays of Text or None of shape (K, D)
        What was written.
    """
    width, height = cell_size(ax, muted.shape)
    ink = inks(image.cmap(image.norm(np.asarray(image.get_array()))), muted)
    written = np.full((2, *muted.shape), None, dtype=object)
    for pair in levels:
        longest = [max(map(len, lines.ravel())) for lines in pair]
        factors = [1.0, _SECOND] if longest[1] else [1.0]
        wide = [0.9 * width / (_DIGIT * n * by) for n, by in zip(longest, factors, strict=False) if n]
        size = min(_LARGEST_FONT, height / ((2.6 if longest[1] else 1.2) * _LINE_HEIGHT), *wide)
        if size * factors[-1] < SMALLEST_FONT:
            continue
        rises = [0.62 * size, -0.72 * size] if longest[1] else [0.0]
        for place, (by, rise) in enumerate(zip(factors, rises, strict=True)):
            for i, j in np.argwhere(pair[place] != ""):
                written[place, i, j] = ax.annotate(
                    pair[place][i, j],
                    (j, i),
                    (0, rise),
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    fontsize=by * size,
                    color=ink[i, j],
                    fontweight="normal" if place or muted[i, j] else "bold",
                )
        break
    return written[0], written[1]
