"""Makes matrix products of einsum with two operands."""

from __future__ import annotations

import math

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, replace

aten = torch.ops.aten


def multiply_einsum(module: GraphModule) -> None:
    """Replaces einsum whose letters are all of a batch, of one operand's rows, or summed."""
    for node in list(module.graph.nodes):
        if node.target is aten.einsum.default:
            made = _product(node)
            if made is not None:
                replace(node, made)


def _product(node: Node) -> Node | None:
    equation, operands = node.args[:2]
    assert isinstance(equation, str) and isinstance(operands, (list, tuple))
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    first, comma, second = inputs.partition(",")
    is_plain = arrow and comma and len(operands) == 2 and "." not in equation
    if not is_plain or any(len(set(term)) != len(term) for term in (first, second, output)):
        return None
    batch = [letter for letter in output if letter in first and letter in second]
    rows = [letter for letter in output if letter in first and letter not in second]
    columns = [letter for letter in output if letter not in first]
    summed = [letter for letter in first if letter in second and letter not in output]
    if {*batch, *rows, *summed} != set(first) or {*batch, *columns, *summed} != set(second):
        return None
    lhs, rhs = operands
    assert isinstance(lhs, Node) and isinstance(rhs, Node)
    sizes = dict(zip(first, fake(lhs).shape, strict=True))
    sizes |= dict(zip(second, fake(rhs).shape, strict=True))
    groups = [[letter] for letter in batch]
    left = _arranged(node, lhs, first, [*groups, rows, summed], sizes)
    right = _arranged(node, rhs, second, [*groups, summed, columns], sizes)
    product = insert(node, aten.matmul.default, left, right)
    letters = [*batch, *rows, *columns]
    shape = [sizes[letter] for letter in letters]
    if list(fake(product).shape) != shape:
        product = insert(node, aten.reshape.default, product, shape)
    return _permuted(node, product, letters, list(output))


def _arranged(
    node: Node, operand: Node, letters: str, groups: list[list[str]], sizes: dict[str, int]
) -> Node:
    """The operand with one dimension for each group of letters, in this order."""
    order = [letter for group in groups for letter in group]
    operand = _permuted(node, operand, list(letters), order)
    shape = [math.prod(sizes[letter] for letter in group) for group in groups]
    if list(fake(operand).shape) == shape:
        return operand
    return insert(node, aten.reshape.default, operand, shape)


def _permuted(node: Node, operand: Node, letters: list[str], order: list[str]) -> Node:
    places = [letters.index(letter) for letter in order]
    rank = len(places)
    if places == list(range(rank)):
        return operand
    if places == [*range(rank - 2), rank - 1, rank - 2]:
        return insert(node, aten.transpose.int, operand, -2, -1)
    return insert(node, aten.permute.default, operand, places)
