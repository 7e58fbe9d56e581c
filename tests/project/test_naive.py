"""The slow twin itself, against numerical minimisation, brute force, derivatives and cases done by hand."""

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


def loss_by_hand(s, H):
    """Eq. 2, entry by entry."""
    F = {
        "exponential": lambda x: np.exp(x),
        "logistic": lambda x: np.log2(1 + np.exp(x)),
        "squared": lambda x: (1 + x) ** 2,
    }
    total = 0.0
    for i in range(len(H)):
        row = s.beta[i]
        for k in range(H.shape[1]):
            row += (s.c_plus[i, k] * F[s.loss](H[i, k]) + s.c_minus[i, k] * F[s.loss](-H[i, k])) / 2
        total += s.weights[i] * row
    return total / s.weights.sum()


# --- base functions, cost rows, loss ----------------------------------------------------------------------
@pytest.mark.parametrize("loss", LOSSES)
def test_base_functions(loss):
    x, h = np.linspace(-3, 3, 41), 1e-5
    F, slope, curvature = (g(loss, x) for g in (naive.base_function, naive.base_slope, naive.base_curvature))
    up, down = naive.base_function(loss, x + h), naive.base_function(loss, x - h)
    assert np.allclose((up - down) / (2 * h), slope, rtol=1e-7, atol=1e-9)
    up, down = naive.base_slope(loss, x + h), naive.base_slope(loss, x - h)
    assert np.allclose((up - down) / (2 * h), curvature, rtol=1e-7, atol=1e-9)
    assert np.all((x >= 0) <= F) and naive.base_function(loss, 0.0) == pytest.approx(1.0)  # S.1


def test_logistic_does_not_overflow():
    x = np.array([-800.0, 800.0])
    assert np.allclose(naive.base_function("logistic", x), [0, 800 / np.log(2)])
    assert np.allclose(naive.base_slope("logistic", x), [0, 1 / np.log(2)])
    assert np.allclose(naive.base_curvature("logistic", x), 0)


def test_decomposition_by_hand():
    # S.3 with c = (0, 1, 4): phi = 4, beta = 5 - 2 * 4 = -3
    phi, beta, plus, minus = naive.decompose([0, 1, 4], "paper")
    assert (phi, beta) == (4, -3) and list(plus) == [3, 4, 7] and list(minus) == [4, 3, 0]
    phi, beta, plus, minus = naive.decompose([0, 1, 4], "tight")
    assert (phi, beta) == (4, 0) and list(plus) == [0, 1, 4] and list(minus) == [4, 3, 0]
    assert [list(v) for v in naive.decompose([1, 2, 4], "tight")[2:]] == [[0, 1, 3], [3, 2, 0]]
    for price in (0.3, 0.7, 1 / 3):  # nothing is left of beta's rounding
        assert list(naive.decompose([price, 0, price, price], "paper")[2] == 0) == [False, True, False, False]
    for offset in OFFSETS:  # 0/1 costs: beta = 0, c+ = 1 - delta_y, c- = delta_y
        _, beta, plus, minus = naive.decompose([1, 0, 1], offset)
        assert beta == 0 and list(plus) == [1, 0, 1] and list(minus) == [0, 1, 0]


def test_decomposition_is_that_of_s3():
    rng = np.random.default_rng(0)
    for _ in range(50):
        c = rng.uniform(0, 3, size=rng.integers(2, 6))
        phi, beta, plus, minus = naive.decompose(c, "paper")
        b, ones, delta = phi - c, np.ones(len(c)), np.eye(len(c))
        assert np.allclose(c, beta * ones + sum(b[k] * (ones - delta[k]) for k in range(len(c))))
        assert np.allclose(plus, c - beta) and np.allclose(minus, phi - c)
        assert np.allclose(plus, sum(b[k] * (ones - delta[k]) for k in range(len(c))))
        assert np.allclose(minus, sum(b[k] * delta[k] for k in range(len(c))))
        assert min(plus.min(), minus.min()) >= -1e-12 and b.min() == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_floor(loss):
    rng = np.random.default_rng(1)
    for plus, minus in [*rng.uniform(0.05, 4, size=(30, 2)), (1e-3, 7.0), (2.0, 2.0)]:
        s = naive.Surrogate(loss, np.zeros(1), np.array([[plus]]), np.array([[minus]]), None, np.ones(1))
        _, value = least(lambda h, s=s: naive.entry_losses(s, np.array([[h]])).sum())
        assert naive.entry_floor(loss, plus, minus) == pytest.approx(value, rel=1e-10)
    assert naive.entry_floor(loss, 0.0, 3.0) == naive.entry_floor(loss, 3.0, 0.0) == 0.0


@pytest.mark.parametrize(("loss", "offset"), SETTINGS)
def test_loss_value(loss, offset):
    _, costs, weights, H = problem(2)
    s = naive.surrogate(costs, weights, loss, offset)
    assert naive.loss_value(s, H) == pytest.approx(loss_by_hand(s, H), rel=1e-13)
    # at H = 0 every F is 1 and an entry counts (c+ + c-) / 2 = (phi - beta) / 2
    at_zero = np.average(s.beta + costs.shape[1] * (costs.max(axis=1) - s.beta) / 2, weights=weights)
    assert naive.loss_value(s, 0 * H) == pytest.approx(at_zero)


@pytest.mark.parametrize("loss", LOSSES)
def test_loss_bounds_the_risk(loss):
    """Claim (3) of S.1 through S.4: with the paper's offset the loss is at least the empirical risk."""
    for seed in range(40):
        _, costs, weights, H = problem(seed, n_classes=4, n_decisions=4 + seed % 2)
        s = naive.surrogate(costs, weights, loss, "paper")
        risk = np.average(costs[np.arange(len(H)), H.argmax(axis=1)], weights=weights)
        assert naive.loss_value(s, H) >= risk
        assert np.all(naive.entry_losses(s, H) >= weights[:, None] * s.floor - 1e-12)


@pytest.mark.parametrize(("loss", "offset"), SETTINGS)
def test_row_optimum_decides_the_cheapest(loss, offset):
    """S.4: the scores of least loss of a single row put its cheapest decision first."""
    c = np.array([2.0, 0.5, 3.0, 1.0])
    s = naive.surrogate(c[None], None, loss, offset)
    h = [least(lambda v, k=k: naive.entry_losses(s, np.full((1, 4), v))[0, k], -5, 5)[0] for k in range(4)]
    assert np.argmax(h) == 1


@pytest.mark.parametrize(("loss", "offset"), SETTINGS)
def test_gradient_and_hessian_are_derivatives(loss, offset):
    _, costs, weights, H = problem(3)
    s = naive.surrogate(costs, weights, loss, offset)
    gradient, hessian = naive.gradient_and_hessian(s, H)
    h = 1e-4
    up, middle, down = (naive.entry_losses(s, H + v) for v in (h, 0, -h))
    assert np.allclose(-(up - down) / (2 * h), gradient, rtol=1e-5, atol=1e-6)
    assert np.allclose((up - 2 * middle + down) / h**2, hessian, rtol=1e-5, atol=1e-5)
    if loss == "exponential":
        w_plus, w_minus = naive.multi_class_weights(s, H)
        assert np.allclose(gradient, w_minus - w_plus) and np.allclose(hessian, w_plus + w_minus)


# --- the vector a -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("smoothing", [0.0, 1e-3, 0.5])
@pytest.mark.parametrize(("loss", "offset"), SETTINGS)
def test_step_is_the_minimum(loss, offset, smoothing):
    for seed in range(5):
        X, costs, weights, H = problem(seed, n_decisions=4)
        s = naive.surrogate(costs, weights, loss, offset)
        f = np.where(X[:, 0] > 0.1, 1.0, -1.0)
        eps = naive.smoothing_weight(s, H, smoothing)
        a = naive.solve_step(s, H, f, eps)
        for k in range(4):
            objective = column_loss(s, H, f, k, eps[k])
            place, value = least(objective, -10, 10)
            assert abs(a[k] - place) < 1e-5 and objective(a[k]) <= value * (1 + 1e-14)
            assert abs(naive.step_slope(s, H, f, eps, k, a[k])) < 1e-12 * objective(a[k])


def test_exponential_step_is_the_arc_tangent_form():
    X, costs, weights, H = problem(4)
    s = naive.surrogate(costs, weights, "exponential", "paper")
    f = np.where(X[:, 1] > 0, 1.0, -1.0)
    eps = naive.smoothing_weight(s, H, 0.1)
    gradient, hessian = naive.gradient_and_hessian(s, H)
    assert np.allclose(
        naive.solve_step(s, H, f, eps), np.arctanh(f @ gradient / (hessian.sum(axis=0) + 2 * eps)), rtol=1e-12
    )


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


def test_predict_sends_ties_and_missing_low():
    stump = naive.Split(0, 0, 1.5, naive.Leaf(-1.0), naive.Leaf(1.0))
    X = np.array([[1.5], [np.nan], [np.nextafter(1.5, 2)], [np.inf]])
    assert list(naive.predict(stump, X)) == [-1, -1, 1, 1]
    assert list(naive.predict(naive.turned(stump), X)) == [1, 1, -1, -1]


def test_a_tree_is_read_node_by_node():
    low = naive.Split(1, 0, 0.0, naive.Leaf(1.0), naive.Leaf(-1.0))
    tree = naive.Split(0, 0, 0.0, low, naive.Leaf(1.0))
    X = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    assert list(naive.predict(tree, X)) == [1, -1, 1, 1]


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


@pytest.mark.parametrize("max_depth", [1, 3])
@pytest.mark.parametrize(("loss", "offset"), SETTINGS)
def test_rebel_invariances(loss, offset, max_depth):
    X, costs, weights, _ = problem(7, n_decisions=4)
    weights = np.round(weights * 2)
    edges = naive.midpoint_edges(X)

    def run(X, costs, weights):
        options = {"loss": loss, "offset": offset, "smoothing": 1e-3, "max_depth": max_depth, "fit_intercept": True}
        return naive.rebel(X, costs, weights, edges, 6, **options)

    base = run(X, costs, weights)
    assert base.losses == sorted(base.losses, reverse=True) and len(base.rounds) == 6
    assert np.allclose(base.scores(X), base.H, rtol=1e-14, atol=1e-14)
    s = naive.surrogate(costs, weights, loss, offset)
    assert base.losses[-1] == pytest.approx(loss_by_hand(s, base.H))
    order = [2, 0, 3, 1]
    assert np.allclose(run(X, costs[:, order], weights).H, base.H[:, order], rtol=1e-9)
    assert np.allclose(run(X, 8 * costs, weights).losses, 8 * np.array(base.losses), rtol=1e-12)
    twice = np.repeat(np.arange(len(X)), weights.astype(int))
    assert np.allclose(run(X[twice], costs[twice], None).losses, base.losses, rtol=1e-9)


def test_learning_rate_shrinks_the_vector_after_growing():
    X, costs, weights, _ = problem(8)
    edges = naive.midpoint_edges(X)
    full, slow = (naive.rebel(X, costs, weights, edges, 1, max_depth=2, learning_rate=r) for r in (1.0, 0.1))
    assert slow.rounds[0].learner == full.rounds[0].learner
    assert np.allclose(slow.rounds[0].vector, 0.1 * full.rounds[0].vector)


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


def test_two_classes_are_adaboost():
    """S.8 with F = exp: the scores of class 1 are AdaBoost's, round by round."""
    for seed in range(10):
        X, _, weights, _ = problem(seed, n=40)
        y = np.random.default_rng(seed).integers(2, size=40)
        edges = naive.midpoint_edges(X)
        margins = naive.adaboost(X, 2 * y - 1, edges, 15, weights)
        assert len(margins) == 15
        for t in (1, 2, 5, 15):
            model = naive.rebel(X, 1 - np.eye(2)[y], weights, edges, t)
            assert np.allclose(model.H[:, 1], margins[t - 1], rtol=1e-10, atol=1e-12)


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


def test_expected_cost_by_hand():
    cost = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 5.0]])
    assert naive.expected_cost([0, 1, 1], [1, 1, 2], cost) == 2.0
    assert naive.expected_cost([0, 1, 1], [1, 0, 2], cost, [1, 2, 1]) == 2.5
