"""Plain members: boosted trees with a vector in every leaf, on the features."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from minrisk._interrupts import NOBODY, StopRequest
from minrisk._typing import FloatArray, IntArray, LeftOut
from minrisk._workers import Workers
from minrisk.boosting.checkpoint import Run
from minrisk.boosting.loop import Progress, Recipe, boost, constant
from minrisk.boosting.monitors import Monitor
from minrisk.ensemble import defaults, sizes
from minrisk.ensemble.budget import Pace
from minrisk.ensemble.cross_fitting import checkpoints, last_rounds
from minrisk.ensemble.kind import CrossFit, Kind, Settings, Task
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses import surrogate_loss
from minrisk.losses.base import EXPONENTIAL, Loss
from minrisk.losses.guess_averse import GuessAverseLoss, log_ratio
from minrisk.model.links import LINK_KERNELS
from minrisk.rows.base import Rows
from minrisk.rows.columns import Columns
from minrisk.rows.costs import CostFacts, constant_is_better
from minrisk.steps.leaf_vectors import LeafClosedForm, LeafNewton
from minrisk.validation import share_of


def usual_trees(
    settings: Settings, n_rows: float, n_outputs: int, thresholds: tuple[FloatArray, ...], n_seen: int
) -> VectorTrees:
    """Trees for so many rows and features."""
    sketch = settings.sketch
    return VectorTrees(
        max_leaf_nodes=settings.max_leaf_nodes or sizes.n_leaves(n_rows, n_outputs, n_seen),
        thresholds=thresholds,
        max_depth=settings.max_depth or 64,
        min_samples_leaf=settings.min_samples_leaf,
        max_features=share_of(settings.max_features or sizes.feature_share(n_seen), n_seen),
        sketch=None if sketch is not None and sketch > 2 * n_outputs else sketch,
        search_rows=settings.search_rows,
    )


def recipe_of(settings: Settings, loss: Loss, costs: CostFacts, trees: VectorTrees, seen: IntArray) -> Recipe:
    """Boosting of these trees on the columns `seen`."""
    exponential, start = EXPONENTIAL in loss.traits, None
    if isinstance(loss, GuessAverseLoss):
        start = costs.log_frequencies() if loss.link(costs) == "softmax" else loss.start(costs)
    return Recipe(
        loss=loss,
        family=trees,
        solver=LeafClosedForm() if exponential else LeafNewton(defaults.NEWTON_SMOOTHING * settings.smoothing),
        smoothing=settings.smoothing,
        learning_rate=settings.learning_rate,
        fit_intercept=exponential,
        start=start,
        subsample=settings.subsample,
        features=seen,
    )


class TreeMember:
    """One booster in training; see `minrisk.ensemble.kind.Member`.

    Parameters
    ----------
    rows : Rows
        With the rows that are left out.
    recipe : Recipe
    seed : int
    watching : sequence of Monitor
    stop : StopRequest
        Where somebody may ask that its rounds end.
    run : Run, optional
        Where its rounds are kept, and those of a fit that was killed may be.
    """

    def __init__(
        self,
        rows: Rows,
        recipe: Recipe,
        seed: int,
        watching: Sequence[Monitor],
        stop: StopRequest = NOBODY,
        run: Run | None = None,
    ) -> None:
        self.rows, self.recipe, self.seed, self.watching, self.stop = rows, recipe, seed, watching, stop
        self._run = run or Run()
        self.progress = self._run.begun(rows)
        if self.progress is not None:
            rows.rest(True)  # a round to come brings the scores back
        self.reached = -1
        self.seconds = 0.0
        self._scores: dict[int, LeftOut] = {}  # of the left-out rows by checkpoint
        self._n_scores = rows.n_samples * rows.n_outputs
        self._forgets = self._n_scores > defaults.FORGETTING_SCORES

    def train(self, rounds: Sequence[int]) -> None:
        """Go on to each of these checkpoints, as far as there is anything left to learn, and keep the scores there."""
        begun = time.perf_counter()
        last = self.go_on(rounds[-1])
        for n_rounds in rounds:
            assert last.intercept is not None
            self._scores[n_rounds] = self.rows.left_out_scores(
                last.trees[:n_rounds], last.vectors[:n_rounds], last.intercept
            )
        self.reached = rounds[-1]
        self.seconds += time.perf_counter() - begun

    def go_on(self, n_rounds: int) -> Progress:
        """Rounds until so many are there, unless a checkpoint had them."""
        made = self.progress or Progress(log_scale=self.rows.facts(self.recipe.loss).log_scale)
        if made.intercept is None or len(made.trees) < n_rounds:
            kept = self._run.follow(made)
            boost(self.rows, self.recipe, n_rounds, self.seed, [*self.watching, *kept], made, self.stop)
        self.progress = made
        return made

    def rest(self) -> None:
        """On large data, free what the next round brings back: see `RESTING_SCORES`."""
        if self._n_scores > defaults.RESTING_SCORES:
            assert self.progress is not None
            self.progress.totals = self.progress.whole = None
            self.rows.rest(self._forgets)

    def scores(self, n_rounds: int) -> LeftOut:
        """Of the left-out rows at a checkpoint; on large data they are made again when asked for again."""
        if n_rounds in self._scores:
            return self._scores.pop(n_rounds) if self._forgets else self._scores[n_rounds]
        made = self.result(n_rounds)
        assert made.intercept is not None
        return self.rows.left_out_scores(made.trees, made.vectors, made.intercept)

    def result(self, n_rounds: int) -> Progress:
        """The first rounds."""
        made = self.progress
        assert made is not None
        # Where a checkpoint had more rounds than those that are reached, the scale is that of the last one reached
        log_scale = made.log_scale
        if 0 <= self.reached < len(made.log_scales):
            log_scale = made.log_scales[self.reached]
        return Progress(
            made.trees[:n_rounds], made.vectors[:n_rounds], made.intercept, log_scale, made.losses[: n_rounds + 1]
        )

    @property
    def start(self) -> FloatArray:
        """Scores before the first round."""
        assert self.progress is not None and self.progress.intercept is not None
        return self.progress.intercept

    def constant(self) -> Progress:
        """What is known without a tree where costs are learnt: minus the logarithms of what each decision costs."""
        return constant(self.rows, self.recipe, self.rows.cost_facts.constant_scores())


class Plain(Kind):
    """Boosted trees; other kinds of trees differ in what they see and how they are grown.

    `workers` train its members side by side; above `TOGETHER_SCORES` these are one thread. A member shares its own
    work with threads that no other works on.
    """

    name = "plain"
    rate = 1.0  # times the learning rate of the task

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.threads = task.workers if task.table.columns.n_values >= defaults.SHARED_VALUES else Workers()
        self.wait = 0.0  # of costs far apart the dearest come first: a round leaves e^-rate of a loss, about
        if task.link is None:
            self.wait = log_ratio(task.costs) / task.settings.learning_rate
        together = task.folded.n_rows * task.n_outputs <= defaults.TOGETHER_SCORES
        self.workers = self.threads if together else Workers()

    def most_rounds(self, most: int) -> int:
        """As many: others are measured by them."""
        return most if type(self) is Plain else super().most_rounds(most)

    @property
    def columns(self) -> Columns:
        """What members look at."""
        return self.task.table.columns

    def seen(self, fold: int) -> IntArray:
        """Numbers of the columns that the member of a fold sees."""
        return np.arange(self.task.table.n_features)

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """How its trees differ from the usual ones."""
        return trees

    def rows(self, left_out: int | None) -> Rows:
        """What a member is trained on, with the rows that it leaves out."""
        return self.task.folded.without(left_out, self.columns, self.threads)

    # -- members -------------------------------------------------------------------------------------------------
    def _member(self, fold: int, left_out: int | None, begun: str = "") -> TreeMember:
        task, rows = self.task, self.rows(left_out)
        run = task.run(f"{task.surrogate} {self.name} {task.seed} {fold} {left_out}{begun}")
        recipe = self.recipe(rows, self.seen(fold))
        return TreeMember(rows, recipe, task.seed + fold, task.watching, task.budget.stop, run)

    def recipe(self, rows: Rows, seen: IntArray) -> Recipe:
        """A member's: the task's surrogate with trees for as many rows and columns."""
        settings, costs = self.task.settings, rows.cost_facts
        settings = settings._replace(learning_rate=self.rate * settings.learning_rate)
        usual = usual_trees(settings, costs.told_rows, rows.n_outputs, self.columns.thresholds, len(seen))
        loss = surrogate_loss(self.task.surrogate)
        return recipe_of(settings, loss, costs, self.shaped(usual, len(seen)), seen)

    def member(self, fold: int) -> TreeMember:
        """A member to be trained on the other folds."""
        return self._member(fold, fold)

    def finish(self, fit: CrossFit, most: int) -> CrossFit:
        """With the last rounds of its members; what left-out rows have said of it stands."""
        begun, more = time.perf_counter(), last_rounds(self.task.costs.n_rows, fit.n_rounds, self.most_rounds(most))
        if not more:
            return fit
        n_rounds = fit.n_rounds + more
        members = self.workers.map(lambda f: self._finished(f, fit.members[f], n_rounds), range(len(fit.members)))
        if self.task.budget.stop.over:  # perhaps before all were made
            n_rounds = max(len(made.trees) for made in members)
        return fit._replace(members=members, n_rounds=n_rounds, seconds=fit.seconds + time.perf_counter() - begun)

    def _finished(self, fold: int, made: Progress, n_rounds: int) -> Progress:
        """The member of this fold, gone on to so many rounds on all rows."""
        if self.task.budget.stop.over:
            return made
        member = self._member(fold, None, f" {len(made.trees)} {made.log_scale!r}")
        if member.progress is None:
            assert made.intercept is not None
            member.rows.start_at(made.trees, made.vectors, made.intercept)
            member.progress = made
            member.progress = member.result(n_rounds)  # which does not hold the rows
        member.go_on(n_rounds)
        return member.result(n_rounds)

    # -- where no row is left out ----------------------------------------------------------------------------------
    def unsure(self, most: int) -> CrossFit:
        """One member of all rows where these are too few to leave any out: what is known without trees, hardly changed.

        Nothing says how often its trees are right. What they say of a row counts as half a row more of a class: at most
        3/2 times the odds of the class frequencies or, trained on costs, the ratio of what two decisions cost.
        """
        member, n_rounds = self._member(0, None), min(most, defaults.FIRST_CHECKPOINT)
        member.train([n_rounds])
        made = member.result(n_rounds)
        assert made.intercept is not None
        member.rows.start_at(made.trees, made.vectors, made.intercept)
        spread = member.rows.spread(made.intercept) / np.log(1.0 + defaults.CAUTION)
        if self.task.link is None:  # whose scores have no temperature
            temperature, made.intercept = 1.0, self.task.costs.constant_scores()
            made.vectors = [vectors / (spread or 1.0) for vectors in made.vectors]
        else:
            slope = LINK_KERNELS[self.task.link][1]
            temperature = slope * spread or 1.0
            made.intercept = self.task.folded.known(self.task.link) * temperature / slope
        return self._of_all_rows(member, made, temperature)

    def alone(self, n_rounds: int) -> CrossFit:
        """One member trained on all rows; none is left out, and it is kept as it is, at a temperature of 1."""
        member, pace = self._member(0, None), Pace(self.task.budget)
        stops = checkpoints(n_rounds) if pace.budget.limited else [n_rounds]
        pace.budget.stop.worth = True
        for stop in pace.within(stops):
            member.train([stop])
        made = member.result(member.reached)
        if self.task.link is None:
            assert made.intercept is not None
            member.rows.start_at(made.trees, made.vectors, made.intercept)
            if constant_is_better(member.rows.risk(), self.task.costs):
                made = member.constant()
        return self._of_all_rows(member, made, 1.0)

    def _of_all_rows(self, member: TreeMember, made: Progress, temperature: float) -> CrossFit:
        """What this member made, without rows that are left out."""
        none = self.task.folded.held_out([])
        return CrossFit(self, [made], len(made.trees), 1.0 / temperature, 0, none, [], member.seconds)
