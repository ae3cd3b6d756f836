"""Numbers of one byte in another scale: by table, not as floats in between."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cmcompiler.importer.boundary import is_movement, moved
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.cast import Cast
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import Quantize
from cmcompiler.ops.support.affine import EVERY

NAME = "requantize"

BYTES = (np.int8, np.uint8)


def requantize_by_table(graph: Graph) -> Graph:
    """Makes each quantize of dequantised int8 numbers, or of bytes as floats, a table of the same.

    Movements of memory in between use bytes. Nodes no longer needed stay in the graph.
    """
    sources: dict[Tensor, tuple[Tensor, Op]] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        known = sources.get(node.inputs[0]) if node.inputs else None
        made = node
        if isinstance(node.op, (Dequantize, Cast)) and node.inputs[0].dtype in BYTES:
            sources[node.outputs[0]] = node.inputs[0], node.op
        elif known is not None and is_movement(node.op):
            nodes.append(moved(node, known[0]))
            sources[node.outputs[0]] = nodes[-1].outputs[0], known[1]
        elif known is not None and isinstance(node.op, Quantize) and node.op.dtype == np.int8:
            made = replace(node, op=_table(*known, node.op), inputs=known[:1])
        nodes.append(made)
    return replace(graph, nodes=tuple(nodes))


def _table(source: Tensor, real: Op, quantize: Quantize) -> Activation:
    """What the bytes of a source become, first as floats and then again as bytes."""
    (table,) = quantize.reference(*real.reference(EVERY.view(source.dtype)))
    return Activation(table.tobytes(), name=NAME)
