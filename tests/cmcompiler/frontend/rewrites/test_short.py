"""Operators that get int16 activations."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import targets
from torch import nn

from cmcompiler.frontend.operators import define
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.rewrites.sampled import note_samples


def slopes(count: int) -> nn.Module:
    layer = nn.PReLU(count)
    nn.init.uniform_(layer.weight, -0.5, 1.5)
    return layer


MODULES = {
    "several slopes": slopes(5),
    "one slope": slopes(1),
    "counted padding": nn.AvgPool2d(3, 2, 1),
    "counted padding at one side": nn.AvgPool2d((3, 2), (1, 2), (1, 0)),
    "no counted padding": nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
    "padding that makes further outputs": nn.AvgPool2d(3, 2, 1, ceil_mode=True),
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
    wide = {"aten.avg_pool2d.default", "cmbuild.prelu.default"} & {*targets(made)}
    assert (short and not wide) or name == "padding that makes further outputs"
