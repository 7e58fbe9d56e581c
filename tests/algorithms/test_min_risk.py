"""The flagship: decisions under stated and other costs, choice of the surrogate, model file, determinism."""

import time

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, train_test_split

import minrisk
from minrisk import MinRiskClassifier
from minrisk.costs import uniform, with_reject
from minrisk.ensemble.defaults import (
    CHECKPOINT_RATIO,
    FIRST_CHECKPOINT,
    GRACE_ROUNDS,
    LAST_ROUNDS,
    LEAST_FALL,
    PATIENCE,
    SLOW_START,
)
from minrisk.ensemble.folds import fold_numbers
from minrisk.ensemble.members import out_of_fold
from tests.helpers.common import slow_after, without_kinds

COST_TRAINED = ("coupled", "gll", "gel")
POSTERIOR = ("softmax", "exponential")
TREES = ("plain", "random", "gentle")  # kinds of trees
VARIANTS = (*TREES, "logistic", "smooth")  # the last two beside softmax


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)


@pytest.fixture(scope="module")
def fitted(digits):
    X, _, y, _ = digits
    return MinRiskClassifier(random_state=0, n_estimators=60).fit(X, y)


def graded(K, seed=0):
    table = np.random.default_rng(seed).uniform(1, 10, (K, K))
    np.fill_diagonal(table, 0)
    return table


def test_learns_and_is_calibrated(fitted, digits):
    _, X, _, y = digits
    p = fitted.predict_proba(X)
    assert fitted.score(X, y) > 0.95
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert -np.log(p[np.arange(len(y)), y]).mean() < 0.2
    assert abs(p.max(axis=1).mean() - (p.argmax(axis=1) == y).mean()) < 0.05  # neither too sure nor too modest


def test_decides_by_least_expected_cost(digits):
    X, X_test, y, _ = digits
    cost = graded(10)
    model = MinRiskClassifier(cost, random_state=0, n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(model.predict(X_test), (model.predict_proba(X_test) @ cost).argmin(axis=1))
    *_, last = model.staged_predict(X_test)
    np.testing.assert_array_equal(last, model.predict(X_test))


def test_other_costs_without_a_new_fit(fitted, digits):
    X, X_test, y, _ = digits
    cost = graded(10)
    again = MinRiskClassifier(cost, random_state=0, n_estimators=60).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X_test, cost=cost), again.predict(X_test))
    np.testing.assert_array_equal(again.predict(X_test, cost=uniform(10)), fitted.predict(X_test))


def test_costs_of_each_row(fitted, digits):
    _, X, _, _ = digits
    X = X[:50]
    costs = np.stack([graded(10, seed) for seed in range(50)])
    one_by_one = [fitted.predict(x[None], cost=cost)[0] for x, cost in zip(X, costs, strict=True)]
    np.testing.assert_array_equal(fitted.predict(X, cost=costs), one_by_one)
    for wrong, told in (
        (costs[:, :3], r"got \(50, 3, 10\); .* a row for every class"),
        (costs[:-1], r"expected shape \(50, 10, 10\), .* got \(49, 10, 10\); give exactly these rows a matrix each"),
        (costs[:, :, :3], r"got \(50, 10, 3\); .* a column for every decision"),
        (
            np.full_like(costs, np.nan),
            r"cost\[0, 0, 0\] must be a finite number, got nan: give the cost that is missing",
        ),
    ):
        with pytest.raises(ValueError, match=told):
            fitted.predict(X, cost=wrong)


def test_methods_that_take_no_costs_say_what_takes_them(fitted, digits):
    _, X, _, _ = digits
    with pytest.raises(
        TypeError, match=r"^predict_proba takes no cost, .* give costs to predict, as predict\(X, cost=C\)"
    ):
        fitted.predict_proba(X, cost=graded(10, 0))
    with pytest.raises(TypeError, match=r"^decision_function takes no cost, .* as predict\(X, cost=C\)"):
        fitted.decision_function(X, cost=graded(10, 0))
    with pytest.raises(TypeError, match=r"^staged_predict_proba takes no cost, because probabilities do not depend on"):
        next(fitted.staged_predict_proba(X, cost=graded(10, 0)))


def test_refers_when_that_is_cheaper(digits):
    X, X_test, y, y_test = digits
    shares = []
    for price in (1e-6, 0.2, 1.0):
        cost = with_reject(uniform(10), price)
        model = MinRiskClassifier(cost, random_state=0, n_estimators=30).fit(X, y)
        decisions = model.predict(X_test)
        assert len(model.decisions_) == 11
        shares.append(np.mean([d == model.decisions_[-1] for d in decisions]))
    assert shares[0] > 0.9 > shares[1] > 0.0 == shares[2]


@pytest.mark.parametrize("surrogate", [*POSTERIOR, *COST_TRAINED])
def test_every_surrogate_with_a_refer_decision(surrogate, digits, tmp_path):
    X, X_test, y, y_test = digits
    cost = with_reject(minrisk.CostMatrix(graded(10)), 2.0)
    model = MinRiskClassifier(cost, surrogate=surrogate, random_state=0, n_estimators=25).fit(X, y)
    constant = minrisk.metrics.best_constant_cost(y_test, model.cost_)
    assert minrisk.metrics.expected_cost(y_test, model.predict(X_test), model.cost_) < 0.4 * constant
    minrisk.save(model, tmp_path / "m")
    loaded = minrisk.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(X_test), model.predict(X_test))
    assert loaded.surrogate_ == surrogate and {t["surrogate"] for t in loaded.selection_} == {surrogate}
    assert max(t["n_rounds"] for t in loaded.selection_ if t["share"] > 0) == loaded.n_iter_ == model.n_iter_
    assert hasattr(model, "predict_proba") == (surrogate in POSTERIOR)


@pytest.mark.parametrize("surrogate", COST_TRAINED)
def test_cost_trained_surrogates_know_one_cost(surrogate, digits):
    X, _, y, _ = digits
    model = MinRiskClassifier(graded(10), surrogate=surrogate, random_state=0, n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="surrogate='softmax' or 'exponential'"):
        model.predict(X, cost=uniform(10))
    with pytest.raises(AttributeError):
        model.predict_proba(X)


@pytest.mark.parametrize("surrogate", COST_TRAINED)
def test_surrogates_trained_on_costs_per_row(surrogate, digits):
    X, X_test, y, y_test = digits
    rows = graded(10)[y] * np.linspace(0.5, 2, len(y))[:, None]
    model = MinRiskClassifier(surrogate=surrogate, random_state=0, n_estimators=30).fit(X, y, cost=rows)
    assert model.surrogate_ == surrogate and model.cost_ is None and model.cost_regression_ is None
    assert np.mean(model.predict(X_test) == y_test) > 0.85


@pytest.mark.parametrize("pool", slow_after(1, [True, False]))
def test_auto_tries_more_within_a_budget(pool, digits, processor_clock):
    X, _, y, _ = digits
    options = {"random_state": 0, "n_estimators": 5, "pool": pool}
    one = MinRiskClassifier(**options).fit(X, y)
    assert {tried["surrogate"] for tried in one.selection_} == {"softmax"}
    all_of_them = MinRiskClassifier(graded(10), time_budget=4.0, **options).fit(X, y)
    tried = all_of_them.selection_
    assert list(dict.fromkeys(t["surrogate"] for t in tried)) == list(POSTERIOR)
    assert all_of_them.surrogate_ == min(tried, key=lambda t: t["pooled_risk"])["surrogate"]
    if not pool:
        assert {t["variant"] for t in tried} <= {"plain", "varied"}
    start = time.perf_counter()
    MinRiskClassifier(time_budget=0, **options).fit(X, y)
    assert time.perf_counter() - start < 60


@pytest.mark.parametrize("surrogate", [*POSTERIOR, *COST_TRAINED])
@pytest.mark.parametrize("pool", [True, False])
def test_a_line_for_every_candidate(surrogate, pool, digits):
    X, _, y, _ = digits
    model = MinRiskClassifier(graded(10), surrogate=surrogate, pool=pool, random_state=0, n_estimators=10).fit(X, y)
    lines = model.selection_
    assert all(line["surrogate"] == surrogate and line["seconds"] > 0 and 0 <= line["n_rounds"] <= 10 for line in lines)
    assert sum(line["share"] for line in lines) == pytest.approx(1)
    assert len({line["pooled_risk"] for line in lines}) == 1 and all(0 < line["risk"] < 10 for line in lines)
    if pool and surrogate in POSTERIOR:
        expected = VARIANTS if surrogate == "softmax" else TREES
        assert sorted(line["variant"] for line in lines) == sorted(expected) and lines[0]["variant"] == "plain"
    else:
        assert [(line["variant"], line["share"]) for line in lines] == [("plain", 1.0)]
        if surrogate in COST_TRAINED:
            assert lines[0]["risk"] == lines[0]["pooled_risk"]
        else:  # which has a shift of each class beside the temperature
            assert lines[0]["risk"] == pytest.approx(lines[0]["pooled_risk"], rel=0.1)
        assert model.model_.projection is None and model.model_.trees_per_round == 4


def noisy():
    """Three classes along one feature, two rows of five at random."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    return X, np.where(rng.random(300) < 0.4, rng.integers(0, 3, 300), np.digitize(X[:, 0], [-0.5, 0.5]))


@pytest.fixture
def checkpoints(monkeypatch):
    """Round and scores of left-out rows at each checkpoint of the plain members, with the rows themselves."""
    seen = []

    def noted(folded, members, n_rounds, link=None):
        held = out_of_fold(folded, members, n_rounds, link)
        seen.append((n_rounds, held._scores.astype(float), folded))
        return held

    monkeypatch.setattr("minrisk.ensemble.members.out_of_fold", noted)
    return seen


def told_rounds(checkpoints):
    """Rounds, log-losses and the last round that was better than the one before by more than chance, by SciPy and NumPy."""
    starts = [i for i, (number, _, _) in enumerate(checkpoints) if number == 0]
    first = checkpoints[: [*starts, len(checkpoints)][1]]  # those of plain members
    folded = first[0][2]
    label, folds = folded.stated.label, folded.folds
    counts = np.bincount(label) - np.array(
        [np.bincount(label[folds == k], minlength=label.max() + 1) for k in range(4)]
    )
    base = log_softmax(np.log(counts + 0.5), axis=1)[folds]

    def losses(scores, weight):
        return -log_softmax(base + weight * scores, axis=1)[np.arange(len(label)), label]

    means, chosen = [], None
    for number, scores, _ in first:
        weight = minimize_scalar(lambda w, g=scores: losses(g, w).sum(), bounds=(0, 50), options={"xatol": 1e-6}).x
        of_rows = losses(scores, weight)
        means.append(of_rows.mean())
        gain = 0.0 if chosen is None else chosen[1] - of_rows
        if (
            chosen is None
            or gain.sum() > np.sqrt(np.sum(gain**2))
            or (chosen[0] and gain.sum() > LEAST_FALL * chosen[1].sum())
        ):
            chosen = number, of_rows
    return np.array([number for number, _, _ in first]), np.array(means), chosen[0]


def last_of(first, n=300):
    """Rounds on all of so many rows, to the nearest number."""
    return int(first * LAST_ROUNDS * n / (n + 100) + 0.5)


def test_rounds_are_chosen_on_left_out_rows(checkpoints, monkeypatch):
    monkeypatch.setattr("minrisk.ensemble.defaults.FINISHED_EXCESS", -1.0)  # all of them are kept
    X, y = noisy()
    model = MinRiskClassifier(random_state=0, pool=False, learning_rate=0.1).fit(X, y)
    rounds, losses, first = told_rounds(checkpoints)
    np.testing.assert_array_equal(model.validation_loss_[:, 0], rounds)
    np.testing.assert_allclose(model.validation_loss_[:, 1], losses, rtol=2e-5)
    assert 0 < first < rounds[-1] < 200  # patience ended before n_estimators
    assert rounds[-2] <= PATIENCE * first + GRACE_ROUNDS < rounds[-1]
    assert model.n_iter_ == first + last_of(first) > first
    assert len(model.train_loss_) == model.n_iter_ + 1


@pytest.mark.parametrize("caution", [0.5, 0.0])
@pytest.mark.slow
def test_what_left_out_rows_say_is_not_lost(caution, monkeypatch):
    """Little noise: the rows that a member has not seen are a quarter of what there is to know.

    One draw of 500 rows may say otherwise by chance, so the mean of several must be above its error.
    """
    monkeypatch.setattr("minrisk.ensemble.defaults.CAUTION", caution)
    monkeypatch.setattr("minrisk.ensemble.training.finished", lambda ensemble, ended: (ended, ensemble))
    without_kinds(monkeypatch, "logistic", "smooth")
    X, y = load_digits(return_X_y=True)
    losses = []
    for share in (LAST_ROUNDS, 0.0):
        monkeypatch.setattr("minrisk.ensemble.defaults.LAST_ROUNDS", share)
        losses.append([])
        for seed in range(6):
            parts = train_test_split(X, y, train_size=500, random_state=seed, stratify=y)
            model = MinRiskClassifier(random_state=0).fit(parts[0], parts[2])
            losses[-1].append(log_loss(parts[3], model.predict_proba(parts[1])))
    gains = np.log(losses[1]) - np.log(losses[0])
    assert gains.mean() > 0.01 and gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains))


@pytest.mark.parametrize("surrogate", ["auto", "exponential"])
def test_no_left_out_mistake_is_no_certainty(surrogate):
    """Two features that tell three classes apart without a mistake: 90 rows cannot say what one in a million does."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.column_stack([y, -y]) + rng.uniform(-0.3, 0.3, (90, 2))
    model = MinRiskClassifier(surrogate=surrogate, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert np.all(p.argmax(axis=1) == y) and 1e-4 < np.mean(1.0 - p.max(axis=1)) < 0.05


@pytest.mark.parametrize("surrogate", ["auto", "exponential"])
@pytest.mark.parametrize("n", [20, 40, 100])
@pytest.mark.parametrize("seed", range(4))
def test_two_classes_far_apart_are_no_certainty(surrogate, n, seed):
    """Ten deviations apart: of n rows without a mistake others have 1 / (2 n + 1) or so, and not 1e-17."""
    rng, y = np.random.default_rng(seed), np.arange(n) % 2
    X = 10 * y[:, None] + rng.normal(size=(n, 2))
    p = MinRiskClassifier(surrogate=surrogate, random_state=seed).fit(X, y).predict_proba(X)
    assert np.all(p.argmax(axis=1) == y) and 0.1 / n < p.min(axis=1).mean() < 2 / n


def test_two_rows_a_class_of_noise_say_little():
    losses = []
    for seed in range(20):
        rng, y, new = np.random.default_rng(seed), np.arange(4) % 2, np.arange(100) % 2
        model = MinRiskClassifier(random_state=seed).fit(rng.normal(size=(4, 3)), y)
        losses.append(log_loss(new, model.predict_proba(rng.normal(size=(100, 3)))))
    assert np.mean(losses) < 2  # of certainties 10 and more


def test_a_slow_start_is_waited_for(checkpoints):
    """Ten of 300 features say something: the log-loss of left-out rows does not fall in the first rounds."""
    X, y = make_classification(150, 300, n_informative=10, n_classes=3, random_state=85)
    model = MinRiskClassifier(random_state=0, max_leaf_nodes=8, pool=False)
    rounds, loss = model.fit(X[:90], y[:90]).validation_loss_.T
    early = (rounds > 0) & (rounds <= 2 * FIRST_CHECKPOINT)
    assert early.sum() > 1 and np.all(loss[early] > 0.99 * loss[0])
    assert told_rounds(checkpoints)[2] > 2 * FIRST_CHECKPOINT


@pytest.mark.slow
def test_weak_signals_in_many_features_add_up():
    """Twenty of 1000 features are shifted by one deviation in one class of four: with 8 leaves in a tree 43 % are wrong, with 16 32 %."""
    rng, errors = np.random.default_rng(2), []
    for seed in range(4):
        X, y = rng.normal(size=(200, 1000)), np.arange(200) % 4
        X[:, :20] += y[:, None] == np.arange(20) % 4
        model = MinRiskClassifier(random_state=seed, n_jobs=2).fit(X[:120], y[:120])
        errors.append(1 - model.score(X[120:], y[120:]))
    assert np.mean(errors) < 0.38


def beyond(p, shares):
    """Mean log-loss of probabilities beyond that of the shares, where these are the truth."""
    return np.mean(np.log(shares / p) @ shares)


@pytest.mark.filterwarnings("ignore:MinRiskClassifier has learnt nothing")
def test_features_that_say_nothing_are_given_up():
    given_up, losses = 0, []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(400, 5)), rng.integers(0, 3, 400)
        model = MinRiskClassifier(random_state=0, pool=False).fit(X, y)
        rounds = model.validation_loss_[:, 0]
        losses.append(beyond(model.predict_proba(rng.normal(size=(1000, 5))), np.full(3, 1 / 3)))
        if model.n_iter_ == 0:
            given_up += 1
            assert SLOW_START < rounds[-1] <= CHECKPOINT_RATIO * SLOW_START + 1
    assert given_up >= 4 and np.mean(losses) < 0.01  # half a standard error is soon exceeded, but weights are small


@pytest.mark.filterwarnings("ignore:MinRiskClassifier has learnt nothing")
@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize("surrogate", POSTERIOR)
@pytest.mark.parametrize("seed", [0, 3])
def test_features_that_say_nothing_leave_the_class_frequencies(seed, surrogate, pool):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(400, 5)), rng.choice(4, 400, p=[0.5, 0.35, 0.1, 0.05])
    model = MinRiskClassifier(random_state=0, surrogate=surrogate, pool=pool).fit(X, y, sample_weight=np.full(400, 3.0))
    p, shares = model.predict_proba(X), np.bincount(y) / 400
    if seed == 0:  # of which rounds are better by half a standard error
        assert beyond(model.predict_proba(rng.normal(size=(1000, 5))), shares) < 0.01
    else:
        np.testing.assert_allclose(p, np.tile(shares, (400, 1)), atol=0.003)
        assert model.n_iter_ == 0 and all(line["share"] == 0 for line in model.selection_[1:])
        if surrogate == "softmax":
            assert model.train_loss_ == pytest.approx([-shares @ np.log(shares)], rel=1e-3)
    expected = set(VARIANTS if surrogate == "softmax" else TREES) if pool else {"plain"}
    assert {line["variant"] for line in model.selection_} == expected
    assert np.all(model.predict(X) == 0)


def test_boundaries_are_sharp():
    """A chessboard of three colours: with a bin for 64 rows the error was 7 %."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 8, (4000, 2))
    y = X.astype(int).sum(axis=1) % 3
    assert MinRiskClassifier(random_state=0).fit(X[:2800], y[:2800]).score(X[2800:], y[2800:]) > 0.95


@pytest.mark.parametrize("surrogate", ["auto", "exponential", "coupled", "gll", "gel"])
@pytest.mark.parametrize("K", [2, 3, 5])
def test_of_one_row_of_each_class_next_to_nothing_is_known(surrogate, K):
    X, y = np.random.default_rng(0).normal(size=(K, 2)), np.arange(K)
    plain = 1.0 - np.eye(K)
    for cost, decided in (
        (None, y),
        (np.c_[plain, np.full(K, 0.1)], np.full(K, -1)),  # so "refer" is cheapest
        (np.where(y[:, None] == 0, 50 * plain, plain), np.zeros(K)),  # and what avoids the dear mistake
    ):
        np.testing.assert_array_equal(
            MinRiskClassifier(cost, surrogate=surrogate, random_state=0).fit(X, y).predict(X), decided
        )


def test_few_rows_have_few_bins_leaves_and_members():
    X, y = (part[:176] for part in noisy())  # 132 rows for each member, and less than 180 in its last rounds
    few = {"random_state": 0, "n_estimators": 10, "pool": False}
    usual = MinRiskClassifier(**few).fit(X, y)
    told = MinRiskClassifier(**few, max_bins=16, cv=4, max_leaf_nodes=8).fit(X, y)
    np.testing.assert_array_equal(usual.predict_proba(X), told.predict_proba(X))
    more = MinRiskClassifier(**few, max_bins=256).fit(X, y)
    assert not np.array_equal(usual.predict_proba(X), more.predict_proba(X))


def table_of_rules(seed):
    """Boundaries between two bins of 51."""
    rng = np.random.default_rng(seed)
    X = rng.random((4000, 10))
    y = np.where((X[:, 0] > 0.9) & (X[:, 1] > 0.7), 1, 0)
    y[X[:, 2] < 0.05] = 2
    return X, y, 2400


def sums_of_tables(seed):
    """Classes by a sum of two tables of two features each, without noise, on features of few values."""
    X = np.random.default_rng(seed).integers(0, 4, (1800, 6)).astype(float)
    sums = np.minimum(X[:, 0], X[:, 1]) + np.maximum(X[:, 2], X[:, 3]) + 0.5 * X[:, 4]
    return X, np.searchsorted([3, 4, 5], sums), 900


@pytest.mark.parametrize(("make", "score"), slow_after(1, [(table_of_rules, 0.996), (sums_of_tables, 0.98)]))
def test_gentle_members_know_rules(make, score):
    """Their own decisions are wrong less often than those of plain members, and so are the pool's."""
    errors = []
    for seed in (5, 27, 28):
        X, y, n = make(seed)
        model = MinRiskClassifier(random_state=0).fit(X[:n], y[:n])
        lines = {line["variant"]: line for line in model.selection_}
        assert lines["gentle"]["share"] > 0.0 and lines["gentle"]["risk"] < 0.7 * lines["plain"]["risk"]
        alone = MinRiskClassifier(random_state=0, pool=False).fit(X[:n], y[:n])
        errors.append([1 - one.score(X[n:], y[n:]) for one in (model, alone)])
    pooled, plain = np.mean(errors, axis=0)
    assert pooled < 1 - score and pooled < 0.7 * plain


def test_a_pool_has_the_rounds_of_the_longest_of_its_members(checkpoints, monkeypatch):
    monkeypatch.setattr("minrisk.ensemble.defaults.FINISHED_EXCESS", -1.0)  # all of them are kept
    X, y = noisy()
    model = MinRiskClassifier(random_state=0).fit(X, y)
    rounds, losses, first = told_rounds(checkpoints)
    plain = model.selection_[0]
    np.testing.assert_allclose(model.validation_loss_.T, [rounds, losses], rtol=1e-5)
    last = last_of(first) * (plain["share"] > 0)  # only those of a part go on
    assert plain["variant"] == "plain" and plain["n_rounds"] == first + last
    boosted = [line for line in model.selection_ if line["share"] > 0 and line["variant"] in TREES]
    assert model.n_iter_ == max(line["n_rounds"] for line in boosted)
    assert len(model.train_loss_) == model.n_iter_ + 1


def test_few_rows_take_the_short_way(fitted, digits):
    _, X, _, _ = digits
    p = fitted.predict_proba(X)
    for rows in (X[:1], X[:16], X[:17]):
        np.testing.assert_array_equal(fitted.predict_proba(rows), p[: len(rows)])
        np.testing.assert_allclose(fitted.predict_proba(rows.astype(np.float32)), p[: len(rows)])
    with pytest.raises(ValueError, match="finite numbers, got inf in column 0"):
        fitted.predict(np.full((1, 64), np.inf))
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:1, :5])


def test_classes_of_one_row_and_tiny_data():
    X, y = load_wine(return_X_y=True)
    rare = np.r_[np.flatnonzero(y == 0)[:20], np.flatnonzero(y == 1)[:20], np.flatnonzero(y == 2)[:1]]
    model = MinRiskClassifier(random_state=0, n_estimators=20).fit(X[rare], y[rare])
    assert model.predict_proba(X).shape == (178, 3) and np.all(np.isfinite(model.predict_proba(X)))
    two = MinRiskClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert list(two.predict([[0.0], [1.0]])) == ["a", "b"]


@pytest.mark.parametrize("pool", [True, False])
def test_rows_that_cannot_judge(pool):
    """A class of equal rows is in one fold: the member that leaves it out does not know it."""
    y = np.repeat(np.arange(4), [10, 20, 30, 40])
    nothing = MinRiskClassifier(random_state=0, pool=pool).fit(np.full((100, 2), np.nan), y)
    np.testing.assert_allclose(nothing.predict_proba(np.zeros((1, 2)))[0], [0.1, 0.2, 0.3, 0.4], atol=0.01)
    apart = MinRiskClassifier(random_state=0, pool=pool).fit(y[:, None], y)
    assert apart.score(y[:, None], y) == 1.0
    X = np.c_[y, np.where(np.arange(100) == 99, 1.0, 0.0)]  # one class of two kinds
    assert MinRiskClassifier(random_state=0, pool=pool, cv=5).fit(X, y).score(X, y) > 0.3


def test_folds_that_are_told(monkeypatch):
    """The folds that would be drawn, as splits: the same model."""
    X, y = load_wine(return_X_y=True)
    drawn = []
    monkeypatch.setattr("minrisk.ensemble.folds.fold_numbers", lambda *a: drawn.append(fold_numbers(*a)) or drawn[-1])
    model = MinRiskClassifier(cv=3, n_estimators=20, random_state=0).fit(X, y)
    splits = [(np.flatnonzero(drawn[0] != k), np.flatnonzero(drawn[0] == k)) for k in range(3)]
    told = MinRiskClassifier(cv=splits, n_estimators=20, random_state=0).fit(X, y)
    assert len(drawn) == 1
    np.testing.assert_array_equal(told.decision_function(X), model.decision_function(X))


def test_rows_that_repeat_themselves_are_learnt():
    """Kinds of rows whose classes follow no rule: those to come are of these kinds as well, unless rows are copies."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (1500, 3))
    y = rng.integers(0, 3, 125)[X @ [25, 5, 1]]
    assert MinRiskClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    X, y = np.tile(rng.normal(size=(150, 4)), (4, 1)), np.tile(rng.integers(0, 3, 150), 4)
    apart = list(GroupKFold(4).split(X, y, np.tile(np.arange(150), 4)))
    for cv in (None, apart):
        assert MinRiskClassifier(random_state=0, cv=cv).fit(X, y).predict_proba(X).max() < 0.7  # nothing to be learnt


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surrogate": "best"}, "surrogate must be one of 'auto'"),
        ({"cv": 0}, "cv must be a whole number at least 1"),
        ({"cv": True}, "cv must be a whole number at least 1"),
        ({"cv": "kfold"}, "cv must be a whole number at least 1"),
        ({"cv": 2.5}, "cv must be .* a splitter"),
        ({"sketch": 0}, "sketch must be a whole number at least 1, or None"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be a whole number at least 2"),
        ({"time_budget": -1}, "time_budget must be a number at least 0"),
        ({"max_features": 0.0}, "max_features must be a share"),
        ({"pool": "yes"}, "pool must be True or False"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MinRiskClassifier(**options).fit([[0.0], [1.0]], [0, 1])


def test_progress_bar(capfd):
    X, y = load_wine(return_X_y=True)
    MinRiskClassifier(n_estimators=5, verbose=1, random_state=0).fit(X, y)
    assert "100 %" in capfd.readouterr().err


@pytest.mark.parametrize(
    "cost", [[[0, 1], [1, 0, 2], [1, 2, 0]], [[[0, 1], [1, 0, 2], [1, 2, 0]]] * 3], ids=["rows", "matrices"]
)
def test_costs_of_different_lengths_are_told_by_predict(cost):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    fitted = MinRiskClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="cost must be a table of numbers, got rows of different lengths"):
        fitted.predict(X[:3], cost=cost)
