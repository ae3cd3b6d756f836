"""Operators that get int16 activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from harness.rewriting import targets
from torch import Tensor, nn

from cmcompiler.frontend.operators import define
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.rewrites.sampled import note_samples


def slopes(count: int) -> nn.Module:
    layer = nn.PReLU(count)
    nn.init.uniform_(layer.weight, -0.5, 1.5)
    return layer


class Of(nn.Module):
    """A function of the first result."""

    def __init__(self, function: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.function(x)
        return result


MODULES = {
    "several slopes": slopes(5),
    "one slope": slopes(1),
    "counted padding": nn.AvgPool2d(3, 2, 1),
    "counted padding at one side": nn.AvgPool2d((3, 2), (1, 2), (1, 0)),
    "no counted padding": nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
    "padding that makes further outputs": nn.AvgPool2d(3, 2, 1, ceil_mode=True),
    "deviations": Of(lambda x: torch.cat(torch.std_mean(x, (1, 2)), 0)),
    "lengths": Of(lambda x: x.norm(dim=-1)),
    "running sums": Of(lambda x: x.cumsum(2)),
    "logarithms of softmax": Of(lambda x: x.log_softmax(1)),
    "logarithms of sums": Of(lambda x: x.logsumexp((1, 3))),
    "quotients": Of(lambda x: x / (x.abs().flip(2) + 1)),
    "bilinear": nn.Upsample(scale_factor=(1.5, 2.0), mode="bilinear"),
    "bilinear size": nn.Upsample(size=(3, 9), mode="bilinear", align_corners=True),
}

WIDE = {
    *("aten.avg_pool2d.default", "aten.div.Tensor", "aten.upsample_bilinear2d.vec"),
    *(f"cmbuild.{name}.default" for name in ("prelu", "deviation", "cumsum", "div")),
    *(f"cmbuild.{name}.default" for name in ("log_softmax", "logsumexp")),
}


@pytest.mark.parametrize("name", MODULES)
def test_short_forms_compute_the_same(name: str) -> None:
    define()
    module, x = MODULES[name].eval(), torch.randn(1, 5, 8, 7)
    graph = torch.export.export(module, (x,)).module(check_guards=False)
    note_samples(graph, [(x,)])
    made = rewrite(graph, precision=(("*", "8w16a"),))
    assert torch.allclose(made(x), module(x), atol=1e-6)
    short = [each for each in targets(made) if each.startswith("cmbuild.short_")]
    assert short and not WIDE & {*targets(made)}
