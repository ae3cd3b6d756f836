"""Which tensors share memory, and during which steps each is alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.arena import ArenaBlock, BlockUse
from cmcompiler.plan.storage import Storage
from cmcompiler.plan.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Steps [first, last] during which no other tensor may touch a tensor's memory."""

    first: int
    last: int


@dataclass(frozen=True)
class Liveness:
    """How a graph uses memory.

    Attributes:
        storage: where each tensor lies.
        blocks: of the arena; owners that take over each other's memory share one.
        block: per owner in the arena, the index of its block.
        start: per owner in the arena, its offset in the block.
        lifetimes: per owner in the arena.
    """

    storage: dict[Tensor, Storage]
    blocks: tuple[ArenaBlock, ...]
    block: dict[Tensor, int]
    start: dict[Tensor, int]
    lifetimes: dict[Tensor, Lifetime]

    def alive(self, step: int) -> tuple[Tensor, ...]:
        """Owners that are alive during a step."""
        return tuple(t for t, life in self.lifetimes.items() if life.first <= step <= life.last)


def analyse(
    graph: Graph,
    storage: dict[Tensor, Storage],
    spans: Sequence[range],
    streams: Sequence[Stream] = (),
) -> Liveness:
    """Lifetimes of all tensors of `graph`, whose nodes run during the steps `spans`.

    Inputs are alive from before the first step to their last use, outputs from their producer to
    after the last step, states always; constants and ports whose rows come or go are left out. Both
    ways of a branch count as if they ran one after the other, so a tensor alive in either is alive
    in both.
    """
    lifetimes = _lifetimes(graph, storage, spans)
    sizes = {tensor: tensor.nbytes for tensor in lifetimes}
    shifts: dict[Tensor, int] = {}
    streamed: set[int] = set()
    donors: dict[Tensor, Tensor | None] = {}
    for stream in streams:
        streamed.update(stream.group.nodes)
        sizes |= stream.ring_bytes
        if stream.takeover is not None:
            donors[stream.takeover.result] = storage[stream.takeover.spent].owner
            shifts[stream.takeover.result] = stream.takeover.shift
    for index, (node, span) in enumerate(zip(graph.nodes, spans, strict=True)):
        if node.outputs and index not in streamed:
            donors[node.outputs[0]] = _donor(node, span, storage, lifetimes)
    members: list[list[Tensor]] = []
    block: dict[Tensor, int] = {}
    start: dict[Tensor, int] = {}
    for tensor in lifetimes:
        donor = donors.get(tensor)
        if donor is None:
            block[tensor], start[tensor] = len(members), 0
            members.append([])
        else:
            block[tensor] = block[donor]
            start[tensor] = start[donor] - shifts.get(tensor, 0)
        members[block[tensor]].append(tensor)
    blocks = []
    for group in members:
        lowest = min(start[tensor] for tensor in group)
        start |= {tensor: start[tensor] - lowest for tensor in group}
        uses = ((lifetimes[tensor], tensor) for tensor in group)
        blocks.append(
            ArenaBlock(tuple(BlockUse(x.first, x.last, sizes[t], start[t]) for x, t in uses))
        )
    return Liveness(storage, tuple(blocks), block, start, lifetimes)


def _lifetimes(
    graph: Graph, storage: dict[Tensor, Storage], spans: Sequence[range]
) -> dict[Tensor, Lifetime]:
    """Per owner in the arena, producers before consumers."""
    owner = {tensor: place.owner for tensor, place in storage.items()}
    end = spans[-1].stop if spans else 0
    first: dict[Tensor, int] = {port.tensor: -1 for port in graph.inputs if not port.fed}
    drained = {port.tensor for port in graph.outputs if port.fed}
    first.update((state.tensor, -1) for state in graph.states)
    last: dict[Tensor, int] = dict(first)
    for node, span in zip(graph.nodes, spans, strict=True):
        for tensor in node.outputs:
            first.setdefault(owner[tensor], span.start)
        if span:
            for tensor in (*node.reads, *node.outputs):
                last[owner[tensor]] = span[-1]
    for tensor in (*(port.tensor for port in graph.outputs), *(s.tensor for s in graph.states)):
        last[owner[tensor]] = end
    return {
        tensor: Lifetime(start, max(start, last.get(tensor, start)))
        for tensor, start in first.items()
        if tensor.data is None and tensor not in drained
    }


def _donor(
    node: Node, span: range, storage: dict[Tensor, Storage], lifetimes: dict[Tensor, Lifetime]
) -> Tensor | None:
    """The largest input that dies here and whose memory the node's first output may take over."""
    output, places = node.outputs[0], [storage[tensor] for tensor in node.inputs]
    if storage[output].owner is not output or not span or output.nbytes == 0:
        return None
    donors = [
        place.owner
        for place in places
        if place.owner in lifetimes
        and lifetimes[place.owner].last == span[-1]
        and all(
            index in node.op.in_place and other.offset == 0 and tensor.nbytes >= output.nbytes
            for index, (tensor, other) in enumerate(zip(node.inputs, places, strict=True))
            if other.owner is place.owner
        )
    ]
    return max(donors, key=lambda tensor: tensor.nbytes, default=None)
