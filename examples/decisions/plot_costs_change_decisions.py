"""Costs change decisions
======================

Three classes in the plane, REBEL with 100 trees of depth 2, four cost matrices. A class that is dear to miss spreads
over the overlap; a class that is dear to call wrongly withdraws to where it is certain. After Fig. 7 of the supplement
of Appel, Burgos-Artizzu and Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of the Minimum-Risk
Class", NIPS 2016 (there on other data, without shrinkage and with `offset="paper"`).

``python plot_costs_change_decisions.py FOLDER`` writes the pictures into a folder instead of showing them.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from minrisk import REBELClassifier
from minrisk.costs import uniform
from minrisk.inspection import CostConfusionDisplay, RiskCurveDisplay

CLASSES = ["red", "green", "blue"]
COLOURS = {"red": "#D55E00", "green": "#009E73", "blue": "#0072B2"}  # Okabe and Ito's, for colour-blind readers too
MARKERS = {"red": "o", "green": "^", "blue": "s"}


def three_arms(n_per_class, random_state):
    """Three bent arms that overlap in the middle: features (n, 2) and labels (n,)."""
    rng = np.random.default_rng(random_state)
    parts = []
    for k in range(3):
        along, across = (rng.normal(size=(n_per_class, 2)) * (0.30, 0.27) + (0.52, 0)).T
        angle = 2 * np.pi * k / 3 + np.pi / 2 + 0.6 * (along - 0.52)
        x, y = along * np.cos(angle) - across * np.sin(angle), along * np.sin(angle) + across * np.cos(angle)
        parts.append(np.column_stack([x, y]))
    return np.concatenate(parts), np.repeat(CLASSES, n_per_class)


def cost_tables():
    """Title -> costs; rows are true classes, columns are decisions."""
    every = uniform(CLASSES).to_frame()
    missed_green, called_red, missed_red = every.copy(), every.copy(), every.copy()
    missed_green.loc["green"] *= 10
    called_red["red"] *= 10
    missed_red.loc["red"] *= 10
    return {
        "(a) every mistake costs 1": every,
        "(b) missing green costs 10": missed_green,
        "(c) wrongly calling red costs 10": called_red,
        "(d) missing red costs 10": missed_red,
    }


def draw_decisions(ax, model, X, y):
    """Decisions in the plane as pale areas, rows as markers, those decided wrongly with a dark rim."""
    side = np.linspace(-1.3, 1.3, 600)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    codes = np.searchsorted(model.classes_, model.predict(grid)).reshape(len(side), -1)
    colours = [COLOURS[name] for name in model.classes_]
    ax.contourf(side, side, codes, levels=np.arange(4) - 0.5, colors=colours, alpha=0.28)
    decided = model.predict(X)
    for right, rim, width in ((True, "white", 0.5), (False, "#1A1A1A", 0.9)):
        for name in CLASSES:
            x = X[(y == name) & ((decided == y) == right)].T
            ax.scatter(*x, s=22, c=COLOURS[name], marker=MARKERS[name], edgecolors=rim, linewidths=width)
    green, red = (((y == name) & (decided != name)).sum() for name in ("green", "red"))
    called = ((y != "red") & (decided == "red")).sum()
    ax.set_xlabel(f"missed: {green} green, {red} red; wrongly called red: {called}")
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=side[[0, -1]], ylim=side[[0, -1]])


X, y = three_arms(100, random_state=8)
regions, axes = plt.subplots(1, 4, figsize=(14, 4.15), layout="constrained")
for ax, (title, cost) in zip(axes, cost_tables().items(), strict=True):
    model = REBELClassifier(cost, n_estimators=100, max_depth=2, learning_rate=0.2).fit(X, y)
    draw_decisions(ax, model, X, y)
    ax.set_title(title)
note = "Areas: decisions. Markers: training rows by true class, with a dark rim where the decision is wrong."
regions.supxlabel(note, fontsize="medium", color="#5F5F5F")

# %%
# The last model in numbers, on rows it has not seen.
X_new, y_new = three_arms(500, random_state=1)
confusion = CostConfusionDisplay.from_estimator(model, X_new, y_new)

# %%
# With early stopping the rounds are kept up to the one at which the validation rows cost least.
stopped = REBELClassifier(
    cost, learning_rate=0.3, early_stopping=True, n_iter_no_change=60, validation_fraction=0.4, random_state=1
).fit(X_new, y_new)
curves = RiskCurveDisplay.from_estimator(stopped)

pictures = {"costs_change_decisions": regions, "cost_confusion": confusion.figure_, "risk_curve": curves.figure_}
for name, figure in pictures.items():
    if len(sys.argv) > 1:
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=140)
if len(sys.argv) == 1:
    plt.show()
