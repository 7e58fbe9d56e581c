"""New vectors for the leaves of a model, from new rows: its trees stay.

What has drifted since the fit are more often the frequencies of classes, and what a leaf says of them, than the splits
that tell rows apart. Newton steps are made again, round after round, at the scores of the rounds before: of all trees
of a round at once, each with its part of the step. Members that leave out a fold of the rows each say how many rounds
lower the log-loss. Then left-out rows weigh two score functions, the old one and the new one, and find a shift of each
class by least log-loss (see `minrisk.ensemble.calibration`). Both have the same trees, so their sum is one model. Few
rows leave the old vectors, and many rows replace them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from minrisk._typing import FloatArray, IntArray
from minrisk.costs import CostMatrix
from minrisk.data.row_keys import numbered_keys
from minrisk.ensemble import defaults
from minrisk.ensemble.average import rounding_exponent
from minrisk.ensemble.calibration import LARGEST_WEIGHT, ROUNDED_TO
from minrisk.ensemble.stages import judged_stages
from minrisk.model.additive import AdditiveModel
from minrisk.model.cascade import Cascade, DecisionRule, stage_rounds
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.steps.leaf_vectors import LARGEST_NEWTON

LOGIT_GRID = 2.0**-24  # that an intercept lies on, as that of a fit does


class NewRows(NamedTuple):
    """What vectors are fitted to."""

    X: FloatArray  # (n, d), linear features beside the others
    label: IntArray  # (n,)
    weight: FloatArray  # (n,) effective rows
    fold: IntArray  # (n,)

    @property
    def n_folds(self) -> int:
        """Of them."""
        return int(self.fold.max()) + 1

    def base(self, n_classes: int, without: int) -> FloatArray:
        """Logarithms of the class frequencies outside a fold, with half a row of each class."""
        kept = self.fold != without
        counts = np.bincount(self.label[kept], self.weight[kept], n_classes) + 0.5
        return np.asarray(np.log(counts / counts.sum()))


class NewVectors(NamedTuple):
    """Vectors of the first rounds, and what they say of the rows that their members left out."""

    vectors: list[FloatArray]  # (n_folds + 1, V, K) of each round; the last ones are of all rows
    left_out: FloatArray  # (n, K) beyond the class frequencies


def refitted(
    model: AdditiveModel,
    X: Any,
    label: IntArray,
    weight: FloatArray,
    rate: float,
    smoothing: float,
    seed: int,
    costs: CostMatrix | None,
) -> AdditiveModel:
    """The model with vectors and calibration of these rows.

    Parameters
    ----------
    model : AdditiveModel
        With the softmax link.
    X : ndarray of shape (n, d)
    label : ndarray of int, (n,)
    weight : ndarray of shape (n,)
        That sum to effective rows.
    rate, smoothing : float
        Of the Newton steps.
    seed : int
        Of the folds.
    costs : CostMatrix, optional
        By which early decisions are judged.
    """
    old, K = model.scores(X) - model.intercept, len(model.intercept)
    old /= model.temperature
    wide = np.asarray(X, dtype=np.float64) if model.projection is None else model.projection.extend(X)
    rows = NewRows(wide, label, weight, folds_by_class(label, seed))
    new = new_vectors(model, rows, K, rate, smoothing)
    base = model.intercept / model.temperature
    (of_old, of_new), shift = weighed(base, [old, new.left_out], [1.0, 0.0], label, weight)
    vectors = of_old / model.temperature * np.asarray(model.vectors)
    mine = np.concatenate([np.empty((0, K)), *(of_round[-1] for of_round in new.vectors)])
    vectors[: len(mine)] += of_new * mine
    intercept = np.rint((base + shift) / LOGIT_GRID) * LOGIT_GRID
    made = replace(
        model,
        vectors=RoundedVectors.of(vectors, rounding_exponent(model.link, 1.0, model.n_trees)),
        intercept=intercept,
        temperature=1.0,
        cascade=None,
        smooth=None if model.smooth is None else model.smooth.times(of_old / model.temperature),
    )
    if costs is None:
        return made
    whole = base + shift + of_old * old + of_new * new.left_out
    return replace(made, cascade=_cascade(made, model, rows, new, whole, (of_old / model.temperature, of_new), costs))


def folds_by_class(label: IntArray, seed: int) -> IntArray:
    """Folds of about as many rows of each class, in an order that is drawn."""
    order = np.lexsort((numbered_keys(np.arange(len(label)), seed), label))
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = np.arange(len(label)) % min(defaults.FOLDS, len(label))
    return fold


def leaves_of(model: AdditiveModel, X: FloatArray) -> Iterator[tuple[csr_matrix, FloatArray]]:
    """Of each round which vectors rows add, (n, V) of 0 and f(x), and each vector's part of a step, (V,).

    The vectors of trees that do not split anything have none.
    """
    packed, per_round, n = model.packed, model.trees_per_round, len(X)
    for first in range(0, model.n_trees, per_round):
        trees = packed[first : first + per_round]  # walked in one call, which brings X into its order once
        sizes = np.diff(trees.vector_offsets)
        numbers, of_tree = np.arange(sizes.sum()), np.repeat(np.arange(per_round), sizes)
        own = np.where(of_tree[:, None] == np.arange(per_round), numbers[:, None], 0.0)
        columns = np.zeros((n, per_round))
        trees.add_scores(X, own, 0, per_round, 0, n, columns)
        ones, bounds = np.ones(n * per_round), np.arange(0, n * per_round + 1, per_round)
        part = (sizes > 1)[of_tree] / max(1.0, float(np.count_nonzero(sizes > 1)))
        yield csr_matrix((ones, columns.ravel().astype(np.int64), bounds), shape=(n, len(numbers))), part


def new_vectors(model: AdditiveModel, rows: NewRows, K: int, rate: float, smoothing: float) -> NewVectors:
    """Newton steps, by members without a fold each and one of all rows side by side, as long as left-out rows gain."""
    n, runs = len(rows.label), rows.n_folds + 1
    base = np.array([rows.base(K, fold) for fold in [*range(rows.n_folds), -1]])
    seen = np.array([rows.weight * (rows.fold != fold) for fold in range(runs)])
    hit = np.eye(K)[rows.label]
    scores, each = np.zeros((runs, n, K)), np.arange(n)
    vectors, best, chosen, left_out = list[FloatArray](), np.inf, 0, np.zeros((n, K))
    steps = leaves_of(model, rows.X)
    while True:
        p = base[:, None] + scores
        p -= p.max(axis=2, keepdims=True)
        np.exp(p, out=p)
        p /= p.sum(axis=2, keepdims=True)
        loss = -float(rows.weight @ np.log(np.maximum(p[rows.fold, each, rows.label], np.finfo(float).tiny)))
        if loss < best:
            best, chosen, left_out = loss, len(vectors), scores[rows.fold, each]
        step = next(steps, None)
        if step is None or len(vectors) > defaults.PATIENCE * chosen + defaults.GRACE_ROUNDS:
            return NewVectors(vectors[:chosen], left_out)
        leaves, part = step
        of_round = np.empty((runs, leaves.shape[1], K))
        for run in range(runs):
            edge = leaves.T @ (seen[run, :, None] * (hit - p[run]))
            mass = seen[run, :, None] * p[run] * (1.0 - p[run])
            room = leaves.T @ mass + smoothing * mass.sum(axis=0)
            newton = np.divide(edge, room, out=np.zeros_like(edge), where=room > 0.0) * (1.0 - 1.0 / K)
            of_round[run] = rate * part[:, None] * np.clip(newton, -LARGEST_NEWTON, LARGEST_NEWTON)
            scores[run] += leaves @ of_round[run]
        vectors.append(of_round)


def weighed(
    base: FloatArray, parts: Sequence[FloatArray], before: Sequence[float], label: IntArray, weight: FloatArray
) -> tuple[list[float], FloatArray]:
    """Weights >= 0 of score functions, and a shift of each class, of the least log-loss: see `fit_mixture`.

    Some rows (`SHIFT_ROWS`) hold the weights where they were before, and the shift at 0.
    """
    (n, K), M, was = parts[0].shape, len(parts), np.array([*before, *np.zeros(len(base))])
    held = defaults.SHIFT_ROWS * np.array([*(np.mean(part.var(axis=1)) for part in parts), *np.ones(K)])
    caution = defaults.CAUTION / max(1.0, weight.sum()) / max(1, K - 1)
    wanted = np.where(np.eye(K, dtype=np.bool_)[label], 1.0, caution) * weight[:, None]

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        shift = x[M:]
        scores = base + shift
        for own, part in zip(x[:M], parts, strict=True):
            scores = scores + own * part
        top = scores.max(axis=1, keepdims=True)
        log_p = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
        slope = wanted.sum(axis=1, keepdims=True) * np.exp(log_p) - wanted
        slopes = np.array([*(float((slope * part).sum()) for part in parts), *slope.sum(axis=0)])
        value = 0.5 * float(held @ (x - was) ** 2) - float((wanted * log_p).sum())
        return value / n, (slopes + held * (x - was)) / n

    bounds = [(0.0, LARGEST_WEIGHT)] * M + [(None, None)] * K
    found = minimize(objective, was, jac=True, method="L-BFGS-B", bounds=bounds)
    rounded = np.rint(found.x / ROUNDED_TO) * ROUNDED_TO
    return rounded[:M].tolist(), rounded[M:]


def _cascade(
    made: AdditiveModel,
    old: AdditiveModel,
    rows: NewRows,
    new: NewVectors,
    whole: FloatArray,
    factors: tuple[float, float],
    costs: CostMatrix,
) -> Cascade | None:
    """Early decisions of the model, judged by what is left of left-out rows' scores after its rounds."""
    assert made.link is not None
    rule, rounds = DecisionRule.of(made.link, 1.0, costs), stage_rounds(len(made))
    n, K = whole.shape
    step = max(1, n * K * (1 if rule.is_plain else K) // defaults.JUDGED_STAGES)
    if not rule.stops_early or len(rounds) == 0:
        return None
    some = slice(None, None, step)
    X, fold, weight = rows.X[some], rows.fold[some], rows.weight[some]
    after, at_stages, so_far = set(rounds.tolist()), list[FloatArray](), np.zeros((len(X), K))
    of_old = factors[0] * np.asarray(old.vectors)
    first = 0
    for number, (leaves, _) in enumerate(leaves_of(made, X), 1):
        vectors = of_old[first : first + leaves.shape[1]]
        first += leaves.shape[1]
        so_far += leaves @ vectors
        if number <= len(new.vectors):
            for own in range(rows.n_folds):
                mine = np.flatnonzero(fold == own)
                so_far[mine] += factors[1] * (leaves[mine] @ new.vectors[number - 1][own])
        if number in after:
            at_stages.append(so_far.copy())
    rest = whole[some] - so_far  # the base, and what has no trees
    stages = []
    for at_stage in at_stages:
        scores = rest + at_stage
        (sharpness,), _ = weighed(np.zeros(K), [scores], [1.0], rows.label[some], weight)
        stages.append((scores, 1.0 / sharpness if sharpness > 0.0 else 1.0))
    return judged_stages(rule, made.link, 1.0, costs, rounds, whole[some], weight, stages)
