"""Operators of a graph that can be a run, and the graph in which some of them are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.rows import image_rows
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.strip import JoinedStrips, convolution_of
from cmcompiler.ops.support.pooling import Pool2d
from cmcompiler.plan.runs.run import TiledRun
from cmcompiler.plan.runs.slices import SlicedRun
from cmcompiler.plan.runs.tiling import Keeping

MOST_PARTS = 10

LONG = 4
"""Parts from which on a run always keeps rows: without that windows of windows see too many."""


@dataclass(frozen=True)
class Chain:
    """Nodes of a graph that follow each other and of which each alone reads the one before.

    Attributes:
        start: index of the first one.
    """

    start: int
    parts: tuple[Node, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.parts)

    @property
    def output(self) -> Tensor:
        return self.parts[-1].outputs[0]

    @property
    def keepings(self) -> tuple[Keeping, ...]:
        """The ways in which runs of these nodes can keep tiles."""
        is_overlapping = any(
            isinstance(op := convolution_of(node.op), DepthwiseConv2d) and max(op.window.reach) > 1
            for node in self.parts[1:]
        )
        if not is_overlapping:
            return (Keeping.NOTHING,)
        return tuple(Keeping) if len(self.parts) < LONG else (Keeping.ROWS,)

    def in_tiles(self, band: int, columns: int, keeping: Keeping = Keeping.NOTHING) -> Node:
        """These nodes as one."""
        source = self.parts[0].source
        run = TiledRun(self.parts, band, columns, keeping)
        return Node(run, self.parts[0].inputs, (self.output,), source)


@dataclass(frozen=True)
class Tail:
    """A convolution and the mean or maximum of its image, which nothing else reads.

    Attributes:
        start: index of the convolution.
    """

    start: int
    parts: tuple[Node, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.parts)

    def in_slices(self, channels: int) -> Node:
        """Both as one node."""
        convolution, pool = self.parts
        run = SlicedRun(self.parts, channels)
        return Node(run, convolution.inputs, pool.outputs, convolution.source)


def tails(graph: Graph) -> Iterator[Tail]:
    """All of a graph."""
    readers = _readers(graph)
    for start, (first, second) in enumerate(pairwise(graph.nodes)):
        is_pair = second.inputs == first.outputs and readers[first.outputs[0]] == 1
        images = (*first.inputs, *first.outputs, *second.outputs)
        if (
            is_pair
            and isinstance(first.op, Conv2d)
            and first.op.groups == 1
            and isinstance(second.op, Pool2d)
            and second.op.is_single
            and not (first.guards or second.guards)
            and all(image.dtype == np.int8 and image.shape[0] == 1 for image in images)
        ):
            yield Tail(start, (first, second))


def chains(graph: Graph) -> Iterator[Chain]:
    """All that can be a run; some overlap. Where there are several strips, their operators are
    none.
    """
    readers = _readers(graph)
    joins = (
        i
        for i, node in enumerate(graph.nodes)
        if isinstance(node.op, JoinedStrips) and len(node.inputs) > 1
    )
    after = max(joins, default=-1)
    for start, first in enumerate(graph.nodes):
        if start <= after:
            continue
        parts = [first] if _may_be_part(first, begins=True) else []
        for node in graph.nodes[start + 1 : start + MOST_PARTS]:
            if not parts or not _may_be_part(node) or readers[parts[-1].outputs[0]] > 1:
                break
            if node.inputs != parts[-1].outputs:
                break
            parts.append(node)
            yield Chain(start, tuple(parts))


def _readers(graph: Graph) -> dict[Tensor, int]:
    """How often each tensor is read, as an output, too."""
    readers: dict[Tensor, int] = {}
    for node in graph.nodes:
        for tensor in node.reads:
            readers[tensor] = readers.get(tensor, 0) + 1
    for port in graph.outputs:
        readers[port.tensor] = readers.get(port.tensor, 0) + 1
    return readers


def _may_be_part(node: Node, begins: bool = False) -> bool:
    """
    Args:
        begins: it is the first one, whose windows see rows from outside of the run.
    """
    op, images = convolution_of(node.op), (*node.inputs, *node.outputs)
    if node.guards or any(image.dtype != np.int8 for image in images):
        return False
    if any((image_rows(image) or 1) == 1 for image in images):
        return False
    if isinstance(op, Conv2d):
        is_plain = op.window.stride == (1, 1) and op.window.padding == (0, 0)
        return op.groups == 1 and (begins or (op.window.area == 1 and is_plain))
    return isinstance(op, DepthwiseConv2d) and images[0].shape[3] == images[-1].shape[3]


def contracted(graph: Graph, runs: Iterable[tuple[Chain | Tail, Node]]) -> Graph:
    """The graph with nodes of some chains, which do not overlap, as runs."""
    nodes: list[Node] = []
    at = 0
    for chain, run in sorted(runs, key=lambda each: each[0].start):
        nodes += [*graph.nodes[at : chain.start], run]
        at = chain.end
    return replace(graph, nodes=(*nodes, *graph.nodes[at:]))


def is_possible(run: Node, isa: Isa) -> bool:
    """Whether its kernels take such tiles."""
    return bool(run.op.row_calls(run.inputs, run.outputs, isa))
