"""What counts the cycles of a run, or why nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.images import kernel_harness

from cmbuild.catalog import find_board
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.counter import core_title, counter
from cmbuild.cycles.plugin import NoCounter
from cmbuild.launchers.registry import launchers_of
from cmbuild.process import Processes
from cmbuild.toolchain import tools


def refused(board_name: str, image: Path, folder: Path, launcher: str = "qemu") -> str:
    board = find_board(board_name)
    chosen = next(each for each in launchers_of(board) if each.name == launcher)
    with pytest.raises(NoCounter) as caught:
        counter(chosen, board, image, folder, Processes())
    return caught.value.reason


def test_reasons_are_a_few_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = kernel_harness("corstone300", "mve", tmp_path).image
    assert refused("corstone320", image, tmp_path) == "no timing model of the Cortex-M85"
    assert "does not count blocks" in refused("rp2350", image, tmp_path, "unicorn")
    assert refused("corstone300", image, tmp_path).endswith("does not read a clock")
    monkeypatch.setattr(tools, "find", lambda name: None)
    assert refused("corstone300", image, tmp_path).startswith("arm-none-eabi-objdump not found")


def test_cores_are_called_as_arm_does() -> None:
    assert [core_title(cpu) for cpu in ("cortex-m0plus", "cortex-m33")] == [
        "Cortex-M0+",
        "Cortex-M33",
    ]


def test_boards_state_their_clock() -> None:
    clock = find_board("rp2350").table(ClockTable)
    assert clock is not None
    assert clock.hertz == 150_000_000
    assert find_board("native").table(ClockTable) is None
