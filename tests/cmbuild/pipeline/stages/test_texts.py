"""Each stage as text, in a folder of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

import cmbuild
from cmbuild.pipeline.stages.texts import TextsStage

PROGRAM = Path(__file__).parents[3] / "data" / "programs" / "network.pte"


def test_the_plan_is_written_also_by_a_cached_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        cmbuild.run(PROGRAM, "native", intermediates=Path(name))
    assert TextsStage.kind.label == "texts"
    first, second = (tmp_path / name / "00-plan.txt" for name in ("a", "b"))
    assert first.read_text() == second.read_text()
    assert first.read_text().startswith("plan of network for scalar")
