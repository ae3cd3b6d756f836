"""The contents of a method's values at one point of execution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cmcompiler.decode.memory import PlannedBuffers
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.pte.program import Allocation, TensorValue

Place = Allocation | int
"""Planned memory, or the index of an unplanned value."""


@dataclass
class Contents:
    """Places and their contents.

    Attributes:
        views: tensors of elided views, by viewed tensor, shape and dim order.
    """

    memory: PlannedBuffers = field(default_factory=PlannedBuffers)
    unplanned: dict[int, Operand] = field(default_factory=dict)
    views: dict[tuple[Tensor, tuple[int, ...], tuple[int, ...]], Tensor] = field(
        default_factory=dict
    )

    def copy(self) -> Contents:
        """An independent copy, to follow another branch."""
        return Contents(self.memory.copy(), dict(self.unplanned), dict(self.views))

    def read(self, index: int, value: TensorValue) -> Operand | None:
        """The operand that holds exactly the bytes of a value."""
        if value.allocation is not None and value.nbytes:
            return self.memory.read(value.allocation, value.nbytes)
        return self.unplanned.get(index)

    def write(self, index: int, value: TensorValue, operand: Operand) -> tuple[Operand, ...]:
        """Assigns an operand to a value; returns what it overwrote."""
        if value.allocation is not None and value.nbytes:
            return self.memory.write(value.allocation, operand)
        self.unplanned[index] = operand
        return ()

    def put(self, place: Place, operand: Operand) -> None:
        if isinstance(place, Allocation):
            self.memory.write(place, operand)
        else:
            self.unplanned[place] = operand

    def common(self, other: Contents) -> Iterator[tuple[Place, Operand, Operand]]:
        """Places with contents in both, and the contents of each."""
        yield from self.memory.common(other.memory)
        for index, operand in self.unplanned.items():
            if index in other.unplanned:
                yield index, operand, other.unplanned[index]
