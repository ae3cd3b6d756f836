"""Makes the compiler's own norms of the arithmetic that spells them out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import arguments, constant, fake, insert, replace

aten, cmbuild = torch.ops.aten, torch.ops.cmbuild

SMALL = 1e-5
"""An addend to a length or a deviation up to which it may be added to its square instead."""


@dataclass(frozen=True, slots=True)
class _Length:
    """√(factor · mean of the squares over some dimensions + eps) of what is divided by it.

    Attributes:
        variance_of: if not None, the squares are of its distances from its mean.
    """

    of: Node
    dims: tuple[int, ...]
    factor: float
    eps: float
    variance_of: Node | None = None


def spell_norms(module: GraphModule) -> None:
    """Replaces x / √(mean of x² + eps), also of x less its mean, with constant factors after it."""
    for node in list(module.graph.nodes):
        made = _norm(node) if node.target in (aten.mul.Tensor, aten.div.Tensor) else None
        if made is not None:
            replace(node, made)
    for node in list(module.graph.nodes):
        if node.target in (cmbuild.layer_norm.default, cmbuild.rms_norm.default):
            _take_parameters(node)


def _norm(node: Node) -> Node | None:
    for divided, divisor in _quotients(node):
        length = _length(divisor)
        if length is None or fake(divided).shape != fake(node).shape:
            continue
        made = _normalised(node, divided, length)
        if made is not None:
            return made
        factor = _constant_factor(divided)
        if factor is not None:
            source, parameter = factor
            made = _normalised(node, source, length)
            return None if made is None else insert(node, aten.mul.Tensor, made, parameter)
    return None


def _constant_factor(node: Node) -> tuple[Node, Node] | None:
    """The (tensor, constant) operands of a multiplication by a constant."""
    if node.target is not aten.mul.Tensor:
        return None
    for source, factor in (node.args, node.args[::-1]):
        if isinstance(source, Node) and isinstance(factor, Node) and value_of(factor) is not None:
            return (source, factor) if fake(source).shape == fake(node).shape else None
    return None


def _normalised(node: Node, divided: Node, length: _Length) -> Node | None:
    centred = _centred(divided, length.dims)
    if length.variance_of is not None:
        is_its = centred is length.variance_of
        return _made(node, length.variance_of, length, True) if is_its else None
    if not _same(length.of, divided):
        return None
    return _made(node, divided if centred is None else centred, length, centred is not None)


def _made(node: Node, source: Node, length: _Length, is_centred: bool) -> Node:
    weight = None
    dims = list(length.dims)
    if length.factor != 1:
        count = math.prod(fake(source).shape[dim] for dim in dims)
        weight = constant(node, "weight", torch.full((count,), length.factor**-0.5))
    eps = length.eps / length.factor
    if is_centred:
        return insert(node, cmbuild.layer_norm.default, source, dims, weight, None, eps)
    return insert(node, cmbuild.rms_norm.default, source, dims, weight, eps)


def _quotients(node: Node) -> Iterator[tuple[Node, Node]]:
    """Pairs of which the node is the first times or over the second, whose square root it is."""
    first, second = node.args
    if not isinstance(first, Node) or not isinstance(second, Node):
        return
    if node.target is aten.div.Tensor:
        yield first, second
        return
    for divided, inverse in ((first, second), (second, first)):
        power = inverse.args[1] if inverse.target is aten.pow.Tensor_Scalar else None
        if inverse.target is aten.rsqrt.default or power == -0.5:
            yield divided, inverse
        elif inverse.target is aten.reciprocal.default:
            yield divided, inverse.args[0]  # type: ignore[misc]


def _length(node: Node) -> _Length | None:
    added = 0.0
    while node.target in (aten.expand.default, aten.add.Tensor, aten.clamp_min.default):
        if node.target is not aten.expand.default:
            amount = node.args[1]
            if node.kwargs or not isinstance(amount, float) or not 0 <= amount <= SMALL:
                return None
            added = max(added, amount)
        node = node.args[0]  # type: ignore[assignment]
    power = node.args[1] if node.target is aten.pow.Tensor_Scalar else None
    if node.target in (aten.sqrt.default, aten.rsqrt.default) or power in (0.5, -0.5):
        return _square(node.args[0], added)  # type: ignore[arg-type]
    if node.target is aten.linalg_vector_norm.default:
        source, order, dims, keepdim = arguments(node, None, 2, None, False)
        if order == 2 and keepdim and dims and not node.kwargs:
            return _over(source, dims, None, added**2)
    if node.target in (aten.std.dim, aten.std.correction):
        return _variance(node, added**2)
    return None


def _square(node: Node, added: float) -> _Length | None:
    """The length whose square this is."""
    eps = added**2
    while node.target in (aten.add.Tensor, aten.clamp_min.default):
        amount = node.args[1]
        if node.kwargs or not isinstance(amount, (int, float)) or amount < 0:
            return None
        # A lower bound is not the same as an addend, but for where both do not matter.
        if node.target is aten.clamp_min.default and amount > SMALL:
            return None
        eps += amount
        node = node.args[0]  # type: ignore[assignment]
    if node.target in (aten.var.dim, aten.var.correction):
        return _variance(node, eps)
    is_mean = node.target is aten.mean.dim
    if not is_mean and node.target is not aten.sum.dim_IntList:
        return None
    squares, dims, keepdim = arguments(node, None, None, False)
    source = _squared(squares)
    if source is None or not keepdim or not dims or node.kwargs:
        return None
    return _over(source, dims, 1.0 if is_mean else None, eps)


def _over(source: Node, dims: list[int], factor: float | None, eps: float) -> _Length:
    shape = fake(source).shape
    places = tuple(sorted(dim % len(shape) for dim in dims))
    count = float(math.prod(shape[dim] for dim in places))
    return _Length(source, places, factor or count, eps)


def _variance(node: Node, eps: float) -> _Length | None:
    source, dims = (*node.args, None)[:2]
    correction: Any = 1
    if node.target in (aten.var.dim, aten.std.dim):
        _, _, unbiased, keepdim = arguments(node, None, None, True, False)
        correction = int(unbiased)
    else:
        correction = node.kwargs.get("correction", 1)
        keepdim = node.kwargs.get("keepdim", False)
    if not keepdim or not dims or correction is None:
        return None
    length = _over(source, dims, 1.0, eps)  # type: ignore[arg-type]
    count = math.prod(fake(length.of).shape[dim] for dim in length.dims)
    if count <= correction:
        return None
    return _Length(length.of, length.dims, count / (count - correction), eps, length.of)


def _squared(node: Any) -> Node | None:
    """x of x², however it is written."""
    if not isinstance(node, Node):
        return None
    first, *rest = node.args
    is_square = (
        (node.target is aten.pow.Tensor_Scalar and rest == [2])
        or node.target is aten.square.default
        or (node.target is aten.mul.Tensor and isinstance(rest[0], Node) and _same(first, rest[0]))
    )
    return first if is_square and isinstance(first, Node) else None


def _centred(node: Node, dims: tuple[int, ...]) -> Node | None:
    """x of x less its mean over the dimensions."""
    if node.target is not aten.sub.Tensor or node.kwargs:
        return None
    source, mean = node.args
    if not isinstance(mean, Node) or mean.target is not aten.mean.dim or mean.args[0] is not source:
        return None
    _, own, keepdim = arguments(mean, None, None, False)
    assert isinstance(source, Node)
    rank = fake(source).ndim
    is_same = sorted(dim % rank for dim in own or ()) == list(dims)
    return source if keepdim and is_same else None


def _same(one: Any, other: Any) -> bool:
    """Whether two nodes compute the same: they are one, or call one operator on the same."""
    if one is other or not isinstance(one, Node) or not isinstance(other, Node):
        return one is other or (not isinstance(one, Node) and one == other)
    if one.op != "call_function" or one.target != other.target or one.kwargs != other.kwargs:
        return False
    return len(one.args) == len(other.args) and all(map(_same, one.args, other.args))


def _take_parameters(norm: Node) -> None:
    """Takes a constant factor and, if the norm has a bias, a constant addend that follow it."""
    has_bias = norm.target is cmbuild.layer_norm.default
    for operator in (aten.mul.Tensor, aten.add.Tensor)[: 1 + has_bias]:
        user = next(iter(norm.users)) if len(norm.users) == 1 else None
        if user is None or user.target is not operator or user.kwargs:
            continue
        other = user.args[1] if user.args[0] is norm else user.args[0]
        value = _by_element(norm, value_of(other))
        if value is None or fake(user).shape != fake(norm).shape:
            continue
        weight, bias = (value_of(x) for x in (norm.args[2], norm.args[3] if has_bias else None))
        if operator is aten.mul.Tensor:
            weight = value if weight is None else weight.reshape(-1) * value
            bias = None if bias is None else bias.reshape(-1) * value
        else:
            bias = value if bias is None else bias.reshape(-1) + value
        for position, parameter in ((2, weight), (3, bias)):
            if parameter is not None:
                norm.update_arg(position, constant(norm, f"{norm.name}_parameter", parameter))
        replace(user, norm)


def _by_element(norm: Node, value: Tensor | None) -> Tensor | None:
    """A tensor that broadcasts to the norm, with one number for each element of its dimensions."""
    dims, shape = norm.args[1], fake(norm).shape
    assert isinstance(dims, (list, tuple))
    if value is None or value.ndim > len(shape) or value.dtype != torch.float32:
        return None
    value = value.reshape((1,) * (len(shape) - value.ndim) + value.shape)
    if any(value.shape[dim] != 1 for dim in range(len(shape)) if dim not in dims):
        return None
    sizes = [shape[dim] if dim in dims else 1 for dim in range(len(shape))]
    return value.expand(sizes).reshape(-1).clone()
