"""Softmax after fills with numbers far below all others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.rewrites.masked_softmax import join_masks
from cmcompiler.frontend.sensitivity import snr

MASK = torch.arange(6) % 3 > 0
X = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))

JOINED: dict[str, Callable[[Tensor], Tensor]] = {
    "infinite": lambda x: x.masked_fill(MASK, -torch.inf).softmax(-1),
    "finite": lambda x: x.masked_fill(MASK, -1e9).softmax(2),
    "tensor": lambda x: torch.where(MASK, x, torch.tensor(-1e4)).softmax(-1),
    "left": lambda x: torch.where(MASK, -1e9, x).softmax(-1),
    "other dimension": lambda x: x.transpose(1, 2).masked_fill(MASK[:, None], -1e9).softmax(1),
    "in float32 as said": lambda x: (
        x.masked_fill(MASK, -1e9).softmax(-1, dtype=torch.float32).to(x.dtype)
    ),
    "computed": lambda x: torch.where(x > 0.5 * x.flip(1), x, -torch.inf).softmax(-1),
    "of itself": lambda x: torch.where(x > -0.5, x, -torch.inf).softmax(-1),
}


@pytest.mark.parametrize("name", JOINED)
def test_joined(name: str) -> None:
    operators = targets(rewritten(Function(JOINED[name]), X))
    assert "cmbuild.masked_softmax.default" in operators
    assert not any("masked_fill" in each or "where" in each for each in operators)


KEPT: dict[str, Callable[[Tensor], Tensor]] = {
    "near": lambda x: x.masked_fill(MASK, -2.0).softmax(-1),
    "above": lambda x: torch.where(MASK, x, 1e4).softmax(-1),
    "between": lambda x: (x.masked_fill(MASK, -1e9) + x).softmax(-1),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    operators = targets(rewritten(Function(KEPT[name]), X, by=join_masks))
    assert "cmbuild.masked_softmax.default" not in operators


class Pooling(nn.Module):
    """Attention over the steps of a sequence with a mask that is an input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.scores = nn.Linear(8, 16), nn.Linear(16, 1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        features = self.layer(x)
        scores = self.scores(features).masked_fill(~mask[..., None], -1e9)
        return (scores.softmax(1) * features).sum(1)


def test_masked_steps_cost_no_accuracy() -> None:
    torch.manual_seed(0)
    module = Pooling().eval()
    samples = [(torch.randn(1, 12, 8), torch.rand(1, 12) > 0.4) for _ in range(8)]
    compiled = api.compile(module, samples[0], samples)
    assert not any(step.reason and "float" in step.reason for step in compiled.placement)
    actual = api.reference(compiled, [tuple(x.numpy() for x in sample) for sample in samples])
    with torch.no_grad():
        exact = [module(*sample) for sample in samples]
    assert snr(exact, [torch.from_numpy(outputs[0].copy()) for outputs in actual]) > 30
