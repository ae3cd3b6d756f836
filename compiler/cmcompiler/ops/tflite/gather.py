"""GATHER and GATHER_ND."""

from __future__ import annotations

from math import prod

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.gather import Gather, Places
from cmcompiler.ops.support.movement import move
from cmcompiler.ops.tflite._scales import tflite_op

MOST_COPIES = 16
"""Constant indices that are copied one by one."""


@tflite_op("GATHER")
def read_gather(call: Call) -> None:
    source, indices, output = _read(call)
    axis, batches = call.dimension("axis", source.rank), _batch_dimensions(call, indices)
    if axis < batches or source.shape[:batches] != indices.shape[:batches]:
        call.invalid(f"{list(source.shape)} at {list(indices.shape)} in {batches} batch dimensions")
    _emit(call, source, indices, output, axis=axis, batches=batches)


@tflite_op("GATHER_ND")
def read_gather_nd(call: Call) -> None:
    """Places in the first dimensions; more than one of them have to be constants."""
    source, indices, output = _read(call)
    depth = indices.shape[-1] if indices.rank else 0
    if not 1 <= depth <= source.rank:
        call.invalid(f"{list(source.shape)} at {list(indices.shape)}")
    sizes, places = source.shape[:depth], indices.shape[:-1]
    if depth == 1:
        first = call.reshape(indices, places)
    else:
        known = call.constant("indices")
        if not np.all((known >= 0) & (known < sizes)):
            call.invalid(f"indices {known.min()} to {known.max()} of {list(sizes)} elements")
        flat = np.ravel_multi_index(tuple(np.moveaxis(known, -1, 0)), sizes)
        first = call.literal(flat.astype(indices.dtype))
    rows = call.reshape(source, (prod(sizes), *source.shape[depth:]))
    _emit(call, rows, first, output, axis=0, batches=0)


def _read(call: Call) -> tuple[Operand, Operand, Operand]:
    """The input, the indices and the output."""
    indices = call.tensor("indices")
    if indices.dtype not in (np.int32, np.int64):
        call.wrong_type(f"indices of {indices.dtype.name}")
    return call.tensor("input"), indices, call.output("out")


def _emit(
    call: Call, source: Operand, indices: Operand, output: Operand, *, axis: int, batches: int
) -> None:
    """Emits what an axis has at the indices, beside shared first dimensions."""
    length = source.shape[axis]
    end = axis + indices.rank - batches
    shape = (*source.shape[:axis], *indices.shape[batches:], *source.shape[axis + 1 :])
    if output.shape != shape or output.dtype != source.dtype:
        call.invalid(f"{list(source.shape)} at {list(indices.shape)} to {list(output.shape)}")
    known = indices.data
    if known is not None and known.size and not 0 <= known.min() <= known.max() < length:
        call.invalid(f"indices {known.min()} to {known.max()} of {length} elements")
    if length == 0 and output.numel:
        call.invalid("an index of an empty dimension")
    if known is not None and known.size <= MOST_COPIES and indices.rank == 1 > batches:
        reads, writes = Strided.of(source), Strided.of(output)
        pieces = [
            (source, reads.slice(axis, int(place), 1), writes.slice(axis, i, 1))
            for i, place in enumerate(known)
        ]
        move(call, "gather", output, pieces)
        return
    window, chosen = Strided.of(source).select(axis, 0), Strided.of(indices)
    stride = source.strides[axis]
    for dim, size in enumerate(shape[axis:end], axis):
        window = window.insert(dim, size)
    for dim, size in enumerate(shape):
        if not (dim < batches or axis <= dim < end):
            chosen = chosen.insert(dim, size)
    loops = Loops.over(window, chosen, Strided.of(output))
    op = Gather(loops, Places(stride, length), output.tensor.shape)
    call.emit(op, [source.tensor, indices.tensor], [output.tensor])


def _batch_dimensions(call: Call, indices: Operand) -> int:
    """How many of the first dimensions the indices share with the input."""
    count = call.integer("batch_dims")
    if not -indices.rank <= count <= indices.rank:
        call.invalid(f"{count} batch dimensions of {indices.rank}")
    return count + indices.rank if count < 0 else count
