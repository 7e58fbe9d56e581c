"""The command line: every command, every error as one line, and three runs as real processes."""

import io
import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import minrisk
from minrisk import cli
from minrisk.cli import printing, show
from minrisk.cli.fit import fit
from minrisk.cli.methods import ESTIMATORS, NUMBERS, MethodOption
from minrisk.costs import CostMatrix
from minrisk.metrics import best_constant_cost, expected_cost
from tests.helpers.command_line import arguments, as_json, invoke, refused, run

ROOT = Path(__file__).parents[2]
COSTS = "true,bad,fair,good\ngood,2,1,0\nfair,3,0,1\nbad,0,4,9\n"  # not in the order of the classes
MODELS = ("grade", "flagship")  # of REBELClassifier and of MinRiskClassifier


def grades(n=90, seed=0):
    """Features a, b, an identity and a grade of three."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 2)) + y[:, None]
    return pd.DataFrame({"id": np.arange(n), "a": X[:, 0], "b": X[:, 1], "grade": np.array(["bad", "fair", "good"])[y]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables, costs and trained models, used by all tests and changed by none."""
    place = tmp_path_factory.mktemp("cli")
    train = grades()
    train.to_csv(place / "train.csv", index=False)
    test = grades(60, seed=1)
    test.to_csv(place / "test.csv", index=False)
    test.to_parquet(place / "test.parquet")
    test[["a", "b", "grade"]].to_csv(place / "plain.csv", index=False)
    test[["b", "a"]].to_csv(place / "new.csv", index=False)
    (place / "costs.csv").write_text(COSTS)
    train.assign(grade=train["grade"].map({"bad": 1, "fair": 2, "good": 3})).to_csv(place / "numbers.csv", index=False)
    how = f"--target grade --drop id --costs {place}/costs.csv --n-estimators 8"
    run("fit", place / "train.csv", f"{how} --method rebel --out {place}/grade.minrisk")
    run("fit", place / "train.csv", f"{how} --out {place}/flagship.minrisk")
    X, y = train[["a", "b"]], train["grade"]
    refer, per_row = [[0, 4, 9, 1], [3, 0, 1, 1], [2, 1, 0, 1]], np.eye(3)[::-1][np.arange(90) % 3]
    for name, model in {
        "bare": minrisk.REBELClassifier(n_estimators=2).fit(X.to_numpy(), y),
        "refer": minrisk.REBELClassifier(refer, n_estimators=2).fit(X, y),
        "per_row": minrisk.REBELClassifier(n_estimators=2).fit(X, y, cost=per_row),
    }.items():
        minrisk.save(model, place / f"{name}.minrisk")
    return place


# -- what works ----------------------------------------------------------------------------------------------------
def test_help_and_version():
    assert run() == run("--help")
    assert "\n    minrisk demo\n    minrisk fit train.csv --target grade" in run()
    assert run("--version").strip() == f"minrisk {minrisk.__version__}"
    for command in ("fit", "predict", "evaluate", "monitor", "compare", "show", "demo", "warmup"):
        assert "--help" in run(command, "--help")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "--method rebel --max-depth 2 --learning-rate 0.5 --loss logistic --offset tight --early-stopping",
            minrisk.REBELClassifier(
                max_depth=2, learning_rate=0.5, loss="logistic", offset="tight", early_stopping=True
            ),
        ),
        ("--method rebel", minrisk.REBELClassifier()),
        (
            "--method similarities --scaling robust --response sign --n-candidates 9 --n-neighbors 20",
            minrisk.LocalizedSimilaritiesClassifier(scaling="robust", response="sign", n_candidates=9, n_neighbors=20),
        ),
        (
            "--method minrisk --max-depth 2 --learning-rate 0.5 --surrogate coupled --time-budget 9",
            minrisk.MinRiskClassifier(max_depth=2, learning_rate=0.5, surrogate="coupled", time_budget=9.0),
        ),
        ("", minrisk.MinRiskClassifier()),
    ],
)
def test_fit_equals_the_estimator(folder, tmp_path, given, expected):
    frame, out = grades(), tmp_path / "m.minrisk"
    expected.set_params(cost=str(folder / "costs.csv"), n_estimators=7, random_state=3)
    expected.fit(frame[["a", "b"]], frame["grade"])
    how = f"--target grade --drop id --costs {folder}/costs.csv --n-estimators 7 --seed 3 --n-jobs 2"
    text = run("fit", folder / "train.csv", f"{how} --out {out} {given}")
    expected.target_name_ = "grade"
    minrisk.save(expected, tmp_path / "expected.minrisk")
    assert out.read_bytes() == (tmp_path / "expected.minrisk").read_bytes()
    assert "90 rows, 2 features" in text and "bad, fair, good" in text and type(expected).__name__ in text
    assert ("on the rows set apart" in text) == ("--early-stopping" in given)
    flagship = isinstance(expected, minrisk.MinRiskClassifier)
    assert ("on the training rows" in text) != flagship and ("on the rows left out" in text) == flagship


def test_fit_tells_the_cost_of_the_rows_left_out(folder, tmp_path, processor_clock):
    out = tmp_path / "m.minrisk"
    facts = as_json("fit", folder / "plain.csv", f"--target grade --time-budget 4 --n-estimators 9 --out {out}")
    model = minrisk.load(out)
    tried = {row["surrogate"]: row["pooled_risk"] for row in model.selection_}
    assert len(tried) == 2 and facts["validation_risk"] == tried[model.surrogate_] == min(tried.values())
    assert (facts["algorithm"], facts["surrogate"]) == ("MinRiskClassifier", model.surrogate_)
    assert facts["train_risk"] is None


def test_fit_without_rows_to_leave_out(tmp_path):
    (tmp_path / "two.csv").write_text("x,y\n1,a\n2,b\n")
    facts = as_json("fit", tmp_path / "two.csv", f"--target y --out {tmp_path}/m")
    assert facts["validation_risk"] is None and facts["rounds"] > 0
    assert re.search(r"plain +100.0 % +5 +[0-9.]+ +–", run("show", tmp_path / "m"))


def test_defaults_in_the_help_are_those_of_the_estimators():
    assert {getattr(minrisk, name) for name in ESTIMATORS.values()} <= set(minrisk.ALGORITHMS)
    parameters = {method: getattr(minrisk, name)().get_params() for method, name in ESTIMATORS.items()}
    options = [option for option in fit.params if isinstance(option, MethodOption)]
    choices = {name for cls in minrisk.ALGORITHMS for name, rule in cls._rules.items() if hasattr(rule, "options")}
    assert {option.name for option in options} == {*NUMBERS, *choices} > {"loss", "weak_learner", "code", "separators"}
    for option in options:
        assert option.default is None  # what is not given is left to the estimator
        assert option.defaults == {m: known[option.name] for m, known in parameters.items() if option.name in known}
    assert {option.name: option.default for option in fit.params}["n_jobs"] == -1  # all cores; no part of the model
    words = " ".join(run("fit", "--help").split()).replace("- ", "-")  # lines may end within "adaboost-mh"
    for told in (
        "[default: minrisk] --n",
        "[default: minrisk none, rebel 200, similarities 200, stagewise 500, multiboost 100, mcboost 100,",
        "[default: minrisk none, rebel 4, stagewise 3, multiboost 3, mcboost 3, piboost none, badacost 3,",
        "; 1<=x<=64]",
        "[default: minrisk none, rebel 1.0, similarities 1.0, stagewise 0.5, mcboost 1.0, piboost 1.0, badacost 1.0,",
        "; x>0]",
        "Only with --method minrisk. [default: auto]",
        "Only with --method rebel or similarities or stagewise or multiboost or mcboost. [default: rebel exponential,",
    ):
        assert told in words


def test_choices_are_those_of_the_estimators():
    rules = {method: getattr(minrisk, name)._rules for method, name in ESTIMATORS.items()}
    chosen = [option for option in fit.params if isinstance(option, MethodOption) and hasattr(option.type, "choices")]
    for option in chosen:
        told = {choice for method in option.defaults for choice in rules[method][option.name].options}
        assert set(option.type.choices) == told


@pytest.mark.parametrize(
    ("costs", "table"),
    [
        ("", 1 - np.eye(3)),
        ("--costs uniform", 1 - np.eye(3)),
        ("--costs ordinal", [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
        ("--costs ordinal:2", [[0, 1, 4], [1, 0, 1], [4, 1, 0]]),
    ],
)
@pytest.mark.parametrize("method", ESTIMATORS)
def test_costs_by_name(folder, tmp_path, costs, table, method):
    out = tmp_path / "m.minrisk"
    how = f"--target grade --n-estimators 2 --method {method} --out {out} {costs}"
    facts = as_json("fit", folder / "numbers.csv", how)
    assert facts["classes"] == [1, 2, 3] and facts["bytes"] == out.stat().st_size
    assert facts["rounds"] in ((1, 2) if method == "minrisk" else (2,))
    assert np.array_equal(minrisk.load(out).cost_, table)


def test_costs_file_finds_labels_that_are_numbers(folder, tmp_path):
    (tmp_path / "c.csv").write_text("true,3,1,2\n1,5,0,5\n2,1,1,0\n3,0,1,1\n")
    out = tmp_path / "m.minrisk"
    run("fit", folder / "numbers.csv", f"--target grade --costs {tmp_path}/c.csv --n-estimators 2 --out {out}")
    assert minrisk.load(out).cost_.values.tolist() == [[0, 5, 5], [1, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("free", [["good"], ["bad", "fair", "good"]])
def test_classes_that_cost_nothing_count_for_nothing(folder, tmp_path, method, free):
    own = {"bad": "0,4,9", "fair": "3,0,1", "good": "2,1,0"}
    lines = (f"{label},{'0,0,0' if label in free else own[label]}\n" for label in own)
    (tmp_path / "c.csv").write_text("true,bad,fair,good\n" + "".join(lines))
    how = f"--target grade --costs {tmp_path}/c.csv --n-estimators 3 --method {method} --out {tmp_path}/m.minrisk"
    fitted = invoke("fit", folder / "plain.csv", how)
    assert fitted.exit_code == 0, fitted.output
    assert [line for line in fitted.stderr.splitlines() if line.startswith("minrisk: note: ")] == [
        f"minrisk: note: the costs in {tmp_path / 'c.csv'} are all zero for {free}, which then count for nothing"
    ]
    judged = as_json("evaluate", tmp_path / "m.minrisk", folder / "plain.csv")
    decided = set(run("predict", tmp_path / "m.minrisk", folder / "new.csv").split()[1:])
    assert decided == {"bad"} and judged["risk"] == 0.0 if len(free) == 3 else len(decided) > 1
    run("evaluate", tmp_path / "m.minrisk", folder / "plain.csv", f"--costs {tmp_path}/c.csv")
    run("show", tmp_path / "m.minrisk")


@pytest.mark.parametrize("method", ["minrisk", "rebel"])
def test_a_refer_decision_comes_through(folder, tmp_path, method):
    (tmp_path / "c.csv").write_text("true,bad,fair,good,ask me\nbad,0,40,90,1\nfair,30,0,40,1\ngood,20,10,0,1\n")
    out = tmp_path / "m.minrisk"
    how = f"--target grade --costs {tmp_path}/c.csv --n-estimators 1 --method {method} --max-depth 1 --out {out}"
    run("fit", folder / "plain.csv", how)
    decisions = set(run("predict", out, folder / "new.csv").split("\n")[1:-1])
    assert "ask me" in decisions <= {"bad", "fair", "good", "ask me"}
    assert "more decisions" in run("show", out)
    rows = as_json("evaluate", out, folder / "plain.csv")["confusions"]
    assert any(row["decided"] == "ask me" and row["cost_each"] == 1 for row in rows)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", [None, "d.csv", "d.csv.gz", "d.parquet"])
def test_predict(folder, tmp_path, name, model):
    model = folder / f"{model}.minrisk"
    expected = minrisk.load(model).predict(grades(60, seed=1)[["a", "b"]]).tolist()
    if name is None:
        lines = run("predict", model, folder / "new.csv").splitlines()
        assert lines == ["decision", *expected]
        return
    assert run("predict", model, folder / "new.csv", "--out", tmp_path / name) == ""
    read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
    assert read(tmp_path / name)["decision"].tolist() == expected


def test_predict_decides_by_other_costs_and_says_how_sure_it_is(folder, tmp_path):
    out, X = tmp_path / "m.minrisk", grades(60, seed=1)[["a", "b"]]
    run("fit", folder / "plain.csv", f"--target grade --n-estimators 5 --out {out}")
    (tmp_path / "c.csv").write_text("true,bad,fair,good\nbad,0,1,1\nfair,1,0,1\ngood,50,50,0\n")
    model = minrisk.load(out)
    told = run("predict", out, folder / "new.csv", f"--costs {tmp_path}/c.csv --probabilities")
    frame = pd.read_csv(io.StringIO(told))
    expected = model.predict(X, cost=minrisk.costs.read_cost(tmp_path / "c.csv"))
    assert frame["decision"].tolist() == expected.tolist() != model.predict(X).tolist()
    assert list(frame)[1:] == ["probability of bad", "probability of fair", "probability of good"]
    np.testing.assert_allclose(frame.iloc[:, 1:], model.predict_proba(X))


def test_predict_takes_other_class_shares_and_limits(folder, tmp_path):
    out, X = tmp_path / "m.minrisk", grades(60, seed=1)[["a", "b"]]
    run("fit", folder / "plain.csv", f"--target grade --n-estimators 5 --out {out}")
    model, shares = minrisk.load(out), {"bad": 0.6, "fair": 0.3, "good": 0.1}

    def decided(*options):
        return pd.read_csv(io.StringIO(run("predict", out, folder / "new.csv", *options)))

    told = decided("--priors bad=0.6,fair=.3,good=0.1 --probabilities")
    assert told["decision"].tolist() == model.predict(X, priors=shares).tolist() != model.predict(X).tolist()
    np.testing.assert_allclose(told.iloc[:, 1:], model.predict_proba(X, priors=shares))
    for limits, option in (
        ({"good": 7}, "--limit good=7"),
        ({"good": 0.05, "bad": (10, 30)}, "--limit good=5% --limit bad=10..30"),
        ({"good": (0.5, None)}, "--limit good=0.5.."),
    ):
        assert decided(option)["decision"].tolist() == model.predict(X, limits=limits).tolist()
    result = invoke("predict", out, folder / "new.csv", "--priors estimate")
    assert result.exit_code == 0 and "shares of the" in result.stderr
    for options, words in (
        ("--priors bad=0.6,fair=0.3", "good"),
        ("--priors most", "LABEL=NUMBER"),
        ("--limit good=few", "must be a number"),
        ("--limit good=1 --limit good=2", "once"),
        ("--limit best=1", "best"),
        ("--limit good=1 --limit bad=1 --limit fair=1", "3"),
    ):
        assert words in refused("predict", out, folder / "new.csv", options)


def test_values_that_training_did_not_have_are_named(tmp_path):
    rows = [(n % 3, shade, "bad" if shade == "red" else "good") for n in range(40) for shade in ("red", "blue")]
    pd.DataFrame(rows, columns=["a", "shade", "grade"]).to_csv(tmp_path / "train.csv", index=False)
    run("fit", tmp_path / "train.csv", f"--target grade --categorical shade --out {tmp_path}/model")
    new = pd.DataFrame({"a": [1, 2, 0, 1], "shade": ["teal", "red", None, "teal"], "grade": "bad"})
    for shades, said, n_rows in (
        (new["shade"], "['teal']", 2),
        (new["shade"].fillna("gold"), "['teal', 'gold']", 3),
        ("red", None, 0),
    ):
        new.assign(shade=shades).to_csv(tmp_path / "new.csv", index=False)
        told = f"column 'shade' of {tmp_path / 'new.csv'} holds what training did not: {said}"
        for command, *more in (["predict"], ["evaluate", "--target grade"]):
            result = invoke(command, tmp_path / "model", tmp_path / "new.csv", *more)
            assert result.exit_code == 0, result.output
            notes = [line for line in result.stderr.splitlines() if "shade" in line]
            assert notes == ([f"minrisk: note: {told}, taken as missing in {n_rows} rows"] if said else [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--costs uniform", "decides by the costs it was trained on"),
        ("--limit good=1", "decides by the costs it was trained on"),
        ("--probabilities", "has no probabilities"),
    ],
)
def test_predict_says_what_a_model_cannot_do(folder, tmp_path, options, words):
    out, given = tmp_path / "m.minrisk", "--surrogate coupled" if options == "--probabilities" else "--method rebel"
    run("fit", folder / "plain.csv", f"--target grade {given} --n-estimators 2 --out {out}")
    assert words in refused("predict", out, folder / "new.csv", options)


def test_predict_leaves_other_columns_alone_and_says_so(folder):
    result = invoke("predict", folder / "grade.minrisk", folder / "test.parquet")
    assert result.exit_code == 0 and result.stderr.count("\n") == 1
    assert result.stderr.endswith("column of " + str(folder / "test.parquet") + " not used: 'id'\n")  # not the target
    assert result.stdout == run("predict", folder / "grade.minrisk", folder / "new.csv")
    assert len(run("predict", folder / "bare.minrisk", folder / "new.csv").splitlines()) == 61


@pytest.mark.parametrize("name", MODELS)
def test_evaluate(folder, name):
    frame = grades(60, seed=1)
    path = folder / f"{name}.minrisk"
    model = minrisk.load(path)
    y, decided = frame["grade"].to_numpy(dtype=str), model.predict(frame[["a", "b"]])
    facts = as_json("evaluate", path, folder / "plain.csv")
    assert facts["risk"] == expected_cost(y, decided, model.cost_)
    assert facts["error"] == pytest.approx(np.mean(y != decided))
    assert facts["best_constant"]["cost"] == best_constant_cost(y, model.cost_)
    assert facts["regret"] == pytest.approx(facts["risk"] - facts["best_constant"]["cost"])
    costs = [row["cost"] for row in facts["confusions"]]
    assert costs == sorted(costs, reverse=True) and sum(costs) == pytest.approx(60 * facts["risk"])
    assert sum(row["share"] for row in facts["confusions"]) == pytest.approx(1)
    assert sum(row["count"] for row in facts["confusions"]) == (y != decided).sum()
    assert (facts["rows"], facts["target"], facts["costs"]) == (60, "grade", "the model's")
    same = as_json("evaluate", path, folder / "test.parquet", "--target grade")
    assert same["confusions"] == facts["confusions"]


@pytest.mark.parametrize("name", MODELS)
def test_evaluate_by_other_costs(folder, name):
    blind = as_json("evaluate", folder / f"{name}.minrisk", folder / "plain.csv", "--costs uniform")
    assert blind["risk"] == pytest.approx(blind["error"]) and blind["costs"] == "uniform"
    other = f"--target grade --costs {folder}/costs.csv"
    assert as_json("evaluate", folder / "bare.minrisk", folder / "plain.csv", other)["risk"] > 0


@pytest.mark.parametrize("method", ["rebel", "minrisk"])
@pytest.mark.parametrize("numbers", [False, True])
def test_costs_hold_for_classes_that_the_training_rows_lack(folder, tmp_path, method, numbers):
    names = {"bad": 1, "fair": 2, "good": 3} if numbers else {name: name for name in ("bad", "fair", "good")}
    train = grades().assign(grade=lambda frame: frame["grade"].map(names))
    few = train[train["grade"] != names["good"]]
    few.to_csv(tmp_path / "few.csv", index=False)
    train.to_csv(tmp_path / "all.csv", index=False)
    bad, fair, good = names.values()
    (tmp_path / "costs.csv").write_text(
        f"true,{bad},{fair},{good},ask\n{good},2,1,0,.5\n{fair},3,0,1,.5\n{bad},0,4,9,.5\n"
    )
    options = f"--drop id --method {method} --n-estimators 4"
    made = invoke(
        "fit", tmp_path / "few.csv", "--target grade", options, f"--costs {tmp_path}/costs.csv --out {tmp_path}/m"
    )
    assert made.exit_code == 0, made.output
    assert f"column 'grade' does not hold ['{names['good']}'], of which the costs in" in made.stderr
    model = minrisk.load(tmp_path / "m")
    assert model.decisions_.tolist()[:2] == [names["bad"], names["fair"]] and len(model.decisions_) == 3
    facts = as_json("evaluate", tmp_path / "m", tmp_path / "all.csv")
    X, y = train[["a", "b"]], train["grade"]
    stated = CostMatrix([[2, 1, 0, 0.5], [3, 0, 1, 0.5], [0, 4, 9, 0.5]], [good, fair, bad], [bad, fair, good, "ask"])
    assert facts["risk"] == pytest.approx(expected_cost(y, model.predict(X), stated))
    assert facts["risk"] == pytest.approx(1 - model.score(X, y))
    again = invoke("evaluate", tmp_path / "m", tmp_path / "all.csv", f"--costs {tmp_path}/costs.csv --json")
    assert json.loads(again.stdout)["risk"] == pytest.approx(facts["risk"])
    assert f"does not hold ['{names['good']}']" in again.stderr
    if method == "minrisk":
        decided = run("predict", tmp_path / "m", tmp_path / "all.csv", f"--costs {tmp_path}/costs.csv")
        assert decided.split()[1:] == [str(label) for label in model.predict(X)]


def test_without_costs_classes_that_the_model_does_not_know_are_mistakes(folder, tmp_path):
    few = grades().query("grade != 'good'")
    few.to_csv(tmp_path / "few.csv", index=False)
    run("fit", tmp_path / "few.csv", f"--target grade --drop id --method rebel --n-estimators 4 --out {tmp_path}/m")
    model, test = minrisk.load(tmp_path / "m"), grades(60, seed=1)
    for options in ([], ["--costs", "uniform"]):
        told = invoke("evaluate", tmp_path / "m", folder / "plain.csv", "--json", *options)
        facts = json.loads(told.stdout)
        assert facts["risk"] == facts["error"] == pytest.approx(1 - model.score(test[["a", "b"]], test["grade"]))
        assert "which the model does not know: decisions for these rows count as mistakes" in told.stderr
        assert "holds ['good']" in told.stderr
    run("evaluate", tmp_path / "m", folder / "plain.csv", f"--costs {folder}/costs.csv")


def test_labels_that_the_model_does_not_know_take_no_square_of_memory(folder, tmp_path):
    """As of a column of names by mistake."""
    test = grades(6000, seed=1)
    test["grade"] = [grade if k % 3 else f"name {k}" for k, grade in enumerate(test["grade"])]
    test.to_csv(tmp_path / "names.csv", index=False)
    tracemalloc.start()
    facts = as_json("evaluate", folder / "grade.minrisk", tmp_path / "names.csv", "--costs uniform")
    assert tracemalloc.get_traced_memory()[1] < 40e6  # it was 160
    tracemalloc.stop()
    assert 1 / 3 < facts["risk"] == facts["error"] and len(facts["confusions"]) > 2000
    assert facts["best_constant"]["decision"] in ("bad", "fair", "good")


@pytest.mark.parametrize("name", MODELS)
def test_evaluate_as_tables(folder, name):
    text = run("evaluate", folder / f"{name}.minrisk", folder / "plain.csv")
    for words in ("mean cost", "error", "best constant", "regret", "Costliest confusions", "cost each", "share", "%"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("prices", [{"ask": 0.6}, {"nurse": 0.45, "doctor [x]": [0.5, 0.3, 0.5]}], ids=["one", "two"])
def test_referred_rows_are_no_errors(tmp_path, prices, weighed):
    names = ["bad", "fair", "good"]
    table = np.column_stack([1 - np.eye(3), *(np.broadcast_to(price, 3) for price in prices.values())])
    train, test = grades(200), grades(150, seed=1).assign(w=1 + np.arange(150) % 3)
    model = minrisk.REBELClassifier(CostMatrix(table, names, [*names, *prices]), n_estimators=20)
    minrisk.save(model.fit(train[["a", "b"]], train["grade"]), tmp_path / "m")
    test.to_csv(tmp_path / "t.csv", index=False)
    call = ("evaluate", tmp_path / "m", tmp_path / "t.csv", "--target grade", *(["--weight", "w"] if weighed else []))
    facts, text = as_json(*call), " ".join(run(*call).split())

    pairs = list(zip(test["grade"], model.predict(test[["a", "b"]]), test["w"] if weighed else [1] * 150, strict=True))
    whole = sum(weight for *_, weight in pairs)
    right = sum(weight for true, decided, weight in pairs if decided == true)
    wrong = sum(weight for true, decided, weight in pairs if decided in names and decided != true)
    counts = {name: sum(weight for _, decided, weight in pairs if decided == name) for name in prices}
    assert min(right, wrong, *counts.values()) > 0 and right + wrong + sum(counts.values()) == whole
    assert facts["error"] == pytest.approx(wrong / whole)
    assert facts["referred"] == [
        {"decision": name, "count": count, "share": pytest.approx(count / whole)} for name, count in counts.items()
    ]
    assert f"error {100 * wrong / whole:.2f} % of all rows: decided for another class than the true one" in text
    assert f"right {100 * right / whole:.2f} % of all rows: decided for the true class" in text
    each = ", ".join(f"{name!r} {100 * count / whole:.2f} %" for name, count in counts.items())
    one, several = "decided 'ask', which is no class", f"decided {each}, which are no classes"
    referred = 100 * sum(counts.values()) / whole
    assert f"referred {referred:.2f} % of all rows: {one if len(prices) == 1 else several}" in text


def test_without_a_decision_that_is_no_class_nothing_is_referred(folder):
    call = ("evaluate", folder / "grade.minrisk", folder / "plain.csv")
    facts, text = as_json(*call), " ".join(run(*call).split())
    assert "referred" not in facts and "referred" not in text and "of all rows" not in text
    assert f"error {100 * facts['error']:.2f} % best constant" in text


def test_where_all_rows_are_referred_none_is_wrong(tmp_path):
    X, y = np.zeros((9, 1)), np.array(["a", "b", "c"] * 3)
    cost = CostMatrix([[0, 1, 1, 0.1], [1, 0, 1, 0.1], [1, 1, 0, 0.1]], ["a", "b", "c"])
    minrisk.save(minrisk.REBELClassifier(cost, n_estimators=2).fit(X, y), tmp_path / "m")
    pd.DataFrame({"x0": X[:, 0], "y": y, "w": 0.1}).to_csv(tmp_path / "t.csv", index=False)
    text = " ".join(run("evaluate", tmp_path / "m", tmp_path / "t.csv", "--target y --weight w").split())
    assert "error 0.00 % of all rows" in text and "referred 100.00 % of all rows" in text and "right 0.00 % of" in text


def test_regret_of_decisions_that_are_all_the_same_is_none(tmp_path):
    frame = pd.DataFrame({"x": np.zeros(90), "y": np.repeat(["a", "b", "c"], [24, 34, 32])})
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "c.csv").write_text("true,a,b,c,ask\na,0,1,1,.3\nb,1,0,1,.3\nc,1,1,0,.3\n")
    run("fit", tmp_path / "t.csv", f"--target y --costs {tmp_path}/c.csv --method rebel --out {tmp_path}/m")
    assert as_json("evaluate", tmp_path / "m", tmp_path / "t.csv")["regret"] == 0
    text = " ".join(run("evaluate", tmp_path / "m", tmp_path / "t.csv").split())
    assert "regret +0: the decisions cost no less than the best constant one, which looks at no row" in text


def test_evaluate_without_a_costly_decision(tmp_path):
    frame = pd.DataFrame({"x": [0.0, 1] * 10, "y": ["a", "b"] * 10})
    frame.to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", f"--target y --n-estimators 3 --out {tmp_path}/m")
    assert "No decision cost anything" in run("evaluate", tmp_path / "m", tmp_path / "t.csv")
    frame.iloc[::2].to_csv(tmp_path / "one.csv", index=False)  # one class only: the best constant costs nothing
    assert "no less than the best constant" in run("evaluate", tmp_path / "m", tmp_path / "one.csv")


@pytest.mark.parametrize("method", ESTIMATORS)
def test_labels_and_names_with_brackets_are_shown_as_they_are(tmp_path, method):
    names = {"x [m]": [0.0, 1, 0, 2] * 5, "[red]y": ["[bold]a", "b"] * 10}
    pd.DataFrame(names).to_csv(tmp_path / "t[1].csv", index=False)
    text = run("fit", tmp_path / "t[1].csv", f"--target [red]y --n-estimators 1 --out {tmp_path}/m --method {method}")
    text += run("evaluate", tmp_path / "m", tmp_path / "t[1].csv") + run("show", tmp_path / "m")
    assert "[bold]a" in text and "[red]y" in text and "x [m]" in text


def test_many_classes_are_summed_up(tmp_path):
    y = np.arange(300) % 15
    x = np.random.default_rng(0).normal(size=300) + y / 4
    pd.DataFrame({"x": x, "y": y}).to_csv(tmp_path / "t.csv", index=False)
    run("fit", tmp_path / "t.csv", f"--target y --n-estimators 1 --out {tmp_path}/m")
    assert " more " in run("evaluate", tmp_path / "m", tmp_path / "t.csv")
    text = run("show", tmp_path / "m")
    assert "15 true classes x 15 decisions; --json" in text and "(15 in all)" in text


def test_show(folder):
    facts = as_json("show", folder / "grade.minrisk")
    model = minrisk.load(folder / "grade.minrisk")
    assert facts["algorithm"] == "REBELClassifier" and facts["classes"] == ["bad", "fair", "good"]
    assert facts["costs"] == [[0, 4, 9], [3, 0, 1], [2, 1, 0]] and facts["rounds"] == 8
    assert facts["train_risk"] == model.train_risk_.tolist() and len(facts["train_loss"]) == 9
    assert sum(row["share"] for row in facts["importance"]) == pytest.approx(1)
    assert {row["feature"] for row in facts["importance"]} == {"a", "b"}
    text = run("show", folder / "grade.minrisk")
    for words in ("REBELClassifier", "max_depth 4", "bad, fair, good", "Costs (row: the truth", "important features"):
        assert words in text
    assert "column 1" in run("show", folder / "bare.minrisk")
    assert "costs of its own for every row" in run("show", folder / "per_row.minrisk")
    assert as_json("show", folder / "per_row.minrisk")["costs"] is None


def test_show_of_validated_rounds(folder, tmp_path):
    how = "--target grade --method rebel --early-stopping --n-estimators 5"
    run("fit", folder / "plain.csv", f"{how} --out {tmp_path}/m")
    assert "validated cost" in run("show", tmp_path / "m")


def test_show_of_the_flagship(folder):
    facts = as_json("show", folder / "flagship.minrisk")
    model = minrisk.load(folder / "flagship.minrisk")
    assert (facts["algorithm"], facts["surrogate"]) == ("MinRiskClassifier", model.surrogate_)
    assert facts["selection"] == model.selection_ and facts["link"] == model.model_.link
    assert facts["train_risk"] is None and facts["validation_loss"] == model.validation_loss_.tolist()
    assert 0 < facts["trees"] <= model.model_.n_trees and facts["rounds"] == model.n_iter_
    assert {row["feature"] for row in facts["importance"]} == {"a", "b"}
    text = run("show", folder / "flagship.minrisk")
    for words in (
        f"MinRiskClassifier, surrogate {model.surrogate_}",
        "bad, fair, good",
        "linear features",
        f"{model.n_iter_}, {facts['trees']} trees",
        "validated loss",
        "Candidates",
        "Costs (row: the truth",
    ):
        assert words in text
    landmarks = 0 if model.model_.smooth is None else model.model_.smooth.landmarks.shape[1]
    assert facts["landmarks"] == landmarks
    assert re.search(f"smooth scores +{f'kernels around {landmarks} rows' if landmarks else 'none'}", text)
    for row in model.selection_:
        share = f"{100 * row['share']:.1f} %" if row["share"] else "–"
        numbers = printing.number(row["temperature"]), printing.number(row["risk"])
        cells = row["variant"], share, str(row["n_rounds"]), *numbers
        assert re.search(" +".join(map(re.escape, cells)), text), cells
    assert ("without a share" in text) == any(row["share"] == 0 for row in model.selection_)
    assert "training cost" not in text and "surrogate   " not in text.partition("Candidates")[2]


def test_show_of_a_surrogate_trained_on_costs(folder, tmp_path):
    how = f"--target grade --costs {folder}/costs.csv --surrogate coupled --n-estimators 9"
    run("fit", folder / "plain.csv", f"{how} --out {tmp_path}/m")
    text = run("show", tmp_path / "m")
    assert "validated cost" in text and "validated loss" not in text
    assert re.search(r"linear features +none", text) and re.search(r"plain +100.0 %", text) and "together" not in text


def selected(surrogate, variant, share, risk=0.25):
    told = {"surrogate": surrogate, "variant": variant, "share": share, "risk": risk}
    return told | {"n_rounds": 20, "temperature": 2.5, "pooled_risk": 0.125}


@pytest.mark.parametrize("columns", [80, 120])
def test_candidates_in_a_table(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [
        selected("softmax", "plain", 0.75),
        selected("softmax", "random", 0.25),
        selected("softmax", "gentle", 0.0),
        selected("exponential", "plain", 1.0, None),
    ]
    facts = {"selection": rows, "surrogate": "softmax", "rounds": 30, "temperature": 1.5}
    show._print_selection(printing.Terminal(), facts)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[2] == "surrogate candidate share rounds temperature mean cost"
    assert lines[4:9] == [
        "softmax plain 75.0 % 20 2.5 0.25",
        "softmax random 25.0 % 20 2.5 0.25",
        "softmax gentle – 20 2.5 0.25",
        "exponential plain – 20 2.5 –",
        "softmax together 100.0 % 30 1.5 0.125",
    ]
    assert "A candidate without a share is not in the model" in " ".join(lines[9:])


def test_warmup_says_that_nothing_is_to_be_done():
    assert "Nothing is to be done: the kernels come compiled" in run("warmup")


# -- what is refused -----------------------------------------------------------------------------------------------
def fit_with(*options, data="train.csv", target="grade", out="new.minrisk", rounds="2"):
    return ("fit", "{}/" + data, "--target", target, "--n-estimators", rounds, "--out", "{}/" + out, *options)


REFUSED = {
    "no command": ("nonsense", "No such command 'nonsense'. Try 'minrisk --help'"),
    "no target": ("fit {}/train.csv --out {}/m", "Missing option '--target'. Try 'minrisk fit --help'"),
    "no out": ("fit {}/train.csv --target grade", "Missing option '--out'"),
    "unknown option": (fit_with("--depth 3"), "No such option"),
    "rounds": (fit_with(rounds="0"), "'--n-estimators': 0 is not in the range"),
    "rounds word": (fit_with(rounds="many"), "'many' is not a valid integer"),
    "depth": (fit_with("--max-depth 65"), "'--max-depth': 65 is not in the range"),
    "rate": (fit_with("--learning-rate 0"), "'--learning-rate': 0.0 is not in the range"),
    "rate nan": (fit_with("--learning-rate nan"), "learning.rate"),
    "loss": (fit_with("--loss hinge"), "'hinge' is not one of"),
    "method": (fit_with("--method forest"), "'forest' is not one of 'minrisk', 'rebel'"),
    "loss of minrisk": (
        fit_with("--loss logistic"),
        "--loss applies to --method rebel or similarities or stagewise or multiboost or mcboost only: leave it out, or train",
    ),
    "offset of minrisk": (fit_with("--offset paper"), "--offset applies to --method rebel or similarities only"),
    "neighbours of rebel": (
        fit_with("--n-neighbors 9 --method rebel"),
        "--n-neighbors applies to --method similarities only",
    ),
    "stopping of minrisk": (
        fit_with("--method minrisk --early-stopping"),
        "--early-stopping applies to --method rebel",
    ),
    "surrogate of rebel": (
        fit_with("--surrogate gll --method rebel"),
        "--surrogate applies to --method minrisk only: leave it out, or train with --method minrisk",
    ),
    "budget of rebel": (fit_with("--method rebel --time-budget 0"), "--time-budget applies to --method minrisk"),
    "surrogate": (fit_with("--surrogate hinge"), "'hinge' is not one of"),
    "budget": (fit_with("--time-budget -1"), "'--time-budget': -1.0 is not in the range"),
    "budget endless": (fit_with("--time-budget inf"), "'--time-budget': must be a finite number, got inf"),
    "rate endless": (fit_with("--learning-rate inf"), "'--learning-rate': must be a finite number, got inf"),
    "offset": (fit_with("--offset loose"), "'loose' is not one of"),
    "seed": (fit_with("--seed -1"), "'--seed': -1 is not in the range"),
    "jobs": (fit_with("--n-jobs 0"), "'--n-jobs': must be a number of threads"),
    "no data": (fit_with(data="gone.csv"), "there is no file .*gone.csv"),
    "folder as data": (fit_with(data=""), "must be a file, but is a folder"),
    "spreadsheet": (fit_with(data="train.xlsx"), "must be a table whose name ends in .csv, .csv.gz or .parquet"),
    "empty data": (fit_with(data="empty.csv"), "empty.csv is empty"),
    "no rows": (fit_with(data="header.csv"), "holds column names but no rows"),
    "target missing": (fit_with(target="Grade"), r"no column 'Grade', named by --target; its columns are \['id', 'a'"),
    "semicolons": (fit_with("--delimiter ,", data="semicolons.csv"), "say by --delimiter what separates them"),
    "delimiter": (fit_with("--delimiter ab"), "'--delimiter': must be one ASCII character, or tab; got 'ab'"),
    "delimiter beyond ASCII": (
        fit_with("--delimiter é"),
        "'--delimiter': must be one ASCII character, or tab; got 'é'",
    ),
    "option twice": (
        fit_with("--n-estimators=3"),
        "--n-estimators must be given once, got it 2 times. Try 'minrisk fit",
    ),
    "folder to be": (fit_with(out="nodir/"), "nodir/ cannot be written: it is a folder; give the name of a file"),
    "decisions in a folder to be": ("predict m t.csv --out nodir/", "nodir/ cannot be written: it is a folder"),
    "long name of data": (fit_with(data="x" * 5000 + ".csv"), "there is no file .*x{90}"),
    "long name of costs": (fit_with("--costs", "x" * 5000), "got 'x{99}…', which is no file"),
    "long name of a model": (["show", "x" * 5000], "the model x{90}.* does not exist"),
    "long power": (fit_with("--costs", "ordinal:" + "9" * 5000), "ordinal:9{90}.*needs classes that are numbers"),
    "decimal": (fit_with("--decimal ;"), "'--decimal': ';' is not one of"),
    "encoding": (fit_with("--encoding klingon"), "must be an encoding such as utf-8, cp1252 or utf-16; got 'klingon'"),
    "no text encoding": (fit_with("--encoding base64"), "must be an encoding such as"),
    "wrong encoding": (fit_with("--encoding utf-8", data="latin.csv"), "is not text in utf-8, as --encoding says"),
    "spreadsheet as csv": (
        fit_with(data="sheet.csv"),
        "holds a spreadsheet or an archive and not text: save the table",
    ),
    "two streams": ("predict - -", "standard input .* can be read for one thing only"),
    "loss of another": (
        fit_with("--method rebel --loss gll"),
        "--loss with --method rebel must be one of 'exponential', 'logistic', 'squared', got 'gll'",
    ),
    "many percentages": (
        fit_with(data="rates.csv"),
        "holds 30 texts in 30 rows: they are percentages such as '0%', remove the sign %; leave it out with --drop, or say by --categorical",
    ),
    "percent": (fit_with(data="percent.csv"), r"holds text \('12%' in row 3\): .*percentages, remove the sign %"),
    "drop missing": (fit_with("--drop x"), "no column 'x', named by --drop"),
    "two drops missing": (fit_with("--drop x --drop y"), r"no columns \['x', 'y'\], named by --drop"),
    "target dropped": (fit_with("--drop grade"), "would leave out the target"),
    "nothing left": (fit_with("--drop id --drop a --drop b"), "no column left to learn from"),
    "text": (
        fit_with(data="text.csv"),
        r"column 'colour' of .*text.csv holds text \('red' in row 2\).*--drop.*--categorical",
    ),
    "category": (fit_with("--categorical shade"), "has no column 'shade', named by --categorical"),
    "category target": (fit_with("--categorical grade"), "--categorical grade names the target"),
    "labels missing": (fit_with(data="holes.csv"), r"column 'grade' .* 1 of 3 are missing \(the first in row 2\)"),
    "one class": (fit_with(data="same.csv"), "must hold at least two classes, got only 'bad'"),
    "names as target": (fit_with("--drop grade", target="id"), "looks like a name or a measurement"),
    "numbers as target": (fit_with(target="a"), "must hold class labels, but row 1 holds the number"),
    "costs missing": (fit_with("--costs gone"), "--costs must be a CSV file, 'uniform'.*got 'gone', which is no file"),
    "costs label": (fit_with("--costs {}/label.csv"), r"got none for \['good'\] while \['poor'\] are no classes there"),
    "costs incomplete": (
        fit_with("--costs {}/short.csv"),
        "must have a row for every class of column 'grade', got none for",
    ),
    "costs misspelt": (fit_with("--costs {}/slip.csv"), "'goood'"),
    "costs negative": (
        fit_with("--costs {}/negative.csv"),
        r"the cost of deciding 'fair' where 'bad' is true, .* must be no less than the 0 of the correct decision, got -4: raise it to that or more\.",
    ),
    "costs diagonal": (
        fit_with("--costs {}/diagonal.csv"),
        "is that of a correct decision and must be 0, got 1: subtract 1 from all costs of the row",
    ),
    "costs word": (fit_with("--costs {}/word.csv"), "must be a number, got 'x'"),
    "costs empty": (fit_with("--costs {}/empty.csv"), "must have a header"),
    "ordinal text": (fit_with("--costs ordinal"), "needs classes that are numbers"),
    "ordinal power": (fit_with("--costs ordinal:x", data="numbers.csv"), "the power must be a number above 0"),
    "ordinal zero": (fit_with("--costs ordinal:0", data="numbers.csv"), "the power must be a number above 0"),
    "ordinal nan": (fit_with("--costs ordinal:nan", data="numbers.csv"), "the power must be a number above 0"),
    "out folder": (fit_with(out="gone/m"), "cannot be written: the folder .*gone does not exist"),
    "out in file": (fit_with(out="train.csv/m"), "cannot be written: the folder .*train.csv is no folder"),
    "out is folder": (fit_with(out=""), "cannot be written: it is a folder"),
    "out is data": (fit_with(out="train.csv"), "would overwrite .*train.csv"),
    "no model": ("predict {}/gone {}/new.csv", "the model .*gone does not exist"),
    "model is folder": ("show {}", "the model .* is a folder"),
    "model is table": ("show {}/train.csv", "is not a minrisk model file"),
    "model cut": ("show {}/cut.minrisk", "is damaged: its checksum does not match"),
    "model cut early": ("predict {}/stub.minrisk {}/new.csv", "is not a minrisk model file, or is cut short"),
    "model hurt": ("evaluate {}/hurt.minrisk {}/plain.csv", "is damaged: its checksum does not match"),
    "no columns": ("predict {}/grade.minrisk {}/b.csv", "no column 'a', which the model was trained on"),
    "bare columns": ("predict {}/bare.minrisk {}/b.csv", "must have the 2 feature columns"),
    "text to predict": ("predict {}/grade.minrisk {}/words.csv", r"column 'b' .*holds text \('three' in row 2\)"),
    "predict to": ("predict {}/grade.minrisk {}/new.csv --out {}/d.txt", "name ends in .csv, .csv.gz or"),
    "predict nowhere": ("predict {}/grade.minrisk {}/new.csv --out {}/x/d.csv", "x does not exist"),
    "refer with stagewise": (
        fit_with("--method stagewise --costs {}/ask.csv"),
        "--method stagewise wants .* as 'refer': train without it, or with --method minrisk, which",
    ),
    "bayes of gll": (
        fit_with("--method mcboost --decision bayes --loss gll --costs {}/costs.csv"),
        "--loss gll with these costs .* use --loss mc ",
    ),
    "costs below the right one": (
        fit_with("--costs {}/below.csv"),
        "no less than the 1 of the correct decision, got 0: raise it to that or "
        "more, and then take the cost of the correct decision from all costs of the row",
    ),
    "costs as gains": (
        fit_with("--costs {}/gains.csv"),
        "a correct decision and must be 0, got -5: add 5 to all costs of the row",
    ),
    "costs of a class never decided": (
        fit_with("--costs {}/never.csv"),
        "must be zero or more, got -2: add 2 to all costs of the row",
    ),
    "predict over": ("predict {}/grade.minrisk {}/new.csv --out {}/new.csv", "would overwrite"),
    "which target": ("evaluate {}/refer.minrisk {}/test.csv", r"does not know, \['id', 'grade'\]: choose .*--target"),
    "no truth": ("evaluate {}/refer.minrisk {}/new.csv", "no column besides the features"),
    "target lost": ("evaluate {}/grade.minrisk {}/new.csv", "no column 'grade', the target of the model"),
    "keep": ("predict {}/grade.minrisk {}/new.csv --keep a,id", "no column 'id', named by --keep"),
    "keep decision": ("predict {}/grade.minrisk {}/decision.csv --keep decision", "two columns of that name"),
    "bare target": ("evaluate {}/bare.minrisk {}/plain.csv", "trained without column names"),
    "feature as target": ("evaluate {}/grade.minrisk {}/plain.csv --target a", "is a feature of the model"),
    "evaluate target": ("evaluate {}/grade.minrisk {}/plain.csv --target x", "no column 'x', named by"),
    "new class": ("evaluate {}/grade.minrisk {}/class.csv", "column 'grade' .*holds 'awful', which is no class"),
    "new class beside costs": (
        "evaluate {}/grade.minrisk {}/classes.csv",
        "column 'grade' .*holds 'awful', which is no class of the model nor of the costs",
    ),
    "evaluate costs": ("evaluate {}/grade.minrisk {}/plain.csv --costs {}/label.csv", r"\['poor'\] are no classes"),
    "evaluate refer": (
        "evaluate {}/refer.minrisk {}/plain.csv --costs {}/costs.csv",
        "nothing about the decision 'refer'",
    ),
    "evaluate per row": ("evaluate {}/per_row.minrisk {}/plain.csv", "trained with costs per row"),
    "demo in file": ("demo --out {}/train.csv", "the folder .*train.csv cannot be made: it is a file"),
    "demo below file": ("demo --out {}/train.csv/x", "cannot be made"),
}


@pytest.fixture(scope="module")
def bad(folder):
    """More files beside the good ones, each wrong in its own way."""
    table = "true,bad,fair,good\nbad,0,4,9\nfair,3,0,1\ngood,2,1,0\n"
    whole = (folder / "grade.minrisk").read_bytes()
    files = {
        "empty.csv": "",
        "header.csv": "a,b,grade\n",
        "semicolons.csv": "a;b;grade\n1;2;bad\n",
        "text.csv": "a,colour,grade\n1,3,bad\n2,red,good\n3,4,bad\n",
        "holes.csv": "a,grade\n1,bad\n2,\n3,good\n",
        "same.csv": "a,grade\n1,bad\n2,bad\n",
        "b.csv": "b\n1\n",
        "words.csv": "a,b\n1,2\n3,three\n",
        "latin.csv": "a,grade\n1,gut\n2,mäßig\n".encode("latin-1"),
        "sheet.csv": b"PK\x03\x04 and more",
        "rates.csv": "a,rate,grade\n" + "".join(f"{k},{k}%,{'good' if k % 3 else 'bad'}\n" for k in range(30)),
        "percent.csv": "a,rate,grade\n1,1,bad\n2,2,good\n3,12%,bad\n",
        "decision.csv": "a,b,decision\n1,2,3\n",
        "class.csv": "a,b,grade\n1,2,awful\n",
        "classes.csv": "a,b,grade\n1,2,awful\n1,2,good\n",
        "label.csv": table.replace("good,2,1,0\n", "poor,2,1,0\n"),
        "short.csv": table.replace("good,2,1,0\n", ""),
        "slip.csv": table.replace("fair,good", "fair,goood"),
        "negative.csv": table.replace("4", "-4"),
        "ask.csv": "true,bad,fair,good,refer\nbad,0,4,9,1\nfair,3,0,1,1\ngood,2,1,0,1\n",
        "below.csv": table.replace("bad,0,4", "bad,1,0"),
        "gains.csv": table.replace("bad,0,4", "bad,-5,4"),
        "never.csv": "true,do,leave\nbad,1,-2\nfair,1,2\ngood,0,2\n",
        "diagonal.csv": table.replace("bad,0", "bad,1"),
        "word.csv": table.replace("9", "x"),
        "cut.minrisk": whole[:-9],
        "stub.minrisk": whole[:20],
        "hurt.minrisk": whole[:99] + b"?" + whole[100:],
    }
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_one_line(bad, case):
    args, message = REFUSED[case]
    line = refused(*(arg.replace("{}", str(bad)) for arg in (args.split() if isinstance(args, str) else args)))
    assert re.search(message, line), line
    assert not (bad / "new.minrisk").exists() and not list(bad.glob(".*"))


def test_an_unwritable_output_is_told_before_any_work(folder, monkeypatch):
    monkeypatch.setattr("minrisk.tables.files.open_table", lambda *args, **more: pytest.fail("the data were read"))
    assert "cannot be written" in refused(*(arg.replace("{}", str(folder)) for arg in fit_with(out="gone/m")))


def saving_to(monkeypatch, good):
    """Let the disk be full of everything but what `good` says."""
    real = minrisk.save

    def full_disk(model, path):
        if not good(Path(path)):
            raise OSError(28, "No space left on device", str(path))
        real(model, path)

    monkeypatch.setattr(minrisk, "save", full_disk)


@pytest.mark.parametrize("place", ["temporary", "home", "here"])
def test_a_finished_model_outlives_a_failed_write(folder, tmp_path, monkeypatch, place):
    for name in ("temporary", "home", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    saving_to(monkeypatch, lambda path: path.parents[1] == tmp_path / place)
    out = tmp_path / "m.minrisk"
    line = refused("fit", folder / "plain.csv", f"--target grade --n-estimators 2 --out {out}")
    (rescued,) = tmp_path.glob("*/minrisk-*/m.minrisk")
    assert f"{out} could not be written (No space left on device): the model was saved as {rescued} instead" in line
    assert minrisk.load(rescued).n_iter_ == 2
    assert len(list(tmp_path.glob("*/minrisk-*"))) == 1  # nothing is left where it failed


@pytest.mark.parametrize("error", [ValueError, TypeError])
def test_a_model_that_no_model_file_can_hold_is_kept(folder, tmp_path, monkeypatch, error):
    """What `save` refuses after a finished fit is there for Python all the same."""

    def refuse(model, path):
        raise error("This model cannot be saved, since it has horns.")

    monkeypatch.setattr(minrisk, "save", refuse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = tmp_path / "m.minrisk"
    line = refused("fit", folder / "plain.csv", f"--target grade --n-estimators 2 --out {out}")
    (kept,) = tmp_path.glob("minrisk-*/m.minrisk.joblib")
    assert f"it has horns; it was kept as {kept}, which joblib.load reads in Python." in line and not out.exists()
    assert joblib.load(kept).n_iter_ == 2


def test_a_model_that_nothing_can_hold_is_told(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    saving_to(monkeypatch, lambda path: False)
    line = refused("fit", folder / "plain.csv", f"--target grade --n-estimators 2 --out {tmp_path}/m")
    assert "make room and fit again" in line and not list(tmp_path.iterdir())


def test_the_model_is_kept_when_the_summary_fails(folder, tmp_path, monkeypatch):
    def broken(facts, **how):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("minrisk.cli.fit.print_fit", broken)
    out = tmp_path / "m.minrisk"
    result = invoke("fit", folder / "plain.csv", f"--target grade --n-estimators 2 --out {out}")
    assert result.exit_code == 0 and "Input/output error" in result.stderr and result.stderr.count("\n") == 1
    assert minrisk.load(out).n_iter_ == 2


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(KeyboardInterrupt(), 130, "minrisk: stopped."), (MemoryError(), 2, "minrisk: there is not enough memory")],
)
def test_interruptions(folder, tmp_path, monkeypatch, error, code, words, method):
    def stop(*args, **more):
        raise error

    monkeypatch.setattr(f"minrisk.algorithms.{ESTIMATORS[method]}.fit", stop)
    result = invoke("fit", folder / "plain.csv", f"--target grade --method {method} --out {tmp_path}/m")
    assert result.exit_code == code and result.stderr.strip().startswith(words) and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["click", "rich", "pandas", "pyarrow"])
def test_missing_extras_are_one_line(monkeypatch, capsys, name):
    monkeypatch.setattr(cli, "find_spec", lambda module: None if module == name else object())
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    line = capsys.readouterr().err
    assert line == f"minrisk: the command line needs {name}, not installed here: pip install 'minrisk[cli]'\n"


def test_numbers_and_courses_are_readable():
    numbers = (0, 0.25, 1234.56, 12345.6, -1e-7, 1e12)
    assert " ".join(map(printing.number, numbers)) == "0 0.25 1235 12,346 -1e-07 1e+12"
    assert show.spark([3.0, 2.0, 1.0]) == "█▅▁" and show.spark([1.0]) == "▁"


# -- real processes ------------------------------------------------------------------------------------------------
def process(*args, env=None, **more):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **(env or {})}
    command = [sys.executable, "-m", "minrisk", *arguments(*args)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, **more)


def test_process_predicts(folder):
    done = process("predict", folder / "grade.minrisk", folder / "new.csv")
    assert done.returncode == 0 and done.stdout == run("predict", folder / "grade.minrisk", folder / "new.csv")


def test_process_refuses_bad_input(folder):
    done = process("fit", "gone.csv", "--target y --out m", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "minrisk: there is no file gone.csv: correct the path.\n"


def test_what_is_read_from_standard_input_is_not_overwritten(folder, tmp_path):
    table = (folder / "plain.csv").read_bytes()
    (tmp_path / "t.csv").write_bytes(table)
    os.link(tmp_path / "t.csv", tmp_path / "other.csv")
    for command in (
        ("predict", folder / "grade.minrisk", "-"),
        ("predict", folder / "grade.minrisk", "/dev/stdin"),
        ("fit", "-", "--target", "grade"),
    ):
        for out in ("t.csv", "other.csv"):
            with open(tmp_path / "t.csv") as source:
                done = process(*command, "--out", tmp_path / out, stdin=source)
            assert done.returncode == 2 and re.search(
                f"^minrisk: --out .*{out} would overwrite .*: give another name", done.stderr
            )
            assert (tmp_path / "t.csv").read_bytes() == table


def test_costs_of_standard_input_are_called_so(folder):
    with open(folder / "costs.csv") as source:
        done = process("evaluate", folder / "grade.minrisk", folder / "plain.csv", "--costs -", stdin=source)
    assert done.returncode == 0 and re.search(r"costs +standard input\s", done.stdout)


def test_process_shows_help_without_heavy_imports():
    program = (
        "import sys; from minrisk.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit as leave: assert not leave.code\n"
        "heavy = {'sklearn', 'pandas', 'rich', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage:")


def test_process_keeps_a_model_that_outgrows_the_largest_file_allowed(folder, tmp_path):
    """The error is the system's own, in the middle of the file; the folder for temporary files is the same disk."""
    resource = pytest.importorskip("resource")
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))}
    out = tmp_path / "m.minrisk"
    out.write_bytes(b"old")
    options = f"--target grade --n-estimators 2 --out {out}"
    done = process("fit", folder / "plain.csv", options, env={"TMPDIR": str(tmp_path), "HOME": str(tmp_path)}, **limit)
    assert done.returncode == 2 and done.stdout == "", done.stderr
    assert f"minrisk: {out} could not be written (File too large; make room there" in done.stderr
    assert out.read_bytes() == b"old" and [path.name for path in tmp_path.iterdir()] == ["m.minrisk"]


def test_a_model_whose_reader_leaves_is_kept(folder, tmp_path):
    command = f"{sys.executable} -m minrisk fit {folder / 'plain.csv'} --target grade --n-estimators 2 --out - | true"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=60,
    )
    (rescued,) = tmp_path.glob("minrisk-*/model.minrisk")
    assert done.returncode == 2 and str(rescued) in done.stderr and minrisk.load(rescued).n_iter_ == 2


def test_a_reader_that_leaves_is_no_error(folder):
    command = f"{sys.executable} -m minrisk show {folder / 'grade.minrisk'} --json | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode in (0, 1) and done.stderr == ""
