"""Random graphs with dead, constant and unread channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Strided
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
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.minimum import Maximum
from cmcompiler.ops.mul import Mul
from cmcompiler.ops.quantized_sum import QuantizedSum
from cmcompiler.ops.support.elementwise import dense_loops
from cmcompiler.ops.support.parameters import Rescale
from cmcompiler.ops.support.requantize import Int8Array, Int32Array, Range, Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.gathering import gathering

Shape = tuple[int, ...]
INT8 = np.dtype(np.int8)
SIZE = 8
"""Rows and columns of the input."""


class PrunableGraph:
    """Layers of random kinds in a random order, over images and then over features.

    Attributes:
        nodes: those so far.
    """

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self.nodes: list[Node] = []
        self.source = Tensor("image", INT8, (1, SIZE, SIZE, 3))

    def made(self) -> Graph:
        image = self._convolution(self.source, 8)
        for _ in range(int(self._chance.integers(2, 6))):
            image = self._next(image)
        features = self._head(image)
        outputs = [features]
        if self._chance.random() < 0.2:
            outputs.append(image)
        ports = (_port(f"output_{index}", tensor) for index, tensor in enumerate(outputs))
        return Graph("forward", tuple(self.nodes), (_port("input_0", self.source),), tuple(ports))

    def inputs(self) -> Int8Array:
        """A sample."""
        return self._chance.integers(-128, 128, self.source.shape).astype(np.int8)

    def _next(self, image: Tensor) -> Tensor:
        layers = (
            *(self._convolution, self._convolution, self._depthwise, self._depthwise),
            *(self._residual, self._residual, self._branches, self._function, self._padded),
            *(self._pooled, self._squeezed, self._sliced, self._stacked, self._with_constant),
        )
        chosen: Tensor = layers[self._chance.integers(len(layers))](image)
        return chosen

    def _emit(self, op: Op, inputs: Sequence[Tensor], shape: Shape) -> Tensor:
        count = len(self.nodes)
        output = Tensor(f"tensor_{count}", INT8, tuple(map(int, shape)))
        self.nodes.append(Node(op, tuple(inputs), (output,), f"{op.label} #{count}"))
        return output

    def _choose(self, *numbers: int) -> int:
        return int(self._chance.choice(numbers))

    def _weights(self, count: int, *shape: int) -> Int8Array:
        """Some filters are zero, and some inputs are read by none."""
        weights = self._chance.integers(-127, 128, (count, *shape)).astype(np.int8)
        weights[self._chance.random(count) < 0.35] = 0
        weights[..., self._chance.random(shape[-1]) < 0.15] = 0
        return weights

    def _bias(self, count: int) -> Int32Array:
        """Some are so large that the clamp leaves one number."""
        bias = self._chance.integers(-4000, 4000, count)
        bias[self._chance.random(count) < 0.2] = self._choose(-(1 << 22), 1 << 22, 1 << 30)
        return bias.astype(np.int32)

    def _requantize(self, count: int) -> Requantize:
        """Some scales are extraordinary."""
        low, high = self._choose(-128, -128, -20, 5), self._choose(127, 127, 60)
        multipliers = self._chance.integers(1 << 30, (1 << 31) - 1, count)
        shifts = self._chance.integers(-12, -4, count)
        odd = self._chance.random(count) < 0.1
        shifts[odd] = self._choose(-31, 2)
        return Requantize.checked(
            multipliers.tolist(),
            shifts.tolist(),
            count,
            zero_point=self._choose(low, 0, 3),
            minimum=low,
            maximum=high,
        )

    def _window(self, image: Tensor) -> tuple[Window, Shape]:
        """A window and the rows and columns that it gives."""
        kernel = self._choose(1, 1, 3) if min(image.shape[1:3]) >= 3 else 1
        stride = self._choose(1, 1, 2)
        before, after = (self._choose(0, 1, 1) if kernel > 1 else 0 for _ in range(2))
        dilation = 2 if kernel == 3 and min(image.shape[1:3]) >= 5 and self._choose(0, 0, 1) else 1
        window = Window((kernel,) * 2, (stride,) * 2, (before,) * 2, (dilation,) * 2)
        sizes = (
            (size + before + after - window.reach[axis]) // stride + 1
            for axis, size in enumerate(image.shape[1:3])
        )
        return window, tuple(sizes)

    def _convolution(self, image: Tensor, channels: int | None = None) -> Tensor:
        count = channels or self._choose(5, 8, 12)
        window, sizes = self._window(image)
        shape = (1, *sizes, count)
        groups = image.shape[3] if image.shape[3] in (8, 12) and count == image.shape[3] else 1
        groups = 4 if groups > 1 and self._choose(0, 0, 0, 1) else 1
        op = Conv2d(
            self._weights(count, *window.kernel, image.shape[3] // groups),
            self._bias(count),
            window,
            self._choose(-128, -128, 0, 5),
            self._requantize(count),
            shape,
            groups,
        )
        return self._emit(op, [image], shape)

    def _depthwise(self, image: Tensor) -> Tensor:
        count = image.shape[3]
        window, sizes = self._window(image)
        shape = (1, *sizes, count)
        weights = self._chance.integers(-127, 128, (*window.kernel, count)).astype(np.int8)
        weights[..., self._chance.random(count) < 0.3] = 0
        op = DepthwiseConv2d(
            *(weights, self._bias(count), window, self._choose(-128, 0)),
            *(self._requantize(count), shape),
        )
        return self._emit(op, [image], shape)

    def _same(self, image: Tensor) -> Tensor:
        """A convolution with the shape of its image."""
        count, kernel = image.shape[3], self._choose(1, 3)
        op = Conv2d(
            *(self._weights(count, kernel, kernel, count), self._bias(count)),
            Window((kernel,) * 2, padding=(kernel // 2,) * 2),
            *(self._choose(-128, 0), self._requantize(count), image.shape),
        )
        return self._emit(op, [image], image.shape)

    def _rescale(self, shift: int) -> Rescale:
        multiplier = int(self._chance.integers(1 << 30, (1 << 31) - 1))
        return Rescale(self._choose(-128, 0), multiplier, shift)

    def _residual(self, image: Tensor) -> Tensor:
        other, shape = self._same(image), image.shape
        loops, kind = dense_loops([shape, shape], shape), self._choose(0, 0, 1, 2)
        if kind == 1:
            op: Op = Mul(loops, shape, self._choose(-128, 0), 3, self._rescale(-6))
        elif kind == 2:
            op = Maximum(loops, shape)
        else:
            scales = (self._rescale(0), self._rescale(-1), self._rescale(-18))
            op = Add(loops, shape, *scales, Range(self._choose(-128, 0), 127))
        return self._emit(op, [image, other], shape)

    def _with_constant(self, image: Tensor) -> Tensor:
        """A number a channel is added."""
        count, shape = image.shape[3], image.shape
        data = self._chance.integers(-128, 128, (1, 1, 1, count)).astype(np.int8)
        added = Tensor(f"constant_{len(self.nodes)}", INT8, data.shape, data)
        scales = (self._rescale(0), self._rescale(-1), self._rescale(-18))
        op = Add(dense_loops([shape, data.shape], shape), shape, *scales, Range(-128, 127))
        return self._emit(op, [image, added], shape)

    def _branches(self, image: Tensor) -> Tensor:
        """Two convolutions side by side."""
        parts = [self._same(image), self._same(image)]
        count = image.shape[3]
        shape = (*image.shape[:3], 2 * count)
        whole = Strided.dense(shape)
        pieces = tuple(
            Piece(index, Strided.dense(part.shape), whole.slice(3, index * count, count))
            for index, part in enumerate(parts)
        )
        joined = self._emit(Copy("cat", INT8, shape, pieces), parts, shape)
        return self._convolution(joined)

    def _function(self, image: Tensor) -> Tensor:
        table = self._chance.integers(-128, 128, 256).astype(np.int8)
        table[: self._choose(1, 128, 200)] = -5
        return self._emit(Activation(table.tobytes()), [image], image.shape)

    def _padded(self, image: Tensor) -> Tensor:
        _, height, width, count = image.shape
        shape = (1, height + 2, width + 1, count)
        inner = Strided.dense(shape).slice(1, 1, height).slice(2, 0, width)
        pieces = (Piece(0, Strided.dense(image.shape), inner),)
        op = Copy("pad", INT8, shape, pieces, self._choose(-128, 0, -5))
        return self._emit(op, [image], shape)

    def _sliced(self, image: Tensor) -> Tensor:
        """Some of the channels."""
        count = image.shape[3]
        left = int(self._chance.integers(1, count + 1))
        first = int(self._chance.integers(count - left + 1))
        shape = (*image.shape[:3], left)
        reads = Strided.dense(image.shape).slice(3, first, left)
        pieces = (Piece(0, reads, Strided.dense(shape)),)
        return self._emit(Copy("slice", INT8, shape, pieces), [image], shape)

    def _stacked(self, image: Tensor) -> Tensor:
        """Twice, one above the other."""
        _, height, _, _ = image.shape
        shape = (1, 2 * height, *image.shape[2:])
        if height > SIZE:
            return image
        whole = Strided.dense(shape)
        other = self._same(image)
        pieces = (
            Piece(0, Strided.dense(image.shape), whole.slice(1, 0, height)),
            Piece(1, Strided.dense(image.shape), whole.slice(1, height, height)),
        )
        return self._emit(Copy("cat", INT8, shape, pieces), [image, other], shape)

    def _pooled(self, image: Tensor) -> Tensor:
        if min(image.shape[1:3]) < 3:
            return image
        window, sizes = (
            Window((3, 3), (2, 2), (1, 1)),
            [(size + 1) // 2 for size in image.shape[1:3]],
        )
        shape = (1, *sizes, image.shape[3])
        if self._choose(0, 1):
            return self._emit(AvgPool2d(window, shape), [image], shape)
        return self._emit(MaxPool2d(window, shape, Range(-100, 100)), [image], shape)

    def _squeezed(self, image: Tensor) -> Tensor:
        """Each channel times a number of its own, from the means."""
        means = self._mean(image)
        gates = self._same(means)
        loops = dense_loops([image.shape, gates.shape], image.shape)
        op = Mul(loops, image.shape, self._choose(-128, 0), -128, self._rescale(-8))
        return self._emit(op, [image, gates], image.shape)

    def _mean(self, image: Tensor) -> Tensor:
        _, height, width, count = image.shape
        shape = (1, 1, 1, count)
        if self._choose(0, 1):
            op: Op = Extreme(True, 1, height * width, count, shape)
        else:
            op = QuantizedSum(1, height * width, count, -128, self._rescale(-6), shape)
        return self._emit(op, [image], shape)

    def _head(self, image: Tensor) -> Tensor:
        if self._choose(0, 1):
            image = self._mean(image)
        features = self._emit(View((1, image.numel)), [image], (1, image.numel))
        for count in (9, 6):
            depth = features.shape[1]
            scale = self._requantize(count)
            op = Linear(self._weights(count, depth), self._bias(count), scale, 1)
            features = self._emit(op, [features], (1, count))
        return features


def with_all_gathered(graph: Graph) -> Graph:
    """The graph with every copy of read channels, whether it is worth it or not."""
    parts = [gathering(node) or (node,) for node in graph.nodes]
    if not any(len(part) > 1 for part in parts):
        return graph
    nodes = tuple(node for part in parts for node in part)
    return replace(graph, nodes=nodes, pruning=replace(graph.before, is_gathered=True))


def _port(name: str, tensor: Tensor) -> Port:
    return Port(name, tensor, tensor.shape, tuple(range(len(tensor.shape))))
