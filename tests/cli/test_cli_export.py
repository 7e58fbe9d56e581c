"""minrisk export: files that decide as the model does, and refusals of one line."""

import doctest
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minrisk
from examples.run_json_model import decision_of
from minrisk import MinRiskClassifier
from tests.export.test_export import OPTIONAL, small, sure, wine
from tests.helpers.command_line import invoke, refused, run

ROOT = Path(__file__).parents[2]
LABELS = np.array(["barolo", "grignolino", "barbera"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of trees only, in a file, and other costs."""
    X, y = wine()
    model = small(MinRiskClassifier, pool=False).fit(X[::2], LABELS[y[::2]])
    folder = tmp_path_factory.mktemp("export")
    minrisk.save(model, folder / "wine.minrisk")
    (folder / "costs.csv").write_text(
        "true,barbera,barolo,grignolino\nbarbera,0,30,30\nbarolo,1,0,1\ngrignolino,1,1,0\n", encoding="utf-8"
    )
    return X, model, folder / "wine.minrisk", folder / "costs.csv"


def dear(model):
    return minrisk.CostMatrix([[0, 30, 30], [1, 0, 1], [1, 1, 0]], classes=model.classes_.tolist())


def test_json_and_other_costs(files):
    X, model, path, costs = files
    run("export", path, "--to json")
    read = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert [decision_of(read, row) for row in X.tolist()] == model.predict(X).tolist()
    command = [sys.executable, "-m", "minrisk", "export", path, "--to", "json", "--costs", costs, "--out", "-"]
    other = json.loads(subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout)
    decisions = np.array([decision_of(other, row) for row in X.tolist()])
    certain = sure(-(model.predict_proba(X) @ dear(model).values))
    np.testing.assert_array_equal(decisions[certain], model.predict(X, cost=dear(model))[certain])
    assert np.any(decisions != model.predict(X))


def test_onnx(files, tmp_path):
    X, model, path, costs = files
    runtime = pytest.importorskip("onnxruntime", reason="ONNX graphs are run by onnxruntime")
    pytest.importorskip("onnx", reason="to_onnx makes its graphs with onnx")
    for more, expected in (((), model.predict(X)), (("--costs", costs), model.predict(X, cost=dear(model)))):
        run("export", path, f"--to onnx --out {tmp_path}/a.onnx", *more)
        session = runtime.InferenceSession(tmp_path / "a.onnx", providers=["CPUExecutionProvider"])
        (decisions,) = session.run(["decision"], {"X": X.astype(np.float32)})
        np.testing.assert_array_equal(decisions, expected)


def test_treelite(files, tmp_path):
    X, model, path, _ = files
    treelite = pytest.importorskip("treelite", reason="to_treelite makes Treelite's models")
    said = invoke("export", path, f"--to treelite --out {tmp_path}/a.treelite")
    assert said.exit_code == 0 and "bytes" in said.stderr
    trees = treelite.Model.deserialize(str(tmp_path / "a.treelite"))
    h = treelite.gtil.predict(trees, X, pred_margin=True)[:, 0] * model.model_.temperature
    np.testing.assert_allclose(h, model.model_.scores(X), atol=1e-12 * np.abs(h).max())


def test_refusals_are_one_line(files, tmp_path):
    X, _, path, costs = files
    assert "leave out --costs" in refused("export", path, "--to treelite", "--costs", costs)
    assert "leave out --linear-features" in refused("export", path, "--to json --linear-features")
    assert "--to" in refused("export", path)
    lines = minrisk.MCBoostClassifier(n_estimators=3).fit(X, np.arange(len(X)) % 3)
    minrisk.save(lines, tmp_path / "lines.minrisk")
    pytest.importorskip("onnx", reason="to_onnx makes its graphs with onnx")
    assert "use to_json" in refused("export", tmp_path / "lines.minrisk", "--to onnx")
    assert not (tmp_path / "lines.onnx").exists()


def test_a_library_that_is_missing_is_named(files, monkeypatch):
    for name in OPTIONAL:
        monkeypatch.setitem(sys.modules, name, None)
    assert "pip install 'minrisk[onnx]'" in refused("export", files[2], "--to onnx")


# -- the page and the example ------------------------------------------------------------------------------------------
def libraries():
    for name in (*OPTIONAL, "onnxruntime"):
        pytest.importorskip(name, reason="it is one of the runtimes of the page")


def test_the_page_runs():
    libraries()
    found = doctest.testfile(str(ROOT / "docs" / "guide" / "export.md"), module_relative=False)
    assert found.attempted > 20 and found.failed == 0


def test_the_example_runs():
    libraries()
    place = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [sys.executable, ROOT / "examples" / "export_models.py"], env=place, capture_output=True, text=True, check=True
    )
    assert [line.split(":")[1] for line in said.stdout.splitlines()] == [" 0 of 178 decisions differ"] * 3
