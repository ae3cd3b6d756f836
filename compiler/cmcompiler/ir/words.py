"""Words of a kernel's arguments: numbers, and places that planning turns into numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from cmcompiler.ir.tensor import Tensor

ALIGN = 16
"""Alignment of every tensor, in bytes."""


@dataclass(frozen=True, slots=True)
class Address:
    """A place in the memory of a node's tensor.

    Attributes:
        offset: bytes from the tensor's first element.
    """

    tensor: Tensor
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Packed:
    """Constant bytes in the kernel's layout; equal ones are stored once.

    Attributes:
        align: of the first byte, a power of two up to 16.
    """

    data: bytes
    align: int = 16


@dataclass(frozen=True, slots=True)
class PackedPart:
    """A place among constant bytes.

    Attributes:
        offset: bytes from their start, a multiple of their alignment.
    """

    packed: Packed
    offset: int


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes in the arena that live during one call.

    Attributes:
        kept: in a stream, from its first call to its last one.
        steps: of the plan during which it lives, from the call's own on.
    """

    size: int
    kept: bool = False
    steps: int = 1


@dataclass(frozen=True, slots=True)
class TilePlace:
    """A place in the scratch of a run, which its calls share.

    Attributes:
        offset: bytes from its start.
        kept: in that which the run keeps from turn to turn.
    """

    offset: int
    kept: bool = False

    def after(self, offset: int) -> TilePlace:
        """A place so many bytes farther."""
        return TilePlace(self.offset + offset, self.kept)


@dataclass(frozen=True, slots=True)
class GrowableScratch:
    """Scratch that may be larger than necessary: at least one whole unit.

    It takes as many units as fit beside what else lives during the call, without enlarging the
    arena. A call has at most one.

    Attributes:
        unit: bytes, a multiple of ALIGN.
        most: the largest useful number of units.
        base: bytes that it needs besides.
    """

    unit: int
    most: int
    base: int = 0

    def sized(self, units: int) -> Scratch:
        return Scratch(self.base + units * self.unit)

    def units_within(self, size: int) -> int:
        """As many as so many bytes hold and are of use."""
        return min(self.most, (size - self.base) // self.unit)


@dataclass(frozen=True, slots=True)
class ScratchCount:
    """How many items the GrowableScratch of the call holds.

    Attributes:
        each: items per unit.
    """

    each: int


@dataclass(frozen=True, slots=True)
class RowAddress:
    """The place of a row in an image, or in the ring that holds some of its rows.

    While a call computes row y it is that of row (y·factor + shift) / divisor, rounded down.

    Attributes:
        offset: bytes from the row's first element.
    """

    tensor: Tensor
    offset: int = 0
    factor: int = 1
    shift: int = 0
    divisor: int = 1


@dataclass(frozen=True, slots=True)
class RingRows:
    """How many rows of an image are in memory: all of them, or those that a ring holds.

    Attributes:
        every: counts only every so manieth row, from the first one on.
    """

    tensor: Tensor
    every: int = 1


@dataclass(frozen=True, slots=True)
class RowCount:
    """How many items a call computes whose rows move along.

    Rows that lie one after the other in memory are computed at once.

    Attributes:
        each: items of a row.
    """

    each: int


class Narrow(int):
    """A number with fewer than 32 bits: it shares a word with the narrow ones beside it."""

    bits: ClassVar[int]


class Short(Narrow):
    """An int16."""

    bits = 16


class Byte(Narrow):
    """An int8."""

    bits = 8


Word = (
    int
    | float
    | Address
    | RowAddress
    | RingRows
    | RowCount
    | Packed
    | PackedPart
    | Scratch
    | TilePlace
    | GrowableScratch
    | ScratchCount
)
"""One field of a kernel's arguments: int32/uint32, float32, or a cm_ref; or int16 or int8, which
fill words of 32 bits together.
"""

Words: TypeAlias = list[tuple[str, Word]]
"""Fields of a kernel's argument struct, by name."""
