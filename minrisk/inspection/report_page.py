"""A report on a model as one HTML file that needs no network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import minrisk
from minrisk.estimator.fitted import check_fitted, names_of_columns
from minrisk.estimator.parameters import Number, check_parameters
from minrisk.inspection._drawing import pyplot
from minrisk.inspection.report_markup import escaped
from minrisk.inspection.report_rows import JudgedRows
from minrisk.inspection.report_sections import (
    calibration_section,
    cost_importances_section,
    costs_section,
    facts_section,
    importances_section,
    members_section,
    risk_section,
    worst_section,
)
from minrisk.inspection.why_columns import rows_here
from minrisk.io.atomic import write_beside

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --line: #d0d0d0; --bar: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #161616; --line: #4a4a4a; --bar: #56b4e9; }
}
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.7rem; text-align: left; vertical-align: top;
  max-width: 32rem; overflow-wrap: anywhere; }
thead th { border-bottom-width: 2px; } .facts th { font-weight: 600; min-width: 6rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.marked { font-weight: 700; } .wide { overflow-x: auto; }
.bars .bar { width: 24rem; min-width: 8rem; } .bars span { background: var(--bar); display: block; height: 0.9rem;
  margin-top: 0.3rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.picture img { background: #ffffff; border-radius: 6px; max-width: 100%; padding: 0.5rem; }
footer { border-top: 1px solid var(--line); font-size: 0.8rem; margin-top: 2rem; padding-top: 0.5rem; }
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --line: #999; --bar: #0072b2; }
  body { font-size: 11pt; margin: 0; max-width: none; } tr, .picture { break-inside: avoid-page; }
  h2 { break-after: avoid-page; }
  .wide { overflow: visible; }
}
"""


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
        If matplotlib is not installed.

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
    pyplot()  # which says how to get it, before any work
    rows = JudgedRows(model, rows_here(model, X), y, cost, sample_weight)
    heading = f"{type(model).__name__}: what its decisions cost" if title is None else title
    parts = [
        facts_section(rows),
        risk_section(rows),
        costs_section(rows),
        calibration_section(rows),
        members_section(rows),
        importances_section(model, names),
        cost_importances_section(rows, names),
        worst_section(rows, n_rows),
    ]
    page = _page(heading, [part for part in parts if part])
    if file is not None:
        with write_beside(file) as beside:
            beside.write_text(page, encoding="utf-8")
    return page


def _page(title: str, sections: list[str]) -> str:
    """The whole file."""
    inner = "\n".join(sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escaped(title)}</h1>
{inner}
<footer>Made by minrisk {escaped(minrisk.__version__)}.</footer>
</body>
</html>
"""
