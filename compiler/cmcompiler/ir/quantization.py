"""How integers represent real numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantisation: real = scale · (stored - zero_point)."""

    scale: float
    zero_point: int
    minimum: int
    maximum: int
