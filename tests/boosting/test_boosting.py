"""The loop: laws of the training loss, exact resumption, independence of threads and blocks, endings."""

import itertools

import numpy as np
import pytest

from minrisk.boosting.loop import boost
from minrisk.boosting.monitors import EarlyStopping, RiskHistory
from minrisk.rows.base import LIMITS, Limits
from tests.helpers.common import coupled_loss, make_data, make_recipe, make_rows, random_costs, slow_after


def run(
    seed=0,
    n_rounds=15,
    blocks=None,
    n_threads=1,
    n=240,
    monitors=(),
    kind="general",
    start=None,
    limits=LIMITS,
    **recipe,
):
    rng = np.random.default_rng(seed)
    X, y = make_data(rng, n)
    rows, binner = make_rows(
        X, random_costs(rng, 3, kind=kind), y, rng.uniform(0.5, 2, n), blocks, n_threads, limits=limits
    )
    with rows.workers:
        return boost(rows, make_recipe(rows, binner, **recipe), n_rounds, 1, monitors, start), rows


@pytest.mark.parametrize("base", ["exponential", "logistic", "squared"])
@pytest.mark.parametrize("offset", ["paper", "tight"])
@pytest.mark.parametrize("max_depth", [1, 3])
def test_training_loss_never_rises(base, offset, max_depth):
    for seed in range(5):
        progress, _ = run(seed, base=base, offset=offset, max_depth=max_depth, smoothing=0.01, fit_intercept=True)
        assert np.all(np.diff(progress.losses) <= 1e-12 * np.abs(progress.losses[0]))


@pytest.mark.parametrize("base", ["exponential", "logistic", "squared"])
def test_loss_after_a_round_does_not_rise_with_depth(base):
    for seed in range(10):
        losses = [run(seed, n_rounds=1, base=base, max_depth=q)[0].losses[1] for q in (1, 2, 3, 4, 6)]
        assert np.all(np.diff(losses) <= 1e-12 * losses[0])


def test_losses_are_those_of_the_scores():
    """The tracked loss is Eq. (2) at the final scores, in spite of the common factor of the weights."""
    progress, rows = run(n_rounds=40, fit_intercept=True)
    costs, loss = rows.costs, coupled_loss(rows.costs, "exponential", "paper")
    plus = costs.table - loss.beta[:, None]
    minus = loss.phi[:, None] - costs.table
    H, c = rows.scores, costs.row
    value = loss.beta[c] + 0.5 * (plus[c] * np.exp(H) + minus[c] * np.exp(-H)).sum(axis=1)
    assert progress.losses[-1] == pytest.approx(np.average(value, weights=costs.weight), rel=1e-12)


@pytest.mark.parametrize("base", ["exponential", "logistic", "squared"])
def test_threads_and_blocks_do_not_change_a_bit(base):
    reference, _ = run(base=base, max_depth=3, subsample=0.7, max_features=3)
    for blocks, n_threads in (([1, 5, 100], 1), (None, 2), (list(range(11, 240, 11)), 2)):
        other, _ = run(base=base, max_depth=3, subsample=0.7, max_features=3, blocks=blocks, n_threads=n_threads)
        assert other.losses == reference.losses
        for a, b in zip(reference.trees, other.trees, strict=True):
            assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
        assert np.array_equal(reference.vectors, other.vectors)


def test_threads_do_not_change_a_bit_at_a_size_where_they_work():
    one, _ = run(n_threads=1, max_depth=4, limits=Limits(inline_work=1))
    two, _ = run(n_threads=2, max_depth=4, limits=Limits(inline_work=1))
    assert one.losses == two.losses and np.array_equal(one.vectors, two.vectors)


@pytest.mark.parametrize(
    ("kind", "offset"), slow_after(2, itertools.product(["lognormal", "01", "general"], ["paper", "tight"]))
)
def test_ten_thousand_rounds_on_separable_data(offset, kind):
    rng = np.random.default_rng(4)
    y = np.arange(30) % 3
    X = y[:, None] + 0.1 * rng.normal(size=(30, 2))
    rows, binner = make_rows(X, random_costs(rng, 3, kind=kind), y)
    with np.errstate(all="raise", under="ignore"):
        progress = boost(rows, make_recipe(rows, binner, offset=offset, max_depth=1), 10_000, 0)
    losses = np.array(progress.losses)
    assert np.all(np.isfinite(losses)) and np.all(np.diff(losses) <= 1e-9 * losses[0])
    assert np.all(np.isfinite(rows.scores)) and rows.risk() == 0
    assert len(progress.trees) == 10_000 or len(losses) == len(progress.trees) + 1


def test_stops_when_no_learner_lowers_the_loss():
    y = np.array([0, 1] * 10)
    for X in (np.zeros((20, 2)), np.repeat([[0.0], [1.0]], 10, axis=0)):  # constant; no use
        rows, binner = make_rows(X, 1 - np.eye(2), y)
        progress = boost(rows, make_recipe(rows, binner, fit_intercept=True), 50, 0)
        assert len(progress.trees) == 0 and len(progress.losses) == 1


def test_general_costs_reach_their_floor_and_decide_rightly():
    """Smoothing relative to the excess: scores approach each row's optimum in spite of the floor c*."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    table = random_costs(rng, 4, kind="lognormal")
    rows, binner = make_rows(y[:, None] + 0.01 * rng.normal(size=(40, 1)), table, y)
    recipe = make_recipe(rows, binner, max_depth=2, smoothing=1e-2)
    progress = boost(rows, recipe, 500, 0)
    floor = recipe.loss.constant(rows.costs) + recipe.loss.floors(rows.costs).sum() / 80
    assert progress.losses[-1] - floor < 5e-3 * (progress.losses[0] - floor)
    assert rows.risk() == 0


def test_monitors_all_run_and_any_may_stop():
    class Three:
        def before_rounds(self, info):
            assert info.terms == ()

        def after_round(self, info):
            return info.n_rounds == 3

    history = RiskHistory()
    progress, _ = run(monitors=[Three(), history])
    assert len(progress.trees) == 3 and len(history.risks) == 4


@pytest.mark.parametrize(("saved", "beats"), [(25.0, True), (5.0, False)])
def test_early_stopping_keeps_the_first_minimum(saved, beats):
    class Fake:
        def __init__(self, risks):
            self.risks = iter(risks)

        def shift(self, vector): ...

        def respond(self, tree): ...

        def advance(self, vector): ...

        def risk(self):
            return next(self.risks)

        def savings(self, constant):
            return np.array([50.0, saved, 50.0])

    stopping = EarlyStopping(Fake([5, 4, 3, 3, 4, 3, 9]), 3, 1, np.array([1.5, -0.5, 0.5]))
    progress, _ = run(monitors=[stopping])
    assert len(progress.trees) == 5 and stopping.best_round == 2
    assert stopping.beats_constant == beats  # less half a row of each class, by a standard error


def test_squared_and_logistic_handle_a_bag():
    for base in ("logistic", "squared", "exponential"):
        progress, _ = run(base=base, subsample=0.5, n_rounds=30)
        assert progress.losses[-1] < 0.9 * progress.losses[0]
