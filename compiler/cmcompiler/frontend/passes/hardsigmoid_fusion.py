"""Fuses hardsigmoids into the layers before them, to a fraction of a step.

Importing it imports torch.
"""

from __future__ import annotations

import torch
from executorch.backends.arm._passes.arm_pass_utils import get_param_tensor
from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.backends.transforms.utils import create_constant_placeholder
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node

from cmcompiler.frontend.gates import SLOPE, gate_of
from cmcompiler.frontend.passes.clamp_fusion import fusible, quantized_bounds

_ATEN = exir_ops.edge.aten
_LAYERS = {_ATEN.convolution.default, _ATEN.linear.default}


class FuseHardsigmoids(ExportPass):  # type: ignore[misc]
    """Makes x / 6 + 0.5 the scale, the zero point and a part of the bias of the layer before it.

    The backend's pass rounds 0.5 to steps of the result, and keeps the zero point within int8, so
    that all results are off by the rest. Here the bias has the rest. Runs after quantize and
    dequantize are folded.
    """

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self._program = exported_program

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in list(graph_module.graph.nodes):
            if node.target is not _ATEN.hardsigmoid.default:
                continue
            fused = fusible(node, _LAYERS)
            if fused is not None:
                self._fuse(node, *fused)
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)

    def _fuse(self, node: Node, layer: Node, output: QuantArgs) -> None:
        bounds = quantized_bounds(node, output)
        assert bounds is not None
        gate = gate_of(output.scale, output.zp)
        self._add_to_bias(layer, gate.rest)
        layer.meta["output_qparams"] = {
            0: output._replace(
                scale=output.scale * SLOPE, zp=gate.zero_point, qmin=bounds[0], qmax=bounds[1]
            )
        }
        node.replace_all_uses_with(layer)
        node.graph.erase_node(node)

    def _add_to_bias(self, layer: Node, value: float) -> None:
        given = layer.meta["input_qparams"]
        step = torch.as_tensor(given[1].scale, dtype=torch.float64) * float(given[0].scale)
        added = torch.round(value / step).to(torch.int32)
        if not added.any():
            return
        bias = layer.args[2] if len(layer.args) > 2 else None
        held = get_param_tensor(self._program, bias) if isinstance(bias, Node) else None
        if held is None:
            held = torch.zeros(_channels(layer), dtype=torch.int32)
        made = self._constant(layer, held + added)
        layer.args = (*layer.args[:2], made, *layer.args[3:])

    def _constant(self, layer: Node, value: Tensor) -> Node:
        # Constants precede the program's inputs.
        first = next(n for n in layer.graph.nodes if n.op == "placeholder")
        with layer.graph.inserting_before(first):
            made: Node = create_constant_placeholder(
                self._program, layer.graph, f"{layer.name}_gate", InputKind.PARAMETER, value
            )
        return made


def _channels(layer: Node) -> int:
    shape = layer.meta["val"].shape
    return int(shape[-1] if layer.target is _ATEN.linear.default else shape[1])
