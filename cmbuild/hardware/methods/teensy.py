"""PJRC's Teensy Loader, by USB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cmbuild.hardware.method import Selection
from cmbuild.hardware.program_method import ProgramMethod
from cmbuild.toolchain.tools import apt_command


class Teensy(ProgramMethod):
    """`teensy_loader_cli -w`, by USB, which waits until you press the button on the board;
    [Teensy Loader](https://www.pjrc.com/teensy/loader_cli.html).

    Attributes:
        mcu: the program's name for the board.
    """

    name = "teensy"
    program = "teensy_loader_cli"
    install = f"{apt_command('teensy-loader-cli')}, or https://www.pjrc.com/teensy/loader_cli.html"

    mcu: str

    def commands(self, image: Path, selection: Selection) -> Sequence[Sequence[str]]:
        return [[f"--mcu={self.mcu}", "-w", "-v", str(image.with_suffix(".hex"))]]


TABLE = Teensy
