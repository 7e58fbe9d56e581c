"""Defaults of `MinRiskClassifier` on many rows: what they are, and that rows in any order, threads and pieces agree."""

import numpy as np
import pytest

from benchmarks.before_after import COSTS, blobs
from minrisk import MinRiskClassifier
from minrisk.ensemble.defaults import Settings, first_rounds, last_rounds
from tests.helpers.common import crossed, few_are_many
from tests.helpers.pieces import in_pieces
from tests.rows.test_pieces import content


@pytest.fixture
def many(monkeypatch):
    """What holds for many rows, from 200 on."""
    few_are_many(monkeypatch, 200)


def noise(n=400):
    """Two classes in three features that hardly tell them apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 3 * rng.normal(size=n) > 0).astype(int)


def kinds(model):
    return [line["variant"] for line in model.selection_]


@pytest.mark.parametrize(
    ("n_rows", "n_features", "rate", "smoothing"),
    [
        (100, 10, 0.5, 9.9e-4),
        (10_000, 10, 0.5, 5e-4),
        (15_001, 10, 0.5, 4e-4),
        (20_001, 10, 0.433, 3.3e-4),
        (30_001, 10, 0.3535, 2.5e-4),
        (240_000, 10, 0.35, 4e-5),
        (10**6, 10, 0.35, 9.9e-6),
        (10**6, 60_000, 0.35, 9.9e-6),
        (10_000, 60_000, 0.5, 1.43e-5),
    ],
)
def test_what_is_left_open_follows_the_data(n_rows, n_features, rate, smoothing):
    given = MinRiskClassifier().get_params()
    found = Settings.of(given, n_rows, n_features)
    assert found.learning_rate == pytest.approx(rate, rel=1e-3) and found.smoothing == pytest.approx(
        smoothing, rel=0.02
    )
    stated = Settings.of({**given, "learning_rate": 0.7, "smoothing": 0.0}, n_rows, n_features)
    assert (stated.learning_rate, stated.smoothing) == (0.7, 0.0)


def test_last_rounds_leave_room_for_themselves():
    for n in (20, 200, 5000, 40_000, 10**6):
        for most in (5, 60, 200, 1000):
            first = first_rounds(n, most)
            assert 0 <= most - first - last_rounds(n, first, most) <= 1
    assert last_rounds(15_000, 200, 1000) == 40 and last_rounds(10**6, 200, 1000) == 1


def test_many_rows_have_all_kinds_of_four_members(many):
    X, y = noise()
    model = MinRiskClassifier(random_state=0).fit(X, y)
    assert model.model_.trees_per_round >= 4 and "random" in kinds(model)


def test_stated_folds_have_a_member_each(many):
    X, y = blobs(480, 6, 3)
    model = MinRiskClassifier(random_state=0, cv=3, pool=False).fit(X, y)
    assert model.model_.trees_per_round == 3


@pytest.mark.parametrize(
    ("make", "options"),
    crossed([lambda: blobs(480, 6, 3), noise], [{}, {"surrogate": "exponential"}, {"surrogate": "gll", "cost": COSTS}]),
)
def test_threads_and_pieces_change_no_byte(make, options, many, monkeypatch, tmp_path):
    X, y = make()
    if options.get("cost") is not None and y.max() < 2:
        pytest.skip("costs of three classes")

    def fit(**more):
        return MinRiskClassifier(random_state=0, n_estimators=60, **options, **more).fit(X, y).set_params(n_jobs=None)

    whole = content(fit(), tmp_path)
    assert content(fit(n_jobs=2), tmp_path) == whole
    in_pieces(monkeypatch, 3)
    assert content(fit(), tmp_path) == whole
