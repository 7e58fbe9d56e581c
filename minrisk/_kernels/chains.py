"""Chains: one score to each separator of classes, with weights of its own that are normalised on their own.

scores, edge (n, G)    rates, share (T, G), of each line of the cost table    row (n,): a row's line
e = weight * share * exp(-rate * score - shift), at most weight * share; edge = sign(rate) * e
"""

import numpy as np

from minrisk._kernels._dtypes import TIE
from minrisk._kernels._exponential import exponential
from minrisk._kernels._jit import kernel


@kernel
def largest_exponents(rates, row, weight, share, scores, start, stop):
    """The largest -rate * score of each chain over the rows of some weight in it, (G,); -inf where there are none."""
    n_chains = scores.shape[1]
    top = np.full(n_chains, -np.inf)
    for i in range(start, stop):
        line = row[i]
        if weight[i] > 0.0:
            for q in range(n_chains):
                if share[line, q] > 0.0:
                    top[q] = max(top[q], -rates[line, q] * scores[i, q])
    return top


@kernel
def chain_edges(rates, row, weight, share, scores, shift, start, stop, edge):
    """Write the edges; returns the maxima of their absolute values, (G,)."""
    n_chains = scores.shape[1]
    top = np.zeros(n_chains)
    for i in range(start, stop):
        line, w = row[i], weight[i]
        for q in range(n_chains):
            e = w * share[line, q]
            if e > 0.0:
                e *= exponential(-rates[line, q] * scores[i, q] - shift[q])
            top[q] = max(top[q], e)
            edge[i, q] = e if rates[line, q] > 0.0 else -e
    return top


@kernel
def size_sums(edge, in_bag, factor, start, stop):
    """Sum of |edge| over the bag's rows, in fixed point, (G,)."""
    n_chains = edge.shape[1]
    total = np.zeros(n_chains, dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            for q in range(n_chains):
                total[q] += np.int64(np.rint(abs(edge[i, q]) * factor[q]))
    return total


@kernel
def side_errors(edge, chain, response, in_bag, factor, start, stop):
    """Of a chain: sums of |edge| over the bag's rows inside the set and outside, and of those answered wrongly, (2, 2).

    Inside are the rows of positive edges, where the right answer is above 0.
    """
    sums = np.zeros((2, 2), dtype=np.int64)
    for i in range(start, stop):
        if in_bag[i]:
            e = np.int64(np.rint(abs(edge[i, chain]) * factor))
            outside = 0 if edge[i, chain] > 0.0 else 1
            sums[outside, 0] += e
            if (response[i] > 0.0) == (outside == 1):
                sums[outside, 1] += e
    return sums


@kernel
def take_chain(edge, chain, in_bag, start, stop, push, pull):
    """push = edge and pull = |edge| of one chain, 0 out of the bag."""
    for i in range(start, stop):
        e = edge[i, chain] if in_bag[i] else 0.0
        push[i, 0], pull[i, 0] = e, abs(e)


@kernel
def add_to_chain(scores, chain, response, step, start, stop):
    """scores[:, chain] += response * step."""
    for i in range(start, stop):
        scores[i, chain] += response[i] * step


@kernel
def scan_chains(histogram, features, n_bins, total, edge, bin_):
    """The split of each feature that parts each chain best: the largest |total - 2 left|, the lowest bin of equals.

    edge, bin_ (n_features, G): -1 and 0 where a feature has one bin.
    """
    n_chains = histogram.shape[2]
    left = np.empty(n_chains, dtype=np.int64)
    for c in range(features.shape[0]):
        for q in range(n_chains):
            left[q], edge[c, q], bin_[c, q] = 0, -1, 0
        for b in range(n_bins[features[c]] - 1):
            for q in range(n_chains):
                left[q] += histogram[c, b, q]
                size = abs(total[q] - 2 * left[q])
                if size > edge[c, q] * (1.0 + TIE):
                    edge[c, q], bin_[c, q] = size, b
