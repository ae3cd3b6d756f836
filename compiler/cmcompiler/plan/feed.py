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
        outcome = _feed(graph, index, port)
        if isinstance(outcome, str):
            reasons.append(f"{port.name} {outcome}")
        else:
            graph = outcome
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
    spent: list[Node] = []
    changed = first
    if len(readers) == 1 and isinstance(first.op, Quantize | Activation):
        # Movements after it may as well come before.
        port, spent = _without_movements(graph, port, first.outputs[0])
        if spent:
            image = Tensor(f"{port.name}.image", image.dtype, spent[-1].outputs[0].shape)
            changed = replace(first, inputs=(image,), outputs=spent[-1].outputs)
    else:
        port, spent = _without_movements(graph, port, image)
        if spent:
            image = spent[-1].outputs[0]
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
        if each not in spent:
            nodes.append(changed if each is first else each)
    inputs = list(graph.inputs)
    inputs[index] = replace(port, tensor=source, fed=True)
    return replace(graph, nodes=tuple(nodes), inputs=tuple(inputs))


def _without_movements(graph: Graph, port: Port, tensor: Tensor) -> tuple[Port, list[Node]]:
    """The port in the layout that movements of a tensor of its shape give it, and these."""
    spent: list[Node] = []
    axes: list[int | None] = list(range(len(tensor.shape)))  # the port's axis per dimension
    while len(readers := [node for node in graph.nodes if tensor in node.reads]) == 1:
        (node,) = readers
        if node.guards or any(output.tensor in node.outputs for output in graph.outputs):
            break
        if isinstance(node.op, Transpose):
            axes = [axes[axis] for axis in node.op.order]
        elif isinstance(node.op, View):
            sizes = [port.tensor.shape[axis] for axis in axes if axis is not None]
            wide = [axis for axis in axes if axis is not None and port.tensor.shape[axis] > 1]
            if [n for n in sizes if n > 1] != [n for n in node.op.shape if n > 1]:
                # Other dimensions; the port can have the same memory, but no other order.
                return (port, [*spent, node]) if wide == sorted(wide) else (port, spent)
            axes = [wide.pop(0) if n > 1 else None for n in node.op.shape]
        else:
            break
        spent.append(node)
        (tensor,) = node.outputs
    order = tuple(axis for axis in axes if axis is not None)
    return _transposed(port, (*sorted({*range(len(port.tensor.shape))} - {*order}), *order)), spent


def _transposed(port: Port, order: tuple[int, ...]) -> Port:
    """The port with its physical dimensions in another order."""
    if order == tuple(range(len(order))):
        return port
    tensor = port.tensor
    shape = tuple(tensor.shape[axis] for axis in order)
    dims = tuple(port.dim_order[axis] for axis in order)
    return replace(port, tensor=Tensor(port.name, tensor.dtype, shape), dim_order=dims)


def _form(port: Port) -> str:
    return f"{port.tensor.dtype.name} {'×'.join(map(str, port.shape)) or 'scalar'}"
