"""After `minrisk warmup` nothing is left to compile, whatever rows, costs and weights come as."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import minrisk
from minrisk._kernels._cache import writable_folder
from tests.helpers.common import slow_after

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
PACKAGE = Path(minrisk.__file__).parent

FITS = """import itertools, sys, tempfile, os, pickle
import numpy as np
import joblib
from numba.core import event

class Compiled(event.Listener):
    kernels = []
    def on_start(self, event):
        dispatcher = event.data["dispatcher"]
        if dispatcher.py_func.__module__.startswith("minrisk."):
            self.kernels.append((dispatcher.py_func.__qualname__, str(event.data["args"])))
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
import minrisk
from minrisk import LocalizedSimilaritiesClassifier, MCBoostClassifier, MinRiskClassifier, REBELClassifier

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
signal = np.digitize(X[:, 0] + X[:, 1], (-1.0, 1.0))
for n_jobs in (None, 2):  # members of all kinds on more rows than those whose leaves are looked at row by row
    MinRiskClassifier(n_estimators=3, n_jobs=n_jobs, random_state=0).fit(X, signal).predict_proba(X)
    MinRiskClassifier(n_estimators=3, n_jobs=n_jobs, random_state=0).fit(X, signal, sample_weight=rng.uniform(0, 2, 9000))
wide = rng.normal(size=(5000, 60))
MinRiskClassifier(n_estimators=2, cv=1, n_jobs=2).fit(wide, y[:5000])  # whose nodes threads share
staged = MinRiskClassifier(cost, n_estimators=60, cv=2, random_state=0).fit(X[:2000], np.digitize(X[:2000, 0] * X[:2000, 1] + X[:2000, 2], (-1.0, 0.0, 1.0)))
assert staged.model_._stages is not None and staged.model_.cascade is not None, "too few trees for early decisions"
for excess, n_rows, dtype in itertools.product((0.0, 0.05), (1, 3, 2000), (np.float64, np.float32)):
    staged.predict(X[:n_rows].astype(dtype), max_excess=excess)
    staged.predict(X[:n_rows].astype(dtype), cost=1 - np.eye(4), max_excess=excess)
pooled = MinRiskClassifier(n_estimators=5, random_state=0).fit(X[:500], X[:500, :3].sum(axis=1) > 0)
assert pooled.model_.projection is not None
minrisk.save(pooled, sys.argv[1])
for model in (pooled, minrisk.load(sys.argv[1])):
    for rows in (X, X[:1], X.astype(np.float32), np.where(X > 1, np.nan, X)):
        model.predict_proba(rows)
    list(model.staged_predict(X))
    for of in ("scores", "cost", "log_odds"):
        minrisk.inspection.shap_values(model, X[:9].astype(np.float32), X, of=of, n_jobs=2)
plain = MinRiskClassifier(cost, n_estimators=2, cv=1, pool=False).fit(X[:500], y[:500])
minrisk.inspection.shap_values(plain, X[:9], X, of="cost", by="coalitions")
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
        model = LocalizedSimilaritiesClassifier(cost, response=response, loss=base, n_estimators=3)
        for part in (X[:500], whole[:500], X[:500].astype(np.float32)):
            model.fit(part, y[:500], sample_weight=weight).predict(part[:300])
            list(model.staged_predict(X[:5]))
            model.predict(X)
kinds_of_wide = (rng.normal(size=(9000, 40)), np.repeat(X[:, :1], 40, axis=1))
for wide, rows in itertools.product(kinds_of_wide, (slice(500), slice(9000))):
    REBELClassifier(cost, loss="logistic", n_estimators=2, max_depth=1).fit(wide[rows], y[rows])
for options in (dict(), dict(descent="gradient"), dict(weak_learner="tree"), dict(subsample=0.5),
                dict(descent="codewords", weak_learner="tree")):
    for loss in ("gll", "gel", "mc", "ls", "lt"):
        model = MCBoostClassifier(cost, loss=loss, n_estimators=2, random_state=0, **options)
        model.fit(X[:500], y[:500], sample_weight=weight).predict(X)
        model.fit(X, y).predict(X.astype(np.float32))
        list(model.fit(X[:500], y[:500], cost=each[:500]).staged_predict(X[:5]) if loss != "mc" else ())
    model = MCBoostClassifier(cost, loss="mc", decision="bayes", n_estimators=2, **options).fit(X[:500], y[:500])
    model.set_params(warm_start=True, n_estimators=3).fit(X[:500], y[:500]).predict_proba(X)
more = dict(), dict(subsample=0.5, max_features=0.5), dict(max_depth=2, early_stopping=True)
ways = [(cls, {**how, **other}) for cls in minrisk.ALGORITHMS[1:] for how in cls._ways for other in more]
ways += [(minrisk.PIBoostClassifier, dict(draw=0.5, max_depth=2))]
for loss in ("exponential", "logistic"):
    ways += [(minrisk.StagewiseMCBoostClassifier, dict(loss=loss, step_size=0.1))]
    ways += [(cls, dict(loss=loss, weak_learner="tree", max_features=0.5))
             for cls in (minrisk.StagewiseMCBoostClassifier, minrisk.MultiBoostClassifier, minrisk.StructBoostClassifier)]
for cls, how in ways:
    model = cls(cost, **{"n_estimators": 3, "random_state": 0} | {name: how[name] for name in how if name in cls._rules})
    if not model._needs_matrix:
        model.fit(X[:500], y[:500], cost=each[:500])
    if cls is not LocalizedSimilaritiesClassifier:
        model.fit(X, y).predict(X)
    model.fit(X[:500], y[:500], sample_weight=weight).predict(X.astype(np.float32))
    list(model.staged_predict(X[:5]))
    model.set_params(warm_start=True, n_estimators=4).fit(X[:500], y[:500])
"""
ROWS = """  # whatever rows come as
small, y_small = np.rint(3 * X[:300]), y[:300]
with tempfile.TemporaryDirectory() as folder:
    np.save(folder + "/X.npy", small)
    packed = np.zeros(300, dtype=[("pad", "i1"), ("x", "f8", 4)])  # not aligned
    packed["x"] = small
    kinds = {
        "float32": small.astype(np.float32), "int64": small.astype(np.int64), "uint8": np.abs(small).astype(np.uint8),
        "bool": small > 0, "Fortran": np.asfortranarray(small), "strided": np.repeat(small, 2, axis=1)[:, ::2],
        "memory map": np.load(folder + "/X.npy", mmap_mode="r"), "unaligned": packed["x"],
        "big-endian": small.astype(">f8"), "list": small.tolist(),
    }
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        frame = pd.DataFrame(small, columns=list("abcd"))
        kinds |= {"frame": frame, "mixed": frame.astype({"a": "float32", "b": "int64", "c": "category"})}
    made = [(cls, {**cls._ways[0], "n_estimators": 2}) for cls in minrisk.ALGORITHMS]
    made += [(MinRiskClassifier, {"n_estimators": 5}), (REBELClassifier, {"n_estimators": 3, "weak_learner": "stump"})]
    for cls, how in made:
        new = lambda: cls(cost, random_state=0, **how)
        for kind, rows in kinds.items():
            if kind == "mixed" and cls is LocalizedSimilaritiesClassifier:
                continue
            model = new().fit(rows, y_small)
            model.predict(rows)
            model.predict(rows[:3])
            list(model.staged_predict(rows[:3]))
        for weight_ in (np.ones(300, dtype=np.float32), y_small + 1, (y_small + 1).tolist()):
            new().fit(small, y_small, sample_weight=weight_)
        new().fit(small, y_small.astype(np.uint8))
        if not new()._needs_matrix:
            for form in (each[:300], np.asfortranarray(each[:300]), each[:300].astype(np.float32)):
                new().set_params(cost=None).fit(small, y_small, cost=form)
        model = new().fit(small, y_small)
        joblib.dump(model, folder + "/model")
        there = joblib.load(folder + "/model", mmap_mode="r")  # as workers get large arrays
        there.predict(small)
        list(there.staged_predict(small[:3]))
        pickle.loads(pickle.dumps(model)).predict(small)
    other = rng.uniform(1, 2, (4, 4)) * (1 - np.eye(4))
    model = MinRiskClassifier(cost, n_estimators=5, random_state=0).fit(small, y_small)
    for cost_ in (other, np.asfortranarray(other), other.astype(np.float32), other[y_small][:, None] + other):
        model.predict(small, cost=cost_)
"""
END = """
assert not Compiled.kernels, Compiled.kernels
print("nothing")
"""


TAKING = """# Machine code that is compiled already is copied when it is first asked for: the same as to compile it, in less time.
import os, shutil
from minrisk._kernels import _cache

store, find = os.environ["MINRISK_STORE"], _cache.KernelCache._find

def take(self, sig, target_context, name):
    found = find(self, sig, target_context, name)
    if found is None and os.path.exists(f"{store}/{name}.nbi"):
        for file in (f"{name}.1.nbc", f"{name}.nbi"):
            beside = _cache.HERE / "__pycache__" / f"{file}.{os.getpid()}"
            shutil.copy(f"{store}/{file}", beside)
            os.replace(beside, beside.with_suffix(""))
        found = find(self, sig, target_context, name)
    return found

_cache.KernelCache._find = take
"""


@pytest.mark.parametrize("more", slow_after(1, ["", ROWS]), ids=["methods", "rows of any kind"])
def test_after_warmup_nothing_is_compiled(more, tmp_path):
    """In a copy of the package, which has the machine code alone that the warmup asks for."""
    shutil.copytree(PACKAGE, tmp_path / "minrisk", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "MINRISK_STORE": str(writable_folder() or tmp_path)}
    environment.pop("NUMBA_CACHE_DIR", None)
    (tmp_path / "sitecustomize.py").write_text(TAKING)  # the warmup's second process has it, too
    call = "from minrisk._warmup import warmup; print(warmup())"
    done = subprocess.run([sys.executable, "-c", call], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    folder = tmp_path / "minrisk" / "_kernels" / "__pycache__"
    assert done.stdout == f"{folder}\n"
    assert done.stderr == "" or (done.stderr.count("\n") == 1 and "once, it takes some seconds" in done.stderr)
    (tmp_path / "sitecustomize.py").unlink()
    kept = {path.name for path in folder.glob("*.nb?")}
    assert kept and not list(folder.glob("*.lock"))
    command = [sys.executable, "-c", FITS + more + END, str(tmp_path / "model")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "nothing\n", done.stderr[-2000:]
    assert {path.name for path in folder.glob("*.nb?")} == kept


def test_kernels_of_others_without_a_module_compile():
    """Functions of `exec` have none; minrisk listens to every compilation of the process."""
    made = (
        "import minrisk._kernels._jit, numba\n"
        "space = {'__name__': None}\n"
        "exec('def one(): return 1', space)\n"
        "assert space['one'].__module__ is None and numba.njit(space['one'])() == 1\n"
    )
    subprocess.run([sys.executable, "-c", made], check=True)
