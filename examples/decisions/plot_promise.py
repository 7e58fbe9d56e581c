"""
A promise to a regulator
========================

An office reads handwritten digits by machine, and a clerk reads those that the machine is unsure of.
The regulator allows one wrong digit in 100, and asks for a proof. The machine was trained on other people's digits.
So the office checks some digits by hand, and chooses by them how sure the machine must be.
A choice that just holds on these digits is no proof.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from minrisk import MinRiskClassifier, costs, guarantee

X, y = load_digits(return_X_y=True)
cost = costs.with_reject(costs.uniform(10), price=0.1)
model = MinRiskClassifier(cost, random_state=0).fit(X[:600], y[:600])
X, y = X[600:], y[600:]  # by other writers: the digits of the office

# %%
# One promise
# -----------
#
# :func:`minrisk.guarantee` returns the highest price of referring for which the rows show, with a confidence of 95 %,
# that the mean cost of mistakes is at most 0.01. Here a mistake costs 1, so the mean cost is the share of mistakes.

rng = np.random.default_rng(0)
rows = rng.integers(0, len(y), 1000)
print(guarantee(model, X[rows], y[rows], at_most=0.01))

# %%
# Many offices
# ------------
#
# 60 offices draw rows of their own. All digits are known here, so that we can tell which offices keep the promise.
# Beside it each tries the usual way: the highest price for which its own rows have no more than one mistake in 100.

p = model.predict_proba(X)
doubt, wrong = 1 - p.max(axis=1), model.classes_[p.argmax(axis=1)] != y


def naive_price(rows):
    rows = rows[np.argsort(doubt[rows])]
    return doubt[rows[np.cumsum(wrong[rows]) <= 0.01 * len(rows)][-1]]


names, sizes = ["threshold that holds on the rows", "guarantee"], [300, 1000, 3000]
found = np.empty((len(sizes), 60, 2, 2))  # share of wrong digits, and of those that are referred
for of_size, n in zip(found, sizes, strict=True):
    for office in of_size:
        rows = rng.integers(0, len(y), n)
        prices = naive_price(rows), guarantee(model, X[rows], y[rows], at_most=0.01).price
        for answer, price in zip(office, prices, strict=True):
            decided = doubt <= price
            answer[:] = np.mean(wrong & decided), np.mean(~decided)
kept = np.mean(found[..., 0] <= 0.01, axis=1)
best = 1 - np.mean(np.cumsum(wrong[np.argsort(doubt)]) <= 0.01 * len(y))

# %%
# What certainty costs
# --------------------
#
# Left: each dot is an office, and keeps the promise if it is not above the dashed line. Right: what is referred on
# average. The more rows are checked by hand, the fewer referrals certainty costs.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
jitter = np.linspace(-0.13, 0.13, 60)
for k, (name, colour) in enumerate(zip(names, ("#E69F00", "#0072B2"), strict=True)):
    for at, shares in enumerate(100 * found[:, :, k, 0]):
        left.scatter(at + 0.4 * k - 0.2 + jitter, shares, s=8, color=colour)
        left.text(at + 0.4 * k - 0.2, 3.05, f"{kept[at, k]:.0%}\nkeep it", ha="center", color=colour)
    right.plot(100 * found[:, :, k, 1].mean(axis=1), color=colour, marker="o", label=name)
left.axhline(1, color="black", linestyle="--")
left.text(2.5, 1.04, "promised", ha="right")
left.set(xlim=(-0.5, 2.5), ylabel="Wrong digits, %", ylim=(0, 3.5))
right.axhline(100 * best, color="black", linestyle=":", label="needed, if all digits were known")
right.legend(frameon=False, loc="lower right")
right.set(ylabel="Referred to a clerk, %", ylim=(0, None))
for ax in (left, right):
    ax.set_xticks(range(3), sizes)
    ax.set_xlabel("Rows that an office checks by hand")

# %%
# What was learnt
# ---------------
#
# What just holds on the rows at hand fails on new ones more often than not, however many rows there are, since it was
# chosen by these rows. :func:`minrisk.guarantee` allows for that, and needs no trust in the model: it looks at what its
# answers cost on rows that are drawn as new ones will be. :doc:`/guide/refer` is about decisions that ask a person.

plt.show()
