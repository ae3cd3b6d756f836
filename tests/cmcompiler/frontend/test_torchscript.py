"""Scripted and traced modules as graphs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.errors import Unsupported
from cmcompiler.frontend.torchscript import exported

pytestmark = pytest.mark.filterwarnings("ignore")  # torch deprecates TorchScript

NET = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten()).eval()
X = torch.randn(1, 1, 8)


@pytest.mark.parametrize("make", [torch.jit.script, lambda net: torch.jit.trace(net, X)])
def test_a_graph_computes_the_same(make) -> None:
    graph = exported(make(NET), [X])
    torch.testing.assert_close(graph(X), NET(X))


def test_a_traced_module_is_a_model_in_integers() -> None:
    compiled = api.compile(torch.jit.trace(NET, X), X)
    assert all(part.reason is None for part in compiled.placement)


class Steps(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        number = 0
        while bool(x.abs().max() > 1) and number < 5:
            x = x * 0.5
            number += 1
        return x


def test_a_loop_is_refused_in_one_line() -> None:
    with pytest.raises(Unsupported, match=r"cannot be exported: .*Loop") as refused:
        exported(torch.jit.script(Steps()), [X])
    assert "eager module" in str(refused.value.hint)
