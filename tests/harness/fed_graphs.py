"""Random graphs whose inputs and outputs can come and go row by row, in every form of an image."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.quantize import Quantize
from cmcompiler.ops.support.requantize import Range
from cmcompiler.ops.support.window import Window
from harness.convolutions import Numbers, numbers
from harness.examples import Example

INT8, FLOAT = np.dtype(np.int8), np.dtype(np.float32)
SCHEME = Quantization(0.25, 3, -128, 127)
FORMS = ("image", "channels-first", "any order", "columns", "rows", "matrix", "batch of rows")


class _Chain:
    """From one input to one output: an image of some form, a pool, an image of another form."""

    def __init__(self, draw: st.DrawFn, index: int) -> None:
        self._draw = draw
        self._index = index
        self.nodes: list[Node] = []
        side = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 8, 11, 16, 20])
        # Nothing can be fed if no image has several rows.
        rows = draw(side.filter(lambda n: n > 1)) if index == 0 else draw(side)
        self._image = (1, rows, draw(side), draw(st.sampled_from([1, 1, 2, 3, 8])))
        self.input = self._source()
        self.output = self._result()

    def _add(self, op: Op, x: Tensor, shape: tuple[int, ...], dtype: np.dtype) -> Tensor:  # type: ignore[type-arg]
        y = Tensor(f"t{self._index}_{len(self.nodes)}", dtype, shape)
        self.nodes.append(Node(op, (x,), (y,), f"{op.label} #{len(self.nodes)}"))
        return y

    def _source(self) -> Port:
        """An input, and what makes the image of it."""
        name, dtype = f"input_{self._index}", self._draw(st.sampled_from([INT8, FLOAT]))
        _, height, width, channels = self._image
        form, order = self._draw(st.sampled_from(FORMS)), (0, 1, 2, 3)
        logical: tuple[int, ...] = self._image
        if form == "channels-first":
            logical = (1, channels, height, width)
        elif form == "any order":
            order = tuple(self._draw(st.permutations(range(4))))
            logical = tuple(self._image[order.index(axis)] for axis in range(4))
        elif form == "columns":  # a sequence: one row of `height` columns
            self._image = (1, height, 1, channels)
            logical = (1, 1, height, channels)
        elif form == "rows":
            logical = (height, width, channels)
        elif form == "matrix":
            logical = (height, width * channels)
        elif form == "batch of rows":
            logical = (1, height, width * channels)
        tensor = Tensor(name, dtype, tuple(logical[axis] for axis in order[: len(logical)]))
        x = tensor
        if dtype == FLOAT:
            x = self._add(Quantize(INT8, 0.25, 3, -128, 127), x, x.shape, INT8)
        if form == "channels-first":
            x = self._add(Transpose((0, 2, 3, 1)), x, self._image, INT8)
        elif x.shape != self._image:
            x = self._add(View(self._image), x, self._image, INT8)
        self._last = x
        scheme = SCHEME if dtype == FLOAT else None
        return Port(name, tensor, logical, order[: len(logical)], scheme)

    def _result(self) -> Port:
        """A pool, and the output's own form."""
        x, name = self._last, f"output_{self._index}"
        _, height, width, channels = x.shape
        kernel = tuple(min(n, self._draw(st.sampled_from([1, 2, 3]))) for n in (height, width))
        stride = tuple(self._draw(st.sampled_from([1, 1, 2])) for _ in range(2))
        window = Window((kernel[0], kernel[1]), (stride[0], stride[1]))
        shape = (1, *window.output_size((height, width)), channels)
        assert prod(shape) > 0
        x = self._add(MaxPool2d(window, shape, Range(-128, 127)), x, shape, INT8)
        order, scheme = (0, 1, 2, 3), None
        if self._draw(st.booleans()):
            moved = (0, 3, 1, 2)
            shape = (shape[0], shape[3], shape[1], shape[2])
            x = self._add(Transpose(moved), x, shape, INT8)
        if self._draw(st.booleans()):
            x = self._add(Dequantize(0.25, 3), x, x.shape, FLOAT)
            scheme = SCHEME
        return Port(name, x, x.shape, order, scheme)


@st.composite
def fed_graphs(draw: st.DrawFn) -> Example:
    """One to three chains, with inputs and outputs of different lengths."""
    data = draw(numbers)
    chains = [_Chain(draw, index) for index in range(draw(st.integers(1, 3)))]
    nodes = tuple(node for chain in chains for node in chain.nodes)
    inputs = tuple(chain.input for chain in chains)
    graph = Graph("fed", nodes, inputs, tuple(chain.output for chain in chains))
    samples = tuple(_sample(port, data) for port in inputs)
    return Example(graph, samples)


def _sample(port: Port, data: Numbers) -> np.ndarray:  # type: ignore[type-arg]
    steps = data.int8(*port.shape)
    return steps.astype(np.float32) * np.float32(0.25) if port.tensor.dtype == FLOAT else steps
