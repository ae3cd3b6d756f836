"""Outputs whose rows go outside, instead of whole tensors in memory."""

from __future__ import annotations

from dataclasses import replace

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.rows import image_rows
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.drain import Drain


def drain_rows(graph: Graph) -> Graph:
    """Gives each output that is one image of several rows to a Drain, which hands them out.

    Such an output has the layout that the last op writes, so a Transpose after it is left out.
    Other outputs stay whole.
    """
    for index, port in enumerate(graph.outputs):
        graph = _drained(graph, index, port)
    return graph


def _drained(graph: Graph, index: int, port: Port) -> Graph:
    writers = [node for node in graph.nodes if port.tensor in node.outputs]
    is_read = any(port.tensor in node.reads for node in graph.nodes)
    alone = sum(other.tensor is port.tensor for other in graph.outputs) == 1
    if len(writers) != 1 or is_read or not alone or writers[0].guards:
        return graph
    last, image = writers[0], port.tensor
    spent: Node | None = None
    changed = last
    if isinstance(last.op, Dequantize | Activation):
        # A movement before it may as well come after.
        before = [node for node in graph.nodes if last.inputs[0] in node.outputs]
        if len(before) == 1 and _moves_for(graph, before[0], last):
            (spent,) = before
            image = Tensor(f"{port.name}.image", image.dtype, spent.inputs[0].shape)
            changed = replace(last, inputs=spent.inputs, outputs=(image,))
    elif _moves_for(graph, last, None):
        image, spent = last.inputs[0], last
    if spent is not None:
        assert isinstance(spent.op, Transpose)
        port = _transposed(port, spent.op.order, image)
    if (image_rows(image) or 1) == 1 or image.data is not None:
        return graph
    target = port.tensor
    if image is target:
        target = Tensor(port.name, image.dtype, image.shape)
    node = Node(Drain(index), (image,), (target,), port.name)
    nodes: list[Node] = []
    for each in graph.nodes:
        if each is not spent:
            nodes.append(changed if each is last else each)
        if each is last:
            nodes.append(node)
    outputs = list(graph.outputs)
    outputs[index] = replace(port, tensor=target, fed=True)
    return replace(graph, nodes=tuple(nodes), outputs=tuple(outputs))


def _moves_for(graph: Graph, node: Node, reader: Node | None) -> bool:
    """Whether it is a Transpose whose result only `reader` reads."""
    if not isinstance(node.op, Transpose):
        return False
    (result,) = node.outputs
    readers = [other for other in graph.nodes if result in other.reads]
    outside = any(port.tensor is result for port in graph.outputs)
    return readers == [reader] and not outside if reader is not None else not readers


def _transposed(port: Port, order: tuple[int, ...], image: Tensor) -> Port:
    """The port in the layout that an image had before a Transpose made it of that."""
    dims = [0] * len(order)
    for axis, source in enumerate(order):
        dims[source] = port.dim_order[axis]
    return replace(port, tensor=Tensor(port.name, image.dtype, image.shape), dim_order=tuple(dims))
