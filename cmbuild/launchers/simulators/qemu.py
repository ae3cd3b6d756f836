"""QEMU: functional simulation that counts instructions exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from cmbuild.boards.board import Board
from cmbuild.boards.descriptor import Address, Size
from cmbuild.boards.memory import Memory, Region
from cmbuild.launchers.base import (
    BlockCounts,
    Debuggable,
    LauncherMissing,
    LauncherTable,
    Profiled,
)
from cmbuild.strictfile import Inconsistent, Table
from cmbuild.toolchain import tools
from cmcompiler.suggest import did_you_mean

# Every instruction takes 2^5 ns of the guest's time, the same in each run and on each computer.
_ICOUNT_SHIFT = 5


@dataclass(frozen=True, slots=True)
class Qemu(Debuggable, Profiled):
    """qemu-system-arm; see QemuTable.

    Attributes:
        plugin: a file with its arguments, as `-plugin` takes them.
    """

    name = "qemu"
    loads_plugin = True

    machine: str
    ticks_per_second: int
    properties: Mapping[str, int] = field(default_factory=dict)
    boots: Literal["vectors", "entry"] = "vectors"
    caveat: str | None = None
    memory: Sequence[Region] | None = None
    moves: Mapping[str, int] = field(default_factory=dict)
    plugin: str | None = None

    @property
    def title(self) -> str:
        return ", ".join(filter(None, [f"QEMU {self.machine}", self.caveat]))

    @property
    def provenance(self) -> str:
        return ", ".join(filter(None, ["simulated by QEMU -icount", self.caveat]))

    def find(self) -> Path:
        program = tools.find(tools.QEMU.name)
        if program is None:
            hint = tools.install_command(tools.QEMU)
            raise LauncherMissing(launcher=tools.QEMU.name, hint=hint)
        return program

    def command(self, program: Path, image: Path, folder: Path, timeout: float) -> list[str]:
        properties = [f"{name}={value}" for name, value in self.properties.items()]
        return [
            str(program),
            *("-M", self.machine, *self._load(image)),
            *(word for setting in properties for word in ("-global", setting)),
            *("-display", "none", "-monitor", "none", "-serial", "none"),
            *("-semihosting-config", "enable=on,target=native"),
            *("-icount", f"shift={_ICOUNT_SHIFT}"),
            *(("-plugin", self.plugin) if self.plugin else ()),
        ]

    def counting(self, counts: BlockCounts) -> Qemu:
        options = {"output": counts.output, "mark": counts.mark, "last": counts.last}
        if counts.chip is not None:
            options["flash"] = counts.chip
        words = [str(counts.library), *(f"{name}={value}" for name, value in options.items())]
        # A comma separates arguments, a doubled one stands for itself.
        return replace(self, plugin=",".join(word.replace(",", ",,") for word in words))

    def debug_command(self, program: Path, image: Path, folder: Path, port: int) -> list[str]:
        server = ("-gdb", f"tcp:127.0.0.1:{port}", "-S")
        return [*self.command(program, image, folder, math.inf), *server]

    def _load(self, image: Path) -> tuple[str, str]:
        if self.boots == "vectors":
            return "-kernel", str(image)
        # A comma separates options, a doubled one stands for itself.
        name = str(image).replace(",", ",,")
        return "-device", f"loader,file={name},cpu-num=0"

    def instructions(self, ticks: int) -> int:
        return round(ticks * 10**9 / (self.ticks_per_second << _ICOUNT_SHIFT))


class MemoryTable(Table):
    """A block of a machine's memory."""

    origin: Address
    size: Size


class QemuTable(LauncherTable):
    """QEMU, which counts instructions exactly.

    Attributes:
        machine: QEMU's name for the board.
        ticks_per_second: frequency of the clock that `cm_board_ticks` reads.
        properties: of QEMU's devices, by `device.property`.
        boots: from the `vectors`, or at the image's `entry` if the machine's reset vector is
            elsewhere.
        caveat: how the machine differs from the board, shown with every number.
        memory: the machine's blocks, each an `origin` and a `size`; an image that does not fit
            them is refused, or runs in the next launcher.
        moves: the first address of regions that the machine has elsewhere, by the region's name:
            the same code and data are linked a second time, for these addresses.
    """

    machine: str
    ticks_per_second: Annotated[int, Field(gt=0)]
    properties: dict[str, int] = Field(default_factory=dict)
    boots: Literal["vectors", "entry"] = "vectors"
    caveat: str | None = None
    memory: list[MemoryTable] | None = None
    moves: dict[str, Address] = Field(default_factory=dict)

    def check(self, board: Board) -> None:
        for name in self.moves:
            if name not in board.regions:
                hint = did_you_mean(name, board.regions)
                raise Inconsistent(("moves", name), f"unknown memory: {name!r}", hint)

    def launcher(self, board: Board) -> Qemu:
        blocks = self.memory and tuple(
            [Region(self.machine, Memory.RAM, block.origin, block.size) for block in self.memory]
        )
        return Qemu(**{**dict(self), "memory": blocks})


TABLE = QemuTable
