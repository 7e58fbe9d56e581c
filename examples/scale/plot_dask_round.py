"""
The messages of one round on a Dask cluster
===========================================

Rows that do not fit on one machine stay where they are, in shards on the workers of a Dask cluster.
The client holds no rows: it asks questions, and the shards answer.
The picture shows one round of :class:`~minrisk.MinRiskClassifier` and the sizes of its messages, for three shards that
hold 200 000 rows of 8 features and 3 classes together.

``python plot_dask_round.py FOLDER`` writes the picture into a folder.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

# %%
# The messages
# ------------
#
# What is asked and how large the question is; what is answered and how large the answer is; what the client then does.
# The rows that are drawn for a tree, 1.4 MB, go from shard to shard: one of them grows the tree.

MESSAGES = [
    ("last round's vectors: new scores?", "74 kB", "tops of derivatives, sums by them", "0.6 kB", "takes tops; adds"),
    ("a sketch: how large are rows?", "0.7 kB", "a histogram of sizes", "33 kB", "adds; finds the level of the draw"),
    ("draw to this level", "33 kB", "the tree of the drawn rows of all", "50 kB", "tells all of it"),
    ("the tree: what is in its leaves?", "50 kB", "leaves x K whole numbers, twice", "49 kB", "adds; finds vectors"),
]

# %%
# Four exchanges
# --------------
#
# Blue arrows are questions, orange arrows are answers. Time runs downwards.

CLIENT, SHARDS = 0.9, (6.3, 8.0, 9.7)
ASKED, ANSWERED, INK = "#0072B2", "#B34A00", "#1A1A1A"
figure, ax = plt.subplots(figsize=(11, 8.2), layout="constrained")
ax.set(xlim=(-1.2, 10.7), ylim=(-len(MESSAGES) * 1.5 - 0.4, 1.4))
ax.axis("off")
bottom = -len(MESSAGES) * 1.5 - 0.1
names = ["client\ntrees and log, no rows", *(f"shard {k}\nrows, scores" for k in range(len(SHARDS)))]
for x, name in zip((CLIENT, *SHARDS), names, strict=True):
    ax.text(x, 0.75, name, ha="center", va="center", bbox={"boxstyle": "round,pad=0.4", "fc": "#F2F2F2", "ec": INK})
    ax.plot([x, x], [0.3, bottom], color="#9A9A9A", linewidth=1)
for number, (asked, asked_size, answered, size, then) in enumerate(MESSAGES):
    top = -number * 1.5 - 0.35
    for x in SHARDS:
        arrow = {"arrowstyle": "->", "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (x, top), (CLIENT, top), arrowprops={**arrow, "color": ASKED})
        ax.annotate("", (CLIENT, top - 0.65), (x, top - 0.65), arrowprops={**arrow, "color": ANSWERED})
    middle = (CLIENT + SHARDS[0]) / 2
    ax.text(middle, top + 0.06, f"{asked}  ({asked_size})", ha="center", va="bottom", color=ASKED, fontsize=10)
    ax.text(middle, top - 0.59, f"{answered}  ({size})", ha="center", va="bottom", color=ANSWERED, fontsize=10)
    ax.text(CLIENT - 0.15, top - 0.65, then.replace("; ", "\n"), ha="right", va="center", color=INK, fontsize=10)
ax.set_title("One round: four exchanges, however many rows there are", color=INK)

# %%
# What was learnt
# ---------------
#
# The largest message holds the rows that are drawn for one tree, some thousands. No message grows with the number of
# rows, so a round takes the time of passes over the rows, shared among the workers, and of four short exchanges.
# :doc:`/guide/dask` tells how to fit on a cluster, and what is the same as on one machine.

if len(sys.argv) > 1:
    figure.savefig(Path(sys.argv[1]) / "dask_round.png", dpi=110)
plt.show()
