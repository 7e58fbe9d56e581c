"""The best stump: the threshold of each feature by its histogram, or bounds where there is no closed form.

The best threshold of each feature is found from its histogram. Near ties (`TIE`) go to the lowest bin.

A split after bin b sends bins 0..b to f = -1 and the rest to f = +1, so E = total - 2 * (sum over bins 0..b): the edge
of the stump, the sum over rows of f times the gradient, in an output. M is the sum of the Hessian there, over all rows.

How much a stump with a free vector takes from the coupled logistic loss: bounds from few sums over the rows.

In one output, for a stump f in {-1, +1}, h(a) = V(0) - V(a) with V(a) the sum over the rows of l(h_n + f_n a), where
l(h) = c+ F(h) + c- F(-h) and F(x) = log2(1 + e^x). Write p = sigmoid(h_n), q = 1 - p, m = w (c+ + c-) p q / ln 2 = l'':

    l''' = m (1 - 2p)             l^(4) = m (1 - 6pq)
    l^(5) = m (1 - 2p) (1 - 12pq)      l^(6) = m (1 - 30pq + 120 (pq)^2)

Odd derivatives come with f, so that each stump has sums E, T, P of -l', l''', l^(5) of its own; the sums M, Q, S of
l'', l^(4), l^(6) are those of all rows. None of these derivatives exceeds m, the seventh SEVENTH m. Hence

1. |l'''| <= l'', so l'' changes by a factor of e^|a| at most within a, and h is concave with
   h(a) <= h(b) + c psi(g / c) for all a, where g = |h'(b)|, c = -h''(b) > g and
   psi(r) = r + (1 - r) ln(1 - r) <= r^2 / 2 + r^3 / 6 / (1 - r). At b = 0 that is M psi(|E| / M), and h reaches
   M (r^2 / 2 - r^3 / 6), r = |E| / M.
2. h is its series of the sixth degree to within SEVENTH M (e^a - 1 - ... - a^6 / 720), and so are h' and h''.
"""

import math

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._kernels._exponential import exponential, log1p
from minrisk._kernels._jit import kernel, part
from minrisk._kernels.losses import LN2, split

EXPONENTIAL_GAIN = 0  # drop = T - sqrt(T^2 - E^2), exact for the separable exponential
QUADRATIC_GAIN = 1  # drop = E^2 / (2 M), exact for the squared loss, the Newton decrement else
SIDES_GAIN = 2  # exponential with a vector for either side: the sum over sides of T - sqrt(T^2 - E^2)
LARGEST_EDGE_GAIN = 3  # drop = max_k |E_k|: the most violated constraint of a dual
ABSOLUTE_EDGE_GAIN = 4  # drop = sum_k |E_k|: the slope along the best vector of -1 and +1


@kernel
def scan_edges(histogram, features, n_bins, total, ratio, hessian, gain, best_drop, best_bin):
    """Find the best split of each feature for a free vector.

    ratio[k] turns a fixed-point edge into r = E_k / M_k, M = `hessian`; the drop of output k is
    M_k * r^2 / (1 + sqrt(1 - r^2)) (no cancellation for small r) or M_k * r^2 / 2. For ABSOLUTE_EDGE_GAIN ratio gives
    E_k, and the drop is |E_k|. Features with a single bin keep best_bin = -1.
    """
    n_outputs = histogram.shape[2]
    left = np.empty(n_outputs, dtype=np.int64)
    for c in range(features.shape[0]):
        best = 0.0
        where = -1
        for k in range(n_outputs):
            left[k] = 0
        for b in range(n_bins[features[c]] - 1):
            drop = 0.0
            for k in range(n_outputs):
                left[k] += histogram[c, b, k]
                r = (total[k] - 2 * left[k]) * ratio[k]
                r2 = r * r
                if gain == EXPONENTIAL_GAIN:
                    drop += hessian[k] * r2 / (1.0 + np.sqrt(max(1.0 - r2, 0.0)))
                elif gain == ABSOLUTE_EDGE_GAIN:
                    drop += abs(r)
                else:
                    drop += 0.5 * hessian[k] * r2
            if drop > best * (1.0 + TIE):
                best = drop
                where = b
        best_drop[c] = best
        best_bin[c] = where


@kernel
def scan_largest(histogram, features, n_bins, total, scale, barred, best_drop, best_bin):
    """Find the best split of each feature for LARGEST_EDGE_GAIN: |E_k| is the fixed-point edge times scale[k].

    First the largest of each output over the bins, in whole numbers; then the bin, of features that are not behind an
    earlier one (those that are, or have a single bin, keep best_bin = -1). Splits whose entry of barred (d, MAX_BINS)
    is set are passed over; without rows it bars none.
    """
    n_outputs = histogram.shape[2]
    edge = np.empty(n_outputs, dtype=np.int64)
    top = np.empty(n_outputs, dtype=np.int64)
    ahead = 0.0
    for c in range(features.shape[0]):
        last = n_bins[features[c]] - 1
        for k in range(n_outputs):
            edge[k] = total[k]
            top[k] = 0
        for b in range(last):
            for k in range(n_outputs):
                edge[k] -= 2 * histogram[c, b, k]
            if len(barred) and barred[features[c], b]:
                continue
            for k in range(n_outputs):
                top[k] = max(top[k], abs(edge[k]))
        best = 0.0
        for k in range(n_outputs):
            best = max(best, top[k] * scale[k])
        best_drop[c] = best
        best_bin[c] = -1
        if best == 0.0 or best < ahead * (1.0 - TIE):
            continue
        ahead = max(ahead, best)
        for k in range(n_outputs):
            edge[k] = total[k]
        for b in range(last):
            drop = 0.0
            for k in range(n_outputs):
                edge[k] -= 2 * histogram[c, b, k]
                drop = max(drop, abs(edge[k]) * scale[k])
            if drop >= best * (1.0 - TIE) and not (len(barred) and barred[features[c], b]):
                best_bin[c] = b
                break


@kernel
def side_bounds(X_binned, response):
    """Find for each feature the highest bin of the rows on either side, and minus the lowest, (d, 2, 2).

    -1 and -256 where there are none.
    """
    n_features, n_samples = X_binned.shape
    bounds = np.empty((n_features, 2, 2), dtype=np.int64)
    for j in range(n_features):
        high, low = np.full(2, -1), np.full(2, 256)
        for i in range(n_samples):
            side, b = int(response[i] > 0), X_binned[j, i]
            low[side] = min(low[side], b)
            high[side] = max(high[side], b)
        for side in range(2):
            bounds[j, side, 0], bounds[j, side, 1] = high[side], -low[side]
    return bounds


@kernel
def bar_between(bounds, barred):
    """Set the entries of barred (d, MAX_BINS) of splits that answer in all rows as the response of these bounds does.

    Or the opposite. The bounds are those of `side_bounds`.
    """
    for j in range(bounds.shape[0]):
        for side in range(2):
            high, other_high, other_low = bounds[j, side, 0], bounds[j, 1 - side, 0], -bounds[j, 1 - side, 1]
            if high >= 0 and high < other_low and other_high >= 0:
                barred[j, high:other_low] = True


@part
def side_drop(gradient, hessian):
    """Return T - sqrt(T^2 - E^2) without cancellation: what the best constant takes away on one side."""
    if hessian <= 0.0:
        return 0.0
    return gradient * gradient / (hessian + np.sqrt(max(hessian * hessian - gradient * gradient, 0.0)))


@kernel
def scan_sides(histogram, features, n_bins, total, scale, best_drop, best_bin):
    """Find the best split of each feature when either side has its own vector (exponential).

    Columns are D gradients, then D Hessians; scale turns them into numbers. The drop is the sum over sides and outputs
    of T - sqrt(T^2 - E^2).
    """
    n_outputs = histogram.shape[2] // 2
    left = np.empty(2 * n_outputs, dtype=np.int64)
    for c in range(features.shape[0]):
        best = 0.0
        where = -1
        for k in range(2 * n_outputs):
            left[k] = 0
        for b in range(n_bins[features[c]] - 1):
            drop = 0.0
            for k in range(2 * n_outputs):
                left[k] += histogram[c, b, k]
            for k in range(n_outputs):
                m = n_outputs + k
                drop += side_drop(left[k] * scale[k], left[m] * scale[m])
                drop += side_drop((total[k] - left[k]) * scale[k], (total[m] - left[m]) * scale[m])
            if drop > best * (1.0 + TIE):
                best = drop
                where = b
        best_drop[c] = best
        best_bin[c] = where


@kernel
def scan_leaves(histogram, features, n_bins, total, margin, score, bin_, sign):
    """Find the best split of each leaf by each feature: the largest |total - 2 left|.

    A later bin must beat it by `margin`. score, bin_, sign (n_features, n_leaves): sign is f above the threshold. A
    feature with one bin keeps score -1.
    """
    n_leaves = histogram.shape[1]
    for c in range(features.shape[0]):
        for node in range(n_leaves):
            left = np.int64(0)
            score[c, node] = -1
            for b in range(n_bins[features[c]] - 1):
                left += histogram[c, node, b]
                value = total[node] - 2 * left
                if score[c, node] < 0 or abs(value) > score[c, node] + margin:
                    score[c, node] = abs(value)
                    bin_[c, node] = b
                    sign[c, node] = 1 if value >= 0 else -1


@kernel
def stored_side_bounds(stored, response):
    """Return `side_bounds` of stored entries."""
    n_features, n_above = stored.default.shape[0], 0
    for i in range(response.shape[0]):
        n_above += int(response[i] > 0)
    bounds, elsewhere = np.empty((n_features, 2, 2), dtype=np.int64), np.empty(2, dtype=np.int64)
    for j in range(n_features):
        high, low = np.full(2, -1), np.full(2, 256)
        elsewhere[0], elsewhere[1] = response.shape[0] - n_above, n_above
        for p in range(stored.offsets[j], stored.offsets[j + 1]):
            side, b = int(response[stored.rows[p]] > 0), np.int64(stored.bins[p])
            elsewhere[side] -= 1
            low[side] = min(low[side], b)
            high[side] = max(high[side], b)
        b = np.int64(stored.default[j])
        for side in range(2):
            if elsewhere[side] > 0:
                low[side] = min(low[side], b)
                high[side] = max(high[side], b)
            bounds[j, side, 0], bounds[j, side, 1] = high[side], -low[side]
    return bounds


# -- Bounds of the logistic loss ---------------------------------------------------------------------------------------
SEVENTH = 1.815  # the largest |sigmoid^(6)| / sigmoid', at p q = 0.222: 1.81496
FARTHEST_SERIES = 3.0  # a up to which the series is asked for: beyond 2.5 it tells nothing any more
STUMP_ROWS = 128  # rows whose exponentials are taken in one loop
SERIES_STEPS = 8  # Newton's, to the largest value of the series: any a gives bounds, the best one tight ones
NEAR_ENOUGH = 1e-6  # to the best step: what is missed is the square of it
LEAST_CURVATURE = 0.1  # of the series in these steps, as a share of M
NEAR_ONE = 0.3  # r from which on the bound of psi is more than 1 % too high
SMALL_RATIO = 2.0  # |E| / M above counts as this: r^2 / 2 - r^3 / 6 rises up to here


@part
def psi(r):
    """Return r + (1 - r) ln(1 - r) for r < 1, or a bound of it that takes no logarithm."""
    if r > NEAR_ONE:
        return r + (1.0 - r) * math.log(1.0 - r)
    return r * r * (0.5 + r / (6.0 * (1.0 - r)))


@part
def simple_bounds(edge, hessian, value):
    """Bound what a stump takes away in an output by its |E| and M alone: at least, and at most what is there."""
    if hessian <= 0.0 or edge == 0.0:
        return 0.0, 0.0
    r = edge / hessian
    s = min(r, SMALL_RATIO)
    low = hessian * s * s * (0.5 - s / 6.0)
    return low, min(hessian * psi(r), value) if r < 1.0 else value


@kernel
def scan_simple_bounds(histogram, features, n_bins, total, unit, hessian, value, low, high, where):
    """Bound the most that a stump of each feature takes away: at least (and at which bin), and at most."""
    n_outputs = histogram.shape[2]
    left = np.empty(n_outputs, dtype=np.int64)
    for c in range(features.shape[0]):
        low[c] = 0.0
        high[c] = 0.0
        where[c] = 0
        for k in range(n_outputs):
            left[k] = 0
        for b in range(n_bins[features[c]] - 1):
            least, most = 0.0, 0.0
            for k in range(n_outputs):
                left[k] += histogram[c, b, k]
                one, other = simple_bounds(abs(total[k] - 2 * left[k]) * unit[k], hessian[k], value[k])
                least += one
                most += other
            if least > low[c]:
                low[c] = least
                where[c] = b
            high[c] = max(high[c], most)


@kernel
def series_bounds(edge, third, fifth, hessian, fourth, sixth, value):
    """Return a step, and what it and the best step take away in an output, at least and at most; edge >= 0."""
    low, high = simple_bounds(edge, hessian, value)
    if high == 0.0:
        return 0.0, 0.0, 0.0
    r, t, q, p, s = edge / hessian, third / hessian, fourth / hessian, fifth / hessian, sixth / hessian
    a = min(r, 1.0)
    slope, curvature = 0.0, 0.0
    for step in range(SERIES_STEPS + 1):
        slope = r - a * (1.0 + a * (t / 2.0 + a * (q / 6.0 + a * (p / 24.0 + a * s / 120.0))))
        curvature = 1.0 + a * (t + a * (q / 2.0 + a * (p / 6.0 + a * s / 24.0)))
        change = slope / max(curvature, LEAST_CURVATURE)
        if step == SERIES_STEPS or abs(change) < NEAR_ENOUGH:
            break
        a = min(max(a + change, 0.0), FARTHEST_SERIES)
    fall = a * (r - a * (0.5 + a * (t / 6.0 + a * (q / 24.0 + a * (p / 120.0 + a * s / 720.0)))))
    fifth_power = SEVENTH * a * a * a * a * a / 120.0  # rests of e^a's series, each by a geometric one
    rest = fifth_power * a * a / 42.0 / (1.0 - a / 8.0)
    least_curvature = curvature - fifth_power / (1.0 - a / 6.0)
    steepest = abs(slope) + fifth_power * a / 6.0 / (1.0 - a / 7.0)
    if steepest < least_curvature:
        high = min(high, hessian * (fall + rest + least_curvature * psi(steepest / least_curvature)))
    return a, max(low, hessian * (fall - rest)), high


@kernel
def scan_series(histogram, features, n_bins, total, unit, hessian, even, value, ahead, low, high, detail):
    """Bound what each stump takes away, (f, MAX_BINS) each; 0 where `simple_bounds` say less than `ahead`.

    Columns of the histogram are the D gradients, then as many third and fifth derivatives; `even` (2, D) are Q and S.
    With room in `detail` (f, MAX_BINS, 3, D) it gets step, least and most of each output.
    """
    n_outputs = hessian.shape[0]
    left = np.empty(3 * n_outputs, dtype=np.int64)
    for c in range(features.shape[0]):
        for k in range(3 * n_outputs):
            left[k] = 0
        for b in range(n_bins[features[c]] - 1):
            most = 0.0
            for k in range(3 * n_outputs):
                left[k] += histogram[c, b, k]
            for k in range(n_outputs):
                most += simple_bounds(abs(total[k] - 2 * left[k]) * unit[k], hessian[k], value[k])[1]
            low[c, b] = 0.0
            high[c, b] = 0.0
            if most < ahead:
                continue
            for k in range(n_outputs):
                edge = (total[k] - 2 * left[k]) * unit[k]
                m, o = n_outputs + k, 2 * n_outputs + k
                third, fifth = (total[m] - 2 * left[m]) * unit[m], (total[o] - 2 * left[o]) * unit[o]
                sign = -1.0 if edge < 0.0 else 1.0
                step, least, largest = series_bounds(
                    sign * edge, sign * third, sign * fifth, hessian[k], even[0, k], even[1, k], value[k]
                )
                low[c, b] += least
                high[c, b] += largest
                if len(detail):
                    detail[c, b, 0, k] = sign * step
                    detail[c, b, 1, k] = least
                    detail[c, b, 2, k] = largest


@kernel
def series_columns(
    cost, beta, phi, index, weight, scores, gradient, in_bag, gradient_factor, factor, even_factor, fixed, start, stop
):
    """Compute fixed[i] = -l', l''' and l^(5) of the bag's rows start..stop, in fixed point; out of the bag 0.

    Returns the sums of these 3 D columns, and of l^(4) and l^(6), (5 D,).
    """
    n_outputs = scores.shape[1]
    sums = np.zeros(5 * n_outputs, dtype=np.int64)
    for i in range(start, stop):
        if not in_bag[i]:
            for k in range(3 * n_outputs):
                fixed[i, k] = 0
            continue
        row = index[i]
        w = weight[i] / LN2
        for k in range(n_outputs):
            plus, minus = split(cost[row, k], beta[row], phi[row])
            e = math.exp(-abs(scores[i, k]))
            skew = (1.0 - e) / (1.0 + e)  # |1 - 2 p|
            pq = e / (1.0 + e) / (1.0 + e)
            m = w * (plus + minus) * pq
            odd = -m * skew if scores[i, k] > 0.0 else m * skew
            first = np.rint(gradient[i, k] * gradient_factor[k])
            third, fifth = np.rint(odd * factor[k]), np.rint(odd * (1.0 - 12.0 * pq) * factor[k])
            fixed[i, k] = first
            fixed[i, n_outputs + k] = third
            fixed[i, 2 * n_outputs + k] = fifth
            sums[k] += np.int64(first)
            sums[n_outputs + k] += np.int64(third)
            sums[2 * n_outputs + k] += np.int64(fifth)
            sums[3 * n_outputs + k] += np.int64(np.rint(m * (1.0 - 6.0 * pq) * even_factor[k]))
            sums[4 * n_outputs + k] += np.int64(np.rint(m * (1.0 - pq * (30.0 - 120.0 * pq)) * even_factor[k]))
    return sums


@kernel
def stump_sums(
    cost, beta, phi, index, weight, scores, X_binned, in_bag, feature, bin_, output, step, factors, start, stop
):
    """Return value, slope and curvature in an output's step of V along stumps, (3, P), in fixed point, of the bag."""
    sums = np.zeros((3, feature.shape[0]), dtype=np.int64)
    side, h, plus, minus = np.empty((4, STUMP_ROWS))
    for c in range(feature.shape[0]):
        x, b, k, a = X_binned[feature[c]], bin_[c], output[c], step[c]
        value_factor, slope_factor, curvature_factor = factors[0, c], factors[1, c], factors[2, c]
        for first in range(start, stop, STUMP_ROWS):
            n = min(STUMP_ROWS, stop - first)
            for i in range(n):
                row = index[first + i]
                up, down = split(cost[row, k], beta[row], phi[row])
                w = weight[first + i] if in_bag[first + i] else 0.0
                plus[i], minus[i] = w * up, w * down
                side[i] = 1.0 if x[first + i] > b else -1.0
                h[i] = scores[first + i, k] + side[i] * a
            value, slope, curvature = np.int64(0), np.int64(0), np.int64(0)
            for i in range(n):
                e = exponential(-abs(h[i]))
                more, less = 1.0 / (1.0 + e), e / (1.0 + e)
                rest = log1p(e)
                p, q = (more, less) if h[i] >= 0.0 else (less, more)
                both = plus[i] + minus[i]
                high = plus[i] if h[i] >= 0.0 else minus[i]
                value += np.int64(np.rint((both * rest + high * abs(h[i])) / LN2 * value_factor))
                slope += np.int64(np.rint(side[i] * (plus[i] * p - minus[i] * q) / LN2 * slope_factor))
                curvature += np.int64(np.rint(both * p * q / LN2 * curvature_factor))
            sums[0, c] += value
            sums[1, c] += slope
            sums[2, c] += curvature
    return sums
