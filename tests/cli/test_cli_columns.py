"""What the command line makes of columns, and what options say of them."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import minrisk
from minrisk.cli.common import _features
from minrisk.cli.training import Roles, training_data
from minrisk.tables.columns import as_dates, take_features
from minrisk.tables.source import TableError
from minrisk.tables.text import Dialect
from tests.helpers.command_line import FEW, as_json, invoke, refused, run
from tests.helpers.common import slow_after

N = 120


def table(n=N):
    """Numbers, words, days, weights and patients; the class follows the numbers, the words and the days."""
    rng = np.random.default_rng(0)
    k = np.arange(n) % 2
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.where(k, 200, 0) + rng.integers(0, 90, n), "D")
    return pd.DataFrame(
        {
            "x": np.round(k + rng.normal(size=n) / 4, 3),
            "zip": 100 + k,
            "day": days.strftime("%Y-%m-%d"),
            "w": rng.integers(1, 5, n),
            "patient": [f"p{i // 4}" for i in range(n)],
            "kind": np.array(["a", "b"])[k],
        }
    )


@pytest.fixture
def folder(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    table().to_parquet(tmp_path / "t.parquet", index=False)
    return tmp_path


def said(*args):
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return result.stderr


# -- weights, groups, classes -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_weights_are_those_of_python(folder, name):
    run("fit", folder / name, f"--target kind --weight w --drop patient --drop day {FEW} --out {folder}/m")
    frame = table()
    model = minrisk.REBELClassifier(n_estimators=5, random_state=0)
    expected = model.fit(frame[["x", "zip"]].astype(float), frame["kind"].to_numpy(dtype=str), sample_weight=frame["w"])
    found = minrisk.load(folder / "m")
    assert list(found.feature_names_in_) == ["x", "zip"]
    np.testing.assert_array_equal(found.train_loss_, expected.train_loss_)
    unweighted = minrisk.REBELClassifier(n_estimators=5).fit(frame[["x", "zip"]], frame["kind"])
    assert not np.array_equal(unweighted.train_loss_, expected.train_loss_)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_groups_are_those_of_python(folder, name):
    how = "--drop w --drop day --n-estimators 5 --early-stopping --method rebel"
    run("fit", folder / name, "--target kind --groups patient", how, f"--out {folder}/m")
    frame = table()
    model = minrisk.REBELClassifier(n_estimators=5, random_state=0, early_stopping=True)
    X, y = frame[["x", "zip"]].astype(float), frame["kind"].to_numpy(dtype=str)
    expected = model.fit(X, y, groups=np.unique(frame["patient"], return_inverse=True)[1])
    found = minrisk.load(folder / "m")
    assert list(found.feature_names_in_) == ["x", "zip"]
    np.testing.assert_array_equal(found.validation_risk_, expected.validation_risk_)


def test_pieces_have_weights_and_groups(folder):
    frame = table()
    for part in range(2):
        frame.iloc[part * 60 : part * 60 + 60].to_parquet(folder / f"{part}.parquet", index=False)
    how = f"--target kind --weight w --groups patient --drop day {FEW} --early-stopping"
    run("fit", folder / "0.parquet", folder / "1.parquet", how, f"--out {folder}/pieces")
    run("fit", folder / "t.csv", how, f"--out {folder}/whole")
    assert (folder / "pieces").read_bytes() == (folder / "whole").read_bytes()
    run("fit", folder / "0.parquet", folder / "1.parquet", how, "--bins-in", folder, f"--out {folder}/bins")
    assert (folder / "bins").read_bytes() == (folder / "whole").read_bytes()


def test_classes_are_balanced(folder):
    frame = table()
    frame[(frame["kind"] == "a") | (frame.index % 3 == 0)].to_csv(folder / "few.csv", index=False)
    how = f"--target kind --drop day --drop w --drop patient --drop x {FEW}"
    models = []
    for options in ([], ["--class-weight", "balanced"]):
        run("fit", folder / "few.csv", how, *options, f"--out {folder}/m")
        models.append(minrisk.load(folder / "m"))
    frame = pd.read_csv(folder / "few.csv")
    expected = minrisk.REBELClassifier(n_estimators=5, class_weight="balanced").fit(frame[["zip"]], frame["kind"])
    assert models[0].train_loss_.tolist() != models[1].train_loss_.tolist() == expected.train_loss_.tolist()
    assert "is not 'balanced'" in refused("fit", folder / "few.csv", how, f"--class-weight even --out {folder}/m")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("-1", "must hold the weight of each row, but row 3 holds -1: weights are numbers from zero on"),
        ("", "must hold the weight of each row, but 1 of 120 are missing (the first in row 3)"),
        ("inf", "but row 3 holds inf"),
        ("heavy", "must hold the weight of each row, but holds text ('heavy' in row 3)"),
        (0, "but none is above zero"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_weights_that_are_none(folder, cells, message, command):
    frame = table().astype({"w": object})
    frame.loc[2 if isinstance(cells, str) else slice(None), "w"] = cells
    frame.to_csv(folder / "bad.csv", index=False)
    given = "--target kind --weight w"
    if command == "fit":
        args = ("fit", folder / "bad.csv", given, FEW, f"--out {folder}/n")
    else:
        run("fit", folder / "t.csv", f"--target kind --drop w --drop day {FEW} --out {folder}/m")
        args = ("evaluate", folder / "m", folder / "bad.csv", given)
    result = invoke(*args)
    assert result.exit_code == 2
    assert f"column 'w' of {folder / 'bad.csv'} " in result.stderr and message in result.stderr


def test_groups_that_are_missing(folder):
    frame = table()
    frame.loc[5:6, "patient"] = ""
    frame.to_csv(folder / "bad.csv", index=False)
    told = refused("fit", folder / "bad.csv", f"--target kind --groups patient {FEW} --out {folder}/n")
    assert (
        "column 'patient' of" in told
        and "must hold the group of each row, but 2 of 120 are missing (the first in row 6)" in told
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weight", "kind"], "--weight kind names the target: give another column"),
        (["--groups", "kind"], "--groups kind names the target"),
        (["--numeric", "kind"], "--numeric kind names the target"),
        (["--drop", "kind"], "--drop kind would leave out the target"),
        (["--categorical", "kind"], "--categorical kind names the target"),
        (["--weight", "w", "--groups", "w"], "--weight w and --groups w name one column"),
        (["--weight", "w", "--drop", "w"], "--weight w and --drop w name one column"),
        (["--groups", "zip", "--categorical", "zip"], "--groups zip and --categorical zip name one column"),
        (["--numeric", "zip", "--categorical", "zip"], "--categorical zip and --numeric zip name one column"),
        (["--weight", "gone"], "has no column 'gone', named by --weight"),
        (["--groups", "gone"], "has no column 'gone', named by --groups"),
        (["--numeric", "gone"], "has no column 'gone', named by --numeric"),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_columns_are_one_thing(folder, options, message, name):
    assert message in refused("fit", folder / name, "--target kind", *options, FEW, f"--out {folder}/n")


@pytest.mark.parametrize(
    "options",
    [
        ["--numeric", "x"],
        ["--weight", "w"],
        ["--groups", "patient"],
        ["--delimiter", ";"],
        ["--encoding", "utf-8"],
        ["--decimal", ","],
    ],
)
def test_a_cluster_is_not_told_of_columns_that_it_does_not_know(folder, options):
    told = refused(
        "fit", folder / "t.parquet", "--target kind", *options, f"--scheduler tcp://127.0.0.1:1 --out {folder}/n"
    )
    assert f"{options[0]} is for fits on this machine: leave it out with --scheduler" in told


def test_evaluation_is_weighed(folder):
    run(
        "fit",
        folder / "t.csv",
        f"--target kind --drop w --drop day --drop zip --drop patient --method rebel --n-estimators 1 --out {folder}/m",
    )
    frame = table().sort_values("x").reset_index(drop=True)
    frame["w"] = np.where(np.arange(N) % 7 == 0, 3, 1)
    frame.to_csv(folder / "w.csv", index=False)
    frame.loc[np.repeat(np.arange(N), frame["w"])].to_csv(folder / "copies.csv", index=False)
    weighed = as_json("evaluate", folder / "m", folder / "w.csv", "--weight w")
    copied = as_json("evaluate", folder / "m", folder / "copies.csv")
    plain = as_json("evaluate", folder / "m", folder / "w.csv")
    assert weighed["weight"] == "w" and 0 < weighed["risk"] != plain["risk"]
    for key in ("risk", "error", "regret", "total_cost"):
        assert weighed[key] == pytest.approx(copied[key]), key
    assert [row["count"] for row in weighed["confusions"]] == [row["count"] for row in copied["confusions"]]
    assert "Costliest confusions" in run("evaluate", folder / "m", folder / "w.csv", "--weight w")
    assert "--weight x is a feature of the model" in refused("evaluate", folder / "m", folder / "w.csv", "--weight x")
    assert "--weight kind is the target" in refused("evaluate", folder / "m", folder / "w.csv", "--weight kind")


# -- columns that nearly hold numbers ------------------------------------------------------------------------------------
def test_texts_among_numbers_are_missing_where_that_is_said(folder):
    frame = table()[["x", "zip", "kind"]].astype({"x": object})
    frame.loc[[3, 9], "x"] = ["?", "n.b."]
    frame.to_csv(folder / "odd.csv", index=False)
    how = f"--target kind {FEW}"
    told = refused("fit", folder / "odd.csv", how, f"--out {folder}/m")
    assert "column 'x' of" in told and "say by --numeric that such cells are missing" in told
    told = said("fit", folder / "odd.csv", how, f"--numeric x --out {folder}/m")
    assert (
        told
        == f"minrisk: note: column 'x' of {folder / 'odd.csv'} has 2 cells that are no numbers, such as '?': taken as missing\n"
    )
    frame.loc[[3, 9], "x"] = None
    frame.to_csv(folder / "gaps.csv", index=False)
    said("fit", folder / "gaps.csv", how, f"--out {folder}/n")
    assert (folder / "m").read_bytes() == (folder / "n").read_bytes()
    for command, *more in (["predict"], ["evaluate", "--json"]):
        assert "say by --numeric" in refused(command, folder / "m", folder / "odd.csv")
        told = invoke(command, folder / "m", folder / "odd.csv", "--numeric x", *more)
        assert "2 cells that are no numbers" in told.stderr
        assert told.stdout.replace("odd.csv", "gaps.csv") == run(command, folder / "m", folder / "gaps.csv", *more)
        assert "has no column 'gone', named by --numeric" in refused(
            command, folder / "m", folder / "odd.csv", "--numeric gone"
        )
    frame[:60].to_csv(folder / "0.csv", index=False)
    table()[60:][frame.columns].to_csv(folder / "1.csv", index=False)
    odd = table()[60:][frame.columns].astype({"x": object})
    odd.iloc[0, 0] = "?"
    odd.to_csv(folder / "odd.csv", index=False)
    assert "column 'x' holds text in" in refused("fit", folder / "0.csv", folder / "odd.csv", how, f"--out {folder}/m")
    assert "has 1 cell that is no number" in said(
        "fit", folder / "0.csv", folder / "odd.csv", how, f"--numeric x --out {folder}/m"
    )
    told = invoke("predict", folder / "m", folder / "1.csv", folder / "odd.csv", "--numeric x")
    assert told.exit_code == 0 and told.stdout.count("\n") == 121, told.output
    told = refused("fit", folder / "t.csv", f"--target kind --numeric patient {FEW} --out {folder}/m")
    assert "holds no number, but 'p0': leave out --numeric patient" in told


# -- texts that differ in most rows ---------------------------------------------------------------------------------------
def test_names_are_told_and_used(tmp_path):
    rows = "".join(f"{k},n{k},{'good' if k % 3 else 'bad'}\n" for k in range(30))
    (tmp_path / "t.csv").write_text("a,name,grade\n" + rows)
    told = said("fit", tmp_path / "t.csv", f"--target grade {FEW} --out {tmp_path}/m")
    assert f"column 'name' of {tmp_path / 't.csv'} holds 30 texts in 30 rows, taken for categories" in told
    assert "name" in minrisk.load(tmp_path / "m").feature_names_in_
    assert said("fit", tmp_path / "t.csv", f"--target grade --drop name {FEW} --out {tmp_path}/m") == ""


# -- dates -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2024-03-01", "2024-02-29"], ["2024-03-01", "2024-02-29"]),
        (["2024-03-01", None, "2024-03-01 12:30"], ["2024-03-01", None, "2024-03-01 12:30"]),
        (["2024-03-01 12:30:45", "2024-03-01T12:30:45.123"], ["2024-03-01 12:30:45", "2024-03-01 12:30:45.123"]),
        (["2024-03-01T12:30Z", "2024-03-01 12:30:00+01:00"], ["2024-03-01 12:30Z", "2024-03-01 11:30Z"]),
        (["2024-03-01T12:30", "2024-03-01T12:30Z"], None),
        (["2024-03-01", "01.03.2024"], None),
        (["2024-02-30"], None),
        (["20240301"], None),
        (["2024-3-1"], None),
        (["2024-03"], None),
        ([None, None], None),
        ([1.0, 2.0], None),
        (["2024-03-01", "none"], None),
        (["12:30"], None),
    ],
)
@pytest.mark.parametrize("dtype", [object, "category"])
def test_dates_of_iso_8601(cells, expected, dtype):
    if cells[0] == 1.0 and dtype == "category":
        pytest.skip("numbers in a text table have no such type")
    found = as_dates(pd.Series(cells, dtype=None if cells[0] == 1.0 else dtype, name="day"))
    if expected is None:
        assert found is None
        return
    assert found.name == "day" and found.isna().tolist() == [cell is None for cell in expected]
    zone = expected[0].endswith("Z")
    assert str(getattr(found.dt, "tz", None)) == ("UTC" if zone else "None")
    assert [at for at in found if at is not pd.NaT] == [pd.Timestamp(cell) for cell in expected if cell is not None]


def given(path, *options):
    return training_data(path, Roles("kind", *options), Dialect()).X


def test_dates_of_text_are_those_of_parquet(folder, capsys):
    X = given(folder / "t.csv")
    assert X["day"].dtype.kind == "M" and X["day"].tolist() == pd.to_datetime(table()["day"]).tolist()
    assert f"column of {folder / 't.csv'} read as dates: 'day'" in " ".join(capsys.readouterr().err.split())
    assert given(folder / "t.csv", (), ("day",))["day"].dtype == "category"  # since that was said
    frame = table().assign(day=pd.to_datetime(table()["day"]))
    frame.to_parquet(folder / "typed.parquet", index=False)
    assert given(folder / "typed.parquet")["day"].tolist() == X["day"].tolist()
    assert given(folder / "t.parquet")["day"].dtype == "category"  # text, as its type says
    capsys.readouterr()


def test_moments_of_parquet_are_handed_on(folder):
    day = pd.to_datetime(table()["day"])
    frame = table().assign(
        day=day.dt.date,
        lasts=day - day[0],
        at=(day + pd.to_timedelta(np.arange(N), "m")).dt.time,
        zoned=day.dt.tz_localize("Europe/Paris"),
    )
    frame.to_parquet(folder / "m.parquet", index=False)
    X = given(folder / "m.parquet", ("patient",))
    for name in ("day", "lasts", "at", "zoned"):
        assert X[name].tolist() == frame[name].tolist(), name
    run("fit", folder / "m.parquet", f"--target kind {FEW} --out {folder}/m")
    assert len(run("predict", folder / "m", folder / "m.parquet").splitlines()) == N + 1


def test_other_dates_are_words_and_it_is_said_how_to_write_them(folder):
    for way in ("%d.%m.%Y", "%m/%d/%Y"):
        frame = table()
        frame.assign(day=pd.to_datetime(frame["day"]).dt.strftime(way)).to_csv(folder / "other.csv", index=False)
        told = said("fit", folder / "other.csv", f"--target kind --drop patient {FEW} --out {folder}/m")
        assert (
            "'day' of" in told
            and "taken for categories: to have dates, write them as 2024-03-01 or 2024-03-01 12:30" in told
        )


def test_dates_come_back_at_prediction(folder):
    drop = "--drop patient --drop w --drop x --drop zip"
    run("fit", folder / "t.csv", "--target kind", drop, FEW, f"--out {folder}/m")
    facts = as_json("evaluate", folder / "m", folder / "t.csv")
    assert facts["error"] == 0
    model = minrisk.load(folder / "m")
    new = pd.DataFrame({"day": ["2024-01-05", "2024-09-05 12:30", ""]})
    new.to_csv(folder / "new.csv", index=False)
    typed = new.assign(day=pd.to_datetime(new["day"].replace("", None), format="ISO8601"))
    assert run("predict", folder / "m", folder / "new.csv").split()[1:] == model.predict(typed).tolist()
    for cells in (["", ""], ["2031-01-01", ""]):  # all missing; another year
        pd.DataFrame({"day": cells, "x": 1}).to_csv(folder / "new.csv", index=False)
        assert len(run("predict", folder / "m", folder / "new.csv").split()) == 3
    pd.DataFrame({"day": ["2024-01-05", "5.1.2024"]}).to_csv(folder / "new.csv", index=False)
    told = refused("predict", folder / "m", folder / "new.csv")
    assert (
        "column 'day' of" in told and "must hold dates as in the training, but holds '5.1.2024': write them as" in told
    )
    frame = pd.DataFrame({"day": pd.Series(["2024-01-05", "x"], dtype="category")})
    with pytest.raises(TableError, match="'day' of t.csv must hold dates as in the training, but holds 'x'"):
        _features(model, frame, "t.csv", (), True)


def test_features_that_are_moments_stay_so():
    days = pd.Series(pd.to_datetime(["2020-01-01", None]))
    assert take_features(pd.DataFrame({"day": days}), "t.csv")["day"].equals(days)


# -- several files, streams -----------------------------------------------------------------------------------------------
def test_several_files_are_one_table(folder):
    frame = table()
    run("fit", folder / "t.csv", f"--target kind {FEW} --out {folder}/m")
    frame.iloc[:50].to_csv(folder / "0.csv", index=False)
    frame.iloc[50:, ::-1].to_csv(folder / "1.csv.gz", index=False, sep=";")
    whole = run("predict", folder / "m", folder / "t.csv", "--keep patient,w")
    assert run("predict", folder / "m", folder / "0.csv", folder / "1.csv.gz", "--keep patient,w") == whole
    one, two = (
        as_json("evaluate", folder / "m", *names)
        for names in ([folder / "t.csv"], [folder / "0.csv", folder / "1.csv.gz"])
    )
    assert one | {"data": ""} == two | {"data": ""} and two["data"] == f"{folder / '0.csv'} and 1 more"
    told = refused("predict", folder / "m", folder / "t.csv", folder / "0.csv", f"--out {folder}/0.csv")
    assert "would overwrite" in told
    frame.drop(columns="w").to_csv(folder / "1.csv", index=False)
    assert "has other columns than" in refused("predict", folder / "m", folder / "0.csv", folder / "1.csv")


@pytest.mark.parametrize("packed", slow_after(1, [True, False]))
def test_streams_of_tables(folder, packed, monkeypatch):
    run("fit", folder / "t.csv", f"--target kind {FEW} --out {folder}/m")
    content = (folder / "t.csv").read_bytes()
    content = gzip.compress(content) if packed else content
    command = [sys.executable, "-m", "minrisk", "predict", str(folder / "m"), "-", "--out", "-"]
    done = subprocess.run(command, input=content, capture_output=True, timeout=120)
    assert done.returncode == 0 and done.stdout.decode() == run("predict", folder / "m", folder / "t.csv")


def test_a_time_budget_is_in_seconds(folder):
    told = refused("fit", folder / "t.csv", f"--target kind --time-budget 1m --out {folder}/m")
    assert "--time-budget" in told and "is not a valid number of seconds" in told
