"""Small fits to be made in threads and processes of every kind, where the answers must be those of a plain fit."""

import hashlib

import numpy as np

import minrisk

MADE = {
    "flagship": lambda: minrisk.MinRiskClassifier(n_estimators=5, random_state=0),
    "rebel": lambda: minrisk.REBELClassifier(n_estimators=4, max_depth=2),
    "similarities": lambda: minrisk.LocalizedSimilaritiesClassifier(n_estimators=2, n_neighbors=5),
    "mcboost": lambda: minrisk.MCBoostClassifier(n_estimators=3),
    "stagewise": lambda: minrisk.StagewiseMCBoostClassifier(n_estimators=4),
    "multiboost": lambda: minrisk.MultiBoostClassifier(n_estimators=3),
    "piboost": lambda: minrisk.PIBoostClassifier(n_estimators=3, random_state=0),
    "badacost": lambda: minrisk.BAdaCostClassifier(n_estimators=3),
    "adaboost mh": lambda: minrisk.AdaBoostMHClassifier(n_estimators=3),
    "gradboost": lambda: minrisk.GradBoostClassifier(n_estimators=3),
    "structboost": lambda: minrisk.StructBoostClassifier(n_estimators=3, solver_iterations=5),
    "aoso-logitboost": lambda: minrisk.AOSOLogitBoostClassifier(n_estimators=3),
    "adaboost-ecc": lambda: minrisk.AdaBoostECCClassifier(n_estimators=3, random_state=0),
    "adaboost-mo": lambda: minrisk.AdaBoostMOClassifier(n_estimators=3),
    "adaboost-sip": lambda: minrisk.AdaBoostSIPClassifier(n_estimators=3, max_depth=2),
    "gentleboost": lambda: minrisk.GentleBoostClassifier(n_estimators=3),
}


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
