"""Layers that a model computes with int16 activations: cmbuild::short_conv2d_s16 and its kin.

Weights are int8, sums have 64 bits: see ops/support/requantize16.py.
"""

from __future__ import annotations

from math import prod

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.decode.registry import program_op
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.add import Add
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.batch_matmul import BatchMatmul
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.interpolation import ENTRIES, Interpolation
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.mul import Mul
from cmcompiler.ops.quantized_sum import MOST_SHORT_MEMBERS, QuantizedSum
from cmcompiler.ops.short_softmax import LONG_REACH, LONGEST, ShortSoftmax
from cmcompiler.ops.softmax import arrange_rows
from cmcompiler.ops.support.convolution import LARGEST, check_depth, read_long_bias, read_pair
from cmcompiler.ops.support.elementwise import align_pair
from cmcompiler.ops.support.members import Members
from cmcompiler.ops.support.parameters import INT32_MAX, Rescale
from cmcompiler.ops.support.pooling import fit_window
from cmcompiler.ops.support.pooling import read_pair as read_pool_pair
from cmcompiler.ops.support.requantize import LONGEST_SHIFT, Range16, Requantize
from cmcompiler.ops.support.requantize16 import INT16, Requantize16
from cmcompiler.ops.support.window import Window
from cmcompiler.ops.transpose_conv2d import MOST_PHASES, TransposeConv2d, without_zeros
from cmcompiler.ops.two_slopes import TwoSlopes

_SCALES = "Tensor multipliers, Tensor shifts, int minimum, int maximum, *, Tensor(a!) out"
_RESCALE = "int multiplier, int shift"


@program_op(
    "cmbuild::short_conv2d_s16.out(Tensor x, Tensor weights, Tensor bias, int[] stride, "
    f"int[] padding, int[] dilation, int groups, {_SCALES}) -> Tensor(a!)"
)
def read_conv2d(call: Call) -> None:
    images, output = call.nhwc("x", dtype=np.int16), call.nhwc_output("out")
    weights = call.constant("weights", dtype=np.int8, rank=4)
    window = _window(call, (weights.shape[1], weights.shape[2]))
    groups, channels = call.integer("groups", 1), images.shape[3]
    is_empty = 0 in (*images.shape, *weights.shape)
    if weights.shape[3] * groups != channels or len(weights) % groups or is_empty:
        call.invalid(f"weights have shape {list(weights.shape)} for {channels} channels")
    size = window.output_size(images.shape[1:3])
    if output.shape != (images.shape[0], *size, len(weights)) or output.dtype != np.int16:
        call.invalid(f"out is {output.dtype.name} {output.shape}")
    check_depth(call, weights[0].size)
    shared = (read_long_bias(call, len(weights)), window, 0, _requantize(call, len(weights)))
    if weights.shape[3] == 1 and groups == len(weights) > 1:
        taps = weights.transpose(3, 1, 2, 0)[0]
        call.emit(DepthwiseConv2d(taps, *shared, output.shape), [images], [output])
    else:
        call.emit(Conv2d(weights, *shared, output.shape, groups), [images], [output])


@program_op(
    "cmbuild::short_conv_transpose2d_s16.out(Tensor x, Tensor weights, Tensor bias, int[] stride, "
    f"int[] padding, int[] dilation, int[] extra, {_SCALES}) -> Tensor(a!)"
)
def read_transposed(call: Call) -> None:
    images, output = call.nhwc("x", dtype=np.int16), call.nhwc_output("out")
    weights = call.constant("weights", dtype=np.int8, rank=4)
    window = _window(call, (weights.shape[1], weights.shape[2]))
    size = window.transposed_size(images.shape[1], images.shape[2], read_pair(call, "extra", 0))
    if weights.shape[3] != images.shape[3] or 0 in (*images.shape, *weights.shape):
        call.invalid(f"weights have shape {list(weights.shape)} for {images.shape}")
    if output.shape != (images.shape[0], *size, len(weights)) or output.dtype != np.int16:
        call.invalid(f"out is {output.dtype.name} {output.shape}")
    check_depth(call, weights[0].size)
    calls = prod(map(min, window.stride, size))
    if calls > MOST_PHASES:
        call.unsupported(f"strides {list(window.stride)} take {calls:,} kernel calls")
    channels = len(weights)
    weights, window = without_zeros(weights, window)
    bias, requantize = read_long_bias(call, channels), _requantize(call, channels)
    op = TransposeConv2d(weights, bias, window, 0, requantize, output.shape, images.shape)
    call.emit(op, [images], [output])


@program_op(
    f"cmbuild::short_linear_s16.out(Tensor x, Tensor weights, Tensor bias, {_SCALES}) -> Tensor(a!)"
)
def read_linear(call: Call) -> None:
    source, result = call.tensor("x", dtype=np.int16), call.output("out", dtype=np.int16)
    features = call.arrange(source, range(source.rank))
    output = call.arranged_output(result, range(result.rank))
    weights = call.constant("weights", dtype=np.int8, rank=2)
    columns, depth = weights.shape
    if features.shape[-1:] != (depth,) or output.shape != (*features.shape[:-1], columns):
        call.invalid(f"weights have shape {list(weights.shape)} for {features.shape}")
    check_depth(call, depth)
    bias, requantize = read_long_bias(call, columns), _requantize(call, columns)
    rows = prod(features.shape[:-1])
    call.emit(Linear(weights, bias, requantize, rows), [features], [output])


@program_op(
    f"cmbuild::short_add_s16.out(Tensor x, {_RESCALE}, Tensor y, int y_multiplier, int y_shift, "
    "int out_multiplier, int out_shift, int minimum, int maximum, *, Tensor(a!) out) -> Tensor(a!)"
)
def read_add(call: Call) -> None:
    output = call.output("out", dtype=np.int16)
    operands = [call.tensor(name, dtype=np.int16) for name in ("x", "y")]
    second, final = (
        Rescale(
            0,
            call.integer(f"{name}_multiplier", -INT32_MAX, INT32_MAX),
            call.integer(f"{name}_shift", -LONGEST_SHIFT, LONGEST_SHIFT),
        )
        for name in ("y", "out")
    )
    scales = (_rescale(call), second)
    loops, tensors, (lhs, rhs) = align_pair(call, operands, output)
    op = Add(loops, output.tensor.shape, scales[lhs], scales[rhs], final, _limits(call))
    call.emit(op, tensors, [output.tensor])


@program_op(
    f"cmbuild::short_mul_s16.out(Tensor x, Tensor y, {_RESCALE}, *, Tensor(a!) out) -> Tensor(a!)"
)
def read_mul(call: Call) -> None:
    output = call.output("out", dtype=np.int16)
    operands = [call.tensor(name, dtype=np.int16) for name in ("x", "y")]
    loops, tensors, _ = align_pair(call, operands, output)
    op = Mul(loops, output.tensor.shape, 0, 0, _rescale(call), INT16)
    call.emit(op, tensors, [output.tensor])


@program_op(
    f"cmbuild::short_bmm_s16.out(Tensor x, Tensor y_transposed, {_RESCALE}, *, Tensor(a!) out) "
    "-> Tensor(a!)"
)
def read_bmm(call: Call) -> None:
    lhs, rhs = (
        call.arrange(call.tensor(name, dtype=np.int16, rank=3), range(3))
        for name in ("x", "y_transposed")
    )
    output = call.arranged_output(call.output("out", dtype=np.int16), range(3))
    (batch, rows, depth), columns = lhs.shape, rhs.shape[1]
    if rhs.shape != (batch, columns, depth) or output.shape != (batch, rows, columns):
        call.invalid(f"matrices of shapes {lhs.shape} and {rhs.shape}")
    check_depth(call, depth)
    scale = _rescale(call)
    try:
        requantize = Requantize16.of([scale.multiplier], [scale.shift], INT16, is_long=True)
    except ValueError as error:
        call.unsupported(str(error))
    call.emit(BatchMatmul((batch, rows, columns, depth), 0, 0, requantize), [lhs, rhs], [output])


@program_op(
    f"cmbuild::short_clamp_s16.out(Tensor x, {_RESCALE}, int below_multiplier, int below_shift, "
    "int minimum, int maximum, *, Tensor(a!) out) -> Tensor(a!)"
)
def read_clamp(call: Call) -> None:
    source, output = _same_shapes(call)
    below = Rescale(
        0,
        call.integer("below_multiplier", -INT32_MAX, INT32_MAX),
        call.integer("below_shift", -LONGEST_SHIFT, LONGEST_SHIFT),
    )
    limits = _limits(call)
    ends = limits.minimum, limits.maximum
    op = TwoSlopes(output.dtype, 0, 0, below, _rescale(call), *ends, name="clamp")
    call.emit(op, [call.arrange(source, output.dim_order)], [output.tensor])


@program_op(
    "cmbuild::short_function_s16.out(Tensor x, Tensor table, *, Tensor(a!) out) -> Tensor(a!)"
)
def read_function(call: Call) -> None:
    source, output = _same_shapes(call)
    table = call.constant("table", dtype=np.int16, rank=1)
    if table.size != 2 * ENTRIES:
        call.invalid(f"table has {table.size} entries, not {2 * ENTRIES}")
    op = Interpolation(tuple(table.tolist()))
    call.emit(op, [call.arrange(source, output.dim_order)], [output.tensor])


@program_op(
    f"cmbuild::short_sum_s16.out(Tensor x, int[] dims, bool keepdim, {_RESCALE}, *, "
    "Tensor(a!) out) -> Tensor(a!)"
)
def read_sum(call: Call) -> None:
    source, output = call.tensor("x", dtype=np.int16), call.output("out", dtype=np.int16)
    dims, keepdim = call.dimensions("dims", source.rank), call.boolean("keepdim")
    count = prod(source.shape[dim] for dim in dims)
    if not dims or not 1 <= count <= MOST_SHORT_MEMBERS:
        call.unsupported(f"a sum of {count:,} elements, not 1 to {MOST_SHORT_MEMBERS:,}")
    axes = Members.of(source, dims, keepdim)
    result = call.arranged_output(output, axes.result_order)
    sizes = axes.outer, count, axes.inner
    op = QuantizedSum(*sizes, 0, _rescale(call), result.shape, INT16)
    call.emit(op, [call.arrange(source, axes.order)], [result])


@program_op(
    "cmbuild::short_avg_pool2d_s16.out(Tensor x, int[] kernel_size, int[] stride, int[] padding, "
    "bool ceil_mode, *, Tensor(a!) out) -> Tensor(a!)"
)
def read_average(call: Call) -> None:
    images, output = call.nhwc("x", dtype=np.int16), call.nhwc_output("out")
    window = fit_window(call, images.shape, output.shape)
    call.emit(AvgPool2d(window, output.shape, INT16), [images], [output])


@program_op(
    "cmbuild::short_max_pool2d_s16.out(Tensor x, int[] kernel_size, int[] stride, int[] padding, "
    "int[] dilation, bool ceil_mode, *, Tensor(a!) out) -> Tensor(a!)"
)
def read_max(call: Call) -> None:
    images, output = call.nhwc("x", dtype=np.int16), call.nhwc_output("out")
    window = fit_window(call, images.shape, output.shape, read_pool_pair(call, "dilation", 1))
    call.emit(MaxPool2d(window, output.shape, INT16), [images], [output])


@program_op(
    f"cmbuild::short_softmax_s16.out(Tensor x, int dim, {_RESCALE}, *, Tensor(a!) out) "
    "-> Tensor(a!)"
)
def read_softmax(call: Call) -> None:
    source, output = _same_shapes(call)
    rows, result = arrange_rows(call, source, output)
    if not 1 <= (1, *rows.shape)[-1] <= LONGEST:
        call.unsupported(f"rows of {rows.shape[-1]:,} elements, not up to {LONGEST:,}")
    scale = _rescale(call)
    op = ShortSoftmax(scale.multiplier, scale.shift, (1, *rows.shape)[-1], LONG_REACH)
    call.emit(op, [rows], [result])


def _same_shapes(call: Call) -> tuple[Operand, Operand]:
    source, output = call.tensor("x", dtype=np.int16), call.output("out", dtype=np.int16)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    return source, output


def _window(call: Call, kernel: tuple[int, int]) -> Window:
    window = Window(
        kernel,
        stride=read_pair(call, "stride", at_least=1),
        padding=read_pair(call, "padding", at_least=0),
        dilation=read_pair(call, "dilation", at_least=1),
    )
    if min(kernel) < 1 or max(window.reach) > LARGEST:
        call.unsupported(f"a window of {window.reach[0]}×{window.reach[1]}")
    return window


def _limits(call: Call) -> Range16:
    low = call.integer("minimum", INT16.minimum, INT16.maximum)
    return Range16(low, call.integer("maximum", low, INT16.maximum))


def _rescale(call: Call) -> Rescale:
    multiplier = call.integer("multiplier", 0, INT32_MAX)
    return Rescale(0, multiplier, call.integer("shift", -LONGEST_SHIFT, LONGEST_SHIFT))


def _requantize(call: Call, channels: int) -> Requantize:
    multipliers, shifts = (
        call.constant(name, dtype=np.int32, rank=1) for name in ("multipliers", "shifts")
    )
    if not len(multipliers) == len(shifts) == channels or multipliers.min(initial=0) < 0:
        call.invalid(f"{len(multipliers)} multipliers for {channels} channels")
    pairs = multipliers.tolist(), shifts.tolist()
    try:
        return Requantize16.of(*pairs, _limits(call), is_long=True)
    except ValueError as error:
        call.unsupported(str(error))
