"""Localized similarities: "more like this point than like that one".

The names of the paper, and where this departs from it, are in `minrisk.algorithms.similarities`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._typing import FloatArray
from minrisk._utils.algebra import eigenvectors, product
from minrisk.learners.base import FittedLearners, Round
from minrisk.losses.base import SIGNS
from minrisk.model.similarities import Similarity
from minrisk.rows.similar import SimilarRows


class _Best(NamedTuple):
    """The best learner so far, by its points."""

    points: tuple[int, ...]
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

    requires = frozenset({SimilarRows})

    @property
    def traits(self) -> frozenset[str]:
        return frozenset() if self.real else frozenset({SIGNS})

    def fit(self, round_: Round) -> FittedLearners | None:
        """Take steps 0 to 6 of Sec. 5.2."""
        rows, problem = cast(SimilarRows, round_.rows), round_.problem  # as required
        rows.start_search(problem.hessian, problem.loss.gain)
        rows.answer((), 1.0, self.real)
        best = _Best((), 1.0, rows.drop())  # step 0: f = 1
        rows.binarise(_leading(rows.moments()))  # step 1
        i = rows.most_isolated()  # step 2
        tau = rows.nearest_other(i) / 2.0
        if np.isfinite(tau):
            rows.answer((i,), tau, self.real)
            best = _better(best, _Best((i,), tau, rows.drop()))  # step 3
        if self.two_point:
            for j, span, drop in rows.opposites(i, self.real, self.n_candidates):  # steps 4 to 6
                best = _better(best, _Best((i, j), span, drop))
        rows.answer(best.points, best.span, self.real)
        step = round_.solver.solve(problem)
        share = problem.fall(step)
        found = Similarity(
            rows.anchors(best.points),
            np.array(best.points, dtype=np.int64),
            best.span,
            self.real,
            rows.units,
            np.array([share]),
        )
        return FittedLearners((found,), step)  # type: ignore[arg-type]  # it does all that is asked of a tree here


def _leading(moments: FloatArray) -> FloatArray:
    """Return the eigenvector of the largest eigenvalue; of several the combination that lies nearest to a class.

    So rounding does not choose the vector where classes are alike, as balanced ones.
    """
    values, vectors = eigenvectors(moments)
    among = vectors[:, values >= values[-1] * (1.0 - TIE)]
    sizes = np.square(among).sum(axis=1)
    return product(among, among[np.argmax(sizes >= sizes.max() * (1.0 - TIE))])


def _better(best: _Best, other: _Best) -> _Best:
    """Return the one that lowers the loss more; the earlier one where they are equal to rounding."""
    return other if other.drop > best.drop * (1.0 + TIE) else best
