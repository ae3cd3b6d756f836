"""Layers of a single row that take the product loops of others."""

from __future__ import annotations

import numpy as np
import pytest

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.plan.borrowing import SHARE
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan

DEPTH = 48


def _linear(rows: int, columns: int, zero_point: int = -3, depth: int = DEPTH) -> Linear:
    requantize = Requantize.checked(
        [1 << 30] * columns,
        [-8] * columns,
        columns,
        zero_point=zero_point,
        minimum=-128,
        maximum=127,
    )
    weights, bias = np.ones((columns, depth), np.int8), np.zeros(columns, np.int32)
    return Linear(weights, bias, requantize, rows)


def _graph(*ops: Linear) -> Graph:
    """Each op on an input of its own."""
    nodes = []
    for index, op in enumerate(ops):
        source = Tensor(f"in_{index}", np.dtype(np.int8), (op.rows, op.weights.shape[1]))
        result = Tensor(f"out_{index}", np.dtype(np.int8), (op.rows, len(op.bias)))
        nodes.append(Node(op, (source,), (result,), f"#{index}"))
    inputs, outputs = (
        tuple(Port(t.name, t, t.shape, (0, 1)) for t in tensors)
        for tensors in zip(*((*node.inputs, *node.outputs) for node in nodes), strict=True)
    )
    return Graph("layers", nodes=tuple(nodes), inputs=inputs, outputs=outputs)


def _kernels(graph: Graph, isa: Isa) -> list[str]:
    return [step.kernel for step in make_plan(graph, isa, PlanOptions(streams=False)).steps]


LARGE = _linear(SHARE, 4)


@pytest.mark.parametrize("isa", Isa)
def test_a_small_layer_takes_the_loops_that_there_are(isa: Isa) -> None:
    large, small = _kernels(_graph(LARGE, _linear(1, 3)), isa)
    assert large == small == ("linear_deep" if isa is Isa.MVE else "linear")


@pytest.mark.parametrize("isa", Isa)
def test_a_larger_one_keeps_its_own(isa: Isa) -> None:
    kernels = _kernels(_graph(LARGE, _linear(1, 3), _linear(1, 8)), isa)
    assert kernels[0].startswith("linear")
    assert kernels[1:] == ["linear_vector"] * 2, "loops that are linked for both"


def test_no_loops_are_linked_to_be_borrowed() -> None:
    half_up = _linear(SHARE, 4, zero_point=-128)
    kernels = _kernels(_graph(half_up, _linear(1, 3)), Isa.MVE)
    assert kernels == ["linear_deep_half_up", "linear_vector"]
    kernels = _kernels(_graph(LARGE, _linear(1, 3, depth=8)), Isa.MVE)
    assert kernels == ["linear_deep", "linear_vector"]
