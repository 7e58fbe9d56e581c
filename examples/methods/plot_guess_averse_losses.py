"""
Losses that are averse to guessing, and one that is not
=======================================================

A booster decides for the class of the largest score. Where all scores are equal, the decision is a guess.
A loss is averse to guessing if every right decision has less loss than a guess. A loss that is not may leave a row at a
guess, or decide it wrongly, although the row could be decided rightly.
The pictures follow Fig. 2 and 3 of Beijbom, Saberian, Kriegman and Vasconcelos, "Guess-Averse Loss Functions For
Cost-Sensitive Multiclass Boosting", ICML 2014.

``python plot_guess_averse_losses.py FOLDER`` writes the pictures into a folder.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from minrisk.losses.gamma_phi import PHIS
from minrisk.losses.guess_averse import GuessAverseLoss, GuessingLoss, is_guess_averse, row_values

# %%
# Two classes
# -----------
#
# The scores are :math:`S_1 = -S_2`, and the row is of class 1. Every usual loss falls from the guess at margin 0 to the
# right, and a cost only stretches it.

margin = np.linspace(-2, 2, 201)
binary, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
for name, colour in zip([name for name in PHIS if name != "squared"], colours, strict=False):
    ax.plot(margin, PHIS[name].value(margin) / PHIS[name].value(np.zeros(1)), color=colour, label=name)
ax.plot(margin, 3.0 * np.exp(-margin), "--", color="#0072B2", label="exponential, cost 3")
ax.axvline(0.0, color="#9A9A9A", linewidth=0.8)
ax.set(xlabel="Margin $S_1 - S_2$ of a row of class 1", ylabel="Loss (a guess at cost 1 has 1)", ylim=(0, 6))
ax.legend(frameon=False)

# %%
# Three classes
# -------------
#
# Scores sum to 0, so that two of them draw the loss of a row of class 1. The colour is the loss minus the loss of a
# guess. The row is decided rightly below and to the right of the dashed lines. Red areas there show a
# loss that prefers guessing to a right decision.

ALIKE = 1.0 - np.eye(3)
UNLIKE = np.array([[0, 1.0, 10.0], [1, 0, 1], [1, 1, 0]])  # C_12 = 1, C_13 = 10
surfaces = {  # title: loss, costs, a point of the paper's Fig. 3 and its letter
    "(a) L_s, every mistake costs 1": (GuessingLoss("ls"), ALIKE, (3.0, 2.0), "G"),
    "(b) GLL, every mistake costs 1": (GuessAverseLoss("gll"), ALIKE, (3.0, 2.0), "G"),
    "(c) GLL, C_12 = 1, C_13 = 10": (GuessAverseLoss("gll"), UNLIKE, (1.5, 2.0), "H"),
}
side = np.linspace(-4, 4, 241)
first, second = np.meshgrid(side, side)
scores = np.stack([first, second, -first - second], axis=-1).reshape(-1, 3)
three, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, (title, (loss, cost, point, letter)) in zip(axes, surfaces.items(), strict=True):
    guess = row_values(loss, cost, np.zeros(1, dtype=np.int64), np.zeros((1, 3)))[0]
    height = (row_values(loss, cost, np.zeros(len(scores), dtype=np.int64), scores) - guess).reshape(first.shape)
    drawn = ax.contourf(side, side, np.clip(height, -4, 4), levels=np.linspace(-4, 4, 17), cmap="RdBu_r")
    ax.contour(side, side, height, levels=[0.0], colors="#1A1A1A", linewidths=1.4)
    ax.plot([0, 4], [0, 4], "k--", [0, 2], [0, -4], "k--", linewidth=0.9)  # S_1 = S_2 and S_1 = S_3
    ax.plot(*point, "o", color="#1A1A1A")
    ax.annotate(letter, point, xytext=(5, 5), textcoords="offset points")
    averse = is_guess_averse(loss, cost)
    print(f"{title}: {'averse' if averse else 'not averse'} to guessing")
    ax.set(title=title, xlabel="$S_1$", ylabel="$S_2$", aspect="equal")
three.colorbar(drawn, ax=axes, label="Loss minus the loss of a guess")

# %%
# What was learnt
# ---------------
#
# At point G class 1 is decided, rightly; L_s prefers a guess there, GLL does not. With unequal costs GLL stays averse
# to guessing, and its surface tilts away from the mistake that costs 10.
# :doc:`/methods/mcboost` is a method that uses GLL, :doc:`/methods/choosing` says when to choose which.

for name, figure in {"binary_losses": binary, "guess_averse_losses": three}.items():
    if len(sys.argv) > 1:
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=110)
plt.show()
