"""Stages, files, threads and rounds that are added later: the same scores on every way, whatever the parameters."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

from minrisk import (
    AdaBoostMOClassifier,
    LocalizedSimilaritiesClassifier,
    MCBoostClassifier,
    MultiBoostClassifier,
    StagewiseMCBoostClassifier,
    load,
    save,
)
from tests.helpers.common import COST

DRAWN = {"subsample": 0.7, "max_features": 0.5}
OF_MCBOOST = [
    {},
    {"weak_learner": "stump"},
    {"weak_learner": "tree"},
    {"descent": "gradient"},
    {"weak_learner": "tree", "descent": "gradient", **DRAWN},
]
OF_SIMILARITIES = [
    {},
    {"two_point": False},
    {"subsample": 0.6},
    {"n_candidates": 4},
    {"n_neighbors": 12},
    {"loss": "logistic"},
    {"loss": "squared"},
]
OF_PAIRS = [
    (StagewiseMCBoostClassifier, {}),
    (StagewiseMCBoostClassifier, {"weak_learner": "tree", "max_depth": 2}),
    (StagewiseMCBoostClassifier, {"step_size": 0.05}),
    (StagewiseMCBoostClassifier, {"cap": 0.3, **DRAWN}),
    (MultiBoostClassifier, {}),
    (MultiBoostClassifier, {"weak_learner": "tree", "max_depth": 2, "nu": 1e-3, "max_features": 3}),
    (MultiBoostClassifier, {"penalty": "l2"}),
    (MultiBoostClassifier, {"penalty": "l2", "weak_learner": "tree"}),
]
CODE = [[1, 1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, 1]]
MODELS = [
    *(MCBoostClassifier(loss=loss, **own) for loss, own in product(("gll", "gel", "ls", "lt"), OF_MCBOOST)),
    *(MCBoostClassifier(loss="mc", decision="bayes", **own) for own in OF_MCBOOST),
    MCBoostClassifier(descent="codewords", weak_learner="tree", subsample=0.8),
    MCBoostClassifier(descent="codewords", weak_learner="tree", loss="gamma-phi", gamma="log"),
    *(LocalizedSimilaritiesClassifier(response=r, **own) for r, own in product(("real", "sign"), OF_SIMILARITIES)),
    *(kind(loss=loss, **own) for loss, (kind, own) in product(("exponential", "logistic"), OF_PAIRS)),
    *(AdaBoostMOClassifier(**own) for own in ({"code": "random"}, {"code": CODE, "decoding": "hamming"})),
    *(AdaBoostMOClassifier(**own) for own in ({}, {"response": "own"})),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_files_stages_threads_and_going_on(model, tmp_path):
    X, y = load_wine(return_X_y=True)
    X[::7, 0] = np.nan
    exact, of_distances = np.testing.assert_array_equal, isinstance(model, LocalizedSimilaritiesClassifier)
    nearly = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12) if of_distances else exact
    model = clone(model).set_params(cost=COST, n_estimators=6, random_state=0).fit(X, y)
    assert len(model.model_) == model.n_iter_ > 2
    if model.get_params().get("subsample", 1.0) == 1.0:
        assert np.all(np.diff(model.train_loss_) < 0)
    assert of_distances or model.feature_importances_.sum() == pytest.approx(1.0)
    scores = model.decision_function(X)
    *_, last = model.staged_decision_function(X)
    nearly(last, scores)
    nearly(model.model_[:2].scores(X), list(model.model_.staged_scores(X))[1])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    exact(again.predict(X), model.predict(X))
    for some in (X, X.astype(np.float32)):
        exact(again.decision_function(some), model.decision_function(some))
    save(clone(model).set_params(n_jobs=2).fit(X, y), tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == (tmp_path / "model").read_bytes()
    save(clone(model).set_params(n_estimators=3).fit(X, y), tmp_path / "half")
    half = load(tmp_path / "half").set_params(warm_start=True, n_estimators=6).fit(X, y)
    exact(half.decision_function(X), scores)
    exact(half.train_loss_, model.train_loss_)
