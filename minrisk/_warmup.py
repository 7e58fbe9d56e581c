"""Compile every kernel ahead of the first fit."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from minrisk._kernels._cache import notes, writable_folder
from minrisk._kernels._dtypes import EXACT_ROWS


def warmup() -> Path | None:
    """Compile all kernels and leave them in the cache; about a minute, once per machine and version.

    Tiny fits of every method that reach every kernel with the types of real ones. Where there is a second processor,
    another process does the same from the last to the first: what one compiles the other need not.

    Returns
    -------
    Path, optional
        The folder; None: none can be written, or not all that was compiled, so every process has to compile.

    Examples
    --------
    >>> from minrisk._warmup import warmup
    >>> folder = warmup()
    """
    folder = writable_folder()
    helper = None
    if folder is not None and n_processors() > 1 and sys.executable:
        command = [sys.executable, "-c", "from minrisk._warmup import compile_all; compile_all(backwards=True)"]
        helper = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        compile_all()
    finally:
        if helper is not None:
            helper.terminate()  # nothing is left for it, or the user has interrupted
            helper.wait()
    return None if notes.not_kept else folder


def compile_all(backwards: bool = False) -> None:
    """Make all tiny fits, in this process; that few rows and rounds do not suffice for some nobody needs to know."""
    from minrisk.algorithms import ALGORITHMS

    methods = (partial(_few_rows, algorithm) for algorithm in ALGORITHMS)
    parts: list[Callable[[], None]] = [_vector_trees, *methods, _many_rows, _whole_distances, _sparse, _explanations]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for part in reversed(parts) if backwards else parts:
            part()


def n_processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _few_rows(algorithm: Any) -> None:
    """Fit a method in every way, to rows of every kind, and go on."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 2] = rng.random(60) < 0.1  # mostly one value: the sparse kernels
    y = np.digitize(X[:, 0], (-0.5, 0.5))
    stored = csr_matrix(rng.integers(0, 3, (60, 5)) * (rng.random((60, 5)) < 0.3))
    for how in algorithm._ways:
        model = algorithm(**{**how, "n_estimators": 2, "random_state": 0}).fit(stored, y)
        model.predict(stored)
        if not model._needs_matrix:
            model.fit(X, y, cost=_each(y))
        model.fit(X, y)
        for dtype in (np.float64, np.float32):
            for n in (3, 60):
                model.predict(X[:n].astype(dtype))
        model.set_params(warm_start=True, n_estimators=3).fit(X, y)  # trees on bins


def _many_rows() -> None:
    from minrisk.algorithms.rebel import REBELClassifier

    rng = np.random.default_rng(0)
    for n in (60, EXACT_ROWS + 1):  # so many features that tie for the best: the loss along one stump is looked at
        alike = np.repeat(rng.normal(size=(n, 1)), 40, axis=1)
        REBELClassifier(n_estimators=1, max_depth=1, loss="logistic").fit(alike, np.arange(n) % 3)
    X, y = rng.normal(size=(EXACT_ROWS + 1, 3)), np.arange(EXACT_ROWS + 1) % 3
    X[:, 2] = rng.random(len(X)) < 0.1
    model = REBELClassifier(n_estimators=2, max_depth=2).fit(X, y)
    model.set_params(warm_start=True, n_estimators=3).fit(X, y)
    model.set_params(warm_start=False).fit(X, y, cost=_each(y))
    REBELClassifier(n_estimators=2, weak_learner="stump", fit_intercept="each round").fit(X, y)


def _vector_trees() -> None:
    from minrisk.algorithms.min_risk import MinRiskClassifier
    from minrisk.ensemble.smooth import fit_basis
    from minrisk.rows.base import LIMITS
    from minrisk.rows.rows import compiled_at_once

    X = np.random.default_rng(0).normal(size=(LIMITS.large_leaf + 1, 3))
    y = np.digitize(X[:, 0], (-0.5, 0.5))
    few, cost = slice(60), 1.0 - np.eye(3)
    for surrogate, sketch in (("exponential", 1), ("softmax", 2), ("gll", 2), ("gel", None), ("coupled", None)):
        model = MinRiskClassifier(cost, surrogate=surrogate, sketch=sketch, n_estimators=2, cv=2, subsample=0.7)
        model.fit(X[few], y[few])
        model.set_params(cv=1, subsample=1.0, max_leaf_nodes=4, max_features=1.0).fit(X, y)  # histograms, kept
        model.set_params(search_rows=10).fit(X[few], y[few])
    with compiled_at_once():
        MinRiskClassifier(n_estimators=2, cv=2).fit(X[few], y[few])
    MinRiskClassifier(n_estimators=1, cv=1, n_jobs=2).fit(np.repeat(X, 20, axis=1), y)  # nodes that threads share
    basis = fit_basis(X[few], np.ones(60), 0)  # which two rounds give no share
    if basis is not None:
        basis.scores(np.zeros((len(basis.squares), 3))).add_scores(X[few], np.zeros((60, 3)))
    for n_rounds, n_folds in ((2, 1), (40, 2), (80, 1)):  # trees for codes, leads of stages, and stages of 64 and more
        model = MinRiskClassifier(n_estimators=n_rounds, cv=n_folds, random_state=0).fit(X[few], y[few])
        for dtype in (np.float64, np.float32):
            for n in (3, 60):
                model.predict(X[:n].astype(dtype))
                model.predict_proba(X[:n].astype(dtype))
        model.predict(X[few], cost=[[0, 1, 2], [3, 0, 1], [1, 5, 0]])


def _whole_distances() -> None:
    from minrisk.algorithms.similarities import LocalizedSimilaritiesClassifier

    X, y = np.random.default_rng(0).integers(0, 9, (60, 2)).astype(np.float64), np.arange(60) % 3
    X[:2] = X[3]  # coincident
    for response in ("real", "sign"):
        model = LocalizedSimilaritiesClassifier(response=response, n_estimators=2).fit(X, y)
        for dtype in (np.float64, np.float32):
            model.predict((X + 0.5).astype(dtype))
            model.predict(X.astype(dtype))


def _sparse() -> None:
    """Make features of which only stored values are looked at, of many rows and of too many values for an array."""
    from scipy.sparse import csr_matrix

    from minrisk.algorithms.mcboost import MCBoostClassifier
    from minrisk.algorithms.min_risk import MinRiskClassifier
    from minrisk.algorithms.rebel import REBELClassifier
    from minrisk.algorithms.similarities import LocalizedSimilaritiesClassifier
    from minrisk.data.sparse import DENSE_VALUES

    rng = np.random.default_rng(0)
    for n in (60, EXACT_ROWS + 1):
        X, y = csr_matrix(rng.integers(0, 3, (n, 5)) * (rng.random((n, 5)) < 0.3)), np.arange(n) % 3
        for depth, loss in ((1, "logistic"), (2, "exponential")):
            REBELClassifier(n_estimators=2, max_depth=depth, loss=loss).fit(X, y).predict(X)
        MinRiskClassifier(n_estimators=2, cv=2).fit(X, y).predict(X)
    few, y = X[:60], y[:60]
    for share in (0.5, 1.0):
        MinRiskClassifier(n_estimators=2, cv=1, max_features=share, search_rows=10).fit(few, y)
    few.resize(60, DENSE_VALUES // 60 + 1)
    for algorithm in (MCBoostClassifier, LocalizedSimilaritiesClassifier):
        algorithm(n_estimators=1).fit(few, y).predict(few)


def _explanations() -> None:
    from minrisk.algorithms.min_risk import MinRiskClassifier
    from minrisk.ensemble.smooth import fit_basis
    from minrisk.inspection import shap_values
    from minrisk.inspection.shap_scores import SmoothShapley

    X = np.random.default_rng(0).normal(size=(60, 3))
    model = MinRiskClassifier(n_estimators=2, cv=1, pool=False).fit(X, np.digitize(X[:, 0], (-0.5, 0.5)))
    shap_values(model, X, X)
    for by in ("line", "coalitions"):
        shap_values(model, X, X, of="cost", by=by)
    basis = fit_basis(X, np.ones(60), 0)
    if basis is not None:
        SmoothShapley(basis.scores(np.zeros((len(basis.squares), 3))), X).values(X)


def _each(y: np.ndarray) -> np.ndarray:
    """Make costs per row."""
    return np.asarray(1.0 - np.eye(3)[y])
