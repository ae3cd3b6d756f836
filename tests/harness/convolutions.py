"""Random quantised layers with data that reaches the limits of every number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cmcompiler.ops.support.requantize import Int8Array, Int32Array, Requantize
from cmcompiler.ops.support.window import Window


@dataclass(frozen=True)
class Numbers:
    """Seeded arrays.

    Attributes:
        extreme: int8 data takes only the lowest and the highest value.
    """

    seed: int
    extreme: bool = False

    def int8(self, *shape: int) -> Int8Array:
        generator = np.random.default_rng([self.seed, *shape])
        if self.extreme:
            return generator.choice(np.array([-128, -128, 127], np.int8), shape)
        return generator.integers(-128, 128, shape, dtype=np.int8)

    def biases(self, channels: int) -> Int32Array:
        generator = np.random.default_rng([self.seed, channels])
        return generator.integers(-(2**15), 2**15, channels, dtype=np.int32)


numbers = st.builds(Numbers, st.integers(0, 2**32 - 1), st.sampled_from([False, False, True]))
zero_points = st.integers(-128, 127)


@st.composite
def requantizes(draw: st.DrawFn, channels: int, depth: int) -> Requantize:
    """Scales that map sums of `depth` products to int8, and sometimes arbitrary ones."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    usual = -7 - int(np.log2(depth + 1) / 2)
    low, high = draw(
        st.sampled_from(
            [(usual - 1, usual + 1), (usual - 1, usual + 1), (-31, -1), (-3, 3), (0, 31)]
        )
    )
    shifts = generator.integers(low, high + 1, channels)
    multipliers = generator.integers(1 << 30, 1 << 31, channels)
    multipliers[generator.random(channels) < 0.05] = 0
    zero_point = draw(st.integers(-128, 127) | st.sampled_from([-128, -771, 500]))
    minimum, maximum = draw(
        st.sampled_from([(-128, 127), (-128, 127), (-100, 90), (zero_point, 127), (5, 5)])
    )
    minimum = min(max(minimum, -128), 127)
    return Requantize.checked(
        multipliers.tolist(),
        shifts.tolist(),
        channels,
        zero_point=zero_point,
        minimum=minimum,
        maximum=max(minimum, maximum),
    )


@dataclass(frozen=True)
class Geometry:
    """A window and the images it slides over."""

    window: Window
    batch: int
    height: int
    width: int

    @property
    def output_size(self) -> tuple[int, int]:
        return self.window.output_size((self.height, self.width))


def geometries(
    kernels: Sequence[int] = (1, 2, 3, 4, 5), strides: Sequence[int] = (1, 2, 3)
) -> st.SearchStrategy[Geometry]:
    """Windows that fit at least once into their padded images."""
    size = st.integers(1, 19)
    pair = st.tuples(st.sampled_from(kernels), st.sampled_from(kernels))
    stride = st.tuples(st.sampled_from(strides), st.sampled_from(strides))
    padding = st.tuples(st.integers(0, 4), st.integers(0, 4))
    dilation = st.just((1, 1)) | st.tuples(st.integers(1, 3), st.integers(1, 3))
    windows = st.builds(Window, pair, stride, padding, dilation)
    return st.builds(Geometry, windows, st.sampled_from([1, 1, 1, 2]), size, size).filter(
        lambda geometry: min(geometry.output_size) > 0
    )


def images(numbers: Numbers, geometry: Geometry, channels: int) -> npt.NDArray[Any]:
    return numbers.int8(geometry.batch, geometry.height, geometry.width, channels)
