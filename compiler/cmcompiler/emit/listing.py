"""A plan as text: its ports, each kernel call with what it writes, and the arena over time."""

from __future__ import annotations

from collections.abc import Iterator

from cmcompiler.plan.record import PlanRecord, PortRecord, StepRecord, TensorRecord


def listing(plan: PlanRecord) -> str:
    """Lines for people; nothing of the weights."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: PlanRecord) -> Iterator[str]:
    yield f"plan of {plan.model} for {plan.isa}, identity {plan.identity}"
    left = "" if plan.macs == plan.whole_macs else f" of {plan.whole_macs:,}"
    yield (
        f"{plan.macs:,}{left} multiply-accumulates;"
        f" outputs are compared by the rule {plan.verified!r}"
    )
    yield f"constants {plan.constant_bytes:,} bytes, arena {plan.arena_bytes:,} bytes"
    yield f"  at least {plan.least_bytes:,} in this order; state {plan.state_bytes:,}"
    yield ""
    for word, ports in (("input", plan.inputs), ("output", plan.outputs)):
        yield from (f"{word} {_port(port)}" for port in ports)
    yield from (f"state {_tensor(tensor)}" for tensor in plan.states)
    uses = plan.timeline or (None,) * len(plan.steps)
    for index, (step, use) in enumerate(zip(plan.steps, uses, strict=True)):
        yield ""
        yield from _step(index, step)
        if use is not None:
            parts = {"tensors": use.tensors, "rings": use.rings, "scratch": use.scratch}
            told = ", ".join(f"{name} {size:,}" for name, size in parts.items())
            yield f"    arena   {told}"


def _port(port: PortRecord) -> str:
    scheme = port.quantization
    quantized = "" if scheme is None else f", scale {scheme.scale:.9g}, zero {scheme.zero_point}"
    return f"{port.name}: {port.dtype} {_shape(port.shape)} {port.layout}, {port.feed}{quantized}"


def _step(index: int, step: StepRecord) -> Iterator[str]:
    kernel = step.kernel if step.microkernel is None else f"{step.kernel}, {step.microkernel}"
    isa = "" if step.isa is None else f" in {step.isa}"
    yield f"{index:3} {step.title}  [{step.source}]"
    yield f"    kernel  {kernel}{isa}, rows {step.rows[0]} to {step.rows[1]}"
    if step.fallback is not None:
        yield f"    why     {step.fallback}"
    yield (
        f"    cost    {step.macs:,} multiply-accumulates,"
        f" {step.constant_bytes:,} bytes of constants,"
        f" {step.arithmetic.value}{'' if step.exact else ', within a tolerance'}"
    )
    if step.channels != step.live_channels:
        yield f"    live    {step.live_channels} of {step.channels} channels"
    if step.stages:
        yield f"    stream  the next {step.stages} steps, in turns {step.turns}"
    yield from (f"    writes  {_tensor(tensor)}" for tensor in step.writes)


def _tensor(tensor: TensorRecord) -> str:
    place = tensor.place
    return (
        f"{tensor.name}: {tensor.dtype} {_shape(tensor.shape)}"
        f" at {place.base}+{place.offset}, {place.bytes:,} bytes"
    )


def _shape(sizes: tuple[int, ...]) -> str:
    return "×".join(map(str, sizes)) or "scalar"
