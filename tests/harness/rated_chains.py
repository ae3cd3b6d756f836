"""Chains of layers as whole tensors and in streams, and how far rates are from what they take.

benchmarks/rates.py measures them, and fits the rates of plans to them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.op import KernelCall, Op, RowCall
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.extreme import Extreme
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.quantized_sum import QuantizedSum
from cmcompiler.ops.support.parameters import Rescale
from cmcompiler.ops.support.requantize import Range, Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.draft import Draft
from cmcompiler.plan.streams.bands import unit
from cmcompiler.plan.streams.costs.effort import effort
from cmcompiler.plan.streams.costs.growth import Growth
from cmcompiler.plan.streams.costs.rates import RATES, Rates
from cmcompiler.plan.streams.costs.surcharge import surcharge
from cmcompiler.plan.streams.grouping import Computation, Grouping
from cmcompiler.plan.streams.stream import Stream
from cmcompiler.plan.way import Way
from harness.convolutions import Numbers

CHAINS = (
    "24x24x8 c48k1 d3 c8k1",
    "20x13x16 c96k1 d3 c24k1",
    "14x14x24 c64k1 d3s2 c17k1",
    "16x7x32 c64k1 d3 c32k1",
    "48x48x8 d3 c12k1",
    "48x48x8 c12k1 d3s2 c16k1",
    "18x10x12 c40k1 d5 c12k1",
    "17x9x24 d5s2 c40k1",
    "22x22x3 c16k3s2 d3 c24k1",
    "24x20x3 c16k3 c16k3",
    "16x16x16 c16k3 c32k3s2 c32k3",
    "12x12x32 c32k3 c48k3",
    "20x20x1 c8k5 c16k3s2 c16k1",
    "16x16x64 c64k1 d3 c64k1",
    "13x5x64 d3 c64k1 d3 c64k1",
    "49x10x1 c64k10x4s2 d3 c64k1",
    "16x16x8 c16k3 m2 c32k3 m2",
    "16x18x16 d3 a2 c24k1",
    "20x20x8 c8k3 t c16k1",
    "64x1x16 c32k5x1 c32k3x1",
    "48x1x40 d9x1 c40k1 d9x1",
    "18x14x16 d3 c24k1 e",
    "18x14x24 c16k1 d3 +",
    "1x1x256 l64 l32",
    "1x1x640 l128 l10",
)
"""Shapes of inputs, and layers: c convolutions (channels, k window, s stride), d depthwise ones, m
and a pools, t tables, l linear layers, e largest elements and + sums of an image.
"""
BANDS = (1, 2, 3, 4, 6, 8)
MUCH = 1 << 18
"""Bytes of arena that leave all scratch that is of use."""
SMALLEST = 200.0
"""Instructions that a share is one of at least."""


@dataclass(frozen=True)
class Chain:
    """Layers one after the other.

    Attributes:
        text: one of CHAINS.
    """

    text: str

    @property
    def graph(self) -> Graph:
        shape, *layers = self.text.split()
        first = tensor = Tensor("x", np.dtype(np.int8), (1, *map(int, shape.split("x"))))
        nodes: list[Node] = []
        for layer in layers:
            op, size = _layer(layer, tensor.shape)
            output = Tensor(f"t{len(nodes)}", tensor.dtype, size)
            nodes.append(Node(op, (tensor,), (output,), f"{layer} #{len(nodes)}"))
            tensor = output
        ports = [
            Port(name, t, t.shape, tuple(range(len(t.shape))))
            for name, t in (("x", first), ("y", tensor))
        ]
        return Graph(self.text, tuple(nodes), (ports[0],), (ports[1],))

    def drafts(self, isa: Isa) -> Iterator[tuple[str, Draft]]:
        """By name: whole tensors, then streams in bands, with little scratch and with all."""
        way = Way(self.graph, isa)
        whole = way.whole
        yield "whole", replace(whole, least=MUCH)
        if not all(way.row_calls):
            return
        for band in BANDS:
            stream = _stream(way, lambda call, band=band: band * unit(call))
            if stream is None:
                continue
            draft = replace(whole, streams=(stream,))
            yield f"bands of {band}", draft
            yield f"bands of {band}, all scratch", replace(draft, least=MUCH)


def _stream(way: Way, band: Callable[[RowCall], int]) -> Stream | None:
    """All nodes as one group; None if they cannot be one."""
    whole = way.whole
    computation = Computation(
        way.graph, whole.storage, whole.calls, way.row_calls, way.isa, way.measured
    )
    grouping, count = Grouping(computation), len(way.graph.nodes)
    return grouping.make(0, count, tuple(map(band, grouping.calls(0, count))))


def _layer(text: str, shape: tuple[int, ...]) -> tuple[Op, tuple[int, ...]]:
    """An operator on an image, and the shape of its output."""
    numbers, (kind, rest), depth = Numbers(len(text)), (text[0], text[1:]), shape[3]
    if kind == "t":
        return Activation(numbers.int8(256).tobytes()), shape
    if kind in "e+":
        sizes, short = (1, shape[1] * shape[2], depth), (1, depth)
        scale = Rescale(3, 1 << 30, -8)
        largest, total = Extreme(True, *sizes, short), QuantizedSum(*sizes, 3, scale, short)
        return (largest if kind == "e" else total), short
    if kind == "l":
        channels = int(rest)
        op = Linear(
            numbers.int8(channels, depth), numbers.biases(channels), _ends(channels, depth), 1
        )
        return op, (1, 1, 1, channels)
    rest, _, stride = rest.partition("s")
    count, _, side = rest.partition("k") if kind == "c" else ("", "", rest)
    high, _, wide = side.partition("x")
    kernel, step = (int(high), int(wide or high)), int(stride or 1)
    if kind in "ma":
        window = Window(kernel, kernel)
        size = (1, *window.output_size(shape[1:3]), depth)
        return (
            MaxPool2d(window, size, Range(-128, 127)) if kind == "m" else AvgPool2d(window, size)
        ), size
    window = Window(kernel, (step, step if shape[2] > 1 else 1), (kernel[0] // 2, kernel[1] // 2))
    channels = int(count or depth)
    size = (1, *window.output_size(shape[1:3]), channels)
    products = window.area * (depth if kind == "c" else 1)
    ends, biases = _ends(channels, products), numbers.biases(channels)
    if kind == "c":
        return Conv2d(numbers.int8(channels, *kernel, depth), biases, window, 3, ends, size), size
    return DepthwiseConv2d(numbers.int8(*kernel, depth), biases, window, 3, ends, size), size


def _ends(channels: int, depth: int) -> Requantize:
    shift = -7 - int(np.log2(depth) / 2)
    return Requantize.checked(
        [1 << 30] * channels, [shift] * channels, channels, zero_point=-5, minimum=-128, maximum=127
    )


class Kind(Enum):
    """What samples are of."""

    WHOLE = "layers as a whole"
    STAGES = "what stages take more"


@dataclass(frozen=True)
class Sample:
    """Calls of a layer, and what they are predicted to take.

    Attributes:
        name: chain, draft and layer.
        step: of the plan.
        whole: the name of the sample of the layer as a whole; its own if it is that.
        predicted: instructions, at the rates of today.
    """

    name: str
    chain: str
    step: int
    whole: str
    predicted: Callable[[], float]

    @property
    def kind(self) -> Kind:
        return Kind.WHOLE if self.name == self.whole else Kind.STAGES


def samples(chain: Chain, isa: Isa) -> Iterator[tuple[Draft, list[Sample]]]:
    """The drafts of a chain, and samples of their steps."""
    for title, draft in chain.drafts(isa):
        own = []
        for index, (entry, units) in enumerate(
            zip(draft.schedule.entries, draft.grown.units, strict=True)
        ):
            if index in draft.stages or isinstance(entry.action, KernelCall):
                name = f"{chain.text} | {title} | {entry.node}"
                whole = f"{chain.text} | whole | {entry.node}"
                predicted = _prediction(draft, index, units)
                own.append(Sample(name, chain.text, index, whole, predicted))
        yield draft, own


def _prediction(draft: Draft, index: int, units: int) -> Callable[[], float]:
    entry = draft.schedule.entries[index]
    node, isa = draft.graph.nodes[entry.node], draft.isa
    stages, calls = draft.stages, draft.calls[entry.node]

    def predicted() -> float:
        if index not in stages:
            growth = Growth.of(node, entry.action, isa)
            return effort(node, calls, isa) + (growth.more_whole(units) if growth and units else 0)
        stream, stage = stages[index]
        first, last = stage.call.call.rows
        cost = surcharge(node, stage.call, isa, stream.rings_of(stage)).with_units(units)
        return cost - -(-(last - first) // stage.call.band) * RATES[isa].turn

    return predicted


@dataclass(frozen=True)
class Samples:
    """Samples of an instruction set with their instructions.

    Attributes:
        counts: instructions by name.
    """

    isa: Isa
    every: Sequence[Sample]
    counts: Mapping[str, int]

    @classmethod
    def of(cls, isa: Isa, counts: Mapping[str, int]) -> Samples:
        every = [
            sample
            for text in CHAINS
            for _, own in samples(Chain(text), isa)
            for sample in own
            if sample.name in counts
        ]
        return cls(isa, every, counts)

    @cached_property
    def _totals(self) -> Mapping[str, int]:
        """Instructions of each chain as a whole."""
        totals: Counter[str] = Counter()
        for sample in self.every:
            if sample.kind is Kind.WHOLE:
                totals[sample.chain] += self.counts[sample.name]
        return totals

    def errors(self, rates: Rates, kind: Kind) -> np.ndarray[Any, np.dtype[np.float64]]:
        """By sample of layers as a whole, or of stages: the difference as a share of the layer."""
        RATES[self.isa] = rates
        shares = []
        for sample in self.every:
            if sample.kind is kind:
                layer = self.counts[sample.whole]
                count = self.counts[sample.name] - (0 if kind is Kind.WHOLE else layer)
                weight = math.sqrt(max(layer, SMALLEST) * self._totals[sample.chain])
                shares.append((sample.predicted() - count) / weight)
        return np.array(shares)
