"""Row loops of the guess-averse losses (Beijbom et al., ICML 2014), of a row's differences of scores.

z_k = c_k exp(S_k - S_y) for k != y      GEL: w sum z (Eq. 20)      GLL: w log(1 + sum z) (Eq. 21)

y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`. The true class's own cost c_y does not enter.
"""

import math

import numpy as np

from minrisk._kernels._exponential import EXPONENTIAL_ROWS, exponentials, logarithm, rows_at_once
from minrisk._kernels._jit import kernel, part

VANISHED_WEIGHT = 1e-290  # of a row: smaller weights are 0 to the value, as they are in fixed point


@part
def all_count(cost, index, label, start, stop):
    """Whether the scores of all classes count in every row: its costs are its class's, and each mistake has one."""
    for i in range(start, stop):
        if index[i] != label[i]:
            return False
    for y in range(cost.shape[0]):
        for k in range(cost.shape[1]):
            if k != y and not cost[y, k] > 0.0:
                return False
    return True


@part
def below_highest(cost, index, label, scores, low, high, everyone, x):
    """x[i - low] = S_i less the largest of its scores that count, the true class's and those of a positive cost.

    `everyone`: all of them do. Looking that up would take a third of a round's gradients.
    """
    D = scores.shape[1]
    for i in range(low, high):
        row, highest = index[i], scores[i, label[i]]
        if everyone:
            s, a, b, c, d = scores[i], highest, highest, highest, highest
            for k in range(0, D - D % 4, 4):  # four maxima, since each comparison waits for the one before
                a, b = s[k] if s[k] > a else a, s[k + 1] if s[k + 1] > b else b
                c, d = s[k + 2] if s[k + 2] > c else c, s[k + 3] if s[k + 3] > d else d
            a, c = b if b > a else a, d if d > c else c
            highest = c if c > a else a
            for k in range(D - D % 4, D):
                highest = s[k] if s[k] > highest else highest
        else:
            for k in range(D):
                counted = scores[i, k] if cost[row, k] > 0.0 else -np.inf
                highest = counted if counted > highest else highest
        for k in range(D):
            difference = scores[i, k] - highest
            x[i - low, k] = difference if difference < 0.0 else 0.0


@part
def sums_of_rows(x, n, sums):
    """sums[b] = sum of x[b] in the order of its columns, b < n; four together, since an addition waits for the last."""
    for b in range(0, n - n % 4, 4):
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for k in range(x.shape[1]):
            first += x[b, k]
            second += x[b + 1, k]
            third += x[b + 2, k]
            fourth += x[b + 3, k]
        sums[b], sums[b + 1], sums[b + 2], sums[b + 3] = first, second, third, fourth
    for b in range(n - n % 4, n):
        sums[b] = 0.0
        for k in range(x.shape[1]):
            sums[b] += x[b, k]


@part
def raise_tops(edge, mass, low, high, top):
    """top[0], top[1] = max(top, columns of |edge| and of mass) over rows low..high."""
    for i in range(low, high):
        for k in range(edge.shape[1]):
            top[0, k], top[1, k] = max(top[0, k], abs(edge[i, k])), max(top[1, k], mass[i, k])


@kernel
def exponential_gradients(cost, index, label, weight, scores, log_scale, start, stop, edge, mass):
    """GEL: edge_k = -w z_k, mass_k = w z_k; edge_y = mass_y = w sum z; times e^-log_scale; rows start..stop.

    Returns the column maxima of |edge|, mass and the row's value, which counts in column y.
    """
    D = scores.shape[1]
    height = rows_at_once(D)
    top, x = np.zeros((3, D)), np.empty((height, D))
    for low in range(start, stop, height):
        high = min(low + height, stop)
        for i in range(low, high):
            s, z = scores[i], x[i - low]
            base = s[label[i]] + log_scale
            for k in range(D):
                z[k] = s[k] - base
        exponentials(x.reshape(height * D), (high - low) * D)
        for i in range(low, high):
            y, w, c, z = label[i], weight[i], cost[index[i]], x[i - low]
            z[y], total = 0.0, 0.0
            for k in range(D):  # one short loop: several would spend their time on starting
                v = w * c[k] * z[k]
                total += v
                edge[i, k], mass[i, k] = -v, v
                top[1, k] = max(top[1, k], v)
            edge[i, y], mass[i, y] = total, total
            top[1, y], top[2, y] = max(top[1, y], total), max(top[2, y], total)
    for k in range(D):
        top[0, k] = top[1, k]
    return top


@kernel
def logistic_gradients(cost, index, label, weight, scores, log_scale, start, stop, edge, mass):
    """GLL: edge_k = -w q_k, mass_k = w q_k (1 - q_k); edge_y = w Q, mass_y = w Q (1 - Q).

    q = z / (1 + sum z), Q = sum q. All times e^-log_scale; rows start..stop. Returns the column maxima of |edge|, mass
    and the row's value, which counts in column y. Costs of one row within a factor of e^700 are told apart, scores any
    distance apart.
    """
    D = scores.shape[1]
    height = rows_at_once(D)
    top, x = np.zeros((3, D)), np.empty((height, D))
    behind, all_right, all_wrong = np.empty(height), np.empty(height), np.empty(height)
    scale, everyone = math.exp(-log_scale), all_count(cost, index, label, start, stop)
    for low in range(start, stop, height):
        high = min(low + height, stop)
        below_highest(cost, index, label, scores, low, high, everyone, x)
        for i in range(low, high):  # what the true class's score is below the highest
            behind[i - low] = -x[i - low, label[i]]
        exponentials(x.reshape(height * D), (high - low) * D)
        for i in range(low, high):
            b, y, row = i - low, label[i], index[i]
            right = x[b, y]
            for k in range(D):
                x[b, k] *= cost[row, k]
            x[b, y] = 0.0
            all_right[b] = right
        sums_of_rows(x, high - low, all_wrong)
        for i in range(low, high):
            b, y, w = i - low, label[i], weight[i] * scale
            right, wrong = all_right[b], all_wrong[b]
            total = wrong + right
            for k in range(D):
                q = x[b, k] / total
                edge[i, k] = -w * q
                mass[i, k] = w * q * (1.0 - q)
            edge[i, y] = w * (wrong / total)
            mass[i, y] = edge[i, y] * (right / total)
            if w * wrong > top[2, y] * right:  # else log(1 + wrong / right) <= wrong / right is no maximum
                value = math.log1p(wrong / right) if wrong < right else math.log(total) + behind[b]
                top[2, y] = max(top[2, y], w * value)
        raise_tops(edge, mass, low, high, top)
    return top


@kernel
def exponential_values(label, edge, in_bag, factor, start, stop):
    """Sum over the bag's rows of class y of their GEL, which is edge_y, in fixed point, (D,)."""
    sums = np.zeros(edge.shape[1], dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            y = label[i]
            sums[y] += np.int64(np.rint(edge[i, y] * factor[y]))
    return sums


@kernel
def logistic_values(cost, index, label, weight, scores, log_scale, edge, in_bag, factor, start, stop):
    """Sum over the bag's rows of class y of their GLL, in fixed point, (D,); `edge` is that of the scores.

    No exponentials: the loss is -log(1 - Q), and where Q is near 1 it is log(z_k / q_k) for any k, of which the largest
    q_k is at least Q / (D - 1).
    """
    D = scores.shape[1]
    sums, values = np.zeros(D, dtype=np.int64), np.empty(EXPONENTIAL_ROWS)
    scale = math.exp(-log_scale)
    for low in range(start, stop, EXPONENTIAL_ROWS):
        high = min(low + EXPONENTIAL_ROWS, stop)
        for i in range(low, high):
            w = weight[i] * scale
            values[i - low] = edge[i, label[i]] / w if w >= VANISHED_WEIGHT else 0.0
        for j in range(high - low):  # the loop that is vectorised
            Q = min(values[j], 0.5)
            u = 1.0 - Q
            values[j] = values[j] if values[j] > 0.5 else ((u - 1.0) + Q) / u - logarithm(u)  # -log1p(-Q)
        for i in range(low, high):
            y, w, value = label[i], weight[i] * scale, values[i - low]
            if not in_bag[i] or w < VANISHED_WEIGHT:
                continue
            if edge[i, y] / w > 0.5:
                largest = 0 if y > 0 else 1
                for k in range(D):
                    if k != y and edge[i, k] < edge[i, largest]:
                        largest = k
                value = scores[i, largest] - scores[i, y] + math.log(cost[index[i], largest] * w / -edge[i, largest])
            sums[y] += np.int64(np.rint(w * value * factor[y]))
    return sums
