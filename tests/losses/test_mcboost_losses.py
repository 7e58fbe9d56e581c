"""Losses of MCBoost along lines: against sums written out, numerical derivatives and the paper's weights; guessing."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.special import logsumexp

from minrisk.losses.codes import simplex_codewords
from minrisk.losses.gamma_phi import GAMMAS, PHIS, GammaPhiLoss, Smooth
from minrisk.losses.guess_averse import GuessAverseLoss, GuessingLoss, is_guess_averse, row_values
from minrisk.model.links import probabilities
from minrisk.rows.row_losses import Course, Groups
from tests.helpers.common import loss_columns, make_costs, random_costs, slow_after, slow_but

N = 40
LOSSES = {
    "gel": GuessAverseLoss("gel"),
    "gll": GuessAverseLoss("gll"),
    "ls": GuessingLoss("ls"),
    "lt": GuessingLoss("lt"),
    **{f"{g} of {p}": GammaPhiLoss(g, p) for g in GAMMAS for p in PHIS},
}
PAPER = ("gel", "gll", "ls", "lt")


def example(seed, K, per_row=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, N)
    table = random_costs(rng, K)
    table[0, -1] = 0.0
    if per_row:
        table = table[y] * rng.uniform(0.5, 2, (N, 1))
    weight = rng.uniform(0.2, 2, N)
    weight[1] = 0.0
    return make_costs(table, np.arange(N) if per_row else y, weight, y), rng.normal(size=(N, K)), rng


def written_out(name, costs, scores):
    """The loss of each row as the paper has it."""
    C, n = costs.table[costs.row].copy(), len(scores)
    C[np.arange(n), costs.label] = 0.0
    with np.errstate(divide="ignore"):
        log_c = np.log(C)
    own = scores[np.arange(n), costs.label][:, None]
    if name == "gel":
        values = np.exp(logsumexp(log_c + scores - own, axis=1))
    elif name == "gll":
        values = logsumexp(np.column_stack([np.zeros(n), log_c + scores - own]), axis=1)
    elif name == "ls":
        values = np.exp(logsumexp(log_c + scores, axis=1))
    elif name == "lt":
        values = np.exp(logsumexp((log_c + scores)[:, :, None] - scores[:, None, :], axis=(1, 2)))
    else:
        gamma, phi = name.split(" of ")
        values = GAMMAS[gamma].value((C * PHIS[phi].value(own - scores)).sum(axis=1))
    return costs.weight * values


def along(loss, costs, scores, factor, move, step, log_scale=0.0):
    """Value, slope and curvature, (n, 3)."""
    line = np.empty((3, len(scores)))
    top = loss.along(
        loss_columns(costs, scores, log_scale), Course(factor, np.ascontiguousarray(move), step, line), 0, len(scores)
    )
    np.testing.assert_allclose(top, np.abs(line).max(axis=1), rtol=1e-14)
    return line.T


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("K", slow_but((2, 3, 4, 5, 8, 12), range(2, 13)))
def test_gradients_and_lines_are_numerical_derivatives(name, K):
    loss = LOSSES[name]
    costs, scores, rng = example(K, K, per_row=K % 2 == 0)
    scores -= scores.mean(axis=1, keepdims=True)
    h, here = 1e-5, written_out(name, costs, scores)
    at = loss_columns(costs, scores)
    top, gradient, hessian = loss.gradients(at, 0, N), at.gradient, at.hessian
    numeric = np.stack(
        [
            (written_out(name, costs, scores + h * e) - written_out(name, costs, scores - h * e)) / (2 * h)
            for e in np.eye(K)
        ],
        axis=1,
    )
    np.testing.assert_allclose(-gradient, numeric, atol=1e-8 * here.max(), rtol=1e-6)
    second = np.stack(
        [
            (written_out(name, costs, scores + h * 10 * e) - 2 * here + written_out(name, costs, scores - h * 10 * e))
            / (100 * h * h)
            for e in np.eye(K)
        ],
        axis=1,
    )
    if "hinge" not in name:  # it has kinks; a Hessian that is negative, as of logarithms of what is no e^-v, is cut
        np.testing.assert_allclose(hessian, np.maximum(second, 0.0), atol=1e-5 * here.max())
    np.testing.assert_allclose(top[:2], [np.abs(gradient).max(axis=0), hessian.max(axis=0)], rtol=1e-14)
    factor = rng.normal(size=N)
    for move in (rng.normal(size=(1, K)), rng.normal(size=(N, K))):
        for step in (0.0, 0.3, -1.1):

            def value(t, move=move):
                return written_out(name, costs, scores + t * factor[:, None] * move)

            line = along(loss, costs, scores, factor, move, step)
            scale = value(step).max()
            np.testing.assert_allclose(line[:, 0], value(step), rtol=1e-12)
            np.testing.assert_allclose(
                line[:, 1], (value(step + h) - value(step - h)) / (2 * h), atol=1e-7 * scale, rtol=1e-5
            )
            if "hinge" not in name:
                wide = 1e-4
                numeric = (value(step + wide) - 2 * value(step) + value(step - wide)) / wide**2
                np.testing.assert_allclose(line[:, 2], numeric, atol=3e-6 * scale * K * K, rtol=1e-4)
            assert not line[1].any()  # weight 0


@pytest.mark.parametrize("K", [2, 3, 5, 12])
def test_boosting_weights_are_the_papers(K):
    """(34) to (37) for the codewords, with the factor 1/2 of (23) in (36) too and the indices of (14) in (37)."""
    costs, _, rng = example(K, K)
    Y = simplex_codewords(K)
    f = rng.normal(size=(N, K - 1))
    C, z = costs.table[costs.row], costs.label
    S = 0.5 * f @ Y.T
    for r in range(K - 1):
        expected = {}
        delta = 0.5 * (Y[None, :] - Y[z][:, None])  # Delta_{z, j}
        e = C * np.exp(np.einsum("nr,njr->nj", f, delta))
        expected["gel"] = (e * delta[:, :, r]).sum(axis=1)
        expected["gll"] = expected["gel"] / (1 + e.sum(axis=1))
        expected["ls"] = (C * 0.5 * Y[:, r] * np.exp(S)).sum(axis=1)
        pair = 0.5 * (Y[:, None] - Y[None, :])  # [j, k]
        expected["lt"] = np.einsum("nj,jk,njk->n", C, pair[:, :, r], np.exp(S[:, :, None] - S[:, None, :]))
        for name, w in expected.items():
            line = along(LOSSES[name], costs, S, np.ones(N), 0.5 * Y[:, r][None], 0.0)
            np.testing.assert_allclose(line[:, 1], costs.weight * w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_values_and_blocks(name):
    costs, scores, _ = example(1, 5)
    loss = LOSSES[name]
    scores -= scores.mean(axis=1, keepdims=True)
    at, again = loss_columns(costs, scores, 0.7), loss_columns(costs, scores, 0.7)
    top = loss.gradients(at, 0, N)
    np.testing.assert_allclose(at.value, written_out(name, costs, scores) * np.exp(-0.7), rtol=1e-9)
    tops = [loss.gradients(again, a, b) for a, b in ((0, 7), (7, N))]
    np.testing.assert_array_equal(np.max(tops, axis=0), top)
    np.testing.assert_array_equal(again.gradient, at.gradient)
    np.testing.assert_array_equal(again.value, at.value)


@pytest.mark.parametrize("n", [1, 127, 300])
@pytest.mark.parametrize("name", PAPER)
def test_sums_by_value_are_those_of_all_classes(name, n):
    """Along a coordinate a row needs its terms' sums by the direction's values only."""
    rng, K = np.random.default_rng(n), 6
    y = rng.integers(0, K, n)
    costs = make_costs(random_costs(rng, K), y, np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0.2, 2, n)), y)
    loss, scores = LOSSES[name], rng.normal(size=(n, K))
    at = loss_columns(costs, scores, 0.3)
    loss.gradients(at, 0, n)
    factor = rng.normal(size=n)
    for direction in 0.5 * simplex_codewords(K).T:
        values, number = np.unique(direction, return_inverse=True)
        groups = Groups(number, values, np.full((loss.n_terms(len(values)), n), np.nan))
        loss.gather(at, groups, 0, n)
        for step in (0.0, 0.7, -2.0):
            line = np.full((3, n), np.nan)
            top = loss.along(at, Course(factor, direction[None], step, line, groups), 0, n)
            expected = along(loss, costs, scores, factor, direction[None], step, 0.3).T
            if loss.relative:
                expected[0] -= along(loss, costs, scores, factor, direction[None], 0.0, 0.3)[:, 0]
            np.testing.assert_allclose(line, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
            np.testing.assert_array_equal(top, np.abs(line).max(axis=1))
            again = np.empty_like(line)
            for a, b in ((0, n // 3), (n // 3, n)):
                loss.along(at, Course(factor, direction[None], step, again, groups), a, b)
            np.testing.assert_array_equal(again, line)


@pytest.mark.parametrize("name", LOSSES)
def test_errors_name_the_loss(name):
    costs = make_costs(np.zeros((1, 1)), [0], np.ones(1))
    with pytest.raises(ValueError, match=f"^{name} compares the scores .* two at least; there are 1"):
        LOSSES[name].constant(costs)


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("gap", [50.0, 350.0, 1e4, 1e6])
def test_scores_far_apart_are_finite(name, gap):
    costs = make_costs(1 - np.eye(3), [0, 1, 2, 0], np.ones(4))
    scores = gap * np.array([[2.0, -1, -1], [2.0, -1, -1], [1.0, -1, 0], [0, 0, 0]])
    for log_scale in (0.0, 2 * gap):
        line = along(LOSSES[name], costs, scores, np.ones(4), np.array([[1.0, -1.0, 0.0]]), 0.5, log_scale)
        assert np.all(np.isfinite(line)) and np.all(line[:, 2] >= 0)
    if name == "gll":
        line = along(LOSSES[name], costs, scores, np.ones(4), np.array([[0.0, 0.0, 0.0]]), 0.0)
        np.testing.assert_allclose(line[:, 0], [0, 3 * gap, gap, np.log(3)], rtol=1e-12, atol=1e-12)


def test_gel_and_gll_are_of_the_family():
    costs, scores, rng = example(5, 6)
    factor, move = rng.normal(size=N), rng.normal(size=(1, 6))
    for name, gamma in (("gel", "identity"), ("gll", "log")):
        a = along(LOSSES[name], costs, scores, factor, move, 0.4)
        np.testing.assert_allclose(
            a, along(GammaPhiLoss(gamma, "exponential"), costs, scores, factor, move, 0.4), rtol=1e-9
        )
    own = Smooth(np.sqrt, lambda v: 0.5 / np.sqrt(v), lambda v: -0.25 * v**-1.5)
    assert GammaPhiLoss(own, "logistic").base == "a function of logistic"
    with pytest.raises(ValueError, match="phi must be one of 'exponential', .*, got 'linear'"):
        GammaPhiLoss("identity", "linear")
    with pytest.raises(ValueError, match="'ls', 'lt', got 'gel'"):
        GuessingLoss("gel")


# -- guessing ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3, 5, 8])
@pytest.mark.parametrize("kind", ["01", "general", "lognormal"])
def test_who_is_averse_to_guessing(K, kind):
    cost = random_costs(np.random.default_rng(K), K, kind=kind)
    averse = {name for name, loss in LOSSES.items() if is_guess_averse(loss, cost)}
    expected = {name for name in LOSSES if name not in ("ls", "lt") and not name.endswith("squared")}
    if K == 2:  # with two scores of sum 0 all but the squared ones: trivially so, says the paper
        expected |= {"ls"}
        averse -= {"lt"}
    assert averse == expected


def test_the_papers_counter_example():
    """Eq. (13): the cost of deciding rightly by [3, 2, -5] is 7.4 > 2; and L_t is worse still."""
    cost, G = 1 - np.eye(3), np.array([[3.0, 2.0, -5.0], [0.0, 0.0, 0.0]])
    values = row_values(GuessingLoss("ls"), cost, np.zeros(2, dtype=np.int64), G)
    np.testing.assert_allclose(values, [np.exp(2) + np.exp(-5), 2.0])
    assert values[0] == pytest.approx(7.4, abs=0.01)
    there, guess = row_values(GuessingLoss("lt"), cost, np.zeros(2, dtype=np.int64), G)
    assert there > guess == 6.0


def test_figure_3c():
    """C_12 = 1, C_13 = 10: GLL prefers [1.5, 2, -3.5], a decision for class 2, to guessing."""
    cost = np.array([[0, 1.0, 10.0], [1, 0, 1], [1, 1, 0]])
    values = row_values(
        GuessAverseLoss("gll"), cost, np.zeros(2, dtype=np.int64), np.array([[1.5, 2, -3.5], [0, 0, 0]])
    )
    assert values[0] < values[1]


# -- what the losses are least at, at a point x ------------------------------------------------------------------------
def least_at(name, cost, p):
    """The scores of sum 0 at which the loss is least that is expected of classes with probabilities p."""
    K, loss = len(p), LOSSES[name]
    costs, basis = make_costs(cost, np.arange(K), p), null_space(np.ones((1, K)))

    def expected(free):
        at = loss_columns(costs, np.tile(basis @ free, (K, 1)))
        loss.gradients(at, 0, K)
        return written_out(name, costs, at.scores).sum(), -at.gradient.sum(axis=0) @ basis

    return basis @ minimize(expected, np.zeros(K - 1), jac=True, method="BFGS", options={"gtol": 1e-10}).x


def drawn_point(rng, K):
    """Costs and probabilities for which no two decisions cost nearly the same."""
    while True:
        cost, p = rng.uniform(1, 10, (K, K)) * (1 - np.eye(K)), rng.dirichlet(np.ones(K))
        if np.diff(np.sort(p @ cost))[0] > 0.05:
            return cost, p


@pytest.mark.parametrize("K", [3, 5])
def test_gel_does_not_see_symmetric_costs(K):
    """Appendix C: the minimiser of the expected GEL is 1/2 ln p, whatever the symmetric costs."""
    cost, p = drawn_point(np.random.default_rng(K), K)
    np.testing.assert_allclose(probabilities("softmax2", least_at("gel", cost + cost.T, p)[None])[0], p, atol=1e-6)
    assert np.abs(probabilities("softmax2", least_at("gel", cost, p)[None])[0] - p).max() > 0.01


@pytest.mark.parametrize("K", slow_after(2, [2, 3, 5, 8]))
def test_who_decides_at_the_least_cost(K):
    """Sec. 5.1: L_s and L_t are classification calibrated, GLL is not; nor is GEL, with more than two classes."""
    rng = np.random.default_rng(K)
    points = [drawn_point(rng, K) for _ in range(60)]
    right = {name: sum(least_at(name, cost, p).argmax() == (p @ cost).argmin() for cost, p in points) for name in PAPER}
    assert right["ls"] == right["lt"] == 60 > right["gll"]
    assert (right["gel"] == 60) == (K == 2)
    for cost, p in points[:5]:
        log_risk = np.log(p @ cost)
        np.testing.assert_allclose(least_at("ls", cost, p), log_risk.mean() - log_risk, atol=1e-6)
        np.testing.assert_allclose(least_at("lt", cost, p), (log_risk.mean() - log_risk) / 2, atol=1e-6)
        for name in PAPER:
            assert least_at(name, 1 - np.eye(K), p).argmax() == p.argmax()


@pytest.mark.parametrize("name", ["gel", "gll"])
def test_a_wrong_decision_may_have_less_loss_than_a_right_one(name):
    """So neither is c-calibrated, which Sec. 3 says of GLL; and both are averse to guessing."""
    scores = np.array([[0.02, 0.0, -0.02], [1.0, 1.1, -2.1]])
    right, wrong = row_values(LOSSES[name], 1 - np.eye(3), np.zeros(2, dtype=np.int64), scores)
    assert wrong < right < row_values(LOSSES[name], 1 - np.eye(3), np.zeros(1, dtype=np.int64), np.zeros((1, 3)))[0]
