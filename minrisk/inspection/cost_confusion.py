"""What each confusion costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from minrisk._typing import FloatArray
from minrisk.costs.labels import label_text, match_labels
from minrisk.costs.reading import check_sample_order
from minrisk.costs.units import scaled
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.fitted import check_any_fitted
from minrisk.inspection._drawing import (
    DARK,
    SMALLEST_FONT,
    cell_size,
    innermost,
    name_ticks,
    numbers,
    plain,
    pyplot,
    square_cells,
    write_cells,
)
from minrisk.metrics import as_samples, cost_confusion_matrix, judging

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_DIVIDED = 200  # rows or columns, whose lines would hide what they divide
_DEAR = 0.2  # part of the highest cost from which a cell is dear


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
        self.cost_confusion = _table(cost_confusion, "cost_confusion")
        self.counts = _table(counts, "counts")
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
            cost, labels = judging(cost, classes, len(decided), stated, names)
            if labels is None and min(match_labels(np.unique(y).tolist(), classes.tolist())) >= 0:
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
        shape = len(samples.classes), len(samples.decisions)
        cells = samples.truth * shape[1] + samples.decided
        counts = np.bincount(cells, weights=samples.weight, minlength=shape[0] * shape[1]).reshape(shape)
        total = cost_confusion_matrix(y_true, y_pred, cost, labels, sample_weight)
        return cls(total, counts, samples.classes, samples.decisions).plot(ax, **kwargs)

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
        own = ax is None
        if own:
            _, ax = pyplot().subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        look = {"cmap": cmap, "interpolation": "nearest", "aspect": "auto", **(im_kw or {})}
        if "norm" not in look:
            look = {"vmin": 0.0, "vmax": self.cost_confusion.max() or 1.0, **look}
        self.im_ = ax.imshow(self.cost_confusion, **look)
        self.colorbar_ = self._scale() if colorbar else None
        ax.set(xlabel="Decision", ylabel="True class", title=self._title())
        self._divide()
        rows, columns = ([label_text(label) for label in labels] for labels in (self.true_labels, self.decision_labels))
        for _ in range(3 if own else 1):  # names, margins and sizes depend on each other
            if own:
                square_cells(ax, self.cost_confusion.shape)
            name_ticks(ax, rows, columns, xticks_rotation)
        self.text_ = self.count_text_ = np.full(self.cost_confusion.shape, None, dtype=object)
        if include_values and min(cell_size(ax, self.cost_confusion.shape)) > SMALLEST_FONT:
            self.text_, self.count_text_ = self._write()
        return self

    def _scale(self) -> Any:
        """The colour bar."""
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

    def _divide(self) -> None:
        """White lines between the cells, as far as there is room, a dark one before decisions that are no class."""
        n_rows, n_columns = self.cost_confusion.shape
        if max(n_rows, n_columns) <= _MOST_DIVIDED:
            self.ax_.set_xticks(np.arange(1, n_columns) - 0.5, minor=True)
            self.ax_.set_yticks(np.arange(1, n_rows) - 0.5, minor=True)
            self.ax_.grid(which="minor", color="white", linewidth=1.5 if max(n_rows, n_columns) <= 12 else 0.6)
        self.ax_.tick_params(which="both", length=0)
        self.ax_.spines[:].set_visible(False)
        known = np.array(match_labels(self.decision_labels, self.true_labels)) >= 0
        n_classes = int(known.sum())
        if 0 < n_classes < n_columns and known[:n_classes].all():
            self.ax_.axvline(n_classes - 0.5, color=DARK, linewidth=1.2)

    def _write(self) -> tuple[np.ndarray, np.ndarray]:
        """Costs and numbers of rows in the cells that have rows."""
        cost, shape = self.cost_confusion, self.cost_confusion.shape
        costs, rows, dear = (np.full(shape, "", dtype=object) for _ in range(3))
        for i, j in np.argwhere((self.counts != 0) | (cost != 0)):
            costs[i, j] = plain(cost[i, j])
            rows[i, j] = _rows(self.counts[i, j])
            if cost[i, j] >= _DEAR * cost.max():
                dear[i, j] = plain(cost[i, j], digits=2)
        nothing = np.full(shape, "", dtype=object)
        return write_cells(self.ax_, self.im_, [(costs, rows), (costs, nothing), (dear, nothing)], muted=cost == 0)


def _rows(count: float) -> str:
    """Write a number of rows, or the sum of their weights."""
    if not np.isfinite(count) or count != int(count):
        return f"weight {plain(count)}"
    return "1 row" if count == 1 else f"{plain(count)} rows"


def _table(values: Any, name: str) -> FloatArray:
    table = numbers(values, name)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(
            f"{name} must have one row per true class and one column per decision, got shape {table.shape}: pass a "
            "table."
        )
    return table
