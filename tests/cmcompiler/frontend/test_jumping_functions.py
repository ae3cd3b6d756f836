"""Functions of 16 bits whose tables have fewer entries than numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from cmcompiler import api


class Applied(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x * 0.7)


@pytest.mark.parametrize(
    ("function", "is_float"),
    [
        (lambda y: torch.frac(y * 2), True),
        (lambda y: torch.fmod(y * 4, 1.0), True),
        (lambda y: nn.functional.threshold(y, 0.1, -1.0), True),
        (torch.sign, False),
        (torch.tanh, False),
    ],
    ids=["frac", "fmod", "threshold", "jumps at an entry", "smooth"],
)
def test_jumps_between_entries_are_computed_in_float(
    function: Callable[[Tensor], Tensor], is_float: bool
) -> None:
    torch.manual_seed(0)
    samples = [torch.randn(1, 64) for _ in range(8)]
    compiled = api.compile(Applied(function), samples[0], samples, activations="int16")
    assert compiled.fidelity.faithful is True
    assert any("interpolated" in str(each.reason) for each in compiled.placement) == is_float
