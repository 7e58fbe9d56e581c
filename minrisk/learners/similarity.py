"""Localized similarities: "more like this point than like that one".

The names of the paper, and where this departs from it, are in `minrisk.algorithms.similarities`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minrisk.learners.base import Found, Round
from minrisk.losses.base import SIGNS
from minrisk.model.similarities import Similarity
from minrisk.rows.local.similar import SimilarRows, similar_rows

NEAREST = 2048  # candidates that are put in order first: most rounds ask for no more
BATCH_BYTES = 16 << 20  # of distance columns that are computed together
TIE = 1e-9  # drops that differ by less are equal: rounding must not choose between mathematically equal learners


class _Best(NamedTuple):
    """The best learner so far, by its rows."""

    rows: tuple[int, ...]
    span: float
    drop: float


@dataclass(frozen=True)
class Similarities:
    """One- and two-point similarities, found by Sec. 5.2.

    Parameters
    ----------
    real : bool
        Real-valued responses in [-1, 1], or their signs.
    two_point : bool
        Whether there are f_ij, or f_i only.
    n_candidates : int, optional
        Points x_j that are tried in a round; None: until step 6 has removed all (the paper).
    """

    real: bool = True
    two_point: bool = True
    n_candidates: int | None = None

    @property
    def traits(self) -> frozenset[str]:
        """Facts that steps may rely on."""
        return frozenset() if self.real else frozenset({SIGNS})

    def fit(self, round_: Round) -> Found | None:
        """Steps 0 to 6 of Sec. 5.2; see `LearnerFamily.fit`."""
        rows, problem = similar_rows(round_.rows), round_.problem
        rows.start_search(problem.mass, problem.loss.gain)
        best = _Best((), 1.0, rows.drop_along(np.ones(rows.n_samples)))  # step 0: f = 1
        vectors = np.linalg.eigh(rows.moments())[1]
        rows.binarise(vectors[:, -1])  # step 1
        i = rows.most_isolated()  # step 2
        near = rows.columns([i])[0]
        tau = rows.nearest_other(near) / 2.0
        if np.isfinite(tau):
            rows.answer(near, None, tau, self.real)
            best = _better(best, _Best((i,), tau, rows.drop_along(rows.response)))  # step 3
        if self.two_point:
            for candidate in self._pairs(rows, i, near):
                best = _better(best, candidate)
        learner = self._answer(rows, best)
        step = round_.solver.solve(problem)
        share = max(0.0, 1.0 - step.value / problem.value)
        found = learner._replace(gain=np.array([share]))
        return Found((found,), step)  # type: ignore[arg-type]  # it does all that is asked of a tree here

    def _pairs(self, rows: SimilarRows, i: int, near: np.ndarray) -> Iterator[_Best]:
        """Steps 4 to 6: f_ij for the nearest opposite x_j that is left, until none is.

        Columns of distances are computed for several candidates ahead; those that an earlier one removes are not tried.
        """
        order, everyone = rows.opposite(i, near, NEAREST)
        alive = np.ones(len(order), dtype=np.bool_)
        largest = int(np.clip(BATCH_BYTES // (8 * rows.n_samples), 1, 64))
        left = rows.n_samples if self.n_candidates is None else self.n_candidates
        size, place = min(8, largest), 0
        tried: list[int] = []
        while left > 0:
            batch = place + np.flatnonzero(alive[place:])[: min(size, left)]
            if len(batch) == 0:
                if everyone:
                    return
                first = len(order)
                order, everyone = rows.opposite(i, near, None)
                alive = np.arange(len(order)) >= first
                for j in tried:
                    rows.thin(near, rows.columns([j])[0], float(near[j]), order, first, alive)
                continue
            columns = rows.columns([int(order[a]) for a in batch])
            chosen = []
            for a, far in zip(batch.tolist(), columns, strict=True):
                if alive[a]:
                    chosen.append((int(order[a]), far, float(near[order[a]])))
                    rows.thin(near, far, float(near[order[a]]), order, a, alive)  # step 6, which removes x_j too
            drops = rows.pair_drops(near, [far for _, far, _ in chosen], [span for _, _, span in chosen], self.real)
            for (j, _, span), drop in zip(chosen, drops, strict=True):
                yield _Best((i, j), span, drop)  # step 5
            tried += [j for j, _, _ in chosen]
            left -= len(chosen)
            size, place = min(2 * size, largest), int(batch[-1]) + 1

    def _answer(self, rows: SimilarRows, best: _Best) -> Similarity:
        """The learner, its response left in the rows."""
        chosen = np.array(best.rows, dtype=np.int64)
        if len(chosen) == 0:
            rows.response[:] = 1.0
            rows.leaf[:] = 0
        else:
            near, *rest = rows.columns(best.rows)
            rows.answer(near, rest[0] if rest else None, best.span, self.real)
        return Similarity(rows.points.at(chosen), chosen, best.span, self.real, rows.units, np.zeros(1))


def _better(best: _Best, other: _Best) -> _Best:
    """The one that lowers the loss more; the earlier one where they are equal to rounding."""
    return other if other.drop > best.drop * (1.0 + TIE) else best
