"""Trees as a table: scores are rebuilt from the table alone, rows are counted as a slow walk counts them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from minrisk import ALGORITHMS, LocalizedSimilaritiesClassifier, MCBoostClassifier, MinRiskClassifier, REBELClassifier
from minrisk.ensemble import training
from minrisk.ensemble.smooth import Smooth
from minrisk.ensemble.trees import Random
from minrisk.inspection import to_frame
from minrisk.inspection.columns import names_of_features
from tests.helpers.command_line import refused, run


def planes(n=300):
    """Classes parted by planes that lie across the axes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    return pd.DataFrame(X, columns=["length", "width", "height", "depth"]), (X @ rng.normal(size=(4, 3))).argmax(axis=1)


TREES = [cls for cls in ALGORITHMS if cls is not LocalizedSimilaritiesClassifier]


def with_linear(model, frame):
    """The columns of X and the linear features by their names."""
    values = {name: frame[name].to_numpy(dtype=float) for name in frame.columns}
    linear = model.model_.projection
    if linear is not None:
        for c, column in enumerate(linear.columns(frame.to_numpy(dtype=float)).T):
            values[f"linear {c}"] = column.astype(float)
    return pd.DataFrame(values)


def leaf_of(nodes, row):
    """The leaf of a row: a walk through the lines of one tree, one step at a time."""
    node = nodes.loc[0]
    while node["left"] >= 0:
        value = row[node["feature"]]
        node = nodes.loc[
            node["missing"] if np.isnan(value) else node["left"] if value <= node["threshold"] else node["right"]
        ]
    return node


def rebuilt_scores(table, rows):
    """The sum over trees of what the leaf of each row adds."""
    names = [name for name in table.columns if name.startswith(("score of ", "bit "))]
    slopes = [name for name in table.columns if name.startswith("slope of ")]
    scores = np.zeros((len(rows), len(names)))
    for _, nodes in table.groupby("tree"):
        nodes = nodes.set_index("node")
        for n, (_, row) in enumerate(rows.iterrows()):
            leaf = leaf_of(nodes, row)
            scores[n] += leaf[names].to_numpy(dtype=float)
            if slopes and leaf["feature"] is not None and not np.isnan(row[leaf["feature"]]):
                scores[n] += leaf[slopes].to_numpy(dtype=float) * (row[leaf["feature"]] - leaf["origin"])
    return scores


def bits_or_scores(model, rows):
    """What the trees add up to, before a decoder and without smooth scores."""
    parts = model.model_
    X = rows.to_numpy(dtype=float)
    scores = parts.scores(X) if parts.decoder is None else None
    if scores is None:
        from dataclasses import replace

        scores = replace(parts, decoder=None).scores(X)
    if parts.smooth is not None:
        smooth = np.zeros_like(scores)
        parts.smooth.add_scores(X, smooth)
        scores -= smooth
    return scores


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[:, :6], np.array(["red", "white", "rosé"])[y]


@pytest.mark.parametrize("cls", TREES, ids=lambda cls: cls.__name__)
def test_scores_are_rebuilt_from_the_table_alone(cls, wine):
    X, y = wine
    model = cls(n_estimators=4, random_state=0).fit(X, y)
    rows = X.iloc[::20].copy()
    rows.iloc[1, 0] = np.nan
    table = to_frame(model)
    np.testing.assert_allclose(
        rebuilt_scores(table, with_linear(model, rows)), bits_or_scores(model, rows), rtol=0, atol=1e-8
    )
    assert table["tree"].iloc[0] == -1 and table["tree"].max() + 1 == model.model_.n_trees
    assert table["round"].max() == model.n_iter_
    known = {*X.columns, *(name for name in names_of_features(model) if name.startswith("linear"))}
    assert {name for name in table["feature"] if name is not None} <= known


def test_leaves_with_a_slope(wine):
    X, y = wine
    model = MCBoostClassifier(n_estimators=4, weak_learner="linear").fit(X, y)
    rows = X.iloc[::20].copy()
    rows.iloc[1] = np.nan
    table = to_frame(model)
    assert {"origin", "slope of red"} <= set(table.columns) and table["slope of red"].abs().max() > 0
    np.testing.assert_allclose(rebuilt_scores(table, rows), model.model_.scores(rows.to_numpy()), rtol=0, atol=1e-8)


def test_linear_features_and_smooth_members(monkeypatch):
    """Random members, which split linear features where planes across the axes part the classes, and smooth ones."""
    monkeypatch.setattr(training, "CHALLENGERS", (Random, Smooth))
    X, y = planes()
    model = MinRiskClassifier(random_state=0).fit(X, y)
    assert model.model_.projection is not None and model.model_.smooth is not None
    rows = X.iloc[::40]
    np.testing.assert_allclose(
        rebuilt_scores(to_frame(model), with_linear(model, rows)), bits_or_scores(model, rows), rtol=0, atol=1e-6
    )


def test_rows_are_counted_as_a_walk_counts_them(wine):
    X, y = wine
    model = REBELClassifier(n_estimators=3, max_depth=3).fit(X, y)
    table = to_frame(model, X)
    for tree, nodes in table.groupby("tree"):
        own = nodes.set_index("node")
        counts = dict.fromkeys(own.index, 0)
        for _, row in X.iterrows():
            node = leaf_of(own, row).name
            while node >= 0:
                counts[node] += 1
                node = own.loc[node, "parent"]
        assert counts == own["rows"].to_dict(), tree


def test_nodes_know_their_parents_and_depth(wine):
    table = to_frame(REBELClassifier(n_estimators=3, max_depth=4).fit(*wine))
    for _, nodes in table.groupby("tree"):
        own = nodes.set_index("node")
        assert own.loc[0, "parent"] == -1 and own.loc[0, "depth"] == 0
        inner = own[own["left"] >= 0]
        for number, node in inner.iterrows():
            for child in (node["left"], node["right"]):
                assert own.loc[child, "parent"] == number and own.loc[child, "depth"] == node["depth"] + 1
        assert (own["gain"].isna() == (own["left"] < 0)).all() and (own["threshold"].isna() == (own["left"] < 0)).all()


def test_names_of_what_categories_add():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 200),
            "truth": rng.choice(["no", "yes"], 200),
            "town": rng.choice([f"t{i:02}" for i in range(20)], 200),
            "size": rng.normal(size=200),
        }
    )
    y = np.where(frame["colour"] == "red", "ill", np.where(frame["size"] > 0, "well", "so-so"))
    model = REBELClassifier(n_estimators=5).fit(frame, y)
    names = names_of_features(model)
    assert names[:4] == list(frame.columns)
    assert sorted(names[4:7]) == ["colour is blue", "colour is green", "colour is red"]
    assert names[7:] == ["share of ill by town", "share of so-so by town", "share of well by town"]
    assert len(names) == model._categories.numbers(np.zeros((1, 4))).shape[1]
    red = [c for c, value in enumerate(model._categories.columns[0].values) if value == "red"]
    numbers = model._categories.numbers(np.array([[red[0], 0, 0, 0.0]]))[0]
    assert numbers[names.index("colour is red")] == 1 and numbers[names.index("colour is blue")] == 0
    two = REBELClassifier(n_estimators=5).fit(frame, y == "ill")
    assert names_of_features(two)[7:] == ["share of True by town"]


def test_given_names_and_refusals(wine):
    X, y = wine
    model = REBELClassifier(n_estimators=2).fit(X.to_numpy(), y)
    assert set(to_frame(model)["feature"].dropna()) <= {f"x[{j}]" for j in range(6)}
    assert set(to_frame(model, names=list("abcdef"))["feature"].dropna()) <= set("abcdef")
    with pytest.raises(ValueError, match="names must name each of the 6 columns"):
        to_frame(model, names=["a"])
    with pytest.raises(TypeError, match="to_frame is about trees, but the learners of this Localized"):
        to_frame(LocalizedSimilaritiesClassifier(n_estimators=2).fit(X, y))
    with pytest.raises(TypeError, match="to_frame takes a fitted classifier of minrisk"):
        to_frame(load_iris())


def test_says_how_to_get_pandas(wine, monkeypatch):
    import sys

    model = REBELClassifier(n_estimators=2).fit(*wine)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'minrisk\[cli\]'"):
        to_frame(model)


@pytest.fixture(scope="module")
def files(tmp_path_factory, wine):
    folder = tmp_path_factory.mktemp("trees")
    X, y = wine
    X.assign(kind=y).to_csv(folder / "wine.csv", index=False)
    run(
        "fit",
        folder / "wine.csv",
        "--target",
        "kind",
        "--method",
        "rebel",
        "--n-estimators",
        4,
        "--out",
        folder / "wine.minrisk",
    )
    return folder


def test_show_prints_trees(files):
    from minrisk import load

    table = to_frame(load(files / "wine.minrisk"))
    told = run("show", files / "wine.minrisk", "--trees", "1-2")
    assert (
        "Tree 1 (round 2, member 0)" in told and "Tree 2 " in told and "Tree 0 " not in told and "Tree 3 " not in told
    )
    root = table[(table["tree"] == 1) & (table["node"] == 0)].iloc[0]
    assert f"{root['feature']} <= {root['threshold']:.6g} or missing" in told
    leaf = table[(table["tree"] == 2) & (table["left"] < 0)].iloc[0]
    assert f"red {leaf['score of red']:+.3g}" in told
    every = run("show", files / "wine.minrisk", "--trees")
    assert every.count("Tree ") == 4 and told.strip() in every
    assert run("show", files / "wine.minrisk", "--trees", 1).count("Tree ") == 1


def test_show_trees_as_json(files):
    import json

    nodes = json.loads(run("show", files / "wine.minrisk", "--trees", "0", "--json"))["trees"]
    assert (
        [node["node"] for node in nodes] == list(range(len(nodes)))
        and "threshold" in nodes[0]
        and "feature" not in nodes[-1]
    )


def test_show_refuses_trees_that_are_not_there(files):
    assert "has 4 trees, 0 to 3, but --trees asks for number 9" in refused(
        "show", files / "wine.minrisk", "--trees", "9"
    )
    assert "such as 3 or 10-12, got 'x'" in refused("show", files / "wine.minrisk", "--trees", "x")
    assert "from a smaller to a larger number, got '3-1'" in refused("show", files / "wine.minrisk", "--trees", "3-1")
    assert "MODEL stands before it" in refused("show", "--trees", files / "wine.minrisk")


def test_show_of_a_model_without_trees(files):
    out = files / "similar.minrisk"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(
            "fit", files / "wine.csv", "--target", "kind", "--method", "similarities", "--n-estimators", 2, "--out", out
        )
    assert "holds no trees: leave out --trees" in refused("show", out, "--trees")
