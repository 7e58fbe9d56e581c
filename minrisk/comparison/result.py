"""What a comparison found: the numbers of all folds, ranks and tests, a picture, and tables for a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray
from minrisk._utils.method_names import METRIC_NAMES as METRIC_NAMES
from minrisk.comparison import statistics
from minrisk.comparison.statistics import FriedmanTest, NemenyiTest, SignedRankTest
from minrisk.estimator.parameters import Choice


class ContestValues(NamedTuple):
    """A table of what methods are compared on.

    Attributes
    ----------
    contests : list of str
        Data sets, or the folds of the only one.
    methods : list of str
        Those that have all the values.
    values : ndarray of shape (contests, methods)
    left_out : list of str
        Methods without a value in some contest.
    """

    contests: list[str]
    methods: list[str]
    values: FloatArray
    left_out: list[str]


class Comparison:
    """The result of `minrisk.compare`: measurements of all folds, ranks, tests, a picture, and tables to paste.

    Parameters
    ----------
    records : sequence of dict
        A dict for each data set, method and fold, with ``data_set``, ``method``, ``fold`` and what was measured.
    methods : sequence of str
        Names of the methods, in the order of tables.
    n_folds : mapping of str to int
        How many folds each data set has.
    failures : sequence of dict, default=()
        Folds at which a method failed: ``data_set``, ``method``, ``fold`` and ``error``.

    Attributes
    ----------
    records : list of dict
        The measurements; see Notes.
    rows : DataFrame or list of dict
        The same as a pandas DataFrame, if pandas is installed.
    methods : list of str
        Names of the methods.
    data_sets : list of str
        Names of the data sets.
    n_folds : dict of str to int
        How many folds each data set has.
    failures : list of dict
        Folds at which a method failed.

    Notes
    -----
    What is measured on the test rows of a fold:

    - ``error``: share of decisions that are not the true class; a decision such as ``"refer"`` counts as an error.
    - ``cost``: mean cost of the decisions.
    - ``relative_cost``: the same divided by the mean cost of the best constant decision on all rows of the data set. 1
      is no better than not to look at the features.
    - ``costs``: which costs of rows a method has seen, where each row has its own; see `minrisk.compare`.
    - ``log_loss``: mean log-loss of the probabilities, or None.
    - ``fit_seconds`` and ``predict_seconds``: time to fit and to predict.
    - ``n_train`` and ``n_test``: numbers of rows.

    Examples
    --------
    >>> from minrisk.comparison import Comparison
    >>> records = [{"data_set": name, "method": method, "fold": 1, "error": error}
    ...            for name, errors in {"a": (0.1, 0.2), "b": (0.3, 0.2), "c": (0.1, 0.4)}.items()
    ...            for method, error in zip(("one", "two"), errors)]
    >>> result = Comparison(records, ["one", "two"], {"a": 1, "b": 1, "c": 1})
    >>> {name: round(rank, 2) for name, rank in result.mean_ranks("error").items()}
    {'one': 1.33, 'two': 1.67}
    """

    def __init__(
        self,
        records: Sequence[dict[str, Any]],
        methods: Sequence[str],
        n_folds: Mapping[str, int],
        failures: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.records, self.methods = list(records), list(methods)
        self.n_folds, self.failures = dict(n_folds), list(failures)
        self.data_sets = list(self.n_folds)
        self._by_pair: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for record in self.records:
            self._by_pair.setdefault((record["data_set"], record["method"]), []).append(record)

    def __repr__(self) -> str:
        """Say how much was compared."""
        folds = sum(self.n_folds.values())
        lost = f", {len(self.failures)} folds failed" if self.failures else ""
        return f"Comparison: {len(self.methods)} methods on {len(self.data_sets)} data sets, {folds} folds{lost}"

    @property
    def rows(self) -> Any:
        """The measurements as a pandas DataFrame, or as a list of dicts if pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            return self.records
        return pd.DataFrame(self.records)

    # -- what is compared ----------------------------------------------------------------------------------------------
    def of_folds(self, metric: str, data_set: str, method: str) -> list[float]:
        """Return what was measured on the folds of a data set, by one method.

        Parameters
        ----------
        metric : str
            What was measured, such as "cost".
        data_set : str
            Name of the data set.
        method : str
            Name of the method.

        Returns
        -------
        list of float
            The numbers of those folds that there are.
        """
        _check_metric(metric)
        found = self._by_pair.get((data_set, method), [])
        return [float(row[metric]) for row in found if row.get(metric) is not None]

    def _whole(self, metric: str, method: str) -> list[list[float]] | None:
        """Return the numbers of the folds of each data set, if the method has them all."""
        parts = [self.of_folds(metric, name, method) for name in self.data_sets]
        whole = all(len(part) == self.n_folds[name] for name, part in zip(self.data_sets, parts, strict=True))
        return parts if whole else None

    def contests(self, metric: str = "cost") -> ContestValues:
        """Return the values that ranks and tests are made of; less is better.

        With several data sets these are the contests, with the means over their folds. With one data set its folds are
        the contests.
        Methods that lack a value are left out, such as those without probabilities for "log_loss".

        Parameters
        ----------
        metric : str, default="cost"
            What is compared: "cost", "relative_cost", "error", "log_loss", "fit_seconds" or "predict_seconds".

        Returns
        -------
        ContestValues
            A tuple (contests, methods, values, left_out); values is of shape (number of contests, number of methods).
        """
        several = len(self.data_sets) > 1
        columns: dict[str, list[float]] = {}
        for method in self.methods:
            if (parts := self._whole(metric, method)) is not None:
                columns[method] = [float(np.mean(part)) for part in parts] if several else parts[0]
        names = self.data_sets if several else [f"fold {i + 1}" for i in range(self.n_folds[self.data_sets[0]])]
        table = np.array(list(columns.values()), dtype=np.float64).reshape(len(columns), len(names)).T
        left_out = [method for method in self.methods if method not in columns]
        return ContestValues(names, list(columns), table, left_out)

    def what_is_tested(self, metric: str = "cost") -> str:
        """Say what the contests of the tests are, and what p-values then speak about.

        Parameters
        ----------
        metric : str, default="cost"
            What is compared: "cost", "relative_cost", "error", "log_loss", "fit_seconds" or "predict_seconds".

        Returns
        -------
        str
            Some sentences.
        """
        found = self.contests(metric)
        n, name = len(found.contests), METRIC_NAMES[metric]
        if len(self.data_sets) > 1:
            text = f"Tests compare the {name} of {len(found.methods)} methods on {n} data sets (means over folds)."
        else:
            text = (
                f"Tests compare the {name} of {len(found.methods)} methods on the {n} folds of one data set. Folds "
                "share training rows, so that p-values are too small, and speak of this data set only."
            )
        if n < 6:
            what = "data sets" if len(self.data_sets) > 1 else "folds"
            text += f" With {n} {what} no two methods can differ at the level 0.05 by Wilcoxon's test."
        if found.left_out:
            text += f" Left out, for lack of values: {', '.join(found.left_out)}."
        return text

    # -- ranks and tests -----------------------------------------------------------------------------------------------
    def mean_ranks(self, metric: str = "cost") -> dict[str, float]:
        """Return the mean rank of each method over the contests; 1 is the best.

        Parameters
        ----------
        metric : str, default="cost"
            What is compared: "cost", "relative_cost", "error", "log_loss", "fit_seconds" or "predict_seconds".

        Returns
        -------
        dict of str to float
            By the names of the methods; those that lack values are left out.
        """
        found = self._comparable(metric)
        ranks = statistics.contest_ranks(found.values).mean(axis=0)
        return dict(zip(found.methods, ranks.tolist(), strict=True))

    def friedman(self, metric: str = "cost") -> FriedmanTest:
        """Test whether the methods differ at all, by their ranks: see `minrisk.comparison.friedman_test`.

        Parameters
        ----------
        metric : str, default="cost"
            What is compared: "cost", "relative_cost", "error", "log_loss", "fit_seconds" or "predict_seconds".

        Returns
        -------
        FriedmanTest
            The statistics and p-values.

        Raises
        ------
        ValueError
            If there are fewer than three methods or two contests.
        """
        return statistics.friedman_test(self._comparable(metric).values)

    def nemenyi(self, metric: str = "cost", alpha: float = 0.05) -> NemenyiTest:
        """Test which methods differ, by their mean ranks: see `minrisk.comparison.nemenyi_test`.

        Parameters
        ----------
        metric : str, default="cost"
            What is compared: "cost", "relative_cost", "error", "log_loss", "fit_seconds" or "predict_seconds".
        alpha : float, default=0.05
            Level of the test.

        Returns
        -------
        NemenyiTest
            The critical difference and p-values, with the methods in the order of `mean_ranks`.
        """
        return statistics.nemenyi_test(self._comparable(metric).values, alpha)

    def wilcoxon(self, metric: str = "cost", control: str | None = None) -> list[SignedRankTest]:
        """Test pairs of methods by Wilcoxon's signed ranks, corrected by Holm's method.

        Parameters
        ----------
        metric : str, default="cost"
            What is compared: "cost", "relative_cost", "error", "log_loss", "fit_seconds" or "predict_seconds".
        control : str, optional
            Compare this method with each other one, k - 1 tests.
            By default all k (k - 1) / 2 pairs are compared.

        Returns
        -------
        list of SignedRankTest
            A test for each pair, with names; small p-values first.

        Raises
        ------
        ValueError
            If `control` is none of the methods that have all values.

        Notes
        -----
        Differences are compared across contests, so several data sets need one unit.
        The "cost" of a data set is therefore divided by the mean cost of the best constant decision there, as
        "relative_cost" is.
        "log_loss" and seconds are taken as they are.
        """
        found = self._comparable("relative_cost" if metric == "cost" and len(self.data_sets) > 1 else metric)
        pairs = None
        if control is not None:
            if control not in found.methods:
                raise ValueError(f"control must be one of {', '.join(map(repr, found.methods))}, got {control!r}.")
            at = found.methods.index(control)
            pairs = [(at, other) for other in range(len(found.methods)) if other != at]
        tests = statistics.signed_rank_tests(found.values, pairs)
        named = [test._replace(first=found.methods[test.first], second=found.methods[test.second]) for test in tests]
        return sorted(named, key=lambda test: test.p_value)

    def _comparable(self, metric: str) -> ContestValues:
        found = self.contests(metric)
        if len(found.methods) < 2:
            lacking = f": {', '.join(found.left_out)} lack values of {metric!r}" if found.left_out else ""
            raise ValueError(f"ranks and tests need two methods or more, got {len(found.methods)}{lacking}.")
        return found

    # -- pictures and tables -------------------------------------------------------------------------------------------
    def plot(self, metric: str = "cost", alpha: float = 0.05, ax: Any = None) -> Any:
        """Draw mean ranks and the critical difference of Nemenyi's test.

        Parameters
        ----------
        metric : str, default="cost"
            What is compared: "cost", "relative_cost", "error", "log_loss", "fit_seconds" or "predict_seconds".
        alpha : float, default=0.05
            Level of the test.
        ax : matplotlib Axes, optional
            Where to draw. By default a new figure is made.

        Returns
        -------
        minrisk.inspection.CriticalDifferenceDisplay
            The picture.
        """
        from minrisk.inspection.plotting import CriticalDifferenceDisplay

        test = self.nemenyi(metric, alpha)
        title = f"Mean rank by {METRIC_NAMES[metric]}, {self._extent()}"
        names = self.contests(metric).methods
        return CriticalDifferenceDisplay(test.mean_ranks, test.critical_difference, names, alpha, title).plot(ax)

    def _extent(self) -> str:
        if len(self.data_sets) > 1:
            return f"{len(self.data_sets)} data sets"
        name = self.data_sets[0]
        return f"{self.n_folds[name]} folds" + ("" if name == "data" else f" of {name}")

    def summary(self) -> list[dict[str, Any]]:
        """Return a line for each method: means of each metric over the data sets, and its mean rank by cost.

        Returns
        -------
        list of dict
            A value is None if the method lacks it.
        """
        ranks = self.mean_ranks() if len(self.contests().methods) > 1 else {}
        lines = []
        for method in self.methods:
            line: dict[str, Any] = {"method": method}
            for metric in METRIC_NAMES:
                parts = self._whole(metric, method)
                line[metric] = None if parts is None else float(np.mean([np.mean(part) for part in parts]))
            lines.append({**line, "mean_rank": ranks.get(method)})
        return lines

    def to_markdown(self, metric: str | None = None, digits: int = 3) -> str:
        """Write a table in Markdown: of one metric by data set, or of all metrics.

        Parameters
        ----------
        metric : str, optional
            What is told. Data sets are then lines and methods columns, with means and standard deviations over folds,
            the best mean in bold, and mean ranks below.
            By default methods are lines and metrics columns, with means over data sets.
        digits : int, default=3
            Significant digits of the largest number of a line (of a column, for all metrics).

        Returns
        -------
        str
            The table.
        """
        return markdown_table(*self._table(metric, digits))

    def to_latex(self, metric: str | None = None, digits: int = 3) -> str:
        """Write the table of `to_markdown` in LaTeX, with the package booktabs.

        Parameters
        ----------
        metric : str, optional
            What is told, as in `to_markdown`.
        digits : int, default=3
            Significant digits, as in `to_markdown`.

        Returns
        -------
        str
            The table.
        """
        return latex_table(*self._table(metric, digits))

    def _table(self, metric: str | None, digits: int) -> tuple[list[str], list[list[str]]]:
        """Return header and lines of a table of one metric, or of all."""
        lines: list[list[str]] = []
        if metric is None:
            summary = self.summary()
            metrics = shown_metrics(summary, len(self.data_sets) > 1)
            columns = [[line["method"] for line in summary]]
            for name in metrics:
                values = [line[name] for line in summary]
                columns.append(_cells(values, decimals_of(values, digits)))
            if any(line["mean_rank"] is not None for line in summary):
                metrics.append("mean_rank")
                columns.append(_cells([line["mean_rank"] for line in summary], 2))
            lines = [list(line) for line in zip(*columns, strict=True)]
            return ["method", *({**METRIC_NAMES, "mean_rank": "rank by cost"}[name] for name in metrics)], lines
        _check_metric(metric)
        for name in self.data_sets:
            folds = [self.of_folds(metric, name, method) for method in self.methods]
            means = [float(np.mean(part)) if part else None for part in folds]
            spreads = [float(np.std(part, ddof=1)) if len(part) > 1 else None for part in folds]
            lines.append([name, *_cells(means, decimals_of(means, digits), spreads)])
        if len(self.contests(metric).methods) > 1:
            ranks = self.mean_ranks(metric)
            lines.append(["mean rank", *_cells([ranks.get(method) for method in self.methods], 2)])
        return [METRIC_NAMES[metric], *self.methods], lines


def shown_metrics(lines: Sequence[Mapping[str, Any]], several: bool) -> list[str]:
    """Return metrics that some method has; of several data sets not the costs, which may have several units."""
    there = [name for name in METRIC_NAMES if any(line[name] is not None for line in lines)]
    return [name for name in there if not (several and name == "cost")]


def _cells(values: Sequence[float | None], decimals: int, spreads: Sequence[float | None] = ()) -> list[str]:
    """Write numbers, with their spreads if they have any; the least, to the decimals that are written, are the best."""
    texts = [ABSENT if value is None else f"{value:.{decimals}f}" for value in values]
    least = f"{min((value for value in values if value is not None), default=math.nan):.{decimals}f}"
    told = ["" if spread is None else f" ± {spread:.{decimals}f}" for spread in spreads or [None] * len(texts)]
    return [(Best if text == least else str)(text + spread) for text, spread in zip(texts, told, strict=True)]


def _check_metric(metric: str) -> None:
    if not (rule := Choice(tuple(METRIC_NAMES))).accepts(metric):
        raise ValueError(f"metric must be {rule}, got {metric!r}.")


ABSENT = "–"  # a cell for which there is no number
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\|*"})
_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", ABSENT: "--"}
)


class Best(str):
    """A cell of a table that is written bold."""


def markdown_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table, the first column to the left and all others to the right.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["x|y", Best("1")]]))
    | a | b |
    | --- | ---: |
    | x\|y | **1** |
    """
    rows = [_escaped(line, _MARKDOWN, "**{}**") for line in (header, *lines)]
    rows.insert(1, ["---", *["---:"] * (len(header) - 1)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def latex_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    r"""Return a LaTeX tabular with the rules of the package booktabs, in the same way.

    Examples
    --------
    >>> print(latex_table(["a_1", "50 %"], [["x", Best("1")]]))
    % \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    a\_1 & 50 \% \\
    \midrule
    x & \textbf{1} \\
    \bottomrule
    \end{tabular}
    """
    rows = [" & ".join(_escaped(line, _LATEX, r"\textbf{{{}}}")) + r" \\" for line in (header, *lines)]
    begin = [r"% \usepackage{booktabs}", rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", r"\toprule", rows[0]]
    return "\n".join([*begin, r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}"])


def _escaped(cells: Sequence[str], marks: dict[int, str], bold: str) -> list[str]:
    """Return cells on one line each, with what a format would obey escaped, and the best ones bold."""
    texts = [" ".join(cell.split()).translate(marks) for cell in cells]
    return [bold.format(text) if isinstance(cell, Best) else text for cell, text in zip(cells, texts, strict=True)]


def decimals_of(values: Sequence[float | None], digits: int) -> int:
    """Return how many decimals give the largest of these values so many significant digits.

    Examples
    --------
    >>> decimals_of([0.012, 0.5], 3), decimals_of([25.0, 3.0], 3), decimals_of([4000.0], 3)
    (3, 1, 0)
    """
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)
    return 0 if largest == 0.0 else max(0, digits - 1 - math.floor(math.log10(largest)))
