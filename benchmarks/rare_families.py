"""Families of tables for `benchmarks.rare`, each a few named tables; a table is a function of a seed.

Most of them are made, so that there are rows enough to test on. The costs of a rare class are such that it pays to look
for it: a miss costs half of what all other rows of a case would cost as false alarms, or 10, 100 and 1000 times one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import count, product
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks import common
from benchmarks.user_tables import (
    SIGNALS,
    TESTS,
    Table,
    dear_last,
    drawn,
    labels,
    made,
    of_seen_classes,
    probabilities,
    rare,
    rows_of,
)

Maker = Callable[[int], Table]
Makers = Iterator[tuple[str, Maker]]
Wanted = tuple[str, str, int, Maker]  # family, name, seed and maker of a table
SALT = 20_260  # of the seeds: no other program draws these tables
PREVALENCES = (0.001, 0.003, 0.01, 0.03, 0.05)
SIZES = (2_000, 8_000, 30_000, 100_000)
RARE_TESTS, MOST_TESTS = 200, 60_000  # of the rare class, so that chance decides little; of all
SHAPES = ("linear", "additive", "interactions")
REAL = (
    ("page_blocks", "3"),
    ("page_blocks", "4"),
    ("page_blocks", "5"),
    ("chess", "zero"),
    ("chess", "one"),
    ("chess", "three"),
    ("nursery", "very_recom"),
    ("car", "vgood"),
    ("car", "good"),
    ("satimage", "4"),
    ("satimage", "2"),
    ("waveform", "0"),
    ("german", "2"),
)
THINNED = (0.01, 0.05)  # least and largest share of the rare class of a real set
AMOUNT, DURATION = "credit_amount", "duration"  # columns of german
DRAWS = 10  # tables of random properties, for each seed


def generator(name: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([SALT, crc32(name.encode()), seed])


def complete(draw: Callable[[np.random.Generator], Table], name: str, seed: int) -> Table:
    """The first table that has every class among its rows to train on."""
    for attempt in count():
        table = draw(generator(f"{name} {attempt}" if attempt else name, seed))
        if len(np.unique(table.y)) == len(table.cost):
            return table
    raise AssertionError


def named(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def halved(X: Any, y: np.ndarray, n_rows: int, cost: np.ndarray, **more: Any) -> Table:
    """The first rows to train on, the others to test on."""
    return Table(
        rows_of(X, np.arange(n_rows)), y[:n_rows], rows_of(X, np.arange(n_rows, len(y))), y[n_rows:], cost, **more
    )


# -- rare classes ----------------------------------------------------------------------------------------------------
def rare_table(
    rng: np.random.Generator,
    signal: str,
    prevalence: float,
    n_rows: int,
    n_classes: int,
    cost: np.ndarray,
    strength: float = 1.5,
    columns: int = 12,
    relevant: int = 6,
) -> Table:
    """The last class is rare, with about `RARE_TESTS` rows to test on; half of the columns say something."""
    n_tests = int(np.clip(RARE_TESTS / prevalence, TESTS, MOST_TESTS))
    if common.is_quick():
        n_rows, n_tests = min(n_rows, 1500), 2000
    X = rng.normal(size=(n_rows + n_tests, columns))
    scores = SIGNALS[signal](X[:, :relevant], n_classes, rng)
    scores *= strength / scores.std(axis=0).mean()
    y = labels(probabilities(scores, rare(n_classes, prevalence), np.arange(len(X)) < n_rows), rng)
    return halved(named(X), y, n_rows, cost)


def worth_finding(n_classes: int, prevalence: float) -> np.ndarray:
    """A class that is likelier than twice its share is decided for."""
    return dear_last(n_classes, max(1.0, 0.5 / prevalence))


def prevalence() -> Makers:
    """Signals take turns over seeds."""

    def table(share: float, n_rows: int, n_classes: int, name: str, turn: int, seed: int) -> Table:
        signal = SHAPES[(turn + seed) % len(SHAPES)]
        cost = worth_finding(n_classes, share)
        return complete(lambda rng: rare_table(rng, signal, share, n_rows, n_classes, cost), name, seed)

    for turn, (n_rows, share, n_classes) in enumerate(product(SIZES, PREVALENCES, (2, 3, 4))):
        name = f"{100 * share:g} %, {n_rows} rows, {n_classes} classes"
        yield name, partial(table, share, n_rows, n_classes, name, turn)


def unequal_costs() -> Makers:
    def table(ratio: float, share: float, n_rows: int, n_classes: int, name: str, seed: int) -> Table:
        signal = SHAPES[seed % len(SHAPES)]
        return complete(
            lambda rng: rare_table(rng, signal, share, n_rows, n_classes, dear_last(n_classes, ratio)), name, seed
        )

    for ratio, share, n_rows, n_classes in product((10, 100, 1000), (0.01, 0.1), (2_000, 8_000, 30_000), (2, 3)):
        name = f"{ratio} : 1, {100 * share:g} %, {n_rows} rows, {n_classes} classes"
        yield name, partial(table, ratio, share, n_rows, n_classes, name)


# -- easy and hard to see --------------------------------------------------------------------------------------------
def one_threshold() -> Makers:
    """A sharp limit in one column of ten says all."""

    def table(n_rows: int, name: str, seed: int) -> Table:
        rng = generator(name, seed)
        X = rng.normal(size=(n_rows + 20_000, 10))
        y = (X[:, rng.integers(10)] > rng.uniform(-1, 1)).astype(int)
        return halved(named(X), y, n_rows, dear_last(2, 1.0))

    for n_rows in (200, 500, 1000, 2000, 5000):
        name = f"{n_rows} rows"
        yield name, partial(table, n_rows, name)


def weak_signal() -> Makers:
    """A line in many columns that says little, of two classes as frequent as each other."""

    def table(n_rows: int, columns: int, slope: float, name: str, seed: int) -> Table:
        rng = generator(name, seed)
        X = rng.normal(size=(n_rows + TESTS, columns))
        y = (rng.random(len(X)) < 1 / (1 + np.exp(-slope * X.sum(axis=1)))).astype(int)
        return halved(named(X), y, n_rows, dear_last(2, 1.0))

    for n_rows, columns, slope in (
        (400, 5, 0.25),
        (1000, 10, 0.15),
        (3000, 20, 0.1),
        (8000, 20, 0.06),
        (30_000, 30, 0.03),
    ):
        name = f"{n_rows} rows, slope {slope:g}"
        yield name, partial(table, n_rows, columns, slope, name)


# -- copies of rows --------------------------------------------------------------------------------------------------
def copies() -> Makers:
    """2000 rows and repetitions of them; no row to test on is repeated."""

    def table(repeat: Callable[[Table, np.random.Generator], Table], share: float, name: str, seed: int) -> Table:
        once = complete(
            lambda rng: rare_table(
                rng, "linear", share, 2000, 2, worth_finding(2, share), columns=8, relevant=4, strength=1.0
            ),
            name,
            seed,
        )
        return repeat(once, generator(f"{name} again", seed))

    def again(once: Table, rows: np.ndarray) -> Table:
        return once._replace(X=rows_of(once.X, rows), y=once.y[rows])

    def twice(once: Table, rng: np.random.Generator) -> Table:
        return again(once, rng.permutation(np.repeat(np.arange(len(once.y)), 2)))

    def third(once: Table, rng: np.random.Generator) -> Table:
        own = round(0.7 * len(once.y))
        return again(once, np.r_[:own, rng.choice(own, len(once.y) - own)])

    def oversampled(once: Table, rng: np.random.Generator) -> Table:
        shares, found = np.bincount(once.y) / len(once.y), np.flatnonzero(once.y)
        more = rng.choice(found, len(once.y) - 2 * len(found))
        return again(once, np.r_[: len(once.y), more])._replace(shares=shares, alike=False)

    def nearly(once: Table, rng: np.random.Generator) -> Table:
        copied = twice(once, rng)
        return copied._replace(X=copied.X + rng.normal(scale=1e-3, size=copied.X.shape))

    ways = (
        ("every row twice", twice, 0.5),
        ("every row twice, rare", twice, 0.05),
        ("30 %", third, 0.5),
        ("oversampled", oversampled, 0.05),
        ("oversampled, rarer", oversampled, 0.02),
        ("nearly the same", nearly, 0.5),
    )
    for name, repeat, share in ways:
        yield name, partial(table, repeat, share, name)


# -- public sets -----------------------------------------------------------------------------------------------------
@lru_cache(maxsize=2)
def public(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A public set with its classes as words; in a quick run what stands in for it where it is not there."""
    if (common.DATA / f"{name}.csv.gz").is_file():
        frame = pd.read_csv(common.DATA / f"{name}.csv.gz").drop(columns="split", errors="ignore")
        return frame, frame.pop("target").astype(str).to_numpy()
    frame, y, _ = common.frame_of(name)
    return frame, y.astype(str)


def made_rare() -> Makers:
    """One class of a public set against the rest, its rows thinned; as many rows to train on as three fifths."""

    def table(name: str, positive: str, seed: int) -> Table:
        rng = generator(f"{name} {positive}", seed)
        X, words = public(name)
        y = (words == (positive if positive in words else words[0])).astype(int)
        share = rng.uniform(*THINNED)
        wanted = max(10, round(share / (1 - share) * (y == 0).sum()))
        found = np.flatnonzero(y)
        chosen = np.sort(np.r_[np.flatnonzero(y == 0), rng.permutation(found)[:wanted]])
        drawn_by = int(rng.integers(1 << 30))
        train, test = train_test_split(chosen, test_size=0.4, stratify=y[chosen], random_state=drawn_by)
        return Table(rows_of(X, train), y[train], rows_of(X, test), y[test], worth_finding(2, float(y[train].mean())))

    for name, positive in REAL:
        yield f"{name} {positive}", partial(table, name, positive)


# -- weights ---------------------------------------------------------------------------------------------------------
def weighted() -> Makers:
    """Rows that count more than others, and classes that count alike."""

    def table(weigh: str, n_rows: int, share: float, name: str, seed: int) -> Table:
        rng = generator(f"{name} weights", seed)
        cost = dear_last(2, 1.0) if weigh == "balanced" else worth_finding(2, share)
        base = complete(lambda rng: rare_table(rng, SHAPES[seed % 3], share, n_rows, 2, cost), name, seed)
        if weigh == "balanced":
            return base._replace(balanced=True)

        def of(X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
            if weigh == "whole numbers":
                return rng.integers(1, 4, len(y)).astype(float)
            if weigh == "uneven":
                return rng.lognormal(0, 1, len(y))
            return np.where(y == 1, 0.5 / share, 1.0)  # rare ones count as if they were a third

        weight, weight_test = of(base.X, base.y), of(base.X_test, base.y_test)
        cost = dear_last(2, 1.0) if weigh == "by class" else cost
        return base._replace(weight=weight, weight_test=weight_test, cost=cost)

    for weigh, n_rows, share in product(
        ("whole numbers", "uneven", "by class", "balanced"), (2_000, 8_000), (0.02, 0.2)
    ):
        name = f"{weigh}, {n_rows} rows, {100 * share:g} %"
        yield name, partial(table, weigh, n_rows, share, name)


# -- random properties -----------------------------------------------------------------------------------------------
def users() -> Makers:
    """Properties drawn at random; a draw with one class is drawn again."""

    def table(name: str, seed: int) -> Table:
        rng = generator(name, seed)
        while True:
            found = made(drawn(rng, (300, 1000) if common.is_quick() else (500, 12_000)), seed)
            if found is not None:
                return found

    for number in range(DRAWS):
        yield f"draw {number}", partial(table, f"draw {number}")


# -- amounts ---------------------------------------------------------------------------------------------------------
def by_amounts(X: pd.DataFrame, y: np.ndarray, full: np.ndarray, n_rows: int, known: bool) -> Table:
    """Of `full` (n, 2, 2), the rows to train on have what decisions about them cost; means by class are the matrix."""
    trained = np.arange(n_rows)
    row_cost = full[trained, y[:n_rows]]
    means = np.array([row_cost[y[:n_rows] == k].mean(axis=0) for k in range(2)])
    return halved(X, y, n_rows, means, row_cost=row_cost, full_cost=full[n_rows:], known=known, alike=False)


def payments(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Frauds among payments: one that passes costs its amount, a call about any costs 15."""
    n = n_rows + TESTS
    amount = np.round(np.exp(rng.normal(3.5, 1.3, n)), 2)
    merchants = ["grocer", "travel", "electronics", "casino", "fuel", "online", "pharmacy", "jewellery"]
    merchant = rng.choice(merchants, n, p=[0.3, 0.08, 0.1, 0.03, 0.2, 0.2, 0.07, 0.02])
    country = rng.choice(list("ABCDEFGHIJKLMNOPQRST"), n)
    hour, tenure = rng.integers(0, 24, n), rng.exponential(5, n)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n))
    online = merchant == "online"
    odds = (
        -3.6
        + 0.5 * (np.log(amount) - 3.5)
        + 1.4 * np.isin(merchant, ["casino", "electronics", "jewellery"])
        + (hour < 5)
        + 0.8 * np.isin(country, ["C", "Q"])
        - 0.15 * tenure
        + 0.02 * (np.nan_to_num(age, nan=50) - 50) * online
        + 1.2 * online * (amount > 200)
    )
    fraud = (rng.random(n) < 1 / (1 + np.exp(-1.2 * odds))).astype(int)
    full = np.zeros((n, 2, 2))
    full[:, :, 1] = 15.0
    full[:, 1, 0] = amount
    frame = pd.DataFrame(
        {"amount": amount, "merchant": merchant, "country": country, "hour": hour, "age": age, "tenure": tenure}
    )
    return frame, fraud, full


def claims(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """False claims among claims: what is claimed follows the car's value and the damage; a look at one costs 80."""
    n = n_rows + TESTS
    value, age = np.round(np.exp(rng.normal(9.3, 0.6, n)), -2), rng.integers(0, 20, n)
    region = rng.choice(list("NESW"), n)
    damage = rng.choice(["glass", "dent", "theft", "total"], n, p=[0.4, 0.4, 0.15, 0.05])
    part = pd.Series(damage).map({"glass": 0.03, "dent": 0.1, "theft": 0.6, "total": 1.0}).to_numpy()
    claimed = value * part * np.exp(rng.normal(0, 0.4, n))
    earlier = rng.poisson(0.4, n)
    odds = -4.6 + 1.6 * (damage == "theft") + 0.6 * earlier + 0.08 * age + 0.7 * (region == "S") * (damage == "dent")
    false = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    full = np.zeros((n, 2, 2))
    full[:, :, 1] = 80.0
    full[:, 1, 0] = claimed
    frame = pd.DataFrame({"value": value, "age": age, "region": region, "damage": damage, "earlier": earlier})
    return frame, false, full


def churn(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Customers who leave: one who is let go costs what he is worth, an offer costs a tenth of it and 5 more."""
    n = n_rows + TESTS
    fee, months = np.round(rng.gamma(3, 12, n) + 5, 2), rng.exponential(24, n).round()
    contract = rng.choice(["month", "year", "two years"], n, p=[0.5, 0.3, 0.2])
    calls, usage = rng.poisson(1.2, n), rng.normal(size=n)
    odds = (
        -2.6
        + 1.1 * (contract == "month")
        - 0.03 * months
        + 0.35 * calls
        - 0.5 * usage
        + 0.01 * (fee - 40)
        + 0.8 * (calls > 3) * (contract == "month")
    )
    leaves = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    value = 12 * fee * (1 + (contract == "two years"))
    full = np.zeros((n, 2, 2))
    full[:, :, 1] = (5 + 0.1 * value)[:, None]
    full[:, 1, 0] = value
    frame = pd.DataFrame({"fee": fee, "months": months, "contract": contract, "calls": calls, "usage": usage})
    return frame, leaves, full


def german_loans(known: bool, seed: int) -> Table:
    """A bad loan granted costs three quarters of the amount, a good one refused the interest of 10 % a year."""
    rng = generator(f"german loans {known}", seed)
    X, words = public("german")
    names = [AMOUNT, DURATION] if AMOUNT in X else list(X.columns[-2:])
    y = (words == "2").astype(int)
    order = rng.permutation(len(y))
    X, y = rows_of(X, order), y[order]
    amount, months = (X[name].to_numpy(dtype=float) for name in names)
    full = np.zeros((len(y), 2, 2))
    full[:, 0, 1] = 0.1 * amount * months / 12 / 1000
    full[:, 1, 0] = 0.75 * amount / 1000
    return by_amounts(X, y, full, round(0.6 * len(y)), known)


def contest(n_rows: int, seed: int) -> Table:
    """Distinct rows of KDD Cup 1999, which five classes and official costs belong to."""
    X, words = distinct_contest()
    table = pd.read_csv(common.DATA / "kddcup99.cost.csv", index_col=0)
    names = sorted(table.columns)
    cost, codes = table.loc[names, names].to_numpy(dtype=float), np.searchsorted(names, words)
    chosen = generator(f"contest {n_rows}", seed).permutation(len(codes))[: n_rows + TESTS]
    found = of_seen_classes(halved(rows_of(X, chosen), codes[chosen], n_rows, cost))
    assert found is not None
    return found


@lru_cache(maxsize=1)
def distinct_contest() -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_csv(common.DATA / "kddcup99.csv.gz")
    frame = frame[frame.pop("split") == "train"].drop_duplicates().reset_index(drop=True)
    return frame, frame.pop("target").to_numpy().astype(str)


def amounts() -> Makers:
    """Costs per row, known when it is decided or to be expected; and official costs of five classes."""

    def table(make: Callable[..., Any], n_rows: int, known: bool, name: str, seed: int) -> Table:
        return by_amounts(*make(generator(name, seed), n_rows), n_rows, known)

    for make, n_rows, known in product((payments, claims, churn), (2_000, 8_000, 30_000), (True, False)):
        name = f"{make.__name__}, {'known' if known else 'expected'}, {n_rows} rows"
        yield name, partial(table, make, n_rows, known, name)
    for known in (True, False):
        yield f"german, {'known' if known else 'expected'}", partial(german_loans, known)
    if (common.DATA / "kddcup99.csv.gz").is_file():
        for n_rows in (2_000, 8_000):
            yield f"kddcup99, {n_rows} rows", partial(contest, n_rows)


FAMILIES: dict[str, Callable[[], Makers]] = {
    "prevalence": prevalence,
    "unequal_costs": unequal_costs,
    "one_threshold": one_threshold,
    "weak_signal": weak_signal,
    "copies": copies,
    "made_rare": made_rare,
    "weighted": weighted,
    "users": users,
    "amounts": amounts,
}
DAILY: dict[str, tuple[str, ...]] = {  # tables of moderate size: a few of each family
    "prevalence": (
        "1 %, 2000 rows, 2 classes",
        "5 %, 2000 rows, 3 classes",
        "3 %, 2000 rows, 4 classes",
        "0.3 %, 8000 rows, 2 classes",
        "1 %, 8000 rows, 3 classes",
        "3 %, 8000 rows, 2 classes",
    ),
    "unequal_costs": (
        "10 : 1, 10 %, 2000 rows, 2 classes",
        "100 : 1, 1 %, 8000 rows, 2 classes",
        "100 : 1, 10 %, 2000 rows, 3 classes",
        "1000 : 1, 1 %, 8000 rows, 2 classes",
    ),
    "one_threshold": ("500 rows", "1000 rows", "2000 rows", "5000 rows"),
    "weak_signal": ("1000 rows, slope 0.15", "3000 rows, slope 0.1", "8000 rows, slope 0.06"),
    "copies": ("every row twice", "every row twice, rare", "30 %", "oversampled", "nearly the same"),
    "made_rare": ("page_blocks 4", "nursery very_recom", "satimage 4", "waveform 0", "chess one"),
    "weighted": (
        "whole numbers, 2000 rows, 2 %",
        "uneven, 8000 rows, 2 %",
        "by class, 2000 rows, 2 %",
        "balanced, 2000 rows, 20 %",
    ),
    "users": ("draw 0", "draw 1", "draw 2", "draw 3", "draw 4", "draw 5"),
    "amounts": (
        "payments, known, 8000 rows",
        "claims, expected, 8000 rows",
        "churn, known, 2000 rows",
        "kddcup99, 8000 rows",
    ),
}
DAILY_SEED = 1000  # not one of a whole run: what is tuned day by day is judged by other tables


def tables(families: Any, seeds: Any) -> Iterator[Wanted]:
    """All tables; seeds outermost, so that a run that is cut short has all families."""
    for seed in seeds:
        for family in families:
            for name, maker in FAMILIES[family]():
                yield family, name, seed, maker


def daily_tables(families: Any, seeds: Any) -> Iterator[Wanted]:
    """The few of them; their seeds begin where those of a whole run have long ended."""
    for seed in seeds:
        for family in families:
            makers = dict(FAMILIES[family]())
            for name in DAILY[family]:
                yield family, name, DAILY_SEED + seed, makers[name]
