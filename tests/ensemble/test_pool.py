"""Pools: weights that left-out rows choose, columns that a fold may see, and the average as one model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

import minrisk
from minrisk import MinRiskClassifier
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.data.binning import fit_binner
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import LARGEST_WEIGHT, fit_mixture, fit_weight, half_row
from minrisk.ensemble.defaults import DOUBT, LINEAR_FEATURES, PRINCIPAL, SHIFT_ROWS
from minrisk.ensemble.driver import Driver
from minrisk.ensemble.ensemble import Ensemble, averaged_model, mean_losses, slope_of, validated_risk
from minrisk.ensemble.folds import folds_of
from minrisk.ensemble.members import CrossFit, Kind, Task
from minrisk.ensemble.table import Table, linear_columns
from minrisk.ensemble.training import report, train_ensemble
from minrisk.model.links import log_probabilities
from minrisk.model.projection import Projection
from minrisk.model.trees import CONSTANT
from minrisk.rows.columns import Columns
from minrisk.rows.folded import FoldedRows
from tests.helpers.common import check_packed, make_costs, random_costs, without_kinds
from tests.helpers.pools import USUAL, example
from tests.helpers.walks import added, random_tree

LINKS = ("sigmoid2", "softmax")  # of surrogates that are pooled
SLOPES = {"sigmoid2": 2.0, "softmax": 1.0}  # of the log-odds, by the scores


# -- weights -------------------------------------------------------------------------------------------------------------
class Judges:
    """Rows in folds, and the loss of what is said of them beyond the class frequencies, by the definition."""

    def __init__(self, link, codes, K, weight=None, folds=None):
        self.link, self.codes, self.K, n = link, codes, K, len(codes)
        self.weight = np.ones(n) if weight is None else weight
        self.folds = np.arange(n) * 3 // n if folds is None else folds
        own = np.array(
            [
                [self.weight[(self.folds == b) & (codes == k)].sum() for k in range(K)]
                for b in range(self.folds.max() + 1)
            ]
        )
        p = own.sum(axis=0) - own + 0.5
        p /= p.sum(axis=1, keepdims=True)
        self.base = np.log(p) - (np.log(1 - p) if link == "sigmoid2" else 0.0)
        counts = np.array(
            [[np.sum((self.folds == b) & (codes == k) & (self.weight > 0)) for k in range(K)] for b in range(len(own))]
        )
        self.counted = np.where((counts.sum(axis=0) > counts)[self.folds, codes], self.weight, 0.0)
        self.folded = FoldedRows(make_costs(1 - np.eye(K), codes, self.weight), self.folds)
        self.frequencies = (own.sum(axis=0) + 0.5) / (own.sum() + K / 2)

    def held(self, scores, n_folds=None):
        """What is left out of the scores of all rows."""
        n_folds = self.folds.max() + 1 if n_folds is None else n_folds
        return self.folded.held_out([scores[self.folds == b] for b in range(n_folds)])

    def rows(self, scores, weights, shift=0.0, caution=0.0, first=None):
        """Losses of the (first) rows, which half a row of other classes may be part of."""
        first, slope = slice(first), SLOPES[self.link]
        x = (self.base[self.folds] + shift)[first] / slope
        x = x + sum(w * s.astype(np.float32)[first] for w, s in zip(weights, scores, strict=True))
        log_p, own = log_probabilities(self.link, x), np.eye(self.K)[self.codes[first]]
        return -(log_p * np.where(own, 1.0, caution / (self.K - 1))).sum(axis=1)

    def loss(self, *args, **options):
        return float(self.counted @ self.rows(*args, **options))

    def objective(self, scores, weights, shift, doubt):
        """What weights and shifts are to make least."""
        caution = defaults.CAUTION / max(1.0, self.counted.sum())
        return self.loss(scores, weights, shift, caution) + doubt @ weights + 0.5 * SHIFT_ROWS * shift @ shift

    def least(self, scores, doubt):
        """Weights and shifts by SciPy, which makes up the derivatives."""
        M, unit = len(scores), 1.0 / max(1.0, self.counted.sum())
        found = minimize(
            lambda x: unit * self.objective(scores, x[:M], x[M:], doubt),
            np.r_[np.full(M, 0.3), np.zeros(self.K)],
            method="SLSQP",
            bounds=[(0, LARGEST_WEIGHT)] * M + [(-9, 9)] * self.K,
            options={"ftol": 1e-13, "maxiter": 500},
        )
        return found.x[:M], found.x[M:]

    def least_alone(self, scores):
        """The best weight of one kind without a shift, where half a row is of another class."""
        caution, none = defaults.CAUTION / max(1.0, self.counted.sum()), np.zeros(self.K)
        return minimize_scalar(
            lambda w: self.loss([scores], [w], none, caution),
            bounds=(0, LARGEST_WEIGHT),
            method="bounded",
            options={"xatol": 1e-6},
        ).x

    def slope(self, scores, weights, shift, other, first=None):
        """What a unit of weight of another takes off the loss where it begins, and the standard error of that."""
        ends = [self.rows([*scores, other], [*weights, e], shift, first=first) for e in (-1e-4, 1e-4)]
        gains = self.counted[:first] * (ends[0] - ends[1]) / 2e-4
        return gains.sum(), np.sqrt(np.sum(gains**2))

    def mixture(self, scores, doubt=None):
        """What the package finds."""
        parts, doubt = [self.held(s) for s in scores], np.zeros(len(scores)) if doubt is None else doubt
        return fit_mixture(self.link, parts, self.frequencies, doubt, np.ones(len(scores)))


def truth(codes, K, height=6.0):
    """Scores that know the class."""
    return height * (np.eye(K)[codes] - 0.5)


def joined(link, codes, weight, *scores):
    """The pool of plain members that say the first of these, and of those that say the others."""
    folds = np.arange(len(codes)) * 3 // len(codes)
    names = ("plain", "gentle", "random")
    return pool_of(
        [Told(name, s, codes, folds, link, weight=weight) for name, s in zip(names, scores, strict=False)], 7
    )


def weights_of(pool, names):
    """Of these kinds; of those without a part 0."""
    weights = dict(zip((fit.kind.name for fit in pool.fits), pool.mixture.weights, strict=True))
    return np.array([weights.get(name, 0.0) for name in names])


def loss_of(judges, told, pool, names=("plain", "gentle", "random")):
    """The log-loss of what a pool makes of what its kinds have told."""
    return judges.loss(told, weights_of(pool, names[: len(told)]), pool.mixture.shift)


def part_of_others(pool):
    """Of what moves the scores, by its standard deviation: that of all kinds but the plain one."""
    moves = [share * np.std(fit.held._scores) for fit, share in zip(pool.fits, pool.shares, strict=True)]
    return sum(move for fit, move in zip(pool.fits, moves, strict=True) if fit.kind.name != "plain") / sum(moves)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("K", "M"), [(2, 1), (3, 2), (5, 3)])
def test_weights_and_shifts_are_those_of_least_loss(link, K, M):
    """The half row of other classes, doubts, folds that know other frequencies and silent rows are part of it."""
    rng = np.random.default_rng([K, M])
    codes, weight = rng.integers(0, K, 300), rng.uniform(0, 2, 300) * (rng.random(300) < 0.9)
    codes[: 60 // K] = K - 1
    judges = Judges(link, codes, K, weight)
    scores = [truth(codes, K, height) + rng.normal(size=(300, K)) for height in (1.0, 0.7, 1.3)[:M]]
    for doubt in (np.zeros(M), np.linspace(0.0, 20.0, M)):
        found, (weights, shift) = judges.mixture(scores, doubt), judges.least(scores, doubt)
        np.testing.assert_allclose(found.weights, weights, rtol=2e-3, atol=2e-3)
        np.testing.assert_allclose(found.shift - found.shift.mean(), shift - shift.mean(), atol=3e-3)
        least = judges.objective(scores, weights, shift, doubt)
        assert judges.objective(scores, found.weights, found.shift, doubt) <= least * (1 + 1e-6)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(5))
def test_a_useless_challenger_has_hardly_a_share(link, seed):
    """What says nothing or the contrary has none; of noise the first fold or the doubt leaves little."""
    rng = np.random.default_rng(seed)
    present, codes, weight = example(rng, link, 400, spread=1.0)
    for useless, most in (
        (np.zeros_like(present), 0.0),
        (-present, 0.0),
        (rng.normal(size=present.shape), 0.12),
        (present[rng.permutation(400)], 0.12),
    ):
        assert part_of_others(joined(link, codes, weight, present, useless)) <= most


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("times", [1.0, 0.3, 5.0])
def test_a_copy_gets_no_share(link, times):
    """However sure of itself it is."""
    rng = np.random.default_rng(1)
    scores, codes, weight = example(rng, link, 400, spread=3.0)
    found, alone = joined(link, codes, weight, scores, times * scores), joined(link, codes, weight, scores)
    assert found.shares == pytest.approx([1.0]) and found.temperature == pytest.approx(alone.temperature, rel=1e-3)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize(("caution", "doubt", "least"), [(0.0, 0.0, 0.9), (0.5, 0.0, 0.75), (0.5, 0.3, 0.75)])
def test_a_challenger_that_knows_the_truth_takes_nearly_all(link, K, caution, doubt, least, monkeypatch):
    """But for what half a row of other classes, or the doubt, may ask of scores that are less sure."""
    monkeypatch.setattr("minrisk.ensemble.defaults.CAUTION", caution)
    monkeypatch.setattr("minrisk.ensemble.defaults.DOUBT", doubt)
    rng = np.random.default_rng(2)
    scores, codes, weight = example(rng, link, 300, K, spread=1.0)
    pool, alone = joined(link, codes, weight, scores, truth(codes, K)), joined(link, codes, weight, scores)
    assert part_of_others(pool) >= least
    judges, told = Judges(link, codes, K, weight), [scores, truth(codes, K)]
    error = judges.slope([scores], alone.mixture.weights, alone.mixture.shift, told[1])[1]
    assert loss_of(judges, told, pool) < 0.2 * loss_of(judges, told, alone)
    if caution:
        weights, _ = judges.least(told, np.array([0.0, doubt * error]))
        np.testing.assert_allclose(weights_of(pool, ("plain", "gentle")), weights, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("link", LINKS)
def test_equals_whose_errors_differ_share(link):
    """Each of them sees the truth through noise of its own."""
    rng = np.random.default_rng(3)
    codes, ones = rng.integers(0, 3, 600), np.ones(600)
    one, other = (truth(codes, 3, 2.0) + rng.normal(size=(600, 3)) for _ in range(2))
    pool, alone = joined(link, codes, ones, one, other), joined(link, codes, ones, one)
    assert 0.25 <= part_of_others(pool) <= 0.75 and pool.temperature < alone.temperature
    judges = Judges(link, codes, 3)
    assert loss_of(judges, (one, other), pool) < 0.9 * loss_of(judges, (one, other), alone)


@pytest.mark.parametrize("link", LINKS)
def test_a_challenger_needs_more_than_its_doubt(link):
    """First rows that do not speak against it, and a slope of all rows above a part of its error; at any weights."""
    rng, seen = np.random.default_rng(4), []
    present, codes, weight = example(rng, link, 500, spread=1.0)
    judges, alone = Judges(link, codes, 4, weight), joined(link, codes, weight, present)
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(size=present.shape)
        challenger = present + noise + truth(codes, 4, 0.05 * (seed % 3))  # which is better than none in any case
        for n_folds, first in ((1, 167), (3, None)):
            fit = alone.fits[0]._replace(held=judges.held(challenger, n_folds))
            slope, error = judges.slope([present], alone.mixture.weights, alone.mixture.shift, challenger, first)
            np.testing.assert_allclose(slope_of(alone, fit), (slope, error), rtol=1e-3, atol=1e-3)
        hopes = judges.slope([present], alone.mixture.weights, alone.mixture.shift, challenger, 167)
        wanted = hopes[0] > 0.0 and slope > DOUBT * error
        assert (part_of_others(joined(link, codes, weight, present, challenger)) > 0) == wanted
        seen.append(wanted)
    assert 2 < sum(seen) < 10


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("height", [40.0, 200.0])
def test_where_nothing_is_wrong_there_is_nothing_to_gain(link, height):
    codes = np.arange(60) % 3
    present = truth(codes, 3, height)
    alone = joined(link, codes, np.ones(60), present)
    for challenger in (2 * present, 0.5 * present, *([present + 1.0] if link == "softmax" else [])):
        pool = joined(link, codes, np.ones(60), present, challenger)
        assert pool.shares == pytest.approx([1.0]) and pool.temperature == pytest.approx(alone.temperature, rel=1e-3)


def test_rows_of_weight_zero_have_no_say():
    rng = np.random.default_rng(5)
    scores, codes, weight = example(rng, "softmax", 300, spread=1.0)
    challenger = scores + rng.normal(size=scores.shape) + truth(codes, 4, 2.0)
    silent, folds = rng.random(300) < 0.3, np.arange(300) // 100
    weight[silent] = 0.0
    others = Judges("softmax", codes[~silent], 4, weight[~silent], folds[~silent])
    expected = others.mixture([scores[~silent], challenger[~silent]])
    challenger[silent] *= -50
    found = Judges("softmax", codes, 4, weight, folds).mixture([scores, challenger])
    assert expected.weights[1] > 0
    np.testing.assert_array_equal(found.weights, expected.weights)
    np.testing.assert_array_equal(found.shift, expected.shift)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(LINKS),
    st.integers(1, 60),
    st.integers(2, 5),
    st.floats(0.01, 30),
    st.floats(0.01, 30),
    st.floats(-3, 3),
    st.floats(0, 5),
    st.integers(0, 10**6),
)
def test_a_mixture_never_raises_the_log_loss(link, n, K, spread, other_spread, knowledge, doubt, seed):
    """Above what is known without it and above that of one kind alone."""
    rng = np.random.default_rng(seed)
    codes, weight = rng.integers(0, K, n), rng.uniform(0, 2, n) + 1e-6
    judges, doubt = Judges(link, codes, K, weight, np.arange(n) * 2 // n), np.array([0.0, doubt])
    present = spread * rng.normal(size=(n, K)) + truth(codes, K, 1.0)
    challenger = other_spread * rng.normal(size=(n, K)) + truth(codes, K, knowledge)
    held, none = judges.held(present), np.zeros(K)
    alone = np.array([fit_weight(held, link, 1.0, half_row(held))[0], 0.0])
    found = fit_mixture(link, [held, judges.held(challenger)], judges.frequencies, doubt, alone)
    assert np.all((found.weights >= 0) & (found.weights <= LARGEST_WEIGHT))
    scores = [present, challenger]
    least = judges.objective(scores, found.weights, found.shift, doubt)
    for before in (np.zeros(2), alone):
        assert least <= judges.objective(scores, before, none, doubt) * (1 + 1e-6) + 1e-4
    if link == "softmax":  # convex: nothing near is better
        for step in 0.02 * rng.normal(size=(5, 2 + K)):
            weights = np.clip(found.weights + step[:2] / (1.0 + np.array([spread, other_spread])), 0, LARGEST_WEIGHT)
            assert judges.objective(scores, weights, found.shift + step[2:], doubt) >= least * (1 - 1e-6) - 1e-4


# -- pooling -------------------------------------------------------------------------------------------------------------
class Told(Kind):
    """Kind whose members give these scores to the rows they leave out."""

    name = "told"

    def __init__(self, name, scores, codes, folds, link="softmax", workers=None, stated=None, weight=None):
        (n, K), self.scores, self.calls = scores.shape, scores, []
        self.name = name
        table, self.folds = Table(np.zeros((n, 1)), np.arange(n), None), folds
        self.folded = FoldedRows(
            stated or make_costs(1 - np.eye(K), codes, np.ones(n) if weight is None else weight), folds
        )
        super().__init__(Task(table, self.folded.blind(K), "softmax", link, USUAL, Driver(workers=workers)))
        self.tried_on = 1

    def member(self, fold):
        self.calls.append(fold)
        return ToldMember(self.scores[self.folds == fold])

    def finish(self, fit):
        return fit

    def alone(self):
        self.calls.append(("alone", self.task.settings.n_estimators))
        made = Progress(intercept=np.zeros(self.scores.shape[1]))
        return CrossFit(self, [made], 0, 1.0, self.folded.held_out([]), [], 1.0)


def pool_of(told, n_rounds):
    """`train_ensemble`, judged by the costs that the first kind states."""
    for kind in told:
        kind.task = kind.task._replace(settings=USUAL._replace(n_estimators=n_rounds))
    return train_ensemble(told[0], told[1:], told[0].folded.stated_facts.table)


class ToldMember:
    """Member that gives these scores from the first checkpoint on."""

    def __init__(self, scores):
        self.own, self.seconds, self.reached = scores, 1.0, -1
        self.start = np.zeros(scores.shape[1])

    def train(self, rounds):
        self.reached = rounds[-1]

    def rest(self):
        pass

    def scores(self, n_rounds):
        return self.own if n_rounds else np.zeros_like(self.own)

    def result(self, n_rounds):
        return Progress(intercept=np.zeros(self.own.shape[1]))

    def constant(self):
        return Progress(intercept=np.full(self.own.shape[1], -np.log(self.own.shape[1])))


def task(seed, n=300, K=3, n_folds=3):
    """Classes, folds, and scores that know a little."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n)
    return rng, codes, np.arange(n) * n_folds // n, truth(codes, K, 2.0) + rng.normal(size=(n, K))


def test_challengers_are_tried_on_the_first_fold():
    """Three folds that are alike."""
    _, codes, _, scores = task(6, n=100)
    codes, scores, folds = np.tile(codes, 3), np.tile(scores, (3, 1)), np.repeat(np.arange(3), 100)
    plain = Told("plain", scores, codes, folds)
    rng = np.random.default_rng(7)
    useless, wise = (
        Told("gentle", -scores, codes, folds),
        Told("random", truth(codes, 3) + rng.normal(size=(300, 3)), codes, folds),
    )
    found = pool_of([plain, useless, wise], 5)  # no more rounds: the seconds are those told
    assert sorted(plain.calls) == sorted(wise.calls) == [0, 1, 2]
    assert useless.calls == [0]
    assert [fit.kind.name for fit in found.fits] == ["plain", "random"] and part_of_others(found) > 0.5
    assert [fit.kind.name for fit in found.dropped] == ["gentle"]
    assert len(found.dropped[0].members) == 1 and (found.dropped[0].n_folds, found.dropped[0].held.n_rows) == (1, 100)
    assert all(len(fit.members) == 3 and fit.held.n_rows == 300 for fit in found.fits)
    assert found.seconds == 7.0 and found.link == "softmax"


@pytest.mark.parametrize(("knowledge", "wins"), [(0.0, False), (0.3, True), (3.0, True)])
def test_what_does_not_beat_the_class_frequencies_gives_way_to_them(knowledge, wins):
    """Scores that know nothing; a little beyond the frequencies is something."""
    folds = np.arange(300) // 100
    codes = np.tile(np.repeat([0, 1, 2], [90, 7, 3]), 3)
    noise = np.random.default_rng(0).normal(size=(300, 3))
    plain = Told("plain", knowledge * truth(codes, 3) + noise, codes, folds)
    found = pool_of([plain, Told("gentle", -noise, codes, folds)], 7)
    assert sorted(fit.kind.name for fit in (*found.fits, *found.dropped)) == ["gentle", "plain"]
    assert (found.fits[0].n_rounds > 0) == wins == (not found.answers_alike)
    if not wins:
        p = np.exp(log_probabilities("softmax", found.held._scores, found.temperature))
        np.testing.assert_allclose(p, np.tile([0.9, 0.07, 0.03], (300, 1)), atol=0.01)
        np.testing.assert_allclose(
            log_probabilities("softmax", found.intercept[None])[0], np.log([0.9, 0.07, 0.03]), atol=0.06
        )
        assert np.all(p == p[0]) and not any(made.trees for fit in found.fits for made in fit.members)
        assert found.temperature == 1.0 and found.fits[0].risk == pytest.approx(0.1) and found.fits[0].n_rounds == 0


def test_a_challenger_that_shines_on_the_first_fold_only_is_dropped():
    rng, codes, folds, scores = task(7)
    lucky = np.where((folds == 0)[:, None], truth(codes, 3), -truth(codes, 3))
    other = Told("gentle", lucky, codes, folds)
    found = pool_of([Told("plain", scores, codes, folds), other], 5)
    assert len(other.calls) == 3 and found.shares == pytest.approx([1.0])
    assert [len(fit.members) for fit in found.dropped] == [3] and found.seconds == 6.0


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(3))
def test_shares_and_scores_are_those_of_the_mixture(link, seed):
    """Members of any temperature: the pool's scores are an average of theirs, with what is known without them."""
    rng, codes, folds, scores = task(seed, n=600)
    told = [s * (truth(codes, 3, 2.0) + rng.normal(size=scores.shape)) for s in (4.0, 0.5, 9.0)]
    names, judges = ("plain", "random", "gentle"), Judges(link, codes, 3)
    found = pool_of([Told(v, t, codes, folds, link) for v, t in zip(names, told, strict=True)], 9)
    assert sorted(fit.kind.name for fit in found.fits) == sorted(names) and found.dropped == []
    assert sum(found.shares) == pytest.approx(1) and min(found.shares) > 0
    assert len({fit.weight for fit in found.fits}) == 3
    weights, shift = judges.least(told, np.array([doubts_of(found)[name] for name in names]))
    np.testing.assert_allclose(weights_of(found, names), weights, rtol=3e-3)
    np.testing.assert_allclose(found.shares, found.mixture.weights / found.mixture.weights.sum(), rtol=1e-12)
    assert found.temperature == pytest.approx(1 / found.mixture.weights.sum())
    known = found.temperature / SLOPES[link] * (judges.base[judges.folds] + found.mixture.shift)
    parts = zip(weights_of(found, names) * found.temperature, told, strict=True)
    np.testing.assert_allclose(found.held._scores, known + sum(s * t for s, t in parts), atol=2e-5)
    p = judges.frequencies
    known = np.log(p) - (np.log(1 - p) if link == "sigmoid2" else 0.0)
    np.testing.assert_allclose(
        found.intercept, found.temperature / SLOPES[link] * (known + found.mixture.shift), rtol=1e-6
    )
    alone = [judges.loss([t], [fit_weight(judges.held(t), link, 1.0, 0.0)[0]]) for t in told]
    assert loss_of(judges, told, found, names) < min(alone)
    # the second one's doubt is the error of its slope beside the first one
    one = pool_of([Told("plain", told[0], codes, folds, link)], 9)
    error = judges.slope(told[:1], one.mixture.weights, one.mixture.shift, told[1])[1]
    assert doubts_of(found)["plain"] == 0.0 and doubts_of(found)["random"] == pytest.approx(DOUBT * error, rel=1e-3)


def doubts_of(pool):
    """What a unit of weight of each kind must bring."""
    return {fit.kind.name: fit.doubt for fit in pool.fits}


def test_without_probabilities_there_is_one_candidate():
    _, codes, folds, scores = task(9)
    found = pool_of([Told("plain", scores, codes, folds, None)], 7)
    assert found.shares == pytest.approx([1.0]) and found.dropped == [] and found.temperature == 1.0
    np.testing.assert_array_equal(found.held._scores, scores.astype(np.float32))


def test_one_fold_is_one_member_of_all_rows():
    _, codes, _, scores = task(10)
    folds = np.zeros(300, dtype=int)
    plain, other = Told("plain", scores, codes, folds), Told("gentle", truth(codes, 3), codes, folds)
    found = pool_of([plain, other], 7)
    assert plain.calls == [("alone", 7)] and other.calls == []
    assert found.shares == pytest.approx([1.0]) and found.temperature == 1.0 and found.held._scores.shape == (0, 3)


# -- what is said about a pool -------------------------------------------------------------------------------------------
def mean_cost(scores, temperature, codes, weight, table):
    """Of decisions of least expected cost."""
    decisions = (np.exp(log_probabilities("softmax", scores, temperature)) @ table).argmin(axis=1)
    return np.average(table[codes, decisions], weights=weight)


def test_a_line_for_every_candidate():
    rng, codes, folds, scores = task(11)
    other = 3 * (truth(codes, 3, 2.0) + rng.normal(size=scores.shape))
    lucky = np.where((folds == 0)[:, None], truth(codes, 3), -truth(codes, 3))
    names = ("plain", "gentle", "random")
    table, weight = random_costs(rng, 3), rng.uniform(0.5, 2, 300)
    stated = make_costs(table, codes, weight)
    told = [
        Told(name, own, codes, folds, stated=stated) for name, own in zip(names, (scores, lucky, other), strict=True)
    ]
    pool = pool_of(told, 7)
    lines = report(pool, validated_risk(pool, table), stated)
    assert [line["variant"] for line in lines] == ["plain", "random", "gentle"]
    judges, own = Judges("softmax", codes, 3, weight, folds), {"plain": scores, "random": other, "gentle": lucky}
    p, weights = np.exp(judges.base[folds]), weights_of(pool, ("plain", "random"))
    spreads = [
        np.sqrt(weight @ (p * (s - (p * s).sum(axis=1, keepdims=True)) ** 2).sum(axis=1)) for s in (scores, other)
    ]
    share = weights[1] * spreads[1] / (weights @ spreads)
    assert 0 < share < 1
    assert [line["share"] for line in lines] == pytest.approx([1 - share, share, 0.0], abs=5e-3)
    pooled = mean_cost(pool.held._scores, pool.temperature, codes, weight, table)
    assert validated_risk(pool, table) == pytest.approx(pooled)
    known = judges.base[folds]
    for line in lines:
        (fit,) = (fit for fit in (*pool.fits, *pool.dropped) if fit.kind.name == line["variant"])
        assert (line["n_rounds"], line["seconds"]) == (fit.n_rounds, fit.seconds)
        assert line["temperature"] == (1 / fit.weight if fit.n_rounds else 1.0)
        assert line["surrogate"] == "softmax" and line["pooled_risk"] == pytest.approx(pooled)
        told = known + fit.weight * own[line["variant"]] * (fit.n_rounds > 0)
        assert line["risk"] == pytest.approx(mean_cost(told, 1.0, codes, weight, table))


def test_a_candidate_that_one_fold_dropped_is_judged_by_its_rows():
    _, codes, _, scores = task(12, n=100)
    codes, scores, folds = np.tile(codes, 3), np.tile(scores, (3, 1)), np.repeat(np.arange(3), 100)
    weight, table = np.random.default_rng(0).uniform(0.5, 2, 300), 1 - np.eye(3)
    stated = make_costs(table, codes, weight)
    told = {"plain": scores, "gentle": scores - truth(codes, 3, 1.0) - 5}  # better than none; wrong beside it
    pool = pool_of([Told(name, own, codes, folds, stated=stated) for name, own in told.items()], 7)
    _, line = report(pool, validated_risk(pool, table), stated)
    (dropped,) = pool.dropped
    known = Judges("softmax", codes, 3, weight).base[folds[:100]]
    expected = mean_cost(known + dropped.weight * told["gentle"][:100], 1.0, codes[:100], weight[:100], table)
    assert dropped.n_folds == 1 and dropped.weight > 0.1
    assert line["risk"] == pytest.approx(expected)


def test_one_member_of_all_rows_has_no_risk():
    _, codes, _, scores = task(13)
    pool = pool_of([Told("plain", scores, codes, np.zeros(300, dtype=int))], 7)
    stated = make_costs(1 - np.eye(3), codes, np.ones(300))
    assert validated_risk(pool, stated.table) == np.inf
    (line,) = report(pool, validated_risk(pool, stated.table), stated)
    assert line["risk"] is None and line["pooled_risk"] is None and line["share"] == 1.0


def test_training_losses_are_averaged_over_members_that_stand_still():
    pool = random_pool(np.random.default_rng(14), 2, 2)
    for fit in pool.fits:
        for number, member in enumerate(fit.members):
            member.losses[:] = [10.0 * (number + 1) / (t + 1) for t in range(len(member.trees) + 1)]
    curve = mean_losses(pool)
    assert len(curve) == 1 + max(fit.n_rounds for fit in pool.fits)
    for t, mean in enumerate(curve):
        own = [m.losses[min(t, fit.n_rounds, len(m.trees))] for fit in pool.fits for m in fit.members]
        assert mean == pytest.approx(np.mean(own))


# -- columns -------------------------------------------------------------------------------------------------------------
def prepared(X, y, n_folds=4, rows=None):
    """What `linear_columns` is given: weights of 1 unless said otherwise."""
    rows = np.arange(len(X)) if rows is None else rows
    binner = fit_binner(X[rows])
    axis = Columns(binner.transform(X[rows]), binner.n_bins, binner.thresholds)
    return rows, y[rows], np.ones(len(rows)), np.arange(len(rows)) % n_folds, axis


def columns_of(X, y, n_folds=4, rows=None, weight=None, workers=None, binning="quantile", max_bins=None):
    rows, codes, ones, folds, axis = prepared(X, y, n_folds, rows)
    weight = ones if weight is None else weight
    found = linear_columns(X, rows, codes, weight, folds, axis, binning, max_bins, workers or Workers())
    return axis, *(found or (None, None))


def clouds(seed, n=200, d=5, K=3):
    """Gaussian classes with some missing values."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    X = rng.normal(size=(n, d)) + rng.normal(size=(K, d))[y]
    X[rng.random((n, d)) < 0.05] = np.nan
    return X, y


@pytest.mark.parametrize(("d", "K"), [(2, 2), (5, 3), (30, 12)])
def test_features_come_first_then_shared_columns_then_those_of_each_fold(d, K):
    X, y = clouds(0, 400, d, K)
    columns, projection, own = columns_of(X, y)
    axis = prepared(X, y)[4]
    np.testing.assert_array_equal(columns.binned[:d], axis.binned)
    np.testing.assert_array_equal(columns.n_bins[:d], axis.n_bins)
    for found, thresholds in zip(columns.thresholds[:d], axis.thresholds, strict=True):
        np.testing.assert_array_equal(found, thresholds)
    Z = projection.columns(X)
    assert len(columns.binned) == len(columns.n_bins) == len(columns.thresholds) == d + projection.n_columns
    for j in range(projection.n_columns):
        np.testing.assert_array_equal(columns.binned[d + j], np.searchsorted(columns.thresholds[d + j], Z[:, j]))
        assert columns.n_bins[d + j] == len(columns.thresholds[d + j]) + 1 <= 256
    n_shared = d + min(d, PRINCIPAL)
    assert len(own) == 4 and all(list(seen[:n_shared]) == list(range(n_shared)) for seen in own)
    parts = [set(seen[n_shared:]) for seen in own]
    assert all(parts) and set().union(*parts) == set(range(n_shared, d + projection.n_columns))
    assert sum(map(len, parts)) == d + projection.n_columns - n_shared
    assert max(map(len, parts)) <= min(20, d)


@pytest.mark.parametrize("b", range(4))
def test_a_fold_learns_nothing_from_its_own_labels(b):
    X, y = clouds(1)
    _, projection, own = columns_of(X, y)
    fold, changed = np.arange(200) % 4, y.copy()
    changed[fold == b] = np.roll(y[fold == b], 1)
    _, other, own_too = columns_of(X, changed)
    for c in range(4):
        np.testing.assert_array_equal(own[c], own_too[c])
        seen, before = (p.weights[:, own[c][5:] - 5] for p in (other, projection))
        if c == b:
            np.testing.assert_array_equal(seen, before)
        else:
            np.testing.assert_array_equal(seen[:, :5], before[:, :5])
            assert np.all(np.any(seen[:, 5:] != before[:, 5:], axis=0))


def test_rows_that_count_are_the_only_ones():
    X, y = clouds(2)
    rows = np.flatnonzero(np.random.default_rng(0).random(200) < 0.7)
    weight = np.random.default_rng(1).uniform(0.1, 2, len(rows))
    one, projection, own = columns_of(X, y, rows=rows, weight=weight)
    other, projection_too, own_too = columns_of(X[rows], y[rows], weight=weight)
    np.testing.assert_array_equal(projection.weights, projection_too.weights)
    np.testing.assert_array_equal(one.binned, other.binned)
    for a, b in zip([*one.thresholds, *own], [*other.thresholds, *own_too], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("binning", "max_bins"), [("quantile", 5), ("uniform", None), ("uniform", 9)])
def test_linear_columns_are_binned_like_features(binning, max_bins):
    X, y = clouds(3)
    columns, projection, _ = columns_of(X, y, binning=binning, max_bins=max_bins)
    expected = fit_binner(projection.columns(X), binning, max_bins).thresholds
    for found, thresholds in zip(columns.thresholds[5:], expected, strict=True):
        np.testing.assert_array_equal(found, thresholds)


def test_threads_do_not_change_columns(monkeypatch):
    monkeypatch.setattr("minrisk.model.projection.BLOCK_VALUES", 64 * 5)
    X, y = clouds(4)
    one, projection, _ = columns_of(X, y)
    with Workers(3) as workers:
        other, projection_too, _ = columns_of(X, y, workers=workers)
    np.testing.assert_array_equal(projection.weights, projection_too.weights)
    np.testing.assert_array_equal(one.binned, other.binned)


def test_too_many_or_too_few_features_have_no_linear_ones():
    rng = np.random.default_rng(11)
    y = np.arange(12) % 2
    assert columns_of(rng.normal(size=(12, LINEAR_FEATURES + 1)), y)[1:] == (None, None)
    x = rng.normal(size=12)
    for beside_x in (np.empty((12, 0)), np.full((12, 2), 3.0), np.full((12, 1), np.nan), 1 - 2 * x[:, None]):
        assert columns_of(np.c_[x, beside_x], y)[1:] == (None, None)
    assert columns_of(np.ones((12, 3)), y)[1:] == (None, None)
    assert columns_of(np.c_[x, rng.normal(size=12)], y)[1] is not None


# -- one model -----------------------------------------------------------------------------------------------------------
def random_pool(rng, n_columns, D, n_fits=3, n_members=2):
    """Members of different lengths, some shorter than the rounds of their fit."""
    fits, shares = [], rng.dirichlet(np.ones(n_fits))
    for _ in range(n_fits):
        members = []
        for _ in range(n_members):
            sizes = rng.integers(2, 7, rng.integers(0, 9))
            trees = [random_tree(rng, n_columns, n, n, ones=True) for n in sizes]
            vectors = [rng.normal(size=(tree.n_vectors, D)) for tree in trees]
            members.append(Progress(trees, vectors, rng.normal(size=D)))
        kind = Told("plain", np.zeros((1, D)), np.zeros(1, dtype=int), np.zeros(1, dtype=int))
        fits.append(CrossFit(kind, members, int(rng.integers(0, 9)), 1.0, kind.folded.held_out([]), [], 0.0))
    return Ensemble(fits, shares, 2.0, rng.normal(size=D), fits[0].held, [])


def model_of(pool, n_features, projection):
    """The model, where these are the linear features."""
    pool.fits[0].kind.task.table.projection = projection
    return averaged_model(pool, n_features)


def in_units(pool, slope=1.0):
    """What rounds to multiples of the largest power of two that moves log-odds by 1/128 at most (standard deviation)."""
    n_trees, unit = sum(fit.n_rounds * len(fit.members) for fit in pool.fits), 1.0
    while slope * unit * np.sqrt(max(1, n_trees) / 12) / pool.temperature > 1 / 128:
        unit /= 2
    while slope * 2 * unit * np.sqrt(max(1, n_trees) / 12) / pool.temperature <= 1 / 128:
        unit *= 2
    return lambda vectors: np.round(vectors / unit) * unit


def averaged(pool, wide, n_rounds=None, members=None, rounded=lambda vectors: vectors, intercept=None):
    """Scores after some rounds, by the definition: of all members, or of one of every candidate."""
    scores = np.tile(pool.intercept if intercept is None else intercept, (len(wide), 1))
    for fit, share in zip(pool.fits, pool.shares, strict=True):
        chosen = fit.members if members is None else [fit.members[members]]
        for member in chosen:
            last = fit.n_rounds if n_rounds is None else min(n_rounds, fit.n_rounds)
            factor = share / len(chosen)
            for tree, vectors in zip(member.trees[:last], member.vectors[:last], strict=True):
                scores += added(tree, rounded(factor * vectors), wide)
    return scores


def beside(X, projection):
    """Features and linear ones, cell by cell."""
    return X if projection is None else np.concatenate([X, projection.columns(X)], axis=1)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("m", [0, 1, 6, 40])
def test_a_model_of_members_is_their_average(seed, m):
    rng = np.random.default_rng([seed, m])
    d, D = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    X = np.where(rng.random((60, d)) < 0.1, np.nan, rng.normal(size=(60, d)))
    projection = None
    if m:
        weights = rng.normal(size=(d, m)).astype(np.float32).astype(np.float64)
        projection = Projection(rng.normal(size=d), np.ones(d), weights)
    pool = random_pool(rng, d + m, D)
    wide = beside(X, projection)
    model = model_of(pool, d, projection)
    assert len(model) == max(fit.n_rounds for fit in pool.fits) and model.trees_per_round == 6
    assert (model.n_features, model.link, model.temperature) == (d, "softmax", 2.0)
    rounded = in_units(pool)
    np.testing.assert_allclose(model.scores(X), averaged(pool, wide, rounded=rounded), rtol=0, atol=1e-7)
    for t, stage in enumerate(model.staged_scores(X), 1):
        np.testing.assert_allclose(stage, averaged(pool, wide, t, rounded=rounded), rtol=0, atol=1e-7)
        np.testing.assert_array_equal(stage, model[:t].scores(X))
    in_use = {
        j for fit in pool.fits for member in fit.members for tree in member.trees[: fit.n_rounds] for j in tree.feature
    }
    columns = sorted(j - d for j in in_use if j >= d)
    if columns:
        np.testing.assert_array_equal(model.projection.weights, projection.weights[:, columns])
    else:
        assert model.projection is None
    check_packed(model.packed, d + len(columns))


def test_columns_that_no_tree_names_are_dropped():
    rng = np.random.default_rng(12)
    weights = rng.normal(size=(2, 5)).astype(np.float32).astype(float)
    projection, pool = Projection(np.zeros(2), np.ones(2), weights), random_pool(rng, 2, 3)
    assert any(len(member.trees) for fit in pool.fits for member in fit.members[: fit.n_rounds])
    assert model_of(pool, 2, projection).projection is None
    late = random_tree(rng, 1, 2, 2, ones=True)
    late.feature[0] = 5
    fit = pool.fits[0]._replace(n_rounds=3)
    fit.members[0].trees[:] = [CONSTANT, CONSTANT, CONSTANT, late]
    fit.members[0].vectors[:] = [rng.normal(size=(1, 3))] * 3 + [rng.normal(size=(2, 3))]
    fits = [fit, *(other._replace(n_rounds=2) for other in pool.fits[1:])]
    assert model_of(pool._replace(fits=fits), 2, projection).projection is None  # of a round that is not kept
    fits[0] = fit._replace(n_rounds=4)
    model = model_of(pool._replace(fits=fits), 2, projection)
    np.testing.assert_array_equal(model.projection.weights, weights[:, [3]])
    assert set(model.packed.feature) == {0, 1, 2}


def test_features_beside_linear_ones_keep_their_precision():
    projection = Projection(np.zeros(1), np.ones(1), np.ones((1, 1)))
    tree = random_tree(np.random.default_rng(13), 1, 2, 2, ones=True)
    tree.threshold[0] = 1 + 2e-12
    other = random_tree(np.random.default_rng(13), 1, 2, 2, ones=True)
    other.feature[0], other.threshold[0] = 1, 5.0
    vectors = [np.eye(2), np.zeros((2, 2))]
    member = Progress([tree, other], vectors, np.zeros(2))
    kind = Told("random", np.zeros((1, 2)), np.zeros(1, dtype=int), np.zeros(1, dtype=int))
    none = kind.folded.held_out([])
    pool = Ensemble([CrossFit(kind, [member], 2, 1.0, none, [], 0.0)], np.ones(1), 1.0, np.zeros(2), none, [])
    model = model_of(pool, 1, projection)
    assert model.projection is not None
    X = 1 + 1e-12 * np.array([[1.0], [3.0], [2.0], [4.0]])
    np.testing.assert_array_equal(model.scores(X), np.eye(2)[[0, 1, 0, 1]])


# -- fits ----------------------------------------------------------------------------------------------------------------
def oblique(seed, n, d, K=2, missing=0.0):
    """Classes parted by planes that lie across the axes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    normals = np.ones((1, d)) if K == 2 else np.random.default_rng(77).normal(size=(K, d))
    y = (X @ normals[0] > 0).astype(int) if K == 2 else (X @ normals.T).argmax(axis=1)
    return np.where(rng.random((n, d)) < missing, np.nan, X), y


def trees_alone(monkeypatch):
    """Without the kinds that are not boosted, which find planes before any tree does."""
    without_kinds(monkeypatch, "logistic", "smooth")


def pooled_fit(X, y, monkeypatch, **options):
    """A fitted classifier, its pool, and the projection before unused columns were dropped."""
    kept = []

    def keep(pool, n_features):
        kept.append((pool, pool.fits[0].kind.task.table.projection))
        return averaged_model(pool, n_features)

    monkeypatch.setattr("minrisk.ensemble.ensemble.averaged_model", keep)
    model = MinRiskClassifier(random_state=0, **{"n_estimators": 25, **options}).fit(X, y)
    return model, *kept[0]


@pytest.mark.parametrize("surrogate", ["softmax", "exponential"])
@pytest.mark.parametrize("K", [2, 4])
def test_scores_are_the_average_of_the_members(surrogate, K, monkeypatch):
    X, y = oblique(0, 240, 3, K, missing=0.05)
    y = (y + (X[:, 0] > 0.3)) % K  # an edge for plain members, too
    monkeypatch.setattr("minrisk.ensemble.defaults.LAST_ROUNDS", 0.0)  # left-out rows are in none of the trees
    monkeypatch.setattr("minrisk.ensemble.training.finished", lambda ensemble, ended: (ended, ensemble))
    trees_alone(monkeypatch)
    model, pool, projection = pooled_fit(X, y, monkeypatch, surrogate=surrogate, cv=3, max_bins=256)
    assert len(pool.fits) > 1 and "random" in {fit.kind.name for fit in pool.fits if fit.n_rounds}
    wide = beside(X, projection)
    expected = averaged(pool, wide, rounded=in_units(pool, 2.0 if surrogate == "exponential" else 1.0))
    np.testing.assert_allclose(model.model_.scores(X), expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(expected, averaged(pool, wide), rtol=0, atol=0.05 * pool.temperature)
    binner = fit_binner(X)
    axis = Columns(binner.transform(X), binner.n_bins, binner.thresholds)
    folds = folds_of(3, X, axis.thresholds, y, np.arange(240), y, model._seed, (np.ones(240),))
    own = linear_columns(X, np.arange(240), y, np.ones(240), folds, axis, "quantile", None, Workers())[1]
    order = np.argsort(folds, kind="stable")  # as the members have them
    wide, folds, link = wide[order], folds[order], pool.link
    base = Judges(link, y[order], K, folds=folds).base
    for b in range(3):
        rows = folds == b
        known = pool.temperature / SLOPES[link] * (base[b] + pool.mixture.shift)
        told = averaged(pool, wide[rows], members=b, intercept=known)
        np.testing.assert_allclose(pool.held._scores[rows], told, rtol=1e-4, atol=1e-5)
        for fit in pool.fits:
            names = {j for tree in fit.members[b].trees for j in tree.feature.tolist()}
            assert names <= (set(own[b]) if fit.kind.name == "random" else {0, 1, 2})
    used = model.model_.packed.feature
    assert set(used[used >= 3] - 3) == set(range(model.model_.projection.n_columns))
    assert model.model_.projection.n_columns <= projection.n_columns


def test_a_pool_is_better_than_plain_members_on_left_out_rows(monkeypatch):
    for seed in range(3):
        X, y = oblique(seed, 499, 3, 3)
        _, pool, _ = pooled_fit(X, y, monkeypatch)
        alone = len(y) * min(loss for _, loss in pool.plain.curve)
        assert pool.held.along("softmax", 1.0 / pool.temperature, 0.0, whole=True)[0] < 0.998 * alone


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"surrogate": "exponential", "subsample": 0.7},
        {"surrogate": "gll"},
        {"binning": "uniform", "sketch": None},
        {"cv": 1},
        {"pool": False},
    ],
)
def test_threads_and_refits_do_not_change_a_byte(options, tmp_path):
    X, y = oblique(1, 260, 4, 3, missing=0.05)
    weight = np.random.default_rng(2).integers(0, 3, 260).astype(float)
    found = []
    for n_jobs in (1, 2, 3, 1):
        model = MinRiskClassifier(random_state=3, n_estimators=12, n_jobs=n_jobs, **options)
        minrisk.save(model.fit(X, y, sample_weight=weight), tmp_path / "model")
        found.append((tmp_path / "model").read_bytes())
    assert len(set(found)) == 1 and (options or (model.model_.projection and model.model_.smooth))


@pytest.fixture(scope="module")
def fitted():
    X, y = oblique(3, 300, 4, 3, missing=0.05)
    with pytest.MonkeyPatch.context() as patch:
        trees_alone(patch)
        model = MinRiskClassifier(random_state=0, n_estimators=20).fit(X, y)
    assert model.model_.projection is not None
    return model


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_have_the_same_bits_after_a_round_trip_and_row_by_row(fitted, dtype, tmp_path):
    X, _ = oblique(4, 5000, 4, missing=0.1)
    X = X.astype(dtype)
    X[7] = np.nan
    p = fitted.predict_proba(X)
    minrisk.save(fitted, tmp_path / "model")
    loaded = minrisk.load(tmp_path / "model")
    for name in ("center", "scale", "weights"):
        np.testing.assert_array_equal(getattr(loaded.model_.projection, name), getattr(fitted.model_.projection, name))
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    np.testing.assert_array_equal(fitted.predict_proba(X.astype(np.float64)), p)
    np.testing.assert_array_equal(fitted.predict_proba(np.asfortranarray(X)), p)
    for i in (*range(40), 4095, 4096, 4999):
        np.testing.assert_array_equal(fitted.predict_proba(X[i : i + 1]), p[i : i + 1])
    for rows in (slice(17), slice(4090, 4100), slice(0, 5000, 3), slice(None, None, -1)):
        np.testing.assert_array_equal(fitted.predict_proba(X[rows]), p[rows])
    np.testing.assert_array_equal(loaded.set_params(n_jobs=3).predict_proba(X), p)
    minrisk.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_the_last_stage_is_the_decision_function(fitted):
    X, _ = oblique(5, 300, 4)
    *stages, last = fitted.staged_decision_function(X)
    assert len(stages) + 1 == fitted.n_iter_
    np.testing.assert_array_equal(last, fitted.decision_function(X))
    *_, p = fitted.staged_predict_proba(X)
    np.testing.assert_array_equal(p, fitted.predict_proba(X))


def test_importances_are_those_of_the_features(fitted):
    importances = fitted.feature_importances_
    assert importances.shape == (4,) and np.all(importances > 0) and importances.sum() == pytest.approx(1)
    packed, linear = fitted.model_.packed, fitted.model_.projection
    expected = np.zeros(4)
    for j, gain in zip(packed.feature, packed.gain, strict=True):
        expected += gain * (np.eye(4)[j] if j < 4 else linear.loadings[:, j - 4])
    np.testing.assert_allclose(importances, expected / expected.sum())


def test_a_feature_that_says_nothing_is_not_important(monkeypatch):
    """Rounds on all rows, which nothing checks, may split it a little more."""
    X, y = oblique(6, 300, 2)
    X = np.c_[X, np.random.default_rng(0).normal(size=300), np.full(300, 3.0)]
    trees_alone(monkeypatch)
    for last, most in ((0.0, 0.1), (defaults.LAST_ROUNDS, 0.15)):
        monkeypatch.setattr("minrisk.ensemble.defaults.LAST_ROUNDS", last)
        model = MinRiskClassifier(random_state=0, n_estimators=20).fit(X, y)
        assert model.model_.projection is not None
        one, two, noise, constant = model.feature_importances_
        assert constant == 0.0 and noise < most < 0.3 < min(one, two)


# -- what pools are for --------------------------------------------------------------------------------------------------
def losses(X, y, X_test, y_test, **options):
    """Test log-loss with and without a pool, and the pool's lines."""
    found = []
    for pool in (True, False):
        model = MinRiskClassifier(random_state=0, pool=pool, **{"n_estimators": 60, **options}).fit(X, y)
        p = model.predict_proba(X_test)[np.arange(len(y_test)), y_test]
        found.append((-np.log(np.maximum(p, 1e-12)).mean(), model.selection_))
    return found[0][0], found[1][0], {line["variant"]: line["share"] for line in found[0][1]}


@pytest.mark.parametrize(("d", "K"), [(2, 2), (3, 2), (4, 2), (5, 2), (4, 3)])
def test_planes_across_the_axes_are_found(d, K, monkeypatch):
    """By random members, where there are none but trees."""
    trees_alone(monkeypatch)
    (X, y), (X_test, y_test) = oblique(7, 300, d, K), oblique(8, 2000, d, K)
    pooled, plain, shares = losses(X, y, X_test, y_test)
    assert pooled < 0.7 * plain and shares["random"] > 0.3


@pytest.mark.parametrize("seed", range(3))
def test_tables_and_products_are_learnt_as_well_as_without(seed):
    rng = np.random.default_rng(seed)
    square, levels = rng.uniform(-1, 1, (2400, 4)), rng.integers(0, 6, (2400, 4))
    for X, y in (
        (square, (square[:, 0] * square[:, 1] > 0).astype(int)),
        (levels.astype(float), rng.integers(0, 3, (6, 6))[levels[:, 0], levels[:, 1]]),
        ((levels % 2).astype(float), levels[:, :3].sum(axis=1) % 2),
    ):
        pooled, plain, _ = losses(X[:400], y[:400], X[400:], y[400:], n_estimators=40)
        assert pooled < 1.1 * plain + 0.005
