"""Finds the roundings between operators without weights that cost an output most.

Each operator may be fine on its own operands where the next one multiplies its error: scores of
unit vectors times 100, or a product of many factors. Importing it imports torch.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize

from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.sensitivity import snr_of_outputs
from cmcompiler.frontend.simulation import Results, Simulation, element_count, rounded

_WORK = 200_000_000
"""Elements that all runs together compute; of a larger model nothing is tried."""


def costly_operators(
    prepared: GraphModule, samples: Sequence[Sequence[Tensor]], enough: float
) -> list[Node]:
    """Operators of which one makes and the others read a tensor whose rounding alone leaves some
    output less than enough, the most expensive tensor first. Layers are none of them.

    Args:
        samples: arguments for the graph's inputs.
        enough: in dB.
    """
    groups: dict[Any, list[Node]] = {}
    for node in prepared.graph.nodes:
        if node.op == "call_module" and _is_activation(node):
            groups.setdefault(observer_of(node), []).append(node)
    tried = {id(held): _operators(held) for held in groups.values()}
    chosen = [held for held in groups.values() if tried[id(held)]]
    if len(chosen) * element_count(prepared) * len(samples) > _WORK:
        return []
    simulation = Simulation(prepared)
    exact = simulation.run_on(samples, rounding=False)
    costs = [
        (min(snr_of_outputs(exact, _rounding(simulation, samples, held))), held) for held in chosen
    ]
    costs.sort(key=lambda pair: pair[0])
    nodes = [node for cost, held in costs if cost < enough for node in tried[id(held)]]
    return list(dict.fromkeys(nodes))


def _is_activation(node: Node) -> bool:
    is_constant = node.all_input_nodes[0].op == "get_attr"
    return not is_constant and not isinstance(observer_of(node), DerivedObserverOrFakeQuantize)


def _operators(held: Collection[Node]) -> list[Node]:
    """The operators that make and read tensors of one range; none if a layer or an input does."""
    makers = [node.all_input_nodes[0] for node in held]
    readers = [user for node in held for user in node.users if user.op != "output"]
    operators = list(dict.fromkeys([*makers, *readers]))
    is_alone = all(node.op == "call_function" and node.target not in LAYERS for node in operators)
    return operators if is_alone else []


def _rounding(
    simulation: Simulation, samples: Sequence[Sequence[Tensor]], held: Collection[Node]
) -> list[list[Tensor]]:
    def visit(node: Node, results: Results) -> Results:
        return [rounded(x, observer_of(node)) for x in results] if node in held else results

    return simulation.run_on(samples, rounding=False, visit=visit)
