"""Roundings between operators without weights that cost an output most."""

from __future__ import annotations

import pytest
import torch
from harness.coverage import integer_snr
from torch import Tensor, nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.refinement import TOO_COARSE
from cmcompiler.target import Target

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export


class Survival(nn.Module):
    """The end of a running product, a thousandth of its beginning."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        kept: Tensor = self.layer(x).sigmoid().cumprod(1)
        return kept[:, -1]


def test_the_end_of_a_running_product() -> None:
    torch.manual_seed(1)
    samples = [(torch.randn(1, 10, 8),) for _ in range(16)]
    module = Survival().eval()
    quantized = quantize(module, samples[0], samples)
    assert {each.reason for each in quantized.float_operators} == {TOO_COARSE}
    assert not any("linear" in each.operator for each in quantized.float_operators)
    program = lower(quantized, Target.parse("cortex-m55"))
    assert integer_snr(module, program, samples) > 30
