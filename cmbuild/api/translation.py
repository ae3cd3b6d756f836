"""Errors of the compiler core as cmbuild's own, which are all that the functions document."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from cmbuild.errors import from_compiler
from cmcompiler.errors import CompilerError

P = ParamSpec("P")
R = TypeVar("R")


def own_errors(function: Callable[P, R]) -> Callable[P, R]:
    """The function; where it raises a CompilerError it raises a CmbuildError of the same words."""

    @wraps(function)
    def translated(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except CompilerError as error:
            raise from_compiler(error) from error

    return translated
