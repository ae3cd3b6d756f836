"""Outputs of rewritten graphs beside those of the module."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cmcompiler.frontend.fidelity.rewriting import rewriting_error
from cmcompiler.frontend.fidelity.ties import orders_of
from cmcompiler.frontend.rewrites.spelling import spell_combinations

SAMPLES = [(torch.linspace(-1, 1, 12).roll(shift).reshape(1, 12),) for shift in range(3)]


def graph_of(module: nn.Module) -> torch.fx.GraphModule:
    return torch.export.export(module, SAMPLES[0]).module()


def outputs_of(module: nn.Module) -> list[np.ndarray]:
    return [torch.stack([module(*sample) for sample in SAMPLES]).numpy()]


class Bias(nn.Module):
    def __init__(self, amount: float, jumps: bool = False) -> None:
        super().__init__()
        self.amount, self.jumps = amount, jumps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 3 + self.amount
        return y.round() if self.jumps else y


@pytest.mark.parametrize("amount", [1e-6, 1e-2])
def test_a_change_beyond_roundings_is_found(amount: float) -> None:
    error = rewriting_error(graph_of(Bias(amount)), (), SAMPLES, outputs_of(Bias(0.0)))
    assert (error is None) == (amount < 1e-4)
    if error is not None:
        assert np.isclose(error.error, amount / 3, rtol=1e-3)
        assert np.isclose(error.made - error.exact, amount, rtol=1e-3)


def test_one_sample_whose_rounding_goes_the_other_way_is_no_change() -> None:
    exact = outputs_of(Bias(0.0, jumps=True))
    exact[0][1, 0, 0] += 1
    assert rewriting_error(graph_of(Bias(0.0, jumps=True)), (), SAMPLES, exact) is None
    assert rewriting_error(graph_of(Bias(2.0, jumps=True)), (), SAMPLES, exact) is not None


def test_another_shape_is_a_change() -> None:
    exact = [outputs_of(Bias(0.0))[0][:, :, :6]]
    error = rewriting_error(graph_of(Bias(0.0)), (), SAMPLES, exact)
    assert error is not None and error.shapes == ((1, 12), (1, 6))


def test_orders_of_equal_elements_are_no_change() -> None:
    class Ranked(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.relu().kthvalue(2, 1)[1] + x.relu().median(1)[1]

    graph = graph_of(Ranked())
    spell_combinations(graph)
    with orders_of(graph.graph):
        exact = outputs_of(Ranked())
    assert rewriting_error(graph, (), SAMPLES, exact) is None
    assert any((exact[0] != outputs_of(Ranked())[0]).flatten())


def test_numbers_among_outputs_are_not_compared() -> None:
    class Counted(nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, object]:
            return {"size": x.shape[1], "none": None, "double": x * 2}

    exact = [torch.stack([x * 2 for (x,) in SAMPLES]).numpy()]
    assert rewriting_error(graph_of(Counted()), (), SAMPLES, exact) is None
