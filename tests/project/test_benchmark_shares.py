"""Costs that the benchmarks of tables are judged by, shares of mean costs with their errors, and values knocked out."""

import numpy as np
import pytest

from benchmarks import cost_ratios
from benchmarks.categories import FORMS, asked, coded, rows_of, shown
from benchmarks.cost_ratios import by_split, geometric, judged, means, share, shares, spread, tables
from benchmarks.missing_values import knocked_out


def line(name, split, method, cost, mistake=0.0):
    return {
        "set": name,
        "split": split,
        "method": method,
        "rows": 130,
        "tested": 30,
        "error": 10.0,
        "log_loss": 0.5,
        "cost": cost,
        "mistake": mistake,
        "seconds": 1.0,
    }


def test_a_share_is_of_means_over_splits_of_both():
    ours = {seed: line("a", seed, "ours", cost) for seed, cost in enumerate([1.0, 3.0, 100.0])}
    theirs = {seed: line("a", seed, "theirs", cost) for seed, cost in enumerate([2.0, 6.0])}
    log, error, splits = share(ours, theirs, "cost")
    np.testing.assert_allclose(
        [np.exp(log), error, splits], [0.5, 0.0, 2], atol=1e-12
    )  # half in every split: no spread
    theirs[1]["cost"] = 2.0  # by hand: (0.5, 1.5) - (1, 1) spreads by sqrt(1/2), times sqrt(1/2 + 30/100)
    log, error, _ = share(ours, theirs, "cost")
    np.testing.assert_allclose([np.exp(log), error], [1.0, np.sqrt(0.5) * np.sqrt(0.8)])


def test_half_a_mistake_is_added_where_there_are_none():
    log, _, _ = share({0: line("a", 0, "ours", 0.0, 0.1)}, {0: line("a", 0, "theirs", 0.1, 0.1)}, "cost")
    np.testing.assert_allclose(np.exp(log), 0.05 / 0.15)


def test_spread_is_wider_than_that_of_independent_splits():
    values = [1.0, 2.0, 4.0]
    np.testing.assert_allclose(spread(values, 30, 70), np.std(values, ddof=1) * np.sqrt(1 / 3 + 3 / 7))
    assert np.isnan(spread([1.0], 30, 70))


def test_the_best_is_chosen_by_cost_set_by_set():
    costs = {("a", "x"): 4.0, ("a", "y"): 2.0, ("b", "x"): 1.0, ("b", "y"): 8.0, ("a", "ours"): 1.0, ("b", "ours"): 1.0}
    rows = [line(name, split, method, cost) for (name, method), cost in costs.items() for split in range(2)]
    found = {(row["set"], row["ours / "]): row for row in shares(by_split(rows), "ours", ["x", "y"], ["x", "y"])}
    assert [found[name, "best"]["best"] for name in "ab"] == ["y", "x"]
    np.testing.assert_allclose(found["all 2", "best"]["cost"], np.sqrt(0.5 * 1.0))
    np.testing.assert_allclose(found["all 2", "x"]["cost"], np.sqrt(0.25 * 1.0))
    (first, *_) = means(by_split(rows))
    assert first["splits"] == 2 and first["cost"] == 4.0 and first["cost_se"] == 0.0


def test_geometric_means_have_the_errors_of_their_sets():
    log, error = geometric([(0.1, 0.3), (0.3, 0.4), (0.2, float("nan"))])
    np.testing.assert_allclose([log, error], [0.2, 0.25])


def test_judged_by_hand():
    p, y = np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]]), np.array([0, 1, 1])
    found = judged(p, y, [np.array([[0.0, 1.0], [5.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])])
    # 5 to 1: 0.8 against 1.0, so all are of the second class; 1 to 1: the second row is wrong
    np.testing.assert_allclose(found["cost"], ((1 + 0 + 0) / 3 + (0 + 1 + 0) / 3) / 2)
    np.testing.assert_allclose([found["error"], found["mistake"]], [100 / 3, (3 + 1) / 2 / 3])
    np.testing.assert_allclose(found["log_loss"], -np.log([0.8, 0.4, 0.9]).mean())


def test_drawn_tables_differ_by_set_and_split_and_by_nothing_else(monkeypatch, tmp_path):
    monkeypatch.setattr(cost_ratios, "DATA", tmp_path)
    first, again, other = tables("car", "abc", 0), tables("car", "abc", 0), tables("car", "abc", 1)
    assert len(first) == len({cost.tobytes() for cost in first}) == 10
    np.testing.assert_array_equal(first, again)
    assert not np.any(np.isclose(first, other) & (np.array(first) > 0))
    np.testing.assert_allclose([cost[~np.eye(3, dtype=bool)].mean() for cost in first], 1.0)


def test_own_costs_are_in_the_order_of_the_classes_that_are_left(monkeypatch, tmp_path):
    monkeypatch.setattr(cost_ratios, "DATA", tmp_path)
    (tmp_path / "own.cost.csv").write_text("true,b,a,c\nb,0,1,2\na,3,0,4\nc,5,6,0\n")
    (found,) = tables("own", ["a", "c"], 0)
    np.testing.assert_array_equal(found, [[0, 4], [6, 0]])


@pytest.mark.parametrize("rate", [0, 10, 50])
def test_knocked_out_at_random(rate):
    X = np.random.default_rng(0).normal(size=(400, 30))
    found, more = knocked_out(X, rate, "a", 0, "test"), knocked_out(X, 60, "a", 0, "test")
    gone = np.isnan(found)
    assert abs(gone.mean() - rate / 100) < 0.02
    assert np.all(np.isnan(more)[gone])
    np.testing.assert_array_equal(found[~gone], X[~gone])
    assert rate == 0 or np.any(gone != np.isnan(knocked_out(X, rate, "a", 1, "test")))


def test_forms_of_a_frame():
    import pandas as pd

    frame = pd.DataFrame({"word": ["b", None, "a"], "number": [1.0, 2.0, np.nan]})
    assert shown(frame, ["word"], "minrisk", "text") is frame
    np.testing.assert_array_equal(shown(frame, ["word"], "minrisk", "codes"), coded(frame))
    ordered = shown(frame, ["word"], "minrisk", "ordered")["word"]
    assert ordered.cat.ordered and ordered.cat.categories.tolist() == ["a", "b"] and ordered.cat.codes[1] == -1
    assert shown(frame, ["word"], "catboost", "category")["word"].tolist() == ["b", "missing", "a"]
    assert isinstance(shown(frame, ["word"], "lightgbm", "category")["word"].dtype, pd.CategoricalDtype)


def test_small_sets_have_more_splits(monkeypatch):
    from benchmarks import categories

    sizes = {"german": 1000, "nursery": 12_960}
    monkeypatch.setattr(categories, "rows_of", lambda name: categories.Table(None, np.zeros(sizes[name]), []))
    found = list(asked(["german", "nursery"], list(FORMS), ["text", "category"], 10))
    assert len(found) == len(set(found)) == 10 * 5 + 3 * 4 + 1
    assert [seed for _, seed, _, _ in found] == sorted(seed for _, seed, _, _ in found)


def test_rows_of_kddcup99_are_distinct_and_of_classes_with_costs():
    if not (cost_ratios.DATA / "kddcup99.csv.gz").is_file():
        pytest.skip("the data are not there")
    frame, y, classes = rows_of("kddcup99")
    assert len(y) == 30_000 - 5 and classes == ["DOS", "R2L", "normal", "probe"]
    assert not frame.assign(target=y).duplicated().any()
    assert np.bincount(y).min() >= 10
