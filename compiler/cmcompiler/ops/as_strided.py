"""Windows on the elements of a tensor: as_strided, unfold, diagonal."""

from __future__ import annotations

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ops.support.movement import move

LARGEST = (1 << 31) - 1


@program_op(
    "aten::as_strided_copy.out(Tensor self, int[] size, int[] stride, int? storage_offset=None, "
    "*, Tensor(a!) out)"
)
def read_as_strided(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    sizes = call.integers("size", None, 0, LARGEST)
    strides = call.integers("stride", len(sizes), 0, LARGEST)
    offset = 0 if call.is_none("storage_offset") else call.integer("storage_offset", 0, LARGEST)
    reads = Strided(sizes, strides, offset)
    if reads.numel and reads.bounds[1] >= source.numel:
        call.invalid(f"strides {list(strides)} leave the {source.numel} elements of self")
    move(call, "as_strided", output, [(source, reads, Strided.of(output))])


@program_op(
    "aten::unfold_copy.out(Tensor self, int dimension, int size, int step, *, Tensor(a!) out)"
)
def read_unfold(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    dim = call.dimension("dimension", source.rank)
    length = source.shape[dim]
    size, step = call.integer("size", 0, length), call.integer("step", 1, LARGEST)
    window = Strided.of(source)
    stride = window.strides[dim]
    count = (length - size) // step + 1
    reads = window.resize(dim, count, step * stride).insert(source.rank, size, stride)
    move(call, "unfold", output, [(source, reads, Strided.of(output))])


@program_op(
    "aten::diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1, *, Tensor(a!) out)"
)
def read_diagonal(call: Call) -> None:
    source, output = call.tensor("self"), call.output("out")
    dims = [call.dimension(name, source.rank) for name in ("dim1", "dim2")]
    if dims[0] == dims[1]:
        call.invalid(f"a diagonal of dimension {dims[0]} and itself")
    offset = call.integer("offset", -LARGEST, LARGEST)
    starts = [max(0, -offset), max(0, offset)]
    window = Strided.of(source)
    count = max(0, min(window.shape[d] - start for d, start in zip(dims, starts, strict=True)))
    stride = sum(window.strides[dim] for dim in dims)
    if count:
        for dim, start in zip(dims, starts, strict=True):
            window = window.slice(dim, start, 1)
    for dim in sorted(dims, reverse=True):
        window = window.select(dim, 0)
    reads = window.insert(len(window.shape), count, stride)
    move(call, "diagonal", output, [(source, reads, Strided.of(output))])
