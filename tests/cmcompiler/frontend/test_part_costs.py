"""The parts of a model that may differ in precision, and what each of their roundings costs."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from cmcompiler.frontend.parts import ModelParts, Rounded
from cmcompiler.frontend.quantization import quantize


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.last = nn.Linear(8 * 16, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        x = nn.functional.max_pool2d(torch.relu(self.second(x)) + x, 2)
        return self.last(x.flatten(1))


def costs() -> ModelParts:
    torch.manual_seed(1)
    samples = [(torch.randn(1, 2, 8, 8),) for _ in range(8)]
    parts = quantize(Branches().eval(), samples[0], samples, parts=True).parts
    assert parts is not None
    return parts


def test_what_is_computed_with_a_layer_is_of_its_part() -> None:
    parts = costs()
    assert [part.path for part in parts.parts] == ["first", "second", "", "last"]
    assert parts.parts[0].operators == ("conv2d", "relu")
    activations = [each.parts for each in parts.roundings if each.kind is Rounded.ACTIVATION]
    # The input, the result of each layer with what reads it, the sum, which is pooled and moved.
    assert activations == [(0,), (0, 1, 2), (1, 2), (2, 3), (3,)]


def test_each_rounding_alone_costs_as_much_as_its_bits() -> None:
    parts = costs()
    decibels = {
        (each.kind, each.parts): -10 * math.log10(each.noise[0]) for each in parts.roundings
    }
    wide = decibels[Rounded.WEIGHTS, (1,)]
    narrow = decibels[Rounded.NARROW_WEIGHTS, (1,)]
    assert wide > 40 and 15 < wide - narrow < 35
    # 144 weights take no less flash in four bits.
    assert (Rounded.NARROW_WEIGHTS, (0,)) not in decibels
    assert all(level > 30 for (kind, _), level in decibels.items() if kind is Rounded.ACTIVATION)
