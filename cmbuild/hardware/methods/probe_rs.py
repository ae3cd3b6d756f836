"""probe-rs, through a debug probe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cmbuild.hardware.method import Selection
from cmbuild.hardware.program_method import ProgramMethod, probe_option


class ProbeRs(ProgramMethod):
    """`probe-rs download`, then `reset`, through a debug probe; [probe-rs](https://probe.rs).

    Attributes:
        chip: probe-rs's name for the device.
    """

    name = "probe-rs"
    install = "https://probe.rs/docs/getting-started/installation"

    chip: str

    def commands(self, image: Path, selection: Selection) -> Sequence[Sequence[str]]:
        options = self._options(selection)
        return [["download", *options, str(image)], ["reset", *options]]

    def gdb_server(self, port: int, selection: Selection) -> Sequence[str]:
        return ["gdb", *self._options(selection), "--gdb-connection-string", f"127.0.0.1:{port}"]

    def _options(self, selection: Selection) -> Sequence[str]:
        return ["--non-interactive", "--chip", self.chip, *probe_option("--probe", selection)]


TABLE = ProbeRs
