"""Attacks from outside: forged files, a fuzzer's inputs, malformed tables, sparse matrices, sources
that change, odd arguments, and kills.

Every case gives the right kind of answer or one clear error. The table counts what else came: a crash of the process,
a hang (more than 5 s of a processor), a warning or an error that is not minrisk's own, a wrong answer. The cases are
those of the tests, more of them: `attack_cases.py` has them by number, so that any can be looked at again.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.attack_cases import FINE, KINDS, attack
from benchmarks.common import parser, save, show

CASES = {  # by kind, and how many of them share a process
    "forged files": (24_000, 500),
    "fuzzing": (95_000, 5_000),
    "malformed tables": (500, 50),
    "sparse matrices": (20_000, 5_000),
    "changing sources": (2_000, 500),
    "odd inputs": (4_500, 500),
    "kills": (70, 10),
    "threads and processes": (97, 97),
}
QUICK = 2
SECONDS = 900  # of a process with its share of the cases


def parts(kind: str, quick: bool) -> list[tuple[int, int]]:
    """First case and end of each process."""
    cases, together = CASES[kind]
    if quick:
        return [(0, 1 if kind == "kills" else QUICK)]
    return [(first, min(first + together, cases)) for first in range(0, cases, together)]


def row_of(kind: str, found: Sequence[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Counts of all processes of a kind."""
    counted: Counter[str] = Counter()
    for part in found:
        counted.update({what: number for what, number in part.items() if what != "faults"})
    crashes, hangs = counted.pop("crash", 0), counted.pop("hang", 0)
    answers, errors = (counted.pop(what, 0) for what in FINE)
    others = sum(counted.values())
    cases = answers + errors + others + crashes + hangs
    wrong = [told for part in found for told in part["faults"]]
    return {
        "kind": kind,
        "cases": cases,
        "answers": answers,
        "clear_errors": errors,
        "crashes": crashes,
        "hangs": hangs,
        "others": others,
        "seconds": seconds,
        "first_wrong": wrong[0][:300] if wrong else "",
    }


def main() -> None:
    options = parser(__doc__, "a few cases of each kind")
    options.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    arguments = options.parse_args()
    rows = []
    for kind in arguments.kinds:
        start = time.perf_counter()
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(lambda part: attack(kind, *part, SECONDS), parts(kind, arguments.quick)))  # noqa: B023
        rows.append(row_of(kind, found, time.perf_counter() - start))
        save("attack", rows)
    show(rows, ["kind", "cases", "answers", "clear_errors", "crashes", "hangs", "others", "seconds", "first_wrong"])
    if failed := [row["kind"] for row in rows if row["crashes"] or row["hangs"] or row["others"]]:
        sys.exit(f"Attacks that did not end in an answer or a clear error: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
