"""Parts of a tensor: slice, select, split, unbind, narrow."""

from __future__ import annotations

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.support.movement import move

LARGEST = (1 << 31) - 1


@program_op(
    "aten::slice_copy.Tensor_out(Tensor self, int dim=0, int? start=None, int? end=None, "
    "int step=1, *, Tensor(a!) out)"
)
def read_slice(call: Call) -> None:
    source = call.tensor("self")
    _move(call, source, sliced(call, source), call.output("out"))


def sliced(call: Call, whole: Operand) -> Strided:
    """The elements of a tensor that the arguments of a slice choose."""
    dim = call.dimension("dim", whole.rank)
    start = 0 if call.is_none("start") else call.integer("start")
    end = None if call.is_none("end") else call.integer("end")
    indices = range(whole.shape[dim])[start : end : call.integer("step", 1, LARGEST)]
    return Strided.of(whole).slice(dim, indices.start, len(indices), indices.step)


@program_op("aten::narrow_copy.out(Tensor self, int dim, int start, int length, *, Tensor(a!) out)")
def read_narrow(call: Call) -> None:
    source = call.tensor("self")
    dim = call.dimension("dim", source.rank)
    size = source.shape[dim]
    start = call.integer("start", -size, size)
    start += size if start < 0 else 0
    length = call.integer("length", 0, size - start)
    _move(call, source, Strided.of(source).slice(dim, start, length), call.output("out"))


@program_op("aten::select_copy.int_out(Tensor self, int dim, int index, *, Tensor(a!) out)")
def read_select(call: Call) -> None:
    source = call.tensor("self")
    _move(call, source, selected(call, source), call.output("out"))


def selected(call: Call, whole: Operand) -> Strided:
    """The elements of a tensor that the arguments of a selection choose."""
    dim = call.dimension("dim", whole.rank)
    size = whole.shape[dim]
    return Strided.of(whole).select(dim, call.integer("index", -size, size - 1) % size)


@program_op("aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out)")
def read_unbind(call: Call) -> None:
    source = call.tensor("self")
    dim = call.dimension("dim", source.rank)
    outputs = call.outputs("out")
    if len(outputs) != source.shape[dim]:
        call.invalid(f"{len(outputs)} outputs of {source.shape[dim]}")
    for index, output in enumerate(outputs):
        _move(call, source, Strided.of(source).select(dim, index), output)


@program_op(
    "aten::split_copy.Tensor_out(Tensor self, int split_size, int dim=0, *, Tensor(a!)[] out)",
    "aten::split_with_sizes_copy.out(Tensor self, int[] split_sizes, int dim=0, *, "
    "Tensor(a!)[] out)",
)
def read_split(call: Call) -> None:
    """Parts in order, as long as the outputs are."""
    source = call.tensor("self")
    dim = call.dimension("dim", source.rank)
    outputs, start = call.outputs("out"), 0
    if any(output.rank != source.rank for output in outputs) or source.shape[dim] != sum(
        output.shape[dim] for output in outputs
    ):
        call.invalid(f"outputs are not the parts of {list(source.shape)}")
    for output in outputs:
        _move(call, source, Strided.of(source).slice(dim, start, output.shape[dim]), output)
        start += output.shape[dim]


def _move(call: Call, source: Operand, reads: Strided, output: Operand) -> None:
    move(call, "slice", output, [(source, reads, Strided.of(output))])
