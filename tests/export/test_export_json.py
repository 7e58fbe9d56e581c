"""The JSON text of a model, run by a reader in plain Python, gives the scores, probabilities and decisions of the model."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minrisk
from examples.run_json_model import decision_of, probabilities_of, scores_of
from minrisk import ALGORITHMS, MinRiskClassifier
from minrisk.export import to_json
from tests.export.test_export import hard_rows, small, sure, wine

ROOT = Path(__file__).parents[2]


def plain(X):
    return [[None if value != value else value for value in row] for row in np.asarray(X, dtype=object).tolist()]


def check(model, X):
    """All that the text says of rows, against the model."""
    text = to_json(model)
    read, rows = json.loads(text), plain(X)
    numbers = model._check_X(X)
    scores = model.model_.scores(numbers)
    smooth = model.model_.smooth is not None  # what such members add is rounded here, to where sums are exact
    np.testing.assert_allclose(
        [scores_of(read, row) for row in rows],
        scores,
        rtol=0 if smooth else 1e-10,
        atol=1e-7 if smooth else 1e-12 * np.abs(scores).max(),
    )
    if read["link"] is not None:
        p = [probabilities_of(read["link"], scores_of(read, row)) for row in rows]
        np.testing.assert_allclose(p, model.predict_proba(X), atol=1e-7 if smooth else 1e-12)
    expected = model._expected(numbers, scores)
    certain = sure(scores if expected is None else -expected)
    decisions = np.array([decision_of(read, row) for row in rows])
    same = decisions == model.predict(X).astype(decisions.dtype)
    assert same[certain].all() and certain.mean() > 0.7
    return read


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)
def test_every_algorithm_is_the_same(algorithm):
    X, y = wine()
    model = small(algorithm).fit(X[::2], y[::2])
    check(model, X)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("MCBoostClassifier", {"weak_learner": "tree", "max_depth": 3}),
        ("LocalizedSimilaritiesClassifier", {"similarity": "one"}),
        ("AdaBoostMOClassifier", {"decoding": "hamming"}),
        ("GradBoostClassifier", {}),
    ],
)
def test_hard_rows(name, more):
    X, y = wine()
    algorithm = getattr(minrisk, name)
    more = {key: value for key, value in more.items() if key in algorithm().get_params()}
    model = small(algorithm, **more).fit(X[::2], y[::2])
    rows = hard_rows(model, X, 200).astype(np.float64) if hasattr(model.model_.packed, "is_leaf") else X
    check(model, rows)


def test_a_pool_with_costs():
    X, y = wine()
    names = np.array(["a", "b", "ü"])[y]
    model = MinRiskClassifier([[0, 1, 1], [1, 0, 1], [10, 10, 0]], n_estimators=20, random_state=0).fit(
        X[::2], names[::2]
    )
    rows = hard_rows(model, X, 300).astype(np.float64)
    read = check(model, rows)
    assert read["decisions"] == ["a", "b", "ü"] and read["cost"] == [[0, 1, 1], [1, 0, 1], [10, 10, 0]]
    other = minrisk.CostMatrix(1 - np.eye(3), classes=["a", "b", "ü"])
    text = json.loads(to_json(model, other))
    decisions = np.array([decision_of(text, row) for row in plain(rows)])
    lead = sure(-(model.predict_proba(rows) @ other.values))
    np.testing.assert_array_equal(decisions[lead], model.predict(rows, cost=other)[lead])


def test_smooth_members_and_linear_features():
    X, y = wine()
    model = MinRiskClassifier(n_estimators=20, random_state=0).fit(X, y)
    assert model.model_.smooth is not None
    check(model, hard_rows(model, X, 200).astype(np.float64))


def test_costs_of_each_row():
    X, y = wine()
    y = np.where(
        np.arange(len(y)) % 4 == 0, np.random.default_rng(1).integers(0, 3, len(y)), y
    )  # decisions hang on costs
    cost = np.random.default_rng(0).uniform(1, 1.5, (len(y), 3))
    cost[:, 2] *= np.where(
        X[:, 2] > np.median(X[:, 2]), 10.0, 0.2
    )  # the third decision is dear where there is much ash
    cost[np.arange(len(y)), y] = 0
    model = MinRiskClassifier(n_estimators=20, random_state=3).fit(X, y, cost=cost)
    read = check(model, hard_rows(model, X, 200).astype(np.float64))
    assert any(read["learnt_costs"]["trees"]) and read["cost"] is None


def test_tables_with_categories():
    pd = pytest.importorskip("pandas", reason="tables are pandas' here")
    X, y = wine()
    rng = np.random.default_rng(0)
    shade = np.char.add("s", (X[:, 9].astype(int) * 10 + rng.integers(0, 3, len(X))).astype(str))
    frame = pd.DataFrame(
        {
            "colour": np.where(X[:, 9] > 5, "dark", np.where(X[:, 9] > 3, "mid", "light")),
            "alcohol": X[:, 0],
            "shade": shade,
        }
    )
    model = MinRiskClassifier(n_estimators=20, random_state=0).fit(frame[::2], y[::2])
    known = set(frame["shade"][::2])
    rows = frame[frame["shade"].isin(known)].copy()
    rows.iloc[3, 0], rows.iloc[5, 2] = None, None
    read = check(model, rows)
    assert read["input"]["names"] == ["colour", "alcohol", "shade"] and len(read["input"]["categories"]) == 2
    assert read["input"]["n_columns"] == 3


def test_numbers_are_read_back_to_the_last_bit():
    X, y = wine()
    model = small(minrisk.REBELClassifier).fit(X, y)
    trees = json.loads(to_json(model))["scores"]["trees"]
    assert [t for tree in trees for t in tree["threshold"] if t is not None] == model.model_.packed.threshold.tolist()
    assert np.vstack([tree["vectors"] for tree in trees]).tolist() == np.asarray(model.model_.vectors).tolist()


def test_the_example_runs_without_the_package(tmp_path):
    X, y = wine()
    model = small(MinRiskClassifier, pool=False).fit(X, y)
    path = tmp_path / "model.json"
    path.write_text(to_json(model), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-S", ROOT / "examples" / "run_json_model.py", path, *map(str, X[0])],
        capture_output=True,
        text=True,
        check=True,
    )  # -S: no installed packages
    assert done.stdout == f"{model.predict(X[:1])[0]}\n"


def by_the_example(path, cells):
    command = [sys.executable, "-X", "utf8", "-S", ROOT / "examples" / "run_json_model.py", path, *cells]
    return subprocess.run(command, capture_output=True, encoding="utf-8")


def test_the_example_takes_categories_numbers_and_missing_cells(tmp_path):
    pd = pytest.importorskip("pandas", reason="tables are pandas' here")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["süd", "nord", "ost"], 300),
            "size": rng.normal(size=300),
            "floor": rng.choice([1, 2, 13], 300),
            "new": rng.random(300) < 0.5,
        }
    )
    frame.loc[rng.random(300) < 0.2, ["region", "size"]] = None
    y = np.where(
        frame["region"] == "süd",
        "a",
        np.where(frame["floor"] == 13, "b", np.where(frame["new"], "c", np.where(frame["size"] > 0, "d", "e"))),
    )
    model = MinRiskClassifier(
        n_estimators=20, pool=False, random_state=0, categorical_features=["region", "floor"]
    ).fit(frame, y)
    path = tmp_path / "model.json"
    path.write_text(to_json(model), encoding="utf-8")
    assert [len(one["values"]) for one in json.loads(to_json(model))["input"]["categories"]] == [3, 3]
    rows = pd.concat([frame[y == label].head(3) for label in "abcde"])
    assert rows["region"].isna().any() and rows["size"].isna().any()
    for cells, decided in zip(rows.astype(object).where(rows.notna(), "").to_numpy(), model.predict(rows), strict=True):
        assert by_the_example(path, map(str, cells)).stdout == f"{decided}\n"
    new = frame.head(1).assign(region="west", floor=2)
    with pytest.warns(minrisk.DataWarning, match="categories that fit has not seen"):
        decided = model.predict(new)[0]
    assert by_the_example(path, ["west", *map(str, new.iloc[0, 1:])]).stdout == f"{decided}\n"


def test_the_example_says_what_is_wrong_with_a_row(tmp_path):
    X, y = wine()
    path = tmp_path / "model.json"
    path.write_text(to_json(small(MinRiskClassifier, pool=False).fit(X, y)), encoding="utf-8")
    for cells, told in (
        (["1"], f"The model has {X.shape[1]} columns, got 1 cells"),
        (["x"] * X.shape[1], "Column 0 must hold a number, got 'x'"),
    ):
        done = by_the_example(path, cells)
        assert done.returncode == 1 and done.stderr.startswith(told) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("infinite", [-np.inf, np.inf])
def test_thresholds_that_are_infinite(infinite):
    """JSON has no number for them; a file of a model may hold both."""
    X = np.array([[0.0, np.nan], [1.0, 1.0]] * 20)
    model = minrisk.REBELClassifier(n_estimators=2).fit(X, np.isnan(X[:, 1]))
    packed = model.model_.packed
    model.model_ = replace(model.model_, packed=replace(packed, threshold=np.full_like(packed.threshold, infinite)))
    check(model, np.array([[-1e308, 1e308], [np.nan, np.nan], [0.0, 1.0]]))
