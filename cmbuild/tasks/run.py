"""Runs doit in this process: the same tasks as plain doit's, for cmbuild's command line."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doit.cmd_base import TaskLoader2
from doit.cmd_run import Run
from doit.dependency import SqliteDB
from doit.doit_cmd import DoitMain
from doit.loader import generate_tasks
from doit.plugin import PluginDict

from cmbuild.tasks.config import CONFIG
from cmbuild.tasks.events import TaskEvents
from cmbuild.tasks.graph import name_of, tasks

if TYPE_CHECKING:
    from doit.cmd_base import Command
    from doit.task import Task

    from cmbuild.pipeline.session import Session
    from cmbuild.pipeline.stages.stage import Stage


class StageLoader(TaskLoader2):  # type: ignore[misc]
    """Gives doit the tasks of some stages."""

    def __init__(
        self, session: Session, stages: Sequence[Stage], build_folders: Sequence[Path]
    ) -> None:
        super().__init__()
        self._tasks = tasks(session, stages, build_folders)

    def load_doit_config(self) -> dict[str, Any]:
        return CONFIG | {"reporter": TaskEvents}

    def load_tasks(self, cmd: Command, pos_args: Sequence[str]) -> list[Task]:
        return list(generate_tasks("cmbuild", self._tasks))


class _Run(Run):  # type: ignore[misc]
    """doit's `run` without plugins: cmbuild uses none, and a search reads the entry points of all
    installed packages.
    """

    name = "run"

    def get_backends(self) -> dict[str, type]:
        return {CONFIG["backend"]: SqliteDB}

    def get_reporters(self) -> dict[str, type]:
        return {}


class _Main(DoitMain):  # type: ignore[misc]
    """doit with that command alone."""

    def get_cmds(self) -> PluginDict:
        return PluginDict({_Run.name: _Run})


def run(
    session: Session, stages: Sequence[Stage], build_folders: Sequence[Path], jobs: int = 1
) -> None:
    """Performs stages and all that they need; failures are recorded in the session."""
    arguments = ["run", *map(name_of, stages)]
    if jobs > 1:
        arguments[1:1] = ["-n", str(jobs)]
    if session.failures.keep_going:
        arguments[1:1] = ["--continue"]
    main = _Main(StageLoader(session, stages, build_folders), config_filenames=())
    with suppress(SystemExit):
        main.run(arguments)
