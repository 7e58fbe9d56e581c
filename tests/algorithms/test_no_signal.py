"""A fit of `MinRiskClassifier` that keeps no round says so: in Python, on the command line and in the report."""

import warnings

import numpy as np
import pandas as pd
import pytest

from minrisk import CostMatrix, MinRiskClassifier
from minrisk.cli import streams
from minrisk.inspection import report
from tests.helpers.command_line import invoke

TOLD = "^MinRiskClassifier has learnt nothing, and answers all rows alike: left-out rows show no signal: "


def noise(n=300, seed=8):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


@pytest.mark.parametrize("pool", [True, False])
def test_a_fit_without_a_round_says_what_left_out_rows_said(pool):
    X, y = noise()
    members = r"members of [5-9] kinds" if pool else "trees"
    with pytest.warns(
        UserWarning,
        match=TOLD
        + rf"with {members} the log-loss of 300 rows was 0\.6\d+ at best, with the class frequencies 0\.6\d+, a difference that chance may make. Try more rows",
    ) as told:
        model = MinRiskClassifier(pool=pool, random_state=0).fit(X, y)
    assert len(told) == 1 and told[0].filename == __file__
    assert model.n_iter_ == 0 and len(model.model_) == 0 and model.model_.smooth is None
    np.testing.assert_allclose(model.predict_proba(X), np.tile(np.bincount(y) / len(y), (len(y), 1)), atol=1e-3)


def test_members_trained_on_costs_are_compared_with_one_decision():
    X, y = noise(seed=0)
    with pytest.warns(
        UserWarning, match=TOLD + r"with trees the mean cost of 300 rows was .* at best, with one decision for all "
    ):
        model = MinRiskClassifier([[0, 1], [5, 0]], surrogate="gll", random_state=0).fit(X, y)
    assert model.n_iter_ == 0


@pytest.mark.parametrize(
    "options",
    [
        {"cost": CostMatrix([[0, 1], [0, 1]], allow_diagonal=True)},  # one decision is the cheapest for every row
        {"cv": 1, "n_estimators": 2},
    ],
)
def test_nothing_is_said_where_nothing_was_to_be_learnt(options, recwarn):
    MinRiskClassifier(random_state=0, **options).fit(*noise())
    MinRiskClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])  # too few rows to leave any out
    assert not len(recwarn)


def test_a_signal_is_no_reason_to_warn(recwarn):
    X, y = noise()
    X[:, 0] += y
    assert MinRiskClassifier(random_state=0, n_estimators=20).fit(X, y).predict_proba(X)[:, 1].std() > 0.1
    assert not len(recwarn)


def test_costs_per_row_may_tell_rows_apart_where_classes_cannot():
    X, y = noise(600)
    rows = np.where(np.arange(2) == y[:, None], 0.0, np.where(X[:, :1] > 0, [[10.0, 1.0]], [[0.1, 1.0]]))
    with pytest.warns(
        UserWarning, match="has learnt nothing of the classes, and tells rows apart by their costs alone: left-out"
    ):
        model = MinRiskClassifier(random_state=0).fit(X, y, cost=rows)
    assert model.n_iter_ == 0 and len(model.cost_regression_.packed) > 0


def test_the_command_line_and_the_report_say_so(tmp_path):
    X, y = noise()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(y, "x", "y"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        streams.prepare()
        result = invoke("fit", tmp_path / "t.csv", "--target", "kind", "--out", tmp_path / "m")
    assert (
        result.exit_code == 0
        and result.stderr.count("has learnt nothing, and answers all rows alike: left-out rows") == 1
    )
    result = invoke("report", tmp_path / "m", tmp_path / "t.csv", "--out", tmp_path / "page.html")
    assert (
        result.exit_code == 0
        and "This model has learnt nothing: it has no rounds" in (tmp_path / "page.html").read_text()
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = MinRiskClassifier(random_state=0, n_estimators=3).fit(X + 2 * y[:, None], y)
    assert not told and "learnt nothing" not in report(model, X, y)
