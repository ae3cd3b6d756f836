"""The compiler as a library: compiles a module and describes the resulting program.

Importing this module does not import torch; `compile` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.quantized import FloatOperator
from cmcompiler.frontend.quiet import quiet
from cmcompiler.frontend.user_model import tensors
from cmcompiler.frontend.vectors import Samples
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.isa import Isa
from cmcompiler.plan.plan import Plan, PlanStep
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.program import Program
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

if TYPE_CHECKING:
    import torch


_VECTORS = 8


@dataclass(frozen=True, slots=True)
class Placement:
    """What runs one operator of a program.

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
        name: the argument of forward() for an input, `output_0`, … for an output.
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
    """A compiled module.

    Attributes:
        pte: the ExecuTorch program.
        program: the same, typed.
        placement: of every operator, in execution order.
        vectors: up to 8 of the calibration inputs, for verification.
    """

    pte: bytes = field(repr=False)
    program: Program = field(repr=False)
    placement: tuple[Placement, ...]
    contract: Contract
    vectors: Samples = field(repr=False)


def compile(
    module: torch.nn.Module,
    example_inputs: torch.Tensor | Sequence[torch.Tensor],
    calibration: Iterable[torch.Tensor | Sequence[torch.Tensor]] | None = None,
    target: str | Target = "cortex-m55",
) -> Compiled:
    """Quantises a module to int8 and lowers it to a program for a Cortex-M.

    Args:
        module: used in eval mode and not modified.
        example_inputs: set the program's shapes and dtypes.
        calibration: inputs to observe activation ranges on; by default the example inputs.

    Raises:
        CompilerError: INVALID for an unknown target and inputs that do not fit, UNSUPPORTED for a
            module that cannot be exported, quantised, lowered or planned.
    """
    target = Target.parse(target) if isinstance(target, str) else target
    with quiet():
        from cmcompiler.frontend.lowering import lower
        from cmcompiler.frontend.quantization import quantize

        example = tensors(example_inputs, "example_inputs")
        samples = [tensors(sample, "calibration") for sample in calibration or [example]]
        quantized = quantize(module, example, samples)
        pte = lower(quantized, target)
    program = read_program(pte)
    graph = _graph(program, quantized.float_operators)
    plan = make_plan(graph, target.isa)
    arrays = [[tensor.numpy() for tensor in sample] for sample in samples[:_VECTORS]]
    return Compiled(
        pte,
        program,
        tuple(_placement(graph, plan, quantized.float_operators)),
        Contract(
            tuple(map(_signature, graph.inputs, quantized.input_names)),
            tuple(_signature(port, port.name) for port in graph.outputs),
        ),
        Samples.stack(arrays),
    )


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
        name = left.operator.split(".")[1]
        if operator.startswith(name.rstrip("0123456789d_")):
            return _left(left)
    return "its inputs were left in float"
