"""Lowers linear layers whose output channels have a scale each. Importing it imports torch."""

from __future__ import annotations

import torch
from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.backends.transforms.utils import create_constant_placeholder
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node

from cmcompiler.frontend.quantized_op import fixed_point


class LowerChannelLinears(ExportPass):  # type: ignore[misc]
    """Replaces them by cmbuild::channel_linear_s8; the backend has none but for a scale of all."""

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self._program = exported_program

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in list(graph_module.graph.nodes):
            inputs: dict[int, QuantArgs] = node.meta.get("input_qparams") or {}
            is_linear = node.target is exir_ops.edge.aten.linear.default
            if is_linear and 1 in inputs and inputs[1].per_channel:
                self._lower(node, inputs[0], inputs[1], node.meta["output_qparams"][0])
                changed = True
        graph_module.recompile()
        return PassResult(graph_module, changed)

    def _lower(self, node: Node, source: QuantArgs, weights: QuantArgs, result: QuantArgs) -> None:
        scales = torch.tensor(weights.scale, dtype=torch.float64).flatten().tolist()
        pairs = [fixed_point(source.scale * scale / result.scale) for scale in scales]
        multipliers, shifts = torch.tensor(pairs, dtype=torch.int32).T.contiguous()
        x, weight, bias = (*node.args, None)[:3]
        node.args = (
            *(x, weight, bias, -source.zp, result.zp),
            self._constant(node, f"{node.name}_multipliers", multipliers),
            self._constant(node, f"{node.name}_shifts", shifts),
            *(result.qmax, result.qmin),
        )
        node.target = exir_ops.edge.cmbuild.channel_linear_s8.default

    def _constant(self, node: Node, name: str, value: torch.Tensor) -> Node:
        # Constants precede the program's inputs.
        first = next(n for n in node.graph.nodes if n.op == "placeholder")
        with node.graph.inserting_before(first):
            made: Node = create_constant_placeholder(
                self._program, node.graph, name, InputKind.PARAMETER, value
            )
        return made
