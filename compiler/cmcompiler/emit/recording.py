"""Makes plan.json from a plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from cmcompiler.ir.graph import Port
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.plan import Base, Plan, PlanStep, Ref
from cmcompiler.plan.record import (
    ArenaUseRecord,
    PeakRecord,
    PlaceRecord,
    PlanRecord,
    PortRecord,
    StepRecord,
    TensorRecord,
)


def record(plan: Plan, model: str, identity: str) -> PlanRecord:
    """The record of a plan under its emitted names."""
    constants = constants_of_steps(plan)
    return PlanRecord(
        model=model,
        identity=identity,
        isa=plan.isa.label,
        steps=tuple(_step(plan, *each) for each in zip(plan.steps, constants, strict=True)),
        inputs=tuple(_port(plan, port, True) for port in plan.inputs),
        outputs=tuple(
            _port(plan, port, exact)
            for port, exact in zip(plan.outputs, plan.exact_outputs, strict=True)
        ),
        states=tuple(_tensor(buffer.tensor, buffer.span.ref) for buffer in plan.states),
        constant_bytes=len(plan.constants),
        arena_bytes=plan.arena_bytes,
        state_bytes=plan.state_bytes,
        timeline=tuple(
            ArenaUseRecord(tensors=use.tensors, rings=use.rings, scratch=use.scratch)
            for use in plan.timeline
        ),
        peak=_peak(plan),
        least_bytes=plan.least_bytes,
        verified="exact" if plan.exact else "tolerance",
        macs=plan.macs,
        whole_macs=plan.whole_macs,
    )


def _step(plan: Plan, step: PlanStep, constant_bytes: int) -> StepRecord:
    return StepRecord(
        title=step.title,
        source=step.source,
        kernel=step.kernel,
        rows=step.rows,
        microkernel=step.microkernel,
        isa=None if step.provider is None else step.provider.label,
        fallback=plan.fallback(step),
        macs=step.macs,
        whole_macs=step.whole_macs,
        channels=step.channels,
        live_channels=step.live_channels,
        exact=step.exact,
        arithmetic=step.arithmetic,
        writes=tuple(_tensor(tensor, plan.places[tensor]) for tensor in step.writes),
        constant_bytes=constant_bytes,
        stages=step.stages,
        turns=step.turns,
    )


def constants_of_steps(plan: Plan) -> list[int]:
    """For each step, the bytes of constants that no step before it reads; they are packed one after
    the other, so each ends where the next one begins.
    """
    starts = {offset for step in plan.steps for offset in _offsets(step)}
    starts |= {state.initial.offset for state in plan.states if state.initial is not None}
    sizes = {start: end - start for start, end in pairwise([*sorted(starts), len(plan.constants)])}
    return [
        sum(sizes.pop(offset, 0) for offset in dict.fromkeys(_offsets(step))) for step in plan.steps
    ]


def _offsets(step: PlanStep) -> Iterator[int]:
    for argument in step.arguments:
        if isinstance(argument.value, Ref) and argument.value.base is Base.CONSTANTS:
            yield argument.value.offset


def _port(plan: Plan, port: Port, exact: bool) -> PortRecord:
    if not port.fed:
        return port_record(port, _place(port.tensor, plan.places[port.tensor]), exact)
    place = PlaceRecord(base="outside", offset=0, bytes=port.tensor.nbytes)
    return port_record(port, place, exact, plan.rows_of(port))


def port_record(port: Port, place: PlaceRecord, exact: bool, rows: int | None = None) -> PortRecord:
    return PortRecord(
        name=port.name,
        shape=port.shape,
        dim_order=port.dim_order,
        layout=port.layout,
        dtype=port.tensor.dtype.name,
        quantization=port.quantization,
        note=port.note,
        place=place,
        exact=exact,
        feed="rows" if port.fed else "whole",
        rows=rows,
    )


def _tensor(tensor: Tensor, ref: Ref) -> TensorRecord:
    return TensorRecord(
        name=tensor.name, shape=tensor.shape, dtype=tensor.dtype.name, place=_place(tensor, ref)
    )


def _place(tensor: Tensor, ref: Ref) -> PlaceRecord:
    return PlaceRecord(base=ref.base.value, offset=ref.offset, bytes=tensor.nbytes)


def _peak(plan: Plan) -> PeakRecord | None:
    peak = plan.peak
    if peak is None:
        return None
    makers = {tensor: index for index, step in enumerate(plan.steps) for tensor in step.writes}
    return PeakRecord(
        step=peak.step,
        bytes=peak.size,
        scratch=peak.scratch,
        tensors=tuple((tensor.name, tensor.nbytes) for tensor in peak.tensors),
        makers=tuple(makers.get(tensor) for tensor in peak.tensors),
    )
