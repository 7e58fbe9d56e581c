"""Log-loss of probabilities by a link, row by row: to fit a temperature without arrays of probabilities."""

import math

from minrisk._kernels._jit import kernel

SIGMOID = 0
SOFTMAX = 1


@kernel
def log_loss(kind, scale, scores, label, weight, floor):
    """Sum of -weight * max(log p(label), floor), p_k in proportion to sigmoid(scale h_k), or to exp(scale h_k)."""
    total = 0.0
    for i in range(scores.shape[0]):
        if weight[i] == 0.0:
            continue
        top = scores[i, 0]
        for k in range(1, scores.shape[1]):
            top = max(top, scores[i, k])
        own = scale * scores[i, label[i]]
        sum_ = 0.0
        if kind == SOFTMAX:
            for k in range(scores.shape[1]):
                sum_ += math.exp(scale * (scores[i, k] - top))
            log_p = own - scale * top - math.log(sum_)
        elif scale * top > -30.0:
            for k in range(scores.shape[1]):
                sum_ += 1.0 / (1.0 + math.exp(-scale * scores[i, k]))
            if own > -30.0:
                log_p = -math.log1p(math.exp(-own)) - math.log(sum_)
            else:
                log_p = own - math.log(sum_)
        else:  # all sigmoids are exponentials, to float64
            for k in range(scores.shape[1]):
                sum_ += math.exp(scale * (scores[i, k] - top))
            log_p = own - scale * top - math.log(sum_)
        total -= weight[i] * max(log_p, floor)
    return total
