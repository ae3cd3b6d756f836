"""Elements in order along a dimension: sort, topk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place
from cmcompiler.ir.movement.loops import Loops, Nest, Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Scratch, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.support.element import FLOAT, INTEGER, check_element, code

FEW = 16
"""Elements up to which a kernel inserts into those found so far: FEW of kernels/sort.c."""

INFINITY_BITS = 0x7F800000
"""Bits of infinity in float32; what is larger without the sign is NaN."""


@dataclass(frozen=True)
class SortArguments(Arguments):
    """Rows, and the first elements of each in order, with their places in it."""

    c_name = "cm_sort"

    input: Place
    values: Place
    places: Place
    scratch: Place
    rows: Annotated[Nest, INLINE]
    length: Int32
    count: Int32
    input_step: Annotated[Int32, "in elements"]
    values_step: Int32
    places_step: Int32
    type: Annotated[Int32, "of the input, enum cm_element"]
    descending: Int32


@dataclass(frozen=True)
class Sort(Op):
    """The first elements of each row in order, and their places in it as int64.

    Equal elements keep their order. NaN is larger than any number, and -0 equals 0.

    Attributes:
        source, values, places: windows on all of the tensors, the dimension of the order last.
        is_descending: the largest first.
        shapes: of the two outputs, physical.
    """

    label = "sort"
    error_steps = fine_error_steps = 0.0

    source: Strided
    values: Strided
    places: Strided
    is_descending: bool
    shapes: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def count(self) -> int:
        """Elements of a row that are wanted."""
        return self.values.shape[-1]

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        rows = self.source.read(inputs[0])
        keys = sort_keys(rows)
        order = np.argsort(~keys if self.is_descending else keys, axis=-1, kind="stable")
        chosen = order[..., : self.count]
        values = np.take_along_axis(rows, chosen, axis=-1)
        return (
            self.values.write(values, self.shapes[0]),
            self.places.write(chosen.astype(INTEGER), self.shapes[1]),
        )

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        windows = (self.source, self.values, self.places)
        last = len(self.source.shape) - 1
        rows = Loops.over(*(window.select(last, 0) for window in windows))
        length = self.source.shape[-1]
        sizes = [tensor.dtype.itemsize for tensor in (inputs[0], *outputs)]
        scratch = 8 * FEW if self.count <= FEW else 12 * length
        arguments = SortArguments(
            input=Address(inputs[0]),
            values=Address(outputs[0]),
            places=Address(outputs[1]),
            scratch=Scratch(scratch),
            rows=rows.nest(sizes),
            length=length,
            count=self.count,
            input_step=self.source.strides[-1],
            values_step=self.values.strides[-1],
            places_step=self.places.strides[-1],
            type=code(inputs[0]),
            descending=int(self.is_descending),
        )
        return [KernelCall.of("sort", arguments)]


def sort_keys(x: Array) -> Array:
    """Integers in the order of the elements."""
    if x.dtype != FLOAT:
        return x.astype(np.int32)
    bits = np.ascontiguousarray(x).view(np.int32)
    magnitudes = bits & 0x7FFFFFFF
    signed = np.where(bits < 0, -magnitudes, magnitudes)
    return np.where(magnitudes > INFINITY_BITS, np.int32(0x7FFFFFFF), signed)


@program_op(
    "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, "
    "Tensor(b!) indices)",
    "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, "
    "Tensor(a!) values, Tensor(b!) indices)",
)
def read_sort(call: Call) -> None:
    emit_sort(call, call.boolean("descending"))


@program_op(
    "aten::topk.values(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True, *, "
    "Tensor(a!) values, Tensor(b!) indices)"
)
def read_topk(call: Call) -> None:
    emit_sort(call, call.boolean("largest"))


def emit_sort(call: Call, is_descending: bool) -> None:
    source, values, places = call.tensor("self"), call.output("values"), call.output("indices")
    check_element(call, source.dtype)
    if source.dtype == INTEGER:
        call.unsupported("sorts of int64", "convert it to int32 first")
    if values.dtype != source.dtype or places.dtype != INTEGER:
        call.unsupported(f"{source.dtype.name} to {values.dtype.name}, {places.dtype.name}")
    dim = call.dimension("dim", max(source.rank, 1))
    if not values.rank == places.rank == source.rank:
        call.invalid(f"{list(source.shape)} to {list(values.shape)} and {list(places.shape)}")
    reads = _rows(source, dim)
    writes = _rows(values, dim), _rows(places, dim)
    if writes[0].numel == 0:
        call.unsupported("no elements of a row")
    if any(each.shape[:-1] != reads.shape[:-1] for each in writes) or not (
        writes[0].shape[-1] == writes[1].shape[-1] <= reads.shape[-1]
    ):
        call.invalid(f"{list(source.shape)} to {list(values.shape)} and {list(places.shape)}")
    op = Sort(reads, *writes, is_descending, (values.tensor.shape, places.tensor.shape))
    call.emit(op, [source.tensor], [values.tensor, places.tensor])


def _rows(operand: Operand, dim: int) -> Strided:
    window = Strided.of(operand)
    if not operand.rank:
        return window.insert(0)
    return window.permute([*(axis for axis in range(operand.rank) if axis != dim), dim])
