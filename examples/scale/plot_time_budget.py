"""
A fit that ends in time, and watching it
========================================

A model is trained again every night and has to be ready in the morning: training has to end in time.
``time_budget`` states the seconds. The fit uses them for what left-out rows say is worth most.
Handwritten digits are the data; a wrong digit costs 1, and asking a person costs 0.1.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from minrisk import MinRiskClassifier, costs, metrics

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
cost = costs.with_reject(costs.uniform(10), price=0.1)

# %%
# How much time is enough?
# ------------------------
#
# The first fit is not counted: it loads compiled code. Where the machine is busy, less is done in the same time.
# The work after the last round, such as calibration, comes on top.

MinRiskClassifier(cost, n_estimators=5, random_state=0).fit(X, y)
budgets, taken, means = [0.05, 0.1, 0.2, 0.5, 1, 2], [], []
for seconds in budgets:
    start = time.perf_counter()
    model = MinRiskClassifier(cost, time_budget=seconds, random_state=0).fit(X, y)
    taken.append(time.perf_counter() - start)
    means.append(metrics.expected_cost(y_test, model.predict(X_test), cost))
    print(f"budget {seconds:4} s: took {taken[-1]:.2f} s, {model.n_iter_:4d} rounds, mean cost {means[-1]:.4f}")

# %%
# Watch other rows
# ----------------
#
# ``eval_set`` judges rows after every round of the final model. They have no part in the fit.
# The course is in ``evals_result_``.

watched = MinRiskClassifier(cost, random_state=0).fit(X, y, eval_set=[(X_test, y_test)])
course = watched.evals_result_["valid_0"]
kept = watched.n_iter_
print(f"{kept} rounds; cost {course['cost'][9]:.4f} after 10, {course['cost'][-1]:.4f} at the end")

# %%
# Left: the cost of what the budgets gave. Right: one fit without a budget, round by round.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
left.semilogx(budgets, means, "o-", color="#0072B2")
left.set(xlabel="time_budget, seconds", ylabel="Mean cost per test digit", ylim=(0, None))
left.set_xticks(budgets, budgets)
left.minorticks_off()
rounds = range(1, len(course["cost"]) + 1)
right.plot(rounds, course["cost"], color="#0072B2", label="mean cost")
right.plot(rounds, course["log_loss"], color="#D55E00", linestyle="--", label="log-loss")
right.set(xlabel="Rounds", ylabel="Mean over test digits", yscale="log")
right.legend(frameon=False)

# %%
# What was learnt
# ---------------
#
# More time gives a better model for a while, and little after that. A fit with a budget ends with the best that the
# time was enough for. Without a budget the fit chooses its rounds by left-out rows, and takes what time that needs.
# :doc:`/guide/watching` tells about progress bars, callbacks and Ctrl-C, :doc:`/guide/large_data` about budgets.

plt.show()
