"""Decisions before the last tree: the whole model's where nothing may be given away, whatever costs and rows beside."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_wine

import minrisk
from minrisk import MinRiskClassifier
from minrisk._kernels import predict
from minrisk._kernels.predict import certain, needed_leads
from minrisk.costs import as_cost
from minrisk.ensemble.ensemble import enough
from minrisk.model.additive import AdditiveModel, pack
from minrisk.model.cascade import NEVER, Cascade, DecisionRule, Stages, stage_rounds
from minrisk.model.coded_trees import CodedTrees
from minrisk.model.rounded_vectors import RoundedVectors
from tests.helpers.common import crossed, slow_after
from tests.helpers.walks import random_tree

D = 4


def random_model(rng, K, n_trees=80, leaves=(2, 20), scale=1.0, temperature=1.0, link="softmax"):
    """Trees of vectors in units, of falling lengths, so that some rows are decided before the last."""
    trees = [random_tree(rng, D, int(rng.integers(*leaves)), 5, ones=True) for _ in range(n_trees)]
    vectors = [rng.normal(size=(t.n_vectors, K)) * scale * 0.9**i for i, t in enumerate(trees)]
    rounded = RoundedVectors.of(np.concatenate(vectors), -12)
    return AdditiveModel(pack(trees), rounded, rng.normal(size=K), D, link, 1, temperature)


# -- 64 rows at a time ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n_features", "leaves"), crossed([3, 1, 300], [256, 2, 17, 64, 65, 255, 257, 300, 700]))
def test_trees_of_every_size_give_the_scores_of_walks(leaves, n_features):
    rng = np.random.default_rng(leaves + n_features)
    trees = [random_tree(rng, n_features, leaves, 3, ones=True) for _ in range(9)]
    trees = [t._replace(threshold=np.round(t.threshold * 20) / 20) for t in trees]
    packed = pack(trees)
    for vectors in (rng.normal(size=(27, 11)), RoundedVectors.of(rng.normal(size=(27, 11)), -10)):
        model = AdditiveModel(packed, vectors, np.zeros(11), n_features)
        whole = CodedTrees.of(packed, vectors)
        if whole is None:  # too few trees for so many features
            assert n_features == 300
            continue
        X = np.round(rng.normal(size=(333, n_features)) * 40) / 40  # every other value is on a threshold
        X[::7, 0] = np.nan
        expected = np.zeros((333, 11))
        packed.add_scores(X, np.asarray(vectors), 0, 9, 0, 333, expected)
        for n in (1, 15, 16, 63, 64, 65, 333):
            found = np.zeros((n, 11))
            whole.add_scores(X[:n], 0, n, found)
            np.testing.assert_array_equal(found, expected[:n])
        np.testing.assert_array_equal(model.scores(X), expected)


@given(st.integers(0, 2**32 - 1), st.integers(0, 255), st.integers(0, 70))
@settings(max_examples=30, deadline=None)
def test_lanes_compare_bytes(seed, bin_, offset):
    codes = np.random.default_rng(seed).integers(0, 256, 200).astype(np.uint8)
    word = predict.lanes_above(codes, offset, bin_)
    assert [word >> i & 1 for i in range(64)] == [int(code > bin_) for code in codes[offset : offset + 64]]


# -- bounds --------------------------------------------------------------------------------------------------------------
def test_rises_are_the_largest_differences_of_leaves():
    rng = np.random.default_rng(0)
    model = random_model(rng, 3, 70)
    stages = model._stages
    values, bounds = np.asarray(model.vectors), model.packed.vector_offsets
    for s, end in enumerate(stages.ends):
        for m in range(3):
            for k in range(3):
                most = sum(
                    (values[a:b, k] - values[a:b, m]).max()
                    for a, b in zip(bounds[end:-1], bounds[end + 1 :], strict=True)
                )
                assert stages.rises[s, m, k] == pytest.approx(most, abs=1e-12)


def test_bounds_of_many_classes_take_no_square_of_memory():
    """All decisions are made by all trees where there are more pairs of classes than have room."""
    rng, K = np.random.default_rng(0), 2000
    model = random_model(rng, K, 70)
    X = rng.normal(size=(3, model.n_features))
    whole = model.scores(X).argmax(axis=1)
    tracemalloc.start()
    decided = model.decide(X, DecisionRule.of(None, 1.0, None))
    assert tracemalloc.get_traced_memory()[1] < 8 * K**2
    tracemalloc.stop()
    np.testing.assert_array_equal(decided, whole)


def brute_certain(score, scale, costs, rise, samples, rng):
    """Decisions that remain possible, by drawing what remains."""
    K, found = len(score), set()
    for _ in range(samples):
        end = score + rng.uniform(-1, 1, K) * rise
        p = np.exp(scale * (end - end.max()))
        found.add(int((p[:, None] * costs).sum(axis=0).argmin()))  # equal columns have equal sums
    return found


@pytest.mark.parametrize("seed", slow_after(20, range(60)))
def test_what_is_certain_no_remainder_changes(seed):
    rng = np.random.default_rng(seed)
    K, scale, most = int(rng.integers(2, 5)), rng.uniform(0.3, 2), rng.uniform(0.01, 1.0)
    score, costs = rng.normal(size=K) * 2, rng.uniform(1, 5, (K, int(rng.integers(2, 6)))) * (rng.random((K, 1)) < 0.9)
    costs = costs if seed % 3 else np.hstack([costs, costs[:, ::-1]])  # each decision twice
    odds = np.empty((3, K))
    rise = np.full((K, K), 2 * most)  # each score moves by `most`
    found = certain(score, scale, costs, False, rise, np.inf, odds)
    possible = brute_certain(score, scale, costs, most, 300, rng)
    if found >= 0:
        assert possible == {found}
    plain = certain(score, scale, costs, True, rise, np.inf, odds)
    largest = {int((score + rng.uniform(-1, 1, K) * most).argmax()) for _ in range(300)}
    if plain >= 0:
        assert largest == {plain}
    gaps = np.sort(score)
    assert (plain >= 0) == (gaps[-1] - gaps[-2] > 2 * most + 1e-8 / scale) or abs(gaps[-1] - gaps[-2] - 2 * most) < 1e-6


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize(
    "costs", ["none", "even", "general", "more decisions", "one decision twice", "each decision twice"]
)
@pytest.mark.parametrize("link", ["softmax", "softmax2", "sigmoid2", None])
def test_decisions_are_those_of_all_trees(K, costs, link):
    rng = np.random.default_rng(K)
    model = random_model(rng, K, temperature=0.7, link=link)
    table = {
        "none": None,
        "even": 3 * (1 - np.eye(K)),
        "general": rng.uniform(1, 9, (K, K)) * (1 - np.eye(K)),
        "more decisions": np.hstack([rng.uniform(1, 9, (K, K)) * (1 - np.eye(K)), np.full((K, 1), 0.5)]),
        "one decision twice": np.hstack([1 - np.eye(K), (1 - np.eye(K))[:, :1]]),
        "each decision twice": np.hstack(2 * [rng.uniform(1, 9, (K, K)) * (1 - np.eye(K))]),
    }[costs]
    rule = DecisionRule.of(link, 0.7, None if table is None else as_cost(table, list(range(K))))
    assert rule.is_plain == (costs in ("none", "even") or link is None)
    X = rng.normal(size=(1000, D))
    X[::9, 1] = np.nan
    expected = rule(model.scores(X))
    early = count_trees(model, X, rule)
    np.testing.assert_array_equal(model.decide(X, rule), expected)
    for n in (1, 5, 16, 40, 100):  # a row's decision does not depend on the rows beside it
        np.testing.assert_array_equal(model.decide(X[:n], rule), expected[:n])
    if rule.stops_early:
        assert early < 0.95 * len(model.packed)  # and not all trees were looked at
    if table is not None:
        assert expected.max() < K or costs == "more decisions"  # of decisions that cost the same the first


def count_trees(model, X, rule):
    """Mean number of trees that rows pass, by `decide_rows` itself."""
    stages, passed = model._stages, []
    original = CodedTrees.add_to_many

    def counted(self, codes, n_rows, first, last, sums):
        passed.append(n_rows * (last - first))
        return original(self, codes, n_rows, first, last, sums)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CodedTrees, "add_to_many", counted)
        model.decide(X, rule)
    assert stages is not None
    return sum(passed) / len(X)


def test_few_trees_and_other_vectors_have_no_stages():
    rng = np.random.default_rng(1)
    model = random_model(rng, 3)
    assert isinstance(model._stages, Stages)
    assert replace(model, vectors=np.asarray(model.vectors))._stages is None
    assert model[:20]._stages is None
    again = pickle.loads(pickle.dumps(model))
    assert "_stages" not in vars(again)
    assert list(stage_rounds(3)) == [1, 2] and list(stage_rounds(0)) == [] and stage_rounds(160).tolist()[0] == 10


# -- leads ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("plain", [True, False])
def test_needed_leads_are_where_decisions_become_certain(plain):
    rng = np.random.default_rng(2)
    scores, scale = rng.normal(size=(50, 4)) * 3, 0.8
    costs = 1 - np.eye(4) if plain else rng.uniform(1, 5, (4, 4)) * (1 - np.eye(4))
    decision, needed, odds = np.empty(50, dtype=np.int64), np.empty(50), np.empty((3, 4))
    needed_leads(scores, scale, costs, plain, decision, needed)
    rise = np.full((4, 4), np.inf)
    p = np.exp(scale * scores)
    np.testing.assert_array_equal(decision, (p @ costs).argmin(axis=1))
    for i in range(50):
        below = needed[i] * (1 - 1e-6) - (1e-8 if plain else 0.04)  # found to a thirty-second, rounded up
        assert certain(scores[i], scale, costs, plain, rise, below, odds) == decision[i] or below < 0
        if needed[i] < 9:
            assert certain(scores[i], scale, costs, plain, rise, needed[i] + 1e-6, odds) == -1


def test_costs_that_are_all_alike_decide_for_the_first_and_sigmoids_do_not_stop_early():
    rng = np.random.default_rng(7)
    nothing = as_cost(np.zeros((3, 3)), [0, 1, 2], allow_diagonal=True)
    assert not nothing.is_even and as_cost(2 * (1 - np.eye(3)), [0, 1, 2]).is_even
    model, X = random_model(rng, 3, link="sigmoid2", scale=8.0), rng.normal(size=(400, D))
    for link, costs in (("softmax", nothing), ("sigmoid2", as_cost(1 - np.eye(3), [0, 1, 2]))):
        rule, own = DecisionRule.of(link, 1.0, costs), replace(model, link=link)
        np.testing.assert_array_equal(own.decide(X, rule), rule(own.scores(X)))
        np.testing.assert_array_equal(own.decide(X[:3], rule), rule(own.scores(X[:3])))


def test_enough_gives_away_no_more_than_allowed():
    rng = np.random.default_rng(3)
    for _ in range(50):
        S, n = int(rng.integers(1, 6)), int(rng.integers(1, 200))
        needed = np.sort(rng.exponential(size=(S, n)), axis=0)
        lost = rng.random((S, n)) * (rng.random((S, n)) < np.exp(-needed))
        allowed = rng.uniform(0, 3)
        leads, open_, spent = enough(needed, lost, allowed), np.ones(n, dtype=bool), 0.0
        for s in range(S):
            now = open_ & (needed[s] >= leads[s])
            spent += lost[s, now].sum()
            open_ &= ~now
            assert spent <= (s + 1) / S * allowed + 1e-12
    assert enough(np.array([[1.0, 2.0]]), np.zeros((1, 2)), 1.0).tolist() == [NEVER]  # no row says what is too little


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[::2], y[::2], X[1::2]


@pytest.fixture(scope="module")
def fitted(digits):
    return MinRiskClassifier(random_state=0, pool=False).fit(*digits[:2])


def test_a_fit_learns_a_cascade(fitted, digits):
    cascade, new = fitted.model_.cascade, digits[2]
    assert cascade.rounds.tolist() == stage_rounds(fitted.n_iter_).tolist()
    assert np.all(np.diff(cascade.ending) <= 0.05) and cascade.ending[0] > cascade.ending[-1] >= 0
    assert np.all(np.diff(cascade.temperature) > -0.3) and cascade.temperature[0] < cascade.temperature[-1]
    assert np.all(np.diff(cascade.leads[:, 0]) <= 0)  # a larger excess asks for no larger leads in the first stage
    whole, p = fitted.predict(new), fitted.predict_proba(new)
    least = (1 - p).min(axis=1).sum()
    for excess in (0.0, 0.01, 0.05, 0.5, 1.0):
        early = fitted.predict(new, max_excess=excess)
        cost = (1 - p)[np.arange(len(new)), early].sum()
        assert cost <= (1 + min(excess, 0.05) + 0.03) * least
        np.testing.assert_array_equal(fitted.predict(new[7:10], max_excess=excess), early[7:10])
    np.testing.assert_array_equal(fitted.predict(new), whole)
    with pytest.raises(ValueError, match="max_excess must be a number from 0 to 1"):
        fitted.predict(new, max_excess=2)
    other = np.random.default_rng(0).uniform(1, 9, (10, 10)) * (1 - np.eye(10))
    np.testing.assert_array_equal(fitted.predict(new, cost=other), (p @ other).argmin(axis=1))


def test_where_no_rows_are_left_out_decisions_are_exact(digits):
    model = MinRiskClassifier(random_state=0, pool=False, cv=1, n_estimators=80).fit(*digits[:2])
    assert model.model_.cascade is None
    np.testing.assert_array_equal(model.predict(digits[2]), model.predict(digits[2], max_excess=0.5))
    with pytest.raises(ValueError, match="rows left out"):
        minrisk.compact(model)


def share_of_trees(model, X, **how):
    """The decisions, and the share of the trees that rows pass."""
    passed, original = [], CodedTrees.add_to_many

    def counted(self, codes, n_rows, first, last, sums):
        passed.append(n_rows * (last - first) / len(self))
        return original(self, codes, n_rows, first, last, sums)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CodedTrees, "add_to_many", counted)
        decided = model.predict(X, **how)
    return decided, sum(passed) / X.shape[0]


NOWHERE = {  # the table of docs/fast_decisions.md: what is fitted, and whether bounds still stop rows
    "exponential": ({"surrogate": "exponential"}, False),
    "exponential, uneven costs": (
        {"surrogate": "exponential", "cost": np.arange(1, 101).reshape(10, 10) * (1 - np.eye(10))},
        False,
    ),
    "gll": ({"surrogate": "gll", "cost": 1 - np.eye(10)}, True),
    "no left-out rows": ({"cv": 1}, True),
    "few trees": ({"n_estimators": 15}, False),
}


@pytest.mark.parametrize("what", NOWHERE)
def test_models_for_which_max_excess_does_nothing(what, digits):
    given, stops = NOWHERE[what]
    model = MinRiskClassifier(**{"random_state": 0, "pool": False, "n_estimators": 64, **given}).fit(*digits[:2])
    assert model.model_.n_trees < 64 or what != "few trees"
    check_nothing(model, digits[2], stops)


def test_rows_for_which_max_excess_does_nothing(fitted, digits):
    X, each = digits[2], np.repeat((1 - np.eye(10))[None], len(digits[2]), axis=0)
    assert share_of_trees(fitted, X, max_excess=0.05)[1] < share_of_trees(fitted, X)[1] < 0.95
    check_nothing(fitted, csr_matrix(X), False)
    check_nothing(fitted, X, False, cost=each)
    check_nothing(minrisk.compact(fitted, max_excess=0.05), X, True)


def check_nothing(model, X, stops, **how):
    exact, share = share_of_trees(model, X, **how)
    given_away, same = share_of_trees(model, X, max_excess=0.5, **how)
    np.testing.assert_array_equal(given_away, exact)
    assert same == share and (share < 0.95 if stops else share == pytest.approx(1.0))


def test_costs_are_kept_in_mind():
    X, y = load_wine(return_X_y=True)
    cost = np.array([[0, 1, 30], [1, 0, 1], [9, 1, 0]])
    model = MinRiskClassifier(cost, random_state=0).fit(X[::2], y[::2])
    expected = (model.predict_proba(X[1::2]) @ cost).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X[1::2]), expected)
    each = MinRiskClassifier(random_state=0).fit(X, y, cost=cost[y] * np.random.default_rng(0).uniform(1, 2, (178, 1)))
    assert each.model_.cascade is None


# -- smaller models ------------------------------------------------------------------------------------------------------
def test_compact_keeps_the_first_stage_that_is_cheap_enough(fitted, digits, tmp_path):
    cascade = fitted.model_.cascade
    for stage in (2, 6):
        smaller = minrisk.compact(fitted, max_excess=min(1.0, float(cascade.ending[stage])))
        first = int(np.flatnonzero(cascade.ending <= min(1.0, cascade.ending[stage]))[0])
        assert (
            smaller.n_iter_ == len(smaller.model_) == cascade.rounds[first]
            and len(smaller.train_loss_) == smaller.n_iter_ + 1
        )
        assert smaller.model_.temperature == cascade.temperature[first]
        *_, staged = fitted.model_[: smaller.n_iter_].staged_scores(digits[2])
        np.testing.assert_array_equal(smaller.model_.scores(digits[2]), staged)
        minrisk.save(smaller, tmp_path / "m")
        np.testing.assert_array_equal(minrisk.load(tmp_path / "m").predict(digits[2]), smaller.predict(digits[2]))
    same = minrisk.compact(fitted, max_excess=0.0)
    assert same is not fitted and (same.n_iter_ == fitted.n_iter_ or cascade.ending.min() == 0.0)
    with pytest.raises(ValueError, match="give the model of the fit if this one has been compacted"):
        minrisk.compact(smaller)
    with pytest.raises(TypeError, match="MinRiskClassifier"):
        minrisk.compact(minrisk.REBELClassifier())
    with pytest.raises(TypeError, match=r"got str: load the file, minrisk.compact\(minrisk.load\(path\)\)"):
        minrisk.compact("model.minrisk")
    with pytest.raises(ValueError, match="max_excess"):
        minrisk.compact(fitted, max_excess=-1)


def test_an_empty_cascade_stops_nowhere():
    rng = np.random.default_rng(5)
    model = random_model(rng, 3)
    rounds = stage_rounds(80)
    some = np.full((2, len(rounds)), NEVER)
    cascade = Cascade(rounds, np.array([0.01, 0.1]), some, some[0], some[0])
    assert np.all(cascade.leads_of(0.005) == np.inf) and np.all(cascade.leads_of(1.0) == np.inf)
    rule, X = DecisionRule.of(None, 1.0, None), rng.normal(size=(300, D))
    np.testing.assert_array_equal(replace(model, cascade=cascade).decide(X, rule, 0.5), rule(model.scores(X)))
