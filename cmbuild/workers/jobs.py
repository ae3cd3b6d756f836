"""A command's work on a cluster, and how its units end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cmbuild.workers.results import UnitResult


@dataclass(frozen=True, slots=True)
class Job:
    """A client's command.

    Attributes:
        name: unique.
        expected: the client's environment.
        remote_mode: its use of the remote cache; the worker's own if None.
    """

    name: str
    expected: Mapping[str, str]
    remote_mode: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a unit ended, and after how many seconds."""

    result: UnitResult
    seconds: float
