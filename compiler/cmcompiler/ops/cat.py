"""Tensors one after the other along a dimension, converted to one type: cat and stack."""

from __future__ import annotations

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ops.cast import cast
from cmcompiler.ops.support.movement import move


@program_op(
    "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out)",
    "cmbuild::cat_states.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out)",
)
def read_cat(call: Call) -> None:
    output = call.output("out")
    dim = call.dimension("dim", output.rank)
    # An empty tensor of one dimension may stand among others of any rank.
    sources = [x for x in call.tensors("tensors") if x.shape != (0,) or output.rank == 1]
    if any(source.rank != output.rank for source in sources) or output.shape[dim] != sum(
        source.shape[dim] for source in sources
    ):
        call.invalid(f"{[list(x.shape) for x in sources]} do not add up to the output")
    writes, start, pieces = Strided.of(output), 0, []
    for source in sources:
        part = writes.slice(dim, start, source.shape[dim])
        pieces.append((cast(call, source, output.dtype), Strided.of(source), part))
        start += source.shape[dim]
    move(call, "cat", output, pieces)


@program_op("aten::stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out)")
def read_stack(call: Call) -> None:
    output = call.output("out")
    dim = call.dimension("dim", output.rank)
    sources = [cast(call, x, output.dtype) for x in call.tensors("tensors")]
    if output.shape[dim] != len(sources):
        call.invalid(f"{len(sources)} tensors for {list(output.shape)}")
    writes = Strided.of(output)
    pieces = [(x, Strided.of(x), writes.select(dim, i)) for i, x in enumerate(sources)]
    move(call, "stack", output, pieces)
