"""What a fit says of each column, what it warns of, and columns that are named as categories."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from minrisk import ALGORITHMS, Chunks, DataWarning, MinRiskClassifier, REBELClassifier, load, save
from minrisk.data.column_report import printed

N = 240
Y = np.arange(N) % 3


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(size=N),
            "married": rng.random(N) < 0.5,
            "zip": rng.integers(0, 40, N),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], N),
            "street": [f"s{k}" for k in rng.integers(0, 30, N)],
            "size": pd.Categorical(rng.choice(["s", "m", "l"], N), ["s", "m", "l"], ordered=True),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, N), "D"),
        }
    )
    X.loc[::7, "age"] = np.nan
    X.loc[::9, "city"] = None
    return X


def warned(X, y=Y, **parameters):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = REBELClassifier(n_estimators=2, **parameters).fit(X, y)
    return model, [str(one.message) for one in told if issubclass(one.category, DataWarning)]


def test_every_column_is_reported(capsys):
    model, told = warned(table(), verbose=1)
    assert not told
    lines = {column.name: column[1:] for column in model.columns_}
    assert lines == {
        "age": ("number", None, 35, "as it is", ""),
        "married": ("number", None, 0, "as it is", ""),
        "zip": ("number", None, 0, "as it is", ""),
        "city": ("category", 3, 27, "codes and indicators", ""),
        "street": ("category", 30, 0, "codes and 3 shares of classes", ""),
        "size": ("ordered category", 3, 0, "numbers in order", ""),
        "since": ("date", None, 0, "days since 1970-01-01", ""),
    }
    said = capsys.readouterr()
    assert said.out == "" and printed(model.columns_) in said.err
    assert "street category 30 0 codes and 3 shares of classes" in [
        " ".join(line.split()) for line in said.err.splitlines()
    ]


def test_silent_fits_print_nothing(capsys):
    warned(table())
    REBELClassifier(n_estimators=2, verbose=1).fit(
        table()[["age", "zip"]].to_numpy(), Y
    )  # an array has no names to tell
    assert "column" not in capsys.readouterr().err


def test_a_long_report_is_cut():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 100)), columns=[f"c{j}" for j in range(100)])
    text = printed(warned(wide)[0].columns_)
    assert text.count("\n") == 62 and text.endswith("and 40 more columns\n")


WRONG = {
    "a constant": (lambda X: 3.0, "'new' (one value, which says nothing)"),
    "a constant text": (lambda X: "u", "'new' (one value"),
    "nothing": (lambda X: None, "'new' (one value"),
    "row numbers": (lambda X: np.arange(N) + 17, "'new' (another value in nearly each row, as identifiers have"),
    "row numbers backwards": (lambda X: -np.arange(N, dtype=float), "'new' (another value in nearly each row"),
    "names": (lambda X: [f"k{k}" for k in np.random.default_rng(0).permutation(N)], "'new' (another value"),
    "nearly names": (
        lambda X: [f"k{max(k, 20)}" for k in np.random.default_rng(0).permutation(N)],
        "'new' (another value",
    ),
    "messages": (
        lambda X: [f"it was {k}" for k in np.random.default_rng(0).permutation(N)],
        "make columns of its words, as scikit-learn's TfidfVectorizer",
    ),
    "the target": (lambda X: Y, "'new' (a value for each class: it may be the target"),
    "the target as text": (lambda X: np.array(["u", "v", "w"])[Y], "'new' (a value for each class"),
    "the target as dates": (lambda X: pd.Timestamp(0) + pd.to_timedelta(Y, "D"), "'new' (a value for each class"),
    "numbers as text": (
        lambda X: (np.random.default_rng(0).random(N) * 9).round(1).astype(str),
        "'new' (numbers written as text",
    ),
}
RIGHT = {
    "a measurement": lambda X: np.random.default_rng(1).normal(size=N),
    "whole numbers that all differ": lambda X: np.random.default_rng(1).permutation(10 * N)[:N],
    "one value and nothing": lambda X: np.where(np.arange(N) % 5, np.nan, 1.0),
    "nearly the target": lambda X: np.where(np.arange(N) == 200, 0, Y),
    "names of a few": lambda X: [f"k{max(k, 60)}" for k in np.random.default_rng(0).permutation(N)],
    "postcodes": lambda X: [f"{k:05d}" for k in np.random.default_rng(0).integers(1067, 1100, N)],
}


@pytest.mark.parametrize("what", WRONG)
def test_what_looks_wrong_is_warned_of(what):
    cells, message = WRONG[what]
    model, told = warned(table().assign(new=cells(table())))
    assert len(told) == 1 and message in told[0]
    assert [column.name for column in model.columns_ if column.remark] == ["new"]


@pytest.mark.parametrize("what", RIGHT)
def test_what_looks_right_is_not(what):
    model, told = warned(table().assign(new=RIGHT[what](table())))
    assert not told and not any(column.remark for column in model.columns_)


def test_few_rows_may_all_differ():
    few = pd.DataFrame({"k": range(20), "name": [f"n{k}" for k in range(20)], "t": np.arange(20) % 2})
    assert not warned(few, np.arange(20) % 2)[1]


def test_a_refit_on_an_array_has_no_report():
    model, _ = warned(table())
    model.fit(table()[["age", "zip"]].to_numpy(), Y)
    assert not hasattr(model, "columns_")


# -- values that fit has not seen --------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 5, N])
def test_unseen_values_are_counted_and_missing(n):
    X = table()
    model = REBELClassifier(n_estimators=3).fit(X, Y)
    new = X[:n].assign(city=["Rom" if k % 2 == 0 else "Ulm" for k in range(n)], street="s0")
    expected = model.decision_function(new.assign(city=[None if k % 2 == 0 else "Ulm" for k in range(n)]))
    with pytest.warns(DataWarning, match=rf"not seen, taken as missing: 'city' in {(n + 1) // 2} rows? \('Rom'\)\.$"):
        found = model.decision_function(new)
    np.testing.assert_array_equal(found, expected)


# -- columns that are named -------------------------------------------------------------------------------------------
NAMED = (["zip"], [2], np.array([2]), [False, False, True, False, False, False, False])


@pytest.mark.parametrize("named", NAMED, ids=str)
def test_columns_of_numbers_are_categories_where_they_are_named(named, tmp_path):
    X = table()
    model = REBELClassifier(n_estimators=5, categorical_features=named).fit(X, Y)
    expected = REBELClassifier(n_estimators=5).fit(X.astype({"zip": "category"}), Y)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert {column.name: column.kind for column in model.columns_}["zip"] == "category"
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(
        load(tmp_path / "m").decision_function(X[X.columns[::-1]]), model.decision_function(X)
    )
    one = X[:1].astype({"zip": float})
    np.testing.assert_array_equal(model.decision_function(one), model.decision_function(X)[:1])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_takes_them(algorithm, tmp_path):
    X = table()[["age", "zip"]]
    model = algorithm(n_estimators=2, categorical_features=["zip"]).fit(X, Y)
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))
    assert model._categories.columns[0].name == "zip"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (["zap"], "categorical_features must name columns of X, which are 'age', 'married', .*; got 'zap'"),
        ([7], "categorical_features must be positions from 0 to 6, names or truth values, got 7"),
        ([-1], "categorical_features must be positions from 0 to 6, .* got -1"),
        ([True], "categorical_features must have a truth value for each of the 7 columns of X, got 1"),
    ],
)
def test_columns_that_are_not_there_are_refused(named, message):
    with pytest.raises(ValueError, match=message):
        REBELClassifier(categorical_features=named).fit(table(), Y)


def test_names_need_a_table_and_sparse_rows_have_no_categories():
    X = np.random.default_rng(0).integers(0, 9, (N, 2)).astype(float)
    with pytest.raises(
        ValueError, match="categorical_features must name columns of X, which have no names: give positions"
    ):
        REBELClassifier(categorical_features=["a"]).fit(X, Y)
    with pytest.raises(ValueError, match="categorical_features names columns of tables or arrays, got a sparse matrix"):
        REBELClassifier(categorical_features=[0]).fit(csr_array(X), Y)
    with pytest.raises(ValueError, match="chunks and partitions must hold numbers, got categories in column '0'"):
        REBELClassifier(categorical_features=[0]).fit(Chunks(lambda: [(X, Y)]))


def test_arrays_may_have_columns_of_categories():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=N), rng.integers(0, 30, N)]
    X[::5, 1] = np.nan
    model = MinRiskClassifier(n_estimators=20, categorical_features=[1], random_state=0).fit(X, Y)
    frame = pd.DataFrame(X, columns=["a", "b"]).astype({"b": "category"})
    other = MinRiskClassifier(n_estimators=20, random_state=0).fit(frame, Y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(frame))
    np.testing.assert_array_equal(model.predict_proba(X[:1]), other.predict_proba(frame)[:1])
    with pytest.raises(ValueError, match="X has 1 features, but REBELClassifier is expecting 2|expecting 2 features"):
        model.predict(X[:, :1])


# -- any frame ---------------------------------------------------------------------------------------------------------
DAY = datetime.date(2024, 1, 1)
KINDS = {  # cells of a frame from whole numbers, and the numbers of an array that say the same
    "number": (lambda k: float(k), float),
    "whole": (int, float),
    "truth": (lambda k: bool(k % 2), lambda k: float(k % 2)),
    "date": (lambda k: DAY + datetime.timedelta(days=k), lambda k: 19723.0 + k),
    "text": (lambda k: f"v{k:02d}", float),
    "category": (lambda k: f"v{k:02d}", float),  # in the order of the numbers
}


@given(
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["None", "NaN", "NA"]),
    st.sampled_from(["pandas", "arrow", "polars"]),
)
@settings(max_examples=40, deadline=None)
def test_any_frame_is_the_array_of_its_numbers(kinds, seed, missing, library):
    rng, nothing = np.random.default_rng(seed), {"None": None, "NaN": np.nan, "NA": pd.NA}[missing]
    cells = rng.integers(0, 12, (60, len(kinds)))
    gone = rng.random(cells.shape) < 0.1
    columns = {}
    for j, kind in enumerate(kinds):
        column = [nothing if g else KINDS[kind][0](int(k)) for k, g in zip(cells[:, j], gone[:, j], strict=True)]
        columns[f"c{j}"] = pd.Categorical(column) if kind == "category" else pd.Series(column, dtype=object)
    array = np.column_stack([np.vectorize(KINDS[kind][1])(cells[:, j]) for j, kind in enumerate(kinds)]).astype(float)
    array[gone] = np.nan
    frame, y = pd.DataFrame(columns), rng.integers(0, 3, 60)
    y[:3] = range(3)
    if library != "pandas":
        pa = pytest.importorskip("pyarrow")
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    if library == "polars":
        frame = pytest.importorskip("polars").from_arrow(frame)
    named = [j for j, kind in enumerate(kinds) if kind in ("text", "category")]
    model = REBELClassifier(n_estimators=4).fit(frame, y)
    other = REBELClassifier(n_estimators=4, categorical_features=named).fit(array, y)
    np.testing.assert_array_equal(model.decision_function(frame), other.decision_function(array))
    few = frame[:5] if library != "arrow" else frame.slice(0, 5)
    np.testing.assert_array_equal(model.decision_function(few), other.decision_function(array)[:5])


# -- odd tables --------------------------------------------------------------------------------------------------------
def odd(name):
    """A column that is hard to read, of N cells."""
    rng = np.random.default_rng(0)
    return {
        "one number": lambda: [1.0, *[np.nan] * (N - 1)],
        "one text": lambda: ["u", *[None] * (N - 1)],
        "two texts": lambda: ["u", "v", *[None] * (N - 2)],
        "none": lambda: [None] * N,
        "days in a row": lambda: pd.date_range("2024-01-01", periods=N),
        "NumPy's NaT": lambda: pd.Series(
            [np.datetime64("NaT"), *[np.datetime64("2024-01-01")] * (N - 1)], dtype=object
        ),
        "no durations": lambda: pd.Series([np.timedelta64("NaT"), *[np.timedelta64(1, "D")] * (N - 1)], dtype=object),
        "negative durations": lambda: pd.to_timedelta(rng.integers(-(10**6), 10**6, N), "us"),
        "nullable truths": lambda: pd.array(rng.choice([True, False, None], N), dtype="boolean"),
        "codes and texts": lambda: pd.Series(rng.choice([1, 2.5, "u", None], N), dtype=object),
        "long categories": lambda: pd.Categorical.from_codes(rng.integers(-1, 3, N), [2**62, 2**62 + 1, 5]),
    }[name]()


ODD = (
    "one number",
    "one text",
    "two texts",
    "none",
    "days in a row",
    "NumPy's NaT",
    "no durations",
    "negative durations",
    "nullable truths",
    "codes and texts",
    "long categories",
)


@pytest.mark.parametrize("name", ODD)
def test_few_rows_are_read_as_many_are(name, tmp_path):
    X = table()[["age", "city"]].assign(odd=odd(name))
    model, told = warned(X)
    assert not any("identifier" in one for one in told)
    save(model, tmp_path / "m")
    for fitted in (model, load(tmp_path / "m")):
        together = fitted._numbers_as_fitted(X)
        for rows in (slice(1), slice(1, 2), slice(0, 16), slice(3, 9)):
            np.testing.assert_array_equal(fitted._check_X(X[rows]), together[rows])


@pytest.mark.parametrize("kind", ["string_view", "large_string", "string"])
def test_text_of_arrow_of_every_kind(kind):
    pa = pytest.importorskip("pyarrow")
    X = table()[["city", "street"]]
    arrow = pa.table(
        {
            name: pa.array(X[name].astype(object).where(X[name].notna(), None).tolist(), getattr(pa, kind)())
            for name in X
        }
    )
    model = REBELClassifier(n_estimators=3).fit(X, Y)
    other = REBELClassifier(n_estimators=3).fit(arrow, Y)
    np.testing.assert_array_equal(other.decision_function(arrow), model.decision_function(X))
    np.testing.assert_array_equal(model.decision_function(arrow.slice(0, 3)), model.decision_function(X)[:3])


def test_frames_of_narwhals_are_the_frames_within():
    nw = pytest.importorskip("narwhals.stable.v2")
    X = table()
    model = REBELClassifier(n_estimators=3).fit(nw.from_native(X), Y)
    np.testing.assert_array_equal(model.decision_function(nw.from_native(X[:3])), model.decision_function(X)[:3])


def test_a_number_that_names_one_column_and_counts_another_is_refused():
    X = pd.DataFrame({1: Y + 0.5, 0: Y % 2})
    for named in ([0], [1], np.array([1])):
        with pytest.raises(
            ValueError, match="must say which column . is, as one of X has this name and another this position"
        ):
            REBELClassifier(n_estimators=2, categorical_features=named).fit(X, Y)
    for named in ([False, True], ["0"]):
        model = REBELClassifier(n_estimators=2, categorical_features=named).fit(
            X.rename(columns=str) if named == ["0"] else X, Y
        )
        assert [column.position for column in model._categories.columns] == [1]
    assert (
        REBELClassifier(n_estimators=2, categorical_features=[0]).fit(X[[0, 1]], Y)._categories.columns[0].position == 0
    )


def test_numbers_beyond_float64_are_named_in_few_rows():
    X = pd.DataFrame({"a": np.arange(N) * 1.5})
    model = REBELClassifier(n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="X must hold numbers up to 1.8e308, got a larger one in column 'a'"):
        model.predict(pd.DataFrame({"a": pd.Series([10**400], dtype=object)}))


def test_a_report_is_of_the_last_fit():
    X = table()
    model = REBELClassifier(n_estimators=2, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=3).fit(X.assign(age=np.where(np.arange(N) < 30, np.nan, 1.0)), Y)
    assert {column.name: column.n_missing for column in model.columns_}["age"] == 30
    numbers = X[["zip", "married"]].astype(float)
    model.set_params(warm_start=False).fit(Chunks(lambda: [(numbers, Y)]))
    assert not hasattr(model, "columns_")


def test_rows_without_weight_are_not_in_the_report():
    X, weight = table(), np.where(np.arange(N) < 100, 0.0, 1.0)
    lines = {column.name: column for column in REBELClassifier(n_estimators=2).fit(X, Y, sample_weight=weight).columns_}
    assert lines["city"].n_missing == X["city"][100:].isna().sum() and lines["street"].n_missing == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_many_rows_of_categories_are_in_memory(algorithm, monkeypatch):
    """They are made when they are read, but may be judged, left out and seen as an array as any others."""
    X, weight = table()[["age", "city", "street"]], np.where(np.arange(N) == 3, 0.0, 1.0)
    drawn = {"random_state": 0} if "random_state" in algorithm().get_params() else {}
    few = algorithm(n_estimators=2, **drawn).fit(X, Y, sample_weight=weight, eval_set=(X, Y))
    monkeypatch.setattr("minrisk.data.categories.DENSE_VALUES", 0)
    monkeypatch.setattr("minrisk.data.row_blocks.DENSE_VALUES", 0)
    many = algorithm(n_estimators=2, **drawn).fit(X, Y, sample_weight=weight, eval_set=(X, Y))
    np.testing.assert_array_equal(many.predict(X), few.predict(X))
    assert many.evals_result_ == few.evals_result_


def test_splitters_see_the_columns_that_were_given(monkeypatch):
    """Categories as codes: what is learnt of them hangs on the folds, in which copies are one row."""
    seen = []

    class Splitter:
        def split(self, X, y, groups=None):
            seen.append(X.shape)
            return [
                (np.flatnonzero(np.arange(len(y)) % 2 != k), np.flatnonzero(np.arange(len(y)) % 2 == k)) for k in (0, 1)
            ]

        def get_n_splits(self, X=None, y=None, groups=None):
            return 2

    monkeypatch.setattr("minrisk.data.categories.DENSE_VALUES", 0)
    MinRiskClassifier(n_estimators=5, cv=Splitter(), random_state=0).fit(table()[["age", "city"]], Y)
    assert seen == [(N, 2)]


@pytest.mark.parametrize("ask", ["fit", "predict", "predict_proba", "score", "decision_function", "staged_predict"])
def test_warnings_point_at_the_line_of_the_caller(ask):
    X = table().assign(new=3.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X, Y)
        if ask != "fit":
            answer = getattr(model, ask)(X.assign(city="Rom"), *([Y] if ask == "score" else []))
            list(answer) if ask == "staged_predict" else None
    ours = [one for one in told if issubclass(one.category, DataWarning)]
    assert len(ours) == 1 + (ask != "fit") and all(one.filename == __file__ for one in ours)


def test_masks_and_positions_do_not_mix_and_none_is_none():
    X = table()[["age", "zip"]].to_numpy(dtype=float)
    with pytest.raises(ValueError, match="must be a mask or names and positions of columns, got both"):
        REBELClassifier(categorical_features=[True, 1]).fit(X, Y)
    model = REBELClassifier(n_estimators=2, categorical_features=[]).fit(csr_array(np.nan_to_num(X)), Y)
    assert not model._categories.columns


@pytest.mark.parametrize("of", ["whole numbers", "dates", "times", "durations"])
def test_arrow_holds_what_the_others_do(of):
    """Beyond 2^53, and far from 1970, its own casts refuse what pandas and polars round."""
    pa = pytest.importorskip("pyarrow")
    far = [datetime.date(9999, 12, 31), datetime.date(1066, 10, 14)]
    cells, kind = {
        "whole numbers": ([2**60, -(2**60)], pa.int64()),
        "dates": (far, pa.date32()),
        "times": ([datetime.datetime(day.year, 1, 1, 12) for day in far], pa.timestamp("us")),
        "durations": ([datetime.timedelta(days=10**6), -datetime.timedelta(days=10**6)], pa.duration("us")),
    }[of]
    arrow = pa.table({"c": pa.array([cells[k % 2] if k % 5 else None for k in range(N)], kind)})
    model = REBELClassifier(n_estimators=3).fit(arrow, Y)
    for X in (arrow.to_pandas(types_mapper=pd.ArrowDtype), pytest.importorskip("polars").from_arrow(arrow)):
        np.testing.assert_array_equal(model.decision_function(X), model.decision_function(arrow))
        np.testing.assert_array_equal(model.decision_function(X[:3]), model.decision_function(arrow)[:3])


def test_text_without_a_cell_is_text():
    X = table()[["age"]].assign(rare=pd.Series([None] * 200 + ["a"] * 40, dtype="str"))
    model = REBELClassifier(n_estimators=2).fit(X[:200], Y[:200])
    assert model.columns_[1].kind == "category"
    with pytest.warns(DataWarning, match="'rare' in 40 rows"):
        model.predict(X)


BIG = 2**53 + np.arange(N) % 3
ROUNDED = {
    "frame": lambda ids: pd.DataFrame({"x": 0.5, "id": ids}),
    "missing": lambda ids: pd.DataFrame({"id": pd.array(ids, dtype="Int64").copy()}).mask(np.arange(N)[:, None] < 3),
    "array": lambda ids: np.c_[Y, ids],
    "objects": lambda ids: np.c_[Y.astype(object), ids.astype(object)],
    "list": lambda ids: np.c_[Y, ids].tolist(),
    "sparse": lambda ids: csr_array(np.c_[Y, ids]),
    "without a sign": lambda ids: pd.DataFrame({"id": ids.astype("u8") + 2**63}),
    "the largest": lambda ids: pd.DataFrame({"id": 2**62 - 1 + ids % 3 + 2**62}),
    "decimal": lambda ids: pd.DataFrame({"id": [decimal.Decimal(int(one)) for one in ids]}),
    "chunks": lambda ids: Chunks(lambda: iter([(pd.DataFrame({"id": ids}), Y)])),
}


@pytest.mark.parametrize("kind", ROUNDED)
def test_whole_numbers_that_merge_are_told(kind):
    X = ROUNDED[kind](BIG - (kind == "the largest"))
    told = warned(X, None if kind == "chunks" else Y)[1]
    name = "'id'" if kind in ("chunks", "frame") or hasattr(X, "columns") else "1"
    assert any(
        f"beyond 2**53, which are rounded, so that several may become one: {name}. Name" in one for one in told
    ), told


@pytest.mark.parametrize("kind", ["frame", "array", "objects", "list", "sparse", "one", "dict"])
def test_whole_numbers_that_merge_are_told_of_new_rows(kind):
    X = ROUNDED["frame" if kind in ("one", "dict") else kind](BIG)
    model = REBELClassifier(n_estimators=2).fit(
        ROUNDED["frame"](BIG % 2**52) if hasattr(X, "columns") else np.c_[Y, BIG % 2**52], Y
    )
    new = {"one": lambda: X[1:2], "dict": lambda: {"x": 0.5, "id": 2**53 + 1}}.get(kind, lambda: X)()
    with pytest.warns(DataWarning, match="beyond 2\\*\\*53, which are rounded"):
        model.predict(new)


def test_whole_numbers_that_do_not_merge_are_not_told():
    exact = pd.DataFrame({"id": (BIG - 2**53) * 2**60, "x": BIG.astype(float)})
    assert not any("2**53" in one for one in warned(exact)[1])
    gaps = pd.DataFrame({"id": pd.array(BIG, dtype="Int64"), "x": 0.5})
    gaps.loc[:2, "id"] = pd.NA
    named, told = warned(gaps, categorical_features=["id"])
    assert not any("2**53" in one for one in told) and set(named._categories.columns[0].values) == set(BIG.tolist())


@pytest.mark.parametrize("later", ["Y", 1.5, datetime.date(2024, 1, 1)], ids=repr)
@pytest.mark.parametrize("algorithm", [REBELClassifier, MinRiskClassifier])
def test_a_column_of_objects_without_values_takes_what_comes_later(algorithm, later, tmp_path):
    """It held nothing that could be told from missing; so what it holds afterwards is missing, and that is said."""
    frame = pd.DataFrame({"x": np.arange(N) / N, "rare": pd.Series([None] * N, dtype=object)})
    model = algorithm(n_estimators=3, random_state=0).fit(frame, Y)
    save(model, tmp_path / "m")
    new = frame.copy()
    new.loc[:3, "rare"] = later
    for each in (model, load(tmp_path / "m")):
        with pytest.warns(DataWarning, match="'rare' in 4 rows"):
            np.testing.assert_array_equal(each.predict(new), model.predict(frame))
    assert algorithm(n_estimators=3, random_state=0).fit(Chunks(lambda: iter([(frame, Y)]))).n_features_in_ == 2
