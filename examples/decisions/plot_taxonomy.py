"""
Species that form a tree
========================

Three species of iris are told apart by their petals.
Two of them, versicolor and virginica, are close relatives of the series Laevigatae; setosa is of another series.
Naming the wrong species costs 1 if it is of the right series and 2 if it is not.
A botanist may also name the series only, which costs 0.25 if it is right and 2 if it is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_predict

from minrisk import MinRiskClassifier, costs, metrics

iris = load_iris(as_frame=True)
X = iris.data[["petal length (cm)", "petal width (cm)"]]
y = iris.target_names[iris.target]

# %%
# State the costs
# ---------------
#
# :func:`minrisk.costs.from_taxonomy` counts the steps up the tree until the true class and the decision meet.

species = costs.from_taxonomy({"Laevigatae": ["versicolor", "virginica"], "Tripetalae": ["setosa"]})
print(species)

# %%
# The series is one more decision, and so one more column of the table.

cost = species.to_frame()
cost["Laevigatae"] = [0.25 if name != "setosa" else 2 for name in cost.index]
print(cost)

# %%
# Decide
# ------
#
# Each flower is decided by a model that has not seen it.

for name, table in {"species only": species, "species or series": cost}.items():
    decided = cross_val_predict(MinRiskClassifier(table, random_state=0), X, y, cv=10)
    wrong = np.sum((decided != y) & (decided != "Laevigatae"))
    mean = metrics.expected_cost(y, decided, cost)
    print(f"{name}: mean cost {mean:.4f}, wrong species {wrong}, series named {np.sum(decided == 'Laevigatae')}")

# %%
# Where the series is named
# -------------------------
#
# The model of all flowers, over the two columns that it sees. The other two columns of the data are left out so that
# all decisions can be drawn.

model = MinRiskClassifier(cost, random_state=0).fit(X, y)
colours = {"setosa": "#009E73", "versicolor": "#0072B2", "virginica": "#D55E00", "Laevigatae": "#CC79A7"}
markers = {"setosa": "o", "versicolor": "^", "virginica": "s"}
length, width = np.meshgrid(np.linspace(0.5, 7.2, 400), np.linspace(0, 2.7, 400))
grid = pd.DataFrame(np.column_stack([length.ravel(), width.ravel()]), columns=X.columns)
decisions = list(model.decisions_)
codes = np.array([decisions.index(name) for name in model.predict(grid)]).reshape(length.shape)

fig, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
ax.contourf(
    length, width, codes, levels=np.arange(len(decisions) + 1) - 0.5, colors=[colours[d] for d in decisions], alpha=0.3
)
for name, marker in markers.items():
    rows = X[y == name].to_numpy() + np.random.default_rng(0).uniform(-0.03, 0.03, (np.sum(y == name), 2))
    ax.scatter(*rows.T, s=22, c=colours[name], marker=marker, edgecolors="white", linewidths=0.4, label=name)
ax.fill_between([], [], color=colours["Laevigatae"], alpha=0.3, label="series Laevigatae")
ax.set(xlabel="Petal length, cm", ylabel="Petal width, cm", title="Areas: decisions. Markers: flowers by true species")
ax.legend(loc="upper left")

# %%
# What was learnt
# ---------------
#
# A decision is whatever somebody can act on, and need not be a class. Where two species overlap the model names the
# series: four flowers get a wrong name instead of six, and six answers leave the species open.
# :doc:`/guide/costs` tells more about trees of classes, :doc:`/guide/refer` about decisions that are no class.

plt.show()
