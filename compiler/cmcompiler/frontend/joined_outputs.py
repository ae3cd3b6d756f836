"""Computes concatenations and choices in float that an output holds. Importing it imports torch.

An output is float anyway: joined as floats, each operand keeps a range of its own. In the range of
the result, `cat([boxes, scores])` would leave few steps to the scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.float_parts import UnroundedPart, has_float_form
from cmcompiler.frontend.joined_operands import JOINING, LEAST_RATIO, width
from cmcompiler.frontend.own_ranges import GroupPart, GroupWatch, RangeChange, observer_of
from cmcompiler.frontend.rewrites.editing import constant_value, owner
from cmcompiler.frontend.rewrites.fixed_ranges import MOVEMENTS

_ATEN = torch.ops.aten

_PASSING = {
    *(*MOVEMENTS, _ATEN.relu.default, _ATEN.hardtanh.default, _ATEN.clamp.default),
    *(_ATEN.cat.default, _ATEN.upsample_nearest2d.vec),
}
_BOUNDS = ("relu(x", "clamp(x", "clamp_min(x", "clamp_max(x", "hardtanh(x")
"""Operators that may lie between the operands and an output, functions among them."""

REASON = "an output joins operands of very different ranges"


@dataclass(frozen=True, slots=True)
class JoinedOutput:
    """An operator that joins operands, and all that leads from it to outputs.

    Attributes:
        nodes: operators in order, the joining one first.
        operands: those with a range of their own.
    """

    nodes: tuple[Node, ...]
    operands: tuple[GroupPart, ...]

    @property
    def has_narrow_operands(self) -> bool:
        return any(
            width(observer_of(part.source)) >= _least_ratio(part) * width(_own(part))
            for part in self.operands
            if part.is_whole and width(_own(part)) > 0
        )


def joined_outputs(prepared: GraphModule, watch: GroupWatch) -> tuple[JoinedOutput, ...]:
    """The joining operators whose result nothing but outputs reads."""
    return tuple(_joined(prepared, watch))


def _joined(prepared: GraphModule, watch: GroupWatch) -> Iterator[JoinedOutput]:
    for node in list(prepared.graph.nodes):
        nodes = way_out(node) if node.target in JOINING else None
        if nodes is None or not all(map(has_float_form, nodes)):
            continue
        sources = [each for each in dict.fromkeys(node.all_input_nodes) if each.op == "call_module"]
        parts = [watch.part(source, node, is_after=False) for source in sources]
        held = [part for part in parts if part is not None]
        if held:
            yield JoinedOutput(nodes, tuple(held))


def join_in_float(prepared: GraphModule, outputs: Sequence[JoinedOutput]) -> frozenset[str]:
    """Has operators compute in float whose operands' ranges differ much.

    Returns: the names of operators in float.
    """
    names: set[str] = set()
    for each in outputs:
        graph = set(prepared.graph.nodes)
        if not graph.issuperset(each.nodes) or not each.has_narrow_operands:
            continue
        part = UnroundedPart(prepared)
        if not part.extend(each.nodes) or part.members & graph != set(each.nodes):
            part.undo()
            continue
        part.read_by_outputs()
        change = RangeChange()
        for operand in each.operands:
            if operand.is_whole:
                change.give_own_range(operand)
        names |= part.keep()
    return frozenset(names)


def way_out(node: Node) -> tuple[Node, ...] | None:
    """The operators from one to outputs; None if others read something between them."""
    joined, left = [node], [node]
    while left:
        for user in left.pop().users:
            if user.op == "output" or user in joined:
                continue
            if user.op != "call_module" and not _passes(user):
                return None
            left.append(user)
            if user.op == "call_function":
                joined.append(user)
    return tuple(joined)


def _passes(node: Node) -> bool:
    if node.target is torch.ops.cmbuild.function.default:
        return str(node.args[1]).startswith(_BOUNDS)
    return node.target in _PASSING and len(node.all_input_nodes) == 1


def _least_ratio(part: GroupPart) -> float:
    """A number is rounded once, so that half a step of a range 16 times as wide leaves it 30 dB."""
    source = part.source.all_input_nodes[0]
    is_number = source.op == "get_attr" and constant_value(source).numel() == 1
    return 16.0 if is_number else LEAST_RATIO


def _own(part: GroupPart) -> object:
    return owner(part.user).get_submodule(part.own)
