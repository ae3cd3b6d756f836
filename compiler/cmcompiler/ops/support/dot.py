"""Sums of float products as the microkernel dot_f32 takes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Packed
from cmcompiler.isa import Microkernel

DOT = Microkernel("dot_f32", mve=True)

ENOUGH_TAPS = 48
"""Taps of a block that make little of the work between blocks."""

FLOAT_BYTES = 4
TAP_BYTES = 8


def blocks_of(steps: int, taps: int = 1) -> tuple[int, int]:
    """Splits equal steps, of so many taps each, into equal blocks: steps of each, and how many."""
    enough = (n for n in range(1, steps + 1) if steps % n == 0 and n * taps >= ENOUGH_TAPS)
    size = next(enough, steps)
    return size, steps // size if steps else 1


def byte_steps(window: Strided) -> tuple[int, ...]:
    """The strides of a window on floats, in bytes."""
    return tuple(FLOAT_BYTES * stride for stride in window.strides)


def tap_table(rows: npt.ArrayLike, lanes: npt.ArrayLike) -> Packed:
    """As `struct cm_tap` of cmrt/dot.h; offsets in bytes."""
    return Packed(np.stack([rows, lanes], axis=-1).astype("<i4").tobytes(), 4)
