"""`class_weight`: the weights that scikit-learn finds, handed over; and costs.balanced, where no costs are stated."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from benchmarks.before_after import blobs
from minrisk import (
    ALGORITHMS,
    BAdaCostClassifier,
    Chunks,
    LocalizedSimilaritiesClassifier,
    MinRiskClassifier,
    REBELClassifier,
    costs,
    load,
    save,
)
from minrisk.costs.weights import stated_factors, weighted_by_class
from tests.helpers.common import crossed
from tests.helpers.partitions import Divided, divide
from tests.rows.test_elsewhere import MODELS, check_same
from tests.rows.test_pieces import content

MAPPING = {0: 3.0, 1: 0.7, 2: 1.0}
OTHERS = MinRiskClassifier, LocalizedSimilaritiesClassifier, BAdaCostClassifier  # weigh rows beside their costs


@pytest.fixture(scope="module")
def uneven():
    """Wine with a class of 59, one of 24 and one of 16 rows, and features that tell too little."""
    X, y = load_wine(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[::3], np.flatnonzero(y == 2)[::3]])
    return X[rows, :3], y[rows]


def small(algorithm, **parameters):
    return algorithm(**{"n_estimators": 5, "random_state": 0, **parameters})


# -- what it is ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("algorithm", "weighted", "class_weight"), crossed(ALGORITHMS, [True, False], ["balanced", MAPPING])
)
def test_the_model_is_that_of_the_weights_handed_over(algorithm, weighted, class_weight, uneven, tmp_path):
    X, y = uneven
    given = np.random.default_rng(0).integers(0, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    factors = compute_class_weight(class_weight, classes=np.unique(y), y=y, sample_weight=given)
    model = small(algorithm, class_weight=class_weight).fit(X, y, given if weighted else None)
    explicit = small(algorithm).fit(X, y, given * factors[y])
    assert content(model, tmp_path) == content(explicit, tmp_path)
    without = small(algorithm).fit(X, y, given)
    assert content(model, tmp_path) != content(without, tmp_path)


@pytest.mark.parametrize(
    "algorithm", [cls for cls in ALGORITHMS if cls not in OTHERS and "cost_scale" not in cls._rules]
)
def test_balanced_weights_are_balanced_costs(algorithm, uneven):
    """Where a row's weight and its costs are one factor of its loss; 256 bins hold all values here, whatever the weights."""
    X, y = uneven
    weighted = small(algorithm, class_weight="balanced").fit(X, y)
    costly = small(algorithm, cost=costs.balanced(y)).fit(X, y)
    np.testing.assert_array_equal(weighted.predict(X), costly.predict(X))
    np.testing.assert_allclose(weighted.decision_function(X), costly.decision_function(X), rtol=0, atol=1e-8)
    assert np.any(weighted.predict(X) != small(algorithm).fit(X, y).predict(X))


def test_costs_that_are_stated_stay_beside_the_weights(uneven):
    X, y = uneven
    stated = np.array([[0, 1, 2], [3, 0, 1], [1, 5, 0.0]])
    per_row = stated[y] * compute_sample_weight("balanced", y)[:, None]
    weighted = small(REBELClassifier, cost=stated, class_weight="balanced").fit(X, y)
    costly = small(REBELClassifier).fit(X, y, cost=per_row)
    np.testing.assert_allclose(weighted.decision_function(X), costly.decision_function(X), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(weighted.cost_.values, stated)


@pytest.mark.parametrize("weights", [None, "whole", "any", "some classes without"])
def test_factors_are_those_of_scikit_learn(weights):
    random = np.random.default_rng(1)
    codes = random.integers(0, 4, 500)
    weight = random.exponential(size=500) * 1e-5
    if weights is None:
        weight = np.ones(500)
    elif weights == "whole":
        weight = random.integers(0, 3, 500).astype(float)
    elif weights == "some classes without":
        weight[codes == 2] = 0.0
    kept = weight > 0
    classes, own = np.unique(codes[kept], return_inverse=True)
    expected = compute_class_weight("balanced", classes=classes, y=codes[kept], sample_weight=weight[kept])
    found = weighted_by_class(weight, codes, 4, None)
    assert not found[~kept].any()
    ratios = found[kept] / (weight[kept] * expected[own])
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)
    power = np.log2(ratios[0])
    assert power == pytest.approx(round(power), abs=1e-9)  # up to a power of two
    sums = np.bincount(codes, found)
    np.testing.assert_allclose(sums[sums > 0], sums.max(), rtol=1e-12)


# -- labels and values ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("class_weight", "expected"),
    [
        ({"a": 2, "b": 3}, [2, 3]),
        ({"b": 3, "a": 2}, [2, 3]),
        ({"b": 3}, [1, 3]),
        ({}, [1, 1]),
        ({"b": 3, "a": 2, "c": 5}, [2, 3]),
    ],
)
def test_labels_that_are_named_or_not(class_weight, expected):
    y = np.array(["a", "b"])
    assert stated_factors(class_weight, y, np.ones(2, dtype=bool)).tolist() == expected
    assert compute_class_weight(class_weight, classes=y, y=y).tolist() == expected


def test_labels_that_seem_to_be_meant_otherwise_are_refused(uneven):
    X, y = uneven
    with pytest.raises(
        ValueError,
        match=r"^class_weight must name classes of y, got \[7\], and nothing for \[1, 2\]: correct the labels\.$",
    ):
        REBELClassifier(class_weight={0: 1, 7: 2}).fit(X, y)
    with pytest.raises(ValueError, match="not in class_weight"):
        compute_class_weight({0: 1, 7: 2}, classes=np.unique(y), y=y)
    counted = (y < 2) + 0.0  # rows without weight are of no class
    assert list(small(REBELClassifier, class_weight={0: 1, 1: 4, 7: 2}).fit(X, y, counted).classes_) == [0, 1]


@pytest.mark.parametrize(
    "wrong",
    ["balance", {0: 0}, {0: -1}, {0: np.nan}, {0: np.inf}, {0: "2"}, {0: True}, 2.0, [1, 2, 3], [{0: 1}], np.ones(3)],
)
def test_other_values_are_refused(wrong, uneven):
    with pytest.raises(
        ValueError, match="class_weight must be 'balanced', a mapping from labels to numbers above 0, or None, got "
    ):
        REBELClassifier(class_weight=wrong).fit(*uneven)


def test_a_common_factor_changes_nothing(uneven):
    X, y = uneven
    alike = [
        small(REBELClassifier, class_weight=dict.fromkeys(range(3), value)).fit(X, y)
        for value in (1.0, 1e300, 1e-300, 3)
    ]
    for model in alike[1:]:
        np.testing.assert_array_equal(model.decision_function(X), alike[0].decision_function(X))


@pytest.mark.parametrize("algorithm", [MinRiskClassifier, REBELClassifier])
def test_labels_of_any_kind_find_their_factors(algorithm, uneven):
    X, y = uneven
    expected = small(algorithm, class_weight=MAPPING).fit(X, y).decision_function(X)
    named = small(algorithm, class_weight={"c": 1, "a": np.int8(3), "b": 0.7}).fit(X, np.array(["a", "b", "c"])[y])
    np.testing.assert_array_equal(named.decision_function(X), expected)
    as_written = small(algorithm, class_weight={str(label): factor for label, factor in MAPPING.items()}).fit(X, y)
    np.testing.assert_array_equal(as_written.decision_function(X), expected)


# -- ways to fit -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kept_values", [1 << 22, 10])
@pytest.mark.parametrize("class_weight", ["balanced", MAPPING])
@pytest.mark.parametrize("algorithm", [MinRiskClassifier, REBELClassifier])
def test_chunks(algorithm, class_weight, kept_values, uneven, monkeypatch, tmp_path):
    """Labels are counted over all chunks, of which none has all classes."""
    monkeypatch.setattr("minrisk.estimator.inputs.KEPT_VALUES", kept_values)
    X, y = uneven
    cuts = [0, 40, 70, len(y)]
    chunks = Chunks(lambda: ((X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)))
    model = small(algorithm, class_weight=class_weight)
    assert content(model.fit(chunks), tmp_path) == content(model.fit(X, y), tmp_path)


def test_shares_of_categories_see_the_weights(tmp_path):
    """A column of many values becomes the shares of the classes among its rows."""
    import pandas as pd

    random = np.random.default_rng(3)
    town = random.integers(0, 30, 400)
    y = (random.random(400) < 0.05 + 0.3 * (town % 3 == 0)).astype(int)
    X = pd.DataFrame({"town": pd.Categorical([f"town {k}" for k in town]), "x": random.normal(size=400)})
    model = small(REBELClassifier, class_weight="balanced").fit(X, y)
    explicit = small(REBELClassifier).fit(X, y, compute_sample_weight("balanced", y))
    assert content(model, tmp_path) == content(explicit, tmp_path)
    of_missing = model._categories.columns[0].table[-1]
    assert of_missing == pytest.approx(0.5, abs=1e-9)  # the second class has the weight of the first


def test_a_warm_start_weighs_the_rows_that_it_is_given(uneven):
    X, y = uneven
    weight = compute_sample_weight("balanced", y)
    by_class = (
        REBELClassifier(n_estimators=3, warm_start=True, class_weight="balanced")
        .fit(X, y)
        .set_params(n_estimators=6)
        .fit(X, y)
    )
    by_row = (
        REBELClassifier(n_estimators=3, warm_start=True).fit(X, y, weight).set_params(n_estimators=6).fit(X, y, weight)
    )
    np.testing.assert_array_equal(by_class.decision_function(X), by_row.decision_function(X))
    at_once = REBELClassifier(n_estimators=6, class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(by_class.decision_function(X), at_once.decision_function(X))


def test_early_stopping_counts_weighted_rows(uneven):
    X, y = uneven
    options = {"early_stopping": True, "validation_fraction": 0.4, "n_estimators": 30, "n_iter_no_change": 30}
    model = small(REBELClassifier, class_weight="balanced", **options).fit(X, y)
    explicit = small(REBELClassifier, **options).fit(X, y, compute_sample_weight("balanced", y))
    np.testing.assert_array_equal(model.validation_risk_, explicit.validation_risk_)


def test_the_parameter_stays_as_it_was_given_and_no_file_has_it(uneven, tmp_path):
    X, y = uneven
    given = {0: np.float32(2), 1: 1, 2: 1}
    model = small(REBELClassifier, class_weight=given).fit(X, y)
    assert model.class_weight is given
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.class_weight is None and again.categorical_features == "from_dtype"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_search_over_class_weights(uneven):
    X, y = uneven
    grid = {"class_weight": [None, "balanced", MAPPING]}
    search = GridSearchCV(
        REBELClassifier(n_estimators=10, max_depth=1), grid, cv=2, scoring="balanced_accuracy", error_score="raise"
    )
    scores = search.fit(X[:, :2], y).cv_results_["mean_test_score"]
    assert scores[1] > scores[0]


# -- rows elsewhere ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "class_weight", "weights"),
    crossed(["stumps", "vector trees", "pool"], ["balanced", {0: 5, 1: 0.3}], ["any", None]),
)
def test_rows_elsewhere(name, class_weight, weights, monkeypatch, tmp_path):
    """Counts are summed over the pieces, exactly: the same bytes."""
    weight = None if weights is None else np.random.default_rng(2).exponential(size=900)
    model = clone(MODELS[name]).set_params(class_weight=class_weight)
    check_same(model, monkeypatch, tmp_path, 6, weight=weight, n_shards=3)


def test_few_rows_elsewhere(monkeypatch, tmp_path):
    check_same(REBELClassifier(n_estimators=3, class_weight="balanced"), monkeypatch, tmp_path, 4, few=10_000)


def test_labels_that_are_not_elsewhere_are_refused(monkeypatch):
    divide(monkeypatch)
    (X, y), cuts = blobs(200, 4), [0, 100, 200]
    with pytest.raises(ValueError, match=r"class_weight must name classes of y, got \[9\]"):
        REBELClassifier(class_weight={9: 2}).fit(Divided(X, cuts), Divided(y, cuts))
