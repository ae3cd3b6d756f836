"""A stage's result that takes the place of its input, row by row."""

from __future__ import annotations

from dataclasses import replace

from harness.convolutions import Numbers
from harness.examples import Example
from harness.image_graphs import two_pools
from harness.streamed import streamed

from cmcompiler.ir.graph import Node
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import Activation


def with_table(example: Example, after: int, read_twice: bool = False) -> Example:
    """With a table of each number behind a node.

    Args:
        read_twice: its input is the graph's last output, too.
    """
    graph, table = example.graph, Activation(Numbers(2).int8(256).tobytes())
    (image,) = graph.nodes[after].outputs
    looked_up = Tensor("looked_up", image.dtype, image.shape)
    nodes = [
        replace(node, inputs=tuple(looked_up if t is image else t for t in node.inputs))
        for node in graph.nodes
    ]
    nodes.insert(after + 1, Node(table, (image,), (looked_up,), "table"))
    is_last = after + 1 == len(graph.nodes)
    (port, *rest) = graph.outputs
    outputs = [replace(port, tensor=looked_up) if is_last else port, *rest]
    if read_twice:
        outputs.append(replace(port, name="second", tensor=image, shape=image.shape))
    return replace(example, graph=replace(graph, nodes=tuple(nodes), outputs=tuple(outputs)))


def test_a_table_takes_no_memory() -> None:
    plain, _ = streamed(two_pools(), Isa.SCALAR)
    plan, (stream,) = streamed(with_table(two_pools(), 0), Isa.SCALAR)
    ((guest, host),) = stream.hosts.items()
    assert (host.name, plan.places[guest]) == ("looked_up", plan.places[host])
    progress_of_a_stage = 12
    assert plan.arena_bytes - plain.arena_bytes <= progress_of_a_stage + 4


def test_what_others_read_stays() -> None:
    _, streams = streamed(with_table(two_pools(), 0, read_twice=True), Isa.SCALAR)
    assert not any(stream.hosts for stream in streams)
