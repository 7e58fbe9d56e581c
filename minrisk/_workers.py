"""Threads for kernels: Python threads that call kernels without the GIL, so no threading layer can clash with a fork.

What is computed never depends on them: tasks write to separate places or return integer sums.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import RLock, get_ident
from types import TracebackType
from typing import Any, TypeVar

from minrisk._cached import cached_property

MOST_THREADS = 256  # no machine has more to give; rows are divided among so many at most

Task = TypeVar("Task")
Result = TypeVar("Result")


class _BlasThreads:
    """Matrix products in one thread while somebody wants that; all in a process share the number.

    The first who comes lowers it and the last who goes lifts it. What another has set in the meantime stays.
    """

    def __init__(self) -> None:
        self._guard = RLock()  # also of a block that is given up while another begins, by a collection of garbage
        self._users: dict[int, int] = {}  # blocks that run, and their threads
        self._lowered: list[tuple[Any, int]] = []  # libraries, and how many threads each had
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    @cached_property
    def _libraries(self) -> list[Any]:
        import scipy.linalg  # noqa: F401 (which may bring a BLAS of its own)
        from threadpoolctl import ThreadpoolController

        return list(ThreadpoolController().select(user_api="blas").lib_controllers)  # a millisecond

    def begin(self, user: int) -> None:
        """A block begins."""
        with self._guard:
            if not self._users:
                for library in self._libraries:
                    n = library.num_threads
                    if n not in (None, 1):
                        self._lowered.append((library, n))
                        _set_threads(library, 1)
            self._users[user] = get_ident()

    def end(self, user: int) -> None:
        """A block ends, if it has not."""
        with self._guard:
            if self._users.pop(user, None) is not None and not self._users:
                self._lift()

    def _lift(self) -> None:
        while self._lowered:
            library, n = self._lowered.pop()
            if library.num_threads == 1:
                _set_threads(library, n)

    def _after_fork(self) -> None:
        """A child has the blocks of the one thread that it has."""
        self._guard = RLock()
        self._users = {user: thread for user, thread in self._users.items() if thread == get_ident()}
        for library, _ in self._lowered:  # OpenBLAS may have forgotten
            _set_threads(library, 1)
        if not self._users:
            self._lift()


def _set_threads(library: Any, n: int) -> None:
    """Set the number of threads, whichever thread did so before: threadpoolctl 3.8 does nothing for the others."""
    clear = getattr(library, "clear_controlling_thread", lambda force: None)
    clear(force=True)
    library.set_num_threads(n)
    clear(force=True)


_blas_threads = _BlasThreads()


class one_blas_thread:
    """A ``with`` block whose matrix products have one thread.

    Sums are then made in one order, whatever the number of threads of the process; on few rows more threads cost time,
    and the workers are threads already.
    """

    def __enter__(self) -> None:
        _blas_threads.begin(id(self))

    def __exit__(self, *error: object) -> None:
        _blas_threads.end(id(self))

    def __del__(self) -> None:
        """An interrupt may come before the block's first line, after which nobody ends it."""
        _blas_threads.end(id(self))


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
        running: list[Future[Result]] = []
        try:
            for task in tasks:
                running.append(self._pool.submit(function, task))
        except RuntimeError as error:
            if "cannot schedule" not in str(error):  # the program is ending, and the rest is for this thread
                raise
        try:
            return [task.result() for task in running] + [function(task) for task in tasks[len(running) :]]
        finally:
            for waiting in running:
                waiting.cancel()
