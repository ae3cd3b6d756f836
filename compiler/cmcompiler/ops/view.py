"""The same bytes under another shape: views that programs elide, and aten's view-like operators.

Parts of a tensor that lie together are views as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt

from cmcompiler.graph.call import Operand
from cmcompiler.graph.graph import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.base import KernelCall, Op, program_op

if TYPE_CHECKING:
    from cmcompiler.graph.call import Call


@dataclass(frozen=True)
class View(Op):
    """The input's memory, unmoved, read as an array of another physical shape.

    Attributes:
        shape: physical shape of the output, with as many elements as the input's.
    """

    label: ClassVar[str] = "view"

    shape: tuple[int, ...]

    @property
    def view_of(self) -> int | None:
        return 0

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        return (inputs[0].reshape(self.shape),)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        return ()


@dataclass(frozen=True)
class Part(Op):
    """Elements that lie together in the input's memory, unmoved, as an array.

    Attributes:
        shape: physical shape of the output.
        offset: bytes from the input's first element; a multiple of ALIGN.
    """

    label: ClassVar[str] = "part"

    shape: tuple[int, ...]
    offset: int

    @property
    def view_of(self) -> int | None:
        return 0

    @property
    def view_offset(self) -> int:
        return self.offset

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        first = self.offset // inputs[0].itemsize
        elements = inputs[0].reshape(-1)[first : first + prod(self.shape)]
        return (elements.reshape(self.shape),)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        return ()


@program_op(
    "aten::view_copy.out(Tensor self, int[] size, *, Tensor(a!) out)",
    "aten::squeeze_copy.out(Tensor self, *, Tensor(a!) out)",
    "aten::squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out)",
    "aten::squeeze_copy.dims_out(Tensor self, int[] dim, *, Tensor(a!) out)",
    "aten::unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out)",
    "aten::clone.out(Tensor self, *, MemoryFormat? memory_format=None, Tensor(a!) out)",
    "aten::alias_copy.out(Tensor self, *, Tensor(a!) out)",
    "aten::detach_copy.out(Tensor self, *, Tensor(a!) out)",
    "aten::lift_fresh_copy.out(Tensor self, *, Tensor(a!) out)",
    "dim_order_ops::_clone_dim_order.out(Tensor self, *, bool non_blocking=False, "
    "int[]? dim_order=None, Tensor(a!) out)",
    "executorch_prim::et_view.default(Tensor self, int[] size, Tensor out)",
)
def read(call: Call) -> None:
    """The elements in their logical order, under the shape and dim order of the output."""
    source, output = call.tensor("self"), call.output("out")
    if source.numel != output.numel or source.dtype != output.dtype:
        given = f"{source.dtype.name}{list(source.shape)}"
        call.invalid(f"{given} to {output.dtype.name}{list(output.shape)}")
    call.move(reshape(call, source, output.shape), output)


def reshape(call: Call, source: Operand, shape: tuple[int, ...]) -> Operand:
    """The operand under another logical shape, torch's `x.reshape(shape)`.

    Memory stays as it is where only dimensions of size 1 come and go.
    """
    if source.shape == shape:
        return source
    old = [dim for dim, size in enumerate(source.shape) if size != 1]
    new = [dim for dim, size in enumerate(shape) if size != 1]
    order = tuple(range(len(shape)))
    tensor = source.tensor
    if [source.shape[dim] for dim in old] == [shape[dim] for dim in new]:
        ones = [dim for dim, size in enumerate(shape) if size == 1]
        kept = [new[old.index(dim)] for dim in source.dim_order if dim in old]
        order = (*ones, *kept)
    else:
        tensor = call.arrange(source, range(source.rank))
    physical = tuple(shape[dim] for dim in order)
    reshaped = call.temporary(source.dtype, physical)
    call.emit(View(physical), [tensor], [reshaped])
    return Operand(reshaped, shape, order)
