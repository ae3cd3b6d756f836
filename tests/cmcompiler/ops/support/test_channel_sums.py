"""Bounds of the sums of channels, against every sum of extreme inputs."""

from __future__ import annotations

from itertools import product

import numpy as np

from cmcompiler.ops.support.channel_sums import largest_sums, sum_bounds


def test_bounds_are_reached_and_not_exceeded() -> None:
    random = np.random.default_rng(0)
    weights = random.integers(-127, 128, (4, 3)).astype(np.int8)
    bias = random.integers(-9999, 9999, 4).astype(np.int32)
    inputs = np.array(list(product((-128, 127), repeat=3)))
    sums = inputs @ weights.T.astype(np.int64) + bias
    least, largest = sum_bounds(weights, bias)
    np.testing.assert_array_equal(least, sums.min(0))
    np.testing.assert_array_equal(largest, sums.max(0))
    assert (largest_sums(weights, bias) >= np.abs(sums).max(0)).all()
