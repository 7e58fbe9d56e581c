"""Products with the responses of many learners, a look-up for several: see `minrisk.rows.local.joint_responses`.

`codes` (n_groups, n_samples) uint8 tells the joint response of a group's learners in each row.
"""

import numpy as np

from minrisk._kernels._jit import kernel

JOINT_ROWS = 512  # rows whose scores or edges stay within the cache from one group to the next


@kernel
def joint_counts(codes, response, out):
    """out[g] = how many joint responses group g would have with this learner in it."""
    seen = np.empty(512, dtype=np.bool_)
    for g in range(codes.shape[0]):
        seen[:] = False
        for i in range(codes.shape[1]):
            seen[2 * codes[g, i] + (response[i] > 0)] = True
        out[g] = seen.sum()


@kernel
def add_joint(codes, tables, start, stop, scores):
    """scores[i] += tables[g, codes[g, i]] for all groups, rows start..stop."""
    for low in range(start, stop, JOINT_ROWS):
        high = min(low + JOINT_ROWS, stop)
        for g in range(codes.shape[0]):
            for i in range(low, high):
                row, s = tables[g, codes[g, i]], scores[i]
                for k in range(scores.shape[1]):
                    s[k] += row[k]


@kernel
def sum_joint(codes, values, in_bag, factor, start, stop, sums):
    """sums[g, codes[g, i]] += rint(values[i] * factor) for all groups, the bag's rows of start..stop."""
    D = values.shape[1]
    whole = np.empty((JOINT_ROWS, D))
    for low in range(start, stop, JOINT_ROWS):
        high = min(low + JOINT_ROWS, stop)
        for i in range(low, high):
            for k in range(D):
                whole[i - low, k] = np.rint(values[i, k] * factor[k]) if in_bag[i] else 0.0
        for g in range(codes.shape[0]):
            for i in range(low, high):
                row, w = sums[g, codes[g, i]], whole[i - low]
                for k in range(D):
                    row[k] += w[k]
