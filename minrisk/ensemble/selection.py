"""Cross-fitting: members trained on all folds but one, and what their left-out rows say about rounds and temperature.

The model is the average of the members, each of which ends with some rounds on all rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import NamedTuple, Protocol

import numpy as np

from minrisk._kernels import links
from minrisk._memory import empty, points
from minrisk._sums import weighted_sum
from minrisk._typing import Codes, FloatArray, IntArray
from minrisk._workers import Workers
from minrisk.boosting.loop import Progress, Recipe, boost, constant
from minrisk.boosting.monitors import Monitor
from minrisk.ensemble.columns import Columns
from minrisk.model.links import Link
from minrisk.rows.base import RowCosts, constant_is_better
from minrisk.rows.local.rows import LocalRows

CHECKPOINTS = 1.25  # ratio of one checkpoint's round to the one before
FIRST_CHECKPOINT = 5
SHARED = 1 << 13  # binned values, below which threads cost more than they bring
RESTING = 1 << 17  # scores, from which on members that wait for the others free what the next round fills anew,
FORGETTING = 1 << 19  # and their scores, which their trees bring back
TOGETHER = 1 << 21  # scores, beyond which members train one after another, a checkpoint at a time: less memory
PATIENCE, GRACE = 1.25, 5  # stop when the round exceeds this many times the best one and five more
LEAST_FALL = 0.02  # share of the loss, or of its fall so far if less, by which a later checkpoint must be better
FIRST_FALL, SLOW_START = 0.005, 40  # share of the loss for the first one, and rounds before giving up on the features
LEAST_GAIN = 0.005  # share of the log-loss, that a challenger has to take off
FEW_VALUES, FEW_CLASSES, FEW_ROWS = 10, 10, 1 << 15  # up to which (values in the mean) tiny trees are tried
LAST_ROUNDS = 5  # rounds without its fold, of a member, for which it has one on all rows
LAST_ROUNDS_FROM = 200  # rows: fewer gain nothing by them
MOST_LOOKED_AT = 160  # features: of more a node learns little, and trees grow alike
LEAF_NUMBERS = 8192  # in a tree's vectors, with more than 64 leaves
TEMPERATURE_STEP = 1.15
SAME_LOSS = 1e-9  # relative difference of log-losses that rounding may make
TEMPERATURES = (0.2, 20.0)
SMOOTH = "smooth"  # the variant whose members are no trees
STARTS_AT_ZERO = "softmax"  # the link of such boosters; others start from the best constant
LINK_KERNELS = {"sigmoid2": (links.SIGMOID, 2.0), "softmax": (links.SOFTMAX, 1.0), "softmax2": (links.SOFTMAX, 2.0)}
CAUTION = 0.5  # rows of another class than the scores of left-out rows could know
FLOOR = float(np.log(1e-12))  # of a log-probability: one row must not decide


class Candidate(NamedTuple):
    """A way to train members that may be chosen."""

    surrogate: str
    variant: str
    costs: RowCosts  # what it trains on
    link: Link | None  # of its loss
    # Of boosters: the parts, for rows, all thresholds and these columns
    recipe: Callable[[LocalRows, tuple[FloatArray, ...], IntArray], Recipe] | None = None
    features: Callable[[int], IntArray] | None = None  # numbers of the columns that the member of a fold sees
    rival: str = ""  # variant before it, whose place it takes where the first fold says so
    wait: float = 0.0  # rounds before which nobody loses patience: the dearest costs come first
    # As a challenger in a pool:
    least_gain: float = LEAST_GAIN  # for which it is taken in
    largest_share: float = 1.0
    tried_on: int = 1  # first folds, whose rows say whether members for the others are trained


class CrossFit(NamedTuple):
    """A candidate's members, the rounds and the temperature that left-out rows chose, and what those rows said."""

    candidate: Candidate
    members: list[Progress]
    n_rounds: int  # of members that have ended, those on all rows as well
    temperature: float
    seen: IntArray  # the left-out rows
    weight: FloatArray  # (m,) theirs; 0 where a member knew nothing of the class
    scores: np.ndarray  # (m, D) float32, by the member that did not see the row; none once a pool has judged them
    judged: list[tuple[int, float]]  # round and pooled log-loss (or risk) at each checkpoint
    seconds: float
    risk: float = np.inf  # mean avoidable cost of the decisions about those rows, which a pool fills in


# -- what suits a number of rows -------------------------------------------------------------------------------------
def last_rounds(n_rows: int, n_rounds: int, most: int) -> int:
    """Rounds on all rows, for a member of so many without its fold: what that fold says would be lost otherwise.

    At `most` rounds in all.
    """
    return min(n_rounds // LAST_ROUNDS, most - n_rounds) if n_rows >= LAST_ROUNDS_FROM else 0


def first_rounds(n_rows: int, most: int) -> int:
    """Rounds without the fold, at most: those that leave room for the last ones."""
    return most - (most // (LAST_ROUNDS + 1) if n_rows >= LAST_ROUNDS_FROM else 0)


def usual_variants(n_rows: int, n_classes: int, n_bins: IntArray, linear: bool) -> list[str]:
    """Of candidates, plain ones first: tiny trees where features of few values may hold rules without noise."""
    few = n_rows <= FEW_ROWS and n_classes <= FEW_CLASSES and n_bins.mean() <= FEW_VALUES
    return ["plain", *(["linear"] if linear else []), "small", *(["tiny"] if few else [])]


def usual_leaves(n_rows: int, n_outputs: int, n_features: int) -> int:
    """Of a tree that is grown on so many rows; weak signals in many features take more splits to add up."""
    most = max(64, min(8 * n_outputs, LEAF_NUMBERS // n_outputs))
    least = 16 if n_features > n_rows else 8
    return max(min(24, max(least, n_rows // 20)), min(most, n_rows // 40))


def usual_share(n_features: int) -> float:
    """Of the features, that a node looks at."""
    return min(0.4, MOST_LOOKED_AT / n_features)


# -- what left-out rows say --------------------------------------------------------------------------------------------
def log_loss(
    link: Link, scores: np.ndarray, codes: Codes, weight: FloatArray, temperature: float, *, caution: bool = True
) -> float:
    """Weighted sum of -log p(true class); with `caution` also half a row's mean of -log p over the other classes.

    That half a row may be of another class keeps rows that are all decided rightly from making the next one certain:
    n of them leave others 1 / (2 n + 1), Krichevsky and Trofimov's estimate. A row weighs 1, or the mean if less.
    """
    kind, slope = LINK_KERNELS[link]
    half = half_row(weight) if caution else 0.0
    return float(links.log_loss(kind, slope / temperature, scores, codes, weight, FLOOR, half))


def half_row(weight: FloatArray) -> float:
    """Its share in the weight of these rows."""
    return CAUTION / max(1.0, float(weight.sum()), float(np.count_nonzero(weight)))


def expected_costs(link: Link, scores: FloatArray, temperature: float, cost: FloatArray) -> FloatArray:
    """Expected cost of each decision, (n, D); `cost` is (K, D), or (n, K, D) with a matrix for every row."""
    kind, slope = LINK_KERNELS[link]
    costs = points(cost if np.ndim(cost) == 3 else cost[None])
    return np.asarray(links.expected_costs(kind, slope / temperature, scores, costs))


def least_cost(link: Link | None, scores: FloatArray, temperature: float, cost: FloatArray | None) -> IntArray:
    """Decision of least expected cost where the scores give probabilities, else that of the largest score."""
    if link is None:
        return np.asarray(scores.argmax(axis=1))
    assert cost is not None
    return np.asarray(expected_costs(link, scores, temperature, cost).argmin(axis=1))


def fit_temperature(
    link: Link, scores: np.ndarray, codes: Codes, weight: FloatArray, start: float = 1.0, *, caution: bool = True
) -> tuple[float, float]:
    """Temperature of least log-loss, by steps of 15 % downhill from `start`, and the log-loss there.

    Where log-probabilities are at their floor nothing leads away from temperatures that make rows certain. With
    `caution` the way down from where no class is sure is then taken as well, and the lower end counts.
    """
    kind, slope = LINK_KERNELS[link]
    half, (lowest, highest) = half_row(weight) if caution else 0.0, TEMPERATURES
    if caution:
        highest = max(highest, slope * float(np.ptp(scores, axis=1).max(initial=0.0)))
    rows, range_ = (scores, codes, weight), (TEMPERATURE_STEP, lowest, highest)
    best, least = links.fit_temperature(kind, slope, *rows, FLOOR, half, start, *range_)
    if caution and links.log_loss(kind, slope / best, *rows, -np.inf, half) > least:
        unsure = start * TEMPERATURE_STEP ** int(np.log(highest / start) / np.log(TEMPERATURE_STEP))
        other, loss = links.fit_temperature(kind, slope, *rows, FLOOR, half, unsure, *range_)
        best, least = (other, loss) if loss < least * (1.0 - SAME_LOSS) else (best, least)
    return float(best), float(least)


def checkpoints(n_rounds: int) -> list[int]:
    """Rounds at which left-out rows are looked at, the last one among them."""
    rounds, at = [], float(FIRST_CHECKPOINT)
    while at < n_rounds:
        rounds.append(int(at))
        at = max(at + 1, at * CHECKPOINTS)
    return [*rounds, n_rounds]


def log_frequencies(costs: RowCosts) -> tuple[FloatArray, FloatArray]:
    """Rows of each class, by weight, and the logarithms of their shares with half a row added to each."""
    rows = np.bincount(costs.label, weights=costs.weight, minlength=costs.table.shape[1]).astype(np.float64)
    return rows, np.log((rows + 0.5) / (rows + 0.5).sum())


def without(costs: RowCosts, first: int, last: int) -> tuple[RowCosts, FloatArray]:
    """Costs in which rows first..last have no weight, and the weight with which these judge.

    That is 0 where no other row is of the class: who has not seen a class can say nothing about it.
    """
    label, stated = costs.label, costs.weight
    weight = stated.copy()
    weight[first:last] = 0.0
    known = np.bincount(label, weights=weight) > 0
    return costs._replace(weight=weight), np.where(known[label[first:last]], stated[first:last], 0.0)


class CrossFitted(Protocol):
    """A member as cross-fitting sees it: see `Member`."""

    weight: FloatArray
    seconds: float
    reached: int

    def train(self, rounds: Sequence[int]) -> None: ...
    def scores(self, n_rounds: int) -> np.ndarray: ...
    def result(self, n_rounds: int) -> Progress: ...


class Member:
    """One booster in training, and the scores of the rows that it does not see, at every checkpoint.

    Parameters
    ----------
    rows : LocalRows
        With the rows that are left out.
    weight : ndarray
        Of the left-out rows; 0 where the member cannot know the class.
    recipe : Recipe
    seed : int
    watching : sequence of Monitor
    """

    def __init__(
        self, rows: LocalRows, weight: FloatArray, recipe: Recipe, seed: int, watching: Sequence[Monitor]
    ) -> None:
        self.rows, self.weight, self.recipe, self.seed, self.watching = rows, weight, recipe, seed, watching
        self.progress: Progress | None = None
        self.reached = -1  # the last checkpoint's round
        self.seconds = 0.0
        self._scores: dict[int, FloatArray] = {}  # of the left-out rows by checkpoint
        self._forgets = rows.scores.size > FORGETTING

    def train(self, rounds: Sequence[int]) -> None:
        """Go on to each of these checkpoints, as far as there is anything left to learn, and keep the scores there."""
        begun, last = time.perf_counter(), self.progress
        last = boost(self.rows, self.recipe, rounds[-1], self.seed, self.watching, last)
        for n_rounds in rounds:
            assert last.intercept is not None
            left_out = self.rows.left_out_scores(last.trees[:n_rounds], last.vectors[:n_rounds], last.intercept)
            kept = empty(left_out.shape, np.float32)  # half the memory
            with np.errstate(over="ignore"):  # scores that a learning rate far above 1 may make
                kept[:] = left_out
            self._scores[n_rounds] = kept
        self.reached = rounds[-1]
        if self.rows.scores.size > RESTING:
            last.totals = last.whole = None
            self.rows.rest(self._forgets)
        self.progress = last
        self.seconds += time.perf_counter() - begun

    def scores(self, n_rounds: int) -> np.ndarray:
        """Of the left-out rows at a checkpoint, (m, D); on large data they are made again when asked for again."""
        if n_rounds in self._scores:
            return self._scores.pop(n_rounds) if self._forgets else self._scores[n_rounds]
        made = self.result(n_rounds)
        assert made.intercept is not None
        return self.rows.left_out_scores(made.trees, made.vectors, made.intercept)

    def result(self, n_rounds: int) -> Progress:
        """The first rounds."""
        made = self.progress
        assert made is not None
        return Progress(
            made.trees[:n_rounds], made.vectors[:n_rounds], made.intercept, made.log_scale, made.losses[: n_rounds + 1]
        )

    def constant(self) -> Progress:
        """What it knows without a tree: the logarithms of the class frequencies, half a row added to each.

        Trained on costs: minus the logarithms of what each decision costs.
        """
        if self.recipe.loss.link(self.rows.costs) is None:
            return constant(self.rows, self.recipe, self.rows.costs.constant_scores())
        rows, log_p = log_frequencies(self.rows.costs)
        return Progress(intercept=log_p, losses=[-float(weighted_sum(rows, log_p)) / float(rows.sum())])


class Trainer:
    """Makes members of a candidate; all of them read the same columns, whose rows stand fold after fold.

    `workers` train its members side by side; above `TOGETHER` scores these are one thread, and members have them all.
    """

    def __init__(self, candidate: Candidate, columns: Columns, workers: Workers, watching: Sequence[Monitor]) -> None:
        self.candidate, self.columns, self.watching = candidate, columns, list(watching)
        self.threads = workers if columns.binned.size >= SHARED else Workers()
        together = len(candidate.costs.label) * candidate.costs.table.shape[1] <= TOGETHER
        self.workers, self.inside = (self.threads, Workers()) if together else (Workers(), self.threads)

    def _member(self, fold: int, left_out: tuple[int, int], seed: int, workers: Workers) -> Member:
        columns, (costs, judging) = self.columns, without(self.candidate.costs, *left_out)
        rows = LocalRows(
            columns.binned, columns.n_bins, costs, workers, left_out=left_out, index=lambda: columns.index
        )
        assert self.candidate.recipe is not None and self.candidate.features is not None
        recipe = self.candidate.recipe(rows, columns.thresholds, self.candidate.features(fold))
        return Member(rows, judging, recipe, seed, self.watching)

    def fold(self, fold: int, folds: IntArray, seed: int) -> Member:
        """A member to be trained on the other folds; fold numbers ascend."""
        first, last = np.searchsorted(folds, [fold, fold + 1]).tolist()
        return self._member(fold, (first, last), seed, self.inside)

    def finish(self, fit: CrossFit, most: int, seed: int) -> CrossFit:
        """With the last rounds of its members; what left-out rows have said of it stands."""
        begun, more = time.perf_counter(), last_rounds(self.candidate.costs.n_rows, fit.n_rounds, most)
        if not more:
            return fit
        n_rounds, folds = fit.n_rounds + more, range(len(fit.members))
        members = self.workers.map(lambda f: self.finished(f, fit.members[f], n_rounds, seed + f), folds)
        return fit._replace(members=members, n_rounds=n_rounds, seconds=fit.seconds + time.perf_counter() - begun)

    def finished(self, fold: int, made: Progress, n_rounds: int, seed: int) -> Progress:
        """The member of this fold, gone on to so many rounds on all rows."""
        member = self._member(fold, (0, 0), seed, self.inside)
        assert made.intercept is not None
        member.rows.start_at(made.trees, made.vectors, made.intercept)
        member.progress = made  # what `result` gives of it does not hold the rows
        member.progress = boost(member.rows, member.recipe, n_rounds, seed, self.watching, member.result(n_rounds))
        return member.result(n_rounds)

    def unsure(self, most: int, seed: int) -> CrossFit:
        """One member of all rows where these are too few to leave any out: what is known without trees, hardly changed.

        Nothing says how often its trees are right. What they say of a row counts as half a row more of a class: at most
        3/2 times the odds of the class frequencies or, trained on costs, the ratio of what two decisions cost.
        """
        member, n_rounds = self._member(0, (0, 0), seed, self.threads), min(most, FIRST_CHECKPOINT)
        member.train([n_rounds])
        made = member.result(n_rounds)
        spread = float(np.ptp(member.rows.scores - made.intercept, axis=1).max()) / np.log(1.0 + CAUTION)
        if self.candidate.link is None:  # whose scores have no temperature
            temperature, made.intercept = 1.0, self.candidate.costs.constant_scores()
            made.vectors = [vectors / (spread or 1.0) for vectors in made.vectors]
        else:
            kind, slope = LINK_KERNELS[self.candidate.link]
            temperature, log_p = slope * spread or 1.0, log_frequencies(member.rows.costs)[1]
            known = log_p - np.log(-np.expm1(log_p)) if kind == links.SIGMOID else log_p
            made.intercept = known * temperature / slope
        return self._of_all_rows(member, made, temperature)

    def alone(self, n_rounds: int, seed: int) -> CrossFit:
        """One member trained on all rows; none is left out, and it is kept as it is, at a temperature of 1."""
        member = self._member(0, (0, 0), seed, self.threads)
        member.train([n_rounds])
        made = member.result(n_rounds)
        if not made.trees and self.candidate.link == STARTS_AT_ZERO:
            made = member.constant()
        elif self.candidate.link is None:
            assert made.intercept is not None
            member.rows.start_at(made.trees, made.vectors, made.intercept)
            if constant_is_better(member.rows.risk(), self.candidate.costs):
                made = member.constant()
        return self._of_all_rows(member, made, 1.0)

    def _of_all_rows(self, member: Member, made: Progress, temperature: float) -> CrossFit:
        """What this member made, without rows that are left out."""
        none = np.empty((0, member.rows.n_outputs), dtype=np.float32)
        return CrossFit(
            self.candidate, [made], len(made.trees), temperature, np.arange(0), np.empty(0), none, [], member.seconds
        )


def cross_fit(
    candidate: Candidate, members: Sequence[CrossFitted], folds: IntArray, n_rounds: int, workers: Workers
) -> CrossFit:
    """Train the members of the first folds in turns, for as many rounds as the rows that they left out ask for.

    At every checkpoint the pooled log-loss at the best temperature (without a link: the risk) is looked at; the rounds
    of the last one that lowered it enough (`LEAST_FALL`, the first: `FIRST_FALL`) are kept, about half of those of the
    least log-loss, for the same risk. Members may have been trained before.
    """
    link, seen = candidate.link, np.flatnonzero(folds < len(members))
    fold, (table, row, all_weight, label, *_) = folds[seen], candidate.costs
    row, stated, label = row[seen], all_weight[seen], label[seen]
    weight, places = np.empty(len(seen)), [np.flatnonzero(fold == number) for number in range(len(members))]
    for place, member in zip(places, members, strict=True):
        weight[place] = member.weight
    best, chosen, temperature, running, start = np.inf, 0, 1.0, 1.0, 0.0
    rounds, curve = [0, *checkpoints(n_rounds)], []
    few = len(seen) * table.shape[1] <= TOGETHER

    def pooled(c: int) -> np.ndarray:
        scores = empty((len(seen), table.shape[1]), np.float32)
        for place, member in zip(places, members, strict=True):
            scores[place] = member.scores(rounds[c])
        return scores

    for c in range(len(rounds)):
        behind = [member for member in members if member.reached < rounds[c]]
        if behind:  # on to where it may be time to stop at the earliest, unless the scores on the way are too many
            ahead = sum(at <= PATIENCE * rounds[chosen] + GRACE for at in rounds[c:]) if few else 0
            workers.map(methodcaller("train", rounds[c : c + ahead + 1]), behind)
        if link is None:
            judged = float(weighted_sum(stated, table[row, pooled(c).argmax(axis=1)]))
        else:
            running, judged = fit_temperature(link, pooled(c), label, weight, running, caution=False)
        mean = judged / (float((stated if link is None else weight).sum()) or 1.0)
        curve.append((rounds[c], candidate.costs.at(seen).stated(mean) if link is None else mean))
        start = judged if c == 0 else start
        asked = LEAST_FALL * min(best, start - best) if chosen else FIRST_FALL * start
        if c == 0 or judged < best - asked:
            best, chosen, temperature = judged, c, running
        if rounds[c] > max(candidate.wait, PATIENCE * rounds[chosen] + GRACE if chosen else SLOW_START):
            break
    progress, scores = [member.result(rounds[chosen]) for member in members], pooled(chosen)
    temperature = fit_temperature(link, scores, label, weight, temperature)[0] if link else 1.0
    seconds = sum(member.seconds for member in members) / min(len(members), workers.n)
    return CrossFit(candidate, progress, rounds[chosen], temperature, seen, weight, scores, curve, seconds)
