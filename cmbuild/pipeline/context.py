"""The means that a command gives to the stages it performs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cmbuild.pipeline.events import WorkStep
from cmbuild.process import Processes
from cmbuild.remote.storage import RemoteCache
from cmbuild.warm.exports import WarmExports


@dataclass(frozen=True, slots=True)
class WorkContext:
    """Children, logs and progress of one command.

    Attributes:
        logs: folder for output of child processes that has no better place.
        progress: shows what a long step is doing.
        note: shows a line at once.
        remote: a cache shared with other machines, if there is one.
        warm: makes exports faster, where many follow.
    """

    processes: Processes
    logs: Path
    progress: Callable[[WorkStep, str], None] = lambda step, text: None
    note: Callable[[str], None] = lambda text: None
    remote: RemoteCache | None = None
    warm: WarmExports | None = None
