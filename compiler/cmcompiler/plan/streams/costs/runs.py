"""Instructions, roughly, of the calls of a run."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from cmcompiler.ir.op import KernelCall
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseArguments
from cmcompiler.ops.support.packing import spare_rows
from cmcompiler.ops.support.product_arguments import PixelArguments
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.runs.tiling import pixels_made, rows_made
from cmcompiler.plan.streams.costs.effort import effort
from cmcompiler.plan.streams.costs.rates import RATES


def tiling_cost(run: Run, calls: Sequence[KernelCall], isa: Isa) -> float:
    """Instructions of a run more than its whole operators take.

    Args:
        calls: of each operator, as a whole or in tiles.
    """
    turns = -(-run.tiling.sizes[-1][0] // run.band)
    parts = (_of_part(run, part, call, isa) for part, call in enumerate(calls))
    return turns * RATES[isa].turn + sum(parts)


def _of_part(run: Run, index: int, call: KernelCall, isa: Isa) -> float:
    part, tiling, image = run.parts[index], run.tiling, index + 1
    whole = prod(part.outputs[0].shape[:3])
    made = pixels_made(tiling, image) / whole
    turns = -(-tiling.sizes[-1][0] // tiling.band) * len(tiling.tiles)
    rows, at_once = rows_made(tiling, image) * len(tiling.tiles), tiling.heights[image]
    arguments, rates = call.typed, RATES[isa]
    own = effort(part, [call], isa)
    cost = own * (made - 1) + turns * rates.tiled
    if arguments is None:
        return cost
    prices, channels = rates.prices(arguments), part.outputs[0].shape[3]
    portion = Work(portions=1, columns=channels).at(prices)
    if isinstance(arguments, PixelArguments):
        # Rows of tiles are not joined to one product.
        spare = spare_rows(tiling.widths[image], arguments.depth, isa) * rates.spare
        return cost + rows * (portion + spare * part.op.macs / whole)
    if isinstance(arguments, DepthwiseArguments):
        bands = -(-at_once // max(arguments.band, 1))
        in_vain = max(0.0, bands * arguments.band / at_once - 1)
        alone = rates.alone[arguments.window.stride_height == 2] if in_vain else 0
        return cost + turns * bands * portion + own * made * in_vain * alone
    return cost
