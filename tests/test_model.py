"""The additive model and packed trees: prediction on raw values equals the plain walk and the training scores."""

import numpy as np
import pytest

from minrisk import REBELClassifier
from minrisk._workers import Workers
from tests.helpers import make_data


@pytest.fixture(scope="module")
def fitted():
    X, y = make_data(np.random.default_rng(0), 400, 4, 3)
    X[::17, 0] = np.nan
    return REBELClassifier(n_estimators=25, max_depth=3).fit(X, y), X, y


def walk(tree, x):
    node = 0
    while tree.left[node] != node:
        node = tree.left[node] + (x[tree.feature[node]] > tree.threshold[node])
    return tree.value[node]


def test_scores_are_the_sum_of_walks(fitted):
    model, X, _ = fitted
    m = model.model_
    expected = np.array([m.intercept + sum(walk(t, x) * a for t, a in zip(m.learners, m.vectors, strict=True)) for x in X])
    np.testing.assert_allclose(m.scores(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_dtypes_layouts_and_threads_agree(fitted, dtype):
    model, X, _ = fitted
    X = np.nan_to_num(X * 3 + 5).clip(0, 200).astype(dtype)
    m = model.model_
    reference = m.scores(X.astype(np.float64))
    if dtype == np.float32:
        reference = m.scores(X.astype(np.float64))
    for variant in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(m.scores(variant), reference)
        with Workers(2) as workers:
            np.testing.assert_array_equal(m.scores(variant, workers), reference)


def test_stages_and_slices(fitted):
    model, X, _ = fitted
    m = model.model_
    stages = list(m.staged_scores(X))
    assert len(stages) == len(m) == 25
    np.testing.assert_array_equal(stages[-1], m.scores(X))
    for t in (1, 7, 24):
        np.testing.assert_array_equal(stages[t - 1], m[:t].scores(X))
    np.testing.assert_allclose(m[:0].scores(X), np.tile(m.intercept, (400, 1)))
    np.testing.assert_allclose(m[5:9].scores(X) - m.intercept, stages[8] - stages[4], atol=1e-12)
    with pytest.raises(ValueError, match="step 1, got 2"):
        m[::2]


def test_training_rows_are_scored_like_raw_rows(fitted):
    """Bins and thresholds ask the same questions: the last training risk is that of predict."""
    model, X, y = fitted
    assert model.train_risk_[-1] == pytest.approx(np.mean(model.predict(X) != y))
    for risk, decisions in zip(model.train_risk_[1:], model.staged_predict(X), strict=True):
        assert risk == pytest.approx(np.mean(decisions != y))
