"""Finds the places of extremes among int8 elements. Importing it imports torch."""

from __future__ import annotations

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch.fx import GraphModule, Node

_PLACES = {exir_ops.edge.aten.argmax.default, exir_ops.edge.aten.argmin.default}
_DEQUANTIZE = exir_ops.edge.cortex_m.dequantize_per_tensor.default


class FindPlacesInIntegers(ExportPass):  # type: ignore[misc]
    """Makes argmax and argmin read int8 in place of dequantised elements, which have one order."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.nodes:
            source = node.args[0] if node.target in _PLACES else None
            if isinstance(source, Node) and source.target is _DEQUANTIZE:
                node.args = (source.args[0], *node.args[1:])
                changed = True
        if changed:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, changed)
