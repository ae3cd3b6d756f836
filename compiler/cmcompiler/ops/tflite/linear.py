"""FULLY_CONNECTED and BATCH_MATMUL."""

from __future__ import annotations

from math import prod

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.batch_matmul import BatchMatmul
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.convolution import check_depth, read_bias, read_long_bias
from cmcompiler.ops.support.movement import broadcast, move
from cmcompiler.ops.support.packing16 import Bias
from cmcompiler.ops.support.requantize import wrap32
from cmcompiler.ops.tflite._scales import (
    element_range,
    has_long_sums,
    product_factor,
    read_activation_range,
    read_activations,
    read_channel_scales,
    read_requantize,
    read_scale,
    tflite_op,
)


@tflite_op("FULLY_CONNECTED")
def read_fully_connected(call: Call) -> None:
    features, output = read_activations(call)
    filters = call.tensor("filter")
    if filters.data is None and filters.dtype == features.dtype == np.int8:
        _multiply_activations(call, features, filters, output)
        return
    weights = call.constant("filter", dtype=np.int8, rank=2)
    if call.integer("weights_format") != 0:
        call.unsupported("its weights are shuffled")
    columns, depth = weights.shape
    if weights.size == 0 or features.numel % depth:
        call.invalid(f"filter has shape {list(weights.shape)} for {list(features.shape)}")
    check_depth(call, depth)
    rows = features.numel // depth
    if output.shape[-1:] != (columns,) or output.numel != rows * columns:
        call.invalid(f"{list(features.shape)} and {list(weights.shape)} to {list(output.shape)}")
    source, result = read_scale(call, "input"), read_scale(call, "out")
    scales = read_channel_scales(call, "filter", columns, 0)
    if len(call.quantization("filter").scales) == 1:
        # One scale is multiplied in float32, those of channels in float64.
        factors = [product_factor(source, scale, result.scale) for scale in scales]
    else:
        factors = [source.scale * scale / result.scale for scale in scales]
    limits, is_long = read_activation_range(call, result), has_long_sums(call)
    requantize = read_requantize(call, factors, result, limits, is_long=is_long)
    bias: Bias
    if features.dtype == np.int16:
        bias = read_long_bias(call, columns)
    else:
        sums = weights.astype(np.int64).sum(axis=1)
        bias = wrap32(read_bias(call, columns) - source.zero_point * sums)
    operand = call.reshape(features, (*output.shape[:-1], depth))
    rows_first = call.arrange(operand, range(operand.rank))
    call.emit(Linear(weights, bias, requantize, rows), [rows_first], [output.tensor])


def _multiply_activations(call: Call, features: Operand, filters: Operand, output: Operand) -> None:
    """The product of two computed matrices, which converters write as a layer without bias."""
    if not call.is_none("bias"):
        call.unsupported("it has a bias, and its filter is not constant")
    if filters.rank != 2 or 0 in filters.shape or features.numel % filters.shape[1]:
        call.invalid(f"filter has shape {list(filters.shape)} for {list(features.shape)}")
    columns, depth = filters.shape
    rows = features.numel // depth
    if output.shape[-1:] != (columns,) or output.numel != rows * columns:
        call.invalid(f"{list(features.shape)} and {list(filters.shape)} to {list(output.shape)}")
    check_depth(call, depth)
    first, second = (
        call.arrange(call.reshape(matrix, (1, size, depth)), range(3))
        for matrix, size in ((features, rows), (filters, columns))
    )
    scales, result = (
        [read_scale(call, name) for name in ("input", "filter")],
        read_scale(call, "out"),
    )
    factor = product_factor(scales[0], scales[1].scale, result.scale)
    op = BatchMatmul(
        (1, rows, columns, depth),
        scales[0].zero_point,
        scales[1].zero_point,
        read_requantize(call, [factor], result, read_activation_range(call, result)),
    )
    product = call.temporary(output.dtype, (1, rows, columns))
    call.emit(op, [first, second], [product])
    call.emit(View(output.shape), [product], [output.tensor])


@tflite_op("BATCH_MATMUL")
def read_batch_matmul(call: Call) -> None:
    lhs, rhs, output = _matrices(call)
    rank = output.rank
    rows, depth = lhs.shape[-2:]
    columns = rhs.shape[-2]
    batch = prod(output.shape[:-2])
    ends = (rows, columns)
    is_batched = all(_spreads(x.shape[:-2], output.shape[:-2]) for x in (lhs, rhs))
    if rhs.shape[-1] != depth or output.shape[-2:] != ends or not is_batched:
        call.invalid(f"{list(lhs.shape)} and {list(rhs.shape)} to {list(output.shape)}")
    if 0 in (depth, output.numel):
        call.invalid(f"{list(lhs.shape)} and {list(rhs.shape)} to {list(output.shape)}")
    check_depth(call, depth)
    repeated = (_repeated(call, matrix, output.shape[: rank - 2]) for matrix in (lhs, rhs))
    first, second = (
        call.arrange(call.reshape(matrix, (batch, *matrix.shape[-2:])), range(3))
        for matrix in repeated
    )
    scales, result = [read_scale(call, name) for name in ("lhs", "rhs")], read_scale(call, "out")
    factor = product_factor(scales[0], scales[1].scale, result.scale)
    op = BatchMatmul(
        (batch, rows, columns, depth),
        scales[0].zero_point,
        scales[1].zero_point,
        read_requantize(call, [factor], result, element_range(call)),
    )
    product = call.temporary(output.dtype, (batch, rows, columns))
    call.emit(op, [first, second], [product])
    call.emit(View(output.shape), [product], [output.tensor])


def _spreads(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another one."""
    missing = len(wanted) - len(shape)
    own = (1,) * missing + shape
    return missing >= 0 and all(a in (1, b) for a, b in zip(own, wanted, strict=True))


def _matrices(call: Call) -> tuple[Operand, Operand, Operand]:
    """The left operand by rows, the right one by columns, and the output."""
    output = call.output("out")
    if output.dtype not in (np.int8, np.int16):
        call.wrong_type(f"out is {output.dtype.name}, not int8 or int16")
    operands = []
    for name, flag, is_turned in (("lhs", "adj_x", True), ("rhs", "adj_y", False)):
        operand = call.tensor(name, dtype=output.dtype)
        if operand.rank < 2 or output.rank < 2:
            call.invalid(f"{name} has {operand.rank} dimensions")
        if call.boolean(flag) == is_turned:
            operand = _turned(call, operand)
        operands.append(operand)
    return operands[0], operands[1], output


def _turned(call: Call, operand: Operand) -> Operand:
    """With its last two dimensions exchanged."""
    order = (*range(operand.rank - 2), operand.rank - 1, operand.rank - 2)
    shape = tuple(operand.shape[dim] for dim in order)
    if operand.data is not None:
        return call.literal(np.ascontiguousarray(operand.data.transpose(order)))
    turned = call.intermediate(operand.dtype, shape, range(operand.rank))
    reads = Strided.of(operand).permute(order)
    move(call, "transpose", turned, [(operand, reads, Strided.of(turned))])
    return turned


def _repeated(call: Call, operand: Operand, batches: tuple[int, ...]) -> Operand:
    """A matrix for each batch."""
    shape = (*batches, *operand.shape[-2:])
    if operand.shape == shape:
        return operand
    repeated = call.intermediate(operand.dtype, shape, range(len(shape)))
    reads = broadcast(call, operand, shape)
    move(call, "expand", repeated, [(operand, reads, Strided.of(repeated))])
    return repeated
