"""Makes linear layers and batches of matrices of all other matrix products."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import (
    arguments,
    constant,
    fake,
    insert,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.fixed_ranges import JOINS
from cmcompiler.frontend.rewrites.masks import CHOICES, FILLS

aten = torch.ops.aten

PRODUCTS = (aten.matmul.default, aten.mm.default, aten.bmm.default, aten.mv.default)

SOFTMAXES = (aten.softmax.int, aten.log_softmax.int)

MOVEMENTS = (
    *(aten.reshape.default, aten.view.default, aten.flatten.using_ints, aten.unflatten.int),
    *(aten.transpose.int, aten.permute.default, aten.contiguous.default, aten.expand.default),
    *(aten.unsqueeze.default, aten.squeeze.dim, aten.select.int, aten.slice.Tensor),
    *(operator.getitem, aten.unbind.int, aten.chunk.default, aten.split.Tensor),
)

_ADDED: dict[Any, tuple[str, str, str]] = {
    aten.addmm.default: ("self", "mat1", "mat2"),
    aten.baddbmm.default: ("self", "batch1", "batch2"),
    aten.addmv.default: ("self", "mat", "vec"),
}
"""Operators that add to a product, and the names of what they add and of its factors."""


def rewrite_products(module: GraphModule) -> None:
    """Products with a constant matrix become linear layers, others bmm, with sums after them.

    So do linear layers whose weight is computed.
    """
    for node in list(module.graph.nodes):
        if not _is_float(node):
            continue
        if node.target in PRODUCTS:
            made = _product(node, *arguments(node, None, None))
            if made is not node:
                replace(node, made)
        elif node.target is aten.linear.default and value_of(node.args[1]) is None:
            x, weight, bias = arguments(node, None, None, None)
            product = _product(node, x, insert(node, aten.transpose.int, weight, -2, -1))
            made = product if bias is None else insert(node, aten.add.Tensor, product, bias)
            replace(node, made)
        elif node.target is aten.bilinear.default:
            x, y, weight, bias = arguments(node, None, None, None, None)
            if (weights := value_of(weight)) is not None:
                replace(node, _bilinear(node, x, y, weights, bias))
        elif node.target in _ADDED:
            replace(node, _sum_with_product(node, named_arguments(node)))
    for node in list(module.graph.nodes):
        if node.target is aten.bmm.default:
            _separate_biases(*(list(_origins(operand)) for operand in node.args))


def _sum_with_product(node: Node, given: dict[str, Any]) -> Node:
    addend, *factors = (given[name] for name in _ADDED[node.target])
    product = _product(node, *factors)
    alpha, beta = given["alpha"], given["beta"]
    product = product if alpha == 1 else insert(node, aten.mul.Tensor, product, alpha)
    if beta == 0:
        return product
    addend = addend if beta == 1 else insert(node, aten.mul.Tensor, addend, beta)
    return insert(node, aten.add.Tensor, product, addend)


def _bilinear(node: Node, x: Node, y: Node, weights: Tensor, bias: Node | None) -> Node:
    """A linear layer of the products of all pairs of elements."""
    columns, row = (insert(node, aten.unsqueeze.default, z, dim) for z, dim in ((x, -1), (y, -2)))
    pairs = insert(node, aten.mul.Tensor, columns, row)
    flat = insert(node, aten.flatten.using_ints, pairs, -2, -1)
    matrix = constant(node, f"{node.name}_pairs", weights.flatten(1))
    return insert(node, aten.linear.default, flat, matrix, bias)


def _origins(node: Node) -> Iterator[Node]:
    """The nodes that gave a tensor its type: other operators, products among them, take it on."""
    if _keeps_type(node) and isinstance(node.args[0], Node):
        yield from _origins(node.args[0])
    elif node.target in CHOICES | FILLS | JOINS | {aten.bmm.default}:
        for source in node.all_input_nodes:
            if _is_float(source) and value_of(source) is None:
                yield from _origins(source)
    else:
        yield node


def _keeps_type(node: Node) -> bool:
    """Whether the backend takes the result for the same type as the first operand."""
    is_function = isinstance(node.target, OpOverload) and torch.Tag.pointwise in node.target.tags
    is_unary = len(node.all_input_nodes) == 1
    is_plain = node.target is aten.linear.default and not _has_bias(node)
    is_own = node.target in MOVEMENTS or is_plain
    return is_own or (is_unary and (is_function or node.target in SOFTMAXES))


def _separate_biases(lhs: Sequence[Node], rhs: Sequence[Node]) -> None:
    """Adds the biases of linear layers after them if not all origins of a product are such.

    The backend takes a quantised layer with a bias for one of int32, and refuses mixed products.
    """
    origins = dict.fromkeys([*lhs, *rhs])
    biased = [node for node in origins if _has_bias(node)]
    if len(biased) == len(origins):
        return
    for linear in biased:
        x, weight, bias = linear.args
        plain = insert(linear, aten.linear.default, x, weight)
        # An addition of torch's would be folded back.
        replace(linear, insert(linear, torch.ops.cmbuild.add.default, plain, bias, 1.0))


def _has_bias(node: Node) -> bool:
    return node.target is aten.linear.default and any(node.args[2:])


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.dtype == torch.float32


def _product(node: Node, lhs: Node, rhs: Node) -> Node:
    right, left = value_of(rhs), value_of(lhs)
    if right is not None and right.ndim <= 2 and left is None:
        return _linear(node, lhs, right)
    if left is not None and left.ndim == 2 and right is None and fake(rhs).ndim >= 2:
        turned = insert(node, aten.transpose.int, rhs, -2, -1)
        return insert(node, aten.transpose.int, _linear(node, turned, left.T), -2, -1)
    if node.target is aten.bmm.default:
        return node
    return _batches(node, lhs, rhs)


def _linear(node: Node, x: Node, matrix: Tensor) -> Node:
    """x times a constant matrix, or vector."""
    columns = matrix.reshape(len(matrix), -1)
    weight = constant(node, f"{node.name}_weight", columns.T.contiguous())
    is_vector = fake(x).ndim == 1
    x = insert(node, aten.unsqueeze.default, x, 0) if is_vector else x
    made = insert(node, aten.linear.default, x, weight)
    made = insert(node, aten.squeeze.dim, made, 0) if is_vector else made
    return insert(node, aten.squeeze.dim, made, -1) if matrix.ndim == 1 else made


def _batches(node: Node, lhs: Node, rhs: Node) -> Node:
    """As one batch of matrices; vectors are matrices of one row or column."""
    shape = list(fake(node).shape)
    if fake(lhs).ndim == 1:
        lhs = insert(node, aten.unsqueeze.default, lhs, 0)
    if fake(rhs).ndim == 1:
        rhs = insert(node, aten.unsqueeze.default, rhs, 1)
    left, right = fake(lhs).shape, fake(rhs).shape
    batch = [max(sizes) for sizes in _aligned(left[:-2], right[:-2])]
    if len(right) == 2:
        # Shared columns: the rows of all matrices are those of one.
        batch, left = [], torch.Size([math.prod(left[:-1]), left[-1]])
        lhs = insert(node, aten.reshape.default, lhs, list(left))
    operands = [
        _flattened(node, operand, [*batch, *sizes[-2:]])
        for operand, sizes in ((lhs, left), (rhs, right))
    ]
    product = insert(node, aten.bmm.default, *operands)
    return insert(node, aten.reshape.default, product, shape)


def _aligned(one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of sizes from the last dimension on, in order; 1 where a shape has none."""
    pairs = list(zip_longest(reversed(one), reversed(other), fillvalue=1))
    return reversed(pairs)


def _flattened(node: Node, operand: Node, shape: list[int]) -> Node:
    if list(fake(operand).shape) != shape:
        operand = insert(node, aten.expand.default, operand, shape)
    return insert(node, aten.reshape.default, operand, [math.prod(shape[:-2]), *shape[-2:]])
