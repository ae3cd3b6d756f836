"""Plain output, for logs and pipes: a line as each step ends, then the screen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from cmbuild.pipeline.events import Portion, StepOutcome, WorkStep
from cmbuild.report import text
from cmbuild.report.rendering import reports, title
from cmbuild.report.stream import write

if TYPE_CHECKING:
    from cmbuild.errors import CmbuildError

_STATUS = 32  # columns for the status of a step, at most
_FIRST, _LAST = 40, 80  # where it starts
REASON = 6  # indentation of the line that says why a step failed


def line(kind: str, subject: str, status: str) -> str:
    """`  runner    mv2 on corstone300                  linked 0.6 s`."""
    start = f"  {kind:<{text.LABEL}}"
    last = text.width() - len(status)
    first = min(_FIRST, last)
    room = max(first, min(_LAST, text.width() - _STATUS, last)) - len(start)
    return f"{start}{text.fit(subject, room - 1):<{room}}{status}"


class Lines:
    """A reporter that writes each line once.

    Args:
        verbose: show the command lines of child processes.
        output: gets the lines and the screen; errors go to standard error.
    """

    def __init__(self, verbose: bool, output: IO[str] | None = None) -> None:
        self._verbose = verbose
        self._output = output
        self._space = ""

    def begin(self, steps: Sequence[WorkStep]) -> None:
        self._space = "\n"

    def started(self, step: WorkStep) -> None:
        pass

    def progress(self, step: WorkStep, text: str, portion: Portion | None = None) -> None:
        pass

    def ended(self, outcome: StepOutcome) -> None:
        self._write(line(outcome.step.kind, outcome.text, outcome.status))
        if outcome.reason is not None:
            self._write(text.indented(outcome.reason, REASON))

    def finished(self) -> None:
        pass

    def note(self, text: str) -> None:
        self._write(f"  {text}")

    def command(self, line: str) -> None:
        if self._verbose:
            self._write(f"$ {line}")

    def close(self, results: Sequence[object], failure: CmbuildError | None) -> None:
        for report in reports(results):
            shown = title(report, results) + report.screen().plain
            self._write(f"{self._space}{shown}{self._space}")
        if failure is not None:
            write(failure.lines, sys.stderr)

    def _write(self, text: str) -> None:
        write(text, self._output or sys.stdout)
