"""Each turn of a recurrent layer is compared on its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from harness.exported import Exported

from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.fidelity.turns import turn_by_turn
from cmcompiler.frontend.operators.recurrent import ops as cmbuild
from cmcompiler.ir.graph import Graph
from cmcompiler.ops.lstm import Lstm
from cmcompiler.ops.support.recurrence import Turns


def test_a_turn_is_within_its_roundings(recurrent: Exported) -> None:
    fidelity = recurrent.check()
    assert (fidelity.faithful, fidelity.unpaired, fidelity.reason) == (True, (), None)
    layers = [layer for layer in fidelity.layers if layer.node.startswith(("lstm", "gru", "rnn"))]
    assert len(layers) == 4
    assert all(layer.bound_steps < 0.52 for layer in layers)


def test_less_than_a_step_of_the_outputs_shows_in_the_gates(recurrent: Exported) -> None:
    graph = recurrent.graph()
    changed = nudged(graph)
    wrong = [layer for layer in recurrent.layers(graph, changed) if not layer.faithful]
    assert [layer.node for layer in wrong] == ["lstm_default"]
    outputs = zip(recurrent.results(graph) or (), recurrent.results(changed) or (), strict=True)
    assert max(np.abs(x - y).max() for x, y in outputs) < 0.02


def nudged(graph: Graph) -> Graph:
    """One bias of the LSTM is two thousandths more."""
    (place,) = (place for place, node in enumerate(graph.nodes) if isinstance(node.op, Lstm))
    node = graph.nodes[place]
    assert isinstance(node.op, Lstm)
    product = node.op.input_product
    factor = product.multipliers[0] * 2.0 ** (product.shifts[0] - 31)
    bias = product.bias.copy()
    bias[0] += round(0.002 * 4096 / factor)
    op = replace(node.op, input_product=replace(product, bias=bias))
    nodes = [*graph.nodes[:place], replace(node, op=op), *graph.nodes[place + 1 :]]
    return replace(graph, nodes=tuple(nodes))


@pytest.mark.parametrize(
    ("x", "before", "least", "most"),
    [(7.0, 0, 0.0, 0.0), (12.0, 64, 0.0, 0.5), (12.0, 127, 200.0, 240.0)],
    ids=["inside", "at the ends of tanh", "in its middle"],
)
def test_gates_beyond_their_range_are_compared_by_their_functions(
    x: float, before: int, least: float, most: float
) -> None:
    """
    Args:
        before: outputs before the turn, in steps of 1/128.
        least, most: steps of tanh that the end of the range at ±8 costs.
    """
    weights = torch.full((1, 1), 1.0), torch.full((1, 1), -9.0)
    sequence = torch.tensor([[[0.0]], [[x]]])
    operands = (sequence, None, *weights, None, None, "tanh", 0, False, False)
    made = Turns(
        rows=np.array([[[0]], [[before]], [[0]]], np.int8),
        states=np.zeros((3, 1, 0), np.int16),
        gates=np.zeros((2, 1, 1, 1), np.int16),
        narrowed=np.zeros((2, 1, 1), np.int8),
    )
    output = StepRange(1 / 128, 0, -128, 127, False)
    results = turn_by_turn(cmbuild.rnn.default, operands, (0.1, None), output, made)
    assert results is not None
    lost = [
        float((128 * part.exact - torch.from_numpy(part.made)).abs().max())
        for part in results.parts
        if part.name == "saturation"
    ]
    assert least <= max(lost, default=0.0) <= most
