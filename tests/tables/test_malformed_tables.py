"""Tables that something has happened to: the right result, or one clear sentence; never a traceback, never a hang.

`attack` makes them, runs the command line on each and says what came; the environment variable MINRISK_ATTACK_CASES
sets how many, and a benchmark may call it with more.
"""

import contextlib
import csv
import gzip
import io
import os
import re
import signal
import time
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from minrisk.tables.text import Dialect, read_text
from tests.helpers.command_line import invoke, run
from tests.helpers.odd_inputs import Slow, within

CASES, SECONDS = int(os.environ.get("MINRISK_ATTACK_CASES", "60")), 20
FEW = "--method rebel --n-estimators 2"
ROWS = 40
ODD = [
    "inf",
    "-inf",
    "1e999",
    "-",
    "+",
    "--5",
    "9" * 400,
    "1_000",
    "0x1f",
    "é",
    "\u202e",
    "\x1b[31m",
    "\x1a",
    "\x0c",
    "\x85",
    "\u2028",
    "=1+1",
    '"',
    '""',
    "'",
    "1.2.3",
    "1,5",
    "1.000",
    "12%",
    "NaN",
    "NA",
    "  ",
    "\t",
    "TRUE",
    "2020-01-01",
    "\ufeff",
    "\0",
    "x" * 200_000,
    "\U0001f600",
    "-0",
    "\ud7ff",
]


class Outcome(NamedTuple):
    """What a command made of a malformed table."""

    case: int
    mutations: str
    command: str
    code: int | None  # None: it did not end
    seconds: float
    fault: str  # "" where it was right


# -- what happens to tables ----------------------------------------------------------------------------------------------
def whole(rng):
    """A table that is in order, as text."""
    k = rng.integers(0, 3, ROWS)
    frame = pd.DataFrame(
        {
            "length": np.round(k + rng.normal(size=ROWS) / 5, 3),
            "count": rng.integers(0, 9, ROWS),
            "wörd": rng.choice(["red", "blue; dark", 'so "so"'], ROWS),
            "kind": np.array(["a", "b", "c"])[k],
        }
    )
    return frame.to_csv(
        index=False,
        sep=str(rng.choice([",", ",", ";", "\t"])),
        quoting=int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])),
    )


def on_lines(change):
    """A mutation of the list of lines as one of the text."""

    def mutate(text, rng):
        lines = text.splitlines(keepends=True)
        if lines:
            change(lines, rng)
        return "".join(lines)

    mutate.__name__ = change.__name__
    return mutate


def somewhere(lines, rng):
    return int(rng.integers(0, len(lines)))


@on_lines
def cut_line(lines, rng):
    at = somewhere(lines, rng)
    lines[at] = lines[at][: rng.integers(0, len(lines[at]) + 1)] + rng.choice(["", "\n"])


@on_lines
def double_delimiter(lines, rng):
    at = somewhere(lines, rng)
    lines[at] = re.sub(
        "[,;\t]", lambda mark: mark[0] * int(rng.integers(0, 4)), lines[at], count=int(rng.integers(1, 4))
    )


@on_lines
def drop_lines(lines, rng):
    at = somewhere(lines, rng)
    del lines[at : at + int(rng.integers(1, 4))]


@on_lines
def repeat_line(lines, rng):
    lines.insert(somewhere(lines, rng), lines[rng.choice([0, somewhere(lines, rng)])])


@on_lines
def blank_line(lines, rng):
    lines.insert(
        somewhere(lines, rng),
        rng.choice(["\n", "  \n", "\r\n", ",,,\n", ";;;\n", "\t\n", '""\n', "\r", "# a comment\n", "sep=;\n"]),
    )


@on_lines
def odd_cell(lines, rng):
    at = somewhere(lines, rng)
    cells = re.split("([,;\t\n])", lines[at])
    cells[rng.integers(0, len(cells))] = ODD[rng.integers(0, len(ODD))]
    lines[at] = "".join(cells)


@on_lines
def other_name(lines, rng):
    names = re.split("([,;\t\n])", lines[0])
    names[rng.integers(0, len(names))] = rng.choice(
        ["", "kind", "length", "Unnamed: 0", '"', " count", "\ufefflength", "a\nb"]
    )
    lines[0] = "".join(names)


@on_lines
def end_of_lines(lines, rng):
    ends = (
        rng.choice(["\n", "\r\n", "\r"], len(lines))
        if rng.random() < 0.3
        else [rng.choice(["\r\n", "\r"])] * len(lines)
    )
    lines[:] = [line.rstrip("\r\n") + end for line, end in zip(lines, ends, strict=True)]


def cut_text(text, rng):
    return text[: rng.integers(0, len(text) + 1)]


def stray_quote(text, rng):
    for _ in range(rng.integers(1, 4)):
        at = rng.integers(0, len(text) + 1)
        text = text[:at] + '"' + text[at:]
    return text


def swap_quotes(text, rng):
    return (
        text.replace('"', rng.choice(["'", "", "\u201c"]))
        if rng.random() < 0.5
        else text.replace(rng.choice(list("abd")), '"')
    )


def other_marks(text, rng):
    old, new = rng.choice([",", ";", "\t", ".", "|", " "], 2)
    return text.replace(old, new, rng.choice([-1, 1, 5]))


def random_character(text, rng):
    for _ in range(rng.integers(1, 6)):
        at = rng.integers(0, len(text) + 1)
        text = (
            text[:at]
            + chr(rng.choice([rng.integers(0, 256), rng.integers(0, 0xD7FF)]))
            + text[at + int(rng.integers(0, 2)) :]
        )
    return text


TEXTS = [
    cut_line,
    double_delimiter,
    drop_lines,
    repeat_line,
    blank_line,
    odd_cell,
    odd_cell,
    other_name,
    end_of_lines,
    cut_text,
    stray_quote,
    swap_quotes,
    other_marks,
    random_character,
]


def random_bytes(data, rng):
    data = bytearray(data)
    for at in rng.integers(0, len(data) + 1, rng.integers(1, 9)).tolist():
        data[at : at + int(rng.integers(0, 2))] = rng.bytes(int(rng.integers(0, 3)))
    return bytes(data)


def cut_bytes(data, rng):
    return data[: rng.integers(0, len(data) + 1)]


def same_bytes(data, rng):
    return data


def malformed(rng):
    """The name, the content and what was done to it."""
    text, done = whole(rng), []
    for _ in range(rng.integers(1, 3)):
        mutate = TEXTS[rng.integers(0, len(TEXTS))]
        text = mutate(text, rng)
        done.append(mutate.__name__)
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-32"])
    data, name = text.encode(encoding, "replace"), "t.csv"
    way = rng.choice(["csv", "csv", "csv", "csv", "gz", "parquet"])
    if way == "gz":
        data, name = gzip.compress(data, mtime=0), str(rng.choice(["t.csv.gz", "t.csv"]))
    elif way == "parquet":
        with contextlib.suppress(ValueError, pd.errors.ParserError):
            beside = io.BytesIO()
            pd.read_csv(io.StringIO(whole(rng)), sep=None, engine="python").to_parquet(beside)
            data, name, done = beside.getvalue(), "t.parquet", []
    hurt = [random_bytes, cut_bytes, same_bytes][rng.integers(0, 3) if not done else rng.choice([2, 2, 2, 0, 1])]
    return name, hurt(data, rng), " ".join([*done, str(encoding), str(way), hurt.__name__])


# -- what comes of them ----------------------------------------------------------------------------------------------------
def fault_of(result):
    """What is wrong with a result, be it an answer or an error; "" for nothing."""
    told = [line for line in result.stderr.splitlines() if not line.startswith("minrisk: note: ")]
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"an exception: {result.exception!r}"
    if result.exit_code == 0:
        return "an error in an answer" if told else ""
    if result.exit_code != 2 or result.stdout or len(told) != 1 or not told[0].startswith("minrisk: "):
        return "no single sentence"
    return "a traceback in a sentence" if "should not have happened" in told[0] else ""


def records(path):
    """The cells of the header and of each row of a text table, by Python's own reader."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    text, content = read_text(lambda: io.BytesIO(data), Dialect(), lambda text: "".join(text.blocks))
    limit = csv.field_size_limit(10**7)
    try:
        rows = list(csv.reader(io.StringIO(content, newline=""), delimiter=text.delimiter))
    finally:
        csv.field_size_limit(limit)
    return [cells for cells in rows if len(cells) > 1 or cells == [""] or (cells and cells[0].strip(" \t"))]


def fault_of_decisions(path, out, said):
    """What is wrong with the decisions about a text table: one for each row, and a word where rows lack cells."""
    header, *rows = records(path)
    decided = len(pd.read_csv(out, dtype=str, keep_default_na=False))
    while header and not header[-1].strip():
        header.pop()
    if decided != len(rows):
        return f"{decided} decisions for {len(rows)} rows"
    return (
        "no word of short rows"
        if min(map(len, rows)) < len(header) and "fewer cells than its header" not in said
        else ""
    )


def attack(cases, folder, seed=0):
    """Run fit, predict and evaluate on malformed tables.

    Parameters
    ----------
    cases : int
        How many tables.
    folder : Path
        Where files are put.
    seed : int, default=0

    Yields
    ------
    Outcome
        For each command on each table.
    """
    (folder / "whole.csv").write_text(whole(np.random.default_rng(7)))
    model = str(folder / "m.minrisk")
    run("fit", folder / "whole.csv", f"--target kind {FEW} --out {model}")
    for case in range(cases):
        name, content, done = malformed(np.random.default_rng([seed, case]))
        path = folder / name
        path.write_bytes(content)
        out = folder / "decided.csv"
        commands = {
            "fit": ("fit", path, f"--target kind {FEW} --out {folder}/n.minrisk"),
            "predict": ("predict", model, path, f"--out {out}"),
            "evaluate": ("evaluate", model, path),
        }
        for command, arguments in commands.items():
            start = time.perf_counter()
            try:
                with within(SECONDS, SECONDS):
                    result = invoke(*arguments)
            except Slow:
                yield Outcome(case, done, command, None, SECONDS, "no end")
                continue
            fault = fault_of(result)
            if command == "predict" and result.exit_code == 0 and not fault and name != "t.parquet":
                fault = fault_of_decisions(path, out, result.stderr)
            yield Outcome(case, done, command, result.exit_code, time.perf_counter() - start, fault)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms here")
def test_malformed_tables_get_an_answer_or_one_sentence(tmp_path):
    outcomes = list(attack(CASES, tmp_path))
    assert [outcome for outcome in outcomes if outcome.fault] == []
    codes = [outcome.code for outcome in outcomes]
    assert codes.count(2) > CASES / 10 and codes.count(0) > CASES / 10  # both kinds are there
