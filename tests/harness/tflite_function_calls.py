"""Programs of functions, sums and products, reductions, matrices, and images of another size."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmcompiler.tflite.schema import TensorType
from harness.tflite_maker import (
    NONE,
    RELU,
    RELU6,
    SAME,
    VALID,
    Maker,
    case,
    pixels,
)


@case(plain={}, clamped={"activation": RELU6}, row={"right": (5,)})
def sub(make: Maker, *, right: tuple[int, ...] = (1, 3, 4, 5), activation: int = NONE) -> None:
    lhs, rhs = make.source((1, 3, 4, 5), 0.05, 3), make.source(right, 0.031, -7)
    out = make.result((1, 3, 4, 5))
    make.file.operator("SUB", (lhs, rhs), (out,), activation=activation)


@case(plain={}, clamped={"activation": RELU}, column={"right": (1, 3, 1, 1)})
def mul(make: Maker, *, right: tuple[int, ...] = (1, 3, 4, 5), activation: int = NONE) -> None:
    lhs, rhs = make.source((1, 3, 4, 5), 0.05, 3), make.source(right, 0.031, -7)
    out = make.result((1, 3, 4, 5), 0.21)
    make.file.operator("MUL", (lhs, rhs), (out,), activation=activation)


@case(maximum={"name": "MAXIMUM"}, minimum={"name": "MINIMUM", "right": (1, 1, 5)})
def extreme(make: Maker, name: str, right: tuple[int, ...] = (3, 4, 5)) -> None:
    lhs, rhs = make.source((3, 4, 5), 0.05, 3), make.source(right, 0.05, 3)
    make.file.operator(name, (lhs, rhs), (make.result((3, 4, 5), 0.05, 3),))


@case(
    plain={},
    clamped={"activation": RELU},
    row={"right": (5,)},
    turned={"left": (1, 1, 1, 1)},
    fine={"scale": 0.003},
)
def div(
    make: Maker,
    *,
    left: tuple[int, ...] = (4, 12, 4, 5),
    right: tuple[int, ...] = (4, 12, 4, 5),
    scale: float = 0.02,
    activation: int = NONE,
) -> None:
    """Divisors are odd numbers of steps, and no shift is above 31, as Micro leaves both open."""
    whole = make.source(right, 0.062, 0)
    odd = make.file.tensor(right, np.int8, scale=0.031, zero_point=-1)
    make.file.operator(
        "ADD",
        (whole, make.file.constant(np.ones((1,), np.int8), scale=0.031)),
        (odd,),
        activation=NONE,
    )
    lhs = make.source(left, 0.05, 3)
    make.file.operator(
        "DIV", (lhs, odd), (make.result((4, 12, 4, 5), scale),), activation=activation
    )


@case(
    plain={},
    row={"right": (5,)},
    coarse={"scale": 5.0},
    one={"right": (1, 1, 1, 1), "scales": (0.02, 0.4)},
)
def squared_difference(
    make: Maker,
    *,
    right: tuple[int, ...] = (1, 3, 4, 5),
    scales: tuple[float, float] = (0.05, 0.031),
    scale: float = 0.5,
) -> None:
    lhs, rhs = make.source((1, 3, 4, 5), scales[0], 3), make.source(right, scales[1], -7)
    make.file.operator("SQUARED_DIFFERENCE", (lhs, rhs), (make.result((1, 3, 4, 5), scale, -90),))


ORDERS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")


@case(
    **{
        f"{name.lower()}_{kind}": {"name": name, **sides}
        for name in ORDERS
        for kind, sides in {
            "apart": {"left": (0.05, 3), "right": (0.031, -7)},
            "within": {"left": (0.02, 100), "right": (0.05, 3)},
            "beyond": {"left": (0.05, 3), "right": (0.031, 20)},
            "alike": {"left": (0.05, 3), "right": (0.05, 3)},
            "next": {"left": (0.05, 3), "right": (0.05, 4)},
            "fine": {"left": (0.0011, 3), "right": (0.0013, 9)},
        }.items()
    }
)
def comparison(make: Maker, name: str, left: tuple[float, int], right: tuple[float, int]) -> None:
    every = np.arange(-128, 128).astype(np.int8)
    lhs, rhs = (
        make.source((1, 12, 1), *left),
        make.file.constant(every, scale=right[0], zero_point=right[1]),
    )
    make.file.operator(name, (lhs, rhs), (make.result((1, 12, 256), None, 0, np.bool_),))


@case(whole={"name": "LESS"}, equal={"name": "EQUAL"})
def integer_comparison(make: Maker, name: str) -> None:
    lhs, rhs = (make.source((3, 5), None, 0, np.int32) for _ in range(2))
    make.file.operator(name, (lhs, rhs), (make.result((3, 5), None, 0, np.bool_),))


@case(both={"name": "LOGICAL_AND"}, any={"name": "LOGICAL_OR"}, none={"name": "LOGICAL_NOT"})
def logic(make: Maker, name: str) -> None:
    count = 1 if name == "LOGICAL_NOT" else 2
    sides = [make.source((3, 5), None, 0, np.bool_) for _ in range(count)]
    make.file.operator(name, sides, (make.result((3, 5), None, 0, np.bool_),))


@case(plain={}, row={"right": (5,)}, old={"name": "SELECT"})
def select(make: Maker, name: str = "SELECT_V2", right: tuple[int, ...] = (3, 5)) -> None:
    condition = make.source((3, 5), None, 0, np.bool_)
    lhs, rhs = make.source((3, 5)), make.source(right)
    make.file.operator(name, (condition, lhs, rhs), (make.result((3, 5), 0.05, 3),))


@case(
    relu={"name": "RELU"},
    relu6={"name": "RELU6", "same": True},
    abs={"name": "ABS"},
    abs_same={"name": "ABS", "same": True},
    elu={"name": "ELU"},
    hard_swish={"name": "HARD_SWISH"},
    hard_swish_wide={"name": "HARD_SWISH", "scale": 0.9},
    hard_swish_narrow={"name": "HARD_SWISH", "scale": 0.004},
    tanh={"name": "TANH", "out": (1 / 128, 0)},
    tanh_fine={"name": "TANH", "out": (1 / 128, 0), "scale": 0.009},
    tanh_coarse={"name": "TANH", "out": (1 / 128, 0), "scale": 0.31},
    quantize={"name": "QUANTIZE"},
    leaky_relu={"name": "LEAKY_RELU", "alpha": 0.2},
    leaky_relu_quarter={"name": "LEAKY_RELU", "alpha": 0.25, "same": True},
    leaky_relu_negative={"name": "LEAKY_RELU", "alpha": -0.3},
    gelu={"name": "GELU"},
    gelu_by_tanh={"name": "GELU", "approximate": True},
    exp={"name": "EXP"},
)
def function(
    make: Maker,
    name: str,
    *,
    scale: float = 0.05,
    out: tuple[float, int] = (0.043, -9),
    same: bool = False,
    **options: Any,
) -> None:
    source = make.source((2, 128), scale, 3)
    result = make.result((2, 128), *((scale, 3) if same else out))
    make.file.operator(name, (source,), (result,), **options)


@case()
def logarithm(make: Maker) -> None:
    source = make.source((2, 128), 0.05, -128)
    make.file.operator("LOG", (source,), (make.result((2, 128), 0.02, -40),))


@case()
def sqrt(make: Maker) -> None:
    source = make.source((2, 128), 0.05, -128)
    make.file.operator("SQRT", (source,), (make.result((2, 128), 0.013, -120),))


@case()
def rsqrt(make: Maker) -> None:
    source = make.source((2, 128), 0.05, -128)
    make.file.operator("RSQRT", (source,), (make.result((2, 128), 0.01, -100),))


@case(
    shared={"shape": (1, 1, 6)},
    quarters={"shape": (1, 1, 6), "scale": 1 / 64, "same": True},
    one={"shape": (1, 1, 1)},
    each={"shape": (4, 8, 6)},
    rows={"shape": (4, 1, 1)},
)
def prelu(make: Maker, shape: tuple[int, ...], *, scale: float = 0.011, same: bool = False) -> None:
    alpha = make.file.constant(make.int8(*shape), scale=scale, zero_point=2)
    source = make.source((1, 4, 8, 6), 0.05, 3)
    result = make.result((1, 4, 8, 6), *((0.05, 3) if same else (0.043, -9)))
    make.file.operator("PRELU", (source, alpha), (result,))


@case(
    image={"axes": (1, 2), "keep_dims": True},
    flat={"axes": (1, 2)},
    last={"axes": (-1,)},
    apart={"axes": (1, 3)},
    sum={"name": "SUM", "axes": (2,), "scale": 0.4},
    sum_image={"name": "SUM", "axes": (1, 2), "scale": 0.9},
    largest={"name": "REDUCE_MAX", "axes": (1, 2), "same": True},
    smallest={"name": "REDUCE_MIN", "axes": (3,), "same": True, "keep_dims": True},
    largest_apart={"name": "REDUCE_MAX", "axes": (1, 3), "same": True},
    whole={"axes": (0, 1, 2, 3), "one": True},
    sum_whole={"name": "SUM", "axes": (0, 1, 2, 3), "scale": 0.9, "one": True},
    smallest_whole={"name": "REDUCE_MIN", "axes": (0, 1, 2, 3), "same": True, "one": True},
)
def reduction(
    make: Maker,
    axes: tuple[int, ...],
    *,
    name: str = "MEAN",
    keep_dims: bool = False,
    scale: float = 0.043,
    same: bool = False,
    one: bool = False,
) -> None:
    """Of a tensor; `one`: nothing is left of it, and the output has one dimension nevertheless."""
    shape = (1, 4, 7, 5)
    left = [1 if d in {a % 4 for a in axes} else n for d, n in enumerate(shape)]
    if not keep_dims:
        left = [n for d, n in enumerate(shape) if d not in {a % 4 for a in axes}] or [1] * one
    source = make.source(shape, 0.05, 3)
    out = make.result(left, *((0.05, 3) if same else (scale, -9)))
    operands = (source, make.file.constant(np.array(axes, np.int32)))
    make.file.operator(name, operands, (out,), keep_dims=keep_dims)


@case()
def channel_means(make: Maker) -> None:
    """As Keras's layer norms make them: one dimension is left of an image that comes by rows."""
    magnitudes = make.file.tensor((1, 32, 16, 5), scale=0.05, zero_point=3)
    make.file.operator("ABS", (make.source((1, 32, 16, 5), 0.05, 3),), (magnitudes,))
    axes = make.file.constant(np.array([0, 1, 2], np.int32))
    make.file.operator("MEAN", (magnitudes, axes), (make.result((5,), 0.043, -9),))


@case(largest={"name": "ARG_MAX"}, smallest={"name": "ARG_MIN"})
def place(make: Maker, name: str) -> None:
    axis = make.file.constant(np.array([-1], np.int32))
    out = make.result((3, 4), None, dtype=np.int32)
    make.file.operator(name, (make.source((3, 4, 6)), axis), (out,), unread=TensorType.INT32)


@case(
    plain={},
    turned={"adj_x": True, "adj_y": True},
    shared={"right": (6, 5)},
    constant={"constant": True},
    rows={"left": (2, 1, 1, 6), "right": (2, 1, 6, 5)},
)
def batch_matmul(
    make: Maker,
    *,
    adj_x: bool = False,
    adj_y: bool = False,
    left: tuple[int, ...] = (2, 4, 6),
    right: tuple[int, ...] = (2, 6, 5),
    constant: bool = False,
) -> None:
    shape = (*left[:-1], right[-1])
    left = (*left[:-2], left[-1], left[-2]) if adj_x else left
    right = (*right[:-2], right[-1], right[-2]) if adj_y else right
    lhs = make.source(left, 0.05, 3)
    if constant:
        rhs = make.file.constant(make.int8(*right), scale=0.031, zero_point=-7)
    else:
        rhs = make.source(right, 0.031, -7)
    out = make.result(shape, 0.41)
    make.file.operator("BATCH_MATMUL", (lhs, rhs), (out,), adj_x=adj_x, adj_y=adj_y)


@case(
    same={"size": (8, 6)},
    valid={"size": (9, 7), "padding": VALID},
    single={"stride": (1, 1), "size": (4, 3), "bias": False},
    uneven={"stride": (3, 2), "size": (11, 5), "kernel": (2, 4)},
)
def transpose_conv(
    make: Maker,
    size: tuple[int, int],
    *,
    stride: tuple[int, int] = (2, 2),
    kernel: tuple[int, int] = (3, 3),
    padding: int = SAME,
    bias: bool = True,
) -> None:
    channels, filters = 3, 4
    places = pixels(size, kernel, padding, stride, (1, 1))
    scales = make.random.uniform(0.001, 0.02, filters)
    weights = make.file.constant(make.int8(filters, *kernel, channels), scale=scales)
    shape = make.file.constant(np.array([1, *size, filters], np.int32))
    operands = [shape, weights, make.source((1, *places, channels))]
    if bias:
        operands.append(make.file.constant(make.int32(filters), scale=scales))
    make.file.operator(
        "TRANSPOSE_CONV",
        operands,
        (make.result((1, *size, filters)),),
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
    )


@case(
    doubled={"size": (8, 10)},
    odd={"size": (7, 9)},
    half={"size": (7, 9), "half_pixel_centers": True},
    aligned={"size": (7, 9), "align_corners": True},
    smaller={"size": (2, 3), "half_pixel_centers": True},
)
def resize_nearest_neighbor(make: Maker, size: tuple[int, int], **options: bool) -> None:
    _resize(make, "RESIZE_NEAREST_NEIGHBOR", size, **options)


@case(
    doubled={"size": (8, 10)},
    odd={"size": (7, 9)},
    half={"size": (7, 9), "half_pixel_centers": True},
    aligned={"size": (7, 9), "align_corners": True},
    smaller={"size": (2, 3), "half_pixel_centers": True},
)
def resize_bilinear(make: Maker, size: tuple[int, int], **options: bool) -> None:
    _resize(make, "RESIZE_BILINEAR", size, **options)


def _resize(make: Maker, name: str, size: tuple[int, int], **options: bool) -> None:
    given = make.file.constant(np.array(size, np.int32))
    source, out = make.source((1, 4, 5, 3), 0.05, 3), make.result((1, *size, 3), 0.05, 3)
    make.file.operator(name, (source, given), (out,), **options)


@case(rows={"shape": (3, 20)}, long={"shape": (2, 900)}, short={"shape": (1, 4, 5, 2)})
def l2_normalization(make: Maker, shape: tuple[int, ...]) -> None:
    source, out = make.source(shape, 0.05, 3), make.result(shape, 1 / 128, 0)
    make.file.operator("L2_NORMALIZATION", (source,), (out,), activation=NONE)
