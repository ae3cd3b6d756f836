"""Quantised numbers in another scale, not as floats in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cmcompiler.importer.boundary import is_movement, moved
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.op import Array, Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.binary import Binary, evaluate
from cmcompiler.ops.cast import Cast
from cmcompiler.ops.change_scale import WIDE, ChangeBytes, ChangeScale
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import Quantize
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.unary import Unary

SOURCES = (np.int8, np.uint8, np.int16, *WIDE)


@dataclass(frozen=True)
class _Floats:
    """Floats that are a function of integers, element by element.

    Attributes:
        values: of each number of a byte, by its bits from -128 on; None of other integers.
        real: the op that makes them, if it is one.
    """

    source: Tensor
    values: Array | None
    real: Op | None

    @staticmethod
    def of(node: Node) -> _Floats:
        (source,) = node.inputs
        values = None
        if source.dtype.itemsize == 1:
            (values,) = node.op.reference(EVERY.view(source.dtype))
        return _Floats(source, values, node.op)


def requantize_in_integers(graph: Graph) -> Graph:
    """Joins each quantize with the dequantize, or the conversion of integers to floats, before it.

    From byte to int8 by table, functions of one number in between with it, else by a multiplier:
    see ChangeScale. Movements of memory in between use integers. Nodes no
    longer needed stay in the graph.
    """
    floats: dict[Tensor, _Floats] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        known = floats.get(node.inputs[0]) if node.inputs else None
        made = node
        if isinstance(node.op, (Dequantize, Cast)) and node.inputs[0].dtype in SOURCES:
            floats[node.outputs[0]] = _Floats.of(node)
        elif isinstance(node.op, (Unary, Binary)):
            values = _function(node, floats)
            if values is not None:
                floats[node.outputs[0]] = values
        elif known is not None and is_movement(node.op):
            nodes.append(moved(node, known.source))
            floats[node.outputs[0]] = replace(known, source=nodes[-1].outputs[0])
        elif known is not None and isinstance(node.op, Quantize):
            op = _joined(known, node.op)
            made = node if op is None else replace(node, op=op, inputs=(known.source,))
        nodes.append(made)
    return replace(graph, nodes=tuple(nodes))


def _function(node: Node, floats: Mapping[Tensor, _Floats]) -> _Floats | None:
    """Values of a function of one source's floats and constants; None if it reads others."""
    known = [floats[tensor] for tensor in node.inputs if tensor in floats]
    if len({each.source for each in known}) != 1:
        return None
    (output,) = node.outputs
    operands = []
    for tensor in node.inputs:
        values = floats[tensor].values if tensor in floats else None
        if values is not None and tensor.shape == output.shape:
            operands.append(values)
        elif tensor.data is not None and tensor.numel == 1:
            operands.append(tensor.data.ravel())
        else:
            return None
    with np.errstate(all="ignore"):
        if isinstance(node.op, Unary):
            (values,) = node.op.reference(*operands)
        elif isinstance(node.op, Binary) and node.op.compute == node.op.dtype == np.float32:
            values = evaluate(node.op.function, *(x.astype(np.float32) for x in operands))
        else:
            return None
    return replace(known[0], values=values, real=None)


def _joined(floats: _Floats, quantize: Quantize) -> Op | None:
    """The op that computes a quantize of floats from their source."""
    if quantize.dtype == np.int8 and floats.values is not None:
        with np.errstate(all="ignore"):
            (table,) = quantize.reference(floats.values)
        return ChangeBytes(table.tobytes())
    if quantize.dtype not in (np.int8, np.int16) or floats.real is None:
        return None
    real = floats.real
    zero_point = real.zero_point if isinstance(real, Dequantize) else 0
    return ChangeScale.of(real, zero_point, floats.source.dtype, quantize)
