"""Float forms of the operators in the namespace `cmbuild`, also as plain functions.

Called through torch's dispatcher, an operator stays whole in an exported graph but has no gradient.
Its plain function has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

FLOAT_FORMS: dict[str, Callable[..., Any]] = {}
"""By name in the schema, `cmbuild::cumsum`."""

UNROUNDED_FORMS: dict[str, Callable[..., Any]] = {}
"""Forms in operators that have float kernels, by the same names, where float forms have others.

They are traced before torch decomposes any operator.
"""


def float_form(library: Any, name: str) -> Callable[[Function], Function]:
    """Registers a function as what an operator of `cmbuild` computes on floats."""

    def register(function: Function) -> Function:
        library.impl(name, function, "CompositeExplicitAutograd")
        FLOAT_FORMS[f"cmbuild::{name}"] = function
        return function

    return register


def unrounded_form(name: str) -> Callable[[Function], Function]:
    """Registers a function as what an operator of `cmbuild` becomes in a part in float."""

    def register(function: Function) -> Function:
        UNROUNDED_FORMS[f"cmbuild::{name}"] = function
        return function

    return register
