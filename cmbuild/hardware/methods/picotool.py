"""Raspberry Pi's picotool, by USB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cmbuild.hardware.method import Selection
from cmbuild.hardware.program_method import ProgramMethod, probe_option


class Picotool(ProgramMethod):
    """`picotool load --verify --execute`, by USB, with the board in BOOTSEL mode;
    [picotool](https://github.com/raspberrypi/pico-sdk-tools/releases).
    """

    name = "picotool"
    install = "https://github.com/raspberrypi/pico-sdk-tools/releases has it for every system"

    def commands(self, image: Path, selection: Selection) -> Sequence[Sequence[str]]:
        which = probe_option("--ser", selection)
        return [["load", "--verify", "--execute", str(image), "-t", "elf", *which]]


TABLE = Picotool
