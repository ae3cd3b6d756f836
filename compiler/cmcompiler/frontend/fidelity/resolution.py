"""The loss of each layer's result by rounding, each layer on its own. Importing it imports torch.

A layer is faithful if it is within half a step, however wide the step. What a sentinel, a square or
a wide neighbour does to a range shows only beside the float graph.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.call_sites import marked
from cmcompiler.frontend.fidelity.decisions import sudden_jumps
from cmcompiler.frontend.fidelity.forced import RoundedWeights
from cmcompiler.frontend.fidelity.record import LayerResolution
from cmcompiler.frontend.operators.arithmetic import DIVISIONS
from cmcompiler.frontend.rewrites.editing import is_clamped, is_step

_JUMPS = (
    *("remainder", "fmod", "frac", "floor", "ceil", "round", "trunc", "sign", "floor_divide"),
    *("argmax", "argmin", "argsort", "bucketize", "heaviside"),
)
"""Operators whose result jumps: rounding an operand may change all of it."""

_GAP = 20.0
_ORDINARY_SIZE = 32.0
"""Numbers up to here stand for themselves, as the one of a sharp softmax among tiny ones."""

_ORDINARY = 0.9
_MOST = 20_000


class ResolutionRun(RoundedWeights):
    """Computes a prepared graph in float and, beside it, each layer on rounded operands."""

    def __init__(self, prepared: GraphModule) -> None:
        super().__init__(prepared, garbage_collect_values=False)
        self._beside: dict[Node, Any] = {}
        self._power: defaultdict[Node, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def run_on(self, inputs: tuple[Tensor, ...]) -> Any:
        """The graph's results in float."""
        self._beside = {}
        return self.run(*inputs)

    @property
    def exact(self) -> Mapping[Node, Any]:
        """The values of the last run, in float."""
        return self.env

    def run_node(self, n: Node) -> Any:
        if n.op == "call_module":
            source = n.args[0]
            assert isinstance(source, Node)
            real = self.env[source]
            # Taken from the float value, so that no layer inherits errors.
            self._beside[n] = self.observed(n)
            if (
                source.op == "call_function"
                and isinstance(real, Tensor)
                and real.is_floating_point()
            ):
                beside = self._beside[source]
                if source.target in DIVISIONS:
                    beside = beside.nan_to_num(0.0, 0.0, 0.0)  # as integers have it of x / 0
                self._add(source, real, self.observed(n, beside))
            return real
        result = super().run_node(n)
        if n.op != "call_function":
            self._beside[n] = result
            return result
        env, self.env = self.env, self._beside
        try:
            self._beside[n] = _decided(result, super().run_node(n))
        finally:
            self.env = env
        return result

    def _add(self, node: Node, exact: Tensor, rounded: Any) -> None:
        exact, coarse = exact.double(), rounded.double()
        good = exact.isfinite() & coarse.isfinite() & (exact.abs() < _sentinel(exact))
        power = self._power[node]
        power[0] += float(exact.where(good, 0.0).square().sum())
        power[1] += float((exact - coarse).where(good, 0.0).square().sum())

    def layers(self) -> Iterator[LayerResolution]:
        """Layers that lose anything; of a running product, the whole and not its steps."""
        for node, (signal, noise) in self._power.items():
            is_meant = _is_jump(node) or is_step(node) or is_clamped(node)
            if noise == 0 or signal == 0 or is_meant:
                continue
            snr = 10 * math.log10(signal / noise)
            name = marked(node)
            if name is not None:
                span, steps, is_operand = self._coarsest(node)
                yield LayerResolution(name, snr, span, steps, is_operand)

    def _coarsest(self, node: Node) -> tuple[float, int, bool]:
        """The range with the widest steps among a layer's activations: span, steps, whether it is
        an operand's. A state of 16 bits may span more than a result of 8 that is far coarser.
        """
        ranges = [(user, False) for user in node.users]
        ranges += [(operand, True) for operand in _operands(node)]
        spans = [
            (*self._span(each), is_operand)
            for each, is_operand in ranges
            if each.op == "call_module"
        ]
        return max(spans, key=_step, default=(0.0, 0, False))

    def _span(self, node: Node) -> tuple[float, int]:
        observer: Any = self.fetch_attr(str(node.target))
        scale, _ = observer.calculate_qparams()
        steps = observer.quant_max - observer.quant_min
        return float(scale) * steps, steps


def _decided(exact: Any, rounded: Any) -> Any:
    """Rounded results, with the float model's integers: those are decisions, told by themselves."""
    if isinstance(exact, Tensor):
        is_number = exact.is_floating_point() or exact.dtype == torch.bool
        return rounded if is_number else exact
    if isinstance(exact, tuple | list):
        return tuple(map(_decided, exact, rounded))
    return rounded


def _step(span: tuple[float, int, bool]) -> tuple[float, bool]:
    return span[0] / span[1], span[2]


def _operands(node: Node) -> Iterator[Node]:
    """The nodes that round a layer's activations, also behind operators without a range."""
    for source in node.all_input_nodes:
        if source.op == "call_module":
            if source.all_input_nodes[0].op != "get_attr":
                yield source
        elif source.op == "call_function":
            yield from _operands(source)


def _is_jump(node: Node) -> bool:
    name = getattr(getattr(node.target, "_schema", None), "name", "").partition("::")[2]
    return name.rstrip("_") in _JUMPS or sudden_jumps(node) is not None


def _sentinel(exact: Tensor) -> float:
    """From where on numbers stand for masked or padded ones: behind a gap of a factor of 20 above
    nine tenths of the distinct magnitudes.
    """
    sizes = torch.unique(exact.abs().flatten()[:: max(1, exact.numel() // _MOST)])
    sizes = sizes[(sizes > 0) & sizes.isfinite()]
    first = max(1, int(len(sizes) * _ORDINARY))
    upper, lower = sizes[first:], sizes[first - 1 : -1]
    beyond = upper[(upper >= _GAP * lower) & (upper > _ORDINARY_SIZE)]
    return float(beyond[0]) if len(beyond) else math.inf
