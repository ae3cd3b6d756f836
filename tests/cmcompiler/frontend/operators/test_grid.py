"""Samples at places that a model computes or takes."""

from __future__ import annotations

from functools import cache

import pytest
import torch
import torch.nn.functional as F
from harness.coverage import integer_snr
from harness.examples import Example
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.api import Compiled


class Warp(nn.Module):
    """By a grid that is moved, of a batch of two images."""

    def forward(self, x: Tensor, grid: Tensor) -> tuple[Tensor, Tensor]:
        near = F.grid_sample(x, grid, mode="nearest", align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=True), near


@cache
def compiled() -> tuple[Compiled, list[tuple[Tensor, Tensor]]]:
    torch.manual_seed(0)
    samples = [(torch.randn(2, 3, 6, 5), torch.rand(2, 4, 7, 2) * 2.2 - 1.1) for _ in range(8)]
    return api.compile(Warp(), samples[0], samples), samples


def test_places_are_as_precise_as_floats():
    program, samples = compiled()
    assert integer_snr(Warp(), program.pte, samples) > 34


def test_every_kernel_equals_the_reference(runtime):
    program, _ = compiled()
    assert program.vectors is not None
    runtime.check(*(Example(program.graph, tuple(sample)) for sample in program.vectors))


@pytest.mark.filterwarnings("ignore")
def test_a_learnt_transform():
    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pose = nn.Linear(2 * 36, 6)
            nn.init.normal_(self.pose.weight, std=0.01)
            self.pose.bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))

        def forward(self, x: Tensor) -> Tensor:
            pose = self.pose(x.flatten(1)).view(-1, 2, 3)
            return F.grid_sample(x, F.affine_grid(pose, list(x.shape), False), align_corners=False)

    torch.manual_seed(0)
    module, samples = Transformer().eval(), [torch.randn(1, 2, 6, 6) for _ in range(4)]
    program = api.compile(module, samples[0], samples)
    assert integer_snr(module, program.pte, [(x,) for x in samples]) > 25
