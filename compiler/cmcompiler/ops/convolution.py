"""Quantised convolutions: cortex_m::quantized_conv2d and quantized_depthwise_conv2d."""

from __future__ import annotations

from cmcompiler.decode.call import Call
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.grouped_conv2d import GroupedConv2d
from cmcompiler.ops.support.convolution import Operands, read_operands
from cmcompiler.ops.support.requantize import Int8Array
from cmcompiler.ops.support.window import image_op


@image_op(
    "quantized_conv2d",
    "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
    "int input_offset, int output_offset, Tensor requantize_multipliers, "
    "Tensor requantize_shifts, int activation_min, int activation_max, Tensor scratch, *, "
    "Tensor(a!) out) -> Tensor(a!)",
)
def read_conv2d(call: Call) -> None:
    operands = read_operands(call)
    weights, channels = operands.weights, operands.images.shape[-1]
    groups, rest = divmod(channels, weights.shape[3])
    if groups == 0 or rest or len(weights) % groups:
        call.invalid(f"weights have shape {list(weights.shape)} for {channels} channels")
    if weights.shape[3] == 1 and groups > 1:
        _emit_depthwise(call, operands, weights.transpose(3, 1, 2, 0)[0])
    else:
        _emit_grouped(call, operands, weights, groups)


@image_op(
    "quantized_depthwise_conv2d",
    "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
    "int depth_multiplier, int input_offset, int output_offset, "
    "Tensor requantize_multipliers, Tensor requantize_shifts, int activation_min, "
    "int activation_max, Tensor scratch, *, Tensor(a!) out) -> Tensor(a!)",
)
def read_depthwise(call: Call) -> None:
    operands = read_operands(call)
    weights, channels = operands.weights, operands.images.shape[-1]
    if len(weights) != 1 or weights.shape[3] != channels * call.integer("depth_multiplier"):
        call.invalid(f"weights have shape {list(weights.shape)} for {channels} channels")
    if channels > 1:
        _emit_depthwise(call, operands, weights[0])
    else:
        _emit_grouped(call, operands, weights.transpose(3, 1, 2, 0), channels)


def _emit_grouped(call: Call, operands: Operands, weights: Int8Array, groups: int) -> None:
    """Appends a convolution with weights [C_out, kernel height, kernel width, C_in / groups]."""
    size = operands.window.output_size(operands.images.shape[1:3])
    operands.check(call, weights[0].size, size, len(weights))
    operands.emit(call, GroupedConv2d if groups > 1 else Conv2d, weights, groups)


def _emit_depthwise(call: Call, operands: Operands, weights: Int8Array) -> None:
    """Appends a depthwise convolution with weights [kernel height, kernel width, C]."""
    size = operands.window.output_size(operands.images.shape[1:3])
    operands.check(call, operands.window.area, size, weights.shape[2])
    operands.emit(call, DepthwiseConv2d, weights)
