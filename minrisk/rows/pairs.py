"""Rows for losses of pairwise margins: sums over pairs of classes, and where they count all learners' responses.

Rows that keep cutting planes of a loss: for each plane the decision that every row has chosen in it.

The responses of all learners, -1 or +1, and products with them that take one look-up for several learners.

Learners are kept in groups of few *joint responses*: those of stumps on one feature have one more than thresholds, any
seven learners 128 at most. A row has a byte for each group, which of them it has. Sums over learners are made once for
each joint response of a group, and added up over the groups of each row; sums over rows go the way back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minrisk._kernels._dtypes import CHOICE, FLOAT_BITS, MAX_BINS, SCORE
from minrisk._kernels.fixed import class_sums, response_sums, unfixed
from minrisk._kernels.functions import exp, log
from minrisk._kernels.guess_averse import fill_odds, gradient_along, pair_slopes, pair_sums
from minrisk._kernels.losses import read_choices, sum_choices, weigh_choices
from minrisk._kernels.scores import add_joint, add_response, joint_counts, sum_joint
from minrisk._kernels.split import bar_between, side_bounds, stored_side_bounds
from minrisk._typing import Bag, FloatArray, IntArray
from minrisk._utils.algebra import product
from minrisk.model.trees import Tree
from minrisk.rows.exchange import added, divide, fixed_factor
from minrisk.rows.rows import Rows


class PairRows(Rows):
    """`Rows` that know a loss of pairwise margins along a response: as sums over pairs, or row by row."""

    _own: tuple[Any, FloatArray, FloatArray] | None = None  # of a loss the rows' terms (n, 1), and their sum
    _odds: FloatArray | None = None

    def contrast_along(self, vector: FloatArray) -> None:
        """Fill the contrast with the gradient along a vector (D,)."""
        tops = self.over_blocks(gradient_along, self.gradient, vector, self._contrast)
        self._fix_contrast(float(self.exchange.largest(np.array([max(tops)]))[0]))

    def own_total(self, loss: Any) -> float:
        """Return the sum over the bag of the loss's terms r = y."""
        if self._own is None or self._own[0] is not loss:
            terms = loss.own_terms(self.costs)[:, None]
            self._own = loss, terms, self.exchange.largest(terms.max(axis=0, initial=0.0))
        _, terms, top = self._own
        return float(unfixed(self._column_sums(terms, top), top, self.sum_bits)[0])

    def pair_sums(self) -> FloatArray:
        """Return B (D, D): the exponential loss over the bag at scores + response * a is sum_jk B_jk e^(a_k - a_j).

        Times e^-log_scale of the last `gradients`, which were GEL's; the terms r = y are left out.
        """
        factor = fixed_factor(np.array([self.top_hessian.max()]), self.sum_bits - 1)  # a bit for the sum of two sums
        less, more = self.summed(pair_sums, self.hessian, self.costs.label, self.response, self.in_bag, factor[0])
        # A response of -1 turns the difference of two scores round, so that a pair is the opposite one.
        return divide(more + less.T, factor)

    def start_pairs(self) -> None:
        """Cache e^-rho of every pair at the present scores: the u^(t-1) of Eq. (14)."""
        if self._odds is None:
            self._odds = np.empty((self.n_samples, self.n_outputs), dtype=SCORE)
        odds = self._odds
        self.over_blocks(fill_odds, self.scores, self.costs.label, odds)

    def pair_slopes(self, vector: FloatArray) -> tuple[float, FloatArray]:
        """Return value and slope (D,) of the bag's logistic loss at scores + response * vector, times e^-log_scale."""
        assert self._odds is not None
        odds, costs = self._odds, self.costs
        grown = exp(np.array([vector[:, None] - vector, vector - vector[:, None]]))
        growth = float(grown.max())  # log(1 + z g) <= g log(1 + z) and z g / (1 + z g) <= g z / (1 + z) for g >= 1
        weighed = self.top_cost * exp(-self._log_scale)
        top_gradient = min(float(self.top_gradient.max()) * growth, weighed)
        top_value = float(self.top_value.max())
        top_value = min(top_value * growth, top_value + weighed * self.n_outputs * log(growth))
        factors = fixed_factor(np.array([top_value, top_gradient]), self.sum_bits - self.n_outputs.bit_length())
        given = costs.table, costs.row, costs.label, costs.weight, odds, self.response, self.in_bag, grown
        sums = self.summed(pair_slopes, *given, self._log_scale, *factors)
        return float(divide(sums[:1], factors[:1])[0]), divide(sums[1:], factors[1:])

    def learner_edges(self, trees: Sequence[Tree]) -> FloatArray:
        """Return `edges` of each of these learners (T, D); the response is then that of the last one."""
        factor = self.fixed_factor(self.top_gradient)
        sums = np.zeros((len(trees), self.n_outputs), dtype=np.int64)
        for own, tree in zip(sums, trees, strict=True):
            self.respond(tree)
            parts = self.over_blocks(response_sums, self.gradient, self.response, self.in_bag, factor)
            own += np.sum(parts, axis=0)
        return divide(self.exchange.added(sums), np.broadcast_to(factor, sums.shape))


class CorrectiveRows(PairRows):
    """`PairRows` that keep the responses of all learners, as joint ones, and the vectors they go with.

    Sums over learners and over rows are exact, hence independent of order, blocks and threads: vectors are multiples of
    2^-32 (`minrisk.model.coded_trees`), and gradients are whole numbers in them.

    Parameters
    ----------
    *parts, **options
        Of `Rows`.
    distinct : bool
        No stump answers as one that is kept does, or the opposite.
    """

    def __init__(self, *parts: Any, distinct: bool = False, **options: Any) -> None:
        super().__init__(*parts, **options)
        if distinct:
            self.barred = np.zeros((self.n_features, MAX_BINS), dtype=np.bool_)
        self._kept = JointResponses(self.n_samples)
        self._vectors = np.empty((16, self.n_outputs))
        self._origin = np.zeros(self.n_outputs)
        self._tried = np.empty((2, 0, self.n_outputs))
        self._value = np.empty(self.n_samples)

    @property
    def n_kept(self) -> int:
        """Return number of learners so far, T."""
        return len(self._kept)

    @property
    def kept_vectors(self) -> FloatArray:
        """Return the vectors of the learners so far, (T, D)."""
        return self._vectors[: self.n_kept]

    def start_at(self, trees: Sequence[Any], vectors: Sequence[FloatArray], intercept: FloatArray) -> None:
        """Start at the scores that these learners make; see `Rows.start_at`."""
        self._origin, self._kept = np.zeros(self.n_outputs), JointResponses(self.n_samples)
        self.barred[:] = False
        self._start_one_by_one(trees, vectors, intercept)

    def shift(self, vector: FloatArray) -> None:
        """Compute scores += vector: the constant term."""
        super().shift(vector)
        self._origin = self._origin + vector

    def advance(self, vectors: FloatArray) -> None:
        """Add response * vectors[0], and keep both."""
        super().advance(vectors)
        if self.n_kept == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.empty_like(self._vectors)])
        self._vectors[self.n_kept] = vectors[0]
        self._kept.append(self.response)
        if len(self.barred):
            bounds = self._side_bounds()
            bar_between(self.exchange.largest(bounds), self.barred)

    def _side_bounds(self) -> IntArray:
        """Return for each feature the bounds of the bins on either side of the response; see `side_bounds`."""
        if self.sparse is None:
            return np.asarray(side_bounds(self.X_binned, self.response))
        return np.asarray(stored_side_bounds(self.sparse.stored, self.response))

    def correct(self, changes: FloatArray) -> None:
        """Add (T, D) changes to the vectors of all learners so far."""
        self.kept_vectors[:] += changes
        tables = self._kept.tables(changes)
        self.over_blocks(self._kept.add, tables, self.scores)

    def start_vectors(self) -> FloatArray:
        """Return the vectors so far and one of 0 for the present response, (T + 1, D)."""
        if self._tried.shape[1] == 0:
            self._tried = np.empty((2, self.n_samples, self.n_outputs))
        return np.concatenate([self.kept_vectors, np.zeros((1, self.n_outputs))])

    def total_slopes(self, loss: Any, vectors: FloatArray) -> tuple[float, FloatArray]:
        """Return value and slope (T + 1, D) of the loss over the bag with these vectors, times e^-log_scale."""
        (scores, gradient), tables = self._tried, self._kept.tables(vectors[:-1])
        at = self.loss_columns._replace(scores=scores, gradient=gradient, hessian=gradient[:0], value=self._value)

        def fill(a: int, b: int) -> FloatArray:
            scores[a:b] = self._origin
            add_response(scores, self.response, vectors[-1], a, b)
            self._kept.add(tables, scores, a, b)
            tops: FloatArray = loss.gradients(at, a, b)
            return tops

        top_gradient, _, top_value = self.topped(fill)
        factor = self.fixed_factor(top_value)
        # Whole numbers whose sums float64 holds: a product of matrices, in any order, is then exact.
        whole = fixed_factor(top_gradient, FLOAT_BITS - self.place.n_rows.bit_length())

        def sums(a: int, b: int) -> tuple[IntArray, FloatArray, IntArray]:
            value = class_sums(self._value, self.costs.label, self.in_bag, factor, a, b)
            before = self._kept.sums(gradient, self.in_bag, whole, a, b)
            return value, before, response_sums(gradient, self.response, self.in_bag, whole, a, b)

        values, before, last = zip(*self.over_blocks(sums), strict=True)
        slope = -self.exchange.added(np.concatenate([self._kept.products(added(before)), added(last)[None]]))
        value = float(unfixed(self.added(values), top_value, self.sum_bits).sum())
        return value, divide(slope, np.broadcast_to(whole, slope.shape))


# -- Cutting planes ----------------------------------------------------------------------------------------------------
class PlaneRows(CorrectiveRows):
    """`CorrectiveRows` that keep planes, two bytes for each row and plane.

    Parameters: those of `CorrectiveRows`.
    """

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._choices = np.empty((0, self.n_samples), dtype=CHOICE)
        self._n_planes = 0

    def forget_planes(self) -> None:
        """Keep no plane."""
        self._n_planes = 0

    def keep_plane(self) -> None:
        """Keep the plane of the last `total_slopes` behind the others."""
        if self._n_planes == len(self._choices):
            more = np.empty((max(8, len(self._choices)), self.n_samples), dtype=CHOICE)
            self._choices = np.concatenate([self._choices, more])
        kept, gradient = self._choices[self._n_planes], self._tried[1]
        self.over_blocks(read_choices, gradient, self.costs.label, kept)
        self._n_planes += 1

    def weigh_planes(self, shares: FloatArray) -> None:
        """Make the gradient the sum of those of the planes times their shares (P,), from now on."""
        kept, counted = self._choices[: self._n_planes], np.flatnonzero(shares)
        kept, shares = np.ascontiguousarray(kept[counted]), np.ascontiguousarray(shares[counted])
        given = kept, shares, self.costs.label, self.costs.weight
        self.top_gradient = self.topped(weigh_choices, *given, self.gradient)
        self._fix_columns(1)

    def plane_edges(self) -> FloatArray:
        """Return `edges` by the gradient of each plane, (P, D)."""
        kept, D = self._choices[: self._n_planes], self.n_outputs
        factor = fixed_factor(np.array([self.top_weight]), self.sum_bits - 1)  # a bit for a row that counts twice
        given = kept, self.costs.label, self.costs.weight, self.response, self.in_bag
        sums = self.summed(sum_choices, *given, factor[0], D)
        return divide(sums, np.broadcast_to(factor, sums.shape))


# -- Responses of several learners in a byte ---------------------------------------------------------------------------
MOST_JOINT = 128  # joint responses of a group: its sums should stay within the cache (and codes are bytes)
LEARNERS = 8  # each group has so many on average,
FEW_GROUPS = 16  # unless there are no more groups than this, before learners join others that they have to split


class JointResponses:
    """Responses of T learners in n rows.

    Whole numbers stay whole and multiples of 2^-32 stay such: where their sums are exact in float64, neither the order
    of learners nor that of rows matters.

    Parameters
    ----------
    n_samples : int
    """

    def __init__(self, n_samples: int) -> None:
        self._codes = np.empty((0, n_samples), dtype=np.uint8)  # by group: the joint response of each row
        self._signs: FloatArray = np.zeros((0, 0, 0))  # by group and joint response: what each member answers
        self._n_joint: IntArray = np.empty(0, dtype=np.int64)  # of each group
        self._group: IntArray = np.empty(0, dtype=np.int64)  # of each learner
        self._member: IntArray = np.empty(0, dtype=np.int64)  # its number there

    def __len__(self) -> int:
        return len(self._group)

    def append(self, response: np.ndarray) -> None:
        """Add a learner to the group that it splits least, or to a new one."""
        group = self._group_for(response)
        joint = 2 * self._codes[group].astype(np.int64) + (response > 0)
        kept, codes = np.unique(joint, return_inverse=True)
        member = int(np.count_nonzero(self._group == group))
        sizes = np.array([len(self._codes), len(kept), member + 1])
        more = np.maximum(sizes - self._signs.shape, 0)
        signs = np.pad(self._signs, [(0, int(size)) for size in more])
        # Joint responses are numbered anew, as the learner parts some of the old ones: bit 0 is its own answer.
        signs[group, : len(kept), :member] = signs[group, kept >> 1, :member]
        signs[group, : len(kept), member] = 2 * (kept & 1) - 1
        self._signs, self._codes[group], self._n_joint[group] = signs, codes, len(kept)
        self._group, self._member = np.append(self._group, group), np.append(self._member, member)

    def _group_for(self, response: np.ndarray) -> int:
        n_groups = len(self._codes)
        counts = np.empty(n_groups, dtype=np.int64)
        joint_counts(self._codes, response, counts)
        growth = np.where(counts <= MOST_JOINT, counts - self._n_joint, MOST_JOINT)  # more than any that fits
        best = int(growth.argmin()) if n_groups else -1
        enough = n_groups >= max(FEW_GROUPS, len(self) // LEARNERS)
        if best >= 0 and (growth[best] <= 1 or (enough and growth[best] < MOST_JOINT)):
            return best
        self._codes = np.concatenate([self._codes, np.zeros((1, self._codes.shape[1]), dtype=np.uint8)])
        self._n_joint = np.append(self._n_joint, 1)
        return n_groups

    def tables(self, vectors: FloatArray) -> FloatArray:
        """Return sums of response * vector over the learners of each group, for `add`; vectors (T, D)."""
        members = np.zeros((self._signs.shape[0], self._signs.shape[2], vectors.shape[1]))
        members[self._group, self._member] = vectors
        return _products(self._signs, members)

    def add(self, tables: FloatArray, scores: FloatArray, start: int, stop: int) -> None:
        """Compute scores += sum over learners of response * vector, rows start..stop."""
        add_joint(self._codes, tables, scores, start, stop)

    def sums(self, values: FloatArray, in_bag: Bag, factor: FloatArray, start: int, stop: int) -> FloatArray:
        """Return sums of rint(values * factor) by joint response over the bag's rows of start..stop, for `products`."""
        sums = np.zeros((*self._signs.shape[:2], values.shape[1]))
        sum_joint(self._codes, values, in_bag, factor, sums, start, stop)
        return sums

    def products(self, sums: FloatArray) -> FloatArray:
        """Return the sum over rows of response * value for each learner, (T, D)."""
        members = _products(self._signs.transpose(0, 2, 1), sums)
        return np.asarray(members[self._group, self._member])


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the product of each pair of matrices."""
    out = np.empty((*left.shape[:2], right.shape[2]))
    for number, pair in enumerate(zip(left, right, strict=True)):
        out[number] = product(*pair)
    return out
