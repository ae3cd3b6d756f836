"""OpenOCD, through a debug probe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from cmbuild.hardware.method import Selection
from cmbuild.hardware.program_method import ProgramMethod
from cmbuild.toolchain.tools import apt_command


class OpenOcd(ProgramMethod):
    """`openocd -c "program … verify reset exit"`, through a debug probe; Debian 12's OpenOCD has no
    configuration for the RP2350.

    Attributes:
        configurations: OpenOCD's own files for probe and device.
    """

    name = "openocd"
    install = apt_command("openocd")

    configurations: Annotated[list[str], Field(min_length=1)]

    def commands(self, image: Path, selection: Selection) -> Sequence[Sequence[str]]:
        # OpenOCD's commands are Tcl, where braces quote.
        return [[*self._setup(selection), "-c", f"program {{{image}}} verify reset exit"]]

    def gdb_server(self, port: int, selection: Selection) -> Sequence[str]:
        ports = f"gdb_port {port}; tcl_port disabled; telnet_port disabled"
        return [*self._setup(selection), "-c", ports]

    def _setup(self, selection: Selection) -> Sequence[str]:
        files = [word for file in self.configurations for word in ("-f", file)]
        which = () if selection.probe is None else ("-c", f"adapter serial {selection.probe}")
        return [*files, *which]


TABLE = OpenOcd
