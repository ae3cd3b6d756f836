"""Convolutions whose inputs are not in NHWC."""

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


class Shuffled(nn.Module):
    """A ShuffleNet unit: transposing its groups of channels makes memory contiguous."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x).relu()
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)
        return self.second(x)


class Causal(nn.Module):
    """A temporal convolution."""

    def __init__(self, between: nn.Module) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(4, 6, 3, dilation=2), nn.Conv1d(6, 6, 3, groups=3)
        self.between = between

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.between(self.first(nn.functional.pad(x, (4, 0))))
        return self.second(x)[:, :, -1]


def made(module: nn.Module, *shape: int):
    torch.manual_seed(0)
    samples = [(torch.randn(shape),) for _ in range(8)]
    return samples, quantize(module, samples[0], samples)


@pytest.mark.parametrize(
    "module, shape", [(Shuffled(), (1, 4, 6, 5)), (Causal(nn.ReLU()), (2, 4, 9))]
)
@pytest.mark.parametrize("target", ["cortex-m55", "cortex-m4", "cortex-m0plus"])
def test_they_are_int8(module, shape, target):
    samples, quantized = made(module, *shape)
    assert quantized.float_operators == ()
    pte = lower(quantized, Target.parse(target))
    assert sum(n for name, n in operators(pte).items() if name.endswith("conv2d")) == 2
    with torch.no_grad():
        right = quantized.program.module(check_guards=False)(*samples[1]).numpy()
    (found,) = evaluate(build_graph(read_program(pte)), [samples[1][0].numpy()]).outputs
    step = np.unique(np.abs(right))[1]
    assert np.abs(found - right).max() <= step * 1.01
    assert np.mean(found != right) < 0.05
