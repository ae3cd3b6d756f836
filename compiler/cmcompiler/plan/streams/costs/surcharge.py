"""Instructions, roughly, that computing nodes in bands of rows takes more than as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import OUTSIDE, RowAddress, RowCall, RowCount
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseArguments
from cmcompiler.ops.support.product_arguments import PatchArguments, PixelArguments, StripArguments
from cmcompiler.ops.support.weight_orders import SHALLOW_DEPTH
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.streams.costs.effort import effort, vain_rows
from cmcompiler.plan.streams.costs.growth import Growth
from cmcompiler.plan.streams.costs.rates import LANES, RATES, ROUND
from cmcompiler.plan.streams.costs.runs import run_cost


@dataclass(frozen=True, slots=True)
class Surcharge:
    """Instructions of computing a node in bands of rows, more than as a whole.

    Attributes:
        fixed: those that do not depend on memory.
        growth: what takes fewer instructions with more scratch, if anything does.
        bands: how often how many rows of outputs are computed at once.
    """

    fixed: float
    growth: Growth | None
    bands: Mapping[int, int]
    _known: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By units of scratch: searches ask for the same few again and again."""

    def at(self, room: int) -> float:
        """
        Args:
            room: bytes for scratch beside the least.
        """
        growth = self.growth
        if growth is None:
            return self.fixed
        units = 1 + room // growth.unit
        # Not `min`: searches ask some 400,000 times.
        known = self._known.get(units if units < growth.most else growth.most)
        return self.with_units(min(growth.most, units)) if known is None else known

    def with_units(self, units: int) -> float:
        """
        Args:
            units: of the scratch that grows.
        """
        if self.growth is None:
            return self.fixed
        if units not in self._known:
            self._known[units] = self.fixed + self.growth.more(self.bands, units)
        return self._known[units]


def surcharge(node: Node, call: RowCall, isa: Isa, rings: tuple[int, int] = (0, 0)) -> Surcharge:
    """
    Args:
        rings: rows of the rings that it reads from and writes to; 0 for whole images.
    """
    first, last = call.call.rows
    rows, rates = last - first, RATES[isa]
    if call.call.kernel in OUTSIDE:
        return Surcharge(rows * rates.wait, None, {})
    turns = -(-rows // call.band)
    if call.tiled:
        assert isinstance(node.op, Run)
        calls = [tiled.call for tiled in call.tiled if tiled.part is not None]
        return Surcharge(run_cost(node.op, calls, isa), None, {})
    arguments = call.call.typed
    growth = Growth.of(node, call.call, isa, call.band)
    if isinstance(arguments, StripArguments):
        heights = _heights(rows, call.band, (0, rings[1]))
        return Surcharge(turns * (rates.turn + rates.strips), growth, heights)
    if not isinstance(arguments, PatchArguments | PixelArguments):
        return _of_rows(node, call, isa, rows, growth)
    width, channels = arguments.output.width, arguments.output.channels
    heights = _heights(rows, call.band, rings if growth is None else (0, rings[1]))
    pixels = prod(node.outputs[0].shape[:3])
    depth = node.op.macs // (pixels * channels)
    spare = sum(n * vain_rows(height * width, depth, isa) for height, n in heights.items())
    spare = max(0, spare - vain_rows(rows * width, depth, isa))
    fixed = turns * rates.turn + spare * rates.spare * node.op.macs / pixels
    if isa is Isa.MVE and depth <= SHALLOW_DEPTH:
        rests = sum(n * _has_rest(height * width) for height, n in heights.items())
        rest = rates.shallow.call + channels * rates.shallow.column
        fixed += max(0, rests - _has_rest(rows * width)) * rest
    if growth is not None:
        return Surcharge(fixed, growth, heights)
    prices = rates.prices(arguments)
    products = sum(n * arguments.division(height).at(prices) for height, n in heights.items())
    return Surcharge(fixed + products - arguments.division(rows).at(prices), None, {})


def _of_rows(node: Node, call: RowCall, isa: Isa, rows: int, growth: Growth | None) -> Surcharge:
    """Surcharge of a kernel that takes rows one by one, unlike products of rows or patches."""
    rates = RATES[isa]
    kinds = {type(word) for _, word in call.call.arguments}
    moves, turns = RowAddress in kinds, -(-rows // call.band)
    calls = rows if moves and RowCount not in kinds else turns
    fixed = turns * rates.turn + (calls * rates.moved if moves else (turns - 1) * rates.band)
    if call.accumulates:
        fixed += turns * node.outputs[0].numel * rates.accumulated
    arguments = call.call.typed
    if isinstance(arguments, DepthwiseArguments):
        fixed += _of_depthwise(node, call, isa, rows, arguments)
    return Surcharge(fixed, growth, _heights(rows, call.band, (0, 0)))


def _of_depthwise(
    node: Node, call: RowCall, isa: Isa, rows: int, arguments: DepthwiseArguments
) -> float:
    """Instructions more of a depthwise convolution for bands that its kernel does not suit."""
    rates, band = RATES[isa], arguments.band
    fixed: float = rows * rates.pixel if arguments.output.width == 1 else 0
    if call.is_alone:
        # A portion of a row instead of one of two.
        portion = Work(portions=1, columns=arguments.output.channels).at(rates.prices(arguments))
        return fixed + rows // 2 * portion + _alone(node, call, isa)
    # It takes as long for a row as for all that its kernel suits, unless a row alone has a loop of
    # its own.
    alone = rates.alone[arguments.window.stride_height == 2]
    more = alone * _in_vain(rows, call.band, band)
    if not more:
        # Two bands fill the rounds; more of them only make fewer portions.
        more = rates.filling * _in_vain(rows, call.band, band * min(arguments.bands, 2))
    return fixed + effort(node, [call.call], isa) * more


def _alone(node: Node, call: RowCall, isa: Isa) -> float:
    """Instructions that a kernel for rows alone takes more, besides its portions."""
    rates, (width, channels) = RATES[isa], node.outputs[0].shape[2:]
    lanes = -(-channels // LANES) * LANES
    more = rates.other * lanes / channels + rates.filling * (-width % ROUND) / width
    return effort(node, [call.call], isa) * more


def _has_rest(rows: int) -> bool:
    """Whether the last of some rows, which Helium takes in fours, are a call of their own."""
    return rows > 4 and rows % 4 != 0


def _in_vain(rows: int, band: int, best: int) -> float:
    """Rows that could be computed besides those of each band, of all rows.

    Args:
        best: rows that take as long as one.
    """
    if band % best == 0:
        return 0
    made = rows // band * -(-band // best) + -(-(rows % band) // best)
    return max(0, made * best / rows - 1)


def _heights(rows: int, band: int, rings: tuple[int, int]) -> Counter[int]:
    """How often how many rows are computed at once: those of a band up to the end of a ring."""
    if not any(rings):
        return Counter({band: rows // band}) + Counter([rows % band] if rows % band else [])
    heights: Counter[int] = Counter()
    row = 0
    while row < rows:
        stops = [row + step - row % step for step in (band, *rings) if step]
        stop = min(rows, *stops)
        heights[stop - row] += 1
        row = stop
    return heights
