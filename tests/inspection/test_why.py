"""Why a decision: beside `predict`, brute force along columns, and a slow count of shared leaves."""

import matplotlib as mpl

mpl.use("Agg")

import subprocess
import sys
from collections import OrderedDict
from datetime import datetime, timedelta
from html.parser import HTMLParser
from types import MappingProxyType

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from minrisk import (
    ALGORITHMS,
    DataWarning,
    LocalizedSimilaritiesClassifier,
    MCBoostClassifier,
    MinRiskClassifier,
    REBELClassifier,
)
from minrisk.ensemble import training
from minrisk.ensemble.trees import Random
from minrisk.inspection import to_frame, why
from tests.helpers.common import crossed, fits_of
from tests.inspection.test_tree_frame import leaf_of, planes, with_linear

COST = np.array([[0, 1, 5], [2, 0, 1], [9, 4, 0.0]])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[:, :6], np.array(["red", "white", "rosé"])[y]


@pytest.fixture(scope="module")
def fitted(wine):
    return fits_of(*wine)


def moved(row, name, value):
    """The row with another value in one column."""
    other = row.copy()
    other[name] = value
    return other


def line(row, name, values):
    """A row for each of these values in one column."""
    rows = pd.concat([row] * len(values), ignore_index=True)
    rows[name] = values
    return rows


@pytest.mark.parametrize(
    ("cls", "cost"), crossed(ALGORITHMS, [COST, None]), ids=lambda each: getattr(each, "__name__", None)
)
def test_every_algorithm(cls, cost, wine):
    X, y = wine
    model = cls(cost=cost, n_estimators=8, random_state=0).fit(X, y)
    row = X.iloc[[70]]
    found = why(model, row, X, y, n_rows=len(X))
    assert found.decision == model.predict(row)[0]
    assert [a.decision for a in found.answers][:2] == [found.decision, found.runner_up]
    behind = [a.behind for a in found.answers]
    assert behind[0] == 0 and behind == sorted(behind) and found.lead == behind[1]
    if hasattr(model, "predict_proba"):
        p = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))
        assert all(a.probability == pytest.approx(p[a.decision]) for a in found.answers)
        expected = dict(zip(model.decisions_, model.predict_proba(row)[0] @ model.cost_.values, strict=True))
        assert all(a.expected_cost == pytest.approx(expected[a.decision]) for a in found.answers)
        assert found.rule == "expected cost" or cls is not MinRiskClassifier
    else:
        assert found.rule == "score" and found.answers[0].probability is None and found.answers[0].expected_cost is None
        assert "nothing about probabilities" in repr(found)
    for change in found.changes:
        assert model.predict(moved(row, change.column, change.to))[0] == change.decision != found.decision
    if cls is LocalizedSimilaritiesClassifier:
        assert found.similar == [] and "explain names the training rows" in repr(found)
    elif not model.model_.packed.depth.any():
        assert found.similar == [] and "no tree that splits anything" in repr(found)
    else:
        shares = {s.row: s.similarity for s in found.similar}
        assert shares[70] == pytest.approx(1) and list(shares.values()) == sorted(shares.values(), reverse=True)
        assert min(shares.values()) < 1
    found.plot()
    plt.gcf().draw_without_rendering()
    assert found.decision in repr(found) and "<table>" in found._repr_html_()


@pytest.mark.parametrize("n", [5, 61, 100, 130, 177])
@pytest.mark.parametrize("missing", [False, True])
def test_changes_are_the_smallest(n, missing, wine, fitted):
    """Along a column: values between the row's and the change decide alike, and no column is forgotten."""
    X, y = wine
    model = fitted(MinRiskClassifier(COST, n_estimators=20, pool=False, random_state=0))
    row = X.iloc[[n]].copy()
    if missing:
        row.iloc[0, 1] = np.nan
    found = {change.column: change for change in why(model, row).changes}
    assert all(change.exact for change in found.values())
    own = model.predict(row)[0]
    for name in X.columns:
        low, high = X[name].min() - 1, X[name].max() + 1
        grid = np.linspace(low, high, 3000)
        x = row[name].iloc[0]
        differ = grid[model.predict(line(row, name, grid)) != own]
        if name not in found:
            assert len(differ) == 0
            continue
        change, start = found[name], low if np.isnan(x) else x
        within = np.abs(differ - start) < abs(change.to - start) - 1e-12
        assert not within.any()
        assert len(differ) and np.abs(differ - start).min() <= abs(change.to - start) + (high - low) / 2999
        just_before = np.nextafter(change.to, start)
        assert model.predict(moved(row, name, just_before))[0] == own
        assert (f"{change.to:.6g} or less" == change.text) == (change.to < start)


def test_changes_of_models_that_are_not_stepped(monkeypatch):
    """What is found is a change, and none is nearer but for a trice."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    found = [
        (model.fit(X, y), X)
        for model in (
            MinRiskClassifier(random_state=0),
            MCBoostClassifier(n_estimators=5),
            LocalizedSimilaritiesClassifier(n_estimators=20),
            MCBoostClassifier(n_estimators=5, estimator=DecisionTreeRegressor(max_depth=2, random_state=0)),
        )
    ]
    assert found[0][0].model_.smooth is not None
    monkeypatch.setattr(training, "CHALLENGERS", (Random,))
    rows, of_planes = planes()
    linear = MinRiskClassifier(random_state=0).fit(rows, of_planes)
    assert linear.model_.projection is not None and linear.model_.smooth is None
    for model, X in (*found, (linear, rows)):
        tried = 0
        for n in (50, 77, 106):
            row = X.iloc[[n]]
            own = model.predict(row)[0]
            for change in why(model, row, X).changes:
                if change.exact:
                    continue
                x = row[change.column].iloc[0]
                assert (
                    change.text.startswith("about ")
                    and model.predict(moved(row, change.column, change.to))[0] == change.decision
                )
                assert model.predict(moved(row, change.column, change.to + 1e-6 * (x - change.to)))[0] == own
                tried += 1
        assert tried > 2


def test_changes_without_rows(wine):
    X, y = load_iris(return_X_y=True)
    for model in (
        MinRiskClassifier(random_state=0),
        LocalizedSimilaritiesClassifier(n_estimators=20),
        REBELClassifier(n_estimators=20),
    ):
        found = why(model.fit(X, y), X[77])
        assert found.changes and all(
            model.predict(np.where(np.arange(4) == int(c.column[2]), c.to, X[77])[None])[0] == c.decision
            for c in found.changes
        )


def test_wanted_and_columns(wine, fitted):
    X, y = wine
    model = fitted(MinRiskClassifier(n_estimators=20, pool=False, random_state=0))
    row = X.iloc[[70]]
    own = model.predict(row)[0]
    for label in set(y) - {own}:
        for change in why(model, row, wanted=label).changes:
            assert change.decision == label == model.predict(moved(row, change.column, change.to))[0]
    chosen = why(model, row, X, columns=["alcohol", 2]).changes
    assert {change.column for change in chosen} <= {"alcohol", "ash"}
    every = {change.column: change for change in why(model, row, X).changes}
    assert chosen == [change for change in every.values() if change.column in ("alcohol", "ash")]
    with pytest.raises(ValueError, match="wanted must be one of the decisions"):
        why(model, row, wanted="blue")
    with pytest.raises(ValueError, match="wanted must be another decision than"):
        why(model, row, wanted=own)
    with pytest.raises(ValueError, match="columns must be names or positions of columns of X, got 'colour'"):
        why(model, row, columns=["colour"])


def test_size_is_in_standard_deviations(wine, fitted):
    X, y = wine
    model = fitted(MinRiskClassifier(n_estimators=20, pool=False, random_state=0))
    found = why(model, X.iloc[[70]], X)
    assert [c.size for c in found.changes] == sorted(c.size for c in found.changes)
    for change in found.changes:
        assert change.size == pytest.approx(abs(change.to - change.value) / X[change.column].std(ddof=0))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    n = 400
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue", "grey"], n),
            "day": [datetime(2024, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 300, n)],
            "size": rng.normal(size=n),
            "town": rng.choice([f"t{i:02}" for i in range(30)], n),
        }
    )
    late = frame["day"] > datetime(2024, 7, 1)
    return frame, np.where(
        frame["colour"] == "red", "stop", np.where(late, "late", np.where(frame["size"] > 0, "big", "small"))
    )


def test_categories_and_dates(table):
    X, y = table
    model = MinRiskClassifier(n_estimators=30, pool=False, random_state=0).fit(X, y)
    row = X.iloc[[int(np.flatnonzero(y == "small")[0])]]
    found = why(model, row, X, y)
    by_column = {}
    for change in found.changes:
        by_column.setdefault(change.column, []).append(change)
    assert {"colour", "day", "size"} <= set(by_column)
    values = {value for change in by_column["colour"] for value in change.to}
    for value in X["colour"].unique():
        decided = model.predict(moved(row, "colour", value))[0]
        assert (value in values) == (decided != found.decision)
        assert decided == found.decision or any(value in c.to and c.decision == decided for c in by_column["colour"])
    (day,) = by_column["day"]
    assert isinstance(day.to, datetime) and day.exact and day.decision == "late"
    assert model.predict(moved(row, "day", day.to + timedelta(days=1)))[0] == "late"
    assert "above 2024-0" in day.text


def test_a_row_in_any_form(table, wine):
    X, y = table
    model = MinRiskClassifier(n_estimators=10, pool=False, random_state=0).fit(X, y)
    row, told = X.iloc[[3]], why(model, X.iloc[[3]])
    forms = [
        row.iloc[0],
        row.iloc[0].to_dict(),
        dict(reversed(row.iloc[0].to_dict().items())),
        list(row.iloc[0]),
        pl.from_pandas(row),
        row[row.columns[::-1]],
    ]
    for form in forms:
        assert why(model, form) == told
    X, y = wine
    model = REBELClassifier(n_estimators=10).fit(X.to_numpy(), y)
    numbers = X.to_numpy()[3]
    told = why(model, numbers)
    for form in (
        numbers[None],
        numbers.tolist(),
        csr_matrix(numbers[None]),
        dict(enumerate(numbers)),
        pd.Series(numbers),
    ):
        assert why(model, form) == told
    assert why(REBELClassifier(n_estimators=10).fit(X, y), numbers).decision == told.decision


def test_rows_that_are_none(table, wine):
    X, y = table
    model = MinRiskClassifier(n_estimators=3, pool=False, random_state=0).fit(X, y)
    row = X.iloc[0].to_dict()
    with pytest.raises(
        ValueError, match=r"x must hold a category of the training in column 'colour', one of .*got 'pink'"
    ):
        why(model, row | {"colour": "pink"})
    with pytest.raises(ValueError, match=r"x must hold a number in column 'size', got 'large'"):
        why(model, row | {"size": "large"})
    with pytest.raises(ValueError, match=r"lacks \['size'\]: give None"):
        why(model, {name: value for name, value in row.items() if name != "size"})
    with pytest.raises(ValueError, match=r"has \['weight'\]: leave these out"):
        why(model, row | {"weight": 1})
    with pytest.raises(ValueError, match="x must be one row, got 2 rows"):
        why(model, X.iloc[:2])
    with pytest.raises(ValueError, match=r"x must be one row of 4 values, got shape \(3,\)"):
        why(model, [1, 2, 3])
    with pytest.raises(ValueError, match="x must hold finite numbers, got infinity in place 0"):
        why(REBELClassifier(n_estimators=3).fit(wine[0], wine[1]), [np.inf] * 6)
    assert why(model, row | {"colour": None}).decision == model.predict(moved(X.iloc[[0]], "colour", None))[0]


def test_other_costs(wine, fitted):
    X, y = wine
    model = fitted(MinRiskClassifier(n_estimators=20, random_state=0))
    row = X.iloc[[70]]
    p = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))
    dear = {"red": {"white": 50, "rosé": 50}, "white": {"red": 1, "rosé": 1}, "rosé": {"red": 1, "white": 1}}
    found = why(model, row, cost=dear)
    assert found.decision == model.predict(row, cost=dear)[0]
    expected = {k: sum(p[j] * dear[j].get(k, 0) for j in p) for k in p}
    assert {a.decision: pytest.approx(a.expected_cost) for a in found.answers} == expected
    for change in found.changes:
        assert model.predict(moved(row, change.column, change.to), cost=dear)[0] == change.decision
    own = np.array([[[0, 7, 1], [3, 0, 1], [2, 1, 0.0]]])
    assert why(model, row, cost=own).decision == model.predict(row, cost=own)[0]
    for other in (
        fitted(REBELClassifier(n_estimators=3)),
        fitted(MinRiskClassifier(COST, surrogate="gll", n_estimators=3)),
    ):
        with pytest.raises(ValueError, match="cost is for models that decide by any costs"):
            why(other, row, cost=dear)


def test_costs_by_row(wine):
    X, y = wine
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.4, rng.permutation(y), y)  # so that decisions depend on costs
    urgent = np.where(y == np.unique(y)[0], np.where(X["alcohol"] > 13, 10.0, 0.5), 2.0)
    costs = (1 - np.eye(3))[np.unique(y, return_inverse=True)[1]] * urgent[:, None]
    model = MinRiskClassifier(n_estimators=20, random_state=0).fit(X, y, cost=costs)
    assert len(model.cost_regression_.packed) > 0
    found = why(model, X.iloc[[70]], X, y)
    assert found.decision == model.predict(X.iloc[[70]])[0] and found.rule == "expected cost"
    assert "above the least cost of the row" in repr(found)
    regression = model.cost_regression_
    p = model.predict_proba(X.iloc[[70]])
    expected = (
        sum(p[0, j] * regression.of_class(X.iloc[[70]].to_numpy(dtype=float), j)[0] for j in range(3)) * regression.unit
    )
    assert [a.expected_cost for a in found.answers] == pytest.approx(np.sort(expected))
    other = REBELClassifier(n_estimators=5).fit(X, y, cost=costs)
    assert why(other, X.iloc[[70]], X, y).rule == "score"


def test_more_decisions_than_classes(wine, fitted):
    X, y = wine
    cost = np.column_stack([COST, [0.3, 0.3, 0.3]])
    model = fitted(MinRiskClassifier(cost, n_estimators=5, random_state=0))
    found = why(model, X.iloc[[70]])
    assert {a.decision for a in found.answers} == set(model.decisions_) and len(found.answers) == 4
    (refer,) = [a for a in found.answers if a.decision == "refer"]
    assert refer.probability is None and refer.expected_cost == pytest.approx(0.3)


@pytest.mark.parametrize(
    "model",
    [
        MinRiskClassifier(n_estimators=6, random_state=0),
        REBELClassifier(n_estimators=5, max_depth=2),
        MCBoostClassifier(n_estimators=4, weak_learner="tree"),
    ],
    ids=str,
)
def test_rows_alike_share_leaves(model, wine):
    """By the table of trees, one row and one tree at a time."""
    X, y = wine
    model.fit(X, y)
    rows, table = with_linear(model, X.iloc[::4]), to_frame(model)
    names = [name for name in table.columns if name.startswith("score of ")]
    alike, whole = np.zeros(len(rows)), 0.0
    for tree, nodes in table.groupby("tree"):
        if tree < 0 or len(nodes) == 1:
            continue
        own = nodes.set_index("node")
        leaf = leaf_of(own, rows.iloc[7])
        weight = np.linalg.norm(leaf[names].to_numpy(dtype=float))
        whole += weight
        alike += [weight * (leaf_of(own, row).name == leaf.name) for _, row in rows.iterrows()]
    found = why(model, X.iloc[[28]], X.iloc[::4], y[::4], n_rows=len(rows)).similar
    assert {s.row: s.similarity for s in found}[7] == pytest.approx(1) and len(found) == len(rows)
    for similar in found:
        assert similar.similarity == pytest.approx(alike[similar.row] / whole) and similar.label == y[::4][similar.row]
    decided = model.predict(X.iloc[::4])
    assert [s.decision for s in found] == [decided[s.row] for s in found]


def test_rows_alike_with_missing_values_and_sparse_rows(wine):
    X, y = wine
    numbers = X.to_numpy().copy()
    numbers[::3, 2] = np.nan
    model = REBELClassifier(n_estimators=10, max_depth=2).fit(numbers, y)
    assert why(model, numbers[6], numbers, y).similar[0] == (6, y[6], model.predict(numbers[6:7])[0], pytest.approx(1))
    sparse = csr_matrix(np.where(numbers > 2, numbers, 0))
    model.fit(sparse, y)
    assert why(model, sparse[6], sparse, y) == why(model, sparse[[6]].toarray()[0], sparse, y)


def test_many_columns_of_sparse_rows():
    rng = np.random.default_rng(0)
    X = csr_matrix(np.where(rng.random((120, 3000)) < 0.02, 1.0, 0.0))
    y = np.where(X[:, [5]].toarray().ravel() > 0, "a", np.where(X[:, [9]].toarray().ravel() > 0, "b", "c"))
    model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X, y)
    found = why(model, X[[0]], X, y)
    assert found.decision == model.predict(X[[0]])[0] and {c.column for c in found.changes} <= {
        f"x[{j}]" for j in range(3000)
    }


def test_importing_it_draws_nothing_in():
    code = "import sys, minrisk.inspection; print({'matplotlib', 'sklearn.calibration'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "set()"


def test_wrong_calls(wine, fitted):
    X, y = wine
    with pytest.raises(
        TypeError,
        match="why takes a fitted classifier of minrisk: expected one such as MinRiskClassifier, got LogisticRegression",
    ):
        why(LogisticRegression(), X.iloc[[0]])
    with pytest.raises(NotFittedError):
        why(REBELClassifier(), X.iloc[[0]])
    model = fitted(REBELClassifier(n_estimators=2))
    with pytest.raises(ValueError, match="got y alone"):
        why(model, X.iloc[[0]], y=y)
    with pytest.raises(ValueError, match="y must hold a class for each of the 178 rows of X, got 3"):
        why(model, X.iloc[[0]], X, y[:3])
    with pytest.raises(ValueError, match="part must be one of decisions, changes, rows, got 'all'"):
        why(model, X.iloc[[0]]).to_frame("all")
    with pytest.raises(ValueError, match="ax must be two Axes"):
        why(model, X.iloc[[0]]).plot(plt.subplots()[1])


def test_frames_hold_all(wine, fitted):
    X, y = wine
    found = why(fitted(REBELClassifier(n_estimators=10)), X.iloc[[0]], X, y)
    frame = found.to_frame()
    assert frame["decision"].tolist() == [a.decision for a in found.answers] and frame["behind"].tolist() == [
        a.behind for a in found.answers
    ]
    assert found.to_frame("changes")["column"].tolist() == [c.column for c in found.changes]
    assert found.to_frame("rows")["row"].tolist() == [s.row for s in found.similar]


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)


def test_text_of_others_is_escaped(wine):
    X, y = wine
    odd = X.set_axis(["<b>a</b>", "$x^{", "\x1b[2J", "d", "e", "f"], axis=1)
    labels = np.array(["<script>alert(1)</script>", "$\\foo$", "c&d"])[np.unique(y, return_inverse=True)[1]]
    found = why(REBELClassifier(n_estimators=10).fit(odd, labels), odd.iloc[[70]], odd, labels)
    parser = _Tags()
    parser.feed(found._repr_html_())
    assert not parser.tags & {"script", "b>"} and "\x1b" not in repr(found) + found._repr_html_()
    found.plot()
    plt.gcf().draw_without_rendering()


def test_picture(wine, fitted):
    X, y = wine
    model = fitted(MinRiskClassifier(n_estimators=20, pool=False, random_state=0))
    found = why(model, X.iloc[[70]], X)
    left, right = plt.subplots(1, 2)[1]
    assert found.plot((left, right)) is found
    assert [bar.get_width() for bar in left.patches] == pytest.approx([a.expected_cost for a in found.answers])
    assert [bar.get_width() for bar in right.patches] == pytest.approx([c.size for c in found.changes])
    assert left.get_title(loc="left") == f"Decision: {found.decision}"
    assert [label.get_text() for label in right.get_yticklabels()] == [c.column for c in found.changes]


# -- rows and costs as predict takes them ---------------------------------------------------------------------------------
def test_a_row_by_numbers_of_columns_is_taken_alike(wine, fitted):
    X, y = wine
    numbers = X.to_numpy()
    model = MinRiskClassifier(n_estimators=5, pool=False, random_state=0).fit(numbers, y)
    row = dict(enumerate(numbers[70].tolist()))
    for form in (row, OrderedDict(reversed(row.items())), MappingProxyType(row)):
        assert why(model, form).decision == model.predict(form)[0] == model.predict(numbers[70:71])[0]
        np.testing.assert_array_equal(model.predict_proba(form), model.predict_proba(numbers[70:71]))
    absent = row | {2: None}
    gone = numbers[70:71].copy()
    gone[0, 2] = np.nan
    np.testing.assert_array_equal(model.predict_proba(absent), model.predict_proba(gone))
    assert why(model, absent).decision == model.predict(gone)[0]
    named = fitted(REBELClassifier(n_estimators=5))
    for wrong, told, fitted in (
        ({0: 1.0}, r"lacks \[1, 2, 3, 4, 5\]: give None", model),
        (row | {"x": 1}, r"has \['x'\]: leave these out", model),
        (row, r"lacks \['alcohol'", named),
    ):
        for go in (lambda: why(fitted, wrong), lambda: fitted.predict(wrong)):
            with pytest.raises(ValueError, match=f"A row in a dict must hold a value for each of the columns .*{told}"):
                go()


def test_a_row_by_numbers_with_categories_in_an_array():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(["1", "2", "x"], 90).astype(object), rng.normal(size=90)])
    y = np.where(X[:, 0] == "1", "a", np.where(X[:, 1].astype(float) > 0, "b", "c"))
    model = MinRiskClassifier(n_estimators=5, pool=False, random_state=0, categorical_features=[0]).fit(X, y)
    for x in X[:20]:
        row = {0: x[0], 1: x[1]}
        assert why(model, row).decision == model.predict(row)[0] == model.predict(x[None])[0]
    with pytest.warns(DataWarning, match="categories that fit has not seen"):
        assert len(model.predict({0: "never", 1: 0.5})) == 1


def test_a_matrix_for_the_row_is_told_as_stated(wine, fitted):
    """As `predict` reads it, in the unit that it is stated in, also with a further decision."""
    X, y = wine
    model, row = fitted(MinRiskClassifier(n_estimators=20, pool=False, random_state=0)), X.iloc[[70]]
    own = np.array([[[5, 712, 120, 9], [305, 5, 100, 9], [205, 105, 5, 9.0]]])
    found, p = why(model, row, cost=own), model.predict_proba(row)[0]
    assert found.decision == model.predict(row, cost=own)[0]
    expected = dict(zip([*model.classes_, "refer"], p @ own[0], strict=True))
    assert {a.decision: pytest.approx(a.expected_cost) for a in found.answers} == expected
    with pytest.raises(ValueError, match=r"cost has a row for each row, got shape \(1, 4\)"):
        why(model, row, cost=own[0][:1])


@pytest.mark.parametrize("n_rows", [-1, 1.5, "3", None, True, [1]])
def test_n_rows_is_a_whole_number(wine, n_rows, fitted):
    X, y = wine
    with pytest.raises(ValueError, match="why: n_rows must be a whole number at least 0"):
        why(fitted(REBELClassifier(n_estimators=2)), X.iloc[[0]], X, y, n_rows=n_rows)


def test_no_rows_that_look_alike(wine, fitted):
    X, y = wine
    assert why(fitted(REBELClassifier(n_estimators=2)), X.iloc[[0]], X, y, n_rows=0).similar == []


def test_columns_that_are_no_list(wine, fitted):
    X, y = wine
    for columns in ("alcohol", 3):
        with pytest.raises(ValueError, match="columns must be a list of names or positions"):
            why(fitted(REBELClassifier(n_estimators=2)), X.iloc[[0]], columns=columns)


def test_classes_of_rows_that_are_none(wine, fitted):
    X, y = wine
    model = fitted(REBELClassifier(n_estimators=2))
    for labels in (5, "abc", y[:3], np.c_[y, y], iter(y)):
        with pytest.raises(ValueError, match="y must hold a class for each of the 178 rows of X, got"):
            why(model, X.iloc[[0]], X, labels)
