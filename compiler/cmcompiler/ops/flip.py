"""Tensors backwards or rotated along dimensions: flip and roll."""

from __future__ import annotations

from itertools import product

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ops.support.movement import move


@program_op("aten::flip.out(Tensor self, int[] dims, *, Tensor(a!) out)")
def read_flip(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    reads = Strided.of(source)
    for dim in call.dimensions("dims", source.rank):
        reads = reads.flip(dim)
    move(call, "flip", output, [(source, reads, Strided.of(output))])


@program_op("aten::roll.out(Tensor self, int[1] shifts, int[1] dims=[], *, Tensor(a!) out)")
def read_roll(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    dims, shifts = call.dimensions("dims", source.rank), call.integers("shifts")
    if len(dims) != len(shifts):
        call.unsupported(f"{len(shifts)} shifts of {len(dims)} dimensions")
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    # Each dimension in two parts that change places.
    parts = []
    for dim, shift in zip(dims, shifts, strict=True):
        size = source.shape[dim]
        moved = shift % size if size else 0
        parts.append(((dim, 0, moved, size - moved), (dim, size - moved, 0, moved)))
    pieces = []
    for choice in product(*parts):
        reads, writes = Strided.of(source), Strided.of(output)
        for dim, start, target, count in choice:
            reads, writes = reads.slice(dim, start, count), writes.slice(dim, target, count)
        pieces.append((source, reads, writes))
    move(call, "roll", output, pieces)
