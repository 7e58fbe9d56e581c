"""REBEL's Figure 3: train on the costs, or train without them and correct by posteriors at test time?

10 planar data sets (4 classes, 20 Gaussian clusters, 1000 training and 500 test points) x 20 random cost matrices (Sec.
5, Fig. 3, S.10); 100 stumps. The paper does not say which posterior its "standard method" estimates, so all common ones
are tried, and one of another booster: `predict_proba` of scikit-learn's SAMME, whose votes are far from posteriors. It
leaves the clusters open too: here centres are uniform on the unit square, each cluster has its own covariance and a
random class, and the spread varies from data set to data set, from separable to badly mixed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.common import is_quick, least_expected, mean_cost, parser, save, save_picture, show
from minrisk import REBELClassifier
from minrisk.costs import random_normal

CLASSES, CLUSTERS, TRAINING, TEST = 4, 20, 1000, 500
SPREADS = (0.03, 0.25)  # of the first and the last data set, in sides of the square
SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"binning": "uniform", "max_bins": 201, "fit_intercept": False, "smoothing": 1e-6},
    "default": {},
}


class Clusters(NamedTuple):
    """A mixture of Gaussian clusters, each of one class."""

    centres: np.ndarray  # (20, 2)
    factors: np.ndarray  # (20, 2, 2), covariance = factor factor'
    weights: np.ndarray  # (20,)
    classes: np.ndarray  # (20,)

    @classmethod
    def drawn(cls, rng: np.random.Generator, spread: float, n: int = CLUSTERS, n_classes: int = CLASSES) -> Clusters:
        angle = rng.uniform(0, np.pi, n)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
        widths = spread * rng.uniform(0.5, 1.5, (n, 1, 2))
        classes = rng.permutation(np.arange(n) % n_classes)
        return cls(rng.uniform(size=(n, 2)), turn * widths, rng.dirichlet(np.full(n, 5.0)), classes)

    def sample(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        cluster = rng.choice(len(self.weights), size=n, p=self.weights)
        noise = np.einsum("nij,nj->ni", self.factors[cluster], rng.normal(size=(n, 2)))
        return self.centres[cluster] + noise, self.classes[cluster]

    def posterior(self, X: np.ndarray) -> np.ndarray:
        """The true P(class | x), (n, 4)."""
        away = np.einsum("cij,ncj->nci", np.linalg.inv(self.factors), X[:, None, :] - self.centres)
        log_density = np.log(self.weights / np.abs(np.linalg.det(self.factors))) - 0.5 * (away**2).sum(axis=2)
        density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        joint = density @ np.eye(CLASSES)[self.classes]
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp H_k / sum_j exp H_j."""
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def rescaled(fitted: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Scores mapped so that those of the training data fill [0, 1], then scaled to sum to 1."""
    low, high = fitted.min(), fitted.max()

    def posterior(scores: np.ndarray) -> np.ndarray:
        p = np.clip((scores - low) / (high - low), 1e-12, 1.0)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    return posterior


POSTERIORS = {
    "rescaled": "scores rescaled to [0, 1]",
    "softmax": "softmax of H",
    "softmax2": "softmax of 2H",
    "isotonic": "isotonic (5 folds)",
    "sigmoid": "sigmoid link of 2H",
    "samme": "votes of SAMME",
    "true": "true posterior",
}


def trials_on(number: int, spread: float, matrices: int, setting: str) -> list[dict[str, Any]]:
    """All trials on one data set."""
    rng = np.random.default_rng([2016, number])
    clusters = Clusters.drawn(rng, spread)
    (X, y), (X_test, y_test) = clusters.sample(rng, 300 if is_quick() else TRAINING), clusters.sample(rng, TEST)

    def booster(**more: Any) -> REBELClassifier:
        return REBELClassifier(weak_learner="stump", n_estimators=100, n_jobs=1, **SETTINGS[setting], **more)

    blind = booster().fit(X, y)
    calibrated = CalibratedClassifierCV(booster(), method="isotonic", cv=5).fit(X, y)
    scores = blind.decision_function(X_test)
    posteriors = {
        "rescaled": rescaled(blind.decision_function(X))(scores),
        "softmax": softmax(scores),
        "softmax2": softmax(2.0 * scores),
        "isotonic": calibrated.predict_proba(X_test),
        "sigmoid": blind.predict_proba(X_test),
        "samme": AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=100, random_state=0)
        .fit(X, y)
        .predict_proba(X_test),
        "true": clusters.posterior(X_test),
    }
    rows = []
    for draw in range(matrices):
        cost = random_normal(CLASSES, random_state=1000 * number + draw)
        row: dict[str, Any] = {"setting": setting, "data": number, "spread": spread, "matrix": draw}
        for offset in ("paper", "tight"):
            decided = booster(cost=cost, offset=offset).fit(X, y).predict(X_test)
            row[f"trained_{offset}"] = mean_cost(cost, y_test, decided)
        row["blind"] = mean_cost(cost, y_test, scores.argmax(axis=1))
        row |= {name: mean_cost(cost, y_test, least_expected(p, cost)) for name, p in posteriors.items()}
        rows.append(row)
    return rows


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How often each offset is better than each posterior rule, and by what mean cost."""
    table = []
    for setting in dict.fromkeys(row["setting"] for row in rows):
        mine = [row for row in rows if row["setting"] == setting]
        for offset in ("paper", "tight"):
            trained = np.array([row[f"trained_{offset}"] for row in mine])
            for rule in ("blind", *POSTERIORS):
                corrected = np.array([row[rule] for row in mine])
                tied = np.isclose(trained, corrected, rtol=1e-9, atol=1e-12)
                hard = corrected >= np.median(corrected)
                table.append(
                    {
                        "setting": setting,
                        "offset": offset,
                        "against": rule,
                        "trials": len(mine),
                        "trained_better": float(np.mean((trained < corrected) & ~tied)),
                        "tied": float(tied.mean()),
                        "trained_worse": float(np.mean((trained > corrected) & ~tied)),
                        "trained_better_on_harder_half": float(np.mean((trained < corrected)[hard] & ~tied[hard])),
                        "mean_cost_trained": float(trained.mean()),
                        "mean_cost_against": float(corrected.mean()),
                    }
                )
    return table


def plot(rows: list[dict[str, Any]]) -> None:
    """A scatter per posterior and offset, as the paper's Figure 3: below the diagonal, training on costs wins."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shown = [name for name in POSTERIORS if name != "true"]
    every = [row[name] for row in rows for name in (*shown, "trained_paper", "trained_tight")]
    limit = 1.04 * max(every)
    ticks = np.arange(0.0, limit, 0.2)
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(2, len(shown), figsize=(15.4, 5.55), sharex=True, sharey=True, layout="constrained")
    for line, offset in zip(axes, ("paper", "tight"), strict=True):
        trained = np.array([row[f"trained_{offset}"] for row in rows])
        for axis, name in zip(line, shown, strict=True):
            corrected = np.array([row[name] for row in rows])
            better = trained < corrected - 1e-12
            axis.fill_between([0, limit], [0, limit], color="#0072b2", alpha=0.06, linewidth=0)
            axis.plot([0, limit], [0, limit], color="0.35", linewidth=0.8)
            for chosen, colour in ((better, "#0072b2"), (~better, "#d55e00")):
                axis.scatter(corrected[chosen], trained[chosen], s=13, color=colour, alpha=0.65, linewidths=0)
            axis.text(
                0.05 * limit,
                0.95 * limit,
                f"trained on costs\nbetter in {100 * better.mean():.0f} %",
                ha="left",
                va="top",
                color="#0072b2",
                fontweight="bold",
            )
            axis.set(xlim=(0, limit), ylim=(0, limit), aspect="equal", xticks=ticks, yticks=ticks)
            axis.tick_params(length=2)
    for axis, name in zip(axes[0], shown, strict=True):
        axis.set_title(POSTERIORS[name], fontsize=10, fontweight="bold")
    for line, offset in zip(axes, ("paper", "tight"), strict=True):
        line[0].set_ylabel(f'REBEL trained on the costs,\noffset="{offset}"')
    figure.supxlabel("test cost of the same booster trained without costs, then corrected by this posterior")
    save_picture(figure, "rebel_synthetic_paper")


def main() -> None:
    options = parser(__doc__, "two data sets of 300 rows, three matrices each")
    options.add_argument("--setting", choices=(*SETTINGS, "both"), default="both")
    arguments = options.parse_args()
    sets, matrices = (2, 3) if arguments.quick else (10, 20)
    settings = tuple(SETTINGS) if arguments.setting == "both" else (arguments.setting,)
    tasks = [
        (number, spread, matrices, setting)
        for setting in settings
        for number, spread in enumerate(np.geomspace(*SPREADS, sets).tolist())
    ]
    done = Parallel(n_jobs=arguments.jobs)(delayed(trials_on)(*task) for task in tasks)
    rows = [row for made in done for row in made]
    table = summary(rows)
    save("rebel_synthetic_trials", rows)
    save("rebel_synthetic", table)
    if "paper" in settings:
        plot([row for row in rows if row["setting"] == "paper"])
    show(table)


if __name__ == "__main__":
    main()
