"""Logistic REBEL's argmin over f and a (Sec. 3): every stump's best vector found slowly, and the bounds that spare it."""

import numpy as np
import pytest

from minrisk import REBELClassifier
from minrisk._kernels._dtypes import EXACT_ROWS
from minrisk._kernels.split import SEVENTH
from minrisk._utils.workers import Workers
from minrisk.data.binning import fit_binner
from minrisk.rows.costs import RowCosts
from minrisk.rows.factory import make_rows
from minrisk.rows.rows import Rows
from tests.algorithms.test_rebel_exact import as_twin, close, random_cost, shape
from tests.helpers import naive
from tests.helpers.common import coupled_loss, crossed, slow_after

LARGEST_STEP = 18.0
HALVINGS = 36  # until 1e-9 is left, whose square the loss differs by


def least_losses(s, H, F):
    """min over a in [-18, 18] of the loss at H + f a, for every response f (S, n) and output, (S, D), by bisection."""
    omega = s.weights[:, None]
    low, high = np.full((2, len(F), H.shape[1]), LARGEST_STEP)
    low = -low
    for _ in range(HALVINGS):
        a = (low + high) / 2
        Z = H + F[:, :, None] * a[:, None]
        up = omega * (s.c_plus * naive.base_slope("logistic", Z) - s.c_minus * naive.base_slope("logistic", -Z))
        rising = (up * F[:, :, None]).sum(axis=1) > 0
        low, high = np.where(rising, low, a), np.where(rising, a, high)
    Z = H + F[:, :, None] * a[:, None]
    up, down = naive.base_function("logistic", Z), naive.base_function("logistic", -Z)
    return (omega * (s.c_plus * up + s.c_minus * down)).sum(axis=1)


def best_stump(s, H, X, edges):
    """The stump whose best vector leaves the least loss, its fall, and that of the runner-up."""
    candidates = list(naive.stumps(edges))
    F = np.array([naive.predict(stump, X) for stump in candidates])
    falls = naive.entry_losses(s, H).sum() - least_losses(s, H, F).sum(axis=1)
    ahead = np.flatnonzero(falls >= falls.max() * (1 - 1e-11))
    return candidates[ahead[0]], falls


@pytest.mark.parametrize("seed", slow_after(10, range(24)))
def test_every_round_begins_with_the_stump_of_the_largest_fall(seed):
    rng = np.random.default_rng(seed)
    K, d, n, depth = int(rng.integers(2, 6)), int(rng.integers(1, 5)), int(rng.integers(20, 61)), 1 + seed % 2
    X = rng.normal(size=(n, d))
    y = np.concatenate([np.arange(K), (X[:, 0] * 2 + rng.normal(size=n)).argsort().argsort()[K:] * K // n])
    kind = ("zero-one", "integer", "asymmetric", "rows", "refer")[seed % 5]
    cost = random_cost(rng, kind, y, K)
    rows = 1 - np.eye(K)[y] if cost is None else cost if kind == "rows" else cost[y]
    weights = rng.uniform(0.2, 3.0, n)
    edges = naive.midpoint_edges(X)
    settings = {"smoothing": 1e-3, "learning_rate": 0.7, "max_depth": depth}
    model = REBELClassifier(
        None if kind == "rows" else cost,
        loss="logistic",
        offset="paper",
        fit_intercept=False,
        n_estimators=8,
        **settings,
    ).fit(X, y, sample_weight=weights, cost=cost if kind == "rows" else None)
    s, H = naive.surrogate(rows, weights, "logistic", "paper"), np.zeros(rows.shape)
    others = 0
    for tree, vector in zip(model.model_.learners, model.model_.vectors, strict=True):
        root, _ = best_stump(s, H, X, edges)
        others += root != naive.best_stump(s, H, X, edges)[0]
        want = naive.one_round(s, H, X, edges, root=root, **settings)
        assert shape(as_twin(tree)) == shape(want.learner)
        assert close(vector, want.vector, np.abs(want.vector).max())
        H = H + np.outer(naive.predict(want.learner, X), want.vector)
    assert model.n_iter_ == 8 or naive.one_round(s, H, X, edges, root=best_stump(s, H, X, edges)[0], **settings) is None
    OTHERS.append(others)


OTHERS = []


def test_the_quadratic_search_takes_others():
    """Else this file would test nothing."""
    if len(OTHERS) == 24:  # all of them ran in this process
        assert sum(OTHERS) > 5


def rows_at(n, seed, scale, K=4):
    """Rows at random scores, what the twin needs of them, and the responses of all their stumps."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1 if n > 500 else 2)
    y = rng.integers(0, K, n)
    cost = rng.uniform(0.1, 2.0, (K, K)) * (1 - np.eye(K))
    weight = rng.uniform(0.5, 2.0, n)
    costs = RowCosts(cost, y.astype(np.int32), weight, y.astype(np.int32)).read_only()
    loss = coupled_loss(costs, "logistic", "paper")
    workers = Workers(1)
    binner = fit_binner(X, "quantile", None, None, None, workers)
    rows = make_rows(Rows, X, None, binner, costs, workers)
    rows.shift(rng.normal(size=K))
    rows.scores += scale * rng.normal(size=(n, K))
    rows.gradients(loss, 0.0)
    return rows, loss, naive.surrogate(cost[y], weight, "logistic", "paper"), X, binner.thresholds


@pytest.mark.parametrize(("n", "scale"), crossed([60, 400, EXACT_ROWS + 500], [1.0, 0.0, 4.0]))
def test_bounds_hold_and_miss_no_stump(n, scale):
    rows, loss, s, X, edges = rows_at(n, 3, scale)
    found = rows.stump_bounds(loss, rows.weigh(None), np.arange(3))
    chosen, H = list(naive.stumps(edges)), rows.scores
    chosen = (
        chosen
        if n < 500
        else chosen[::70]
        + [
            naive.Split(j, b, edges[j][b], naive.Leaf(-1.0), naive.Leaf(1.0))
            for j, b in zip(found.feature, found.bin, strict=True)
        ]
    )
    F = np.array([naive.predict(stump, X) for stump in chosen])
    falls = naive.entry_losses(s, H).sum(axis=0) - np.concatenate([least_losses(s, H, f[None]) for f in F])
    known = {stump[:2]: fall for stump, fall in zip(chosen, falls, strict=True)}
    slack = 1e-7 * falls.sum(axis=1).max()
    for j, b, low, high in zip(found.feature, found.bin, found.low, found.high, strict=True):
        assert np.all(low <= known[j, b] + slack)
        assert np.all(high >= known[j, b] - slack)
    best = max(known, key=lambda place: known[place].sum())
    assert best in set(zip(found.feature.tolist(), found.bin.tolist(), strict=True))


def test_losses_along_stumps_are_those_of_the_scores():
    rows, loss, s, X, edges = rows_at(200, 1, 1.0)
    rng = np.random.default_rng(0)
    feature, output, step = rng.integers(0, 3, 30), rng.integers(0, 4, 30), rng.normal(size=30)
    bin_ = np.array([rng.integers(len(edges[j])) for j in feature])
    told = rows.stump_slopes(loss, feature, bin_, output, step)
    for p in range(30):
        f = np.where(X[:, feature[p]] > edges[feature[p]][bin_[p]], 1.0, -1.0)

        def value(a, k=output[p], f=f):
            return naive.entry_losses(s, rows.scores + f[:, None] * a)[:, k].sum()

        a, h = step[p], 1e-3
        five = [value(a + i * h) for i in (-2, -1, 0, 1, 2)]
        assert told[0, p] == pytest.approx(five[2], rel=1e-13)
        assert told[1, p] == pytest.approx(
            (five[0] - 8 * five[1] + 8 * five[3] - five[4]) / (12 * h), abs=1e-8 * five[2]
        )
        second = (-five[0] + 16 * five[1] - 30 * five[2] + 16 * five[3] - five[4]) / (12 * h * h)
        assert told[2, p] == pytest.approx(second, abs=1e-6 * five[2])


def test_derivatives_are_bounded_by_the_second():
    """With s = p q: d s / d h = s (1 - 2p), and (1 - 2p)^2 = 1 - 4 s."""
    s = np.linspace(0, 0.25, 1_000_001)
    root = np.sqrt(1 - 4 * s)
    factors = [root, 1 - 6 * s, root * (1 - 12 * s), 1 - 30 * s + 120 * s**2, root * (1 - 60 * s + 360 * s**2)]
    assert all(np.abs(factor).max() <= 1 for factor in factors[:4])
    assert SEVENTH - 1e-3 < np.abs(factors[4]).max() <= SEVENTH
    h, step = np.linspace(-6, 6, 41), 0.02
    sigma = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    p = sigma(h)
    for factor, order in zip((1 - 2 * p, 1 - 6 * p * (1 - p)), (2, 3), strict=True):  # of sigmoid'
        points = [sigma(h + i * step) for i in (-2, -1, 0, 1, 2)]
        numeric = {
            2: (points[1] - 2 * points[2] + points[3]) / step**2,
            3: (points[4] - 2 * points[3] + 2 * points[1] - points[0]) / (2 * step**3),
        }[order]
        np.testing.assert_allclose(numeric, p * (1 - p) * factor, atol=2e-4)
