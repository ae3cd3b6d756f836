"""Whether the layers of a program are those of its float model, from the record of its export."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.accuracy import Faithfulness, LayerFidelity
from cmbuild.errors import Failed
from cmbuild.text import percent, plural

if TYPE_CHECKING:
    from cmcompiler.frontend.fidelity.record import LayerError, LayerResolution, RewritingError
    from cmcompiler.frontend.job import ExportRecord

LOW_DB = 20.0
"""Below this rounding costs a layer a tenth of its result."""

CLIPPED = 0.01
"""Share of a layer's elements outside of its range."""

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
    kept = {each.node: each.snr_db for each in compared.resolutions}
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
    at = "" if site is None or site.file is None else f" at {Path(site.file).name}:{site.line}"
    return f"{_name(node, record)}{at}"


def _fault(compared: LayerError, record: ExportRecord) -> str:
    """`fill at net.py:21 has 0.726 where the model has 0: 128 steps off, 0.56 are allowed`"""
    example = f"has {compared.made:.3g} where the model has {compared.exact:.3g}"
    off = f"{compared.error_steps:.3g} steps off, {compared.bound_steps:.2f} are allowed"
    if compared.error_steps <= compared.bound_steps:
        off = f"{compared.mean_steps:+.2f} steps off on average"
    return f"{_place(compared.node, record)} {example}: {off}"


def _rewritten(error: RewritingError) -> str:
    return (
        f"the rewritten graph has {error.made:.3g} at output {error.output} where the model has "
        f"{error.exact:.3g}: {error.error:.1g} of its largest number off"
    )


def _warnings(record: ExportRecord) -> Iterator[str]:
    compared = record.fidelity
    coarse = [each for each in compared.resolutions if each.snr_db < LOW_DB]
    for each in coarse[:_NAMED]:
        yield f"{_place(each.node, record)} keeps {each.snr_db:.0f} dB: {_cause(each, record)}"
    if more := coarse[_NAMED:]:
        yield f"{plural(len(more), 'more layer')} keep less than {LOW_DB:.0f} dB: --json has them"
    for state in compared.stalled:
        yield (
            f"{_place(state.node, record)} loses {percent(state.share)} of the updates of its "
            "state, which are finer than a step: update it less often, by more"
        )
    clipped = [each for each in compared.layers if each.clipped > CLIPPED]
    for layer in sorted(clipped, key=lambda layer: -layer.clipped)[:_NAMED]:
        yield (
            f"{percent(layer.clipped)} of {_place(layer.node, record)} is outside of the "
            "calibrated range: --calibration with inputs such as the samples"
        )


def _cause(layer: LayerResolution, record: ExportRecord) -> str:
    """`its logits span 698 in 255 steps; clamp or scale them`"""
    site = record.call_sites.get(layer.node)
    operator = "" if site is None else site.operator
    span = f"{layer.span:,.0f}" if layer.span >= 100 else f"{layer.span:.3g}"
    if not layer.is_operand:
        return f"its result spans {span} in {layer.steps} steps; clamp what is not needed"
    operand = "logits span" if "softmax" in operator else "operand spans"
    return f"its {operand} {span} in {layer.steps} steps; scale or clamp before it"
