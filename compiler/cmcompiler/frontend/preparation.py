"""Prepares modules for post-training quantisation. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from operator import getitem

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend import backend, operators
from cmcompiler.frontend.accumulators import make_room_for_biases
from cmcompiler.frontend.annotations import annotated
from cmcompiler.frontend.bias_correction import add_biases
from cmcompiler.frontend.buffers import WithStates, mutable_buffers
from cmcompiler.frontend.calibration import shuffles
from cmcompiler.frontend.call_sites import CallSite, mark, mark_again, marked
from cmcompiler.frontend.chosen_precision import check_patterns, module_paths
from cmcompiler.frontend.chosen_ranges import ChoiceWatch
from cmcompiler.frontend.copies import in_eval_mode
from cmcompiler.frontend.divisors import REASON as DIVIDED
from cmcompiler.frontend.divisors import divide_in_float
from cmcompiler.frontend.feedback import REASON, keep_feedback
from cmcompiler.frontend.gate_ranges import REASON as BEYOND
from cmcompiler.frontend.gate_ranges import unroll_beyond, watch_gates
from cmcompiler.frontend.image_means import image_means
from cmcompiler.frontend.intermediates import Note, ignore
from cmcompiler.frontend.joined_operands import joined_operands
from cmcompiler.frontend.joined_outputs import REASON as JOINED
from cmcompiler.frontend.joined_outputs import join_in_float, joined_outputs
from cmcompiler.frontend.jumping_functions import REASON as JUMPING
from cmcompiler.frontend.jumping_functions import jump_in_float
from cmcompiler.frontend.layouts import channels_last, export_channels_last
from cmcompiler.frontend.observations import hold_ranges
from cmcompiler.frontend.outputs import holds_classes, names_of_outputs, with_plain_outputs
from cmcompiler.frontend.own_ranges import GroupWatch, observer_of
from cmcompiler.frontend.part_costs import part_costs
from cmcompiler.frontend.parts import ModelParts
from cmcompiler.frontend.passes.functionalization import without_writes
from cmcompiler.frontend.precision import Patterns
from cmcompiler.frontend.quantized import FloatOperator, Refinement
from cmcompiler.frontend.refinement import Refiner
from cmcompiler.frontend.refusals import refuse
from cmcompiler.frontend.rewrites.fixed_ranges import CASTS
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.rewrites.sampled import note_samples
from cmcompiler.frontend.rewrites.sentinels import limit_states, note_values
from cmcompiler.frontend.softmax_ranges import choose_softmax_ranges, watch_softmaxes
from cmcompiler.frontend.state_ranges import choose_state_ranges, watch_states
from cmcompiler.frontend.unstorable import REASON as UNSTORABLE
from cmcompiler.frontend.unstorable import Calibration, CalibrationRun, keep_unstorable
from cmcompiler.frontend.whole_numbers import hold_whole_numbers
from cmcompiler.usercode import place_of, reason_of, unsupported

Inputs = tuple[Tensor, ...]

_aten = torch.ops.aten

_SHORT = (torch.uint8, torch.int8, torch.int16)
_WIDE = (torch.int32, torch.int64)

_FEWEST_RUNS = 8
"""Runs of a model with states, for their ranges; no more than samples that are made up, as it may
end after some.
"""


@dataclass(frozen=True, eq=False, slots=True)
class Prepared:
    """A graph in float that holds a range for each tensor to be quantised.

    Attributes:
        graph: takes inputs and states, returns outputs and, if there are states, their new values.
        inputs: examples, channels-last.
        input_names: parameter names of the module's forward().
        output_names: keys and fields of what forward() returns: see names_of_outputs.
        holds_classes: whether the only output has one number a class.
        states: initial values of the buffers that the module changes.
        call_sites: of the nodes of the graph, by name.
        zero_biases: names of layers that had no bias.
        refinements: in the order in which they were made.
        rewritten: the graph before it was prepared; None if that is not the module any more.
        parts: that may differ in precision, if asked for.
    """

    graph: GraphModule
    inputs: Inputs
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    holds_classes: bool
    states: Inputs
    call_sites: dict[str, CallSite]
    float_operators: tuple[FloatOperator, ...]
    zero_biases: frozenset[str]
    refinements: tuple[Refinement, ...]
    rewritten: GraphModule | None
    parts: ModelParts | None = None


def prepare(
    module: torch.nn.Module,
    example_inputs: Inputs,
    calibration: Iterable[Inputs],
    is_portable: bool = False,
    *,
    refinement: bool = True,
    precision: Patterns = (),
    parts: bool = False,
    note: Note = ignore,
) -> Prepared:
    """Exports a module, rewrites its graph and observes its activations.

    Arguments and errors are those of `cmcompiler.frontend.quantization.quantize`.
    """
    inputs, module = tuple(map(channels_last, example_inputs)), in_eval_mode(module)
    exported = export_channels_last(module, inputs)
    names = tuple(exported.graph_signature.user_inputs)
    output_names, is_choice = names_of_outputs(exported), holds_classes(exported)
    buffers = mutable_buffers(module, example_inputs)
    calibration = _sequence(list(calibration)) if buffers else list(calibration)
    states = tuple(map(channels_last, buffers.values()))
    if buffers:
        exported = export_channels_last(WithStates(module, tuple(buffers)), (*inputs, *states))
    check_patterns(precision, {*dict(module.named_modules()), *module_paths(exported.graph)})
    note("exported", exported)
    operators.define()
    quantizer = backend.Quantizer(is_portable, precision)
    with torch.no_grad():
        with unsupported("the Cortex-M quantizer"):
            graph = rewrite(_plain(exported, calibration, states), is_portable, precision)
            states = limit_states(graph, states)
            zero_biases = add_biases(graph)
            note("rewritten", graph)
            rewritten, call_sites = _copy(graph), mark(graph.graph)
        refuse(graph, call_sites)
        with unsupported("the Cortex-M quantizer"):
            prepared = prepare_pt2e(graph, quantizer)
            note("annotated", annotated(prepared))
        watch = GroupWatch(prepared)
        means = () if is_portable else tuple(image_means(prepared, watch))
        operands, outputs = joined_operands(prepared, watch), joined_outputs(prepared, watch)
        choices = ChoiceWatch(prepared, watch, is_portable=is_portable)
        meters, gates = watch_states(prepared), watch_gates(prepared)
        probabilities = () if is_portable else watch_softmaxes(prepared)
        shown = _observe(prepared, inputs, calibration, states)
        choose_state_ranges(prepared, meters, len(states))
        choose_softmax_ranges(prepared, probabilities)
        watch.end()
        if unrolled := unroll_beyond(prepared, gates, len(states)):
            shown = _observe(prepared, inputs, calibration, states)
        kept = keep_unstorable(prepared, shown, call_sites)
        observations = hold_whole_numbers(prepared, hold_ranges(prepared))
        refinements: tuple[Refinement, ...] = ()
        reasons = {
            **quantizer.rejections(),
            **dict.fromkeys(unrolled, BEYOND),
            **dict.fromkeys(kept, UNSTORABLE),
            **dict.fromkeys(divide_in_float(prepared, shown.samples, len(states)), DIVIDED),
            **dict.fromkeys(jump_in_float(prepared), JUMPING),
        }
        if refinement:
            reasons |= {
                **dict.fromkeys(keep_feedback(prepared, shown.samples, len(states)), REASON),
                **dict.fromkeys(join_in_float(prepared, outputs), JOINED),
            }
            choices.give_own_ranges()
            observations = hold_whole_numbers(prepared, observations)
            refiner = Refiner(prepared, shown.samples, len(states))
            refinements = refiner.refine(observations, means, operands)
            reasons.update(refiner.in_float)
        mark_again((node for node in prepared.graph.nodes if node.name in reasons), call_sites)
        make_room_for_biases(prepared)
    return Prepared(
        prepared,
        inputs,
        names,
        output_names,
        is_choice,
        states,
        call_sites,
        tuple(_float_operators(prepared, reasons)),
        zero_biases,
        refinements,
        rewritten,
        part_costs(prepared, call_sites, shown.samples, len(states)) if parts else None,
    )


def _plain(exported: ExportedProgram, calibration: Sequence[Inputs], states: Inputs) -> GraphModule:
    """A graph without writes, with what its rewrites may know of its inputs."""
    graph = without_writes(exported, len(states))
    with_plain_outputs(graph, len(states))
    note_values(graph, calibration)
    note_samples(graph, [(*sample, *states) for sample in calibration])
    return graph


def _copy(graph: GraphModule) -> GraphModule:
    """Another graph of the same parameters and buffers, which nothing changes."""
    held = (*graph.parameters(), *graph.buffers())
    return deepcopy(graph, {id(tensor): tensor for tensor in held})


def _sequence(calibration: list[Inputs]) -> list[Inputs]:
    """Inputs of one run, which shows states as they start only, most often 0, for several."""
    if len(calibration) != 1:
        return calibration
    (inputs,) = calibration
    if all(x.is_floating_point() for x in inputs):
        return shuffles(inputs, _FEWEST_RUNS, seed=0)
    return [inputs] * _FEWEST_RUNS


def _observe(
    prepared: GraphModule,
    example: Inputs,
    calibration: Sequence[Inputs],
    states: Inputs,
) -> Calibration:
    """Shows the calibration inputs to the observers."""
    check_calibration(calibration, example)
    prepared.recompile()
    run = CalibrationRun(prepared)
    observed: list[Inputs] = []
    for count, sample in enumerate(calibration, start=1):
        observed.append((*map(channels_last, sample), *states))
        try:
            results = run.run_on(observed[-1])
        except Exception as error:  # observers and the module's own operators raise anything
            place = place_of(error)
            at = f"{place}: " if place else ""
            raise InvalidRequest(
                f"{at}calibration sample {count}: {type(error).__name__}: {reason_of(error)}",
                "the module must take each calibration input, such as tokens inside of their table",
            ) from error
        if states:
            _, states = results
    return Calibration(run, observed, len(states))


def check_calibration(calibration: Sequence[Inputs], example: Inputs) -> None:
    """
    Raises:
        InvalidRequest: no calibration inputs, or one of another shape or type than the example.
    """
    expected = describe(example)
    if not calibration:
        raise InvalidRequest("no calibration samples")
    for count, sample in enumerate(calibration, start=1):
        if describe(sample) != expected:
            raise InvalidRequest(
                f"calibration sample {count} has {describe(sample)}, the model takes {expected}"
            )


def describe(inputs: Sequence[Tensor]) -> str:
    """Types and shapes, `float32 1×3×8×8`."""
    return ", ".join(
        f"{str(x.dtype).removeprefix('torch.')} {'×'.join(map(str, x.shape))}" for x in inputs
    )


def _float_operators(prepared: GraphModule, reasons: dict[str, str]) -> Iterable[FloatOperator]:
    for node in prepared.graph.nodes:
        annotation = node.meta.get(Q_ANNOTATION_KEY)
        quantized = annotation is not None and annotation._annotated
        is_float = node.op == "call_function" and not quantized and _computes_float(node)
        if is_float and not _is_joined(node):
            reason = reasons.get(node.name, "the quantizer does not support it")
            name = "getitem" if node.target is getitem else str(node.target)
            yield FloatOperator(marked(node) or node.name, name, reason)


def _is_joined(node: Node) -> bool:
    """Whether integers become floats that nothing but observers reads, as those of an image or a
    mask: the conversion and the quantize become one.
    """
    source = next(iter(node.all_input_nodes), None)
    value = None if source is None else source.meta.get("val")
    dtype = value.dtype if isinstance(value, Tensor) else None
    if node.target not in CASTS or dtype not in (*_SHORT, *_WIDE):
        return False
    return all(_is_cut(user, dtype in _WIDE) for user in node.users)


def _is_cut(observed: Node, is_wide: bool) -> bool:
    """Whether an observer's range ends within int16, beyond which wide integers are cut."""
    if observed.op != "call_module":
        return False
    if not is_wide:
        return True
    scale, zero_point = (float(each) for each in observer_of(observed).calculate_qparams())
    bounds = torch.iinfo(observer_of(observed).dtype)
    ends = ((end - zero_point) * scale for end in (bounds.min, bounds.max))
    return all(abs(end) <= torch.iinfo(torch.int16).max for end in ends)


def _computes_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, Tensor) and value.is_floating_point()
