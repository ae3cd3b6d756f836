"""Events of a running command, which a reporter shows or collects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cmbuild.errors import CmbuildError


class StepState(Enum):
    """How a step ended."""

    CACHED = "cached"
    DONE = "done"
    FETCHED = "fetched"
    """Made by another machine, and taken from the remote cache."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """It needs the result of a failed one."""


@dataclass(frozen=True, slots=True)
class WorkStep:
    """One step of the work, as shown on its line.

    Attributes:
        kind: `export`, `plan`, …
        subject: what it works on: `mv2 for cortex-m55`.
        verb: what it has done when it is done: `linked`.
    """

    kind: str
    subject: str
    verb: str


@dataclass(frozen=True, slots=True)
class Portion:
    """How much of a long step is done.

    Attributes:
        share: from 0 to 1.
        left: seconds; None if the rest takes as long as what is done did.
        next: share at which more will be known.
    """

    share: float
    left: float | None = None
    next: float = 1.0


class StepProgress(Protocol):
    """Shows what a long step is doing, and how much of it is done if that is known."""

    def __call__(self, step: WorkStep, text: str, portion: Portion | None = None) -> None: ...


def no_progress(step: WorkStep, text: str, portion: Portion | None = None) -> None:
    """A StepProgress that shows nothing."""


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The end of a step.

    Attributes:
        text: the subject, or a summary of the result.
        seconds: wall time; 0 for a cached one.
        reason: why it failed, if others continue; otherwise the command ends with it.
    """

    step: WorkStep
    state: StepState
    text: str
    seconds: float = 0.0
    reason: str | None = None

    @property
    def status(self) -> str:
        """`cached`, `linked 0.6 s`, `failed`."""
        if self.state is StepState.DONE:
            return f"{self.step.verb} {self.seconds:.1f} s"
        if self.state is StepState.FETCHED:
            return f"fetched {self.seconds:.1f} s"
        return str(self.state.value)


class Reporter(Protocol):
    """Shows events to a person or a program. They may come from several threads."""

    def begin(self, steps: Sequence[WorkStep]) -> None:
        """The steps ahead, in order."""

    def started(self, step: WorkStep) -> None: ...

    def progress(self, step: WorkStep, text: str, portion: Portion | None = None) -> None:
        """Reports the current work of a long step, and how much is done if that is known."""

    def ended(self, outcome: StepOutcome) -> None: ...

    def finished(self) -> None:
        """All steps have ended."""

    def note(self, text: str) -> None:
        """A line to show at once, such as waiting for another build."""

    def command(self, line: str) -> None:
        """A child process starts with this command line."""

    def close(self, results: Sequence[object], failure: CmbuildError | None) -> None:
        """The command has ended, with these results; nothing follows."""
