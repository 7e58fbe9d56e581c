"""Losses that are averse to guessing, and one that is not
========================================================

Scores of three classes that sum to 0, of an example of class 1, over S_1 and S_2; each surface less its value at the
origin, where all scores are equal and the decision is a guess. Where it is above 0 the loss would rather guess. After
Fig. 2 and 3 of Beijbom, Saberian, Kriegman and Vasconcelos, "Guess-Averse Loss Functions For Cost-Sensitive Multiclass
Boosting", ICML 2014.

``python plot_guess_averse_losses.py FOLDER`` writes the pictures into a folder instead of showing them.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from minrisk.losses.gamma_phi import PHIS
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.losses.guessing import is_guess_averse, row_values
from minrisk.losses.not_guess_averse import GuessingLoss

EVERY = 1.0 - np.eye(3)
DEAR = np.array([[0, 1.0, 10.0], [1, 0, 1], [1, 1, 0]])  # C_12 = 1, C_13 = 10
SURFACES = {  # title: loss, costs, a point of the paper's Fig. 3 and its letter
    "(a) L_s, every mistake costs 1": (GuessingLoss("ls"), EVERY, (3.0, 2.0), "G"),
    "(b) GLL, every mistake costs 1": (GuessAverseLoss("gll"), EVERY, (3.0, 2.0), "G"),
    "(c) GLL, C_12 = 1, C_13 = 10": (GuessAverseLoss("gll"), DEAR, (1.5, 2.0), "H"),
}


def surface(loss, cost, first, second):
    """L(C, 1, S) - L(C, 1, 0) at S = (first, second, -first - second)."""
    scores = np.stack([first, second, -first - second], axis=-1).reshape(-1, 3)
    values = row_values(loss, cost, np.zeros(len(scores), dtype=np.int64), scores)
    guess = row_values(loss, cost, np.zeros(1, dtype=np.int64), np.zeros((1, 3)))[0]
    return (values - guess).reshape(first.shape)


# %%
# Two classes, S_1 = -S_2: every usual loss falls from the guess at margin 0 to the right.
margin = np.linspace(-2, 2, 201)
binary, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
for name, phi in PHIS.items():
    if name != "squared":
        ax.plot(margin, phi.value(margin) / phi.value(np.zeros(1)), label=name)
ax.plot(margin, 3.0 * np.exp(-margin), "--", label="exponential, cost 3")
ax.axvline(0.0, color="#9A9A9A", linewidth=0.8)
ax.set(xlabel="margin, S_1 - S_2, of an example of class 1", ylabel="loss", ylim=(0, 6))
ax.legend(frameon=False)

# %%
# Three classes: class 1 is decided for below and to the right of the dashed lines.
side = np.linspace(-4, 4, 241)
first, second = np.meshgrid(side, side)
three, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, (title, (loss, cost, point, letter)) in zip(axes, SURFACES.items(), strict=True):
    height = np.clip(surface(loss, cost, first, second), -4, 4)
    drawn = ax.contourf(side, side, height, levels=np.linspace(-4, 4, 17), cmap="RdBu_r")
    ax.contour(side, side, height, levels=[0.0], colors="#1A1A1A", linewidths=1.4)
    ax.plot([0, 4], [0, 4], "k--", linewidth=0.9)  # S_1 = S_2
    ax.plot([0, 2], [0, -4], "k--", linewidth=0.9)  # S_1 = S_3
    ax.plot(*point, "o", color="#1A1A1A")
    ax.annotate(letter, point, xytext=(5, 5), textcoords="offset points")
    word = "averse to guessing" if is_guess_averse(loss, cost) else "not averse to guessing"
    ax.set(title=title, xlabel=f"S_1; {word}", ylabel="S_2", aspect="equal")
three.colorbar(drawn, ax=axes, label="loss less that of guessing")

for name, figure in {"binary_losses": binary, "guess_averse_losses": three}.items():
    if len(sys.argv) > 1:
        figure.savefig(Path(sys.argv[1]) / f"{name}.png", dpi=110)
if len(sys.argv) == 1:
    plt.show()
