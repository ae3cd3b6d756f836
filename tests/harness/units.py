"""Units of work that do next to nothing, or end their worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cmbuild.errors import CmbuildError, Failed
from cmbuild.pipeline.events import WorkStep
from cmbuild.workers.results import Answer
from cmbuild.workers.units import OpenSession


@dataclass(frozen=True)
class Unit:
    """Answers with the process that performs it.

    Attributes:
        folder: gets a file of its name each time it is performed.
    """

    key: str
    folder: Path
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def step(self) -> WorkStep:
        return WorkStep("unit", self.key, "done")

    def perform(self, open_session: OpenSession) -> Answer[int]:
        (self.folder / f"{self.key}.{time.monotonic_ns()}").touch()
        self.act()
        return Answer(os.getpid())

    def failed(self, failure: CmbuildError) -> Answer[int]:
        return Answer.of(None, failure)

    def act(self) -> None:
        """What it does besides."""

    @property
    def performed(self) -> int:
        """How often."""
        return len(list(self.folder.glob(f"{self.key}.*")))


class FailingUnit(Unit):
    def act(self) -> None:
        raise Failed(message=f"{self.key} fails")


class EndlessUnit(Unit):
    def act(self) -> None:
        time.sleep(3600)


class DeadlyUnit(Unit):
    """Kills each worker that performs it."""

    def act(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class DeadlyOnceUnit(Unit):
    """Kills the first one."""

    def act(self) -> None:
        if self.performed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
