"""The command line of plain doit, with cmbuild's reporters and exit codes.

pyproject.toml names the commands, so that plain doit uses them instead of its own. It imports this
before anything else of cmbuild's: Ctrl-C is handled from here on.
"""

from __future__ import annotations

from cmbuild.cli.interruption import end_on_interrupt

end_on_interrupt()

# ruff: noqa: E402
from collections.abc import Iterator, Sequence
from typing import Any

from doit.cmd_clean import Clean
from doit.cmd_forget import Forget
from doit.cmd_ignore import Ignore
from doit.cmd_info import Info
from doit.cmd_list import List
from doit.cmd_run import Run
from doit.cmdparse import CmdParseError
from doit.exceptions import InvalidCommand

from cmbuild.errors import ExitCode, UnknownName, UsageError
from cmbuild.pipeline.stages.stage import StageKind
from cmbuild.report.choice import reporter
from cmbuild.tasks.dodo import plain_tasks

_REFUSED = 3
"""doit's status for errors before the first task."""


def task_cmbuild() -> Iterator[dict[str, Any]]:
    """The tasks for doit."""
    return plain_tasks(reporter)


class _Refusing:
    """Mixed into a command of doit's."""

    name: str

    def parse_execute(self, in_args: Sequence[str]) -> int:
        try:
            command: Any = super()
            status: int | None = command.parse_execute(in_args)
        except InvalidCommand as error:
            # Some commands name a task that they did not find only in the message.
            if error.not_found is None:
                failure = UsageError(message=str(error).rstrip("."))
            else:
                failure = _unknown(error.not_found)
        except CmdParseError as error:
            # doit goes on to print all of its options.
            message = str(error).partition(" (parsing")[0].removeprefix("Error parsing Command: ")
            failure = UsageError(message=message, hint=f"`doit help {self.name}`")
        else:
            return ExitCode.USAGE if status == _REFUSED else status or ExitCode.FINE
        reporter(json=False).close([], failure)
        return failure.exit_code


def _unknown(task: str) -> UnknownName:
    return UnknownName(kind="task", name=task, known=[kind.label for kind in StageKind])


class RunCommand(_Refusing, Run):  # type: ignore[misc]
    name = "run"


class ListCommand(_Refusing, List):  # type: ignore[misc]
    name = "list"


class InfoCommand(_Refusing, Info):  # type: ignore[misc]
    name = "info"

    def _execute(self, pos_args: Sequence[str], hide_status: bool = False) -> Any:
        for name in pos_args:
            if name not in {task.name for task in self.task_list}:
                raise InvalidCommand(not_found=name)
        return super()._execute(pos_args, hide_status)


class CleanCommand(_Refusing, Clean):  # type: ignore[misc]
    name = "clean"


class ForgetCommand(_Refusing, Forget):  # type: ignore[misc]
    name = "forget"


class IgnoreCommand(_Refusing, Ignore):  # type: ignore[misc]
    name = "ignore"
