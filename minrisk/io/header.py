"""The header of a model file: its fields, what each may be, and the parameters of the estimator.

A rule accepts a value or does not, and says in words what it accepts; see `minrisk.io.schema`, which has the whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from minrisk.algorithms import ALGORITHMS
from minrisk.algorithms.base import RecipeClassifier
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.data.categories import FEW_VALUES, MOST_SHARES
from minrisk.data.frames import DAY_ROLES
from minrisk.data.kept import MOST_BITS, MOST_FEATURES, MOST_LETTERS, is_kept, name_in
from minrisk.io.arrays import Allowance
from minrisk.io.labels import DTYPE, short_repr
from minrisk.losses import COST_TRAINED, POSTERIOR
from minrisk.model.links import LINKS
from minrisk.validation import LARGEST_SEED, Choice, Number, Rule

MOST_ROUNDS = (1 << 31) - 1  # rounds, and trees of a round: kernels number trees in 32 bits
SETTING = 100  # letters of a parameter's value
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


# -- rules -------------------------------------------------------------------------------------------------------------
class Text(NamedTuple):
    """A text."""

    most: float = math.inf  # letters

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and len(value) <= self.most

    def __str__(self) -> str:
        return "a text" if self.most == math.inf else f"a text of at most {self.most} letters"


class Dtype(NamedTuple):
    """The dtype of labels, or of categories, which are no dates."""

    dates: bool = True

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and DTYPE.fullmatch(value) is not None and (self.dates or "M8" not in value)

    def __str__(self) -> str:
        return f"the dtype of numbers, texts{', dates' * self.dates} or objects"


class Value(NamedTuple):
    """A label, a category or a parameter as JSON has it."""

    letters: float = math.inf  # at most, of a text
    bits: float = MOST_BITS  # at most, of a whole number

    def accepts(self, value: Any) -> bool:
        return is_kept(value, self.letters, self.bits)

    def __str__(self) -> str:
        text = "a text" if self.letters == math.inf else f"a text of at most {self.letters} letters"
        bits = "" if self.bits == math.inf else f" of at most {self.bits} bits"
        return f"{text}, a truth value, or a finite number{bits}"


class ParameterValue(NamedTuple):
    """A parameter: a value, or a list of sets of labels."""

    one: Value = Value(SETTING, math.inf)

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, list):
            return self.one.accepts(value)
        return all(isinstance(part, list) and all(map(self.one.accepts, part)) for part in value)

    def __str__(self) -> str:
        return f"{self.one}, or a list of lists of such"


class Name(NamedTuple):
    """The name of a column that is no text, as `minrisk.data.kept.name_out` writes it."""

    def accepts(self, value: Any) -> bool:
        try:
            name_in(value)
        except (ValueError, TypeError, OverflowError):
            return False
        return True

    def __str__(self) -> str:
        return "a number, text or date, or a tuple of such, as the name of a column"


class Truth(NamedTuple):
    """True or false."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool)

    def __str__(self) -> str:
        return "true or false"


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


class Object(NamedTuple):
    """An object of JSON, whose fields are looked at later."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict)

    def __str__(self) -> str:
        return "an object"


class Fields(NamedTuple):
    """An object of JSON with these fields, of which those `optional` may be missing, and no others."""

    needed: Mapping[str, Any]
    optional: Mapping[str, Any] = {}


SAID_OF_DATA = (("target", "target_name_", str), ("first_feature", "first_feature_", int))  # by the command line
ROUND_COUNT = Number(int, 0, MOST_ROUNDS)
FINITE = Number(float, -LARGEST_FLOAT, LARGEST_FLOAT)
LABELS = Fields({"dtype": Dtype(), "values": ListOf(Value(MOST_LETTERS), 2)})
CATEGORY = Fields(
    {
        "position": Number(int, 0, MOST_FEATURES),
        "name": Text(),
        "ordered": Truth(),
        "added": Number(int, 0, MOST_ADDED),
        "values": Fields({"dtype": Dtype(dates=False), "values": ListOf(Value())}),
    }
)
DAY_COLUMN = Fields({"position": Number(int, 0, MOST_FEATURES), "role": Choice(DAY_ROLES)})
TRIED = Fields(
    {  # a line of `minrisk.ensemble.average.report`
        "surrogate": Choice((*POSTERIOR, *COST_TRAINED)),
        "variant": Text(MOST_LETTERS),
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
        "parameters": Object(),
        "facts": Object(),  # which depend on the first
        "cost_given": Truth(),
        "cost_stated": Truth(),
        "classes": LABELS,
        "decisions": LABELS,
        "n_features": Number(int, 1, MOST_FEATURES),
        "feature_names": Maybe(ListOf(Text())),
        "link": Maybe(Choice(tuple(LINKS))),
        "trees_per_round": Number(int, 1, MOST_ROUNDS),
        "temperature": TEMPERATURE,
        "seed": Number(int, 0, LARGEST_SEED),
    },
    {
        "stated_classes": LABELS,
        "stated_decisions": LABELS,
        "feature_numbers": ListOf(Value()),
        "feature_labels": ListOf(Name()),
        "target": Text(),
        "first_feature": Number(int, 0, 1),
        "categories": ListOf(CATEGORY, 1),
        "dates": ListOf(DAY_COLUMN, 1),
    },
)


def read_header(text: bytes, room: Allowance) -> dict[str, Any]:
    """The header of a file, checked; its parameters are those of a model.

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
    """Bytes of memory that it takes to read a header."""
    widest = 1 if text.isascii() and b"\\u" not in text else LETTER_BYTES
    return widest * len(text) + PARSED * sum(map(text.count, (b",", b":", b"[", b"{")))


def depth(text: bytes) -> int:
    """Levels of objects and lists in JSON, which its parser would enter one by one."""
    inside, level, deepest = 0, 0, 0  # whether a text goes on, as 0 or 1
    for part in _without_escapes(text):
        marks = np.frombuffer(part, dtype=np.uint8)
        texts = np.cumsum(marks == ord('"'), dtype=np.uint8) + np.uint8(inside)  # 255 and 1 are 0: odd or even counts
        levels = level + np.cumsum(np.where(texts % 2, 0, STEPS[marks]), dtype=np.int64)
        inside, level, deepest = int(texts[-1] % 2), int(levels[-1]), max(deepest, int(levels.max()))
    return deepest


def _without_escapes(text: bytes) -> Iterator[bytes]:
    """A text of JSON in parts, without what a backslash and the quotation mark or backslash behind it write."""
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
    """The constructor's parameters; what is a matter of the machine is left out."""
    given = {name: value for name, value in header["parameters"].items() if name not in RUN_PARAMETERS}
    rules: Mapping[str, Rule] = METHODS[header["algorithm"]]._rules
    for accepted in (dict.fromkeys(rules, Maybe(ParameterValue())), rules):
        check(Fields({}, accepted), given, "its header['parameters']")
    return given
