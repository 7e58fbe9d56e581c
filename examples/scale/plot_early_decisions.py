"""
Decide early, and save time
===========================

Handwritten digits are read, many of them, and every wrong digit costs 1.
The model has 200 rounds of trees, but most digits are clear after a few of them.
``predict(X, max_excess=0.01)`` ends each row's walk through the trees as soon as left-out rows say that going on is not
worth it. The expected cost may then grow by one per cent.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from minrisk import MinRiskClassifier, compact, metrics

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
steps = [(0, 1), (1, 1), (-1, 1), (1, 2), (-1, 2)]  # pixels and axis: each digit as it is, and moved four ways
X = np.concatenate([np.roll(X.reshape(-1, 8, 8), pixels, axis).reshape(-1, 64) for pixels, axis in steps])
digit = np.tile(np.arange(len(y)), len(steps))
model = MinRiskClassifier(pool=False, random_state=0).fit(X, y[digit], groups=digit)

# %%
# After how many rounds is a decision final?
# ------------------------------------------
#
# ``staged_predict`` gives the decisions as they are after each round.

stages = np.array(list(model.staged_predict(X_test)))
settled = np.array([2 + np.flatnonzero(of_row != of_row[-1]).max(initial=-1) for of_row in stages.T])
print(f"final after {np.median(settled):.0f} of {model.n_iter_} rounds: half of the digits")
print(f"final after {np.quantile(settled, 0.9):.0f} of {model.n_iter_} rounds: nine digits of ten")

# %%
# What early decisions cost, and how long they take
# -------------------------------------------------
#
# Without an allowed excess, ``predict`` stops a row only when the remaining trees cannot change its decision.
# The excess holds on the average of many rows: of these test digits, one makes the difference.

many = np.tile(X_test, (10, 1))


def microseconds(answer):
    """The smallest processor time of 15, per row."""
    times = []
    for _ in range(15):
        start = time.process_time()
        answer()
        times.append(time.process_time() - start)
    return 1e6 * min(times) / len(many)


names, times, means = [], [], []
for excess in (0, 0.002, 0.01, 0.02, 0.05):
    names.append(f"{100 * excess:g} %" if excess else "none")
    times.append(microseconds(lambda excess=excess: model.predict(many, max_excess=excess)))
    means.append(metrics.expected_cost(y_test, model.predict(X_test, max_excess=excess)))
    print(f"allowed excess {names[-1]:>5}: {times[-1]:5.1f} µs per digit, mean cost {means[-1]:.4f}")

# %%
# Left: the share of digits whose decision no longer changes, and what decisions cost that all end with that round.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
rounds = np.arange(1, model.n_iter_ + 1)
left.plot(rounds, [100 * np.mean(settled <= n) for n in rounds], color="#0072B2")
left.set(xlabel="Rounds looked at", xscale="log", ylabel="Digits whose decision is final, %", ylim=(0, 103))
left.yaxis.label.set_color("#0072B2")
beside = left.twinx()
beside.plot(rounds, [metrics.expected_cost(y_test, stage) for stage in stages], color="#D55E00")
beside.set(ylabel="Mean cost of the decisions so far", ylim=(0, 0.3))
beside.yaxis.label.set_color("#D55E00")
bars = right.bar(names, times, color="#0072B2")
right.bar_label(bars, [f"{mean:.2%}\nwrong" for mean in means], padding=2)
right.set(xlabel="Allowed excess of the expected cost", ylabel="Processor time per digit, µs")
right.set_ylim(0, 1.25 * max(times))

# %%
# A smaller model
# ---------------
#
# :func:`minrisk.compact` drops rounds for good, which makes the file smaller as well.

small = compact(model, max_excess=0.05)
mean = metrics.expected_cost(y_test, small.predict(X_test))
print(f"{small.n_iter_} of {model.n_iter_} rounds kept, mean cost {mean:.4f}")

# %%
# What was learnt
# ---------------
#
# Most rows need a fraction of the trees, and ``max_excess`` leaves out the others for a stated price.
# :doc:`/guide/fast_decisions` explains how leads are chosen and when decisions stay exact.

plt.show()
