"""What others ask of a fitted classifier: all public functions refuse alike what is none, and call columns alike."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minrisk
from minrisk import Chunks, LocalizedSimilaritiesClassifier, MinRiskClassifier, REBELClassifier, export, inspection
from minrisk.decisions.costs import decision_costs
from minrisk.estimator.fitted import check_fitted, names_of_columns
from minrisk.inspection import CostConfusionDisplay, RiskCurveDisplay

X, Y = load_wine(return_X_y=True)
FEW = dict(n_estimators=2, random_state=0)
CALLS = {
    "to_frame": inspection.to_frame,
    "why": lambda model: inspection.why(model, X[0]),
    "report": lambda model: inspection.report(model, X, Y),
    "shap_values": lambda model: inspection.shap_values(model, X[:2], X),
    "ShapExplainer": lambda model: inspection.ShapExplainer(model, X),
    "cost_importances": lambda model: inspection.cost_importances(model, X[:5]),
    "to_shap": lambda model: inspection.to_shap(model, X),
    "wide_columns": lambda model: inspection.wide_columns(model, X),
    "to_json": export.to_json,
    "to_onnx": export.to_onnx,
    "to_treelite": export.to_treelite,
    "linear_features": export.linear_features,
}


@pytest.fixture(scope="module")
def model():
    return MinRiskClassifier(pool=False, **FEW).fit(X, Y)


def test_every_public_function_that_takes_a_model_is_asked():
    others = {
        "explain",
        "CostConfusionDisplay",
        "CostImportances",
        "CriticalDifferenceDisplay",
        "RiskCurveDisplay",
        "SensitivityDisplay",
        "ShapValues",
        "LinearFeatures",
        "register_skl2onnx",
    }
    assert {*inspection.__all__, *export.__all__} == {*CALLS, *others}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_fitted_classifier_is_refused_alike(name):
    if name == "to_onnx":
        pytest.importorskip("onnx", reason="to_onnx makes its graphs with onnx")
    fitted = REBELClassifier(n_estimators=1).fit(X, Y)
    pipeline = make_pipeline(StandardScaler(), REBELClassifier(n_estimators=1)).fit(X, Y)
    search = GridSearchCV(REBELClassifier(n_estimators=1), {"max_depth": [1]}, cv=2).fit(X, Y)
    step = "last step" if name in export.__all__ else "the classifier within"
    for given, got, way in (
        (None, "None", "fit one"),
        ([fitted, fitted], "list", "one model at a time"),
        ({"a": fitted}, "dict", "one model at a time"),
        (REBELClassifier, "the class REBELClassifier", r"REBELClassifier\(\)"),
        ("model.minrisk", "str", "minrisk.load"),
        (pipeline, "Pipeline", step),
        (search, "GridSearchCV", step),
        (LogisticRegression(), "LogisticRegression", "fit one"),
        (X, "ndarray", "fit one"),
    ):
        with pytest.raises(
            TypeError, match=f"^{name} takes a fitted classifier of minrisk: expected .* got {got}; .*{way}"
        ):
            CALLS[name](given)
    for unfitted in (MinRiskClassifier(), REBELClassifier()):
        with pytest.raises(NotFittedError):
            CALLS[name](unfitted)


def test_explain_refuses_alike():
    with pytest.raises(TypeError, match="expected one, got list: fit one"):
        inspection.explain([1], X)
    with pytest.raises(NotFittedError):
        inspection.explain(LocalizedSimilaritiesClassifier(), X)
    similar = LocalizedSimilaritiesClassifier(n_estimators=2).fit(X, Y)
    for n_reasons in (-1, 1.5, "3"):
        with pytest.raises(ValueError, match="explain: n_reasons must be a whole number at least 0, or None"):
            inspection.explain(similar, X[:1], n_reasons)
    assert inspection.explain(similar, X[:1], 0)[0].reasons == []


@pytest.mark.parametrize(
    "display", [lambda e: CostConfusionDisplay.from_estimator(e, X, Y), RiskCurveDisplay.from_estimator]
)
def test_displays_refuse_what_is_no_estimator(display):
    for given, got in (
        (None, "None"),
        ([REBELClassifier()], "list"),
        (REBELClassifier, "the class REBELClassifier"),
        ("m.minrisk", "str"),
    ):
        with pytest.raises(
            TypeError, match=f"Display.from_estimator takes a fitted classifier: expected one, got {got}; "
        ):
            display(given)
    with pytest.raises(NotFittedError):
        display(REBELClassifier())


# -- rows -----------------------------------------------------------------------------------------------------------------
ON_ROWS = {
    "to_frame": lambda model, rows: inspection.to_frame(model, rows),
    "why": lambda model, rows: inspection.why(model, X[0], rows, Y),
    "report": lambda model, rows: inspection.report(model, rows, Y),
    "shap_values": lambda model, rows: inspection.shap_values(model, rows, X),
    "background": lambda model, rows: inspection.shap_values(model, X[:2], rows),
    "to_shap": lambda model, rows: inspection.to_shap(model, rows),
    "wide_columns": lambda model, rows: inspection.wide_columns(model, rows),
    "cost_importances": lambda model, rows: inspection.cost_importances(model, rows),
}


@pytest.mark.parametrize("name", ON_ROWS)
def test_what_are_no_rows_is_refused(name, model):
    for rows in (
        X[0].tolist(),
        5,
        "abc",
        object(),
        (row for row in X),
        [[1, 2], [3]],
        [1, [2]],
        pd.Series(X[0]),
        X[0],
        X[None],
    ):
        with pytest.raises(ValueError, match="must be rows of 13 values each, got .*: give a table"):
            ON_ROWS[name](model, rows)
    with pytest.raises(TypeError, match="must be rows that are here, got Chunks"):
        ON_ROWS[name](model, Chunks(lambda: [(X, Y)]))


def test_rows_in_any_form(model):
    """A list of rows counts in trees as an array does; sparse matrices of any format are rows."""
    counted = inspection.to_frame(model, X)["rows"].to_numpy()
    for rows in (X.tolist(), tuple(map(tuple, X)), csr_matrix(X), coo_matrix(X), pd.DataFrame(X)):
        np.testing.assert_array_equal(inspection.to_frame(model, rows)["rows"], counted)
    one = inspection.to_frame(model, dict(enumerate(X[0])))["rows"]
    np.testing.assert_array_equal(one, inspection.to_frame(model, X[:1])["rows"])
    for rows in (X.tolist(), coo_matrix(X)):
        np.testing.assert_array_equal(
            inspection.shap_values(model, rows, rows).values, inspection.shap_values(model, X, X).values
        )
    found = inspection.shap_values(model, dict(enumerate(X[0])), X)
    np.testing.assert_array_equal(found.values, inspection.shap_values(model, X[:1], X).values)
    np.testing.assert_array_equal(found.data, X[:1])


def test_many_sparse_columns_are_looked_at_in_blocks():
    """5000 rows of 1500 columns are more numbers than a dense block may have."""
    rng = np.random.default_rng(0)
    sparse = csr_matrix((np.ones(5000), (np.arange(5000), rng.integers(0, 1500, 5000))), shape=(5000, 1500))
    y = np.asarray(sparse[:, :700].sum(axis=1)).ravel().astype(int)
    fitted = REBELClassifier(n_estimators=3).fit(sparse, y)
    dense, few = sparse.toarray(), slice(0, 30)
    np.testing.assert_array_equal(
        inspection.to_frame(fitted, sparse)["rows"], inspection.to_frame(fitted, dense)["rows"]
    )
    assert inspection.why(fitted, dense[7], sparse, y).similar == inspection.why(fitted, dense[7], dense, y).similar
    np.testing.assert_array_equal(
        inspection.shap_values(fitted, sparse[few], sparse).values,
        inspection.shap_values(fitted, dense[few], dense).values,
    )


# -- columns --------------------------------------------------------------------------------------------------------------
def test_columns_are_called_alike(model):
    names = [f"x[{j}]" for j in range(13)]
    assert names_of_columns(model) == names == inspection.shap_values(model, X[:1], X).feature_names
    assert set(inspection.cost_importances(model, X[:20]).names) == set(names)
    assert {name for name in inspection.to_frame(model)["feature"] if name} <= set(names)
    assert {change.column for change in inspection.why(model, X[70]).changes} <= set(names)
    page = inspection.report(model, X, Y)
    assert "x[6]" in page and "<th>x6</th>" not in page
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(13)])
    named = MinRiskClassifier(pool=False, **FEW).fit(frame, Y)
    assert names_of_columns(named) == list(frame) == inspection.shap_values(named, frame[:1], frame).feature_names
    named.first_feature_ = 1
    assert names_of_columns(named) == list(frame)
    numbered = REBELClassifier(n_estimators=1).fit(X, Y)
    numbered.first_feature_ = 1  # of a file of svmlight's format
    assert inspection.shap_values(numbered, X[:1], X).feature_names[:2] == ["feature 1", "feature 2"]
    for wrong in ("abcdefghijklm", 5, ["a"]):
        for go in (
            lambda: inspection.to_frame(model, names=wrong),
            lambda: inspection.report(model, X, Y, names=wrong),
        ):
            with pytest.raises(ValueError, match="names must name each of the 13 columns of X once, got"):
                go()


# -- costs ----------------------------------------------------------------------------------------------------------------
def test_costs_of_each_row_are_read_as_predict_reads_them(model):
    """More decisions than classes, and rows for classes that only the costs of the fit name."""
    cost = np.array([[0, 7, 1], [3, 0, 1], [2, 1, 0.0]])
    n = len(X)
    refer = np.tile(np.column_stack([cost, np.full(3, 0.05)]), (n, 1, 1)) * (1 + np.arange(n))[:, None, None]
    found = inspection.shap_values(model, X, X, of="cost", cost=refer)
    p, decided = model.predict_proba(X), model.predict(X, cost=refer)
    np.testing.assert_array_equal(found.decisions, decided)
    assert set(decided) >= {-1}
    place = np.array([[*model.classes_, -1].index(d) for d in decided])
    np.testing.assert_allclose(found.sums, np.einsum("nk,nkd->nd", p, refer)[np.arange(n), place], rtol=1e-9)
    four = minrisk.CostMatrix(np.ones((4, 4)) - np.eye(4), classes=[0, 1, 2, 3])
    wider = MinRiskClassifier(four, pool=False, **FEW).fit(X, Y)
    each = np.tile(np.array([[0, 1, 9, 4], [1, 0, 3, 4], [5, 2, 0, 4], [8, 8, 8, 0.0]]), (n, 1, 1))
    found = inspection.shap_values(wider, X, X, of="cost", cost=each)
    np.testing.assert_array_equal(found.decisions, wider.predict(X, cost=each))
    for given in (np.ones((n, 3)), np.ones((n, 2, 3)), np.full((n, 3, 3), np.nan)):
        for go in (
            lambda: model.predict(X, cost=given),
            lambda: inspection.shap_values(model, X, X, of="cost", cost=given),
        ):
            with pytest.raises(
                ValueError,
                match=r"cost has a row for each|expected shape \(178, 3, 3\)|cost\[0, 0, 0\] must be a finite number, got nan",
            ):
                go()
    assert decision_costs(model, refer, n).values.shape == (n, 3, 4)


def test_decisions_of_each_row_are_explained(model):
    cost = np.array([[0, 7, 1], [3, 0, 1], [2, 1, 0.0]])
    chosen = np.arange(len(X)) % 3
    found = inspection.shap_values(model, X, X, of="cost", cost=cost, decision=chosen)
    for k in range(3):
        one = inspection.shap_values(model, X, X, of="cost", cost=cost, decision=k)
        np.testing.assert_array_equal(found.values[chosen == k], one.values[chosen == k])
    np.testing.assert_array_equal(found.decisions, chosen)
    names, sizes = inspection.cost_importances(model, X, cost=cost, decision=chosen)
    np.testing.assert_allclose(sizes, -np.sort(-np.abs(found.values).mean(axis=0)))
    for wrong in ([0, 1], chosen[:, None], np.full(len(X), 9), {0}, [set()]):
        with pytest.raises(ValueError, match="decision must"):
            inspection.shap_values(model, X, X, of="cost", decision=wrong)


def test_check_fitted_gives_the_model_as_it_is_at_that_moment(model):
    found = check_fitted(model, "anything")
    assert type(found) is type(model) and vars(found) is vars(model)


@pytest.mark.parametrize("n_jobs", ["3", 0, [1], 1.5])
def test_threads_are_checked(model, n_jobs):
    with pytest.raises(ValueError, match="ShapExplainer: n_jobs must be a whole number but 0"):
        inspection.shap_values(model, X[:2], X, n_jobs=n_jobs)


def test_flags_and_texts_are_checked(model):
    with pytest.raises(ValueError, match="to_shap: linear must be True or False, got 'no'"):
        inspection.to_shap(model, X, linear="no")
    with pytest.raises(ValueError, match="to_treelite: linear_features must be True or False, got 'no'"):
        export.to_treelite(model, linear_features="no")
    with pytest.raises(ValueError, match="to_onnx: name must be a text that is not empty, got 3"):
        export.to_onnx(model, name=3)
