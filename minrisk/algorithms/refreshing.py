"""A fitted `MinRiskClassifier` that new rows refresh: what users give, as `minrisk.ensemble.refitting` takes it."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from minrisk.costs.labels import listed
from minrisk.costs.reading import costs_per_row
from minrisk.costs.weights import check_weights
from minrisk.data.chunks import Chunks
from minrisk.data.label_cells import check_labels
from minrisk.ensemble import defaults
from minrisk.ensemble.folds import merged_copies
from minrisk.ensemble.kind import Settings
from minrisk.ensemble.refitting import refitted


def refreshed(model: Any, X: Any, y: Any, sample_weight: Any, cost: Any) -> Any:
    """A copy with the leaves and the calibration of these rows; see `MinRiskClassifier.refit_leaves`."""
    if model.model_.link != "softmax":
        raise ValueError(f"refit_leaves is for surrogate='softmax', got {model.surrogate_!r}: fit again.")
    if isinstance(X, Chunks):
        raise TypeError("refit_leaves needs all new rows at once, got Chunks: give an array or a table of some.")
    X, labels, fitted = np.asarray(model._check_X(X)), np.asarray(check_labels(y)), copy(model)
    check_consistent_length(X, labels)
    if (unknown := labels[~np.isin(labels, fitted.classes_)]).size:
        others = listed(np.unique(unknown).tolist())[1:-1]
        raise ValueError(f"y must hold classes of the fit, got {others}: fit again.")
    stated = fitted._class_weighted(X, labels, check_weights(sample_weight))
    merged = merged_copies(X, X.shape[1], labels, fitted._checked_weights(stated, X), None, None, None)
    weight = fitted._weights(stated if merged is None or merged.weight is None else merged.weight, X)
    X, labels, weight = X[weight > 0.0], labels[weight > 0.0], weight[weight > 0.0]
    # as many rows as (sum sqrt w)^2 / sum w: one row that is there very often leaves the others what they say
    weight *= (math.fsum(np.sqrt(weight)) / math.fsum(weight)) ** 2
    if len(X) < 2:
        raise ValueError(f"refit_leaves needs two rows at least, got {len(X)} of some weight.")
    codes = np.searchsorted(fitted.classes_, labels)
    if cost is not None:
        if costs_per_row(cost, len(codes), len(fitted.classes_)) is not None:
            raise ValueError("refit_leaves takes costs that all rows share: give a matrix, or fit again.")
        fitted._resolve_matrix(cost, codes, fitted.classes_)
        fitted.cost_regression_ = None
    settings = Settings.of(vars(fitted), int(weight.sum()), X.shape[1])
    smoothing = defaults.NEWTON_SMOOTHING * settings.smoothing
    fitted.model_ = refitted(
        fitted.model_, X, codes, weight, settings.learning_rate, smoothing, fitted._seed, fitted.cost_
    )
    return fitted
