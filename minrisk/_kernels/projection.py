"""Linear combinations of features."""

import numpy as np

from minrisk._kernels._dtypes import FAR
from minrisk._kernels._jit import kernel


@kernel
def project_rows(X, center, weights, out):
    """out[i, c] = sum_j (X[i, j] - center[j]) * weights[j, c] for float32 `out`; missing values add nothing.

    One feature after another, so that a row's values depend neither on its place nor on the other rows.
    """
    n_features, n_columns = weights.shape
    sums = np.empty(n_columns)
    for i in range(out.shape[0]):
        for c in range(n_columns):
            sums[c] = 0.0
        for j in range(n_features):
            x = X[i, j] - center[j]
            if x == x:
                x = min(max(x, -FAR), FAR)
                for c in range(n_columns):
                    sums[c] += x * weights[j, c]
        for c in range(n_columns):
            out[i, c] = sums[c]
