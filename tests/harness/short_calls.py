"""One small call of every operator of a model that was exported with int16 activations."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from cmcompiler.ops.interpolation import ENTRIES
from harness.calls import Given, In, Out

NHWC = (0, 2, 3, 1)
LIMITS = (-(1 << 15), (1 << 15) - 1)
HALF = (1 << 30, 0)
"""Multiplier and shift of the factor 1/2."""


def _int16(*shape: int, order: tuple[int, ...] | None = None) -> In:
    numbers = (np.arange(prod(shape)) * 7919 % 65536 - 32768).astype(np.int16)
    return In(numbers.reshape(shape), order)


def _int8(*shape: int) -> In:
    numbers = (np.arange(prod(shape)) * 37 % 256 - 128).astype(np.int8)
    return In(numbers.reshape(shape), constant=True)


def short_calls() -> Mapping[str, tuple[Given, ...]]:
    """Arguments by operator. Shapes of images are NCHW, of filters OHWI."""
    bias = In(np.array([50_000, -70_000], np.int64), constant=True)
    pairs = [[1 << 30, 1 << 30], [-7, -8]]
    scaled = (*(In(np.array(each, np.int32), constant=True) for each in pairs), *LIMITS)
    x, y, result = _int16(2, 3), _int16(2, 3), Out("int16", (2, 3))
    image, table = _int16(1, 3, 4, 4, order=NHWC), np.arange(2 * ENTRIES, dtype=np.int16)
    ones = ((1, 1), (1, 1), (1, 1))
    pooled = Out("int16", (1, 3, 2, 2), NHWC)
    calls: dict[str, tuple[Given, ...]] = {
        "conv2d": (
            image,
            _int8(2, 3, 3, 3),
            bias,
            *ones,
            1,
            *scaled,
            Out("int16", (1, 2, 4, 4), NHWC),
        ),
        "conv_transpose2d": (
            *(image, _int8(2, 2, 2, 3), bias, (2, 2), (0, 0), (1, 1), (0, 0), *scaled),
            Out("int16", (1, 2, 8, 8), NHWC),
        ),
        "linear": (x, _int8(2, 3), bias, *scaled, Out("int16", (2, 2))),
        "add": (x, *HALF, y, *HALF, *HALF, *LIMITS, result),
        "mul": (x, y, 1 << 30, -14, result),
        "bmm": (_int16(2, 2, 3), _int16(2, 4, 3), 1 << 30, -14, Out("int16", (2, 2, 4))),
        "length": (x, y, 1 << 30, 1 << 28, 1 << 30, -14, result),
        "clamp": (x, *HALF, 1 << 30, -3, *LIMITS, result),
        "function": (x, In(table, constant=True), result),
        "sum": (x, (1,), False, 1 << 30, -1, Out("int16", (2,))),
        "avg_pool2d": (image, (2, 2), (2, 2), (0, 0), False, pooled),
        "max_pool2d": (image, (2, 2), (2, 2), (0, 0), (1, 1), False, pooled),
        "softmax": (x, -1, 1 << 30, -2, result),
        "masked_softmax": (x, In(np.ones((2, 3), np.bool_)), -1, 1 << 30, -2, 0, result),
    }
    return {f"cmbuild::short_{name}_s16.out": arguments for name, arguments in calls.items()}
