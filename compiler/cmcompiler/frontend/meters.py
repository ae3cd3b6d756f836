"""Meters, which see what operators compute while a prepared graph runs on calibration inputs.

Importing it imports torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch.fx import GraphModule, Node
from torch.nn import Module

from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.editing import owner


def insert_meter(meter: Module, node: Node, arguments: Sequence[Any]) -> None:
    """Has a meter called right after a node.

    Args:
        arguments: what it is called with; nodes among them stand for their values.
    """
    name = f"{node.name}_{type(meter).__name__}"
    owner(node).add_submodule(name, meter)
    with node.graph.inserting_after(node):
        node.graph.call_module(name, tuple(arguments))


def remove_meters(prepared: GraphModule, kind: type[Module]) -> None:
    """Removes all meters of a class."""
    for node in list(prepared.graph.nodes):
        if node.op == "call_module" and isinstance(observer_of(node), kind):
            prepared.graph.erase_node(node)
            prepared.delete_submodule(str(node.target))
