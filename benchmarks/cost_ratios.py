"""Mean cost of methods with defaults under stated costs, and ours as a share of theirs with its standard error.

Costs: a set's own where there are any (german: UCI's; kddcup99: the contest's), else ten tables drawn for every set and
split as `benchmarks.compare` draws them, five symmetric and five of normals, mean off-diagonal 1, the same for all.
Every method decides by least expected cost from its probabilities (as our `predict(X, cost=...)` does), so that one fit
serves all tables.

A share is the quotient of mean costs over the splits that both have, with half a mistake's cost added in every split
(some sets have no mistakes at all). Its standard error is that of the logarithm by the delta method, with
1 / splits + test rows / training rows in place of 1 / splits, since splits share rows (Nadeau and Bengio 2003); that of
a geometric mean comes from those of its sets (of two splits or more), so it says nothing of what other sets would have
given. "best" is, set by set, whichever of some peers has the least mean cost on these very test rows: a choice with
hindsight, which none of them could make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.common import DATA, least_expected, mean_cost
from benchmarks.compare.data import table

DRAWN, DRAWS = ("symmetric", "normal"), 5  # kinds of drawn tables, and how many of each
ADDED = {"cost": 0.5, "error": 0.5, "log_loss": 0.0}  # mistakes in all test rows of a split
LEAST_LOG_LOSS = 0.001  # added to each log-loss: below it a difference is of no use


def tables(name: str, classes: Sequence[str], seed: int) -> list[np.ndarray]:
    """Costs (K, K) for a split, in the order of these classes."""
    import pandas as pd

    own = DATA / f"{name}.cost.csv"
    if own.is_file():
        costs = pd.read_csv(own, index_col=0)
        costs.index = costs.index.astype(str)
        return [costs.loc[list(classes), list(classes)].to_numpy(dtype=np.float64)]
    return [table(kind, len(classes), f"{name}/{draw}", seed) for kind in DRAWN for draw in range(DRAWS)]


def judged(p: np.ndarray, y: np.ndarray, costs: Sequence[np.ndarray]) -> dict[str, float]:
    """Error in percent, log-loss, mean cost over the tables, and what a mistake adds to it on average."""
    off = ~np.eye(p.shape[1], dtype=bool)
    return {
        "error": 100 * float(np.mean(p.argmax(axis=1) != y)),
        "log_loss": log_loss(y, p, labels=np.arange(p.shape[1])),
        "cost": float(np.mean([mean_cost(cost, y, least_expected(p, cost)) for cost in costs])),
        "mistake": float(np.mean([cost[off].mean() for cost in costs])) / len(y),
    }


def padded(row: Mapping[str, Any], of: str) -> float:
    """A figure of a fit with what is added to it before it is divided by another's."""
    if of == "log_loss":
        return float(row[of]) + LEAST_LOG_LOSS
    mistake = float(row["mistake"]) if of == "cost" else 100 / float(row["tested"])
    return float(row[of]) + ADDED[of] * mistake


def spread(values: Sequence[float], tested: float, trained: float) -> float:
    """Standard error of the mean over splits that share rows; NaN of a single one."""
    if len(values) < 2:
        return float("nan")
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + tested / trained))


def share(
    ours: Mapping[str, Mapping[str, Any]], theirs: Mapping[str, Mapping[str, Any]], of: str
) -> tuple[float, float, int]:
    """Logarithm of the quotient of means, its standard error, and splits (the keys of both)."""
    seeds = sorted(set(ours) & set(theirs))
    a, b = (np.array([padded(rows[seed], of) for seed in seeds]) for rows in (ours, theirs))
    first = ours[seeds[0]]
    difference = (a / a.mean() - b / b.mean()).tolist()
    error = spread(difference, float(first["tested"]), float(first["rows"]) - float(first["tested"]))
    return float(np.log(a.mean() / b.mean())), error, len(seeds)


Fits = Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]  # (set, method): split: a line


def by_split(rows: Iterable[Mapping[str, Any]], method: str = "method") -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        found.setdefault((row["set"], row[method]), {})[row["split"]] = row
    return found


def means(fits: Fits) -> list[dict[str, Any]]:
    """Means over splits by set and method, with their standard errors."""
    lines = []
    for (name, method), rows in fits.items():
        first = next(iter(rows.values()))
        line: dict[str, Any] = {"set": name, "method": method, "splits": len(rows)}
        for of in ("error", "log_loss", "cost"):
            values = [float(row[of]) for row in rows.values()]
            tested = float(first["tested"])
            line |= {of: float(np.mean(values)), f"{of}_se": spread(values, tested, float(first["rows"]) - tested)}
        lines.append(line | {"seconds": float(np.median([float(row["seconds"]) for row in rows.values()]))})
    return lines


def shares(fits: Fits, ours: str, peers: Sequence[str], best_of: Sequence[str]) -> list[dict[str, Any]]:
    """Ours as a share of each peer and of the best of some, by set, and beneath them the geometric means."""
    lines: list[dict[str, Any]] = []
    everywhere: dict[str, dict[str, list[tuple[float, float]]]] = {}
    names = dict.fromkeys(name for name, method in fits if method == ours)
    for name in names:
        found: dict[str, dict[str, tuple[float, float, int]]] = {}
        for peer in peers:
            if set(fits.get((name, peer), {})) & set(fits[name, ours]):
                found[peer] = {of: share(fits[name, ours], fits[name, peer], of) for of in ADDED}
        best = [peer for peer in best_of if peer in found]
        if best:
            found["best"] = found[max(best, key=lambda peer: found[peer]["cost"][0])]
        for peer, values in found.items():
            of_best = max(best, key=lambda one: found[one]["cost"][0]) if peer == "best" else ""
            lines.append(_line(name, peer, of_best, {of: value[:2] for of, value in values.items()}, values["cost"][2]))
            for of, value in values.items():
                everywhere.setdefault(peer, {}).setdefault(of, []).append(value[:2])
    for peer, values_of in everywhere.items():
        mean = {of: geometric(values) for of, values in values_of.items()}
        lines.append(_line(f"all {len(values_of['cost'])}", peer, "", mean, ""))
    return lines


def geometric(values: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Mean of logarithms and its standard error, from those of the sets."""
    errors = np.array([error for _, error in values])
    told = errors[~np.isnan(errors)]
    error = float(np.sqrt(np.sum(told**2))) / len(told) if len(told) else float("nan")
    return float(np.mean([log for log, _ in values])), error


def _line(name: str, peer: str, best: str, logs: Mapping[str, tuple[float, float]], splits: Any) -> dict[str, Any]:
    line = {"set": name, "ours / ": peer, "best": best, "splits": splits}
    for of, (log, error) in logs.items():
        line |= {of: float(np.exp(log)), f"{of}_se": float(np.exp(log)) * error}
    return line
