"""SHAP values of the default model: ours beside ``shap.TreeExplainer`` on the same trees, processor seconds.

The model is `MinRiskClassifier` with defaults, the background its training rows, and the rows explained are of the test
part. shap has the trees by ``to_shap(model, background, linear=True)``, with the linear features as columns; its values
agree with ours to 1e-6 or the run ends. Both explain blocks of rows by turns in one thread, and the medians are scaled
to a thousand rows. "whole" is `shap_values` from the model to values of columns, on so many rows, by threads that share
these seconds: with counts of the background, linear features pulled back and smooth members. "again" has the background
looked at already (`ShapExplainer`), and one row.

``shap_by_coalitions.csv`` has, of small models, how far SHAP values of the expected cost along the straight line of the
scores are from those of all coalitions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common import costs, interleaved, is_quick, load, parser, save, show, there
from minrisk import MinRiskClassifier
from minrisk._utils.workers import Workers
from minrisk.inspection import ShapExplainer, shap_values, to_shap, wide_columns
from minrisk.inspection.shap_scores import SIDE_BY_SIDE, ScoreShapley

SETS = ("letter", "satimage", "digits")
ROWS = 1000  # that are explained as a whole, and that figures are scaled to
OURS, THEIRS = 256, 8  # rows of a turn
TURNS = 5


def divided(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, their classes and test rows; of digits, which has no official split, every other row."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X[::2], y[::2], X[1::2]
    X, y, X_test, _ = load(name).official()
    return X, y, X_test


def spent(function: Callable[[], Any], n_rows: int) -> Callable[[], float]:
    """Processor seconds of a thousand rows."""

    def measured() -> float:
        begun = time.process_time()
        function()
        return (time.process_time() - begun) * ROWS / n_rows

    return measured


def explainer(model: MinRiskClassifier, X: np.ndarray) -> Any:
    """shap's, of the model's trees."""
    import shap

    return shap.TreeExplainer(to_shap(model, X, linear=True))


def figures(name: str, jobs: int) -> dict[str, Any]:
    """A line of the results."""
    X, y, X_test = divided(name)
    model = MinRiskClassifier(random_state=0, n_jobs=jobs).fit(X, y)
    rows = np.concatenate([X_test] * -(-ROWS // len(X_test)))[: 40 if is_quick() else ROWS]
    whole = {}
    for of in ("scores", "cost"):
        shap_values(model, rows[:1], X[:99], of=of)  # compiles
        whole[of] = spent(lambda of=of: shap_values(model, rows, X, of=of), ROWS)()  # type: ignore[misc]
    again = ShapExplainer(model, X)
    one_row = float(np.median([spent(lambda: again.explain(rows[:1], of="cost"), ROWS)() for _ in range(TURNS)]))
    smooth, model.model_ = model.model_.smooth, _without_smooth(model)
    with Workers() as workers:
        scores = ScoreShapley(model, X, workers)
    packed, wide = model.model_.packed, wide_columns(model, rows)
    ours, theirs = rows[:OURS], wide[: 2 if is_quick() else THEIRS]
    codes, weights = scores.codes(ours), np.random.default_rng(0).normal(size=(len(ours), len(scores.base)))
    blocks = [slice(low, low + SIDE_BY_SIDE) for low in range(0, len(ours), SIDE_BY_SIDE)]
    turns: dict[str, Callable[[], float]] = {
        "scores": spent(lambda: [scores.trees.values(codes[part]) for part in blocks], len(ours)),
        "one number": spent(lambda: [scores.trees.values(codes[part], weights[part]) for part in blocks], len(ours)),
    }
    if there({"shap": "shap"}):
        their = explainer(model, X)
        turns["shap"] = spent(lambda: their.shap_values(theirs, check_additivity=False), len(theirs))
        off = np.abs(their.shap_values(theirs)[:, scores.used] - scores.trees.values(codes[: len(theirs)])).max()
        if off > 1e-6:
            sys.exit(f"{name}: shap's values are {off} from ours.")
    with threadpool_limits(1):
        median = interleaved(turns, 1 if is_quick() else TURNS)
    return {
        "set": name,
        "background": len(X),
        "features": X.shape[1],
        "split": len(scores.used),
        "classes": len(scores.base),
        "trees": len(packed),
        "leaves": int(packed.is_leaf.sum()),
        "smooth": smooth is not None,
        "rows": len(rows),
        "ours": median["scores"],
        "ours, one number": median["one number"],
        "shap": median.get("shap", np.nan),
        "shap / ours": median.get("shap", np.nan) / median["scores"],
        "threads": jobs,
        "whole, scores": whole["scores"],
        "whole, cost": whole["cost"],
        "one row, again": one_row,
    }


def small_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of scikit-learn's, few columns each."""
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification

    wine, cancer = load_wine(return_X_y=True), load_breast_cancer(return_X_y=True)
    made = make_classification(
        600, 6, n_informative=6, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=0
    )
    return {
        "iris": load_iris(return_X_y=True),
        "wine, 6 columns": (wine[0][:, [0, 6, 9, 10, 11, 12]], wine[1]),
        "breast cancer, 8 columns": (cancer[0][:, :8], cancer[1]),
        "made, 4 classes": made,
    }


def apart(name: str, kind: str, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """How far the two ways to explain expected costs are from each other, on 30 rows that the model has not seen."""
    table = costs(kind, len(np.unique(y)))
    model = MinRiskClassifier(table, pool=False, random_state=0).fit(X[::2], y[::2])
    explainer, rows = ShapExplainer(model, X[::2]), X[1::2][:30]
    line, exact = (explainer.explain(rows, of="cost", by=by).values for by in ("line", "coalitions"))
    return {
        "set": name,
        "costs": kind,
        "rows": len(rows),
        "difference / size": np.abs(line - exact).mean() / np.abs(exact).mean(),
        "correlation": np.corrcoef(line.ravel(), exact.ravel())[0, 1],
        "same first column": (np.abs(line).argmax(axis=1) == np.abs(exact).argmax(axis=1)).mean(),
    }


def _without_smooth(model: MinRiskClassifier) -> Any:
    from dataclasses import replace

    return replace(model.model_, smooth=None)


def main() -> None:
    options = parser(__doc__, "some rows of digits")
    options.add_argument("--sets", nargs="+", default=list(SETS))
    arguments = options.parse_args()
    if arguments.quick:
        arguments.sets = ["digits"]
    lines = [figures(name, arguments.jobs) for name in arguments.sets]
    save("shap_values", lines)
    show(lines)
    sets = small_sets()
    kept = list(sets)[: 1 if arguments.quick else None]
    differences = [apart(name, kind, *sets[name]) for name in kept for kind in ("0/1", "lognormal")]
    save("shap_by_coalitions", differences)
    show(differences)


if __name__ == "__main__":
    main()
