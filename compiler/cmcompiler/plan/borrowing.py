"""Small layers of a single row that take the product loops of others: their own are not linked."""

from __future__ import annotations

from dataclasses import replace

from cmcompiler.ir.graph import Graph
from cmcompiler.isa import Isa

SHARE = 1000
"""The layers have at most one in so many of the graph's multiply-accumulates: loops of several
rows take them two to three times as long."""


def borrow(graph: Graph, isa: Isa) -> Graph:
    """The graph with such layers, if all of one row are small, and the others have their loops."""
    changed = {
        index: replace(node, op=node.op.as_several_rows)
        for index, node in enumerate(graph.nodes)
        if node.op.as_several_rows is not node.op
    }
    macs = sum(node.op.macs for node in changed.values())
    if not changed or SHARE * macs > sum(node.op.macs for node in graph.nodes):
        return graph
    lent = {node.op.product_of_rows(isa) for node in graph.nodes}
    if not all(node.op.product_of_rows(isa) in lent for node in changed.values()):
        return graph
    nodes = tuple(changed.get(index, node) for index, node in enumerate(graph.nodes))
    return replace(graph, nodes=nodes)
