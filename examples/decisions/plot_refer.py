"""
Refer unclear cases to a person
===============================

A lump in the breast is either malignant or benign.
A computer measures 30 properties of its cell nuclei and decides what happens next.
Sending a patient with a malignant tumour home costs 20, an operation for nothing costs 2.
There is a third decision: a pathologist looks at the sample, which costs 0.5 and leads to the right answer.
When is that price worth paying?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from minrisk import MinRiskClassifier, costs, metrics

data = load_breast_cancer(as_frame=True)
X, X_test, y, y_test = train_test_split(data.data, data.target_names[data.target], test_size=0.5, random_state=0)

# %%
# State the costs
# ---------------
#
# Rows are true classes and columns are decisions. :func:`minrisk.costs.with_reject` adds the decision "refer".

mistakes = {"malignant": {"benign": 20}, "benign": {"malignant": 2}}
cost = costs.with_reject(mistakes, price=0.5)
print(cost)

model = MinRiskClassifier(cost, random_state=0).fit(X, y)
decided = model.predict(X_test)
for decision in model.decisions_:
    truth = y_test[decided == decision]
    print(f"{decision:>9}: {len(truth):3d} patients, {np.sum(truth == 'malignant')} of them malignant")
print(f"mean cost {metrics.expected_cost(y_test, decided, cost):.3f} per patient")

# %%
# The rule behind the decisions
# -----------------------------
#
# Each decision has an expected cost, which follows from the probability of a malignant tumour.
# The lowest line decides. Between 2.5 % and 75 % that is the line of the pathologist.

colours = {"benign": "#0072B2", "malignant": "#D55E00", "refer": "#009E73"}
p = np.linspace(0, 1, 1001)
expected = np.column_stack([1 - p, p]) @ cost.values[[cost.classes.index("benign"), cost.classes.index("malignant")]]
p_test = model.predict_proba(X_test)[:, list(model.classes_).index("malignant")]

fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for decision, line in zip(cost.decisions, expected.T, strict=True):
    ax.plot(p, line, color=colours[decision], label=f'decide "{decision}"')
lowest = np.array(cost.decisions)[expected.argmin(axis=1)]
for decision, colour in colours.items():
    ax.fill_between(p, 0, expected.min(axis=1), where=lowest == decision, color=colour, alpha=0.25)
jitter = np.random.default_rng(0).uniform(-0.12, 0.12, len(p_test))
for truth, height in (("benign", -0.3), ("malignant", -0.7)):
    rows = y_test == truth
    ax.scatter(p_test[rows], height + jitter[rows], s=9, color=colours[truth])
    ax.text(1.02, height, truth, va="center", color=colours[truth])
ax.set(ylim=(-0.95, 2.6), yticks=[0, 0.5, 1, 1.5, 2, 2.5])
ax.set(xlabel="Probability of a malignant tumour", ylabel="Expected cost per patient")
ax.set_title("The lowest line decides; dots are the test patients by their true class", fontsize="medium")
ax.legend(loc="upper center", frameon=False)

# %%
# What may the second look cost?
# ------------------------------
#
# ``predict`` takes other costs without another fit, so that prices can be compared.
# The jump between 0.5 and 0.6 is one patient with a malignant tumour who is then sent home, at a cost of 20.

prices = np.geomspace(0.02, 5, 40)
tables = [costs.with_reject(mistakes, price) for price in prices]
answers = [model.predict(X_test, cost=table) for table in tables]
means = [metrics.expected_cost(y_test, answer, table) for answer, table in zip(answers, tables, strict=True)]
alone = metrics.expected_cost(y_test, model.predict(X_test, cost=mistakes), mistakes)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.semilogx(prices, means, color="#009E73", label="may refer")
left.axhline(alone, color="#5F5F5F", linestyle="--", label="may not refer")
left.set(xlabel="Price of a second look", ylabel="Mean cost per patient", ylim=(0, None))
left.legend(frameon=False)
right.semilogx(prices, [100 * np.mean(answer == "refer") for answer in answers], color="#009E73")
right.set(xlabel="Price of a second look", ylabel="Patients referred, %", ylim=(0, None))
print(f"without a second look: {alone:.3f} per patient")

# %%
# What was learnt
# ---------------
#
# A price for asking is one more column of the costs, and the model then refers the cases whose expected cost is higher.
# The cheaper the second look, the more patients it is worth, and the same fit answers for every price.
# :doc:`/guide/refer` tells more about referring, :doc:`/guide/costs` about stating costs.

plt.show()
