"""Costs as users give them: read, aligned to the classes by label, or refused."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minrisk import DataWarning, REBELClassifier
from minrisk.costs import CostMatrix, as_cost, is_per_row, read_cost, row_costs, uniform, with_reject
from tests.helpers.cost_examples import ABC, KDD, VALUES, frame, write


@st.composite
def labelled_costs(draw: st.DrawFn, max_classes: int = 6) -> CostMatrix:
    """Cost matrices of 2 to 6 classes with 0 to 2 further decisions."""
    k, more = draw(st.integers(2, max_classes)), draw(st.integers(0, 2))
    entry = st.floats(0.125, 1e6, allow_nan=False)
    values = np.array(draw(st.lists(st.lists(entry, min_size=k + more, max_size=k + more), min_size=k, max_size=k)))
    values[np.arange(k), np.arange(k)] = 0.0
    return CostMatrix(values, [f"class {i}" for i in range(k)])


# ---------------------------------------------------------------------------------------------- as_cost


@given(cost=labelled_costs(), data=st.data())
@settings(max_examples=30, deadline=None)
def test_permuting_the_classes_permutes_the_cost(cost, data):
    k = len(cost.classes)
    order = data.draw(st.permutations(range(k)))
    columns = [*order, *range(k, cost.shape[1])]
    moved = as_cost(cost, [cost.classes[i] for i in order])
    assert np.array_equal(moved.values, cost.values[np.ix_(order, columns)])
    assert moved.decisions == tuple(cost.decisions[j] for j in columns)
    assert as_cost(moved, cost.classes) == cost


@given(cost=labelled_costs(), data=st.data())
@settings(max_examples=30, deadline=None)
def test_alignment_is_by_label_whatever_the_order_given(cost, data):
    k, d = cost.shape
    rows, classes = data.draw(st.permutations(range(k))), list(cost.classes)
    columns = [*data.draw(st.permutations(range(k))), *range(k, d)]  # further decisions keep their order
    table = frame(cost).iloc[rows, columns]
    assert as_cost(table, classes) == cost
    assert as_cost(CostMatrix(table), classes) == cost
    assert as_cost({t: {c: table.loc[t, c] for c in table.columns} for t in table.index}, classes) == cost


@given(cost=labelled_costs())
@settings(max_examples=15, deadline=None)
def test_csv_round_trip(cost, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / "cost.csv"
    cost.to_frame().to_csv(path)
    assert read_cost(path) == cost
    assert as_cost(str(path), cost.classes) == cost


def test_none_is_zero_one():
    assert as_cost(None, ABC) == uniform(ABC)


def test_arrays_stand_in_the_order_of_the_classes():
    cost = as_cost(VALUES, np.array([3, 5, 7]))
    assert cost == CostMatrix(VALUES, (3, 5, 7))
    assert as_cost(np.c_[VALUES, [1, 2, 3]], ABC).decisions == (*ABC, "refer")
    assert as_cost(CostMatrix(VALUES), ABC) == CostMatrix(VALUES, ABC)


def test_an_aligned_cost_comes_back_itself():
    cost = CostMatrix(VALUES, ABC)
    assert as_cost(cost, np.array(ABC)) is cost


@pytest.mark.parametrize("classes", [[1, 2], np.array([1.0, 2.0]), np.array(["1", "2"]), pd.Index([1, 2])])
def test_labels_match_by_equality_then_by_how_they_are_written(tmp_path, classes):
    for source in (write(tmp_path, "true,2,1\n2,0,5\n1,1,0\n"), {2: {1: 5}, 1: {2: 1}}, {"2": {"1": 5}, "1": {"2": 1}}):
        cost = as_cost(source, classes)
        assert cost.values.tolist() == [[0, 1], [5, 0]]
        assert cost.classes == tuple(np.asarray(classes).tolist())


def test_booleans_match_zero_and_one():
    assert as_cost({0: {1: 2}, 1: {0: 3}}, np.array([False, True])).values.tolist() == [[0, 2], [3, 0]]


def test_classes_that_do_not_occur_are_left_out(tmp_path):
    path = write(tmp_path, KDD)
    cost = as_cost(path, ["DOS", "normal"])
    assert cost.decisions == ("DOS", "normal")
    assert cost.values.tolist() == [[0, 2], [2, 0]]
    refer = with_reject(read_cost(path), 0.5)
    assert as_cost(refer, ["probe", "DOS"]).decisions == ("probe", "DOS", "refer")


def test_fewer_decisions_than_classes_need_labels():
    table = pd.DataFrame([[0, 1], [2, 1], [3, 0.5]], index=list("abc"), columns=["a", "refer"])
    with pytest.raises(ValueError, match=re.escape("names ['refer'] as a decision but has no column for the class")):
        as_cost(table, ["c", "b", "a"])
    assert as_cost(CostMatrix(table), ["c", "b", "a"]).values.tolist() == [[3, 0.5], [2, 1], [0, 1]]
    actions = pd.DataFrame([[0, 1, 2], [2, 1, 0]], index=["well", "ill"], columns=["wait", "test", "treat"])
    assert as_cost(actions, ["ill", "well"]).decisions == ("wait", "test", "treat")


def test_diagonal_on_purpose():
    values = [[1, 2], [3, 0]]
    with pytest.raises(ValueError, match=re.escape("cost['a', 'a'] is the cost of a correct decision")):
        as_cost(values, ["a", "b"])
    expected = CostMatrix(values, ["a", "b"], allow_diagonal=True)
    assert as_cost(values, ["a", "b"], allow_diagonal=True) == expected
    assert as_cost(CostMatrix(values, allow_diagonal=True), ["a", "b"]) == expected
    assert as_cost(expected, ["b", "a"]).values.tolist() == [[0, 3], [2, 1]]
    assert as_cost(frame(expected), ["a", "b"], allow_diagonal=True) == expected


def test_a_dict_may_leave_out_correct_decisions():
    assert as_cost({"a": {"b": 5}, "b": {"a": 1}}, ["a", "b"]).values.tolist() == [[0, 5], [1, 0]]


@pytest.mark.parametrize(
    ("cost", "classes", "message"),
    [
        (VALUES, ["a", "b"], "expected 2 rows for the classes ['a', 'b'], got shape (3, 3)"),
        (np.ones((50, 3)), ABC, "cost must have one row per class: expected 3 rows"),
        (CostMatrix(VALUES), ["a", "b"], "expected 2 rows"),
        (
            [[0, 1], [1, 0], [1, 1]],
            ABC,
            "only 2 columns (decisions): pass CostMatrix(values, classes=..., decisions=...)",
        ),
        (CostMatrix(VALUES, ABC), ["a", "d"], "got none for ['d'] among its rows ['a', 'b', 'c']: add the row."),
        (pd.DataFrame(VALUES), ABC, "pass cost.to_numpy() if its rows are in the order of the classes"),
        (CostMatrix(VALUES, ABC), ["a", "a"], "classes must differ from each other, got 'a' and 'a'"),
        (None, ["a"], "two decisions (columns) or more, got shape (1, 1)"),
        ({"a": {"a": 0, "b": 5}, "b": {}}, ["a", "b"], "cost['b', 'a'] must be given, got only the decisions []"),
        (
            {"a": {"b": 5}, "b": [1, 0]},
            ["a", "b"],
            "must be a dict of dicts {true: {decision: cost}}, got list for 'b'",
        ),
        (
            {"a": {"b": 5, "c": 1}, "b": {"a": 1}},
            ["a", "b"],
            "cost['b', 'c'] must be given, got only the decisions ['a']",
        ),
        ({"a": {"b": "5"}, "b": {"a": 1}}, ["a", "b"], "cost['a', 'b'] must be a number, got '5'"),
        (
            pd.DataFrame([["a", 1], ["b", 0]]),
            ["a", "b"],
            "cost[0, 0] must be a number, got 'a': give every cell a number, and ",
        ),
        (
            pd.DataFrame(VALUES, index=list("aab"), columns=list("abc")),
            ["a", "b"],
            "the true classes (rows) of cost must differ",
        ),
        (
            pd.DataFrame(VALUES, index=list("abc"), columns=list("aac")),
            ABC,
            "the decisions (columns) of cost must differ",
        ),
        (
            pd.DataFrame(VALUES, index=["knife", "bottle", "gun"], columns=["knife", "botle", "gun"]),
            ["bottle", "gun", "knife"],
            "cost names ['botle'] as a decision but has no column for the class ['bottle']",
        ),
        (CostMatrix([[0, 1], [1, 2]], ["a", "b"], ["a", "b "], allow_diagonal=True), ["a", "z"], "got none for ['z']"),
        (5, ABC, "cost must be 2-d"),
    ],
)
def test_as_cost_refuses(cost, classes, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        as_cost(cost, classes)


def test_a_cost_matrix_is_taken_at_its_word():
    cost = CostMatrix(VALUES, ["knife", "bottle", "gun"], ["knife", "botle", "gun"])
    assert as_cost(cost, ["bottle", "gun", "knife"]).decisions == ("gun", "knife", "botle")


def test_left_without_a_choice():
    cost = CostMatrix([[0, 1], [2, 3]], ["a", "b"], ["a", "b"], allow_diagonal=True)
    with pytest.raises(ValueError, match="two decisions or more, but with the 1 classes left out"):
        as_cost(cost, ["a"])
    cost = as_cost({"a": {"b": 1, "c": 1}, "b": {"a": 0, "c": 1}, "c": {"a": 1, "b": 1}}, ["a", "b"])
    assert cost.values.tolist() == [[0, 1], [0, 0]]  # a fold without c: nothing matters to b
    assert pickle.loads(pickle.dumps(cost)) == cost and not cost.values.flags.writeable


# ------------------------------------------------------------------------------------------------ files


def test_csv_as_spreadsheets_write_it(tmp_path):
    text = 'true, normal ,probe\r\n\r\nnormal,0,1.5\r\n,,\r\n"probe", 2e0 ,0\r\n'
    cost = read_cost(write(tmp_path, text, encoding="utf-8-sig"))
    assert cost == CostMatrix([[0, 1.5], [2, 0]], ["normal", "probe"])
    with pytest.raises(ValueError, match="correct decision"):
        read_cost(write(tmp_path, "true,a,b\na,1,2\nb,1,0\n"))
    assert read_cost(tmp_path / "cost.csv", allow_diagonal=True).values[0, 0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a header .* got an empty file"),
        ("true\na\nb\n", "separated by commas, semicolons or tabs, got the first line 'true' and 2 lines below it"),
        ("true:a:b\na:0:1\nb:1:0\n", "separated by commas, semicolons or tabs, got the first line 'true:a:b'"),
        ("true;a;b\na;0;x\nb;1;0\n", r"the cost of deciding 'b' where 'a' is true, in .*, must be a number, got 'x'"),
        (
            "true;a;b\na;0;1,5\nb;1.5;0\n",
            r"the cost of deciding 'a' where 'b' is true, in .*, must be a number with a decimal comma, as others are, got '1.5'",
        ),
        ("true;a;b\na;0\nb;1;0\n", r"line 2 of .* must have 3 cells like its header, got 2"),
        ("sep=;\ntrue;a;b\na;0;1\nb;1;0;2\n", r"line 4 of .* must have 3 cells like its header, got 4"),
        ("true,a,b\na,0,1,5\nb,2,5,0\n", r"line 2 of .* must have 3 cells .*, got 4: .* separate cells by semicolons"),
        (
            'true,a,b\na,0,"1,5"\nb,1,0\n',
            r"the cost of deciding 'b' where 'a' is true, in .*, must be a number, got '1,5': .* by semicolons",
        ),
        ("true,a,b\n", "and 0 lines below it"),
        ("true,a,b\na,0,1\nb,1\n", r"line 3 of .* must have 3 cells like its header, got 2"),
        ("true,a,b\na,0,x\nb,1,0\n", r"the cost of deciding 'b' where 'a' is true, in .*, must be a number, got 'x'"),
        ("true,a,b\na,0,\nb,1,0\n", r"the cost of deciding 'b' where 'a' is true, in .*, must be a number, got ''"),
        ("true,a,b\na,0,nan\nb,1,0\n", r"cost\['a', 'b'\] must be a finite number"),
        ("true,a,a\na,0,1\nb,1,0\n", r"the decisions \(header\) of .* must differ from each other, got 'a' and 'a'"),
        ("true,a,b\na,0,1\na,1,0\n", r"the true classes \(first column\) of .* must differ from each other"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        as_cost(write(tmp_path, text), ["a", "b"])


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("true;a;b\na;0;1\nb;2;0\n", [[0, 1], [2, 0]]),
        ("true;a;b\r\na;0;1,5\r\nb;,25;0,0\r\n", [[0, 1.5], [0.25, 0]]),
        ("true;a;b;\na;0;1.5;\n;;;\nb;2;0;\n", [[0, 1.5], [2, 0]]),
        ("sep=;\ntrue;a;b\na;0;1,5\nb;2;0\n", [[0, 1.5], [2, 0]]),
        ("true\ta\tb\na\t0\t1,5\nb\t2\t0\n", [[0, 1.5], [2, 0]]),
        ("true, or not;a;b\na;0;2.000\nb;1.000,5;0\n", [[0, 2000], [1000.5, 0]]),
        ("true;a;b\na;0;1,5\nb;1,5;0\n", [[0, 1.5], [1.5, 0]]),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_files_as_much_of_europe_writes_them(tmp_path, text, cost, encoding):
    path = write(tmp_path, text, encoding=encoding)
    assert read_cost(path) == CostMatrix(cost, ["a", "b"]) == as_cost(str(path), ["a", "b"])


def test_a_file_with_commas_stays_one_whatever_its_labels_hold(tmp_path):
    """A mark in each line, as often as in the header, separates nothing where commas make a table of costs."""
    path = write(tmp_path, "true,a;x,b\na;x,0,1.500\nb;y,2,0\n")
    cost = read_cost(path)
    assert cost.classes == ("a;x", "b;y") and cost.decisions == ("a;x", "b") and cost.values[0, 1] == 1.5


@pytest.mark.parametrize(("cell", "value"), [("1.250", "1.25"), ("1,250", "1.25"), ("12,000", "12")])
def test_what_may_be_thousands_is_told(tmp_path, cell, value):
    path = write(tmp_path, f"true;a;b\na;0;{cell}\nb;2;0\n")
    with pytest.warns(
        DataWarning, match=f"separated by semicolons, and '{cell}' is {value}: .* without marks between"
    ) as told:
        assert read_cost(path).values[0, 1] == float(value)
    assert told[0].filename == __file__


@pytest.mark.parametrize("cell", ["0,125", "1,25", "1.25", "1.250,0"])
def test_what_cannot_be_thousands_is_not_told(tmp_path, recwarn, cell):
    read_cost(write(tmp_path, f"true;a;b\na;0;{cell}\nb;2;0\n"))
    assert not recwarn.list


def test_no_such_file_and_not_text(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be the path of a CSV file, got 'balanced'"):
        as_cost("balanced", ABC)
    with pytest.raises(FileNotFoundError, match="which is no file") as caught:  # of a name that no file can have
        as_cost("x" * 5000, ABC)
    assert len(str(caught.value)) < 300
    with pytest.raises(FileNotFoundError, match="which is no file"):
        read_cost(tmp_path)
    (tmp_path / "latin.csv").write_bytes("true,é\né,0\n".encode("latin-1"))
    with pytest.raises(ValueError, match="must be text in UTF-8"):
        read_cost(tmp_path / "latin.csv")


def test_costs_need_neither_pandas_nor_sklearn():
    code = (
        "import sys; from minrisk.costs import as_cost, from_taxonomy, random_normal, row_costs\n"
        "repr(as_cost({'a': {'b': 1}, 'b': {'a': 1}}, ['a', 'b']))\n"
        "row_costs([[0, 1]], 1, [0, 1]); random_normal(3); from_taxonomy(['a', 'b'])\n"
        "assert not {'pandas', 'sklearn', 'networkx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -------------------------------------------------------------------------------------- costs per sample


def test_row_costs_does_not_copy_what_needs_no_copy():
    table = np.random.default_rng(0).random((100, 3)) + 0.1
    assert row_costs(table, 100, ABC)[0] is table
    assert row_costs(pd.DataFrame(table, columns=ABC), 100, ABC)[1] == ABC


@pytest.mark.parametrize(("width", "decisions"), [(2, ()), (3, ("refer",)), (4, ("refer_1", "refer_2"))])
def test_row_costs_names_its_decisions(width, decisions):
    table, found = row_costs(np.ones((5, width), dtype=np.float32, order="F"), 5, np.array([1, 2]))
    assert found == (1, 2, *range(-1, 1 - width, -1))
    assert row_costs(np.ones((5, width)), 5, ["a", "b"])[1] == ("a", "b", *decisions)
    assert table.dtype == np.float64
    assert table.flags.c_contiguous


def test_row_costs_aligns_the_columns_of_a_frame():
    table = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["refer", "b", "a"], index=[7, 3])
    values, decisions = row_costs(table, 2, ["a", "b"])
    assert decisions == ("a", "b", "refer")
    assert values.tolist() == [[3, 2, 1], [6, 5, 4]]
    assert row_costs(table[["a"]].assign(a2=1)[["a2", "a"]].rename(columns={"a2": "b"}), 2, ["a", "b"])[1] == ("a", "b")
    numbered = pd.DataFrame([[1, 2], [4, 5]])
    assert row_costs(numbered, 2, ["a", "b"])[1] == ("a", "b")
    assert row_costs(numbered, 2, [1, 0])[0].tolist() == [[2, 1], [5, 4]]


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.ones((4, 3)), "expected 5 rows, got shape (4, 3)"),
        (np.ones((5, 2)), "expected 3 columns or more for the classes ['a', 'b', 'c'], got shape (5, 2)"),
        (np.ones(5), "cost must be 2-d"),
        (np.where(np.arange(15).reshape(5, 3) == 7, np.nan, 1), "cost[2, 'b'] must be a finite number, got nan"),
        (np.where(np.arange(15).reshape(5, 3) == 7, -1, 1), "cost[2, 'b'] must be zero or more, got -1"),
        (np.full((5, 3), "x"), "cost[0, 0] must be a number, got 'x'"),
        (pd.DataFrame(np.ones((5, 3)), columns=["a", "b", "b"]), "the decisions (columns) of cost must differ"),
        (
            pd.DataFrame(np.ones((5, 3)), columns=["a", "b", "C "]),
            "cost names 'C ' as a decision, which is the class 'c' but for capitals or blanks",
        ),
        (pd.DataFrame(np.ones((5, 1)), columns=["a"]), "two decisions (columns) or more, got ['a']"),
    ],
)
def test_row_costs_refuses(cost, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        row_costs(cost, 5, ABC)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (None, False),
        ("cost.csv", False),
        ({"a": {"b": 1}}, False),
        (CostMatrix(VALUES), False),
        (VALUES, False),
        (np.ones((10, 3)), True),
        (np.ones((10, 3)).tolist(), True),
        (np.ones(10), False),
        ([[1], [1, 2]], False),
        (pd.DataFrame(np.ones((10, 3))), True),
        (pd.DataFrame(np.ones((10, 10))), False),  # every row label is a column's too
        (pd.DataFrame(VALUES, index=list("abc"), columns=list("abc")), False),
    ],
)
def test_is_per_row(cost, expected):
    assert is_per_row(cost, 10, 3) is expected
    assert not is_per_row(cost, 10, 10)


def test_a_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="A DataFrame needs pandas, which cannot be imported: pip install .minrisk"):
        CostMatrix([[0, 1], [5, 0]]).to_frame()


def test_files_with_a_cell_without_end_are_refused(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text('true,a,b\na,0,"1\n' + "b,2,0\n" * 40_000)
    with pytest.raises(ValueError, match="c.csv must be a table of costs, got one that cannot be read"):
        read_cost(path)


def test_truth_values_find_their_texts():
    cost = as_cost({"TRUE": {"FALSE": 5}, "FALSE": {"TRUE": 2}}, [False, True])
    assert cost.classes == (False, True) and cost.values.tolist() == [[0, 2], [5, 0]]
    assert as_cost(cost, ["FALSE", "TRUE"]).values.tolist() == [[0, 2], [5, 0]]
    with pytest.raises(ValueError, match="must have a row for every class"):
        as_cost({"TRUE": {"FALSE": 5}, "FALSE": {"TRUE": 2}}, ["False", "True"])  # texts are what they are


def test_decisions_written_as_rows_are_told():
    X, y = np.arange(20.0)[:, None], np.array(["benign", "malignant"] * 10)
    transposed = {
        "benign": {"benign": 0, "malignant": 20},
        "malignant": {"benign": 5, "malignant": 0},
        "biopsy": {"benign": 1, "malignant": 1},
    }
    with pytest.warns(UserWarning, match=r"rows for \['biopsy'\], which no row of y is .* transpose the costs"):
        REBELClassifier(transposed, n_estimators=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = REBELClassifier(pd.DataFrame(transposed), n_estimators=2).fit(X, y)
        REBELClassifier(uniform(["benign", "malignant", "other"]), n_estimators=2).fit(X, y)  # a class that y lacks
    assert model.decisions_.tolist() == ["benign", "malignant", "biopsy"]


@pytest.mark.parametrize("columns", [["Ill", "Well"], ["ill ", "well"], ["ILL", "wait"]])
def test_columns_that_are_classes_but_for_capitals_and_blanks_are_refused(columns):
    table = pd.DataFrame([[0, 20], [5, 0]], index=["ill", "well"], columns=columns)
    for cost in (table, table.T.to_dict()):
        with pytest.raises(ValueError, match="which is the class 'ill' but for capitals or blanks|'well' but for"):
            as_cost(cost, ["ill", "well"])
    with pytest.raises(ValueError, match="but for capitals or blanks"):
        row_costs(pd.DataFrame([[0, 20]] * 4, columns=columns), 4, ["ill", "well"])
    assert set(as_cost(CostMatrix(table, allow_diagonal=True), ["ill", "well"]).decisions) == set(columns)  # said so
