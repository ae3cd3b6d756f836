"""How a convolution copies strips of columns, and what more of them take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cmcompiler.ir.op import ALIGN, KernelCall, ScratchCount
from cmcompiler.isa import Isa
from cmcompiler.plan.streams.costs.columns import Columns
from cmcompiler.plan.streams.costs.effort import growable_scratch
from cmcompiler.plan.streams.costs.products import strip_cost


@dataclass(frozen=True)
class Strips(Columns):
    """Columns of a row, whose windows a strip holds.

    Attributes:
        rows: of outputs yet to be computed, in whose place there is room for the columns of
            a row of windows.
    """

    rows: int

    @classmethod
    def of(cls, call: KernelCall, isa: Isa) -> Strips | None:
        scratch, words = growable_scratch(call), dict(call.arguments)
        if scratch is None or "strip" not in words:
            return None
        chunk, width, height, channels = (
            words[name] for name in ("chunk", "output.width", "output.height", "output.channels")
        )
        assert isinstance(chunk, ScratchCount) and isinstance(channels, int)
        assert isinstance(width, int) and isinstance(height, int)
        cost = strip_cost(words, isa)
        row = width * channels
        rows = -(-(scratch.unit * scratch.most + ALIGN) // row)
        return cls(cost, chunk.each, scratch.unit, scratch.most, width, height, rows)

    def more(self, bands: Mapping[int, int], units: int) -> float:
        strips = -(-self.width // (self.each * units)) - -(-self.width // (self.each * self.most))
        rows = sum(min(rows, self.rows) * count for rows, count in bands.items())
        return rows * strips * self.instructions
