"""What `cmbuild fit` looks at, and when it fails: for models that somebody named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cmbuild.catalog import find_board
from cmbuild.errors import CmbuildError, ExitCode
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.stages.export import ExportStage
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.process import Processes
from cmbuild.sizing.estimate import ASSUMED, Need, ProgramSize
from cmbuild.sizing.fits import Cell, Fits, check, exported_accuracy
from cmbuild.sizing.results import ExportedAccuracy
from cmcompiler.frontend.outputs import ModelOutputs
from cmcompiler.frontend.vectors import Samples


def cell(model: str, board: str, over: int | None) -> Cell:
    """A model that is so many bytes too big, or has no program."""
    size = ProgramSize(0, 0, 0, ())
    excess = {"sram": over} if over else {}
    need = None if over is None else Need(size, ASSUMED, 0, excess)
    return Cell(model, find_board(board), need)


CELLS = [
    cell("big", "rp2350", 1),
    cell("big", "microbit", 1),
    cell("middling", "rp2350", 1),
    cell("middling", "microbit", 0),
    cell("unknown", "rp2350", None),
    cell("unknown", "microbit", None),
]


@pytest.mark.parametrize(
    ("models", "boards"),
    [((), ()), ((), ("rp2350",)), (("middling",), ()), (("middling",), ("microbit",))],
)
def test_it_fits(models: tuple[str, ...], boards: tuple[str, ...]) -> None:
    check([c for c in CELLS if not boards or c.board.name in boards], models, boards)


@pytest.mark.parametrize(
    ("models", "boards", "message"),
    [
        (("big",), (), "big does not fit any board"),
        (("big", "middling"), ("rp2350",), "big does not fit rp2350; middling does not fit rp2350"),
        (("middling",), ("rp2350", "microbit"), "middling does not fit rp2350"),
    ],
)
def test_it_does_not_fit(models: tuple[str, ...], boards: tuple[str, ...], message: str) -> None:
    with pytest.raises(CmbuildError) as error:
        check([c for c in CELLS if not boards or c.board.name in boards], models, boards)
    assert (error.value.message, error.value.exit_code) == (message, ExitCode.FAILED)


@pytest.mark.parametrize(
    ("models", "cells", "message"),
    [
        (("big", "unknown"), CELLS, "no exported program for unknown in the cache"),
        ((), CELLS[4:], "no exported program for any model in the cache"),
    ],
)
def test_nobody_can_tell(models: tuple[str, ...], cells: list[Cell], message: str) -> None:
    with pytest.raises(CmbuildError) as error:
        check(cells, models, ())
    assert (error.value.message, error.value.exit_code) == (message, ExitCode.MISSING)


@pytest.mark.parametrize(("made_for", "wanted"), [("cortex-m7", []), (None, ["cortex-m33"])])
def test_a_program_of_any_core_will_do(
    made_for: str | None, wanted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_made(stage: Stage) -> bool:
        return isinstance(stage, ExportStage) and stage.job.target == made_for

    monkeypatch.setattr("cmbuild.sizing.fits.is_made", is_made)
    fits = Fits(Pipeline(WorkContext(Processes(), tmp_path)))
    request = compose(BuildRequest, model="mlp", board="rp2350", build_dir=tmp_path)
    assert [export.job.target for export in fits.missing([request])] == wanted


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 1, 1, -1], ExportedAccuracy(float=2 / 3, quantized=1.0, samples=3)),
        ([-1, -1, -1, -1], None),
        (None, None),
    ],
)
def test_accuracy_is_that_of_the_export(
    labels: list[int] | None, expected: ExportedAccuracy | None, tmp_path: Path
) -> None:
    samples = Samples(
        (np.zeros((4, 1, 2), np.float32),), None if labels is None else np.array(labels)
    )
    samples.save(tmp_path / "samples.npz")
    real = np.eye(2, dtype=np.float32)[[0, 0, 1, 1]]
    quantized = np.eye(2, dtype=np.float32)[[0, 1, 1, 1]]
    export: Any = SimpleNamespace(
        record=SimpleNamespace(samples=SimpleNamespace(labels=labels is not None)),
        samples=tmp_path / "samples.npz",
        outputs=ModelOutputs((real[:, None],), (quantized[:, None],)),
    )
    assert exported_accuracy(export) == expected
