"""REBEL with a function F of one's own, beside its kernels and the definition of the loss."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import minrisk
from minrisk import REBELClassifier
from minrisk.losses.coupled import OwnCoupledLoss, check, entry_floors
from minrisk.losses.gamma_phi import Smooth
from tests.algorithms.test_certificates import problem

LOG2 = np.log(2.0)
SQUARED = (lambda x: (1 + x) ** 2, lambda x: 2 * (1 + x), lambda x: np.full_like(x, 2.0))
LOGISTIC = (
    lambda x: np.logaddexp(0, x) / LOG2,
    lambda x: 1 / (1 + np.exp(-x)) / LOG2,
    lambda x: np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2 / LOG2,
)
HINGE = (lambda x: np.maximum(0, 1 + x) ** 2, lambda x: 2 * np.maximum(0, 1 + x), lambda x: 2.0 * (x > -1))


@pytest.mark.parametrize("name", ["squared", "logistic"])
@pytest.mark.parametrize("offset", ["tight", "paper"])
@pytest.mark.parametrize("depth", [1, 3])
def test_known_functions_are_as_their_kernels(name, offset, depth):
    X, y, cost, weights = problem(4, 3, 60)
    options = {"n_estimators": 8, "offset": offset, "max_depth": depth, "stump_search": "quadratic"}
    own = REBELClassifier(cost, loss={"squared": SQUARED, "logistic": LOGISTIC}[name], **options).fit(
        X, y, sample_weight=weights
    )
    known = REBELClassifier(cost, loss=name, **options).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(own.train_loss_, known.train_loss_, rtol=1e-7)
    np.testing.assert_allclose(own.decision_function(X), known.decision_function(X), rtol=1e-4, atol=1e-6)
    zero = [
        clone(one).set_params(target_loss="zero risk").fit(X, y, sample_weight=weights).n_iter_ for one in (own, known)
    ]
    assert zero[0] == zero[1]


def test_another_function_bounds_the_cost_and_falls():
    X, y, cost, weights = problem(4, 3, 60)
    model = REBELClassifier(cost, loss=HINGE, n_estimators=30).fit(X, y, sample_weight=weights)
    assert np.all(np.diff(model.train_loss_) < 0) and np.all(model.train_loss_ >= model.train_risk_ * (1 - 1e-12))
    H = model.decision_function(X)
    rows = [cost[k] for k in y]
    loss = sum(
        0.5 * w * (c @ HINGE[0](h) + (c.max() - c) @ HINGE[0](-h)) for w, c, h in zip(weights, rows, H, strict=True)
    )
    assert model.train_loss_[-1] == pytest.approx(loss / weights.sum(), rel=1e-9)
    assert model.edges_ is None and not hasattr(model, "predict_proba")


def test_floors_are_least_values():
    rng = np.random.default_rng(0)
    plus, minus = rng.exponential(size=(2, 4, 5)) * (rng.random((2, 4, 5)) < 0.8)
    for name, F in (("squared", SQUARED), ("logistic", LOGISTIC)):
        own = OwnCoupledLoss("own", "tight", F=Smooth(*F))
        np.testing.assert_allclose(own.entry_floors(plus, minus), entry_floors(name, plus, minus), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("F", "message"),
    [
        ((np.exp, np.exp, lambda x: 0 * x), "F'' must be the slope of F'"),
        ((np.exp, lambda x: 2 * np.exp(x), lambda x: 2 * np.exp(x)), "F' must be the slope of F"),
        ((lambda x: 0.5 * np.exp(x),) * 3, "at least 1 for x >= 0"),
        ((lambda x: 1 + np.exp(x), np.exp, np.exp), "F must fall to 0"),
        (
            (lambda x: 2 + np.tanh(x), lambda x: 1 / np.cosh(x) ** 2, lambda x: -2 * np.tanh(x) / np.cosh(x) ** 2),
            "F must be convex",
        ),
        ((np.log, np.reciprocal, np.square), "must be finite"),
        ((lambda x: np.maximum(0.0, 1 + x), lambda x: 1.0 * (x > -1), lambda x: 0 * x), "F'' must be above 0 at 0"),
        ((math.exp,) * 3, "must take an array"),
        ((lambda x: np.exp(x)[:2],) * 3, "must take an array"),
    ],
)
def test_functions_that_are_not_admissible_are_refused(F, message):
    with pytest.raises(ValueError, match=message):
        REBELClassifier(loss=F).fit([[0.0], [1.0]], [0, 1])
    for known in (SQUARED, LOGISTIC, HINGE, (np.exp,) * 3):
        check(Smooth(*known))


def test_functions_cannot_be_saved(tmp_path):
    X, y, _, _ = problem(0)
    with pytest.raises(TypeError, match="functions for loss cannot be saved"):
        minrisk.save(REBELClassifier(loss=HINGE, n_estimators=2).fit(X, y), tmp_path / "model")
    with pytest.raises(ValueError, match="loss"):
        REBELClassifier(loss="hinge").fit(X, y)
