"""Every way to fit every method; and small fits in threads and processes, where answers must be those of a plain fit."""

import hashlib
from functools import partial

import numpy as np

import minrisk
from minrisk._utils.method_names import ESTIMATORS


def ways():
    """Makers of small estimators, each by its method and by how it differs from the usual one."""
    for method, name in ESTIMATORS.items():
        cls = getattr(minrisk, name)
        for number, how in enumerate(cls._ways):
            told = [value for value in how.values() if isinstance(value, str)] or how.values()
            words = map(str, [method, *(told if number else ())])
            yield " ".join(words), partial(cls, **{"n_estimators": 4, "random_state": 0, **how})


WAYS = dict(ways())
MADE = {method: WAYS[method] for method in ESTIMATORS}
MADE["similarities"] = partial(MADE["similarities"], n_neighbors=5)


def rows(seed=0, n=90, n_classes=3):
    """Features and labels; two seeds differ in everything, the labels included."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 4)), np.arange(n) % n_classes
    X[:, 0] += y
    return X, y + 10 * seed


def fitted(name, seed=0, n_jobs=2, n_classes=3):
    """A new estimator, fitted."""
    return MADE[name]().set_params(n_jobs=n_jobs).fit(*rows(seed, n_classes=n_classes))


def answers(model, seed=0):
    """All that a model says of some rows, in a few letters."""
    X = rows(seed)[0]
    said = model.predict(X), model.decision_function(X), model.classes_
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in said)).hexdigest()[:12]


def fit_and_answer(name, seed=0, n_jobs=2):
    """The answers of a new fit about its own rows."""
    return answers(fitted(name, seed, n_jobs), seed)
