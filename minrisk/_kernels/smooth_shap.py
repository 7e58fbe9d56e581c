"""Shapley values of sums of Gaussian kernels, each of which is a product of one factor for each feature."""

import math

import numpy as np

from minrisk._kernels._jit import kernel, part


@part
def factor(x, center, scale, landmark, width):
    """A feature's factor; missing values are the center, as in `minrisk._kernels.smooth`."""
    z = (x - center) / scale
    apart = (z if z == z else 0.0) - landmark
    return math.exp(-width * (apart * apart))


@kernel
def add_factors(X, center, scale, landmarks, width, n, out):
    """out[j, c] += sum over these of n rows of feature j's factor for landmark c, over n; nothing if it is left out."""
    d, m = landmarks.shape
    for i in range(len(X)):
        for j in range(d):
            if scale[j] > 0.0:
                for c in range(m):
                    out[j, c] += factor(X[i, j], center[j], scale[j], landmarks[j, c], width) / n


@kernel
def add_smooth_shapley_values(X, center, scale, landmarks, width, mean, point, point_weight, vectors, values):
    """values[i, j, k] += sum over landmarks c of the Shapley value of feature j in kernel c, times vectors[c, k].

    The kernel of a coalition is the product of the factors of its features and the `mean` factors of the others. The
    Shapley value of j is the integral over t of (o_j - z_j) prod_g ((1 - t) z_g + t o_g) over the other features g, as
    in `minrisk._kernels.tree_shap`.
    """
    d, m = landmarks.shape
    n_points, n_outputs = len(point), vectors.shape[1]
    own, product = np.empty((d, m)), np.empty((n_points, m))
    for i in range(len(X)):
        for q in range(n_points):
            for c in range(m):
                product[q, c] = point_weight[q]
        for j in range(d):
            if scale[j] == 0.0:
                continue
            for c in range(m):
                own[j, c] = factor(X[i, j], center[j], scale[j], landmarks[j, c], width)
            for q in range(n_points):
                t = point[q]
                for c in range(m):
                    product[q, c] *= (1.0 - t) * mean[j, c] + t * own[j, c]
        for j in range(d):
            if scale[j] == 0.0:
                continue
            for c in range(m):
                weight, apart = 0.0, own[j, c] - mean[j, c]
                if apart != 0.0:
                    for q in range(n_points):
                        t = point[q]
                        between = (1.0 - t) * mean[j, c] + t * own[j, c]
                        if between > 0.0:  # if not, products without it vanish as well, to float64
                            weight += product[q, c] / between
                    weight *= apart
                    for k in range(n_outputs):
                        values[i, j, k] += weight * vectors[c, k]
