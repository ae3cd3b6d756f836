"""Concatenations of a narrow and a wide operand that a layer reads."""

from __future__ import annotations

import pytest
import torch
from harness.coverage import integer_snr
from harness.exported import Exported
from torch import nn
from torch.nn.functional import avg_pool2d, interpolate

from cmcompiler.frontend.precision import read_precision
from cmcompiler.frontend.preparation import prepare


class Joined(nn.Module):
    """Two branches of very different ranges, of which a convolution makes as much of one as of the
    other.

    Args:
        is_coarse: the narrow one comes from a smaller image.
    """

    def __init__(self, *, is_coarse: bool) -> None:
        super().__init__()
        self.is_coarse = is_coarse
        self.narrow, self.wide = (nn.Conv2d(3, 4, 3, padding=1) for _ in range(2))
        self.joined = nn.Conv2d(8, 4, 3, padding=1)
        with torch.no_grad():
            for parameter in self.wide.parameters():
                parameter.mul_(30)
            self.joined.weight[:, 4:] /= 30

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        narrow, wide = self.narrow(x).relu(), self.wide(x).relu()
        if self.is_coarse:
            narrow = interpolate(avg_pool2d(narrow, 2), scale_factor=2)
        return self.joined(torch.cat([narrow, wide], 1))


@pytest.mark.parametrize("is_coarse", [False, True])
def test_a_narrow_operand_keeps_its_steps(is_coarse: bool) -> None:
    torch.manual_seed(0)
    network = Joined(is_coarse=is_coarse).eval()
    samples = [(torch.randn(1, 3, 8, 8),) for _ in range(6)]
    exported = Exported.of(network, samples)
    assert "balanced concatenations" in [each.name for each in exported.quantized.refinements]
    fidelity = exported.check()
    assert (fidelity.faithful, fidelity.unpaired, fidelity.rewritten) == (True, (), None)
    assert min(each.snr_db for each in fidelity.resolutions) > 30
    assert integer_snr(network, exported.lowered.program, samples) > 30
    assert not exported.quantized.float_operators


def test_an_operand_that_lost_its_steps_gets_them_back_though_outputs_gain_little() -> None:
    torch.manual_seed(0)
    network = Joined(is_coarse=False).eval()
    with torch.no_grad():
        network.narrow.weight *= 0.3
        network.narrow.bias.fill_(0)
        network.joined.weight[:, :4] *= 0.1
        network.joined.weight[:, 4:] *= 8
    samples = [(torch.randn(1, 3, 8, 8),) for _ in range(6)]
    exported = Exported.of(network, samples)
    assert "balanced concatenations" in [each.name for each in exported.quantized.refinements]
    fidelity = exported.check()
    assert fidelity.faithful
    assert min(each.snr_db for each in fidelity.resolutions) > 20


def test_an_operand_may_be_rounded_twice() -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 3, 4, 4),) for _ in range(4)]
    precision = read_precision({"narrow": "8w16a"}, "test")
    prepared = prepare(Joined(is_coarse=False), samples[0], samples, precision=precision)
    assert "balanced concatenations" in [each.name for each in prepared.refinements]
