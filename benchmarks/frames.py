"""Tables as they come: what a frame adds to predicting one row, and what bins and categories of many rows take.

One row of 100 columns of one kind, as an array and as a table of pandas, polars and Arrow, by three rounds of REBEL, so
that nearly all of the time is the checking of the table. Targets: a frame adds at most a millisecond; 60 000 x 784
values are binned within two processor seconds, which is one second on two cores. Columns of a million cells are read,
and in the case of categories learnt, as `fit` does it. Processor seconds, the least of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import is_quick, parser, save, show

COLUMNS, FIT_ROWS, REPEATS = 100, 400, 30
WORDS = np.array(list("abcdef"))
BINNED, QUICK_BINNED = (60_000, 784), (2000, 20)
CELLS, QUICK_CELLS = 1_000_000, 5000


def kinds() -> dict[str, Callable[[np.random.Generator, int], Any]]:
    """Columns of pandas."""
    import pandas as pd

    return {
        "numbers": lambda rng, n: rng.normal(size=n),
        "nullable": lambda rng, n: pd.array(rng.integers(0, 9, n), dtype="Int64"),
        "text": lambda rng, n: pd.Series(WORDS[rng.integers(0, 6, n)], dtype="str"),
        "category": lambda rng, n: pd.Categorical(WORDS[rng.integers(0, 6, n)]),
        "dates": lambda rng, n: pd.Timestamp(0) + pd.to_timedelta(rng.integers(0, 999, n), "D"),
    }


def least(call: Callable[[], Any], repeats: int) -> float:
    """Processor seconds of a call, the least of five means."""
    call()
    means = []
    for _ in range(5):
        start = time.process_time()
        for _ in range(repeats):
            call()
        means.append((time.process_time() - start) / repeats)
    return min(means)


def one_row() -> list[dict[str, Any]]:
    """Milliseconds of predicting one row of each kind of table."""
    import pandas as pd
    import polars as pl

    from minrisk import REBELClassifier

    rng, found = np.random.default_rng(0), []
    y, repeats = np.arange(FIT_ROWS) % 3, 3 if is_quick() else REPEATS
    for kind, cells in kinds().items():
        X = pd.DataFrame({f"c{j}": cells(rng, FIT_ROWS) for j in range(COLUMNS)})
        model, row = REBELClassifier(n_estimators=3).fit(X, y), X.iloc[:1]
        tables = {"pandas": row, "polars": pl.from_pandas(row), "arrow": pl.from_pandas(row).to_arrow()}
        for library, table in tables.items():
            spent = least(lambda model=model, table=table: model.predict(table), repeats)
            found.append({"what": "one row of 100 columns", "kind": kind, "as": library, "ms": 1000 * spent})
    X = rng.normal(size=(FIT_ROWS, COLUMNS))
    model = REBELClassifier(n_estimators=3).fit(X, y)
    spent = least(lambda: model.predict(X[:1]), repeats)
    return [*found, {"what": "one row of 100 columns", "kind": "numbers", "as": "array", "ms": 1000 * spent}]


def many_rows() -> list[dict[str, Any]]:
    """Milliseconds of bins of an array, and of a column of categories."""
    import pandas as pd
    import polars as pl

    from minrisk.data.binning import fit_binner
    from minrisk.data.categories import Categories

    rng, found = np.random.default_rng(0), []
    shape, n = (QUICK_BINNED, QUICK_CELLS) if is_quick() else (BINNED, CELLS)
    pixels = np.where(rng.random(shape) < 0.2, rng.integers(0, 256, shape), 0)
    for kind, X in (("numbers", rng.normal(size=shape)), ("pixels", pixels)):
        spent = least(lambda X=X: fit_binner(X).transform(X), 1)
        found.append({"what": f"bins of {shape[0]} x {shape[1]}", "kind": kind, "as": "array", "ms": 1000 * spent})
    words, y = np.array([f"v{k}" for k in range(1000)])[rng.integers(0, 1000, n)], rng.integers(0, 3, n)

    def learnt(X: Any) -> Any:
        categories = Categories.of(X)
        return categories.learn(categories.coded(X)[0], y, np.ones(n), ["c"])

    text = pd.DataFrame({"c": pd.Series(words, dtype="str")})
    tables = {
        "pandas": text,
        "pandas category": text.astype("category"),
        "polars": pl.DataFrame({"c": words}),
        "arrow": pl.DataFrame({"c": words}).to_arrow(),
    }
    for library, X in tables.items():
        spent = least(lambda X=X: learnt(X), 1)
        found.append({"what": f"{n} cells of 1000 values", "kind": "text", "as": library, "ms": 1000 * spent})
    return found


def main() -> None:
    parser(__doc__, "few rows").parse_args()
    found = [*one_row(), *many_rows()]
    save("frames", found)
    show(found)


if __name__ == "__main__":
    main()
