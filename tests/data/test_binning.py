"""Bins and thresholds: the laws that prediction on raw values relies on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from minrisk._utils.workers import Workers
from minrisk.data.binning import fit_binner

values = st.floats(-1e6, 1e6) | st.just(float("nan")) | st.sampled_from([0.0, -0.0, 1.0, 1e-300, 5e-324])
columns = st.integers(1, 40).flatmap(lambda n: arrays(np.float64, (n, 2), elements=values))


@settings(max_examples=200, deadline=None)
@given(columns, st.sampled_from(["quantile", "uniform"]), st.integers(2, 256))
def test_a_bin_above_b_is_a_value_above_threshold_b(X, strategy, max_bins):
    binner = fit_binner(X, strategy, max_bins)
    binned = binner.transform(X)
    for j, thresholds in enumerate(binner.thresholds):
        assert len(thresholds) < max_bins and np.all(np.diff(thresholds) > 0)
        for b, threshold in enumerate(thresholds):
            np.testing.assert_array_equal(binned[j] > b, X[:, j] > threshold)
        if len(thresholds):
            assert 0 < np.sum(binned[j] > 0) or strategy == "uniform"


def test_few_distinct_values_get_all_midpoints():
    X = np.array([[3.0], [1.0], [1.0], [2.0]])
    np.testing.assert_array_equal(fit_binner(X).thresholds[0], [1.5, 2.5])


def test_neighbouring_floats_are_told_apart():
    a = 1.0
    X = np.array([[a], [np.nextafter(a, 2)]])
    np.testing.assert_array_equal(fit_binner(X).transform(X), [[0, 1]])


def test_uniform_is_two_hundred_inner_thresholds():
    X = np.linspace(0, 201, 1000)[:, None]
    thresholds = fit_binner(X, "uniform").thresholds[0]
    np.testing.assert_allclose(thresholds, np.arange(1, 201))


def test_quantile_bins_hold_even_shares():
    X = np.random.default_rng(0).lognormal(size=(100_000, 1))
    counts = np.bincount(fit_binner(X).transform(X)[0])
    assert len(counts) == 256 and counts.min() > 300 and counts.max() < 500


def test_a_weight_counts_as_that_many_rows():
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(2000, 2)), rng.integers(0, 4, 2000)
    weighted = fit_binner(X, weight=weight.astype(float))
    repeated = fit_binner(np.repeat(X, weight, axis=0))
    for a, b in zip(weighted.thresholds, repeated.thresholds, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(5))
def test_weights_with_fractions_are_added_exactly(seed):
    """No order of the rows decides a tie between two boundaries, and equal weights are as good as none."""
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(600, 8)).round(2), rng.choice([0.1, 0.2, 0.7], 600)
    order = rng.permutation(600)
    for max_bins in (2, 7, 24):
        found = fit_binner(X, "quantile", max_bins, weight=weight).thresholds
        again = fit_binner(X[order], "quantile", max_bins, weight=weight[order]).thresholds
        alike = fit_binner(X, "quantile", max_bins, weight=np.full(600, 0.1)).thresholds
        plain = fit_binner(X, "quantile", max_bins).thresholds
        for j in range(8):
            np.testing.assert_array_equal(found[j], again[j])
            np.testing.assert_array_equal(alike[j], plain[j])


def test_missing_values_can_be_split_from_all_others():
    X = np.array([[np.nan], [1.0], [2.0]])
    binner = fit_binner(X)
    np.testing.assert_array_equal(binner.thresholds[0], [-np.inf, 1.5])
    np.testing.assert_array_equal(binner.transform(X), [[0, 1, 2]])
    assert len(fit_binner(np.full((3, 1), np.nan)).thresholds[0]) <= 1


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float16, np.bool_])
def test_any_real_dtype(dtype):
    X = (np.arange(60).reshape(20, 3) % 7).astype(dtype)
    binner = fit_binner(X)
    np.testing.assert_array_equal(binner.transform(X), fit_binner(X.astype(float)).transform(X.astype(float)))


def test_threads_and_row_selection():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 150))
    rows = np.sort(rng.choice(500, 200, replace=False))
    with Workers(2) as workers:
        binner = fit_binner(X, rows=rows, workers=workers)
        binned = binner.transform(X, rows, workers)
    np.testing.assert_array_equal(binned, fit_binner(X[rows]).transform(X[rows]))


def test_many_rows_are_sampled_evenly():
    X = np.arange(400_001, dtype=float)[:, None]
    counts = np.bincount(fit_binner(X).transform(X)[0], minlength=256)
    assert counts.max() < 1.05 * counts.min()
