"""Members that are boosted trees with a vector in every leaf: plain, random and gentle ones, and variations of them.

Random trees have thresholds that are drawn, also of linear combinations of the features. A node looks at one threshold
of each of its columns and takes the best of these (Geurts, Ernst and Wehenkel, "Extremely randomized trees", 2006), so
these trees err elsewhere than trees of the best thresholds. There it is drawn between the least and the largest value,
here between the lowest and the highest bin of the node's rows, so that outliers do not decide where. Trees are boosted:
a forest of such trees, all of them Newton steps from the class frequencies, brought a quarter as much.

Gentle trees are small, in short steps on finer bins, for weak signals and for rules without noise. Greedy trees of many
leaves drown the former in noise; the latter ask for thresholds as sharp as the rows allow.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from minrisk._kernels.functions import log
from minrisk._typing import FloatArray, IntArray, LeftOut
from minrisk._utils.interrupts import NOBODY, StopRequest
from minrisk._utils.workers import Workers
from minrisk.boosting.checkpoint import Run
from minrisk.boosting.loop import Progress, Recipe, boost, constant
from minrisk.boosting.monitors import Monitor
from minrisk.ensemble import defaults, driver
from minrisk.ensemble.defaults import Settings
from minrisk.ensemble.driver import Pace
from minrisk.ensemble.members import CrossFit, Kind, Member, Task
from minrisk.estimator.parameters import share_of
from minrisk.learners.vector_tree import VectorTrees
from minrisk.losses import surrogate_loss
from minrisk.losses.guess_averse import GuessAverseLoss, log_ratio
from minrisk.model.links import LINK_KERNELS
from minrisk.rows.columns import Columns
from minrisk.rows.costs import CostFacts, constant_is_better
from minrisk.rows.row_losses import EXPONENTIAL, Loss
from minrisk.rows.rows import Rows
from minrisk.steps.leaf_vectors import LeafClosedForm, LeafNewton


def usual_trees(
    settings: Settings, n_rows: float, n_outputs: int, thresholds: tuple[FloatArray, ...], n_seen: int
) -> VectorTrees:
    """Return trees for so many rows and features."""
    sketch = settings.sketch
    return VectorTrees(
        max_leaf_nodes=settings.max_leaf_nodes or defaults.n_leaves(n_rows, n_outputs, n_seen),
        thresholds=thresholds,
        max_depth=settings.max_depth or 64,
        min_samples_leaf=settings.min_samples_leaf,
        max_features=share_of(settings.max_features or defaults.feature_share(n_seen), n_seen),
        sketch=None if sketch is not None and sketch > 2 * n_outputs else sketch,
        search_rows=settings.search_rows,
    )


def recipe_of(settings: Settings, loss: Loss, costs: CostFacts, trees: VectorTrees, seen: IntArray) -> Recipe:
    """Return boosting of these trees on the columns `seen`."""
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


class TreeMember(Member):
    """One booster in training.

    Parameters
    ----------
    rows : Rows
        With the rows that are left out.
    recipe : Recipe
    seed : int
    run : Run
        Where its rounds are kept, and those of a fit that was killed may be.
    watching : sequence of Monitor
    stop : StopRequest
        Where somebody may ask that its rounds end.
    """

    def __init__(
        self,
        rows: Rows,
        recipe: Recipe,
        seed: int,
        run: Run,
        watching: Sequence[Monitor] = (),
        stop: StopRequest = NOBODY,
    ) -> None:
        self.rows, self.recipe, self.seed, self.watching, self.stop = rows, recipe, seed, watching, stop
        self._run = run
        self.progress = run.begun(rows)
        if self.progress is not None:
            rows.rest(True)  # a round to come brings the scores back
        self._scores: dict[int, LeftOut] = {}  # of the out-of-fold rows by checkpoint
        self._n_scores = rows.n_samples * rows.n_outputs
        self._forgets = self._n_scores > driver.FORGETTING_SCORES

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
        """Make rounds until so many are there, unless a checkpoint had them."""
        made = self.progress or Progress(log_scale=self.rows.facts(self.recipe.loss).log_scale)
        if made.intercept is None or len(made.trees) < n_rounds:
            kept = self._run.follow(made)
            boost(self.rows, self.recipe, n_rounds, self.seed, [*self.watching, *kept], made, self.stop)
        assert made.intercept is not None
        self.progress, self.start = made, made.intercept
        return made

    def rest(self) -> None:
        """Free on large data what the next round brings back: see `driver.RESTING_SCORES`."""
        if self._n_scores > driver.RESTING_SCORES:
            assert self.progress is not None
            self.progress.totals = self.progress.whole = None
            self.rows.rest(self._forgets)

    def scores(self, n_rounds: int) -> LeftOut:
        """Return the out-of-fold rows' at a checkpoint; on large data they are made again when asked for again."""
        if n_rounds in self._scores:
            return self._scores.pop(n_rounds) if self._forgets else self._scores[n_rounds]
        made = self.result(n_rounds)
        assert made.intercept is not None
        return self.rows.left_out_scores(made.trees, made.vectors, made.intercept)

    def result(self, n_rounds: int) -> Progress:
        """Return the first rounds."""
        made = self.progress
        assert made is not None
        # Where a checkpoint had more rounds than those that are reached, the scale is that of the last one reached
        log_scale = made.log_scale
        if 0 <= self.reached < len(made.log_scales):
            log_scale = made.log_scales[self.reached]
        return Progress(
            made.trees[:n_rounds], made.vectors[:n_rounds], made.intercept, log_scale, made.losses[: n_rounds + 1]
        )

    def start_at(self, made: Progress) -> None:
        """Bring the rows to the scores of these rounds."""
        assert made.intercept is not None
        self.rows.start_at(made.trees, made.vectors, made.intercept)

    def constant(self) -> Progress:
        """Return what is known without a tree where costs are learnt: minus the log of what each decision costs."""
        return constant(self.rows, self.recipe, self.rows.cost_facts.constant_scores())


class Plain(Kind):
    """Boosted trees; other kinds of trees differ in what they see and how they are grown.

    `workers` train its members side by side; above `driver.TOGETHER_SCORES` these are one thread. A member shares its
    own work with threads that no other works on.
    """

    name = "plain"
    rate = 1.0  # times the learning rate of the settings

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.threads = task.driver.workers if task.table.columns.n_values >= driver.SHARED_VALUES else Workers()
        if task.link is None:
            # Of costs far apart the dearest come first: a round leaves e^-rate of a loss, about.
            self.wait = log_ratio(task.costs) / task.settings.learning_rate
        together = task.folded.n_rows * task.n_outputs <= driver.TOGETHER_SCORES
        self.workers = self.threads if together else Workers()

    @property
    def columns(self) -> Columns:
        """What members look at."""
        return self.task.table.columns

    def seen(self, fold: int) -> IntArray:
        """Return numbers of the columns that the member of a fold sees."""
        return np.arange(self.task.table.n_features)

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Return its trees, as they differ from the usual ones."""
        return trees

    def rows(self, fold: int | None) -> Rows:
        """Return what a member is trained on, with the rows that it leaves out."""
        return self.task.folded.without(fold, self.columns, self.threads)

    # -- members -------------------------------------------------------------------------------------------------
    def _member(self, fold: int, left_out: int | None, begun: str = "") -> TreeMember:
        task, rows, seed = self.task, self.rows(left_out), self.task.settings.seed
        run = task.driver.watch.run(f"{task.surrogate} {self.name} {seed} {fold} {left_out}{begun}")
        recipe = self.recipe(rows, self.seen(fold))
        return TreeMember(rows, recipe, seed + fold, run, task.driver.watch.watching, task.driver.stop)

    def recipe(self, rows: Rows, seen: IntArray) -> Recipe:
        """Return a member's: the task's surrogate with trees for as many rows and columns."""
        settings, costs = self.task.settings, rows.cost_facts
        settings = settings._replace(learning_rate=self.rate * settings.learning_rate)
        usual = usual_trees(settings, costs.told_rows, rows.n_outputs, self.columns.thresholds, len(seen))
        loss = surrogate_loss(self.task.surrogate)
        return recipe_of(settings, loss, costs, self.shaped(usual, len(seen)), seen)

    def member(self, fold: int | None) -> TreeMember:
        """Return a member to be trained on the other folds, or on all."""
        return self._member(fold or 0, fold)

    def finish(self, fit: CrossFit) -> CrossFit:
        """Return it with the last rounds of its members; what out-of-fold rows have said of it stands."""
        begun, more = time.perf_counter(), self.last_rounds(fit)
        if not more:
            return fit
        n_rounds = fit.n_rounds + more
        members = self.workers.map(lambda f: self._finished(f, fit.members[f], n_rounds), range(len(fit.members)))
        if self.task.driver.stop.over:  # perhaps before all were made
            n_rounds = max(len(made.trees) for made in members)
        return fit._replace(members=members, n_rounds=n_rounds, seconds=fit.seconds + time.perf_counter() - begun)

    def _finished(self, fold: int, made: Progress, n_rounds: int) -> Progress:
        """Return the member of this fold, gone on to so many rounds on all rows."""
        if self.task.driver.stop.over:
            return made
        # The name says what its rounds go on from, so that those of another beginning are not taken for them.
        member = self._gone_on(fold, None, made)
        member.go_on(n_rounds)
        return member.result(n_rounds)

    def _gone_on(self, fold: int, left_out: int | None, made: Progress) -> TreeMember:
        """Return a member that goes on from these rounds."""
        member = self._member(fold, left_out, f" {len(made.trees)} {made.log_scale!r}")
        if member.progress is None:
            member.start_at(made)
            member.progress = made
            member.progress = member.result(len(made.trees))  # which does not hold the rows
        return member

    # -- where no row is left out ----------------------------------------------------------------------------------
    def unsure(self) -> CrossFit:
        """Return one member of all rows, too few to leave any out: what is known without trees, hardly changed.

        Nothing says how often its trees are right. What they say of a row counts as half a row more of a class: at most
        3/2 times the odds of the class frequencies or, trained on costs, the ratio of what two decisions cost.
        """
        n_rounds = min(self.task.settings.n_estimators, defaults.FIRST_CHECKPOINT)
        member = self.member(None)
        member.train([n_rounds])
        made = member.result(n_rounds)
        assert made.intercept is not None
        member.start_at(made)
        spread = member.rows.spread(made.intercept) / log(1.0 + defaults.CAUTION)
        if self.task.link is None:  # whose scores have no temperature
            temperature, made.intercept = 1.0, self.task.costs.constant_scores()
            made.vectors = [vectors / (spread or 1.0) for vectors in made.vectors]
        else:
            slope = LINK_KERNELS[self.task.link][1]
            temperature = slope * spread or 1.0
            made.intercept = self.task.folded.known(self.task.link) * temperature / slope
        return self._of_all_rows(member, made, temperature)

    def alone(self) -> CrossFit:
        """Return one member trained on all rows; none is left out, and it is kept as it is, at a temperature of 1."""
        member, pace, reached = self.member(None), Pace(self.task.driver), 0
        most = self.task.settings.n_estimators
        pace.driver.stop.worth = True
        for wanted in defaults.checkpoints(most) if pace.driver.limited else [most]:
            following = pace.next(reached, wanted)
            if following == reached:
                break
            member.train([following])
            reached = following
        made = member.result(member.reached)
        if self.task.link is None:
            member.start_at(made)
            if constant_is_better(member.rows.risk(), self.task.costs):
                made = member.constant()
        return self._of_all_rows(member, made, 1.0)

    def _of_all_rows(self, member: TreeMember, made: Progress, temperature: float) -> CrossFit:
        """Return what this member made, without rows that are left out."""
        none = self.task.folded.held_out([])
        return CrossFit(self, [made], len(made.trees), 1.0 / temperature, none, [], member.seconds)


class Random(Plain):
    """Trees of random thresholds of all columns, in shorter steps than the usual ones."""

    name = "random"
    rate = 0.7  # a drawn threshold gains less, and rounds even out its chance
    weight = 1.2  # where there are linear features
    linear_share = 0.5  # of `max_features`, where linear features about treble their number

    def ready(self) -> bool:
        """Prepare linear features, if there are any."""
        self.linear = self.task.table.linear
        return True

    def seen(self, fold: int) -> IntArray:
        """Return all columns, of directions that separate the classes only those learnt without the fold."""
        return super().seen(fold) if self.linear is None else self.linear[fold]

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Return random ones; with linear features a node looks at a smaller share of the columns."""
        share = 1.0 if self.linear is None else self.linear_share
        return replace(trees, random=True, max_features=share * trees.max_features)


class Gentle(Plain):
    """Trees of 8 leaves in half the usual steps, whose splits are chosen among 20 features or more."""

    name = "gentle"
    rate = 0.5
    n_leaves, n_features = 8, 20
    n_classes = 6  # up to which splits are chosen by all classes, without a sketch of them

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Return itself where features are not so many that plain trees are small themselves."""
        return None if defaults.is_wide(task.costs.n_rows, task.table.n_features) else cls(task)

    @property
    def columns(self) -> Columns:
        """Finer bins."""
        return self.task.table.finer

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Return few leaves, and a look at more features; at all classes where these are few."""
        share = min(1.0, max(trees.max_features, self.n_features / n_seen))
        exact = 2 < self.task.n_outputs <= self.n_classes  # two are told by one sum
        sketch = None if exact else trees.sketch
        return replace(trees, max_leaf_nodes=self.n_leaves, max_features=share, sketch=sketch)


class Varied(Plain):
    """Another seed, and perhaps other trees, than those of the kind that is varied, within a budget of time.

    Parameters
    ----------
    base : Plain
        The kind that is varied: it says which columns are seen.
    factors : dict
        On settings.
    seed : int
    begun : sequence of Progress, optional
        Rounds of members that the price of work ended, from which these go on.
    """

    name = "varied"

    def __init__(
        self, base: Plain, factors: dict[str, float], seed: int, begun: Sequence[Progress] | None = None
    ) -> None:
        self._begun = begun
        self.base: Plain = base.base if isinstance(base, Varied) else base
        self.rate = self.base.rate
        self._factors = {**dict.fromkeys(defaults.VARIED, 1.0), **factors}
        settings = self.base.task.settings
        settings = settings._replace(
            learning_rate=settings.learning_rate * self._factors["learning_rate"],
            smoothing=settings.smoothing * self._factors["smoothing"],
            seed=seed,
        )
        super().__init__(self.base.task._replace(settings=settings))

    def member(self, fold: int | None) -> TreeMember:
        """Return a member to be trained on the other folds."""
        if self._begun is None or fold is None:
            return super().member(fold)
        return self._gone_on(fold, fold, self._begun[fold])

    @staticmethod
    def drawn(random: np.random.RandomState, left_open: frozenset[str]) -> dict[str, float]:
        """Draw factors for settings that are left open; of the others they are 1."""
        factors = {name: values[random.randint(len(values))] for name, values in defaults.VARIED.items()}
        return {name: factor if name in left_open else 1.0 for name, factor in factors.items()}

    @property
    def tried_rounds(self) -> int:
        """Return as many as there is time for."""
        return self.task.settings.n_estimators

    def work(self, n_rounds: int) -> float:
        """Return 0, as their time has been given to them."""
        return 0.0

    @property
    def columns(self) -> Columns:
        """Those of the kind that is varied."""
        return self.base.columns

    def seen(self, fold: int) -> IntArray:
        """Return those of the kind that is varied."""
        return self.base.seen(fold)

    def shaped(self, trees: VectorTrees, n_seen: int) -> VectorTrees:
        """Return trees of more or fewer leaves, that look at more or fewer features."""
        trees = self.base.shaped(trees, n_seen)
        return replace(
            trees,
            max_leaf_nodes=max(2, round(trees.max_leaf_nodes * self._factors["max_leaf_nodes"])),
            max_features=min(1.0, trees.max_features * self._factors["max_features"]),
        )
