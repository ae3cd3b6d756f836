"""Convolutions whose inputs are not in NHWC."""

from __future__ import annotations

from copy import deepcopy
from functools import cached_property

import numpy as np
import pytest
import torch
from harness.pte import operators
from torch import nn

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.layouts import channels_last, export_channels_last
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.passes.functionalization import without_writes
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
    (actual,) = evaluate(build_graph(read_program(pte)), [samples[1][0].numpy()]).outputs
    step = np.unique(np.abs(right))[1]
    assert np.abs(actual - right).max() <= step * 1.01
    assert np.mean(actual != right) < 0.05


class Views(nn.Module):
    """What torch's default layout allows to view, it writes to as well."""

    def __init__(self, channels, writes):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(channels, 8, 3, padding=1), nn.BatchNorm2d(32)
        self.writes = writes
        self.register_buffer("seen", torch.zeros(1, 8, 4, 4))

    def forward(self, x):
        y = self.conv(x)
        n, c, h, w = y.shape
        y = self.norm(y.view(n, c * 4, h // 4, w)).view(n, c, h, w)
        if self.writes:
            y.view(n, -1)[:, :5] = 7.0
            self.seen.view(-1)[:8].add_(1.0)
            y = y + self.seen.mean()
        return y.relu().view(n, -1)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("writes", [False, True])
def test_views_are_as_in_torchs_default_layout(channels, writes):
    torch.manual_seed(0)
    module, x = Views(channels, writes).eval(), torch.randn(1, channels, 4, 4)
    exported = export_channels_last(module, (channels_last(x),))
    graph = without_writes(exported, 0)
    assert not any("view.default" in str(node.target) for node in graph.graph.nodes)
    with torch.no_grad():
        wanted = deepcopy(module)(x)
        torch.testing.assert_close(graph(channels_last(x)), wanted, rtol=1e-4, atol=1e-6)


def _pairs(x):
    parts = torch.view_as_complex(x.reshape(1, 3, 4, 2, 2))
    return torch.view_as_real(parts * torch.polar(torch.ones(4, 2), torch.arange(8.0).view(4, 2)))


@pytest.mark.parametrize("function", [_pairs, lambda x: x.as_strided((2, 3), (5, 2)) * 2])
def test_what_reads_strides_reads_those_of_torchs_default_layout(function):
    class Reading(nn.Module):
        def forward(self, x):
            return function(x)

    module, x = Reading(), torch.randn(1, 3, 4, 4)
    graph = without_writes(export_channels_last(module, (channels_last(x),)), 0)
    torch.testing.assert_close(graph(channels_last(x)), module(x))


def test_a_module_for_no_layout_is_refused_with_its_line():
    class Wrong(nn.Module):
        def forward(self, x):
            return x.view(7)

    with pytest.raises(Unsupported, match=r"test_layouts.py:\d+: torch.export cannot take"):
        export_channels_last(Wrong(), (torch.zeros(1, 3, 2, 2),))


@pytest.mark.filterwarnings("ignore:The tensor attribute")
def test_a_module_keeps_nothing_of_its_export():
    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        @cached_property
        def total(self):
            return self.weight.sum()

        def forward(self, x):
            return x * self.total

    module = Kept()
    export_channels_last(module, (torch.ones(1, 4),))
    assert "total" not in vars(module)
