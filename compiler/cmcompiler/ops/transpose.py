"""Permuted dimensions: cortex_m::transpose and its kin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cmcompiler.graph.graph import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.base import KernelCall, Op, program_op
from cmcompiler.ops.copy import copy_call, is_unmoved
from cmcompiler.ops.loops import Strided
from cmcompiler.ops.view import View

if TYPE_CHECKING:
    from cmcompiler.graph.call import Call, Operand


@dataclass(frozen=True)
class Transpose(Op):
    """Dimension i of the output is dimension order[i] of the input, both physical."""

    label: ClassVar[str] = "transpose"

    order: tuple[int, ...]

    def reference(self, *inputs: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        return (np.ascontiguousarray(inputs[0].transpose(self.order)),)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        source, output = inputs[0], outputs[0]
        reads = Strided.dense(source.shape).permute(self.order)
        return copy_call(source, reads, output, Strided.dense(output.shape))


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
        call.invalid(f"{list(order)} is no order of {source.rank} dimensions")
    output = call.output("out")
    reads, writes = Strided.of(source).permute(dims), Strided.of(output)
    if reads.shape != writes.shape or source.dtype != output.dtype:
        call.invalid(f"output is {output.dtype.name}{list(output.shape)}")
    if is_unmoved(reads, writes):
        call.emit(View(output.tensor.shape), [source.tensor], [output.tensor])
        return
    axes = tuple(source.physical_axis(dims[dim]) for dim in output.dim_order)
    call.emit(Transpose(axes), [source.tensor], [output.tensor])
