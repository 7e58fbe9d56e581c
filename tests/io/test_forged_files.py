"""Model files made to harm: refused in one clear sentence, or models that answer; never a crash, a hang or much memory."""

import copy
import itertools
import json
import math
import os
import re
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minrisk
from minrisk.inspection import RiskCurveDisplay
from minrisk.io.arrays import REALS, WHOLE
from minrisk.io.header import MOST_FEATURES, MOST_LETTERS, depth
from minrisk.io.model_file import ModelFileError
from minrisk.io.schema import COURSE, GROUPS, MOST_LINEAR, Numbers
from minrisk.model.additive import pack
from tests.helpers import forging
from tests.helpers.common import slow_after
from tests.helpers.forged_outcomes import TRIAL, attack, check_answers, check_shown, rows_for
from tests.helpers.forging import archive, as_bytes, changed, envelope, put_together, taken_apart

CASES = int(os.environ.get("MINRISK_ATTACK_CASES", "800"))
PROCESSES = min(4, os.cpu_count() or 1)


@pytest.fixture(scope="module")
def files():
    return forging.seeds()


@pytest.fixture(scope="module")
def parts(files):
    """Header and arrays of each."""
    return {name: taken_apart(raw) for name, raw in files.items()}


def refused(raw, folder, most=8e6):
    """What is said of a file, which is refused before it takes so much memory."""
    path = folder / "forged"
    path.write_bytes(raw)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            minrisk.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    text = str(caught.value)
    assert peak < most, f"{peak / 1e6:.0f} MB for a file of {len(raw)} bytes"
    assert text.startswith(f"{path} is not a valid minrisk model: "), text
    assert "\n" not in text and text.endswith(".") and len(text) < 600 and "parts do not fit together" not in text
    return text


def loaded(raw, folder):
    (folder / "forged").write_bytes(raw)
    return minrisk.load(folder / "forged")


# -- many --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("first", "last"), slow_after(1, [(0, CASES // 20), (CASES // 20, CASES)]))
def test_forged_files_give_answers_or_one_clear_error(first, last):
    """As many as the environment variable MINRISK_ATTACK_CASES says, 800 else."""
    counts, failed = attack(last - first, first, processes=min(PROCESSES, 1 + (last - first) // 100))
    assert not failed, failed
    assert counts["refused"] > (last - first) / 2 and counts["answers"] > (last - first) / 20


@pytest.mark.slow
def test_a_crash_a_hang_and_too_much_memory_are_noticed(monkeypatch):
    """What the attack would say of a loader that does harm: it goes on behind such a case."""
    monkeypatch.setenv(TRIAL, "yes")
    counts, failed = attack(6, kinds=("rebel",))
    assert {number: found.partition(":")[0] for number, found in failed.items()} == {1: "crash", 3: "hang", 4: "memory"}
    assert counts.total() == 6


@pytest.mark.parametrize("name", ["rebel", "softmax", "birds", "lines", "similarities", "cost_rows", "gll"])
def test_the_seeds_answer(files, name, tmp_path):
    model = loaded(files[name], tmp_path)
    check_answers(model, rows_for(np.random.default_rng(0), model, 30), tmp_path)
    check_shown(tmp_path / "forged", tmp_path)


# -- every array, every field ------------------------------------------------------------------------------------------
def set_entry(array, at, value):
    array = np.array(array, order="C")
    with np.errstate(over="ignore"):  # of float32
        array.reshape(-1)[at] = value
    return array


@pytest.mark.parametrize("most", slow_after(1, [1, 100]))
@pytest.mark.parametrize("name", sorted(forging.SHAPES))
def test_numbers_out_of_their_range_are_refused(parts, name, most, tmp_path):
    """In so many of the files that have the array, at its first entry and its last."""
    tried, holders = 0, [part for part in parts.values() if name in part[1] and part[1][name].size]
    for header, arrays in holders[:most]:
        array = arrays[name]
        kinds = [group[name] for group in forging.ALL_GROUPS if name in group and group.keys() <= arrays.keys()]
        part = next(kind for kind in kinds if len(kind.shape) == array.ndim)
        if part.coding is not None:
            for wrong in wrong_bytes(part.coding, array.shape[1]):
                for at in (0, -1):
                    forged = array.copy()
                    forged[at] = wrong
                    refused(put_together(header, {**arrays, name: forged}), tmp_path)
                    tried += 1
            continue
        for wrong in wrong_numbers(part, array.dtype):
            for at in (0, -1):
                refused(put_together(header, {**arrays, name: set_entry(array, at, wrong)}), tmp_path)
                tried += 1
    of_any = (
        "loss",
        "risk",
        "mantissa",
        "mantissa_bytes",
        "leaf_bits",
        "leaf_vector_bytes",
        "real",
        "code",
    )  # none, or none is there
    assert tried or name.endswith(of_any), name


def wrong_bytes(coding, width):
    """Of numbers outside any range: no file here has as many as a byte tells apart, and none counts beyond it."""
    if coding is REALS:
        dtype = np.dtype("<f8" if width == 8 else "<f4")
        return [np.array([n], dtype=dtype).view(np.uint8)[-width:] for n in (np.nan, np.inf, -np.inf, -1.0, -1e-30)]
    return [255] if coding is WHOLE else []


def wrong_numbers(part: Numbers, dtype):
    """Outside the range of an array, as far as its dtype holds them."""
    if part.is_curve or dtype == np.bool_:
        return []
    if dtype.kind == "f":
        ends = math.nextafter(part.least, -math.inf), math.nextafter(part.most, math.inf)
        with np.errstate(over="ignore"):
            ends = np.array(ends).astype(dtype).tolist()  # in float32 there may be no number just outside
        return [math.nan, *(end for end in ends if not part.least <= end <= part.most)]
    ends = np.iinfo(dtype)
    most = 10**9 if isinstance(part.most, str) else part.most  # no file here has as many of anything
    return [
        n
        for n in (part.least - 1, ends.min, most + 1, ends.max)
        if ends.min <= n <= ends.max and not part.least <= n <= most
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[:-1],
        lambda a: a[..., :-1],
        lambda a: np.concatenate([a, a[-1:]]),
        lambda a: a.sum(axis=0).astype(a.dtype),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a[:0],
        lambda a: a.astype(">" + a.dtype.str[1:]),
        lambda a: a.astype(np.float16),
        lambda a: a.astype("<U8"),
        lambda a: a.astype(complex),
        None,
    ],
)
@pytest.mark.parametrize("most", slow_after(1, [1, 100]))
def test_arrays_of_other_shapes_and_kinds_and_missing_ones_are_refused(parts, most, change, tmp_path):
    """In so many of the files that have an array."""
    seen = Counter()
    for header, arrays in parts.values():
        for array in arrays:
            seen[array] += 1
            if seen[array] > most:
                continue
            other = None if change is None else change(arrays[array])
            if other is not None and other.dtype == arrays[array].dtype and other.shape == arrays[array].shape:
                continue  # nothing to take away
            kept = {key: part for key, part in arrays.items() if key != array} | (
                {} if other is None else {array: other}
            )
            if other is None and array in (
                "value",
                "leaf_value",
                "cost",
                "corrected",
                "validation_risk",
                "validation_loss",
                "edges",
            ):
                continue  # a model without them may be whole, too
            if (
                other is not None
                and array.startswith("validation")
                and (other.dtype, other.ndim) == (float, arrays[array].ndim)
            ):
                continue  # whose length is its own
            if array.endswith("mantissa_bytes") and other is not None and other.shape == (len(arrays[array]), 1):
                continue  # a number's last bytes may be left out
            refused(put_together(header, kept), tmp_path)


@pytest.mark.parametrize("every", slow_after(1, [5, 1]))
def test_whatever_stands_in_the_header_is_refused_or_answers(parts, every, tmp_path):
    """Every field, or every fifth, of every file taken out, or with junk in its place."""
    said, number = Counter(), 0
    for header, arrays in parts.values():
        for place in forging.places(header):
            number += 1
            for junk in (None, *forging.JUNK[number % 61 :: 61]) if place and number % every == 0 else ():
                text = json.loads(json.dumps(header))
                holder = text
                for key in place[:-1]:
                    holder = holder[key]
                if junk is None:
                    del holder[place[-1]]
                else:
                    holder[place[-1]] = junk
                try:
                    said[
                        "answers"
                        if loaded(put_together(text, arrays), tmp_path).get_params()["n_jobs"] is None
                        else "obeys"
                    ] += 1
                except ModelFileError as error:
                    clear = "parts do not fit together" not in str(error) and len(str(error)) < 600
                    said["refused" if clear else str(error)] += 1
    assert said.keys() == {"answers", "refused"} and said["refused"] > 1000 / every and said["answers"] > 50 / every, (
        said
    )


# -- known ones --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("step", [2**62, -(2**62), 2**63 - 1, 2**61, 2**32, 2**31])
def test_bounds_whose_differences_wrap_are_refused(parts, step, tmp_path):
    """From 0 over both ends of int64 back to what is right: every difference is 1 or more where it is computed."""
    header, arrays = parts["cost_rows"]
    bounds = arrays["costs_bounds"].copy()
    with np.errstate(over="ignore"):
        bounds[1:-1] += np.cumsum(np.full(len(bounds) - 2, step))
    refused(put_together(header, {**arrays, "costs_bounds": bounds}), tmp_path)


@pytest.mark.parametrize("name", ["rebel", "softmax", "cost_rows"])
@pytest.mark.parametrize("sizes", [[2**31 - 1] * 4, [2**31 - 1], [1], [3], [5, 1], [2, 2], []])
def test_sizes_of_trees_are_those_of_their_nodes(parts, name, sizes, tmp_path):
    """The last ones changed: sums beyond 32 bits, even sizes, and nodes of one tree in another."""
    header, arrays = parts[name]
    for array in {"tree_nodes", "costs_tree_nodes"} & arrays.keys():
        changed_sizes = arrays[array].copy()
        if not sizes:
            changed_sizes = np.roll(changed_sizes, 1)
        elif len(sizes) <= len(changed_sizes):
            changed_sizes[-len(sizes) :] = sizes
        if not np.array_equal(changed_sizes, arrays[array]):
            refused(put_together(header, {**arrays, array: changed_sizes}), tmp_path)


def test_few_bytes_do_not_make_large_trees(parts, tmp_path):
    """A bit of a file is a node, which takes tens of bytes: what packs too well is refused before they are taken."""
    header, arrays = parts["rebel"]
    n = 40_000_000
    nodes = np.array([2 * n + 1], dtype=np.int32)
    bits = np.resize(np.array([0b01010101], dtype=np.uint8), -(-int(nodes[0]) // 8))
    whole = {name: part for name, part in arrays.items() if name != "leaf_value"} | {
        "tree_nodes": nodes,
        "leaf_bits": bits,
        "leaf_vector_bytes": np.zeros((0, 1), dtype=np.uint8),
        **{
            f"{name}_bytes": np.zeros((n, width), dtype=np.uint8)
            for name, width in (("feature", 1), ("place", 1), ("gain", 2))
        },
        "table_feature": np.zeros(1, dtype=np.int32),
        "table_count": np.ones(1, dtype=np.int32),
        "table_threshold": np.zeros(1),
        "vectors": arrays["vectors"][:1],
        **{name: arrays[name][:2] for name in ("train_loss", "train_risk")},
        "edges": arrays["edges"][:1],
    }
    refused(put_together(header, whole), tmp_path)


@pytest.mark.parametrize(("name", "times"), [("rebel_sides", 1 << 16), ("rebel_rows", 1 << 16), ("softmax", 1 << 12)])
def test_models_of_trees_that_are_all_alike_are_saved_and_loaded(files, name, times, tmp_path):
    """Which pack too well: they are written as they are, and their memory is paid for."""
    model = loaded(files[name], tmp_path)
    one = model.model_
    trees = pack(one.learners[:1] * times)
    vectors = one.vectors[np.zeros(trees.vector_offsets[-1], dtype=np.int64)]
    if not isinstance(vectors, np.ndarray):
        trees = replace(trees, gain=trees.gain.astype(np.float32))
    model.model_ = replace(one, packed=trees, vectors=vectors, trees_per_round=times, cascade=None)
    model.n_iter_, model.train_loss_ = 1, np.zeros(2)
    for curve in ("train_risk_", "validation_loss_"):
        if getattr(model, curve, None) is not None:
            setattr(model, curve, getattr(model, curve)[:2])
    model.validation_risk_ = model.edges_ = None
    minrisk.save(model, tmp_path / "alike")
    again = minrisk.load(tmp_path / "alike")
    X = rows_for(np.random.default_rng(0), model, 9)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_more_scores_than_classes_have_no_probabilities(parts, tmp_path):
    """A surrogate that was trained on costs, a link, and ten thousand decisions: costs have fewer rows than scores."""
    header, arrays = json.loads(json.dumps(parts["gll"][0])), dict(parts["gll"][1])
    D, K = 10_000, 3
    header |= {
        "link": "softmax",
        "decisions": {"dtype": "object", "values": [*header["classes"]["values"], *range(D - K)]},
    }
    cost = np.ones((K, D))
    np.fill_diagonal(cost, 0.0)
    vectors = np.resize(arrays["mantissa_bytes"], (len(arrays["exponent"]) * D, 1))
    whole = {**arrays, "mantissa_bytes": vectors, "cost": cost, "intercept": np.zeros(D)}
    assert "link does not fit" in refused(put_together(header, whole), tmp_path, most=60e6)
    header["facts"]["surrogate"] = header["facts"]["selection"][0]["surrogate"] = "softmax"
    assert "must have a score for each" in refused(put_together(header, whole), tmp_path, most=60e6)


@pytest.mark.parametrize(
    ("name", "fields", "arrays", "message"),
    [
        ("softmax", {"link": None}, {}, "link"),
        ("softmax", {"link": "sigmoid2"}, {}, "link"),
        ("softmax", {"link": "linear"}, {}, "link"),
        ("gll", {"link": "softmax"}, {}, "link"),
        ("rebel", {"link": "sigmoid2"}, {}, "link"),
        ("bayes", {"link": None}, {}, "Bayes"),
        ("bayes", {"link": "sigmoid"}, {}, "link"),
        ("stagewise", {"link": "linear"}, {}, "link"),
        ("bayes", {}, {"cost": None}, "Bayes"),
        ("softmax", {}, {"cost": None}, "cost matrix"),
        ("cost_rows", {}, {"cost": np.ones((3, 3)) - np.eye(3)}, "cost matrix"),
        ("coupled", {"link": "softmax"}, {}, "link"),
        ("rebel", {}, {"code": np.ones((4, 4), dtype=bool)}, "has no output code"),
        ("adaboost_mo", {}, {"code": None}, "or a code"),
        ("adaboost_mo", {"link": "softmax"}, {}, "link"),
    ],
)
def test_header_link_surrogate_and_costs_must_agree(parts, name, fields, arrays, message, tmp_path):
    header, own = parts[name]
    kept = {key: part for key, part in (own | arrays).items() if part is not None}
    assert message in refused(put_together(header | fields, kept), tmp_path)


@pytest.mark.parametrize("field", ["classes", "decisions"])
@pytest.mark.parametrize(
    "dtype", ["<U100000000", "<U400000", "<M8[100000000000s]", "<U2147483647", "<U", "V8", "<U-1", "O8", "<c16", "|S8"]
)
def test_dtypes_of_labels_take_no_memory(parts, field, dtype, tmp_path):
    header = json.loads(json.dumps(parts["rebel"][0]))
    header[field]["dtype"] = dtype
    raw = put_together(header, parts["rebel"][1])
    if field == "classes" or dtype not in ("<U100000000", "<U400000"):
        refused(raw, tmp_path)
        return
    tracemalloc.start()
    model = loaded(raw, tmp_path)  # the dtype of decisions follows that of the classes
    assert model.decisions_.dtype == "<U10" and tracemalloc.get_traced_memory()[1] < 8e6
    tracemalloc.stop()


DATES = [("<M8[ns]", ["a", "b", "c"]), ("<M8[D]", [0, 1, 2**63])]
OTHERS = [
    ("|i1", [0, 1, 300]),
    ("<U1", ["aa", "b", "c"]),
    ("|b1", [0, 1, 2]),
    ("<i8", [0, 1, 2.5]),
    ("<f2", [0.1, 1.0, 2.0]),
]


@pytest.mark.parametrize(
    ("field", "dtype", "values"),
    [*(("classes", *odd) for odd in DATES + OTHERS), *(("decisions", *odd) for odd in DATES)],
)
def test_labels_must_be_of_their_dtype(parts, field, dtype, values, tmp_path):
    header = json.loads(json.dumps(parts["rebel_table"][0]))
    header[field].update(dtype=dtype, values=values)
    assert "not of their dtype" in refused(put_together(header, parts["rebel_table"][1]), tmp_path)


def test_categories_are_no_dates(parts, tmp_path):
    """No fit makes such, and none could be saved again."""
    header = json.loads(json.dumps(parts["rebel_table"][0]))
    header["categories"][0]["values"].update(dtype="<M8[D]", values=[0, 1, -(2**63)])  # the last is NaT
    assert "the dtype of numbers, texts or objects" in refused(put_together(header, parts["rebel_table"][1]), tmp_path)


def test_labels_are_no_longer_than_a_thousand_letters(parts, tmp_path):
    header = json.loads(json.dumps(parts["rebel_rows"][0]))
    for n in (MOST_LETTERS, MOST_LETTERS + 1):
        for field in ("classes", "decisions"):
            header[field] = {"dtype": f"<U{n}", "values": ["a" * n, "b", "c"]}
        raw = put_together(header, parts["rebel_rows"][1])
        if n == MOST_LETTERS:
            assert loaded(raw, tmp_path).classes_.dtype == f"<U{n}"
        else:
            assert "1000 letters" in refused(raw, tmp_path)


@pytest.mark.parametrize("n", [MOST_FEATURES + 1, 300_000_000, 2**31, 2**63, 10**30, 0, -1, True, 4.0, "4"])
def test_no_model_has_so_many_features(parts, n, tmp_path):
    assert "'n_features'" in refused(put_together(parts["rebel"][0] | {"n_features": n}, parts["rebel"][1]), tmp_path)


def test_as_many_features_as_may_be_take_little_memory(parts, tmp_path):
    model = loaded(put_together(parts["rebel"][0] | {"n_features": MOST_FEATURES}, parts["rebel"][1]), tmp_path)
    tracemalloc.start()
    share = model.feature_importances_
    check_shown(tmp_path / "forged", tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert share.shape == (MOST_FEATURES,) and peak < 250e6


@pytest.mark.parametrize("temperature", [1e-310, 1e-320, 5e-324])
def test_scores_that_would_not_be_finite_are_refused(parts, temperature, tmp_path):
    header, arrays = parts["rebel_rows"]
    refused(put_together(header | {"temperature": temperature}, arrays), tmp_path)
    for name, largest in (("vectors", 1e308), ("intercept", -1e308), ("leaf_value", 1e308)):
        whole = {**arrays, name: np.where(arrays[name] != 0.0, largest, 0.0)}
        assert "beyond what a number holds" in refused(put_together(header, whole), tmp_path)
    header, arrays = parts["softmax"]
    huge = np.full_like(arrays["smooth_vectors"], 1e307)
    assert "beyond what a number holds" in refused(put_together(header, {**arrays, "smooth_vectors": huge}), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.update(selection=[]), "list of 1 or more"),
        (lambda facts: facts["selection"][0].update(share=math.nan), "NaN"),
        (lambda facts: [line.update(share=0.0) for line in facts["selection"]], "no candidate of its surrogate"),
        (lambda facts: [line.update(surrogate="gel") for line in facts["selection"]], "no candidate of its surrogate"),
        (lambda facts: facts["selection"][0].update(share=1.5), "'share'"),
        (lambda facts: facts["selection"][0].update(share="1"), "'share'"),
        (lambda facts: facts["selection"][0].update(risk=1e999), "Infinity"),
        (lambda facts: facts["selection"][0].pop("risk"), "lacks 'risk'"),
        (lambda facts: facts["selection"][0].update(n_rounds=True), "'n_rounds'"),
        (lambda facts: facts.update(selection={}), "list"),
        (lambda facts: facts["selection"].append(None), "object"),
        (lambda facts: facts.update(surrogate="auto"), "'surrogate'"),
    ],
)
def test_what_a_fit_reports_is_checked(files, change, message, tmp_path):
    assert message in refused(changed(files["softmax"], lambda arrays, header: change(header["facts"])), tmp_path)


@pytest.mark.parametrize("curve", ["train_loss", "train_risk", "validation_risk"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_curves_beyond_their_end_are_read_as_it(files, curve, value, tmp_path):
    raw = changed(files["rebel"], lambda arrays, header: arrays[curve].__setitem__(1, value))
    model = loaded(raw, tmp_path)
    assert abs(getattr(model, curve + "_")[1]) == COURSE
    check_shown(tmp_path / "forged", tmp_path)


def test_what_is_a_matter_of_the_machine_is_not_read(files, tmp_path):
    """Neither threads nor words, nor a path that would be opened."""
    machine = {
        "n_jobs": 64,
        "verbose": 3,
        "warm_start": True,
        "random_state": 5,
        "cost": "/etc/passwd",
        "class_weight": {"0": -1.0},
        "categorical_features": [2**70],
    }
    raw = changed(files["rebel_rows"], lambda arrays, header: header["parameters"].update(machine))
    model, plain = loaded(raw, tmp_path), minrisk.REBELClassifier().get_params()
    assert {name: model.get_params()[name] for name in machine} == {name: plain[name] for name in machine}
    with zipfile.ZipFile(tmp_path / "saved.zip", "w"):
        pass
    minrisk.save(model.set_params(n_jobs=3, verbose=1), tmp_path / "again")
    written = taken_apart((tmp_path / "again").read_bytes())[0]["parameters"]
    assert not machine.keys() & written.keys()


@pytest.mark.parametrize(
    "inner",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"tuple": [' * 500 + "]}" * 500,
        '{"a":' * 90_000 + "1" + "}" * 90_000,
        "1" * 5000,
        "1e999",
        "NaN",
        "-Infinity",
        "[" * 10**6,
        '"' + "a" * 10**7 + '"',
        "[" + "[]," * 10**6 + "[]]",
    ],
)
def test_headers_that_are_deep_or_long_are_refused(parts, inner, tmp_path):
    header, arrays = parts["rebel"]
    text = json.dumps(header | {"feature_labels": "HERE"}).replace('"HERE"', inner).encode()
    refused(put_together(text, arrays), tmp_path, most=60e6)


@pytest.mark.parametrize(
    "text",
    [b"", b"null", b"[]", b"3", b"{", b"\xff\xfe\xfd", b'{"algorithm": []}', b'{"algorithm": "REBELClassifier"}'],
)
def test_headers_that_are_no_header(parts, text, tmp_path):
    refused(put_together(text, parts["rebel"][1]), tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }\n",
        b"{'descr': '|V99999999', 'fortran_order': False, 'shape': (3,), }\n",
        b"-" * 9000 + b"1\n",
        b"(" * 9000 + b"\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1), }\n",
        b"__import__('os').system('true')\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999, 999999999999999), }\n",
    ],
)
def test_headers_of_arrays_are_not_evaluated(parts, header, tmp_path):
    text, arrays = parts["rebel"]
    members = {name: as_bytes(array) for name, array in arrays.items()}
    members["header"] = as_bytes(np.frombuffer(json.dumps(text).encode(), dtype=np.uint8))
    loaded(envelope(archive(members)), tmp_path)
    members["vectors"] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + members["vectors"][-64:]
    assert "'vectors'" in refused(envelope(archive(members)), tmp_path)


def test_importances_where_trees_do_not_use_the_last_linear_feature(parts, tmp_path):
    header, arrays = parts["softmax"]
    feature = np.minimum(arrays["table_feature"], header["n_features"])
    model = loaded(put_together(header, {**arrays, "table_feature": feature}), tmp_path)
    assert model.feature_importances_.shape == (header["n_features"],)


def test_similarities_with_a_second_anchor_have_a_first(parts, tmp_path):
    header, arrays = parts["similarities"]
    forged = put_together(header, {**arrays, "near": np.full_like(arrays["near"], -1)})
    assert "a similarity has a second anchor and no first one" in refused(forged, tmp_path)


def test_similarities_of_one_point_with_itself(parts, tmp_path):
    header, arrays = parts["similarities"]
    model = loaded(
        put_together(header, {**arrays, "far": np.where(arrays["far"] >= 0, arrays["near"], -1).astype(np.int32)}),
        tmp_path,
    )
    check_answers(model, rows_for(np.random.default_rng(0), model, 40), tmp_path)


@pytest.mark.parametrize(
    ("name", "algorithm", "said"),
    [
        (
            "rebel_rows",
            "LocalizedSimilaritiesClassifier",
            "it is of LocalizedSimilaritiesClassifier, which has no values.",
        ),
        ("similarities", "REBELClassifier", "it is of REBELClassifier, which has no similarities."),
    ],
)
def test_learners_of_another_algorithm_are_refused(parts, name, algorithm, said, tmp_path):
    header, arrays = parts[name]
    assert said in refused(put_together({**header, "algorithm": algorithm, "parameters": {}}, arrays), tmp_path)


def test_trees_in_place_of_similarities_are_refused(parts, tmp_path):
    header, arrays = parts["rebel_rows"]
    arrays = {name: array for name, array in arrays.items() if name != "leaf_value"}
    forged = put_together({**header, "algorithm": "LocalizedSimilaritiesClassifier", "parameters": {}}, arrays)
    assert "whose rounds must be of similarities" in refused(forged, tmp_path)


# -- writing -----------------------------------------------------------------------------------------------------------
def test_what_could_not_be_loaded_is_not_saved(files, tmp_path):
    """And an earlier file stays as it was."""
    path = tmp_path / "m"
    path.write_text("before")
    model = loaded(files["bayes"], tmp_path)
    model.loss = "gll"  # of another kind of rounds than those of the model
    model.model_.vectors[0] = np.inf
    with pytest.raises(ValueError, match=r"^This model cannot be saved, since .*\.$"):
        minrisk.save(model, path)
    assert path.read_text() == "before" and set(os.listdir(tmp_path)) == {"m", "forged"}


def test_labels_of_a_wide_dtype_are_saved_in_a_narrow_one(tmp_path):
    y = np.array(["a", "b", "c"], dtype="<U5000").repeat(20)
    model = minrisk.REBELClassifier(n_estimators=2).fit(np.arange(60.0)[:, None], y)
    minrisk.save(model, tmp_path / "m")
    again = minrisk.load(tmp_path / "m")
    assert again.classes_.dtype == "<U1" and again.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(again.predict([[3.0], [50.0]]), model.predict([[3.0], [50.0]]))


# -- what the documentation says -----------------------------------------------------------------------------------------
def test_the_table_of_indices_names_kernels_arrays_and_lines_that_exist():
    """docs/more/developers/model_files.md: kernel, array and the line of the schema that checks it."""
    text = (Path(__file__).parents[2] / "docs" / "more" / "developers" / "model_files.md").read_text()
    table = text.partition("\n| kernel |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    assert len(rows) > 25
    folder, kinds = Path(minrisk.__file__).parent / "_kernels", ("cpp", "hpp")
    for kernel, arguments, _, checked in rows:
        module, _, name = kernel.strip(" `").rpartition(".")
        sources = [
            (folder / f"{module}.{kind}").read_text() for kind in kinds if (folder / f"{module}.{kind}").exists()
        ]
        found = re.search(rf"\b{name}\(([^{{;]*)\)( const)? {{", "".join(sources))
        assert found, kernel
        assert set(re.findall(r"`(\w+)`", arguments)) <= set(re.findall(r"\w+", found[1])), (kernel, arguments)
        for group, array in re.findall(r"`GROUPS\[\"([\w ]+)\"\]\[\"(\w+)\"\]`", checked):
            assert array in GROUPS[group], (kernel, checked)


# -- found by reading -------------------------------------------------------------------------------------------------
def test_many_decisions_beside_numbers_are_read_in_a_second(parts, tmp_path):
    header, arrays = parts["softmax"]
    n = 50_000
    values = [*range(3), *range(10, 10 + n)]
    cost = np.ones((3, 3 + n)) - np.eye(3, 3 + n)
    header = {
        **header,
        "classes": {"dtype": "<i8", "values": [0, 1, 2]},
        "decisions": {"dtype": "<i8", "values": values},
    }
    start = time.process_time()
    with suppress(ModelFileError):  # that some other part says no is not the point
        loaded(put_together(header, {**arrays, "cost": cost}), tmp_path)
    assert time.process_time() - start < 5


def test_categories_add_no_more_columns_than_a_fit_makes(parts, tmp_path):
    header, arrays = parts["birds"]
    categories = [{**header["categories"][0], "added": 11}, *header["categories"][1:]]
    assert "'added'" in refused(put_together({**header, "categories": categories}, arrays), tmp_path)


def test_linear_features_are_no_more_than_any_fit_makes(parts, tmp_path):
    name = next(name for name, (_, arrays) in parts.items() if "weights" in arrays)
    header, arrays = parts[name]
    wide = np.zeros((len(arrays["weights"]), MOST_LINEAR + 1))
    said = refused(put_together(header, {**arrays, "weights": wide}), tmp_path)
    assert "linear features" in said


@pytest.mark.parametrize("temperature", [1e-309, 1e-101, 1e101])
@pytest.mark.parametrize("name", ["softmax", "birds"])
def test_a_temperature_has_an_inverse(parts, name, temperature, tmp_path):
    header, arrays = parts[name]
    assert "temperature" in refused(put_together({**header, "temperature": temperature}, arrays), tmp_path)


def check_early(model, X, folder):
    """Decisions of any excess, of a row by itself or among others, and of smaller models; exports are written."""
    for max_excess in (0.0, 0.001, 1.0):
        decided = model.predict(X, max_excess=max_excess)
        assert set(decided.tolist()) <= set(model.decisions_.tolist())
        assert model.predict(X[3:4], max_excess=max_excess)[0] == decided[3]
    scores = model._scores(model._check_X(X))
    merits = model._expected(model._check_X(X), scores)
    np.testing.assert_array_equal(model.predict(X), model.decisions_[merits.argmin(axis=1)])
    assert np.isfinite(scores).all() and np.isfinite(merits).all()
    json.loads(minrisk.export.to_json(model))
    for write in (minrisk.export.to_onnx, minrisk.export.to_treelite):
        with suppress(ValueError, TypeError, ImportError):  # what a format cannot hold
            write(model)


HOSTILE = (0.0, -1.0, 5e-324, 1e-300, 1e-100, 0.5, 7.0, 10.0, 1e100, 1e300, np.inf, -np.inf, np.nan)
EARLY = [name for name in GROUPS["early decisions"] if name != "cascade_rounds"] + ["temperature", "intercept"]


@pytest.mark.parametrize(
    "fields",
    [
        *((field,) for field in EARLY),
        ("intercept", "temperature"),
        *(
            pytest.param(pair, marks=pytest.mark.slow)
            for pair in (("intercept", "cascade_temperature"), ("temperature", "cascade_temperature"))
        ),
    ],
    ids="-".join,
)
def test_early_decisions_of_any_numbers(parts, fields, tmp_path):
    """Each number in one place or in all, and in all places two that are divided by each other."""
    given, arrays = parts["softmax"]
    X, seen = np.random.default_rng(0).normal(3, 2, (40, 4)), Counter()
    last = len(arrays["train_loss"]) - 1.0  # round, which a last stage may come after
    for values in itertools.product((*HOSTILE, last), repeat=len(fields)):
        for everywhere in (False, True)[len(fields) - 1 :]:
            header, changed_arrays = dict(given), dict(arrays)
            for field, value in zip(fields, values, strict=True):
                if field == "temperature":
                    header[field] = value
                    continue
                with np.errstate(invalid="ignore"):
                    number = np.asarray(value).astype(arrays[field].dtype)
                changed_arrays[field] = (
                    np.full_like(arrays[field], number) if everywhere else set_entry(arrays[field], -1, number)
                )
            (tmp_path / "forged").write_bytes(put_together(header, changed_arrays))
            try:
                model = minrisk.load(tmp_path / "forged")
            except ModelFileError as error:
                seen["unclear" if "parts do not fit together" in str(error) else "refused"] += 1
                continue
            seen["answers"] += 1
            check_early(model, X, tmp_path)
            smaller = minrisk.compact(model, max_excess=1.0)
            if smaller.n_iter_ < model.n_iter_:
                minrisk.save(smaller, tmp_path / "smaller")
                check_early(minrisk.load(tmp_path / "smaller"), X, tmp_path)
    assert seen["refused"] and seen["answers"] and not seen["unclear"], seen


@pytest.mark.parametrize("n_excesses", [0, 1])
def test_early_decisions_of_no_excesses(parts, n_excesses, tmp_path):
    header, arrays = parts["softmax"]
    few = {name: arrays[name][:n_excesses] for name in ("cascade_excess", "cascade_leads")}
    model = loaded(put_together(header, {**arrays, **few}), tmp_path)
    X = np.random.default_rng(0).normal(3, 2, (40, 4))
    check_early(model, X, tmp_path)
    check_early(minrisk.compact(model, max_excess=1.0), X, tmp_path)


@pytest.mark.parametrize("rounds", [[], [1], range(1, 11)], ids=len)
def test_early_decisions_at_other_rounds_are_refused(parts, rounds, tmp_path):
    """A prediction finds bounds for all pairs of classes at each stage: a file does not choose how many there are."""
    header, arrays = parts["softmax"]
    n, many = len(arrays["cascade_rounds"]), np.array(rounds, dtype=np.int64)
    others = GROUPS["early decisions"].keys() - {"cascade_rounds", "cascade_excess"}
    stages = {name: arrays[name][..., np.resize(np.arange(n), len(many))] for name in others}
    forged = put_together(header, {**arrays, **stages, "cascade_rounds": many})
    assert "at which a fit looks at them" in refused(forged, tmp_path)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1.7e308])
@pytest.mark.parametrize("name", ["rebel", "softmax"])
def test_curves_of_any_numbers_are_shown(parts, name, value, tmp_path):
    header, arrays = parts[name]
    curves = {
        curve: np.resize(np.array([value, -value]), arrays[curve].shape)
        for curve in ("train_loss", "train_risk", "validation_risk", "validation_loss")
        if curve in arrays
    }
    model = loaded(put_together(header, {**arrays, **curves}), tmp_path)
    check_shown(tmp_path / "forged", tmp_path)
    if name == "rebel":
        RiskCurveDisplay.from_estimator(model).figure_.canvas.draw()


def test_names_of_columns_may_be_nested_a_few_levels_only(parts, tmp_path):
    header, arrays = parts["rebel"]
    n = header["n_features"]

    def nested(levels):
        name = "a"
        for _ in range(levels):
            name = {"tuple": [name]}
        given = {**header, "feature_names": None, "feature_labels": [name, *({"tuple": [k]} for k in range(1, n))]}
        given.pop("feature_numbers", None)
        return put_together(given, arrays)

    assert len(copy.deepcopy(loaded(nested(10), tmp_path))._column_names) == n
    assert "nested too deeply" in refused(nested(40), tmp_path)


@pytest.mark.parametrize("recursion", slow_after(1, [10**6, 1000]))
def test_a_header_nested_deeply_is_refused_before_it_is_parsed(recursion, tmp_path):
    text = b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    (tmp_path / "forged").write_bytes(put_together(text, {}))
    code = "import sys, minrisk; sys.setrecursionlimit(int(sys.argv[2])); minrisk.load(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "forged"), str(recursion)], capture_output=True, text=True
    )
    assert done.returncode == 1 and "ModelFileError" in done.stderr


def test_brackets_in_texts_of_the_header_are_no_levels():
    assert depth(rb'{"a": ["[[[[", "\"[["], "b": [[{}]]}') == 4


def _regular_depth(text):
    """Levels by a search that takes what it takes."""
    bare = re.sub(rb'\\[\\"]', b"", text)
    marks = re.sub(rb'"[^"]*("|$)', b"", bare)
    levels = np.cumsum([{ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}.get(mark, 0) for mark in marks])
    return max(0, *levels.tolist(), 0)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 16])
def test_levels_are_counted_across_parts(chunk, monkeypatch):
    monkeypatch.setattr("minrisk.io.header.SCANNED_BYTES", chunk)
    rng = np.random.default_rng(0)
    for n in range(300):
        text = bytes(rng.choice(list(b'[]{}""\\\\a'), size=n % 40).tolist())
        assert depth(text) == _regular_depth(text), text
    assert depth(b'"' + b"a" * 600 + b'"' + b"[[" * 9) == 18 and depth(b'""' * 300 + b"[[") == 2


@pytest.mark.parametrize(
    "text", [b'{"' + b'\\"' * 3_000_000, b'{"' + b"x" * 6_000_000, b'"a"' * 2_000_000], ids=["marks", "text", "texts"]
)
def test_levels_of_any_header_are_counted_in_a_moment(text):
    """Texts that never close took a square of their length, and a hundred times their memory."""
    tracemalloc.start()
    start = time.process_time()
    try:
        depth(text)
        assert time.process_time() - start < 3
        assert tracemalloc.get_traced_memory()[1] < 4e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-32-be", "utf-8-sig"])
def test_a_header_is_in_utf_8_without_a_mark(parts, encoding, tmp_path):
    """A parser that knows other encodings would see brackets in what counts as a text here."""
    header, arrays = parts["rebel"]
    said = refused(put_together(json.dumps(header).encode(encoding), arrays), tmp_path)
    assert "UTF-8" in said or "its header is no JSON" in said
    assert "its header is no text in UTF-8." in refused(put_together(b'{"a": "\xff"}', arrays), tmp_path)


def test_a_header_is_read_in_as_much_memory_as_is_counted(parts, tmp_path):
    """A name of letters that take four bytes each, in a file that pays for it."""
    header, arrays = parts["rebel"]
    text = json.dumps({**header, "target": "HERE"}).replace("HERE", "x" * 3_000_000).encode()
    raw = put_together(text, arrays)
    pad = os.urandom(60_000)
    refused(raw, tmp_path)
    raw = envelope(pad + raw[forging.START :])
    tracemalloc.start()
    loaded(raw, tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 3.5 * len(text) + 4e6
    tracemalloc.stop()


def test_classes_without_columns_of_costs_take_no_square_of_memory(parts, tmp_path):
    header, arrays = parts["rebel"]
    K = 3000
    D = len(header["decisions"]["values"])
    header = {**header, "link": None, "classes": {"dtype": "<U4", "values": [str(k) for k in range(K)]}}
    header["decisions"] = {"dtype": "<U4", "values": [str(k) for k in range(D)]}
    header = {k: v for k, v in header.items() if not k.startswith("stated")} | {"cost_stated": True}
    arrays = {k: v for k, v in arrays.items() if k != "stated"} | {"cost": np.ones((K, D)) - np.eye(K, D)}
    tracemalloc.start()
    model = loaded(put_together(header, arrays), tmp_path)
    assert model._stated is not None and tracemalloc.get_traced_memory()[1] < 8e6
    tracemalloc.stop()


def test_importances_of_many_pairs_of_points_take_a_second():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 3
    packed = minrisk.LocalizedSimilaritiesClassifier(n_estimators=3).fit(X, y).model_.packed
    m, T = 300, 60_000
    many = replace(
        packed,
        anchors=rng.normal(size=(m, 3)),
        anchor_row=np.arange(m),
        near=(np.arange(T) // m).astype(np.int32),
        far=(np.arange(T) % m).astype(np.int32),
        span=np.ones(T),
        real=np.ones(T, dtype=bool),
        gain=rng.random(T),
    )
    start = time.process_time()
    found = many.importances(3)
    assert time.process_time() - start < 1
    squares = (many.anchors[many.near] - many.anchors[many.far]) ** 2
    whole = squares.sum(axis=1)
    expected = (many.gain / np.where(whole > 0, whole, np.inf)) @ squares
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_warm_start_goes_on_with_as_many_learners_in_a_round(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    minrisk.save(minrisk.REBELClassifier(n_estimators=6).fit(X, y), tmp_path / "model")

    def change(arrays, header):
        header["trees_per_round"] = 2
        for curve in ("train_loss", "train_risk"):
            arrays[curve] = arrays[curve][:4]
        arrays["edges"] = arrays["edges"][:3]

    model = loaded(changed((tmp_path / "model").read_bytes(), change), tmp_path)
    with pytest.raises(ValueError, match="same number of learners in a round: expected 2, got 1"):
        model.set_params(warm_start=True, n_estimators=9).fit(X, y)
