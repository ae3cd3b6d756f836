"""Weights of four bits in layers of int16 activations, whose constants no observer sees.

Importing it imports torch.
"""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.chosen_precision import precision_of
from cmcompiler.frontend.narrow_observers import is_large, rounded_to_nibbles
from cmcompiler.frontend.operators.short import LIBRARY
from cmcompiler.frontend.precision import NIBBLES_SHORT, Patterns
from cmcompiler.frontend.rewrites.editing import constant, constant_value, is_constant

assert LIBRARY  # the operators exist

_OPS = torch.ops.cmbuild

_LAYERS = frozenset(
    (
        *(_OPS.short_conv2d.default, _OPS.short_conv_transpose2d.default),
        _OPS.short_linear.default,
    )
)


def narrow_constants(graph: GraphModule, precision: Patterns) -> None:
    """Rounds them, with a scale for each filter; small and depthwise ones stay as they are."""
    if all(kind != NIBBLES_SHORT for _, kind in precision):
        return
    for node in list(graph.graph.nodes):
        if node.target not in _LAYERS or precision_of(node, precision) != NIBBLES_SHORT:
            continue
        held = node.args[1]
        if not isinstance(held, Node) or not is_constant(held):
            continue
        value = constant_value(held)
        if not is_large(value) or _is_depthwise(node, value):
            continue
        node.update_arg(1, constant(node, f"{node.name}_narrow", rounded_to_nibbles(value, 0)))
    graph.graph.eliminate_dead_code()
    graph.recompile()


def _is_depthwise(node: Node, weight: torch.Tensor) -> bool:
    """Flash would hardly be saved."""
    is_in_groups = node.target is _OPS.short_conv2d.default and node.args[6] != 1
    return bool(is_in_groups and weight.shape[1] == 1)
