"""Clamps directly after the operators that take them."""

from __future__ import annotations

import pytest
import torch
from harness.pte import operators
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.nn import functional as F

from cmcompiler import api
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.rewrites.clamps import arrange_clamps
from cmcompiler.target import Target


class Branches(nn.Module):
    """Convolutions first, then what follows each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Conv2d(3, 4, 1) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        a, b, c = self.a(x), self.b(x), self.c(x)
        a, b = torch.clamp_min(a, 0.0), F.relu6(b)
        return a + b + F.threshold(c, 0.0, 0.0)


def test_they_follow_their_operator():
    graph = rewritten(Branches(), torch.randn(1, 3, 5, 5), by=arrange_clamps, tolerance=0)
    assert targets(graph) == [
        *("aten.conv2d.default", "aten.clamp.default"),
        *("aten.conv2d.default", "aten.hardtanh.default"),
        *("aten.conv2d.default", "aten.relu.default"),
        *("aten.add.Tensor", "aten.add.Tensor"),
    ]


@pytest.mark.parametrize("threshold", [(1.0, 0.0), (0.0, -1.0)])
def test_other_thresholds_are_no_clamps(threshold):
    module = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Threshold(*threshold))
    graph = rewritten(module, torch.randn(1, 3, 5, 5), by=arrange_clamps, tolerance=0)
    assert targets(graph)[-1] == "aten.threshold.default"


def test_the_backend_fuses_them():
    example = (torch.randn(1, 3, 5, 5),)
    quantized = quantize(Branches(), example, [example])
    names = set(operators(lower(quantized, Target.parse("cortex-m55"))))
    kinds = {"quantize_per_tensor", "dequantize_per_tensor", "quantized_conv2d", "quantized_add"}
    assert names == {f"cortex_m::{kind}" for kind in kinds}


def test_bounds_that_exporting_leaves_out_count() -> None:
    class Bounds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.conv = nn.Conv2d(3, 4, 1)

        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            pooled = F.max_pool2d(4 * x, 2)
            return F.hardtanh(self.conv(x), 0, 1), F.hardtanh(self.conv(2 * x)), F.hardtanh(pooled)

    samples = [(torch.randn(1, 3, 4, 4),) for _ in range(4)]
    compiled = api.compile(Bounds().eval(), samples[0], samples)
    # Also where a bound lies between two steps of a pool's range.
    assert compiled.fidelity.faithful
