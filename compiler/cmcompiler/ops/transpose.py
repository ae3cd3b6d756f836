"""Permuted dimensions: cortex_m::transpose and its kin."""

from __future__ import annotations

from collections.abc import Sequence

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.copy import is_unmoved
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.operand import Operand


@program_op("cortex_m::transpose.out(Tensor input, int[] perm, *, Tensor(a!) out)")
def read_transpose(call: Call) -> None:
    _permute(call, call.tensor("input"), call.integers("perm"))


@program_op("aten::permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out)")
def read_permute(call: Call) -> None:
    _permute(call, call.tensor("self"), call.integers("dims"))


@program_op("aten::transpose_copy.int_out(Tensor self, int dim0, int dim1, *, Tensor(a!) out)")
def read_swap(call: Call) -> None:
    source = call.tensor("self")
    order = list(range(source.rank))
    if order:
        first, second = (call.dimension(name, source.rank) for name in ("dim0", "dim1"))
        order[first], order[second] = order[second], order[first]
    _permute(call, source, order)


@program_op("aten::t_copy.out(Tensor self, *, Tensor(a!) out)")
def read_t(call: Call) -> None:
    source = call.tensor("self")
    _permute(call, source, tuple(reversed(range(source.rank))))


def _permute(call: Call, source: Operand, order: Sequence[int]) -> None:
    dims = [dim + source.rank if dim < 0 else dim for dim in order]
    if sorted(dims) != list(range(source.rank)):
        call.invalid(f"{list(order)} is not a permutation of {source.rank} dimensions")
    output = call.output("out")
    reads, writes = Strided.of(source).permute(dims), Strided.of(output)
    if reads.shape != writes.shape or source.dtype != output.dtype:
        call.invalid(f"output is {output.dtype.name}{list(output.shape)}")
    if is_unmoved(reads, writes):
        call.emit(View(output.tensor.shape), [source.tensor], [output.tensor])
        return
    axes = tuple(source.physical_axis(dims[dim]) for dim in output.dim_order)
    call.emit(Transpose(axes), [source.tensor], [output.tensor])
