"""A graph of ops on a sequence, which is an image of one row."""

from __future__ import annotations

import numpy as np

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.minimum import Minimum
from cmcompiler.ops.quantized_upsample import QuantizedBilinear
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.ops.transpose_conv2d import TransposeConv2d
from cmcompiler.ops.upsample import Blend
from harness.convolutions import Numbers

INT8 = np.dtype(np.int8)
LENGTH, CHANNELS = 40, 8


def sequence_graph() -> Graph:
    """Every kind of op that streams can run, on int8 [1, 1, L, 8]."""
    data = Numbers(1)
    scale = Requantize.checked([1 << 30], [-9], CHANNELS, zero_point=3, minimum=-128, maximum=127)
    last = first = Tensor("x", INT8, (1, 1, LENGTH, CHANNELS))
    nodes: list[Node] = []

    def add(op: Op, length: int, *further: Tensor) -> Tensor:
        output = Tensor(f"t{len(nodes)}", INT8, (1, 1, length, CHANNELS))
        nodes.append(Node(op, (last, *further), (output,), f"{op.label} #{len(nodes)}"))
        return output

    shape = (1, 1, LENGTH, CHANNELS)
    biases = data.biases(CHANNELS)
    window = Window((1, 5), padding=(0, 4), dilation=(1, 2))
    weights = data.int8(CHANNELS, 1, 5, CHANNELS)
    last = add(Conv2d(weights, biases, window, 3, scale, shape), LENGTH)
    window = Window((1, 3), padding=(0, 1))
    last = add(DepthwiseConv2d(data.int8(1, 3, CHANNELS), biases, window, 3, scale, shape), LENGTH)
    dense = Strided.dense(shape)
    last = add(Minimum(Loops.over(dense, dense, dense), shape), LENGTH, nodes[0].outputs[0])
    half = (1, 1, LENGTH // 2, CHANNELS)
    last = add(AvgPool2d(Window((1, 2), (1, 2)), half), LENGTH // 2)
    weights = data.int8(CHANNELS, 1, 4, CHANNELS)
    window = Window((1, 4), (1, 2), (0, 1))
    op = TransposeConv2d(weights, biases, window, 3, scale, shape, half)
    last = add(op, LENGTH)
    wide = (1, 1, LENGTH + 3, CHANNELS)
    writes = Strided.dense(wide).slice(2, 2, LENGTH)
    last = add(Copy("pad", INT8, wide, (Piece(0, dense, writes),), 3), LENGTH + 3)
    places = np.linspace(0, LENGTH + 2, 2 * LENGTH, dtype=np.float32)
    blends = Blend.between(np.zeros(1, np.float32), 1), Blend.between(places, LENGTH + 3)
    op = QuantizedBilinear(*blends, (1, 1, 2 * LENGTH, CHANNELS))
    last = add(op, 2 * LENGTH)
    last = add(Activation(data.int8(256).tobytes()), 2 * LENGTH)
    ports = (Port(t.name, t, t.shape, (0, 1, 2, 3)) for t in (first, last))
    return Graph("sequence", tuple(nodes), (next(ports),), (next(ports),))
