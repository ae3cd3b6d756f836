"""Replaces element-wise operators that write to their argument by those that do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.memory import bases, is_seen_elsewhere


def remove_in_place(module: GraphModule) -> None:
    """Leaves writes to inputs and constants, and what is seen through views, as they are."""
    order = {node: number for number, node in enumerate(module.graph.nodes)}
    for node in list(module.graph.nodes):
        operator = _without_writing(node, order)
        if operator is None:
            continue
        written = node.args[0]
        node.target = operator
        written.replace_all_uses_with(node, lambda user, node=node: order[user] > order[node])


def _without_writing(node: Node, order: Mapping[Node, int]) -> OpOverload | None:
    """The operator that computes the same without writing, if it can replace the node's."""
    target = node.target
    if not isinstance(target, OpOverload) or not _writes(target):
        return None
    written = node.args[0]
    if not isinstance(written, Node) or bases(written)[-1].op != "call_function":
        return None
    if is_seen_elsewhere(node, order):
        return None
    packet: Any = getattr(torch.ops.aten, target._schema.name.removeprefix("aten::")[:-1], None)
    operator = getattr(packet, target._overloadname, None)
    same_type = written.meta["val"].dtype == node.meta["val"].dtype
    return operator if isinstance(operator, OpOverload) and same_type else None


def _writes(operator: OpOverload) -> bool:
    """Whether it is an `aten::name_` that writes to its first argument only."""
    written = [a for a in operator._schema.arguments if a.alias_info and a.alias_info.is_write]
    name = operator._schema.name
    return written == operator._schema.arguments[:1] and name.endswith("_") and "__" not in name
