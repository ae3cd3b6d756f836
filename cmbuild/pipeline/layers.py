"""The steps of a plan under the names of the user's modules, with their placement and cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmcompiler.ir.arithmetic import Arithmetic

if TYPE_CHECKING:
    from cmcompiler.frontend.call_sites import CallSite
    from cmcompiler.frontend.job import ExportRecord
    from cmcompiler.plan.plan import PlanStep
    from cmcompiler.plan.record import PlanRecord, StepRecord

_INSTRUCTION = re.compile(r"#(\d+)$")
_WEIGHTED = re.compile(r"conv|depthwise|linear|lstm|gru|rnn|svdf")
"""In the names of kernels that multiply by weights."""
_SHORT = ("short_", "interpolation")
"""How names of kernels for int16 begin that do not say so at their end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLayer:
    """One step of a plan.

    Attributes:
        name: of the module that makes the call: `features.3.conv`; the operator where that is the
            model itself, and the step's title where it comes from no call: conversions, streams,
            and every step of a `.pte`.
        module: None where it is not known.
        operator: of the exported graph: `conv2d`.
        file, line: of the call in the user's source.
        title, source: of the step: see OpCount.
        kernel: C function without `cm_`.
        isa: whose microkernel it calls; None if it calls none.
        fallback: why that is not the program's own instruction set.
        arithmetic: `integer`, `float` or `boundary`, which converts between them.
        precision: bits of its weights and activations, `4w8a`; `8a` or `16a` without weights; None
            in float, and for what only moves or converts.
        stream: index of the stream whose stage it is.
        macs, whole_macs: multiply-accumulates done, and those of all channels.
        channels, live_channels: of its output in the program, and those that are computed; None for
            streams, branches, and another executor's steps.
        weights: bytes of packed constants of which it is the first reader.
        arena: bytes in use while it runs; None for another executor's program.
        instructions, cycles: None where they are not counted.
        snr_db: of the model's outputs with nothing but this operator quantised; None unless
            `cmbuild eval --sensitivity` measured it.
        error_steps, bound_steps: the largest error on the program's own inputs, and what the
            arithmetic allows, in steps of the result; None where nothing was compared.
    """

    name: str
    module: str | None
    operator: str | None
    file: str | None
    line: int | None
    title: str
    source: str
    kernel: str
    isa: str | None
    fallback: str | None
    arithmetic: str
    stream: int | None
    macs: int
    whole_macs: int
    channels: int | None
    live_channels: int | None
    weights: int
    arena: int | None
    instructions: int | None
    cycles: int | None
    snr_db: float | None
    error_steps: float | None
    bound_steps: float | None
    precision: str | None = None


def layers(
    plan: PlanRecord,
    export: ExportRecord | None,
    *,
    instructions: Sequence[int],
    cycles: Sequence[int],
    sensitivity: Mapping[str, float],
    names: Mapping[int, str],
) -> tuple[PlacedLayer, ...]:
    """
    Args:
        export: of the program, if it is known.
        instructions, cycles: of each step, or none.
        sensitivity: decibels by node of the exported graph.
        names: of instructions, for a program that was not exported.
    """
    arena = [use.tensors + use.rings + use.scratch for use in plan.timeline]
    streams = list(_streams(plan.steps))
    compared = {} if export is None else {each.node: each for each in export.fidelity.layers}
    layers = []
    for index, step in enumerate(plan.steps):
        node, site = _node(step, export), _site(step, export)
        error = compared.get(node or "")
        layers.append(
            PlacedLayer(
                name=step_name(step, export, names),
                module=None if site is None else site.module,
                operator=None if site is None else site.operator,
                file=None if site is None else site.file,
                line=None if site is None else site.line,
                title=step.title,
                source=step.source,
                kernel=step.kernel,
                isa=step.isa,
                fallback=step.fallback,
                arithmetic=step.arithmetic.value,
                stream=streams[index],
                macs=step.macs,
                whole_macs=step.whole_macs,
                channels=step.channels,
                live_channels=step.live_channels,
                weights=step.constant_bytes,
                arena=arena[index] if arena else None,
                instructions=instructions[index] if instructions else None,
                cycles=cycles[index] if cycles else None,
                snr_db=None if node is None else sensitivity.get(node),
                error_steps=None if error is None else error.error_steps,
                bound_steps=None if error is None else error.bound_steps,
                precision=precision_of(step),
            )
        )
    return tuple(layers)


def precision_of(step: StepRecord) -> str | None:
    """`PlacedLayer.precision` of a step, as the name of its kernel has it."""
    kernel = step.kernel
    if step.arithmetic is not Arithmetic.INTEGER or not step.is_call:
        return None
    has_weights = _WEIGHTED.search(kernel) is not None
    is_short = "s16" in kernel or kernel.startswith(_SHORT)
    if not (has_weights or is_short or "s8" in kernel):
        return None
    weights = ("4w" if "_w4" in kernel else "8w") if has_weights else ""
    return f"{weights}{16 if is_short else 8}a"


def step_name(
    step: StepRecord | PlanStep, export: ExportRecord | None, names: Mapping[int, str]
) -> str:
    """`PlacedLayer.name` of a step."""
    site, match = _site(step, export), _INSTRUCTION.search(step.source)
    if site is not None:
        return site.module or site.operator
    return names.get(int(match[1]), step.title) if match is not None else step.title


def _site(step: StepRecord | PlanStep, export: ExportRecord | None) -> CallSite | None:
    node = _node(step, export)
    return None if node is None or export is None else export.call_sites.get(node)


def _node(step: StepRecord | PlanStep, export: ExportRecord | None) -> str | None:
    match = _INSTRUCTION.search(step.source)
    return None if match is None or export is None else export.instructions.get(int(match[1]))


def _streams(steps: Sequence[StepRecord]) -> Iterator[int | None]:
    stream, left = None, 0
    for index, step in enumerate(steps):
        yield stream if left else None
        left -= left > 0
        if step.stages:
            stream, left = index, step.stages
