"""Why a decision
==============

Tumours, malignant or benign: a missed malignant one costs 20, an operation for nothing 2, and a second look, which is a
decision of its own, 0.5. For one tumour of the test rows the picture shows what each decision is expected to cost, and
the smallest change of a single measurement that turns the decision into another. Below, how the probability depends
on two measurements, by scikit-learn's `PartialDependenceDisplay`.

``python plot_why.py FOLDER`` writes the pictures into a folder instead of showing them.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import PartialDependenceDisplay
from sklearn.model_selection import train_test_split

from minrisk import MinRiskClassifier
from minrisk.inspection import report, why

COST = {"malignant": {"benign": 20, "look again": 0.5}, "benign": {"malignant": 2, "look again": 0.5}}

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = load_breast_cancer().target_names[y]
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
model = MinRiskClassifier(COST, pool=False, random_state=0).fit(X, y)  # trees of the columns alone: changes are exact

# %%
# The tumour whose two best decisions are nearest to each other.
behind = [why(model, X_new.iloc[[n]]).answers[1].behind for n in range(len(X_new))]
n = int(np.argmin(behind))
found = why(model, X_new.iloc[[n]], X, y)
print(found)
found.plot()
decision = plt.gcf()

# %%
# What would lead to the second best decision, if only some columns could change.
worst = [name for name in X if name.startswith("worst")]
second = found.answers[1].decision
print(why(model, X_new.iloc[[n]], X, wanted=second, columns=worst).to_frame("changes"))

# %%
# How the probability of a malignant tumour depends on the two columns of the smallest changes.
names = [change.column for change in found.changes[:2]]
dependence, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
PartialDependenceDisplay.from_estimator(model, X_new, names, response_method="predict_proba", ax=axes)
for ax in axes:
    ax.set_ylabel("Probability of malignant")

pictures = {"why": decision, "partial_dependence": dependence}
for name, figure in pictures.items():
    if len(sys.argv) > 1:
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=110)
if len(sys.argv) > 1:
    report(model, X_new, y_new, Path(sys.argv[1]) / "tumours.html", title="Tumours")
else:
    plt.show()
