"""The compiler's errors, each a one-line message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class ErrorKind(Enum):
    """Who has to act on an error."""

    INVALID = "invalid"
    """The input is unreadable or malformed, or the request is not valid."""
    UNSUPPORTED = "unsupported"
    """The input is valid, but we cannot run it."""
    MISSING = "missing"
    """A package is missing on this machine."""


class CompilerError(Exception):
    """Base of all errors that cmcompiler raises on purpose.

    Attributes:
        message: one line: what is wrong and where.
        hint: what to do about it, or None.
    """

    kind = ErrorKind.UNSUPPORTED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidProgram(CompilerError):
    """The bytes are not a well-formed program."""

    kind = ErrorKind.INVALID


class InvalidRequest(CompilerError):
    """A model, target, option or input that does not exist or does not fit."""

    kind = ErrorKind.INVALID


class Unsupported(CompilerError):
    """A valid program that the static executor cannot run."""


class MissingPackage(CompilerError):
    """A Python package that this step needs is not installed."""

    kind = ErrorKind.MISSING


@contextmanager
def unsupported(what: str, hint: str | None = None) -> Iterator[None]:
    """Turns any error a library raises about a model into a one-line Unsupported.

    A CompilerError that the library wrapped in its own error is unwrapped.

    Args:
        what: names the library in the message.
    """
    try:
        yield
    except (CompilerError, ImportError):
        raise
    except Exception as error:
        if isinstance(error.__cause__, CompilerError):
            raise error.__cause__ from None
        reason = str(error).strip().partition("\n")[0]
        raise Unsupported(
            f"{what} cannot take this model: {type(error).__name__}: {reason}", hint
        ) from error
