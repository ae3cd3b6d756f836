"""Programs with float32 operators between a DEQUANTIZE and a QUANTIZE, as converters leave them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.tflite_maker import RELU, RELU_N1_TO_1, Maker, case

SHAPE = (2, 4, 8)

_POSITIVE = ("SQRT", "RSQRT")


@case(
    **{
        name.lower(): {"name": name}
        for name in (
            *("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LEAKY_RELU"),
            *("LOGISTIC", "NEG", "RELU", "RELU6", "ROUND", "RSQRT"),
            *("SIN", "SQRT", "SQUARE", "TANH"),
        )
    }
)
def float_function(make: Maker, name: str) -> None:
    source = make.source((2, 128), 0.02, -128 if name in _POSITIVE else 3)
    options = {"alpha": 0.2} if name == "LEAKY_RELU" else {}
    _quantized(make, name, [_real(make, source, (2, 128))], (2, 128), **options)


@case()
def float_logarithm(make: Maker) -> None:
    """Of the exponential, as Micro leaves the logarithm of 0 open."""
    exponential = make.file.tensor((2, 128), np.float32)
    source = _real(make, make.source((2, 128), 0.02, 3), (2, 128))
    make.file.operator("EXP", (source,), (exponential,))
    _quantized(make, "LOG", [exponential], (2, 128))


@case(
    add={"name": "ADD", "activation": RELU},
    sub={"name": "SUB", "activation": RELU_N1_TO_1},
    mul={"name": "MUL", "right": (4, 1)},
    div={"name": "DIV", "activation": RELU},
    maximum={"name": "MAXIMUM", "right": (8,)},
    minimum={"name": "MINIMUM"},
    squared_difference={"name": "SQUARED_DIFFERENCE", "right": (8,)},
)
def float_pair(make: Maker, name: str, right: tuple[int, ...] = SHAPE, **options: Any) -> None:
    sides = [
        _real(make, make.source(shape, scale, zero_point), shape)
        for shape, scale, zero_point in ((SHAPE, 0.02, 3), (right, 0.03, -128))
    ]
    _quantized(make, name, sides, SHAPE, **options)


@case()
def float_chain(make: Maker) -> None:
    """x · relu(-x), which is a function of one number, and its sum with another one's."""
    first, second = (_real(make, make.source(SHAPE, 0.02, 3), SHAPE) for _ in range(2))
    turned, clamped, product, total = (make.file.tensor(SHAPE, np.float32) for _ in range(4))
    make.file.operator("NEG", (first,), (turned,))
    make.file.operator("RELU", (turned,), (clamped,))
    make.file.operator("MUL", (first, clamped), (product,), activation=0)
    make.file.operator("QUANTIZE", (product,), (make.result(SHAPE, 0.05, 100),))
    make.file.operator("ADD", (product, second), (total,), activation=0)
    make.file.operator("QUANTIZE", (total,), (make.result(SHAPE, 0.05, 100),))


@case()
def float_add_n(make: Maker) -> None:
    sides = [
        _real(make, make.source(SHAPE, 0.02 + 0.01 * number, number), SHAPE) for number in range(3)
    ]
    _quantized(make, "ADD_N", sides, SHAPE)


@case(
    last={"axis": -1},
    middle={"axis": 1, "reverse": True},
    exclusive={"axis": 2, "exclusive": True},
    turned={"axis": 0, "exclusive": True, "reverse": True},
)
def float_cumsum(make: Maker, axis: int, **options: bool) -> None:
    source = _real(make, make.source(SHAPE, 0.02, 3), SHAPE)
    operands = [source, make.file.constant(np.array([axis], np.int32))]
    _quantized(make, "CUMSUM", operands, SHAPE, **options)


def _real(make: Maker, source: int, shape: Sequence[int]) -> int:
    real: int = make.file.tensor(shape, np.float32)
    make.file.operator("DEQUANTIZE", (source,), (real,))
    return real


def _quantized(
    make: Maker, name: str, operands: Sequence[int], shape: Sequence[int], **options: Any
) -> None:
    real = make.file.tensor(shape, np.float32)
    make.file.operator(name, operands, (real,), **options)
    make.file.operator("QUANTIZE", (real,), (make.result(shape, 0.043, -9),))
