"""Rows against plain NumPy: histograms, stump search, leaf splits, sums, and the laws of exact sums."""

import numpy as np
import pytest

from minrisk._kernels.split import EXPONENTIAL_GAIN, QUADRATIC_GAIN, SIDES_GAIN
from minrisk.model.trees import Tree
from minrisk.rows.columns import SparseIndex
from minrisk.rows.rows import Rows, fixed_factor
from tests.helpers.common import coupled_loss, make_data, make_rows, random_costs


def prepared(rng, n=300, K=4, blocks=None, n_threads=1, d=5, base="exponential"):
    X, y = make_data(rng, n, d, K)
    rows, binner = make_rows(X, random_costs(rng, K), y, rng.uniform(0.5, 2, n), blocks, n_threads)
    loss = coupled_loss(rows.costs, base, "paper")
    rows.scores[:] = rng.normal(size=rows.scores.shape)
    rows.gradients(loss, 0.0)
    return X, rows, binner, loss


def drops(rows, gain):
    """Drop of every (feature, bin), by masks and sums."""
    found = {}
    for j in range(rows.n_features):
        for b in range(rows.n_bins[j] - 1):
            f = np.where(rows.X_binned[j] > b, 1.0, -1.0)
            E, T = f @ rows.gradient, rows.hessian.sum(axis=0)
            found[j, b] = np.sum(T - np.sqrt(T**2 - E**2)) if gain == EXPONENTIAL_GAIN else np.sum(E**2 / (2 * T))
    return found


@pytest.mark.parametrize("gain", [EXPONENTIAL_GAIN, QUADRATIC_GAIN])
@pytest.mark.parametrize("indexed", [True, False])
def test_best_stump_is_the_best_of_all(gain, indexed):
    for seed in range(20):
        _, rows, _, _ = prepared(np.random.default_rng(seed))
        if not indexed:
            rows.index = SparseIndex.build(rows.X_binned, rows.n_bins, rows.workers, density=-1.0)
        assert rows.index.indexed[1] == indexed
        hessian = rows.weigh(None)
        np.testing.assert_allclose(hessian, rows.hessian.sum(axis=0), rtol=1e-12)
        split = rows.best_stump(gain, hessian, np.arange(rows.n_features))
        all_drops = drops(rows, gain)
        assert all_drops[split.feature, split.bin] == pytest.approx(max(all_drops.values()), rel=1e-8)
        assert split.drop == pytest.approx(max(all_drops.values()), rel=1e-7)


@pytest.mark.parametrize("indexed", [True, False])
def test_best_stump_with_a_vector_for_either_side(indexed):
    for seed in range(10):
        _, rows, _, _ = prepared(np.random.default_rng(seed))
        if not indexed:
            rows.index = SparseIndex.build(rows.X_binned, rows.n_bins, rows.workers, density=-1.0)
        hessian = rows.weigh(None, columns=2)
        split = rows.best_stump(SIDES_GAIN, hessian, np.arange(rows.n_features))
        best = {}
        for j in range(rows.n_features):
            for b in range(rows.n_bins[j] - 1):
                above = rows.X_binned[j] > b
                sides = [(rows.gradient[s].sum(axis=0), rows.hessian[s].sum(axis=0)) for s in (above, ~above)]
                best[j, b] = sum(np.sum(T - np.sqrt(np.maximum(T**2 - E**2, 0))) for E, T in sides)
        assert best[split.feature, split.bin] == pytest.approx(max(best.values()), rel=1e-8)
        rows.response[:] = np.where(rows.X_binned[0] > 3, 1, -1)
        gradient, total = rows.side_sums()
        for sums, values in ((gradient, rows.gradient), (total, rows.hessian)):
            np.testing.assert_allclose(sums[0], values[rows.response < 0].sum(axis=0), rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(sums[1], values[rows.response > 0].sum(axis=0), rtol=1e-9, atol=1e-12)


def test_ties_go_to_the_lowest_feature_then_the_lowest_bin():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = (x > 0).astype(int)
    X = np.column_stack([rng.normal(size=60), x, x, -x])
    rows, _ = make_rows(X, 1 - np.eye(2), y)
    rows.gradients(coupled_loss(rows.costs, "exponential", "paper"), 0.0)
    hessian = rows.weigh(None)
    assert rows.best_stump(EXPONENTIAL_GAIN, hessian, np.arange(4)).feature == 1
    assert rows.best_stump(EXPONENTIAL_GAIN, hessian, np.array([0, 2, 3])).feature == 2


def test_bag_restricts_every_sum():
    rng = np.random.default_rng(5)
    _, rows, _, loss = prepared(rng)
    bag = rng.random(300) < 0.5
    np.testing.assert_allclose(rows.weigh(bag), rows.hessian[bag].sum(axis=0), rtol=1e-12)
    rows.response[:] = np.where(rng.random(300) < 0.5, 1, -1)
    np.testing.assert_allclose(rows.edges(), (rows.response[:, None] * rows.gradient)[bag].sum(axis=0), rtol=1e-10)
    split = rows.best_stump(EXPONENTIAL_GAIN, rows.weigh(bag), np.arange(5))
    kept = rows.gradient * bag[:, None], rows.hessian * bag[:, None]
    rows.gradient, rows.hessian = kept
    assert drops(rows, EXPONENTIAL_GAIN)[split.feature, split.bin] == pytest.approx(
        max(drops(rows, EXPONENTIAL_GAIN).values())
    )


def test_leaf_splits_are_the_best_of_all():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        _, rows, _, loss = prepared(rng)
        rows.weigh(None)
        rows.contrast(loss, rng.normal(size=4))
        rows.leaf[:] = rng.integers(0, 3, 300)
        sign = np.array([1, -1, 1])
        splits = rows.best_leaf_splits(sign, np.arange(5))
        u = rows._contrast
        for leaf in range(3):
            inside = rows.leaf == leaf
            best = max(sign[leaf] * u[inside].sum(), abs(u[inside].sum()))
            for j in range(5):
                for b in range(rows.n_bins[j] - 1):
                    best = max(best, abs(np.sum(np.where(rows.X_binned[j] > b, u, -u)[inside])))
            j, b, s = splits.feature[leaf], splits.bin[leaf], splits.sign[leaf]
            chosen = s * u[inside].sum() if j < 0 else s * np.sum(np.where(rows.X_binned[j] > b, u, -u)[inside])
            assert chosen == pytest.approx(best, rel=1e-9)
            assert splits.gain[leaf] == pytest.approx(best - sign[leaf] * u[inside].sum(), rel=1e-6, abs=1e-9)


def test_risk_is_the_mean_cost_of_the_decisions():
    rng = np.random.default_rng(6)
    _, rows, _, _ = prepared(rng)
    paid = rows.costs.table[rows.costs.row, rows.scores.argmax(axis=1)]
    assert rows.risk() == pytest.approx(np.average(paid, weights=rows.costs.weight), rel=1e-12)


@pytest.mark.parametrize("base", ["exponential", "logistic", "squared"])
def test_sums_do_not_depend_on_the_division_of_the_rows(base):
    results = []
    for blocks, n_threads in ((None, 1), ([1, 2, 299], 1), (list(range(7, 300, 7)), 2), ([150], 2)):
        rng = np.random.default_rng(7)
        X, rows, binner, loss = prepared(rng, blocks=blocks, n_threads=n_threads, base=base)
        with rows.workers:
            totals = rows.gradients(loss, 0.0)
            hessian = rows.weigh(rng.random(300) < 0.7)
            split = rows.best_stump(loss.gain, hessian, np.arange(5))
            rows.response[:] = np.where(rows.X_binned[split.feature] > split.bin, 1, -1)
            edges = rows.edges()
            rows.contrast(loss, edges / 100)
            rows.leaf[:] = rows.response > 0
            splits = rows.best_leaf_splits(np.array([-1, 1]), np.arange(5))
            slopes = rows.slopes(loss, edges / 100) if base != "exponential" else edges
            results.append([*totals[:1], hessian, split, edges, *splits, slopes, rows.risk()])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_fixed_factors_are_powers_of_two_that_fill_the_bits():
    top = np.array([1.0, 0.3, 1e-30, 0.0, 5e-324, 1e300])
    factor = fixed_factor(top, 30)
    used = factor[:3] * top[:3]
    assert np.all((used >= 2**29) & (used <= 2**30)) and factor[3] == factor[4] == 0
    assert np.all(np.log2(factor[factor > 0]) % 1 == 0)


def test_scored_rows_need_no_gradients():
    rng = np.random.default_rng(8)
    X, y = make_data(rng)
    rows, binner = make_rows(X, random_costs(rng, 3), y)
    light = Rows(rows.X_binned, rows.n_bins, rows.costs, rows.workers, trainable=False)
    assert not hasattr(light, "gradient")
    assert light.risk() == rows.risk()


def test_leaves_add_their_vectors():
    rng = np.random.default_rng(9)
    X, trained, _, _ = prepared(rng, blocks=[10, 200], n_threads=2)
    light = Rows(trained.X_binned, trained.n_bins, trained.costs, trained.workers, trainable=False)
    left, leaf = np.array([1, 1, 3, 3, 4], dtype=np.int32), np.array([False, True, False, True, True])
    tree = Tree(
        np.array([0, 0, 2, 0, 0], dtype=np.int32),
        np.array([20, 255, 1, 255, 255], dtype=np.int32),
        np.where(leaf, np.inf, 0.0),
        left,
        leaf.astype(float),
        np.array([0, 2, 0, 0, 1], dtype=np.int32),
        np.zeros(5),
        2,
    )
    vectors = rng.normal(size=(3, 4))
    named = np.where(trained.X_binned[0] <= 20, 2, np.where(trained.X_binned[2] <= 1, 0, 1))
    for rows in (trained, light):
        before = rows.scores.copy()
        rows.respond(tree)
        np.testing.assert_array_equal(rows.leaf, named)
        assert np.all(rows.response == 1)
        rows.advance(vectors)
        np.testing.assert_array_equal(rows.scores, before + vectors[named])
        rows.response[:] = np.where(named == 2, -1, 1)
        before = rows.scores.copy()
        rows.advance(vectors[:1])
        np.testing.assert_array_equal(rows.scores, before + rows.response[:, None] * vectors[0])
