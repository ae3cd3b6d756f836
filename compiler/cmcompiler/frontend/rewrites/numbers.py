"""Numbers that Python takes from tensors: those of constants, as numbers of the program, and those
of places, `back[t][state]`, as places to gather from.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.hints import DEPENDS_ON_VALUES
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import insert, named_arguments, replace
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
    _gather(module)
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


def _gather(module: GraphModule) -> None:
    """Gathers each element whose place is taken from a tensor for nothing else."""
    for node in list(module.graph.nodes):
        users = list(node.users) if node.target in _TAKING else []
        is_place = all(user.target in {_ATEN.select.int, *_CHECKS} for user in users)
        if not is_place or not users or value_of(node.args[0]) is not None:
            continue
        for user in users:
            if user.target in _CHECKS:
                module.graph.erase_node(user)
                continue
            given = named_arguments(user)
            place = insert(user, _ATEN.reshape.default, node.args[0], [1])
            gathered = insert(user, _ATEN.index_select.default, given["self"], given["dim"], place)
            replace(user, insert(user, _ATEN.select.int, gathered, given["dim"], 0))
        module.graph.erase_node(node)


def _is_of_python(node: Node) -> bool:
    return getattr(node.target, "__module__", "") in (operator.__name__, "_operator", "math")
