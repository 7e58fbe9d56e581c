"""`time_budget` of `MinRiskClassifier`: how long fits take, and that more time never costs more, by left-out rows."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.before_after import blobs
from minrisk import MinRiskClassifier
from minrisk.ensemble import defaults
from minrisk.ensemble import driver as timing
from minrisk.ensemble.driver import Driver, Pace
from minrisk.ensemble.trees import Varied
from tests.helpers.common import few_are_many, slow_after


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on when it is told to."""
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: now.seconds))
    return now


def test_what_is_left_of_a_budget(clock):
    whole = Driver(seconds=10.0)
    clock.seconds += 4.0
    assert whole.left() == pytest.approx(6.0)
    whole.kept = 2.0
    assert whole.left() == pytest.approx(4.0) and whole.until(0.25).left() == pytest.approx(1.0)
    assert (free := Driver()).left() == np.inf and free.until(0.5) is free


def steps(pace, clock, seconds, finishing=0.0, wanted=1000):
    """Rounds that are gone on to, each of which takes so many seconds."""
    reached, made = 0, []
    while reached < wanted:
        following = pace.next(reached, min(wanted, max(5, int(1.25 * reached))), finishing)
        if following == reached:
            break
        clock.seconds += seconds(reached, following)
        made.append(reached := following)
    return made


@pytest.mark.parametrize("finishing", [0.0, 0.2])
@pytest.mark.parametrize("each", [0.01, 0.1, 0.7])
def test_members_go_on_as_far_as_time_allows(clock, each, finishing):
    made = steps(Pace(Driver(seconds=20.0)), clock, lambda first, last: each * (last - first), finishing, 10**6)
    assert 0.9 * 20.0 / (1.0 + finishing) <= clock.seconds - 100.0 <= 20.0 / (1.0 + finishing)
    assert made[0] == 5


def test_slow_first_rounds_do_not_end_a_fit(clock):
    """As where kernels are compiled."""
    slow_then_quick = steps(
        Pace(Driver(seconds=20.0)), clock, lambda first, last: 0.01 * (last - first) if first else 12.0, wanted=10**6
    )
    assert 19.0 <= clock.seconds - 100.0 <= 20.0 and slow_then_quick[-1] > 600


def test_the_first_rounds_are_made_however_short_the_time(clock):
    assert steps(Pace(Driver(seconds=0.0)), clock, lambda first, last: 1.0) == [5]
    assert steps(Pace(Driver()), clock, lambda first, last: 1.0)[-1] == 1000


def test_settings_that_are_stated_are_not_varied():
    random = np.random.RandomState(0)
    drawn = [Varied.drawn(random, frozenset({"max_leaf_nodes"})) for _ in range(20)]
    assert {factors.pop("max_leaf_nodes") for factors in drawn} == set(defaults.VARIED["max_leaf_nodes"])
    assert all(factors == dict.fromkeys(factors, 1.0) and len(factors) == 3 for factors in drawn)


def noisy(n=600):
    """Five classes that overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    return rng.normal(size=(n, 8)) + np.eye(5, 8)[y], y


@pytest.mark.parametrize(
    "options", slow_after(2, [{}, {"cv": 1}, {"surrogate": "exponential"}, {"pool": False}, {"surrogate": "gll"}])
)
def test_a_fit_takes_its_time_and_more_never_costs_more(options, processor_clock):
    X, y = noisy()
    MinRiskClassifier(**options).fit(X, y)  # kernels
    risks = []
    for seconds in (0.3, 1.2):
        begun = time.perf_counter()
        model = MinRiskClassifier(random_state=0, time_budget=seconds, **options).fit(X, y)
        taken = time.perf_counter() - begun
        assert taken < 1.2 * seconds + 0.5
        risks.append(model.selection_[0]["pooled_risk"])
        assert len(model.predict(X)) == len(y)
    if options.get("cv") == 1:
        assert risks == [None] * 2
    else:
        assert risks[1] <= risks[0]


def test_time_that_is_left_is_used_for_variations(processor_clock):
    X, y = noisy()
    MinRiskClassifier().fit(X, y)
    begun = time.perf_counter()
    model = MinRiskClassifier(random_state=0, time_budget=2.5, n_estimators=10).fit(X, y)
    assert time.perf_counter() - begun > 0.8 * 2.5
    assert model.n_iter_ <= 10
    assert {line["surrogate"] for line in model.selection_} == {"softmax", "exponential"}
    assert sum(line["share"] for line in model.selection_ if line["surrogate"] == model.surrogate_) == pytest.approx(1)


def test_rounds_that_their_price_ended_go_on_first(monkeypatch, processor_clock):
    X = np.random.default_rng(0).normal(size=(2000, 4))
    y = (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] > 0)
    monkeypatch.setattr(defaults, "DEAR_WORK", 1e5)
    begun, made = [], Varied.__init__
    monkeypatch.setattr(Varied, "__init__", lambda own, *args: (begun.append((own, args[3])), made(own, *args))[1])
    model = MinRiskClassifier(random_state=0, time_budget=3.0, pool=False, surrogate="softmax").fit(X, y)
    (kind, rounds), *others = begun
    assert rounds is not None and all(later is None for _, later in others)
    first = kind.member(0)
    assert len(first.progress.trees) == len(rounds[0].trees) > 0
    lines = {line["variant"]: line["n_rounds"] for line in model.selection_[:2]}
    assert lines["varied"] > len(rounds[0].trees)


def test_nothing_is_tried_where_nothing_can_be_gained(processor_clock):
    X, y = blobs(200, 5, 2)
    X[:, 0] += 100 * y
    begun = time.perf_counter()
    MinRiskClassifier(random_state=0, time_budget=600.0).fit(X, y)
    assert time.perf_counter() - begun < 60.0
    rng = np.random.default_rng(0)
    begun = time.perf_counter()
    MinRiskClassifier(random_state=0, time_budget=600.0).fit(rng.normal(size=(60, 2)), rng.integers(0, 2, 60))
    assert time.perf_counter() - begun < 60.0


def test_many_rows_within_a_budget(monkeypatch, processor_clock):
    few_are_many(monkeypatch, 200)
    X, y = noisy(2000)
    model = MinRiskClassifier(random_state=0, time_budget=2.5).fit(X, y)
    assert all(line["risk"] is not None for line in model.selection_)
    assert {line["variant"] for line in model.selection_} >= {"plain", "random"}


def test_costs_per_row_within_a_budget(processor_clock):
    X, y = noisy()
    costs = (1 - np.eye(5))[y] * (1.0 + (X[:, :1] > 0))
    MinRiskClassifier().fit(X, y, cost=costs)  # kernels
    begun = time.perf_counter()
    model = MinRiskClassifier(random_state=0, time_budget=2.0).fit(X, y, cost=costs)
    assert time.perf_counter() - begun < 3.0 and model.cost_regression_ is not None
