"""Minimal variance sampling of rows (Ibragimov and Gusev, "Minimal Variance Sampling in Stochastic Gradient Boosting",
NeurIPS 2019): a few rows whose weighted sums stand for everybody's.
"""

import numpy as np

from minrisk._kernels import fixed
from minrisk._kernels._jit import kernel, part
from minrisk._kernels.fixed import project_row

LEAST_SIZE = 1e-3  # of the mean size, added to each row's: every row may be drawn
MOST_PASSES = 50  # over the sizes: the level falls with each, and hardly any more after a few
SHARE_ROUNDING = 1e-9  # rows: by how much the running sum of shares may miss a whole number that it reaches exactly


@part
def level_of(size, n_drawn):
    """Level of sum_i min(1, size_i / level) = n_drawn, reached from above: more rows are sure to be drawn each time."""
    level = 0.0
    for i in range(size.shape[0]):
        level += size[i]
    level /= n_drawn
    for _ in range(MOST_PASSES):
        rest, sure = 0.0, 0
        for i in range(size.shape[0]):
            if size[i] >= level:
                sure += 1
            else:
                rest += size[i]
        if sure >= n_drawn or not rest / (n_drawn - sure) < level:
            break
        level = rest / (n_drawn - sure)
    return level


@part
def draw_sizes(size, order, n_least, n_most, offset, drawn):
    """Draw some of the rows in `order` (ascending) by the squares of their sizes; returns how many.

    `drawn` becomes their rows, and the first entries of `size` the probabilities with which they came.
    """
    n, total, squares = order.shape[0], 0.0, 0.0
    for i in range(n):
        square = size[order[i]]
        size[i] = np.sqrt(square)  # i <= order[i]: what is overwritten has been read
        total += size[i]
        squares += square
    effective = int(total * total / squares) if squares > 0.0 else 0
    floor = LEAST_SIZE * total / n if total > 0.0 else 1.0
    for i in range(n):
        size[i] += floor
    level = level_of(size[:n], max(n_least, min(effective, n_most)))
    reached, m = offset, 0
    for i in range(n):
        share = min(1.0, size[i] / level)
        reached += share
        if reached < 1.0 - SHARE_ROUNDING:
            continue
        reached -= 1.0
        drawn[m], size[m] = order[i], share
        m += 1
    return m


@kernel
def draw_rows(sketch, order, n_least, n_most, offset, drawn):
    """Draw some of the rows in `order` (ascending) into `drawn`; returns how many, and their sketch's column maxima.

    A row's size s is the length of its edges in the sketch. About (sum s)^2 / sum s^2 rows are drawn, as many as would
    weigh as much if all were of one size, but at most `n_most`, and `n_least` at least. Each comes with probability
    p = min(1, s / level); the first rows of `sketch` become theirs, divided by p, so that sums over them
    are those over all rows in expectation. Rows are taken where the running sum of p, begun at `offset` in [0, 1),
    passes whole numbers (systematic sampling). The last column is the mass, of positive values.
    """
    q = sketch.shape[1] - 1
    size = np.empty(sketch.shape[0])
    for i in range(order.shape[0]):
        square = 0.0
        for c in range(q):
            square += sketch[order[i], c] ** 2
        size[order[i]] = square
    m, top = draw_sizes(size, order, n_least, n_most, offset, drawn), np.zeros(q + 1)
    for i in range(m):
        for c in range(q + 1):
            sketch[i, c] = sketch[drawn[i], c] / size[i]  # i <= drawn[i]: what is overwritten has been read
            top[c] = max(top[c], abs(sketch[i, c]))
    return m, top


@kernel(uses=(fixed,))
def squared_sizes(edge, mass, directions, weight, start, stop, size):
    """size[i] = squared length of a row's edges in the sketch of `project`."""
    q = directions.shape[0]
    row = np.empty(q + 1)
    for i in range(start, stop):
        project_row(edge[i], mass[i], directions, weight, row)
        square = 0.0
        for c in range(q):
            square += row[c] ** 2
        size[i] = square


@kernel(uses=(fixed,))
def draw_projected(edge, mass, directions, weight, size, order, n_least, n_most, offset, drawn, sketch):
    """`draw_rows` without a sketch of all rows: `size` has their squared sizes, `sketch` becomes that of the drawn."""
    q = directions.shape[0]
    m, top, row = draw_sizes(size, order, n_least, n_most, offset, drawn), np.zeros(q + 1), np.empty(q + 1)
    for i in range(m):
        project_row(edge[drawn[i]], mass[drawn[i]], directions, weight, row)
        for c in range(q + 1):
            sketch[i, c] = row[c] / size[i]
            top[c] = max(top[c], abs(sketch[i, c]))
    return m, top


@kernel
def pack_rows(X_binned, features, rows, out):
    """out[f] = bins of the rows in each of these features."""
    for f in features:
        for i in range(rows.shape[0]):
            out[f, i] = X_binned[f, rows[i]]


@kernel
def order_by_leaf(rows, leaf, order, start, end):
    """order = the rows, those of a leaf side by side in their old order; start and end of each leaf in it."""
    end[:] = 0
    for i in range(rows.shape[0]):
        end[leaf[rows[i]]] += 1
    reached = 0
    for number in range(end.shape[0]):
        start[number] = reached
        reached += end[number]
        end[number] = start[number]
    for i in range(rows.shape[0]):
        number = leaf[rows[i]]
        order[end[number]] = rows[i]
        end[number] += 1
