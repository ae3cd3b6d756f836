"""The same programs with int16 activations: zero points are 0, biases int64, steps finer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness import tflite_calls  # noqa: F401 - registers the programs
from harness.tflite_maker import CASES, Maker, TfliteCall

UNIT = 1 / 32768
"""The step of sigmoids, hyperbolic tangents and softmaxes."""

NOT_THERE = (
    "function_elu",
    "function_hard_swish",
    "fully_connected_product",
    "place",
    "pad_value",
    "batch_matmul_constant",
    "unidirectional_sequence_lstm_fine",
)
"""Programs that have no arithmetic with int16, by the beginning of their names; and cells finer
than Micro's kernel for other machines than Arm's computes as that of CMSIS-NN does."""

NAMES = (
    "conv_2d",
    "depthwise_conv_2d",
    "fully_connected",
    "average_pool_2d",
    "max_pool_2d",
    "add",
    "sub",
    "mul",
    "squared_difference",
    "softmax",
    "reshape",
    "logistic",
    "extreme",
    "function",
    "logarithm",
    "prelu",
    "reduction",
    "batch_matmul",
    "transpose_conv",
    "resize",
    "concatenation",
    "pad",
    "strided_slice",
    "transpose",
    "split",
    "pack",
    "unpack",
    "slice",
    "dynamic_update_slice",
    "unidirectional_sequence_lstm",
)


class ShortMaker(Maker):
    """Makes int16 activations of those that a program has in int8."""

    finer = 1 / 128

    def int32(self, *shape: int, most: int = 2000) -> npt.NDArray[Any]:
        return super().int32(*shape, most=most << 8).astype(np.int64)

    def source(
        self,
        shape: Sequence[int],
        scale: float | None = 0.05,
        zero_point: int = 3,
        dtype: npt.DTypeLike = np.int8,
    ) -> int:
        return super().source(shape, *self._short(scale, zero_point, dtype))

    def result(
        self,
        shape: Sequence[int],
        scale: float | None = 0.07,
        zero_point: int = -5,
        dtype: npt.DTypeLike = np.int8,
    ) -> int:
        return super().result(shape, *self._short(scale, zero_point, dtype))

    def variable(self, shape: Sequence[int], scale: float, zero_point: int) -> int:
        step, _, dtype = self._short(scale, zero_point, np.int8)
        return self.file.tensor(shape, dtype, scale=step, is_variable=True)

    def _short(
        self, scale: float | None, zero_point: int, dtype: npt.DTypeLike
    ) -> tuple[float | None, int, npt.DTypeLike]:
        if np.dtype(dtype) != np.int8 or scale is None:
            return scale, zero_point, dtype
        is_unit = (scale, zero_point) in ((1 / 256, -128), (1 / 128, 0))
        return UNIT if is_unit else scale * self.finer, 0, np.int16

    def _array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        if dtype == np.int16:
            return self.random.integers(-(1 << 15), 1 << 15, shape).astype(dtype)
        return super()._array(shape, dtype)


def short_names() -> list[str]:
    return [n for n in CASES if n.startswith(NAMES) and not n.startswith(NOT_THERE)]


def short_call(name: str, samples: int = 2) -> TfliteCall:
    """One program; the same in every process."""
    build, arguments = CASES[name]
    maker = ShortMaker(f"int16 {name}")
    build(maker, **arguments)
    return maker.made(name, samples)
