"""Whether the layers of a program are those of its float model, from the record of its export."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.accuracy import CoarseLayer, Faithfulness, Fidelity, LayerFidelity
from cmbuild.errors import Failed
from cmbuild.text import percent, plural, shape

if TYPE_CHECKING:
    from cmcompiler.frontend.fidelity.record import (
        LayerError,
        LayerResolution,
        RewritingError,
        StalledState,
    )
    from cmcompiler.frontend.job import ExportRecord

LOW_DB = 20.0
"""Below this rounding costs a layer a tenth of its result."""

CLIPPED = 0.01
"""Share of a layer's elements outside of its range."""

_BYTE_STEPS = 255
"""Steps of a range in 8 bits."""

FLIPPED = 0.002
"""Share of decisions that are not the model's: one in a hundred leaves 20 dB of a choice."""

_NAMED = 3
"""Layers of each kind of warning, the worst."""


class NotFaithful(Failed):
    template = "not faithful: {fault}{more}"
    hint = "this is a bug in cmbuild, not in the model; please report it with {folder}"


def fault_of(check: Faithfulness, folder: Path) -> NotFaithful | None:
    """The failure of a run or comparison in a folder, if a program is not the model."""
    if check.faithful is not False:
        return None
    first, *others = check.faults
    more = f"; and {plural(len(others), 'more layer')}" if others else ""
    return NotFaithful(fault=first, more=more, folder=folder)


def faithfulness(record: ExportRecord | None) -> Faithfulness:
    """
    Args:
        record: None for a program whose float model is not known.
    """
    if record is None:
        return Faithfulness(faithful=None, reason="a program alone has no float model")
    compared = record.fidelity
    # One call may become several nodes of its name: the worst comes first, and counts.
    kept = {each.node: each.snr_db for each in reversed(compared.resolutions)}
    coarse = [_coarse(each, record) for each in compared.resolutions]
    coarse += [_stalled(each, record) for each in compared.stalled]
    faults = [_fault(each, record) for each in compared.layers if not each.faithful]
    if compared.rewritten is not None:
        faults.insert(0, _rewritten(compared.rewritten))
    return Faithfulness(
        faithful=compared.faithful,
        layers=tuple(_layer(each, kept.get(each.node), record) for each in compared.layers),
        unpaired=compared.unpaired,
        faults=tuple(faults),
        warnings=tuple(_warnings(record)),
        reason=compared.reason,
        coarse=tuple(sorted(coarse, key=lambda layer: layer.snr_db)),
    )


def _layer(compared: LayerError, kept: float | None, record: ExportRecord) -> LayerFidelity:
    site = record.call_sites.get(compared.node)
    return LayerFidelity(
        name=_name(compared.node, record),
        file=None if site is None else site.file,
        line=None if site is None else site.line,
        error_steps=compared.error_steps,
        bound_steps=compared.bound_steps,
        snr_db=math.inf if compared.snr_db is None else compared.snr_db,
        clipped=compared.clipped,
        resolution_db=kept,
    )


def _name(node: str, record: ExportRecord) -> str:
    """`conv2d (blocks.0)`"""
    site = record.call_sites.get(node)
    if site is None:
        return node
    return f"{site.operator} ({site.module})" if site.module else site.operator


def _place(node: str, record: ExportRecord) -> str:
    """`conv2d (blocks.0) at net.py:21`"""
    site = record.call_sites.get(node)
    file, line = (None, None) if site is None else (site.file, site.line)
    return _at(_name(node, record), file, line)


def place(layer: CoarseLayer) -> str:
    """`conv2d (blocks.0) at net.py:21`"""
    return _at(layer.name, layer.file, layer.line)


def _at(name: str, file: str | None, line: int | None) -> str:
    return name if file is None else f"{name} at {Path(file).name}:{line}"


def _fault(compared: LayerError, record: ExportRecord) -> str:
    """`fill at net.py:21 has 0.726 where the model has 0: 128 steps off, 0.56 are allowed`"""
    example = f"has {compared.made:.3g} where the model has {compared.exact:.3g}"
    off = f"{compared.error_steps:.3g} steps off, {compared.bound_steps:.2f} are allowed"
    if compared.error_steps <= compared.bound_steps:
        off = f"{compared.mean_steps:+.2f} steps off on average"
    return f"{_place(compared.node, record)} {example}: {off}"


def _rewritten(error: RewritingError) -> str:
    if error.shapes is not None:
        made, exact = map(shape, error.shapes)
        return (
            f"the rewritten graph has {made} at output {error.output} where the model has {exact}"
        )
    return (
        f"the rewritten graph has {error.made:.3g} at output {error.output} where the model has "
        f"{error.exact:.3g}: {error.error:.1g} of its largest number off"
    )


def _warnings(record: ExportRecord) -> Iterator[str]:
    compared = record.fidelity
    coarse = [each for each in compared.resolutions if each.snr_db < LOW_DB]
    for each in coarse[:_NAMED]:
        told = _coarse(each, record)
        yield f"{place(told)} keeps {told.snr_db:.0f} dB: {told.cause}; {told.remedy}"
    if more := coarse[_NAMED:]:
        verb = "keeps" if len(more) == 1 else "keep"
        yield f"{plural(len(more), 'more layer')} {verb} less than {LOW_DB:.0f} dB: --json has them"
    for state in compared.stalled:
        yield (
            f"{_place(state.node, record)} loses {percent(state.share)} of the updates of its "
            f"state, which are finer than a step: {_stalled(state, record).remedy}"
        )
    for decisions in compared.flipped[:_NAMED]:
        if decisions.share > FLIPPED:
            yield (
                f"{_place(decisions.node, record)} decides otherwise than the model for "
                f"{percent(decisions.share)} of its numbers: rounding takes them across a "
                "threshold; keep numbers away from it, or try --activations int16"
            )
    named = {each.node for each in coarse[:_NAMED]}
    clipped = [
        each for each in compared.layers if each.clipped > CLIPPED and each.node not in named
    ]
    for layer in sorted(clipped, key=lambda layer: -layer.clipped)[:_NAMED]:
        yield (
            f"{percent(layer.clipped)} of {_place(layer.node, record)} is outside of the "
            "calibrated range: --calibration with inputs such as the samples"
        )


def unnamed_loss(fidelity: Fidelity | None, check: Faithfulness) -> Iterator[str]:
    """Where an output loses what no layer does alone: the layer that loses most of its own."""
    if fidelity is None or not check.coarse or check.warnings:
        return
    if fidelity.worst.snr_db < LOW_DB:
        worst = check.coarse[0]
        yield (
            f"no layer loses as much alone, their errors add up: {place(worst)} keeps least, "
            f"{worst.snr_db:.0f} dB; cmbuild eval --sensitivity ranks them at the outputs"
        )


def _coarse(layer: LayerResolution, record: ExportRecord) -> CoarseLayer:
    """`its logits span 698 in 255 steps`, `scale or clamp before it`"""
    site = record.call_sites.get(layer.node)
    is_softmax = site is not None and "softmax" in site.operator
    span = f"{layer.span:,.0f}" if layer.span >= 100 else f"{layer.span:.3g}"
    operand = "logits span" if is_softmax else "operand spans"
    subject = operand if layer.is_operand else "result spans"
    return CoarseLayer(
        name=_name(layer.node, record),
        file=None if site is None else site.file,
        line=None if site is None else site.line,
        snr_db=layer.snr_db,
        cause=f"its {subject} {span} in {layer.steps} steps",
        remedy=_remedy(layer),
    )


def _remedy(layer: LayerResolution) -> str:
    remedy = "scale or clamp before it" if layer.is_operand else "clamp what is not needed"
    return f"{remedy}, or --activations int16" if layer.steps <= _BYTE_STEPS else remedy


def _stalled(state: StalledState, record: ExportRecord) -> CoarseLayer:
    """A state whose updates are partly lost; the loss counts as their noise."""
    site = record.call_sites.get(state.node)
    return CoarseLayer(
        name=_name(state.node, record),
        file=None if site is None else site.file,
        line=None if site is None else site.line,
        snr_db=-20 * math.log10(state.share),
        cause=f"its updates are finer than a step, and {percent(state.share)} of them are lost",
        remedy="update it less often, by more",
    )
