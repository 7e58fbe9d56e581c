"""Compile every kernel ahead of the first fit."""

from __future__ import annotations

import itertools

import numpy as np


def warmup() -> None:
    """Compile all kernels and leave them in the cache; about ten seconds, once per machine and version.

    Tiny fits that reach every kernel with the dtypes of real ones.

    Examples
    --------
    >>> from minrisk._warmup import warmup
    >>> warmup()
    """
    from minrisk.algorithms import REBELClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    X[:, 2] = rng.random(60) < 0.1  # mostly one value: the sparse kernels
    for loss, dtype in itertools.product(("exponential", "logistic"), (np.float64, np.float32)):
        model = REBELClassifier(n_estimators=2, max_depth=2, loss=loss).fit(X.astype(dtype), y)
        model.predict(X.astype(dtype))
