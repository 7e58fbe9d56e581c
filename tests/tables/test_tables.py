"""Tables: what is read, and how what cannot be read is said."""

import datetime
import decimal
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from minrisk.tables.columns import matched, take_features, take_labels
from minrisk.tables.files import kind_of, open_table
from minrisk.tables.source import TableError
from minrisk.tables.text import Dialect
from minrisk.tables.writing import write_table
from tests.helpers.command_line import FEW, invoke, run


@pytest.fixture
def frame():
    return pd.DataFrame(
        {"width": [0.1, 1e-17, 1 / 3], "count": [1, 2, 3], "sold": [True, False, True], "kind": ["a", "b", "a"]}
    )


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV", "t.parquet", "t.pq"])
def test_tables_survive_a_round_trip_bit_for_bit(tmp_path, frame, name):
    path = tmp_path / name
    write_table(frame, path)
    table = open_table(path)
    assert table.names == list(frame.columns)
    back = table.frame(labels="kind")
    assert np.array_equal(take_features(back.drop(columns="kind"), path), take_features(frame.iloc[:, :3], path))
    assert take_labels(back["kind"], path).tolist() == ["a", "b", "a"]
    assert sorted(tmp_path.iterdir()) == [path]  # nothing left beside it


def test_equal_tables_are_equal_gzipped_files(tmp_path, frame):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(frame, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes()[3:8] == bytes(5)  # the header has neither a name nor a time
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_missing_cells_of_features_and_of_labels(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffx,country\n1,NA\nNA,None\n,DE\n", encoding="utf-8")
    table = open_table(path).frame(labels="country")
    assert take_labels(table["country"], path).tolist() == ["NA", "None", "DE"]
    assert np.isnan(take_features(table[["x"]], path)["x"]).tolist() == [False, True, True]


def test_labels_keep_their_kind():
    assert take_labels(pd.Series([2, 1], name="y"), "t").dtype.kind == "i"
    assert take_labels(pd.Series([2.0, 1.0], name="y"), "t").dtype.kind == "f"  # as in Python
    assert take_labels(pd.Series([True, False], name="y"), "t").dtype.kind == "b"
    assert take_labels(pd.Series(["b", "a"], name="y").astype("category"), "t").tolist() == ["b", "a"]
    assert take_labels(pd.Series([1, 2], dtype="Int64", name="y"), "t").tolist() == [1, 2]
    for cells, labels in ((["1", "2.00"], [1, 2]), (["-3", "1E+2"], [-3, 100])):
        found = take_labels(pd.Series(list(map(decimal.Decimal, cells)), name="y"), "t")
        assert found.tolist() == labels and found.dtype.kind == "i"


def test_features_of_text_tables_have_the_types_of_their_cells():
    odd = pd.DataFrame(
        {"a": pd.Series(["1", "2.5"], dtype="category"), "b": [3, 4], "c": pd.Series([True, None], dtype=object)}
    )
    found = take_features(odd, "t")
    assert [dtype.kind for dtype in found.dtypes] == ["f", "i", "f"]
    np.testing.assert_array_equal(found, [[1, 3, 1], [2.5, 4, np.nan]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["red", "blue"], r"column 'colour' of t\.csv holds text \('red' in row 1\).*--drop.*--categorical"),
        ([1.0, np.inf], "column 'colour' of t.csv holds an infinite number in row 2"),
        (["1", "2", "?", "4"], r"\('\?' in row 3\).*leave missing values empty"),
        (["x" * 200], "holds text \\('x{29}…' in row 1\\)"),
    ],
)
def test_features_that_are_no_numbers(column, message):
    with pytest.raises(TableError, match=message):
        take_features(pd.DataFrame({"colour": column}), "t.csv")


def test_no_feature_left():
    with pytest.raises(TableError, match="no column left to learn from"):
        take_features(pd.DataFrame(index=range(3)), "t.csv")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", None, None], r"must hold a label in every row, but 2 of 3 are missing \(the first in row 2\)"),
        ([[1], [2]], "must hold class labels, but holds lists, structures or bytes"),
        ([1.0, 2.5], "must hold class labels, but row 2 holds the number 2.5"),
        ([1.0, np.inf], "row 2 holds the number inf"),
        ([decimal.Decimal(1), decimal.Decimal("2.5")], "must hold class labels, but row 2 holds the number 2.5"),
    ],
)
def test_labels_that_are_none(column, message):
    with pytest.raises(TableError, match=message):
        take_labels(pd.Series(column, name="y"), "t.csv")


def corrupt(path):
    """Everything that may be wrong with a file: (name, its bytes, the message)."""
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 5000)
    yield "empty.csv", b"", "is empty"
    yield "blank.csv", b"\n\n", "is empty"
    yield "header.csv", b"a,b\n", "holds column names but no rows"
    yield "nameless.csv", b"a,,(v,b\n", "holds column names but no rows"
    yield "twice.csv", b"a,b,a\n1,2,3\n", "more than one column named 'a'"
    yield (
        "long.csv",
        b"a,b\n1,2,3\n",
        r"has more cells in line 2 than its header \(3, not 2\): correct the line, or put a cell that holds ','",
    )
    yield "longer.csv", b"a,b\n1,2\n\n1,2,3\n", "has more cells in line 4 than its header"
    yield "several.csv", b'a,b\n1,2\n"x\ny",2,3\n', "has more cells in lines 3 to 4 than its header"
    yield "later.csv", b"\n\nsep=,\na,b\n1,2\n1,2,3\n", "has more cells in line 6 than its header"
    yield "mac.csv", b"a,b\r1,2\r1,2,3\r", "has more cells in line 3 than its header"
    yield "cut.csv", b"a,b,c\n1,2,3\n4,5", r"ends in the middle of line 3 \(2 of 3 cells, and no end of line\)"
    yield "heads.csv", b"a,b\n1,2\na,b\n3,4\n", "repeats its header in line 3"
    yield "joined.csv", b"\xef\xbb\xbfa,b\n1,2\n\xef\xbb\xbfa,b\n3,4\n", "repeats its header in line 3"
    yield "ended.csv", b"a,b\n1,2,\na,b\n3,4,\n", "repeats its header in line 3"
    yield "packed.csv", b"BZh91AY&SY", "holds an archive and not text"
    yield "twice.csv.gz", gzip.compress(whole), "holds an archive and not text"
    yield "sheet.csv", b"PK\x03\x04 and more", "holds a spreadsheet or an archive and not text"
    yield "bytes.csv", b"a,b\n1,\x00\x01\n", "holds bytes that are no text in line 2"
    yield "late.csv", b"a,b\n" + b"1,2\n" * 99_999 + b"1,\x00\n", "holds bytes that are no text in line 100001"
    yield "cut16.csv", "ä,b\n1,2\n".encode("utf-16")[:-1], "is not whole text in utf-16"
    yield "plain.csv.gz", b"a,b\n1,2\n", "not packed by gzip"
    yield "cut.csv.gz", whole[:-20], "cut short"
    yield "hurt.csv.gz", whole[:30] + b"\xff\x00\xff" + whole[33:], "damaged"
    yield "no.parquet", b"PAR1 and then nonsense PAR1", "not a table that can be read"
    yield "empty.parquet", b"", "is empty"
    yield "quote.csv", b'a,b\n1,"2\n3,4\n', "has a quotation mark in line 2 that is not closed"
    yield "quotes.csv", b'a,b\n1,"2\n' + b"3,4\n" * 99_999, "has a cell in line 2 of more than 131072 characters"


@pytest.mark.parametrize("case", list(corrupt(None)), ids=lambda case: case[0])
def test_files_that_cannot_be_read(tmp_path, case):
    name, content, message = case
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        open_table(path).frame()
    assert "\n" not in str(caught.value) and name in str(caught.value)


@pytest.mark.parametrize(
    ("text", "values", "notes"),
    [
        (
            "a,b\n1,2\n3\n",
            [[1, 2], [3, np.nan]],
            ["rows with fewer cells than its header, 1 in all (1 of 2 in line 3): what they"],
        ),
        (
            "a,b,c\n1\n\n4,5\n7,8,9",
            [[1, np.nan, np.nan], [4, 5, np.nan], [7, 8, 9]],
            ["rows with fewer cells than its header, 2 in all (1 of 3 in line 2)"],
        ),
        ("a,b,,\n1,2\n3,4,\n5,6,,,,\n", [[1, 2], [3, 4], [5, 6]], []),  # only what has no name is lacking, or too many
        ("a,b\n1,2,\n3,4,\n5,6", [[1, 2], [3, 4], [5, 6]], []),
        ("a,b\n1,2\n3,4", [[1, 2], [3, 4]], []),
        ("a\tb\n1\t\n  \n\t4\n", [[1, np.nan], [np.nan, 4]], []),
        ("a\n1\n\n2\n", [[1], [2]], []),
        ('a\n1\n""\n2\n', [[1], [np.nan], [2]], []),
        (
            'a,b,c\n1,2,"x\n3,4,y"\n5,6,7\n',
            None,
            ["a cell in quotation marks that holds whole rows (lines 2 to 3): if it should not"],
        ),
        ('a,b,c\n1,2,"Park Lane 3,\nLondon"\n5,6,7\n', None, []),  # an address
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_that_are_no_whole_rows_are_told(tmp_path, text, values, notes, end):
    path = tmp_path / "t.csv"
    path.write_bytes(text.replace("\n", end).encode())
    table = open_table(path)
    assert len(table.notes) == len(notes) and all(map(str.startswith, table.notes, notes))
    if values is None:
        assert len(table.frame()) == 2
    else:
        np.testing.assert_array_equal(take_features(table.frame(), path), values)


def test_short_and_cut_lines_on_the_command_line(tmp_path):
    rows = "".join(f"{i % 2},{i % 5},{'pq'[i % 2]}\n" for i in range(30))
    path, model = tmp_path / "t.csv", tmp_path / "m"

    def said(text, *args):
        path.write_text("x,z,y\n" + text)
        result = invoke(*args)
        return result.exit_code, result.stderr

    fit = ("fit", path, f"--target y {FEW} --out {model}")
    assert said(rows, *fit) == (0, "")
    short = f"minrisk: note: {path} has rows with fewer cells than its header, 1 in all (2 of 3 in line 32): what they lack is taken as missing\n"
    assert said(rows + "1,2\n", "predict", model, path) == (0, short)
    cut = f"minrisk: {path} ends in the middle of line 32 (2 of 3 cells, and no end of line): it may have been cut short; take a fresh copy, or complete or remove the line.\n"
    for command in (("predict", model, path), ("evaluate", model, path), fit):
        assert said(rows + "1,2", *command) == (2, cut)
    assert said("1,2\n" + rows, "evaluate", model, path)[0] == 2  # a row without a class


def test_headers_of_any_length(tmp_path):
    names = [f"column {j} with a long name" for j in range(20_000)]
    path = tmp_path / "t.csv"
    path.write_text(",".join(names) + "\n" + (",".join(["1"] * 20_000) + "\n") * 2)
    table = open_table(path)
    assert table.names == names and table.frame().shape == (2, 20_000)


def test_cut_parquet(tmp_path, frame):
    path = tmp_path / "t.parquet"
    write_table(frame, path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(TableError, match="not a table that can be read"):
        open_table(path).frame()


def test_paths_that_are_no_tables(tmp_path):
    with pytest.raises(TableError, match="there is no file .*gone.csv"):
        open_table(tmp_path / "gone.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        open_table(tmp_path / "folder.csv")
    with pytest.raises(TableError, match="name ends in .csv, .csv.gz or .parquet"):
        kind_of("data.xlsx")
    with pytest.raises(TableError, match="name ends in"):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("text", "mark", "values", "found"),
    [
        ("x;z;y\n1.000;2,5;a\n500;3,25;b\n", None, [1000, 500], True),  # 1.000 is a thousand beside decimal commas
        ("x;z;y\n1.250;2,5;a\n2.500.000;3,25;b\n", None, [1250, 2500000], True),
        ("x;z;y\n1.000;2;a\n-2.500;3;b\n", ",", [1000, -2500], True),
        ("x;z;y\n1.000,5;2;a\n7,25;3;b\n12;3;b\n", None, [1000.5, 7.25, 12], False),
        ("x;z;y\n1.000,5;2;a\n7,25;3;b\n2.000;3;b\n", None, [1000.5, 7.25, 2000], True),
        ("x;z;y\n1.000;2.5;a\n2.500;3;b\n", None, [1, 2.5], False),  # nothing says that these are thousands
        ("x;z;y\n0.125;2,5;a\n1.000;3,5;b\n", ",", [0.125, 1], False),
        ("x;z;w;y\n1,5;2,5;a.b;a\n2,5;1,5;1.5;b\n3,5;1,5;c;b\n", None, [1.5, 2.5, 3.5], False),
    ],
)
def test_points_between_thousands(tmp_path, text, mark, values, found):
    path = tmp_path / "t.csv"
    path.write_text(text)
    table = open_table(path, Dialect(decimal=mark))
    assert take_features(table.frame(labels="y")[["x"]], path)["x"].tolist() == values
    assert ("with points between thousands" in table.found) == found


@pytest.mark.parametrize(
    ("text", "mark", "told"),
    [
        ("x;z;y\n1.250;2;a\n2.500;3;b\n", None, "with points as decimal marks ('1.250' in column 'x' is 1.25)"),
        ("x\tz\ty\n12\t2\ta\n2.000\t3\tb\n", None, "with points as decimal marks ('2.000' in column 'x' is 2)"),
        (
            "x;z;y\n12;2;a\n" + "1;2;b\n" * 300 + "2.000;3;b\n",
            None,
            "with points as decimal marks ('2.000' in column 'x' is 2)",
        ),
        ("x;z;y\n1.250;2.5;a\n2.500;3;b\n", None, ""),
        ("x;z;y\n0.250;2;a\n2.500;3;b\n", None, ""),
        ("x;z;y\n1.250;2;a\n2.500;3;b\n", ".", ""),
        ("x,z,y\n1.250,2,a\n2.500,3,b\n", None, ""),
        ("x;z;y\n1.250;;1.5\n2.500;3;2\n", None, ""),
    ],
)
def test_points_that_may_stand_between_thousands_are_told(tmp_path, text, mark, told):
    path = tmp_path / "t.csv"
    path.write_text(text)
    table = open_table(path, Dialect(decimal=mark))
    frame = table.frame(labels="y")
    assert [way for way in table.found if "separated" not in way] == ([told] if told else [])
    assert frame["x"].tolist()[-1] in (2.5, 2.0)


def test_parquet_texts_that_are_no_texts(tmp_path):
    """Bytes that were damaged after they had been written as texts."""
    path = tmp_path / "t.parquet"
    broken = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 2, 4], dtype=np.int32)), pa.py_buffer(b"\xc3\x28ok")
    )
    pq.write_table(pa.table({"a": [1.0, 2.0], "kind": broken}), path)
    with pytest.raises(TableError, match=r"t\.parquet is not a table that can be read \(.*UTF8.*\): correct the file"):
        open_table(path)


def test_parquet_keeps_decimals_and_dates(tmp_path):
    day, amount = datetime.date(2024, 2, 29), decimal.Decimal("1.50")
    write_table(
        pd.DataFrame({"day": [day, None], "amount": [amount, amount], "mixed": [1, "refer"]}), tmp_path / "t.parquet"
    )
    back = pd.read_parquet(tmp_path / "t.parquet")
    assert back["day"].tolist() == [day, None] and back["amount"].tolist() == [amount, amount]
    assert back["mixed"].tolist() == ["1", "refer"]


# -- numbers that are too long for any ---------------------------------------------------------------------------------
def test_texts_of_very_many_digits_are_no_numbers():
    """Python makes no number of more than 4300 digits; a text that is written the same is the same all the same."""
    digits = "9" * 5000
    known = [103, "red", digits, "1e400", "2" + "0" * 308]
    cells = [
        digits,
        f" {digits}",
        f"-{digits}",
        f"{digits}.0",
        digits[:-1],
        f"1e{digits}",
        "2e400",
        "1e400",
        "1e309",
        "103.0",
    ]
    assert matched(cells, known) == [2, 2, -1, -1, -1, -1, -1, 3, -1, 0]
    assert matched(["1" + "0" * 300, "1e300", "1" + "0" * 300 + ".0"], [10**300]) == [0, 0, 0]


def test_cells_of_very_many_digits_are_values_that_a_model_does_not_know(tmp_path):
    rows = [f"{k % 3}.5,{k % 2 + 1},{'ab'[k % 2]}" for k in range(20)]
    (tmp_path / "train.csv").write_text("x,kind,y\n" + "\n".join(rows) + "\n")
    (tmp_path / "new.csv").write_text(f"x,kind\n1.5,{'7' * 5000}\n0.5,2\n")
    run("fit", tmp_path / "train.csv", f"--target y --categorical kind {FEW} --out {tmp_path}/m")
    done = invoke("predict", tmp_path / "m", tmp_path / "new.csv")
    assert done.exit_code == 0, done.output
    assert "holds what training did not: ['7777777" in done.stderr and done.stdout.startswith("decision\n")
