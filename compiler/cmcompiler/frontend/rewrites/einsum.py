"""Makes matrix products, products and sums of einsum and tensordot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Any

import torch
from torch.fx import GraphModule

from cmcompiler.frontend.rewrites.traced import apply_rules

aten = torch.ops.aten

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Term:
    """An operand with a letter for each of its dimensions."""

    value: Any
    letters: str

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(self.letters, self.value.shape, strict=True))


def multiply_einsum(module: GraphModule) -> None:
    """Replaces tensordot, and einsum of operands without diagonals and sizes that are broadcast.

    Operands are multiplied from left to right, as torch does by default.
    """
    apply_rules(module, {aten.einsum.default: _einsum, aten.tensordot.default: _tensordot})


def _tensordot(self: Any, other: Any, dims_self: list[int], dims_other: list[int]) -> Any:
    letters = ascii_letters[: self.ndim]
    places = list(ascii_letters[self.ndim : self.ndim + other.ndim])
    for dim, with_dim in zip(dims_self, dims_other, strict=True):
        places[with_dim] = letters[dim]
    terms = [Term(self, letters), Term(other, "".join(places))]
    both = (*letters, *places)
    return _contracted(terms, "".join(each for each in both if both.count(each) == 1))


def _einsum(equation: str, tensors: list[Any]) -> Any:
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    once = [letter for letter in ascii_letters if inputs.count(letter) == 1]
    if not arrow:
        output = ELLIPSIS * (ELLIPSIS in inputs) + "".join(sorted(once))
    given = inputs.split(",")
    ranks = {
        tensor.ndim - len(letters.replace(ELLIPSIS, ""))
        for tensor, letters in zip(tensors, given, strict=True)
        if ELLIPSIS in letters
    }
    unused = "".join(letter for letter in ascii_letters if letter not in equation)
    rest = unused[: max(ranks, default=0)]
    named = [letters.replace(ELLIPSIS, rest) for letters in (*given, output)]
    if len(ranks) > 1 or any(len(set(letters)) != len(letters) for letters in named):
        return None
    terms = [Term(*pair) for pair in zip(tensors, named, strict=False)]
    sizes = {pair for term in terms for pair in term.sizes.items()}
    return _contracted(terms, named[-1]) if len(dict(sizes)) == len(sizes) else None


def _contracted(terms: Sequence[Term], output: str) -> Any:
    first, *others = terms
    for place, second in enumerate(others):
        later = "".join(term.letters for term in others[place + 1 :])
        kept = "".join(dict.fromkeys(output + later))
        first = _product(_summed(first, second.letters + kept), second, kept)
    return _permuted(_summed(first, output), output).value


def _summed(term: Term, kept: str) -> Term:
    """Without the letters that nothing else has."""
    dims = [place for place, letter in enumerate(term.letters) if letter not in kept]
    if not dims:
        return term
    total = term.value.sum(dims)
    return Term(total, "".join(letter for letter in term.letters if letter in kept))


def _product(lhs: Term, rhs: Term, kept: str) -> Term:
    """Product of two operands, with the letters that are kept."""
    rhs = _summed(rhs, lhs.letters + kept)
    both = [letter for letter in kept if letter in lhs.letters and letter in rhs.letters]
    rows = [letter for letter in kept if letter in lhs.letters and letter not in rhs.letters]
    columns = [letter for letter in kept if letter in rhs.letters and letter not in lhs.letters]
    summed = [letter for letter in lhs.letters if letter in rhs.letters and letter not in kept]
    batch = [[letter] for letter in both]
    groups = ([*batch, rows, summed], [*batch, summed, columns])
    left, right = (_arranged(*pair) for pair in zip((lhs, rhs), groups, strict=True))
    product = left @ right if summed else left * right
    letters = "".join((*both, *rows, *columns))
    sizes = lhs.sizes | rhs.sizes
    return Term(_reshaped(product, [sizes[letter] for letter in letters]), letters)


def _arranged(term: Term, groups: Sequence[Sequence[str]]) -> Any:
    """The operand with one dimension for each group of letters, in this order."""
    ordered = _permuted(term, "".join(letter for group in groups for letter in group))
    shape = [math.prod(term.sizes[letter] for letter in group) for group in groups]
    return _reshaped(ordered.value, shape)


def _reshaped(operand: Any, shape: list[int]) -> Any:
    return operand if list(operand.shape) == shape else operand.reshape(shape)


def _permuted(term: Term, letters: str) -> Term:
    places = [term.letters.index(letter) for letter in letters]
    rank = len(places)
    if places == list(range(rank)):
        return term
    if places == [*range(rank - 2), rank - 1, rank - 2]:
        return Term(term.value.transpose(-2, -1), letters)
    return Term(term.value.permute(places), letters)
