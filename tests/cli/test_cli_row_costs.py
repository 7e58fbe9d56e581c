"""Costs that columns hold: every command that trains, judges or decides goes by those of the rows."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

import minrisk
from tests.helpers.command_line import FEW, as_json, invoke, refused, run

FLAGSHIP = "--n-estimators 6"
COSTS = "true,fraud,honest,refer\nfraud,check,amount,5.5\nhonest,check,0,5.5\n"
OTHERS = "true,review,pay\nhonest,check,0\nfraud,check,amount\n"


def payments(n=240, seed=0):
    """Payments: what a check and a missed fraud cost is known of each."""
    rng = np.random.default_rng(seed)
    amount, night = rng.lognormal(2.5, 1.0, n).round(2), rng.integers(0, 2, n)
    fraud = rng.random(n) < 0.2 + 0.4 * night
    y = np.where(fraud, "fraud", "honest")
    return pd.DataFrame(
        {"night": night, "noise": rng.normal(size=n).round(3), "check": 5.0 + night, "amount": amount, "y": y}
    )


def matrices(frame):
    """What each decision costs each row, by the true class, (n, 2, 3)."""
    found = np.zeros((len(frame), 2, 3))
    found[:, :, 0], found[:, 0, 1], found[:, :, 2] = frame[["check"]], frame["amount"], 5.5
    return found


def lines(frame):
    return pd.DataFrame(
        matrices(frame)[np.arange(len(frame)), (frame["y"] == "honest").astype(int)],
        columns=["fraud", "honest", "refer"],
    )


def paid(frame, decided):
    table = lines(frame)
    return table.to_numpy()[np.arange(len(frame)), table.columns.get_indexer(np.asarray(decided))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    train, test = payments(), payments(100, seed=1)
    train.to_csv(place / "train.csv", index=False)
    train.to_parquet(place / "train.parquet", index=False)
    test.assign(often=np.arange(100) % 4).to_csv(place / "test.csv", index=False)
    test.drop(columns="y").to_csv(place / "new.csv", index=False)
    (place / "costs.csv").write_text(COSTS)
    (place / "others.csv").write_text(OTHERS)
    run("fit", place / "train.csv", f"--target y {FLAGSHIP} --out {place}/plain.minrisk")
    run("fit", place / "train.csv", f"--target y --costs {place}/costs.csv {FLAGSHIP} --out {place}/rows.minrisk")
    return place


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("method", [FLAGSHIP, FEW])
def test_fit_learns_from_costs_of_rows(folder, tmp_path, kind, method):
    how = f"--target y --costs {folder}/costs.csv {method} --out {tmp_path}/m --json"
    result = invoke("fit", folder / f"train.{kind}", how)
    assert result.exit_code == 0, result.output
    assert f"train.{kind} taken for costs, not for features: 'check', 'amount'" in result.stderr
    train, model = payments(), minrisk.load(tmp_path / "m")
    names = ["night", "noise"]
    alone = minrisk.REBELClassifier(n_estimators=5) if method == FEW else minrisk.MinRiskClassifier(n_estimators=6)
    alone.set_params(random_state=0).fit(train[names], train["y"], cost=lines(train))
    assert list(model.feature_names_in_) == names and model.cost_ is None
    np.testing.assert_array_equal(model.decision_function(train[names]), alone.decision_function(train[names]))
    constant = json.loads(result.stdout)["best_constant_cost"]
    assert constant == pytest.approx(lines(train).mean().min())


def test_evaluate_and_report_judge_by_the_costs_of_the_rows(folder, tmp_path):
    test, costs = payments(100, seed=1), f"--costs {folder}/costs.csv"
    for name, columns in (("rows", ["night", "noise"]), ("plain", ["night", "noise", "check", "amount"])):
        decided = minrisk.load(folder / f"{name}.minrisk").predict(test[columns])
        each = paid(test, decided)
        facts = as_json("evaluate", folder / f"{name}.minrisk", folder / "test.csv", costs)
        assert facts["risk"] == pytest.approx(each.mean()) and facts["rows"] == 100
        assert facts["best_constant"]["cost"] == pytest.approx(lines(test).mean().min())
        assert facts["best_constant"]["decision"] == lines(test).mean().idxmin()
        assert facts["total_cost"] == pytest.approx(each.sum())
        for cell in facts["confusions"]:
            own = each[(test["y"] == cell["true"]) & (decided == cell["decided"])]
            assert (cell["count"], cell["cost"]) == (len(own), pytest.approx(own.sum()))
            assert cell["cost_each"] == pytest.approx(own.mean())
        weighed = as_json(
            "evaluate", folder / f"{name}.minrisk", folder / "test.csv", f"{costs} --weight often --target y"
        )
        assert weighed["risk"] == pytest.approx(np.average(each, weights=np.arange(100) % 4))
        run("report", folder / f"{name}.minrisk", folder / "test.csv", f"{costs} --out {tmp_path}/r.html")
        page = (tmp_path / "r.html").read_text()
        assert f"{each.mean():.3g}" in page


def test_costs_that_are_known_decide(folder):
    test, costs = payments(100, seed=1), f"--costs {folder}/costs.csv"
    model = minrisk.load(folder / "plain.minrisk")
    p = model.predict_proba(test.drop(columns="y"))
    expected = np.einsum("ij,ijk->ik", p, matrices(test)).argmin(axis=1)
    expected = np.array(["fraud", "honest", "refer"])[expected]
    told = run("predict", folder / "plain.minrisk", folder / "new.csv", costs, "--keep amount").splitlines()
    assert [line.split(",")[1] for line in told[1:]] == expected.tolist() and len(set(expected)) == 3
    facts = as_json("evaluate", folder / "plain.minrisk", folder / "test.csv", f"{costs} --costs-known")
    assert facts["risk"] == pytest.approx(paid(test, expected).mean())


def test_tables_larger_than_a_block_keep_rows_and_costs_together(folder, monkeypatch):
    whole = run("predict", folder / "plain.minrisk", folder / "new.csv", f"--costs {folder}/costs.csv")
    from minrisk.cli import evaluate

    monkeypatch.setattr(evaluate, "ANSWERED_ROWS", 7)
    assert run("predict", folder / "plain.minrisk", folder / "new.csv", f"--costs {folder}/costs.csv") == whole


def test_decisions_that_are_no_classes(folder, tmp_path):
    costs = f"--costs {folder}/others.csv"
    run("fit", folder / "train.csv", f"--target y {costs} {FLAGSHIP} --out {tmp_path}/m")
    model, test = minrisk.load(tmp_path / "m"), payments(100, seed=1)
    decided = model.predict(test[["night", "noise"]])
    assert set(model.decisions_) == {"review", "pay"}
    each = np.where(decided == "review", test["check"], np.where(test["y"] == "fraud", test["amount"], 0.0))
    assert as_json("evaluate", tmp_path / "m", folder / "test.csv", costs)["risk"] == pytest.approx(each.mean())


@pytest.mark.parametrize("known", [False, True])
def test_compare_judges_by_the_costs_of_the_rows(folder, tmp_path, known):
    how = f"--target y --costs {folder}/costs.csv --methods rebel,badacost,minrisk,sklearn.naive_bayes.GaussianNB"
    more = "--costs-known" if known else ""
    methods = "rebel,sklearn.naive_bayes.GaussianNB"
    how = (
        f"--target y --costs {folder}/costs.csv --methods {methods} --cv 3 --n-jobs 1 --json --out {tmp_path}/f {more}"
    )
    result = invoke("compare", folder / "train.csv", how)
    assert result.exit_code == 0, result.output
    train = payments()
    features = ["night", "noise", *(["check", "amount"] if known else [])]
    by_hand = minrisk.compare(
        train[features],
        train["y"],
        minrisk.costs.reading.CostsPerRow(matrices(train), ("fraud", "honest", "refer"), ("fraud", "honest"))
        if known
        else lines(train),
        methods.split(","),
        cv=3,
    )
    found = pd.read_csv(tmp_path / "f" / "folds.csv")
    assert found["cost"].tolist() == pytest.approx(by_hand.rows["cost"].tolist())
    assert found["costs"].fillna("").tolist() == by_hand.rows["costs"].tolist()
    assert ("had the mean costs of each class" in result.stderr) is not known
    if not known:
        test = next(StratifiedKFold(3, shuffle=True, random_state=0).split(train, train["y"]))[1]
        assert len(test) == found["n_test"][0]


TYPO = COSTS.replace("amount", "amuont")
WRONG = {
    "a typo": (
        "fit {0}/train.csv --target y --costs {1}/typo.csv --out {1}/m",
        "must be a number, got 'amuont': correct the file, or write the name of a column of",
    ),
    "evaluate a typo": ("evaluate {0}/rows.minrisk {0}/test.csv --costs {1}/typo.csv", "got 'amuont'.* a column of"),
    "predict a typo": ("predict {0}/plain.minrisk {0}/new.csv --costs {1}/typo.csv", "got 'amuont'.* a column of"),
    "compare a typo": ("compare {0}/train.csv --target y --costs {1}/typo.csv", "got 'amuont'.* a column of"),
    "words": (
        "fit {0}/train.csv --target y --costs {1}/words.csv --out {1}/m",
        "column 'y' of .* must hold the cost that .*words.csv takes from it, but holds text",
    ),
    "below zero": (
        "evaluate {0}/plain.minrisk {0}/test.csv --costs {1}/below.csv",
        "but row . holds -?.*costs are numbers from zero on",
    ),
    "pieces": (
        "fit {0}/train.parquet --target y --costs {0}/costs.csv --bins-in {1} --out {1}/m",
        "costs that name columns are for tables that are read at once: leave out --bins-in",
    ),
    "export": (
        "export {0}/plain.minrisk --to json --costs {0}/costs.csv --out {1}/m.json",
        "must be a number, got 'check': correct the file",
    ),
    "nothing known": (
        "evaluate {0}/plain.minrisk {0}/test.csv --costs-known",
        "--costs-known is for costs of which columns hold some",
    ),
    "not known": (
        "evaluate {0}/rows.minrisk {0}/test.csv",
        "trained with costs per row: give costs to judge by with --costs, in whose file",
    ),
    "badacost": ("fit {0}/train.csv --target y --costs {0}/costs.csv --method badacost --out {1}/m", "cost"),
    "other decisions": ("evaluate {0}/rows.minrisk {0}/test.csv --costs {0}/others.csv", "nothing about the decision"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_said(folder, tmp_path, case):
    (tmp_path / "typo.csv").write_text(TYPO)
    (tmp_path / "words.csv").write_text(COSTS.replace("amount", "y"))
    (tmp_path / "below.csv").write_text(COSTS.replace("amount", "noise"))
    command, message = WRONG[case]
    said = invoke(*command.format(folder, tmp_path).split())
    assert said.exit_code == 2 and "Traceback" not in said.stderr
    assert re.search(message, said.stderr), said.stderr


def test_a_rebel_decides_by_no_other_costs(folder, tmp_path):
    run("fit", folder / "train.csv", f"--target y --costs {folder}/costs.csv {FEW} --out {tmp_path}/m")
    message = refused("predict", tmp_path / "m", folder / "new.csv", f"--costs {folder}/costs.csv")
    assert "decides by the costs it was trained on" in message
