"""Cost of quantising each operator alone. Importing it imports torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torch.utils._pytree import tree_leaves

from cmcompiler.frontend.call_sites import CallSite, marked
from cmcompiler.frontend.quantized import OperatorCost

_SAMPLES = 8
_MOVEMENTS = ("view", "permute", "reshape", "flatten", "transpose", "squeeze", "unsqueeze")


class OneByOne(Interpreter):
    """Runs a quantised graph in float, except for one operator with its operands and its result.

    Args:
        module: with a quantize and a dequantize for each of these, constants included.
    """

    def __init__(self, module: GraphModule) -> None:
        self.graph = module.graph
        super().__init__(module, garbage_collect_values=False)
        self.operator: Node | None = None

    def operators(self) -> Iterator[Node]:
        """The operators that are quantised."""
        for node in self.graph.nodes:
            if _is(node, "quantize") or _is(node, "dequantize") or node.op != "call_function":
                continue
            if any(self._belongs(each, node) for each in (*node.all_input_nodes, *_results(node))):
                yield node

    def run_node(self, n: Node) -> Any:
        source = n.args[0] if n.args else None
        if isinstance(source, Node) and _is(n, "quantize"):
            return self.env[source]
        if isinstance(source, Node) and _is(n, "dequantize"):
            real, quantize = self.env[source], source
            if self.operator is None or not self._belongs(n, self.operator):
                return real
            arguments, _ = self.fetch_args_kwargs_from_env(quantize)
            others, _ = self.fetch_args_kwargs_from_env(n)
            assert callable(quantize.target) and callable(n.target)
            return n.target(quantize.target(real, *arguments[1:]), *others[1:])
        return super().run_node(n)

    @staticmethod
    def _belongs(dequantize: Node, operator: Node) -> bool:
        """Whether it gives the operator an operand, or takes its result."""
        if not _is(dequantize, "dequantize"):
            return False
        quantize = dequantize.args[0]
        made = quantize.args[0] if isinstance(quantize, Node) else None
        return operator in dequantize.users or made is operator


def layers(
    module: GraphModule,
    sites: Mapping[str, CallSite],
    samples: Sequence[tuple[Tensor, ...]],
    states: tuple[Tensor, ...],
) -> tuple[OperatorCost, ...]:
    """The operators of a quantised graph that cost anything, the most expensive first.

    Args:
        module: see OneByOne; takes inputs and states, returns outputs and, if any, states.
        samples: inputs.
    """
    interpreter = OneByOne(module)
    run = _runner(interpreter, list(islice(samples, _SAMPLES)), states)
    exact, costs = run(), []
    for node in interpreter.operators():
        name = marked(node)
        if name is None or name not in sites or sites[name].operator.startswith(_MOVEMENTS):
            continue
        interpreter.operator = node
        cost = snr(exact, run())
        if math.isfinite(cost):
            costs.append(OperatorCost(name, cost))
    return tuple(sorted(costs, key=lambda layer: layer.snr_db))


def snr_of_outputs(
    exact: Sequence[Sequence[Tensor]], computed: Sequence[Sequence[Tensor]]
) -> list[float]:
    """The ratio of each output in dB, over all samples.

    Args:
        exact, computed: the outputs of each sample.
    """
    columns = zip(zip(*exact, strict=True), zip(*computed, strict=True), strict=True)
    return [snr(real, other) for real, other in columns]


def snr(exact: Sequence[Tensor], computed: Sequence[Tensor]) -> float:
    """The power of tensors over that of the error, in dB; -inf if they diverged.

    Infinite numbers that both have, as those of masks, are no error.
    """
    signal = noise = 0.0
    for x, y in zip(exact, computed, strict=True):
        real, other = x.double(), y.double()
        signal += float(torch.where(real.isinf(), 0.0, real).square().sum())
        noise += float(torch.where(real == other, 0.0, real - other).square().sum())
    if noise == 0:
        return math.inf
    if signal == 0 or not math.isfinite(noise):
        return -math.inf
    return 10 * math.log10(signal / noise)


def _runner(
    interpreter: OneByOne, samples: Sequence[tuple[Tensor, ...]], states: tuple[Tensor, ...]
) -> Callable[[], list[Tensor]]:
    def run() -> list[Tensor]:
        held, outputs = states, []
        with torch.no_grad():
            for sample in samples:
                results = interpreter.run(*sample, *held)
                if states:
                    results, held = results
                outputs += [x.clone() for x in tree_leaves(results) if isinstance(x, Tensor)]
        return outputs

    return run


def _results(node: Node) -> Iterator[Node]:
    for user in node.users:
        if _is(user, "quantize"):
            yield from user.users


def _is(node: Node, kind: str) -> bool:
    return node.op == "call_function" and str(node.target).startswith(
        f"quantized_decomposed.{kind}_per_"
    )
