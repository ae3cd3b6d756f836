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


class _Writer:
    """Inserts calls before a node, of what Traced stands for."""

    def __init__(self, before: Node) -> None:
        self.before = before
        self._constants: dict[int, tuple[Tensor, Node]] = {}

    def traced(self, given: Any) -> Any:
        if isinstance(given, list | tuple) and any(isinstance(each, Node) for each in given):
            return [self.traced(each) for each in given]
        return Traced(given, self) if isinstance(given, Node) else given

    def node(self, given: Any) -> Any:
        """A node or a literal in place of an expression's value."""
        if isinstance(given, list | tuple):
            return [self.node(each) for each in given]
        if isinstance(given, Tensor):
            if id(given) not in self._constants:
                held = constant(self.before, f"{self.before.name}_constant", given)
                self._constants[id(given)] = given, held
            return self._constants[id(given)][1]
        return given.node if isinstance(given, Traced) else given

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Traced:
        given = [self.node(each) for each in args]
        keywords = {name: self.node(each) for name, each in kwargs.items()}
        if isinstance(function, OpOverloadPacket):
            fakes = [_fake(each) for each in given]
            name = torch._C._jit_resolve_packet(function._qualified_op_name, *fakes, **kwargs)
            function = getattr(function, name)
        return Traced(insert(self.before, function, *given, **keywords), self)


def _binary(operator: Any) -> Callable[[Traced, Any], Any]:
    return lambda self, other: self._writer.call(operator, self, other)


class Traced:
    """A node as the tensor that it computes: torch's functions and methods of it make new nodes.

    Tensors among their arguments become constants of the graph.
    """

    def __init__(self, node: Node, writer: _Writer) -> None:
        self.node = node
        self._writer = writer
        self._value = fake(node)

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "ndim", "dtype", "numel", "stride", "is_floating_point"):
            return getattr(self._value, name)
        return partial(self._writer.call, getattr(_ATEN, name), self)

    def narrow(self, dim: int, start: int, length: int) -> Any:
        return self._writer.call(_ATEN.slice.Tensor, self, dim, start, start + length)

    def __getitem__(self, part: int) -> Any:
        """One of several results."""
        if part >= len(self._value):
            raise IndexError
        return self._writer.call(getitem, self, part)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        writer = next(each._writer for each in _flat(args) if isinstance(each, Traced))
        if not isinstance(function, OpOverload | OpOverloadPacket):
            function = getattr(_ATEN, function.__name__)
        return writer.call(function, *args, **(kwargs or {}))

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
    given, writer, first = named_arguments(node), _Writer(node), node.prev
    given["out"] = node.meta.get("val")
    made = rule(**{name: writer.traced(given[name]) for name in signature(rule).parameters})
    if made is None:
        return False
    if isinstance(made, tuple):
        for user in list(node.users):
            part: Any = user.args[1]
            replace(user, writer.node(made[part]))
        _erase_unused(first, node)
    else:
        replace(node, writer.node(made))
    return True


def _erase_unused(first: Node, last: Node) -> None:
    """Erases what an expression computed for results that nobody takes."""
    while last.prev is not first:
        if last.prev.users:
            last = last.prev
        else:
            last.graph.erase_node(last.prev)


def written(before: Node, expression: Rule, *sources: Any, **named: Any) -> Any:
    """The result of a torch expression of nodes, inserted before one of the graph."""
    writer = _Writer(before)
    traced = {name: writer.traced(each) for name, each in named.items()}
    return writer.node(expression(*map(writer.traced, sources), **traced))


def held(beside: Traced, value: Tensor) -> Any:
    """A constant of the graph, of which what follows is computed on the device."""
    writer = beside._writer
    return writer.traced(writer.node(value))


def _fake(given: Any) -> Any:
    if isinstance(given, list | tuple):
        return [_fake(each) for each in given]
    return fake(given) if isinstance(given, Node) else given


def _flat(given: Any) -> list[Any]:
    if isinstance(given, list | tuple):
        return [part for each in given for part in _flat(each)]
    return [given]
