"""How often promises about the cost of decisions hold, and how many rows are referred for them.

For each set a `MinRiskClassifier` is fitted to a part of the rows. From the others, the pool, 1000 rows are drawn with
replacement, `guarantee` finds the price of referring from them, and the pool says what is true: its rows are all that
there can be. The promise is half of the mean cost without referring, at a confidence of 0.95. The oracle refers the
fewest rows with which the pool keeps the promise. "Normal" costs are sizes of normal numbers.

MAPIE's controllers are asked for the same with 0/1 costs, by thresholds of the largest probability: by a fixed sequence
from the highest on, and by its default correction for many tests, of which the lowest valid threshold is taken.

Targets: a promise holds in 95 of 100 draws, or in so few less that chance explains it (in one of twenty such runs), and
over all rows 1.3 times the oracle's share is referred at most.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import binom

from benchmarks.common import costs, is_quick, load, parser, save, show, there
from minrisk import MinRiskClassifier
from minrisk.costs import CostMatrix
from minrisk.decisions.guarantee import guarantee

SETS = ("german", "vehicle", "segment", "waveform", "satimage", "pendigits")
FITTED, DRAWN, CONFIDENCE, PROMISED = 2000, 1000, 0.95, 0.5
DRAWS, PEER_DRAWS = 400, 100  # the share that holds is known to one per cent then
HELD, SHARE, CHANCE = 0.95, 1.3, 0.05  # targets
PEERS = {"MAPIE": "mapie"}
THRESHOLDS = np.linspace(0.99, 0.0, 100)  # MAPIE's own, from the most cautious on

Referred = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of the pool, from rows that were drawn


class Pool:
    """Rows that the fit has not seen: their probabilities, what each would cost, and how sure its decision is."""

    def __init__(self, name: str) -> None:
        data = load(name)
        y = np.unique(data.y, return_inverse=True)[1]
        order = np.random.default_rng(0).permutation(len(y))
        first, rest = np.split(order, [min(FITTED, int(0.4 * len(order)))])
        self.model = MinRiskClassifier(random_state=0, n_estimators=10 if is_quick() else None)
        self.model.fit(data.X[first], y[first])
        self.probabilities, self.y = self.model.predict_proba(data.X[rest]), y[rest]

    def judge(self, table: np.ndarray) -> None:
        expected = self.probabilities @ table
        self.least, self.cost = expected.min(axis=1), table[self.y, expected.argmin(axis=1)]

    def mean(self, referred: np.ndarray, of: str) -> float:
        total = float(self.cost[~referred].sum())
        return total / (len(self.y) if of == "all" else max(1, int((~referred).sum())))

    def oracle(self, at_most: float, of: str) -> float:
        """Return the share that is referred at the best price."""
        prices = np.unique(self.least)
        keeping = [price for price in prices if self.mean(self.least > price, of) <= at_most]
        return float((self.least > max(keeping)).mean()) if keeping else 1.0


class Given:
    """A classifier of rows that are probabilities."""

    def __init__(self, n_classes: int) -> None:
        self.classes_ = np.arange(n_classes)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return X


def by_minrisk(pool: Pool, cost: CostMatrix, at_most: float, of: str) -> Referred:
    def referred(p: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = guarantee(Given(p.shape[1]), p, y, at_most=at_most, confidence=CONFIDENCE, of=of, cost=cost)  # type: ignore[arg-type]
        return pool.least > found.price if found.price else np.ones(len(pool.y), dtype=bool)

    return referred


def by_mapie(pool: Pool, at_most: float, of: str, method: str) -> Referred:
    from mapie.risk_control import MultiClassificationLTTController
    from mapie.risk_control.risks import BinaryRisk

    def is_decided(y: np.ndarray, decided: np.ndarray) -> np.ndarray:
        return np.asarray(decided == decided)

    wrong = BinaryRisk(
        risk_occurrence=lambda y, decided: (decided == decided) & (decided != y),
        risk_condition=is_decided if of == "decided" else lambda y, decided: np.repeat(True, len(y)),
        higher_is_better=False,
    )

    def referred(p: np.ndarray, y: np.ndarray) -> np.ndarray:
        controller = MultiClassificationLTTController(
            lambda X: X,
            [wrong],
            [at_most],
            CONFIDENCE,
            list_predict_params=THRESHOLDS,
            classes=np.arange(p.shape[1]),
            fwer_method=method,
        )
        controller.calibrate(p, y)
        valid = np.asarray(controller.valid_predict_params, dtype=float)
        return pool.probabilities.max(axis=1) < (valid.min() if len(valid) else np.inf)

    return referred


def methods(
    pool: Pool, kind: str, cost: CostMatrix, at_most: float, of: str, peers: list[str]
) -> Iterator[tuple[str, Referred]]:
    yield "minrisk", by_minrisk(pool, cost, at_most, of)
    if peers and kind == "0/1":
        yield "MAPIE, fixed sequence", by_mapie(pool, at_most, of, "fixed_sequence")
        yield "MAPIE, default", by_mapie(pool, at_most, of, "bonferroni_holm")


def figures(name: str, most: int, peers: list[str]) -> Iterator[dict[str, Any]]:
    pool = Pool(name)
    n, K = pool.probabilities.shape
    for kind in ("0/1", "normal"):
        table = costs(kind, K, seed=1).values
        cost = CostMatrix(np.column_stack([table, np.zeros(K)]), allow_diagonal=True)
        pool.judge(table)
        at_most = PROMISED * float(pool.cost.mean())
        for of in ("all", "decided"):
            oracle = pool.oracle(at_most, of)
            for method, referred_by in methods(pool, kind, cost, at_most, of, peers):
                held, shares = 0, []
                draws = most if method == "minrisk" else min(most, PEER_DRAWS)
                for draw in range(draws):
                    drawn = np.random.default_rng(draw).integers(0, n, DRAWN)
                    referred = referred_by(pool.probabilities[drawn], pool.y[drawn])
                    held += pool.mean(referred, of) <= at_most + 1e-12
                    shares.append(float(referred.mean()))
                ratio = float(np.mean(shares)) / oracle
                meets = binom.cdf(held, draws, HELD) >= CHANCE and (of == "decided" or ratio <= SHARE)
                yield {
                    "set": name,
                    "classes": K,
                    "pool": n,
                    "costs": kind,
                    "of": of,
                    "method": method,
                    "at_most": at_most,
                    "held": held,
                    "draws": draws,
                    "oracle": oracle,
                    "referred": float(np.mean(shares)),
                    "of_oracle": ratio,
                    "all_referred": int(np.sum(np.array(shares) == 1.0)),
                    "meets": ("yes" if meets else "no") if method == "minrisk" else "",
                }


def main() -> None:
    parser(__doc__, "four draws of two sets").parse_args()
    warnings.simplefilter("ignore")  # that all rows are referred is counted
    rows: list[dict[str, Any]] = []
    peers = there(PEERS)
    for name in SETS[:2] if is_quick() else SETS:
        rows += figures(name, 4 if is_quick() else DRAWS, peers)
        save("guarantee", rows)
    show(rows, ("set", "costs", "of", "method", "held", "draws", "oracle", "referred", "of_oracle", "meets"))


if __name__ == "__main__":
    main()
