"""Removes channels that nothing depends on, or that hold one number whatever the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cmcompiler.ir.channels import Bounds, ChannelRule, Channels, Mask, channel_count, restricted
from cmcompiler.ir.graph import Graph, Node, Pruning
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor

MOST_CHANNELS = 1 << 23
"""Limit for all tensors together: each takes up to 40 bytes here. Networks have far fewer."""


def pruned(graph: Graph) -> Graph:
    """The graph without such channels; it gives the same outputs, to the bit.

    A channel is constant if the bounds of its inputs, its weights and its clamp leave one number:
    layers that read it hold it in their biases. A channel is dead if only zero weights or constant
    channels read it. Inputs, outputs, states, branches and ops without a rule keep all channels.
    Graphs of more than MOST_CHANNELS stay as they are.
    """
    tensors = {tensor for node in graph.nodes for tensor in _all(node)}
    if sum(map(channel_count, tensors)) > MOST_CHANNELS:
        return graph
    analysis = _Analysis(graph)
    if all(kept.all() for kept in analysis.kept.values()):
        return graph
    remade = {tensor: restricted(tensor, kept) for tensor, kept in analysis.kept.items()}
    nodes = tuple(analysis.pruned(node, remade) for node in graph.nodes)
    live = {tensor.name: kept for tensor, kept in analysis.kept.items()}
    return replace(graph, nodes=nodes, pruning=Pruning(graph, live))


class _Analysis:
    """Which channels of a graph's tensors must exist.

    Attributes:
        kept: of each tensor that a node touches.
    """

    def __init__(self, graph: Graph) -> None:
        self._nodes = graph.nodes
        self._rules: dict[Node, ChannelRule[Op] | None] = {
            node: _rule(node) for node in graph.nodes
        }
        self._bounds: dict[Tensor, Bounds] = {}
        for node in graph.nodes:
            self._bound(node)
        fixed = {port.tensor for port in (*graph.inputs, *graph.outputs)}
        fixed |= {tensor for state in graph.states for tensor in (state.tensor, state.final)}
        fixed |= {
            tensor for node in graph.nodes if self._rules[node] is None for tensor in _all(node)
        }
        self.kept: dict[Tensor, Mask] = {
            tensor: np.full(channel_count(tensor), tensor in fixed)
            for node in graph.nodes
            for tensor in _all(node)
        }
        while self._sweep():
            pass

    def pruned(self, node: Node, tensors: Mapping[Tensor, Tensor]) -> Node:
        """A node on the kept channels of its tensors."""
        touched = (*node.inputs, *node.outputs)
        rule = self._rules[node]
        if rule is None or all(self.kept[tensor].all() for tensor in touched):
            return node
        inputs, (output,) = self._known(node.inputs), self._known(node.outputs)
        return replace(
            node,
            op=rule.pruned(inputs, output),
            inputs=tuple(tensors[tensor] for tensor in node.inputs),
            outputs=tuple(tensors[tensor] for tensor in node.outputs),
        )

    def _bound(self, node: Node) -> None:
        """Finds the bounds of a node's output."""
        rule = self._rules[node]
        if rule is None:
            return
        for tensor in node.inputs:
            self._bounds.setdefault(tensor, Bounds.of(tensor))
        (output,) = node.outputs
        self._bounds[output] = rule.bounds([self._bounds[tensor] for tensor in node.inputs])

    def _sweep(self) -> bool:
        """Keeps what is needed by what is kept, from the end to the beginning; whether that was
        more than before.
        """
        before = self._count
        for node in reversed(self._nodes):
            rule = self._rules[node]
            if rule is None:
                continue
            (made,) = node.outputs
            (output,) = self._known(node.outputs)
            wanted, made_too = rule.needed(self._known(node.inputs), output)
            self.kept[made] = self.kept[made] | made_too
            for tensor, mask in zip(node.inputs, wanted, strict=True):
                self.kept[tensor] = self.kept[tensor] | mask
        for kept in self.kept.values():
            # No kernel takes tensors of nothing.
            kept[:1] |= not kept.any()
        return self._count > before

    @property
    def _count(self) -> int:
        return sum(int(kept.sum()) for kept in self.kept.values())

    def _known(self, tensors: Sequence[Tensor]) -> list[Channels]:
        return [Channels(self._bounds[tensor], self.kept[tensor]) for tensor in tensors]


def _all(node: Node) -> Iterator[Tensor]:
    yield from node.reads
    yield from node.outputs


def _rule(node: Node) -> ChannelRule[Op] | None:
    """How a node's channels depend on each other; None if all must stay."""
    touched = (*node.inputs, *node.outputs)
    is_plain = not node.guards and len(node.outputs) == 1 and bool(node.inputs)
    if not is_plain or any(t.dtype != np.int8 or not t.numel for t in touched):
        return None
    return node.op.channel_rule(node.inputs, node.outputs)
