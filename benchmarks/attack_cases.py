"""Attacks from outside by kind and number, in a process of their own.

The process prints one line of JSON: how many cases came to what, and those that are wrong. A crash shows as the code
that it ends with, and ``last`` in the folder names the case that was under way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks.common import ROOT
from tests.helpers.odd_inputs import Outcome

FINE = ("answer", "error")
ALL_WAYS = 97  # of threads and processes
CHILD = "from benchmarks.attack_cases import main; main()"


def _odd_inputs(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.helpers.odd_inputs import outcome

    for number in range(first, last):
        yield outcome(number)


def _fuzzing(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.helpers.fuzzing import run

    return run(last - first, first, folder)


def _forged_files(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.helpers.forged_outcomes import outcomes

    return outcomes(first, last, folder)


def _malformed_tables(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.tables.test_malformed_tables import attack as commands

    for found in commands(last - first, folder, seed=first):
        told = f"{found.command} on table {found.case}: {found.mutations}"
        kind = "hang" if found.code is None else "wrong" if found.fault else "error" if found.code else "answer"
        yield Outcome(kind, told, found.fault)


def _sparse_matrices(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.data.test_sparse_structure import attack as matrices

    return matrices(first, last)


def _changing_sources(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.helpers.changing_sources import outcomes

    return outcomes(first, last)


def _kills(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.helpers.kills import kill_at_random

    for kill in kill_at_random(folder, last - first, seed=first):
        whole = kill.holds in ("old", "new")
        yield Outcome("answer" if whole else "wrong", f"{kill.signal}: the model is {kill.holds}", kill.said)


def _ways(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    """Threads and processes are tests of their own: all of them, in all ways, if so many are asked for."""
    report = folder / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/kernels/test_threads_and_processes.py",
        f"--junitxml={report}",
    ]
    more = {"MINRISK_ATTACK_CASES": str(last)} if last >= ALL_WAYS else {}
    command += [] if more else ["-k", "test_programs and streams"]
    subprocess.run(command, cwd=ROOT, capture_output=True, env={**os.environ, **more})
    for case in ElementTree.parse(report).iter("testcase"):
        wrong = [part.get("message", "") for part in case if part.tag in ("failure", "error")]
        if not any(part.tag == "skipped" for part in case):
            yield Outcome("wrong" if wrong else "answer", case.get("name", ""), " ".join(wrong))


KINDS: dict[str, Callable[[int, int, Path], Iterator[Outcome]]] = {
    "odd inputs": _odd_inputs,
    "fuzzing": _fuzzing,
    "forged files": _forged_files,
    "malformed tables": _malformed_tables,
    "sparse matrices": _sparse_matrices,
    "changing sources": _changing_sources,
    "kills": _kills,
    "threads and processes": _ways,
}


def attack(kind: str, first: int, last: int, seconds: float) -> dict[str, Any]:
    """Cases from `first` up to `last` in a process of their own: numbers of outcomes, and what is wrong."""
    command = [sys.executable, "-c", CHILD, kind, str(first), str(last)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"hang": 1, "faults": [f"{kind} {first} to {last}: no end after {seconds:g} s"]}
    if done.returncode:
        return {"crash": 1, "faults": [f"{kind} {first} to {last}: code {done.returncode}: {done.stderr[-2000:]}"]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    kind, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    counted: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for found in KINDS[kind](first, last, Path(folder)):
            counted[found.kind] += 1
            if found.kind not in FINE:
                wrong.append(f"{found.kind}: {found.case}: {found.detail}")
    sys.stdout.write("\n" + json.dumps({**counted, "faults": wrong[:20]}) + "\n")
