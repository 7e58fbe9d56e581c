"""Threads for kernels: Python threads that call kernels without the GIL, so no threading layer can clash with a fork.

What is computed never depends on them: tasks write to separate places or return integer sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

MOST_THREADS = 256  # no machine has more to give; rows are divided among so many at most

Task = TypeVar("Task")
Result = TypeVar("Result")


@cache
def _threadpools() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looks for libraries, which takes a millisecond


_guard = Lock()
_limits: list[Any] = []  # of blocks that run; the first knows how many threads there were before


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products in one thread: on few rows more cost time, and the workers are threads already.

    The number is one for the whole process: fits that run side by side share the limit, and the last lifts it.
    """
    with _guard:
        _limits.append(_limits[0] if _limits else _threadpools().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _guard:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()


class Workers:
    """A fixed number of threads, alive within a ``with`` block.

    Parameters
    ----------
    n : int
        Threads; 1 runs everything in the caller.
    """

    def __init__(self, n: int = 1) -> None:
        self.n = max(1, min(n, MOST_THREADS))
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers:
        if self.n > 1:
            self._pool = ThreadPoolExecutor(self.n, thread_name_prefix="minrisk")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """Results of `function` for each task, in the order of the tasks."""
        tasks = list(tasks)
        if self._pool is None or len(tasks) == 1:
            return [function(task) for task in tasks]
        return list(self._pool.map(function, tasks))
