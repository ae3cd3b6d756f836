"""Attention that is spelled out becomes the compiler's own, with the same results."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

OWN, MASKED = "cmbuild.attention.default", "cmbuild.masked_attention.default"

Compute = Callable[["Written", Tensor, Tensor, Tensor], Tensor]


class Written(nn.Module):
    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.compute = compute
        generator = torch.Generator().manual_seed(1)
        self.bias = nn.Parameter(torch.randn(3, 5, 5, generator=generator))
        self.scale = nn.Parameter(torch.tensor(0.7))
        self.register_buffer("later", torch.ones(5, 5).triu(1).bool())

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.compute(self, query, key, value)


def inputs(*batch: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(*batch, 5, 4, generator=generator) for _ in range(3)]


SPELLINGS: dict[str, Compute] = {
    "plain": lambda _, q, k, v: (q @ k.transpose(-2, -1)).softmax(-1) @ v,
    "scaled product": lambda _, q, k, v: (
        torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(4), 3) @ v
    ),
    "scaled queries": lambda _, q, k, v: ((q * 0.5) @ k.mT).softmax(-1) @ v,
    "both scaled": lambda _, q, k, v: ((q / 1.5) @ (k * 0.6).mT).softmax(-1) @ v,
    "learned": lambda self, q, k, v: (q @ k.mT * self.scale).softmax(-1) @ v,
    "bias": lambda self, q, k, v: (q @ k.mT * 0.5 + self.bias).softmax(-1) @ v,
    "scaled bias": lambda self, q, k, v: ((self.bias + q @ k.mT) * 0.5).softmax(-1) @ v,
    "causal": lambda self, q, k, v: (q @ k.mT).masked_fill(self.later, -math.inf).softmax(-1) @ v,
    "nearly causal": lambda self, q, k, v: (
        (q @ k.mT * 0.5).masked_fill(self.later, -1e9).softmax(-1) @ v
    ),
    "made causal": lambda _, q, k, v: (
        (q @ k.mT + torch.full((5, 5), -math.inf).triu(1)).softmax(-1) @ v
    ),
    "where": lambda self, q, k, v: torch.where(~self.later, q @ k.mT, -math.inf).softmax(-1) @ v,
    "dropout": lambda _, q, k, v: (
        nn.functional.dropout((q @ k.mT).softmax(-1), 0.1, training=False) @ v
    ),
    "keys already transposed": lambda _, q, k, v: (q @ k.reshape(2, 3, 4, 5)).softmax(-1) @ v,
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings(name: str) -> None:
    operators = targets(rewritten(Written(SPELLINGS[name]), *inputs(2, 3)))
    assert OWN in operators
    assert "aten.softmax.int" not in operators


def biased(self: Written, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.bmm(torch.baddbmm(self.bias, q, k.transpose(1, 2)).softmax(-1), v)


def test_batches_of_matrices() -> None:
    assert OWN in targets(rewritten(Written(biased), *inputs(3)))


def masked(_: Written, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    hidden = (k[..., 0] > 0.5)[..., None, :]
    return (q @ k.mT).masked_fill(hidden, -math.inf).softmax(-1) @ v


def test_a_computed_mask() -> None:
    assert MASKED in targets(rewritten(Written(masked), *inputs(2, 3)))


def masked_for_all(_: Written, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    hidden = k[0, 0, :, 0] > 0.5
    return (q @ k.mT).masked_fill(hidden, -math.inf).softmax(-1) @ v


def test_a_mask_of_keys_alone_has_three_dimensions() -> None:
    graph = rewritten(Written(masked_for_all), *inputs(2, 3))
    (attention,) = (node for node in graph.graph.nodes if str(node.target) == MASKED)
    assert attention.args[3].meta["val"].shape == (1, 1, 5)


def reused(_: Written, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = (q @ k.mT).softmax(-1)
    return weights @ v + weights @ q


@pytest.mark.parametrize(
    "compute",
    [
        lambda _, q, k, v: (q @ k.mT).softmax(-2) @ v,
        lambda _, q, k, v: (q @ k.mT).exp().softmax(-1) @ v,
        lambda _, q, k, v: (q @ k.mT * q[..., :1]).softmax(-1) @ v,
        reused,
        lambda _, q, k, v: (q[:1] @ k.mT).softmax(-1) @ v,
    ],
    ids=["other dimension", "exp", "scaled rows", "weights used twice", "broadcast"],
)
def test_others_stay(compute: Compute) -> None:
    operators = targets(rewritten(Written(compute), *inputs(2, 3)))
    assert not {OWN, MASKED} & set(operators)


@pytest.mark.parametrize("mask", [None, torch.ones(5, 5).triu(1).bool()], ids=["none", "causal"])
def test_multihead_attention_that_returns_weights(mask: Tensor | None) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.attention(x, x, x, attn_mask=mask)[0]

    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))
    assert OWN in targets(rewritten(Net(), x))
