"""Float computation in a program: how much it costs, why it is so, what would change it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cmbuild import paths
from cmbuild.accuracy import FloatCall, FloatUse
from cmbuild.errors import Failed, UsageError
from cmbuild.text import percent, plural
from cmbuild.toolchain.toolchains import fpus
from cmcompiler.frontend.hints import UNSUPPORTED, hint
from cmcompiler.ir.arithmetic import Arithmetic
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa
from cmcompiler.plan.rough_prices import rough_prices

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.program import ProgramSource
    from cmcompiler.frontend.job import ExportRecord
    from cmcompiler.plan.record import PlanRecord, StepRecord

_INSTRUCTION = re.compile(r"#(\d+)$")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")


class TooMuchFloat(Failed):
    template = "{operators} in float: {share} of instructions, more than {limit}; first {first}"


@dataclass(frozen=True, slots=True)
class _Group:
    """Steps that one call in the user's source became."""

    name: str
    source: str
    cost: float


def float_use(
    source: ProgramSource,
    plan: PlanRecord,
    counts: Sequence[int] | None,
    has_fpu: bool,
) -> FloatUse:
    """
    Args:
        counts: instructions of each step of the plan; estimated if None.
    """
    record = source.record
    counted = counts is not None and any(counts)
    if all(step.arithmetic is not Arithmetic.FLOAT for step in plan.steps):
        return FloatUse(share=0.0, estimated=not counted, operators=())
    costs: Sequence[float] = (
        counts
        if counts is not None and counted
        else [_estimate(step, plan.isa, has_fpu) for step in plan.steps]
    )
    pairs = list(zip(plan.steps, costs, strict=True))
    whole = sum(cost for step, cost in pairs if step.arithmetic is not Arithmetic.BOUNDARY)
    floats = [(step, cost) for step, cost in pairs if step.arithmetic is Arithmetic.FLOAT]
    groups = _groups(floats, record)
    return FloatUse(
        share=sum(cost for _, cost in floats) / whole if whole else 0.0,
        estimated=not counted,
        operators=tuple(
            _call(group, record) for group in sorted(groups, key=lambda group: -group.cost)
        ),
    )


def has_fpu(cpu: str, fpu: str | None) -> bool:
    """Whether floats are computed by hardware.

    Args:
        fpu: of the board; the best that the core can have if None.
    """
    return (fpu or fpus(cpu)[0]) != "none"


def parse_limit(option: str, text: str) -> float:
    """`12.5%` of an option as a share.

    Raises:
        UsageError: anything else.
    """
    match = _PERCENT.fullmatch(text.strip())
    if match is None or float(match[1]) > 100:
        raise UsageError(message=f"{option} {text!r} is not a percentage from 0% to 100%")
    return float(match[1]) / 100


def parse_max_float(text: str) -> float:
    """The largest share that may be computed in float.

    Raises:
        UsageError: as `parse_limit`.
    """
    return parse_limit("--max-float", text)


def excess(use: FloatUse, limit: str | None) -> TooMuchFloat | None:
    """The complaint about a program that computes more in float than it may."""
    if limit is None or not use.operators:
        return None
    share = parse_max_float(limit)
    if share > 0 and use.share <= share:
        return None
    first = use.operators[0]
    return TooMuchFloat(
        operators=plural(len(use.operators), "operator"),
        share=percent(use.share, 0) + (" (estimated)" if use.estimated else ""),
        limit=limit,
        first=f"{first.name}: {first.reason}",
        hint=first.hint,
    )


def _estimate(step: StepRecord, isa: str, has_fpu: bool) -> float:
    """Instructions of a step, to compare it with others of its program."""
    is_float = step.arithmetic is Arithmetic.FLOAT
    written = sum(tensor.place.bytes for tensor in step.writes)
    work = Work(macs=step.macs, outputs=written / (np.float32().itemsize if is_float else 1))
    return work.at(rough_prices(Isa.named(isa), is_float, has_fpu))


def _groups(
    floats: Sequence[tuple[StepRecord, float]], record: ExportRecord | None
) -> list[_Group]:
    """By the call that they come from. Conversions around it belong to none, and are named only if
    there is nothing else.
    """
    operators: dict[str, _Group] = {}
    conversions: dict[str, _Group] = {}
    nodes: Mapping[int, str] = {} if record is None else record.instructions
    for step, cost in floats:
        match = _INSTRUCTION.search(step.source)
        name = nodes.get(int(match[1])) if match else None
        groups = conversions if name is None and _converts(step) else operators
        key = name or step.source
        before = groups.get(key, _Group(key, step.source, 0.0))
        groups[key] = _Group(key, before.source, before.cost + cost)
    return list((operators or conversions).values())


def _converts(step: StepRecord) -> bool:
    return "quantize_per_" in step.source


def _hint(operator: str) -> str:
    return paths.with_documents(hint(operator))


def _call(group: _Group, record: ExportRecord | None) -> FloatCall:
    site = None if record is None else record.call_sites.get(group.name)
    if site is None or record is None:
        operator = group.source.partition(" #")[0]
        reason = "the program has it in float"
        return FloatCall(name=operator, file=None, line=None, reason=reason, hint=_hint(operator))
    left = {each.node: each.reason for each in record.float_operators}
    return FloatCall(
        name=f"{site.operator} ({site.module})" if site.module else site.operator,
        file=site.file,
        line=site.line,
        reason=left.get(group.name, UNSUPPORTED).rstrip("."),
        hint=_hint(site.operator),
    )
