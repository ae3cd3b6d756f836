"""Programs with one operator call, to test how it is read and what it computes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from cmcompiler.importer.build import build_graph
from cmcompiler.pte.program import (
    Allocation,
    KernelInstruction,
    Method,
    Program,
    TensorList,
    TensorValue,
    Value,
)
from harness.examples import Array, Example


@dataclass(frozen=True, eq=False)
class In:
    """An input tensor, in its logical shape.

    Attributes:
        order: physical order of its dimensions; None for contiguous.
        constant: part of the program instead of an input.
        written: the call changes it, so it is also an output.
    """

    array: Array
    order: tuple[int, ...] | None = None
    constant: bool = False
    written: bool = False


@dataclass(frozen=True)
class Out:
    """A tensor that the call writes."""

    dtype: npt.DTypeLike
    shape: tuple[int, ...]
    order: tuple[int, ...] | None = None


Given = Value | In | Out | list[In] | list[In | None] | list[Out]


def calling(operator: str, *arguments: Given) -> Example:
    """A program that calls an operator once, and its inputs."""
    inputs = []
    for argument in arguments:
        for item in argument if isinstance(argument, list) else [argument]:
            if isinstance(item, In) and not item.constant:
                inputs.append(item.array)
    return Example(build_graph(program_calling(operator, *arguments)), tuple(inputs))


def program_calling(operator: str, *arguments: Given) -> Program:
    """A program that calls an operator once."""
    program = _Builder()
    indices = [program.add(argument) for argument in arguments]
    call = KernelInstruction(operator, tuple(indices))
    method = Method(
        "forward",
        tuple(program.values),
        tuple(program.inputs),
        tuple(program.outputs),
        (call,),
        (0, program.size),
    )
    return Program(0, (method,))


class _Builder:
    """Values of a method; each tensor has its own memory."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.size = 0

    def add(self, argument: Given) -> int:
        if isinstance(argument, list):
            members = (None if item is None else self.add(item) for item in argument)
            return self._append(TensorList(tuple(members)))
        if isinstance(argument, In) and argument.constant:
            order = argument.order or tuple(range(argument.array.ndim))
            data = memoryview(np.ascontiguousarray(argument.array.transpose(order)).tobytes())
            array = argument.array
            return self._append(TensorValue(array.dtype, array.shape, order, data))
        if isinstance(argument, In):
            array = argument.array
            self.inputs.append(self._tensor(array.dtype, array.shape, argument.order))
            self.outputs += [self.inputs[-1]] * argument.written
            return self.inputs[-1]
        if isinstance(argument, Out):
            self.outputs.append(self._tensor(argument.dtype, argument.shape, argument.order))
            return self.outputs[-1]
        return self._append(argument)

    def _tensor(
        self, dtype: npt.DTypeLike, shape: tuple[int, ...], order: tuple[int, ...] | None
    ) -> int:
        place = Allocation(1, self.size)
        self.size += -(-prod(shape) * np.dtype(dtype).itemsize // 16) * 16 + 16
        dims = order or tuple(range(len(shape)))
        return self._append(TensorValue(np.dtype(dtype), shape, dims, None, place))

    def _append(self, value: Value) -> int:
        self.values.append(value)
        return len(self.values) - 1
