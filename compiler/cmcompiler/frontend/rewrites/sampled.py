"""Values of a graph's nodes on a few calibration inputs, while it is rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node

from cmcompiler.frontend.rewrites.editing import owner

_SAMPLES = "samples"
"""Key of a graph input's metadata."""

_MOST = 8

_BYTE_STEPS = 255


def note_samples(module: GraphModule, samples: Sequence[tuple[Tensor, ...]]) -> None:
    """Keeps a few samples, an element for each input of the graph, with its inputs."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    chosen = samples[:: -(-len(samples) // _MOST)] if samples else ()
    for node, column in zip(inputs, zip(*chosen, strict=True), strict=False):
        node.meta[_SAMPLES] = column


def byte_step(column: Sequence[Tensor]) -> float:
    """The step of a node's values on samples in 255 steps; 0 if all are the same."""
    ends = [float(end) for x in column for end in x.aminmax()]
    return (max(ends) - min(ends)) / _BYTE_STEPS


def sampled(*nodes: Node) -> Iterator[list[Tensor]]:
    """The values of nodes on each sample; none if an input has no samples."""
    graph, needed = nodes[0].graph, set[Node]()
    left = list(nodes)
    while left:
        node = left.pop()
        if node not in needed:
            needed.add(node)
            left += node.all_input_nodes
    order = [node for node in graph.nodes if node in needed]
    inputs = [node for node in order if node.op == "placeholder"]
    if not all(_SAMPLES in node.meta for node in inputs):
        return
    interpreter = Interpreter(owner(nodes[0]))
    for row in zip(*(node.meta[_SAMPLES] for node in inputs), strict=True):
        interpreter.env = dict(zip(inputs, row, strict=True))
        with torch.no_grad():
            for node in order:
                if node.op != "placeholder":
                    interpreter.env[node] = interpreter.run_node(node)
        yield [interpreter.env[node] for node in nodes]
