"""Small data and parts for tests of the core."""

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest

from minrisk._utils.workers import Workers
from minrisk.boosting.loop import Recipe
from minrisk.costs.units import AvoidableCosts
from minrisk.data.binning import fit_binner
from minrisk.ensemble import training
from minrisk.io.arrays import BLOCK, Planes, made
from minrisk.io.packed_trees import read_trees, stored
from minrisk.io.schema import GROUPS, check_range, check_shape, named_sizes
from minrisk.learners.greedy_tree import GreedyTrees
from minrisk.losses.coupled import CoupledLoss
from minrisk.model.rounded_vectors import shortened
from minrisk.model.trees import by_levels
from minrisk.rows.base import LIMITS
from minrisk.rows.costs import RowCosts
from minrisk.rows.folded import FoldedRows, HeldOut
from minrisk.rows.row_losses import LossColumns
from minrisk.rows.rows import Rows
from minrisk.steps.closed_form import ClosedFormStep, NewtonStep

COST = np.array([[0, 1, 4], [2, 0, 1], [9, 3, 0.0]])


def overlapping(seed, n=60, K=3):
    """Features without ties, overlapping classes and weights."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(K), rng.integers(0, K, n - K)]
    return rng.normal(size=(n, 3)) + y[:, None] * [1.0, -0.5, 0.0], y, rng.uniform(0.5, 2.0, n)


def five_points(function, step=1e-2):
    """A function's value at 0 with its first and second derivative, by five of its values."""
    at = [function(i * step) for i in (-2, -1, 0, 1, 2)]
    first = (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / (12 * step)
    return at[2], first, (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * step**2)


def slow_after(n, cases):
    """The first cases as they are, and the others marked slow."""
    cases = list(cases)
    rest = (case if isinstance(case, tuple) else (case,) for case in cases[n:])
    return [*cases[:n], *(pytest.param(*case, marks=pytest.mark.slow) for case in rest)]


def fits_of(X, y):
    """A function that fits classifiers to these rows, equal ones once: for tests that change none."""
    made = {}

    def fitted(model):
        if repr(model) not in made:
            made[repr(model)] = model.fit(X, y)
        return made[repr(model)]

    return fitted


def slow_but(kept, cases):
    """The cases that are kept as they are, and the others marked slow."""
    return [case if case in kept else pytest.param(case, marks=pytest.mark.slow) for case in cases]


def crossed(*lists):
    """All combinations of values; marked slow are those with more than one value that is not the first of its list."""
    firsts = [[number == 0 for number, _ in enumerate(values)] for values in lists]
    return [
        pytest.param(*case, marks=[pytest.mark.slow] if first.count(False) > 1 else [])
        for case, first in zip(itertools.product(*lists), itertools.product(*firsts), strict=True)
    ]


def few_are_many(monkeypatch, n_rows):
    """From so many rows on folds are drawn by numbers, as from 20 000 on."""
    monkeypatch.setattr("minrisk.ensemble.folds.MANY_ROWS", n_rows)


def without_kinds(monkeypatch, *names):
    """`MinRiskClassifier` tries no members of these kinds."""
    kinds = tuple(kind for kind in training.CHALLENGERS if kind.name not in names)
    monkeypatch.setattr(training, "CHALLENGERS", kinds)


def random_costs(rng, K, D=None, kind="general"):
    """A cost table (K, D) with zeros where class i is decided as i."""
    D = D or K
    table = {
        "01": np.ones((K, D)),
        "general": rng.uniform(0.1, 10, (K, D)),
        "lognormal": np.exp(2 * rng.normal(size=(K, D))),
    }[kind]
    np.fill_diagonal(table, 0)
    return table


def make_data(rng, n=200, d=4, K=3):
    """Features with a dense, a sparse (mostly one value), a coarse and a constant column among them."""
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None] * rng.normal(size=d)
    if d > 1:
        X[:, 1] = np.where(rng.random(n) < 0.85, 0.0, X[:, 1])
    if d > 2:
        X[:, 2] = np.round(X[:, 2])
    if d > 3:
        X[:, 3] = 7.0
    return X, y


def make_costs(table, row, weight, label=None):
    """RowCosts of plain arrays; without labels the rows of the table are the classes."""
    row = np.asarray(row).astype(np.int32)
    label = row if label is None else np.asarray(label).astype(np.int32)
    return RowCosts(np.ascontiguousarray(table, dtype=float), row, weight, label)


def loss_columns(costs, scores, log_scale=0.0, in_bag=None):
    """What a loss reads of rows, with room for what it fills."""
    in_bag = np.ones(len(scores), dtype=bool) if in_bag is None else in_bag
    filled = np.empty_like(scores), np.empty_like(scores), np.empty(len(scores))
    return LossColumns(costs, scores, log_scale, *filled, in_bag)


def coupled_loss(costs, base, offset):
    """The coupled loss with what it keeps of the lines of a cost table."""
    return CoupledLoss(base, offset).for_costs(costs)


def held_out(scores, codes, weight=None):
    """Scores of left-out rows, in their precision. Another fold has a row of each class, so that all of them judge."""
    (n, K), weight = scores.shape, np.ones(len(scores)) if weight is None else weight
    label, weights = np.concatenate([codes, np.arange(K)]), np.concatenate([weight, np.full(K, weight.max())])
    folded = FoldedRows(make_costs(1 - np.eye(K), label, weights), np.repeat([0, 1], [n, K]))
    return HeldOut(folded, scores, 1)


def make_rows(X, table, row, weight=None, blocks=None, n_threads=1, label=None, limits=LIMITS):
    """Rows of raw data, and the binner."""
    weight = np.ones(len(X)) if weight is None else weight
    binner = fit_binner(X)
    costs = make_costs(table, row, weight, label)
    return Rows(binner.transform(X), binner.n_bins, costs, Workers(n_threads), blocks, limits=limits), binner


def make_recipe(rows, binner, base="exponential", offset="paper", max_depth=2, **other):
    """REBEL's parts."""
    return Recipe(
        coupled_loss(rows.costs, base, offset),
        GreedyTrees(max_depth, binner.thresholds),
        ClosedFormStep() if base == "exponential" else NewtonStep(),
        **{"smoothing": 1e-3, **other},
    )


def in_units(table):
    """Costs as losses see them."""
    return AvoidableCosts.of(np.asarray(table, dtype=float), np.arange(len(table))).table


def check_packed(packed, n_features):
    """Compare packed trees with the schema of model files, as loading does, and with what is read again."""
    ordered, _ = by_levels(packed, np.zeros((int(packed.vector_offsets[-1]), 1)))
    short = ordered if packed.gain.dtype == np.float64 else replace(ordered, gain=shortened(ordered.gain))
    assert_same(in_a_file(ordered, n_features), short)


def check_arrays(arrays, groups, n_features, n_vectors):
    """Compare arrays with what the schema says of those of their names."""
    groups = [groups[name] for name in ("trees", "values", "lines", "similarities") if name in groups]
    parts = {name: part for group in groups for name, part in group.items() if name in arrays}
    assert parts.keys() == arrays.keys()
    known = {"features": n_features, "vectors": n_vectors}
    sizes = named_sizes(parts, {name: (array.dtype, array.shape) for name, array in arrays.items()}, known)
    for name, part in parts.items():
        check_shape(name, part, arrays[name].shape, sizes)
        check_range(name, part, numbers_of(name, arrays[name]), sizes)


def assert_same(one, other):
    """Of packed trees: all arrays are equal, and of the same dtypes."""
    for field in fields(other):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        assert (mine is None) == (theirs is None), field.name
        if theirs is not None:
            np.testing.assert_array_equal(mine, theirs, err_msg=field.name)


def numbers_of(name, array):
    """The numbers that an array of a file codes, if it is of bytes; else the array."""
    of = {name: part for group in GROUPS.values() for name, part in group.items()}
    coding = of[name].coding if name in of else None
    return array if coding is None else coding.numbers(array.copy())


def in_a_file(packed, n_features):
    """Trees as they are read again from the arrays that a file has of them."""
    arrays = stored_arrays(packed)
    n_vectors = int(packed.vector_offsets[-1])
    check_arrays(arrays, GROUPS, n_features, n_vectors)
    return read_trees(
        lambda name: numbers_of(name, arrays[name]) if name in arrays else None, n_vectors, lambda _: None
    )


def stored_arrays(packed):
    """The arrays of packed trees, which are ordered by levels, that a file has."""
    return {name: as_array(made(array)) for name, array in stored(packed).items()}


def as_array(array):
    """An array of a file that may be planes of bytes."""
    if not isinstance(array, Planes):
        return array
    n, width = array.shape
    planes = [
        np.concatenate([array.plane(b, low) for low in range(0, n, BLOCK)] or [np.empty(0)]) for b in range(width)
    ]
    return np.column_stack(planes).astype(np.uint8).reshape(n, width)
