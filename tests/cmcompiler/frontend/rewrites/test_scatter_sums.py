"""Sums by an index as products."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler.frontend.rewrites.scatter_sums import multiply_by_places

torch.manual_seed(0)
START, SOURCE = torch.randn(2, 5, 3), torch.randn(2, 7, 3)


class Ternary(nn.Module):
    def __init__(self, function: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, start: Tensor, source: Tensor, index: Tensor) -> Tensor:
        return self.function(start, source, index)


ROWS = torch.randint(0, 5, (7,))
SUMS = {
    "constant rows": lambda s, x, i: s.scatter_add(1, ROWS[:, None].expand(2, 7, 3), x),
    "rows of each": lambda s, x, i: s.scatter_add(1, i[:, :, :1].expand(-1, -1, 3), x),
    "the same rows": lambda s, x, i: s.scatter_add(1, i[0, :, 0].view(1, -1, 1).expand_as(x), x),
    "index_add": lambda s, x, i: torch.zeros_like(s).index_add(1, i[0, :, 0], x, alpha=0.5),
    "the last": lambda s, x, i: torch.zeros(2, 7, 9).scatter_add_(2, i + 4, x),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_are_products(name):
    index = torch.randint(0, 5, (2, 7, 3))
    graph = rewritten(Ternary(SUMS[name]), START, SOURCE, index, by=multiply_by_places)
    assert not any("_add." in target for target in targets(graph))


def test_sums_of_single_elements_stay():
    index, module = torch.randint(0, 5, (2, 7, 3)), Ternary(lambda s, x, i: s.scatter_add(1, i, x))
    graph = rewritten(module, START, SOURCE, index, by=multiply_by_places)
    assert targets(graph) == ["aten.scatter_add.default"]
