"""
Why this decision, and what would change it?
============================================

A tumour is malignant or benign. A missed malignant tumour costs 20, an operation for nothing costs 2, and a second
look, which is a decision of its own, costs 0.5. A doctor asks how close a decision was, and what would have changed it.
:func:`minrisk.inspection.why` answers for one row: what each decision is expected to cost, and the smallest change of
each measurement that turns the decision into another.

``python plot_why.py FOLDER`` writes the pictures and an HTML report into a folder.
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

# %%
# The closest call
# ----------------
#
# ``pool=False`` trains trees that split the columns themselves, so that the smallest changes are exact.
# Of all new tumours, this is the one whose two best decisions cost nearly the same.

model = MinRiskClassifier(COST, pool=False, random_state=0).fit(X, y)
behind = [why(model, X_new.iloc[[n]]).answers[1].behind for n in range(len(X_new))]
n = int(np.argmin(behind))
found = why(model, X_new.iloc[[n]], X, y)
print(found)

# %%
# The same as a picture: above the expected costs, below the changes, in standard deviations of each column.

found.plot()
decision = plt.gcf()

# %%
# Ask for one decision
# --------------------
#
# What would lead to the second best decision, if only the columns called "worst" could change?

worst = [name for name in X if name.startswith("worst")]
second = found.answers[1].decision
print(why(model, X_new.iloc[[n]], X, wanted=second, columns=worst).to_frame("changes").to_string())

# %%
# How the probability follows two columns
# ---------------------------------------
#
# The columns are those of the two smallest changes. Curves are means over all new tumours.

names = [change.column for change in found.changes[:2]]
dependence, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
PartialDependenceDisplay.from_estimator(model, X_new, names, response_method="predict_proba", ax=axes)
for ax in axes:
    ax.set_ylabel("Probability of malignant")

# %%
# What was learnt
# ---------------
#
# A decision that was close can be told from one that was clear, and small changes show what it hangs on. They describe
# the model and not the tumour: a measurement that nobody can change is no advice.
# :doc:`/guide/explaining` tells more, :doc:`/guide/refer` is about decisions such as a second look.

if len(sys.argv) > 1:
    for name, figure in {"why": decision, "partial_dependence": dependence}.items():
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=110)
    report(model, X_new, y_new, Path(sys.argv[1]) / "tumours.html", title="Tumours")
plt.show()
