"""Tensors that share a range are found, however their places refer to each other."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import nn

from cmcompiler.frontend.quantization import quantize

ATEN = torch.ops.aten
POOLS_AND_CAT = (
    *(ATEN.mean.dim, ATEN.amax.default, ATEN.amin.default),
    ATEN.cat.default,
)
REDUCTIONS = {"mean": torch.mean, "most": torch.amax, "least": torch.amin}


class Pooled(nn.Module):
    """Several pools of one tensor beside each other."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__()
        self.names = names
        self.layer = nn.Conv2d(2, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        return torch.cat([REDUCTIONS[name](y, dim=(2, 3)) for name in self.names], 1)


@pytest.mark.parametrize("names", list(itertools.permutations(REDUCTIONS)))
def test_pools_of_one_tensor_share_its_range(names: tuple[str, ...]) -> None:
    module = Pooled(names).eval()
    sample = (torch.randn(1, 2, 10, 12),)
    quantized = quantize(module, sample, [sample])
    assert quantized.float_operators == ()
    ranges = {
        node.args[1:3]
        for node in quantized.program.graph.nodes
        if "quantize_per_tensor" in str(node.target) and node.args[0].target in POOLS_AND_CAT
    }
    assert len(ranges) == 1


@pytest.mark.parametrize(
    "compute",
    [
        lambda y: y,
        lambda y: y.reshape(5, 1, 4),
        lambda y: y @ torch.ones(4, 3),
        lambda y: y.unsqueeze(0) @ y.T.unsqueeze(0),
    ],
)
def test_users_of_a_softmax_read_it_as_it_is(compute: Callable[[torch.Tensor], torch.Tensor]):
    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return compute(self.layer(x).softmax(-1))

    sample = (torch.randn(5, 6),)
    program = quantize(Scores().eval(), sample, [sample]).program
    again = [
        node
        for node in program.graph.nodes
        if "quantize_per_tensor" in str(node.target)
        and "dequantize" in str(node.args[0].target)
        and "dequantize" not in str(node.target)
    ]
    assert again == []
