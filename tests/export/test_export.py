"""Exported models decide as ours, at thresholds and beside them too; what a format cannot hold is refused."""

import copy
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minrisk
from minrisk import ALGORITHMS, MinRiskClassifier
from minrisk.ensemble import training
from minrisk.ensemble.smooth import Smooth
from minrisk.ensemble.trees import Random
from minrisk.export import linear_features, register_skl2onnx, to_json, to_onnx, to_treelite
from minrisk.export.onnx_model import float32_below
from minrisk.export.parts import leaf_trees, parts_of
from minrisk.metrics import expected_cost
from tests.helpers.common import slow_after
from tests.inspection.test_tree_frame import planes

SAME = 1e-5  # of the largest score
TIE = 1e-7  # of the largest score: a lead below it is lost where scores are rounded to float32


def rounded(X):
    """Numbers that float32 holds."""
    return np.asarray(X).astype(np.float32).astype(np.float64)


def wine():
    X, y = load_wine(return_X_y=True)
    return rounded(X), y


def hard_rows(model, X, n=1000, seed=0):
    """Rows of float32 numbers, many of which lie at thresholds, or next to them, or are missing."""
    rng = np.random.default_rng(seed)
    rows = X[rng.integers(0, len(X), n)].astype(np.float32)
    trees = model.model_.packed
    feature, threshold = trees.of_nodes("feature")[~trees.is_leaf], trees.of_nodes("threshold")[~trees.is_leaf]
    own = (feature < X.shape[1]) & np.isfinite(threshold)
    for row in rows:
        for at in rng.integers(0, max(1, own.sum()), min(own.sum(), X.shape[1])):
            j, t = feature[own][at], threshold[own][at].astype(np.float32)
            row[j] = [np.nextafter(t, np.float32(-np.inf)), t, np.nextafter(t, np.float32(np.inf)), np.nan][
                rng.integers(4)
            ]
    return rows


def session(graph):
    runtime = pytest.importorskip("onnxruntime", reason="ONNX graphs are run by onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def answers(model, X, cost=None, **options):
    """What an exported graph says of rows, by output."""
    pytest.importorskip("onnx", reason="to_onnx makes its graphs with onnx")
    made = session(to_onnx(model, cost, **options))
    names = [output.name for output in made.get_outputs()]
    X = X.astype(options.get("input_type", "float32"))
    return dict(zip(names, made.run(names, {"X": X}), strict=True))


def sure(merits):
    """Rows in which the best is ahead of the second by more than rounding of float32."""
    two = np.sort(merits, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0] > TIE * np.abs(merits).max()


def check_onnx(model, X, cost=None, **options):
    found, scores = answers(model, X, cost, **options), model.model_.scores(X)
    merits = scores
    np.testing.assert_allclose(found["scores"], scores, atol=SAME * np.abs(scores).max(), rtol=0)
    if model.model_.link is not None:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=SAME)
    if "expected_cost" in found:
        merits = -found["expected_cost"]
    expected = model.predict(X) if cost is None else model.predict(X, cost=cost)
    certain = sure(merits)
    assert certain.mean() > 0.9
    np.testing.assert_array_equal(found["decision"][certain], expected[certain])
    return found


def margins(model, X):
    """Scores by GTIL, over the temperature and times the link's factor taken back."""
    gtil = pytest.importorskip("treelite", reason="to_treelite makes Treelite's models").gtil
    made = gtil.predict(
        to_treelite(model, linear_features=True), linear_features(model)(X), nthread=1, pred_margin=True
    )[:, 0]
    return made * scale_of(model)


def scale_of(model):
    link = model.model_.link
    if link in (None, "linear"):
        return 1.0
    return model.model_.temperature / (2.0 if link.endswith("2") else 1.0)


def small(algorithm, **more):
    return algorithm(n_estimators=12, random_state=0, **more)


# -- every algorithm -------------------------------------------------------------------------------------------------
SIMILAR, LINES, CODES = ("similarities to training points",), ("lines in a feature",), ("bits of an output code",)
REFUSED = {"similarities": SIMILAR * 2, "lines": LINES * 2, "output code": (None, *CODES)}  # by ONNX, by Treelite


def refused(algorithm):
    """Why each format refuses what model files hold of a method, or None."""
    return next((why for group, why in REFUSED.items() if group in algorithm._arrays), (None, None))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)
def test_every_algorithm_is_the_same_in_onnx_or_is_refused(algorithm):
    X, y = wine()
    model = small(algorithm).fit(X[::2], y[::2])
    pytest.importorskip("onnx", reason="to_onnx makes its graphs with onnx")
    if (why := refused(algorithm)[0]) is not None:
        with pytest.raises(ValueError, match=f"{why}.*Use to_json|{why}.*use to_json"):
            to_onnx(model)
        return
    check_onnx(model, X)
    check_onnx(model, X, tree_type="float32")


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)
def test_every_algorithm_is_the_same_in_treelite_or_is_refused(algorithm):
    X, y = wine()
    alone = {"pool": False} if algorithm is MinRiskClassifier else {}  # no smooth members, which are refused below
    model = small(algorithm, **alone).fit(X[::2], y[::2])
    pytest.importorskip("treelite", reason="to_treelite makes Treelite's models")
    if (why := refused(algorithm)[1]) is not None:
        with pytest.raises(ValueError, match=f"{why}.*[Uu]se to_"):
            to_treelite(model)
        return
    scores = model.model_.scores(X)
    np.testing.assert_allclose(margins(model, X), scores, atol=1e-12 * np.abs(scores).max())


@pytest.mark.parametrize("tree_type", ["float32", "float64"])
@pytest.mark.parametrize("name", ["MCBoostClassifier", "REBELClassifier", "BAdaCostClassifier", "PIBoostClassifier"])
def test_deep_trees_and_hard_rows(name, tree_type):
    X, y = wine()
    algorithm = getattr(minrisk, name)
    more = {} if name == "BAdaCostClassifier" else {"weak_learner": "tree"}
    model = small(algorithm, max_depth=4, **more).fit(X[::2], y[::2])
    rows = hard_rows(model, X)
    check_onnx(model, rows, tree_type=tree_type)
    scores = model.model_.scores(rows)
    np.testing.assert_allclose(margins(model, rows), scores, atol=1e-12 * np.abs(scores).max())


def test_two_classes():
    X, y = wine()
    model = small(minrisk.REBELClassifier).fit(X, y == 1)
    found = check_onnx(model, hard_rows(model, X))
    assert found["decision"].dtype == np.bool_ and found["scores"].shape[1] == 2
    np.testing.assert_allclose(margins(model, X), model.model_.scores(X), atol=1e-12)


def test_a_fit_that_learns_nothing():
    X, y = wine()
    model = small(MinRiskClassifier).fit(0 * X, y)
    check = answers(model, X)
    np.testing.assert_array_equal(check["decision"], model.predict(X))
    np.testing.assert_allclose(margins(model, X), model.model_.scores(X), atol=1e-12)


def test_scores_to_which_no_leaf_adds_keep_what_all_rows_have():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.array(["a"] * 30 + ["b"] * 150 + ["c"] * 20)
    model = MinRiskClassifier(pool=False, random_state=0).fit(X, y)  # no tree has a split
    assert set(model.predict(X)) == {"b"}
    check_onnx(model, X)
    check_onnx(model, X, tree_type="float32")
    np.testing.assert_allclose(margins(model, X), model.model_.scores(X), atol=1e-12)
    paid = np.column_stack([np.exp(X[:, 0]) * (y == "a"), np.full(200, 0.4), np.full(200, 0.5)])
    learnt = MinRiskClassifier(pool=False, random_state=0, n_estimators=10).fit(X, y, cost=paid)
    expected = learnt._expected(X, learnt.model_.scores(X)) * learnt.cost_regression_.unit
    np.testing.assert_allclose(check_onnx(learnt, rounded(X))["expected_cost"], expected, atol=1e-5)


CLASSES_ONLY = {
    "PIBoostClassifier",
    "AdaBoostMOClassifier",
    "BAdaCostClassifier",
    "MultiBoostClassifier",
    "StagewiseMCBoostClassifier",
    "StructBoostClassifier",
}


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)
def test_costs_with_a_decision_that_is_no_class(algorithm):
    X, y = wine()
    made = small(algorithm, **({"weak_learner": "tree"} if algorithm is minrisk.MCBoostClassifier else {}))
    if "cost" not in made.get_params():
        pytest.skip("it takes no costs")
    for price in (0.1, 0.5):  # always the cheapest, and where a class is unsure
        made.set_params(cost=[[0, 1, 4, price], [1, 0, 1, price], [4, 1, 0, price]])
        if algorithm.__name__ in CLASSES_ONLY:
            with pytest.raises(ValueError, match="decision that is no class|no other decision"):
                made.fit(X[::3, :1], y[::3])
            return
        model = made.fit(X[::3, :1], y[::3])
        if algorithm is not minrisk.LocalizedSimilaritiesClassifier:
            check_onnx(model, hard_rows(model, X[:, :1]))


# -- the default model -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def pooled():
    """A model with linear features and smooth members, and one with linear features only."""
    X, y = planes()
    X = rounded(X.to_numpy())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "CHALLENGERS", (Random, Smooth))
        smooth = MinRiskClassifier(n_estimators=30, random_state=0).fit(X, y)
    assert smooth.model_.projection is not None and smooth.model_.smooth is not None
    digits, z = load_digits(return_X_y=True)
    linear = MinRiskClassifier(surrogate="exponential", n_estimators=20, random_state=0).fit(digits[:700], z[:700])
    assert linear.model_.projection is not None and linear.model_.smooth is None
    return (X, smooth), (digits[700:], linear)


@pytest.mark.parametrize("options", [{}, {"tree_type": "float32"}, {"input_type": "float64"}])
def test_a_pool_in_onnx(pooled, options):
    for X, model in pooled:
        rows = hard_rows(model, X)
        check_onnx(model, rows, **options)
        K = len(model.classes_)
        check_onnx(model, rows, cost=np.random.default_rng(0).uniform(1, 5, (K, K)) * (1 - np.eye(K)), **options)


def test_linear_features_are_ours_to_the_bit(pooled):
    X, model = pooled[1]
    rows = hard_rows(model, X).astype(np.float64)
    np.testing.assert_array_equal(linear_features(model)(rows), model.model_.projection.extend(rows))


def test_a_pool_in_treelite(pooled):
    (_, smooth), (X, linear) = pooled
    rows = hard_rows(linear, X)
    scores = linear.model_.scores(rows)
    np.testing.assert_allclose(margins(linear, rows), scores, atol=1e-12 * np.abs(scores).max())
    treelite = pytest.importorskip("treelite", reason="to_treelite makes Treelite's models")
    p = treelite.gtil.predict(to_treelite(linear, linear_features=True), linear_features(linear)(rows), nthread=1)[:, 0]
    p = p / p.sum(axis=1, keepdims=True)  # of sigmoids
    np.testing.assert_allclose(p, linear.predict_proba(rows), atol=1e-6)
    with pytest.raises(ValueError, match=r"linear_features=True.*pool=False"):  # Treelite does not count columns
        to_treelite(linear)
    with pytest.raises(ValueError, match="smooth members.*pool=False"):
        to_treelite(smooth)


def test_landmarks_whose_squares_are_infinite_are_refused(pooled):
    (_, smooth), _ = pooled
    far, members = copy.copy(smooth), smooth.model_.smooth
    far.model_ = replace(smooth.model_, smooth=replace(members, landmarks=members.landmarks * 1e200))
    with pytest.raises(ValueError, match="squares of the landmarks.*finite"):
        to_onnx(far)


def test_inputs_of_float64_are_compared_as_they_are():
    X, y = load_iris(return_X_y=True)
    model = small(minrisk.REBELClassifier).fit(X, y)
    packed = model.model_.packed
    rows = np.repeat(X[:1], 3 * len(packed.threshold), axis=0)
    for i, (j, t) in enumerate(zip(packed.feature, packed.threshold, strict=True)):
        rows[3 * i : 3 * i + 3, j] = np.nextafter(t, -np.inf), t, np.nextafter(t, np.inf)
    check_onnx(model, rows, input_type="float64")


def test_thresholds_of_float32_part_the_same_numbers():
    t = np.concatenate(
        [np.random.default_rng(0).normal(size=1000), [0.1, 0.5, -0.1, 1e-46, -1e-46, 1e300, -1e300, -np.inf]]
    )
    with np.errstate(over="ignore"):
        numbers = float32_below(t), np.nextafter(float32_below(t), np.float32(np.inf)), t.astype(np.float32)
    for x in numbers:
        finite = np.isfinite(x)
        np.testing.assert_array_equal((x > float32_below(t))[finite], (x > t)[finite])


# -- costs and labels ------------------------------------------------------------------------------------------------
def test_costs_decide_in_the_graph():
    X, y = wine()
    cost = np.array([[0, 1, 1, 0.2], [1, 0, 1, 0.2], [10, 10, 0, 0.2]])
    names = np.array(["barolo", "grignolino", "barbera"])
    stated = minrisk.CostMatrix(cost, classes=names.tolist(), decisions=[*names.tolist(), "taste again"])
    model = MinRiskClassifier(stated, n_estimators=20, random_state=0)
    model.fit(X[::2], names[y[::2]])
    found = check_onnx(model, hard_rows(model, X))
    assert "taste again" in set(found["decision"].tolist())
    order = np.argsort(names)
    table = (cost - cost.min(axis=1, keepdims=True))[order][:, [*order, 3]]  # in the unit that they were stated in
    np.testing.assert_allclose(found["expected_cost"], found["probabilities"] @ table, rtol=1e-9)
    other = minrisk.CostMatrix(1 - np.eye(3), classes=names.tolist())
    check_onnx(model, hard_rows(model, X), cost=other)
    assert expected_cost(names[y], answers(model, X)["decision"], model.cost_) == expected_cost(
        names[y], model.predict(X), model.cost_
    )


def test_models_that_decide_early_are_exported_with_all_trees(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = MinRiskClassifier(n_estimators=40, random_state=0).fit(X[:900], y[:900])
    assert model.model_.cascade is not None
    minrisk.save(model, tmp_path / "digits.minrisk")
    rows = hard_rows(model, X[900:])
    for one in (model, minrisk.load(tmp_path / "digits.minrisk"), minrisk.compact(model)):
        check_onnx(one, rows)
        assert "cascade" not in to_json(one)


def test_huge_and_tiny_costs_decide_alike():
    X, y = wine()
    cost = np.array([[0, 1, 1], [1, 0, 1], [10, 10, 0.0]])
    decisions = []
    for factor in (1.0, 2.0**1000, 2.0**-1000):
        model = MinRiskClassifier(factor * cost, pool=False, n_estimators=10, random_state=0).fit(X, y)
        exported = parts_of(model).cost
        np.testing.assert_array_equal(exported, cost if factor == 1.0 else model.cost_.avoidable)
        decisions.append(answers(model, X)["decision"])
        np.testing.assert_array_equal(decisions[-1], model.predict(X))
    assert all(np.array_equal(decisions[0], other) for other in decisions)


def test_costs_of_each_row():
    X, y = wine()
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.4, rng.integers(0, 3, len(y)), y)  # so that decisions depend on costs
    cost = rng.uniform(1, 3, (len(y), 3)) * np.where(y == 0, np.where(X[:, 0] > 13, 5.0, 0.5), 1.0)[:, None]
    cost[np.arange(len(y)), y] = 0
    model = MinRiskClassifier(n_estimators=20, random_state=0).fit(X, y, cost=cost)
    assert len(model.cost_regression_.packed) > 0
    found = check_onnx(model, hard_rows(model, X))
    rows = hard_rows(model, X).astype(np.float64)
    expected = model._expected(rows, model.model_.scores(rows)) * model.cost_regression_.unit
    np.testing.assert_allclose(found["expected_cost"], expected, atol=1e-5)
    assert 1 < found["expected_cost"].max() < 15  # as they were stated
    pytest.importorskip("treelite", reason="to_treelite makes Treelite's models")
    with pytest.raises(ValueError, match=r"learnt for each row.*to_onnx or to_json"):
        to_treelite(MinRiskClassifier(pool=False, n_estimators=5, random_state=0).fit(X, y, cost=cost))


def test_labels_of_every_kind():
    X, y = wine()
    for labels in (
        np.array([3, 1, 2]),
        np.array(["a", "b", "ü"]),
        np.array([1.0, 2.0, 5.0]),
        np.array(["a", "b", "c"], dtype=object),
    ):
        model = MinRiskClassifier(n_estimators=5, pool=False, random_state=0).fit(X, labels[y])
        np.testing.assert_array_equal(answers(model, X)["decision"], model.predict(X))
    dates = np.array(["2024-01-01", "2024-02-01", "2024-03-01"], dtype="datetime64[D]")
    model = MinRiskClassifier(n_estimators=5, pool=False, random_state=0).fit(X, dates[y])
    np.testing.assert_array_equal(answers(model, X)["decision"], model.predict(X).astype(str))


# -- refusals --------------------------------------------------------------------------------------------------------
def test_refusals_say_what_to_do():
    X, y = wine()
    pytest.importorskip("onnx", reason="to_onnx makes its graphs with onnx")
    rebel = small(minrisk.REBELClassifier).fit(X, y)
    for export in (to_onnx, to_treelite, to_json):
        with pytest.raises(NotFittedError):
            export(MinRiskClassifier())
        with pytest.raises(TypeError, match="got Ridge"):
            export(Ridge())
    with pytest.raises(ValueError, match="leave cost out"):
        to_onnx(rebel, cost=1 - np.eye(3))
    with pytest.raises(ValueError, match="must be one of 'float32', 'float64', got 'int8'"):
        to_onnx(rebel, input_type="int8")
    with pytest.raises(ValueError, match="input_type='float32' as well"):
        to_onnx(rebel, input_type="float64", tree_type="float32")
    regressors = minrisk.MCBoostClassifier(estimator=Ridge(), n_estimators=3).fit(X, y)
    for export in (to_onnx, to_treelite, to_json):
        with pytest.raises(ValueError, match=r"regressors of scikit-learn.*weak_learner"):
            export(regressors)


def test_tables_with_categories_and_dates_are_refused():
    pd = pytest.importorskip("pandas", reason="tables are pandas' here")
    pytest.importorskip("onnx", reason="to_onnx makes its graphs with onnx")
    X, y = wine()
    frame = pd.DataFrame({"colour": np.where(X[:, 9] > 5, "dark", "light"), "alcohol": X[:, 0]})
    model = MinRiskClassifier(n_estimators=5, pool=False, random_state=0).fit(frame, y)
    dated = frame.assign(colour=pd.Timestamp("2024-01-01") + pd.to_timedelta(X[:, 1], unit="D"))
    other = MinRiskClassifier(n_estimators=5, pool=False, random_state=0).fit(dated, y)
    for export in (to_onnx, to_treelite):
        with pytest.raises(ValueError, match=r"column 'colour' .* categories.*to_json"):
            export(model)
        with pytest.raises(ValueError, match=r"column 'colour' .* dates"):
            export(other)


def test_leaves_that_add_nothing_are_left_out():
    model = small(MinRiskClassifier, pool=False).fit(*wine())
    packed, vectors = model.model_.packed, np.asarray(model.model_.vectors)
    assert len(leaf_trees(packed, vectors)) <= len(packed)
    assert len(leaf_trees(packed[:0], vectors[:0])) == 1
    assert parts_of(model).cost is not None or parts_of(model).regression is not None


# -- skl2onnx, C, and what is imported when --------------------------------------------------------------------------
def test_pipelines_convert():
    skl2onnx = pytest.importorskip("skl2onnx", reason="Pipelines are converted by skl2onnx")
    register_skl2onnx()
    X, y = wine()
    cost = [[0, 1, 1], [1, 0, 1], [10, 10, 0]]
    scaled = make_column_transformer((StandardScaler(), [0, 1, 2]), remainder="passthrough")
    for labels in (y, np.array(["a", "b", "c"])[y]):
        model = make_pipeline(scaled, MinRiskClassifier(cost, n_estimators=20, random_state=0)).fit(X, labels)
        made = session(skl2onnx.to_onnx(model, X[:1].astype(np.float32), options={"zipmap": False}))
        decision, p = made.run(None, {"X": X.astype(np.float32)})
        same = decision == model.predict(X)  # columns that skl2onnx scales in float32 may be beyond a threshold
        assert same.mean() > 0.98
        assert np.median(np.abs(p - model.predict_proba(X))) < 1e-6
        double = session(skl2onnx.to_onnx(model, X[:1], options={"zipmap": False}))
        decision, p = double.run(None, {"X": X})
        np.testing.assert_array_equal(decision, model.predict(X))
        np.testing.assert_allclose(p, model.predict_proba(X), atol=1e-6)


def test_skl2onnx_without_probabilities():
    skl2onnx = pytest.importorskip("skl2onnx", reason="Pipelines are converted by skl2onnx")
    register_skl2onnx()
    X, y = wine()
    model = small(minrisk.PIBoostClassifier).fit(X, y)
    made = session(skl2onnx.to_onnx(model, X[:1].astype(np.float32), options={id(model): {"zipmap": False}}))
    decision, scores = made.run(None, {"X": X.astype(np.float32)})
    np.testing.assert_allclose(scores, model.model_.scores(X), rtol=1e-5, atol=1e-5)
    assert (decision == model.predict(X)).mean() > 0.99


@pytest.mark.parametrize("kind", slow_after(1, ["pool", "rebel"]))
def test_compiled_c(kind, tmp_path, pooled):
    tl2cgen = pytest.importorskip("tl2cgen", reason="C is made of Treelite's models by tl2cgen")
    X, y = wine()
    X, model = (X, small(minrisk.REBELClassifier).fit(X, y)) if kind == "rebel" else pooled[1]
    library = tmp_path / "model.so"
    try:
        tl2cgen.export_lib(
            to_treelite(model, linear_features=True), toolchain="gcc", libpath=library, nthread=1, options=["-O0"]
        )
    except tl2cgen.TL2cgenError as error:
        pytest.skip(f"no compiler of C here: {error}")
    rows = linear_features(model)(hard_rows(model, X, 200))
    predictor = tl2cgen.Predictor(library, nthread=1)
    made = predictor.predict(tl2cgen.DMatrix(rows, dtype="float64"), pred_margin=True)
    scores = model.model_.scores(rows[:, : X.shape[1]])
    np.testing.assert_allclose(made.reshape(scores.shape) * scale_of(model), scores, atol=1e-9 * np.abs(scores).max())


OPTIONAL = "onnx", "onnxruntime", "skl2onnx", "treelite", "tl2cgen"


def test_nothing_is_imported_before_it_is_used():
    code = f"import minrisk.export, minrisk.cli.app, sys; print([n for n in {OPTIONAL} if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(("export", "extra"), [(to_onnx, "onnx"), (to_treelite, "treelite")])
def test_a_library_that_is_missing_is_named(export, extra, monkeypatch):
    model = small(minrisk.REBELClassifier).fit(*wine())
    for name in OPTIONAL:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "treelite.model_builder", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'minrisk\[{extra}\]'"):
        export(model)
