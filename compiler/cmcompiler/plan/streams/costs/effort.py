"""Instructions, roughly, of whole nodes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import GrowableScratch, KernelCall
from cmcompiler.isa import Isa
from cmcompiler.ops.drain import Drain
from cmcompiler.ops.feed import Feed
from cmcompiler.ops.support.packing import GEMMS, GEMVS
from cmcompiler.ops.support.pooling import Pool2d
from cmcompiler.plan.streams.costs.products import strip_cost, strip_pixels_cost
from cmcompiler.plan.streams.costs.rates import RATES


def effort(node: Node, calls: Sequence[KernelCall], isa: Isa) -> float:
    """Instructions of a node."""
    rates = RATES[isa]
    if isinstance(node.op, Feed | Drain):
        return 0
    outputs = sum(tensor.numel for tensor in node.outputs)
    if node.op.macs:
        shape = node.outputs[0].shape
        if any(call.microkernel in GEMVS for call in calls):
            return node.op.macs * rates.vector
        if not any(call.microkernel in GEMMS for call in calls):
            # A column of pixels is computed as a row of them.
            width = max(shape[1:3]) if len(shape) == 4 and 1 in shape[1:3] else shape[-2:][0]
            lines = outputs // (width if len(shape) > 1 else 1)
            strided = any(dict(call.arguments).get("stride_height") == 2 for call in calls)
            taps = node.op.macs * (rates.strided if strided else 1)
            return taps * rates.tap + lines * rates.line
        found = node.op.macs * rates.product + outputs * rates.output
        gathering = [dict(call.arguments) for call in calls if growable_scratch(call)]
        for words in gathering:
            if "strip" in words:
                rows = prod(shape[:2])
                found += rows * (strip_cost(words, isa) + strip_pixels_cost(words, isa))
                continue
            patches = outputs // shape[-1] / len(gathering)
            bytes_, segments = words["patch_stride"], words["kernel_height"]
            assert isinstance(bytes_, int) and isinstance(segments, int)
            found += patches * (bytes_ * rates.gathered + segments * rates.segment)
        return found
    if isinstance(node.op, Pool2d):
        return outputs * node.op.window.area * rates.pooled
    return sum(tensor.nbytes for tensor in node.outputs) * rates.byte


def growable_scratch(call: KernelCall) -> GrowableScratch | None:
    return next((word for _, word in call.arguments if isinstance(word, GrowableScratch)), None)
