"""Tensors with some elements replaced or added to: index_put, scatter, slice_scatter, …"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place
from cmcompiler.ir.movement.copy import copy_call
from cmcompiler.ir.movement.loops import LoopNest, Loops, Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.cast import cast
from cmcompiler.ops.gather import Indexed, PlaceFields, Places, indexed, places_along
from cmcompiler.ops.slice import selected, sliced
from cmcompiler.ops.support.element import check_element, code, converted
from cmcompiler.ops.support.movement import broadcast, move
from cmcompiler.ops.where import choose


@dataclass(frozen=True)
class ScatterArguments(Arguments):
    """Elements that replace others, or are added to them, at the indices in a tensor."""

    c_name = "cm_scatter"

    index: Place
    values: Place
    output: Place
    loops: Annotated[LoopNest, INLINE]
    index_step: Annotated[Int32, "of the innermost loop, in elements"]
    values_step: Annotated[Int32, "in bytes"]
    output_step: Int32
    index_type: Annotated[Int32, "enum cm_element"]
    type: Int32
    adds: Annotated[Int32, "or replaces"]
    places: Annotated[PlaceFields, INLINE]


@dataclass(frozen=True)
class Scatter(Op):
    """The first input with output[i + places(index[i])] replaced by, or grown by, values[i].

    Attributes:
        loops: over the index, the values and the output with index 0 everywhere, in whose order the
            elements are written.
        adds: grown, not replaced.
    """

    label = "scatter"
    error_steps = fine_error_steps = 0.0
    in_place = frozenset({0})

    loops: Loops
    places: Places
    adds: bool

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        source, index, values = inputs
        output = source.reshape(-1).copy()
        starts = self.loops.read(2, np.arange(output.size))
        places = starts + self.places.offsets(self.loops.read(0, index))
        chosen = self.loops.read(1, values)
        if not self.adds:
            output[places.reshape(-1)] = chosen.reshape(-1)
        elif output.dtype == np.bool_:
            np.logical_or.at(output, places.reshape(-1), chosen.reshape(-1))
        else:
            with np.errstate(all="ignore"):
                np.add.at(output, places.reshape(-1), chosen.reshape(-1))
        return (output.reshape(source.shape),)

    def refusal(self, *inputs: Array) -> str | None:
        return self.places.refusal(inputs[1])

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        source, index, values = inputs
        whole = Strided.dense(source.shape)
        calls = copy_call(source, whole, outputs[0], whole)
        if self.loops.numel:
            size = source.dtype.itemsize
            arguments = ScatterArguments(
                index=Address(index),
                values=Address(values),
                output=Address(outputs[0]),
                loops=self.loops.fields(index, values, outputs[0]),
                index_step=self.loops.inner[0],
                values_step=self.loops.inner[1] * size,
                output_step=self.loops.inner[2] * size,
                index_type=code(index),
                type=code(source),
                adds=int(self.adds),
                places=self.places.fields(size),
            )
            calls.append(KernelCall.of("scatter", arguments))
        return calls


@program_op(
    "aten::index_put.out(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, *, "
    "Tensor(a!) out)",
    "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False)",
)
def read_index_put(call: Call) -> None:
    source, values = call.tensor("self"), call.tensor("values")
    indices = call.optional_tensors("indices")
    given = [index for index in indices if index is not None]
    if len(given) == 1 and given[0].dtype == np.bool_:
        _put_where(call, source, values, indices.index(given[0]), given[0])
        return
    chosen = indexed(call, source, indices)
    reads = broadcast(call, values, chosen.window.shape)
    emit_scatter(call, source, chosen, (values, reads), call.boolean("accumulate"))


def _put_where(call: Call, source: Operand, values: Operand, first: int, mask: Operand) -> None:
    """x[:, …, mask] = values, with `first` dimensions of x before those of the mask."""
    inner = source.rank - first - mask.rank
    if inner < 0 or mask.shape != source.shape[first : first + mask.rank]:
        call.invalid(f"a mask {list(mask.shape)} of {list(source.shape)}")
    if call.boolean("accumulate"):
        call.unsupported("sums where a mask is true")
    if values.rank > inner:
        axis = values.rank - inner - 1
        if values.shape[axis] != 1:
            call.unsupported("as many values as a mask has true elements")
        ones = (1,) * mask.rank
        values = call.reshape(values, (*values.shape[:axis], *ones, *values.shape[axis + 1 :]))
    choose(call, call.reshape(mask, (*mask.shape, *(1,) * inner)), values, source)


@program_op(
    "aten::scatter.src_out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out)",
    "aten::scatter_add.out(Tensor self, int dim, Tensor index, Tensor src, *, Tensor(a!) out)",
)
def read_scatter(call: Call) -> None:
    values, adds = call.tensor("src"), call.operator == "aten::scatter_add.out"
    _scatter(call, values, Strided.of(values), adds=adds)


@program_op(
    "aten::scatter.value_out(Tensor self, int dim, Tensor index, Scalar value, *, Tensor(a!) out)"
)
def read_scatter_value(call: Call) -> None:
    value = call.literal(converted(np.array(call.scalar("value")), call.tensor("self").dtype))
    shape = call.tensor("index").shape
    _scatter(call, value, Strided((), ()).broadcast(shape), adds=False)


def _scatter(call: Call, values: Operand, reads: Strided, adds: bool) -> None:
    source, index = call.tensor("self"), call.tensor("index")
    dim = call.dimension("dim", source.rank)
    window = Strided.of(source)
    if index.rank != source.rank or len(reads.shape) != source.rank:
        call.invalid(f"index {list(index.shape)}, values {list(reads.shape)}")
    for axis, size in enumerate(index.shape):
        if size > reads.shape[axis] or (axis != dim and size > source.shape[axis]):
            call.invalid(f"index {list(index.shape)}, values {list(reads.shape)}")
        reads = reads.slice(axis, 0, size)
        window = window.resize(axis, size, 0 if axis == dim else window.strides[axis])
    chosen = Indexed(window, index, Strided.of(index), places_along(source, dim))
    emit_scatter(call, source, chosen, (values, reads), adds)


def emit_scatter(
    call: Call, source: Operand, chosen: Indexed, given: tuple[Operand, Strided], adds: bool
) -> None:
    """Writes a window on the values."""
    output, (values, reads) = call.output("out"), given
    check_element(call, source.dtype)
    chosen.check(call)
    if source.dtype != values.dtype:
        call.unsupported(f"{values.dtype.name} values for {source.dtype.name} ones")
    if (source.shape, source.dtype) != (output.shape, output.dtype):
        call.invalid(f"from {list(source.shape)} to {output.dtype.name}{list(output.shape)}")
    op = Scatter(Loops.over(chosen.indices, reads, chosen.window), chosen.places, adds)
    written = call.arranged_output(output, source.dim_order)
    call.emit(op, [source.tensor, chosen.index.tensor, values.tensor], [written])


@program_op(
    "aten::slice_scatter.out(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, "
    "int step=1, *, Tensor(a!) out)"
)
def read_slice_scatter(call: Call) -> None:
    output = call.output("out")
    _overwrite(call, output, sliced(call, output))


@program_op(
    "aten::select_scatter.out(Tensor self, Tensor src, int dim, int index, *, Tensor(a!) out)"
)
def read_select_scatter(call: Call) -> None:
    output = call.output("out")
    _overwrite(call, output, selected(call, output))


def _overwrite(call: Call, output: Operand, writes: Strided) -> None:
    source, part = call.tensor("self"), cast(call, call.tensor("src"), output.dtype)
    whole = (source, Strided.of(source), Strided.of(output))
    move(call, "scatter", output, [whole, (part, Strided.of(part), writes)])
