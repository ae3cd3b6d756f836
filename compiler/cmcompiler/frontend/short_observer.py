"""Ranges of int16 tensors. Importing it imports torch."""

from __future__ import annotations

from torch import Tensor
from torchao.quantization.pt2e import MinMaxObserver

_ROOM = 2.0
"""Times the largest number that calibration has seen: 16 bits have one to spare, and one number
that is clipped later costs more than that bit everywhere.
"""


class ShortObserver(MinMaxObserver):  # type: ignore[misc]
    """Observes the largest magnitude of a tensor, and leaves room beyond it."""

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        scale, zero_point = super().calculate_qparams()
        return scale * _ROOM, zero_point
