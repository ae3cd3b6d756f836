"""Hypothesis strategies for the operands of quantised ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ops.support.parameters import Rescale
from cmcompiler.ops.support.requantize import Range

Array = npt.NDArray[Any]
Int8Array = npt.NDArray[np.int8]

zero_points = st.integers(-128, 127)
seeds = st.integers(0, 2**32 - 1)
multipliers = st.integers(2**30, 2**31 - 1) | st.integers(-(2**31) + 1, 2**31 - 1)
dtypes = st.sampled_from(["int8", "uint8", "bool", "int16", "int32", "float32", "int64"])


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    """Often all of int8, otherwise part of it."""
    if draw(st.booleans()):
        return Range(-128, 127)
    low = draw(zero_points)
    return Range(low, draw(st.integers(low, 127)))


def rescales(shifts: st.SearchStrategy[int]) -> st.SearchStrategy[Rescale]:
    return st.builds(Rescale, zero_points, multipliers, shifts)


def int8_array(shape: tuple[int, ...], seed: int) -> Int8Array:
    """Random numbers; some seeds use only the lowest and highest."""
    rng = np.random.default_rng(seed)
    if seed % 5 == 0:
        return rng.choice(np.array([-128, 127], np.int8), shape)
    return rng.integers(-128, 128, shape, dtype=np.int8)


def array(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Random bits, where the type allows it."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype == "float32":
        return rng.standard_normal(shape, dtype=np.float32)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


EXTREMES = (0.0, -0.0, np.inf, -np.inf, np.nan, 2**-126, -(2**-126), 2**-149, 2**127, -(2**127))


def extreme_floats(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.float32]:
    """Random numbers, often subnormal or with subnormal products; some have EXTREMES among them."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([2.0**-126, 2.0**-110, 2.0**-70, 2.0**-64, 1.0, 1.0, 1.0])
    numbers = (rng.standard_normal(shape) * scale).astype(np.float32)
    is_extreme = rng.random(shape) < rng.choice([0, 0.02, 0.2])
    extremes = rng.choice(np.array(EXTREMES, np.float32), rng.integers(1, 4))
    return np.where(is_extreme, rng.choice(extremes, shape), numbers)


def shapes(rank: int = 4, longest: int = 9) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(1, longest), min_size=1, max_size=rank).map(tuple)


@dataclass(frozen=True)
class Broadcast:
    """Two int8 operands, and the loops over them and their result; the first runs innermost."""

    loops: Loops
    shape: tuple[int, ...]
    lhs: Int8Array
    rhs: Int8Array


@st.composite
def broadcasts(draw: st.DrawFn) -> Broadcast:
    """Operands of equal shapes, often long ones, or of shapes that broadcast."""
    if draw(st.booleans()):
        shape: tuple[int, ...] = (draw(st.integers(1, 300)),)
        operands = [shape, shape if draw(st.booleans()) else (1,)]
    else:
        shape = draw(shapes())
        ones = st.lists(st.booleans(), min_size=len(shape), max_size=len(shape))
        operands = [
            tuple(1 if one else n for one, n in zip(draw(ones), shape, strict=True))
            for _ in range(2)
        ]
        shape = np.broadcast_shapes(*operands)
    windows = [Strided.dense(s).broadcast(shape) for s in operands]
    loops = Loops.over(*windows, Strided.dense(shape))
    if loops.inner[0] == 0:
        loops = loops.swapped()
        operands.reverse()
    lhs, rhs = (int8_array(operand, draw(seeds)) for operand in operands)
    return Broadcast(loops, shape, lhs, rhs)
