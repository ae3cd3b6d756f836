"""Recurrent cells in float compute what torch's layers do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from cmcompiler.frontend.fidelity.cells import CELLS, FloatCell
from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.operators.recurrent import ops as cmbuild

SOURCE = 0.02
OUTPUT = StepRange(2.0**-7, 0, -128, 127, False)


def stepped(layer: nn.RNNBase) -> tuple[Tensor | None, ...]:
    """Weights that rounding leaves as they are, biases and projection, as operators take them."""
    for name, parameter in layer.named_parameters():
        if "weight" in name:
            steps = torch.randint(-127, 128, parameter.shape)
            steps[:, 0] = 127
            parameter.data.copy_(steps / 256)
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    return tuple(getattr(layer, name, None) for name in names)


def lstm(layer: nn.RNNBase) -> FloatCell:
    projection = getattr(layer, "weight_hr_l0", None)
    arguments = (None, None, None, *stepped(layer), projection, 11, 0, False, False)
    return CELLS[cmbuild.lstm.default](arguments, SOURCE, OUTPUT)


def gru(layer: nn.RNNBase) -> FloatCell:
    return CELLS[cmbuild.gru.default]((None, None, *stepped(layer), 13), SOURCE, OUTPUT)


def rnn(layer: nn.RNNBase) -> FloatCell:
    arguments = (None, None, *stepped(layer), layer.nonlinearity)
    return CELLS[cmbuild.rnn.default](arguments, SOURCE, OUTPUT)


@pytest.mark.parametrize(
    ("make", "layer"),
    [
        (lstm, nn.LSTM(5, 6)),
        (lstm, nn.LSTM(5, 6, bias=False, proj_size=3)),
        (gru, nn.GRU(5, 6)),
        (gru, nn.GRU(5, 6, bias=False)),
        (rnn, nn.RNN(5, 6)),
        (rnn, nn.RNN(5, 6, nonlinearity="relu")),
    ],
    ids=["lstm", "projection", "gru", "gru without bias", "rnn", "rnn of ReLU"],
)
def test_turns_are_those_of_torch(
    make: Callable[[nn.RNNBase], FloatCell], layer: nn.RNNBase
) -> None:
    torch.manual_seed(0)
    layer = layer.double()
    with torch.no_grad():
        cell, x = make(layer), torch.randn(9, 1, 5).double() / 4
        expected = layer(x)[0]
        row, state = torch.zeros_like(expected[0]), torch.zeros(1, 6).double()
        for step, wanted in zip(x, expected, strict=True):
            gates = cell.gates(step, row)
            state, _ = cell.advance(gates, state)
            row, _ = cell.units(gates, state)
            row, _ = cell.project(row)
            assert torch.allclose(row, wanted, rtol=1e-9, atol=1e-12)
