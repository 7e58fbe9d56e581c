"""The slow twin itself, against numerical minimisation, brute force and cases done by hand.

Losses, their derivatives and single steps need none of this: `tests/losses` and `tests/steps` compare the package with
numerical ones, and `tests/algorithms/test_rebel_exact.py` the package with the twin.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.helpers import naive

LOSSES = ["exponential", "logistic", "squared"]
OFFSETS = ["paper", "tight"]
SETTINGS = list(itertools.product(LOSSES, OFFSETS))


def problem(seed, n=24, d=2, n_classes=3, n_decisions=3):
    """Random rows, cost rows, weights and scores."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 1)
    cost = rng.uniform(0.2, 3.0, size=(n_classes, n_decisions))
    cost[np.arange(n_classes), np.arange(n_classes)] = 0.0
    y = rng.integers(n_classes, size=n)
    return X, cost[y], rng.uniform(0.5, 2.0, size=n), rng.normal(size=(n, n_decisions))


def least(function, low=-30.0, high=30.0):
    """Place and value of a convex function's minimum, by golden sections."""
    found = minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return found.x, found.fun


def column_loss(s, H, f, k, eps=0.0):
    """Column k's loss as a function of a_k, for the learner f, plus its smoothing."""

    def value(v):
        rows = naive.entry_losses(s, H + v * np.outer(f, np.ones(H.shape[1])))[:, k].sum()
        return rows + eps * (naive.base_function(s.loss, v) + naive.base_function(s.loss, -v))

    return value


# --- cost rows ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("loss", "offset"), SETTINGS)
def test_row_optimum_decides_the_cheapest(loss, offset):
    """S.4: the scores of least loss of a single row put its cheapest decision first."""
    c = np.array([2.0, 0.5, 3.0, 1.0])
    s = naive.surrogate(c[None], None, loss, offset)
    h = [least(lambda v, k=k: naive.entry_losses(s, np.full((1, 4), v))[0, k], -5, 5)[0] for k in range(4)]
    assert np.argmax(h) == 1


# --- the vector a -----------------------------------------------------------------------------------------
def test_smoothing_weight_is_what_can_be_lost():
    """At the rows' own optimum nothing can be lost, however large the floor is."""
    c = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 3.0]])
    s = naive.surrogate(c, [1.0, 2.0], "exponential", "paper")
    with np.errstate(divide="ignore"):
        best = np.clip(0.5 * (np.log(s.c_minus) - np.log(s.c_plus)), -300, 300)  # S.5
    assert np.allclose(naive.smoothing_weight(s, best, 1.0), 0, atol=1e-12)
    assert s.floor.min(axis=1).max() == 0 and s.floor.max() > 1
    by_hand = [
        1 * (s.c_plus[0, k] + s.c_minus[0, k] - s.floor[0, k]) + 2 * (s.c_plus[1, k] + s.c_minus[1, k] - s.floor[1, k])
        for k in range(3)
    ]
    assert np.allclose(naive.smoothing_weight(s, 0 * best, 0.25), 0.25 * np.array(by_hand))


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_infinite_steps_are_cut_and_empty_columns_stay(loss):
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    s = naive.surrogate(costs, None, loss, "paper")
    f, H = np.array([-1.0, 1.0]), np.zeros((2, 3))
    assert list(naive.solve_step(s, H, f, np.zeros(3))[:2]) == [-naive.LARGEST_STEP, naive.LARGEST_STEP]
    flat = naive.surrogate(np.ones((2, 3)), None, loss, "tight")  # constant rows: nothing at stake
    assert list(naive.solve_step(flat, H, f, np.zeros(3))) == [0, 0, 0]


# --- stumps and trees -------------------------------------------------------------------------------------
def all_responses(X):
    """Every way of cutting one feature between two values, written without thresholds."""
    for j in range(X.shape[1]):
        for value in np.unique(X[:, j])[:-1]:
            yield j, np.where(X[:, j] <= value, -1.0, 1.0)


@pytest.mark.parametrize("loss", ["exponential", "squared"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_best_stump_by_brute_force(loss, offset):
    """The chosen stump has the least loss once a is optimised numerically, feature by feature, cut by cut."""
    for seed in range(4):
        X, costs, weights, H = problem(seed, n=14)
        s = naive.surrogate(costs, weights, loss, offset)
        before = naive.entry_losses(s, H).sum()
        results = []
        for j, f in all_responses(X):
            drop = before - sum(least(column_loss(s, H, f, k), -10, 10)[1] for k in range(3))
            results.append((drop, j, f))
        stump, drop = naive.best_stump(s, H, X, naive.midpoint_edges(X))
        brute = max(results, key=lambda r: r[0])
        assert drop == pytest.approx(brute[0], rel=1e-8)
        assert stump.feature == brute[1] and np.array_equal(naive.predict(stump, X), brute[2])


def test_logistic_choice_is_the_newton_decrement():
    X, costs, weights, H = problem(5)
    s = naive.surrogate(costs, weights, "logistic", "paper")
    gradient, hessian = naive.gradient_and_hessian(s, H)
    decrements = [np.sum((f @ gradient) ** 2 / (2 * hessian.sum(axis=0))) for _, f in all_responses(X)]
    stump, drop = naive.best_stump(s, H, X, naive.midpoint_edges(X))
    assert drop == pytest.approx(max(decrements))
    _, f = list(all_responses(X))[int(np.argmax(decrements))]
    assert np.array_equal(naive.predict(stump, X), f)


def test_ties_take_the_lowest_feature_then_threshold():
    X = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]])
    costs = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # cuts at 1.5 and 3.5 are equally good
    s = naive.surrogate(costs, None, "exponential", "paper")
    stump, _ = naive.best_stump(s, np.zeros((4, 2)), X, naive.midpoint_edges(X))
    assert (stump.feature, stump.index, stump.threshold) == (0, 0, 1.5)


def leaves_of(tree, X):
    """The leaf (as a path) of every row."""
    paths = []
    for x in X:
        node, path = tree, ""
        while isinstance(node, naive.Split):
            high = x[node.feature] > node.threshold
            node, path = (node.high, path + "1") if high else (node.low, path + "0")
        paths.append(path)
    return np.array(paths)


def deepened_by_brute_force(s, H, X, tree, a):
    """The responses after giving each leaf, tried on its own, the answer of least loss with a held."""
    reached, want = leaves_of(tree, X), naive.predict(tree, X).copy()
    for path in np.unique(reached):
        rows = reached == path
        options = [np.full(len(X), -1.0), np.full(len(X), 1.0)]
        options += [sign * f for _, f in all_responses(X) for sign in (-1, 1)]
        losses = [naive.entry_losses(s, H + np.outer(f, a))[rows].sum() for f in options]
        want[rows] = options[int(np.argmin(losses))][rows]
    return want


@pytest.mark.parametrize(("loss", "offset"), SETTINGS)
def test_growing_by_brute_force(loss, offset):
    """Each layer is the best one with a held, and a is solved anew: steps 2 and 3 of Sec. 4."""
    for seed in range(4):
        X, costs, weights, H = problem(seed)
        s, H = naive.surrogate(costs, weights, loss, offset), 0.1 * H
        edges, eps = naive.midpoint_edges(X), naive.smoothing_weight(s, H, 0.01)
        tree, a = naive.grow(s, H, X, edges, eps, 1)
        for q in (2, 3):
            want = deepened_by_brute_force(s, H, X, tree, a)
            deeper, deeper_a = naive.grow(s, H, X, edges, eps, q)
            f = naive.predict(deeper, X)
            ours, best = (naive.entry_losses(s, H + np.outer(r, a)).sum() for r in (f, want))
            assert ours == pytest.approx(best, rel=1e-12)
            assert np.array_equal(deeper_a, naive.solve_step(s, H, f, eps))
            reached = leaves_of(tree, X)  # a leaf may have become a split, no split has gone
            assert np.all(np.char.startswith(leaves_of(deeper, X), reached))
            tree, a = deeper, deeper_a


def depth(tree):
    return 0 if isinstance(tree, naive.Leaf) else 1 + max(depth(tree.low), depth(tree.high))


@pytest.mark.parametrize("smoothing", [0.01, 3.0])
@pytest.mark.parametrize(("loss", "offset"), SETTINGS)
def test_depth_never_costs(loss, offset, smoothing):
    """ "With each added depth-layer, the tree leads to a more accurate strong classifier" (Sec. 4)."""
    better = 0
    for seed in range(6):
        X, costs, weights, H = problem(seed, n=40, d=3, n_decisions=4)
        s = naive.surrogate(costs, weights, loss, offset)
        H, values = 0.1 * H, []
        for q in (1, 2, 3, 4):
            this = naive.one_round(s, H, X, naive.midpoint_edges(X), smoothing, q, 1.0)
            assert depth(this.learner) <= q
            values.append(this.loss)
        assert values == sorted(values, reverse=True)
        better += values[-1] < values[0]
    assert better >= 4


def test_leaf_turns_over_or_stays():
    X, edges = np.zeros((3, 1)), [np.array([])]  # no thresholds: only the constants are left
    everyone = np.ones(3, dtype=bool)
    for sign in (-1.0, 1.0):
        for u, want in (([1.0, 1, -1], 1.0), ([-1.0, -1, 1], -1.0), ([1.0, -1, 0], sign)):
            assert naive.deepen(naive.Leaf(sign), everyone, np.array(u), X, edges, 0.0) == naive.Leaf(want)


# --- whole rounds -----------------------------------------------------------------------------------------
def test_two_classes_by_hand():
    """Four rows, one mistake: T = 4, E = +-2, a = 1/2 ln 3, the loss falls from 1 to sqrt(3)/2."""
    X, y = np.array([[1.0], [2], [3], [4]]), np.array([0, 1, 1, 0])
    model = naive.rebel(X, 1 - np.eye(2)[y], None, naive.midpoint_edges(X), 1)
    (this,) = model.rounds
    assert this.learner[:3] == (0, 0, 1.5)
    assert this.vector == pytest.approx(np.array([-0.5, 0.5]) * np.log(3), rel=1e-14)
    assert model.losses == pytest.approx([1.0, np.sqrt(3) / 2], rel=1e-14)
    assert model.H[:, 1] == pytest.approx(np.array([-1, 1, 1, 1]) * np.log(3) / 2)


def test_three_classes_by_hand():
    """Rows of classes 0, 1, 2 at x = 1, 2, 3 with 0/1 costs: H_0 is 3/2, and both cuts are equally good.

    The cut at 1.5 isolates class 0: column 0 is separated (s = 3, 0), the others have s = (2, 1) and (2, 1).
    """
    X, costs = np.array([[1.0], [2], [3]]), 1 - np.eye(3)
    model = naive.rebel(X, costs, None, naive.midpoint_edges(X), 1)
    (this,) = model.rounds
    assert this.learner.threshold == 1.5
    assert this.vector == pytest.approx([-naive.LARGEST_STEP, 0.5 * np.log(2), 0.5 * np.log(2)])
    # Eq. 7: 1/(2N) of 2 sqrt(2) in each of two columns and of 3 e^-18 in the first, whose step is cut
    assert model.losses == pytest.approx([1.5, (4 * np.sqrt(2) + 3 * np.exp(-naive.LARGEST_STEP)) / 6])
    # smoothing 1/2 of the column's 3: s = (3 + 3/2, 3/2), (2 + 3/2, 1 + 3/2)
    smooth = naive.rebel(X, costs, None, naive.midpoint_edges(X), 1, smoothing=0.5)
    assert smooth.rounds[0].vector == pytest.approx(0.5 * np.log([1.5 / 4.5, 3.5 / 2.5, 3.5 / 2.5]))


def test_intercept_by_hand():
    """One row of class 0 and three of class 1, squared loss: a_0 = (s- - s+)/(s- + s+) = -+ 1/2."""
    X, costs = np.zeros((4, 1)), 1 - np.eye(2)[[0, 1, 1, 1]]
    edges = naive.midpoint_edges(X)
    model = naive.rebel(X, costs, None, edges, 5, loss="squared", fit_intercept=True, learning_rate=0.1)
    assert model.intercept == pytest.approx([-0.5, 0.5]) and model.rounds == []
    assert model.losses == pytest.approx([2 * (0.25 * 2.25 + 0.75 * 0.25) / 2])
    model = naive.rebel(X, costs, None, edges, 5, fit_intercept=True)
    assert model.intercept == pytest.approx(np.array([-0.5, 0.5]) * np.log(3))
    model = naive.rebel(X, costs, None, edges, 5, loss="logistic", fit_intercept=True)
    assert model.intercept == pytest.approx(np.array([-1, 1]) * np.log(3))
    assert list(naive.rebel(X, costs, None, edges, 5).intercept) == [0, 0]


def test_stops_when_nothing_lowers_the_loss():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    costs = 1 - np.eye(2)[[0, 1, 0, 1]]  # both values of x have one row of each class
    assert naive.rebel(X, costs, None, naive.midpoint_edges(X), 5).rounds == []
    X, costs, weights, _ = problem(10, n=12, d=1)
    X = np.sign(X)  # one stump and a constant say all there is to say
    edges = naive.midpoint_edges(X)
    model = naive.rebel(X, costs, weights, edges, 50, loss="squared", fit_intercept=True)
    assert 0 < len(model.rounds) < 20
    longer = naive.rebel(X, costs, weights, edges, 50, loss="squared", fit_intercept=True, learning_rate=0.3)
    assert len(longer.rounds) > 20 and longer.losses[-1] == pytest.approx(model.losses[-1], rel=1e-10)


# --- two classes: S.8 -------------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("max_depth", [1, 2])
def test_two_classes_have_opposite_scores(loss, max_depth):
    """Lemma of S.8: H_1 = -H_2."""
    X, _, weights, _ = problem(9, n=30)
    y = np.random.default_rng(9).integers(2, size=30)
    model = naive.rebel(X, 1 - np.eye(2)[y], weights, naive.midpoint_edges(X), 10, loss=loss, max_depth=max_depth)
    assert np.allclose(model.H[:, 0], -model.H[:, 1], atol=1e-12)
    signs = 2 * y - 1  # and the loss is the binary one, the last line of S.8
    margin_loss = np.average(naive.base_function(loss, -signs * model.H[:, 1]), weights=weights)
    assert model.losses[-1] == pytest.approx(margin_loss)


def test_adaboost_by_hand():
    """Signs - + + -: the first stump errs on the last row, alpha = 1/2 ln 3, its weight becomes 1/2.

    Then the cut at 3.5, negative above, errs on the first row, of weight 1/6: alpha = 1/2 ln 5.
    """
    X, signs = np.array([[1.0], [2], [3], [4]]), np.array([-1, 1, 1, -1])
    first, second = naive.adaboost(X, signs, naive.midpoint_edges(X), 2)
    assert first == pytest.approx(np.array([-1, 1, 1, 1]) * np.log(3) / 2)
    assert second - first == pytest.approx(np.array([1, 1, 1, -1]) * np.log(5) / 2)


def test_adaboost_stops_at_a_perfect_stump():
    X, signs = np.array([[1.0], [2]]), np.array([1, -1])
    assert naive.adaboost(X, signs, naive.midpoint_edges(X), 9).tolist() == [[18, -18]]


# --- thresholds and costs ---------------------------------------------------------------------------------
def test_edges_by_hand():
    X = np.array([[1.0, 5.0], [4.0, 5.0], [2.0, 5.0], [np.nan, 5.0], [2.0, 5.0]])
    assert [e.tolist() for e in naive.midpoint_edges(X)] == [[1.5, 3.0], []]
    assert [e.tolist() for e in naive.uniform_edges(X, 2)] == [[2.0, 3.0], []]
