from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.fx import Graph, GraphModule

from cmcompiler import api
from cmcompiler.frontend.call_sites import mark
from cmcompiler.frontend.layouts import export

NAMES = sorted(
    name
    for name in {*dir(GraphModule(nn.Module(), Graph())), "shape_env"} - {*dir(nn.Module())}
    if not name.startswith("__")
)


class Named(nn.Module):
    """Uses an attribute of each of the names."""

    def __init__(self, hold: Callable[[nn.Module, str], None]) -> None:
        super().__init__()
        for name in NAMES:
            hold(self, name)

    def forward(self, x: Tensor) -> Tensor:
        for name in NAMES:
            held = getattr(self, name)
            x = x + (held(x) if isinstance(held, nn.Module) else held)
        return x


@pytest.mark.parametrize(
    "hold",
    [
        lambda module, name: module.add_module(name, nn.Linear(3, 3)),
        lambda module, name: module.register_parameter(name, nn.Parameter(torch.randn(3))),
        lambda module, name: module.register_buffer(name, torch.randn(3)),
        lambda module, name: setattr(module, name, torch.randn(3)),
    ],
    ids=["module", "parameter", "buffer", "constant"],
)
@pytest.mark.parametrize("nested", [False, True])
def test_tensors_may_have_names_of_a_graph(
    hold: Callable[[nn.Module, str], None], nested: bool
) -> None:
    assert {"code", "graph", "meta", "recompile"} <= {*NAMES}
    module: nn.Module = Named(hold)
    module = nn.Sequential(module) if nested else module
    x = torch.randn(2, 3)
    graph = export(module, (x,)).module(check_guards=False)
    assert isinstance(graph, GraphModule)
    assert torch.equal(graph(x), module(x))
    graph.recompile()
    assert "forward" in graph.code


class Coded(nn.Module):
    """A state, a layer and a constant of such names."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.code, self.type = nn.Linear(8, 8), torch.rand(8) + 0.5
        self.register_buffer("graph", torch.zeros(1, 8))

    def forward(self, x: Tensor) -> Tensor:
        self.graph += torch.relu(self.code(x))
        return self.graph * self.type


def test_a_program_keeps_the_names_of_its_modules() -> None:
    sites = mark(export(Coded(), (torch.randn(1, 8),)).graph).values()
    assert {site.module for site in sites if site.operator == "linear"} == {"code"}


@pytest.mark.parametrize("kind", ["8w8a", "8w16a"])
def test_a_module_with_such_names_computes_as_in_float(kind: str) -> None:
    inputs = [torch.rand(1, 8) for _ in range(8)]
    compiled = api.compile(Coded(), inputs[0], calibration=inputs, precision={"code": kind})
    module = Coded()
    (made,) = zip(*api.reference(compiled, [(x.numpy(),) for x in inputs]), strict=True)
    with torch.no_grad():
        real = np.stack([module(x).clone().numpy() for x in inputs])
    error = np.stack(made) - real
    assert 10 * np.log10(np.mean(real**2) / np.mean(error**2)) > 30
