"""
More rows than memory: train on chunks
======================================

Handwritten digits are to be read even where they do not stand in the middle of their box.
Real rows are few, but each digit can be moved by a pixel in nine ways, and so more rows can be made than memory holds.
:class:`minrisk.Chunks` stands in the place of ``X`` and reads them chunk by chunk: here from a function that makes
them, elsewhere from Parquet files. A wrong digit costs 1, and asking a person costs 0.1.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from minrisk import Chunks, MinRiskClassifier, costs, metrics

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# A function that makes the rows
# ------------------------------
#
# The function begins again for each pass over the data, and must then give the same rows: its generator of random
# numbers has a fixed seed. One chunk is in memory at a time.


def moved(X, rng):
    """Each picture of 8 x 8 pixels moved by at most one pixel."""
    padded = np.pad(X.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    down, right = rng.integers(0, 3, (2, len(X)))
    return np.array([p[d : d + 8, r : r + 8].ravel() for p, d, r in zip(padded, down, right, strict=True)])


def chunks_of(copies):
    def chunks():
        rng = np.random.default_rng(0)
        for _ in range(copies):
            yield moved(X, rng), y

    return Chunks(chunks)


# %%
# Train on more and more rows
# ---------------------------
#
# Copies of one digit belong together, which ``groups`` says: the fit leaves out all of them or none.

cost = costs.with_reject(costs.uniform(10), price=0.1)
X_moved = moved(X_test, np.random.default_rng(1))
counts, means = [1, 2, 4, 8], []
for copies in counts:
    model = MinRiskClassifier(cost, pool=False, random_state=0)
    model.fit(chunks_of(copies), groups=np.tile(np.arange(len(y)), copies))
    decided = model.predict(X_moved)
    means.append(metrics.expected_cost(y_test, decided, cost))
    wrong = np.mean((decided != y_test) & (decided != -1))
    asked = np.mean(decided == -1)
    print(f"{copies * len(y):5d} rows: mean cost {means[-1]:.3f}, {asked:.0%} asked, {wrong:.1%} wrong")

# %%
# What more rows are worth
# ------------------------
#
# Left: digits of the data, and below them the same digits moved. Right: the cost of reading moved digits.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
some = slice(0, 7)
strips = [np.hstack([np.pad(x.reshape(8, 8), 1, constant_values=4) for x in rows[some]]) for rows in (X_test, X_moved)]
left.imshow(np.vstack(strips), cmap="gray_r")
left.set(xticks=[], yticks=[4.5, 14.5], yticklabels=["as they are", "moved"])
right.plot([count * len(y) for count in counts], means, "o-", color="#0072B2")
right.set(xscale="log", xlabel="Training rows", ylabel="Mean cost per moved digit", ylim=(0, None))
right.set_xticks([count * len(y) for count in counts], [count * len(y) for count in counts])
right.minorticks_off()

# %%
# What was learnt
# ---------------
#
# Chunks take the place of ``X`` and ``y``, and the model is the same as that of all rows in one array.
# :doc:`/guide/large_data` tells about files, memory and the number of passes.

plt.show()
