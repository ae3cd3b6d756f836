"""Images that a program moves with channels first, kept with channels last for what reads them.

A network whose blocks split, concatenate and shuffle channels has them first in between, where
every row of an image lies everywhere in memory. Streams need rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.graph import Node, with_views
from cmcompiler.ir.movement.copy import Copy, is_unmoved
from cmcompiler.ir.movement.lines import piece_rows
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import Part, View
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor

_TO_CHANNELS_LAST = (0, 2, 3, 1)
_TO_CHANNELS_FIRST = (0, 3, 1, 2)

Places = npt.NDArray[np.int64]
"""Indices of a tensor's elements in memory."""


def keep_channels_last(
    nodes: Sequence[Node], outputs: Collection[Tensor], states: Collection[Tensor]
) -> list[Node]:
    """The nodes without images that have their channels first only between other images.

    Args:
        outputs: what is read by others than these nodes.
        states: what has to be read where it is, as its memory is written later.
    """
    made, fleeting = {*outputs, *states}, with_views(states, nodes)
    while True:
        passing = _passing(nodes, made, fleeting)
        if not passing:
            return list(nodes)
        rewriting = _Rewriting(passing)
        rewritten = [each for node in nodes for each in rewriting.rewrite(node)]
        if not rewriting.failed:
            return rewritten
        made |= rewriting.failed


def _passing(
    nodes: Sequence[Node], made: Collection[Tensor], fleeting: Collection[Tensor]
) -> set[Tensor]:
    """Tensors moved on by all their readers until they are images with channels last."""
    passing: set[Tensor] = set()
    readers: defaultdict[Tensor, list[Node]] = defaultdict(list)
    for node in reversed(nodes):
        if _moves(node) and node.outputs[0] not in made:
            output = node.outputs[0]
            users = readers[output]
            taken = (user.outputs[0] in passing or _ends(user, output, made) for user in users)
            if users and all(taken) and _may_pass(node, users, fleeting):
                passing.add(output)
        for tensor in node.reads:
            readers[tensor].append(node)
    return passing


def _moves(node: Node) -> bool:
    return isinstance(node.op, Transpose | View | Part | Copy) and not node.guards


def _may_pass(node: Node, users: Sequence[Node], fleeting: Collection[Tensor]) -> bool:
    """Copies do if they make an image, unless that has its channels last already."""
    if not isinstance(node.op, Copy):
        return node.inputs[0] not in fleeting
    is_image = len(node.outputs[0].shape) == 4
    return is_image and not any(_is_transpose(user, _TO_CHANNELS_FIRST) for user in users)


def _ends(node: Node, source: Tensor, made: Collection[Tensor]) -> bool:
    """Whether it makes an image with channels last of one with channels first."""
    if not _moves(node) or node.outputs[0] in made:
        return False
    if not isinstance(node.op, Copy):
        return _is_transpose(node, _TO_CHANNELS_LAST)
    inner = [
        Loops.over(piece.reads, piece.writes).inner
        for piece in node.op.pieces
        if node.inputs[piece.source] is source
    ]
    return len(source.shape) == 4 and set(inner) == {(prod(source.shape[2:]), 1)}


def _is_transpose(node: Node, order: tuple[int, ...]) -> bool:
    return isinstance(node.op, Transpose) and node.op.order == order


@dataclass(frozen=True, slots=True)
class _Held:
    """A tensor that is not made: where another one has its elements, in its own order."""

    base: Tensor
    places: Places


class _Rewriting:
    """Nodes that read other tensors than in the program.

    Attributes:
        failed: what had to be made after all.
    """

    def __init__(self, passing: set[Tensor]) -> None:
        self.failed: set[Tensor] = set()
        self._passing = passing
        self._held: dict[Tensor, _Held] = {}
        self._shuffled: dict[tuple[Tensor, Piece, tuple[int, ...]], Tensor] = {}

    def rewrite(self, node: Node) -> Iterator[Node]:
        passes = not self._passing.isdisjoint(node.outputs)
        if passes and not isinstance(node.op, Copy):
            held = self._behind(node.inputs[0], _reads(node.op, node.inputs[0]))
            self._held[node.outputs[0]] = held
        elif passes or not self._held.keys().isdisjoint(node.inputs):
            if not self.failed:
                yield from self._copied(node)
        else:
            yield node

    def _behind(self, tensor: Tensor, places: Places) -> _Held:
        """Elements of a tensor where they are made."""
        held = self._held.get(tensor)
        return _Held(tensor, places) if held is None else _Held(held.base, held.places[places])

    def _copied(self, node: Node) -> Iterator[Node]:
        """A node that makes an image with channels last."""
        result = node.outputs[0]
        output, order = result, np.arange(result.numel)
        if result in self._passing:
            batch, channels, height, width = result.shape
            shape, value = (batch, height, width, channels), result.held
            value = value and value.permuted(_TO_CHANNELS_LAST)
            output = Tensor(f"{result.name}.last", result.dtype, shape, held=value)
            order = _all(Strided.dense(output.shape).permute(_TO_CHANNELS_FIRST))
            self._held[result] = _Held(output, order)
        bases: dict[Tensor, int] = {}
        pieces = []
        for index, reads, writes in _pieces(node):
            held = self._behind(node.inputs[index], reads)
            rows = _by_rows(held, order[writes], output)
            if rows is None:
                self.failed.add(result)
                return
            source = bases.setdefault(held.base, len(bases))
            pieces.append(Piece(source, *rows))
        inputs = tuple(bases)
        op: Op
        if isinstance(node.op, Copy):
            op = replace(node.op, shape=output.shape, pieces=tuple(pieces))
        elif inputs[0].numel == output.numel and is_unmoved(pieces[0].reads, pieces[0].writes):
            op = View(output.shape)
        else:
            op = Copy("shuffle", output.dtype, output.shape, tuple(pieces))
            same = self._shuffled.setdefault((inputs[0], pieces[0], output.shape), output)
            if same is not output:
                op, inputs = View(output.shape), (same,)
        yield replace(node, op=op, inputs=inputs, outputs=(output,))


def _pieces(node: Node) -> Iterator[tuple[int, Places, Places]]:
    """The copies that a node makes: an input's index, elements of that, and where they go."""
    if isinstance(node.op, Copy):
        for piece in node.op.pieces:
            yield piece.source, _all(piece.reads), _all(piece.writes)
    else:
        yield 0, _reads(node.op, node.inputs[0]), np.arange(node.outputs[0].numel)


def _reads(op: Op, source: Tensor) -> Places:
    """The elements of its input that an op shows, in the order of its output."""
    match op:
        case Transpose():
            return _all(Strided.dense(source.shape).permute(op.order))
        case View():
            return np.arange(source.numel)
        case Part():
            start = op.offset // source.dtype.itemsize
            return np.arange(start, start + prod(op.shape))
    raise TypeError(op)


def _all(window: Strided) -> Places:
    """The places of a window's elements, in its order."""
    axes = [np.arange(n) * stride for n, stride in zip(window.shape, window.strides, strict=True)]
    places: npt.NDArray[Any] = np.array(window.offset)
    for axis in axes:
        places = places[..., None] + axis
    return places.reshape(-1).astype(np.int64)


def _by_rows(held: _Held, written: Places, output: Tensor) -> tuple[Strided, Strided] | None:
    """Windows on what is read and on an image, row by row; None if there are none."""
    order = np.argsort(written)
    written, read = written[order], held.places[order]
    if output.numel == 0 or written.size == 0:
        return None
    rows = len(np.unique(written // prod(output.shape[2:])))
    if written.size % rows:
        return None
    first = _nest(read[: written.size // rows], written[: written.size // rows])
    windows = []
    for places, strides in ((read, first.reads), (written, first.writes)):
        step = int(places[written.size // rows] - places[0]) if rows > 1 else 0
        window = Strided((rows, *first.counts), (step, *strides), int(places[0]))
        if not np.array_equal(_all(window), places):
            return None
        windows.append(window)
    reads, writes = windows
    lines = piece_rows(reads, held.base, writes, output)
    return None if lines is None else (reads, writes)


@dataclass(frozen=True, slots=True)
class _Nest:
    """Loops, outermost first, and the steps of two operands in each."""

    counts: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]


def _nest(read: Places, written: Places) -> _Nest:
    """The loops that make these sequences, if any do."""
    counts: list[int] = []
    steps: list[tuple[int, int]] = []
    pairs = np.stack([read, written], 1)
    while len(pairs) > 1:
        moves = np.diff(pairs, axis=0)
        others = np.flatnonzero((moves != moves[0]).any(1))
        count = int(others[0]) + 1 if len(others) else len(pairs)
        if len(pairs) % count:
            break
        counts.insert(0, count)
        steps.insert(0, (int(moves[0, 0]), int(moves[0, 1])))
        pairs = pairs[::count]
    return _Nest(tuple(counts), tuple(a for a, _ in steps), tuple(b for _, b in steps))
