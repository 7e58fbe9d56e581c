"""Elementary functions of numbers and of arrays: the same bits on every processor, and faster than the C library's.

NumPy and the C library have other variants for other processors, which differ in the last bits. So whatever takes part
in a fit or a prediction takes these, which are kernels (`elementary.hpp`) and within 3 ulp. They give what NumPy's do,
also of 0, infinite numbers and NaN, but never warn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from minrisk._kernels import elementary
from minrisk._typing import FloatArray


class Function:
    """A function of a number, which gives a number, or of an array of any shape, which gives an array of float64.

    Examples
    --------
    >>> exp(0.0), log(np.array([[1.0], [0.0]])).tolist()
    (1.0, [[0.0], [-inf]])
    """

    def __init__(self, kernel: Callable[[Any], Any]) -> None:
        self._kernel = kernel

    @overload
    def __call__(self, x: float) -> float: ...

    @overload
    def __call__(self, x: np.ndarray, out: FloatArray | None = None) -> FloatArray: ...

    def __call__(self, x: Any, out: FloatArray | None = None) -> Any:
        """Compute it; of an array into `out`, which may be `x` itself, if there is one."""
        if not isinstance(x, np.ndarray):
            return self._kernel(float(x))
        made = np.array(x, dtype=np.float64, order="C", copy=out is not x or None)
        self._kernel(made.reshape(-1))
        if out is None or out is made:
            return made
        out[...] = made
        return out


exp, expm1 = Function(elementary.exp), Function(elementary.expm1)
cosh, sinh, tanh = Function(elementary.cosh), Function(elementary.sinh), Function(elementary.tanh)
log, log1p = Function(elementary.log), Function(elementary.log1p)
arctanh = Function(elementary.arctanh)


def expit(x: FloatArray) -> FloatArray:
    """Compute 1 / (1 + e^-x).

    Examples
    --------
    >>> expit(np.array([0.0, np.inf])).tolist()
    [0.5, 1.0]
    """
    return np.asarray(1.0 / (1.0 + exp(-x)))


def softplus(x: FloatArray) -> FloatArray:
    """Compute log(1 + e^x) without overflow.

    Examples
    --------
    >>> softplus(np.array([-1000.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    return np.maximum(x, 0.0) + log1p(exp(-np.abs(x)))


def power(x: Any, exponent: float) -> Any:
    """Compute x^exponent of x >= 0 and exponent >= 0; of a whole exponent by products.

    Examples
    --------
    >>> power(3.0, 5), power(np.array([0.0, 4.0]), 2.0).tolist()
    (243.0, [0.0, 16.0])
    """
    whole = int(exponent)
    made, rest = 1.0, exponent - whole
    square = x
    while whole:
        made = made * square if whole & 1 else made
        whole >>= 1
        square = square * square if whole else square
    return made * exp(rest * log(x)) if rest else made
