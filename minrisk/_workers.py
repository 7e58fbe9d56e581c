"""Threads for kernels: Python threads that call kernels without the GIL, so no threading layer can clash with a fork.

What is computed never depends on them: tasks write to separate places or return integer sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
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


def one_blas_thread() -> AbstractContextManager[Any]:
    """Matrix products in one thread: on few rows more cost time, and the workers are threads already."""
    limit: AbstractContextManager[Any] = _threadpools().limit(limits=1, user_api="blas")
    return limit


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
