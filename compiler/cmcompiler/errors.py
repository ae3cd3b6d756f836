"""The compiler's errors, each a one-line message."""

from __future__ import annotations

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


class WrongType(Unsupported):
    """An operator of a type of numbers that no kernel computes with."""


class MissingPackage(CompilerError):
    """A Python package that this step needs is not installed."""

    kind = ErrorKind.MISSING
