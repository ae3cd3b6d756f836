"""Which program is exported, and where the dry run takes place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from harness.checkout import make_checkout

from cmbuild.boards.registry import board_folders
from cmbuild.catalog import find_board
from cmbuild.executorch.simulated import NoSimulatedCore, simulated
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.session import Session
from cmbuild.report.lines import Lines
from cmcompiler.isa import Isa


@pytest.fixture
def exported_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str | None, str], str]:
    """The core that a model is exported for."""
    monkeypatch.setenv("EXECUTORCH_ROOT", str(make_checkout(tmp_path)))
    pipeline = Pipeline(Session(Lines(verbose=False), tmp_path).context)

    def get(board: str, isa: str | None, executor: str) -> str:
        request = compose(
            BuildRequest, model="mlp", board=board, isa=isa, executor=executor, build_dir=tmp_path
        )
        export = pipeline.runner(request).plan.source.export
        assert export is not None
        return export.job.target

    return get


@pytest.mark.parametrize(
    ("board", "isa", "executor", "core"),
    [
        ("corstone300", None, "executorch", "cortex-m55"),
        ("native", None, "executorch", "cortex-m0plus"),
        ("corstone300", "dsp", "executorch", "cortex-m4"),
        ("rp2350", None, "executorch", "cortex-m33"),
        ("rp2350", "scalar", "executorch", "cortex-m0plus"),
        ("native", None, "static", "cortex-m55"),
        ("corstone300", "dsp", "static", "cortex-m55"),
    ],
)
def test_a_model_is_exported_for_the_instruction_set_that_runs_it(
    exported_for, board: str, isa: str | None, executor: str, core: str
) -> None:
    assert exported_for(board, isa, executor) == core


def test_a_board_without_a_simulator_is_dry_run_on_one_of_the_same_core() -> None:
    folders = board_folders()
    boards = {name: find_board(name, folders) for name in folders}
    places = {
        name: simulated(board, board.isas[0], boards.values()).name
        for name, board in boards.items()
    }
    assert all(name == place for name, place in places.items())
    alone = replace(boards["nucleo-h743zi"], tables={})
    assert simulated(alone, Isa.DSP, boards.values()).cpu == "cortex-m7"
    others = [board for board in boards.values() if board.cpu != "cortex-m7"]
    with pytest.raises(NoSimulatedCore, match="no simulated board has the cortex-m7 of nucleo"):
        simulated(alone, Isa.DSP, others)
