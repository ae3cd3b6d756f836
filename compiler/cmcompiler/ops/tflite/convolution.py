"""CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV."""

from __future__ import annotations

from math import prod

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.grouped_conv2d import GroupedConv2d
from cmcompiler.ops.support.convolution import Operands, check_depth, read_bias, read_long_bias
from cmcompiler.ops.support.packing16 import Bias
from cmcompiler.ops.support.requantize import Int8Array, Requantize
from cmcompiler.ops.tflite._scales import (
    has_long_sums,
    read_activation_range,
    read_activations,
    read_channel_scales,
    read_requantize,
    read_scale,
    tflite_op,
)
from cmcompiler.ops.tflite._windows import read_window
from cmcompiler.ops.transpose_conv2d import MOST_PHASES, TransposeConv2d, without_zeros


@tflite_op("CONV_2D")
def read_conv2d(call: Call) -> None:
    weights = call.constant("filter", dtype=np.int8, rank=4)
    operands = _read_operands(call, weights, 0)
    channels = operands.images.shape[3]
    groups, rest = divmod(channels, weights.shape[3])
    if groups == 0 or rest or len(weights) % groups:
        call.invalid(f"filter has shape {list(weights.shape)} for {channels} channels")
    if weights.shape[3] == 1 and groups > 1:
        _emit_depthwise(call, operands, weights.transpose(3, 1, 2, 0)[0])
    else:
        _emit_grouped(call, operands, weights, groups)


@tflite_op("DEPTHWISE_CONV_2D")
def read_depthwise(call: Call) -> None:
    weights = call.constant("filter", dtype=np.int8, rank=4)
    operands = _read_operands(call, weights, 3)
    channels = operands.images.shape[3]
    if len(weights) != 1 or weights.shape[3] % channels:
        call.invalid(f"filter has shape {list(weights.shape)} for {channels} channels")
    if channels > 1:
        _emit_depthwise(call, operands, weights[0])
    else:
        _emit_grouped(call, operands, weights.transpose(3, 1, 2, 0), channels)


@tflite_op("TRANSPOSE_CONV")
def read_transposed(call: Call) -> None:
    """The output's size is that of the tensor, whatever says it besides."""
    weights = call.constant("filter", dtype=np.int8, rank=4)
    images, output = (operand.tensor for operand in read_activations(call))
    channels = len(weights)
    if len(images.shape) != 4:
        call.unsupported(f"input has {len(images.shape)} dimensions, not 4")
    if 0 in (*images.shape, *output.shape, *weights.shape) or len(output.shape) != 4:
        call.invalid(f"{list(images.shape)} and {list(weights.shape)} to {list(output.shape)}")
    if weights.shape[3] != images.shape[3] or output.shape[3] != channels:
        call.invalid(f"{list(images.shape)} and {list(weights.shape)} to {list(output.shape)}")
    # The window is that of the convolution which makes images of the output's size.
    window = read_window(call, (weights.shape[1], weights.shape[2]), output, images)
    check_depth(call, weights[0].size)
    calls = prod(map(min, window.stride, output.shape[1:3]))
    if images.shape[0] != output.shape[0]:
        call.invalid(f"{list(images.shape)} to {list(output.shape)}")
    if calls > MOST_PHASES:
        call.unsupported(f"strides {list(window.stride)} take {calls:,} kernel calls")
    values = _read_values(call, channels, 0)
    weights, window = without_zeros(weights, window)
    operands = Operands(images, output, weights, _read_bias(call, channels), window, *values)
    operands.emit(call, TransposeConv2d, weights, images.shape)


def _read_operands(call: Call, weights: Int8Array, axis: int) -> Operands:
    """The operands that both convolutions have.

    Args:
        axis: the dimension of the weights that is the output's channels.
    """
    source, output = read_activations(call)
    images = source.tensor
    if source.rank != 4:
        call.unsupported(f"input has {source.rank} dimensions, not 4")
    if output.rank != 4 or 0 in images.shape or weights.size == 0:
        call.invalid(f"{list(images.shape)} and {list(weights.shape)} to {list(output.shape)}")
    window = read_window(
        call, (weights.shape[1], weights.shape[2]), images, output.tensor, dilated=True
    )
    channels = weights.shape[axis]
    if output.shape[3] != channels or output.shape[0] != images.shape[0]:
        call.invalid(f"{list(images.shape)} and {list(weights.shape)} to {list(output.shape)}")
    bias, values = _read_bias(call, channels), _read_values(call, channels, axis)
    return Operands(images, output.tensor, weights, bias, window, *values)


def _read_bias(call: Call, channels: int) -> Bias:
    is_short = call.element("input") == np.int16
    return read_long_bias(call, channels) if is_short else read_bias(call, channels)


def _read_values(call: Call, channels: int, axis: int) -> tuple[int, Requantize]:
    """The input's zero point, and what makes the output of sums."""
    source, result = read_scale(call, "input"), read_scale(call, "out")
    factors = [
        source.scale * scale / result.scale
        for scale in read_channel_scales(call, "filter", channels, axis)
    ]
    limits = read_activation_range(call, result)
    return source.zero_point, read_requantize(
        call, factors, result, limits, is_long=has_long_sums(call)
    )


def _emit_grouped(call: Call, operands: Operands, weights: Int8Array, groups: int) -> None:
    """Appends a convolution with weights [C_out, kernel height, kernel width, C_in / groups]."""
    check_depth(call, weights[0].size)
    operands.emit(call, GroupedConv2d if groups > 1 else Conv2d, weights, groups)


def _emit_depthwise(call: Call, operands: Operands, weights: Int8Array) -> None:
    """Appends a depthwise convolution with weights [kernel height, kernel width, C]."""
    check_depth(call, operands.window.area)
    operands.emit(call, DepthwiseConv2d, weights)
