"""Who watches a whole fit: the progress bar, scikit-learn's callbacks, and whoever may ask it to end.

`Watch` learns when phases begin and hands every loop the monitors that it needs.
`Tasks` is the monitor that makes the rounds known as tasks of `sklearn.callback`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock, get_ident
from typing import Any

from minrisk._utils.interrupts import StopRequest
from minrisk.boosting.checkpoint import Checkpoint, Run
from minrisk.boosting.monitors import Monitor, ProgressBar, RoundInfo


class Tasks:
    """The phases and rounds of a fit as tasks of scikit-learn's callbacks.

    A fit without phases has its rounds as subtasks, one after another. One with phases has these as subtasks, and each
    of them the rounds of all boosters that train in it, in the order in which they begin. Callbacks are called by one
    thread at a time.

    Parameters
    ----------
    estimator : estimator
        Whose fit this is: what callbacks are given.
    context : sklearn.callback.CallbackContext
        Of the fit.
    stop : StopRequest
        Where a callback's wish to stop goes.
    data : dict
        X, y and metadata, as they are given to callbacks.
    phases : bool
        Whether there are any.
    """

    def __init__(self, estimator: Any, context: Any, stop: StopRequest, data: dict[str, Any], phases: bool) -> None:
        self._estimator, self._fit, self._stop, self._data, self._phases = estimator, context, stop, data, phases
        self._phase: Any = None if phases else context
        self._round: dict[int, Any] = {}  # that each thread is making
        self._begun, self._lock = 0, RLock()
        self.attributes: Callable[[], dict[str, Any]] | None = None  # of an estimator as if the fit ended now

    @property
    def wanted(self) -> bool:
        """Whether there is anybody to be told: a fit within another may only take its place among that one's tasks."""
        return bool(getattr(self._estimator, "_skl_callbacks", ()))

    def begin(self) -> None:
        """Tell that the fit begins."""
        self._fit.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def end(self) -> None:
        """Tell that it has ended: the estimator has all that was learnt."""
        self._fit.call_on_fit_task_end(estimator=self._estimator, **self._data, reconstruction_attributes=dict)

    def phase(self, what: str) -> None:
        """Begin the next phase, and end the present one."""
        if self._phases:
            with self._lock:
                self.close()
                self._phase = self._fit.subcontext(task_name=what, max_subtasks=None, sequential_subtasks=False)
                self._phase.call_on_fit_task_begin(estimator=self._estimator, **self._data)
                self._begun = 0

    def close(self) -> None:
        """End what goes on: rounds that found no learner, and the phase."""
        with self._lock:
            while self._round:
                self._ended(self._round.popitem()[1], None)
            if self._phases and self._phase is not None:
                phase, self._phase = self._phase, None
                self._ended(phase, self.attributes)

    def before_rounds(self, info: RoundInfo) -> None:
        """Do nothing: a constant is no task."""

    def before_round(self) -> None:
        """Begin a round; one of this thread that found no learner has ended."""
        with self._lock:
            if (fruitless := self._round.pop(get_ident(), None)) is not None:
                self._ended(fruitless, None)
            number = {"task_id": self._begun} if self._phases else {}
            self._begun += 1
            self._round[get_ident()] = task = self._phase.subcontext(task_name="round", **number)
            task.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def after_round(self, info: RoundInfo) -> bool:
        """End it; only without phases does an estimator as of now make sense."""
        with self._lock:
            self._ended(self._round.pop(get_ident()), None if self._phases else self.attributes)
        return False

    def _ended(self, task: Any, attributes: Callable[[], dict[str, Any]] | None) -> None:
        if task.call_on_fit_task_end(estimator=self._estimator, **self._data, reconstruction_attributes=attributes):
            self._stop.asked = True


class Watch:
    """What watches a fit from beginning to end; phases and parts as `ProgressBar` has them.

    Parameters
    ----------
    bar : ProgressBar, optional
    stop : StopRequest, optional
    tasks : Tasks, optional
        Default: there are no callbacks.
    eval_sets : sequence
        Rows to be judged after every round; see `minrisk.estimator.eval_sets`.
    checkpoint : Checkpoint, optional
        Where rounds are kept, and those of a fit that was killed may be.
    """

    def __init__(
        self,
        bar: ProgressBar | None = None,
        stop: StopRequest | None = None,
        tasks: Tasks | None = None,
        eval_sets: Sequence[Any] = (),
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.bar, self.stop, self.eval_sets = bar or ProgressBar(False), stop or StopRequest(), eval_sets
        self.checkpoint = checkpoint
        self._tasks = tasks if tasks is not None and tasks.wanted else None
        self.fitted: Callable[[Any], dict[str, Any]] | None = None  # attributes made of what is found
        self.describe: Callable[[Any], Any] = lambda found: found  # all that is found, by what `stands` is given

    @property
    def watching(self) -> list[Monitor]:
        """Monitors that a loop needs for it. Without callbacks rounds may be made ahead."""
        monitors: list[Monitor] = [*self.bar.watching]
        if self._tasks is not None:
            monitors.append(self._tasks)
        return monitors

    def run(self, name: str) -> Run:
        """Return one run of the loop, by a name of its own."""
        return Run(name, self.checkpoint)

    def phase(self, what: str, rounds: float = 0, later: float = 0, most: int = 0) -> None:
        """Begin something; see `ProgressBar.phase`."""
        self.bar.phase(what, rounds, later, most)
        if self._tasks is not None:
            self._tasks.phase(what)

    def stands(self, found: Any) -> None:
        """Tell what has been learnt so far, of which an estimator is made if a callback asks for one."""
        if self._tasks is not None and self.fitted is not None:
            fitted, describe = self.fitted, self.describe
            self._tasks.attributes = lambda: fitted(describe(found))

    def close(self) -> None:
        """End the last phase."""
        if self._tasks is not None:
            self._tasks.close()
