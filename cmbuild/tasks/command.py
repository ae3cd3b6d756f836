"""doit's commands, with our exit codes also for what doit itself refuses.

Named in pyproject.toml, so that plain doit takes them in place of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doit.cmd_clean import Clean as DoitClean
from doit.cmd_forget import Forget as DoitForget
from doit.cmd_ignore import Ignore as DoitIgnore
from doit.cmd_info import Info as DoitInfo
from doit.cmd_list import List as DoitList
from doit.cmd_run import Run as DoitRun
from doit.cmdparse import CmdParseError
from doit.exceptions import InvalidCommand

from cmbuild.errors import ExitCode, UnknownName, UsageError
from cmbuild.pipeline.stages.stage import StageKind
from cmbuild.report.choice import reporter

_REFUSED = 3
"""doit's status for what was wrong before any task began."""


class _Refusing:
    """What a command of doit's becomes with this before it."""

    def parse_execute(self, in_args: Sequence[str]) -> int:
        try:
            command: Any = super()
            status: int | None = command.parse_execute(in_args)
        except InvalidCommand as error:
            # Some commands say which task they did not find in words only.
            if error.not_found is None:
                failure = UsageError(message=str(error).rstrip("."))
            else:
                failure = _unknown(error.not_found)
        except CmdParseError as error:
            # doit goes on to print all of its options.
            message = str(error).partition(" (parsing")[0].removeprefix("Error parsing Command: ")
            failure = UsageError(message=message, hint=f"`doit help {type(self).__name__.lower()}`")
        else:
            return ExitCode.USAGE if status == _REFUSED else status or ExitCode.FINE
        reporter(json=False).close([], failure)
        return failure.exit_code


def _unknown(task: str) -> UnknownName:
    return UnknownName(kind="task", name=task, known=[kind.label for kind in StageKind])


class Run(_Refusing, DoitRun):  # type: ignore[misc]
    pass


class List(_Refusing, DoitList):  # type: ignore[misc]
    pass


class Info(_Refusing, DoitInfo):  # type: ignore[misc]
    def _execute(self, pos_args: Sequence[str], hide_status: bool = False) -> Any:
        for name in pos_args:
            if name not in {task.name for task in self.task_list}:
                raise InvalidCommand(not_found=name)
        return super()._execute(pos_args, hide_status)


class Clean(_Refusing, DoitClean):  # type: ignore[misc]
    pass


class Forget(_Refusing, DoitForget):  # type: ignore[misc]
    pass


class Ignore(_Refusing, DoitIgnore):  # type: ignore[misc]
    pass
