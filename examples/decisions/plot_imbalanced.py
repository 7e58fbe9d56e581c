"""
Rare classes, without resampling
================================

In one diabetes patient of ten the disease progresses rapidly. These patients are to be found from an examination.
A decision rule that counts mistakes finds few of them, and is still right for nine patients of ten.
Here a missed patient costs as much more than a false alarm as these patients are rarer: all classes count alike.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_diabetes
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

from minrisk import MinRiskClassifier, costs

X, progression = load_diabetes(return_X_y=True)
y = np.where(progression > np.quantile(progression, 0.9), "rapid", "slow")
print(costs.balanced(y))

# %%
# Four ways to train
# ------------------
#
# Resampling changes the rows: it copies those of the rare class, or leaves out most of the frequent one.
# Balanced costs leave the rows as they are.


def as_it_is(X, y, rng):
    return MinRiskClassifier(random_state=0).fit(X, y)


def rare_rows_copied(X, y, rng):
    rare = np.flatnonzero(y == "rapid")
    rows = np.concatenate([np.arange(len(y)), rng.choice(rare, len(y) - 2 * len(rare))])
    return MinRiskClassifier(random_state=0).fit(X[rows], y[rows])


def frequent_rows_dropped(X, y, rng):
    rare = np.flatnonzero(y == "rapid")
    rows = np.concatenate([rare, rng.choice(np.flatnonzero(y == "slow"), len(rare), replace=False)])
    return MinRiskClassifier(random_state=0).fit(X[rows], y[rows])


def balanced_costs(X, y, rng):
    return MinRiskClassifier(costs.balanced(y), random_state=0).fit(X, y)


# %%
# Each patient is decided by a model that has not seen this patient.

found = {}
for train in (as_it_is, rare_rows_copied, frequent_rows_dropped, balanced_costs):
    rng, decided, probability = np.random.default_rng(0), np.empty_like(y), np.empty(len(y))
    for rows, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        model = train(X[rows], y[rows], rng)
        decided[test], probability[test] = model.predict(X[test]), model.predict_proba(X[test])[:, 0]
    found[train.__name__.replace("_", " ")] = decided, probability
    print(
        f"{train.__name__:>21}: balanced accuracy {balanced_accuracy_score(y, decided):.2f}, "
        f"log-loss {log_loss(y == 'rapid', probability):.2f}"
    )

# %%
# What decisions and probabilities are worth
# ------------------------------------------
#
# Left: patients called rapid. Right: the share of rapid patients among those who were given about the same
# probability; the points of a sound model lie on the diagonal.

colours = dict(zip(found, ("#999999", "#E69F00", "#D55E00", "#0072B2"), strict=True))
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
names = [name.replace(" rows", "\nrows") for name in found]
rightly = [np.sum((decided == "rapid") & (y == "rapid")) for decided, _ in found.values()]
wrongly = [np.sum((decided == "rapid") & (y == "slow")) for decided, _ in found.values()]
left.bar_label(left.bar(names, rightly, color="#0072B2", label="rapid"), label_type="center", color="white")
left.bar_label(left.bar(names, wrongly, bottom=rightly, color="#BBBBBB", label="slow"), label_type="center")
left.axhline(np.sum(y == "rapid"), color="black", linestyle=":", linewidth=1)
left.set(ylabel="Patients called rapid", title="dotted: rapid patients that there are")
left.legend(title="In truth", frameon=False)
for (name, (_, probability)), marker in zip(found.items(), "ovs^", strict=True):
    share, mean = calibration_curve(y == "rapid", probability, n_bins=5, strategy="quantile")
    right.plot(100 * mean, 100 * share, marker=marker, color=colours[name], label=name)
right.plot([0, 80], [0, 80], color="black", linestyle=":", linewidth=1)
right.set(xlabel="Probability of rapid that the model gives, %", ylabel="Rapid patients among them, %")
right.legend(frameon=False)

# %%
# What was learnt
# ---------------
#
# Balanced costs find the rare class and keep probabilities that mean what they say. Where rows are copied or dropped,
# the rare class is as frequent as the other in training, and so the probabilities of new patients exaggerate it.
# :doc:`/guide/costs` tells about balanced costs, :doc:`/guide/probabilities` about what probabilities promise.

plt.show()
