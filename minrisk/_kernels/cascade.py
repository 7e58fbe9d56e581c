"""Decisions before the last tree: how far remaining trees can still move scores, and which rows that leaves open."""

import math

import numpy as np

from minrisk._kernels._jit import kernel
from minrisk._kernels.coded_trees import add_to_few

CERTAIN = 1e-9  # of log-odds and of costs, relatively: rounding decides nothing
OPEN = 10.0  # log-odds that a class may still reach against the likeliest, beyond which no look at costs would pay
MOST_LEAD, LEAD_HALVINGS = 32.0, 10  # log-odds, and steps that find them to a thirty-second
NO_LEAD = 0.0


@kernel
def rises_of_trees(nodes, shift, roots, vector, vectors, n_scores, ends, rises):
    """rises[s, m, k] = the most by which trees ends[s].. can raise score k against score m, in whole numbers.

    Parameters
    ----------
    nodes, shift, roots, vector, vectors
        Of `minrisk._kernels.coded_trees`.
    n_scores : int
        Entries of a vector that are scores; those behind them are 0.
    ends : ndarray of shape (S,)
        Ascending numbers of trees.
    rises : ndarray of int64, of shape (S, n_scores, n_scores), written
    """
    width = vectors.shape[1]
    most, total = np.empty((n_scores, width), dtype=np.int32), np.zeros((n_scores, n_scores), dtype=np.int64)
    stage = ends.shape[0] - 1
    for t in range(roots.shape[0] - 2, -2, -1):
        while stage >= 0 and ends[stage] == t + 1:
            for m in range(n_scores):
                for k in range(n_scores):
                    rises[stage, m, k] = total[m, k]
            stage -= 1
        if stage < 0:
            break
        for m in range(n_scores):
            for k in range(width):
                most[m, k] = -(1 << 17)  # below all differences of 16 bits
        for place in range(roots[t + 1] - roots[t]):
            if nodes[roots[t] + place] >> shift == place:
                v = vectors[vector[roots[t] + place]]
                for m in range(n_scores):
                    own, row = np.int32(v[m]), most[m]
                    for k in range(width):
                        row[k] = max(row[k], np.int32(v[k]) - own)
        for m in range(n_scores):
            for k in range(n_scores):
                total[m, k] += most[m, k]


@kernel
def certain(score, scale, costs, plain, rise, lead, odds):
    """The decision that scores (K,) will lead to, whatever remains; -1 where that is open.

    Score k can rise against score m by rise[m, k] at most, or by lead / scale where that is less. `plain`: the largest
    score decides. Otherwise p_k is in proportion to exp(scale h_k), and the least of sum_k p_k costs[k, d] decides: d
    is certain if for all others j the sum of p_k (costs[k, j] - costs[k, d]) is positive where each p_k is as low, or
    as high, as it may become. Of decisions that cost the same whatever is true d is the first, and no other of them
    stands in its way. `odds` (3, K) is room.
    """
    K, m = score.shape[0], 0
    for k in range(1, K):
        if score[k] > score[m]:
            m = k
    enough = lead / scale
    if plain:
        for k in range(K):
            if k != m and not score[m] - score[k] > min(rise[m, k], enough) + CERTAIN / scale:
                return -1
        return m
    for k in range(K):
        if k != m and scale * (score[k] - score[m] + min(rise[m, k], enough)) > OPEN:
            return -1
    D, d, least = costs.shape[1], 0, np.inf
    for k in range(K):
        difference = score[k] - score[m]
        odds[0, k] = math.exp(scale * (difference - min(rise[k, m], enough)))
        odds[1, k] = math.exp(scale * (difference + min(rise[m, k], enough)))
        odds[2, k] = math.exp(scale * difference)
    odds[0, m] = odds[1, m] = 1.0
    for j in range(D):
        cost = 0.0
        for k in range(K):
            cost += odds[2, k] * costs[k, j]
        if cost < least:
            d, least = j, cost
    for j in range(D):
        if j == d:
            continue
        saved, size, differs = 0.0, 0.0, False
        for k in range(K):
            more = costs[k, j] - costs[k, d]
            if more != 0.0:
                differs = True
                part = more * odds[0 if more > 0.0 else 1, k]
                saved += part
                size += abs(part)
        if differs and not saved > CERTAIN * size:
            return -1
    return d


@kernel
def decide_rows(sums, unit, start, scale, costs, plain, rise, lead, decision):
    """decision[i] = what is `certain` of the scores start[i] + unit * sums[i]."""
    K = start.shape[1]
    score, odds = np.empty(K), np.empty((3, K))
    for i in range(start.shape[0]):
        for k in range(K):
            score[k] = start[i, k] + unit * sums[i, k]
        decision[i] = certain(score, scale, costs, plain, rise, lead, odds)


@kernel
def needed_leads(scores, scale, costs, plain, decision, needed):
    """decision[i] by scores alone, and needed[i] = the largest lead with which it is `certain`, in log-odds.

    Where costs differ that is looked for up to `MOST_LEAD`, by `LEAD_HALVINGS` halvings, and rounded up: no more rows
    are decided than it says. Of ties, which are never certain, it is -infinity.
    """
    n, K = scores.shape
    odds, rise = np.empty((3, K)), np.full((K, K), np.inf)
    for i in range(n):
        decision[i] = certain(scores[i], scale, costs, plain, rise, NO_LEAD, odds)
        low, high = 0.0, MOST_LEAD
        if decision[i] < 0:  # a tie
            decision[i], needed[i] = 0, -np.inf
            continue
        if plain:
            second = np.inf
            for k in range(K):
                if k != decision[i]:
                    second = min(second, scale * (scores[i, decision[i]] - scores[i, k]))
            needed[i] = second
            continue
        for _ in range(LEAD_HALVINGS):
            middle = 0.5 * (low + high)
            if certain(scores[i], scale, costs, plain, rise, middle, odds) >= 0:
                low = middle
            else:
                high = middle
        needed[i] = high


@kernel
def decide_few(
    codes, nodes, shift, roots, vector, vectors, ends, unit, scores, scale, costs, plain, rises, leads, decision
):
    """decision[i] of few rows stage by stage, -1 where it takes all trees; then scores[i] are complete."""
    K, n_trees = scores.shape[1], roots.shape[0] - 1
    score, odds = np.empty(K), np.empty((3, K))
    sums = np.zeros((1, vectors.shape[1]), dtype=np.int32)
    for i in range(codes.shape[0]):
        for k in range(vectors.shape[1]):
            sums[0, k] = 0
        first, decision[i] = 0, -1
        for s in range(ends.shape[0]):
            add_to_few(codes[i : i + 1], nodes, shift, roots, vector, vectors, first, ends[s], sums)
            first = ends[s]
            for k in range(K):
                score[k] = scores[i, k] + unit * sums[0, k]
            decision[i] = certain(score, scale, costs, plain, rises[s], leads[s], odds)
            if decision[i] >= 0:
                break
        if decision[i] < 0:
            add_to_few(codes[i : i + 1], nodes, shift, roots, vector, vectors, first, n_trees, sums)
            for k in range(K):
                scores[i, k] += unit * sums[0, k]
