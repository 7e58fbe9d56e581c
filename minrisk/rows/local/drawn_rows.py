"""Rows that are drawn for the search of splits: which, what is sent of them to one piece, and how it lies there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minrisk._kernels._dtypes import BIN, LEAF
from minrisk._kernels.sampling import SIZE_BINS, SIZE_SHIFT, count_sizes, draw_rows, project_drawn, size_level
from minrisk._kernels.stored import Entries, count_drawn, pack_drawn
from minrisk._memory import empty, read_only
from minrisk._typing import Binned, FloatArray, Int32Array, IntArray
from minrisk.rows.base import GrowthRule, Target
from minrisk.rows.fixed_point import fixed_factor
from minrisk.rows.local.columns import ADDED_SUMS, LocalColumns

MOST_DRAWN = 1 / 8  # of the rows, for a search
SEARCHED = 1 << 19  # ..., or rows times features looked at: up to then it takes no longer than the rest of a round
MOST_TIMES = 16  # the least number: rows that are sent to one piece do not grow with all there are
HASH_SUMS = 8.0  # elementary sums that a row's random number takes


class SentRows(NamedTuple):
    """What a piece sends of the rows that it has drawn, m of them, in F features."""

    sketch: FloatArray  # (m, q + 1), each row over the probability with which it came
    bins: np.ndarray  # (F, m), or (d, m) if nobody else is there; or (E,) of the entries of sparse features,
    counts: IntArray  # (F,) how many entries each feature has,
    rows: Int32Array  # (E,) and their rows, of the m


def most_drawn(n_rows: int, rule: GrowthRule) -> int:
    """Rows that are drawn from so many at most, however alike their gradients are."""
    assert rule.n_rows is not None
    return min(max(int(n_rows * MOST_DRAWN), SEARCHED // rule.n_drawn), MOST_TIMES * rule.n_rows)


def draw(
    rows: LocalColumns, target: Target, least: int, most: int, seed: int, size: FloatArray
) -> tuple[Int32Array, FloatArray]:
    """Draw rows of the bag: those of this piece, ascending, and their sketch over the probabilities.

    A row's size s is the length of its edges in the sketch, |r edge|. It is drawn with probability
    p = min(1, (s + floor) / level), apart from all others, by a hash of the seed and its number. The level makes the
    expected number that of `size_level`: every piece finds the same from one histogram of all sizes.

    Parameters
    ----------
    rows : LocalColumns
    target : Target
        With directions.
    least, most : int
        Rows to be drawn in all pieces: the expected number. The least is below the number of rows in the bag.
    seed : int
    size : ndarray of shape (n,)
        Is filled with the sizes.
    """
    directions, n_outputs, in_bag = target.directions, rows.n_outputs, rows.in_bag
    assert directions is not None
    tops = (np.abs(directions) * rows.top_edge).sum(axis=1)
    top = np.sqrt((tops**2).sum())  # no size is above it but by rounding, and all pieces know it
    lowest = int(np.float64(top).view(np.int64) >> SIZE_SHIFT) - (SIZE_BINS - 1)
    factor = float(fixed_factor(np.array(top), rows.sum_bits))
    found = rows.over_blocks(
        lambda a, b: count_sizes(rows.edge, directions, in_bag, lowest, factor, a, b, size), 2.0 * len(directions)
    )
    floor, level = size_level(rows.added(found), factor, least, most)
    begins, number = rows.place.numbered
    drawn = empty((rows.n_samples,), np.int32)  # of which few are touched

    def draw_block(start: int, stop: int) -> Int32Array:
        m = draw_rows(size, in_bag, floor, level, seed, begins, number, start, stop, drawn)
        return drawn[start : start + m]

    chosen = np.concatenate(rows.over_blocks(draw_block, HASH_SUMS / n_outputs))
    m, sketch = len(chosen), np.empty((len(chosen), len(directions) + 1))

    def project(block: tuple[int, int]) -> None:
        of = rows.edge, rows.mass, directions, target.weight
        project_drawn(*of, size, floor, level, chosen, *block, sketch)

    alone = m * n_outputs * sketch.shape[1] * ADDED_SUMS < rows.limits.inline_work
    parts = 1 if alone else rows.workers.n
    rows.workers.map(project, [(m * part // parts, m * (part + 1) // parts) for part in range(parts)])
    return chosen, sketch


def sent(
    rows: LocalColumns, features: IntArray, drawn: Int32Array, bins: np.ndarray | None, sketch: FloatArray
) -> SentRows:
    """What a piece sends: bins of the features, from their array (d, m) or from stored entries."""
    if rows.sparse is None:
        assert bins is not None
        none = np.empty(0, dtype=np.int32)
        return SentRows(sketch, bins if rows.is_alone else bins[features], none.astype(np.int64), none)
    features = np.sort(features)
    stored, place, counts = rows.sparse.stored, rows.leaf, np.empty(len(features), dtype=np.int64)
    place[:] = -1
    place[drawn] = np.arange(len(drawn), dtype=LEAF)
    count_drawn(stored, features, place, counts)
    entries = int(counts.sum())
    of_row, bins = np.empty(entries, dtype=np.int32), np.empty(entries, dtype=BIN)
    pack_drawn(stored, features, place, of_row, bins)
    return SentRows(sketch, bins, counts, of_row)


def drawn_together(
    rows: LocalColumns, features: IntArray, messages: Sequence[SentRows]
) -> tuple[Binned, Entries | None, FloatArray]:
    """Bins of the drawn rows of all pieces (d, m), or stored entries; and their sketch. Their order does not matter."""
    if rows.is_alone:
        sketch, bins, counts, of_row = messages[0]
    else:
        sketch = np.concatenate([message.sketch for message in messages])
        bins = np.concatenate([message.bins for message in messages], axis=-1)
        counts = np.sum([message.counts for message in messages], axis=0)
        first = np.cumsum([0, *(len(message.sketch) for message in messages)])
        of_row = np.concatenate([m.rows + before for m, before in zip(messages, first[:-1], strict=True)])
    if rows.sparse is None:
        if not rows.is_alone:
            some, bins = bins, np.empty((rows.n_features, len(sketch)), dtype=BIN)
            bins[features] = some
        return read_only(bins), None, sketch
    if not rows.is_alone:
        feature = np.concatenate([np.repeat(np.arange(len(counts)), message.counts) for message in messages])
        order = np.argsort(feature, kind="stable")
        of_row, bins = of_row[order], bins[order]
    offsets = np.zeros(rows.n_features + 1, dtype=np.int64)
    offsets[np.sort(features) + 1] = counts
    stored = rows.sparse.stored
    entries = Entries(stored.default, np.cumsum(offsets), of_row.astype(np.int32), bins)
    return rows.X_binned, Entries(*map(read_only, entries)), sketch
