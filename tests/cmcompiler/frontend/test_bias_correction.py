from __future__ import annotations

import pytest
import torch
from torch import nn

from cmcompiler.frontend.accumulators import step_of_result
from cmcompiler.frontend.bias_correction import MOST_STEPS, biases, correct
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.preparation import prepare
from cmcompiler.frontend.rewrites.editing import constant_value
from cmcompiler.frontend.simulation import Simulation


@pytest.mark.parametrize(
    ("after", "shape"),
    [
        (nn.Identity(), (1, 8)),
        (nn.Identity(), (8,)),
        (nn.ReLU(), (1, 8)),
        (nn.Hardsigmoid(), (1, 8)),
    ],
)
def test_a_correction_is_a_few_steps_of_the_layer(after: nn.Module, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 6), after).eval()
    samples = [(torch.rand(shape) + 1,) for _ in range(8)]
    prepared = prepare(module, samples[0], samples, refinement=False).graph
    (bias,) = biases(prepared)
    weights = bias.layer.args[1]
    assert isinstance(weights, torch.fx.Node)
    observer_of(weights).max_val *= 1000  # all weights become 0
    correct(Simulation(prepared), [bias], samples)
    held = bias.observer.args[0]
    assert isinstance(held, torch.fx.Node)
    moved = (constant_value(held) - constant_value(bias.value)).abs()
    most = MOST_STEPS * step_of_result(bias.layer)
    assert moved.max().item() == pytest.approx(most, rel=1e-5)
