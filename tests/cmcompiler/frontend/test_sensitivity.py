from __future__ import annotations

import pytest
import torch
from torch import nn

from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.sensitivity import snr


class Pair(nn.Module):
    """A layer with an outlier among its weights, which int8 serves badly, beside one without."""

    def __init__(self):
        super().__init__()
        self.bad, self.good = nn.Linear(16, 8), nn.Linear(16, 8)
        with torch.no_grad():
            self.bad.weight[:, 0] = 5.0

    def forward(self, x):
        return self.bad(x) + self.good(x)


def test_the_worst_operator_comes_first():
    torch.manual_seed(0)
    calibration = [(torch.randn(1, 16) * torch.tensor([1e-3] + 15 * [1.0]),) for _ in range(9)]
    module = Pair().eval()
    quantized = quantize(module, calibration[0], calibration, sensitivity=True)
    costs = {quantized.call_sites[each.node].module: each.snr_db for each in quantized.layers}
    assert costs["bad"] < costs["good"] - 10
    assert [each.snr_db for each in quantized.layers] == sorted(costs.values())
    assert quantize(module, calibration[0], calibration).layers == ()


def test_one_layer_alone_costs_what_the_whole_model_does():
    """A model of one operator: quantising it alone is quantising everything."""
    torch.manual_seed(0)
    module, calibration = nn.Linear(16, 8).eval(), [(torch.randn(1, 16),) for _ in range(8)]
    quantized = quantize(module, calibration[0], calibration, sensitivity=True)
    (layer,) = quantized.layers
    with torch.no_grad():
        graph = quantized.program.module()
        exact, actual = ([run(*x) for x in calibration] for run in (module, graph))
    assert layer.snr_db == pytest.approx(snr(exact, actual), abs=0.01)
    assert 25 < layer.snr_db < 60


def test_infinite_numbers_of_both_are_no_error():
    real = torch.tensor([1.0, float("-inf"), float("-inf")])
    assert snr([real], [real + 0.1]) == pytest.approx(20)


def test_what_diverged_is_infinitely_far():
    assert snr([torch.tensor([1.0, float("inf")])], [torch.ones(2)]) == -float("inf")
    assert snr([torch.ones(2)], [torch.tensor([1.0, float("inf")])]) == -float("inf")
    assert snr([torch.ones(2)], [torch.tensor([1.0, float("nan")])]) == -float("inf")
