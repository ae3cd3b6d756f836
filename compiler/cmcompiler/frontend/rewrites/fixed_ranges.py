"""Lets a softmax be joined with larger numbers.

The operands of cat and stack share a range. That of softmax is fixed, so the others' would be, too.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import insert

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild

JOINS = {aten.cat.default, aten.stack.default}
FIXED = ("aten.softmax", "cmbuild.masked_softmax")

MOVEMENTS = {
    *(aten.view.default, aten.reshape.default, aten.permute.default, aten.transpose.int),
    *(aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default),
    *(aten.flatten.using_ints, aten.slice.Tensor, aten.select.int, aten.expand.default),
    *(aten.contiguous.default, aten.clone.default, aten.unflatten.int),
}

CASTS = {aten.to.dtype, aten._to_copy.default, aten.type_as.default}

CUTS = {aten.round.default, aten.floor.default, aten.ceil.default, aten.trunc.default}
"""Operators that leave numbers without their fractions."""

IDENTITY = "mul.Tensor(x, 1)"


def free_ranges(module: GraphModule) -> None:
    """Puts a table of its own between a softmax and a join with others."""
    for node in list(module.graph.nodes):
        if node.target not in JOINS:
            continue
        operands = list(_operands(node))
        fixed = [operand for operand in operands if str(_origin(operand).target).startswith(FIXED)]
        if len(fixed) == len(operands):
            continue
        for operand in dict.fromkeys(fixed):
            made = insert(node, cmbuild.function.default, operand, IDENTITY)
            node.replace_input_with(operand, made)


def _operands(node: Node) -> Iterator[Node]:
    given = node.args[0]
    assert isinstance(given, list | tuple)
    yield from (each for each in given if isinstance(each, Node))


def _origin(node: Node) -> Node:
    while node.target in MOVEMENTS and isinstance(node.args[0], Node):
        node = node.args[0]
    return node
