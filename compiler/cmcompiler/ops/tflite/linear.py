"""FULLY_CONNECTED."""

from __future__ import annotations

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.convolution import check_depth, read_bias
from cmcompiler.ops.support.requantize import wrap32
from cmcompiler.ops.tflite._scales import (
    product_factor,
    read_activation_range,
    read_channel_scales,
    read_requantize,
    read_scale,
    tflite_op,
)


@tflite_op("FULLY_CONNECTED")
def read_fully_connected(call: Call) -> None:
    features, output = call.tensor("input", dtype=np.int8), call.output("out", dtype=np.int8)
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
    requantize = read_requantize(call, factors, result, read_activation_range(call, result))
    sums = weights.astype(np.int64).sum(axis=1)
    bias = wrap32(read_bias(call, columns) - source.zero_point * sums)
    operand = call.reshape(features, (*output.shape[:-1], depth))
    call.emit(Linear(weights, bias, requantize, rows), [operand.tensor], [output.tensor])
