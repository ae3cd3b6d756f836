"""Every layer of a program against the float graph, on the program's own values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from cmcompiler.frontend.fidelity import check as checking
from cmcompiler.frontend.fidelity.check import check
from cmcompiler.frontend.lowering import Lowered, lower_with_nodes
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.quantized import Quantized
from cmcompiler.ir.graph import Graph
from cmcompiler.ops.linear import Linear
from cmcompiler.target import Target


class Net(nn.Module):
    """A layer fused with its activation, one that only moves, a sum, and a layer of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.rows = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).relu()
        return self.rows((y + y.flip(-1)).mean((2, 3)))


@pytest.fixture(scope="module")
def exported() -> tuple[Quantized, Lowered, list[list[np.ndarray]]]:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 3, 8, 8),) for _ in range(8)]
    quantized = quantize(Net().eval(), samples[0], samples)
    lowered = lower_with_nodes(quantized, Target.parse("cortex-m55"))
    return quantized, lowered, [[x.numpy() for x in sample] for sample in samples]


def run(exported):
    quantized, lowered, samples = exported
    return check(lowered.program, lowered.nodes, quantized.real, samples)


def test_each_layer_is_within_what_its_arithmetic_allows(exported) -> None:
    found = run(exported)
    assert (found.faithful, found.unpaired, found.reason) == (True, (), None)
    operators = {exported[0].call_sites[each.node].operator for each in found.layers}
    assert {"flip", "linear"} < operators
    by_node = {each.node: each for each in found.layers}
    assert by_node["flip"].bound_steps < 0.1 < by_node["linear"].bound_steps < 0.6


def test_a_wrong_parameter_shows_at_its_layer_alone(exported, monkeypatch) -> None:
    build = checking.build_graph

    def broken(program) -> Graph:
        graph = build(program)
        nodes = tuple(
            replace(n, op=replace(n.op, weights=n.op.weights[::-1]))
            if isinstance(n.op, Linear)
            else n
            for n in graph.nodes
        )
        return replace(graph, nodes=nodes)

    monkeypatch.setattr(checking, "build_graph", broken)
    found = run(exported)
    assert found.faithful is False
    wrong = [each for each in found.layers if not each.faithful]
    assert [each.node for each in wrong] == ["linear"]
    assert wrong[0].error_steps > 5


def test_an_instruction_without_a_counterpart_is_counted(exported) -> None:
    quantized, lowered, samples = exported
    nodes = {number: name if name != "flip" else "other" for number, name in lowered.nodes.items()}
    found = check(lowered.program, nodes, quantized.real, samples)
    assert found.faithful
    assert [each.partition(".")[0] for each in found.unpaired] == ["aten::flip"]
