"""The float graph on a program's own values. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Interpreter, Node
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize

from cmcompiler.frontend.fidelity.double import single_rounding, widened
from cmcompiler.frontend.fidelity.pairing import StepRange, ValuePair
from cmcompiler.frontend.fidelity.parts import LayerPart
from cmcompiler.frontend.fidelity.ties import UNSTABLE, in_order
from cmcompiler.frontend.fidelity.turns import layer_of, turn_by_turn
from cmcompiler.frontend.fidelity.values import Array, real
from cmcompiler.frontend.fidelity.weighings import WEIGHED, part_by_part
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.simulation import rounded
from cmcompiler.frontend.weight_steps import in_stored_steps
from cmcompiler.ops.attention import Weighing
from cmcompiler.ops.support.recurrence import Turns

_NEAR = 2.0**-6
"""Steps that a number in single precision is off from one of int16."""

_SINGLE_STEP = 64.0
"""Step of an operator in single precision, in roundings of its operands: of long sums."""

Report = Callable[[ValuePair, Tensor, Array, Tensor | None], None]
"""Sees what the float graph computes, and what the program has there; the step of each element,
where it is not that of the layer's range."""


@dataclass(frozen=True, eq=False, slots=True)
class MadeValue:
    """The program's value for a node of the float graph.

    Attributes:
        array: in its logical shape.
        parts: what the layer made on the way, if it is compared part by part.
    """

    pair: ValuePair
    array: Array
    parts: Turns | Weighing | None = None


class RoundedWeights(Interpreter):
    """Computes a prepared graph with its weights rounded as in the program; biases are not."""

    def __init__(self, prepared: GraphModule, garbage_collect_values: bool = True) -> None:
        super().__init__(prepared, garbage_collect_values)
        self._weights: dict[Node, Tensor] = {}
        self._rows: dict[tuple[Node, int], Tensor] = {}

    def fetch_args_kwargs_from_env(self, n: Node) -> Any:
        """With the matrices that a lowering rounds row by row."""
        args, kwargs = super().fetch_args_kwargs_from_env(n)
        registered = QUANTIZED.get(n.target) if isinstance(n.target, OpOverload) else None
        if registered is None or not registered.rows:
            return args, kwargs
        return tuple(
            self._by_rows(n, place, each) if place in registered.rows else each
            for place, each in enumerate(args)
        ), kwargs

    def observed(self, n: Node, value: Any = None) -> Any:
        """The value after a node that holds a range, or of its operand."""
        observer: Any = self.fetch_attr(str(n.target))
        if value is None:
            (value, *_), _ = super().fetch_args_kwargs_from_env(n)
        is_bias = isinstance(observer, DerivedObserverOrFakeQuantize)
        if is_bias or not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        source = n.args[0]
        if not isinstance(source, Node) or source.op != "get_attr":
            return _with_least(value, rounded(value, observer), observer)
        if n not in self._weights:
            self._weights[n] = rounded(value, observer)
        return self._weights[n]

    def _by_rows(self, node: Node, place: int, weight: Tensor | None) -> Tensor | None:
        if weight is None:
            return None
        if (node, place) not in self._rows:
            made = in_stored_steps(weight.double().flatten(1))
            self._rows[node, place] = made.reshape(weight.shape).to(weight.dtype)
        return self._rows[node, place]


def _with_least(value: Tensor, made: Tensor, observer: Any) -> Tensor:
    """A rounded tensor that keeps the least number of int16, which ranges leave out."""
    if observer.dtype is not torch.int16:
        return made
    scale = float(observer.calculate_qparams()[0])
    least = (observer.quant_min - 1) * scale
    return torch.where((value - least).abs() < _NEAR * scale, least, made)


class ForcedRun(RoundedWeights):
    """Computes a prepared graph in float, and goes on with the program's value after each layer.

    So errors do not add up, and a run checks every layer. What the program has no value for is
    rounded as its range says.

    Args:
        watched: nodes whose values are kept.
        is_double: in double precision, as far as the graph's operators know it.

    Attributes:
        seen: values of the watched nodes in the last run.
    """

    def __init__(
        self,
        prepared: GraphModule,
        report: Report,
        watched: Collection[Node] = (),
        *,
        is_double: bool = False,
    ) -> None:
        super().__init__(prepared)
        self._report, self._watched = report, frozenset(watched)
        self._is_double = is_double
        self.seen: dict[Node, Any] = {}
        self._values: Mapping[Node, MadeValue] = {}
        self._quantized: Mapping[Node, MadeValue] = {}
        self._layers: dict[Node, MadeValue] = {}
        self._steps: dict[Node, Tensor] = {}

    def run_on(
        self,
        inputs: tuple[Tensor, ...],
        values: Mapping[Node, MadeValue],
        quantized: Mapping[Node, MadeValue] = MappingProxyType({}),
    ) -> Any:
        """The graph's results.

        Args:
            values: of the program.
            quantized: inputs as the program rounds them, by placeholder; beside it they may be read
                in float.
        """
        self._values, self._quantized = values, quantized
        layers = [
            (layer_of(node), made) for node, made in values.items() if isinstance(made.parts, Turns)
        ]
        self._layers = {layer: made for layer, made in layers if layer is not None}
        self._steps = {}
        return self.run(*inputs)

    def run_node(self, n: Node) -> Any:
        result = self._forced(n)
        if n in self._watched:
            self.seen[n] = result
        return result

    def _forced(self, n: Node) -> Any:
        result = self._computed(n)
        made = self._values.get(n)
        if made is None or not isinstance(result, Tensor):
            return result
        if isinstance(made.parts, Weighing) and n.target in WEIGHED:
            self._weigh(n, made, made.parts)
        step = self._steps.get(n)
        if self._is_double and made.pair.range is None and made.array.dtype.kind == "f":
            step = self._single_step(n, result)
        self._report(made.pair, result, made.array, step)
        return real(made.array, made.pair.range).to(result.dtype).reshape(result.shape)

    def _computed(self, n: Node) -> Any:
        result: Any
        if n.op == "call_module":
            result = self._as_quantized(n)
            result = self.observed(n) if result is None else result
        elif n in self._layers:
            result = self._walked(n, self._layers[n])
        elif n.target in UNSTABLE:
            result = in_order(n.target, *self.fetch_args_kwargs_from_env(n))
        else:
            result = super().run_node(n)
        return widened(result) if self._is_double else result

    def _as_quantized(self, n: Node) -> Tensor | None:
        """The program's own value for what a node rounds; None if the program has none.

        Single precision may round a half of an input the other way, and int16 values reach one step
        further than their ranges.
        """
        source = n.args[0]
        if not isinstance(source, Node):
            return None
        made = self._quantized.get(source) or self._values.get(source)
        if made is None or made.pair.range != StepRange.of(self.fetch_attr(str(n.target))):
            return None
        value: Tensor = self.env[source]
        return torch.empty_like(value).copy_(real(made.array, made.pair.range).reshape(value.shape))

    def _single_step(self, n: Node, exact: Tensor) -> Tensor:
        """The step of an operator in single precision."""
        if n.op != "call_function":
            return torch.tensor(0.0)
        arguments = self.fetch_args_kwargs_from_env(n)
        return _SINGLE_STEP * single_rounding(n.target, exact, arguments)  # type: ignore[arg-type]

    def _range(self, operand: Any) -> StepRange | None:
        """The range of what a node reads, if it has one."""
        if not isinstance(operand, Node) or operand.op != "call_module":
            return None
        return StepRange.of(self.fetch_attr(str(operand.target)))

    def _walked(self, n: Node, made: MadeValue) -> Any:
        """The results of a recurrent layer, turn by turn."""
        assert isinstance(made.parts, Turns) and made.pair.range is not None
        arguments, _ = Interpreter.fetch_args_kwargs_from_env(self, n)
        ranges = [self._range(each) for each in n.args[:2]]
        scales = [None if each is None else each.scale for each in ranges]
        results = turn_by_turn(n.target, arguments, scales, made.pair.range, made.parts)
        if results is None:
            return super().run_node(n)
        self._report_parts(made.pair, results.parts)
        example = n.meta["val"]
        if isinstance(example, Tensor):
            self._steps[n] = results.row_step
            return results.rows.to(example.dtype)
        rows, final = example
        for user in n.users:
            is_rows = user.args[1] == 0
            step = results.row_step if is_rows else results.final_step.reshape(final.shape)
            self._steps[user] = step
        return results.rows.to(rows.dtype), results.final.to(final.dtype).reshape(final.shape)

    def _weigh(self, n: Node, made: MadeValue, weighing: Weighing) -> None:
        """Reports the parts of attention, and notes the steps of the whole."""
        assert made.pair.range is not None
        arguments, _ = self.fetch_args_kwargs_from_env(n)
        ranges = [self._range(each) for each in n.args[1:3]]
        results = part_by_part(n.target, arguments, ranges, made.pair.range, weighing)
        self._report_parts(made.pair, results.parts)
        self._steps[n] = results.step

    def _report_parts(self, pair: ValuePair, parts: Iterable[LayerPart]) -> None:
        for part in parts:
            of_part = replace(pair, part=part.name, range=part.range)
            self._report(of_part, part.exact, part.made, part.step)
