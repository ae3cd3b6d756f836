"""Instructions, roughly, that computing nodes in bands of rows takes more than as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import OUTSIDE, KernelCall, RowAddress, RowCall, RowCount
from cmcompiler.isa import Isa
from cmcompiler.ops.support.packing import GEMMS, SHALLOW_DEPTH, spare_rows
from cmcompiler.plan.streams.costs.columns import Columns
from cmcompiler.plan.streams.costs.effort import effort
from cmcompiler.plan.streams.costs.patches import Patches
from cmcompiler.plan.streams.costs.portions import Portions, portion_cost
from cmcompiler.plan.streams.costs.products import call_cost
from cmcompiler.plan.streams.costs.rates import (
    ACCUMULATED,
    BAND,
    LANES,
    MOVED,
    PIXEL,
    RATES,
    ROUND,
    STRIPS,
    TURN,
    WAIT,
)
from cmcompiler.plan.streams.costs.strips import Strips

_SEVERAL_ROWS = ("patches", "joined")
"""Arguments of convolutions that multiply several rows of outputs at once."""


@dataclass(frozen=True, slots=True)
class Surcharge:
    """Instructions of computing a node in bands of rows, more than as a whole.

    Attributes:
        fixed: those that do not depend on memory.
        growth: what takes fewer instructions with more scratch, if anything does.
        bands: how often how many outputs, or rows of them, are computed at once.
    """

    fixed: float
    growth: Patches | Columns | None
    bands: Mapping[int, int]

    def at(self, room: int) -> float:
        """
        Args:
            room: bytes for scratch beside the least.
        """
        if self.growth is None:
            return self.fixed
        return self.with_units(min(self.growth.most, 1 + room // self.growth.unit))

    def with_units(self, units: int) -> float:
        """
        Args:
            units: of the scratch that grows.
        """
        more = 0.0 if self.growth is None else self.growth.more(self.bands, units)
        return self.fixed + more


def growth(node: Node, call: KernelCall, isa: Isa) -> Patches | Columns | None:
    """What more scratch is worth to a call; None unless it makes an image."""
    if len(node.outputs[0].shape) != 4:
        return None
    found = Strips.of(call, isa) or Patches.of(node, call, isa)
    return found or Portions.of(node, call, isa, node.outputs[0].shape[1])


def surcharge(node: Node, call: RowCall, isa: Isa, rings: tuple[int, int] = (0, 0)) -> Surcharge:
    """
    Args:
        rings: rows of the rings that it reads from and writes to; 0 for whole images.
    """
    first, last = call.call.rows
    rows = last - first
    if call.call.kernel in OUTSIDE:
        return Surcharge(rows * WAIT, None, {})
    turns = -(-rows // call.band)
    if (strips := Strips.of(call.call, isa)) is not None:
        return Surcharge(turns * (TURN + STRIPS), strips, _heights(rows, call.band, (0, rings[1])))
    rates, words = RATES[isa], dict(call.call.arguments)
    if call.call.microkernel not in GEMMS or words.keys().isdisjoint(_SEVERAL_ROWS):
        return _of_rows(node, call, isa, rows)
    width, channels = words["output.width"], words["output.channels"]
    assert isinstance(width, int) and isinstance(channels, int)
    patches = Patches.of(node, call.call, isa)
    heights = _heights(rows, call.band, rings if patches is None else (0, rings[1]))
    pixels = prod(node.outputs[0].shape[:3])
    depth = node.op.macs // (pixels * channels)
    spare = sum(n * _spare(height * width, depth, isa) for height, n in heights.items())
    spare = max(0, spare - _spare(rows * width, depth, isa))
    fixed = turns * TURN + spare * rates.spare * node.op.macs / pixels
    if isa is Isa.MVE and depth <= SHALLOW_DEPTH:
        rests = sum(n * _has_rest(height * width) for height, n in heights.items())
        rest = rates.shallow.call + channels * rates.shallow.column
        fixed += max(0, rests - _has_rest(rows * width)) * rest
    if patches is not None:
        return Surcharge(fixed, patches, {height * width: n for height, n in heights.items()})
    if words["stride_height"] == words["stride_width"] == 1:
        fixed += (heights.total() - 1) * call_cost(words, isa)
    return Surcharge(fixed, None, {})


def _of_rows(node: Node, call: RowCall, isa: Isa, rows: int) -> Surcharge:
    """Of what takes rows one by one, unlike matrix products of rows or patches."""
    kinds = {type(word) for _, word in call.call.arguments}
    moves, turns = RowAddress in kinds, -(-rows // call.band)
    calls = rows if moves and RowCount not in kinds else turns
    fixed: float = turns * TURN + (calls * MOVED if moves else (turns - 1) * BAND)
    if call.accumulates:
        fixed += turns * node.outputs[0].numel * ACCUMULATED
    words = dict(call.call.arguments)
    if words.get("output.width") == 1 and node.op.macs:
        fixed += rows * PIXEL
    best, together = words.get("band", 1), words.get("bands", 1)
    if call.is_alone:
        # A portion of a row instead of one of two.
        fixed += rows // 2 * portion_cost(words, isa) + _alone(node, call, isa)
    elif isinstance(best, int):
        # It takes as long for a row as for all that its kernel suits, unless a row alone has a
        # loop of its own.
        alone = RATES[isa].alone[words.get("stride_height") == 2]
        more = alone * _in_vain(rows, call.band, best)
        if not more and isinstance(together, int):
            # Two bands fill the rounds; more of them only make fewer portions.
            more = RATES[isa].filling * _in_vain(rows, call.band, best * min(together, 2))
        fixed += effort(node, [call.call], isa) * more
    bands = _heights(rows, call.band, (0, 0))
    return Surcharge(fixed, Portions.of(node, call.call, isa, call.band), bands)


def _alone(node: Node, call: RowCall, isa: Isa) -> float:
    """What a kernel for rows alone takes more, besides its portions."""
    rates, (width, channels) = RATES[isa], node.outputs[0].shape[2:]
    lanes = -(-channels // LANES) * LANES
    more = rates.other * lanes / channels + rates.filling * (-width % ROUND) / width
    return effort(node, [call.call], isa) * more


def _spare(rows: int, depth: int, isa: Isa) -> float:
    """Rows of a product that are computed in vain, and what threes take more, as rows."""
    threes = 0 if rows % 4 == 0 else 4 - rows % 4
    return spare_rows(rows, depth, isa) + threes * RATES[isa].three


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
    found: Counter[int] = Counter()
    row = 0
    while row < rows:
        stops = [row + step - row % step for step in (band, *rings) if step]
        stop = min(rows, *stops)
        found[stop - row] += 1
        row = stop
    return found
