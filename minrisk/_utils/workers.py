"""Threads for kernels: Python threads that call kernels without the GIL, so no threading layer can clash with a fork.

What is computed never depends on them: tasks write to separate places or return integer sums.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from types import TracebackType
from typing import Any, TypeVar

MOST_THREADS = 256  # no machine has more to give; rows are divided among so many at most

Task = TypeVar("Task")
Result = TypeVar("Result")


class Workers:
    """A fixed number of threads, alive within a ``with`` block: that of the caller, and helpers.

    The caller works like the others, so that it never waits for a thread to wake up while there is something to do, and
    each helper is handed its share once, however many tasks there are. Helpers that work elsewhere are not waited for:
    tasks may share out tasks of their own.

    Parameters
    ----------
    n : int
        Threads; 1 runs everything in the caller.
    """

    def __init__(self, n: int = 1) -> None:
        self.n = max(1, min(n, MOST_THREADS))
        self._pool: ThreadPoolExecutor | None = None
        self._idle: deque[int] = deque()  # numbers of helpers that have nothing to do

    def __enter__(self) -> Workers:
        if self.n > 1:
            self._pool = ThreadPoolExecutor(self.n - 1, thread_name_prefix="minrisk")
            self._idle = deque(range(self.n - 1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
            self._idle.clear()

    @property
    def n_free(self) -> int:
        """Threads that would work at a task now: the caller's, and helpers that have nothing to do."""
        return 1 + len(self._idle)

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """Return results of `function` for each task, in the order of the tasks, which are begun in that order."""
        tasks = list(tasks)
        if len(tasks) == 1 or not self._idle or self._pool is None:
            return [function(task) for task in tasks]
        shared, running = _SharedTasks(function, tasks), list[tuple[int, Future[None]]]()
        most = min(self.n, len(tasks)) - 1  # a helper may have done all before the next is asked for
        try:
            while len(running) < most and (helper := self._next_helper()) is not None:
                try:
                    running.append((helper, self._pool.submit(self._help, helper, shared)))
                except RuntimeError as error:
                    self._idle.append(helper)
                    if "cannot schedule" in str(error):  # the program is ending, and the rest is for this thread
                        break
                    raise
            shared.work()
        finally:
            shared.over = True  # also where an interrupt ended this thread's part
        for helper, future in running:
            if future.cancel():  # it has not even begun
                self._idle.append(helper)
            else:
                future.result()
        return shared.all_results()

    def _next_helper(self) -> int | None:
        try:
            return self._idle.pop()
        except IndexError:  # another thread was faster
            return None

    def _help(self, helper: int, shared: _SharedTasks) -> None:
        """Do a helper's part."""
        try:
            shared.work()
        finally:
            self._idle.append(helper)


class _SharedTasks:
    """Tasks that threads take one after another, until there are none or one has failed."""

    def __init__(self, function: Callable[[Any], Any], tasks: list[Any]) -> None:
        self.function, self.tasks, self.over = function, tasks, False
        self._counter = count()  # one number for each call, whichever threads ask
        self._results: list[Any] = [None] * len(tasks)
        self._errors: dict[int, BaseException] = {}

    def work(self) -> None:
        """Take tasks as long as there are any."""
        while not self.over and (number := next(self._counter)) < len(self.tasks):
            try:
                self._results[number] = self.function(self.tasks[number])
            except BaseException as error:
                self._errors[number], self.over = error, True

    def all_results(self) -> list[Any]:
        """Return results of all tasks, or raise the error of the first that failed: all before it have been begun."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return self._results
