"""Removes writes to inputs from an exported graph. Importing it imports torch."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

_COPY = torch.ops.aten.copy_.default
_CLONE = torch.ops.aten.clone.default


def without_writes(exported: ExportedProgram, states: int) -> GraphModule:
    """The graph of a program with writes to input clones replaced by values.

    If views are involved, uses torch.export's own functionalisation, which also decomposes
    operators that the quantizer would rather see whole.

    Args:
        states: how many of the last inputs are cloned and written to.
    """
    module: GraphModule = exported.module(check_guards=False)
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    try:
        _Writes(inputs[len(inputs) - states :]).remove_from(module)
    except _ViewIsInvolved:
        module = exported.run_decompositions({}).module(check_guards=False)
    return module


class _ViewIsInvolved(Exception):
    pass


class _Writes:
    """The current value of inputs at each node of a graph.

    Args:
        inputs: each read only by a clone, which replaces it.
    """

    def __init__(self, inputs: list[Node]) -> None:
        self._input = {node: node for node in inputs}  # by the nodes that represent it
        self._value = dict(self._input)
        self._count: Counter[Node] = Counter()
        self._views: dict[Node, tuple[Node, int]] = {}  # of an input, after so many writes

    def remove_from(self, module: GraphModule) -> None:
        """Replaces reads by the last written value.

        Raises:
            _ViewIsInvolved: a write through a view, or a read through one after a write.
        """
        dead = []
        for node in module.graph.nodes:
            first = next(iter(node.args), None)
            first = first if isinstance(first, Node) else None
            if node.target is _CLONE and first in self._value:
                self._input[node] = first
                dead.append(node)
            elif _is_write(node) and first in self._input:
                target = self._input[node] = self._input[first]
                self._value[target] = self._written(module, node)
                self._count[target] += 1
                dead.append(node)
            elif _is_write(node) and (first in self._views or _base(first) in self._held()):
                raise _ViewIsInvolved
            else:
                self._note_view(node, first)
                node.args = map_arg(node.args, self._current)
                node.kwargs = map_arg(node.kwargs, self._current)
        for node in reversed(dead):
            module.graph.erase_node(node)
        module.recompile()

    def _held(self) -> set[Node | None]:
        return {_base(value) for value in self._value.values()}

    def _written(self, module: GraphModule, node: Node) -> Node:
        """The value a node leaves in its first argument."""
        arguments = map_arg(node.args, self._current)
        if node.target is _COPY and _form(arguments[0]) == _form(arguments[1]):
            source = arguments[1]
            assert isinstance(source, Node)
            return source
        assert isinstance(node.target, OpOverload)
        namespace, _, name = node.target._schema.name.partition("::")
        packet = getattr(getattr(torch.ops, namespace), name.removesuffix("_"))
        functional = getattr(packet, node.target._overloadname)
        with module.graph.inserting_before(node):
            keywords = map_arg(node.kwargs, self._current)
            made: Node = module.graph.call_function(functional, arguments, keywords)
        made.meta.update(node.meta)
        return made

    def _current(self, node: Node) -> Node:
        if node in self._views and self._views[node][1] != self._count[self._views[node][0]]:
            raise _ViewIsInvolved
        return self._value[self._input[node]] if node in self._input else node

    def _note_view(self, node: Node, viewed: Node | None) -> None:
        if viewed in self._input and _is_view(node):
            self._views[node] = self._input[viewed], self._count[self._input[viewed]]
        elif viewed in self._views and _is_view(node):
            self._views[node] = self._views[viewed]


def _is_write(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable


def _is_view(node: Node) -> bool:
    if not isinstance(node.target, OpOverload):
        return False
    return any(result.alias_info for result in node.target._schema.returns)


def _base(node: Node | None) -> Node | None:
    """The tensor that a view refers to, or that a write returns."""
    while node is not None and _is_view(node) and isinstance(node.args[0], Node):
        node = node.args[0]
    return node


def _form(node: Any) -> tuple[Any, ...]:
    value = node.meta["val"]
    return value.dtype, value.shape
