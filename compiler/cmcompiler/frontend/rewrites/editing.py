"""Inserts nodes into an exported graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

_CLAMPED = "clamped"
_STEP = "cmbuild_step"
_ORIGIN = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", _STEP)


def insert(before: Node, operator: Callable[..., Any], *args: Any, **kwargs: Any) -> Node:
    """A new call, as if made by the user's line that made `before`."""
    with before.graph.inserting_before(before):
        made: Node = before.graph.call_function(operator, args, kwargs)
    made.meta.update({key: before.meta[key] for key in _ORIGIN if key in before.meta})
    made.meta["val"] = operator(*map_arg(args, fake), **map_arg(kwargs, fake))
    return made


def insert_named(before: Node, operator: OpOverload, given: Mapping[str, Any]) -> Node:
    """As insert(), with arguments by their names in the schema; others keep their defaults."""
    positional, keywords = [], {}
    for argument in operator._schema.arguments:
        value = given.get(argument.name, argument.default_value)
        if not argument.kwarg_only:
            positional.append(value)
        elif value != argument.default_value:
            keywords[argument.name] = value
    for argument in reversed(operator._schema.arguments[: len(positional)]):
        if not argument.has_default_value() or positional[-1] != argument.default_value:
            break
        positional.pop()
    return insert(before, operator, *positional, **keywords)


def constant(before: Node, name: str, value: Tensor) -> Node:
    """A new constant of the graph, available from `before` on."""
    module = owner(before)
    name, number = name.replace(".", "_"), 0
    unique = name
    while hasattr(module, unique):
        number += 1
        unique = f"{name}_{number}"
    module.register_parameter(unique, torch.nn.Parameter(value.detach().clone(), False))
    with before.graph.inserting_before(before):
        made: Node = before.graph.get_attr(unique)
    made.meta["val"] = _mode(before).from_tensor(value.detach(), static_shapes=True)
    return made


def mark_as_step(node: Node) -> None:
    """Marks a node that computes a part of a call's result which the user's code never sees."""
    node.meta[_STEP] = True


def is_step(node: Node) -> bool:
    """Whether a node, or the one whose place it took, was marked as a step."""
    return _STEP in node.meta


def mark_as_clamped(node: Node) -> None:
    """Marks a node whose result is meant to stop at the ends of its range."""
    node.meta[_CLAMPED] = True


def is_clamped(node: Node) -> bool:
    return _CLAMPED in node.meta


def replace(old: Node, new: Node) -> None:
    """Uses `new` in place of `old`, and removes that."""
    old.replace_all_uses_with(new)
    old.graph.erase_node(old)


def arguments(node: Node, *defaults: Any) -> list[Any]:
    """The positional arguments of a node, the rest by default."""
    given = node.args[: len(defaults)]
    return [*given, *defaults[len(given) :]]


def fake(node: Node) -> Any:
    """The node's value without data: shape, strides, dtype."""
    if "val" not in node.meta and node.op == "get_attr":
        node.meta["val"] = _mode(node).from_tensor(constant_value(node), static_shapes=True)
    return node.meta["val"]


def constant_value(node: Node) -> Tensor:
    """The tensor of a get_attr node."""
    value: Any = owner(node)
    for part in str(node.target).split("."):
        value = getattr(value, part)
    assert isinstance(value, Tensor)
    return value.detach()


def is_constant(node: Any) -> bool:
    """Whether the node is a parameter or another tensor held by the graph."""
    return isinstance(node, Node) and node.op == "get_attr"


def owner(node: Node) -> GraphModule:
    module = node.graph.owning_module
    assert isinstance(module, GraphModule)
    return module


def _mode(node: Node) -> FakeTensorMode:
    """The fake mode of the graph that holds `node`."""
    for other in node.graph.nodes:
        value = other.meta.get("val")
        if isinstance(value, torch._subclasses.FakeTensor):
            return value.fake_mode
    return FakeTensorMode()


def named_arguments(node: Node) -> dict[str, Any]:
    """All arguments of an operator's call by their names in its schema, defaults included."""
    assert isinstance(node.target, OpOverload)
    arguments = {}
    for position, argument in enumerate(node.target._schema.arguments):
        given = node.kwargs.get(argument.name, argument.default_value)
        arguments[argument.name] = node.args[position] if position < len(node.args) else given
    return arguments
