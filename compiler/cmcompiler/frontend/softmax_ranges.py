"""Finer steps for softmaxes whose probabilities are small. Importing it imports torch.

Their results have steps of 1/256, which leaves few to the weights of long rows: attention to 64
keys, much the same for each, is 4 steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import FixedQParamsObserver

from cmcompiler.frontend.meters import insert_meter, remove_meters
from cmcompiler.frontend.operators.masked_softmax import INT8_BITS
from cmcompiler.frontend.operators.masked_softmax import ops as cmbuild
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.editing import fake
from cmcompiler.frontend.rewrites.fixed_ranges import JOINS, MOVEMENTS
from cmcompiler.frontend.simulation import rounded_to
from cmcompiler.ops.softmax import BITS_OF_LONGER, LONGEST, MOST_FINER_BITS

_SOFTMAX, _MASKED = torch.ops.aten.softmax.int, cmbuild.masked_softmax.default

FINE = 30.0
"""In dB: probabilities that keep as much need no finer steps."""

MOST_CLIPPED = 0.01
"""Share of the rows whose largest probability the range may leave out."""


class ProbabilityMeter(torch.nn.Module):
    """Sums up what steps of 2^-(8 + bits) leave of a softmax's results, for each number of bits.

    Attributes:
        signal, rows: sums of squares and of rows.
        noise, clipped: by the number of bits, sums of squared errors, and of rows whose largest
            probability is beyond the range.
    """

    def __init__(self, name: str, dim: int) -> None:
        super().__init__()
        self.name, self._dim = name, dim
        self.signal, self.rows = 0.0, 0
        self.noise, self.clipped = [0.0] * (MOST_FINER_BITS + 1), [0] * (MOST_FINER_BITS + 1)

    def forward(self, probabilities: Tensor) -> None:
        largest = probabilities.amax(self._dim)
        self.signal += float(probabilities.square().sum())
        self.rows += largest.numel()
        for bits in range(MOST_FINER_BITS + 1):
            step = 2.0 ** -(INT8_BITS + bits)
            rounded = rounded_to(probabilities, step, -128, -128, 127)
            self.noise[bits] += float((rounded - probabilities).square().sum())
            self.clipped[bits] += int((largest > 2.0**-bits).sum())

    def bits(self, most: int) -> int:
        """The number of bits with the least noise; 0 if that is fine."""
        if self.is_fine(0):
            return 0
        few = [bits for bits in range(most + 1) if self.clipped[bits] <= MOST_CLIPPED * self.rows]
        return min(few, key=self.noise.__getitem__)

    def is_fine(self, bits: int) -> bool:
        """Whether steps of so many bits leave enough."""
        return self.signal >= self.noise[bits] * 10 ** (FINE / 10)


def watch_softmaxes(prepared: GraphModule) -> tuple[ProbabilityMeter, ...]:
    """Meters of the softmaxes with int8 results."""
    meters = []
    for node in list(prepared.graph.nodes):
        dim = dimension_of(node)
        if dim is None or not any(_observers(node)):
            continue
        meter = ProbabilityMeter(node.name, dim)
        insert_meter(meter, node, (node,))
        meters.append(meter)
    return tuple(meters)


def choose_softmax_ranges(prepared: GraphModule, meters: Sequence[ProbabilityMeter]) -> None:
    """Gives softmaxes the steps that leave most of what meters saw, and removes the meters."""
    by_name = {meter.name: meter for meter in meters}
    groups: dict[FixedQParamsObserver, list[Node]] = {}
    remove_meters(prepared, ProbabilityMeter)
    for node in prepared.graph.nodes:
        if node.name in by_name:
            for observer in _observers(node):
                groups.setdefault(observer, []).append(node)
    for observer, nodes in groups.items():
        bits = min(by_name[node.name].bits(most_bits(node)) for node in nodes)
        if bits and _is_alone(prepared, observer):
            observer.scale.mul_(2.0**-bits)
            for node in nodes:
                if node.target is _SOFTMAX:
                    node.target, node.args = _MASKED, _unmasked(node)


def _unmasked(node: Node) -> tuple[Any, ...]:
    x, dim = node.args
    return x, None, dim, -math.inf, False


def dimension_of(node: Node) -> int | None:
    """Over which a softmax is; None for other nodes."""
    dim: Any = None
    if node.target is _MASKED:
        dim = node.args[2]
    elif node.target is _SOFTMAX and len(node.args) == 2 and not node.kwargs:
        dim = node.args[1]
    return dim  # type: ignore[no-any-return]


def most_bits(node: Node) -> int:
    length = fake(node).shape[dimension_of(node)]
    return BITS_OF_LONGER if length > LONGEST else MOST_FINER_BITS


def _observers(node: Node) -> Iterator[FixedQParamsObserver]:
    """The observer that gives a softmax its range: one for all that read it, at most."""
    held = (observer_of(user) for user in node.users if user.op == "call_module")
    yield from {each: None for each in held if isinstance(each, FixedQParamsObserver)}


def _is_alone(prepared: GraphModule, observer: FixedQParamsObserver) -> bool:
    """Whether nothing but softmaxes, moved at most, has this range."""
    held = [node for node in prepared.graph.nodes if node.op == "call_module"]
    sources = [node.all_input_nodes[0] for node in held if observer_of(node) is observer]
    return all(node.target in {_SOFTMAX, _MASKED, *MOVEMENTS, *JOINS} for node in sources)
