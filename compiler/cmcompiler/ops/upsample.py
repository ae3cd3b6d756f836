"""Images brought to another size: nearest of any type, and bilinear of floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.op import Address, KernelCall, Op, Packed, Reach, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.gather import Gather, Places
from cmcompiler.ops.support.functions import Floats
from cmcompiler.ops.support.movement import move

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Blend:
    """Along one axis, each output as (1 - weight) · input[low] + weight · input[high]."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    weights: tuple[float, ...]

    @classmethod
    def between(cls, places: Floats, length: int) -> Blend:
        """Outputs at these places between inputs 0 and length - 1."""
        low = np.minimum(places, length - 1).astype(np.int64)
        weights = np.clip(places - low.astype(np.float32), 0, 1).astype(np.float32)
        high = np.minimum(low + 1, length - 1)
        return cls(tuple(low.tolist()), tuple(high.tolist()), tuple(weights.tolist()))

    def reach(self, length: int) -> Reach:
        """Inputs, of which there are `length`, that each output takes."""
        common = gcd(length, len(self.low))
        factor, divisor = length // common, len(self.low) // common
        low = min(place * divisor - i * factor for i, place in enumerate(self.low))
        high = max(place * divisor - i * factor for i, place in enumerate(self.high))
        return Reach(factor, low, high, divisor)

    def table(self, stride: int) -> Packed:
        """As `struct blend` of kernels/upsample.c, for inputs this many elements apart."""
        numbers = np.zeros((len(self.low), 3), "<i4")
        numbers[:, 0] = np.multiply(self.low, stride)
        numbers[:, 1] = np.multiply(self.high, stride)
        numbers[:, 2] = np.array(self.weights, "<f4").view("<i4")
        return Packed(numbers.tobytes(), 4)


@dataclass(frozen=True)
class FloatBilinearArguments(Arguments):
    """Images of floats, and what each output row and column blends. Steps in elements."""

    c_name = "cm_bilinear_f32"

    input: Place
    output: Place
    row_table: Annotated[Place, "a struct blend for each output row and column"]
    column_table: Place
    batch: Annotated[Int32, "of the output"]
    channels: Int32
    rows: Int32
    columns: Int32
    input_batch: Int32
    input_channel: Int32
    output_batch: Int32
    output_channels: Int32
    output_rows: Int32
    output_columns: Int32


@dataclass(frozen=True)
class Bilinear(Op):
    """Float32 images blended along rows, then columns; every product and sum is rounded.

    Attributes:
        images, output: windows [N, C, H, W] on the input, and on all of the output.
        shape: of the output, physical.
    """

    label = "upsample_bilinear"
    element = np.dtype(np.float32)

    rows: Blend
    columns: Blend
    images: Strided
    output: Strided
    shape: tuple[int, ...]

    def reference(self, *inputs: Floats) -> tuple[Floats, ...]:
        images = self.images.read(inputs[0])
        one = np.float32(1)
        weights = np.array(self.columns.weights, np.float32)
        low, high = (images[..., list(places)] for places in (self.columns.low, self.columns.high))
        with np.errstate(all="ignore"):
            wide = low * (one - weights) + high * weights
            weights = np.array(self.rows.weights, np.float32)[:, None]
            low, high = (wide[..., list(places), :] for places in (self.rows.low, self.rows.high))
            blended = low * (one - weights) + high * weights
        return (self.output.write(blended, self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = FloatBilinearArguments(
            Address(inputs[0]),
            Address(outputs[0]),
            self.rows.table(self.images.strides[2]),
            self.columns.table(self.images.strides[3]),
            *self.output.shape,
            *self.images.strides[:2],
            *self.output.strides,
        )
        return [KernelCall.of("bilinear_f32", arguments)]


@program_op(
    "aten::upsample_nearest2d.vec_out(Tensor input, int[]? output_size, float[]? scale_factors, "
    "*, Tensor(a!) out)"
)
def read_nearest(call: Call) -> None:
    source, output = call.tensor("input", rank=4), call.output("out")
    if source.dtype != output.dtype:
        call.invalid(f"{source.dtype.name} to {output.dtype.name}")
    _check(call, source, output)
    places = [_nearest(*axis) for axis in _scales(call, source, output)]
    emit_nearest(call, source, output, places, (2, 3))


def emit_nearest(
    call: Call, source: Operand, output: Operand, places: Sequence[Indices], dims: tuple[int, int]
) -> None:
    """Emits images whose rows and columns are those at some places.

    Args:
        dims: rows and columns, next to each other.
    """
    reads = _repeated(source, places, dims)
    if reads is not None:
        window = Strided.of(output)
        for dim in reversed(dims):
            factor, stride = output.shape[dim] // source.shape[dim], window.strides[dim]
            window = window.resize(dim, source.shape[dim], stride * factor)
            window = window.insert(dim + 1, factor, stride)
        move(call, "upsample_nearest", output, [(source, reads, window)])
    else:
        _gather(call, source, output, places, dims)


def _nearest(scale: np.float32, length: int, count: int) -> Indices:
    """The input of each output. As torch has it, given factors are rounded if outputs are as many
    as inputs, or twice as many.
    """
    outputs: Indices = np.arange(count)
    if count in (length, 2 * length):
        return outputs * length // count
    nearest: Indices = np.floor(outputs.astype(np.float32) * scale).astype(np.int64)
    return np.minimum(nearest, length - 1)


def _repeated(source: Operand, places: Sequence[Indices], dims: tuple[int, int]) -> Strided | None:
    """The source with rows as [H, n], columns as [W, m], if all are repeated equally often."""
    reads = Strided.of(source)
    for dim, indices in ((dims[1], places[1]), (dims[0], places[0])):
        factor, rest = divmod(indices.size, source.shape[dim])
        if rest or not np.array_equal(indices, np.arange(indices.size) // factor):
            return None
        reads = reads.insert(dim + 1, factor)
    return reads


def _gather(
    call: Call, source: Operand, output: Operand, places: Sequence[Indices], dims: tuple[int, int]
) -> None:
    """One element of each image at a time, whose place is that of its row plus its column's."""
    strides = source.strides
    offsets = places[0][:, None] * strides[dims[0]] + places[1] * strides[dims[1]]
    dtype = np.int16 if offsets.max() <= np.iinfo(np.int16).max else np.int32
    table = call.literal(offsets.astype(dtype))
    steps = tuple(0 if dim in dims else stride for dim, stride in enumerate(strides))
    window, indices = Strided(output.shape, steps), Strided.of(table)
    for dim, size in enumerate(output.shape):
        if dim not in dims:
            indices = indices.insert(dim, size)
    op = Gather(
        Loops.over(window, indices, Strided.of(output)),
        Places(1, source.numel),
        output.tensor.shape,
    )
    call.emit(op, [source.tensor, table.tensor], [output.tensor])


@program_op(
    "aten::upsample_bilinear2d.vec_out(Tensor input, int[]? output_size, bool align_corners, "
    "float[]? scale_factors, *, Tensor(a!) out)"
)
def read_bilinear(call: Call) -> None:
    source, output = call.tensor("input", dtype=np.float32, rank=4), call.output("out")
    blends = read_blends(call, source, output)
    images, results = Strided.of(source), Strided.of(output)
    op = Bilinear(*blends, images, results, output.tensor.shape)
    call.emit(op, [source.tensor], [output.tensor])


def read_blends(call: Call, source: Operand, output: Operand) -> tuple[Blend, Blend]:
    """Blends of rows and columns, from the arguments of an operator on images [N, C, H, W]."""
    _check(call, source, output)
    half = np.float32(0.5)
    blends = []
    for scale, length, count in _scales(call, source, output):
        outputs = np.arange(count, dtype=np.float32)
        if count == length:  # as torch has it, factors are rounded here
            places = outputs
        elif call.boolean("align_corners"):
            places = outputs * np.float32((length - 1) / (count - 1) if count > 1 else 0)
        else:
            places = np.maximum((outputs + half) * scale - half, np.float32(0))
        blends.append(Blend.between(places, length))
    rows, columns = blends
    return rows, columns


def _check(call: Call, source: Operand, output: Operand) -> None:
    if source.shape[:2] != output.shape[:2] or output.rank != 4 or 0 in source.shape + output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")


def _scales(call: Call, source: Operand, output: Operand) -> list[tuple[np.float32, int, int]]:
    """Scales of rows and columns: inputs per output as torch has it, inputs, outputs."""
    factors = () if call.is_none("scale_factors") else call.numbers("scale_factors")
    # An output may not step over more than the image.
    lengths = source.shape[2:]
    if len(factors) not in (0, 2) or not all(
        factor * length >= 0.5 for factor, length in zip(factors, lengths, strict=False)
    ):
        call.invalid(f"scale_factors {list(factors)}")
    axes = []
    for i, (length, count) in enumerate(zip(lengths, output.shape[2:], strict=True)):
        scale = 1 / factors[i] if factors else np.float32(length) / np.float32(count)
        axes.append((np.float32(scale), length, count))
    return axes
