"""AdaBoost.MO and AdaBoost.SIP against slow twins, what they reduce to, and output codes."""

from itertools import combinations, product
from math import fsum

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from minrisk import (
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    AdaBoostMOClassifier,
    AdaBoostSIPClassifier,
    MCBoostClassifier,
    PIBoostClassifier,
    REBELClassifier,
    load,
    save,
)
from minrisk.losses.codes import code_loss
from minrisk.model.codes import Decoder, dense, exhaustive, nearest_distance, one_vs_all
from minrisk.rows.costs import RowCosts
from tests.helpers import naive_baselines, naive_codes
from tests.helpers.common import COST, five_points, loss_columns, slow_after
from tests.helpers.common import overlapping as problem
from tests.helpers.walks import answers, rounds

ZERO_ONE = 1 - np.eye(3)
CODE = [[1, 1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, 1]]


# -- AdaBoost.MO -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", slow_after(1, range(3)))
@pytest.mark.parametrize("code", ["exhaustive", CODE], ids=["exhaustive", "table"])
@pytest.mark.parametrize("cost", [ZERO_ONE, COST], ids=["0/1", "costs"])
@pytest.mark.parametrize(("smoothing", "max_depth"), [(1e-3, 2), (0.0, 1)])
def test_adaboost_mo_equals_its_twin(cost, code, seed, smoothing, max_depth):
    """Leaves, losses and decisions of every round, and the first split of each tree."""
    X, y, w = problem(seed)
    model = AdaBoostMOClassifier(cost, code=code, n_estimators=4, max_depth=max_depth, smoothing=smoothing)
    words = model.fit(X, y, sample_weight=w).code_
    f = np.zeros((60, words.shape[1]))
    losses = [naive_codes.bit_loss(cost, y, w, words, f)]
    decided = model.staged_predict(X)
    for tree, leaf, vectors in rounds(model, X):
        merit = naive_codes.bit_merit(cost, y, w, words, f)
        above = X[:, tree.feature[0]] > tree.threshold[0]
        assert merit(above) + merit(~above) == pytest.approx(naive_baselines.best_stump(X, merit)[0], rel=1e-6)
        expected = naive_codes.leaf_bits(cost, y, w, words, f, leaf, smoothing)
        np.testing.assert_allclose(vectors, expected, rtol=1e-7, atol=1e-9)
        f += expected[leaf]
        losses.append(naive_codes.bit_loss(cost, y, w, words, f))
        np.testing.assert_array_equal(next(decided), naive_codes.word_losses(words, f).argmin(axis=1))
    assert model.n_iter_ == 4
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), -np.log(naive_codes.word_losses(words, f)), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_votes_of_adaboost_mo_equal_the_twin(seed):
    """Discrete: the signs of a leaf's sums, one rate 1/2 ln((1 + r) / (1 - r)), the first split of the largest r."""
    X, y, w = problem(seed)
    model = AdaBoostMOClassifier(COST, response="sign", n_estimators=4, smoothing=0.0).fit(X, y, sample_weight=w)
    words, f = model.code_, np.zeros((60, 3))
    for tree, leaf, vectors in rounds(model, X):
        D = naive_codes.bit_terms(COST, y, w, words, f)

        def merit(rows, D=D):
            return fsum(abs(fsum(words[y[rows], bit] * D[rows, bit])) for bit in range(3))

        r = fsum(merit(leaf == j) for j in range(leaf.max() + 1)) / fsum(D.ravel())
        if tree.n_vectors == 2:
            best = naive_baselines.best_stump(X, merit)[0]
            assert merit(leaf == 0) + merit(leaf == 1) == pytest.approx(best, rel=1e-6)
        for j in range(leaf.max() + 1):
            signs = [np.sign(fsum(words[y[leaf == j], bit] * D[leaf == j, bit])) for bit in range(3)]
            np.testing.assert_allclose(vectors[j], 0.5 * np.log((1 + r) / (1 - r)) * np.array(signs), rtol=1e-7)
        f += vectors[leaf]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cost", [ZERO_ONE, COST], ids=["0/1", "costs"])
def test_bits_with_learners_of_their_own_are_as_many_adaboosts(cost, seed):
    """The stump of least weighted error and 1/2 ln((1 - e) / e) for every bit, each with weights of its own."""
    X, y, w = problem(seed)
    model = AdaBoostMOClassifier(cost, code=CODE, response="own", n_estimators=4).fit(X, y, sample_weight=w)
    words, f = model.code_, np.zeros((60, 4))
    tried = [np.where(above, s, -s) for _, _, above in naive_baselines.stumps(X) for s in (1, -1)]
    losses = [np.mean(naive_codes.bit_terms(cost, y, w, words, f).sum(axis=0)) / fsum(w)]
    for scores, decided in zip(model.staged_decision_function(X), model.staged_predict(X), strict=True):
        D = naive_codes.bit_terms(cost, y, w, words, f)
        for bit in range(4):
            errors = [fsum(D[h != words[y, bit], bit]) / fsum(D[:, bit]) for h in tried]
            e = min(errors)
            f[:, bit] += 0.5 * np.log((1 - e) / e) * tried[int(np.argmin(errors))]
        losses.append(np.mean(naive_codes.bit_terms(cost, y, w, words, f).sum(axis=0)) / fsum(w))
        far = naive_codes.word_losses(words, f)
        np.testing.assert_allclose(scores, -np.log(far), rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(decided, far.argmin(axis=1))
    assert model.n_iter_ == 4 and model.model_.trees_per_round == 4
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("response", ["real", "sign"])
def test_a_bit_for_each_class_is_adaboost_mh(response, seed):
    """Vectors, losses, stages and decisions, to the last bit."""
    X, y, w = problem(seed, n=90, K=4)
    how = {"response": response, "n_estimators": 12, "max_depth": 2}
    mo = AdaBoostMOClassifier(code="one-vs-all", **how).fit(X, y, sample_weight=w)
    mh = AdaBoostMHClassifier(**how).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(mo.model_.vectors, mh.model_.vectors)
    np.testing.assert_array_equal(mo.train_loss_, mh.train_loss_)
    np.testing.assert_array_equal(mo.train_risk_, mh.train_risk_)
    for one, other in zip(mo.staged_predict(X), mh.staged_predict(X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(3))
def test_adaboost_mo_of_two_classes_is_adaboost(seed):
    X, y, _ = problem(seed, K=2)
    model = AdaBoostMOClassifier(response="sign", smoothing=0.0, n_estimators=8).fit(X, y)
    assert model.code_.tolist() == [[1], [-1]]
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=8, random_state=0).fit(X, y)
    mh = AdaBoostMHClassifier(response="sign", smoothing=0.0, n_estimators=8).fit(X, y)
    for one, other in zip(model.staged_predict(X), mh.staged_predict(X), strict=True):
        np.testing.assert_array_equal(one, other)
    first = np.abs(np.asarray(model.model_.vectors)[0])
    error = 1 - np.mean(next(peer.staged_predict(X)) == y)  # Gini's stump errs at least as much
    assert first[0] >= 0.5 * np.log((1 - error) / error) * (1 - 1e-9)


@pytest.mark.parametrize("decoding", ["loss", "hamming"])
def test_what_is_shown_during_the_rounds_is_decoded(decoding):
    """Training costs, validated costs and stages are those of the decisions, and so is what early stopping looks at."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    model = AdaBoostMOClassifier(n_estimators=12, decoding=decoding, random_state=0).fit(X, y)
    assert model.code_.shape == (10, 34)
    risks = [np.mean(decided != y) for decided in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_risk_[1:], risks, atol=1e-12)
    stopped = AdaBoostMOClassifier(
        n_estimators=40, decoding=decoding, random_state=0, early_stopping=True, n_iter_no_change=4
    )
    stopped.fit(X, y)
    assert stopped.n_iter_ == np.argmin(stopped.validation_risk_) > 0
    scores = stopped.decision_function(X)
    assert scores.shape == (300, 10)
    np.testing.assert_array_equal(stopped.predict(X), scores.argmax(axis=1))
    np.testing.assert_array_equal(list(stopped.staged_decision_function(X))[-1], scores)
    bits = stopped.model_.intercept + sum(vectors[leaf] for _, leaf, vectors in rounds(stopped, X))
    words = stopped.code_
    far = (
        np.log(naive_codes.word_losses(words, bits)) if decoding == "loss" else naive_codes.different_bits(words, bits)
    )
    np.testing.assert_allclose(scores, -far, rtol=1e-9, atol=1e-9)


def test_rounds_go_on_with_the_words_that_were_drawn():
    X, y = load_wine(return_X_y=True)
    model = AdaBoostMOClassifier(n_estimators=2, code="random", random_state=0, warm_start=True).fit(X, y)
    words = model.code_
    assert not np.array_equal(dense(3, 1), words)
    np.testing.assert_array_equal(model.set_params(n_estimators=4, random_state=1).fit(X, y).code_, words)


def test_a_file_decides_as_the_model_did_whatever_its_parameter_says_now(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = AdaBoostMOClassifier(n_estimators=3, code="random", random_state=0).fit(X[:, :2], y)
    before = model.decision_function(X[:, :2])
    save(model.set_params(decoding="hamming"), tmp_path / "m")
    for one in (model, load(tmp_path / "m")):
        np.testing.assert_array_equal(one.decision_function(X[:, :2]), before)


def test_a_constant_decides_for_the_cheapest_class():
    y = np.repeat(["a", "b", "c"], [5, 20, 10])
    X = np.zeros((35, 2))
    for decoding in ("loss", "hamming"):
        with pytest.warns(UserWarning, match="learnt nothing"):
            model = AdaBoostMOClassifier(decoding=decoding).fit(X, y)
        assert model.n_iter_ == 0 and set(model.predict(X)) == {"b"}
        assert model.train_risk_.tolist() == [pytest.approx(15 / 35)]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ([[1, 1], [-1, 1]], "a row for each of the 3 classes, got 2 rows"),
        ([[1, -1], [-1, 1], [1, -1]], "must differ.*in rows 0 and 2"),
        ([[1, 1, 1, 1], [-1, 1, 1, -1], [1, -1, 1, 1]], "every column.*in column 2"),
        ([[1, 0], [-1, 1], [1, 1]], "code must be one of"),
        ([[1], [-1, 1], [1, 1]], "code must be one of"),
        ("all pairs", "code must be one of"),
        ([], "code must be one of"),
        (np.ones((3, 2, 2)), "code must be one of"),
        ([["1", "a"], ["2", "b"], ["1", "b"]], "code must be one of"),
    ],
)
def test_codes_that_are_none_are_refused(code, message):
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        AdaBoostMOClassifier(code=code).fit(X, y)


def test_more_that_is_refused():
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match="for up to 12 classes, got 13"):
        AdaBoostMOClassifier(code="exhaustive").fit(np.arange(39.0)[:, None], np.arange(39) % 13)
    assert not hasattr(AdaBoostMOClassifier(), "predict_proba")


# -- codes -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("K", [2, 3, 4, 5, 7])
def test_an_exhaustive_code_has_every_partition_once(K):
    words = exhaustive(K)
    assert words.shape == (K, 2 ** (K - 1) - 1) and np.all(words[0] == 1)
    partitions = {frozenset(np.flatnonzero(bit > 0).tolist()) for bit in words.T}
    everything = {frozenset({0, *others}) for n in range(K - 1) for others in combinations(range(1, K), n)}
    assert partitions == everything
    assert nearest_distance(words) == 2 ** (K - 2)  # any two classes are parted by half of all partitions


@pytest.mark.parametrize("K", [2, 6, 26])
def test_a_dense_code_is_the_best_of_many_draws(K):
    words = dense(K, 1)
    assert words.shape == (K, int(np.ceil(10 * np.log2(K)))) and set(np.unique(words)) == {-1, 1}
    assert np.all(np.abs(words.sum(axis=0)) < K)
    near = min(np.sum(one != other) for one, other in combinations(words, 2))
    assert nearest_distance(words) == near
    rng = np.random.default_rng(0)
    others = [nearest_distance(rng.choice([-1.0, 1.0], words.shape)) for _ in range(200)]
    assert near >= max(others)
    np.testing.assert_array_equal(words, dense(K, 1))
    assert K == 2 or not np.array_equal(words, dense(K, 2))


def test_hundreds_of_classes_have_a_code_at_once():
    words = dense(300, 0)
    assert words.shape == (300, 83) and nearest_distance(words) > 10


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 30.0, 300.0, 800.0, 1e5])
def test_decoders_equal_their_formulas_at_any_size(size):
    rng = np.random.default_rng(3)
    words = np.array(CODE, dtype=np.int8)
    bits = size * np.r_[rng.normal(size=(40, 4)), words]
    found = Decoder(words).decoded(bits)
    exact = [[float(-np.logaddexp.reduce(-word * row)) for word in words] for row in bits]
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)
    if size > 1e-3:
        np.testing.assert_array_equal(found[-3:].argmax(axis=1), range(3))
    np.testing.assert_array_equal(Decoder(words, "hamming").decoded(bits), -naive_codes.different_bits(words, bits))


def test_rows_are_decoded_alike_whatever_stands_beside_them():
    from minrisk._utils.workers import Workers

    rng = np.random.default_rng(0)
    decoder, bits = Decoder(one_vs_all(5).astype(np.int8)), rng.normal(size=(5000, 5))
    with Workers(3) as workers:
        whole = decoder.decoded(bits, workers)
    np.testing.assert_array_equal(whole, np.concatenate([decoder.decoded(bits[i : i + 7]) for i in range(0, 5000, 7)]))
    np.testing.assert_array_equal(whole.argmax(axis=1), bits.argmax(axis=1))


def test_the_loss_of_bits_has_the_slopes_that_differences_have():
    """Gradient and Hessian against five-point differences of b exp(-word f), with costs per row."""
    rng = np.random.default_rng(0)
    y, w, f = rng.integers(0, 3, 20).astype(np.int32), rng.uniform(0.5, 2, 20), rng.normal(size=(20, 4))
    words, cost = np.array(CODE, dtype=np.int8), rng.uniform(0.1, 2.0, (20, 3))
    cost[np.arange(20), y] = 0.0
    costs = RowCosts(cost, np.arange(20, dtype=np.int32), w, y)
    columns = loss_columns(costs.read_only(), f, 0.3)
    top, gradient, hessian = (
        code_loss(words).for_costs(costs).gradients(columns, 0, 20),
        columns.gradient,
        columns.hessian,
    )

    def values(f):
        b = np.array([naive_codes.bit_weights([cost[i]] * 3, y[i : i + 1], w[i : i + 1], words)[0] for i in range(20)])
        return b * np.exp(-words[y] * f - 0.3)

    value, first, _ = five_points(lambda t: values(f + t))
    np.testing.assert_allclose(gradient, -first, atol=1e-7)
    np.testing.assert_allclose(hessian, value, rtol=1e-12)
    np.testing.assert_array_equal(top, [np.abs(gradient).max(axis=0)] * 3)


# -- AdaBoost.SIP ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cost", "smoothing", "seed"),
    slow_after(
        2,
        [
            (np.c_[COST, [1, 1, 2]], 1e-3, 0),
            (ZERO_ONE, 0.0, 0),
            (COST, 1e-3, 0),
            (COST, 0.0, 1),
            (ZERO_ONE, 1e-3, 1),
            (np.c_[COST, [1, 1, 2]], 0.0, 1),
        ],
    ),
)
def test_adaboost_sip_equals_its_twin(cost, seed, smoothing):
    """The pair of stump and partition of the steepest slope, its step, and the losses."""
    X, y, w = problem(seed, n=40)
    model = AdaBoostSIPClassifier(cost, n_estimators=4, smoothing=smoothing).fit(X, y, sample_weight=w)
    H = np.zeros((40, cost.shape[1]))
    losses = [fsum(naive_baselines.pair_terms(cost, y, w, H).ravel()) / fsum(w)]
    seen = set()
    for tree, _, vectors in rounds(model, X):
        found, colours = answers(tree, X), np.sign(vectors[0])
        best = naive_codes.steepest(cost, y, w, X, H)
        assert naive_codes.slope(cost, y, w, H, found, colours) == pytest.approx(best[0], rel=1e-9)
        g = naive_codes.partition_rate(cost, y, w, H, found, colours, smoothing)
        np.testing.assert_allclose(vectors, [0.5 * g * colours], rtol=1e-7)
        H += 0.5 * g * np.outer(found, colours)
        losses.append(fsum(naive_baselines.pair_terms(cost, y, w, H).ravel()) / fsum(w))
        seen.add(tuple(colours * colours[0]))
    assert model.n_iter_ == 4 and len(seen) > 1
    np.testing.assert_allclose(model.train_loss_, losses, rtol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), H, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", slow_after(1, range(2)))
def test_no_partition_that_is_drawn_is_steeper(seed):
    """The slope at the start against that of AdaBoost.ECC's first learners, and of all partitions with all stumps."""
    X, y, w = problem(seed, n=50, K=4)
    C, H = 1 - np.eye(4), np.zeros((50, 4))
    tree, _, vectors = next(rounds(AdaBoostSIPClassifier(n_estimators=1).fit(X, y, sample_weight=w), X))
    own = naive_codes.slope(C, y, w, H, answers(tree, X), np.sign(vectors[0]))
    for draw in range(8):
        ecc = AdaBoostECCClassifier(n_estimators=6, random_state=draw).fit(X, y, sample_weight=w)
        _, leaf, vectors = next(rounds(ecc, X))
        colours = np.sign(vectors[np.argmax(np.abs(vectors[:, 0]))])
        for sides in product((-1.0, 1.0), repeat=2):
            assert naive_codes.slope(C, y, w, H, np.array(sides)[leaf], colours) <= own * (1 + 1e-12)
    assert own == pytest.approx(naive_codes.steepest(C, y, w, X, H)[0], rel=1e-9)


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
def test_deeper_trees_have_the_partition_that_they_prefer(seed):
    """Steeper than the stump, no partition is better for the tree, and the step is that of the formula."""
    X, y, w = problem(seed, n=40)
    H = np.zeros((40, 3))
    model = AdaBoostSIPClassifier(COST, n_estimators=3, max_depth=3).fit(X, y, sample_weight=w)
    for tree, _, vectors in rounds(model, X):
        found, colours = answers(tree, X), np.sign(vectors[0])
        own = naive_codes.slope(COST, y, w, H, found, colours)
        every = [naive_codes.slope(COST, y, w, H, found, mu) for mu in product((-1.0, 1.0), repeat=3)]
        assert own == pytest.approx(max(every), rel=1e-9)
        assert own > naive_codes.steepest(COST, y, w, X, H)[0]
        g = naive_codes.partition_rate(COST, y, w, H, found, colours, 1e-3)
        np.testing.assert_allclose(vectors, [0.5 * g * colours], rtol=1e-7)
        H += 0.5 * g * np.outer(found, colours)
    assert max(tree.depth for tree in model.model_.learners) > 1


def test_importances_of_adaboost_sip_are_shares():
    X, y, _ = problem(0)
    model = AdaBoostSIPClassifier(n_estimators=6, max_depth=2).fit(X, y)
    falls = 1 - model.train_loss_[1:] / model.train_loss_[:-1]
    np.testing.assert_allclose([tree.gain.sum() for tree in model.model_.learners], falls, rtol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


# -- fits that learn nothing -------------------------------------------------------------------------------------------
def noise(n=60, K=3):
    return np.random.default_rng(0).normal(size=(n, 2)), np.arange(n) % K


def rare():
    """A class of one row in 30, which a stump does not find."""
    return np.random.default_rng(0).normal(size=(300, 2)), (np.arange(300) % 30 == 0).astype(int)


@pytest.mark.parametrize(
    ("model", "data", "why"),
    [
        (PIBoostClassifier(n_estimators=3), (np.zeros((60, 2)), np.arange(60) % 3), "no learner of the first round"),
        (REBELClassifier(n_estimators=3), (np.zeros((60, 2)), np.arange(60) % 3), "no learner of the first round"),
        (AdaBoostMHClassifier(n_estimators=3, early_stopping=True, random_state=6), noise(), "rows set apart"),
        (REBELClassifier(n_estimators=3, target_loss=9.0), noise(), "below its target"),
        (MCBoostClassifier(n_estimators=2, loss="gel", learning_rate=1e300), noise(), "beyond what a number holds"),
    ],
)
def test_a_fit_that_learnt_nothing_says_why(model, data, why):
    name = type(model).__name__
    with pytest.warns(UserWarning, match=f"^{name} has learnt nothing, and answers all rows alike: .*{why}") as told:
        model.fit(*data)
    assert model.n_iter_ == 0 and len(set(model.predict(data[0]))) == 1
    assert len(told) == 1 and told[0].filename == __file__


def test_rounds_that_cost_more_than_one_decision_for_all_are_kept_and_told():
    X, y = rare()
    model = REBELClassifier(n_estimators=2, max_depth=1, learning_rate=0.01, fit_intercept=False)
    message = (
        r"REBELClassifier has decisions about the training rows that cost 0\.\d+ on average after 2 rounds, where one "
        r"decision for all costs 0\.03333: early_stopping=True keeps"
    )
    with pytest.warns(UserWarning, match=message):
        model.fit(X, y)
    assert model.n_iter_ == 2 and len(model.train_risk_) == 3


def test_where_one_decision_is_the_best_for_all_rows_nothing_is_said(recwarn):
    X, y = noise()
    model = REBELClassifier([[0, 1, 1], [0, 0, 1], [0, 2, 0]], n_estimators=3).fit(X, y)
    assert model.n_iter_ == 0 and not len(recwarn)
