"""Trees whose thresholds are drawn at random: the slow twin, the same bytes however rows are divided, and their kind."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from benchmarks.before_after import blobs
from minrisk import MinRiskClassifier
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import boost
from minrisk.ensemble import training
from minrisk.ensemble.trees import Random
from minrisk.rows import growth
from minrisk.rows.base import GrowthRule, Limits
from minrisk.rows.rows import Rows
from tests.helpers import naive
from tests.helpers.common import slow_after
from tests.helpers.pieces import PiecedRows, cuts_of
from tests.kernels.test_whole_round import assert_same, made, rows_and_recipe
from tests.learners.test_vector_trees import GAINS, bare_rows, grow, identical, random_problem, same_tree, seen_by
from tests.learners.test_vector_trees import drawn as drawn_features
from tests.rows.test_pieces import content


@pytest.mark.parametrize("seed", slow_after(12, range(30)))
def test_trees_equal_the_twin(seed):
    rng = np.random.default_rng(seed)
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(seed, n_bagged=rng.choice([0.6, 1.0]))
    features, tree_seed = np.arange(len(X_binned)), int(rng.integers(1 << 62))
    rule = GrowthRule(
        int(rng.integers(2, 20)),
        int(rng.choice([2, 3, 64])),
        int(rng.choice([1, 1, 3])),
        int(rng.integers(1, len(features) + 1)),
        random=True,
    )
    rows = bare_rows(
        X_binned, n_bins, gradient, hessian, in_bag, limits=Limits(large_leaf=int(rng.choice([1, 10, 4096])))
    )
    grown = grow(rows, target, rule, seed=tree_seed)
    tree = naive.grow_leafwise(
        {v: k for k, v in GAINS.items()}[target.gain],
        X_binned,
        *seen_by(target, gradient, hessian),
        target.ridge,
        in_bag,
        rule.max_leaves,
        rule.max_depth,
        rule.min_leaf,
        features_of=lambda node: drawn_features(features, rule.n_drawn, tree_seed, node),
        drawn=partial(naive.drawn_bin, tree_seed),
    )
    same_tree(grown, rows, tree)


def test_every_threshold_but_one_above_all_rows_is_drawn_as_often():
    drawn = [naive.drawn_bin(seed, node, 3, 5, 9) for seed in range(200) for node in range(20)]
    counts = np.bincount(drawn, minlength=11)
    assert counts[5:9].sum() == 4000 and np.all(abs(counts[5:9] - 1000) < 5 * np.sqrt(750))


@pytest.mark.parametrize("kind", GAINS)
def test_kernels_histograms_subtraction_and_threads_grow_the_same_tree(kind):
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(1, kind, 2000, 0.8)
    target = target._replace(ridge=np.full_like(target.ridge, 1e-9))
    for n_drawn in (len(X_binned), len(X_binned) // 2):
        rule, found = GrowthRule(30, 64, 3, n_drawn, random=True), []
        for large in (4096, 1, 300):
            for n_threads in (1, 2):
                with Workers(n_threads) as workers:
                    limits = Limits(large, 1 << 30, inline_work=0)
                    rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag, workers, limits=limits)
                    found.append((grow(rows, target, rule, seed=3), rows.leaf, *rows.leaf_sums()))
        assert len(found[0][0].leaf_node) == 30
        for other in found[1:]:
            assert identical(other[0], found[0][0]) and identical(other[1:], found[0][1:])


@pytest.mark.parametrize("sketch", [None, 1, 2])
def test_a_whole_round_makes_the_same_bits_as_its_parts(sketch, monkeypatch):
    rows, recipe = rows_and_recipe(2, 120, 3, sketch=sketch, random=True)
    whole = made(rows, recipe, (1, 8), True, monkeypatch)
    other, recipe = rows_and_recipe(2, 120, 3, sketch=sketch, random=True)
    assert_same(whole, made(other, recipe, (8,), False, monkeypatch))
    plain, recipe = rows_and_recipe(2, 120, 3, sketch=sketch)
    assert boost(plain, recipe, 1, 5).trees[0].bin.tolist() != whole.trees[0].bin.tolist()


@pytest.fixture
def only_random(monkeypatch):
    """Random members beside the plain ones, and no others."""
    monkeypatch.setattr(training, "CHALLENGERS", (Random,))


@pytest.mark.parametrize(("most", "share", "sketch"), [(0, 1.0, 2), (0, 0.5, 1), (0, 0.5, None), (1 << 17, 0.5, 1)])
def test_rows_in_pieces_make_the_same_trees(most, share, sketch, monkeypatch):
    """By exchanges of every node's histograms, or all rows at one piece."""
    monkeypatch.setattr(growth, "SENT_ROWS", most)
    rows, recipe = rows_and_recipe(5, 150, 3, sketch=sketch, max_features=share, random=True)
    columns = {"X_binned": rows.X_binned, "n_bins": rows.n_bins, "costs": rows.costs, "workers": Workers()}
    pieced = PiecedRows(Rows, cuts_of(150, 4), **columns)
    assert_same(boost(Rows(**columns), recipe, 6, 5), boost(pieced, recipe, 6, 5))


@pytest.mark.usefixtures("only_random")
def test_threads_and_sparse_rows_make_the_same_model(tmp_path):
    X, y = blobs(300, seed=4)
    X = np.where(X > np.median(X), X, 0.0)

    def fit(X, n_jobs):
        return content(MinRiskClassifier(n_estimators=6, random_state=0, n_jobs=n_jobs).fit(X, y), tmp_path)

    assert fit(X, 1) == fit(X, 2)
    assert MinRiskClassifier(n_estimators=6, random_state=0).fit(csr_matrix(X), y).decision_function(X).tolist() == (
        MinRiskClassifier(n_estimators=6, random_state=0).fit(X, y).decision_function(X).tolist()
    )
