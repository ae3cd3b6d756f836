"""Instructions, roughly: of nodes, and of computing them in bands of rows.

The constants were fitted to counts of the zoo's models; they err towards too few for whole nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import GrowableScratch, KernelCall, RowAddress, RowCall, ScratchCount
from cmcompiler.isa import Isa
from cmcompiler.ops.support.packing import GEMM


@dataclass(frozen=True, slots=True)
class Costs:
    """Of kernels with an instruction set.

    Attributes:
        product, tap: instructions for a product of a matrix or of another convolution.
        byte: written by another op.
        call, column: of a matrix product, and for each of its columns.
        batch: of patches, to gather them.
        odd: instructions for each product of the last row, if the number of rows is odd.
    """

    product: float
    tap: float
    byte: float
    call: float
    column: float
    batch: float
    odd: float


_COSTS = {
    Isa.SCALAR: Costs(product=3.4, tap=8, byte=10, call=280, column=0, batch=1500, odd=0),
    Isa.DSP: Costs(product=0.9, tap=2, byte=3, call=190, column=0, batch=160, odd=0.5),
    Isa.MVE: Costs(product=0.14, tap=0.4, byte=1.2, call=330, column=12, batch=150, odd=0.11),
}

_TURN = 150
"""Of the interpreter of stages."""

_BAND = 110
"""Of a kernel around its inner loops."""


def effort(node: Node, calls: Sequence[KernelCall], isa: Isa) -> float:
    """Instructions of a node."""
    costs = _COSTS[isa]
    if node.op.macs:
        is_product = any(call.microkernel is GEMM for call in calls)
        return node.op.macs * (costs.product if is_product else costs.tap)
    return sum(tensor.nbytes for tensor in node.outputs) * costs.byte


@dataclass(frozen=True, slots=True)
class Surcharge:
    """Instructions of computing a node in bands of rows, more than as a whole.

    Attributes:
        fixed: those that do not depend on memory.
        turns: bands of patches.
        pixels: patches of a band.
        batch: instructions for each batch of patches.
        whole: batches of the node as a whole.
        unit, each, most: bytes of a unit of scratch, its patches, and how many units are of use.
    """

    fixed: float
    turns: int = 0
    pixels: int = 0
    batch: float = 0
    whole: int = 0
    unit: int = 1
    each: int = 0
    most: int = 0

    def at(self, room: int) -> float:
        """
        Args:
            room: bytes for scratch beside the least.
        """
        if not self.turns:
            return self.fixed
        patches = self.each * min(self.most, 1 + room // self.unit)
        batches = self.turns * -(-self.pixels // patches)
        return self.fixed + max(0, batches - self.whole) * self.batch


def surcharge(node: Node, call: RowCall, isa: Isa) -> Surcharge:
    costs = _COSTS[isa]
    rows = call.call.rows[1] - call.call.rows[0]
    turns = -(-rows // call.band)
    if call.call.microkernel is not GEMM:
        single = any(isinstance(word, RowAddress) for _, word in call.call.arguments)
        return Surcharge((rows if single else turns) * (_TURN + _BAND))
    _, _, width, channels = node.outputs[0].shape
    pixels, one = width * call.band, costs.call + costs.column * channels
    odd = costs.odd * node.op.macs / (rows * width) if pixels % 2 else 0
    fixed = turns * (_TURN + odd)
    words = [word for _, word in call.call.arguments]
    scratch = next((word for word in words if isinstance(word, GrowableScratch)), None)
    if scratch is None:
        return Surcharge(fixed + (turns - 1) * one)
    each = next(word.each for word in words if isinstance(word, ScratchCount))
    whole = -(-rows * width // (each * scratch.most))
    one += costs.batch
    return Surcharge(fixed, turns, pixels, one, whole, scratch.unit, each, scratch.most)
