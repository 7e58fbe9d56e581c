"""The command line on tables and streams as people have them."""

import contextlib
import csv
import io
import json
import os
import re
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import minrisk
from minrisk.cli import streams as streams_of_app
from minrisk.cli.app import app
from minrisk.cli.costs import read_costs
from minrisk.tables.files import Table
from minrisk.tables.text import Dialect
from tests.helpers.command_line import FEW, arguments, as_json, invoke, refused
from tests.helpers.common import slow_after

ROOT = Path(__file__).parents[2]


def run(*args, input=None):
    """What was said on both streams by a run that must succeed."""
    result = invoke(*args, input=input)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def process(*args, env=None, **more):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **(env or {})}
    command = [sys.executable, "-m", "minrisk", *arguments(*args)]
    return subprocess.run(command, env=environment, timeout=120, **{"capture_output": True, **more})


def shell(line, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "minrisk": f"{sys.executable} -m minrisk"}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=environment, cwd=cwd, timeout=120)


def shapes(labels, n=90):
    """A feature that tells the classes, a name for each row, a colour, and the labels."""
    k = np.arange(n) % len(labels)
    x = np.round(k + np.random.default_rng(0).normal(size=n) / 9, 3)
    return pd.DataFrame(
        {
            "id": [f"{i:04}" for i in range(n)],
            "x": x,
            "farbe": np.array(["rot", "grün"])[k % 2],
            "y": np.array(labels)[k],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, in several ways, and models of it."""
    place = tmp_path_factory.mktemp("tables")
    frame = shapes(["01", "1", "007"])
    frame.to_csv(place / "t.csv", index=False)
    frame.to_csv(place / "de.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    frame.to_csv(place / "excel.txt", index=False, sep="\t", decimal=",", encoding="utf-16", lineterminator="\r\n")
    frame.to_csv(place / "index.csv")
    frame.to_parquet(place / "t.parquet", index=False)
    run("fit", place / "t.csv", f"--target y --drop id {FEW} --out {place}/m")
    return place


# -- labels and categories -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "labels",
    [
        ["01", "1", "007"],
        ["3", "1", "2"],
        ["True", "False"],
        ["true", "True", "TRUE"],
        ["1.0", "1"],
        ["NA", "None", "nan"],
        [" a", "a"],
        ["2020-01-01", "2020-01-02"],
        ["1,5", "2,5"],
        ["+1", "-1"],
        ["1e3", "1000"],
        ["-0", "0"],
        ["0.5", "1.5"],
        ["12345678901234567890", "12345678901234567891"],
        ["a;b", 'c "d"'],
        ["9", "10"],
        ["é", "日本"],
    ],
)
def test_labels_come_back_as_they_were(tmp_path, labels):
    shapes(labels).to_csv(tmp_path / "t.csv", index=False)
    facts = as_json("fit", tmp_path / "t.csv", f"--target y --drop id {FEW} --out {tmp_path}/m")
    assert len(facts["classes"]) == len(labels)
    decided = run("predict", tmp_path / "m", tmp_path / "t.csv", "--keep y")[0]
    table = pd.read_csv(io.StringIO(decided), dtype=str, keep_default_na=False)
    assert set(table["decision"]) == set(labels) and (table["decision"] == table["y"]).mean() > 0.9
    assert as_json("evaluate", tmp_path / "m", tmp_path / "t.csv")["error"] < 0.1


def test_labels_that_differ_by_blanks_are_told(tmp_path):
    shapes(["a", "a ", "b"]).to_csv(tmp_path / "t.csv", index=False)
    said = run("fit", tmp_path / "t.csv", f"--target y {FEW} --out {tmp_path}/m")[1]
    assert "the labels ['a', 'a '] of column 'y' differ by blanks only" in said


def test_costs_match_labels_as_written(folder, tmp_path):
    (tmp_path / "c.csv").write_text("true,1,01,007,ask\n007,5,4,0,1\n01,3,0,2,1\n1,0,6,7,1\n")
    run("fit", folder / "t.csv", f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/m")
    cost = minrisk.load(tmp_path / "m").cost_
    assert cost.classes == ("007", "01", "1") and cost.decisions == ("007", "01", "1", "ask")
    assert cost.values.tolist() == [[0, 4, 5, 1], [2, 0, 3, 1], [7, 6, 0, 1]]
    (tmp_path / "c.csv").write_text("true,1,2,007\n007,5,4,0\n2,3,0,2\n1,0,6,7\n")
    message = refused("fit", folder / "t.csv", f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/n")
    assert (
        "every class of column 'y', got none for ['01'] while ['2'] are no classes there: correct these labels"
        in message
    )


def test_costs_of_labels_that_differ_by_blanks_only(tmp_path):
    shapes([" a", "a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.csv").write_text("true, a,a,b, ask\na,5,0, 4,1\n a,0,3,2,1\n b ,6,7,0,1\n")
    run("fit", tmp_path / "t.csv", f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/m")
    cost = minrisk.load(tmp_path / "m").cost_
    assert cost.classes == (" a", "a", "b") and cost.decisions == (" a", "a", "b", "ask")
    assert cost.values.tolist() == [[0, 3, 2, 1], [5, 0, 4, 1], [6, 7, 0, 1]]
    (tmp_path / "c.csv").write_text("true, a,a,b\na,5,0,4\n a,0,3,2\nb,6,7,0\nb ,6,7,0\n")
    result = invoke("fit", tmp_path / "t.csv", f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/n")
    assert result.exit_code == 2 and "differ from each other, got 'b' and 'b'" in result.stderr


def test_costs_as_excel_writes_them(folder, tmp_path):
    (tmp_path / "c.csv").write_bytes(
        "sep=;\r\nwähr;007;01;1;\r\n007;0;4,5;5;\r\n01;2;0;3;\r\n1;7;6;0;\r\n;;;;\r\n".encode("cp1252")
    )
    said = run("fit", folder / "t.csv", f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/m")[1]
    assert minrisk.load(tmp_path / "m").cost_.values.tolist() == [[0, 4.5, 5], [2, 0, 3], [7, 6, 0]]
    assert "c.csv is read as costs in the encoding cp1252, with decimal commas" in said
    for options in (
        ["--delimiter", ",", "--decimal", "."],
        ["--encoding", "utf-8"],
    ):  # said of the data, not of the costs
        run("fit", folder / "t.csv", f"--target y --costs {tmp_path}/c.csv", *options, FEW, f"--out {tmp_path}/n")
        assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize(
    ("rows", "cost", "told"),
    [
        (["5;0;1.000", "10;2,5;0"], 1000, ", with decimal commas, with points between thousands"),
        (["5;0;1.000,5", "10;2,5;0"], 1000.5, ", with decimal commas"),
        (["5;0;1.250", "10;2;0"], 1.25, ", with points as decimal marks ('1.250' is 1.25)"),
        (["5;0;1.5", "10;2;0"], 1.5, ""),
    ],
)
def test_costs_with_points_between_thousands(tmp_path, rows, cost, told):
    shapes(["5", "10"]).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.csv").write_text("\n".join(["true;5;10", *rows]))
    fit = ("fit", tmp_path / "t.csv", f"--target y --drop id --costs {tmp_path}/c.csv {FEW}")
    said = run(*fit, f"--out {tmp_path}/m")[1]
    assert minrisk.load(tmp_path / "m").cost_.values[0, 1] == cost
    assert said == f"minrisk: note: {tmp_path / 'c.csv'} is read as costs separated by semicolons{told}\n"
    run(*fit, f"--decimal , --out {tmp_path}/m")
    assert minrisk.load(tmp_path / "m").cost_.values[0, 1] == (1250 if "1.250" in rows[0] else cost)


def test_costs_with_points_and_commas_for_decimal_marks(tmp_path):
    shapes(["5", "10"]).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.csv").write_text("true;5;10\n5;0;1.5\n10;2,5;0\n")
    message = refused("fit", tmp_path / "t.csv", f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/m")
    assert "must be a number with a decimal comma, as others are, got '1.5'" in message
    (tmp_path / "c.csv").write_text("true,5,10\n5,0,1.250\n10,2.5,0\n")  # written otherwise than the table
    run("fit", tmp_path / "t.csv", f"--target y --costs {tmp_path}/c.csv --decimal , {FEW} --out {tmp_path}/m")
    assert minrisk.load(tmp_path / "m").cost_.values[0, 1] == 1.25


@pytest.mark.parametrize(
    "text",
    [
        "true;5;10\n5;0;1,5\n10;2;0\n",
        "true;5;10;\n5;0;1.000;\n10;2,5;0;\n",
        "true\t5\t10\n5\t0\t1,250\n10\t2\t0\n",
        "sep=;\ntrue;5;10\n5;0;1.250\n10;2;0\n",
        "true,5,10\n5,0,1.250\n10,2.5,0\n",
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::minrisk.DataWarning")
def test_costs_are_what_python_reads(tmp_path, text):
    (tmp_path / "c.csv").write_text(text)
    read = read_costs(str(tmp_path / "c.csv"), np.array(["5", "10"]), "column 'y'", Dialect())
    assert read == minrisk.costs.read_cost(tmp_path / "c.csv")


def test_truth_values_as_other_programs_write_them(tmp_path):
    frame = shapes(["TRUE", "FALSE"]).drop(columns="id")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(y=frame["y"] == "TRUE").to_parquet(tmp_path / "t.parquet", index=False)
    (tmp_path / "c.csv").write_text("true,FALSE,TRUE\nFALSE,0,2\nTRUE,3,0\n")
    for trained in ("t.csv", "t.parquet"):
        run("fit", tmp_path / trained, f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/m")
        assert minrisk.load(tmp_path / "m").cost_.values.tolist() == [[0, 2], [3, 0]]
        for judged in ("t.csv", "t.parquet"):
            assert as_json("evaluate", tmp_path / "m", tmp_path / judged)["error"] == 0


def test_ordinal_costs_of_numbers_written_in_any_way(tmp_path):
    shapes(["2.0", "10.0", "01"]).to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", f"--target y --costs ordinal {FEW} --out {tmp_path}/m")
    cost = minrisk.load(tmp_path / "m").cost_
    assert cost.classes == ("01", "10.0", "2.0") and cost.values.tolist() == [[0, 2, 1], [2, 0, 1], [1, 1, 0]]


KINDS = ("csv", "csv of floats", "int64", "Int64", "float64", "string", "category", "decimal")


def put(frame, column, kind, place):
    """Write a table whose column of whole numbers is of one of these kinds."""
    import decimal

    values = frame[column]
    made = {
        "float64": lambda: values.astype("float64"),
        "csv of floats": lambda: values.astype("float64"),
        "string": lambda: values.astype("string"),
        "category": lambda: values.astype("category"),
        "decimal": lambda: values.map(lambda value: decimal.Decimal(int(value)), na_action="ignore").astype(object),
        "int64": lambda: values.astype("int64") if values.notna().all() else values,
    }.get(kind, lambda: values)()
    path = place / ("t.csv" if "csv" in kind else "t.parquet")
    write = frame.assign(**{column: made})
    if "csv" in kind:
        write.to_csv(path, index=False)
    else:
        write.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("trained", KINDS)
@pytest.mark.parametrize("codes", [[100, 103, 104], [2**53, 2**53 + 4, 2**53 + 16]], ids=["small", "beyond 2**53"])
def test_categories_of_whole_numbers_stay_themselves(tmp_path, trained, codes):
    k = np.arange(60) % 3
    frame = pd.DataFrame({"code": pd.array(np.array(codes)[k], dtype="Int64"), "t": np.array(["a", "b", "c"])[k]})
    path = put(frame, "code", trained, tmp_path)
    run("fit", path, f"--target t --categorical code {FEW} --out {tmp_path}/m")
    frame.loc[0, "code"] = pd.NA
    for kind in KINDS:
        evaluate = ("evaluate", tmp_path / "m", put(frame, "code", kind, tmp_path), "--json")
        if (trained, kind) == ("csv of floats", "string"):  # "103.0" and "103" as texts, as in Python
            with pytest.warns(minrisk.DataWarning, match="categories that fit has not seen"):
                run(*evaluate)
            continue
        text, said = run(*evaluate)
        assert json.loads(text)["error"] < 1.5 / 60 and said == "", kind


@pytest.mark.parametrize("trained", ["t.csv", "de.csv"])
@pytest.mark.parametrize("codes", [[101, 102, 103], [1.042, 1.5, -2.25]], ids=["whole", "fractions"])
def test_categories_that_are_numbers_are_the_same_with_a_decimal_comma(tmp_path, trained, codes):
    k = np.arange(60) % 3
    frame = pd.DataFrame(
        {"code": np.array(codes, dtype=float)[k], "x": np.arange(60) / 4, "t": np.array(["1,0", "b", "c"])[k]}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "de.csv", index=False, sep=";", decimal=",")
    frame.to_parquet(tmp_path / "t.parquet")
    if codes[0] == 101:
        frame.astype({"code": int}).to_csv(tmp_path / "whole.csv", index=False)
    run("fit", tmp_path / trained, f"--target t --categorical code --drop x {FEW} --out {tmp_path}/m")
    for path in tmp_path.glob("*.*"):
        text, said = run("evaluate", tmp_path / "m", path, "--json")
        assert json.loads(text)["error"] == 0 and "taken as missing" not in said, path


def test_categories_with_a_comma_in_some_rows_only(tmp_path):
    k = np.arange(60) % 3
    frame = pd.DataFrame({"code": np.array(["7", "8", "9"])[k], "t": k})
    frame.loc[::5, "code"] += ",0"
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    run("fit", tmp_path / "t.csv", f"--target t --categorical code {FEW} --out {tmp_path}/m")
    assert minrisk.load(tmp_path / "m")._categories.columns[0]._places.keys() == {"7", "8", "9"}


def test_categories_of_a_model_from_python(tmp_path):
    k = np.arange(60) % 3
    frame = pd.DataFrame({"code": pd.Categorical(np.array([7, 8, 9])[k]), "sold": pd.Categorical(k > 0)})
    minrisk.save(minrisk.REBELClassifier(n_estimators=5).fit(frame, k), tmp_path / "m")
    frame.assign(t=k).to_csv(tmp_path / "t.csv", index=False)
    assert as_json("evaluate", tmp_path / "m", tmp_path / "t.csv")["error"] == 0
    (tmp_path / "new.csv").write_text("code,sold\n7.0,False\nten,True\n")
    text, said = run("predict", tmp_path / "m", tmp_path / "new.csv")
    assert text.splitlines()[1] == "0" and "column 'code' of" in said and "['ten'], taken as missing" in said


@pytest.mark.parametrize("trained", KINDS)
def test_labels_of_one_file_are_those_of_another(tmp_path, trained):
    k = np.arange(60) % 3
    frame = pd.DataFrame({"x": k + 0.0, "t": pd.array(k + 1, dtype="Int64")})
    run("fit", put(frame, "t", trained, tmp_path), f"--target t {FEW} --out {tmp_path}/m")
    assert minrisk.load(tmp_path / "m").classes_.dtype.kind == {
        "csv of floats": "O",
        "string": "O",
        "float64": "f",
    }.get(trained, "i")
    for kind in KINDS:
        path = put(frame, "t", kind, tmp_path)
        assert as_json("evaluate", tmp_path / "m", path)["error"] == 0, kind


NESTED = {
    "lists": [[1, 2]] * 60,
    "lists after nothing": [None] * 3 + [[1, 2]] * 57,
    "structures": [{"a": 1}] * 60,
    "bytes": [b"x"] * 60,
    "maps": pa.array([[("a", 1)]] * 60, pa.map_(pa.string(), pa.int64())),
    "fixed lists": pa.array([[1, 2]] * 60, pa.list_(pa.int64(), 2)),
}


@pytest.mark.parametrize("kind", NESTED)
def test_columns_of_lists_and_structures_are_named(tmp_path, kind):
    cells = pa.array(NESTED[kind])
    table = pa.table({"a": np.arange(60.0), "c": np.arange(60.0), "w": ["u", "v"] * 30, "y": ["p", "q"] * 30})
    parquet.write_table(table, tmp_path / "t.parquet")
    fit = f"--target y {FEW} --out {tmp_path}/m"
    run("fit", tmp_path / "t.parquet", fit)
    name = tmp_path / "n.parquet"
    for column in ("c", "w"):
        parquet.write_table(table.set_column(table.column_names.index(column), column, cells), name)
        for command in ("predict", "evaluate"):
            assert f"column {column!r}" in refused(command, tmp_path / "m", name)
        for options in ([], ["--categorical", column]):
            assert f"column {column!r}" in refused("fit", name, "--target y", *options, FEW, f"--out {tmp_path}/n")
    what = "lists, structures or bytes"
    parquet.write_table(table.set_column(3, "y", cells), name)
    assert f"column 'y' of {name} must hold class labels, but holds {what}" in refused("fit", name, fit)
    assert f"column 'y' of {name} must hold class labels, but holds {what}" in refused("evaluate", tmp_path / "m", name)
    parquet.write_table(table.append_column("__index_level_0__", cells), name)
    assert "column '__index_level_0__'" in refused("fit", name, fit)
    for out in ("k.csv", "k.parquet"):  # columns that no model looks at may be anything
        run("predict", tmp_path / "m", name, "--keep __index_level_0__", "--out", tmp_path / out)


# -- tables of any country ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["de.csv", "excel.txt", "index.csv", "t.parquet"])
def test_the_same_table_makes_the_same_model(folder, tmp_path, name):
    drop = ["--drop", "id"]
    said = run("fit", folder / name, "--target y", *drop, FEW, f"--out {tmp_path}/m")[1]
    assert (tmp_path / "m").read_bytes() == (folder / "m").read_bytes()
    expected = {
        "de.csv": "separated by semicolons, in the encoding cp1252, with decimal commas",
        "excel.txt": "separated by tabs, in the encoding utf-16, with decimal commas",
        "index.csv": "the column '', as pandas and R write the names of rows, is left out",
        "t.parquet": "",
    }[name]
    assert expected in said and (said == "") == (expected == "")
    decided = run("predict", folder / "m", folder / name)[0]
    assert decided == run("predict", folder / "m", folder / "t.csv")[0]
    same = [as_json("evaluate", folder / "m", folder / file)["confusions"] for file in (name, "t.csv")]
    assert same[0] == same[1]


def test_what_was_stated_is_not_told(folder, tmp_path):
    stated = "--delimiter ; --decimal , --encoding cp1252"
    said = run("fit", folder / "de.csv", "--target y --drop id", stated, FEW, f"--out {tmp_path}/m")[1]
    assert said == "" and (tmp_path / "m").read_bytes() == (folder / "m").read_bytes()
    assert run("predict", folder / "m", folder / "de.csv", "--keep id", stated)[1] == ""
    assert run("evaluate", folder / "m", folder / "excel.txt", "--delimiter tab --decimal , --encoding utf-16")[1] == ""


def test_texts_that_are_nearly_numbers_are_told(tmp_path):
    frame = shapes(["a", "b"]).assign(
        rate=["12%", "3%", "5%"] * 30, day=["1.1.2020", "2.1.2020"] * 45, price=["€5", "€1,000"] * 45
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = run("fit", tmp_path / "t.csv", f"--target y --drop id {FEW} --out {tmp_path}/m")[1]
    for words in (
        "'rate' of {} holds percentages such as '12%', taken for categories: to have numbers, remove the sign %",
        "'day' of {} holds dates such as '1.1.2020', taken for categories: to have dates, write them as 2024-03-01",
        "'price' of {} holds amounts of money such as '€5'",
    ):
        assert words.format(tmp_path / "t.csv") in said
    assert said.count("\n") == 3


def test_columns_of_categories_are_listed(folder, tmp_path):
    text = run("fit", folder / "t.csv", f"--target y --drop id {FEW} --out {tmp_path}/m")[0]
    assert re.search(r"categories +farbe \(2\)", text) and re.search(
        r"categories +farbe \(2\)", run("show", folder / "m")[0]
    )
    assert as_json("show", folder / "m")["categories"] == {"farbe": 2}


# -- the target, columns kept ----------------------------------------------------------------------------------------
def test_a_model_knows_its_target(folder, tmp_path):
    assert minrisk.load(folder / "m").target_name_ == "y"
    assert re.search(r"target +y\n", "\n".join(line.rstrip() for line in run("show", folder / "m")[0].splitlines()))
    facts = as_json("evaluate", folder / "m", folder / "t.csv")
    assert facts["target"] == "y" and facts["error"] < 0.1  # though 'id' is a column that it does not know, either
    minrisk.save(minrisk.load(folder / "m"), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (folder / "m").read_bytes()
    X = np.arange(20.0)[:, None]
    again = minrisk.load(folder / "m").fit(X, np.arange(20) % 2)
    assert not hasattr(again, "target_name_")  # another fit, of which nobody said it
    again.target_name_ = "y"
    minrisk.save(again, tmp_path / "bare")
    pd.DataFrame({"y": np.arange(20) % 2, "anything": X[:, 0]}).to_csv(tmp_path / "t.csv", index=False)
    assert len(run("predict", tmp_path / "bare", tmp_path / "t.csv")[0].splitlines()) == 21


@pytest.mark.parametrize("name", ["t.csv", "de.csv", "t.parquet"])
def test_columns_are_kept_as_they_are(folder, tmp_path, name):
    text = run("predict", folder / "m", folder / name, "--keep y,id --keep x --proba")[0]
    table = pd.read_csv(io.StringIO(text), dtype=str)
    assert list(table) == ["y", "id", "x", "decision", "probability of 007", "probability of 01", "probability of 1"]
    expected = shapes(["01", "1", "007"])
    assert table["id"].tolist() == expected["id"].tolist() and table["y"].tolist() == expected["y"].tolist()
    assert text == run("predict", folder / "m", folder / name, "--keep y", "--keep", "id, x", "--probabilities")[0]
    run("predict", folder / "m", folder / name, f"--keep id --out {tmp_path}/d.parquet")
    assert pd.read_parquet(tmp_path / "d.parquet")["id"].tolist() == expected["id"].tolist()


class Counted(str):
    """The name of a column that counts how often it is compared or looked up."""

    n = 0

    def __hash__(self):
        Counted.n += 1
        return str.__hash__(self)

    def __eq__(self, other):
        Counted.n += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("kind", slow_after(2, ["csv", "parquet", "semicolons"]))
def test_wide_tables_take_time_by_their_width(tmp_path, monkeypatch, kind):
    whole = Table.__init__
    monkeypatch.setattr(
        Table, "__init__", lambda self, path, names: whole(self, path, [Counted(name) for name in names])
    )
    counts = {command: [] for command in ("fit", "predict", "keep", "unused", "evaluate")}
    for width in (120, 480):
        x = np.random.default_rng(0).normal(size=(12, width))
        frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(width)]).assign(w=["u", "v"] * 6, y=["p", "q"] * 6)
        path, model, small = tmp_path / f"t.{'csv' if kind != 'parquet' else kind}", tmp_path / "m", tmp_path / "s"
        if kind == "parquet":
            frame.to_parquet(path, index=False)
        else:
            frame.to_csv(
                path,
                index=False,
                sep=";" if kind == "semicolons" else ",",
                decimal="," if kind == "semicolons" else ".",
            )
        drop = [word for name in frame.columns[: width // 2] for word in ("--drop", name)]
        every = ",".join(frame.columns)
        for command, given in {
            "fit": ("fit", path, "--target", "y", FEW, "--out", model),
            "half": ("fit", path, "--target", "y", *drop, FEW, "--out", small),
            "predict": ("predict", model, path),
            "keep": ("predict", model, path, "--keep", every, "--out", tmp_path / "k.csv"),
            "unused": ("predict", small, path),
            "evaluate": ("evaluate", model, path),
        }.items():
            Counted.n = 0
            run(*given)
            counts.setdefault(command, []).append(Counted.n)
    for command, (few, many) in counts.items():
        assert 0 < many <= 5 * few, (command, few, many)


# -- texts of others ---------------------------------------------------------------------------------------------------
SEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)  # what no message may hold
EVIL = [
    "\x1b[2J\x1b[31m",
    "\u202egnp.exe",
    "bell\x07",
    "\x9b31m",
    "line\nminrisk: note: all is well",
    "tab\tcr\rnul",
    "zero\u200bwidth",
    "[bold]x",
]


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A table whose names, labels and words a terminal would obey, in a folder that it would, too."""
    place = tmp_path_factory.mktemp("evil") / "\x1b]0;title\x07\u202e"
    place.mkdir()
    n = 90
    k = np.random.default_rng(0).permutation(n) % len(EVIL)
    frame = pd.DataFrame(
        {f"{text} {j}": np.where(k == j, 3.0, 0.0) + np.arange(n) % 7 / 9 for j, text in enumerate(EVIL)}
    )
    frame = frame.assign(**{"word\x1b[5m": np.array(EVIL)[np.arange(n) % 3], "class\u202e": np.array(EVIL)[k]})
    frame.to_csv(place / "t.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    frame.assign(**{"word\x1b[5m": "new\x1b[0m", "more\x1b": 1, "class\u202e": np.array(EVIL)[k[::-1]]}).to_csv(
        place / "wrong.csv", index=False, quoting=csv.QUOTE_NONNUMERIC
    )
    (place / "c.csv").write_text("true,ask\x1b[1m\n")
    run("fit", place / "t.csv", "--target", "class\u202e", FEW, f"--out {place}/m")
    return place


@pytest.mark.parametrize(
    "command",
    [
        "fit t.csv --target class --out n",
        "predict m wrong.csv --out d.csv",
        "predict m wrong.csv --out d.csv --keep gone\x1b",
        "evaluate m wrong.csv",
        "show m",
        "fit t.csv --target class\u202e --out n",
        "fit t.csv --target class\u202e --costs c.csv --out n",
        "fit t.csv --target class\u202e --costs g\x1b --out n",
        "fit gone\x1b.csv --target y --out n",
        "fit t.csv --target class\u202e --drop class\u202e --out n",
        "show gone\x1b",
        "evaluate m t.csv --target class\u202e",
        "fit t.csv --target bell\x07\xa06 --out n",
        "predict t.csv t.csv",
        "predict m t.csv --costs ordinal\x1b",
        "fit \x1b --\x1b",
        "\x1b[31m",
    ],
)
def test_terminals_obey_nothing_that_a_file_holds(evil, command, monkeypatch):
    monkeypatch.chdir(evil)
    words = [word.replace("\xa0", " ") for word in command.split(" ")]
    more = [FEW] if words[0] == "fit" and len(words) > 3 else []
    for place in (Path("."), evil):
        files = [str(place / word) if (evil / word).is_file() else word for word in words]
        code, out, err = inside(*files, *more)
        assert code in (0, 2) and SEEN.search((out + err).decode()) is None, (out + err).decode()
        assert "should not have happened" not in err.decode()


@pytest.mark.parametrize("command", ["show m --json", "evaluate m wrong.csv --json"])
def test_json_is_exact_and_shows_nothing_to_obey(evil, command, monkeypatch):
    monkeypatch.chdir(evil)
    out = inside(*command.split())[1].decode()
    assert SEEN.search(out) is None
    facts = json.loads(out)
    named = (
        {row["feature"] for row in facts["importance"]}
        if "importance" in facts
        else {row["true"] for row in facts["confusions"]}
    )
    assert {name.rpartition(" ")[0] if "importance" in facts else name for name in named} >= set(EVIL[:3])


class Terminal(io.BytesIO):
    """A stream that somebody looks at."""

    def isatty(self):
        return True


def test_decisions_are_exact_but_on_a_terminal(evil, monkeypatch):
    monkeypatch.chdir(evil)
    args = ("predict", "m", "t.csv", "--keep", "word\x1b[5m")
    piped = inside(*args)[1].decode()
    table = pd.read_csv(io.StringIO(piped), dtype=str)
    assert set(table["decision"]) <= set(EVIL) and EVIL[0] in set(table["word\x1b[5m"])
    for to_standard_output in ([], ["--out", "-"]):
        shown = inside(*args, *to_standard_output, out=Terminal())[1].decode()
        assert SEEN.search(shown) is None and r"\x1b[2J\x1b[31m" in shown
    terminal, device = os.openpty()
    try:
        assert inside("predict", "m", "t.csv", "--out", os.ttyname(device))[0] == 0
        shown = os.read(terminal, 1 << 12).decode().replace("\r\n", "\n")
        assert shown.startswith("decision\n") and SEEN.search(shown) is None
    finally:
        os.close(terminal)
        os.close(device)


@pytest.mark.parametrize(
    "content",
    slow_after(1, ["raise ImportError('numpy.dtype size changed')", "", "1 / 0"]),
    ids=["none", "stub", "faulty"],
)
def test_a_broken_pandas_is_named(folder, tmp_path, content):
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas" / "__init__.py").write_text(content)
    done = process("predict", folder / "m", folder / "t.csv", env={"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})
    assert done.returncode == 2 and b"minrisk: pandas, which tables are read with, does not work here" in done.stderr


FORMULAS = ['=HYPERLINK("http://x.y")', "+cmd|' /C calc'!A0", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\uff1d1+1", "a;=1+1"]
HARMLESS = ["-1.5", "+3", "-1,5e3", "'=1", "a=b", "1-2", ".5", "=="[:0] + "red"]


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.parquet", "-"])
def test_texts_that_spreadsheets_take_for_formulas(tmp_path, name):
    texts = FORMULAS + HARMLESS
    k = np.arange(96) % len(texts)
    frame = pd.DataFrame({"x": k + 0.0, "=note": np.array(texts)[k], "n": -k, "y": np.array(texts)[k]})
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    run(
        "fit",
        tmp_path / "t.parquet",
        f"--target y --drop =note --drop n --method rebel --n-estimators 60 --out {tmp_path}/m",
    )
    out = tmp_path / name if name != "-" else name
    tables = []
    for options in ([], ["--safe-text"]):
        told = run("predict", tmp_path / "m", tmp_path / "t.parquet", "--keep =note,n", *options, f"--out {out}")[0]
        read = (
            pd.read_parquet
            if "parquet" in name
            else lambda path: pd.read_csv(
                io.StringIO(told, newline="") if name == "-" else path, dtype={"=note": str, "'=note": str}
            )
        )
        tables.append(read(out))
    plain, safe = tables
    assert list(plain) == ["=note", "n", "decision"] and list(safe) == ["'=note", "n", "decision"]
    assert plain["n"].tolist() == safe["n"].tolist() == (-k).tolist()
    for before, after in ((plain["=note"], safe["'=note"]), (plain["decision"], safe["decision"])):
        risky = before.isin(FORMULAS[:-1])
        assert risky.any() and (~risky).any()
        assert after.tolist() == [f"'{text}" if flag else text for text, flag in zip(before, risky, strict=True)]
    if name == "d.csv":
        assert '"a;=1+1"' in (tmp_path / name).read_text()  # nor does a program that separates cells by ; see a formula


# -- streams -----------------------------------------------------------------------------------------------------------
def test_standard_input_and_output(folder):
    line = (
        "$minrisk fit - --target y --drop id --method rebel --n-estimators 5 --out - < t.csv 2> summary | $minrisk predict - "
        "t.parquet --keep id --out - > d.csv; $minrisk evaluate m - --json < excel.txt > e.json; cat d.csv"
    )
    done = shell(line, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run("predict", folder / "m", folder / "t.csv", "--keep id")[0]
    assert "standard input: 90 rows" in (folder / "summary").read_text()
    assert json.loads((folder / "e.json").read_text())["data"] == "-"


@pytest.mark.slow
def test_process_substitution_fifos_and_devices(folder, tmp_path):
    line = (
        "$minrisk predict m <(cat de.csv) --out >(cat > got.csv); $minrisk predict m t.csv --out /dev/stdout;"
        "$minrisk predict m t.csv --out /dev/null; $minrisk fit t.csv --target y --drop id --method rebel --n-estimators 5 "
        "--costs <(printf 'true,007,01,1\\n007,0,1,1\\n01,1,0,1\\n1,1,1,0\\n') --out /dev/fd/3 3> third > summary; sleep 1"
    )
    done = shell(line, folder)
    expected = run("predict", folder / "m", folder / "t.csv")[0]
    assert done.stdout == expected == (folder / "got.csv").read_text()
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert minrisk.load(folder / "third").cost_ == minrisk.load(folder / "m").cost_
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()
    run("predict", folder / "m", folder / "t.csv", f"--out {tmp_path}/pipe")
    reader.join(20)
    assert got == [expected]


def test_out_writes_what_a_link_leads_to(folder, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "m").symlink_to("models/today")
    for _ in range(2):  # a link to nothing yet, then one to a model
        run("fit", folder / "t.csv", f"--target y --drop id {FEW} --out {tmp_path}/m")
        assert (tmp_path / "m").is_symlink() and (tmp_path / "models" / "today").read_bytes() == (
            folder / "m"
        ).read_bytes()
    (tmp_path / "models" / "today").chmod(0o640)
    run("fit", folder / "t.csv", f"--target y {FEW} --out {tmp_path}/m")
    assert stat.S_IMODE((tmp_path / "models" / "today").stat().st_mode) == 0o640


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A table and a model whose labels and names no single-byte encoding holds, and a table with mistakes."""
    place = tmp_path_factory.mktemp("foreign")
    frame = shapes(["日本", "ż"]).rename(columns={"x": "größe"})
    frame.to_csv(place / "t.csv", index=False)
    run("fit", place / "t.csv", f"--target y --drop id {FEW} --out {place}/m")
    frame.assign(y=frame["y"].to_numpy()[::-1]).to_csv(place / "wrong.csv", index=False)
    return place


def inside(*args, encoding="utf-8", out=None, err=None, columns=100):
    """Run in this process with its own standard streams; gives the exit code and what they got."""
    streams = out or io.BytesIO(), err or io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setattr(warnings, "showwarning", warnings.showwarning)
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, None if stream == "closed" else io.TextIOWrapper(stream, encoding=encoding))
        streams_of_app.prepare()
        with pytest.raises(SystemExit) as leave:
            app(arguments(*args))
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        told = [stream.getvalue() if isinstance(stream, io.BytesIO) else b"" for stream in streams]
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.detach()
    return leave.value.code, *told


@pytest.mark.parametrize("codec", ["cp1252", "ascii", "latin-1", "cp437", "shift-jis", "utf-16"])
def test_any_encoding_of_the_output(foreign, tmp_path, codec):
    held = codec in ("utf-16", "shift-jis")  # whether it has the letters
    label = "日本" if held else r"\u65e5\u672c"

    def text(*args):
        code, out, err = inside(*args, encoding=codec)
        lines = err.decode(codec).splitlines()
        assert code == 0 and all("cannot write all" in line or "not used: 'id'" in line for line in lines), lines
        return out.decode(codec)

    fit = text("fit", foreign / "t.csv", "--target", "y", "--drop", "id", FEW, "--out", tmp_path / "m")
    assert label in fit and (tmp_path / "m").read_bytes() == (foreign / "m").read_bytes()
    for command in (["show", foreign / "m"], ["evaluate", foreign / "m", foreign / "wrong.csv"]):
        told = text(*command)
        assert label in told and max(map(len, told.splitlines())) <= 100
        assert json.loads(text(*command, "--json")) == json.loads(inside(*command, "--json")[1])
    assert label in text("predict", foreign / "m", foreign / "t.csv")
    for out in ("-", tmp_path / "d.csv"):
        written = inside("predict", foreign / "m", foreign / "t.csv", f"--out {out}", encoding=codec)[1]
        assert set((written or (tmp_path / "d.csv").read_bytes()).decode().split()) == {"decision", "日本", "ż"}
    code, _, err = inside("fit", foreign / "t.csv", f"--target 日 --out {tmp_path}/n", encoding=codec)
    assert code == 2 and ("日" if held else r"\u65e5") in err.decode(codec)


def test_a_locale_without_an_encoding(foreign, tmp_path):
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = process("fit", foreign / "t.csv", f"--target y --drop größe {FEW} --out {tmp_path}/m", env=plain)
    assert (
        done.returncode == 0 and done.stderr == b"" and rb"\u65e5\u672c" in done.stdout
    )  # names are found all the same
    assert "größe" not in minrisk.load(tmp_path / "m").feature_names_in_


class Full(io.BytesIO):
    """A device on a full disk."""

    def write(self, content):
        raise OSError(28, "No space left on device")


class Left(io.BytesIO):
    """A pipe whose reader has left."""

    def write(self, content):
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize(
    ("out", "err"), [(Full, None), (Left, None), ("closed", None), (Full, Full), ("closed", "closed"), (None, Left)]
)
def test_a_summary_that_cannot_be_written_is_no_failure(folder, tmp_path, out, err, options):
    streams = [stream() if isinstance(stream, type) else stream for stream in (out, err)]
    code, _, told = inside(
        "fit",
        folder / "de.csv",
        f"--target y --drop id {FEW} --out {tmp_path}/m",
        *options,
        out=streams[0],
        err=streams[1],
    )
    assert code == 0 and (tmp_path / "m").read_bytes() == (folder / "m").read_bytes()
    assert told.count(b"minrisk: ") == (0 if err else 2 if out is Full else 1) == told.count(b"\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("where", slow_after(1, ["> /dev/full", ">&- 2>&-", "| true; exit ${PIPESTATUS[0]}"]))
def test_processes_whose_output_goes_nowhere(folder, where):
    done = shell(f"$minrisk fit t.csv --target y --drop id --method rebel --n-estimators 5 --out other {where}", folder)
    assert done.returncode == 0 and "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert (folder / "other").read_bytes() == (folder / "m").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_process_whose_output_is_a_full_disk(folder):
    done = shell("$minrisk predict m t.csv > /dev/full", folder)
    assert done.returncode == 2 and done.stderr.splitlines()[-1] == "minrisk: standard output: No space left on device."
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


ANSWERS = ("predict m t.csv", "show m", "show m --json", "evaluate m t.csv", "evaluate m t.csv --json")


@pytest.mark.parametrize("command", ANSWERS)
def test_answers_that_cannot_be_written_are_one_line(folder, command, monkeypatch):
    monkeypatch.chdir(folder)
    code, _, told = inside(*command.split(), out=Full())
    assert code == 2 and told.splitlines()[-1] == b"minrisk: standard output: No space left on device."
    code, _, told = inside(*command.split(), out=Left())
    assert code in (0, 1) and all(b"note" in line for line in told.splitlines())
    assert inside(*command.split(), out="closed", err="closed")[0] == 0


def test_names_of_files_that_are_no_text(folder, tmp_path, monkeypatch):
    name, out = os.fsdecode(b"\xff.csv"), os.fsdecode(b"\xfe")
    monkeypatch.chdir(tmp_path)
    try:
        Path(name).write_bytes((folder / "t.csv").read_bytes())
    except OSError:
        pytest.skip("such names cannot be had here")
    code, told, _ = inside("fit", name, f"--target y --drop id {FEW} --out {out}")
    assert code == 0 and rb"\udcff.csv" in told
    assert json.loads(inside("show", out, "--json")[1])["model"] == out
    assert inside("evaluate", out, name)[0] == 0
    code, _, told = inside("fit", name, "--target", os.fsdecode(b"\xfd"), f"--out {out}")
    assert code == 2 and rb"no column '\udcfd'" in told


@pytest.mark.parametrize("columns", [1, 12, 30, 60, 100])
def test_nothing_is_cut_in_a_narrow_terminal(folder, tmp_path, columns):
    (tmp_path / "c.csv").write_text("true,007,01,1,somebody else decides\n007,0,1234,1,1\n01,1000,0,1,1\n1,1,1,0,1\n")
    out = tmp_path / "m"
    run("fit", folder / "t.csv", f"--target y --drop id --n-estimators 5 --costs {tmp_path}/c.csv --out {out}")
    for command in (["show", out], ["evaluate", out, folder / "t.csv"]):
        text = inside(*command, columns=columns)[1].decode()
        assert "…" not in text
        words = ["007", "1234", "share"] if command[0] == "show" else ["share", "007"]
        assert all(word in text for word in words if columns > 1)


# -- what evaluate says ------------------------------------------------------------------------------------------------
def test_evaluate_names_the_costs_it_judges_by(folder, tmp_path):
    frame, table = shapes(["01", "1", "007"]), [[0, 1, 4], [2, 0, 1], [10, 3, 0]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    X, y = frame[["x"]], frame["y"].to_numpy(dtype=str)
    told = {}
    for name, model in {
        "given to fit": minrisk.MinRiskClassifier(n_estimators=3, random_state=0).fit(X, y, cost=table),
        "given": minrisk.REBELClassifier(table, n_estimators=3).fit(X, y),
        "none": minrisk.REBELClassifier(n_estimators=3).fit(X, y),
        "uniform": minrisk.REBELClassifier(1 - np.eye(3), n_estimators=3).fit(X, y),
    }.items():
        minrisk.save(model, tmp_path / "m")
        told[name] = as_json("evaluate", tmp_path / "m", tmp_path / "t.csv", "--target y")["costs"]
        text = run("evaluate", tmp_path / "m", tmp_path / "t.csv", "--target y")[0]
        assert ("every mistake costs 1" in text) == (name in ("none", "uniform")), name
    assert told == {"given to fit": "the model's", "given": "the model's", "none": "0/1", "uniform": "0/1"}


@pytest.mark.parametrize(
    ("risk", "best", "words"),
    [
        (0.5, 2.0, "negative is good, the decisions cost 1.5 (75 %) less a row"),
        (3.0, 2.0, "cost 1 (50 %) more a row"),
        (2.0, 2.0, "no less than the best constant one"),
        (1.0, 0.0, "cost 1 more a row"),
    ],
)
def test_regret_in_words(risk, best, words):
    from minrisk.cli.evaluate import _regret_in_words

    assert words in _regret_in_words(risk - best, best)


PYTHON = re.compile(
    r"CostMatrix|DataFrame|allow_diagonal|to_numpy|astype|warm_start|labels=|classes=|cost\[|pass |index_col|\bX\b|None|True"
)


@pytest.mark.parametrize(
    "costs",
    [
        "true,01,1\n01,0,1\n1,1,0\n",
        "true,01,1,007\n01,0,1,2\n1,1,0,2\n007,1,1,3\n",
        "true,01,1,07\n01,0,1,2\n1,1,0,2\n007,1,1,3\n",
        "true,01,1,007\n01,0,-1,2\n1,1,0,2\n007,1,1,0\n",
        "true,01,1,007\n01,0,nan,2\n1,1,0,2\n007,1,1,0\n",
        "true,01,01,007\n01,0,1,2\n1,1,0,2\n007,1,1,0\n",
        "true,01,1,007\n01,0,1,2\n01,1,0,2\n007,1,1,0\n",
        "true,01,1,007\n01,0,1\n1,1,0,2\n007,1,1,0\n",
        "true\n01\n",
        "",
        "true,refer\n01,1\n1,1\n007,1\n",
        "true,01,1,007\n01,0,ex,2\n1,1,0,2\n007,1,1,0\n",
        "0,1\n1,0\n",
    ],
)
def test_what_is_wrong_with_costs_is_said_in_terms_of_the_file(folder, tmp_path, costs):
    (tmp_path / "c.csv").write_text(costs)
    message = refused("fit", folder / "t.csv", f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/m")
    assert PYTHON.search(message.replace(str(tmp_path), "")) is None and "c.csv" in message
    assert message.count(". ") == 0  # one sentence


def test_ordinal_costs_that_overflow_are_one_line(tmp_path):
    shapes(["1", "2", "3"]).to_csv(tmp_path / "t.csv", index=False)
    message = refused("fit", tmp_path / "t.csv", f"--target y --costs ordinal:3000 --out {tmp_path}/m")
    assert "gives finite costs" in message


def test_named_costs_get_no_advice_for_a_file(folder, tmp_path):
    (tmp_path / "c.csv").write_text("true,1,01,007,ask\n007,5,4,0,1\n01,3,0,2,1\n1,0,6,7,1\n")
    run("fit", folder / "t.csv", f"--target y --costs {tmp_path}/c.csv {FEW} --out {tmp_path}/m")
    message = refused("evaluate", tmp_path / "m", folder / "t.csv", "--costs uniform")
    assert "give a file of costs that has the column" in message


def test_what_nobody_foresaw_is_one_line(folder, monkeypatch):
    def broken(*args):
        raise RuntimeError("no idea")

    monkeypatch.setattr("minrisk.cli.predict.read_features", broken)
    (folder / "x.csv").write_text("x,farbe\n1,rot\n")
    assert "this should not have happened (RuntimeError: no idea)" in refused("predict", folder / "m", folder / "x.csv")
