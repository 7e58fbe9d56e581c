"""Stage-wise MCBoost against its slow twin, AdaBoost and a general convex solver; estimators, files, stages."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from minrisk import MultiBoostClassifier, REBELClassifier, StagewiseMCBoostClassifier
from minrisk._kernels.split import bar_between, scan_largest, side_bounds
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import boost
from minrisk.data.binning import fit_binner
from minrisk.losses.gamma_phi import GammaPhiLoss
from minrisk.losses.guess_averse import PairwiseLoss
from minrisk.model.coded_trees import StepTables
from minrisk.rows.pairs import FEW_GROUPS, CorrectiveRows, JointResponses, PairRows
from minrisk.steps.penalised import PAPER, Objective, PairwiseStep, Tolerances, most_violated
from tests.helpers import naive
from tests.helpers import naive_stagewise as twin
from tests.helpers.common import COST, loss_columns, make_costs, slow_after
from tests.helpers.walks import answers

LOSSES = ("exponential", "logistic")
TIGHT = Tolerances(1000, 1e-11, 1e-16)


def problem(seed, K=None):
    rng = np.random.default_rng(seed)
    K = K or int(rng.integers(2, 5))
    n, d = int(rng.integers(24, 41)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    y[: 2 * K] = np.tile(np.arange(K), 2)
    cost = rng.uniform(0.2, 5.0, (K, K)) * (1 - np.eye(K))
    return X, y, cost, rng.uniform(0.5, 2.0, n), rng


def recipe_of(model, rows, binner):
    """As a fit to these rows makes it."""
    model.classes_ = model.decisions_ = np.arange(rows.n_outputs)
    return model._recipe(rows.cost_facts, binner.thresholds)


class Tight(StagewiseMCBoostClassifier):
    """With the step solved to the last digits, so that rounds do not drift from the twin's."""

    def _recipe(self, costs, thresholds):
        recipe = super()._recipe(costs, thresholds)
        return recipe._replace(solver=replace(recipe.solver, tolerances=TIGHT)) if self.step_size is None else recipe


class TightMulti(MultiBoostClassifier):
    def _recipe(self, costs, thresholds):
        recipe = super()._recipe(costs, thresholds)
        return recipe._replace(solver=replace(recipe.solver, tolerances=TIGHT))


Tight.__init__, TightMulti.__init__ = StagewiseMCBoostClassifier.__init__, MultiBoostClassifier.__init__


def pair_rows(X, y, table, weights, scores=None, kind=PairRows, blocks=None, row=None):
    binner = fit_binner(X)
    rows = kind(
        binner.transform(X), binner.n_bins, make_costs(table, y if row is None else row, weights, y), Workers(1), blocks
    )
    if scores is not None:
        rows.scores[:] = scores
    return rows, binner


# -- the losses --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("log_scale", [0.0, 1.5])
def test_gradients_and_values(loss, seed, log_scale):
    X, y, cost, weights, rng = problem(seed)
    S = 3.0 * rng.normal(size=(len(y), len(cost)))
    rows, _ = pair_rows(X, y, cost + 7.0 * np.eye(len(cost)), weights, S)  # a right decision's cost does not count
    the_loss = PairwiseLoss(loss)
    totals = rows.gradients(the_loss, log_scale)
    A = twin.pair_weights(cost[y], y, weights)
    own = twin.total_loss(loss, np.where(np.eye(len(cost))[y] > 0, A, 0.0), y, S)
    value = twin.total_loss(loss, A, y, S) - own
    assert totals.value.sum() * np.exp(log_scale) == pytest.approx(value, rel=1e-12)
    assert rows.own_total(the_loss) == pytest.approx(own, rel=1e-12)
    assert the_loss.constant(rows.costs) * weights.sum() == pytest.approx(own, rel=1e-12)
    u = twin.gradients(loss, A, y, S) * (value + own if loss == "exponential" else 1.0)
    np.testing.assert_allclose(rows.gradient * np.exp(log_scale), u, rtol=1e-9, atol=1e-12)
    phis = GammaPhiLoss("identity", loss)
    reference, _ = pair_rows(X, y, cost, weights, S)
    reference.gradients(phis, log_scale)
    np.testing.assert_allclose(rows.gradient, reference.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(rows.hessian, reference.hessian, rtol=1e-9, atol=1e-12)
    step = 1e-6
    for k in range(len(cost)):
        plus, minus = S.copy(), S.copy()
        plus[:, k] += step
        minus[:, k] -= step
        slope = (twin.total_loss(loss, A, y, plus) - twin.total_loss(loss, A, y, minus)) / (2 * step)
        assert -rows.gradient[:, k].sum() * np.exp(log_scale) == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_scores_far_apart(loss):
    X, y, cost, weights, _ = problem(0, 3)
    rows, _ = pair_rows(X, y, cost, weights, 400.0 * np.eye(3)[(y + 1) % 3])
    totals = rows.gradients(PairwiseLoss(loss), 0.0)
    assert np.all(np.isfinite(rows.gradient)) and np.all(np.isfinite(totals.value))
    if loss == "logistic":
        pairs = cost[y, (y + 1) % 3] * 400.0 + cost[y, (y + 2) % 3] * np.log(2.0)
        assert totals.value.sum() == pytest.approx(weights @ pairs)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", LOSSES)
def test_sums_along_a_response(loss, seed):
    """What the step sees of the rows is the loss at scores + f w, and its slope, for any w, bag and blocks."""
    X, y, cost, weights, rng = problem(seed)
    D = len(cost)
    S = rng.normal(size=(len(y), D))
    rows, _ = pair_rows(X, y, cost, weights, S, blocks=(5, 11) if seed % 2 else None)
    rows.gradients(PairwiseLoss(loss), 0.7)
    f = rng.choice([-1, 1], len(y))
    rows.response[:] = f
    bag = rng.random(len(y)) < 0.7 if seed > 2 else np.ones(len(y), dtype=bool)
    rows.weigh(bag if seed > 2 else None)
    A = twin.pair_weights(cost[y], y, weights)
    A[np.arange(len(y)), y] = 0.0
    A[~bag] = 0.0
    rows.start_pairs()
    B = rows.pair_sums() if loss == "exponential" else None
    for _ in range(4):
        w = rng.uniform(0, 2, D)
        expected = twin.total_loss(loss, A, y, S + f[:, None] * w) * np.exp(-0.7)
        if loss == "exponential":
            assert np.sum(B * np.exp(w - w[:, None])) == pytest.approx(expected, rel=1e-11)
            continue
        value, slope = rows.pair_slopes(w)
        assert value == pytest.approx(expected, rel=1e-9)
        for k in range(D):
            at = [twin.total_loss(loss, A, y, S + f[:, None] * (w + h * np.eye(D)[k])) for h in (1e-6, -1e-6)]
            assert slope[k] == pytest.approx((at[0] - at[1]) / 2e-6 * np.exp(-0.7), rel=1e-6, abs=1e-6)


# -- against the twin ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_the_twin(loss, seed):
    X, y, cost, weights, rng = problem(seed)
    per_row = seed % 4 == 3
    rows = cost[y] * rng.uniform(0.5, 2.0, (len(y), 1)) if per_row else cost[y]
    options = [{}, {"nu": 1e-2}, {"learning_rate": 1.0}, {"cap": 0.2}][seed // 2]
    kappa = options.get("cap", np.inf)
    terms, losses = twin.boost(
        X,
        rows,
        y,
        weights,
        naive.midpoint_edges(X),
        loss,
        4,
        options.get("nu", 1e-9),
        options.get("learning_rate", 0.5),
        kappa,
    )
    model = Tight(None if per_row else cost, loss=loss, n_estimators=4, tol=0.0, **options)
    model.fit(X, y, sample_weight=weights, cost=rows if per_row else None)
    assert model.n_iter_ == len(terms)
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-6)
    for tree, w, (j, tau, sign, v) in zip(model.model_.learners, model.model_.vectors, terms, strict=True):
        assert (tree.feature[0], tree.value[2]) == (j, sign)
        assert np.array_equal(X[:, j] > tree.threshold[0], X[:, j] > tau)
        assert w.min() >= 0 and w.max() <= kappa
        if kappa == np.inf:  # scores that differ by a constant are the same
            np.testing.assert_allclose(w - w.mean(), v - v.mean(), atol=2e-4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_squares_weigh_as_much_as_the_loss_falls(loss, seed):
    """The objective's slope in the last vector is 0, and its learner had the largest edge of either polarity."""
    X, y, cost, weights, _ = problem(seed)
    model = Tight(cost, loss=loss, penalty="l2", nu=0.05, learning_rate=1.0, n_estimators=4, tol=0.0)
    model.fit(X, y, sample_weight=weights)
    A, S = twin.pair_weights(cost[y], y, weights), np.zeros((len(y), len(cost)))
    assert model.n_iter_ == 4
    for tree, w in zip(model.model_.learners, model.model_.vectors, strict=True):
        f = np.where(X[:, tree.feature[0]] > tree.threshold[0], 1, -1) * tree.value[2]
        found = (twin.gradients(loss, A, y, S).T @ f).max()
        every = [
            np.abs(twin.gradients(loss, A, y, S).T @ h).max() for _, _, h in twin.stumps(X, naive.midpoint_edges(X))
        ]
        assert found == pytest.approx(max(every), rel=1e-9)
        S += np.outer(f, w)
        slope = twin.gradients(loss, A, y, S).T @ f / twin.unit(loss, A, y)
        np.testing.assert_allclose(slope, 0.05 * w, atol=1e-6)
    assert model.model_.vectors.min() < 0


@pytest.mark.parametrize("loss", LOSSES)
def test_fixed_steps_on_the_selected_class(loss):
    X, y, cost, weights, _ = problem(1, 3)
    terms, losses = twin.boost(X, cost[y], y, weights, naive.midpoint_edges(X), loss, 60, size=0.01)
    model = StagewiseMCBoostClassifier(cost, loss=loss, n_estimators=60, step_size=0.01, tol=0.0).fit(
        X, y, sample_weight=weights
    )
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)
    np.testing.assert_allclose(model.model_.vectors, [term[3] for term in terms], atol=2.0**-33)


@given(seed=st.integers(0, 10**6), loss=st.sampled_from(LOSSES))
@settings(max_examples=20, deadline=None)
def test_values_and_gradients_are_those_of_the_round(seed, loss):
    """What totally corrective steps take, without a Hessian, is to the last bit what a round takes."""
    X, y, cost, weights, rng = problem(seed)
    S, log_scale = rng.normal(size=(len(y), len(cost))) * rng.choice([1.0, 30.0]), 0.5
    rows, _ = pair_rows(X, y, cost, weights, S)
    the_loss, n = PairwiseLoss(loss), len(y)
    at, other = (loss_columns(rows.costs, S, log_scale) for _ in range(2))
    top = the_loss.gradients(at, 0, n)
    without = the_loss.gradients(other._replace(hessian=other.hessian[:0]), 0, n)
    np.testing.assert_array_equal(without[[0, 2]], top[[0, 2]])
    np.testing.assert_array_equal(other.gradient, at.gradient)
    np.testing.assert_array_equal(other.value, at.value)


@given(seed=st.integers(0, 10**6), loss=st.sampled_from(LOSSES), nu=st.sampled_from([0.0, 1e-9, 1e-3, 0.05]))
@example(seed=47873, loss="logistic", nu=1e-3)  # the solver creeps once it has passed by a bound
@example(seed=230, loss="exponential", nu=1e-3)
@example(seed=6749, loss="logistic", nu=0.0)
@settings(max_examples=40, deadline=None)
def test_a_step_is_the_minimum_of_a_general_solver(seed, loss, nu):
    """With the paper's tolerances: (13) or (14) within 1e-6 of what sequential quadratic programming finds.

    Without a penalty the loss may fall for ever, and the solver ends where its slope is small: then, by convexity, the
    loss is too large by the slope times the way that is left, at most.
    """
    X, y, cost, weights, rng = problem(seed)
    S = rng.normal(size=(len(y), len(cost)))
    rows, _ = pair_rows(X, y, cost, weights, S)
    the_loss = PairwiseLoss(loss)
    totals = rows.gradients(the_loss, 0.0)
    split = rows.best_stump(3, rows.weigh(None), np.arange(X.shape[1]))
    f = np.where(rows.X_binned[split.feature] > split.bin, 1, -1)
    rows.response[:] = f
    from minrisk.steps.base import StepProblem

    value = float(totals.value.sum())
    step = PairwiseStep(nu).solve(StepProblem(rows, the_loss, totals.value, value, np.zeros(len(cost)), 0.0))
    w = step.vectors[0]
    assert w.min() >= 0 and w.max() <= 18
    A = twin.pair_weights(cost[y], y, weights)
    reached = twin.objective(loss, A, y, S + f[:, None] * w, w.sum(), nu)
    best = twin.step(loss, A, y, S, f.astype(float), nu)
    least = twin.objective(loss, A, y, S + f[:, None] * best, best.sum(), nu)
    left = PAPER.gradient * (1.0 if loss == "exponential" else value) * np.abs(w - best).sum()
    assert reached <= least + 1e-6 * max(1.0, abs(least)) + left
    if nu == 0.0:  # then the step tells the loss itself
        own = twin.total_loss(loss, A, y, S) - value
        assert step.value == pytest.approx(twin.total_loss(loss, A, y, S + f[:, None] * w) - own, rel=1e-9)
    assert (
        Objective.of(StepProblem(rows, the_loss, totals.value, value, None, 0.0), nu).at(value, np.zeros(1), 0.0)[0]
        == 0.0
    )


def test_trees_are_deepened_for_the_violated_class():
    X, y, cost, weights, _ = problem(2, 3)
    A = twin.pair_weights(cost[y], y, weights)
    for loss in LOSSES:
        E = twin.gradients(loss, A, y, np.zeros(A.shape))
        stump = StagewiseMCBoostClassifier(cost, loss=loss, n_estimators=1).fit(X, y, sample_weight=weights)
        j, _, sign, r, value = twin.most_violated(X, naive.midpoint_edges(X), E)
        assert stump.model_.learners[0].feature[0] == j and most_violated(np.array([1.0, 1.0, 0.5])) == 0
        tree = StagewiseMCBoostClassifier(cost, loss=loss, n_estimators=1, weak_learner="tree", max_depth=2)
        learner = tree.fit(X, y, sample_weight=weights).model_.learners[0]
        assert learner.depth == 2 and learner.feature[0] == j
        f = np.sign(answers(learner, X))
        side = X[:, j] > learner.threshold[0]
        best = 0.0
        for part in (side, ~side):  # either side has its own best stump, for class r
            sums = [
                np.abs(np.where(X[part, i] > tau, 1, -1) @ E[part, r])
                for i, places in enumerate(naive.midpoint_edges(X))
                for tau in [-np.inf, *places]
            ]
            best += max(sums)
        assert f @ E[:, r] == pytest.approx(best) and best > value and sign in (-1, 1)
        assert tree.feature_importances_.sum() == pytest.approx(1.0)


# -- totally corrective ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_multiboost_equals_the_twin(loss, seed, penalty):
    X, y, cost, weights, _ = problem(seed, 3)
    nu = 0.02
    thresholds = naive.midpoint_edges(X)
    learners, W, values = twin.multiboost(X, cost[y], y, weights, thresholds, loss, 3, nu, penalty)
    A = twin.pair_weights(cost[y], y, weights)
    model = TightMulti(cost, loss=loss, n_estimators=3, nu=nu, tol=0.0, penalty=penalty).fit(
        X, y, sample_weight=weights
    )
    got = [(tree.feature[0], tree.value[2]) for tree in model.model_.learners]
    assert got == [(j, sign) for j, _, sign in learners]
    vectors = model.model_.vectors
    if penalty == "l1":
        assert vectors.min() >= 0
    else:
        np.testing.assert_allclose(vectors.sum(axis=1), 0.0, atol=1e-7)  # a constant would cost, and change nothing
    norm = vectors.sum() if penalty == "l1" else np.sum(vectors**2) / 2
    value = twin.objective(loss, A, y, model.model_.scores(X), norm, nu)
    assert value == pytest.approx(values[-1], abs=1e-6)
    np.testing.assert_allclose(vectors, W, atol=2e-3)


@pytest.mark.parametrize("nu", [0.3, 0.01])
def test_sums_of_squares_over_all_stumps_are_logistic_regression(nu):
    """K = 2, with all stumps in: F_1 - F_0 = h'v, v = w_1 - w_0 and |W|^2 = |v|^2 / 2."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (80, 3)).astype(float)
    y = (X.sum(axis=1) + rng.normal(size=80) > 6).astype(int)
    model = TightMulti(penalty="l2", nu=nu, n_estimators=100, tol=0.0).fit(X, y)
    assert model.n_iter_ == 12  # each of the four of a feature once; then none is left
    answers = np.column_stack([np.where(X[:, j] > at, 1.0, -1.0) for j in range(3) for at in (0, 1, 2, 3)])
    other = LogisticRegression(C=2 / (nu * len(y)), fit_intercept=False, tol=1e-12, max_iter=10_000).fit(answers, y)
    np.testing.assert_allclose(np.diff(model.model_.scores(X), axis=1)[:, 0], answers @ other.coef_[0], atol=1e-4)


def test_no_two_learners_answer_alike_under_a_sum_of_squares(wine):
    X, y = wine
    X = np.column_stack([X, -X[:, :3], X[:, 0] ** 3])  # the same splits in other words
    model = MultiBoostClassifier(penalty="l2", nu=1e-4, n_estimators=150).fit(X, y)
    answers = np.stack([np.where(X[:, tree.feature[0]] > tree.threshold[0], 1, -1) for tree in model.model_.learners])
    same = np.abs(answers @ answers.T) == len(y)
    assert model.n_iter_ == 150 and same.sum() == 150


@pytest.mark.parametrize("seed", range(4))
def test_splits_that_answer_alike_are_barred(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (7, 12)).astype(np.uint8)
    X[1], X[2] = 5 - X[0], X[0] // 2
    response = np.where(X[seed] > (1 if seed == 2 else 2), 1, -1).astype(np.int8)
    barred = np.zeros((7, 256), dtype=bool)
    bar_between(side_bounds(X, response), barred)
    for j in range(7):
        for b in range(6):
            both = X[j].min() <= b < X[j].max()
            assert barred[j, b] == (both and abs(np.where(X[j] > b, 1, -1) @ response) == 12)
    assert barred.any() and not barred[:, 6:].any()
    bar_between(side_bounds(X, np.ones(12, dtype=np.int8)), barred := np.zeros((7, 256), dtype=bool))
    assert not barred.any()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(2))
def test_kkt_conditions_and_duality_gap(loss, seed):
    """At the end of column generation: (9) holds for all stumps and classes, and (5) = (6), (7) = (8), for 0/1 costs."""
    X, y, _, _, _ = problem(seed, 3)
    n, K = len(y), 3
    nu = 0.02
    model = TightMulti(loss=loss, n_estimators=200, nu=nu, tol=1e-9).fit(X, y)
    assert 3 < model.n_iter_ < 200
    S, W = model.model_.scores(X), model.model_.vectors
    rho = S[np.arange(n), y][:, None] - S
    if loss == "exponential":
        u = np.exp(-rho) / np.exp(-rho).sum()  # (11)
        primal, dual = np.log(np.exp(-rho).sum()) + nu * W.sum(), -np.sum(u * np.log(u))  # (5), (6)
        assert u.sum() == pytest.approx(1.0)
    else:
        nu *= n  # of the mean
        u = np.exp(-rho) / (1 + np.exp(-rho))  # (12)
        primal = np.sum(np.log1p(np.exp(-rho))) + nu * W.sum()  # (7)
        dual = -np.sum(u * np.log(u) + (1 - u) * np.log(1 - u))  # (8)
    assert primal == pytest.approx(dual, rel=1e-5)
    E = np.eye(K)[y] * u.sum(axis=1, keepdims=True) - u
    slack = 1e-4 * nu + 1e-6
    for _, _, f in twin.stumps(X, naive.midpoint_edges(X)):
        assert np.all(np.abs(f @ E) <= nu + slack)  # dual feasibility, either polarity
    for tree, w in zip(model.model_.learners, W, strict=True):
        f = answers(tree, X)
        np.testing.assert_allclose((f @ E)[w > 1e-6], nu, atol=slack)  # complementary slackness


@pytest.mark.parametrize("dtype", [np.float64, np.float32, int])
def test_tables_predict_the_same_bits(wine, dtype):
    """Models of stumps are predicted by tables of each feature: no other bits than stump by stump, missing values too."""
    X, y = wine
    X = np.round(X, 1)
    X[::5, 2] = np.nan
    learning_rate = 0.3
    for kind in (
        StagewiseMCBoostClassifier(n_estimators=80, learning_rate=learning_rate),
        MultiBoostClassifier(n_estimators=30),
    ):
        model = kind.fit(X, y).model_
        assert isinstance(model._whole, StepTables) and len(model._whole.thresholds) < len(model) + 1
        new = np.nan_to_num(X * 1.01).astype(dtype)
        if dtype is not int:
            new[::3, 1:4] = np.nan
            new[:40] = X[:40].astype(dtype)  # on thresholds too
        *_, last = model.staged_scores(new)
        np.testing.assert_array_equal(model.scores(new), last)
        np.testing.assert_array_equal(model.scores(new[:1]), last[:1])
        np.testing.assert_array_equal(model[:7].scores(new), list(model.staged_scores(new))[6])
    assert REBELClassifier(n_estimators=5, weak_learner="stump").fit(X, y).model_._whole is None  # its sums round
    trees = StagewiseMCBoostClassifier(n_estimators=5, weak_learner="tree").fit(X, y)
    assert trees.model_._whole is None


def test_one_table_of_stumps_that_split_missing_values_off():
    """Their thresholds are -inf, and differences of two would warn."""
    y = np.repeat([0, 1, 2], [15, 10, 5])
    X = np.where(np.arange(30) % 2 == (y == 1), np.nan, y + 0.1)[:, None]
    model = StagewiseMCBoostClassifier(n_estimators=8).fit(X, y)
    assert np.sum(model.model_.packed.threshold[::3] == -np.inf) > 1
    *_, last = model.model_.staged_scores(X)
    np.testing.assert_array_equal(model.decision_function(X), last)


def test_correction_beats_stages_and_keeps_signs():
    X, y = load_wine(return_X_y=True)
    for loss in LOSSES:
        one = StagewiseMCBoostClassifier(loss=loss, n_estimators=10, nu=1e-5, learning_rate=1.0).fit(X, y)
        all_ = MultiBoostClassifier(loss=loss, n_estimators=10).fit(X, y)
        assert np.all(all_.train_loss_[2:] <= one.train_loss_[2:]) and all_.train_loss_[-1] < one.train_loss_[-1]
        scaled = all_.model_.vectors * 2.0**32
        np.testing.assert_array_equal(scaled, np.rint(scaled))  # the grid: sums of them are exact
    rows, binner = pair_rows(X, y, 1.0 - np.eye(3), np.ones(len(y)), kind=CorrectiveRows)
    model = MultiBoostClassifier(loss="logistic")
    progress = boost(rows, recipe_of(model, rows, binner), 20, 0)
    assert rows._kept._codes.dtype == np.uint8 and rows.n_kept == len(progress.trees)
    np.testing.assert_array_equal(rows.kept_vectors, np.concatenate(progress.vectors))


@pytest.mark.parametrize("stumps", [True, False])
def test_joint_responses_are_the_products(stumps):
    """Against the matrix of all responses, bit for bit: stumps on three features, and learners that agree in nothing."""
    rng = np.random.default_rng(0)
    n, T, D = 1500, 700, 4
    X = rng.normal(size=(n, 3))
    kept, all_ = JointResponses(n), np.zeros((n, 0))
    in_bag, factor = rng.random(n) < 0.8, np.full(D, 2.0**20)
    for t in range(T):
        signs = X[:, t % 3] > rng.normal() if stumps else rng.random(n) < 0.5
        response = np.where(signs, 1, -1).astype(np.int8)
        kept.append(response)
        all_ = np.column_stack([all_, response])
        if t not in (0, 6, 7, 80, T - 1):
            continue
        vectors, values = np.rint(rng.random((t + 1, D)) * 2.0**32) / 2.0**32, rng.normal(size=(n, D))
        scores = np.ones((n, D))
        kept.add(kept.tables(vectors), scores, 0, 100)
        kept.add(kept.tables(vectors), scores, 100, n)
        np.testing.assert_array_equal(scores, 1.0 + all_ @ vectors)
        sums = kept.sums(values, in_bag, factor, 0, 600) + kept.sums(values, in_bag, factor, 600, n)
        np.testing.assert_array_equal(
            kept.products(sums), all_.T @ np.where(in_bag[:, None], np.rint(values * factor), 0.0)
        )
    assert len(kept) == T
    assert len(kept._codes) < FEW_GROUPS if stumps else len(kept._codes) > T // 8
    assert kept._n_joint.max() == 128  # some are full


def test_validation_rows_follow_corrections():
    from minrisk.boosting.monitors import EarlyStopping

    X, y = load_wine(return_X_y=True)
    rows, binner = pair_rows(X[::2], y[::2], 1.0 - np.eye(3), np.ones(89), kind=CorrectiveRows)
    costs = make_costs(1.0 - np.eye(3), y, np.ones(len(y)))
    watched = PairRows(binner.transform(X), binner.n_bins, costs, Workers(1), trainable=False)
    progress = boost(
        rows, recipe_of(MultiBoostClassifier(), rows, binner), 12, 0, [EarlyStopping(watched, 99, 0, np.zeros(3))]
    )
    np.testing.assert_array_equal(watched.scores[::2], rows.scores)
    assert len(progress.trees) > 5


def test_parts_that_do_not_go_together():
    X, y, cost, weights, _ = problem(0, 3)
    rows, binner = pair_rows(X, y, cost, weights)
    recipe = recipe_of(MultiBoostClassifier(), rows, binner)
    with pytest.raises(ValueError, match="CorrectiveStep cannot be used with .*requires CorrectiveRows"):
        boost(rows, recipe, 1, 0)
    from minrisk.losses.guess_averse import GuessAverseLoss
    from minrisk.rows.rows import Rows

    with pytest.raises(ValueError, match="PairwiseStep cannot be used with GuessAverseLoss.*requires pairs"):
        boost(rows, recipe._replace(loss=GuessAverseLoss("gel"), solver=PairwiseStep(0.0)), 1, 0)
    plain = Rows(rows.X_binned, rows.n_bins, rows.costs, Workers(1))
    with pytest.raises(ValueError, match="PairwiseStep cannot be used with .*requires PairRows"):
        boost(plain, recipe._replace(solver=PairwiseStep(0.0)), 1, 0)
    with pytest.raises(ValueError, match="kind must be one of 'exponential', 'logistic', got 'hinge'"):
        PairwiseLoss("hinge")
    with pytest.raises(ValueError, match="requires a decision for every class"):
        PairwiseLoss("logistic").constant(make_costs(cost[:, :2], y, weights))


# -- the estimators ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [StagewiseMCBoostClassifier, MultiBoostClassifier])
def test_blocks_of_rows_do_not_matter(loss, kind):
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(300, 4)), rng.integers(0, 3, 300), rng.uniform(0.5, 2, 300)
    X[:, 0] += y
    made = []
    for blocks in ((), (1, 50, 173)):
        rows, binner = pair_rows(
            X, y, COST, weights, kind=PairRows if kind is StagewiseMCBoostClassifier else CorrectiveRows, blocks=blocks
        )
        progress = boost(rows, recipe_of(kind(loss=loss), rows, binner), 6, 0)
        made.append((np.concatenate(progress.vectors), rows.scores))
    np.testing.assert_array_equal(made[0][0], made[1][0])
    np.testing.assert_array_equal(made[0][1], made[1][1])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [StagewiseMCBoostClassifier, MultiBoostClassifier])
def test_nu_means_the_same_for_any_unit_of_costs_and_number_of_rows(wine, loss, kind):
    X, y = wine
    model = kind(COST, loss=loss, n_estimators=6, nu=0.02, tol=0.0).fit(X, y)
    assert (
        model.n_iter_ == 6
        and model.train_loss_[-1] > 1.01 * kind(COST, loss=loss, n_estimators=6, nu=0.0).fit(X, y).train_loss_[-1]
    )
    for other in (
        kind(7 * COST, loss=loss, n_estimators=6, nu=0.02, tol=0.0).fit(X, y),
        kind(COST, loss=loss, n_estimators=6, nu=0.02, tol=0.0).fit(np.tile(X, (3, 1)), np.tile(y, 3)),
    ):
        np.testing.assert_allclose(
            other.train_loss_ / other.train_loss_[0], model.train_loss_ / model.train_loss_[0], rtol=1e-4
        )


@pytest.mark.parametrize("loss", slow_after(1, LOSSES))
def test_posteriors(loss):
    """Of classes drawn by known probabilities in four cells: p_j / p_k = e^(S_j - S_k), or e^2(S_j - S_k)."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(3, 2.0), size=4)
    cell = np.repeat(np.arange(4), 1000)
    y = np.concatenate(
        [np.repeat(np.arange(3), np.diff(np.rint(np.r_[0, np.cumsum(row)] * 1000).astype(int))) for row in p]
    )
    symmetric = np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0.0]])
    X = (cell[:, None] == np.arange(4)).astype(float)
    for cost in (None, symmetric):
        model = Tight(cost, loss=loss, n_estimators=200, learning_rate=1.0, nu=0.0, tol=0.0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(np.eye(4)), p, atol=2e-3)
    assert not hasattr(StagewiseMCBoostClassifier(COST, loss=loss, n_estimators=2).fit(X, y), "predict_proba")


def test_degenerate_data_and_ends(wine):
    X, y = wine
    for kind in (StagewiseMCBoostClassifier, MultiBoostClassifier):
        for loss in LOSSES:
            for weak_learner in ("stump", "tree"):
                options = {"loss": loss, "n_estimators": 30, "weak_learner": weak_learner}
                constant = kind(**options).fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
                assert constant.n_iter_ == 0  # nothing separates the rows
                perfect = kind(**options, nu=0.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
                assert list(perfect.predict([[-1e3], [1e3]])) == [0, 1] and np.all(np.isfinite(perfect.model_.vectors))
    rounds = [StagewiseMCBoostClassifier(nu=nu, n_estimators=100).fit(X, y).n_iter_ for nu in (0.1, 0.2, 0.3)]
    assert 100 > rounds[0] > rounds[1] > rounds[2] > 0  # until no constraint is violated by more
    with pytest.raises(ValueError, match="nu must be a number at least 0"):
        StagewiseMCBoostClassifier(nu=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="step_size must be a number above 0, or None"):
        StagewiseMCBoostClassifier(step_size=0.0).fit(X, y)


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_edge_of_histograms_with_ties(seed):
    """Against all features, bins and outputs, one after another; small whole numbers tie often."""
    rng = np.random.default_rng(seed)
    histogram, n_bins = rng.integers(-3, 4, (6, 5, 3)), rng.integers(1, 6, 6)
    histogram[np.arange(5) >= n_bins[:, None]] = 0
    histogram[:, 0] -= histogram.sum(axis=1)
    total, scale = rng.integers(-3, 4, 3), np.array([1.0, 0.5, 2.0])
    histogram[:, 0] += total
    drop, where = np.empty(6), np.empty(6, dtype=np.int64)
    barred = rng.random((6, 256)) < 0.3 if seed % 2 else np.zeros((0, 256), dtype=bool)
    scan_largest(histogram, np.arange(6), n_bins, total, scale, barred, drop, where)
    edges = [
        [
            0.0 * scale if len(barred) and barred[c, b] else np.abs(total - 2 * h[: b + 1].sum(axis=0)) * scale
            for b in range(n - 1)
        ]
        for c, (h, n) in enumerate(zip(histogram, n_bins, strict=True))
    ]
    largest = [[edge.max() for edge in of_bins] for of_bins in edges]
    expected = [max(values, default=0.0) for values in largest]
    np.testing.assert_array_equal(drop, expected)
    for c in range(6):
        first = next((b for b, value in enumerate(largest[c]) if value == expected[c] > 0), -1)
        assert where[c] == (first if expected[c] >= max(expected[:c], default=0.0) else -1)
