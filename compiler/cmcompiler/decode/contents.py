"""What the values of a method stand for at one point of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cmcompiler.decode.memory import PlannedBuffers
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.pte.program import Allocation, TensorValue

Place = Allocation | int
"""Planned memory, or the index of a value that has none."""


@dataclass
class Contents:
    """Places and what they hold.

    Attributes:
        views: tensors of elided views, by what they view, shape and dim order.
    """

    memory: PlannedBuffers = field(default_factory=PlannedBuffers)
    unplanned: dict[int, Operand] = field(default_factory=dict)
    views: dict[tuple[Tensor, tuple[int, ...], tuple[int, ...]], Tensor] = field(
        default_factory=dict
    )

    def copy(self) -> Contents:
        """The same, to go on from in another way."""
        return Contents(self.memory.copy(), dict(self.unplanned), dict(self.views))

    def read(self, index: int, value: TensorValue) -> Operand | None:
        """What holds exactly the bytes of a value."""
        if value.allocation is not None and value.nbytes:
            return self.memory.read(value.allocation, value.nbytes)
        return self.unplanned.get(index)

    def write(self, index: int, value: TensorValue, operand: Operand) -> tuple[Operand, ...]:
        """Makes a value stand for an operand; returns what that overwrote."""
        if value.allocation is not None and value.nbytes:
            return self.memory.write(value.allocation, operand)
        self.unplanned[index] = operand
        return ()

    def put(self, place: Place, operand: Operand) -> None:
        """Makes a place hold an operand."""
        if isinstance(place, Allocation):
            self.memory.write(place, operand)
        else:
            self.unplanned[place] = operand

    def common(self, other: Contents) -> Iterator[tuple[Place, Operand, Operand]]:
        """Places that hold something here and there, and what."""
        yield from self.memory.common(other.memory)
        for index, operand in self.unplanned.items():
            if index in other.unplanned:
                yield index, operand, other.unplanned[index]
