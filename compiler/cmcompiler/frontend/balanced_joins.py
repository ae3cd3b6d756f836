"""Balances the operands of concatenations that layers read. Importing it imports torch.

A concatenation has one range, in which a narrow operand uses few steps. If layers read the result,
the operand can be multiplied by a number before it, and their weights divided by that.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cmcompiler.frontend.equalisation import HOMOGENEOUS, Equalisation, held_value, is_adjustable
from cmcompiler.frontend.joined_operands import LEAST_RATIO, own_range, round_for, width
from cmcompiler.frontend.own_ranges import GroupPart, RangeChange, observer_of
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import fake, named_arguments

_ATEN = torch.ops.aten

_PASSING = {*HOMOGENEOUS, _ATEN.upsample_nearest2d.vec}


@dataclass
class BalancedJoins:
    """Changes of a prepared graph, which can be taken back."""

    _ranges: RangeChange = field(default_factory=RangeChange)
    _weights: Equalisation = field(default_factory=Equalisation)

    def multiply(self, part: GroupPart, factor: float) -> None:
        """Has a concatenation read an operand's multiple, in a range of its own."""
        round_for(part, self._ranges, f"mul.Tensor(x, {factor!r})")
        self._ranges.give_own_range(part)

    def divide(self, layer: Node, divisors: Tensor) -> None:
        """Divides a layer's weights.

        Args:
            divisors: of each channel of its input.
        """
        sizes = [1] * held_value(layer, 1).dim()
        sizes[1] = -1
        self._weights.scale(layer, 1, divisors.reshape(sizes).reciprocal())

    def undo(self) -> None:
        self._weights.undo()
        self._ranges.undo()


def balance(operands: Sequence[GroupPart]) -> BalancedJoins | None:
    """Multiplies operands that are much narrower than their concatenation, and divides weights.

    The product of an operand's range and its weights says how much of it counts.
    """
    by_join: defaultdict[Node, list[GroupPart]] = defaultdict(list)
    for part in operands:
        if part.user.target is _ATEN.cat.default:
            by_join[part.user].append(part)
    made, done = BalancedJoins(), set[Node]()
    for join, parts in by_join.items():
        layers = _readers(join)
        if not layers or any(set(part.held) & done for part in parts):
            continue
        factors = _factors(join, parts, layers)
        if not factors:
            continue
        divisors = torch.ones(_channels(join))
        for place, source in _places(join):
            divisors[place] = factors.get(source, 1.0)
        for part in parts:
            if part.source in factors:
                made.multiply(part, factors[part.source])
                done.update(part.held)
        for layer in layers:
            made.divide(layer, divisors)
    return made if done else None


def _factors(
    join: Node, parts: Sequence[GroupPart], layers: Sequence[Node]
) -> Mapping[Node, float]:
    """The factors of the narrow operands, up to the range of the concatenation."""
    weights = torch.stack(
        [held_value(layer, 1).abs().movedim(1, 0).flatten(1).amax(1) for layer in layers]
    ).amax(0)
    places = dict[Node, slice]((source, place) for place, source in reversed(list(_places(join))))
    widest = width(observer_of(parts[0].source))
    own = {part.source: width(own_range(part)) for part in parts}
    # The operand that takes the range keeps it.
    others = [source for source in places if widest < LEAST_RATIO * own.get(source, math.inf)]
    largest = max((float(weights[places[each]].max()) for each in others), default=0.0)
    factors = {}
    for source, span in own.items():
        if source in others or not span > 0 or not largest > 0:
            continue
        ratio = widest / span
        factor = math.sqrt(ratio * float(weights[places[source]].max()) / largest)
        if factor >= math.sqrt(LEAST_RATIO):
            factors[source] = min(factor, ratio)
    return factors


def _readers(join: Node) -> list[Node]:
    """The layers that read a concatenation of channels; none if something else does."""
    layers, left = [], [join]
    while left:
        node = left.pop()
        for user in node.users:
            if user.op == "call_module" or user.target in _PASSING:
                left.append(user)
            elif user.target in LAYERS and user.args[0] is node and _reads_channels(join, user):
                layers.append(user)
            else:
                return []
    return layers


def _reads_channels(join: Node, layer: Node) -> bool:
    if layer.target is _ATEN.conv_transpose2d.input or not is_adjustable(layer):
        return False
    rank = fake(join).dim()
    is_linear = layer.target is _ATEN.linear.default
    dim = join.args[1] if len(join.args) > 1 else 0
    assert isinstance(dim, int)
    is_channel = dim % rank == (rank - 1 if is_linear else 1)
    return is_channel and (is_linear or named_arguments(layer)["groups"] == 1)


def _channels(join: Node) -> int:
    return sum(place.stop - place.start for place, _ in _places(join))


def _places(join: Node) -> Iterator[tuple[slice, Node]]:
    """The channels of each operand."""
    dim = join.args[1] if len(join.args) > 1 else 0
    operands = join.args[0]
    assert isinstance(operands, list | tuple) and isinstance(dim, int)
    first = 0
    for operand in operands:
        assert isinstance(operand, Node)
        source: Any = operand
        while source.op == "call_module":
            source = source.args[0]
        count = fake(source).shape[dim]
        yield slice(first, first + count), operand
        first += count
