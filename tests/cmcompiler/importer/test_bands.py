"""Convolutions of bands of rows: without copies, the same bits on every runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from harness.convolutions import Numbers
from harness.examples import Example
from harness.runtime import Runtime

from cmcompiler.importer.bands import join_bands, keep_bands_in_rows
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def banded(height: int, width: int, channels: int, bands: int, *, kernel: int = 1) -> Graph:
    data, joined = Numbers(2), channels * bands
    window = Window((kernel, kernel), padding=(kernel // 2, kernel // 2))
    scales = Requantize.checked(
        [(1 << 30) + 1000 * i for i in range(joined)],
        [-6 - i % 3 for i in range(joined)],
        joined,
        zero_point=-9,
        minimum=-128,
        maximum=127,
    )
    shape = (1, height // bands, width, joined)
    weights = data.int8(kernel, kernel, joined)
    op = DepthwiseConv2d(weights, data.biases(joined), window, 7, scales, shape)
    ops = [
        Transpose(FIRST),
        View((1, joined, height // bands, width)),
        Transpose(LAST),
        op,
        Transpose(FIRST),
        View((1, channels, height, width)),
    ]
    return chain((1, height, width, channels), ops)


def chain(shape: tuple[int, ...], ops: Sequence[Op]) -> Graph:
    tensor = Tensor("x", np.dtype(np.int8), shape)
    port, nodes = Port("x", tensor, shape, (0, 1, 2, 3)), []
    for number, op in enumerate(ops):
        (array,) = op.reference(np.zeros(tensor.shape, np.int8))
        output = Tensor(f"t{number}", tensor.dtype, array.shape)
        nodes.append(Node(op, (tensor,), (output,), f"{op.label} #{number}"))
        tensor = output
    return Graph("bands", tuple(nodes), (port,), (Port("y", tensor, tensor.shape, (0, 1, 2, 3)),))


def of_tokens() -> Graph:
    """A convolution between tokens, as in the feed-forward layers of a SegFormer."""
    (op,) = (node.op for node in banded(4, 4, 8, 1).nodes if isinstance(node.op, DepthwiseConv2d))
    ops = [Transpose((0, 2, 1)), View((1, 8, 4, 4)), Transpose(LAST), op]
    return chain((1, 16, 8), [*ops, Transpose(FIRST), View((1, 8, 16))])


def kept(graph: Graph) -> Graph:
    """Without the nodes that nothing needs then."""
    needed, live = {port.tensor for port in graph.outputs}, []
    for node in reversed(keep_bands_in_rows(graph.nodes)):
        if not needed.isdisjoint(node.outputs):
            live.append(node)
            needed.update(node.inputs)
    return replace(graph, nodes=tuple(reversed(live)))


def test_bands_are_convolved_where_they_are(runtime: Runtime) -> None:
    examples = []
    for sizes in ((20, 11, 8, 5), (6, 5, 12, 3), (4, 7, 16, 2), (2, 3, 5, 2)):
        graph = banded(*sizes)
        sample = Numbers(5).int8(*graph.inputs[0].shape)
        made = kept(graph)
        assert [node.op.label for node in made.nodes] == ["depthwise_conv2d", "transpose"]
        assert sum(node.op.macs for node in made.nodes) == sum(n.op.macs for n in graph.nodes)
        (expected,) = evaluate(graph, (sample,)).outputs
        np.testing.assert_array_equal(evaluate(made, (sample,)).outputs[0], expected)
        examples.append(Example(made, (sample,)))
    runtime.check(*examples)


@pytest.mark.parametrize("graph", [banded(6, 5, 4, 1), banded(6, 5, 4, 2, kernel=3), of_tokens()])
def test_others_stay(graph: Graph) -> None:
    assert kept(graph).nodes == graph.nodes


def apart(height: int, width: int, channels: int, bands: int, window: Window) -> Graph:
    """Each band of the outputs' rows from the rows that its windows see."""
    data, (stride, _), (reach, _) = Numbers(3), window.stride, window.reach
    shape = (1, height, width, channels)
    image = Tensor("x", np.dtype(np.int8), shape)
    rows = (height + 2 * window.padding[0] - reach) // stride + 1
    columns = width + 2 * window.padding[1] - window.reach[1] + 1
    band, whole = (1, rows // bands, columns, channels), (1, rows, columns, channels)
    scales = Requantize.checked(
        [1 << 30] * channels, [-7] * channels, channels, zero_point=3, minimum=-128, maximum=127
    )
    nodes, pieces, made = [], [], []
    for number in range(bands):
        first = number * band[1] * stride - window.padding[0]
        start, end = max(0, first), min(height, first + (band[1] - 1) * stride + reach)
        part = Tensor(f"p{number}", image.dtype, (1, end - start, width, channels))
        reads = Strided.dense(shape).slice(1, start, end - start)
        taken = Copy(
            "slice", image.dtype, part.shape, (Piece(0, reads, Strided.dense(part.shape)),)
        )
        own = replace(window, padding=(start - first, window.padding[1]))
        weights = data.int8(*window.kernel, channels) // (number + 1)
        op = DepthwiseConv2d(weights, data.biases(channels), own, 7, scales, band)
        made.append(Tensor(f"b{number}", image.dtype, band))
        nodes += [
            Node(taken, (image,), (part,), "slice"),
            Node(op, (part,), (made[-1],), "convolution"),
        ]
        writes = Strided.dense(whole).slice(1, number * band[1], band[1])
        pieces.append(Piece(number, Strided.dense(band), writes))
    output = Tensor("y", image.dtype, whole)
    joined = Copy("cat", image.dtype, whole, tuple(pieces))
    nodes.append(Node(joined, tuple(made), (output,), "cat"))
    ports = [Port(tensor.name, tensor, tensor.shape, (0, 1, 2, 3)) for tensor in (image, output)]
    return Graph("apart", tuple(nodes), (ports[0],), (ports[1],))


def test_convolutions_of_parts_read_the_image(runtime: Runtime) -> None:
    examples = []
    for sizes, window in (
        ((20, 11, 8, 5), Window((3, 1), padding=(1, 0))),
        ((12, 7, 5, 3), Window((3, 3), padding=(1, 1))),
        ((12, 7, 16, 2), Window((5, 3), (2, 1), padding=(2, 1))),
        ((12, 9, 4, 4), Window((3, 3), padding=(2, 1), dilation=(2, 1))),
        ((8, 6, 8, 2), Window((3, 2))),
    ):
        graph = apart(*sizes, window)
        sample = Numbers(5).int8(*graph.inputs[0].shape)
        made = replace(graph, nodes=(join_bands(graph.nodes, [graph.outputs[0].tensor])[-1],))
        assert [node.op.label for node in made.nodes] == ["depthwise_conv2d"]
        (expected,) = evaluate(graph, (sample,)).outputs
        np.testing.assert_array_equal(evaluate(made, (sample,)).outputs[0], expected)
        examples.append(Example(made, (sample,)))
    runtime.check(*examples)


def test_parts_that_others_read_stay() -> None:
    graph = apart(20, 11, 8, 5, Window((3, 1), padding=(1, 0)))
    outputs = [graph.outputs[0].tensor, graph.nodes[1].outputs[0]]
    assert join_bands(graph.nodes, outputs) == list(graph.nodes)
