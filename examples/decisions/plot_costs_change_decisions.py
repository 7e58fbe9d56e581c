"""
Costs change decisions
======================

Points in the plane belong to three classes that overlap. The same points are learnt four times, each time with other
costs. Decisions spread into the overlap for a class that is expensive to miss, and withdraw from it for a class that is
expensive to name wrongly. The picture follows Fig. 7 of the supplement of Appel, Burgos-Artizzu and Perona, "Improved
Multi-Class Cost-Sensitive Boosting via Estimation of the Minimum-Risk Class", NIPS 2016, on other data.

``python plot_costs_change_decisions.py FOLDER`` writes the pictures into a folder.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from minrisk import REBELClassifier
from minrisk.costs import uniform
from minrisk.inspection import CostConfusionDisplay, RiskCurveDisplay

MARKERS = {"red": "o", "green": "^", "blue": "s"}
COLOURS = {"red": "#D55E00", "green": "#009E73", "blue": "#0072B2"}  # for colour-blind readers too


def three_arms(n_per_class, random_state):
    """Three bent arms that overlap in the middle: features (n, 2) and labels (n,)."""
    rng = np.random.default_rng(random_state)
    parts = []
    for k in range(3):
        along, across = (rng.normal(size=(n_per_class, 2)) * (0.30, 0.27) + (0.52, 0)).T
        angle = 2 * np.pi * k / 3 + np.pi / 2 + 0.6 * (along - 0.52)
        x, y = along * np.cos(angle) - across * np.sin(angle), along * np.sin(angle) + across * np.cos(angle)
        parts.append(np.column_stack([x, y]))
    return np.concatenate(parts), np.repeat(list(MARKERS), n_per_class)


# %%
# The costs: rows of a table are true classes, columns are decisions.

tables = {"(a) every mistake costs 1": uniform(list(MARKERS)).to_frame()}
for title in ("(b) missing green costs 10", "(c) wrongly calling red costs 10", "(d) missing red costs 10"):
    tables[title] = tables["(a) every mistake costs 1"].copy()
tables["(b) missing green costs 10"].loc["green"] *= 10
tables["(c) wrongly calling red costs 10"]["red"] *= 10
tables["(d) missing red costs 10"].loc["red"] *= 10

# %%
# Areas are decisions, and markers are training rows by their true class. A dark rim means a wrong decision.

X, y = three_arms(100, random_state=8)
side = np.linspace(-1.3, 1.3, 600)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
regions, axes = plt.subplots(1, 4, figsize=(14, 4.15), layout="constrained")
for ax, (title, cost) in zip(axes, tables.items(), strict=True):
    model = REBELClassifier(cost, n_estimators=100, max_depth=2, learning_rate=0.2).fit(X, y)
    codes = np.searchsorted(model.classes_, model.predict(grid)).reshape(len(side), -1)
    colours = [COLOURS[name] for name in model.classes_]
    ax.contourf(side, side, codes, levels=np.arange(4) - 0.5, colors=colours, alpha=0.28)
    decided = model.predict(X)
    for right, rim, width in ((True, "white", 0.5), (False, "#1A1A1A", 0.9)):
        for name, marker in MARKERS.items():
            x = X[(y == name) & ((decided == y) == right)].T
            ax.scatter(*x, s=22, c=COLOURS[name], marker=marker, edgecolors=rim, linewidths=width)
    green, red = (np.sum((y == name) & (decided != name)) for name in ("green", "red"))
    called = np.sum((y != "red") & (decided == "red"))
    ax.set(title=title, xticks=[], yticks=[], aspect="equal", xlim=side[[0, -1]], ylim=side[[0, -1]])
    ax.set_xlabel(f"missed: {green} green, {red} red; wrongly called red: {called}")
note = "Areas: decisions. Markers: training rows by true class, with a dark rim where the decision is wrong."
regions.supxlabel(note, fontsize="medium", color="#5F5F5F")

# %%
# The last model in numbers, on rows that it has not seen: the total cost of each kind of mistake.

X_new, y_new = three_arms(500, random_state=1)
confusion = CostConfusionDisplay.from_estimator(model, X_new, y_new)

# %%
# Early stopping keeps the rounds up to the one at which the validation rows cost least.

stopped = REBELClassifier(
    cost, learning_rate=0.3, early_stopping=True, n_iter_no_change=60, validation_fraction=0.4, random_state=1
).fit(X_new, y_new)
curves = RiskCurveDisplay.from_estimator(stopped)

# %%
# What was learnt
# ---------------
#
# Costs shape the regions of decision: missing nothing, or never calling it wrongly, has its price.
# :doc:`/guide/costs` lists the ways to state costs, :doc:`/guide/judging` the pictures and measures of cost.

for name, display in {"costs_change_decisions": regions, "cost_confusion": confusion, "risk_curve": curves}.items():
    if len(sys.argv) > 1:
        getattr(display, "figure_", display).savefig(Path(sys.argv[1]) / f"{name}.png", dpi=140)
plt.show()
