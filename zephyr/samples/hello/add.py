"""The model of this sample; add.pte was made of it by `cmbuild export add.py --output-dir .`"""

from __future__ import annotations

import torch


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def model():
    generator = torch.Generator().manual_seed(0)
    calibration = [
        tuple(torch.rand(4, generator=generator) * 20 - 10 for _ in range(2)) for _ in range(100)
    ]
    return Add(), calibration[0], calibration
