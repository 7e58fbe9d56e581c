"""What tests of members and of their pools begin with."""

import numpy as np

from minrisk.ensemble.defaults import Settings
from minrisk.model.links import log_probabilities

USUAL = Settings(0.5, None, None, 1, 1e-3, 2, None, 8192, 1.0)  # the defaults of `MinRiskClassifier`


def example(rng, link, n=200, K=4, spread=2.0):
    """Scores from which the classes are drawn, stretched; the reciprocal of the factor is the best weight."""
    scores = rng.normal(size=(n, K))
    p = np.exp(log_probabilities(link, scores))
    codes = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return spread * scores, np.minimum(codes, K - 1), rng.uniform(0.2, 2, n)
