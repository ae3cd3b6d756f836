"""Programs of layers: convolutions, pools, products, recurrent layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.tflite_maker import (
    NONE,
    RELU,
    RELU6,
    RELU_N1_TO_1,
    SAME,
    TANH,
    VALID,
    Maker,
    case,
    pixels,
)


@case(
    same={},
    valid={"padding": VALID, "stride": (1, 2)},
    strided={"stride": (2, 2), "size": (7, 6), "activation": RELU6},
    dilated={"dilation": (2, 3), "activation": RELU},
    per_tensor={"per_channel": False, "activation": RELU_N1_TO_1},
    grouped={"channels": 4, "group": 2, "filters": 6},
    no_bias={"bias": False, "kernel": (1, 1)},
)
def conv_2d(
    make: Maker,
    *,
    padding: int = SAME,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    size: tuple[int, int] = (6, 7),
    kernel: tuple[int, int] = (3, 2),
    channels: int = 3,
    group: int | None = None,
    filters: int = 5,
    activation: int = NONE,
    per_channel: bool = True,
    bias: bool = True,
) -> None:
    weights = make.int8(filters, *kernel, group or channels)
    scales = make.random.uniform(0.001, 0.02, filters) if per_channel else 0.01
    source = make.source((1, *size, channels))
    operands = [source, make.file.constant(weights, scale=scales)]
    if bias:
        operands.append(make.file.constant(make.int32(filters), scale=scales))
    out = make.result((1, *pixels(size, kernel, padding, stride, dilation), filters))
    make.file.operator(
        "CONV_2D",
        operands,
        (out,),
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        dilation_h=dilation[0],
        dilation_w=dilation[1],
        activation=activation,
    )


@case(
    same={},
    strided={"stride": (2, 2), "size": (7, 6), "activation": RELU6},
    dilated={"dilation": (2, 2), "padding": VALID},
    multiplied={"multiplier": 3},
    one_channel={"channels": 1, "multiplier": 4, "stride": (2, 2)},
)
def depthwise_conv_2d(
    make: Maker,
    *,
    padding: int = SAME,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    size: tuple[int, int] = (6, 7),
    channels: int = 4,
    multiplier: int = 1,
    activation: int = NONE,
) -> None:
    filters, kernel = channels * multiplier, (3, 3)
    scales = make.random.uniform(0.001, 0.02, filters)
    weights = make.file.constant(make.int8(1, *kernel, filters), scale=scales, axis=3)
    bias = make.file.constant(make.int32(filters), scale=scales)
    source = make.source((1, *size, channels))
    out = make.result((1, *pixels(size, kernel, padding, stride, dilation), filters))
    make.file.operator(
        "DEPTHWISE_CONV_2D",
        (source, weights, bias),
        (out,),
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        dilation_h=dilation[0],
        dilation_w=dilation[1],
        depth_multiplier=multiplier,
        activation=activation,
    )


@case(
    plain={},
    no_bias={"bias": False, "activation": RELU},
    per_channel={"per_channel": True, "activation": RELU6},
    rows={"shape": (2, 3, 12), "keep": True},
    flattened={"shape": (1, 2, 2, 3)},
    shallow={"shape": (1, 4, 1), "depth": 1},
)
def fully_connected(
    make: Maker,
    *,
    shape: tuple[int, ...] = (3, 12),
    depth: int = 12,
    bias: bool = True,
    per_channel: bool = False,
    keep: bool = False,
    activation: int = NONE,
) -> None:
    columns = 7
    scale = make.random.uniform(0.001, 0.02, columns) if per_channel else 0.0113
    operands = [make.source(shape), make.file.constant(make.int8(columns, depth), scale=scale)]
    if bias:
        scales = np.float32(0.05 * make.finer) * np.float32(scale)
        operands.append(make.file.constant(make.int32(columns), scale=scales))
    rows = shape[:-1] if keep else (int(np.prod(shape)) // depth,)
    out = make.result((*rows, columns))
    make.file.operator(
        "FULLY_CONNECTED", operands, (out,), activation=activation, keep_num_dims=keep
    )


@case(plain={}, rows={"shape": (2, 3, 12), "activation": RELU6})
def fully_connected_product(
    make: Maker, *, shape: tuple[int, ...] = (5, 12), activation: int = NONE
) -> None:
    """A fully connected layer whose weights are computed."""
    operands = make.source(shape), make.source((7, 12), 0.0113, -7), -1
    out = make.result((*shape[:-1], 7))
    make.file.operator(
        "FULLY_CONNECTED", operands, (out,), activation=activation, keep_num_dims=len(shape) > 2
    )


@case(
    same={},
    strided={"stride": (2, 3), "padding": VALID, "activation": RELU},
    clamped={"activation": RELU6, "size": (5, 5)},
)
def average_pool_2d(make: Maker, **options: Any) -> None:
    _pool(make, "AVERAGE_POOL_2D", **options)


@case(
    same={},
    strided={"stride": (2, 2), "padding": VALID, "activation": RELU6},
)
def max_pool_2d(make: Maker, **options: Any) -> None:
    _pool(make, "MAX_POOL_2D", **options)


def _pool(
    make: Maker,
    name: str,
    *,
    padding: int = SAME,
    stride: tuple[int, int] = (1, 1),
    size: tuple[int, int] = (6, 7),
    activation: int = NONE,
) -> None:
    kernel = (3, 2)
    source = make.source((1, *size, 5), 0.05, 3)
    out = make.result((1, *pixels(size, kernel, padding, stride, (1, 1)), 5), 0.05, 3)
    make.file.operator(
        name,
        (source,),
        (out,),
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        filter_h=kernel[0],
        filter_w=kernel[1],
        activation=activation,
    )


@case(
    plain={},
    clamped={"activation": RELU6},
    row={"right": (5,)},
    column={"right": (1, 3, 1, 1), "activation": RELU},
    both={"left": (1, 1, 4, 5), "right": (1, 3, 1, 5)},
)
def add(
    make: Maker,
    *,
    left: tuple[int, ...] = (1, 3, 4, 5),
    right: tuple[int, ...] = (1, 3, 4, 5),
    activation: int = NONE,
) -> None:
    lhs, rhs = make.source(left, 0.05, 3), make.source(right, 0.031, -7)
    out = make.result(np.broadcast_shapes(left, right))
    make.file.operator("ADD", (lhs, rhs), (out,), activation=activation)


@case(
    plain={},
    sharp={"beta": 2.5, "scale": 0.31},
    rows={"shape": (2, 3, 4, 6)},
    many={"shape": (90, 7), "scale": 0.2},
)
def softmax(
    make: Maker, *, shape: tuple[int, ...] = (3, 10), beta: float = 1.0, scale: float = 0.1
) -> None:
    out = make.result(shape, 1 / 256, -128)
    make.file.operator("SOFTMAX", (make.source(shape, scale),), (out,), beta=beta)


@case(
    plain={},
    sharp={"scale": 0.31},
    fine={"scale": 0.004, "shape": (4, 200)},
    rows={"shape": (2, 3, 4, 6), "scale": 0.07},
)
def log_softmax(make: Maker, *, shape: tuple[int, ...] = (6, 10), scale: float = 0.1) -> None:
    out = make.result(shape, 1 / 16, 127)
    make.file.operator("LOG_SOFTMAX", (make.source(shape, scale),), (out,))


@case()
def nothing_times(make: Maker) -> None:
    """Converters give an initial state of zeros the scale 0."""
    nothing = make.file.constant(np.zeros((1, 6), np.int8), scale=0.0)
    out = make.result((1, 6), 0.05, 3)
    make.file.operator("MUL", (make.source((1, 6)), nothing), (out,), activation=NONE)


@case()
def reshape(make: Maker) -> None:
    shape = make.file.constant(np.array([4, 6], np.int32))
    out = make.result((4, 6), 0.05, 3)
    make.file.operator("RESHAPE", (make.source((2, 3, 4)), shape), (out,))


@case(fine={"scale": 0.013}, usual={"scale": 0.05}, coarse={"scale": 0.4})
def logistic(make: Maker, scale: float) -> None:
    source, out = make.source((1, 256), scale), make.result((1, 256), 1 / 256, -128)
    make.file.operator("LOGISTIC", (source,), (out,))


@case(
    batch_first={},
    time_first={"time_major": True},
    clipped={"clip": 1.5, "cell": 2**-11},
    fine={"cell": 2**-15},
    fine_clipped={"clip": 0.9, "cell": 2**-14, "units": 13},
    finest={"cell": 2**-19, "time_major": True},
)
def unidirectional_sequence_lstm(
    make: Maker,
    *,
    time_major: bool = False,
    clip: float = 10.0,
    cell: float = 2**-12,
    steps: int = 5,
    features: int = 6,
    units: int = 4,
    batch: int = 2,
) -> None:
    batch = 1 if time_major else batch
    hidden_scale = 1 / 128
    shape = (steps, batch) if time_major else (batch, steps)
    source = make.source((*shape, features), 0.03 * make.finer, 2)
    operands = [source]
    operands += [
        make.file.constant(make.int8(units, features), scale=0.011 + 0.003 * i) for i in range(4)
    ]
    operands += [
        make.file.constant(make.int8(units, units), scale=0.013 + 0.002 * i) for i in range(4)
    ]
    operands += [-1] * 3
    operands += [make.file.constant(make.int32(units), scale=0.0004) for _ in range(4)]
    operands += [-1] * 2
    operands.append(make.variable((batch, units), hidden_scale, 1))
    operands.append(make.file.tensor((batch, units), np.int16, scale=cell, is_variable=True))
    operands += [-1] * 4
    out = make.result((*shape, units), hidden_scale, 1)
    between = [make.file.tensor((0,), np.int16, scale=2**-12) for _ in range(4)]
    between.append(make.file.tensor((0,), scale=hidden_scale, zero_point=1))
    make.file.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        operands,
        (out,),
        between=between,
        activation=TANH,
        cell_clip=clip,
        time_major=time_major,
    )


@case(
    plain={},
    rectified={"activation": RELU, "rank": 2},
    narrow={"step": 0.004, "largest": 128},
    narrow_rectified={"step": 0.002, "largest": 128, "activation": RELU, "rank": 2},
)
def svdf(
    make: Maker,
    *,
    activation: int = NONE,
    rank: int = 1,
    step: float = 0.00003,
    largest: int = 9000,
) -> None:
    """With int8 features and weights over time if these are no larger than that allows."""
    outputs, features, memory = 4, 6, 5
    rows, dtype = outputs * rank, np.int8 if largest <= 128 else np.int16
    weights = make.file.constant(make.int8(rows, features), scale=0.011)
    times = make.random.integers(-largest, largest, (rows, memory)).astype(dtype)
    kept = make.file.constant(times, scale=step)
    scale = 0.001 if dtype == np.int16 else 0.02
    bias = make.file.constant(make.int32(outputs), scale=scale * step)
    state = make.file.tensor((1, rows * memory), dtype, scale=scale, is_variable=True)
    out = make.result((1, outputs), 0.02)
    source = make.source((1, features))
    make.file.operator(
        "SVDF", (source, weights, kept, bias, state), (out,), rank=rank, activation=activation
    )
