"""The values of nodes that depend on constants alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import Node
from torch.fx.node import map_arg

from cmcompiler.frontend.rewrites.editing import constant_value, fake, is_constant

_ATEN = torch.ops.aten
_COPIES = (_ATEN.lift_fresh_copy.default, _ATEN.detach_.default, _ATEN.detach.default)

FILLED = {
    *(_ATEN.zeros_like.default, _ATEN.ones_like.default, _ATEN.full_like.default),
    *(_ATEN.new_zeros.default, _ATEN.new_ones.default, _ATEN.new_full.default),
}
"""Operators of whose first argument nothing but its form counts."""


def value_of(node: Any, unknown: Collection[Node] = ()) -> Tensor | None:
    """The value that a node computes from parameters and numbers; None if from inputs too.

    Args:
        unknown: nodes that are known to depend on inputs.
    """
    if not isinstance(node, Node):
        return None
    values: dict[Node, Tensor] = {}
    ahead = [node]
    while ahead:
        each = ahead[-1]
        if each in unknown or not (is_constant(each) or is_function(each)):
            return None
        missing = [] if is_constant(each) else [n for n in decisive_inputs(each) if n not in values]
        if missing:
            ahead += missing
            continue
        value = constant_value(each) if is_constant(each) else compute(each, values.__getitem__)
        if not isinstance(value, Tensor):
            return None
        values[ahead.pop()] = value
    return values[node]


def number_of(given: Any) -> float | int | bool | None:
    """A number itself, or that of a constant of one element; None if it is none, or NaN."""
    while isinstance(given, Node) and given.target in _COPIES:
        given = given.args[0]
    if is_constant(given):
        value = constant_value(given)
        given = value.item() if value.numel() == 1 else None
    is_number = isinstance(given, float | int | bool) and not math.isnan(given)
    return given if is_number else None


def uniform(given: Any) -> float | None:
    """A number, or that of all elements of a constant."""
    number = number_of(given)
    if number is None and isinstance(given, Node):
        value = value_of(given)
        if value is not None and value.numel() and bool((value == value.flatten()[0]).all()):
            number = value.flatten()[0].item()
    return None if number is None else float(number)


def decisive_inputs(node: Node) -> list[Node]:
    """The inputs whose elements decide what a node computes."""
    return [] if node.target in FILLED else node.all_input_nodes


def compute(node: Node, value: Callable[[Node], Tensor | None]) -> Any:
    """The result of an operator for the values of its decisive inputs."""
    assert isinstance(node.target, OpOverload)
    known = _of_the_form if node.target in FILLED else value
    with torch.no_grad():
        return node.target(*map_arg(node.args, known), **map_arg(node.kwargs, known))


def _of_the_form(node: Node) -> Tensor:
    return torch.empty(fake(node).shape, dtype=fake(node).dtype)


def is_function(node: Node) -> bool:
    """Whether a node computes the same every time, without effects."""
    target = node.target
    if target in _COPIES:  # detach_ only says that it changes something
        return True
    if not isinstance(target, OpOverload) or target._schema.is_mutable:
        return False
    return torch.Tag.nondeterministic_seeded not in target.tags
