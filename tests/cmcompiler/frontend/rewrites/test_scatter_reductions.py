"""scatter_reduce in other words."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler.frontend.rewrites.scatter_reductions import spell_scatter_reductions

torch.manual_seed(0)
START, SOURCE = torch.randn(2, 5, 3), torch.randn(2, 7, 4)
INDEX = torch.randint(0, 4, (2, 6, 3))  # the last row is never touched


class Reduced(nn.Module):
    def __init__(self, reduce: str, include_self: bool) -> None:
        super().__init__()
        self.reduce, self.include_self = reduce, include_self

    def forward(self, start: Tensor, index: Tensor, source: Tensor) -> Tensor:
        return start.scatter_reduce(1, index, source, self.reduce, include_self=self.include_self)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_each_reduction(reduce, include_self):
    module = Reduced(reduce, include_self)
    graph = rewritten(module, START, INDEX, SOURCE, by=spell_scatter_reductions)
    assert not any("scatter_reduce" in target for target in targets(graph))
