"""Sequences as images whose rows are their steps, so that streams can take a few steps at a time.

A program has them as images of one row. In memory both are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cmcompiler.ir.graph import Node
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.rows import turned_shape
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.ops.support.pooling import Pool2d

_TO_CHANNELS_LAST = (0, 2, 3, 1)


def rows_of_steps(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with steps as rows where windows slide over sequences, and around them."""
    if not any(isinstance(n.op, Convolution | Pool2d) and _is_on_sequences(n) for n in nodes):
        return list(nodes)
    columns: dict[Tensor, Tensor] = {}
    return [each for node in nodes for each in _turned(node, columns)]


def _turned(node: Node, columns: dict[Tensor, Tensor]) -> Iterator[Node]:
    """A node with views around it.

    Args:
        columns: sequences with steps as rows.
    """
    op = node.op.turned if _is_on_sequences(node) else None
    inputs = node.inputs
    if op is not None:
        for tensor in dict.fromkeys(filter(_is_sequence, inputs)):
            if tensor not in columns:
                columns[tensor] = _reshaped(tensor, turned_shape(tensor.shape))
                yield _view(node, tensor, columns[tensor])
        inputs = tuple(columns.get(tensor, tensor) for tensor in inputs)
    elif _makes_sequence(node):
        op, (batch, channels, height, width) = node.op, inputs[0].shape
        source = _reshaped(inputs[0], (batch, channels, width, height))
        yield _view(node, inputs[0], source)
        inputs = (source,)
    else:
        yield node
        return
    written = dict.fromkeys(filter(_is_sequence, node.outputs))
    columns.update((t, _reshaped(t, turned_shape(t.shape))) for t in written)
    outputs = tuple(columns.get(tensor, tensor) for tensor in node.outputs)
    yield replace(node, op=op, inputs=inputs, outputs=outputs)
    for tensor in written:
        yield _view(node, columns[tensor], tensor)


def _makes_sequence(node: Node) -> bool:
    is_last = isinstance(node.op, Transpose) and node.op.order == _TO_CHANNELS_LAST
    return is_last and _is_sequence(node.outputs[0])


def _is_on_sequences(node: Node) -> bool:
    """Whether all images that it reads and writes are sequences, or single pixels."""
    images = [t for t in (*node.inputs, *node.outputs) if len(t.shape) == 4]
    return (
        not node.guards
        and any(map(_is_sequence, images))
        and all(_is_sequence(t) or t.shape[1:3] == (1, 1) for t in images)
    )


def _is_sequence(tensor: Tensor) -> bool:
    shape = tensor.shape
    return len(shape) == 4 and shape[:2] == (1, 1) and shape[2] > 1 and tensor.data is None


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    return Tensor(f"{tensor.name}.steps", tensor.dtype, shape, held=tensor.held)


def _view(node: Node, source: Tensor, result: Tensor) -> Node:
    return Node(View(result.shape), (source,), (result,), node.source, node.guards)
