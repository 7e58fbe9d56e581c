"""Tables as users have them, made: rows to train on and to test on, with costs, from properties drawn at random.

`drawn` draws the properties of a table and `made` makes the table. Each property has a dull value (`DULL`) and a
function or an entry of a table below that does what it says. At most `MOST_ODD` of the properties that can be odd are,
so that what happens on a table has a cause. The same properties with another seed give other rows of the same world:
what the classes depend on comes from the property "world", the rows from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

Properties = dict[str, Any]
TESTS = 6000  # rows to test on
LEAST_SHARE = 1e-4  # of a class
MOST_ODD = 4
MANY_LEVELS = 20  # categories above it go with the group, where there are groups


class Table(NamedTuple):
    """What a fit is given, and what its decisions are judged by; classes are codes, and each has rows to train on.

    `cost` (K, D) is what decisions cost on average. Where costs differ by row, `row_cost` (n, D) is what each decision
    costs each row to train on, and `full_cost` (tests, K, D) judges the decisions about the rows to test on. `known`
    says whether these are also known when it is decided. `alike`: the rows to test on are drawn as those to train on
    are and judged by the same costs, so that rows left out of a fit can say what its decisions will cost.
    """

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    cost: np.ndarray
    weight: np.ndarray | None = None
    weight_test: np.ndarray | None = None
    balanced: bool = False  # weights of classes that make all classes count alike
    shares: np.ndarray | None = None  # of the classes before some of their rows were repeated
    row_cost: np.ndarray | None = None
    full_cost: np.ndarray | None = None
    known: bool = False
    alike: bool = True

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1


def of_seen_classes(table: Table) -> Table | None:
    """The table without the classes that no row to train on has; None if there is one class at most."""
    counted = table.y if table.weight is None else table.y[table.weight > 0]
    n_classes = max(len(table.cost), int(table.y.max()) + 1)
    seen = np.unique(counted)
    if len(seen) < 2:
        return None
    if len(seen) == n_classes:
        return table
    rows, tests = np.isin(table.y, seen), np.isin(table.y_test, seen)
    code = np.zeros(n_classes, dtype=int)
    code[seen] = np.arange(len(seen))

    def of(values: np.ndarray | None, chosen: np.ndarray) -> np.ndarray | None:
        return None if values is None else values[chosen]

    decisions = np.r_[seen, n_classes : table.cost.shape[1]]
    row_cost, full_cost = of(table.row_cost, rows), of(table.full_cost, tests)
    return table._replace(
        X=rows_of(table.X, rows),
        y=code[table.y[rows]],
        weight=of(table.weight, rows),
        X_test=rows_of(table.X_test, tests),
        y_test=code[table.y_test[tests]],
        weight_test=of(table.weight_test, tests),
        cost=table.cost[np.ix_(seen, decisions)],
        shares=of(table.shares, seen),
        row_cost=None if row_cost is None else row_cost[:, decisions],
        full_cost=None if full_cost is None else full_cost[:, seen][:, :, decisions],
    )


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a frame, an array or a sparse matrix, by number or by mask."""
    return (
        X.iloc[np.flatnonzero(rows) if rows.dtype == bool else rows].reset_index(drop=True)
        if isinstance(X, pd.DataFrame)
        else X[rows]
    )


# -- what can be drawn -----------------------------------------------------------------------------------------------
DULL: Properties = {
    "world": 0,
    "rows": 2000,
    "columns": 6,
    "relevant": 5,
    "classes": 2,
    "balance": "even",
    "prevalence": 0.5,
    "signal": "additive",
    "strength": 3.0,
    "noise": "none",
    "tails": "normal",
    "scales": "same",
    "rounding": "none",
    "copies": 0.0,
    "twin_columns": 0,
    "constant_columns": 0,
    "irrelevant": 0,
    "missing": "none",
    "missing_share": 0.2,
    "categories": "none",
    "drift": "none",
    "groups": 0,
    "shift": "none",
    "weights": "none",
    "balanced": False,
    "costs": "0/1",
    "form": "frame",
    "order": "shuffled",
    "dtype": "float64",
    "ids": "none",
    "sparse": False,
    "correlation": 0.0,
}
ODD: dict[str, tuple[float, tuple[Any, ...]]] = {  # how often a property is odd, and what it may then be
    "noise": (0.4, ("a tenth", "a third", "of the last class")),
    "tails": (0.3, ("lognormal", "wide lognormal", "cauchy", "outliers", "absurd outliers", "integers", "uniform")),
    "scales": (0.25, ("mixed", "tiny", "huge", "offset")),
    "rounding": (0.2, ("halves", "three values", "two values")),
    "copies": (0.2, (0.05, 0.3, 0.6, 0.9)),
    "twin_columns": (0.15, (1, 3, 10, 30)),
    "constant_columns": (0.1, (1, 5)),
    "irrelevant": (0.25, (5, 20, 60)),
    "missing": (0.35, ("at random", "by value", "in blocks", "in tests only", "most of a column", "as zeros")),
    "categories": (0.35, ("few", "many", "huge", "ordered", "whole numbers", "booleans", "several")),
    "drift": (0.12, ("mean", "concept")),
    "groups": (0.12, (5, 20, 100)),  # rows of each
    "shift": (0.08, ("covariates",)),
    "weights": (0.2, ("mild", "extreme", "zeros", "by class", "by value", "tiny unit", "huge unit")),
    "balanced": (0.1, (True,)),
    "costs": (
        0.6,
        ("ordinal", "10 : 1", "1000 : 1", "dear and refer", "extra", "refer", "random", "amounts", "benefits"),
    ),
    "order": (0.15, ("by class", "by value")),
    "dtype": (0.15, ("float32", "nullable", "mixed")),
    "ids": (0.12, ("text", "number", "row", "date")),
    "sparse": (0.08, (True,)),
    "correlation": (0.2, (0.5, 0.9, 0.99)),
}
SIGNAL_SHARES = {
    "linear": 0.22,
    "additive": 0.2,
    "interactions": 0.15,
    "periodic": 0.08,
    "thresholds": 0.12,
    "rule": 0.1,
    "none": 0.06,
    "parity": 0.07,
}
BALANCE_SHARES = {"even": 0.4, "skewed": 0.35, "rare": 0.17, "three rows": 0.08}
CLASSES = (3, 3, 4, 5, 7, 10)  # where they are more than two
NOT_ALIKE = ("drift", "groups", "shift", "copies", "weights", "ids")  # if odd, tests are unlike what a fit leaves out
NOT_SPARSE = ("categories", "missing", "ids", "dtype", "tails", "scales", "rounding", "copies")


def drawn(rng: np.random.Generator, rows: tuple[int, int] = (500, 12_000)) -> Properties:
    """Properties of a table with so many rows to train on."""
    found = dict(DULL)
    found["world"] = int(rng.integers(1 << 30))
    found["rows"] = int(between(rng, *rows))
    found["columns"] = int(between(rng, 1.5, 40))
    found["relevant"] = int(min(found["columns"], rng.integers(1, 9)))
    found["classes"] = 2 if rng.random() < 0.6 else one_of(rng, CLASSES)
    found["balance"] = by_shares(rng, BALANCE_SHARES)
    found["prevalence"] = between(rng, 0.002, 0.5)
    found["signal"] = by_shares(rng, SIGNAL_SHARES)
    found["strength"] = between(rng, 0.5, 20)
    found["missing_share"] = one_of(rng, (0.05, 0.2, 0.5, 0.8))
    found["form"] = "array" if rng.random() < 0.3 else "frame"
    odd = {name: one_of(rng, choices) for name, (share, choices) in ODD.items() if rng.random() < share}
    for name in rng.permutation(list(odd))[: rng.integers(1, MOST_ODD + 1)]:
        found[name] = odd[name]
    if found["sparse"]:
        found |= {name: DULL[name] for name in NOT_SPARSE} | {"form": "array", "tails": "counts"}
    return found


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """Log-uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def one_of(rng: np.random.Generator, choices: tuple[Any, ...]) -> Any:
    return choices[int(rng.integers(len(choices)))]


def by_shares(rng: np.random.Generator, shares: Mapping[str, float]) -> str:
    share = np.array(list(shares.values()))
    return list(shares)[int(rng.choice(len(share), p=share / share.sum()))]


# -- signals: scores of the classes from the relevant columns --------------------------------------------------------
Signal = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]


def linear(Z: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(Z @ rng.normal(size=(Z.shape[1], n_classes)))


def additive(Z: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """A wave and a line in each column, of its own for each class."""
    size = (Z.shape[1], n_classes)
    pace, start, height, slope = rng.uniform(0.5, 2, size), rng.uniform(0, 6, size), *rng.normal(size=(2, *size))
    column = Z[:, :, None]
    return np.asarray((np.sin(column * pace + start) * height + 0.5 * slope * column).sum(axis=1))


def interactions(Z: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    one, other = rng.integers(0, Z.shape[1], (2, 6))
    products = (Z[:, one] * Z[:, other]) @ rng.normal(size=(6, n_classes))
    return np.asarray(products + 0.3 * linear(Z, n_classes, rng))


def periodic(Z: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    return linear(np.sin(4 * Z), n_classes, rng)


def thresholds(Z: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """A step in each column, at a place of its own for each class."""
    size = (Z.shape[1], n_classes)
    place, height = 0.7 * rng.normal(size=size), 2 * rng.normal(size=size)
    return np.asarray(((Z[:, :, None] > place) * height).sum(axis=1))


def rule(Z: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """The first column, cut into as many parts as there are classes, says all."""
    cuts = np.sort(rng.choice(np.linspace(-1.2, 1.2, 40), n_classes - 1, replace=False))
    return np.eye(n_classes)[rng.permutation(n_classes)[np.searchsorted(cuts, Z[:, 0])]]


def no_signal(Z: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    return np.zeros((len(Z), n_classes))


def parity(Z: np.ndarray, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """The sign of a product, which neither column says alone."""
    sign = np.sign(Z[:, 0]) * np.sign(Z[:, -1])
    return np.asarray(np.outer(sign, np.resize([1.0, -1.0], n_classes)) + 0.05 * linear(Z, n_classes, rng))


SIGNALS: dict[str, Signal] = {
    "linear": linear,
    "additive": additive,
    "interactions": interactions,
    "periodic": periodic,
    "thresholds": thresholds,
    "rule": rule,
    "none": no_signal,
    "parity": parity,
}


def shares_of(balance: str, n_classes: int, n_rows: int, prevalence: float, world: np.random.Generator) -> np.ndarray:
    """Of the classes, in training."""
    share = np.full(n_classes, 1 / n_classes)
    if balance == "skewed":
        share = world.dirichlet(np.full(n_classes, 0.8)) if n_classes > 2 else rare(2, max(0.05, prevalence))
    elif balance == "rare":
        share = rare(n_classes, prevalence)
    elif balance == "three rows":
        share = rare(n_classes, 3 / n_rows)
    share = np.maximum(share, LEAST_SHARE)
    return np.asarray(share / share.sum())


def rare(n_classes: int, prevalence: float) -> np.ndarray:
    """The last class has this share, the others are as frequent as one another."""
    return np.r_[np.full(n_classes - 1, (1 - prevalence) / (n_classes - 1)), prevalence]


def probabilities(scores: np.ndarray, share: np.ndarray, training: np.ndarray) -> np.ndarray:
    """Softmax of the scores and of intercepts that give the classes these shares in training."""
    intercept = np.log(share)
    for _ in range(30):
        found = softmax(scores[training] + intercept).mean(axis=0)
        intercept = intercept + 0.8 * (np.log(share) - np.log(np.maximum(found, 1e-6)))
    return softmax(scores + intercept)


def softmax(scores: np.ndarray) -> np.ndarray:
    made = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def labels(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A class of each row, drawn by its probabilities."""
    passed = probability.cumsum(axis=1) < rng.random((len(probability), 1))
    return np.asarray(passed.sum(axis=1).clip(0, probability.shape[1] - 1))


def noisy(y: np.ndarray, kind: str, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Labels some of which are wrong: drawn anew, or of the last class and given to the first."""
    if kind == "none":
        return y
    hit = rng.random(len(y)) < {"a tenth": 0.1, "a third": 0.3, "of the last class": 0.2}[kind]
    if kind == "of the last class":
        return np.where(hit & (y == n_classes - 1), 0, y)
    return np.where(hit, rng.integers(0, n_classes, len(y)), y)


# -- what is seen of the columns -------------------------------------------------------------------------------------
def with_outliers(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(X.shape) < 0.01, 100 * X, X)


def with_absurd_outliers(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(X.shape) < 0.005, rng.choice([-1e9, 1e9], X.shape), X)


TAILS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "normal": lambda X, rng: X,
    "lognormal": lambda X, rng: np.exp(X),
    "wide lognormal": lambda X, rng: np.exp(3 * X),
    "cauchy": lambda X, rng: np.sinh(2 * X) * np.exp(X**2 / 4),
    "outliers": with_outliers,
    "absurd outliers": with_absurd_outliers,
    "integers": lambda X, rng: np.floor(3 * X),
    "uniform": lambda X, rng: 1 / (1 + np.exp(-1.7 * X)),
    "counts": lambda X, rng: np.where(X > 0.8, np.floor(np.exp(X)), 0.0),
}
ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda X: X,
    "halves": lambda X: np.round(2 * X) / 2,
    "three values": lambda X: np.sign(np.round(X)),
    "two values": lambda X: (X > 0).astype(float),
}
SCALES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "same": lambda X, world: X,
    "mixed": lambda X, world: X * 10.0 ** world.integers(-6, 7, X.shape[1]),
    "tiny": lambda X, world: X * 1e-12,
    "huge": lambda X, world: X * 1e12,
    "offset": lambda X, world: X + 1e7,
}


def more_columns(X: np.ndarray, of: Properties, rng: np.random.Generator, world: np.random.Generator) -> np.ndarray:
    """The columns, and with them those that say nothing, that say it twice, or that hardly ever change."""
    made = [X]
    if of["irrelevant"]:
        noise = rng.normal(size=(len(X), of["irrelevant"]))
        made.append(TAILS["counts"](noise, rng) if of["sparse"] else noise)
    if of["twin_columns"]:
        twins = X[:, world.integers(0, X.shape[1], of["twin_columns"])]
        made.append(twins * world.choice([1.0, 2.0, -1.0], of["twin_columns"]))
    if of["constant_columns"]:
        made.append((rng.random((len(X), of["constant_columns"])) < 0.003).astype(float))
    return np.hstack(made)


def with_missing(
    X: np.ndarray, kind: str, share: float, hidden: np.ndarray, test: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The columns with values that are not there, NaN or 0; "by value": where the first hidden column is above 0."""
    if kind == "none":
        return X
    missing = np.zeros(X.shape, dtype=bool)
    if kind in ("at random", "as zeros"):
        missing = rng.random(X.shape) < share
    elif kind == "by value":
        missing = rng.random(X.shape) < 1.6 * share * (hidden > 0)[:, None]
    elif kind == "in blocks":
        missing[:, : max(1, X.shape[1] // 2)] = rng.random((len(X), 1)) < share
    elif kind == "in tests only":
        missing[:, 0] = test & (rng.random(len(X)) < share)
    else:  # most of a column
        missing[:, 0] = rng.random(len(X)) < 0.98
    return np.where(missing, 0.0 if kind == "as zeros" else np.nan, X)


# -- categories ------------------------------------------------------------------------------------------------------
class Category(NamedTuple):
    """A column of categories: `codes` of the rows, and what each says for each class."""

    codes: np.ndarray
    effect: np.ndarray
    shown: Callable[[np.ndarray], Any]


def text(codes: np.ndarray) -> pd.Series:
    return pd.Series(codes).map(lambda code: f"k{code}").astype(object)


def ordered_words(codes: np.ndarray) -> pd.Categorical:
    """Ordered, and not by the alphabet."""
    return pd.Categorical.from_codes(codes, ["f-low", "e-some", "d-mid", "c-more", "b-high", "a-top"], ordered=True)


def categories(
    kind: str,
    n: int,
    n_rows: int,
    n_classes: int,
    group: np.ndarray | None,
    rng: np.random.Generator,
    world: np.random.Generator,
) -> dict[str, Category]:
    """Columns of categories by name, most of them of very unequal frequencies."""
    huge = min(5000, max(30, n_rows // 3))

    def column(levels: int, shown: Callable[[np.ndarray], Any], size: float = 1.0, alike: bool = False) -> Category:
        share = np.ones(levels) if alike else 1 / np.arange(1, levels + 1)
        codes = rng.choice(levels, n, p=share / share.sum())
        if group is not None and levels > MANY_LEVELS:
            codes = group % levels
        return Category(codes, size * world.normal(size=(levels, n_classes)), shown)

    if kind == "ordered":
        made = column(6, ordered_words)
        return {"c0": made._replace(effect=0.5 * np.outer(np.arange(6) - 2.5, world.normal(size=n_classes)))}
    if kind == "whole numbers":
        return {"c0": column(60, lambda codes: codes * 37 % 61, alike=True)}
    if kind == "booleans":
        return {f"c{i}": column(2, lambda codes: codes == 1) for i in range(2)}
    if kind == "several":
        return {f"c{i}": column(levels, text, 0.6) for i, levels in enumerate((3, 8, 30, huge))}
    levels = {"few": 4, "many": 40, "huge": huge}
    return {"c0": column(levels[kind], text)} if kind in levels else {}


# -- weights and costs -----------------------------------------------------------------------------------------------
def weights(
    kind: str, y: np.ndarray, hidden: np.ndarray, n_classes: int, rng: np.random.Generator, world: np.random.Generator
) -> np.ndarray | None:
    mild = rng.uniform(0.5, 1.5, len(y))
    kinds: dict[str, Callable[[], np.ndarray | None]] = {
        "none": lambda: None,
        "mild": lambda: mild,
        "extreme": lambda: np.exp(2.5 * rng.normal(size=len(y))),
        "zeros": lambda: np.where(rng.random(len(y)) < 0.4, 0.0, rng.uniform(0.9, 1.1, len(y))),
        "by class": lambda: world.uniform(0.3, 6.0, n_classes)[y] * rng.uniform(0.99, 1.01, len(y)),
        "by value": lambda: np.exp(1.2 * hidden),
        "tiny unit": lambda: 1e-9 * mild,
        "huge unit": lambda: 1e9 * mild,
    }
    return kinds[kind]()


def dear_last(n_classes: int, ratio: float) -> np.ndarray:
    """1 for a mistake, and so many times as much where the truth is the last class."""
    cost = 1.0 - np.eye(n_classes)
    cost[-1] *= ratio
    return cost


def costs(kind: str, n_classes: int, world: np.random.Generator) -> np.ndarray:
    """(K, D); a right decision costs nothing."""
    plain, place = 1.0 - np.eye(n_classes), np.arange(n_classes)
    if kind == "ordinal":
        return np.abs(np.subtract.outer(place, place)).astype(float)
    if kind in ("10 : 1", "1000 : 1"):
        return dear_last(n_classes, float(kind.removesuffix(" : 1")))
    if kind == "random":
        return world.lognormal(0, 1.5, plain.shape) * plain
    if kind == "benefits":  # a right decision gains, and the gain that is missed is the cost
        return np.asarray(world.uniform(0.2, 3, n_classes)[:, None] * plain)
    if kind == "dear and refer":
        plain[:, 0] = np.where(place == 0, 0, 0.4)
        return np.hstack([plain, np.full((n_classes, 1), 0.35)])
    if kind == "extra":
        return np.hstack([plain, world.uniform(0.1, 0.6, (n_classes, 2))])
    return np.hstack([plain, np.full((n_classes, 1), 0.2)]) if kind == "refer" else plain


# -- a table ---------------------------------------------------------------------------------------------------------
class Hidden(NamedTuple):
    """What the columns are made of; the rows to train on come first."""

    Z: np.ndarray
    time: np.ndarray
    group: np.ndarray | None
    test: np.ndarray


def hidden_columns(of: Properties, rng: np.random.Generator, world: np.random.Generator) -> Hidden:
    """Normal columns, correlated, by group, drifting or shifted as the properties say; groups of the tests are new."""
    n, columns = of["rows"] + TESTS, of["columns"]
    test = np.arange(n) >= of["rows"]
    Z = rng.normal(size=(n, columns))
    if of["correlation"]:
        common = rng.normal(size=(n, 1))
        Z = np.sqrt(1 - of["correlation"]) * Z + np.sqrt(of["correlation"]) * common
    group = None
    if of["groups"]:
        trained, tested = (max(4, size // of["groups"]) for size in (of["rows"], TESTS))
        group = np.where(test, trained + rng.integers(0, tested, n), rng.integers(0, trained, n))
        Z = 0.45 * Z + 0.9 * rng.normal(size=(trained + tested, columns))[group]
    time = np.where(test, 1 + 0.25 * rng.random(n), rng.random(n))
    if of["drift"] == "mean":
        Z = Z + 0.7 * time[:, None] * world.normal(size=columns)
    if of["shift"] == "covariates":
        Z[test] = 1.3 * Z[test] + 0.8 * world.normal(size=columns) / np.sqrt(columns)
    return Hidden(Z, time, group, test)


def scores_of(
    of: Properties, hidden: Hidden, words: Mapping[str, Category], rng: np.random.Generator, world: np.random.Generator
) -> np.ndarray:
    """Of the classes; their spread is the strength of the signal."""
    signal, seen = SIGNALS[of["signal"]], hidden.Z[:, : of["relevant"]]
    scores = signal(seen, of["classes"], world)
    if of["drift"] == "concept":
        scores = scores + 0.8 * hidden.time[:, None] * signal(seen, of["classes"], world)
    for word in words.values():
        scores = scores + word.effect[word.codes]
    trained = scores[~hidden.test]
    spread = max(trained.std(axis=0).mean(), 1e-9)
    strength = of["strength"] / 2 if of["signal"] != "rule" else max(of["strength"], 4.0)
    scores = (scores - trained.mean(axis=0)) * (strength / spread)
    if hidden.group is not None:
        scores = scores + 0.7 * rng.normal(size=(hidden.group.max() + 1, of["classes"]))[hidden.group]
    return np.asarray(scores)


def repeated(share: float, test: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each row the number of the one that it repeats, or its own; tests repeat tests only."""
    source = np.arange(len(test))
    if share:
        for part in (np.flatnonzero(~test), np.flatnonzero(test)):
            own = max(10, round(len(part) * (1 - share)))
            source[part[own:]] = rng.choice(part[:own], len(part) - own)
    return source


def frame_of(
    X: np.ndarray, of: Properties, hidden: Hidden, words: Mapping[str, Category], rng: np.random.Generator
) -> Any:
    """The columns as a user holds them."""
    if of["sparse"]:
        return sparse.csr_matrix(X)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if of["dtype"] == "mixed":
        frame = frame.astype({name: "float32" for name in frame.columns[1::2]})
    else:
        frame = frame.astype("Float64" if of["dtype"] == "nullable" else of["dtype"])
    for name, word in words.items():
        frame[name] = word.shown(word.codes)
    if of["ids"] == "text":
        frame["id"] = [f"A-{number:07d}" for number in rng.choice(10**7, len(X))]
    elif of["ids"] == "number":
        frame["id"] = rng.permutation(len(X)) + 10**6
    elif of["ids"] == "row":
        frame["id"] = np.arange(len(X))
    elif of["ids"] == "date":
        hours = pd.to_timedelta((hidden.time * 365 * 24).astype(int), unit="h")
        frame["when"] = pd.Timestamp("2024-01-01") + hours
    plain = not words and of["ids"] in ("none", "number", "row") and of["dtype"] != "nullable"
    return (
        frame.to_numpy(dtype=np.float32 if of["dtype"] == "float32" else float)
        if (of["form"] == "array" and plain)
        else frame
    )


def ordered_rows(kind: str, y: np.ndarray, hidden: Hidden) -> np.ndarray:
    """Numbers of the rows to train on, as they lie in the table."""
    rows = np.flatnonzero(~hidden.test)
    keys = {"by class": y, "by value": hidden.Z[:, 0]}
    return rows[np.argsort(keys[kind][rows], kind="stable")] if kind in keys else rows


def made(of: Properties, seed: int) -> Table | None:
    """The table of these properties; None if its rows to train on are of one class."""
    of = {**DULL, **of}
    world, rng = np.random.default_rng(of["world"]), np.random.default_rng([of["world"], seed, 2])
    n_classes = of["classes"]
    hidden = hidden_columns(of, rng, world)
    words = categories(of["categories"], len(hidden.Z), of["rows"], n_classes, hidden.group, rng, world)
    scores = scores_of(of, hidden, words, rng, world)
    share = shares_of(of["balance"], n_classes, of["rows"], of["prevalence"], world)
    y = noisy(labels(probabilities(scores, share, ~hidden.test), rng), of["noise"], n_classes, rng)
    X = ROUNDINGS[of["rounding"]](TAILS[of["tails"]](hidden.Z, rng))
    X = SCALES[of["scales"]](more_columns(X, of, rng, world), world)
    X = with_missing(X, of["missing"], of["missing_share"], hidden.Z[:, 0], hidden.test, rng)
    source = repeated(of["copies"], hidden.test, rng)
    words = {name: word._replace(codes=word.codes[source]) for name, word in words.items()}
    X, y = frame_of(X[source], of, hidden, words, rng), y[source]
    weight = weights(of["weights"], y, hidden.Z[source, 0], n_classes, rng, world)
    cost, full = costs(of["costs"], n_classes, world), None
    if of["costs"] == "amounts":  # what the last class costs when it is missed, a column is about
        amount = np.exp(1.0 + 0.8 * hidden.Z[source, 0] + 0.3 * rng.normal(size=len(y)))
        full = np.repeat(cost[None], len(y), axis=0)
        full[:, -1, :-1] *= amount[:, None]
    rows, tests = ordered_rows(of["order"], y, hidden), np.flatnonzero(hidden.test)
    return of_seen_classes(
        Table(
            rows_of(X, rows),
            y[rows],
            rows_of(X, tests),
            y[tests],
            cost if full is None else full[rows].mean(axis=0),
            weight=None if weight is None else weight[rows],
            balanced=of["balanced"],
            weight_test=None if weight is None or of["weights"] == "extreme" else weight[tests],
            row_cost=None if full is None else full[rows, y[rows]],
            full_cost=None if full is None else full[tests],
            known=full is not None,
            alike=full is None
            and of["missing"] != "in tests only"
            and all(of[name] == DULL[name] for name in NOT_ALIKE),
        )
    )
