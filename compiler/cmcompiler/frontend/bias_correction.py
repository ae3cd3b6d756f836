"""Corrects biases by the mean error of each channel. Importing it imports torch.

After Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction (2019),
with measured means.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.accumulators import step_of_result
from cmcompiler.frontend.call_sites import marked
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import constant, constant_value, fake, is_constant
from cmcompiler.frontend.simulation import Results, Simulation

_linear = torch.ops.aten.linear.default

MOST_STEPS = 4.0
"""Limit in steps of a layer's result: what is farther off has a range that does not suit it,
which another bias would only hide.
"""


@dataclass(frozen=True, slots=True)
class Bias:
    """The bias of a quantised layer in a prepared graph.

    Attributes:
        observer: the node that quantises it.
        value: the constant, before correction.
    """

    layer: Node
    observer: Node
    value: Node

    @property
    def axis(self) -> int:
        """The dimension of the layer's channels."""
        return fake(self.layer).dim() - 1 if self.layer.target is _linear else 1

    def means(self, results: Results) -> Tensor:
        """The mean of each of the layer's channels on each sample, shape (samples, channels)."""
        count = fake(self.layer).shape[self.axis]
        by_channel = (x.double().movedim(self.axis, 0).reshape(count, -1) for x in results)
        return torch.stack([channels.mean(1) for channels in by_channel])

    def add(self, correction: Tensor) -> None:
        value = constant_value(self.value) + correction
        corrected = constant(self.observer, f"{self.layer.name}_corrected", value)
        self.observer.args = (corrected,)

    def shift(self, results: Results, correction: Tensor) -> Results:
        """The layer's results with a corrected bias."""
        sizes = [1] * fake(self.layer).dim()
        sizes[self.axis] = -1
        return [x + correction.reshape(sizes) for x in results]

    def restore(self) -> None:
        self.observer.args = (self.value,)


def add_biases(module: GraphModule) -> frozenset[str]:
    """Gives layers without a bias one of zeros, before the graph is prepared; their names."""
    names = set()
    for node in module.graph.nodes:
        if node.target in LAYERS and is_constant(node.args[1]) and _bias(node) is None:
            axis = fake(node).dim() - 1 if node.target is _linear else 1
            zeros = constant(node, f"{node.name}_no_bias", torch.zeros(fake(node).shape[axis]))
            node.args = (*node.args[:2], zeros, *node.args[3:])
            names.add(node.name)
    return frozenset(names)


def drop_zero_biases(prepared: GraphModule, names: Container[str]) -> None:
    """Removes what `add_biases` added and nothing corrected.

    Args:
        names: from it; nodes are marked with them.
    """
    for node in list(prepared.graph.nodes):
        bias = _bias(node) if node.target in LAYERS and marked(node) in names else None
        held = bias.args[0] if bias is not None and bias.op == "call_module" else bias
        if isinstance(held, Node) and not constant_value(held).any():
            node.args = (*node.args[:2], None, *node.args[3:])
    prepared.graph.eliminate_dead_code()
    prepared.recompile()


def biases(prepared: GraphModule) -> Iterator[Bias]:
    """The biases of quantised layers."""
    for node in prepared.graph.nodes:
        observer = _bias(node) if node.target in LAYERS else None
        if observer is None or observer.op != "call_module" or len(observer.users) > 1:
            continue
        value = observer.args[0]
        if isinstance(value, Node) and is_constant(value):
            yield Bias(node, observer, value)


def correct(
    simulation: Simulation, layers: Sequence[Bias], samples: Sequence[Sequence[Tensor]]
) -> None:
    """Gives each channel of quantised layers the mean that it has in float.

    Layer after layer: what the ones before still get wrong is corrected, too.
    """
    by_layer = {bias.layer: bias for bias in layers}
    exact: dict[Node, Tensor] = {}

    def note(node: Node, results: Results) -> Results:
        if node in by_layer:
            exact[node] = by_layer[node].means(results)
        return results

    def shift(node: Node, results: Results) -> Results:
        if node not in by_layer:
            return results
        bias = by_layer[node]
        most = MOST_STEPS * step_of_result(node)
        correction = _mean(exact[node] - bias.means(results)).float().clamp(-most, most)
        bias.add(correction)
        return bias.shift(results, correction)

    simulation.run_on(samples, rounding=False, visit=note)
    simulation.run_on(samples, rounding=True, visit=shift)


def _mean(errors: Tensor) -> Tensor:
    """The mean over samples, closer to 0 the less certain it is: shape (channels,).

    This is the positive-part estimator of James and Stein, for each channel alone.
    """
    mean = errors.mean(0)
    if len(errors) < 2:
        return mean
    variance = errors.var(0) / len(errors)
    return mean * (1 - variance / mean.square().clamp_min(1e-30)).clamp_min(0)


def _bias(layer: Node) -> Node | None:
    given = layer.args[2] if len(layer.args) > 2 else layer.kwargs.get("bias")
    return given if isinstance(given, Node) else None
