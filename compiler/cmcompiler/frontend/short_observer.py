"""Ranges of int16 tensors. Importing it imports torch."""

from __future__ import annotations

from torch import Tensor
from torchao.quantization.pt2e import MinMaxObserver

_FEW = 8
"""Calibration inputs that leave it open how large numbers become."""

_ROOM = 2.0
"""Times the largest number of a few inputs: 16 bits have one to spare."""


class ShortObserver(MinMaxObserver):  # type: ignore[misc]
    """Observes the largest magnitude of a tensor, and leaves room beyond that of a few inputs."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._seen = 0

    def forward(self, x_orig: Tensor) -> Tensor:
        self._seen += 1
        seen: Tensor = super().forward(x_orig)
        return seen

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        scale, zero_point = super().calculate_qparams()
        return (scale * _ROOM if self._seen < _FEW else scale), zero_point
