"""Elements at places that other tensors name: gather, index_select, embedding, index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place, Struct
from cmcompiler.ir.movement.loops import DEEPEST, LoopNest, Loops, Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.binary import Binary, BinaryFunction, emit_binary
from cmcompiler.ops.support.element import INTEGER, code
from cmcompiler.ops.support.movement import move


@dataclass(frozen=True)
class PlaceFields(Struct):
    """How an index moves within a tensor."""

    index_stride: Annotated[Int32, "bytes from one index to the next"]
    index_count: Int32


@dataclass(frozen=True)
class GatherArguments(Arguments):
    """Elements at the indices in another tensor."""

    c_name = "cm_gather"

    input: Place
    index: Place
    output: Place
    loops: Annotated[LoopNest, INLINE]
    size: Annotated[Int32, "of an element"]
    input_step: Annotated[Int32, "of the innermost loop, in bytes"]
    index_step: Annotated[Int32, "in elements"]
    index_type: Annotated[Int32, "enum cm_element"]
    places: Annotated[PlaceFields, INLINE]


@dataclass(frozen=True, slots=True)
class Places:
    """How an index moves within a tensor.

    Attributes:
        stride: elements from one index to the next.
        count: of the indices. Negative ones count from the end; those outside are brought to the
            nearest one inside, as a device cannot refuse them.
        least: the least index that the model takes.
    """

    stride: int
    count: int
    least: int = 0

    def offsets(self, indices: Array) -> npt.NDArray[np.int64]:
        wide = indices.astype(np.int64)
        return np.clip(np.where(wide < 0, wide + self.count, wide), 0, self.count - 1) * self.stride

    def refusal(self, indices: Array) -> str | None:
        """Names the first index that the model does not take."""
        outside = indices[(indices < self.least) | (indices >= self.count)]
        range_ = f"{self.least} to {self.count - 1}"
        return f"index {outside[0]} is outside of {range_}" if outside.size else None

    def fields(self, size: int) -> PlaceFields:
        return PlaceFields(self.stride * size, self.count)


@dataclass(frozen=True)
class Gather(Op):
    """output[i] = input[i + places(index[i])].

    Attributes:
        loops: over the input, with index 0 everywhere, the index and the output.
        shape: of the output, physical.
    """

    label = "gather"
    error_steps = fine_error_steps = 0.0

    loops: Loops
    places: Places
    shape: tuple[int, ...]

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        source, index = inputs
        starts = self.loops.read(0, np.arange(source.size))
        offsets = self.places.offsets(self.loops.read(1, index))
        return (source.reshape(-1)[starts + offsets].reshape(self.shape),)

    def refusal(self, *inputs: Array) -> str | None:
        return self.places.refusal(inputs[1])

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        size = outputs[0].dtype.itemsize
        arguments = GatherArguments(
            input=Address(inputs[0]),
            index=Address(inputs[1]),
            output=Address(outputs[0]),
            loops=self.loops.fields(*inputs, *outputs),
            size=size,
            input_step=self.loops.inner[0] * size,
            index_step=self.loops.inner[1],
            index_type=code(inputs[1]),
            places=self.places.fields(size),
        )
        return [KernelCall.of("gather", arguments)]


@program_op(
    "aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, "
    "Tensor(a!) out)"
)
def read_gather(call: Call) -> None:
    source, index = call.tensor("self"), call.tensor("index")
    dim = call.dimension("dim", max(source.rank, 1))
    if index.rank != source.rank or any(
        n > size
        for d, (n, size) in enumerate(zip(index.shape, source.shape, strict=True))
        if d != dim
    ):
        call.invalid(f"index {list(index.shape)} of {list(source.shape)}")
    window = Strided.of(source)
    for axis, size in enumerate(index.shape):
        stride = 0 if axis == dim else window.strides[axis]
        window = window.resize(axis, size, stride)
    _emit(call, source, Indexed(window, index, Strided.of(index), places_along(source, dim)))


@program_op("aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out)")
def read_index_select(call: Call) -> None:
    source, index = call.tensor("self"), call.tensor("index")
    if index.rank > 1:
        call.invalid(f"index has {index.rank} dimensions")
    dim = call.dimension("dim", source.rank)
    if _move_regular(call, source, dim, index):
        return
    window = Strided.of(source).resize(dim, index.numel, 0)
    indices = Strided.of(index) if index.rank else Strided((1,), (1,))
    for axis, size in enumerate(window.shape):
        if axis != dim:
            indices = indices.insert(axis, size)
    _emit(call, source, Indexed(window, index, indices, places_along(source, dim)))


def _move_regular(call: Call, source: Operand, dim: int, index: Operand) -> bool:
    """Emits a copy of what a constant index selects at regular distances, such as windows."""
    held, size = index.tensor.data, source.shape[dim]
    if held is None or index.dtype not in (np.int32, np.int64) or not index.numel:
        return False
    places = held.reshape(-1).astype(np.int64)
    places = np.where(places < 0, places + size, places)
    steps = _nested_steps(places)
    if steps is None or len(steps) + source.rank > DEEPEST:
        return False
    if places.min() < 0 or places.max() >= size:
        return False
    output = call.output("out")
    if output.shape != (*source.shape[:dim], index.numel, *source.shape[dim + 1 :]):
        return False
    reads, writes = Strided.of(source), Strided.of(output)
    stride = reads.strides[dim]
    reads = replace(reads.select(dim, 0), offset=int(places[0]) * stride)
    for count, step in reversed(steps):
        reads = reads.insert(dim, count, step * stride)
    for count, _ in reversed(steps[1:]):
        writes = writes.split(dim, count)
    move(call, "index_select", output, [(source, reads, writes)])
    return True


def _nested_steps(places: Array) -> list[tuple[int, int]] | None:
    """The (count, step) of nested loops over places, outermost first; None for irregular ones."""
    if len(places) == 1:
        return [(1, 0)]
    step = int(places[1] - places[0])
    others = np.flatnonzero(np.diff(places) != step)
    run = int(others[0]) + 1 if len(others) else len(places)
    run = gcd(run, len(places)) if len(places) % run else run
    if run == len(places):
        return [(run, step)]
    rows = places.reshape(-1, run)
    if run == 1 or (rows - rows[:, :1] != rows[0] - rows[0, 0]).any():
        return None
    outer = _nested_steps(rows[:, 0])
    return None if outer is None else [*outer, (run, step)]


@program_op(
    "aten::embedding.out(Tensor weight, Tensor indices, int padding_idx=-1, "
    "bool scale_grad_by_freq=False, bool sparse=False, *, Tensor(a!) out)"
)
def read_embedding(call: Call) -> None:
    table, index = call.tensor("weight", rank=2), call.tensor("indices")
    window, indices = Strided.of(table).select(0, 0), Strided.of(index)
    for axis, size in enumerate(index.shape):
        window = window.insert(axis, size)
    indices = indices.insert(index.rank, table.shape[1])
    places = replace(places_along(table, 0), least=0)
    _emit(call, table, Indexed(window, index, indices, places))


@program_op("aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out)")
def read_index(call: Call) -> None:
    source = call.tensor("self")
    _emit(call, source, indexed(call, source, call.optional_tensors("indices")))


@dataclass(frozen=True)
class Indexed:
    """The elements that x[indices] touches.

    Attributes:
        window: on x, with index 0 in the indexed dimensions.
        indices: window on `index` of the same shape.
    """

    window: Strided
    index: Operand
    indices: Strided
    places: Places

    def check(self, call: Call) -> None:
        if self.index.dtype not in (np.int32, np.int64):
            call.unsupported(f"indices of {self.index.dtype.name}")
        if self.index.numel and self.places.count == 0:
            call.invalid("an index of an empty dimension")


def indexed(call: Call, source: Operand, indices: Sequence[Operand | None]) -> Indexed:
    """Several index tensors become one of offsets; bools would give shapes that depend on data."""
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if not given or len(indices) > source.rank:
        call.invalid(f"{len(given)} indices of {source.rank} dimensions")
    if any(index.dtype not in (np.int32, np.int64) for index in given):
        call.unsupported(f"indices of {', '.join(index.dtype.name for index in given)}")
    try:
        shape = np.broadcast_shapes(*(index.shape for index in given))
    except ValueError as error:
        call.invalid(str(error))
    window = Strided.of(source)
    if len(given) == 1:
        index, places = given[0], places_along(source, dims[0])
    else:
        index = _offsets(call, source, dims, given, shape)
        places = Places(1, source.numel)
    # Adjacent indices stay in their place, others come first.
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    for dim in reversed(dims):
        window = window.select(dim, 0) if source.shape[dim] else window.resize(dim, 1, 0)
    spread = Strided.of(index).broadcast(shape)
    for axis, size in enumerate(shape):
        window = window.insert(first + axis, size)
    for axis, size in enumerate(window.shape):
        if not first <= axis < first + len(shape):
            spread = spread.insert(axis, size)
    return Indexed(window, index, spread, places)


@dataclass(frozen=True)
class IndexRemainder(Binary):
    """One of several indices, brought into the dimension of a tensor that it is for."""

    def refusal(self, *inputs: Array) -> str | None:
        indices, size = inputs[0], int(inputs[1].item())
        return Places(1, size, -size).refusal(indices)


def _offsets(
    call: Call,
    source: Operand,
    dims: Sequence[int],
    indices: Sequence[Operand],
    shape: tuple[int, ...],
) -> Operand:
    """Offsets in elements of the places that several indices name together."""
    order = range(len(shape))
    total: Operand | None = None
    for dim, index in zip(dims, indices, strict=True):
        inside, scaled = (call.intermediate(INTEGER, shape, order) for _ in range(2))
        size = source.shape[dim]
        emit_binary(call, BinaryFunction.REMAINDER, index, size, inside, kind=IndexRemainder)
        emit_binary(call, BinaryFunction.MUL, inside, source.strides[dim], scaled)
        if total is None:
            total = scaled
        else:
            added = call.intermediate(INTEGER, shape, order)
            emit_binary(call, BinaryFunction.ADD, total, scaled, added)
            total = added
    assert total is not None
    return total


def places_along(source: Operand, dim: int) -> Places:
    if not source.shape:
        return Places(1, 1, -1)
    return Places(source.strides[dim], source.shape[dim], -source.shape[dim])


def _emit(call: Call, source: Operand, chosen: Indexed) -> None:
    output = call.output("out")
    chosen.check(call)
    if chosen.window.shape != output.shape or source.dtype != output.dtype:
        call.invalid(f"output is {output.dtype.name}{list(output.shape)}")
    order = output.dim_order
    windows = (chosen.window, chosen.indices, Strided.of(output))
    loops = Loops.over(*(window.permute(order) for window in windows))
    op = Gather(loops, chosen.places, output.tensor.shape)
    call.emit(op, [source.tensor, chosen.index.tensor], [output.tensor])
