"""Margins of a constant around a tensor: cortex_m::pad."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.support.element import converted
from cmcompiler.ops.support.movement import move

IN_NHWC = (0, 3, 1, 2)
"""Where N, C, H and W are."""


@program_op(
    "cortex_m::pad.out(Tensor input, int[] pre_pad, int[] post_pad, int pad_value, *, "
    "Tensor(a!) out)"
)
def read(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    before, after = call.integers("pre_pad", 4), call.integers("post_pad", 4)
    if source.rank > 4:
        call.unsupported(f"input has {source.rank} dimensions")
    if _has_nhwc_margins(source):
        before, after = (tuple(pads[place] for place in IN_NHWC) for pads in (before, after))
    limits = np.iinfo(np.int16 if source.dtype == np.int16 else np.int8)
    value = call.integer("pad_value", limits.min, limits.max)
    skip = 4 - source.rank
    _emit(call, source, output, list(zip(before, after, strict=True))[skip:], value)


@program_op("aten::constant_pad_nd.out(Tensor self, int[] pad, Scalar value=0, *, Tensor(a!) out)")
def read_portable(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    pads = call.integers("pad")
    if len(pads) % 2 or len(pads) > 2 * source.rank:
        call.invalid(f"{len(pads)} margins for {source.rank} dimensions")
    rest = (0,) * (source.rank - len(pads) // 2)
    margins = zip((*rest, *pads[-2::-2]), (*rest, *pads[::-2]), strict=True)
    _emit(call, source, output, list(margins), call.scalar("value"))


def _emit(
    call: Call,
    source: Operand,
    output: Operand,
    margins: Sequence[tuple[int, int]],
    value: int | float | bool,
) -> None:
    """Margins (before, after) per logical dimension; negative ones cut."""
    sizes = [n + sum(margin) for n, margin in zip(source.shape, margins, strict=True)]
    if list(output.shape) != sizes:
        call.invalid(f"output is {list(output.shape)}, not {sizes}")
    reads, writes = Strided.of(source), Strided.of(output)
    for dim, (first, last) in enumerate(margins):
        start, stop = max(0, -first), source.shape[dim] - max(0, -last)
        reads = reads.slice(dim, start, max(0, stop - start))
        writes = writes.slice(dim, max(0, first), max(0, stop - start))
    # The value may be of another type than the tensor, but it must be one of its numbers.
    fill = converted(np.array(value), output.dtype).item()
    move(call, "pad", output, [(source, reads, writes)], fill)


def _has_nhwc_margins(source: Operand) -> bool:
    """Whether the exporter took a tensor for channels-last, and so gave its margins as NHWC."""
    if source.rank != 4:
        return False
    _, channels, height, width = source.shape
    return channels == 1 or height == width == 1 or source.dim_order[:2] == (0, 2)
