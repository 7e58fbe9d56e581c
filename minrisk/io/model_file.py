"""Model files: data, never code.

A file is MAGIC, format version (uint32), payload length (uint64), SHA-256 of the rest, payload; little-endian. The
payload is an ``.npz`` archive (`minrisk.io.arrays`) of the model's arrays and a JSON header. The
checksum tells damage; what damage cannot explain (a file made to harm) is stopped by `minrisk.io.schema`, which says
what a file may hold. How a fit was run (threads, verbosity) is not stored: the same model gives the same bytes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from numbers import Integral
from pathlib import Path
from typing import IO, Any

import numpy as np

import minrisk
from minrisk.costs.labels import plain_array
from minrisk.data.categories import Categories, Category
from minrisk.data.labels import name_out
from minrisk.estimator import BoostedClassifier
from minrisk.estimator.inputs import one_fit
from minrisk.estimator.parameters import check_parameters
from minrisk.io import arrays as io_arrays
from minrisk.io.arrays import SIGNED, Planes
from minrisk.io.atomic import write_beside
from minrisk.io.header import (
    LETTER_BYTES,
    RUN_PARAMETERS,
    SAID_OF_DATA,
    costs_out,
    labels_out,
    room_of_header,
    room_of_labels,
)
from minrisk.io.packed_trees import room_of_trees, stored
from minrisk.io.restore import check_scores, check_stages, restore, room_of_mantissas
from minrisk.io.schema import GROUPS, OTHERS, REGRESSION, Contents, check_range
from minrisk.model.additive import AdditiveModel
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.model.similarities import PackedSimilarities
from minrisk.model.trees import PackedTrees, by_levels

MAGIC = b"minrisk\n"  # what a model file begins with
VERSION = 6  # of the format
HEAD = struct.Struct("<IQ")
DIGEST_BYTES = 32  # of a SHA-256
LONGEST_SENTENCE = 400  # characters of a sentence in a message, at most
# What the standard library says of an archive that it cannot read
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, OverflowError)


class ModelFileError(ValueError):
    """Error about a file that is not a whole, undamaged model of minrisk.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import minrisk
    >>> path = pathlib.Path(tempfile.mkdtemp(), "no_model.minrisk")
    >>> _ = path.write_text("nothing")
    >>> try:
    ...     minrisk.load(path)
    ... except minrisk.ModelFileError:
    ...     print("This file is no model.")
    This file is no model.
    """


def save(estimator: BoostedClassifier, path: str | Path) -> None:
    """Write a fitted estimator to one file.

    The file holds the model, costs, labels and training curves. Reading it runs no code from the file.
    It is written beside `path` and then renamed, so that a failed write leaves an earlier file as it was.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier of minrisk.
    path : str or Path
        Where to write it. The folder must exist.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is not one of minrisk's, or its class labels are neither numbers, strings nor truth values.
    ValueError
        If it is beyond what a file holds, such as scores beyond float64; the message says what.
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
    estimator = one_fit(estimator)
    header, arrays = _parts(estimator)
    with write_beside(path) as beside, open(beside, "r+b") as file, _loadable():
        _write(file, header, arrays)
        check_stages(estimator.model_)
        check_scores(estimator.model_)


def load(path: str | Path) -> Any:
    """Read an estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    estimator
        Fitted, of the class that was saved. It predicts the same bits, with the same C library.

    Raises
    ------
    ModelFileError
        If the file is not a model of minrisk, is damaged or cut short, or has another format.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile, os, minrisk
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = minrisk.REBELClassifier(n_estimators=5).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.minrisk")
    >>> minrisk.save(model, path)
    >>> bool((minrisk.load(path).predict(X) == model.predict(X)).all())
    True
    """
    with open(path, "rb") as file, _seekable(file) as whole:
        size = _check_head(whole, path)
        try:
            return restore(Contents(io_arrays.ArchiveArrays(whole, size), size))
        except MemoryError:
            raise
        except BROKEN as error:
            what = f"its archive is broken ({type(error).__name__}: {error})."
        except OSError as error:
            if error.errno != errno.EINVAL:  # of a place before the file's beginning
                raise
            what = "its archive is broken."
        except ValueError as error:
            what = str(error)
        except Exception as error:  # whatever else a hostile file provokes is one kind of error to the caller
            what = f"its parts do not fit together ({type(error).__name__}: {error})."
        raise ModelFileError(f"{path} is not a valid minrisk model: {_sentence(what)}")


def _sentence(what: str) -> str:
    """Say what is wrong with a file, in one line that is not too long, whatever the file has put into it."""
    what, half = " ".join(what.split()), LONGEST_SENTENCE // 2
    return what if len(what) <= LONGEST_SENTENCE else f"{what[:half]} … {what[-half:]}"


@contextmanager
def _seekable(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Give the file, or what it gives in a temporary one, such as of a pipe."""
    if file.seekable():
        yield file
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        yield copy


def _check_head(file: IO[bytes], path: str | Path) -> int:
    """Return length of the payload of a file whose format and checksum are right; reads it to its end."""
    start = file.read(len(MAGIC) + HEAD.size + DIGEST_BYTES)
    if not start.startswith(MAGIC) or len(start) < len(MAGIC) + HEAD.size + DIGEST_BYTES:
        raise ModelFileError(f"{path} is not a minrisk model file, or is cut short: give a file made by minrisk.save.")
    head = start[len(MAGIC) : -DIGEST_BYTES]
    version, length = HEAD.unpack(head)
    digest, found = _digest(file, head)
    if digest != start[-DIGEST_BYTES:] or length != found:
        raise ModelFileError(f"{path} is damaged: its checksum does not match. Take a fresh copy or train again.")
    if version != VERSION:
        advice = "upgrade" if version > VERSION else "train again"
        raise ModelFileError(f"{path} has format {version}, this version of minrisk reads format {VERSION}: {advice}.")
    return found


# -- writing -------------------------------------------------------------------------------------------------------
def _write(file: IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, io_arrays.Array]) -> None:
    """Write a model, an array at a time, and make sure that it can be read again."""
    file.write(MAGIC + bytes(HEAD.size + DIGEST_BYTES))
    start = file.tell()
    size = _write_archive(file, header, arrays)
    contents = Contents(io_arrays.ArchiveArrays(file, size), size)
    for name, array in arrays.items():
        made = io_arrays.made(array)
        check_range(name, contents.parts[name], made.numbers if isinstance(made, Planes) else made, contents.sizes)
    head = HEAD.pack(VERSION, size)
    file.seek(start)
    digest = _digest(file, head)[0]
    file.seek(0)
    file.write(MAGIC + head + digest)


@contextmanager
def _loadable() -> Iterator[None]:
    """Say of what is refused here that it is the model's fault."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"This model cannot be saved, since no such file could be loaded: {error}") from None


def _write_archive(file: IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, io_arrays.Array]) -> int:
    """Write the payload from a file's place on; returns its length.

    A header that takes more memory than a file of this size may ask for is not packed, and blanks behind it make up
    what is still missing.
    """
    text, start = json.dumps(header, sort_keys=True, allow_nan=False).encode(), file.tell()
    needed, blanks, beside = room_of_header(text) + room_of_labels(header), 0, _room_beside(arrays)
    while True:
        file.seek(start)
        whole = {"header": np.frombuffer(text + b" " * blanks, dtype=np.uint8), **arrays}
        size = io_arrays.write(file, whole, ["header"] if blanks else (), beside)
        lacking = needed + LETTER_BYTES * blanks - io_arrays.most(size)
        if lacking <= 0:
            return size
        blanks += lacking // (io_arrays.ALLOWED_TIMES - LETTER_BYTES) + 1


def _digest(file: IO[bytes], head: bytes) -> tuple[bytes, int]:
    """Return SHA-256 of the head and the rest of a file, and how many bytes these are."""
    digest, found = hashlib.sha256(head), 0
    while chunk := file.read(io_arrays.CHUNK_BYTES):
        digest.update(chunk)
        found += len(chunk)
    return digest.digest(), found


def _parts(estimator: BoostedClassifier) -> tuple[dict[str, Any], dict[str, io_arrays.Array]]:
    """Return header and arrays of a fitted estimator."""
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(estimator, minrisk.ALGORITHMS):
        raise TypeError(f"Only minrisk estimators can be saved, got {type(estimator).__name__}.")
    if type(estimator) not in minrisk.ALGORITHMS:
        known = next(kind for kind in minrisk.ALGORITHMS if isinstance(estimator, kind)).__name__
        raise TypeError(
            f"Only minrisk's own estimators can be saved, got {type(estimator).__name__}, a subclass of {known}, whose "
            f"code no model file could hold: fit a {known}, or keep the object with joblib.dump."
        )
    check_is_fitted(estimator, "model_")
    model = estimator.model_
    if not isinstance(model.packed, PackedTrees | PackedSimilarities):
        raise TypeError(
            "A model with estimator= holds objects and cannot be saved, since model files hold no code: use "
            "weak_learner= instead, or keep the data and fit again."
        )
    for name in ("loss", "gamma", "phi"):
        if isinstance(getattr(estimator, name, ""), tuple):
            raise TypeError(
                f"A model with functions for {name} cannot be saved, since model files hold no code: use a name "
                "instead, or keep the data and fit again."
            )
    arrays = _model_arrays(model)
    if (regression := getattr(estimator, "cost_regression_", None)) is not None:
        packed, vectors = by_levels(regression.packed, regression.vectors)
        arrays |= {f"costs_{name}": np.atleast_1d(getattr(regression, name)) for name in REGRESSION}
        arrays |= {"costs_vectors": vectors} | {f"costs_{name}": array for name, array in stored(packed).items()}
    if (left_out := getattr(estimator, "left_out_", None)) is not None:
        arrays |= {f"left_out_{name}": column for name, column in left_out._asdict().items()}
        first = estimator._first_rounds
        arrays |= {f"first_{name}": array for name, array in _vectors_and_trees(first.packed, first.vectors).items()}
        arrays |= {f"first_{name}": getattr(first, name) for name in ("intercepts", "bounds")}
    if (trained := getattr(estimator, "trained_priors_", None)) is not None:
        arrays["trained_priors"] = trained
    arrays["train_loss"] = estimator.train_loss_
    for name in ("train_risk", "validation_risk", "validation_loss", "edges"):
        if (curve := getattr(estimator, name + "_", None)) is not None:
            arrays[name] = curve
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
    header |= {f: kind(said) for f, name, kind in SAID_OF_DATA if (said := getattr(estimator, name, None)) is not None}
    if columns := estimator._categories.columns:
        arrays["category_numbers"] = np.concatenate([column.table.ravel() for column in columns])
    return header | _columns_out(estimator._categories), arrays


def _model_arrays(model: AdditiveModel) -> dict[str, io_arrays.Array]:
    """Return the arrays of the additive model."""
    arrays = _vectors_and_trees(model.packed, model.vectors)
    arrays["intercept"] = model.intercept
    if model.corrected is not None:
        arrays["corrected"] = model.corrected
    if model.decoder is not None:
        arrays["code"] = model.decoder.words > 0
    if model.projection is not None:
        arrays |= {name: getattr(model.projection, name) for name in GROUPS["linear features"]}
    if (smooth := model.smooth) is not None:
        parts = smooth.center, smooth.scale, smooth.landmarks, smooth.vectors, np.array([smooth.width])
        arrays |= dict(zip(GROUPS["smooth scores"], parts, strict=True))
    if (cascade := model.cascade) is not None:
        arrays |= {name: getattr(cascade, name.removeprefix("cascade_")) for name in GROUPS["early decisions"]}
    return arrays


def _vectors_and_trees(packed: Any, vectors: Any) -> dict[str, io_arrays.Array]:
    """Return the arrays of learners and of the vectors that they name."""
    arrays = dict[str, io_arrays.Array]()
    if isinstance(packed, PackedTrees):
        packed, vectors = by_levels(packed, vectors)
        arrays |= stored(packed)
    else:
        arrays |= {field.name: getattr(packed, field.name) for field in fields(packed)}
    if isinstance(vectors, RoundedVectors):
        return arrays | {"mantissa_bytes": SIGNED.planes(vectors.mantissa.reshape(-1)), "exponent": vectors.exponent}
    return arrays | {"vectors": vectors}


def _room_beside(arrays: Mapping[str, io_arrays.Array]) -> int:
    """Return bytes of memory that loading takes for what arrays of bytes code."""
    room = 0
    for prefix in ("", *OTHERS.values()):
        if isinstance(nodes := arrays.get(f"{prefix}tree_nodes"), np.ndarray):
            room += room_of_trees(int(nodes.sum(dtype=np.int64)), len(nodes))
        if isinstance(mantissas := arrays.get(f"{prefix}mantissa_bytes"), Planes):
            room += room_of_mantissas(len(mantissas.numbers))
    return room


def _columns_out(categories: Categories) -> dict[str, Any]:
    """Return which columns hold categories, and which dates; nothing where all hold numbers."""
    columns = [_category_out(column) for column in categories.columns]
    dates = [day._asdict() for day in categories.day_columns]
    return {name: of for name, of in (("categories", columns), ("dates", dates)) if of}


def _category_out(column: Category) -> dict[str, Any]:
    """Return all of a column of categories but its table."""
    values = labels_out(plain_array(column.values))
    return {
        "position": column.position,
        "name": column.name,
        "ordered": column.ordered,
        "values": values,
        "added": column.table.shape[1],
    }
