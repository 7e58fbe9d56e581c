"""Models in few bytes: rounded vectors, packed files, what loading takes, and archives that would unpack to too much."""

import io
import os
import pickle
import threading
import tracemalloc
import zipfile
from copy import copy
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minrisk
from minrisk.ensemble.defaults import ROUNDING
from minrisk.io import arrays as io_arrays
from minrisk.io.model_file import ModelFileError
from minrisk.model.additive import AdditiveModel, pack
from minrisk.model.coded_trees import CodedTrees
from minrisk.model.rounded_vectors import EXPONENTS, RoundedVectors, shortened
from minrisk.model.trees import by_levels
from tests.helpers.forging import START, archive, as_bytes, envelope
from tests.helpers.walks import plain_scores, random_tree
from tests.io.test_forged_files import refused


# -- vectors -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e5, 1e30])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (9000, 4), (5, 0)])
@pytest.mark.parametrize("exponent", [-200, -12, 3])
def test_rounding_moves_no_entry_by_more_than_half_a_unit(scale, shape, exponent):
    rng = np.random.default_rng(0)
    vectors = scale * rng.normal(size=shape) * 10.0 ** rng.uniform(-4, 0, size=(shape[0], 1))
    rounded = RoundedVectors.of(vectors, exponent)
    values = np.asarray(rounded)
    assert rounded.shape == values.shape == shape and len(rounded) == shape[0] and values.dtype == np.float64
    assert (rounded.mantissa.dtype, rounded.exponent.dtype) == (np.int16, np.int16)
    largest = np.abs(vectors).max(axis=1, initial=0.0, keepdims=True)
    assert np.all(np.abs(values - vectors) <= np.maximum(largest / 32767, 2.0 ** (exponent - 1)))
    if np.all(largest <= 32767 * 2.0**exponent) and len(vectors):  # 16 bits suffice for all
        assert rounded.unit == 2.0 ** max(exponent, EXPONENTS[0])
    np.testing.assert_array_equal(np.asarray(rounded, dtype=np.float32).astype(np.float64), values)
    np.testing.assert_array_equal(np.asarray(RoundedVectors.of(values, exponent)), values)
    np.testing.assert_array_equal(np.asarray(rounded[3:7]), values[3:7])
    assert EXPONENTS[0] <= rounded.exponent.min(initial=0) and rounded.exponent.max(initial=0) <= EXPONENTS[1]


def test_rounding_at_the_ends():
    values = np.asarray(RoundedVectors.of(np.array([[0.0, 0.0], [5e-324, 0.0], [1e-60, -1e-60], [1e300, -1.0]]), -140))
    assert np.all(values[:3] == 0.0) and np.isfinite(values[3]).all()
    assert np.isfinite(values.astype(np.float32)).all()
    whole = np.array([[32767.0, -32767.0, 1.0]])
    assert np.array_equal(np.asarray(RoundedVectors.of(whole, 0)), whole)
    assert RoundedVectors.of(np.array([[32768.0], [1.0]]), 0).unit is None  # the first is too long
    assert RoundedVectors.of(np.empty((0, 2)), 0).unit is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_trees", [1, 9, 40])
@pytest.mark.parametrize("exponent", [-10, -100])
def test_rounded_models_have_the_scores_of_their_values(dtype, n_trees, exponent):
    rng = np.random.default_rng(n_trees)
    trees = [random_tree(rng, 4, int(rng.integers(2, 20)), 3) for _ in range(n_trees)]
    trees = [t._replace(value=(t.left == np.arange(len(t.left))).astype(float)) for t in trees]
    packed = pack(trees)
    assert packed.value is None  # all are 1 in leaves
    vectors = RoundedVectors.of(rng.normal(size=(packed.vector_offsets[-1], 5)), exponent)
    model = AdditiveModel(packed, vectors, np.rint(rng.normal(size=5) * 2**20) / 2**20, 4)
    twin = replace(model, vectors=np.asarray(vectors))
    X = rng.normal(size=(300, 4)).astype(dtype)
    assert isinstance(model._whole, CodedTrees)
    assert model._whole.vectors.dtype == (np.int16 if exponent == -10 else np.float32)
    np.testing.assert_array_equal(model.scores(X), twin.scores(X))
    np.testing.assert_allclose(model.scores(X[:20]), plain_scores(twin, X[:20]), rtol=0, atol=1e-12)
    for t, (stage, same) in enumerate(zip(model.staged_scores(X), twin.staged_scores(X), strict=True), 1):
        np.testing.assert_array_equal(stage, same)
        np.testing.assert_array_equal(model[:t].scores(X), same)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.scores(X), model.scores(X))


# -- files -------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(600, 6)), 2)
    return X, (np.digitize(X[:, 0] + X[:, 1], [-1.2, -0.6, -0.2, 0.2, 0.6, 1.2]) + 7 * (X[:, 2] > 0)).astype(int)


@pytest.fixture(scope="module")
def fitted(problem):
    return minrisk.MinRiskClassifier(n_estimators=40, random_state=0).fit(*problem)


@pytest.fixture(scope="module")
def written(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.minrisk"
    minrisk.save(fitted, path)
    return path.read_bytes()


def in_memory(model):
    """Bytes of the trees and vectors of a model as it is held."""
    arrays = [getattr(model.packed, field.name) for field in fields(model.packed)]
    return sum(array.nbytes for array in (*arrays, model.vectors.mantissa, model.vectors.exponent) if array is not None)


def in_double_precision(model):
    """Bytes of a model of trees whose numbers are float64, all of them stored."""
    n_nodes, (n_vectors, D) = len(model.packed.left), model.vectors.shape
    return n_nodes * (3 * 8 + 3 * 4) + n_vectors * D * 8


def test_files_and_pickles_are_small(fitted, written, tmp_path):
    whole, kept = in_double_precision(fitted.model_), sum(column.nbytes for column in fitted.left_out_)
    assert len(written) < 0.25 * whole + kept
    assert len(pickle.dumps(fitted)) < 0.5 * whole + kept
    without = copy(fitted)
    without.left_out_ = without._first_rounds = None
    minrisk.save(without, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 0.25 * whole
    assert len(pickle.dumps(without)) < 0.5 * whole


def test_all_that_a_fit_knows_comes_back(fitted, written, problem, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(written)
    loaded = minrisk.load(path)
    packed, vectors = by_levels(fitted.model_.packed, fitted.model_.vectors)
    packed = replace(packed, gain=shortened(packed.gain))
    for field in fields(packed):
        one, other = getattr(packed, field.name), getattr(loaded.model_.packed, field.name)
        assert (one is None) == (other is None)
        if one is not None:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.asarray(vectors), np.asarray(loaded.model_.vectors))
    np.testing.assert_array_equal(fitted.model_.scores(problem[0]), loaded.model_.scores(problem[0]))
    np.testing.assert_array_equal(fitted.predict_proba(problem[0]), loaded.predict_proba(problem[0]))
    np.testing.assert_allclose(fitted.feature_importances_, loaded.feature_importances_, rtol=2 * 2.0**-8)
    minrisk.save(loaded, path)
    assert path.read_bytes() == written


def test_decisions_are_those_of_unrounded_vectors(problem, monkeypatch):
    X, y = problem
    new = X + np.random.default_rng(1).normal(scale=0.1, size=X.shape)
    monkeypatch.setattr("minrisk.ensemble.ensemble.RoundedVectors.of", lambda vectors, exponent: vectors)
    monkeypatch.setattr("minrisk.ensemble.ensemble.RoundedVectors.joined", np.concatenate)
    exact = minrisk.MinRiskClassifier(n_estimators=40, random_state=0).fit(X, y)
    monkeypatch.undo()
    rounded = minrisk.MinRiskClassifier(n_estimators=40, random_state=0).fit(X, y)
    assert isinstance(exact.model_.vectors, np.ndarray) and not isinstance(rounded.model_.vectors, np.ndarray)
    log_odds = [np.log(model.predict_proba(new)) for model in (exact, rounded)]
    first, second = -np.sort(-log_odds[0], axis=1)[:, :2].T
    ahead = first - second > 6 * ROUNDING  # four standard deviations of what rounding does to a difference
    assert ahead.mean() > 0.9
    np.testing.assert_array_equal(exact.predict(new)[ahead], rounded.predict(new)[ahead])
    moved = [p - p[:, :1] for p in log_odds]
    assert 0 < np.std(moved[0] - moved[1]) < 2 * ROUNDING  # a difference of two scores


def large(estimator, times):
    """The estimator with its rounds so many times over: other vectors and gains, the same trees else."""
    model = estimator.model_
    trees, rng = model.learners * times, np.random.default_rng(0)
    trees = [tree._replace(gain=tree.gain * rng.uniform(size=len(tree.gain)).astype(np.float32)) for tree in trees]
    packed = pack(trees)
    vectors = RoundedVectors.of(rng.normal(size=(packed.vector_offsets[-1], len(model.intercept))), -12)
    made = pickle.loads(pickle.dumps(estimator))
    packed, vectors = by_levels(replace(packed, gain=packed.gain.astype(np.float32)), vectors)
    made.model_ = replace(model, packed=packed, vectors=vectors, cascade=None)
    made.n_iter_ = len(made.model_)
    made.train_loss_ = np.zeros(made.n_iter_ + 1)
    return made


@pytest.fixture(scope="module")
def two_classes():
    """A model whose leaves hold two numbers: nodes are most of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] * (X[:, 4] > 0) + 0.7 * rng.normal(size=len(X)) > 0
    return minrisk.MinRiskClassifier(n_estimators=40, random_state=0).fit(X, y)


def peak_of(function, *arguments):
    """What a call returns, and the memory that it takes while it lasts."""
    tracemalloc.start()
    try:
        found = function(*arguments)
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["fitted", "two_classes"])
def test_loading_takes_little_more_than_the_model(request, name, tmp_path):
    path, times = tmp_path / "large", {"fitted": 100, "two_classes": 80}[name]
    minrisk.save(large(request.getfixturevalue(name), times), path)
    minrisk.load(path)
    loaded, peak = peak_of(minrisk.load, path)
    assert path.stat().st_size > 4e6 and loaded.model_.n_trees > 0
    assert peak < 1.25 * in_memory(loaded.model_) + 0.5e6


@pytest.mark.parametrize("name", ["fitted", "two_classes"])
def test_saving_takes_hardly_any_memory(request, name, tmp_path):
    """Beside the model: arrays of its trees as files have them, one at a time, of 8 bytes a node at most."""
    model = large(request.getfixturevalue(name), 40)
    minrisk.save(model, tmp_path / "m")
    peak = peak_of(minrisk.save, model, tmp_path / "m")[1]
    assert peak < 1e6 + 14 * len(model.model_.packed.left)


def test_saving_long_vectors_takes_no_copy_of_them(problem, tmp_path):
    model = minrisk.REBELClassifier(n_estimators=3, weak_learner="stump").fit(*problem)
    trees, rng = model.model_.learners * 20_000, np.random.default_rng(0)
    model.model_ = replace(model.model_, packed=pack(trees), vectors=rng.normal(size=(len(trees), 14)))
    model.n_iter_ = len(trees)
    model.train_loss_ = model.train_risk_ = np.zeros(len(trees) + 1)
    model.edges_ = None
    peak = peak_of(minrisk.save, model, tmp_path / "m")[1]
    assert (tmp_path / "m").stat().st_size > 6e6 and peak < 0.5 * model.model_.vectors.nbytes


def test_a_file_that_cannot_be_sought_in(fitted, written, problem, tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(written))
    writer.start()
    loaded = minrisk.load(tmp_path / "pipe")
    writer.join()
    np.testing.assert_array_equal(loaded.model_.scores(problem[0]), fitted.model_.scores(problem[0]))


# -- files made to harm ------------------------------------------------------------------------------------------------
def parts(written):
    """All arrays of a file, the header among them."""
    with np.load(io.BytesIO(written[START:])) as archive:
        return {name: archive[name] for name in archive.files}


def test_an_archive_that_would_unpack_to_far_more_is_refused(written, tmp_path):
    arrays = parts(written)
    zeros = np.zeros((14 * 10**7, 2), dtype=np.uint8)
    payload = archive({name: as_bytes(zeros if name == "mantissa_bytes" else part) for name, part in arrays.items()})
    assert len(payload) < 1e6
    assert "far more" in refused(envelope(payload), tmp_path, 10e6)


@pytest.mark.parametrize("shape", [(10**6, 10**6), (10**15,), (2**62, 2), (-1, 14), (0, 14), (10**4, 14)])
def test_shapes_are_compared_with_the_archive_before_memory_is_taken(written, tmp_path, shape):
    arrays = parts(written)
    for name in ("mantissa_bytes", "gain_bytes", "table_threshold", "header", "tree_nodes"):
        members = {other: as_bytes(part, shape if other == name else None) for other, part in arrays.items()}
        refused(envelope(archive(members)), tmp_path, 10e6)


def test_members_that_hold_less_or_more_than_they_say_are_refused(written, tmp_path):
    arrays = parts(written)
    for more in (b"", b"x" * 10**6):
        members = {name: as_bytes(part) for name, part in arrays.items()}
        members["leaf_bits"] = (members["leaf_bits"] + more)[: None if more else -1]
        refused(envelope(archive(members)), tmp_path, 10e6)
    payload = bytearray(archive({name: as_bytes(part) for name, part in arrays.items()}))
    with zipfile.ZipFile(io.BytesIO(payload)) as file:
        size = file.getinfo("mantissa_bytes.npy").file_size
    place = payload.rindex(size.to_bytes(4, "little"))  # the directory's word
    payload[place : place + 4] = (size // 2).to_bytes(4, "little")
    refused(envelope(bytes(payload)), tmp_path, 10e6)


def test_other_packing_is_refused(written, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as file:
        for name, part in parts(written).items():
            file.writestr(name + ".npy", as_bytes(part))
    assert "unknown way" in refused(envelope(buffer.getvalue()), tmp_path, 10e6)


def packed(arrays):
    """The archive of these, behind other bytes."""
    file = io.BytesIO(b"before")
    file.seek(0, io.SEEK_END)
    size = io_arrays.write(file, arrays)
    assert len(file.getvalue()) == 6 + size and file.getvalue()[:6] == b"before"
    return file.getvalue()[6:]


@pytest.mark.parametrize(
    "arrays",
    [
        {"a": np.linspace(0, 1, 3 * 10**5)},
        {"b": np.asfortranarray(np.arange(600.0).reshape(20, 30)), "c": np.empty((0, 3))},
        {"d": np.arange(40, dtype=np.int16)[::2], "e": np.array([True, False]), "f": np.zeros(10**6)},
    ],
)
def test_the_archive_is_what_numpy_makes(arrays):
    buffer = io.BytesIO()
    (np.savez if "f" in arrays else np.savez_compressed)(buffer, **arrays)
    assert packed(arrays) == buffer.getvalue()


def test_what_packs_too_well_is_stored():
    arrays = {"a": np.zeros(10**6), "b": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "c": np.empty((0, 3))}
    payload = packed(arrays)
    assert len(payload) > 8 * 10**6 and payload == packed(arrays)
    found = io_arrays.ArchiveArrays(io.BytesIO(payload), len(payload))
    assert set(found) == set(arrays) and len(found) == 3
    for name, array in arrays.items():
        assert found.kind(name) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[name], array)
    assert len(packed({"a": np.arange(10**5)})) < 3 * 10**5


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.update(mantissa_bytes=a["mantissa_bytes"].astype(np.int16)),
        lambda a: a.update(mantissa_bytes=np.repeat(a["mantissa_bytes"], 2, axis=1)),
        lambda a: a.update(mantissa_bytes=a["mantissa_bytes"][:, 0]),
        lambda a: a.update(gain_bytes=a["gain_bytes"][:, :1]),
        lambda a: a.update(leaf_slope=np.zeros(len(a["exponent"])), leaf_origin=np.zeros(len(a["exponent"]))),
        lambda a: a.update(leaf_value=np.ones(3)),
        lambda a: a.update(leaf_vector_bytes=np.zeros((len(a["exponent"]), 1), dtype=np.uint8)),
    ],
)
def test_parts_that_do_not_fit_are_refused(written, tmp_path, change):
    arrays = parts(written)
    change(arrays)
    refused(envelope(archive({name: as_bytes(part) for name, part in arrays.items()})), tmp_path, 10e6)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.integers(0, 10**9), st.integers(0, 5))
def test_forged_numbers_never_crash(written, problem, tmp_path, which, place, choice):
    """One entry of one array changed: refused, or a model that predicts without a crash."""
    arrays = {name: np.array(part, order="C") for name, part in parts(written).items()}
    names = sorted(set(arrays) - {"header"})
    flat = arrays[names[which % len(names)]].reshape(-1)
    if not flat.size:
        return
    place %= flat.size
    if flat.dtype.kind in "iu":
        now, limits = int(flat[place]), np.iinfo(flat.dtype)
        flat[place] = np.clip((now - 2, now - 1, now + 1, now + 2, limits.min, limits.max), limits.min, limits.max)[
            choice
        ]
    else:
        with np.errstate(over="ignore"):
            flat[place] = np.array((0.0, -1.0, 1e300, np.nan, np.inf, -np.inf)).astype(flat.dtype)[choice]
    path = tmp_path / "forged"
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path.write_bytes(envelope(buffer.getvalue()))
    try:
        model = minrisk.load(path)
    except ModelFileError:
        return
    with np.errstate(all="ignore"):
        model.predict(problem[0][:50])
        assert sum(1 for _ in model.model_.staged_scores(problem[0][:9])) == len(model.model_)
