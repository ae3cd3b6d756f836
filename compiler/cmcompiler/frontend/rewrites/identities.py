"""Removes operators that change nothing: dropout in eval mode, the 0 that sum() adds, copies."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of
from cmcompiler.frontend.rewrites.editing import fake, replace
from cmcompiler.frontend.rewrites.memory import DROPOUTS, bases, is_write

_ATEN = torch.ops.aten

SAME = {_ATEN.detach.default, _ATEN.alias.default}
"""Operators that matter to derivatives alone."""
CONVERSIONS = {_ATEN.to.dtype, _ATEN.to.device, _ATEN.to.dtype_layout, _ATEN.type_as.default}
ALIASES = DROPOUTS | SAME | CONVERSIONS
"""Operators whose results are their operands where they change nothing."""
NEUTRAL = {
    _ATEN.add.Tensor: 0,
    _ATEN.sub.Tensor: 0,
    _ATEN.mul.Tensor: 1,
    _ATEN.div.Tensor: 1,
}
"""Second operands that change nothing."""
COPIES = {_ATEN.clone.default, _ATEN.detach.default, _ATEN.detach_.default, _ATEN.alias.default}
ASSERTIONS = {_ATEN._assert_tensor_metadata.default}


def remove_identities(module: GraphModule) -> None:
    """Keeps copies where either tensor, or what it is a view of, is written to."""
    for node in list(module.graph.nodes):
        if node.target in ASSERTIONS:
            module.graph.erase_node(node)
        elif node.target in ALIASES and (same := _same(node)) is not None:
            replace(node, same)
    nodes = list(module.graph.nodes)
    written = {bases(node)[-1] for node in nodes if is_write(node)}
    for node in nodes:
        same = None if node.target in ALIASES else _same(node)
        if same is not None and written.isdisjoint((bases(node)[-1], bases(same)[-1])):
            replace(node, same)


def _same(node: Node) -> Node | None:
    """A tensor with the same values as the result."""
    source = next(iter(node.args), None)
    if isinstance(source, Node) and _is_identity(node, source):
        return source
    return _only_term(node)


def _only_term(node: Node) -> Node | None:
    """What a sum is where it is nothing of the other, as `h.mul_(0).add_(c)` and `lerp(h, c, 1)`.

    As a sum it would have a range of its own, in which a state loses its 16 bits.
    """
    only: Any = None
    if node.target is _ATEN.lerp.Scalar and node.args[2] in (0, 1):
        only = node.args[int(cast(float, node.args[2]))]
    elif node.target is _ATEN.add.Tensor and not node.kwargs:
        terms = [term for term in node.args if not _is_nothing(term)]
        only = terms[0] if len(terms) == 1 else None
    if not isinstance(only, Node) or fake(only).dtype != fake(node).dtype:
        return None
    return only if fake(only).shape == fake(node).shape else None


def _is_nothing(node: Any) -> bool:
    is_product = isinstance(node, Node) and node.target is _ATEN.mul.Tensor
    return is_product and any(number_of(factor) == 0 for factor in node.args)


def remove_copies(module: GraphModule) -> None:
    """Removes copies of results, unless the graph still writes to tensors.

    A copy has a range of its own, in which a state would lose its 16 bits on the way to a buffer.
    """
    nodes = list(module.graph.nodes)
    if any(is_write(node) and node.target is not _ATEN.detach_.default for node in nodes):
        return
    for node in nodes:
        source = next(iter(node.args), None)
        if node.target not in COPIES or not isinstance(source, Node):
            continue
        if source.op == "call_function" and fake(source).stride() == fake(node).stride():
            replace(node, source)


def _is_identity(node: Node, source: Node) -> bool:
    if node.target in DROPOUTS:
        return len(node.args) == 3 and not node.args[2]
    if node.target in SAME:
        return True
    is_neutral = node.target in NEUTRAL and node.args[1] == NEUTRAL[node.target]
    if is_neutral or (node.target in CONVERSIONS and not node.kwargs.get("copy")):
        before, after = fake(source), fake(node)
        return bool(before.dtype == after.dtype and before.stride() == after.stride())
    return False
