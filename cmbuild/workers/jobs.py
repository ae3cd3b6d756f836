"""A command's work on its workers, and how its units end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from cmbuild.errors import Failed
from cmbuild.workers.results import UnitResult

if TYPE_CHECKING:
    from cmbuild.workers.units import WorkUnit


@dataclass(frozen=True, slots=True)
class Job:
    """A client's command.

    Attributes:
        name: unique.
        remote_mode: its use of the remote cache; the worker's own if None.
        expected: the client's environment, of workers that may have another.
    """

    name: str
    remote_mode: str | None = None
    expected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a unit ended, and after how many seconds."""

    result: UnitResult
    seconds: float


class WorkersDied(Failed):
    template = "{subject}: {workers} workers died at work on it"

    @classmethod
    def outcome(cls, unit: WorkUnit, workers: int) -> Outcome:
        """The outcome of a unit that is given up."""
        return Outcome(unit.failed(cls(subject=unit.step.subject, workers=workers)), 0.0)


class Workers(Protocol):
    """Performs units, several at a time."""

    def perform(
        self, units: Sequence[WorkUnit], needs: Sequence[Sequence[WorkUnit]]
    ) -> Iterator[tuple[WorkUnit, Outcome]]:
        """Units with how they ended, as they end: of `needs` too.

        Args:
            needs: for each unit, those that must end before it; each is done once.

        Raises:
            CmbuildError: all workers were lost before all units had ended.
        """


ATTEMPTS = 4
"""A unit at work on so many workers as they died is given up."""
