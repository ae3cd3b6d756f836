"""plan.json: what a plan holds, for those who never read the program itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from cmcompiler.plan.abi import BRANCH

if TYPE_CHECKING:
    from cmcompiler.ir.graph import Port
    from cmcompiler.ir.quantization import Quantization
    from cmcompiler.ir.tensor import Tensor
    from cmcompiler.plan.plan import Peak, Plan, Ref, Step


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlaceRecord(_Record):
    """Bytes of the arena or of the constants."""

    base: Literal["arena", "constants"]
    offset: int
    bytes: int


class TensorRecord(_Record):
    """A tensor in memory, in its physical shape; dtype is numpy's name."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    place: PlaceRecord


class QuantizationRecord(_Record):
    """See cmcompiler.ir.quantization.Quantization."""

    scale: float
    zero_point: int
    minimum: int
    maximum: int


class PortRecord(_Record):
    """An input or output: see cmcompiler.ir.graph.Port.

    Attributes:
        shape: logical, torch's `x.shape`.
        exact: equal to the reference to the bit; always so for inputs.
    """

    name: str
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    layout: str
    dtype: str
    quantization: QuantizationRecord | None
    note: str
    place: PlaceRecord
    exact: bool


class StepRecord(_Record):
    """A kernel call: see cmcompiler.plan.Step.

    Attributes:
        isa: whose version of the microkernel runs; None for a kernel without one.
        fallback: why that is not the plan's own, or None.
        writes: tensors that are complete after this step.
    """

    title: str
    source: str
    kernel: str
    rows: tuple[int, int]
    microkernel: str | None
    isa: str | None
    fallback: str | None
    macs: int
    exact: bool
    writes: tuple[TensorRecord, ...]

    @property
    def is_branch(self) -> bool:
        return self.kernel == BRANCH


class PeakRecord(_Record):
    """See cmcompiler.plan.Peak.

    Attributes:
        step: index of the step.
        tensors: names and bytes.
    """

    step: int
    bytes: int
    scratch: int
    tensors: tuple[tuple[str, int], ...]


class PlanRecord(_Record):
    """A plan without its words and constants.

    Attributes:
        model: prefix of the emitted symbols.
        identity: of program and plan, as in cm_program.
        states: mutable buffers, in the arena.
        constant_bytes, arena_bytes: slack included.
        state_bytes: of the arena, those of mutable buffers.
        verified: the rule by which outputs are compared with the reference.
    """

    model: str
    identity: str
    isa: str
    steps: tuple[StepRecord, ...]
    inputs: tuple[PortRecord, ...]
    outputs: tuple[PortRecord, ...]
    states: tuple[TensorRecord, ...]
    constant_bytes: int
    arena_bytes: int
    state_bytes: int
    peak: PeakRecord | None
    verified: Literal["exact", "tolerance"]
    macs: int


def record(plan: Plan, model: str, identity: str) -> PlanRecord:
    """The record of a plan under the names that its emitted form has."""
    return PlanRecord(
        model=model,
        identity=identity,
        isa=plan.isa.label,
        steps=tuple(_step(plan, step) for step in plan.steps),
        inputs=tuple(_port(plan, port, True) for port in plan.inputs),
        outputs=tuple(
            _port(plan, port, exact)
            for port, exact in zip(plan.outputs, plan.exact_outputs, strict=True)
        ),
        states=tuple(_tensor(kept.tensor, kept.span.ref) for kept in plan.states),
        constant_bytes=len(plan.constants),
        arena_bytes=plan.arena_bytes,
        state_bytes=plan.state_bytes,
        peak=_peak(plan.peak),
        verified="exact" if plan.exact else "tolerance",
        macs=plan.macs,
    )


def _step(plan: Plan, step: Step) -> StepRecord:
    return StepRecord(
        title=step.title,
        source=step.source,
        kernel=step.kernel,
        rows=step.rows,
        microkernel=step.microkernel,
        isa=None if step.provider is None else step.provider.label,
        fallback=plan.fallback(step),
        macs=step.macs,
        exact=step.exact,
        writes=tuple(_tensor(tensor, plan.places[tensor]) for tensor in step.writes),
    )


def _port(plan: Plan, port: Port, exact: bool) -> PortRecord:
    return port_record(port, _place(port.tensor, plan.places[port.tensor]), exact)


def port_record(port: Port, place: PlaceRecord, exact: bool) -> PortRecord:
    """What is recorded of a port that lies at a place."""
    return PortRecord(
        name=port.name,
        shape=port.shape,
        dim_order=port.dim_order,
        layout=port.layout,
        dtype=port.tensor.dtype.name,
        quantization=_quantization(port.quantization),
        note=port.note,
        place=place,
        exact=exact,
    )


def _tensor(tensor: Tensor, ref: Ref) -> TensorRecord:
    return TensorRecord(
        name=tensor.name, shape=tensor.shape, dtype=tensor.dtype.name, place=_place(tensor, ref)
    )


def _place(tensor: Tensor, ref: Ref) -> PlaceRecord:
    return PlaceRecord(base=ref.base.value, offset=ref.offset, bytes=tensor.nbytes)


def _peak(peak: Peak | None) -> PeakRecord | None:
    if peak is None:
        return None
    return PeakRecord(
        step=peak.step,
        bytes=peak.size,
        scratch=peak.scratch,
        tensors=tuple((tensor.name, tensor.nbytes) for tensor in peak.tensors),
    )


def _quantization(quantization: Quantization | None) -> QuantizationRecord | None:
    if quantization is None:
        return None
    return QuantizationRecord(
        scale=quantization.scale,
        zero_point=quantization.zero_point,
        minimum=quantization.minimum,
        maximum=quantization.maximum,
    )
