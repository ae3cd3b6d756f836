"""Computes steps that only weigh the elements of one dimension, one after another, as a product.

`m = 0.96 * m + 0.04 * x[..., t]` for each `t` is a matrix by the elements of `x` along `t`: one
layer, whose sums are exact, in place of a chain of roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of, value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments, replace

_ATEN = torch.ops.aten

_LEAST = 4
"""Steps that a product is worth."""

_MOST = 1 << 14
"""Weights of a product; steps take less flash."""


@dataclass(frozen=True, slots=True)
class _Sum:
    """Weighed elements of a tensor along a dimension.

    Attributes:
        weights: by place.
        steps: sums and products with a factor that lead to it.
    """

    source: Node
    dim: int
    weights: Mapping[int, float]
    steps: int = 0

    def times(self, factor: float) -> _Sum:
        weights = {place: factor * weight for place, weight in self.weights.items()}
        return _Sum(self.source, self.dim, weights, self.steps + 1)

    def plus(self, other: _Sum, factor: float) -> _Sum | None:
        if not self.is_beside(other):
            return None
        weights = dict(self.weights)
        for place, weight in other.weights.items():
            weights[place] = weights.get(place, 0.0) + factor * weight
        return _Sum(self.source, self.dim, weights, max(self.steps, other.steps) + 1)

    def is_beside(self, other: _Sum) -> bool:
        return (self.source, self.dim) == (other.source, other.dim)


_Sums = Mapping[Node, _Sum]


def multiply_combinations(module: GraphModule) -> None:
    """Replaces stacked steps by a linear layer over a dimension of what they weigh."""
    stacks = [node for node in module.graph.nodes if node.target is _ATEN.stack.default]
    sums: dict[Node, _Sum] = {}
    for node in module.graph.nodes if stacks else ():
        read = _READERS.get(node.target)
        made = read(node, sums) if read is not None and _is_real(node) else None
        if made is not None:
            sums[node] = made
    for node in stacks:
        members = [sums.get(member) for member in node.all_input_nodes]
        known = [member for member in members if member is not None]
        if len(known) == len(members) == len(named_arguments(node)["tensors"]):
            _multiply(node, known)
    if stacks:
        module.graph.eliminate_dead_code()


def _multiply(node: Node, members: list[_Sum]) -> None:
    first = members[0]
    rank, size = fake(first.source).ndim, fake(first.source).shape[first.dim]
    is_worth_it = max(member.steps for member in members) >= _LEAST
    is_worth_it = is_worth_it and size * len(members) <= _MOST
    if not is_worth_it or not all(map(first.is_beside, members)):
        return
    rows = [[member.weights.get(place, 0.0) for place in range(size)] for member in members]
    others = [axis for axis in range(rank) if axis != first.dim]
    last = insert(node, _ATEN.permute.default, first.source, [*others, first.dim])
    weight = constant(node, f"{node.name}_weight", torch.tensor(rows))
    made = insert(node, _ATEN.linear.default, last, weight)
    places = list(range(rank - 1))
    places.insert(named_arguments(node)["dim"] % rank, rank - 1)
    replace(node, insert(node, _ATEN.permute.default, made, places))


def _is_real(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.dtype == torch.float32


def _selected(node: Node, _: _Sums) -> _Sum | None:
    given = named_arguments(node)
    source, index = given["self"], given["index"]
    if not isinstance(index, int) or value_of(source) is not None:
        return None
    dim = given["dim"] % fake(source).ndim
    return _Sum(source, dim, {index % fake(source).shape[dim]: 1.0})


def _multiplied(node: Node, sums: _Sums) -> _Sum | None:
    for source, given in (node.args, node.args[::-1]):
        factor, known = number_of(given), sums.get(source)  # type: ignore[arg-type]
        if factor is not None and known is not None and fake(node).shape == fake(source).shape:  # type: ignore[arg-type]
            return known.times(float(factor))
    return None


def _added(node: Node, sums: _Sums) -> _Sum | None:
    given = named_arguments(node)
    alpha, x, y = number_of(given["alpha"]), sums.get(given["self"]), sums.get(given["other"])
    if alpha is None or x is None or y is None:
        return None
    return x.plus(y, -float(alpha) if node.target is _ATEN.sub.Tensor else float(alpha))


_READERS: Mapping[Any, Callable[[Node, _Sums], _Sum | None]] = {
    _ATEN.select.int: _selected,
    _ATEN.mul.Tensor: _multiplied,
    _ATEN.add.Tensor: _added,
    _ATEN.sub.Tensor: _added,
}
