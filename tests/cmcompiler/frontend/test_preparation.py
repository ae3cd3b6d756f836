from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.preparation import prepare
from cmcompiler.usercode import shown

HERE = re.escape(shown(__file__))


class Chosen(nn.Module):
    def forward(self, x):
        return x[x > 0]


LINE = Chosen.forward.__code__.co_firstlineno + 1


def test_sizes_that_depend_on_values_are_refused_with_the_line():
    x = (torch.randn(2, 3),)
    expected = f"{HERE}:{LINE}: the size of the result of index depends on values"
    with pytest.raises(Unsupported, match=expected) as refused:
        prepare(Chosen(), x, [x])
    assert "torch.where" in str(refused.value.hint)


class Repeated(nn.Module):
    def forward(self, x):
        return x.repeat_interleave(torch.tensor([1, 2]), dim=0)


def test_repeated_rows_are_told_to_be_indexed():
    x = (torch.randn(2, 3),)
    with pytest.raises(Unsupported, match="result of repeat_interleave depends") as refused:
        prepare(Repeated(), x, [x])
    assert "index with constant places" in str(refused.value.hint)


class Unpooled(nn.Module):
    def forward(self, x):
        pooled, places = nn.functional.max_pool2d(x, 2, padding=1, return_indices=True)
        return nn.functional.max_unpool2d(pooled, places, 2, padding=1)


def test_indices_of_pools_are_refused_with_the_line():
    x = (torch.randn(1, 2, 4, 4),)
    line = Unpooled.forward.__code__.co_firstlineno + 1
    expected = (
        f"{HERE}:{line}: the indices of max_pool2d_with_indices are used, whose windows differ"
    )
    with pytest.raises(Unsupported, match=expected):
        prepare(Unpooled(), x, [x])


class Transposed(nn.Module):
    def forward(self, x, kernel):
        return nn.functional.conv_transpose2d(x, kernel)


def test_kernels_of_transposed_convolutions_that_depend_on_inputs_are_refused_with_the_line():
    inputs = torch.randn(1, 2, 4, 4), torch.randn(2, 3, 2, 2)
    line = Transposed.forward.__code__.co_firstlineno + 1
    expected = f"{HERE}:{line}: the weights of conv_transpose2d depend on inputs"
    with pytest.raises(Unsupported, match=expected):
        prepare(Transposed(), inputs, [inputs])


class Summed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, places):
        return self.layer(torch.zeros(3, 4).index_put((places,), self.layer(x), accumulate=True))


def test_elements_added_up_at_places_that_are_computed_stay_float():
    inputs = torch.randn(5, 4), torch.tensor([0, 2, 2, 1, 0])
    (left,) = prepare(Summed(), inputs, [inputs]).float_operators
    assert (left.operator, left.reason) == ("aten.index_put.default", "it adds elements up")


@pytest.mark.parametrize(("most", "operators"), [(2, 0), (100_000, 1)])
def test_integers_that_int16_holds_become_int8_at_once(most: int, operators: int) -> None:
    class Masked(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return x * mask.to(x.dtype)

    torch.manual_seed(0)
    samples = [(torch.randn(1, 16), torch.arange(16)[None] % 2 * (most - 1)) for _ in range(4)]
    assert len(prepare(Masked(), samples[0], samples).float_operators) == operators


class Resonator(nn.Module):
    """A filter of two states, 0 at first."""

    states: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("states", torch.zeros(2, 4))

    def forward(self, x):
        y = 0.0675 * x[0] + self.states[0]
        following = 0.1349 * x[0] + 1.143 * y + self.states[1], 0.0675 * x[0] - 0.4128 * y
        self.states.copy_(torch.stack(following))
        return y[None]


def test_an_example_alone_shows_the_ranges_of_states():
    example = (torch.tensor([[1.0, -1.0, 0.5, -0.5]]),)
    prepared = prepare(Resonator(), example, [example]).graph
    (*_, output) = prepared.graph.nodes
    scale, _ = observer_of(output.all_input_nodes[0]).calculate_qparams()
    assert 255 * scale > 4 * 0.0675  # the first run has 2
