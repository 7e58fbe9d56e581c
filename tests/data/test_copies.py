"""Copies of rows are weights, near copies stay together, and a few values that meet by chance are neither."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import KFold, PredefinedSplit

from minrisk import Chunks, DataWarning, MinRiskClassifier
from minrisk.data.copies import are_copies, content_keys, merged, near_copies, told_by
from minrisk.data.row_keys import odd_numbers
from minrisk.data.sparse import SparseRows
from minrisk.ensemble import table
from minrisk.ensemble.folds import merged_copies, rows_together
from tests.helpers.common import few_are_many
from tests.helpers.partitions import Divided, divide
from tests.rows.test_pieces import content


def world(seed, n, d=8, shift=0.0):
    """Rows, and labels that four columns say more or less."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (rng.random(n) < 1 / (1 + np.exp(-0.8 * X[:, :4].sum(axis=1) - shift))).astype(int), rng


def small(**parameters):
    return MinRiskClassifier(**{"n_estimators": 8, "pool": False, "random_state": 0, **parameters})


def warned(model, *given, **more):
    """What a fit says about the data."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(*given, **more)
    return [str(one.message) for one in told if issubclass(one.category, DataWarning)]


def folds_of_fit(monkeypatch, model, *given, **more):
    """The fold of each row of a fit, -1 for rows that are merged into others."""
    found, folds_of = [], table.folds_of

    def watched(cv, X, thresholds, y, rows, *others, **rest):
        folds = folds_of(cv, X, thresholds, y, rows, *others, **rest)
        found.append(np.full(len(X), -1))
        found[-1][rows] = folds
        return folds

    with monkeypatch.context() as patch:
        patch.setattr(table, "folds_of", watched)
        model.fit(*given, **more)
    return found[0]


# -- copies or coincidences ---------------------------------------------------------------------------------------------
def natural(rng, n):
    """Tables whose equal rows are coincidences, if they have any."""
    levels = np.eye(30)[np.minimum(rng.geometric(0.15, n) - 1, 29)]
    return {
        "three truth values": rng.integers(0, 2, (n, 3)),
        "twelve truth values": rng.integers(0, 2, (n, 12)),
        "rare flags": rng.random((n, 20)) < 0.02,
        "an indicator of each level": levels,
        "indicators of two columns": np.c_[levels, np.eye(5)[rng.integers(0, 5, n)]],
        "twin columns": np.repeat(rng.integers(0, 3, (n, 4)), 3, axis=1) * np.tile([1, 2, -1], 4),
        "one column": rng.integers(18, 90, (n, 1)),
        "one column that matters": np.c_[rng.integers(18, 318, n), rng.random((n, 4)) < 0.1],
        "answers that go together": np.clip(
            np.round(3 + rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, 10))), 1, 5
        ),
        "rounded": np.round(3 * rng.normal(size=(n, 3))),
        "six regions": rng.integers(0, 9, (6, 4))[rng.integers(0, 6, n)],
        "constants": np.zeros((n, 4)),
        "numbers": rng.normal(size=(n, 3)),
        "many zeros": rng.lognormal(size=(n, 8)) * (rng.random((n, 8)) < 0.3),
        "counts": rng.poisson(2, (n, 5)),
        "almost one column": np.round(rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 4))),
        "indicators of many columns": np.c_[tuple(np.eye(k)[rng.integers(0, k, n)] for k in (3, 5, 9, 4))],
    }


NATURAL = tuple(natural(np.random.default_rng(0), 50))


@pytest.mark.parametrize("n", [400, 4000])
@pytest.mark.parametrize("name", NATURAL)
def test_few_values_are_coincidences(name, n):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = natural(rng, n)[name].astype(float)
        assert not are_copies(X, rng.integers(0, 2, n), X.shape[1])
        assert not are_copies(SparseRows(csr_array(X)), rng.integers(0, 2, n), X.shape[1])


@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize("name", ["numbers", "one number among discrete columns", "full grid", "rounded"])
def test_copies_are_told_from_them(name, n):
    rng = np.random.default_rng(n)
    grid = np.stack(np.meshgrid(*[np.arange(6)] * 5), axis=-1).reshape(-1, 5)
    X = {
        "numbers": rng.normal(size=(n, 3)),
        "one number among discrete columns": np.c_[rng.normal(size=n), rng.integers(0, 3, (n, 12))],
        "full grid": rng.permutation(grid)[:n],
        "rounded": np.round(3 * rng.normal(size=(n, 8))),
    }[name].astype(float)
    if name != "full grid":
        X[rng.random(X.shape) < 0.05] = np.nan
    y, kept = rng.integers(0, 2, n), int(0.7 * n)
    ways = {"twice": np.repeat(np.arange(n), 2), "five times": np.repeat(np.arange(n // 5), 5)}
    if name != "full grid":  # of which a draw looks like one of any rows
        ways["some"] = np.r_[np.arange(kept), rng.choice(kept, n - kept)]
    for rows in ways.values():
        assert are_copies(X[rows], y[rows], X.shape[1])
        assert are_copies(SparseRows(csr_array(X[rows])), y[rows], X.shape[1])


@pytest.mark.parametrize("n", [400, 800])
@pytest.mark.parametrize("name", ["many zeros", "counts", "twelve truth values", "answers that go together"])
def test_copies_are_told_beside_coincidences(name, n):
    """Some rows are equal by chance, and there are more pairs of these than of copies."""
    rng = np.random.default_rng(n)
    X, y, rows = natural(rng, n)[name].astype(float), rng.integers(0, 2, n), rng.integers(0, n, 2 * n)
    assert not are_copies(X, y, X.shape[1])
    assert are_copies(X[rows], y[rows], X.shape[1])
    assert are_copies(SparseRows(csr_array(X[rows])), y[rows], X.shape[1])


@pytest.mark.parametrize("name", ["words", "flags", "bundles"])
def test_a_frequent_row_does_not_hide_that_all_are_there_twice(name):
    """Such as that without any word; of it there are hundreds."""
    rng = np.random.default_rng(1)
    n, bundle = 1500, rng.random((6, 40)) < 0.15
    X = {
        "words": rng.poisson(0.03 * rng.gamma(1, 1, 50), (n, 50)),
        "flags": rng.random((n, 25)) < 0.04,
        "bundles": (rng.random((n, 40)) < 0.02) | bundle[rng.integers(0, 6, n)] & (rng.random((n, 1)) < 0.7),
    }[name].astype(float)
    y = rng.integers(0, 2, n)
    assert not are_copies(X, y, X.shape[1])
    assert are_copies(np.tile(X, (2, 1)), np.tile(y, 2), X.shape[1])
    assert are_copies(SparseRows(csr_array(np.tile(X, (2, 1)))), np.tile(y, 2), X.shape[1])


def test_many_rows_are_told_by_some():
    numbers = np.arange(200_000)
    some = told_by(numbers, len(numbers))
    assert 19_000 < len(some) < 21_000
    part = np.r_[5:70_000, 90_000:150_000]  # by the number, wherever a row is
    np.testing.assert_array_equal(part[told_by(numbers[part], len(numbers))], np.intersect1d(part, some))


def test_weights_of_copies_do_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    key, weight, order = (
        rng.integers(0, 40, 300).astype(np.uint64),
        np.exp(5 * rng.normal(size=300)),
        rng.permutation(300),
    )
    (found, first), (again, _) = merged(key, weight), merged(key[order], weight[order])
    np.testing.assert_array_equal(first, [np.flatnonzero(key == own)[0] for own in key])
    for value in np.unique(key):
        own, other = found[key == value], again[key[order] == value]
        assert (
            own[0] == other[0] == pytest.approx(weight[key == value].sum())
            and not own[1:].any()
            and not other[1:].any()
        )
    np.testing.assert_array_equal(merged(np.zeros(7, dtype=np.uint64), np.full(7, 0.1))[0], [7 * 0.1, *np.zeros(6)])


# -- copies are weights -----------------------------------------------------------------------------------------------------
def as_array(X, rng):
    return X


def as_frame(X, rng):
    """With categories that have a column each, and with some that have shares of the classes."""
    categories = {name: [f"c{k}" for k in rng.integers(0, n, len(X))] for name, n in (("city", 4), ("town", 25))}
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(**categories)


def as_sparse(X, rng):
    return csr_array(np.where(X > -0.5, X, 0.0))


def taken(X, rows):
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


@pytest.mark.parametrize(
    ("made", "class_weight"), [(as_array, None), (as_array, "balanced"), (as_frame, None), (as_sparse, "balanced")]
)
def test_copies_are_weights(made, class_weight, tmp_path):
    X, y, rng = world(0, 250)
    X, times = made(X, rng), rng.integers(1, 4, 250)
    model = small(class_weight=class_weight, pool=True)
    expected = content(model.fit(X, y, sample_weight=times), tmp_path)
    rows = np.repeat(np.arange(250), times)
    assert content(model.fit(taken(X, rows), y[rows]), tmp_path) == expected
    later = np.r_[np.arange(250), rng.permutation(np.repeat(np.arange(250), times - 1))]
    assert content(model.fit(taken(X, later), y[later]), tmp_path) == expected


def test_copies_in_chunks_are_weights(monkeypatch, tmp_path):
    X, y, rng = world(8, 250)
    times = rng.integers(1, 4, 250)
    rows = rng.permutation(np.repeat(np.arange(250), times))
    whole = content(small().fit(X[rows], y[rows]), tmp_path)
    monkeypatch.setattr("minrisk.estimator.inputs.KEPT_VALUES", 100)
    chunks = Chunks(lambda: ((X[part], y[part]) for part in np.array_split(rows, 5)))
    assert content(small().fit(chunks), tmp_path) == whole


def test_copies_share_what_their_mistakes_cost(tmp_path):
    X, y, rng = world(1, 250)
    cost, rows = rng.uniform(1, 2, (250, 2)) * (1 - np.eye(2))[y], np.repeat(np.arange(250), 2)
    model = small()
    expected = content(model.fit(X, y, cost=cost), tmp_path)
    assert content(model.fit(X[rows], y[rows], cost=cost[rows]), tmp_path) == expected
    other = cost[rows] * np.tile([1.0, 2.0], 250)[:, None]
    assert merged_copies(X[rows], 8, y[rows], np.ones(500), other, None, None)[:2] == (True, None)
    group = rows_together(X[rows], 8, np.zeros(500), np.ones(500), True, None, None)
    assert len(np.unique(group)) == 250  # they pay otherwise, but are left out together


def test_copies_of_other_groups_stay(monkeypatch):
    X, y, _ = world(2, 200)
    rows, group = np.repeat(np.arange(200), 3), np.tile([0, 0, 1], 200) + 2 * np.repeat(np.arange(200), 3)
    folds = folds_of_fit(monkeypatch, small(), X[rows], y[rows], groups=group)
    np.testing.assert_array_equal(folds < 0, np.tile([False, True, False], 200))


def test_a_splitter_is_asked_once_and_has_all_rows(monkeypatch):
    """Copies are one row in each of its folds."""
    X, y, _ = world(3, 100)
    rows, asked = np.repeat(np.arange(100), 3), []
    of_rows = np.arange(300) % 3 // 2 + 2 * (np.arange(300) // 150)  # two copies in one fold, one in another

    class Told(PredefinedSplit):
        def split(self, X=None, y=None, groups=None):
            asked.append(len(y))
            return super().split()

    folds = folds_of_fit(monkeypatch, small(cv=Told(of_rows)), X[rows], y[rows])
    assert asked == [300]
    np.testing.assert_array_equal(folds < 0, np.tile([False, True, False], 100))
    np.testing.assert_array_equal(folds[folds >= 0], of_rows[folds >= 0])
    assert (
        merged_copies(X[rows], 8, y[rows], np.ones(200), None, None, 1).weight is not None
    )  # also where none are left out


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("weight", [1.0, 1e-9])
def test_a_few_equal_rows_of_other_classes_draw_no_folds_anew(many, weight, monkeypatch):
    if many:
        few_are_many(monkeypatch, 100)
    X, y, _ = world(4, 300)
    folds = folds_of_fit(monkeypatch, small(), X, y)
    twins = np.r_[np.arange(300), np.arange(20)]
    of_twins = folds_of_fit(
        monkeypatch, small(), X[twins], np.r_[y, 1 - y[:20]], sample_weight=np.r_[np.ones(300), np.full(20, weight)]
    )
    np.testing.assert_array_equal(of_twins[300:], of_twins[:20])
    assert np.sum(of_twins[:300] != folds) <= (30 if weight == 1.0 else 0)


@pytest.mark.parametrize("many", [False, True])
def test_equal_rows_of_other_classes_are_left_out_together(many, monkeypatch):
    if many:
        few_are_many(monkeypatch, 100)
    X, _, rng = world(4, 150)
    rows = np.repeat(np.arange(150), 4)
    folds = folds_of_fit(monkeypatch, small(), X[rows], rng.integers(0, 3, 600))
    own = folds.reshape(150, 4)
    assert all(len(np.unique(row[row >= 0])) == 1 for row in own) and (folds >= 0).sum() > 300
    sizes = np.bincount(folds[folds >= 0])
    assert len(sizes) > 3 and sizes.min() > 0.4 * sizes.mean()


def test_rows_elsewhere_are_left_out_with_their_copies(monkeypatch, tmp_path):
    few_are_many(monkeypatch, 100)
    X, y, rng = world(5, 300)
    rows, found = rng.permutation(np.repeat(np.arange(300), 2)), []
    drawn = table.drawn_folds
    seen = []
    monkeypatch.setattr(table, "drawn_folds", lambda *given: seen.append(drawn(*given)) or seen[-1])
    for cuts in ([0, 600], [0, 1, 1, 100, 350, 600]):
        divide(monkeypatch, n_shards=1)
        seen.clear()
        model = small(cv=4, n_estimators=3).fit(Divided(X[rows], cuts), Divided(y[rows], cuts))
        found.append(content(model, tmp_path))
        folds = next(own for own in seen if len(own) == 600)  # the driver has none
        assert all(len(set(folds[rows == k])) == 1 for k in range(300)) and len(set(folds)) == 4
    assert found[0] == found[1]


# -- near copies ---------------------------------------------------------------------------------------------------------------
def sought(X, label=None):
    keys = content_keys(X, np.arange(len(X)), X.shape[1], odd_numbers(np.random.default_rng(0), X.shape[1]))
    return near_copies(X, keys, label=label)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes, load_digits])
def test_known_tables_have_no_near_copies(load):
    X, first = np.unique(load().data, axis=0, return_index=True)
    assert sought(X) is None
    label = np.unique(load().target[first] // (50 if load is load_diabetes else 1), return_inverse=True)[1]
    rng = np.random.default_rng(0)
    for k in range(label.max() + 1):  # a class made rare
        rows = np.flatnonzero((label != k) | (rng.random(len(X)) < 0.3))
        assert sought(X[rows], label[rows] == k) is None


@pytest.mark.parametrize("n_copies", [40, 150])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_noisy_copies_of_a_rare_class_are_near_copies(n_copies, is_sparse):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 6)), np.zeros(2000, dtype=int)
    y[:40] = 1
    copied = np.resize(np.arange(40), n_copies)
    X = np.concatenate([X, X[copied] + 0.05 * rng.normal(size=(n_copies, 6))])
    y, of = np.append(y, np.ones(n_copies, dtype=int)), np.append(np.arange(2000), copied)
    rows = rng.permutation(len(y))
    assert sought(X) is None  # of all rows they are few
    given = SparseRows(csr_array(X[rows])) if is_sparse else X[rows]
    with pytest.warns(DataWarning, match="near copies"):
        group = rows_together(given, 6, y[rows], np.ones(len(y)), False, None, None)
    assert len(np.unique(np.stack([group, of[rows]]), axis=1).T) == 2000  # copies are in one group,
    assert len(np.unique(group)) >= 1990  # and hardly any other rows


@pytest.mark.parametrize("n", [200, 2000])
def test_independent_rows_have_no_near_copies(n):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        some = [
            rng.normal(size=(n, 5)),
            rng.normal(size=(n, 40)),
            np.exp(2 * rng.normal(size=(n, 8))),
            rng.standard_cauchy(size=(n, 6)),
            rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 8)),
            make_classification(n, 20, random_state=seed)[0],
            np.c_[rng.normal(size=(n, 5)), rng.integers(0, 2, (n, 12))],
            rng.normal(size=(n, 2)),
            3.0 * rng.integers(0, 5, (n, 1)) + rng.normal(size=(n, 6)),
            rng.poisson(100, (n, 6)),
            rng.poisson(rng.gamma(0.3, 30, (n, 20))),
            np.clip(rng.normal(size=(n, 6)), -1.7, 1.7),
            np.c_[np.arange(n), rng.integers(0, 2, (n, 12))],
            np.where(rng.random((n, 8)) < 0.15, 0.0, rng.normal(size=(n, 8))),
        ]
        assert [k for k, X in enumerate(some) if sought(X) is not None] == []


@pytest.mark.parametrize(("d", "jitter"), [(6, 0.03), (8, 0.1), (20, 0.1), (60, 0.1)])
@pytest.mark.parametrize("n", [400, 2000])
def test_snapshots_are_grouped(n, d, jitter):
    rng = np.random.default_rng(d)
    about = np.repeat(rng.normal(size=(n // 5, d)), 5, axis=0)
    X = np.exp(about + jitter * rng.normal(size=(n, d)))
    X[rng.random(X.shape) < 0.01] = np.nan
    order = rng.permutation(n)
    found = sought(X[order])
    own = np.empty(n, dtype=np.int64)
    own[order] = found.group
    assert found.share > 0.85
    whole = [len(set(own[k : k + 5])) == 1 for k in range(0, n, 5)]
    assert np.mean(whole) > 0.7 and np.bincount(own).max() < 40  # missing values set some apart
    again = sought(X)
    assert again.share == pytest.approx(found.share) and len(set(again.group)) == len(set(own)) == len(
        set(again.group * n + own)
    )


@pytest.mark.parametrize("n", [200, 2000])
def test_twin_columns_are_no_near_copies(n):
    rng = np.random.default_rng(n)
    km, age, town, places = (
        rng.integers(0, 1000, n),
        rng.integers(18, 90, n),
        rng.integers(0, n // 8, n),
        rng.random((n // 8, 2)),
    )
    some = [
        np.c_[km, km * 1.609, km**2, -km, np.log1p(km), rng.normal(size=n)],
        np.c_[age, age**2, age**3, 90 - age, rng.normal(size=n)],
        np.c_[town, places[town], rng.normal(size=(n, 2))],
    ]
    assert [k for k, X in enumerate(some) if sought(X) is not None] == []


def nearly_copied(way, X, rng):
    """Ten waves of each row, which differ in some columns."""
    waves = np.repeat(X, 10, axis=0)
    if way == "a row number":
        return np.c_[waves, np.arange(len(waves))]
    if way == "noise":
        return np.c_[waves, np.tile(np.arange(10), len(X)), rng.normal(size=(len(waves), X.shape[1] // 2))]
    for k in np.flatnonzero(np.arange(len(waves)) % 10):  # what has changed stays
        waves[k] = waves[k - 1]
        waves[k, rng.choice(X.shape[1], X.shape[1] // 6, replace=False)] = rng.normal(size=X.shape[1] // 6)
    return waves


@pytest.mark.parametrize("way", ["a row number", "noise", "changes"])
@pytest.mark.parametrize(("n", "d"), [(30, 12), (200, 12), (200, 30)])
def test_waves_that_differ_in_some_columns_are_grouped(way, n, d):
    rng = np.random.default_rng(d)
    X, order, own = (
        nearly_copied(way, rng.normal(size=(n, d)), rng),
        rng.permutation(10 * n),
        np.empty(10 * n, dtype=int),
    )
    own[order] = sought(X[order]).group
    whole = own.reshape(n, 10) == own[::10, None]
    assert whole.all(axis=1).mean() > 0.95 and np.bincount(own).max() == 10


@pytest.mark.parametrize("number", ["a row number", "noise"])
@pytest.mark.parametrize("name", ["missing", "zeros", "answers", "counts", "codes beside numbers"])
def test_copies_but_for_a_number_are_grouped(name, number):
    n = 800
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    some = {
        "missing": np.where(rng.random((n, 8)) < 0.4, np.nan, X),
        "zeros": np.maximum(X, 0.0),
        "answers": rng.integers(1, 6, (n, 15)),
        "counts": rng.poisson(3, (n, 7)),
        "codes beside numbers": np.c_[X[:, :3], rng.integers(0, 4, (n, 8))],
    }[name]

    def own(m):
        return np.arange(m) if number == "a row number" else rng.normal(size=m)

    assert sought(np.c_[some, own(n)].astype(float)) is None
    order = rng.permutation(2 * n)
    found = sought(np.c_[np.tile(some, (2, 1)), own(2 * n)].astype(float)[order])
    group = np.empty(2 * n, dtype=np.int64)
    group[order] = found.group
    assert np.mean(group[:n] == group[n:]) > 0.95


@pytest.mark.parametrize("name", ["coarse numbers", "answers", "a number among codes"])
def test_waves_of_few_values_are_grouped(name):
    rng = np.random.default_rng(3)
    X = {
        "coarse numbers": np.round(4 * rng.normal(size=(300, 7))),
        "answers": np.clip(np.round(3 + rng.normal(size=(300, 1)) + 0.7 * rng.normal(size=(300, 14))), 1, 5),
        "a number among codes": np.c_[rng.normal(size=300), rng.integers(0, 4, (300, 9))],
    }[name]
    waves, order, own = (
        np.c_[X.repeat(5, axis=0), np.tile(np.arange(5), 300)],
        rng.permutation(1500),
        np.empty(1500, dtype=int),
    )
    own[order] = sought(waves[order]).group
    assert np.mean(own.reshape(300, 5) == own[::5, None]) > 0.98 and len(np.unique(own)) > 280
    assert sought(np.c_[X, rng.integers(0, 5, 300)]) is None


def test_tables_of_all_combinations_have_no_waves():
    """Without one of the columns each row is there as often as that has values."""
    grid = np.stack(np.meshgrid(*[np.arange(k) for k in (4, 4, 3, 3, 4, 3)]), axis=-1).reshape(-1, 6)
    assert sought(grid.astype(float)) is None


def test_short_texts_that_are_repeated_are_no_waves():
    rng = np.random.default_rng(0)
    counts = np.array([np.bincount(rng.integers(0, 4, 3) + 4 * team, minlength=12) for team in rng.integers(0, 3, 300)])
    X = np.c_[
        counts / np.linalg.norm(counts, axis=1, keepdims=True), rng.integers(0, 2, 300)
    ]  # as TfidfVectorizer has them
    assert warned(small(), X, counts.reshape(300, 3, 4).sum(axis=2).argmax(axis=1)) == []


def test_waves_in_other_groups_are_told():
    X, y, rng = world(9, 40)
    X, customer = nearly_copied("noise", X, rng), np.repeat(np.arange(40), 10)
    assert warned(small(), X, y[customer], groups=customer) == []
    (said,) = warned(small(), X, y[customer], groups=np.arange(400))
    assert "about 400 of 400 rows have a near twin in another group" in said


def test_oversampling_with_noise_is_found():
    X, _, rng = world(6, 2000)
    rare = np.flatnonzero(X[:, 0] > 1.6)
    X = np.r_[X, X[rng.choice(rare, 1700)] + 0.03 * rng.normal(size=(1700, 8))]
    found = sought(X)
    assert 0.4 < found.share < 0.6 and np.bincount(found.group).max() < 60


def test_near_copies_are_told(monkeypatch):
    X, y, rng = world(7, 80)
    rows = np.repeat(np.arange(80), 5)
    X, y = X[rows] + 0.03 * rng.normal(size=(400, 8)), y[rows]
    (said,) = warned(small(), X, y)
    assert said == (
        "X holds near copies: about 400 of 400 rows have a near twin, and twins are left out together; say with groups= "
        "which rows belong together."
    )
    assert warned(small(), X, y, groups=rows) == []
    (said,) = warned(small(), X, y, groups=np.arange(400))
    assert "have a near twin in another group" in said
    assert warned(small(cv=1), X, y) == warned(small(cv=KFold(3)), X, y) == warned(small(), X[::5], y[::5]) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = folds_of_fit(monkeypatch, small(), X, y)
    assert np.all(folds.reshape(80, 5) == folds[::5, None])


# -- what is believed ----------------------------------------------------------------------------------------------------------
def copied(way, seed, n):
    X, y, rng = world(seed, n, shift=-2.0 if way == "balanced" else 0.0)
    every = np.arange(n)
    if way == "twice":
        return np.tile(X, (2, 1)), np.tile(y, 2)
    if way == "some":
        rows = np.r_[every[: int(0.7 * n)], rng.choice(int(0.7 * n), int(0.3 * n))]
    elif way == "balanced":
        rows = np.r_[every, rng.choice(np.flatnonzero(y), (y == 0).sum() - y.sum())]
    else:
        rows = np.repeat(every[: n // 5], 5)
    return X[rows] + (0.05 * rng.normal(size=(len(rows), 8)) if way == "snapshots" else 0.0), y[rows]


def believed_and_true(X, y, Z, t, weight=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = MinRiskClassifier(random_state=0, n_estimators=30).fit(X, y)
    return next(line["pooled_risk"] for line in model.selection_ if line["share"]), np.average(
        model.predict(Z) != t, weights=weight
    )


@pytest.mark.parametrize("way", ["twice", "some", "balanced", "snapshots"])
def test_what_is_believed_of_copies_is_true(way):
    found = []
    for seed, n in ((0, 600), (1, 2000), (2, 2000)):
        X, y = copied(way, seed, n)
        Z, t, _ = world(100 + seed, 8000, shift=-2.0 if way == "balanced" else 0.0)
        weight = np.where(t == 1, (t == 0).sum() / t.sum(), 1.0) if way == "balanced" else None
        found.append(believed_and_true(X, y, Z, t, weight))
    believed, true = np.mean(found, axis=0)
    assert true / 1.2 < believed < 1.2 * true


@pytest.mark.parametrize("way", ["a row number", "noise"])
def test_what_is_believed_of_waves_is_true(way):
    found = []
    for seed in range(2):
        X, y, rng = world(seed, 400)
        Z, t, _ = world(100 + seed, 1000)
        waves, others = nearly_copied(way, X, rng), nearly_copied(way, Z, rng)
        found.append(believed_and_true(waves, y.repeat(10), others, t.repeat(10)))
    believed, true = np.mean(found, axis=0)
    assert true / 1.2 < believed < 1.2 * true


@pytest.mark.parametrize(
    "name", ["three truth values", "twelve truth values", "twin columns", "answers that go together"]
)
def test_what_is_believed_of_few_values_is_true(name):
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = natural(rng, 7000)[name].astype(float)
        z = X - X.mean(axis=0)
        y = (rng.random(7000) < 1 / (1 + np.exp(-1.5 * z[:, :3].sum(axis=1)))).astype(int)
        found.append(believed_and_true(X[:1000], y[:1000], X[1000:], y[1000:]))
    believed, true = np.mean(found, axis=0)
    assert true / 1.2 < believed < 1.2 * true
