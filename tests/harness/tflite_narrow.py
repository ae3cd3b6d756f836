"""The same layers with weights of four bits, two of which lie in a byte; int8 or int16 else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.tflite.schema import TensorTable, TensorType
from harness.program_file import Vector, whole
from harness.tflite_file import TfliteFile
from harness.tflite_maker import CASES, Maker, TfliteCall
from harness.tflite_short import ShortMaker

NAMES = ("conv_2d", "depthwise_conv_2d", "fully_connected")
COMPUTED = "fully_connected_product"
"""Programs whose weights are computed."""

NOT_MICRO = ("fully_connected_per_channel",)
"""Programs that Micro does not run, and LiteRT rescales in one rounding."""

NOT_LITERT = ("depthwise_conv_2d", "conv_2d_no_bias")
"""Programs of int16 that Micro does not run, and LiteRT refuses or reads as bytes."""


class NarrowFile(TfliteFile):
    """Stores constants of int8 in four bits; the first of two is in the low half."""

    def constant(self, data: npt.NDArray[Any], **quantization: Any) -> int:
        if data.dtype != np.int8:
            return super().constant(data, **quantization)
        halves = np.append(data.ravel(), np.int8(0)).astype(np.uint8) & 15
        pairs = halves[: len(halves) // 2 * 2].reshape(-1, 2)
        further = {
            TensorTable.TYPE: whole("b", TensorType.INT4),
            TensorTable.SHAPE: Vector("i", list(data.shape)),
        }
        held = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.int8)
        return self.tensor(held.shape, data=held, further=further, **quantization)


class NarrowMaker(Maker):
    """Makes weights from -8 to 7."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.file = NarrowFile()

    def int8(self, *shape: int) -> npt.NDArray[np.int8]:
        return self.random.integers(-8, 8, shape).astype(np.int8)


class ShortNarrowMaker(NarrowMaker, ShortMaker):
    """Makes weights of four bits and activations of 16."""


def narrow_names(*, is_short: bool) -> list[str]:
    """Programs whose outputs other runtimes know."""
    unknown = NOT_LITERT if is_short else NOT_MICRO
    return [n for n in CASES if n.startswith(NAMES) and not n.startswith((*unknown, COMPUTED))]


def narrow_call(name: str, *, is_short: bool, samples: int = 2) -> TfliteCall:
    """One program; the same in every process."""
    build, arguments = CASES[name]
    maker = (ShortNarrowMaker if is_short else NarrowMaker)(f"int4 {name}")
    build(maker, **arguments)
    return maker.made(f"{name} of int16" if is_short else name, samples)


def narrow_calls(samples: int = 2) -> Iterator[TfliteCall]:
    for is_short in (False, True):
        for name in narrow_names(is_short=is_short):
            yield narrow_call(name, is_short=is_short, samples=samples)
