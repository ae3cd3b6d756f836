"""Blocks of products in float, and their tables."""

from __future__ import annotations

import numpy as np
import pytest

from cmcompiler.ops.support.dot import ENOUGH_TAPS, TAP_BYTES, blocks_of, tap_table


@pytest.mark.parametrize("taps", [1, 9, 100])
@pytest.mark.parametrize("steps", [0, 1, 7, 64, 96, 97])
def test_blocks_are_equal_and_no_longer_than_needed(steps: int, taps: int) -> None:
    size, count = blocks_of(steps, taps)
    assert size * count == steps
    smaller = (n for n in range(1, size) if steps % n == 0)
    assert all(n * taps < ENOUGH_TAPS for n in smaller)


def test_a_table_is_pairs_of_little_endian_numbers() -> None:
    table = tap_table([4, -8], [0, 12])
    assert len(table.data) == 2 * TAP_BYTES
    assert np.frombuffer(table.data, "<i4").tolist() == [4, 0, -8, 12]
