"""What is proven of a fit."""

from __future__ import annotations

from typing import NamedTuple


class Certificate(NamedTuple):
    """It is proven that `value` is at most `bound`; what lies between them is what may be left.

    Parameters
    ----------
    claim : str
        What the two numbers are.
    value, bound : float
    """

    claim: str
    value: float
    bound: float
