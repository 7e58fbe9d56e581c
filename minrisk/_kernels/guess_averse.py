"""Row loops of the losses of Beijbom et al., ICML 2014: gradients, values, and along a line through the scores.

`gradient` is minus the gradient and `hessian` the diagonal of the Hessian, as in `minrisk._kernels.losses`.

The guess-averse losses are of a row's differences of scores.

z_k = c_k exp(S_k - S_y) for k != y      GEL: w sum z (Eq. 20)      GLL: w log(1 + sum z) (Eq. 21)

y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`. The true class's own cost c_y does not enter.

L_s and L_t are the losses that are not averse to guessing.

L_s: sum_k c_k e^(S_k), Eq. (12)      L_t: A B, A = sum_j c_j e^(S_j) and B = sum_k e^(-S_k), Eq. (14)

Along a line through the scores there are value, slope and curvature of each row. Row i is looked at at S_i + step * d_i
with d_i = factor[i] * move[i], or factor[i] * move[0] where all rows share one direction. Written to `line` (3, n),
times e^-log_scale: the loss, its first and its second derivative in `step`; at step 0 with factor 1 the first
derivative is the boosting weight w^r of Eq. (34) to (37). The maxima of the absolute values are returned, (3,).

d = (S_k - S_y) along the line.

Along one direction v that many classes share a value of, their exponentials are summed once, by value. Triangular
codewords have three different numbers in a coordinate, so a row's loss at S + t f v needs three exponentials whatever
the number of classes. `group[k]` numbers the value of class k, `values[g]` is the value; `terms` (P, n) holds the sums
of each row at t = 0, taken from what `gradients` wrote there. `line` is as above. Loops run over GROUPED_ROWS rows side
by side, which is what is vectorised.

Row loops of pairwise margins (Paisitkriangkrai, Shen and van den Hengel, 2013): rho_r = S_y - S_r.

z_r = exp(S_r - S_y) = e^-rho_r      logistic loss: w sum c_r log(1 + z_r), Eq. (7); the exponential w sum c_r z_r,
Eq. (4), is GEL.

y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`, f = `response`. The term r = y, which no score can
change, does not enter. `gradient` is minus the gradient, as in `minrisk._kernels.losses`.
"""

import math

import numpy as np

from minrisk._kernels._exponential import EXPONENTIAL_ROWS, exponential, exponentials, log1p, logarithm, rows_at_once
from minrisk._kernels._jit import kernel, part

VANISHED_WEIGHT = 1e-290  # of a row: smaller weights are 0 to the value, as they are in fixed point


@part
def all_count(cost, index, label, start, stop):
    """Say whether all classes' scores count in every row: its costs are its class's, and each mistake has one."""
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
    """Fill x[i - low] with S_i less the largest of its scores that count: the class's, and those of a positive cost.

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
    """Sum x[b] in the order of its columns, b < n; four together, since an addition waits for the last."""
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
def raise_tops(gradient, hessian, low, high, top):
    """Compute top[0], top[1] = max(top, columns of |gradient| and of Hessian) over rows low..high."""
    for i in range(low, high):
        for k in range(gradient.shape[1]):
            top[0, k], top[1, k] = max(top[0, k], abs(gradient[i, k])), max(top[1, k], hessian[i, k])


@kernel
def exponential_gradients(own, cost, index, label, weight, scores, log_scale, gradient, hessian, value, start, stop):
    """Fill those of GEL (own = 1) or L_s (0): gradient_k = -w z_k, hessian_k = w z_k, z_k = c_k e^(S_k - own S_y).

    At y they are w sum z of GEL, and 0 of L_s; the row's value is w sum z. All times e^-log_scale; rows start..stop.
    Returns the column maxima of |gradient|, Hessian and value, which counts in column y.
    """
    D = scores.shape[1]
    height, every = rows_at_once(D), np.int64(hessian.shape[0] > 0)
    curved = hessian if every else np.empty((1, D))  # chosen once: for each row that would take as long as its sums
    top, x = np.zeros((3, D)), np.empty((height, D))
    for low in range(start, stop, height):
        high = min(low + height, stop)
        for i in range(low, high):
            s, z = scores[i], x[i - low]
            base = own * s[label[i]] + log_scale
            for k in range(D):
                z[k] = s[k] - base
        exponentials(x.reshape(height * D), (high - low) * D)
        for i in range(low, high):
            y, w, c, z, r = label[i], weight[i], cost[index[i]], x[i - low], i * every
            z[y], total = 0.0, 0.0
            for k in range(D):  # one short loop: several would spend their time on starting
                v = w * c[k] * z[k]
                total += v
                gradient[i, k], curved[r, k] = -v, v
                top[1, k] = max(top[1, k], v)
            value[i], top[2, y] = total, max(top[2, y], total)
            if own > 0.0:
                gradient[i, y], curved[r, y], top[1, y] = total, total, max(top[1, y], total)
    for k in range(D):
        top[0, k] = top[1, k]
    return top


@kernel
def logistic_values(cost, index, label, weight, scores, log_scale, gradient, value, start, stop):
    """Fill value[i] with the row's GLL, by the gradient of these scores.

    No exponentials: the loss is -log(1 - Q), and where Q is near 1 it is log(z_k / q_k) for any k, of which the largest
    q_k is at least Q / (D - 1).
    """
    scale, own = math.exp(-log_scale), np.empty(EXPONENTIAL_ROWS)
    for low in range(start, stop, EXPONENTIAL_ROWS):
        high = min(low + EXPONENTIAL_ROWS, stop)
        for i in range(low, high):
            w = weight[i] * scale
            own[i - low] = gradient[i, label[i]] / w if w >= VANISHED_WEIGHT else 0.0
        for j in range(high - low):  # the loop that is vectorised
            Q = min(own[j], 0.5)
            u = 1.0 - Q
            # -log1p(-Q): the first term gives back what rounding took from u.
            own[j] = own[j] if own[j] > 0.5 else ((u - 1.0) + Q) / u - logarithm(u)
        for i in range(low, high):
            y, w, loss = label[i], weight[i] * scale, own[i - low]
            if w < VANISHED_WEIGHT:
                value[i] = 0.0
                continue
            if gradient[i, y] / w > 0.5:
                largest = 0 if y > 0 else 1
                for k in range(gradient.shape[1]):
                    if k != y and gradient[i, k] < gradient[i, largest]:
                        largest = k
                ratio = cost[index[i], largest] * w / -gradient[i, largest]
                loss = scores[i, largest] - scores[i, y] + math.log(ratio)
            value[i] = w * loss


@kernel
def logistic_gradients(cost, index, label, weight, scores, log_scale, gradient, hessian, value, start, stop):
    """Fill those of GLL: gradient_k = -w q_k, hessian_k = w q_k (1 - q_k); gradient_y = w Q, hessian_y = w Q (1 - Q).

    q = z / (1 + sum z), Q = sum q. All times e^-log_scale; rows start..stop. Returns the column maxima of |gradient|,
    Hessian and the row's value, which counts in column y. Costs of one row within a factor of e^700 are told apart,
    scores any distance apart. The values themselves are those of `logistic_values`.
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
                gradient[i, k] = -w * q
                hessian[i, k] = w * q * (1.0 - q)
            gradient[i, y] = w * (wrong / total)
            hessian[i, y] = gradient[i, y] * (right / total)
            if w * wrong > top[2, y] * right:  # else log(1 + wrong / right) <= wrong / right is no maximum
                loss = math.log1p(wrong / right) if wrong < right else math.log(total) + behind[b]
                top[2, y] = max(top[2, y], w * loss)
        raise_tops(gradient, hessian, low, high, top)
    logistic_values(cost, index, label, weight, scores, log_scale, gradient, value, start, stop)
    return top


@kernel
def softmax_value_and_gradient(cost, index, label, weight, scores, log_scale, gradient, value, start, stop):
    """Compute gradient_k = w (1[k = y] - p_k) and the row's value, times e^-log_scale; rows start..stop.

    Returns (3, D): the column maxima of |gradient|, 0, and those of the value, which counts in column y.
    """
    D = scores.shape[1]
    top, scale = np.zeros((3, D)), math.exp(-log_scale)
    for i in range(start, stop):
        y, w, row, highest = label[i], weight[i] * scale, index[i], scores[i, label[i]]
        for k in range(D):
            if cost[row, k] > 0.0 and scores[i, k] > highest:
                highest = scores[i, k]
        right, wrong = math.exp(scores[i, y] - highest), 0.0
        for k in range(D):
            z = 0.0
            if k != y and cost[row, k] > 0.0:
                z = cost[row, k] * math.exp(scores[i, k] - highest)
            gradient[i, k] = z
            wrong += z
        total = right + wrong
        for k in range(D):
            gradient[i, k] *= -w / total
        gradient[i, y] = w * (wrong / total)
        value[i] = w * (math.log1p(wrong / right) if wrong < right else math.log(total) + highest - scores[i, y])
        for k in range(D):
            top[0, k] = max(top[0, k], abs(gradient[i, k]))
        top[2, y] = max(top[2, y], value[i])
    return top


# -- Losses that are not averse to guessing ----------------------------------------------------------------------------
@kernel
def pair_terms(cost, index, label, weight, scores, log_scale, low, high, up, down, scale):
    """Fill w c_k e^(S_k) and e^(-S_k), the largest e^(...) being 1; also what their products are times."""
    D = scores.shape[1]
    for i in range(low, high):
        s, u, d = scores[i], up[i - low], down[i - low]
        highest, lowest = s[0], s[0]
        for k in range(D):
            highest, lowest = max(highest, s[k]), min(lowest, s[k])
        for k in range(D):
            u[k] = s[k] - highest
            d[k] = lowest - s[k]
        scale[i - low] = highest - lowest - log_scale
    n = high - low
    exponentials(up.reshape(up.size), n * D)
    exponentials(down.reshape(down.size), n * D)
    exponentials(scale, n)
    for i in range(low, high):
        c, u = cost[index[i]], up[i - low]
        for k in range(D):
            u[k] *= weight[i] * c[k]
        u[label[i]] = 0.0


@kernel
def pair_gradients(cost, index, label, weight, scores, log_scale, gradient, hessian, value, start, stop):
    """Fill those of L_t.

    gradient_k = w (A e^(-S_k) - c_k e^(S_k) B), hessian_k = w (A e^(-S_k) + c_k e^(S_k) B - 2 c_k). Returns the column
    maxima of |gradient|, Hessian and the row's value, which counts in column y.
    """
    D = scores.shape[1]
    height = rows_at_once(D)
    top, scale = np.zeros((3, D)), np.empty(height)
    up, down = np.empty((height, D)), np.empty((height, D))
    for low in range(start, stop, height):
        high = min(low + height, stop)
        pair_terms(cost, index, label, weight, scores, log_scale, low, high, up, down, scale)
        for i in range(low, high):
            a, b, A, B, y = up[i - low], down[i - low], 0.0, 0.0, label[i]
            for k in range(D):
                A, B = A + a[k], B + b[k]
            w = scale[i - low]
            for k in range(D):
                u, v = w * a[k] * B, w * A * b[k]
                gradient[i, k], hessian[i, k] = v - u, max(u + v - 2.0 * w * a[k] * b[k], 0.0)
            value[i] = A * B * w
            top[2, y] = max(top[2, y], value[i])
        raise_tops(gradient, hessian, low, high, top)
    return top


@kernel
def gather_pairs(cost, index, label, weight, scores, log_scale, group, n_groups, terms, start, stop):
    """Sum over group g w c_j e^(S_j), then of e^(-S_k), the products of the two times e^-log_scale."""
    D = scores.shape[1]
    height = rows_at_once(D)
    up, down, scale = np.empty((height, D)), np.empty((height, D)), np.empty(height)
    classes, first = by_group(group, n_groups)
    for low in range(start, stop, height):
        high = min(low + height, stop)
        pair_terms(cost, index, label, weight, scores, log_scale, low, high, up, down, scale)
        for i in range(low, high):
            for g in range(n_groups):
                a, b = 0.0, 0.0
                for place in range(first[g], first[g + 1]):
                    k = classes[place]
                    a, b = a + up[i - low, k], b + down[i - low, k]
                terms[g, i], terms[n_groups + g, i] = a * scale[i - low], b


# -- Along a line through the scores -----------------------------------------------------------------------------------
@kernel
def write(line, i, w, value, slope, curvature, top):
    """Compute line[:, i] = w * (value, slope, curvature), and the maxima so far."""
    line[0, i], line[1, i], line[2, i] = w * value, w * slope, w * curvature
    for c in range(3):
        top[c] = max(top[c], abs(line[c, i]))


@kernel
def write_sums(line, i, w, z, d, top):
    """Do `write` of sum z e^(t d) at t = 0: sums of z, z d and z d^2."""
    value, slope, curvature = 0.0, 0.0, 0.0
    for k in range(z.shape[0]):
        value += z[k]
        slope += z[k] * d[k]
        curvature += z[k] * d[k] * d[k]
    write(line, i, w, value, slope, curvature, top)


@kernel
def exponential_along(own, cost, index, label, weight, scores, log_scale, factor, move, step, line, start, stop):
    """Fill the line of GEL, Eq. (20): sum c_k e^(S_k - S_y); or, with own = 0, of L_s, Eq. (12): sum c_k e^(S_k).

    L_s is for scores that sum to 0.
    """
    D = scores.shape[1]
    top, z, d = np.zeros(3), np.empty(D), np.empty(D)
    for i in range(start, stop):
        y, c, s, f = label[i], cost[index[i]], scores[i], factor[i]
        m = move[i] if move.shape[0] > 1 else move[0]
        base = own * s[y] + log_scale
        for k in range(D):
            d[k] = f * (m[k] - own * m[y])
            z[k] = c[k] * exponential(s[k] - base + step * d[k])
        z[y] = 0.0
        write_sums(line, i, weight[i], z, d, top)
    return top


@kernel
def logistic_along(cost, index, label, weight, scores, log_scale, factor, move, step, line, start, stop):
    """Fill the line of GLL, Eq. (21): log(1 + sum c_k e^(S_k - S_y)), as log-sum-exp; the curvature is a variance."""
    D = scores.shape[1]
    top, q, d = np.zeros(3), np.empty(D), np.empty(D)
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        y, c, s, f = label[i], cost[index[i]], scores[i], factor[i]
        m = move[i] if move.shape[0] > 1 else move[0]
        highest = 0.0  # of S_k - S_y along the line; 0 is that of the 1
        for k in range(D):
            d[k] = f * (m[k] - m[y])
            q[k] = s[k] - s[y] + step * d[k]
            if c[k] > 0.0 and q[k] > highest:
                highest = q[k]
        for k in range(D):
            q[k] = c[k] * exponential(min(q[k] - highest, 0.0))
        q[y] = 0.0
        wrong, right = 0.0, exponential(-highest)
        for k in range(D):
            wrong += q[k]
        total = wrong + right
        mean, square = 0.0, 0.0
        for k in range(D):
            mean += q[k] * d[k]
        mean /= total
        for k in range(D):
            square += q[k] * (d[k] - mean) * (d[k] - mean)
        square = (square + right * mean * mean) / total
        value = math.log1p(wrong / right) if wrong < right else math.log(total) + highest
        write(line, i, weight[i] * scale, value, mean, square, top)
    return top


@kernel
def pair_along(cost, index, label, weight, scores, log_scale, factor, move, step, line, start, stop):
    """Fill the line of L_t, Eq. (14): sum_jk c_j e^(S_j - S_k) = A B, A = sum_j c_j e^(S_j), B = sum_k e^(-S_k).

    Deviation: (37) as printed is the gradient of e^(S_k - S_j); it is read with the indices of (14).
    """
    D = scores.shape[1]
    top, s, d = np.zeros(3), np.empty(D), np.empty(D)
    for i in range(start, stop):
        y, c, f = label[i], cost[index[i]], factor[i]
        m = move[i] if move.shape[0] > 1 else move[0]
        high, low = -np.inf, np.inf
        for k in range(D):
            d[k] = f * m[k]
            s[k] = scores[i, k] + step * d[k]
            high, low = max(high, s[k]), min(low, s[k])
        a0, a1, a2, b0, b1, b2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(D):
            a = c[k] * exponential(s[k] - high) if k != y else 0.0
            b = exponential(low - s[k])
            a0, a1, a2 = a0 + a, a1 + a * d[k], a2 + a * d[k] * d[k]
            b0, b1, b2 = b0 + b, b1 - b * d[k], b2 + b * d[k] * d[k]
        w = weight[i] * exponential(high - low - log_scale)
        write(line, i, w, a0 * b0, a1 * b0 + a0 * b1, a2 * b0 + 2.0 * a1 * b1 + a0 * b2, top)
    return top


# -- Along a direction of few values -----------------------------------------------------------------------------------
GROUPED_ROWS = 128  # rows side by side: their sums stay within the fastest cache
SIGN = np.int64(0x7FFFFFFFFFFFFFFF)  # all bits but the sign


@kernel
def largest(values, n, before):
    """Return the largest of `before` and |values[:n]|, compared as whole numbers: the loop is vectorised."""
    top = np.float64(before).view(np.int64)
    for i in range(n):
        size = np.float64(values[i]).view(np.int64) & SIGN
        top = max(top, size)
    return np.int64(top).view(np.float64)


@kernel
def raise_line_tops(line, low, high, top):
    """Compute top = max(top, |line|) over rows low..high."""
    for c in range(3):
        top[c] = largest(line[c, low:high], high - low, top[c])


@kernel
def own_values(label, group, values, low, high, own):
    """Compute own[i - low] = value of the true class."""
    for i in range(low, high):
        own[i - low] = values[group[label[i]]]


@kernel
def moved(terms, factor, own, value, step, n, z, d):
    """Compute d = v - own, z = terms e^(t f d): what becomes of the terms of value v."""
    for i in range(n):
        d[i] = value - own[i]
        z[i] = terms[i] * exponential(step * factor[i] * d[i])


@kernel
def by_group(group, n_groups):
    """Return classes in the order of their groups, and where each group begins."""
    K = group.shape[0]
    classes, first = np.empty(K, dtype=np.int64), np.empty(n_groups + 1, dtype=np.int64)
    placed = 0
    for g in range(n_groups):
        first[g] = placed
        for k in range(K):
            if group[k] == g:
                classes[placed] = k
                placed += 1
    first[n_groups] = placed
    return classes, first


@kernel
def gather_sums(hessian, label, group, terms, start, stop):
    """Fill terms[g, i] of GEL and L_s: the sum of w c_k e^(...) over the wrong classes k of group g, from `hessian`."""
    classes, first = by_group(group, terms.shape[0])
    for i in range(start, stop):
        for g in range(terms.shape[0]):
            total = 0.0
            for place in range(first[g], first[g + 1]):
                k = classes[place]
                total += hessian[i, k] if k != label[i] else 0.0
            terms[g, i] = total


@kernel
def sums_along(own, terms, label, group, values, factor, step, line, start, stop):
    """Fill the line of GEL (own = 1), sum_g terms_g e^(t f (v_g - v_y)), or L_s (0), sum_g terms_g e^(t f v_g)."""
    top, base, z, d = np.zeros(3), np.zeros(GROUPED_ROWS), np.empty(GROUPED_ROWS), np.empty(GROUPED_ROWS)
    for low in range(start, stop, GROUPED_ROWS):
        high = min(low + GROUPED_ROWS, stop)
        n, f = high - low, factor[low:high]
        value, slope, curvature = line[0, low:high], line[1, low:high], line[2, low:high]
        value[:], slope[:], curvature[:] = 0.0, 0.0, 0.0
        if own > 0.0:
            own_values(label, group, values, low, high, base)
        for g in range(values.shape[0]):
            moved(terms[g, low:high], f, base, values[g], step, n, z, d)
            for i in range(n):
                value[i] += z[i]
                slope[i] += z[i] * d[i]
                curvature[i] += z[i] * d[i] * d[i]
        for i in range(n):
            slope[i] *= f[i]
            curvature[i] *= f[i] * f[i]
        raise_line_tops(line, low, high, top)
    return top


@kernel
def gather_shares(gradient, hessian, label, weight, log_scale, group, terms, start, stop):
    """Fill terms[g, i] of GLL: the sum of q_k over the wrong classes of group g, and last 1 - sum q.

    q_k is taken from gradient_k = -w q_k.
    """
    last = terms.shape[0] - 1
    scale = math.exp(-log_scale)
    classes, first = by_group(group, last)
    for i in range(start, stop):
        y, w = label[i], weight[i] * scale
        inverse = 1.0 / w if w > 1e-290 else 0.0
        for g in range(last):
            total = 0.0
            for place in range(first[g], first[g + 1]):
                k = classes[place]
                total -= gradient[i, k] if k != y else 0.0
            terms[g, i] = total * inverse
        terms[last, i] = hessian[i, y] / gradient[i, y] if gradient[i, y] > 0.0 else 1.0


@kernel
def shares_along(terms, label, weight, log_scale, group, values, factor, step, line, start, stop):
    """Fill the line of GLL less its value at t = 0: w log(terms_last + sum_g terms_g e^(t f (v_g - v_y)))."""
    last = terms.shape[0] - 1
    scale = math.exp(-log_scale)
    top, base, total = np.zeros(3), np.empty(GROUPED_ROWS), np.empty(GROUPED_ROWS)
    z, d = np.empty((last, GROUPED_ROWS)), np.empty((last, GROUPED_ROWS))
    for low in range(start, stop, GROUPED_ROWS):
        high = min(low + GROUPED_ROWS, stop)
        n, f, w, right = high - low, factor[low:high], weight[low:high], terms[last, low:high]
        value, mean, square = line[0, low:high], line[1, low:high], line[2, low:high]
        own_values(label, group, values, low, high, base)
        for i in range(n):
            total[i], mean[i] = right[i], 0.0
        for g in range(last):
            moved(terms[g, low:high], f, base, values[g], step, n, z[g], d[g])
            for i in range(n):
                total[i] += z[g, i]
                mean[i] += z[g, i] * d[g, i]
        for i in range(n):
            mean[i] /= total[i]
            square[i] = right[i] * mean[i] * mean[i]
        for g in range(last):
            for i in range(n):
                square[i] += z[g, i] * (d[g, i] - mean[i]) * (d[g, i] - mean[i])
        for i in range(n):
            of_row = w[i] * scale
            value[i] = of_row * logarithm(total[i])
            square[i] *= of_row * f[i] * f[i] / total[i]
            mean[i] *= of_row * f[i]
        raise_line_tops(line, low, high, top)
    return top


@kernel
def pairs_along(terms, values, factor, step, line, start, stop):
    """Fill the line of L_t: (sum_g a_g e^(t f v_g)) (sum_g b_g e^(-t f v_g))."""
    G = values.shape[0]
    top, a, b, e = np.zeros(3), np.empty((3, GROUPED_ROWS)), np.empty((3, GROUPED_ROWS)), np.empty(GROUPED_ROWS)
    for low in range(start, stop, GROUPED_ROWS):
        high = min(low + GROUPED_ROWS, stop)
        n, f = high - low, factor[low:high]
        a[:], b[:] = 0.0, 0.0
        for g in range(G):
            up, down, v = terms[g, low:high], terms[G + g, low:high], values[g]
            for i in range(n):  # only a row of weight 0 may go farther
                e[i] = exponential(min(max(step * v * f[i], -600.0), 600.0))
            for i in range(n):
                x, y = up[i] * e[i], down[i] / e[i]
                a[0, i] += x
                a[1, i] += x * v
                a[2, i] += x * v * v
                b[0, i] += y
                b[1, i] -= y * v
                b[2, i] += y * v * v
        for i in range(n):
            line[0, low + i] = a[0, i] * b[0, i]
            line[1, low + i] = f[i] * (a[1, i] * b[0, i] + a[0, i] * b[1, i])
            line[2, low + i] = f[i] * f[i] * (a[2, i] * b[0, i] + 2.0 * a[1, i] * b[1, i] + a[0, i] * b[2, i])
        raise_line_tops(line, low, high, top)
    return top


# -- Pairwise margins --------------------------------------------------------------------------------------------------
@kernel
def raise_to(top, values):
    """Compute top = max(top, values), elementwise."""
    for k in range(top.shape[0]):
        top[k] = values[k] if values[k] > top[k] else top[k]


@kernel
def gradient_along(gradient, vector, out, start, stop):
    """Compute out[i] = sum_k gradient[i, k] vector[k] of rows start..stop; returns the largest in size."""
    top = 0.0
    for i in range(start, stop):
        total = 0.0
        for k in range(vector.shape[0]):
            total += gradient[i, k] * vector[k]
        out[i] = total
        top = max(top, abs(total))
    return top


@part
def row_loss(c, s, y, w, less, value):
    """Fill `less` with min(z, 1 / z) and `value` with the terms of a row's loss, which is returned."""
    own, total = s[y], 0.0
    for k in range(s.shape[0]):
        less[k] = exponential(-abs(s[k] - own))
    for k in range(s.shape[0]):
        value[k] = w * c[k] * (log1p(less[k]) + (s[k] - own if s[k] > own else 0.0))
    value[y] = 0.0
    for k in range(s.shape[0]):
        total += value[k]
    return total


@kernel
def pairwise_gradients(cost, index, label, weight, scores, log_scale, gradient, hessian, value, start, stop):
    """Fill gradient_r = -w c_r u_r and hessian_r = w c_r u_r (1 - u_r), u_r = z_r / (1 + z_r) (Eq. 12).

    At y are the sums, the gradient's above 0; value[i] is the row's loss. All times e^-log_scale; rows start..stop. The
    Hessian may have no rows. Returns the column maxima of |gradient|, Hessian and value, which counts in column y.
    """
    D, every = scores.shape[1], np.int64(hessian.shape[0] > 0)
    top, terms, curved = np.zeros((3, D)), np.empty(D), hessian if every else np.empty((1, D))
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        y, w = label[i], weight[i] * scale
        c, s, g, h = cost[index[i]], scores[i], gradient[i], curved[i * every]
        own, total = s[y], row_loss(c, s, y, w, h, terms)
        for k in range(D):
            less = h[k]
            share = w * c[k] / (1.0 + less)
            g[k] = -share if s[k] >= own else -share * less
        g[y], push = 0.0, 0.0
        for k in range(D):
            push -= g[k]
            size = -g[k]
            top[0, k] = size if size > top[0, k] else top[0, k]
        g[y], value[i] = push, total
        top[0, y], top[2, y] = max(top[0, y], push), max(top[2, y], total)
        if every:
            for k in range(D):
                less = h[k]
                h[k] = w * c[k] / (1.0 + less) * less / (1.0 + less)
            h[y], curvature = 0.0, 0.0
            for k in range(D):
                curvature += h[k]
            h[y] = curvature
            raise_to(top[1], h)
    return top


@kernel
def pair_sums(hessian, label, response, in_bag, factor, start, stop):
    """Return sums over the bag's rows of w c_r z_r by class y, decision r and response, in fixed point, (2, D, D).

    Side 1 is f = +1. `hessian` is that of GEL: w c_r z_r, and their sum at y, which is left out.
    """
    D = hessian.shape[1]
    sums = np.zeros((2, D, D), dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            out, h = sums[1 if response[i] > 0 else 0, label[i]], hessian[i]
            for k in range(D):
                out[k] += np.int64(np.rint(h[k] * factor))
    for y in range(D):
        sums[0, y, y], sums[1, y, y] = 0, 0
    return sums


@kernel
def fill_odds(scores, label, odds, start, stop):
    """Compute odds[i, r] = z_r: the weights u^(t-1) of Eq. (14)."""
    for i in range(start, stop):
        s, o = scores[i], odds[i]
        own = s[label[i]]
        for k in range(scores.shape[1]):
            o[k] = exponential(s[k] - own)


@kernel
def pair_slopes(
    cost, index, label, weight, odds, response, in_bag, grown, log_scale, value_factor, factor, start, stop
):
    """Return value and slope in a vector a of Eq. (14): sum w c_r log(1 + z_r e^(f (a_r - a_y))), in fixed point.

    `grown` is e^(a_r - a_y) (2, D, D), of f = -1 its transpose first. Returns the value, then the D slopes; all times
    e^-log_scale.
    """
    D = odds.shape[1]
    sums, u, v = np.zeros(D + 1, dtype=np.int64), np.empty(D), np.empty(D)
    slope = sums[1:]
    scale = math.exp(-log_scale)
    for i in range(start, stop):
        if not in_bag[i]:
            continue
        y, w, c, o = label[i], weight[i] * scale, cost[index[i]], odds[i]
        g = grown[1 if response[i] > 0 else 0, y]
        for k in range(D):
            t = o[k] * g[k]
            v[k] = w * c[k] * log1p(t)
            u[k] = np.rint(w * c[k] * (t / (1.0 + t)) * factor)
        u[y], v[y] = 0.0, 0.0
        f = np.int64(response[i])
        value, own = 0.0, np.int64(0)
        for k in range(D):
            value += v[k]
        for k in range(D):
            whole = np.int64(u[k])
            slope[k] += f * whole
            own += whole
        slope[y] -= f * own
        sums[0] += np.int64(np.rint(value * value_factor))
    return sums
