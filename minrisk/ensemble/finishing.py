r"""How an ensemble is finished: fewer rounds, whose leaf vectors are fitted all at once.

Each round's vectors were found when those of later rounds were not known. Here they are found again, those of all kept
trees together, by least squares: so that a row's scores are what the members say that have seen the row,

.. math:: \min_V \sum_i w_i \Big| s_i - \sum_t V_{t, \ell_t(x_i)} \Big|^2 + \lambda |V - V_0|^2, \qquad
   s_i = \frac{1}{F - 1} \sum_{f \ne f(i)} H_f(x_i),

with F folds, of which f(i) is the row's, the scores H_f of fold f's members of all kinds by their shares, the leaf
l_t of tree t, and the vectors V_0 of the rounds, times one factor. So what each member knows goes to all trees, and
they answer rows of every fold as if they had seen them. A few steps of conjugate gradients do it; their number is a
penalty as well, since they come to what many rows agree on first.

Rounds are cut where left-out rows allow it (`kept_share`). A fold's own trees are fitted to H_f on the rows outside the
fold, and what its left-out rows then lose more than by H_f is the excess of that fold alone. Errors of folds are nearly
independent, so that an average of F of them has about an F-th of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from minrisk._kernels.scores import add_vectors, column_dots, go_along, sum_by_leaf, turn_direction
from minrisk._typing import FloatArray
from minrisk._utils import cached_property
from minrisk._utils.memory import zeros
from minrisk._utils.workers import Workers
from minrisk.boosting.loop import Progress
from minrisk.ensemble import defaults
from minrisk.ensemble.ensemble import Ensemble
from minrisk.ensemble.members import Kind
from minrisk.rows.exchange import divide, fixed_factor
from minrisk.rows.rows import Rows

WHOLE_BITS = 24  # of whole numbers in float32
BLOCK_ROWS = 1 << 13  # that a thread adds vectors to at a time


class JointFit:
    """Leaf vectors of many trees as unknowns: sums over trees for each row, and over rows for each leaf.

    Parameters
    ----------
    leaves : sequence of ndarray of shape (T, m), uint16 or uint32
        Which of its vectors each tree adds to a row; of trees one after another.
    sizes : sequence of sequence of int
        How many vectors each of these trees has.
    workers : Workers
    """

    def __init__(self, leaves: Sequence[np.ndarray], sizes: Sequence[Sequence[int]], workers: Workers) -> None:
        self._leaves, self._workers = leaves, workers
        self._bounds = [np.cumsum([0, *own]) for own in sizes]
        self._ends = np.cumsum([bounds[-1] for bounds in self._bounds])

    def split(self, vectors: np.ndarray) -> list[np.ndarray]:
        """Return the vectors of each of `leaves`."""
        return np.split(vectors, self._ends[:-1])

    def scores(self, vectors: np.ndarray) -> np.ndarray:
        """Return the sum over trees, (m, D), of vectors (V, D) in float32."""
        n = self._leaves[0].shape[1]
        out, parts = zeros((n, vectors.shape[1]), np.float32), self.split(vectors)

        def add(start: int) -> None:
            for leaf, bounds, own in zip(self._leaves, self._bounds, parts, strict=True):
                add_vectors(leaf, bounds, own, out, start, min(n, start + BLOCK_ROWS))

        self._workers.map(add, range(0, n, BLOCK_ROWS))
        return out

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of values (m, D) in float32 over the rows of each leaf, (V, D).

        They are rounded to whole multiples of a power of two first, so that the order of the rows changes no bit.
        """
        factor = float(fixed_factor(np.abs(values).max(initial=0.0), WHOLE_BITS)) or 1.0
        values = np.ldexp(values, math.frexp(factor)[1] - 1)
        np.rint(values, out=values)
        out = np.empty((self._ends[-1], values.shape[1]), np.float32)
        parts = zip(self._leaves, self._bounds, self.split(out), strict=True)
        tasks = [(leaf, bounds, values, 1.0 / factor, own, t) for leaf, bounds, own in parts for t in range(len(leaf))]
        self._workers.map(lambda task: sum_by_leaf(*task, task[-1] + 1), tasks)
        return out

    def fitted(self, before: np.ndarray, target: np.ndarray, weight: FloatArray) -> np.ndarray:
        """Return the vectors (V, D) whose sums are nearest to a target (m, D), by weight (m,); `before` is V_0."""
        own, ridge = weight.astype(np.float32)[:, None], np.float32(defaults.FITTED_RIDGE)
        scores = self.scores(before)
        size, both = (math.fsum(np.sum(own * scores * other, axis=1)) for other in (scores, target))
        factor = np.float32(both / size if size > 0.0 else 1.0)
        vectors = factor * before
        # Conjugate gradients from here, where the penalty is 0, for all columns side by side. Each vector is searched
        # in a unit of its own curvature.
        room, residual = self.sums(own) + ridge, self.sums(own * (target - factor * scores))
        direction = residual / room
        length = column_dots(residual, direction)
        for _ in range(defaults.FITTED_STEPS):
            push = self.sums(own * self.scores(direction))
            push += ridge * direction
            far = divide(length, column_dots(direction, push)).astype(np.float32)
            last, length = length, go_along(vectors, residual, direction, push, room, far)
            turn_direction(direction, residual, room, divide(length, last).astype(np.float32))
        return vectors


class Part(NamedTuple):
    """The first rounds of a member, what its vectors count for in the sum that is fitted, and where rows get them."""

    made: Progress
    factor: float
    leaf: np.ndarray  # (T, m)

    def cut(self, share: float) -> Part:
        """Return a share of the rounds."""
        n = max(1, round(share * len(self.leaf)))
        return self._replace(made=first_rounds(self.made, n), leaf=self.leaf[:n])

    @property
    def terms(self) -> np.ndarray:
        """Return what the vectors add to the sum, (V, D), those of one tree after another."""
        none = np.empty((0, len(np.asarray(self.made.intercept))))  # of a member that found nothing to split
        with np.errstate(over="ignore"):  # of a learning rate far above 1
            return (self.factor * np.concatenate([none, *self.made.vectors])).astype(np.float32)

    def with_terms(self, terms: np.ndarray) -> Progress:
        """Return the rounds with the vectors that add these to the sum."""
        ends = np.cumsum([len(own) for own in self.made.vectors])
        return replace(self.made, vectors=np.split(terms.astype(np.float64) / self.factor, ends[:-1]))


def joint(parts: Sequence[Part], workers: Workers) -> tuple[JointFit, np.ndarray]:
    """Return what fits these members, and their terms."""
    sizes = [[len(own) for own in part.made.vectors] for part in parts]
    return JointFit([part.leaf for part in parts], sizes, workers), np.concatenate([part.terms for part in parts])


def fitted(parts: Sequence[Part], target: np.ndarray, weight: FloatArray, workers: Workers) -> list[Progress]:
    """Return these rounds with the vectors whose sums are nearest to a target."""
    fit, terms = joint(parts, workers)
    found = fit.split(fit.fitted(terms, target, weight))
    return [part.with_terms(own) for part, own in zip(parts, found, strict=True)]


class Finish:
    """Hold what is known while an ensemble is finished.

    Parameters
    ----------
    ensemble : Ensemble
        Whose members have left out two folds at least, and some of which are boosters.
    ended : Ensemble
        The same after the last rounds.
    """

    def __init__(self, ensemble: Ensemble, ended: Ensemble) -> None:
        self.ensemble, self.ended, self.n_folds = ensemble, ended, ensemble.held.n_folds
        pairs = zip(ensemble.fits, ended.fits, ensemble.shares.tolist(), strict=True)
        boosted = [(fit, last, share) for fit, last, share in pairs if fit.kind.makes_rounds and fit.n_rounds]
        self.boosted, self.workers = [fit for fit, *_ in boosted], ensemble.plain.kind.workers
        self._shares = [share for *_, share in boosted]
        self._made = [[first_rounds(made, fit.n_rounds) for made in fit.members] for fit, *_ in boosted]
        self._ended = [last.members for _, last, _ in boosted]
        n_trees = sum(len(made.trees) for members in self._ended for made in members)
        self.some = ensemble.task.folded.some(defaults.FITTED_CELLS // n_trees, ensemble.task.settings.seed)
        self._leaves = [self._leaves_of(fit.kind, made) for fit, made in zip(self.boosted, self._ended, strict=True)]

    def _leaves_of(self, kind: Kind, members: Sequence[Progress]) -> list[np.ndarray]:
        rows = _resting(kind, None)
        leaves = [rows.leaves_of(made.trees, self.some.number) for made in members]
        return [own for own in leaves if own is not None]  # whoever trains is where rows are collected

    def parts(self, fold: int, n_averaged: int, ended: bool) -> list[Part]:
        """Return the members of a fold, one of so many whose sums are averaged, after the last rounds or before."""
        of_kinds = zip(self._ended if ended else self._made, self._leaves, self._shares, strict=True)
        return [
            Part(made[fold], share / n_averaged, leaves[fold][: len(made[fold].trees)])
            for made, leaves, share in of_kinds
        ]

    def said(self, fold: int, ended: bool) -> np.ndarray:
        """Return what the members of a fold say of the rows, (m, D)."""
        fit, terms = joint(self.parts(fold, 1, ended), self.workers)
        return fit.scores(terms)

    def seen(self) -> np.ndarray:
        """Return what the members say of the rows in the end, on average over those that have seen them, (m, D)."""
        total = np.zeros((len(self.some.fold), self.ensemble.held.n_outputs), np.float32)
        for fold in range(self.n_folds):
            said = self.said(fold, True)
            said[self.some.fold == fold] = 0.0
            total += said
        total /= np.float32(self.n_folds - 1)
        return total

    def of_fold(self, fold: int, share: float) -> list[Progress]:
        """Return the first rounds of a fold's members, fitted to what all of them say of the rows outside the fold."""
        outside = np.flatnonzero(self.some.fold != fold)
        cut = [part.cut(share) for part in self.parts(fold, 1, False)]
        parts = [part._replace(leaf=np.ascontiguousarray(part.leaf[:, outside])) for part in cut]
        return fitted(parts, self.said(fold, False)[outside], self.some.weight[outside], self.workers)

    @cached_property
    def _left_out(self) -> list[list[Rows]]:
        """Return rows that say what trees answer to those of each judged fold, and hold no scores meanwhile."""
        judged = range(self.ensemble.plain.kind.tried_on)
        return [[_resting(fit.kind, fold) for fold in judged] for fit in self.boosted]

    def loss(self, of_folds: Sequence[Sequence[Progress]]) -> float:
        """Return the log-loss of the rows of the first folds by these members of theirs."""
        ensemble, folded, n = self.ensemble, self.ensemble.task.folded, len(of_folds)
        assert ensemble.link is not None and ensemble.mixture is not None
        nothing, held = np.zeros(ensemble.held.n_outputs), {}
        for k, fit in enumerate(self.boosted):
            made = [of_fold[k] for of_fold in of_folds]
            answers = [self._left_out[k][f].left_out_scores(m.trees, m.vectors, nothing) for f, m in enumerate(made)]
            held[id(fit)] = folded.held_out(answers)
        parts = [held[id(fit)] if id(fit) in held else fit.held.of_folds(n) for fit in ensemble.fits]
        mixture = ensemble.mixture
        return float(parts[0].mixture(parts[1:], ensemble.link, mixture.weights, mixture.shift, 0.0)[0])

    def kept_share(self) -> tuple[float, Ensemble]:
        """Return the share of the rounds that are kept: the least one of some whose excess is small enough.

        With it comes the ensemble that rows left out know, its trees fitted without their fold.
        """
        link, judged = self.ensemble.link, range(self.ensemble.plain.kind.tried_on)

        def left_of(share: float, folds: Iterable[int]) -> list[list[Progress]]:
            return [self.of_fold(fold, share) for fold in folds]

        if link is None:
            return 1.0, self.ensemble
        whole = self.loss([[made[fold] for made in self._made] for fold in judged])
        unknown = float(self.ensemble.held.of_folds(len(judged)).along(link, 0.0, 0.0)[0])
        # A share of what is lost, and where nearly all is lost of what has been learnt.
        most = whole + self.n_folds * defaults.FINISHED_EXCESS * whole * max(0.0, 1.0 - whole / unknown)
        kept: list[list[Progress]] = []
        low, high = 0, len(defaults.FINISHED_SHARES)  # the larger the share, the less is lost
        while low < high:
            middle = (low + high) // 2
            tried = left_of(defaults.FINISHED_SHARES[middle], judged)
            if self.loss(tried) <= most:
                high, kept = middle, tried
            else:
                low = middle + 1
        share = (*defaults.FINISHED_SHARES, 1.0)[low]
        told = self.ensemble.task.costs.told_rows
        known = min(self.n_folds, max(len(judged), math.ceil(self.n_folds * defaults.LEAD_ROWS / told)))
        kept += left_of(share, range(len(kept), known))
        return share, self.replaced(self.ensemble.of_folds(known), kept)

    def replaced(self, ensemble: Ensemble, of_folds: Sequence[Sequence[Progress]]) -> Ensemble:
        """Return an ensemble with these members of its boosters, (folds, kinds)."""
        made = {fit.kind: list(members) for fit, members in zip(self.boosted, zip(*of_folds, strict=True), strict=True)}
        lengths = {kind: max(len(one.trees) for one in own) for kind, own in made.items()}
        fits = [
            fit._replace(members=made[fit.kind], n_rounds=lengths[fit.kind]) if fit.kind in made else fit
            for fit in ensemble.fits
        ]
        return ensemble._replace(fits=fits)


def _resting(kind: Kind, fold: int | None) -> Rows:
    """Return rows that say what trees answer, and hold no scores meanwhile."""
    rows = kind.rows(fold)
    assert rows is not None
    rows.rest(True)
    return rows


def first_rounds(made: Progress, n_rounds: int) -> Progress:
    """Return the first rounds alone."""
    return replace(made, trees=made.trees[:n_rounds], vectors=made.vectors[:n_rounds])


def finished(ensemble: Ensemble, ended: Ensemble) -> tuple[Ensemble, Ensemble]:
    """Return an ensemble as it ends, and as rows left out know it that tell enough: by trees fitted without their fold.

    Parameters
    ----------
    ensemble, ended : Ensemble
        Before the last rounds, and after them.
    """
    n_folds = ensemble.held.n_folds
    if n_folds < 2 or not any(fit.n_rounds for fit in ensemble.boosted):
        return ended, ensemble
    work = Finish(ensemble, ended)
    seen = work.seen()
    if not np.isfinite(seen).all():  # a learning rate far above 1 may make scores beyond float32
        return ended, ensemble
    share, left_out = work.kept_share()
    parts = [part.cut(share) for fold in range(n_folds) for part in work.parts(fold, n_folds, True)]
    made = fitted(parts, seen, work.some.weight, work.workers)
    n_kinds = len(work.boosted)
    whole = [made[fold * n_kinds : (fold + 1) * n_kinds] for fold in range(n_folds)]
    return work.replaced(ended, whole), left_out
