"""
Rows that belong together
=========================

Handwritten digits are read; a wrong digit costs 1, and asking a person costs 0.1.
The digits of the data were written by several people, one after another, and a writer's digits resemble each other.
The data do not name the writers, so blocks of neighbouring rows stand for them here.
The model will read digits of new writers. What will that cost, and does the model know?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GroupKFold, KFold, cross_val_score

from minrisk import MinRiskClassifier, costs, metrics

X, y = load_digits(return_X_y=True)
block = np.arange(len(y)) // 139  # 13 blocks of neighbouring digits
cost = costs.with_reject(costs.uniform(10), price=0.1)
model = MinRiskClassifier(cost, n_estimators=100, pool=False, random_state=0)

# %%
# Judge by blocks
# ---------------
#
# Where test rows are drawn at random, other digits of the same writers are in training, and the cost looks too low.
# (It is printed below, beside the others.)

shuffled = KFold(6, shuffle=True, random_state=0)
at_random = -cross_val_score(model, X, y, cv=shuffled, scoring=metrics.make_expected_cost_scorer(cost)).mean()

# %%
# Fit by blocks
# -------------
#
# A fit leaves rows out as well, to choose the number of rounds and to calibrate its probabilities.
# ``groups`` makes it leave out whole blocks. ``selection_`` then tells what decisions about new writers will cost.

paid, told = {"without groups": [], "with groups": []}, {"without groups": [], "with groups": []}
for rows, new in GroupKFold(6).split(X, y, groups=block):
    for name in paid:
        model.fit(X[rows], y[rows], groups=block[rows] if name == "with groups" else None)
        paid[name].append(metrics.expected_cost(y[new], model.predict(X[new]), cost))
        told[name].append(model.selection_[0]["pooled_risk"])
print(f"rows left out at random cost {at_random:.4f}")
for name in paid:
    print(f"{name:>14}: the fit tells {np.mean(told[name]):.4f}, new blocks cost {np.mean(paid[name]):.4f}")

# %%
# What the fit tells, and what new blocks cost
# --------------------------------------------
#
# Without groups the fit tells too little. With groups it errs on the safe side, as each part of the fit sees fewer
# writers than the whole.

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, name, colour in zip(axes, paid, ("#E69F00", "#0072B2"), strict=True):
    ax.bar(range(1, 7), paid[name], color="#CCCCCC", label="cost of the blocks that are left out")
    ax.axhline(np.mean(paid[name]), color="#555555", linestyle="--", label="mean of the six times")
    ax.plot(range(1, 7), told[name], "o-", color=colour, label="cost that the fit tells")
    ax.set(title=f"Fit {name}", xlabel="Two or three blocks are left out, six times", xticks=range(1, 7))
axes[0].set_ylabel("Mean cost per digit")
axes[0].set_ylim(0, 1.5 * max(paid["with groups"] + paid["without groups"]))
for ax in axes:
    ax.legend(frameon=False, loc="upper right")

# %%
# What was learnt
# ---------------
#
# Rows that resemble each other because one person wrote them, or because they are of one patient, have to be left out
# together: in the tests, by a splitter of scikit-learn, and in the fit, by ``groups``.
# :doc:`/guide/data` tells what else ``fit`` takes, :doc:`/guide/judging` how to judge a model.

plt.show()
