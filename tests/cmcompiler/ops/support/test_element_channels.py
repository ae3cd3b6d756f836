"""Bounds of functions of single numbers, channel by channel."""

from __future__ import annotations

import tracemalloc

import numpy as np

from cmcompiler.ir.channels import Bounds
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.support.element_channels import FunctionRule

CHANCE = np.random.default_rng(29)


def rule(channels: int) -> FunctionRule:
    table = CHANCE.integers(-128, 128, 256).astype(np.int8)
    return FunctionRule(Activation(table.tobytes()), channels)


def some_bounds(channels: int) -> Bounds:
    numbers = np.sort(CHANCE.integers(-128, 128, (2, channels)), axis=0)
    return Bounds(numbers[0], numbers[1])


def test_the_bounds_are_the_extremes_of_what_a_channel_can_give() -> None:
    function, given = rule(200), some_bounds(200)
    bounds = function.bounds([given])
    for channel in range(200):
        numbers = np.arange(given.least[channel], given.most[channel] + 1).astype(np.int8)
        (results,) = function.op.reference(numbers)
        assert bounds.least[channel] == results.min()
        assert bounds.most[channel] == results.max()


def test_bounds_take_little_memory_whatever_the_channels() -> None:
    function, given = rule(1 << 20), some_bounds(1 << 20)
    tracemalloc.start()
    function.bounds([given])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 64 << 20
