"""Smaller models for a stated excess of expected cost."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from os import PathLike

import numpy as np

from minrisk.algorithms.min_risk import MinRiskClassifier, check_excess
from minrisk.estimator.fitted import check_fitted


def compact(model: MinRiskClassifier, max_excess: float = 0.005) -> MinRiskClassifier:
    r"""Return a copy of a fitted classifier with as few rounds as a stated excess of expected cost allows.

    The file, memory and time of the copy are in proportion to its rounds.

    Parameters
    ----------
    model : MinRiskClassifier
        A classifier whose fit left rows out, with costs that all rows share.
    max_excess : float, default=0.005
        Share by which the expected cost may grow, from 0 to 1: 0.005 allows half a per cent.

    Returns
    -------
    MinRiskClassifier
        The copy. It has all rounds if no smaller number of them is cheap enough.

    Raises
    ------
    TypeError
        If the model is another.
    ValueError
        If `max_excess` is no number from 0 to 1, the fit has left out no rows, or the model has been compacted already.

    See Also
    --------
    MinRiskClassifier.predict : Its `max_excess` saves time row by row and leaves the model as it is.

    Notes
    -----
    The fit has kept what the decisions about left-out rows would cost if the model ended after fewer rounds, by the
    probabilities p of the whole model:

    .. math:: \text{excess} = \frac{\sum_i \big( E_i[\text{early decision}] - E_i[\text{decision}] \big)}{\sum_i
       E_i[\text{decision}]}, \qquad E_i[k] = \sum_j p_{ij} C_{jk}.

    It has also kept the temperature that probabilities then have.
    The smallest number of rounds whose excess is no larger than `max_excess` is kept.
    The probabilities of the copy are less sure than those of the whole model, and calibrated on the same rows.

    Examples
    --------
    >>> import minrisk
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = minrisk.MinRiskClassifier(n_estimators=40, pool=False, random_state=0).fit(X, y)
    >>> smaller = minrisk.compact(model, max_excess=0.2)
    >>> smaller.n_iter_ < model.n_iter_
    True
    """
    if not isinstance(model, MinRiskClassifier):
        path = isinstance(model, str | PathLike)
        way = "load the file, minrisk.compact(minrisk.load(path))" if path else "fit it with fewer rounds"
        raise TypeError(f"compact takes a MinRiskClassifier, got {type(model).__name__}: {way}.")
    model = check_fitted(model, "compact")
    check_excess(max_excess)
    cascade = model.model_.cascade
    if cascade is None:
        raise ValueError(
            "compact needs what rows left out in the fit say of fewer rounds, which this model lacks: give the model "
            "of the fit if this one has been compacted, else fit with cv of more than 1, one table of costs and "
            "surrogate='softmax'."
        )
    smaller = copy(model)
    enough = np.flatnonzero(cascade.ending <= max_excess)
    if len(enough) == 0:
        return smaller
    n_rounds = int(cascade.rounds[enough[0]])
    smaller.model_ = replace(model.model_[:n_rounds], temperature=float(cascade.temperature[enough[0]]))
    smaller.n_iter_ = n_rounds
    smaller.train_loss_ = model.train_loss_[: n_rounds + 1]
    smaller.selection_ = [{**tried, "n_rounds": min(tried["n_rounds"], n_rounds)} for tried in model.selection_]
    if hasattr(model, "evals_result_"):
        smaller.evals_result_ = {
            name: {kind: curve[:n_rounds] for kind, curve in curves.items()}
            for name, curves in model.evals_result_.items()
        }
    return smaller
