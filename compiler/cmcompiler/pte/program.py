"""A typed program: methods, values and instructions, checked and frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from cmcompiler.errors import Unsupported


@dataclass(frozen=True, slots=True)
class Allocation:
    """A place in planned memory.

    Attributes:
        memory: index into `Method.buffer_sizes`.
        offset: bytes from the buffer's start.
    """

    memory: int
    offset: int


@dataclass(frozen=True, slots=True)
class StoredQuantization:
    """How a file says that a tensor's integers represent real numbers.

    Attributes:
        scales: one, or one for each index of a dimension; positive.
        zero_points: as many.
        axis: that dimension.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor of static shape.

    Attributes:
        sizes: logical shape, torch's `x.shape`.
        dim_order: the logical dimension that each physical one holds, outermost first.
        data: bytes in physical order, of a constant or a mutable buffer's initial contents; else
            None.
        allocation: assigned by memory planning; None for constants and tensors supplied at run
            time.
        quantization: if the file has one for each tensor, as a `.tflite` does.
    """

    dtype: np.dtype[Any]
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    data: memoryview | None = field(default=None, repr=False)
    allocation: Allocation | None = None
    quantization: StoredQuantization | None = None

    @property
    def nbytes(self) -> int:
        return prod(self.sizes) * self.dtype.itemsize

    @property
    def is_constant(self) -> bool:
        return self.data is not None and self.allocation is None

    @property
    def physical_shape(self) -> tuple[int, ...]:
        return tuple(self.sizes[dim] for dim in self.dim_order)

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.sizes))}]"


@dataclass(frozen=True, slots=True)
class TensorList:
    """Tensors as indices into `Method.values`; None for an absent optional one."""

    items: tuple[int | None, ...]


Value = (
    TensorValue
    | TensorList
    | int
    | float
    | bool
    | str
    | tuple[int, ...]
    | tuple[float, ...]
    | tuple[bool, ...]
    | None
)
"""An argument's value. An empty list of numbers is the empty tuple, whatever its type."""


@dataclass(frozen=True, slots=True)
class KernelInstruction:
    """Runs an operator.

    Attributes:
        operator: full name, `cortex_m::pad.out`.
        arguments: indices into `Method.values`, outputs included.
    """

    operator: str
    arguments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MoveInstruction:
    """Assigns the value `source` to the value `target`."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class JumpFalseInstruction:
    """Jumps to instruction `destination` if the value `condition` is false."""

    condition: int
    destination: int


Instruction = KernelInstruction | MoveInstruction | JumpFalseInstruction


@dataclass(frozen=True, slots=True)
class Method:
    """An entry point of a program.

    Attributes:
        inputs: indices into `values`; scalar inputs are baked into the program.
        outputs: indices into `values`.
        buffer_sizes: bytes of each planned buffer; the first one is unused.
    """

    name: str
    values: tuple[Value, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    instructions: tuple[Instruction, ...]
    buffer_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RefusedMethod:
    """A well-formed method that a static executor cannot run.

    Attributes:
        reason: raised when the method is selected.
    """

    name: str
    reason: Unsupported


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed `.pte` file.

    Attributes:
        version: schema version stated in the file.
    """

    version: int
    methods: tuple[Method | RefusedMethod, ...]
