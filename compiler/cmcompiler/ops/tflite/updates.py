"""DYNAMIC_UPDATE_SLICE: a tensor with a part of it replaced, from a place that may be computed."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.binary import BinaryFunction, emit_binary
from cmcompiler.ops.gather import Indexed, Places
from cmcompiler.ops.scatter import emit_scatter
from cmcompiler.ops.support.element import INTEGER
from cmcompiler.ops.support.movement import move
from cmcompiler.ops.tflite._scales import tflite_op


@tflite_op("DYNAMIC_UPDATE_SLICE")
def read_dynamic_update_slice(call: Call) -> None:
    source, part, output = call.tensor("input"), call.tensor("update"), call.output("out")
    starts = call.tensor("start")
    if starts.dtype not in (np.int32, np.int64):
        call.wrong_type(f"places of {starts.dtype.name}")
    is_same = source.dtype == part.dtype == output.dtype and source.shape == output.shape
    if not is_same or part.rank != source.rank or starts.shape != (source.rank,):
        call.invalid(f"{list(part.shape)} in {list(source.shape)} to {list(output.shape)}")
    # The part is moved until it lies inside.
    most = [size - held for size, held in zip(source.shape, part.shape, strict=True)]
    if min(most, default=0) < 0:
        call.invalid(f"{list(part.shape)} in {list(source.shape)}")
    if starts.data is not None:
        writes = Strided.of(output)
        for dim, start in enumerate(np.clip(starts.data, 0, most)):
            writes = writes.slice(dim, int(start), part.shape[dim])
        whole = source, Strided.of(source), Strided.of(output)
        move(call, "scatter", output, [whole, (part, Strided.of(part), writes)])
        return
    window = Strided.of(source)
    for dim, size in enumerate(part.shape):
        window = window.slice(dim, 0, size)
    index = _offset(call, source, starts, most)
    everywhere = Strided.of(index).broadcast(part.shape)
    chosen = Indexed(window, index, everywhere, Places(1, source.numel))
    emit_scatter(call, source, chosen, (part, Strided.of(part)), adds=False)


def _offset(call: Call, source: Operand, starts: Operand, most: list[int]) -> Operand:
    """From the first element to the one where the part begins."""
    above, inside, scaled = (call.intermediate(INTEGER, starts.shape, (0,)) for _ in range(3))
    emit_binary(call, BinaryFunction.MAXIMUM, starts, 0, above)
    emit_binary(call, BinaryFunction.MINIMUM, above, call.literal(np.array(most)), inside)
    strides = call.literal(np.array(source.strides))
    emit_binary(call, BinaryFunction.MUL, inside, strides, scaled)
    total: Operand | None = None
    for dim in (dim for dim, distance in enumerate(most) if distance):
        offset = call.intermediate(INTEGER, (), ())
        move(
            call, "slice", offset, [(scaled, Strided.of(scaled).select(0, dim), Strided.of(offset))]
        )
        if total is not None:
            added = call.intermediate(INTEGER, (), ())
            emit_binary(call, BinaryFunction.ADD, total, offset, added)
            offset = added
        total = offset
    return call.literal(np.array(0)) if total is None else total
