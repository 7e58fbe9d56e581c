"""After `minrisk warmup` nothing is left to compile."""

import subprocess
import sys

FITS = """
import importlib, pkgutil, sys
import numpy as np
import minrisk
import minrisk._kernels
from minrisk._warmup import warmup
from minrisk.algorithms.mcboost import MCBoostClassifier
from minrisk.algorithms.min_risk import MinRiskClassifier
from minrisk.algorithms.rebel import REBELClassifier
from minrisk.algorithms.stagewise import MultiBoostClassifier, StagewiseMCBoostClassifier

def signatures():
    found = {}
    for info in pkgutil.iter_modules(minrisk._kernels.__path__):
        module = importlib.import_module(f"minrisk._kernels.{info.name}")
        for name, kernel in vars(module).items():
            if hasattr(kernel, "signatures"):
                found[info.name, name] = [str(s) for s in kernel.signatures]
    return found

warmup()
before = signatures()
rng = np.random.default_rng(0)
X = rng.normal(size=(9000, 4))
X[:, 3] = rng.random(9000) < 0.05
y = np.digitize(X[:, 0] + rng.normal(size=9000), (-1.0, 0.0, 1.0))
cost = rng.uniform(1, 2, (4, 4)) * (1 - np.eye(4))
weight = rng.uniform(0, 2, 500)
for options in (dict(), dict(sketch=3, subsample=0.5, max_features=1.0), dict(sketch=None)):
    for surrogate in ("auto", "exponential", "softmax", "coupled", "gll", "gel"):
        model = MinRiskClassifier(cost, surrogate=surrogate, n_estimators=3, random_state=0, **options)
        for n_jobs in (None, 2):
            model.set_params(n_jobs=n_jobs, cv=3).fit(X[:500], y[:500], sample_weight=weight)
        model.predict(X[:500].astype(np.float32))
        model.predict(X[:500])
    model.set_params(pool=False).fit(X[:500], y[:500]).predict(X[:500])
    model.set_params(surrogate="softmax", cv=1).fit(X, y).predict(X)
pooled = MinRiskClassifier(n_estimators=5, random_state=0).fit(X[:500], X[:500, :3].sum(axis=1) > 0)
assert pooled.model_.projection is not None
minrisk.save(pooled, sys.argv[1])
for model in (pooled, minrisk.load(sys.argv[1])):
    for rows in (X, X[:1], X.astype(np.float32), np.where(X > 1, np.nan, X)):
        model.predict_proba(rows)
    list(model.staged_predict(X))
each = cost[y] * rng.uniform(1, 2, (9000, 1))
for surrogate in ("auto", "coupled", "gll", "gel"):
    model = MinRiskClassifier(surrogate=surrogate, n_estimators=3, cv=2, subsample=0.5, random_state=0)
    model.fit(X[:500], y[:500], cost=each[:500])
for loss in ("exponential", "logistic", "squared"):
    REBELClassifier(loss=loss, n_estimators=3, max_depth=3).fit(X[:500], y[:500], cost=each[:500])
    REBELClassifier(cost, loss=loss, n_estimators=3, max_depth=3).fit(X, y).predict(X)
    REBELClassifier(cost, loss=loss, n_estimators=3, max_depth=3, subsample=0.5).fit(X[:500], y[:500], sample_weight=weight)
whole = np.rint(4 + X).clip(0, 9)
for response in ("real", "sign"):
    for base in ("exponential", "logistic"):
        model = REBELClassifier(cost, weak_learner="similarity", response=response, loss=base, n_estimators=3)
        for part in (X[:500], whole[:500], X[:500].astype(np.float32)):
            model.fit(part, y[:500], sample_weight=weight).predict(part[:300])
            list(model.staged_predict(X[:5]))
            model.predict(X)
for options in (dict(), dict(descent="gradient"), dict(weak_learner="tree"), dict(subsample=0.5)):
    for loss in ("gll", "gel", "mc", "ls", "lt"):
        model = MCBoostClassifier(cost, loss=loss, n_estimators=2, random_state=0, **options)
        model.fit(X[:500], y[:500], sample_weight=weight).predict(X)
        model.fit(X, y).predict(X.astype(np.float32))
        list(model.fit(X[:500], y[:500], cost=each[:500]).staged_predict(X[:5]) if loss != "mc" else ())
    model = MCBoostClassifier(cost, loss="mc", decision="bayes", n_estimators=2, **options).fit(X[:500], y[:500])
    model.set_params(warm_start=True, n_estimators=3).fit(X[:500], y[:500]).predict_proba(X)
for loss in ("exponential", "logistic"):
    for algorithm in (StagewiseMCBoostClassifier, MultiBoostClassifier):
        for options in (dict(), dict(weak_learner="tree", max_features=0.5)):
            model = algorithm(cost[:, :4], loss=loss, n_estimators=3, random_state=0, **options)
            model.fit(X[:500], y[:500], sample_weight=weight).predict(X.astype(np.float32))
            model.fit(X, y).predict(X)
            model.fit(X[:500], y[:500], cost=each[:500])
    StagewiseMCBoostClassifier(loss=loss, step_size=0.1, subsample=0.5, n_estimators=3).fit(X, y)
late = {name: new for name, new in signatures().items() if new != before.get(name)}
assert not late, late
"""


def test_warmup_compiles_every_kernel_that_fits_and_predictions_use(tmp_path):
    command = [sys.executable, "-c", FITS, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_kernels_of_others_without_a_module_compile():
    """Functions of `exec` have none; minrisk listens to every compilation of the process."""
    made = (
        "import minrisk._kernels._jit, numba\n"
        "space = {'__name__': None}\n"
        "exec('def one(): return 1', space)\n"
        "assert space['one'].__module__ is None and numba.njit(space['one'])() == 1\n"
    )
    subprocess.run([sys.executable, "-c", made], check=True)
