"""New vectors for the leaves of a model, from new rows: its trees stay.

What has drifted since the fit are more often the frequencies of classes, and what a leaf says of them, than the splits
that tell rows apart. Newton steps are made again, round after round, at the scores of the rounds before: of all trees
of a round at once, each with its part of the step. Members that leave out a fold of the rows each say how many rounds
lower the log-loss. Then out-of-fold rows weigh two score functions, the old one and the new one, and find a shift of
each class by least log-loss (see `minrisk.ensemble.calibration`). Both have the same trees, so their sum is one model.
Few rows leave the old vectors, and many rows replace them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_consistent_length

from minrisk._kernels.functions import exp, log, power
from minrisk._typing import FloatArray, IntArray
from minrisk._utils.minimising import minimise
from minrisk.costs import CostMatrix
from minrisk.costs.labels import listed
from minrisk.costs.reading import CostsPerRow
from minrisk.data.chunks import Chunks, CodedLabels
from minrisk.data.labels import check_labels
from minrisk.data.row_keys import numbered_keys
from minrisk.ensemble import defaults
from minrisk.ensemble.calibration import LARGEST_WEIGHT, ROUNDED_TO
from minrisk.ensemble.defaults import Settings
from minrisk.ensemble.ensemble import judged_stages, judging_step, on_grid, rounding_exponent
from minrisk.ensemble.folds import merged_copies
from minrisk.model.additive import AdditiveModel
from minrisk.model.cascade import Cascade, DecisionRule, stage_rounds
from minrisk.model.rounded_vectors import RoundedVectors
from minrisk.steps.leaf_vectors import LARGEST_NEWTON


def refreshed(model: Any, X: Any, y: Any, sample_weight: Any, cost: Any) -> Any:
    """Return a copy with the leaves and the calibration of these rows; see `MinRiskClassifier.refit_leaves`."""
    if model.model_.link != "softmax":
        raise ValueError(f"refit_leaves is for surrogate='softmax', got {model.surrogate_!r}: fit again.")
    if isinstance(X, Chunks):
        raise TypeError("refit_leaves needs all new rows at once, got Chunks: give an array or a table of some.")
    X, labels, fitted = np.asarray(model._check_X(X)), np.asarray(check_labels(y)), copy(model)
    check_consistent_length(X, labels)
    if (unknown := labels[~np.isin(labels, fitted.classes_)]).size:
        others = listed(np.unique(unknown).tolist())[1:-1]
        raise ValueError(f"y must hold classes of the fit, got {others}: fit again.")
    given = fitted._weighed(X, CodedLabels.of(labels), sample_weight)
    # Copies count as one row, as in a fit: else folds would judge leaves by rows that these have seen.
    merged = merged_copies(X, X.shape[1], given.y, given.given_weight, None, None, None)
    if merged is not None and merged.weight is not None:
        given = given._replace(stated_weight=merged.weight)
    weight = given.weight
    X, labels, weight = X[weight > 0.0], labels[weight > 0.0], weight[weight > 0.0]
    # as many rows as (sum sqrt w)^2 / sum w: one row that is there very often leaves the others what they say
    weight *= power(math.fsum(np.sqrt(weight)) / math.fsum(weight), 2)
    if len(X) < 2:
        raise ValueError(f"refit_leaves needs two rows at least, got {len(X)} of some weight.")
    codes = np.searchsorted(fitted.classes_, labels)
    fitted.trained_priors_ = np.bincount(codes, weight, len(fitted.classes_)) / math.fsum(weight)
    fitted.left_out_ = fitted._first_rounds = None  # of the rows of the fit, which say nothing of the new calibration
    if cost is not None:
        stated = fitted._read_cost(cost, len(codes), fitted.classes_)
        if isinstance(stated, CostsPerRow):
            raise ValueError("refit_leaves takes costs that all rows share: give a matrix, or fit again.")
        fitted._decide_by_matrix(stated, codes)
        fitted.cost_regression_ = None
    settings = Settings.of(vars(fitted), int(weight.sum()), X.shape[1])
    smoothing = defaults.NEWTON_SMOOTHING * settings.smoothing
    fitted.model_ = refitted(
        fitted.model_, X, codes, weight, settings.learning_rate, smoothing, fitted._seed, fitted.cost_
    )
    return fitted


class NewRows(NamedTuple):
    """Rows that vectors are fitted to."""

    X: FloatArray  # (n, d), linear features beside the others
    label: IntArray  # (n,)
    weight: FloatArray  # (n,) effective rows
    fold: IntArray  # (n,)

    @property
    def n_folds(self) -> int:
        """Count them."""
        return int(self.fold.max()) + 1

    def base(self, n_classes: int, without: int) -> FloatArray:
        """Return logarithms of the class frequencies outside a fold, with half a row of each class."""
        kept = self.fold != without
        counts = np.bincount(self.label[kept], self.weight[kept], n_classes) + 0.5
        return np.asarray(log(counts / counts.sum()))


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
    """Return the model with vectors and calibration of these rows.

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
    old /= model.temperature  # from here on scores are log-odds, and the temperature of the new model is 1
    wide = np.asarray(X, dtype=np.float64) if model.projection is None else model.projection.extend(X)
    rows = NewRows(wide, label, weight, folds_by_class(label, seed))
    new, left_out = new_vectors(model, rows, K, rate, smoothing)
    base = model.intercept / model.temperature
    (of_old, of_new), shift = weighed(base, [old, left_out], [1.0, 0.0], label, weight)
    vectors = of_old / model.temperature * np.asarray(model.vectors)
    mine = np.concatenate([np.empty((0, K)), *(of_round[-1] for of_round in new)])
    vectors[: len(mine)] += of_new * mine
    made = replace(
        model,
        vectors=RoundedVectors.of(vectors, rounding_exponent(model.link, 1.0, model.n_trees)),
        intercept=on_grid(base + shift),
        temperature=1.0,
        cascade=None,
        smooth=None if model.smooth is None else model.smooth.times(of_old / model.temperature),
    )
    if costs is None:
        return made
    whole = base + shift + of_old * old + of_new * left_out
    return replace(made, cascade=_cascade(made, model, rows, new, whole, (of_old / model.temperature, of_new), costs))


def folds_by_class(label: IntArray, seed: int) -> IntArray:
    """Draw folds of about as many rows of each class."""
    order = np.lexsort((numbered_keys(np.arange(len(label)), seed), label))
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = np.arange(len(label)) % min(defaults.FOLDS, len(label))
    return fold


def vector_numbers(model: AdditiveModel, X: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield for each round which of its vectors each tree adds to a row, (n, trees), and how many each tree has.

    Vectors of a round are numbered one tree after another.
    """
    packed, per_round, n = model.packed, model.trees_per_round, len(X)
    for first in range(0, model.n_trees, per_round):
        trees = packed[first : first + per_round]  # walked in one call, which brings X into its order once
        sizes = np.diff(trees.vector_offsets)
        numbers, of_tree = np.arange(sizes.sum()), np.repeat(np.arange(per_round), sizes)
        own = np.where(of_tree[:, None] == np.arange(per_round), numbers[:, None], 0.0)
        columns = np.zeros((n, per_round))
        trees.add_scores(X, own, 0, per_round, 0, n, columns)
        yield columns.astype(np.int64), sizes


def leaves_of(model: AdditiveModel, X: FloatArray) -> Iterator[tuple[csr_matrix, FloatArray]]:
    """Yield for each round which vectors rows add, (n, V) of 0 and f(x), and each vector's part of a step, (V,).

    The vectors of trees that do not split anything have none.
    """
    n, per_round = len(X), model.trees_per_round
    for numbers, sizes in vector_numbers(model, X):
        ones, bounds = np.ones(n * per_round), np.arange(0, n * per_round + 1, per_round)
        part = np.repeat(sizes > 1, sizes) / max(1.0, float(np.count_nonzero(sizes > 1)))
        yield csr_matrix((ones, numbers.ravel(), bounds), shape=(n, int(sizes.sum()))), part


def new_vectors(
    model: AdditiveModel, rows: NewRows, K: int, rate: float, smoothing: float
) -> tuple[list[FloatArray], FloatArray]:
    """Make Newton steps, by members without a fold each and one of all rows, as long as out-of-fold rows gain.

    Returns
    -------
    vectors : list of ndarray of shape (n_folds + 1, V, K)
        Of each round; the last ones are of all rows.
    left_out : ndarray of shape (n, K)
        What they say of out-of-fold rows beyond the class frequencies.
    """
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
        exp(p, out=p)
        p /= p.sum(axis=2, keepdims=True)
        loss = -float(np.sum(rows.weight * log(np.maximum(p[rows.fold, each, rows.label], np.finfo(float).tiny))))
        if loss < best:
            best, chosen, left_out = loss, len(vectors), scores[rows.fold, each]
        step = next(steps, None)
        if step is None or len(vectors) > defaults.PATIENCE * chosen + defaults.GRACE_ROUNDS:
            return vectors[:chosen], left_out
        leaves, part = step
        of_round = np.empty((runs, leaves.shape[1], K))
        for run in range(runs):
            gradient = leaves.T @ (seen[run, :, None] * (hit - p[run]))
            hessian = seen[run, :, None] * p[run] * (1.0 - p[run])
            room = leaves.T @ hessian + smoothing * hessian.sum(axis=0)
            # K softmax scores have one too many: (K - 1) / K of a step of each on its own, as in LogitBoost.
            newton = np.divide(gradient, room, out=np.zeros_like(gradient), where=room > 0.0) * (1.0 - 1.0 / K)
            of_round[run] = rate * part[:, None] * np.clip(newton, -LARGEST_NEWTON, LARGEST_NEWTON)
            scores[run] += leaves @ of_round[run]
        vectors.append(of_round)


def weighed(
    base: FloatArray, parts: Sequence[FloatArray], before: Sequence[float], label: IntArray, weight: FloatArray
) -> tuple[list[float], FloatArray]:
    """Find weights >= 0 of score functions, and a shift of each class, of the least log-loss: see `fit_mixture`.

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
        log_p = scores - top - log(exp(scores - top).sum(axis=1, keepdims=True))
        slope = wanted.sum(axis=1, keepdims=True) * exp(log_p) - wanted
        slopes = np.array([*(float((slope * part).sum()) for part in parts), *slope.sum(axis=0)])
        value = 0.5 * float(np.sum(held * (x - was) ** 2)) - float((wanted * log_p).sum())
        # Means, since the search ends by slopes below a fixed number, whatever the number of rows.
        return value / n, (slopes + held * (x - was)) / n

    low, high = np.repeat([0.0, -np.inf], [M, K]), np.repeat([LARGEST_WEIGHT, np.inf], [M, K])
    found = minimise(objective, was, low, high, change=1e-9).point
    rounded = np.rint(found / ROUNDED_TO) * ROUNDED_TO
    return rounded[:M].tolist(), rounded[M:]


def _cascade(
    made: AdditiveModel,
    old: AdditiveModel,
    rows: NewRows,
    new: list[FloatArray],
    whole: FloatArray,
    factors: tuple[float, float],
    costs: CostMatrix,
) -> Cascade | None:
    """Judge early decisions of the model by what is left of out-of-fold rows' scores after its rounds."""
    assert made.link is not None
    rule, rounds = DecisionRule.of(made.link, 1.0, costs), stage_rounds(len(made))
    n, K = whole.shape
    if not rule.stops_early or len(rounds) == 0:
        return None
    some = slice(None, None, judging_step(n, K, rule))
    X, fold, weight = rows.X[some], rows.fold[some], rows.weight[some]
    after, at_stages, so_far = set(rounds.tolist()), list[FloatArray](), np.zeros((len(X), K))
    of_old = factors[0] * np.asarray(old.vectors)
    first = 0
    for number, (leaves, _) in enumerate(leaves_of(made, X), 1):
        vectors = of_old[first : first + leaves.shape[1]]
        first += leaves.shape[1]
        so_far += leaves @ vectors
        if number <= len(new):
            for own in range(rows.n_folds):
                mine = np.flatnonzero(fold == own)
                so_far[mine] += factors[1] * (leaves[mine] @ new[number - 1][own])
        if number in after:
            at_stages.append(so_far.copy())
    rest = whole[some] - so_far  # the base, and what has no trees
    stages = []
    for at_stage in at_stages:
        scores = rest + at_stage
        (sharpness,), _ = weighed(np.zeros(K), [scores], [1.0], rows.label[some], weight)
        stages.append((scores, 1.0 / sharpness if sharpness > 0.0 else 1.0))
    return judged_stages(rule, made.link, 1.0, costs, rounds, whole[some], weight, stages)
