"""Laws that every estimator keeps: what must not matter does not, and where there is nothing to learn the best constant is it.

`MINRISK_LAW_CASES` says how many cases all laws together try, about; 200 by default, 2000 in a long run.
"""

import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import PredefinedSplit

from minrisk import CostMatrix, MinRiskClassifier, REBELClassifier
from minrisk._utils.method_names import ESTIMATORS
from minrisk.algorithms import ALGORITHMS
from minrisk.data.categories import Categories
from minrisk.metrics import best_constant_cost, cost_confusion_matrix, expected_cost, regret
from tests.helpers.common import crossed, slow_after, slow_but
from tests.helpers.ways import WAYS

CASES = int(os.environ.get("MINRISK_LAW_CASES", 200))
NAMES = sorted(WAYS)
DRAWN = tuple(name for name in NAMES if name.startswith("minrisk"))  # folds, sketches and features are drawn
ROUNDS = [name for name in NAMES if name not in DRAWN]  # of one run of the loop
CORRECTIVE = [name for name in NAMES if "learning_rate" not in WAYS[name].func._rules]  # change earlier rounds
NEED_A_MATRIX = tuple(name for name in NAMES if WAYS[name]()._needs_matrix)
SIZED = [name for name in NAMES if WAYS[name]()._scale_of_costs() is not None]
VOTES = "adaboost-mh sign", "adaboost-mo hamming", "adaboost-mo own", "adaboost-mo own one-vs-all"  # of -1 and +1
COLOURED = "adaboost-ecc", "adaboost-ecc max-cut", "adaboost-mo random sign"  # by numbers of classes, drawn or first
SEEN_TO = {
    "multiboost": 1e-3,
    "multiboost constraint": 1e-3,
    "multiboost exponential l2": 1e-3,
    "mcboost mc bayes stump": 1e-6,
}  # of what losses see of scores
MINMAX = 1.7e308


def test_every_way_has_a_name():
    assert len(WAYS) == sum(len(method._ways) for method in ALGORITHMS)


def each(names=NAMES):
    """Of each algorithm its usual parameters; the others are marked slow."""
    return pytest.mark.parametrize("name", slow_but(ESTIMATORS, names))


def law(names=NAMES):
    """A test of every estimator on drawn data."""

    def decorate(test):
        tried = settings(
            max_examples=max(2, CASES // 100),
            deadline=None,
            derandomize=CASES <= 200,
            database=None,
            suppress_health_check=list(HealthCheck),
        )(given(seed=st.integers(0, 2**32 - 1))(test))
        return each(names)(tried)

    return decorate


def problem(seed, K=3, n=None):
    """Features without ties, classes and whole costs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 61)) if n is None else n
    y = np.concatenate([np.tile(np.arange(K), 3), rng.choice(3, n - 9, p=[0.5, 0.3, 0.2]) % K])
    X = rng.normal(size=(len(y), 3))
    X[:, 0] += rng.uniform(0, 3) * y
    X[:, 1] -= rng.uniform(0, 1) * y**2
    cost = rng.integers(1, 11, size=(K, K)).astype(float)
    np.fill_diagonal(cost, 0.0)
    return rng, X, y, cost


def assert_scores_agree(name, one, other, to=1e-6):
    """Where a loss is flat, L-BFGS and line searches without an end in sight tell scores to few digits."""
    if name in SEEN_TO:
        np.testing.assert_allclose(expit(one), expit(other), rtol=0.0, atol=max(to, SEEN_TO[name]))
    else:
        np.testing.assert_allclose(one, other, rtol=to, atol=to)


def alone(name, X, y, cost, weight, class_weight, new=None):
    """Scores of `new` rows, else of the same; by one member of a MinRiskClassifier, which leaves no rows out."""
    model = WAYS[name](cost=stated(cost), class_weight=class_weight)
    if name in DRAWN:
        model.set_params(cv=1, pool=False)
    return model.fit(X, y, weight).decision_function(X if new is None else new)


def towns(seed, K):
    """A frame with a category of more values than have a column each, and numbers with ties; classes and costs."""
    pd = pytest.importorskip("pandas")
    rng, _, y, cost = problem(seed, K)
    town = np.where(rng.random(len(y)) < 0.7, 2 * (y % 8) + rng.integers(0, 2, len(y)), rng.integers(0, 16, len(y)))
    town[:16] = np.arange(16)
    X = pd.DataFrame(
        {"town": pd.Categorical([f"t{k}" for k in town]), "size": np.round(rng.normal(size=len(y)) + y % 3)}
    )
    X.loc[rng.random(len(y)) < 0.1, "size"] = np.nan
    return rng, X, y, cost


def stated(cost):
    return CostMatrix(cost, allow_diagonal=True)


def fit(name, X, y, cost=None, weight=None, rows=None, **options):
    return WAYS[name](cost=None if cost is None else stated(cost), **options).fit(X, y, weight, cost=rows)


def scaled(name, scale):
    """The scale of a loss that depends on the size of costs."""
    return {"cost_scale": scale} if name in SIZED else {}


# -- costs -------------------------------------------------------------------------------------------------------------
@law()
def test_a_constant_added_to_the_costs_of_a_class_changes_no_decision(name, seed):
    rng, X, y, cost = problem(seed)
    fixed = rng.choice([0.0, 0.1, 7.0, 300.0, 1e6], size=len(cost))
    one, other = fit(name, X, y, cost), fit(name, X, y, cost + fixed[:, None])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.n_iter_ == other.n_iter_
    if (
        hasattr(one, "train_risk_") and name != "mcboost mc bayes stump"
    ):  # what is shown is in terms of the stated costs
        np.testing.assert_allclose(one.train_risk_ + fixed[y].mean(), other.train_risk_, rtol=1e-9)
        assert other.train_risk_[-1] == pytest.approx(1 - other.score(X, y))


@law([name for name in NAMES if name not in NEED_A_MATRIX])
def test_a_constant_added_to_the_costs_of_a_row_changes_no_decision(name, seed):
    rng, X, y, cost = problem(seed)
    fixed = rng.choice([0.0, 0.1, 7.0, 300.0, 1e6], size=len(y))
    one, other = fit(name, X, y, rows=cost[y] + 0.0), fit(name, X, y, rows=cost[y] + fixed[:, None])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@law()
def test_a_class_whose_decisions_cost_nothing_is_one_whose_decisions_cost_the_same(name, seed):
    rng, X, y, cost = problem(seed)
    cost[rng.integers(0, 3)] = 0.0
    same = np.where(cost.any(axis=1, keepdims=True), cost, 7.0)
    one, other = fit(name, X, y, cost), fit(name, X, y, same)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    if name in DRAWN:
        assert expected_cost(y, one.predict(X), cost) <= best_constant_cost(y, cost) + 1e-9
    if hasattr(one, "train_risk_") and name != "mcboost mc bayes stump":
        assert one.train_risk_[-1] == pytest.approx(1 - one.score(X, y))
    if name not in NEED_A_MATRIX:
        one, other = fit(name, X, y, rows=cost[y]), fit(name, X, y, rows=same[y])
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
        assert 1 - one.score(X, y, cost=cost[y]) == pytest.approx(expected_cost(y, one.predict(X), cost))


@law([name for name in NAMES if name not in NEED_A_MATRIX])
def test_so_are_rows_whose_decisions_cost_nothing(name, seed):
    rng, X, y, cost = problem(seed)
    free = rng.random(len(y)) < 0.3
    rows = [np.where(free[:, None], same, cost[y]) for same in (0.0, 7.0)]
    one, other = (fit(name, X, y, rows=of_rows) for of_rows in rows)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@law()
def test_the_unit_of_the_costs_changes_no_decision(name, seed):
    rng, X, y, cost = problem(seed)
    unit = float(rng.choice([1e-300, 1e-9, 0.1, 3.0, 2.0**-1022, 2.0**1019, 1e300]))
    one, other = fit(name, X, y, cost), fit(name, X, y, cost * unit, **scaled(name, unit))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert 1 - other.score(X, y, cost=stated(cost)) == pytest.approx(1 - one.score(X, y))
    if hasattr(one, "train_risk_") and name != "mcboost mc bayes stump":
        np.testing.assert_allclose(other.train_risk_ / unit, one.train_risk_, rtol=1e-9)


@law()
def test_what_is_shown_of_costs_near_the_end_of_float64_is_finite(name, seed):
    """Losses are sums over decisions, which may be beyond the largest number where costs are not."""
    rng, X, y, cost = problem(seed)
    largest = np.finfo(float).max
    tables = [cost / cost.max() * largest, np.where(cost > 0, largest, 0.0), np.full((3, 3), largest)]
    tables.append(np.where(np.arange(3)[:, None] == rng.integers(0, 3), largest, cost))
    for table in tables:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            models = [fit(name, X, y, table, **scaled(name, largest))]
            models += [] if name in NEED_A_MATRIX else [fit(name, X, y, rows=table[y], **scaled(name, largest))]
            if "early_stopping" in models[0].get_params():
                options = {"early_stopping": True, "validation_fraction": 0.3, "warm_start": True}
                models.append(fit(name, X, y, table, **options, **scaled(name, largest)))
                models[-1].set_params(n_estimators=6).fit(X, y)
            for model in models:
                shown = [
                    getattr(model, f"{curve}_", None)
                    for curve in ("train_loss", "train_risk", "validation_risk", "validation_loss")
                ]
                shown += [tried[risk] for tried in getattr(model, "selection_", ()) for risk in ("risk", "pooled_risk")]
                assert all(np.isfinite(numbers).all() for numbers in shown if numbers is not None)
                assert np.isfinite(model.score(X, y, cost=table[y]))
                assert all(np.isfinite(scores).all() for scores in model.staged_decision_function(X))


@law(["minrisk", "minrisk softmax", "minrisk exponential"])
def test_neither_matters_to_decisions_under_other_costs(name, seed):
    rng, X, y, cost = problem(seed)
    model = fit(name, X, y)
    decided = model.predict(X, cost=stated(cost))
    fixed = rng.choice([0.0, 7.0, 300.0], size=(len(cost), 1))
    for unit in (1e-300, 2.0**-1022, 3.0, 1e300):
        np.testing.assert_array_equal(model.predict(X, cost=stated((cost + fixed) * unit)), decided)
        of_rows = np.broadcast_to((cost + fixed) * unit, (len(X), *cost.shape))
        np.testing.assert_array_equal(model.predict(X, cost=of_rows), decided)


# -- weights -----------------------------------------------------------------------------------------------------------
@law()
def test_only_ratios_of_weights_matter(name, seed):
    """The class weights are weights, too. A power of two changes no bit, and equal weights are none."""
    rng, X, y, cost = problem(seed)
    weight, factors = rng.integers(1, 6, len(y)).astype(float), [None, "balanced", {0: 1, 1: 3, 2: 0.7}][seed % 3]
    unit, power = float(rng.choice([1e-300, 0.1, 7.0, 1e300])), float(rng.choice([2.0**-1020, 0.5, 2.0**1020]))
    moved = weight * (1.0 + 1e-6 * rng.uniform(-1.0, 1.0, len(y)))
    one = alone(name, X, y, cost, weight, factors)
    np.testing.assert_array_equal(alone(name, X, y, cost, weight * power, factors), one)
    assert_scores_agree(name, alone(name, X, y, cost, weight * unit, factors), one)
    if name != "structboost":  # vertices of a linear program may change
        assert_scores_agree(name, alone(name, X, y, cost, moved, factors), one, 1e-2)
    for same in (0.1, 5e-324, 1e307):
        np.testing.assert_array_equal(
            alone(name, X, y, cost, np.full(len(y), same), factors), alone(name, X, y, cost, None, factors)
        )


@law()
def test_a_row_of_weight_w_is_the_row_w_times(name, seed):
    """Also where classes have weights. Of `MinRiskClassifier` one member is asked, which leaves no rows out."""
    rng, X, y, cost = problem(seed)
    weight, factors = rng.integers(0, 4, len(y)), [None, "balanced", {0: 1, 1: 3, 2: 0.7}][seed % 3]
    weight[:9] = 1 + weight[:9]  # all classes stay
    copies = np.repeat(np.arange(len(y)), weight)
    one, other = alone(name, X, y, cost, weight, factors), alone(name, X[copies], y[copies], cost, None, factors, X)
    assert_scores_agree(name, one, other)


@law()
def test_weights_that_fade_out_are_learnt_from(name, seed):
    _, X, y, cost = problem(seed)
    weight = 0.5 ** (np.arange(len(y))[::-1] * 30.0)
    one, other = (fit(name, X, y, cost, w) for w in (weight, np.where(weight < 1e-280, 0.0, weight)))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@law()
def test_rows_of_weight_0_are_left_out(name, seed):
    rng, X, y, cost = problem(seed)
    extra = rng.integers(0, len(y), 7)
    weight = np.concatenate([np.ones(len(y)), np.zeros(7)])
    one = fit(name, X, y, cost)
    other = fit(name, np.concatenate([X, 9 * X[extra]]), np.concatenate([y, (y[extra] + 1) % 3]), cost, weight)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@law()
def test_a_class_of_weight_0_is_not_there(name, seed):
    rng, X, y, cost = problem(seed)
    new = float(rng.choice([-1.0, 0.5, 3.0]))  # first, in the middle, last
    y = y.astype(float).astype(str)
    more = np.concatenate([X, rng.normal(size=(7, 3))]), np.concatenate([y, np.full(7, str(new))])
    weight = np.concatenate([rng.integers(1, 3, len(y)).astype(float), np.zeros(7)])
    labels = np.unique(more[1]).tolist()
    at = np.flatnonzero(np.array(labels) != str(new))
    wide = np.ones((4, 4)) - np.eye(4)  # also with costs for the class, or columns
    wide[np.ix_(at, at)] = cost
    judged = wide[np.searchsorted(labels, more[1])]
    own = fit(name, X, y, cost, weight[: len(y)])
    others = [fit(name, *more, wide, weight), fit(name, *more, cost, weight)]
    others += [WAYS[name](cost=CostMatrix(wide, labels)).fit(*more, weight)]
    for other in others:
        np.testing.assert_array_equal(other.classes_, own.classes_)
        np.testing.assert_array_equal(other.decision_function(X), own.decision_function(X))
        assert other.score(X, y) == own.score(X, y)
    assert others[2].score(*more) == pytest.approx(
        1 - judged[np.arange(len(judged)), np.searchsorted(labels, others[2].predict(more[0]))].mean()
    )
    bare, other = fit(name, X, y), fit(name, *more, weight=np.sign(weight))
    np.testing.assert_array_equal(other.decision_function(X), bare.decision_function(X))
    if hasattr(bare, "predict_proba"):
        np.testing.assert_array_equal(other.predict_proba(X), bare.predict_proba(X))
    if name not in NEED_A_MATRIX:
        by_row = fit(name, X, y, rows=judged[: len(y), at])
        matrices = np.broadcast_to(wide, (len(judged), 4, 4))
        for rows in (judged, judged[:, at], matrices, matrices[:, at][:, :, at]):
            other = fit(name, *more, weight=np.sign(weight), rows=rows)
            np.testing.assert_array_equal(other.decisions_, by_row.decisions_)
            np.testing.assert_array_equal(other.decision_function(X), by_row.decision_function(X))


@pytest.mark.parametrize("K", [2, 3])
@each()
def test_where_one_class_only_has_weight_it_is_the_answer(name, K):
    rng, X, y, _ = problem(1, K)
    for k in range(K):
        model = fit(name, X, y, weight=(y == k).astype(float))
        assert len(model.classes_) == K
        assert np.all(model.predict(rng.normal(size=(200, 3)) * 5) == k)


def test_rounds_go_on_where_a_class_has_lost_its_weight():
    _, X, y, _ = problem(0)
    model = REBELClassifier(n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=5).fit(X, y, np.where(y == 2, 0.0, 1.0))
    assert model.n_iter_ == 5 and len(model.classes_) == 3
    model = REBELClassifier(n_estimators=3, warm_start=True).fit(X[y < 2], y[y < 2])
    model.set_params(n_estimators=5).fit(X, y, np.where(y == 2, 0.0, 1.0))
    whole = REBELClassifier(n_estimators=5).fit(X[y < 2], y[y < 2])
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))


def test_bags_that_lack_a_class_know_the_costs_of_the_others():
    """Bagging draws rows by weights that count them, and numbers the classes."""
    rng, X, y, _ = problem(0)
    labels = np.array(["a", "b", "c", "d"])
    rare = np.concatenate([y, [3]])
    cost = CostMatrix(np.arange(4.0)[:, None] + 1.0 - np.diag(np.arange(1.0, 5.0)), labels.tolist())
    bags = BaggingClassifier(REBELClassifier(cost, n_estimators=3), 8, random_state=0)
    bags.fit(np.concatenate([X, [[9.0, 9.0, 9.0]]]), labels[rare])
    assert {len(model.classes_) for model in bags.estimators_} == {3, 4}
    assert bags.predict_proba(X).shape == (len(X), 4) and bags.score(X, labels[y]) > 0.6


def test_rows_of_weight_0_are_left_out_of_what_is_learnt_of_categories():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y, code = np.arange(120) % 3, rng.integers(0, 20, 120)
    X = pd.DataFrame({"a": pd.Categorical(code, categories=range(20)), "b": rng.normal(size=120)})
    for counted in (rng.random(120) < 0.7, y > 0):
        one = REBELClassifier(n_estimators=4).fit(X[counted], y[counted])
        other = REBELClassifier(n_estimators=4).fit(X, y, counted.astype(float))
        assert one._categories.same_tables(other._categories)
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@law(DRAWN)
def test_so_it_is_where_folds_are_told(name, seed):
    """Else copies of a row fall in any folds, where each is left out by itself."""
    rng, X, y, cost = problem(seed, n=(40, 150, 190)[seed % 3])
    twice, folds = rng.random(len(y)) < 0.4, rng.integers(0, 3, len(y))
    more = np.concatenate([np.arange(len(y)), np.flatnonzero(twice)])
    one = fit(name, X, y, cost, np.where(twice, 2.0, 1.0), cv=PredefinedSplit(folds))
    other = fit(name, X[more], y[more], cost, cv=PredefinedSplit(folds[more]))
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-6, atol=1e-6)


def test_a_loss_of_one_mistake_counts_effective_rows():
    """A number of rows is no function of weights that copies share: of these there are as many as there are."""
    _, X, y, _ = problem(2)
    weight = np.where(np.arange(len(y)) % 2, 9.0, 1.0)
    effective = weight.sum() ** 2 / np.square(weight).sum()
    model = REBELClassifier(n_estimators=200, max_depth=3, target_loss="1/n").fit(X, y, weight)
    stated_ = REBELClassifier(n_estimators=200, max_depth=3, target_loss=1.0 / effective).fit(X, y, weight)
    assert model.n_iter_ == stated_.n_iter_ < 200


@pytest.mark.parametrize("K", slow_after(1, [3, 12]))
@law(ROUNDS)
def test_only_ratios_matter_with_categories_of_many_values(name, seed, K):
    """Their shares are of effective rows. MultiBoost's vectors of twelve classes are told by L-BFGS to fewer digits."""
    rng, X, y, cost = towns(seed, 3 if name.startswith("multiboost") else K)
    weight = rng.integers(1, 4, len(y)).astype(float)
    one, other = fit(name, X, y, cost, weight), fit(name, X, y, cost, weight * 7.0)
    assert_scores_agree(name, one.decision_function(X), other.decision_function(X))


@law([name for name in NAMES if name != "structboost"])
def test_copies_are_a_weight_with_categories_of_many_values(name, seed):
    """A copy is told of its category what its row is told. After few rounds StructBoost's duals are not unique."""
    rng, X, y, cost = towns(seed, 3)
    X = X.assign(size=rng.normal(size=len(y)) + y % 3)  # no rows coincide
    weight = rng.integers(1, 4, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    one, other = fit(name, X, y, cost, weight.astype(float)), fit(name, X.iloc[copies], y[copies], cost)
    assert_scores_agree(name, one.decision_function(X), other.decision_function(X))


# -- order and scale ---------------------------------------------------------------------------------------------------
@law()
def test_the_order_of_the_rows_changes_no_decision(name, seed):
    rng, X, y, cost = problem(seed)
    order = rng.permutation(len(y))
    one, other = fit(name, X, y, cost), fit(name, X[order], y[order], cost)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("K", slow_after(1, [3, 12]))
@law()
def test_nor_with_categories_of_many_values(name, seed, K):
    rng, X, y, cost = towns(seed, K)
    order = rng.permutation(len(y))
    one, other = fit(name, X, y, cost), fit(name, X.iloc[order], y[order], cost)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-7)
    if hasattr(one, "predict_proba"):
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-7, atol=1e-12)


@law([name for name in NAMES if name not in NEED_A_MATRIX])
def test_nor_where_rows_differ_by_weight_and_costs_only(name, seed):
    rng, X, y, cost = problem(seed)
    X, weight, order = np.round(X[:, :2]), rng.integers(1, 4, len(y)).astype(float), rng.permutation(len(y))
    rows = cost[y] * rng.integers(1, 4, (len(y), 1))
    one = fit(name, X, y, weight=weight, rows=rows)
    other = fit(name, X[order], y[order], weight=weight[order], rows=rows[order])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_nor_where_points_coincide(seed):
    rng, X, y, _ = problem(seed)
    X, weight, order = np.round(X[:, :2]), rng.integers(1, 4, len(y)).astype(float), rng.permutation(len(y))
    one = fit("similarities", X, y, weight=weight)
    other = fit("similarities", X[order], y[order], weight=weight[order])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_of_constants_that_cost_the_same_the_first_answers_in_any_order(seed):
    rng = np.random.default_rng(seed)
    y, first = np.arange(60) % 3, rng.integers(1, 10, 60).astype(float)
    rows = np.c_[first, first + 1.0, rng.permutation(first)]
    for _ in range(5):
        order = rng.permutation(60)
        model = REBELClassifier(n_estimators=2).fit(np.zeros((60, 1)), y, cost=rows[order])
        assert np.all(model.predict(np.zeros((60, 1))) == 0)


@pytest.mark.parametrize("K", [2, 3, 12])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=CASES // 20, deadline=None)
def test_what_is_learnt_of_categories_depends_on_no_order(K, seed):
    rng, X, y, _ = towns(seed, K)
    X = X.assign(county=X["town"].astype(str).str[::-1].astype("category"), size=X["size"].fillna(0.0))
    order, renamed, columns = rng.permutation(len(y)), rng.permutation(K)[y], rng.permutation(3)
    names = X.columns[columns].tolist()

    def numbers(X, y, weight):
        found = Categories.of(X)
        return found.learn(found.coded(X)[0], y, weight, list(X.columns))[1][:, 3:]

    weight = rng.integers(1, 3, len(y)).astype(float)
    one = numbers(X, y, weight)
    again = numbers(X.iloc[order], y[order], weight[order])
    alike = [np.c_[own, weight[at], y[at]] for own, at in ((one, slice(None)), (again, order))]
    np.testing.assert_array_equal(*(rows[np.lexsort(rows.T)] for rows in alike))  # equal rows may change places
    moved = numbers(X[names], y, weight)
    half = one.shape[1] // 2
    if names.index("town") > names.index("county"):
        moved = np.c_[moved[:, half:], moved[:, :half]]
    np.testing.assert_array_equal(moved, one)
    if K == 3:  # with more than ten classes directions are found anew, with two one of them is shown
        other = numbers(X, renamed, weight).reshape(len(y), 2, 3)
        at = np.array([renamed[np.argmax(y == k)] for k in range(3)])
        np.testing.assert_allclose(other[:, :, at], one.reshape(len(y), 2, 3), rtol=1e-12)


@law([name for name in NAMES if name not in (*DRAWN, *VOTES, *COLOURED) and not name.startswith("mcboost")])
def test_the_order_of_the_classes_changes_no_decision(name, seed):
    """But for ties, which go to the first: so costs have none here.

    MCBoost fits learners along the simplex's coordinates, which are not alike; `MinRiskClassifier` draws sketches. A few
    rounds of votes leave classes whose scores are equal. AdaBoost.ECC draws classes,
    a random code words.
    """
    rng, X, y, _ = problem(seed)
    cost = rng.uniform(1, 10, size=(3, 3)) * (1 - np.eye(3))
    order = rng.permutation(3)
    renamed = np.argsort(order)[y]  # class order[k] becomes k
    one, other = fit(name, X, y, cost), fit(name, X, renamed, cost[np.ix_(order, order)])
    assert np.mean(one.predict(X) == order[other.predict(X)]) == 1.0


@law([name for name in NAMES if name not in DRAWN and not name.startswith("similarities")])
def test_the_order_of_the_columns_changes_no_decision(name, seed):
    """But for ties of learners, which go to the first column, or, of similarities, along a direction through them.

    Rows of different weight leave none but those of columns that part rows alike. `MinRiskClassifier` draws columns by
    their numbers.
    """
    rng, X, y, cost = problem(seed)
    order, weight = rng.permutation(X.shape[1]), rng.uniform(0.5, 2.0, len(y))
    one, other = fit(name, X, y, cost, weight), fit(name, X[:, order], y, cost, weight)
    assert np.mean(one.predict(X) == other.predict(X[:, order])) >= 0.95


@law()
def test_features_times_a_power_of_two_change_no_decision(name, seed):
    rng, X, y, cost = problem(seed)
    widest = 40 if name == "minrisk" else 1000  # linear and smooth members are float32's
    factor = 2.0 ** float(rng.integers(-widest, widest))
    one, other = fit(name, X, y, cost), fit(name, X * factor, y, cost)
    np.testing.assert_array_equal(one.predict(X), other.predict(X * factor))


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # in scikit-learn's check of X
@each()
def test_answers_are_finite_whatever_the_features(name):
    _, X, y, cost = problem(0)
    near = X / np.abs(X).max()
    model = fit(name, X, y, cost)
    for size in (1e-308, 1e-160, 1e155, MINMAX):
        trained = fit(name, near * size, y, cost)
        for one in (model, trained):
            for new in (near * size, np.sign(X) * MINMAX, np.sign(X) * 1e155):
                assert np.isfinite(one.decision_function(new)).all()
    ends = fit(name, np.sign(X) * MINMAX, y, cost)
    signs = fit(name, np.sign(X), y, cost)
    if name not in DRAWN:  # whose folds are drawn by the cells
        np.testing.assert_array_equal(ends.predict(np.sign(X) * MINMAX), signs.predict(np.sign(X)))


@pytest.mark.parametrize("name", SIZED)
def test_a_loss_that_depends_on_the_size_of_costs_moves_with_them_and_does_not_jump(name):
    """As stated, in whole numbers or not; in their scale they have no unit. What a float does not hold is refused."""
    rng, X, y, cost = problem(5)
    one, nearly = fit(name, X, y, cost), fit(name, X, y, cost + 1e-7 * rng.random((3, 3)) * (cost > 0))
    if name != "structboost":  # vertices of a linear program may change
        assert_scores_agree(name, one.decision_function(X), nearly.decision_function(X), 1e-4)
    other, in_scale = fit(name, X, y, 8 * cost), fit(name, X, y, 8 * cost, cost_scale=8.0)
    if name != "mcboost gamma-phi":  # of the identity: in proportion to the costs
        assert not np.allclose(one.decision_function(X), other.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(one.decision_function(X), in_scale.decision_function(X))
    with pytest.raises(ValueError, match="over cost_scale must be at most 1.8e[+]19, got .* set cost_scale to"):
        fit(name, X, y, 1e30 * cost)


@each(ROUNDS)
def test_early_stopping_is_no_dearer_than_the_best_constant_where_few_rare_rows_are_set_apart(name):
    """A hundred times as dear, one in ten, and ten of them set apart, which no round misses by luck."""
    C, rng = np.array([[0.0, 1.0], [100.0, 0.0]]), np.random.default_rng(1)
    y = (rng.random(4000) < 0.1).astype(int)
    X = rng.normal(size=(4000, 5))
    X[:, 0] += 1.2 * y
    model = WAYS[name](cost=C, early_stopping=True, random_state=1).set_params(n_estimators=40).fit(X[:1000], y[:1000])
    assert expected_cost(y[1000:], model.predict(X[1000:]), C) <= 1.05 * best_constant_cost(y[1000:], C)
    assert model.n_iter_ > 0 or len(model.validation_risk_) > 1 or model.validation_risk_[0] == 0


# -- nothing to learn --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("features", ["constant", "missing", "useless", "random"])
@each()
def test_nothing_to_learn_gives_the_cheapest_constant(name, features):
    y = np.repeat([0, 1, 2], [12, 60, 12])
    X = {
        "constant": np.zeros((84, 2)),
        "missing": np.full((84, 2), np.nan),
        "useless": np.tile([[0.0], [1.0]], (42, 1)),
        "random": np.random.default_rng(0).integers(0, 2, (84, 1)).astype(float),
    }[features]
    for cost in (None, np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0.0]]), np.array([[0, 20, 20], [1, 0, 1], [1, 1, 0.0]])):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = fit(name, X, y, cost)
        if any("has decisions about the training rows that cost" in str(one.message) for one in told):
            continue  # rounds of a published method, which are kept
        judged = 1.0 - np.eye(3) if cost is None else cost
        least = best_constant_cost(y, judged)
        paid = expected_cost(y, model.predict(X), judged)
        assert paid == pytest.approx(least) or (features == "random" and (name not in DRAWN or paid <= least))


@each(ROUNDS)
def test_early_stopping_before_the_first_round_gives_the_cheapest_constant(name):
    rng = np.random.default_rng(1)
    y = rng.choice(3, 120, p=[0.1, 0.8, 0.1])
    X = rng.normal(size=(120, 1))
    model = WAYS[name](early_stopping=True, n_iter_no_change=1, random_state=0).fit(X, y)
    if model.n_iter_ == 0:
        assert np.all(model.predict(X) == 1)
    again = model.set_params(warm_start=True, n_estimators=6).fit(X, y)
    fresh = WAYS[name](early_stopping=True, n_iter_no_change=1, random_state=0).set_params(n_estimators=6).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), fresh.decision_function(X))


@law(ROUNDS)
def test_going_on_after_early_stopping_is_one_long_fit(name, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 80)
    X = rng.normal(size=(80, 4))
    X[:, 0] += y
    options = {"early_stopping": True, "validation_fraction": 0.3, "random_state": 0, "n_iter_no_change": 30}
    parts = WAYS[name](warm_start=True, **options)
    for n_estimators in (3, 6, 25):
        parts.set_params(n_estimators=n_estimators).fit(X, y)
    whole = WAYS[name](**options).set_params(n_estimators=25).fit(X, y)
    assert parts.n_iter_ == whole.n_iter_ and parts.n_iter_ in (0, np.argmin(parts.validation_risk_))
    for attribute in ("train_loss_", "train_risk_", "validation_risk_"):
        np.testing.assert_allclose(getattr(parts, attribute), getattr(whole, attribute), rtol=1e-12)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


@each()
def test_costs_that_are_all_the_same_leave_nothing_to_decide(name):
    _, X, y, _ = problem(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [fit(name, X, y, np.full((3, 3), same)) for same in (7.0, 0.0)]
        if name not in NEED_A_MATRIX:
            models += [fit(name, X, y, rows=np.full((len(y), 3), same)) for same in (7.0, 0.0)]
    for model in models:
        assert np.all(model.predict(X) == 0) and np.isfinite(model.decision_function(X)).all()


@each([name for name in NAMES if name not in CORRECTIVE])
@pytest.mark.parametrize("rate", slow_after(1, [1e300, 100.0, 1000.0]))
def test_learning_rates_far_above_1_end_in_a_finite_model(name, rate):
    _, X, y, cost = problem(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = fit(name, X, y, cost, learning_rate=rate)
    assert np.isfinite(model.decision_function(X)).all() and np.isfinite(model.train_loss_).all()


@pytest.mark.parametrize("size", [1e3, 1e300])
@pytest.mark.parametrize("name", ["stagewise", "stagewise logistic tree"])
def test_steps_that_are_far_too_long_end_in_a_finite_model(name, size):
    _, X, y, cost = problem(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = fit(name, X, y, cost, step_size=size)
    assert np.isfinite(model.decision_function(X)).all() and np.isfinite(model.train_loss_).all()


@pytest.mark.parametrize(
    ("dear", "surrogate", "ratio"),
    crossed(
        ["row 2", "row 0", "cell", "cycle", "two rows", "per row"], ["gel", "gll", "coupled"], [1e8, 1e3, 1e4, 3e4, 1e6]
    ),
)
def test_costs_that_are_far_apart_hide_no_feature(surrogate, dear, ratio):
    """Classes that a feature tells apart are told apart, whichever mistakes are the dear ones."""
    y = np.arange(300) % 3
    X, new = (np.random.default_rng(seed).normal(size=(300, 4)) for seed in (0, 1))
    for features in (X, new):
        features[:, 0] = 5 * y + 0.1 * features[:, 1]
    r = ratio
    cost = np.array(
        {
            "row 2": [[0, 1, 1], [1, 0, 1], [r, r, 0]],
            "row 0": [[0, r, r], [1, 0, 1], [1, 1, 0]],
            "cell": [[0, 1, 1], [1, 0, 1], [r, 1, 0]],
            "cycle": [[0, 1, r], [1, 0, 1], [1, r, 0]],
            "two rows": [[0, r, r], [r, 0, r], [1, 1, 0]],
            "per row": [[0, 1, 1], [1, 0, 1], [r, r, 0]],
        }[dear]
    )
    model = MinRiskClassifier(cost, surrogate=surrogate, random_state=0)
    model.fit(X, y, cost=cost[y] * np.random.default_rng(2).uniform(0.5, 2.0, (300, 1)) if dear == "per row" else None)
    assert np.mean(model.predict(new) == y) >= (0.996 if ratio < 1e8 else 0.99)  # a row may stand at the edge


def test_a_rare_class_a_100_million_times_as_dear_is_not_missed():
    y = np.arange(300) % 3
    X = np.random.default_rng(0).normal(size=(300, 4))
    X[:, 0] += 2 * y
    for surrogate in ("gel", "gll", "coupled", "softmax"):
        model = MinRiskClassifier([[0, 1, 1], [1, 0, 1], [1e8, 1e8, 0]], surrogate=surrogate, random_state=0)
        assert 1 - model.fit(X, y).score(X, y) <= 2 / 3 + 1e-9


# -- metrics -----------------------------------------------------------------------------------------------------------
@given(seed=st.integers(0, 2**32 - 1), unit=st.sampled_from([1e-310, 1e-300, 0.1, 1e300, 1e307]))
@settings(max_examples=CASES // 4, deadline=None)
def test_metrics_hold_near_both_ends(seed, unit):
    rng, _, y, cost = problem(seed)
    decided, weight = rng.integers(0, 3, len(y)), rng.integers(1, 5, len(y)).astype(float)
    for metric in (expected_cost, regret, lambda y, _, *rest: best_constant_cost(y, *rest)):
        plain = metric(y, decided, stated(cost), None, weight)
        tolerance = {"rel": 1e-9, "abs": 1e-12}
        assert metric(y, decided, stated(cost), None, weight * unit) == pytest.approx(plain, **tolerance)
        assert metric(y, decided, stated(cost * unit), None, weight) / unit == pytest.approx(plain, **tolerance)
        assert metric(y, decided, stated(cost * unit), None, weight * unit) / unit == pytest.approx(plain, **tolerance)
    for normalize in ("true", "pred", "all"):
        plain = cost_confusion_matrix(y, decided, stated(cost), None, weight, normalize)
        for of_weight, of_cost in ((unit, 1.0), (1.0, unit), (unit, unit)):
            found = cost_confusion_matrix(y, decided, stated(cost * of_cost), None, weight * of_weight, normalize)
            np.testing.assert_allclose(found / of_cost, plain, rtol=1e-9)
    free = np.where(np.arange(3)[:, None] == rng.integers(0, 3), 0.0, cost)
    for metric in (expected_cost, regret):
        same = metric(y, decided, stated(np.where(free.any(axis=1, keepdims=True), free, 7.0)))
        told = 0.0 if metric is regret else 7.0 * np.mean(~free.any(axis=1)[y])
        assert metric(y, decided, free) == pytest.approx(same - told, abs=1e-9)
        assert metric(y, decided, free[y]) == pytest.approx(metric(y, decided, free))
        assert metric(y, decided, 0.0 * cost) == 0.0
    ends = np.full((3, 3), np.finfo(float).max)
    for normalize in ("true", "pred", "all"):
        assert np.isfinite(cost_confusion_matrix(y, decided, stated(ends), None, weight * unit, normalize)).all()
    fixed = rng.choice([0.0, 300.0, 1e9], size=(3, 1))
    assert regret(y, decided, stated(cost + fixed)) == pytest.approx(regret(y, decided, stated(cost)), abs=1e-12)
