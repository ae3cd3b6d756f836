"""States inside recurrent layers have the range that calibration shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cmcompiler.frontend.fidelity.check import check
from cmcompiler.frontend.lowering import lower_with_nodes
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.ops.gru import Gru
from cmcompiler.ops.lstm import Lstm
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export

UNITS = 6


def counting(layers: int = 1, drift: float = 1.0, forget: float = 8.0) -> nn.LSTM:
    """Cells that grow by up to one in each step, and hardly forget."""
    torch.manual_seed(0)
    lstm = nn.LSTM(4, UNITS, layers)
    with torch.no_grad():
        for name in ("weight_hh_l0", "weight_ih_l0"):
            getattr(lstm, name).mul_(0.2)
        lstm.bias_ih_l0.copy_(torch.tensor([8.0, forget, drift, 0.0]).repeat_interleave(UNITS))
        lstm.bias_hh_l0.zero_()
    return lstm


class Layer(nn.Module):
    """A layer whose cells grow in one run."""

    def __init__(self, drift: float = 1.0, forget: float = 8.0) -> None:
        super().__init__()
        self.lstm = counting(drift=drift, forget=forget)

    def forward(self, x: Tensor) -> Any:
        return self.lstm(x)[0]


class Returned(Layer):
    """A layer that also returns its cells."""

    def forward(self, x: Tensor) -> Any:
        rows, (_, cell) = self.lstm(x)
        return rows, cell


class Cell(nn.Module):
    """A step a run, with states in buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, UNITS)
        state = counting().state_dict()
        self.cell.load_state_dict({name[: -len("_l0")]: x for name, x in state.items()})
        self.hidden = nn.Buffer(torch.zeros(1, UNITS))
        self.held = nn.Buffer(torch.zeros(1, UNITS))

    def forward(self, x: Tensor) -> Any:
        hidden, cell = self.cell(x, (self.hidden, self.held))
        self.hidden.copy_(hidden)
        self.held.copy_(cell)
        return hidden * 1.0, cell * 1.0


class Assigned(Cell):
    """Copies of states are kept, and cells are clamped."""

    def forward(self, x: Tensor) -> Any:
        hidden, cell = self.cell(x, (self.hidden, self.held))
        self.hidden = hidden.detach().clone()
        self.held = cell.clamp(-250.0, 250.0)
        return hidden * 1.0, self.held * 1.0


class Stacked(nn.Module):
    """Two layers that share their buffers; the cells of the first alone grow."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = counting(2)
        self.hidden = nn.Buffer(torch.zeros(2, 1, UNITS))
        self.held = nn.Buffer(torch.zeros(2, 1, UNITS))

    def forward(self, x: Tensor) -> Any:
        rows, (hidden, cell) = self.lstm(x.unsqueeze(0), (self.hidden, self.held))
        self.hidden.copy_(hidden)
        self.held.copy_(cell)
        return rows, cell * 1.0


class Passed(nn.Module):
    """States come and go with the data."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, *states: Tensor) -> Any:
        rows, final = self.layer(x, states if len(states) > 1 else states[0])
        return (rows, final[1]) if len(states) > 1 else (rows, final)


def frames(count: int, *shape: int) -> list[tuple[Tensor, ...]]:
    torch.manual_seed(1)
    return [(torch.randn(shape),) for _ in range(count)]


def with_states(*scales: float) -> list[tuple[Tensor, ...]]:
    torch.manual_seed(1)
    states = [[scale * torch.randn(1, 1, UNITS).tanh() for scale in scales] for _ in range(12)]
    return [(torch.randn(8, 1, 4), *each) for each in states]


def lowered(module: nn.Module, samples: list[tuple[Tensor, ...]]) -> Graph:
    quantized = quantize(module.eval(), samples[0], samples)
    assert quantized.float_operators == ()
    made = lower_with_nodes(quantized, Target.parse("cortex-m55"))
    if any(isinstance(each, nn.LSTM | nn.LSTMCell) for each in module.modules()):
        arrays = [[x.numpy() for x in sample] for sample in samples]
        layers = check(made.program, made.nodes, quantized.real, arrays).layers
        assert layers
        assert all(layer.error_steps <= layer.bound_steps for layer in layers)
    return build_graph(read_program(made.program))


def snr(graph: Graph, module: nn.Module, samples: list[tuple[Tensor, ...]]) -> float:
    """Of the worst output over all samples in sequence, in dB."""
    with torch.no_grad():
        rows = [module(*(x.clone() for x in sample)) for sample in samples]
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    real = [torch.stack(column).numpy() for column in zip(*rows, strict=True)]
    runs = evaluate_all(graph, [[x.numpy() for x in sample] for sample in samples])
    actual = [np.stack(column) for column in zip(*(run.outputs for run in runs), strict=True)]
    return min(
        10 * float(np.log10(np.square(exact).sum() / np.square(array - exact).sum()))
        for array, exact in zip(actual, real, strict=True)
    )


@pytest.mark.parametrize(
    ("make", "samples"),
    [
        (Returned, frames(6, 200, 1, 4)),
        (lambda: Returned(forget=12.0), frames(6, 200, 1, 4)),
        (Cell, frames(220, 1, 4)),
        (Assigned, frames(220, 1, 4)),
        (Stacked, frames(120, 1, 4)),
        (lambda: Passed(counting()), with_states(1.0, 190.0)),
    ],
    ids=["layer", "never forgotten", "cell", "assigned", "stacked", "passed"],
)
def test_cells_far_beyond_sixteen(make: Any, samples: list[tuple[Tensor, ...]]) -> None:
    module = make()
    graph = lowered(module, samples)
    assert all(node.op.cell_bits < 11 for node in graph.nodes if isinstance(node.op, Lstm))
    assert snr(graph, make(), samples) > 35


def test_a_given_state_of_a_gru_beyond_four() -> None:
    torch.manual_seed(0)
    module = Passed(nn.GRU(4, UNITS))
    samples = [(x[:1], state) for x, state in with_states(7.0)]
    graph = lowered(module, samples)
    (bits,) = (node.op.state_bits for node in graph.nodes if isinstance(node.op, Gru))
    assert bits == 12
    assert snr(graph, module, samples) > 30


@pytest.mark.parametrize(("steps", "drift"), [(16, 1.0), (60, 0.1)])
def test_cells_within_sixteen_keep_their_bits(steps: int, drift: float) -> None:
    graph = lowered(Layer(drift), frames(4, steps, 1, 4))
    (bits,) = (node.op.cell_bits for node in graph.nodes if isinstance(node.op, Lstm))
    assert bits == 11
