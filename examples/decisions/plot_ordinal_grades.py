"""
Grades that stand in order
==========================

442 patients with diabetes were examined, and a year later it was measured how far the disease had progressed.
The progression is divided into four grades, and the grade is decided from the examination.
A decision that is one grade off costs 1, two grades off 4, three grades off 9.
A decision that is far off is what has to be avoided, even if more decisions are then one grade off.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_predict

from minrisk import MinRiskClassifier, costs, metrics

grades = ["mild", "moderate", "marked", "severe"]
X, progression = load_diabetes(return_X_y=True, as_frame=True)
y = np.array(grades)[np.digitize(progression, np.quantile(progression, [0.25, 0.5, 0.75]))]

# %%
# State the costs
# ---------------
#
# The order of classes that are words is stated by their list. ``p=2`` squares the number of grades that a decision is
# off.

cost = costs.ordinal(grades, p=2)
print(cost)

# %%
# Decide with and without them
# ----------------------------
#
# Each patient is decided by a model that has not seen this patient.

decided = {
    "every mistake costs 1": cross_val_predict(MinRiskClassifier(random_state=0), X, y, cv=10),
    "graded costs": cross_val_predict(MinRiskClassifier(cost, random_state=0), X, y, cv=10),
}
for name, answers in decided.items():
    mean = metrics.expected_cost(y, answers, cost)
    print(f"{name:>22}: mean cost {mean:.2f}, right grade {np.mean(answers == y):.0%}")
print(f"{'the best single grade':>22}: mean cost {metrics.best_constant_cost(y, cost):.2f}")

# %%
# How far off are the decisions?
# ------------------------------
#
# Graded costs move decisions towards the middle grades where the outcome is uncertain.

fig, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained", width_ratios=[1.1, 1, 1])
position = {grade: number for number, grade in enumerate(grades)}
truth = np.array([position[grade] for grade in y])
for (name, answers), colour, shift in zip(decided.items(), ("#999999", "#0072B2"), (-0.2, 0.2), strict=True):
    off = np.abs(np.array([position[grade] for grade in answers]) - truth)
    bars = axes[0].bar(np.arange(4) + shift, np.bincount(off, minlength=4), 0.38, color=colour, label=name)
    axes[0].bar_label(bars)
axes[0].set(xlabel="Grades off", ylabel="Patients", xticks=range(4), ylim=(0, 290))
axes[0].legend(frameon=False)
for ax, (name, answers) in zip(axes[1:], decided.items(), strict=True):
    table = np.array([[np.sum((y == true) & (answers == grade)) for grade in grades] for true in grades])
    ax.imshow(table, cmap="Blues", vmin=0, vmax=110)
    for i, j in np.ndindex(table.shape):
        ax.text(j, i, table[i, j], ha="center", va="center", color="white" if table[i, j] > 60 else "black")
    ax.set(xticks=range(4), xticklabels=grades, yticks=range(4), yticklabels=grades, title=f"Patients: {name}")
    ax.set(xlabel="Decided grade", ylabel="True grade")
    ax.tick_params(axis="x", labelrotation=30)

# %%
# What was learnt
# ---------------
#
# The costs make the model give up right answers for fewer decisions that are two or three grades off.
# No model of regression and no thresholds are needed: the order of the classes is in the costs alone.
# :doc:`/guide/costs` lists the ways to state costs, :doc:`/guide/judging` the ways to judge by them.

plt.show()
