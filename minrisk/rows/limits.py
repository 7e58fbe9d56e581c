"""Sizes at which rows in this process take another way to the same numbers."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """They decide about time and memory, never about a model."""

    large_leaf: int = 4096  # leaves of more rows keep histograms for a child's by subtraction
    kept_bytes: int = 64 << 20  # of such histograms
    inline_work: int = 1 << 20  # elementary sums, half a millisecond: a pass of fewer runs in the caller, since to hand
    # half of it over takes up to a twentieth of one, and several times as long on a busy machine
    vector_numbers: int = 1 << 18  # in the leaf vectors of the rounds of one call
    compile_after: int = 20_000  # rounds made of their parts: they have then taken longer by what it takes to compile
    nearest: int = 2048  # opposite points that are put in order first: most rounds ask for no more


LIMITS = Limits()
