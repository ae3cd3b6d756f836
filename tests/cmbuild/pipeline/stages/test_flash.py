"""Before anything is flashed, it is clear which board is meant."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cmbuild.catalog import find_board
from cmbuild.errors import ExitCode
from cmbuild.hardware.port import SeveralPorts
from cmbuild.pipeline.request import FlashOptions
from cmbuild.pipeline.stages.flash import FlashStage
from cmbuild.process import Processes

DEBUG_PROBE = (0x2E8A, 0xC)


def flash(folder: Path, *, dry_run: bool = False) -> FlashStage:
    (folder / "INFO_UF2.TXT").write_text("Board-ID: RP2350")
    runner = SimpleNamespace(name="mlp", subject="mlp on rp2350", board=find_board("rp2350"))
    options = FlashOptions(volume=folder, dry_run=dry_run)
    return FlashStage(runner, options, Processes(), folder)  # type: ignore[arg-type]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch):
    def plug(*adapters: tuple[int, int]) -> None:
        ports = [
            SimpleNamespace(device=f"/dev/ttyUSB{number}", vid=vendor, pid=product)
            for number, (vendor, product) in enumerate(adapters)
        ]
        monkeypatch.setattr("serial.tools.list_ports.comports", lambda: ports)

    return plug


def test_two_boards_that_may_be_meant_are_left_alone(plug, tmp_path: Path) -> None:
    plug(DEBUG_PROBE, DEBUG_PROBE)
    with pytest.raises(SeveralPorts) as error:
        flash(tmp_path).check()
    assert error.value.exit_code is ExitCode.USAGE
    assert error.value.hint is not None and error.value.hint.startswith("--port PORT")
    flash(tmp_path, dry_run=True).check()


@pytest.mark.parametrize("adapters", [(), (DEBUG_PROBE,), (DEBUG_PROBE, (0x403, 0x6001))])
def test_one_board_or_none_that_will_be_heard(
    plug, adapters: tuple[tuple[int, int], ...], tmp_path: Path
) -> None:
    plug(*adapters)
    flash(tmp_path).check()
