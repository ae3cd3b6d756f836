"""Weights of four bits in layers whose constants no observer sees: with int16 activations, and
recurrent ones.

Importing it imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.chosen_precision import is_named, precision_of
from cmcompiler.frontend.narrow_observers import is_large, rounded_to_nibbles
from cmcompiler.frontend.operators import recurrent
from cmcompiler.frontend.operators.short import LIBRARY
from cmcompiler.frontend.precision import GROUPS, NIBBLES, NIBBLES_SHORT, Patterns
from cmcompiler.frontend.rewrites.editing import constant, constant_value, is_constant

assert LIBRARY  # the operators exist

_OPS = torch.ops.cmbuild

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


def narrow_constants(graph: GraphModule, precision: Patterns) -> None:
    """Rounds them, with a scale for each filter, but small ones, and depthwise ones without a
    pattern of their own.
    """
    if all(kind not in _NARROW for _, kind in precision):
        return
    for node in list(graph.graph.nodes):
        places = _NARROW.get(precision_of(node, precision), {}).get(node.target, ())
        if _is_depthwise(node) and not is_named(node, precision):
            continue
        for place in places:
            _narrow(node, place)
    graph.graph.eliminate_dead_code()
    graph.recompile()


def _narrow(node: Node, place: int) -> None:
    held = node.args[place]
    if not isinstance(held, Node) or not is_constant(held):
        return
    value = constant_value(held)
    if not is_large(value):
        return
    rounded = rounded_to_nibbles(value, 0)
    node.update_arg(place, constant(node, f"{node.name}_narrow_{place}", rounded))


def _is_depthwise(node: Node) -> bool:
    """Whether a convolution has groups of one channel each."""
    if node.target is not _OPS.short_conv2d.default or node.args[6] == 1:
        return False
    held = node.args[1]
    if not isinstance(held, Node) or not is_constant(held):
        return False
    return bool(constant_value(held).shape[1] == 1)
