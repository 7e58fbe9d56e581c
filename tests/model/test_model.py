"""The additive model and packed trees: prediction on raw values equals the plain walk and the training scores."""

import numpy as np
import pytest

from minrisk import REBELClassifier
from minrisk._utils.workers import Workers
from minrisk.model.additive import AdditiveModel, pack
from minrisk.model.trees import PackedTrees
from tests.helpers.common import check_packed, make_data
from tests.helpers.walks import plain_scores, random_tree


@pytest.fixture(scope="module")
def fitted():
    X, y = make_data(np.random.default_rng(0), 400, 4, 3)
    X[::17, 0] = np.nan
    return REBELClassifier(n_estimators=25, max_depth=3).fit(X, y), X, y


@pytest.fixture(scope="module")
def members():
    """Three trees a round, of 1 to 6 leaves with vectors of their own, all of them or some."""
    rng = np.random.default_rng(1)
    leaves = rng.integers(1, 7, 15)
    trees = [random_tree(rng, 4, n, int(rng.integers(1, n + 1))) for n in leaves]
    vectors = rng.normal(size=(sum(tree.n_vectors for tree in trees), 3))
    return AdditiveModel(pack(trees), vectors, rng.normal(size=3), 4, trees_per_round=3), trees


def test_scores_are_the_sum_of_walks(fitted, members):
    model, X, y = fitted
    two_sided = REBELClassifier(n_estimators=25, weak_learner="stump", fit_intercept="each round").fit(X, y)
    for m in (model.model_, two_sided.model_, members[0]):
        np.testing.assert_allclose(m.scores(X), plain_scores(m, X), rtol=0, atol=1e-12)


def test_rounds_of_several_trees(members):
    m, trees = members
    X = np.random.default_rng(2).normal(size=(50, 4))
    assert len(m) == 5 and m.n_trees == 15
    stages = list(m.staged_scores(X))
    assert len(stages) == 5
    for t in range(6):
        part = m[:t]
        assert len(part) == t and part.trees_per_round == 3
        assert len(part.vectors) == part.packed.vector_offsets[-1]
        np.testing.assert_array_equal(part.scores(X), stages[t - 1] if t else np.tile(m.intercept, (50, 1)))
    np.testing.assert_allclose(m[2:4].scores(X) - m.intercept, stages[3] - stages[1], atol=1e-12)
    for tree, again in zip(trees, m.learners, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(tree._replace(bin=0), again._replace(bin=0), strict=True))


def test_packing_is_undone_by_taking_trees_out(members):
    packed = members[0].packed
    check_packed(packed, 4)
    again = pack([packed.tree(t) for t in range(len(packed))])
    for name in PackedTrees.__dataclass_fields__:
        if name in ("slope", "origin"):  # of lines, and here are none
            assert getattr(again, name) is getattr(packed, name) is None
            continue
        np.testing.assert_array_equal(getattr(again, name), getattr(packed, name))
        assert getattr(again, name).dtype == getattr(packed, name).dtype
    check_packed(packed[4:9], 4)


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
