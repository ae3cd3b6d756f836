"""Copies that repeat elements, such as upsampling, within the copy that alone reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from cmcompiler.ir.graph import Node, with_views
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.lines import piece_rows
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.tensor import Tensor


def join_copies(
    nodes: Sequence[Node], outputs: Collection[Tensor], states: Collection[Tensor]
) -> list[Node]:
    """The nodes with copies that read the source of what another one repeats for them alone.

    Nodes no longer needed stay among them.

    Args:
        outputs: what is read by others than these nodes.
        states: what has to be read where it is, as its memory is written later.
    """
    kept, fleeting = {*outputs, *states}, with_views(states, nodes)
    reads = Counter(tensor for node in nodes for tensor in node.reads)
    repeating = {
        node.outputs[0]: node
        for node in nodes
        if _repeats(node) and reads[node.outputs[0]] == 1 and node.outputs[0] not in kept
        if node.inputs[0] not in fleeting
    }
    return [_joined(node, repeating) for node in nodes]


def _repeats(node: Node) -> bool:
    """Whether it copies all of a smaller tensor several times."""
    op = node.op
    if not isinstance(op, Copy) or node.guards or op.fill is not None or len(op.pieces) != 1:
        return False
    output = node.outputs[0]
    return node.inputs[0].numel < output.numel and _is_all(op.pieces[0].writes, output)


def _joined(node: Node, repeating: Mapping[Tensor, Node]) -> Node:
    op = node.op
    if not isinstance(op, Copy) or node.guards or repeating.keys().isdisjoint(node.inputs):
        return node
    inputs, pieces = list(node.inputs), list(op.pieces)
    sources = Counter(piece.source for piece in op.pieces)
    for at, piece in enumerate(op.pieces):
        if sources[piece.source] > 1:
            continue
        maker = repeating.get(node.inputs[piece.source])
        composed = None if maker is None else _composed(maker, piece, node.outputs[0])
        if maker is not None and composed is not None:
            inputs[piece.source], pieces[at] = maker.inputs[0], composed
    if inputs == list(node.inputs):
        return node
    return replace(node, op=replace(op, pieces=tuple(pieces)), inputs=tuple(inputs))


def _composed(maker: Node, piece: Piece, output: Tensor) -> Piece | None:
    """A piece of a copy that reads the source of what it reads, row by row; None without any."""
    assert isinstance(maker.op, Copy)
    (first,) = maker.op.pieces
    if not _is_all(piece.reads, maker.outputs[0]):
        return None
    sizes = zip(first.writes.shape, first.writes.strides, strict=True)
    steps = [_step(count, stride, piece) for count, stride in sizes]
    strides = tuple(step for step in steps if step is not None)
    if len(strides) < len(steps):
        return None
    writes = replace(first.writes, strides=strides, offset=piece.writes.offset)
    if piece_rows(first.reads, maker.inputs[0], writes, output) is None:
        return None
    return Piece(piece.source, first.reads, writes)


def _step(count: int, stride: int, piece: Piece) -> int | None:
    """Elements that a piece writes from one index of a dimension to the next, as many as `stride`
    of those that it reads; None if these are not within one of its dimensions.
    """
    if count == 1:
        return 0
    windows = zip(piece.reads.shape, piece.reads.strides, piece.writes.strides, strict=True)
    for length, read, written in windows:
        if 0 < read <= stride and stride % read == 0 and count * stride <= length * read:
            return written * (stride // read)
    return None


def _is_all(window: Strided, tensor: Tensor) -> bool:
    """Whether a window has every element of a tensor, once."""
    reached = 1
    for stride, count in sorted(zip(window.strides, window.shape, strict=True)):
        if count > 1:
            if stride != reached:
                return False
            reached *= count
    return window.offset == 0 and reached == tensor.numel
