"""What an image is made from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cmbuild.catalog import find_board
from cmbuild.pipeline.copies import HOT, Copying
from cmbuild.pipeline.stages import runner
from cmbuild.pipeline.stages.runner import RunnerStage


def parts(board: str, hot: str, folder: Path) -> dict[str, Any]:
    """Of a program with room for its kernels and constants in RAM."""
    record = SimpleNamespace(constant_bytes=30 << 10, arena_bytes=4 << 10, steps=[])
    source = SimpleNamespace(name="net")
    entry = SimpleNamespace(folder=folder)
    plan: Any = SimpleNamespace(name="net", record=record, source=source, entry=entry)
    library: Any = SimpleNamespace(toolchain=None, target=None, archive=folder)
    stage = RunnerStage(plan, library, find_board(board), folder, copying=Copying(hot=hot))
    return dict(stage.parts())


@pytest.mark.parametrize(("board", "images"), [("nucleo-l4r5zi", 3), ("mps2-an386", 1)])
def test_an_image_is_made_anew_for_other_copies(
    board: str, images: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "toolchain_parts", lambda toolchain, target: {})
    copies = [repr(parts(board, hot, tmp_path)) for hot in HOT]
    assert len(set(copies)) == images
