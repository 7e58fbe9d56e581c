"""
Probabilities that mean what they say
=====================================

A rule of least expected cost multiplies costs by probabilities, so the probabilities have to be right.
Here patients with diabetes get a treatment if their disease is likely to progress more than that of most others.
To leave such a patient untreated costs 5, to treat another one costs 1.
The probabilities of a :class:`~minrisk.MinRiskClassifier` are compared with those of a random forest and of gradient
boosting, all with their defaults, and so is the cost of the decisions that follow from them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from minrisk import MinRiskClassifier, metrics

X, progression = load_diabetes(return_X_y=True)
y = np.where(progression > np.median(progression), "progresses", "stable")
cost = {"progresses": {"stable": 5}, "stable": {"progresses": 1}}

# %%
# Probabilities of rows that the model has not seen
# -------------------------------------------------
#
# Every method decides for treatment where the probability is above 1/6, which is the decision of least expected cost.

models = {
    "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    "random forest": RandomForestClassifier(random_state=0),
    "MinRiskClassifier": MinRiskClassifier(cost, random_state=0),
}
folds = StratifiedKFold(10, shuffle=True, random_state=0)
found = {}
for name, model in models.items():
    found[name] = cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 0]
    decided = np.where(found[name] > 1 / 6, "progresses", "stable")
    mean = metrics.expected_cost(y, decided, cost)
    print(f"{name:>20}: log-loss {log_loss(y == 'progresses', found[name]):.3f}, mean cost {mean:.3f}")
print(f"{'treat everybody':>20}: mean cost {metrics.best_constant_cost(y, cost):.3f}")

# %%
# Reliability curves
# ------------------
#
# Patients are sorted by their probability and divided into eight parts of equal size. On the dotted line, as many
# patients progress as the probability says.

fig, axes = plt.subplots(1, 3, figsize=(10, 4), layout="constrained", sharey=True)
for ax, (name, p), colour in zip(axes, found.items(), ("#999999", "#E69F00", "#0072B2"), strict=True):
    share, mean = calibration_curve(y == "progresses", p, n_bins=8, strategy="quantile")
    error = 100 * np.sqrt(share * (1 - share) / (len(y) / 8))
    ax.plot([0, 100], [0, 100], ":", color="black", linewidth=1)
    ax.axvline(100 / 6, color="#009E73", linewidth=1)
    ax.errorbar(100 * mean, 100 * share, error, fmt="o-", color=colour, capsize=2)
    ax.hist(100 * p, bins=25, weights=np.full(len(p), 60 / len(p)), color=colour, alpha=0.35)
    ax.set(title=name, xlabel="Probability of progress, %", ylim=(0, 105))
axes[0].set_ylabel("Patients who progress, %")
axes[0].annotate("treat from here on", (100 / 6, 97), (5, 0), textcoords="offset points", color="#009E73")
fig.supxlabel("Bars: how the probabilities are spread. Lines at points: one standard error.", fontsize="small")

# %%
# What was learnt
# ---------------
#
# Left-out rows say how far the members of a :class:`~minrisk.MinRiskClassifier` are to be believed, so that no step of
# calibration follows a fit. Boosting without such rows is too sure of itself: patients with a probability of nearly 0
# do progress, and each of them costs 5.
# :doc:`/guide/probabilities` says what is promised about probabilities, :doc:`/guide/judging` how to judge by cost.

plt.show()
