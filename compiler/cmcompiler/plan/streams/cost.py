"""Instructions, roughly: of nodes, and of computing them in bands of rows.

The constants were fitted to counts of the zoo's models; they err towards too few for whole nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import (
    ALIGN,
    OUTSIDE,
    GrowableScratch,
    KernelCall,
    RowAddress,
    RowCall,
    RowCount,
    ScratchCount,
    Word,
)
from cmcompiler.isa import Isa
from cmcompiler.ops.drain import Drain
from cmcompiler.ops.feed import Feed
from cmcompiler.ops.support.packing import GEMMS, spare_rows
from cmcompiler.ops.support.pooling import Pool2d


@dataclass(frozen=True, slots=True)
class Costs:
    """Of kernels with an instruction set.

    Attributes:
        product, output: instructions for a product of a matrix, and for a result.
        gathered, segment: for a byte of a patch, and for a row of its window.
        tap, line: for a product of another convolution, and for a row of a channel.
        strided: as many taps a product of one with stride 2 takes.
        pooled: for an element of a window of a pool.
        byte: written by another op.
        call, column: of a matrix product, and for each of its columns.
        shallow: the latter where depths are few enough for weights to stay in registers.
        batch: of patches, to gather them.
        spare: instructions for each product of a row that is computed in vain.
        portion, share: of a depthwise convolution: for a portion of a row, and for each channel
            of it.
        filling: part of a depthwise convolution of a narrow image whose rounds several bands fill.
    """

    product: float
    output: float
    gathered: float
    segment: float
    tap: float
    line: float
    strided: float
    pooled: float
    byte: float
    call: float
    column: float
    shallow: float
    batch: float
    spare: float
    portion: float
    share: float
    filling: float


_COSTS = {
    Isa.SCALAR: Costs(
        3.5,
        100,
        2.9,
        150,
        12,
        0,
        1,
        8,
        10,
        call=280,
        column=0,
        shallow=0,
        batch=1500,
        spare=0,
        portion=0,
        share=0,
        filling=0,
    ),
    Isa.DSP: Costs(
        0.93,
        12,
        1.3,
        58,
        2.4,
        30,
        1,
        2,
        3,
        call=190,
        column=0,
        shallow=0,
        batch=240,
        spare=1,
        portion=0,
        share=25,
        filling=0,
    ),
    Isa.MVE: Costs(
        0.116,
        3.1,
        0.4,
        11,
        0.4,
        22,
        2,
        0.45,
        1.2,
        call=300,
        column=12,
        shallow=38,
        batch=120,
        spare=0.11,
        portion=620,
        share=12,
        filling=0.25,
    ),
}

_TURN = 100
"""Of the interpreter of stages."""

_WAIT = 115
"""Of the same for a row from outside or one that goes there."""

_BAND = 100
"""Of a kernel around its inner loops."""

_MOVED = 320
"""Of the same and the interpreter, where arguments move along."""

_PIXEL = 220
"""Of a depthwise convolution, around a row of a single pixel."""

_SHALLOW = 32
"""Depths of a matrix product whose weights stay in registers with MVE, at most."""

_INTERLEAVING = 0.25
"""Part of a depthwise convolution at stride 2 with the DSP extension."""


def effort(node: Node, calls: Sequence[KernelCall], isa: Isa) -> float:
    """Instructions of a node."""
    costs = _COSTS[isa]
    if isinstance(node.op, Feed | Drain):
        return 0
    outputs = sum(tensor.numel for tensor in node.outputs)
    if node.op.macs:
        shape = node.outputs[0].shape
        if not any(call.microkernel in GEMMS for call in calls):
            # A column of pixels is computed as a row of them.
            width = max(shape[1:3]) if len(shape) == 4 and 1 in shape[1:3] else shape[-2:][0]
            lines = outputs // (width if len(shape) > 1 else 1)
            strided = any(dict(call.arguments).get("stride_height") == 2 for call in calls)
            taps = node.op.macs * (costs.strided if strided else 1)
            return taps * costs.tap + lines * costs.line
        found = node.op.macs * costs.product + outputs * costs.output
        gathering = [dict(call.arguments) for call in calls if _scratch(call)]
        for words in gathering:
            patches = outputs // shape[-1] / len(gathering)
            bytes_, segments = words["patch_stride"], words["kernel_height"]
            assert isinstance(bytes_, int) and isinstance(segments, int)
            found += patches * (bytes_ * costs.gathered + segments * costs.segment)
        return found
    if isinstance(node.op, Pool2d):
        return outputs * node.op.window.area * costs.pooled
    return sum(tensor.nbytes for tensor in node.outputs) * costs.byte


def _scratch(call: KernelCall) -> GrowableScratch | None:
    return next((word for _, word in call.arguments if isinstance(word, GrowableScratch)), None)


@lru_cache(maxsize=1 << 16)
def _batches(pixels: int, patches: int, stride: int, pixel: int) -> int:
    """Of patches for some outputs: convolve_patches in runtime/kernels/conv2d.c."""
    count = 0
    while pixels > 0:
        spare = (pixels * pixel - (ALIGN - 1)) // (stride + pixel) if pixel else 0
        pixels -= max(patches, spare - spare % 2)
        count += 1
    return count


def _product(words: Mapping[str, Word], isa: Isa) -> float:
    """Instructions of the matrix product of a convolution, around those for its rows."""
    costs, columns, depth = _COSTS[isa], words["output.channels"], words["patch_stride"]
    assert isinstance(columns, int) and isinstance(depth, int)
    return costs.call + columns * (costs.shallow if depth <= _SHALLOW else costs.column)


@dataclass(frozen=True)
class Portions:
    """How a depthwise convolution divides rows of outputs.

    Attributes:
        instructions: for a portion of all bands of rows.
        each, unit, most: columns and bytes of a unit of scratch, and how many units are of use.
        width: columns.
    """

    instructions: float
    each: int
    unit: int
    most: int
    width: int

    @classmethod
    def of(cls, node: Node, call: KernelCall, isa: Isa, most: int) -> Portions | None:
        """
        Args:
            most: rows that are asked for at once.
        """
        scratch, words = _scratch(call), dict(call.arguments)
        columns = words.get("chunk")
        if scratch is None or not isinstance(columns, ScratchCount):
            return None
        _, height, width, channels = node.outputs[0].shape
        band = words["band"]
        assert isinstance(band, int)
        costs, bands = _COSTS[isa], -(-height // min(band, most))
        instructions = bands * (costs.portion + channels * costs.share)
        return cls(instructions, columns.each, scratch.unit, scratch.most, width)

    def more(self, _bands: Mapping[int, int], units: int) -> float:
        """Instructions more than with all scratch that is of use."""
        count = -(-self.width // (self.each * units)) - -(-self.width // (self.each * self.most))
        return count * self.instructions

    def more_whole(self, units: int) -> float:
        return self.more({}, units)


@dataclass(frozen=True)
class Patches:
    """How a convolution gathers patches.

    Attributes:
        instructions: for a batch.
        each, unit, most: patches and bytes of a unit of scratch, and how many units are of use.
        stride: bytes of a patch.
        pixel: bytes of an output in whose place patches may lie; 0 if they may not.
        whole: outputs.
    """

    instructions: float
    each: int
    unit: int
    most: int
    stride: int
    pixel: int
    whole: int

    @classmethod
    def of(cls, node: Node, call: KernelCall, isa: Isa) -> Patches | None:
        scratch = _scratch(call)
        if scratch is None or call.microkernel not in GEMMS:
            return None
        words = dict(call.arguments)
        channels, costs = words["output.channels"], _COSTS[isa]
        stride, width, height = (
            words[name] for name in ("patch_stride", "output.width", "output.height")
        )
        assert isinstance(channels, int) and isinstance(stride, int)
        assert isinstance(width, int) and isinstance(height, int)
        each = next(word.each for word in words.values() if isinstance(word, ScratchCount))
        return cls(
            costs.batch + _product(words, isa),
            each,
            scratch.unit,
            scratch.most,
            stride,
            channels if words["output_pixel"] == channels else 0,
            node.outputs[0].shape[0] * height * width,
        )

    def batches(self, pixels: int, units: int) -> int:
        return _batches(pixels, self.each * units, self.stride, self.pixel)

    def more(self, bands: Mapping[int, int], units: int) -> float:
        """Instructions more than as a whole with all scratch that is of use.

        Args:
            bands: how often how many outputs are computed at once.
        """
        needed = sum(count * self.batches(pixels, units) for pixels, count in bands.items())
        return max(0, needed - self._fewest) * self.instructions

    def more_whole(self, units: int) -> float:
        """The same for all outputs at once."""
        return self.more({self.whole: 1}, units)

    @cached_property
    def _fewest(self) -> int:
        return self.batches(self.whole, self.most)


@dataclass(frozen=True, slots=True)
class Surcharge:
    """Instructions of computing a node in bands of rows, more than as a whole.

    Attributes:
        fixed: those that do not depend on memory.
        growth: what takes fewer instructions with more scratch, if anything does.
        bands: how often how many outputs are computed at once.
    """

    fixed: float
    growth: Patches | Portions | None
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


def growth(node: Node, call: KernelCall, isa: Isa) -> Patches | Portions | None:
    """What more scratch is worth to a call; None unless it makes an image."""
    if len(node.outputs[0].shape) != 4:
        return None
    return Patches.of(node, call, isa) or Portions.of(node, call, isa, node.outputs[0].shape[1])


def surcharge(node: Node, call: RowCall, isa: Isa, rings: tuple[int, int] = (0, 0)) -> Surcharge:
    """
    Args:
        rings: rows of the rings that it reads from and writes to; 0 for whole images.
    """
    costs = _COSTS[isa]
    first, last = call.call.rows
    rows = last - first
    if call.call.kernel in OUTSIDE:
        return Surcharge(rows * _WAIT, None, {})
    turns = -(-rows // call.band)
    if call.call.microkernel not in GEMMS:
        kinds = {type(word) for _, word in call.call.arguments}
        moves = RowAddress in kinds
        calls = rows if moves and RowCount not in kinds else turns
        fixed: float = turns * _TURN + calls * (_MOVED if moves else _BAND)
        if dict(call.call.arguments).get("output.width") == 1 and node.op.macs:
            fixed += rows * _PIXEL
        words = dict(call.call.arguments)
        best, together = words.get("band", 1), words.get("bands", 1)
        if isinstance(best, int):
            # It takes as long for a row as for all that its kernel suits, unless these share just
            # the interleaving of one row of the input.
            alone = _INTERLEAVING if words.get("stride_height") == 2 else 1
            more = alone * _in_vain(rows, call.band, best)
            if not more and isinstance(together, int):
                more = costs.filling * _in_vain(rows, call.band, best * together)
            fixed += effort(node, [call.call], isa) * more
        return Surcharge(fixed, Portions.of(node, call.call, isa, call.band), {})
    words = dict(call.call.arguments)
    width, channels = words["output.width"], words["output.channels"]
    assert isinstance(width, int) and isinstance(channels, int)
    patches = Patches.of(node, call.call, isa)
    heights = _heights(rows, call.band, rings if patches is None else (0, rings[1]))
    pixels = prod(node.outputs[0].shape[:3])
    depth = node.op.macs // (pixels * channels)
    spare = sum(n * spare_rows(height * width, depth, isa) for height, n in heights.items())
    spare = max(0, spare - spare_rows(rows * width, depth, isa))
    fixed = turns * _TURN + spare * costs.spare * node.op.macs / pixels
    if patches is not None:
        return Surcharge(fixed, patches, {height * width: n for height, n in heights.items()})
    if words["stride_height"] == words["stride_width"] == 1:
        fixed += (heights.total() - 1) * _product(words, isa)
    return Surcharge(fixed, None, {})


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
