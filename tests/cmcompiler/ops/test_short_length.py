"""Lengths of pairs of int16 numbers: kernels against the reference, and that against floats."""

from __future__ import annotations

import numpy as np
import pytest
from harness.examples import Example, single
from harness.runtime import Runtime

from cmcompiler.ops.short_length import ShortLength


def example(op: ShortLength, seed: int) -> Example:
    generator = np.random.default_rng(seed)
    sizes = 2.0 ** generator.uniform(0, 15, (2, 700))
    x, y = np.where(generator.random((2, 700)) < 0.5, sizes, -sizes).astype(np.int16)
    x[:4], y[:4] = (0, -32768, 32767, 0), (0, -32768, -32768, 1)
    return single(op, x, y)


OPS = (
    ShortLength(1 << 30, 1 << 30, 1 << 30, -14),
    ShortLength(1 << 30, 12345, (1 << 31) - 1, -15),
    ShortLength(1 << 30, 0, 1 << 30, -3),
    ShortLength(1, 0, 1 << 30, 40),
    ShortLength(1 << 30, 1 << 29, 0, 0),
    ShortLength(1 << 30, 1 << 29, 1 << 30, -100),
)


def test_kernels_equal_the_reference(runtime: Runtime) -> None:
    runtime.check(*(example(op, seed) for seed, op in enumerate(OPS)))


@pytest.mark.parametrize("op", OPS[:3])
def test_a_length_is_rounded(op: ShortLength) -> None:
    given = example(op, 7)
    x, y = (each.astype(np.float64) for each in given.inputs)
    exact = (
        np.sqrt(x * x * op.x_factor + y * y * op.y_factor) * op.multiplier * 2.0 ** (op.shift - 31)
    )
    (made,) = op.reference(*given.inputs)
    assert np.abs(made - np.minimum(exact, 32767)).max() < 0.51
