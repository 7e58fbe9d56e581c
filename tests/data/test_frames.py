"""X, y and weights as tables of pandas, polars and Arrow: columns by name, types of all kinds, or one sentence."""

import datetime
import decimal
import fractions
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from sklearn.base import clone

from minrisk import (
    LocalizedSimilaritiesClassifier,
    MCBoostClassifier,
    MinRiskClassifier,
    ModelFileError,
    REBELClassifier,
    costs,
    load,
    metrics,
    save,
)
from minrisk.data.categories import Categories
from minrisk.data.frames import Column, Frame, in_days, is_missing, of_cells
from tests.helpers.forging import changed

N = 60
MODELS = {
    "minrisk": MinRiskClassifier(n_estimators=10, random_state=0),
    "rebel": REBELClassifier(n_estimators=5),
    "similarities": LocalizedSimilaritiesClassifier(n_estimators=5, random_state=0),
    "mcboost": MCBoostClassifier(n_estimators=5),
}
DAYS = pd.date_range("2024-01-01", periods=N)


def birds(seed=0):
    """Numbers, truth values and categories; a kind for each row."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "weight": rng.normal(size=N),
            "eggs": rng.integers(0, 5, N),
            "ringed": rng.random(N) < 0.5,
            "habitat": pd.Categorical(rng.choice(["lake", "cliff", "meadow"], N)),
            "place": pd.Categorical([f"p{k}" for k in rng.integers(0, 14, N)]),
        }
    )
    X.loc[::7, "place"] = np.nan
    return X, np.where(X["habitat"] == "lake", "duck", np.where(X["weight"] > 0, "vulture", "kite"))


def as_polars(X):
    return pl.DataFrame(
        {
            name: pl.Series(X[name].astype(object).where(X[name].notna(), None).tolist(), dtype=pl.Categorical)
            if X[name].dtype == "category"
            else pl.Series(X[name].to_numpy())
            for name in X
        }
    )


LIBRARIES = {
    "pandas": lambda X: X,
    "objects": lambda X: X.astype(dict.fromkeys(X.columns[X.dtypes == "category"], object)),
    "arrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
    "batch": lambda X: pa.RecordBatch.from_pandas(X, preserve_index=False),
    "pandas of arrow": lambda X: X.convert_dtypes(dtype_backend="pyarrow").astype(
        {name: pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())) for name in X.columns[X.dtypes == "category"]}
    ),
    "nullable": lambda X: X.convert_dtypes(),
    "polars": as_polars,
}
libraries = pytest.mark.parametrize("library", LIBRARIES)


# -- columns by name -------------------------------------------------------------------------------------------------------
@libraries
@pytest.mark.parametrize("name", MODELS)
def test_columns_are_found_by_name_in_any_order_and_any_library(name, library, tmp_path):
    X, y = birds()
    model = clone(MODELS[name]).fit(X, y)
    expected = model.decision_function(X)
    save(model, tmp_path / "m")
    for order in (X.columns, X.columns[::-1], X.columns[[3, 0, 4, 1, 2]]):
        for fitted in (model, load(tmp_path / "m")):
            table = LIBRARIES[library](X[list(order)])
            np.testing.assert_array_equal(fitted.decision_function(table), expected)
            np.testing.assert_array_equal(fitted.predict(table), model.predict(X))
        np.testing.assert_array_equal(model.decision_function(LIBRARIES[library](X[list(order)][:1])), expected[:1])


@libraries
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_on_any_library_gives_the_same_model(name, library):
    X, y = birds()
    expected = clone(MODELS[name]).fit(X, y)
    model = clone(MODELS[name]).fit(LIBRARIES[library](X), y)
    assert list(model.feature_names_in_) == list(X.columns) and model.n_features_in_ == 5
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(model.feature_importances_, expected.feature_importances_)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 1, 2],
        [("a", 1), ("a", 2), ("b", 1)],
        [1.5, 2.5, 0.5],
        list(DAYS[:3]),
        [day.date() for day in DAYS[:3]],
        list(DAYS[:3].tz_localize("UTC")),
        [("a", DAYS[0]), ("a", ("b", 2.5)), (False, np.int8(3))],
        [1.5, DAYS[0], ("a", 3)],
    ],
)
def test_names_that_are_no_texts_are_names(labels, tmp_path):
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=(N, 3)), np.arange(N) % 3
    X = pd.DataFrame(values, columns=pd.Index(labels, tupleize_cols=False))
    model = REBELClassifier(n_estimators=5).fit(X, y)
    expected = model.decision_function(values)
    np.testing.assert_array_equal(model.decision_function(X[X.columns[::-1]]), expected)
    np.testing.assert_array_equal(model.decision_function(pd.DataFrame(values)), expected)  # others: by position
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X[X.columns[::-1]]), expected)
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def nested(levels):
    name = "a"
    for _ in range(levels):
        name = (name,)
    return name


@pytest.mark.parametrize(
    "labels",
    [
        list(DAYS[:3].to_period("D")),
        list(DAYS[:3] + pd.Timedelta(1, "ns")),
        [1.0, np.inf, 2.0],
        [1, 2, 2**70],
        [1, 2, 10**5000],
        [("a", 2**64), ("b", 1), ("c", 1)],
        [nested(16), ("b",), ("c",)],
        [nested(40), ("b",), ("c",)],
    ],
)
def test_names_that_a_file_cannot_keep_are_refused_by_fit(labels):
    """Whoever has fitted for hours need not be told so by `save`."""
    kind = {"dtype": object} if 10**5000 in labels else {}  # pandas 2 cannot infer one
    X = pd.DataFrame(
        np.random.default_rng(0).normal(size=(N, 3)), columns=pd.Index(labels, tupleize_cols=False, **kind)
    )
    with pytest.raises(ValueError, match=r"names a model file can keep.*X\.columns = X\.columns\.astype\(str\)\.$"):
        REBELClassifier(n_estimators=2).fit(X, np.arange(N) % 3)


def test_names_as_deep_as_a_file_keeps_them(tmp_path):
    X = pd.DataFrame(
        np.random.default_rng(0).normal(size=(N, 3)),
        columns=pd.Index([nested(15), ("b",), ("c", 2**63)], tupleize_cols=False),
    )
    model = REBELClassifier(n_estimators=2).fit(X, np.arange(N) % 3)
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X[X.columns[::-1]]), model.predict(X))


@pytest.mark.parametrize("plain", [True, False])
def test_missing_and_additional_columns_are_named(plain):
    X, y = birds()
    X = X.assign(habitat=0.0, place=1.0) if plain else X
    for library in LIBRARIES:
        model = REBELClassifier(n_estimators=2).fit(X, y)
        with pytest.raises(ValueError, match="yet now missing:\n- habitat\n"):
            model.predict(LIBRARIES[library](X.drop(columns="habitat")))
        with pytest.raises(ValueError, match="unseen at fit time:\n- kind\n"):
            model.predict(LIBRARIES[library](X.assign(kind=1.0)))
        with pytest.raises(ValueError, match="unseen at fit time:\n- habitats\n"):
            model.predict(LIBRARIES[library](X.rename(columns={"habitat": "habitats"})))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "b", "a"], "columns must have different names, got 'a' more than once"),
        ([1, 2, 1], "columns must have different names, got 1 more than once"),
        (["a", 7, "b"], "columns must be named by texts, or none of them, got 7 beside others"),
        (["a", None, "b"], "columns must be named by texts, or none of them, got .* beside others"),
    ],
)
def test_names_that_do_not_tell_columns_apart(columns, message):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 3)), columns=columns)
    with pytest.raises(ValueError, match=message):
        REBELClassifier(n_estimators=2).fit(X, np.arange(N) % 2)


def test_warm_starts_find_columns_by_name_and_refuse_others():
    X, y = birds()
    model = REBELClassifier(n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=6).fit(X[X.columns[::-1]], y)
    np.testing.assert_array_equal(
        model.decision_function(X), REBELClassifier(n_estimators=6).fit(X, y).decision_function(X)
    )
    assert list(model.feature_names_in_) == list(X.columns)
    for other in (X.drop(columns="weight"), X.rename(columns={"weight": "mass"}), X.assign(more=1.0)):
        with pytest.raises(ValueError, match="feature names should match"):
            model.set_params(n_estimators=9).fit(other, y)
    with pytest.raises(ValueError, match="warm_start goes on with the same categories"):
        model.fit(X.astype({"weight": "category"}), y)


def test_a_refit_starts_afresh_with_other_columns():
    X, y = birds()
    model = REBELClassifier(n_estimators=3).fit(X, y)
    other = X[["eggs", "weight"]]
    np.testing.assert_array_equal(
        model.fit(other, y).decision_function(other[["weight", "eggs"]]),
        REBELClassifier(n_estimators=3).fit(other, y).decision_function(other),
    )
    model.fit(other.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(
        model.decision_function(other.to_numpy()),
        REBELClassifier(n_estimators=3).fit(other, y).decision_function(other),
    )


def test_a_table_without_columns():
    for table in (pd.DataFrame(index=range(4)), pa.table({})):
        with pytest.raises(ValueError, match="X must have a column at least, got none"):
            REBELClassifier().fit(table, [0, 1, 0, 1])


# -- types of columns ------------------------------------------------------------------------------------------------------
HALF = N // 2
NUMBERS = {  # each the same numbers: 0, 1, ..., the first missing
    "Int64": lambda: pd.array([None, *range(1, N)], dtype="Int64"),
    "UInt8": lambda: pd.array([None, *range(1, N)], dtype="UInt8"),
    "Float32": lambda: pd.array([None, *range(1, N)], dtype="Float32"),
    "float16": lambda: np.array([np.nan, *range(1, N)], dtype=np.float16),
    "None": lambda: pd.Series([None, *range(1, N)], dtype=object),
    "NA": lambda: pd.Series([pd.NA, *range(1, N)], dtype=object),
    "NaT": lambda: pd.Series([pd.NaT, *range(1, N)], dtype=object),
    "nan": lambda: pd.Series([np.nan, *range(1, N)], dtype=object),
    "arrow int": lambda: pd.array([None, *range(1, N)], dtype=pd.ArrowDtype(pa.int16())),
    "arrow decimal": lambda: pd.array(
        [None, *map(decimal.Decimal, range(1, N))], dtype=pd.ArrowDtype(pa.decimal128(9, 2))
    ),
    "sparse": lambda: pd.arrays.SparseArray([np.nan, *map(float, range(1, N))]),
    "Decimal": lambda: pd.Series([None, *map(decimal.Decimal, range(1, N))], dtype=object),
    "mixed": lambda: pd.Series([None, 1, 2.0, 3.0, np.int8(4), decimal.Decimal(5), *range(6, N)], dtype=object),
}
OTHERS = {  # of no use
    "complex": (lambda: np.arange(N) + 1j, "got complex numbers in column 'c' .*make two columns of it"),
    "bytes": (lambda: [b"red"] * N, "got bytes in column 'c'"),
    "interval": (lambda: pd.cut(np.arange(N), 3).astype(object), "got values of type Interval in column 'c'"),
    "lists": (lambda: [[1, 2]] * N, "got values of type list in column 'c' .*make columns of what these hold"),
    "dicts": (lambda: [{"a": 1}] * N, "got values of type dict in column 'c'"),
    "arrays": (lambda: pd.Series([np.ones(2)] * N), "got values of type ndarray in column 'c'"),
    "dates and text": (lambda: [datetime.date(2024, 1, 1), "x"] * HALF, "got dates in column 'c'"),
}
TEXTS = {  # each the texts red, blue and none
    "str": lambda cells: pd.Series(cells, dtype="str"),
    "objects": lambda cells: pd.Series(cells, dtype=object),
    "string": lambda cells: pd.array(cells, dtype="string[python]"),
    "string[pyarrow]": lambda cells: pd.array(cells, dtype="string[pyarrow]"),
    "arrow string": lambda cells: pd.array(cells, dtype=pd.ArrowDtype(pa.string())),
    "arrow large": lambda cells: pd.array(cells, dtype=pd.ArrowDtype(pa.large_string())),
    "category": pd.Categorical,
    "NaN": lambda cells: pd.Series([np.nan if cell is None else cell for cell in cells], dtype=object),
    "NA": lambda cells: pd.Series([pd.NA if cell is None else cell for cell in cells], dtype=object),
}
ONE, SECOND = datetime.timedelta(days=1), datetime.timedelta(seconds=1)
MOMENTS = {  # each the days 0, 1, 2 ... after 2024-01-01, or as many seconds; the first one missing
    "datetime64": lambda: pd.Series(DAYS).where(DAYS > DAYS[0]),
    "seconds": lambda: pd.Series(DAYS).where(DAYS > DAYS[0]).astype("datetime64[s]"),
    "zone": lambda: pd.Series(DAYS.tz_localize("UTC")).where(DAYS > DAYS[0]),
    "other zone": lambda: pd.Series(DAYS.tz_localize("UTC").tz_convert("Asia/Tokyo")).where(DAYS > DAYS[0]),
    "Period": lambda: pd.Series(DAYS.to_period("D")).where(DAYS > DAYS[0]),
    "dates": lambda: pd.Series([None, *(day.date() for day in DAYS[1:])], dtype=object),
    "datetimes": lambda: pd.Series([pd.NaT, *DAYS[1:].to_pydatetime()], dtype=object),
    "aware": lambda: pd.Series([None, *DAYS[1:].tz_localize("UTC").to_pydatetime()], dtype=object),
    "numpy": lambda: pd.Series(of_cells([None, *(np.datetime64(day, "s") for day in DAYS[1:])])),
    "arrow timestamp": lambda: pd.Series(DAYS).where(DAYS > DAYS[0]).astype(pd.ArrowDtype(pa.timestamp("ns"))),
    "arrow date": lambda: pd.Series([None, *(day.date() for day in DAYS[1:])]).astype(pd.ArrowDtype(pa.date32())),
}
DURATIONS = {
    "timedelta64": lambda: pd.Series(pd.to_timedelta([None, *range(1, N)], "s")),
    "timedeltas": lambda: pd.Series([None, *(k * SECOND for k in range(1, N))], dtype=object),
    "arrow duration": lambda: pd.Series(pd.to_timedelta([None, *range(1, N)], "s")).astype(
        pd.ArrowDtype(pa.duration("us"))
    ),
    "time": lambda: pd.Series([None, *(datetime.time(0, 0, k) for k in range(1, N))], dtype=object),
    "arrow time": lambda: pd.Series([None, *(datetime.time(0, 0, k) for k in range(1, N))]).astype(
        pd.ArrowDtype(pa.time64("us"))
    ),
}


UNKNOWN = {
    "lists": [[1, 2]] * N,
    "lists late": [1.0] * (N - 1) + [[1, 2]],
    "dicts": [{"a": 1}] * N,
    "sets": [{1}] * N,
    "objects": [object()] * N,
    "intervals": list(pd.interval_range(0, N)),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_arrays_of_what_are_no_numbers_name_the_column(kind):
    X = np.empty((N, 2), dtype=object)
    X[:, 0], X[:, 1] = 1.0, of_cells(UNKNOWN[kind])
    model = REBELClassifier(n_estimators=2).fit(np.arange(2 * N).reshape(N, 2), np.arange(N) % 3)
    message = "^X must hold numbers, got values of type (list|dict|set|object|Interval) in column 1 "
    for given_X in (X, X.tolist()):
        for go in (
            lambda: model.predict(given_X),
            lambda: REBELClassifier(n_estimators=2).fit(given_X, np.arange(N) % 3),
        ):
            with pytest.raises(TypeError, match=message):
                go()


@pytest.mark.parametrize("kind", UNKNOWN)
def test_columns_of_categories_that_hold_lists_are_named(kind):
    words = alone(pd.Categorical(["u", "v"] * HALF))
    model = REBELClassifier(n_estimators=2).fit(words, np.arange(N) % 2)
    hashable = kind in ("objects", "intervals", "lists late")
    message = (
        "column 'c' of X must hold categories such as"
        if hashable
        else "^X must hold numbers or categories, got values of type"
    )
    message = "got values of type list in column 'c' " if kind == "lists late" else message
    with pytest.raises(ValueError, match=message):
        model.predict(alone(pd.Series(list(UNKNOWN[kind]), dtype=object)))


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("algorithm", [REBELClassifier, MinRiskClassifier])
def test_intervals_through_arrow_are_named(ordered, algorithm):
    x = np.random.default_rng(0).normal(size=N)
    bins = pd.DataFrame({"x": x, "bin": pd.cut(x, 4, ordered=True)})
    if not ordered:
        bins["bin"] = bins["bin"].cat.as_unordered()
    table, y = pa.Table.from_pandas(bins, preserve_index=False), np.arange(N) % 3
    message = "column 'bin'"  # as dicts, or as pandas' intervals where their type is registered
    with pytest.raises(ValueError, match=message):
        algorithm(n_estimators=2).fit(table, y)
    texts = pa.Table.from_pandas(bins.assign(bin=bins["bin"].cat.rename_categories(str)), preserve_index=False)
    with pytest.raises(ValueError, match=message):
        algorithm(n_estimators=2).fit(texts, y).predict(table)


def alone(cells):
    return pd.DataFrame({"a": np.random.default_rng(0).normal(size=N), "c": cells})


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", MODELS)
def test_numbers_of_every_type(name, kind):
    y = np.arange(N) // 20
    expected = clone(MODELS[name]).fit(alone([np.nan, *range(1, N)]), y)
    X = alone(NUMBERS[kind]())
    model = clone(MODELS[name]).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(model.predict(X[:1]), expected.predict(X[:1]))


@pytest.mark.parametrize("kind", OTHERS)
def test_others_are_named_in_one_sentence(kind):
    cells, message = OTHERS[kind]
    X, y = alone(cells()), np.arange(N) % 3
    with pytest.raises(ValueError, match=f"^X must hold numbers, text, categories or dates, {message}"):
        REBELClassifier(n_estimators=2).fit(X, y)
    model = REBELClassifier(n_estimators=2).fit(alone(np.arange(N)), y)
    for rows in (X, X[:1]):
        with pytest.raises(ValueError, match="^column 'c' of X was numeric at fit, now ") as raised:
            model.predict(rows)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", TEXTS)
def test_text_is_categories_without_being_told(kind):
    cells = ["red", "blue", None] * (N // 3)
    X, y = alone(TEXTS[kind](cells)), np.arange(N) % 3
    model = REBELClassifier(n_estimators=5).fit(X, y)
    assert model._categories.columns[0].values == ("blue", "red") and model.score(X, y) == 1.0
    for other in TEXTS:
        again = alone(TEXTS[other](cells))
        np.testing.assert_array_equal(model.decision_function(again), model.decision_function(X))
        np.testing.assert_array_equal(model.decision_function(again[:3]), model.decision_function(X)[:3])


def test_numbers_written_as_text_are_text():
    """A postcode is written 01067, and a column of type text was made so on purpose."""
    X, y = alone(["01067", "1067", "80331"] * (N // 3)), np.arange(N) % 3
    model = REBELClassifier(n_estimators=5).fit(X, y)
    assert sorted(model._categories.columns[0].values) == ["01067", "1067", "80331"] and model.score(X, y) == 1.0
    mixed = alone(pd.Series([1, "red", 2.5] * (N // 3), dtype=object))
    assert REBELClassifier(n_estimators=5).fit(mixed, y)._categories.columns[0]._places.keys() == {1, 2.5, "red"}


@pytest.mark.parametrize("kind", [*MOMENTS, *DURATIONS])
@pytest.mark.parametrize("library", ["pandas", "arrow", "polars"])
def test_dates_are_days(kind, library):
    """Days after 1970, or days, each with its fraction: the same model as that of these numbers."""
    moments = kind in MOMENTS
    cells, y = {**MOMENTS, **DURATIONS}[kind](), np.arange(N) // 20
    days = np.array([np.nan, *range(1, N)]) + 19723 if moments else np.array([np.nan, *range(1, N)]) / 86400
    if library != "pandas" and kind in ("Period", "numpy"):
        pytest.skip("a type of pandas")
    X = LIBRARIES[library](alone(cells)) if library != "polars" else pl.from_pandas(alone(cells))
    model = REBELClassifier(n_estimators=5, random_state=0).fit(X, y)
    expected = REBELClassifier(n_estimators=5, random_state=0).fit(alone(days), y)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(alone(days)))
    np.testing.assert_array_equal(model.decision_function(X[:2]), expected.decision_function(alone(days))[:2])
    assert model.columns_[1].kind == {True: "date"}.get(
        moments, "time of day" if "time" in kind.split() else "duration"
    )


def test_moments_of_dates_are_exact():
    assert in_days(datetime.datetime(1969, 12, 31, 12)) == -0.5 and in_days(datetime.date(1970, 1, 2)) == 1.0
    assert in_days(datetime.datetime(1970, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))) == 0.0
    assert in_days(np.datetime64("1970-01-03T06")) == 2.25 and in_days(np.timedelta64(36, "h")) == 1.5
    assert in_days(datetime.time(6, tzinfo=datetime.UTC)) == 0.25 and in_days(pd.Timestamp(0)) == 0.0
    long_ago = pd.DataFrame({"c": np.array(["1677-09-22", "2262-04-11", "NaT"], dtype="datetime64[ns]")})
    found = Frame.of(long_ago).columns[0].numbers()
    assert found[:2].tolist() == [-106751.0, 106751.0] and np.isnan(found[2])


CHANGED = {  # at fit, then, and what is said
    "numbers as text": (
        [1.0] * N,
        ["01067"] * N,
        r"column 'c' of X was numeric at fit, now text \('01067'\): give numbers, as in fit\.$",
    ),
    "text as numbers": (
        ["u", "v"] * HALF,
        [1.0] * N,
        "column 'c' of X must hold categories such as 'u', as in fit, got 1",
    ),
    "dates as text": (
        DAYS,
        ["2024-01-01"] * N,
        r"column 'c' of X was dates at fit, now text \('2024-01-01'\): give dates, as in fit\.$",
    ),
    "dates as numbers": (DAYS, np.arange(N), r"column 'c' of X was dates at fit, now numbers \('0'\): give dates"),
    "numbers as dates": (
        np.arange(N),
        DAYS,
        r"column 'c' of X was numeric at fit, now dates \('2024-01-01 00:00:00'\): give numbers",
    ),
    "durations as dates": (DAYS - DAYS[0], DAYS, "column 'c' of X was durations at fit, now dates"),
    "numbers as categories": (
        np.arange(N),
        pd.Categorical(["u"] * N),
        r"column 'c' of X was numeric at fit, now text \('u'\)",
    ),
}


@pytest.mark.parametrize("kind", CHANGED)
@pytest.mark.parametrize("n", [1, 2, N])
def test_kinds_of_columns_are_checked_at_prediction(kind, n, tmp_path):
    before, after, message = CHANGED[kind]
    model = REBELClassifier(n_estimators=2).fit(alone(before), np.arange(N) % 3)
    save(model, tmp_path / "m")
    for fitted in (model, load(tmp_path / "m")):
        fitted.predict(alone(before)[:n])
        with pytest.raises(ValueError, match=message):
            fitted.predict(alone(after)[:n])
        fitted.predict(alone(None)[:n])  # nothing but missing cells are of any kind


def test_models_of_dates_are_kept(tmp_path):
    X, y = alone(DAYS).assign(k=DAYS - DAYS[0]), np.arange(N) // 20
    model = REBELClassifier(n_estimators=5).fit(X, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X[["k", "c", "a"]]), model.decision_function(X))
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    raw = (tmp_path / "m").read_bytes()
    for change in ({"position": 9}, {"position": 2}, {"position": -1}, {"role": "number"}, {"role": 1}):
        (tmp_path / "m").write_bytes(changed(raw, lambda arrays, header, c=change: header["dates"][0].update(c)))
        with pytest.raises(ModelFileError, match="dates|role|position"):
            load(tmp_path / "m")


ARROW = {
    "lists": ([[1]] * N, "got values of type list in column 'c'"),
    "bytes": ([b"u"] * N, "got bytes in column 'c'"),
}


@pytest.mark.parametrize("kind", ARROW)
@pytest.mark.parametrize("library", ["arrow", "polars"])
def test_others_of_polars_and_arrow_are_named(kind, library):
    cells, message = ARROW[kind]
    table = pa.table({"a": np.arange(N) * 1.0, "c": pa.array(cells)})
    table = pl.from_arrow(table) if library == "polars" else table
    with pytest.raises(ValueError, match=f"^X must hold numbers, text, categories or dates, {message}"):
        REBELClassifier(n_estimators=2).fit(table, np.arange(N) % 3)


@pytest.mark.parametrize("library", ["arrow", "polars"])
def test_numbers_of_polars_and_arrow(library):
    y = np.arange(N) // 20
    expected = REBELClassifier(n_estimators=5).fit(alone([np.nan, *range(1, N)]), y)
    a = alone(0.0)["a"].to_numpy()
    cells = [None, *range(1, N)]
    columns = [
        pa.array(cells, pa.int8()),
        pa.array(cells, pa.float32()),
        pa.array(cells, pa.uint64()),
        pa.array([None, *map(decimal.Decimal, range(1, N))]),
    ]
    for column in columns:
        table = pa.table({"c": column, "a": a})
        table = pl.from_arrow(table) if library == "polars" else table
        model = REBELClassifier(n_estimators=5).fit(table.select(["a", "c"]), y)
        np.testing.assert_array_equal(model.decision_function(table), expected.decision_function(table))
    truth = pa.table({"a": a, "c": pa.array([None, True, False] * (N // 3)), "empty": pa.nulls(N)})
    truth = pl.from_arrow(truth) if library == "polars" else truth
    assert REBELClassifier(n_estimators=5).fit(truth, y).predict(truth).shape == (N,)


def test_a_plan_of_polars_is_to_be_carried_out_first():
    with pytest.raises(TypeError, match=r"got a LazyFrame of polars: write X\.collect\(\)"):
        REBELClassifier().fit(pl.LazyFrame({"a": [1.0, 2.0]}), [0, 1])


@pytest.mark.parametrize(
    ("dtype", "what"), [("datetime64[D]", "dates"), ("datetime64[ns]", "dates"), ("timedelta64[s]", "durations")]
)
def test_arrays_of_dates_are_refused(dtype, what):
    numbers, y = np.arange(2 * N).reshape(N, 2), np.arange(N) % 3
    with pytest.raises(ValueError, match=f"^X must hold numbers, got {what} in an array of .*: make numbers of it"):
        REBELClassifier(n_estimators=2).fit(numbers.astype(dtype), y)
    with pytest.raises(ValueError, match=f"^X must hold numbers, got {what} in an array of .*: make numbers of it"):
        REBELClassifier(n_estimators=2).fit(numbers, y).predict(numbers.astype(dtype))


INFINITE = {
    "pandas": lambda X: X,
    "float32": lambda X: X.astype("float32"),
    "nullable": lambda X: X.astype("Float64"),
    "objects": lambda X: X.astype(object),
    "arrow": lambda X: pa.Table.from_pandas(X),
    "beside categories": lambda X: X.assign(k=pd.Categorical(["u", "v"] * HALF)),
    "polars": lambda X: pl.from_pandas(X),
    "array": lambda X: X.to_numpy(),
    "array of objects": lambda X: X.to_numpy(object),
    "rows": lambda X: X.to_numpy().astype(object),
}


@pytest.mark.parametrize("kind", INFINITE)
@pytest.mark.parametrize("n", [N, 10])
def test_infinite_numbers_are_named(kind, n):
    whole = alone(np.arange(N) * 1.0)
    model = REBELClassifier(n_estimators=2).fit(INFINITE[kind](whole), np.arange(N) % 3)
    X = INFINITE[kind](whole.assign(c=np.where(np.arange(N) == 7, -np.inf, whole["c"])))
    name = "1" if "array" in kind or kind == "rows" else "'c'"
    for go in (lambda: model.predict(X[:n]), lambda: REBELClassifier(n_estimators=2).fit(X[:n], np.arange(n) % 3)):
        with pytest.raises(ValueError, match=f"^X must hold finite numbers, got -inf in column {name}, row 7: "):
            go()


def test_numbers_beyond_float64_are_named():
    X = pd.DataFrame({"a": np.ones(N), "c": pd.Series([10**5000] + [1] * (N - 1), dtype=object)})
    with pytest.raises(ValueError, match="^X must hold numbers up to 1.8e308, got a larger one in column 'c': "):
        REBELClassifier(n_estimators=2).fit(X, np.arange(N) % 3)


@pytest.mark.parametrize("dtype", ["Categorical", "Enum"])
def test_categories_of_polars(dtype):
    words, y = np.array(["u", "w", "v"])[np.arange(N) % 3], np.arange(N) % 3
    kind = pl.Categorical if dtype == "Categorical" else pl.Enum(["z", "w", "v", "u"])
    X = pl.DataFrame({"c": pl.Series(words.tolist(), dtype=kind)})
    model = REBELClassifier(n_estimators=5).fit(X, y)
    assert model.score(X, y) == 1.0 and sorted(model._categories.columns[0].values) == ["u", "v", "w"]
    np.testing.assert_array_equal(model.predict(pd.DataFrame({"c": words})), y)
    np.testing.assert_array_equal(model.predict(X.select(pl.col("c").cast(pl.String))), y)


def test_ordered_categories_of_arrow_are_ordered():
    X = pd.DataFrame({"c": pd.Categorical(["s", "m", "l"] * 20, ["s", "m", "l"], ordered=True)})
    found = Categories.of(pa.Table.from_pandas(X)).columns[0]
    assert found.ordered and found.values == ("s", "m", "l")


@pytest.mark.parametrize("cell", [pd.NA, pd.NaT, None, np.nan, np.float32("nan")])
def test_arrays_of_objects_may_hold_what_pandas_has_for_missing(cell):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)).astype(object)
    y = (X[:, 0] > 0).astype(int)
    X[3, 1] = cell
    plain = np.where([[is_missing(c) for c in row] for row in X], np.nan, X).astype(float)
    a, b = (REBELClassifier(n_estimators=3).fit(part, y) for part in (X, plain))
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(plain))
    np.testing.assert_array_equal(a.predict(X[:5]), b.predict(plain[:5]))
    np.testing.assert_array_equal(a.predict(X.tolist()), b.predict(plain))
    X[2, 0] = DAYS.to_period("D")[0]
    if not is_missing(X[2, 0]):
        with pytest.raises((ValueError, TypeError), match="dates in column 0|Period"):
            a.predict(X)


def test_a_column_lists_what_it_holds():
    given = Frame.of(pd.DataFrame({"x": ["b", None, "a", "b"]})).columns[0].coded()
    assert [given.values[code] if code >= 0 else None for code in given.codes] == ["b", None, "a", "b"]
    assert Column(0, of_cells([2, "b", None, 2])).coded().codes.tolist() == [0, 1, -1, 0]
    frame = Frame.of(pd.DataFrame({"a": [1.0], "b": [True]}))
    assert frame.is_plain and frame.names == ["a", "b"] and Frame.of(np.ones((2, 2))) is None
    assert not Frame.of(pd.DataFrame({"a": pd.array([1], dtype="Int64")})).is_plain


def test_without_pandas(tmp_path):
    """A model with categories, read where there is no pandas: tables of polars and Arrow, or a sentence."""
    X, y = birds()
    model = REBELClassifier(n_estimators=3).fit(X, y)
    save(model, tmp_path / "m")
    parquet.write_table(pa.Table.from_pandas(X, preserve_index=False).replace_schema_metadata(), tmp_path / "X.parquet")
    np.save(tmp_path / "expected.npy", model.decision_function(X))
    script = textwrap.dedent("""
        import importlib.abc, sys

        class NoPandas(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name.split(".")[0] == "pandas":
                    raise ModuleNotFoundError(name)

        sys.meta_path.insert(0, NoPandas())
        import numpy as np, minrisk
        model, expected = minrisk.load(sys.argv[1] + "/m"), np.load(sys.argv[1] + "/expected.npy")
        try:
            model.predict(np.ones((2, 5)))
        except ValueError as error:
            assert "X must be a DataFrame as in fit, where column 'habitat' held categories" in str(error), error
        else:
            raise SystemExit("no error")
        import pyarrow.parquet
        table = pyarrow.parquet.read_table(sys.argv[1] + "/X.parquet")
        assert np.array_equal(model.decision_function(table), expected)
        fitted = minrisk.REBELClassifier(n_estimators=3).fit(table, np.arange(len(expected)) % 2)
        assert fitted.predict(table).shape == (len(expected),)
        try:
            import polars as pl
        except ImportError:
            sys.exit()
        assert np.array_equal(model.decision_function(pl.from_arrow(table)), expected)
    """)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# -- classes and weights -----------------------------------------------------------------------------------------------------
LABELS = {
    "Int64": lambda y: pd.array(y, dtype="Int64"),
    "series of Int8": lambda y: pd.Series(y).astype("Int8"),
    "arrow int": lambda y: pd.Series(y).astype(pd.ArrowDtype(pa.int64())),
    "Arrow array": pa.array,
    "Arrow chunks": lambda y: pa.chunked_array([y[:10], y[10:]]),
    "category": lambda y: pd.Series(pd.Categorical(y, [2, 1, 0, 7])),
    "polars": lambda y: pl.Series(y),
    "list": lambda y: y.tolist(),
}


@pytest.mark.parametrize("kind", LABELS)
def test_classes_of_every_container(kind):
    X, y = np.random.default_rng(0).normal(size=(N, 2)), np.arange(N) % 3
    model = REBELClassifier(n_estimators=3).fit(X, LABELS[kind](y))
    assert model.classes_.dtype.kind == "i" and list(model.classes_) == [0, 1, 2]
    assert model.score(X, LABELS[kind](y)) == model.score(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, "a", "b"], "y must hold numbers or texts, got both: 1 in row 0 and 'a' in row 1; make texts of all"),
        (["a", "b", True], "y must hold numbers or texts, got both: 'a' in row 0 and True in row 2; make texts of all"),
        ([2.5, "a", "b"], "y must hold numbers or texts, got both"),
        ([{}, "a", "b"], "y must hold numbers or texts, got dict '{}' in row 0"),
        ([(1, 2), (3,), (4,)], r"y must hold numbers or texts, got tuple '\(1, 2\)' in row 0"),
        ([b"a", b"b", b"c"], "got bytes"),
        (
            [pd.Timestamp("2024"), pd.Timestamp("2025"), 3],
            "got Timestamp '2024-01-01 00:00:00' in row 0: make texts of them",
        ),
        ([np.timedelta64(1, "s"), np.timedelta64(2, "s"), 3], "got timedelta64 '1 seconds' in row 0"),
        ([10**30, 1, 2], "of 64 bits, got 1000"),
        ([10**5000, 1, 2], "of 64 bits, got a number of more digits"),
        ([fractions.Fraction(1), 2, 3], "got Fraction '1' in row 0"),
        ([1j, 2, 3], "got complex '1j' in row 0"),
    ],
)
def test_labels_of_kinds_that_go_not_together(y, message):
    X = np.random.default_rng(0).normal(size=(N, 2))
    kinds = of_cells(y * (N // 3))
    for labels in (kinds, kinds.tolist(), pd.Series(kinds, dtype=object)):
        for go in (lambda: REBELClassifier(n_estimators=2).fit(X, labels), lambda: costs.balanced(labels)):
            with pytest.raises(ValueError, match=message):
                go()


@pytest.mark.parametrize(("cell", "told"), [(None, "None"), (np.nan, "nan"), (pd.NA, "<NA>"), (pd.NaT, "NaT")])
def test_rows_without_a_class_are_no_mistakes(cell, told):
    X, y = np.random.default_rng(0).normal(size=(N, 2)), np.arange(N) % 3
    model = REBELClassifier(n_estimators=2).fit(X, y)
    for labels in ([*y[:3], cell, *y[4:]], pd.Series([*y[:3], cell, *y[4:]], dtype=object)):
        with pytest.raises(
            ValueError, match=f"y_true must hold a class for each row, got {told} in row 3: leave such rows out"
        ):
            model.score(X, labels)


@pytest.mark.parametrize("dtype", [object, np.longdouble, np.float16])
def test_numbers_of_every_type_are_classes_and_kept(dtype, tmp_path):
    X, y = np.random.default_rng(0).normal(size=(N, 2)), np.array([5, 7, 11])[np.arange(N) % 3]
    model = REBELClassifier(n_estimators=3).fit(X, y.astype(dtype))
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))
    np.testing.assert_array_equal(model.predict(X), REBELClassifier(n_estimators=3).fit(X, y).predict(X))


def test_nullable_truth_values_are_truth_values():
    y = pd.array(np.arange(N) % 2 == 1, dtype="boolean")
    assert REBELClassifier(n_estimators=2).fit(np.arange(N)[:, None], y).classes_.dtype == bool


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lambda t: pd.Series([None, *t[1:]]), "y must hold a class for each row, got .* in row 0: leave such rows out"),
        (
            lambda t: pd.Series(pd.Categorical([*t[:-1], None])),
            f"y must hold a class for each row, got nan in row {N - 1}",
        ),
        (lambda t: pd.Series([pd.NA, *t[1:]], dtype=object), "y must hold a class for each row, got <NA> in row 0"),
        (lambda t: pd.array([None, *t[1:]], dtype="string"), "y must hold a class for each row, got <NA> in row 0"),
        (lambda t: pa.array([None, *t[1:]]), "y must hold a class for each row, got None in row 0"),
        (lambda t: [None, *t[1:]], "y must hold a class for each row, got None in row 0|NaN"),
        (
            lambda t: pd.array([None, *range(1, N)], dtype="Int64"),
            "y must hold a class for each row, got (nan|<NA>) in row 0: leave such rows out",
        ),
        (lambda t: np.where(np.arange(N) == 3, np.nan, 1.0), "y must hold a class for each row, got nan in row 3"),
        (
            lambda t: np.where(np.arange(N) == 3, np.datetime64("NaT"), DAYS.to_numpy()),
            "y must hold a class for each row, got NaT in row 3",
        ),
        (
            lambda t: pd.Series(DAYS[np.arange(N) % 2].to_period("D")),
            "y must hold numbers or texts, got Period .* in row 0",
        ),
        (
            lambda t: np.array([datetime.date(2024, 1, 1 + k % 2) for k in range(N)]),
            "y must hold numbers or texts, got date",
        ),
    ],
)
def test_classes_that_are_missing_or_none(y, message):
    words = np.array(["a", "b", "c"])[np.arange(N) % 3].tolist()
    with pytest.raises(ValueError, match=message):
        REBELClassifier(n_estimators=2).fit(np.ones((N, 1)), y(words))


WEIGHTS = {
    "Int64": lambda w: pd.array(w, dtype="Int64"),
    "Float64": lambda w: pd.Series(w, dtype="Float64"),
    "objects": lambda w: pd.Series(w.tolist(), dtype=object),
    "decimals": lambda w: [decimal.Decimal(int(v)) for v in w],
    "Arrow": pa.array,
    "Arrow chunks": lambda w: pa.chunked_array([w]),
    "polars": lambda w: pl.Series(w),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("name", MODELS)
def test_weights_of_every_container(name, kind):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(N, 2)), np.arange(N) % 3, rng.integers(1, 4, N)
    a = clone(MODELS[name]).fit(X, y, sample_weight=weight)
    b = clone(MODELS[name]).fit(X, y, sample_weight=WEIGHTS[kind](weight))
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda w: [pd.NA, *w[1:]], "sample_weight must hold a number for each row, got <NA> in row 0"),
        (lambda w: [None, *w[1:]], "sample_weight must hold a number for each row, got None in row 0"),
        (lambda w: ["heavy"] * N, "sample_weight must hold a number for each row, got 'heavy' in row 0"),
        (lambda w: ["1"] * N, "sample_weight must hold a number for each row, got '1' in row 0"),
        (
            lambda w: pd.array([None, *w[1:]], dtype="Float64"),
            "sample_weight must .*, got (<NA>|nan) in row 0",  # as the version of pandas has it
        ),
        (lambda w: pa.array([None, *w[1:]]), "sample_weight must be finite and zero or more, .* got nan in row 0"),
        (lambda w: np.array([np.nan, *w[1:]]), "sample_weight must be finite and zero or more, .* got nan in row 0"),
        (
            lambda w: [*w[1:], 10**400],
            f"sample_weight must hold numbers up to 1.8e308, got a larger one in row {N - 1}",
        ),
        (lambda w: [[1.0], *w[1:]], "sample_weight must hold a number for each row, got several in some"),
        (lambda w: [*w[1:], "1"], f"sample_weight must hold a number for each row, got '1' in row {N - 1}"),
        (lambda w: [1j] * N, "sample_weight must hold a number for each row, got 1j in row 0"),
        (lambda w: np.full(N, 1j), "sample_weight must hold a number for each row, got 1j in row 0"),
        (lambda w: [{}] * N, "sample_weight must hold a number for each row, got {} in row 0"),
        (lambda w: DAYS, "sample_weight must hold a number for each row, got datetime64"),
        (lambda w: DAYS.to_numpy("M8[ns]"), "sample_weight must hold a number for each row, got datetime64"),
        (
            lambda w: DAYS.to_numpy("M8[ns]") - DAYS[0].to_datetime64(),
            "sample_weight must hold a number for each row, got timedelta64",
        ),
    ],
)
def test_weights_that_are_missing_or_no_numbers(weight, message):
    X, y, given = np.ones((N, 1)), np.arange(N) % 2, weight([1.0] * N)
    with pytest.raises(ValueError, match=message):
        REBELClassifier(n_estimators=2).fit(X, y, sample_weight=given)
    for judge in (metrics.expected_cost, metrics.regret, metrics.cost_confusion_matrix):
        with pytest.raises(ValueError, match="^sample_weight must "):
            judge(y, y, sample_weight=given)
    for of_y in (metrics.best_constant_cost, costs.balanced):
        with pytest.raises(ValueError, match="^sample_weight must "):
            of_y(y, sample_weight=given)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones((N, 2)), rf"for each row, got ndarray of shape \({N}, 2\): .* costs by their name, as cost=C"),
        (pd.DataFrame({0: [0.0, 1.0], 1: [5.0, 0.0]}), r"for each row, got DataFrame of shape \(2, 2\): .* as cost=C"),
        (costs.uniform([0, 1]), r"for each row, got CostMatrix of shape \(2, 2\): .* as cost=C"),
        ({0: {1: 1.0}, 1: {0: 5.0}}, "for each row, got dict: .* as cost=C"),
        (np.ones(N - 1), f"for each of the {N} rows, got {N - 1}: give as many"),
        ([1.0] * (N - 1), f"for each of the {N} rows, got {N - 1}: give as many"),
    ],
)
def test_weights_of_another_shape(weight, message):
    y = np.arange(N) % 2
    model = REBELClassifier(n_estimators=2).fit(np.ones((N, 1)), y)
    for use in (
        lambda: REBELClassifier(n_estimators=2).fit(np.ones((N, 1)), y, weight),
        lambda: model.score(np.ones((N, 1)), y, weight),
        lambda: metrics.expected_cost(y, y, sample_weight=weight),
        lambda: costs.balanced(y, sample_weight=weight),
    ):
        with pytest.raises(ValueError, match=f"^sample_weight must hold a number {message}"):
            use()


def test_weights_may_be_one_number_or_a_column():
    X, y = np.random.default_rng(0).normal(size=(N, 2)), np.arange(N) % 2
    weight, decided = np.arange(1.0, N + 1), (y + (np.arange(N) % 3 == 0)) % 2
    for weighed, same in ((5, None), (weight[:, None], weight), (pd.DataFrame(weight), weight)):
        one, other = (REBELClassifier(n_estimators=2).fit(X, y, w).decision_function(X) for w in (weighed, same))
        np.testing.assert_array_equal(one, other)
        costs_of = [metrics.expected_cost(y, decided, sample_weight=w) for w in (weighed, same)]
        assert costs_of[0] == costs_of[1]


def test_balanced_weights_near_the_ends_of_float64():
    y = [0, 1, 1, 1]
    for weight in (5e-324, 1.7e308, 10**300):
        np.testing.assert_allclose(costs.balanced(y, [weight] * 4).values, costs.balanced(y).values, rtol=1e-15)
    with pytest.raises(ValueError, match="^sample_weight must be finite and zero or more"):
        costs.balanced(y, [2, -1, 2, 2])


def test_numbers_beyond_float64_are_no_costs():
    for price in (10**400, [1, 10**400], {0: 1, 1: 10**400}):
        with pytest.raises(ValueError, match="must be a finite number >= 0"):
            costs.with_reject(costs.uniform([0, 1]), price)
    with pytest.raises(ValueError, match=r"cost\[0, 1\] must be a number"):
        costs.as_cost([[0, 10**400], [1, 0]], [0, 1])


def test_decimals_of_arrow_are_the_nearest_floats():
    texts = [f"{v:.3f}" for v in np.random.default_rng(0).normal(size=300)]
    cells = pa.array([None, *map(decimal.Decimal, texts)], type=pa.decimal128(9, 3))
    column = next(iter(Frame.of(pa.table({"a": cells})).columns))
    np.testing.assert_array_equal(column.numbers()[1:], [float(text) for text in texts])


@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
def test_masked_entries_are_refused(name):
    X = np.random.default_rng(0).normal(size=(60, 3))
    parts = {"X": X, "y": (X[:, 0] > 0).astype(int), "sample_weight": np.ones(60)}
    model = REBELClassifier(n_estimators=2)
    whole = {**parts, name: np.ma.array(parts[name])}  # nothing is masked
    assert model.fit(**whole).n_iter_ == 2
    masked = {**parts, name: np.ma.array(parts[name], mask=np.arange(parts[name].size).reshape(parts[name].shape) < 2)}
    with pytest.raises(ValueError, match=f"{name} must have no masked entries, got 2"):
        model.fit(**masked)
    if name == "X":
        with pytest.raises(ValueError, match="X must have no masked entries"):
            model.predict(masked["X"])


@pytest.mark.parametrize("kind", ["texts", "codes"])
def test_broken_cells_of_arrow_are_refused(kind):
    codes = np.arange(60) % 3
    if kind == "codes":
        broken = pa.DictionaryArray.from_arrays(pa.array(codes + 1), pa.array(["a", "b", "c"]), safe=False)
    else:
        ends = pa.py_buffer(np.arange(4, dtype=np.int32).tobytes())
        broken = pa.Array.from_buffers(pa.string(), 3, [None, ends, pa.py_buffer(b"a\xffb")]).take(pa.array(codes))
    with pytest.raises(ValueError, match="column 't' of X must hold sound cells"):
        REBELClassifier(n_estimators=2).fit(pa.table({"t": broken}), codes)
