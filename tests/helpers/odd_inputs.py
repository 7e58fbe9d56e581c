"""Odd inputs by number: what the k-th gives to which method, and what came of it."""

from __future__ import annotations

import array
import datetime
import decimal
import fractions
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

import minrisk
from minrisk import metrics
from minrisk.costs import CostMatrix

SECONDS, WAIT = 5, 60  # of processor time, and of waiting, above which a case hangs
CLEAR = (ValueError, TypeError, OSError)
NOT_OURS = ("float() argument", "unhashable", "ufunc", "not supported between", "at least one array", "iterable")
N, D = 24, 3
PACKAGE = str(Path(minrisk.__file__).parent)


class Outcome(NamedTuple):
    """What came of a case."""

    kind: str  # "answer", "error", or what is wrong: "warning", "unclear", "wrong", "hang"
    case: str
    detail: str = ""


class Slow(BaseException):
    """Raised by the alarm."""


# -- what is odd ----------------------------------------------------------------------------------------------------
class Likes(np.ndarray):
    """A subclass of arrays."""


class Stranger:
    """An object of no kind."""

    def __repr__(self) -> str:
        return "Stranger()"


def plain_X(rng: np.random.Generator) -> np.ndarray:
    return np.round(rng.normal(size=(N, D)), 3)


def plain_y() -> np.ndarray:
    return np.arange(N) % 3


def _with(X: np.ndarray, value: Any, dtype: Any = float) -> np.ndarray:
    X = X.astype(dtype)
    X[N // 2, 1] = value
    return X


SHAPED: dict[str, Callable[[np.ndarray], Any]] = {
    "as it is": lambda X: X,
    "lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "one dimension": lambda X: X.ravel(),
    "three dimensions": lambda X: X[None],
    "a number": lambda X: 3.0,
    "0-d": lambda X: np.array(3.0),
    "None": lambda X: None,
    "text": lambda X: "table.csv",
    "bytes": lambda X: b"table",
    "dict": lambda X: {"a": X[:, 0], "b": X[:, 1]},
    "set": lambda X: set(X.ravel().tolist()),
    "generator": lambda X: (row for row in X),
    "range": lambda X: range(len(X)),
    "stranger": lambda X: Stranger(),
    "ragged": lambda X: [[1.0, 2.0], [3.0]] * (N // 2),
    "empty list": lambda X: [],
    "nested empties": lambda X: [[]] * N,
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "one row": lambda X: X[:1],
    "one row short": lambda X: X[:-1],
    "one column": lambda X: X[:, :1],
    "csr": sp.csr_matrix,
    "coo array": sp.coo_array,
    "dok": lambda X: sp.dok_array(X),
    "masked": lambda X: np.ma.masked_less(X, 0),
    "matrix": np.asmatrix,
    "subclass": lambda X: X.view(Likes),
    "Fortran": np.asfortranarray,
    "read-only": lambda X: (X.setflags(write=False), X)[1],
    "reversed view": lambda X: X[::-1, ::-1],
    "strided view": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "one value for all": lambda X: np.broadcast_to(np.float64(1.5), X.shape),
    "rows repeated by stride 0": lambda X: np.broadcast_to(X[0], X.shape),
    "big endian": lambda X: X.astype(">f8"),
    "long double": lambda X: X.astype(np.longdouble),
    "float16": lambda X: X.astype(np.float16),
    "complex": lambda X: X + 1j,
    "bool": lambda X: X > 0,
    "int8": lambda X: (10 * X).astype(np.int8),
    "uint64 at the end": lambda X: np.full(X.shape, 2**64 - 1, dtype=np.uint64),
    "objects": lambda X: X.astype(object),
    "objects with None": lambda X: _with(X, None, object),
    "objects with text": lambda X: _with(X, "x", object),
    "objects with text of a number": lambda X: _with(X, "1.5", object),
    "objects with a list": lambda X: _with(X, [1], object),
    "objects with a dict": lambda X: _with(X, {"a": 1}, object),
    "objects with NA": lambda X: _with(X, pd.NA, object),
    "objects with NaT": lambda X: _with(X, pd.NaT, object),
    "objects with a stranger": lambda X: _with(X, Stranger(), object),
    "Decimal": lambda X: np.array([[decimal.Decimal(str(v)) for v in row] for row in X.tolist()], dtype=object),
    "Decimal sNaN": lambda X: _with(X, decimal.Decimal("sNaN"), object),
    "Fraction": lambda X: np.array([[fractions.Fraction(str(v)) for v in row] for row in X.tolist()], dtype=object),
    "integers above 64 bits": lambda X: _with(X, 10**30, object),
    "an integer above any float": lambda X: _with(X, 10**400, object),
    "texts": lambda X: X.astype(str),
    "fixed bytes": lambda X: X.astype("S"),
    "dates": lambda X: np.full(X.shape, np.datetime64("2020-01-01")),
    "durations": lambda X: np.full(X.shape, np.timedelta64(1, "s")),
    "records": lambda X: np.zeros(N, dtype=[("a", float), ("b", int)]),
    "void": lambda X: np.zeros(X.shape, dtype="V8"),
    "array.array": lambda X: array.array("d", X.ravel()),
    "memoryview": lambda X: memoryview(np.ascontiguousarray(X)),
    "NaN": lambda X: _with(X, np.nan),
    "all NaN": lambda X: np.full(X.shape, np.nan),
    "a column of NaN": lambda X: np.where(np.arange(X.shape[-1]) == 1, np.nan, X) if X.ndim == 2 else X * np.nan,
    "inf": lambda X: _with(X, np.inf),
    "-inf": lambda X: _with(X, -np.inf),
    "float32 inf": lambda X: _with(X, np.inf, np.float32),
    "largest": lambda X: _with(X, np.finfo(float).max),
    "times 1e308": lambda X: X * 1e307,
    "subnormal": lambda X: X * 5e-324,
    "times 1e-300": lambda X: X * 1e-300,
    "-0.0": lambda X: _with(X, -0.0),
    "constant": lambda X: np.ones_like(X),
    "frame": pd.DataFrame,
    "frame with names": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "frame, names twice": lambda X: pd.DataFrame(X, columns=["a", "a", "c"]),
    "frame, mixed names": lambda X: pd.DataFrame(X, columns=["a", 1, (2, 3)]),
    "frame, empty name": lambda X: pd.DataFrame(X, columns=["", "b", "c"]),
    "frame, None as a name": lambda X: pd.DataFrame(X, columns=[None, "b", "c"]),
    "frame, names of two levels": lambda X: pd.DataFrame(
        X, columns=pd.MultiIndex.from_tuples([(0, 1), (0, 2), (1, 1)])
    ),
    "frame of an odd index": lambda X: pd.DataFrame(X, index=[0] * len(X)),
    "frame without rows": lambda X: pd.DataFrame(X[:0]),
    "frame without columns": lambda X: pd.DataFrame(index=range(N)),
    "frame with inf": lambda X: pd.DataFrame(_with(X, np.inf), columns=["a", "b", "c"]),
    "frame of objects": lambda X: pd.DataFrame(X).astype(object),
    "frame of texts": lambda X: pd.DataFrame(X).astype(str),
    "frame, one text": lambda X: pd.DataFrame(_with(X, "x", object)),
    "frame, lists": lambda X: pd.DataFrame({"a": [[1, 2]] * N, "b": X[:, 1]}),
    "frame, categories": lambda X: pd.DataFrame({"a": pd.Categorical(np.where(X[:, 0] > 0, "u", "v")), "b": X[:, 1]}),
    "frame, categories of dates": lambda X: pd.DataFrame(
        {"a": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * (N // 2))), "b": X[:, 1]}
    ),
    "frame, categories of tuples": lambda X: pd.DataFrame(
        {"a": pd.Categorical(pd.Index([(1, 2), (3, 4)] * (N // 2), tupleize_cols=False)), "b": X[:, 1]}
    ),
    "frame, one category a row": lambda X: pd.DataFrame({"a": pd.Categorical([f"v{k}" for k in range(N)])}),
    "frame, categories without values": lambda X: pd.DataFrame({"a": pd.Categorical([None] * N), "b": X[:, 1]}),
    "frame, dates": lambda X: pd.DataFrame({"a": pd.date_range("2020", periods=N), "b": X[:, 1]}),
    "frame, dates with zone": lambda X: pd.DataFrame({"a": pd.date_range("2020", periods=N, tz="UTC")}),
    "frame, durations": lambda X: pd.DataFrame({"a": pd.to_timedelta(range(N), unit="s"), "b": X[:, 1]}),
    "frame, periods": lambda X: pd.DataFrame({"a": pd.period_range("2020", periods=N), "b": X[:, 1]}),
    "frame, intervals": lambda X: pd.DataFrame({"a": pd.interval_range(0, N, periods=N), "b": X[:, 1]}),
    "frame, Int64 with NA": lambda X: pd.DataFrame({"a": pd.array([1, None] * (N // 2), dtype="Int64"), "b": X[:, 1]}),
    "frame, boolean with NA": lambda X: pd.DataFrame({"a": pd.array([True, None] * (N // 2), dtype="boolean")}),
    "frame, string dtype": lambda X: pd.DataFrame({"a": pd.array(["u", None] * (N // 2), dtype="string")}),
    "frame, sparse": lambda X: pd.DataFrame(X).astype(pd.SparseDtype(float, 0.0)),
    "frame, complex": lambda X: pd.DataFrame(X + 1j),
    "frame, pyarrow floats": lambda X: pd.DataFrame(X).astype("float64[pyarrow]"),
    "series": lambda X: pd.Series(X.ravel()[:N]),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"], orient="row"),
    "polars with nulls": lambda X: pl.DataFrame({"a": [1.0, None] * (N // 2), "b": X[:, 1]}),
    "polars lists": lambda X: pl.DataFrame({"a": [[1, 2]] * N, "b": X[:, 1]}),
    "polars structs": lambda X: pl.DataFrame({"a": [{"u": 1}] * N, "b": X[:, 1]}),
    "polars nulls only": lambda X: pl.DataFrame({"a": [None] * N, "b": X[:, 1]}),
    "polars lazy": lambda X: pl.LazyFrame({"a": X[:, 0]}),
    "polars decimals": lambda X: pl.DataFrame({"a": [decimal.Decimal("1.5")] * N, "b": X[:, 1]}),
    "polars objects": lambda X: pl.DataFrame({"a": pl.Series([Stranger()] * N, dtype=pl.Object), "b": X[:, 1]}),
    "arrow": lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}),
    "arrow lists": lambda X: pa.table({"a": [[1, 2]] * N, "b": X[:, 1]}),
    "arrow structs": lambda X: pa.table({"a": [{"u": 1}] * N, "b": X[:, 1]}),
    "arrow, a name twice": lambda X: pa.Table.from_arrays([pa.array(X[:, 0]), pa.array(X[:, 1])], names=["a", "a"]),
    "arrow, nulls only": lambda X: pa.table({"a": pa.nulls(N), "b": X[:, 1]}),
    "arrow, bytes": lambda X: pa.table({"a": [b"x"] * N, "b": X[:, 1]}),
    "arrow, dictionary": lambda X: pa.table({"a": pa.array(["u", "v"] * (N // 2)).dictionary_encode(), "b": X[:, 1]}),
    "arrow record batch": lambda X: pa.record_batch({"a": X[:, 0], "b": X[:, 1]}),
}


LABELLED: dict[str, Callable[[np.ndarray], Any]] = {
    "as they are": lambda y: y,
    "list": lambda y: y.tolist(),
    "column": lambda y: y[:, None],
    "two columns": lambda y: np.stack([y, y], axis=1),
    "indicator": lambda y: np.eye(3, dtype=int)[y],
    "None": lambda y: None,
    "a number": lambda y: 1,
    "text": lambda y: "abc",
    "range": lambda y: range(len(y)),
    "generator": lambda y: (label for label in y.tolist()),
    "one class": lambda y: np.zeros(len(y), dtype=int),
    "one short": lambda y: y[:-1],
    "none": lambda y: y[:0],
    "fractions": lambda y: y + 0.5,
    "whole floats": lambda y: y.astype(float),
    "float16": lambda y: y.astype(np.float16),
    "NaN": lambda y: np.where(y == 2, np.nan, y),
    "inf": lambda y: np.where(y == 2, np.inf, y),
    "bool": lambda y: y > 0,
    "int8": lambda y: y.astype(np.int8),
    "uint64 at the end": lambda y: y.astype(np.uint64) + np.uint64(2**64 - 3),
    "int64 at the end": lambda y: y + np.iinfo(np.int64).min,
    "integers above 64 bits": lambda y: np.array([int(label) + 10**30 for label in y], dtype=object),
    "texts": lambda y: np.array(["a", "b", "c"])[y],
    "texts with blanks": lambda y: np.array(["a", "a ", " a"])[y],
    "empty text": lambda y: np.array(["", "b", "c"])[y],
    "texts with NUL": lambda y: np.array(["a", "a\0", "a\0b"], dtype=object)[y],
    "unpaired surrogate": lambda y: np.array(["a", "\ud800", "c"], dtype=object)[y],
    "escape sequences": lambda y: np.array(["a", "\x1b[31mb", "c\n"])[y],
    "'refer' as a class": lambda y: np.array(["a", "refer", "c"])[y],
    "bytes": lambda y: np.array([b"a", b"b", b"c"])[y],
    "objects": lambda y: y.astype(object),
    "mixed": lambda y: np.array([0, "b", 2], dtype=object)[y],
    "1 and True": lambda y: np.array([1, True, "c"], dtype=object)[y],
    "1 and 1.0": lambda y: np.array([1, 1.0, 2], dtype=object)[y],
    "None among": lambda y: np.array(["a", None, "c"], dtype=object)[y],
    "NA among": lambda y: np.array(["a", pd.NA, "c"], dtype=object)[y],
    "dates": lambda y: np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="datetime64[D]")[y],
    "durations": lambda y: y.astype("timedelta64[s]"),
    "datetime objects": lambda y: np.array([datetime.date(2020 + k, 1, 1) for k in range(3)], dtype=object)[y],
    "Decimal": lambda y: np.array([decimal.Decimal(k) for k in range(3)], dtype=object)[y],
    "complex": lambda y: y + 1j,
    "tuples": lambda y: _objects([(int(label), 0) for label in y]),
    "lists": lambda y: [[int(label)] for label in y],
    "ragged lists": lambda y: [[0] * (1 + int(label)) for label in y],
    "sets": lambda y: _objects([{int(label)} for label in y]),
    "strangers": lambda y: _objects([Stranger() for _ in y]),
    "all different": lambda y: np.arange(len(y)),
    "records": lambda y: np.zeros(len(y), dtype=[("a", int)]),
    "masked": lambda y: np.ma.masked_equal(y, 2),
    "series": lambda y: pd.Series(y),
    "series of an odd index": lambda y: pd.Series(y, index=[7] * len(y)),
    "Int64 with NA": lambda y: pd.Series(pd.array([None, 1, 2] * (len(y) // 3), dtype="Int64")),
    "string dtype": lambda y: pd.Series(np.array(["a", "b", "c"])[y], dtype="string"),
    "categorical": lambda y: pd.Series(pd.Categorical(np.array(["a", "b", "c"])[y], categories=["c", "b", "a", "z"])),
    "categorical with nothing": lambda y: pd.Series(pd.Categorical([None, "b", "c"] * (len(y) // 3))),
    "frame": lambda y: pd.DataFrame({"y": y}),
    "polars": lambda y: pl.Series("y", y),
    "polars texts": lambda y: pl.Series("y", np.array(["a", "b", "c"])[y]),
    "arrow": lambda y: pa.array(y),
    "chunked": lambda y: pa.chunked_array([y]),
    "sparse": lambda y: sp.csr_matrix(y),
}


def _objects(values: list[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


WEIGHTS: dict[str, Callable[[np.random.Generator], Any]] = {
    "None": lambda rng: None,
    "ones": lambda rng: np.ones(N),
    "random": lambda rng: rng.random(N),
    "ints": lambda rng: rng.integers(0, 3, N),
    "list": lambda rng: [1.0] * N,
    "a number": lambda rng: 2.0,
    "short": lambda rng: np.ones(N - 1),
    "column": lambda rng: np.ones((N, 1)),
    "zeros": lambda rng: np.zeros(N),
    "negative": lambda rng: -np.ones(N),
    "one negative": lambda rng: np.where(np.arange(N) == 3, -1.0, 1.0),
    "NaN": lambda rng: np.full(N, np.nan),
    "inf": lambda rng: np.where(np.arange(N) == 3, np.inf, 1.0),
    "text": lambda rng: "balanced",
    "texts": lambda rng: ["1"] * N,
    "bool": lambda rng: rng.random(N) > 0.3,
    "complex": lambda rng: np.ones(N) + 1j,
    "None among": lambda rng: np.array([None] + [1.0] * (N - 1), dtype=object),
    "1e300": lambda rng: np.full(N, 1e300),
    "largest": lambda rng: np.full(N, np.finfo(float).max),
    "subnormal": lambda rng: np.full(N, 5e-324),
    "from 1e-300 to 1e300": lambda rng: 10.0 ** np.linspace(-300, 300, N),
    "from 1e-200 to 1e200": lambda rng: 10.0 ** rng.uniform(-200, 200, N),
    "one row": lambda rng: np.eye(N)[3],
    "series": lambda rng: pd.Series(rng.random(N), index=[5] * N),
    "dict": lambda rng: {0: 1.0, 1: 2.0},
    "dates": lambda rng: np.full(N, np.datetime64("2020-01-01")),
}


COSTS: dict[str, Callable[[np.random.Generator], Any]] = {
    "None": lambda rng: None,
    "matrix": lambda rng: 1 - np.eye(3),
    "lists": lambda rng: (1 - np.eye(3)).tolist(),
    "CostMatrix": lambda rng: CostMatrix(1 - np.eye(3)),
    "with refer": lambda rng: np.hstack([1 - np.eye(3), np.full((3, 1), 0.3)]),
    "two classes": lambda rng: 1 - np.eye(2),
    "four classes": lambda rng: 1 - np.eye(4),
    "one row": lambda rng: np.ones((1, 3)),
    "one column": lambda rng: np.ones((3, 1)),
    "no rows": lambda rng: np.ones((0, 3)),
    "one dimension": lambda rng: np.ones(3),
    "a number": lambda rng: 2.0,
    "four dimensions": lambda rng: np.ones((3, 3, 3, 3)),
    "zeros": lambda rng: np.zeros((3, 3)),
    "ones": lambda rng: np.ones((3, 3)),
    "one row of zeros": lambda rng: np.array([[0, 1, 2], [0, 0, 0], [1, 1, 0.0]]),
    "negative": lambda rng: np.eye(3) - 1,
    "NaN": lambda rng: np.where(np.eye(3), np.nan, 1),
    "inf": lambda rng: np.where(np.eye(3), 0, np.inf),
    "largest": lambda rng: np.where(np.eye(3), 0, np.finfo(float).max),
    "subnormal": lambda rng: np.where(np.eye(3), 0, 5e-324),
    "from 1e-300 to 1e300": lambda rng: np.where(np.eye(3), 0, 10.0 ** rng.uniform(-300, 300, (3, 3))),
    "ratio of 1e8": lambda rng: np.array([[0, 1, 1], [1e8, 0, 1], [1e8, 1, 0.0]]),
    "wrong diagonal": lambda rng: np.eye(3),
    "fixed part": lambda rng: 300 + rng.uniform(0, 10, (3, 3)),
    "texts": lambda rng: [["0", "1", "1"]] * 3,
    "words": lambda rng: [["a", "b", "c"]] * 3,
    "objects": lambda rng: np.array([[0, None, 1]] * 3, dtype=object),
    "Decimal": lambda rng: np.array([[decimal.Decimal(int(k != j)) for k in range(3)] for j in range(3)], dtype=object),
    "complex": lambda rng: 1j * np.ones((3, 3)),
    "ragged": lambda rng: [[0, 1], [1, 0, 1], [1]],
    "dict of dicts": lambda rng: {0: {1: 2, 2: 1}, 1: {0: 1}, 2: {0: 3}},
    "dict of other classes": lambda rng: {"x": {"y": 1}, "y": {"x": 1}},
    "empty dict": lambda rng: {},
    "dict of numbers": lambda rng: {0: 1, 1: 2, 2: 3},
    "dict of lists": lambda rng: {0: [0, 1, 1]},
    "frame": lambda rng: pd.DataFrame(1 - np.eye(3)),
    "frame, a class twice": lambda rng: pd.DataFrame(1 - np.eye(3), index=[0, 1, 1], columns=[0, 1, 1]),
    "frame, texts": lambda rng: pd.DataFrame(1 - np.eye(3), index=list("abc"), columns=list("abc")),
    "series": lambda rng: pd.Series([1, 2, 3]),
    "path": lambda rng: "no/such/file.csv",
    "Path": lambda rng: Path("no/such/file.csv"),
    "directory": lambda rng: Path("/"),
    "empty path": lambda rng: "",
    "NUL in a path": lambda rng: "a\0b.csv",
    "bytes": lambda rng: b"costs.csv",
    "stranger": lambda rng: Stranger(),
    "function": lambda rng: len,
    "rows": lambda rng: rng.random((N, 3)),
    "rows with refer": lambda rng: rng.random((N, 4)),
    "rows short": lambda rng: rng.random((N - 1, 3)),
    "rows of zeros": lambda rng: np.zeros((N, 3)),
    "rows of sevens": lambda rng: np.full((N, 3), 7.0),
    "rows with NaN": lambda rng: np.where(rng.random((N, 3)) < 0.1, np.nan, 1.0),
    "rows, one 1e308": lambda rng: np.where(np.arange(3 * N).reshape(N, 3) == 4, 1e308, rng.random((N, 3))),
    "matrices": lambda rng: rng.random((N, 3, 3)),
    "matrices short": lambda rng: rng.random((N - 1, 3, 3)),
    "sparse": lambda rng: sp.csr_matrix(1 - np.eye(3)),
    "dates": lambda rng: np.full((3, 3), np.datetime64("2020-01-01")),
}


SETTINGS: tuple[Any, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    3,
    2**31 - 1,
    2**63,
    10**400,
    0.0,
    0.5,
    1.0,
    1.5,
    -0.5,
    1e-300,
    1e300,
    np.nan,
    np.inf,
    "",
    "auto",
    "tree",
    "linear",
    "exponential",
    "nonsense",
    b"tree",
    [],
    [1],
    (),
    {},
    np.int64(3),
    np.float32(0.5),
    np.bool_(True),
    np.array([1, 2]),
    np.array(3),
    decimal.Decimal("0.5"),
    fractions.Fraction(1, 2),
    1j,
    Stranger(),
    len,
    np.random.default_rng(0),
    np.random.RandomState(0),
    pd.NA,
)
FEW_ROUNDS = {"n_estimators": 3, "n_jobs": 1}
METHODS = ("predict", "predict_proba", "decision_function", "score")
METRICS = ("expected_cost", "best_constant_cost", "regret", "cost_confusion_matrix")


# -- cases -----------------------------------------------------------------------------------------------------------
def _pick(rng: np.random.Generator, odd: dict[str, Any]) -> tuple[str, Any]:
    name = list(odd)[rng.integers(len(odd))]
    return name, odd[name]


def case(number: int) -> tuple[str, Callable[[], None]]:
    """What the case is, and a function that does it, checks the answer, and raises what minrisk raises."""
    rng = np.random.default_rng([number, 7])
    what = ("X", "y", "sample_weight", "cost", "parameter", "new rows", "metric", "several")[number % 8]
    cls = minrisk.ALGORITHMS[rng.integers(len(minrisk.ALGORITHMS))]
    X, y = plain_X(rng), plain_y()
    names = {"X": "as it is", "y": "as they are", "sample_weight": "None", "cost": "None"}
    makers: dict[str, Any] = {"X": lambda: X, "y": lambda: y, "sample_weight": lambda: None, "cost": lambda: None}
    odd = {"X": SHAPED, "y": LABELLED, "sample_weight": WEIGHTS, "cost": COSTS}
    for part in {"several": list(odd)}.get(what, [what]):
        if part in odd:
            name, make = _pick(rng, odd[part])
            names[part] = name
            makers[part] = {"X": lambda make=make: make(X), "y": lambda make=make: make(y)}.get(
                part, lambda make=make: make(rng)
            )
    told = ", ".join(
        f"{part}: {name}" for part, name in names.items() if name not in ("as it is", "as they are", "None")
    )
    if what == "metric":
        return _metric_case(rng)
    if what == "parameter":
        defaults = cls().get_params()
        parameter = sorted(defaults)[rng.integers(len(defaults))]
        value = SETTINGS[rng.integers(len(SETTINGS))]
        if parameter == "n_estimators" and isinstance(value, int) and value > 100:
            value = 100  # rounds that were asked for are made
        estimator = cls(**{**FEW_ROUNDS, parameter: value})
        told = f"{parameter}={value!r:.30}"
    else:
        estimator = cls(**FEW_ROUNDS)
    if what == "new rows":
        name, make = _pick(rng, SHAPED)
        method = METHODS[rng.integers(len(METHODS))]
        return f"{cls.__name__}.{method}({name})", lambda: _new_rows(estimator, X, y, make(X), method)
    as_parameter = what != "parameter" and rng.random() < 0.5
    return f"{cls.__name__}.fit({told})", lambda: _fit(estimator, as_parameter, {k: m() for k, m in makers.items()})


def _fit(estimator: Any, as_parameter: bool, given: dict[str, Any]) -> None:
    cost = given["cost"]
    if as_parameter:
        estimator.set_params(cost=cost)
        estimator.fit(given["X"], given["y"], sample_weight=given["sample_weight"])
    else:
        estimator.fit(given["X"], given["y"], sample_weight=given["sample_weight"], cost=cost)
    check_answers(estimator, given["X"])


def _new_rows(estimator: Any, X: np.ndarray, y: np.ndarray, new: Any, method: str) -> None:
    estimator.fit(X, y)
    if not hasattr(estimator, method):  # no probabilities
        method = "decision_function"
    if method == "score":
        assert np.isfinite(estimator.score(new, y))
    else:
        check_answer(estimator, method, getattr(estimator, method)(new))


def check_answers(estimator: Any, X: Any) -> None:
    """Every method says something of the right kind about the rows it has seen."""
    for method in METHODS[:-1]:
        if hasattr(estimator, method):
            check_answer(estimator, method, getattr(estimator, method)(X))
    repr(estimator)


def check_answer(estimator: Any, method: str, answer: Any) -> None:
    """The right kind of array, and finite."""
    assert type(answer) is np.ndarray, f"{method} gave {type(answer)}"
    if method == "predict":
        assert answer.ndim == 1
        assert answer.dtype == estimator.decisions_.dtype or answer.dtype == estimator.classes_.dtype
        assert set(answer.tolist()) <= set(estimator.decisions_.tolist())
        return
    assert np.isfinite(answer).all(), f"{method} is not finite"
    if method == "predict_proba":
        assert answer.shape[1] == len(estimator.classes_)
        assert answer.min() >= 0 and np.allclose(answer.sum(axis=1), 1, atol=1e-12)


def _metric_case(rng: np.random.Generator) -> tuple[str, Callable[[], None]]:
    name = METRICS[rng.integers(len(METRICS))]
    y = plain_y()
    (true_name, true), (weight_name, weight), (cost_name, cost) = (
        _pick(rng, odd) for odd in (LABELLED, WEIGHTS, COSTS)
    )
    keep = rng.integers(4)  # which of them is odd, or all
    true = true if keep in (0, 3) else LABELLED["as they are"]
    weight = weight if keep in (1, 3) else WEIGHTS["None"]
    cost = cost if keep in (2, 3) else COSTS["matrix"]

    def do() -> None:
        given = {"cost": cost(rng), "sample_weight": weight(rng)}
        if name == "best_constant_cost":
            found = metrics.best_constant_cost(true(y), **given)
        elif name == "cost_confusion_matrix":
            found = metrics.cost_confusion_matrix(true(y), y, **given)
        else:
            found = getattr(metrics, name)(true(y), y, **given)
        found = np.asarray(found[0] if isinstance(found, tuple) else found, dtype=float)
        assert np.isfinite(found).all(), f"{name} is not finite"

    told = [true_name, weight_name, cost_name][keep : keep + 1] or [true_name, weight_name, cost_name]
    return f"{name}({', '.join(told)})", do


# -- what came of it ----------------------------------------------------------------------------------------------
def outcome(number: int) -> Outcome:
    """Of a case: an answer, one clear error, or what is wrong."""
    told, do = case(number)

    def quietly() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            do()

    return limited(quietly, told)


@contextmanager
def within(seconds: float, wait: float) -> Iterator[None]:
    """Raise `Slow` after so many seconds of a processor, or of waiting."""

    def stop(*_: Any) -> None:
        raise Slow

    before = [(kind, signal.signal(kind, stop)) for kind in (signal.SIGALRM, signal.SIGPROF)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, wait)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in before:
            signal.signal(kind, handler)


def limited(do: Callable[[], Any], told: str) -> Outcome:
    """What comes of it within the time that it has."""
    try:
        with within(SECONDS, WAIT):
            do()
        return Outcome("answer", told)
    except Slow:
        return Outcome("hang", told)
    except RuntimeWarning as problem:
        return Outcome("warning", told, where(problem))
    except AssertionError as problem:
        return Outcome("wrong", told, str(problem) or where(problem))
    except Exception as problem:
        return Outcome("error", told, str(problem)) if is_clear(problem) else Outcome("unclear", told, where(problem))


def is_clear(problem: Exception) -> bool:
    """Whether minrisk or a check of scikit-learn says it, in words that are not Python's own."""
    said_by, message = traceback.extract_tb(problem.__traceback__)[-1].filename, str(problem)
    ours = any(part in said_by for part in (PACKAGE, "/sklearn/", "fuzzing.py"))
    return ours and isinstance(problem, CLEAR) and len(message) > 10 and not any(words in message for words in NOT_OURS)


def where(problem: BaseException) -> str:
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if PACKAGE in frame.filename]
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else Path(frames[-1].filename).name
    return f"{type(problem).__name__} {str(problem)[:150]!r} at {place}"
