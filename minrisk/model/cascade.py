"""Decisions that stop at the first stage of rounds where the remaining trees will not change them.

A soft cascade (Bourdev and Brandt, CVPR 2005) with costs in place of errors. After each stage a row's decision stands
if no score can rise so far against the largest that another decision would cost less. What remaining trees can add is
bounded by the largest difference in any leaf of each, so decisions are those of the whole model. Where a share of the
expected cost may be given away, leads that left-out rows found to be enough take the place of larger bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minrisk._kernels import links
from minrisk._kernels.predict import decide_few, decide_rows, rises_of_trees
from minrisk._typing import FloatArray, IntArray
from minrisk._utils import cached_property
from minrisk._utils.memory import read_only
from minrisk.model.coded_trees import SINGLE_ROWS, CodedTrees
from minrisk.model.links import LINK_KERNELS, Link, least_cost

if TYPE_CHECKING:
    from minrisk.costs import CostMatrix

STAGES = (1 / 16, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 13 / 16, 7 / 8, 15 / 16)  # shares of the rounds
FEWEST_TREES = 64  # with fewer, looking at scores takes longer than the trees that it saves
MOST_DIFFERENCES = 1 << 31  # of entries of leaves, that bounds are found from: more would take seconds
MOST_RISES = 1 << 22  # bounds for all pairs of scores and stages: more than 600 scores have none, and no stages
REPACKED = 8  # rows that are decided leave the others once they are so large a part of them: an eighth
FIRST_EXACT = 0.5  # share of the trees before which bounds alone decide nothing
NEVER = 1e4  # a lead that stands for one that is never enough, and a share of costs that is never small
NO_COSTS = read_only(np.zeros((1, 1)))


def stage_rounds(n_rounds: int) -> IntArray:
    """Return rounds after which decisions may stand, of a model of so many."""
    rounds = np.unique([int(share * n_rounds) for share in STAGES])
    return rounds[rounds > 0].astype(np.int64)


def no_leads(n_stages: int) -> FloatArray:
    """Return a cascade where no lead is enough."""
    return np.full(n_stages, np.inf)


@dataclass(frozen=True)
class Cascade:
    """Hold what out-of-fold rows say of decisions after some of the rounds.

    Attributes
    ----------
    rounds : ndarray of shape (S,)
        Of the stages, ascending.
    excess : ndarray of shape (L,)
        Expected cost that decisions may have more than those of the whole model, as shares of theirs; ascending.
    leads : ndarray of shape (L, S)
        Log-odds by which a class must be ahead of all others at each stage, for each excess; `NEVER`: none is enough.
    ending : ndarray of shape (S,)
        The excess where all decisions are made after that stage; `NEVER` where left-out rows do not say.
    temperature : ndarray of shape (S,)
        Of the scores after that stage.
    """

    rounds: IntArray
    excess: FloatArray
    leads: FloatArray
    ending: FloatArray
    temperature: FloatArray

    def leads_of(self, max_excess: float) -> FloatArray:
        """Return leads of the largest excess that is no larger, (S,)."""
        level = int(np.searchsorted(self.excess, max_excess, "right")) - 1
        if level < 0:
            return no_leads(len(self.rounds))
        return np.where(self.leads[level] < NEVER, self.leads[level], np.inf)


class DecisionRule(NamedTuple):
    """Decide by scores (K,): by the least expected of costs (K, D) where they give probabilities, else the largest."""

    link: Link | None
    temperature: float
    costs: FloatArray | None
    is_plain: bool  # the largest score decides: also where all mistakes cost the same

    @classmethod
    def of(cls, link: Link | None, temperature: float, costs: CostMatrix | None) -> DecisionRule:
        """Return without costs, or a link, the largest score decides."""
        if link is None or costs is None:
            return cls(None, 1.0, None, True)
        return cls(link, temperature, read_only(costs.avoidable), costs.is_even)

    @property
    def scale(self) -> float:
        """Return what makes log-odds of differences of scores."""
        return 1.0 if self.link is None else LINK_KERNELS[self.link][1] / self.temperature

    @property
    def stops_early(self) -> bool:
        """Return whether differences of scores say all about decisions; sigmoids saturate, and then tell none apart."""
        return self.link is None or LINK_KERNELS[self.link][0] == links.SOFTMAX

    def __call__(self, scores: FloatArray) -> IntArray:
        """Return numbers of the decisions."""
        return least_cost(self.link, scores, self.temperature, self.costs)


class Leads(NamedTuple):
    """The stages at which decisions may stand, and what is enough there."""

    ends: IntArray  # (S,), trees until then
    rises: FloatArray  # (S, K, K), by which scores may still rise against others
    enough: FloatArray  # (S,), in log-odds


class Stages:
    """The stages of coded trees whose vectors are whole numbers.

    Parameters
    ----------
    trees : CodedTrees
    rounds : ndarray of shape (S,)
    trees_per_round : int
    n_scores : int
    """

    def __init__(self, trees: CodedTrees, rounds: IntArray, trees_per_round: int, n_scores: int) -> None:
        assert trees.unit is not None
        self.trees, self.unit, self.n_scores = trees, trees.unit, n_scores
        self.ends = np.searchsorted(trees.numbers, rounds * trees_per_round)
        shape = len(rounds), n_scores, n_scores
        if len(trees.nodes) // 2 * n_scores * trees.vectors.shape[1] > MOST_DIFFERENCES:
            self.rises = np.full(shape, np.inf)
        else:
            rises = np.empty(shape, dtype=np.int64)
            rises_of_trees(*trees.walked, n_scores, self.ends, rises)
            self.rises = trees.unit * rises

    @cached_property
    def bounded(self) -> Leads:
        """Return leads for decisions by bounds alone."""
        begin = int(np.searchsorted(self.ends, FIRST_EXACT * len(self.trees)))
        return self._at(begin, no_leads(len(self.ends)))

    def leads(self, cascade: Cascade | None, max_excess: float) -> Leads:
        """Return leads that are enough for so large an excess."""
        leads = None if cascade is None or max_excess == 0.0 else cascade.leads_of(max_excess)
        return self.bounded if leads is None or np.all(leads == np.inf) else self._at(0, leads)

    def _at(self, begin: int, leads: FloatArray) -> Leads:
        return Leads(self.ends[begin:], self.rises[begin:], leads[begin:])

    def decide(self, X: FloatArray, scores: FloatArray, rule: DecisionRule, leads: Leads) -> IntArray:
        """Decide about rows X of `minrisk._utils.memory.points`, linear features beside; `scores` are without trees."""
        how = rule.scale, NO_COSTS if rule.costs is None else rule.costs, rule.is_plain
        if len(X) < SINGLE_ROWS:
            return self._decide_few(X, scores, rule, how, leads)
        trees, n = self.trees, len(X)
        decided, rows, first = np.full(n, -1, dtype=np.int64), np.arange(n), 0
        codes, sums = trees.coded(X, 0, n), np.zeros((n, trees.vectors.shape[1]), dtype=np.int32)
        for stage, end in enumerate([*leads.ends.tolist(), len(trees)]):
            trees.add_to_many(codes, len(rows), first, end, sums)
            first = end
            if end == len(trees):
                break
            found = np.empty(len(rows), dtype=np.int64)
            decide_rows(sums, self.unit, scores, *how, leads.rises[stage], leads.enough[stage], found)
            # Rows that are decided stay until it pays to pack the others, and keep their first decision.
            known = decided[rows]
            decided[rows] = np.where(known < 0, found, known)
            left = np.flatnonzero(decided[rows] < 0)
            if len(left) == 0:
                return decided
            if REPACKED * (len(rows) - len(left)) >= len(rows):
                codes, sums, scores, rows = trees.some_coded(codes, left), sums[left], scores[left], rows[left]
        left = np.flatnonzero(decided[rows] < 0)
        decided[rows[left]] = rule(scores[left] + self.unit * sums[left, : self.n_scores])
        return decided

    def _decide_few(
        self, X: FloatArray, scores: FloatArray, rule: DecisionRule, how: tuple[float, FloatArray, bool], leads: Leads
    ) -> IntArray:
        """Decide about few rows, each by itself in one call."""
        trees, decided = self.trees, np.empty(len(X), dtype=np.int64)
        of_trees = trees.features, trees.thresholds, *trees.walked
        if decide_few(X, *of_trees, leads.ends, self.unit, scores, *how, leads.rises, leads.enough, decided):
            left = np.flatnonzero(decided < 0)
            decided[left] = rule(scores[left])
        return decided
