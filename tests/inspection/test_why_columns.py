"""Changes of one value where columns lack values, or hold truth values or whole numbers: beside brute force."""

import json
import re
import warnings

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeRegressor

from minrisk import LocalizedSimilaritiesClassifier, MCBoostClassifier, MinRiskClassifier, REBELClassifier
from minrisk.data.frames import NUMBER
from minrisk.inspection import why
from minrisk.inspection.columns import TRUTH_VALUE, WHOLE_NUMBERS, kind_of_column, types_of_columns

pytestmark = pytest.mark.filterwarnings("error")
FLOATS, WHOLES, TRUTHS = ("weight", "height"), ("count", "grade"), ("smoker", "ill")


@pytest.fixture(scope="module")
def table():
    """Floats, whole numbers and truth values, one of each without missing values and one with."""
    rng = np.random.default_rng(0)
    n = 500
    X = pd.DataFrame(
        {
            "weight": rng.normal(size=n),
            "height": rng.normal(size=n),
            "count": rng.integers(0, 7, n),
            "grade": pd.array(rng.integers(-3, 4, n), dtype="Int64"),
            "smoker": rng.random(n) < 0.4,
            "ill": pd.array(rng.random(n) < 0.5, dtype="boolean"),
        }
    )
    for name in ("height", "grade", "ill"):
        X.loc[rng.random(n) < 0.25, name] = pd.NA
    score = np.where(X["height"].isna(), 1.5, X["height"]) + np.where(X["grade"].isna(), -2, X["grade"].fillna(0) * 0.7)
    score = score + 1.5 * X["smoker"] + 2 * X["ill"].fillna(False).astype(bool) + 0.5 * X["count"] + X["weight"]
    score += np.where(X["ill"].isna(), -2, 0)
    return X, np.array(["low", "middle", "high"])[np.searchsorted([0.5, 3], score.to_numpy(dtype=float))]


@pytest.fixture(scope="module")
def stepped(table):
    return MinRiskClassifier(n_estimators=30, pool=False, random_state=0).fit(*table)


def decided(model, row, name, values):
    """By predict, of the row with each of these values in one column; None is missing."""
    rows = pd.concat([row] * len(values), ignore_index=True)
    rows[name] = pd.array(
        values, dtype=rows[name].dtype if rows[name].dtype.name in ("Int64", "boolean") else "Float64"
    )
    return model.predict(rows)


def every_value(name, X, x):
    """Values to look at: all that matter of truth values and whole numbers, many of others."""
    if name in TRUTHS:
        return [False, True]
    if name in WHOLES:
        return list(range(-6, 12))
    grid = np.linspace(X[name].min() - 1, X[name].max() + 1, 400)
    return np.unique(grid if pd.isna(x) else [*grid, x]).tolist()


@pytest.mark.parametrize("with_rows", [False, True])
@pytest.mark.parametrize("n", range(0, 60, 4))
def test_changes_beside_brute_force(table, stepped, n, with_rows):
    X, row = table[0], table[0].iloc[[n]]
    found = {change.column: change for change in why(stepped, row, *([X] if with_rows else [])).changes}
    own = stepped.predict(row)[0]
    for name in X.columns:
        x = row[name].iloc[0]
        values, change = every_value(name, X, x), found.get(name)
        there = decided(stepped, row, name, values)
        gone = decided(stepped, row, name, [None])[0]
        if change is None:
            assert np.all(there == own) and gone == own
            continue
        assert change.exact and change.decision != own and not re.search(r"inf|nan", change.text)
        assert decided(stepped, row, name, [change.to])[0] == change.decision
        assert (change.value is None) == pd.isna(x) and (change.value is None or change.value == x)
        if name in WHOLES + TRUTHS:
            kind = int if name in WHOLES else bool
            assert all(value is None or type(value) is kind for value in (change.value, change.to))
        if change.to is None:
            assert change.text == "missing" and gone == change.decision and np.all(there == own) and change.size == 1
        elif change.text == "any value":
            assert pd.isna(x) and np.all(there == change.decision) and change.size == 1
        elif name in TRUTHS:
            assert change.text == str(change.to) and change.size == 1
        else:
            way, at = re.fullmatch(r"(above )?(\S+?)(?: or (?:less|more))?", change.text).groups()
            assert way is None or name in FLOATS
            nearest = np.array(
                [np.nan if pd.isna(x) else abs(value - x) for value, k in zip(values, there, strict=True) if k != own]
            )
            if pd.isna(x):
                side = [
                    k
                    for value, k in zip(values, there, strict=True)
                    if (value <= change.to if "less" in change.text else value < change.to)
                ]
                assert set(side) == ({change.decision} if "less" in change.text else {own}) and change.size == 1
            else:
                assert abs(change.to - x) <= nearest.min() + 1e-12
                before = np.nextafter(change.to, x) if name in FLOATS else change.to + np.sign(x - change.to)
                assert decided(stepped, row, name, [before])[0] == own
                assert not (with_rows and np.isnan(change.size))
            assert float(at) == pytest.approx(float(change.to), abs=1e-4)


@pytest.mark.parametrize("n", range(0, 40, 4))
def test_models_that_are_not_stepped(table, n):
    X, y = table
    dense = X.astype("Float64").fillna(0.0).astype(float)
    kinds = {"smoker": bool, "ill": bool, "count": int, "grade": int}
    typed = dense.astype(kinds)
    for model, rows in (
        (MinRiskClassifier(n_estimators=15, random_state=0), X),
        (LocalizedSimilaritiesClassifier(n_estimators=15), typed),
        (MCBoostClassifier(n_estimators=5, estimator=DecisionTreeRegressor(max_depth=3, random_state=0)), typed),
    ):
        model.fit(rows, y)
        row = rows.iloc[[n]]
        for change in why(model, row, rows).changes:
            assert decided(model, row, change.column, [change.to])[0] == change.decision != model.predict(row)[0]
            assert not re.search(r"inf|nan", change.text) and np.isfinite(change.size)
            if change.column in TRUTHS:
                assert change.text in ("True", "False", "missing", "any value") and change.exact
            if change.column in WHOLES and change.to is not None:
                assert type(change.to) is int and (
                    change.exact or change.text.startswith("about ") or change.value is None
                )
                if change.value is not None and change.text.startswith(
                    "about"
                ):  # none nearer, but for one undone before the next value
                    before = change.to + (1 if change.value > change.to else -1)
                    assert decided(model, row, change.column, [before])[0] == model.predict(row)[0]


def test_a_gap_between_missing_and_the_lowest_values(table):
    """Missing is one decision, low values another, and high ones that of the missing again."""
    rng = np.random.default_rng(1)
    x = np.where(rng.random(300) < 0.3, np.nan, rng.normal(size=300))
    X, y = np.column_stack([x, rng.normal(size=300)]), np.where(x < 0, "low", "rest")
    model = MinRiskClassifier(n_estimators=20, pool=False, random_state=0).fit(X, y)
    (change,) = why(model, [np.nan, 0.0]).changes
    assert re.fullmatch(r"-?0\.\d+ or less", change.text) and change.decision == "low" and abs(change.to) < 0.1
    assert model.predict([[change.to, 0.0]])[0] == "low" != model.predict([[np.nextafter(change.to, 9), 0.0]])[0]
    (change,) = why(model, [-1.0, 0.0]).changes
    assert change.text.startswith("above ") and change.to is not None  # a number before a value that goes missing


def test_dates_that_are_missing():
    rng = np.random.default_rng(2)
    day = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 300), unit="D")).mask(
        rng.random(300) < 0.3
    )
    X, y = pd.DataFrame({"day": day, "size": rng.normal(size=300)}), np.where(day.isna(), "gone", "here")
    model = MinRiskClassifier(n_estimators=10, pool=False, random_state=0).fit(X, y)
    for rows in ((), (X,)):
        (change,) = why(model, {"day": None, "size": 0.0}, *rows).changes
        assert (change.text, change.value, change.decision, change.size) == ("any value", None, "here", 1)
        assert model.predict({"day": change.to, "size": 0.0})[0] == "here"
        (change,) = why(model, {"day": pd.Timestamp("2024-03-01"), "size": 0.0}, *rows).changes
        assert (change.text, change.to, change.decision, change.size) == ("missing", None, "gone", 1)


def test_answers_as_a_table_and_as_json(table, stepped):
    X, _ = table
    seen = set()
    for n in range(0, 60, 4):
        found = why(stepped, X.iloc[[n]], X)
        frame = found.to_frame("changes")
        assert frame["value"].tolist() == [c.value for c in found.changes] and frame["to"].tolist() == [
            c.to for c in found.changes
        ]
        read = json.loads(frame.to_json(orient="records"))
        for line, change in zip(read, found.changes, strict=True):
            assert (line["to"], line["text"]) == (pytest.approx(change.to), change.text)
            assert type(line["to"]) is type(change.to) and type(line["value"]) is type(change.value)
            seen.add(type(change.to))
        assert "inf" not in repr(found) + found._repr_html_() and "nan" not in repr(found)
    assert seen == {float, int, bool, type(None)}


def test_types_are_those_of_the_row_in_any_form(table, stepped):
    X, _ = table
    n = int(np.flatnonzero(X.notna().all(axis=1))[0])
    row = X.iloc[[n]]
    told = why(stepped, row)
    cells = {name: row[name].iloc[0] for name in X.columns}
    assert any(type(change.to) is bool for change in told.changes)
    for form in (
        cells,
        row.iloc[0],
        list(cells.values()),
        pl.DataFrame([{k: v.item() if hasattr(v, "item") else v for k, v in cells.items()}]),
        row[X.columns[::-1]],
    ):
        assert why(stepped, form) == told
    expected = [NUMBER, NUMBER, WHOLE_NUMBERS, WHOLE_NUMBERS, TRUTH_VALUE, TRUTH_VALUE]
    assert (
        types_of_columns(stepped, row)
        == types_of_columns(stepped, cells)
        == types_of_columns(stepped, [0.0] * 6, X)
        == expected
    )
    assert types_of_columns(stepped, cells, X.astype(object).to_numpy()) == expected
    assert types_of_columns(stepped, row, X.astype("Float64").to_numpy(dtype=float)) == [NUMBER] * 4 + [TRUTH_VALUE] * 2


@pytest.mark.parametrize(
    ("said", "held", "thresholds", "kind"),
    [
        (TRUTH_VALUE, None, [0.5], TRUTH_VALUE),
        (TRUTH_VALUE, [0, 1], [], TRUTH_VALUE),
        (TRUTH_VALUE, [0, 1, 2], [0.5], WHOLE_NUMBERS),
        (TRUTH_VALUE, None, [0.5, 1.5], WHOLE_NUMBERS),
        (WHOLE_NUMBERS, None, [], NUMBER),
        (WHOLE_NUMBERS, None, [1.7], NUMBER),
        (WHOLE_NUMBERS, [1, 2], [1.7], WHOLE_NUMBERS),
        (NUMBER, [1, 2], [1.7], NUMBER),
        (NUMBER, [1, 2], [1.5], WHOLE_NUMBERS),
        (NUMBER, [1, 2.5], [1.5], NUMBER),
        (NUMBER, None, [1.5], NUMBER),
        (NUMBER, [], [1.5], NUMBER),
    ],
)
def test_kinds(said, held, thresholds, kind):
    assert kind_of_column(said, None if held is None else np.array(held, dtype=float), np.array(thresholds)) == kind


def test_thresholds_within_a_whole_number():
    """Evenly spaced ones leave gaps without any whole number, and none of these is suggested."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.integers(0, 5, 200), "z": rng.normal(size=200)})
    y = np.where(X["n"] > 2, "many", "few")
    model = REBELClassifier(n_estimators=20, max_depth=2).fit(X, y)
    for n in range(20):
        for change in why(model, X.iloc[[n]], X, columns=["n"]).changes:
            assert change.to in (2, 3) and change.text in ("3 or more", "2 or less")
            assert change.size == pytest.approx(abs(change.to - X["n"].iloc[n]) / X["n"].std(ddof=0))


def test_the_note_about_changes_that_are_not_exact(table):
    X, y = table
    model = MinRiskClassifier(n_estimators=15, random_state=0).fit(X, y)
    assert model.model_.projection is not None or model.model_.smooth is not None
    with warnings.catch_warnings():
        told = [why(model, X.iloc[[n]], X) for n in range(10)]
    marked = [found for found in told if not all(change.exact for change in found.changes)]
    assert marked
    for found in told:
        assert ("a smaller change may exist" in repr(found)) == (found in marked)
        for change in found.changes:
            assert change.exact == (not re.search("^about |looked at$", change.text))
    marked[0].plot()
    plt.gcf().draw_without_rendering()
    plt.close("all")
