"""What a decision is expected to cost, and why
============================================

Tumours of the breast, 30 measurements each; missing a malignant one costs 10, a false alarm 1. SHAP values say how much
each measurement moved the expected cost of a decision, in the unit of the costs. Then which measurements matter, by
three measures: the mean size of these values, what scikit-learn's permutation importance says of the risk, and partial
dependence.

``python plot_shap_values.py FOLDER`` writes the pictures into a folder instead of showing them.
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

DEARER, CHEAPER, MUTED = "#D55E00", "#0072B2", "#5F5F5F"

X, codes = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.array(["malignant", "benign"])[codes]
cost = {"malignant": {"benign": 10, "malignant": 0}, "benign": {"benign": 0, "malignant": 1}}
X, X_new, y, y_new = train_test_split(X, y, random_state=0, stratify=y)
model = MinRiskClassifier(cost, random_state=0).fit(X, y)
explainer = ShapExplainer(model, X)

# %%
# Of the row whose decision was the closest call: from what "benign" costs where nothing is known to what it costs here.
expected = {name: explainer.explain(X_new, of="cost", decision=name) for name in ("benign", "malignant")}
row = int(np.abs(expected["benign"].sums - expected["malignant"].sums).argmin())


def draw_steps(ax, found, row, title, n_shown=8):
    """The largest values as steps from the base to the row, the others as one."""
    values, data = found.values[row], found.data[row]
    order = np.argsort(-np.abs(values))
    steps = [(f"{found.feature_names[j]} = {data[j]:.4g}", values[j]) for j in order[:n_shown]]
    steps.append((f"{len(order) - n_shown} others", values[order[n_shown:]].sum()))
    start, places = found.base_values[row], np.arange(len(steps))[::-1]
    ax.axvline(start, color=MUTED, linewidth=0.8, linestyle=":")
    for place, (_, step) in zip(places, steps, strict=True):
        ax.barh(place, step, left=start, height=0.62, color=DEARER if step > 0 else CHEAPER)
        right = step > 0
        ax.annotate(
            f"{step:+.2f}", (start + step, place), (4 if right else -4, 0), textcoords="offset points",
            ha="left" if right else "right", va="center", fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
        start += step
    ax.axvline(start, color="black", linewidth=0.8)
    ax.set(yticks=places, yticklabels=[name for name, _ in steps], title=title)
    ax.set_xlabel(f"expected cost: {found.base_values[row]:.2f} where nothing is known, {start:.2f} of this row")
    ax.use_sticky_edges = False
    ax.margins(x=0.14)
    ax.spines[["top", "right"]].set_visible(False)


steps, axes = plt.subplots(1, 2, figsize=(13, 4.4), layout="constrained")
for ax, name in zip(axes, expected, strict=True):
    draw_steps(ax, expected[name], row, f'Deciding "{name}"')
note = f"The closest call of {len(X_new)}. Orange: a measurement made the decision dearer; blue: cheaper."
steps.supxlabel(note, fontsize="medium", color=MUTED)

# %%
# Over all new rows: the mean size of the values of each row's own decision, beside what the mean cost rises by where a
# column is shuffled.
names, sizes = cost_importances(model, X_new, X)

scorer = make_expected_cost_scorer(cost)  # minus the mean cost
shuffled = permutation_importance(model, X_new, y_new, scoring=scorer, n_repeats=10, random_state=0).importances_mean
importances, (left, right) = plt.subplots(1, 2, figsize=(13, 4.2), layout="constrained")
shown, places = names[:10], np.arange(10)[::-1]
left.barh(places + 0.2, sizes[:10], height=0.38, color=CHEAPER, label="mean size of the SHAP values")
left.barh(places - 0.2, [shuffled[X.columns.get_loc(name)] for name in shown], height=0.38, color=MUTED,
          label="rise of the mean cost where it is shuffled")
left.set(yticks=places, yticklabels=shown, xlabel="cost")
left.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
PartialDependenceDisplay.from_estimator(
    model, X, names[:2], response_method="predict_proba", ax=right, n_jobs=1, grid_resolution=40
)
importances.axes[2].set_ylabel(f'probability of "{model.classes_[1]}"')
for ax in (left, *importances.axes[1:]):
    ax.spines[["top", "right"]].set_visible(False)

pictures = {"shap_steps": steps, "shap_importances": importances}
for name, figure in pictures.items():
    if len(sys.argv) > 1:
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=140)
if len(sys.argv) == 1:
    plt.show()
