"""Model files: data, never code.

A file is MAGIC, format version (uint32), payload length (uint64), SHA-256 of the rest, payload; little-endian. The
payload is an ``.npz`` archive (`minrisk.io.arrays`) of the model's arrays and a JSON header. The
checksum tells damage; what damage cannot explain (a file made to harm) is stopped by checking every index and shape
before a kernel sees it. How a fit was run (threads, verbosity) is not stored: the same model gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral
from pathlib import Path
from typing import IO, Any

import numpy as np

import minrisk
from minrisk._typing import FloatArray
from minrisk.categories import Categories, Category
from minrisk.cost_regression import CostRegression
from minrisk.estimator import BoostedClassifier
from minrisk.io import arrays as io_arrays
from minrisk.io.atomic import write_beside
from minrisk.io.labels import costs_out, labels_in, labels_out, name_in, name_out, restore_labels
from minrisk.learners.packed_similarities import PackedSimilarities
from minrisk.learners.rounded_vectors import RoundedVectors
from minrisk.learners.tree import PackedTrees
from minrisk.losses.links import LINKS
from minrisk.model import AdditiveModel
from minrisk.projection import Projection
from minrisk.smooth import SmoothScores
from minrisk.validation import check_parameters, plain_array

MAGIC = b"minrisk\n"
VERSION = 5
READABLE = (3, 4, 5)  # 3 knew no smooth scores, 4 no rounded vectors and nothing packed
HEAD = struct.Struct("<IQ")
DIGEST_BYTES = 32
CHUNK = 1 << 16  # bytes that are read at a time

RUN_PARAMETERS = ("n_jobs", "verbose", "warm_start", "random_state", "cost")  # not part of a model
FORMER = {"n_folds": "cv"}  # names of parameters in older files
ARRAYS = {"intercept": (np.float64, 1), "train_loss": (np.float64, 1)}
VECTORS = {"vectors": (np.float64, 2)}
ROUNDED = {"mantissa": (np.int16, 2), "exponent": (np.int16, 1)}  # in place of them
TREE_ARRAYS = {
    "feature": (np.int32, 1), "threshold": (np.float64, 1), "left": (np.int32, 1), "vector": (np.int32, 1),
    "gain": ((np.float64, np.float32), 1), "offsets": (np.int64, 1), "vector_offsets": (np.int64, 1),
    "depth": (np.int32, 1),
}  # fmt: skip
SIMILARITY_ARRAYS = {
    "anchors": (np.float64, 2), "anchor_row": (np.int64, 1), "near": (np.int32, 1), "far": (np.int32, 1),
    "span": (np.float64, 1), "real": (np.bool_, 1), "gain": (np.float64, 1), "center": (np.float64, 1),
    "scale": (np.float64, 1), "fill": (np.float64, 1),
}  # fmt: skip
CURVES = {"train_risk": (np.float64, 1), "validation_risk": (np.float64, 1), "validation_loss": (np.float64, 2)}
PROJECTION = {"center": (np.float64, 1), "scale": (np.float64, 1), "weights": (np.float64, 2)}
SMOOTH = {
    "smooth_center": (np.float64, 1), "smooth_scale": (np.float64, 1), "landmarks": (np.float64, 2),
    "smooth_vectors": (np.float64, 2), "smooth_width": (np.float64, 1),
}  # fmt: skip
REGRESSION = {"unit": (np.float64, 1), "means": (np.float64, 2), "vectors": (np.float64, 2), "bounds": (np.int64, 1)}
COSTS = {f"costs_{name}": kind for name, kind in (TREE_ARRAYS | REGRESSION).items()}  # learnt from costs per row
LEAVES = {"value": (np.float64, 1), "slope": (np.float64, 1), "origin": (np.float64, 1)}
COSTS_STATED = {"cost": (np.float64, 2), "stated": (np.float64, 2)}
OPTIONAL = {
    **CURVES, **PROJECTION, **SMOOTH, **COSTS, **LEAVES, **COSTS_STATED, "category_numbers": (np.float64, 1),
}  # fmt: skip


class ModelFileError(ValueError):
    """A file that is not a whole, undamaged minrisk model."""


def save(estimator: BoostedClassifier, path: str | Path) -> None:
    """Write a fitted estimator to one file.

    The file holds the model, costs, labels and training curves; it is written beside `path` and renamed, so a failed
    write leaves an earlier file as it was.

    Parameters
    ----------
    estimator : BoostedClassifier
        Fitted.
    path : str or Path
        Where to; the folder must exist.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is not one of minrisk's, or its class labels are neither numbers, strings nor truth values.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, os, minrisk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.minrisk")
    >>> minrisk.save(minrisk.REBELClassifier(n_estimators=5).fit(X, y), path)
    >>> minrisk.load(path).predict(X[:2])
    array([0, 0])
    """
    payload = _payload(estimator)
    head = HEAD.pack(VERSION, len(payload))
    digest = hashlib.sha256(head + payload).digest()
    with write_beside(path) as beside:
        beside.write_bytes(MAGIC + head + digest + payload)


def load(path: str | Path) -> Any:
    """Read an estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        Fitted, of the class that was saved; it predicts the same bits.

    Raises
    ------
    ModelFileError
        If the file is not a minrisk model, is damaged or cut short, or has another format.
    OSError
        If the file cannot be read.
    """
    with open(path, "rb") as file:
        whole = file if file.seekable() else io.BytesIO(file.read())
        size = _check_head(whole, path)
        try:
            return _restore(io_arrays.Unpacked(whole, size))
        except ModelFileError:
            raise
        except Exception as error:  # whatever a hostile payload provokes is one kind of error to the caller
            raise ModelFileError(f"{path} is not a valid minrisk model: {error}") from error


def _check_head(file: IO[bytes], path: str | Path) -> int:
    """Length of the payload of a file whose format and checksum are right; reads it to its end."""
    start = file.read(len(MAGIC) + HEAD.size + DIGEST_BYTES)
    if not start.startswith(MAGIC) or len(start) < len(MAGIC) + HEAD.size + DIGEST_BYTES:
        raise ModelFileError(f"{path} is not a minrisk model file, or is cut short: give a file made by minrisk.save.")
    head = start[len(MAGIC) : -DIGEST_BYTES]
    version, length = HEAD.unpack(head)
    digest, found = hashlib.sha256(head), 0
    while chunk := file.read(CHUNK):
        digest.update(chunk)
        found += len(chunk)
    if digest.digest() != start[-DIGEST_BYTES:] or length != found:
        raise ModelFileError(f"{path} is damaged: its checksum does not match. Take a fresh copy or train again.")
    if version not in READABLE:
        advice = "upgrade" if version > VERSION else "train again"
        known = ", ".join(map(str, READABLE[:-1])) + f" and {READABLE[-1]}"
        raise ModelFileError(f"{path} has format {version}, this version of minrisk reads {known}: {advice}.")
    return found


# -- writing -------------------------------------------------------------------------------------------------------
def _payload(estimator: BoostedClassifier) -> bytes:
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(estimator, minrisk.ALGORITHMS):
        raise TypeError(f"Only minrisk estimators can be saved, got {type(estimator).__name__}.")
    check_is_fitted(estimator, "model_")
    model = estimator.model_
    if not isinstance(model.packed, PackedTrees | PackedSimilarities):
        raise TypeError(
            "A model with estimator= holds objects and cannot be saved, since model files hold no code: use "
            "weak_learner= instead, or keep the data and fit again."
        )
    names = [field.name for field in fields(model.packed)]
    arrays = {name: part for name in names if (part := getattr(model.packed, name)) is not None}
    if isinstance(model.vectors, RoundedVectors):
        arrays |= {name: getattr(model.vectors, name) for name in ROUNDED}
    else:
        arrays["vectors"] = model.vectors
    arrays["intercept"] = model.intercept
    if model.projection is not None:
        arrays |= {name: getattr(model.projection, name) for name in PROJECTION}
    if (smooth := model.smooth) is not None:
        parts = smooth.center, smooth.scale, smooth.landmarks, smooth.vectors, np.array([smooth.width])
        arrays |= dict(zip(SMOOTH, parts, strict=True))
    if (regression := getattr(estimator, "cost_regression_", None)) is not None:
        arrays |= {f"costs_{name}": np.atleast_1d(getattr(regression, name)) for name in REGRESSION}
        arrays |= {f"costs_{name}": getattr(regression.packed, name) for name in TREE_ARRAYS}
    arrays["train_loss"] = estimator.train_loss_
    arrays |= {name: curve for name in CURVES if (curve := getattr(estimator, name + "_", None)) is not None}
    costs, labels = costs_out(estimator)
    arrays |= costs
    features, given = getattr(estimator, "feature_names_in_", None), estimator.get_params(deep=False)
    header: dict[str, Any] = {
        "algorithm": type(estimator).__name__,
        "parameters": {
            name: value
            for name, value in check_parameters(type(estimator).__name__, given, estimator._rules).items()
            if name not in RUN_PARAMETERS and (name != "cv" or isinstance(value, Integral))  # splits are of other rows
        },
        **labels,
        "n_features": int(model.n_features),
        "feature_names": None if features is None else [str(name) for name in features],
        "link": model.link,
        "trees_per_round": int(model.trees_per_round),
        "temperature": float(model.temperature),
        "facts": estimator._facts(),
        "seed": int(estimator._seed),
    }
    if features is None and (own := estimator._column_names):
        if all(isinstance(name, Integral) for name in own):
            header["feature_numbers"] = [int(name) for name in own]
        else:
            header["feature_labels"] = [name_out(name) for name in own]
    if (target := getattr(estimator, "target_name_", None)) is not None:
        header["target"] = str(target)
    if columns := estimator._categories.columns:
        header["categories"] = [_category_out(column) for column in columns]
        arrays["category_numbers"] = np.concatenate([column.table.ravel() for column in columns])
    text = json.dumps(header, sort_keys=True, allow_nan=False).encode()
    return io_arrays.pack({"header": np.frombuffer(text, dtype=np.uint8), **arrays})


def _category_out(column: Category) -> dict[str, Any]:
    """All of a column of categories but its table."""
    values = labels_out(plain_array(column.values))
    return {"position": column.position, "name": column.name, "ordered": column.ordered, "values": values,
            "added": column.table.shape[1]}  # fmt: skip


# -- reading -------------------------------------------------------------------------------------------------------
Arrays = Mapping[str, np.ndarray]


def _restore(arrays: io_arrays.Unpacked) -> Any:
    _check_kinds(arrays)
    header = json.loads(arrays["header"].tobytes())
    algorithms = {algorithm.__name__: algorithm for algorithm in minrisk.ALGORITHMS}
    if header["algorithm"] not in algorithms:
        raise ModelFileError(f"algorithm {header['algorithm']!r} is unknown.")
    parameters = {FORMER.get(name, name): value for name, value in header["parameters"].items()}
    if "cost" in parameters:  # which might be the path of any file
        raise ModelFileError("its costs are not among its arrays.")
    estimator = algorithms[header["algorithm"]](**parameters)
    check_parameters(header["algorithm"], estimator.get_params(deep=False), estimator._rules)
    restore_labels(estimator, header, arrays)
    estimator._restore_facts(header["facts"])
    estimator.model_ = _restore_model(header, arrays, estimator._n_outputs())
    if isinstance(estimator, minrisk.MinRiskClassifier):
        estimator.cost_regression_ = _restore_regression(arrays, estimator)
    estimator._categories = _restore_categories(header, arrays, estimator.model_.n_features)
    estimator.n_features_in_ = estimator._categories.n_features
    if header["feature_names"] is not None:
        if len(header["feature_names"]) != estimator.n_features_in_:
            raise ModelFileError("there is not one name per feature.")
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    names = header["feature_names"] or header.get("feature_numbers") or header.get("feature_labels")
    if names is not None:
        names = tuple(map(name_in, names))
        if len(names) != estimator.n_features_in_ or 0 < sum(isinstance(name, str) for name in names) < len(names):
            raise ModelFileError("there is not one name per feature.")
        estimator._column_names = names
    estimator._began_with = estimator._lasting_parameters()
    if "target" in header:
        estimator.target_name_ = str(header["target"])
    estimator.n_iter_ = len(estimator.model_)
    for name in ("train_loss", *CURVES):
        curve = arrays.get(name)
        if name in ("train_loss", "train_risk") and curve is not None and len(curve) != estimator.n_iter_ + 1:
            raise ModelFileError(f"{name} must have one value per round and one before.")
        if curve is not None:
            setattr(estimator, name + "_", curve)
    estimator._seed = int(header["seed"])
    return estimator


def _check_kinds(arrays: io_arrays.Unpacked) -> None:
    """Refuse arrays that are missing, of the wrong dtype or number of dimensions; none is read."""
    learners = SIMILARITY_ARRAYS if "anchors" in arrays else TREE_ARRAYS
    vectors = ROUNDED if "mantissa" in arrays else VECTORS
    needed: dict[str, tuple[Any, int]] = {"header": (np.uint8, 1), **ARRAYS, **learners, **vectors}
    for name, (dtypes, n_dimensions) in {**OPTIONAL, **needed}.items():
        if name not in arrays and name not in needed:
            continue
        dtype, shape = arrays.kind(name) if name in arrays else (None, ())
        if dtype not in (dtypes if isinstance(dtypes, tuple) else (dtypes,)) or len(shape) != n_dimensions:
            raise ModelFileError(f"array {name!r} is missing or of the wrong kind.")


def _restore_categories(header: dict[str, Any], arrays: Arrays, n_numbers: int) -> Categories:
    """The columns of categories of a model that sees so many numbers."""
    flat, columns, begin = arrays.get("category_numbers", np.empty(0)), [], 0
    for part in header.get("categories", []):
        values = tuple(labels_in(part["values"]).tolist())
        shape = len(values) + 1, int(part["added"])
        end = begin + math.prod(shape)
        table = flat[begin:end].reshape(shape)  # raises for what does not fit, also for a negative number
        columns.append(Category(part["position"], part["name"], values, bool(part["ordered"]), table))
        begin = end
    d = n_numbers - sum(column.table.shape[1] for column in columns)
    positions = [column.position for column in columns]
    whole = all(type(j) is int for j in positions) and positions == sorted(set(positions))
    if not whole or begin != len(flat) or (columns and not 0 <= positions[0] <= positions[-1] < d):
        raise ModelFileError("the columns of categories do not fit the features.")
    if not np.all(np.isfinite(flat)):
        raise ModelFileError("a number of the categories is not finite.")
    return Categories(tuple(columns), d)


def _restore_model(header: dict[str, Any], arrays: Arrays, n_outputs: int) -> AdditiveModel:
    kind: Any = PackedSimilarities if "anchors" in arrays else PackedTrees
    packed = kind(**{field.name: arrays.get(field.name) for field in fields(kind)})
    n_features = int(header["n_features"])
    projection = None if kind is PackedSimilarities else _restore_projection(arrays, n_features)
    packed.check(n_features + (0 if projection is None else projection.n_columns))
    vectors, intercept = _restore_vectors(arrays), arrays["intercept"]  # now that the checks need no memory any more
    if vectors.shape != (packed.vector_offsets[-1], n_outputs) or intercept.shape != (n_outputs,):
        raise ModelFileError("there must be as many vectors as the learners name, with one entry per decision.")
    if not np.all(np.isfinite(intercept)):
        raise ModelFileError("the intercept is not finite.")
    if header["link"] is not None and header["link"] not in LINKS:
        raise ModelFileError(f"link {header['link']!r} is unknown.")
    per_round = header["trees_per_round"]
    if type(per_round) is not int or per_round < 1 or len(packed) % per_round:
        raise ModelFileError("trees_per_round must be a positive whole number that divides the number of trees.")
    temperature = float(header["temperature"])
    if not 0 < temperature < np.inf:
        raise ModelFileError(f"temperature {temperature} is not a positive number.")
    smooth = _restore_smooth(arrays, n_features, n_outputs)
    return AdditiveModel(
        packed, vectors, intercept, n_features, header["link"], per_round, temperature, projection, smooth
    )


def _restore_regression(arrays: Arrays, estimator: Any) -> CostRegression | None:
    """What was learnt from costs per row; None where the costs are a matrix, or in the surrogate."""
    model, D = estimator.model_, len(estimator.decisions_)
    if estimator.cost_ is not None or model.link is None:
        return None
    if not all(name in arrays for name in COSTS):
        raise ModelFileError("there must be a cost matrix, or what was learnt from costs per row.")
    packed = PackedTrees(value=None, **{name: arrays[f"costs_{name}"] for name in TREE_ARRAYS})
    packed.check(model.n_features)
    unit, means, vectors, bounds = (arrays[f"costs_{name}"] for name in REGRESSION)
    if means.shape != (len(estimator.classes_), D) or vectors.shape != (packed.vector_offsets[-1], D):
        raise ModelFileError("costs per class, and the vectors of their trees, need one entry per decision.")
    if unit.shape != (1,) or not all(np.all(np.isfinite(part)) for part in (unit, means, vectors)):
        raise ModelFileError("a cost is not finite.")
    within = bounds.shape == (len(means) + 1,) and bounds[0] == 0 and bounds[-1] == len(packed)
    if not within or np.any(bounds[1:] < bounds[:-1]):
        raise ModelFileError("each class must have a range of the trees that say its costs.")
    return CostRegression(float(unit[0]), means, packed, vectors, bounds)


def _restore_vectors(arrays: Arrays) -> FloatArray | RoundedVectors:
    if "mantissa" in arrays:
        rounded = RoundedVectors(arrays["mantissa"], arrays["exponent"])
        rounded.check()
        return rounded
    if not np.all(np.isfinite(vectors := arrays["vectors"])):
        raise ModelFileError("a vector is not finite.")
    return vectors


def _restore_projection(arrays: Arrays, n_features: int) -> Projection | None:
    parts = [arrays[name] for name in PROJECTION if name in arrays]
    if not parts:
        return None
    if len(parts) != len(PROJECTION) or any(len(part) != n_features for part in parts):
        raise ModelFileError("the linear features need a center, a scale and weights, each with a row per feature.")
    if not all(np.all(np.isfinite(part)) for part in parts):
        raise ModelFileError("a number of the linear features is not finite.")
    return Projection(*parts)


def _restore_smooth(arrays: Arrays, n_features: int, n_outputs: int) -> SmoothScores | None:
    parts = [arrays[name] for name in SMOOTH if name in arrays]
    if not parts:
        return None
    m = arrays["landmarks"].shape[1] if "landmarks" in arrays else 0
    shapes = [(n_features,), (n_features,), (n_features, m), (m, n_outputs), (1,)]
    if [part.shape for part in parts] != shapes:
        raise ModelFileError("the smooth scores need a center, a scale, landmarks, vectors and a width that fit.")
    if not all(np.all(np.isfinite(part)) for part in parts) or parts[-1][0] < 0:
        raise ModelFileError("a number of the smooth scores is not finite, or their width is negative.")
    center, scale, landmarks, vectors, width = parts
    return SmoothScores(center, scale, landmarks, float(width[0]), vectors)
