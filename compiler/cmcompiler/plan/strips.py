"""Vertical strips: the first operators of a graph for some columns at a time, for less memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.rows import image_rows, row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.feed import Feed
from cmcompiler.ops.strip import JoinedStrips, Strip
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.plan.runs.tiling import Tile, Tiling

COUNTS = (2, 3, 4, 6, 8, 12)
"""Strips to choose from."""


def is_striped(graph: Graph) -> bool:
    return any(isinstance(node.op, JoinedStrips) for node in graph.nodes)


def striped(graph: Graph) -> Iterator[tuple[Graph, Graph]]:
    """Graphs whose first convolutions compute strips, and only these convolutions of each.

    Each strip is fed with its columns of the input, some of them again.
    """
    chain = _chain(graph)
    for length in range(2, len(chain)):
        width = chain[length].outputs[0].shape[2]
        sizes = {-(-width // count) for count in COUNTS}
        for columns in sorted(sizes, reverse=True):
            nodes = _in_strips(chain[: length + 1], columns)
            if nodes:
                yield _with(graph, chain[: length + 1], nodes), _only(graph, nodes)


def _chain(graph: Graph) -> list[Node]:
    """A feed and the convolutions that follow it, each the only reader of the one before."""
    start = next((i for i, node in enumerate(graph.nodes) if isinstance(node.op, Feed)), None)
    if start is None or graph.nodes[start].op.columns is not None:  # type: ignore[attr-defined]
        return []
    chain = [graph.nodes[start]]
    outputs = {port.tensor for port in graph.outputs}
    for node in graph.nodes[start + 1 :]:
        image = chain[-1].outputs[0]
        readers = sum(image in other.reads for other in graph.nodes)
        if node.inputs != (image,) or readers > 1 or image in outputs or not _may_be_strip(node):
            break
        chain.append(node)
    return chain


def _may_be_strip(node: Node) -> bool:
    images = (*node.inputs, *node.outputs)
    return (
        isinstance(node.op, Convolution)
        and not node.guards
        and all(image.dtype == np.int8 and image.shape[0] == 1 for image in images)
        and all((image_rows(image) or 1) > 1 for image in images)
    )


def _in_strips(chain: list[Node], columns: int) -> list[Node]:
    """The nodes of each strip, and one that joins them; none if some have no columns.

    Args:
        columns: of the last image in a strip.
    """
    images = [node.outputs[0] for node in chain]
    ops = [node.op for node in chain[1:] if isinstance(node.op, Convolution)]
    tiling = Tiling(
        tuple(op.window for op in ops),
        tuple((image.shape[1], image.shape[2]) for image in images),
        1,
        columns,
    )
    nodes: list[Node] = []
    parts: list[Tensor] = []
    for number, tile in enumerate(tiling.tiles):
        if not all(tile.seen):
            return []
        nodes += _strip(chain, ops, tiling, tile, number)
        parts += nodes[-1].outputs
    starts = tuple(tile.made[-1].start for tile in tiling.tiles)
    return [*nodes, Node(JoinedStrips(starts), tuple(parts), (images[-1],), chain[-1].source)]


def _strip(
    chain: list[Node], ops: list[Convolution], tiling: Tiling, tile: Tile, number: int
) -> Iterator[Node]:
    images = [node.outputs[0] for node in chain]
    narrow = [
        Tensor(f"{image.name}.{number}", image.dtype, (*image.shape[:2], len(seen), image.shape[3]))
        for image, seen in zip(images, tile.seen, strict=True)
    ]
    feed = chain[0]
    assert isinstance(feed.op, Feed)
    op = replace(feed.op, shape=narrow[0].shape, columns=tile.seen[0], width=images[0].shape[2])
    yield Node(op, feed.inputs, (narrow[0],), feed.source)
    for part, convolution in enumerate(ops):
        window = convolution.window
        padding = window.padding[0], tiling.padding(tile, part)
        own = replace(
            convolution,
            window=replace(window, padding=padding),
            output_shape=narrow[part + 1].shape,
        )
        is_last = part == len(ops) - 1
        made = Strip(own, row_bytes(images[-1]), images[-1].nbytes) if is_last else own
        source = chain[part + 1].source
        yield Node(made, (narrow[part],), (narrow[part + 1],), source)


def _with(graph: Graph, chain: list[Node], nodes: list[Node]) -> Graph:
    start = graph.nodes.index(chain[0])
    rest = graph.nodes[start + len(chain) :]
    images = [node.outputs[0] for node in chain]
    pruning = graph.pruning
    if pruning is not None:
        parts = {part.name: image for part, image in _parts(nodes, images)}
        pruning = replace(pruning, images=parts)
    return replace(graph, nodes=(*graph.nodes[:start], *nodes, *rest), pruning=pruning)


def _parts(nodes: list[Node], images: list[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    """Each tensor of a strip, and the image that it is some columns of."""
    for index, node in enumerate(nodes[:-1]):
        yield node.outputs[0], images[index % len(images)]


def _only(graph: Graph, nodes: list[Node]) -> Graph:
    image = nodes[-1].outputs[0]
    port = Port("strips", image, image.shape, tuple(range(len(image.shape))))
    inputs = tuple(port for port in graph.inputs if port.tensor in nodes[0].inputs)
    return replace(graph, nodes=tuple(nodes), inputs=inputs, outputs=(port,), states=())
