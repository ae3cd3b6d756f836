"""Stores numbers in quantised tensors as the integers they stand for. Importing it imports torch.

The backend folds quantize and dequantize into the operators between them, and leaves the numbers
among their arguments as they are: `full_like(x, 0.5)` would fill an int8 tensor with 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from executorch.backends.arm._passes.quant_args import QuantArgs
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.pass_base import ExportPass, PassResult
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.backend import stored_number
from cmcompiler.frontend.passes.clamp_fusion import quantized_bounds

_ATEN = exir_ops.edge.aten

_FILLS = {
    *(_ATEN.full.default, _ATEN.full_like.default, _ATEN.fill.Scalar),
    _ATEN.scalar_tensor.default,
}
"""Operators whose only number is stored in every element of the result."""

_RECTIFIERS = {_ATEN.relu.default, _ATEN.hardtanh.default}

_INTEGERS = {
    *_FILLS,
    *(_ATEN.clamp.default, _ATEN.constant_pad_nd.default),
    *(_ATEN.eq.Scalar, _ATEN.ne.Scalar, _ATEN.ge.Scalar, _ATEN.gt.Scalar),
    *(_ATEN.le.Scalar, _ATEN.lt.Scalar),
}
"""Operators whose numbers are integers of the quantised tensor once all passes have run."""


_PADDING = "stored_padding"
"""Key of the metadata of an int16 pad: the integer that its margins have."""

_BOUNDS = "stored_bounds"
"""Key of the metadata of a clamp: the integers that it keeps tensors between."""


class StoreFills(ExportPass):  # type: ignore[misc]
    """Quantises what constant tensors are filled with. Runs after quantize is folded."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.nodes:
            _note_numbers(node)
            output = _output(node) if node.target in _FILLS else None
            if output is None:
                continue
            place = 0 if node.target is _ATEN.scalar_tensor.default else 1
            stored = stored_number(float(node.args[place]), output)
            node.args = (*node.args[:place], stored, *node.args[place + 1 :])
            if "dtype" in node.kwargs:
                node.kwargs = {**node.kwargs, "dtype": output.dtype}
            changed = True
        if not changed:
            return PassResult(graph_module, False)
        return PassResult(super().call(graph_module).graph_module, True)


class StoreBounds(ExportPass):  # type: ignore[misc]
    """Makes activations that the backend's pass has left alone clamps between integers.

    That pass does not see that an operand is int8 if the operator before it only moves elements.
    What int16 tensors are padded with or clamped to gets its upper bits again. Nor does it see an
    operand that is the larger or smaller of two, of which one is a root by table.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.nodes:
            if node.target is exir_ops.edge.cortex_m.pad.default and _PADDING in node.meta:
                node.args = (*node.args[:3], node.meta[_PADDING])
                changed = True
            output = _output(node) if node.target in _RECTIFIERS else None
            bounds = None if output is None else quantized_bounds(node, output)
            if node.target in {*_RECTIFIERS, _ATEN.clamp.default}:
                bounds = node.meta.get(_BOUNDS) or bounds
            if bounds is not None and not _has_bounds(node, *bounds):
                node.target, node.args = _ATEN.clamp.default, (node.args[0], *bounds)
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


class CheckNumbers(ExportPass):  # type: ignore[misc]
    """Refuses operators on quantised tensors with numbers that no pass has quantised.

    Runs last.

    Raises:
        Unsupported: naming the operator and the number.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        for node in graph_module.graph.nodes:
            if node.op != "call_function" or not _is_quantized(node):
                continue
            for name, number in _numbers(node):
                if node.target not in _INTEGERS or isinstance(number, float):
                    operator = node.target._schema.name
                    raise Unsupported(
                        f"{node.name}: {name}={number} of {operator} on integers",
                        "choose between tensors with torch.where instead",
                    )
        return PassResult(graph_module, False)


def _has_bounds(node: Node, least: int, largest: int) -> bool:
    """Whether a clamp has these bounds in integers already, of which it may leave out the ends."""
    output = _output(node)
    if node.target is not _ATEN.clamp.default or output is None:
        return False
    given = [*node.args[1:], None, None][:2]
    ends = zip(given, (output.qmin, output.qmax), strict=True)
    return [end if number is None else number for number, end in ends] == [least, largest]


def _note_numbers(node: Node) -> None:
    """Keeps the integers that a tensor is clamped to, and those that an int16 tensor is padded with
    or clamped to, which the backend's passes cut to 8 bits.
    """
    output = _output(node)
    if output is None:
        return
    if node.target is _ATEN.clamp.default and isinstance(output.scale, float):
        node.meta[_BOUNDS] = quantized_bounds(node, output)
    if output.dtype != torch.int16:
        return
    number = node.args[2] if len(node.args) > 2 else None
    if node.target is _ATEN.constant_pad_nd.default and isinstance(number, int | float):
        node.meta[_PADDING] = stored_number(float(number), output)
    if node.target in _RECTIFIERS:
        node.meta[_BOUNDS] = quantized_bounds(node, output)


def _output(node: Node) -> QuantArgs | None:
    outputs: dict[int, QuantArgs] = node.meta.get("output_qparams", {})
    return next(iter(outputs.values()), None)


def _is_quantized(node: Node) -> bool:
    """Whether an operator computes with integers that stand for numbers."""
    is_marked = node.meta.get("input_qparams") or node.meta.get("output_qparams")
    values = [each.meta.get("val") for each in (node, *node.all_input_nodes)]
    return bool(is_marked) and any(
        isinstance(value, Tensor) and value.dtype in (torch.int8, torch.int16) for value in values
    )


def _numbers(node: Node) -> Iterator[tuple[str, Any]]:
    """Arguments of an ATen operator that are in units of its tensors, by name."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.name.startswith("aten::"):
        return
    for position, argument in enumerate(schema.arguments):
        if str(argument.type) in ("number", "Optional[number]"):
            given = node.kwargs.get(argument.name)
            given = node.args[position] if position < len(node.args) else given
            if isinstance(given, int | float):
                yield argument.name, given
