"""Quantisation-aware training: a module that rounds as its int8 program will.

Importing it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torch.utils._pytree import tree_map, tree_map_only
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize, MinMaxObserver

from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.frontend.accumulators import make_room_for_biases
from cmcompiler.frontend.float_form import FLOAT_FORMS
from cmcompiler.frontend.narrow_constants import NARROW
from cmcompiler.frontend.narrow_observers import rounded_to_nibbles
from cmcompiler.frontend.operators.recurrent import ops as cmbuild
from cmcompiler.frontend.precision import BYTES, Patterns
from cmcompiler.frontend.preparation import Prepared, describe
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import is_constant
from cmcompiler.frontend.simulation import rounded

AVERAGING = 0.05
"""By how much a batch moves the range of an activation towards its own."""


RECURRENT = {
    *(
        getattr(cmbuild, f"{kind}{name}").default
        for kind in ("", "short_", "fine_")
        for name in ("lstm", "lstm_state", "gru", "gru_state", "rnn")
    ),
}
"""Modules that torch.vmap cannot batch."""


class QuantizationAware(torch.nn.Module):
    """A module with fake quantisation, which an export quantises with the ranges that it learned.

    Batch norms are part of the layers beside them, with the statistics that they had; dropout is
    gone. In training mode, ranges of activations follow those of the batches.

    Args:
        prepared: after calibration.
        is_portable: how it was prepared.
        precision: of modules, likewise.

    Attributes:
        rounding: False makes it compute in float, with the same weights.
    """

    def __init__(self, prepared: Prepared, is_portable: bool, precision: Patterns = ()) -> None:
        super().__init__()
        if prepared.states:
            raise Unsupported("a module that changes its buffers cannot be trained with rounding")
        # Another one of the same graph, without the parameters that rewrites replaced.
        graph = GraphModule(prepared.graph, prepared.graph.graph)
        graph.meta.update(prepared.graph.meta)
        self.graph = graph
        self.rounding = True
        self._prepared = replace(prepared, graph=graph, rewritten=None)
        self._is_portable = is_portable
        self._precision = tuple(precision)
        self._has_loops = any(node.target in RECURRENT for node in graph.graph.nodes)
        trained = {str(node.target) for node in graph.graph.nodes if _is_trained(node)}
        for name, parameter in graph.named_parameters():
            parameter.requires_grad_(parameter.requires_grad or name in trained)

    def forward(self, *inputs: Tensor) -> Any:
        """The outputs for a batch.

        Args:
            inputs: those of the example, or several such along the first dimension.
        """
        if self.training:
            self._observe_weights()
        groups = [
            x.reshape(-1, *example.shape)
            for x, example in zip(inputs, self._prepared.inputs, strict=True)
        ]

        def compute(*sample: Tensor) -> Any:
            run = _Run(self.graph, self.rounding)
            return run.run(*sample), run.extremes

        each = _one_by_one if self._has_loops else torch.vmap
        results, extremes = each(compute)(*groups)
        if self.training:
            for name, (least, largest) in extremes.items():
                _follow(self.graph.get_submodule(name), least.amin(), largest.amax())
        return tree_map_only(Tensor, lambda x: x.flatten(0, min(1, x.ndim - 1)), results)

    def prepared(
        self, example_inputs: Sequence[Tensor], is_portable: bool, precision: Patterns = ()
    ) -> Prepared:
        """A copy for conversion.

        Args:
            precision: if it must be that which the module was trained with.

        Raises:
            InvalidRequest: it was made for other inputs or programs.
        """
        if precision and tuple(precision) != self._precision:
            raise InvalidRequest(
                f"the module was trained with rounding for {_named(self._precision)}, not for "
                f"{_named(precision)}",
                "leave the precision out: the module has its own",
            )
        own, other = describe(self._prepared.inputs), describe(example_inputs)
        if own != other:
            raise InvalidRequest(
                f"the module was made quantization-aware for {own}, the example is {other}"
            )
        if is_portable != self._is_portable:
            given = "with" if self._is_portable else "without"
            raise InvalidRequest(
                f"the module was made quantization-aware {given} portable=True",
                "export it likewise: --portable belongs to portable=True",
            )
        copy = deepcopy(self)
        copy._observe_weights()
        make_room_for_biases(copy.graph)
        return replace(copy._prepared, graph=copy.graph.requires_grad_(False), rewritten=None)

    @torch.no_grad()
    def _observe_weights(self) -> None:
        for node in self.graph.graph.nodes:
            if node.op == "call_module" and is_constant(node.args[0]):
                observer: Any = self.graph.get_submodule(str(node.target))
                if not isinstance(observer, DerivedObserverOrFakeQuantize):
                    observer.reset_min_max_vals()
                    observer(self.graph.get_parameter(str(node.args[0].target)))


class _Run(Interpreter):
    """Computes one example with gradients.

    Attributes:
        extremes: the least and the largest element of activations, by the name of their range.
    """

    def __init__(self, graph: GraphModule, is_rounding: bool) -> None:
        super().__init__(graph)
        self.extremes: dict[str, tuple[Tensor, Tensor]] = {}
        self._is_rounding = is_rounding

    def fetch_args_kwargs_from_env(self, n: Node) -> Any:
        args, kwargs = super().fetch_args_kwargs_from_env(n)
        narrow = n.meta.get(NARROW, ()) if self._is_rounding else ()
        return tuple(
            each + (rounded_to_nibbles(each, 0) - each).detach() if place in narrow else each
            for place, each in enumerate(args)
        ), kwargs

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is torch.ops.aten.clone.default:
            return args[0]  # for the layout in memory, which a batch cannot have
        name = target._schema.name if isinstance(target, torch._ops.OpOverload) else ""
        return super().call_function(FLOAT_FORMS.get(name, target), args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        x, observer = args[0], self.fetch_attr(target)
        if isinstance(observer, DerivedObserverOrFakeQuantize):
            return x
        if isinstance(x, torch.nn.Parameter):
            return rounded(x, observer) if self._is_rounding else x
        if isinstance(observer, MinMaxObserver):
            self.extremes[str(target)] = x.detach().amin(), x.detach().amax()
        return _straight_through(x, observer) if self._is_rounding else x


def _named(precision: Patterns) -> str:
    return ", ".join(f"{pattern} {kind}" for pattern, kind in precision) or BYTES


def _one_by_one(compute: Callable[..., Any]) -> Callable[..., Any]:
    """As torch.vmap."""

    def over(*groups: Tensor) -> Any:
        results = [compute(*sample) for sample in zip(*groups, strict=True)]
        return tree_map(lambda *rows: torch.stack(rows), *results)

    return over


def _straight_through(x: Tensor, observer: Any) -> Any:
    """Rounds to int8 and back; gradients pass where nothing is clipped."""
    scale, zero_point = observer.calculate_qparams()
    steps = torch.round(x.detach() / scale) + zero_point
    value = (torch.clamp(steps, observer.quant_min, observer.quant_max) - zero_point) * scale
    least, largest = ((q - zero_point) * scale for q in (observer.quant_min, observer.quant_max))
    clipped = torch.clamp(x, least, largest)
    return clipped + (value - clipped.detach())


@torch.no_grad()
def _follow(observer: Any, least: Tensor, largest: Tensor) -> None:
    observer.min_val = observer.min_val + AVERAGING * (least - observer.min_val)
    observer.max_val = observer.max_val + AVERAGING * (largest - observer.max_val)


def _is_trained(node: Node) -> bool:
    return is_constant(node) and any(map(_trains, node.users, [node] * len(node.users)))


def _trains(user: Node, constant: Node) -> bool:
    """Whether an operator, perhaps behind an observer, has the constant as a weight or bias."""
    if user.op == "call_module":
        return any(_trains(each, user) for each in user.users)
    place = user.args.index(constant) if constant in user.args else 0
    if user.target in LAYERS:
        return place in (1, 2)
    return user.target in QUANTIZED and place in QUANTIZED[user.target].constants
