"""Elementwise operators and sums of images with channels first, computed with channels last.

A program that reshapes an image in between gives what follows its channels first. Where all images
that an operator reads were moved to that order, it computes the same in the order before, and its
result is moved instead: moves that nobody needs any more, or that are taken back, go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cmcompiler.errors import Unsupported
from cmcompiler.ir.graph import Node, with_views
from cmcompiler.ir.movement.loops import Loops
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.quantized_sum import QuantizedSum
from cmcompiler.ops.support.elementwise import Pair, dense_loops

_TO_CHANNELS_LAST = (0, 2, 3, 1)
_TO_CHANNELS_FIRST = (0, 3, 1, 2)

Twins = dict[Tensor, Tensor]
"""Images with channels first, and the same with channels last."""


def compute_channels_last(nodes: Sequence[Node], states: Collection[Tensor]) -> list[Node]:
    """The nodes with operators on images before their channels are moved to be first.

    Moves that are no longer needed stay among them.

    Args:
        states: what has to be read where it is, as its memory is written later.
    """
    fleeting = with_views(states, nodes)
    twins: Twins = {}
    return [each for node in nodes for each in _moved(node, twins, fleeting)]


def _moved(node: Node, twins: Twins, fleeting: Collection[Tensor]) -> Iterator[Node]:
    """A node, or what computes its outputs from images with channels last."""
    if isinstance(node.op, Transpose) and node.op.order == _TO_CHANNELS_FIRST and not node.guards:
        if node.inputs[0] not in fleeting:
            twins[node.outputs[0]] = node.inputs[0]
        yield node
    elif node.guards or twins.keys().isdisjoint(node.inputs):
        yield node
    elif isinstance(node.op, Pair) and len(node.op.shape) == 4:
        yield from _pair(node, node.op, twins)
    elif isinstance(node.op, Activation):
        yield from _result(node, replace(node, inputs=(twins[node.inputs[0]],)), twins)
    elif isinstance(node.op, QuantizedSum):
        yield from _sum(node, node.op, twins[node.inputs[0]])
    else:
        yield node


def _pair(node: Node, op: Pair, twins: Twins) -> Iterator[Node]:
    operands = [_last(node, tensor, twins) for tensor in node.inputs]
    shape = tuple(op.shape[dim] for dim in _TO_CHANNELS_LAST)
    moved = [operand for operand in operands if operand is not None]
    inputs = tuple(tensor for tensor, _ in moved)
    loops = _loops([tensor.shape for tensor in inputs], shape)
    is_plain = op.loops == _loops([tensor.shape for tensor in node.inputs], op.shape)
    if len(moved) < len(operands) or not is_plain or loops is None or loops.inner[0] == 0:
        yield node
        return
    for _, view in moved:
        yield from view
    op = replace(op, loops=loops, shape=shape)
    yield from _result(node, replace(node, op=op, inputs=inputs), twins)


def _loops(shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> Loops | None:
    """The loops over operands that are repeated as NumPy does; None if they do not fit."""
    try:
        return dense_loops(shapes, shape)
    except (ValueError, Unsupported):
        return None


def _last(
    node: Node, tensor: Tensor, twins: Mapping[Tensor, Tensor]
) -> tuple[Tensor, list[Node]] | None:
    """An operand with channels last, and what makes it; None if its elements would have to move."""
    if tensor in twins:
        return twins[tensor], []
    wide = (1,) * (4 - len(tensor.shape)) + tensor.shape
    if len(wide) != 4:
        return None
    shape = tuple(wide[dim] for dim in _TO_CHANNELS_LAST)
    name = f"{tensor.name}.last"
    if tensor.data is not None:
        data = np.ascontiguousarray(tensor.data.reshape(wide).transpose(_TO_CHANNELS_LAST))
        return Tensor(name, tensor.dtype, shape, data), []
    if wide[1] != 1 and wide[2:] != (1, 1):
        return None
    if shape == tensor.shape:
        return tensor, []
    last = Tensor(name, tensor.dtype, shape)
    return last, [Node(View(shape), (tensor,), (last,), node.source)]


def _sum(node: Node, op: QuantizedSum, image: Tensor) -> Iterator[Node]:
    """A sum over the rows, the columns or both of one image."""
    batch, height, width, channels = image.shape
    ways = {
        (batch * channels, height, width): (batch, height, width * channels),
        (batch * channels * height, width, 1): (batch * height, width, channels),
        (batch * channels, height * width, 1): (batch, height * width, channels),
    }
    way = ways.get((op.outer, op.members, op.inner))
    if way is None or batch != 1:
        yield node
        return
    outer, members, inner = way
    kept = outer * inner // channels
    shape, result = (1, 1, kept, channels), node.outputs[0]
    last = Tensor(f"{result.name}.last", result.dtype, shape)
    op = replace(op, outer=outer, members=members, inner=inner, shape=shape)
    yield replace(node, op=op, inputs=(image,), outputs=(last,))
    first = Tensor(f"{result.name}.first", result.dtype, (1, channels, 1, kept))
    yield Node(Transpose(_TO_CHANNELS_FIRST), (last,), (first,), node.source)
    yield Node(View(result.shape), (first,), (result,), node.source)


def _result(node: Node, moved: Node, twins: Twins) -> Iterator[Node]:
    """A node with channels last, and its result moved to where others expect it."""
    result = node.outputs[0]
    shape = tuple(result.shape[dim] for dim in _TO_CHANNELS_LAST)
    held = result.held and result.held.permuted(_TO_CHANNELS_LAST)
    last = Tensor(f"{result.name}.last", result.dtype, shape, held=held)
    twins[result] = last
    yield replace(moved, outputs=(last,))
    yield replace(node, op=Transpose(_TO_CHANNELS_FIRST), inputs=(last,))
