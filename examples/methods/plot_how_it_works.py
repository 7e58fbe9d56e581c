"""
How MinRiskClassifier works, in four pictures
=============================================

Wines of three growers, A, B and C, are told apart by two measurements, so that all that is learnt can be drawn.
Taking C for another wine costs 10, any other mistake costs 1, and asking an expert costs 0.3.
The fit knows nothing of these costs: it learns how probable each grower is. The costs enter at the last step only, so
that other costs need no other fit.

``python plot_how_it_works.py FOLDER`` writes the picture into a folder.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from sklearn.datasets import load_wine

from minrisk import MinRiskClassifier, costs

wine = load_wine(as_frame=True)
X, y = wine.data[["flavanoids", "color_intensity"]], np.array(["A", "B", "C"])[wine.target]
model = MinRiskClassifier(random_state=0).fit(X, y)

# %%
# Rounds and members
# ------------------
#
# Each member leaves a part of the rows out. The rows that they left out choose the number of rounds, and how much each
# kind of member counts in the model.

rounds, log_loss = model.validation_loss_.T
kept = next(kind["n_rounds"] for kind in model.selection_ if kind["variant"] == "plain")
shares = {kind["variant"]: kind["share"] for kind in model.selection_}
print(f"{kept} rounds of plain members; shares:", {name: round(share, 2) for name, share in shares.items()})

# %%
# Probabilities
# -------------
#
# The average of the members gives probabilities, here for every point of a grid over the plane.

sides = [np.linspace(X[name].min() - 0.2, X[name].max() + 0.2, 300) for name in X]
grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
plane = type(X)(grid, columns=X.columns)
probabilities = model.predict_proba(plane)

# %%
# Decisions
# ---------
#
# Each point gets the decision of least expected cost.

table = costs.CostMatrix([[0, 1, 1], [1, 0, 1], [10, 10, 0]], classes=["A", "B", "C"])
decided = model.predict(plane, cost=costs.with_reject(table, price=0.3))
names = ["A", "B", "C", "refer"]
print("shares of the plane:", {name: round(float(np.mean(decided == name)), 2) for name in names})

# %%
# All four steps in one figure. Probabilities are mixtures of the classes' colours; grey is "refer".

colours = ["#D55E00", "#009E73", "#0072B2", "#8C8C8C"]
shades, extent = np.array([to_rgb(colour) for colour in colours]), [*sides[0][[0, -1]], *sides[1][[0, -1]]]
figure, axes = plt.subplots(2, 2, figsize=(9.4, 8.8), layout="constrained")
figure.get_layout_engine().set(hspace=0.06)

axes[0, 0].plot(rounds, log_loss, marker="o", color="#444444")
axes[0, 0].axvline(kept, color="#AA3377", linestyle="--", label=f"kept: {kept} rounds")
axes[0, 0].legend(frameon=False)
axes[0, 0].set(title="1. Left-out rows choose the rounds", xlabel="Rounds of plain members", ylabel="Their log-loss")

axes[0, 1].bar_label(axes[0, 1].barh(list(shares), list(shares.values()), color="#56B4E9"), fmt="%.2f", padding=3)
axes[0, 1].set(title="2. Left-out rows share out the model", xlabel="Share in the model", xlim=(0, 0.8))
axes[0, 1].invert_yaxis()

pictures = {
    "3. The model gives probabilities": probabilities @ shades[:3],
    "4. Costs turn them into decisions (grey: refer)": shades[[names.index(one) for one in decided]],
}
for ax, (title, picture) in zip(axes[1], pictures.items(), strict=True):
    ax.imshow(picture.reshape(300, 300, 3), origin="lower", extent=extent, aspect="auto", alpha=0.55)
    for colour, marker, name in zip(colours, "o^s", model.classes_, strict=False):
        rows = X[y == name].to_numpy().T
        ax.scatter(*rows, s=24, color=colour, marker=marker, edgecolors="white", linewidths=0.6, label=name)
    ax.set(title=title, xlabel="Flavanoids", ylabel="Colour intensity")
    ax.legend(loc="upper right")

# %%
# What was learnt
# ---------------
#
# Nothing has to be set aside or tuned: left-out rows choose, and costs decide. The expert is asked between the growers,
# and more often next to C. :doc:`/methods/minrisk` has the mathematics.

if len(sys.argv) > 1:
    figure.savefig(Path(sys.argv[1]) / "how_it_works.png", dpi=110)
plt.show()
