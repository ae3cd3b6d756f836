"""The failures of a command: any exception as an error to show, and the stage it belongs to."""

from __future__ import annotations

import errno
import tempfile
import traceback
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild import paths
from cmbuild.cache.folders import CacheFolder
from cmbuild.errors import CmbuildError, ExitCode, Internal, Interrupted, NoSpace, from_compiler
from cmbuild.files import NO_ROOM, is_full, unwritable
from cmcompiler.errors import CompilerError

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.stage import Stage

_DISK = (errno.EACCES, errno.EPERM, errno.EROFS, *NO_ROOM)


class Failures:
    """The failures of one command.

    Attributes:
        keep_going: a failed stage stops only the stages that need it.
        first: the error that ends the command, or None.
    """

    def __init__(self, keep_going: bool) -> None:
        self.keep_going = keep_going
        self.first: CmbuildError | None = None
        self._stages: dict[Stage, CmbuildError] = {}

    def add(self, error: CmbuildError, stage: Stage | None = None) -> None:
        """Records a failure, perhaps of a stage."""
        if stage is None or not self.keep_going or isinstance(error, Interrupted):
            self.first = self.first or error
        else:
            self._stages.setdefault(stage, error)

    def knows(self, stage: Stage | None) -> bool:
        """Whether a failure of the stage was recorded already, or one that ends the command."""
        return self.first is not None or stage in self._stages

    def own(self, stage: Stage) -> CmbuildError | None:
        """The failure of a stage itself, if others continue."""
        return self._stages.get(stage)

    def of(self, stage: Stage) -> CmbuildError | None:
        """Why a stage has no valid result: its own failure, or that of one that it needs."""
        for needed in stage.after:
            if failure := self.of(needed):
                return failure
        return self.own(stage)


def cause(error: BaseException, logs: Path) -> CmbuildError:
    """Like `explain`, but a full disk is the cause of any failure.

    Args:
        logs: a folder that the command writes to.
    """
    if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
        return NoSpace(path=logs)
    explained = explain(error)
    if explained.exit_code is ExitCode.FAILED:
        for place in (logs, paths.cache(), Path(tempfile.gettempdir())):
            if is_full(place):
                return NoSpace(path=place)
    return explained


def explain(error: BaseException) -> CmbuildError:
    """Any exception as an error to show; the traceback of an unforeseen one goes to a log."""
    if isinstance(error, CmbuildError):
        return error
    if isinstance(error, CompilerError):
        return from_compiler(error)
    if isinstance(error, KeyboardInterrupt):
        return Interrupted()
    if isinstance(error, OSError) and error.errno in _DISK and error.filename is not None:
        return unwritable(Path(str(error.filename)), error)
    message = f"{type(error).__name__}: {error}"
    log = CacheFolder.LOGS.path / f"internal-{datetime.now():%Y%m%d-%H%M%S}.txt"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(traceback.format_exception(error)))
    except OSError:
        return Internal(message=message, hint=None)
    return Internal(message=message, log=log)
