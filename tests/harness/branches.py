"""The program tests/data/programs/branches.pte, with inputs for every way through it."""

from __future__ import annotations

import numpy as np

from harness.examples import Array, Example
from harness.programs import program_graph


def branched(first: bool, second: bool, sign: int = 1) -> Example:
    """
    Args:
        sign: of the numbers; decides the third condition.
    """
    x = sign * np.random.default_rng(0).uniform(1, 2, (2, 4)).astype(np.float32)
    inputs = (np.array(first), np.array(second), x.astype(np.float32))
    return Example(program_graph("branches"), inputs, f"branches, {first}, {second}, {sign}")


def expected(first: Array, second: Array, x: Array) -> tuple[Array, ...]:
    """The model's outputs, computed from its definition."""
    y = x * np.float32(3)
    a, b = y * 5, y + y
    if first:
        a, b = (y + 1, y) if second else (y * 2, y - 1)
    c = a if a.sum() > 0 else y
    d = b.reshape(-1)
    return a.reshape(-1) + b.reshape(-1), c + y, d * 7 if second else d
