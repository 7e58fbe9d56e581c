"""GEL and GLL against logsumexp, numerical derivatives, softmax, the logistic loss, and scores far apart."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp, softmax
from sklearn.metrics import log_loss

from minrisk._kernels.fixed import class_sums
from minrisk.losses.base import JOINT, SEPARABLE, SOFTMAX_GRADIENT
from minrisk.losses.guess_averse import FAR_APART, GuessAverseLoss, balanced, log_ratio
from minrisk.model.links import LINKS, log_probabilities, probabilities
from minrisk.rows.row_losses import EXPONENTIAL
from minrisk.rows.rows import fixed_factor
from tests.helpers.common import loss_columns, make_costs, random_costs

KINDS = tuple(GuessAverseLoss.KINDS)
N = 30


def example(rng, K, D=None, kind="general", per_row=False, n=N):
    """Costs with some zeros off the diagonal, and a row of weight 0; per row: every row with costs of its own."""
    y = rng.integers(0, K, n)
    table = random_costs(rng, K, D, kind)
    if kind == "general":
        table[0, -1] = 0.0
    if per_row:
        table = table[y] * rng.uniform(0.5, 2, (n, 1)) + rng.uniform(0, 1, (n, table.shape[1]))
        table[np.arange(n), y] = 0.0
    weight = rng.uniform(0.2, 2, n)
    weight[1] = 0.0
    return make_costs(table, np.arange(n) if per_row else y, weight, y)


def row_values(kind, costs, scores, log_scale=0.0):
    """The loss of each row, written out from Eq. (20) and (21), times e^-log_scale."""
    n = len(scores)
    c = costs.table[costs.row].copy()
    c[np.arange(n), costs.label] = 0.0
    with np.errstate(divide="ignore"):
        log_z = np.log(c) + scores - scores[np.arange(n), costs.label][:, None]
    if kind == "gel":
        return costs.weight * np.exp(logsumexp(log_z, axis=1) - log_scale)
    return np.exp(-log_scale) * costs.weight * logsumexp(np.column_stack([log_z, np.zeros(n)]), axis=1)


def gradients(kind, costs, scores, log_scale=0.0):
    at = loss_columns(costs, scores, log_scale)
    top = GuessAverseLoss(kind).gradients(at, 0, len(scores))
    return at.gradient, at.hessian, top


def value(kind, costs, scores, log_scale=0.0, in_bag=None, blocks=()):
    """The value as rows sum it: by true class, in fixed point, block by block."""
    n, at = len(scores), loss_columns(costs, scores, log_scale, in_bag)
    parts = list(pairwise([0, *blocks, n]))
    top = np.max([GuessAverseLoss(kind).gradients(at, a, b) for a, b in parts], axis=0)
    factor = fixed_factor(top[2], 62 - n.bit_length())
    sums = sum(class_sums(at.value, costs.label, at.in_bag, factor, a, b) for a, b in parts)
    return np.divide(sums, factor, out=np.zeros(len(sums)), where=factor > 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", ["01", "general", "lognormal", "per row"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (5, 5), (12, 12), (3, 4)])
def test_gradient_and_hessian_are_numerical_derivatives(kind, cost, shape):
    rng = np.random.default_rng(0)
    costs = example(rng, *shape, kind="general" if cost == "per row" else cost, per_row=cost == "per row")
    scores = rng.normal(size=(N, shape[1]))
    gradient, hessian, top = gradients(kind, costs, scores)
    here, h = row_values(kind, costs, scores), 1e-4
    scale = here.max()
    for k in range(shape[1]):
        step = np.zeros(shape[1])
        step[k] = h
        up, down = (row_values(kind, costs, scores + s * step) for s in (1, -1))
        np.testing.assert_allclose(-gradient[:, k], (up - down) / (2 * h), atol=1e-6 * scale)
        np.testing.assert_allclose(hessian[:, k], (up - 2 * here + down) / h**2, atol=1e-5 * scale)
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-12 * scale)
    assert np.all(hessian >= 0) and not gradient[1].any() and not hessian[1].any()
    np.testing.assert_array_equal(top[0], np.abs(gradient).max(axis=0))
    np.testing.assert_array_equal(top[1], hessian.max(axis=0))
    by_class = [here[costs.label == k].max(initial=0.0) for k in range(shape[1])]
    np.testing.assert_allclose(top[2], by_class, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("spread", [0.1, 3, 300])
def test_value_is_the_sum_of_the_rows_losses_by_class(kind, per_row, spread):
    rng = np.random.default_rng(1)
    costs = example(rng, 5, per_row=per_row)
    scores = spread * rng.normal(size=(N, 5))
    log_scale = 4 * spread if kind == "gel" else 0.3
    rows = row_values(kind, costs, scores, log_scale)
    in_bag = rng.random(N) < 0.6
    for bag in (None, in_bag):
        counted = rows if bag is None else np.where(bag, rows, 0.0)
        expected = np.bincount(costs.label, weights=counted, minlength=5)
        unit = 1e-15 * np.bincount(costs.label, weights=rows, minlength=5) + 1e-290  # of the fixed point
        assert np.all(np.abs(value(kind, costs, scores, log_scale, bag) - expected) <= 1e-10 * expected + unit)


@pytest.mark.parametrize("kind", KINDS)
def test_value_and_gradients_do_not_depend_on_blocks(kind):
    rng = np.random.default_rng(2)
    costs = example(rng, 7, n=200)
    scores = 5 * rng.normal(size=(200, 7))
    np.testing.assert_array_equal(value(kind, costs, scores), value(kind, costs, scores, blocks=(1, 50, 173)))
    gradient, hessian, top = gradients(kind, costs, scores)
    at = loss_columns(costs, scores)
    tops = [GuessAverseLoss(kind).gradients(at, a, b) for a, b in ((0, 1), (1, 50), (50, 173), (173, 200))]
    for whole, parts in ((gradient, at.gradient), (hessian, at.hessian), (top, np.max(tops, axis=0))):
        np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("K", [2, 3, 26, 101])
def test_gll_of_unit_costs_is_softmax_cross_entropy(K):
    rng = np.random.default_rng(3)
    costs = example(rng, K, kind="01")
    scores = 3 * rng.normal(size=(N, K))
    gradient, hessian, _ = gradients("gll", costs, scores)
    p, w = softmax(scores, axis=1), costs.weight[:, None]
    np.testing.assert_allclose(gradient, w * (np.eye(K)[costs.label] - p), atol=1e-14)
    np.testing.assert_allclose(hessian, w * p * (1 - p), atol=1e-14)
    expected = log_loss(costs.label, p, labels=range(K), sample_weight=costs.weight) * costs.weight.sum()
    assert value("gll", costs, scores).sum() == pytest.approx(expected, rel=1e-12)


def test_two_classes_are_the_logistic_and_the_exponential_loss_of_the_margin():
    """GLL: log(1 + e^-m); GEL: c e^-m, the cost-sensitive loss of Viola and Jones, as the paper says."""
    rng = np.random.default_rng(4)
    costs = example(rng, 2)._replace(table=np.array([[0.0, 3.0], [2.0, 0.0]]))
    scores = rng.normal(size=(N, 2))
    y, w = costs.label, costs.weight
    margin = scores[np.arange(N), y] - scores[np.arange(N), 1 - y]
    c = costs.table[y, 1 - y]
    for kind, push, curvature in (
        ("gel", c * np.exp(-margin), c * np.exp(-margin)),
        ("gll", expit(np.log(c) - margin), expit(np.log(c) - margin) * expit(margin - np.log(c))),
    ):
        gradient, hessian, _ = gradients(kind, costs, scores)
        np.testing.assert_allclose(gradient[np.arange(N), y], w * push, rtol=1e-13)
        np.testing.assert_allclose(gradient[np.arange(N), 1 - y], -w * push, rtol=1e-13)
        for side in (y, 1 - y):
            np.testing.assert_allclose(hessian[np.arange(N), side], w * curvature, rtol=1e-12)


@pytest.mark.parametrize("log_scale", [-3.0, 0.7, 40.0])
@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_times_e_to_minus_log_scale(kind, log_scale):
    rng = np.random.default_rng(5)
    costs = example(rng, 6)
    scores = rng.normal(size=(N, 6))
    for plain, scaled in zip(gradients(kind, costs, scores), gradients(kind, costs, scores, log_scale), strict=True):
        np.testing.assert_allclose(scaled * np.exp(log_scale), plain, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        value(kind, costs, scores, log_scale) * np.exp(log_scale), value(kind, costs, scores), rtol=1e-10
    )


def test_gel_of_scores_and_log_scale_shifted_together_is_the_same():
    """A true class's score lower by s is a log_scale higher by s: weights of e^1000000 do not overflow."""
    rng = np.random.default_rng(6)
    costs = example(rng, 4)
    scores = np.round(rng.normal(size=(N, 4)), 2)
    moved = scores.copy()
    moved[np.arange(N), costs.label] -= 1e6
    for here, there in zip(gradients("gel", costs, scores), gradients("gel", costs, moved, 1e6), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_gel_starts_with_weights_of_at_most_one(kind):
    rng = np.random.default_rng(7)
    costs = example(rng, 5)
    costs = costs._replace(weight=1e9 * costs.weight)
    log_scale = GuessAverseLoss(kind).start_log_scale(costs, costs.weight.max(initial=0.0))
    assert log_scale == (np.log(costs.table.max() * costs.weight.max()) if kind == "gel" else 0.0)
    gradient, _, _ = gradients(
        "gel", costs, np.zeros((N, 5)), GuessAverseLoss("gel").start_log_scale(costs, costs.weight.max(initial=0.0))
    )
    assert 0.1 < np.abs(gradient).max() <= 5
    nothing = costs._replace(table=np.zeros((5, 5)))
    assert GuessAverseLoss(kind).start_log_scale(nothing, 0.0) == 0.0


@pytest.mark.parametrize("gap", [50.0, 690.0, 705.0, 1e4, 1e6])
def test_gll_of_scores_far_apart(gap):
    """Right by `gap`: all 0. Wrong by it: the loss is the gap, the gradient w, the Hessian of a lost row 0."""
    costs = make_costs([[0, 2.0, 1e-3], [4.0, 0, 1.0], [1.0, 0, 0]], [0, 0, 1, 2], np.array([1.0, 2.0, 3.0, 1.0]))
    scores = np.array([[gap, 0, 0], [0, gap, 0], [0, 0, gap], [0, gap, 0]])
    gradient, hessian, top = gradients("gll", costs, scores)
    np.testing.assert_allclose(gradient, [[0, 0, 0], [2, -2, 0], [0, 3, -3], [-0.5, 0, 0.5]], atol=1e-15)
    np.testing.assert_allclose(hessian, [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0.25, 0, 0.25]], atol=1e-15)
    expected = [2 * (gap + np.log(2)), 3 * gap, np.log(2)]
    np.testing.assert_allclose(value("gll", costs, scores), expected, rtol=1e-12)
    np.testing.assert_allclose(top[2], expected, rtol=1e-12)


@pytest.mark.parametrize("gap", [1e3, 1e6])
def test_gel_of_scores_far_apart_is_finite(gap):
    costs = make_costs(1 - np.eye(3), np.arange(3), np.ones(3))
    wrong = gap * np.roll(np.eye(3), 1, axis=1)
    gradient, hessian, _ = gradients("gel", costs, wrong, log_scale=gap)
    np.testing.assert_array_equal(gradient, np.eye(3) - np.roll(np.eye(3), 1, axis=1))
    for log_scale in (0.0, -gap):  # too low a scale: cut, but finite
        for found in gradients("gel", costs, wrong, log_scale):
            assert np.all(np.isfinite(found))
    gradient, hessian, top = gradients("gel", costs, gap * np.eye(3))
    assert not gradient.any() and not hessian.any() and not top.any()


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(2, 12),
    st.booleans(),
    st.booleans(),
    st.floats(-1e3, 1e3),
    st.floats(0, 30),
    st.integers(0, 10**6),
)
def test_a_constant_added_to_all_scores_changes_nothing(kind, K, reject, per_row, constant, spread, seed):
    rng = np.random.default_rng(seed)
    costs = example(rng, K, K + reject, per_row=per_row)
    scores = spread * rng.normal(size=(N, K + reject))
    per_row_constant = constant + rng.normal(size=(N, 1))
    here, there = gradients(kind, costs, scores), gradients(kind, costs, scores + per_row_constant)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)
    gradient, hessian, _ = here
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-12 * max(1.0, np.abs(gradient).max()))
    others = np.arange(K + reject) != costs.label[:, None]
    assert np.all(gradient[others] <= 0) and np.all(gradient[~others] >= 0) and np.all(hessian >= 0)
    np.testing.assert_allclose(
        value(kind, costs, scores), value(kind, costs, scores + per_row_constant), rtol=1e-8, atol=1e-12
    )


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.integers(2, 6), st.floats(0.1, 20), st.integers(0, 10**6))
def test_guess_averse(kind, K, spread, seed):
    """Right decisions lose less than equal scores, and a wrong one at least c (GEL) or log(1 + c) (GLL)."""
    rng = np.random.default_rng(seed)
    costs = example(rng, K, kind="lognormal")
    costs = costs._replace(weight=np.ones(N))
    scores = spread * rng.normal(size=(N, K))
    decided = scores.argmax(axis=1)
    rows, guess = row_values(kind, costs, scores), row_values(kind, costs, np.zeros((N, K)))
    right = decided == costs.label
    assert np.all(rows[right] < guess[right])
    paid = costs.table[costs.row, decided]
    assert np.all(rows[~right] >= (paid if kind == "gel" else np.log1p(paid))[~right])


@pytest.mark.parametrize("kind", KINDS)
def test_the_cost_of_the_right_decision_does_not_enter(kind):
    rng = np.random.default_rng(8)
    costs = example(rng, 4)
    scores = rng.normal(size=(N, 4))
    paid = costs._replace(table=costs.table + 7 * np.eye(4))
    for a, b in zip(gradients(kind, costs, scores), gradients(kind, paid, scores), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(value(kind, costs, scores), value(kind, paid, scores))


def test_a_free_decision_with_the_largest_score_takes_no_part():
    costs = make_costs([[0, 1.0, 0], [1.0, 0, 1], [1, 1, 0]], [0], np.ones(1))
    gradient, hessian, _ = gradients("gll", costs, np.array([[0.0, 0.0, 1e6]]))
    np.testing.assert_allclose(gradient, [[0.5, -0.5, 0]], rtol=1e-15)
    np.testing.assert_allclose(hessian, [[0.25, 0.25, 0]], rtol=1e-15)
    assert value("gll", costs, np.array([[0.0, 0.0, 1e6]])).sum() == pytest.approx(np.log(2))


def test_facts():
    costs = example(np.random.default_rng(9), 3, 4)
    for kind in KINDS:
        loss = GuessAverseLoss(kind)
        assert (
            loss.traits == ({JOINT, SOFTMAX_GRADIENT} if kind == "gll" else {JOINT})
            and not loss.traits & {SEPARABLE, EXPONENTIAL}
            and loss.base == kind
        )
        assert loss.constant(costs) == 0 and not loss.floors(costs).any() and loss.floors(costs).shape == (4,)
    with pytest.raises(ValueError, match="'gel', 'gll', got 'glm'"):
        GuessAverseLoss("glm")


@pytest.mark.parametrize("D", [1, 2])
def test_a_decision_for_every_class_is_required(D):
    costs = make_costs(np.ones((3, D)), [0, 1, 2], np.ones(3))
    for kind in KINDS:
        with pytest.raises(ValueError, match=f"decision for every class, and two at least; there are {D}"):
            GuessAverseLoss(kind).constant(costs)


def test_gll_of_unit_costs_and_gel_of_symmetric_ones_have_a_link():
    y = np.arange(3)
    distance = np.abs(np.subtract.outer(y, y))
    for table, link in (
        (1 - np.eye(3), "softmax"),
        (1 + 4 * np.eye(3), "softmax"),
        (5 * (1 - np.eye(3)), None),
        (distance, None),
    ):
        costs = make_costs(table, y, np.ones(3))
        assert GuessAverseLoss("gll").link(costs.facts()) == link
        assert GuessAverseLoss("gel").link(costs.facts()) == "softmax2"
    lopsided = make_costs([[0, 1, 2], [1, 0, 1], [1, 1, 0]], y, np.ones(3))
    assert GuessAverseLoss("gel").link(lopsided.facts()) is None
    reject = make_costs(np.column_stack([1 - np.eye(3), np.ones(3)]), y, np.ones(3))
    assert GuessAverseLoss("gll").link(reject.facts()) is None and GuessAverseLoss("gel").link(reject.facts()) is None
    other_rows = make_costs(1 - np.eye(3), y, np.ones(3), label=[1, 2, 0])
    assert GuessAverseLoss("gll").link(other_rows.facts()) is None


@pytest.mark.parametrize("s", [1.0, 5.0])
def test_softmax_inverts_the_population_minimiser_of_unit_costs_only(s):
    p = np.array([0.6, 0.3, 0.1])
    costs = make_costs(s * (1 - np.eye(3)), np.arange(3), p)

    def slope(free):
        scores = np.tile(np.append(free, 0.0), (3, 1))
        return value("gll", costs, scores).sum(), -gradients("gll", costs, scores)[0].sum(axis=0)[:2]

    found = minimize(slope, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    pi = probabilities("softmax", np.append(found, 0.0)[None])[0]
    implied = pi * (s + (1 - s) * pi)
    np.testing.assert_allclose(implied / implied.sum(), p, atol=1e-6)
    assert np.allclose(pi, p, atol=1e-6) == (s == 1.0)


def test_softmax_link_and_temperature():
    scores = np.random.default_rng(10).normal(size=(6, 4))
    np.testing.assert_allclose(probabilities("softmax", scores), softmax(scores, axis=1), rtol=1e-14)
    np.testing.assert_allclose(log_probabilities("softmax", scores), log_softmax(scores, axis=1), rtol=1e-13)
    far = np.array([[0.0, -1e6]])
    np.testing.assert_array_equal(log_probabilities("softmax", far), far)
    before = scores.copy()
    for link in LINKS:
        np.testing.assert_array_equal(probabilities(link, scores, 1.0), probabilities(link, scores))
        np.testing.assert_array_equal(probabilities(link, scores, 2.5), probabilities(link, scores / 2.5))
        np.testing.assert_allclose(
            np.exp(log_probabilities(link, scores, 2.5)), probabilities(link, scores / 2.5), rtol=1e-13
        )
    np.testing.assert_array_equal(scores, before)


# -- costs that are far apart --------------------------------------------------------------------------------------------
@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2), st.integers(0, 10**6))
def test_the_balanced_constant_is_the_one_of_least_loss(K, more, seed):
    rng = np.random.default_rng(seed)
    A = np.exp(5 * rng.normal(size=(K, K + more)))
    np.fill_diagonal(A, 0.0)
    S = balanced(A)
    if more:  # decisions that are no class have the least score of a class
        np.testing.assert_array_equal(S[K:], S[:K].min())
        A, S = A[:, :K], balanced(A[:, :K])
    assert S.mean() == pytest.approx(0.0, abs=1e-9)
    terms = A * np.exp(S[None, :] - S[:, None])
    np.testing.assert_allclose(terms.sum(axis=0), terms.sum(axis=1), rtol=1e-4)  # the gradient is 0
    np.testing.assert_allclose(balanced(1e3 * A), S, atol=1e-9)
    order = rng.permutation(K)
    np.testing.assert_allclose(balanced(A[np.ix_(order, order)]), S[order], atol=1e-4)


def test_only_costs_that_are_far_apart_begin_elsewhere():
    label = np.repeat([0, 1, 2], [10, 20, 30])
    for ratio, begins in ((1.0, False), (1e3, False), (FAR_APART, False), (1.1 * FAR_APART, True), (1e8, True)):
        table = np.array([[0, 1, 1], [1, 0, 1], [ratio, ratio, 0]])
        per_row = make_costs(table[label], np.arange(60), np.ones(60), label)
        for costs in (
            make_costs(table, label, np.ones(60)).facts(),
            per_row.facts(),
            per_row._replace(per_row=True).facts(),
        ):
            start = GuessAverseLoss("gel").start(costs)
            assert (start is not None) == begins and GuessAverseLoss("gll").start(costs) is None
            assert log_ratio(costs) == (pytest.approx(np.log(ratio)) if begins else 0.0)
            if begins:  # rows of the three classes weigh about as much
                weights = [n * (table[k] @ np.exp(start - start[k]) - table[k, k]) for k, n in enumerate((10, 20, 30))]
                assert max(weights) < 10 * min(weights)
    assert log_ratio(make_costs(np.zeros((3, 3)), label, np.ones(60)).facts()) == 0.0
