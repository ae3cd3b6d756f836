"""Programs that flash a board: through a debug probe, or picotool by USB."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import ClassVar

from cmbuild.errors import MissingTool
from cmbuild.hardware.method import Method, Way, Work
from cmbuild.process import Processes
from cmbuild.toolchain import tools


class ToolMethod(Method):
    """A method that is commands of one program.

    Attributes:
        install: how to get the program.
    """

    install: ClassVar[str]
    limit = 300.0  # a probe writes some 20 KB a second at worst, and boards have a few MB

    @abstractmethod
    def commands(self, image: Path, way: Way) -> Sequence[Sequence[str]]:
        """Arguments of the program for each command that flashing and starting an image takes."""

    def gdb_server(self, port: int, way: Way) -> Sequence[str] | None:
        """Arguments of the program that let gdb control the board by a port of this machine; None
        if it cannot.
        """
        return None

    def find(self, way: Way) -> Path:
        found = tools.find(self.name)
        if found is None:
            raise MissingTool(tool=self.name, hint=self.install)
        return found

    def describe(self, work: Work) -> Sequence[str]:
        commands = self.commands(work.image, work.way)
        lines = [join([self.name, *arguments]) for arguments in commands]
        try:
            self.find(work.way)
        except MissingTool as error:
            lines.append(f"but {error.message}: {error.hint}")
        return lines

    def flash(self, work: Work, processes: Processes) -> str:
        program = self.find(work.way)
        for arguments in self.commands(work.image, work.way):
            processes.run([program, *arguments], log=work.log, timeout=work.timeout, name=self.name)
        return f"{work.board.name} through {self.name}"


@dataclass(frozen=True, slots=True)
class Picotool(ToolMethod):
    """Raspberry Pi's own, for boards in BOOTSEL mode, or whose firmware it can restart by USB."""

    name = "picotool"
    install = "https://github.com/raspberrypi/pico-sdk-tools/releases has it built for every system"

    def commands(self, image: Path, way: Way) -> Sequence[Sequence[str]]:
        which = _chosen("--ser", way)
        return [["load", "--verify", "--execute", str(image), "-t", "elf", *which]]


@dataclass(frozen=True, slots=True)
class ProbeRs(ToolMethod):
    """probe-rs.

    Attributes:
        chip: its name of the device.
    """

    name = "probe-rs"
    install = "https://probe.rs/docs/getting-started/installation"

    chip: str

    def commands(self, image: Path, way: Way) -> Sequence[Sequence[str]]:
        options = self._options(way)
        return [["download", *options, str(image)], ["reset", *options]]

    def gdb_server(self, port: int, way: Way) -> Sequence[str]:
        return ["gdb", *self._options(way), "--gdb-connection-string", f"127.0.0.1:{port}"]

    def _options(self, way: Way) -> Sequence[str]:
        return ["--non-interactive", "--chip", self.chip, *_chosen("--probe", way)]


@dataclass(frozen=True, slots=True)
class PyOcd(ToolMethod):
    """pyOCD.

    Attributes:
        target: its name of the device.
    """

    name = "pyocd"
    install = "pip install pyocd"

    target: str

    def commands(self, image: Path, way: Way) -> Sequence[Sequence[str]]:
        return [["load", *self._options(way), str(image)]]

    def gdb_server(self, port: int, way: Way) -> Sequence[str]:
        return ["gdbserver", *self._options(way), "--port", str(port)]

    def _options(self, way: Way) -> Sequence[str]:
        return ["--no-wait", "--target", self.target, *_chosen("--uid", way)]


@dataclass(frozen=True, slots=True)
class OpenOcd(ToolMethod):
    """OpenOCD.

    Attributes:
        configurations: files of its own that describe probe and device.
    """

    name = "openocd"
    install = "apt-get install openocd"

    configurations: tuple[str, ...]

    def commands(self, image: Path, way: Way) -> Sequence[Sequence[str]]:
        # OpenOCD's commands are Tcl, where braces quote.
        return [[*self._setup(way), "-c", f"program {{{image}}} verify reset exit"]]

    def gdb_server(self, port: int, way: Way) -> Sequence[str]:
        ports = f"gdb_port {port}; tcl_port disabled; telnet_port disabled"
        return [*self._setup(way), "-c", ports]

    def _setup(self, way: Way) -> Sequence[str]:
        files = [word for file in self.configurations for word in ("-f", file)]
        which = () if way.probe is None else ("-c", f"adapter serial {way.probe}")
        return [*files, *which]


def _chosen(option: str, way: Way) -> Sequence[str]:
    """The option that names a probe, if one is named."""
    return () if way.probe is None else (option, way.probe)
