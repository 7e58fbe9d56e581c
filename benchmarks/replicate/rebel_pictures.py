"""REBEL's Figures 7 and 8: what costs do to the borders between classes, and the scores along two paths.

Planar points of three classes, which the paper shows in pictures only: six Gaussian clusters of our own. Figure 7: 100
trees of depth 2 under four cost tables, of which the caption says that (c) leaves no wrong decision for red and (d) no
red point undecided; `rebel_pictures.csv` counts both. Figure 8: 100 stumps and 100 trees of depth 2, without costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import is_quick, mean_cost, parser, save, save_picture, show
from benchmarks.replicate.rebel_synthetic import SETTINGS, Clusters
from minrisk import REBELClassifier

SEED, SPREAD = 1, 0.12
RED, GREEN, BLUE = range(3)
COLOURS, LIGHT = ("#c0392b", "#1e8449", "#2471a3"), ("#f5d5d0", "#d3ecd9", "#d3e4f3")
PATHS = {"A": [(0.02, 0.55), (0.98, 0.3)], "B": [(0.1, 0.05), (0.35, 0.8), (1.1, 0.95)]}


def tables() -> dict[str, np.ndarray]:
    """The four cost tables of Figure 7."""
    names = ("equal costs", "missed green costs 10", "wrong red costs 10", "missed red costs 10")
    found = {name: 1.0 - np.eye(3) for name in names}
    found["missed green costs 10"][GREEN] *= 10
    found["wrong red costs 10"][:, RED] *= 10
    found["missed red costs 10"][RED] *= 10
    return found


def counted(name: str, cost: np.ndarray, y: np.ndarray, decided: np.ndarray, of: str) -> dict[str, Any]:
    """Shares of what the caption tells of, in percent."""
    return {
        "costs": name,
        "rows": of,
        "error": 100 * np.mean(decided != y),
        "wrong_among_decided_red": 100 * np.mean(y[decided == RED] != RED),
        "missed_red": 100 * np.mean(decided[y == RED] != RED),
        "missed_green": 100 * np.mean(decided[y == GREEN] != GREEN),
        "mean_cost": mean_cost(cost, y, decided),
    }


def along(corners: list[tuple[float, float]], n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Points of a path at even distances, and how far along it they are."""
    at = np.array(corners)
    reached = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(at, axis=0), axis=1))]
    share = np.linspace(0.0, 1.0, n)
    return np.column_stack([np.interp(share * reached[-1], reached, axis) for axis in at.T]), share


def shade(axis: Any, model: REBELClassifier) -> None:
    """The decision at every place."""
    from matplotlib.colors import ListedColormap

    x = np.linspace(-0.25, 1.25, 400)
    places = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    axis.pcolormesh(x, x, model.predict(places).reshape(400, 400), cmap=ListedColormap(LIGHT), vmin=0, vmax=2)
    axis.set(xlim=(-0.25, 1.25), ylim=(-0.25, 1.25), xticks=[], yticks=[], aspect="equal")


def dots(axis: Any, X: np.ndarray, y: np.ndarray) -> None:
    """The points in the colours of their classes."""
    for k, colour in enumerate(COLOURS):
        axis.scatter(*X[y == k].T, s=5, color=colour, linewidths=0)


def figure_7(X: np.ndarray, y: np.ndarray, models: dict[str, REBELClassifier]) -> None:
    """Points and decisions under the four tables."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(13, 3.5), layout="constrained")
    for axis, letter, (name, model) in zip(axes, "abcd", models.items(), strict=True):
        shade(axis, model)
        dots(axis, X, y)
        axis.set_title(f"({letter}) {name}", fontsize=10)
    save_picture(figure, "rebel_costs")


def figure_8(X: np.ndarray, y: np.ndarray, models: dict[str, REBELClassifier]) -> None:
    """The paths, and the scores along them: a line of pictures for each kind of learners."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6.4), width_ratios=(1, 1.5, 1.5), layout="constrained")
    for line, (name, model) in zip(axes, models.items(), strict=True):
        shade(line[0], model)
        dots(line[0], X, y)
        line[0].set_title(name, fontsize=10)
        for axis, (letter, corners) in zip(line[1:], PATHS.items(), strict=True):
            places, share = along(corners)
            line[0].plot(*places.T, color="black", lw=1)
            line[0].plot(*places[::120].T, "o", color="black", ms=3)
            line[0].text(*places[0], f" {letter}", fontweight="bold", ha="right", va="top")
            decided = model.predict(places)
            whole = axis.get_xaxis_transform()
            for k, colour in enumerate(LIGHT):
                axis.fill_between(share, 0, 1, where=decided == k, step="mid", color=colour, lw=0, transform=whole)
            for k, colour in enumerate(COLOURS):
                axis.plot(share, model.decision_function(places)[:, k], color=colour, lw=1.3)
            axis.set(xlim=(0, 1), xlabel=f"along path {letter}", ylabel="score H(x)")
            axis.set_xticks(np.linspace(0, 1, 6), [f"{step} %" for step in range(0, 101, 20)])
    save_picture(figure, "rebel_scores")


def points() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Training and test points with their classes."""
    rng = np.random.default_rng(SEED)
    clusters = Clusters.drawn(rng, SPREAD, 6, 3)
    return clusters.sample(rng, 300 if is_quick() else 1000), clusters.sample(rng, 5000)


def trained(X: np.ndarray, y: np.ndarray, cost: np.ndarray, jobs: int, **options: Any) -> REBELClassifier:
    """A hundred learners as in the paper."""
    rounds = 10 if is_quick() else 100
    return REBELClassifier(cost, n_estimators=rounds, n_jobs=jobs, **SETTINGS["paper"], **options).fit(X, y)


def main() -> None:
    jobs = parser(__doc__, "300 points, ten rounds").parse_args().jobs
    (X, y), (X_test, y_test) = points()
    models, rows = {}, []
    for name, cost in tables().items():
        models[name] = trained(X, y, cost, jobs, max_depth=2)
        rows.append(counted(name, cost, y, models[name].predict(X), "training"))
        rows.append(counted(name, cost, y_test, models[name].predict(X_test), "test"))
    show(rows)
    save("rebel_pictures", rows)
    figure_7(X, y, models)
    equal = 1.0 - np.eye(3)
    kinds = {
        "100 stumps": trained(X, y, equal, jobs, weak_learner="stump"),
        "100 trees of depth 2": trained(X, y, equal, jobs, max_depth=2),
    }
    figure_8(X, y, kinds)


if __name__ == "__main__":
    main()
