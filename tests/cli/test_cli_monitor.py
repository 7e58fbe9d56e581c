"""minrisk monitor: what it says, its exit codes, and what it refuses."""

import json

import numpy as np
import pandas as pd
import pytest

import minrisk
from minrisk.decisions.monitor import monitor
from tests.helpers.command_line import as_json, invoke, refused, run

COSTS = "true,no,yes,refer\nno,0,1,0.4\nyes,4,0,0.4\n"


def table(n, seed=0, share=0.4, noise=1.0):
    random = np.random.default_rng(seed)
    ill = random.random(n) < share
    x = random.normal(size=(n, 2)) * noise + ill[:, None]
    town = np.array(["north", "south"])[random.integers(0, 2, n)]
    return pd.DataFrame({"x0": x[:, 0], "x1": x[:, 1], "town": town, "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("monitor")
    table(400).to_csv(place / "train.csv", index=False)
    table(300, seed=1).to_csv(place / "new.csv", index=False)
    (place / "costs.csv").write_text(COSTS)
    how = f"--target ill --costs {place}/costs.csv --n-estimators 12"
    run("fit", place / "train.csv", f"{how} --out {place}/m.minrisk")
    run("fit", place / "train.csv", f"{how} --method rebel --drop town --out {place}/rebel.minrisk")
    return place


def test_it_tells_what_the_function_does(folder):
    found = as_json("monitor", folder / "m.minrisk", folder / "new.csv")
    frame = pd.read_csv(folder / "new.csv")
    wanted = monitor(minrisk.load(folder / "m.minrisk"), frame.drop(columns="ill")).to_dict()
    assert found == wanted | {"model": f"{folder}/m.minrisk", "data": f"{folder}/new.csv"}
    assert found["alarm"] is False and found["labelled"] == 0 and found["cost"]["low"] < found["cost"]["high"]
    text = run("monitor", folder / "m.minrisk", folder / "new.csv")
    assert text.startswith("Monitoring of 300 rows: no alarm") and "Expected mean cost: " in text


def test_labels_as_far_as_they_are_known(folder, tmp_path):
    frame = pd.read_csv(folder / "new.csv").astype({"ill": object})
    frame.loc[100:, "ill"] = None
    frame.to_csv(tmp_path / "some.csv", index=False)
    found = as_json("monitor", folder / "m.minrisk", tmp_path / "some.csv", "--target ill")
    assert found["labelled"] == 100 and found["promises"][0]["n"] == 100 and found["realised"]["mean"] > 0.0


def test_an_alarm_is_exit_code_3(folder, tmp_path):
    result = invoke("monitor", folder / "m.minrisk", folder / "new.csv", "--target ill --promised 0.01 --json")
    told = json.loads(result.stdout)
    assert result.exit_code == 3 and told["alarm"] and "refuted by 300 rows" in told["reasons"][0]
    table(300, seed=2, noise=4.0).to_csv(tmp_path / "moved.csv", index=False)
    result = invoke("monitor", folder / "m.minrisk", tmp_path / "moved.csv")
    assert result.exit_code == 3 and "The rows do not look like those that the fit left out" in result.stdout


def test_unseen_categories_are_told(folder, tmp_path):
    frame = table(200, seed=3)
    frame.loc[:4, "town"] = "west"
    frame.to_csv(tmp_path / "west.csv", index=False)
    found = as_json("monitor", folder / "m.minrisk", tmp_path / "west.csv")
    assert found["columns"] == [{"name": "town", "what": "unseen", "rows": 5, "example": "west"}]


def test_what_it_refuses(folder):
    assert "has no probabilities" in refused("monitor", folder / "rebel.minrisk", folder / "new.csv")
    assert "named by --target" in refused("monitor", folder / "m.minrisk", folder / "new.csv", "--target sick")
    assert "is a feature of the model" in refused("monitor", folder / "m.minrisk", folder / "new.csv", "--target x0")
    assert "promised must be" in refused("monitor", folder / "m.minrisk", folder / "new.csv", "--promised 0")
