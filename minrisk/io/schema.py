"""What a model file may hold: its arrays, the fields of its header, and what ties them to each other.

A file is data of a stranger. `Contents` looks at all of it before anything is made of it: at the header
(`minrisk.io.header`), at the dtypes and shapes of all arrays, at laws between them, and at the numbers of an array when
it is read. What a kernel follows as an index is in the range that stands here beside its name;
docs/more/developers/model_files.md says which kernel follows which. Only how the nodes of a tree hang together is left
to `minrisk.io.packed_trees`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from minrisk.costs.units import LARGEST_FLOAT
from minrisk.data.distances import FARTHEST
from minrisk.io.arrays import REALS, SIGNED, WHOLE, Allowance, ArchiveArrays, PlaneCoding
from minrisk.io.header import METHODS, read_header, short_repr
from minrisk.losses import POSTERIOR
from minrisk.model.cascade import NEVER
from minrisk.model.rounded_vectors import EXPONENTS

LARGEST_SHARE = 1e100  # of a gain: sums of them stay finite
LARGEST_SCORE = 2.0**1020  # what scores, over the temperature, may come to: they and their differences stay finite
WIDE = float(np.finfo(np.float32).max)  # the largest float32: weights of linear features are no larger
SPANS = 1e-300, 1e300  # squared distances whose inverse is finite
HIGHEST = math.nextafter(LARGEST_FLOAT, 0.0)  # of thresholds: a number is above, as in every split of a fit
MOST_LINEAR = 256  # linear features: a fit makes about 40, and a prediction has memory for each in every row
COURSE = 1e300  # of a curve: differences of two are finite


# -- arrays ------------------------------------------------------------------------------------------------------------
class Numbers(NamedTuple):
    """An array: its shape in named sizes, its dtypes, and the range of its numbers, which NaN is outside of.

    A size is "trees", or "trees + 1" where there is one more. Where the upper end is a size, numbers are below it. Of
    a curve, which only people look at, NaN and what is beyond `COURSE` are read as its end. Where there is a coding,
    the array is of bytes, and the range is that of the numbers that they code.
    """

    shape: tuple[str, ...]
    dtypes: tuple[type[np.generic], ...] = (np.float64,)
    least: float = -LARGEST_FLOAT
    most: float | str = LARGEST_FLOAT
    is_curve: bool = False
    coding: PlaneCoding | None = None


INT16, INT32, INT64, BYTES = (np.int16,), (np.int32,), (np.int64,), (np.uint8,)
BOTH = (np.float64, np.float32)
TREES = {
    "tree_nodes": Numbers(("trees",), INT32, 1, "nodes + 1"),
    "leaf_bits": Numbers(("leaf bytes",), BYTES, 0, 255),
    "leaf_vector_bytes": Numbers(("naming leaves", "vector width"), BYTES, 0, "vectors", coding=WHOLE),
    "feature_bytes": Numbers(("splits", "feature width"), BYTES, 0, "split features", coding=WHOLE),
    "place_bytes": Numbers(("splits", "place width"), BYTES, 0, "thresholds", coding=WHOLE),
    "gain_bytes": Numbers(("splits", "gain width"), BYTES, 0, LARGEST_SHARE, coding=REALS),
    "table_feature": Numbers(("split features",), INT32, 0, "columns"),
    "table_count": Numbers(("split features",), INT32, 1, "thresholds + 1"),
    "table_threshold": Numbers(("thresholds",), least=-math.inf, most=HIGHEST),
}
SIMILARITIES = {
    "anchors": Numbers(("anchors", "features"), least=-FARTHEST, most=FARTHEST),
    "anchor_row": Numbers(("anchors",), INT64, 0, math.inf),
    "near": Numbers(("trees",), INT32, -1, "anchors"),
    "far": Numbers(("trees",), INT32, -1, "anchors"),
    "span": Numbers(("trees",), least=SPANS[0], most=SPANS[1]),
    "real": Numbers(("trees",), (np.bool_,), 0, 1),
    "gain": Numbers(("trees",), least=0, most=LARGEST_SHARE),
    "center": Numbers(("features",)),
    "scale": Numbers(("features",), least=math.ulp(0.0)),
    "fill": Numbers(("features",)),
}
OTHERS = {"cost": "costs_", "first": "first_"}  # what names of arrays of trees begin with that are not the model's
FIRST_ROUNDS = {
    "mantissa_bytes": Numbers(("first mantissas", "first width"), BYTES, -(1 << 15), (1 << 15) - 1, coding=SIGNED),
    "exponent": Numbers(("first vectors",), INT16, *EXPONENTS),
    "intercepts": Numbers(("folds", "classes")),
    "bounds": Numbers(("folds + 1",), INT64, 0, "first trees + 1"),
}
REGRESSION = {
    "unit": Numbers(("one",), least=0),
    "means": Numbers(("classes", "decisions")),
    "vectors": Numbers(("cost vectors", "decisions")),
    "bounds": Numbers(("classes + 1",), INT64, 0, "cost trees + 1"),
}
Group = Mapping[str, Numbers]


def _others(trees: Group, of: str, beside: Group) -> Group:
    """Return arrays of trees that are not the model's, and of what belongs to them; they see the features only."""
    ends = {name: f"{of} {part.most}" if isinstance(part.most, str) else part.most for name, part in trees.items()}
    ends["table_feature"] = "features"
    parts = {
        name: part._replace(shape=tuple(f"{of} {size}" for size in part.shape), most=ends[name])
        for name, part in trees.items()
    }
    return {f"{OTHERS[of]}{name}": part for name, part in {**parts, **beside}.items()}


GROUPS: dict[str, Group] = {  # of arrays that a file holds all of, or none
    "model": {"intercept": Numbers(("scores",)), "train_loss": Numbers(("rounds + 1",), is_curve=True)},
    "trees": TREES,
    "similarities": SIMILARITIES,
    "vectors": {"vectors": Numbers(("vectors", "scores"))},
    "rounded vectors": {
        "mantissa_bytes": Numbers(("mantissas", "mantissa width"), BYTES, -(1 << 15), (1 << 15) - 1, coding=SIGNED),
        "exponent": Numbers(("vectors",), INT16, *EXPONENTS),
    },
    "stages": {"corrected": Numbers(("stage vectors", "scores"))},
    "early decisions": {
        "cascade_rounds": Numbers(("cascade stages",), INT64, 1, "rounds + 1"),
        "cascade_excess": Numbers(("excesses",), least=0, most=1),
        "cascade_leads": Numbers(("excesses", "cascade stages"), least=0, most=NEVER),
        "cascade_ending": Numbers(("cascade stages",), least=0, most=NEVER),
        "cascade_temperature": Numbers(("cascade stages",), least=1e-100, most=1e100),
    },
    "output code": {"code": Numbers(("decisions", "scores"), (np.bool_,), 0, 1)},
    "values": {"leaf_value": Numbers(("leaves",))},
    "lines": {
        "leaf_slope": Numbers(("leaves",)),
        "leaf_origin": Numbers(("leaves",)),
        "leaf_feature": Numbers(("leaves",), INT32, 0, "columns"),
        "leaf_gain": Numbers(("leaves",), BOTH, 0, LARGEST_SHARE),
    },
    "linear features": {
        "center": Numbers(("features",)),
        "scale": Numbers(("features",), least=0, most=LARGEST_SHARE),
        "weights": Numbers(("features", "linear"), least=-WIDE, most=WIDE),
    },
    "smooth scores": {
        "smooth_center": Numbers(("features",)),
        "smooth_scale": Numbers(("features",), least=0),
        "landmarks": Numbers(("features", "landmarks")),
        "smooth_vectors": Numbers(("landmarks", "scores")),
        "smooth_width": Numbers(("one",), least=math.ulp(0.0)),
    },
    "regression of costs": _others(TREES, "cost", REGRESSION),
    "first rounds": _others(TREES, "first", FIRST_ROUNDS),
    "left-out rows": {
        "left_out_probabilities": Numbers(("left-out rows", "classes"), (np.float32,), 0, 1),
        "left_out_labels": Numbers(("left-out rows",), INT64, 0, "classes"),
        "left_out_folds": Numbers(("left-out rows",), INT64, 0, "folds"),
        "left_out_weight": Numbers(("left-out rows",), least=0),
        "left_out_told": Numbers(("left-out rows", "classes"), (np.float32,), 0, 1),
    },
    "class shares": {"trained_priors": Numbers(("classes",), least=0, most=1)},
    "costs": {"cost": Numbers(("classes", "decisions"), least=0)},
    "stated costs": {"stated": Numbers(("stated classes", "stated decisions"), least=0)},
    "categories": {"category_numbers": Numbers(("category numbers",))},
    "training costs": {"train_risk": Numbers(("rounds + 1",), is_curve=True)},
    "edges": {"edges": Numbers(("rounds",), least=0, most=1)},
    "validated costs": {"validation_risk": Numbers(("validated",), is_curve=True)},
    "validated loss": {"validation_loss": Numbers(("checkpoints", "two"), is_curve=True)},
}


# -- the whole ---------------------------------------------------------------------------------------------------------
ANY = {"model", "vectors", "costs", "stated costs", "categories"}  # groups that any model may have
LINKS_OF = {"softmax": "softmax", "exponential": "sigmoid2"}  # by surrogate; those trained on costs have none


def named_sizes(
    parts: Mapping[str, Numbers], kinds: Mapping[str, tuple[np.dtype, tuple[int, ...]]], known: Mapping[str, int]
) -> dict[str, int]:
    """Return what each name of a size stands for: what is known, else what the first array says that has it in its
    shape.

    Raises
    ------
    ValueError
        If an array has another dtype, or other dimensions.
    """
    sizes = {"one": 1, "two": 2, **known}
    follow = {f"{of}{size}" for of in ("", *map("{} ".format, OTHERS)) for size in ("leaves", "leaf bytes")}
    follow |= {"mantissas", "first mantissas"}
    for name, part in parts.items():
        dtype, shape = kinds[name]
        if dtype not in part.dtypes or len(shape) != len(part.shape):
            wanted = " or ".join(np.dtype(kind).name for kind in part.dtypes)
            raise ValueError(
                f"its array {name!r} must be of {wanted} in {len(part.shape)} dimensions, got {dtype} in {len(shape)}."
            )
        for size, length in zip(part.shape, shape, strict=True):
            base, one_more, _ = size.partition(" + 1")
            if base not in follow:
                sizes.setdefault(base, length - bool(one_more))
        if part.coding is not None and shape[1] not in part.coding.widths:
            widths = ", ".join(map(str, part.coding.widths))
            raise ValueError(f"its array {name!r} must be of numbers of {widths} bytes, got {shape[1]}.")
    return {"columns": sizes["features"] + sizes.get("linear", 0), **_that_follow(sizes), **sizes}


def _that_follow(sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes that follow from others: each tree has a leaf more than splits."""
    found = {"mantissas": sizes.get("vectors", 0) * sizes.get("scores", 0)}
    found["first mantissas"] = sizes.get("first vectors", 0) * sizes.get("classes", 0)
    for of in ("", *map("{} ".format, OTHERS)):
        if f"{of}splits" in sizes:
            n_splits, n_trees = sizes[f"{of}splits"], sizes[f"{of}trees"]
            nodes = 2 * n_splits + n_trees
            found |= {f"{of}nodes": nodes, f"{of}leaves": n_splits + n_trees, f"{of}leaf bytes": -(-nodes // 8)}
    return found


def size_of(size: str, sizes: Mapping[str, int]) -> int:
    """Return a size, or one more."""
    name, one_more, _ = size.partition(" + 1")
    return sizes[name] + bool(one_more)


def check_shape(name: str, part: Numbers, shape: tuple[int, ...], sizes: Mapping[str, int]) -> None:
    """Compare an array's shape with what it should be; raises `ValueError`."""
    expected = tuple(size_of(size, sizes) for size in part.shape)
    if shape != expected:
        raise ValueError(f"its array {name!r} must be of shape ({', '.join(part.shape)}) = {expected}, got {shape}.")


def check_range(name: str, part: Numbers, array: np.ndarray, sizes: Mapping[str, int]) -> None:
    """Compare an array's numbers with the range that its name has; raises `ValueError`."""
    if part.is_curve or not array.size:
        return
    numbers = array.view(np.uint8) if array.dtype == np.bool_ else array
    most = size_of(part.most, sizes) - 1 if isinstance(part.most, str) else part.most
    low, high = numbers.min().item(), numbers.max().item()  # NaN, where there is any
    if not (part.least <= low and high <= most):
        raise ValueError(f"its array {name!r} must hold numbers from {part.least:g} to {most:g}, got {low} to {high}.")


class Contents(Mapping[str, np.ndarray]):
    """The header and the arrays of a model file, which fit together; numbers are compared with their range when read.

    Parameters
    ----------
    archive : ArchiveArrays
    size : int
        Bytes of the file.

    Attributes
    ----------
    header : dict
        See `minrisk.io.header.HEADER`; "parameters" are those of a model.
    groups : set of str
        Keys of `GROUPS` that the file holds.
    parts : dict
        What is asked of each of its arrays.
    sizes : dict
        What the shapes of arrays name.
    room : Allowance
        Memory that the file may ask for beside its arrays.

    Raises
    ------
    ValueError
        Saying in one sentence what is missing, unknown or does not fit.
    """

    def __init__(self, archive: ArchiveArrays, size: int) -> None:
        self._archive, self.room = archive, Allowance(size)
        if "header" not in archive or archive.kind("header")[0] != np.uint8 or len(archive.kind("header")[1]) != 1:
            raise ValueError("it has no header.")
        self.header = header = read_header(archive["header"].tobytes(), self.room)
        self.groups, self.parts = self._found()
        kinds = {name: archive.kind(name) for name in self.parts}
        labels = ("classes", "decisions", "stated_classes", "stated_decisions")
        known = {name.replace("_", " "): len(header[name]["values"]) if name in header else 0 for name in labels}
        self.sizes = named_sizes(self.parts, kinds, {"features": header["n_features"], **known})
        for name, (_, shape) in kinds.items():
            check_shape(name, self.parts[name], shape, self.sizes)
        for law in LAWS:
            if not law.holds(self):
                raise ValueError(law.sentence)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __contains__(self, name: object) -> bool:
        return name in self.parts

    def __getitem__(self, name: str) -> np.ndarray:
        array = self._archive[name]
        if self.parts[name].is_curve:
            np.nan_to_num(array, copy=False, nan=COURSE, posinf=COURSE, neginf=-COURSE)
            np.clip(array, -COURSE, COURSE, out=array)
        if (coding := self.parts[name].coding) is not None:
            array = coding.numbers(array)
        check_range(name, self.parts[name], array, self.sizes)
        return array

    def take(self, n_bytes: int) -> None:
        """Say that so much memory is about to be taken for what arrays code; raises `ValueError` if it is too much."""
        self._archive.allowance.take(n_bytes)

    @property
    def algorithm(self) -> str:
        """Return name of the estimator."""
        return str(self.header["algorithm"])

    @property
    def is_posterior(self) -> bool:
        """Tell whether it is a `MinRiskClassifier` whose surrogate estimates probabilities."""
        return self.header["facts"].get("surrogate") in POSTERIOR

    def _found(self) -> tuple[set[str], dict[str, Numbers]]:
        """Return the groups of arrays that the file holds, and what is asked of each array."""
        names, groups = set(self._archive) - {"header"}, set[str]()
        parts: dict[str, Numbers] = {}
        others = {"trees", "linear features"} if "anchors" in names else {"similarities"}  # arrays of the same names
        for group, arrays in GROUPS.items():
            if group in others or arrays.keys().isdisjoint(names):
                continue
            if missing := arrays.keys() - names:
                raise ValueError(f"its array {min(missing)!r} is missing.")
            groups.add(group)
            parts |= arrays
        if unknown := names - parts.keys():
            raise ValueError(f"it has an array {short_repr(min(unknown))}, which does not belong to such a model.")
        if strange := groups - ANY - METHODS[self.algorithm]._arrays:
            raise ValueError(f"it is of {self.algorithm}, which has no {min(strange)}.")
        return groups, parts


# -- laws between the parts --------------------------------------------------------------------------------------------
class Law(NamedTuple):
    """What must hold of the header, the groups and the sizes, and what is said where it does not."""

    sentence: str
    holds: Callable[[Contents], bool]


def _either(f: Contents, *groups: str) -> bool:
    """Tell whether the file holds one of these groups and no other of them."""
    return len(f.groups.intersection(groups)) == 1


def _scores_fit(f: Contents) -> bool:
    """Tell whether scores are of decisions; where they estimate probabilities alone, of classes; or bits that a code
    is for.
    """
    K, D, S = (f.sizes[name] for name in ("classes", "decisions", "scores"))
    if f.algorithm == "MCBoostClassifier" and f.header["parameters"].get("loss") == "mc":
        return S == K and (D >= K or _by_probabilities(f))
    if "output code" in METHODS[f.algorithm]._arrays:
        return "output code" in f.groups and S > 0 and D == K
    return S == (K if f.is_posterior else D)


def _by_probabilities(f: Contents) -> bool:
    """Tell whether MCBoost decides by Bayes' rule."""
    return bool(f.header["parameters"].get("decision") == "bayes")


def _link_fits(f: Contents) -> bool:
    """Tell whether probabilities are of classes, by a link that the algorithm has."""
    link, by_class = f.header["link"], f.sizes["scores"] == f.sizes["classes"]
    if f.algorithm == "MinRiskClassifier":
        return bool(link == LINKS_OF.get(f.header["facts"]["surrogate"]))
    return link is None or (by_class and link in METHODS[f.algorithm]._links)


def _categories_fit(f: Contents) -> bool:
    """Tell whether columns of categories are among the features, each once, and their tables fill the array."""
    columns = f.header.get("categories", [])
    places = [column["position"] for column in columns]
    numbers = sum((len(column["values"]["values"]) + 1) * column["added"] for column in columns)
    ascending = all(one < other for one, other in pairwise(places))
    return ascending and numbers == f.sizes.get("category numbers", 0) and max(places, default=0) < n_columns(f.header)


def _dates_fit(f: Contents) -> bool:
    """Tell whether columns of dates are among the features, each once, and none is one of categories."""
    places = [column["position"] for column in f.header.get("dates", [])]
    others = {column["position"] for column in f.header.get("categories", [])}
    ascending = all(one < other for one, other in pairwise(places))
    return ascending and others.isdisjoint(places) and max(places, default=0) < n_columns(f.header)


def n_columns(header: Mapping[str, Any]) -> int:
    """Return columns of X: the features, less those that categories add."""
    return int(header["n_features"] - sum(column["added"] for column in header.get("categories", [])))


def _names_fit(f: Contents) -> bool:
    """Tell whether columns of X have no names, or one each in one place of the header."""
    given = [names for field in COLUMN_NAMES if (names := f.header.get(field)) is not None]
    return not given or [len(names) for names in given] == [n_columns(f.header)]


def _selection_fits(f: Contents) -> bool:
    """Tell whether a `MinRiskClassifier` is made of candidates that it reports."""
    facts = f.header["facts"]
    kept = [line for line in facts.get("selection", []) if line["surrogate"] == facts["surrogate"] and line["share"]]
    return bool(kept) or f.algorithm != "MinRiskClassifier"


COLUMN_NAMES = ("feature_names", "feature_numbers", "feature_labels")
LAWS = (
    Law("it has no intercept and no training loss.", lambda f: "model" in f.groups),
    Law("it has neither trees nor similarities.", lambda f: _either(f, "trees", "similarities")),
    Law("it must have vectors or rounded vectors, and not both.", lambda f: _either(f, "vectors", "rounded vectors")),
    Law(
        "its similarities must have one vector each, and nothing that belongs to trees.",
        lambda f: (
            "trees" in f.groups
            or (f.sizes["vectors"] == f.sizes["trees"] and f.groups.isdisjoint({"values", "rounded vectors"}))
        ),
    ),
    Law(
        "it is of LocalizedSimilaritiesClassifier, whose rounds must be of similarities.",
        lambda f: f.algorithm != "LocalizedSimilaritiesClassifier" or "trees" not in f.groups or f.sizes["trees"] == 0,
    ),
    Law(f"it has more than {MOST_LINEAR} linear features.", lambda f: f.sizes.get("linear", 0) <= MOST_LINEAR),
    Law(
        "its vectors after every round must be 1 + 2 + ... of them, and the last ones its vectors.",
        lambda f: (
            "stages" not in f.groups
            or (
                (f.sizes["stage vectors"] == f.sizes["trees"] * (f.sizes["trees"] + 1) // 2)
                and f.sizes["vectors"] == f.sizes["trees"]
            )
        ),
    ),
    Law(
        "its leaves must name a vector each, or none does.",
        lambda f: all(
            f.sizes.get(f"{of}naming leaves", 0) in (0, f.sizes.get(f"{of}leaves", 0))
            for of in ("", *map("{} ".format, OTHERS))
        ),
    ),
    Law("its lines in leaves need values.", lambda f: "lines" not in f.groups or "values" in f.groups),
    Law(
        "its trees and its training loss must be of the same rounds.",
        lambda f: f.sizes["trees"] == f.sizes["rounds"] * f.header["trees_per_round"],
    ),
    Law("it has no training costs.", lambda f: f.algorithm == "MinRiskClassifier" or "training costs" in f.groups),
    Law(
        "its validated costs must be of all its rounds.",
        lambda f: "validated costs" not in f.groups or f.sizes["validated"] > f.sizes["rounds"],
    ),
    Law(
        "it must have a score for each decision, or for each class where the loss knows no costs, or a code.",
        _scores_fit,
    ),
    Law("its link does not fit its algorithm, or its scores and classes are not as many.", _link_fits),
    Law(
        "it decides by Bayes' rule, which needs a link and a cost matrix.",
        lambda f: not _by_probabilities(f) or (f.header["link"] is not None and "costs" in f.groups),
    ),
    Law(
        "it decides by probabilities, which needs a cost matrix or else what was learnt from costs per row.",
        lambda f: not f.is_posterior or _either(f, "costs", "regression of costs"),
    ),
    Law(
        "its regression of costs has no probabilities to go with.",
        lambda f: f.is_posterior or "regression of costs" not in f.groups,
    ),
    Law(
        "its left-out rows need the first rounds of members, these need left-out rows, and both need probabilities.",
        lambda f: (
            f.groups.isdisjoint({"left-out rows", "first rounds"})
            or ({"left-out rows", "first rounds", "class shares"} <= f.groups and f.is_posterior)
        ),
    ),
    Law("its stated costs need costs.", lambda f: "stated costs" not in f.groups or "costs" in f.groups),
    Law(
        "its stated costs must have labels, and only they.",
        lambda f: all(
            ("stated costs" in f.groups) == (name in f.header) for name in ("stated_classes", "stated_decisions")
        ),
    ),
    Law("its columns of categories do not fit its features.", _categories_fit),
    Law("its columns of dates do not fit its features.", _dates_fit),
    Law("it must have one name for each column.", _names_fit),
    Law("it reports no candidate of its surrogate that has a share.", _selection_fits),
)
