"""How often a step of a run is called, and for how much each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from cmcompiler.ir.op import Op, TiledCall
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


def tile_calls(
    op: Op, shape: tuple[int, ...], tiling: Tiling, tiled: TiledCall
) -> Iterator[TileCalls]:
    """
    Args:
        op: the operator that the step computes.
        shape: of its output.
    """
    image = tiled.part + 1
    total = tiling.sizes[-1][0]
    bands = range(0, total, tiling.band)
    heights = Counter(
        len(tiled.rows_for(start, min(start + tiling.band, total))) for start in bands
    )
    first = 0
    for call, count in tiled.alike:
        width = len(tiling.tiles[first][image])
        for rows, turns in heights.items():
            if rows:
                elements = rows * width * shape[-1]
                macs = op.macs * elements // prod(shape)
                yield TileCalls(call.typed, count * turns, rows, elements, macs)
        first += count
