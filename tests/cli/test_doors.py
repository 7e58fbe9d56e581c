"""A Parquet file makes the same model on the command line as in Python, by any library, whatever its columns are."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

import minrisk
from tests.helpers.command_line import as_json, invoke, refused, run

try:
    import polars
except ImportError:
    polars = None

N = 90
K = np.arange(N) % 3
NAMES = np.array(["01", "1", "3"])
FEW = "--method rebel --n-estimators 3 --n-jobs 1"


def gaps(cells):
    """The same with some that are missing."""
    column = pd.Series(cells).copy()
    column[5:9] = None
    return column


def objects(cells):
    return pd.Series(list(cells), dtype=object)


DAYS = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(K, unit="h"))
KINDS = {
    "whole": pd.Series(K),
    "small": pd.Series(K.astype("i1")),
    "without a sign": pd.Series(K.astype("u8")),
    "fractions": pd.Series(K + 0.5),
    "short fractions": pd.Series((K + 0.1).astype("f4")),
    "truths": pd.Series(K == 1),
    "nullable": gaps(pd.array(K, dtype="Int64")),
    "nullable truths": gaps(pd.array(K == 1, dtype="boolean")),
    "texts": pd.Series(NAMES[K]),
    "texts with gaps": gaps(NAMES[K]),
    "objects of texts": objects(NAMES[K]),
    "numbers and marks": pd.Series(np.array(["1.5", "2.5", "?"])[K]),
    "dates as texts": pd.Series(np.array(["2024-01-01", "2024-02-01", "2024-03-01"])[K]),
    "ids": pd.Series([f"n{i}" for i in range(N)]),
    "decimals": gaps(objects(decimal.Decimal(int(k)) / 2 for k in K)),
    "dates": gaps(objects(datetime.date(2024, 1, 1 + int(k)) for k in K)),
    "times": objects(datetime.time(1 + int(k)) for k in K),
    "durations": pd.Series(pd.to_timedelta(K, unit="D")),
    "moments": gaps(DAYS),
    "moments with a zone": DAYS.dt.tz_localize("Europe/Paris"),
    "categories": gaps(pd.Categorical(NAMES[K], categories=["x", *NAMES])),
    "ordered": pd.Series(
        pd.Categorical(np.array(["lo", "mid", "hi"])[K], categories=["lo", "none", "mid", "hi"], ordered=True)
    ),
    "categories of numbers": pd.Series(pd.Categorical(K)),
    "nothing": objects([None] * N),
    "no texts": pd.Series([None] * N, dtype="string"),
    "no numbers": pd.Series([np.nan] * N),
}


def model_of(X, y):
    """The model of Python; the command line also keeps what the target is called."""
    model = minrisk.REBELClassifier(n_estimators=3, random_state=0).fit(X, y)
    model.target_name_ = "y"
    return model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::minrisk.DataWarning")
def test_both_doors_make_the_same_model(tmp_path, kind):
    path, model, own = tmp_path / "t.parquet", tmp_path / "m", tmp_path / "own"
    frame = pd.DataFrame(
        {"x": K + np.random.default_rng(0).normal(size=N), "c": KINDS[kind], "y": np.array(["a", "b", "c"])[K]}
    )
    frame.to_parquet(path)
    frame = pd.read_parquet(path)
    others = [pq.read_table(path)]
    if kind != "ordered" and polars is not None:  # it reads categories without their order
        others.append(polars.read_parquet(path))
    run("fit", path, f"--target y {FEW} --out {model}")
    for features in (*(table.select(["x", "c"]) for table in others), frame[["x", "c"]]):
        minrisk.save(model_of(features, frame["y"]), own)
        assert model.read_bytes() == own.read_bytes(), type(features)
    expected = minrisk.load(model).predict(frame[["x", "c"]]).tolist()
    assert run("predict", own, path).split()[1:] == expected


LABELS = {
    "whole": pd.Series(K + 1),
    "nullable": pd.Series(pd.array(K, dtype="Int64")),
    "floats": pd.Series(K + 1.0),
    "truths": pd.Series(K == 1),
    "texts": pd.Series(NAMES[K]),
    "categories": pd.Series(pd.Categorical(NAMES[K])),
    "decimals": objects(decimal.Decimal(int(k)) for k in K),
    "moments": pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(K, unit="D")),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_are_the_same_through_both_doors(tmp_path, kind):
    path, model, own = tmp_path / "t.parquet", tmp_path / "m", tmp_path / "own"
    pd.DataFrame({"x": K + 0.25, "y": LABELS[kind]}).to_parquet(path)
    frame = pd.read_parquet(path)
    run("fit", path, f"--target y {FEW} --out {model}")
    for labels in (pq.read_table(path)["y"], polars and polars.read_parquet(path)["y"], frame["y"]):
        if labels is not None:
            minrisk.save(model_of(frame[["x"]], labels), own)
            assert model.read_bytes() == own.read_bytes(), type(labels)
    assert as_json("evaluate", own, path)["error"] == 0


@pytest.mark.parametrize(
    "cells", [[b"x"] * N, [[1, 2]] * N, [{"a": 1}] * N, [np.inf] * N], ids=["bytes", "lists", "structures", "infinite"]
)
def test_both_doors_refuse_the_same_columns(tmp_path, cells):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": K, "c": objects(cells), "y": K}).to_parquet(path)
    frame = pd.read_parquet(path)
    with pytest.raises(ValueError) as caught:
        model_of(frame[["x", "c"]], frame["y"])
    assert str(caught.value) in refused("fit", path, f"--target y {FEW} --out {tmp_path}/m")


def test_names_of_rows_are_no_features_through_any_door(tmp_path):
    """Neither where the file is read at once nor in chunks; text tables tell them by their place."""
    frame = pd.DataFrame({"x": K + 0.25, "y": K}, index=pd.Index(np.arange(N) + 7, name="id"))
    frame.to_parquet(tmp_path / "t.parquet")
    minrisk.save(model_of(frame[["x"]], frame["y"]), tmp_path / "own")
    for files in (["t.parquet"], ["t.parquet", "--bins-in", tmp_path]):
        done = invoke("fit", tmp_path / files[0], *files[1:], f"--target y {FEW} --out {tmp_path}/m")
        assert done.exit_code == 0 and "the column 'id'" in done.stderr
        assert (tmp_path / "m").read_bytes() == (tmp_path / "own").read_bytes()
    for source in (tmp_path / "t.parquet", dataset.dataset(tmp_path / "t.parquet")):
        chunks = minrisk.Chunks(source, target="y")
        assert minrisk.REBELClassifier(n_estimators=3).fit(chunks).feature_names_in_.tolist() == ["x"]
    assert run("predict", tmp_path / "m", tmp_path / "t.parquet", "--keep id").splitlines()[1] == "7,0"


def test_several_files_must_hold_the_same_kinds(tmp_path):
    for name, cells in (("0", NAMES[K]), ("1", K)):
        pd.DataFrame({"x": K, "c": cells, "y": K}).to_parquet(tmp_path / f"{name}.parquet")
    told = refused("fit", tmp_path / "0.parquet", tmp_path / "1.parquet", f"--target y {FEW} --out {tmp_path}/m")
    assert "column 'c' holds text in" in told and "0.parquet and numbers in" in told


def test_what_a_file_says_of_itself_may_be_wrong(tmp_path):
    table = pa.table({"x": K + 0.25, "y": K})
    for about in (b"nonsense", b"[]", b'{"index_columns": 3}', b'{"columns": [{}]}'):
        pq.write_table(table.replace_schema_metadata({"pandas": about}), tmp_path / "t.parquet")
        done = invoke("fit", tmp_path / "t.parquet", f"--target y {FEW} --out {tmp_path}/m")
        assert "should not have happened" not in done.stderr and done.stderr.count("\n") <= 1, about
        assert (
            minrisk.REBELClassifier(n_estimators=2)
            .fit(minrisk.Chunks(tmp_path / "t.parquet", target="y"))
            .n_features_in_
            == 1
        )


def test_lists_beside_a_text_table_are_refused(tmp_path):
    pd.DataFrame({"x": K, "c": [[1]] * N, "y": K}).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame({"x": K, "c": K, "y": K}).to_csv(tmp_path / "1.csv", index=False)
    told = refused("fit", tmp_path / "0.parquet", tmp_path / "1.csv", f"--target y {FEW} --out {tmp_path}/m")
    assert "column 'c' holds lists, structures or bytes in" in told
    assert "column 'c'" in refused("fit", tmp_path / "0.parquet", f"--target y --numeric c {FEW} --out {tmp_path}/m")


@pytest.mark.parametrize(
    "cells",
    [pd.Series(K), gaps(pd.array(2**53 + K, dtype="Int64")), gaps(K + 1.0), pd.Series(NAMES[K])],
    ids=["whole", "large", "floats", "texts"],
)
def test_named_categories_are_those_of_python(tmp_path, cells):
    path, model, own = tmp_path / "t.parquet", tmp_path / "m", tmp_path / "own"
    pd.DataFrame({"x": K % 2 + 0.5, "c": cells, "y": K}).to_parquet(path)
    frame = pd.read_parquet(path)
    expected = minrisk.REBELClassifier(n_estimators=3, random_state=0, categorical_features=["c"]).fit(
        frame[["x", "c"]], frame["y"]
    )
    expected.target_name_ = "y"
    minrisk.save(expected, own)
    run("fit", path, f"--target y --categorical c {FEW} --out {model}")
    assert model.read_bytes() == own.read_bytes()
    assert run("predict", own, path).split()[1:] == [
        str(label) for label in minrisk.load(model).predict(frame[["x", "c"]])
    ]


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.parametrize("names", [[0, 1], [3, 7], [2.5, 0.5]], ids=str)
def test_columns_named_by_numbers_are_found_by_them_through_every_door(tmp_path, names):
    """Files, Arrow and polars have their names as texts, in whatever order."""
    X = pd.DataFrame(np.column_stack([K + 0.25, np.arange(N) % 7]), columns=names)
    y = np.array(["a", "b", "c"])[K]
    model = minrisk.REBELClassifier(n_estimators=3, random_state=0).fit(X, y)
    minrisk.save(model, tmp_path / "m")
    other = X[names[::-1]]
    texts = other.rename(columns=str)
    texts.to_parquet(tmp_path / "t.parquet")
    texts.to_csv(tmp_path / "t.csv", index=False)
    for table in (other, texts, pa.table(texts), polars and polars.from_pandas(texts)):
        assert table is None or minrisk.load(tmp_path / "m").predict(table).tolist() == y.tolist()
    for name in ("t.parquet", "t.csv"):
        assert run("predict", tmp_path / "m", tmp_path / name).split()[1:] == y.tolist()
    with pytest.raises(ValueError, match=r"columns are named \[5, 6\], and those of fit were"):
        model.predict(X.set_axis([5, 6], axis=1))
    swapped = minrisk.REBELClassifier(n_estimators=3).fit(X.rename(columns=str), y)
    assert swapped.predict(other).tolist() == y.tolist()
