"""Replaces quantised user operators in a program. Importing it imports torch."""

from __future__ import annotations

import inspect
from pathlib import Path

from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.quantized_op import QUANTIZED, QuantizedCall
from cmcompiler.ir.quantization import Quantization
from cmcompiler.usercode import blaming


class ReplaceQuantizedOps(ExportPass):  # type: ignore[misc]
    """Replaces operators registered with `quantized_op` by their lowering.

    Runs after quantize and dequantize are folded.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.nodes:
            # The torch operator behind the edge dialect's.
            operator = getattr(node.target, "_op", None)
            if operator in QUANTIZED:
                _replace(node, operator)
                changed = True
        if not changed:
            return PassResult(graph_module, False)
        # Running the graph updates the types of its nodes.
        return PassResult(super().call(graph_module).graph_module, True)


def _replace(node: Node, own: OpOverload) -> None:
    inputs: dict[int, QuantArgs] = node.meta.get("input_qparams", {})
    outputs: dict[int, QuantArgs] = node.meta.get("output_qparams", {})
    if node.kwargs or not outputs:
        reason = "takes arguments by name" if node.kwargs else "has no int8 result"
        raise Unsupported(f"{node.name}: {own} {reason}, so it cannot be quantised")
    call = QuantizedCall(
        node.args,
        {position: _quantization(found) for position, found in inputs.items()},
        _quantization(next(iter(outputs.values()))),
    )
    lowering = QUANTIZED[own]
    with blaming(Path(inspect.getfile(lowering))):
        operator, arguments = lowering(call)
    namespace, _, name = operator._schema.name.partition("::")
    packet = getattr(getattr(exir_ops.edge, namespace), name)
    node.target = getattr(packet, operator._overloadname)
    node.args = tuple(arguments)


def _quantization(found: QuantArgs) -> Quantization:
    return Quantization(float(found.scale), int(found.zp), found.qmin, found.qmax)
