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
    fake,
    insert,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.fixed_ranges import JOINS
from cmcompiler.frontend.rewrites.masks import CHOICES, FILLS
from cmcompiler.frontend.rewrites.traced import held, written

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

    def total(product: Any, addend: Any) -> Any:
        product = product if alpha == 1 else product * alpha
        if beta == 0:
            return product
        return product + (addend if beta == 1 else addend * beta)

    made: Node = written(node, total, product, addend)
    return made


def _bilinear(node: Node, x: Node, y: Node, weights: Tensor, bias: Node | None) -> Node:
    """A linear layer of the products of all pairs of elements."""

    def layer(x: Any, y: Any, bias: Any) -> Any:
        pairs = (x.unsqueeze(-1) * y.unsqueeze(-2)).flatten(-2, -1)
        return torch.nn.functional.linear(pairs, weights.flatten(1), bias)

    made: Node = written(node, layer, x, y, bias)
    return made


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
        made = written(node, lambda x: _linear(x, right), lhs)
    elif left is not None and left.ndim == 2 and right is None and fake(rhs).ndim >= 2:
        made = written(node, lambda x: _linear(x.transpose(-2, -1), left.T).transpose(-2, -1), rhs)
    elif node.target is aten.bmm.default:
        return node
    else:
        made = written(node, lambda lhs, rhs: _batches(lhs, rhs, list(fake(node).shape)), lhs, rhs)
    assert isinstance(made, Node)
    return made


def _linear(x: Any, matrix: Tensor) -> Any:
    """x times a constant matrix, or vector."""
    weight = held(x, matrix.reshape(len(matrix), -1).T.contiguous())
    is_vector = x.ndim == 1
    made = torch.nn.functional.linear(x.unsqueeze(0) if is_vector else x, weight)
    made = made.squeeze(0) if is_vector else made
    return made.squeeze(-1) if matrix.ndim == 1 else made


def _batches(lhs: Any, rhs: Any, shape: list[int]) -> Any:
    """As one batch of matrices; vectors are matrices of one row or column."""
    lhs = lhs.unsqueeze(0) if lhs.ndim == 1 else lhs
    rhs = rhs.unsqueeze(1) if rhs.ndim == 1 else rhs
    left, right = lhs.shape, rhs.shape
    batch = [max(sizes) for sizes in _aligned(left[:-2], right[:-2])]
    if len(right) == 2:
        # Shared columns: the rows of all matrices are those of one.
        batch, left = [], torch.Size([math.prod(left[:-1]), left[-1]])
        lhs = lhs.reshape(list(left))
    matrices = [
        _flattened(operand, [*batch, *sizes[-2:]]) for operand, sizes in ((lhs, left), (rhs, right))
    ]
    return torch.bmm(*matrices).reshape(shape)


def _aligned(one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of sizes from the last dimension on, in order; 1 where a shape has none."""
    pairs = list(zip_longest(reversed(one), reversed(other), fillvalue=1))
    return reversed(pairs)


def _flattened(operand: Any, shape: list[int]) -> Any:
    if list(operand.shape) != shape:
        operand = operand.expand(shape)
    return operand.reshape([math.prod(shape[:-2]), *shape[-2:]])
