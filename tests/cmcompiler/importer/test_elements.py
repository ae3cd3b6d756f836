"""Operators on images with channels first: the same bits before their channels are moved."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pytest
from harness.convolutions import Numbers

from cmcompiler.importer.elements import compute_channels_last
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.op import Op
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.mul import Mul
from cmcompiler.ops.quantized_sum import QuantizedSum
from cmcompiler.ops.support.elementwise import dense_loops
from cmcompiler.ops.support.parameters import INT8, Rescale

FIRST, LAST, SHAPE = (0, 3, 1, 2), (0, 2, 3, 1), (1, 4, 5, 3)
"""From channels last to first, back, and an image with channels last."""

NATURAL = (0, 1, 2, 3)


class Network:
    """Nodes that are added one by one."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Tensor] = []

    def input(self, *shape: int) -> Tensor:
        self.inputs.append(Tensor(f"x{len(self.inputs)}", np.dtype(np.int8), shape))
        return self.inputs[-1]

    def add(self, op: Op, *inputs: Tensor) -> Tensor:
        arrays = [np.zeros(x.shape, np.int8) if x.data is None else x.data for x in inputs]
        (array,) = op.reference(*arrays)
        output = Tensor(f"t{len(self.nodes)}", np.dtype(np.int8), array.shape)
        self.nodes.append(Node(op, inputs, (output,), f"{op.label} #{len(self.nodes)}"))
        return output

    def multiply(self, lhs: Tensor, rhs: Tensor) -> Tensor:
        loops = dense_loops([lhs.shape, rhs.shape], lhs.shape)
        scales = 3, -5, Rescale(4, 1 << 30, -6)
        return self.add(Mul(loops, lhs.shape, *scales, INT8), lhs, rhs)

    def total(self, image: Tensor, sizes: Sequence[int], shape: tuple[int, ...]) -> Tensor:
        return self.add(QuantizedSum(*sizes, 3, Rescale(-5, 1 << 30, -2), shape), image)

    def graph(self, *outputs: Tensor) -> Graph:
        ports = [
            tuple(Port(x.name, x, x.shape, tuple(range(len(x.shape)))) for x in tensors)
            for tensors in (self.inputs, outputs)
        ]
        return Graph("elements", tuple(self.nodes), *ports)


def moved(graph: Graph, states: Collection[Tensor] = ()) -> Graph:
    """Without the nodes that nothing needs then."""
    needed, live = {port.tensor for port in graph.outputs}, []
    for node in reversed(compute_channels_last(graph.nodes, states)):
        if not needed.isdisjoint(node.outputs):
            live.append(node)
            needed.update(node.inputs)
    return replace(graph, nodes=tuple(reversed(live)))


def images() -> Graph:
    """An image times another, a constant, a number for each column; then a function."""
    network = Network()
    x, y = (network.add(Transpose(FIRST), network.input(*SHAPE)) for _ in range(2))
    constant = Tensor("c", np.dtype(np.int8), (3, 1, 1), Numbers(3).int8(3, 1, 1))
    product = network.multiply(network.multiply(x, y), constant)
    product = network.multiply(product, network.input(1, 1, 1, 5))
    table = bytes(range(255, -1, -1))
    return network.graph(network.add(Activation(table), product))


def with_sum(sizes: Sequence[int], shape: tuple[int, ...]) -> Graph:
    network = Network()
    image = network.add(Transpose(FIRST), network.input(*SHAPE))
    return network.graph(network.total(image, sizes, shape))


@pytest.mark.parametrize(
    "graph",
    [
        images(),
        with_sum((3, 4, 5), (1, 1, 3, 5)),
        with_sum((12, 5, 1), (1, 1, 3, 4)),
        with_sum((3, 20, 1), (1, 3)),
    ],
)
def test_same_bits_where_channels_are_last(graph: Graph) -> None:
    made = moved(graph)
    samples = tuple(Numbers(7).int8(*port.shape) for port in graph.inputs)
    expected, result = (evaluate(each, samples).outputs[0] for each in (graph, made))
    np.testing.assert_array_equal(result, expected)
    is_moved = [node.op.label in ("transpose", "view") for node in made.nodes]
    work = is_moved.index(False)
    assert all(node.op.label == "view" for node in made.nodes[:work])
    assert graph.nodes[0].op.label == "transpose"
    assert is_moved[-1]


def other_operand() -> Graph:
    """The other image has its channels first by itself."""
    network = Network()
    image = network.add(Transpose(FIRST), network.input(*SHAPE))
    return network.graph(network.multiply(image, network.input(*image.shape)))


def of_channels() -> Graph:
    return with_sum((1, 3, 20), (1, 1, 4, 5))


@pytest.mark.parametrize("graph", [other_operand(), of_channels()])
def test_others_stay(graph: Graph) -> None:
    assert moved(graph).nodes == graph.nodes


def test_states_are_read_where_they_are() -> None:
    graph = with_sum((3, 4, 5), (1, 1, 3, 5))
    assert moved(graph, [graph.inputs[0].tensor]).nodes == graph.nodes
