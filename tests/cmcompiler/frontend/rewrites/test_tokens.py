"""Tokens of different kinds have sums and norms of their own, with the same results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

CAT, NORM = "aten.cat.default", "cmbuild.layer_norm.default"
ADDS = ("aten.add.Tensor", "cmbuild.add.default", "cmbuild.function.default")


class Tokens(nn.Module):
    """A small class token before or after 6 tokens of an input."""

    def __init__(self, compute: Callable[[Tokens, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.token, self.places = (nn.Parameter(torch.randn(1, n, 4) * 0.02) for n in (1, 7))
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.compute = compute

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, self.token.expand(len(x), -1, -1), x)


X = torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(1))


def residual(self: Tokens, token: Tensor, x: Tensor) -> Tensor:
    x = torch.cat([token, x], 1) + self.places
    x = x + self.linear(self.norm(x)) + self.token
    return self.norm(x + x)[:, 0]


def test_a_residual_stream_is_two() -> None:
    operators = targets(rewritten(Tokens(residual), X))
    assert operators.count(CAT) == 1
    assert (operators.count(NORM), operators.count("aten.slice.Tensor")) == (3, 1)


@pytest.mark.parametrize(
    "compute",
    [
        lambda self, token, x: self.norm(torch.cat([x, token], -2) + self.places[0])[:, -1],
        lambda self, token, x: self.norm(torch.cat([x, token], 1) + 1)[:, 3],
        lambda self, token, x: self.norm(self.places + torch.cat([x, token], 1)).mean(1),
        lambda self, token, x: self.norm(torch.cat([x, token], 1) + torch.cat([token, x], 1)),
        lambda self, token, x: self.norm(torch.cat([x, x], 2)[..., :4] + 0),
    ],
)
def test_results_stay(compute: Callable[[Tokens, Tensor, Tensor], Tensor]) -> None:
    rewritten(Tokens(compute), X)


@pytest.mark.parametrize(
    "compute",
    [
        lambda self, token, x: torch.cat([x, token], 1) + self.places,
        lambda self, token, x: self.norm(torch.cat([x[..., :2], x[..., 2:]], 2) + 1),
    ],
    ids=["without a norm", "norm over the parts"],
)
def test_others_stay_together(compute: Callable[[Tokens, Tensor, Tensor], Tensor]) -> None:
    operators = targets(rewritten(Tokens(compute), X))
    assert operators.index(CAT) < max(i for i, target in enumerate(operators) if target != CAT)
    assert operators.count(CAT) == sum(operators.count(add) for add in ADDS) == 1
