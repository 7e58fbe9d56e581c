"""Folds, temperatures, checkpoints and members of cross-fitting."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

from minrisk._kernels.links import log_loss as log_loss_kernel
from minrisk._workers import Workers
from minrisk.boosting.loop import Progress, Recipe, boost
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import fit_temperature, log_loss
from minrisk.ensemble.columns import usual_bins
from minrisk.ensemble.cross_fitting import checkpoints, cross_fit, first_rounds, last_rounds
from minrisk.ensemble.defaults import (
    CHECKPOINT_RATIO,
    FIRST_CHECKPOINT,
    GRACE_ROUNDS,
    LAST_ROUNDS,
    LAST_ROUNDS_FROM,
    LEAST_PROBABILITY,
    PATIENCE,
    TEMPERATURE_STEP,
    TEMPERATURES,
)
from minrisk.ensemble.folds import fold_numbers, folds_of
from minrisk.ensemble.kind import Kind, Settings, Table, Task
from minrisk.ensemble.kinds import CHALLENGERS, Plain
from minrisk.ensemble.kinds.plain import usual_leaves, usual_share
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.model.decisions import LINK_KERNELS, least_cost
from minrisk.model.links import log_probabilities
from minrisk.rows.columns import Columns
from minrisk.rows.factory import folded_rows
from minrisk.rows.local.sparse_index import SparseIndex
from minrisk.steps.leaf_vectors import LeafClosedForm, LeafNewton
from minrisk.validation import n_drawn, share_of
from tests.helpers import coupled_loss, held_out, make_costs, make_data, make_rows, random_costs

FLOOR = float(np.log(LEAST_PROBABILITY))
USUAL = Settings(0.5, None, None, 1, 1e-3, 2, None, 8192, 1.0)  # the defaults of `MinRiskClassifier`


# -- folds -----------------------------------------------------------------------------------------------------------
def distinct_rows(rng, n, d=4):
    """Bins (d, n) without equal rows."""
    while True:
        X = rng.integers(0, 256, (d, n), dtype=np.uint8)
        if len(np.unique(X, axis=1).T) == n:
            return X


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 150), st.integers(1, 8), st.integers(1, 7), st.integers(0, 10**6))
def test_rows_are_spread_evenly(n, K, n_folds, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    X = distinct_rows(rng, n) if seed % 2 else rng.integers(0, 3, (2, n), dtype=np.uint8)
    folds = fold_numbers(X, codes, n_folds, seed)
    n_used = min(n_folds, n // 2)
    assert folds.shape == (n,) and set(folds) == set(range(n_used))
    sizes = np.bincount(folds)
    assert np.ptp(sizes) <= 1 and sizes.min() >= 2
    for k in np.unique(codes):
        assert np.ptp(np.bincount(folds[codes == k], minlength=n_used)) <= 1


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 100), st.integers(1, 5), st.integers(2, 6), st.integers(0, 10**6))
def test_folds_do_not_depend_on_the_order_of_the_rows(n, K, n_folds, seed):
    """Of equal rows as many are in each fold."""
    rng = np.random.default_rng(seed)
    X, codes = distinct_rows(rng, n), rng.integers(0, K, n)
    folds = fold_numbers(X, codes, n_folds, 3)
    np.testing.assert_array_equal(fold_numbers(np.asfortranarray(X), codes, n_folds, 3), folds)
    order = rng.permutation(n)
    np.testing.assert_array_equal(fold_numbers(X[:, order], codes[order], n_folds, 3), folds[order])
    twice = np.concatenate([np.arange(n), rng.integers(0, n, n)])
    X, codes = X[:, twice], codes[twice]
    order = rng.permutation(2 * n)
    found = [np.c_[x.T, y, fold_numbers(x, y, n_folds, 3)] for x, y in ((X, codes), (X[:, order], codes[order]))]
    np.testing.assert_array_equal(*(rows[np.lexsort(rows.T)] for rows in found))


def test_equal_rows_fall_in_any_folds():
    """As if they were drawn: pairs are together in a fifth of the draws."""
    codes = np.repeat(np.arange(2), 500)
    X = np.tile(distinct_rows(np.random.default_rng(0), 500), 2)
    X[:, 250:500], X[:, 750:] = X[:, :250], X[:, 500:750]
    for seed in range(3):
        folds = fold_numbers(X, codes, 5, seed)
        together = np.r_[folds[:250] == folds[250:500], folds[500:750] == folds[750:]]
        assert 0.13 < together.mean() < 0.27


# -- folds that are told --------------------------------------------------------------------------------------------
def told(cv, n=12, classes=3, rows=None):
    X, y = np.zeros((n, 1)), np.arange(n) % classes
    rows = np.arange(n) if rows is None else rows
    return folds_of(cv, X, y, rows, np.zeros((1, len(rows)), dtype=np.uint8), y[rows], 0)


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
    [ShuffleSplit(3), TimeSeriesSplit(3), RepeatedKFold(n_splits=3, n_repeats=2), [], [([0, 1], [2, 3])],
     [(np.arange(12), np.arange(12))], [(np.arange(6), np.arange(6, 12))]],
)  # fmt: skip
def test_splits_must_leave_every_row_out_once(cv):
    with pytest.raises(ValueError, match="cv must leave every row out once, and train on all others"):
        told(cv)


class Triples:
    """A splitter that gives something else."""

    def split(self, X, y=None, groups=None):
        yield np.arange(6), np.arange(6, 9), np.arange(9, 12)

    def get_n_splits(self, X=None, y=None, groups=None):
        return 1


@pytest.mark.parametrize("cv", [
    [1, 2], [([0.5], [1.5])], [([0, 99], [1])], [("a", "b")], [(np.arange(5),)], [(1, 2, 3)], [([[1], [2, 3]], [4])], Triples(),
])  # fmt: skip
def test_splits_that_are_none(cv):
    with pytest.raises(ValueError, match=r"^cv must give pairs \(train, test\) of row numbers: .*[^.]\.$"):
        told(cv)


def test_what_a_splitter_says_of_the_rows_is_passed_on():
    with pytest.raises(ValueError, match="Cannot have number of splits n_splits=20 greater"):
        told(KFold(20))


def test_folds_depend_on_the_seed_and_rows_that_differ_in_one_bin_do_not_stay_together():
    X = np.zeros((3, 256), dtype=np.uint8)
    X[1] = np.arange(256)
    codes = np.zeros(256, dtype=int)
    first, second = (fold_numbers(X, codes, 4, seed) for seed in (0, 1))
    assert 0.1 < np.mean(first == second) < 0.5
    assert list(np.bincount(first)) == [64] * 4
    X[1], X[2] = X[2], X[1].copy()  # the same values in another feature
    assert not np.array_equal(fold_numbers(X, codes, 4, 0), first)


# -- log-loss and temperature ------------------------------------------------------------------------------------------
def plain_log_loss(link, scores, codes, weight, temperature, caution=0.5):
    """The log-loss, and that of so many rows of other classes."""
    log_p = np.maximum(log_probabilities(link, scores, temperature), FLOOR)
    own = np.arange(scores.shape[1]) == np.asarray(codes)[:, None]
    others = np.where(own, 0.0, log_p).sum(axis=1) / (scores.shape[1] - 1)
    return float(weight @ -(log_p[own] + caution / max(np.count_nonzero(weight), weight.sum()) * others))


def example(rng, link, n=200, K=4, spread=2.0):
    """Scores from which the classes are drawn, stretched; the factor is the best temperature."""
    scores = rng.normal(size=(n, K))
    p = np.exp(log_probabilities(link, scores))
    codes = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return spread * scores, np.minimum(codes, K - 1), rng.uniform(0.2, 2, n)


@pytest.mark.parametrize("link", LINK_KERNELS)
@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0, 30.0, 1e3])
@pytest.mark.parametrize("temperature", [0.2, 1.0, 3.0, 20.0])
def test_log_loss_of_single_rows(link, spread, temperature):
    rng = np.random.default_rng(0)
    for K in (2, 3, 26):
        scores, codes = spread * rng.normal(size=(60, K)), rng.integers(0, K, 60)
        scores[:20] -= 2 * spread  # all far below 0
        scores[20:30] += 2 * spread
        for i in range(60):
            expected = plain_log_loss(link, scores[i : i + 1], codes[i : i + 1], np.ones(1), temperature)
            found = log_loss(link, held_out(scores[i : i + 1], codes[i : i + 1], np.ones(1)), temperature)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("link", LINK_KERNELS)
def test_log_loss_of_scores_far_apart(link):
    """All combinations of +-1e3, 0 and the borders of the kernel's branches; without the floor as well."""
    values = np.array([-1e3, -40.0, -30.0, -15.0, -1e-9, 0.0, 1.0, 15.0, 30.0, 1e3])
    scores = np.array(np.meshgrid(values, values, values)).reshape(3, -1).T
    codes = np.zeros(len(scores), dtype=np.int32)
    kind, slope = LINK_KERNELS[link]
    for temperature in (0.2, 1.0, 20.0):
        log_p = log_probabilities(link, scores, temperature)
        for i in range(len(scores)):
            row = scores[i : i + 1]
            for floor, caution in ((FLOOR, 0.0), (-1e9, 0.0), (FLOOR, 0.1)):
                own, *others = -np.maximum(log_p[i], floor)
                factor = 2.0**20
                whole, rest = log_loss_kernel(
                    kind, slope / temperature, row, codes[:1], np.ones(1), floor, caution, factor, 2.0**30
                )
                found = (whole + rest / 2.0**30) / factor
                assert found == pytest.approx(own + caution * np.mean(others), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("link", LINK_KERNELS)
def test_log_loss_is_weighted(link):
    rng = np.random.default_rng(1)
    scores, codes, weight = example(rng, link)
    weight[::3] = 0.0
    assert log_loss(link, held_out(scores, codes, weight), 2.0) == pytest.approx(plain_log_loss(link, scores, codes, weight, 2.0))
    without = log_loss(link, held_out(scores, codes, weight), 2.0, caution=False)
    assert without == pytest.approx(plain_log_loss(link, scores, codes, weight, 2.0, 0))
    assert log_loss(link, held_out(scores, codes, 3 * weight), 2.0, caution=False) == pytest.approx(3 * without)
    small = weight / weight.sum()  # rows that count for less than one each: half a row of their mean
    with_it, its_part = log_loss(link, held_out(scores, codes, small), 2.0), plain_log_loss(link, scores, codes, small, 2.0)
    assert with_it == pytest.approx(its_part) and with_it < 1.1 * without / weight.sum()
    twice, two = np.repeat(np.arange(len(codes)), 2), np.full(len(codes), 2.0)  # a weight of 2 is the row twice
    repeated = log_loss(link, held_out(scores[twice], codes[twice], np.ones(len(twice))), 2.0)
    assert log_loss(link, held_out(scores, codes, two), 2.0) == pytest.approx(repeated)
    scores[weight == 0] = np.nan
    assert np.isfinite(log_loss(link, held_out(scores, codes.astype(np.int32), weight), 2.0))


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("K", [2, 3, 10])
@pytest.mark.parametrize("weight", [1e-6, 1.0])
def test_rows_that_are_all_right_leave_the_estimate_of_krichevsky_and_trofimov(n, K, weight):
    """Scores of 5 for the true class: -n log(1 - q) - (log q - log(K - 1)) / 2, with q for all others, is least there."""
    codes = np.arange(n) % K
    scores = np.where(np.arange(K) == codes[:, None], 5.0, 0.0)
    temperature, _ = fit_temperature("softmax", held_out(scores, codes, np.full(n, weight)))
    q = 0.5 / (n + 0.5)
    best = 5.0 / np.log((K - 1) * (1 - q) / q)
    assert 1 / TEMPERATURE_STEP < temperature / best < TEMPERATURE_STEP


@pytest.mark.parametrize("link", LINK_KERNELS)
@pytest.mark.parametrize("size", [25.0, 400.0, 3e4])
@pytest.mark.parametrize("start", [0.2149, 1.0, 5.0])
def test_rows_that_are_all_right_are_not_certain_however_sure_the_scores(link, size, start):
    """At low temperatures all log-probabilities of other classes are at the floor, and the log-loss is flat."""
    codes = np.repeat([0, 1], 10)
    scores = np.where(np.arange(2) == codes[:, None], size, -size).astype(np.float32)
    temperature, least = fit_temperature(link, held_out(scores, codes, np.ones(20)), start)
    q = 0.5 / 20.5
    assert least == pytest.approx(-20 * np.log(1 - q) - 0.5 * np.log(q), rel=0.01)
    p = np.exp(log_probabilities(link, scores.astype(float), temperature))
    assert p.min() == pytest.approx(q, rel=0.5)


@pytest.mark.parametrize("link", LINK_KERNELS)
@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0, 7.0])
@pytest.mark.parametrize("start", [1.0, 0.3, 15.0])
def test_temperature_is_the_minimum_but_for_a_step(link, spread, start):
    rng = np.random.default_rng(2)
    scores, codes, weight = example(rng, link, 400, spread=spread)
    temperature, least = fit_temperature(link, held_out(scores, codes, weight), start)
    assert least == log_loss(link, held_out(scores, codes, weight), temperature)
    best = minimize_scalar(
        lambda t: plain_log_loss(link, scores, codes, weight, np.exp(t)), bounds=np.log(TEMPERATURES), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    assert 1 / TEMPERATURE_STEP < temperature / np.exp(best.x) < TEMPERATURE_STEP
    assert best.fun * (1 - 1e-9) <= least <= best.fun * 1.01
    steps = np.log(temperature / start) / np.log(TEMPERATURE_STEP)
    assert steps == pytest.approx(round(steps), abs=1e-9)


def test_temperature_stays_within_its_range():
    rng = np.random.default_rng(3)
    scores, codes, weight = example(rng, "softmax", spread=1.0)
    cold, _ = fit_temperature("softmax", held_out(1e-3 * scores, codes, weight))
    hot, _ = fit_temperature("softmax", held_out(1e3 * scores, codes, weight), caution=False)
    assert TEMPERATURES[0] <= cold < TEMPERATURES[0] * TEMPERATURE_STEP
    assert TEMPERATURES[1] / TEMPERATURE_STEP < hot <= TEMPERATURES[1]
    assert fit_temperature("softmax", held_out(np.zeros_like(scores), codes, weight))[0] == 1.0  # nothing to gain: stay


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
        return Recipe(loss, trees, solver, 1e-3, 0.5, exponential, features=seen)


def kind_of(surrogate, rows, binner, folds, seed=0, workers=None, features=None, watching=()):
    """Plain members on these rows, which stand fold after fold."""
    link = {"exponential": "sigmoid2", "softmax": "softmax"}.get(surrogate)
    columns = Columns(rows.X_binned, binner.n_bins, binner.thresholds)
    n, d = rows.n_samples, rows.n_features
    table, folded = Table(np.zeros((n, d)), np.arange(n), columns), folded_rows(rows.costs, folds)
    made = Tried(Task(table, folded, surrogate, link, USUAL, seed, workers or Workers(), watching))
    made.features = features
    return made


def crossed(kind, n_rounds, n=None):
    """The members of all folds, or of the first n, and what they say together."""
    members = kind.members(0, n or kind.task.folded.n_folds)
    return cross_fit(kind, members, n_rounds, kind.workers), members


def trained(kind, fold, n_rounds):
    """A member, trained from checkpoint to checkpoint."""
    member = kind.member(fold)
    for rounds in (0, *checkpoints(n_rounds)):
        member.train([rounds])
    return member


def added(tree, vectors, X):
    """What a tree adds to the scores of raw rows, (n, D): one row after another, one node after another."""
    out = np.empty((len(X), vectors.shape[1]))
    for i, x in enumerate(X):
        node = 0
        while tree.left[node] != node:
            node = tree.left[node] + int(x[tree.feature[node]] > tree.threshold[node])
        out[i] = tree.value[node] * vectors[tree.vector[node]]
    return out


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
    assert fit.held.weight == fit.held.n_weighted == 59.0 and fit.held.n_rows == 60
    known = (y != 2).astype(float)
    expected = plain_log_loss("softmax", fit.held._scores, y, known, fit.temperature, 0)
    assert log_loss("softmax", fit.held, fit.temperature, caution=False) == pytest.approx(expected)


@pytest.mark.parametrize("surrogate", ["exponential", "gll"])
def test_cross_fitting_does_not_depend_on_threads(surrogate):
    rng = np.random.default_rng(8)
    X, y = make_data(rng, 240, 4, 3)
    rows, binner = make_rows(X, 1 - np.eye(3), y)
    folds, fits = np.arange(len(y)) * 3 // len(y), []
    for n_threads in (1, 3):
        with Workers(n_threads) as workers:
            kind = kind_of(surrogate, rows, binner, folds, 7, workers)
            fits.append((crossed(kind, 12)[0], kind.alone(12)))
    (one, alone), (other, alone_too) = fits
    assert one.n_rounds == other.n_rounds > 0 and one.temperature == other.temperature and one.judged == other.judged
    np.testing.assert_array_equal(one.held._scores, other.held._scores)
    for a, b in zip([*one.members, *alone.members], [*other.members, *alone_too.members], strict=True):
        identical(a, b)


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
        monkeypatch.setattr(defaults, name, 0)
    with Workers(n_threads) as workers:
        thrifty, members = crossed(kind_of(surrogate, rows, binner, folds, 7, workers), 30)
    assert all(len(member.rows.scores) == 0 and not member._scores for member in members)
    assert (usual.n_rounds, usual.temperature, usual.judged) == (thrifty.n_rounds, thrifty.temperature, thrifty.judged)
    np.testing.assert_array_equal(usual.held._scores, thrifty.held._scores)
    for a, b in zip(usual.members, thrifty.members, strict=True):
        identical(a, b)


def test_a_member_alone_learns_from_all_rows_and_is_kept_as_it_is():
    rng = np.random.default_rng(9)
    X, y = make_data(rng, 150, 4, 3)
    rows, binner = make_rows(X, 1 - np.eye(3), y, rng.uniform(0.5, 2, 150))
    one = kind_of("softmax", rows, binner, np.zeros(150, dtype=int), 3)
    fit = one.alone(9)
    identical(fit.members[0], boost(rows, one.recipe(rows, np.arange(4)), 9, 3))
    assert len(fit.members) == 1
    assert (fit.n_rounds, fit.temperature, fit.judged) == (9, 1.0, [])
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
        assert {j for tree, at in zip(made.trees, inner, strict=True) for j in tree.feature[at].tolist()} <= set(features)
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
    one.alone(5)
    assert (seen.begun, seen.rounds) == (4, 14 + 5)


# -- what members say together -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("surrogate", ["exponential", "softmax", "coupled", "gll"])
@pytest.mark.parametrize("n", [1, 3])
def test_rounds_and_temperature_are_those_of_least_loss_on_left_out_rows(surrogate, n, monkeypatch):
    """Of all folds, or of the first only."""
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
    seen = np.flatnonzero(folds < n)
    weight = rows.costs.weight[seen]
    assert fit.n_folds == n and fit.held.n_rows == len(seen) and fit.held.weight == pytest.approx(weight.sum())
    stages, total = [], weight.sum()
    again = [trained(one, fold, 18) for fold in range(n)]
    for rounds in (0, *checkpoints(18)):
        pooled = np.empty((240, 3))
        for fold, member in enumerate(again):
            pooled[folds == fold] = member.scores(rounds)
        stages.append(pooled[seen])
    assert [t for t, _ in fit.judged] == [0, *checkpoints(18)]
    link, losses = one.task.link, [loss for _, loss in fit.judged]
    grid = np.geomspace(*TEMPERATURES, 200)
    for scores, loss in zip(stages, losses, strict=True):
        if link is None:
            assert loss == pytest.approx(weight @ table[y[seen], scores.argmax(axis=1)] / total)
        else:
            best = min(plain_log_loss(link, scores, y[seen], weight, t, 0) for t in grid)
            assert best * 0.999 <= loss * total <= best * 1.01
    chosen = int(np.argmin(losses))
    assert fit.n_rounds == [0, *checkpoints(18)][chosen]
    np.testing.assert_array_equal(fit.held._scores, stages[chosen])
    if link is None:
        assert fit.temperature == 1.0
    else:
        found, *others = (plain_log_loss(link, stages[chosen], y[seen], weight, t) for t in (fit.temperature, *grid))
        assert found <= 1.005 * min(others)  # half a row of other classes in it


class Told:
    """Member whose left-out rows have these scores at the checkpoints."""

    def __init__(self, stages):
        self.stages, self.seconds, self.stretches, self.reached = stages, 1.0, [], -1

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
        folded = folded_rows(make_costs(1 - np.eye(2), y, np.ones(len(y))), folds)
        super().__init__(Task(table, folded, "gll", None, USUAL, 0, Workers()))


def test_members_go_on_together_until_the_best_round_is_long_past():
    y, folds = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    kind = ToldKind(y, folds)
    right, wrong = np.array([[1.0, 0], [0, 1]]), np.array([[0.0, 1], [1, 0]])
    stages, rounds = [wrong, wrong, right], [0, *checkpoints(100)]
    members = [Told(stages), Told([wrong, right])]
    fit = cross_fit(kind, members, 100, Workers())
    last = next(r for r in rounds if r > PATIENCE * 6 + GRACE_ROUNDS)
    assert fit.n_rounds == 6 and fit.judged[:4] == [(0, 1.0), (5, 0.5), (6, 0.0), (7, 0.0)]
    assert [r for r, _ in fit.judged] == members[0].trained == members[1].trained == [r for r in rounds if r <= last]
    np.testing.assert_array_equal(fit.held._scores, np.concatenate([right, right]))
    assert [made.trees for made in fit.members] == [[6], [6]] and fit.seconds == 2.0
    assert members[0].stretches == members[1].stretches == [[0, 5, 6], [7, 9, 12, last]]  # 5 + 5/4 of 0, and of 6
    with Workers(2) as workers:
        assert cross_fit(kind, [Told(stages), Told([wrong, right])], 100, workers).seconds == 1.0


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
    ("n", "d", "bins", "fine"),
    [(10, 20, 16, 16), (999, 20, 25, 25), (999, 2, 62, 62), (1000, 100, 16, 250), (6400, 100, 100, 256),
     (4096, 2, 256, 256), (4096, 8, 64, 256), (16_384, 100, 256, 256), (10**6, 1, 256, 256)],
)  # fmt: skip
def test_bins_follow_the_data(n, d, bins, fine):
    assert usual_bins("quantile", None, n, d) == (bins, fine)
    assert usual_bins("quantile", 7, n, d) == (7, 7)
    assert usual_bins("uniform", None, n, d) == (None, None)


# -- last rounds ---------------------------------------------------------------------------------------------------------
@given(st.integers(0, 1000), st.integers(1, 10**4))
def test_last_rounds_fit_into_what_is_asked_for(n_rows, most):
    """All rounds together are never more; those of the longest member are just as many."""
    first = first_rounds(n_rows, most)
    assert 1 <= first <= most and first + last_rounds(n_rows, first, most) == most
    for n_rounds in {0, 1, first // 2, first}:
        more = last_rounds(n_rows, n_rounds, most)
        assert more == (min(n_rounds // LAST_ROUNDS, most - n_rounds) if n_rows >= LAST_ROUNDS_FROM else 0) >= 0


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
    build = partial(SparseIndex.build, workers=Workers())
    assert columns.index(build).rows.tolist() == [3, 8] and columns.index(build) is columns.index(build)
    columns.reorder(np.arange(40)[::-1])
    assert columns.index(build).rows.tolist() == [31, 36]


@pytest.mark.parametrize(
    ("n", "K", "bins", "tiny"),
    [(1 << 15, 10, [2, 18], True), ((1 << 15) + 1, 10, [2, 18], False), (50, 11, [2, 2], False), (50, 2, [2, 19], False)],
)
@pytest.mark.parametrize("linear", [True, False])
def test_tiny_trees_are_for_few_values_classes_and_rows(n, K, bins, tiny, linear):
    y = np.arange(n, dtype=np.int32) % K
    columns = Columns(np.zeros((2, 1), dtype=np.uint8), np.array(bins), ())
    table = Table(np.zeros((n, 2)), np.arange(n), columns, None, lambda: (None, []) if linear else None)
    blind = folded_rows(make_costs(1 - np.eye(K), y, np.ones(n)), np.zeros(n, dtype=int))
    task = Task(table, blind, "softmax", "softmax", USUAL, 0, Workers())
    tried = [kind.name for cls in CHALLENGERS if cls.name != "smooth" and (kind := cls.of(task)) is not None and kind.ready()]
    expected = ["linear", "small", "tiny"]
    assert tried == [name for name in expected if (linear or name != "linear") and (tiny or name != "tiny")]


@pytest.mark.parametrize(
    ("stated", "d", "share"),
    [(None, 5, 0.4), (None, 400, 0.4), (None, 800, 0.2), (0.7, 800, 0.7), (40, 800, 0.05), (np.int64(40), 800, 0.05)],
)
def test_features_looked_at(stated, d, share):
    assert share_of(stated or usual_share(d), d) == pytest.approx(share)
    if stated is not None:
        assert n_drawn(stated, d) == round(share * d)


@pytest.mark.parametrize(
    ("n", "K", "leaves"), [(50, 3, 8), (300, 3, 15), (480, 3, 24), (2000, 3, 50), (17_499, 3, 64), (17_499, 26, 208),
     (17_500, 3, 175), (10**5, 26, 1000), (10**6, 10, 1023), (10**6, 100, 327), (10**6, 10**4, 64)]
)
def test_leaves_follow_the_rows_and_the_classes(n, K, leaves):
    assert usual_leaves(n, K, 20) == leaves
    wide = n > 1000  # with more than 2000 features
    assert usual_leaves(n, K, 10 * n) == (min(leaves, max(20, min(K, 64))) if wide else max(leaves, 16))
