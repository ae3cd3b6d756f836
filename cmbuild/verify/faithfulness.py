"""Whether the layers of a program are those of its float model, from the record of its export."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.accuracy import Faithfulness, LayerFidelity

if TYPE_CHECKING:
    from cmcompiler.frontend.fidelity.record import LayerError
    from cmcompiler.frontend.job import ExportRecord


def faithfulness(record: ExportRecord | None) -> Faithfulness:
    """
    Args:
        record: None for a program whose float model is not known.
    """
    if record is None:
        return Faithfulness(faithful=None, reason="a program alone has no float model")
    compared = record.fidelity
    return Faithfulness(
        faithful=compared.faithful,
        layers=tuple(_layer(each, record) for each in compared.layers),
        unpaired=compared.unpaired,
        faults=tuple(_fault(each, record) for each in compared.layers if not each.faithful),
        reason=compared.reason,
    )


def _layer(compared: LayerError, record: ExportRecord) -> LayerFidelity:
    site = record.call_sites.get(compared.node)
    return LayerFidelity(
        name=_name(compared, record),
        file=None if site is None else site.file,
        line=None if site is None else site.line,
        error_steps=compared.error_steps,
        bound_steps=compared.bound_steps,
        snr_db=math.inf if compared.snr_db is None else compared.snr_db,
        clipped=compared.clipped,
    )


def _name(compared: LayerError, record: ExportRecord) -> str:
    """`conv2d (blocks.0)`"""
    site = record.call_sites.get(compared.node)
    if site is None:
        return compared.node
    return f"{site.operator} ({site.module})" if site.module else site.operator


def _fault(compared: LayerError, record: ExportRecord) -> str:
    """`fill at net.py:21 has 0.726 where the model has 0: 128 steps off, 0.56 are allowed`"""
    site = record.call_sites.get(compared.node)
    place = "" if site is None or site.file is None else f" at {Path(site.file).name}:{site.line}"
    example = f"has {compared.made:.3g} where the model has {compared.exact:.3g}"
    off = f"{compared.error_steps:.3g} steps off, {compared.bound_steps:.2f} are allowed"
    if compared.error_steps <= compared.bound_steps:
        off = f"{compared.mean_steps:+.2f} steps off on average"
    return f"{_name(compared, record)}{place} {example}: {off}"
