"""Trees in the order of files, their arrays, and their way back: the same walks, whatever the trees."""

import itertools
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import minrisk
from minrisk.io import arrays as io_arrays
from minrisk.io.arrays import REALS, SIGNED, WHOLE
from minrisk.io.packed_trees import read_trees, stored
from minrisk.model.additive import AdditiveModel, pack
from minrisk.model.rounded_vectors import LARGEST, RoundedVectors, shortened
from minrisk.model.trees import PackedTrees, Tree, by_levels, chunks, is_by_levels
from tests.helpers.common import as_array, assert_same, check_packed, in_a_file, numbers_of, stored_arrays
from tests.helpers.walks import plain_scores, random_tree

KINDS = {  # features, leaves, vectors (None: one for each leaf), answers of leaves, different thresholds (None: any)
    "leaves": (4, 1, None, 1.0, None),
    "stumps": (4, 2, None, 1.0, 3),
    "stumps of one vector": (4, 2, 1, (-1.0, 1.0), 3),
    "trees": (6, 12, None, 1.0, 9),
    "trees of few vectors": (6, 12, 3, (-1.0, 1.0), None),
    "real answers": (3, 7, None, None, None),
    "many thresholds": (1, 40, None, 1.0, None),
    "many features": (70_000, 9, None, 1.0, None),
    "large": (3, 700, None, 1.0, 50),
}


def drawn(rng, kind, n_trees=9):
    """Random trees of a kind, of up to so many leaves."""
    d, most, n_vectors, answers, n_thresholds = KINDS[kind]
    trees = []
    for _ in range(n_trees):
        n = int(rng.integers(1, most + 1))
        tree = random_tree(rng, d, n, n if n_vectors is None else min(n, n_vectors))
        leaf = tree.left == np.arange(len(tree.left))
        if answers is not None:
            tree = tree._replace(value=rng.choice(np.atleast_1d(answers), len(leaf)) * leaf)
        if n_thresholds is not None:
            few = np.round(np.linspace(-1, 1, n_thresholds), 2)
            tree = tree._replace(threshold=np.where(leaf, np.inf, rng.choice(few, len(leaf))))
        trees.append(tree._replace(gain=np.where(leaf, 0.0, rng.random(len(leaf)))))
    return trees


def with_lines(rng, trees):
    """The trees with slopes in some leaves, and features and gains at all nodes."""
    made = []
    for tree in trees:
        leaf = tree.left == np.arange(len(tree.left))
        slope = rng.normal(size=len(leaf)) * (leaf & (rng.random(len(leaf)) < 0.7))
        feature = np.where(leaf, rng.integers(0, 4, len(leaf)), tree.feature).astype(np.int32)
        origin = rng.normal(size=len(leaf)) * leaf
        made.append(tree._replace(slope=slope, origin=origin, feature=feature, gain=rng.random(len(leaf))))
    return made


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_trees_come_back(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    packed = pack(drawn(rng, kind))
    n_vectors = int(packed.vector_offsets[-1])
    model = AdditiveModel(packed, rng.normal(size=(n_vectors, 3)), np.zeros(3), KINDS[kind][0])
    check_packed(packed, model.n_features)
    ordered, vectors = by_levels(packed, model.vectors)
    again = in_a_file(ordered, model.n_features)
    loaded = replace(model, packed=again, vectors=vectors)
    X = rng.normal(size=(60 if model.n_features < 99 else 2, model.n_features))
    for some in (np.round(X, 1), X):
        np.testing.assert_array_equal(loaded.scores(some), model.scores(some))
        np.testing.assert_allclose(loaded.scores(some[:9]), plain_scores(model, some[:9]), atol=1e-12)
    for t in (1, 5):
        np.testing.assert_array_equal(loaded[:t].scores(X), model[:t].scores(X))
    assert is_by_levels(again) and by_levels(again, vectors)[0] is again
    np.testing.assert_allclose(again.importances(9), packed.importances(9), rtol=1e-12)
    check_packed(again[2:7], model.n_features)


@pytest.mark.parametrize("seed", range(6))
def test_lines_come_back(seed):
    rng = np.random.default_rng(seed)
    packed = pack(with_lines(rng, drawn(rng, "real answers")))
    model = AdditiveModel(packed, rng.normal(size=(int(packed.vector_offsets[-1]), 2)), np.zeros(2), 4)
    check_packed(packed, 4)
    ordered, vectors = by_levels(packed, model.vectors)
    X = rng.normal(size=(60, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    loaded = replace(model, packed=in_a_file(ordered, 4), vectors=vectors)
    np.testing.assert_array_equal(loaded.scores(X), model.scores(X))


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_is_that_of_levels(kind):
    """Against a queue, tree by tree."""
    rng = np.random.default_rng(3)
    packed = pack(drawn(rng, kind))
    vectors = np.arange(packed.vector_offsets[-1])
    ordered, of_leaves = by_levels(packed, vectors)
    named = list[int]()
    for t in range(len(packed)):
        tree, first = packed.tree(t), packed.vector_offsets[t]
        queue, place = [0], 0
        while place < len(queue):
            node, place = queue[place], place + 1
            queue += [tree.left[node], tree.left[node] + 1] if tree.left[node] != node else []
        mine = ordered.tree(t)
        inner = np.flatnonzero(mine.left != np.arange(len(mine.left)))
        assert mine.left[inner].tolist() == list(range(1, 2 * len(inner), 2))
        for name in ("feature", "threshold", "gain", "value"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(tree, name)[queue])
        leaves = [node for node in queue if tree.left[node] == node]
        named += [*dict.fromkeys(int(first + tree.vector[node]) for node in leaves)]
        assert mine.depth == tree.depth
    assert of_leaves.tolist() == named


def test_nodes_and_vectors_out_of_reach_are_left_out():
    """Two leaves that no split leads to, and the vectors that only they name."""
    left = np.array([0, 1, 2], dtype=np.int32)
    lone = Tree(np.zeros(3, dtype=np.int32), left, np.full(3, np.inf), left, np.ones(3), left, np.zeros(3), 0)
    stump = random_tree(np.random.default_rng(0), 2, 2, 2)._replace(value=np.array([0.0, 1.0, 1.0]))
    packed, vectors = by_levels(pack([lone, stump, lone]), np.arange(8.0)[:, None])
    assert np.diff(packed.offsets).tolist() == [1, 3, 1] and packed.vector_offsets.tolist() == [0, 1, 3, 4]
    assert sorted(vectors.ravel()) == [0.0, 3.0, 4.0, 5.0]


def test_orders_that_are_not_by_levels_are_seen():
    rng = np.random.default_rng(0)
    packed, vectors = by_levels(pack(drawn(rng, "trees", 40)), np.zeros((10_000, 1)))
    owner = np.repeat(np.arange(len(packed)), np.diff(packed.offsets))
    splits = np.flatnonzero(~packed.is_leaf)
    pairs = [(a, b) for a, b in itertools.pairwise(splits) if owner[a] == owner[b]]
    for a, b in pairs:
        left = packed.left.copy()
        left[[a, b]] = left[[b, a]]
        assert not is_by_levels(replace(packed, left=left))
    leaves = np.flatnonzero(packed.is_leaf)
    for a, b in [(a, b) for a, b in itertools.pairwise(leaves) if owner[a] == owner[b]]:
        vector = packed.vector.copy()
        vector[[a, b]] = vector[[b, a]]
        assert not is_by_levels(replace(packed, vector=vector))
    assert is_by_levels(pack([])) and len(by_levels(pack([]), vectors)[0]) == 0


def test_many_trees_are_looked_at_some_at_a_time():
    rng = np.random.default_rng(0)
    packed = pack(drawn(rng, "trees", 3000) + drawn(rng, "large", 40))
    bounds = list(chunks(packed.offsets))
    assert len(bounds) > 2 and bounds[0][0] == 0 and bounds[-1][1] == len(packed)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(bounds))
    check_packed(packed, 6)


def test_one_large_tree():
    """Of more nodes than 16 bits count."""
    rng = np.random.default_rng(0)
    n = 40_000
    left = np.where(np.arange(2 * n - 1) < n - 1, 2 * np.arange(2 * n - 1) + 1, np.arange(2 * n - 1)).astype(np.int32)
    leaf = left == np.arange(len(left))
    vector = np.zeros(len(left), dtype=np.int32)
    vector[leaf] = np.arange(n)
    threshold = np.where(leaf, np.inf, rng.normal(size=len(left)))
    tree = Tree(np.zeros(len(left), dtype=np.int32), left, threshold, left, leaf * 1.0, vector, leaf * 0.0, 16)
    packed = pack([tree, tree])
    assert is_by_levels(packed) and packed.left.dtype == np.int32
    assert as_array(io_arrays.made(stored(packed)["place_bytes"])).shape == (2 * (n - 1), 2)
    check_packed(packed, 1)
    assert in_a_file(packed, 1).depth.tolist() == [16, 16]


def chain(n_levels):
    """A tree that splits the left child of every split."""
    left = np.arange(2 * n_levels + 1)
    left[0], left[1 : 2 * n_levels - 1 : 2] = 1, np.arange(3, 2 * n_levels + 1, 2)
    leaf = left == np.arange(len(left))
    vector = np.where(leaf, np.cumsum(leaf) - 1, 0).astype(np.int32)
    return Tree(
        np.zeros(len(left), dtype=np.int32),
        left,
        np.where(leaf, np.inf, 0.0),
        left.astype(np.int32),
        leaf * 1.0,
        vector,
        leaf * 0.0,
        n_levels,
    )


def test_levels_have_an_end():
    packed = pack([chain(64), chain(3)])
    check_packed(packed, 1)
    arrays = stored_arrays(by_levels(pack([chain(65)]), np.zeros((66, 1)))[0])
    with pytest.raises(ValueError, match="more than 64 levels"):
        read_trees(lambda name: numbers_of(name, arrays[name]) if name in arrays else None, 66, lambda _: None)


def test_zeros_of_both_signs_are_one_threshold():
    tree = random_tree(np.random.default_rng(0), 1, 4, 4)
    leaf = tree.left == np.arange(len(tree.left))
    tree = tree._replace(threshold=np.where(leaf, np.inf, np.resize([0.0, -0.0], len(leaf))))
    packed, _ = by_levels(pack([tree, tree]), np.zeros((8, 1)))
    arrays = stored_arrays(packed)
    assert arrays["table_threshold"].tolist() == [0.0] and not np.signbit(arrays["table_threshold"]).any()
    assert_same(in_a_file(packed, 1), packed)


# -- planes of bytes ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("coding", "numbers", "width"),
    [
        (WHOLE, np.arange(256), 1),
        (WHOLE, np.arange(257), 2),
        (WHOLE, np.array([0, 65_536], dtype=np.int32), 4),
        (WHOLE, np.arange(70_000) % 65_536, 2),
        (WHOLE, np.empty(0, dtype=np.uint16), 1),
        (SIGNED, np.arange(-128, 128, dtype=np.int16), 1),
        (SIGNED, np.arange(-129, 128, dtype=np.int16), 2),
        (SIGNED, np.arange(-128, 129, dtype=np.int16), 2),
        (SIGNED, np.arange(-(1 << 15), 1 << 15).astype(np.int16), 2),
        (SIGNED, np.empty(0, dtype=np.int16), 1),
        (REALS, np.random.default_rng(0).normal(size=70_000), 8),
        (REALS, np.array([0.0, -0.0, np.inf, 5e-324]), 8),
        (REALS, np.array([0.0, 1.0, 0.5, 3e38], dtype=np.float32), 2),
    ],
)
def test_planes_hold_numbers(coding, numbers, width, tmp_path):
    """In an archive, which NumPy reads as well."""
    planes = coding.planes(numbers)
    assert planes.width == width and width in coding.widths
    with open(tmp_path / "a.npz", "w+b") as file:
        size = io_arrays.write(file, {"a": planes})
        read = io_arrays.ArchiveArrays(file, size)["a"]
        np.testing.assert_array_equal(np.load(tmp_path / "a.npz")["a"], read)
        np.testing.assert_array_equal(as_array(planes), read)
    if len(numbers) > 1000:
        with zipfile.ZipFile(tmp_path / "a.npz") as archive:
            stored_as = archive.read("a.npy")[-len(numbers) * width :]
        assert stored_as[: len(numbers)] == read[:, 0].tobytes() and stored_as[-len(numbers) :] == read[:, -1].tobytes()
    found = coding.numbers(read)
    wanted = shortened(numbers) if coding is REALS and width == 2 else numbers
    np.testing.assert_array_equal(found, wanted)


def test_short_floats_are_the_nearest_of_eight_digits():
    rng = np.random.default_rng(0)
    numbers = np.exp(rng.normal(scale=20, size=20_000)) * rng.choice([-1, 1], 20_000)
    short = shortened(numbers)
    mantissa, exponent = np.frexp(np.clip(numbers, -LARGEST, LARGEST).astype(np.float32).astype(np.float64))
    np.testing.assert_array_equal(short, np.ldexp(np.rint(mantissa * 256) / 256, exponent))
    assert np.all(np.abs(short - numbers) <= np.abs(numbers) / 256)
    np.testing.assert_array_equal(shortened(short), short)
    assert shortened(np.array([3.4e38, -1e300])).tolist() == [LARGEST, -LARGEST] and np.isfinite(LARGEST)


# -- sizes -------------------------------------------------------------------------------------------------------------
def test_files_have_few_bytes_for_a_leaf(tmp_path):
    """Eight bytes, beside the entries of vectors, which have less than one each where all are multiples of one number."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(900, 8)), 2)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-1.0, -0.3, 0.3, 1.0])
    model = minrisk.MinRiskClassifier(n_estimators=60, pool=False, keep_left_out=False, random_state=0).fit(X, y)
    vectors = np.asarray(model.model_.vectors)
    step = -9
    rounded = RoundedVectors(
        np.rint(vectors * 2.0**-step).astype(np.int16), np.full(len(vectors), step, dtype=np.int16)
    )
    model.model_ = replace(model.model_, vectors=rounded)
    minrisk.save(model, tmp_path / "m")
    n_leaves, n_classes = vectors.shape
    assert n_leaves > 2000
    assert (tmp_path / "m").stat().st_size < 4000 + n_leaves * (8 + 0.95 * n_classes)
    assert isinstance(minrisk.load(tmp_path / "m").model_.packed, PackedTrees)
