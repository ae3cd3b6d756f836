"""Numbers that Python takes from tensors: those of constants, as numbers of the program."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.hints import DEPENDS_ON_VALUES
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.usercode import place_of_node

_ATEN = torch.ops.aten
_TAKING = {_ATEN.item.default, _ATEN._local_scalar_dense.default}
_CHECKS = {
    *(_ATEN._assert_scalar.default, _ATEN._assert_async.msg),
    *(_ATEN.sym_constrain_range.default, _ATEN.sym_constrain_range_for_size.default),
}
"""Operators that check such numbers and compute nothing."""


def take_numbers(module: GraphModule) -> None:
    """
    Raises:
        Unsupported: a number that is taken depends on inputs.
    """
    if not any(node.target in _TAKING for node in module.graph.nodes):
        return
    numbers: dict[Node, Any] = {}
    for node in list(module.graph.nodes):
        if node.target in _TAKING:
            value = value_of(node.args[0])
            if value is None:
                reason, hint = DEPENDS_ON_VALUES
                raise Unsupported(f"{place_of_node(node)}{reason}", hint)
            numbers[node] = value.item()
        elif node.op == "call_function" and not numbers.keys().isdisjoint(node.all_input_nodes):
            args, kwargs = map_arg((node.args, node.kwargs), lambda n: numbers.get(n, n))
            node.args, node.kwargs = args, kwargs
            if node.target in _CHECKS:
                module.graph.erase_node(node)
            elif _is_of_python(node) and not node.all_input_nodes:
                numbers[node] = node.target(*args, **kwargs)
    for node in reversed(numbers):
        module.graph.erase_node(node)


def _is_of_python(node: Node) -> bool:
    return getattr(node.target, "__module__", "") in (operator.__name__, "_operator", "math")
