"""Images moved with channels first: the same bits with channels last, a row from a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from harness.convolutions import Numbers
from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.importer.images import keep_channels_last
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import Part, View
from cmcompiler.ir.op import ALIGN, Op
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import Activation

INT8 = np.dtype(np.int8)


class Network:
    """Nodes that move an image [1, H, W, C], which an op that is no movement makes."""

    def __init__(self, height: int, width: int, channels: int) -> None:
        self.nodes: list[Node] = []
        shape = (1, height, width, channels)
        self.input = Tensor("x", INT8, shape)
        table = np.arange(256, dtype=np.uint8)[::-1].tobytes()
        self.image = self.add(Activation(table), shape, self.input)

    def add(self, op: Op, shape: tuple[int, ...], *inputs: Tensor) -> Tensor:
        result = Tensor(f"t{len(self.nodes)}", INT8, shape)
        self.nodes.append(Node(op, inputs, (result,), f"{op.label} #{len(self.nodes)}"))
        return result

    def transposed(self, x: Tensor, *order: int) -> Tensor:
        return self.add(Transpose(order), tuple(x.shape[dim] for dim in order), x)

    def first(self, x: Tensor) -> Tensor:
        return self.transposed(x, 0, 3, 1, 2)

    def last(self, x: Tensor) -> Tensor:
        """Read by what is no movement."""
        x = self.transposed(x, 0, 2, 3, 1)
        return self.add(self.nodes[0].op, x.shape, x)

    def shuffled(self, x: Tensor, groups: int) -> Tensor:
        """[1, C, H, W] with the channels of all groups in turn."""
        batch, channels, *size = x.shape
        split = (batch, groups, channels // groups, *size)
        parts = self.transposed(self.add(View(split), split, x), 0, 2, 1, 3, 4)
        return self.add(View(x.shape), x.shape, parts)

    def half(self, x: Tensor, index: int) -> Tensor:
        batch, channels, *size = x.shape
        shape = (batch, channels // 2, *size)
        offset = index * x.nbytes // 2
        if offset % ALIGN == 0:
            return self.add(Part(shape, offset), shape, x)
        reads = Strided.dense(x.shape).slice(1, index * shape[1], shape[1])
        return self.add(Copy("slice", INT8, shape, (Piece(0, reads, dense(shape)),)), shape, x)

    def cat(self, x: Tensor, y: Tensor, y_last: bool) -> Tensor:
        """[1, C, H, W], of which the second one may have its channels last."""
        reads = dense(y.shape)
        reads = reads.permute((0, 3, 1, 2)) if y_last else reads
        shape = (1, x.shape[1] + reads.shape[1], *x.shape[2:])
        writes = dense(shape)
        parts = (
            Piece(0, dense(x.shape), writes.slice(1, 0, x.shape[1])),
            Piece(1, reads, writes.slice(1, x.shape[1], reads.shape[1])),
        )
        return self.add(Copy("cat", INT8, shape, parts), shape, x, y)

    def rewritten(self, outputs: Iterable[Tensor], states: Sequence[Tensor] = ()) -> list[Node]:
        """What reads rows instead, after a look at the bits."""
        ports = tuple(Port(t.name, t, t.shape, tuple(range(len(t.shape)))) for t in outputs)
        source = Port("x", self.input, self.input.shape, (0, 1, 2, 3))
        before = Graph("before", tuple(self.nodes), (source,), ports)
        nodes = keep_channels_last(self.nodes, [port.tensor for port in ports], states)
        after = Graph("after", tuple(nodes), (source,), ports)
        sample = Numbers(4).int8(*self.input.shape)
        actual, expected = (evaluate(graph, (sample,)).outputs for graph in (after, before))
        for ours, theirs in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        return nodes


def dense(shape: tuple[int, ...]) -> Strided:
    return Strided.dense(shape)


def has_rows(node: Node) -> bool:
    return node.op.view_of is not None or bool(
        node.op.row_calls(node.inputs, node.outputs, Isa.SCALAR)
    )


@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from([4, 8, 16]), st.data())
def test_a_network_of_shuffles_has_rows_alone(
    height: int, width: int, channels: int, data: st.DataObject
) -> None:
    network = Network(height, width, channels)
    x, outputs = network.first(network.image), []
    for _ in range(data.draw(st.integers(1, 4))):
        kind = data.draw(st.sampled_from(["shuffle", "split", "cat"]))
        if kind == "shuffle":
            x = network.shuffled(x, data.draw(st.sampled_from([2, 4])))
        elif kind == "split":
            outputs.append(network.last(network.half(x, 0)))
            beside = data.draw(st.booleans())
            y = outputs[-1] if beside else network.half(x, 0)
            x = network.cat(network.half(x, 1), y, beside)
        else:
            x = network.cat(x, network.first(network.image), False)
    outputs.append(network.last(x))
    nodes = network.rewritten(outputs)
    assert not any(isinstance(node.op, Transpose) for node in nodes)
    assert all(map(has_rows, nodes))


def test_what_others_read_keeps_its_channels_first() -> None:
    network = Network(4, 4, 8)
    x = network.shuffled(network.first(network.image), 2)
    network.last(x)
    assert network.rewritten([x]) == network.nodes


def test_a_state_is_read_before_its_memory_is_written() -> None:
    network = Network(4, 4, 8)
    x = network.last(network.shuffled(network.first(network.input), 2))
    assert network.rewritten([x], [network.input]) == network.nodes


def test_images_with_channels_last_stay_as_they_are() -> None:
    network = Network(4, 4, 8)
    writes = dense((1, 6, 6, 8)).slice(1, 1, 4).slice(2, 1, 4)
    pad = Copy("pad", INT8, (1, 6, 6, 8), (Piece(0, dense((1, 4, 4, 8)), writes),), 3)
    x = network.add(pad, pad.shape, network.image)
    x = network.add(Activation(bytes(256)), x.shape, x)
    assert network.rewritten([x]) == network.nodes


def test_two_readers_of_one_shuffle_share_it() -> None:
    network = Network(4, 4, 8)
    x = network.shuffled(network.first(network.image), 2)
    outputs = [network.last(x), network.last(x)]
    labels = [node.op.label for node in network.rewritten(outputs)]
    assert labels.count("copy") == 1


def test_shuffles_that_no_loops_make_at_once_stay() -> None:
    network = Network(4, 4, 12)
    x = network.shuffled(network.shuffled(network.first(network.image), 2), 4)
    assert network.rewritten([network.last(x)]) == network.nodes
