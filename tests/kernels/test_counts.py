"""Trees of more rows than a count has bits beside a sum of Hessians."""

import itertools

import numpy as np
import pytest

from minrisk import MinRiskClassifier
from minrisk._kernels import grow as kernels
from minrisk._kernels._dtypes import COUNT_BITS
from minrisk._kernels.structures import Search
from minrisk.rows import growth
from minrisk.rows.base import GrowthRule
from tests.helpers import naive
from tests.rows.test_search_rows import bare_rows, grow, random_problem, same_tree, seen_by


def naive_best(histogram, unit, ridge, min_leaf):
    """Largest fall of the squared error over thresholds, in Python's whole numbers: value and bin."""

    def of(part):
        total = [sum(int(row[c]) for row in part) for c in range(4)]
        squares = sum((total[c] * unit[c]) ** 2 for c in range(2))
        return squares / (total[2] * unit[2] + ridge), total[3]

    found = (of(histogram)[0], -1)
    occupied = [b for b, row in enumerate(histogram) if row[3]]
    for a, b in itertools.pairwise(occupied):
        (left, n), (right, m) = of(histogram[: a + 1]), of(histogram[b:])
        if min(n, m) >= min_leaf and left + right > found[0] * (1 + 1e-7):
            found = left + right, (a + b) // 2
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("min_leaf", [1, 1 << 29])
def test_sums_over_two_billion_rows(seed, min_leaf):
    """Histograms of 2^31 - 1 rows, which no packed count holds: the twin's split, by counts as well."""
    rng = np.random.default_rng(seed)
    n, bins = 2**31 - 1, 7
    counts = np.diff(np.sort(rng.integers(0, n, bins - 1)), prepend=0, append=n)
    assert counts.max() >= 1 << COUNT_BITS
    histogram = np.zeros((1, 256, 4), dtype=np.int64)
    histogram[0, :bins, 3] = counts
    histogram[0, :bins, 2] = counts * (rng.random(bins) * 2**28).astype(np.int64)  # up to 2^59 in all
    histogram[0, :bins, :2] = counts[:, None] * rng.normal(scale=2.0**20, size=(bins, 2)).astype(np.int64)
    unit, ridge, total = np.array([2.0**-20, 2.0**-20, 2.0**-28, 1.0]), np.array([3.0]), histogram[0].sum(axis=0)
    search = Search(np.array([0]), 1, False, 0, unit, ridge, kernels.COUNT_APART, min_leaf, 0.0, 64)
    value, feature, where = kernels.evaluate_histograms(histogram, np.array([0]), np.array([bins]), total, search, 0)
    assert kernels.count_of(total, kernels.COUNT_APART) == n
    expected, threshold = naive_best(histogram[0, :bins], unit, 3.0, min_leaf)
    assert where == threshold and (feature == 0) == (threshold >= 0)
    assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("large", [10, 4096])
def test_trees_with_counts_of_their_own_are_the_twins(seed, large, monkeypatch):
    monkeypatch.setattr(growth, "PACKED_ROWS", 0)
    X_binned, n_bins, gradient, hessian, in_bag, target = random_problem(seed, "sketch", 150, 0.8 if seed % 2 else 1.0)
    rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag)
    grown = grow(rows, target, GrowthRule(12, 64, 2, len(X_binned), None), seed=1)
    assert rows._growth._columns.shape[1] == len(target.directions) + 2
    tree = naive.grow_leafwise("sketch", X_binned, *seen_by(target, gradient, hessian), target.ridge, in_bag, 12, 64, 2)
    same_tree(grown, rows, tree)


@pytest.mark.parametrize("options", [{}, {"search_rows": 50}, {"sketch": 1, "max_features": 1.0}, {"subsample": 0.5}])
def test_models_hardly_depend_on_where_rows_are_counted(options, monkeypatch):
    """Hessians have more bits where counts have a column: splits are the same unless they tie."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = (X[:, :3] + rng.normal(scale=0.3, size=(600, 3))).argmax(axis=1)
    model = MinRiskClassifier(n_estimators=8, pool=False, random_state=0, cv=1, **options)
    packed = model.fit(X, y).decision_function(X)
    monkeypatch.setattr(growth, "PACKED_ROWS", 0)
    monkeypatch.setattr("minrisk.rows.rows.whole_rounds", lambda *_: None)
    counted = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(counted, packed, rtol=1e-6, atol=1e-6)


def test_as_many_rows_as_int32_numbers(monkeypatch):
    X_binned, n_bins, gradient, hessian, in_bag, _ = random_problem(0, "sketch", 150)
    rows = bare_rows(X_binned, n_bins, gradient, hessian, in_bag)
    growth.Growth(rows)
    monkeypatch.setattr(growth, "MOST_ROWS", 100)
    with pytest.raises(ValueError, match="at most 100 rows, got 150"):
        growth.Growth(rows)
