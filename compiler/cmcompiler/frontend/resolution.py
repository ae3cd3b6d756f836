"""Finds operators whose operands 8 bits are too coarse for. Importing it imports torch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize

from cmcompiler.frontend.float_parts import UnroundedPart, source_of
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.simulation import rounded

LEAST = 20.0
"""In dB: a result that loses more to the rounding of its operands alone is spoilt."""

_MOST_OPERANDS = 8
"""Roundings that are tried one by one; of more, all are taken to be at fault."""

Pair = tuple[Any, Any]
"""A value in float, and the same with the nearest operands rounded."""

Powers = tuple[float, float]
"""Energy of a signal, and of its noise."""


class OperandRounding:
    """The effect of the rounding of operands alone on the results in a prepared graph.

    Errors do not add up: operands are rounded from what they are in float. Between operators in
    float nothing is rounded.

    Args:
        samples: arguments for the graph's inputs.
        least: a result that keeps less is spoilt.
    """

    def __init__(
        self, prepared: GraphModule, samples: Sequence[Sequence[Tensor]], least: float = LEAST
    ) -> None:
        self._run = _Pairs(prepared)
        self._samples, self._least = samples, least

    def ratios(self) -> dict[Node, float]:
        """Signal to noise at each operator, in dB."""
        return self._run.ratios(self._samples, None)

    def spoilt(self) -> list[Node]:
        """The operators that lose most of their result, in order."""
        return [node for node, ratio in self.ratios().items() if ratio < self._least and node.users]

    def causes(self, node: Node) -> tuple[Node, ...]:
        """The operands whose rounding spoils a result; empty if it is not spoilt."""
        if self.ratios()[node] >= self._least:
            return ()
        operands = tuple(dict.fromkeys(_operands(node)))
        if not 1 < len(operands) <= _MOST_OPERANDS:
            return operands
        # Together, as many as these would spoil it.
        bound = self._least + 10 * math.log10(len(operands))
        alone = [self._run.ratios(self._samples, {each})[node] for each in operands]
        return tuple(each for each, ratio in zip(operands, alone, strict=True) if ratio < bound)

    def extend(
        self,
        part: UnroundedPart,
        node: Node,
        inputs: Collection[Node],
        *,
        without: Collection[Any] = (),
    ) -> bool:
        """Extends a part by a result and, as far back as it takes, by the operands that spoil it.

        Args:
            inputs: of the graph, which may be read as they are given.
            without: operators that stay out of the part.

        Returns: whether the result is exact enough then.
        """
        while causes := self.causes(part.result(node)):
            sources = [source_of(cause) for cause in causes]
            read = set(sources) & set(inputs)
            sources = [source for source in sources if source.op == "call_function"]
            sources = [source for source in sources if not part.takes_along(source, without)]
            is_done = set(sources) <= part.members and read <= part.exact
            if is_done or not part.extend([node, *sources], inputs=read):
                return False
        return True


def _operands(node: Node) -> Iterator[Node]:
    """The nodes that round activations which a node reads, perhaps through operators in float."""
    for source in node.all_input_nodes:
        if source.op == "call_module":
            if source.all_input_nodes[0].op != "get_attr":
                yield source
        elif source.op == "call_function":
            yield from _operands(source)


def coarse(
    prepared: GraphModule, places: Collection[Node], samples: Sequence[Sequence[Tensor]]
) -> set[Node]:
    """Find nodes that round activations and lose most of what these hold."""
    run = _Rounding(prepared, places)
    for sample in samples:
        run.run(*sample)
    return {
        place
        for place, (signal, noise) in run.powers.items()
        if signal and noise and 10 * math.log10(signal / noise) < LEAST
    }


class _Rounding(Interpreter):
    """Computes a prepared graph exactly, and at some places what rounding loses."""

    def __init__(self, prepared: GraphModule, places: Collection[Node]) -> None:
        super().__init__(prepared)
        self.powers = {place: (0.0, 0.0) for place in places}

    def run_node(self, n: Node) -> Any:
        if n.op != "call_module":
            return super().run_node(n)
        value = self.env[n.all_input_nodes[0]]
        if n in self.powers:
            powers = _powers(value, rounded(value, observer_of(n)))
            assert powers is not None
            (signal, noise), before = powers, self.powers[n]
            self.powers[n] = before[0] + signal, before[1] + noise
        return value


class _Pairs(Interpreter):
    """Computes a prepared graph twice at once: exactly, and with the nearest operands rounded."""

    def __init__(self, prepared: GraphModule) -> None:
        super().__init__(prepared)
        self._places: Collection[Node] | None = None
        self._steps: dict[Any, tuple[Tensor, Tensor]] = {}

    def ratios(
        self, samples: Sequence[Sequence[Tensor]], places: Collection[Node] | None
    ) -> dict[Node, float]:
        """Signal to noise at each operator, in dB.

        Args:
            places: what rounds; None for all.
        """
        self._places = places
        sums: dict[Node, list[float]] = {}
        for sample in samples:
            for node, (signal, noise) in self._one(sample):
                total = sums.setdefault(node, [0.0, 0.0])
                total[0] += signal
                total[1] += noise
        return {
            node: 10 * math.log10(signal / noise) if noise and signal else math.inf
            for node, (signal, noise) in sums.items()
        }

    def _one(self, sample: Sequence[Tensor]) -> Iterator[tuple[Node, Powers]]:
        nodes = list(self.graph.nodes)
        uses = Counter(source for node in nodes for source in node.all_input_nodes)
        inputs = iter(sample)
        pairs: dict[Node, Pair] = {}
        for node in nodes:
            if node.op == "output":
                return
            if node.op == "placeholder":
                value = next(inputs)
                pairs[node] = value, value
            elif node.op == "call_module":
                pairs[node] = self._observed(node, pairs)
            else:
                pairs[node] = self._computed(node, pairs)
                if node.op == "call_function":
                    powers = _powers(*pairs[node])
                    if powers is not None:
                        yield node, powers
            for source in node.all_input_nodes:
                uses[source] -= 1
                if not uses[source]:
                    del pairs[source]

    def _observed(self, node: Node, pairs: dict[Node, Pair]) -> Pair:
        (source, *_) = node.all_input_nodes
        value, observer = pairs[source][0], observer_of(node)
        if source.op == "get_attr" or isinstance(observer, DerivedObserverOrFakeQuantize):
            return value, value
        if self._places is not None and node not in self._places:
            return value, value
        if observer not in self._steps:
            self._steps[observer] = observer.calculate_qparams()
        return value, rounded(value, observer, self._steps[observer])

    def _computed(self, node: Node, pairs: dict[Node, Pair]) -> Pair:
        sources = node.all_input_nodes
        results = []
        for side in (0, 1):
            self.env = {source: pairs[source][side] for source in sources}
            results.append(self.run_node(node))
            if all(pairs[source][0] is pairs[source][1] for source in sources):
                return results[0], results[0]
        return results[0], results[1]


def _powers(exact: Any, other: Any) -> Powers | None:
    """The power of a tensor, and that of its error."""
    if not isinstance(exact, Tensor) or not exact.is_floating_point():
        return None
    if exact is other:
        return 0.0, 0.0
    known = torch.isfinite(exact)
    # Of what is not finite, as of a quotient by a divisor that was rounded to 0, nothing is left.
    real = exact.double().where(known, 0.0)
    coarse = other.double().nan_to_num(0.0, 0.0, 0.0).where(known, 0.0)
    return float(real.square().sum()), float((real - coarse).square().sum())
