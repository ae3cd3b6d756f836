"""Weights of 16 bits for layers of int16 activations: those chosen, and those that a softmax needs.

Where logits span hundreds, half a step of 8-bit weights moves them by one, and probabilities by e.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.frontend.operators.short import stored_weights
from cmcompiler.frontend.rewrites.editing import constant, constant_value, insert, replace
from cmcompiler.frontend.rewrites.sampled import sampled
from cmcompiler.frontend.sensitivity import snr

_OWN = torch.ops.cmbuild

_ENOUGH = 40.0
"""In dB, at a softmax: who asks for 16 bits wants more than 8 bits of weights leave below that."""

_MOST_STEPS = 4
"""Operators from a layer to a softmax, that one included."""

_LAYERS = frozenset(
    (
        *(_OWN.short_conv2d.default, _OWN.short_conv_transpose2d.default),
        _OWN.short_linear.default,
    )
)

_SOFTMAXES = (_OWN.short_softmax.default, _OWN.short_masked_softmax.default)


def fine_where_softmax_is_sharp(module: GraphModule, is_chosen: Callable[[Node], bool]) -> None:
    """Gives layers 16-bit weights where 8 bits of them alone spoil the softmax of their results."""
    for node in list(module.graph.nodes):
        path = _path(node) if node.target in _LAYERS and is_chosen(node) else []
        if path and _keeps(path) < _ENOUGH:
            replace(node, with_fine_weights(node, node))


def _path(layer: Node) -> list[Node]:
    """A layer and what alone reads it, one after another, up to a softmax; empty if none does."""
    path = [layer]
    while len(path) <= _MOST_STEPS and len(path[-1].users) == 1:
        path.append(next(iter(path[-1].users)))
        if path[-1].target in _SOFTMAXES:
            return path
        if path[-1].op != "call_function":
            return []
    return []


def _keeps(path: Sequence[Node]) -> float:
    """What rounding a layer's weights to 8 bits leaves of the softmax on some samples, in dB."""
    weight = path[0].args[1]
    assert isinstance(weight, Node)
    value = constant_value(weight)
    given = list(dict.fromkeys(x for node in path for x in node.all_input_nodes if x not in path))
    exact, rounded = list[Tensor](), list[Tensor]()
    for row in sampled(*given):
        known = dict(zip(given, row, strict=True))
        exact.append(_computed(path, known))
        rounded.append(_computed(path, known | {weight: _eight_bits(value)}))
    return snr(exact, rounded)


@torch.no_grad()
def _computed(path: Sequence[Node], known: dict[Node, Any]) -> Tensor:
    values = dict(known)
    for node in path:
        arguments = map_arg(node.args, values.__getitem__)
        values[node] = node.target(*arguments, **node.kwargs)  # type: ignore[operator]
    result: Tensor = values[path[-1]]
    return result


def _eight_bits(weight: Tensor) -> Tensor:
    stored, scales = stored_weights(weight)
    return (stored * scales.reshape([-1, *[1] * (weight.ndim - 1)])).to(weight.dtype)


def with_fine_weights(node: Node, made: Node) -> Node:
    """A layer whose weights have 16 bits: the sum of one with the upper eight of them, and of one
    with what these leave of each weight, in steps of its own.
    """
    if made.target in _fine_layers():
        return insert(node, _fine_layers()[made.target], *made.args)
    if made.target not in _LAYERS:
        return made
    x, weight, bias, *rest = made.args
    assert isinstance(weight, Node)
    value = constant_value(weight)
    upper = _eight_bits(value)
    parts = [
        insert(node, made.target, x, constant(node, f"{node.name}_{name}", part), own, *rest)
        for name, part, own in (("upper", upper, bias), ("lower", value - upper, None))
    ]
    return insert(node, _OWN.short_add.default, *parts, 1.0)


@cache
def _fine_layers() -> dict[Any, Any]:
    """Recurrent layers whose weights have 16 bits, by those with eight."""
    return {
        getattr(_OWN, f"short_{name}").default: getattr(_OWN, f"fine_{name}").default
        for name in ("lstm", "lstm_state", "gru", "gru_state", "rnn")
    }
