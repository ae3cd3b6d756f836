"""Quantised numbers in another scale, not as floats in between."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cmcompiler.importer.boundary import is_movement, moved
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.cast import Cast
from cmcompiler.ops.change_scale import ChangeBytes, ChangeScale
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import Quantize
from cmcompiler.ops.support.affine import EVERY

SOURCES = (np.int8, np.uint8, np.int16)


def requantize_in_integers(graph: Graph) -> Graph:
    """Joins each quantize with the dequantize, or the conversion of integers to floats, before it.

    From byte to int8 by table, else by a multiplier, if that gives the same for all numbers.
    Movements of memory in between use integers. Nodes no longer needed stay in the graph.
    """
    sources: dict[Tensor, tuple[Tensor, Op]] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        known = sources.get(node.inputs[0]) if node.inputs else None
        made = node
        if isinstance(node.op, (Dequantize, Cast)) and node.inputs[0].dtype in SOURCES:
            sources[node.outputs[0]] = node.inputs[0], node.op
        elif known is not None and is_movement(node.op):
            nodes.append(moved(node, known[0]))
            sources[node.outputs[0]] = nodes[-1].outputs[0], known[1]
        elif known is not None and isinstance(node.op, Quantize):
            op = _joined(*known, node.op)
            made = node if op is None else replace(node, op=op, inputs=known[:1])
        nodes.append(made)
    return replace(graph, nodes=tuple(nodes))


def _joined(source: Tensor, real: Op, quantize: Quantize) -> Op | None:
    """The op that computes a quantize of numbers that another op makes of a source."""
    if quantize.dtype == np.int8 and source.dtype.itemsize == 1:
        with np.errstate(all="ignore"):
            (table,) = quantize.reference(*real.reference(EVERY.view(source.dtype)))
        return ChangeBytes(table.tobytes())
    if quantize.dtype not in (np.int8, np.int16):
        return None
    zero_point = real.zero_point if isinstance(real, Dequantize) else 0
    return ChangeScale.equal_to(real, zero_point, source.dtype, quantize)
