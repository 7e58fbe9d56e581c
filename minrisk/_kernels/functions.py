"""Elementary functions of numbers and of arrays: the same bits on every processor, and faster than the C library's.

NumPy and the C library have other variants for other processors, which differ in the last bits. So whatever takes part
in a fit or a prediction takes these, which are kernels (`elementary.hpp`) and within 3 ulp. They give what NumPy's do,
also of 0, infinite numbers and NaN, but never warn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast, overload

import numpy as np

from minrisk._kernels import elementary
from minrisk._typing import FloatArray

DOUBLE = np.dtype(np.float64)
Some = TypeVar("Some", float, FloatArray)


class Function(Protocol):
    """A function of a number, which gives a number, or of an array of any shape, which gives an array of float64.

    Examples
    --------
    >>> exp(0.0), log(np.array([[1.0], [0.0]])).tolist()
    (1.0, [[0.0], [-inf]])
    """

    @overload
    def __call__(self, x: float) -> float: ...

    @overload
    def __call__(self, x: np.ndarray, out: FloatArray | None = None) -> FloatArray: ...


def _function(kernel: Callable[[Any], Any]) -> Function:
    def function(x: Any, out: FloatArray | None = None) -> Any:
        """Compute it; of an array into `out`, which may be `x` itself, if there is one."""
        if not isinstance(x, np.ndarray):
            return kernel(float(x))
        if out is None and x.dtype == DOUBLE:
            made = x.copy()  # the fastest way, of which small arrays take half their time
        else:
            made = x.astype(DOUBLE, order="C", copy=out is not x)
        kernel(made.ravel())
        if out is None or out is made:
            return made
        out[...] = made
        return out

    return function


exp, expm1 = _function(elementary.exp), _function(elementary.expm1)
cosh, sinh, tanh = _function(elementary.cosh), _function(elementary.sinh), _function(elementary.tanh)
log, log1p = _function(elementary.log), _function(elementary.log1p)
arctanh = _function(elementary.arctanh)


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


def power(x: Some, exponent: float) -> Some:
    """Compute x^exponent of x >= 0 and exponent >= 0; of a whole exponent by products.

    Examples
    --------
    >>> power(3.0, 5), power(np.array([0.0, 4.0]), 2.0).tolist()
    (243.0, [0.0, 16.0])
    """
    if exponent < 0:
        raise ValueError(f"exponent must be 0 or more, got {exponent}: divide by the power.")
    whole = int(exponent)
    made, square, rest = cast(Any, 1.0), cast(Any, x), exponent - whole
    while whole:
        made = made * square if whole & 1 else made
        whole >>= 1
        square = square * square if whole else square
    return cast(Some, made * exp(rest * log(x)) if rest else made)
