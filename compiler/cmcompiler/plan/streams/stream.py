"""A group of stages with the memory of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.streams.group import Group


@dataclass(frozen=True)
class Takeover:
    """An output of a group whose rows take the place of an input's spent rows.

    Attributes:
        shift: bytes from the first of the output to the first of the input.
    """

    spent: Tensor
    result: Tensor
    shift: int


@dataclass(frozen=True)
class Stream:
    """A group with its memory.

    Attributes:
        rings: rows that the ring of each tensor holds.
        turns: how often its stages are called.
    """

    group: Group
    rings: Mapping[Tensor, int]
    takeover: Takeover | None
    turns: int

    @property
    def ring_bytes(self) -> dict[Tensor, int]:
        return {tensor: rows * row_bytes(tensor) for tensor, rows in self.rings.items()}
