"""Gaussian kernels between rows and landmarks, and the gradient of softmax regression on them."""

import math

import numpy as np

from minrisk._kernels._jit import kernel, part


@part
def near_landmarks(x, center, scale, landmarks, width, out):
    """out[c] = exp(-width sum_j ((x[j] - center[j]) / scale[j] - landmarks[j, c])^2); missing values are the center.

    Features of scale 0 are left out. One feature after another, so that a row's values depend on nothing else.
    """
    d, m = landmarks.shape
    for c in range(m):
        out[c] = 0.0
    for j in range(d):
        if scale[j] == 0.0:
            continue
        z = (x[j] - center[j]) / scale[j]
        if z != z:
            z = 0.0
        for c in range(m):
            apart = z - landmarks[j, c]
            out[c] += apart * apart
    for c in range(m):
        out[c] = math.exp(-width * out[c])


@kernel
def kernel_matrix(X, center, scale, landmarks, width, out):
    """Kernels of every row, (n, m)."""
    for i in range(len(X)):
        near_landmarks(X[i], center, scale, landmarks, width, out[i])


@kernel
def add_smooth(X, center, scale, landmarks, width, vectors, scores):
    """scores[i] += sum_c kernel of row i and landmark c times vectors[c]."""
    m, D = vectors.shape
    near = np.empty(m)
    for i in range(len(X)):
        near_landmarks(X[i], center, scale, landmarks, width, near)
        for c in range(m):
            for k in range(D):
                scores[i, k] += near[c] * vectors[c, k]


@kernel
def residuals(scores, intercept, label, weight, out):
    """out[i, k] = weight[i] ((k == label[i]) - p_k), with p the softmax of intercept + scores[i]."""
    n, K = scores.shape
    for i in range(n):
        top = -np.inf
        for k in range(K):
            out[i, k] = scores[i, k] + intercept[k]
            top = max(top, out[i, k])
        total = 0.0
        for k in range(K):
            out[i, k] = math.exp(out[i, k] - top)
            total += out[i, k]
        for k in range(K):
            out[i, k] *= -weight[i] / total
        out[i, label[i]] += weight[i]
