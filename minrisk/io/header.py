"""The header of a model file: its fields, what each may be, the parameters of the estimator, labels and costs.

A rule accepts a value or does not, and says in words what it accepts; see `minrisk.io.schema`, which has the whole.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from minrisk._typing import FloatArray, Labels
from minrisk._utils.text import short
from minrisk.algorithms import ALGORITHMS
from minrisk.algorithms.base import RecipeClassifier
from minrisk.costs import CostMatrix, as_cost
from minrisk.costs.labels import as_labels, label_array, match_labels, named_beside, plain_array
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.data.categories import FEW_VALUES, MOST_SHARES
from minrisk.data.frames import DAY_ROLES, of_cells
from minrisk.data.labels import MOST_BITS, MOST_FEATURES, MOST_LETTERS, is_kept, name_in
from minrisk.estimator.parameters import LARGEST_SEED, Choice, Number, Rule
from minrisk.io.arrays import Allowance
from minrisk.losses import COST_TRAINED, POSTERIOR
from minrisk.model.links import LINKS

MOST_ROUNDS = (1 << 31) - 1  # rounds, and trees of a round: kernels number trees in 32 bits
PARSED = 64  # bytes that Python takes for a value of the header, at least
LETTER_BYTES = 16  # bytes of a letter in a text with one beyond the first 65 536, in the copies that are made of it
DEEPEST = 32  # levels of objects and lists
TEMPERATURE = Number(float, 1e-100, 1e100)  # of which the inverse is finite
MOST_ADDED = max(FEW_VALUES, MOST_SHARES)  # columns that one of categories adds
SCANNED_BYTES = 1 << 16  # bytes of a header that are looked at in one go: memory does not follow the header
STEPS = np.zeros(256, dtype=np.int8)  # what a byte outside texts does to the level
STEPS[[ord(mark) for mark in "[{]}"]] = 1, 1, -1, -1
RUN_PARAMETERS = (  # of the machine, or of the rows of one fit: not read, not written
    "n_jobs",
    "verbose",
    "warm_start",
    "random_state",
    "cost",
    "class_weight",
    "categorical_features",
)
LABELLED = "classes", "decisions"  # what labels are of
DTYPE = re.compile(
    r"object|[<>|]?(?:b1|[iu][1248]|f[248]|U\d{1,9}|M8\[(?:\d{1,9})?(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])"
)  # of labels
SHOWN_CHARACTERS = 60  # characters of a value in a message


def short_repr(value: Any) -> str:
    """Return a value as messages show it, cut where it is long."""
    return short(repr(value), SHOWN_CHARACTERS)


# -- rules -------------------------------------------------------------------------------------------------------------
class Is(NamedTuple):
    """A value that a function accepts, and what it is in words."""

    accepts: Callable[[Any], bool]
    told: str

    def __str__(self) -> str:
        return self.told


def text(most: float = math.inf) -> Is:
    """Accept a text of so many letters at most."""
    what = "a text" if most == math.inf else f"a text of at most {most} letters"
    return Is(lambda value: isinstance(value, str) and len(value) <= most, what)


def dtype(dates: bool = True) -> Is:
    """Accept the dtype of labels, or of categories, which are no dates."""
    return Is(
        lambda value: isinstance(value, str) and bool(DTYPE.fullmatch(value)) and (dates or "M8" not in value),
        f"the dtype of numbers, texts{', dates' * dates} or objects",
    )


def one_value(letters: float = math.inf, bits: float = MOST_BITS) -> Is:
    """Accept a label, a category or a parameter as JSON has it: of so many letters or bits at most."""
    beyond = "" if bits == math.inf else f" of at most {bits} bits"
    return Is(
        lambda value: is_kept(value, letters, bits), f"{text(letters)}, a truth value, or a finite number{beyond}"
    )


def _is_name(value: Any) -> bool:
    try:
        name_in(value)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _is_parameter(value: Any) -> bool:
    if not isinstance(value, list):
        return SETTING.accepts(value)
    return all(isinstance(part, list) and all(map(SETTING.accepts, part)) for part in value)


SETTING = one_value(100, math.inf)
PARAMETER = Is(_is_parameter, f"{SETTING}, or a list of lists of such")  # a value, or a list of sets of labels
NAME = Is(_is_name, "a number, text or date, or a tuple of such, as the name of a column")  # as `name_out` writes it
TRUTH = Is(lambda value: isinstance(value, bool), "true or false")
OBJECT = Is(lambda value: isinstance(value, dict), "an object")  # whose fields are looked at later


class Maybe(NamedTuple):
    """What another rule accepts, or nothing."""

    rule: Any

    def accepts(self, value: Any) -> bool:
        return value is None or bool(self.rule.accepts(value))

    def __str__(self) -> str:
        return f"{self.rule}, or null"


class ListOf(NamedTuple):
    """A list, each of whose entries a rule accepts."""

    of: Any
    least: int = 0  # entries


class Fields(NamedTuple):
    """An object of JSON with these fields, of which those `optional` may be missing, and no others."""

    needed: Mapping[str, Any]
    optional: Mapping[str, Any] = {}


SAID_OF_DATA = (("target", "target_name_", str), ("first_feature", "first_feature_", int))  # by the command line
ROUND_COUNT = Number(int, 0, MOST_ROUNDS)
FINITE = Number(float, -LARGEST_FLOAT, LARGEST_FLOAT)
LABELS = Fields({"dtype": dtype(), "values": ListOf(one_value(MOST_LETTERS), 2)})
CATEGORY = Fields(
    {
        "position": Number(int, 0, MOST_FEATURES),
        "name": text(),
        "ordered": TRUTH,
        "added": Number(int, 0, MOST_ADDED),
        "values": Fields({"dtype": dtype(dates=False), "values": ListOf(one_value())}),
    }
)
DAY_COLUMN = Fields({"position": Number(int, 0, MOST_FEATURES), "role": Choice(DAY_ROLES)})
TRIED = Fields(
    {  # a line of `minrisk.ensemble.training.report`
        "surrogate": Choice((*POSTERIOR, *COST_TRAINED)),
        "variant": text(MOST_LETTERS),
        "share": Number(float, 0, 1),
        "n_rounds": ROUND_COUNT,
        "temperature": TEMPERATURE,
        "risk": Maybe(FINITE),
        "pooled_risk": Maybe(FINITE),
    }
)
METHODS: dict[str, Any] = {method.__name__: method for method in ALGORITHMS}


def _facts_of(method: type[RecipeClassifier]) -> Fields:
    """Return what a file keeps of a fit beside the model, its curves and its labels."""
    kept = {name: method._rules[name] for name in method._parameters_kept}
    proven = (
        {} if method._claim is RecipeClassifier._claim else {"certificate": Fields({"value": FINITE, "bound": FINITE})}
    )
    return Fields({"log_scale": FINITE, **kept}, proven)


FACTS = {
    "MinRiskClassifier": Fields({"surrogate": Choice((*POSTERIOR, *COST_TRAINED)), "selection": ListOf(TRIED, 1)}),
    **{name: _facts_of(method) for name, method in METHODS.items() if issubclass(method, RecipeClassifier)},
}
HEADER = Fields(
    {
        "algorithm": Choice(tuple(FACTS)),
        "parameters": OBJECT,
        "facts": OBJECT,  # which depend on the first
        "cost_given": TRUTH,
        "cost_stated": TRUTH,
        "classes": LABELS,
        "decisions": LABELS,
        "n_features": Number(int, 1, MOST_FEATURES),
        "feature_names": Maybe(ListOf(text())),
        "link": Maybe(Choice(tuple(LINKS))),
        "trees_per_round": Number(int, 1, MOST_ROUNDS),
        "temperature": TEMPERATURE,
        "seed": Number(int, 0, LARGEST_SEED),
    },
    {
        "stated_classes": LABELS,
        "stated_decisions": LABELS,
        "feature_numbers": ListOf(one_value()),
        "feature_labels": ListOf(NAME),
        "target": text(),
        "first_feature": Number(int, 0, 1),
        "categories": ListOf(CATEGORY, 1),
        "dates": ListOf(DAY_COLUMN, 1),
    },
)


def read_header(text: bytes, room: Allowance) -> dict[str, Any]:
    """Return the header of a file, checked; its parameters are those of a model.

    Raises
    ------
    ValueError
        If it is no JSON in UTF-8, or a field is missing, unknown, or not what it should be.
    """
    room.take(room_of_header(text))
    try:
        decoded = text.decode()  # here, since `json.loads` would take bytes of other encodings too
    except UnicodeDecodeError:
        raise ValueError("its header is no text in UTF-8.") from None
    if depth(text) > DEEPEST:
        raise ValueError(f"its header is nested too deeply, in more than {DEEPEST} levels.")
    del text
    try:
        header = json.loads(decoded, parse_constant=_no_number)
    except ValueError as error:
        raise ValueError(f"its header is no JSON ({error}).") from None
    check(HEADER, header, "its header")
    check(FACTS[header["algorithm"]], header["facts"], "its header['facts']")
    return {**header, "parameters": _parameters(header)}


def room_of_header(text: bytes) -> int:
    """Return bytes of memory that it takes to read a header."""
    widest = 1 if text.isascii() and b"\\u" not in text else LETTER_BYTES
    return widest * len(text) + PARSED * sum(map(text.count, (b",", b":", b"[", b"{")))


def depth(text: bytes) -> int:
    """Return levels of objects and lists in JSON, which its parser would enter one by one."""
    inside, level, deepest = 0, 0, 0  # whether a text goes on, as 0 or 1
    for part in _without_escapes(text):
        marks = np.frombuffer(part, dtype=np.uint8)
        texts = np.cumsum(marks == ord('"'), dtype=np.uint8) + np.uint8(inside)  # 255 and 1 are 0: odd or even counts
        levels = level + np.cumsum(np.where(texts % 2, 0, STEPS[marks]), dtype=np.int64)
        inside, level, deepest = int(texts[-1] % 2), int(levels[-1]), max(deepest, int(levels.max()))
    return deepest


def _without_escapes(text: bytes) -> Iterator[bytes]:
    """Yield a text of JSON in parts, without what a backslash and the quotation mark or backslash behind it write."""
    low = 0
    while low < len(text):
        part = text[low : low + SCANNED_BYTES]
        if (len(part) - len(part.rstrip(b"\\"))) % 2:  # the last one belongs to the next byte
            part = text[low : low + SCANNED_BYTES + 1]
        low += len(part)
        if part := part.replace(rb"\\", b"").replace(rb"\"", b""):
            yield part


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def check(rule: Any, value: Any, name: str) -> None:
    """Compare a value of the header with its rule; raises `ValueError`, naming its place."""
    if isinstance(rule, Fields):
        if not isinstance(value, dict):
            raise ValueError(f"{name} must be an object, got {short_repr(value)}.")
        missing, known = rule.needed.keys() - value.keys(), {**rule.needed, **rule.optional}
        if missing or not value.keys() <= known.keys():
            what, field = ("lacks", missing) if missing else ("has an unknown field,", value.keys() - known.keys())
            raise ValueError(f"{name} {what} {short_repr(min(field))}.")
        for field, inner in value.items():
            check(known[field], inner, f"{name}[{field!r}]")
    elif isinstance(rule, ListOf):
        if not isinstance(value, list) or len(value) < rule.least:
            raise ValueError(f"{name} must be a list of {rule.least} or more, got {short_repr(value)}.")
        if hasattr(rule.of, "accepts") and all(map(rule.of.accepts, value)):
            return
        for place, inner in enumerate(value):
            check(rule.of, inner, f"{name}[{place}]")
    elif isinstance(rule, Maybe) and value is not None:
        check(rule.rule, value, name)
    elif not rule.accepts(value):
        raise ValueError(f"{name} must be {rule}, got {short_repr(value)}.")


def _parameters(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor's parameters; what is a matter of the machine is left out."""
    given = {name: value for name, value in header["parameters"].items() if name not in RUN_PARAMETERS}
    rules: Mapping[str, Rule] = METHODS[header["algorithm"]]._rules
    for accepted in (dict.fromkeys(rules, Maybe(PARAMETER)), rules):
        check(Fields({}, accepted), given, "its header['parameters']")
    return given


# -- labels and costs --------------------------------------------------------------------------------------------------
def costs_out(estimator: Any) -> tuple[dict[str, FloatArray], dict[str, Any]]:
    """Return costs of a fit as arrays, and what the header says of them and of the labels."""
    arrays = {} if estimator.cost_ is None else {"cost": estimator.cost_.values}
    stated = vars(estimator).get("_stated", estimator.cost_)
    names: dict[str, Any] = {
        "cost_given": estimator.cost is not None,
        "cost_stated": stated is not None,
        "classes": labels_out(estimator.classes_),
        "decisions": labels_out(estimator.decisions_),
    }
    if stated is not None and stated != estimator.cost_:
        arrays["stated"] = stated.values
        names |= {f"stated_{kind}": labels_out(plain_array(getattr(stated, kind))) for kind in LABELLED}
    return arrays, names


def labels_out(labels: Labels) -> dict[str, Any]:
    """Return labels, or categories, as JSON: their dtype and plain values."""
    plain = labels.view(np.int64) if labels.dtype.kind == "M" else labels
    values = [label.item() if isinstance(label, np.generic) else label for label in plain]
    if not all(isinstance(value, (str, bool, int, float)) for value in values):
        raise TypeError(
            f"Labels and categories must be numbers, strings or truth values to be saved, got {values[:5]!r}: make "
            "texts of them before the fit, as .astype(str) does."
        )
    wide = labels.dtype.kind == "U" and labels.dtype.itemsize > np.dtype(f"U{MOST_LETTERS}").itemsize
    dtype = np.asarray(values).dtype if wide else labels.dtype  # no wider than the longest needs
    return {"dtype": "object" if dtype.kind == "O" else dtype.str, "values": values}


def restore_labels(estimator: Any, header: dict[str, Any], arrays: Mapping[str, np.ndarray], room: Allowance) -> None:
    """Give an estimator its labels and costs; raises for what does not fit together."""
    room.take(room_of_labels(header))
    estimator.classes_ = labels_in(header["classes"])
    classes, decisions = as_labels(estimator.classes_), as_labels(values_in(header["decisions"]), "the decisions")
    known = [at for at in match_labels(decisions, classes) if at >= 0]
    others = decisions[len(known) :]
    if len(known) + sum(at < 0 for at in match_labels(others, classes)) < len(decisions) or known != sorted(known):
        raise ValueError("its decisions must be classes, in their order, and then others.")
    if named_beside(others, classes, classes) != others:
        raise ValueError("its decisions that are no classes are not called as a fit calls them.")
    estimator.decisions_ = label_array(decisions, estimator.classes_)
    estimator.cost_ = estimator._stated = None
    if "cost" in arrays:
        names: dict[str, Any] = {"classes": classes, "decisions": decisions}
        if "stated" in arrays:
            names = {kind: values_in(header[f"stated_{kind}"]) for kind in LABELLED}
        stated = CostMatrix(arrays["stated" if "stated" in arrays else "cost"], **names, allow_diagonal=True)
        estimator.cost_ = as_cost(stated, classes)
        if estimator.cost_.decisions != decisions or not np.array_equal(estimator.cost_.values, arrays["cost"]):
            raise ValueError("its costs are not those that were stated.")
        estimator._stated = stated if header["cost_stated"] else None
        estimator.cost = stated if header["cost_given"] else None


def room_of_labels(header: Mapping[str, Any]) -> int:
    """Return bytes of memory that the arrays of a header's labels take; decisions are at least as wide as classes."""
    size: int = np.dtype(header["classes"]["dtype"]).itemsize
    widest = max((4 * len(value) for value in header["decisions"]["values"] if isinstance(value, str)), default=8)
    dates = [header[f"stated_{kind}"] for kind in LABELLED if f"stated_{kind}" in header]
    return (
        size * len(header["classes"]["values"])
        + max(size, widest, 8) * len(header["decisions"]["values"])
        + sum(8 * len(labels["values"]) for labels in dates if "M8" in labels["dtype"])
    )


def labels_in(labels: dict[str, Any]) -> Labels:
    """Return labels as `labels_out` wrote them, in an array of their dtype, which `DTYPE` matches.

    Raises
    ------
    ValueError
        If the dtype does not hold them.
    """
    values, written = labels["values"], labels["dtype"]
    dtype = np.dtype(written)
    if dtype.kind == "O":
        return of_cells(values)
    try:
        array = np.array(values, dtype=np.int64).view(dtype) if dtype.kind == "M" else np.array(values, dtype=dtype)
        plain = array.view(np.int64) if dtype.kind == "M" else array
        held = plain.tolist() == values
    except (ValueError, TypeError, OverflowError):
        held = False
    if not held:
        raise ValueError(f"it has labels that are not of their dtype {written!r}, such as {short_repr(values[:1])}.")
    return array


def values_in(labels: dict[str, Any]) -> list[Any]:
    """Return labels as `labels_out` wrote them, as plain values; dates as NumPy has them."""
    return list(labels_in(labels) if "M8" in labels["dtype"] else labels["values"])
