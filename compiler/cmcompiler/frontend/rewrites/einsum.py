"""Makes matrix products, products and sums of einsum and tensordot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, replace

aten = torch.ops.aten

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Term:
    """An operand with a letter for each of its dimensions."""

    node: Node
    letters: str

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(self.letters, fake(self.node).shape, strict=True))


def multiply_einsum(module: GraphModule) -> None:
    """Replaces tensordot, and einsum of operands without diagonals and sizes that are broadcast.

    Operands are multiplied from left to right, as torch does by default.
    """
    for node in list(module.graph.nodes):
        if node.target is aten.einsum.default:
            equation = _read(node)
            if equation is not None:
                replace(node, _contracted(node, *equation))
        elif node.target is aten.tensordot.default:
            replace(node, _contracted(node, *_named(node)))


def _named(node: Node) -> tuple[list[Term], str]:
    """The operands of a tensordot, and the letters of its result."""
    given: Any = node.args
    operands, (own, others) = given[:2], given[2:]
    ranks = [fake(operand).ndim for operand in operands]
    letters, places = ascii_letters[: ranks[0]], list(ascii_letters[ranks[0] : sum(ranks)])
    for dim, other in zip(own, others, strict=True):
        places[other] = letters[dim]
    names = (letters, "".join(places))
    terms = [Term(*pair) for pair in zip(operands, names, strict=True)]
    return terms, "".join(name for name in (*letters, *places) if "".join(names).count(name) == 1)


def _read(node: Node) -> tuple[list[Term], str] | None:
    """The operands and the letters of the result."""
    equation, operands = node.args[:2]
    assert isinstance(equation, str) and isinstance(operands, (list, tuple))
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    once = [letter for letter in ascii_letters if inputs.count(letter) == 1]
    if not arrow:
        output = ELLIPSIS * (ELLIPSIS in inputs) + "".join(sorted(once))
    given = inputs.split(",")
    ranks = {
        fake(operand).ndim - len(letters.replace(ELLIPSIS, ""))
        for operand, letters in zip(operands, given, strict=True)
        if ELLIPSIS in letters
    }
    unused = "".join(letter for letter in ascii_letters if letter not in equation)
    rest = unused[: max(ranks, default=0)]
    named = [letters.replace(ELLIPSIS, rest) for letters in (*given, output)]
    if len(ranks) > 1 or any(len(set(letters)) != len(letters) for letters in named):
        return None
    terms = [Term(*pair) for pair in zip(operands, named, strict=False)]
    sizes = {pair for term in terms for pair in term.sizes.items()}
    return (terms, named[-1]) if len(dict(sizes)) == len(sizes) else None


def _contracted(node: Node, terms: Sequence[Term], output: str) -> Node:
    first, *others = terms
    for place, second in enumerate(others):
        later = "".join(term.letters for term in others[place + 1 :])
        kept = "".join(dict.fromkeys(output + later))
        first = _product(node, _summed(node, first, second.letters + kept), second, kept)
    return _permuted(node, _summed(node, first, output), output).node


def _summed(node: Node, term: Term, kept: str) -> Term:
    """Without the letters that nothing else has."""
    dims = [place for place, letter in enumerate(term.letters) if letter not in kept]
    if not dims:
        return term
    total = insert(node, aten.sum.dim_IntList, term.node, dims)
    return Term(total, "".join(letter for letter in term.letters if letter in kept))


def _product(node: Node, lhs: Term, rhs: Term, kept: str) -> Term:
    """Product of two operands, with the letters that are kept."""
    rhs = _summed(node, rhs, lhs.letters + kept)
    both = [letter for letter in kept if letter in lhs.letters and letter in rhs.letters]
    rows = [letter for letter in kept if letter in lhs.letters and letter not in rhs.letters]
    columns = [letter for letter in kept if letter in rhs.letters and letter not in lhs.letters]
    summed = [letter for letter in lhs.letters if letter in rhs.letters and letter not in kept]
    batch = [[letter] for letter in both]
    groups = ([*batch, rows, summed], [*batch, summed, columns])
    left, right = (_arranged(node, *pair) for pair in zip((lhs, rhs), groups, strict=True))
    operator = aten.matmul.default if summed else aten.mul.Tensor
    product = insert(node, operator, left, right)
    letters = "".join((*both, *rows, *columns))
    sizes = lhs.sizes | rhs.sizes
    return Term(_reshaped(node, product, [sizes[letter] for letter in letters]), letters)


def _arranged(node: Node, term: Term, groups: Sequence[Sequence[str]]) -> Node:
    """The operand with one dimension for each group of letters, in this order."""
    ordered = _permuted(node, term, "".join(letter for group in groups for letter in group))
    shape = [math.prod(term.sizes[letter] for letter in group) for group in groups]
    return _reshaped(node, ordered.node, shape)


def _reshaped(node: Node, operand: Node, shape: list[int]) -> Node:
    if list(fake(operand).shape) == shape:
        return operand
    return insert(node, aten.reshape.default, operand, shape)


def _permuted(node: Node, term: Term, letters: str) -> Term:
    places = [term.letters.index(letter) for letter in letters]
    rank = len(places)
    if places == list(range(rank)):
        return term
    if places == [*range(rank - 2), rank - 1, rank - 2]:
        return Term(insert(node, aten.transpose.int, term.node, -2, -1), letters)
    return Term(insert(node, aten.permute.default, term.node, places), letters)
