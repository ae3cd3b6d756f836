"""The means that a command gives to the stages it performs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cmbuild.pipeline.events import StepProgress, no_progress
from cmbuild.process import Processes, python_module
from cmbuild.remote.storage import RemoteCache


class Warm(Protocol):
    """Where exports find torch imported already."""

    def command(self) -> list[str]:
        """The command that does what `python -m cmcompiler` would, given its arguments after it."""


@dataclass(frozen=True, slots=True)
class WorkContext:
    """Children, logs and progress of one command.

    Attributes:
        logs: folder for output of child processes that has no better place.
        progress: shows what a long step is doing.
        note: shows a line at once.
        remote: a cache shared with other machines, if there is one.
        warm: gives what makes exports and float models faster, when one is due; None: each imports
            torch for itself.
    """

    processes: Processes
    logs: Path
    progress: StepProgress = no_progress
    note: Callable[[str], None] = lambda text: None
    remote: RemoteCache | None = None
    warm: Callable[[], Warm | None] = lambda: None

    def compiler(self) -> list[str]:
        """The command that does what `python -m cmcompiler` would, given its arguments after it."""
        warm = self.warm()
        return python_module("cmcompiler") if warm is None else warm.command()
