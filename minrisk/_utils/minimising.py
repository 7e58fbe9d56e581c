"""Minimising smooth functions between bounds by projected L-BFGS steps, the same on every processor.

A step moves along the direction of L-BFGS (Nocedal, "Updating quasi-Newton matrices with limited storage", 1980) in the
variables that are free, those that are not held at a bound by their slope, and what would leave the bounds stops there
(Bertsekas, "Projected Newton methods for optimization problems with simple constraints", 1982). SciPy's L-BFGS-B sums
by a BLAS, which has other last bits on other processors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minrisk._typing import FloatArray

MEMORY = 10  # pairs of moves and changes of the slope
ENOUGH = 1e-4  # share of the fall that the slope promises, which a step has to bring
SHORTEST = 1e-12  # of a step, where no shorter one is tried

Function = Callable[[FloatArray], tuple[float, FloatArray]]  # value and slope


class Minimum(NamedTuple):
    """Say where a search ended."""

    point: FloatArray
    value: float
    slope: FloatArray
    iterations: int


def minimise(
    function: Function,
    start: FloatArray,
    low: FloatArray | float = -np.inf,
    high: FloatArray | float = np.inf,
    *,
    iterations: int = 1000,
    gradient: float = 1e-5,
    change: float = 0.0,
) -> Minimum:
    """Find where a function of slopes that are continuous is least, between bounds.

    Parameters
    ----------
    function : callable
        Gives the value and the slope (n,) at a point (n,), which it must not keep.
    start : ndarray of shape (n,)
    low, high : float or ndarray of shape (n,)
    iterations : int
        At most.
    gradient : float
        The search ends where no slope is larger, of those that lead between the bounds,
    change : float
        or where a step lowers the value by no more than this share of it (of 1, if it is less).

    Examples
    --------
    >>> minimise(lambda x: (float(np.sum((x - 1.0) ** 2)), 2.0 * (x - 1.0)), np.zeros(2), 0.0, 0.5).point.tolist()
    [0.5, 0.5]
    """
    x = np.clip(np.asarray(start, dtype=np.float64), low, high)
    value, slope = function(x)
    moves, changes = np.empty((0, len(x))), np.empty((0, len(x)))
    for iteration in range(iterations):
        if np.abs(x - np.clip(x - slope, low, high)).max(initial=0.0) <= gradient:
            return Minimum(x, value, slope, iteration)
        free = ~(((x <= low) & (slope > 0.0)) | ((x >= high) & (slope < 0.0)))
        step, steepest = _direction(slope, free, moves, changes), len(moves) == 0
        if not float(np.sum(step * slope)) < 0.0:
            step, steepest = np.where(free, -slope, 0.0), True
        if steepest:
            step /= max(1.0, float(np.sqrt(np.sum(step**2))))
        length, before = 1.0, value
        while True:
            new = np.clip(x + length * step, low, high)
            new_value, new_slope = function(new)
            promised = float(np.sum(slope * (new - x)))
            if new_value <= value + ENOUGH * promised or length < SHORTEST:
                break
            # The parabola through both values with the slope here is least there.
            lower = new_value - value - promised
            length *= min(0.5, max(0.1, -0.5 * promised / lower)) if np.isfinite(lower) else 0.1
        if length < SHORTEST or not np.any(new != x):
            if steepest:  # rounding is all that is left
                return Minimum(x, value, slope, iteration)
            moves, changes = moves[:0], changes[:0]  # the curvature that they tell is another one here
            continue
        move, turn = new - x, new_slope - slope
        x, value, slope = new, new_value, new_slope
        if float(np.sum(move * turn)) > np.finfo(np.float64).eps * float(np.sum(turn**2)):
            moves, changes = np.vstack([moves[1 - MEMORY :], move]), np.vstack([changes[1 - MEMORY :], turn])
        if before - value <= change * max(abs(before), abs(value), 1.0):
            return Minimum(x, value, slope, iteration + 1)
    return Minimum(x, value, slope, iterations)


def _direction(slope: FloatArray, free: np.ndarray, moves: FloatArray, changes: FloatArray) -> FloatArray:
    """Return - H slope in the free variables, H the inverse of the curvature that moves and changes tell there."""
    moves, changes, step = moves * free, changes * free, np.where(free, -slope, 0.0)
    curved = np.sum(moves * changes, axis=1)
    known = [number for number in range(len(moves)) if curved[number] > 0.0]
    shares = np.empty(len(moves))
    for number in reversed(known):
        shares[number] = np.sum(moves[number] * step) / curved[number]
        step -= shares[number] * changes[number]
    if known:
        step *= curved[known[-1]] / np.sum(changes[known[-1]] ** 2)
    for number in known:
        step += (shares[number] - np.sum(changes[number] * step) / curved[number]) * moves[number]
    return step
