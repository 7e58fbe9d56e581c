"""Defaults of `MinRiskClassifier` on many rows: what they are, and that rows in any order, threads and pieces agree."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.before_after import COSTS, blobs
from minrisk import MinRiskClassifier
from minrisk.ensemble import defaults
from minrisk.ensemble.cross_fitting import first_rounds, last_rounds
from minrisk.ensemble.kind import Settings
from minrisk.ensemble.training import members_beside, usual_rounds
from tests.pieces import in_pieces
from tests.test_pieces import content


@pytest.fixture
def few_are_many(monkeypatch):
    """Defaults of many rows from 200 on."""
    monkeypatch.setattr(defaults, "MANY_ROWS", 200)


def noise(n=400):
    """Two classes in three features that hardly tell them apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 3 * rng.normal(size=n) > 0).astype(int)


def kinds(model):
    return [line["variant"] for line in model.selection_]


@pytest.mark.parametrize(
    ("n_rows", "n_features", "rate", "smoothing"),
    [(19_999, 10, 0.5, 1e-3), (20_000, 10, 0.3, 2.5e-4), (10**6, 10, 0.3, 5e-6), (5000, 3000, 0.5, 1e-5),
     (900, 3000, 0.5, 1e-3), (20_000, 3000, 0.3, 1e-5), (10**6, 3000, 0.3, 5e-6)],
)  # fmt: skip
def test_what_is_left_open_follows_the_data(n_rows, n_features, rate, smoothing):
    given = MinRiskClassifier().get_params()
    found = Settings.of(given, n_rows, n_features)
    assert found.learning_rate == rate and found.smoothing == pytest.approx(smoothing)
    stated = Settings.of({**given, "learning_rate": 0.7, "smoothing": 0.0}, n_rows, n_features)
    assert (stated.learning_rate, stated.smoothing) == (0.7, 0.0)


@pytest.mark.parametrize(("n_rounds", "more"), [(0, 3), (1, 3), (60, 3), (61, 2), (80, 2), (120, 1), (121, 0), (1000, 0)])
def test_members_beside_the_first_share_its_rounds(n_rounds, more):
    fit = SimpleNamespace(n_rounds=n_rounds, judged=[(0, 1.0), (n_rounds + 10, 1.0)])
    assert members_beside(fit, 2000) == more
    assert members_beside(fit, n_rounds + 10) == 0  # the caller ended it, not the left-out rows


def test_rounds_at_most():
    assert [usual_rounds(n) for n in (10, 19_999, 20_000, 500_000, 10**6, 10**7)] == [200, 200, 1000, 1000, 500, 200]


def test_members_of_many_rounds_have_no_last_ones():
    assert last_rounds(20_000, 240, 1000) == 48 and last_rounds(20_000, 241, 1000) == 0
    assert first_rounds(20_000, 1000) == 1000 and first_rounds(20_000, 240) == 200
    assert last_rounds(19_999, 600, 1000) == 120 and first_rounds(19_999, 1000) == 834


def test_one_member_where_rounds_are_many(few_are_many, monkeypatch):
    monkeypatch.setattr(defaults, "ROUNDS_TOGETHER", 5)
    X, y = blobs(480, 6, 3)
    model = MinRiskClassifier(random_state=0).fit(X, y)
    assert kinds(model) == ["plain"] and model.model_.trees_per_round == 1
    assert model.n_iter_ == model.selection_[0]["n_rounds"] > 5  # no last rounds


def test_more_members_and_kinds_where_rounds_are_few(few_are_many):
    X, y = noise()
    model = MinRiskClassifier(random_state=0).fit(X, y)
    assert model.model_.trees_per_round >= 4 and "linear" in kinds(model)


def test_stated_folds_have_a_member_each(few_are_many):
    X, y = blobs(480, 6, 3)
    model = MinRiskClassifier(random_state=0, cv=3, pool=False).fit(X, y)
    assert model.model_.trees_per_round == 3


@pytest.mark.parametrize("make", [noise, lambda: blobs(480, 6, 3)])
@pytest.mark.parametrize("options", [{}, {"surrogate": "exponential"}, {"surrogate": "gll", "cost": COSTS}])
def test_threads_and_pieces_change_no_byte(make, options, few_are_many, monkeypatch, tmp_path):
    X, y = make()
    if options.get("cost") is not None and y.max() < 2:
        pytest.skip("costs of three classes")

    def fit(**more):
        return MinRiskClassifier(random_state=0, n_estimators=60, **options, **more).fit(X, y).set_params(n_jobs=None)

    whole = content(fit(), tmp_path)
    assert content(fit(n_jobs=2), tmp_path) == whole
    in_pieces(monkeypatch, 3)
    assert content(fit(), tmp_path) == whole
