"""Localized similarities and decision stumps
=========================================

Three arms in the plane, REBEL with 1000 rounds, far beyond a training error of 0: with stumps the regions are boxes
that fit the points one by one, with similarities ("more like this point than like that one") they follow the arms, and
the test error does not rise. After Fig. 1, 3, 5 and 10 of Appel and Perona, "A Simple Multi-Class Boosting Framework
with Theoretical Guarantees and Empirical Proficiency", ICML 2017.

``python plot_localized_similarities.py FOLDER`` writes the pictures into a folder instead of showing them.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from minrisk import LocalizedSimilaritiesClassifier, REBELClassifier
from minrisk.inspection import explain

COLOURS = ["#D55E00", "#009E73", "#0072B2"]  # Okabe and Ito's, for colour-blind readers too
MARKERS = ["o", "^", "s"]
ROUNDS = 1000


def spiral(n, seed):
    """Points in three arms that turn once around each other."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    along = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 2 * np.pi * (y / 3 + along) + rng.normal(0.0, 0.12, n)
    return np.column_stack([along * np.cos(angle), along * np.sin(angle)]), y


def draw(ax, model, X, y):
    """Decisions as pale areas; points, those decided wrongly with a dark rim."""
    side = np.linspace(-1.3, 1.3, 400)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    codes = model.predict(grid).reshape(len(side), -1)
    ax.contourf(side, side, codes, levels=np.arange(4) - 0.5, colors=COLOURS, alpha=0.28)
    wrong = model.predict(X) != y
    for k in range(3):
        for part, rim in (((y == k) & ~wrong, "white"), ((y == k) & wrong, "#1A1A1A")):
            ax.scatter(*X[part].T, s=20, c=COLOURS[k], marker=MARKERS[k], edgecolors=rim, linewidths=0.7)
    ax.set(xticks=[], yticks=[], aspect="equal")


X, y = spiral(333, seed=0)
X_test, y_test = spiral(167, seed=1)
rng = np.random.default_rng(0)
mislabelled = y.copy()
some = rng.permutation(len(y))[:32]
mislabelled[some] = (y[some] + rng.integers(1, 3, len(some))) % 3

models = {
    "stumps": REBELClassifier(weak_learner="stump", n_estimators=ROUNDS),
    "similarities": LocalizedSimilaritiesClassifier(n_estimators=ROUNDS),
}
regions, axes = plt.subplots(2, 2, figsize=(8.4, 8.8), layout="constrained")
for row, (title, labels) in zip(axes, {"as they are": y, "10 % mislabelled": mislabelled}.items(), strict=True):
    for ax, (name, model) in zip(row, models.items(), strict=True):
        model.fit(X, labels)
        draw(ax, model, X, labels)
        error = 100 * np.mean(model.predict(X_test) != y_test)
        ax.set_title(f"{name}, labels {title}\n{error:.1f} % test error")
note = f"Areas: decisions after {ROUNDS} rounds. Markers: the 333 training points by label."
regions.supxlabel(note, fontsize="medium", color="#5F5F5F")

# %%
# Loss and errors per round: the loss goes on falling exponentially, the test error stays.
curves, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for (name, model), colour in zip(models.items(), ("#7F7F7F", "#0072B2"), strict=True):
    model.fit(X, y)
    test = [100 * np.mean(decided != y_test) for decided in model.staged_predict(X_test)]
    left.semilogy(model.train_loss_, color=colour, label=name)
    right.semilogx(np.arange(1, len(test) + 1), test, color=colour, label=f"{name}, test")
    right.semilogx(100 * model.train_risk_[1:], "--", color=colour, label=f"{name}, training")
left.set(xlabel="round", ylabel="training loss")
right.set(xlabel="round", ylabel="error, %")
for ax in (left, right):
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)

# %%
# Which training points does a decision rest on?
why = explain(models["similarities"], X_test[:1], n_reasons=3)[0]
told = [f"row {r.like}" + (f" rather than row {r.unlike}" if r.unlike is not None else "") for r in why.reasons]

if len(sys.argv) > 1:
    for name, figure in {"similarity_regions": regions, "similarity_curves": curves}.items():
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=110)
else:
    plt.show()
