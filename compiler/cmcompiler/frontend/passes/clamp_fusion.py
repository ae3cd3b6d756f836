"""Fuses activations that use only part of their int8 range. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch.fx import GraphModule, Node

from cmcompiler.frontend.backend import activation_bounds, stored_number

_ACTIVATIONS = {
    exir_ops.edge.aten.relu.default,
    exir_ops.edge.aten.hardtanh.default,
    exir_ops.edge.aten.clamp.default,
}
_CLAMPED = {
    exir_ops.edge.aten.convolution.default,
    exir_ops.edge.aten.linear.default,
    exir_ops.edge.aten.add.Tensor,
    exir_ops.edge.aten.sub.Tensor,
}


class FuseClamps(ExportPass):  # type: ignore[misc]
    """Makes an activation the output range of the operator before it.

    The backend's pass does so only if the activation's range is all of int8. If its scale is shared
    with values outside of it, for example between the operands of a cat, that pass leaves the
    operator before it without quantisation parameters, on int8 operands. Every operator here clamps
    its output, so the fused pair computes the same. Runs after quantize and dequantize are folded.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in list(graph_module.graph.nodes):
            if node.target not in _ACTIVATIONS:
                continue
            clamped = _clamped(node)
            if clamped is not None:
                producer = node.args[0]
                producer.meta["output_qparams"] = {0: clamped}
                node.replace_all_uses_with(producer)
                graph_module.graph.erase_node(node)
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


def _clamped(node: Node) -> QuantArgs | None:
    """An activation's int8 quantisation with its bounds, if its producer can clamp."""
    fused = fusible(node, _CLAMPED)
    if fused is None:
        return None
    _, output = fused
    bounds = quantized_bounds(node, output)
    return None if bounds is None else output._replace(qmin=bounds[0], qmax=bounds[1])


def fusible(node: Node, producers: Container[Any]) -> tuple[Node, QuantArgs] | None:
    """The operator whose output range an activation may become, and that range."""
    producer = node.args[0]
    if not isinstance(producer, Node) or producer.target not in producers:
        return None
    # With its own parameters the producer rounds before the activation.
    own = producer.meta.get("output_qparams")
    if len(producer.users) > 1 or not producer.meta.get("input_qparams") or own:
        return None
    outputs: dict[int, QuantArgs] = node.meta.get("output_qparams", {})
    if not outputs or not isinstance(outputs[0].scale, float):
        return None
    return producer, outputs[0]


def quantized_bounds(activation: Node, output: QuantArgs) -> tuple[int, int] | None:
    """The integer bounds of an activation's output; None if not known."""
    bounds = activation_bounds(activation)
    if bounds is None:
        return None
    least, largest = bounds
    return (
        output.qmin if least is None else stored_number(least, output),
        output.qmax if largest is None else stored_number(largest, output),
    )
