"""Costs per row where the rows lack a class: never shifted from one class to another."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import KFold, cross_val_score

from minrisk import (
    MCBoostClassifier,
    MinRiskClassifier,
    MultiBoostClassifier,
    REBELClassifier,
    StagewiseMCBoostClassifier,
    apply_costs,
    costs,
    load,
    metrics,
    save,
)
from minrisk.inspection import CostConfusionDisplay, report
from tests.helpers.common import crossed

NAMES = ["ash", "birch", "cedar", "date"]
TABLE = np.array([[0, 1, 2, 3], [9, 0, 9, 9], [2, 1, 0, 1], [3, 2, 1, 0.0]])
ALGORITHMS = {
    "minrisk": lambda cost=None: MinRiskClassifier(cost, n_estimators=4, pool=False, random_state=0),
    "rebel": lambda cost=None: REBELClassifier(cost, n_estimators=3),
    "mcboost": lambda cost=None: MCBoostClassifier(cost, n_estimators=3),
}


@pytest.fixture(scope="module")
def data():
    """Features, labels and numbers of the classes; no birch but in the first three rows."""
    code = np.tile([0, 2, 3], 20)
    code[:3] = 1
    return np.random.default_rng(0).normal(size=(60, 3)) + 2 * code[:, None], np.array(NAMES)[code], code


def forms(code):
    """Costs per row without labels: as rows, and as matrices."""
    return {"rows": TABLE[code], "matrices": np.broadcast_to(TABLE, (len(code), 4, 4)).copy()}


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("form", ["rows", "matrices"])
def test_a_class_that_y_lacks_is_told(data, name, form):
    X, y, code = data[0][3:], data[1][3:], data[2][3:]
    given, model = forms(code)[form], ALGORITHMS[name]()
    told = {
        "rows": r"in the columns \[0, 2, 3\], as if y lacked a class: give a row of costs per sample in a DataFrame",
        "matrices": r"classes \['ash', 'cedar', 'date'\]: .* got \(57, 4, 4\); if it has rows of other classes, give a row",
    }
    with pytest.raises(ValueError, match=told[form]):
        model.fit(X, y, cost=given)
    model.fit(X, y, cost=pd.DataFrame(TABLE[code], columns=NAMES))
    assert model.decisions_.tolist() == ["ash", "cedar", "date", "birch"]
    with pytest.raises(ValueError, match=told[form]):
        model.score(X, y, cost=given)
    with pytest.raises(ValueError, match="got \\['birch'\\]: give a row of costs per sample"):
        model.score(*data[:2], cost=forms(data[2])[form])


@pytest.mark.parametrize(("name", "numbers"), crossed(["rebel", "minrisk", "mcboost"], [False, True]))
def test_costs_of_the_estimator_name_the_classes(data, name, numbers, tmp_path):
    names = [10, 20, 30, 40] if numbers else NAMES
    (X, _, code), y = data, np.array(names)[data[2]]
    kept = code != 1
    stated = [
        costs.uniform(names[::-1]),
        pd.DataFrame(1 - np.eye(4), names, names),
        costs.uniform([str(label) for label in names]),
    ]
    seen = [names[0], names[2], names[3]]  # of the others, none is decided
    by_name = ALGORITHMS[name]().fit(X[kept], y[kept], cost=pd.DataFrame(TABLE[code][kept], columns=names)[seen])
    for cost in stated[: 1 if name != "rebel" else 3]:
        for form, given in forms(code).items():
            model = ALGORITHMS[name](cost).fit(X[kept], y[kept], cost=given[kept])
            assert model.decisions_.tolist() == by_name.decisions_.tolist() == seen
            np.testing.assert_array_equal(model.predict(X), by_name.predict(X))
            expected = 1 - metrics.expected_cost(y, model.predict(X), pd.DataFrame(TABLE, names, names))
            assert model.score(X, y, cost=given) == pytest.approx(expected), form
            save(model, tmp_path / "m")
            assert load(tmp_path / "m").score(X, y, cost=pd.DataFrame(TABLE[code], columns=names)) == pytest.approx(
                expected
            )
            if cost is not stated[0]:
                continue
            plt.close("all")
            total = CostConfusionDisplay.from_estimator(model, X, y, cost=given).cost_confusion.sum()
            assert total == pytest.approx((1 - expected) * len(y))
            few = CostConfusionDisplay.from_estimator(model, X[kept], y[kept], cost=given[kept]).cost_confusion.sum()
            assert few == pytest.approx(TABLE[code[kept], np.searchsorted(names, model.predict(X[kept]))].sum())


def test_a_decision_that_is_no_class_stays_one(data):
    X, y, code = data
    kept = code != 1
    given = np.c_[TABLE, np.full(4, 0.1)][code]
    model = REBELClassifier(costs.uniform(NAMES), n_estimators=3).fit(X[kept], y[kept], cost=given[kept])
    assert model.decisions_.tolist() == ["ash", "cedar", "date", "refer"]
    asked = model.predict(X) == "refer"
    assert asked.any() and model.score(X[asked], y[asked], cost=given[asked]) == pytest.approx(0.9)
    plain = REBELClassifier(n_estimators=3).fit(X, y, cost=given)
    assert plain.decisions_.tolist() == [*NAMES, "refer"]
    last = code != 3  # what a further column means cannot be told where no correct decision costs anything
    assert REBELClassifier(n_estimators=3).fit(X[last], y[last], cost=TABLE[code][last]).decisions_.tolist() == [
        *NAMES[:3],
        "refer",
    ]
    risky = TABLE[code][kept] + 1
    assert REBELClassifier(n_estimators=3).fit(X[kept], y[kept], cost=risky).decisions_.tolist()[-1] == "refer"


def test_decisions_under_matrices_with_rows_of_other_classes(data):
    X, y, code = data
    kept = code != 1
    given = forms(code)["matrices"]
    plain = MinRiskClassifier(n_estimators=4, pool=False, random_state=0).fit(X[kept], y[kept])
    with pytest.raises(
        ValueError,
        match=r"for the classes \['ash', 'cedar', 'date'\]: .* got \(60, 4, 4\); if it has rows of other classes, leave these out",
    ):
        plain.predict(X, cost=given)
    table = pd.DataFrame(TABLE, NAMES, NAMES)
    for model in (
        MinRiskClassifier(costs.uniform(NAMES), n_estimators=4, pool=False, random_state=0).fit(X[kept], y[kept]),
        MinRiskClassifier(costs.uniform(NAMES), n_estimators=4, pool=False, random_state=0).fit(
            X[kept], y[kept], cost=given[kept]
        ),
    ):
        expected = model.predict_proba(X) @ table.loc[model.classes_, model.classes_].to_numpy()
        np.testing.assert_array_equal(model.predict(X, cost=given), model.classes_[expected.argmin(axis=1)])
        asked = model.predict(X, cost=np.concatenate([given, np.full((60, 4, 1), 0.1)], axis=2))
        expected = np.c_[expected, np.full(60, 0.1)]
        np.testing.assert_array_equal(asked, np.array([*model.classes_, "refer"])[expected.argmin(axis=1)])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_cross_validation_with_a_fold_that_lacks_a_class(data, name):
    X, y, code = data
    with sklearn.config_context(enable_metadata_routing=True):

        def score(given, cost=None):
            model = ALGORITHMS[name](cost).set_fit_request(cost=True).set_score_request(cost=True)
            return cross_val_score(model, X, y, cv=KFold(4), params={"cost": given}, error_score="raise")

        assert np.isfinite(score(pd.DataFrame(TABLE[code], columns=NAMES))).all()
        expected = []
        for train, test in KFold(4).split(X):
            seen = np.unique(y[train])
            own = pd.DataFrame(TABLE[code[train]], columns=NAMES)[seen]
            decided = ALGORITHMS[name]().fit(X[train], y[train], cost=own).predict(X[test])
            expected.append(1 - metrics.expected_cost(y[test], decided, pd.DataFrame(TABLE, NAMES, NAMES)))
        for given in forms(code).values():
            np.testing.assert_allclose(score(given, costs.uniform(NAMES)), expected)
            with pytest.raises(ValueError, match="as if y lacked a class|if it has rows of other classes"):
                score(given)


@pytest.mark.parametrize("algorithm", [StagewiseMCBoostClassifier, MultiBoostClassifier])
def test_algorithms_that_know_classes_only_take_none_more(data, algorithm):
    X, y, code = data
    kept = code != 1
    with pytest.raises(ValueError, match="as if y lacked a class"):
        algorithm(n_estimators=3).fit(X[kept], y[kept], cost=TABLE[code][kept])


def test_metrics_tell_columns_of_more_classes(data):
    _, y, code = data
    with pytest.raises(
        ValueError, match=r"for the classes \['ash', 'cedar', 'date'\], which cost nothing in the columns \[0, 2, 3\]"
    ):
        metrics.expected_cost(y[3:], y[3:], TABLE[code][3:], labels=["ash", "cedar", "date"])
    assert metrics.expected_cost(y[3:], y[3:], TABLE[code][3:], labels=NAMES) == 0
    assert costs.row_costs(TABLE[code][3:], 57, ["ash", "cedar", "date"])[1][-1] == "refer"  # who says nothing of y


# -- rows in another order ---------------------------------------------------------------------------------------------
def in_another_order(data):
    """A table, its labels, their costs per row, and the same costs in another order."""
    index = [f"row {i}" for i in range(60)]
    X, y = pd.DataFrame(data[0], index, columns=["a", "b", "c"]), pd.Series(data[1], index)
    given = pd.DataFrame(TABLE[data[2]], index, columns=NAMES)
    return X, y, given, given.sample(frac=1, random_state=0)


def test_costs_per_row_in_another_order_are_refused(data):
    X, y, given, shuffled = in_another_order(data)
    model = ALGORITHMS["rebel"]().fit(X, y, cost=given)
    told = rf"cost must have its rows in the order of \w+, got .* '{shuffled.index[0]}' in row 0 where \w+ has 'row 0': pass cost.loc"
    uses = [
        lambda: ALGORITHMS["rebel"]().fit(X, y, cost=shuffled),
        lambda: ALGORITHMS["rebel"]().fit(X.to_numpy(), y, cost=shuffled),
        lambda: model.score(X, y.to_numpy(), cost=shuffled),
        lambda: model.score(X.reset_index(drop=True), y, cost=shuffled),
        lambda: metrics.expected_cost(y, model.predict(X), shuffled),
        lambda: metrics.expected_cost(y.to_numpy(), pd.Series(model.predict(X), X.index), shuffled),
        lambda: CostConfusionDisplay.from_estimator(model, X, y.to_numpy(), cost=shuffled),
        lambda: report(model, X, y.to_numpy(), cost=shuffled),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=told):
            use()


def test_costs_per_row_in_the_order_asked_for_are_those_of_the_rows(data):
    X, y, given, shuffled = in_another_order(data)
    model = ALGORITHMS["rebel"]().fit(X, y, cost=given)
    for same in (shuffled.loc[X.index], given.to_numpy(), given.reset_index(drop=True)):
        again = ALGORITHMS["rebel"]().fit(X, y, cost=same)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert model.score(X, y, cost=same) == model.score(X, y, cost=given)


def test_costs_with_the_rows_of_no_one_are_told_both_numbers(data):
    with pytest.raises(
        ValueError, match=r"expected 4 rows for the classes .* or one for each of the 60 samples, got shape \(5, 4\)"
    ):
        ALGORITHMS["rebel"]().fit(*data[:2], cost=TABLE[data[2]][:5])


@pytest.mark.parametrize("index", [range(75), range(800, 875), [f"customer {i}" for i in range(75)]])
@pytest.mark.parametrize("numbers", [False, True])
def test_a_table_with_more_or_fewer_rows_than_samples_is_told_so(data, index, numbers):
    """Also where numbers of its rows are classes by chance, and where it would pass as a table of these classes."""
    X, y, codes = data
    y, names = (codes, range(4)) if numbers else (y, NAMES)
    more = pd.DataFrame(np.zeros((75, 4)), index, names)
    fitted = ALGORITHMS["rebel"](costs.uniform(names)).fit(X, y)
    for cost in (more, more[:50]):
        for use in (
            lambda cost=cost: ALGORITHMS["rebel"]().fit(X, y, cost=cost),
            lambda cost=cost: fitted.score(X, y, cost=cost),
            lambda cost=cost: metrics.expected_cost(y, y, cost),
            lambda cost=cost: metrics.best_constant_cost(y, cost),
        ):
            with pytest.raises(
                ValueError, match=f"^cost must have a row for each of the 60 samples, got {len(cost)} rows: give"
            ):
                use()


def test_a_table_of_classes_may_have_more_rows_than_columns(data):
    X, y, codes = data
    ten = pd.DataFrame(1.0 - np.eye(10), range(10), range(10))
    for table in (ten, ten.set_axis(list(range(10)))[[0, 1, 2, 3]], ten.set_axis([*NAMES, *"efghij"])[[0, 1]]):
        labels = y if "ash" in table.index else codes
        assert metrics.expected_cost(labels, table.columns[np.zeros(60, int)], table) > 0
    numbered = ten[[0, 1, 2, 3]]  # rows that pandas numbered, of which not all are classes or decisions
    with pytest.raises(ValueError, match=r"for each of the 60 samples, got 10 rows: .* CostMatrix\(cost\)"):
        metrics.expected_cost(codes, codes, numbered)
    assert metrics.expected_cost(codes, codes, costs.CostMatrix(numbered)) == 0


def test_costs_of_other_rows_are_refused(data):
    X, y, given, _ = in_another_order(data)
    with pytest.raises(
        ValueError, match="got other row labels or another order, 'row 0' in row 0 where y_true has 'row 20'"
    ):
        metrics.expected_cost(y[20:], y[20:], given[:-20])
    counted = pd.DataFrame(given.to_numpy()[20:], columns=NAMES)  # by position, as scikit-learn does
    assert metrics.expected_cost(y[20:], y[20:], counted) == metrics.expected_cost(y[20:], y[20:], given[20:])


def test_columns_without_names_in_another_order_than_the_classes_are_told(data):
    X, y, code = data
    order = [2, 0, 3, 1]
    told = (
        r"which cost nothing in the columns \[1, 3, 0, 2\], as if they stood in another order than the sorted classes"
    )
    with pytest.raises(ValueError, match=told):
        ALGORITHMS["rebel"]().fit(X, y, cost=TABLE[code][:, order])
    with pytest.raises(ValueError, match=told):
        metrics.expected_cost(y, y, TABLE[code][:, order])


def test_decisions_that_y_true_lacks_are_not_taken_for_classes():
    with pytest.raises(ValueError, match="labels must be given"):
        metrics.expected_cost(["ill", "ill"], ["inspect", "ill"], [[0, 20, 1], [5, 0, 1]])
    named = pd.DataFrame([[0, 20, 1], [5, 0, 1]], ["ill", "well"], ["ill", "well", "inspect"])
    assert metrics.expected_cost(["ill", "ill"], ["inspect", "ill"], named) == 0.5
    rows = [[0, 20, 1], [5, 0, 1], [5, 0, 1], [5, 0, 1]]  # columns: ill, well, inspect
    with pytest.raises(ValueError, match="another order than the sorted classes"):
        metrics.expected_cost(["ill", "well", "well", "well"], ["inspect", "well", "well", "well"], rows)


def test_columns_without_names_are_the_decisions_of_the_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.array(["ill", "well"])[(np.arange(80) % 2)]
    X[:, 0] += 1.5 * (y == "ill")
    named = pd.DataFrame([[0, 20, 1], [5, 0, 1]], ["ill", "well"], ["ill", "well", "inspect"])
    model = MinRiskClassifier(named, n_estimators=4, pool=False, random_state=0).fit(X, y)
    decided = model.predict(X)
    assert "inspect" in set(decided)
    table = named.to_numpy()
    each = np.broadcast_to(table, (80, 2, 3)).copy()
    rows = table[(y == "well").astype(int)]
    for cost in (table, each):
        np.testing.assert_array_equal(model.predict(X, cost=cost), decided)
    for cost in (table, each, rows):
        assert model.score(X, y, cost=cost) == model.score(X, y)
        assert "inspect" in CostConfusionDisplay.from_estimator(model, X, y, cost=cost).decision_labels
    assert "inspect" in report(model, X, y, cost=rows)
    plt.close("all")


def test_matrices_of_rows_below_zero_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = MinRiskClassifier(n_estimators=2, random_state=0, pool=False).fit(X, y)
    cost = np.tile([[0.0, 1.0], [5.0, 0.0]], (60, 1, 1))
    cost[7, 1, 0] = -5.0
    for decide in (lambda: model.predict(X, cost=cost), lambda: apply_costs(model.predict_proba(X), [0, 1], cost)):
        with pytest.raises(ValueError, match=r"cost\[7, 1, 0\] must be zero or more, got -5"):
            decide()


@pytest.mark.parametrize("name", ["y", "sample_weight", "groups"])
def test_rows_of_x_in_another_order_are_refused(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    parts = {"y": (X["a"] > 0).astype(int), "sample_weight": X["a"].abs() + 1.0, "groups": X["b"].round().astype(int)}
    model = REBELClassifier(n_estimators=2).fit(X, **parts)
    shuffled = parts[name].sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match=rf"{name} must have its rows in the order of X.*pass {name}.loc\[X.index\]"):
        model.fit(X, **{**parts, name: shuffled})
    model.fit(X, **{**parts, name: shuffled.to_numpy()})
    model.fit(X.set_axis(range(60, 120)), **{**parts, name: shuffled})  # labels of something else say nothing


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_estimator_has_no_costs_of_rows(data, name):
    X, y, code = data
    for given in (*forms(code).values(), pd.DataFrame(TABLE[code], columns=NAMES)):
        with pytest.raises(
            ValueError, match=r"must be one table for all rows, got costs of each row.*fit\(X, y, cost=cost\)"
        ):
            ALGORITHMS[name](given).fit(X, y)
