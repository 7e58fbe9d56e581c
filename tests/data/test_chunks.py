"""Data in chunks: the model of one array, to the byte, and never such an array."""

from __future__ import annotations

import itertools
import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

import minrisk
from benchmarks.common import DATA, load
from minrisk import (
    BAdaCostClassifier,
    Chunks,
    CostMatrix,
    GentleBoostClassifier,
    LocalizedSimilaritiesClassifier,
    MCBoostClassifier,
    MinRiskClassifier,
    REBELClassifier,
)
from minrisk._utils.memory import in_file
from minrisk.cli.app import app
from minrisk.data import binning, row_blocks
from minrisk.data.chunks import gathered_labels
from minrisk.data.row_blocks import RowBlocks, blocks_of
from minrisk.ensemble import defaults, driver, table
from minrisk.estimator import inputs as given_inputs
from tests.helpers.common import few_are_many, slow_after

pa = pytest.importorskip("pyarrow")
COST = CostMatrix([[0, 1, 4], [2, 0, 1], [9, 3, 0]])


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch):
    """Few rows are read as many are, and thresholds are found from some."""
    monkeypatch.setattr(given_inputs, "KEPT_VALUES", 0)
    monkeypatch.setattr(binning, "QUANTILE_ROWS", 97)


@pytest.fixture
def many_rows(monkeypatch):
    """What holds from 20 000 rows on, from 100 on."""
    few_are_many(monkeypatch, 100)
    monkeypatch.setattr(driver, "FORGETTING_SCORES", 100)
    monkeypatch.setattr(driver, "RESTING_SCORES", 100)
    monkeypatch.setattr(driver, "TOGETHER_SCORES", 100)


def made(n=240, d=6, dtype=np.float64, seed=0, missing=0.05, values=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if values is None else rng.integers(0, values, (n, d)).astype(float)
    y = (X[:, :3] + rng.normal(scale=0.5, size=(n, 3))).argmax(axis=1)
    X[rng.random((n, d)) < missing] = np.nan
    return X.astype(dtype), y


def in_chunks(X, y, k, weight=None):
    """A callable that gives k chunks."""

    def give():
        for part in np.array_split(np.arange(len(X)), k):
            yield (X[part], y[part]) if weight is None else (X[part], y[part], weight[part])

    return give


def saved(model, tmp_path):
    minrisk.save(model, tmp_path / "model.minrisk")
    return (tmp_path / "model.minrisk").read_bytes()


def assert_same(estimator, X, y, tmp_path, ks=(1, 3, 7), weight=None, **given):
    one = saved(clone(estimator).fit(X, y, weight, **given), tmp_path)
    for k in ks:
        for folder in (None, tmp_path):
            chunks = Chunks(in_chunks(X, y, k, weight), bins_in=folder)
            assert saved(clone(estimator).fit(chunks, **given), tmp_path) == one, (k, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model.minrisk"]


# -- the same bytes ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "estimator",
    [
        MinRiskClassifier(n_estimators=20, random_state=0),
        MinRiskClassifier(COST, n_estimators=20, random_state=0, surrogate="gll", binning="uniform", max_bins=20),
        REBELClassifier(COST, n_estimators=8, random_state=0, early_stopping=True, subsample=0.7),
        BAdaCostClassifier(COST, n_estimators=4, random_state=0),
        GentleBoostClassifier(n_estimators=4),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("dtype", slow_after(1, [np.float32, np.float64]))
def test_models_are_those_of_one_array(estimator, dtype, tmp_path):
    X, y = made(dtype=dtype)
    assert_same(estimator, X, y, tmp_path)


@pytest.mark.parametrize("weighed", ["some", "whole", "none"])
def test_weights_and_rows_that_do_not_count(weighed, tmp_path):
    X, y = made()
    rng = np.random.default_rng(1)
    weight = {"some": rng.random(len(y)) * (rng.random(len(y)) < 0.8), "whole": rng.integers(0, 4, len(y)) * 1.0}
    for estimator in (MinRiskClassifier(n_estimators=10, random_state=0), REBELClassifier(n_estimators=5)):
        assert_same(estimator, X, y, tmp_path, ks=(3,), weight=weight.get(weighed))
    known = clone(estimator).fit(X, y, weight.get(weighed))
    apart = clone(estimator).fit(Chunks(in_chunks(X, y, 3)), sample_weight=weight.get(weighed))
    assert saved(known, tmp_path) == saved(apart, tmp_path)


def test_iris(tmp_path):
    assert_same(MinRiskClassifier(n_estimators=30, random_state=0), *load_iris(return_X_y=True), tmp_path)


@pytest.mark.skipif(not (DATA / "letter.csv.gz").is_file(), reason="the set is not there")
@pytest.mark.slow
def test_letter(tmp_path, monkeypatch):
    monkeypatch.setattr(binning, "QUANTILE_ROWS", 1500)
    data = load("letter")
    X, y = data.X[:2500], data.y[:2500]
    assert_same(MinRiskClassifier(n_estimators=10, random_state=0), X, y, tmp_path, ks=(3, 7))


@pytest.mark.parametrize("rounds", [10, 260])
def test_many_rows(many_rows, rounds, tmp_path):
    X, y = made(n=400)
    assert_same(MinRiskClassifier(n_estimators=rounds, random_state=0), X, y, tmp_path, ks=(3,))


def test_rows_of_the_same_bins_are_told_apart(tmp_path):
    """Folds of repeated rows, and of rows that differ within their bins only."""
    X, y = made(values=3, missing=0.0)
    X = np.concatenate([X, X[::-1], X + 1e-3 * np.random.default_rng(0).random(X.shape)])
    y = np.concatenate([y, y[::-1], y])
    assert_same(MinRiskClassifier(n_estimators=10, random_state=0, max_bins=4), X, y, tmp_path, ks=(1, 5))


def test_costs_that_differ_by_row_and_stated_folds(tmp_path):
    X, y = made()
    cost = np.random.default_rng(2).random((len(y), 3))
    cost[np.arange(len(y)), y] = 0.0
    assert_same(MinRiskClassifier(n_estimators=10, random_state=0), X, y, tmp_path, ks=(3,), cost=cost)
    assert_same(MinRiskClassifier(n_estimators=10, random_state=0, cv=KFold(3)), X, y, tmp_path, ks=(3,))


def test_a_fit_goes_on(tmp_path):
    X, y = made()
    models = [REBELClassifier(n_estimators=3, warm_start=True) for _ in range(2)]
    for n in (3, 6):
        models[0].set_params(n_estimators=n).fit(X, y)
        models[1].set_params(n_estimators=n).fit(Chunks(in_chunks(X, y, 4)))
    assert saved(models[0], tmp_path) == saved(models[1], tmp_path)


def test_chunks_of_several_types_are_one_array(tmp_path):
    """Whole numbers in some chunks, labels of other widths, a chunk without rows."""
    X, y = made(values=5, missing=0.0)
    names = np.array(["a", "bbb", "cc"])[y]
    model = MinRiskClassifier(n_estimators=10, random_state=0)
    parts = [
        (X[:100].astype(np.int64), names[:100].tolist()),
        (X[:0], names[:0]),
        (X[100:].astype(np.float32), names[100:]),
    ]
    one = clone(model).fit(np.concatenate([parts[0][0], parts[2][0]]), names)
    assert saved(clone(model).fit(Chunks(lambda: parts)), tmp_path) == saved(one, tmp_path)


# -- sources -----------------------------------------------------------------------------------------------------------
def files(folder, X, y, k=3, **more):
    names = [f"x{j}" for j in range(X.shape[1])]
    for number, part in enumerate(np.array_split(np.arange(len(X)), k)):
        frame = pd.DataFrame(X[part], columns=names).assign(kind=y[part], **{n: c[part] for n, c in more.items()})
        frame.to_parquet(folder / f"part-{number}.parquet", index=False)
    return pd.DataFrame(X, columns=names)


def test_parquet_files_folders_and_datasets(tmp_path):
    from pyarrow import dataset

    folder = tmp_path / "data"
    folder.mkdir()
    X, y = made(dtype=np.float32)
    words, weight = np.array(["a", "b", "c"])[y], np.random.default_rng(0).integers(0, 3, len(y))
    frame = files(folder, X, words, weight=weight, comment=words)
    model = MinRiskClassifier(n_estimators=10, random_state=0)
    one = clone(model).fit(pa.Table.from_pandas(frame), words.astype(object), weight.astype(float))
    how = {"target": "kind", "weight": "weight", "drop": ["comment"]}
    for source in (folder, sorted(folder.iterdir()), dataset.dataset(folder)):
        many = clone(model).fit(Chunks(source, **how))
        assert saved(many, tmp_path) == saved(one, tmp_path)
    assert list(many.feature_names_in_) == list(frame.columns)
    assert many.predict(frame[::-1]).tolist() == one.predict(frame[::-1]).tolist()
    (_, _, own), *_ = Chunks(folder, **how)
    assert own.tolist() == weight[:80].tolist()


def test_columns_are_found_by_name(tmp_path):
    X, y = made()
    frame = pd.DataFrame(X, columns=list("pqrstu"))
    parts = [frame[:100].assign(kind=y[:100]), frame[100:].assign(kind=y[100:])[["kind", *"utsrqp"]]]
    model = REBELClassifier(n_estimators=5)
    many = clone(model).fit(Chunks(lambda: parts, target="kind"))
    assert saved(many, tmp_path) == saved(clone(model).fit(frame, y), tmp_path)


def test_few_rows_are_read_once(monkeypatch, tmp_path):
    monkeypatch.undo()
    X, y = made()
    times = []
    model = MCBoostClassifier(n_estimators=3)  # whose lines look at all values
    many = clone(model).fit(Chunks(lambda: (times.append(1), in_chunks(X, y, 3)())[1]))
    assert times == [1]
    assert saved(many, tmp_path) == saved(clone(model).fit(X, y), tmp_path)


# -- memory ------------------------------------------------------------------------------------------------------------
def test_rows_are_never_together(monkeypatch, tmp_path):
    n, d, k = 60_000, 40, 60
    monkeypatch.setattr(binning, "QUANTILE_ROWS", 1000)
    means = np.random.default_rng(0).normal(size=(3, d))

    def give():
        rng = np.random.default_rng(1)
        for _ in range(k):
            y = rng.integers(0, 3, n // k)
            yield means[y] + rng.normal(size=(n // k, d)), y

    REBELClassifier(n_estimators=1).fit(Chunks(lambda: [(means[[0, 1, 2] * 20], np.array([0, 1, 2] * 20))]))
    monkeypatch.setattr("minrisk._utils.memory.LARGE_BYTES", 1 << 40)  # so that all memory is seen
    tracemalloc.start()
    REBELClassifier(n_estimators=2).fit(Chunks(give))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * n * d * 8  # bins are an eighth of that; scores, gradients and Hessians 72 bytes a row
    assert peak > n * d


def test_a_pass_is_made_for_thresholds_and_one_for_bins():
    X, y = made(n=500)
    passes = []
    chunks = Chunks(lambda: (passes.append(1), in_chunks(X, y, 3)())[1])
    REBELClassifier(n_estimators=2).fit(chunks)
    assert len(passes) == 3  # the first for labels, and to check


def test_thresholds_of_some_columns_at_a_time(monkeypatch):
    X, y = made(n=500)
    one = REBELClassifier(n_estimators=3).fit(X, y)
    monkeypatch.setattr(binning, "SAMPLE_BYTES", 8 * 97 * 2)
    many = REBELClassifier(n_estimators=3).fit(Chunks(in_chunks(X, y, 3)))
    np.testing.assert_array_equal(one.decision_function(X), many.decision_function(X))


def test_a_file_of_bins_is_written_and_gone(tmp_path, monkeypatch):
    X, y = made()
    shapes = []
    monkeypatch.setattr(row_blocks, "in_file", lambda folder, *a: shapes.append((folder, a[0])) or in_file(folder, *a))
    MinRiskClassifier(n_estimators=5, random_state=0).fit(Chunks(in_chunks(X, y, 3), bins_in=tmp_path))
    assert (
        shapes[0] == (tmp_path, (6, 240)) and max(n for _, (n, _) in shapes) > 6
    )  # linear features stand behind these
    assert list(tmp_path.iterdir()) == []


def test_an_array_in_a_file(tmp_path):
    array = in_file(tmp_path, (3, 5), np.uint8)
    assert array.shape == (3, 5) and array.flags.writeable and array.flags.c_contiguous and not array.any()
    array[1] = np.arange(5)
    assert array[1].tolist() == [0, 1, 2, 3, 4] and list(tmp_path.iterdir()) == []
    assert in_file(tmp_path, (0, 4), np.uint8).shape == (0, 4)
    with pytest.raises(OSError):
        in_file(tmp_path / "nowhere", (3, 5), np.uint8)


def test_linear_features_of_too_many_rows_are_left_out(monkeypatch):
    X, y = made()
    found, linear_columns = [], table.linear_columns
    monkeypatch.setattr(table, "linear_columns", lambda *given: found.append(linear_columns(*given)) or found[-1])
    for most in (None, (6 + 4 * 6) * len(X) - 1, (6 + 4 * 6) * len(X)):
        if most is not None:
            monkeypatch.setattr(defaults, "LINEAR_BINS", most)
        model = MinRiskClassifier(n_estimators=10, random_state=0).fit(X, y)
        assert "random" in {tried["variant"] for tried in model.selection_}  # with linear features or without
        assert model.model_.projection is None or found[-1] is not None
    assert [one is not None for one in found] == [True, False, True]


# -- rows in blocks ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(5))
def test_rows_by_number(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((50, 3))
    cuts = np.sort(rng.integers(0, 51, 4))
    rows = RowBlocks(lambda: iter(np.split(X, cuts)), X.shape, X.dtype)
    wanted = rng.integers(0, 50, 30)
    for some in (wanted, np.unique(wanted), wanted[:0], np.unique(wanted).astype(np.int32)):
        np.testing.assert_array_equal(rows[some], X[some])
        np.testing.assert_array_equal(rows.gathered(some, slice(1, 3)), X[some, 1:3])
        out = np.full((len(some), 3), np.nan)
        for places, block, inside in blocks_of(rows, some):
            out[places] = block[inside]
        np.testing.assert_array_equal(out, X[some])
    few = rows.some(np.unique(wanted))
    np.testing.assert_array_equal(few[np.arange(len(few))], X[np.unique(wanted)])
    np.testing.assert_array_equal(rows.dense("these"), X)


def test_labels_of_chunks():
    parts = [np.array(["b", "a"]), np.array(["ccc"]), np.array(["a", "b", "a"])]
    labels, codes = gathered_labels(parts)
    assert labels.dtype == "<U3" and codes.dtype == np.uint8
    assert labels[codes].tolist() == ["b", "a", "ccc", "a", "b", "a"]
    labels, codes = gathered_labels([np.arange(200), np.arange(199, 400)])
    assert codes.dtype == np.uint16 and labels[codes].tolist() == [*range(200), *range(199, 400)]


def test_one_weight_for_all_rows_of_a_chunk(tmp_path):
    X, y = made(n=60)
    weight = np.repeat([1.0, 3.0], 30)
    one = saved(REBELClassifier(n_estimators=2).fit(X, y, weight), tmp_path)
    parts = [(X[:30], y[:30], 1.0), (X[30:], y[30:], 3)]
    assert saved(REBELClassifier(n_estimators=2).fit(Chunks(lambda: parts)), tmp_path) == one


# -- what is refused ---------------------------------------------------------------------------------------------------
X_SMALL, Y_SMALL = made(n=60)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        (lambda: [X_SMALL], r"each chunk must be \(X, y\) or \(X, y, sample_weight\)"),
        (lambda: 3, "must give an iterable of chunks, got int"),
        (lambda: [], "the chunks hold no rows"),
        (lambda: [(X_SMALL, Y_SMALL), (X_SMALL[:, :3], Y_SMALL)], "3 features, but"),
        (lambda: [(X_SMALL, Y_SMALL[:-1])], "inconsistent numbers of samples"),
        (lambda: [(X_SMALL, Y_SMALL), (X_SMALL, Y_SMALL.astype(str))], "numbers or texts, got both"),
        (lambda: [(X_SMALL, Y_SMALL), (X_SMALL, Y_SMALL, Y_SMALL)], "sample weights must come with all chunks"),
        (
            lambda: [(X_SMALL, Y_SMALL, np.ones(59)), (X_SMALL, Y_SMALL, np.ones(61))],
            "chunk 0, .*: sample_weight must hold a number for each of the 60 rows, got 59",
        ),
        (lambda: [(np.where(X_SMALL > 1, np.inf, X_SMALL), Y_SMALL)], "infinity|finite"),
        (lambda: [(X_SMALL, np.zeros(60))], "at least two classes"),
        (lambda: [(__import__("scipy.sparse").sparse.csr_array(X_SMALL), Y_SMALL)], "sparse matrix"),
        (lambda: [(pd.DataFrame({"a": pd.Categorical(["u", "v"])}), [0, 1])], "got categories in column 'a'"),
        (lambda: [(pd.DataFrame({"a": ["u", "v"]}), [0, 1])], "got categories in column 'a'"),
    ],
)
def test_chunks_that_cannot_be_used(chunks, message):
    with pytest.raises((ValueError, TypeError), match=message):
        REBELClassifier(n_estimators=2).fit(Chunks(chunks))


def test_sources_that_cannot_be_used(tmp_path):
    with pytest.raises(TypeError, match="an iterator could be read once only"):
        Chunks(iter([]))
    with pytest.raises(ValueError, match="need target="):
        Chunks(tmp_path)
    with pytest.raises(ValueError, match="holds no Parquet files"):
        Chunks(tmp_path, target="y")
    with pytest.raises(ValueError, match="there is no file"):
        Chunks(tmp_path / "a.parquet", target="y")
    (tmp_path / "a.csv").write_text("y\n1\n")
    with pytest.raises(ValueError, match="must be a Parquet file"):
        Chunks(tmp_path / "a.csv", target="y")
    with pytest.raises(ValueError, match="bins_in must be a folder"):
        Chunks(lambda: [], bins_in=tmp_path / "nowhere")
    files(tmp_path, X_SMALL, Y_SMALL)
    with pytest.raises(ValueError, match="no column 'z'"):
        REBELClassifier().fit(Chunks(tmp_path, target="z"))
    pd.DataFrame({"other": [1.0], "kind": [1]}).to_parquet(tmp_path / "zz.parquet")
    with pytest.raises(ValueError, match="has other columns than"):
        REBELClassifier().fit(Chunks(tmp_path, target="kind"))
    with pytest.raises(ValueError, match="leave y out"):
        REBELClassifier().fit(Chunks(lambda: [(X_SMALL, Y_SMALL)]), Y_SMALL)


def test_what_looks_at_all_rows_at_once_refuses_many(monkeypatch):
    monkeypatch.setattr(row_blocks, "DENSE_VALUES", 100)
    for estimator in (MCBoostClassifier(n_estimators=2), LocalizedSimilaritiesClassifier(n_estimators=2)):
        with pytest.raises(ValueError, match="look at all values of all rows at once"):
            estimator.fit(Chunks(in_chunks(np.nan_to_num(X_SMALL), Y_SMALL, 2)))


# -- on the command line -----------------------------------------------------------------------------------------------
def fit(*arguments, code=0):
    done = CliRunner().invoke(app, ["fit", *map(str, arguments), "--n-estimators", "5"], env={"COLUMNS": "100"})
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_several_files_are_one_table(kind, tmp_path):
    X, y = made(n=180)
    frame = pd.DataFrame(X, columns=list("pqrstu")).assign(n=np.arange(180) % 7, kind=np.array(["a", "bb", "c"])[y])
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}[kind]
    write(frame, tmp_path / f"all.{kind}", index=False)
    for k in range(3):
        own = frame[60 * k : 60 * k + 60]
        write(own[own.columns[::-1]] if k == 1 else own, tmp_path / f"part{k}.{kind}", index=False)
    parts = sorted(tmp_path.glob("part*"))
    fit(tmp_path / f"all.{kind}", "--target", "kind", "--drop", "u", "--out", tmp_path / "one")
    said = fit(*parts, "--target", "kind", "--drop", "u", "--out", tmp_path / "many")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()
    assert "and 2 more: 180 rows, 6 features" in " ".join(said.split())
    if kind == "parquet":
        fit(*parts, "--target", "kind", "--drop", "u", "--out", tmp_path / "filed", "--bins-in", tmp_path)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "filed").read_bytes()
    else:
        assert "is for Parquet files" in fit(
            *parts, "--target", "kind", "--out", tmp_path / "no", "--bins-in", tmp_path, code=2
        )


def test_files_with_words_are_read_at_once(tmp_path):
    X, y = made(n=120)
    frame = pd.DataFrame(X, columns=list("pqrstu")).assign(colour=np.array(["red", "blue"])[np.arange(120) % 2], kind=y)
    frame.to_parquet(tmp_path / "all.parquet", index=False)
    for k in range(2):
        frame[60 * k : 60 * k + 60].to_parquet(tmp_path / f"part{k}.parquet", index=False)
    parts = sorted(tmp_path.glob("part*"))
    fit(tmp_path / "all.parquet", "--target", "kind", "--out", tmp_path / "one")
    fit(*parts, "--target", "kind", "--out", tmp_path / "many")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()
    said = fit(*parts, "--target", "kind", "--out", tmp_path / "no", "--bins-in", tmp_path, code=2)
    assert "columns of numbers, but" in said and "colour" in said


def test_files_that_do_not_belong_together(tmp_path):
    pd.DataFrame({"a": [1, 2], "kind": [0, 1]}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"b": [1, 2], "kind": [0, 1]}).to_csv(tmp_path / "b.csv", index=False)
    pd.DataFrame({"a": ["x", "y"], "kind": [0, 1]}).to_csv(tmp_path / "c.csv", index=False)
    how = ("--target", "kind", "--out", tmp_path / "no")
    assert "has other columns than" in fit(tmp_path / "a.csv", tmp_path / "b.csv", *how, code=2)
    assert "holds text in" in fit(tmp_path / "a.csv", tmp_path / "c.csv", *how, code=2)


# -- sources that change -----------------------------------------------------------------------------------------------
def test_chunks_may_be_divided_otherwise(monkeypatch):
    """Only what they hold counts: of the same rows in chunks of other sizes and types nothing is said."""
    monkeypatch.setattr("minrisk.estimator.inputs.KEPT_VALUES", 100)
    rng, readings = np.random.default_rng(0), []
    X = rng.integers(0, 9, (500, 3)).astype(float)
    y = (X[:, 0] > 4).astype(int)

    def made():
        readings.append(0)
        cuts = [0, *np.sort(rng.integers(0, 500, 4)), 500]
        for a, b in itertools.pairwise(cuts):
            yield (
                X[a:b].astype([float, np.float32, int][(a + len(readings)) % 3]),
                y[a:b].astype([int, np.uint8][a % 2]),
            )

    model = REBELClassifier(n_estimators=3).fit(Chunks(made))
    np.testing.assert_array_equal(
        model.decision_function(X), REBELClassifier(n_estimators=3).fit(X, y).decision_function(X)
    )
    assert len(readings) > 2


def test_sources_that_change_are_refused():
    """As many as the environment variable MINRISK_ATTACK_CASES says, 60 else."""
    from tests.helpers.changing_sources import outcomes

    cases = int(os.environ.get("MINRISK_ATTACK_CASES", "60"))
    assert [found for found in outcomes(0, cases) if found.kind == "wrong"] == []


def test_a_callable_may_fill_the_same_arrays_again():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(300, 2)), rng.uniform(1, 2, 300)
    y, some, weights = (X.sum(axis=1) > 0).astype(int), np.empty((100, 2)), np.empty(100)

    def read():
        for first in (0, 100, 200):
            some[:], weights[:] = X[first : first + 100], weight[first : first + 100]
            yield some, y[first : first + 100], weights

    model = MinRiskClassifier(n_estimators=5, pool=False, random_state=0)
    found = model.fit(Chunks(read)).predict_proba(X)
    np.testing.assert_array_equal(found, model.fit(X, y, sample_weight=weight).predict_proba(X))
