"""Norms and attention with int16 activations, step by step: each step has an int16 form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cmcompiler.frontend.expression import Step, Value, text_of
from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    is_constant,
    mark_as_step,
    named_arguments,
)

_ATEN, _OWN = torch.ops.aten, torch.ops.cmbuild


def _step(node: Node, operator: Any, *args: Any) -> Node:
    made = insert(node, operator, *args)
    mark_as_step(made)
    return made


def _layer_norm(node: Node) -> Node | None:
    given = named_arguments(node)
    return _normalised(node, given["x"], given["dims"], given, is_centred=True)


def _rms_norm(node: Node) -> Node | None:
    given = named_arguments(node)
    return _normalised(node, given["x"], given["dims"], given, is_centred=False)


def _group_norm(node: Node) -> Node | None:
    given = named_arguments(node)
    x, groups = given["x"], given["groups"]
    batch, channels, *sizes = shape = list(fake(x).shape)
    for name in ("weight", "bias"):
        if given[name] is not None:
            value = _parameter(given[name])
            if value is None:
                return None
            spread = value.reshape(1, groups, channels // groups, *[1 for _ in sizes])
            given[name] = constant(node, f"{node.name}_{name}", spread)
    divided = _step(node, _ATEN.reshape.default, x, [batch, groups, channels // groups, *sizes])
    made = _normalised(node, divided, list(range(2, 3 + len(sizes))), given, is_centred=True)
    return None if made is None else insert(node, _ATEN.reshape.default, made, shape)


def _normalised(
    node: Node, x: Node, dims: list[int], given: dict[str, Any], *, is_centred: bool
) -> Node | None:
    """(x - mean) / √(mean square + epsilon) · weight + bias."""
    dims = [dim % fake(x).ndim for dim in dims]
    if is_centred:
        mean = _step(node, _OWN.short_mean.default, x, dims, True)
        x = _step(node, _OWN.short_add.default, x, mean, -1.0)
    square = _step(node, _OWN.short_mul.default, x, x)
    variance = _step(node, _OWN.short_mean.default, square, dims, True)
    total = Step("add.Tensor", (Value(), float(given["eps"])), {})
    root = text_of([total, Step("rsqrt", (Value(0),), {})])
    factor = _step(node, _OWN.short_function.default, variance, root)
    x = _step(node, _OWN.short_mul.default, x, factor)
    for name, operator, further in (
        ("weight", _OWN.short_mul.default, ()),
        ("bias", _OWN.short_add.default, (1.0,)),
    ):
        parameter = given.get(name)
        if parameter is None:
            continue
        value = _parameter(parameter)
        if value is None:
            return None
        if value.ndim == len(dims):
            value = _spread(value, dims, fake(x).ndim)
        x = _step(node, operator, x, constant(node, f"{node.name}_{name}", value), *further)
    return x


def _parameter(node: Any) -> Tensor | None:
    return constant_value(node) if is_constant(node) else None


def _spread(value: Tensor, dims: list[int], rank: int) -> Tensor:
    """A parameter over some dimensions, in their order, as it broadcasts over all."""
    order = sorted(range(len(dims)), key=lambda place: dims[place])
    sizes = dict(zip(sorted(dims), value.permute(order).shape, strict=True))
    return value.permute(order).reshape([sizes.get(place, 1) for place in range(rank)])


def _attention(node: Node) -> Node | None:
    """Without a mask, and with as many matrices of keys as of queries."""
    given = named_arguments(node)
    query, key, value = (given[name] for name in ("query", "key", "value"))
    if given["mask"] is not None or fake(query).shape[0] != fake(key).shape[0]:
        return None
    scores = _step(node, _OWN.short_bmm.default, query, key, float(given["scale"]))
    weights = _step(node, _OWN.short_softmax.default, scores, 2)
    turned = _step(node, _ATEN.transpose.int, value, 1, 2)
    return insert(node, _OWN.short_bmm.default, weights, turned)


def steps() -> dict[Any, Callable[[Node], Node | None]]:
    """Makers of int16 steps by the operator that they compute; None from one that cannot."""
    return {
        _OWN.layer_norm.default: _layer_norm,
        _OWN.rms_norm.default: _rms_norm,
        _OWN.group_norm.default: _group_norm,
        _OWN.attention.default: _attention,
    }
