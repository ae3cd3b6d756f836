"""pyOCD, through a debug probe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cmbuild.hardware.method import Selection
from cmbuild.hardware.program_method import ProgramMethod, probe_option
from cmcompiler.installation import pip_install


class PyOcd(ProgramMethod):
    """`pyocd load`, through a debug probe; `pip install pyocd`.

    Attributes:
        target: pyOCD's name for the device.
    """

    name = "pyocd"
    install = pip_install("pyocd")

    target: str

    def commands(self, image: Path, selection: Selection) -> Sequence[Sequence[str]]:
        return [["load", *self._options(selection), str(image)]]

    def gdb_server(self, port: int, selection: Selection) -> Sequence[str]:
        return ["gdbserver", *self._options(selection), "--port", str(port)]

    def _options(self, selection: Selection) -> Sequence[str]:
        return ["--no-wait", "--target", self.target, *probe_option("--uid", selection)]


TABLE = PyOcd
