"""Steps of many vectors at once."""

import math

import numpy as np

from minrisk._kernels._jit import kernel


@kernel
def closed_form(edge, mass, ridge, largest):
    """a = atanh(E / (T + 2 ridge)) cut at `largest`, entry by entry, and the sum of T cosh a - E sinh a."""
    vectors, value = np.empty(edge.shape), 0.0
    for leaf in range(edge.shape[0]):
        for k in range(edge.shape[1]):
            room = mass[leaf, k] + 2.0 * ridge[k]
            ratio = edge[leaf, k] / room if room > 0.0 else 0.0
            if ratio >= 1.0:
                a = largest
            elif ratio <= -1.0:
                a = -largest
            else:
                a = min(max(math.atanh(ratio), -largest), largest)
            vectors[leaf, k] = a
            grown = math.exp(a)
            value += 0.5 * ((mass[leaf, k] - edge[leaf, k]) * grown + (mass[leaf, k] + edge[leaf, k]) / grown)
    return vectors, value


@kernel
def newton(edge, mass, whole, smoothing, shrinkage, largest):
    """a = shrinkage E / (M + smoothing whole) cut at `largest`, entry by entry, and the sum of E a - M a^2 / 2."""
    vectors, fall = np.empty(edge.shape), 0.0
    for leaf in range(edge.shape[0]):
        for k in range(edge.shape[1]):
            room = mass[leaf, k] + smoothing * whole[k]
            a = edge[leaf, k] / room * shrinkage if room > 0.0 else 0.0
            a = min(max(a, -largest), largest)
            vectors[leaf, k] = a
            fall += edge[leaf, k] * a - 0.5 * mass[leaf, k] * a * a
    return vectors, fall
