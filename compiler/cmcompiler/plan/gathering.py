"""Copies aside the channels that a convolution reads, where it reads only some of its image's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import numpy as np

from cmcompiler.ir.channels import Mask
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.conv2d import Conv2d

WORD = 4
"""Channels that kernels multiply at once: their number stays a multiple of it."""

PRODUCTS_OF_RUN, PRODUCTS_OF_CHANNEL = 64, 8
"""Multiply-accumulates that take as long as copying a pixel's run of channels: for its start, and
for each channel. Set for cores with vector instructions, which multiply fastest.
"""


def gathered(graph: Graph) -> Graph:
    """The graph with such copies where they save more than they cost; itself if there are none.

    All outputs stay the same: nothing but zero weights reads the other channels.
    """
    if graph.before.is_gathered:
        return graph
    parts = [_parts(node) for node in graph.nodes]
    if len(parts) == sum(map(len, parts)):
        return graph
    return replace(
        graph,
        nodes=tuple(node for part in parts for node in part),
        pruning=replace(graph.before, is_gathered=True),
    )


def gathering(node: Node) -> tuple[Node, Node] | None:
    """A copy, and a convolution that reads it; None if there is nothing to leave out."""
    op = node.op
    if not isinstance(op, Conv2d) or op.groups != 1 or node.guards or op.is_int16:
        return None
    (image,), read = node.inputs, _read_channels(op)
    count = int(read.sum())
    if count in (0, read.size) or _has_groups(op):
        return None
    shape = (*image.shape[:3], count)
    writes, reads = Strided.dense(shape), Strided.dense(image.shape)
    pieces: list[Piece] = []
    done = 0
    for run in _runs(read):
        size = len(run)
        pieces.append(Piece(0, reads.slice(3, run.start, size), writes.slice(3, done, size)))
        done += size
    part = Tensor(f"{node.outputs[0].name}.read", image.dtype, shape)
    copy = Copy("channels", image.dtype, shape, tuple(pieces))
    weights = np.ascontiguousarray(op.weights[..., read])
    return (
        Node(copy, (image,), (part,), node.source),
        replace(node, op=replace(op, weights=weights), inputs=(part,)),
    )


def _parts(node: Node) -> tuple[Node, ...]:
    """A node, after a copy if that is worth it."""
    both = gathering(node)
    if both is None:
        return (node,)
    copy, convolution = both
    assert isinstance(copy.op, Copy)
    *image, channels = copy.op.shape
    runs = len(copy.op.pieces)
    cost = prod(image) * (runs * PRODUCTS_OF_RUN + channels * PRODUCTS_OF_CHANNEL)
    return both if node.op.macs - convolution.op.macs > cost else (node,)


def _has_groups(op: Conv2d) -> bool:
    """Whether weights are packed in groups of depths with a factor each, which would change."""
    return op.filters(op.weights.reshape(len(op.weights), -1)).narrowed.groups is not None


def _read_channels(op: Conv2d) -> Mask:
    """The input channels with a weight, and others in between up to a whole number of words."""
    read = np.asarray((op.weights != 0).any(axis=(0, 1, 2)))
    missing = -int(read.sum()) % WORD
    for gap in sorted(_runs(~read), key=len):
        for channel in gap[:missing]:
            read[channel] = True
        missing -= min(missing, len(gap))
    return read


def _runs(chosen: Mask) -> Iterator[range]:
    """The ranges of chosen channels that follow each other."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    for start, end in ends.reshape(-1, 2):
        yield range(int(start), int(end))
