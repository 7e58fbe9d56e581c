"""Files of svmlight's format: what they hold, what is refused, and the command line from fit to compare."""

import bz2
import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import minrisk
from minrisk.tables.svmlight import is_svmlight, read_svmlight
from tests.helpers import command_line
from tests.helpers.command_line import FEW, as_json, invoke, run


def refused(*args):
    """The one line that is said, of a fault that was foreseen."""
    said = command_line.refused(*args)
    assert "should not have happened" not in said
    return said


def words(n, seed=0, d=12):
    """Counts of words, of which the first three say the class; labels are 2, 5 and -1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.poisson(0.3, (n, d)) * rng.choice([0.5, 1.0, 3.0], (n, d))
    X[np.arange(n), y] += 2
    return sp.csr_matrix(X), np.array([2, 5, -1])[y]


def dumped(path, X, y, zero_based=False):
    dump_svmlight_file(X, y, str(path), zero_based=zero_based)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows to train on and to predict, and a model."""
    place = tmp_path_factory.mktemp("svmlight")
    for name, n, seed in (("train", 90, 0), ("test", 40, 1)):
        dumped(place / f"{name}.svm", *words(n, seed))
    run("fit", place / "train.svm", FEW, f"--out {place}/m")
    return place


# -- reading -----------------------------------------------------------------------------------------------------------
def test_by_hand(tmp_path):
    path = tmp_path / "rows.libsvm"
    path.write_text("# of three rows\n3 2:0.5 4:nan # the first\r\n\n+1 qid:7 1:-1e2\n-2\n")
    rows = read_svmlight(path)
    np.testing.assert_array_equal(rows.X.toarray(), [[0, 0.5, 0, np.nan], [-100, 0, 0, 0], [0, 0, 0, 0]])
    assert rows.classes(path).tolist() == [3, 1, -2] and rows.first_feature == 1
    wider = read_svmlight(path, n_features=6, first_feature=1).X
    np.testing.assert_array_equal(wider.toarray(), np.pad(rows.X.toarray(), ((0, 0), (0, 2))))
    np.testing.assert_array_equal(read_svmlight(path, 6, 0).X.toarray()[:, 1:5], rows.X.toarray())


@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("ending", [".svm", ".svmlight.gz", ".LIBSVM.bz2"])
def test_what_was_written_is_read(tmp_path, zero_based, ending):
    X, y = words(30, d=7)
    X = sp.csr_matrix(np.c_[np.ones(30), X.toarray(), np.ones(30)])  # whose first and last features occur
    raw = dumped(tmp_path / "plain", X, y, zero_based).read_bytes()
    packed = {"z": gzip.compress, "2": bz2.compress}.get(ending[-1], bytes)(raw)
    path = tmp_path / f"rows{ending}"
    path.write_bytes(packed)
    rows = read_svmlight(path)
    np.testing.assert_array_equal(rows.X.toarray(), X.toarray())
    np.testing.assert_array_equal(rows.classes(path), y)
    assert rows.first_feature == 1 - zero_based and is_svmlight(path) and not is_svmlight(tmp_path / "plain")
    np.testing.assert_array_equal(rows.X.toarray(), load_svmlight_file(str(tmp_path / "plain"))[0].toarray())


MALFORMED = {
    "no label": ("1 1:2\nred 1:3\n", "line 2 begins with 'red', which is no label"),
    "several labels": ("1,2 1:3\n", "line 1 begins with '1,2'"),
    "name": ("1 1:2\n2 a:3\n", "line 2 holds 'a:3'"),
    "word": ("1 1:x", "line 1 holds '1:x'"),
    "no value": ("1 1:\n", "line 1 holds '1:'"),
    "no number": ("1 2:3 4\n", "line 1 holds '4'"),
    "twice": ("1 1:1:1\n", "line 1 holds '1:1:1'"),
    "negative": ("1 1:1\n1 -1:3\n", "line 2 holds '-1:3'"),
    "order": ("# rows\n1 3:1 2:1\n", "line 2 holds the feature 2 after the feature 3, and they must ascend"),
    "repeated": ("1 3:1 3:1\n", "line 1 holds the feature 3 after the feature 3"),
    "too large": ("1 99999999999:1\n2 1:1\n", "line 1 holds the feature '99999999999', whose number is too large"),
    "a table": ("a,b,c\n1,2,3\n", "line 1 begins with 'a,b,c'"),
    "bytes": (b"\x00\xff\x1b[2J 1:1\n", "line 1 begins with"),
    "empty": ("", "is empty: give a file with rows"),
    "comments": ("# nothing\n\n", "is empty: give a file with rows"),
    "no features": ("1\n2\n", "holds labels but no features"),
    "fractions": ("1 1:1\n1.5 1:2\n", "must be whole numbers to be classes, but row 2 has 1.5"),
    "no number as label": ("1 1:1\nnan 1:2\n", "but row 2 has nan"),
    "one class": ("1 1:1\n1 1:2\n", "must hold at least two classes, got only '1'"),
    "measurements": (
        "".join(f"{i} 1:1\n" for i in range(40)),
        "40 of its 40 rows differ: it looks like a name or a measurement.",
    ),
    "infinity": ("1 1:1\n2 1:inf\n", "must hold finite numbers, got inf"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files_are_one_sentence(tmp_path, case):
    text, told = MALFORMED[case]
    path = tmp_path / "rows.svm"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = refused("fit", path, f"--out {tmp_path}/m {FEW}")
    assert told in said
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("rows.svm.gz", b"1 1:1\n", "not packed by gzip"),
        ("rows.svm.gz", gzip.compress(b"1 1:1\n" * 999, mtime=0)[:20], "is damaged, cut short"),
        ("rows.svm.bz2", b"1 1:1\n", "not packed by bzip2"),
        ("rows.svm.bz2", bz2.compress(b"1 1:1\n" * 999)[:20], "is damaged, cut short"),
        ("rows.svm", None, "there is no file"),
    ],
)
def test_files_that_cannot_be_opened(tmp_path, name, content, told):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert told in refused("fit", tmp_path / name, f"--out {tmp_path}/m {FEW}")
    (tmp_path / "folder.svm").mkdir()
    assert "is a folder" in refused("fit", tmp_path / "folder.svm", f"--out {tmp_path}/m {FEW}")


# -- commands ----------------------------------------------------------------------------------------------------------
def test_the_model_is_that_of_the_matrix(folder, tmp_path):
    X, y = words(90)
    expected = minrisk.REBELClassifier(n_estimators=5, random_state=0).fit(X, y)
    expected.first_feature_ = 1
    minrisk.save(expected, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == (folder / "m").read_bytes()
    run("predict", folder / "m", folder / "test.svm", f"--out {folder}/decided.csv")
    decided = pd.read_csv(folder / "decided.csv")
    np.testing.assert_array_equal(decided["decision"], expected.predict(words(40, 1)[0]))
    assert decided["decision"].dtype == np.int64 and set(decided["decision"]) <= {2, 5, -1}


def test_evaluation_and_what_is_shown(folder):
    found = as_json("evaluate", folder / "m", folder / "test.svm")
    X, y = words(40, 1)
    assert found["error"] == pytest.approx(np.mean(minrisk.load(folder / "m").predict(X) != y))
    assert found["target"] is None and found["rows"] == 40 and found["error"] < 0.2
    told = " ".join(run("evaluate", folder / "m", folder / "test.svm").split())
    assert "test.svm: 40 rows costs" in told
    shown = as_json("show", folder / "m")
    assert shown["target"] is None and {line["feature"] for line in shown["importance"][:3]} == {
        "feature 1",
        "feature 2",
        "feature 3",
    }


def test_a_summary_of_the_fit(folder, tmp_path):
    said = run("fit", folder / "train.svm", FEW, f"--out {tmp_path}/m")
    assert "90 rows, 12 features" in said and "3: -1, 2, 5" in said
    told = as_json("fit", folder / "train.svm", FEW, f"--out {tmp_path}/m")
    assert told["target"] is None and told["classes"] == [-1, 2, 5]


def test_costs(folder, tmp_path):
    (tmp_path / "costs.csv").write_text("true,-1,2,5\n-1,0,1,9\n2,1,0,1\n5,1,1,0\n")
    run("fit", folder / "train.svm", f"--costs {tmp_path}/costs.csv {FEW} --out {tmp_path}/m")
    assert minrisk.load(tmp_path / "m").cost_.values[0, 2] == 9
    (tmp_path / "few.csv").write_text("true,-1,2\n-1,0,1\n2,1,0\n")
    assert "the file" in refused("fit", folder / "train.svm", f"--costs {tmp_path}/few.csv {FEW} --out {tmp_path}/m")


def test_other_numbers_of_features(folder, tmp_path):
    X, y = words(40, 1)
    fewer = dumped(tmp_path / "fewer.svm", X[:, :5], y)
    found = run("predict", folder / "m", fewer).split()[1:]
    padded = sp.csr_matrix(np.pad(X[:, :5].toarray(), ((0, 0), (0, 7))))
    assert found == [str(label) for label in minrisk.load(folder / "m").predict(padded)]
    none = tmp_path / "none.svm"
    none.write_text("2\n5\n")
    assert len(run("predict", folder / "m", none).split()) == 3
    more = dumped(tmp_path / "more.svm", sp.hstack([X, np.ones((40, 1))]).tocsr(), y)
    for command in ("predict", "evaluate"):
        assert "features up to number 13, but the model was trained on 12 features, up to number 12" in refused(
            command, folder / "m", more
        )


def test_features_are_counted_from_where_the_training_did(folder, tmp_path):
    X, y = words(90)
    run("fit", dumped(tmp_path / "zero.svm", X, y, zero_based=True), FEW, f"--out {tmp_path}/m")
    Z, z = words(40, 1)
    Z = sp.csr_matrix(np.c_[np.zeros(40), Z.toarray()[:, 1:]])  # without a feature 0
    found = run("predict", tmp_path / "m", dumped(tmp_path / "new.svm", Z, z, zero_based=True)).split()[1:]
    assert found == [str(label) for label in minrisk.load(tmp_path / "m").predict(Z)]
    assert minrisk.load(tmp_path / "m").first_feature_ == 0
    assert "has a feature 0, but the model was trained on a file whose features are numbered from 1" in refused(
        "predict", folder / "m", dumped(tmp_path / "from_zero.svm", X, y, zero_based=True)
    )
    again = minrisk.load(tmp_path / "m").fit(X, y)
    assert not hasattr(again, "first_feature_")  # another fit, of which nobody said it


def test_models_of_arrays_and_tables(folder, tmp_path):
    X, y = words(90)
    minrisk.save(minrisk.REBELClassifier(n_estimators=5, random_state=0).fit(X.toarray(), y), tmp_path / "bare")
    assert run("predict", tmp_path / "bare", folder / "test.svm") == run("predict", folder / "m", folder / "test.svm")
    frame = pd.DataFrame(words(40, 1)[0].toarray(), columns=[f"w{j}" for j in range(12)])
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run("predict", folder / "m", tmp_path / "t.csv") == run("predict", folder / "m", folder / "test.svm")
    frame.assign(y=words(40, 1)[1]).to_csv(tmp_path / "named.csv", index=False)
    run("fit", tmp_path / "named.csv", f"--target y {FEW} --out {tmp_path}/named")
    for command in ("predict", "evaluate"):
        assert "was trained on a table whose columns have names" in refused(
            command, tmp_path / "named", folder / "test.svm"
        )


def test_options_about_columns_are_refused(folder, tmp_path):
    train = folder / "train.svm"
    assert "leave out --target" in refused("fit", train, f"--target y --out {tmp_path}/m")
    assert "leave out --target" in refused("evaluate", folder / "m", train, "--target y")
    for option, value in (
        ("--drop", "a"),
        ("--categorical", "a"),
        ("--delimiter", ";"),
        ("--decimal", ","),
        ("--encoding", "utf-8"),
    ):
        assert f"{option} is about tables with columns" in refused("fit", train, option, value, f"--out {tmp_path}/m")
    assert "--keep is about tables" in refused("predict", folder / "m", train, "--keep a")
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n")
    assert "Missing option '--target'" in refused("fit", tmp_path / "t.csv", f"--out {tmp_path}/m")


def test_labels_that_the_model_does_not_know(folder, tmp_path):
    X, y = words(40, 1)
    result = invoke("evaluate", folder / "m", dumped(tmp_path / "new.svm", X, np.where(y == 2, 7, y)))
    assert result.exit_code == 0 and "new.svm holds ['7'], which the model does not know" in result.stderr
    text = refused("evaluate", folder / "m", dumped(tmp_path / "other.svm", X, y + 100))
    assert "other.svm holds '101', which is no class of the model" in text or "holds '99'" in text


def test_comparison(folder, tmp_path):
    X, y = words(90)
    found = as_json(
        "compare", folder / "train.svm", "--methods rebel,sklearn.tree.DecisionTreeClassifier --cv 3 --n-jobs 1"
    )
    same = minrisk.compare({"train": (X, y)}, methods=["rebel", "sklearn.tree.DecisionTreeClassifier"], cv=3)
    assert {line["method"]: line["error"] for line in found["methods"]} == {
        line["method"]: line["error"] for line in same.summary()
    }
    assert "leave out --target" in refused("compare", folder / "train.svm", "--target y")
    assert "--categorical is about tables" in refused("compare", folder / "train.svm", "--categorical y")
    pd.DataFrame(np.c_[X.toarray(), y]).to_csv(tmp_path / "t.csv", index=False)
    both = as_json("compare", folder / "train.svm", tmp_path / "t.csv", "--target 12 --methods rebel --cv 3 --n-jobs 1")
    assert both["folds"] == {"train": 3, "t": 3}
    assert "Missing option '--target'" in refused("compare", folder / "train.svm", tmp_path / "t.csv")


def test_one_file_at_a_time(folder, tmp_path):
    train = folder / "train.svm"
    assert "are read one at a time, got 2 files" in refused("fit", train, folder / "test.svm", f"--out {tmp_path}/m")
    assert "--bins-in is for Parquet files" in refused("fit", train, "--bins-in", tmp_path, f"--out {tmp_path}/m")
