"""Decisions of a program that are not the float model's. Importing it imports torch.

A comparison of a number with one that is nearly equal may go the other way once both are rounded,
however fine the steps: no layer is wrong then, and a result may be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.call_sites import marked
from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.fidelity.record import FlippedDecisions
from cmcompiler.frontend.operators.function import function
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.fixed_ranges import CASTS, CUTS, MOVEMENTS
from cmcompiler.frontend.rewrites.integers import is_place

_DECIDING = {
    *("gt", "ge", "lt", "le", "eq", "ne", "argmax", "argmin", "argsort", "bucketize"),
    *("searchsorted", "signbit"),
}
"""Operators whose results, bool or integers, are decisions."""

_CASTS, _CUTS = ({each.overloadpacket.__name__ for each in kind} for kind in (CASTS, CUTS))
"""Operators of any overload."""

_HALVINGS = 60
"""Halvings of a step: as far as single precision tells numbers apart next to 0."""

_JUMP = 8.0
"""Steps of a function's results, and times what lies beside it, that are not a slope."""


class Decisions:
    """Counts decisions that are not those of the float model.

    Args:
        prepared: in float, with a range for each quantised tensor.
    """

    def __init__(self, prepared: GraphModule) -> None:
        nodes = [node for node in prepared.graph.nodes if node.op == "call_function"]
        self._jumping = [(node, places) for node in nodes if (places := sudden_jumps(node))]
        jumping = {node for node, _ in self._jumping}
        self._deciding = [
            node
            for node in nodes
            if _name(node) in _DECIDING or (node.users and is_place(node)) or _is_cut(node, jumping)
        ]
        self._counts: defaultdict[Node, list[int]] = defaultdict(lambda: [0, 0])

    def __bool__(self) -> bool:
        return bool(self._jumping or self._deciding)

    @property
    def watched(self) -> frozenset[Node]:
        """The nodes whose values the program must show: decisions, and numbers before a jump."""
        return frozenset([*self._deciding, *(places.held for _, places in self._jumping)])

    def add(self, exact: Mapping[Node, Any], made: Mapping[Node, Any]) -> None:
        """
        Args:
            exact: values of the float model.
            made: values of the program for the watched nodes.
        """
        for node in self._deciding:
            if isinstance(exact[node], Tensor):
                self._count(node, made[node] != exact[node])
        for node, places in self._jumping:
            numbers = exact[places.source].double()
            self._count(node, places.lie_between(numbers, made[places.held].double()))

    def _count(self, node: Node, flipped: Tensor) -> None:
        count = self._counts[node]
        count[0] += int(flipped.sum())
        count[1] += flipped.numel()

    def flipped(self) -> Iterator[FlippedDecisions]:
        """Decisions that are not the model's, by the operator that decides."""
        for node, (flipped, count) in self._counts.items():
            name = marked(node.all_input_nodes[0] if node.target is getitem else node)
            if flipped and name is not None:
                yield FlippedDecisions(name, flipped / count)


@dataclass(frozen=True, eq=False, slots=True)
class Jumps:
    """Where a function of one number jumps.

    Attributes:
        held: rounds the number.
        function: as text.
        step: of its range.
        below, above: the nearest numbers in steps of it, by jump.
        least: what the function's results differ by, at least.
    """

    held: Node
    function: str
    step: float
    below: Tensor
    above: Tensor
    least: float

    def are_sudden(self) -> bool:
        """Whether some of them are left between numbers however near: a logarithm of 0 and of a
        step is steep, and has numbers between them.
        """
        lower, upper = self.below.clone(), self.above.clone()
        whole = (self._of(upper) - self._of(lower)).abs()
        for _ in range(_HALVINGS):
            middle = (lower + upper) / 2
            first, second = (
                (self._of(middle) - self._of(end)).abs().nan_to_num(torch.inf)
                for end in (lower, upper)
            )
            lower, upper = middle.where(second >= first, lower), middle.where(second < first, upper)
        left = (self._of(upper) - self._of(lower)).abs()
        return bool((left.isfinite() & (left > whole / 2)).any())

    @property
    def source(self) -> Node:
        """The node that computes the number, or an input."""
        return self.held.all_input_nodes[0]

    def lie_between(self, some: Tensor, others: Tensor) -> Tensor:
        """Whether there is a jump between each two numbers.

        Args:
            others: rounded, but for the rounding of single precision.
        """
        others = (others / self.step).round() * self.step
        lower, upper = torch.minimum(some, others), torch.maximum(some, others)
        begun, ended = torch.bucketize(upper, self.below), torch.bucketize(lower, self.above)
        differences = (self._of(some) - self._of(others)).abs().nan_to_num(torch.inf)
        return (begun > ended) & (differences > self.least)

    def _of(self, numbers: Tensor) -> Tensor:
        return function(numbers.float(), self.function).double()


def sudden_jumps(node: Node) -> Jumps | None:
    """The jumps of a function of one number that are not just steep; None without any."""
    places = jumps(node)
    return places if places is not None and places.are_sudden() else None


def jumps(node: Node) -> Jumps | None:
    """The jumps of a function of one number; None without any, and for all other nodes."""
    held = node.args[0] if node.args else None
    functions = torch.ops.cmbuild.function.default, torch.ops.cmbuild.short_function.default
    if node.target not in functions or not isinstance(held, Node) or held.op != "call_module":
        return None
    operand, text = StepRange.of(observer_of(held)), str(node.args[1])
    readers = (user for user in node.users if user.op == "call_module")
    result = next((StepRange.of(observer_of(user)) for user in readers), None)
    step = 0.0 if result is None else result.scale
    steps = torch.arange(operand.least, operand.largest + 1, dtype=torch.float64)
    numbers = (steps - operand.zero_point) * operand.scale
    results = function(numbers.float(), text).double().nan_to_num(0.0)
    # Beyond their range results are its ends: exponentials there grow to infinity.
    stored = results if result is None else results.clamp(*result.limits)
    rises = results.diff().abs()
    beside = torch.nn.functional.pad(rises, (1, 1), value=torch.inf)
    # Two jumps may lie side by side, as those of a sign around 0.
    slopes = torch.minimum(beside[:-2], beside[2:])
    is_jump = (stored.diff().abs() > _JUMP * step) & (rises > _JUMP * slopes)
    if not bool(is_jump.any()):
        return None
    below, above = numbers[:-1][is_jump], numbers[1:][is_jump]
    return Jumps(held, text, operand.scale, below, above, _JUMP * step)


def _name(node: Node) -> str:
    schema = getattr(node.target, "_schema", None)
    return str(schema.name.partition("::")[2]) if schema is not None else ""


def _is_cut(node: Node, jumping: Collection[Node]) -> bool:
    """Whether something reads what is left of numbers without their fractions, which no function
    among `jumping` has taken away before.
    """
    if _name(node) not in _CASTS or not node.users or _is_real(node):
        return False
    source = node.all_input_nodes[0]
    while source.op == "call_module" or source.target in MOVEMENTS:
        source = source.all_input_nodes[0]
    return _is_real(source) and source not in jumping and _name(source) not in _CUTS


def _is_real(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.is_floating_point()
