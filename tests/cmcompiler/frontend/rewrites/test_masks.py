"""Masked tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.pte import operators
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.rewrites.masks import choose_for_masks
from cmcompiler.target import Target

MASK = torch.arange(25).reshape(5, 5) % 3 == 0


class Masked(nn.Module):
    def __init__(self, mask: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv, self.mask = nn.Conv2d(3, 4, 1), mask

    def forward(self, x: Tensor) -> Tensor:
        return self.mask(self.conv(x))


CHOSEN: dict[str, Callable[[Tensor], Tensor]] = {
    "zero": lambda x: x.masked_fill(MASK, 0.0),
    "tensor": lambda x: x.masked_fill(MASK, torch.tensor(0.0)),
    "number": lambda x: x.masked_fill(MASK, 1.5),
    "other": lambda x: torch.where(MASK, x, -0.5),
    "self": lambda x: torch.where(MASK, 2.0, x),
    "numbers": lambda x: torch.where(x > x.flip(1), 1.0, -1.0),
    "tensors": lambda x: torch.where(MASK, x, x.flip(2)),
    "computed": lambda x: x.masked_fill(x > x.flip(1), 0.5),
    "product": lambda x: x * (x > x.flip(1)).float(),
    "channels": lambda x: torch.where(x[:, :1] > 0, x, x * 2),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_choices_are_made_in_integers(name: str) -> None:
    example = (torch.randn(1, 3, 5, 5),)
    graph = rewritten(Masked(CHOSEN[name]), *example)
    chosen = {each for each in targets(graph) if "where" in each or "masked_fill" in each}
    assert chosen == {"aten.where.self"} and not any("mul" in each for each in targets(graph))
    quantized = quantize(Masked(CHOSEN[name]), example, [example])
    assert quantized.float_operators == ()
    assert operators(lower(quantized, Target.parse("cortex-m55")))["aten::where"] == 1


EXTREMES: dict[str, Callable[[Tensor], Tensor]] = {
    "largest": lambda x: x.masked_fill(MASK, -1e9).amax((1, 3)),
    "largest of infinite": lambda x: torch.where(MASK, x, -torch.inf).max(2)[0],
    "place": lambda x: torch.where(MASK, x, torch.tensor(-1e6)).argmax(2),
    "least": lambda x: torch.where(MASK, torch.inf, x).amin(-1),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_numbers_beyond_all_others_do_not_widen_the_range_of_an_extreme(name: str) -> None:
    masked = Masked(EXTREMES[name])
    graph = rewritten(masked, torch.randn(1, 3, 5, 5), by=choose_for_masks, tolerance=0)
    assert "aten.where.self" in targets(graph) and not any("Scalar" in x for x in targets(graph))
    numbers = [value.abs().max() for value in graph.parameters()]
    assert all(number < 1e4 for number in numbers)


@pytest.mark.parametrize("value", [-1e9, torch.inf])
def test_elsewhere_they_stay(value: float) -> None:
    masked = Masked(lambda x: x.masked_fill(MASK, value))
    graph = rewritten(masked, torch.randn(1, 3, 5, 5), by=choose_for_masks, tolerance=0)
    assert targets(graph)[-1] == "aten.masked_fill.Scalar"


def test_integers_stay() -> None:
    class Counts(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.masked_fill(x > 3, 0)

    graph = rewritten(Counts(), torch.arange(6), by=choose_for_masks, tolerance=0)
    assert targets(graph)[-1] == "aten.masked_fill.Scalar"


def test_places_of_extremes_beside_other_readers_have_a_choice_of_their_own() -> None:
    class Legal(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            legal = torch.where(x > 0, x, torch.full_like(x, -1e8))
            return legal, legal.argmax(-1)

    graph = rewritten(Legal(), torch.randn(2, 8), by=choose_for_masks, tolerance=0)
    # The quantizer has no rule for the first, and the other is within the tensor's range.
    assert {"aten.where.ScalarOther", "aten.where.self"} <= set(targets(graph))
    argmax = next(node for node in graph.graph.nodes if "argmax" in str(node.target))
    assert str(argmax.args[0].target) == "aten.where.self"
