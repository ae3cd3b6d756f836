"""How integers represent real numbers."""

from __future__ import annotations

from dataclasses import dataclass

UINT8_STEPS = (1 << 8) - 1
"""From the least to the largest number of eight bits."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantisation: real = scale · (stored - zero_point)."""

    scale: float
    zero_point: int
    minimum: int
    maximum: int

    @property
    def activations(self) -> str:
        """`int8` or `int16`, by how many numbers are stored; unsigned ones count as int8."""
        return "int16" if self.maximum - self.minimum > UINT8_STEPS else "int8"
