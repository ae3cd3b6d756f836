"""Functions of x² + y² with int16 activations: of the length √(x² + y²).

A magnitude of a thousandth has a square of a millionth, which no step of 16 bits shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of
from cmcompiler.frontend.rewrites.editing import fake, insert, is_constant, mark_as_step, replace
from cmcompiler.frontend.rewrites.functions import expression_of

_OWN = torch.ops.cmbuild

_SUMS = {"aten.add.Tensor", "cmbuild.add.default"}
_PRODUCTS = {"aten.mul.Tensor", "cmbuild.mul.default"}

_SQUARES = ("pow.Tensor_Scalar(x, 2)", "pow.Tensor_Scalar(x, 2.0)", "mul.Tensor(x, x)", "square(x)")


def join_lengths(module: GraphModule, is_chosen: Callable[[Node], bool]) -> None:
    """Replaces functions of sums of two squares.

    Args:
        is_chosen: whether a node has int16 activations.
    """
    for node in list(module.graph.nodes):
        if node.op != "call_function" or not is_chosen(node):
            continue
        function = _function(node)
        if function is None:
            continue
        total, text = function
        operands = _squared(total)
        if operands is None or len(total.users) > 1:
            continue
        length = insert(node, _OWN.short_length.default, *operands)
        mark_as_step(length)
        squared = re.sub(r"\bx\b", "mul.Tensor(x, x)", text)
        replace(node, insert(node, _OWN.function.default, length, squared))


def _function(node: Node) -> tuple[Node, str] | None:
    """The number that a node is a function of, and the function."""
    if node.target is _OWN.function.default:
        source, text = node.args
        return (source, str(text)) if isinstance(source, Node) else None
    return expression_of(node)


def _squared(total: Node) -> tuple[Node, Node] | None:
    """The two numbers whose squares a sum adds."""
    if str(total.target) not in _SUMS or len(total.args) > 2 or total.kwargs:
        return None
    roots = [_root(each) for each in total.args]
    shapes = {tuple(fake(root).shape) for root in roots if root is not None}
    first, second = roots
    if first is None or second is None or shapes != {tuple(fake(total).shape)}:
        return None
    return first, second


def _root(square: object) -> Node | None:
    if not isinstance(square, Node) or is_constant(square) or number_of(square) is not None:
        return None
    if str(square.target) in _PRODUCTS and square.args[0] is square.args[1]:
        root = square.args[0]
    else:
        function = _function(square)
        if function is None or function[1] not in _SQUARES:
            return None
        root = function[0]
    if not isinstance(root, Node) or not isinstance(fake(root), Tensor):
        return None
    return root if fake(root).dtype == torch.float32 else None
