"""Text tables that are read some rows at a time: the same as at once, in little memory."""

import errno
import gzip
import io
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from minrisk.cli.fit import training_data
from minrisk.cli.given import Roles
from minrisk.io import content, lines, room, tables
from minrisk.io.dialect import Dialect, read_text
from minrisk.io.tables import open_table
from minrisk.io.values import TableError
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
def checked(text, header, delimiter=","):
    """What is said of lines, or refused."""
    try:
        return lines.check_lines(text, delimiter, header)
    except lines.LineError as error:
        return str(error)


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
def test_lines_are_checked_alike_one_by_one_and_many_together(seed, monkeypatch):
    text = some_text(np.random.default_rng(seed))
    found = [checked(text, ["a", "b"])]
    for size in (1, 3, 50):
        parts, rest = [], text
        while rest:
            n = size + (rest[size - 1 : size + 1] == "\r\n")  # not within an end of line
            parts.append(rest[:n])
            rest = rest[n:]
        found.append(checked(parts, ["a", "b"]))
    monkeypatch.setattr(lines._Look, "at", lambda self, text, is_last: None)  # each line by itself
    found.append(checked(text, ["a", "b"]))
    assert found == [found[0]] * 5


def test_both_kinds_of_answers_are_there():
    found = [checked(some_text(np.random.default_rng(seed)), ["a", "b"]) for seed in range(300)]
    said = [answer for answer in found if answer]
    assert (
        sum(isinstance(answer, str) for answer in said) > 30
        and sum(isinstance(answer, list) for answer in said) > 9
        and len(said) < 270
    )


def test_a_quotation_mark_that_encloses_much_is_found(monkeypatch):
    text = 'a,b\n1,"' + "3,4\n" * 50_000 + '"\n5,6\n'
    blocks = [text[at : at + 4096] for at in range(0, len(text), 4096)]
    assert "has a cell in line 2 of more than 131072 characters" in checked(blocks, ["a", "b"])
    short = 'a,b\n1,"' + "3,4\n" * 20_000 + '"\n5,6\n'
    blocks = [short[at : at + 4096] for at in range(0, len(short), 4096)]
    assert (
        checked(blocks, ["a", "b"]) == checked(short, ["a", "b"])
        and "holds whole rows (lines 2 to 20002)" in checked(short, ["a", "b"])[0]
    )


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
    frame = table.frame(labels="c0", texts=["c1"])
    return plain(frame), table.found, table.notes, plain(table.cells(["c3", "c2"]))


@pytest.mark.parametrize("seed", slow_after(20, range(60)))
def test_tables_are_the_same_however_many_rows_are_read_together(tmp_path, monkeypatch, seed):
    path = tmp_path / "t.csv"
    path.write_text(some_table(np.random.default_rng(seed)))
    stated = Dialect(decimal="," if seed % 3 == 0 else None)
    at_once = read(path, stated)
    monkeypatch.setattr(content, "CONTENT_BLOCK_BYTES", 64)
    monkeypatch.setattr(tables, "CHUNK_CELLS", 20)
    some = read(path, stated)
    big = {
        name
        for name, cells in at_once[0].items()
        if any(cell and str(cell[1]).startswith(("18446744073709551615", "1.8446744073709552e+19")) for cell in cells)
    }
    for name in at_once[0]:  # what pandas makes of numbers beyond 64 bits depends on what stands before
        assert name in big or some[0][name] == at_once[0][name], name
    assert big or some[1:] == at_once[1:]


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
    monkeypatch.setattr(tables, "CHUNK_CELLS", 4)
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
    monkeypatch.setattr(content, "CONTENT_BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(tables, "CHUNK_CELLS", 1 << 14)
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
def test_a_file_that_changes_meanwhile_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    table = open_table(path)
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(TableError, match=r"t\.csv was changed while it was read"):
        table.frame()


class Stdin:
    closed = False

    def __init__(self, data):
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kept_in_memory", [10, 1 << 20])
def test_a_stream_is_read_as_often_as_a_file(monkeypatch, packed, kept_in_memory):
    text = b"a;b\n" + b"1,5;x\n2,5;y\n" * 400
    monkeypatch.setattr(sys, "stdin", Stdin(gzip.compress(text) if packed else text))
    monkeypatch.setattr(room, "READ_BYTES", kept_in_memory)
    table = open_table("-")
    assert table.frame()["a"].tolist() == [1.5, 2.5] * 400 and table.cells(["a", "b"]).iloc[-1].tolist() == ["2,5", "y"]


def test_a_stream_for_which_there_is_no_room(monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(content.tempfile, "SpooledTemporaryFile", lambda **how: Full())
    monkeypatch.setattr(sys, "stdin", Stdin(b"a,b\n1,2\n"))
    with pytest.raises(TableError, match="standard input does not fit in the folder of temporary files, .* TMPDIR"):
        open_table("-")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "shift-jis", "utf-7"]
)
def test_letters_that_blocks_cut_in_two(monkeypatch, tmp_path, encoding):
    monkeypatch.setattr(content, "CONTENT_BLOCK_BYTES", 3)
    letters = "größe" if encoding in ("cp1252", "utf-7") else "größe日本" if encoding != "shift-jis" else "日本"
    text = f"{letters},b\r\n" + f"{letters},2\r\n" * 30
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    stated = Dialect(encoding=encoding if encoding in ("shift-jis", "utf-7", "utf-16-le", "utf-32", "utf-16") else None)
    found = read_text(content.Content(tmp_path / "t.csv"), stated)
    assert found.content == text
    assert open_table(tmp_path / "t.csv", stated).frame()[letters].tolist() == [letters] * 30
