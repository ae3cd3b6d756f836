"""Random graphs of ops on images that can be computed row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.add import Add
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.extreme import Extreme
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.minimum import Minimum
from cmcompiler.ops.quantized_sum import QuantizedSum
from cmcompiler.ops.quantized_upsample import QuantizedBilinear
from cmcompiler.ops.support.elementwise import dense_loops
from cmcompiler.ops.support.parameters import Rescale
from cmcompiler.ops.support.requantize import Range
from cmcompiler.ops.support.window import Window
from cmcompiler.ops.transpose_conv2d import TransposeConv2d
from cmcompiler.ops.upsample import Blend
from harness.convolutions import Numbers, numbers, requantizes
from harness.examples import Example

INT8 = np.dtype(np.int8)
LAYERS = (
    "conv",
    "conv",
    "conv",
    "depthwise",
    "transposed",
    "max",
    "avg",
    "table",
    "pad",
    "crop",
    "double",
    "shuffle",
    "bilinear",
)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    side = draw(st.sampled_from([1, 1, 3, 3, 2, 5]))
    stride = draw(st.sampled_from([1, 1, 1, 2, 3]))
    padding = draw(st.sampled_from([side // 2, side // 2, 0]))
    dilation = draw(st.sampled_from([1, 1, 1, 2]))
    return Window((side, side), (stride, stride), (padding, padding), (dilation, dilation))


def image_sums(shape: tuple[int, ...]) -> Add:
    """The sums of two images."""
    scales = Rescale(2, 1 << 30, 0), Rescale(-3, 1 << 30, -1), Rescale(1, 1 << 30, -19)
    return Add(dense_loops((shape, shape), shape), shape, *scales, Range(-128, 127))


class Drawing:
    """A graph under way."""

    def __init__(self, draw: st.DrawFn, data: Numbers, shape: tuple[int, ...]) -> None:
        self._draw = draw
        self._data = data
        self.input = Tensor("input_0", INT8, shape)
        self.nodes: list[Node] = []

    def add(self, op: Op, *inputs: Tensor, shape: tuple[int, ...]) -> Tensor:
        output = Tensor(f"t{len(self.nodes)}", INT8, shape)
        self.nodes.append(Node(op, inputs, (output,), f"{op.label} #{len(self.nodes)}"))
        return output

    def layer(self, x: Tensor) -> Tensor:
        """A random op on an image."""
        kind = self._draw(st.sampled_from(LAYERS))
        if kind == "crop" and min(x.shape[1:3]) < 3:
            kind = "pad"
        if kind in ("pad", "crop", "double", "shuffle"):
            return self._moved(kind, x)
        if kind == "bilinear":
            return self._resized(x)
        if kind == "table":
            return self.add(Activation(self._data.int8(256).tobytes()), x, shape=x.shape)
        window = self._draw(windows())
        if x.shape[2] == 1:
            pairs = (window.kernel, window.stride, window.padding, window.dilation)
            neutral = (1, 1, 0, 1)
            window = Window(*((pair[0], one) for pair, one in zip(pairs, neutral, strict=True)))
        if kind == "transposed":
            return self._transposed(x, window)
        if kind in ("max", "avg"):
            window = Window(window.kernel, window.stride)
        if min(window.output_size(x.shape[1:3])) < 1:
            window = Window((1, 1))
        return self._spatial(kind, x, window, window.output_size(x.shape[1:3]))

    def _spatial(self, kind: str, x: Tensor, window: Window, size: tuple[int, int]) -> Tensor:
        (height, width), depth = window.kernel, x.shape[3]
        channels = self._draw(st.sampled_from([1, 3, 8, 16, 17])) if kind == "conv" else depth
        shape = (1, *size, channels)
        if kind == "max":
            return self.add(MaxPool2d(window, shape, Range(-128, 127)), x, shape=shape)
        if kind == "avg":
            return self.add(AvgPool2d(window, shape), x, shape=shape)
        products = height * width * (depth if kind == "conv" else 1)
        scale, bias = self._draw(requantizes(channels, products)), self._data.biases(channels)
        if kind == "conv":
            weights = self._data.int8(channels, height, width, depth)
            return self.add(Conv2d(weights, bias, window, 3, scale, shape), x, shape=shape)
        weights = self._data.int8(height, width, channels)
        return self.add(DepthwiseConv2d(weights, bias, window, 3, scale, shape), x, shape=shape)

    def _transposed(self, x: Tensor, window: Window) -> Tensor:
        extra = (self._draw(st.integers(0, window.stride[0] - 1)), 0)
        size = window.transposed_size(*x.shape[1:3], extra)
        if min(size) < 1 or max(size) > 31:
            window, size = Window((1, 1)), (x.shape[1], x.shape[2])
        channels, depth = self._draw(st.sampled_from([1, 3, 8])), x.shape[3]
        shape = (1, *size, channels)
        scale = self._draw(requantizes(channels, window.area * depth))
        weights = self._data.int8(channels, *window.kernel, depth)
        bias = self._data.biases(channels)
        op = TransposeConv2d(weights, bias, window, 3, scale, shape, x.shape)
        return self.add(op, x, shape=shape)

    def _resized(self, x: Tensor) -> Tensor:
        """Of another size, by interpolation."""
        sizes = [self._draw(st.integers(max(1, n // 2), 2 * n + 1)) for n in x.shape[1:3]]
        blends = []
        for size, length in zip(sizes, x.shape[1:3], strict=True):
            places = np.maximum((np.arange(size) + 0.5) * length / size - 0.5, 0)
            blends.append(Blend.between(places.astype(np.float32), length))
        shape = (1, *sizes, x.shape[3])
        return self.add(QuantizedBilinear(blends[0], blends[1], shape), x, shape=shape)

    def _moved(self, kind: str, x: Tensor) -> Tensor:
        """A copy of x: with a margin, without its first rows and columns, twice as large, or with
        both halves of its channels in turn.
        """
        _, height, width, channels = x.shape
        reads = Strided.dense(x.shape)
        if kind == "pad":
            shape = (1, height + 3, width + 1, channels)
            writes = Strided.dense(shape).slice(1, 2, height).slice(2, 1, width)
        elif kind == "crop":
            shape = (1, height - 2, width - 1, channels)
            reads = reads.slice(1, 1, shape[1]).slice(2, 1, shape[2])
            writes = Strided.dense(shape)
        elif kind == "shuffle":
            shape, groups = x.shape, 2 - channels % 2
            reads = reads.split(3, channels // groups).permute((0, 1, 2, 4, 3))
            writes = Strided.dense(shape).split(3, groups)
        else:
            shape = (1, 2 * height, 2 * width, channels)
            reads = reads.insert(3, 2).insert(2, 2)
            writes = Strided.dense(shape).split(2, 2).split(1, 2)
        piece = Piece(0, reads, writes)
        return self.add(Copy(kind, INT8, shape, (piece,), 3), x, shape=shape)

    def cat(self, x: Tensor, y: Tensor) -> Tensor:
        """Both in one image, one's channels after the other's."""
        shape = (*x.shape[:3], x.shape[3] + y.shape[3])
        parts, start = [], 0
        for index, tensor in enumerate((x, y)):
            writes = Strided.dense(shape).slice(3, start, tensor.shape[3])
            parts.append(Piece(index, Strided.dense(tensor.shape), writes))
            start += tensor.shape[3]
        return self.add(Copy("cat", INT8, shape, tuple(parts)), x, y, shape=shape)

    def join(self, x: Tensor, y: Tensor) -> Tensor:
        """The sums or the minima of two images."""
        if self._draw(st.booleans()):
            return self.add(image_sums(x.shape), x, y, shape=x.shape)
        dense = Strided.dense(x.shape)
        return self.add(Minimum(Loops.over(dense, dense, dense), x.shape), x, y, shape=x.shape)

    def total(self, x: Tensor) -> Tensor:
        """A mean, maximum or sum of each channel."""
        _, height, width, channels = x.shape
        if self._draw(st.booleans()):
            sides = [self._draw(st.sampled_from([n, n, max(1, n - 1)])) for n in (height, width)]
            shape, window = (1, 1, 1, channels), Window((sides[0], sides[1]), (height, width))
            maximum = MaxPool2d(window, shape, Range(-100, 90))
            op = self._draw(st.sampled_from([AvgPool2d(window, shape), maximum]))
            return self.add(op, x, shape=shape)
        sizes, shape = (1, height * width, channels), (1, channels)
        scale = Rescale(3, 1 << 30, -self._draw(st.integers(0, 8)))
        extreme = Extreme(self._draw(st.booleans()), *sizes, shape)
        total = QuantizedSum(*sizes, 3, scale, shape)
        return self.add(self._draw(st.sampled_from([total, extreme])), x, shape=shape)

    def graph(self, *outputs: Tensor) -> Graph:
        def port(name: str, tensor: Tensor) -> Port:
            return Port(name, tensor, tensor.shape, tuple(range(len(tensor.shape))))

        results = [port(f"output_{i}", tensor) for i, tensor in enumerate(outputs)]
        return Graph("images", tuple(self.nodes), (port("input_0", self.input),), tuple(results))


@st.composite
def image_graphs(draw: st.DrawFn) -> Example:
    """Chains with residual branches wherever two tensors have the same shape."""
    data = draw(numbers)
    size = st.integers(4, 23)
    shape = (1, draw(size), draw(st.one_of(size, st.just(1))), draw(st.sampled_from([1, 3, 8])))
    drawing = Drawing(draw, data, shape)
    seen = [drawing.input]
    for _ in range(draw(st.integers(2, 7))):
        x = drawing.layer(seen[-1])
        others = [tensor for tensor in seen[-4:] if tensor.shape == x.shape]
        if others and draw(st.booleans()):
            x = drawing.join(*draw(st.permutations([x, draw(st.sampled_from(others))])))
        beside = [tensor for tensor in seen[-4:] if tensor.shape[:3] == x.shape[:3]]
        if beside and draw(st.booleans()):
            x = drawing.cat(*draw(st.permutations([x, draw(st.sampled_from(beside))])))
        seen.append(x)
    outputs = [seen[-1]]
    if draw(st.booleans()):
        outputs = [drawing.total(seen[-1])]
    if draw(st.sampled_from([False, False, True])):
        outputs.append(draw(st.sampled_from(seen[1:])))
    graph = drawing.graph(*dict.fromkeys(outputs))
    return Example(graph, (data.int8(*drawing.input.shape),))


def viewed(example: Example) -> Example:
    """The same with its image as a view of a flat input, whose rows others may replace."""
    graph, (array,) = example.graph, example.inputs
    (port,) = graph.inputs
    flat = Tensor("flat", port.tensor.dtype, (1, port.tensor.nbytes))
    node = Node(View(port.tensor.shape), (flat,), (port.tensor,), "view #0")
    ports = (Port("x", flat, flat.shape, (0, 1)),)
    graph = replace(graph, nodes=(node, *graph.nodes), inputs=ports)
    return Example(graph, (array.reshape(flat.shape),), f"viewed {example.name}")


def two_pools(keep: bool = True) -> Example:
    """Two 3x3 pools of an image: one group, with a ring between them.

    Args:
        keep: the image is an output too.
    """
    images = Tensor("input_0", np.dtype(np.int8), (1, 16, 8, 4))
    nodes, last = [], images
    for index in range(2):
        _, height, width, channels = last.shape
        shape = (1, height - 2, width - 2, channels)
        pooled = Tensor(f"pooled_{index}", images.dtype, shape)
        op = MaxPool2d(Window((3, 3)), shape, Range(-128, 127))
        nodes.append(Node(op, (last,), (pooled,), f"pool #{index}"))
        last = pooled
    ports = [Port(name, x, x.shape, (0, 1, 2, 3)) for name, x in (("x", images), ("y", last))]
    graph = Graph("pools", tuple(nodes), (ports[0],), (ports[1], ports[0])[: 1 + keep])
    return Example(graph, (Numbers(1).int8(*images.shape),))
