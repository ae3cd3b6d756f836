"""Tensors repeated along dimensions: expand and repeat."""

from __future__ import annotations

from collections.abc import Sequence

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.support.movement import broadcast, move


@program_op(
    "aten::expand_copy.out(Tensor self, int[] size, *, bool implicit=False, Tensor(a!) out)"
)
def read_expand(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    reads = broadcast(call, source, output.shape)
    move(call, "expand", output, [(source, reads, Strided.of(output))])


@program_op("aten::repeat.out(Tensor self, int[] repeats, *, Tensor(a!) out)")
def read_repeat(call: Call) -> None:
    output = call.output("out")
    repeat(call, call.tensor("self"), call.integers("repeats", output.rank, 0), output)


def repeat(call: Call, source: Operand, repeats: Sequence[int], output: Operand) -> None:
    """Emits the whole tensor written several times along each dimension of the output."""
    sizes = (1,) * (output.rank - source.rank) + source.shape
    if len(sizes) != output.rank or output.shape != tuple(
        n * size for n, size in zip(repeats, sizes, strict=True)
    ):
        call.invalid(f"{list(source.shape)} × {list(repeats)} is not {list(output.shape)}")
    reads, writes = Strided.of(source).broadcast(sizes), Strided.of(output)
    # Every dimension of the output as two: which repetition, and the index within it.
    for dim, (count, size) in reversed(list(enumerate(zip(repeats, sizes, strict=True)))):
        reads = reads.insert(dim, count)
        writes = writes.split(dim, size) if size else writes.insert(dim, count)
    move(call, "repeat", output, [(source, reads, writes)])
