"""How a depthwise convolution divides its rows, and what it takes more for that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import KernelCall, ScratchCount, Word
from cmcompiler.isa import Isa
from cmcompiler.plan.streams.costs.columns import Columns
from cmcompiler.plan.streams.costs.effort import growable_scratch
from cmcompiler.plan.streams.costs.rates import RATES


def portion_cost(words: Mapping[str, Word], isa: Isa) -> float:
    """Instructions of a portion, around those for its outputs."""
    channels = words["output.channels"]
    assert isinstance(channels, int)
    return RATES[isa].portion + channels * RATES[isa].share


@dataclass(frozen=True)
class Portions(Columns):
    """Columns of some bands of rows.

    Attributes:
        band, together: rows that the kernel suits, and how many such bands it takes at once.
    """

    band: int
    together: int

    @classmethod
    def of(cls, node: Node, call: KernelCall, isa: Isa, most: int) -> Portions | None:
        """
        Args:
            most: rows that are asked for at once.
        """
        scratch, words = growable_scratch(call), dict(call.arguments)
        columns = words.get("chunk")
        if scratch is None or not isinstance(columns, ScratchCount):
            return None
        _, height, width, _ = node.outputs[0].shape
        band, together = words["band"], words["bands"]
        assert isinstance(band, int) and isinstance(together, int)
        return cls(
            portion_cost(words, isa),
            columns.each,
            scratch.unit,
            scratch.most,
            width,
            height,
            min(band, most),
            together,
        )

    def _count(self, rows: int, units: int) -> int:
        """Portions of some rows that are computed at once."""
        columns = self.each * units
        bands = min(self.together, columns // self.width) or 1
        return -(-rows // (self.band * bands)) * -(-self.width // columns)

    def more(self, bands: Mapping[int, int], units: int) -> float:
        needed = sum(count * self._count(rows, units) for rows, count in bands.items())
        return (needed - self._fewest) * self.instructions

    @cached_property
    def _fewest(self) -> int:
        return self._count(self.height, self.most)
