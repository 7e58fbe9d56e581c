"""Model files: the same bits back, or a ModelFileError; never a crash, a hang or a wrong answer."""

import os
import stat

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

import minrisk
from minrisk.io.model_file import MAGIC, ModelFileError
from tests.helpers.common import slow_after, slow_but
from tests.helpers.forging import START, changed, envelope


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    cost = minrisk.costs.with_reject(minrisk.costs.ordinal(list(names)), 0.4)
    return minrisk.REBELClassifier(cost, n_estimators=12, max_depth=3, early_stopping=True, random_state=0).fit(
        X, names[y]
    )


@pytest.fixture(scope="module")
def written(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.minrisk"
    minrisk.save(fitted, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def two_sided(iris, tmp_path_factory):
    """A file of stumps with two vectors each."""
    path = tmp_path_factory.mktemp("models") / "model.minrisk"
    model = minrisk.REBELClassifier(n_estimators=6, weak_learner="stump", fit_intercept="each round").fit(*iris)
    minrisk.save(model, path)
    assert same(minrisk.load(path), model, iris[0])
    return path.read_bytes()


def same(a, b, X):
    return np.array_equal(a.decision_function(X), b.decision_function(X)) and np.array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("kind", ["int", "float", "str", "object", "bool", "mixed"])
@pytest.mark.parametrize("D", [2, 3])
def test_round_trip(iris, tmp_path, kind, D):
    X, y = iris[0][:100], iris[1][:100]
    labels = {
        "int": np.array([3, 5]),
        "float": np.array([1.0, 2.0]),
        "str": np.array(["a", "b"]),
        "bool": np.array([False, True]),
        "object": np.array(["a", "b"], dtype=object),
        "mixed": np.array([3, 5]),
    }[kind]
    cost = None if D == 2 else np.array([[0, 1, 0.3], [4, 0, 0.3]])
    model = minrisk.REBELClassifier(cost, n_estimators=5, weak_learner="stump").fit(X, labels[y])
    minrisk.save(model, tmp_path / "m")
    loaded = minrisk.load(tmp_path / "m")
    assert same(model, loaded, X)
    assert loaded.classes_.dtype == model.classes_.dtype and loaded.decisions_.dtype == model.decisions_.dtype
    assert loaded.cost_ == model.cost_
    assert loaded.get_params()["n_estimators"] == 5 and loaded.n_iter_ == model.n_iter_
    np.testing.assert_array_equal(loaded.train_loss_, model.train_loss_)
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    if cost is None:
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    minrisk.save(loaded, tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()


@pytest.mark.parametrize("seed", slow_after(5, range(80)))
@pytest.mark.parametrize("kind", minrisk.ALGORITHMS)
def test_whatever_is_fitted_can_be_read_again(kind, seed, tmp_path):
    """Small problems of all kinds: their trees are of many shapes."""
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.choice([8, 30, 100])), int(rng.choice([1, 3, 10])), int(rng.integers(2, 6))
    X, y = rng.normal(size=(n, d)), np.r_[np.arange(K), rng.integers(0, K, n - K)]
    X[:, 0] += y
    X = np.where(rng.random((n, d)) < rng.choice([0.0, 0.3]), np.nan, np.round(X, int(rng.choice([0, 3]))))
    table = rng.lognormal(size=(K, K)) * (1 - np.eye(K))
    options = {
        "n_estimators": int(rng.integers(1, 20)),
        "subsample": float(rng.choice([1.0, 0.6])),
        "random_state": seed,
    }
    options["cost"] = table if seed % 3 == 1 else None
    known = kind().get_params()
    model = kind(**{key: value for key, value in options.items() if key in known})
    model.fit(X, y, cost=table[y] if seed % 3 == 2 and kind is not minrisk.BAdaCostClassifier else None)
    minrisk.save(model, tmp_path / "m")
    assert same(model, minrisk.load(tmp_path / "m"), X)


def test_feature_names_come_back(iris, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = minrisk.REBELClassifier(n_estimators=3).fit(X, y)
    minrisk.save(model, tmp_path / "m")
    loaded = minrisk.load(tmp_path / "m")
    assert list(loaded.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X.rename(columns={X.columns[0]: "other"}))


def test_per_row_costs_and_training_on(iris, tmp_path):
    X, y = iris
    rows = (1.0 - np.eye(3))[y] * np.linspace(1, 2, 150)[:, None]
    model = minrisk.REBELClassifier(n_estimators=4, warm_start=True, subsample=0.8, random_state=1).fit(X, y, cost=rows)
    minrisk.save(model, tmp_path / "m")
    loaded = minrisk.load(tmp_path / "m").set_params(warm_start=True, n_estimators=9)
    model.set_params(n_estimators=9).fit(X, y, cost=rows)
    loaded.fit(X, y, cost=rows)
    assert same(model, loaded, X)


def test_threads_do_not_change_a_byte(iris, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 60)), rng.integers(0, 4, 3000)  # enough work for both threads
    for n_jobs in (1, 2):
        minrisk.save(minrisk.REBELClassifier(n_estimators=4, n_jobs=n_jobs).fit(X, y), tmp_path / str(n_jobs))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_two_thousand_mutations(written, fitted, iris, tmp_path):
    """Any byte changed, any length: the same model or a clear error."""
    rng = np.random.default_rng(0)
    path = tmp_path / "mutant"
    n = len(written)
    header = len(MAGIC) + 44
    places = [*range(header + 60), *rng.integers(0, n, 1500), *range(n - 40, n)]
    mutants = [written[:p] + bytes([written[p] ^ int(rng.integers(1, 256))]) + written[p + 1 :] for p in places]
    lengths = [*range(header + 20), *rng.integers(0, n, 400), *range(n - 20, n)]
    mutants += [written[:length] for length in lengths]
    mutants += [written + b"x", written + written, b"", b"minrisk\n", bytes(200)]
    assert len(mutants) >= 2000
    for mutant in mutants:
        path.write_bytes(mutant)
        with pytest.raises(ModelFileError):
            minrisk.load(path)
    path.write_bytes(written)
    assert same(minrisk.load(path), fitted, iris[0])


def put(name, value, at=0):
    def change(arrays, header):
        arrays[name][at] = value

    return change


def add(name, *more, at=0):
    """Numbers from a place on, with others added to them."""

    def change(arrays, header):
        flat = arrays[name].reshape(-1)
        flat[at : at + len(more)] += np.array(more, dtype=flat.dtype)

    return change


def wide(name, width):
    """Planes of so many bytes, the further ones of zeros."""

    def change(arrays, header):
        n, present = arrays[name].shape
        planes = np.zeros((n, width), dtype=np.uint8)
        planes[:, : min(present, width)] = arrays[name][:, :width]
        arrays[name] = planes

    return change


def cut(name):
    """An array without its last row."""

    def change(arrays, header):
        arrays[name] = arrays[name][:-1]

    return change


def flip(*places):
    """Nodes that are leaves split, and the other way round."""

    def change(arrays, header):
        bits = np.unpackbits(arrays["leaf_bits"], bitorder="little")
        bits[list(places)] ^= 1
        arrays["leaf_bits"] = np.packbits(bits, bitorder="little")

    return change


def put_header(name, value):
    def change(arrays, header):
        header[name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda a, h: h.pop("classes"),
        put_header("n_features", 2),
        put_header("algorithm", "os.system"),
        put_header("link", "eval"),
        put_header("feature_labels", [{"time": "noon"}] * 4),
        put_header("feature_labels", [{"tuple": 3}] * 4),
        put_header("feature_labels", [[1]] * 4),
        put_header("feature_labels", [{}] * 4),
        put_header("feature_labels", [1.5, 2.5]),
        put_header("feature_labels", [1.5, "a", "b", "c"]),
        put_header("feature_names", ["a"]),
        put_header("parameters", {"n_estimators": -1}),
        put_header("parameters", {"unknown": 1}),
        put_header("classes", {"dtype": "O8", "values": [[1], [2], [3]]}),
        put_header("classes", {"dtype": "<i8", "values": [1, 1, 2]}),
        put_header("facts", {"log_scale": "x"}),
        put_header("facts", {}),
        put_header("temperature", 0.0),
        put_header("temperature", "warm"),
        lambda a, h: h.pop("trees_per_round"),
        put_header("trees_per_round", 0),
        put_header("trees_per_round", -1),
        put_header("trees_per_round", 10**6),
        put_header("trees_per_round", 1.0),
        put_header("trees_per_round", True),
        put_header("trees_per_round", "1"),
        # nodes
        add("tree_nodes", 2),
        add("tree_nodes", 2, -2),
        add("tree_nodes", 1, -1),
        add("tree_nodes", -1, 1),
        put("leaf_bits", 0),
        put("leaf_bits", 255),
        put("leaf_bits", 0, slice(None)),
        put("leaf_bits", 255, slice(None)),
        flip(0),
        flip(1),
        flip(0, 1),
        flip(0, 1, 2),
        # vectors of leaves
        put("leaf_vector_bytes", 1),
        wide("leaf_vector_bytes", 3),
        wide("leaf_vector_bytes", 8),
        # splits
        put("feature_bytes", 4),
        wide("feature_bytes", 3),
        wide("feature_bytes", 0),
        wide("feature_bytes", 8),
        wide("place_bytes", 8),
        wide("gain_bytes", 4),
        wide("gain_bytes", 1),
        put("table_feature", 4),
        add("table_count", 1),
        add("table_count", -1, 1),
    ],
)
def test_forged_files_are_refused_before_a_kernel_sees_them(written, tmp_path, change):
    """What `tests/io/test_forged_files.py` does to every array is not done here again."""
    path = tmp_path / "forged"
    path.write_bytes(changed(written, change))
    with pytest.raises(ModelFileError):
        minrisk.load(path)


def named_by_leaves(*vectors):
    """Vectors that the leaves of each stump name."""

    def change(arrays, header):
        arrays["leaf_vector_bytes"] = np.tile(np.array(vectors, dtype=np.uint8), len(arrays["tree_nodes"]))[:, None]

    return change


@pytest.mark.parametrize(
    "change",
    [
        named_by_leaves(0, 0),
        named_by_leaves(0, 2),
        named_by_leaves(0, 255),
        named_by_leaves(0),
        named_by_leaves(0, 1, 0),
        cut("vectors"),
        lambda a, h: a.update(vectors=np.repeat(a["vectors"], 2, 0)),
        put_header("trees_per_round", 4),
        put_header("trees_per_round", 5),
        put_header("trees_per_round", 7),
    ],
)
def test_forged_vectors_of_leaves_are_refused(two_sided, tmp_path, change):
    path = tmp_path / "forged"
    path.write_bytes(changed(two_sided, change))
    with pytest.raises(ModelFileError):
        minrisk.load(path)


@pytest.mark.parametrize("vectors", [(1, 1), (1, 0)])
def test_vectors_that_no_leaf_names_or_in_another_order_are_refused(two_sided, vectors, tmp_path):
    """So that a loaded model has nothing that no row could reach, and is written as it was read."""
    (tmp_path / "odd").write_bytes(changed(two_sided, named_by_leaves(*vectors)))
    with pytest.raises(ModelFileError, match="in the order in which they first name them"):
        minrisk.load(tmp_path / "odd")
    (tmp_path / "in order").write_bytes(changed(two_sided, named_by_leaves(0, 1)))
    minrisk.save(minrisk.load(tmp_path / "in order"), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == two_sided


def test_splits_stay_behind(iris, tmp_path):
    """`cv` is kept where it is a number."""
    path, (X, y) = tmp_path / "model", iris
    for cv, kept in (
        (3, 3),
        (None, None),
        (list(KFold(2, shuffle=True).split(X)), None),
        (KFold(3, shuffle=True), None),
    ):
        model = minrisk.MinRiskClassifier(n_estimators=5, cv=cv, random_state=0).fit(X, y)
        minrisk.save(model, path)
        again = minrisk.load(path)
        assert again.cv == kept and same(again, model, X)


def test_rounds_of_several_trees(two_sided, iris, tmp_path):
    """Two trees a round where the training curves have a value per round."""

    def in_pairs(arrays, header):
        header["trees_per_round"] = 2
        for name in ("train_loss", "train_risk", "edges"):
            arrays[name] = arrays[name][::2]

    path = tmp_path / "pairs"
    path.write_bytes(changed(two_sided, in_pairs))
    model = minrisk.load(path)
    assert model.n_iter_ == len(model.model_) == 3 and model.model_.n_trees == 6
    stages = list(model.staged_decision_function(iris[0]))
    assert len(stages) == 3 and np.array_equal(stages[-1], model.decision_function(iris[0]))
    minrisk.save(model, path)
    assert same(minrisk.load(path), model, iris[0]) and len(minrisk.load(path).model_) == 3


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9), st.integers(0, 255), st.booleans())
def test_forged_payload_bytes_never_crash(written, two_sided, iris, tmp_path, place, byte, sides):
    """Payload bytes changed under a checksum made anew: refused, or a model that predicts without a crash."""
    payload = bytearray((two_sided if sides else written)[START:])
    payload[place % len(payload)] = byte
    path = tmp_path / "forged"
    path.write_bytes(envelope(bytes(payload)))
    try:
        model = minrisk.load(path)
    except ModelFileError:
        return
    model.predict(iris[0])
    assert len(list(model.staged_predict(iris[0]))) == len(model.model_)


def test_a_newer_format_says_so(written, tmp_path):
    (tmp_path / "new").write_bytes(envelope(written[START:], version=7))
    with pytest.raises(ModelFileError, match="format 7.*reads format 6: upgrade"):
        minrisk.load(tmp_path / "new")


@pytest.mark.parametrize("version", range(6))
def test_an_older_format_says_so(written, version, tmp_path):
    (tmp_path / "old").write_bytes(envelope(written[START:], version=version))
    with pytest.raises(ModelFileError, match=f"has format {version}, .* reads format 6: train again"):
        minrisk.load(tmp_path / "old")


def test_other_files_and_other_objects(tmp_path, iris):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ModelFileError, match="not a minrisk model file"):
        minrisk.load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        minrisk.load(tmp_path / "absent")
    with pytest.raises(NotFittedError):
        minrisk.save(minrisk.REBELClassifier(), tmp_path / "m")
    with pytest.raises(TypeError, match="Only minrisk estimators can be saved, got dict"):
        minrisk.save({}, tmp_path / "m")
    assert sorted(os.listdir(tmp_path)) == ["text"]


def test_a_failed_write_leaves_the_earlier_file(fitted, tmp_path, monkeypatch):
    path = tmp_path / "m"
    minrisk.save(fitted, path)
    before = path.read_bytes()

    def full(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        minrisk.save(fitted, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m"]


def test_files_are_as_readable_as_any_other(fitted, tmp_path):
    minrisk.save(fitted, tmp_path / "m")
    (tmp_path / "plain").write_text("")
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


# -- models whose headers are large beside their arrays ---------------------------------------------------------------
RNG = np.random.default_rng(0)
LARGE_HEADERS = {
    "words": lambda: pd.DataFrame({f"c{j}": pd.Categorical(RNG.choice(list("uvw"), 30)) for j in range(2500)}),
    "names": lambda: pd.DataFrame(RNG.normal(size=(30, 20_000)), columns=[f"größe_{j}" for j in range(20_000)]),
    "cell": lambda: pd.DataFrame({"a": pd.Categorical(RNG.choice(["é" * 20_000, "b"], 30)), "b": RNG.normal(size=30)}),
    "name": lambda: pd.DataFrame({"𝄞" * 20_000: RNG.normal(size=30)}),
}


@pytest.mark.parametrize("name", slow_but(("words", "name"), LARGE_HEADERS))
def test_whatever_a_fit_makes_is_saved_and_loaded(name, tmp_path):
    """A header that asks for more memory than the file's size allows is written as it is, in a larger file."""
    X = LARGE_HEADERS[name]()
    model = minrisk.REBELClassifier(n_estimators=2).fit(X, np.arange(30) % 2)
    minrisk.save(model, tmp_path / "m")
    again = minrisk.load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    minrisk.save(again, tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    assert (tmp_path / "m").stat().st_size < 1e6


def test_subclasses_are_told_what_to_do(iris, tmp_path):
    class Own(minrisk.REBELClassifier):
        pass

    with pytest.raises(TypeError, match=r"got Own, a subclass of REBELClassifier, .*: fit a REBELClassifier, or .*\.$"):
        minrisk.save(Own(n_estimators=2).fit(*iris), tmp_path / "m")
    assert not os.listdir(tmp_path)


def test_a_model_whose_scores_could_not_be_loaded_is_not_saved(iris, tmp_path):
    model = minrisk.MCBoostClassifier(learning_rate=1e300, n_estimators=3).fit(*iris)
    with pytest.raises(ValueError, match="cannot be saved, .*: its scores could be beyond what a number holds"):
        minrisk.save(model, tmp_path / "m")
    assert not os.listdir(tmp_path)


def test_more_columns_than_a_file_keeps_are_refused_by_fit():
    X = np.broadcast_to(np.arange(4, dtype=np.float32)[:, None], (4, (1 << 22) + 1))
    with pytest.raises(ValueError, match=r"^X must have at most 4194304 columns, got 4194305, .*: leave some out\.$"):
        minrisk.REBELClassifier(n_estimators=1).fit(X, [0, 1, 0, 1])
