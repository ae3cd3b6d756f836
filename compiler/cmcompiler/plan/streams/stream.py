"""A group of stages with the memory of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.arena import aligned
from cmcompiler.plan.streams.group import Group, StreamStage


@dataclass(frozen=True)
class Takeover:
    """An output of a group whose rows take the place of an input's spent rows.

    Attributes:
        shift: bytes from the first of the output to the first of the input; may be negative.
    """

    spent: Tensor
    result: Tensor
    shift: int

    @classmethod
    def of(cls, spent: Tensor, result: Tensor, shift: int, upward: bool) -> Takeover:
        """
        Args:
            shift: see Rows.
        """
        if upward:
            return cls(spent, result, -aligned(spent.nbytes + shift - result.nbytes))
        return cls(spent, result, aligned(shift))

    @property
    def saved(self) -> int:
        """Bytes less than both would take."""
        sizes = aligned(self.spent.nbytes), aligned(self.result.nbytes)
        start, end = min(0, self.shift), max(self.shift + sizes[0], sizes[1])
        return sum(sizes) - (end - start)


@dataclass(frozen=True, eq=False)
class Stream:
    """A group with its memory.

    Attributes:
        rings: rows that the ring of each tensor holds.
        turns: how often its stages are called.
        bytes: in use while it runs, with what others keep there and the least scratch.
        hosts: the results in whose memory other images lie.
    """

    group: Group
    rings: Mapping[Tensor, int]
    takeover: Takeover | None
    turns: int
    bytes: int
    hosts: Mapping[Tensor, Tensor]

    @property
    def bands(self) -> tuple[int, ...]:
        """Rows that each stage makes at once."""
        return tuple(stage.call.band for stage in self.group.stages)

    @property
    def distance(self) -> int:
        """Bytes from an input to the output that takes its place."""
        return abs(self.takeover.shift) if self.takeover else 0

    def rings_of(self, stage: StreamStage) -> tuple[int, int]:
        """Rows of the rings that a stage reads from and writes to; 0 for whole images."""
        read = max((self.rings.get(tensor, 0) for tensor in stage.call.reads), default=0)
        return read, self.rings.get(stage.output, 0)

    @property
    def full_rings(self) -> set[Tensor]:
        """The rings that hold all rows of their tensor."""
        return {tensor for tensor, rows in self.rings.items() if rows >= tensor.shape[1]}

    @property
    def ring_bytes(self) -> dict[Tensor, int]:
        """Of the rings that have memory of their own."""
        rings = self.rings.items()
        return {ring: rows * row_bytes(ring) for ring, rows in rings if ring not in self.hosts}
