"""Images whose rows lie where a stage's result does, as it is computed in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.op import Reach, RowCall
from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.storage import Storage
from cmcompiler.plan.streams.group import Group

Hosts = Mapping[Tensor, Tensor]
"""Images, and the result in whose memory each lies."""


@dataclass(frozen=True)
class SharedRings:
    """The images of a graph whose rows may lie where a result does.

    Attributes:
        guests: of a node, the last one made first.
        storage: of tensors in which rows may lie, too.
    """

    guests: Mapping[int, Sequence[Tensor]]
    storage: Mapping[Tensor, Storage]

    @classmethod
    def of(
        cls,
        graph: Graph,
        row_calls: Sequence[Sequence[RowCall]],
        alone: set[Tensor],
        storage: Mapping[Tensor, Storage],
    ) -> SharedRings:
        """
        Args:
            row_calls: of each node.
            alone: tensors that share their memory with no other one.
        """
        readers: dict[Tensor, int] = {}
        made: dict[Tensor, int] = {}
        for index, node in enumerate(graph.nodes):
            for tensor in set(node.reads):
                readers[tensor] = readers.get(tensor, 0) + 1
            if len(row_calls[index]) == 1 and row_calls[index][0].step == 1:
                made.update(dict.fromkeys(node.outputs, index))
        guests: dict[int, Sequence[Tensor]] = {}
        for index, (node, calls) in enumerate(zip(graph.nodes, row_calls, strict=True)):
            if len(calls) != 1 or not node.op.in_place or node.outputs[0] not in made:
                continue
            others = {t for i, t in enumerate(node.inputs) if i not in node.op.in_place}
            own = [
                tensor
                for tensor, reach in calls[0].reads.items()
                if tensor in alone
                and tensor in made
                and tensor not in others
                and readers[tensor] == 1
                and _is_in_place(tensor, reach, node.outputs[0])
            ]
            if own:
                guests[index] = sorted(own, key=lambda tensor: -made[tensor])
        return cls(guests, storage)

    @property
    def every(self) -> set[Tensor]:
        """All images that may lie elsewhere."""
        return {tensor for own in self.guests.values() for tensor in own}

    def hosts(self, group: Group) -> Hosts:
        """The images of a group that lie elsewhere."""
        hosts: dict[Tensor, Tensor] = {}
        for stage in reversed(group.stages):
            own = self.guests.get(stage.node, ())
            if not own or not self._may_hold(stage.output, group):
                continue
            for tensor in own:
                if tensor in group.rings and tensor in group.writers:
                    hosts[tensor] = hosts.get(stage.output, stage.output)
                    break
        return hosts

    def _may_hold(self, tensor: Tensor, group: Group) -> bool:
        """Whether its rows lie one after the other in memory of their own."""
        return tensor in group.rings or self.storage.get(tensor) == Storage(tensor)


def _is_in_place(tensor: Tensor, reach: Reach, result: Tensor) -> bool:
    """Whether a row of the result takes the place of the same row of an image."""
    is_same_row = reach == Reach() and tensor.shape[1] == result.shape[1]
    return is_same_row and row_bytes(tensor) == row_bytes(result)
