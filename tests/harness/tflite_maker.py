"""Makes small `.tflite` programs, with samples of their inputs."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.tflite_file import TfliteFile

Array = npt.NDArray[Any]

SAME, VALID = 0, 1
NONE, RELU, RELU_N1_TO_1, RELU6 = range(4)
TANH = 4


@dataclass(frozen=True)
class TfliteCall:
    """A program and samples of its inputs."""

    name: str
    data: bytes
    samples: tuple[tuple[Array, ...], ...]


class Maker:
    """Numbers and tensors of one program."""

    finer = 1.0
    """Steps of activations, times those that a program says."""

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

    def variable(self, shape: Sequence[int], scale: float, zero_point: int) -> int:
        """Activations that an operator keeps."""
        return self.file.tensor(shape, scale=scale, zero_point=zero_point, is_variable=True)

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


CASES: dict[str, tuple[Callable[..., None], Mapping[str, Any]]] = {}


def case(**variants: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Registers a program, or one for each variant of its arguments."""

    def register(build: Callable[..., None]) -> Callable[..., None]:
        for variant, arguments in (variants or {"": {}}).items():
            CASES[f"{build.__name__}{'_' if variant else ''}{variant}"] = build, arguments
        return build

    return register


def pixels(
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
