"""Of two classes, with 0/1 costs and stumps that err least, methods of several papers are discrete AdaBoost."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from minrisk import AdaBoostSIPClassifier, MCBoostClassifier, PIBoostClassifier
from tests.algorithms.test_stagewise import Tight
from tests.helpers import naive


class SignStump(RegressorMixin, BaseEstimator):
    """The stump of -1 and +1 of least weighted error, by loops."""

    def fit(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        best = np.inf
        for stump in naive.stumps(naive.midpoint_edges(X)):
            for own in (stump, naive.turned(stump)):
                error = weight @ (naive.predict(own, X) != y)
                if error < best * (1 - 1e-12):
                    best, self.found_ = error, own
        return self

    def predict(self, X):
        return naive.predict(self.found_, X)


METHODS = {  # and what AdaBoost's scores are multiplied by
    "AdaBoost.SIP": (AdaBoostSIPClassifier(smoothing=0.0), 1),
    "PIBoost": (PIBoostClassifier(weak_learner="stump"), 2),
    "stage-wise MCBoost": (Tight(nu=0.0, learning_rate=1.0, tol=0.0), 1),  # Eq. (15), (16)
    "MCBoost": (MCBoostClassifier(loss="gel", estimator=SignStump(), weighting="slope"), 1),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", METHODS)
def test_two_classes_are_adaboost(name, seed):
    rng, (model, times) = np.random.default_rng(seed), METHODS[name]
    X, weights = rng.normal(size=(40, 3)), rng.uniform(0.5, 2.0, 40)
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    X[0], y[:2] = X[1], [0, 1]  # no stump is perfect
    margins = naive.adaboost(X, 2 * y - 1, naive.midpoint_edges(X), 8, weights)
    model.set_params(n_estimators=8).fit(X, y, sample_weight=weights)
    for scores, margin in zip(model.staged_decision_function(X), margins, strict=True):
        np.testing.assert_allclose(scores, times * margin, rtol=1e-5, atol=1e-6)
