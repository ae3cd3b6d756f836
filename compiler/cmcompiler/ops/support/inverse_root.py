"""Reciprocals of square roots of integers: TFLite's GetInvSqrtQuantizedMultiplierExp.

Bit for bit as in runtime/kernels/l2_normalization.c.
"""

from __future__ import annotations

from cmcompiler.ops.support.exponential import INT32_MAX, multiply_high, shift_left, shift_right

ONE = 1 << 28
"""In the format of the iteration, of three integer bits."""

ONE_AND_A_HALF = ONE + (ONE >> 1)

HALF_ROOT_OF_TWO = 1518500250
"""Half the root of two, of 31 fractional bits."""

ITERATIONS = 5


def inverse_root(x: int) -> tuple[int, int]:
    """1 / √x as multiplier · 2^(shift - 31), for 0 ≤ x < 2^31; of 0 as of 1."""
    if x <= 1:
        return INT32_MAX, 0
    shift = -11
    while x >= 1 << 29:
        x //= 4
        shift -= 1
    pairs = (31 - x.bit_length()) // 2 - 1
    shift += pairs
    half = shift_right((x << 2 * pairs) >> 1, 1)
    root = ONE
    for _ in range(ITERATIONS):
        cube = shift_left(multiply_high(multiply_high(root, root), root), 6)
        error = multiply_high(ONE_AND_A_HALF, root) - multiply_high(half, cube)
        root = shift_left(error, 3)
    root = multiply_high(root, HALF_ROOT_OF_TWO)
    return (root << shift, 0) if shift > 0 else (root, shift)
