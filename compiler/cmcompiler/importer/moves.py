"""Moves of elements that later ones take back.

A program transposes what a matrix product transposes again, often with a view in between.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cmcompiler.ir.graph import Node, with_views
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.tensor import Tensor

_MOST_ELEMENTS = 1 << 20
"""Elements of a tensor whose places are followed."""

_LONGEST = 4
"""Moves that are followed back."""


def take_back_moves(nodes: Sequence[Node], states: Collection[Tensor]) -> list[Node]:
    """The nodes with views in place of transposes that restore an earlier order.

    Nodes no longer needed stay among them.

    Args:
        states: what has to be read where it is, as its memory is written later.
    """
    fleeting = with_views(states, nodes)
    producer = {tensor: node for node in nodes for tensor in node.outputs}
    return [_restored(node, producer, fleeting) for node in nodes]


def _restored(node: Node, producer: Mapping[Tensor, Node], fleeting: Collection[Tensor]) -> Node:
    """A transpose as a view of the tensor whose order it restores, if it does; else the node."""
    output = node.outputs[0]
    moves = [node]
    if not isinstance(node.op, Transpose) or not 0 < output.numel <= _MOST_ELEMENTS:
        return node
    while len(moves) <= _LONGEST and _moves(moves[-1]):
        base = moves[-1].inputs[0]
        if base in fleeting or base.numel != output.numel:
            break
        if len(moves) > 1 and _keeps_order(base, moves):
            return replace(node, op=View(output.shape), inputs=(base,))
        if base not in producer:
            break
        moves.append(producer[base])
    return node


def _moves(node: Node) -> bool:
    return isinstance(node.op, Transpose | View) and not node.guards


def _keeps_order(base: Tensor, moves: Sequence[Node]) -> bool:
    """Whether moves of a tensor, the last one first, leave its elements in their order."""
    places = np.arange(base.numel).reshape(base.shape)
    for move in reversed(moves):
        op = move.op
        places = places.transpose(op.order) if isinstance(op, Transpose) else places
        places = places.reshape(move.outputs[0].shape)
    return bool((np.diff(places.ravel()) == 1).all())
