"""Checks the words of kernel calls against the structs in the kernels' C files."""

from __future__ import annotations

from functools import cache

from cmbuild.toolchain.kernel_sources import Kernel, WrongCall, check_calls, read_kernels
from cmcompiler.plan.plan import Plan


@cache
def kernels() -> dict[str, Kernel]:
    return read_kernels()


def check_words(plan: Plan) -> None:
    """Asserts that each step has the fields of its kernel's struct, in order."""
    try:
        check_calls(plan, kernels())
    except WrongCall as error:
        raise AssertionError(error.message) from error
