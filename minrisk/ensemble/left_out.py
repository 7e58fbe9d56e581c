"""What a fit keeps of the rows that its members left out, for decisions about other rows than those of the fit."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from minrisk.decisions.left_out import LeftOut
from minrisk.ensemble import defaults
from minrisk.ensemble.ensemble import Ensemble, rounding_exponent
from minrisk.model.additive import pack
from minrisk.model.first_rounds import FirstRounds
from minrisk.model.links import probabilities
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.model.trees import by_levels


class Kept(NamedTuple):
    """Rows that were left out, and who says of new rows what was said of them."""

    rows: LeftOut
    first_rounds: FirstRounds


def kept_rows(ensemble: Ensemble) -> Kept | None:
    """Return what is kept of the rows that an ensemble left out; None without such rows or without probabilities.

    Of many rows it is every second, third, ... one, so that memory does not follow the rows.

    Parameters
    ----------
    ensemble : Ensemble
        Before its last rounds, whose trees have seen all rows.
    """
    held, fit, link = ensemble.held, ensemble.plain, ensemble.link
    n, K = held.n_rows, held.n_outputs
    if link is None or n == 0:
        return None
    folded, step = fit.kind.task.folded, max(1, -(-n // min(defaults.KEPT_ROWS, defaults.KEPT_VALUES // K)))
    members = fit.members[: held.n_folds]
    n_trees = [min(defaults.KEPT_ROUNDS, fit.n_rounds, len(made.trees)) for made in members]
    trees = [tree for made, count in zip(members, n_trees, strict=True) for tree in made.trees[:count]]
    vectors = [own for made, count in zip(members, n_trees, strict=True) for own in made.vectors[:count]]
    exponent = rounding_exponent(link, 1.0, defaults.KEPT_ROUNDS)
    rounded = RoundedVectors.of(np.concatenate([np.empty((0, K)), *vectors]), exponent)
    intercepts = np.array([made.intercept for made in members])
    bounds = np.cumsum([0, *n_trees])
    values = np.split(np.asarray(rounded), np.cumsum([len(own) for own in vectors]))
    answers = []
    for fold, (first, last) in enumerate(itertools.pairwise(bounds.tolist())):
        rows = fit.kind.rows(fold)
        assert rows is not None  # of a kind that has trees
        rows.rest(True)
        answers.append(rows.left_out_scores(trees[first:last], values[first:last], intercepts[fold]))
    told = probabilities(link, folded.held_out(answers).sampled(step).scores.astype(np.float64))
    sample = held.sampled(step)
    p = probabilities(link, sample.scores.astype(np.float64), ensemble.temperature)
    packed, of_leaves = by_levels(pack(trees), rounded)
    packed = replace(packed, gain=np.zeros_like(packed.gain))  # which only importances need
    rows_kept = LeftOut(p.astype(np.float32), sample.label, sample.fold, sample.weight, told.astype(np.float32))
    return Kept(rows_kept, FirstRounds(packed, of_leaves, intercepts, bounds, link))
