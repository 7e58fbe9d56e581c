"""Costs applied to probabilities: the rule written out, costs in any form, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from minrisk import CostMatrix, MinRiskClassifier, apply_costs, costs

NAMES = np.array(["ash", "birch", "cedar"])
TABLE = [[0, 1, 4, 0.5], [2, 0, 1, 0.5], [9, 3, 0, 0.5]]


@pytest.fixture
def probabilities():
    return np.random.default_rng(0).dirichlet([0.3, 0.3, 0.3], size=50)


def cheapest(p, table, decisions):
    """By loops."""
    found = []
    for row in p:
        expected = [sum(row[j] * table[j][k] for j in range(len(row))) for k in range(len(decisions))]
        found.append(decisions[min(range(len(decisions)), key=expected.__getitem__)])
    return found


def test_the_rule_written_out(probabilities):
    decided = apply_costs(probabilities, NAMES, TABLE)
    assert decided.tolist() == cheapest(probabilities, TABLE, [*NAMES, "refer"])
    assert set(decided) == {*NAMES, "refer"}
    each = np.random.default_rng(1).uniform(size=(50, 3, 4))
    one_by_one = [cheapest([p], table, [*NAMES, "refer"])[0] for p, table in zip(probabilities, each, strict=True)]
    assert apply_costs(probabilities, NAMES, each).tolist() == one_by_one


def test_labelled_costs_are_matched_by_label(probabilities):
    frame = pd.DataFrame(TABLE, NAMES, [*NAMES, "refer"]).loc[
        ["cedar", "ash", "birch"], ["refer", "cedar", "birch", "ash"]
    ]
    for cost in (frame, frame.T.to_dict(), CostMatrix(frame)):
        assert (apply_costs(probabilities, NAMES, cost) == apply_costs(probabilities, NAMES, TABLE)).all()
    order = [2, 0, 1]
    assert (apply_costs(probabilities[:, order], NAMES[order], frame) == apply_costs(probabilities, NAMES, TABLE)).all()


@pytest.mark.parametrize("classes", [[0, 1, 2], [10.0, 20.0, 30.0], [False, True, 2], NAMES.tolist()])
def test_labels_keep_their_kind(probabilities, classes):
    decided = apply_costs(probabilities, classes, costs.uniform(3))
    assert decided.tolist() == np.asarray(classes)[probabilities.argmax(axis=1)].tolist()
    assert decided.dtype == np.asarray(classes).dtype


def test_it_is_what_predict_does():
    X, y = load_iris(return_X_y=True)
    model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X[::2], y[::2])
    cost = costs.with_reject([[0, 1, 1], [1, 0, 1], [9, 9, 0]], 0.2)
    decided = apply_costs(model.predict_proba(X), model.classes_, cost)
    np.testing.assert_array_equal(decided, model.predict(X, cost=cost))
    forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    assert (apply_costs(forest.predict_proba(X), forest.classes_, cost) == -1).any()  # refers


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.ones((5, 2)) / 2, r"of shape \(n, 3\).* got shape \(5, 2\)"),
        (np.ones(3) / 3, r"got shape \(3,\)"),
        (np.full((5, 3), "a"), "must be numbers"),
        (np.full((5, 3), -1.0), "got -1.0 in row 0 for 'ash'"),
        ([[0.5, 0.5, np.nan]], "got nan in row 0 for 'cedar'"),
    ],
)
def test_what_is_no_table_of_probabilities_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        apply_costs(given, NAMES, costs.uniform(3))


def test_costs_that_do_not_fit_are_refused(probabilities):
    with pytest.raises(ValueError, match="one row per class"):
        apply_costs(probabilities, NAMES, costs.uniform(2))
    with pytest.raises(ValueError, match=r"expected shape \(50, 3, 3\)"):
        apply_costs(probabilities, NAMES, np.ones((7, 3, 3)))
