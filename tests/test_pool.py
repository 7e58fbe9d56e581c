"""Pools: shares that left-out rows choose, columns that a fold may see, and the average as one model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minrisk
from minrisk import MinRiskClassifier
from minrisk._workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.data.binning import fit_binner
from minrisk.ensemble.average import mean_losses, pooled_model, report
from minrisk.ensemble.blending import Pool, blend, validated_risk
from minrisk.ensemble.calibration import fit_temperature, log_loss
from minrisk.ensemble.columns import linear_columns
from minrisk.ensemble.defaults import LAST_ROUNDS_FROM, LEAST_GAIN, LINEAR_FEATURES, PRINCIPAL, SHARES
from minrisk.ensemble.folds import fold_numbers
from minrisk.ensemble.kind import CrossFit, Kind, Table, Task
from minrisk.ensemble.training import train_pool
from minrisk.model.links import log_probabilities
from minrisk.model.projection import Projection
from minrisk.model.trees import CONSTANT, Tree
from minrisk.rows.columns import Columns
from minrisk.rows.factory import folded_rows
from tests.helpers import check_packed, held_out, make_costs, random_costs
from tests.test_selection import USUAL, added, example

LINKS = ("sigmoid2", "softmax")  # of surrogates that are pooled


# -- blending ------------------------------------------------------------------------------------------------------------
def at_best(link, scores, codes, weight):
    """Scores whose best temperature is 1."""
    while True:
        temperature, _ = fit_temperature(link, held_out(scores, codes, weight))
        if temperature == 1.0:
            return scores
        scores = scores / temperature


def truth(codes, K, height=6.0):
    """Scores that know the class."""
    return height * (np.eye(K)[codes] - 0.5)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", range(5))
def test_a_useless_challenger_gets_no_share(link, seed):
    rng = np.random.default_rng(seed)
    scores, codes, weight = example(rng, link, 400, spread=1.0)
    present = at_best(link, scores, codes, weight)
    for useless in (rng.normal(size=scores.shape), np.zeros_like(scores), -present, present[rng.permutation(400)]):
        assert blend(link, held_out(present, codes, weight), held_out(useless, codes, weight)) == (0.0, 1.0)


@pytest.mark.parametrize("link", LINKS)
def test_a_copy_gets_no_share(link):
    rng = np.random.default_rng(1)
    scores, codes, weight = example(rng, link, 400, spread=3.0)
    present = at_best(link, scores, codes, weight)
    assert blend(link, held_out(present, codes, weight), held_out(present.copy(), codes, weight)) == (0.0, 1.0)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize(("caution", "least"), [(0.0, 1.0), (0.5, 0.875)])
def test_a_challenger_that_knows_the_truth_takes_all(link, K, caution, least, monkeypatch):
    """But for what half a row of other classes may ask of scores that are less sure."""
    monkeypatch.setattr("minrisk.ensemble.defaults.CAUTION", caution)
    rng = np.random.default_rng(2)
    scores, codes, weight = example(rng, link, 300, K, spread=1.0)
    share, temperature = blend(link, held_out(scores, codes, weight), held_out(truth(codes, K), codes, weight))
    assert share >= least and temperature < 1.0


@pytest.mark.parametrize("link", LINKS)
def test_equals_whose_errors_differ_share(link):
    """Each of them sees the truth through noise of its own."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 600)
    ones, told = np.ones(600), (truth(codes, 3, 2.0) + rng.normal(size=(600, 3)) for _ in range(2))
    one, other = (at_best(link, scores, codes, ones) for scores in told)
    share, temperature = blend(link, held_out(one, codes, ones), held_out(other, codes, ones))
    assert 0.25 <= share <= 0.75 and temperature < 1.0
    mixed = (1 - share) * one + share * other
    assert log_loss(link, held_out(mixed, codes, ones), temperature) < 0.9 * log_loss(link, held_out(one, codes, ones), 1.0)


def test_a_gain_that_is_too_small_is_none():
    rng = np.random.default_rng(4)
    scores, codes, weight = example(rng, "softmax", 500, spread=1.0)
    present = at_best("softmax", scores, codes, weight)
    alone = log_loss("softmax", held_out(present, codes, weight), 1.0)
    for step in (1e-3, 1e-2, 3e-2, 1e-1):
        challenger = present + step * truth(codes, 4)
        _, all_of_it = fit_temperature("softmax", held_out(challenger, codes, weight))
        assert all_of_it < alone
        assert (blend("softmax", held_out(present, codes, weight), held_out(challenger, codes, weight))[0] > 0) == (all_of_it < alone * (1 - LEAST_GAIN))


@pytest.mark.parametrize("link", LINKS)
def test_where_nothing_is_wrong_there_is_nothing_to_gain(link):
    codes = np.arange(60) % 3
    for present in (truth(codes, 3, 40.0), truth(codes, 3, 200.0)):
        for challenger in (2 * present, 0.5 * present, present + 1.0):
            assert blend(link, held_out(present, codes, np.ones(60)), held_out(challenger, codes, np.ones(60))) == (0.0, 1.0)


def test_rows_of_weight_zero_have_no_say():
    rng = np.random.default_rng(5)
    scores, codes, weight = example(rng, "softmax", 300, spread=1.0)
    challenger = scores + rng.normal(size=scores.shape) + truth(codes, 4, 2.0)
    silent = rng.random(300) < 0.3
    weight[silent] = 0.0
    expected = blend("softmax", held_out(scores[~silent], codes[~silent], weight[~silent]), held_out(challenger[~silent], codes[~silent], weight[~silent]))
    challenger[silent] *= -50
    assert expected[0] > 0 and blend("softmax", held_out(scores, codes, weight), held_out(challenger, codes, weight)) == expected


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(LINKS), st.integers(1, 60), st.integers(2, 5), st.floats(0.01, 30), st.floats(0.01, 30),
    st.floats(-3, 3), st.integers(0, 10**6),
)  # fmt: skip
def test_a_blend_never_raises_the_log_loss(link, n, K, spread, other_spread, knowledge, seed):
    rng = np.random.default_rng(seed)
    codes, weight = rng.integers(0, K, n), rng.uniform(0, 2, n) + 1e-6
    present = spread * rng.normal(size=(n, K)) + truth(codes, K, 1.0)
    challenger = other_spread * rng.normal(size=(n, K)) + truth(codes, K, knowledge)
    share, temperature = blend(link, held_out(present, codes, weight), held_out(challenger, codes, weight))
    assert share in [eighth / SHARES for eighth in range(SHARES + 1)]
    alone = log_loss(link, held_out(present, codes, weight), 1.0)
    if share == 0.0:
        assert temperature == 1.0
        return
    mixed = (1 - share) * present + share * challenger
    found = -weight @ np.maximum(log_probabilities(link, mixed, temperature)[np.arange(n), codes], np.log(1e-12))
    assert found <= alone * (1 - LEAST_GAIN) * (1 + 1e-9) + 1e-12 * weight.sum()
    if share < 1.0:  # the next eighth brings nothing more
        further = present + (share + 1 / SHARES) * (challenger - present)
        least = log_loss(link, held_out(present + share * (challenger - present), codes, weight), temperature)
        assert fit_temperature(link, held_out(further, codes, weight), temperature)[1] >= least


# -- pooling -------------------------------------------------------------------------------------------------------------
class Told(Kind):
    """Kind whose members give these scores to the rows they leave out."""

    name = place = "told"

    def __init__(self, name, scores, codes, folds, link="softmax", workers=None, rival="", stated=None):
        (n, K), self.scores, self.calls = scores.shape, scores, []
        self.name, self.place, self.workers = name, rival or name, workers or Workers()
        table, self.folds = Table(np.zeros((n, 1)), np.arange(n), None), folds
        self.folded = folded_rows(stated or make_costs(1 - np.eye(K), codes, np.ones(n)), folds)
        super().__init__(Task(table, self.folded.blind(K), "softmax", link, USUAL, 0, self.workers))

    def member(self, fold):
        self.calls.append(fold)
        return ToldMember(self.scores[self.folds == fold])

    def finish(self, fit, most):
        return fit

    def alone(self, n_rounds):
        self.calls.append(("alone", n_rounds))
        made = Progress(intercept=np.zeros(self.scores.shape[1]))
        return CrossFit(self, [made], 0, 1.0, 0, self.folded.held_out([]), [], 1.0)


def pool_of(told, n_rounds):
    """`train_pool`, judged by the costs that the first kind states."""
    return train_pool(told[0], told[1:], n_rounds, told[0].folded.stated_facts.table)


class ToldMember:
    """Member that gives these scores from the first checkpoint on."""

    def __init__(self, scores):
        self.own, self.seconds, self.reached = scores, 1.0, -1

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
    useless, wise = Told("small", -scores, codes, folds), Told("linear", truth(codes, 3) + rng.normal(size=(300, 3)), codes, folds)
    found = pool_of([plain, useless, wise], 5)  # no more rounds: the seconds are those told
    assert sorted(plain.calls) == sorted(wise.calls) == [0, 1, 2]
    assert useless.calls == [0]
    assert [fit.kind.name for fit in found.fits] == ["plain", "linear"] and found.shares[1] > 0.5
    assert [fit.kind.name for fit in found.dropped] == ["small"]
    assert len(found.dropped[0].members) == 1 and (found.dropped[0].n_folds, found.dropped[0].held.n_rows) == (1, 100)
    assert all(len(fit.members) == 3 and fit.held.n_rows == 300 for fit in found.fits)
    assert found.seconds == 7.0 and found.link == "softmax"


@pytest.mark.parametrize(("knowledge", "wins"), [(0.0, False), (0.3, False), (3.0, True)])
def test_what_does_not_beat_the_class_frequencies_gives_way_to_them(knowledge, wins, monkeypatch):
    """Scores that know nothing, less than the frequencies do, more than these."""
    folds = np.arange(300) // 100
    codes = np.tile(np.repeat([0, 1, 2], [90, 7, 3]), 3)
    log_p = np.log(np.array([0.9, 0.07, 0.03]))
    monkeypatch.setattr(ToldMember, "constant", lambda self: Progress(intercept=log_p), raising=True)
    noise = np.random.default_rng(0).normal(size=(300, 3))
    plain = Told("plain", knowledge * truth(codes, 3) + noise, codes, folds)
    found = pool_of([plain, Told("small", -noise, codes, folds)], 7)
    assert [fit.kind.name for fit in (*found.fits, *found.dropped)] == ["plain", "small"]
    assert (found.fits[0].n_rounds > 0) == wins
    if not wins:
        np.testing.assert_array_equal(found.held._scores, np.tile(log_p.astype(np.float32), (300, 1)))
        assert all(made.intercept is log_p and not made.trees for made in found.fits[0].members)
        assert found.temperature == 1.0 and found.fits[0].risk == pytest.approx(0.1)


def test_a_challenger_that_shines_on_the_first_fold_only_is_dropped():
    rng, codes, folds, scores = task(7)
    lucky = np.where((folds == 0)[:, None], truth(codes, 3), -truth(codes, 3))
    other = Told("small", lucky, codes, folds)
    found = pool_of([Told("plain", scores, codes, folds), other], 5)
    assert len(other.calls) == 3 and found.shares == [1.0]
    assert [len(fit.members) for fit in found.dropped] == [3] and found.seconds == 6.0


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("first", ["better", "worse"])
def test_of_rivals_the_first_fold_chooses_one(first, threads):
    """Either would join; only the better one is trained on the other folds."""
    rng, codes, folds, scores = task(14)
    better, worse = (truth(codes, 3, a) + rng.normal(size=scores.shape) for a in (4.0, 2.0))
    own = {"small": better, "tiny": worse} if first == "better" else {"small": worse, "tiny": better}
    chosen, beaten = ("small", "tiny") if first == "better" else ("tiny", "small")
    with Workers(threads) as workers:
        told = {
            name: Told(name, own.get(name, scores), codes, folds, workers=workers, rival="small" if name == "tiny" else "")
            for name in ("plain", "small", "tiny")
        }
        found = pool_of(list(told.values()), 7)
        alone = pool_of([Told("plain", scores, codes, folds), Told(chosen, better, codes, folds)], 7)
        other = pool_of([Told("plain", scores, codes, folds), Told(beaten, worse, codes, folds)], 7)
    assert len(told[chosen].calls) == 3 and told[beaten].calls == [0]
    assert [fit.kind.name for fit in found.fits] == ["plain", chosen]
    assert [(fit.kind.name, len(fit.members)) for fit in found.dropped] == [(beaten, 1)]
    assert found.shares == alone.shares and 0 < other.shares[1] < found.shares[1]
    np.testing.assert_array_equal(found.held._scores, alone.held._scores)


def test_rivals_that_bring_nothing_are_all_dropped():
    _, codes, folds, scores = task(15)
    small, tiny = Told("small", -scores, codes, folds), Told("tiny", -2 * scores, codes, folds, rival="small")
    found = pool_of([Told("plain", scores, codes, folds), small, tiny], 7)
    assert small.calls == tiny.calls == [0] and found.shares == [1.0]
    assert [fit.kind.name for fit in found.dropped] == ["small", "tiny"]


@pytest.mark.parametrize("seed", range(4))
def test_shares_and_scores_are_those_of_the_blends(seed):
    """Members of any temperature: the pool's scores are an average of theirs, and say what the blend says."""
    rng, codes, folds, scores = task(seed, n=600)
    weight, spreads = np.ones(600), (4.0, 0.5, 9.0)
    told = [s * (truth(codes, 3, 2.0) + rng.normal(size=scores.shape)) for s in spreads]
    names = ("plain", "linear", "small")
    found = pool_of([Told(v, t, codes, folds) for v, t in zip(names, told, strict=True)], 9)
    assert [fit.kind.name for fit in found.fits] == list(names) and found.dropped == []
    assert sum(found.shares) == pytest.approx(1) and min(found.shares) > 0
    np.testing.assert_allclose(found.held._scores, sum(s * t for s, t in zip(found.shares, told, strict=True)), atol=1e-5)
    assert len({fit.temperature for fit in found.fits}) == 3
    present = told[0] / found.fits[0].temperature
    least = log_loss("softmax", held_out(present, codes, weight), 1.0)
    for fit, own in zip(found.fits[1:], told[1:], strict=True):
        challenger = own / fit.temperature
        share, temperature = blend("softmax", held_out(present, codes, weight), held_out(challenger, codes, weight))
        present = ((1 - share) * present + share * challenger) / temperature
        loss = log_loss("softmax", held_out(present, codes, weight), 1.0)
        assert share > 0 and loss < least
        least = loss
    np.testing.assert_allclose(found.held._scores / found.temperature, present, atol=1e-5)
    assert log_loss("softmax", found.held, found.temperature) == pytest.approx(least, rel=1e-5)


def test_threads_do_not_change_a_pool():
    rng, codes, folds, scores = task(8)
    told = [scores, truth(codes, 3, 2.0) + rng.normal(size=scores.shape), rng.normal(size=scores.shape)]
    pools = []
    for n in (1, 3):
        with Workers(n) as workers:
            pools.append(pool_of([Told(str(i), t, codes, folds, workers=workers) for i, t in enumerate(told)], 9))
    one, other = pools
    assert one.shares == other.shares and one.temperature == other.temperature
    np.testing.assert_array_equal(one.held._scores, other.held._scores)


def test_without_probabilities_there_is_one_candidate():
    _, codes, folds, scores = task(9)
    found = pool_of([Told("plain", scores, codes, folds, None)], 7)
    assert found.shares == [1.0] and found.dropped == [] and found.temperature == 1.0
    np.testing.assert_array_equal(found.held._scores, scores.astype(np.float32))


def test_one_fold_is_one_member_of_all_rows():
    _, codes, _, scores = task(10)
    folds = np.zeros(300, dtype=int)
    plain, other = Told("plain", scores, codes, folds), Told("small", truth(codes, 3), codes, folds)
    found = pool_of([plain, other], 7)
    assert plain.calls == [("alone", 7)] and other.calls == []
    assert found.shares == [1.0] and found.temperature == 1.0 and found.held._scores.shape == (0, 3)


# -- what is said about a pool -------------------------------------------------------------------------------------------
def mean_cost(scores, temperature, codes, weight, table):
    """Of decisions of least expected cost."""
    decisions = (np.exp(log_probabilities("softmax", scores, temperature)) @ table).argmin(axis=1)
    return np.average(table[codes, decisions], weights=weight)


def test_a_line_for_every_candidate():
    rng, codes, folds, scores = task(11)
    other = 3 * (truth(codes, 3, 2.0) + rng.normal(size=scores.shape))
    lucky = np.where((folds == 0)[:, None], truth(codes, 3), -truth(codes, 3))
    names = ("plain", "small", "linear")
    table, weight = random_costs(rng, 3), rng.uniform(0.5, 2, 300)
    stated = make_costs(table, codes, weight)
    told = [Told(name, own, codes, folds, stated=stated) for name, own in zip(names, (scores, lucky, other), strict=True)]
    pool = pool_of(told, 7)
    lines = report(pool, validated_risk(pool, table), stated)
    assert [line["variant"] for line in lines] == ["plain", "linear", "small"]
    one, two = (own / fit.temperature for own, fit in zip((scores, other), pool.fits, strict=True))
    share, _ = blend("softmax", held_out(one, codes, weight), held_out(two, codes, weight))
    assert 0 < share < 1
    assert [line["share"] for line in lines] == pytest.approx([1 - share, share, 0.0])
    pooled = mean_cost(pool.held._scores, pool.temperature, codes, weight, table)
    assert validated_risk(pool, table) == pytest.approx(pooled)
    for line, fit, own in zip(lines, [*pool.fits, *pool.dropped], (scores, other, lucky), strict=True):
        assert (line["n_rounds"], line["temperature"], line["seconds"]) == (fit.n_rounds, fit.temperature, fit.seconds)
        assert line["surrogate"] == "softmax" and line["pooled_risk"] == pytest.approx(pooled)
        own = own if fit.n_rounds else np.zeros_like(own)
        assert line["risk"] == pytest.approx(mean_cost(own, fit.temperature, codes, weight, table))


def test_a_candidate_that_one_fold_dropped_is_judged_by_its_rows():
    _, codes, _, scores = task(12, n=100)
    codes, scores, folds = np.tile(codes, 3), np.tile(scores, (3, 1)), np.repeat(np.arange(3), 100)
    weight, table = np.random.default_rng(0).uniform(0.5, 2, 300), 1 - np.eye(3)
    stated = make_costs(table, codes, weight)
    told = {"plain": scores, "small": 0.1 * scores - 5}
    pool = pool_of([Told(name, own, codes, folds, stated=stated) for name, own in told.items()], 7)
    _, line = report(pool, validated_risk(pool, table), stated)
    (dropped,) = pool.dropped
    expected = mean_cost(0.1 * scores[:100] - 5, dropped.temperature, codes[:100], weight[:100], table)
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
def random_tree(rng, n_columns, depth):
    """Splits of any columns at any values."""
    feature, threshold, left, leaves = [0], [np.inf], [0], [0]
    for _ in range(depth):
        node = leaves.pop(rng.integers(len(leaves)))
        first = len(feature)
        feature[node], threshold[node], left[node] = int(rng.integers(n_columns)), float(rng.normal()), first
        leaves += [first, first + 1]
        feature += [0, 0]
        threshold += [np.inf, np.inf]
        left += [first, first + 1]
    n, value, vector, gain = len(feature), np.zeros(len(feature)), np.zeros(len(feature)), np.ones(len(feature))
    value[leaves], vector[leaves], gain[leaves] = 1.0, np.arange(len(leaves)), 0.0
    deep = np.zeros(n, dtype=int)
    for node in range(n):
        if left[node] != node:
            deep[left[node]] = deep[left[node] + 1] = deep[node] + 1
    return Tree(
        np.array(feature, dtype=np.int32), np.zeros(n, dtype=np.int32), np.array(threshold),
        np.array(left, dtype=np.int32), value, vector.astype(np.int32), gain, int(deep.max()),
    )  # fmt: skip


def random_pool(rng, n_columns, D, n_fits=3, n_members=2):
    """Members of different lengths, some shorter than the rounds of their fit."""
    fits, shares = [], rng.dirichlet(np.ones(n_fits))
    for _ in range(n_fits):
        members = []
        for _ in range(n_members):
            trees = [random_tree(rng, n_columns, int(rng.integers(1, 6))) for _ in range(rng.integers(0, 9))]
            vectors = [rng.normal(size=(tree.n_vectors, D)) for tree in trees]
            members.append(Progress(trees, vectors, rng.normal(size=D)))
        kind = Told("plain", np.zeros((1, D)), np.zeros(1, dtype=int), np.zeros(1, dtype=int))
        fits.append(CrossFit(kind, members, int(rng.integers(0, 9)), 1.0, 0, kind.folded.held_out([]), [], 0.0))
    return Pool(fits, shares.tolist(), 2.0, fits[0].held, [])


def in_units(pool, slope=1.0):
    """What rounds to multiples of the largest power of two that moves log-odds by 1/128 at most (standard deviation)."""
    n_trees, unit = sum(fit.n_rounds * len(fit.members) for fit in pool.fits), 1.0
    while slope * unit * np.sqrt(max(1, n_trees) / 12) / pool.temperature > 1 / 128:
        unit /= 2
    while slope * 2 * unit * np.sqrt(max(1, n_trees) / 12) / pool.temperature <= 1 / 128:
        unit *= 2
    return lambda vectors: np.round(vectors / unit) * unit


def averaged(pool, wide, n_rounds=None, members=None, rounded=lambda vectors: vectors):
    """Scores after some rounds, by the definition: of all members, or of one of every candidate."""
    scores = np.zeros((len(wide), pool.held.n_outputs))
    for fit, share in zip(pool.fits, pool.shares, strict=True):
        chosen = fit.members if members is None else [fit.members[members]]
        for member in chosen:
            last = fit.n_rounds if n_rounds is None else min(n_rounds, fit.n_rounds)
            factor = share / len(chosen)
            scores += factor * np.asarray(member.intercept)
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
    model = pooled_model(pool, d, projection)
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
    assert pooled_model(pool, 2, projection).projection is None
    late = random_tree(rng, 1, 1)
    late.feature[0] = 5
    fit = pool.fits[0]._replace(n_rounds=3)
    fit.members[0].trees[:] = [CONSTANT, CONSTANT, CONSTANT, late]
    fit.members[0].vectors[:] = [rng.normal(size=(1, 3))] * 3 + [rng.normal(size=(2, 3))]
    fits = [fit, *(other._replace(n_rounds=2) for other in pool.fits[1:])]
    assert pooled_model(pool._replace(fits=fits), 2, projection).projection is None  # of a round that is not kept
    fits[0] = fit._replace(n_rounds=4)
    model = pooled_model(pool._replace(fits=fits), 2, projection)
    np.testing.assert_array_equal(model.projection.weights, weights[:, [3]])
    assert set(model.packed.feature) == {0, 1, 2}


def test_features_beside_linear_ones_keep_their_precision():
    projection = Projection(np.zeros(1), np.ones(1), np.ones((1, 1)))
    tree = random_tree(np.random.default_rng(13), 1, 1)
    tree.threshold[0] = 1 + 2e-12
    other = random_tree(np.random.default_rng(13), 1, 1)
    other.feature[0], other.threshold[0] = 1, 5.0
    vectors = [np.eye(2), np.zeros((2, 2))]
    member = Progress([tree, other], vectors, np.zeros(2))
    kind = Told("linear", np.zeros((1, 2)), np.zeros(1, dtype=int), np.zeros(1, dtype=int))
    none = kind.folded.held_out([])
    pool = Pool([CrossFit(kind, [member], 2, 1.0, 0, none, [], 0.0)], [1.0], 1.0, none, [])
    model = pooled_model(pool, 1, projection)
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


def pooled_fit(X, y, monkeypatch, **options):
    """A fitted classifier, its pool, and the projection before unused columns were dropped."""
    kept = []

    def keep(pool, n_features, projection):
        kept.append((pool, projection))
        return pooled_model(pool, n_features, projection)

    monkeypatch.setattr("minrisk.ensemble.average.pooled_model", keep)
    model = MinRiskClassifier(random_state=0, **{"n_estimators": 25, **options}).fit(X, y)
    return model, *kept[0]


@pytest.mark.parametrize("surrogate", ["softmax", "exponential"])
@pytest.mark.parametrize("K", [2, 4])
def test_scores_are_the_average_of_the_members(surrogate, K, monkeypatch):
    X, y = oblique(0, 240, 3, K, missing=0.05)
    y = (y + (X[:, 0] > 0.3)) % K  # an edge for plain members, too
    monkeypatch.setattr("minrisk.ensemble.defaults.LAST_ROUNDS_FROM", 241)  # left-out rows are in none of the trees
    monkeypatch.setattr("minrisk.ensemble.defaults.SMOOTH_ROWS", 0)
    model, pool, projection = pooled_fit(X, y, monkeypatch, surrogate=surrogate, cv=3, max_bins=256)
    assert len(pool.fits) > 1 and "linear" in {fit.kind.name for fit in pool.fits if fit.n_rounds}
    wide = beside(X, projection)
    expected = averaged(pool, wide, rounded=in_units(pool, 2.0 if surrogate == "exponential" else 1.0))
    np.testing.assert_allclose(model.model_.scores(X), expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(expected, averaged(pool, wide), rtol=0, atol=0.05 * pool.temperature)
    binner = fit_binner(X)
    axis = Columns(binner.transform(X), binner.n_bins, binner.thresholds)
    folds = fold_numbers(axis.binned, y, 3, model._seed)
    own = linear_columns(X, np.arange(240), y, np.ones(240), folds, axis, "quantile", None, Workers())[1]
    wide, folds = wide[np.argsort(folds, kind="stable")], np.sort(folds)  # as the members have them
    for b in range(3):
        rows = folds == b
        np.testing.assert_allclose(pool.held._scores[rows], averaged(pool, wide[rows], members=b), rtol=1e-4, atol=1e-5)
        for fit in pool.fits:
            names = {j for tree in fit.members[b].trees for j in tree.feature.tolist()}
            assert names <= (set(own[b]) if fit.kind.name == "linear" else {0, 1, 2})
    used = model.model_.packed.feature
    assert set(used[used >= 3] - 3) == set(range(model.model_.projection.n_columns))
    assert model.model_.projection.n_columns <= projection.n_columns


def test_a_pool_is_no_worse_than_plain_members_on_left_out_rows(monkeypatch):
    for seed in range(3):
        X, y = oblique(seed, LAST_ROUNDS_FROM - 1, 3, 3)
        _, pool, _ = pooled_fit(X, y, monkeypatch)
        plain = next(fit for fit in (*pool.fits, *pool.dropped) if fit.kind.name == "plain")
        alone = len(y) * dict(plain.judged)[plain.n_rounds]
        assert log_loss("softmax", pool.held, pool.temperature, caution=False) < (1 - LEAST_GAIN) * alone


@pytest.mark.parametrize("options", [{}, {"surrogate": "exponential", "subsample": 0.7}, {"binning": "uniform"}])
def test_threads_and_refits_do_not_change_a_byte(options, tmp_path):
    X, y = oblique(1, 260, 4, 3, missing=0.05)
    weight = np.random.default_rng(2).integers(0, 3, 260).astype(float)
    found = []
    for n_jobs in (1, 2, 3, 1):
        model = MinRiskClassifier(random_state=3, n_estimators=12, n_jobs=n_jobs, **options)
        minrisk.save(model.fit(X, y, sample_weight=weight), tmp_path / "model")
        found.append((tmp_path / "model").read_bytes())
    assert model.model_.projection is not None and len(set(found)) == 1


@pytest.fixture(scope="module")
def fitted():
    X, y = oblique(3, 300, 4, 3, missing=0.05)
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
    for n_rows, most in ((301, 0.1), (LAST_ROUNDS_FROM, 0.15)):
        monkeypatch.setattr("minrisk.ensemble.defaults.LAST_ROUNDS_FROM", n_rows)
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
    """By linear members, where there are no smooth ones."""
    monkeypatch.setattr("minrisk.ensemble.defaults.SMOOTH_ROWS", 0)
    (X, y), (X_test, y_test) = oblique(7, 300, d, K), oblique(8, 2000, d, K)
    pooled, plain, shares = losses(X, y, X_test, y_test)
    assert pooled < 0.7 * plain and shares["linear"] > 0.3


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
