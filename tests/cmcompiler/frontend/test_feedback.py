"""States that change by less than a step of 8 bits follow the exact ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cmcompiler.frontend.feedback import REASON
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export


class Following(nn.Module):
    """A state that follows its inputs."""

    def __init__(self, update: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.state, self.layer = nn.Buffer(torch.zeros(1, 4)), nn.Linear(4, 4)
        self.update = update

    def forward(self, x: Tensor) -> Any:
        self.state.copy_(self.update(self.state, x))
        return self.layer(x - self.state), self.state * 1.0


UPDATES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": lambda state, x: 0.998 * state + 0.002 * x,
    "power": lambda state, x: state + 0.004 * (x * x - state),
    "fast": lambda state, x: 0.6 * state + 0.4 * x,
    "moved": lambda state, x: torch.cat([state[:, 1:], x[:, :1]], 1),
}


class Resonator(nn.Module):
    """A filter of second order: neither of its states follows without the other."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.earlier = nn.Buffer(torch.zeros(1, 4)), nn.Buffer(torch.zeros(1, 4))

    def forward(self, x: Tensor) -> Any:
        y = 0.02 * x + 1.9 * self.last - 0.92 * self.earlier
        self.earlier.copy_(self.last)
        self.last.copy_(y)
        return x * 0.5, y


class Welford(nn.Module):
    """A mean of all inputs, which reads how many there were.

    Welford, "Note on a method for calculating corrected sums of squares and products", 1962.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count, self.mean = nn.Buffer(torch.zeros(1)), nn.Buffer(torch.zeros(1, 4))

    def forward(self, x: Tensor) -> Any:
        count = self.count + 1
        mean = self.mean + (x - self.mean) / count
        self.count.copy_(count)
        self.mean.copy_(mean)
        return x * 0.5, mean


@pytest.mark.parametrize(
    ("name", "in_float"), [("mean", 1), ("power", 1), ("fast", 0), ("moved", 0)]
)
def test_states_follow(name: str, in_float: int) -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 4) + 3,) for _ in range(200)]
    assert _follows(Following(UPDATES[name]).eval(), samples) == ({REASON} if in_float else set())


@pytest.mark.parametrize("kind", [Resonator, Welford])
def test_states_that_depend_on_each_other_follow(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 4) + 3,) for _ in range(100)]
    assert _follows(kind().eval(), samples) == {REASON}


class Recurrent(nn.Module):
    """The states of a recurrent layer change on their way to a buffer."""

    def __init__(self, is_packed: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.layer = nn.LSTMCell(4, 8), nn.Linear(8, 3)
        with torch.no_grad():
            self.cell.bias_ih[:16] += 6.0
            self.cell.weight_ih[16:24] *= 6
        self.states = nn.Buffer(torch.zeros(2, 1, 8))
        self.is_packed = is_packed

    def forward(self, x: Tensor) -> Any:
        hidden, cell = self.states.chunk(2) if self.is_packed else self.states
        hidden, cell = self.cell(x, (hidden.view(1, 8), cell.view(1, 8)))
        if self.is_packed:
            self.states.copy_(torch.cat([hidden[None], cell[None]]))
        else:
            self.states.copy_(torch.stack([hidden * 0.9, cell * 0.99]))
        return self.layer(hidden), hidden * 1.0


@pytest.mark.parametrize("is_packed", [True, False])
def test_states_of_recurrent_layers_follow(is_packed: bool) -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 4) / 2 + 1,) for _ in range(100)]
    assert _follows(Recurrent(is_packed).eval(), samples) == {REASON}


def _follows(module: nn.Module, samples: list[tuple[Tensor]]) -> set[str]:
    """Why operators are in float, if the module's second output is within 35 dB."""
    quantized = quantize(module, samples[0], samples)
    graph = build_graph(read_program(lower(quantized, Target.parse("cortex-m55"))))
    with torch.no_grad():
        exact = np.stack([module(*sample)[1].numpy() for sample in samples])
    runs = evaluate_all(graph, [[x.numpy() for x in sample] for sample in samples])
    noise = np.square(np.stack([run.outputs[1] for run in runs]) - exact).sum()
    assert 10 * np.log10(np.square(exact).sum() / noise) > 35
    return {each.reason for each in quantized.float_operators}
