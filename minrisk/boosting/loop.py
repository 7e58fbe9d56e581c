"""The loop over rounds: the only one in the package. An algorithm is a `Recipe`; what does not fit changes this."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np

from minrisk._kernels.functions import exp, log
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk._utils.interrupts import NOBODY, StopRequest
from minrisk.boosting.monitors import Monitor, RoundInfo, RoundMonitor
from minrisk.costs.units import LARGEST_FLOAT
from minrisk.learners.base import CertifyingFamily, FittedLearners, LearnerFamily, Round, Term
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses.base import JOINT
from minrisk.losses.guess_averse import GuessAverseLoss
from minrisk.model.additive import AdditiveModel
from minrisk.model.codes import Codebook, Decoder
from minrisk.model.trees import CONSTANT, Tree
from minrisk.rows.base import RoundRule, Totals, WholeRounds
from minrisk.rows.pairs import CorrectiveRows
from minrisk.rows.row_losses import Loss
from minrisk.rows.rows import Rows
from minrisk.steps.base import StepProblem, StepSolver
from minrisk.steps.closed_form import UNPROVEN, shortened
from minrisk.steps.leaf_vectors import LARGEST_NEWTON, LeafNewton

MOST_AHEAD = 1024  # rounds that one call may make
LARGEST_LOG = 700.0  # of a loss, or of the factor that sums are brought near 1 by
STALLED = 1e-15  # a step that lowers the loss by a smaller share changes nothing in float64


class RoundResult(NamedTuple):
    """Hold what a round has made."""

    terms: tuple[Term, ...]  # that it adds
    corrections: tuple[Term, ...]  # changes to the vectors of earlier learners
    totals: Totals  # after it
    edge: float = UNPROVEN  # of its learner; see `minrisk.steps.closed_form`


class Recipe(NamedTuple):
    """The choices that make an algorithm."""

    loss: Loss
    family: LearnerFamily
    solver: StepSolver
    smoothing: float = 0.0
    learning_rate: float = 1.0
    fit_intercept: bool = False  # start from the best constant
    start: FloatArray | None = None  # scores (D,) before it; None: 0
    subsample: float = 1.0
    max_features: int | None = None  # features drawn each round; None: all
    features: IntArray | None = None  # that learners may use, ascending; None: all
    target_loss: float = -math.inf  # stop at a training loss below
    directions: tuple[FloatArray | None, ...] = (None,)  # of each step of a round, (R, D); see `StepProblem`
    codebook: Codebook | None = None  # what vectors say of the decisions; None: they are of the decisions
    decoder: Decoder | None = None  # makes scores of the decisions of the model's, which are bits; None: they are
    dual: bool = False  # learners end the rounds by a dual problem; the loss may stay as it is for a while, or be 0

    @property
    def learners_per_round(self) -> int:
        """Learners that the steps of a round add."""
        return sum(1 if directions is None else len(directions) for directions in self.directions)

    @property
    def rows_kind(self) -> type[Rows]:
        """The kind of rows that learners and steps require; of two kinds the one that is both."""
        kinds = [need for need in self.family.requires | self.solver.requires if isinstance(need, type)]
        return max(kinds, key=lambda kind: len(kind.mro()), default=Rows)


@dataclass
class Progress:
    """What the rounds so far have built, and what the next one needs to go on exactly where they stopped."""

    trees: list[Tree] = field(default_factory=list)
    vectors: list[FloatArray] = field(default_factory=list)  # (V_t, D) of each tree
    intercept: FloatArray | None = None
    log_scale: float = 0.0
    losses: list[float] = field(default_factory=list)  # before round 1 and after every round
    log_scales: list[float] = field(default_factory=list)  # likewise; of rounds before `start` only that of the last
    edges: list[float] = field(default_factory=list)  # of the rounds; see `minrisk.steps.closed_form`
    totals: Totals | None = None  # of the rows as the last round left them; None where other rows go on
    whole: WholeRounds | None = None  # what makes whole rounds on these rows
    diverged: bool = False  # the rows have made a round more, which is not kept: its loss was beyond float64

    def add(self, terms: Sequence[Term], corrections: Sequence[Term]) -> None:
        """Add what a round has made: changes of earlier vectors, one to each of them or more, and new learners.

        An interrupt leaves all vectors changed or none, and perhaps one more than there are learners.
        """
        trees, vectors = [term.learner for term in terms], [term.vectors for term in terms]
        if not corrections:
            self.vectors += vectors
            self.trees += trees
            return
        n, changed = len(self.trees), self.vectors
        for first in range(0, len(corrections), n):
            changes = corrections[first : first + n]
            changed = [own + change.vectors for own, change in zip(changed, changes, strict=True)]
        trees, vectors = [*self.trees, *trees], [*changed, *vectors]
        self.trees, self.vectors = trees, vectors  # nothing is called in between

    def cut(self, n_rounds: int, per_round: int) -> None:
        """Forget all but the first rounds."""
        del self.trees[n_rounds * per_round :], self.vectors[n_rounds * per_round :]
        del self.losses[n_rounds + 1 :], self.log_scales[n_rounds + 1 :], self.edges[n_rounds:]
        self.log_scale = self.log_scales[n_rounds]

    @classmethod
    def of(
        cls,
        model: AdditiveModel,
        thresholds: Sequence[FloatArray],
        log_scale: float,
        losses: Sequence[float],
        codebook: Codebook | None,
        edges: FloatArray | None = None,
    ) -> Progress:
        """Return the progress that made a model, to go on from."""
        trees = [model.packed.tree(t, thresholds) for t in range(model.n_trees)]
        values = np.asarray(model.vectors)
        values = values if codebook is None else codebook.encoded(values)
        vectors = [values[a:b] for a, b in itertools.pairwise(model.packed.vector_offsets)]
        known = [UNPROVEN] * (len(losses) - 1) if edges is None else edges.tolist()
        return cls(trees, vectors, model.intercept, log_scale, list(losses), [log_scale] * len(losses), known)


def check_recipe(recipe: Recipe, kind: type[Rows] = Rows) -> None:
    """Refuse parts that do not go together, or with rows of this kind.

    Raises
    ------
    ValueError
        Naming the step or the learners, and what nothing offers.
    """
    offered = recipe.loss.traits | recipe.family.traits
    for part in (recipe.solver, recipe.family):
        missing = [
            need if isinstance(need, str) else need.__name__
            for need in part.requires
            if not (need in offered if isinstance(need, str) else issubclass(kind, need))
        ]
        if missing:
            others = [type(other).__name__ for other in (recipe.family, recipe.solver) if other is not part]
            raise ValueError(
                f"{type(part).__name__} cannot be used with {type(recipe.loss).__name__} (base {recipe.loss.base!r}) "
                f"and {others[0]}: it requires {', '.join(sorted(missing))}. Use another step, or a loss, learners and "
                f"rows that offer it."
            )


def boost(
    rows: Rows,
    recipe: Recipe,
    n_rounds: int,
    seed: int,
    monitors: Sequence[Monitor] = (),
    start: Progress | None = None,
    stop: StopRequest = NOBODY,
) -> Progress:
    """Add rounds until `n_rounds` are there, no learner lowers the loss, it is low enough, or somebody says stop.

    A round whose loss overflows float64, as with learning rates far above 1, is dropped and ends the training.

    Parameters
    ----------
    rows : Rows
        At the scores of `start` (zero without it), or resting, and brought back to them.
    recipe : Recipe
    n_rounds : int
        Rounds in all, those of `start` included.
    seed : int
        Round t draws from the generator of (seed, t), so that a fit in two parts draws the same.
    monitors : sequence of Monitor
        Called after every round; all of them run, then any of them may stop the loop.
    start : Progress, optional
        Where to go on; it is changed.
    stop : StopRequest
        Where somebody may ask that the rounds end; those that are made already are kept.

    Returns
    -------
    Progress
    """
    check_recipe(recipe, rows.kind)
    loss = recipe.loss
    facts = rows.facts(loss)
    floors = facts.floors if facts.floors.any() else None
    no_shift = np.zeros(rows.n_scores)
    share = 1.0 if JOINT in loss.traits else 0.5  # of the mean; REBEL's Eq. (2) has a half

    def mean_loss(totals: Totals) -> float:
        """Return it in stated costs, which may be near the end of float64 where the loss is beyond it."""
        mean = exp(totals.log_scale) * _total(totals.value) * share / facts.weight
        return min(facts.constant + mean * facts.unit, LARGEST_FLOAT)

    progress = start or Progress(log_scale=facts.log_scale)
    if progress.diverged:
        return progress
    if progress.intercept is not None and rows.resting:
        rows.start_at(progress.trees, progress.vectors, progress.intercept)
    if progress.intercept is None and recipe.start is not None:
        rows.shift(recipe.start)
    totals = progress.totals or rows.gradients(loss, progress.log_scale)
    if progress.intercept is None:
        progress.intercept = np.zeros(rows.n_scores) if recipe.start is None else recipe.start.copy()
        if recipe.fit_intercept:
            problem = _problem(rows, recipe, totals, floors, None)
            progress.intercept = recipe.solver.solve(problem).vectors[-1]  # f = 1: all rows are above
            rows.shift(progress.intercept)
            totals = rows.gradients(loss, totals.next_log_scale)
            progress.log_scale = totals.log_scale
    if not progress.losses:
        progress.losses.append(mean_loss(totals))
        progress.log_scales.append(progress.log_scale)
        before = RoundInfo(0, (), progress.intercept, progress.losses[-1], rows)
        for monitor in monitors:
            monitor.before_rounds(before)
    whole = progress.whole or _whole_rounds(rows, recipe)
    watched = not all(getattr(monitor, "counts_only", False) for monitor in monitors)
    beginnings = [monitor.before_round for monitor in monitors if isinstance(monitor, RoundMonitor)]
    unwatched, ahead = not watched and recipe.target_loss == -math.inf, deque[RoundResult]()
    for t in range(len(progress.trees) // recipe.learners_per_round, n_rounds):
        if progress.losses[-1] < recipe.target_loss:
            break
        for begin in beginnings:
            begin()
        if not ahead and whole:
            # Without monitors that look at rows many rounds are made in one call, which saves a return to Python each.
            last = min(n_rounds, t + MOST_AHEAD) if unwatched else t + 1
            made = whole(totals, [_mixed(seed, later) for later in range(t, last)])
            ahead.extend(RoundResult((Term(tree, vectors),), (), after) for tree, vectors, after in made)
        elif not ahead:
            ahead.extend(_round(rows, recipe, progress, totals, floors, seed))
        if not ahead:
            break
        terms, corrections, totals, edge = ahead.popleft()
        if not is_finite(totals):
            progress.diverged = True
            break
        # Ctrl-C may come between any two lines: the round counts from the moment at which its learner is there.
        progress.losses.append(mean_loss(totals))
        progress.log_scales.append(totals.log_scale)
        progress.log_scale = totals.log_scale
        progress.edges.append(edge)
        progress.add(terms, corrections)  # at last: an interrupt leaves what is of whole rounds
        if monitors:
            info = RoundInfo(t + 1, (*corrections, *terms), no_shift, progress.losses[-1], rows)
            if any([monitor.after_round(info) for monitor in monitors]):
                break
        if stop.over and not ahead:
            break
    progress.totals, progress.whole = totals, whole
    return progress


def is_finite(totals: Totals) -> bool:
    """Tell whether float64 holds the loss, and the weights of the next round."""
    value = _total(totals.value)
    size = log(value) + totals.log_scale if value > 0.0 else totals.log_scale
    return math.isfinite(value) and max(size, totals.log_scale, totals.next_log_scale) < LARGEST_LOG


def constant(rows: Rows, recipe: Recipe, intercept: FloatArray) -> Progress:
    """Return no rounds, and these scores for all rows."""
    rows.start_at((), (), intercept)
    start = Progress(intercept=intercept, log_scale=rows.facts(recipe.loss).log_scale)
    return boost(rows, recipe, 0, 0, start=start)


def certificate(rows: Rows, recipe: Recipe, progress: Progress) -> tuple[float, float]:
    """Say how far from the optimum a model may be, see `CertifyingFamily`; the rows are brought to its scores."""
    assert isinstance(recipe.family, CertifyingFamily) and progress.intercept is not None
    rows.start_at(progress.trees, progress.vectors, progress.intercept)
    problem = _problem(rows, recipe, rows.gradients(recipe.loss, progress.log_scale), None, None)
    so_far = [Term(*term) for term in zip(progress.trees, progress.vectors, strict=True)]
    return recipe.family.certificate(Round(rows, problem, recipe.solver, np.arange(rows.n_features), 0), so_far)


def _whole_rounds(rows: Rows, recipe: Recipe) -> WholeRounds | None:
    """Return what makes whole rounds in one call, where there is such a kernel: GLL, vector trees and Newton steps.

    Which parts there is a kernel for is told by their types, since it does what all of them do.
    """
    loss, family, solver = recipe.loss, recipe.family, recipe.solver
    directed = any(directions is not None for directions in recipe.directions)
    if directed or recipe.subsample < 1.0 or recipe.max_features is not None:
        return None
    if not (isinstance(loss, GuessAverseLoss) and loss.kind == "gll" and isinstance(solver, LeafNewton)):
        return None
    if not isinstance(family, VectorTrees) or family.gain is not None or not family.phantoms or family.constants:
        return None
    if family.sketch is not None and family.n_searched(rows.n_trained) is not None:
        return None
    features = _draw(rows, recipe, 0, 0)[1]
    rule = RoundRule(
        features,
        family.rule(len(features), rows.n_trained),
        family.sketch or 0,
        family.n_trials(len(features)),
        *family.flat_thresholds,
        solver.smoothing,
        LARGEST_NEWTON,
        recipe.smoothing,
        recipe.learning_rate,
        STALLED,
    )
    return rows.whole_rounds(rule)


def _round(
    rows: Rows, recipe: Recipe, progress: Progress, totals: Totals, floors: FloatArray | None, seed: int
) -> list[RoundResult]:
    """Make the next round; nothing if no step lowers the loss."""
    t = len(progress.trees) // recipe.learners_per_round
    in_bag, features = _draw(rows, recipe, seed, t)
    terms: list[Term] = []
    corrections: list[Term] = []
    moved, edge = False, UNPROVEN
    for number, directions in enumerate(recipe.directions):
        problem = _problem(rows, recipe, totals, floors, in_bag, directions)
        round_ = Round(rows, problem, recipe.solver, features, _mixed(seed + number, t))
        found = recipe.family.fit(round_) if problem.value > 0 or recipe.dual else None
        if found is None or not (recipe.dual or found.step.value < problem.value * (1.0 - STALLED)):
            terms += _nothing(directions)  # the others may still do something
            continue
        moved = True
        corrections += _correct(rows, progress, found.step.changes)
        terms += _advance(rows, found, recipe.learning_rate)
        if in_bag is None:
            edge = shortened(found.step.edge, recipe.learning_rate)
        totals = rows.gradients(recipe.loss, totals.next_log_scale)
    return [RoundResult(tuple(terms), tuple(corrections), totals, edge)] if moved else []


def _total(values: FloatArray) -> float:
    """Sum a few numbers as kernels do: NumPy takes longer to begin, and `sum` makes up for rounding from 3.12 on."""
    total = 0.0
    for value in values.tolist():
        total += value
    return float(total)


def _advance(rows: Rows, found: FittedLearners, learning_rate: float) -> tuple[Term, ...]:
    """Move the rows along the learners found; of one alone the response is there already."""
    terms = found.terms(learning_rate)
    for term in terms:
        if len(terms) > 1:
            rows.respond(term.learner)
        rows.advance(term.vectors)
    return terms


def _correct(rows: Rows, progress: Progress, changes: FloatArray | None) -> list[Term]:
    """Change the vectors of earlier learners, one to each, in the scores; the changes as terms."""
    if changes is None or not len(changes):
        return []
    cast(CorrectiveRows, rows).correct(changes)  # as steps with changes require
    return [Term(tree, change[None]) for tree, change in zip(progress.trees, changes, strict=True)]


def _nothing(directions: FloatArray | None) -> list[Term]:
    """Return learners that keep the places of a step that found none."""
    return [] if directions is None else [Term(CONSTANT, np.zeros((1, d.shape[0]))) for d in directions]


def _mixed(seed: int, t: int) -> int:
    """Return a seed for round t; nobody's is another's neighbour."""
    return (seed * 0x9E3779B97F4A7C15 + t * 0xBF58476D1CE4E5B9) % (1 << 62)


def _draw(rows: Rows, recipe: Recipe, seed: int, t: int) -> tuple[Bag | None, IntArray]:
    """Draw the round's rows (None: all) and features, ascending."""
    in_bag, features = None, np.arange(rows.n_features) if recipe.features is None else recipe.features
    if recipe.subsample >= 1.0 and recipe.max_features is None:
        return None, features
    rng = np.random.default_rng([seed, t])
    if recipe.subsample < 1.0:
        size = max(1, round(recipe.subsample * rows.n_trained))
        in_bag = rows.draw_bag(size, rng)
    if recipe.max_features is not None and recipe.max_features < len(features):
        features = np.sort(rng.choice(features, size=recipe.max_features, replace=False))
    return in_bag, features


def _problem(
    rows: Rows,
    recipe: Recipe,
    totals: Totals,
    floors: FloatArray | None,
    in_bag: Bag | None,
    directions: FloatArray | None = None,
) -> StepProblem:
    """Return the problem of a step of this round; smoothing is relative to what can still be lost."""
    hessian = rows.weigh(in_bag, recipe.solver.columns)
    value = totals.value
    excess = value if floors is None else np.maximum(value - floors * exp(-totals.log_scale), 0.0)
    if in_bag is not None:
        value = rows.values(recipe.loss)
        excess = excess * np.divide(value, totals.value, out=np.zeros_like(value), where=totals.value > 0)
    return StepProblem(
        rows, recipe.loss, hessian, _total(value), recipe.smoothing * excess, totals.log_scale, directions
    )
