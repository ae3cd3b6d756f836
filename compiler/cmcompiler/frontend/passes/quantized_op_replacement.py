"""Replaces operators with a registered lowering. Importing it imports torch."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from executorch.backends.arm._passes.arm_pass_utils import get_param_tensor
from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.backends.transforms.utils import create_constant_placeholder
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch import Tensor
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.quantized_op import (
    QUANTIZED,
    Computed,
    QuantizedCall,
    Replacement,
    first_result,
)
from cmcompiler.ir.quantization import Quantization
from cmcompiler.usercode import blaming

_ORIGIN = ("stack_trace", "nn_module_stack", "source_fn_stack", "from_node")


class ReplaceQuantizedOps(ExportPass):  # type: ignore[misc]
    """Replaces operators registered with `quantized_op` by their lowering.

    Runs after the backend has replaced its operators: before that, running the graph gives tensors
    between convolutions that are not int8.
    """

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self._program = exported_program

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in list(graph_module.graph.nodes):
            # The torch operator behind the edge dialect's.
            operator = getattr(node.target, "_op", None)
            if operator in QUANTIZED:
                self._replace(node, _lowered(node, operator, self._program))
                changed = True
        if not changed:
            return PassResult(graph_module, False)
        # Running the graph updates the types of its nodes.
        return PassResult(super().call(graph_module).graph_module, True)

    def _replace(self, node: Node, replacement: Replacement) -> None:
        operator, arguments = replacement
        node.target = _edge(operator)
        node.args = tuple(
            self._argument(node, f"{node.name}_constant_{position}", argument)
            for position, argument in enumerate(arguments)
        )

    def _argument(self, node: Node, name: str, argument: Any) -> Any:
        if isinstance(argument, Tensor):
            return self._constant(node, name, argument)
        if not isinstance(argument, Computed):
            return argument
        given = tuple(
            self._argument(node, f"{name}_{position}", each)
            for position, each in enumerate(argument.arguments)
        )
        with node.graph.inserting_before(node):
            made: Node = node.graph.call_function(_edge(argument.operator), given)
        made.meta.update({key: node.meta[key] for key in _ORIGIN if key in node.meta})
        return made

    def _constant(self, node: Node, name: str, value: Tensor) -> Node:
        # Constants precede the program's inputs.
        first = next(n for n in node.graph.nodes if n.op == "placeholder")
        with node.graph.inserting_before(first):
            made: Node = create_constant_placeholder(
                self._program, node.graph, name, InputKind.PARAMETER, value.detach()
            )
        return made


def _edge(operator: OpOverload) -> Any:
    """The edge dialect's operator for torch's."""
    namespace, _, name = operator._schema.name.partition("::")
    return getattr(getattr(getattr(exir_ops.edge, namespace), name), operator._overloadname)


def _lowered(node: Node, operator: OpOverload, program: ExportedProgram) -> Replacement:
    registered = QUANTIZED[operator]
    inputs: dict[int, QuantArgs] = node.meta.get("input_qparams", {})
    outputs: dict[int, QuantArgs] = first_result(node).meta.get("output_qparams", {})
    if node.kwargs or not outputs:
        reason = "takes arguments by name" if node.kwargs else "has no int8 result"
        raise Unsupported(f"{node.name}: {operator} {reason}, so it cannot be quantised")
    constants = {
        position: get_param_tensor(program, node.args[position])
        for position in registered.constants
        if position < len(node.args) and isinstance(node.args[position], Node)
    }
    call = QuantizedCall(
        node.args,
        {position: _quantization(qargs) for position, qargs in inputs.items()},
        _quantization(next(iter(outputs.values()))),
        constants,
    )
    with blaming(Path(inspect.getfile(registered.lowering))):
        return registered.lowering(call)


def _quantization(qargs: QuantArgs) -> Quantization:
    return Quantization(float(qargs.scale), int(qargs.zp), qargs.qmin, qargs.qmax)
