"""Numbers that Python takes from tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.rewrites.numbers import take_numbers


class Scaled(nn.Module):
    def __init__(self, function: Callable[[Scaled, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("factor", torch.tensor(3.0))
        self.register_buffer("count", torch.tensor(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self, x)


CONSTANTS: list[Callable[[Scaled, Tensor], Tensor]] = [
    lambda net, x: x * net.factor.item(),
    lambda net, x: x * (net.factor.item() * 2 + 1) + net.count.item(),
]


@pytest.mark.parametrize("function", CONSTANTS)
def test_those_of_constants_are_numbers_of_the_program(function) -> None:
    graph = rewritten(Scaled(function), torch.randn(1, 4), by=take_numbers)
    assert all(name.startswith("aten.") for name in targets(graph))
    assert not {"aten.item.default", "aten._local_scalar_dense.default"} & set(targets(graph))


def _path(_: Scaled, x: Tensor) -> Tensor:
    """The last best state, and where each was reached from."""
    reached = [(row[:, None] * x[0]).max(0)[1] for row in x[1:]]
    path = [x[0].argmax()]
    for places in reversed(reached):
        path.append(places[path[-1]])
    return torch.stack(path)


def test_those_of_places_gather() -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    graph = rewritten(Scaled(_path), x, tolerance=0)
    assert "aten.item.default" not in targets(graph)


def test_those_of_inputs_are_refused_with_what_to_write() -> None:
    message = r"test_numbers.py:\d+: Python code depends on the values of a tensor"
    with pytest.raises(Unsupported, match=message) as caught:
        rewritten(Scaled(lambda net, x: x / x.max().item()), torch.ones(1, 4), by=take_numbers)
    assert ".item()" in str(caught.value.hint)
