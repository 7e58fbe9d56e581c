"""Compile every kernel ahead of the first fit."""

from __future__ import annotations

import numpy as np

from minrisk._kernels._dtypes import EXACT_ROWS


def warmup() -> None:
    """Compile all kernels and leave them in the cache; a minute or less, once per machine and version.

    Tiny fits that reach every kernel with the dtypes of real ones.

    Examples
    --------
    >>> from minrisk._warmup import warmup
    >>> warmup()
    """
    _stumps_and_shared_trees()
    _vector_trees()
    _directions()
    _similarities()
    _pairs()


def _stumps_and_shared_trees() -> None:
    from minrisk.algorithms.rebel import REBELClassifier

    rng = np.random.default_rng(0)
    for n, loss in ((60, "exponential"), (60, "logistic"), (EXACT_ROWS + 1, "exponential")):
        X, y = rng.normal(size=(n, 3)), np.arange(n) % 3
        X[:, 2] = rng.random(n) < 0.1  # mostly one value: the sparse kernels
        model = REBELClassifier(n_estimators=2, max_depth=2, loss=loss).fit(X, y)
        REBELClassifier(n_estimators=2, weak_learner="stump", fit_intercept="each round").fit(X, y).predict(X)
        for dtype in (np.float64, np.float32):
            model.predict(X.astype(dtype))
        model.set_params(warm_start=True, n_estimators=3).fit(X, y)  # trees on bins
        model.set_params(warm_start=False).fit(X, y, cost=_each(y))


def _vector_trees() -> None:
    from minrisk.algorithms.min_risk import MinRiskClassifier
    from minrisk.rows.growth import LARGE
    from minrisk.smooth import fit_basis

    X = np.random.default_rng(0).normal(size=(LARGE + 1, 3))
    y = np.digitize(X[:, 0], (-0.5, 0.5))
    few, cost = slice(60), 1.0 - np.eye(3)
    for surrogate, sketch in (("exponential", 1), ("softmax", 2), ("gll", 2), ("gel", None), ("coupled", None)):
        model = MinRiskClassifier(cost, surrogate=surrogate, sketch=sketch, n_estimators=2, cv=2, subsample=0.7)
        model.fit(X[few], y[few])
        if surrogate not in ("exponential", "softmax"):
            model.fit(X[few], y[few], cost=_each(y[few]))
        model.set_params(cv=1, subsample=1.0, max_leaf_nodes=4, max_features=1.0).fit(X, y)  # histograms, kept
        model.set_params(search_rows=10).fit(X[few], y[few])
    MinRiskClassifier(n_estimators=2, cv=2).fit(X[few], y[few])  # whole rounds
    basis = fit_basis(X[few], np.ones(60), 0)  # which two rounds give no share
    if basis is not None:
        basis.scores(np.zeros((len(basis.squares), 3))).add_scores(X[few], np.zeros((60, 3)))
    model = MinRiskClassifier(n_estimators=2, cv=1, random_state=0).fit(X[few], y[few])  # enough trees for codes
    for dtype in (np.float64, np.float32):
        model.predict(X[few].astype(dtype))


def _directions() -> None:
    from minrisk.algorithms.mcboost import MCBoostClassifier

    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.digitize(X[:, 0], (-0.5, 0.5))
    for loss in ("gll", "gel", "ls", "lt"):
        for descent in ("coordinate", "gradient"):
            model = MCBoostClassifier(1.0 - np.eye(3), loss=loss, descent=descent, n_estimators=1).fit(X, y)
            model.fit(X, y, cost=_each(y))
    for dtype in (np.float64, np.float32):
        model.predict(X.astype(dtype))
    MCBoostClassifier(loss="mc", decision="bayes", weak_learner="stump", n_estimators=1).fit(X, y).predict(X)


def _similarities() -> None:
    from minrisk.algorithms.rebel import REBELClassifier

    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    for X in (rng.integers(0, 9, (60, 2)).astype(np.float64), rng.normal(size=(60, 2))):  # whole and real distances
        X[:2] = X[3]  # coincident
        for response in ("real", "sign"):
            model = REBELClassifier(weak_learner="similarity", response=response, n_estimators=2).fit(X, y)
            for dtype in (np.float64, np.float32):
                model.predict((X + 0.5).astype(dtype))
                model.predict(X.astype(dtype))
            model.set_params(loss="logistic").fit(X, y)
            model.fit(X, y, cost=_each(y))


def _pairs() -> None:
    from minrisk.algorithms.stagewise import MultiBoostClassifier, StagewiseMCBoostClassifier

    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.digitize(X[:, 0], (-0.5, 0.5))
    for loss in ("exponential", "logistic"):
        for algorithm in (StagewiseMCBoostClassifier, MultiBoostClassifier):
            model = algorithm(loss=loss, n_estimators=2, weak_learner="tree", max_depth=2).fit(X, y)
            model.set_params(weak_learner="stump").fit(X, y, cost=_each(y))
            for dtype in (np.float64, np.float32):
                model.predict(X.astype(dtype))


def _each(y: np.ndarray) -> np.ndarray:
    """Costs per row."""
    return np.asarray(1.0 - np.eye(3)[y])
