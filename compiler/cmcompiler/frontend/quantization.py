"""Post-training quantisation with the Cortex-M quantizer. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from cmcompiler.errors import InvalidRequest, unsupported
from cmcompiler.frontend import backend, operators
from cmcompiler.frontend.buffers import WithBuffers, WithStates, mutable_buffers
from cmcompiler.frontend.call_sites import mark
from cmcompiler.frontend.passes.functionalization import without_writes
from cmcompiler.frontend.quantized import FloatOperator, OperatorCost, Quantized
from cmcompiler.frontend.rewrites import rewrite
from cmcompiler.frontend.sensitivity import layers

Inputs = tuple[Tensor, ...]


def quantize(
    module: torch.nn.Module,
    example_inputs: Inputs,
    calibration: Iterable[Inputs],
    is_portable: bool = False,
    *,
    sensitivity: bool = False,
) -> Quantized:
    """Exports a module, observes its activations on the calibration inputs, quantises it.

    Buffers that the module changes are its state, which carries over from one calibration input to
    the next.

    Args:
        module: used in eval mode and not modified.
        example_inputs: set the static shapes and dtypes of the inputs.
        calibration: inputs of the same shapes and dtypes, at least one.
        is_portable: keep to operators that ExecuTorch's runtime has.
        sensitivity: measure what quantising each operator alone costs.

    Raises:
        InvalidRequest: no calibration inputs, or some that do not fit or produce non-finite
            numbers.
        Unsupported: a module that torch.export or the quantizer cannot take.
    """
    calibration = list(calibration)
    inputs = tuple(map(channels_last, example_inputs))
    module = in_eval_mode(module)
    exported = _export(module, inputs)
    names = tuple(exported.graph_signature.user_inputs)
    buffers = mutable_buffers(module, inputs)
    states = tuple(map(channels_last, buffers.values()))
    if buffers:
        exported = _export(WithStates(module, tuple(buffers)), (*inputs, *states))
    operators.define()
    quantizer = backend.Quantizer(is_portable)
    with torch.no_grad():
        with unsupported("the Cortex-M quantizer"):
            graph = rewrite(without_writes(exported, len(states)), is_portable)
            call_sites = mark(graph.graph)
            prepared = prepare_pt2e(graph, quantizer)
        _observe(prepared, inputs, calibration, states)
        float_operators = tuple(_float_operators(prepared, quantizer.rejections()))
        costs: tuple[OperatorCost, ...] = ()
        if sensitivity:
            unfolded = convert_pt2e(deepcopy(prepared), fold_quantize=False)
            arranged = [tuple(map(channels_last, sample)) for sample in calibration]
            costs = layers(unfolded, call_sites, arranged, states)
        with unsupported("the Cortex-M quantizer"):
            converted = convert_pt2e(prepared)
        if buffers:
            converted = WithBuffers(converted, states)
        return Quantized(_export(converted, inputs), names, call_sites, float_operators, costs)


def channels_last(tensor: Tensor) -> Tensor:
    """A copy of an input in the memory layout that the program expects."""
    layout = torch.channels_last if tensor.ndim == 4 else torch.contiguous_format
    # With one channel, contiguous() would keep the strides, but the exported dim order depends on
    # them.
    return torch.empty(tensor.shape, dtype=tensor.dtype, memory_format=layout).copy_(tensor)


def in_eval_mode(module: torch.nn.Module) -> torch.nn.Module:
    """The module, or a copy if its mode is another."""
    # An exported graph has its mode traced in and refuses eval().
    if isinstance(module, GraphModule) or not any(part.training for part in module.modules()):
        return module
    return deepcopy(module).eval()


def _export(module: torch.nn.Module, inputs: Inputs) -> ExportedProgram:
    with unsupported("torch.export", "try torch.export.export(module, example_inputs) on its own"):
        return torch.export.export(module, inputs)


def _observe(
    prepared: GraphModule,
    example: Inputs,
    calibration: Sequence[Inputs],
    states: Inputs,
) -> None:
    expected = _describe(example)
    if not calibration:
        raise InvalidRequest("no calibration samples")
    for count, sample in enumerate(calibration, start=1):
        if _describe(sample) != expected:
            raise InvalidRequest(
                f"calibration sample {count} has {_describe(sample)}, the model takes {expected}"
            )
        try:
            results = prepared(*map(channels_last, sample), *states)
        except Exception as error:  # observers and the module's own operators raise anything
            reason = str(error).strip().partition("\n")[0]
            raise InvalidRequest(
                f"calibration sample {count}: {type(error).__name__}: {reason}",
                "the module must compute finite numbers from it",
            ) from error
        if states:
            _, states = results


def _describe(inputs: Sequence[Tensor]) -> str:
    return ", ".join(
        f"{str(x.dtype).removeprefix('torch.')} {'×'.join(map(str, x.shape))}" for x in inputs
    )


def _float_operators(prepared: GraphModule, reasons: dict[str, str]) -> Iterable[FloatOperator]:
    for node in prepared.graph.nodes:
        annotation = node.meta.get(Q_ANNOTATION_KEY)
        quantized = annotation is not None and annotation._annotated
        if node.op == "call_function" and not quantized and _computes_float(node):
            reason = reasons.get(node.name, "the quantizer does not support it")
            yield FloatOperator(node.name, str(node.target), reason)


def _computes_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.is_floating_point()
