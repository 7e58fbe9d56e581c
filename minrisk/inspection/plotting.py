"""Displays in scikit-learn's manner: made from an estimator or from numbers, drawn by `plot`, open to changes after it.

matplotlib is imported when something is drawn, not before. Figures are made by pyplot, so that notebooks show them;
close them with ``plt.close``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from minrisk import sensitivity as look_at
from minrisk._typing import FloatArray
from minrisk._utils.packages import library
from minrisk._utils.text import printable, short
from minrisk.costs.labels import label_text, match_labels
from minrisk.costs.reading import check_sample_order, costs_of_rows
from minrisk.costs.units import scaled
from minrisk.decisions.sensitivity import Sensitivity
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.fitted import check_any_fitted
from minrisk.estimator.inputs import one_fit
from minrisk.metrics import as_samples, cost_confusion_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Lines = tuple[np.ndarray, np.ndarray]

DARK, LIGHT, MUTED = "#000000", "#FFFFFF", "#5F5F5F"
BLUE, ORANGE = "#0072B2", "#D55E00"  # Okabe and Ito's, told apart by colour-blind readers too

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


def numbers(values: Any, name: str, ndim: int = 0, what: str = "") -> FloatArray:
    """Return finite float64 numbers; with `ndim` an array of so many dimensions, which `what` describes."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {type(values).__name__}: pass an array.") from None
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity: correct these values.")
    if ndim and (found.ndim != ndim or found.size == 0):
        raise ValueError(f"{name} must {what}, got shape {found.shape}: pass a {'list' if ndim == 1 else 'table'}.")
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


def drawn(label: Any, most: int) -> str:
    """Return a label as pictures show it, in at most so many characters: a dollar sign begins no formula."""
    return short(printable(label_text(label)), most).replace("$", r"\$")


def log_scale(ax: Any, values: FloatArray) -> None:
    """Give the vertical axis a log scale with ticks that can be read, however narrow or wide it is."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    ax.set_yscale("log")
    ax.yaxis.set_minor_formatter(NullFormatter())
    decades = np.log10(values.max() / values.min())
    if decades < 3:  # else the powers of ten are enough
        narrow, wide = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]), LogLocator(subs=(1, 2, 5) if decades < 2 else (1, 3))
        ax.yaxis.set_major_locator(narrow if decades < 1 else wide)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        if decades < 1:
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


def name_ticks(
    ax: Any, rows: Sequence[str], columns: Sequence[str], rotation: float | None, size_of_cell: tuple[float, float]
) -> None:
    """Name rows and columns in a size that fits, the columns turned where they would touch; of too many, some."""
    width, height = size_of_cell
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


def square_side(shape: tuple[int, ...]) -> float:
    """Return the side in points of square cells that fill a figure of their own, large where they are few."""
    return 72 * min(1.2, 9 / max(shape), 0.7 + 1 / max(shape))


def resize_cells(ax: Any, shape: tuple[int, ...], side: float) -> None:
    """Give the figure of a single panel the size at which its cells are squares with this side."""
    width, height = cell_size(ax, shape)
    more = shape[1] * (side - width) / 72, shape[0] * (side - height) / 72
    ax.figure.set_size_inches(np.maximum(ax.figure.get_size_inches() + more, 2))


def write_cells(
    ax: Any, image: Any, levels: Sequence[Lines], muted: np.ndarray, size_of_cell: tuple[float, float]
) -> Lines:
    """Write one or two lines into the cells of an image, as large as fits.

    Parameters
    ----------
    ax, image : matplotlib Axes and AxesImage
        The panel, and the colours to be read against.
    levels : sequence of pairs of ndarrays of str of shape (K, D)
        First and second lines, empty where nothing is to be written; the first pair that fits is taken, or none.
    muted : ndarray of bool of shape (K, D)
        Cells that are written in grey.
    size_of_cell : pair of float
        Width and height in points.

    Returns
    -------
    pair of ndarrays of Text or None of shape (K, D)
        What was written.
    """
    width, height = size_of_cell
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


_MOST_DIVIDED = 200  # rows or columns, whose lines would hide what they divide


def divide(ax: Any, shape: tuple[int, ...], decisions: Sequence[Any], classes: Sequence[Any]) -> None:
    """Draw white lines between cells, as far as there is room, a dark one before decisions that are no class."""
    n_rows, n_columns = shape
    if max(n_rows, n_columns) <= _MOST_DIVIDED:
        ax.set_xticks(np.arange(1, n_columns) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, n_rows) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5 if max(n_rows, n_columns) <= 12 else 0.6)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    known = np.array(match_labels(decisions, classes)) >= 0
    n_classes = int(known.sum())
    if 0 < n_classes < n_columns and known[:n_classes].all():
        ax.axvline(n_classes - 0.5, color=DARK, linewidth=1.2)


_MARGINS = np.array([1.3, 0.9])  # inches around the cells where names are short
_LABEL = 24  # letters of a label in a picture of two panels
_DEAR = 0.2  # part of the highest cost from which a cell is dear
_TABLE = "have one row per true class and one column per decision"  # what tables must


class CostConfusionDisplay:
    """Picture of what each confusion costs: true classes by decisions, coloured by the total cost of each cell.

    A cell shows its total cost and, below it, the number of rows. Cells without rows stay empty.
    The title shows the mean cost.
    Make it by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    cost_confusion : array-like of shape (K, D)
        Total cost of the rows of each true class under each decision, as `minrisk.metrics.cost_confusion_matrix` gives
        it.
    counts : array-like of shape (K, D)
        Number (or weight) of those rows.
    true_labels : sequence of K labels
        Names of the true classes.
    decision_labels : sequence of D labels
        Names of the decisions. Those that are no class, such as ``"refer"``, are set off by a line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The panel.
    figure_ : matplotlib Figure
        What it is in.
    im_ : matplotlib AxesImage
        The colours.
    colorbar_ : matplotlib Colorbar or None
        Their scale.
    text_ : ndarray of shape (K, D)
        Costs in the cells, matplotlib Text, or None where nothing is written.
    count_text_ : ndarray of shape (K, D)
        Numbers of rows in the cells, matplotlib Text, or None where nothing is written.

    Raises
    ------
    ValueError
        If the tables are not of finite numbers, differ in shape, or do not fit the labels.

    Notes
    -----
    Numbers are written where they fit: with many classes only the costs, with very many only those of the most
    expensive cells, rounded, or none.

    Examples
    --------
    >>> from minrisk.inspection import CostConfusionDisplay
    >>> display = CostConfusionDisplay([[0, 3], [20, 0]], [[50, 3], [2, 45]], ["well", "ill"], ["well", "ill"]).plot()
    >>> display.text_[1, 0].get_text(), display.count_text_[1, 0].get_text()
    ('20', '2 rows')
    >>> display.ax_.get_title().splitlines()[0]
    'Mean cost 0.23 per row'
    """

    ax_: Axes
    figure_: Any
    im_: Any
    colorbar_: Any
    text_: np.ndarray
    count_text_: np.ndarray

    def __init__(self, cost_confusion: Any, counts: Any, true_labels: Any, decision_labels: Any) -> None:
        self.cost_confusion = numbers(cost_confusion, "cost_confusion", 2, _TABLE)
        self.counts = numbers(counts, "counts", 2, _TABLE)
        self.true_labels = list(true_labels)
        self.decision_labels = list(decision_labels)
        shape = self.cost_confusion.shape
        if self.counts.shape != shape:
            raise ValueError(
                f"counts must have the shape of cost_confusion, expected {shape}, got {self.counts.shape}: "
                "pass the rows of the same cells."
            )
        if (len(self.true_labels), len(self.decision_labels)) != shape:
            raise ValueError(
                f"cost_confusion must have one row per true label and one column per decision label, got shape {shape} "
                f"with {len(self.true_labels)} true and {len(self.decision_labels)} decision labels: name each once."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        cost: Any = None,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Let a classifier decide about X, and draw what that costs.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier, of minrisk or any other, also within a pipeline or a search.
        X : array-like of shape (n, d)
            The rows.
        y : array-like of shape (n,)
            Their true classes.
        cost : array-like of shape (K, D) or (n, D), DataFrame, dict, CSV file or CostMatrix, optional
            Costs to judge by, as in `minrisk.metrics.expected_cost`.
            By default those that the classifier was fitted for, and if it knows none every mistake costs 1.
        labels : array-like of K labels, optional
            Order of the classes. By default that of the classifier.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, 0 or more. By default every row counts once.
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is made.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        CostConfusionDisplay
            The picture.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If it was fitted on costs for each row and `cost` is not given, and as in `minrisk.metrics.expected_cost`.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from minrisk import REBELClassifier
        >>> from minrisk.inspection import CostConfusionDisplay
        >>> X, y = load_wine(return_X_y=True)
        >>> model = REBELClassifier([[0, 1, 1], [1, 0, 1], [10, 10, 0]], n_estimators=5).fit(X[::2], y[::2])
        >>> display = CostConfusionDisplay.from_estimator(model, X[1::2], y[1::2])
        >>> display.cost_confusion.shape
        (3, 3)
        """
        estimator = check_any_fitted(estimator, "CostConfusionDisplay.from_estimator")
        check_sample_order(cost, X=X)
        decider, decided = innermost(estimator), estimator.predict(X)
        if cost is None and isinstance(decider, BoostedClassifier):
            if decider.cost_ is None:
                raise ValueError(
                    "cost must be given for a classifier fitted on costs per row, got none: pass cost=, a K x D table "
                    "or one row of costs for each row of X."
                )
            cost = decider._judged_by()
        classes = getattr(estimator, "classes_", None)
        if labels is None and classes is not None:
            ours = isinstance(decider, BoostedClassifier)
            stated, names = (decider._names(), decider.decisions_) if ours else (None, ())
            cost = costs_of_rows(cost, len(decided), classes, (), stated, names, y=y)
            if min(match_labels(np.unique(y).tolist(), classes.tolist())) >= 0:
                labels = classes  # else all that costs name
        return cls.from_predictions(y, decided, cost, labels=labels, sample_weight=sample_weight, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        cost: Any = None,
        *,
        labels: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what decisions cost.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            The true classes.
        y_pred : array-like of shape (n,)
            The decisions. They may hold decisions that are no class, such as ``"refer"``.
        cost : array-like of shape (K, D) or (n, D), DataFrame, dict, CSV file or CostMatrix, optional
            The costs, as in `minrisk.metrics.expected_cost`. By default every mistake costs 1.
        labels : array-like of K labels, optional
            Order of the classes, as in `minrisk.metrics.cost_confusion_matrix`.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, 0 or more. By default every row counts once.
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is made.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        CostConfusionDisplay
            The picture.

        Raises
        ------
        ValueError
            As in `minrisk.metrics.cost_confusion_matrix`.

        Examples
        --------
        >>> from minrisk.inspection import CostConfusionDisplay
        >>> display = CostConfusionDisplay.from_predictions(
        ...     ["ill", "ill", "well", "well"], ["ill", "well", "well", "refer"],
        ...     cost={"ill": {"well": 10, "refer": 2}, "well": {"ill": 1, "refer": 2}},
        ... )
        >>> display.decision_labels
        ['ill', 'well', 'refer']
        >>> display.cost_confusion
        array([[ 0., 10.,  0.],
               [ 0.,  0.,  2.]])
        """
        samples = as_samples(y_true, y_pred, cost, labels, sample_weight)
        total = cost_confusion_matrix(y_true, y_pred, cost, labels, sample_weight)
        return cls(total, samples.in_cells(samples.weight), samples.classes, samples.decisions).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        include_values: bool = True,
        cmap: Any = "OrRd",
        colorbar: bool = True,
        xticks_rotation: float | None = None,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is made.
        include_values : bool, default=True
            Whether to write costs and numbers of rows into the cells, as far as they fit.
        cmap : str or matplotlib Colormap, default="OrRd"
            Colours, from no cost to the highest.
        colorbar : bool, default=True
            Whether to draw the scale of the colours.
        xticks_rotation : float, optional
            Angle of the decisions' names in degrees. By default as flat as they fit.
        im_kw : dict, optional
            Passed to ``imshow``, such as ``{"vmax": 100}`` to compare two pictures. By default nothing is passed.

        Returns
        -------
        CostConfusionDisplay
            Itself, with `ax_`, `figure_`, `im_`, `colorbar_`, `text_` and `count_text_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        own, shape = ax is None, self.cost_confusion.shape
        if own:
            side = square_side(shape)
            _, ax = pyplot().subplots(figsize=np.array(shape[::-1]) * side / 72 + _MARGINS, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        look = {"cmap": cmap, "interpolation": "nearest", "aspect": "auto", **(im_kw or {})}
        if "norm" not in look:
            look = {"vmin": 0.0, "vmax": self.cost_confusion.max() or 1.0, **look}
        self.im_ = ax.imshow(self.cost_confusion, **look)
        self.colorbar_ = self._scale() if colorbar else None
        ax.set(xlabel="Decision", ylabel="True class", title=self._title())
        divide(ax, shape, self.decision_labels, self.true_labels)
        rows, columns = ([label_text(label) for label in labels] for labels in (self.true_labels, self.decision_labels))
        size = (side, side) if own else cell_size(ax, shape)
        name_ticks(ax, rows, columns, xticks_rotation, size)
        if own:
            resize_cells(ax, shape, side)
        else:
            size = cell_size(ax, shape)  # names have taken some of it
        self.text_ = self.count_text_ = np.full(shape, None, dtype=object)
        if include_values and min(size) > SMALLEST_FONT:
            self.text_, self.count_text_ = self._write(size)
        return self

    def _scale(self) -> Any:
        """Draw the colour bar."""
        from matplotlib.ticker import MaxNLocator

        bar = self.figure_.colorbar(self.im_, ax=self.ax_, label="Total cost of the cell", pad=0.02)
        bar.outline.set_visible(False)
        bar.locator = MaxNLocator(5, steps=[1, 2, 5, 10])
        return bar

    def _title(self) -> str:
        (costs, of_cost), (counts, of_count) = scaled(self.cost_confusion, 0.0), scaled(self.counts, 0.0)
        with np.errstate(over="ignore"):  # sums that float64 does not hold are infinite
            total = float(np.ldexp(costs.sum(), of_cost))
            weight = float(np.ldexp(counts.sum(), of_count))
            mean = plain(float(np.ldexp(costs.sum() / counts.sum(), of_cost - of_count))) if weight else "unknown"
        return f"Mean cost {mean} per row\n({_rows(weight)}, total cost {plain(total)})"

    def _write(self, size_of_cell: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
        """Write costs and numbers of rows into the cells that have rows."""
        cost, shape = self.cost_confusion, self.cost_confusion.shape
        costs, rows, dear = (np.full(shape, "", dtype=object) for _ in range(3))
        for i, j in np.argwhere((self.counts != 0) | (cost != 0)):
            costs[i, j] = plain(cost[i, j])
            rows[i, j] = _rows(self.counts[i, j])
            if cost[i, j] >= _DEAR * cost.max():
                dear[i, j] = plain(cost[i, j], digits=2)
        nothing = np.full(shape, "", dtype=object)
        levels = [(costs, rows), (costs, nothing), (dear, nothing)]
        return write_cells(self.ax_, self.im_, levels, cost == 0, size_of_cell)


def _rows(count: float) -> str:
    """Write a number of rows, or the sum of their weights."""
    if not np.isfinite(count) or count != int(count):
        return f"weight {plain(count)}"
    return "1 row" if count == 1 else f"{plain(count)} rows"


_CURVE = "be one value per round, before round 1 and after each"  # what curves must


class RiskCurveDisplay:
    """Picture of loss and mean cost after each round: whether it learns, whether it overfits and where it stopped.

    Two panels share the rounds. The upper one shows the mean cost of the decisions, which is what is wanted.
    The lower one shows the training loss, which is what is minimised, on a logarithmic scale if it is always positive.
    With early stopping the round that was kept is marked.

    Parameters
    ----------
    train_loss : array-like of shape (T + 1,)
        Training loss before round 1 and after every round.
    train_risk : array-like of shape (T + 1,)
        Mean cost of the training rows, before round 1 and after every round.
    validation_risk : array-like of shape (V + 1,), optional
        Mean cost of the validation rows. V is above T if rounds were run and given up. By default there is no such
        curve.
    best_round : int, optional
        The round that was kept, from 0. By default none is marked.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The panel of the mean cost.
    loss_ax_ : matplotlib Axes
        The panel of the loss.
    figure_ : matplotlib Figure
        What both are in.
    lines_ : dict of str to matplotlib Line2D
        The curves by the names of the parameters: ``train_risk``, ``train_loss`` and perhaps ``validation_risk``.

    Raises
    ------
    ValueError
        If a curve is no sequence of finite numbers, the lengths do not fit, or `best_round` is none of the rounds.

    Examples
    --------
    >>> from minrisk.inspection import RiskCurveDisplay
    >>> display = RiskCurveDisplay([1.0, 0.5, 0.3], [0.6, 0.2, 0.1], [0.6, 0.3, 0.4], best_round=1).plot()
    >>> display.ax_.get_ylabel()
    'Mean cost per row'
    >>> sorted(display.lines_)
    ['train_loss', 'train_risk', 'validation_risk']
    """

    ax_: Axes
    loss_ax_: Axes
    figure_: Any
    lines_: dict[str, Any]

    def __init__(
        self, train_loss: Any, train_risk: Any, validation_risk: Any = None, best_round: int | None = None
    ) -> None:
        self.train_loss = numbers(train_loss, "train_loss", 1, _CURVE)
        self.train_risk = numbers(train_risk, "train_risk", 1, _CURVE)
        self.validation_risk = None
        if validation_risk is not None:
            self.validation_risk = numbers(validation_risk, "validation_risk", 1, _CURVE)
        self.best_round = best_round
        if len(self.train_loss) != len(self.train_risk):
            raise ValueError(
                f"train_loss and train_risk must have one value per round each, got {len(self.train_loss)} and "
                f"{len(self.train_risk)} values: pass both from the same fit."
            )
        known = max(len(self.train_risk), 0 if self.validation_risk is None else len(self.validation_risk))
        if best_round is not None and not 0 <= best_round < known:
            raise ValueError(
                f"best_round must be a round that was run, expected 0 to {known - 1}, got {best_round}: correct it or "
                "leave it out."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves that a fitted minrisk classifier keeps.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier of minrisk, a pipeline that ends in one, or a search that found one.
            Not `MinRiskClassifier`, which is an average of boosters and keeps no mean cost for each round.
        ax : matplotlib Axes or pair of Axes, optional
            As in `plot`. By default a new figure is made.
        **kwargs : dict
            Passed to the lines, such as ``linewidth=1``.

        Returns
        -------
        RiskCurveDisplay
            The picture.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it is no estimator, or keeps no curves.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from minrisk import REBELClassifier
        >>> from minrisk.inspection import RiskCurveDisplay
        >>> X, y = load_wine(return_X_y=True)
        >>> display = RiskCurveDisplay.from_estimator(REBELClassifier(n_estimators=5).fit(X, y))
        >>> display.lines_["train_loss"].get_xdata()
        array([0, 1, 2, 3, 4, 5])
        """
        booster = innermost(check_any_fitted(estimator, "RiskCurveDisplay.from_estimator"))
        if not hasattr(booster, "train_risk_"):
            kept = ", which keeps train_loss_ and validation_loss_ only" if hasattr(booster, "train_loss_") else ""
            raise TypeError(
                "estimator must be a fitted classifier of minrisk that keeps its loss and mean cost per round, got "
                f"{type(booster).__name__}{kept}: pass a REBELClassifier, or RiskCurveDisplay(train_loss, train_risk)."
            )
        validated = booster.validation_risk_
        best = None if validated is None else booster.n_iter_
        return cls(booster.train_loss_, booster.train_risk_, validated, best).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or pair of Axes, optional
            The panels of mean cost and loss. A single one is divided into both. By default a new figure is made.
        **kwargs : dict
            Passed to the lines, such as ``linewidth=1``.

        Returns
        -------
        RiskCurveDisplay
            Itself, with `ax_`, `loss_ax_`, `figure_` and `lines_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_, self.loss_ax_ = _panels(ax)
        self.figure_ = self.ax_.figure
        look = {"linewidth": 1.8, "solid_capstyle": "round", **kwargs}
        curves = [
            ("train_risk", self.ax_, "training rows", BLUE, self.train_risk),
            ("train_loss", self.loss_ax_, "training rows", BLUE, self.train_loss),
        ]
        if self.validation_risk is not None:
            curves.append(("validation_risk", self.ax_, "validation rows", ORANGE, self.validation_risk))
        self.lines_ = {}
        for name, panel, label, colour, values in curves:
            style = {"color": colour, "label": label, **look}
            (self.lines_[name],) = panel.plot(np.arange(len(values)), values, **style)
        self._mark_best()
        self._dress()
        return self

    def _mark_best(self) -> None:
        """Draw a line through both panels at the kept round, and a dot on the curve that chose it."""
        if self.best_round is None:
            return
        curve = self.train_risk if self.validation_risk is None else self.validation_risk
        for panel in (self.ax_, self.loss_ax_):
            panel.axvline(self.best_round, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        if self.best_round < len(curve):
            value = curve[self.best_round]
            colour = BLUE if self.validation_risk is None else ORANGE
            label = f"kept: round {self.best_round}, mean cost {value:.3g}"
            self.ax_.plot(self.best_round, value, "o", color=colour, markeredgecolor="white", markersize=8, label=label)

    def _dress(self) -> None:
        """Add labels, scales and legend."""
        from matplotlib.ticker import MaxNLocator

        self.ax_.set_ylabel("Mean cost per row")
        curves = [self.train_risk] if self.validation_risk is None else [self.train_risk, self.validation_risk]
        self.ax_.set_ylim(bottom=0 if min(curve.min() for curve in curves) >= 0 else None)
        self.ax_.legend(loc="upper right", edgecolor="none", framealpha=0.9)
        self.ax_.tick_params(labelbottom=False)
        self.loss_ax_.set_ylabel("Training loss")
        self.loss_ax_.set_xlabel("Rounds of boosting")
        self.loss_ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        if (self.train_loss > 0).all():
            log_scale(self.loss_ax_, self.train_loss)
        for panel in (self.ax_, self.loss_ax_):
            panel.spines[["top", "right"]].set_visible(False)
            panel.grid(axis="y", color="#E4E4E4", linewidth=0.8)
            panel.set_axisbelow(True)
            panel.margins(x=0.02)


def _panels(ax: Any) -> tuple[Any, Any]:
    """Return the panels of mean cost and loss."""
    if ax is None:
        _, (upper, lower) = pyplot().subplots(
            2, 1, sharex=True, figsize=(7, 5), layout="constrained", height_ratios=(3, 2)
        )
        return upper, lower
    if not np.iterable(ax):  # a single one is divided
        place = ax.get_subplotspec()
        if place is None:  # put down by hand
            from mpl_toolkits.axes_grid1 import make_axes_locatable

            return ax, make_axes_locatable(ax).append_axes("bottom", size="66%", pad=0.15, sharex=ax)
        halves = place.subgridspec(2, 1, height_ratios=(3, 2))
        ax.set_subplotspec(halves[0])
        return ax, ax.figure.add_subplot(halves[1], sharex=ax)
    panels = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(panels) != 2:
        raise ValueError(f"ax must be one Axes or two, for mean cost and loss, got {len(panels)}: pass a pair.")
    return panels[0], panels[1]


class SensitivityDisplay:
    """Picture of how sure costs must be: for each cost the regret if in truth it is half, or twice, what is stated.

    Two panels share their colours. A cell shows the regret, the mean over the rows of what the decisions cost too much,
    and below it the share of the rows whose decision would be another one. Cells whose cost is 0 stay empty.

    Parameters
    ----------
    sensitivity : Sensitivity
        What `minrisk.decisions.sensitivity.sensitivity` returns.

    Attributes
    ----------
    axes_ : tuple of two matplotlib Axes
        The panels of half and of twice the cost.
    figure_ : matplotlib Figure
        What both are in.
    im_ : tuple of two matplotlib AxesImage
        The colours.
    colorbar_ : matplotlib Colorbar or None
        Their scale.
    text_ : ndarray of shape (2, K, D)
        Regrets in the cells, matplotlib Text, or None where nothing is written.
    share_text_ : ndarray of shape (2, K, D)
        Shares in the cells, matplotlib Text, or None where nothing is written.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from minrisk import sensitivity
    >>> from minrisk.inspection import SensitivityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X[:, :2], y)
    >>> display = SensitivityDisplay(sensitivity(model, X[:, :2], [[0, 1, 1], [5, 0, 1], [5, 1, 0]])).plot()
    >>> display.axes_[1].get_title()
    'If it is twice the cost'
    """

    axes_: tuple[Axes, Axes]
    figure_: Any
    im_: tuple[Any, Any]
    colorbar_: Any
    text_: np.ndarray
    share_text_: np.ndarray

    def __init__(self, sensitivity: Sensitivity) -> None:
        self.sensitivity = sensitivity

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, cost: Any = None, *, ax: Any = None, **kwargs: Any) -> Self:
        """Look at the decisions of a classifier about X, and draw how sure each cost must be.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier with `predict_proba`, of minrisk or any other.
        X : array-like of shape (n, d)
            Rows as they will come.
        cost : array-like of shape (K, D), DataFrame, dict, CSV file or CostMatrix, optional
            The costs. By default those that the classifier was fitted for.
        ax : pair of matplotlib Axes, optional
            As in `plot`. By default a new figure is made.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        SensitivityDisplay
            The picture.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            As in `minrisk.decisions.sensitivity.sensitivity`.
        """
        check_any_fitted(estimator, "SensitivityDisplay.from_estimator")
        return cls(look_at(estimator, X, cost)).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        include_values: bool = True,
        cmap: Any = "OrRd",
        colorbar: bool = True,
        xticks_rotation: float | None = None,
    ) -> Self:
        """Draw both tables.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            The panels of half and of twice the cost. By default a new figure is made.
        include_values : bool, default=True
            Whether to write regrets and shares into the cells, as far as they fit.
        cmap : str or matplotlib Colormap, default="OrRd"
            Colours, from no regret to the highest.
        colorbar : bool, default=True
            Whether to draw the scale of the colours.
        xticks_rotation : float, optional
            Angle of the decisions' names in degrees. By default as flat as they fit.

        Returns
        -------
        SensitivityDisplay
            Itself, with `axes_`, `figure_`, `im_`, `colorbar_`, `text_` and `share_text_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `ax` is not two Axes.
        """
        found, shape = self.sensitivity, self.sensitivity.cost.shape
        if ax is None:
            size = np.array([2 * shape[1], shape[0]]) * square_side(shape) / 72 + _MARGINS * [2.0, 1.0] + [0.5, 0.6]
            _, ax = pyplot().subplots(1, 2, sharey=True, figsize=size, layout="constrained")
        self.axes_ = _pair(ax, "half and twice the cost")
        self.figure_ = self.axes_[0].figure
        tables = (found.regret_at_half, found.regret_at_twice)
        most = max(float(np.nanmax(table, initial=0.0)) for table in tables) or 1.0
        look = {"cmap": cmap, "interpolation": "nearest", "aspect": "auto", "vmin": 0.0, "vmax": most}
        images = [panel.imshow(table, **look) for panel, table in zip(self.axes_, tables, strict=True)]
        self.im_ = (images[0], images[1])
        self.colorbar_ = self._scale() if colorbar else None
        for panel, what in zip(self.axes_, ("half", "twice"), strict=True):
            panel.set(xlabel="Decision", title=f"If it is {what} the cost")
            divide(panel, shape, found.decisions, found.classes)
        self.axes_[0].set_ylabel("True class")
        told = f"Decisions about {_rows(found.n_rows)}, mean expected cost {plain(found.mean_cost)}"
        told += "\n(in each cell the regret, and the share of decisions that change)"
        if len(self.figure_.axes) <= 3:  # no other pictures beside these panels and their scale
            self.figure_.suptitle(told, fontsize=11)
        rows, columns = ([drawn(label, _LABEL) for label in labels] for labels in (found.classes, found.decisions))
        for panel in self.axes_:
            name_ticks(panel, rows, columns, xticks_rotation, cell_size(panel, shape))
        if self.axes_[0].get_shared_y_axes().joined(*self.axes_):
            self.axes_[1].tick_params(labelleft=False)
        sizes = [cell_size(panel, shape) for panel in self.axes_]  # names have taken some of it
        self.text_ = np.full((2, *shape), None, dtype=object)
        self.share_text_ = self.text_.copy()
        if include_values and min(map(min, sizes)) > SMALLEST_FONT:
            shares = (found.changed_at_half, found.changed_at_twice)
            for side, (table, share) in enumerate(zip(tables, shares, strict=True)):
                self.text_[side], self.share_text_[side] = self._write(side, table, share, sizes[side])
        return self

    def _scale(self) -> Any:
        bar = self.figure_.colorbar(self.im_[1], ax=list(self.axes_), label="Regret, as a mean over the rows", pad=0.02)
        bar.outline.set_visible(False)
        return bar

    def _write(self, side: int, table: FloatArray, share: FloatArray, size_of_cell: tuple[float, float]) -> Lines:
        """Write regrets and shares into the cells of one panel."""
        regrets, shares, nothing = (np.full(table.shape, "", dtype=object) for _ in range(3))
        for i, j in np.argwhere(~np.isnan(table)):
            regrets[i, j] = plain(table[i, j], digits=2)
            shares[i, j] = f"{plain(100.0 * share[i, j], digits=2)} %"
        levels = [(regrets, shares), (regrets, nothing)]
        return write_cells(self.axes_[side], self.im_[side], levels, table == 0.0, size_of_cell)


def _pair(ax: Any, what: str) -> tuple[Any, Any]:
    """Return two panels, or say what they are for."""
    panels = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(panels) != 2:
        raise ValueError(f"ax must be two Axes, for {what}, got {len(panels)}: pass a pair.")
    return panels[0], panels[1]


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
                ends, [depth, depth], color=ORANGE, linewidth=4, solid_capstyle="butt", clip_on=False, zorder=3
            )
        if self.title:
            self.ax_.set_title(self.title, fontsize=11, pad=10)
        return self

    def _panel(self, height: float, left: Sequence[int], right: Sequence[int]) -> Any:
        """Make an axis between margins that hold the names."""
        from matplotlib.textpath import TextPath

        def width(i: int) -> float:
            return float(TextPath((0, 0), f"{self.names[i]}  00.00", size=_NAME_SIZE).get_extents().width) / 72.0

        margins = [0.2 + max(map(width, side)) for side in (left, right)]
        axis = _AXIS_WIDTH + 0.15 * max(0, len(self.names) - 6)
        size = axis + sum(margins), height + (0.45 if self.title else 0.1)
        figure = pyplot().figure(figsize=size)
        return figure.add_axes((margins[0] / size[0], 0.05 / size[1], axis / size[0], height / size[1]))

    def _draw_axis(self) -> None:
        """Draw the line of ranks, with whole and half numbers."""
        k, look = len(self.names), dict[str, Any](color=DARK, clip_on=False)
        ranks, step = np.arange(1, k + 1), max(1, math.ceil(k / 12))
        self.ax_.set_axis_off()
        self.ax_.title.set_visible(True)
        self.ax_.hlines(0, 1, k, linewidth=1.2, capstyle="projecting", **look)
        self.ax_.vlines(ranks, -0.09, 0, linewidth=1.2, **look)
        if k <= 12:
            self.ax_.vlines(ranks[:-1] + 0.5, -0.05, 0, linewidth=0.8, **look)
        for rank in {*ranks[::step].tolist(), k}:
            self.ax_.text(rank, -0.12, str(rank), ha="center", va="bottom", fontsize=9)

    def _draw_difference(self) -> None:
        """Draw a line as long as the critical difference, from rank 1 on; no longer than the axis."""
        end = min(1.0 + self.critical_difference, float(len(self.names)))
        beyond = 1.0 + self.critical_difference > len(self.names)
        depth = -0.4
        look: dict[str, Any] = {"color": MUTED, "linewidth": 1.2, "clip_on": False}
        self.ax_.hlines(depth, 1, end, **look)
        self.ax_.vlines([1.0] if beyond else [1.0, end], depth - 0.05, depth + 0.05, **look)
        told = f"critical difference {self.critical_difference:.2f} (level {self.alpha:g})"
        told += ", beyond the axis" if beyond else ""
        self.ax_.text(1.0, depth - 0.05, told, ha="left", va="bottom", fontsize=9, color=MUTED)

    def _name(self, i: int, depth: float, side: str) -> None:
        """Draw a line from a rank down and out, to the name and the rank as a number."""
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
    """Return the largest groups of methods whose mean ranks are less than the critical difference apart.

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
