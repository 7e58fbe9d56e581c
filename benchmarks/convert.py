"""Give files of results in the form of before the present one; goes when no branch has such files any more.

python -c "from benchmarks.convert import convert; convert()"
"""

from __future__ import annotations

import csv
from collections.abc import Sequence

from PIL import Image

from benchmarks.common import RESULTS, RUNS, SETTINGS, _append, in_few_colours, keep, lines_of, runs
from benchmarks.compare.run import by_fit, columns


def convert() -> None:
    """Give files of results in the form of before, with the settings in every line, the present form."""
    for path in RESULTS.glob("*.png"):
        picture = Image.open(path)
        if picture.mode != "P":
            in_few_colours(picture).save(path, optimize=True)
    for path in sorted(RESULTS.rglob("*.csv")):
        rows = [{**dict.fromkeys(SETTINGS, ""), **row} for row in lines_of(path)]
        with open(path, encoding="utf-8") as file:
            names = next(csv.reader(file))
        if path.name == RUNS or "run" in names or "commit" not in names:
            continue
        header: Sequence[str] = names
        if path.parent.name == "compare":
            header = columns(path.stem.rpartition(".")[2])
            rows = by_fit({k: v for k, v in row.items() if k not in ("predict_s", "K")} for row in rows)
        path.unlink()
        keep(str(path.relative_to(RESULTS).with_suffix("")), *rows, columns=header)
        print(path)
    for path in RESULTS.rglob(RUNS):  # leave those that some line names
        named = set()
        for other in path.parent.glob("*.csv"):
            with open(other, newline="", encoding="utf-8") as file:
                named |= {row.get("run") for row in csv.DictReader(file)} if other != path else set()
        left = [{"run": key, **run} for key, run in runs(path.parent).items() if key in named]
        path.unlink()
        _append(path, ["run", *SETTINGS], left)
