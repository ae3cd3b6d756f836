"""Small `.tflite` programs of one operator each, for comparison with TensorFlow Lite Micro."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.tflite_file import TfliteFile

Array = npt.NDArray[Any]

SAME, VALID = 0, 1
NONE, RELU, RELU_N1_TO_1, RELU6 = range(4)


@dataclass(frozen=True)
class TfliteCall:
    """A program and samples of its inputs."""

    name: str
    data: bytes
    samples: tuple[tuple[Array, ...], ...]


class Maker:
    """Numbers and tensors of one program."""

    def __init__(self, name: str) -> None:
        self.file = TfliteFile()
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.types: list[tuple[tuple[int, ...], np.dtype[Any]]] = []

    def int8(self, *shape: int) -> npt.NDArray[np.int8]:
        return self.random.integers(-128, 128, shape).astype(np.int8)

    def int32(self, *shape: int, most: int = 2000) -> npt.NDArray[np.int32]:
        return self.random.integers(-most, most + 1, shape).astype(np.int32)

    def source(
        self,
        shape: Sequence[int],
        scale: float | None = 0.05,
        zero_point: int = 3,
        dtype: npt.DTypeLike = np.int8,
    ) -> int:
        """An input of the program."""
        index = self.file.tensor(shape, dtype, scale=scale, zero_point=zero_point)
        self.inputs.append(index)
        self.types.append((tuple(shape), np.dtype(dtype)))
        return index

    def result(
        self,
        shape: Sequence[int],
        scale: float | None = 0.07,
        zero_point: int = -5,
        dtype: npt.DTypeLike = np.int8,
    ) -> int:
        """An output of the program."""
        index = self.file.tensor(shape, dtype, scale=scale, zero_point=zero_point)
        self.outputs.append(index)
        return index

    def made(self, name: str, samples: int) -> TfliteCall:
        data = self.file.write(self.inputs, self.outputs)
        return TfliteCall(
            name,
            data,
            tuple(
                tuple(self._array(shape, dtype) for shape, dtype in self.types)
                for _ in range(samples)
            ),
        )

    def _array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        if dtype.kind == "f":
            return self.random.normal(0, 3, shape).astype(dtype)
        if dtype == np.bool_:
            return self.random.integers(0, 2, shape).astype(np.bool_)
        limits = np.iinfo(np.int8)
        return self.random.integers(limits.min, limits.max + 1, shape).astype(dtype)


_CALLS: dict[str, tuple[Callable[..., None], Mapping[str, Any]]] = {}


def case(**variants: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a program, or one for each variant of its arguments."""

    def register(build: Callable[..., None]) -> Callable[..., None]:
        for variant, arguments in (variants or {"": {}}).items():
            _CALLS[f"{build.__name__}{'_' if variant else ''}{variant}"] = build, arguments
        return build

    return register


def tflite_calls(samples: int = 2) -> Iterator[TfliteCall]:
    """All programs; the same in every process."""
    for name, (build, arguments) in _CALLS.items():
        maker = Maker(name)
        build(maker, **arguments)
        yield maker.made(name, samples)


def tflite_call(name: str, samples: int = 2) -> TfliteCall:
    build, arguments = _CALLS[name]
    maker = Maker(name)
    build(maker, **arguments)
    return maker.made(name, samples)


def tflite_names() -> list[str]:
    return list(_CALLS)


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
    out = make.result((1, *_pixels(size, kernel, padding, stride, dilation), filters))
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
    out = make.result((1, *_pixels(size, kernel, padding, stride, dilation), filters))
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
)
def fully_connected(
    make: Maker,
    *,
    shape: tuple[int, ...] = (3, 12),
    bias: bool = True,
    per_channel: bool = False,
    keep: bool = False,
    activation: int = NONE,
) -> None:
    columns, depth = 7, 12
    scale = make.random.uniform(0.001, 0.02, columns) if per_channel else 0.0113
    operands = [make.source(shape), make.file.constant(make.int8(columns, depth), scale=scale)]
    if bias:
        scales = np.float32(0.05) * np.float32(scale)
        operands.append(make.file.constant(make.int32(columns), scale=scales))
    rows = shape[:-1] if keep else (int(np.prod(shape)) // depth,)
    out = make.result((*rows, columns))
    make.file.operator(
        "FULLY_CONNECTED", operands, (out,), activation=activation, keep_num_dims=keep
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
    out = make.result((1, *_pixels(size, kernel, padding, stride, (1, 1)), 5), 0.05, 3)
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


def _pixels(
    size: tuple[int, int],
    kernel: tuple[int, int],
    padding: int,
    stride: tuple[int, int],
    dilation: tuple[int, int],
) -> tuple[int, int]:
    """Rows and columns of the output."""
    rows, columns = (
        -(-(n if padding == SAME else n - (k - 1) * d) // s)
        for n, k, s, d in zip(size, kernel, stride, dilation, strict=True)
    )
    return rows, columns


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


@case(plain={}, sharp={"beta": 2.5, "scale": 0.31}, rows={"shape": (2, 3, 4, 6)})
def softmax(
    make: Maker, *, shape: tuple[int, ...] = (3, 10), beta: float = 1.0, scale: float = 0.1
) -> None:
    out = make.result(shape, 1 / 256, -128)
    make.file.operator("SOFTMAX", (make.source(shape, scale),), (out,), beta=beta)


@case()
def reshape(make: Maker) -> None:
    shape = make.file.constant(np.array([4, 6], np.int32))
    out = make.result((4, 6), 0.05, 3)
    make.file.operator("RESHAPE", (make.source((2, 3, 4)), shape), (out,))


@case(fine={"scale": 0.013}, usual={"scale": 0.05}, coarse={"scale": 0.4})
def logistic(make: Maker, scale: float) -> None:
    source, out = make.source((1, 256), scale), make.result((1, 256), 1 / 256, -128)
    make.file.operator("LOGISTIC", (source,), (out,))


@case(plain={}, rectified={"activation": RELU, "rank": 2})
def svdf(make: Maker, *, activation: int = NONE, rank: int = 1) -> None:
    outputs, features, memory = 4, 6, 5
    rows = outputs * rank
    weights = make.file.constant(make.int8(rows, features), scale=0.011)
    times = make.random.integers(-9000, 9000, (rows, memory)).astype(np.int16)
    kept = make.file.constant(times, scale=0.00003)
    bias = make.file.constant(make.int32(outputs), scale=0.001 * 0.00003)
    state = make.file.tensor((1, rows * memory), np.int16, scale=0.001, is_variable=True)
    out = make.result((1, outputs), 0.02)
    source = make.source((1, features))
    make.file.operator(
        "SVDF", (source, weights, kept, bias, state), (out,), rank=rank, activation=activation
    )
