"""The numbers that each node of a graph computes with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cmcompiler.ir.graph import Graph, Node
    from cmcompiler.ir.tensor import Tensor


class Arithmetic(str, Enum):
    """The numbers of one node, from the least of floats to the most."""

    INTEGER = "integer"
    BOUNDARY = "boundary"
    """Converts between a float input, output or state of the program and integers."""
    FLOAT = "float"
    """Floats are among its inputs or outputs, if only to convert them."""


def arithmetics(graph: Graph) -> Sequence[Arithmetic]:
    """One for each node, in order."""
    inside = {port.tensor for port in graph.inputs} | {state.tensor for state in graph.states}
    fed = {port.tensor for port in graph.inputs if port.fed}
    for node in graph.nodes:
        if not fed.isdisjoint(node.inputs):
            inside.update(node.outputs)
    outside = {port.tensor for port in graph.outputs} | {state.final for state in graph.states}
    drained = {port.tensor for port in graph.outputs if port.fed}
    for node in graph.nodes:
        if not drained.isdisjoint(node.outputs):
            outside.update(node.inputs)
    for node in graph.nodes:
        if node.op.view_of is not None and node.inputs[node.op.view_of] in inside:
            inside.update(node.outputs)
    for node in reversed(graph.nodes):
        if node.op.view_of is not None and not outside.isdisjoint(node.outputs):
            outside.add(node.inputs[node.op.view_of])
    return [_arithmetic(node, inside, outside) for node in graph.nodes]


def strongest(each: Iterable[Arithmetic]) -> Arithmetic:
    """The arithmetic of several nodes together."""
    return max(each, key=list(Arithmetic).index, default=Arithmetic.INTEGER)


def _arithmetic(node: Node, inside: set[Tensor], outside: set[Tensor]) -> Arithmetic:
    reads, writes = (any(map(_is_float, each)) for each in (node.inputs, node.outputs))
    if not reads and not writes:
        return Arithmetic.INTEGER
    enters = inside.issuperset(node.inputs) and (not writes or inside.issuperset(node.outputs))
    leaves = writes and not reads and outside.issuperset(node.outputs)
    goes = outside.issuperset((*node.inputs, *node.outputs))
    return Arithmetic.BOUNDARY if enters or leaves or goes else Arithmetic.FLOAT


def _is_float(tensor: Tensor) -> bool:
    return tensor.dtype.kind == "f"
