"""
What the edges of REBEL's rounds prove
======================================

A round of REBEL lowers the training loss by no less than the edge of its learner says, whatever the data are: the loss,
without its constant term, is multiplied by at most ``sqrt(1 - edge ** 2)``. So a fit can be held against a bound that
follows from its edges alone, and the mean cost of its decisions lies below both.
See S.6.1 of Appel, Burgos-Artizzu and Perona, "Improved Multi-Class Cost-Sensitive Boosting via Estimation of the
Minimum-Risk Class", NIPS 2016.

``python plot_rebel_bound.py FOLDER`` writes the picture into a folder.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine

from minrisk import REBELClassifier

# %%
# The first fit has 0/1 costs, with which the loss can fall to 0. In the second, decisions for class 0 or 1 cost 10
# where class 2 is right, and 3 where the two are confused. Then the loss has a floor, and edges become small as it
# comes near. With the tight offset, the default, the constant term is 0 in both. The mean cost ends where it is 0.

fits = {
    "digits, every mistake costs 1": (load_digits(return_X_y=True), None),
    "wines, costs of 1, 3 and 10": (load_wine(return_X_y=True), [[0, 3, 1], [3, 0, 1], [10, 10, 0]]),
}
figure, axes = plt.subplots(2, 2, figsize=(10, 5.6), sharex=True, layout="constrained", height_ratios=[3, 2])
for (above, below), (title, ((X, y), cost)) in zip(axes.T, fits.items(), strict=True):
    model = REBELClassifier(cost, n_estimators=60, max_depth=2).fit(X, y)
    factors = np.sqrt(1 - model.edges_**2)
    bound = model.train_loss_[0] * np.cumprod([1, *factors])
    above.semilogy(bound, "--", color="#1A1A1A", label="bound by the edges")
    above.semilogy(model.train_loss_, color="#0072B2", label="training loss")
    above.semilogy(np.where(model.train_risk_ > 0, model.train_risk_, np.nan), color="#D55E00", label="mean cost")
    above.set(title=title)
    below.plot(np.arange(1, len(factors) + 1), model.edges_, ".", color="#0072B2")
    below.set(xlabel="Round", ylim=(0, 1))
axes[0, 0].set(ylabel="Loss, mean cost")
axes[1, 0].set(ylabel="Edge")
axes[0, 1].legend(frameon=False)

# %%
# The last point of the bound, and the mean cost below it, are the fit's certificate.

print(model.certificate_)

# %%
# What was learnt
# ---------------
#
# The bound is safe and not tight: it knows the sum over the decisions alone, while a round lowers each of their parts.
# :doc:`/methods/rebel` has the formulas.

if len(sys.argv) > 1:
    figure.savefig(Path(sys.argv[1]) / "rebel_bound.png", dpi=110)
plt.show()
