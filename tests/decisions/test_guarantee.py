"""Promises about the cost of decisions: what is tested, on cases that can be checked by hand, and how often they hold."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom
from sklearn.datasets import load_iris

from minrisk import MinRiskClassifier, apply_costs
from minrisk.costs import CostMatrix, uniform, with_reject
from minrisk.decisions.bounds import upper_mean
from minrisk.decisions.guarantee import LEFT_OUT, guarantee

REFER = CostMatrix([[0, 1, 0.3], [1, 0, 0.3]], classes=["a", "b"])
GRADED = {
    "gun": {"gun": 0, "knife": 1, "bag": 8, "refer": 0},
    "knife": {"gun": 1, "knife": 0, "bag": 5, "refer": 0},
    "bag": {"gun": 2, "knife": 2, "bag": 0, "refer": 0},
}


class Known:
    """A classifier whose rows are their probabilities."""

    def __init__(self, *classes):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return np.asarray(X, dtype=float)


def two_classes(n, seed=0, sure=0.5):
    """Rows of two classes with right probabilities."""
    rng = np.random.default_rng(seed)
    p = rng.beta(sure, sure, n)
    return np.column_stack([1.0 - p, p]), np.where(rng.uniform(size=n) < p, "b", "a")


def three_classes(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.15] * 3, n)
    return p, np.array(["bag", "gun", "knife"])[(rng.uniform(size=n)[:, None] > p.cumsum(axis=1)).sum(axis=1)]


def costs_of(found, X, y):
    """Costs of decisions (0 where referred), and which rows are decided."""
    decisions = apply_costs(X, found.cost.classes, found.cost)
    rows, columns = found.cost.classes, found.cost.decisions
    table = found.cost.values
    cost = np.array(
        [table[rows.index(t), columns.index(d)] for t, d in zip(y.tolist(), decisions.tolist(), strict=True)]
    )
    decided = decisions != "refer"
    return np.where(decided, cost, 0.0), decided


def test_the_price_is_the_highest_that_the_exact_test_allows():
    """All prices by hand: of equal costs and all rows, the number of wrong decisions is binomial."""
    X, y = two_classes(600)
    found = guarantee(Known("a", "b"), X, y, at_most=0.08, cost=REFER)
    wrong = np.where(X.argmax(axis=1) == 1, "b", "a") != y
    order = np.argsort(X.min(axis=1))
    allowed = binom.cdf(np.cumsum(wrong[order]), 600, 0.08) <= 0.05
    decided = allowed.argmin()  # the first row that makes them too many
    cost, is_decided = costs_of(found, X, y)
    assert 0 <= decided - is_decided.sum() <= 6  # the next price is a per cent away
    assert found.referred == pytest.approx(1.0 - is_decided.mean())
    k = int(cost.sum())
    assert found.bound == pytest.approx(beta.ppf(0.95, k + 1, 600 - k), rel=1e-9) and found.bound <= 0.08
    (promise,) = found.promises
    assert promise.mean == pytest.approx(cost.mean()) and promise.n == found.n == 600 and promise.label is None
    assert found.price == found.cost.values[0, 2] == found.cost.values[1, 2]
    np.testing.assert_array_equal(found.cost.values[:, :2], REFER.values[:, :2])


def test_of_decided_rows_the_others_are_left_out():
    X, y = two_classes(2000)
    found = guarantee(Known("a", "b"), X, y, at_most=0.08, of="decided", cost=REFER)
    cost, decided = costs_of(found, X, y)
    n, k = int(decided.sum()), int(cost.sum())
    assert found.promises[0].n == n and found.promises[0].mean == pytest.approx(k / n)
    assert found.bound == pytest.approx(beta.ppf(0.95, k + 1, n - k), rel=1e-9) and found.bound <= 0.08
    of_all = guarantee(Known("a", "b"), X, y, at_most=0.08, cost=REFER)
    assert of_all.referred < found.referred < 0.6


def test_graded_costs_are_bounded_by_bets():
    X, y = three_classes(1500)
    model = Known("bag", "gun", "knife")
    found = guarantee(model, X, y, at_most=0.2, cost=GRADED)
    cost, decided = costs_of(found, X, y)
    assert found.bound == pytest.approx(upper_mean(cost, top=8.0), rel=1e-9) and found.bound <= 0.2
    assert found.promises[0].mean == pytest.approx(cost.mean())
    of_decided = guarantee(model, X, y, at_most=0.2, cost=GRADED, of="decided")
    cost, decided = costs_of(of_decided, X, y)
    assert of_decided.promises[0].mean == pytest.approx(cost[decided].mean())
    assert cost[decided].mean() < of_decided.bound <= 0.2
    assert found.referred < of_decided.referred < 1.0


def test_surer_and_smaller_promises_refer_more():
    X, y = two_classes(800)

    def referred(**given):
        return guarantee(Known("a", "b"), X, y, **({"at_most": 0.08, "cost": REFER} | given)).referred

    assert [referred(confidence=c) for c in (0.6, 0.9, 0.99)] == sorted(
        referred(confidence=c) for c in (0.6, 0.9, 0.99)
    )
    assert referred(at_most=0.15) < referred(at_most=0.08) < referred(at_most=0.04) < 1.0
    assert referred(at_most=1.0) == 0.0  # nothing costs more


def test_promises_about_classes():
    X, y = three_classes(3000)
    model = Known("bag", "gun", "knife")
    found = guarantee(model, X, y, by_class={"knife": 0.02, "gun": 0.05}, cost=GRADED)
    _, decided = costs_of(found, X, y)
    decisions = apply_costs(X, model.classes_, found.cost)
    for label, limit in (("knife", 0.02), ("gun", 0.05)):
        (promise,) = (each for each in found.promises if each.label == label)
        own = y == label
        missed = int((decided & own & (decisions != label)).sum())
        assert promise.n == own.sum() and promise.mean == pytest.approx(missed / own.sum())
        assert promise.bound == pytest.approx(beta.ppf(0.95, missed + 1, own.sum() - missed), rel=1e-9)
        assert promise.bound <= limit == promise.at_most
    both = guarantee(model, X, y, at_most=0.1, by_class={"knife": 0.02}, cost=GRADED)
    single = guarantee(model, X, y, at_most=0.1, cost=GRADED)
    knife = guarantee(model, X, y, by_class={"knife": 0.02}, cost=GRADED)
    assert both.referred == max(single.referred, knife.referred)  # all promises are tested at the same level
    assert [promise.label for promise in both.promises] == [None, "knife"] and both.bound == both.promises[0].bound
    text = str(both)
    assert "mean cost of new rows is at most 0.1" in text and "among 'knife' in new rows is at most 0.02" in text


def test_prices_keep_their_ratios():
    X, y = two_classes(800)
    cost = with_reject(uniform(["a", "b"]), {"a": 0.4, "b": 0.1})
    found = guarantee(Known("a", "b"), X, y, at_most=0.08, cost=cost)
    assert found.cost.values[1, 2] == pytest.approx(found.cost.values[0, 2] / 4.0)
    assert found.price == pytest.approx(found.cost.values[0, 2])
    _, decided = costs_of(found, X, y)
    assert found.referred == pytest.approx(1.0 - decided.mean())


def test_what_the_stated_price_is_changes_nothing_but_a_note():
    X, y = two_classes(800)
    model = Known("a", "b")
    free = guarantee(model, X, y, at_most=0.08, cost=with_reject(uniform(["a", "b"]), 0.0))
    dear = guarantee(model, X, y, at_most=0.08, cost=with_reject(uniform(["a", "b"]), 0.99))
    cheap = guarantee(model, X, y, at_most=0.08, cost=with_reject(uniform(["a", "b"]), 0.01))
    assert free.cost == dear.cost == cheap.cost and free.notes == dear.notes == ()
    assert f"refers {(X.min(axis=1) > 0.01).mean():.1%}" in cheap.notes[0]


def test_weights_count_rows():
    X, y = two_classes(500)
    model = Known("a", "b")
    found = guarantee(model, X, y, at_most=0.1, cost=REFER)
    assert guarantee(model, X, y, at_most=0.1, cost=REFER, sample_weight=np.full(500, 2.5)).cost == found.cost
    weight = np.r_[np.ones(400), np.zeros(100)]
    part = guarantee(model, X, y, at_most=0.1, cost=REFER, sample_weight=weight)
    assert part.n == 400 and part.cost == guarantee(model, X[:400], y[:400], at_most=0.1, cost=REFER).cost
    weight = np.where(y == "a", 3.0, 1.0)
    heavy = guarantee(model, X, y, at_most=0.1, cost=REFER, sample_weight=weight)
    cost, decided = costs_of(heavy, X, y)
    assert heavy.bound == pytest.approx(upper_mean(cost, weight, top=1.0), rel=1e-9)
    assert heavy.referred == pytest.approx(np.average(~decided, weights=weight))


def test_the_last_candidate_that_keeps_the_promise():
    X, y = two_classes(800)
    tables = [with_reject(uniform(["a", "b"]), price) for price in (0.001, 0.05, 0.1, 0.45, 0.2)]
    found = guarantee(Known("a", "b"), X, y, at_most=0.05, cost=REFER, candidates=tables)
    assert found.candidate == 2 and found.cost == tables[2] and found.price is None and found.bound <= 0.05
    assert "Candidate 2 refers" in str(found)
    careful = [CostMatrix([[0, c], [1, 0]], classes=["a", "b"]) for c in (0.01, 0.1, 1.0)]  # which refer nothing
    found = guarantee(
        Known("a", "b"), X, y, by_class={"b": 0.03}, cost=uniform(["a", "b"]), candidates=careful, of="decided"
    )
    assert found.candidate == 0 and found.referred == 0.0
    with pytest.raises(ValueError, match="no candidate keeps the promise of 0.001 on the 800 rows"):
        guarantee(Known("a", "b"), X, y, at_most=0.001, cost=uniform(["a", "b"]), candidates=careful)


def test_all_rows_are_referred_where_nothing_is_shown():
    X, y = two_classes(50)
    X[0] = [1.0, 0.0]
    with pytest.warns(UserWarning, match="299 rows at least show so little .* 0.95, and there are 50"):
        found = guarantee(Known("a", "b"), X, y, at_most=0.01, cost=REFER)
    assert set(apply_costs(X, ["a", "b"], found.cost)) == {"refer"}
    assert found.referred == 1.0 and found.price == found.bound == 0.0 and "all rows are referred" in found.notes[0]
    X, y = two_classes(500)
    y = np.random.default_rng(0).permutation(y)  # nothing is known of them
    with pytest.warns(UserWarning, match="the 500 rows do not show it"):
        found = guarantee(Known("a", "b"), X, y, at_most=0.05, of="decided", cost=REFER)
    assert found.referred == 1.0 and np.isnan(found.promises[0].mean)
    with pytest.warns(UserWarning, match="about 'b', so all rows are referred: 299 rows of 'b'"):
        guarantee(Known("a", "b"), X, y, by_class={"b": 0.01}, cost=REFER)


def left_out(p, codes, weight=None):
    return SimpleNamespace(
        probabilities=p.astype(np.float32), labels=codes, weight=np.ones(len(p)) if weight is None else weight
    )


def test_rows_that_the_fit_left_out():
    X, y = two_classes(800)
    model = Known("a", "b")
    model.cost_, model.left_out_ = REFER, left_out(X, (y == "b").astype(int))
    found = guarantee(model, at_most=0.08)
    assert found.notes[0] == LEFT_OUT and found.n == 800
    assert found.price == pytest.approx(guarantee(model, X, y, at_most=0.08).price, rel=0.05)
    model.left_out_ = left_out(X, (y == "b").astype(int), np.r_[np.ones(400), np.zeros(400)])
    assert guarantee(model, at_most=0.2).n == 400


def test_rows_left_out_say_where_to_begin():
    """The probabilities promise too much, and by them a promise about decided rows begins where it is not kept."""
    X, y = two_classes(6000, sure=2.0)
    sharp = X**6 / (X**6).sum(axis=1, keepdims=True)
    model = Known("a", "b")
    with pytest.warns(UserWarning, match="all rows are referred"):
        guarantee(model, sharp[:1500], y[:1500], at_most=0.15, of="decided", cost=REFER)
    model.left_out_ = left_out(sharp[1500:], (y[1500:] == "b").astype(int))
    found = guarantee(model, sharp[:1500], y[:1500], at_most=0.15, of="decided", cost=REFER)
    assert found.referred < 0.9 and found.bound <= 0.15


@pytest.mark.parametrize("of", ["all", "decided"])
@pytest.mark.parametrize("cost", ["equal", "graded"])
def test_promises_hold_as_often_as_they_say(of, cost):
    table = GRADED if cost == "graded" else with_reject(uniform(["bag", "gun", "knife"]), 0.0)
    limit = 0.3 if cost == "graded" else 0.08
    X, y = three_classes(20_000, seed=1)
    rng = np.random.default_rng(2)
    model, held, referred = Known("bag", "gun", "knife"), 0, []
    for _ in range(40):
        drawn = rng.integers(0, len(y), 500)
        found = guarantee(model, X[drawn], y[drawn], at_most=limit, confidence=0.9, of=of, cost=table)
        values, decided = costs_of(found, X, y)
        held += (values.mean() if of == "all" else values[decided].mean()) <= limit
        referred.append(found.referred)
    assert held >= 33  # 36 are expected at least
    assert np.mean(referred) < 0.5


def test_a_fitted_model_decides_by_it():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    model = MinRiskClassifier(with_reject(uniform(3), 0.3), n_estimators=10, random_state=0).fit(
        X[order[:75]], y[order[:75]]
    )
    found = guarantee(model, pd.DataFrame(X[order[75:]]).to_numpy(), y[order[75:]], at_most=0.2)
    decisions = model.predict(X[order[75:]], cost=found.cost)
    assert (decisions == -1).mean() == pytest.approx(found.referred)
    assert ((decisions != y[order[75:]]) & (decisions != -1)).mean() == pytest.approx(found.promises[0].mean)


def test_other_names_for_referring():
    X, y = two_classes(600)
    table = pd.DataFrame({"pay": [0, 1], "refuse": [1, 0], "examine": [0.2, 0.2]}, ["a", "b"])
    with pytest.raises(ValueError, match=r"give which of \['pay', 'refuse', 'examine'\] refers, as refer='examine'"):
        guarantee(Known("a", "b"), X, y, at_most=0.1, cost=table)
    found = guarantee(Known("a", "b"), X, y, at_most=0.1, cost=table, refer="examine")
    assert found.cost.decisions == ("pay", "refuse", "examine") and 0.0 < found.referred < 0.5
    renamed = CostMatrix(table.to_numpy(), ["a", "b"], ["a", "b", "ask"])
    assert guarantee(Known("a", "b"), X, y, at_most=0.1, cost=renamed).referred == found.referred


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"at_most": None}, "at_most must be given, got nothing to promise"),
        ({"at_most": 0.0}, "at_most must be a finite number above 0, got 0.0"),
        ({"of": "some"}, 'of must be "all" or "decided", got \'some\''),
        ({"confidence": 95}, "confidence must be between 0 and 1, got 95"),
        ({"cost": None}, r"cost must be given, since the Known has no table of its own \(cost_\)"),
        (
            {"cost": uniform(["a", "b"])},
            r"cost must have a decision that refers, got the decisions \['a', 'b'\]: .*with_reject",
        ),
        ({"cost": np.zeros((60, 2, 3))}, "cost must be one table for all rows, got shape"),
        ({"refer": "ask"}, r"refer must be a decision that is no class, expected one of \['refer'\], got 'ask'"),
        ({"refer": "a"}, "refer must be a decision that is no class"),
        ({"by_class": {"c": 0.1}}, r"by_class must give classes among \['a', 'b'\] a share above 0 .* 0.1 for 'c'"),
        ({"by_class": {"a": 0.0}}, "got 0.0 for 'a'"),
        ({"y": None}, "X and y must be given both or neither, got only X"),
        ({"X": None, "y": None}, r"the Known has no rows that its fit left out \(left_out_\)"),
        ({"y": np.array(["a", "c"] * 30)}, r"y must hold classes that the model knows, \['a', 'b'\], got 'c'"),
        ({"y": np.array(["a", "b"] * 20)}, "as many rows, .* got 40 labels and probabilities of shape"),
        ({"X": np.full((60, 2), np.nan)}, "predict_proba of the Known must return finite numbers"),
        ({"y": np.array([["a"] * 60])}, "y must hold a label for each row, got shape"),
        ({"sample_weight": [1.0]}, "sample_weight must hold a number for each of the 60 rows"),
        ({"candidates": REFER}, "candidates must be a list of costs, got CostMatrix"),
        (
            {"candidates": [CostMatrix([[0, 1, 1], [1, 0, 1]], ["a", "b"], ["a", "b", "ask"])]},
            r"candidates must have decisions that cost has, \['a', 'b', 'refer'\], got 'ask' in number 0",
        ),
    ],
)
def test_refusals(given, says):
    X, y = two_classes(60)
    arguments = {"X": X, "y": y, "at_most": 0.1, "cost": REFER} | given
    with pytest.raises(ValueError, match=says):
        guarantee(Known("a", "b"), **arguments)


def test_a_class_without_rows_is_refused():
    X, _ = two_classes(60)
    with pytest.raises(ValueError, match="by_class must name classes that y has rows of, got 'b'"):
        guarantee(Known("a", "b"), X, ["a"] * 60, by_class={"b": 0.1}, cost=REFER)


@pytest.mark.parametrize("of", ["all", "decided"])
def test_costs_of_nothing_and_rows_that_cannot_be_referred_at_a_price(of):
    X, y = two_classes(100)
    free = CostMatrix(np.zeros((2, 3)), ["a", "b"])
    assert guarantee(Known("a", "b"), X, y, at_most=0.1, of=of, cost=free).referred == 0.0
    certain = np.tile([1.0, 0.0], (100, 1))
    cost = CostMatrix([[1, 2, 0], [2, 1, 1]], ["a", "b"], allow_diagonal=True)  # class "a" is referred for nothing
    found = guarantee(Known("a", "b"), certain, ["a"] * 100, at_most=5.0, of=of, cost=cost)
    assert found.referred == 1.0
    assert set(apply_costs(certain, ["a", "b"], found.cost)) == {"refer"}
