"""`eval_set`: costs after every round are those of staged decisions, and it decides nothing but when to stop."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import log_loss

from minrisk import (
    BAdaCostClassifier,
    Chunks,
    CostMatrix,
    MCBoostClassifier,
    MinRiskClassifier,
    MultiBoostClassifier,
    REBELClassifier,
    save,
)
from minrisk.algorithms import ALGORITHMS
from minrisk.boosting.checkpoint import Checkpoint
from tests.helpers.common import make_data

COST = np.array([[0, 1, 4], [2, 0, 1], [9, 3, 0.0]])
OTHERS = [cls for cls in ALGORITHMS if cls is not MinRiskClassifier]


def problem(n=150, seed=0):
    X, y = make_data(np.random.default_rng(seed), 2 * n, 4, 3)
    return X[:n], y[:n], X[n:], y[n:]


def mean_cost(cost, y, decisions):
    return float(np.mean([cost[i][j] for i, j in zip(y, decisions, strict=True)]))


def staged(model, cost, X, y):
    return [mean_cost(cost, y, decisions) for decisions in model.staged_predict(X)]


@pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)
def test_costs_are_those_of_staged_decisions_and_the_model_is_the_same(cls, tmp_path):
    X, y, X_new, y_new = problem()
    options = {"n_estimators": 5, "random_state": 0}
    if "keep_stages" in cls._rules:  # else stages are of vectors that were corrected later
        options["keep_stages"] = True
    model = cls(**options).fit(X, y, eval_set=[(X_new, y_new), (X, y)])
    for name, fitted in (("a", model), ("b", cls(**options).fit(X, y))):
        save(fitted, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    new, old = (model.evals_result_[name]["cost"] for name in ("valid_0", "valid_1"))
    assert list(model.evals_result_) == ["valid_0", "valid_1"]
    if model.n_iter_ == 0:  # rounds were made, and a constant was better
        return
    assert len(new) == len(old) == model.n_iter_
    np.testing.assert_allclose(old, model.train_risk_[1:], rtol=1e-9)
    np.testing.assert_allclose(new, staged(model, 1 - np.eye(3), X_new, y_new), rtol=1e-9)


MODELS = [
    REBELClassifier(CostMatrix(COST + 2.0, allow_diagonal=True), n_estimators=8),
    REBELClassifier(COST, n_estimators=8, fit_intercept=True),
    MultiBoostClassifier(COST, n_estimators=8, keep_stages=True),
    MCBoostClassifier(COST, loss="mc", decision="bayes", n_estimators=8),
    MCBoostClassifier(COST, loss="gll", n_estimators=8),
    MinRiskClassifier(COST, n_estimators=30, random_state=0),
    MinRiskClassifier(COST, surrogate="coupled", n_estimators=20),
    REBELClassifier(np.c_[COST, [1, 1, 1]], n_estimators=8),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_stated_costs(model):
    X, y, X_new, y_new = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    model.fit(X, y, sample_weight=weight, eval_set=(X_new, y_new))
    cost = np.asarray(model.cost_.values)
    column = {decision: k for k, decision in enumerate(model.decisions_.tolist())}
    expected = [
        mean_cost(cost, y_new, [column[d] for d in decisions.tolist()]) for decisions in model.staged_predict(X_new)
    ]
    np.testing.assert_allclose(model.evals_result_["valid_0"]["cost"], expected, rtol=1e-9)
    if isinstance(model, MinRiskClassifier) and model.model_.link is not None:
        losses = [log_loss(y_new, p) for p in model.staged_predict_proba(X_new)]
        np.testing.assert_allclose(model.evals_result_["valid_0"]["log_loss"], losses, rtol=1e-9)


def own_costs(X, y):
    """What each decision costs each row: true classes by decisions, times a feature of the row."""
    return COST[y] * (1.0 + X[:, :1] ** 2)


@pytest.mark.parametrize("cls", ALGORITHMS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("form", ["rows", "matrices", "table"])
@pytest.mark.parametrize("per_row", [False, True])
def test_sets_bring_costs_of_their_own(cls, form, per_row):
    X, y, X_new, y_new = problem()
    options = {"n_estimators": 5, "random_state": 0} | ({"keep_stages": True} if "keep_stages" in cls._rules else {})
    model, given = cls(**options), {"cost": own_costs(X, y)}
    if cls is BAdaCostClassifier and per_row:
        return
    rows = own_costs(X_new, y_new)
    cost = {"rows": rows, "matrices": COST * (1.0 + X_new[:, 0] ** 2)[:, None, None], "table": COST + 0.5}[form]
    if form == "table":
        cost = CostMatrix(cost, allow_diagonal=True)
        rows = np.asarray(cost.values)[y_new]
    model.fit(X, y, **given if per_row else {}, eval_set=[(X, y, own_costs(X, y)), (X_new, y_new, cost)])
    expected = [float(rows[np.arange(len(y_new)), decided].mean()) for decided in model.staged_predict(X_new)]
    np.testing.assert_allclose(model.evals_result_["valid_1"]["cost"], expected, rtol=1e-9)
    if per_row and getattr(model, "train_risk_", None) is not None:
        np.testing.assert_allclose(model.evals_result_["valid_0"]["cost"], model.train_risk_[1:], rtol=1e-9)


@pytest.mark.parametrize("per_row", [False, True])
def test_early_stopping_goes_by_the_costs_of_the_set(per_row):
    X, y, X_new, y_new = problem()
    model = REBELClassifier(n_estimators=60, early_stopping=True, n_iter_no_change=5)
    cost = own_costs(X_new, y_new)
    model.fit(X, y, cost=own_costs(X, y) if per_row else None, eval_set=(X_new, y_new, cost))
    costs = model.evals_result_["valid_0"]["cost"]
    np.testing.assert_allclose(model.validation_risk_[1:], costs, rtol=1e-9)
    assert model.n_iter_ == 1 + int(np.argmin(costs))
    decided = model.predict(X_new)
    assert cost[np.arange(len(y_new)), decided].mean() == pytest.approx(min(costs))


def test_costs_of_a_set_that_do_not_fit_are_refused():
    X, y, X_new, y_new = problem()
    cost, frame = own_costs(X_new, y_new), pd.DataFrame(X_new)
    shuffled = pd.DataFrame(cost, columns=[0, 1, 2]).sample(frac=1, random_state=0)
    for given, message in (
        (cost[:-1], r"valid_0 of eval_set: cost must have one row per class: .* or one for each of the 150 samples"),
        (shuffled, "valid_0 of eval_set: cost must have its rows in the order of X"),
        (pd.DataFrame(cost[:, :2], columns=["no", "yes"]), "must have a column for every decision .* none for 0 among"),
        (-cost, "valid_0 of eval_set: cost.* must be zero or more"),
    ):
        with pytest.raises(ValueError, match=message):
            REBELClassifier(n_estimators=2).fit(
                X, y, eval_set=(frame.to_numpy() if given is cost else frame, y_new, given)
            )


def test_a_checkpoint_knows_the_costs_of_a_set(tmp_path):
    X, y, X_new, y_new = problem(600)
    rows, path = own_costs(X_new, y_new), tmp_path / "rounds"

    def fit(cost):
        pair = (X_new, y_new) if cost is None else (X_new, y_new, cost)
        kept = Checkpoint(path)
        return REBELClassifier(n_estimators=3).fit(X, y, eval_set=pair, checkpoint=kept), kept

    other = rows.copy()
    other[300, 0] += 1.0  # which no text of a table shows
    for cost in (rows, pd.DataFrame(rows, columns=[0, 1, 2])):
        model, kept = fit(cost)
        kept._write()
        assert fit(rows)[0].evals_result_ == model.evals_result_
        for changed in (other, None):
            with pytest.raises(ValueError, match="is a checkpoint of a fit with other costs of eval_set"):
                fit(changed)
        path.unlink()


def test_without_a_set_there_is_no_result():
    X, y, X_new, y_new = problem()
    model = REBELClassifier(n_estimators=3).fit(X, y, eval_set=(X_new, y_new))
    assert not hasattr(model.fit(X, y), "evals_result_")
    assert not hasattr(model.fit(X, y, eval_set=[]), "evals_result_")


STOPPING = [cls for cls in OTHERS if "early_stopping" in cls().get_params()]


@pytest.mark.parametrize("cls", STOPPING, ids=lambda cls: cls.__name__)
def test_early_stopping_looks_at_the_first_set_and_sets_no_row_apart(cls):
    X, y, X_new, y_new = problem()
    model = cls(n_estimators=30, early_stopping=True, n_iter_no_change=4, random_state=0)
    model.fit(X, y, eval_set=[(X_new, y_new), (X, y)])
    costs = model.evals_result_["valid_0"]["cost"]
    np.testing.assert_allclose(model.validation_risk_[1:], costs, rtol=1e-9)
    best = int(np.argmin(model.validation_risk_))
    if model.n_iter_:
        assert model.n_iter_ == best and len(costs) == len(model.evals_result_["valid_1"]["cost"]) >= best
        assert len(costs) in (30, best + 4) or len(costs) < best + 4  # or there was nothing left to learn
        whole = cls(n_estimators=best, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X_new), whole.decision_function(X_new))


def test_warm_starts_record_their_own_rounds():
    X, y, X_new, y_new = problem()
    model = REBELClassifier(COST, n_estimators=3, warm_start=True).fit(X, y, eval_set=(X_new, y_new))
    first = model.evals_result_["valid_0"]["cost"]
    second = model.set_params(n_estimators=7).fit(X, y, eval_set=(X_new, y_new)).evals_result_["valid_0"]["cost"]
    assert len(first) == 3 and len(second) == 4
    np.testing.assert_allclose(first + second, staged(model, COST, X_new, y_new))
    early = REBELClassifier(COST, n_estimators=3, warm_start=True, early_stopping=True, n_iter_no_change=20)
    before = early.fit(X, y, eval_set=(X_new, y_new)).n_iter_
    early.set_params(n_estimators=7).fit(X, y, eval_set=(X_new, y_new))
    assert len(early.evals_result_["valid_0"]["cost"]) == 7 - before == len(early.validation_risk_) - 1 - before
    np.testing.assert_allclose(early.validation_risk_[1:], (first + second)[: len(early.validation_risk_) - 1])


def test_many_rows_have_the_same_bins():
    """Thresholds of more than 200 000 rows are those of evenly spaced training rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(210_000, 2))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    one = REBELClassifier(n_estimators=2).fit(X, y)
    other = REBELClassifier(n_estimators=2).fit(X, y, eval_set=(X[:1000] + 100.0, y[:1000]))
    np.testing.assert_array_equal(one.decision_function(X[:1000]), other.decision_function(X[:1000]))


def test_frames_categories_and_sparse_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y", "z"], 200)}).astype({"b": "category"})
    y = np.where(frame["b"] == "x", "no", np.where(frame["a"] > 0, "yes", "perhaps"))
    new = frame[["b", "a"]].assign(
        b=frame["b"].astype(str).where(np.arange(200) % 9 > 0, "unseen")
    )  # other order, a new value
    for model in (REBELClassifier(n_estimators=6), MinRiskClassifier(n_estimators=10, random_state=0)):
        model.fit(frame, y, eval_set=(new, y))
        uniform = [float(np.mean(decisions != y)) for decisions in model.staged_predict(new)]
        np.testing.assert_allclose(model.evals_result_["valid_0"]["cost"], uniform, atol=1e-12)
        with pytest.raises(ValueError, match="(?s)valid_0 of eval_set: .*now missing:\n- a\n"):
            model.fit(frame, y, eval_set=(frame[["b"]], y))
    counts = rng.poisson(0.3, size=(150, 30)).astype(float)
    topic = (counts[:, 0] + counts[:, 1] > counts[:, 2]).astype(int)
    dense = REBELClassifier(n_estimators=6).fit(counts, topic, eval_set=(counts[::2], topic[::2]))
    for pair in ((csr_array(counts[::2]), topic[::2]), (counts[::2], topic[::2])):
        sparse = REBELClassifier(n_estimators=6).fit(csr_array(counts), topic, eval_set=pair)
        assert sparse.evals_result_ == dense.evals_result_
    assert (
        REBELClassifier(n_estimators=6).fit(counts, topic, eval_set=(csr_array(counts[::2]), topic[::2])).evals_result_
        == dense.evals_result_
    )


def test_what_is_no_set_is_refused():
    X, y, X_new, y_new = problem()
    names = np.array(["a", "b", "c"])
    refused = [
        (
            X_new,
            r"must be \(X, y\) or \(X, y, cost\), rows with their classes and costs, or a list of such, got ndarray",
        ),
        ([X_new, y_new], "got a ndarray in place of one"),
        ((X_new,), "in place of one"),
        ([(X_new, y_new, None, y_new)], "got 4 objects in place of one"),
        ((X_new[:, :2], y_new), "valid_0 of eval_set: X has 2 features, but"),
        ((X_new, y_new[:-1]), "valid_0 of eval_set: .*inconsistent numbers of samples"),
        (
            [(X_new, y_new), (X_new, np.where(y_new == 2, 7, y_new))],
            r"valid_1 of eval_set has rows of classes that no training row has: \[7\]. Leave",
        ),
        ((X_new, names[y_new]), r"classes that no training row has: \['a', 'b', 'c'\]"),
        ((np.full_like(X_new, np.inf), y_new), "valid_0 of eval_set: X must hold finite numbers, got inf"),
        ((X_new, y_new[:, None]), "valid_0 of eval_set: y must hold a class for each row"),
        ((Chunks(lambda: [(X_new, y_new)]), y_new), "got Chunks: give an array or a table"),
    ]
    for model in (REBELClassifier(n_estimators=2), MinRiskClassifier(n_estimators=5)):
        for pair, message in refused:
            with pytest.raises(ValueError, match=message):
                model.fit(X, y, eval_set=pair)
            assert not hasattr(model, "model_")
        with pytest.raises(
            ValueError, match="valid_0 of eval_set must bring costs of its own, as this fit has costs of each row"
        ):
            model.fit(X, y, cost=COST[y], eval_set=(X_new, y_new))


def test_dask_collections_are_refused():
    array = pytest.importorskip("dask.array")
    X, y, X_new, y_new = problem()
    for rows, pair in ((array.from_array(X), (X_new, y_new)), (X, (array.from_array(X_new), y_new))):
        with pytest.raises(ValueError, match="goes with neither Dask collections"):
            REBELClassifier().fit(rows, array.from_array(y) if rows is not X else y, eval_set=pair)


def test_an_interrupted_fit_keeps_its_results(monkeypatch):
    import signal

    from minrisk.boosting.monitors import RiskHistory

    X, y, X_new, y_new = problem()
    calls, real = [], RiskHistory.after_round

    def after_round(self, info):
        calls.append(1)
        if len(calls) == 6:
            signal.raise_signal(signal.SIGINT)
        return real(self, info)

    monkeypatch.setattr(RiskHistory, "after_round", after_round)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    model = REBELClassifier(n_estimators=50)
    with pytest.raises(KeyboardInterrupt, match="6 rounds"):
        model.fit(X, y, eval_set=(X_new, y_new))
    signal.signal(signal.SIGINT, before)
    np.testing.assert_allclose(model.evals_result_["valid_0"]["cost"], staged(model, 1 - np.eye(3), X_new, y_new)[:5])
