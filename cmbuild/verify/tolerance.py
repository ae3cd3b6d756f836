"""Whether outputs equal the reference, by the rule that holds for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

RELATIVE = 1e-5
"""How far floats may be off after an inexact op, relative to the reference."""

SMALLEST = float(np.finfo(np.float32).tiny)
"""Below this, numbers are subnormal and have few digits, or none where they become zero."""

STEPS = 1
"""How far quantised numbers may be off after an inexact op."""


def differences(output: Array, reference: Array, exact: bool) -> npt.NDArray[np.bool_]:
    """Which elements of an output break its rule: to the bit, or within tolerance.

    0.0 does not equal -0.0. NaN equals NaN: which one an operation returns depends on the machine.
    """
    if output.shape != reference.shape or output.dtype != reference.dtype:
        raise ValueError(f"{output.dtype}{output.shape} for {reference.dtype}{reference.shape}")
    same: npt.NDArray[np.bool_] = _bits(output) == _bits(reference)
    if output.dtype.kind == "f":
        same |= np.isnan(output) & np.isnan(reference)
    if not exact:
        same |= _near(output, reference)
    return ~same


def mismatches(output: Array, reference: Array, exact: bool) -> int:
    """How many elements break the rule."""
    return int(np.count_nonzero(differences(output, reference, exact)))


def _bits(array: Array) -> Array:
    """The array's elements as unsigned integers."""
    return np.asarray(array, order="C").view(f"u{array.dtype.itemsize}")


def _near(output: Array, reference: Array) -> npt.NDArray[np.bool_]:
    if output.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            allowed = RELATIVE * np.abs(reference) + SMALLEST
            return np.asarray(np.abs(output - reference) <= allowed)
    if output.dtype.kind in "iu":
        difference = output.astype(np.int64) - reference.astype(np.int64)
        return np.asarray(np.abs(difference) <= STEPS)
    return np.zeros(output.shape, np.bool_)


def count(outputs: Sequence[Array], reference: Sequence[Array], exact: Sequence[bool]) -> int:
    """How many elements of a sample's outputs break their rules."""
    return sum(map(mismatches, outputs, reference, exact))


class Located(Protocol):
    """A kernel call of a plan or its record."""

    @property
    def title(self) -> str: ...

    @property
    def source(self) -> str: ...


def describe(index: int, step: Located, wrong: int, size: int) -> str:
    """Where a result differs: `op 3, conv2d 3×3 (…conv2d.out #3): 5 of 100 elements`."""
    return f"op {index}, {step.title} ({step.source}): {wrong:,} of {size:,} elements"
