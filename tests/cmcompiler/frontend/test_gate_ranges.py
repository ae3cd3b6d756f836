"""Recurrent layers that leave the ranges of integers are right all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cmcompiler.frontend.fidelity.check import check
from cmcompiler.frontend.gate_ranges import REASON
from cmcompiler.frontend.lowering import lower_with_nodes
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.ops.support.recurrence import Recurrence
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export

Samples = list[tuple[Tensor, ...]]

UNITS, STEPS = 6, 4

KINDS = ("tanh", "relu", "gru", "lstm")


class Rows(nn.Module):
    """A layer that states are given to, if any; its rows are the result."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, *states: Tensor) -> Any:
        given = states if len(states) > 1 else states[0] if states else None
        return self.layer(x, given)[0]


class Streaming(nn.Module):
    """A step a run, with its state in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.GRUCell(4, UNITS)
        scale_weights(self.cell, 12)
        self.hidden = nn.Buffer(torch.zeros(1, UNITS))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.cell(x, self.hidden)
        self.hidden.copy_(hidden)
        return hidden * 1.0


def scale_weights(layer: nn.Module, factor: float) -> None:
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(factor)


def layer_of(kind: str, **settings: Any) -> Any:
    torch.manual_seed(0)
    if kind in ("tanh", "relu"):
        return nn.RNN(4, UNITS, nonlinearity=kind, **settings)
    return {"gru": nn.GRU, "lstm": nn.LSTM}[kind](4, UNITS, **settings)


def samples_of(*scales: float) -> Samples:
    """Inputs, and a state of about each scale."""
    torch.manual_seed(1)
    return [
        (torch.randn(STEPS, 1, 4), *(scale * torch.randn(1, 1, UNITS).tanh() for scale in scales))
        for _ in range(12)
    ]


def measured(module: nn.Module, fresh: nn.Module, samples: Samples) -> tuple[float, int, set[str]]:
    """SNR over all samples in sequence, in dB; layers in integers; why operators are in float."""
    quantized = quantize(module.eval(), samples[0], samples)
    made = lower_with_nodes(quantized, Target.parse("cortex-m55"))
    arrays = [[x.numpy() for x in sample] for sample in samples]
    compared = check(made.program, made.nodes, quantized.real, arrays).layers
    assert compared
    assert all(layer.error_steps <= layer.bound_steps for layer in compared)
    graph = build_graph(read_program(made.program))
    with torch.no_grad():
        exact = np.stack([fresh(*sample).numpy().copy() for sample in samples])
    rows = np.stack([run.outputs[0] for run in evaluate_all(graph, arrays)])
    ratio = np.square(exact).sum() / np.square(rows - exact).sum()
    layers = sum(isinstance(node.op, Recurrence) for node in graph.nodes)
    return 10 * float(np.log10(ratio)), layers, {x.reason for x in quantized.float_operators}


@pytest.mark.parametrize("kind", KINDS)
def test_weights_twelve_times_as_large(kind: str) -> None:
    layer = layer_of(kind)
    scale_weights(layer, 12)
    ratio, layers, reasons = measured(Rows(layer), Rows(layer), samples_of())
    assert ratio > 30
    assert (layers, reasons) == (0, {REASON})


@pytest.mark.parametrize(("kind", "scale"), [*((kind, 100) for kind in KINDS), ("tanh", 20)])
def test_states_far_beyond_the_outputs(kind: str, scale: float) -> None:
    module = Rows(layer_of(kind))
    samples = samples_of(*[scale] * (2 if kind == "lstm" else 1))
    ratio, layers, reasons = measured(module, module, samples)
    assert ratio > 30
    assert (layers, reasons) == (0, {REASON})


def test_both_directions_and_layers() -> None:
    layer = layer_of("gru", num_layers=2, bidirectional=True, batch_first=True)
    scale_weights(layer, 6)
    torch.manual_seed(1)
    samples = [(torch.randn(1, 2, 4), 20 * torch.randn(4, 1, UNITS)) for _ in range(4)]
    ratio, *_ = measured(Rows(layer), Rows(layer), samples)
    assert ratio > 30


def test_a_state_in_a_buffer() -> None:
    torch.manual_seed(1)
    ratio, layers, reasons = measured(
        Streaming(), Streaming(), [(torch.randn(1, 4),) for _ in range(20)]
    )
    assert ratio > 30
    assert (layers, reasons) == (0, {REASON})


@pytest.mark.parametrize("kind", KINDS)
def test_layers_within_their_ranges_stay_in_integers(kind: str) -> None:
    module = Rows(layer_of(kind))
    _, layers, reasons = measured(module, module, samples_of(*[1.0] * (2 if kind == "lstm" else 1)))
    assert (layers, reasons) == (1, set())
