"""Exported models beside `predict`: decisions that differ, how far scores are apart, and microseconds for each row.

Six sets; 3000 rows of each train, with costs drawn at random (`benchmarks.common.costs`, "normal"). Of the others
10 000 rows are drawn, with replacement, and rounded to float32. Every tenth one is moved: each of its values lies, with
probability one half, at a threshold that splits that column, or at the next float32 number to either side.

The default model goes to ONNX Runtime, with trees of float64 and of float32, and on few rows to the reader of
examples/run_json_model.py. Treelite holds no linear features and no smooth members, so a model of pool=False goes to
GTIL, and of the set with the smallest model to C by TL2cgen. Treelite gives scores, of which NumPy makes decisions.

`differ` counts decisions other than ours, `lead` is the largest lead of our decision among these (of expected cost,
relative to the largest expected cost of any row), `scores` the largest difference of scores, relative to the largest
score. Speeds are of one thread: processor time of a batch of all rows, and the median wall time of calls with one row.
Those of Treelite end with the scores.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.common import costs, interleaved, is_quick, load, parser, save, seconds, show, there
from minrisk import MinRiskClassifier
from minrisk.export import to_json, to_onnx, to_treelite

SETS = ("letter", "satimage", "segment", "vehicle", "shuttle", "digits")
IN_C = ("vehicle",)  # TL2cgen: gcc takes long over many trees
TRAINING, ROWS, ONE_BY_ONE, READ = 3000, 10_000, 200, 20
LIBRARIES = {"ONNX": "onnx", "ONNX Runtime": "onnxruntime", "Treelite": "treelite", "TL2cgen": "tl2cgen"}


class Runtime(NamedTuple):
    """How rows of float32 are asked, and what is read off an answer."""

    name: str
    ask: Callable[[np.ndarray], Any]  # what is timed
    scores: Callable[[np.ndarray], np.ndarray]
    decide: Callable[[np.ndarray], np.ndarray]
    n_bytes: int


def data_of(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and their classes, and other rows."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        data = load(name)
        X, y = data.X, data.y
    X = np.asarray(X, dtype=np.float32).astype(float)
    n = min(TRAINING, int(0.7 * len(X)))
    rare = np.bincount(y)[y] < 2
    first, rest = train_test_split(np.arange(len(y))[~rare], train_size=n, random_state=0, stratify=y[~rare])
    return X[first], np.unique(y[first], return_inverse=True)[1], X[rest]


def rows_of(model: Any, X: np.ndarray, n: int) -> np.ndarray:
    """Rows drawn from X, of which every tenth is moved to thresholds of the model and next to them."""
    rng = np.random.default_rng(0)
    rows = X[rng.integers(0, len(X), n)].astype(np.float32)
    packed = model.model_.packed
    feature, threshold = packed.of_nodes("feature")[~packed.is_leaf], packed.of_nodes("threshold")[~packed.is_leaf]
    for j in range(X.shape[1]):
        at = threshold[(feature == j) & np.isfinite(threshold)].astype(np.float32)
        moved = np.arange(0, n, 10)[rng.random(len(range(0, n, 10))) < 0.5]
        if len(at):
            chosen = at[rng.integers(0, len(at), len(moved))]
            below, above = (np.nextafter(chosen, np.float32(end)) for end in (-np.inf, np.inf))
            ways = np.array([below, chosen, above])
            rows[moved, j] = ways[rng.integers(0, 3, len(moved)), np.arange(len(moved))]
    return rows


def ours(model: Any, kind: str) -> Runtime:
    return Runtime(
        f"minrisk, {kind}",
        model.predict,
        lambda X: model.model_.scores(X.astype(float)),
        model.predict,
        len(to_json(model)),
    )


def in_onnx_runtime(model: Any, tree_type: str) -> Runtime:
    import onnxruntime

    made = to_onnx(model, tree_type=tree_type).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])

    def run(output: str, X: np.ndarray) -> np.ndarray:
        return np.asarray(session.run([output], {"X": X})[0])

    decide = partial(run, "decision")
    return Runtime(f"ONNX Runtime, trees of {tree_type}", decide, partial(run, "scores"), decide, len(made))


def of_margins(name: str, model: Any, ask: Callable[[np.ndarray], np.ndarray], n_bytes: int) -> Runtime:
    """A runtime that gives H / T of a softmax model; decisions are made of these as docs/guide/export.md says."""

    def decide(X: np.ndarray) -> np.ndarray:
        h = ask(X).reshape(len(X), -1)
        p = np.exp(h - h.max(axis=1, keepdims=True))
        return np.asarray(model.decisions_[(p @ model.cost_.avoidable).argmin(axis=1)])

    def scores(X: np.ndarray) -> np.ndarray:
        return ask(X).reshape(len(X), -1) * model.model_.temperature

    return Runtime(name, ask, scores, decide, n_bytes)


def in_gtil(model: Any) -> Runtime:
    import treelite

    trees = to_treelite(model)
    ask = partial(_gtil, treelite.gtil.predict, trees)
    return of_margins("Treelite GTIL", model, ask, len(trees.serialize_bytes()))


def _gtil(predict: Any, trees: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(predict(trees, X.astype(np.float64), nthread=1, pred_margin=True))


def in_c(model: Any, folder: Path) -> Runtime:
    import tl2cgen

    path = folder / "model.so"
    spent = seconds(
        lambda: tl2cgen.export_lib(to_treelite(model), toolchain="gcc", libpath=path, nthread=1, options=["-O1"])
    )
    print(f"TL2cgen and gcc -O1: {spent:.1f} s", flush=True)
    predictor = tl2cgen.Predictor(path, nthread=1)

    def ask(X: np.ndarray) -> np.ndarray:
        return np.asarray(predictor.predict(tl2cgen.DMatrix(X.astype(np.float64), dtype="float64"), pred_margin=True))

    return of_margins("TL2cgen, gcc -O1", model, ask, path.stat().st_size)


def read_from_json(model: Any) -> Runtime:
    from examples.run_json_model import decision_of, scores_of

    text = to_json(model)
    read = json.loads(text)

    def plain(X: np.ndarray) -> list[Any]:
        return [[None if value != value else value for value in row] for row in X.astype(float).tolist()]

    def decide(X: np.ndarray) -> np.ndarray:
        return np.array([decision_of(read, row) for row in plain(X)])

    def scores(X: np.ndarray) -> np.ndarray:
        return np.array([scores_of(read, row) for row in plain(X)])

    return Runtime("JSON, plain Python", decide, scores, decide, len(text))


def processor_seconds(call: Callable[[], Any]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def compared(name: str, model: Any, runtimes: list[Runtime], X: np.ndarray, repeats: int) -> list[dict[str, Any]]:
    """The first runtime is ours; the reader of JSON has few rows."""

    def given(runtime: Runtime) -> np.ndarray:
        return X[:: max(1, len(X) // READ)] if runtime.name.startswith("JSON") else X

    timed = [one for one in runtimes if not one.name.startswith("JSON")]
    spent = interleaved({one.name: lambda one=one: processor_seconds(lambda: one.ask(X)) for one in timed}, repeats)
    one_row = {one.name: one_row_seconds(one, given(one)) for one in runtimes}
    rows = []
    for one in runtimes:
        asked = given(one)
        scores, expected = model.model_.scores(asked.astype(float)), model.predict_proba(asked) @ model.cost_.avoidable
        two = np.sort(expected, axis=1)[:, :2]
        other = one.decide(asked) != model.predict(asked)
        lead = ((two[:, 1] - two[:, 0]) / expected.max())[other].max(initial=0.0)
        rows.append(
            {
                "set": name,
                "runtime": one.name,
                "trees": len(model.model_.packed),
                "rows": len(asked),
                "differ": int(other.sum()),
                "lead": lead,
                "scores": float(np.abs(one.scores(asked) - scores).max() / np.abs(scores).max()),
                "batch_us": 1e6 * spent[one.name] / len(X) if one.name in spent else "",
                "one_row_us": 1e6 * one_row[one.name],
                "bytes": one.n_bytes,
            }
        )
    return rows


def one_row_seconds(runtime: Runtime, X: np.ndarray) -> float:
    """The median call; the first is to warm up."""
    rows = [X[i : i + 1].copy() for i in range(min(ONE_BY_ONE, len(X)))]
    runtime.ask(rows[0])
    return float(np.median([seconds(partial(runtime.ask, row)) for row in rows]))


def figures_of(name: str, names: list[str], jobs: int, folder: Path, repeats: int) -> list[dict[str, Any]]:
    """Of a set: the default model, and one of trees only."""
    X, y, rest = data_of(name)
    table, n = costs("normal", int(y.max()) + 1), 300 if is_quick() else ROWS
    rows: list[dict[str, Any]] = []
    for pool in (True, False):
        rounds = 10 if is_quick() else None
        model = MinRiskClassifier(cost=table, pool=pool, n_estimators=rounds, n_jobs=jobs, random_state=0)
        print(f"{name}, pool={pool}: fitted in {seconds(partial(model.fit, X, y)):.1f} s", flush=True)
        model.set_params(n_jobs=1)
        runtimes = [ours(model, "default" if pool else "pool=False")]
        if pool and {"ONNX", "ONNX Runtime"} <= set(names):
            runtimes += [in_onnx_runtime(model, kind) for kind in ("float64", "float32")]
        if pool:
            runtimes.append(read_from_json(model))
        elif "Treelite" in names:
            runtimes.append(in_gtil(model))
            if name in IN_C and "TL2cgen" in names:
                runtimes.append(in_c(model, folder))
        rows += compared(name, model, runtimes, rows_of(model, rest, n), repeats)
    return rows


def main() -> None:
    arguments = parser(__doc__, "models of ten rounds on few rows of two sets").parse_args()
    names, rows = there(LIBRARIES), []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("vehicle", "digits") if arguments.quick else SETS:
            repeats = 1 if arguments.quick else 3
            rows += figures_of(name, names, arguments.jobs, Path(folder), repeats)
            save("exported", rows)
    show(rows, ("set", "runtime", "trees", "rows", "differ", "lead", "scores", "batch_us", "one_row_us", "bytes"))


if __name__ == "__main__":
    main()
