"""The compiler as a library: compiles, saves, loads, plans and evaluates programs.

Importing this module does not import torch; `compile` and `quantization_aware` do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.frontend.call_sites import with_lines
from cmcompiler.frontend.fidelity.record import ProgramFidelity
from cmcompiler.frontend.precision import (
    ACTIVATIONS,
    WEIGHTS,
    Pattern,
    everywhere,
    read_precision,
)
from cmcompiler.frontend.quantized import FloatOperator
from cmcompiler.frontend.quiet import quiet
from cmcompiler.frontend.user_model import tensors
from cmcompiler.frontend.vectors import Samples
from cmcompiler.importer.build import build_graph
from cmcompiler.importer.programs import parse
from cmcompiler.importer.pruning import pruned
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.isa import Isa
from cmcompiler.plan.options import SMALLEST, PlanOptions
from cmcompiler.plan.plan import Plan, PlanStep
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.program import Program
from cmcompiler.target import Target
from cmcompiler.usercode import ITSELF, unsupported

if TYPE_CHECKING:
    import torch

    from cmcompiler.frontend.training import QuantizationAware

_VECTORS = 8
_ALONE = ProgramFidelity(reason="a program alone has no float model")


@dataclass(frozen=True, slots=True)
class Placement:
    """The kernel that runs one operator of a program.

    Attributes:
        op: short name, `conv2d 1×1`.
        source: operator and instruction in the program, `cortex_m::pad.out #12`.
        kernels: C functions in call order; empty for a view.
        isa: the highest instruction set that their inner loops are written for.
        reason: why it runs in float or without the target's instruction set; else None.
    """

    op: str
    source: str
    kernels: tuple[str, ...]
    isa: Isa
    reason: str | None


@dataclass(frozen=True, slots=True)
class Signature:
    """An input or output as the caller sees it.

    Attributes:
        name: the argument of forward() for an input, or `input_0`, … if loaded; `output_0`, … for
            an output.
        shape: logical, torch's `x.shape`.
        layout: in memory: `contiguous`, `channels-last`, or the order of the dimensions.
        dtype: of its elements.
        scale, zero_point: of the int8 tensor inside, real = scale · (stored - zero_point); None if
            not quantised.
    """

    name: str
    shape: tuple[int, ...]
    layout: str
    dtype: np.dtype[Any]
    scale: float | None
    zero_point: int | None


@dataclass(frozen=True, slots=True)
class Contract:
    """The inputs and outputs of a program."""

    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled module, or a program that was loaded.

    Attributes:
        pte: the ExecuTorch program; of a `.tflite` that was loaded, its bytes.
        program: the same, typed.
        graph: its operators and tensors; plans leave out channels that change no output.
        placement: of every operator, in execution order.
        vectors: up to 8 of the calibration inputs, for verification; None if loaded.
        fidelity: of every layer to the module, on the vectors; of nothing if loaded.
        notes: what people should know of how the module was read.
    """

    pte: bytes = field(repr=False)
    program: Program = field(repr=False)
    graph: Graph = field(repr=False)
    target: Target
    placement: tuple[Placement, ...]
    contract: Contract
    vectors: Samples | None = field(repr=False)
    fidelity: ProgramFidelity = field(default=_ALONE, repr=False)
    notes: tuple[str, ...] = ()


def compile(
    module: torch.nn.Module,
    example_inputs: torch.Tensor | Sequence[torch.Tensor],
    calibration: Iterable[torch.Tensor | Sequence[torch.Tensor]] | None = None,
    target: str | Target = "cortex-m55",
    *,
    activations: str = "int8",
    weights: str = "int8",
    precision: Mapping[str, str] | None = None,
) -> Compiled:
    """Quantises a module and lowers it to a program for a Cortex-M.

    Args:
        module: used in eval mode and not modified.
        example_inputs: set the program's shapes and dtypes.
        calibration: inputs to observe activation ranges on; by default the example inputs.
        activations: int8 or int16, of all modules but those that `precision` names.
        weights: int8, int4, int4/32, int4/64, int4/128 or int16, likewise.
        precision: `8w16a`, `4w8a`, `4w8a/32` and so on by patterns of modules' paths, as
            `{"encoder.*": "8w16a"}`; the last that matches counts.

    Raises:
        CompilerError: INVALID for an unknown target and inputs that do not fit, UNSUPPORTED for a
            module that cannot be exported, quantised, lowered or planned.
    """
    target = _target(target)
    patterns = _patterns(activations, weights, precision, "compile")
    with quiet():
        from cmcompiler.frontend.adaptation import adapted
        from cmcompiler.frontend.fidelity.check import fidelity_of
        from cmcompiler.frontend.lowering import lower_with_nodes
        from cmcompiler.frontend.quantization import quantize
        from cmcompiler.frontend.single_precision import single

        given = tensors(example_inputs, "example_inputs")
        module, notes = adapted(module, given)
        example = single(given)
        samples = [single(tensors(sample, "calibration")) for sample in calibration or [given]]
        with unsupported(ITSELF):
            quantized = quantize(module, example, samples, precision=patterns)
            lowered = lower_with_nodes(quantized, target)
            arrays = [[tensor.numpy() for tensor in sample] for sample in samples[:_VECTORS]]
            vectors, left = Samples.stack(arrays), quantized.float_operators
            fidelity = fidelity_of(lowered, quantized.real, vectors)
    pte, names = lowered.program, quantized.input_names
    try:
        compiled = _compiled(pte, parse(pte), target, names, vectors, left_in_float=left)
    except Unsupported as error:
        message = with_lines(error.message, lowered.nodes, quantized.call_sites)
        raise Unsupported(message, error.hint) from error
    return replace(compiled, fidelity=fidelity, notes=notes)


def _patterns(
    activations: str, weights: str, precision: Mapping[str, str] | None, caller: str
) -> tuple[Pattern, ...]:
    for name, given, types in (
        ("activations", activations, ACTIVATIONS),
        ("weights", weights, WEIGHTS),
    ):
        if given not in types:
            raise InvalidRequest(f"{name} {given!r} are not {' or '.join(types)}")
    return (*everywhere(activations, weights), *read_precision(precision, caller))


def save(compiled: Compiled, path: str | Path) -> None:
    """Writes the program as a `.pte` file, which holds neither vectors nor names of inputs.

    Raises:
        OSError: the file cannot be written.
    """
    Path(path).write_bytes(compiled.pte)


def load(path: str | Path, target: str | Target = "cortex-m55") -> Compiled:
    """Reads a `.pte` or `.tflite` file; a program made for one Cortex-M runs on any other.

    Args:
        target: what to place its operators for.

    Raises:
        CompilerError: INVALID for an unknown target, an unreadable file and one that is not a
            program, UNSUPPORTED for a program with an operator that has no kernel.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}") from error
    return _compiled(data, parse(data, Path(path).suffix), _target(target))


def plan(compiled: Compiled, options: PlanOptions = SMALLEST) -> Plan:
    """The kernel calls, constants and arena of a program on its target.

    Raises:
        Unsupported: no plan has these options.
    """
    return make_plan(pruned(compiled.graph), compiled.target.isa, options)


def reference(
    compiled: Compiled, samples: Iterable[Sequence[npt.NDArray[Any]]], *, reset: bool = False
) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """The outputs that a device must compute for each sample, to the bit.

    Args:
        samples: the inputs of each, in torch's shapes; with `compiled.vectors`, those.
        reset: buffers that the program changes start afresh for every sample.

    Raises:
        InvalidRequest: a sample does not fit the program.
    """
    return (evaluation.outputs for evaluation in evaluate_all(compiled.graph, samples, reset))


def quantization_aware(
    module: torch.nn.Module,
    example_inputs: torch.Tensor | Sequence[torch.Tensor],
    calibration: Iterable[torch.Tensor | Sequence[torch.Tensor]] | None = None,
    *,
    portable: bool = False,
    activations: str = "int8",
    weights: str = "int8",
    precision: Mapping[str, str] | None = None,
) -> QuantizationAware:
    """A copy of a module that rounds as its integer program will, to be trained further.

    It takes batches, is a model like any other for `compile` and `cmbuild`, and keeps its weights
    and ranges in its state dict.

    Args:
        module: trained; used in eval mode and not modified.
        example_inputs: set the program's shapes and dtypes.
        calibration: inputs to start with the activation ranges of; by default the example inputs.
        portable: keep to operators that ExecuTorch's own runtime has.
        activations, weights, precision: as for `compile`, which takes them from the module then.

    Raises:
        CompilerError: INVALID for inputs that do not fit, UNSUPPORTED for a module that cannot be
            exported or quantised, or that changes its buffers.
    """
    patterns = _patterns(activations, weights, precision, "quantization_aware")
    with quiet():
        from cmcompiler.frontend.adaptation import adapted
        from cmcompiler.frontend.preparation import prepare
        from cmcompiler.frontend.single_precision import single
        from cmcompiler.frontend.training import QuantizationAware

        given = tensors(example_inputs, "example_inputs")
        module, _ = adapted(module, given)
        example = single(given)
        samples = [single(tensors(sample, "calibration")) for sample in calibration or [given]]
        with unsupported(ITSELF):
            prepared = prepare(
                module, example, samples, portable, refinement=False, precision=patterns
            )
        return QuantizationAware(prepared, portable, patterns)


def _target(target: str | Target) -> Target:
    return Target.parse(target) if isinstance(target, str) else target


def _compiled(
    pte: bytes,
    program: Program,
    target: Target,
    input_names: Sequence[str] = (),
    vectors: Samples | None = None,
    *,
    left_in_float: Sequence[FloatOperator] = (),
) -> Compiled:
    graph = _graph(program, left_in_float)
    placement = _placement(graph, make_plan(pruned(graph), target.isa), left_in_float)
    names = input_names or [port.name for port in graph.inputs]
    contract = Contract(
        tuple(map(_signature, graph.inputs, names)),
        tuple(_signature(port, port.name) for port in graph.outputs),
    )
    return Compiled(pte, program, graph, target, tuple(placement), contract, vectors)


def _graph(program: Program, left_in_float: Sequence[FloatOperator]) -> Graph:
    try:
        return build_graph(program)
    except Unsupported as error:
        hints = [*map(_left, left_in_float), *([error.hint] if error.hint else [])]
        raise Unsupported(error.message, "; ".join(hints) or None) from error


def _left(operator: FloatOperator) -> str:
    return f"{operator.operator} was left in float: {operator.reason}"


def _signature(port: Port, name: str) -> Signature:
    inside = port.quantization
    return Signature(
        name,
        port.shape,
        port.layout,
        port.tensor.dtype,
        None if inside is None else inside.scale,
        None if inside is None else inside.zero_point,
    )


def _placement(
    graph: Graph, plan: Plan, left_in_float: Sequence[FloatOperator]
) -> Iterator[Placement]:
    steps = {index: list(group) for index, group in groupby(plan.steps, lambda step: step.node)}
    for index, node in enumerate(graph.nodes):
        own: list[PlanStep] = steps.get(index, [])
        fallbacks = [reason for step in own if (reason := plan.fallback(step))]
        yield Placement(
            node.op.title,
            node.source,
            tuple(step.kernel for step in own if step.is_call),
            max((step.provider or Isa.SCALAR for step in own), default=Isa.SCALAR),
            _reason_for_float(node, left_in_float) or next(iter(fallbacks), None),
        )


def _reason_for_float(node: Node, left_in_float: Sequence[FloatOperator]) -> str | None:
    """The quantizer's reason, matched by the start of the operator's name in the program."""
    namespace, _, operator = node.source.partition("::")
    is_float = any(tensor.dtype.kind == "f" for tensor in node.outputs)
    if not is_float or namespace == "cortex_m":
        return None
    for left in left_in_float:
        # aten.conv1d.default is aten::convolution.out in the program.
        _, _, name = left.operator.partition(".")
        if not name:
            continue  # one of several results of another
        name = name.partition(".")[0]
        if operator.startswith(name.rstrip("0123456789d_")):
            return _left(left)
    return "its inputs were left in float"
