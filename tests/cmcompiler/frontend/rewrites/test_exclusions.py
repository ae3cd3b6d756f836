"""Masks in every spelling are one: what they exclude, and what is left."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.fx import Node

from cmcompiler.frontend.rewrites.editing import is_constant
from cmcompiler.frontend.rewrites.exclusions import Excluded, Exclusions

LOWEST = torch.finfo(torch.float32).min
PADDED = torch.arange(6)[None] > 3
BEFORE = torch.ones(6, 6).triu(1)
X = torch.randn(1, 6, 6, generator=torch.Generator().manual_seed(1))

Spelling = Callable[[Tensor, Tensor], Tensor]


class Masked(nn.Module):
    def __init__(self, mask: Spelling) -> None:
        super().__init__()
        self.mask = mask

    def forward(self, x: Tensor, padded: Tensor) -> Tensor:
        return self.mask(x, padded)


def learned(mask: Spelling) -> tuple[Node, Excluded | None]:
    """The node of a masked tensor, and what is known of it."""
    module = torch.export.export(Masked(mask), (X, PADDED)).module(check_guards=False)
    exclusions, nodes = Exclusions(), list(module.graph.nodes)
    for node in nodes:
        exclusions.learn(node)
    (result,) = nodes[-1].all_input_nodes
    return result, exclusions.of(result)


ADDED: dict[str, tuple[Spelling, float]] = {
    "zeros": (lambda x, m: x + torch.zeros_like(x).masked_fill(m, -math.inf), -math.inf),
    "where": (lambda x, m: x + torch.where(m, -1e9, 0.0), -1e9),
    "fill": (lambda x, m: x.masked_fill(m, LOWEST), LOWEST),
    "logarithm": (lambda x, m: x + torch.where(m, 0.0, 1.0).log(), -math.inf),
    "product": (lambda x, m: x + torch.where(m, 1.0, 0.0) * -10000, -1e4),
    "rest": (lambda x, m: x + (1.0 - torch.where(m, 0.0, 1.0)) * -1e9, -1e9),
    "subtracted": (lambda x, m: x - torch.where(m, 1e30, 0.0), -1e30),
    "moderate": (lambda x, m: x + torch.where(m, -100.0, 0.0), -100),
    "scaled": (lambda x, m: (x + torch.where(m, -1e4, 0.0)) / 8, -1250),
    "constant": (lambda x, m: x + torch.full((6, 6), -1e9) * BEFORE, -1e9),
    "levels": (lambda x, m: x + BEFORE * -100, -100),
    "bounded": (
        lambda x, m: torch.maximum(x + torch.where(m, -math.inf, 0.0), torch.tensor(LOWEST)),
        LOWEST,
    ),
    "moved": (lambda x, m: (x + torch.where(m, -1e9, 0.0)).transpose(1, 2), -1e9),
    "padded": (lambda x, m: torch.constant_pad_nd(x, (0, 2), -1e9), -1e9),
    "margin": (
        lambda x, m: x[..., :1] + torch.constant_pad_nd(torch.where(m, -1e9, 0.0), (0, 1)),
        -1e9,
    ),
    "joined": (lambda x, m: torch.cat([x.masked_fill(m, -1e9), x], 2), -1e9),
    "products": (
        lambda x, m: torch.baddbmm(torch.where(m, -math.inf, 0.0)[:, None], x, x),
        -math.inf,
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_spellings(name: str) -> None:
    mask, number = ADDED[name]
    _, known = learned(mask)
    assert known is not None and known.number == pytest.approx(number)


@pytest.mark.parametrize("name", ADDED)
def test_the_form_is_the_same_tensor(name: str) -> None:
    mask, number = ADDED[name]
    node, known = learned(mask)
    assert known is not None and isinstance(known.value, Node)
    output = next(each for each in node.graph.nodes if each.op == "output")
    made = known.spelled(output, node.meta["val"].shape)
    output.replace_input_with(node, made)
    module = node.graph.owning_module
    assert module is not None
    module.recompile()
    expected = mask(X, PADDED)
    actual = module(X, PADDED)
    kept = expected > number / 2
    torch.testing.assert_close(actual[kept], expected[kept])
    assert torch.equal(actual > number / 2, kept)


def test_two_masks_are_one() -> None:
    def both(x: Tensor, m: Tensor) -> Tensor:
        return x + (BEFORE * -1e9 + torch.where(m, -math.inf, 0.0))

    _, known = learned(both)
    assert known is not None and str(known.kept.target) == "aten.logical_and.default"


def test_moderate_numbers_of_a_constant_stay_apart() -> None:
    slopes = torch.arange(6.0) * -0.5

    def biased(x: Tensor, m: Tensor) -> Tensor:
        return x + (slopes + torch.where(m, -1e9, 0.0))

    _, known = learned(biased)
    assert known is not None and isinstance(known.value, Node) and known.number == -1e9
    assert str(known.value.target) == "aten.add.Tensor"


ORDINARY: dict[str, Spelling] = {
    "slopes": lambda x, m: x + torch.arange(6.0) * -0.5,
    "near": lambda x, m: x.masked_fill(m, -2.0),
    "choice": lambda x, m: torch.where(m, x, x.flip(2)),
    "both signs": lambda x, m: x + torch.tensor([-1e9, 0, 0, 0, 0, 1e9]),
    "weights": lambda x, m: x * torch.where(m, 0.0, 1.0),
    "mode": lambda x, m: nn.functional.pad(x, (1, 1), mode="reflect"),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_tensors_exclude_nothing(name: str) -> None:
    node, known = learned(ORDINARY[name])
    assert known is None and not is_constant(node)
