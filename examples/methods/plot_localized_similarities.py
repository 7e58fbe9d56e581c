"""
Localized similarities and decision stumps
==========================================

Points in the plane belong to three arms of a spiral, and every mistake costs 1.
Stumps ask whether one coordinate is above a threshold. Similarities ask whether a point is nearer to this training
point than to that one. Both are boosted for 1000 rounds, far beyond the last training error.
The pictures follow Fig. 1, 3, 5 and 10 of Appel and Perona, "A Simple Multi-Class Boosting Framework with Theoretical
Guarantees and Empirical Proficiency", ICML 2017.

``python plot_localized_similarities.py FOLDER`` writes the pictures into a folder.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from minrisk import LocalizedSimilaritiesClassifier, REBELClassifier
from minrisk.inspection import explain

COLOURS = ["#D55E00", "#009E73", "#0072B2"]  # for colour-blind readers too
MARKERS = ["o", "^", "s"]
ROUNDS = 1000


def spiral(n, seed):
    """Points in three arms that turn once around each other."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    along = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 2 * np.pi * (y / 3 + along) + rng.normal(0.0, 0.12, n)
    return np.column_stack([along * np.cos(angle), along * np.sin(angle)]), y


X, y = spiral(333, seed=0)
X_test, y_test = spiral(167, seed=1)
rng, mislabelled = np.random.default_rng(0), y.copy()
some = rng.permutation(len(y))[:32]
mislabelled[some] = (y[some] + rng.integers(1, 3, len(some))) % 3

# %%
# Regions of decision
# -------------------
#
# Below, one label in ten is wrong. Stumps make boxes around single points, similarities follow the arms.

models = {
    "stumps": REBELClassifier(weak_learner="stump", n_estimators=ROUNDS),
    "similarities": LocalizedSimilaritiesClassifier(n_estimators=ROUNDS),
}
side = np.linspace(-1.3, 1.3, 400)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
regions, axes = plt.subplots(2, 2, figsize=(8.4, 8.8), layout="constrained")
for row, (title, labels) in zip(axes[::-1], {"10 % mislabelled": mislabelled, "as they are": y}.items(), strict=True):
    for ax, (name, model) in zip(row, models.items(), strict=True):
        wrong = model.fit(X, labels).predict(X) != labels
        codes = model.predict(grid).reshape(len(side), -1)
        ax.contourf(side, side, codes, levels=np.arange(4) - 0.5, colors=COLOURS, alpha=0.28)
        for k in range(3):
            for part, rim in (((labels == k) & ~wrong, "white"), ((labels == k) & wrong, "#1A1A1A")):
                ax.scatter(*X[part].T, s=20, c=COLOURS[k], marker=MARKERS[k], edgecolors=rim, linewidths=0.7)
        error = 100 * np.mean(model.predict(X_test) != y_test)
        ax.set(title=f"{name}, labels {title}\n{error:.1f} % test error", xticks=[], yticks=[], aspect="equal")
note = f"Areas: decisions after {ROUNDS} rounds. Markers: the 333 training points by label."
regions.supxlabel(note, fontsize="medium", color="#5F5F5F")

# %%
# The course of the training on the true labels: the loss goes on falling, and the test error does not rise.

curves, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for (name, model), colour in zip(models.items(), ("#7F7F7F", "#0072B2"), strict=True):
    test = [100 * np.mean(decided != y_test) for decided in model.staged_predict(X_test)]
    left.semilogy(model.train_loss_, color=colour, label=name)
    right.semilogx(np.arange(1, len(test) + 1), test, color=colour, label=f"{name}, test")
    right.semilogx(100 * model.train_risk_[1:], "--", color=colour, label=f"{name}, training")
left.set(xlabel="Round", ylabel="Training loss")
right.set(xlabel="Round", ylabel="Error, %")
left.legend(frameon=False)
right.legend(frameon=False)

# %%
# Which training points does a decision rest on?

for reason in explain(models["similarities"], X_test[:1], n_reasons=3)[0].reasons:
    print(f"like row {reason.like}" + (f", unlike row {reason.unlike}" if reason.unlike is not None else ""))

# %%
# What was learnt
# ---------------
#
# Where points that are near are alike, similarities generalise better than thresholds, and they can be explained by
# examples. They need columns whose scales can be compared. :doc:`/methods/localized_similarities` tells more.

for name, figure in {"similarity_regions": regions, "similarity_curves": curves}.items():
    if len(sys.argv) > 1:
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=110)
plt.show()
