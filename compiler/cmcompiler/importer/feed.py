"""Inputs whose rows come from outside, instead of whole tensors in memory."""

from __future__ import annotations

from dataclasses import replace

from cmcompiler.errors import Unsupported
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.rows import image_rows
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.feed import Feed
from cmcompiler.ops.quantize import Quantize


def feed_rows(graph: Graph) -> Graph:
    """Gives each input that is one image to a Feed, which takes its rows from outside.

    Such an input has the layout that the first op reads, so a Transpose before it is left out.
    Other inputs stay whole.

    Raises:
        Unsupported: no input is an image; says what the first one is.
    """
    reasons = []
    for index, port in enumerate(graph.inputs):
        found = _feed(graph, index, port)
        if isinstance(found, str):
            reasons.append(f"{port.name} {found}")
        else:
            graph = found
    if len(reasons) == len(graph.inputs):
        reason = reasons[0] if reasons else "there is none"
        raise Unsupported(f"--feed rows is not possible: {reason}")
    return graph


def _feed(graph: Graph, index: int, port: Port) -> Graph | str:
    """The graph with an input that is fed; or why it cannot be."""
    if any(output.tensor is port.tensor for output in graph.outputs):
        return "is an output too"
    readers = [node for node in graph.nodes if port.tensor in node.reads]
    if not readers:
        return "is not used"
    first, image = readers[0], port.tensor
    spent: Node | None = None
    changed = first
    if len(readers) == 1 and isinstance(first.op, Quantize | Activation):
        # A movement after it may as well come before.
        after = [node for node in graph.nodes if first.outputs[0] in node.reads]
        if len(after) == 1 and isinstance(after[0].op, View | Transpose):
            (spent,) = after
            image = Tensor(f"{port.name}.image", image.dtype, spent.outputs[0].shape)
            changed = replace(first, inputs=(image,), outputs=spent.outputs)
    elif len(readers) == 1 and isinstance(first.op, View | Transpose):
        image, spent = first.outputs[0], first
    if spent is not None and isinstance(spent.op, Transpose):
        port = _transposed(port, spent.op.order)
    if (image_rows(image) or 1) == 1:
        return f"is {_form(port)}, not an image of several rows"
    if any(node.guards for node in readers):
        return "is read in a branch"
    source = port.tensor
    if image is source:
        source = Tensor(port.name, image.dtype, image.shape)
    node = Node(Feed(index, image.shape), (source,), (image,), port.name)
    nodes: list[Node] = []
    for each in graph.nodes:
        if each is first:
            nodes.append(node)
        if each is not spent:
            nodes.append(changed if each is first else each)
    inputs = list(graph.inputs)
    inputs[index] = replace(port, tensor=source, fed=True)
    return replace(graph, nodes=tuple(nodes), inputs=tuple(inputs))


def _transposed(port: Port, order: tuple[int, ...]) -> Port:
    """The port in the layout that a Transpose of it has."""
    tensor = port.tensor
    shape = tuple(tensor.shape[axis] for axis in order)
    dims = tuple(port.dim_order[axis] for axis in order)
    return replace(port, tensor=Tensor(port.name, tensor.dtype, shape), dim_order=dims)


def _form(port: Port) -> str:
    return f"{port.tensor.dtype.name} {'×'.join(map(str, port.shape)) or 'scalar'}"
