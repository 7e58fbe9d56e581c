"""
Which method decides at the least cost?
=======================================

Several methods are compared on five data sets. Rare classes count as much as frequent ones, by balanced costs.
:func:`minrisk.compare` trains every method on the same folds, judges the decisions by their cost, and tests whether
the methods differ. Few rounds keep this example quick: no method is at its best here.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from minrisk import MinRiskClassifier, REBELClassifier, compare, costs

X_digits, y_digits = load_digits(return_X_y=True)
X_diabetes, progression = load_diabetes(return_X_y=True)
sets = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "digits": (X_digits[:600], y_digits[:600]),
    "diabetes, grades": (X_diabetes, np.digitize(progression, [100, 200, 280])),
}
methods = {
    "MinRisk": MinRiskClassifier(n_estimators=30),
    "REBEL": REBELClassifier(n_estimators=30),
    "forest": RandomForestClassifier(n_estimators=30),
    "HistGB": HistGradientBoostingClassifier(max_iter=30),
}

# %%
# Compare
# -------
#
# A method that takes costs is trained on them. The others are trained for accuracy and judged twice: as they decide,
# and by the decision of least expected cost that follows from their probabilities ("+ costs").

found = compare(sets, cost=costs.balanced, methods=methods, cv=3)
print(found.to_markdown("cost"))

# %%
# Are the differences more than chance?
# -------------------------------------
#
# Friedman's test asks whether all methods are alike. Wilcoxon's, with Holm's correction, compares them in pairs.

test = found.friedman()
print(f"Friedman's test, all methods alike: p = {test.p_value:.3f}")
for pair in found.wilcoxon(control="MinRisk"):
    print(f"MinRisk costs less than {pair.second} on {pair.won} sets of 5; Wilcoxon's p = {pair.holm_p_value:.2f}")

# %%
# The picture shows mean ranks, where 1 is the best. A bar joins methods that Nemenyi's test cannot tell apart.

found.plot()

# %%
# The costs behind the ranks, relative to the best decision that looks at no row.

names, colours = found.methods, ["#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#999999", "#555555"]
fig, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
for name, colour, marker in zip(names, colours, "os^v<>", strict=True):
    relative = [100 * np.mean(found.of_folds("relative_cost", data, name)) for data in sets]
    ax.plot(relative, range(len(sets)), marker, color=colour, label=name, markersize=8)
ax.set(xlabel="Mean cost, % of the cost of the best constant decision", yticks=range(len(sets)), yticklabels=list(sets))
ax.set_xscale("log")
ax.set_xticks([2, 5, 10, 20, 50, 100], [2, 5, 10, 20, 50, 100])
ax.invert_yaxis()
ax.grid(axis="y", color="#DDDDDD")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# What was learnt
# ---------------
#
# Five data sets are too few: even a method that is the best on all five is not shown to differ from any other by
# Wilcoxon's test, and from three of them by Nemenyi's. A claim about methods needs more data sets.
# :doc:`/guide/comparing` explains the tests, :doc:`/more/benchmarks` compares on 30 data sets.

plt.show()
