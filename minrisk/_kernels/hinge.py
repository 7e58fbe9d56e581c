"""Row loops of the structured hinge loss: w max_k (c_k + S_k - S_y), c_y counted as 0, and of its cutting planes.

y = `label`, c = row `index` of `cost`, w = `weight`, S = `scores`. The decision of the maximum is the row's *choice*;
of several the first one, the class itself before others. In a plane a row has edge w at y and -w at its choice, which
is minus the slope of w (c_choice + S_choice - S_y).
"""

import numpy as np

from minrisk._kernels._jit import kernel, part


@part
def chosen(cost, scores, y):
    """The decision that a row's margin fails most at, and by how much."""
    choice, most, own = y, 0.0, scores[y]
    for k in range(scores.shape[0]):
        lack = cost[k] + (scores[k] - own)
        if k != y and lack > most:
            choice, most = k, lack
    return choice, most


@part
def fill_plane(cost, scores, y, w, e, top):
    """The row's edge, and its column maxima; returns the row's loss."""
    choice, most = chosen(cost, scores, y)
    for k in range(scores.shape[0]):
        e[k] = 0.0
    if choice != y:
        e[y], e[choice] = w, -w
        top[y], top[choice] = max(top[y], w), max(top[choice], w)
    return w * most


@kernel
def hinge_edges(cost, index, label, weight, scores, start, stop, edge, value):
    """Edge, and value[i], the row's loss, of rows start..stop.

    Returns the column maxima of |edge|, and of the value, which counts in column y, (2, D).
    """
    top = np.zeros((2, scores.shape[1]))
    for i in range(start, stop):
        y = label[i]
        value[i] = fill_plane(cost[index[i]], scores[i], y, weight[i], edge[i], top[0])
        top[1, y] = max(top[1, y], value[i])
    return top


@kernel
def hinge_gradients(cost, index, label, weight, scores, start, stop, edge, mass):
    """The same with no value, and no mass, since there is no curvature; returns maxima with mass in between, (3, D)."""
    top = np.zeros((3, scores.shape[1]))
    for i in range(start, stop):
        y = label[i]
        for k in range(scores.shape[1]):
            mass[i, k] = 0.0
        value = fill_plane(cost[index[i]], scores[i], y, weight[i], edge[i], top[0])
        top[2, y] = max(top[2, y], value)
    return top


@kernel
def hinge_values(cost, index, label, weight, scores, in_bag, factor, start, stop):
    """Sum over the bag's rows of each class of their loss, in fixed point, (D,)."""
    sums = np.zeros(scores.shape[1], dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            y = label[i]
            sums[y] += np.int64(np.rint(weight[i] * chosen(cost[index[i]], scores[i], y)[1] * factor[y]))
    return sums


@kernel
def read_choices(edge, label, start, stop, choices):
    """choices[i] = the decision with an edge below 0, the class where there is none."""
    for i in range(start, stop):
        choices[i] = label[i]
        for k in range(edge.shape[1]):
            if edge[i, k] < 0.0:
                choices[i] = k


@kernel
def weigh_choices(choices, shares, label, weight, start, stop, edge):
    """edge = the planes' edges times their shares, added up; choices (P, n). Returns the column maxima of |edge|."""
    top = np.zeros(edge.shape[1])
    for i in range(start, stop):
        y, e = label[i], edge[i]
        for k in range(edge.shape[1]):
            e[k] = 0.0
        for p in range(shares.shape[0]):
            e[choices[p, i]] -= weight[i] * shares[p]
            e[y] += weight[i] * shares[p]
        for k in range(edge.shape[1]):
            top[k] = max(top[k], abs(e[k]))
    return top


@kernel
def sum_choices(choices, label, weight, response, in_bag, factor, n_outputs, start, stop):
    """Sums over the bag's rows of response * edge in each plane, in fixed point, (P, D)."""
    sums = np.zeros((choices.shape[0], n_outputs), dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            whole = np.int64(response[i]) * np.int64(np.rint(weight[i] * factor))
            for p in range(choices.shape[0]):
                sums[p, label[i]] += whole
                sums[p, choices[p, i]] -= whole
    return sums
