"""Vertical strips: the first operators of a graph for some columns at a time, for less memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cmcompiler.ir.graph import Graph, Node, Port, Pruning
from cmcompiler.ir.op import Op
from cmcompiler.ir.rows import image_rows, row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.feed import Feed
from cmcompiler.ops.strip import JoinedStrips, Strip, StripPair
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.ops.support.elementwise import Pair, dense_loops
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.runs.tiling import Tile, Tiling

COUNTS = (2, 3, 4, 6, 8, 12)
"""Strips to choose from."""

SAME = Window((1, 1))
"""Window of a sum: an element of each image."""


def is_striped(graph: Graph) -> bool:
    return any(isinstance(node.op, JoinedStrips) for node in graph.nodes)


@dataclass(frozen=True, eq=False)
class Strips:
    """A graph whose first operators compute strips of an image.

    Each strip is fed with its columns of the input, some of them again.

    Attributes:
        graph: without strips.
        chain: nodes of the graph: a feed, and those that follow it.
        columns: of the last image in a strip.
    """

    graph: Graph
    chain: tuple[Node, ...]
    columns: int

    @cached_property
    def striped(self) -> Graph:
        """The graph with strips."""
        return self.with_strips(self.strips)

    @cached_property
    def widest(self) -> Graph:
        """One strip alone, with the columns of the others: no other one takes more memory."""
        sizes = [sum(node.outputs[0].nbytes for node in strip) for strip in self.strips]
        number = sizes.index(max(sizes))
        nodes = (*self.strips[number], self._join(self.strips[number : number + 1], number))
        port = Port("strip", self.image, self.image.shape, tuple(range(len(self.image.shape))))
        inputs = [each for each in self.graph.inputs if each.tensor in nodes[0].inputs]
        # As an input the image is there from the first operator on.
        return replace(self.graph, nodes=nodes, inputs=(*inputs, port), outputs=(port,), states=())

    def with_strips(self, strips: list[list[Node]]) -> Graph:
        """The graph with these nodes for the operators of each strip."""
        start = self.graph.nodes.index(self.chain[0])
        rest = self.graph.nodes[start + len(self.chain) :]
        nodes = (node for strip in strips for node in strip)
        every = (*self.graph.nodes[:start], *nodes, self._join(self.strips), *rest)
        return replace(self.graph, nodes=every, pruning=self._pruning)

    @property
    def _pruning(self) -> Pruning | None:
        pruning, parts = self.graph.pruning, (node for strip in self.strips for node in strip)
        if pruning is None:
            return None
        images = [node.outputs[0] for node in self.chain]
        named = {n.outputs[0].name: images[i % len(images)] for i, n in enumerate(parts)}
        return replace(pruning, images=named)

    @cached_property
    def strips(self) -> list[list[Node]]:
        """The nodes of each strip."""
        return [[*self._strip(tile, number)] for number, tile in enumerate(self._tiling.tiles)]

    @property
    def is_possible(self) -> bool:
        """Windows of each strip see some columns, and those that sums take."""
        return all(
            all(tile.seen)
            and all(
                tile.seen[image].start <= tile.made[index].start
                and tile.seen[image].stop >= tile.made[index].stop
                for index, node in enumerate(self.chain)
                if isinstance(node.op, Pair)
                for image in self._read(node)
            )
            for tile in self._tiling.tiles
        )

    @property
    def image(self) -> Tensor:
        return self.chain[-1].outputs[0]

    def _read(self, node: Node) -> list[int]:
        """Which images of the chain a node reads."""
        images = [each.outputs[0] for each in self.chain]
        return [images.index(image) for image in node.inputs]

    @cached_property
    def _tiling(self) -> Tiling:
        return Tiling(
            tuple(_window(node) for node in self.chain[1:]),
            tuple((image.shape[1], image.shape[2]) for (image,) in (n.outputs for n in self.chain)),
            1,
            self.columns,
        )

    def _join(self, strips: list[list[Node]], first: int = 0) -> Node:
        """
        Args:
            first: number of the first strip.
        """
        starts = tuple(tile.made[-1].start for tile in self._tiling.tiles)
        parts = tuple(strip[-1].outputs[0] for strip in strips)
        op = JoinedStrips(starts[first : first + len(strips)])
        return Node(op, parts, (self.image,), self.chain[-1].source)

    def _strip(self, tile: Tile, number: int) -> Iterator[Node]:
        narrow = [
            Tensor(
                f"{image.name}.{number}", image.dtype, (*image.shape[:2], len(seen), image.shape[3])
            )
            for (image,), seen in zip((n.outputs for n in self.chain), tile.seen, strict=True)
        ]
        feed = self.chain[0]
        assert isinstance(feed.op, Feed)
        width = feed.outputs[0].shape[2]
        fed = replace(feed.op, shape=narrow[0].shape, columns=tile.seen[0], width=width)
        yield Node(fed, feed.inputs, (narrow[0],), feed.source)
        for part, node in enumerate(self.chain[1:]):
            images = tuple(narrow[image] for image in self._read(node))
            op = self._op(node, tile, part)
            yield Node(op, images, (narrow[part + 1],), node.source)

    def _op(self, node: Node, tile: Tile, part: int) -> Op:
        """The operator of a node for a strip."""
        own = self._narrowed(node.op, tile, part)
        if isinstance(own, Pair):
            read, made = self._read(node), tile.made[part + 1].start
            return StripPair(own, tuple(made - tile.seen[image].start for image in read))
        is_last = node is self.chain[-1]
        return Strip(own, row_bytes(self.image), self.image.nbytes) if is_last else own

    def _narrowed(self, op: Op, tile: Tile, part: int) -> Convolution | Pair:
        """The operator on its columns of a tile."""
        if isinstance(op, Pair):
            shape = (*op.shape[:2], len(tile.made[part + 1]), op.shape[3])
            return replace(op, loops=dense_loops((shape, shape), shape), shape=shape)
        assert isinstance(op, Convolution)
        count, height, _, channels = op.output_shape
        padding = op.window.padding[0], self._tiling.padding(tile, part)
        return replace(
            op,
            window=replace(op.window, padding=padding),
            output_shape=(count, height, len(tile.made[part + 1]), channels),
        )


def every_strips(graph: Graph) -> Iterator[Strips]:
    """The strips of a graph's first operators: of images smaller than all that end shorter ones."""
    chain, least = _chain(graph), None
    for length in range(3, len(chain) + 1):
        image = chain[length - 1].outputs[0]
        if not _may_end(graph, chain[:length]) or (least and image.nbytes >= least):
            continue
        least, width = image.nbytes, image.shape[2]
        for columns in sorted({-(-width // count) for count in COUNTS}, reverse=True):
            strips = Strips(graph, tuple(chain[:length]), columns)
            if strips.is_possible:
                yield strips


def _chain(graph: Graph) -> list[Node]:
    """A feed and the operators that follow it, each of which reads the image of the one before;
    sums may read an earlier one, too.
    """
    start = next((i for i, node in enumerate(graph.nodes) if isinstance(node.op, Feed)), None)
    if start is None:
        return []
    feed = graph.nodes[start]
    if isinstance(feed.op, Feed) and feed.op.columns is not None:
        return []
    chain = [feed]
    for node in graph.nodes[start + 1 :]:
        images = {each.outputs[0] for each in chain}
        if not images.issuperset(node.inputs) or chain[-1].outputs[0] not in node.inputs:
            break
        if not _may_be_part(node):
            break
        chain.append(node)
    return chain


def _may_end(graph: Graph, chain: list[Node]) -> bool:
    """Whether the last of some nodes is a convolution that alone leaves an image to others."""
    inner = {node.outputs[0] for node in chain[:-1]}
    start = graph.nodes.index(chain[0])
    others = (*graph.nodes[:start], *graph.nodes[start + len(chain) :])
    read = {tensor for node in others for tensor in node.reads}
    read |= {port.tensor for port in graph.outputs}
    return isinstance(chain[-1].op, Convolution) and inner.isdisjoint(read)


def _may_be_part(node: Node) -> bool:
    images = (*node.inputs, *node.outputs)
    if node.guards or any(image.dtype != np.int8 or image.shape[0] != 1 for image in images):
        return False
    if any((image_rows(image) or 1) == 1 for image in images):
        return False
    if isinstance(node.op, Pair):
        return len({image.shape for image in images}) == 1 and len(node.inputs) == 2
    return isinstance(node.op, Convolution) and len(node.inputs) == 1


def _window(node: Node) -> Window:
    return node.op.window if isinstance(node.op, Convolution) else SAME
