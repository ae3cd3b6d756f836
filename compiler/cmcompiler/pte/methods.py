"""Methods of a program by name."""

from __future__ import annotations

from cmcompiler.errors import InvalidRequest
from cmcompiler.pte.program import Method, Program, RefusedMethod


def find_method(program: Program, name: str) -> Method:
    """The method of a program with this name.

    Raises:
        InvalidRequest: no such method; lists the existing ones.
        Unsupported: names what a static executor cannot run.
    """
    for method in program.methods:
        if method.name == name:
            if isinstance(method, RefusedMethod):
                raise method.reason
            return method
    names = ", ".join(method.name for method in program.methods) or "none"
    raise InvalidRequest(
        f"the program does not have a method {name!r}", f"--method takes one of: {names}"
    )
