"""Pads before windows: folded where every reader can say them, the same bits on every runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from harness.convolutions import Numbers
from harness.examples import Example
from harness.runtime import Runtime

from cmcompiler.importer.padding import fold_padding
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.requantize import Range, Requantize
from cmcompiler.ops.support.window import Window

ZERO = -3
SCALES = (1 << 30, -8)


def margins(shape: Sequence[int], before: Sequence[int], after: Sequence[int], fill: int) -> Copy:
    whole = tuple(n + a + b for n, a, b in zip(shape, before, after, strict=True))
    writes = Strided.dense(whole)
    for dim, (start, count) in enumerate(zip(before, shape, strict=True)):
        writes = writes.slice(dim, start, count)
    return Copy("pad", np.dtype(np.int8), whole, (Piece(0, Strided.dense(shape), writes),), fill)


def conv(image: Sequence[int], window: Window, kind: type = Conv2d, groups: int = 1) -> Op:
    channels, size = image[3], window.output_size(image[1:3])
    outputs = channels if kind is DepthwiseConv2d else 8
    shape = (*window.kernel, channels)
    if kind is Conv2d:
        shape = (outputs, *window.kernel, channels // groups)
    weights = Numbers(4).int8(*shape)
    scales = Requantize.checked(
        *([SCALES[0]], [SCALES[1]], outputs), zero_point=5, minimum=-128, maximum=127
    )
    rest = (groups,) if kind is Conv2d else ()
    bias = np.arange(outputs, dtype=np.int32)
    return kind(weights, bias, window, ZERO, scales, (1, *size, outputs), *rest)


def chain(shape: Sequence[int], *ops: Op) -> Graph:
    """Ops one after the other."""
    tensor = Tensor("x", np.dtype(np.int8), tuple(shape))
    port = Port("x", tensor, tensor.shape, tuple(range(len(shape))))
    nodes = []
    for number, op in enumerate(ops):
        (array,) = op.reference(np.zeros(tensor.shape, tensor.dtype))
        output = Tensor(f"t{number}", array.dtype, array.shape)
        nodes.append(Node(op, (tensor,), (output,), f"{op.label} #{number}"))
        tensor = output
    result = Port("y", tensor, tensor.shape, tuple(range(len(tensor.shape))))
    return Graph("chain", tuple(nodes), (port,), (result,))


def folded(graph: Graph) -> Graph:
    """Without the nodes that nothing needs then."""
    outputs = [port.tensor for port in graph.outputs]
    needed, live = set(outputs), []
    for node in reversed(fold_padding(graph.nodes, outputs, [])):
        if not needed.isdisjoint(node.outputs):
            live.append(node)
            needed.update(node.reads)
    return replace(graph, nodes=tuple(reversed(live)))


def cases() -> list[Graph]:
    graphs = []
    image = (1, 9, 10, 8)
    for before, after in (((0, 0), (1, 1)), ((1, 2), (0, 3)), ((3, 0), (4, 0)), ((0, 5), (7, 6))):
        pad = margins(image, (0, *before, 0), (0, *after, 0), ZERO)
        windows = [
            Window((3, 3), (2, 2)),
            Window((3, 3)),
            Window((3, 1), (1, 1), (1, 0)),
            Window((5, 5)),
            Window((1, 1)),
            Window((2, 2), (2, 2)),
            Window((2, 3), (1, 1), (1, 1), (2, 2)),
        ]
        for window in windows:
            if all(n >= r for n, r in zip(pad.shape[1:3], window.reach, strict=True)):
                graphs.append(chain(image, pad, conv(pad.shape, window, DepthwiseConv2d)))
                graphs.append(chain(image, pad, conv(pad.shape, window)))
        graphs.append(chain(image, pad, conv(pad.shape, Window((3, 3)), groups=2)))
        twice = margins(pad.shape, (0, 1, 0, 0), (0, 0, 1, 0), ZERO)
        graphs.append(chain(image, pad, twice, conv(twice.shape, Window((3, 3)))))
    pad = margins(image, (0, 0, 0, 0), (0, 1, 1, 0), -128)
    pool = MaxPool2d(Window((2, 2), (2, 2)), (1, 5, 5, 8), Range(-100, 127))
    graphs.append(chain(image, pad, pool))
    graphs.append(_sequence())
    return graphs


def _sequence() -> Graph:
    """Padded with channels first, as one dimension."""
    pad = margins((1, 8, 20), (0, 0, 4), (0, 0, 1), ZERO)
    moved = (View((1, 8, 1, 25)), Transpose((0, 2, 3, 1)))
    return chain((1, 8, 20), pad, *moved, conv((1, 1, 25, 8), Window((1, 3))))


def test_pads_fold_to_the_same_bits(runtime: Runtime) -> None:
    examples = []
    for graph in cases():
        sample = Numbers(7).int8(*graph.inputs[0].shape)
        made = folded(graph)
        assert not any(node.op.label == "copy" for node in made.nodes)
        (expected,) = evaluate(graph, (sample,)).outputs
        np.testing.assert_array_equal(evaluate(made, (sample,)).outputs[0], expected)
        examples.append(Example(made, (sample,)))
    runtime.check(*examples)


IMAGE = (1, 6, 6, 4)
ROOM = margins(IMAGE, (0, 0, 0, 0), (0, 1, 1, 0), ZERO)
TABLE = Activation(bytes(256), name="other")


@pytest.mark.parametrize(
    "ops",
    [
        (margins(IMAGE, (0, 0, 0, 0), (0, 1, 1, 0), 0), conv((1, 7, 7, 4), Window((3, 3)))),
        (margins(IMAGE, (0, 0, 0, 0), (0, 0, 0, 2), ZERO), conv((1, 6, 6, 6), Window((3, 3)))),
        (ROOM, MaxPool2d(Window((2, 2), (2, 2)), (1, 3, 3, 4), Range(-128, 127))),
        (
            margins(IMAGE, (0, 0, 0, 0), (0, 2, 0, 0), -128),
            MaxPool2d(Window((2, 2), (2, 2)), (1, 4, 3, 4), Range(-128, 127)),
        ),
        (ROOM, View((1, 7 * 7, 1, 4)), conv((1, 49, 1, 4), Window((3, 1)))),
        (ROOM, TABLE),
    ],
    ids=["other number", "channels", "pool of zeros", "empty window", "joined", "no window"],
)
def test_other_pads_stay(ops: tuple[Op, ...]) -> None:
    graph = chain(IMAGE, *ops)
    assert [node.op for node in folded(graph).nodes] == list(ops)


def test_a_pad_with_another_reader_stays() -> None:
    graph = chain(IMAGE, ROOM, conv(ROOM.shape, Window((3, 3))))
    padded = graph.nodes[0].outputs[0]
    shown = replace(graph, outputs=(*graph.outputs, Port("p", padded, padded.shape, (0, 1, 2, 3))))
    assert [node.op for node in folded(shown).nodes] == [node.op for node in graph.nodes]


def test_memory_that_is_written_later_is_copied_first() -> None:
    graph = chain(IMAGE, ROOM, conv(ROOM.shape, Window((3, 3))))
    state = graph.inputs[0].tensor
    assert fold_padding(graph.nodes, [graph.outputs[0].tensor], [state]) == list(graph.nodes)
