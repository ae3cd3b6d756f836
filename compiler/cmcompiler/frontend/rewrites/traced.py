"""Writes torch expressions into an exported graph, in the place of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload, OpOverloadPacket
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments, replace

_ATEN = torch.ops.aten

Rule = Callable[..., Any]
"""An operator's result as a torch expression of its arguments, by their names in its schema.

Given as Traced, or as numbers and lists. One of the name `out` is the result's fake tensor. None
leaves the operator as it is.
"""


def _binary(operator: Any) -> Callable[[Traced, Any], Any]:
    return lambda self, other: _call(self._before, operator, self, other)


class Traced:
    """A node as the tensor that it computes: torch's functions and methods of it make new nodes.

    Tensors among their arguments become constants of the graph.
    """

    def __init__(self, node: Node, before: Node) -> None:
        self.node = node
        self._before = before
        self._value = fake(node)

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "ndim", "dtype", "numel", "stride", "is_floating_point"):
            return getattr(self._value, name)
        return partial(_call, self._before, getattr(_ATEN, name), self)

    def narrow(self, dim: int, start: int, length: int) -> Any:
        return _call(self._before, _ATEN.slice.Tensor, self, dim, start, start + length)

    def __getitem__(self, part: int) -> Any:
        """One of several results."""
        if part >= len(self._value):
            raise IndexError
        return Traced(insert(self._before, getitem, self.node, part), self._before)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        before = next(each._before for each in _flat(args) if isinstance(each, Traced))
        if not isinstance(function, OpOverload | OpOverloadPacket):
            function = getattr(_ATEN, function.__name__)
        return _call(before, function, *args, **(kwargs or {}))

    __add__, __sub__, __mul__ = map(_binary, (_ATEN.add, _ATEN.sub, _ATEN.mul))
    __truediv__, __matmul__ = map(_binary, (_ATEN.div, _ATEN.matmul))
    __lt__, __le__, __gt__, __ge__ = map(_binary, (_ATEN.lt, _ATEN.le, _ATEN.gt, _ATEN.ge))


def apply_rules(module: GraphModule, rules: Mapping[Any, Rule]) -> None:
    """Replaces operators by what their rules say."""
    for node in list(module.graph.nodes):
        if (rule := rules.get(node.target)) is not None:
            apply_rule(node, rule)


def apply_rule(node: Node, rule: Rule) -> bool:
    """Whether a rule gave something for an operator, which replaces it."""
    given = {**named_arguments(node), "out": node.meta.get("val")}
    first = node.prev
    taken = {name: _traced(node, given[name]) for name in signature(rule).parameters}
    made = rule(**taken)
    if made is None:
        return False
    if isinstance(made, tuple):
        for user in list(node.users):
            part: Any = user.args[1]
            replace(user, _node(node, made[part]))
        _erase_unused(first, node)
    else:
        replace(node, _node(node, made))
    return True


def _erase_unused(first: Node, last: Node) -> None:
    """Erases what an expression computed for results that nobody takes."""
    while last.prev is not first:
        if last.prev.users:
            last = last.prev
        else:
            last.graph.erase_node(last.prev)


def written(before: Node, expression: Rule, *sources: Any) -> Any:
    """The result of a torch expression of nodes, inserted before one of the graph."""
    return _node(before, expression(*(_traced(before, each) for each in sources)))


def _traced(before: Node, given: Any) -> Any:
    if isinstance(given, list | tuple) and any(isinstance(each, Node) for each in given):
        return [_traced(before, each) for each in given]
    return Traced(given, before) if isinstance(given, Node) else given


def _call(before: Node, function: Any, *args: Any, **kwargs: Any) -> Traced:
    given = [_node(before, each) for each in args]
    keywords = {name: _node(before, each) for name, each in kwargs.items()}
    if isinstance(function, OpOverloadPacket):
        fakes = [_fake(each) for each in given]
        name = torch._C._jit_resolve_packet(function._qualified_op_name, *fakes, **kwargs)
        function = getattr(function, name)
    return Traced(insert(before, function, *given, **keywords), before)


def _fake(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [_fake(each) for each in given]
    return fake(given) if isinstance(given, Node) else given


def _node(before: Node, given: Any) -> Any:
    """A node or a literal in place of an expression's value."""
    if isinstance(given, list | tuple):
        return [_node(before, each) for each in given]
    if isinstance(given, Tensor):
        return constant(before, f"{before.name}_constant", given)
    return given.node if isinstance(given, Traced) else given


def _flat(given: Any) -> list[Any]:
    if isinstance(given, list | tuple):
        return [part for each in given for part in _flat(each)]
    return [given]
