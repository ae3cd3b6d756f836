"""Operators that move elements and compute nothing."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.expand import repeat
from cmcompiler.ops.support.movement import broadcast, move
from cmcompiler.ops.tflite._scales import read_scale, tflite_op

REFLECT = 0
"""MIRROR_PAD's mode without the edge itself; the other, 1, repeats it."""


@tflite_op("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
def read_reshape(call: Call) -> None:
    """The new shape is the output's, whatever says it besides."""
    source, output = call.tensor("input"), call.output("out")
    if source.numel != output.numel or source.dtype != output.dtype:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    call.move(call.reshape(source, output.shape), output)


@tflite_op("TRANSPOSE")
def read_transpose(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    order = read_integers(call, "order", source.rank)
    dims = [dim + source.rank if dim < 0 else dim for dim in order]
    if sorted(dims) != list(range(source.rank)):
        call.invalid(f"{list(order)} is not a permutation of {source.rank} dimensions")
    _move(call, source, Strided.of(source).permute(dims), output)


@tflite_op("CONCATENATION")
def read_concatenation(call: Call) -> None:
    sources, output = call.tensors("inputs"), call.output("out")
    axis = call.dimension("axis", output.rank)
    if call.integer("activation") != 0:
        call.unsupported("it has a fused activation")
    if any(source.rank != output.rank for source in sources) or output.shape[axis] != sum(
        source.shape[axis] for source in sources
    ):
        call.invalid(f"{[list(x.shape) for x in sources]} do not add up to {list(output.shape)}")
    if output.dtype in (np.int8, np.int16):
        scales = {call.member_quantization("inputs", place) for place in range(len(sources))}
        if scales != {call.quantization("out")}:
            call.unsupported("its inputs and its output have different scales")
    writes, start, pieces = Strided.of(output), 0, []
    for source in sources:
        part = writes.slice(axis, start, source.shape[axis])
        pieces.append((source, Strided.of(source), part))
        start += source.shape[axis]
    move(call, "cat", output, pieces)


@tflite_op("PACK")
def read_pack(call: Call) -> None:
    sources, output = call.tensors("inputs"), call.output("out")
    axis = call.dimension("axis", output.rank)
    if output.shape[axis] != len(sources):
        call.invalid(f"{len(sources)} tensors to {list(output.shape)}")
    writes = Strided.of(output)
    pieces = [(x, Strided.of(x), writes.select(axis, i)) for i, x in enumerate(sources)]
    move(call, "stack", output, pieces)


@tflite_op("UNPACK")
def read_unpack(call: Call) -> None:
    source, outputs = call.tensor("input"), call.outputs("out")
    axis = call.dimension("axis", source.rank)
    if len(outputs) != source.shape[axis]:
        call.invalid(f"{len(outputs)} outputs of {list(source.shape)}")
    for index, output in enumerate(outputs):
        _move(call, source, Strided.of(source).select(axis, index), output)


@tflite_op("SPLIT", "SPLIT_V")
def read_split(call: Call) -> None:
    """Parts in order, as long as the outputs are."""
    source, outputs = call.tensor("input"), call.outputs("out")
    (axis,) = read_axes(call, "axis", source.rank, 1)
    if any(output.rank != source.rank for output in outputs) or source.shape[axis] != sum(
        output.shape[axis] for output in outputs
    ):
        call.invalid(f"the outputs are not the parts of {list(source.shape)}")
    start = 0
    for output in outputs:
        _move(call, source, Strided.of(source).slice(axis, start, output.shape[axis]), output)
        start += output.shape[axis]


@tflite_op("SLICE")
def read_slice(call: Call) -> None:
    """The sizes are the output's, whatever says them besides."""
    source, output = call.tensor("input"), call.output("out")
    begins = read_integers(call, "begin", source.rank)
    if output.rank != source.rank:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    reads = Strided.of(source)
    for dim, (begin, size) in enumerate(zip(begins, output.shape, strict=True)):
        if not 0 <= begin <= begin + size <= source.shape[dim]:
            call.invalid(f"elements {begin} to {begin + size} of {list(source.shape)}")
        reads = reads.slice(dim, begin, size)
    _move(call, source, reads, output)


@tflite_op("PAD", "PADV2")
def read_pad(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    value: int | float | bool = 0
    if call.operator.endswith("PADV2"):
        given = call.constant("value", dtype=source.dtype)
        if given.size != 1:
            call.invalid(f"value has shape {list(given.shape)}")
        value = given.ravel()[0].item()
    elif output.dtype == np.int8:
        value = read_scale(call, "out").zero_point
    reads, writes = Strided.of(source), Strided.of(output)
    for dim, (before, after) in enumerate(_margins(call, source, output)):
        if min(before, after) < 0:
            call.invalid(f"a margin of {min(before, after)}")
        writes = writes.slice(dim, before, source.shape[dim])
    move(call, "pad", output, [(source, reads, writes)], value)


@tflite_op("MIRROR_PAD")
def read_mirror_pad(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    edge = 1 if call.integer("mode", REFLECT, 1) == REFLECT else 0
    parts = []
    for dim, (before, after) in enumerate(_margins(call, source, output)):
        length = source.shape[dim]
        if not 0 <= min(before, after) <= max(before, after) <= length - edge:
            call.invalid(f"margins {before} and {after} of {length} elements")
        middle = (0, before, length, 1)
        left = (before - 1 + edge, 0, before, -1)
        right = (length - 1 - edge, before + length, after, -1)
        parts.append([part for part in (left, middle, right) if part[2]])
    pieces = []
    for choice in product(*parts):
        reads, writes = Strided.of(source), Strided.of(output)
        for dim, (first, place, count, step) in enumerate(choice):
            reads = reads.slice(dim, first, count, step)
            writes = writes.slice(dim, place, count)
        pieces.append((source, reads, writes))
    move(call, "pad", output, pieces)


def _margins(call: Call, source: Operand, output: Operand) -> list[tuple[int, int]]:
    """Before and after the elements of each dimension."""
    paddings = call.constant("paddings")
    if paddings.shape != (source.rank, 2) or paddings.dtype.kind != "i":
        call.invalid(f"paddings have shape {list(paddings.shape)} for {list(source.shape)}")
    margins = [(int(before), int(after)) for before, after in paddings]
    sizes = [n + sum(margin) for n, margin in zip(source.shape, margins, strict=True)]
    if list(output.shape) != sizes:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}, not {sizes}")
    return margins


@tflite_op("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def read_depth(call: Call) -> None:
    """Channels of the small image: rows of a block, its columns, channels of the large one."""
    source, output = call.tensor("input", rank=4), call.output("out")
    block = call.integer("block", 1)
    to_depth = call.operator.endswith("SPACE_TO_DEPTH")
    large, small = (source, output) if to_depth else (output, source)
    if output.rank != 4 or large.shape != (
        small.shape[0],
        small.shape[1] * block,
        small.shape[2] * block,
        small.shape[3] // block**2,
    ):
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    if small.shape[3] % block**2:
        call.invalid(f"{small.shape[3]} channels in blocks of {block}")
    pixels = Strided.of(large).split(2, block).split(1, block).permute((0, 1, 3, 2, 4, 5))
    channels = Strided.of(small).split(3, large.shape[3]).split(3, block)
    reads, writes = (pixels, channels) if to_depth else (channels, pixels)
    move(call, "shuffle", output, [(source, reads, writes)])


@tflite_op("BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND")
def read_batch(call: Call) -> None:
    """Reads blocks of rows and columns, or rows alone; a batch for each pixel of a block."""
    source, output = call.tensor("input"), call.output("out")
    to_space = call.operator.endswith("BATCH_TO_SPACE_ND")
    block = read_integers(call, "block")
    spans = call.constant("crops" if to_space else "paddings")
    count = len(block)
    if source.rank != output.rank or not 1 <= count < source.rank or min(block) < 1:
        call.invalid(f"{list(source.shape)} to {list(output.shape)} in blocks {list(block)}")
    if spans.shape != (count, 2) or spans.dtype.kind != "i" or spans.min() < 0:
        call.invalid(f"margins of shape {list(spans.shape)}")
    pieces = []
    space, batches = (output, source) if to_space else (source, output)
    cells = prod(block)
    if batches.shape[0] != cells * space.shape[0]:
        call.invalid(f"{batches.shape[0]} batches of {cells} cells")
    for cell, places in enumerate(product(*(range(size) for size in block))):
        part = Strided.of(batches).slice(0, cell * space.shape[0], space.shape[0])
        window = Strided.of(space)
        for axis, place in enumerate(places, 1):
            size, length = block[axis - 1], space.shape[axis]
            before, after = (int(x) for x in spans[axis - 1])
            if batches.shape[axis] * size != length + before + after:
                call.invalid(f"{list(source.shape)} to {list(output.shape)}")
            # Cell number n is row n · size + place - before of the space.
            first = max(0, -((place - before) // size))
            end = max(first, -((place - before - length) // size))
            part = part.slice(axis, first, end - first)
            window = window.slice(axis, first * size + place - before, end - first, size)
        pieces.append((source, *((part, window) if to_space else (window, part))))
    fill = None
    if not to_space:
        fill = read_scale(call, "out").zero_point if output.dtype == np.int8 else 0
    if batches.shape[count + 1 :] != space.shape[count + 1 :]:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    move(call, "shuffle", output, [piece for piece in pieces if piece[1].numel], fill)


@tflite_op("BROADCAST_TO")
def read_broadcast(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    _move(call, source, broadcast(call, source, output.shape), output)


@tflite_op("FILL")
def read_fill(call: Call) -> None:
    """The shape is the output's, whatever says it besides."""
    value, output = call.tensor("value"), call.output("out")
    if value.numel != 1 or value.dtype != output.dtype:
        call.invalid(f"{value.dtype.name}{list(value.shape)} in {output.dtype.name}")
    _move(call, value, broadcast(call, value, output.shape), output)


@tflite_op("ZEROS_LIKE")
def read_zeros(call: Call) -> None:
    output = call.output("out")
    zero = call.literal(np.zeros((), output.dtype))
    _move(call, zero, broadcast(call, zero, output.shape), output)


@tflite_op("TILE")
def read_tile(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    multiples = read_integers(call, "multiples", output.rank)
    if any(count < 0 for count in multiples):
        call.invalid(f"multiples {list(multiples)}")
    repeat(call, source, multiples, output)


@tflite_op("REVERSE_V2")
def read_reverse(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    reads = Strided.of(source)
    for axis in read_axes(call, "axes", source.rank):
        reads = reads.flip(axis)
    _move(call, source, reads, output)


@tflite_op("SHAPE")
def read_shape(call: Call) -> None:
    output = call.output("out")
    shape = call.tensor("input").shape
    if output.dtype not in (np.int32, np.int64) or output.shape != (len(shape),):
        call.invalid(f"the shape as {output.dtype.name}{list(output.shape)}")
    literal = call.literal(np.array(shape, output.dtype))
    _move(call, literal, Strided.of(literal), output)


def read_integers(call: Call, name: str, count: int | None = None) -> tuple[int, ...]:
    """A constant vector of integers."""
    array = call.constant(name)
    if array.ndim > 1 or array.dtype.kind != "i" or (count is not None and array.size != count):
        call.invalid(f"{name} is {array.dtype.name}{list(array.shape)}")
    return tuple(int(x) for x in array.ravel())


def read_axes(call: Call, name: str, rank: int, count: int | None = None) -> tuple[int, ...]:
    """Distinct dimensions, in order; negative ones are made positive."""
    axes = read_integers(call, name, count)
    if any(not -rank <= axis < rank for axis in axes):
        call.invalid(f"{name} {list(axes)} of {rank} dimensions")
    return tuple(sorted({axis % rank for axis in axes}))


def _move(call: Call, source: Operand, reads: Strided, output: Operand) -> None:
    move(call, "slice", output, [(source, reads, Strided.of(output))])
