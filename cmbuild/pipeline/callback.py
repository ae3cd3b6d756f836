"""A reporter that tells a caller's function what happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cmbuild.errors import UsageError
from cmbuild.pipeline.events import Portion, StepOutcome, WorkStep
from cmbuild.text import shortened

if TYPE_CHECKING:
    from cmbuild.errors import CmbuildError

Progress = Callable[[StepOutcome], None]
"""Is called as each step ends, perhaps by another thread."""


class Callback:
    """Passes the end of each step on; everything else goes unnoticed."""

    def __init__(self, progress: Progress | None) -> None:
        """Raises UsageError for something else than a function."""
        if progress is not None and not callable(progress):
            raise UsageError(message=f"progress={shortened(progress)}: expected a function")
        self._progress = progress

    def begin(self, steps: Sequence[WorkStep]) -> None:
        pass

    def started(self, step: WorkStep) -> None:
        pass

    def progress(self, step: WorkStep, text: str, portion: Portion | None = None) -> None:
        pass

    def ended(self, outcome: StepOutcome) -> None:
        """
        Raises:
            UsageError: the function failed.
        """
        if self._progress is None:
            return
        try:
            self._progress(outcome)
        except Exception as error:
            message = f"progress raised {type(error).__name__}: {error}"
            raise UsageError(message=message) from error

    def finished(self) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def command(self, line: str) -> None:
        pass

    def close(self, results: Sequence[object], failure: CmbuildError | None) -> None:
        pass
