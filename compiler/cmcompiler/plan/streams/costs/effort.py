"""Instructions, roughly, of whole nodes."""

from __future__ import annotations

from collections.abc import Sequence

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import KernelCall
from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseArguments
from cmcompiler.ops.drain import Drain
from cmcompiler.ops.feed import Feed
from cmcompiler.ops.support.depthwise_schemes import ANY
from cmcompiler.ops.support.packing import (
    ALL_GEMMS,
    GEMVS,
    has_row_alone,
    spare_rows,
)
from cmcompiler.ops.support.packing16 import GEMMS16
from cmcompiler.ops.support.pooling import Pool2d
from cmcompiler.plan.streams.costs.growth import growable_scratch
from cmcompiler.plan.streams.costs.rates import RATES, Rates


def effort(node: Node, calls: Sequence[KernelCall], isa: Isa) -> float:
    """Instructions of a node."""
    rates = RATES[isa]
    if isinstance(node.op, Feed | Drain):
        return 0
    outputs = sum(tensor.numel for tensor in node.outputs)
    if node.op.macs:
        if any(call.microkernel in GEMVS for call in calls):
            return node.op.macs * rates.vector
        if not any(call.microkernel in (*ALL_GEMMS, *GEMMS16) for call in calls):
            shape = node.outputs[0].shape
            # A column of pixels is computed as a row of them.
            width = max(shape[1:3]) if len(shape) == 4 and 1 in shape[1:3] else shape[-2:][0]
            lines = outputs // (width if len(shape) > 1 else 1)
            taps = node.op.macs * max((_taps(call, rates) for call in calls), default=1)
            return taps * rates.tap + lines * rates.line
        moved = sum(gathering(call, rates) for call in calls)
        return node.op.macs * rates.product + outputs * rates.output + moved
    if isinstance(node.op, Pool2d):
        return outputs * node.op.window.area * rates.pooled
    return sum(tensor.nbytes for tensor in node.outputs) * rates.byte


def gathering(call: KernelCall, rates: Rates) -> float:
    """Instructions to move what products read: patches, or strips of columns."""
    arguments = call.typed
    if arguments is None or growable_scratch(call) is None:
        return 0
    return arguments.gathering().at(rates.prices(arguments))


def _taps(call: KernelCall, rates: Rates) -> float:
    """As many taps a product of a depthwise convolution takes: with stride 2 it uses fewer of its
    vectors.
    """
    arguments = call.typed
    if not isinstance(arguments, DepthwiseArguments):
        return 1
    if call.microkernel is ANY:
        return rates.general
    return rates.strided if arguments.window.stride_height == 2 else 1


def vain_rows(rows: int, depth: int, isa: Isa) -> float:
    """Rows of a product that are computed in vain, and what threes and a row alone take more."""
    if has_row_alone(rows, isa):
        return RATES[isa].single
    threes = 0 if rows % 4 == 0 else 4 - rows % 4
    return spare_rows(rows, depth, isa) + threes * RATES[isa].three
