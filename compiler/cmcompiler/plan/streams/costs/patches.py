"""How a convolution gathers patches, and what it takes more to do so in several batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import ALIGN, KernelCall, ScratchCount
from cmcompiler.isa import Isa
from cmcompiler.plan.streams.costs.effort import growable_scratch
from cmcompiler.plan.streams.costs.products import batch_cost
from cmcompiler.plan.streams.costs.rates import RATES


@lru_cache(maxsize=1 << 16)
def _batches(pixels: int, patches: int, stride: int, pixel: int) -> int:
    """Of patches for some outputs: convolve_patches in runtime/kernels/conv2d.c."""
    count = 0
    while pixels > 0:
        spare = (pixels * pixel - (ALIGN - 1)) // (stride + pixel) if pixel else 0
        pixels -= max(patches, spare - spare % 4)
        count += 1
    return count


@dataclass(frozen=True)
class Patches:
    """How a convolution gathers patches.

    Attributes:
        instructions, split: for a batch, and more for each beyond one a row.
        each, unit, most: patches and bytes of a unit of scratch, and how many units are of use.
        stride: bytes of a patch.
        pixel: bytes of an output in whose place patches may lie; 0 if they may not.
        width, whole: outputs of a row, and all.
    """

    instructions: float
    split: float
    each: int
    unit: int
    most: int
    stride: int
    pixel: int
    width: int
    whole: int

    @classmethod
    def of(cls, node: Node, call: KernelCall, isa: Isa) -> Patches | None:
        scratch = growable_scratch(call)
        words = dict(call.arguments)
        if scratch is None or "patches" not in words:
            return None
        channels, stride, width, height = (
            words[name]
            for name in ("output.channels", "patch_stride", "output.width", "output.height")
        )
        assert isinstance(channels, int) and isinstance(stride, int)
        assert isinstance(width, int) and isinstance(height, int)
        each = next(word.each for word in words.values() if isinstance(word, ScratchCount))
        return cls(
            batch_cost(words, isa),
            RATES[isa].split,
            each,
            scratch.unit,
            scratch.most,
            stride,
            channels if words["output_pixel"] == channels else 0,
            width,
            node.outputs[0].shape[0] * height * width,
        )

    def _cost(self, pixels: int, units: int) -> float:
        """Of some outputs that are computed at once."""
        batches = _batches(pixels, self.each * units, self.stride, self.pixel)
        splits = max(0, batches - -(-pixels // self.width))
        return batches * self.instructions + splits * self.split

    def more(self, bands: Mapping[int, int], units: int) -> float:
        """Instructions more than as a whole with all scratch that is of use.

        Args:
            bands: how often how many outputs are computed at once.
        """
        needed = sum(count * self._cost(pixels, units) for pixels, count in bands.items())
        return max(0.0, needed - self._least)

    def more_whole(self, units: int) -> float:
        """The same for all outputs at once."""
        return self.more({self.whole: 1}, units)

    @cached_property
    def _least(self) -> float:
        return self._cost(self.whole, self.most)
