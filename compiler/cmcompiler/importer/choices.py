"""Choices by one bool, computed as branches: only what the chosen side needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from cmcompiler.ir.graph import Graph, Guard, Node
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.branch import Merge, Move
from cmcompiler.ops.where import Where

_SIDES = {1: True, 2: False}
"""The value of the condition with which a Where takes each of its operands."""

Nodes = tuple[Node, ...]


def branch_on_choices(graph: Graph) -> Graph:
    """Makes each Where of a single bool a branch if some operators serve only one side.

    Choices by the same bool share a branch.
    """
    kept = {port.tensor for port in graph.outputs}
    kept |= {tensor for state in graph.states for tensor in (state.tensor, state.final)}
    nodes, tried = graph.nodes, set[Tensor]()
    # A choice within a side of another comes before that.
    while ahead := [node for node in nodes if _is_choice(node) and node.outputs[0] not in tried]:
        tried.update(ahead[-1].outputs)
        nodes = _branched(nodes, ahead[-1], kept) or nodes
    return replace(graph, nodes=nodes)


def _is_choice(node: Node) -> bool:
    return (
        isinstance(node.op, Where)
        and node.inputs[0].numel == 1
        and node.inputs[0].dtype == np.bool_
        and node.inputs[0].data is None
        # Elements lie in the same order in all three tensors.
        and {1, 2} <= node.op.in_place
        and all(node.inputs[side].numel == node.outputs[0].numel for side in _SIDES)
    )


def _branched(nodes: Nodes, choice: Node, kept: Collection[Tensor]) -> Nodes | None:
    """The nodes with a branch for a choice, and for all by the same bool if they can share it."""
    viewed = {
        node.outputs[0]: node.inputs[0]
        for node in nodes
        if node.op.view_of is not None and node.inputs[0].numel == node.outputs[0].numel
    }

    def condition_of(node: Node) -> Tensor:
        tensor = viewed.get(node.inputs[0], node.inputs[0])
        return tensor if tensor.dtype == np.bool_ else node.inputs[0]

    condition = condition_of(choice)
    alike = [
        node
        for node in nodes
        if _is_choice(node) and node.guards == choice.guards and condition_of(node) is condition
    ]
    return _with_branch(nodes, alike, condition, kept) or (
        _with_branch(nodes, [choice], condition, kept) if len(alike) > 1 else None
    )


def _with_branch(
    nodes: Nodes, choices: Sequence[Node], condition: Tensor, kept: Collection[Tensor]
) -> Nodes | None:
    """The nodes with a branch in place of choices; None if it would not save or is not possible."""
    sides = _sides(nodes, choices, kept)
    if all(node.op.view_of is not None for node in sides):
        return None
    inside = [*sides, *choices]
    indices = [index for index, node in enumerate(nodes) if node in inside]
    between = nodes[indices[0] : indices[-1] + 1]
    guards = choices[0].guards
    if any(isinstance(node.op, Store) or node.guards != guards for node in between):
        return None
    waiting, before, after = {node.outputs[0] for node in choices}, [], []
    for node in between:
        if not waiting.isdisjoint(node.reads):
            if node in inside:
                return None
            after.append(node)
            waiting.update(node.outputs)
        elif node not in inside:
            before.append(node)
    source = choices[0].source
    ways = {side: Guard(condition, value, source) for side, value in _SIDES.items()}
    branch = []
    moved = {
        (node, side): Tensor(
            f"{node.outputs[0].name}_{side}", node.outputs[0].dtype, node.outputs[0].shape
        )
        for node in choices
        for side in _SIDES
    }
    for side, guard in ways.items():
        own = (*guards, guard)
        branch += [replace(n, guards=own) for n in between if sides.get(n) == side]
        branch += [
            Node(Move(), (n.inputs[side],), (moved[n, side],), n.source, own) for n in choices
        ]
    branch += [
        Node(
            Merge(), (condition, *(moved[n, side] for side in _SIDES)), n.outputs, n.source, guards
        )
        for n in choices
    ]
    start, end = indices[0], indices[-1] + 1
    return (*nodes[:start], *before, *branch, *after, *nodes[end:])


def _like(tensor: Tensor, side: int) -> Tensor:
    return Tensor(f"{tensor.name}_{side}", tensor.dtype, tensor.shape)


def _sides(nodes: Nodes, choices: Sequence[Node], kept: Collection[Tensor]) -> dict[Node, int]:
    """The nodes that serve one side of choices only, with the side."""
    served: defaultdict[Tensor, set[int]] = defaultdict(set)
    sides: dict[Node, int] = {}
    guards = choices[0].guards
    for node in reversed(nodes):
        if node in choices:
            served[node.inputs[0]].add(0)
            for side in _SIDES:
                served[node.inputs[side]].add(side)
            continue
        users = set[int]().union(*(served[tensor] for tensor in node.outputs))
        is_own = (
            len(users) == 1
            and 0 not in users
            and node.guards == guards
            and not isinstance(node.op, Store)
            and not any(tensor in kept for tensor in node.outputs)
        )
        if is_own:
            (sides[node],) = users
        for tensor in node.reads:
            served[tensor].add(sides[node] if is_own else 0)
    return sides
