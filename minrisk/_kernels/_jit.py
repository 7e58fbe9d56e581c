"""How kernels are compiled: ``kernel`` is ``numba.njit(nogil=True)`` with a cache of ours, ``part`` is inlined.

Rules for the files beside this one: module-level functions on arrays, scalars and named tuples of them; no jitclass, no
closures, no function arguments (none of them can be cached); no ``fastmath`` (results must not depend on how a loop is
vectorised); no kernel starts threads: it is given a range of rows or features and releases the GIL, so the caller
decides what runs side by side.

A first fit waits for the compiler, so: one type for each argument (what is read comes as a C-contiguous view that
cannot be written to, see `minrisk._utils.memory.read_only`); loops in place of array expressions and of assignments of
one array to a slice of another, whose checks of the shapes alone take seconds to compile; a helper with one caller, or
of two or three lines, is a ``part``; a constant handed to another kernel is a variable of ours (to Numba a literal 0 is
a type of its own).
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from minrisk._kernels import _cache

logger = logging.getLogger("minrisk")

Kernel = Callable[..., Any]
JIT_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # no C code calls them


class _Compilations(event.Listener):  # type: ignore[misc]
    """Says once per process that kernels are being compiled; a kernel loaded from the cache is silent.

    Meanwhile Python does not look for cycles among the compiler's many objects, which would take a seventh of the time.
    Numba's lock lets one thread compile at a time.
    """

    def __init__(self) -> None:
        self.said, self.depth, self.collects = False, 0, False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def on_start(self, event: event.Event) -> None:
        if not _is_ours(event):
            return
        if not self.said:
            self.said = True
            logger.warning("minrisk: compiling its kernels for this machine (%s)", _what_becomes_of_them())
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: event.Event) -> None:
        if _is_ours(event):
            self.depth -= 1
            if self.depth == 0 and self.collects:
                gc.enable()

    def _after_fork(self) -> None:
        """Forget the thread that compiles, which a child does not have."""
        if self.depth and self.collects:
            gc.enable()
        self.depth = 0


def _is_ours(event: event.Event) -> bool:
    dispatcher = event.data.get("dispatcher") if isinstance(event.data, dict) else None
    module = getattr(getattr(dispatcher, "py_func", None), "__module__", None) or ""
    return module.startswith("minrisk.")


def _what_becomes_of_them() -> str:
    folder = _cache.writable_folder()
    if folder is None:
        return (
            "some seconds in every process, since no folder can be written where they could be kept; "
            "set NUMBA_CACHE_DIR to one"
        )
    if _cache.is_temporary(folder):
        return (
            f"some seconds; kept in {folder.parent} since no better folder can be written; "
            "set NUMBA_CACHE_DIR to one that lasts"
        )
    return "once, it takes some seconds; 'minrisk warmup' does it ahead"


event.register("numba:compile", _Compilations())


def kernel(function: Kernel) -> Any:
    """Compile `function` on first call, with the machine code kept where a folder can be written: see `_cache`."""
    compiled = numba.njit(function, **JIT_OPTIONS)
    if hasattr(compiled, "_cache"):  # not with NUMBA_DISABLE_JIT
        compiled._cache = _cache.KernelCache(function)
    return compiled


def is_compiled(compiled: Kernel, *arguments: Any) -> bool:
    """Say whether a kernel is compiled for arguments of these types, in this process or in a folder of the cache."""
    if not hasattr(compiled, "_cache"):  # NUMBA_DISABLE_JIT
        return True
    types = tuple(compiled.typeof_pyval(argument) for argument in arguments)  # type: ignore[attr-defined]
    return types in compiled.overloads or compiled._cache.holds(types, compiled.targetctx)  # type: ignore[attr-defined]


def part(function: Kernel) -> Any:
    """Return a piece of the kernels that call it, written apart to be read: compiled with each of them, never alone."""
    return numba.njit(function, inline="always", **JIT_OPTIONS)
