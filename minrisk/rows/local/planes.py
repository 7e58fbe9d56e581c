"""Rows that keep cutting planes of a loss: for each plane the decision that every row has chosen in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from minrisk._kernels._dtypes import CHOICE
from minrisk._kernels.hinge import read_choices, sum_choices, weigh_choices
from minrisk._typing import FloatArray, IntArray
from minrisk.rows.base import CORRECTIVE_ROWS, PAIR_ROWS, PLANE_ROWS
from minrisk.rows.fixed_point import divide, fixed_factor
from minrisk.rows.local.pairs import LocalCorrectiveRows


class LocalPlaneRows(LocalCorrectiveRows):
    """`LocalCorrectiveRows` that keep planes, two bytes for each row and plane.

    Parameters: those of `LocalCorrectiveRows`.
    """

    traits = frozenset({PAIR_ROWS, CORRECTIVE_ROWS, PLANE_ROWS})

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._choices = np.empty((0, self.n_samples), dtype=CHOICE)
        self._n_planes = 0

    def forget_planes(self) -> None:
        """Keep none; see `PlaneRows.forget_planes`."""
        self._n_planes = 0

    def keep_plane(self) -> None:
        """Keep that of the last `total_slopes`; see `PlaneRows.keep_plane`."""
        if self._n_planes == len(self._choices):
            more = np.empty((max(8, len(self._choices)), self.n_samples), dtype=CHOICE)
            self._choices = np.concatenate([self._choices, more])
        kept, edge = self._choices[self._n_planes], self._tried[1]
        self.over_blocks(lambda a, b: read_choices(edge, self.costs.label, a, b, kept))
        self._n_planes += 1

    def weigh_planes(self, shares: FloatArray) -> None:
        """Edges are those of the planes times their shares; see `PlaneRows.weigh_planes`."""
        kept, counted = self._choices[: self._n_planes], np.flatnonzero(shares)
        kept, shares = np.ascontiguousarray(kept[counted]), np.ascontiguousarray(shares[counted])
        tops = self.over_blocks(
            lambda a, b: weigh_choices(kept, shares, self.costs.label, self.costs.weight, a, b, self.edge)
        )
        self.top_edge = self.largest(tops)
        self._fix_columns(1)

    def plane_edges(self) -> FloatArray:
        """Sums along the response in each plane; see `PlaneRows.plane_edges`."""
        kept, D = self._choices[: self._n_planes], self.n_outputs
        factor = fixed_factor(np.array([self.top_weight]), self.sum_bits - 1)  # a bit for a row that counts twice
        sums: IntArray = self.added(
            self.over_blocks(
                lambda a, b: sum_choices(
                    kept, self.costs.label, self.costs.weight, self.response, self.in_bag, factor[0], D, a, b
                )
            )
        )
        return divide(sums, np.broadcast_to(factor, sums.shape))
