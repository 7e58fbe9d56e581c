"""Columns of categories."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score

from minrisk import DataWarning, MinRiskClassifier, ModelFileError, PIBoostClassifier, REBELClassifier, load, save
from minrisk.data import categories as module
from minrisk.data.categories import PRIOR, SHARE_STEP, Categories
from minrisk.data.frames import Frame
from tests.helpers.common import slow_but
from tests.helpers.forging import changed
from tests.helpers.ways import MADE, WAYS

MODELS = {
    **{name: make(n_estimators=20) for name, make in MADE.items()},
    "minrisk": MinRiskClassifier(n_estimators=30, random_state=0),
    "similarities": WAYS["similarities"](n_estimators=100),
    "stopping": REBELClassifier(n_estimators=20, early_stopping=True, random_state=0),
    "piboost": PIBoostClassifier(n_estimators=20, draw=None, max_depth=3),
}
LEADING = ("minrisk", "rebel", "similarities", "stopping", "mcboost", "structboost")  # others are slow


def birds(n=300, seed=0):
    """A number, and categories of three, two, forty and ordered values, with missing ones; three kinds by the first two."""
    rng = np.random.default_rng(seed)
    habitat = rng.choice(["lake", "cliff", "meadow"], n)
    X = pd.DataFrame(
        {
            "weight": rng.normal(size=n),
            "habitat": pd.Categorical(habitat),
            "ringed": pd.Categorical(rng.random(n) < 0.5),
            "place": pd.Categorical([f"p{k}" for k in rng.integers(0, 40, n)]),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], n), categories=["s", "m", "l"], ordered=True),
        }
    )
    X.loc[::17, "place"] = np.nan
    kind = np.where(habitat == "lake", "duck", np.where(X["weight"] > 0, "vulture", "kite"))
    return X, kind


def learnt(X, y, weight=None):
    found = Categories.of(X)
    coded = found.coded(X)[0]
    return found.learn(coded, y, np.ones(len(y)) if weight is None else weight)


def test_numbers_of_a_small_frame():
    X = pd.DataFrame(
        {
            "a": pd.Categorical(["x", "z", None, "y"]),
            "b": [1.0, 2.0, 3.0, 4.0],
            "c": pd.Categorical(["s", "l", "s", "m"], categories=["s", "m", "l"], ordered=True),
        }
    )
    categories, numbers = learnt(X, np.array([0, 1, 0, 1]))
    place = {value: k for k, value in enumerate(categories.columns[0].values)}
    x, y, z = (place[value] for value in "xyz")
    e = np.eye(3)
    expected = [[x, 1, 0, *e[x]], [z, 2, 2, *e[z]], [np.nan, 3, 0, 0, 0, 0], [y, 4, 1, *e[y]]]
    np.testing.assert_array_equal(numbers, expected)  # codes in place, then one column for each value of a
    assert categories.source.tolist() == [0, 1, 2, 0, 0, 0]
    np.testing.assert_array_equal(categories.numbers(categories.coded(X)[0]), expected)
    new = X.assign(a=["q", "x", "y", None]).astype({"c": object})  # what was not there counts as missing
    np.testing.assert_array_equal(categories.coded(new)[0], [[np.nan, 1, 0], [x, 2, 2], [y, 3, 0], [np.nan, 4, 1]])
    assert X["a"].tolist()[:2] == ["x", "z"]  # X itself is as it was


def test_a_frame_without_categories_is_left_alone():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    categories = Categories.of(X)
    assert not categories.columns and categories.coded(X)[0] is X
    assert not Categories.of(X.to_numpy()).columns and not Categories.of([[1, 2]]).columns


@pytest.mark.parametrize("weights", ["counts", "any"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_shares_are_those_of_rows_before(n_classes, weights, monkeypatch):
    seen, shares = [], module._shares
    monkeypatch.setattr(module, "_shares", lambda *given: seen.append(given[-1]) or shares(*given))
    rng = np.random.default_rng(1)
    n, weight = 200, rng.integers(0, 4, 200) * (1.0 if weights == "counts" else rng.random(200))
    values, other = rng.integers(0, 12, n), np.round(rng.normal(size=n))
    other[::9] = np.nan
    X, y = pd.DataFrame({"v": pd.Categorical(values), "w": other}), rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    categories, numbers = learnt(X, y, weight)
    code = np.argsort([int(value) for value in categories.columns[0].values])  # of each value
    codes = np.c_[code[values].astype(float), other]
    order = seen[0].rows
    assert sorted(order) == np.flatnonzero(weight).tolist()

    def share(value, k, rows):
        overall, here = weight[y == k].sum() / weight.sum(), [i for i in rows if values[i] == value]
        own = sum(weight[i] for i in here if y[i] == k)
        return (own + PRIOR * overall) / (sum(weight[here]) + PRIOR)

    shown = range(1, 2) if n_classes == 2 else range(n_classes)
    table = categories.columns[0].table
    for place, i in enumerate(order):
        expected = [share(values[i], k, order[:place]) for k in shown]
        np.testing.assert_allclose(numbers[i, 2:], expected, atol=SHARE_STEP)
        assert np.array_equal(
            numbers[i, 0], codes[i, 0] if values[i] in values[order[:place]] else np.nan, equal_nan=True
        )
    for i in np.flatnonzero(weight == 0):
        np.testing.assert_array_equal(numbers[i, 2:], table[code[values[i]]])
    for value in range(12):
        np.testing.assert_allclose(table[code[value]], [share(value, k, order) for k in shown], atol=SHARE_STEP)
    np.testing.assert_allclose(table[12], [share(-1, k, order) for k in shown], atol=SHARE_STEP)  # the shares of all


def test_many_classes_have_ten_columns_of_shares():
    rng = np.random.default_rng(2)
    values, n = rng.integers(0, 30, 3000), 3000
    y = np.where(rng.random(n) < 0.8, values % 25, rng.integers(0, 25, n))
    categories, numbers = learnt(pd.DataFrame({"v": pd.Categorical(values)}), y)
    table = categories.columns[0].table[np.argsort(categories.columns[0].values)]
    assert numbers.shape == (n, 11)
    apart = np.linalg.norm(table[:30, None] - table[None, :30], axis=2)
    alike = np.subtract.outer(np.arange(30), np.arange(30)) % 25 == 0
    assert apart[alike].max() < 0.5 * np.median(apart[~alike])  # ten of 24 directions keep much of most distances


@pytest.mark.parametrize("name", MODELS)
def test_every_algorithm_learns_from_categories(name, tmp_path):
    X, y = birds()
    model = clone(MODELS[name]).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > (0.6 if name == "similarities" else 0.85)
    assert model.n_features_in_ == 5 and model.feature_importances_.shape == (5,)
    if name != "similarities":
        assert model.feature_importances_[:2].sum() > 0.5
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.n_features_in_ == 5
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    save(again, tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_are_made_when_they_are_read_give_the_same_model(name, tmp_path, monkeypatch):
    X, y = birds()
    weight = np.arange(300) % 4
    save(clone(MODELS[name]).fit(X, y, sample_weight=weight), tmp_path / "m")
    monkeypatch.setattr("minrisk.data.categories.DENSE_VALUES", 0)
    monkeypatch.setattr("minrisk.data.row_blocks.MADE_VALUES", 1000)
    save(clone(MODELS[name]).fit(X, y, sample_weight=weight), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_one_row_is_decided_as_among_others():
    X, y = birds()
    model = clone(MODELS["minrisk"]).fit(X, y)
    together = model.predict_proba(X)
    text = X.astype({"habitat": object, "place": object, "size": object})
    np.testing.assert_array_equal(model.predict_proba(text), together)
    for i in range(0, 300, 50):
        np.testing.assert_array_equal(model.predict_proba(X[i : i + 1]), together[i : i + 1])
        np.testing.assert_array_equal(model.predict_proba(text[i : i + 1]), together[i : i + 1])


def test_two_values_are_a_number_of_two():
    X, y = birds()
    X = X[["weight", "ringed"]]
    a = clone(MODELS["minrisk"]).fit(X, y)
    b = clone(MODELS["minrisk"]).fit(X.astype(float), y)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X.astype(float)))


def test_many_values_say_more_than_their_codes():
    rng = np.random.default_rng(3)
    n, values = 4000, rng.integers(0, 200, 4000)
    effect = rng.normal(scale=2.0, size=(200, 3))
    y = (effect[values] + rng.gumbel(size=(n, 3))).argmax(axis=1)
    X = pd.DataFrame({"v": pd.Categorical(values), "noise": rng.normal(size=n)})
    half = n // 2
    error = 1 - clone(MODELS["minrisk"]).fit(X[:half], y[:half]).score(X[half:], y[half:])
    codes = X.astype({"v": float})
    by_codes = 1 - clone(MODELS["minrisk"]).fit(codes[:half], y[:half]).score(codes[half:], y[half:])
    assert error < 0.85 * by_codes


def test_values_without_meaning_do_not_deceive():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"v": pd.Categorical(rng.integers(0, 300, 1500)), "a": rng.normal(size=1500)})
    y = (X["a"] + rng.normal(size=1500) > 0).to_numpy()
    plain = X[["a"]]
    with_, without = (clone(MODELS["minrisk"]).fit(part[:700], y[:700]) for part in (X, plain))
    loss = [
        -np.log(model.predict_proba(part[700:])[np.arange(800), y[700:].astype(int)]).mean()
        for model, part in ((with_, X), (without, plain))
    ]
    assert loss[0] < 1.1 * loss[1]


def test_scikit_learns_tools_take_frames_with_categories():
    X, y = birds()
    assert cross_val_score(MODELS["rebel"], X, y, cv=3).mean() > 0.85
    model = clone(MODELS["rebel"]).fit(X, y)
    drops = permutation_importance(model, X, y, n_repeats=2, random_state=0).importances_mean
    assert drops[1] > 0.2 and abs(drops[2]) < 0.05


def test_rounds_go_on_with_the_same_categories_only():
    X, y = birds()
    whole = REBELClassifier(n_estimators=20).fit(X, y)
    model = REBELClassifier(n_estimators=8, warm_start=True).fit(X, y)
    model.set_params(n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    with pytest.raises(ValueError, match="warm_start goes on with the same categories"):
        model.fit(X.assign(habitat=X["habitat"].cat.rename_categories({"lake": "sea"})), y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda X: X.to_numpy(),
            r"X must be a DataFrame as in fit, where column 'habitat' held categories, got ndarray",
        ),
        (
            lambda X: X.assign(habitat=1.0),
            r"column 'habitat' of X must hold categories such as 'lake', as in fit, got 1",
        ),
        (lambda X: X.assign(habitat=pd.Categorical([3] * len(X))), r"categories such as 'lake', as in fit, got 3"),
        (
            lambda X: X.assign(ringed="yes"),
            r"column 'ringed' of X must hold categories such as False, as in fit, got 'yes'",
        ),
        (lambda X: X[["weight"]], "feature names should match"),
        (lambda X: X.assign(weight="heavy"), r"column 'weight' of X was numeric at fit, now text \('heavy'\)"),
    ],
)
def test_other_tables_are_refused(change, message):
    X, y = birds(60)
    model = REBELClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(change(X))


def test_categories_of_numbers_are_found_whatever_their_type():
    X = pd.DataFrame({"code": pd.Categorical([10, 20, 30, 20] * 10)})
    model = REBELClassifier(n_estimators=5).fit(X, [0, 1, 2, 1] * 10)
    for kind in ("int64", "int32", "float64", "Int64", object):
        assert model.predict(pd.DataFrame({"code": [30, 10]}).astype(kind)).tolist() == [2, 0]


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=4, max_size=30), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_codes_name_the_values(cells, seed):
    cells = [*cells, "a"]
    categories, _ = learnt(pd.DataFrame({"v": pd.Categorical(cells)}), np.arange(len(cells)) % 2)
    column = categories.columns[0]
    again = np.random.default_rng(seed).permutation(np.array([*cells, "new"], dtype=object))
    for cells in (pd.Series(again), pd.Series(pd.Categorical(again))):
        codes, unseen = column.codes(Frame.of(pd.DataFrame({"v": cells})).columns[0])
        assert unseen == ("v", 1, "new")
        named = [None if np.isnan(code) else column.values[int(code)] for code in codes]
        assert named == [cell if cell in column.values else None for cell in again]


@pytest.mark.parametrize(
    ("listed", "what"),
    [
        (pd.date_range("2026-01-01", periods=3), "dates"),
        (pd.to_timedelta([1, 2, 3], "s"), "durations"),
        ([datetime.date(2026, 1, day) for day in (1, 2, 3)], "dates"),
        ([(1, 2), (1, 3), "x"], "values of type tuple"),
        (pd.interval_range(0, 3), "values of type Interval"),
        ([b"a", b"b", b"c"], "bytes"),
        ([1j, 2j, 3j], "complex numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("ordered", [False, True])
def test_categories_that_no_file_could_keep_are_refused_by_fit(listed, what, ordered, tmp_path):
    cells = pd.Categorical.from_codes(np.arange(30) % 3, listed, ordered=ordered)
    X = pd.DataFrame({"day": cells, "x": np.arange(30)})
    with pytest.raises(
        ValueError, match=f"^X must hold categories that are numbers or texts, got {what} in column 'day'"
    ) as told:
        REBELClassifier(n_estimators=2).fit(X, [0, 1, 2] * 10)
    assert r"""X['day'] = X['day'].cat.rename_categories(str)""" in str(told.value)
    X["day"] = X["day"].cat.rename_categories(str)  # what it says to write
    save(REBELClassifier(n_estimators=2).fit(X, [0, 1, 2] * 10), tmp_path / "m")


def test_categories_of_arrow_that_no_file_could_keep():
    table = pa.table({"day": pa.array([datetime.date(2026, 1, 1 + k % 3) for k in range(30)]).dictionary_encode()})
    with pytest.raises(
        ValueError, match="^X must hold categories that are numbers or texts, got dates in column 'day'"
    ):
        REBELClassifier(n_estimators=2).fit(table, [0, 1, 2] * 10)
    table = pa.table({"day": table.column("day").cast("string").dictionary_encode()})
    assert REBELClassifier(n_estimators=2).fit(table, [0, 1, 2] * 10).score(table, [0, 1, 2] * 10) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"position": 9},
        {"position": -1},
        {"position": "0"},
        {"added": 2},
        {"added": -1},
        {"added": "many"},
        {"values": {"dtype": "<U1", "values": ["a"]}},
        {"values": {"dtype": "object", "values": [None, 1]}},
    ],
)
def test_files_whose_categories_do_not_fit_are_refused(change, tmp_path):
    X, y = birds(60)
    save(REBELClassifier(n_estimators=2).fit(X[["habitat", "weight"]], y), tmp_path / "m")
    raw = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(changed(raw, lambda arrays, header: None))
    load(tmp_path / "m")
    (tmp_path / "m").write_bytes(changed(raw, lambda arrays, header: header["categories"][0].update(change)))
    with pytest.raises(ModelFileError, match="categor"):
        load(tmp_path / "m")


def test_files_without_categories_say_nothing_of_them(tmp_path):
    X, y = birds(60)
    save(REBELClassifier(n_estimators=2).fit(X[["weight"]], y), tmp_path / "m")
    assert b"categor" not in (tmp_path / "m").read_bytes()


# -- what codes mean ---------------------------------------------------------------------------------------------------------
def relisted(X, order):
    """The same cells, their unordered categories listed in another order, with others that no row holds."""
    rng = np.random.default_rng(order)
    X = X.copy()
    for name in X:
        if X[name].dtype == "category" and not X[name].cat.ordered:
            listed = X[name].cat.categories.tolist()
            others = ["aa", "p7.5", "zz"][: order % 4] if isinstance(listed[0], str) else []
            listed = np.array([*listed, *others], dtype=object)
            X[name] = X[name].cat.set_categories(listed[rng.permutation(len(listed))].tolist())
    return X


@pytest.mark.parametrize("name", slow_but(LEADING, MODELS))
def test_the_order_in_which_categories_are_listed_makes_no_difference(name, tmp_path):
    X, y = birds()
    model = clone(MODELS[name]).fit(X, y)
    save(model, tmp_path / "m")
    for order in range(1, 3):
        again = clone(MODELS[name]).fit(relisted(X, order), y)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(model.decision_function(relisted(X, order)), model.decision_function(X))
        save(again, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_values_stand_by_how_frequent_they_are():
    for n in (4, 20):
        cells = [f"v{k}" for k in range(n) for _ in range(k + 2)]
        listed = learnt(pd.DataFrame({"v": cells}), np.arange(len(cells)) % 2)[0].columns[0].values
        assert listed == tuple(f"v{k}" for k in range(n))
    weight = np.array([5.0, 1.0, 3.0])
    assert learnt(pd.DataFrame({"v": ["a", "b", "c"]}), np.arange(3) % 2, weight)[0].columns[0].values == (
        "b",
        "c",
        "a",
    )
    truth = pd.DataFrame({"v": pd.Categorical(np.arange(9) > 6)})
    assert learnt(truth, np.arange(9) % 2)[0].columns[0].values == (False, True)
    assert learnt(pd.DataFrame({"v": pd.Categorical([None] * 3, ["a"])}), np.arange(3) % 2)[0].columns[0].values == ()


@pytest.mark.parametrize("name", slow_but(LEADING, MODELS))
def test_other_names_of_the_values_make_no_difference(name):
    X, y = birds()
    model = clone(MODELS[name]).fit(X, y)
    X = X.assign(ringed=X["ringed"].map({True: "yes", False: "no"}).astype("category"))
    before = clone(MODELS[name]).fit(X, y)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        again = X.copy()
        for column in ("habitat", "ringed", "place"):
            listed = X[column].cat.categories
            again[column] = X[column].cat.rename_categories(dict(zip(listed, rng.permutation(listed), strict=True)))
        other = clone(MODELS[name]).fit(again, y)
        np.testing.assert_array_equal(other.decision_function(again), before.decision_function(X))
    assert model.n_features_in_ == before.n_features_in_


def test_unused_categories_are_harmless():
    X, y = birds()
    listed = ["lake", "cliff", "meadow", *(f"h{k}" for k in range(40))]
    wide = X.assign(habitat=pd.Categorical(X["habitat"].astype(object), categories=listed))
    a, b = (clone(MODELS["rebel"]).fit(part, y) for part in (X, wide))
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(wide))
    unknown = wide[:1].assign(habitat=pd.Categorical(["h3"], categories=listed))
    missing = X[:1].assign(habitat=pd.Categorical([None], categories=["lake"]))
    np.testing.assert_array_equal(b.decision_function(unknown), b.decision_function(missing))


def test_values_of_rows_without_weight_are_not_there():
    X, y = birds()
    X = X[["weight", "habitat", "place"]]
    weight = np.where(X["habitat"] == "cliff", 0.0, 1.0)
    kept = weight > 0
    a = REBELClassifier(n_estimators=5).fit(X, y, sample_weight=weight)
    b = REBELClassifier(n_estimators=5).fit(X[kept], y[kept])
    assert a._categories.same_tables(b._categories)
    assert sorted(a._categories.columns[0].values) == ["lake", "meadow"]


def test_ordered_categories_keep_their_order_and_what_no_row_holds():
    X = pd.DataFrame({"size": pd.Categorical(["s", "l"] * 20, categories=["xs", "s", "m", "l"], ordered=True)})
    model = REBELClassifier(n_estimators=3).fit(X, [0, 1] * 20)
    assert model._categories.columns[0].values == ("xs", "s", "m", "l")
    new = pd.DataFrame({"size": ["xs", "s", "l"]})
    assert model.predict(new).tolist() == [0, 0, 1]


def test_a_column_that_is_missing_everywhere(tmp_path):
    X, y = birds(60)
    X = X[["weight", "habitat"]].assign(nothing=pd.Categorical([None] * 60, categories=["a", "b"]))
    model = REBELClassifier(n_estimators=3).fit(X, y)
    save(model, tmp_path / "m")
    expected = (
        REBELClassifier(n_estimators=3).fit(X[["weight", "habitat"]], y).decision_function(X[["weight", "habitat"]])
    )
    for fitted in (model, load(tmp_path / "m")):
        np.testing.assert_array_equal(fitted.decision_function(X), expected)
        np.testing.assert_array_equal(fitted.decision_function(X.assign(nothing="a")), expected)


def test_a_file_whose_values_are_in_another_order_keeps_its_codes(tmp_path):
    """As older versions wrote them: in the order of the dtype."""
    X, y = birds()
    X = X[["weight", "habitat"]]
    model = REBELClassifier(n_estimators=5).fit(X, y)
    (column,), order = model._categories.columns, [2, 0, 1]
    values, table = tuple(column.values[k] for k in order), column.table[[*order, 3]]
    model._categories = Categories((type(column)(1, "habitat", values, False, table),), 2)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again._categories.columns[0].values == values
    code = dict(zip(values, range(3), strict=True))
    assert again._categories.coded(X)[0][:, 1].tolist() == [code[value] for value in X["habitat"]]
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_rounds_go_on_with_fewer_values_and_other_rows():
    X, y = birds()
    model = REBELClassifier(n_estimators=4, warm_start=True).fit(X, y)
    before = model._categories
    part = (X["habitat"] != "cliff").to_numpy()
    scores = model.decision_function(X)
    model.fit(X[part].assign(habitat=X["habitat"][part].cat.remove_unused_categories()), y[part])
    assert model._categories is before  # trees so far have seen these tables
    np.testing.assert_array_equal(model.decision_function(X), scores)
    model.set_params(n_estimators=6).fit(X[part], y[part])
    np.testing.assert_array_equal(list(model.staged_decision_function(X))[3], scores)


@pytest.mark.parametrize(
    ("values", "got"), [([1, 2**70], "1180591620717411303424"), ([1.0, np.inf], "inf"), ([1, 10**5000], "more digits")]
)
def test_values_that_a_file_cannot_keep_are_refused_by_fit(values, got):
    X = pd.DataFrame({"ring": pd.Categorical([values[k % 2] for k in range(40)])})
    with pytest.raises(
        ValueError, match=rf"^X must hold categories .*{got}.* in column 'ring'.*rename_categories\(str\)\.$"
    ):
        REBELClassifier(n_estimators=2).fit(X, np.arange(40) % 2)


# -- what is believed of texts -----------------------------------------------------------------------------------------
def of_texts(kind, rng, n):
    """Texts: another one in each row, in every second row, or some that occur more or less often."""
    numbers = {
        "unique": lambda: rng.permutation(n),
        "half": lambda: np.where(np.arange(n) % 2, np.arange(n), rng.integers(0, 25, n) * 2),
        "pairs": lambda: rng.integers(0, n, n),
        "tens": lambda: rng.integers(0, n // 10, n),
        "rare": lambda: np.minimum(rng.zipf(1.5, n), 10**6),
    }
    return [f"k{k:06d}" for k in numbers[kind]()]


@pytest.mark.parametrize("beside", ["nothing", "a truth value", "what tells"])
@pytest.mark.parametrize("kind", ["unique", "half", "pairs", "tens", "rare"])
def test_what_is_believed_of_texts_is_true(kind, beside):
    """Of those that say nothing: a fifth more errors at most, and probabilities no worse than the shares of the classes."""
    rng, n = np.random.default_rng(5), 600
    X, y = pd.DataFrame({"text": of_texts(kind, rng, 5 * n)}), rng.integers(0, 3, 5 * n)
    if beside == "a truth value":
        X["x"] = rng.integers(0, 2, 5 * n).astype(float)
    if beside == "what tells":
        X["x"] = y + rng.normal(size=5 * n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = MinRiskClassifier(n_estimators=40, random_state=0).fit(X[:n], y[:n])
        error, p = 1.0 - model.score(X[n:], y[n:]), model.predict_proba(X[n:])
    assert error < 1.2 * min(line["pooled_risk"] for line in model.selection_)
    assert -np.mean(np.log(p[np.arange(4 * n), y[n:]])) < (0.9 if beside == "what tells" else 1.15)


def test_rows_of_heavy_weight_are_not_told_of_themselves():
    """Nor by a class's weight: a value of two rows would else say what the heavy one is."""
    rng, n = np.random.default_rng(0), 1000
    X, y = pd.DataFrame({"text": of_texts("pairs", rng, 5 * n)}), rng.integers(0, 2, 5 * n)
    weight = np.where(y == 1, 5.0, 1.0)
    model = MinRiskClassifier(n_estimators=40, random_state=0).fit(X[:n], y[:n], sample_weight=weight[:n])
    with pytest.warns(DataWarning, match="has not seen"):
        paid = np.average(model.predict(X[n:]) != y[n:], weights=weight[n:])
    assert paid < 1.2 * min(line["pooled_risk"] for line in model.selection_)


@pytest.mark.parametrize("beside", [False, True])
def test_of_values_of_one_row_nothing_is_learnt(beside, monkeypatch):
    """Not even where the names stand in the order of the classes."""
    rng, n = np.random.default_rng(0), 400
    X, y = pd.DataFrame({"name": [f"k{k:04d}" for k in range(n)]}), np.arange(n) * 3 // n
    if beside:
        X["x"] = y + rng.normal(size=n)
    model = MinRiskClassifier(n_estimators=40, random_state=0).fit(X, y)
    assert not beside or np.ptp(model.predict_proba(X)[:, 0]) > 0.3
    with pytest.warns(DataWarning, match="has not seen"):
        other = model.predict_proba(X.assign(name="another"))
    np.testing.assert_allclose(model.predict_proba(X), other, rtol=1e-12)


def test_a_row_of_nearly_no_weight_is_told_and_tells_nothing():
    """Neither the turns of the others nor their codes change."""
    rng, n = np.random.default_rng(0), 600
    X, y = (
        pd.DataFrame({"town": [f"t{k}" for k in rng.integers(0, 40, n)], "age": rng.normal(size=n)}),
        rng.integers(0, 3, n),
    )
    weight = rng.uniform(0.5, 2, n)
    before = learnt(X, y, weight)[1]
    more = pd.concat([X, pd.DataFrame({"town": ["t3"], "age": [0.5]})], ignore_index=True)
    after = learnt(more, np.append(y, 0), np.append(weight, 1e-9))[1][:n]
    np.testing.assert_allclose(after, before, rtol=1e-6)
    np.testing.assert_allclose(learnt(X, y, weight * (1 + 1e-7 * (np.arange(n) % 3)))[1], before, atol=1.5 * SHARE_STEP)
    twins = pd.concat([X, X[:40]], ignore_index=True)  # of another class, they come after the rows that weigh more
    after = learnt(twins, np.append(y, (y[:40] + 1) % 3), np.append(weight, np.full(40, 1e-9)))[1][:n]
    np.testing.assert_allclose(after, before, atol=1.5 * SHARE_STEP)


@pytest.mark.parametrize("seed", range(4))
def test_a_millionth_of_a_weight_tells_no_rows_apart(seed):
    """Rows of equal shares, of which there are many where weights are whole numbers, do not fall into other bins."""
    rng, n = np.random.default_rng(seed), 500
    X = pd.DataFrame({"town": [f"t{k}" for k in rng.integers(0, 25, n)], "age": rng.normal(size=n)})
    y, weight = rng.integers(0, 2, n), rng.integers(1, 4, n).astype(float)
    before, after = (learnt(X, y, weight * (1 + by * rng.uniform(-1, 1, n)))[1] for by in (0.0, 1e-6))
    np.testing.assert_allclose(after, before, atol=1.5 * SHARE_STEP)
    values = [len(np.unique(own[:, -1])) for own in (before, after)]
    assert values[0] < 0.7 * n and values[1] < values[0] + 0.03 * n
