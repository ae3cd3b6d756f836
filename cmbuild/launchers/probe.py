"""Real boards through a debug probe: no serial port, and no driver for one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import Failed, Interrupted
from cmbuild.hardware.method import Selection
from cmbuild.hardware.probe.server import CoreServer, free_port
from cmbuild.hardware.program_method import ProgramMethod
from cmbuild.image import elf
from cmbuild.image.elf import Symbols
from cmbuild.launchers.base import Launcher, ProperRun, conclude
from cmbuild.launchers.semihosting import BREAKPOINT, Semihosting
from cmbuild.process import Background, Completed, Processes

_CONNECTING_SECONDS = 20.0
_R0, _R1, _PC = 0, 1, 15


class StoppedElsewhere(Failed):
    template = "{machine} stopped at 0x{place:08x}, in {function}, outside of a call to the host"
    hint = "the full output is in {log}"


class DifferentFlash(Failed):
    template = "{machine} holds other bytes at 0x{place:08x} than were written"
    hint = "the flash may be worn or locked, or the board another one; see {log}"


class ServerSilent(Failed):
    template = "{machine} did not open its port within {seconds:g} s"
    hint = "its output is in {log}"


@dataclass(frozen=True, slots=True)
class ProbeLine(Launcher):
    """A board behind a debug probe, whose program is a gdb server: it flashes the image, runs it,
    and hands over its files by semihosting.

    Attributes:
        board: its name.
        method: the flash method whose program is used.
    """

    name = "probe"

    board: str
    method: ProgramMethod
    selection: Selection

    @property
    def title(self) -> str:
        return f"{self.board} through {self.method.name}"

    @property
    def provenance(self) -> str:
        return "measured on silicon"

    @property
    def seconds_per_byte(self) -> float:
        return 1 / 10_000  # a slow probe

    @property
    def unit(self) -> str:
        return "cycles"

    def find(self) -> Path:
        """Raises MissingTool."""
        return self.method.find(self.selection)

    def instructions(self, ticks: int) -> int | None:
        """Without a cycle counter the clock stands at 0."""
        return ticks or None

    def run(
        self, processes: Processes, image: Path, folder: Path, *, timeout: float, log: Path
    ) -> ProperRun:
        """Raises, in addition to those of every launcher:
        ProcessFailed: the probe's program does not start: no probe, another chip, a locked one.
        ServerLost, ProbeRefused, DifferentFlash, ServerSilent, StoppedElsewhere.
        """
        port, start = free_port(), time.monotonic()
        output = log.with_name("probe.txt")
        arguments = self.method.gdb_server(port, self.selection) or ()
        command = [str(self.find()), *arguments]
        with (
            processes.background(command, log=output, name=self.title, cwd=folder) as server,
            log.open("w") as file,
        ):
            core = self._connect(port, server, output, lambda: processes.is_ended)
            try:
                self._load(core, image, output)
                host = Semihosting(core, folder, lambda text: print(text, end="", file=file))
                self._serve(core, host, image, timeout, log)
            finally:
                core.close()
        seconds = time.monotonic() - start
        completed = Completed(tuple(command), host.status or 0, seconds, log)
        return conclude(self.title, image, completed)

    def _connect(
        self, port: int, server: Background, log: Path, is_ended: Callable[[], bool]
    ) -> CoreServer:
        end = time.monotonic() + _CONNECTING_SECONDS
        while time.monotonic() < end:
            if is_ended():
                raise Interrupted()
            if server.is_over:
                raise server().failure(self.title)
            try:
                return CoreServer(port, self.title, log, is_ended)
            except OSError:
                time.sleep(0.1)
        raise ServerSilent(machine=self.title, seconds=_CONNECTING_SECONDS, log=log)

    def _load(self, core: CoreServer, image: Path, log: Path) -> None:
        """Writes an image unless the board holds it."""
        segments = elf.loaded(image)
        if self._difference(core, segments) is not None:
            core.program(segments)
            place = self._difference(core, segments)
            if place is not None:
                raise DifferentFlash(machine=self.title, place=place, log=log)
        stack, entry = elf.vectors(image)
        core.reset(stack, entry)

    def _difference(self, core: CoreServer, segments: list[tuple[int, bytes]]) -> int | None:
        """The first address with other bytes, if there is one."""
        for address, data in segments:
            there = core.read(address, len(data))
            if there != data:
                pairs = zip(there, data, strict=True)
                return address + next(at for at, (a, b) in enumerate(pairs) if a != b)
        return None

    def _serve(
        self, core: CoreServer, host: Semihosting, image: Path, timeout: float, log: Path
    ) -> None:
        """Lets the image run to its end."""
        end = time.monotonic() + timeout
        while host.status is None:
            core.resume(max(0.0, end - time.monotonic()))
            registers = core.registers()
            place = registers[_PC]
            if core.read(place, len(BREAKPOINT)) != BREAKPOINT:
                function = Symbols.read(image).nearest(place)
                raise StoppedElsewhere(machine=self.title, place=place, function=function, log=log)
            answer = host.call(registers[_R0], registers[_R1])
            core.set_register(_R0, answer)
            core.set_register(_PC, place + len(BREAKPOINT))
