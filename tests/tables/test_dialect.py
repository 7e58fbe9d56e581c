"""How text tables are written: found out where it is plain, stated where it is not."""

import io

import numpy as np
import pandas as pd
import pytest

from minrisk.tables.columns import matched, nearly_numbers, row_numbers, take_features, take_labels
from minrisk.tables.files import open_table
from minrisk.tables.source import TableError
from minrisk.tables.text import Dialect, TextError, read_text

ROWS = [
    ["größe", "preis", "farbe", "note"],
    ["1,5", "3", "rot", "01"],
    ["-2,25", "4", "blau; hell", "1"],
    ["", "1234567", 'ein "Zoll"', "007"],
]


def text_of(data, stated=None):
    return read_text(lambda: io.BytesIO(data), stated or Dialect(), lambda text: "".join(text.blocks))[0]


def written(delimiter, encoding, newline="\r\n", end="", first=""):
    """The rows above as Excel writes them."""

    def cell(text):
        return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in f'{delimiter}"') else text

    return (first + "".join(delimiter.join(map(cell, row)) + end + newline for row in ROWS)).encode(encoding)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("end", ["", "delimiter"])
def test_tables_of_any_country_are_the_same(tmp_path, delimiter, encoding, newline, end):
    path = tmp_path / "t.csv"
    path.write_bytes(written(delimiter, encoding, newline, delimiter if end else ""))
    table = open_table(path)
    cells, frame = table.cells(["größe", "note"]), table.frame(labels="note")
    assert table.names == ROWS[0]
    np.testing.assert_array_equal(
        take_features(frame[["größe", "preis"]], path), [[1.5, 3], [-2.25, 4], [np.nan, 1234567]]
    )
    assert take_labels(frame["note"], path, as_written=True).tolist() == ["01", "1", "007"]
    assert frame["farbe"].tolist() == ["rot", "blau; hell", 'ein "Zoll"']
    assert cells.to_numpy().tolist() == [["1,5", "01"], ["-2,25", "1"], ["", "007"]]
    told = " ".join(table.found)
    assert "separated by" in told and "decimal commas" in told
    assert ("encoding" in told) == (encoding not in ("utf-8", "utf-8-sig"))


def test_a_usual_table_has_nothing_to_tell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b;c,"d,e"\n1.5,2;3,x\n"1,234",4,y\n')
    table = open_table(path)
    frame = table.frame()
    assert table.names == ["a", "b;c", "d,e"] and table.found == []
    assert frame["a"].tolist() == ["1.5", "1,234"]  # thousands or decimals: nobody knows


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a;b\n1,5;2,5\n", ";"),
        ("a, cm;b, kg\n1,5;2,5\n", ";"),
        ("a\tb\n1,2\t3,4\n", "\t"),
        ("a\n1;2\n", ","),
        ("a;b\n1\n2\n", ","),
        ("a,b\n1,x;y\n2,z\n", ","),
        ("a|b,c\n1,2\n3,4\n", ","),
        ('"a;b",c\n"1;2",3\n', ","),
        ("a;b\n", ";"),
        ("a,b\n", ","),
        ("a\n1\n", ","),
        ("a,b,c\n1,2\n1,2,3\n", ","),
        ("a;b;\n1;2\n", ";"),
        ("a;b;;;\n1;2;;\n3;4\n", ";"),
        ("a,b,,\n1,2\n", ","),
        ("sep=;\na;b\n1;2\n", ";"),
        ('"sep=|"\r\na,b|c\r\n', "|"),
        ("\n\na;b\n1;2\n", ";"),
    ],
)
def test_what_separates_cells(text, delimiter):
    assert text_of(text.encode()).delimiter == delimiter


def test_sep_is_no_row():
    assert text_of(b"sep=;\r\na;b\r\n1;2\r\n").head == [["a", "b"], ["1", "2"]]
    assert text_of("sep=é\na,b\n1,2\n".encode()).delimiter == ","  # pandas separates cells by ASCII only
    assert text_of(b"sep=;\na,b\n1,2\n", Dialect(delimiter=",")).head == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize(
    ("text", "stated", "expected"),
    [
        ("a;b\n1,234;5\n", None, 1.234),  # where cells are separated by ";" the comma is the decimal mark
        ('a,b\n"1,5",5\n', ",", 1.5),
        ("a\tb\n1,25\t5\n", None, 1.25),
        ("a;b\n,5;1\n", None, 0.5),
        ("a;b\n1,5e3;1\n", None, 1500.0),
        ("a;b\n1.5;1\n", None, 1.5),
        ("a;b\n0,1;1\n", None, 0.1),
    ],
)
def test_decimal_marks(tmp_path, text, stated, expected):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert take_features(open_table(path, Dialect(decimal=stated)).frame(), path)["a"].tolist() == [expected]


@pytest.mark.parametrize(
    ("text", "stated"),
    [("a\tb\n1,234\t5\n", None), ("a;b\n1,5;2.5\n", None), ("a;b\n1,5;1\n", "."), ('a,b\n"1,5",1\n', None)],
)
def test_decimal_marks_that_nobody_knows(tmp_path, text, stated):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=r"column 'a' .*holds text \('1,.*--decimal ,"):
        take_features(open_table(path, Dialect(decimal=stated)).frame(), path)


def test_decimals_are_bit_for_bit_those_with_points(tmp_path):
    values = np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250)
    frame = pd.DataFrame({"a": values, "b": 1})
    frame.to_csv(tmp_path / "c.csv", sep=";", decimal=",", index=False)
    frame.to_csv(tmp_path / "p.csv", index=False)
    commas, points = (open_table(tmp_path / name).frame()["a"].to_numpy() for name in ("c.csv", "p.csv"))
    assert np.array_equal(commas, points) and np.array_equal(points, values)


def test_labels_and_categories_keep_their_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;c;y\n1,5;1,5;0,5\n2,5;2,5;1,5\n")
    frame = open_table(path).frame(labels="y", texts=["c"])
    assert frame.to_numpy().tolist() == [[1.5, "1,5", "0,5"], [2.5, "2,5", "1,5"]]


@pytest.mark.parametrize(
    ("content", "stated", "message"),
    [
        ("ä".encode("cp1252"), Dialect(encoding="utf-8"), "is not text in utf-8, as --encoding says"),
        (b"PK\x03\x04", Dialect(), "a spreadsheet"),
        (b"\xd0\xcf\x11\xe0", Dialect(), "a spreadsheet"),
        (b"a,b\n\0", Dialect(), "bytes that are no text"),
    ],
)
def test_what_is_no_text(content, stated, message):
    with pytest.raises(TextError, match=message):
        text_of(content, stated)


def test_bytes_of_no_code_page_are_read_all_the_same():
    assert text_of(b"a,b\n\x81,1\n").encoding == "latin-1"


def test_empty_columns_without_a_name_are_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,,\n1,x,,\n2,y,, \n")
    assert open_table(path).names == list(open_table(path).frame()) == ["a", "b"]
    path.write_text(",a,,b\n0,1,3,x\n1,2,4,y\n")
    with pytest.raises(TableError, match="more than one column without a name"):
        open_table(path)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"": [0, 1, 2], "a": [1, 1, 1]}, [""]),
        ({"Unnamed: 0": [4, 2, 9]}, ["Unnamed: 0"]),
        ({"__index_level_0__": [1, 3, 5]}, ["__index_level_0__"]),
        ({"": ["Mazda", "Fiat", "Ford"]}, [""]),
        ({"": [1, 1, 2]}, []),
        ({"a": [0, 1, 2]}, []),
    ],
)
def test_row_numbers(columns, expected):
    assert row_numbers(pd.DataFrame(columns)) == expected


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (["12%", "3 %", "7,5%"], "percentages"),
        (["€5", "€ 7.50", "1,000 €"], "amounts of money"),
        (["$1,234.50"], "amounts of money"),
        (["2020-01-31", "2020-02-01 10:30"], "dates"),
        (["31.01.2020", "1.2.20"], "dates"),
        (["1/31/2020"], "dates"),
        (["1,234", "12,345,678"], "numbers with thousands separators"),
        (["1'234.5"], "numbers with thousands separators"),
        (["1,5", "2,25"], "numbers with decimal commas"),
        (["(5)", "(6,5)"], "numbers with a sign of their own"),
        (["\u22125", "5-"], "numbers with a sign of their own"),
        (["red", "12%", "blue"], None),
        (["A-1", "B-2"], None),
        (["1", "2"], None),
    ],
)
def test_texts_that_are_nearly_numbers(cells, what):
    found = nearly_numbers(pd.Series(cells))
    assert (found and found[0]) == what
    assert found is None or found[1] == cells[0]


@pytest.mark.parametrize(
    ("cell", "known", "expected"),
    [
        ("1", ["01", "1", "007"], 1),
        ("01", [1, 7], -1),
        ("1.0", [2, 1], 1),
        (1.0, ["1.0", "2"], 0),
        (103.0, ["103"], 0),
        ("103.0", ["103", "103.0"], 1),
        ("1e+16", [10**16], 0),
        (1e22, ["10000000000000000000000"], 0),
        (" a", ["a", "b"], 0),
        ("a", ["a ", " a"], -1),
        (True, ["True"], 0),
        ("true", [True], 0),
        ("TRUE ", [False, True], 1),
        (np.True_, ["FALSE", "TRUE"], 1),
        ("TRUE", ["True"], -1),
        (True, ["TRUE", "true"], -1),
        ("TRUE", [True, "TRUE"], 1),
        ("T", [True], -1),
        ("1", [True], -1),
        ("1.5", [1.5], 0),
        ("1.50", ["1.5"], -1),
        (2.0**53, [2**53 + 1, 2**53 + 4], 0),
        (2.0**53, [2**53, 2**53 + 1], -1),
        (2.0**53 + 4, [2**53 + 1, 2**53 + 4], 1),
        (2**53 + 1, [2.0**53], 0),
        (2**53 + 1, [2**53], -1),
        ("1.1", ["1.10"], -1),
        (np.int64(3), ["3"], 0),
        ("-0", [0], -1),
        (-0.0, ["0"], 0),
        ("103,0", [102, 103], 1),
        (103, ["103,0"], 0),
        ("103", ["102,0", "103,0"], 1),
        ("1,042", ["1.042"], 0),
        (1.042, ["1,042"], 0),
        ("1,0e+16", [10**16], 0),
        ("1,042", ["1.042", "1,042"], 1),
        ("1,5", ["1.50"], -1),
        ("a,b", ["a.b"], -1),
        ("01,0", [1], -1),
        ("9" * 400, ["1"], -1),
        (float("inf"), ["inf"], 0),
        ("", ["a"], -1),
    ],
)
def test_values_are_matched_as_they_are_written(cell, known, expected):
    assert matched([cell], known) == [expected]
