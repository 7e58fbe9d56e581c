"""Text tables that are read some rows at a time: the same as at once, in little memory."""

import csv
import gzip
import io
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from minrisk.cli.training import Roles, training_data
from minrisk.tables import text
from minrisk.tables.files import open_table
from minrisk.tables.text import Dialect, TextError, read_cells, read_text
from tests.helpers.common import slow_after

ODD = (
    "",
    "NA",
    "?",
    "True",
    "1.5",
    "1,5",
    "1.000",
    "1e3",
    "01",
    "x",
    "-0",
    "9007199254740993",
    "18446744073709551615",
    "-9223372036854775808",
)


# -- lines -------------------------------------------------------------------------------------------------------------
def read_once(content):
    """The cells of a text and what is said of its lines, or why it is refused."""
    try:
        return read_text(lambda: io.BytesIO(content.encode()), Dialect(","), lambda text: read_cells(text, "t.csv"))[1]
    except TextError as error:
        return str(error)


def said(content):
    """What is said of lines, or refused."""
    cells = read_once(content)
    return cells if isinstance(cells, str) else cells.notes


def some_text(rng):
    """Rows of cells, most of them in order."""
    end = str(rng.choice(["\n", "\n", "\r\n", "\r"]))
    words = [
        "1",
        "b c",
        '"q"',
        '"d""e"',
        '""',
        '"a,b"',
        f'"x{end}y"',
        f'"1,2{end}3,4"',
        "",
        " ",
        'i"n',
        '"o"k',
        "a",
        "é",
    ]
    rare = rng.choice([0.0, 0.02, 0.2])
    out = ["a,b" if rng.random() < 0.7 else '"a",b']
    for _ in range(rng.integers(0, 40)):
        if rng.random() < rare:
            out.append(
                str(
                    rng.choice(
                        ["", " ", "a,b", '"a","b"', "1,2,3", "1", '"1', "1,2,,", "\ufeffa,b", ",", "a,b,", '"', "\r"]
                    )
                )
            )
        else:
            usual = words[: 9 if rng.random() < 0.7 else len(words)]
            out.append(",".join(rng.choice(usual, 2)))
    return end.join(out) + (end if rng.random() < 0.8 else "")


@pytest.mark.parametrize("seed", slow_after(80, range(300)))
def test_cells_are_those_of_pythons_reader(seed, monkeypatch):
    content = some_text(np.random.default_rng(seed))
    found = read_once(content)
    for size, letters in ((1, 1 << 20), (5, 3), (1 << 17, 25)):
        monkeypatch.setattr(text, "CHUNK_CELLS", size)
        monkeypatch.setattr(text, "BLOCK_LETTERS", letters)
        assert read_once(content) == found
    if not isinstance(found, str):
        _, *rows = csv.reader(io.StringIO(content, newline=""))
        rows = [[*cells, ""][:2] for cells in rows if len(cells) > 1 or (cells and (not cells[0] or cells[0].strip()))]
        assert list(map(list, zip(*(column.to_pylist() for column in found.columns), strict=True))) == rows


def test_both_kinds_of_answers_are_there():
    found = [said(some_text(np.random.default_rng(seed))) for seed in range(300)]
    told = [answer for answer in found if answer]
    assert sum(isinstance(answer, str) for answer in told) > 30
    assert sum(isinstance(answer, list) for answer in told) > 9 and len(told) < 270


def test_a_quotation_mark_that_encloses_much_is_found():
    long = 'a,b\n1,"' + "3,4\n" * 50_000 + '"\n5,6\n'
    assert "has a cell in line 2 of more than 131072 characters" in said(long)
    short = 'a,b\n1,"' + "3,4\n" * 20_000 + '"\n5,6\n'
    assert "holds whole rows (lines 2 to 20002)" in said(short)[0]


def test_a_text_without_ends_of_lines_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(text, "LONGEST_LINE", 1000)
    monkeypatch.setattr(text, "BLOCK_LETTERS", 100)
    assert "has a line of more than 1000 characters" in said("a,b\n" + "1" * 2000 + ",2\n")


# -- cells -------------------------------------------------------------------------------------------------------------
def some_table(rng):
    """Numbers in the ways of several countries, words and truth values, with odd cells here and there."""
    n, mark = int(rng.integers(1, 50)), str(rng.choice([",", ";", "\t"]))
    values = np.round(rng.normal(size=(6, n)) * 10.0 ** rng.integers(0, 6, (6, n)), 3)
    ways = [
        str,
        lambda x: str(x).replace(".", ","),
        lambda x: str(int(x)),
        lambda x: f"{int(x):,}".replace(",", "."),
        lambda x: str(bool(x > 0)),
        lambda x: ["red", "blue"][int(x > 0)],
        lambda x: "",
    ]
    columns = []
    for row in values:
        way, odd, gaps = ways[rng.integers(0, len(ways))], rng.choice([0.0, 0.0, 0.03]), rng.choice([0.0, 0.3])
        cells = ["" if rng.random() < gaps else str(rng.choice(ODD)) if rng.random() < odd else way(x) for x in row]
        columns.append([f'"{cell}"' if mark in cell else cell for cell in cells])
    return "\n".join([mark.join(f"c{j}" for j in range(6)), *map(mark.join, zip(*columns, strict=True))]) + "\n"


def plain(frame):
    return {
        name: [None if pd.isna(cell) else (type(cell).__name__, cell) for cell in column.astype(object).tolist()]
        for name, column in frame.items()
    }


def read(path, stated):
    table = open_table(path, stated)
    cells, frame = table.cells(["c3", "c2"]), table.frame(labels="c0", texts=["c1"])
    return plain(frame), table.found, table.notes, plain(cells)


@pytest.mark.parametrize("seed", slow_after(20, range(60)))
def test_tables_are_the_same_however_many_rows_are_read_together(tmp_path, monkeypatch, seed):
    path = tmp_path / "t.csv"
    path.write_text(some_table(np.random.default_rng(seed)))
    stated = Dialect(decimal="," if seed % 3 == 0 else None)
    at_once = read(path, stated)
    monkeypatch.setattr(text, "CHUNK_CELLS", 20)
    monkeypatch.setattr(text, "BLOCK_LETTERS", 64)
    assert read(path, stated) == at_once


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", "", "4"], [1.0, 2.0, None, 4.0]),
        (["", "", "1", "2"], [None, None, 1.0, 2.0]),
        (["1", "2", "3", "x"], ["1", "2", "3", "x"]),
        (["01", "2", "x", ""], ["01", "2", "x", None]),
        (["", "", "x", "y"], [None, None, "x", "y"]),
        (["True", "False", "1", "0"], ["True", "False", "1", "0"]),
        (["True", "False", "", "True"], [True, False, None, True]),
        (["", "", "True", "True"], [None, None, True, True]),
        (["18446744073709551615", "2", "3", "4"], [2**64 - 1, 2, 3, 4]),
        (["2", "3", "18446744073709551615", "4"], [2, 3, 2**64 - 1, 4]),
        (["-2", "3", "18446744073709551615", "4"], ["-2", "3", "18446744073709551615", "4"]),
        (["1", "2", "0.1", "4"], [1.0, 2.0, 0.1, 4.0]),
        (["9007199254740993", "2", "0.5", "4"], [9007199254740992.0, 2.0, 0.5, 4.0]),
        (["", "", "", ""], [None] * 4),
    ],
)
def test_a_column_is_what_all_its_rows_are(tmp_path, monkeypatch, cells, expected):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    monkeypatch.setattr(text, "CHUNK_CELLS", 4)
    found = open_table(path).frame()["a"].astype(object).tolist()
    assert [None if pd.isna(cell) else cell for cell in found] == expected
    assert [type(cell) for cell in found if not pd.isna(cell)] == [type(cell) for cell in expected if cell is not None]


@pytest.mark.parametrize("kind", ["numbers", "words", "commas"])
def test_memory_is_little_more_than_that_of_the_cells(tmp_path, monkeypatch, kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(np.round(rng.normal(size=(20_000, 20)) * 100, 6)).rename(columns=str)
    if kind != "numbers":
        frame = frame.iloc[:, :10].assign(**{f"w{j}": rng.choice(["red", "green", "yellow"], 20_000) for j in range(5)})
    how = {"sep": ";", "decimal": ",", "encoding": "utf-16"} if kind == "commas" else {}
    frame = frame.assign(y=np.arange(20_000) % 2)
    frame.to_csv(tmp_path / "t.csv", index=False, **how)
    frame[:50].to_csv(tmp_path / "few.csv", index=False, **how)
    size = (tmp_path / "t.csv").stat().st_size // (2 if kind == "commas" else 1)
    monkeypatch.setattr(text, "BLOCK_LETTERS", 1 << 16)
    monkeypatch.setattr(text, "CHUNK_CELLS", 1 << 14)
    training_data(tmp_path / "few.csv", Roles("y"), Dialect())  # what is imported is no matter of the table
    tracemalloc.start()
    try:
        rows = training_data(tmp_path / "t.csv", Roles("y"), Dialect())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(rows.y) == 20_000 and rows.X.shape[1] == frame.shape[1] - 1
    np.testing.assert_array_equal(rows.X.iloc[:, :10], frame.iloc[:, :10])
    assert 0.6 * size < peak < 2 * size, peak / size


# -- files and streams --------------------------------------------------------------------------------------------------
def test_a_table_is_what_it_was_when_it_was_opened(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    table = open_table(path)
    path.write_text("a,b\n1,2\n3,4\n")
    assert len(table.cells(["a"])) == len(table.frame()) == 1


class Stdin:
    closed = False

    def __init__(self, data):
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_is_read_as_often_as_a_file(monkeypatch, packed):
    data = b"a;b\n" + b"1,5;x\n2,5;y\n" * 400
    monkeypatch.setattr(sys, "stdin", Stdin(gzip.compress(data) if packed else data))
    table = open_table("-")
    assert table.cells(["a", "b"]).iloc[-1].tolist() == ["2,5", "y"] and table.frame()["a"].tolist() == [1.5, 2.5] * 400


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "shift-jis", "utf-7"]
)
def test_letters_of_any_encoding(tmp_path, encoding):
    letters = "größe" if encoding in ("cp1252", "utf-7") else "größe日本" if encoding != "shift-jis" else "日本"
    content = f"{letters},b\r\n" + f"{letters},2\r\n" * 3000
    (tmp_path / "t.csv").write_bytes(content.encode(encoding))
    stated = Dialect(encoding=encoding if encoding in ("shift-jis", "utf-7", "utf-16-le", "utf-32", "utf-16") else None)
    assert read_text(lambda: (tmp_path / "t.csv").open("rb"), stated, lambda text: "".join(text.blocks))[1] == content
    assert open_table(tmp_path / "t.csv", stated).frame()[letters].tolist() == [letters] * 3000
