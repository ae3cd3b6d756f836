"""Indices as classes, which one_hot compares with all there are."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.fx import Node

from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments

aten = torch.ops.aten

_PLACES = (aten.argmax.default, aten.argmin.default)


def each_class(node: Node, index: Node, count: int) -> Node:
    """Whether each index is each of so many classes: one more dimension, of bools.

    PyTorch raises for an index that is no class. It is looked up in a table of the classes, so
    that a sample with such an index is refused on the host, as it is for other tables. The place
    of an extreme needs no table if there is a class for each.

    Args:
        node: before which the operators are inserted.
    """
    every = torch.arange(count)
    dim = named_arguments(index)["dim"] if index.target in _PLACES else None
    if dim is not None and fake(index.all_input_nodes[0]).shape[dim] <= count:
        column = insert(node, aten.unsqueeze.default, index, -1)
    else:
        table = constant(node, f"{node.name}_table", every[:, None])
        column = insert(node, aten.embedding.default, table, index)
    return insert(node, aten.eq.Tensor, column, constant(node, f"{node.name}_classes", every))


def truth_of(value: object) -> Node | None:
    """A bool, or the bool that zeros and ones were made of; else None."""
    if isinstance(value, Node) and value.target is aten.to.dtype and not _is_bool(value):
        value = value.args[0]
    return value if isinstance(value, Node) and _is_bool(value) else None


def _is_bool(node: Node) -> bool:
    return isinstance(held := node.meta.get("val"), Tensor) and held.dtype == torch.bool
