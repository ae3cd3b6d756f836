"""Cycles are estimated once for a way through an image."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.images import kernel_harness

from cmbuild.cache.store import Entry
from cmbuild.cycles.cores.cortex_m55 import CortexM55
from cmbuild.cycles.intervals import Intervals, intervals
from cmbuild.cycles.profile import BrokenProfile
from cmbuild.errors import ProcessFailed
from cmbuild.image.record import ImageRecord
from cmbuild.process import Processes
from cmbuild.toolchain import tools


class Estimates:
    """Of a profile that runs one block of an image before each reading of the clock."""

    def __init__(self, folder: Path) -> None:
        self.image = kernel_harness("corstone300", "mve", folder).image
        self.profile = folder / "blocks.txt"
        self.kept = Entry(folder / "cycles")
        self.commands: list[str] = []

    def run(self, count: int, end: str = "end\n") -> Intervals:
        start = ImageRecord.of(self.image).functions["cm_reset"]
        # The first 17 segments tell what a reading costs.
        counts = [1] * 17 + [count] * 3
        segments = "".join(f"segment\n1 1 {times}\n" for times in counts)
        self.profile.write_text(f"block 1 {start:x} 1\n{segments}{end}")
        return self.again()

    def again(self) -> Intervals:
        objdump = tools.find("arm-none-eabi-objdump")
        assert objdump is not None
        return intervals(
            CortexM55,
            self.image,
            self.profile,
            objdump=objdump,
            processes=Processes(self.commands.append),
            kept=self.kept,
        )


def test_an_equal_run_is_not_estimated_again(tmp_path: Path) -> None:
    estimates = Estimates(tmp_path)
    first = estimates.run(3)
    started = len(estimates.commands)
    assert started
    assert estimates.run(3) == first
    assert len(estimates.commands) == started
    assert estimates.run(4) != first


def test_what_was_kept_and_is_damaged_is_estimated_again(tmp_path: Path) -> None:
    estimates = Estimates(tmp_path)
    first = estimates.run(3)
    (estimates.kept.folder / "intervals.json").write_text('{"cycles": [1.0], "unknown": []}')
    assert estimates.again() == first


def test_a_profile_that_is_cut_short_leaves_nothing(tmp_path: Path) -> None:
    estimates = Estimates(tmp_path)
    with pytest.raises(BrokenProfile, match="cut short"):
        estimates.run(3, end="")
    assert not estimates.kept.folder.exists()


def test_an_image_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    estimates = Estimates(tmp_path)
    estimates.run(3)
    estimates.image = tmp_path / "image.elf"
    estimates.image.write_bytes(b"not an image")
    with pytest.raises(ProcessFailed):
        estimates.again()
