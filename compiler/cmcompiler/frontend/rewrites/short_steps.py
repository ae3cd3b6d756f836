"""Norms, attention and projected LSTMs with int16 activations, of steps that each have a form."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from operator import getitem
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
    replace,
)
from cmcompiler.frontend.rewrites.exclusions import NEGLIGIBLE
from cmcompiler.frontend.rewrites.sampled import sampled

_ATEN, _OWN = torch.ops.aten, torch.ops.cmbuild

_MOST_SAMPLES = 4

_MOST_CONDITION = 2.0**6
"""Condition number of a projection up to which initial outputs become units: six bits are lost."""


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


def _attention(node: Node) -> Node:
    given = named_arguments(node)
    query, key, value = (given[name] for name in ("query", "key", "value"))
    matrices, (batch, rows, _) = fake(key).shape[0], fake(query).shape
    keys = fake(key).shape[1]
    # Consecutive matrices of queries that share keys are one.
    is_grouped = batch != matrices
    if is_grouped:
        query = _step(node, _ATEN.reshape.default, query, [matrices, -1, fake(query).shape[2]])
    scores = _step(node, _OWN.short_bmm.default, query, key, float(given["scale"]))
    if is_grouped:
        scores = _step(node, _ATEN.reshape.default, scores, [batch, rows, keys])
    weights = _weights(node, scores, given)
    if is_grouped:
        weights = _step(node, _ATEN.reshape.default, weights, [matrices, -1, keys])
    turned = _step(node, _ATEN.transpose.int, value, 1, 2)
    if not is_grouped:
        return insert(node, _OWN.short_bmm.default, weights, turned)
    made = _step(node, _OWN.short_bmm.default, weights, turned)
    return insert(node, _ATEN.reshape.default, made, list(fake(node).shape))


def _biased_attention(node: Node) -> Node | None:
    """Where what is added to the scores is a number among them, and excludes none."""
    rows = list(islice(sampled(named_arguments(node)["added"]), _MOST_SAMPLES))
    is_moderate = all(float(added.abs().max()) < NEGLIGIBLE for (added,) in rows)
    return _attention(node) if rows and is_moderate else None


def _weights(node: Node, scores: Node, given: dict[str, Any]) -> Node:
    """The softmax of the scores that a mask leaves, with what is added to them."""
    mask, added = given.get("mask"), given.get("added")
    number, is_added = given.get("number", -math.inf), bool(given.get("is_added"))
    if mask is not None and "number" not in given:
        constants = constant_value(mask)
        kept, moderate = constants != -math.inf, constants.nan_to_num(neginf=0.0)
        mask = None if bool(kept.all()) else constant(node, f"{node.name}_kept", kept)
        added = constant(node, f"{node.name}_added", moderate) if moderate.any() else None
    if added is not None:
        scores = _step(node, _OWN.short_add.default, scores, added, 1.0)
    if mask is None:
        return _step(node, _OWN.short_softmax.default, scores, 2)
    return _step(node, _OWN.short_masked_softmax.default, scores, mask, 2, number, is_added)


def projected(node: Node, operator: Any) -> Node | None:
    """An LSTM whose outputs are projected, as one whose preceding units the gates read.

    The weights of preceding outputs times the projection are those of preceding units. Outputs that
    it is given to begin with are the projection of their product with its inverse; None where that
    has far larger numbers than these, or does not exist.
    """
    given = named_arguments(node)
    weights, projection = (_parameter(given[name]) for name in ("hidden_weight", "projection"))
    if weights is None or projection is None:
        return None
    units = given["hidden"]
    if units is not None:
        if not float(torch.linalg.cond(projection)) <= _MOST_CONDITION:  # NaN if all are zero
            return None
        inverse = constant(node, f"{node.name}_inverse", torch.linalg.pinv(projection))
        units = _step(node, _OWN.short_linear.default, units, inverse, None)
    merged = constant(node, f"{node.name}_units_weight", weights @ projection)
    changed = {"hidden": units, "hidden_weight": merged, "projection": None}
    made = _step(node, operator, *(given | changed).values())
    if isinstance(node.meta["val"], Tensor):
        return insert(node, _OWN.short_linear.default, made, given["projection"], None)
    for user in [each for each in node.users if each.args[1] == 0]:
        rows = _step(user, getitem, made, 0)
        replace(user, insert(user, _OWN.short_linear.default, rows, given["projection"], None))
    return made


def steps() -> dict[Any, Callable[[Node], Node | None]]:
    """Makers of int16 steps by the operator that they compute; None from one that cannot."""
    return {
        _OWN.layer_norm.default: _layer_norm,
        _OWN.rms_norm.default: _rms_norm,
        _OWN.group_norm.default: _group_norm,
        _OWN.attention.default: _attention,
        _OWN.masked_attention.default: _attention,
        _OWN.biased_attention.default: _biased_attention,
    }
