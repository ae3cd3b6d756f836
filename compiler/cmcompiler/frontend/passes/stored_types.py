"""Tells passes the stored type of operands where operators refuse two. Importing it imports torch.

Between folding and the backend's own operators, passes compute a graph's types anew, and take the
result of a layer with an int32 bias for int32: a matrix product of one with an int8 tensor would be
an error there.
"""

from __future__ import annotations

from typing import Any

import torch
from executorch.backends.arm._passes import FoldAndAnnotateQParamsPass
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, NodeMetadata, PassResult
from torch.fx import GraphModule, Node

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]
LIBRARY.define("stored(Tensor x) -> Tensor")
torch.library.register_fake("cmbuild::stored", lambda x: torch.empty_like(x, dtype=torch.int8))

_STRICT = {
    *(exir_ops.edge.aten.bmm.default, exir_ops.edge.aten.scatter.src),
    exir_ops.edge.aten.index_put.default,
}
"""Operators that raise for elements of different types."""


class FoldMixedTypes(FoldAndAnnotateQParamsPass):  # type: ignore[misc]
    """Folds quantize and dequantize into strict operators, whose types it does not compute."""

    def call_operator(
        self, op: Any, args: Any, kwargs: Any, meta: NodeMetadata, updated: bool | None = False
    ) -> Any:
        if op in _STRICT and meta.data.get("input_qparams"):
            return self._call_quantized_op_without_fake_kernel(op, args, kwargs, meta)
        return super().call_operator(op, args, kwargs, meta, updated)


class TellStoredTypes(ExportPass):  # type: ignore[misc]
    """Puts an operator with an int8 result before strict ones. Runs after folding."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in list(graph_module.graph.nodes):
            if node.target not in _STRICT:
                continue
            for source in _elements(node):
                with graph_module.graph.inserting_before(node):
                    told = graph_module.graph.call_function(
                        exir_ops.edge.cmbuild.stored.default, (source,)
                    )
                told.meta["val"] = source.meta["val"].to(torch.int8)
                node.replace_input_with(source, told)
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


class DropStoredTypes(ExportPass):  # type: ignore[misc]
    """Removes what TellStoredTypes put in. Runs right before the backend's own operators."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in list(graph_module.graph.nodes):
            if node.target is exir_ops.edge.cmbuild.stored.default:
                node.replace_all_uses_with(node.all_input_nodes[0])
                graph_module.graph.erase_node(node)
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


def _elements(node: Node) -> list[Node]:
    """The int8 operands, without places."""
    quantized = node.meta.get("input_qparams", {})
    return [
        each
        for place, each in enumerate(node.args)
        if place in quantized and quantized[place].dtype == torch.int8 and isinstance(each, Node)
    ]
