"""Gives int16 to layers before logarithms, roots and reciprocals, which show the smallest numbers.

The bins of a spectrum lie decades apart: in 255 steps of the loudest, the others are 0, whose
logarithm is noise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node

from cmcompiler.frontend.operators.arithmetic import DIVISIONS
from cmcompiler.frontend.rewrites.channels import CONVOLUTIONS, LAYERS
from cmcompiler.frontend.rewrites.editing import (
    constant_value,
    is_constant,
    named_arguments,
    owner,
)
from cmcompiler.frontend.rewrites.fixed_ranges import MOVEMENTS
from cmcompiler.frontend.rewrites.functions import expression_of
from cmcompiler.frontend.rewrites.sampled import byte_step, sampled
from cmcompiler.frontend.rewrites.short import has_short_form, shorten

_OWN = torch.ops.cmbuild

_BETWEEN = {
    *("aten.add.Tensor", "aten.mul.Tensor", "aten.sum.dim_IntList", "aten.mean.dim"),
    *("aten.avg_pool2d.default", "cmbuild.add.default", "cmbuild.mul.default"),
    *("cmbuild.sum.default", "cmbuild.mean.default"),
}
"""Operators that lead from a spectrum to its energies, beside functions of one number."""

_CLAMPS = {torch.ops.aten.clamp.default, torch.ops.aten.relu.default}

_STEEP_AT_ZERO = re.compile(
    r"\b(log|log2|log10|log1p|sqrt|rsqrt|reciprocal)\(|\bpow\.\w+\([^)]*, -?0?\.\d"
)

_LOST = "lost_below_steps"
"""Key of a function's metadata."""

_MOST_LOST = 0.01
"""Share of what the results vary by, averaged over their elements: 20 dB."""

_MOST_LOST_OF_GAINS = 0.003
"""The same of energies divided by their smoothing, whose roots follow: 25 dB."""

_CONSTANT = 1e-9
"""Share of the largest variance below which an element does not vary."""

Values = Mapping[Node, Tensor]


@dataclass(frozen=True, slots=True)
class _Way:
    """What leads to a function that is steep at 0.

    Attributes:
        layers: where it begins, if there are any before the function.
        between: what comes after them, in order; the last is the function.
    """

    layers: tuple[Node, ...]
    between: tuple[Node, ...]

    @property
    def read(self) -> tuple[Node, ...]:
        """The nodes that it reads, its layers among them."""
        sources = [source for node in self.between for source in node.all_input_nodes]
        return tuple(dict.fromkeys(each for each in sources if each not in self.between))

    @property
    def function(self) -> Node:
        return self.between[-1]

    def lost(self, rows: Sequence[Values], most: float = _MOST_LOST) -> tuple[bool, bool]:
        """Whether the function's numbers are lost in 8 bits, and whether the rounding of its
        layers' results alone loses them.

        Args:
            rows: the values of what it reads, for each sample.
            most: share of what the results vary by that may be lost.
        """
        exact = [self._computed(row, {}) for row in rows]
        steps = {
            node: step
            for node in (*self.read, *self.between[:-1])
            if not is_constant(node) and (step := _step([row[node] for row in exact]))
        }

        def is_lost_by(steps: Mapping[Node, float]) -> bool:
            coarse = [self._computed(row, steps)[self.function] for row in rows]
            return _lost([row[self.function] for row in exact], coarse) > most

        by_layers = {node: step for node, step in steps.items() if node in self.layers}
        is_any = bool(rows) and is_lost_by(steps)
        return is_any, is_any and bool(by_layers) and is_lost_by(by_layers)

    def _computed(self, values: Values, steps: Mapping[Node, float]) -> dict[Node, Any]:
        """The values of its nodes.

        Args:
            values: of what it reads, among others.
            steps: of nodes that are rounded.
        """
        interpreter = Interpreter(owner(self.between[0]))
        interpreter.env = {node: _rounded(values[node], steps.get(node)) for node in self.read}
        with torch.no_grad():
            for node in self.between:
                interpreter.env[node] = _rounded(interpreter.run_node(node), steps.get(node))
        return interpreter.env


def lengthen_spectra(module: GraphModule) -> None:
    """Gives int16 to layers before functions that show the smallest of their results, where samples
    show that 8 bits lose these.
    """
    order = {node: place for place, node in enumerate(module.graph.nodes)}
    gains = [gain for node in order if node.target in DIVISIONS and (gain := _gain(node, order))]
    ways = [_way(node, order) for node in order if _is_steep_at_zero(node)]
    read = list(dict.fromkeys(node for way in (*gains, *ways) for node in way.read))
    if not read:
        return
    rows = [dict(zip(read, row, strict=True)) for row in sampled(*read)]
    layers: dict[Node, None] = {}
    for way in ways:
        is_any, is_by_layers = way.lost(rows)
        if is_any:
            way.function.meta[_LOST] = True
        if is_by_layers:
            layers |= dict.fromkeys(way.layers)
    for gain in gains:
        if gain.lost(rows, _MOST_LOST_OF_GAINS)[0]:
            layers |= dict.fromkeys((*gain.layers, *gain.between))
    for layer in layers:
        shorten(layer)


def is_lost(node: Node) -> bool:
    """Whether 8 bits leave nothing of the numbers before a function."""
    return _LOST in node.meta


def _way(function: Node, order: Mapping[Node, int]) -> _Way:
    """Back to the nearest layers, or to those before linear layers, which are the filters of a
    spectrum then.
    """
    between, layers = _nearest([function])
    further, spectra = _nearest(layers)
    if spectra and not CONVOLUTIONS & {node.target for node in layers}:
        between, layers = between | further, spectra
    return _Way(tuple(layers), tuple(sorted(between, key=order.__getitem__)))


def _gain(quotient: Node, order: Mapping[Node, int]) -> _Way | None:
    """Back from energies that are divided by their smoothing, as in PCEN, to the layers before."""
    operands = quotient.args[:2]
    if not all(isinstance(each, Node) and not is_constant(each) for each in operands):
        return None
    (energies, before), (smoothing, _) = (_smoothed(each) for each in operands)  # type: ignore[arg-type]
    if not energies & smoothing or not any(map(_is_mean, smoothing - energies)):
        return None
    between = sorted({*energies, *smoothing, quotient}, key=order.__getitem__)
    return _Way(tuple(sorted(before, key=order.__getitem__)), tuple(between))


def _smoothed(node: Node) -> tuple[set[Node], set[Node]]:
    """What leads to a node, means among it, and the layers before that."""
    between, layers, left = set[Node](), set[Node](), [node]
    while left:
        node = left.pop()
        if _is_mean(node) or node.target in _CLAMPS or _leads_on(node):
            left += [source for source in node.all_input_nodes if source not in between]
            between.add(node)
        elif node.target in LAYERS and has_short_form(node):
            layers.add(node)
    return between, layers


def _is_mean(node: Node) -> bool:
    """Whether a layer's weights are all positive or 0."""
    if node.target not in LAYERS or not has_short_form(node):
        return False
    weight = named_arguments(node)["weight"]
    return is_constant(weight) and bool((constant_value(weight) >= 0).all())


def _nearest(nodes: Iterable[Node]) -> tuple[set[Node], set[Node]]:
    """These and what leads to them, and the layers before that."""
    between, layers = set(nodes), set[Node]()
    left = [*between]
    while left:
        for node in left.pop().all_input_nodes:
            if node.target in LAYERS and has_short_form(node):
                layers.add(node)
            elif node not in between and not is_constant(node) and _leads_on(node):
                between.add(node)
                left.append(node)
    return between, layers


def _is_steep_at_zero(node: Node) -> bool:
    text = _text(node)
    return text is not None and bool(_STEEP_AT_ZERO.search(text))


def _leads_on(node: Node) -> bool:
    return node.target in MOVEMENTS or str(node.target) in _BETWEEN or _text(node) is not None


def _text(node: Node) -> str | None:
    """The function of one number that a node computes."""
    if node.target is _OWN.function.default:
        return str(node.args[1])
    made = expression_of(node) if node.op == "call_function" else None
    return None if made is None else made[1]


def _step(column: Sequence[Any]) -> float:
    """The step of real numbers in 255 steps; 0 for others."""
    is_real = all(isinstance(x, Tensor) and x.is_floating_point() for x in column)
    return byte_step(column) if is_real and column else 0.0


def _rounded(x: Any, step: float | None) -> Any:
    return x if step is None else (x / step).round() * step


def _lost(exact: Sequence[Tensor], coarse: Sequence[Tensor]) -> float:
    """The power of the error beside that of what varies, averaged over elements that vary."""
    real, other = (torch.stack([*map(Tensor.double, each)]) for each in (exact, coarse))
    variance = real.var(0, correction=0)
    noise = (real - other).square().mean(0).nan_to_num(torch.inf, torch.inf)
    counted = variance.isfinite() & (variance > _CONSTANT * variance.nan_to_num(0, 0).max())
    shares = (noise / (noise + variance)).nan_to_num(1.0)[counted]
    return float(shares.mean()) if len(shares) else 0.0
