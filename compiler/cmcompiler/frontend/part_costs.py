"""Measures what each rounding of a prepared graph costs alone. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize

from cmcompiler.frontend.call_sites import CallSite, marked
from cmcompiler.frontend.narrow_observers import rounded_to_nibbles
from cmcompiler.frontend.narrow_weights import channel_axis, is_worth_it
from cmcompiler.frontend.parts import ModelPart, ModelParts, Rounded, RoundingCost
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import constant_value
from cmcompiler.frontend.simulation import Simulation, rounded

_MOST = 8
"""Samples that are looked at."""


def part_costs(
    prepared: GraphModule,
    sites: Mapping[str, CallSite],
    samples: Sequence[Sequence[Tensor]],
    states: int,
) -> ModelParts:
    """The parts of a graph, and the cost of each of its roundings.

    Args:
        prepared: whose observers hold ranges.
        sites: of its nodes, by name.
        samples: an argument for each of its inputs.
        states: how many of the last inputs and outputs are states.
    """
    numbers = _numbered(prepared, sites)
    simulation = _OneRounding(prepared)
    shown = samples[:_MOST]
    with torch.no_grad():
        exact = _outputs(simulation.run_on(shown, rounding=False), states)
        costs = []
        for kind, node, involved in _roundings(prepared, numbers):
            simulation.choose(kind, node)
            computed = _outputs(simulation.run_on(shown, rounding=True), states)
            noise = tuple(map(_noise, exact, computed))
            costs.append(RoundingCost(kind, involved, simulation.elements, noise))
    return ModelParts(_parts(numbers, sites), tuple(costs))


class _OneRounding(Simulation):
    """Computes in float but for one rounding."""

    def __init__(self, prepared: GraphModule) -> None:
        super().__init__(prepared)
        self._kind, self._chosen, self._axis = Rounded.ACTIVATION, "", 0
        self.elements = 0

    def choose(self, kind: Rounded, observer: Node) -> None:
        """Rounds at this observer from now on."""
        self._kind, self._chosen = kind, str(observer.target)
        if kind is Rounded.NARROW_WEIGHTS:
            self._axis = channel_axis(next(iter(observer.users)))

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if str(target) != self._chosen or not self._is_rounding:
            return args[0]
        self.elements = args[0].numel()
        if self._kind is Rounded.NARROW_WEIGHTS:
            return rounded_to_nibbles(args[0], self._axis)
        return rounded(args[0], self.fetch_attr(target))


def _roundings(
    prepared: GraphModule, numbers: Mapping[Node, int]
) -> Iterator[tuple[Rounded, Node, tuple[int, ...]]]:
    """Roundings of a graph: kind, observer, and the parts that it concerns."""
    for node in prepared.graph.nodes:
        if node.op != "call_module" or not node.users:
            continue
        observer = prepared.get_submodule(str(node.target))
        if isinstance(observer, DerivedObserverOrFakeQuantize):
            continue
        (source,) = node.all_input_nodes
        readers = [user for user in node.users if user in numbers]
        if source.op == "get_attr":
            for layer in readers[:1]:
                yield Rounded.WEIGHTS, node, (numbers[layer],)
                is_weight = layer.target in LAYERS and node in layer.args[1:2]
                if is_weight and is_worth_it(layer, constant_value(source)):
                    yield Rounded.NARROW_WEIGHTS, node, (numbers[layer],)
        elif not _repeats(prepared, node):
            makers = [numbers[source]] if source in numbers else []
            involved = (*makers, *_reading(prepared, node, numbers))
            yield Rounded.ACTIVATION, node, tuple(dict.fromkeys(involved))


def _repeats(prepared: GraphModule, node: Node) -> bool:
    """Whether an observer rounds again what has the same range already."""
    (source,) = node.all_input_nodes
    own = prepared.get_submodule(str(node.target))
    return any(
        each.op == "call_module" and prepared.get_submodule(str(each.target)) is own
        for each in (source, *source.all_input_nodes)
    )


def _reading(prepared: GraphModule, observer: Node, numbers: Mapping[Node, int]) -> Iterator[int]:
    """The parts that read a tensor, maybe after it is moved."""
    for user in observer.users:
        if user.op == "call_module":
            yield from _reading(prepared, user, numbers)
        elif user in numbers:
            yield numbers[user]
            for further in user.users:
                if further.op == "call_module" and _repeats(prepared, further):
                    yield from _reading(prepared, further, numbers)


def _numbered(prepared: GraphModule, sites: Mapping[str, CallSite]) -> dict[Node, int]:
    """The number of each operator's part: what is computed with the operator before it, without a
    rounding between them, is of its part; others are with those of the same module.
    """
    numbers: dict[Node, int] = {}
    by_path: dict[str, int] = {}
    for node in prepared.graph.nodes:
        if node.op == "call_function":
            before = next((numbers[each] for each in node.all_input_nodes if each in numbers), None)
            path = _path(node, sites) or ""
            numbers[node] = by_path.setdefault(path, len(by_path)) if before is None else before
    return numbers


def _parts(numbers: Mapping[Node, int], sites: Mapping[str, CallSite]) -> tuple[ModelPart, ...]:
    paths = [""] * (max(numbers.values(), default=-1) + 1)
    operators: list[list[str]] = [[] for _ in paths]
    for node, number in numbers.items():
        if not operators[number]:
            paths[number] = _path(node, sites) or ""
        operators[number].append(marked(node) or node.name)
    return tuple(map(ModelPart, paths, map(tuple, operators)))


def _path(node: Node, sites: Mapping[str, CallSite]) -> str | None:
    site = sites.get(marked(node) or "")
    return None if site is None else site.module


def _outputs(rows: Sequence[Sequence[Tensor]], states: int) -> list[Tensor]:
    """Each output of all samples."""
    columns = zip(*(row[: len(row) - states] for row in rows), strict=True)
    return [torch.stack([each.double() for each in column]) for column in columns]


def _noise(exact: Tensor, computed: Tensor) -> float:
    signal = float(exact.square().sum())
    noise = float((exact - computed).square().sum())
    return noise / signal if signal > 0 else float(noise > 0)
