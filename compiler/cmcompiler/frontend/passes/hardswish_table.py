"""Makes a table of each standalone hardswish. Importing it imports torch."""

from __future__ import annotations

import numpy as np
import torch
from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.backends.transforms.utils import create_constant_placeholder
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule


class TabulateHardswish(ExportPass):  # type: ignore[misc]
    """Replaces the quantised hardswish that the backend's passes leave by a table lookup.

    The backend turns a hardswish after a convolution or linear layer into a product. Any other
    stays aten::hardswish on int8 numbers without its scales, which is wrong.
    """

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self._program = exported_program

    def call(self, graph_module: GraphModule) -> PassResult:
        graph, changed = graph_module.graph, False
        for node in list(graph.nodes):
            inputs, outputs = (node.meta.get(f"{side}_qparams") for side in ("input", "output"))
            if node.target != exir_ops.edge.aten.hardswish.default or not (inputs and outputs):
                continue
            # Constants precede the program's inputs.
            with graph.inserting_before(next(n for n in graph.nodes if n.op == "placeholder")):
                table = create_constant_placeholder(
                    self._program,
                    graph,
                    f"{node.name}_table",
                    InputKind.PARAMETER,
                    hardswish_table(inputs[0], outputs[0]),
                )
            node.target = exir_ops.edge.cortex_m.quantized_activation.default
            node.args = (node.args[0], table)
            changed = True
        if not changed:
            return PassResult(graph_module, False)
        # Running the graph updates the types of its nodes.
        return PassResult(super().call(graph_module).graph_module, True)


def hardswish_table(source: QuantArgs, result: QuantArgs) -> torch.Tensor:
    """Results for -128 to 127, int8 [256]; rounds halves away from zero, as the backend does."""
    x = (np.arange(-128, 128) - int(source.zp)) * float(source.scale)
    steps = x * np.clip(x + 3, 0, 6) / 6 / float(result.scale) + int(result.zp)
    rounded = np.copysign(np.floor(np.abs(steps) + 0.5), steps)
    return torch.from_numpy(np.clip(rounded, -128, 127).astype(np.int8))
