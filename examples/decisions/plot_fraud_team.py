"""
A team of fixed size: which transfers to check
==============================================

A bank pays, blocks or checks each transfer. A fraud that is paid costs its amount, a fair transfer that is blocked
costs 30 euros of trust. A check costs 5 euros and finds the truth, but the team can only check 30 of the 1000 transfers
of a day. Which ones should they be, and what would another place in the team be worth?
"""

import matplotlib.pyplot as plt
import numpy as np

from minrisk import MinRiskClassifier, decide, price_limits


def transfers(n, rng):
    amount, years, night = rng.lognormal(4.5, 1, n), rng.exponential(4, n), rng.uniform(-1, 1, n)
    abroad, stranger = rng.random(n) < 0.15, rng.random(n) < 0.3
    odds = np.exp(-6 + 3 * abroad + 3 * stranger + 2 * night - 0.4 * years)
    return np.column_stack([amount, years, night, abroad, stranger]), rng.random(n) < odds / (1 + odds), amount


X, y, _ = transfers(20_000, np.random.default_rng(0))
X_new, y_new, amount = transfers(60_000, np.random.default_rng(1))
days = np.arange(60_000).reshape(60, 1000)

# %%
# ``cost[n, i, j]`` is what decision j about transfer n costs if it is fair (i = 0) or a fraud (i = 1).
# The decisions are to pay, as if it were fair, to block, as if it were a fraud, and to check, which is called "refer".

cost = np.zeros((len(X_new), 2, 3))
cost[:, 0, 1], cost[:, 1, 0], cost[:, :, 2] = 30, amount, 5
model = MinRiskClassifier(random_state=0).fit(X, np.where(y, "fraud", "fair"))
p = model.predict_proba(X_new)


def euros_a_day(decided):
    columns = 1 * (decided == "fraud") + 2 * (decided == "refer")
    return 1000 * cost[np.arange(60_000), y_new.astype(int), columns].mean()


# %%
# Three ways to fill the places
# -----------------------------
#
# Two rankings are usual: check the likeliest frauds, or the largest expected losses; the others are paid or blocked,
# whichever is expected to cost less. :func:`minrisk.decide` finds the decisions that are cheapest in sum instead, and
# the price of the limit: what one more place would save. A sure fraud needs no check, since it can be blocked.

sizes = [0, 5, 10, 20, 30, 40, 60, 80, 100, 120]
ranks = {"the likeliest frauds": p[:, 1], "the largest expected losses": p[:, 1] * amount}
alone = decide(p, cost[:, :, :2], classes=model.classes_).labels
spent, prices = {name: [] for name in [*ranks, "those that save most"]}, []
for size in sizes:
    for name, rank in ranks.items():
        decided = alone.astype(object)
        decided[np.take_along_axis(days, np.argsort(-rank[days])[:, :size], axis=1)] = "refer"
        spent[name].append(euros_a_day(decided))
    of_days = [decide(p[day], cost[day], classes=model.classes_, limits={"refer": size}) for day in days]
    spent["those that save most"].append(euros_a_day(np.concatenate([found.labels for found in of_days])))
    prices.append([found.prices["refer"] for found in of_days])
print("euros a day with 30 places:", {name: round(of_sizes[4]) for name, of_sizes in spent.items()})

# %%
# Transfers that come one by one
# ------------------------------
#
# A transfer cannot wait for the end of the day. :func:`minrisk.price_limits` finds the price by 20 past days; added to
# the cost of a check it decides each transfer of the next 40 days as it comes. The limit then holds on average.
# A place that costs 8 euros a day is worth that in a team of up to 50: there the middle curve crosses the dashed line.

priced = price_limits(model, X_new[:20_000], {"refer": 0.03}, cost[:20_000])
singly = decide(p[20_000:], priced.added_to(cost[20_000:]), classes=model.classes_).labels
checks = np.sum(singly.reshape(40, 1000) == "refer", axis=1)
print("checks a day expected:", np.array(priced.interval["refer"]) / 20, "got:", checks.mean())

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for (name, of_sizes), colour in zip(spent.items(), ("#999999", "#E69F00", "#0072B2"), strict=True):
    left.plot(sizes, of_sizes, color=colour, marker="o", markersize=3, label=name)
left.set(title="What a day costs", xlabel="Checks a day, at most", ylabel="Euros", ylim=(0, None))
left.legend(title="Checked are", frameon=False)
middle.fill_between(sizes, *np.quantile(prices, [0.1, 0.9], axis=1), color="#0072B2", alpha=0.2, label="8 days of 10")
middle.plot(sizes, np.mean(prices, axis=1), color="#0072B2", label="mean")
middle.axhline(8, color="#D55E00", linestyle="--", label="what a place costs")
middle.set(title="What one more place saves", xlabel="Checks a day, at most", ylabel="Euros", ylim=(0, None))
middle.legend(frameon=False)
right.bar(np.arange(21, 61), checks, color="#0072B2")
right.axhline(30, color="black", linestyle="--")
right.set(title="Decided one by one", xlabel="Day", ylabel="Checks")

# %%
# What was learnt
# ---------------
#
# Places go to the transfers where a check saves most. The price says how large the team should be: it may grow as
# long as one more place saves more than it costs. Prices of past days decide rows that come one by one.
# :doc:`/guide/row_costs` is about costs that differ by row, :doc:`/guide/refer` about decisions that ask a person.

plt.show()
