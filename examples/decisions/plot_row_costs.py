"""
Amounts: every row has its own costs
====================================

Forms with handwritten amounts of money, four digits each, are read digit by digit.
A digit that is read wrongly costs the euros by which the amount is then wrong: its place decides whether that is 1 euro
or 1000 euros for each step. A clerk who looks at a digit costs 1 euro.
The place of a digit is known before it is read, so every row brings its own costs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from minrisk import MinRiskClassifier, costs

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = X[:797], X[797:], y[:797], y[797:]
place_value = 10 ** (3 - np.arange(len(y_test)) % 4)  # euros: four digits in a row are an amount

# %%
# A table for each row
# --------------------
#
# ``tables[n, i, j]`` is what it costs to decide j for row n if its digit is i. The last column is the clerk.

steps = costs.ordinal(10).values
tables = np.empty((len(y_test), 10, 11))
tables[:, :, :10] = place_value[:, None, None] * steps
tables[:, :, 10] = 1.0
one_table = tables.mean(axis=0)  # the same for all rows: the mean of the four places

# %%
# The same probabilities, two rules
# ---------------------------------
#
# The classifier is trained once. ``predict`` takes one table for all rows, or a table for each row.

model = MinRiskClassifier(random_state=0).fit(X, y)
decided = {
    "one table for all": model.predict(X_test, cost=one_table),
    "a table for each row": model.predict(X_test, cost=tables),
    "nobody is asked": model.predict(X_test, cost=tables[:, :, :10]),
}
places = [1000, 100, 10, 1]
asked, lost = {}, {}
for name, answers in decided.items():
    cost = tables[np.arange(len(y_test)), y_test, answers]  # -1, the clerk, is the last column
    of_place = [(place_value == place, place) for place in places]
    asked[name] = [100 * np.mean(answers[rows] == -1) for rows, _ in of_place]
    lost[name] = [cost[rows].mean() for rows, _ in of_place]
    print(f"{name:>21}: {cost.sum():6.0f} euros for {len(y_test)} digits, clerk asked {np.sum(answers == -1)} times")

# %%
# Where the clerk is asked
# ------------------------
#
# With a table for each row the clerk looks at most of the thousands and at few of the ones.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
colours = {"one table for all": "#E69F00", "a table for each row": "#0072B2", "nobody is asked": "#999999"}
for number, name in enumerate(decided):
    where = np.arange(4) + 0.27 * (number - 1)
    left.bar(where, asked[name], 0.25, color=colours[name], label=name)
    right.bar(where, lost[name], 0.25, color=colours[name], label=name)
for ax in (left, right):
    ax.set(xticks=range(4), xticklabels=["thousands", "hundreds", "tens", "ones"], xlabel="Place of the digit")
left.set_ylabel("Digits that the clerk looks at, %")
right.set(ylabel="Mean cost of a digit, euros", yscale="symlog", ylim=(0, 300))
right.set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
right.legend(frameon=False)

# %%
# What was learnt
# ---------------
#
# Probabilities do not depend on what is at stake, decisions do. Costs that are known before the decision are given to
# ``predict``, row by row. Costs that are known for past rows only are given to ``fit``, and the model learns what they
# will be: :doc:`/guide/row_costs` shows both. :doc:`/guide/refer` is about decisions that ask a person.

plt.show()
