"""Stages as doit tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doit.exceptions import TaskFailed

from cmbuild.errors import UsageError
from cmbuild.pipeline.performing import clean, is_made
from cmbuild.pipeline.stages.stage import Stage, StageKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from cmbuild.errors import CmbuildError
    from cmbuild.pipeline.session import Session

BEGIN = "_begin"
"""The hidden task that comes before all others: Session.begin."""


class SameName(UsageError):
    template = "two models have the name {name}"
    hint = "run them separately, or rename one of the files"


class NotInRuns(UsageError):
    template = "{task} is not a task of a model and a board"
    hint = "use `{verb}`"


_VERBS = {
    StageKind.HARNESS: "cmbuild conformance",
    StageKind.PACKAGE: "cmbuild package",
    StageKind.WORKSPACE: "cmbuild zephyr init",
    StageKind.APP: "cmbuild zephyr build",
    StageKind.TESTS: "cmbuild conformance",
}
"""The commands for kinds of stages that are not part of a run."""


def name_of(stage: Stage) -> str:
    return f"{stage.kind.label}:{stage.name}"


def tasks(
    session: Session, stages: Sequence[Stage], build_folders: Sequence[Path]
) -> Iterator[dict[str, Any]]:
    """doit's dictionaries for stages and all that they need, each once, grouped by kind.

    Raises:
        SameName: see closure.
    """
    return _tasks(session, closure(stages), build_folders)


def _tasks(
    session: Session, stages: Sequence[Stage], build_folders: Sequence[Path]
) -> Iterator[dict[str, Any]]:
    yield _task(session, partial(session.begin, build_folders)) | {"basename": BEGIN}
    there = {stage.kind for stage in stages}
    for kind in StageKind:
        if kind in _VERBS and kind not in there:
            yield _refusal(session, kind)
        else:
            yield {"basename": kind.label, "name": None, "doc": kind.value}
    for stage in stages:
        yield _task(session, partial(session.perform, stage), stage) | {
            "basename": stage.kind.label,
            "name": stage.name,
            "doc": stage.subject,
            "uptodate": [(is_made, [stage])],
            "task_dep": [BEGIN, *map(name_of, stage.after)],
            "clean": [] if stage.shared else [(clean, [stage])],
            "meta": {"session": session, "stage": stage},
        }


def results_of(stages: Iterable[Stage]) -> list[object]:
    """The results of stages that have some to show."""
    return [stage.result for stage in stages if stage.result is not None]


def refusals(session: Session, error: CmbuildError) -> Iterator[dict[str, Any]]:
    """A task of each kind that can be listed, but fails when run."""
    for kind in StageKind:
        yield _refusal(session, kind, None if kind in _VERBS else error)


def closure(stages: Sequence[Stage]) -> list[Stage]:
    """The stages and what they need, ordered by kind.

    Raises:
        SameName: two different stages have the same name.
    """
    stages_by_name: dict[str, Stage] = {}
    ahead = list(stages)
    while ahead:
        stage = ahead.pop()
        name = name_of(stage)
        if name not in stages_by_name:
            stages_by_name[name] = stage
            ahead += stage.after
        elif stages_by_name[name] is not stage:
            raise SameName(name=stage.name)
    order = list(StageKind)
    return sorted(stages_by_name.values(), key=lambda stage: (order.index(stage.kind), stage.name))


def _refusal(
    session: Session, kind: StageKind, error: CmbuildError | None = None
) -> dict[str, Any]:
    """
    Args:
        error: by default, that the kind is not part of a run.
    """
    return _task(session, partial(_refuse, kind, error)) | {
        "basename": kind.label,
        "doc": kind.value,
        "meta": {"session": session},
    }


def _refuse(kind: StageKind, error: CmbuildError | None) -> None:
    raise error or NotInRuns(task=kind.label, verb=_VERBS[kind])


def _task(
    session: Session, work: Callable[[], object], stage: Stage | None = None
) -> dict[str, Any]:
    def action() -> TaskFailed | None:
        failure = session.attempt(work, stage)
        return None if failure is None else TaskFailed(str(failure), report=False)

    # doit would replace sys.stdout while an action runs, which is not safe with threads.
    return {"actions": [action], "io": {"capture": False}, "verbosity": 0}
