"""The base of all errors, each one line and a hint; the only place for exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path
from typing import ClassVar

from cmbuild import paths
from cmcompiler.errors import CompilerError, ErrorKind
from cmcompiler.suggest import did_you_mean


class ExitCode(IntEnum):
    """Exit statuses of commands; the same under plain doit."""

    FINE = 0
    FAILED = 1
    """The work failed: mismatch, fault, does not fit, a valid program that cannot run."""
    USAGE = 2
    """Usage, configuration, an unknown or unreadable input file."""
    MISSING = 3
    """Something is missing on this machine; the hint has the command that installs it."""
    INTERRUPTED = 130


_LONGEST = 1500
"""Characters of a line; only what users wrote themselves makes one longer."""


class CmbuildError(Exception):
    """Base of all errors that cmbuild raises on purpose.

    A subclass sets `exit_code`, `template` and perhaps `hint`; both texts are formatted with the
    constructor's keyword arguments. An argument `hint=` replaces the class's hint, unformatted.

    Attributes:
        message: one line: what is wrong and where.
        hint: what to do about it, or None.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED
    template: ClassVar[str] = "{message}"
    hint: str | None = None

    def __init__(self, **fields: object) -> None:
        self.message = _one_line(self.template.format(**fields))
        super().__init__(self.message)
        if "hint" in fields:
            self.hint = None if fields["hint"] is None else str(fields["hint"])
        elif self.hint is not None:
            self.hint = self.hint.format(**fields)
        if self.hint is not None:
            self.hint = _one_line(paths.with_documents(self.hint))

    @property
    def lines(self) -> str:
        """`error: …`, and `  try: …` if there is a hint."""
        return f"error: {self.message}" + ("" if self.hint is None else f"\n  try: {self.hint}")

    def moved(self, old: Path, new: Path) -> None:
        """Updates paths in the texts after a folder was renamed."""
        self.message = self.message.replace(str(old), str(new))
        self.args = (self.message,)
        if self.hint is not None:
            self.hint = self.hint.replace(str(old), str(new))


class Failed(CmbuildError):
    """The work failed, for a reason without a class of its own."""


class UsageError(CmbuildError):
    """An invalid request, or an unreadable input."""

    exit_code = ExitCode.USAGE


class UnknownName(UsageError):
    """An unknown name; the hint is the nearest known one, or all of them."""

    template = "unknown {kind} {name!r}"

    def __init__(self, *, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__(kind=kind, name=name, hint=did_you_mean(name, known))


class NotWritable(UsageError):
    template = "cannot write {path}: {reason}"
    hint = "--build-dir sets the folder of builds, CMBUILD_CACHE that of exports and libraries"


class Missing(CmbuildError):
    """Something not installed on this machine; `hint=` has the command that installs it."""

    exit_code = ExitCode.MISSING


class MissingTool(Missing):
    template = "{tool} not found"
    hint = "`cmbuild doctor` shows what is missing and how to install it"


class NoSpace(Missing):
    template = "no space left on the disk that holds {path}"
    hint = "`cmbuild clean --cache` removes what can be built again"


class ProcessFailed(CmbuildError):
    template = "{name} {outcome}: {detail}"
    hint = "the full output is in {log}"


class TimedOut(CmbuildError):
    template = "{name} did not end within {seconds:g} s and was stopped"
    hint = "--timeout SECONDS sets a longer limit; its output is in {log}"


class Interrupted(CmbuildError):
    exit_code = ExitCode.INTERRUPTED
    template = "interrupted"


class Internal(CmbuildError):
    """An unexpected exception."""

    template = "internal error: {message}"
    hint = "the traceback is in {log}; please report it"


_COMPILER: dict[ErrorKind, type[CmbuildError]] = {
    ErrorKind.INVALID: UsageError,
    ErrorKind.UNSUPPORTED: Failed,
    ErrorKind.MISSING: Missing,
}


def from_compiler(error: CompilerError) -> CmbuildError:
    """An error of the compiler core, with the exit code of its kind."""
    return compiler_failure(error.kind, error.message, error.hint)


def compiler_failure(kind: ErrorKind, message: str, hint: str | None) -> CmbuildError:
    """Like from_compiler, for an error raised in a child process."""
    return _COMPILER[kind](message=message, hint=hint)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
