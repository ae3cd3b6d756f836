"""Balances the channels between consecutive layers. Importing it imports torch.

After Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction (2019),
with measured ranges of activations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver

from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    is_constant,
    named_arguments,
    owner,
)
from cmcompiler.frontend.simulation import Results, Simulation

_ATEN = torch.ops.aten

_Ranged: TypeAlias = MinMaxObserver | PerChannelMinMaxObserver

HOMOGENEOUS = {
    *(_ATEN.relu.default, _ATEN.max_pool2d.default),
    *(_ATEN.avg_pool2d.default, _ATEN.adaptive_avg_pool2d.default),
}
"""Operators that may be between two layers: f(s · x) = s · f(x) for each channel and s > 0."""

FARTHEST = 64.0
"""Largest factor of a channel, which also keeps biases within 32 bits."""


@dataclass(frozen=True, slots=True)
class LayerPair:
    """A layer, the layer that alone uses its results, and the observers between them."""

    first: Node
    second: Node
    between: tuple[Node, ...]

    @property
    def axis(self) -> int:
        """The dimension of the channels between the layers."""
        return fake(self.first).dim() - 1 if self.first.target is _ATEN.linear.default else 1

    @property
    def is_depthwise(self) -> bool:
        groups = named_arguments(self.second).get("groups", 1)
        return bool(groups > 1)

    def weights(self) -> Tensor:
        """The largest weight for each channel, by size."""
        weight = held_value(self.second, 1).abs()
        axis = 0 if self.is_depthwise else 1
        return weight.movedim(axis, 0).flatten(1).amax(1)

    def factors(self, least: Tensor, largest: Tensor) -> Tensor:
        """Divisors by channel: its range and its weights become equally wide.

        Weights of a depthwise layer have a scale for each channel, so only ranges count there.

        Args:
            least, largest: of each channel.
        """
        ranges = torch.maximum(least.abs(), largest.abs())
        factors = ranges if self.is_depthwise else (ranges / self.weights()).sqrt()
        is_known = torch.isfinite(factors) & (factors > 0)
        if not is_known.any():
            return torch.ones_like(factors)
        mean = factors[is_known].log().mean().exp()
        balanced = torch.where(is_known, factors / mean, 1.0)
        return balanced.clamp(1 / FARTHEST, FARTHEST)


@dataclass
class Equalisation:
    """Changes of a prepared graph, which can be taken back."""

    _arguments: list[tuple[Node, tuple[Any, ...]]] = field(default_factory=list)
    _ranges: list[tuple[_Ranged, Tensor, Tensor]] = field(default_factory=list)

    def apply(self, pair: LayerPair, least: Tensor, largest: Tensor) -> None:
        """
        Args:
            least, largest: of each channel between the layers, in float.
        """
        factors = pair.factors(least, largest)
        outward = _along(factors, 0, held_value(pair.first, 1).dim())
        inward = _along(factors, 0 if pair.is_depthwise else 1, held_value(pair.second, 1).dim())
        self.scale(pair.first, 1, 1 / outward)
        if _operand(pair.first, 2) is not None:
            self.scale(pair.first, 2, 1 / factors)
        self.scale(pair.second, 1, inward)
        for node in pair.between:
            observer = _observer(node)
            low = _stretched((least / factors).min(), observer.min_val, least.min())
            high = _stretched((largest / factors).max(), observer.max_val, largest.max())
            self._set(observer, low, high)

    def undo(self) -> None:
        for node, arguments in reversed(self._arguments):
            node.args = arguments
        for observer, low, high in reversed(self._ranges):
            observer.min_val, observer.max_val = low, high

    def scale(self, layer: Node, position: int, factors: Tensor) -> None:
        """Multiplies a layer's weights or bias."""
        operand = _operand(layer, position)
        assert operand is not None
        holder = operand if operand.op == "call_module" else layer
        place = 0 if holder is operand else position
        value = held_value(layer, position) * factors
        made = constant(holder, f"{layer.name}_balanced", value)
        self._arguments.append((holder, holder.args))
        holder.args = (*holder.args[:place], made, *holder.args[place + 1 :])
        observer = _observer(operand) if holder is operand else None
        if isinstance(observer, MinMaxObserver | PerChannelMinMaxObserver):
            self._set(observer, observer.min_val.clone(), observer.max_val.clone())
            observer.reset_min_max_vals()
            observer(value)

    def _set(self, observer: _Ranged, least: Tensor, largest: Tensor) -> None:
        self._ranges.append((observer, observer.min_val, observer.max_val))
        observer.min_val, observer.max_val = least, largest


def _stretched(limit: Tensor, observed: Tensor, known: Tensor) -> Tensor:
    """A limit of the known samples, moved out as far as all samples went beyond them."""
    ratio = observed / known
    return limit * ratio if ratio > 1 and torch.isfinite(ratio) else limit


def pairs(prepared: GraphModule) -> Iterator[LayerPair]:
    """Pairs whose channels can be scaled without a change of what the graph computes in float."""
    shared: dict[int, int] = {}
    for node in prepared.graph.nodes:
        if node.op == "call_module":
            shared[id(_observer(node))] = shared.get(id(_observer(node)), 0) + 1
    for node in prepared.graph.nodes:
        if node.target in LAYERS and is_adjustable(node):
            pair = _pair(node)
            # A range that others share cannot be changed for these alone.
            if pair is not None and _own(pair.between, shared):
                yield pair


def _own(between: Sequence[Node], uses: dict[int, int]) -> bool:
    own = [id(_observer(node)) for node in between]
    return bool(own) and all(
        isinstance(_observer(node), MinMaxObserver) and own.count(key) == uses[key]
        for node, key in zip(between, own, strict=True)
    )


def _pair(first: Node) -> LayerPair | None:
    node, between = first, []
    while len(node.users) == 1:
        (user,) = node.users
        if user.op == "call_module":
            between.append(user)
        elif user.target in LAYERS:
            is_next = user.args[0] is node and _takes_channels(first, user)
            return LayerPair(first, user, tuple(between)) if is_next else None
        elif user.target not in HOMOGENEOUS:
            return None
        node = user
    return None


def _takes_channels(first: Node, second: Node) -> bool:
    """Whether the second layer has one slice of weights for each of the first one's channels."""
    if not is_adjustable(second) or _ATEN.conv_transpose2d.input in (first.target, second.target):
        return False
    is_linear = [layer.target is _ATEN.linear.default for layer in (first, second)]
    if is_linear[0] != is_linear[1]:
        return False
    channels = fake(first).shape[-1 if is_linear[0] else 1]
    groups = 1 if is_linear[1] else named_arguments(second)["groups"]
    return bool(groups == 1 or groups == channels == len(held_value(second, 1)))


def is_adjustable(layer: Node) -> bool:
    """Whether weights and bias are constants that no other layer observes."""
    operands = [_operand(layer, position) for position in (1, 2)]
    return operands[0] is not None and all(
        operand is None
        or is_constant(operand)
        or (
            operand.op == "call_module" and len(operand.users) == 1 and is_constant(operand.args[0])
        )
        for operand in operands
    )


def channel_ranges(
    simulation: Simulation, layers: Sequence[LayerPair], samples: Sequence[Sequence[Tensor]]
) -> dict[Node, tuple[Tensor, Tensor]]:
    """The least and largest number of each channel between the layers, by the second layer."""
    sources = {pair.second.args[0]: pair for pair in layers}
    ranges = {}

    def note(node: Node, results: Results) -> Results:
        if node in sources:
            pair = sources[node]
            rows = torch.stack([x.movedim(pair.axis, 0).flatten(1) for x in results])
            ranges[pair.second] = rows.amin((0, 2)), rows.amax((0, 2))
        return results

    simulation.run_on(samples, rounding=False, visit=note)
    return ranges


def equalise(
    simulation: Simulation, layers: Sequence[LayerPair], samples: Sequence[Sequence[Tensor]]
) -> Equalisation:
    """Scales the channels between all pairs."""
    ranges = channel_ranges(simulation, layers, samples)
    made = Equalisation()
    for pair in layers:
        made.apply(pair, *ranges[pair.second])
    return made


def _operand(layer: Node, position: int) -> Node | None:
    given = layer.args[position] if len(layer.args) > position else None
    return given if isinstance(given, Node) else None


def held_value(layer: Node, position: int) -> Tensor:
    """The value of a layer's weights or bias, behind their observer."""
    operand = _operand(layer, position)
    assert operand is not None
    value = operand.args[0] if operand.op == "call_module" else operand
    assert isinstance(value, Node)
    return constant_value(value)


def _observer(node: Node) -> Any:
    return owner(node).get_submodule(str(node.target))


def _along(factors: Tensor, axis: int, rank: int) -> Tensor:
    sizes = [1] * rank
    sizes[axis] = -1
    return factors.reshape(sizes)
