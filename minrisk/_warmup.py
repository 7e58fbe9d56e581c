"""Compile every kernel ahead of the first fit."""

from __future__ import annotations

import numpy as np

from minrisk._kernels._dtypes import EXACT_ROWS


def warmup() -> None:
    """Compile all kernels and leave them in the cache; a few seconds, once per machine and version.

    Tiny fits that reach every kernel with the dtypes of real ones.

    Examples
    --------
    >>> from minrisk._warmup import warmup
    >>> warmup()
    """
    from minrisk.algorithms import REBELClassifier

    rng = np.random.default_rng(0)
    for n, loss in ((60, "exponential"), (60, "logistic"), (EXACT_ROWS + 1, "exponential")):
        X, y = rng.normal(size=(n, 3)), np.arange(n) % 3
        X[:, 2] = rng.random(n) < 0.1  # mostly one value: the sparse kernels
        model = REBELClassifier(n_estimators=2, max_depth=2, loss=loss).fit(X, y)
        REBELClassifier(n_estimators=2, weak_learner="stump", fit_intercept="each round").fit(X, y)
        for dtype in (np.float64, np.float32):
            model.predict(X.astype(dtype))
        model.set_params(warm_start=True, n_estimators=3).fit(X, y)  # trees on bins
