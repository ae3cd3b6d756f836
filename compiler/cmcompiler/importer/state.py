"""Finds a method's mutable buffers and preserves values that are read after a write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cmcompiler.decode.registry import operators
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.branch import Move
from cmcompiler.pte.program import (
    KernelInstruction,
    Method,
    MoveInstruction,
    TensorList,
    TensorValue,
)


def mutable_buffers(method: Method) -> list[int]:
    """Indices of the values that keep their contents between runs.

    Such a value is a planned tensor with initial contents, or one that an operator reads and writes
    in place before anything else writes it. ExecuTorch leaves the initial contents of the latter
    undefined; they are zeros here.
    """
    buffers = [
        index
        for index, value in enumerate(method.values)
        if isinstance(value, TensorValue) and value.data is not None and not value.is_constant
    ]
    written = set(method.inputs)
    for instruction in method.instructions:
        if isinstance(instruction, MoveInstruction):
            written.add(instruction.target)
        elif isinstance(instruction, KernelInstruction):
            schema = operators()[instruction.operator].schema
            arguments = dict(zip(schema.names, instruction.arguments, strict=False))
            if schema.in_place in arguments and arguments[schema.in_place] not in written:
                buffers.append(arguments[schema.in_place])
            results = (arguments[name] for name in schema.results if name in arguments)
            written.update(_members(method, results))
    return list(dict.fromkeys(buffers))


def _members(method: Method, indices: Iterable[int]) -> Iterator[int]:
    """Tensors, including those in lists."""
    for index in indices:
        value = method.values[index]
        if isinstance(value, TensorList):
            yield from (item for item in value.items if item is not None)
        else:
            yield index


def detached(graph: Graph) -> Graph:
    """Copies parts of a mutable buffer that are read after a Store changes it."""
    within = {state.tensor: state.tensor for state in graph.states}
    if not within:
        return graph
    last = _last_uses(graph)
    copies: dict[Tensor, Tensor] = {}
    nodes: list[Node] = []
    for index, node in enumerate(graph.nodes):
        if isinstance(node.op, Store):
            changed = within[node.inputs[0]]
            for tensor in [t for t, root in within.items() if root is changed]:
                del within[tensor]
                if last.get(tensor, -1) >= index:
                    copies[tensor] = Tensor(f"{tensor.name}.kept", tensor.dtype, tensor.shape)
                    nodes.append(Node(Move(), (tensor,), (copies[tensor],), node.source))
            within[node.outputs[0]] = changed
        nodes.append(_renamed(node, copies))
        viewed = node.op.view_of
        if viewed is not None and node.inputs[viewed] in within:
            within[node.outputs[0]] = within[node.inputs[viewed]]
    outputs = (replace(port, tensor=copies.get(port.tensor, port.tensor)) for port in graph.outputs)
    return replace(graph, nodes=tuple(nodes), outputs=tuple(outputs))


def _last_uses(graph: Graph) -> dict[Tensor, int]:
    """Index of the last node that reads each tensor; a Store does not read what it overwrites."""
    last: dict[Tensor, int] = {}
    for index, node in enumerate(graph.nodes):
        reads = node.reads[1:] if isinstance(node.op, Store) else node.reads
        last.update(dict.fromkeys(reads, index))
    last.update((port.tensor, len(graph.nodes)) for port in graph.outputs)
    return last


def _renamed(node: Node, names: dict[Tensor, Tensor]) -> Node:
    """A node with other inputs; a Store still overwrites the same tensor."""
    inputs = tuple(names.get(tensor, tensor) for tensor in node.inputs)
    if isinstance(node.op, Store):
        inputs = (node.inputs[0], *inputs[1:])
    guards = tuple(
        replace(guard, condition=names.get(guard.condition, guard.condition))
        for guard in node.guards
    )
    return replace(node, inputs=inputs, guards=guards)
