"""How kernels are compiled: ``kernel`` is ``numba.njit(cache=True, nogil=True)``, cache folder or not.

Rules for the files beside this one: module-level functions on arrays, scalars and named tuples of them; no jitclass, no
closures, no function arguments (none of them can be cached); no ``fastmath`` (results must not depend on how a loop is
vectorised); no kernel starts threads: it is given a range of rows or features and releases the GIL, so the caller
decides what runs side by side. Helpers that a kernel calls stand in the same file, because Numba's cache only
watches the file of the function itself, or in files named by ``kernel(uses=...)`` (the one exception is
`_exponential`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core import event

logger = logging.getLogger("minrisk")

Kernel = Callable[..., Any]


class _FirstCompilation(event.Listener):  # type: ignore[misc]
    """Says once per process that kernels are being compiled; a kernel loaded from the cache is silent."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data.get("dispatcher") if isinstance(event.data, dict) else None
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", None) or ""
        if not self.said and module.startswith("minrisk."):
            self.said = True
            logger.warning("minrisk: compiling its kernels for this machine (once, it takes some seconds; "
                           "'minrisk warmup' does it ahead)")

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _FirstCompilation())


def kernel(function: Kernel | None = None, *, uses: Sequence[ModuleType] = ()) -> Any:
    """Compile `function` on first call, with the machine code cached on disk where a cache folder can be written.

    Parameters
    ----------
    function : callable, optional
        Without it a decorator is returned.
    uses : sequence of module
        Other files whose kernels it calls: machine code from before their last change is thrown away.
    """
    if function is None:
        return partial(kernel, uses=uses)
    try:
        compiled = numba.njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # no folder for the cache can be written: compile in each process instead
        return numba.njit(function, nogil=True, error_model="numpy")
    if uses and hasattr(compiled, "_cache"):  # not with NUMBA_DISABLE_JIT
        index = compiled._cache._cache_file  # Numba compares this stamp with the stored one; it has no public name
        index._source_stamp = (index._source_stamp, *(Path(str(m.__file__)).stat().st_mtime for m in uses))
    return compiled
