"""The stages of requests: what they share."""

from __future__ import annotations

from pathlib import Path

from harness.stages import Memory

from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import RunRequest
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.export import ExportStage
from cmbuild.pipeline.stages.stage import Stage


def exports(stage: Stage) -> set[ExportStage]:
    """The exports that a stage depends on."""
    if isinstance(stage, ExportStage):
        return {stage}
    return {export for each in stage.after for export in exports(each)}


def export(folder: Path, board: str, **options: object) -> ExportStage:
    request = compose(RunRequest, model="digits", board=board, build_dir=folder, **options)
    with Session(Memory(), folder / "logs") as session:
        (wanted,) = exports(Pipeline(session.context).simulate(request))
    return wanted


def test_more_samples_and_another_board_of_the_core_export_nothing_again(tmp_path: Path) -> None:
    first = export(tmp_path, "mps2-an505")
    same = [
        export(tmp_path, "mps2-an505", samples=100),
        export(tmp_path, "mps2-an505", samples="all"),
        export(tmp_path, "rp2350"),
        export(tmp_path, "mps2-an505", io="int8"),
    ]
    assert {each.fingerprint for each in same} == {first.fingerprint}
    assert export(tmp_path, "mps2-an505", seed=1).fingerprint != first.fingerprint
