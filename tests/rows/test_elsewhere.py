"""Fits to rows in partitions elsewhere make the models of rows that are here, to the last byte."""

import copy
import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone

from benchmarks.before_after import COSTS, blobs
from minrisk import BAdaCostClassifier, MinRiskClassifier, REBELClassifier, StagewiseMCBoostClassifier
from minrisk.model.cascade import NEVER
from minrisk.rows.placed import Part, PlacedRows
from minrisk.rows.remote import Shard
from tests.helpers.common import crossed, few_are_many, without_kinds
from tests.helpers.partitions import Divided, divide
from tests.rows.test_pieces import content


def cuts_of(n, n_parts):
    """Among them an empty partition and one of one row."""
    inner = np.sort(np.random.default_rng(n_parts).integers(2, n, max(0, n_parts - 3))).tolist()
    return [0, *([1, 1] if n_parts > 2 else []), *inner, *([n // 2] if n_parts == 2 else []), n]


MODELS = {
    "stumps": REBELClassifier(COSTS, n_estimators=5),
    "stumps of the logistic loss": REBELClassifier(n_estimators=3, loss="logistic"),
    "trees of one vector": REBELClassifier(COSTS, n_estimators=4, weak_learner="tree", max_depth=3),
    "bags": REBELClassifier(COSTS, n_estimators=4, subsample=0.4, max_features=0.5, random_state=1),
    "vector trees": MinRiskClassifier(COSTS, n_estimators=10, random_state=0, pool=False),
    "all surrogates": MinRiskClassifier(n_estimators=8, surrogate="exponential", random_state=0),
    "costs": MinRiskClassifier(COSTS, n_estimators=8, surrogate="gel", random_state=0, cv=3),
    "one member": MinRiskClassifier(COSTS, n_estimators=6, cv=1, random_state=0),
    "pool": MinRiskClassifier(COSTS, n_estimators=12, random_state=0),
    "costs in trees": BAdaCostClassifier(COSTS, n_estimators=4),
    "pairs": StagewiseMCBoostClassifier(COSTS, n_estimators=4),
}


def as_many_rows(monkeypatch):
    """Fits take the way of many rows."""
    few_are_many(monkeypatch, 100)
    without_kinds(monkeypatch, "logistic", "smooth")  # rows elsewhere have no such members


def check_same(model, monkeypatch, folder, n_parts, n=900, weight=None, cost=None, **how):
    as_many_rows(monkeypatch)
    X, y = blobs(n, 5, 3, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = content(clone(model).fit(X, y, sample_weight=weight, cost=cost), folder)
        engines, cuts = divide(monkeypatch, **how), cuts_of(n, n_parts)
        weights = None if weight is None else Divided(weight, cuts)
        costs = None if cost is None else Divided(cost, cuts)
        there = clone(model).fit(Divided(X, cuts), Divided(y, cuts), sample_weight=weights, cost=costs)
    assert content(there, folder) == here
    return engines


@pytest.mark.parametrize("judged", [1000, 1 << 20])
def test_leads_are_kept(judged, monkeypatch, tmp_path):
    """Of members of all folds, trees on linear features among them, from all left-out rows or some of them."""
    as_many_rows(monkeypatch)
    monkeypatch.setattr("minrisk.ensemble.defaults.JUDGED_STAGES", judged)
    monkeypatch.setattr("minrisk.ensemble.defaults.SMOOTH_ROWS", 0)  # so many rows have no smooth members
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 1200)
    X, cuts = random.normal(size=(1200, 5)) + 1.5 * np.eye(3, 5)[y], cuts_of(1200, 5)
    model, found = MinRiskClassifier(COSTS, n_estimators=18, cv=3, random_state=0), []
    for given in ((X, y), (Divided(X, cuts), Divided(y, cuts))):
        divide(monkeypatch, n_shards=3)
        found.append(clone(model).fit(*given))
    here, there = found
    assert content(there, tmp_path) == content(here, tmp_path)
    assert there.model_.projection is not None and there.model_.trees_per_round > 3
    assert there.model_.cascade.leads.min() < NEVER and there.model_.cascade.ending.max() > 0.0


@pytest.mark.parametrize(("name", "n_parts"), crossed(MODELS, [7, 1, 2]))
def test_models_are_the_same(name, n_parts, monkeypatch, tmp_path):
    engines = check_same(MODELS[name], monkeypatch, tmp_path, n_parts, n_shards=min(n_parts, 3))
    assert engines[0].n_asked > 5


def test_members_that_rest(monkeypatch, tmp_path):
    """As those of more than half a million scores do; the driver, which has no rows, says so, too."""
    for name in ("RESTING_SCORES", "FORGETTING_SCORES", "TOGETHER_SCORES"):
        monkeypatch.setattr(f"minrisk.ensemble.driver.{name}", 100)
    check_same(MODELS["vector trees"], monkeypatch, tmp_path, 5)


def test_a_model_knows_nothing_of_where_rows_were(monkeypatch):
    """Trees on linear features have a share here; it is used, copied, pickled."""
    as_many_rows(monkeypatch)
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 1200)
    X = random.normal(size=(1200, 5)) + 1.5 * np.eye(3, 5)[y]
    divide(monkeypatch)
    cuts = [0, 500, 1200]
    model = MinRiskClassifier(COSTS, n_estimators=6, cv=2, random_state=0).fit(Divided(X, cuts), Divided(y, cuts))
    assert model.model_.projection is not None
    answers = model.predict_proba(X)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), answers)


@pytest.mark.parametrize("few", [0, 1000])
def test_a_refit_forgets_the_names_of_columns(few, monkeypatch):
    import pandas as pd

    divide(monkeypatch, few=few)
    (X, y), cuts = blobs(200, 4), [0, 100, 200]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    model = REBELClassifier(n_estimators=2).fit(Divided(frame, cuts), Divided(y, cuts))
    assert list(model.feature_names_in_) == list(frame.columns)
    assert not hasattr(model.fit(Divided(X[:, :3], cuts), Divided(y, cuts)), "feature_names_in_")


@pytest.mark.parametrize(("name", "weights"), crossed(["stumps", "vector trees", "pool"], ["whole, some 0", "any"]))
def test_weights(name, weights, monkeypatch, tmp_path):
    random = np.random.default_rng(2)
    weight = random.exponential(size=900) if weights == "any" else random.integers(0, 3, 900).astype(float)
    check_same(MODELS[name], monkeypatch, tmp_path, 6, weight=weight, n_shards=3)


@pytest.mark.parametrize(
    ("name", "kind"), crossed(["stumps", "costs", "pool"], ["by row", "by row and class", "whole", "weighted", "named"])
)
def test_costs_that_differ_by_row(name, kind, monkeypatch, tmp_path):
    import pandas as pd

    random, weight = np.random.default_rng(5), None
    cost = random.exponential(size=(900, 3, 3) if kind == "by row and class" else (900, 3))
    if kind == "whole":
        cost = random.integers(0, 5, (900, 4)).astype(float)
    if kind == "weighted":
        weight = random.integers(0, 3, 900).astype(float)
    if kind == "named":
        cost = pd.DataFrame(cost, columns=[2, 0, 1])
    model = clone(MODELS[name]).set_params(cost=None)
    check_same(model, monkeypatch, tmp_path, 5, weight=weight, cost=cost, n_shards=3)


@pytest.mark.parametrize("name", ["stumps", "pool"])
def test_lost_pieces_are_built_anew(name, monkeypatch, tmp_path):
    random = np.random.default_rng(0)
    lost = set(random.integers(1, 200, 20).tolist())
    engines = check_same(
        MODELS[name],
        monkeypatch,
        tmp_path,
        5,
        n_shards=3,
        lost=lambda shard, asked: asked in lost and shard == asked % 3,
    )
    assert engines[0].n_lost > 3


@pytest.mark.parametrize(("name", "costs_per_row"), crossed(["stumps", "vector trees", "pool"], [False, True]))
def test_nothing_of_all_rows_leaves_its_place(name, costs_per_row, monkeypatch):
    as_many_rows(monkeypatch)
    monkeypatch.setattr("minrisk.rows.placed.QUANTILE_ROWS", 300)
    monkeypatch.setattr("minrisk.data.copies.TOLD_BY", 300)
    monkeypatch.setattr("minrisk.ensemble.defaults.MOMENT_ROWS", 200)
    monkeypatch.setattr("minrisk.ensemble.defaults.JUDGED_STAGES", 1000)
    monkeypatch.setattr("minrisk.ensemble.defaults.KEPT_ROWS", 200)
    monkeypatch.setattr("minrisk.ensemble.defaults.FITTED_CELLS", 20_000)
    model, longest = clone(MODELS[name]), []
    if name != "stumps":
        model.set_params(search_rows=16, max_leaf_nodes=16)
    if costs_per_row:
        model.set_params(cost=None)
    for n in (3000, 12_000):
        X, y = blobs(n, 5, 3, seed=3)
        cuts, engines = cuts_of(n, 6), divide(monkeypatch, n_shards=3)
        cost = np.random.default_rng(0).exponential(size=(n, 3)) if costs_per_row else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(model).fit(*(Divided(of, cuts) for of in (X, y)), cost=Divided(cost, cuts) if costs_per_row else None)
        longest.append((max(engines[0].sent), max(engines[0].answered)))
    assert all(later < 1.5 * first for first, later in zip(*longest, strict=True)), longest


def test_the_size_of_a_shard_is_that_of_its_rows():
    """Dask asks for it, to know how full a worker is."""
    import pandas as pd

    X, y, cost = np.zeros((8, 3)), np.zeros(8, dtype=np.int64), np.zeros((8, 2))
    index = pd.RangeIndex(8).memory_usage()
    for given, n_bytes in ((None, 0), (cost, 128), (pd.DataFrame(cost), 128 + index)):
        assert Shard(PlacedRows([Part(X, y, None, given)], [0], 8), 0).__sizeof__() == 192 + 64 + n_bytes


def test_few_rows_are_fitted_in_one_task(monkeypatch, tmp_path):
    assert check_same(MODELS["pool"], monkeypatch, tmp_path, 4, few=1000) == [None]


def test_algorithms_that_look_at_values_say_so(monkeypatch):
    divide(monkeypatch)
    X, y = blobs(200, 4)
    cuts = [0, 100, 200]
    with pytest.raises(ValueError, match="early_stopping"):
        REBELClassifier(early_stopping=True).fit(Divided(X, cuts), Divided(y, cuts))
    from minrisk import LocalizedSimilaritiesClassifier

    with pytest.raises(ValueError, match="takes no Dask collections"):
        LocalizedSimilaritiesClassifier().fit(Divided(X, cuts), Divided(y, cuts))


def test_a_bad_value_names_its_partition(monkeypatch):
    divide(monkeypatch)
    X, y = blobs(200, 4)
    X[150, 1] = np.inf
    cuts = [0, 100, 200]
    with pytest.raises(ValueError, match="partition 1: "):
        REBELClassifier().fit(Divided(X, cuts), Divided(y, cuts))
    X[150, 1] = 0.0
    cost = np.ones((200, 4))
    cost[150, 1] = np.nan
    with pytest.raises(ValueError, match=r"partition 1: cost\[50, 1\] must be a finite number, got nan"):
        REBELClassifier().fit(Divided(X, cuts), Divided(y, cuts), cost=Divided(cost, cuts))


def test_measurements_are_no_classes(monkeypatch):
    divide(monkeypatch)
    X, y = blobs(200, 4)
    cuts = [0, 1, 1, 200]
    with pytest.raises(ValueError, match="partition 0: Unknown label type: continuous"):
        REBELClassifier().fit(Divided(X, cuts), Divided(y + 0.5, cuts))


def test_columns_that_do_not_fit_say_so(monkeypatch):
    divide(monkeypatch)
    X, y = blobs(200, 4)
    cuts, weight = [0, 100, 200], np.zeros(200)
    weight[:90] = 1.0
    with pytest.raises(ValueError, match="partition 1: sample_weight must hold a number for each of the 100 rows"):
        REBELClassifier().fit(Divided(X, cuts), Divided(y, cuts), sample_weight=Divided(weight, [0, 100, 190]))
    costs = Divided(None, cuts)
    monkeypatch.setattr(costs, "parts", lambda: [np.ones((100, 4)), np.ones((100, 5))])
    with pytest.raises(ValueError, match=r"cost must have the same columns in all partitions, got \[\(4,\), \(5,\)\]"):
        REBELClassifier().fit(Divided(X, cuts), Divided(y, cuts), cost=costs)


@pytest.mark.parametrize("fails", [False, True])
def test_pieces_are_let_go(fails, monkeypatch):
    as_many_rows(monkeypatch)
    engines, (X, y), cuts = divide(monkeypatch), blobs(200, 4), [0, 100, 200]
    if fails:
        monkeypatch.setattr("minrisk.algorithms.rebel.REBELClassifier._recipe", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        REBELClassifier(n_estimators=2).fit(Divided(X, cuts), Divided(y, cuts))
    assert [engine.is_closed for engine in engines] == [True]
