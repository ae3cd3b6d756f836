"""Activations whose scale is shared with values outside of their range."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.pte import operators
from torch import nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


class Skip(nn.Module):
    """A U-Net of one level: the activation is concatenated with values of any sign."""

    def __init__(self, producer: nn.Module, activation: nn.Module, channels: int) -> None:
        super().__init__()
        self.producer, self.activation = producer, activation
        self.up = nn.ConvTranspose2d(channels, 4, 2, stride=2)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = self.activation(self.producer(x))
        return torch.cat([skip, self.up(self.pool(skip))], 1)


class Residual(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.flip(x, (3,))


@pytest.mark.parametrize(
    "producer, activation, channels, expected",
    [
        (nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), 6, "quantized_conv2d"),
        (nn.Conv2d(3, 3, 3, padding=1, groups=3), nn.ReLU6(), 3, "quantized_depthwise_conv2d"),
        (nn.Conv2d(3, 6, 1), nn.Hardtanh(-0.25, 0.25), 6, "quantized_conv2d"),
        (Residual(), nn.ReLU(), 3, "quantized_add"),
    ],
)
def test_the_operator_before_clamps(producer, activation, channels, expected):
    torch.manual_seed(0)
    module = Skip(producer, activation, channels)
    nn.init.constant_(module.up.bias, -0.5)
    samples = [(torch.randn(1, 3, 8, 8),) for _ in range(8)]
    quantized = quantize(module, samples[0], samples)
    pte = lower(quantized, Target.parse("cortex-m55"))
    names = operators(pte)
    assert f"cortex_m::{expected}" in names
    assert not any("convolution" in name or "clamp" in name for name in names)
    with torch.no_grad():
        right = quantized.program.module(check_guards=False)(*samples[1]).numpy()
    given = samples[1][0].numpy()
    (actual,) = evaluate(build_graph(read_program(pte)), [given]).outputs
    steps = np.unique(np.abs(right))[1]
    assert np.abs(actual - right).max() <= steps * 1.01
    assert np.mean(actual != right) < 0.05
