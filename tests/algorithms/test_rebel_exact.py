"""The package's REBEL against the slow twin of `naive.py`, round by round, on 200 random small problems.

Every comparison is to 1e-9 relative: the choice of every split, every vector and the loss after every round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from minrisk import REBELClassifier
from tests.helpers import naive
from tests.helpers.common import check_packed, slow_after

N_PROBLEMS = 200
N_ROUNDS = 20
RTOL = 1e-9
LOSSES = ("exponential", "logistic", "squared")
OFFSETS = ("paper", "tight")
KINDS = ("zero-one", "scaled", "integer", "asymmetric", "wide", "refer", "rows", "rows refer")


class Problem(NamedTuple):
    """Data, costs and settings; `cost_rows (n, D)` are what the twin is given."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    kind: str
    cost: np.ndarray | None
    cost_rows: np.ndarray
    sample_weight: np.ndarray | None
    edges: list[np.ndarray]
    settings: dict
    binning: dict


def random_cost(rng, kind, y, K):
    """The cost as given to the package: None, (K, D), or (n, D) for the kinds "rows ..."."""
    off = 1.0 - np.eye(K)
    if kind == "zero-one":
        return None
    if kind == "scaled":
        return 0.3 * off
    if kind == "integer":
        return rng.integers(1, 11, size=(K, K)) * off
    if kind == "asymmetric":
        return rng.uniform(0.1, 2.0, size=(K, K)) * off
    if kind == "wide":
        return 10.0 ** rng.uniform(-3, 3, size=(K, K)) * off
    if kind == "refer":
        return np.column_stack([rng.uniform(0.5, 2.0, size=(K, K)) * off, rng.uniform(0.1, 0.6, size=K)])
    rows = (rng.uniform(0.2, 3.0, size=(K, K)) * off)[y] * rng.uniform(0.5, 2.0, size=(len(y), 1))
    if kind == "rows refer":
        rows = np.column_stack([rows, rng.uniform(0.1, 0.5, size=len(y))])
    return rows


def short(weights):
    """Weights of 22 bits over the largest one, a power of two, which the package takes as they are."""
    weights = np.rint(weights * 2.0**20) / 2.0**20
    weights[weights.argmax()] = 4.0
    return weights


def random_problem(seed):
    """Problem number `seed`; losses, offsets and depths take turns, all else is drawn."""
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    n = int(rng.integers(max(8, 2 * K), 61))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=d)
    if rng.random() < 0.5:  # few distinct values, equal rows, sometimes a constant feature
        X = np.round(rng.normal(size=(n, d)), 1)
        X[:, rng.random(d) < 0.1] = 1.5
    score = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9) @ rng.normal(size=(d, K))
    y = (score + rng.gumbel(size=(n, K)) * rng.choice([0.1, 0.5, 2.0])).argmax(axis=1)
    y[rng.permutation(n)[:K]] = np.arange(K)  # every class occurs
    kind = KINDS[rng.integers(len(KINDS))]
    cost = random_cost(rng, kind, y, K)
    full = 1.0 - np.eye(K) if cost is None else cost
    uniform = rng.random() < 0.25
    return Problem(
        X=X,
        y=y,
        X_new=X[rng.integers(n, size=40)] + rng.normal(size=(40, d)) * X.std(axis=0) * 0.3,
        kind=kind,
        cost=cost,
        cost_rows=full if kind.startswith("rows") else full[y],
        sample_weight=short(rng.uniform(0.2, 3.0, size=n)) if rng.random() < 0.5 else None,
        edges=naive.uniform_edges(X, 10) if uniform else naive.midpoint_edges(X),
        settings={
            "loss": LOSSES[seed % 3],
            "offset": OFFSETS[seed // 3 % 2],
            "max_depth": 1 + seed // 6 % 3,
            "smoothing": float(rng.choice([0.1, 1e-2, 1e-4, 0.0])),
            "learning_rate": float(rng.choice([1.0, 1.0, 0.3])),
            "fit_intercept": bool(rng.random() < 0.5),
        },
        binning={"binning": "uniform", "max_bins": 11} if uniform else {},
    )


def fit_package(p):
    """The package's model of a problem."""
    depth = p.settings["max_depth"]
    per_row = p.kind.startswith("rows")
    model = REBELClassifier(
        cost=None if per_row else p.cost,
        n_estimators=N_ROUNDS,
        weak_learner="stump" if depth == 1 else "tree",
        stump_search="quadratic",  # test_exact_stumps.py has the other one
        **p.settings,
        **p.binning,
    )
    return model.fit(p.X, p.y, sample_weight=p.sample_weight, cost=p.cost if per_row else None)


def as_twin(tree, node=0):
    """A tree of the package as the twin's nested nodes (without the number of the threshold)."""
    if tree.left[node] == node:
        return naive.Leaf(float(tree.value[node]))
    low, high = (as_twin(tree, tree.left[node] + side) for side in (0, 1))
    return naive.Split(int(tree.feature[node]), -1, float(tree.threshold[node]), low, high)


def shape(tree):
    """A nested tree as plain tuples: (feature, threshold, low, high) or a sign."""
    if isinstance(tree, naive.Leaf):
        return tree.sign
    return tree.feature, tree.threshold, shape(tree.low), shape(tree.high)


def close(got, want, scale):
    """Equal to RTOL of `scale`, the size of what is compared (1e-15 where that is nothing)."""
    return np.all(np.abs(np.asarray(got) - want) <= np.maximum(RTOL * scale, 1e-15))


@pytest.mark.parametrize("seed", slow_after(40, range(N_PROBLEMS)))
def test_equals_the_twin(seed):
    p = random_problem(seed)
    want = naive.rebel(p.X, p.cost_rows, p.sample_weight, p.edges, N_ROUNDS, **p.settings)
    got = fit_package(p)
    context = f"{p.kind}, n, d = {p.X.shape}, D = {p.cost_rows.shape[1]}, {p.settings}, {p.binning}"

    if not want.rounds and not p.settings["fit_intercept"]:  # nothing is learnt: the cheapest decision answers
        assert got.n_iter_ == 0
        return
    assert close(got.model_.intercept, want.intercept, np.abs(want.intercept).max()), context
    rounds = zip(got.model_.learners, got.model_.vectors, want.rounds, strict=True)
    for t, (tree, vector, this) in enumerate(rounds):
        where = f"round {t + 1}: {context}"
        assert shape(as_twin(tree)) == shape(this.learner), where
        assert close(vector, this.vector, np.abs(this.vector).max()), where
    check_packed(got.model_.packed, p.X.shape[1])
    assert len(got.train_loss_) == len(want.losses) == got.n_iter_ + 1
    for t, (ours, twins) in enumerate(zip(got.train_loss_, want.losses, strict=True)):
        assert close(ours, twins, abs(twins)), f"loss after round {t}: {context}"
    scores = want.scores(p.X_new)
    assert close(got.model_.scores(p.X_new), scores, np.abs(scores).max()), context


@pytest.mark.parametrize("seed", slow_after(12, range(40)))
def test_constant_in_each_round_equals_its_twin(seed):
    rng = np.random.default_rng(seed)
    K, n = int(rng.integers(2, 6)), int(rng.integers(20, 61))
    X = rng.normal(size=(n, 3))
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    X[:, 0] += y
    cost = rng.uniform(0.2, 5.0, (K, K)) * (1 - np.eye(K)) if seed % 2 else 1 - np.eye(K)
    offset, smoothing = OFFSETS[seed // 2 % 2], float(rng.choice([0.1, 1e-3]))
    weights = rng.uniform(0.5, 2.0, size=n)
    intercept, rounds = naive.two_sided(X, cost[y], weights, naive.midpoint_edges(X), N_ROUNDS, offset, smoothing)
    model = REBELClassifier(
        cost,
        n_estimators=N_ROUNDS,
        weak_learner="stump",
        smoothing=smoothing,
        offset=offset,
        fit_intercept="each round",
    ).fit(X, y, sample_weight=weights)
    m = model.model_
    assert close(m.intercept, intercept, np.abs(intercept).max())
    assert len(m) == N_ROUNDS
    assert len(m.vectors) == 2 * N_ROUNDS
    for tree, pair, loss, (stump, (below, above), value) in zip(
        m.learners, m.vectors.reshape(N_ROUNDS, 2, -1), model.train_loss_[1:], rounds, strict=True
    ):
        assert list(tree.value) == [0, 1, 1] and list(tree.vector) == [0, 0, 1]
        assert (tree.feature[0], tree.threshold[0]) == (stump.feature, stump.threshold)
        size = max(np.abs(below).max(), np.abs(above).max())
        assert close(pair[0], below, size) and close(pair[1], above, size)
        assert close(loss, value, abs(value))


@pytest.mark.parametrize("seed", slow_after(8, range(20)))
def test_two_classes_are_adaboost(seed):
    """With 0/1 costs, no smoothing and no constant term, the scores are discrete AdaBoost's margins (S.8)."""
    rng = np.random.default_rng(1000 + seed)
    n, d = int(rng.integers(20, 61)), int(rng.integers(1, 5))
    X = np.round(rng.normal(size=(n, d)), 2)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    y[:4] = [0, 1, 0, 1]
    X[:2] = X[2:4]  # equal rows of both classes: no stump is perfect
    y[:2] = [1, 0]
    weights = rng.uniform(0.5, 2.0, size=n) if seed % 2 else None
    margins = naive.adaboost(X, 2 * y - 1, naive.midpoint_edges(X), N_ROUNDS, weights)
    model = REBELClassifier(
        n_estimators=N_ROUNDS, weak_learner="stump", smoothing=0.0, fit_intercept=False, learning_rate=1.0
    ).fit(X, y, sample_weight=weights)
    stages = list(model.staged_decision_function(X))
    assert len(stages) == len(margins) == N_ROUNDS
    for stage, margin in zip(stages, margins, strict=True):  # score of class 1 less score of class 0 = 2 F(x)
        assert close(stage / 2, margin, np.abs(margin).max())
    scores, largest = model.model_.scores(X), np.abs(margins[-1]).max()
    assert close(scores[:, 1], margins[-1], largest) and close(scores[:, 0], -margins[-1], largest)


def test_equal_stumps_take_the_lowest_threshold():
    """After two rounds the rows weigh 1, 3, 3, 3, 3, 3, 1, 1: cuts at 0.5, 2.5 and 4.5 are equally good."""
    X, y = np.arange(8.0)[:, None], np.array([0, 1, 0, 1, 1, 0, 1, 1])
    want = naive.rebel(X, 1 - np.eye(2)[y], None, naive.midpoint_edges(X), 3)
    got = REBELClassifier(n_estimators=3, weak_learner="stump", smoothing=0.0, fit_intercept=False).fit(X, y)
    assert [this.learner.threshold for this in want.rounds] == [0.5, 5.5, 0.5]
    assert [tree.threshold[0] for tree in got.model_.learners] == [0.5, 5.5, 0.5]
