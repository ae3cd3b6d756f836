"""Branches and loops written out: both ways and a choice between them, every turn of a loop.

So are parts of a model that torch keeps apart for training alone, as those without gradients.

The choice reads one bool. What only one way needs is not computed if the other is taken: see
cmcompiler.importer.choices.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    is_constant,
    owner,
)
from cmcompiler.usercode import place_of_node

_ATEN = torch.ops.aten
_CONDITION = torch.ops.higher_order.cond
_LOOP = torch.ops.higher_order.while_loop
_SCAN = torch.ops.higher_order.scan
_MAP = torch.ops.higher_order.map_impl

_WRAPPERS = {
    *("wrap_with_set_grad_enabled", "wrap_with_autocast", "tag_activation_checkpoint"),
    *("wrap", "hints_wrapper", "invoke_subgraph"),
}
"""Names of operators that compute a subgraph as it is; its operands follow it."""

MOST_TURNS = 1024
"""Turns of a loop that are written out."""
MOST_NODES = 1 << 14
"""Operators that the turns of a loop have in all."""

_CONJUNCTIONS = {
    *(_ATEN.logical_and.default, _ATEN.bitwise_and.Tensor, _ATEN.__and__.Tensor),
}
"""False if one operand is."""


def write_out_branches_and_loops(module: GraphModule) -> None:
    """
    Raises:
        Unsupported: a loop without a fixed largest number of turns, or with too many; another
            operator of functions.
    """
    while True:
        nodes = [node for node in module.graph.nodes if _has_subgraphs(node)]
        if not nodes:
            _refuse_others(module)
            return
        for node in nodes:
            _replace_results(node, _results(node))
        module.graph.eliminate_dead_code()


def write_out_parts(module: GraphModule) -> None:
    """Writes out parts alone, which write to the tensors that they are given."""
    while nodes := [node for node in module.graph.nodes if _wrapper(node) in _WRAPPERS]:
        for node in nodes:
            _replace_results(node, _inlined(node, *_wrapped(node)))
        module.graph.eliminate_dead_code()


def _refuse_others(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if isinstance(node.target, HigherOrderOperator):
            raise Unsupported(
                f"{place_of_node(node)}no kernel for {node.target}, which calls functions",
                "call them in forward(); branch with torch.cond, repeat with while_loop or scan",
            )


def _has_subgraphs(node: Node) -> bool:
    return node.target in (_CONDITION, _LOOP, _SCAN, _MAP) or _wrapper(node) in _WRAPPERS


def _wrapper(node: Node) -> str:
    return str(node.target) if isinstance(node.target, HigherOrderOperator) else ""


def _results(node: Node) -> list[Node]:
    if node.target is _CONDITION:
        return _branch(node)
    if node.target is _LOOP:
        return _turns(node)
    if node.target is _SCAN:
        body, first, lines, rest = node.args
        return _rows(node, body, first, lines, rest)
    if node.target is _MAP:
        body, lines, rest = node.args
        return _rows(node, body, (), lines, rest)
    return _inlined(node, *_wrapped(node))


def wrapped(node: Node) -> tuple[Graph, Sequence[Any]] | None:
    """The subgraph that an operator computes as it is, and its operands; None for others."""
    if _wrapper(node) not in _WRAPPERS:
        return None
    part, operands = _wrapped(node)
    return _subgraph(node, part), operands


def _wrapped(node: Node) -> tuple[Any, Sequence[Any]]:
    place = next(i for i, each in enumerate(node.args) if _is_attribute(each))
    operands = node.args[place + 1 :]
    if operands and isinstance(operands[0], str):  # the name of a region that is compiled once
        operands = operands[1:]
    return node.args[place], operands


def _is_attribute(given: Any) -> bool:
    return isinstance(given, Node) and given.op == "get_attr"


def _branch(node: Node) -> list[Node]:
    condition, when_true, when_false, operands = node.args
    known = _truth(condition)
    if known is not None:
        return _inlined(node, when_true if known else when_false, operands)
    ways = [_inlined(node, way, operands) for way in (when_true, when_false)]
    return _chosen(node, condition, *ways)


def _turns(node: Node) -> list[Node]:
    """The last values of a loop's variables.

    From the first turn on that may not happen, variables keep their values once the condition was
    false. Variables that constants alone decide, such as a count, have known values in each turn
    that happens.
    """
    condition, body, first, rest = node.args
    values = [_tensor(node, each) for each in first]  # type: ignore[union-attr]
    rest = list(rest)  # type: ignore[arg-type]
    goes_on: Node | None = None
    known = [_held(node, value) for value in values]
    size = len(_subgraph(node, body).nodes)
    turn = 0
    while True:
        within = [k if k is not None else v for k, v in zip(known, values, strict=True)]
        (is_next,) = _inlined(node, condition, [*within, *rest])
        truth = _truth(is_next)
        if truth is False:
            return values
        is_endless = truth is None and not any(k is not None for k in known)
        if is_endless or turn >= MOST_TURNS or turn * size > MOST_NODES:
            raise _unbounded(node, None if is_endless else turn)
        if truth is None:
            is_next = _scalar(node, _undecided(is_next))
            if goes_on is not None:
                is_next = insert(node, _ATEN.logical_and.default, goes_on, is_next)
            goes_on = is_next
        made = _inlined(node, body, [*within, *rest])
        known = [_held(node, each, values) for each in made]
        values = made if goes_on is None else _chosen(node, goes_on, made, values)
        turn += 1


def _unbounded(node: Node, most: int | None) -> Unsupported:
    number = "no fixed largest number of" if most is None else f"more than {most:,}"
    return Unsupported(
        f"{place_of_node(node)}a loop has {number} turns",
        "count them in a variable that begins with a constant, and bound it in the condition: "
        "(i < 8) & (…)",
    )


def _rows(node: Node, body: Any, first: Any, lines: Any, rest: Any) -> list[Node]:
    """The last values of a scan's variables, and what it makes of each row of its tensors."""
    values = [_tensor(node, each) for each in first]
    count = fake(lines[0]).shape[0]
    if count > MOST_TURNS or count * len(_subgraph(node, body).nodes) > MOST_NODES:
        raise Unsupported(
            f"{place_of_node(node)}{count:,} rows are too many to be computed one after the other",
            "compute them at once, as torch.vmap does, or reduce their number",
        )
    made: list[list[Node]] = []
    for row in range(count):
        given = [insert(node, _ATEN.select.int, each, 0, row) for each in lines]
        results = _inlined(node, body, [*values, *given, *rest])
        values = results[: len(values)]
        made.append(results[len(values) :])
    stacked = (insert(node, _ATEN.stack.default, list(each)) for each in zip(*made, strict=True))
    return [*values, *stacked]


def _inlined(node: Node, way: Any, operands: Any) -> list[Node]:
    """The results of a subgraph, with copies of its operators before a node."""
    inner: list[Node] = list(_subgraph(node, way).nodes)
    inputs = [each for each in inner if each.op == "placeholder"]
    copies: dict[Node, Any] = dict(zip(inputs, operands, strict=True))
    for each in inner:
        if each.op == "get_attr":
            copies[each] = _attribute(node, each)
        elif each.op == "call_function":
            with node.graph.inserting_before(node):
                copy = node.graph.node_copy(each, copies.__getitem__)
            copies[each] = copy
            if not _has_subgraphs(each):
                given = map_arg((copy.args, copy.kwargs), fake)
                copy.meta["val"] = each.target(*given[0], **given[1])  # type: ignore[operator]
    (returned,) = inner[-1].args
    results = returned if isinstance(returned, (tuple, list)) else (returned,)
    return [_tensor(node, copies.get(each, each)) for each in results]  # type: ignore[arg-type]


def _subgraph(node: Node, way: Any) -> Graph:
    module = owner(node).get_submodule(str(way.target))
    assert isinstance(module, GraphModule)
    return module.graph


def _attribute(node: Node, inner: Node) -> Node:
    """A subgraph's attribute, held by the graph."""
    held: Any = owner(inner)
    for part in str(inner.target).split("."):
        held = getattr(held, part)
    if isinstance(held, Tensor):
        return constant(node, f"{node.name}_{inner.name}", constant_value(inner))
    module, number = owner(node), 0
    while hasattr(module, name := f"{node.name}_{inner.name}_{number}"):
        number += 1
    module.add_module(name, held)
    with node.graph.inserting_before(node):
        return node.graph.get_attr(name)


def _tensor(node: Node, value: Any) -> Node:
    if isinstance(value, Node):
        return value
    return constant(node, f"{node.name}_number", torch.as_tensor(value))


def _held(node: Node, value: Node, unknown: Collection[Node] = ()) -> Node | None:
    """A value that depends on constants alone, as a constant."""
    tensor = value_of(value, [each for each in unknown if not is_constant(each)])
    return None if tensor is None else constant(node, f"{node.name}_value", tensor)


def _truth(condition: Any) -> bool | None:
    """Whether a condition always holds or never does; None if values decide."""
    if not isinstance(condition, Node):
        return bool(condition) if isinstance(condition, (bool, int)) else None
    value = value_of(condition)
    if value is not None:
        return bool(value)
    if condition.target in _CONJUNCTIONS and any(_truth(x) is False for x in condition.args):
        return False
    return None


def _undecided(condition: Node) -> Node:
    """The operand of a conjunction that decides it, if the other always holds."""
    if condition.target in _CONJUNCTIONS:
        for one, other in (condition.args, condition.args[::-1]):
            if _truth(one) and isinstance(other, Node) and fake(other).dtype == torch.bool:
                return _undecided(other)
    return condition


def _scalar(node: Node, condition: Node) -> Node:
    if fake(condition).ndim:
        return insert(node, _ATEN.reshape.default, condition, [])
    return condition


def _chosen(
    node: Node, condition: Any, when_true: Sequence[Node], when_false: Sequence[Node]
) -> list[Node]:
    decides = _scalar(node, condition)
    return [
        one if one is other else insert(node, _ATEN.where.self, decides, one, other)
        for one, other in zip(when_true, when_false, strict=True)
    ]


def _replace_results(node: Node, results: Sequence[Node]) -> None:
    for user in list(node.users):
        assert user.target is getitem
        user.replace_all_uses_with(results[user.args[1]])  # type: ignore[index]
        node.graph.erase_node(user)
    node.graph.erase_node(node)
