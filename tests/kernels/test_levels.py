"""Machine code comes compiled, in levels that make the same models, and takes arrays exactly as they are meant."""

import os
import subprocess
import sys

import numpy as np
import pytest

from minrisk import _kernels
from minrisk._kernels import fixed, histogram

try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # before NumPy 2
    from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__
_WIDE = [name for name in __cpu_dispatch__ if __cpu_features__[name]]

FITS = """
import hashlib, sys, tempfile, warnings
import numpy as np
import minrisk
from minrisk import MinRiskClassifier, MCBoostClassifier, REBELClassifier, _kernels
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
cost, digest = [[0, 1, 4], [2, 0, 1], [9, 3, 0]], hashlib.sha256()
def add(model, X, y, **given):
    model.fit(X, y, **given)
    with tempfile.NamedTemporaryFile(suffix=".minrisk") as file:
        minrisk.save(model, file.name)
        digest.update(open(file.name, "rb").read())
    digest.update(model.decision_function(X).tobytes() + model.predict(X[:3]).tobytes())
    return model
X = rng.normal(size=(400, 5))
X[:, 4] = rng.random(400) < 0.1
y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=400), (-0.5, 0.5))
for model in (
    MinRiskClassifier(cost, n_estimators=30, random_state=0),
    MinRiskClassifier(cost, n_estimators=30, random_state=0, pool=False, sketch=None),
    MinRiskClassifier(cost, n_estimators=5, random_state=0, surrogate="exponential"),
    REBELClassifier(cost, n_estimators=20, max_depth=2),
    REBELClassifier(cost, n_estimators=5, loss="logistic"),
    MCBoostClassifier(cost, n_estimators=10),
    MCBoostClassifier(cost, n_estimators=5, loss="ls"),
    minrisk.LocalizedSimilaritiesClassifier(n_estimators=5, n_neighbors=3),
    minrisk.MultiBoostClassifier(n_estimators=5),
    minrisk.MultiBoostClassifier(n_estimators=5, loss="exponential"),
    minrisk.StagewiseMCBoostClassifier(n_estimators=5),
    minrisk.StructBoostClassifier(n_estimators=5),
    minrisk.BAdaCostClassifier(cost, n_estimators=5),
    minrisk.AOSOLogitBoostClassifier(n_estimators=5),
):
    add(model, X, y)
# Linear features and logistic members, of a weak signal in many columns, and a column of many values.
X = rng.normal(size=(2000, 40))
X[:, 7] = rng.integers(0, 300, 2000)
y = np.digitize(X[:, 8:].sum(axis=1) + X[:, 7] % 7 + 5 * rng.normal(size=2000), np.linspace(-8, 12, 11))
model = MinRiskClassifier(n_estimators=3, random_state=0, categorical_features=[7])
add(model, X, y, sample_weight=rng.random(2000))
assert model.model_.projection is not None
assert any(line["variant"] == "logistic" and line["share"] > 0 for line in model.selection_), model.selection_
print(_kernels.LEVEL, digest.hexdigest())
"""

# Each as on another processor: kernels of OpenBLAS, loops of NumPy, and functions of the C library.
PROCESSORS = {
    "an old BLAS": {"OPENBLAS_CORETYPE": "Prescott"},
    "another BLAS": {"OPENBLAS_CORETYPE": "Haswell"},
    "one thread": {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "no wide loops": {"NPY_DISABLE_CPU_FEATURES": " ".join(_WIDE)},
    "no products that are added at once": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F"},
}


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def made_here():
    done = run(FITS)
    assert done.stdout, done.stderr
    return done.stdout


def test_all_levels_make_the_same_models(made_here):
    for level in set(_kernels.LEVELS) - {_kernels.LEVEL}:
        there = run(FITS, MINRISK_LEVEL=level)
        assert there.stdout.split() == [level, made_here.split()[1]], there.stderr


@pytest.mark.parametrize("processor", PROCESSORS)
def test_models_do_not_depend_on_the_processor(processor, made_here):
    there = run(FITS, **PROCESSORS[processor])
    assert there.stdout == made_here, there.stderr


def test_a_level_that_there_is_not_is_refused():
    done = run("import minrisk._kernels", MINRISK_LEVEL="x86_64_v9")
    assert "ImportError: MINRISK_LEVEL must be one of" in done.stderr and "but it is x86_64_v9" in done.stderr


READ_ONLY = """
import sys
def watch(event, arguments):
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        raise AssertionError(f"opens {arguments[0]} to write")
    if event in ("os.mkdir", "os.rename", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork"):
        raise AssertionError(f"{event} {arguments}")
import minrisk._kernels, sklearn.ensemble, scipy.linalg, scipy.optimize, joblib, narwhals  # theirs is not ours
sys.addaudithook(watch)
import numpy as np
from minrisk import MinRiskClassifier
X = np.random.default_rng(0).normal(size=(60, 3))
model = MinRiskClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
assert model.predict(X[:1]).shape == (1,)
print("nothing")
"""


def test_nothing_is_compiled_or_written(tmp_path):
    home = tmp_path / "home"
    home.touch()  # no folder, where nobody can write
    done = run(READ_ONLY, HOME=str(home), XDG_CACHE_HOME=str(home), PYTHONDONTWRITEBYTECODE="1")
    assert done.stdout == "nothing\n" and done.stderr == "", done.stderr[-2000:]


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((3, 2), dtype=np.float32),
        np.zeros((3, 2), dtype=np.int64),
        np.zeros(3),
        np.zeros((2, 3)).T,
        np.zeros((3, 4))[:, ::2],
        np.zeros((3, 2), dtype=">f8"),
        [[0.0, 0.0]],
        None,
    ],
    ids=["float32", "int64", "a dimension less", "Fortran", "steps", "byte order", "list", "None"],
)
def test_arrays_of_another_kind_are_refused(values):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        fixed.largest_sizes(values)


def test_what_is_read_only_is_not_written():
    out = np.zeros(3, dtype=np.uint8)
    values, padded = np.array([-1.0, 0.5, np.nan]), np.full(256, np.inf)
    padded[0] = 0.0
    for array in (values, padded):
        array.setflags(write=False)
    histogram.bin_column(values, padded, out)
    np.testing.assert_array_equal(out, [0, 1, 0])
    out.setflags(write=False)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        histogram.bin_column(values, padded, out)


def test_arrays_without_entries_have_their_shape():
    assert fixed.largest_sizes(np.zeros((0, 4))).tolist() == [0.0] * 4
    assert fixed.largest_sizes(np.zeros((4, 0))).shape == (0,)


def test_arrays_that_kernels_make_outlive_them():
    made = [fixed.largest_sizes(np.full((1, 1000), float(i))) for i in range(100)]
    for i, array in enumerate(made):
        assert array.flags.writeable and np.all(array == i)
