"""Gives operands of concatenations and choices a range of their own. Importing it imports torch.

The quantizer has all operands share the range of the result. One that something else reads, too,
may use few of its steps: `cat([8 * s[:2], s[2:]])` of a sigmoid's results s. Such an operand is
rounded to the shared range for the concatenation alone. So may one that a choice compares:
`where(y > 0, y, 50 * z)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import FixedQParamsObserver

from cmcompiler.frontend import backend
from cmcompiler.frontend.own_ranges import GroupPart, GroupWatch, RangeChange, is_free, observer_of
from cmcompiler.frontend.rewrites.editing import fake, owner

JOINING = {
    *(torch.ops.aten.cat.default, torch.ops.aten.stack.default),
    torch.ops.aten.where.self,
}

LEAST_RATIO = 4.0
"""Ratio of the shared range to the operand's, at which it loses two of its eight bits."""


def joined_operands(prepared: GraphModule, watch: GroupWatch) -> tuple[GroupPart, ...]:
    """Operands that are connected with the concatenation in one way."""
    return tuple(_joined(prepared, watch))


def _joined(prepared: GraphModule, watch: GroupWatch) -> Iterator[GroupPart]:
    for node in list(prepared.graph.nodes):
        if node.target not in JOINING:
            continue
        for source in dict.fromkeys(node.all_input_nodes):
            part = watch.part(source, node, is_after=False) if source.op == "call_module" else None
            if part is not None:
                yield part


def is_read(part: GroupPart) -> bool:
    """Whether an operator whose result has another range reads some of it, not the concatenation
    alone.
    """
    group = observer_of(part.source)
    readers = [user for node in part.held for user in node.users if user is not part.user]
    return any(is_free(reader) or not _shares(reader, group) for reader in readers)


def _shares(node: Node, group: Any) -> bool:
    return any(each.op == "call_module" and observer_of(each) is group for each in node.users)


def separate_operands(operands: Sequence[GroupPart]) -> RangeChange | None:
    """Gives operands the ranges that their observers found, where those are much narrower."""
    made, done = RangeChange(), set[Node]()
    read = [part for part in operands if is_read(part)]
    for part in sorted(read, key=lambda part: len(part.held)):
        if done & set(part.held) or not is_narrow(part):
            continue
        round_for(part, made)
        made.give_own_range(part)
        done |= set(part.held)
    return made if done else None


def is_narrow(part: GroupPart) -> bool:
    """Whether an operand's own range is much narrower than the one it shares."""
    shared = width(observer_of(part.source))
    return shared > 0 and shared >= LEAST_RATIO * width(own_range(part))


def width(observer: Any) -> float:
    """From the least to the largest number that was seen; 0 where an operator fixes its range."""
    if isinstance(observer, FixedQParamsObserver):
        return 0.0
    least, largest = (float(each) for each in (observer.min_val, observer.max_val))
    return max(largest, 0.0) - min(least, 0.0)


def own_range(part: GroupPart) -> Any:
    """The observer of the operand alone."""
    return owner(part.user).get_submodule(part.own)


def round_for(
    part: GroupPart, made: RangeChange, function: str = "x", shared: str | None = None
) -> None:
    """Puts a table from the operand's range to the shared one before the concatenation.

    Args:
        shared: the name of that range's observer; None for the one that the operand has.
    """
    graph, (tensor,) = part.user.graph, part.source.all_input_nodes
    with graph.inserting_before(part.user):
        table = graph.call_function(torch.ops.cmbuild.function.default, (part.source, function))
        held = graph.call_module(shared or str(part.source.target), (table,))
    table.meta["val"] = fake(tensor)
    backend.mark_as_quantized(table)
    made.insert(part.user, part.source, table, held)
