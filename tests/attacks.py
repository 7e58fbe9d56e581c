"""Attacks from outside by kind and number, in a process of their own: ``python -m tests.attacks fuzzing 0 100``.

The process prints one line of JSON: how many cases came to what, and those that are wrong. A crash shows as the code
that it ends with, and ``last`` in the folder names the case that was under way.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.odd_inputs import Outcome

FINE = ("answer", "error")
ROOT = Path(__file__).parents[1]


def _odd_inputs(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.odd_inputs import outcome

    for number in range(first, last):
        yield outcome(number)


def _fuzzing(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.fuzzing import run

    return run(last - first, first, folder)


def _forged_files(first: int, last: int, folder: Path) -> Iterator[Outcome]:
    from tests.forged_outcomes import outcomes

    return outcomes(first, last, folder)


KINDS: dict[str, Callable[[int, int, Path], Iterator[Outcome]]] = {
    "odd inputs": _odd_inputs, "fuzzing": _fuzzing, "forged files": _forged_files,
}  # fmt: skip


def attack(kind: str, first: int, last: int, seconds: float) -> dict[str, Any]:
    """Cases from `first` up to `last` in a process of their own: numbers of outcomes, and what is wrong."""
    command = [sys.executable, "-m", "tests.attacks", kind, str(first), str(last)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"hang": 1, "wrong": [f"{kind} {first} to {last}: no end after {seconds:g} s"]}
    if done.returncode:
        return {"crash": 1, "wrong": [f"{kind} {first} to {last}: code {done.returncode}: {done.stderr[-2000:]}"]}
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
    sys.stdout.write("\n" + json.dumps({**counted, "wrong": wrong[:20]}) + "\n")


if __name__ == "__main__":
    main()
