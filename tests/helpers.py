"""Small data and parts for tests of the core."""

from dataclasses import fields

import numpy as np

from minrisk._workers import Workers
from minrisk.boosting.loop import Recipe
from minrisk.costs.units import AvoidableCosts
from minrisk.data.binning import fit_binner
from minrisk.io.schema import GROUPS, check_range, check_shape, named_sizes
from minrisk.learners.greedy_tree import GreedyTrees
from minrisk.losses.coupled import CoupledLoss
from minrisk.model.stored_trees import read_trees, stored
from minrisk.rows.costs import RowCosts
from minrisk.rows.factory import binned_rows
from minrisk.rows.limits import LIMITS
from minrisk.rows.local.folded import LocalFoldedRows, LocalHeldOut
from minrisk.rows.local.rows import LocalRows
from minrisk.steps.closed_form import ClosedFormStep
from minrisk.steps.newton import NewtonStep


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


def coupled_loss(costs, base, offset):
    """The coupled loss with what it keeps of the lines of a cost table."""
    return CoupledLoss(base, offset).for_costs(costs)


def held_out(scores, codes, weight=None):
    """Scores of left-out rows, in their precision. Another fold has a row of each class, so that all of them judge."""
    (n, K), weight = scores.shape, np.ones(len(scores)) if weight is None else weight
    label, mass = np.concatenate([codes, np.arange(K)]), np.concatenate([weight, np.full(K, weight.max())])
    folded = LocalFoldedRows(make_costs(1 - np.eye(K), label, mass), np.repeat([0, 1], [n, K]), binned_rows)
    return LocalHeldOut(folded, scores, 1)


def make_rows(X, table, row, weight=None, blocks=None, n_threads=1, label=None, limits=LIMITS):
    """LocalRows of raw data, and the binner."""
    weight = np.ones(len(X)) if weight is None else weight
    binner = fit_binner(X)
    costs = make_costs(table, row, weight, label)
    return LocalRows(binner.transform(X), binner.n_bins, costs, Workers(n_threads), blocks, limits=limits), binner


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


def check_packed(packed, n_features, **changes):
    """Compare packed learners, with some arrays changed, with the schema of model files, as loading does."""
    similar = hasattr(packed, "anchors")
    arrays = {field.name: getattr(packed, field.name) for field in fields(packed)} if similar else stored_arrays(packed)
    n_vectors = int(packed.vector_offsets[-1])
    arrays |= changes
    groups = ("similarities",) if similar else ("trees", "values", "lines")
    parts = {name: part for group in groups for name, part in GROUPS[group].items() if name in arrays}
    known = {"features": n_features, "vectors": n_vectors}
    sizes = named_sizes(parts, {name: (array.dtype, array.shape) for name, array in arrays.items()}, known)
    for name, part in parts.items():
        check_shape(name, part, arrays[name].shape, sizes)
        check_range(name, part, arrays[name], sizes)
    if similar:
        type(packed)(**arrays).check()
        return
    again = read_trees(arrays.get, n_vectors)
    for field in fields(packed) if not changes else ():
        np.testing.assert_array_equal(getattr(again, field.name), getattr(packed, field.name))


def stored_arrays(packed):
    """The arrays of packed trees that a file has."""
    return {name: make() for name, make in stored(packed).items()}
