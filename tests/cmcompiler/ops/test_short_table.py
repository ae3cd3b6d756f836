"""Functions of int16 numbers by even steps: every runtime against the reference."""

from __future__ import annotations

import numpy as np
from harness.examples import single
from harness.runtime import Runtime

from cmcompiler.ops.short_table import ENTRIES, ShortTable

EVERY = np.arange(-(1 << 15), 1 << 15).astype(np.int16)


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    table = np.random.default_rng(6).integers(-(1 << 15), 1 << 15, ENTRIES)
    table[:2], table[-2:] = (-(1 << 15), (1 << 15) - 1), ((1 << 15) - 1, -(1 << 15))
    op = ShortTable(tuple(table.tolist()), "function")
    np.testing.assert_array_equal(op.reference(EVERY[::128])[0], table[:-1])
    runtime.check(single(op, EVERY))
