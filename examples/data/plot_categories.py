"""
A table of words and numbers
============================

A table often holds words: a doctor notes "overweight" rather than a body mass index of 27.
Here five columns about diabetes patients are written in such words, one stays a number, and some cells are empty.
How far the disease has progressed after a year is decided in three grades; each grade off costs 1.
The table goes into ``fit`` as it is.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from minrisk import DataWarning, MinRiskClassifier, costs, metrics
from minrisk.inspection import cost_importances

measured, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
grades = ["mild", "moderate", "severe"]
y = np.array(grades)[np.digitize(progression, np.quantile(progression, [1 / 3, 2 / 3]))]

# %%
# Words from numbers
# ------------------
#
# ``pd.cut`` makes ordered categories. The sex is a text, and "glucose" is unknown for every tenth patient.

noted = pd.DataFrame(
    {
        "weight": pd.cut(
            measured["bmi"], [0, 18.5, 25, 30, 99], labels=["under", "normal", "over", "obese"], right=False
        ),
        "pressure": pd.cut(measured["bp"], [0, 90, 100, 110, 999], labels=["normal", "raised", "high", "very high"]),
        "sex": measured["sex"].map({1: "first", 2: "second"}),
        "age": pd.cut(
            measured["age"], [0, 30, 40, 50, 60, 99], labels=["under 30", "30s", "40s", "50s", "60 and over"]
        ),
        "glucose": pd.cut(measured["s6"], [0, 85, 100, 999], labels=["low", "medium", "high"]),
        "triglycerides": measured["s5"],
    }
)
noted.loc[::10, "glucose"] = np.nan
print(noted.head(3).to_string())

# %%
# Fit and judge
# -------------
#
# ``columns_`` says what the model made of each column: categories that are ordered keep their order.

cost = costs.ordinal(grades)
X, X_test, y, y_test = train_test_split(noted, y, test_size=0.4, random_state=1)
model = MinRiskClassifier(cost, random_state=0).fit(X, y)
print(pd.DataFrame(model.columns_)[["name", "kind", "n_missing", "became"]].to_string(index=False))
mean = metrics.expected_cost(y_test, model.predict(X_test), cost)
print(f"mean cost {mean:.2f}, of the best single grade {metrics.best_constant_cost(y_test, cost):.2f}")

# %%
# A word that ``fit`` has not seen counts as missing, and a warning says how many rows have one.

new = X_test.astype({"weight": str})
new.iloc[0, new.columns.get_loc("weight")] = "obese II"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", DataWarning)
    model.predict(new)
print(caught[0].message)

# %%
# What the words are worth
# ------------------------
#
# Left: how much each column moves the expected cost of the decisions. Right: grades decided, by words.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
names, sizes = cost_importances(model, X_test, X)
left.barh(names, sizes, color="#0072B2")
left.invert_yaxis()
left.set(xlabel="Mean size of the SHAP values of the expected cost")
decided = pd.crosstab(X_test["weight"], model.predict(X_test), normalize="index")[grades] * 100
bottom = np.zeros(len(decided))
for grade, colour in zip(grades, ("#9AD0F5", "#0072B2", "#D55E00"), strict=True):
    right.bar(decided.index.astype(str), decided[grade], bottom=bottom, color=colour, label=grade)
    bottom += decided[grade].to_numpy()
right.set(xlabel="Weight as noted", ylabel="Patients of the test rows, %", ylim=(0, 118))
right.legend(frameon=False, ncols=3, loc="upper center")

# %%
# What was learnt
# ---------------
#
# Words, ordered words, numbers and empty cells need no encoding, and the columns are found by name afterwards.
# :doc:`/guide/data` says what each type of column means, :doc:`/guide/shap` what the sizes on the left are.

plt.show()
