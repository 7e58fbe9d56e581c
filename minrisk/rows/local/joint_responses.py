"""The responses of all learners, -1 or +1, and products with them that take one look-up for several learners.

Learners are kept in groups of few *joint responses*: those of stumps on one feature have one more than thresholds, any
seven learners 128 at most. A row has a byte for each group, which of them it has. Sums over learners are made once for
each joint response of a group, and added up over the groups of each row; sums over rows go the way back.
"""

from __future__ import annotations

import numpy as np

from minrisk._kernels.joint import add_joint, joint_counts, sum_joint
from minrisk._typing import Bag, FloatArray, IntArray

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
        """Sums of response * vector over the learners of each group, for `add`; vectors (T, D)."""
        members = np.zeros((self._signs.shape[0], self._signs.shape[2], vectors.shape[1]))
        members[self._group, self._member] = vectors
        return np.asarray(self._signs @ members)

    def add(self, tables: FloatArray, start: int, stop: int, scores: FloatArray) -> None:
        """scores += sum over learners of response * vector, rows start..stop."""
        add_joint(self._codes, tables, start, stop, scores)

    def sums(self, values: FloatArray, in_bag: Bag, factor: FloatArray, start: int, stop: int) -> FloatArray:
        """Sums of rint(values * factor) by joint response over the bag's rows of start..stop, for `products`."""
        sums = np.zeros((*self._signs.shape[:2], values.shape[1]))
        sum_joint(self._codes, values, in_bag, factor, start, stop, sums)
        return sums

    def products(self, sums: FloatArray) -> FloatArray:
        """Sum over rows of response * value for each learner, (T, D)."""
        members = self._signs.transpose(0, 2, 1) @ sums
        return np.asarray(members[self._group, self._member])
