"""Weights of four bits in layers whose constants no observer sees: with int16 activations, and
recurrent ones.

Importing it imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.chosen_precision import is_named, precision_of
from cmcompiler.frontend.narrow_observers import holds_nibbles, is_large, rounded_to_nibbles
from cmcompiler.frontend.operators import recurrent
from cmcompiler.frontend.operators.short import LIBRARY
from cmcompiler.frontend.precision import GROUPS, NIBBLES, NIBBLES_SHORT, Patterns
from cmcompiler.frontend.rewrites.editing import constant, constant_value, is_constant

assert LIBRARY  # the operators exist

_OPS = torch.ops.cmbuild

NARROW = "cmbuild_narrow"
"""Where a node's `meta` keeps the places of such weights."""

_LSTM, _GRU = (3, 4), recurrent.ROWS
"""Places of the weights for the input and for the preceding outputs; projections stay bytes."""

_SHORT: Mapping[Any, tuple[int, ...]] = {
    _OPS.short_conv2d.default: (1,),
    _OPS.short_conv_transpose2d.default: (1,),
    _OPS.short_linear.default: (1,),
    _OPS.short_lstm.default: _LSTM,
    _OPS.short_lstm_state.default: _LSTM,
    _OPS.short_gru.default: _GRU,
    _OPS.short_gru_state.default: _GRU,
    _OPS.short_rnn.default: _GRU,
}

_BYTES: Mapping[Any, tuple[int, ...]] = {
    _OPS.lstm.default: _LSTM,
    _OPS.lstm_state.default: _LSTM,
    _OPS.gru.default: _GRU,
    _OPS.gru_state.default: _GRU,
    _OPS.rnn.default: _GRU,
}

_NARROW = {
    NIBBLES_SHORT: {**_BYTES, **_SHORT},
    **dict.fromkeys((NIBBLES, *GROUPS), _BYTES),
}
"""The matrices of layers that each precision rounds here."""


def mark_narrow(graph: GraphModule, precision: Patterns) -> None:
    """Marks them, but small ones, and depthwise ones without a pattern of their own."""
    for node in graph.graph.nodes:
        places = _NARROW.get(precision_of(node, precision), {}).get(node.target, ())
        if not _is_depthwise(node) or is_named(node, precision):
            held = {place: _weights(node, place) for place in places}
            large = [place for place, each in held.items() if each is not None and is_large(each)]
            if large:
                node.meta[NARROW] = tuple(large)


def hold_narrow(prepared: GraphModule) -> None:
    """Rounds what is marked, with a scale for each filter, unless four bits hold it already."""
    for node in list(prepared.graph.nodes):
        for place in node.meta.get(NARROW, ()):
            value = _weights(node, place)
            if value is not None and not holds_nibbles(value.flatten(1)):
                rounded = rounded_to_nibbles(value, 0)
                held = constant(node, f"{node.name}_narrow_{place}", rounded)
                node.update_arg(place, held)
    prepared.graph.eliminate_dead_code()
    prepared.recompile()


def _weights(node: Node, place: int) -> Tensor | None:
    held = node.args[place]
    return constant_value(held) if isinstance(held, Node) and is_constant(held) else None


def _is_depthwise(node: Node) -> bool:
    """Whether a convolution has groups of one channel each."""
    if node.target is not _OPS.short_conv2d.default or node.args[6] == 1:
        return False
    weights = _weights(node, 1)
    return weights is not None and weights.shape[1] == 1
