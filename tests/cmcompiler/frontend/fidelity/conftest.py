"""An exported network of several kinds of layers."""

from __future__ import annotations

import pytest
import torch
from harness.exported import Exported
from torch import nn


class Net(nn.Module):
    """Layers fused with their activations, ones that only move, tables, sums, and rows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pool = nn.MaxPool2d(2)
        self.rows = nn.Linear(16, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).relu()
        y = self.pool((y - self.depthwise(y)).sigmoid() * y)
        y = torch.cat([y, y.flip(-1)], 1)
        return torch.softmax(self.rows(y.mean((2, 3))), -1)


@pytest.fixture(scope="session")
def exported() -> Exported:
    torch.manual_seed(0)
    return Exported.of(Net().eval(), [(torch.randn(1, 3, 10, 10),) for _ in range(8)])


class Sequences(nn.Module):
    """Every kind of recurrent layer: an LSTM with a projection, a GRU with a given state."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, proj_size=5)
        self.gru = nn.GRU(5, 6)
        self.plain = nn.RNN(6, 6)

    def forward(
        self, x: torch.Tensor, held: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y, final = self.gru(self.lstm(x)[0], held)
        return self.plain(y)[0], y, final


@pytest.fixture(scope="session")
def recurrent() -> Exported:
    torch.manual_seed(0)
    shapes = (9, 1, 4), (1, 1, 6)
    samples = [tuple(torch.randn(shape) for shape in shapes) for _ in range(8)]
    return Exported.of(Sequences().eval(), samples)
