"""The step that determines the size of an arena, in the words of the user's model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cmbuild.text import shape

if TYPE_CHECKING:
    from cmcompiler.ir.tensor import Tensor
    from cmcompiler.plan.plan import Plan

_MOST = 4


def describe_peak(plan: Plan, names: list[str]) -> str | None:
    """`step 7 of 22, upsample: x 1×64×64×48 (float) 196,608 + row buffers 9,216 + scratch 864`

    Args:
        names: of the steps, for people.
    """
    peak = plan.peak
    if peak is None:
        return None
    step, title = peak.step, plan.steps[peak.step].title
    name = names[step] if names[step] == title else f"{names[step]} ({title})"
    return f"step {step + 1} of {len(plan.steps)}, {name}: {' + '.join(_contents(plan, names))}"


def _contents(plan: Plan, names: list[str]) -> Iterator[str]:
    assert plan.peak is not None
    use, owners = plan.timeline[plan.peak.step], _owners(plan, names)
    whole = sorted((t for t in plan.peak.tensors if t in owners), key=lambda t: -t.nbytes)
    for tensor in whole[:_MOST]:
        kind = " (float)" if tensor.dtype.kind == "f" else ""
        yield f"{owners[tensor]} {shape(tensor.shape)}{kind} {tensor.nbytes:,}"
    if rest := whole[_MOST:]:
        yield f"{len(rest)} more {sum(tensor.nbytes for tensor in rest):,}"
    if use.rings:
        yield f"row buffers {use.rings:,}"
    if use.scratch:
        yield f"scratch {use.scratch:,}"


def _owners(plan: Plan, names: list[str]) -> dict[Tensor, str]:
    """Names of the nodes that write each tensor which is in memory whole."""
    owners = {port.tensor: port.name for port in plan.inputs if not port.fed}
    owners |= {state.tensor: "state" for state in plan.states}
    for step, name in zip(plan.steps, names, strict=True):
        owners |= dict.fromkeys(step.writes, f"output of {name}")
    return owners
