"""Recurrences that are written in parallel, by quotients of running products."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from harness.coverage import integer_snr
from harness.rewriting import Function, rewritten, targets
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler import api
from cmcompiler.frontend.rewrites.recurrences import compute_recurrences
from cmcompiler.frontend.rewrites.sampled import note_samples

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export


def gates(x: Tensor) -> tuple[Tensor, Tensor]:
    """What is kept of a state, and what is added to it."""
    kept = torch.sigmoid(x[..., :3])
    return kept, (1 - kept) * x[..., 3:]


def by_products(x: Tensor) -> Tensor:
    kept, added = gates(x)
    product = torch.cumprod(kept, -2)
    return product * torch.cumsum(added / product, 1)


def by_guarded_products(x: Tensor) -> Tensor:
    kept, added = gates(x)
    product = torch.cumprod(kept, 1)
    return torch.cumsum(added * (product + 1e-12).reciprocal(), 1) * product


def by_exponentials(x: Tensor) -> Tensor:
    kept, added = gates(x)
    logarithm = torch.cumsum(torch.log(kept), 1)
    return torch.exp(logarithm) * torch.cumsum(added * torch.exp(-logarithm), 1)


def by_logarithms(x: Tensor) -> Tensor:
    kept, added = F.logsigmoid(x[..., :3]), F.logsigmoid(-x[..., :3]) + x[..., 3:]
    total = kept.cumsum(1)
    return (total + (added - total).logcumsumexp(1)).exp()


def by_logarithms_from_a_state(x: Tensor) -> Tensor:
    kept, added = F.logsigmoid(x[..., :3]), F.logsigmoid(-x[..., :3]) + x[..., 3:]
    total = F.pad(torch.cumsum(kept, 1), (0, 0, 1, 0))
    values = torch.cat([torch.full_like(added[:, :1], 0.5).log(), added], 1)
    return torch.exp(total + torch.logcumsumexp(values - total, 1))[:, 1:]


WRITTEN = (
    *(by_products, by_guarded_products, by_exponentials),
    *(by_logarithms, by_logarithms_from_a_state),
)


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("function", WRITTEN)
def test_forms(function: type, size: int) -> None:
    x = torch.randn(2, size, 6, generator=torch.Generator().manual_seed(size))
    names = targets(rewritten(Function(function), x, by=compute_recurrences))
    assert not any("cum" in name or "div" in name for name in names)


def test_other_quotients_stay() -> None:
    def divided(x: Tensor) -> Tensor:
        kept, added = gates(x)
        product = torch.cumprod(kept, 1)
        return product * torch.cumsum(added / (product * 2), 1) + product.cumsum(1) * product

    names = targets(rewritten(Function(divided), torch.randn(1, 4, 6), by=compute_recurrences))
    assert sum("cum" in name for name in names) == 3


class Layer(nn.Module):
    """A minimal gated recurrent unit (Feng et al., 2024: Were RNNs all we needed?).

    Args:
        guard: what is added to its divisors.
    """

    def __init__(self, guard: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.gate, self.candidate = nn.Linear(6, 8), nn.Linear(6, 8)
        self.guard = guard

    def forward(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(x))
        product = torch.cumprod(1 - gate, 1)
        divided = gate * self.candidate(x) / (product + self.guard)
        return product * torch.cumsum(divided, 1)


def test_layer() -> None:
    module = Layer(1e-15).eval()
    inputs = [(torch.randn(1, 16, 6),) for _ in range(8)]
    compiled = api.compile(module, inputs[0], inputs)
    assert compiled.fidelity.faithful
    assert integer_snr(module, compiled.pte, inputs) > 30


@pytest.mark.parametrize("guarded", [lambda x: x + 0.01, lambda x: x.clamp(min=0.01)])
def test_a_guard_that_counts_is_computed(guarded: Callable[[Tensor], Tensor]) -> None:
    def divided(x: Tensor) -> Tensor:
        kept, added = gates(x)
        product = torch.cumprod(F.pad(kept, (0, 0, 1, 0), value=1.0), 1)
        return product * torch.cumsum(F.pad(added, (0, 0, 1, 0)) / guarded(product), 1)

    def compute(graph: GraphModule) -> None:
        note_samples(graph, [(torch.randn(1, 9, 6),) for _ in range(4)])
        compute_recurrences(graph)

    names = targets(rewritten(Function(divided), torch.randn(1, 9, 6), by=compute))
    assert not any("cumprod" in name or "div" in name for name in names)
