"""
What a decision is expected to cost, and why
============================================

A tumour of the breast is malignant or benign; missing a malignant one costs 10, a false alarm costs 1.
SHAP values say how much each of 30 measurements moved the expected cost of a decision, in the unit of the costs.
Over many tumours they say which measurements matter.

``python plot_shap_values.py FOLDER`` writes the pictures into a folder.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.model_selection import train_test_split

from minrisk import MinRiskClassifier
from minrisk.inspection import ShapExplainer, cost_importances
from minrisk.metrics import make_expected_cost_scorer

X, codes = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.array(["malignant", "benign"])[codes]
cost = {"malignant": {"benign": 10, "malignant": 0}, "benign": {"benign": 0, "malignant": 1}}
X, X_new, y, y_new = train_test_split(X, y, random_state=0, stratify=y)
model = MinRiskClassifier(cost, random_state=0).fit(X, y)

# %%
# One tumour
# ----------
#
# The explainer looks at the training rows once. The tumour is the one whose two decisions are expected to cost nearly
# the same.

explainer = ShapExplainer(model, X)
expected = {name: explainer.explain(X_new, of="cost", decision=name) for name in ("benign", "malignant")}
row = int(np.abs(expected["benign"].sums - expected["malignant"].sums).argmin())
for name, found in expected.items():
    print(f"{name:>9}: expected cost {found.base_values[row]:.2f} of an unknown tumour, {found.sums[row]:.2f} of this")

# %%
# Each bar is a step from the cost of an unknown tumour (dotted) to the cost of this one (solid line).


def draw_steps(ax, found, title, n_shown=8):
    """The largest values as steps from the base to the row, the others as one."""
    order = np.argsort(-np.abs(found.values[row]))
    steps = [(f"{found.feature_names[j]} = {found.data[row][j]:.4g}", found.values[row][j]) for j in order[:n_shown]]
    steps.append((f"{len(order) - n_shown} others", found.values[row][order[n_shown:]].sum()))
    start, places = found.base_values[row], np.arange(len(steps))[::-1]
    ax.axvline(start, color="#5F5F5F", linewidth=0.8, linestyle=":")
    for place, (_, step) in zip(places, steps, strict=True):
        bar = ax.barh(place, step, left=start, height=0.62, color="#D55E00" if step > 0 else "#0072B2")
        ax.bar_label(bar, [f"{step:+.2f}"], padding=3, fontsize="small")
        start += step
    ax.axvline(start, color="black", linewidth=0.8)
    ax.set(yticks=places, yticklabels=[name for name, _ in steps], title=title, xlabel="Expected cost")
    ax.use_sticky_edges = False
    ax.margins(x=0.14)


steps, axes = plt.subplots(1, 2, figsize=(13, 4.4), layout="constrained")
for ax, (name, found) in zip(axes, expected.items(), strict=True):
    draw_steps(ax, found, f'Deciding "{name}"')
steps.supxlabel("Orange: the measurement makes the decision cost more; blue: less.", fontsize="medium")

# %%
# All new tumours
# ---------------
#
# The mean size of the values of each row's own decision, beside the rise of the mean cost where a column is shuffled.
# Right: how the probability depends on the first two columns.

names, sizes = cost_importances(model, X_new, X)
scorer = make_expected_cost_scorer(cost)  # minus the mean cost
shuffled = permutation_importance(model, X_new, y_new, scoring=scorer, n_repeats=10, random_state=0).importances_mean
importances, (ax, right) = plt.subplots(1, 2, figsize=(13, 4.2), layout="constrained")
places, rises = np.arange(10)[::-1], [shuffled[X.columns.get_loc(name)] for name in names[:10]]
ax.barh(places + 0.2, sizes[:10], height=0.38, color="#0072B2", label="mean size of the SHAP values")
ax.barh(places - 0.2, rises, height=0.38, color="#999999", label="rise of the mean cost where it is shuffled")
ax.set(yticks=places, yticklabels=names[:10], xlabel="Cost")
ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2)
PartialDependenceDisplay.from_estimator(model, X, names[:2], response_method="predict_proba", ax=right)
importances.axes[2].set_ylabel(f'Probability of "{model.classes_[1]}"')

# %%
# What was learnt
# ---------------
#
# The parts of an expected cost sum to the whole, in its own unit. Shuffling finds little in columns whose values are
# large where other columns say the same. :doc:`/guide/shap` has the mathematics, :doc:`/guide/explaining` more.

for name, figure in {"shap_steps": steps, "shap_importances": importances}.items():
    if len(sys.argv) > 1:
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=140)
plt.show()
