"""Functions of int16 numbers by tables: every runtime against the reference, that beside float."""

from __future__ import annotations

import numpy as np
from harness.examples import single
from harness.runtime import Runtime

from cmcompiler.ops.interpolation import ENTRIES, Interpolation, magnitudes

EVERY = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
REAL = EVERY.astype(np.float64) / 32768


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    random = np.random.default_rng(5)
    table = tuple(random.integers(-(1 << 15), 1 << 15, 2 * ENTRIES).tolist())
    runtime.check(single(Interpolation(table), EVERY))


def test_a_function_is_near_its_real_numbers() -> None:
    """Of roots, whose slope has no bound, and of sigmoids on both sides."""
    sizes = magnitudes()
    assert len(sizes) == ENTRIES and sizes[-1] == 1 << 15
    root = np.sqrt(sizes / 32768)
    sigmoid = [1 / (1 + np.exp(-8 * sign * sizes / 32768)) for sign in (1, -1)]
    roots, sigmoids = ([root, 0 * root], sigmoid)
    for halves, real in (
        (roots, np.sqrt(np.maximum(REAL, 0))),
        (sigmoids, 1 / (1 + np.exp(-8 * REAL))),
    ):
        entries = np.clip(np.round(np.concatenate(halves) * 32767), -32768, 32767)
        op = Interpolation(tuple(entries.astype(int).tolist()))
        errors = np.abs(op.reference(EVERY)[0] - real * 32767)
        assert errors.max() < min(3.0, op.error_steps)
