"""Rounds of vector trees on few rows in one kernel call; the same bits as their parts give one after another.

On a few hundred rows the kernels take less time than Python takes to call them, and Python's lock lets one thread
through at a time. `boost` asks the rows whether they make its recipe's round whole.

To compile it takes as long as all else that a first fit on few rows compiles. Where it is not yet in the cache, rounds
are made of their parts until those of one process have been so many that it pays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import FIXED
from minrisk._kernels._jit import is_compiled
from minrisk._kernels.grow import GrowthState
from minrisk._kernels.whole_round import Rule, Space, State, TrainingRows, logistic_rounds
from minrisk._memory import read_only
from minrisk._typing import FloatArray
from minrisk.model.trees import Tree
from minrisk.rows.base import RoundRule, Totals, WholeRound, WholeRounds
from minrisk.rows.local.columns import LocalColumns

LOOK_AGAIN = 500  # rounds of parts, after which another process may have compiled it; a look takes as long as five
NO_MORE = 1 << 62  # rounds of parts, once it is compiled
_rounds_of_parts = 0  # so far in this process


def whole_rounds(rows: LocalColumns, rule: RoundRule, mass: FloatArray, n_rounds: int) -> WholeRounds | None:
    """Rounds in one call, the mass summed over all rows before them; see `Rows.whole_rounds`."""
    costs, everyone = rows.costs, np.flatnonzero(rows.bag_of(np.arange(rows.n_trained))).astype(np.int32)
    value, growth = np.empty(rows.n_outputs), rule.growth
    top = np.array([rows.top_edge, rows.top_mass, rows.top_value])
    width = rule.sketch + 1 if rule.sketch else 2 * rows.n_outputs + 1
    first, last = rows.left_out
    given = TrainingRows(
        rows.X_binned,
        rows.n_bins,
        costs.table,
        costs.row,
        costs.label,
        costs.weight,
        rows.in_bag,
        np.array([[0, first], [last, rows.n_samples]]),
        everyone,
        rows.sum_bits,
    )
    state = State(rows.scores, rows.edge, rows.mass, rows.leaf, top, value, mass.copy())
    how = Rule(
        rule.smoothing,
        read_only(rule.features),
        growth.n_drawn,
        growth.random,
        rule.sketch,
        rule.trials,
        growth.max_leaves,
        growth.max_depth,
        growth.min_leaf,
        rule.thresholds,
        rule.first_threshold,
        rule.newton_smoothing,
        rule.largest,
        rule.stalled,
        rule.learning_rate,
    )
    space = Space(
        np.empty((rows.n_samples, width), dtype=FIXED),
        np.empty((rows.n_samples, rule.sketch + 1)),
        rows.index.lists,
        everyone.copy(),
        np.empty_like(everyone),
        GrowthState.empty(growth.max_leaves, width),
    )
    if not _pays(rows.limits.compile_after, n_rounds, given, state, how, space, 0.0, np.zeros(1, dtype=np.int64)):
        return None
    most = max(1, rows.limits.vector_numbers // (growth.max_leaves * rows.n_outputs))

    def run(totals: Totals, seeds: Sequence[int]) -> list[WholeRound]:
        value[:] = totals.value
        n_made, whole, real, depth, vectors, reached, values, scales = logistic_rounds(
            given, state, how, space, totals.next_log_scale, np.array(seeds[:most])
        )
        (feature, bins, left, vector), (threshold, response, gain) = whole, real
        (node, leaf), scale, made = reached.tolist(), scales.tolist(), []
        for t, deepest in enumerate(depth[:n_made].tolist()):
            columns = feature, bins, threshold, left, response, vector, gain
            tree = Tree._make([*[column[node[t] : node[t + 1]] for column in columns], deepest, None, None])
            totals = Totals(values[t], scale[t], scale[t + 1])
            made.append(WholeRound(tree, vectors[leaf[t] : leaf[t + 1]], totals))
        return made

    return run


@contextmanager
def compiled_at_once() -> Iterator[None]:
    """Compile them at once where they are not compiled yet."""
    global _rounds_of_parts
    before, _rounds_of_parts = _rounds_of_parts, NO_MORE
    yield
    _rounds_of_parts = before


def _pays(after: int, n_rounds: int, *arguments: Any) -> bool:
    """Whether the kernel is compiled, or more rounds than `after` have been made without it."""
    global _rounds_of_parts
    due = _rounds_of_parts % LOOK_AGAIN < n_rounds
    if _rounds_of_parts <= after and not (due and is_compiled(logistic_rounds, *arguments)):
        _rounds_of_parts += n_rounds
        return _rounds_of_parts > after
    _rounds_of_parts = NO_MORE  # it is there, and need not be looked for again
    return True
