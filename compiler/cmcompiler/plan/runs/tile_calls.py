"""How often a step of a run is called, and for how much each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from cmcompiler.ir.graph import Node
from cmcompiler.ir.movement.copy import ColumnArguments
from cmcompiler.ir.op import TiledCall
from cmcompiler.ir.work import Arguments
from cmcompiler.plan.runs.tiling import Tiling


@dataclass(frozen=True, slots=True)
class TileCalls:
    """Calls of a step of a run that compute as much as each other.

    Attributes:
        arguments: of one of them; None if only C declares them.
        count: number of calls.
        rows, elements: of the output, that each computes.
        macs: multiply-accumulates of each.
    """

    arguments: Arguments | None
    count: int
    rows: int
    elements: int
    macs: int


def tile_calls(tiling: Tiling, tiled: TiledCall, layer: Node | None) -> Iterator[TileCalls]:
    """
    Args:
        layer: that the step computes; None if it moves columns.
    """
    heights = Counter(len(tiled.rows_for(band.start, band.stop)) for band in tiling.bands)
    first = 0
    for call, count in tiled.alike:
        for rows, turns in heights.items():
            if rows and layer is not None and tiled.part is not None:
                shape = layer.outputs[0].shape
                width = len(tiling.tiles[first].made[tiled.part + 1])
                elements = rows * width * shape[-1]
                macs = layer.op.macs * elements // prod(shape)
                yield TileCalls(call.typed, count * turns, rows, elements, macs)
            elif rows and isinstance(call.typed, ColumnArguments):
                yield TileCalls(call.typed, count * turns, rows, rows * call.typed.bytes, 0)
        first += count
