"""Float model, fake-quantised graph, reference and device side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cmbuild.accuracy import EvalResult, EvalRow, LayerCost
from cmbuild.verify.faithfulness import faithfulness, unnamed_loss
from cmbuild.verify.fidelity import Array, compare, dequantized, top_1
from cmbuild.verify.quality import measure

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.reference import ReferenceStage
    from cmcompiler.frontend.job import ExportRecord


def compared(
    stage: ReferenceStage, board: str | None, device: Sequence[Array] | None
) -> EvalResult:
    """
    Args:
        stage: the reference on samples of an export.
        device: outputs of the board for the same samples, if there is one.
    """
    source, labels = stage.plan.source, stage.samples.labels
    assert source.export is not None and stage.real_outputs is not None
    real, count = stage.real_outputs, len(stage.real_outputs[0])
    basis = stage.basis
    assert basis is not None
    forms = {
        "float": real,
        "fake-quantised": [stack[:count] for stack in source.export.outputs.quantized],
        "reference": _real(stage, stage.outputs, count),
    }
    if device is not None:
        forms["device"] = _real(stage, device, count)
    rows = []
    for form, outputs in forms.items():
        figures = None if form == "float" else compare(real, outputs, basis)
        rows.append(
            EvalRow(
                form=form,
                accuracy=None if labels is None else top_1(outputs[0], labels),
                snr_db=None if figures is None else figures.snr_db,
                agreement=None if figures is None else figures.agreement,
                outputs=() if figures is None else figures.outputs,
            )
        )
    check, quality = faithfulness(source.export.record), measure(stage, stage, device)
    return EvalResult(
        model=source.name,
        board=board,
        samples=count,
        inputs=basis.inputs,
        detail=basis.detail,
        sequence=basis.sequence,
        forms=tuple(rows),
        layers=tuple(_layers(source.export.record)),
        warnings=(
            *quality.warnings,
            *check.warnings,
            *unnamed_loss(quality.fidelity, check),
        ),
        faithfulness=check,
    )


def _real(stage: ReferenceStage, outputs: Sequence[Array], count: int) -> list[Array]:
    ports = stage.plan.record.outputs
    return [dequantized(s[:count], port) for s, port in zip(outputs, ports, strict=True)]


def _layers(record: ExportRecord) -> Iterator[LayerCost]:
    for layer in record.layers:
        site = record.call_sites[layer.node]
        name = f"{site.operator} ({site.module})" if site.module else site.operator
        yield LayerCost(name=name, file=site.file, line=site.line, snr_db=layer.snr_db)
