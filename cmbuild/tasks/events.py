"""doit's reporters: turn doit's reports about tasks into cmbuild's events and exit codes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from doit.exceptions import UnmetDependency

from cmbuild.pipeline.events import StepOutcome, StepState
from cmbuild.tasks.graph import closure, name_of, results_of

if TYPE_CHECKING:
    from doit.exceptions import BaseFail
    from doit.task import Task

    from cmbuild.pipeline.session import Session
    from cmbuild.pipeline.stages.stage import Stage, StageKind


_MADE = (StepState.DONE, StepState.FETCHED, StepState.CACHED)


class TaskEvents:
    """Implements doit's reporter protocol, in a session that outlives doit."""

    desc = "cmbuild's own"

    def __init__(self, outstream: object, options: Mapping[str, object]) -> None:
        self._session: Session | None = None
        self._goals: list[Stage] = []
        self._started: dict[str, float] = {}
        self._kinds: Counter[StageKind] = Counter()

    def initialize(self, tasks: Mapping[str, Task], selected_tasks: Iterable[str]) -> None:
        for name in selected_tasks:
            group = tasks[name].task_dep if tasks[name].has_subtask else [name]
            self._goals += [stage for stage in map(_stage, map(tasks.__getitem__, group)) if stage]
        for task in tasks.values():
            if task.meta and "session" in task.meta:
                self._session = task.meta["session"]
        if self._session is not None:
            everyone = closure(self._goals)
            self._kinds.update([stage.kind for stage in everyone])
            self._session.reporter.begin(tuple([stage.step for stage in everyone]))
            self._session.selected = everyone

    def get_status(self, task: Task) -> None:
        pass

    def execute_task(self, task: Task) -> None:
        stage = _stage(task)
        if stage is not None and self._session is not None:
            self._started[name_of(stage)] = time.monotonic()
            self._session.reporter.started(stage.step)

    def add_success(self, task: Task) -> None:
        fetched = self._session is not None and _stage(task) in self._session.fetched
        self._ended(task, StepState.FETCHED if fetched else StepState.DONE)

    def add_failure(self, task: Task, fail: BaseFail) -> None:
        if isinstance(fail, UnmetDependency):
            self._ended(task, StepState.SKIPPED)
            return
        stage, session = _stage(task), self._session
        if session is not None and not session.failures.knows(stage):
            session.attempt(lambda: _raise(fail), stage)
        self._ended(task, StepState.FAILED)

    def skip_uptodate(self, task: Task) -> None:
        stage, session = _stage(task), self._session
        if stage is not None and session is not None:
            session.attempt(partial(session.offer, stage), stage)
        self._ended(task, StepState.CACHED)

    def skip_ignore(self, task: Task) -> None:
        pass

    def cleanup_error(self, exception: BaseFail) -> None:
        pass

    def runtime_error(self, msg: str) -> None:
        if self._session is not None:
            self._session.attempt(lambda: _raise(msg))

    def teardown_task(self, task: Task) -> None:
        pass

    def complete_run(self) -> None:
        """Raises SystemExit: the session has the exit code, which doit would reduce to 0, 1, 2."""
        if self._session is not None:
            # doit calls this during an exception too, which exiting here would lose.
            if unforeseen := sys.exc_info()[1]:
                self._session.attempt(partial(_reraise, unforeseen))
            self._session.reporter.finished()
            self._close(self._session)
            raise SystemExit(int(self._session.status))

    def _close(self, session: Session) -> None:
        """Called once all tasks have ended."""

    def _ended(self, task: Task, state: StepState) -> None:
        stage = _stage(task)
        if stage is None or self._session is None:
            return
        start = self._started.get(name_of(stage))
        seconds = 0.0 if start is None else time.monotonic() - start
        text = stage.subject

        def summarize() -> None:
            nonlocal text
            text = stage.summary()

        # Among several of its kind, a stage is known by its subject.
        if state in _MADE and self._kinds[stage.kind] == 1:
            self._session.attempt(summarize, stage)
        failure = self._session.failures.own(stage) if state is StepState.FAILED else None
        reason = None if failure is None else failure.message
        self._session.reporter.ended(StepOutcome(stage.step, state, text, seconds, reason))


class ProcessEvents(TaskEvents):
    """For plain doit: the session is the process's, and shows what the selected tasks found."""

    def initialize(self, tasks: Mapping[str, Task], selected_tasks: Iterable[str]) -> None:
        super().initialize(tasks, selected_tasks)
        if self._session is not None:
            self._session.interrupts.listen()

    def _close(self, session: Session) -> None:
        session.results += results_of(self._goals)
        session.finish()


def _stage(task: Task) -> Stage | None:
    meta: dict[str, Any] = task.meta or {}
    return meta.get("stage")


def _reraise(error: BaseException) -> None:
    raise error


def _raise(reason: object) -> None:
    raise RuntimeError(str(reason))
