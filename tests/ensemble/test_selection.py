"""Folds, weights of scores, checkpoints and members of cross-fitting."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from minrisk._kernels import links
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import Progress, Recipe, boost
from minrisk.ensemble import defaults
from minrisk.ensemble import driver as timing
from minrisk.ensemble.calibration import LARGEST_WEIGHT, SAME_WEIGHT, fit_weight, half_row
from minrisk.ensemble.defaults import (
    CHECKPOINT_RATIO,
    FIRST_CHECKPOINT,
    FIRST_FALL,
    GRACE_ROUNDS,
    LEAST_FALL,
    PATIENCE,
    SLOW_START,
    WIDE_FEATURES,
    WIDE_ROWS,
    checkpoints,
    first_rounds,
    last_rounds,
)
from minrisk.ensemble.driver import Driver
from minrisk.ensemble.ensemble import ensemble_of
from minrisk.ensemble.folds import fold_numbers, folds_of
from minrisk.ensemble.members import Kind, Task, cross_fit, exceeds_its_error
from minrisk.ensemble.table import Table
from minrisk.ensemble.training import CHALLENGERS
from minrisk.ensemble.trees import Gentle, Plain, Random
from minrisk.estimator.parameters import n_drawn, share_of
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.model.links import LINK_KERNELS, least_cost, log_probabilities
from minrisk.rows.columns import Columns
from minrisk.rows.folded import FoldedRows
from minrisk.steps.leaf_vectors import LeafClosedForm, LeafNewton
from tests.helpers.common import coupled_loss, held_out, make_costs, make_data, make_rows, random_costs
from tests.helpers.pools import USUAL, example
from tests.helpers.walks import added


# -- folds -----------------------------------------------------------------------------------------------------------
def folds_by_keys(keys, codes, n_folds=4, seed=0, weight=None, *more):
    weight = np.ones(len(codes)) if weight is None else weight
    return fold_numbers(np.asarray(keys).astype(np.uint64), codes, n_folds, seed, (weight, *more))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 150), st.integers(1, 8), st.integers(1, 7), st.integers(0, 10**6))
def test_rows_are_spread_evenly(n, K, n_folds, seed):
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, K, n), return_inverse=True)[1]
    folds = folds_by_keys(rng.permutation(n) if seed % 2 else rng.integers(0, 9, n), codes, n_folds, seed)
    n_used = min(n_folds, n // 2)
    assert folds.shape == (n,) and set(folds) == set(range(folds.max() + 1)) and folds.max() < n_used
    for k in np.unique(codes):
        own = np.bincount(folds[codes == k], minlength=folds.max() + 1)
        assert np.ptp(own) <= 1
    if np.bincount(codes).max() >= n_used:
        assert folds.max() == n_used - 1


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 100), st.integers(1, 5), st.integers(2, 6), st.integers(0, 10**6))
def test_folds_do_not_depend_on_the_order_of_the_rows(n, K, n_folds, seed):
    """Of equal rows as many are in each fold."""
    rng = np.random.default_rng(seed)
    keys, codes = rng.integers(0, 2**63, n), np.unique(rng.integers(0, K, n), return_inverse=True)[1]
    folds, order = folds_by_keys(keys, codes, n_folds, 3), rng.permutation(n)
    np.testing.assert_array_equal(folds_by_keys(keys[order], codes[order], n_folds, 3), folds[order])
    twice = np.concatenate([np.arange(n), rng.integers(0, n, n)])
    keys, codes, order = keys[twice], codes[twice], rng.permutation(2 * n)
    found = [np.c_[x, y, folds_by_keys(x, y, n_folds, 3)] for x, y in ((keys, codes), (keys[order], codes[order]))]
    np.testing.assert_array_equal(*(rows[np.lexsort(rows.T)] for rows in found))


def test_equal_rows_fall_in_any_folds():
    """As if they were drawn: pairs are together in a fifth of the draws."""
    codes, keys = np.repeat(np.arange(2), 500), np.random.default_rng(0).permutation(500)
    keys = np.concatenate([keys[:250], keys[:250], keys[250:], keys[250:]])
    for seed in range(3):
        folds = folds_by_keys(keys, codes, 5, seed)
        together = np.r_[folds[:250] == folds[250:500], folds[500:750] == folds[750:]]
        assert 0.13 < together.mean() < 0.27


@pytest.mark.parametrize("equal", [False, True])
def test_a_row_more_moves_few_others_and_one_of_no_weight_none(equal):
    rng = np.random.default_rng(0)
    keys, codes, weight = rng.integers(0, 2**63, 900), rng.integers(0, 3, 900), rng.uniform(0.2, 3.0, 900)
    keys[:50] = keys[50:100]
    before = folds_by_keys(keys, codes, 4, 0, np.ones(900) if equal else weight)
    moved = []
    for more in range(20):
        here = int(rng.integers(0, 900))
        key, code = (keys[here] if more % 4 == 0 else rng.integers(0, 2**63)), int(rng.integers(0, 3))
        for of_row, most in ((1e-9, 0), (1.0, 12)):
            weights = np.insert(np.ones(900) if equal else weight, here, of_row)
            after = np.delete(
                folds_by_keys(np.insert(keys, here, key), np.insert(codes, here, code), 4, 0, weights), here
            )
            moved.append((np.count_nonzero(after != before), most))
    assert all(found <= most for found, most in moved)


def test_rows_that_weigh_less_need_more_for_a_fold():
    rng = np.random.default_rng(0)
    codes, weight = np.zeros(4000, dtype=int), np.where(np.arange(4000) < 2000, 1.0, 0.1)
    folds = folds_by_keys(rng.integers(0, 2**63, 4000), codes, 4, 0, weight)
    totals = np.bincount(folds, weight)
    assert np.ptp(totals) < 0.015 * totals.mean()
    heavy = np.where(np.arange(4000) == 7, 1e6, 1.0)  # which is one row and no fold
    assert np.bincount(folds_by_keys(np.arange(4000), codes, 4, 0, heavy)).min() > 900


# -- folds that are told --------------------------------------------------------------------------------------------
def told(cv, n=12, classes=3, rows=None):
    X, y = np.zeros((n, 1)), np.arange(n) % classes
    rows = np.arange(n) if rows is None else rows
    return folds_of(cv, X, [np.array([0.5])], y, rows, y[rows], 0, (np.ones(len(rows)),))


def test_folds_of_a_splitter_and_of_pairs():
    np.testing.assert_array_equal(told(KFold(3)), np.repeat([0, 1, 2], 4))
    pairs = list(GroupKFold(2).split(np.zeros(12), groups=np.arange(12) // 6))
    folds = told(pairs)
    assert len(set(folds[:6])) == len(set(folds[6:])) == 1 and folds[0] != folds[6]
    np.testing.assert_array_equal(told(pair for pair in pairs), folds)
    masks = [(np.arange(12) >= 4, np.arange(12) < 4), (np.arange(12) < 4, np.arange(12) >= 4)]
    np.testing.assert_array_equal(told(masks), np.repeat([0, 1], [4, 8]))
    np.testing.assert_array_equal(told(KFold(3), rows=np.arange(4, 12)), np.repeat([0, 1], 4))  # a fold of weight 0


def test_classes_that_nobody_can_judge_are_one_fold():
    assert not told(LeaveOneOut(), n=3).any() and not told(KFold(3), n=3).any() and not told(5, n=3).any()
    assert not told(list(GroupKFold(3).split(np.zeros(12), groups=np.arange(12) % 3))).any()
    assert told(None).max() == 3 and told(1).max() == 0


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(3),
        TimeSeriesSplit(3),
        RepeatedKFold(n_splits=3, n_repeats=2),
        [],
        [([0, 1], [2, 3])],
        [(np.arange(12), np.arange(12))],
        [(np.arange(6), np.arange(6, 12))],
    ],
)
def test_splits_must_leave_every_row_out_once(cv):
    with pytest.raises(ValueError, match="cv must leave every row out once, and train on all others"):
        told(cv)


class Triples:
    """A splitter that gives something else."""

    def split(self, X, y=None, groups=None):
        yield np.arange(6), np.arange(6, 9), np.arange(9, 12)

    def get_n_splits(self, X=None, y=None, groups=None):
        return 1


@pytest.mark.parametrize(
    "cv",
    [
        [1, 2],
        [([0.5], [1.5])],
        [([0, 99], [1])],
        [("a", "b")],
        [(np.arange(5),)],
        [(1, 2, 3)],
        [([[1], [2, 3]], [4])],
        Triples(),
    ],
)
def test_splits_that_are_none(cv):
    with pytest.raises(ValueError, match=r"^cv must give pairs \(train, test\) of row numbers: .*[^.]\.$"):
        told(cv)


def test_what_a_splitter_says_of_the_rows_is_passed_on():
    with pytest.raises(ValueError, match="Cannot have number of splits n_splits=20 greater"):
        told(KFold(20))


def test_folds_depend_on_the_seed_and_on_every_column():
    X, codes, rows = np.zeros((256, 3)), np.zeros(256, dtype=int), np.arange(256)
    X[:, 1] = np.arange(256)

    def drawn(X, seed, unit=1.0):
        thresholds = [np.array([0.5]) * unit, np.arange(255) * unit, np.empty(0)]
        return folds_of(4, X * unit, thresholds, codes, rows, codes, seed, (np.ones(256),))

    first, second = drawn(X, 0), drawn(X, 1)
    assert 0.1 < np.mean(first == second) < 0.5
    assert list(np.bincount(first)) == [64] * 4
    assert not np.array_equal(drawn(X[:, [1, 0, 2]], 0), first)  # the same values in another feature
    assert np.array_equal(drawn(np.c_[X, rows], 0), first)  # a column that was not given
    assert np.array_equal(drawn(X + np.array([0, 0, 7]), 0), first)  # another constant
    for unit in (2.0**-1000, 0.5, 2.0**1000):
        assert np.array_equal(drawn(X, 0, unit), first)
    assert np.array_equal(drawn(X.astype(np.int16), 0), first)
    assert np.array_equal(drawn(X.astype(np.float32), 0), first)


# -- log-loss and weights ----------------------------------------------------------------------------------------------
def row_losses(link, base, scores, codes, weight, caution=0.0):
    """Log-losses (n,) at base + weight * slope * scores, and that of so much of a row of the other classes."""
    slope, K = LINK_KERNELS[link][1], scores.shape[1]
    log_p = log_probabilities(link, base / slope + weight * scores.astype(float))
    own = np.arange(K) == np.asarray(codes)[:, None]
    return -log_p[own] - caution / max(1, K - 1) * np.where(own, 0.0, log_p).sum(axis=1)


def frequencies_without(link, y, weights, folds, K):
    """What the member of each row's fold knows without a learner, (n, K): half a row of each class with the others."""
    rows = np.array([np.bincount(y[folds != fold], weights[folds != fold], K) + 0.5 for fold in folds])
    p = rows / rows.sum(axis=1, keepdims=True)
    return np.log(p / (1 - p)) if link.startswith("sigmoid") else np.log(p)


def best_weight(link, base, scores, codes, weights, caution=0.0):
    """By golden sections, and the loss there."""
    found = minimize_scalar(
        lambda w: weights @ row_losses(link, base, scores, codes, w, caution),
        bounds=(0.0, LARGEST_WEIGHT),
        method="bounded",
        options={"xatol": 1e-9},
    )
    at_0 = weights @ row_losses(link, base, scores, codes, 0.0, caution)
    return (found.x, found.fun) if found.fun < at_0 else (0.0, at_0)


@pytest.mark.parametrize("link", LINK_KERNELS)
@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0, 30.0, 1e3])
@pytest.mark.parametrize("weight", [0.05, 0.3, 1.0, 5.0])
def test_losses_of_single_rows(link, spread, weight):
    """Of scores on top of what is known without them, and of the whole."""
    rng = np.random.default_rng(0)
    for K in (2, 3, 26):
        scores, codes = spread * rng.normal(size=(60, K)), rng.integers(0, K, 60)
        scores[:20] -= 2 * spread  # all far below 0
        scores[20:30] += 2 * spread
        known = -np.log(K - 1.0) if link == "sigmoid2" else -np.log(K)
        for whole, base in ((True, 0.0), (False, known)):
            for i in range(0, 60, 3):
                at = slice(i, i + 1)
                expected = row_losses(link, np.full((1, K), base), scores[at], codes[at], weight, 0.1)
                found = held_out(scores[at], codes[at]).along(link, weight, 0.1, whole)
                assert found[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("link", LINK_KERNELS)
def test_losses_of_scores_far_apart(link):
    """All combinations of +-1e3, 0 and the borders of the kernels' branches, and what changes with the scores."""
    values = np.array([-1e3, -40.0, -30.0, -15.0, -1e-9, 0.0, 1.0, 15.0, 30.0, 1e3])
    scores = np.array(np.meshgrid(values, values, values)).reshape(3, -1).T.copy()
    n, (kind, slope) = len(scores), LINK_KERNELS[link]
    codes, fold, zeros = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int64), np.zeros(3)
    for weight in (0.05, 1.0, 5.0):
        x = slope * weight * scores
        p = np.exp(log_probabilities(link, weight * scores))
        by_score = expit(-x) if kind == links.SIGMOID else np.ones((n, 3))
        move = slope * scores * by_score
        variance = (p * move**2).sum(axis=1) - (p * move).sum(axis=1) ** 2
        for caution in (0.0, 0.1):
            target = np.array([1.0, caution / 2, caution / 2])
            expected = row_losses(link, np.zeros((n, 3)), scores, codes, weight, caution)
            residual = ((1 + caution) * p - target) * by_score
            out, loss, found = np.empty((n, 3)), np.empty(n), np.empty((n, 3))
            links.along(kind, np.zeros((1, 3)), fold, scores, slope * weight, codes, caution, out)
            np.testing.assert_allclose(out[:, 0], expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(slope * out[:, 1], slope * (scores * residual).sum(axis=1), rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(slope**2 * out[:, 2], (1 + caution) * variance, rtol=1e-7, atol=1e-8)
            assert out[:, 2].min() >= 0.0
            links.mixed_residuals(kind, np.zeros((1, 3)), fold, x, zeros, codes, caution, loss, found)
            np.testing.assert_allclose(loss, expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found, residual, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("link", LINK_KERNELS)
@pytest.mark.parametrize("weight", [0.0, 0.4, 3.0])
def test_slopes_and_curvatures_are_differences(link, weight):
    rng = np.random.default_rng(6)
    scores, codes, weights = example(rng, link, K=3)
    held, step = held_out(scores, codes, weights), 1e-4
    low, at, high = (held.along(link, w, 0.2) for w in (weight - step, weight, weight + step))
    assert at[1] == pytest.approx((high[0] - low[0]) / (2 * step), rel=1e-5, abs=1e-5)
    if link == "sigmoid2":  # without what makes it negative, see `test_losses_of_scores_far_apart`
        assert at[2] > 0.0
    else:
        assert at[2] == pytest.approx((high[1] - low[1]) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("link", LINK_KERNELS)
def test_log_loss_is_weighted(link):
    rng = np.random.default_rng(1)
    scores, codes, weights = example(rng, link)
    weights[::3] = 0.0
    losses = row_losses(link, np.zeros((200, 4)), scores, codes, 0.5)

    def loss(weights, rows=slice(None)):
        return float(held_out(scores[rows], codes[rows], weights).along(link, 0.5, 0.0, True)[0])

    assert loss(weights) == pytest.approx(weights @ losses)
    for factor in (3, 1e-9):
        assert loss(factor * weights) == pytest.approx(factor * loss(weights))
    twice = np.repeat(np.arange(200), 2)  # a weight of 2 is the row twice
    assert loss(np.full(200, 2.0)) == pytest.approx(loss(np.ones(400), twice))
    without = loss(weights)
    scores[weights == 0] = 1e30
    assert loss(weights) == without


@pytest.mark.parametrize("link", LINK_KERNELS)
def test_gains_over_other_scores_and_what_is_mixed(link):
    """Row by row; the squares are of weighted rows, which are as many rows as they weigh."""
    rng = np.random.default_rng(14)
    folds, y, weights = np.sort(rng.integers(0, 3, 150)), rng.integers(0, 3, 150), rng.uniform(0.2, 2, 150)
    folded = FoldedRows(make_costs(1 - np.eye(3), y, weights), folds)
    one, other = (np.float32(rng.normal(size=(150, 3)) + np.eye(3)[y]) for _ in range(2))
    parts = [folded.held_out([scores[folds == fold] for fold in range(3)]) for scores in (one, other)]
    base, slope = frequencies_without(link, y, weights, folds, 3), LINK_KERNELS[link][1]
    shift = np.array([0.3, 0.0, -0.5])
    gain = row_losses(link, base, other, y, 0.4) - row_losses(link, base, one, y, 0.9)
    found = parts[0].gain_over(parts[1], link, 0.9, 0.4)
    np.testing.assert_allclose(found, [weights @ gain, weights**2 @ gain**2])
    assert exceeds_its_error(parts[0].gain_over(parts[1], link, 0.9, 0.4)) == (found[0] > np.sqrt(found[1]))
    mixed = parts[0].mixed(parts[1:], link, np.array([0.7, 0.2]), 1.7, shift)
    np.testing.assert_allclose(
        mixed._scores, 1.7 / slope * (base + shift) + 0.7 * one + 0.2 * other, rtol=1e-5, atol=1e-6
    )
    of_parts = np.array([0.7, 0.2]) / 1.7  # its probabilities at the temperature are those of the mixture
    sums = parts[0].mixture(parts[1:], link, of_parts, shift, 0.05)
    assert sums[0] == pytest.approx(mixed.along(link, 1 / 1.7, 0.05, True)[0], rel=1e-6)
    x = base + shift + slope * (of_parts[0] * one + of_parts[1] * other)
    p = np.exp(log_probabilities(link, x / slope))
    residual = 1.05 * p - np.where(np.arange(3) == y[:, None], 1.0, 0.025)
    residual *= expit(-x) if link == "sigmoid2" else 1.0
    slopes = np.array([weights * slope * (residual * scores).sum(axis=1) for scores in (one, other)])
    np.testing.assert_allclose(sums[1:5], [*slopes.sum(axis=1), *(slopes**2).sum(axis=1)], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(sums[5:], weights @ residual, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("K", [2, 3, 10])
@pytest.mark.parametrize("weights", [1e-6, 0.5, 1.0])
def test_rows_that_are_all_right_leave_the_estimate_of_krichevsky_and_trofimov(n, K, weights):
    """Scores of 5 for the true class: -m log(1 - q) - (log q - log(K - 1)) / 2, with q for all others, is least there.

    m is what all rows weigh, which is as many rows; what weighs less than one row is as unsure as one.
    """
    codes = np.arange(n) % K
    scores = np.where(np.arange(K) == codes[:, None], 5.0, 0.0)
    held = held_out(scores, codes, np.full(n, weights))
    q = 0.5 / (max(1.0, n * weights) + 0.5)
    for whole in (False, True):
        weight, _ = fit_weight(held, "softmax", 1.0, half_row(held), whole)
        assert weight == pytest.approx(np.log((K - 1) * (1 - q) / q) / 5.0, rel=2 * SAME_WEIGHT)


@pytest.mark.parametrize("link", LINK_KERNELS)
@pytest.mark.parametrize("size", [25.0, 400.0, 3e4])
@pytest.mark.parametrize("start", [0.0, 0.2, 1.0, 4.653])
def test_rows_that_are_all_right_are_not_certain_however_sure_the_scores(link, size, start):
    """At large weights the loss has no curvature."""
    codes = np.repeat([0, 1], 10)
    scores = np.where(np.arange(2) == codes[:, None], size, -size).astype(np.float32)
    held = held_out(scores, codes)
    weight, least = fit_weight(held, link, start, half_row(held))
    q = 0.5 / 20.5
    assert least == pytest.approx(-20 * np.log(1 - q) - 0.5 * np.log(q), rel=2 * SAME_WEIGHT**2)
    p = np.exp(log_probabilities(link, scores.astype(float), 1 / weight))
    assert p.min() == pytest.approx(q, rel=8 * SAME_WEIGHT)  # log-odds of 3.7, and so exact weights


@pytest.mark.parametrize("link", LINK_KERNELS)
@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0, 7.0])
@pytest.mark.parametrize("start", [0.0, 1.0, 3.0, 0.07])
def test_the_weight_is_the_minimum(link, spread, start):
    rng = np.random.default_rng(2)
    scores, codes, weights = example(rng, link, 400, spread=spread)
    held = held_out(scores, codes, weights)
    caution = half_row(held)
    assert caution == pytest.approx(0.5 / weights.sum())
    weight, least = fit_weight(held, link, start, caution, True)
    assert least == held.along(link, weight, caution, True)[0]
    best, loss = best_weight(link, np.zeros((400, 4)), scores, codes, weights, caution)
    assert weight == pytest.approx(best, rel=2 * SAME_WEIGHT) and weight * spread == pytest.approx(1.0, rel=0.2)
    assert loss * (1 - 1e-9) <= least <= loss * (1 + SAME_WEIGHT**2)


def test_the_weight_stays_within_its_range():
    rng = np.random.default_rng(3)
    scores, codes, weights = example(rng, "softmax", spread=1.0)
    hot, least = fit_weight(held_out(1e-3 * scores, codes, weights), "softmax", 1.0, 0.0)
    assert hot == LARGEST_WEIGHT and least == held_out(1e-3 * scores, codes, weights).along("softmax", hot, 0.0)[0]
    assert (
        fit_weight(held_out(10 * np.eye(4)[codes], codes, weights), "softmax", 1.0, 0.0)[0] == LARGEST_WEIGHT
    )  # all right
    for nothing in (-scores, np.zeros_like(scores)):  # worse than nothing, and nothing to gain
        weight, least = fit_weight(held_out(nothing, codes, weights), "softmax", 1.0, 0.0)
        assert weight == 0.0 and least == pytest.approx(weights.sum() * np.log(4))


# -- decisions ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("link", LINK_KERNELS)
@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_least_cost_is_that_of_the_probabilities(link, temperature):
    rng = np.random.default_rng(4)
    for K, D in ((2, 2), (3, 5), (7, 7)):
        scores, tables = 3 * rng.normal(size=(80, K)), rng.uniform(0, 9, (80, K, D))
        p = np.exp(log_probabilities(link, scores, temperature))
        np.testing.assert_array_equal(least_cost(link, scores, temperature, tables[0]), (p @ tables[0]).argmin(axis=1))
        expected = np.einsum("ik,ikd->id", p, tables).argmin(axis=1)
        np.testing.assert_array_equal(least_cost(link, scores, temperature, tables), expected)


def test_least_cost_takes_the_first_of_equals_and_the_largest_score_without_a_link():
    scores = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
    assert list(least_cost("softmax", scores, 1.0, 1 - np.eye(3))) == [0, 1, 0]
    for cost in (None, np.array([[9.0, 9.0, 0.0]] * 3)):
        assert list(least_cost(None, scores, 7.0, cost)) == [0, 1, 0]


# -- rounds --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_rounds", [1, 2, 4, 5, 6, 7, 10, 99, 1000, 12345])
def test_checkpoints(n_rounds):
    rounds = checkpoints(n_rounds)
    assert rounds[-1] == n_rounds and all(isinstance(r, int) for r in rounds)
    assert np.all(np.diff(rounds) > 0)
    assert rounds[0] == min(n_rounds, FIRST_CHECKPOINT)
    assert all(b <= a * CHECKPOINT_RATIO + 1 for a, b in pairwise(rounds))
    assert len(rounds) <= 6 + np.log(n_rounds) / np.log(CHECKPOINT_RATIO)
    assert rounds[:-1] == [r for r in checkpoints(10**6) if r < n_rounds]


# -- members -------------------------------------------------------------------------------------------------------------
class Tried(Plain):
    """With a recipe of the surrogate's kind."""

    features = None

    def seen(self, fold):
        return super().seen(fold) if self.features is None else np.asarray(self.features[fold])

    def recipe(self, rows, seen):
        exponential = self.task.surrogate in ("exponential", "coupled")
        solver = LeafClosedForm() if exponential else LeafNewton(1e-2)
        loss = coupled_loss(rows.costs, "exponential", "tight") if exponential else GuessAverseLoss("gll")
        trees = VectorTrees(6, self.columns.thresholds)
        start = rows.cost_facts.log_frequencies() if self.task.link == "softmax" else None
        return Recipe(loss, trees, solver, 1e-3, 0.5, exponential, start=start, features=seen)


def kind_of(surrogate, rows, binner, folds, seed=0, workers=None, features=None, watching=()):
    """Plain members on these rows, which stand fold after fold."""
    link = {"exponential": "sigmoid2", "softmax": "softmax"}.get(surrogate)
    columns = Columns(rows.X_binned, binner.n_bins, binner.thresholds)
    n, d = rows.n_samples, rows.n_features
    table, folded = Table(np.zeros((n, d)), np.arange(n), columns), FoldedRows(rows.costs, folds)
    driver = Driver(workers=workers)
    driver.watch = SimpleNamespace(watching=watching, run=driver.watch.run, stop=driver.stop)
    made = Tried(Task(table, folded, surrogate, link, USUAL._replace(seed=seed), driver))
    made.features = features
    return made


def crossed(kind, n_rounds, n=None):
    """The members of all folds, or of the first n, and what they say together."""
    members = kind.members(0, n or kind.task.folded.n_folds)
    return cross_fit(kind, members, n_rounds, kind.workers), members


def of_all_rows(kind, n_rounds):
    """One member of all rows, of so many rounds."""
    kind.task = kind.task._replace(settings=kind.task.settings._replace(n_estimators=n_rounds))
    return kind.alone()


def trained(kind, fold, n_rounds):
    """A member, trained from checkpoint to checkpoint."""
    member = kind.member(fold)
    for rounds in (0, *checkpoints(n_rounds)):
        member.train([rounds])
    return member


def identical(a, b):
    """Two runs of the loop, to the bit."""
    assert a.losses == b.losses and len(a.trees) == len(b.trees)
    np.testing.assert_array_equal(a.intercept, b.intercept)
    for u, v in zip(a.vectors, b.vectors, strict=True):
        np.testing.assert_array_equal(u, v)
    for tree, other in zip(a.trees, b.trees, strict=True):
        for part, same in zip(tree, other, strict=True):
            np.testing.assert_array_equal(part, same)


@pytest.mark.parametrize("surrogate", ["exponential", "softmax", "coupled", "gll"])
def test_left_out_scores_are_those_of_the_member_that_did_not_see_them(surrogate):
    rng = np.random.default_rng(5)
    X, y = make_data(rng, 240, 4, 3)
    table = 1 - np.eye(3) if surrogate in ("exponential", "softmax") else random_costs(rng, 3)
    rows, binner = make_rows(X, table, y, rng.uniform(0.5, 2, 240))
    folds = np.arange(len(y)) * 3 // len(y)
    for fold in range(3):
        member = trained(kind_of(surrogate, rows, binner, folds, 7), fold, 12)
        left_out, made = folds == fold, member.progress
        scores = np.tile(made.intercept, (left_out.sum(), 1))
        stages = [scores.copy()]
        for t, (tree, vectors) in enumerate(zip(made.trees, made.vectors, strict=True)):
            scores += added(tree, vectors, X[left_out])
            if t + 1 in checkpoints(12):
                stages.append(scores.copy())
        assert len(stages) == 1 + len(checkpoints(12)) > 1
        for rounds, stage in zip((0, *checkpoints(12)), stages, strict=True):
            kept, first = member.scores(rounds), member.result(rounds)
            again = member.rows.left_out_scores(first.trees, first.vectors, first.intercept)
            np.testing.assert_allclose(kept, stage, rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(kept, again)


def test_a_class_that_a_member_did_not_see_does_not_judge_it():
    """One row of class 2: the member that leaves it out cannot know it, and the row says nothing about rounds."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    y[0] = 2
    rows, binner = make_rows(X, 1 - np.eye(3), y)
    folds = np.arange(len(y)) * 3 // len(y)
    fit, _ = crossed(kind_of("softmax", rows, binner, folds), 6)
    np.testing.assert_array_equal(fit.kind.task.folded.judging, y != 2)
    assert fit.held.weight == 59.0 and fit.held.n_rows == 60
    known, base = (y != 2).astype(float), frequencies_without("softmax", y, np.ones(60), folds, 3)
    expected = known @ row_losses("softmax", base, fit.held._scores, y, fit.weight)
    assert fit.weight > 0.0 and fit.held.along("softmax", fit.weight, 0.0)[0] == pytest.approx(expected)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("surrogate", ["exponential", "softmax"])
def test_members_that_forget_their_scores_and_take_turns_are_the_same(surrogate, n_threads, monkeypatch):
    """What saves memory on large data changes no bit."""
    rng = np.random.default_rng(8)
    X, y = make_data(rng, 240, 4, 3)
    rows, binner = make_rows(X, 1 - np.eye(3), y)
    folds = np.arange(len(y)) * 3 // len(y)
    usual, _ = crossed(kind_of(surrogate, rows, binner, folds, 7), 30)
    for name in ("RESTING_SCORES", "FORGETTING_SCORES", "TOGETHER_SCORES", "SHARED_VALUES"):
        monkeypatch.setattr(timing, name, 0)
    with Workers(n_threads) as workers:
        thrifty, members = crossed(kind_of(surrogate, rows, binner, folds, 7, workers), 30)
    assert all(len(member.rows.scores) == 0 and not member._scores for member in members)
    assert (usual.n_rounds, usual.weight, usual.curve) == (thrifty.n_rounds, thrifty.weight, thrifty.curve)
    np.testing.assert_array_equal(usual.held._scores, thrifty.held._scores)
    for a, b in zip(usual.members, thrifty.members, strict=True):
        identical(a, b)


def test_a_member_alone_learns_from_all_rows_and_is_kept_as_it_is():
    rng = np.random.default_rng(9)
    X, y = make_data(rng, 150, 4, 3)
    rows, binner = make_rows(X, 1 - np.eye(3), y, rng.uniform(0.5, 2, 150))
    one = kind_of("softmax", rows, binner, np.zeros(150, dtype=int), 3)
    fit = of_all_rows(one, 9)
    identical(fit.members[0], boost(rows, one.recipe(rows, np.arange(4)), 9, 3))
    assert len(fit.members) == 1
    assert (fit.n_rounds, fit.weight, fit.curve) == (9, 1.0, [])
    assert fit.held._scores.shape == (0, 3) and fit.held.n_rows == fit.n_folds == 0


def test_a_member_that_sees_some_columns_names_them_among_all():
    rng = np.random.default_rng(10)
    X, y = make_data(rng, 200, 4, 3)
    X = np.column_stack([X, rng.normal(size=200) + y, rng.normal(size=200) - y])
    rows, binner = make_rows(X, 1 - np.eye(3), y)
    folds = np.arange(len(y)) * 2 // len(y)
    own = [[1, 2, 5], [0, 4]]
    for fold, features in enumerate(own):
        member = trained(kind_of("softmax", rows, binner, folds, 1, features=own), fold, 8)
        few, few_binner = make_rows(X[:, features], 1 - np.eye(3), y)
        expected = trained(kind_of("softmax", few, few_binner, folds, 1), fold, 8)
        made, plain = member.result(8), expected.result(8)
        inner = [tree.left != np.arange(len(tree.left)) for tree in made.trees]
        assert {j for tree, at in zip(made.trees, inner, strict=True) for j in tree.feature[at].tolist()} <= set(
            features
        )
        plain.trees[:] = [
            tree._replace(feature=np.where(at, np.take(features, tree.feature), 0).astype(np.int32))
            for tree, at in zip(plain.trees, inner, strict=True)
        ]
        identical(made, plain)
        for rounds in (0, *checkpoints(8)):
            np.testing.assert_array_equal(member.scores(rounds), expected.scores(rounds))


class Counting:
    """Monitor: counts what it is told."""

    def __init__(self):
        self.begun = self.rounds = 0

    def before_rounds(self, info):
        self.begun += 1

    def after_round(self, info):
        self.rounds += 1
        return False


def test_every_member_is_watched():
    rng = np.random.default_rng(11)
    X, y = make_data(rng, 120, 3, 2)
    rows, binner = make_rows(X, 1 - np.eye(2), y)
    folds = np.arange(len(y)) * 3 // len(y)
    seen = Counting()
    one = kind_of("softmax", rows, binner, folds, watching=[seen])
    members = one.members(0, 3)
    for number, member in enumerate(members):
        assert (seen.begun, seen.rounds) == (number, 4 * number)
        member.train([4])
    one._finished(0, members[0].result(4), 6)
    assert (seen.begun, seen.rounds) == (3, 12 + 2)  # rounds on all rows go on from those before
    of_all_rows(one, 5)
    assert (seen.begun, seen.rounds) == (4, 14 + 5)


# -- what members say together -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("surrogate", ["exponential", "softmax", "coupled", "gll"])
@pytest.mark.parametrize("n", [1, 3])
def test_rounds_and_weight_are_those_of_least_loss_on_left_out_rows(surrogate, n, monkeypatch):
    """Of all folds, or of the first only; later rounds are kept where they are better by more than chance."""
    monkeypatch.setattr(defaults, "GRACE_ROUNDS", 1000)
    rng = np.random.default_rng(12)
    X, y = make_data(rng, 240, 4, 3)
    y = np.where(rng.random(240) < 0.3, rng.integers(0, 3, 240), y)
    table = 1 - np.eye(3) if surrogate in ("exponential", "softmax") else random_costs(rng, 3)
    rows, binner = make_rows(X, table, y, rng.uniform(0.5, 2, 240))
    folds = np.arange(len(y)) * 3 // len(y)
    one = kind_of(surrogate, rows, binner, folds)
    fit, members = crossed(one, 18, n)
    for made, member in zip(fit.members, members, strict=True):
        identical(made, member.result(fit.n_rounds))
    assert fit.seconds == sum(m.seconds for m in members)
    seen, link, of_all = np.flatnonzero(folds < n), one.task.link, rows.costs.weight
    weight = of_all[seen]
    assert fit.n_folds == n and fit.held.n_rows == len(seen) and fit.held.weight == pytest.approx(weight.sum())
    stages, total = [], weight.sum()
    again = [trained(one, fold, 18) for fold in range(n)]
    for rounds in (0, *checkpoints(18)):
        pooled = np.empty((240, 3))
        for fold, member in enumerate(again):
            pooled[folds == fold] = member.scores(rounds) - (0.0 if link is None else np.float32(member.start))
        stages.append(pooled[seen].astype(np.float32))
    assert [t for t, _ in fit.curve] == [0, *checkpoints(18)]
    losses, chosen = [loss for _, loss in fit.curve], 0
    base = None if link is None else frequencies_without(link, y, of_all, folds, 3)[seen]
    found = []
    for c, (scores, loss) in enumerate(zip(stages, losses, strict=True)):
        if link is None:
            assert loss == pytest.approx(weight @ table[y[seen], scores.argmax(axis=1)] / total)
            asked = LEAST_FALL * min(losses[chosen], losses[0] - losses[chosen]) if chosen else FIRST_FALL * losses[0]
            chosen = c if loss < losses[chosen] - asked else chosen
        else:
            assert scores.any() == (c > 0)
            best, least = best_weight(link, base, scores, y[seen], weight)
            assert loss * total == pytest.approx(least, rel=SAME_WEIGHT**2)
            found.append(row_losses(link, base, scores, y[seen], best))
            gain = weight * (found[chosen] - found[c])
            by_much = chosen > 0 and loss < losses[chosen] * (1.0 - LEAST_FALL)
            chosen = c if by_much or gain.sum() > np.sqrt((gain**2).sum()) else chosen
    assert fit.n_rounds == [0, *checkpoints(18)][chosen] > 0
    np.testing.assert_array_equal(fit.held._scores, stages[chosen])
    if link is None:
        assert fit.weight == 0.0
    else:  # half a row of other classes in it
        best, _ = best_weight(link, base, stages[chosen], y[seen], weight, 0.5 / total)
        assert fit.weight == pytest.approx(best, rel=2 * SAME_WEIGHT)


def test_rounds_that_are_better_by_less_than_chance_are_not_kept(monkeypatch):
    """Nor any where none is: then the weight is 0 and the loss that of the frequencies."""
    rng = np.random.default_rng(15)
    X, y = make_data(rng, 240, 4, 3)
    rows, binner = make_rows(X, 1 - np.eye(3), y)
    folds, counts = np.arange(len(y)) * 3 // len(y), []
    for sure in (0.0, 3.0, 1e6):
        monkeypatch.setattr(
            "minrisk.ensemble.members.exceeds_its_error", lambda gain, z=sure: gain[0] > z * np.sqrt(gain[1])
        )
        monkeypatch.setattr(defaults, "LEAST_FALL", np.inf)
        fit, _ = crossed(kind_of("softmax", rows, binner, folds), 40)
        counts.append(fit.n_rounds)
    assert counts[0] > counts[1] > counts[2] == 0 == fit.weight
    base = frequencies_without("softmax", y, np.ones(240), folds, 3)
    assert fit.curve[0] == (0, pytest.approx(-base[np.arange(240), y].mean()))
    assert fit.curve[-1][0] == 40 and not fit.held._scores.any()  # not even of rounding, which a mixture would weigh
    pool = ensemble_of(fit, 1 - np.eye(3))
    assert pool.mixture.weights.tolist() == [0.0] and pool.temperature == 1.0


class Told:
    """Member whose left-out rows have these scores at the checkpoints."""

    def __init__(self, stages):
        self.stages, self.seconds, self.stretches, self.reached = stages, 1.0, [], -1
        self.start = np.zeros(2)

    def train(self, rounds):
        self.stretches.append(list(rounds))
        self.reached = rounds[-1]

    def rest(self):
        pass

    def scores(self, n_rounds):
        return self.stages[min(self.trained.index(n_rounds), len(self.stages) - 1)]

    @property
    def trained(self):
        return [rounds for stretch in self.stretches for rounds in stretch]

    def result(self, n_rounds):
        return Progress(trees=[n_rounds])


class ToldKind(Kind):
    """Knows the costs and no more."""

    name = place = "told"
    member = finish = None

    def __init__(self, y, folds):
        table = Table(np.zeros((len(y), 1)), np.arange(len(y)), None)
        folded = FoldedRows(make_costs(1 - np.eye(2), y, np.ones(len(y))), folds)
        super().__init__(Task(table, folded, "gll", None, USUAL, Driver()))


def test_members_go_on_together_until_the_best_round_is_long_past():
    y, folds = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    kind = ToldKind(y, folds)
    right, wrong = np.array([[1.0, 0], [0, 1]]), np.array([[0.0, 1], [1, 0]])
    stages, rounds = [wrong, wrong, right], [0, *checkpoints(100)]
    members = [Told(stages), Told([wrong, right])]
    fit = cross_fit(kind, members, 100, Workers())
    last = next(r for r in rounds if r > PATIENCE * 6 + GRACE_ROUNDS)
    assert fit.n_rounds == 6 and fit.curve[:4] == [(0, 1.0), (5, 0.5), (6, 0.0), (7, 0.0)]
    assert [r for r, _ in fit.curve] == members[0].trained == members[1].trained == [r for r in rounds if r <= last]
    np.testing.assert_array_equal(fit.held._scores, np.concatenate([right, right]))
    assert [made.trees for made in fit.members] == [[6], [6]] and fit.seconds == 2.0
    assert members[0].stretches == members[1].stretches == [[0, 5, 6], [7, 9, 12, last]]  # 5 + 5/4 of 0, and of 6
    with Workers(2) as workers:
        assert cross_fit(kind, [Told(stages), Told([wrong, right])], 100, workers).seconds == 1.0
    fit = cross_fit(kind, [Told([right]), Told([right])], 100, Workers())  # nothing is gained
    slow = next(r for r in rounds if r > SLOW_START)
    assert (fit.n_rounds, fit.curve[-1][0]) == (0, slow)


@pytest.mark.parametrize(("fall", "n_rounds"), [(0.49, 5), (0.51, 0)])
def test_rounds_must_take_their_share_off_the_cost(fall, n_rounds, monkeypatch):
    monkeypatch.setattr(defaults, "FIRST_FALL", fall)
    right, wrong = np.array([[1.0, 0], [0, 1]]), np.array([[0.0, 1], [1, 0]])
    kind = ToldKind(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]))
    fit = cross_fit(kind, [Told([wrong]), Told([wrong, right])], 100, Workers())
    assert fit.n_rounds == n_rounds and fit.curve[:2] == [(0, 1.0), (5, 0.5)]


def test_a_member_that_was_tried_before_is_not_trained_again():
    y, folds = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    kind = ToldKind(y, folds)
    right, wrong = np.array([[1.0, 0], [0, 1]]), np.array([[0.0, 1], [1, 0]])
    first, second = Told([wrong, right]), Told([wrong] * 4 + [right])
    alone = cross_fit(kind, [first], 100, Workers())
    before = list(first.trained)
    assert alone.n_rounds == 5 and (alone.n_folds, alone.held.n_rows) == (1, 2)
    fit = cross_fit(kind, [first, second], 100, Workers())
    assert fit.n_rounds == checkpoints(100)[3] and first.trained[: len(before)] == before
    assert first.trained == second.trained[: len(first.trained)] and len(set(first.trained)) == len(first.trained)


def test_training_in_parts_is_training():
    rng = np.random.default_rng(13)
    X, y = make_data(rng, 150, 4, 3)
    rows, binner = make_rows(X, 1 - np.eye(3), y)
    folds = np.arange(len(y)) * 3 // len(y)
    for surrogate in ("softmax", "exponential"):
        one = kind_of(surrogate, rows, binner, folds, 4)
        whole, parts, stretch = (one.member(0) for _ in range(3))
        whole.train([9])
        stretch.train([0, 1, 5, 9])
        for rounds in (0, 1, 5, 9):
            parts.train([rounds])
        for member in (parts, stretch):
            identical(whole.result(9), member.result(9))
            np.testing.assert_array_equal(whole.scores(9), member.scores(9))
        for rounds in (0, 1, 5, 9):
            np.testing.assert_array_equal(parts.scores(rounds), stretch.scores(rounds))


@pytest.mark.parametrize(
    ("n", "d", "bins"),
    [
        (10, 20, 16),
        (999, 20, 25),
        (999, 2, 62),
        (1000, 100, 16),
        (6400, 100, 100),
        (4096, 2, 256),
        (4096, 8, 64),
        (16_384, 100, 256),
        (10**6, 1, 256),
    ],
)
def test_bins_follow_the_data(n, d, bins):
    assert defaults.n_bins("quantile", None, n, d) == (bins, 256)  # finer ones are as fine as can be
    assert defaults.n_bins("quantile", 7, n, d) == (7, 7)
    assert defaults.n_bins("uniform", None, n, d) == (None, None)


# -- last rounds ---------------------------------------------------------------------------------------------------------
@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_last_rounds_fit_into_what_is_asked_for(n_rows, most):
    """All rounds together are never more; those of the longest member are as many but for one."""
    first = first_rounds(n_rows, most)
    share = 0.2 * (n_rows / (n_rows + 100)) * min(1, 15_000 / n_rows)
    assert 1 <= first <= most and most - 1 <= first + last_rounds(n_rows, first, most) <= most
    for n_rounds in {0, 1, first // 2, first}:
        asked = {int(n_rounds * share + 0.5 + by) for by in (-0.01, 0.01)}  # shares are in millionths
        assert last_rounds(n_rows, n_rounds, most) in {min(rounds, most - n_rounds) for rounds in asked}


@pytest.mark.parametrize("surrogate", ["softmax", "exponential", "coupled", "gll"])
def test_last_rounds_are_rounds_on_all_rows(surrogate):
    """As the loop makes them on rows that stand where the member's trees have brought them."""
    rng = np.random.default_rng(21)
    X, y = make_data(rng, 150, 4, 3)
    rows, binner = make_rows(X, 1 - np.eye(3), y)
    folds = np.arange(len(y)) * 3 // len(y)
    one = kind_of(surrogate, rows, binner, folds, 3)
    first = trained(one, 1, 8).result(8)
    told = Progress(list(first.trees), list(first.vectors), first.intercept, first.log_scale, list(first.losses))
    everyone, _ = make_rows(X, 1 - np.eye(3), y)
    everyone.start_at(told.trees, told.vectors, told.intercept)
    recipe = one.recipe(everyone, one.seen(1))
    told = boost(everyone, recipe, 11, 4, start=told)
    found = one._finished(1, first, 11)
    identical(found, told)
    assert len(found.trees) == 11 and len(first.trees) == len(first.vectors) == 8
    assert found.whole is first.whole is None  # else they would hold the rows
    others = y.copy()
    others[folds == 1] = (y[folds == 1] + 1) % 3  # the rows that the member had left out
    two = kind_of(surrogate, make_rows(X, 1 - np.eye(3), others)[0], binner, folds, 3)
    again = trained(two, 1, 8).result(8)
    for vectors, same in zip(again.vectors, found.vectors[:8], strict=True):
        np.testing.assert_array_equal(vectors, same)
    again = two._finished(1, again, 11)
    assert not any(np.array_equal(u, v) for u, v in zip(again.vectors[8:], found.vectors[8:], strict=True))


def test_columns_index_their_rows_as_they_stand():
    binned = np.zeros((2, 40), dtype=np.uint8)
    binned[0, [3, 8]] = 1
    columns = Columns(binned, np.array([2, 1]), (np.array([0.5]), np.empty(0)))
    assert columns.index().rows.tolist() == [3, 8] and columns.index() is columns.index()
    columns.reorder(np.arange(40)[::-1])
    assert columns.index().rows.tolist() == [31, 36]


@pytest.mark.parametrize(
    ("n", "d", "wide"),
    [
        (WIDE_ROWS + 1, WIDE_FEATURES + 1, True),
        (WIDE_ROWS, WIDE_FEATURES + 1, False),
        (WIDE_ROWS + 1, WIDE_FEATURES, False),
    ],
)
@pytest.mark.parametrize("linear", [True, False])
def test_gentle_trees_are_for_data_that_are_not_wide_and_random_ones_see_what_there_is(n, d, wide, linear):
    """Random members have linear features where there are any; there the first fold's sees those learnt without it."""
    y = np.arange(n, dtype=np.int32) % 3
    columns = Columns(np.zeros((d, 1), dtype=np.uint8), np.full(d, 2), ())
    seen = [np.arange(d + 3), np.r_[: d + 1, d + 3 : d + 5]]
    table = Table(np.zeros((n, d)), np.arange(n), columns, None, lambda: (None, seen) if linear else None)
    blind = FoldedRows(make_costs(1 - np.eye(3), y, np.ones(n)), np.zeros(n, dtype=int))
    task = Task(table, blind, "softmax", "softmax", USUAL, Driver())
    of_trees = [
        kind for cls in CHALLENGERS if issubclass(cls, Plain) and (kind := cls.of(task)) is not None and kind.ready()
    ]
    assert [kind.name for kind in of_trees] == ["random", *([] if wide else ["gentle"])]
    for fold in range(2):
        np.testing.assert_array_equal(of_trees[0].seen(fold), seen[fold] if linear else np.arange(d))
        assert all(kind.seen(fold).tolist() == list(range(d)) for kind in of_trees[1:])


@pytest.mark.parametrize("K", [Gentle.n_classes, Gentle.n_classes + 1])
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("d", [10, 200])
def test_trees_of_other_kinds_differ_from_plain_ones(d, linear, K):
    """Gentle ones are small, look at 20 features or more and need no sketch of few classes; random ones are drawn."""
    y = np.arange(500, dtype=np.int32) % K
    columns = Columns(np.zeros((d, 1), dtype=np.uint8), np.full(d, 2), ())
    seen = [np.arange(3 * d)] * 4
    table = Table(np.zeros((500, d)), np.arange(500), columns, None, lambda: (None, seen) if linear else None)
    blind = FoldedRows(make_costs(1 - np.eye(K), y, np.ones(500)), np.zeros(500, dtype=int))
    task = Task(table, blind, "softmax", "softmax", USUAL, Driver())
    random, gentle = Random(task), Gentle(task)
    assert random.ready() and gentle.ready()
    usual = VectorTrees(max_leaf_nodes=40, thresholds=(), max_features=0.4, sketch=2)
    found = gentle.shaped(usual, d)
    assert found.max_leaf_nodes == Gentle.n_leaves and n_drawn(found.max_features, d) == max(
        min(d, Gentle.n_features), round(0.4 * d)
    )
    assert found.sketch == (None if K <= Gentle.n_classes else 2) and not found.random
    found = random.shaped(usual, len(random.seen(0)))
    assert found == replace(usual, random=True, max_features=0.4 * (Random.linear_share if linear else 1.0))


@pytest.mark.parametrize(
    ("stated", "d", "share"),
    [(None, 5, 0.4), (None, 400, 0.4), (None, 800, 0.2), (0.7, 800, 0.7), (40, 800, 0.05), (np.int64(40), 800, 0.05)],
)
def test_features_looked_at(stated, d, share):
    assert share_of(stated or defaults.feature_share(d), d) == pytest.approx(share)
    if stated is not None:
        assert n_drawn(stated, d) == round(share * d)


@pytest.mark.parametrize(
    ("n", "K", "leaves"),
    [
        (50, 3, 8),
        (300, 3, 15),
        (480, 3, 24),
        (2000, 3, 50),
        (3200, 3, 64),
        (6400, 3, 128),
        (17_499, 3, 349.98),
        (17_500, 3, 350),
        (8_000, 26, 200),
        (10_000, 26, 208),
        (10**5, 26, 1023),
        (10**6, 10, 1023),
        (10**6, 100, 327.7),
        (10**6, 10**4, 64),
    ],
)
def test_leaves_follow_the_rows_and_the_classes(n, K, leaves):
    """Rounded down; towards 20, or one for each class, the more the data are like texts by their words."""
    for d in (20, 2000, 10 * n):
        of_few = max(leaves, 16) if d > n else leaves
        few = min(of_few, max(20, min(K, 64)))
        features = (d / 2000) ** 3
        wide = features / (1 + features) * n / (n + 1000)
        expected = (1 - wide) * of_few + wide * few
        assert expected - 1.05 < defaults.n_leaves(n, K, d) <= expected + 1e-9


@pytest.mark.parametrize("way", ["weights", "costs"])
def test_a_millionth_more_of_a_row_leaves_the_folds_as_they_are(way):
    """Rows of equal features are told by weights and costs."""
    rng = np.random.default_rng(0)
    X, y = np.vstack([rng.normal(size=(200, 3)), rng.integers(0, 2, (100, 3))]), rng.integers(0, 2, 300)
    more = rng.uniform(0.5, 2, 300), *(rng.uniform(1, 2, (2, 300)) if way == "costs" else ())
    rows, thresholds = np.arange(300), [np.array([0.5])] * 3
    folds = folds_of(4, X, thresholds, y, rows, y, 0, more)
    nearly = [column * (1 + 1e-6 * rng.random(300)) for column in more]
    np.testing.assert_array_equal(folds_of(4, X, thresholds, y, rows, y, 0, nearly), folds)
    others = [rng.permutation(column) for column in more]
    np.testing.assert_array_equal(folds_of(4, X, thresholds, y, rows, y, 0, (more[0], *others[1:]))[:200], folds[:200])
    order = rng.permutation(300)
    again = folds_of(4, X[order], thresholds, y[order], rows, y[order], 0, [column[order] for column in more])
    np.testing.assert_array_equal(again, folds[order])
