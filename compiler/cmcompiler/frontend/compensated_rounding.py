"""Rounds weights of four bits so that later columns make up for what earlier ones lose.

After Frantar et al., GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
Transformers (2022). Importing it imports torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.nn import functional

from cmcompiler.frontend.equalisation import held_value, is_adjustable
from cmcompiler.frontend.narrow_observers import (
    GroupedPerChannelObserver,
    NarrowWeights,
    factors_of,
    held_in_steps,
)
from cmcompiler.frontend.rewrites.channels import CONVOLUTIONS
from cmcompiler.frontend.rewrites.editing import constant, named_arguments
from cmcompiler.frontend.simulation import Results, Simulation

_DEEPEST = 2048
"""Columns of a layer: products of as many pairs of inputs take 32 MiB."""

_DAMPING = 0.01
"""The share of the inputs' mean power that each column gets besides its own."""

_HELD = 1.0
"""The share of that power by which a change of a weight must pay."""

LEAST_POWER = 1e-12

_linear = torch.ops.aten.linear.default


@dataclass(frozen=True, slots=True)
class NarrowLayer:
    """A layer with weights of four bits.

    Attributes:
        holder: the node that quantises its weights.
    """

    node: Node
    holder: Node
    observer: NarrowWeights
    before: tuple[object, ...]

    @property
    def source(self) -> Node:
        """The node that computes the layer's rounded inputs."""
        source = self.node.args[0]
        assert isinstance(source, Node)
        return source

    def restore(self) -> None:
        self.holder.args = self.before  # type: ignore[assignment]

    def columns(self, x: Tensor) -> Tensor:
        """The numbers that each output multiplies its weights with, [outputs, columns]."""
        if self.node.target is _linear:
            return x.reshape(-1, x.shape[-1])
        given = named_arguments(self.node)
        kernel = held_value(self.node, 1).shape[2:]
        window = (given["dilation"], given["padding"], given["stride"])
        seen = functional.unfold(x, tuple(kernel), *window)
        return seen.transpose(1, 2).reshape(-1, seen.shape[1])

    def sums(self, x: Tensor, weights: Tensor) -> Tensor:
        """The layer's results with other weights and no bias."""
        if self.node.target is _linear:
            return functional.linear(x, weights)
        given = named_arguments(self.node)
        window = (given["stride"], given["padding"], given["dilation"])
        return functional.conv2d(x, weights, None, *window)


def narrow_layers(prepared: GraphModule) -> Iterator[NarrowLayer]:
    """Linear layers and convolutions, not in groups, whose inputs are not too many."""
    for node in prepared.graph.nodes:
        if node.target is not _linear and node.target not in CONVOLUTIONS:
            continue
        weight = node.args[1]
        is_observed = isinstance(weight, Node) and weight.op == "call_module"
        if not is_observed or not is_adjustable(node):
            continue
        observer, value = prepared.get_submodule(str(weight.target)), held_value(node, 1)
        given = named_arguments(node)
        is_plain = given.get("groups", 1) == 1 and not isinstance(given.get("padding"), str)
        if isinstance(observer, NarrowWeights) and is_plain and value[0].numel() <= _DEEPEST:
            yield NarrowLayer(node, weight, observer, weight.args)


def compensate(
    simulation: Simulation, layers: Sequence[NarrowLayer], samples: Sequence[Sequence[Tensor]]
) -> None:
    """Rounds the weights of layers, one after the other, for sums that are near those in float.

    Each layer is rounded for the inputs that it has behind the rounded ones before it, and makes up
    for what those lost, as far as its inputs still tell.
    """
    by_node = {layer.node: layer for layer in layers}
    sources = Counter(layer.source for layer in layers)
    exact: dict[Node, Results] = {}
    held: dict[Node, Results] = {}

    def note(node: Node, results: Results) -> Results:
        if node in sources:
            exact[node] = results
        return results

    def round_layer(node: Node, results: Results) -> Results:
        if node in sources:
            held[node] = results
        if node not in by_node:
            return results
        layer = by_node[node]
        source, before = layer.source, layer.observer.rounded(held_value(node, 1))
        _round(layer, exact[source], held[source])
        change = layer.observer.rounded(held_value(node, 1)) - before
        made = [y + layer.sums(x, change) for x, y in zip(held[source], results, strict=True)]
        sources[source] -= 1
        if not sources[source]:
            del exact[source], held[source]
        return made

    simulation.run_on(samples, rounding=False, visit=note)
    simulation.run_on(samples, rounding=True, visit=round_layer)


def _round(layer: NarrowLayer, exact: Results, held: Results) -> None:
    """
    Args:
        exact, held: the layer's inputs in float, and as they are rounded.
    """
    weights = held_value(layer.node, 1)
    own, across = torch.zeros(()), torch.zeros(())
    for x, y in zip(exact, held, strict=True):
        rounded_columns = layer.columns(y)
        own = own + rounded_columns.T @ rounded_columns
        across = across + layer.columns(x).T @ rounded_columns
    rows = layer.observer.rows(weights).double()
    made = rounded_rows(layer.observer, _targets(rows, own.double(), across.double()), own.double())
    value = layer.observer.shaped(made.to(weights.dtype), weights)
    layer.holder.args = (constant(layer.holder, f"{layer.node.name}_compensated", value),)


def _targets(rows: Tensor, own: Tensor, across: Tensor) -> Tensor:
    """Weights whose sums of rounded inputs are nearest to those of the exact ones.

    Args:
        own: products of each pair of rounded columns, summed over all outputs.
        across: the same of each exact and each rounded one.
    """
    held = _HELD * own.diagonal().mean().clamp(min=LEAST_POWER)
    sums = rows @ across + held * rows
    solved: Tensor = torch.linalg.solve(own + held * torch.eye(len(own)), sums, left=False)
    return solved


def rounded_rows(observer: NarrowWeights, rows: Tensor, products: Tensor) -> Tensor:
    """The weights of each channel that four bits hold and whose sums are near the given ones'.

    Args:
        products: of the inputs of each pair of columns, summed over all outputs.
    """
    power = products.diagonal()
    damping = _DAMPING * power.mean().clamp(min=LEAST_POWER)
    damped = products + damping * torch.eye(len(products))
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(damped))
    shares = torch.linalg.cholesky(inverse, upper=True)
    left, unit = rows.clone(), observer.unit_steps().double()
    made, steps = torch.empty_like(left), unit
    for column in range(rows.shape[1]):
        if isinstance(observer, GroupedPerChannelObserver) and column % observer.size == 0:
            group = slice(column, column + observer.size)
            chosen, _ = factors_of(left[:, group], unit, observer.size, power[group])
            steps = unit * chosen[:, 0]
        held = held_in_steps(left[:, column], steps)
        made[:, column] = held
        lost = (left[:, column] - held) / shares[column, column]
        left[:, column + 1 :] -= lost[:, None] * shares[column, column + 1 :]
    return made
