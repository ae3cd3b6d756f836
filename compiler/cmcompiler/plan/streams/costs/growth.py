"""Instructions that more scratch saves a call which divides its work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import GrowableScratch, KernelCall
from cmcompiler.ir.work import Arguments, Work
from cmcompiler.isa import Isa
from cmcompiler.plan.streams.costs.rates import RATES


def growable_scratch(call: KernelCall) -> GrowableScratch | None:
    return next((word for _, word in call.arguments if isinstance(word, GrowableScratch)), None)


@dataclass(frozen=True)
class Growth:
    """A call that divides its work into fewer parts with more scratch.

    Attributes:
        prices: instructions of each part.
        unit, most: bytes of a unit of scratch, and how many units are of use.
        rows: of all outputs.
    """

    arguments: Arguments
    prices: Work
    unit: int
    most: int
    rows: int

    @classmethod
    def of(cls, node: Node, call: KernelCall, isa: Isa, band: int | None = None) -> Growth | None:
        """None if the call's scratch does not grow, or it does not make an image.

        Args:
            band: rows that are asked for at once; None for all.
        """
        scratch, arguments = growable_scratch(call), call.typed
        if scratch is None or arguments is None or len(node.outputs[0].shape) != 4:
            return None
        rows = call.rows[1]
        arguments = arguments.in_bands(rows if band is None else band)
        return cls(arguments, RATES[isa].prices(arguments), scratch.unit, scratch.most, rows)

    def more(self, bands: Mapping[int, int], units: int) -> float:
        """Instructions beyond those of the whole with all scratch that is of use.

        Args:
            bands: how often how many rows are computed at once.
        """
        needed = sum(count * self._cost(rows, units) for rows, count in bands.items())
        return max(0.0, needed - self._least)

    def more_whole(self, units: int) -> float:
        """`more` for all rows at once."""
        return self.more({self.rows: 1}, units)

    def _cost(self, rows: int, units: int) -> float:
        return self.arguments.division(rows, units).at(self.prices)

    @cached_property
    def _least(self) -> float:
        return self._cost(self.rows, self.most)
