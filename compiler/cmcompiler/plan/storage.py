"""Which tensors of a graph share memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.branch import Merge, Move
from cmcompiler.ops.strip import JoinedStrips


@dataclass(frozen=True, slots=True)
class Storage:
    """Memory that a tensor lies in.

    Attributes:
        owner: the tensor that owns the memory.
        offset: bytes from the owner's first element to the tensor's.
    """

    owner: Tensor
    offset: int = 0


@dataclass(frozen=True)
class Sharing:
    """The memory of every tensor of a graph.

    Attributes:
        settled: indices of Moves and Stores that copy nothing, because their input is computed in
            place.
    """

    storage: dict[Tensor, Storage]
    settled: frozenset[int]


def share(graph: Graph) -> Sharing:
    """Views share what they view, alternatives of a Merge its output, updates of a state its
    buffer.

    A branch's result is computed in place if it is computed within that way and shares memory with
    nothing else. A state's update is computed in place if nothing reads the old value afterwards.
    """
    finder = _Finder(graph)
    settled = frozenset(
        index
        for index, node in enumerate(graph.nodes)
        if isinstance(node.op, (Move, Store)) and finder.settle(index)
    )
    tensors = [tensor for node in graph.nodes for tensor in (*node.reads, *node.outputs)]
    tensors += (port.tensor for port in (*graph.inputs, *graph.outputs))
    tensors += (state.tensor for state in graph.states)
    return Sharing({tensor: finder.find(tensor) for tensor in tensors}, settled)


class _Finder:
    """Chains of tensors that share memory."""

    def __init__(self, graph: Graph) -> None:
        self._nodes = graph.nodes
        self._within: dict[Tensor, Storage] = {}
        self._producer: dict[Tensor, int] = {}
        self._stores: Counter[Tensor] = Counter()
        for index, node in enumerate(graph.nodes):
            self._producer.update(dict.fromkeys(node.outputs, index))
            if node.op.view_of is not None:
                viewed = self.find(node.inputs[node.op.view_of])
                offset = viewed.offset + node.op.view_offset
                self._within[node.outputs[0]] = Storage(viewed.owner, offset)
            elif isinstance(node.op, Merge):
                self._within.update(dict.fromkeys(node.inputs[1:], Storage(node.outputs[0])))
            elif isinstance(node.op, JoinedStrips):
                pixel = node.outputs[0].nbytes // prod(node.outputs[0].shape[:3])
                for tensor, column in zip(node.inputs, node.op.columns, strict=True):
                    self._within[tensor] = Storage(node.outputs[0], column * pixel)
            elif isinstance(node.op, Store):
                self._within[node.outputs[0]] = self.find(node.inputs[0])
                self._stores[self.find(node.inputs[0]).owner] += 1

    def find(self, tensor: Tensor) -> Storage:
        offset = 0
        while tensor in self._within:
            storage = self._within[tensor]
            tensor, offset = storage.owner, offset + storage.offset
        return Storage(tensor, offset)

    def settle(self, index: int) -> bool:
        """Computes the input of a Move or Store in place if possible."""
        node = self._nodes[index]
        source, target = self.find(node.inputs[-1]), self.find(node.outputs[0])
        producer = self._producer.get(source.owner)
        if (
            producer is None
            or self._nodes[producer].guards[: len(node.guards)] != node.guards
            or source.owner.nbytes != target.owner.nbytes
            or source.offset != 0
        ):
            return False
        if isinstance(node.op, Store) and not self._may_grow_in(target.owner, producer, index):
            return False
        self._within[source.owner] = target
        return True

    def _may_grow_in(self, state: Tensor, producer: int, store: int) -> bool:
        """Whether the one Store to a state may happen already where its input is computed."""
        node = self._nodes[producer]
        between = (t for other in self._nodes[producer + 1 : store] for t in other.reads)
        return (
            self._stores[state] == 1
            # The alternatives of a Merge begin to compute before it.
            and not isinstance(node.op, Merge)
            and all(self.find(tensor).owner is not state for tensor in between)
            and all(
                number in node.op.in_place and self.find(tensor) == Storage(state)
                for number, tensor in enumerate(node.inputs)
                if self.find(tensor).owner is state
            )
        )
