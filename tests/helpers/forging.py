"""Model files made to harm, with right checksums: what `tests.helpers.forged_outcomes` tries.

A case is a number: `forged(files, number)` is the same bytes whenever it is asked for.
"""

import hashlib
import io
import itertools
import json
import tempfile
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from minrisk.algorithms import ALGORITHMS
from minrisk.io import model_file
from minrisk.io.model_file import MAGIC
from minrisk.io.schema import GROUPS
from tests.helpers.ways import MADE, WAYS

START = len(MAGIC) + model_file.HEAD.size + model_file.DIGEST_BYTES


# -- files -------------------------------------------------------------------------------------------------------------
def taken_apart(raw):
    """Header and arrays of a file."""
    with np.load(io.BytesIO(raw[START:])) as archive:
        arrays = {name: archive[name].copy() for name in archive.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def envelope(payload, version=model_file.VERSION):
    """A file with this payload and the right checksum."""
    head = model_file.HEAD.pack(version, len(payload))
    return MAGIC + head + hashlib.sha256(head + payload).digest() + payload


def as_bytes(array, shape=None):
    """An array as a file of its own, whose header may say another shape."""
    buffer = io.BytesIO()
    description = npy.header_data_from_array_1_0(array)
    npy.write_array_header_1_0(buffer, description if shape is None else {**description, "shape": shape})
    return buffer.getvalue() + array.tobytes("F" if description["fortran_order"] else "C")


def archive(members, packing=zipfile.ZIP_DEFLATED):
    """An archive of members given as bytes, by name or as pairs."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", packing, compresslevel=1) as file:
        warnings.simplefilter("ignore")  # of names that occur twice
        for name, data in members.items() if isinstance(members, dict) else members:
            file.writestr(zipfile.ZipInfo(name + ".npy"), data, packing)
    return buffer.getvalue()


def changed(raw, change):
    """A file whose arrays and header a function has changed."""
    header, arrays = taken_apart(raw)
    change(arrays, header)
    return put_together(header, arrays)


def put_together(header, arrays):
    """A file of these; `header` may be bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    whole = {"header": np.frombuffer(text, dtype=np.uint8), **arrays}
    return envelope(archive({name: as_bytes(np.asarray(array)) for name, array in whole.items()}))


# -- seeds -------------------------------------------------------------------------------------------------------------
def seeds():
    """Small models of every estimator and kind of learner, as files by name."""
    import pandas as pd
    from sklearn.datasets import load_iris

    import minrisk
    from minrisk import MinRiskClassifier, REBELClassifier

    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    refer = minrisk.costs.with_reject(minrisk.costs.ordinal(list(names)), 0.4)
    table = np.array([[0, 1, 2], [3, 0, 1], [5, 2, 0.0]])
    rng = np.random.default_rng(0)
    own = table[y] * rng.uniform(0.5, 2.0, len(y))[:, None] * (1.0 + (X[:, :1] > 5.8))
    mixed = np.where(rng.random(len(y)) < 0.4, rng.integers(0, 3, len(y)), y)  # so that decisions depend on costs
    amounts = table[mixed] * np.where(mixed == 2, np.where(X[:, 0] > 5.8, 4.0, 0.1), 1.0)[:, None]
    bird = pd.DataFrame(
        {
            "habitat": pd.Categorical(rng.choice(["sea", "wood", "moor"], 150)),
            "weight": X[:, 0],
            "ring": pd.Categorical(rng.integers(0, 14, 150)),
            "age": X[:, 2],
        }
    )
    few = {"n_estimators": 4, "random_state": 0}
    pools = (MinRiskClassifier(refer, n_estimators=10, random_state=seed).fit(X, names[y]) for seed in range(2, 50))
    fits = {
        "rebel": REBELClassifier(refer, max_depth=3, early_stopping=True, **few).fit(X, names[y]),
        "rebel_sides": REBELClassifier(weak_learner="stump", fit_intercept="each round", **few).fit(X, y),
        "rebel_squared": REBELClassifier(loss="squared", max_depth=2, **few).fit(X, y.astype(np.float32)),
        "rebel_rows": REBELClassifier(**few).fit(X, y, cost=own),
        "rebel_table": REBELClassifier(table, n_estimators=3).fit(bird, names[y].astype(object)),
        "similarities": WAYS["similarities"](scaling="standard").fit(X, y),
        "similarities_sign": WAYS["similarities"](cost=table, response="sign", two_point=False).fit(X, y),
        "lines": MADE["mcboost"](cost=table, n_estimators=3).fit(X, y),
        "bayes": WAYS["mcboost mc bayes stump"](cost=table).fit(X, y),
        "stagewise": MADE["stagewise"](n_estimators=12).fit(X, y),
        "multiboost": MADE["multiboost"](cost=table, loss="exponential").fit(X, y > 0, cost=table[:2, :2]),
        "multiboost_stages": MADE["multiboost"](keep_stages=True).fit(X, y),
        "piboost": MADE["piboost"](cost=table, separators=[["setosa"], ["virginica"]]).fit(X, names[y]),
        "gentleboost": MADE["gentleboost"]().fit(X, y),
        "gentle_margin": WAYS["gentleboost margin"]().fit(X, y),
        "adaboost_mo": MADE["adaboost-mo"](cost=table, code=[[1, 1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, 1]]).fit(X, y),
        "adaboost_mo_hamming": WAYS["adaboost-mo hamming"](code="random").fit(X, y),
        "adaboost_mo_own": WAYS["adaboost-mo own one-vs-all"]().fit(X, y),
        "adaboost_mh": MADE["adaboost-mh"](cost=refer).fit(X, names[y]),
        "adaboost_sip": MADE["adaboost-sip"](cost=refer).fit(X, names[y]),
        "aoso_logitboost": MADE["aoso-logitboost"](cost=refer).fit(X, names[y]),
        "gradboost": MADE["gradboost"](cost=table, norm="linf", n_estimators=12, keep_stages=True).fit(X, y),
        "structboost": MADE["structboost"](cost=table, keep_stages=True).fit(X, y),
        "softmax": next(
            model for model in pools if model.model_.smooth is not None and model.model_.projection is not None
        ),
        "exponential": MinRiskClassifier(surrogate="exponential", n_estimators=5, random_state=0).fit(X, y),
        "gll": MinRiskClassifier(refer, surrogate="gll", n_estimators=4, pool=False, random_state=0).fit(X, names[y]),
        "coupled": MinRiskClassifier(surrogate="coupled", cv=1, **few).fit(X, y, cost=own),
        "cost_rows": MinRiskClassifier(n_estimators=8, random_state=0).fit(X, mixed, cost=amounts),
        "birds": MinRiskClassifier(table, n_estimators=6, random_state=0).fit(bird, y),
        "absent": REBELClassifier(
            {"b": {"a": 1, "c": 2}, "a": {"b": 3, "c": 9}, "c": {"a": 2, "b": 2}}, n_estimators=2
        ).fit(X[:100], np.array(["a", "b"])[y[:100]]),
        "constant": MinRiskClassifier(n_estimators=3, random_state=0).fit(np.zeros((60, 2)), np.arange(60) % 2),
    }
    fitted = {type(model) for model in fits.values()}
    fits |= {name: make(cost=table).fit(X, names[y]) for name, make in MADE.items() if make.func not in fitted}
    fits["lines"].target_name_, fits["lines"].first_feature_ = "species", 1
    assert len(fits["cost_rows"].cost_regression_.packed), "the regression of costs has no trees"
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in fits.items():
            minrisk.save(model, Path(folder) / "m")
            found[name] = (Path(folder) / "m").read_bytes()
    return found


def write_seeds(folder, kinds=()):
    """The seeds, or some of them, as files, which processes read."""
    for name, raw in seeds().items():
        if not kinds or name in kinds:
            (Path(folder) / f"{name}.seed").write_bytes(raw)


def read_seeds(folder):
    """Header and arrays of every seed."""
    return {path.stem: taken_apart(path.read_bytes()) for path in sorted(Path(folder).glob("*.seed"))}


# -- forging -----------------------------------------------------------------------------------------------------------
INTEGERS = (0, 1, -1, 2, 3, 255, 256, 2**31 - 1, -(2**31), 2**32, 2**53, 2**62, -(2**62), 2**63 - 1, -(2**63), 10**9)
NUMBERS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    5e-324,
    1e-300,
    1e-30,
    1e30,
    1e150,
    1e300,
    1.7976931348623157e308,
    -1e308,
    np.nan,
    np.inf,
    -np.inf,
)
JUNK = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    7,
    10**6,
    300_000_000,
    1 << 22,
    2**31,
    2**63,
    10**30,
    10**400,
    float("nan"),
    float("inf"),
    0.5,
    -0.5,
    1e300,
    1e-320,
    "",
    "softmax",
    "softmax2",
    "sigmoid",
    "sigmoid2",
    "linear",
    "gll",
    "gel",
    "coupled",
    "exponential",
    "tree",
    "stump",
    "bayes",
    "mc",
    "argmax",
    "/etc/passwd",
    "\ud800",
    "\x1b[2J",
    "=HYPERLINK(1)",
    "x" * 5000,
    "<U100000000",
    "<M8[ns]",
    "O8",
    "object",
    "<i8",
    "<U1",
    "|b1",
    "<f2",
    [],
    [[]],
    [0],
    ["a"],
    [None],
    [1, 1],
    list(range(500)),
    {},
    {"a": 1},
    {"dtype": "<i8", "values": []},
    {"tuple": []},
    {"time": "noon"},
    {"dtype": "<U100000000", "values": ["a", "b", "c"]},
    {"dtype": "object", "values": ["a", True, 1.5]},
    *(method.__name__ for method in ALGORITHMS),
    "hamming",
)
ALL_GROUPS = [*GROUPS.values()]
SIZES = sorted({size.partition(" + 1")[0] for parts in ALL_GROUPS for part in parts.values() for size in part.shape})
SHAPES = {}  # of arrays by name, in sizes; "center", "scale" and "gain" stand in two groups
for parts in ALL_GROUPS:
    for name, part in parts.items():
        SHAPES.setdefault(name, []).append(part.shape)


def one_of(rng, choices):
    """Any of them."""
    choices = list(choices)
    return choices[rng.integers(len(choices))]


def number_for(rng, array, header):
    """A number of the array's kind, at an end or near what is right."""
    if array.dtype.kind not in "biuf":
        return array.flat[0]
    if array.dtype.kind == "f":
        near = array.flat[rng.integers(array.size)] * one_of(rng, (-1.0, 0.5, 2.0, 1e10)) if array.size else 0.0
        return one_of(rng, (*NUMBERS, near))
    near = int(array.flat[rng.integers(array.size)]) if array.size else 0
    ends = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
    wanted = int(
        one_of(
            rng,
            (
                *INTEGERS,
                near - 1,
                near + 1,
                near,
                near * 2,
                array.size,
                array.size - 1,
                header.get("n_features", 0) if isinstance(header, dict) else 0,
            ),
        )
    )
    return bool(wanted & 1) if ends is None else min(max(wanted, int(ends.min)), int(ends.max))


def set_entries(rng, header, arrays):
    name = one_of(rng, arrays)
    array = np.array(arrays[name], order="C")
    flat = array.reshape(-1)
    with np.errstate(all="ignore"):
        for _ in range(one_of(rng, (1, 1, 2, 5))):
            if flat.size:
                flat[one_of(rng, (0, -1, int(rng.integers(flat.size))))] = number_for(rng, flat, header)
    arrays[name] = array


def fill(rng, header, arrays):
    name = one_of(rng, arrays)
    with np.errstate(all="ignore"):
        arrays[name] = np.full_like(arrays[name], number_for(rng, np.asarray(arrays[name]), header))


def permute(rng, header, arrays):
    name = one_of(rng, arrays)
    arrays[name] = rng.permutation(np.asarray(arrays[name]))


def wrap_offsets(rng, header, arrays):
    """Offsets whose neighbours lie at the two ends of int64, so that differences of them wrap to small numbers."""
    name = one_of(rng, [name for name in arrays if "offsets" in name or "bounds" in name] or arrays)
    array = np.array(arrays[name])
    if array.dtype == np.int64 and len(array) > 2:
        last = array[-1]
        step = np.int64(one_of(rng, (2**62, 2**63 - 1, -(2**62), 2**61, 2**32, 2**31)))
        with np.errstate(all="ignore"):
            array += (
                np.cumsum(np.full(len(array), step)) - step
                if rng.random() < 0.5
                else np.where(np.arange(len(array)) % 2, step, 0)
            )
        if rng.random() < 0.7:
            array[-1] = last
        arrays[name] = array


def retype(rng, header, arrays):
    name = one_of(rng, arrays)
    dtype = one_of(
        rng,
        ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "|u1", "|b1", ">f8", ">i4", "<c16", "<U4", "|S3", "<M8[ns]"),
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays[name] = np.asarray(arrays[name]).astype(dtype)


def reshape(rng, header, arrays):
    name = one_of(rng, arrays)
    array = np.asarray(arrays[name])
    changes = (
        lambda a: a[:-1],
        lambda a: a[1:],
        lambda a: a[:0],
        lambda a: np.concatenate([a, a[-1:]]),
        lambda a: np.repeat(a, 2, axis=0),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a.ravel(),
        lambda a: a.T,
        lambda a: a[..., :-1],
        lambda a: np.asfortranarray(a),
        lambda a: a.reshape(1, -1),
        lambda a: np.resize(a, (3,)),
        lambda a: np.float64(1.0),
    )
    arrays[name] = one_of(rng, changes)(array)


def drop(rng, header, arrays):
    arrays.pop(one_of(rng, arrays))


def rename(rng, header, arrays):
    array = arrays.pop(one_of(rng, arrays))
    arrays[one_of(rng, (*SHAPES, "header2", "../../x", "x" * 300))] = array


def resize(rng, header, arrays):
    """One size changed in all arrays that have it in their shapes, and mostly in the header: all lengths agree."""
    size, factor = one_of(rng, SIZES), one_of(rng, (0, 1, 2, 3, -1, 5, 40))
    old = next(
        (
            np.asarray(arrays[name]).shape[axis] - (" + 1" in dim)
            for name in arrays
            for shape in SHAPES.get(name, [])
            for axis, dim in enumerate(shape)
            if dim.partition(" + 1")[0] == size and axis < np.asarray(arrays[name]).ndim
        ),
        None,
    )
    if old is None:
        return
    new = one_of(rng, (max(0, old + factor), max(0, old - 1), factor + 1, old * 2))
    for name in list(arrays):
        for shape in SHAPES.get(name, []):
            for axis, dim in enumerate(shape):
                array = np.asarray(arrays[name])
                if dim.partition(" + 1")[0] == size and axis < array.ndim and array.shape[axis]:
                    length = new + (" + 1" in dim)
                    arrays[name] = np.take(array, np.arange(length), axis=axis, mode=one_of(rng, ("wrap", "clip")))
    if isinstance(header, dict) and rng.random() < 0.8:
        if size == "features":
            header["n_features"] = new
        if size in ("classes", "decisions", "scores", "stated classes", "stated decisions"):
            for field in ({size} if size != "scores" else {"classes", "decisions"}) & header.keys():
                resize_labels(header[field], new)
        if size == "trees" and rng.random() < 0.5:
            header["trees_per_round"] = one_of(rng, (1, 2, max(1, new)))


def resize_labels(labels, n):
    """So many labels, all different."""
    if isinstance(labels, dict) and isinstance(labels.get("values"), list):
        values = labels["values"][:n]
        texts = any(isinstance(value, str) for value in values)
        more = itertools.count(1000)
        labels["values"] = values + [f"{i}" if texts else i for i in itertools.islice(more, max(0, n - len(values)))]


def swap(rng, header, arrays):
    """Two arrays of one kind in each other's places."""
    one, other = one_of(rng, arrays), one_of(rng, arrays)
    arrays[one], arrays[other] = arrays[other], arrays[one]


def relink(rng, header, arrays):
    """Children and leaves anew, in range: shared, crossing trees, without an end; or leaves in other places."""
    prefix = one_of(rng, ("", "costs_"))
    if f"{prefix}leaf_bits" in arrays:
        bits = np.unpackbits(arrays[f"{prefix}leaf_bits"])
        if len(bits):
            for _ in range(one_of(rng, (1, 2, 2, 4))):
                low = int(rng.integers(len(bits)))
                part = slice(low, low + one_of(rng, (1, 2, 2, 3, 9, len(bits))))
                bits[part] = bits[part][::-1] if rng.random() < 0.8 else 1 - bits[part]
            arrays[f"{prefix}leaf_bits"] = np.packbits(bits)


def places(value, path=()):
    """Every path into the header."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*path, key))


def change_header(rng, header, arrays):
    path = one_of(rng, [path for path in places(header) if path])
    holder = header
    for key in path[:-1]:
        holder = holder[key]
    if rng.random() < 0.15:
        del holder[path[-1]]
    elif rng.random() < 0.15 and isinstance(holder[path[-1]], (int, float)):
        holder[path[-1]] = holder[path[-1]] * one_of(rng, (-1, 2, 0.5, 10**9)) + one_of(rng, (-1, 0, 1))
    else:
        holder[path[-1]] = json.loads(
            json.dumps(
                one_of(rng, (*JUNK, holder[path[-1]], holder[one_of(rng, holder)] if isinstance(holder, dict) else 0))
            )
        )


def add_field(rng, header, arrays):
    holder = one_of(
        rng,
        [header, header.get("facts"), header.get("parameters"), *([header["classes"]] if "classes" in header else [])],
    )
    if isinstance(holder, dict):
        field = one_of(
            rng,
            (
                "n_jobs",
                "verbose",
                "cost",
                "class_weight",
                "categorical_features",
                "random_state",
                "warm_start",
                "cv",
                "n_folds",
                "estimator",
                "unknown",
                "selection",
                "surrogate",
                "link",
                "categories",
                "target",
                "feature_labels",
                "feature_numbers",
                "feature_names",
                "stated_classes",
                "decision",
                "loss",
                "weak_learner",
                "log_scale",
                "values",
                "dtype",
            ),
        )
        holder[field] = json.loads(json.dumps(one_of(rng, JUNK)))


MUTATIONS = (
    set_entries,
    set_entries,
    set_entries,
    fill,
    permute,
    wrap_offsets,
    retype,
    reshape,
    drop,
    rename,
    resize,
    resize,
    resize,
    swap,
    relink,
    change_header,
    change_header,
    change_header,
    change_header,
    add_field,
)
SAFE = (
    set_entries,
    fill,
    permute,
    wrap_offsets,
    resize,
    relink,
    change_header,
    add_field,
)  # that leave the kinds of arrays


def combined(rng, header, arrays, other_header, other_arrays):
    """Some arrays or groups of one file, others of another; the header of either, or fields of both."""
    if rng.random() < 0.6:
        for name in one_of(rng, ALL_GROUPS):
            if name in other_arrays:
                arrays[name] = other_arrays[name]
            elif rng.random() < 0.5:
                arrays.pop(name, None)
    else:
        for name in other_arrays:
            if rng.random() < 0.3:
                arrays[name] = other_arrays[name]
    for field in list(other_header):
        if rng.random() < 0.2:
            header[field] = json.loads(json.dumps(other_header[field]))


def deep(rng, header):
    """The header with a value that is nested deeply, very long, or no JSON, as bytes."""
    n = int(one_of(rng, (50, 500, 5000, 100_000)))
    inner = one_of(
        rng,
        (
            "[" * n + "]" * n,
            '{"a":' * n + "1" + "}" * n,
            "1" * n,
            '"' + "a" * n + '"',
            "NaN",
            "1e999",
            "[" * n,
            '{"tuple":[' * n + "]}" * n,
        ),
    )
    path = one_of(rng, [path for path in places(header) if path])
    holder = header
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = "HERE"
    return json.dumps(header).replace('"HERE"', inner).encode()


def odd_archive(rng, header, arrays):
    """A whole archive that lies: shapes, sizes, names that occur twice, other packing, bytes changed."""
    whole = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays}
    members = {name: as_bytes(np.asarray(array)) for name, array in whole.items()}
    kind, name = int(rng.integers(7)), one_of(rng, members)
    if kind == 0:
        array = np.asarray(whole[name])
        shape = one_of(rng, ((10**6, 10**6), (2**62, 2), (-1,), (0,), (10**15,), (array.size + 1,), (1,) * 20, ()))
        members[name] = as_bytes(array, shape)
    elif kind == 1:
        return envelope(archive([*members.items(), (name, members[one_of(rng, members)])]))
    elif kind == 2:
        return envelope(archive(members, one_of(rng, (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_STORED))))
    elif kind == 3:
        members[name] = as_bytes(np.zeros(one_of(rng, (10**6, 10**7)), dtype=np.asarray(whole[name]).dtype))
    elif kind == 4:
        members[name] = members[name][: int(rng.integers(len(members[name])))]
    elif kind == 5:
        text = one_of(
            rng,
            (
                "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
                "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
                "-" * 9000 + "1",
                "(" * 9000,
                "{'descr': '|V100000000', 'fortran_order': False, 'shape': (1,), }",
            ),
        )
        members[name] = (
            npy.magic(*one_of(rng, ((1, 0), (2, 0), (3, 0))))
            + len(text).to_bytes(2, "little")
            + text.encode()
            + bytes(24)
        )
    payload = bytearray(archive(members))
    for _ in range(int(rng.integers(1, 4)) if kind == 6 else 0):
        payload[one_of(rng, (int(rng.integers(len(payload))), -int(rng.integers(1, min(900, len(payload))))))] = (
            rng.integers(256)
        )
    return envelope(bytes(payload), one_of(rng, (model_file.VERSION,) * 4 + (5, 7)))


def forged(files, number):
    """The file of a case."""
    rng = np.random.default_rng([7, number])
    header, arrays = files[one_of(rng, files)]
    header, arrays = json.loads(json.dumps(header)), dict(arrays)
    way = rng.random()
    if way < 0.2:
        combined(rng, header, arrays, *files[one_of(rng, files)])
    if 0.1 < way < 0.85:
        gentle = rng.random() < 0.5  # what passes the first checks meets the later ones
        for _ in range(one_of(rng, (1, 1, 1, 2, 3))):
            with suppress(
                ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError
            ):  # of what others left
                one_of(rng, SAFE if gentle else MUTATIONS)(rng, header, arrays)
    if way >= 0.95 and header:
        return put_together(deep(rng, header), arrays)
    if way >= 0.85:
        return odd_archive(rng, header, arrays)
    return put_together(header, arrays)
