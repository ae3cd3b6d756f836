"""Random graphs of bottlenecks, some of whose operators are runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from hypothesis import strategies as st

from cmcompiler.importer.pruning import pruned
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.op import Address, Op, PackedPart, Patch, TilePlace, Word
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.requantize import Range, Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.runs.chains import Chain, Tail, chains, contracted, is_possible, tails
from cmcompiler.plan.runs.tiling import Keeping
from harness.convolutions import Numbers, numbers, requantizes
from harness.examples import Example
from harness.image_graphs import Drawing, image_sums


@dataclass(frozen=True)
class Tiles:
    """How a run divides its work."""

    band: int
    columns: int
    keeping: Keeping = Keeping.NOTHING
    parts: int = 3
    """Operators of a run at most."""


tile_sizes = st.builds(
    Tiles,
    st.integers(1, 4),
    st.sampled_from([*range(1, 13), 24]),
    st.sampled_from(Keeping),
    st.sampled_from([3, 3, 10]),
)


class Bottlenecks(Drawing):
    """A graph of 1x1 and depthwise convolutions under way."""

    def pixels(self, x: Tensor, channels: int) -> Tensor:
        depth = x.shape[3]
        scale, bias = self._draw(requantizes(channels, depth)), self._data.biases(channels)
        weights, shape = self._data.int8(channels, 1, 1, depth), (*x.shape[:3], channels)
        return self.add(Conv2d(weights, bias, Window((1, 1)), 3, scale, shape), x, shape=shape)

    def stem(self, x: Tensor) -> Tensor:
        """A convolution of windows, which a run can begin with."""
        draw, channels = self._draw, self._draw(st.sampled_from([8, 16]))
        side, stride = draw(st.sampled_from([2, 3])), draw(st.sampled_from([1, 2]))
        window = Window((side, side), (stride, stride), (side // 2, side // 2))
        shape = (1, *window.output_size(x.shape[1:3]), channels)
        depth = window.area * x.shape[3]
        scale, bias = draw(requantizes(channels, depth)), self._data.biases(channels)
        weights = self._data.int8(channels, side, side, x.shape[3])
        return self.add(Conv2d(weights, bias, window, 3, scale, shape), x, shape=shape)

    def depthwise(self, x: Tensor) -> Tensor:
        draw = self._draw
        side, stride = draw(st.sampled_from([3, 3, 3, 5, 2])), draw(st.sampled_from([1, 1, 2]))
        padding = draw(st.sampled_from([side // 2, side // 2, 0]))
        window = Window((side, side), (stride, stride), (padding, padding))
        size, channels = window.output_size(x.shape[1:3]), x.shape[3]
        if min(size) < 2:
            window, size = Window((3, 3), padding=(1, 1)), (x.shape[1], x.shape[2])
        shape = (1, *size, channels)
        scale, bias = draw(requantizes(channels, window.area)), self._data.biases(channels)
        weights = self._data.int8(*window.kernel, channels)
        return self.add(DepthwiseConv2d(weights, bias, window, 3, scale, shape), x, shape=shape)

    def pooled(self, x: Tensor) -> Tensor:
        """The mean or maximum of each channel, by a pool."""
        _, height, width, channels = x.shape
        shape, window = (1, 1, 1, channels), Window((height, width), (height, width))
        maximum = MaxPool2d(window, shape, Range(-100, 90))
        pool = self._draw(st.sampled_from([AvgPool2d(window, shape), maximum]))
        return self.add(pool, x, shape=shape)

    def block(self, x: Tensor) -> Tensor:
        draw, start = self._draw, x
        if draw(st.sampled_from([True, True, False])):
            x = self.pixels(x, draw(st.sampled_from([8, 16, 17, 24])))
        x = self.depthwise(x)
        x = self.pixels(x, draw(st.sampled_from([4, 8, 24, start.shape[3]])))
        return self.join(x, start) if x.shape == start.shape and draw(st.booleans()) else x


@st.composite
def run_graphs(draw: st.DrawFn) -> Example:
    """One to three bottlenecks; a convolution before them, one of more channels after them."""
    size = st.integers(5, 23)
    shape = (1, draw(size), draw(size), draw(st.sampled_from([3, 8])))
    data = draw(numbers)
    drawing = Bottlenecks(draw, data, shape)
    x = drawing.input
    if draw(st.booleans()):
        x = drawing.depthwise(drawing.stem(x))
    for _ in range(draw(st.integers(1, 3))):
        x = drawing.block(x)
    if draw(st.booleans()):
        if draw(st.booleans()):
            x = drawing.pixels(x, draw(st.sampled_from([32, 256])))
        x = drawing.total(x)
    return Example(drawing.graph(x), (data.int8(*shape),))


@st.composite
def pooled_graphs(draw: st.DrawFn) -> Example:
    """A small image, of many channels in the end, and its mean or maximum: slices save most."""
    size = st.integers(4, 8)
    shape = (1, draw(size), draw(size), draw(st.sampled_from([8, 16])))
    data = draw(numbers)
    drawing = Bottlenecks(draw, data, shape)
    x = drawing.block(drawing.input) if draw(st.booleans()) else drawing.input
    x = drawing.pixels(x, draw(st.sampled_from([128, 256, 320])))
    return Example(drawing.graph(drawing.pooled(x)), (data.int8(*shape),))


def in_runs(example: Example, isa: Isa, tiles: list[Tiles]) -> tuple[Example, int]:
    """The example with as many runs as possible, of such tiles in turn; and how many there are."""
    chosen: list[tuple[Chain | Tail, Node]] = []
    free = len(example.graph.nodes)
    for tail in tails(example.graph):
        count = tail.parts[0].outputs[0].shape[3]
        run = tail.in_slices(count // 4 if count % 4 == 0 else count)
        if is_possible(run, isa):
            chosen.append((tail, run))
            free = tail.start
    most = tiles[0].parts
    parts = [c for c in chains(example.graph) if c.end <= free and len(c.parts) <= most]
    for index, chain in enumerate(without_overlaps(parts)):
        size = tiles[index % len(tiles)]
        run = chain.in_tiles(size.band, size.columns, size.keeping)
        if is_possible(run, isa):
            chosen.append((chain, run))
    return replace(example, graph=contracted(example.graph, chosen)), len(chosen)


SIDE, NARROW, WIDE = 24, 8, 48


class Layers:
    """Convolutions that follow each other, with random weights."""

    def __init__(self, *shape: int) -> None:
        self.last = self.first = Tensor("input_0", np.dtype(np.int8), (1, *shape))
        self._data, self._nodes = Numbers(1), list[Node]()

    def add(self, op: type[Conv2d | DepthwiseConv2d], channels: int, *kernel: int) -> None:
        """
        Args:
            kernel: rows and columns, one if there are none.
        """
        rows, columns = size = kernel or (1, 1)
        depth, shape = self.last.shape[3], (*self.last.shape[:3], channels)
        scale = Requantize.checked(
            [1 << 30] * channels, [-9] * channels, channels, zero_point=0, minimum=-128, maximum=127
        )
        window = Window(size, padding=(rows // 2, columns // 2))
        weights = (*size, channels) if op is DepthwiseConv2d else (channels, *size, depth)
        data = self._data
        self._add(op(data.int8(*weights), data.biases(channels), window, 3, scale, shape), shape)

    def add_pair(self, other: Tensor) -> None:
        self._add(image_sums(self.last.shape), self.last.shape, other)

    def pool(self) -> None:
        """The mean of each channel."""
        _, height, width, channels = self.last.shape
        shape = 1, 1, 1, channels
        self._add(AvgPool2d(Window((height, width), (height, width)), shape), shape)

    def _add(self, op: Op, shape: tuple[int, ...], *others: Tensor) -> None:
        output = Tensor(f"t{len(self._nodes)}", self.last.dtype, shape)
        source = f"{op.title} #{len(self._nodes)}"
        self._nodes.append(Node(op, (self.last, *others), (output,), source))
        self.last = output

    def graph(self, name: str) -> Graph:
        ports = [
            Port(port, tensor, tensor.shape, (0, 1, 2, 3))
            for port, tensor in (("x", self.first), ("y", self.last))
        ]
        return Graph(name, tuple(self._nodes), (ports[0],), (ports[1],))


@cache
def bottlenecks(count: int = 2, sums: bool = False) -> Graph:
    """Expansion, depthwise convolution and projection, some times.

    Args:
        sums: all blocks but the first and the last add their input, and the last one makes fewer
            channels.
    """
    layers = Layers(SIDE, SIDE, NARROW)
    for block in range(count):
        start = layers.last
        layers.add(Conv2d, WIDE)
        layers.add(DepthwiseConv2d, WIDE, 3, 3)
        layers.add(Conv2d, NARROW // 2 if sums and block == count - 1 else NARROW)
        if sums and 0 < block < count - 1:
            layers.add_pair(start)
    return layers.graph("bottlenecks")


@cache
def lines() -> Graph:
    """Depthwise windows of one column and of one row, and a mean."""
    layers = Layers(16, 16, 3)
    layers.add(Conv2d, 12)
    layers.add(DepthwiseConv2d, 12, 5, 1)
    layers.add(Conv2d, 24)
    layers.add(DepthwiseConv2d, 24, 1, 9)
    layers.pool()
    return layers.graph("lines")


def with_dead_channel(graph: Graph) -> Graph:
    """The graph with an expanded channel that no projection reads, and without that channel."""
    nodes = []
    for node in graph.nodes:
        op = node.op
        if isinstance(op, Conv2d) and op.weights.shape[-1] == WIDE:
            op = replace(op, weights=op.weights * (np.arange(WIDE) != 5))
        nodes.append(replace(node, op=op))
    return pruned(replace(graph, nodes=tuple(nodes)))


def without_overlaps(collected: Sequence[Chain]) -> list[Chain]:
    """The longest chains, the first if in doubt, of which none have a node in common."""
    taken: set[int] = set()
    kept = []
    for chain in sorted(collected, key=lambda each: -len(each.parts)):
        nodes = set(range(chain.start, chain.end))
        if taken.isdisjoint(nodes):
            taken |= nodes
            kept.append(chain)
    return kept


def patched(word: Word, patch: Patch, tile: int, tiles: int) -> Word:
    """The word of a tile, as cm_take_tiles in runtime/runner/tiles.c makes it."""
    if tile == 0:
        return word
    if tile == tiles - 1:
        return patch.last
    if isinstance(patch.second, Address):
        # A step that goes back is a large number of 32 bits.
        return Address(patch.second.tensor, patch.second.offset + (tile - 1) * patch.step)
    if isinstance(patch.second, TilePlace):
        return patch.second.after((tile - 1) * patch.step)
    if isinstance(patch.second, PackedPart):
        return replace(patch.second, offset=patch.second.offset + (tile - 1) * patch.step)
    assert isinstance(patch.second, int)
    return (patch.second + (tile - 1) * patch.step) % (1 << 32)
