"""Codewords: how K classes stand in fewer dimensions."""

from __future__ import annotations

import numpy as np

from minrisk._typing import FloatArray


def simplex_codewords(K: int) -> FloatArray:
    """Corners of a regular simplex around 0, (K, K - 1): sum_k y_k = 0 and ||y_k|| = 1.

    A simplex is fixed up to a rotation only, which coordinate descent notices and the paper of MCBoost does not state.
    This one is triangular: coordinate r is 0 for the classes before r, positive for r, and equal and negative for those
    behind it.

    Examples
    --------
    >>> simplex_codewords(3).round(3).tolist()
    [[1.0, 0.0], [-0.5, 0.866], [-0.5, -0.866]]
    """
    Y = np.zeros((K, K - 1))
    for r in range(K - 1):
        behind = K - 1 - r
        Y[r, r] = np.sqrt(K * behind / ((K - 1) * (behind + 1.0)))
        Y[r + 1 :, r] = -Y[r, r] / behind
    return Y


def margin_vectors(K: int) -> FloatArray:
    """Row k is class k's: 1 at k and -1 / (K - 1) elsewhere (Lee, Lin and Wahba 2004; SAMME; PIBoost; BAdaCost).

    Examples
    --------
    >>> margin_vectors(3).tolist()
    [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    Y = np.full((K, K), -1.0 / (K - 1))
    np.fill_diagonal(Y, 1.0)
    return Y
