"""Rows that belong together: never in different folds, on one side of early stopping, routed by scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from minrisk import ALGORITHMS, Chunks, MinRiskClassifier, REBELClassifier
from minrisk.boosting.monitors import split_rows
from minrisk.data.categories import PRIOR, SHARE_STEP, Categories
from minrisk.data.groups import placed_groups
from minrisk.data.row_keys import numbered_keys, odd_numbers, row_keys
from minrisk.ensemble.folds import class_keys, drawn_rows, fold_weights, folds_of, grouped_folds
from tests.helpers.common import few_are_many
from tests.helpers.partitions import Divided, divide
from tests.rows.test_pieces import content


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[:, :5], y


@pytest.fixture(scope="module")
def patients():
    """Rows of 60 patients, whose class a feature says nearly, and who know themselves by another."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), rng.integers(1, 12, 60))
    ill = rng.integers(0, 2, 60)[patient]
    X = np.c_[ill + rng.normal(size=len(ill)), rng.normal(size=60)[patient], rng.normal(size=(len(ill), 2))]
    return X, ill, patient


def small(algorithm, **parameters):
    return algorithm(**{"n_estimators": 5, "random_state": 0, **parameters})


def together(folds, group):
    """Whether no group has rows in two folds."""
    return all(len(set(folds[group == g])) == 1 for g in np.unique(group))


def made_groups(rng, n, n_groups, K):
    """Groups of many sizes, of which some are mostly of one class."""
    group = np.unique(rng.choice(n_groups, n, p=rng.dirichlet(np.full(n_groups, 0.5))), return_inverse=True)[1]
    codes = np.where(rng.random(n) < 0.5, rng.integers(0, K, n_groups)[group], rng.integers(0, K, n))
    return group, np.unique(codes, return_inverse=True)[1]


def spread(folds, codes):
    """Standard deviation over folds of the share of each class, in the mean: what StratifiedGroupKFold looks at."""
    counts = np.array([np.bincount(codes[folds == f], minlength=codes.max() + 1) for f in range(folds.max() + 1)])
    return np.mean(np.std(counts / counts.sum(axis=0), axis=0))


# -- folds ---------------------------------------------------------------------------------------------------------------
def folds_by(group, codes, n_folds=4, seed=0, X=None, weight=None):
    X = np.random.default_rng(5).integers(0, 256, (3, len(codes)), dtype=np.uint8) if X is None else X
    keys = row_keys(X, odd_numbers(np.random.default_rng(9), len(X)))
    weights = fold_weights(codes, np.ones(len(codes)) if weight is None else weight)
    keys = class_keys(keys, codes, seed)
    return grouped_folds(group, codes, n_folds, keys, weights, drawn_rows(group, keys, weights))


@settings(max_examples=60, deadline=None)
@given(st.integers(8, 200), st.integers(2, 40), st.integers(1, 6), st.integers(2, 6), st.integers(0, 10**6))
def test_groups_are_whole_and_no_fold_is_empty(n, n_groups, K, n_folds, seed):
    group, codes = made_groups(np.random.default_rng(seed), n, n_groups, K)
    if group.max() == 0:
        return
    folds = folds_by(group, codes, n_folds, seed)
    assert together(folds, group)
    assert set(folds) == set(range(min(n_folds, group.max() + 1, n // 2)))


def test_classes_are_spread_as_evenly_as_scikit_learn_does():
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        group, codes = made_groups(rng, 300, int(rng.integers(8, 60)), int(rng.integers(2, 6)))
        theirs = np.empty(300, dtype=int)
        for f, (_, test) in enumerate(
            StratifiedGroupKFold(4, shuffle=True, random_state=seed).split(np.zeros(300), codes, group)
        ):
            theirs[test] = f
        found.append([spread(folds_by(group, codes), codes), spread(theirs, codes)])
    ours, scikit_learns = np.mean(found, axis=0)
    assert ours < 1.02 * scikit_learns


@settings(max_examples=40, deadline=None)
@given(st.integers(10, 150), st.integers(2, 30), st.integers(1, 5), st.integers(0, 10**6))
def test_neither_the_order_of_rows_nor_names_of_groups_matter(n, n_groups, K, seed):
    rng = np.random.default_rng(seed)
    group, codes = made_groups(rng, n, n_groups, K)
    if group.max() == 0:
        return
    X = rng.integers(0, 3, (2, n), dtype=np.uint8)
    X[:, : n // 2] = 0  # groups that are equal in their bins
    folds, other, order = folds_by(group, codes, X=X), rng.permutation(group.max() + 1), rng.permutation(n)
    again = folds_by(other[group][order], codes[order], X=X[:, order])
    back = np.empty(n, dtype=int)
    back[order] = again
    rows = [np.c_[X.T, codes, own][np.lexsort(np.c_[X.T, codes, own].T)] for own in (folds, back)]
    np.testing.assert_array_equal(*rows)  # equal groups may change places
    assert together(back, group)


def test_folds_of_groups_depend_on_the_seed_and_on_no_row_of_nearly_no_weight():
    group, codes = np.repeat(np.arange(40), 4), np.tile([0, 1, 0, 1], 40)
    X, weight = np.arange(160)[None], np.random.default_rng(0).uniform(0.5, 2, 160)
    folds = folds_by(group, codes, X=X, weight=weight)
    assert not np.array_equal(folds_by(group, codes, seed=1, X=X, weight=weight), folds)
    for more in range(10):
        with_it = folds_by(
            np.append(group, more),
            np.append(codes, more % 2),
            X=np.append(X, [[160 + more]], axis=1),
            weight=np.append(weight, 1e-9),
        )
        np.testing.assert_array_equal(with_it[:-1], folds)
    np.testing.assert_array_equal(folds_by(group, codes, X=X, weight=weight * np.linspace(1, 1 + 1e-7, 160)), folds)


def test_groups_of_one_row_are_none(wine):
    X, y = wine
    rows, ones, thresholds = np.arange(len(y)), (np.ones(len(y)),), list(np.median(X, axis=0)[:, None])
    found = folds_of(None, X, thresholds, y, rows, y, 0, ones, group=rows[::-1])
    np.testing.assert_array_equal(found, folds_of(None, X, thresholds, y, rows, y, 0, ones))
    parts = split_rows(y, 0.2, 3, rows[::-1]), split_rows(y, 0.2, 3)
    for own, usual in zip(*parts, strict=True):
        np.testing.assert_array_equal(own, usual)


def test_many_groups_are_placed_in_a_second_and_the_smallest_drawn():
    rng = np.random.default_rng(0)
    group = np.concatenate([np.arange(50_000), rng.integers(0, 100, 100_000)])
    codes = rng.integers(0, 3, len(group))
    part = placed_groups(group, codes, np.full(8, 1 / 8), numbered_keys(np.arange(50_000), 0), most=1000)
    counts = np.array([np.bincount(codes[part[group] == f]) for f in range(8)])
    assert np.abs(counts / counts.sum(axis=0) - 1 / 8).max() < 0.02  # of the hundred large ones 12 or 13 are in a part
    folds = folds_by(group, codes, 8, X=np.arange(len(group))[None])
    assert together(folds[:200], group[:200]) and np.abs(np.bincount(folds) / len(group) - 1 / 8).max() < 0.002


# -- fits -----------------------------------------------------------------------------------------------------------------
def drawn(monkeypatch):
    """The folds that fits take, each with rows numbered as they were."""
    found = []

    def watched(cv, X, thresholds, y, rows, *others, **more):
        folds = folds_of(cv, X, thresholds, y, rows, *others, **more)
        found.append((np.asarray(rows).copy(), np.asarray(folds)))
        return folds

    monkeypatch.setattr("minrisk.ensemble.table.folds_of", watched)
    return found


def test_folds_of_a_fit_keep_groups_whole_whatever_names_them(patients, monkeypatch, tmp_path):
    X, y, patient = patients
    found, named = drawn(monkeypatch), [f"patient {k:02}" for k in patient]
    expected = content(small(MinRiskClassifier, pool=False).fit(X, y, groups=patient), tmp_path)
    ((rows, folds),) = found
    assert together(folds, patient[rows]) and len(set(folds)) == 4
    small(MinRiskClassifier, pool=False).fit(X, y)
    assert not together(found[1][1], patient[found[1][0]])
    for groups in (
        patient * 1.5,
        named,
        np.array(named),
        np.array(named, dtype=object),
        np.array(patient, dtype="datetime64[D]"),
        pd.Series(named),
        pd.Series(named, dtype="category"),
        pd.Series(patient, dtype="Int64"),
        pl.Series(named),
        pd.Index(patient),
    ):
        assert content(small(MinRiskClassifier, pool=False).fit(X, y, groups=groups), tmp_path) == expected


def test_left_out_groups_say_what_new_ones_will(patients):
    """Patients are known again by a feature, which rows of others cannot tell: only whole groups know."""
    X, y, patient = patients
    X = X[:, 1:2]  # who it is, and nothing else
    apart = small(MinRiskClassifier, n_estimators=30, pool=False).fit(X, y, groups=patient)
    mixed = small(MinRiskClassifier, n_estimators=30, pool=False).fit(X, y)
    assert mixed.selection_[0]["risk"] < 0.25 < apart.selection_[0]["risk"]


def test_new_groups_are_judged_better():
    """Without groups rows of the same patient choose the rounds and the temperature, and the model is far too sure."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(400), rng.integers(2, 20, 400))
    about = rng.normal(size=(400, 6))
    X = about[patient] + 0.15 * rng.normal(size=(len(patient), 6))
    y = (about[:, 0] + 0.8 * rng.normal(size=400) > 0)[patient].astype(int)
    known, new = patient < 200, patient >= 200
    losses = [
        log_loss(y[new], MinRiskClassifier(random_state=0).fit(X[known], y[known], groups=groups).predict_proba(X[new]))
        for groups in (None, patient[known])
    ]
    assert losses[1] < 0.7 * losses[0]


def test_rows_of_no_weight_are_of_no_group(patients, tmp_path):
    X, y, patient = patients
    weight = (patient < 40) + 0.0
    some = small(MinRiskClassifier).fit(X, y, weight, groups=patient)
    kept = weight > 0
    np.testing.assert_array_equal(
        some.predict_proba(X), small(MinRiskClassifier).fit(X[kept], y[kept], groups=patient[kept]).predict_proba(X)
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_estimator_takes_them_and_forgets_them(algorithm, patients, tmp_path):
    X, y, patient = patients
    model = small(algorithm).fit(X, y, groups=patient)
    assert not any("group" in name for name in vars(model))
    same = content(model, tmp_path) == content(small(algorithm).fit(X, y), tmp_path)
    assert same == (algorithm is not MinRiskClassifier)


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if "early_stopping" in a._rules])
def test_early_stopping_sets_whole_groups_apart(algorithm, patients, monkeypatch):
    X, y, patient = patients
    found = []
    monkeypatch.setattr(
        "minrisk.boosting.monitors.split_rows", lambda *given: found.append(split_rows(*given)) or found[-1]
    )
    small(algorithm, early_stopping=True, validation_fraction=0.3).fit(X, y, groups=patient)
    ((training, validating),) = found
    assert not set(patient[training]) & set(patient[validating])
    assert sorted(np.r_[training, validating]) == list(range(len(y)))
    assert 0.2 < len(validating) / len(y) < 0.4 and abs(y[validating].mean() - y.mean()) < 0.15


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 200), st.integers(2, 40), st.integers(1, 5), st.floats(0.05, 0.7), st.integers(0, 10**6))
def test_both_sides_have_whole_groups(n, n_groups, K, share, seed):
    group, codes = made_groups(np.random.default_rng(seed), n, n_groups, K)
    if group.max() == 0 or np.ceil(share * n) >= n:
        return
    training, validating = split_rows(codes, share, seed, group + 7)
    assert len(training) and len(validating)
    assert not set(group[training]) & set(group[validating])
    assert sorted(np.r_[training, validating]) == list(range(n))


def test_the_rows_set_apart_are_drawn():
    """The groups of each draw differ, and each is set apart about as often as it should be."""
    group, codes, times = np.repeat(np.arange(20), 5), np.tile([0, 1, 0, 1, 1], 20), np.zeros(20)
    for seed in range(200):
        times[np.unique(group[split_rows(codes, 0.2, seed, group)[1]])] += 1
    assert times.sum() == 200 * 4 and 15 < times.min() and times.max() < 70


# -- shares of categories ----------------------------------------------------------------------------------------------------
def of_patients(rng):
    """Each of 40 patients has a doctor of two, whose name thus tells two patients; rows may be copies."""
    patient = np.repeat(np.arange(40), rng.integers(2, 9, 40))
    y = rng.integers(0, 3, 40)[patient]
    return (
        pd.DataFrame(
            {"doctor": pd.Categorical([f"doctor {k // 2}" for k in patient]), "x": rng.integers(0, 2, len(y))}
        ),
        y,
        patient,
    )


def learnt(X, y, group=None, weight=None):
    found = Categories.of(X)
    weight = np.ones(len(y)) if weight is None else weight
    return found.learn(np.asarray(found.coded(X)[0]), y, weight, list(X.columns), group)


def test_shares_of_a_row_are_those_of_other_groups():
    """The one patient of a doctor is told of the other, who is told nothing; what rows of the same say is not among them."""
    X, y, patient = of_patients(np.random.default_rng(0))
    categories, numbers = learnt(X, y, patient)
    table, own = categories.columns[0].table, numbers[:, 2:]
    np.testing.assert_array_equal(table, learnt(X, y)[0].columns[0].table)  # of new rows
    overall = np.bincount(y) / len(y)
    for d in np.unique(patient // 2):
        rows = [np.flatnonzero(patient == p) for p in (2 * d, 2 * d + 1)]
        assert all(len(np.unique(own[some], axis=0)) == 1 for some in rows)
        first, second = sorted(rows, key=lambda some: np.abs(own[some[0]] - overall).max())
        np.testing.assert_allclose(own[first[0]], overall, atol=SHARE_STEP)
        told = (np.bincount(y[first], minlength=3) + PRIOR * overall) / (len(first) + PRIOR)
        np.testing.assert_allclose(own[second[0]], told, atol=SHARE_STEP)
    assert np.corrcoef(own[np.arange(len(y)), y], learnt(X, y)[1][:, 2:][np.arange(len(y)), y])[0, 1] < 0.95


def test_a_name_that_is_one_group_says_nothing():
    X, y, patient = of_patients(np.random.default_rng(1))
    own = learnt(X, y, patient // 2)[1]
    assert np.isnan(own[:, 0]).all() and len(np.unique(own[:, 2:], axis=0)) == 1
    assert np.isnan(learnt(X, y)[1][:, 0]).sum() == 20  # the first row of each doctor


@pytest.mark.parametrize("seed", range(5))
def test_shares_depend_neither_on_order_nor_on_copies(seed):
    rng = np.random.default_rng(seed)
    X, y, patient = of_patients(rng)
    numbers = learnt(X, y, patient)[1]
    order = rng.permutation(len(y))
    again = learnt(X.iloc[order], y[order], rng.permutation(40)[patient][order])[1]
    rows = [np.c_[own, y[at]][np.lexsort(np.c_[own, y[at]].T)] for own, at in ((numbers, slice(None)), (again, order))]
    np.testing.assert_array_equal(*rows)  # groups of equal rows may change places
    weight = rng.integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    found = learnt(X.iloc[rows], y[rows], patient[rows])[1], learnt(X, y, patient, weight.astype(float))[1][rows]
    np.testing.assert_allclose(*(own[:, 2:] for own in found))  # codes follow the number of rows


@pytest.mark.parametrize("group", [lambda n: np.arange(n), lambda n: np.zeros(n, dtype=int)])
def test_single_rows_and_all_rows_are_no_groups(group):
    X, y, _ = of_patients(np.random.default_rng(2))
    np.testing.assert_array_equal(learnt(X, y, group(len(y)))[1], learnt(X, y)[1])


# -- splitters, and what cannot be -----------------------------------------------------------------------------------------
def test_splitters_are_told_of_groups(patients, monkeypatch, tmp_path):
    X, y, patient = patients
    hospital, found = patient % 5, drawn(monkeypatch)
    one = small(MinRiskClassifier, cv=LeaveOneGroupOut()).fit(X, y, groups=hospital)
    assert together(found[0][1], hospital[found[0][0]]) and found[0][1].max() == 4
    pairs = list(LeaveOneGroupOut().split(X, y, hospital))
    assert content(one, tmp_path) == content(small(MinRiskClassifier, cv=pairs).fit(X, y), tmp_path)
    splitter = StratifiedGroupKFold(3)
    small(MinRiskClassifier, cv=splitter).fit(X, y, groups=patient)
    assert together(found[-1][1], patient[found[-1][0]])
    with pytest.raises(ValueError, match="The 'groups' parameter should not be None"):
        small(MinRiskClassifier, cv=GroupKFold(3)).fit(X, y)


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
@pytest.mark.parametrize(
    "cv", [KFold(4, shuffle=True, random_state=0), list(KFold(4, shuffle=True, random_state=0).split(np.zeros(346)))]
)
def test_splits_that_divide_groups_are_refused(cv, patients):
    X, y, patient = patients
    if isinstance(cv, list):
        cv = list(KFold(4, shuffle=True, random_state=0).split(X))
    with pytest.raises(
        ValueError, match="^cv must leave rows of a group out together, but puts some in different folds: take one"
    ):
        MinRiskClassifier(cv=cv).fit(X, y, groups=patient)


def test_fewer_groups_than_folds_are_fewer_folds(wine, monkeypatch):
    X, y = wine
    found = drawn(monkeypatch)
    small(MinRiskClassifier, pool=False).fit(X, y, groups=np.arange(len(y)) % 3)
    assert len(set(found[0][1])) == 3
    with pytest.raises(
        ValueError,
        match=r"^groups must divide the rows into two groups or more, .* got one group: leave groups out, or set cv=1, .*\.$",
    ):
        MinRiskClassifier().fit(X, y, groups=np.zeros(len(y)))
    alone = small(MinRiskClassifier, cv=1)
    np.testing.assert_array_equal(
        alone.fit(X, y, groups=np.zeros(len(y))).predict_proba(X), alone.fit(X, y).predict_proba(X)
    )
    with pytest.raises(
        ValueError, match=r"^early_stopping sets whole groups apart, got one group: .*early_stopping=False\.$"
    ):
        REBELClassifier(early_stopping=True).fit(X, y, groups=["all"] * len(y))
    REBELClassifier(n_estimators=2).fit(X, y, groups=["all"] * len(y))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            lambda n: [None] + ["a"] * (n - 1),
            "^groups must hold a group for each row, got None in row 0: leave such rows out",
        ),
        (
            lambda n: np.r_[np.arange(n - 1.0), np.nan],
            "^groups must hold a group for each row, got nan in row 177: leave such rows out",
        ),
        (
            lambda n: np.array(["2020", "NaT"] * (n // 2), dtype="datetime64[s]"),
            "^groups must hold a group for each row, got NaT in row 1",
        ),
        (lambda n: np.arange(n - 1), "^groups must hold a group for each of the 178 rows, got 177"),
        (
            lambda n: np.zeros((n, 2)),
            r"^groups must hold a number or a text for each row, got shape \(178, 2\): give the values of one column, as X\['patient'\]",
        ),
        (
            lambda n: "garage",
            r"^groups must hold a number or a text for each row, got 'garage': .* as X\['garage'\]\.$",
        ),
        (
            lambda n: ["a"] * (n - 1) + [1],
            "^groups must hold numbers or texts, got both: 'a' in row 0 and 1 in row 177",
        ),
    ],
)
@pytest.mark.parametrize("algorithm", [MinRiskClassifier, REBELClassifier])
def test_groups_that_are_none_are_refused(algorithm, groups, message, wine):
    X, y = wine
    with pytest.raises(ValueError, match=message):
        algorithm().fit(X, y, groups=groups(len(y)))


def test_missing_groups_of_frames_are_refused(wine):
    X, y = wine
    for dtype in ("string", "Int64", "category"):
        groups = pd.Series([None, *range(len(y) - 1)], dtype="Int64").astype(dtype)
        with pytest.raises(ValueError, match=r"^groups must hold a group for each row, got .* in row 0"):
            MinRiskClassifier().fit(X, y, groups=groups)


def test_chunks_have_groups_beside_them(patients, monkeypatch, tmp_path):
    X, y, patient = patients
    chunks = Chunks(lambda: ((X[a : a + 50], y[a : a + 50]) for a in range(0, len(y), 50)))
    expected = content(small(MinRiskClassifier).fit(X, y, groups=patient), tmp_path)
    for kept in (1 << 22, 10):
        monkeypatch.setattr("minrisk.estimator.inputs.KEPT_VALUES", kept)
        assert content(small(MinRiskClassifier).fit(chunks, groups=patient), tmp_path) == expected
        with pytest.raises(ValueError, match="groups must hold a group for each of the"):
            small(MinRiskClassifier).fit(chunks, groups=patient[1:])


def test_many_rows(patients, monkeypatch):
    """Folds of 20 000 rows or more are drawn by numbers."""
    few_are_many(monkeypatch, 100)
    found = drawn(monkeypatch)
    X, y, patient = patients
    small(MinRiskClassifier, pool=False).fit(X, y, groups=patient)
    assert together(found[0][1], patient[found[0][0]]) and len(set(found[0][1])) == 4


def test_collections_have_none(patients, monkeypatch):
    divide(monkeypatch)
    X, y, patient = patients
    cuts = [0, 100, len(y)]
    with pytest.raises(
        ValueError, match=r"^groups keep rows together that are here: leave groups out for Dask collections\.$"
    ):
        REBELClassifier().fit(Divided(X, cuts), Divided(y, cuts), groups=patient)


# -- scikit-learn's routing ------------------------------------------------------------------------------------------------
class Seen(MinRiskClassifier):
    """Keeps what fits were given."""

    seen = []

    def fit(self, X, y=None, sample_weight=None, cost=None, *, groups=None):
        Seen.seen.append((len(X), sample_weight, cost, groups))
        return super().fit(X, y, sample_weight, cost, groups=groups)


def test_weights_costs_and_groups_are_routed(patients):
    X, y, patient = patients
    rng = np.random.default_rng(3)
    weight, cost = rng.integers(1, 4, len(y)).astype(float), rng.uniform(1, 2, (len(y), 2)) * (y[:, None] != [0, 1])
    with config_context(enable_metadata_routing=True):
        model = Seen(n_estimators=3, cv=2, pool=False, random_state=0)
        model.set_fit_request(sample_weight=True, cost=True, groups=True).set_score_request(
            sample_weight=True, cost=True
        )
        search = GridSearchCV(
            make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model),
            {"seen__max_leaf_nodes": [2, 4]},
            cv=GroupKFold(3),
            error_score="raise",
        )
        Seen.seen.clear()
        search.fit(X, y, sample_weight=weight, cost=cost, groups=patient)
    assert len(Seen.seen) == 2 * 3 + 1
    splits = [train for train, _ in GroupKFold(3).split(X, y, patient)] * 2
    for (n, own_weight, own_cost, own_groups), train in zip(Seen.seen, [*splits, np.arange(len(y))], strict=True):
        assert n == len(train)
        np.testing.assert_array_equal(own_weight, weight[train])
        np.testing.assert_array_equal(own_cost, cost[train])
        np.testing.assert_array_equal(own_groups, patient[train])
    direct = clone(model).fit(StandardScaler().fit_transform(X), y, weight, cost, groups=patient)
    again = (
        search.best_estimator_[-1]
        .set_params(max_leaf_nodes=None)
        .fit(StandardScaler().fit_transform(X), y, weight, cost, groups=patient)
    )
    np.testing.assert_array_equal(again.predict_proba(X), direct.predict_proba(X))


def test_what_is_not_asked_for_is_not_routed(patients):
    X, y, patient = patients
    with config_context(enable_metadata_routing=True):
        model = Seen(n_estimators=2, cv=2, pool=False, random_state=0).set_fit_request(groups=False)
        Seen.seen.clear()
        cross_validate(model, X, y, cv=GroupKFold(2), params={"groups": patient})
    assert [groups for *_, groups in Seen.seen] == [None, None]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_estimator_can_be_asked_for_them(algorithm):
    with config_context(enable_metadata_routing=True):
        model = algorithm().set_fit_request(sample_weight=True, cost=True, groups=True)
        assert set(model.get_metadata_routing().fit.requests) >= {"sample_weight", "cost", "groups"}


# -- sparse rows -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_features", [6, 2100])
def test_sparse_rows_have_the_folds_of_others(n_features, patients, tmp_path):
    from scipy.sparse import csr_array

    _, y, patient = patients
    rng = np.random.default_rng(4)
    X = np.where(rng.random((len(y), n_features)) < 0.01, 1.0, 0.0)
    X[:, 0] += y * rng.integers(0, 2, len(y))
    model = small(MinRiskClassifier, pool=False, class_weight="balanced")
    assert content(model.fit(csr_array(X), y, groups=patient), tmp_path) == content(
        model.fit(X, y, groups=patient), tmp_path
    )
