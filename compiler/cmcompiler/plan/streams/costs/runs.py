"""Instructions, roughly, of the calls of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

from cmcompiler.ir.op import KernelCall
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseArguments
from cmcompiler.ops.support.product_arguments import PatchArguments, PixelArguments
from cmcompiler.plan.runs.run import Run, TiledRun
from cmcompiler.plan.runs.slices import SlicedRun
from cmcompiler.plan.runs.tiling import Tiling, pixels_made, rows_made
from cmcompiler.plan.streams.costs.effort import effort, gathering, vain_rows
from cmcompiler.plan.streams.costs.rates import RATES


def run_cost(run: Run, calls: Sequence[KernelCall], isa: Isa) -> float:
    """Instructions of a run more than its whole operators take; `calls` as for `tiling_cost`."""
    if isinstance(run, TiledRun):
        return tiling_cost(run, calls, isa)
    assert isinstance(run, SlicedRun)
    return slicing_cost(run, calls[0], isa)


def slicing_cost(run: SlicedRun, call: KernelCall, isa: Isa) -> float:
    """Instructions of slices of channels more than whole operators take.

    Args:
        call: of the convolution, as a whole or for a slice.
    """
    rates, arguments, slices = RATES[isa], call.typed, len(run.slices)
    portion = 0.0 if arguments is None else Work(portions=1).at(rates.prices(arguments))
    moved = gathering(call, rates) * (slices - 1)
    return rates.turn + slices * 2 * rates.tiled + (slices - 1) * portion + moved


def tiling_cost(run: TiledRun, calls: Sequence[KernelCall], isa: Isa) -> float:
    """Instructions of a run more than its whole operators take.

    Args:
        calls: of each operator, as a whole or in tiles, without those that move columns.
    """
    turns = len(run.tiling.bands)
    parts = (_of_part(run, part, call, isa) for part, call in enumerate(calls))
    kept = (_of_kept(run, part + 1, isa) for part in range(len(calls) - 1))
    return turns * RATES[isa].turn + sum(parts) + sum(kept)


def _of_kept(run: TiledRun, image: int, isa: Isa) -> float:
    """Instructions of moving what an image between operators keeps."""
    tiling, rates = run.tiling, RATES[isa]
    is_moved, kept = tiling.hands_on(image), 2 * tiling.kept_rows(image)
    if not is_moved and not kept:
        return 0
    pixel, width = run.parts[image].inputs[0].shape[3], tiling.sizes[image][1]
    bands, tiles = len(tiling.bands), len(tiling.tiles)
    shared = sum(len(tile.seen[image]) - len(tile.made[image]) for tile in tiling.tiles)
    rows = tiling.heights[image] if is_moved else 0
    calls = tiles * (is_moved + (2 if kept else 0))
    moved = (rows * shared + kept * width) * pixel
    return bands * (
        calls * rates.tiled + (rows + kept) * tiles * rates.segment + moved * rates.gathered
    )


def _of_part(run: TiledRun, index: int, call: KernelCall, isa: Isa) -> float:
    part, tiling, image = run.parts[index], run.tiling, index + 1
    whole = prod(part.outputs[0].shape[:3])
    made = pixels_made(tiling, image) / whole
    turns = len(tiling.bands) * len(tiling.tiles)
    at_once = tiling.heights[image]
    arguments, rates = call.typed, RATES[isa]
    own = effort(part, [call], isa)
    cost = own * (made - 1) + turns * rates.tiled
    if arguments is None:
        return cost
    prices, channels = rates.prices(arguments), part.outputs[0].shape[3]
    portion = Work(portions=1, columns=channels).at(prices)
    if isinstance(arguments, PixelArguments):
        # Only rows of the whole width are joined to one product.
        is_joined = len(tiling.tiles) == 1 and arguments.joined
        heights = _at_once(tiling, index) if is_joined else {1: rows_made(tiling, image)}
        products = [
            (height * len(tile.made[image]), count)
            for height, count in heights.items()
            for tile in tiling.tiles
        ]
        vain = sum(count * vain_rows(width, arguments.depth, isa) for width, count in products)
        spare = vain * part.op.macs / whole * rates.spare
        return cost + sum(count for _, count in products) * portion + spare
    if isinstance(arguments, PatchArguments):
        # The least scratch holds the windows of a few columns.
        row = arguments.division(1).at(prices) / arguments.output.width
        return cost + row * pixels_made(tiling, image)
    if isinstance(arguments, DepthwiseArguments):
        bands = -(-at_once // max(arguments.band, 1))
        in_vain = max(0.0, bands * arguments.band / at_once - 1)
        alone = rates.alone[arguments.window.stride_height == 2] if in_vain else 0
        return cost + turns * bands * portion + own * made * in_vain * alone
    return cost


def _at_once(tiling: Tiling, part: int) -> Counter[int]:
    """How often how many rows an operator makes at once: up to the ends of the rings of tiles."""
    image, inner = part + 1, range(1, len(tiling.windows))
    rings = [tiling.heights[each] for each in (part, image) if each in inner]
    reach, (height, _) = tiling.made[image], tiling.sizes[image]
    heights: Counter[int] = Counter()
    for band in tiling.bands:
        row, end = max(reach.first(band.start), 0), min(reach.end(band.stop), height)
        while row < end:
            stop = min([end, *(row + ring - row % ring for ring in rings)])
            heights[stop - row] += 1
            row = stop
    return heights
