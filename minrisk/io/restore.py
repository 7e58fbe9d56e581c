"""An estimator of the checked contents of a model file."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._typing import FloatArray
from minrisk.data.categories import Categories, Category, DayColumn
from minrisk.data.labels import name_in
from minrisk.decisions.left_out import LeftOut
from minrisk.ensemble.cost_regression import CostRegression
from minrisk.io.header import METHODS, SAID_OF_DATA, restore_labels
from minrisk.io.packed_trees import read_trees
from minrisk.io.schema import COLUMN_NAMES, GROUPS, LARGEST_SCORE, Contents, n_columns
from minrisk.model.additive import FINER, AdditiveModel
from minrisk.model.cascade import Cascade, stage_rounds
from minrisk.model.codes import Decoder
from minrisk.model.first_rounds import FirstRounds
from minrisk.model.projection import Projection, SmoothScores
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.model.similarities import PackedSimilarities
from minrisk.model.trees import PackedTrees


def restore(contents: Contents) -> Any:
    """Return the fitted estimator that a file holds.

    Raises
    ------
    ValueError
        If numbers are out of their range, trees do not hang together, or scores would not be finite.
    """
    header = contents.header
    estimator = METHODS[contents.algorithm](**header["parameters"])
    restore_labels(estimator, header, contents, contents.room)
    estimator.model_ = _model(contents)
    if contents.algorithm == "MinRiskClassifier":
        estimator.cost_regression_ = _regression(contents)
        estimator.left_out_, estimator._first_rounds = _left_out(contents)
        if "trained_priors" in contents:
            estimator.trained_priors_ = contents["trained_priors"]
    estimator._categories = _categories(contents)
    estimator.n_features_in_ = estimator._categories.n_features
    _restore_names(estimator, header)
    estimator._began_with = estimator._lasting_parameters()
    for field, name, _ in SAID_OF_DATA:
        if field in header:
            setattr(estimator, name, header[field])
    estimator.n_iter_ = contents.sizes["rounds"]
    for name, part in itertools.chain.from_iterable(GROUPS[group].items() for group in contents.groups):
        if part.is_curve or name == "edges":
            setattr(estimator, name + "_", contents[name])
    estimator._restore_facts(header["facts"])
    estimator._seed = header["seed"]
    return estimator


def _restore_names(estimator: Any, header: dict[str, Any]) -> None:
    """Set names of the columns of X, where they have some."""
    given = next((names for field in COLUMN_NAMES if (names := header.get(field)) is not None), None)
    if given is None:
        return
    names = tuple(map(name_in, given))
    if len(set(names)) < len(names) or 0 < sum(isinstance(name, str) for name in names) < len(names):
        raise ValueError("its columns must have different names, all of them texts or none.")
    estimator._column_names = names
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(given, dtype=object)


def _categories(contents: Contents) -> Categories:
    """Return the columns of categories."""
    columns, begin = [], 0
    flat = contents["category_numbers"] if "categories" in contents.groups else np.empty(0)
    for part in contents.header.get("categories", []):
        values = tuple(part["values"]["values"])
        end = begin + (len(values) + 1) * part["added"]
        table = flat[begin:end].reshape(len(values) + 1, part["added"])
        columns.append(Category(part["position"], part["name"], values, part["ordered"], table))
        begin = end
    day_columns = tuple(DayColumn(part["position"], part["role"]) for part in contents.header.get("dates", []))
    return Categories(tuple(columns), n_columns(contents.header), day_columns)


def _model(contents: Contents) -> AdditiveModel:
    """Return the additive model; trees are checked before the vectors are read, for the memory."""
    header, n_features = contents.header, contents.sizes["features"]
    projection = Projection(*_parts(contents, "linear features")) if "linear features" in contents.groups else None
    packed: Any
    if "similarities" in contents.groups:
        packed = PackedSimilarities(*_parts(contents, "similarities"))
        packed.check()
    else:
        packed = _trees(contents, contents.sizes["vectors"])
    shape = contents.sizes["vectors"], contents.sizes["scores"]
    vectors = _rounded_vectors(contents, shape) if "rounded vectors" in contents.groups else contents["vectors"]
    smooth = None
    if "smooth scores" in contents.groups:
        center, scale, landmarks, of_landmarks, width = _parts(contents, "smooth scores")
        smooth = SmoothScores(center, scale, landmarks, float(width[0]), of_landmarks)
    model = AdditiveModel(
        packed,
        vectors,
        contents["intercept"],
        n_features,
        header["link"],
        header["trees_per_round"],
        float(header["temperature"]),
        projection,
        smooth,
        contents.get("corrected"),
        _decoder(contents),
        _cascade(contents),
    )
    check_stages(model)
    check_scores(model)
    return model


def _trees(contents: Contents, n_vectors: int, prefix: str = "") -> PackedTrees:
    """Return the trees whose arrays have names that begin so."""

    def get(name: str) -> np.ndarray | None:
        return contents.get(prefix + name)

    return read_trees(get, n_vectors, contents.take)


def room_of_mantissas(n: int) -> int:
    """Return bytes of memory that so many take beside their bytes in a file."""
    return 2 * n


def _rounded_vectors(contents: Contents, shape: tuple[int, int], prefix: str = "") -> RoundedVectors:
    """Return vectors in 16 bits an entry, whose arrays have names that begin so."""
    contents.take(room_of_mantissas(shape[0] * shape[1]))
    return RoundedVectors(contents[f"{prefix}mantissa_bytes"].reshape(shape), contents[f"{prefix}exponent"])


def _cascade(contents: Contents) -> Cascade | None:
    """Return what left-out rows said of decisions after some of the rounds."""
    if "early decisions" not in contents.groups:
        return None
    cascade = Cascade(*_parts(contents, "early decisions"))
    if np.any(cascade.excess[1:] <= cascade.excess[:-1]):
        raise ValueError("what its early decisions may give away must stand in order.")
    return cascade


def _decoder(contents: Contents) -> Decoder | None:
    """Return what makes scores of decisions of bits."""
    if "output code" not in contents.groups:
        return None
    words = np.where(contents["code"], 1, -1).astype(np.int8)
    return Decoder(words, contents.header["facts"]["decoding"])


def check_stages(model: AdditiveModel) -> None:
    """Refuse early decisions where a fit makes none: a prediction has bounds for all pairs of scores at each stage."""
    if model.cascade is not None and not np.array_equal(model.cascade.rounds, stage_rounds(len(model))):
        raise ValueError("its early decisions must be made after the rounds at which a fit looks at them.")


def check_scores(model: AdditiveModel) -> None:
    """Refuse a model whose scores could be beyond float64; raises `ValueError`.

    They are divided by what they are rounded to, and by the temperatures of the model and of its stages.
    """
    packed: Any = model.packed
    with np.errstate(over="ignore"):  # what is infinite is too large
        most = _largest(model.intercept) + len(packed) * _response(packed) * _longest(model.vectors)
        if model.corrected is not None:
            most += len(packed) * _largest(model.corrected)
        if model.smooth is not None:
            most += len(model.smooth.vectors) * _largest(model.smooth.vectors)
        stages = [1.0] if model.cascade is None else model.cascade.temperature.tolist()
        grid = 1.0 if model._unit is None else FINER * model._unit
        if not most / min(1.0, model.temperature, grid, *stages) <= LARGEST_SCORE:
            raise ValueError("its scores could be beyond what a number holds.")


def _regression(contents: Contents) -> CostRegression | None:
    """Return what was learnt from costs per row; None where the costs are a matrix, or in the surrogate."""
    if "regression of costs" not in contents.groups:
        return None
    packed = _trees(contents, contents.sizes["cost vectors"], "costs_")
    unit, means, vectors = (contents[f"costs_{name}"] for name in ("unit", "means", "vectors"))
    bounds = check_bounds(contents, "costs_bounds", len(packed))
    if not _largest(means) + len(packed) * _largest(vectors) <= LARGEST_SCORE:
        raise ValueError("its costs of rows could be beyond what a number holds.")
    return CostRegression(float(unit[0]), means, packed, vectors, bounds)


def _left_out(contents: Contents) -> tuple[LeftOut, FirstRounds] | tuple[None, None]:
    """Return what is kept of rows that the fit left out, and who says the same of new ones; None: nothing is."""
    if "left-out rows" not in contents.groups:
        return None, None
    packed, link = _trees(contents, contents.sizes["first vectors"], "first_"), contents.header["link"]
    vectors = _rounded_vectors(contents, (contents.sizes["first vectors"], contents.sizes["classes"]), "first_")
    bounds = check_bounds(contents, "first_bounds", len(packed))
    first = FirstRounds(packed, vectors, contents["first_intercepts"], bounds, link)
    for fold in range(first.n_folds):
        check_scores(first.member(fold, contents.sizes["features"]))
    return LeftOut(*_parts(contents, "left-out rows")), first


def check_bounds(contents: Contents, name: str, n_trees: int) -> np.ndarray:
    """Return where trees begin that are for one class or fold after another; raises `ValueError`."""
    bounds = contents[name]
    if bounds[0] != 0 or bounds[-1] != n_trees or np.any(bounds[1:] < bounds[:-1]):
        raise ValueError(f"its array {name!r} must lead from 0 to the number of trees, in order.")
    return bounds


def _parts(contents: Contents, group: str) -> list[np.ndarray]:
    return [contents[name] for name in GROUPS[group]]


def _largest(numbers: FloatArray) -> float:
    """Return the largest number by size; 0 of none."""
    return float(max(numbers.max(initial=0.0), -numbers.min(initial=0.0)))


def _response(packed: PackedTrees | PackedSimilarities) -> float:
    """Return what a learner answers at most."""
    if isinstance(packed, PackedSimilarities) or packed.value is None:
        return 1.0
    return _largest(packed.value) + (0.0 if packed.slope is None else FAR)


def _longest(vectors: FloatArray | RoundedVectors) -> float:
    """Return the largest entry of all vectors."""
    if not isinstance(vectors, RoundedVectors):
        return _largest(vectors)
    return float(np.ldexp(1.0, 15 + int(vectors.exponent.max(initial=0))))
