"""Margins of zero points around images, as the padding of the windows that read them.

Ports from frameworks with asymmetric padding put a pad before each convolution. Its copy takes
memory and time; a window sees the same beyond an image's edge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cmcompiler.ir.graph import Node, with_views
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.max_pool2d import MaxPool2d

MOST_PADDING = (1 << 15) - 1
"""Largest padding that a kernel's argument holds."""

LOWEST = -128
"""Margins of it lose against every pixel."""


def fold_padding(
    nodes: Sequence[Node], outputs: Collection[Tensor], states: Collection[Tensor]
) -> list[Node]:
    """The nodes with pads in the windows that read them, if all readers are such windows.

    Nodes no longer needed stay among them.

    Args:
        outputs: what is read by others than these nodes.
        states: what has to be read where it is, as its memory is written later.
    """
    fleeting = with_views(states, nodes)
    kept: set[Tensor] = set()
    while True:
        folding = _Folding(kept, fleeting)
        folded = [each for node in nodes for each in folding.fold(node)]
        unfolded = {folding.pads[tensor] for tensor in outputs if tensor in folding.pads}
        unfolded |= folding.unfolded
        if not unfolded:
            return folded
        kept |= unfolded


@dataclass(frozen=True, slots=True)
class _Padded:
    """A tensor that is another one within margins.

    Attributes:
        shape: with the margins, physical.
        before: margin at the start of each dimension.
        fill: the margins' value.
        pad: the first tensor that had these margins.
    """

    source: Tensor
    shape: tuple[int, ...]
    before: tuple[int, ...]
    fill: int
    pad: Tensor


class _Folding:
    """One pass over nodes, in order.

    Attributes:
        pads: the pad that each padded tensor comes from.
        unfolded: pads that something other than a window reads.
    """

    def __init__(self, kept: Collection[Tensor], fleeting: Collection[Tensor]) -> None:
        self.pads: dict[Tensor, Tensor] = {}
        self.unfolded: set[Tensor] = set()
        self._kept, self._fleeting = kept, fleeting
        self._padded: dict[Tensor, _Padded] = {}

    def fold(self, node: Node) -> Iterator[Node]:
        """A node, or what takes its place; a node that may not be needed comes with it."""
        padded = self._padded.get(node.inputs[0]) if node.inputs else None
        made = None if padded is None or node.guards else self._fold(node, padded)
        if made is not None:
            yield from made
            return
        self.unfolded |= {self.pads[tensor] for tensor in node.reads if tensor in self.pads}
        self._note(node)
        yield node

    def _fold(self, node: Node, padded: _Padded) -> list[Node] | None:
        """The nodes instead of one that reads a padded tensor first; None if it needs the pad."""
        if isinstance(node.op, View | Transpose):
            return self._moved(node, padded)
        margins = _margins(node)
        if margins is not None and margins[1] == padded.fill:
            before = tuple(map(sum, zip(margins[0], padded.before, strict=True)))
            output = node.outputs[0]
            self._hold(output, replace(padded, shape=output.shape, before=before))
            return [node]
        op = _with_padding(node.op, padded)
        return None if op is None else [replace(node, op=op, inputs=(padded.source,))]

    def _moved(self, node: Node, padded: _Padded) -> list[Node] | None:
        """A movement of a padded tensor, and the same of what is within its margins."""
        output, op = node.outputs[0], node.op
        order = _kept_dimensions(op, padded, output.shape)
        if order is None:
            return None
        shape = tuple(1 if dim is None else padded.source.shape[dim] for dim in order)
        before = tuple(0 if dim is None else padded.before[dim] for dim in order)
        source = Tensor(f"{output.name}.inner", output.dtype, shape)
        self._hold(output, _Padded(source, output.shape, before, padded.fill, padded.pad))
        moved = View(shape) if isinstance(op, View) else op
        return [node, replace(node, op=moved, inputs=(padded.source,), outputs=(source,))]

    def _note(self, node: Node) -> None:
        """Remembers what a pad of int8 makes."""
        margins = None if node.guards else _margins(node)
        output = node.outputs[0]
        if margins is None or output in self._kept or node.inputs[0] in self._fleeting:
            return
        before, fill = margins
        self._hold(output, _Padded(node.inputs[0], output.shape, before, fill, output))

    def _hold(self, output: Tensor, padded: _Padded) -> None:
        self._padded[output] = padded
        self.pads[output] = padded.pad


def _margins(node: Node) -> tuple[tuple[int, ...], int] | None:
    """The margin at the start of each dimension, and the margins' number, if a node copies all of
    an int8 tensor into some.
    """
    op = node.op
    if not isinstance(op, Copy) or op.dtype != np.int8 or not isinstance(op.fill, int):
        return None
    if len(op.pieces) != 1 or isinstance(op.fill, bool):
        return None
    source, (piece,) = node.inputs[0], op.pieces
    rank = len(op.shape)
    if len(source.shape) != rank or piece.reads.numel != source.numel or not source.numel:
        return None
    before = tuple(int(place) for place in np.unravel_index(piece.writes.offset, op.shape))
    window = Strided.dense(op.shape)
    for dim, (start, count) in enumerate(zip(before, source.shape, strict=True)):
        if start + count > op.shape[dim]:
            return None
        window = window.slice(dim, start, count)
    is_whole = piece.reads.offset == 0 and window.offset == piece.writes.offset
    moved = Loops.over(piece.reads, piece.writes)
    inside = Loops.over(Strided.dense(source.shape), window)
    return (before, op.fill) if is_whole and moved == inside else None


def _kept_dimensions(op: Op, padded: _Padded, shape: Sequence[int]) -> Sequence[int | None] | None:
    """The dimension of a padded tensor that each one of its movement is, or None for a new one of
    size 1; None if a movement divides or joins dimensions.

    Args:
        shape: of the padded tensor after the movement.
    """
    if isinstance(op, Transpose):
        return op.order
    old = [dim for dim, size in enumerate(padded.shape) if size != 1]
    new = [dim for dim, size in enumerate(shape) if size != 1]
    if [padded.shape[dim] for dim in old] != [shape[dim] for dim in new]:
        return None
    behind = dict(zip(new, old, strict=True))
    return [behind.get(dim) for dim in range(len(shape))]


def _with_padding(op: Op, padded: _Padded) -> Op | None:
    """A window over an image that sees the margins beyond its edge; None if it cannot."""
    if not isinstance(op, Conv2d | DepthwiseConv2d | MaxPool2d) or len(padded.before) != 4:
        return None
    inside = padded.source.shape
    batch, top, left, first_channel = padded.before
    if batch or first_channel or (inside[0], inside[3]) != (padded.shape[0], padded.shape[3]):
        return None
    padding = op.window.padding[0] + top, op.window.padding[1] + left
    if max(padding) > MOST_PADDING:
        return None
    window = replace(op.window, padding=padding)
    if isinstance(op, MaxPool2d):
        sees = [
            window.inside(axis, inside[axis + 1], op.output_shape[axis + 1])[1] for axis in (0, 1)
        ]
        is_same = padded.fill == LOWEST and all(counts.all() for counts in sees)
    else:
        is_same = op.input_zero_point == padded.fill
    return replace(op, window=window) if is_same else None
