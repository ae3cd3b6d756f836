"""Divides in float where 8 bits would make divisors 0. Importing it imports torch.

`z / (z.abs() + 1e-3)` divides by small numbers, never by 0. In steps of the largest divisor some of
them are 0, or what they are computed from is, and no quotient is right then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend import backend
from cmcompiler.frontend.float_parts import UnroundedPart, source_of
from cmcompiler.frontend.operators.arithmetic import DIVISIONS
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.simulation import Results, Simulation
from cmcompiler.frontend.tried_samples import sample_count

REASON = "its divisor would be rounded to 0"


class ZeroDivisors:
    """Finds divisors that are not 0 in float and are when all is rounded.

    Args:
        samples: arguments for the graph's inputs.
    """

    def __init__(self, prepared: GraphModule, samples: Sequence[Sequence[Tensor]]) -> None:
        self._simulation = Simulation(prepared)
        self._samples = samples[: sample_count(prepared)]

    def among(self, divisions: Sequence[Node]) -> list[Node]:
        """The divisions that have one."""
        exact, made = (self._divisors(divisions, rounding=rounding) for rounding in (False, True))
        return [
            node
            for node in divisions
            if any(
                bool(((y == 0) & (x != 0)).any())
                for x, y in zip(exact[node], made[node], strict=True)
            )
        ]

    def _divisors(self, divisions: Sequence[Node], *, rounding: bool) -> dict[Node, Results]:
        by_source = {node.args[1]: list[object]() for node in divisions}

        def note(node: Node, results: Results) -> Results:
            if node in by_source:
                by_source[node] = results
            return results

        if divisions:
            self._simulation.run_on(self._samples, rounding=rounding, visit=note)
        return {node: by_source[node.args[1]] for node in divisions}


def divide_in_float(
    prepared: GraphModule, samples: Sequence[Sequence[Tensor]], states: int
) -> frozenset[str]:
    """Computes divisions in float whose divisors 8 bits make 0, and what leads to these.

    Args:
        states: how many of the last inputs are states of the graph.

    Returns: the names of operators in float.
    """
    names: set[str] = set()
    zeros = ZeroDivisors(prepared, samples)
    divisions = [
        node
        for node in prepared.graph.nodes
        if node.target in DIVISIONS
        and isinstance(node.args[1], Node)
        and node.args[1].op == "call_module"
        and backend.is_quantized(node)
    ]
    given = [node for node in prepared.graph.nodes if node.op == "placeholder"]
    inputs = set(given[: len(given) - states])
    for node in zeros.among(divisions):
        for with_layers in (False, True):
            part = UnroundedPart(prepared)
            if _reach_exact(part, node, inputs, zeros, with_layers=with_layers):
                names |= part.keep()
                break
            part.undo()
    return frozenset(names)


def _reach_exact(
    part: UnroundedPart,
    node: Node,
    inputs: set[Node],
    zeros: ZeroDivisors,
    *,
    with_layers: bool,
) -> bool:
    """Extends a part by a division and, as far back as it takes, by what computes its divisor.

    Returns: whether the divisor is right then.
    """
    sources: list[Node] = []
    read: set[Node] = set()
    while part.extend([node, *sources], inputs=read):
        division = part.result(node)
        if not zeros.among([division]):
            return True
        rounded = [source_of(each) for each in _rounded(division.args[1])]
        read = set(rounded) & inputs - part.exact
        sources = [each for each in rounded if each.op == "call_function"]
        if not with_layers:
            sources = [each for each in sources if not part.takes_along(each, LAYERS)]
        if not sources and not read:
            return False
    return False


def _rounded(value: object) -> Iterator[Node]:
    """The nodes that round the operands of operators in float that lead to a value."""
    left, reached = [value], set[object]()
    while left:
        node = left.pop()
        if not isinstance(node, Node) or node in reached:
            continue
        reached.add(node)
        if node.op == "call_module":
            if node.all_input_nodes[0].op != "get_attr":
                yield node
        elif node.op == "call_function":
            left += node.all_input_nodes
