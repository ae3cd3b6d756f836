"""Angles of points written out."""

from __future__ import annotations

import math

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.rewrites.angles import write_out_angles
from cmcompiler.ir.arithmetic import Arithmetic, arithmetics

ENDS = torch.tensor([-2.0, -1.0, -1e-20, 0.0, 1e-20, 0.5, 3.0])


class Angle(nn.Module):
    def forward(self, y: Tensor, x: Tensor) -> Tensor:
        return torch.atan2(y, x) / math.pi


def test_all_quadrants_and_the_origin() -> None:
    y, x = ENDS.reshape(7, 1), ENDS.reshape(1, 7)
    graph = rewritten(Angle(), y, x, by=write_out_angles)
    assert not [target for target in targets(graph) if "atan2" in target]
    torch.testing.assert_close(graph(y, x), Angle()(y, x))


@pytest.mark.filterwarnings("ignore")
def test_no_float_is_left() -> None:
    random = torch.Generator().manual_seed(0)
    points = [tuple(torch.randn(2, 1, 64, generator=random)) for _ in range(4)]
    compiled = api.compile(Angle(), points[0], points)
    assert Arithmetic.FLOAT not in arithmetics(compiled.graph)
    assert compiled.fidelity.faithful
