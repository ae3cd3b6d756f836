"""Every operator with every element type of every tensor: refused in one line, or right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from harness.calls import Given, In, Out, calling
from harness.examples import Example
from harness.operator_calls import Arguments, operator_calls
from harness.runtime import Runtime

from cmcompiler.decode.registry import operators
from cmcompiler.errors import CompilerError
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.schema import DTYPES
from cmcompiler.tflite.operators import PREFIX

CALLS = operator_calls()


def test_there_is_a_call_of_every_operator() -> None:
    # Those of TensorFlow Lite need more than a .pte says of its tensors.
    names = {name for name in operators() if not name.startswith(PREFIX)}
    assert CALLS.keys() == names


def variants(arguments: Arguments, dtype: np.dtype[Any]) -> Iterator[Arguments]:
    """The arguments with one tensor of another type."""
    for place, argument in enumerate(arguments):
        for changed in changes(argument, dtype):
            yield (*arguments[:place], changed, *arguments[place + 1 :])


def changes(argument: Given, dtype: np.dtype[Any]) -> Iterator[Given]:
    if isinstance(argument, list):
        for place, member in enumerate(argument):
            for changed in changes(member, dtype):
                yield [*argument[:place], changed, *argument[place + 1 :]]  # type: ignore[misc]
    elif isinstance(argument, In) and argument.array.dtype != dtype:
        with np.errstate(all="ignore"):
            yield replace(argument, array=argument.array.astype(dtype))
    elif isinstance(argument, Out) and np.dtype(argument.dtype) != dtype:
        yield replace(argument, dtype=dtype)


def accepted(operator: str) -> Iterator[Example]:
    for dtype in DTYPES.values():
        for arguments in variants(CALLS[operator], dtype):
            try:
                example = calling(operator, *arguments)
                make_plan(example.graph, Isa.SCALAR)
            except CompilerError as error:
                assert error.message.isprintable()
                continue
            types = [
                np.dtype(x.dtype if isinstance(x, Out) else x.array.dtype).name
                for argument in arguments
                for x in (argument if isinstance(argument, list) else [argument])
                if isinstance(x, (In, Out))
            ]
            yield replace(example, name=f"{operator} of {', '.join(types)}")


def test_another_type_is_refused_or_right(native: Runtime) -> None:
    native.check(*(calling(operator, *CALLS[operator]) for operator in CALLS))
    native.check(*(example for operator in CALLS for example in accepted(operator)))
