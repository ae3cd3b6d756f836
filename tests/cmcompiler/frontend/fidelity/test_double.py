"""What single precision loses, from operands that are moved by a rounding."""

from __future__ import annotations

import torch

from cmcompiler.frontend.fidelity.double import DoubleRun, single_rounding

_ROUNDING = 2.0**-24


def rounding_at(offset: float) -> float:
    """Of products whose large parts cancel out."""
    chance = torch.Generator().manual_seed(0)
    weight = torch.rand(4, 64, generator=chance, dtype=torch.float64) - 0.5
    x = torch.randn(8, 64, generator=chance, dtype=torch.float64) + offset
    arguments = x, weight, -weight.sum(1) * offset
    exact = torch.nn.functional.linear(*arguments)
    return float(single_rounding(torch.nn.functional.linear, exact, (arguments, {})))


def test_roundings_grow_with_numbers_that_cancel_out() -> None:
    assert rounding_at(0.0) < 100 * _ROUNDING
    assert 0.9e4 < rounding_at(1e6) / rounding_at(1e2) < 1.1e4


def test_what_is_not_finite_does_not_count() -> None:
    operands = torch.tensor([1.0, -torch.inf, torch.nan], dtype=torch.float64)
    rounding = single_rounding(torch.exp, operands.exp(), ((operands,), {}))
    assert torch.isclose(rounding, operands[0].exp() * _ROUNDING, rtol=1e-3)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 1e8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.weight) - self.weight


def test_graphs_compute_in_double_precision() -> None:
    x = torch.tensor([0.5, 0.25, 1.0])
    graph = torch.export.export(Net(), (x,)).module(check_guards=False)
    assert not torch.equal(graph(x), x)
    (result,) = torch.utils._pytree.tree_leaves(DoubleRun(graph).run(x.double()))
    assert torch.equal(result, x.double())
