"""Parameters as people pass them: any number type, flags, "no limit"; fits that fail; warm starts that cannot go on."""

import decimal
import json
import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from minrisk import (
    ALGORITHMS,
    BAdaCostClassifier,
    MCBoostClassifier,
    MinRiskClassifier,
    REBELClassifier,
    costs,
    load,
    save,
)
from minrisk._kernels._dtypes import MAX_DEPTH
from minrisk._utils.workers import MOST_THREADS, Workers
from minrisk.boosting.loop import MOST_AHEAD
from minrisk.estimator.inputs import Inputs
from minrisk.estimator.parameters import (
    Depth,
    Features,
    Flag,
    Folds,
    Number,
    Seed,
    Threads,
    Verbosity,
    n_drawn,
    share_of,
)
from minrisk.rows.base import GrowthRule
from tests.helpers.common import crossed, slow_after

WARM = [algorithm for algorithm in ALGORITHMS if algorithm is not MinRiskClassifier]
NO_LIMIT = [2**31 - 1, sys.maxsize, np.uint64(2**64 - 1), 10**400]
NEEDS = {  # what a parameter needs to matter
    "n_iter_no_change": {"early_stopping": True}
}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[::2, :4], y[::2]


def small(algorithm, **parameters):
    return algorithm(**{"n_estimators": 4, "random_state": 0, **parameters})


def whole_numbers(algorithm):
    """Names of the parameters that are whole numbers without an upper limit."""
    for name, rule in algorithm._rules.items():
        if isinstance(rule, Depth | Features | Folds | Verbosity | Threads) or (
            isinstance(rule, Number) and rule.kind is int and rule.high == np.inf
        ):
            yield name


def numpy_typed(name, rule, value):
    """The value as NumPy would have it."""
    if isinstance(rule, Flag) or isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return np.int32(value)
    if isinstance(value, float):
        return np.float64(value)
    return np.str_(value) if isinstance(value, str) else value


# -- number types --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_numpys_numbers_are_numbers(wine, algorithm, tmp_path):
    X, y = wine
    plain = small(algorithm)
    typed = small(algorithm).set_params(
        **{name: numpy_typed(name, rule, plain.get_params()[name]) for name, rule in algorithm._rules.items()}
    )
    plain.fit(X, y), typed.fit(X, y)
    assert isinstance(typed.n_estimators, np.int32)  # parameters stay as they were given
    np.testing.assert_array_equal(typed.decision_function(X), plain.decision_function(X))
    assert clone(typed).get_params().keys() == plain.get_params().keys()
    save(plain, tmp_path / "plain"), save(typed, tmp_path / "typed")
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "typed").read_bytes()
    np.testing.assert_array_equal(load(tmp_path / "typed").predict(X), plain.predict(X))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_flag_may_be_numpys(wine, algorithm):
    flags = [name for name, rule in algorithm._rules.items() if isinstance(rule, Flag)]
    for name in flags:
        for value in (np.True_, np.False_, 1, 0, np.int8(1)):
            model = small(algorithm, **{name: value}).fit(*wine)
            assert model.predict(wine[0]).shape == wine[1].shape
            with pytest.raises(ValueError, match=f"{name} must be True or False"):
                small(algorithm, **{name: 2}).fit(*wine)


@pytest.mark.parametrize("verbose", [True, False, np.True_, 0, np.int64(1), 10**400])
def test_verbose_is_a_flag_or_a_number(wine, verbose, capsys):
    REBELClassifier(n_estimators=2, verbose=verbose).fit(*wine)
    assert ("2/2" in capsys.readouterr().err) == bool(verbose)


def test_learning_rate_of_any_kind_gives_the_same_bits(wine):
    X, y = wine
    for algorithm in (MinRiskClassifier, REBELClassifier):
        expected = small(algorithm, learning_rate=1.0).fit(X, y).decision_function(X)
        for value in (1, np.float32(1), np.int16(1), np.float16(1)):
            np.testing.assert_array_equal(
                small(algorithm, learning_rate=value).fit(X, y).decision_function(X), expected
            )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 5.0}, r"n_estimators must be a whole number at least 1(, or None)?, got 5\.0: write 5\."),
        (
            {"n_estimators": np.float32(5)},
            "n_estimators must be a whole number at least 1(, or None)?, got .*: write 5",
        ),
        (
            {"n_estimators": np.array(5)},
            r"n_estimators must be a whole number at least 1(, or None)?, got array\(5\): write 5",
        ),
        ({"n_estimators": np.array([5])}, "n_estimators must be a whole number at least 1, .*: write 5"),
        ({"n_estimators": True}, r"n_estimators must be a whole number at least 1(, or None)?, got True\.$"),
        ({"n_estimators": np.True_}, "n_estimators must be a whole number at least 1"),
        ({"n_estimators": "5"}, "n_estimators must be a whole number at least 1(, or None)?, got '5'"),
        ({"n_estimators": decimal.Decimal(5)}, "n_estimators must be a whole number at least 1"),
        ({"n_estimators": 5.5}, r"n_estimators must be a whole number at least 1(, or None)?, got 5\.5\.$"),
        ({"n_estimators": np.nan}, r"n_estimators must be a whole number at least 1(, or None)?, got nan\.$"),
        ({"n_estimators": np.int8(0)}, "n_estimators must be a whole number at least 1(, or None)?, got np.int8"),
        ({"learning_rate": np.float32(np.inf)}, "learning_rate must be a number above 0"),
        ({"learning_rate": 10**400}, "learning_rate must be a number above 0"),
        ({"subsample": np.bool_(True)}, "subsample must be a number above 0"),
        ({"max_features": 2.0}, r"max_features must be a share .* got 2\.0: write 2\."),
        ({"max_features": np.array(3)}, "max_features must be a share .*: write 3"),
        ({"max_features": np.float32(np.nan)}, "max_features must be a share"),
        ({"max_bins": 2**31 - 1}, "max_bins must be a whole number at least 2 and at most 256"),
        ({"n_jobs": 0}, "n_jobs must be a whole number but 0 .-1: all cores., or None, got 0"),
        ({"n_jobs": 2.0}, r"n_jobs must be a whole number .* got 2\.0: write 2"),
        ({"n_jobs": "all"}, "n_jobs must be a whole number"),
        (
            {"random_state": np.random.default_rng(0)},
            r"random_state must be .* numpy\.random\.RandomState or None .a Generator",
        ),
        ({"random_state": -1}, "random_state must be a whole number from 0 to 4294967295"),
        ({"random_state": 2**32}, "random_state must be a whole number from 0 to 4294967295"),
        ({"random_state": 1.0}, r"random_state must be a whole number .* got 1\.0: write 1"),
        ({"verbose": -1}, "verbose must be True, False or a whole number at least 0"),
    ],
)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_other_values_are_refused_kindly(wine, algorithm, parameters, message):
    if not set(parameters) <= set(algorithm().get_params()):
        pytest.skip("no such parameter")
    with pytest.raises(ValueError, match=message):
        algorithm(**parameters).fit(*wine)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_subclasses_have_constructors_of_their_own(wine, algorithm):
    """As all estimators of scikit-learn may: what they hand on is set, and only what they name is cloned."""
    few = {
        name: value
        for name, value in {"n_estimators": 2, "random_state": 0, "pool": False}.items()
        if name in algorithm().get_params()
    }

    class Own(algorithm):
        def __init__(self, extra=3, cost=None):
            super().__init__(cost, **few)
            self.extra = extra

    own = clone(Own(extra=7)).fit(*wine)
    assert own.get_params() == {"extra": 7, "cost": None} and own._parameters().items() >= few.items()
    np.testing.assert_array_equal(own.predict(wine[0]), algorithm(**few).fit(*wine).predict(wine[0]))


def test_a_constructor_that_sets_nothing_is_told():
    class Own(REBELClassifier):
        def __init__(self):
            self.n_estimators = 2

    with pytest.raises(
        TypeError,
        match=r"^Own: the constructor must set all parameters .* but has no .*: call super\(\).__init__ there\.$",
    ):
        Own().fit([[0.0], [1.0]], [0, 1])


def test_costs_of_a_frame_are_kept_as_a_matrix(wine):
    """Which skops keeps, too: an estimator that was pickled fits as before."""
    pd = pytest.importorskip("pandas")
    labels = np.unique(wine[1])
    cost = pd.DataFrame([[0, 1, 2], [1, 0, 1], [5, 1, 0]], index=labels, columns=labels)
    model = REBELClassifier(cost, n_estimators=2, random_state=0).fit(*wine)
    assert model.cost is cost
    again = pickle.loads(pickle.dumps(model))
    assert isinstance(again.cost, costs.CostMatrix)
    expected = model.decision_function(wine[0])
    np.testing.assert_array_equal(again.decision_function(wine[0]), expected)
    np.testing.assert_array_equal(clone(again).fit(*wine).decision_function(wine[0]), expected)
    skops = pytest.importorskip("skops.io")
    kept = skops.dumps(model)
    read = skops.loads(kept, trusted=skops.get_untrusted_types(data=kept))
    np.testing.assert_array_equal(read.decision_function(wine[0]), expected)


def test_random_states(wine):
    X, y = wine
    draws = {"subsample": 0.5, "n_estimators": 3}
    expected = REBELClassifier(random_state=7, **draws).fit(X, y).decision_function(X)
    for state in (np.int64(7), np.uint8(7), np.random.RandomState(7)):
        np.testing.assert_array_equal(
            REBELClassifier(random_state=state, **draws).fit(X, y).decision_function(X), expected
        )
    state = np.random.RandomState(7)
    first, second = (REBELClassifier(random_state=state, **draws).fit(X, y).decision_function(X) for _ in range(2))
    assert not np.array_equal(first, second)  # it is the caller's, and goes on
    REBELClassifier(random_state=np.random, **draws).fit(X, y)
    assert Seed().accepts(2**32 - 1)


def test_folds_and_features_of_numpys_types(wine):
    X, y = wine
    expected = small(MinRiskClassifier, cv=3, max_features=2).fit(X, y).predict_proba(X)
    found = small(MinRiskClassifier, cv=np.int64(3), max_features=np.uint8(2)).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
    expected = small(MinRiskClassifier, max_features=0.5).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(
        small(MinRiskClassifier, max_features=np.float32(0.5)).fit(X, y).predict_proba(X), expected
    )
    for cv in (True, np.True_, 2.0, np.float64(3), "3"):
        with pytest.raises(ValueError, match="cv must be a whole number at least 1"):
            MinRiskClassifier(cv=cv).fit(X, y)


def test_searches_pass_numpys_types(wine, tmp_path):
    X, y = wine
    grid = {
        "pool": np.array([True, False]),
        "n_estimators": np.arange(3, 5),
        "learning_rate": np.array([0.5], dtype=np.float32),
    }
    search = RandomizedSearchCV(
        MinRiskClassifier(random_state=0), grid, n_iter=2, cv=2, error_score="raise", random_state=0
    )
    save(search.fit(X, y).best_estimator_, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), search.predict(X))
    grid = {
        "early_stopping": np.array([True, False]),
        "max_depth": np.array([1, 2]),
        "max_features": np.array([0.5, 1.0]),
    }
    search = GridSearchCV(REBELClassifier(n_estimators=3, random_state=0), grid, cv=2, error_score="raise").fit(X, y)
    save(search.best_estimator_, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert all(type(value) in (bool, int, float, str, type(None)) for value in again.get_params(deep=False).values())
    assert json.dumps({name: again.get_params()[name] for name in again._rules if name != "random_state"})


# -- no limit ------------------------------------------------------------------------------------------------------------
LIMITED = [(algorithm, name) for algorithm in ALGORITHMS for name in whole_numbers(algorithm)]
ONCE = {
    name: (algorithm, name) for algorithm, name in reversed(LIMITED)
}.values()  # by the first that has the parameter


@pytest.mark.parametrize(
    ("algorithm", "name"), slow_after(len(ONCE), sorted(LIMITED, key=lambda limited: limited not in ONCE))
)
def test_no_limit_may_be_any_large_number(wine, algorithm, name, tmp_path):
    X, y = wine
    X, y = X[::3], y[::3]
    parameters = dict(NEEDS.get(name, {}))
    if name == "max_depth" and "weak_learner" in algorithm._rules:
        parameters["weak_learner"] = "tree"
    if name == "n_estimators" and "early_stopping" in algorithm().get_params():
        parameters["early_stopping"] = True  # else it goes on while the loss falls, as it was told to
    found = []
    for value in NO_LIMIT:
        model = small(algorithm, **{**parameters, name: value}).fit(X, y)
        found.append(model.decision_function(X))
        save(model, tmp_path / "m")
        load(tmp_path / "m")
    assert all(np.array_equal(found[0], scores) for scores in found[1:])


def test_memory_follows_the_rows():
    rule = GrowthRule(2**40, 5, 2**63, 3).within(100)
    assert rule.max_leaves == rule.min_leaf == 100
    assert GrowthRule(8, 5, 1, 3).within(100) == GrowthRule(8, 5, 1, 3)
    assert Workers(2**31).n == MOST_THREADS and Workers(-3).n == 1
    assert Depth().plain(2**63) == MAX_DEPTH and Depth().plain(np.int8(3)) == 3
    assert n_drawn(10**400, 5) == 5 and share_of(10**400, 5) > 1 and share_of(2, 8) == 0.25


@pytest.mark.parametrize("pool", [True, False])
def test_more_leaves_than_rows_are_as_many_as_rows(wine, pool):
    X, y = wine
    as_many = small(MinRiskClassifier, max_leaf_nodes=len(y), pool=pool).fit(X, y)
    more = small(MinRiskClassifier, max_leaf_nodes=2**31 - 1, pool=pool).fit(X, y)
    np.testing.assert_array_equal(more.decision_function(X), as_many.decision_function(X))


def test_a_sketch_of_too_many_is_none(wine):
    X, y = wine
    expected = small(MinRiskClassifier, sketch=None).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(small(MinRiskClassifier, sketch=2**63).fit(X, y).decision_function(X), expected)


def test_rounds_made_ahead_are_limited_and_the_same(wine):
    X, y = wine
    model = MinRiskClassifier(n_estimators=MOST_AHEAD + 10, cv=1, max_leaf_nodes=2, learning_rate=0.01, random_state=0)
    model.fit(X, y)
    assert model.n_iter_ == MOST_AHEAD + 10


# -- fits that fail --------------------------------------------------------------------------------------------------------
BAD = {
    "one class": lambda X, y: (X[:, :1], np.zeros(len(y))),
    "infinity": lambda X, y: (np.full_like(X[:, :2], np.inf), y + 5),
    "missing class": lambda X, y: (X[:, :3], np.where(y == 0, np.nan, y)),
    "lengths": lambda X, y: (X[:, :3], y[:-1]),
    "targets": lambda X, y: (X[:, :3], np.linspace(0, 1, len(y))),
    "weights": lambda X, y: (X[:, :3], y, -np.ones(len(y))),
    "no weight": lambda X, y: (X[:, :3], y[::-1] + 7, np.zeros(len(y))),
    "cost": lambda X, y: (X[:, :3], y + 5, None, np.ones((7, 9))),
    "two classes, cost of three": lambda X, y: (X[y < 2], y[y < 2], None, 1 - np.eye(3)),
}


def state(model):
    return {name: value for name, value in vars(model).items() if name not in model.get_params()}


@pytest.mark.parametrize(("algorithm", "bad", "warm"), crossed(ALGORITHMS, BAD, [True, False]))
def test_a_failing_fit_changes_nothing(wine, algorithm, warm, bad):
    X, y = wine
    if warm and algorithm is MinRiskClassifier:
        pytest.skip("has no warm starts")
    model = small(algorithm, **({"warm_start": True} if warm else {}))
    if bad == "two classes, cost of three" and algorithm is MCBoostClassifier and not warm:
        model.set_params(loss="ls")
    with pytest.raises(ValueError):
        model.fit(*BAD[bad](X, y))
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not state(model)
    before, scores = dict(state(model.fit(X, y))), model.decision_function(X)
    with pytest.raises(ValueError):
        model.fit(*BAD[bad](X, y))
    after = state(model)
    assert after.keys() == before.keys() and all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert model.predict(X[:3]).shape == (3,)
    assert list(model.fit(X, y).classes_) == [0, 1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_interrupted_fit_changes_nothing(wine, algorithm, error, monkeypatch):
    X, y = wine
    model = small(algorithm).fit(X, y)
    if "warm_start" in model.get_params():
        model.set_params(warm_start=True)
    before, scores = dict(state(model)), model.decision_function(X)

    def interrupted(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(algorithm, "_recipe", interrupted, raising=False)
        patch.setattr("minrisk.ensemble.trees.recipe_of", interrupted)
        with pytest.raises(error):
            model.set_params(n_estimators=9).fit(X, y)
    assert state(model).keys() == before.keys() and all(state(model)[name] is before[name] for name in before)
    np.testing.assert_array_equal(model.decision_function(X), scores)


class Stops(Ridge):
    """A regressor that is interrupted at its third fit."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Stops.fits += 1
        if Stops.fits == 3:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def test_an_interrupt_between_rounds_changes_nothing(wine):
    X, y = wine
    Stops.fits = 0
    model = MCBoostClassifier(n_estimators=5, estimator=Stops())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not state(model)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("algorithm", WARM)
def test_a_failing_warm_start_leaves_the_rounds_as_they_were(wine, algorithm):
    X, y = wine
    model = small(algorithm, warm_start=True).fit(X, y)
    with pytest.raises(ValueError):
        model.set_params(n_estimators=9).fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError):
        model.fit(X[:, :2], y)
    np.testing.assert_array_equal(
        model.fit(X, y).decision_function(X), small(algorithm, n_estimators=9).fit(X, y).decision_function(X)
    )


def test_a_prediction_sees_one_fit_from_beginning_to_end(wine, monkeypatch):
    X, y = wine
    other = MinRiskClassifier(n_estimators=2, pool=False).fit(X[:, ::-1], np.array(["c", "b", "a"])[y])
    for method, more in (
        ("predict", ()),
        ("predict", (1 - np.eye(3),)),
        ("decision_function", ()),
        ("predict_proba", ()),
    ):
        model = MinRiskClassifier(n_estimators=2, pool=False).fit(X, y)
        asked = "_decisions" if method == "predict" else "_scores"
        expected, answer = getattr(model, method)(X, *more), getattr(MinRiskClassifier, asked)

        def fitted_meanwhile(self, X, *how, model=model, answer=answer):
            model.__dict__ = other.__dict__
            return answer(self, X, *how)

        with monkeypatch.context() as patched:
            patched.setattr(MinRiskClassifier, asked, fitted_meanwhile)
            np.testing.assert_array_equal(getattr(model, method)(X, *more), expected)
        assert model.classes_.tolist() == ["a", "b", "c"]


# -- warm starts that cannot go on ------------------------------------------------------------------------------------------
OTHER = {"early_stopping": True, "max_bins": 17, "fit_intercept": False, "keep_stages": True, "estimator": Ridge()}


def others(algorithm):
    """For each lasting parameter another value than the default, where there is one by itself."""
    defaults = algorithm().get_params()
    for name in algorithm._lasting:
        rule = algorithm._rules[name]
        if name in OTHER and rule.accepts(OTHER[name]):
            yield {name: OTHER[name]}
        elif hasattr(rule, "options"):
            yield {name: next(option for option in rule.options if option != defaults[name])}


@pytest.mark.parametrize(("algorithm", "changed"), [(cls, changed) for cls in WARM for changed in others(cls)])
@pytest.mark.parametrize("loaded", slow_after(1, [True, False]))
def test_rounds_of_another_kind_are_refused(wine, algorithm, changed, loaded, tmp_path):
    X, y = wine
    model, (name,) = small(algorithm).fit(X, y), changed
    if loaded:
        save(model, tmp_path / "m")
        model = load(tmp_path / "m")
    before = model.predict(X)
    model.set_params(warm_start=True, n_estimators=6, **changed)
    with pytest.raises(
        ValueError, match=f"^warm_start goes on with the same {name}: expected .*, got .*warm_start=False"
    ):
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)
    model.set_params(warm_start=False).fit(X, y)
    assert model.n_iter_ >= 0


@pytest.mark.parametrize("algorithm", WARM)
def test_other_costs_and_decisions_are_refused(wine, algorithm):
    X, y = wine
    model = small(algorithm, warm_start=True).fit(X, y).set_params(n_estimators=6)
    by_row = np.abs(np.arange(3) - y[:, None]) * np.arange(1, len(y) + 1)[:, None]
    same = "warm_start goes on with the same costs: expected "
    with pytest.raises(ValueError, match=f"{same}1 for deciding 2 where 0 is true, got 2. Set warm_start=False"):
        model.fit(X, y, cost=[[0, 1, 2], [3, 0, 1], [4, 1, 0]])
    with pytest.raises(ValueError, match=f"{same}one table for all rows, got costs for each row. Set"):
        model.fit(X, y, cost=by_row)
    if algorithm is not BAdaCostClassifier:  # which takes none for each row
        with pytest.raises(ValueError, match=f"{same}costs for each row, got one table for all rows. Set"):
            small(algorithm, warm_start=True).fit(X, y, cost=by_row).fit(X, y)
    graded = small(algorithm, cost=costs.ordinal(3), warm_start=True).fit(X, y)
    assert graded.fit(X, y, cost=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]).n_iter_ == 4  # the same in other words
    with pytest.raises(
        ValueError, match=r"warm_start goes on with the same decisions: expected \[0, 1, 2\], got \[0, 1, 2, "
    ):
        model.fit(X, y, cost=np.c_[1 - np.eye(3), [0.1] * 3])
    with pytest.raises(
        ValueError, match=r"same classes: expected \[0, 1, 2\], got \['a', 'b', 'c'\]. Set warm_start=False"
    ):
        model.fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match="must be at least n_iter_"):
        model.set_params(n_estimators=1).fit(X, y)


def test_what_may_change_may_change(wine):
    X, y = wine
    model = REBELClassifier(n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(
        n_estimators=np.int64(6),
        learning_rate=np.float32(0.5),
        max_depth=2,
        n_jobs=2,
        verbose=False,
        warm_start=np.True_,
    )
    assert model.fit(X, y).n_iter_ == 6


def test_every_rule_is_of_a_parameter():
    for algorithm in ALGORITHMS:
        parameters = algorithm().get_params()
        assert set(algorithm._rules) <= set(parameters)
        assert set(parameters) - set(algorithm._rules) <= {"cost"}
    assert set(Inputs._lasting) <= {name for algorithm in ALGORITHMS for name in algorithm().get_params()}
