"""Post-training quantisation with the Cortex-M quantizer. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e

from cmcompiler.frontend.bias_correction import drop_zero_biases
from cmcompiler.frontend.buffers import WithBuffers
from cmcompiler.frontend.intermediates import Note, ignore
from cmcompiler.frontend.layouts import channels_last, export
from cmcompiler.frontend.narrow_constants import hold_narrow
from cmcompiler.frontend.narrow_weights import hold_groups
from cmcompiler.frontend.precision import Patterns
from cmcompiler.frontend.preparation import Inputs, prepare
from cmcompiler.frontend.quantized import FloatGraph, OperatorCost, Quantized
from cmcompiler.frontend.sensitivity import layers
from cmcompiler.frontend.training import QuantizationAware
from cmcompiler.usercode import unsupported


def quantize(
    module: torch.nn.Module,
    example_inputs: Inputs,
    calibration: Iterable[Inputs],
    is_portable: bool = False,
    *,
    sensitivity: bool = False,
    parts: bool = False,
    refinement: bool = True,
    precision: Patterns = (),
    note: Note = ignore,
) -> Quantized:
    """Exports a module, observes its activations on the calibration inputs, quantises it.

    Buffers that the module changes are its state, which carries over from one calibration input to
    the next.

    Args:
        module: used in eval mode and not modified. A QuantizationAware brings its ranges along.
        example_inputs: set the static shapes and dtypes of the inputs.
        calibration: inputs of the same shapes and dtypes, at least one.
        is_portable: keep to operators that ExecuTorch's runtime has.
        sensitivity: measure what quantising each operator alone costs.
        parts: measure what each rounding of the parts that may differ in precision costs alone.
        precision: of modules, by patterns of their paths; int8 for all others.
        refinement: improve on the quantizer's own ranges, weights and biases where that pays.
        note: sees each stage.

    Raises:
        InvalidRequest: no calibration inputs, or some that do not fit or produce non-finite
            numbers.
        Unsupported: a module that torch.export or the quantizer cannot take.
    """
    calibration = list(calibration)
    if isinstance(module, QuantizationAware):
        prepared = module.prepared(example_inputs, is_portable, precision)
    else:
        prepared = prepare(
            module,
            example_inputs,
            calibration,
            is_portable,
            refinement=refinement,
            precision=precision,
            parts=parts,
            note=note,
        )
    graph, states = prepared.graph, prepared.states
    with torch.no_grad():
        drop_zero_biases(graph, prepared.zero_biases)
        hold_narrow(graph)
        costs: tuple[OperatorCost, ...] = ()
        if sensitivity:
            unfolded = convert_pt2e(deepcopy(graph), fold_quantize=False)
            arranged = [tuple(map(channels_last, sample)) for sample in calibration]
            costs = layers(unfolded, prepared.call_sites, arranged, states)
        # Converting replaces the ranges in place.
        real = FloatGraph(deepcopy(graph), states, prepared.rewritten)
        hold_groups(graph)
        with unsupported("the Cortex-M quantizer"):
            converted = convert_pt2e(graph)
        if states:
            converted = WithBuffers(converted, states)
        program = export(converted, prepared.inputs)
        note("quantised", program)
        return Quantized(
            program,
            prepared.input_names,
            prepared.output_names,
            prepared.call_sites,
            prepared.float_operators,
            real,
            holds_classes=prepared.holds_classes,
            is_sequence=bool(states),
            layers=costs,
            refinements=prepared.refinements,
            parts=prepared.parts,
        )
