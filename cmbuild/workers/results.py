"""The outcome of a unit of work: its result, why there is none, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from cmbuild.display.tables import HtmlTable
from cmbuild.errors import CmbuildError, ExitCode, Failed, Interrupted, Missing, UsageError
from cmbuild.pipeline.results import RunResult

T = TypeVar("T")

_ERRORS: dict[ExitCode, type[CmbuildError]] = {
    ExitCode.FAILED: Failed,
    ExitCode.USAGE: UsageError,
    ExitCode.MISSING: Missing,
    ExitCode.INTERRUPTED: Interrupted,
}


class UnitResult(Protocol):
    """The answer of a unit: errors as text, since not every exception survives pickling."""

    @property
    def error(self) -> str | None: ...

    @property
    def failure(self) -> CmbuildError | None: ...


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A unit's result, or why it has none; errors as of SweepResult."""

    value: T | None
    error: str | None = None
    hint: str | None = None
    exit_code: int = 0

    @classmethod
    def of(cls, value: T | None, failure: CmbuildError | None) -> Answer[T]:
        if failure is None:
            return cls(value)
        return cls(None, failure.message, failure.hint, int(failure.exit_code))

    @property
    def failure(self) -> CmbuildError | None:
        """The error as an exception."""
        return _failure(self.error, self.hint, self.exit_code)


@dataclass(frozen=True, slots=True)
class SweepResult(HtmlTable):
    """A model on a board.

    Attributes:
        result: None if the run did not finish; a mismatch has a result and an error.
        error, hint, exit_code: those of the command that would have failed; None, None and 0 if
            it would not.
    """

    COLUMNS = (
        *("model", "board", "result.verification.verified", "result.instructions.total"),
        *("result.cycles.total", "result.memory.flash.total", "result.memory.ram.total", "error"),
    )

    model: str
    board: str
    result: RunResult | None
    error: str | None = None
    hint: str | None = None
    exit_code: int = 0

    @classmethod
    def of(
        cls, model: str, board: str, result: RunResult | None, failure: CmbuildError | None
    ) -> SweepResult:
        if failure is None:
            return cls(model, board, result)
        return cls(model, board, result, failure.message, failure.hint, int(failure.exit_code))

    @property
    def failure(self) -> CmbuildError | None:
        """The error as an exception."""
        return _failure(self.error, self.hint, self.exit_code)


def _failure(error: str | None, hint: str | None, exit_code: int) -> CmbuildError | None:
    if error is None:
        return None
    return _ERRORS[ExitCode(exit_code)](message=error, hint=hint)
