"""LeastCostClassifier: the rule written out, cross-fitting beside scikit-learn's, its checks, and what is refused."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from minrisk import CostMatrix, MinRiskClassifier, REBELClassifier, apply_costs
from minrisk.decisions.least_cost import MOST_LEFT_OUT, LeastCostClassifier
from minrisk.metrics import expected_cost

TABLE = np.array([[0, 1, 4, 0.5], [2, 0, 1, 0.5], [9, 3, 0, 0.5]])
NAMES = np.array(["ash", "birch", "cedar"])
METHODS = (
    *(("temperature",) if parse_version(sklearn.__version__) >= parse_version("1.8") else ()),
    "sigmoid",
    "isotonic",
)
REPEATED = "folds are drawn from rows, repeated ones too"


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def boosting(**given):
    return HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4, random_state=0, **given)


def tree(**given):
    return DecisionTreeClassifier(random_state=0, **given)


# -- scikit-learn's checks ---------------------------------------------------------------------------------------------
def expected_failures(model):
    if model.calibrate is False and model.cv is None:
        return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": REPEATED for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        LeastCostClassifier(),
        LeastCostClassifier(tree()),
        LeastCostClassifier(calibrate=METHODS[0], cv=2),
        LeastCostClassifier(tree(), calibrate="isotonic", cv=2),
        LeastCostClassifier(boosting(), calibrate="sigmoid", cv=2, keep_left_out=False),
        LeastCostClassifier(boosting(), cv=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- decisions ---------------------------------------------------------------------------------------------------------
def naive(p, table, decisions):
    found = []
    for row in p:
        expected = [sum(row[j] * table[j][k] for j in range(len(row))) for k in range(len(decisions))]
        found.append(decisions[min(range(len(decisions)), key=expected.__getitem__)])
    return found


@pytest.mark.parametrize("given", [{}, {"cv": 3}, *({"calibrate": method} for method in METHODS)], ids=str)
def test_the_rule_written_out(wine, given):
    X, y = wine
    model = LeastCostClassifier(tree(max_depth=2), TABLE, random_state=0, **given).fit(X, NAMES[y])
    p, decisions = model.predict_proba(X), [*NAMES, "refer"]
    assert model.decisions_.tolist() == decisions and model.classes_.tolist() == NAMES.tolist()
    assert (model.cost_.values == TABLE).all() and model.cost_.decisions == tuple(decisions)
    assert model.predict(X).tolist() == naive(p, TABLE, decisions)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    other = CostMatrix([[0, 1], [5, 0], [5, 0]], NAMES, ["ash", "rest"])
    assert model.predict(X, cost=other).tolist() == naive(p, other.values, ["ash", "rest"])
    each = np.random.default_rng(0).uniform(size=(len(X), 3, 4))
    assert (model.predict(X, cost=each) == apply_costs(p, NAMES, each)).all()
    truth = NAMES[y]
    assert model.score(X, truth) == pytest.approx(1 - expected_cost(truth, model.predict(X), model.cost_))
    right = np.mean(model.predict(X) == truth)
    assert model.score(X, truth, cost=np.c_[1 - np.eye(3), np.ones(3)]) == pytest.approx(right)
    np.testing.assert_allclose(model.trained_priors_, np.bincount(y) / len(y))


def test_referring_pays_where_it_is_cheap(wine):
    X, y = wine
    model = LeastCostClassifier(GaussianNB(), TABLE).fit(X[::2], y[::2])
    assert model.decisions_.tolist() == [0, 1, 2, -1] and -1 in model.predict(X)
    costly = LeastCostClassifier(GaussianNB(), np.where(TABLE == 0.5, 50, TABLE)).fit(X[::2], y[::2])
    assert -1 not in costly.predict(X)


def test_costs_in_any_form(wine):
    X, y = wine
    frame = pd.DataFrame(TABLE, NAMES, [*NAMES, "refer"])
    expected = LeastCostClassifier(tree(max_depth=2), TABLE).fit(X, NAMES[y]).predict(X)
    shuffled = frame.loc[["cedar", "ash", "birch"], ["refer", "cedar", "birch", "ash"]]
    for cost in (frame, shuffled, frame.T.to_dict(), CostMatrix(shuffled)):
        assert (LeastCostClassifier(tree(max_depth=2), cost).fit(X, NAMES[y]).predict(X) == expected).all()
        assert (LeastCostClassifier(tree(max_depth=2)).fit(X, NAMES[y], cost=cost).predict(X) == expected).all()


def test_two_classes_and_tables(wine):
    X, y = wine
    table = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    said = np.where(y == 0, "no", "yes")
    model = LeastCostClassifier(cost={"no": {"yes": 1}, "yes": {"no": 20}}, calibrate="sigmoid", random_state=0)
    model.fit(table, pd.Series(said))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
    assert (
        model.predict(table)
        == np.where(20 * model.predict_proba(table)[:, 1] > model.predict_proba(table)[:, 0], "yes", "no")
    ).all()
    assert not hasattr(model.fit(X, said), "feature_names_in_")


def test_costs_of_each_row_are_means_of_the_classes(wine):
    X, y = wine
    draw = np.random.default_rng(0)
    cost, weight = draw.uniform(size=(len(y), 4)), draw.integers(0, 3, size=len(y)).astype(float)
    model = LeastCostClassifier(GaussianNB()).fit(X, y, weight, cost)
    means = [np.average(cost[y == k], axis=0, weights=weight[y == k]) for k in range(3)]
    np.testing.assert_allclose(model.cost_.values, means)
    assert model.decisions_.tolist() == [0, 1, 2, -1]
    matrices = draw.uniform(size=(len(y), 3, 4))
    again = LeastCostClassifier(GaussianNB()).fit(X, y, weight, matrices)
    means = [np.average(matrices[y == k, k], axis=0, weights=weight[y == k]) for k in range(3)]
    np.testing.assert_allclose(again.cost_.values, means)
    with pytest.raises(ValueError, match=r"pass cost=, with a row for each row"):
        model.score(X, y)
    assert model.score(X, y, cost=cost) == pytest.approx(1 - expected_cost(y, model.predict(X), cost))


# -- cross-fitting -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_calibrates_as_scikit_learn_does(wine, method, n_classes):
    X, y = wine
    y = np.minimum(y, n_classes - 1)
    weight = np.random.default_rng(0).uniform(size=len(y))
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    forest = RandomForestClassifier(10, max_depth=3, random_state=0)
    model = LeastCostClassifier(forest, calibrate=method, cv=3, random_state=0).fit(X, y, weight)
    reference = CalibratedClassifierCV(forest, method=method, cv=splits, ensemble=True).fit(X, y, weight)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), atol=1e-12)
    assert len(model.estimators_) == len(model.calibrators_) == 3 and not hasattr(model, "estimator_")
    with joblib.parallel_backend("threading"):
        stated = LeastCostClassifier(forest, calibrate=method, cv=splits, n_jobs=2).fit(X, y, weight)
    np.testing.assert_allclose(stated.predict_proba(X), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_calibration_improves_a_model_that_is_too_sure(method):
    X, y = make_classification(2000, 20, n_informative=6, n_classes=3, flip_y=0.2, random_state=0)
    X = np.hstack([X, X, X])  # a naive Bayes classifier counts each feature three times
    plain = LeastCostClassifier(GaussianNB(), TABLE).fit(X[::2], y[::2])
    model = LeastCostClassifier(GaussianNB(), TABLE, calibrate=method, random_state=0).fit(X[::2], y[::2])
    losses = [log_loss(y[1::2], each.predict_proba(X[1::2])) for each in (plain, model)]
    assert losses[1] < 0.8 * losses[0]
    assert model.score(X[1::2], y[1::2]) > plain.score(X[1::2], y[1::2])


@pytest.mark.parametrize("given", [{"cv": 4}, {"calibrate": METHODS[0]}, {"calibrate": "isotonic", "cv": 3}], ids=str)
def test_left_out_rows(wine, given):
    X, y = wine
    weight = np.where(np.arange(len(y)) % 10 == 0, 0.0, 2.0)
    model = LeastCostClassifier(tree(max_depth=3), random_state=0, **given).fit(X, y, weight)
    kept, counted = model.left_out_, np.flatnonzero(weight)
    n_folds = given.get("cv", 5)
    assert kept.probabilities.dtype == kept.told.dtype == np.float32 and kept.probabilities.shape == (len(counted), 3)
    assert (kept.labels == y[counted]).all() and (kept.weight == 2.0).all()
    assert sorted(set(kept.folds)) == list(range(n_folds))
    np.testing.assert_allclose(kept.probabilities.sum(axis=1), 1.0, rtol=1e-6)
    if "calibrate" not in given:
        for k, member in enumerate(model.estimators_):
            own = kept.folds == k
            np.testing.assert_allclose(kept.told[own], member.predict_proba(X[counted[own]]), rtol=1e-6)
    told = model._told(X)
    parts = [model._by_member(k, X) for k in range(n_folds)]
    for i in range(len(X)):
        np.testing.assert_array_equal(told[i], parts[i % n_folds][i])
    np.testing.assert_allclose(np.mean(parts, axis=0), model.predict_proba(X))
    assert model.set_params(keep_left_out=False).fit(X, y).left_out_ is None
    alone = LeastCostClassifier(tree()).fit(X, y)
    assert alone.left_out_ is None and alone._told(X) is None


def test_left_out_rows_are_judged_by_calibrations_that_have_not_seen_them():
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(400, 3)), draw.integers(0, 2, 400)  # nothing to learn
    model = LeastCostClassifier(RandomForestClassifier(20, random_state=0), calibrate="isotonic", random_state=0)
    kept = model.fit(X, y).left_out_
    flattered = np.empty(len(y))
    for k in range(5):
        own = kept.folds == k
        flattered[own] = model._by_member(k, X[own])[:, 1]
    assert np.mean((flattered > 0.5) == y) > 0.53  # the calibration has seen the labels of these rows
    assert abs(np.mean((kept.probabilities[:, 1] > 0.5) == y) - 0.5) < 0.06


def test_few_of_many_left_out_rows_are_kept(monkeypatch, wine):
    X, y = wine
    monkeypatch.setattr("minrisk.decisions.least_cost.MOST_LEFT_OUT", 50)
    monkeypatch.setattr("minrisk.decisions.least_cost.MANY_ROWS", 20)
    kept = LeastCostClassifier(tree(), calibrate="sigmoid", random_state=0).fit(X, y).left_out_
    assert [len(each) for each in kept] == [50] * 5 and set(kept.labels) == {0, 1, 2} and MOST_LEFT_OUT > 50
    assert (np.diff(np.unique(kept.folds)) == 1).all()


def test_folds_follow_the_rarest_class_and_groups(wine):
    X, y = wine
    few = np.r_[np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:3]]
    assert len(LeastCostClassifier(tree(), calibrate=METHODS[0]).fit(X[few], y[few]).estimators_) == 3
    groups = np.arange(len(y)) // 3 % 20
    left_out = LeastCostClassifier(tree(), cv=4, random_state=0).fit(X, y, groups=groups).left_out_
    assert all(len(set(left_out.folds[groups == group])) == 1 for group in set(groups))
    left_out = LeastCostClassifier(tree(), cv=GroupKFold(3)).fit(X, y, groups=groups).left_out_
    assert all(len(set(left_out.folds[groups == group])) == 1 for group in set(groups))


def test_rows_of_weight_0_are_none(wine):
    X, y = wine
    weight = np.where(y == 2, 0.0, 1.0)
    for model in (LeastCostClassifier(tree()), LeastCostClassifier(tree(), calibrate="sigmoid", random_state=0)):
        model.fit(X, y, weight)
        assert model.classes_.tolist() == [0, 1] and model.predict_proba(X).shape == (len(X), 2)
    np.testing.assert_array_equal(
        LeastCostClassifier(tree()).fit(X, y, weight).predict(X), tree().fit(X[y < 2], y[y < 2]).predict(X)
    )


# -- with the rest of scikit-learn -------------------------------------------------------------------------------------
def test_searches_pipelines_and_files(wine):
    X, y = wine
    model = LeastCostClassifier(make_pipeline(StandardScaler(), LogisticRegression()), TABLE)
    search = GridSearchCV(
        model, {"estimator__logisticregression__C": [0.01, 1.0], "calibrate": [False, "sigmoid"]}, cv=2
    )
    search.fit(X, y)
    assert search.best_estimator_.decisions_.tolist() == [0, 1, 2, -1]
    assert search.score(X, y) == search.best_estimator_.score(X, y)
    assert cross_val_score(make_pipeline(StandardScaler(), LeastCostClassifier(cost=TABLE)), X, y, cv=3).min() > 0.5
    fitted = clone(model).set_params(calibrate="isotonic", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(clone(fitted).fit(X, y).predict_proba(X), fitted.predict_proba(X))


def test_weights_reach_the_classifier_or_are_refused(wine):
    X, y = wine
    weight = np.random.default_rng(0).uniform(size=len(y))
    expected = LogisticRegression().fit(X, y, weight).predict_proba(X)
    np.testing.assert_array_equal(LeastCostClassifier().fit(X, y, weight).predict_proba(X), expected)
    with pytest.raises(TypeError, match=r"fit of KNeighborsClassifier does not take it"):
        LeastCostClassifier(KNeighborsClassifier()).fit(X, y, weight)
    chain = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(TypeError, match=r"set_fit_request\(sample_weight=True\)"):
        LeastCostClassifier(chain).fit(X, y, weight)
    by_step = LeastCostClassifier(chain, cv=2, random_state=0).fit(X, y, logisticregression__sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = LeastCostClassifier().fit(X, y, weight)
        np.testing.assert_array_equal(routed.predict_proba(X), expected)
        with pytest.raises(UnsetMetadataPassedError):
            LeastCostClassifier(LogisticRegression()).fit(X, y, weight)
        with pytest.raises(TypeError, match=r"fit of KNeighborsClassifier does not take it"):
            LeastCostClassifier(KNeighborsClassifier()).fit(X, y, weight)
        asking = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            LogisticRegression().set_fit_request(sample_weight=True),
        )
        model = LeastCostClassifier(asking, calibrate="sigmoid", cv=2, random_state=0).fit(X, y, sample_weight=weight)
        for member, other in zip(model.estimators_, by_step.estimators_, strict=True):
            np.testing.assert_array_equal(member.predict_proba(X), other.predict_proba(X))
        asking = LeastCostClassifier(asking, TABLE).set_fit_request(sample_weight=True, cost=True)
        search = GridSearchCV(
            asking.set_score_request(cost=True, sample_weight=True), {"calibrate": [False, "sigmoid"]}, cv=2
        )
        search.fit(X, y, sample_weight=weight, cost=TABLE[y])
        np.testing.assert_allclose(search.best_estimator_.cost_.values, TABLE)


def test_around_classifiers_of_this_package(wine):
    X, y = wine
    inner = MinRiskClassifier(n_estimators=5, pool=False, random_state=0)
    model = LeastCostClassifier(inner, TABLE).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), clone(inner).fit(X, y).predict(X, cost=TABLE))
    inner = MinRiskClassifier(TABLE, n_estimators=5, pool=False, cv=1, random_state=0)  # of more decisions than classes
    model = LeastCostClassifier(inner, calibrate=METHODS[0], cv=2, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (len(X), 3) and model.decisions_.tolist() == [0, 1, 2]
    assert LeastCostClassifier(REBELClassifier(n_estimators=5), TABLE).fit(X, y).score(X, y) > 0.8
    with pytest.raises(TypeError, match="predict_proba, which REBELClassifier has not"):
        LeastCostClassifier(REBELClassifier(TABLE, n_estimators=5)).fit(X, y)


@pytest.mark.parametrize("method", [False, "sigmoid"])
def test_around_lightgbm(wine, method):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = wine
    own = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=4, verbose=-1, n_jobs=1)
    model = LeastCostClassifier(own, TABLE, calibrate=method, cv=3 if method else None).fit(X, NAMES[y])
    assert model.score(X, NAMES[y]) > 0.5 and model.n_features_in_ == 13


def test_other_shares_of_the_classes(wine):
    pytest.importorskip("minrisk.decisions.priors")
    X, y = wine
    model = LeastCostClassifier(GaussianNB(), TABLE).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X, priors=model.trained_priors_), p)
    shares = np.array([0.1, 0.1, 0.8])
    moved = p * shares / model.trained_priors_
    moved /= moved.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X, priors=shares), moved)
    np.testing.assert_array_equal(model.predict(X, priors=shares), apply_costs(moved, model.classes_, TABLE))


def test_limits(wine):
    pytest.importorskip("minrisk.decisions.limits")
    X, y = wine
    model = LeastCostClassifier(GaussianNB(), TABLE).fit(X[:, :2], NAMES[y])
    free = model.predict(X[:, :2])
    assert np.sum(free == "refer") > 5
    assert np.sum(model.predict(X[:, :2], limits={"refer": 5}) == "refer") == 5
    np.testing.assert_array_equal(model.predict(X[:, :2], limits={"refer": len(X)}), free)


def test_priors_are_refused_where_the_trained_ones_are_not_known(wine):
    X, y = wine
    balanced = LogisticRegression(class_weight="balanced")
    stated = GaussianNB(priors=[0.2, 0.2, 0.6])
    for estimator in (balanced, make_pipeline(StandardScaler(), balanced), stated):
        model = LeastCostClassifier(estimator).fit(X, y)
        assert model.trained_priors_ is None and model.predict(X).shape == y.shape
        with pytest.raises(ValueError, match="such as class_weight changes these"):
            model.predict(X, priors=[0.2, 0.3, 0.5])
    assert LeastCostClassifier(balanced, calibrate="sigmoid").fit(X, y).trained_priors_ is not None


# -- what is refused ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (
            LeastCostClassifier(LinearSVC()),
            TypeError,
            r"LeastCostClassifier\(CalibratedClassifierCV\(LinearSVC\(\)\)\)",
        ),
        (LeastCostClassifier(GaussianNB), TypeError, r"must be a classifier, as LogisticRegression\(\) is, got <class"),
        (LeastCostClassifier("forest"), TypeError, r"got 'forest'"),
        (LeastCostClassifier(calibrate=True), ValueError, "calibrate must be False or one of temperature, sigmoid"),
        (LeastCostClassifier(calibrate="platt"), ValueError, "got 'platt'"),
        pytest.param(
            LeastCostClassifier(calibrate="temperature"),
            ValueError,
            "needs scikit-learn 1.8",
            marks=pytest.mark.skipif("temperature" in METHODS, reason="this scikit-learn has it"),
        ),
        (LeastCostClassifier(keep_left_out="no"), ValueError, "keep_left_out must be True or False, got 'no'"),
        (LeastCostClassifier(cv=1), ValueError, "2 folds or more"),
        (
            LeastCostClassifier(cv=60),
            ValueError,
            "Cross-fitting with 60 folds needs as many rows of every class, got 48",
        ),
        (LeastCostClassifier(cv=ShuffleSplit(9, test_size=0.5, random_state=0)), ValueError, "leave each row out once"),
        (
            LeastCostClassifier(cv=TimeSeriesSplit(3)),
            ValueError,
            "rows of every class to train on, got none of 1 in fold",
        ),
        (LeastCostClassifier(cv=[(range(178), range(178))]), ValueError, "got row 0 among the training rows of fold 0"),
        (LeastCostClassifier(cv=[(range(178), [])]), ValueError, "a row or more out in each fold, got 0 in fold 0"),
        (LeastCostClassifier(cv=[(range(50, 178), range(50))]), ValueError, "every class out, got none of 1"),
        (LeastCostClassifier(cost=[[0, 1], [1, 0]]), ValueError, "cost must have one row per class"),
    ],
    ids=str,
)
def test_wrong_things_are_refused(wine, model, error, message):
    with pytest.raises(error, match=message):
        model.fit(*wine)
    with pytest.raises(NotFittedError):
        model.predict(wine[0])


def test_wrong_arguments_are_refused(wine):
    X, y = wine
    model = LeastCostClassifier(GaussianNB())
    with pytest.raises(ValueError, match="at least two classes, got 1 class with rows of some weight"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="needs as many rows of every class, got 1 of 2"):
        LeastCostClassifier(calibrate="sigmoid").fit(X[:131], y[:131])
    with pytest.raises(ValueError, match="groups must be two or more"):
        LeastCostClassifier(cv=2).fit(X, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="row labels"):
        model.fit(pd.DataFrame(X), pd.Series(y, index=range(len(y))[::-1]))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, y, -np.ones(len(y)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        model.fit(X, y, colour=1)
    model.fit(X, y)
    with pytest.raises(ValueError, match="which is unknown: give one matrix for all rows"):
        model.predict(X, cost=TABLE[y])


def test_a_classifier_of_odd_probabilities_is_refused(wine):
    class Odd(GaussianNB):
        def predict_proba(self, X):
            p = super().predict_proba(X)
            return p[:, :2] if len(X) > 1 else p * np.nan

    model = LeastCostClassifier(Odd()).fit(*wine)
    with pytest.raises(ValueError, match=r"predict_proba of Odd must have a column for each of the 3 classes"):
        model.predict(wine[0])
    with pytest.raises(ValueError, match="predict_proba of Odd must give finite numbers, got nan"):
        model.predict(wine[0][:1])


def test_a_fit_that_fails_changes_nothing():
    X, y = load_iris(return_X_y=True)
    model = LeastCostClassifier(tree()).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError):
        model.fit(X, y[:-1])
    assert vars(model) == before
