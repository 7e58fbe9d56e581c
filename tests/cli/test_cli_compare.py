"""`minrisk compare`: what it prints and writes, that it goes on where it was stopped, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import minrisk
from tests.helpers import command_line

ROOT = Path(__file__).parents[2]
COSTS = "true,bad,fair,good\ngood,2,1,0\nfair,3,0,1\nbad,0,4,9\n"
FEW = "sklearn.naive_bayes.GaussianNB,sklearn.tree.DecisionTreeClassifier"


def grades(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 2)) + y[:, None]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "grade": np.array(["bad", "fair", "good"])[y]})


@pytest.fixture
def folder(tmp_path):
    for i, name in enumerate(("one", "two", "three")):
        grades(seed=i).to_csv(tmp_path / f"{name}.csv", index=False)
    grades(seed=3).rename(columns={"grade": "class"}).to_parquet(tmp_path / "four.parquet")
    (tmp_path / "costs.csv").write_text(COSTS)
    return tmp_path


def invoke(*args):
    return command_line.invoke("compare", *args)


def run(*args):
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return result


def refused(*args):
    return command_line.refused("compare", *args)


def test_it_says_what_compare_finds(folder):
    tables = [folder / f"{name}.csv" for name in ("one", "two", "three")]
    result = run(
        *tables, f"--target grade --costs {folder}/costs.csv --methods rebel,{FEW} --cv 3 --n-jobs 1 --seed 4 --json"
    )
    facts = json.loads(result.stdout)
    cost = minrisk.CostMatrix(str(folder / "costs.csv"))
    data = {path.stem: (frame[["a", "b"]], frame["grade"], cost) for path in tables for frame in [pd.read_csv(path)]}
    found = minrisk.compare(data, methods=["rebel", *FEW.split(",")], cv=3, random_state=4)
    assert [line["method"] for line in facts["methods"]] == found.methods
    assert [line["cost"] for line in facts["methods"]] == pytest.approx([line["cost"] for line in found.summary()])
    assert {line["method"]: line["mean_rank"] for line in facts["methods"]} == pytest.approx(found.mean_ranks())
    assert facts["friedman"]["p_value"] == pytest.approx(found.friedman().p_value)
    assert facts["critical_difference"] == pytest.approx(found.nemenyi().critical_difference)
    k = len(found.methods)
    assert len(facts["pairs"]) == k * (k - 1) / 2 and facts["folds"] == {"one": 3, "two": 3, "three": 3}
    assert facts["what_is_tested"] == found.what_is_tested() and facts["files"] == [] and facts["failures"] == []


def test_it_says_that_referred_rows_are_errors(folder):
    (folder / "ask.csv").write_text("true,bad,fair,good,ask\nbad,0,1,1,.1\nfair,1,0,1,.1\ngood,1,1,0,.1\n")
    call = (folder / "one.csv", "--target grade --methods blind:rebel --cv 2 --n-jobs 1 --json")
    told = "the error also counts decisions that are no class, here ['ask']"
    result = run(*call, f"--costs {folder}/ask.csv")
    assert told in result.stderr
    blind, by_costs = json.loads(result.stdout)["methods"]
    assert by_costs["cost"] < blind["cost"] and by_costs["error"] > blind["error"]  # as many rows are referred
    assert "no class" not in run(*call, f"--costs {folder}/costs.csv").stderr


def test_it_prints_tables(folder):
    text = run(folder / "one.csv", "--target grade", "--methods", FEW, "--cv 2 --repeats 3 --n-jobs 1").stdout
    for told in (
        "GaussianNB",
        "DecisionTreeClassifier",
        "mean rank",
        "6 of one",
        "folds of one data set",
        "Wilcoxon p",
        "by Holm",
        "critical difference of mean ranks",
        "Do methods differ in mean cost?",
    ):
        assert told in text, told
    assert "Friedman" not in text and "relative cost" in text


def test_it_writes_a_folder_and_a_picture_and_goes_on(folder):
    call = (
        folder / "one.csv",
        folder / "four.parquet",
        "--target grade --target class",
        "--methods",
        FEW,
        f"--costs {folder}/costs.csv --cv 3 --n-jobs 1 --out {folder}/out --plot {folder}/ranks.png",
    )
    result = run(*call)
    assert (folder / "ranks.png").read_bytes().startswith(b"\x89PNG")
    rows = pd.read_csv(folder / "out" / "folds.csv")
    assert len(rows) == 2 * 3 * 4 and set(rows["data_set"]) == {"one", "four"}
    text = (folder / "out" / "table.md").read_text()
    assert (
        "| mean cost | GaussianNB | GaussianNB + costs |" in text and "Tests compare the mean cost of 4 methods" in text
    )
    assert r"\begin{tabular}{lrrrr}" in (folder / "out" / "table.tex").read_text()
    assert "table.tex" in result.stdout and "ranks.png" in result.stdout
    kept = {path: path.stat().st_mtime_ns for path in (folder / "out" / "folds").iterdir()}
    assert len(kept) == 12  # a fit decides in two ways
    run(*call)
    assert {path: path.stat().st_mtime_ns for path in (folder / "out" / "folds").iterdir()} == kept
    pd.testing.assert_frame_equal(pd.read_csv(folder / "out" / "folds.csv"), rows)  # times too


def test_categories_are_encoded_for_others(folder):
    frame = grades()
    frame.assign(colour=frame["grade"].map({"good": "red", "bad": "blue", "fair": None})).to_csv(
        folder / "words.csv", index=False
    )
    call = (
        folder / "words.csv",
        "--target grade",
        "--methods",
        f"rebel,blind:rebel,{FEW}",
        f"--cv 2 --n-jobs 1 --out {folder}/out --costs {folder}/costs.csv --json",
    )
    facts = json.loads(run(*call).stdout)
    assert [line["method"] for line in facts["methods"]] == [
        "rebel",
        "blind rebel",
        "blind rebel + costs",
        "GaussianNB",
        "GaussianNB + costs",
        "DecisionTreeClassifier",
        "DecisionTreeClassifier + costs",
    ]
    assert facts["methods"][-1]["error"] == 0.0  # the colour says it all
    kept = {path: path.stat().st_mtime_ns for path in (folder / "out" / "folds").iterdir()}
    run(*call)
    assert {path: path.stat().st_mtime_ns for path in (folder / "out" / "folds").iterdir()} == kept and len(kept) == 8


def test_a_method_that_fails(folder):
    grades().assign(a=np.where(np.arange(60) == 7, np.nan, grades()["a"])).to_csv(folder / "words.csv", index=False)
    call = (folder / "words.csv", f"--target grade --methods rebel,{FEW} --cv 2 --n-jobs 1 --out {folder}/out")
    said = refused(*call)
    assert "GaussianNB failed on 'words', fold 1 of 2: ValueError: Input X contains NaN." in said
    assert f"go on by --keep-going. Finished folds are kept in {folder / 'out'}." in said
    assert len(list((folder / "out" / "folds").iterdir())) == 2  # of rebel
    result = run(*call, "--keep-going")
    assert result.stderr.count("minrisk: note: ") == 2 and "GaussianNB failed on 'words', fold 2" in result.stderr
    assert "rebel" in result.stdout
    assert json.loads(run(*call, "--keep-going --json").stdout)["failures"][0]["fold"] == 1


@pytest.mark.slow
def test_a_signal_stops_it_and_the_same_command_goes_on(folder):
    slow = "import time\nfrom sklearn.naive_bayes import GaussianNB\nclass Slow(GaussianNB):\n    def fit(self, X, y):\n        time.sleep(0.5)\n        return super().fit(X, y)\n"
    (folder / "slowly.py").write_text(slow)
    how = f"--target grade --methods slowly.Slow --cv 8 --n-jobs 1 --out {folder}/out"
    call = [sys.executable, "-m", "minrisk", "compare", *command_line.arguments(folder / "one.csv", how)]
    told = {"env": {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}, "text": True}
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **told)
    end = time.monotonic() + 120
    while len(list((folder / "out").glob("folds/*.json"))) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, said = process.communicate(timeout=60)
    kept = {path: path.read_bytes() for path in (folder / "out").glob("folds/*.json")}
    assert (process.returncode, out, said) == (143, "", "minrisk: stopped.\n") and 2 <= len(kept) < 8
    done = subprocess.run(call, capture_output=True, **told)
    assert done.returncode == 0, done.stderr
    assert len(list((folder / "out").glob("folds/*.json"))) == 8 and all(
        path.read_bytes() == kept[path] for path in kept
    )


REFUSED = {
    "no data": ("--target grade", "Missing argument 'DATA...'"),
    "no target": ("one.csv", "Missing option '--target'"),
    "target": ("one.csv --target x", "no column 'x', named by --target"),
    "too many targets": (
        "one.csv --target grade --target a",
        "--target must be given once, or once for each of the 1 tables, got 2",
    ),
    "too many costs": ("one.csv --target grade --costs uniform --costs uniform", "--costs must be given once"),
    "costs": ("one.csv --target grade --costs gone", "--costs must be a CSV file"),
    "twice": ("one.csv one.csv --target grade", "is given twice: give it once"),
    "method": ("one.csv --target grade --methods rebl", "--methods: there is no method 'rebl': known are"),
    "module": (
        "one.csv --target grade --methods no.such.Thing",
        "--methods: the method 'no.such.Thing' cannot be imported",
    ),
    "comma": ("one.csv --target grade --methods rebel,", "must be names between commas"),
    "methods twice": (
        "one.csv --target grade --methods rebel --methods minrisk",
        "--methods must be given once, got it 2 times",
    ),
    "method twice": ("one.csv --target grade --methods rebel,rebel", "names 'rebel' twice"),
    "folds": ("one.csv --target grade --cv 1", "'--cv': 1 is not in the range"),
    "jobs": ("one.csv --target grade --n-jobs 0", "'--n-jobs': must be a number"),
    "level": ("one.csv --target grade --alpha 0", "'--alpha': 0.0 is not in the range"),
    "picture": ("one.csv --target grade --plot ranks.doc", "--plot must end in .png or .pdf or .svg"),
    "picture nowhere": ("one.csv --target grade --plot gone/ranks.png", "does not exist"),
    "folder": ("one.csv --target grade --out costs.csv", "cannot be made: it is a file"),
    "two streams": ("- - --target grade", "standard input (-) can be read for one thing only"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line_before_any_fit(folder, case, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("minrisk.comparison.running.run_fold", lambda task: pytest.fail("it began"))
    arguments, said = REFUSED[case]
    assert said in refused(*arguments.split())


def test_help_names_every_method():
    text = " ".join(run("--help").stdout.split())
    for told in ("minrisk, rebel, similarities", "blind:NAME", "--keep-going", "[default: minrisk,rebel,mcboost]"):
        assert told in text
